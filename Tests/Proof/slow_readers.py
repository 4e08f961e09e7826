"""Readers that stop reading now and then, in every form of the stream: each is cut when its buffer is full, comes back with its
last id, and misses nothing; a fast reader beside them notices nothing. The long form adds TCP and TLS, where the kernel keeps
megabytes for a peer before Ladle's own buffer begins to fill; on a Unix socket it keeps some 200 KiB."""

import json
import random
import socket
import threading
import time
import zlib
from datetime import datetime

from follower import Texts, cursor, place, rested_log
from harness import DemoGateway, EventStream, Serve, Tally, options, scratch, until
from raw_http import H2, certificate

chosen = options(messages=(40, 600), seed=(1, 1))
FORMS = ["sse", "ndjson", "gzip", "h2", "snapshot"] + (["tcp", "tls"] if chosen.long else [])
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789\u00e9\U0001f600"
tally = Tally()
keys = scratch()
files, context = certificate(keys, "localhost", "127.0.0.1")
gateway = DemoGateway("--speed", "0")
door = f"{keys}/door"
plain = Serve("--listen", f"unix:{door}", "--events-buffer-bytes", "32KiB", "--events-streams-per-caller", "100", gateway=gateway.url).linked()
secure = chosen.long and Serve("--events-buffer-bytes", "32KiB", *files, gateway=gateway.url, trust=context)
context.set_alpn_protocols(["http/1.1"])
posted = 0
hurry = threading.Event()  # all was said: read as fast as it goes
closing = threading.Event()


class Slow(threading.Thread):
    def __init__(self, form, start):
        super().__init__(daemon=True)
        self.form, self.cursor = form, start
        self.server = secure if form == "tls" else plain
        self.chance = random.Random(f"{chosen.seed} {form}")
        self.ids, self.problems, self.texts = [], [], Texts()
        self.connections = self.cuts = 0
        self.failure = None
        self.is_live = False

    def run(self):
        while not closing.is_set():
            self.connections += 1
            try:
                for line in self.lines(self.h2() if self.form == "h2" else self.http1()):
                    if line:
                        self.take(json.loads(line))
            except (OSError, zlib.error):
                pass
            except Exception as problem:  # shown at the end
                self.failure = problem
                return
            self.cuts += not closing.is_set()

    def pace(self):
        """Rests once it has caught up, while much more is said than its buffer and its window hold."""
        if self.is_live and self.chance.random() < 0.5:
            rest = posted + {"tcp": 80, "tls": 80, "gzip": 14, "h2": 21}.get(self.form, 7)
            while posted < rest and not hurry.is_set():
                time.sleep(0.02)
        self.is_live = False

    def path(self):
        more = {"gzip": "&compress=gzip", "snapshot": "&snapshot=true"}.get(self.form, "")
        return f"/v1/events?since={self.cursor}{more}"

    # -- bytes

    def connect(self):
        by_path = self.form not in ("tcp", "tls")
        sock = socket.socket(socket.AF_UNIX if by_path else socket.AF_INET)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.settimeout(20)
        sock.connect(door if by_path else ("127.0.0.1", self.server.port))
        return context.wrap_socket(sock, server_hostname="localhost") if self.form == "tls" else sock

    def read(self, sock):
        while not closing.is_set():
            self.pace()
            try:
                piece = sock.recv(2048)
            except TimeoutError:
                continue
            if not piece:
                return
            yield piece

    def http1(self):
        sock = self.connect()
        token = f"Authorization: Bearer {self.server.token}\r\n"
        accept = "application/x-ndjson" if self.form == "ndjson" else "text/event-stream"
        coding = "Accept-Encoding: gzip\r\n" if self.form == "gzip" else ""
        head = f"GET {self.path()} HTTP/1.1\r\nHost: localhost:{self.server.port}\r\nAccept: {accept}\r\n{coding}{token}\r\n"
        sock.sendall(head.encode())
        body = Body(self.read(sock))
        unzip = zlib.decompressobj(31) if self.form == "gzip" else None
        for piece in body:
            yield unzip.decompress(piece) if unzip else piece

    def h2(self):
        """One stream with the standard's first window, opened again only as it reads."""
        sock = self.connect()
        wire = H2(sock)
        number = wire.request("GET", self.path(), f"localhost:{self.server.port}", {
            "accept": "text/event-stream", "authorization": f"Bearer {self.server.token}"})
        for piece in self.read(sock):
            wire.take(piece)
            yield wire.bodies[number]
            wire.bodies[number] = b""
            if number in wire.over:
                sock.close()
                return

    def lines(self, pieces):
        rest = b""
        for piece in pieces:
            *whole, rest = (rest + piece).split(b"\n")
            for line in whole:
                if self.form == "ndjson":
                    yield line
                elif line.startswith(b"data: "):
                    yield line[6:]

    # -- what arrived

    def take(self, event):
        kind = event["type"]
        if kind == "hello":
            self.texts.resume()
            if event["resume"] != "recovered" or event["id"] != self.cursor:
                self.problems.append(f"hello {event['resume']} at {event['id']}, asked for {self.cursor}")
        elif kind == "run.delta":
            self.texts.delta(event)
        elif "id" in event:
            self.cursor, self.is_live = event["id"], age(event) < 500
            self.ids.append(event["id"])
            if kind == "run.ended":
                self.texts.end(event["run"])


class Body:
    """The pieces of a chunked body, given the answer's bytes."""

    def __init__(self, pieces):
        self.pieces, self.rest = pieces, b""

    def until(self, mark):
        while mark not in self.rest:
            self.rest += next(self.pieces)
        part, _, self.rest = self.rest.partition(mark)
        return part

    def __iter__(self):
        try:
            head = self.until(b"\r\n\r\n")
            assert b" 200 " in head.split(b"\r\n")[0] and b"chunked" in head.lower(), head
            while size := int(self.until(b"\r\n"), 16):
                while len(self.rest) < size + 2:
                    self.rest += next(self.pieces)
                yield self.rest[:size]
                self.rest = self.rest[size + 2:]
        except StopIteration:
            return


def age(event):
    """Milliseconds since the event's own time."""
    return (time.time() - datetime.fromisoformat(event["at"]).timestamp()) * 1000


def fast(server, delays):
    for _, kind, data in EventStream(server, timeout=60):
        if kind == "message":
            delays.append(age(data))


def idle():
    return plain.is_at_rest() and not any(server.status()["runs"]["active"] for server in servers)


servers = [server for server in (plain, secure) if server]
starts = {server: cursor(server.linked()) for server in servers}
delays = []
threading.Thread(target=fast, args=(plain, delays), daemon=True).start()
readers = [Slow(form, starts[secure if form == "tls" else plain]) for form in FORMS]
for reader in readers:
    reader.start()
before = plain.resident()
begun = time.monotonic()
chance = random.Random(chosen.seed)
for number in range(chosen.messages):
    # Long words: much to send, and little work for the gateway.
    words = " ".join("".join(chance.choices(LETTERS, k=chance.randrange(4000))) for _ in range(4))
    plain.json("POST", "/v1/messages", {"text": f"echo {number} {words}", "session": f"agent:main:slow{number % 4}"})
    posted += 1
until(idle, seconds=120, every=0.05, what="the end of all runs")
seconds = time.monotonic() - begun
highest = plain.resident()
hurry.set()
goals = {server: [event["id"] for event in rested_log(server, starts[server])] for server in servers}
for reader in readers:
    try:
        until(lambda: reader.cursor == goals[reader.server][-1], seconds=30, every=0.02, what=f"the last event at {reader.form}")
    except TimeoutError as problem:
        tally.check(False, str(problem))
closing.set()

lost = repeated = disordered = 0
for reader in readers:
    goal, ids = goals[reader.server], reader.ids
    lost += len(set(goal) - set(ids))
    repeated += len(ids) - len(set(ids))
    numbers = [place(one) for one in ids]
    disordered += sum(b <= a for a, b in zip(numbers, numbers[1:]))
    print(f"slow: {reader.form:8} {len(ids):6} of {len(goal)} events over {reader.connections:3} connections, cut {reader.cuts:3} times, "
          f"{reader.texts.assembled} texts put together")
    tally.check(ids == goal, f"{reader.form} has every event once and in order")
    problems = reader.problems + reader.texts.problems
    tally.check(not problems and not reader.failure, f"{reader.form}: {reader.failure or problems[:3]}")
    tally.check(reader.cuts >= (2 if chosen.long and reader.form not in ("tcp", "tls") else 1), f"{reader.form} was cut {reader.cuts} times")
delays.sort()
print(f"slow: {chosen.messages} messages in {seconds:.0f} s; {lost} lost, {repeated} repeated, {disordered} out of order")
print(f"slow: the fast reader had each message after {delays[len(delays) // 2]:.1f} ms (median), {delays[int(len(delays) * 0.99)]:.1f} ms (99 of 100); "
      f"resident {before / 1048576:.1f} -> {highest / 1048576:.1f} MiB")
tally.check(highest - before < 24 << 20, "memory stays bounded")
tally.end()
