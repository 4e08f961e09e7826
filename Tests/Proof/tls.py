"""TLS as the program serves it: versions, protocols, resumption, names, certificates that are replaced while streams run,
client certificates with and without authorities, the files of `tailscale cert`, and signals. The long form waits for the
files to be noticed without a signal, and has sslscan look at the listener."""

import contextlib
import hashlib
import json
import pathlib
import re
import resource
import shutil
import signal
import socket
import ssl
import subprocess
import time
import warnings

from harness import ROOT, EventStream, Serve, Stopwatch, Tally, options, outside_address, run_ladle, scratch, until
from raw_http import pin_of, read_until

warnings.simplefilter("ignore", DeprecationWarning)  # old versions are asked for on purpose
chosen = options()
tally = Tally()
folder = pathlib.Path(scratch())


def openssl(*arguments, text=None):
    made = subprocess.run(["openssl", *arguments], input=text, capture_output=True, text=True, cwd=folder)
    assert made.returncode == 0, made.stderr
    return made.stdout


def authority(name):
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30", "-subj", f"/CN={name}",
            "-keyout", f"{name}.key", "-out", f"{name}.pem", "-addext", "basicConstraints=critical,CA:TRUE",
            "-addext", "keyUsage=critical,keyCertSign")


def issue(name, by, names=(), usage="serverAuth", ca=False):
    """A certificate in NAME.pem and its key in NAME.key."""
    extensions = ["basicConstraints=critical,CA:TRUE" if ca else "basicConstraints=CA:FALSE"]
    if not ca:
        extensions.append(f"extendedKeyUsage={usage}")
    if names:
        extensions.append("subjectAltName=" + ",".join(f"DNS:{one}" for one in names))
    (folder / "ext").write_text("\n".join(extensions))
    openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", "csr")
    openssl("x509", "-req", "-in", "csr", "-CA", f"{by}.pem", "-CAkey", f"{by}.key", "-CAcreateserial", "-days", "20", "-extfile", "ext", "-out", f"{name}.pem")
    (folder / f"{name}.key").chmod(0o600)


def context(versions=None, protocols=None, roots=None, certificate=None):
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    made.check_hostname = bool(roots)
    if not roots:
        made.verify_mode = ssl.CERT_NONE
    else:
        made.load_verify_locations(folder / roots)
    if versions:
        made.minimum_version, made.maximum_version = versions
        if versions[0] < ssl.TLSVersion.TLSv1_2:
            made.set_ciphers("ALL:@SECLEVEL=0")
    if protocols:
        made.set_alpn_protocols(protocols)
    if certificate:
        made.load_cert_chain(folder / f"{certificate}.pem", folder / f"{certificate}.key")
    return made


def connect(server, made, name="localhost", session=None):
    raw = socket.create_connection(("127.0.0.1", server.port), 5)
    try:
        return made.wrap_socket(raw, server_hostname=name, session=session)
    except OSError:
        raw.close()
        raise


def ask(peer, path="/healthz"):
    """One request; the status, or None where the connection ends instead."""
    try:
        peer.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost:{peer.getpeername()[1]}\r\nConnection: close\r\n\r\n".encode())
        data = b""
        while piece := peer.recv(65536):
            data += piece
        return int(data.split()[1]) if data else None
    except (OSError, ssl.SSLError):
        return None


def status(server, made, **more):
    try:
        with connect(server, made, **more) as peer:
            return ask(peer)
    except (OSError, ssl.SSLError) as fault:
        return getattr(fault, "reason", None) or type(fault).__name__


def served_pin(server, name="localhost"):
    with connect(server, context(), name=name) as peer:
        return hashlib.sha256(peer.getpeercert(True)).hexdigest()


# A certificate of our own making, and its pin
made = run_ladle("tls", "self-signed", "--host", "localhost", "--host", "127.0.0.1", "--cert", folder / "own.pem", "--key", folder / "own.key")
own = pin_of(folder / "own.pem")
tally.check(made.returncode == 0 and own in made.stdout.lower().replace(":", ""), f"`tls self-signed` prints the pin: {made.stdout!r} {made.stderr!r}")
tally.check((folder / "own.key").stat().st_mode & 0o777 == 0o600, "its key is the owner's alone")
again = run_ladle("tls", "self-signed", "--cert", folder / "own.pem", "--key", folder / "own.key")
tally.check(again.returncode != 0 and pin_of(folder / "own.pem") == own, "it replaces no file")
made = run_ladle("tls", "self-signed", "--json", "--host", "x.test", "--cert", folder / "other.pem", "--key", folder / "other.key")
tally.check(pin_of(folder / "other.pem") in json.dumps(json.loads(made.stdout)), f"the pin as JSON: {made.stdout!r}")

certificate, key = folder / "live.pem", folder / "live.key"
shutil.copy(folder / "own.pem", certificate)
shutil.copy(folder / "own.key", key)
server = Serve("--tls-cert", str(certificate), "--tls-key", str(key), "--access-hosts", "localhost")
tally.check(served_pin(server) == own and own in server.output, "the pin at the start is that of the certificate served")

# Versions and protocols
V = ssl.TLSVersion
for version, wanted in ((V.TLSv1_3, 200), (V.TLSv1_2, 200)):
    tally.check(status(server, context((version, version))) == wanted, f"{version.name} is served")
for version in (V.TLSv1, V.TLSv1_1):
    got = status(server, context((version, version)))
    tally.check(got != 200 and got is not None, f"{version.name} is refused: {got}")
for offered, agreed in ((["h2", "http/1.1"], "h2"), (["http/1.1", "h2"], "h2"), (["http/1.1"], "http/1.1"), (["http/1.0", "http/1.1"], "http/1.1"), (None, None)):
    with connect(server, context(protocols=offered)) as peer:
        tally.check(peer.selected_alpn_protocol() == agreed, f"ALPN {offered}: {peer.selected_alpn_protocol()}")
got = status(server, context(protocols=["spdy/1"]))
tally.check(isinstance(got, str), f"ALPN without a common protocol: {got}")
for suite in ("AES128-SHA", "ECDHE-RSA-AES128-SHA256", "DHE-RSA-AES128-GCM-SHA256", "NULL-SHA256"):
    weak = context((V.TLSv1_2, V.TLSv1_2))
    try:
        weak.set_ciphers(suite + ":@SECLEVEL=0")
    except ssl.SSLError:
        continue
    tally.check(status(server, weak) != 200, f"the suite {suite} is refused")
with socket.create_connection(("127.0.0.1", server.port), 5) as plain:
    plain.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
    plain.settimeout(3)
    tally.check(not plain.recv(4096).startswith(b"HTTP/1.1 2"), "cleartext on a TLS port is not served")

# Resumption
for version in (V.TLSv1_2, V.TLSv1_3):
    fixed = context((version, version))
    with connect(server, fixed) as peer:
        ask(peer)
        ticket = peer.session
    with connect(server, fixed, session=ticket) as peer:
        tally.check(peer.session_reused and ask(peer) == 200, f"{version.name}: a session is resumed")

# Names: one certificate answers, whoever is asked for; which hosts are served is the API's own rule
for name in ("localhost", "127.0.0.1", "unknown.example"):
    tally.check(served_pin(server, name) == own, f"the name {name} is answered")


# New certificates while a stream runs
class Stream:
    def __init__(self, server):
        self.socket = connect(server, context())
        self.socket.sendall(f"GET /v1/events HTTP/1.1\r\nHost: localhost:{server.port}\r\nAccept: text/event-stream\r\n\r\n".encode())
        self.data = b""
        self.sees(b"event: hello")

    def sees(self, what):
        self.data = read_until(self.socket, what, self.data)
        return what in self.data


def say(server, session):
    with connect(server, context()) as peer:
        peer.sendall(f"POST /v1/messages?session={session} HTTP/1.1\r\nHost: localhost:{server.port}\r\nConnection: close\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello".encode())
        return peer.recv(4096).startswith(b"HTTP/1.1 202")


stream = Stream(server)
certificate.write_text("nonsense")
server.process.send_signal(signal.SIGHUP)
until(lambda: "warning tls.kept" in server.output, what="the warning")
tally.check(served_pin(server) == own and status(server, context()) == 200, "a broken certificate leaves the old one in place")
shutil.copy(folder / "other.pem", certificate)
server.process.send_signal(signal.SIGHUP)
time.sleep(0.3)
tally.check(served_pin(server) == own, "a certificate without its key leaves the old one in place")
shutil.copy(folder / "other.key", key)
server.process.send_signal(signal.SIGHUP)
other = pin_of(folder / "other.pem")
until(lambda: served_pin(server) == other, what="the new certificate")
until(lambda: other in server.output, what="the line that says so")
tally.check(served_pin(server) == other, "a new certificate is served after SIGHUP, and said")
tally.check(say(server, "agent:main:tls1") and stream.sees(b"agent:main:tls1"), "the stream opened before goes on")
with connect(server, context((V.TLSv1_3, V.TLSv1_3)), session=None) as peer:
    tally.check(ask(peer) == 200, "requests are served by the new one")
if chosen.long:
    shutil.copy(folder / "own.pem", certificate)
    shutil.copy(folder / "own.key", key)
    until(lambda: served_pin(server) == own, 40, 1, what="the change of the files")
    tally.check(say(server, "agent:main:tls2") and stream.sees(b"agent:main:tls2"), "files that change are noticed by themselves, and the stream goes on")
for _ in range(20):
    server.process.send_signal(signal.SIGHUP)
tally.check(status(server, context()) == 200, "20 SIGHUP in a row")

# Several certificates: the one for the name asked for, the first for any other; all are read again
first, second = folder / "first.pem", folder / "second.pem"
for name, file in (("one.test", first), ("two.test", second)):
    run_ladle("tls", "self-signed", "--host", name, "--host", f"*.{name}", "--cert", file, "--key", file.with_suffix(".key"), check=True)
pins = {file: pin_of(file) for file in (first, second)}
several = Serve("--tls-cert", f"{first},{second}", "--tls-key", f"{first.with_suffix('.key')},{second.with_suffix('.key')}")
for name, file in (("one.test", first), ("two.test", second), ("TWO.test", second), ("a.two.test", second), ("a.b.two.test", first), ("other.test", first), (None, first)):
    tally.check(served_pin(several, name) == pins[file], f"of two certificates {name} gets {file.name}")
tally.check(all(one in several.output for one in pins.values()), "both pins are said")
for name in ("one.test", "two.test"):
    with connect(several, context(roots=f"{name.split('.')[0].replace('one', 'first').replace('two', 'second')}.pem"), name=name) as peer:
        peer.sendall(f"GET /healthz HTTP/1.1\r\nHost: {name}:{several.port}\r\nConnection: close\r\n\r\n".encode())
        tally.check(peer.recv(4096).startswith(b"HTTP/1.1 200"), f"{name} is a host of the API, by its certificate")
fixed = context((V.TLSv1_3, V.TLSv1_3))
with connect(several, fixed, name="two.test") as peer:
    ask(peer)
    ticket = peer.session
with connect(several, fixed, name="two.test", session=ticket) as peer:
    tally.check(peer.session_reused, "a session of the second certificate is resumed")
for file in (second, second.with_suffix(".key")):
    file.unlink()
run_ladle("tls", "self-signed", "--host", "two.test", "--host", "new.test", "--cert", second, "--key", second.with_suffix(".key"), check=True)
several.process.send_signal(signal.SIGHUP)
renewed = pin_of(second)
until(lambda: served_pin(several, "two.test") == renewed, what="the second certificate's renewal")
tally.check(served_pin(several, "one.test") == pins[first], "the first is as it was")


def taken_for_host(server, name):
    with connect(server, fixed, name=name) as peer:
        peer.sendall(f"GET /healthz HTTP/1.1\r\nHost: {name}:{server.port}\r\nConnection: close\r\n\r\n".encode())
        return peer.recv(4096).startswith(b"HTTP/1.1 200")


tally.check(until(lambda: taken_for_host(several, "new.test")), "a name that the renewed certificate has too is a host of the API")
with connect(several, fixed, name="two.test", session=ticket) as peer:
    tally.check(not peer.session_reused and peer.getpeercert(True), "a session of the old certificate is not resumed")
several.stop()

# What does not start a TLS session, or not to its end, costs a bounded time and nobody else
silent = [socket.create_connection(("127.0.0.1", server.port), 5) for _ in range(50)]
for number, peer in enumerate(silent):
    if number % 2:
        peer.sendall(b"\x16\x03\x01\x02\x00\x01")
watch = Stopwatch(server)
tally.check(status(server, context()) == 200 and watch.seconds < 1, "50 handshakes that do not go on hold nobody up")
for peer in silent:
    peer.close()
for bytes_ in (b"\x16\x03\x01\xff\xff" + b"x" * 100, b"\x80\x2e\x01\x00\x02" + b"\0" * 60, b"\0" * 64, b"\x15\x03\x01\x00\x02\x02\x28", b"SSH-2.0-x\r\n"):
    with socket.create_connection(("127.0.0.1", server.port), 5) as peer:
        peer.sendall(bytes_)
        peer.settimeout(5)
        try:
            while peer.recv(4096):
                pass
            ended = True
        except ConnectionResetError:
            ended = True
        except TimeoutError:
            ended = False
        tally.check(ended, f"nonsense {bytes_[:6]!r} is cut off")
tally.check(status(server, context()) == 200, "and the next client is served")

# The files of `tailscale cert`: NAME.crt with the chain, world-readable, and NAME.key in SEC1 form, the owner's alone
authority("root")
issue("middle", "root", ca=True)
issue("host", "middle", ["box.tail1234.ts.net"])
crt, sec1 = folder / "box.tail1234.ts.net.crt", folder / "box.tail1234.ts.net.key"
crt.write_text((folder / "host.pem").read_text() + (folder / "middle.pem").read_text())
crt.chmod(0o644)
sec1.write_text(openssl("ec", "-in", "host.key"))
sec1.chmod(0o600)
tally.check("BEGIN EC PRIVATE KEY" in sec1.read_text(), "the key is in the form Tailscale writes")
tail = Serve("--tls-cert", str(crt), "--tls-key", str(sec1))
made = context(roots="root.pem")
with connect(tail, made, name="box.tail1234.ts.net") as peer:
    peer.sendall(f"GET /healthz HTTP/1.1\r\nHost: box.tail1234.ts.net:{tail.port}\r\nConnection: close\r\n\r\n".encode())
    tally.check(peer.recv(4096).startswith(b"HTTP/1.1 200"), "`tailscale cert` files work as they are: the chain verifies, the name is served")
tail.stop()
sec1.chmod(0o644)
refused = run_ladle("serve", "--demo", "--state", scratch(), "--listen", "127.0.0.1:0", "--tls-cert", crt, "--tls-key", sec1)
tally.check(refused.returncode == 78 and "chmod 600" in refused.stderr, f"a key everybody can read is refused: {refused.returncode} {refused.stderr!r}")

# Client certificates
authority("friends")
authority("strangers")
for name, by in (("alice", "friends"), ("bob", "friends"), ("mallory", "strangers")):
    issue(name, by, usage="clientAuth")
issue("misused", "friends", usage="serverAuth")
prints = {name: pin_of(folder / f"{name}.pem") for name in ("alice", "bob", "mallory")}
base = ["--tls-cert", str(folder / "own.pem"), "--tls-key", str(folder / "own.key"), "--access-hosts", "localhost"]
for what, settings, let_in in (
    ("an allow list", ["--tls-client-allow", f"{prints['alice']},{prints['mallory']}"], {"alice", "mallory"}),
    ("an authority", ["--tls-client-ca", str(folder / "friends.pem")], {"alice", "bob"}),
    ("both", ["--tls-client-ca", str(folder / "friends.pem"), "--tls-client-allow", ":".join(re.findall("..", prints["alice"].upper())) + f",{prints['mallory']}"], {"alice"}),
):
    with_clients = Serve(*base, *settings)
    for name in ("alice", "bob", "mallory", "misused", None):
        for version in (V.TLSv1_2, V.TLSv1_3):
            got = status(with_clients, context((version, version), certificate=name))
            tally.check((got == 200) == (name in let_in), f"{what}: {name} over {version.name}: {got}")
    fixed = context((V.TLSv1_3, V.TLSv1_3), certificate="alice")
    with connect(with_clients, fixed) as peer:
        ask(peer)
        ticket = peer.session
    with connect(with_clients, fixed, session=ticket) as peer:
        tally.check(peer.session_reused and ask(peer) == 200, f"{what}: a session with a certificate is resumed")
    if what == "an authority":
        # The certificate lets in; what one may do is another question.
        outside = outside_address()
        far = Serve(*base, *settings, "--listen", f"{outside}:0", "--access-hosts", outside) if outside else None
        if far:
            far.port = int(until(lambda: next((line.rsplit(":", 1)[1] for line in far.lines if f"listening on https://{outside}:" in line), None)))
            for fields, wanted in (("", 401), (f"Authorization: Bearer {far.token}\r\n", 200)):
                with context(certificate="alice").wrap_socket(socket.create_connection((outside, far.port), 5)) as peer:
                    peer.sendall(f"GET /v1/status HTTP/1.1\r\nHost: {outside}:{far.port}\r\n{fields}Connection: close\r\n\r\n".encode())
                    got = int(peer.recv(4096).split()[1])
                    tally.check(got == wanted, f"from elsewhere with a certificate and {'a' if fields else 'no'} token: {got}")
            far.stop()
        # An authority that is taken out counts no more from SIGHUP on, tickets included.
        (folder / "friends.pem").rename(folder / "friends.old")
        shutil.copy(folder / "strangers.pem", folder / "friends.pem")
        with_clients.process.send_signal(signal.SIGHUP)
        until(lambda: status(with_clients, context(certificate="mallory")) == 200, what="the new authority")
        tally.check(status(with_clients, context(certificate="alice")) != 200, "whom the old authority vouched for is refused")
        try:
            with connect(with_clients, fixed, session=ticket) as peer:
                again = ask(peer)
        except (OSError, ssl.SSLError):
            again = None
        tally.check(again != 200, "with a ticket of before as well")
        (folder / "friends.old").replace(folder / "friends.pem")
    with_clients.stop()
for what, settings in (("no such file", ["--tls-client-ca", "/nonexistent"]), ("no certificate", ["--tls-client-ca", str(folder / "own.key")]),
                       ("no fingerprint", ["--tls-client-allow", "abc"]), ("a certificate without its key", ["--tls-cert", str(folder / "other.pem")])):
    refused = run_ladle("serve", "--demo", "--state", scratch(), "--listen", "127.0.0.1:0", *base, *settings)
    tally.check(refused.returncode in (64, 78) and refused.stderr, f"{what} is a fault of configuration: {refused.returncode} {refused.stderr!r}")

# Signals without TLS
plain = Serve()
events = iter(EventStream(plain))
next(events)
for _ in range(3):
    plain.process.send_signal(signal.SIGHUP)
time.sleep(0.2)
tally.check(plain.process.poll() is None and plain.call("GET", "/healthz")[0] == 200, "SIGHUP without TLS ends nothing")
tally.check(plain.stop() == 0, "SIGTERM ends it")

if chosen.long:
    subprocess.run([ROOT / "deploy/packages", "sslscan"], check=True)
    report = subprocess.run(["sslscan", "--no-colour", "--show-certificate", f"127.0.0.1:{server.port}"], capture_output=True, text=True, timeout=120).stdout
    print(report)
    for line, wanted in (("SSLv2", "disabled"), ("SSLv3", "disabled"), ("TLSv1.0", "disabled"), ("TLSv1.1", "disabled"), ("TLSv1.2", "enabled"), ("TLSv1.3", "enabled")):
        tally.check(re.search(rf"^{re.escape(line)}\s+{wanted}", report, re.M), f"sslscan: {line} {wanted}")
    for wanted in ("Server supports TLS Fallback SCSV", "Session renegotiation not supported"):
        tally.check(wanted in report, f"sslscan: {wanted}")
    # Where the tool's own library has none it cannot see, and ours has none either.
    tally.check("Compression disabled" in report or "does not support compression" in report, "sslscan: no compression")
    tally.check("ffdhe" not in report and "x25519" in report, "sslscan: no key exchange that is dear for the server alone")
    tally.check("vulnerable to heartbleed" not in report.replace("not vulnerable to heartbleed", ""), "sslscan: no heartbleed")
    suites = re.findall(r"^(?:Preferred|Accepted)\s+(TLSv1\.\d)\s+(\d+) bits\s+(\S+)", report, re.M)
    tally.check(suites and all(int(bits) >= 128 and ("GCM" in suite or "POLY1305" in suite) for _, bits, suite in suites), f"sslscan: only AEAD suites with forward secrecy: {suites}")
tally.check(server.stop() == 0, "the server ends as it should")

# Half handshakes: the client's first flight and nothing behind it. Their number makes what else the program allocates small.
HALF = 4000
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
server = Serve("--tls-cert", str(folder / "own.pem"), "--tls-key", str(folder / "own.key"))
flight = ssl.MemoryBIO()
with contextlib.suppress(ssl.SSLWantReadError):
    context().wrap_bio(ssl.MemoryBIO(), flight, server_hostname="localhost").do_handshake()
hello, quiet, before = flight.read(), server.descriptors(), server.allocated()
halves = [socket.create_connection(("127.0.0.1", server.port), 5) for _ in range(HALF)]
for half in halves:
    half.sendall(hello)
# The answer's first byte shows that all of the hello was read.
tally.check(all(half.recv(1) for half in halves), "each half handshake is answered")
tally.check(server.descriptors() >= quiet + HALF - 2, "all of them are open")
each = (server.allocated() - before) / HALF / 1024
print(f"a half handshake takes {each:.1f} KiB")
tally.check(each < 44, f"a half handshake takes {each:.1f} KiB, as docs/threat-model.md says at most 44")
for half in halves:
    half.close()
tally.check(server.stop() == 0, "and with them too")
tally.end()
