"""`tls.tailnet`: a certificate that tailscaled has issued, beside the one that devices pin. tailscaled is a stand-in that speaks its local
API as its source has it; the clients are openssl, curl and Python's ssl.

Root gets a network of its own with a tailnet and clients on another machine there; else the clients are on this host.
"""

import base64
import datetime
import hashlib
import json
import os
import pathlib
import re
import signal
import socket
import ssl
import subprocess
import threading
import time

import network

HAS_NETWORK = network.enter()

from harness import Serve, Tally, free_port, options, run_ladle, scratch, until
from network import NODE, NODE6

options()
tally = Tally()
folder = pathlib.Path(scratch())
net = network.Network() if HAS_NETWORK else None
if net:
    net.join()
else:
    print("tailnet_tls: no network of its own can be had here (root, unshare and ip are needed): clients are on this host")
NAME = "box.tail1.ts.net"
PORT = 7443 if net else free_port()
LISTEN = f"tailnet:{PORT}" if net else f"0.0.0.0:{PORT}"
PLACE = NODE if net else "127.0.0.1"
PHONE = ["nsenter", f"--net=/proc/{net.far.pid}/ns/net"] if net else []


def openssl(*arguments):
    made = subprocess.run(["openssl", *map(str, arguments)], capture_output=True, text=True, cwd=folder)
    assert made.returncode == 0, made.stderr
    return made.stdout


# -- an authority with one between it and the leaves, as Let's Encrypt has it

def date(seconds):
    return (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=seconds)).strftime("%Y%m%d%H%M%SZ")


def issue(name, by, hosts=(), begin=-3600, end=90 * 86400, ca=False):
    """NAME.key, and NAME.pem: signed by another, or by itself where `by` is None."""
    openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", f"{name}.key")
    openssl("req", "-new", "-key", f"{name}.key", "-subj", f"/CN={name}", "-out", f"{name}.csr")
    extensions = ["basicConstraints=critical,CA:TRUE" if ca else "basicConstraints=CA:FALSE"]
    if hosts:
        extensions.append("subjectAltName=" + ",".join(f"DNS:{host}" for host in hosts))
    (folder / "ca.cnf").write_text(
        "[ca]\ndefault_ca=x\n[x]\ndatabase=index\nnew_certs_dir=.\nrand_serial=yes\ndefault_md=sha256\npolicy=p\nemail_in_dn=no\n"
        "unique_subject=no\n[p]\ncommonName=supplied\n[e]\n" + "\n".join(extensions) + "\n")
    (folder / "index").write_text("")
    signer = ["-selfsign", "-keyfile", f"{name}.key"] if by is None else ["-cert", f"{by}.pem", "-keyfile", f"{by}.key"]
    openssl("ca", "-batch", "-notext", "-config", "ca.cnf", "-extensions", "e", "-in", f"{name}.csr", "-out", f"{name}.pem",
            "-startdate", date(begin), "-enddate", date(end), *signer)


issue("root", None, ca=True, end=3650 * 86400)
issue("middle", "root", ca=True, end=3650 * 86400)
issue("stranger", None, ca=True)


def pair(name="leaf", hosts=(NAME,), by="middle", **dates):
    """Key and chain as tailscaled gives them, and the fingerprint of the leaf."""
    issue(name, by, hosts, **dates)
    chain = (folder / f"{name}.pem").read_bytes() + ((folder / "middle.pem").read_bytes() if by else b"")
    der = ssl.PEM_cert_to_DER_cert((folder / f"{name}.pem").read_text())
    return (folder / f"{name}.key").read_bytes() + chain, hashlib.sha256(der).hexdigest()


class LocalAPI(threading.Thread):
    """tailscaled's local API: `ipn/localapi` refuses browsers and foreign hosts, answers in chunks, and errors are lines of text."""

    def __init__(self, path):
        super().__init__(daemon=True)
        self.path = path
        self.state, self.domains = "Running", None
        self.certificate = lambda: (500, b"acme.GetReg: no such host\n")
        self.asked = []
        self.statuses = 0
        self.listener = None
        self.open()
        self.start()

    def open(self):
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen(64)
        if os.geteuid() == 0:
            os.chown(self.path, 12345, 12345)  # tailscaled is another user than Ladle here
            os.chmod(self.path, 0o666)

    def close(self):
        os.unlink(self.path)
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def run(self):
        while True:
            try:
                one, _ = self.listener.accept()
            except OSError:
                time.sleep(0.01)
                continue
            threading.Thread(target=self.serve, args=(one,), daemon=True).start()

    def serve(self, one):
        head = b""
        while b"\r\n\r\n" not in head and (piece := one.recv(4096)):
            head += piece
        line, *fields = head.decode().split("\r\n")
        method, target, _ = line.split(" ")
        fields = {key.lower(): value.strip() for key, _, value in (field.partition(":") for field in fields)}
        if method != "GET" or fields.get("host") != "local-tailscaled.sock" or "origin" in fields or "referer" in fields:
            status, body = 403, b"invalid localapi request\n"
        elif target.startswith("/localapi/v0/status"):
            self.statuses += 1
            status, body = 200, json.dumps({
                "Version": "1.98.8", "BackendState": self.state, "HaveNodeKey": True, "TailscaleIPs": [NODE, NODE6],
                "Self": {"ID": "n1CNTRL", "HostName": "box", "DNSName": NAME + ".", "OS": "linux", "TailscaleIPs": [NODE, NODE6]},
                "MagicDNSSuffix": "tail1.ts.net", "CurrentTailnet": {"Name": "a@example.com", "MagicDNSEnabled": True},
                "CertDomains": self.domains, "Peer": None}).encode()
        elif target == f"/localapi/v0/cert/{NAME}?type=pair":
            self.asked.append(target)
            status, body = self.certificate()
        elif target.startswith("/localapi/v0/whois"):
            status, body = 404, b"no match for IP:port\n"
        else:
            status, body = 404, b"404 page not found\n"
        try:
            if status is None:
                one.sendall(body)
            else:
                one.sendall(b"HTTP/1.1 %d X\r\nTailscale-Cap: 130\r\nX-Content-Type-Options: nosniff\r\nContent-Type: text/plain\r\n"
                            b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n" % status)
                for start in range(0, len(body), 2048):
                    piece = body[start:start + 2048]
                    one.sendall(b"%x\r\n%b\r\n" % (len(piece), piece))
                one.sendall(b"0\r\n\r\n")
        except OSError:
            pass
        one.close()


# -- clients

def shown(name=None, place=PLACE, port=PORT):
    """The fingerprint of the certificate that openssl is shown."""
    asked = ["-servername", name] if name else ["-noservername"]
    said = subprocess.run([*PHONE, "openssl", "s_client", "-connect", f"{place}:{port}", *asked], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    found = re.search(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", said.stdout, re.S)
    return hashlib.sha256(ssl.PEM_cert_to_DER_cert(found[0])).hexdigest() if found else said.stderr[-300:]


def curl(path, *words, name=NAME, trust="root.pem"):
    """curl as it is used, without -k: exit code and body."""
    done = subprocess.run(
        [*PHONE, "curl", "-sS", "--max-time", "10", "--resolve", f"{name}:{PORT}:{PLACE}", "--cacert", folder / trust, f"https://{name}:{PORT}{path}", *words],
        capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def doctor(state):
    done = run_ladle("doctor", "--json", "--state", state, "--demo", "--listen", LISTEN, *SETTINGS)
    return [check for check in json.loads(done.stdout)["checks"] if check["check"] == "certificate"]


def says(what, *parts, ok=None, state=None):
    found = doctor(state or serve.state)
    text = [f"{check['detail']} | {check.get('hint', '')}" for check in found if ok is None or check["ok"] == ok]
    tally.check(any(all(part in line for part in parts) for line in text), f"doctor, {what}: {found}")


def invite():
    return serve.json("POST", "/v1/pairing/invitations", {"name": "phone", "scopes": ["read", "send"]})[1]


def settled(count=1):
    """Asks now, and waits for the answer to be judged."""
    before = serve.output.count("tls.notIssued") + serve.output.count("tls.issued") + serve.output.count("tls.renewed")
    serve.process.send_signal(signal.SIGHUP)
    until(lambda: serve.output.count("tls.notIssued") + serve.output.count("tls.issued") + serve.output.count("tls.renewed") >= before + count,
          what=lambda: "an outcome: " + serve.output[-800:])


def tls():
    return serve.status()["tls"]


SETTINGS = ["--tls-tailnet", "--access-tailnet-socket", f"{folder}/ts.sock"]
state = scratch()
own_file, kept_file = pathlib.Path(state) / "demo/self-signed.pem", pathlib.Path(state) / "demo/tailnet-certificate.pem"

# -- nothing yet: before the first start, and without tailscaled

says("before the first start", "no socket of tailscaled", ok=False, state=state)
says("before the first start", "made at the first start", ok=True, state=state)
tally.check(not own_file.exists(), "doctor makes a certificate")
begun = time.monotonic()
serve = Serve("--listen", LISTEN, *SETTINGS, state=state)
print(f"tailnet_tls: the first start, with a certificate made, took {time.monotonic() - begun:.2f} s")
own = shown()
tally.check(re.fullmatch("[0-9a-f]{64}", own) and own in serve.output, f"the pin is printed at the start: {own} {serve.output}")
tally.check(own_file.stat().st_mode & 0o777 == 0o600, "its file is the owner's alone")
tally.check(shown(NAME) == own and shown("box") == own, "every name gets it as long as there is no other")
names = openssl("x509", "-noout", "-ext", "subjectAltName", "-in", own_file)
tally.check("DNS:localhost" in names and "ts.net" not in names, f"its names: {names}")
status, _, _ = serve.call("GET", "/healthz")
tally.check(status == 200 and f"listening on http://127.0.0.1:{serve.port}" in serve.output, "loopback is as it was")
until(lambda: "tls.notIssued" in serve.output, what="a word of the missing tailscaled")
says("no tailscaled", "no socket of tailscaled was found", "systemctl enable --now tailscaled", ok=False)
says("no tailscaled", "for clients that pin it", own, ok=True)

# -- tailscaled comes; each reason why there is none, once in the log however often it is asked

daemon = LocalAPI(f"{folder}/ts.sock")
daemon.state = "NeedsLogin"
settled()
says("logged out", "not connected to its tailnet (NeedsLogin)", "sudo tailscale up", ok=False)
daemon.state = "Running"
settled()
says("HTTPS off", "HTTPS certificates are not enabled in this tailnet", "login.tailscale.com/admin/dns", ok=False)
tally.check(not daemon.asked, "a certificate was asked for where none can be had")
daemon.domains = [NAME]
daemon.certificate = lambda: (403, b"cert access denied\n")
settled()
says("denied", f"not uid {os.geteuid()}", f"echo TS_PERMIT_CERT_UID={os.geteuid()} | sudo tee -a /etc/default/tailscaled", ok=False)
said = serve.output.count("tls.notIssued")
for number in range(3):
    asked = len(daemon.asked)
    serve.process.send_signal(signal.SIGHUP)
    until(lambda: len(daemon.asked) > asked, what="the next question")
daemon.certificate = lambda: (500, b'acme: dns-01 for "box.tail1.ts.net": 503 \x1b[31murn:ietf:params:acme:error:serverInternal\n' + b"x" * 5000)
settled()
tally.check(serve.output.count("tls.notIssued") == said + 1, "one line for each change of the reason")
says("ACME failed", "could have none issued: acme: dns-01", "serverInternal", "journalctl -u tailscaled", ok=False)
tally.check("\x1b" not in serve.output and "x" * 400 not in serve.output, "foreign text is cut and cannot control the terminal")
daemon.certificate = lambda: (429, b"acme: rate limited: too many certificates already issued\n")
settled()
says("rate limited", "issues no more for now: acme: rate limited", ok=False)
tally.check(shown() == own, "meanwhile the pinned one serves")
if net:
    link = invite()["link"]
    pin = base64.urlsafe_b64encode(bytes.fromhex(own)).decode().rstrip("=")
    tally.check(link.startswith(f"ladle://{NODE}:{PORT}/?tls=1&pin={pin}&secret="), f"the link without a certificate of the tailnet: {link}")

# -- it comes, slower than any other answer, while a stream is read

release = threading.Event()
answer, leaf = pair()
daemon.certificate = lambda: (release.wait(60), (200, answer))[1]


def dial():
    return net.dial(NODE, PORT, 30) if net else socket.create_connection((PLACE, PORT), 30)


pinned = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
pinned.check_hostname = False
pinned.verify_mode = ssl.CERT_NONE
token = serve.token
stream = pinned.wrap_socket(dial())
tally.check(hashlib.sha256(stream.getpeercert(True)).hexdigest() == own, "the stream's certificate")
stream.sendall(f"GET /v1/events HTTP/1.1\r\nHost: {PLACE}:{PORT}\r\nAuthorization: Bearer {token}\r\nAccept: text/event-stream\r\n\r\n".encode())
told = b""
while b"hello" not in told:
    told += stream.recv(65536)
asked = len(daemon.asked)
serve.process.send_signal(signal.SIGHUP)
until(lambda: len(daemon.asked) > asked, what="the question")
time.sleep(3)  # longer than tailscaled has for its other answers
tally.check(shown() == own and serve.call("GET", "/healthz")[0] == 200, "serves while the authority takes its time")
release.set()
begun = time.monotonic()
until(lambda: "tls.issued" in serve.output, what="the certificate")
print(f"tailnet_tls: in use {(time.monotonic() - begun) * 1000:.0f} ms after tailscaled's answer")
tally.check(shown(NAME) == leaf, f"the name of the tailnet gets the tailnet's: {shown(NAME)}")
tally.check(shown(NAME.upper()) == leaf, "in capitals too")
tally.check(shown() == own and shown("box") == own and shown("localhost") == own, "all others get the pinned one as before")
serve.json("POST", "/v1/messages", {"text": "good morning"})
while b"run.ended" not in told:
    piece = stream.recv(65536)
    if not tally.check(piece, "the stream ended with the new certificate"):
        break
    told += piece
tally.check(told.count(b"event: hello") == 1 and b"event: shutdown" not in told, "the stream went on with its own certificate")
stream.close()
code, body = curl("/healthz")
tally.check(code == 0 and '"ok"' in body, f"curl without -k: {code} {body}")
code, body = curl("/healthz", trust="stranger.pem")
tally.check(code != 0, "curl believes whatever it is shown")
code, body = curl("/v1/status", "-H", f"Authorization: Bearer {token}")
tally.check(code == 0 and json.loads(body)["tls"]["tailnet"] == {"state": "issued"}, f"status by the name: {code} {body[:300]}")
chain = subprocess.run([*PHONE, "openssl", "s_client", "-connect", f"{PLACE}:{PORT}", "-servername", NAME, "-CAfile", folder / "root.pem", "-verify_return_error",
                        "-verify_hostname", NAME], stdin=subprocess.DEVNULL, capture_output=True, text=True)
tally.check(chain.returncode == 0 and "Verify return code: 0 (ok)" in chain.stdout, f"openssl with the root alone: {chain.stdout[-600:]}")
label = socket.gethostname().partition(".")[0]
for host in (NAME, label, f"{label}.local"):
    got = serve.call("GET", "/v1/status", headers={"Host": f"{host}:{serve.port}"})[0]
    tally.check(got == 421, f"{host} is a name for loopback in cleartext, where another machine could give it out: {got}")
says("both", f"for clients that ask for {NAME}", ok=True)
says("both", "for clients that pin it", own, ok=True)
tally.check(all(check["ok"] for check in doctor(state)), f"doctor is content: {doctor(state)}")
tally.check(kept_file.stat().st_mode & 0o777 == 0o600 and kept_file.read_bytes() == answer, "it is kept as it came, for the owner alone")
if net:
    link = invite()["link"]
    tally.check(re.fullmatch(rf"ladle://{re.escape(NAME)}:{PORT}/\?tls=1&secret=[A-Z0-9]+", link), f"the link: {link}")
    secret = link.rpartition("=")[2]
    code, body = curl("/v1/pairing", "--json", json.dumps({"secret": secret}))
    tally.check(code == 0 and json.loads(body).get("token"), f"a phone that trusts the authority pairs by the link: {code} {body}")
    code, body = curl("/v1/messages?wait=30", "-H", f"Authorization: Bearer {json.loads(body)['token']}", "-H", "Accept: text/plain", "-d", "good morning")
    tally.check(code == 0 and body.startswith("Hello!"), f"and talks to the agent: {code} {body}")
    print(f"tailnet_tls: {link.partition('secret')[0]}… paired a machine that trusts the authority, without a pin")

# -- answers that are no certificate of this host: the old one stays, in the listeners and on the disk


def chunked(body):
    return None, b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body


other, _ = pair("other", ["other.tail1.ts.net"])
expired, _ = pair("expired", begin=-90 * 86400, end=-60)
early, _ = pair("early", begin=86400)
lonely, _ = pair("lonely", by=None)
second, renewed = pair("second")
mismatched = (folder / "other.key").read_bytes() + second[second.index(b"-----BEGIN CERT"):]
broken = bytearray(second)
broken[second.index(b"-----BEGIN CERT") + 200] ^= 0x3F
wrong = {
    "another name": ((200, other), "it is for other.tail1.ts.net, not for"), "expired": ((200, expired), "it expired at"),
    "not yet": ((200, early), "it begins at"), "signed by itself": ((200, lonely), "no authority has signed it"),
    "another key": ((200, mismatched), "is not used"), "a broken certificate": ((200, bytes(broken)), "is not used"), "nothing": ((200, b""), "is not used"),
    "no key": ((200, second[second.index(b"-----BEGIN CERT"):]), "is not used"), "no certificate": ((200, (folder / "second.key").read_bytes()), "is not used"),
    "garbage": ((200, os.urandom(4000)), "is not used"), "too much": ((200, second + b"\n" * 100_000), "it is too long"),
    "endless": (chunked(b"x" * 1_000_000), "gave no answer"), "no HTTP": ((None, b"\x16\x03\x01garbage\r\n\r\n"), "gave no answer"),
    "cut": ((None, b"HTTP/1.1 200 OK\r\nContent-Length: 6000\r\n\r\n" + second[:3000]), "gave no answer"), "silence": ((None, b""), "gave no answer"),
    "not found": ((404, b"404 page not found\n"), "404 page not found"), "an old tailnet": ((500, b"your Tailscale account does not support getting TLS certs\n"), "does not support"),
}
for what, (given, reason) in wrong.items():
    daemon.certificate = lambda: given
    asked = len(daemon.asked)
    serve.process.send_signal(signal.SIGHUP)
    until(lambda: len(daemon.asked) > asked, what="the question")
    until(lambda: reason in tls()["tailnet"].get("detail", ""), what=lambda: f"{what}: {reason}, in place of {tls()['tailnet']}")
    tally.check(shown(NAME) == leaf and shown() == own and kept_file.read_bytes() == answer, f"{what}: the old one stays")
says("a bad answer", "the tailnet's is not renewed now:", ok=True)
print(f"tailnet_tls: {len(wrong)} answers that are no certificate of this host changed nothing")

# -- the pinned one is gone from the disk: nothing else takes its place while the program runs

aside = own_file.rename(f"{folder}/aside.pem")
serve.process.send_signal(signal.SIGHUP)
until(lambda: "tls.kept" in serve.output, what="the warning")
tally.check(shown() == own and shown(NAME) == leaf, "another certificate takes the place of the pinned one")
aside.rename(own_file)

# -- renewed

daemon.certificate = lambda: (200, second)
settled()
until(lambda: shown(NAME) == renewed, what="the renewed certificate")
tally.check(shown() == own, "the pinned one is no other")
tally.check(kept_file.read_bytes() == second and sorted(path.name for path in kept_file.parent.glob("*.pem*")) == ["self-signed.pem", "tailnet-certificate.pem"],
            "the file is replaced, and nothing is left beside it")
key = re.sub(rb"-----[^\n]*\n|\n", b"", (folder / "second.key").read_bytes())[:40].decode()
tally.check(key not in serve.output and "PRIVATE" not in serve.output and key not in json.dumps(tls()), "no key in log or status")

# -- restarts: without tailscaled, with a damaged file, after its end

daemon.close()
tally.check(serve.stop() == 0, "the end")
serve = Serve("--listen", LISTEN, *SETTINGS, state=state)
tally.check(shown(NAME) == renewed and shown() == own, "after a restart both are there at once, without tailscaled")
until(lambda: "tls.notIssued" in serve.output, what="a word of the missing tailscaled")
says("tailscaled is gone", "not renewed now: no socket of tailscaled was found", ok=True)
serve.stop()
says("not serving", f"for clients that ask for {NAME}", ok=True, state=state)
kept_file.write_bytes(second[:900])
serve = Serve("--listen", LISTEN, *SETTINGS, state=state)
tally.check(shown(NAME) == own and shown() == own, "a damaged file stops nothing")
serve.stop()
ending, last = pair("ending", end=8)
kept_file.write_bytes(ending)
serve = Serve("--listen", LISTEN, *SETTINGS, state=state)
tally.check(shown(NAME) == last, "until its end it is used")
time.sleep(9)
code, body = curl("/healthz")
tally.check(code == 60 and "expired" in body, f"curl says that it expired: {code} {body}")
says("expired", f"for clients that ask for {NAME}", "expired at", "systemctl enable --now tailscaled", ok=False)
serve.process.send_signal(signal.SIGHUP)
until(lambda: "tls.expired" in serve.output, what="the log's word of it")
tally.check(shown() == own, "the pinned one is of use")
if net:
    tally.check(f"ladle://{NODE}:{PORT}/?tls=1&pin=" in invite()["link"], "the link goes by address and pin again")
daemon.open()
daemon.certificate = lambda: (200, second)
settled()
tally.check(shown(NAME) == renewed, "tailscaled is back, and so is its certificate")
serve.stop()

# -- beside a certificate of the owner's own, all TCP listeners speak TLS, as without the tailnet's

made = run_ladle("tls", "self-signed", "--json", "--host", "localhost", "--host", NAME, "--cert", folder / "mine.pem", "--key", folder / "mine.key")
mine = json.loads(made.stdout)["sha256"].replace(":", "").lower()
serve = Serve("--listen", LISTEN, *SETTINGS, "--tls-cert", str(folder / "mine.pem"), "--tls-key", str(folder / "mine.key"), "--access-hosts", "localhost")
until(lambda: "tls.issued" in serve.output, what="the certificate")
tally.check(shown() == mine and shown("localhost") == mine and shown(NAME) == renewed, "the files of tls.cert come first, the tailnet's by its name")
tally.check(f"listening on https://127.0.0.1:{serve.port}" in serve.output, "loopback speaks TLS where tls.cert is set")
tally.check(not (pathlib.Path(serve.state) / "demo/self-signed.pem").exists(), "none is made where one is configured")
serve.stop()

# -- a backup has what devices have pinned, and not what can be had again

run_ladle("backup", folder / "backup", "--demo", "--state", state, check=True)
new = scratch()
run_ladle("restore", folder / "backup", "--demo", "--state", new, check=True)
restored = sorted(path.name for path in pathlib.Path(new, "demo").glob("*.pem"))
tally.check(restored == ["self-signed.pem"] and pathlib.Path(new, "demo/self-signed.pem").read_bytes() == own_file.read_bytes(), f"restored: {restored}")
tally.end()
