"""HTTP/1 from the wrong side, as raw bytes against the routes of the API: of each kind of refusal one that an attacker would send, with
its problem, its end, and nothing behind it read as a request; offers of HTTP/2 by curl and Java; bodies that nobody asked for. The 48
classes of server bugs stand in `MalformedRequests.swift`, and `HTTP1ServerTests` sends each to a socket."""

import json
import shutil
import socket
import subprocess
import time

from harness import ROOT, Serve, Tally, options

options()
tally = Tally()
server = Serve()
HOST = b"Host: 127.0.0.1:%d\r\n" % server.port
BEHIND = b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n"
refused_total = 0


class Broken(Exception):
    pass


def answers(data, heads=()):
    """The answers in `data`: (status, fields, body), where `heads` names the places of answers to HEAD."""
    found = []
    while data:
        head, gap, data = data.partition(b"\r\n\r\n")
        if not gap or not head.startswith(b"HTTP/1.1 "):
            raise Broken(f"no answer but {head[:60]!r}")
        lines = head.split(b"\r\n")
        status = int(lines[0].split()[1])
        fields = {}
        for line in lines[1:]:
            name, _, value = line.partition(b":")
            fields[name.decode().lower()] = value.strip().decode()
        length = int(fields.get("content-length", 0))
        if status < 200 or status in (204, 304) or len(found) in heads:
            length = 0
        if len(data) < length:
            raise Broken("the body is cut off")
        found.append((status, fields, data[:length]))
        data = data[length:]
    return found


def exchange(*pieces, wait=5.0, half_close=False, gap=0.03):
    """Sends the pieces and reads until the server closes, or until it has been quiet for `wait` seconds."""
    peer = socket.create_connection(("127.0.0.1", server.port), 5)
    received, closed = b"", False
    try:
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for number, piece in enumerate(pieces):
            if number:
                time.sleep(gap)
            peer.sendall(piece)
        if half_close:
            # Who has ended its side before it was accepted cannot be known as the owner any more.
            time.sleep(gap)
            peer.shutdown(socket.SHUT_WR)
        peer.settimeout(wait)
        while True:
            piece = peer.recv(65536)
            if not piece:
                closed = True
                break
            received += piece
    except (ConnectionResetError, BrokenPipeError):
        closed = True
    except TimeoutError:
        pass
    finally:
        peer.close()
    return received, closed


def bystander(what):
    received, closed = exchange(b"GET /healthz HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n")
    tally.check(closed and received.startswith(b"HTTP/1.1 200 "), f"{what}: the next client is served")


def refused(name, raw, status, code=None):
    """Exactly one answer, a problem document, then the end; what stands behind the request is not read as another."""
    global refused_total
    refused_total += 1
    received, closed = exchange(raw + BEHIND)
    try:
        found = answers(received)
    except Broken as fault:
        tally.check(False, f"{name}: {fault}")
        return bystander(name)
    statuses = [one[0] for one in found]
    if tally.check(statuses == [status] and closed, f"{name}: {statuses} closed={closed}, not [{status}] and closed"):
        _, fields, body = found[0]
        problem = json.loads(body or b"{}")
        held = fields.get("connection") == "close" and fields.get("content-type") == "application/problem+json"
        tally.check(held and problem.get("status") == status, f"{name}: a problem document and Connection: close")
        if code:
            tally.check(problem.get("code") == code, f"{name}: {problem.get('code')}, not {code}")
    bystander(name)


def served(name, pieces, statuses, closes=True, half_close=False, heads=()):
    """The legal neighbour: these answers, in order."""
    pieces = pieces if isinstance(pieces, (list, tuple)) else [pieces]
    received, closed = exchange(*pieces, wait=5.0 if closes else 0.4, half_close=half_close)
    try:
        found = [one[0] for one in answers(received, heads)]
    except Broken as fault:
        found = [str(fault)]
    tally.check(found == statuses and closed == closes, f"{name}: {found} closed={closed}, not {statuses} closed={closes}")


def get(*lines, target=b"/healthz", host=HOST, version=b"HTTP/1.1", method=b"GET"):
    return method + b" " + target + b" " + version + b"\r\n" + host + b"".join(line + b"\r\n" for line in lines) + b"\r\n"


sessions = 0


def post(*lines, body=b"", host=HOST, version=b"HTTP/1.1"):
    """A request whose body is taken: to a session of its own, and checked only, never sent on."""
    global sessions
    sessions += 1
    head = b"POST /v1/messages?session=agent:main:raw%d %s\r\n" % (sessions, version)
    return head + host + b"Content-Type: text/plain\r\n" + b"".join(line + b"\r\n" for line in lines) + b"\r\n" + body


def chunked(body, *lines):
    return post(b"Transfer-Encoding: chunked", *lines, body=body)


CLOSE = b"Connection: close"
SMUGGLED = b"GET /smuggled HTTP/1.1\r\nX: "
TE, CL = "BAD_TRANSFER_ENCODING", "BAD_CONTENT_LENGTH"

# Of each answer that a broken request can have, the nearest to a real attack; every class of them is in the Swift tests
for what, raw, status, code in (
    ("both framings", post(b"Content-Length: 5", b"Transfer-Encoding: chunked", body=b"0\r\n\r\n" + SMUGGLED), 400, TE),
    ("two lengths", post(b"Content-Length: 5", b"Content-Length: 6", body=b"hello"), 400, CL),
    ("a disguised coding", post(b"Transfer-Encoding: \x0bchunked", body=b"0\r\n\r\n" + SMUGGLED), 400, "BAD_BYTE"),
    ("a chunk that goes on", chunked(b"5\r\nhello!\r\n0\r\n\r\n"), 400, "BAD_CHUNK"),
    ("a line feed alone", get(b"X: a\nTransfer-Encoding: chunked"), 400, "BAD_BYTE"),
    ("a blank before the colon", get(b"Content-Length : 5"), 400, "BAD_FIELD"),
    ("no Host", get(host=b""), 400, "BAD_HOST"),
    ("two of them", get(host=HOST + b"Host: evil\r\n"), 400, "BAD_HOST"),
    ("another place in the target", get(target=b"http://evil/healthz"), 400, None),
    ("an unknown coding", post(b"Transfer-Encoding: gzip", body=b"0\r\n\r\n"), 501, "UNKNOWN_TRANSFER_CODING"),
    ("an unknown method", get(method=b"BREW"), 501, None),
    ("another version", get(version=b"HTTP/2.0"), 505, None),
    ("a body beyond all limits", post(b"Content-Length: 9223372036854775807", body=b"hello"), 413, "BODY_TOO_LARGE"),
    ("a request line beyond them", get(target=b"/" + b"a" * 8192), 414, "REQUEST_LINE_TOO_LONG"),
    ("a head beyond them", get(*[b"X%d: a" % n for n in range(80)]), 431, "HEAD_TOO_LARGE"),
    ("an expectation", post(b"Expect: 100", b"Content-Length: 5", body=b"hello"), 417, "UNMET_EXPECTATION"),
):
    refused(what, raw, status, code)
received, closed = exchange(get(CLOSE, host=b"Host: evil.example\r\n"))
tally.check(received.startswith(b"HTTP/1.1 421 "), f"a foreign name is not served: {received[:20]!r}")
received, closed = exchange(b"INVALID CONNECTION PREFACE\r\n\r\n")
tally.check(not received and closed, f"three words that no request could be have no answer: {received[:20]!r}")

# Offers to go on in HTTP/2 are passed over, as real clients make them
H2C = (b"Connection: Upgrade, HTTP2-Settings", b"Upgrade: h2c", b"HTTP2-Settings: AAMAAABkAAQAAP__")
served("with settings", get(*H2C) + get(CLOSE), [200, 200])
served("with a body", b"POST /v1/messages HTTP/1.1\r\n" + HOST + b"".join(line + b"\r\n" for line in H2C) + b"Content-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello" + get(CLOSE), [202, 200])
served("in a list", get(b"Connection: upgrade, close", b"Upgrade: websocket, H2C"), [200])
if curl := shutil.which("curl"):
    for what, more, wanted in (("GET", ("/healthz",), b"200 1.1"), ("POST", ("/v1/messages", "-d", "upgrade by curl"), b"202 1.1")):
        path, *data = more
        got = subprocess.run([curl, "-s", "--http2", "-o", "/dev/null", "-w", "%{http_code} %{http_version}", *data, f"http://127.0.0.1:{server.port}{path}"], capture_output=True, timeout=20).stdout
        tally.check(got == wanted, f"curl --http2 {what}: {got!r}")
# It compiles the file first.
if shutil.which("javac"):
    got = subprocess.run(["java", ROOT / "Tests/Proof/clients/Defaults.java", server.url], capture_output=True, text=True, timeout=60)
    tally.check(got.stdout == "200\nupgrade by Java\n", f"Java's HttpClient: {got}")

# What stands behind a refusal, or behind an answer that took no body
received, closed = exchange(get(b"X : a"), BEHIND, BEHIND)
tally.check(len(answers(received)) == 1 and closed, "requests behind a refusal in later pieces")
received, closed = exchange(get(b"X : a") + b"x" * 1_000_000, wait=8)
tally.check(closed, "a flood behind a refusal ends the connection")
bystander("a flood behind a refusal")
for what, raw in {
    "GET with a length": get(b"Content-Length: %d" % len(BEHIND)) + BEHIND,
    "GET with chunks": get(b"Transfer-Encoding: chunked") + b"%x\r\n" % len(BEHIND) + BEHIND + b"\r\n0\r\n\r\n",
    "no such path": get(b"Content-Length: %d" % len(BEHIND), method=b"POST", target=b"/nothing") + BEHIND,
    "no such method there": get(b"Content-Length: %d" % len(BEHIND), method=b"DELETE", target=b"/v1/status") + BEHIND,
}.items():
    received, closed = exchange(raw, wait=1)
    found = answers(received)
    tally.check(len(found) == 1 and all(one[0] != 200 or closed for one in found), f"a body behind the answer, {what}: {[one[0] for one in found]}")
received, closed = exchange(get(b"Content-Length: %d" % len(BEHIND)), BEHIND, wait=1)
tally.check(len(answers(received)) == 1, "a body behind the answer that comes later")

block = b"10000\r\n" + b"a" * 65536 + b"\r\n"
raw = get(b"Content-Type: application/json", b"Transfer-Encoding: chunked", method=b"POST", target=b"/v1/tokens")
received, closed = exchange(raw + block * 20 + b"0\r\n\r\n", wait=5)
tally.check(closed and received.startswith(b"HTTP/1.1 413 "), f"a body beyond the limit by chunks: {received[:24]!r} {closed}")
bystander("a body beyond the limit by chunks")

# The nearest legal forms, on routes that take a body
whole = chunked(b"5;a=b\r\nhello\r\n0\r\nX: a\r\n\r\n") + get(CLOSE)
served("in pieces", [whole[:1], whole[1:40], whole[40:]], [202, 200])
served("an expectation that is met", [post(b"Expect: 100-Continue", b"Content-Length: 5", CLOSE), b"hello"], [100, 202])
served("an expectation refused before the body", post(b"Expect: 100-continue", b"Content-Length: 99999999"), [413])
served("pipelined behind a body", post(b"Content-Length: 5", body=b"hello") + get(method=b"HEAD") + get(CLOSE), [202, 200, 200], heads=(1,))
served("HTTP/1.0 closes", get(version=b"HTTP/1.0"), [200])
served("the client ends its side", get(), [200], half_close=True)

counted = server.metric("ladle_http_refusals_total")
tally.check(counted >= refused_total, f"{counted} refusals in the metrics, {refused_total} here")
tally.check(server.stop() == 0, "the server ends as it should")
tally.end()
