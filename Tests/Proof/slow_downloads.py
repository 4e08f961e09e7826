"""Clients that ask for large files and hardly read them, over HTTP/1 and HTTP/2, and clients whose large messages do not end, for a time in
which no deadline ends them: a caller gets its share of the server's memory, all callers theirs, and beyond that a 503, for a file before
the gateway is asked. Others and the owner are served meanwhile, and all of it comes back. The long form has the largest files and the
limits as they come."""

import base64
import copy
import json
import socket

from harness import Serve, Tally, options, until
from raw_http import H2, read_until, request
from scripted_gateway import HELLO, Gateway

# Files of so many MiB, and how many are asked for over each protocol.
chosen = options(size=(3, 15), clients=(20, 40))
tally = Tally()
SIZE, LIMIT = chosen.size << 20, (128 if chosen.long else 36) << 20
PATH = "/v1/sessions/main/artifacts/big"
ROW = {"id": "big", "type": "file", "title": "big.bin", "sizeBytes": SIZE, "download": {"mode": "bytes"}}
FILE = json.dumps({"artifact": ROW, "encoding": "base64", "data": base64.b64encode(bytes(range(256)) * (SIZE >> 8)).decode()})
downloads = 0


def answer(connection, asked):
    global downloads
    if asked["method"] == "artifacts.download":
        downloads += 1
        connection.text(f'{{"type":"res","id":{json.dumps(asked["id"])},"ok":true,"payload":{FILE}}}')
    elif asked["method"] == "artifacts.list":
        connection.respond(asked, {"artifacts": [ROW]})
    else:
        Gateway.kind(connection, asked)


gateway = Gateway()
gateway.hello = copy.deepcopy(HELLO)
gateway.hello["features"]["methods"] = ["sessions.subscribe", "artifacts.list", "artifacts.download"]
gateway.answer = answer
server = Serve("--limits-write-stall", "1h", "--limits-body-grace", "10m", "--limits-unread-answers", str(LIMIT), "--limits-unfinished-bodies",
               str(LIMIT), gateway=gateway.url).linked()
host = f"127.0.0.1:{server.port}"
bearers = [{"Authorization": f"Bearer {server.make_token(name, 'read', 'send')['token']}"} for name in ("one", "two", "three", "four")]


class Slow:
    """A request on a connection with a small buffer, and the head of its answer."""

    def __init__(self, bearer, is_h2=False, port=None):
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.socket.settimeout(120)
        port = port or server.port
        self.socket.connect(("127.0.0.1", port))
        host = f"127.0.0.1:{port}"
        if is_h2:
            link = H2(self.socket, 120)
            number = link.request("GET", PATH, host, bearer)
            link.until(lambda: number in link.fields)
            self.status = link.status(number)
            self.code = None if self.status == 200 else json.loads(link.answer(number).body)["code"]
        else:
            self.socket.sendall(request("GET", PATH, host, bearer))
            data = read_until(self.socket, b"\r\n\r\n", seconds=120)
            self.status = int(data.split()[1])
            self.code = None if self.status == 200 else json.loads(read_until(self.socket, b"}\n", data).partition(b"\r\n\r\n")[2])["code"]


def crowd(bearer, is_h2=False):
    """As many clients as were asked for: all of them, how many have the file, and what the others hear."""
    slow = [Slow(bearer, is_h2) for _ in range(chosen.clients)]
    return slow, sum(peer.status == 200 for peer in slow), [(peer.status, peer.code) for peer in slow if peer.status != 200]


before, share = server.resident(), LIMIT // 4 // SIZE
peers, asked = [], 0
for number in (0, 1):
    slow, answered, refused = crowd(bearers[number], is_h2=number == 1)
    asked += answered
    peers += slow
    tally.check(answered == share, f"HTTP/{number + 1}: {answered} of {chosen.clients} are answered, the share is {share}")
    tally.check(set(refused) == {(503, "UNREAD_ANSWERS")} and len(refused) == chosen.clients - share,
                f"HTTP/{number + 1}: the others are refused: {len(refused)} {set(refused)}")
tally.check(downloads == asked, f"the gateway was asked for {downloads} files, {asked} were sent")
slow, answered, refused = crowd(bearers[2])
peers += slow
tally.check(answered == share and refused, f"a third caller has its share: {answered} of {share}")
slow, answered, refused = crowd(bearers[3])
peers += slow
tally.check(answered <= LIMIT * 3 // 4 // SIZE - 3 * share and set(refused) == {(503, "UNREAD_ANSWERS")},
            f"a fourth gets none of the owner's: {answered} {set(refused)}")

held, highest = server.metric("ladle_http_unread_bytes"), server.resident()
tally.check(held == 3 * share * SIZE, f"the metrics show what waits: {held:.0f} bytes of {3 * share * SIZE}")
grown = highest - before
print(f"slow downloads: {len(peers)} connections, {3 * share} files of {chosen.size} MiB held; {before >> 20} -> {highest >> 20} MiB resident")
tally.check(grown < LIMIT + 6 * SIZE, f"memory grows by {grown >> 20} MiB, of at most {(LIMIT + 6 * SIZE) >> 20}")
status, _, body = server.call("GET", PATH, timeout=120)
tally.check(status == 200 and len(body) == SIZE, f"the owner has the file: {status}, {len(body)} bytes")
for bearer in bearers:
    tally.check(server.call("GET", "/v1/status", headers=bearer)[0] == 200, "small answers go on")

for peer in peers:
    peer.socket.close()
until(lambda: server.metric("ladle_http_unread_bytes") == 0, 30, what="the end of all answers")
for bearer in bearers[:2]:
    status, _, body = server.call("GET", PATH, headers=bearer, timeout=120)
    tally.check(status == 200 and len(body) == SIZE, f"afterwards each caller has it: {status} {body[:100]}")


# A follower hands a large answer on piece by piece, and a MiB of it may wait there.
follower = Serve("--cluster-name", "follower", "--limits-write-stall", "1h", "--limits-unread-answers", "4MiB", follow=server).following()
slow = [Slow(bearers[0], port=follower.port) for _ in range(2)]
tally.check([(peer.status, peer.code) for peer in slow] == [(200, None), (503, "UNREAD_ANSWERS")],
            f"a follower counts what waits: {[(peer.status, peer.code) for peer in slow]}")
held = follower.metric("ladle_http_unread_bytes")
tally.check(held == 1 << 20, f"the follower holds {held:.0f} bytes")
for peer in slow:
    peer.socket.close()
until(lambda: follower.metric("ladle_http_unread_bytes") == 0, 30, what="the end of the follower's answers")
tally.check(follower.stop() == 0, "the follower ends as it should")


class Drip:
    """A large message of which all has come but its last byte; the head of the answer, if there is one by then."""

    def __init__(self, bearer):
        self.socket = socket.create_connection(("127.0.0.1", server.port), 120)
        self.socket.sendall(request("POST", "/v1/messages", host, {**bearer, "Content-Type": "application/json", "Content-Length": str(SIZE)}))
        try:
            self.socket.sendall(b" " * (SIZE - 1))
        except OSError:
            # Refused before it had come.
            pass

    def answer(self):
        data = read_until(self.socket, b"}\n", seconds=120)
        return int(data.split()[1]), json.loads(data.partition(b"\r\n\r\n")[2])["code"]


def held_bodies():
    return server.metric("ladle_http_body_bytes")


before, drips = server.resident(), []
for number, bearer in enumerate(bearers[:3], 1):
    own = [Drip(bearer) for _ in range(share)]
    until(lambda: held_bodies() == number * share * (SIZE - 1), 60, what="the bodies of one caller")
    refused = Drip(bearer).answer()
    tally.check(refused == (503, "UNFINISHED_BODIES"), f"a caller with its share of bodies sends no more: {refused}")
    drips += own
refused = Drip(bearers[3]).answer()
tally.check(refused == (503, "UNFINISHED_BODIES"), f"the owner's share is nobody else's: {refused}")
grown = server.resident() - before
print(f"slow bodies: {len(drips)} of {chosen.size} MiB held, memory grows by {grown >> 20} MiB")
# An array that grows may have twice what is in it.
tally.check(grown < 2 * LIMIT, f"memory grows by {grown >> 20} MiB, of at most {2 * LIMIT >> 20}")
for headers in (None, bearers[0]):
    status, _, body = server.call("POST", "/v1/messages", json.dumps({"text": "small"}), {"Content-Type": "application/json", **(headers or {})})
    tally.check(status == 202, f"a small message goes on: {status} {body[:200]}")
status, problem = server.json("POST", "/v1/messages", b" " * (SIZE - 20) + b'{"text": "padded"}',
                              {"Content-Type": "application/json"})
tally.check(status == 202, f"a large one of the owner does too: {status} {problem}")
drips[0].socket.sendall(b"x")
judged = drips[0].answer()
tally.check(judged[0] in (400, 413, 422), f"a body that ends is judged: {judged}")
for drip in drips:
    drip.socket.close()
until(lambda: held_bodies() == 0, 30, what="the end of all bodies")
tally.check(server.stop() == 0, "it ends as it should")
tally.end()
