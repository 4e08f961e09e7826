"""gzip: of larger answers for clients that ask, of event streams only on explicit request and readable event by event, never of
requests, and never where a secret stands beside text that others choose."""

import gzip
import json
import os
import socket
import time
import zlib

from harness import SANITIZER, Serve, Stopwatch, Tally, options, until

options()
tally = Tally()
server = Serve()
server.linked()
for number in range(12):
    server.call("POST", f"/v1/messages?session=agent:main:zip{number}", b"append the weather to weather.txt", {"Content-Type": "text/plain"})
until(lambda: len(server.json("GET", "/v1/outbox?limit=50")[1]["entries"]) >= 12, what="the entries")

# Answers
for asked, coded in (("gzip", True), ("br, gzip;q=0.5", True), ("*", True), ("x-gzip", True), ("GZIP", True), (None, False), ("", False), ("identity", False),
                     ("br", False), ("gzip;q=0", False), ("gzip; q=0.000", False), ("gzipped", False)):
    status, fields, body = server.call("GET", "/v1/outbox", headers={"Accept-Encoding": asked} if asked is not None else {"Accept-Encoding": "identity"})
    tally.check(status == 200 and (fields.get("content-encoding") == "gzip") == coded, f"Accept-Encoding {asked!r}: {fields.get('content-encoding')}")
    tally.check("accept-encoding" in fields.get("vary", "").lower(), f"Accept-Encoding {asked!r}: Vary {fields.get('vary')!r}")
    plain = gzip.decompress(body) if coded else body
    tally.check(int(fields["content-length"]) == len(body) and json.loads(plain)["entries"], f"Accept-Encoding {asked!r}: the body")
    if asked == "gzip":
        print(f"an outbox page of {len(plain)} bytes becomes {len(body)}")
status, fields, body = server.call("GET", "/healthz", headers={"Accept-Encoding": "gzip"})
tally.check("content-encoding" not in fields, "a small answer is not worth it")
status, fields, body = server.call("HEAD", "/v1/outbox", headers={"Accept-Encoding": "gzip"})
tally.check(status == 200 and not body, "HEAD has no body")
status, fields, body = server.call("POST", "/v1/tokens", {"name": "x" * 60, "scopes": ["read"]}, {"Accept-Encoding": "gzip", "Authorization": f"Bearer {server.token}"})
tally.check(status == 201 and "content-encoding" not in fields, f"an answer with a token is never compressed: {status} {fields}")

# Requests
for coding in ("gzip", "deflate", "br", "gzip, gzip", "x"):
    status, fields, body = server.call("POST", "/v1/messages", gzip.compress(b"hello"), {"Content-Type": "text/plain", "Content-Encoding": coding})
    tally.check(status == 415 and fields.get("accept-encoding") == "identity" and json.loads(body)["code"] == "UNSUPPORTED_ENCODING", f"a request in {coding}: {status} {fields}")
bomb = gzip.compress(bytes(50_000_000))
status, _, _ = server.call("POST", "/v1/messages", bomb, {"Content-Type": "text/plain", "Content-Encoding": "gzip"})
tally.check(status == 415, f"a bomb of {len(bomb)} bytes: {status}")
status, _, _ = server.call("POST", "/v1/messages?session=agent:main:id", b"hello", {"Content-Type": "text/plain", "Content-Encoding": "identity"})
tally.check(status == 202, f"identity is no coding: {status}")


class Coded:
    """A stream as it comes, expanded piece by piece."""

    def __init__(self, query, encoding="gzip", version="1.1", accept="text/event-stream"):
        self.socket = socket.create_connection(("127.0.0.1", server.port), 5)
        encoding = f"Accept-Encoding: {encoding}\r\n" if encoding else ""
        self.socket.sendall(f"GET /v1/events{query} HTTP/{version}\r\nHost: 127.0.0.1:{server.port}\r\nAccept: {accept}\r\n{encoding}\r\n".encode())
        self.raw, self.text, self.wire, self.ended = b"", b"", 0, False
        while b"\r\n\r\n" not in self.raw:
            self.raw += self.socket.recv(65536)
        head, _, self.raw = self.raw.partition(b"\r\n\r\n")
        self.head = head.decode().lower()
        self.chunked = "transfer-encoding: chunked" in self.head
        self.inflate = zlib.decompressobj(31) if "content-encoding: gzip" in self.head else None
        self.take(b"")

    def take(self, piece):
        self.raw += piece
        if not self.chunked:
            return self.expand(piece if piece else self.raw)
        while b"\r\n" in self.raw:
            size, _, rest = self.raw.partition(b"\r\n")
            size = int(size, 16)
            if len(rest) < size + 2:
                return None
            self.expand(rest[:size])
            self.raw = rest[size + 2:]
            self.ended = size == 0

    def expand(self, data):
        self.wire += len(data)
        self.text += self.inflate.decompress(data) if self.inflate else data

    def until(self, what, seconds=20):
        end = time.monotonic() + seconds
        while what not in self.text and time.monotonic() < end:
            self.socket.settimeout(max(end - time.monotonic(), 0.01))
            try:
                piece = self.socket.recv(65536)
            except TimeoutError:
                break
            if not piece:
                self.ended = True
                break
            self.take(piece)
        return what in self.text


def say(session):
    return server.call("POST", f"/v1/messages?session={session}", b"hello", {"Content-Type": "text/plain"})[0]


# Streams: only where the query and Accept-Encoding both say so
for query, encoding, coded in (("", "gzip", False), ("?compress=gzip", None, False), ("?compress=gzip", "identity", False), ("?compress=gzip", "gzip;q=0", False), ("?compress=gzip", "gzip", True)):
    stream = Coded(query, encoding)
    tally.check(stream.until(b"event: hello") and bool(stream.inflate) == coded, f"a stream with {query!r} and Accept-Encoding {encoding!r}: {stream.head}")
    stream.socket.close()
for value in ("br", "1", ""):
    status, _, body = server.call("GET", f"/v1/events?compress={value}")
    tally.check(status == 400, f"compress={value!r}: {status}")
first = []
for _ in range(20):
    watch = Stopwatch(server)
    stream = Coded("?compress=gzip")
    stream.until(b"\n\n")
    first.append(watch.seconds)
    stream.socket.close()
first.sort()
tally.check(first[18] < 0.05, f"the first event is decoded after {first[18] * 1000:.1f} ms")
# A counted stream ends by itself, plain too, and keeps its heartbeat
stream = Coded("?limit=3&types=outbox", None)
for _ in range(4):
    say(f"agent:main:count{os.urandom(3).hex()}")
stream.until(b"never")
tally.check(stream.ended and stream.text.count(b"event: outbox") == 3, f"limit=3 gives 3 events: {stream.text.count(b'event: outbox')}")
stream = Coded("?compress=gzip")
tally.check("vary: accept-encoding" in stream.head and "cache-control: no-store, no-transform" in stream.head, f"its head: {stream.head}")
slowest = 0
for number in range(30):
    mark = f"agent:main:each{number}"
    start = time.monotonic()
    say(mark)
    tally.check(stream.until(mark.encode()), f"event {number} is readable when it arrives")
    slowest = max(slowest, time.monotonic() - start)
print(f"coded stream: {len(stream.text)} bytes in {stream.wire}, the slowest of 30 events readable after {slowest * 1000:.0f} ms, the first after {first[10] * 1000:.1f} ms")
tally.check(stream.wire * 3 < len(stream.text), "it saves more than two thirds")
stream.socket.close()
for version, accept in (("1.1", "text/event-stream"), ("1.1", "application/x-ndjson"), ("1.0", "text/event-stream"), ("1.1", "text/plain")):
    stream = Coded("?compress=gzip&limit=1", version=version, accept=accept)
    say(f"agent:main:end{os.urandom(3).hex()}")
    stream.until(b"never")
    tally.check(stream.inflate.eof and stream.text, f"HTTP/{version} {accept}: the gzip member ends with the stream, its checksum right")
    stream.socket.close()

# What it costs, and that a plain neighbour is not touched
plain = Coded("", None)
before = server.resident()
many = [Coded("?compress=gzip") for _ in range(200)]
say("agent:main:cost")
for stream in many:
    tally.check(stream.until(b"agent:main:cost"), "one of 200")
tally.check(plain.until(b"agent:main:cost"), "the plain one")
each = (server.resident() - before) / 200 / 1024
print(f"a coded stream costs {each:.0f} KiB")
tally.check(each < 100 or SANITIZER, f"a coded stream costs {each:.0f} KiB")
for stream in many:
    stream.socket.close()
tally.check(server.stop() == 0, "the server ends as it should")
tally.end()
