"""HTTP/2 from the wrong side: raw frames, over cleartext with prior knowledge and over TLS by ALPN, each case with the answer
RFC 9113 wants of a server: GOAWAY with a code and the end, RST_STREAM with a code while the connection goes on, a status, or
service. After each case a bystander on another connection is served. The table has what `HTTP2Tests/ConformanceCase` does not have,
and floods, header bombs, stalls, event streams under flow control, and the drain."""

import json
import os
import select
import socket
import ssl
import struct
import subprocess
import time

import hpack
import hpack.huffman
import hpack.huffman_constants

from harness import Serve, Stopwatch, Tally, options, scratch
from raw_http import certificate

options()
tally = Tally()

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST, SETTINGS, PUSH, PING, GOAWAY, WINDOW, CONTINUATION, PRIORITY_UPDATE = [*range(10), 16]
END_STREAM, END_HEADERS, PADDED, HAS_PRIORITY, ACK = 1, 4, 8, 32, 1
NO_ERROR, PROTOCOL, INTERNAL, FLOW, TIMEOUT, CLOSED, SIZE, REFUSED, CANCEL, COMPRESSION, CONNECT, CALM = range(12)
NAMES = ["NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED",
         "FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM"]
AFTER = 1001  # the stream of the request that is served after a case


def frame(kind, flags=0, stream=0, payload=b"", length=None):
    return struct.pack(">I", len(payload) if length is None else length)[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def word(value):
    return struct.pack(">I", value & 0xFFFFFFFF)


def setting(*pairs):
    return frame(SETTINGS, payload=b"".join(struct.pack(">HI", *pair) for pair in pairs))


def integer(value, bits, first=0):
    """RFC 7541 5.1"""
    most = (1 << bits) - 1
    if value < most:
        return bytes([first | value])
    out, value = [first | most], value - most
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def text(value):
    value = value if isinstance(value, bytes) else value.encode()
    return integer(len(value), 7) + value


def coded(value):
    """The same in the Huffman code (RFC 7541 5.2)."""
    coder = hpack.huffman.HuffmanEncoder(hpack.huffman_constants.REQUEST_CODES, hpack.huffman_constants.REQUEST_CODES_LENGTH)
    value = coder.encode(value.encode())
    return integer(len(value), 7, 128) + value


def block(fields):
    """Literal fields without indexing: every byte as it is."""
    return b"".join(b"\0" + text(name) + text(value) for name, value in fields)


class Peer:
    """One connection; reads frames, decodes heads, keeps what came."""

    def __init__(self, server, preface=PREFACE + setting(), read=True):
        self.socket = socket.create_connection(("127.0.0.1", server.port), 5)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if server.tls:
            self.socket = server.tls.wrap_socket(self.socket, server_hostname="localhost")
            assert self.socket.selected_alpn_protocol() == "h2"
        self.authority = f"localhost:{server.port}"
        self.scheme = "https" if server.tls else "http"
        self.buffer = b""
        self.frames = []  # (kind, flags, stream, payload)
        self.heads = {}  # stream: list of field lists
        self.bodies = {}
        self.resets = {}
        self.ended = set()
        self.goaways = []  # (last, code)
        self.pings = []
        self.settings = {}
        self.closed = False
        self.held = None  # what has to wait until a frame is whole
        self.decoder = hpack.Decoder()
        self.decoder.max_header_list_size = 1 << 20
        self.fragments = b""
        self.send(preface)

    def send(self, *pieces):
        for piece in pieces:
            if self.held is not None:
                self.held.append(piece)
                continue
            try:
                self.socket.sendall(piece)
            except OSError:
                # The answer that explains it may still be there to read.
                return

    def pump(self, data, seconds=10):
        """Sends much while it reads, as whoever does not care for the answer would not."""
        view, end = memoryview(data), time.monotonic() + seconds
        self.socket.setblocking(False)
        self.held = []
        while view and not self.closed and time.monotonic() < end:
            select.select([self.socket], [self.socket], [], 1)
            try:
                self.step()
            except (BlockingIOError, ssl.SSLWantReadError):
                pass
            try:
                view = view[self.socket.send(view[:1 << 16]):]
            except (BlockingIOError, ssl.SSLWantWriteError):
                pass
            except OSError:
                break
        self.socket.settimeout(5)
        held, self.held = self.held, None
        self.send(*held)

    def fields(self, path="/healthz", method="GET", changes=None, extra=(), before=()):
        pairs = {":method": method, ":scheme": self.scheme, ":authority": self.authority, ":path": path, **(changes or {})}
        return [*before, *((name, value) for name, value in pairs.items() if value is not None), *extra]

    def request(self, stream=1, path="/healthz", end=True, flags=0, **more):
        return frame(HEADERS, END_HEADERS | (END_STREAM if end else 0) | flags, stream, block(self.fields(path, **more)))

    def post(self, stream=1, extra=(), end=False):
        """A message, whose body is wanted."""
        path = f"/v1/messages?session=agent:main:h2x{os.urandom(4).hex()}"
        return self.request(stream, path, end=end, method="POST", extra=[("content-type", "text/plain"), *extra])

    def step(self):
        """Reads once and takes the frames in; False at the end."""
        try:
            piece = self.socket.recv(1 << 16)
        except ssl.SSLWantReadError:
            raise
        except (ConnectionResetError, BrokenPipeError, ssl.SSLError):
            piece = b""
        if not piece:
            self.closed = True
            return False
        self.buffer += piece
        while len(self.buffer) >= 9:
            length = int.from_bytes(self.buffer[:3], "big")
            if len(self.buffer) < 9 + length:
                break
            kind, flags = self.buffer[3], self.buffer[4]
            stream = int.from_bytes(self.buffer[5:9], "big") & 0x7FFFFFFF
            payload, self.buffer = self.buffer[9:9 + length], self.buffer[9 + length:]
            self.take(kind, flags, stream, payload)
        return True

    def take(self, kind, flags, stream, payload):
        self.frames.append((kind, flags, stream, len(payload)))
        if kind in (HEADERS, CONTINUATION):
            self.fragments += payload
            if flags & END_HEADERS:
                self.heads.setdefault(stream, []).append(dict(self.decoder.decode(self.fragments)))
                self.fragments = b""
        elif kind == DATA:
            self.bodies[stream] = self.bodies.get(stream, b"") + payload
        elif kind == RST:
            self.resets[stream] = int.from_bytes(payload, "big")
        elif kind == GOAWAY:
            self.goaways.append((int.from_bytes(payload[:4], "big") & 0x7FFFFFFF, int.from_bytes(payload[4:8], "big")))
        elif kind == PING and flags & ACK:
            self.pings.append(payload)
        elif kind == PING:
            self.send(frame(PING, ACK, 0, payload))
        elif kind == SETTINGS and not flags & ACK:
            self.settings.update(struct.unpack(">HI", payload[n:n + 6]) for n in range(0, len(payload), 6))
            self.send(frame(SETTINGS, ACK))
        if kind in (HEADERS, DATA) and flags & END_STREAM or kind == RST:
            self.ended.add(stream)

    def until(self, condition, seconds=20.0):
        """Reads until the condition holds; False when the connection ends or time runs out first."""
        end = time.monotonic() + seconds
        while not condition():
            left = end - time.monotonic()
            if self.closed or left <= 0:
                return False
            self.socket.settimeout(left)
            try:
                self.step()
            except TimeoutError:
                return condition()
        return True

    def quiet(self, seconds=0.2):
        self.until(lambda: False, seconds)

    def status(self, stream):
        heads = self.heads.get(stream)
        return int(heads[-1][":status"]) if heads and ":status" in heads[-1] else None

    def problem(self, stream):
        return json.loads(self.bodies.get(stream) or b"{}").get("code")

    def served(self, stream=AFTER, path="/healthz", seconds=20.0):
        self.send(self.request(stream, path))
        return self.until(lambda: stream in self.ended, seconds) and self.status(stream) == 200

    def ping(self):
        mark = os.urandom(8)
        self.send(frame(PING, 0, 0, mark))
        return self.until(lambda: mark in self.pings)

    def close(self):
        try:
            self.socket.close()
        except OSError:
            pass

    def said(self):
        goaways = [NAMES[code] if code < 12 else hex(code) for _, code in self.goaways]
        resets = {stream: NAMES[code] if code < 12 else hex(code) for stream, code in self.resets.items()}
        return f"goaway {goaways}, resets {resets}, statuses { {s: self.status(s) for s in self.heads} }, closed {self.closed}"


# MARK: the table. Each case: section, name, what it sends (bytes, or a function of the peer), what is expected.
cases = []


def connection(section, name, sends, code, **more):
    """GOAWAY with this code, then the end."""
    cases.append((section, name, sends, ("connection", code), more))


def stream(section, name, sends, code=PROTOCOL, number=1, **more):
    """RST_STREAM of stream 1 with this code; the connection serves on."""
    cases.append((section, name, sends, ("stream", number, code), more))


def status(section, name, sends, code, number=1, **more):
    """Stream 1 is answered with this status; the connection serves on."""
    cases.append((section, name, sends, ("status", number, code), more))


def fine(section, name, sends, **more):
    """Nothing is wrong: no GOAWAY, no RST_STREAM, and another request is served."""
    cases.append((section, name, sends, ("fine",), more))


def head(section, name, wanted=PROTOCOL, **changes):
    """A request whose head is wrong."""
    stream(section, name, lambda p: p.request(1, **changes), wanted)


BIG = bytes(16_385)
EIGHT = b"12345678"

# 3.4, 3.5: the preface
connection("3.4", "SETTINGS is missing, PING comes first", frame(PING, payload=EIGHT), PROTOCOL, preface=PREFACE)
connection("3.4", "SETTINGS is missing, a request comes first", lambda p: p.request(), PROTOCOL, preface=PREFACE)
cases.append(("3.4", "a broken preface", b"", ("closed",), {"preface": b"PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n" + setting()}))
cases.append(("3.4", "a preface cut by nonsense", b"", ("closed",), {"preface": b"PRI * HTTP/2.0\r\n" + b"x" * 40}))
cases.append(("3.4", "lines that are no preface", b"", ("closed",), {"preface": b"HELLO THERE SERVER\r\n\r\n"}))
fine("3.4", "the preface in pieces", b"", pieces=[PREFACE[:1], PREFACE[1:3], PREFACE[3:20], PREFACE[20:] + setting()[:4], setting()[4:]])
fine("3.4", "the preface, settings and a request at once", b"", whole=True)

# 4: frames and blocks
fine("4.1", "a frame of an unknown type on a stream", lambda p: p.request() + frame(0xF0, 0xFF, 1, b"12"))
fine("4.2", "a frame of the largest size", lambda p: p.post() + frame(DATA, 0, 1, BIG[:-1]))
connection("4.2", "SETTINGS over the frame size", frame(SETTINGS, 0, 0, bytes(16_386)), SIZE)
connection("4.2", "CONTINUATION over the frame size", frame(HEADERS, 1, 1) + frame(CONTINUATION, 4, 1, BIG), SIZE)
connection("4.2", "an unknown frame over the frame size", frame(0xF0, 0, 0, BIG), SIZE)
connection("4.2", "a length of 2^24-1", frame(DATA, 0, 1, bytes(100), length=0xFFFFFF), SIZE)
for name, payload in {
    "an index beyond the tables": b"\xff\xff\x7f", "index 0": b"\x80", "a field cut short": b"\x00\x05\x61",
    "a name without value": b"\x00\x01a", "an integer without end": b"\xff" + b"\x80" * 12 + b"\x01",
    "an integer beyond 2^32": b"\xff\xff\xff\xff\xff\xff\xff\x7f", "Huffman, wrong padding": b"\x00\x81\x18\x00",
    "Huffman, padding of 8 bits": b"\x00\x85\xf2\xb2\x4a\x84\xff\x84\x49\x50\x9f\xff",
    "Huffman, padding of zeros": b"\x00\x85\xf2\xb2\x4a\x84\xff\x83\x49\x50\x90",
    "Huffman with EOS": b"\x00\x85\xf2\xb2\x4a\x84\xff\x87\x49\x51\xff\xff\xff\xfa\x7f",
    "a string longer than the block": b"\x00\x7f\xff\x7fabc", "a table size over ours": b"\x3f\xe2\x1f",
    "an empty dynamic entry": b"\xbe", "a literal named by no entry": b"\x7f\x40\x01a",
}.items():
    connection("4.3", name, frame(HEADERS, 5, 1, payload), COMPRESSION)
connection("4.3", "a table size update between fields", lambda p: frame(HEADERS, 5, 1, block(p.fields()[:2]) + b"\x20" + block(p.fields()[2:])), COMPRESSION)
fine("4.3", "a table size update first", lambda p: frame(HEADERS, 5, 1, b"\x20" + block(p.fields())))
fine("4.3", "two table size updates first", lambda p: frame(HEADERS, 5, 1, b"\x20\x3f\xe1\x1f" + block(p.fields())))
connection("4.3", "an unknown frame inside a block", lambda p: frame(HEADERS, 1, 1, block(p.fields())) + frame(0xF0, 0, 0, EIGHT), PROTOCOL)
connection("4.3", "DATA behind the second frame of a block", lambda p: frame(HEADERS, 0, 1, block(p.fields()[:2])) + frame(CONTINUATION, 0, 1, block(p.fields()[2:])) + frame(DATA, 1, 1, b"a"), PROTOCOL)
connection("4.3", "PING inside a block", lambda p: frame(HEADERS, 1, 1, block(p.fields())) + frame(PING, 0, 0, EIGHT), PROTOCOL)
connection("4.3", "SETTINGS inside a block", lambda p: frame(HEADERS, 1, 1, block(p.fields())) + setting(), PROTOCOL)
connection("4.3", "DATA inside a block", lambda p: frame(HEADERS, 0, 1, block(p.fields())) + frame(DATA, 1, 1, b"a"), PROTOCOL)
connection("4.3", "WINDOW_UPDATE inside a block", lambda p: frame(HEADERS, 1, 1, block(p.fields())) + frame(WINDOW, 0, 0, word(1)), PROTOCOL)

# 5.1: stream states
connection("5.1", "CONTINUATION after RST_STREAM", lambda p: p.post() + frame(RST, 0, 1, word(8)) + frame(CONTINUATION, 4, 1, b"\x88"), PROTOCOL)
connection("5.1", "impossible padding behind an early answer", lambda p: frame(DATA, PADDED, 1, b"\x06hello"), PROTOCOL, early=True)
fine("5.1", "a body and trailers behind an early answer", lambda p: frame(DATA, PADDED, 1, b"\x02hello\0\0") + frame(HEADERS, 5, 1, block([("x", "y")])), early=True)
connection("5.1", "DATA on a closed stream", lambda p: p.request(1) + frame(DATA, 1, 1, b"hello"), CLOSED, settle=True)
connection("5.1", "HEADERS on a closed stream", lambda p: p.request(1) + p.request(1), CLOSED, settle=True)
connection("5.1", "CONTINUATION on a closed stream", lambda p: p.request(1) + frame(CONTINUATION, 4, 1, b"\x88"), PROTOCOL)
fine("5.1", "WINDOW_UPDATE on a closed stream", lambda p: p.request(1) + frame(WINDOW, 0, 1, word(5)))
fine("5.1", "RST_STREAM on a closed stream", lambda p: p.request(1) + frame(RST, 0, 1, word(8)))
fine("5.1", "PRIORITY on every kind of stream", lambda p: frame(PRIORITY, 0, 1, word(0) + b"\x0f") + p.request(3) + frame(PRIORITY, 0, 3, word(0) + b"\x0f"))
fine("5.1", "RST_STREAM twice", lambda p: p.post() + frame(RST, 0, 1, word(8)) + frame(RST, 0, 1, word(8)))
fine("5.1.1", "the highest id", lambda p: p.request(0x7FFFFFFF), after=False)
fine("5.3.1", "PRIORITY of a stream above opens none", lambda p: frame(PRIORITY, 0, 9, word(0) + b"\xff") + p.request(1) + p.request(3))
fine("5.3.1", "PRIORITY on an idle stream", lambda p: frame(PRIORITY, 0, 3, word(0x80000001) + b"\0") + p.request(1))
fine("5.3.1", "HEADERS with priority", lambda p: frame(HEADERS, 5 | HAS_PRIORITY, 1, word(0x80000003) + b"\xff" + block(p.fields())))

# 6: each kind of frame
connection("6.1", "padding without its length", lambda p: p.post() + frame(DATA, PADDED, 1), PROTOCOL)
status("6.1", "a padded body", lambda p: p.post() + frame(DATA, PADDED | END_STREAM, 1, b"\x03hello" + bytes(3)), 202)
status("6.1", "a body in many pieces", lambda p: p.post() + b"".join(frame(DATA, 0, 1, b"a") for _ in range(50)) + frame(DATA, 1, 1), 202)
connection("6.2", "padding without its length", frame(HEADERS, 5 | PADDED, 1), PROTOCOL)
connection("6.2", "priority cut short", frame(HEADERS, 5 | HAS_PRIORITY, 1, b"\0\0\0"), SIZE)
fine("6.2", "padded HEADERS", lambda p: frame(HEADERS, 5 | PADDED, 1, b"\x09" + block(p.fields()) + bytes(9)))
connection("6.3", "PRIORITY of 6 bytes", frame(PRIORITY, 0, 1, word(3) + b"\x0f\x0f"), SIZE)
connection("6.4", "RST_STREAM of 5 bytes", lambda p: p.post() + frame(RST, 0, 1, bytes(5)), SIZE)
fine("6.4", "RST_STREAM with an unknown code", lambda p: p.post() + frame(RST, 0, 1, word(0xFFFF)))
connection("6.5", "SETTINGS of 3 bytes", frame(SETTINGS, 0, 0, bytes(3)), SIZE)
connection("6.5.2", "a window of 2^32-1", setting((4, 0xFFFFFFFF)), FLOW)
connection("6.5.2", "a frame size of 0", setting((5, 0)), PROTOCOL)
connection("6.5.2", "ENABLE_CONNECT_PROTOCOL of 2", setting((8, 2)), PROTOCOL)
connection("6.5.2", "33 entries at once", setting(*[(3, 100)] * 33), CALM)
fine("6.5.2", "every known setting", setting((1, 4096), (2, 0), (3, 100), (4, 65_535), (5, 16_384), (6, 65_536)))
fine("6.5.2", "the same setting twice", setting((4, 1), (4, 65_535)))
fine("6.5.2", "a peer without a dynamic table", setting((1, 0)))
fine("6.5.2", "the largest frame size", setting((5, 0xFFFFFF)))
connection("6.5.3", "acknowledgements nobody asked for", frame(SETTINGS, ACK) * 3, PROTOCOL)
connection("6.6", "PUSH_PROMISE on an idle stream", lambda p: frame(PUSH, 4, 1, word(2) + block(p.fields())), PROTOCOL)
connection("6.6", "PUSH_PROMISE on stream 0", lambda p: frame(PUSH, 4, 0, word(2) + block(p.fields())), PROTOCOL)
connection("6.7", "PING of 9 bytes", frame(PING, 0, 0, b"123456789"), SIZE)
connection("6.7", "PING without bytes", frame(PING), SIZE)
fine("6.8", "GOAWAY with an unknown code and more to say", lambda p: p.post() + frame(GOAWAY, 0, 0, word(0) + word(0xFF) + b"so long"), after=False)
connection("6.8", "GOAWAY of 7 bytes", frame(GOAWAY, 0, 0, bytes(7)), SIZE)
connection("6.9", "WINDOW_UPDATE of 5 bytes", frame(WINDOW, 0, 0, b"\0\0\0\1\0"), SIZE)
connection("6.9.1", "a connection window over 2^31-1 by steps", frame(WINDOW, 0, 0, word(0x7FFF0000)) * 2, FLOW)
connection("6.10", "CONTINUATION on stream 0 inside a block", lambda p: frame(HEADERS, 1, 1, block(p.fields())) + frame(CONTINUATION, 4, 0), PROTOCOL)
connection("6.10", "CONTINUATION behind the last one", lambda p: frame(HEADERS, 0, 1, block(p.fields()[:3])) + frame(CONTINUATION, 4, 1, block(p.fields()[3:])) * 2, PROTOCOL)
connection("6.10", "CONTINUATION first", frame(CONTINUATION, 4, 1, b"\x82"), PROTOCOL)
fine("6.10", "an empty CONTINUATION", lambda p: frame(HEADERS, 1, 1, block(p.fields())) + frame(CONTINUATION, 4, 1))
fine("9218", "PRIORITY_UPDATE", lambda p: frame(PRIORITY_UPDATE, 0, 0, word(1) + b"u=1") + p.request(1))

# 8: requests
stream("8.1", "an upper-case name in trailers", lambda p: p.post() + frame(DATA, 0, 1, b"hello") + frame(HEADERS, 5, 1, block([("X", "y")])))
stream("8.1.1", "several DATA beyond content-length", lambda p: p.post(extra=[("content-length", "5")]) + frame(DATA, 0, 1, b"abc") + frame(DATA, 1, 1, b"abc"))
status("8.1.1", "a body of its content-length", lambda p: p.post(extra=[("content-length", "5")]) + frame(DATA, 1, 1, b"hello"), 202)
head("8.3", "an unknown pseudo-field first", before=[(":unknown", "a")])
head("8.3.1", "CONNECT with a path", changes={":method": "CONNECT"})
head("8.3.1", "a blank in :method", changes={":method": "GET /"})
stream("8.3.1", "an empty :method", lambda p: p.request(1, changes={":method": ""}))
status("8.3.1", "a :path with a fragment", lambda p: p.request(1, changes={":path": "/healthz#a"}), 400)
status("8.3.1", "an unknown :method", lambda p: p.request(1, changes={":method": "BREW"}), 405)
status("8.3.1", "a scheme of another kind", lambda p: p.request(1, changes={":scheme": "ftp"}), 400)
status("8.3.1", "a foreign host", lambda p: p.request(1, changes={":authority": "evil.example"}), 421)
status("8.5", "CONNECT", lambda p: frame(HEADERS, 4, 1, block([(":method", "CONNECT"), (":authority", p.authority)])), 400)
status("8", "HEAD", lambda p: p.request(1, method="HEAD"), 200)
status("8", "OPTIONS *", lambda p: p.request(1, "*", method="OPTIONS"), 204)
fine("8", "cookies in pieces", lambda p: p.request(1, extra=[("cookie", "a=1"), ("cookie", "b=2")]))

# HPACK: what the static and the dynamic table give
fine("7541", "indexed fields", lambda p: frame(HEADERS, 5, 1, b"\x82" + (b"\x87" if p.scheme == "https" else b"\x86") + b"\x41" + text(p.authority) + b"\x44" + text("/healthz")))
fine("7541", "dynamic entries are used again", lambda p: frame(HEADERS, 5, 1, b"\x82" + (b"\x87" if p.scheme == "https" else b"\x86") + b"\x41" + text(p.authority) + b"\x44" + text("/healthz")) + frame(HEADERS, 5, 3, b"\x82" + (b"\x87" if p.scheme == "https" else b"\x86") + b"\xbf\xbe"))
for kind, first, bits in (("with indexing", 0x40, 6), ("without indexing", 0, 4), ("never indexed", 0x10, 4)):
    for name, string in (("plain", text), ("in Huffman code", coded)):
        fine("7541", f"{kind}, a new name, {name}", lambda p, f=first, string=string: frame(HEADERS, 5, 1, block(p.fields()) + bytes([f]) + string("x-test") + string("some value")))
        fine("7541", f"{kind}, user-agent by its index, {name}", lambda p, f=first, bits=bits, string=string: frame(HEADERS, 5, 1, block(p.fields()) + integer(58, bits, f) + string("proof/1.0")))
fine("7541", "a whole head in Huffman code", lambda p: frame(HEADERS, 5, 1, b"".join(b"\x40" + coded(n) + coded(v) for n, v in p.fields())))
fine("7541", "a smaller table, then an entry", lambda p: frame(HEADERS, 5, 1, integer(128, 5, 0x20) + block(p.fields()) + b"\x40" + text("a") + text("b")) + frame(HEADERS, 5, 3, block(p.fields()) + b"\xbe"))
fine("7541", "never indexed", lambda p: frame(HEADERS, 5, 1, block(p.fields()) + b"\x10" + text("authorization-x") + text("secret")))

# Limits of ours
status("limit", "a field over 16 KiB", lambda p: long_head(p, 1, [("x", "a" * 17_000)]), 431)
status("limit", "80 fields", lambda p: p.request(1, extra=[(f"x{n}", "a") for n in range(80)]), 431)
status("limit", "many long fields", lambda p: long_head(p, 1, [(f"x{n}", "a" * 500) for n in range(40)]), 431)
connection("limit", "CONTINUATION flood", lambda p: frame(HEADERS, 1, 1, block(p.fields())) + frame(CONTINUATION, 0, 1, block([("x", "y")])) * 5000, CALM)
connection("limit", "empty CONTINUATION flood", lambda p: frame(HEADERS, 1, 1, block(p.fields())) + frame(CONTINUATION, 0, 1) * 50_000, CALM)
connection("limit", "a bomb of HPACK indexes", lambda p: frame(HEADERS, 4, 1, block(p.fields()) + b"\x40" + text("x") + text("a" * 3000)) + frame(HEADERS, 5, 3, block(p.fields()) + b"\xbe" * 10_000), CALM)
connection("limit", "rapid reset", lambda p: b"".join(p.request(n, end=False) + frame(RST, 0, n, word(8)) for n in range(1, 4001, 2)), CALM)
connection("limit", "rapid reset of whole requests", lambda p: b"".join(p.request(n, "/v1/events?timeout=9") + frame(RST, 0, n, word(8)) for n in range(1, 4001, 2)), CALM)
connection("limit", "resets forced by bad heads", lambda p: b"".join(p.request(n, extra=[("connection", "x")]) for n in range(1, 2001, 2)), CALM)
connection("limit", "PING flood", frame(PING, 0, 0, EIGHT) * 5000, CALM)
connection("limit", "SETTINGS flood", setting() * 5000, CALM)
connection("limit", "SETTINGS flood with entries", setting((4, 65_535)) * 5000, CALM)
connection("limit", "PRIORITY flood", b"".join(frame(PRIORITY, 0, n, word(0) + b"\x0f") for n in range(1, 10_001, 2)), CALM)
connection("limit", "PRIORITY_UPDATE flood", frame(PRIORITY_UPDATE, 0, 0, word(1) + b"u=1") * 5000, CALM)
connection("limit", "empty DATA flood", lambda p: p.post() + frame(DATA, 0, 1) * 5000, CALM)
connection("limit", "padding-only DATA flood", lambda p: p.post() + frame(DATA, PADDED, 1, b"\0") * 20_000, CALM)
connection("limit", "unknown frames flood", frame(0xF0, 0, 0, EIGHT) * 5000, CALM)
fine("limit", "some window updates without need", frame(WINDOW, 0, 0, word(1)) * 900)
connection("limit", "WINDOW_UPDATE flood", frame(WINDOW, 0, 0, word(1)) * 20_000, CALM)
connection("limit", "WINDOW_UPDATE flood on a stream", lambda p: p.post() + frame(WINDOW, 0, 1, word(1)) * 20_000, CALM)
stream("limit", "the 101st stream", lambda p: b"".join(p.post(n) for n in range(1, 203, 2)), REFUSED, number=201, after=False)
connection("limit", "the 101st stream of a peer that knows better", lambda p: p.ping() and b"".join(p.post(n) for n in range(1, 203, 2)), PROTOCOL)
status("limit", "a body that says it is too large", lambda p: p.post(extra=[("content-length", "99999999")]), 413)


def long_head(peer, number, extra):
    payload = block(peer.fields(extra=extra))
    pieces = [payload[n:n + 16_384] for n in range(0, len(payload), 16_384)]
    return b"".join(
        frame(CONTINUATION if n else HEADERS, (0 if n else END_STREAM) | (END_HEADERS if n == len(pieces) - 1 else 0), number, piece)
        for n, piece in enumerate(pieces))


def run(server, witness, case):
    section, name, sends, expected, more = case
    name = f"{server.kind} {section} {name}"
    if "pieces" in more:
        peer = Peer(server, b"")
        for piece in more["pieces"]:
            peer.send(piece)
            time.sleep(0.01)
    elif "whole" in more:
        peer = Peer(server, b"")
        peer.send(PREFACE + setting() + peer.request(1))
        tally.check(peer.until(lambda: 1 in peer.ended) and peer.status(1) == 200, f"{name}: {peer.said()}")
    else:
        peer = Peer(server, more.get("preface", PREFACE + setting()))
    raw = sends(peer) if callable(sends) else sends
    if "early" in more:
        # Refused at its head, before its body.
        peer.send(peer.request(1, "/v1/status", end=False, method="PATCH"))
        tally.check(peer.until(lambda: 1 in peer.ended) and 1 not in peer.resets, f"{name}: {peer.said()}")
    if "settle" in more:
        peer.send(peer.request(1))
        peer.until(lambda: 1 in peer.ended)
        raw = raw[len(peer.request(1)):]
    kind = expected[0]
    if kind == "connection" and len(raw) > 10_000:
        peer.pump(raw)
    else:
        peer.send(raw)
    if kind == "connection":
        peer.until(lambda: peer.closed)
        codes = [code for _, code in peer.goaways]
        tally.check(peer.closed and codes[-1:] == [expected[1]], f"{name}: {peer.said()}, not {NAMES[expected[1]]} and closed")
    elif kind == "closed":
        peer.until(lambda: peer.closed)
        tally.check(peer.closed and not peer.heads, f"{name}: {peer.said()}, not closed")
    elif kind == "fine":
        held = peer.served() if more.get("after", True) else peer.ping()
        tally.check(held and not peer.resets and not peer.goaways, f"{name}: {peer.said()}, not served")
    elif kind == "status":
        peer.until(lambda: expected[1] in peer.ended)
        tally.check(peer.status(expected[1]) == expected[2], f"{name}: {peer.said()}, not {expected[2]}")
        tally.check(peer.served() and not peer.goaways, f"{name}: then served: {peer.said()}")
    else:
        peer.until(lambda: expected[1] in peer.resets)
        tally.check(peer.resets.get(expected[1]) == expected[2], f"{name}: {peer.said()}, not RST_STREAM {NAMES[expected[2]]}")
        if more.get("after", True):
            tally.check(peer.served() and not peer.goaways, f"{name}: then served: {peer.said()}")
    peer.close()
    return witness.check(name)


class Witness:
    """The bystander: one connection that asks after each case."""

    def __init__(self, server):
        self.server, self.peer, self.stream, self.slowest = server, Peer(server), -1, 0

    def check(self, name):
        self.stream += 2
        watch = Stopwatch(self.server)
        held = self.peer.served(self.stream)
        self.slowest = max(self.slowest, watch.seconds)
        if not held:
            tally.check(False, f"{name}: the bystander is served: {self.peer.said()}")
        return held


def servers():
    files, trust = certificate(scratch())
    trust.set_alpn_protocols(["h2", "http/1.1"])
    plain, secure = Serve(), Serve(*files)
    plain.kind, plain.tls = "h2c", None
    secure.kind, secure.tls = "h2", trust
    return plain, secure


SSE = [("accept", "text/event-stream")]


def speaking(server):
    """What takes more than one step, over either."""
    kind = server.kind

    def check(holds, what):
        tally.check(holds, f"{kind} {what}: {peer.said()}")

    peer = Peer(server)
    peer.served(1)
    check(peer.settings.get(3) == 100 and peer.settings.get(6) == 16_384, f"settings: {peer.settings}")
    fields = peer.heads[1][0]
    check("connection" not in fields and "transfer-encoding" not in fields and "date" in fields, f"fields of an answer: {fields}")
    peer.send(peer.request(3, method="HEAD"))
    peer.until(lambda: 3 in peer.ended)
    check(peer.status(3) == 200 and not peer.bodies.get(3) and int(peer.heads[3][0]["content-length"]) > 0, "HEAD has a length and no body")
    peer.send(peer.post(5, extra=[("expect", "100-continue"), ("content-length", "5")]))
    peer.until(lambda: peer.status(5) == 100)
    check(peer.status(5) == 100, "100 before the body")
    peer.send(frame(DATA, END_STREAM, 5, b"hello"))
    peer.until(lambda: 5 in peer.ended)
    check(peer.status(5) == 202, "202 behind it")
    # The peer's GOAWAY: what is open is still answered
    peer.send(peer.post(301) + frame(GOAWAY, 0, 0, word(0) + word(0)) + frame(DATA, END_STREAM, 301, b"hello"))
    peer.until(lambda: 301 in peer.ended)
    check(peer.status(301) == 202, "an open request is answered after the peer's GOAWAY")
    peer.close()

    # What the peer may send: a window of 256 KiB a stream, which only the body that is wanted opens again
    peer = Peer(server)
    peer.send(peer.request(1, "/v1/status", end=False, method="PATCH"))
    peer.pump(frame(DATA, 0, 1, bytes(16_384)) * 64)
    peer.until(lambda: peer.status(1))
    check(peer.status(1) == 405 and not peer.goaways, "a body behind an answer is thrown away")
    check(peer.served(3), "and the connection serves on")
    peer.close()
    peer = Peer(server)
    for n in range(1, 401, 2):
        peer.send(peer.post(n) + frame(WINDOW, 0, n, word(0x7FFFFFFF)))
        if not peer.ping():
            break
    peer.until(lambda: peer.closed)
    check(peer.goaways[-1:] and peer.goaways[-1][1] == CALM and 180 < n < 220, f"resets forced by WINDOW_UPDATE end it: {n}")
    peer.close()

    # Event streams
    peer = Peer(server)
    peer.send(frame(WINDOW, 0, 0, word(10_000_000)))
    peer.send(peer.request(1, "/v1/events", extra=SSE))
    peer.until(lambda: peer.status(1))
    check(peer.status(1) == 200 and peer.heads[1][0]["content-type"].startswith("text/event-stream"), "an event stream opens")
    session = f"agent:main:h2s{os.urandom(4).hex()}"
    peer.send(peer.request(3, f"/v1/messages?session={session}", end=False, method="POST", extra=[("content-type", "text/plain")]) + frame(DATA, 1, 3, b"hello"))
    # Of this message: those of earlier ones may still come.
    check(peer.until(lambda: session.encode() in peer.bodies.get(1, b"")), "events arrive beside other requests")
    peer.send(frame(RST, 0, 1, word(8)))
    check(peer.served(5), "a stream that is cancelled leaves the connection alone")
    streams = range(7, 97, 2)
    peer.send(b"".join(peer.request(n, "/v1/events", extra=SSE) for n in streams))
    peer.until(lambda: all(peer.status(n) for n in streams))
    check(all(peer.status(n) == 200 for n in streams) and peer.served(201), "45 event streams on one connection, and requests beside them")
    more = range(203, 223, 2)
    peer.send(b"".join(peer.request(n, "/v1/events", extra=SSE) for n in more))
    peer.until(lambda: sum(n in peer.ended for n in more) >= 5)
    over = [n for n in more if b"too_many_streams" in peer.bodies.get(n, b"") and b"retry: 30000" in peer.bodies[n]]
    check(len(over) == 5, f"event streams over 50 on a connection are told why and end: {len(over)}")
    check(peer.served(401), "and the connection serves on")
    peer.close()
    # A shut window: events wait, bounded, and others get theirs
    shut = Peer(server, PREFACE + setting((4, 0)))
    shut.send(shut.request(1, "/v1/events", extra=SSE))
    shut.until(lambda: shut.status(1))
    peer = Peer(server)
    peer.send(peer.request(1, "/v1/events", extra=SSE))
    peer.until(lambda: peer.status(1))
    for n in range(3, 23, 2):
        peer.send(peer.post(n) + frame(DATA, 1, n, b"hello"))
    peer.until(lambda: peer.bodies.get(1, b"").count(b"event: outbox") >= 10)
    check(peer.bodies[1].count(b"event: outbox") >= 10 and not shut.bodies.get(1), "a shut window holds back nobody else")
    shut.send(frame(WINDOW, 0, 1, word(60_000)))
    shut.until(lambda: shut.bodies.get(1, b"").count(b"event: outbox") >= 10)
    check(shut.bodies.get(1, b"").count(b"event: outbox") >= 10, "opened again it misses nothing")
    shut.close()
    peer.close()


def stalls(server):
    """Peers that keep the window shut, or open it byte by byte, lose their streams after the stall deadline."""
    shut = Peer(server, PREFACE + setting((4, 0)))
    shut.send(shut.request(1, "/v1/status"))
    slow = Peer(server, PREFACE + setting((4, 1)))
    slow.send(slow.request(1, "/v1/status"))
    body = Peer(server)
    body.send(body.post(1))
    end = time.monotonic() + 8
    while time.monotonic() < end and not (1 in shut.resets and 1 in slow.resets and 1 in body.ended):
        slow.send(frame(WINDOW, 0, 1, word(1)))
        body.send(frame(DATA, 0, 1, b"a"))
        for peer in (shut, slow, body):
            peer.quiet(0.1)
    tally.check(shut.resets.get(1) == CALM, f"{server.kind} a window never opened: {shut.said()}")
    tally.check(slow.resets.get(1) == CALM, f"{server.kind} a window opened byte by byte: {slow.said()}")
    tally.check(body.status(1) == 408, f"{server.kind} a body byte by byte: {body.said()}")
    idle = Peer(server)
    idle.served(1)
    idle.until(lambda: idle.closed)
    tally.check(idle.goaways[-1:] == [(1, NO_ERROR)] and idle.closed, f"{server.kind} an idle connection is told to go: {idle.said()}")


def drain(server):
    """GOAWAY twice, the second with the last stream; what is under way ends, streams get their last event."""
    peer = Peer(server)
    peer.send(peer.request(1, "/v1/events", extra=SSE))
    peer.until(lambda: peer.status(1))
    peer.send(peer.post(3))
    peer.ping()
    start = time.monotonic()
    server.process.terminate()
    peer.until(lambda: peer.goaways)
    tally.check(peer.goaways[:1] == [(0x7FFFFFFF, NO_ERROR)], f"{server.kind} drain: the first GOAWAY: {peer.goaways}")
    peer.send(frame(DATA, END_STREAM, 3, b"hello"))
    peer.until(lambda: peer.closed, 8)
    took = time.monotonic() - start
    tally.check(peer.goaways[1:2] == [(3, NO_ERROR)], f"{server.kind} drain: the second GOAWAY: {peer.goaways}")
    tally.check(peer.status(3) is not None, f"{server.kind} drain: the request under way is answered: {peer.said()}")
    tally.check(b"event: shutdown" in peer.bodies.get(1, b"") and b"retry:" in peer.bodies[1] and 1 in peer.ended, f"{server.kind} drain: the stream's last event")
    tally.check(server.process.wait(10) == 0 and took < 5.5, f"{server.kind} drain: {took:.1f} s, exit {server.process.returncode}")




def refused_uploads(server):
    """curl has the answer to an upload that is refused while it sends."""
    size = 33 << 20
    body = os.path.join(scratch(), "body")
    with open(body, "wb") as file:
        file.truncate(size)
    wrong = ["-H", "Authorization: Bearer wrong"]
    for path, more, status in (("/v1/messages", [], 413), ("/v1/tokens", [], 413), ("/v1/messages", wrong, 401)):
        address = f"{'https' if server.tls else 'http'}://localhost:{server.port}{path}"
        said = subprocess.run(["curl", "-sSk", "--http2" if server.tls else "--http2-prior-knowledge", "-o", "/dev/null", "-w", "%{http_code} %{http_version}",
                               "-H", "Content-Type: application/json", *more, "--data-binary", f"@{body}", address],
                              capture_output=True, text=True, timeout=60)
        tally.check(said.stdout == f"{status} 2" and said.returncode == 0,
                    f"{server.kind} curl sends {size >> 20} MiB to {path}: exit {said.returncode}, {said.stdout} {said.stderr}")


def ask(server, path):
    """The body of an answer over HTTP/2."""
    peer = Peer(server)
    peer.send(peer.request(1, path))
    peer.until(lambda: 1 in peer.ended)
    body = peer.bodies.get(1, b"").decode()
    peer.close()
    return body


plain, secure = servers()
for server in (plain, secure):
    start, witness = time.monotonic(), Witness(server)
    size = server.resident()
    for case in cases:
        if not run(server, witness, case):
            witness.peer.close()
            slowest, witness = witness.slowest, Witness(server)
            witness.slowest = slowest
    speaking(server)
    refused_uploads(server)
    page = ask(server, "/metrics")
    counted = sum(float(line.split()[-1]) for line in page.splitlines() if line.startswith("ladle_http_refusals_total"))
    broken = sum(case[3][0] in ("connection", "stream", "closed") for case in cases)
    tally.check(counted >= broken, f"{server.kind} {counted:.0f} refusals in the metrics, {broken} cases that end in one")
    print(f"{server.kind}: {len(cases)} cases in {time.monotonic() - start:.1f} s, the bystander's slowest answer "
          f"{witness.slowest * 1000:.0f} ms, memory {size >> 20} -> {server.resident() >> 20} MiB")
    tally.check(witness.slowest < 1, f"{server.kind} the bystander waits {witness.slowest:.2f} s")
late = Serve("--limits-write-stall", "1s", "--limits-idle", "2s", "--limits-body-grace", "1s")
late.kind, late.tls = "h2c", None
stalls(late)
drain(plain)
drain(secure)
tally.end()
