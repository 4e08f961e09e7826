"""`ladle pair` from the picture on the terminal to a client that works: the QR code is read by another decoder (zbar), on a dark and on
a light terminal; the link pairs a program on another machine of the tailnet, and over TLS one in the LAN. Then the secrets: guessed,
raced, used again, cancelled by Ctrl-C, forgotten by a restart.

Root gets a network of its own with a tailnet and a LAN; else only this host pairs.
"""

import atexit
import base64
import hashlib
import json
import pathlib
import re
import shutil
import ssl
import subprocess
import threading
import time
import urllib.parse

import network

HAS_NETWORK = network.enter()

from harness import LADLE, ROOT, Serve, Tally, on_terminal, options, run_ladle, scratch, until
from network import LAN, NODE
from raw_http import certificate, tcp

chosen = options(guesses=(20_000, 100_000), racers=(40, 200))
tally = Tally()
if not shutil.which("zbarimg"):
    subprocess.run([ROOT / "deploy/packages", "zbar-tools"], check=False, capture_output=True)
HAS_ZBAR = bool(shutil.which("zbarimg"))
if not HAS_ZBAR:
    print("zbar-tools is not there: pictures are not decoded", flush=True)
folder = pathlib.Path(scratch())
net = network.Network() if HAS_NETWORK else None
if net:
    net.join()


# -- pictures

BLOCKS = {" ": (0, 0), "▀": (1, 0), "▄": (0, 1), "█": (1, 1)}


def picture(lines, ink_is_light, name):
    """Half blocks as a camera sees them: 8 dots a module, with the terminal's own background around."""
    rows = []
    for line in lines:
        for half in (0, 1):
            rows.append([BLOCKS[mark][half] for mark in line])
    ink, paper = (255, 0) if ink_is_light else (0, 255)
    width = max(map(len, rows)) + 8
    frame = [[0] * width] * 4 + [[0] * 4 + row + [0] * (width - 4 - len(row)) for row in rows] + [[0] * width] * 4
    dots = b"".join(bytes(ink if dot else paper for dot in row for _ in range(8)) * 8 for row in frame)
    file = folder / f"{name}.pgm"
    file.write_bytes(b"P5\n%d %d\n255\n" % (width * 8, len(frame) * 8) + dots)
    return file


def decoded(file):
    done = subprocess.run(["zbarimg", "-q", "--raw", "-Sdisable", "-Sqrcode.enable", file], capture_output=True, text=True)
    return done.stdout.strip()


def half_blocks(text):
    """The lines of the picture; a code in a pipe begins with its margin of four light modules, two lines of one mark."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text).replace("\r", "")
    return [line for line in plain.split("\n") if len(line) >= 29 and set(line) <= set(BLOCKS)]


def ladle(server, *words, code=0):
    done = run_ladle(*words, "--state", server.state)
    tally.check(done.returncode == code, f"ladle {' '.join(words)} ends with {done.returncode}: {done.stdout}{done.stderr}")
    return done


def invite(server, **wish):
    status, made = server.json("POST", "/v1/pairing/invitations", {"name": "phone", **wish})
    assert status == 201, made
    return made


def redeem(server, secret):
    return server.json("POST", "/v1/pairing", {"secret": secret})


def pictures(server):
    """Every form that the command draws says the link that stands below it."""
    for name, words, ink_is_light in (("dark", [], True), ("named-dark", ["--background", "dark"], True), ("light", ["--background", "light"], False)):
        said = ladle(server, "pair", "--no-wait", *words).stdout
        link = re.search(r"Link  (ladle://\S+)", said)[1]
        lines = half_blocks(said)
        side = max(map(len, lines))
        tally.check(len(lines) == (side + 1) // 2, f"{name}: a square, {side} wide in {len(lines)} lines")
        if HAS_ZBAR:
            tally.check(decoded(picture(lines, ink_is_light, name)) == link, f"{name}: the decoder reads the link {link}")
            turned = picture(lines, not ink_is_light, f"{name}-turned")
            print(f"{name}: {side} columns, {len(lines)} lines; {'also' if decoded(turned) == link else 'not'} read on the other background", flush=True)
    code, shown = on_terminal([str(LADLE), "pair", "--state", server.state], leave_at="Waiting for the device")
    shown = shown.decode()
    link = re.search(r"Link  (ladle://[^\s\r]+)", shown)[1]
    tally.check(code == 130 and "Cancelled: the link and the code are void" in shown, f"Ctrl-C cancels: {code} {shown[-300:]}")
    lines = [line for line in shown.replace("\r", "").split("\n") if line.startswith("\x1b[38;5;16;48;5;231m")]
    tally.check(len(lines) > 15 and all(line.endswith("\x1b[0m") for line in lines), "black on white, whatever the terminal's colours are")
    if HAS_ZBAR:
        tally.check(decoded(picture(half_blocks("\n".join(lines)), False, "coloured")) == link, "the decoder reads the coloured one")
    secret = urllib.parse.parse_qs(link.partition("?")[2])["secret"][0]
    status, problem = redeem(server, secret)
    tally.check(status == 410 and "cancelled on the host" in problem["detail"], f"and its secret is void: {problem}")


# -- clients

def elsewhere(words, **more):
    """A program on the phone, where there is another machine; else here."""
    if net:
        net._enter(net.there)
    try:
        return subprocess.run(words, capture_output=True, text=True, timeout=60, **more)
    finally:
        if net:
            net._enter(net.here)


def scan_and_use(server, name):
    """Picture → link → token → the commands of another machine, with nothing typed but the link."""
    waiting = subprocess.Popen([LADLE, "pair", "--name", name, "--state", server.state], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    said = ""
    while "Code  " not in said:
        line = waiting.stdout.readline()
        assert line, waiting.stderr.read()
        said += line
    link = re.search(r"Link  (ladle://\S+)", said)[1]
    if HAS_ZBAR:
        link = decoded(picture(half_blocks(said), True, name))
    home = folder / name
    home.mkdir()
    environment = {"HOME": str(home), "PATH": "/usr/bin:/bin"}
    begun = time.monotonic()
    done = elsewhere([LADLE, "context", "add", "home", link], env=environment)
    tally.check(done.returncode == 0 and "Paired." in done.stdout, f"{name}: {link} makes a context: {done.stdout}{done.stderr}")
    reply = elsewhere([LADLE, "send", "--wait", "good morning"], env=environment)
    tally.check("You said: good morning" in reply.stdout, f"{name}: a message and its answer: {reply.stdout}{reply.stderr}")
    print(f"{name}: from the link to the agent's answer {time.monotonic() - begun:.2f} s", flush=True)
    refused = elsewhere([LADLE, "token", "list"], env=environment)
    tally.check(refused.returncode == 77 and "admin" in refused.stderr, f"{name}: and no more than reading and sending: {refused.stderr}")
    out, _ = waiting.communicate(timeout=20)
    tally.check(waiting.returncode == 0 and f"{name} is paired, from " in out, f"{name}: the command says who came: {out}")
    kept = json.loads((home / ".config/ladle/contexts.json").read_text())["contexts"][0]
    return link, kept


# -- secrets

def guesses(server, made):
    """On open connections, with the pairing limit at its default for one server and lifted for the other."""
    letters = "23456789BCDFGHJKMNPQRSTVWXZ"
    right = made["secret"].replace("-", "")
    counts, lock = {}, threading.Lock()

    def some(part):
        one, mine = tcp("127.0.0.1", server.port), {}
        file = one.makefile("rb")
        for number in range(part, chosen.guesses, 4):
            digest = hashlib.sha256(b"%d" % number).digest()
            guess = "".join(letters[byte % 27] for byte in digest[:28])
            # A third differ from the right one in a single place.
            if number % 3 == 0:
                place = number // 3 % 28
                guess = right[:place] + letters[(letters.index(right[place]) + 1 + number % 26) % 27] + right[place + 1:]
            body = b'{"secret":"%s"}' % guess.encode()
            one.sendall(b"POST /v1/pairing HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % (server.port, len(body)) + body)
            status, length = int(file.readline().split()[1]), 0
            while (line := file.readline().strip()):
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            said = re.sub(rb'"(requestId|instance)":"[^"]*"', b"", file.read(length))
            mine[status, said] = mine.get((status, said), 0) + 1
        with lock:
            for key, count in mine.items():
                counts[key] = counts.get(key, 0) + count

    threads = [threading.Thread(target=some, args=(part,)) for part in range(4)]
    begun = time.monotonic()
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    print(f"{sum(counts.values())} guesses in {time.monotonic() - begun:.1f} s", flush=True)
    tally.check(sum(counts.values()) == chosen.guesses, f"each guess was answered: {sum(counts.values())}")
    return counts


def secrets():
    lifted = Serve("--limits-pairing-per-minute", "1000000").linked()
    made = invite(lifted)
    counts = guesses(lifted, made)
    tally.check([status for status, _ in counts] == [404], f"one answer for all wrong secrets: {list(counts)[:3]}")
    before = len(lifted.json("GET", "/v1/tokens")[1]["tokens"])
    results = []

    def race(start):
        start.wait()
        results.append(redeem(lifted, made["secret"]))

    start = threading.Barrier(chosen.racers)
    threads = [threading.Thread(target=race, args=(start,)) for _ in range(chosen.racers)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    won = [answer for status, answer in results if status == 201]
    tally.check(len(won) == 1 and len(results) == chosen.racers, f"{chosen.racers} at once, {len(won)} won")
    tally.check({status for status, _ in results} == {201, 410}, f"the others hear that it is over: {set(status for status, _ in results)}")
    tally.check(len(lifted.json("GET", "/v1/tokens")[1]["tokens"]) == before + 1, "and one token was made")
    status, problem = redeem(lifted, made["secret"])
    tally.check(status == 410 and problem["code"] == "PAIRING_OVER" and problem["hint"] == "on the host: ladle pair", f"used again: {problem}")
    waiting = invite(lifted)
    audit = (pathlib.Path(lifted.state) / "demo/audit.log").read_text()
    log = lifted.output
    for place, text in (("audit file", audit), ("log", log), ("database", "")):
        tally.check(made["secret"] not in text and made["secret"].replace("-", "") not in text, f"no secret in the {place}")
    tally.check(f'"who":"invitation:{made["id"]}"' in audit.replace(" ", ""), f"the audit file says which invitation made the token: {audit[-400:]}")
    state = lifted.state
    lifted.stop()
    stored = b"".join(file.read_bytes() for file in pathlib.Path(state).rglob("*") if file.is_file())
    tally.check(waiting["secret"].replace("-", "").encode() not in stored and won[0]["token"].encode() not in stored, "neither secret nor token is on the disk")
    again = Serve(state=state).linked()
    status, problem = redeem(again, waiting["secret"])
    tally.check(status == 404, f"a restart forgets: {problem}")
    bearer = {"Authorization": f"Bearer {won[0]['token']}"}
    tally.check(again.call("GET", "/v1/status", headers=bearer)[0] == 200, "but the token stays")
    again.stop()


def asking():
    """A device without a link asks, and `ladle watch` names the command that lets it in."""
    server = Serve().linked()
    watch = subprocess.Popen([LADLE, "watch", "--state", server.state], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    atexit.register(watch.kill)
    until(lambda: server.status()["events"]["subscribers"] == 1, what="the watcher")
    code = server.json("POST", "/v1/pairing", {"name": "tab\"let", "scopes": ["read"]})[1]["code"]
    line = next(line for line in watch.stdout if "pairing" in line)
    tally.check(f"ladle clients approve {code}" in line, f"ladle watch: {line}")
    watch.kill()
    server.stop()


# -- one after the other

if net:
    server = Serve("--listen", "tailnet:7443", "--access-tailnet-socket", str(folder / "none.sock")).linked()
    link, kept = scan_and_use(server, "tailnet-phone")
    tally.check(link.startswith(f"ladle://{NODE}:7443/?tls=0&secret=") and kept["url"] == f"http://{NODE}:7443", f"the tailnet first: {link}")
    pictures(server)
    server.stop()
    arguments, _ = certificate(str(folder), "localhost")
    server = Serve("--listen", f"{LAN}:7444", *arguments)
    until(lambda: "online" in ladle(server, "status").stdout, what="the link")
    link, kept = scan_and_use(server, "lan-phone")
    pin = hashlib.sha256(ssl.PEM_cert_to_DER_cert((folder / "cert.pem").read_text())).digest()
    wanted = base64.urlsafe_b64encode(pin).decode().rstrip("=")
    tally.check(link.startswith(f"ladle://{LAN}:7444/?tls=1&pin={wanted}&secret="), f"the LAN with its certificate: {link}")
    tally.check(kept["pin"] == pin.hex() and kept["url"] == f"https://{LAN}:7444", f"the context keeps the pin: {kept}")
    made = json.loads(ladle(server, "pair", "--json").stdout)
    wrong = made["link"].replace(wanted, base64.urlsafe_b64encode(bytes(32)).decode().rstrip("="))
    done = elsewhere([LADLE, "context", "add", "other", wrong], env={"HOME": str(folder)})
    tally.check(done.returncode == 77 and "not trusted" in done.stderr, f"another certificate gets no secret: {done.stderr}")
    shown = ladle(server, "pair", "--json").stdout
    tally.check(json.loads(shown)["reach"] == "network", f"the reach is told: {shown}")
    server.stop()
else:
    print("no network of its own: pairing from this host alone", flush=True)

server = Serve().linked()
said = ladle(server, "pair", "--no-wait")
tally.check("→ ladle serve --listen 127.0.0.1:18780 --listen tailnet" in said.stderr and not half_blocks(said.stdout), f"loopback alone: {said.stderr}")
for scope in ("admin", "control", "identity", "approvals"):
    made = json.loads(ladle(server, "pair", "--json", "--scopes", f"read,{scope}").stdout)
    tally.check(made["scopes"] == ["read", scope], f"named, and so granted: {made}")
tally.check(json.loads(ladle(server, "pair", "--json").stdout)["scopes"] == ["read", "send"], "reading and sending unless more is named")
ladle(server, "pair", "--scopes", "everything", code=64)
server.stop()
secrets()
asking()
tally.end()
