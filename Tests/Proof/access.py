"""Who gets in and what they may do, against the built program: other users of this host, forwarding fields, malformed
credentials, the scope of every route, the end of tokens, secrets, replay, tickets.

What needs another user's connection runs where this runs as root; elsewhere a forwarding field has the same effect.
"""

import concurrent.futures
import json
import os
import pathlib
import random
import re
import signal
import socket
import statistics
import subprocess
import threading
import time

from harness import LADLE, ROOT, DemoGateway, Serve, Tally, options, scratch, until

chosen = options(rounds=(60, 400), races=(40, 400))
tally = Tally()
gateway = DemoGateway("--token", "gateway-secret-5d1f0c")
secrets = {"the gateway's token": "gateway-secret-5d1f0c"}
state = scratch()
token_file = pathlib.Path(state) / "gateway-token"
token_file.write_text("gateway-secret-5d1f0c\n")
token_file.chmod(0o600)
serve = Serve(
    "--token-file", str(token_file), "--limits-auth-per-minute", "1000000", "--limits-pairing-per-minute", "100000",
    "--limits-sends-burst", "1000", state=state, gateway=gateway.url).linked()
secrets["the first admin token"] = serve.token
IS_ROOT = os.geteuid() == 0
STRANGER = 12345
FORWARDED = {"X-Forwarded-For": "192.0.2.1"}


class Answer:
    def __init__(self, raw):
        head, _, self.body = raw.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        self.status = int(lines[0].split()[1]) if len(lines[0].split()) > 1 else 0
        self.fields = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines[1:])}

    @property
    def json(self):
        try:
            return json.loads(self.body)
        except ValueError:
            return {}


def connect(uid=None):
    """A connection; with `uid` as if that user had made it: a socket's uid is its inode's."""
    one = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    one.settimeout(10)
    if uid is not None:
        os.fchown(one.fileno(), uid, uid)
    one.connect(("127.0.0.1", serve.port))
    return one


def request(method, path, fields=None, body=None, announce=None):
    text = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{serve.port}\r\n"
    for name, value in (fields or {}).items():
        for one in value if isinstance(value, list) else [value]:
            text += f"{name}: {one}\r\n"
    if body is not None or announce:
        text += f"Content-Length: {announce or len(body)}\r\nContent-Type: application/json\r\n"
    return text.encode("latin-1") + b"\r\n" + (body or b"")


def read_answer(one):
    """One answer with a Content-Length, or up to the end."""
    raw = b""
    while True:
        head, found, rest = raw.partition(b"\r\n\r\n")
        if found:
            length = re.search(rb"\r\ncontent-length: (\d+)", head.lower())
            if length and len(rest) >= int(length[1]) or head.split(b" ")[1:2] == [b"204"]:
                return Answer(raw)
        piece = one.recv(65536)
        if not piece:
            return Answer(raw)
        raw += piece


def ask(method, path, fields=None, body=None, uid=None, announce=None):
    one = connect(uid)
    try:
        one.sendall(request(method, path, fields, body, announce))
        return read_answer(one)
    finally:
        one.close()


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


def make_token(*scopes, name="proof", **more):
    status, made = serve.json("POST", "/v1/tokens", {"name": name, "scopes": list(scopes), **more})
    assert status == 201, made
    secrets[f"token {name} {scopes} {made['id']}"] = made["token"]
    return made


def as_user(uid, work):
    """Runs `work` in a child that has really become that user; what it returns, or its exception's text."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(uid)
            os.setuid(uid)
            result = work()
        except BaseException as problem:
            result = f"{type(problem).__name__}: {problem}"
        os.write(writer, json.dumps(result).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as file:
        result = json.loads(file.read())
    os.waitpid(child, 0)
    return result


# -- other users of this host

def strangers():
    def plain():
        answer = ask("GET", "/v1/status")
        return answer.status, answer.json.get("code"), answer.fields.get("www-authenticate"), answer.json.get("hint")

    for uid in (65534, STRANGER):
        status, code, challenge, hint = as_user(uid, plain)
        tally.check((status, code) == (401, "NOT_PAIRED"), f"uid {uid} on loopback got {status} {code}")
        tally.check(challenge == 'Bearer realm="ladle"', f"uid {uid} was challenged with {challenge}")
        tally.check(hint and "ladle token create" in hint and "/v1/pairing" in hint, f"no way in is told: {hint}")
    tally.check(ask("GET", "/healthz", uid=STRANGER).status == 200, "/healthz is not open to all")
    tally.check(ask("GET", "/v1/status").status == 200, "the owner needs a token on loopback")
    told = as_user(STRANGER, lambda: socket.socket(socket.AF_UNIX).connect(f"{state}/ladle.sock"))
    tally.check(str(told).startswith("PermissionError"), f"another user at the control socket: {told}")
    owner = subprocess.run(
        ["curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}", "--unix-socket", f"{state}/ladle.sock", "http://x/v1/tokens"],
        capture_output=True, text=True)
    tally.check(owner.stdout == "200", f"the owner at the control socket: {owner.stdout}{owner.stderr}")

    # The race: by the time the server looks, the caller has sent and gone, and the kernel shows uid 0 for what is left.
    body = b'{"name":"race","scopes":["admin"]}'
    sends = request("POST", "/v1/tokens", {}, body)

    def races(count, end):
        for _ in range(count):
            one = connect()
            one.sendall(sends)
            end(one)
            one.close()

    def reset(one):
        one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")

    ends = {"close": lambda one: None, "reset": reset, "half": lambda one: one.shutdown(socket.SHUT_WR)}
    for name, end in ends.items():
        as_user(STRANGER, lambda: races(chosen.races, end))
        # Stopped, the server certainly looks too late.
        serve.process.send_signal(signal.SIGSTOP)
        as_user(STRANGER, lambda: races(20, end))
        serve.process.send_signal(signal.SIGCONT)
        made = [one for one in serve.json("GET", "/v1/tokens")[1]["tokens"] if one["name"] == "race"]
        tally.check(not made, f"{len(made)} of {chosen.races + 20} tokens were made for another user who went by {name}")
    # The same by the owner, whose connections stand: the request itself is good.
    tally.check(ask("POST", "/v1/tokens", {}, body.replace(b"race", b"good")).status == 201, "the race's request is no good")
    print(f"access: {3 * (chosen.races + 20)} requests of another user who had gone, none was served")


# -- forwarding fields

def forwarded():
    names = [
        "Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Port", "x-forwarded-anything",
        "X-Real-IP", "Via", "VIA", "Tailscale-User-Login", "Tailscale-User-Name", "tailscale-user-profile-pic",
        "Tailscale-Headers-Info",
    ]
    for name in names:
        for value in ("127.0.0.1", ""):
            answer = ask("GET", "/v1/status", {name: value})
            tally.check(answer.status == 401, f"{name}: {value!r} on loopback got {answer.status}")
        # On a connection that has been the owner's up to now.
        one = connect()
        one.sendall(request("GET", "/v1/status"))
        before = read_answer(one).status
        one.sendall(request("GET", "/v1/status", {name: "1.2.3.4"}))
        after = read_answer(one).status
        one.close()
        tally.check((before, after) == (200, 401), f"{name} on a known connection: {before}, {after}")
    tally.check(
        ask("GET", "/v1/status", {"Tailscale-Funnel-Request": "?1", **bearer(serve.token)}).status == 403,
        "a request through Funnel was served")
    over = subprocess.run(
        ["curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}", "-H", "Via: x", "--unix-socket", f"{state}/ladle.sock",
         "http://x/v1/status"], capture_output=True, text=True)
    tally.check(over.stdout == "401", f"Via at the control socket: {over.stdout}")
    import httpx
    with httpx.Client(http1=False, http2=True, base_url=serve.url) as client:
        tally.check(client.get("/v1/status").status_code == 200, "the owner over HTTP/2")
        for name in names:
            status = client.get("/v1/status", headers={name.lower(): "127.0.0.1"}).status_code
            tally.check(status == 401, f"{name} over HTTP/2 got {status}")


# -- credentials that do not count

def malformed():
    good = make_token("read", name="good")["token"]
    revoked = make_token("read", name="revoked")
    serve.call("DELETE", f"/v1/tokens/{revoked['id']}")
    expired = make_token("read", name="expired", expiresInSeconds=1)
    time.sleep(1.1)
    kinds = {
        "unknown": f"Bearer ldl_{'0' * 49}", "revoked": f"Bearer {revoked['token']}", "expired": f"Bearer {expired['token']}",
        "bad check": f"Bearer {good[:-1]}{'0' if good[-1] != '0' else '1'}", "cut": f"Bearer {good[:-3]}",
        "long": f"Bearer {good}x", "very long": "Bearer " + "a" * 8000, "its id": f"Bearer {revoked['id']}",
        "its name": "Bearer good", "empty": "", "blank": "Bearer", "no token": "Bearer ", "basic": "Basic Z29vZDpnb29k",
        "scheme": f"Token {good}", "bare": good, "two": f"Bearer {good}, Bearer {good}", "inner blank": f"Bearer {good[:9]} {good[9:]}",
        "quoted": f'Bearer "{good}"', "tab": f"Bearer\t{good}", "not ASCII": f"Bearer {good}\u00e9", "upper": f"Bearer {good.upper()}",
        "other prefix": f"Bearer gho_{good[4:]}", "two fields": [f"Bearer {good}", f"Bearer {good}"], "digest": 'Digest username="good"',
    }
    texts, challenges = set(), set()
    times = {kind: [] for kind in kinds}
    for kind, value in kinds.items():
        answer = ask("GET", "/v1/status", {"Authorization": value})
        tally.check(answer.status == 401, f"a credential of kind {kind} got {answer.status}")
        told = answer.json
        told.pop("requestId", None)
        texts.add(json.dumps(told))
        challenges.add(answer.fields.get("www-authenticate"))
        tally.check(answer.fields.get("connection") == "close", f"the connection goes on after {kind}")
    tally.check(len(texts) == 1, f"the texts differ: {texts}")
    tally.check(challenges == {'Bearer realm="ladle", error="invalid_token"'}, f"the challenges differ: {challenges}")
    tally.check(ask("GET", "/v1/status", bearer(good)).status == 200, "the good one")
    wrong_ticket = ask("GET", "/v1/events?ticket=ldt_wrong", {})
    tally.check(wrong_ticket.status == 401 and wrong_ticket.json["detail"] in next(iter(texts)), "a wrong ticket is told otherwise")
    # Time, taken by turns in ever another order, so that whatever else this machine does falls on all alike.
    order = [(kind, value) for kind, value in kinds.items() if kind != "very long"]
    for _ in range(chosen.rounds):
        random.shuffle(order)
        for kind, value in order:
            one = connect()
            bytes_ = request("GET", "/v1/status", {"Authorization": value})
            start = time.perf_counter()
            one.sendall(bytes_)
            one.recv(65536)
            times[kind].append(time.perf_counter() - start)
            one.close()
    medians = {kind: statistics.median(list_) for kind, list_ in times.items() if list_}
    fast, slow = min(medians, key=medians.get), max(medians, key=medians.get)
    ratio = medians[slow] / medians[fast]
    print(
        f"access: {len(kinds)} kinds of wrong credentials, one text; medians of {chosen.rounds}: {medians[fast] * 1e6:.0f} us "
        f"({fast}) to {medians[slow] * 1e6:.0f} us ({slow}), ratio {ratio:.2f}")
    tally.check(ratio < 1.6, f"the time tells {slow} from {fast}: {ratio:.2f}")


# -- scopes, route by route

OPEN = {("GET", "/healthz"), ("POST", "/v1/pairing"), ("GET", "/v1/pairing/{id}")}
FAMILIES = [  # the contract: what writes, by the beginning of its path
    ("/v1/tokens", "admin"), ("/v1/pairing", "admin"), ("/v1/tickets", "read"), ("/v1/messages", "send"), ("/v1/outbox", "send"),
    ("/v1/runs", "send"), ("/v1/sessions", "send"), ("/v1/identity", "identity"), ("/v1/profile", "identity"),
    ("/v1/approvals", "control"), ("/v1/debug", "admin"), ("/v1/nodes", "nodes"),
]
ADMIN_READS = ("/v1/tokens", "/v1/pairing", "/v1/debug")


def routes():
    """Every route of the program's own table; what it must ask for is said above."""
    text = (ROOT / "Sources/Bridge/Routing/RouteTable.swift").read_text()
    found = re.findall(r'Route\(\s*"(\w+)",\s*\.(\w+),\s*"([^"]+)"', text)
    assert len(found) >= 35 and len(found) == len(re.findall(r"\bRoute\(", text))
    return [(operation, method.upper(), path) for operation, method, path in found]


def scope_of(method, path):
    if (method, path) in OPEN:
        return None
    if method == "GET":
        return "admin" if path.startswith(ADMIN_READS) else "read"
    return next((scope for start, scope in FAMILIES if path.startswith(start)), "unknown")


def scopes():
    every = ["read", "send", "identity", "control", "nodes"]
    lacking = {one: make_token(*[other for other in every if other != one])["token"] for one in every}
    lacking["admin"] = make_token(*every)["token"]
    only = {one: make_token(one)["token"] for one in every}
    only["admin"] = make_token("admin")["token"]
    walked = 0
    for operation, method, path in routes():
        scope = scope_of(method, path)
        tally.check(scope != "unknown", f"{operation}: say in this file which scope it needs")
        real = re.sub(r"\{\w+\}", "00000000-0000-7000-8000-000000000000", path)
        # A body is announced and never sent: what answers now has not read it.
        announce = 1000 if method in ("POST", "PUT", "PATCH") else None
        walked += 1
        if scope is None:
            answer = ask(method, real, FORWARDED, body=b"{}" if announce else None)
            tally.check(answer.status not in (401, 403), f"{operation} is open, and answers {answer.status}")
            continue
        for who, fields, uid in [("nobody", FORWARDED, None)] + ([("another user", {}, STRANGER)] if IS_ROOT else []):
            answer = ask(method, real, fields, uid=uid, announce=announce)
            told = answer.json
            tally.check(
                answer.status == 401 and told.get("code") == "NOT_PAIRED" and "hint" in told
                and answer.fields.get("www-authenticate", "").startswith("Bearer"),
                f"{operation} by {who}: {answer.status} {told.get('code')}")
        answer = ask(method, real, bearer(lacking[scope]), announce=announce)
        told = answer.json
        tally.check(
            (answer.status, told.get("code"), told.get("requiredScopes")) == (403, "MISSING_SCOPE", [scope]),
            f"{operation} without {scope}: {answer.status} {told}")
        tally.check(
            f'error="insufficient_scope", scope="{scope}"' in answer.fields.get("www-authenticate", ""),
            f"{operation} without {scope}: {answer.fields.get('www-authenticate')}")
        answer = ask(method, real + ("?poll=0" if operation == "streamEvents" else ""), bearer(only[scope]), body=b"{}" if announce else None)
        tally.check(
            answer.status != 401 and answer.json.get("code") != "MISSING_SCOPE" if isinstance(answer.json, dict) else True,
            f"{operation} with {scope}: {answer.status} {answer.json}")
    # Bodies that do come are still refused before they are looked at.
    answer = ask("POST", "/v1/messages", bearer(only["read"]), body=b"not json at all")
    tally.check(answer.status == 403, f"a bad body without scope: {answer.status}")
    tally.check(ask("GET", "/v1/no-such-place", FORWARDED).status == 401, "nobody learns which routes there are")
    print(f"access: {walked} routes: 401 without a credential, 403 without the scope, both before the body")


# -- the end of tokens

def drain(one, seconds=5):
    """What still comes until the end, and how long that took; None when it did not end."""
    start, raw = time.monotonic(), b""
    one.settimeout(seconds)
    try:
        while piece := one.recv(65536):
            raw += piece
    except TimeoutError:
        return raw, None
    except OSError:
        pass
    return raw, time.monotonic() - start


def open_streams(token):
    """One of each kind that stays open, answered as far as it is before its end."""
    ticket = ask("POST", "/v1/tickets", bearer(token), body=b'{"path":"/v1/events"}').json["ticket"]
    secrets["a spent ticket"] = ticket
    sse = {"Accept": "text/event-stream"}
    later = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3600))
    kinds = {
        "events": request("GET", "/v1/events", {**bearer(token), **sse}),
        "lines": request("GET", "/v1/events", {**bearer(token), "Accept": "application/x-ndjson"}),
        "poll": request("GET", "/v1/events?poll=60&types=node", bearer(token)),
        "ticket": request("GET", f"/v1/events?ticket={ticket}", {**FORWARDED, **sse}),
        "message's events": request("POST", "/v1/messages", {**bearer(token), **sse}, json.dumps(
            {"text": "later", "notBefore": later, "session": "agent:main:later"}).encode()),
    }
    opened = {}
    for kind, bytes_ in kinds.items():
        opened[kind] = connect()
        opened[kind].sendall(bytes_)
        if kind in ("events", "lines", "ticket", "message's events"):
            tally.check(opened[kind].recv(65536).startswith(b"HTTP/1.1 200"), f"the stream {kind} was not opened")
    ask("GET", "/v1/status")  # whoever came before this was seen before it
    return opened


def end_of_tokens():
    def ended(what, opened, reason, since=None):
        for kind, one in opened.items():
            raw, seconds = drain(one)
            tally.check(seconds is not None and seconds < 1, f"{kind} went on after the token was {what}: {seconds}")
            if kind in ("events", "ticket"):
                tally.check(reason in raw, f"{kind} is not told {reason}: {raw[-200:]}")
            if kind == "poll":
                tally.check(raw.startswith(b"HTTP/1.1 401") or not raw, f"{kind} after the end: {raw[:80]}")
            one.close()

    made = make_token("read", "send", name="to revoke")
    spared = make_token("read", name="spared")
    other = connect()
    other.sendall(request("GET", "/v1/events", bearer(spared["token"])))
    other.recv(65536)
    opened = open_streams(made["token"])
    tally.check(serve.call("DELETE", f"/v1/tokens/{made['id']}")[0] == 204, "the token was not revoked")
    ended("revoked", opened, b"token_revoked")
    tally.check(ask("GET", "/v1/status", bearer(made["token"])).status == 401, "a revoked token is good")
    tally.check(drain(other, 0.3)[1] is None, "another token's stream ended too")

    made = make_token("read", "send", name="to rotate")
    opened = open_streams(made["token"])
    status, fresh = serve.json("POST", f"/v1/tokens/{made['id']}/rotate", {})
    secrets["a rotated token"] = fresh["token"]
    ended("rotated", opened, b"token_rotated")
    tally.check(status == 200 and fresh["id"] == made["id"] and fresh["token"] != made["token"], f"rotated: {status}")
    tally.check(ask("GET", "/v1/status", bearer(made["token"])).status == 401, "the old secret of a rotated token is good")
    tally.check(ask("GET", "/v1/status", bearer(fresh["token"])).status == 200, "the new secret of a rotated token")

    start = time.monotonic()
    made = make_token("read", "send", name="to expire", expiresInSeconds=2)
    opened = open_streams(made["token"])
    time.sleep(max(0, start + 1.5 - time.monotonic()))
    tally.check(ask("GET", "/v1/status", bearer(made["token"])).status == 200, "a token ended before its time")
    time.sleep(max(0, start + 2 - time.monotonic()))
    ended("expired", opened, b"token_expired")
    tally.check(ask("GET", "/v1/status", bearer(made["token"])).status == 401, "an expired token is good")

    # By the command line, which prints no secret it was not asked for.
    def ladle(*arguments):
        return subprocess.run([LADLE, *arguments, "--state", state], capture_output=True, text=True)

    made = json.loads(ladle("token", "create", "--name", "cli", "--scopes", "read", "--json").stdout)
    secrets["a token of the command line"] = made["token"]
    tally.check(ask("GET", "/v1/status", bearer(made["token"])).status == 200, "a token made by the command line")
    listed = ladle("token", "list", "--json").stdout
    tally.check(made["id"] in listed and made["token"] not in listed, "token list")
    fresh = json.loads(ladle("token", "rotate", made["id"], "--json").stdout)
    secrets["a token rotated by the command line"] = fresh["token"]
    tally.check(ask("GET", "/v1/status", bearer(made["token"])).status == 401, "rotated by the command line: the old one")
    tally.check(ask("GET", "/v1/status", bearer(fresh["token"])).status == 200, "rotated by the command line: the new one")
    tally.check(ladle("token", "revoke", made["id"]).returncode == 0, "token revoke")
    tally.check(ask("GET", "/v1/status", bearer(fresh["token"])).status == 401, "revoked by the command line")
    # A token typed where its id belongs is not written down.
    ladle("token", "revoke", fresh["token"])


# -- secret files

def secret_files():
    def refused(what, file, change, option="--token-file", more=()):
        change(file)
        run = subprocess.run(
            [LADLE, "serve", "--state", scratch(), "--listen", "127.0.0.1:0", "--gateway", gateway.url, option, str(file), *more],
            capture_output=True, text=True, timeout=20)
        tally.check(
            run.returncode in (77, 78) and str(file) in run.stderr + run.stdout,
            f"{what}: exit {run.returncode}: {run.stderr[-300:]}")
        return run.stderr + run.stdout

    folder = pathlib.Path(scratch())

    def fresh(name="secret"):
        file = folder / name
        file.unlink(missing_ok=True)
        file.write_text("gateway-secret-5d1f0c\n")
        file.chmod(0o600)
        return file

    def expose(file, mode):
        # The group root may read root's: systemd's credentials look so.
        if IS_ROOT:
            os.chown(file, 0, STRANGER)
        file.chmod(mode)

    for mode in (0o644, 0o640, 0o604, 0o620, 0o602):
        told = refused(f"a token file of mode {mode:o}", fresh(), lambda file: expose(file, mode))
        tally.check("chmod 600" in told, f"mode {mode:o} without its remedy: {told}")
        tally.check("gateway-secret" not in told, "the secret is printed")
    if IS_ROOT:
        refused("a token file of another user", fresh(), lambda file: os.chown(file, STRANGER, STRANGER))
    refused("a folder in place of a token file", folder, lambda file: None)
    refused("no token file", folder / "none", lambda file: None)
    run = subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout",
         str(folder / "key.pem"), "-out", str(folder / "cert.pem"), "-days", "2", "-subj", "/CN=localhost"], capture_output=True)
    if run.returncode == 0:
        refused(
            "a TLS key that others can read", folder / "key.pem", lambda file: file.chmod(0o644), "--tls-key",
            ("--tls-cert", str(folder / "cert.pem"), "--token-file", str(fresh())))
    # What Ladle makes itself is the owner's alone.
    tally.check(os.stat(state).st_mode & 0o077 == 0, f"the state directory has mode {os.stat(state).st_mode & 0o777:o}")
    for place, _, names in os.walk(state):
        for name in names:
            file = os.path.join(place, name)
            mode = os.lstat(file).st_mode & 0o777
            tally.check(mode & 0o077 == 0, f"{file} has mode {mode:o}")


# -- replay, and what a token for one session sees of the others

def replay():
    mine, theirs = "agent:main:mine", "agent:main:theirs"
    start = serve.json("GET", "/v1/events?poll=0")[1]["cursor"]
    ids = {}
    for session, marker in ((mine, "echo marker-of-mine"), (theirs, "echo marker-of-theirs"), (mine, "echo again marker-of-mine")):
        status, entry = serve.json("POST", "/v1/messages?wait=20", {"text": marker, "session": session})
        ids[session] = entry["entry"]["id"]
    until(lambda: not serve.json("GET", "/v1/status")[1]["runs"]["active"], what="the end of the runs")
    _, all_ = serve.json("GET", f"/v1/events?poll=0&since={start}")
    run = next(event["run"]["id"] for event in all_["events"] if event["type"] == "run.started" and event.get("session") == theirs)
    bound = make_token("read", "send", "identity", "control", "nodes", name="bound", sessions=[mine])["token"]
    polled = ask("GET", f"/v1/events?poll=0&since={start}", bearer(bound))
    tally.check(b"marker-of-theirs" in json.dumps(all_).encode(), "the owner sees the other session's words")
    tally.check(b"marker-of-mine" in polled.body and b"theirs" not in polled.body, "a poll brings the other session's events")
    one = connect()
    one.sendall(request("GET", "/v1/events?timeout=2&snapshot=1", {**bearer(bound), "Last-Event-ID": start, "Accept": "text/event-stream"}))
    raw, _ = drain(one, 10)
    tally.check(b"marker-of-mine" in raw and b"theirs" not in raw, "a replay brings the other session's events")
    one = connect()
    one.sendall(request("GET", f"/v1/events?timeout=2&since={start}&session={theirs}", bearer(bound)))
    raw, _ = drain(one, 10)
    tally.check(b"marker" not in raw, "the other session's events come when asked for")
    for operation, method, path in routes():
        if method != "GET" or operation in ("streamEvents", "pollPairing"):
            continue
        for variant in (path, path + f"?session={theirs}"):
            for id_ in (ids[theirs], run) if "{id}" in path else (None,):
                answer = ask("GET", variant.replace("{id}", id_ or ""), bearer(bound))
                tally.check(
                    b"marker-of-theirs" not in answer.body and (answer.status >= 400 or ids[theirs].encode() not in answer.body),
                    f"{operation} shows the other session: {answer.status} {answer.body[:300]}")
    writes = [
        ("POST", "/v1/messages", {"text": "x", "session": theirs}), ("DELETE", f"/v1/outbox/{ids[theirs]}", None),
        ("POST", f"/v1/outbox/{ids[theirs]}/retry", {}), ("POST", f"/v1/runs/{run}/abort", {}), ("POST", f"/v1/sessions/{theirs}/abort", {}),
    ]
    for method, path, body in writes:
        answer = ask(method, path, bearer(bound), json.dumps(body).encode() if body is not None else None)
        tally.check(answer.status in (403, 404), f"{method} {path} for another session: {answer.status} {answer.body[:200]}")


# -- tickets

def tickets():
    reader, sender = make_token("read", name="buyer")["token"], make_token("send", name="sender")["token"]

    def buy(token=reader, path="/v1/events"):
        answer = ask("POST", "/v1/tickets", bearer(token), json.dumps({"path": path}).encode())
        if answer.status == 201:
            secrets[f"ticket {len(secrets)}"] = answer.json["ticket"]
        return answer

    def use(ticket, path="/v1/events", method="GET", more="&poll=0"):
        return ask(method, f"{path}?ticket={ticket}{more}", FORWARDED).status

    one = buy().json["ticket"]
    tally.check((use(one), use(one)) == (200, 401), "a ticket is good once")
    for path, method, more in (("/v1/status", "GET", ""), ("/v1/events", "POST", ""), ("/v1/messages", "POST", ""), ("/v1/events/", "GET", "")):
        one = buy().json["ticket"]
        first, then = use(one, path, method, more), use(one)
        tally.check(first in (401, 404) and then == 401, f"a ticket for events at {method} {path}: {first}, then {then}")
    tally.check(buy(sender).status == 403, "a caller that may not read buys a ticket")
    for path in ("/v1/tokens", "/v1/messages/../tokens", "https://x/v1/events", "/v1/pairing", "/v1/events?since=x", "", "/v1/outbox/x/retry"):
        tally.check(buy(path=path).status == 422, f"a ticket for {path!r}")
    one = buy().json["ticket"]
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        results = list(pool.map(lambda _: use(one), range(16)))
    tally.check(results.count(200) == 1 and results.count(401) == 15, f"sixteen at once with one ticket: {results}")
    made = make_token("read", name="gone buyer")
    one = buy(made["token"]).json["ticket"]
    serve.call("DELETE", f"/v1/tokens/{made['id']}")
    tally.check(use(one) == 401, "a ticket outlives its buyer's token")
    one = buy().json["ticket"]
    tally.check(ask("GET", "/v1/events?poll=0", bearer(one)).status == 401, "a ticket is taken as a token")
    if chosen.long:
        late = buy().json["ticket"]
        time.sleep(60.5)
        tally.check(use(late) == 401, "a ticket is good after its minute")


# -- where secrets must not be

def search_secrets():
    process = f"/proc/{serve.process.pid}"
    places = {
        "the output": serve.output.encode(), "the command line": pathlib.Path(f"{process}/cmdline").read_bytes(),
        "the environment": pathlib.Path(f"{process}/environ").read_bytes(), "the title": pathlib.Path(f"{process}/comm").read_bytes(),
    }
    for path in ("/v1/status", "/v1/tokens", "/v1/pairing", "/metrics", "/v1/debug/frames", "/v1/debug/log"):
        places[path] = serve.call("GET", path)[2]
    serve.stop()
    places["the output"] = serve.output.encode()
    for place, _, names in os.walk(state):
        for name in names:
            file = os.path.join(place, name)
            if name not in ("gateway-token", "admin-token") and not file.endswith(".sock"):
                places[file] = pathlib.Path(file).read_bytes()
    for what, secret in secrets.items():
        for place, bytes_ in places.items():
            tally.check(secret.encode() not in bytes_, f"{what} stands in {place}")
    audit = pathlib.Path(state, "audit.log").read_bytes()
    tally.check(b"marker-of" not in audit, "the audit file holds texts")
    tally.check(all(json.loads(line) for line in audit.splitlines()), "the audit file holds JSON lines")
    print(f"access: {len(secrets)} secrets, searched in {len(places)} places")


if IS_ROOT:
    strangers()
else:
    print("access: not root: nothing was tried as another user")
forwarded()
malformed()
scopes()
end_of_tokens()
secret_files()
replay()
tickets()
search_secrets()
tally.end()
