"""Readers over HTTP/2 that take nothing: windows that are never opened, or byte by byte, and sockets that nobody reads, each with answers
of half a megabyte. All lose their streams after the stall deadline, memory is bounded and comes back into use, and a reader beside them
is served."""

import socket
import threading
import time

from harness import DemoGateway, Serve, Stopwatch, Tally, options, until
from raw_http import H2, tcp

chosen = options(peers=(5, 40), streams=(8, 20))
tally = Tally()
CALM, WINDOW, WIDEST = 11, 4, (1 << 31) - 1
STALL = 1
gateway = DemoGateway("--speed", "0")
server = Serve("--limits-write-stall", f"{STALL}s", "--limits-answer-bytes", "4MiB", "--limits-sends-burst", "100", gateway=gateway.url).linked()
for number in range(6):
    status, answer = server.json("POST", "/v1/messages?wait=30", {"text": f"echo {number} " + "x" * 90_000, "session": "long"})
    tally.check(status == 200, f"a long message: {status} {str(answer)[:200]}")
server.at_rest()
PAGE = "/v1/runs?limit=6"
size = len(server.call("GET", PAGE)[2])
tally.check(size > 500_000, f"an answer of {size} bytes")


class Slow(H2):
    """Gives back no window by itself."""

    def __init__(self, window, buffer=None):
        one = tcp("127.0.0.1", server.port)
        if buffer:
            one.close()
            one = socket.socket()
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
            one.connect(("127.0.0.1", server.port))
        super().__init__(one)
        self.link.update_settings({WINDOW: window})
        self.resets, self.got, self.closed = {}, 0, False
        self.numbers = [self.request("GET", PAGE, f"127.0.0.1:{server.port}") for _ in range(chosen.streams)]

    def take(self, piece):
        self.closed |= not piece
        for event in self.link.receive_data(piece) if piece else ():
            kind, number = type(event).__name__, getattr(event, "stream_id", None)
            if kind == "DataReceived":
                self.got += len(event.data)
            elif kind == "StreamReset":
                self.resets[number] = event.error_code
            elif kind == "StreamEnded":
                self.over.add(number)
            elif kind == "ConnectionTerminated":
                self.closed = True
        self.flush()

    def step(self, seconds=0.02):
        """Reads what is there."""
        self.until(lambda: False, seconds)

    def open(self, count):
        for number in self.numbers:
            if number not in self.resets and not self.closed:
                self.link.increment_flow_control_window(count, number)
        self.flush()

    @property
    def is_over(self):
        return self.closed or len(self.resets) + len(self.over) == len(self.numbers)


class Bystander(threading.Thread):
    """Asks all the time, each time on a new connection."""

    def __init__(self):
        super().__init__(daemon=True)
        self.slowest, self.served, self.wrong, self.stopping = 0, 0, [], False
        self.start()

    def run(self):
        while not self.stopping:
            watch = Stopwatch(server)
            try:
                status = server.call("GET", "/v1/status")[0]
            except OSError as problem:
                status = repr(problem)
            self.slowest = max(self.slowest, watch.seconds)
            self.served += status == 200
            if status != 200:
                self.wrong.append(status)
            time.sleep(0.02)

    def judge(self, what):
        self.stopping = True
        self.join(60)
        tally.check(self.served > 3 and not self.wrong and self.slowest < STALL,
                    f"{what}: the bystander was served {self.served} times, slowest {self.slowest:.2f} s, {self.wrong[:3]}")


def scene(what, window, act):
    before, stalled, bystander = server.resident(), server.metric("ladle_http_stalls_total"), Bystander()
    peers = [Slow(window) for _ in range(chosen.peers)]
    end, highest = time.monotonic() + 120, before
    while time.monotonic() < end and not all(peer.is_over for peer in peers):
        for peer in peers:
            if not peer.is_over:
                act(peer)
                peer.step()
        highest = max(highest, server.resident())
    tally.check(all(peer.is_over for peer in peers), f"{what}: all streams end, open are {[len(p.numbers) - len(p.resets) for p in peers]}")
    codes = {code for peer in peers for code in peer.resets.values()}
    tally.check(codes <= {CALM} and not any(peer.over for peer in peers), f"{what}: by ENHANCE_YOUR_CALM: {codes}")
    tally.check(sum(peer.got for peer in peers) < size, f"{what}: hardly anything was taken: {sum(peer.got for peer in peers)}")
    bystander.judge(what)
    judge_memory(what, before, highest)
    tally.check(server.metric("ladle_http_stalls_total") > stalled, f"{what}: the metrics count it")
    leave(peers)


def leave(peers):
    for peer in peers:
        peer.socket.close()
    until(lambda: server.metric("ladle_http_connections_open") <= 1, what="the end of all connections")


def judge_memory(what, before, highest):
    """Four pages are begun for a connection, and encoded once more for the wire."""
    grown = highest - before
    print(f"{what}: {before >> 20} -> {highest >> 20} MiB resident")
    tally.check(grown < (16 << 20) + chosen.peers * 8 * size, f"{what}: memory grows by {grown >> 20} MiB")


scene("windows never opened", 0, lambda peer: None)
scene("windows opened byte by byte", 1, lambda peer: peer.open(1))

# Windows as wide as can be, and a socket that nobody reads
before, open_before, stalled = server.resident(), server.descriptors(), server.metric("ladle_http_stalls_total")
peers = [Slow(WIDEST, buffer=4096) for _ in range(chosen.peers)]
for peer in peers:
    peer.link.increment_flow_control_window(WIDEST - 65_535)
    peer.flush()
bystander, highest = Bystander(), before
end = time.monotonic() + 120
while time.monotonic() < end and server.metric("ladle_http_stalls_total") < stalled + chosen.peers:
    highest = max(highest, server.resident())
    time.sleep(0.02)
counted = server.metric("ladle_http_stalls_total") - stalled
tally.check(counted == chosen.peers, f"sockets that nobody reads are cut, and counted: {counted} of {chosen.peers}")
bystander.judge("sockets that nobody reads")
until(lambda: server.descriptors() <= open_before, 10, what="the descriptors of those that were cut")
judge_memory("sockets that nobody reads", before, highest)
leave(peers)

status, _, body = server.call("GET", PAGE)
tally.check(status == 200 and len(body) == size, f"afterwards the page is whole: {status}, {len(body)} bytes")
tally.check(server.stop() == 0, "it ends as it should")
tally.end()
