"""What the wire costs: small requests over cleartext HTTP/2 beside nghttpd, TLS beside cleartext, both in the servers' own CPU
time; and the memory of thousands of idle event streams over TLS."""

import atexit
import pathlib
import resource
import socket
import subprocess
import time

from harness import ROOT, Serve, Tally, cost, free_port, options, scratch, until
from raw_http import certificate

chosen = options(subscribers=(2000, 10_000), requests=(40_000, 100_000), rounds=(3, 5))
tally = Tally()
subprocess.run([ROOT / "deploy/packages", "nghttp2-client", "nghttp2-server"], check=True)
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
folder = pathlib.Path(scratch())
files, trust = certificate(folder)
TLS = [*files, "--access-hosts", "localhost"]


def load(pid, url, *more, fewer=1):
    return cost(pid, url, int(chosen.requests / fewer), *more)


def both(what, reference, tried, fewer=1):
    """In turn, so that both meet the same machine; the least of the rounds is the one least disturbed."""
    left, right = [], []
    for _ in range(chosen.rounds):
        left.append(load(*reference, fewer=fewer))
        right.append(load(*tried, fewer=fewer))
    print(f"{what}: {min(left):.2f} and {min(right):.2f} us a request, {min(right) / min(left):.2f}x", flush=True)
    return min(left), min(right)


def compare(what, reference, tried, most, fewer=1):
    left, right = both(what, reference, tried, fewer)
    tally.check(right <= most * left, f"{what}: {right / left:.2f}x, not at most {most}x")


def added(what, cleartext, tls):
    """What a request costs in cleartext and what TLS adds to it, in microseconds."""
    left, right = both(f"{what}, cleartext and TLS 1.3", cleartext, tls)
    return left, right - left


def floor(request, answer):
    """What OpenSSL alone takes to open a request of this size and to seal such an answer, in microseconds by cipher suite."""
    subprocess.run(["cc", "-std=c11", "-O2", "-o", folder / "tls_floor", ROOT / "Tests/Benchmarks/tls_floor.c", "-lssl", "-lcrypto"], check=True)
    lines = subprocess.run([folder / "tls_floor", folder / "cert.pem", folder / "key.pem", str(request), str(answer)],
                           capture_output=True, text=True, check=True).stdout.splitlines()
    return {name: float(figure) for name, figure in (line.split() for line in lines)}


def fill(server):
    """Forty entries for a page of the outbox."""
    for number in range(40):
        wire = socket.create_connection(("127.0.0.1", server.port), 30)
        if server is secure:
            wire = trust.wrap_socket(wire, server_hostname="localhost")
        with wire:
            wire.sendall(f"POST /v1/messages?session=agent:main:n{number} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nConnection: close\r\n"
                         "Content-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello".encode())
            while wire.recv(65536):
                pass


def ahead(pid):
    """What else runs here is no part of this: sessions of their own are served before it, where that is ours to say."""
    try:
        pathlib.Path(f"/proc/{pid}/autogroup").write_text("-20")
    except OSError:
        pass


plain, secure = Serve(start_new_session=True), Serve(*TLS, start_new_session=True)
for one in (plain, secure):
    ahead(one.process.pid)
# As h2load asks.
ASKED = f"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{plain.port}\r\nUser-Agent: h2load nghttp2/1.52.0\r\n\r\n".encode()
with socket.create_connection(("127.0.0.1", plain.port), 30) as wire:
    wire.sendall(ASKED)
    ANSWERED = wire.recv(65536)
(folder / "page").write_bytes(plain.call("GET", "/healthz")[2])


def reference(*arguments):
    """An nghttpd that serves the same bytes: its process id and port."""
    port = free_port()
    run = subprocess.Popen(["nghttpd", "-a", "127.0.0.1", "-d", str(folder), str(port), *arguments], stdout=subprocess.DEVNULL, start_new_session=True)
    ahead(run.pid)
    atexit.register(run.kill)

    def listens():
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    until(listens, what="nghttpd")
    return run, port


(nghttpd, port), (nghttpd_tls, port_tls) = reference("--no-tls"), reference(str(folder / "key.pem"), str(folder / "cert.pem"))
try:
    other, secured = f"http://127.0.0.1:{port}/page", f"https://127.0.0.1:{port_tls}/page"
    ours, tls = f"{plain.url}/healthz", f"https://127.0.0.1:{secure.port}/healthz"
    ngh, ngh_tls, one, two = nghttpd.pid, nghttpd_tls.pid, plain.process.pid, secure.process.pid
    compare("GET over h2c, nghttpd and ladle", (ngh, other, "-m", "1"), (one, ours, "-m", "1"), 2)
    compare("GET over h2c, nghttpd and ladle, 10 at once", (ngh, other, "-m", "10"), (one, ours, "-m", "10"), 2, 1 / 4)
    _, theirs = added("HTTP/2 by nghttpd", (ngh, other, "-m", "1"), (ngh_tls, secured, "-m", "1"))
    _, ours_h2 = added("HTTP/2 by ladle", (one, ours, "-m", "1"), (two, tls, "-m", "1"))
    small, ours_h1 = added("HTTP/1.1 by ladle", (one, ours, "--h1"), (two, tls, "--h1"))
    # A small request costs less than its two records four times over: no server can hide them in it. So what TLS adds is held
    # against what it adds to nghttpd, and its share against a request that does some work.
    suites = floor(len(ASKED), len(ANSWERED))
    least = min(suites.values())
    print(f"records of {len(ASKED)} and {len(ANSWERED)} bytes by OpenSSL alone: "
          + ", ".join(f"{name} {figure:.2f}" for name, figure in suites.items())
          + f" us: at least {least / small:.0%} of the {small:.2f} us in cleartext", flush=True)
    tally.check(max(ours_h1, ours_h2) <= theirs * 1.25, f"TLS adds {ours_h1:.2f} and {ours_h2:.2f} us a request, {theirs:.2f} to nghttpd")
    for server in (plain, secure):
        fill(server)
    page = "/v1/outbox?limit=50"
    compare("a page of the outbox over HTTP/1.1, cleartext and TLS 1.3", (one, plain.url + page, "--h1"), (two, tls.replace("/healthz", page), "--h1"), 1.25, 20)
finally:
    for run in (nghttpd, nghttpd_tls):
        run.kill()
        run.wait()
tally.check(plain.stop() == 0 and secure.stop() == 0, "both end as they should")

# Idle event streams over TLS. The clients live in a process of their own, whose memory is not looked at.
crowd = Serve(*TLS, "--events-streams", "20000", "--events-heartbeat", "60s")
empty, start = crowd.resident(), time.monotonic()
wires = []
for _ in range(chosen.subscribers):
    wire = trust.wrap_socket(socket.create_connection(("127.0.0.1", crowd.port), 30), server_hostname="localhost")
    wire.sendall(f"GET /v1/events?types=shutdown,outbox HTTP/1.1\r\nHost: localhost:{crowd.port}\r\nAccept: text/event-stream\r\n\r\n".encode())
    wires.append(wire)
for wire in wires:
    data = b""
    while b"event: hello" not in data:
        data += wire.recv(65536)
took = time.monotonic() - start
time.sleep(2)
held = crowd.resident()
each = (held - empty) / chosen.subscribers
print(f"{chosen.subscribers} idle event streams over TLS: {held >> 20} MiB resident, {each / 1024:.1f} KiB each, opened in {took:.0f} s")
tally.check(held < 600 * chosen.subscribers / 10_000 * 1e6 + empty, f"{held >> 20} MiB for {chosen.subscribers} idle TLS streams")
with trust.wrap_socket(socket.create_connection(("127.0.0.1", crowd.port), 30), server_hostname="localhost") as peer:
    peer.sendall(f"POST /v1/messages?session=agent:main:wire HTTP/1.1\r\nHost: localhost:{crowd.port}\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello".encode())
    tally.check(peer.recv(4096).startswith(b"HTTP/1.1 202"), "a message is taken meanwhile")
start, told = time.monotonic(), 0
for wire in wires:
    data = b""
    while b"agent:main:wire" not in data:
        data += wire.recv(65536)
    told += 1
print(f"an event reached all of them within {time.monotonic() - start:.2f} s; {crowd.resident() >> 20} MiB then")
tally.check(told == chosen.subscribers and crowd.resident() < 600e6, "all are told, within the same memory")
for wire in wires:
    wire.close()
tally.check(crowd.stop() == 0, "the server ends as it should")
tally.end()
