"""Callers of the tailnet, in a network of this check's own (root on Linux): whois through a tailscaled that may lie, fail
or say nothing; Serve's socket; addresses that come and go; what may be listened to without TLS.
"""

import json
import os
import re
import socket
import struct
import sys
import time

import network
import raw_http

if not network.enter():
    print("tailnet: no network of its own can be had here (root, unshare and ip are needed): not run")
    print("1 passed, 0 failed")
    sys.exit(0)

from harness import NotStarted, Program, Serve, Stopwatch, Tally, options, run_ladle, scratch, until
from network import NODE, NODE6, PHONE, Tailscaled, ip, node, ok
from raw_http import certificate, read_answer, request, unix

chosen = options()
tally = Tally()
PORT = 7443
net = network.Network()

folder = scratch()
daemon = Tailscaled(f"{folder}/ts.sock")
os.chown(daemon.path, 12345, 12345)  # tailscaled is another user than Ladle here
access = [
    "--access-tailnet-socket", daemon.path, "--access-tailnet-allow", "alice@example.com=read", "--access-tailnet-allow", "tag:kitchen=read,send",
    "--access-tailnet-allow", "cap:example.com/cap/ladle=read", "--access-tailnet-capability", "--access-tailnet-serve", f"{folder}/serve.sock",
]
serve = Serve("--listen", f"tailnet:{PORT}", *access)


def dial(host=NODE, path=None):
    return unix(path, 8) if path else net.dial(host, PORT)


def ask(method="GET", target="/v1/status", fields="", one=None, host=NODE, keep=False):
    one = one or dial(host)
    pairs = [tuple(line.split(": ", 1)) for line in fields.splitlines()]
    one.sendall(request(method, target, f"[{host}]:{PORT}" if ":" in host else f"{host}:{PORT}", pairs, b"{}" if method == "POST" else None))
    status = read_answer(one).status
    if not keep:
        one.close()
    return status


def reachable(host=NODE):
    """From this host, which hears at once that nobody listens."""
    try:
        socket.create_connection((host, PORT), 0.3).close()
        return True
    except OSError:
        return False


# -- addresses that come and go

tally.check(not reachable(), "listens on an address it has not")
for host in (NODE, NODE6):
    net.join(host)
    watch = Stopwatch(serve)
    until(lambda: reachable(host), seconds=15, what=f"the listener on {host}")
    took = watch.seconds
    tally.check(took < 2, f"{host} was found after {took:.1f} s")
    print(f"tailnet: {host} was listened to {took * 1000:.0f} ms after it had come")
stream = socket.create_connection((NODE, PORT))
net.leave(NODE)
until(lambda: "gone" in serve.output, seconds=5, what="the end of the listener")
net.join(NODE)
until(reachable, seconds=5, what="the listener's return")
tally.check(True, "the listener came back")
stream.close()
# A port that another program has is tried again and again, and spoken of twice: when it begins and when it is over.
net.leave(NODE)
until(lambda: serve.output.count("tailnet.gone") == 2, seconds=5, what="the end of the listener")
other = socket.socket()
other.setsockopt(socket.IPPROTO_IP, 15, 1)  # IP_FREEBIND
other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
other.bind((NODE, PORT))
other.listen()
net.join(NODE)
until(lambda: "tailnet.failed" in serve.output, seconds=5, what="a word of the port that is taken")
for number in range(5):
    ip("addr", "add", f"10.9.9.{number}/32", "dev", "lan0")
    time.sleep(0.1)
heard = serve.output.count("tailnet.listening")
other.close()
ip("addr", "add", "10.9.9.9/32", "dev", "lan0")
until(lambda: serve.output.count("tailnet.listening") == heard + 1, seconds=15, what="the listener's return")
tally.check(serve.output.count("tailnet.failed") == 1, "a failure that lasts is logged once")
# Carrier NAT's addresses are of the same range; beside a real tailnet they are no tailnet.
ip("addr", "add", "100.64.9.9/24", "dev", "lan0")
time.sleep(0.3)
tally.check(not reachable("100.64.9.9"), "listens on a provider's address")

# -- who

daemon.answer = ok(node())
tally.check(ask() == 200, "a login that is allowed")
tally.check(ask("POST", "/v1/messages", "Content-Type: application/json\r\n") == 403, "a login that may read sends")
head = daemon.heads[-1]
tally.check(
    re.match(rf"GET /localapi/v0/whois\?addr={PHONE}%3A\d+&proto=tcp HTTP/1.1\r\nHost: local-tailscaled.sock\r\n", head) is not None
    and "Origin" not in head and "Referer" not in head, f"the request is not the documented one: {head}")
own = socket.create_connection((NODE, PORT))
asked = len(daemon.heads)
tally.check(ask(one=own) == 401 and len(daemon.heads) == asked, "somebody of this host is taken for the tailnet's user it belongs to")
tally.check(ask(host=NODE6) == 200 and "addr=%5Bfd7a" in daemon.heads[-1], f"over IPv6: {daemon.heads[-1][:80]}")


# -- the names that the tailnet gives this host

def named(host):
    return raw_http.ask(dial(), "GET", "/v1/status", host).status


for host, status in (("box.tail1.ts.net", 200), ("box", 200), ("BOX.tail1.ts.net", 200), ("other.tail1.ts.net", 421), ("box.example.com", 421)):
    until(lambda: named(f"{host}:{PORT}") == status, seconds=15, what=f"{status} for {host}")
tally.check(named("box:1") == 421, "another port")
# One of each way in, and answers that never end; every other that lets nobody in: `WhoisTests`.
answers = {
    "another login": (ok(node("mallory@example.com")), 401, 401), "a login in capitals": (ok(node("ALICE@example.com")), 200, 403),
    "a tag": (ok(node("tagged-devices", ["tag:kitchen"])), 200, 422),
    "a capability": (ok(node("x@y.z", None, {"example.com/cap/ladle": []})), 200, 403),
    "the tailnet's own grant": (ok(node("x@y.z", None, {"ladle.local/cap/access": [{"scopes": ["read", "send"]}]})), 200, 422),
    "no such peer": (b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", 401, 401), "nothing": (b"", 401, 401),
    "a cut body": (ok(node())[:-20], 401, 401), "deep JSON": (ok(b"[" * 100_000), 401, 401),
    "too much": (b"HTTP/1.1 200 OK\r\nContent-Length: 9000000\r\n\r\n" + b" " * 8_000_000, 401, 401),
    "an endless head": (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 20_000, 401, 401),
}
for what, (answer, reading, sending) in answers.items():
    daemon.answer = answer
    got = ask(), ask("POST", "/v1/messages", "Content-Type: application/json\r\n")
    tally.check(got == (reading, sending), f"{what}: {got} in place of {(reading, sending)}")
daemon.answer = None
watch, start = Stopwatch(serve), time.monotonic()
status = ask()
took = watch.seconds
tally.check(status == 401 and 1.5 < time.monotonic() - start and took < 4, f"a tailscaled that says nothing: {status} after {took:.1f} s")
tally.check(serve.json("GET", "/v1/status")[0] == 200, "the owner on loopback does not wait for it")
until(lambda: "tailnet.unanswered" in serve.output and "did not answer in time" in serve.output, what="the log's word of it")
tally.check(serve.metric("ladle_tailnet_silences_total") > 0, "the metrics do not count tailscaled's silences")
daemon.answer = ok(node())
print(f"tailnet: {len(answers) + 2} answers of tailscaled, each let in whom it names and no one else; silence ended after {took:.1f} s")

# -- for how long an answer counts, and what ends it

one = dial()
before = len(daemon.heads)
statuses = [ask(one=one, keep=True) for _ in range(5)]
tally.check(statuses == [200] * 5 and len(daemon.heads) - before == 1, f"five requests of one connection asked {len(daemon.heads) - before} times")
tally.check(ask(fields="X-Forwarded-For: 100.64.0.9\r\n", one=one, keep=True) == 401, "a forwarded request is the tailnet peer's")
if chosen.long:
    one = dial()
    tally.check(ask(one=one, keep=True) == 200, "before the grant is taken back")
    stream = dial()
    stream.sendall(f"GET /v1/events HTTP/1.1\r\nHost: {NODE}:{PORT}\r\nAccept: text/event-stream\r\n\r\n".encode())
    tally.check(b"hello" in stream.recv(65536), "a stream of the tailnet")
    opened = time.monotonic()
    daemon.answer = ok(node("mallory@example.com"))
    tally.check(ask(one=one, keep=True) == 200, "within 30 s the answer counts")
    time.sleep(30.5)
    tally.check(ask(one=one) == 401, "after 30 s it does not")
    # The stream is asked about every 30 s: it has the rest of that time.
    stream.settimeout(10)
    told = b""
    while piece := stream.recv(65536):
        told += piece
    took = time.monotonic() - opened
    tally.check(b"identity_ended" in told and took < 35, f"a stream outlives its tailnet identity: {took:.0f} s, {told[-200:]}")
    print(f"tailnet: a stream ended {took:.0f} s after it was opened, its identity having been taken back")
    daemon.answer = ok(node())
token = serve.make_token("t", "read")["token"]
daemon.answer = b""
tally.check(ask(fields=f"Authorization: Bearer {token}\r\n") == 200, "a token is good without tailscaled")
tally.check(ask(fields="Authorization: Bearer ldl_wrong\r\n") == 401, "a wrong token on the tailnet")
daemon.answer = ok(node())
tally.check(ask(fields="Authorization: Bearer ldl_wrong\r\n") == 401, "a wrong token counts, whoever the peer is")
tally.check(ask(fields="Tailscale-User-Login: alice@example.com\r\n") == 401, "Serve's fields on a TCP listener")

# -- Serve's socket

alice = "Tailscale-User-Login: alice@example.com\r\nX-Forwarded-For: 100.64.0.7\r\n"


def served(fields, uid=12345):
    return ask(fields=fields, one=dial_as(uid))


def dial_as(uid):
    """The peer of a unix socket is who connects, so that takes a child of that user."""
    pair = socket.socketpair()
    child = os.fork()
    if child == 0:
        os.setgid(uid)
        os.setuid(uid)
        try:
            one = dial(path=f"{folder}/serve.sock")
            socket.send_fds(pair[1], [b"x"], [one.fileno()])
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    _, numbers, _, _ = socket.recv_fds(pair[0], 1, 1)
    one = socket.socket(fileno=numbers[0])
    one.settimeout(8)
    return one


os.chmod(folder, 0o755)
tally.check(served(alice) == 200, "tailscaled's own uid names alice")
tally.check(served(alice, uid=0) == 401, "another uid (root) at Serve's socket")
tally.check(served(alice, uid=54321) == 401, "another uid at Serve's socket")
tally.check(served("") == 401, "Serve without a name")
tally.check(served("Tailscale-User-Login: mallory@example.com\r\nX-Forwarded-For: 100.64.0.7\r\n") == 401, "a name that whois denies")
tally.check(served("Tailscale-User-Login: alice@example.com\r\n") == 401, "a name without an address")
tally.check(served("Tailscale-User-Login: alice@example.com\r\nX-Forwarded-For: 192.0.2.1\r\n") == 401, "an address outside the tailnet")
tally.check(served(alice + "X-Forwarded-For: 100.64.0.8\r\n") == 401, "two addresses")
tally.check(served("Tailscale-User-Login: mallory@example.com\r\n" + alice) == 401, "two names")
tally.check(served(alice + "Tailscale-Funnel-Request: ?1\r\n") == 403, "Funnel")
tally.check(served(alice + f"Tailscale-Funnel-Request: ?1\r\nAuthorization: Bearer {token}\r\n") == 403, "Funnel with a token")
tally.check(served(f"Authorization: Bearer {token}\r\n") == 200, "a token at Serve's socket")
daemon.answer = b""
tally.check(served("Tailscale-User-Login: alice@example.com\r\nX-Forwarded-For: 100.64.0.77\r\n") == 401, "Serve's name without whois")
os.unlink(daemon.path)
daemon.listener.close()
tally.check(ask() == 401, "no tailscaled at all")

# -- where tailscaled is the owner's own user: it connects for others (`tailscale serve --tcp`), and cannot say for whom


def alone(server, path=None, port=0):
    one = socket.socket(socket.AF_UNIX if path else socket.AF_INET)
    if port:
        # Closed without a trace, so that another may have the port at once.
        one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        one.bind(("127.0.0.1", port))
    one.connect(path or ("127.0.0.1", server.port))
    return raw_http.ask(one, "GET", "/v1/tokens", f"127.0.0.1:{server.port}").status


later = f"{folder}/later.sock"
rooted = Serve("--access-tailnet-socket", later, "--access-tailnet-allow", "alice@example.com=admin")
tally.check(alone(rooted) == 200, "the owner, where there is no tailscaled")
messenger = Tailscaled(later)
messenger.answer = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
tally.check(alone(rooted) == 401, "what came by tailscaled, started a moment ago, is taken for the owner")
tally.check(alone(rooted, f"{rooted.state}/ladle.sock") == 200, "the owner at the control socket")
messenger.answer = ok(node())
tally.check(alone(rooted) == 200, "userspace networking: a peer who is allowed")
messenger.answer = ok(node("mallory@example.com"))
tally.check(alone(rooted) == 401, "userspace networking: a peer who is not")
# tailscaled's next connection for somebody else may well come from the port that was alice's.
for login, wanted in (("alice@example.com", 200), ("mallory@example.com", 401), ("alice@example.com", 200)):
    messenger.answer = ok(node(login))
    got = alone(rooted, port=45_678)
    tally.check(got == wanted, f"userspace networking: {login} from a port that was another's: {got}")
rooted.stop()

# -- what may be listened to

tls, _ = certificate(folder)


def start(*arguments):
    """Exit code, or None when it serves; and what it said until then."""
    try:
        serving = Program(["serve", "--demo", "--state", scratch(), *arguments], "listening on http")
    except NotStarted as refusal:
        return refusal.code, refusal.output
    serving.kill()
    return None, serving.output


for address in ("192.168.77.2:0", "0.0.0.0:0", "[::]:0", "100.64.9.9:0"):
    code, said = start("--listen", address)
    tally.check(code == 78 and "tls.cert" in said and "--insecure-lan" in said, f"--listen {address} without TLS: {code} {said[-300:]}")
code, said = start("--listen", "192.168.77.2:0", "--insecure-lan")
tally.check(code is None and "open to the network: with a token, in cleartext" in said, f"the switch: {code} {said[-400:]}")
code, said = start("--listen", "0.0.0.0:0", "--insecure-lan")
tally.check(code is None and "every network this host is on" in said, f"everywhere: {code} {said[-400:]}")
code, said = start("--listen", "192.168.77.2:0", *tls)
tally.check(code is None and "open to the network: with a token, over TLS" in said, f"with TLS: {code} {said[-400:]}")
code, said = start("--listen", f"tailnet:{PORT + 1}", "--access-tailnet-allow", "alice@example.com=read")
tally.check(code is None and f"{NODE}:{PORT + 1} is open to the tailnet: allowed identities, everyone else with a token" in said, f"tailnet: {code} {said[-400:]}")
code, said = start("--listen", "127.0.0.1:0", "--access-loopback", "token")
tally.check(code is None and "open to this host: everyone needs a token" in said, f"loopback=token: {code} {said[-400:]}")
doctor = run_ladle("doctor", "--json", "--state", scratch(), "--listen", "127.0.0.1:0", "--listen", f"tailnet:{PORT + 2}")
told = [check["detail"] for check in json.loads(doctor.stdout)["checks"] if check["check"] == "exposure"]
for part in ("ladle.sock is open to its owner", "is open to this host: its owner without a token", f"{NODE}:{PORT + 2} is open to the tailnet"):
    tally.check(any(part in line for line in told), f"doctor does not say that {part}: {told}")
print(f"tailnet: doctor says: {'; '.join(told)}")
tally.end()
