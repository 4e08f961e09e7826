"""What the wire costs: small requests over cleartext HTTP/2 beside nghttpd, TLS beside cleartext, both in the servers' own CPU
time; and the memory of thousands of idle event streams over TLS."""

import os
import pathlib
import re
import resource
import socket
import ssl
import subprocess
import time

from harness import LADLE, ROOT, Serve, Tally, options, scratch, until

chosen = options(subscribers=(2000, 10_000), requests=(40_000, 100_000), rounds=(3, 5))
tally = Tally()
subprocess.run([ROOT / "deploy/packages", "nghttp2-client", "nghttp2-server"], check=True)
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
folder = pathlib.Path(scratch())
subprocess.run([LADLE, "tls", "self-signed", "--host", "localhost", "--cert", folder / "c.pem", "--key", folder / "k.pem"], check=True, capture_output=True)
TLS = ["--tls-cert", str(folder / "c.pem"), "--tls-key", str(folder / "k.pem"), "--access-hosts", "localhost"]


def cpu(pid):
    """User and system time of a process so far, in seconds."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def load(pid, url, *more):
    """CPU microseconds of the server for one request."""
    before = cpu(pid)
    done = subprocess.run(["h2load", "-n", str(chosen.requests), "-c", "8", "-t", "1", *more, url], capture_output=True, text=True, timeout=300)
    good = re.search(r"status codes: (\d+) 2xx", done.stdout)
    assert good and int(good[1]) == chosen.requests, done.stdout + done.stderr
    return (cpu(pid) - before) / chosen.requests * 1e6


def compare(what, reference, tried, most):
    """In turn, so that both meet the same machine; the least of the rounds is the one least disturbed."""
    left, right = [], []
    for _ in range(chosen.rounds):
        left.append(load(*reference))
        right.append(load(*tried))
    ratio = min(right) / min(left)
    print(f"{what}: {min(left):.2f} and {min(right):.2f} us a request, {ratio:.2f}x", flush=True)
    tally.check(ratio <= most, f"{what}: {ratio:.2f}x, not at most {most}x")


plain, secure = Serve(), Serve(*TLS)
(folder / "page").write_bytes(plain.call("GET", "/healthz")[2])
with socket.create_server(("127.0.0.1", 0)) as found:
    port = found.getsockname()[1]
nghttpd = subprocess.Popen(["nghttpd", "--no-tls", "-a", "127.0.0.1", "-d", str(folder), str(port)], stdout=subprocess.DEVNULL)
try:
    until(lambda: socket.socket().connect_ex(("127.0.0.1", port)) == 0, 5, what="nghttpd")
    other, ours, tls = f"http://127.0.0.1:{port}/page", f"{plain.url}/healthz", f"https://127.0.0.1:{secure.port}/healthz"
    ngh, one, two = nghttpd.pid, plain.process.pid, secure.process.pid
    compare("GET over h2c, nghttpd and ladle, 10 at once", (ngh, other, "-m", "10"), (one, ours, "-m", "10"), 2)
    compare("GET over h2c, nghttpd and ladle, one at a time", (ngh, other, "-m", "1"), (one, ours, "-m", "1"), 2)
    compare("HTTP/1.1 keep-alive, cleartext and TLS 1.3", (one, ours, "--h1"), (two, tls, "--h1"), 1.25)
    compare("HTTP/2, cleartext and TLS 1.3", (one, ours, "-m", "1"), (two, tls, "-m", "1"), 1.25)
finally:
    nghttpd.kill()
    nghttpd.wait()
tally.check(plain.stop() == 0 and secure.stop() == 0, "both end as they should")

# Idle event streams over TLS. The clients live in a process of their own, whose memory is not looked at.
crowd = Serve(*TLS, "--events-streams", "20000", "--events-heartbeat", "60s")
trust = ssl.create_default_context(cafile=str(folder / "c.pem"))
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
