"""Limits of the listeners, each set low and then overrun: the answer is a problem document where there can be one, the connection ends in
time, and the next client is served; clients never take the descriptors of the link, nor another user the owner's place. What a message
writes to the disk. Then the ways to stop: with thousands of streams, with peers that do not let go, at the second signal. Deadlines and sizes: `HTTP1ServerTests`."""

import json
import os
import resource
import select
import signal
import socket
import subprocess
import time

from harness import DemoGateway, Serve, Stopwatch, Tally, options, outside_address, run_ladle, scratch, until
from raw_http import ask_h2, certificate, read_until

chosen = options(streams=(1500, 10_000))
tally = Tally()
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)


class Wire:
    """A connection that sends what it is told, and what came back."""

    def __init__(self, port, data=b"", buffer=None, host="127.0.0.1"):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        if buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        self.socket.settimeout(5)
        self.socket.connect((host, port))
        self.start = time.monotonic()
        self.socket.sendall(data)

    def rest(self, seconds=8, drip=b"", every=0.1):
        """Everything until the end, and how long that took; None where it did not end. Drips bytes meanwhile."""
        data, end = b"", time.monotonic() + seconds
        self.socket.settimeout(every if drip else seconds)
        while time.monotonic() < end:
            try:
                piece = self.socket.recv(65536)
                if not piece:
                    return data, time.monotonic() - self.start
                data += piece
            except TimeoutError:
                if drip:
                    try:
                        self.socket.sendall(drip)
                    except OSError:
                        pass
            except ConnectionResetError:
                return data, time.monotonic() - self.start
        return data, None


def problem(data):
    head, _, body = data.partition(b"\r\n\r\n")
    if b"application/problem+json" not in head:
        return None, None
    return int(head.split()[1]), json.loads(body).get("code")


def host(server):
    return f"Host: 127.0.0.1:{server.port}\r\n".encode()


def served(server, what):
    tally.check(server.call("GET", "/healthz")[0] == 200, f"{what}: the next client is served")


TEXT = b"Content-Type: text/plain\r\n"

# Peers that take nothing, and such as stay
quick = Serve("--limits-header-timeout", "1s", "--limits-write-stall", "1s", "--limits-linger", "300ms", "--limits-answer-bytes", "256KiB")
wire = Wire(quick.port, b"GET / HTTP/1.1\r\nX: ")
got, took = wire.rest(drip=b"a")
tally.check(problem(got) == (408, "REQUEST_TIMEOUT") and took, f"a head byte by byte: {problem(got)} after {took} s")
served(quick, "a head byte by byte")
# An answer nobody reads: all of its connection's memory comes back
wire = Wire(quick.port, (b"GET /v1/status HTTP/1.1\r\n" + host(quick) + b"\r\n") * 3000, buffer=4096)
before = quick.descriptors()
until(lambda: quick.descriptors() < before, 6, what="the end of a peer that reads nothing")
tally.check(True, "a peer that does not read is let go")
wire.socket.close()
# After a refusal the peer may read, not stay
before = quick.descriptors()
watch = Stopwatch(quick)
wire = Wire(quick.port, b"BROKEN\r\n\r\n")
until(lambda: wire.socket.recv(4096))
until(lambda: quick.descriptors() <= before, what="the end of lingering")
tally.check(watch.seconds < 1.5, f"a refused peer that stays is cut after the linger: {watch.seconds:.1f} s")

tally.check(quick.stop() == 0, "the first server ends as it should")

# Numbers
few = Serve("--limits-connections", "5", "--events-streams", "3")
# Of `demo`'s own connections none counts here: those are the gateway's.
held = [Wire(few.port, b"GET /healthz HTTP/1.1\r\n" + host(few) + b"\r\n") for _ in range(5)]
for wire in held:
    until(lambda: wire.socket.recv(4096))
got, took = Wire(few.port).rest()
tally.check(problem(got) == (503, "TOO_MANY_CONNECTIONS") and b"retry-after" in got.lower(), f"a sixth connection of five: {got[:40]!r}")
got, took = Wire(few.port, b"GET /healthz HTTP/1.1\r\n" + host(few) + b"\r\n").rest()
tally.check(problem(got) == (503, "TOO_MANY_CONNECTIONS"), "the same for one that has asked already")
held.pop().socket.close()
until(lambda: few.call("GET", "/healthz")[0] == 200, what="room")
for wire in held:
    wire.socket.close()
time.sleep(0.1)


def stream(server, query="", fields=b""):
    return Wire(server.port, b"GET /v1/events" + query.encode() + b" HTTP/1.1\r\n" + host(server) + b"Accept: text/event-stream\r\n" + fields + b"\r\n")


held = [stream(few) for _ in range(3)]
tally.check(all(b"event: hello" in read_until(wire.socket, b"event: hello") for wire in held), "three streams of three")
data, took = stream(few).rest()
tally.check(data.startswith(b"HTTP/1.1 200 ") and b"event: hello" in data and b"too_many_streams" in data and took, "a fourth is told why, and ends")
held.pop().socket.close()
until(lambda: b"too_many" not in stream(few, "?limit=1").rest(0.3)[0], what="room for a stream")
tally.check(few.stop() == 0, "the second server ends as it should")

# Descriptors: clients never take those that the link needs
gateway = DemoGateway()
narrow = Serve(gateway=gateway.url, prefix=("prlimit", "--nofile=256:256")).linked()
crowd = []
for _ in range(400):
    one = socket.socket()
    one.setblocking(False)
    one.connect_ex(("127.0.0.1", narrow.port))
    crowd.append(one)
gateway.kill()
gateway = gateway.again()
until(lambda: sum("link.online" in line for line in narrow.lines) == 2, 30, what="the link, beside clients who hold all they get")
tally.check(True, "a crowd of connections leaves the link its descriptor")
for one in crowd:
    one.close()
until(lambda: narrow.call("GET", "/readyz")[0] == 200, what="room after the crowd")
tally.check(narrow.stop() == 0, "the crowded server ends as it should")

# Over TLS, where HTTP/2 clients want to be told in HTTP/2
files, trust = certificate(scratch())
secure = Serve("--limits-connections", "2", *files)


def tls(protocol):
    trust.set_alpn_protocols([protocol])
    return trust.wrap_socket(socket.create_connection(("127.0.0.1", secure.port), 5), server_hostname="localhost")


held = [tls("http/1.1"), tls("http/1.1")]
for peer in held:
    peer.sendall(f"GET /healthz HTTP/1.1\r\nHost: localhost:{secure.port}\r\n\r\n".encode())
    peer.recv(4096)
peer = tls("http/1.1")
data = b""
while piece := peer.recv(4096):
    data += piece
tally.check(problem(data) == (503, "TOO_MANY_CONNECTIONS"), f"TLS and HTTP/1.1 over the limit: {data[:40]!r}")
peer = tls("h2")
answer = ask_h2(peer, "GET", "/healthz", f"localhost:{secure.port}")
tally.check((answer.status, answer.json.get("code")) == (503, "TOO_MANY_CONNECTIONS"), f"TLS and HTTP/2 over the limit: {answer.status} {answer.body[:60]!r}")
for peer in held:
    peer.close()
tally.check(secure.stop() == 0, "the third server ends as it should")

# One address that is not this machine's loopback
if outside := outside_address():
    reach = Serve("--limits-connections-per-peer", "4", "--insecure-lan", "--listen", f"127.0.0.1:0,{outside}:0")
    port = int(until(lambda: next((line.rsplit(":", 1)[1] for line in reach.lines if f"listening on http://{outside}:" in line), None)))
    ask = f"GET /healthz HTTP/1.1\r\nHost: {outside}:{port}\r\n\r\n".encode()
    held = [Wire(port, ask, host=outside) for _ in range(4)]
    for wire in held:
        until(lambda: wire.socket.recv(4096))
    got, took = Wire(port, ask, host=outside).rest()
    tally.check(problem(got) == (503, "TOO_MANY_CONNECTIONS"), f"a fifth connection of one address with four: {got[:40]!r}")
    served(reach, "one address")
    tally.check(reach.stop() == 0, "the fourth server ends as it should")


# Another user of this host takes every connection there is to take: the owner is served all the same
if os.geteuid() == 0:
    crowded = Serve("--limits-connections", "40", "--limits-connections-per-peer", "30")
    flood = subprocess.Popen(
        ["python3", "-c", f"""
import socket, time
held = []
# Far longer than the checks take; then it is killed.
end = time.monotonic() + 60
while time.monotonic() < end:
    one = socket.socket()
    try:
        one.connect(("127.0.0.1", {crowded.port}))
        held.append(one)
    except OSError:
        time.sleep(0.01)
    if len(held) > 400:
        held.pop(200).close()
"""], user=65533)
    time.sleep(1)
    answers = [crowded.call("GET", "/healthz")[0] for _ in range(50)]
    held = [Wire(crowded.port, b"GET /healthz HTTP/1.1\r\n" + host(crowded) + b"\r\n") for _ in range(10)]
    answers += [200 if b" 200 " in wire.socket.recv(4096)[:16] else 0 for wire in held]
    status = run_ladle("status", "--socket", f"{crowded.state}/ladle.sock", "--json")
    tally.check(flood.poll() is None and set(answers) == {200} and status.returncode == 0,
                f"the owner beside a flood of another user: {answers} {status}")
    for wire in held:
        wire.socket.close()
    # The checks above may have been quick.
    until(lambda: crowded.metric("ladle_http_connections_over_limit.*") > 1000, 30, what="a flood of more than 1000 connections")
    flood.kill()
    flood.wait(20)
    tally.check(crowded.stop() == 0, "the flooded server ends as it should")

# What a message writes to the disk: the threat model says some 300 KB, in a new session or an old one. From rest to rest, so with the
# checkpoint; a file system in memory counts nothing.
writer = Serve("--limits-sends-burst", "1000")


def written():
    counted = open(f"/proc/{writer.process.pid}/io").read()
    return int(counted.split("\nwrite_bytes: ")[1].split()[0])


def at_rest():
    """What was written once nothing more is, for longer than a checkpoint waits."""
    writer.at_rest()
    last, since = written(), time.monotonic()

    def is_still():
        nonlocal last, since
        if written() != last:
            last, since = written(), time.monotonic()
        return time.monotonic() - since > 2
    until(is_still, 60, 0.1, "the end of all writing")
    return last


costs = {}
for kind, sessions in {"an old session": ["old"] * 11, "a new session": [f"new{number}" for number in range(11)]}.items():
    writer.json("POST", "/v1/messages?wait=20", {"text": "echo first", "session": sessions[0]})
    start = at_rest()
    for session in sessions[1:]:
        writer.json("POST", "/v1/messages?wait=20", {"text": "echo again", "session": session})
    costs[kind] = (at_rest() - start) / 10
    print(f"disk: a message to {kind} writes {costs[kind] / 1000:.0f} kB")
    tally.check(costs[kind] < 450_000, f"a message to {kind} writes {costs[kind] / 1000:.0f} kB")
tally.check(costs["a new session"] <= costs["an old session"] * 1.4 + 20_000, f"a new session costs no more than an old one: {costs}")
tally.check(writer.stop() == 0, "the writing server ends as it should")

# Stopping: thousands of streams, some of which do not read, and a request that never ends
many = Serve("--events-streams", "20000")
wires = [stream(many) for _ in range(chosen.streams)]
for wire in wires:
    wire.socket.setblocking(False)
until(lambda: many.status()["events"]["subscribers"] >= chosen.streams, 30, what="the streams")
stuck = [Wire(many.port, b"POST /v1/messages HTTP/1.1\r\n" + host(many) + TEXT + b"Content-Length: 99\r\n\r\nabc") for _ in range(20)]
idle = [Wire(many.port) for _ in range(200)]
time.sleep(0.2)
start = time.monotonic()
many.process.send_signal(signal.SIGTERM)
poll = select.poll()
data = {wire.socket.fileno(): b"" for wire in wires}
by_number = {wire.socket.fileno(): wire.socket for wire in wires}
for number in data:
    poll.register(number, select.POLLIN)
open_ = set(data)
while open_ and time.monotonic() - start < 8:
    for number, _ in poll.poll(100):
        try:
            piece = by_number[number].recv(65536)
        except BlockingIOError:
            continue
        except ConnectionResetError:
            piece = b""
        data[number] += piece
        if not piece:
            poll.unregister(number)
            open_.discard(number)
streams_took = time.monotonic() - start
code = many.process.wait(10)
took = time.monotonic() - start
told = [one for one in data.values() if b"event: shutdown" in one and one.endswith(b"0\r\n\r\n")]
waits = [int(one.rsplit(b"retry: ", 1)[1].split(b"\n")[0]) for one in told]
tally.check(len(told) == chosen.streams, f"{len(told)} of {chosen.streams} streams had their last event and their end")
tally.check(waits and max(waits) > 8000 and min(waits) < 2000, f"they come back spread over {min(waits, default=0)} to {max(waits, default=0)} ms")
tally.check(code == 0 and took <= 5.3, f"stopped after {took:.2f} s with exit code {code}")
print(f"drain: {chosen.streams} streams told and closed after {streams_took:.2f} s, all over after {took:.2f} s (20 requests never ended)")
for wire in wires + stuck + idle:
    wire.socket.close()

calm = Serve()
keep = Wire(calm.port, b"GET /healthz HTTP/1.1\r\n" + host(calm) + b"\r\n")
keep.socket.recv(4096)
start = time.monotonic()
tally.check(calm.stop() == 0 and time.monotonic() - start < 1.5, f"without anything under way it stops after {time.monotonic() - start:.2f} s")

for first, second, code in ((signal.SIGTERM, signal.SIGTERM, 143), (signal.SIGINT, signal.SIGINT, 130), (signal.SIGINT, signal.SIGTERM, 143)):
    again = Serve()
    wire = Wire(again.port, b"POST /v1/messages HTTP/1.1\r\n" + host(again) + TEXT + b"Content-Length: 99\r\n\r\nabc")
    time.sleep(0.1)
    again.process.send_signal(first)
    time.sleep(0.3)
    tally.check(again.process.poll() is None, "the first signal waits for the request under way")
    start = time.monotonic()
    again.process.send_signal(second)
    got = again.process.wait(20)
    # Half of the time that it gives the request under way.
    tally.check(got in (code, -second) and time.monotonic() - start < 2.5, f"the second signal ends it after {time.monotonic() - start:.2f} s: {got}, not {code}")

tally.end()
