"""Who gets in, against the built program: other users of this host, forwarding fields, malformed credentials, the end of
tokens over HTTP/1 and HTTP/2, secrets and where they must not be, replay, tickets, floods of applications for pairing.

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
import subprocess
import time

from harness import DemoGateway, Serve, Stopwatch, Tally, later, options, routes, run_ladle, scratch, until
from raw_http import H2, ask as ask_over, certificate, read_answer, request as request_to, tcp

chosen = options(rounds=(60, 400), races=(40, 400), rotations=(40, 300), applications=(1500, 20000))
tally = Tally()
gateway = DemoGateway("--token", "gateway-secret-5d1f0c")
secrets = {"the gateway's token": "gateway-secret-5d1f0c"}
state = scratch()
token_file = pathlib.Path(state) / "gateway-token"
token_file.write_text("gateway-secret-5d1f0c\n")
token_file.chmod(0o600)
serve = Serve(
    "--token-file", str(token_file), "--limits-auth-per-minute", "1000000", "--limits-pairing-per-minute", "100000",
    "--limits-sends-burst", "1000", "--limits-all-sends-burst", "1000", "--debug-frames", state=state, gateway=gateway.url).linked()
secrets["the first admin token"] = serve.token
IS_ROOT = os.geteuid() == 0
STRANGER = 12345
FORWARDED = {"X-Forwarded-For": "192.0.2.1"}


def connect(uid=None):
    return tcp("127.0.0.1", serve.port, uid)


def request(method, path, fields=(), body=None, announce=None):
    return request_to(method, path, f"127.0.0.1:{serve.port}", fields, body, announce)


def ask(method, path, fields=(), body=None, uid=None, announce=None):
    return ask_over(connect(uid), method, path, f"127.0.0.1:{serve.port}", fields or (), body, announce)


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
    # The owner may shut its sending side too, and reads the answer.
    half = connect()
    half.sendall(request("GET", "/v1/tokens"))
    half.shutdown(socket.SHUT_WR)
    tally.check(read_answer(half).status == 200, "the owner who has shut its sending side is not known")
    half.close()
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
    # Time, taken by turns in ever another order. Other programs only ever add to it: the fast tenth of each kind is Ladle's own time.
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
    own = {kind: sorted(list_)[len(list_) // 10] for kind, list_ in times.items() if list_}
    fast, slow = min(own, key=own.get), max(own, key=own.get)
    ratio = own[slow] / own[fast]
    print(
        f"access: {len(kinds)} kinds of wrong credentials, one text; the fast tenth of {chosen.rounds}: {own[fast] * 1e6:.0f} us "
        f"({fast}) to {own[slow] * 1e6:.0f} us ({slow}), ratio {ratio:.2f}")
    tally.check(ratio < 1.6, f"the time tells {slow} from {fast}: {ratio:.2f}")


# -- the end of tokens

def drain(one, seconds=5):
    """What still comes until the end, and how long that took; None when it did not end."""
    watch, raw = Stopwatch(serve), b""
    one.settimeout(seconds)
    try:
        while piece := one.recv(65536):
            raw += piece
    except TimeoutError:
        return raw, None
    except OSError:
        pass
    return raw, watch.seconds


def open_streams(token):
    """One of each kind that stays open, answered as far as it is before its end."""
    ticket = ask("POST", "/v1/tickets", bearer(token), body=b'{"path":"/v1/events"}').json["ticket"]
    secrets["a spent ticket"] = ticket
    sse = {"Accept": "text/event-stream"}
    at = later(3600)
    kinds = {
        "events": request("GET", "/v1/events", {**bearer(token), **sse}),
        "lines": request("GET", "/v1/events", {**bearer(token), "Accept": "application/x-ndjson"}),
        "poll": request("GET", "/v1/events?poll=60&types=reset", bearer(token)),
        "ticket": request("GET", f"/v1/events?ticket={ticket}", {**FORWARDED, **sse}),
        "message's events": request("POST", "/v1/messages", {**bearer(token), **sse}, json.dumps(
            {"text": "later", "notBefore": at, "session": "agent:main:later"}).encode()),
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
        return run_ladle(*arguments, "--state", state)

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


# -- the same over HTTP/2, where the streams of many tokens share a connection

def end_of_tokens_h2():
    for what in ("revoked", "rotated", "expired"):
        mine = make_token("read", name=f"h2 {what}", **({"expiresInSeconds": 2} if what == "expired" else {}))
        theirs = make_token("read", name=f"h2 beside {what}")
        streams = H2(connect())

        def get(path, token, accept="text/event-stream"):
            return streams.request("GET", path, f"127.0.0.1:{serve.port}", {**bearer(token["token"]), "accept": accept})
        events, lines = get("/v1/events", mine), get("/v1/events", mine, "application/x-ndjson")
        poll, beside = get("/v1/events?poll=60&types=reset", mine, "*/*"), get("/v1/events", theirs)
        opened = {events, lines, beside}
        tally.check(streams.until(lambda: opened <= set(streams.fields)), f"streams over HTTP/2: {streams.fields}")
        ask("GET", "/v1/status")
        if what == "revoked":
            serve.call("DELETE", f"/v1/tokens/{mine['id']}")
        elif what == "rotated":
            secrets["a token rotated beside HTTP/2"] = serve.json("POST", f"/v1/tokens/{mine['id']}/rotate", {})[1]["token"]
        watch = Stopwatch(serve)
        ended = streams.until(lambda: {events, lines, poll} <= streams.over, seconds=8)
        took = watch.seconds
        tally.check(ended and took < (3 if what == "expired" else 1), f"over HTTP/2, {what}: {streams.over} over after {took:.1f} s")
        tally.check(f"token_{what}".encode() in streams.bodies[events], f"over HTTP/2, {what}: {streams.bodies[events][-200:]}")
        tally.check(streams.status(poll) in (401, 0), f"over HTTP/2, {what}: the poll got {streams.status(poll)}")
        tally.check(beside not in streams.over, f"over HTTP/2, {what}: another token's stream of the connection ended too")
        streams.socket.close()


# -- revoked while it is rotated

def rotate_against_revoke():
    answers = {}
    for _ in range(chosen.rotations):
        made = make_token("read", name="contested")
        pair = connect(), connect()
        pair[0].sendall(request("POST", f"/v1/tokens/{made['id']}/rotate", {}, b"{}"))
        pair[1].sendall(request("DELETE", f"/v1/tokens/{made['id']}"))
        rotated, revoked = (read_answer(one) for one in pair)
        for one in pair:
            one.close()
        told = (rotated.status, revoked.status)
        answers[told] = answers.get(told, 0) + 1
        tally.check(revoked.status == 204, f"a token that is being rotated cannot be revoked: {told}")
        for token in (made["token"], rotated.json.get("token")):
            if token:
                secrets[f"a contested token {len(secrets)}"] = token
                tally.check(ask("GET", "/v1/status", bearer(token)).status == 401, f"a revoked token is good: {told}")
    listed = [one for one in serve.json("GET", "/v1/tokens")[1]["tokens"] if one["name"] == "contested"]
    tally.check(not listed, f"{len(listed)} revoked tokens are listed")
    print(f"access: {chosen.rotations} tokens revoked while they were rotated: {answers}, none is good")


# -- pairing

def pairing():
    body = json.dumps({"name": "kitchen", "scopes": ["read", "send"]}).encode()
    applied = ask("POST", "/v1/pairing", FORWARDED, body).json
    secrets["a pairing's id"] = applied["id"]
    path = f"/v1/pairing/{applied['id']}"
    ask("POST", path, FORWARDED, b"{}")  # a problem, and a line in the log
    ask("GET", path + "/x", FORWARDED)
    tally.check(serve.call("POST", "/v1/pairing/approve", {"code": applied["code"]})[0] == 200, "an application is approved")
    tally.check(ask("HEAD", path, FORWARDED).status == 200, "HEAD of an application")
    collected = ask("GET", path, FORWARDED)
    secrets["a paired token"] = collected.json.get("token", "none")
    tally.check(collected.status == 200 and collected.fields.get("cache-control") == "no-store", f"collected: {collected.status}")
    tally.check(ask("GET", "/v1/status", {**FORWARDED, **bearer(collected.json["token"])}).status == 200, "a paired token")
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        again = ask("POST", "/v1/pairing", FORWARDED, body).json
        secrets["another pairing's id"] = again["id"]
        serve.call("POST", "/v1/pairing/approve", {"code": again["code"], "scopes": ["read"]})
        got = [one.json.get("token") for one in pool.map(lambda _: ask("GET", f"/v1/pairing/{again['id']}", FORWARDED), range(8))]
    secrets["a token collected by eight"] = next(one for one in got if one)
    tally.check(sum(bool(one) for one in got) == 1, f"eight collect at once: {sum(bool(one) for one in got)} tokens")


def pairing_flood():
    """Its own server, with the limits as they are: five a minute for each user, and no more than eight of one waiting. Somebody else
    asks it and, in the same moment, a server that has nothing to do: that is what the answer may be held against."""
    calm, idle = Serve().linked(), Serve().linked()

    def apply(uid, name):
        body = json.dumps({"name": name, "scopes": ["admin"]}).encode()
        return ask_over(tcp("127.0.0.1", calm.port, uid), "POST", "/v1/pairing", f"127.0.0.1:{calm.port}", (), body)

    waits = {calm: [], idle: []}
    before = calm.resident()
    statuses, begin = {}, time.monotonic()
    for number in range(chosen.applications):
        answer = apply(STRANGER, f"phone {number}")
        statuses[answer.status] = statuses.get(answer.status, 0) + 1
        if number % 10 == 0:
            for server, times in waits.items():
                begun = time.perf_counter()
                server.call("GET", "/healthz")
                times.append(time.perf_counter() - begun)
    minutes = (time.monotonic() - begin) / 60
    tally.check(statuses.get(202, 0) <= 8 and set(statuses) == {202, 429}, f"a flood of applications: {statuses}")
    tally.check(statuses[202] <= 5 + 5 * minutes + 1, f"more than five a minute: {statuses} in {minutes:.1f} min")
    tally.check("retry-after" in answer.fields and answer.fields.get("ratelimit-policy", "").startswith('"pairing";q=5;w=60'), f"{answer.fields}")
    beside, alone = (sorted(times)[len(times) * 9 // 10] * 1e3 for times in waits.values())
    tally.check(beside < max(3 * alone, 5), f"others wait while one applies: {beside:.1f} ms, at an idle server {alone:.1f} ms")
    # Others have their own room and their own names.
    mine, theirs = apply(1001, "phone"), apply(1002, "phone")
    tally.check((mine.status, theirs.status) == (202, 202), f"others in a flood: {mine.status}, {theirs.status}")
    waiting = {one["code"]: one for one in calm.json("GET", "/v1/pairing")[1]["requests"]}
    tally.check({mine.json["code"], theirs.json["code"]} <= set(waiting), "one user's application supersedes another's of the same name")
    tally.check("uid 1001" in waiting[mine.json["code"]]["from"], f"the owner is not told whose it is: {waiting[mine.json['code']]}")
    tally.check(apply(1001, "phone").status == 202, "a second application of one user")
    waiting = {one["code"] for one in calm.json("GET", "/v1/pairing")[1]["requests"]}
    tally.check(mine.json["code"] not in waiting and theirs.json["code"] in waiting, "a user's second application supersedes the first, and that alone")
    # Many users: what waits is bounded, whoever comes.
    for uid in range(2000, 2120):
        apply(uid, "crowd")
    waiting = calm.json("GET", "/v1/pairing")[1]["requests"]
    tally.check(len(waiting) <= 64, f"{len(waiting)} applications wait")
    tally.check(calm.resident() - before < 8 << 20, f"{(calm.resident() - before) >> 10} KiB more after the flood")
    calm.stop()
    lines = pathlib.Path(calm.state, "demo", "audit.log").read_bytes().splitlines()
    tally.check(len(lines) < 100, f"the flood left {len(lines)} lines in the audit file")
    print(f"access: {chosen.applications} applications of one user: {statuses}; then 120 users: {len(waiting)} wait, {len(lines)} lines in the audit file")


# -- secret files

def secret_files():
    def refused(what, file, change, option="--token-file", more=()):
        change(file)
        run = run_ladle("serve", "--state", scratch(), "--listen", "127.0.0.1:0", "--gateway", gateway.url, option, str(file), *more)
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
    certificate(folder)
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
    until(lambda: not serve.status()["runs"]["active"], what="the end of the runs")
    _, all_ = serve.json("GET", f"/v1/events?poll=0&since={start}")
    run = next(event["run"]["id"] for event in all_["events"] if event["type"] == "run.started" and event.get("session") == theirs)
    crowd = serve.json("POST", "/v1/tokens", {"name": "crowd", "scopes": ["read"], "sessions": [mine] * 65})
    tally.check(crowd[0] == 422 and "at most 64" in crowd[1]["detail"], f"65 sessions are too many, though they are one: {crowd}")
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
        if method != "get" or operation in ("streamEvents", "pollPairing"):
            continue
        for variant in (path, path + f"?session={theirs}"):
            for id_ in (ids[theirs], run) if "{id}" in path else (None,):
                answer = ask("GET", variant.replace("{id}", id_ or ""), bearer(bound))
                tally.check(
                    b"marker-of-theirs" not in answer.body and (answer.status >= 400 or ids[theirs].encode() not in answer.body),
                    f"{operation} shows the other session: {answer.status} {answer.body[:300]}")
    # Their figures: an entry of theirs that waits, and the place of the gateway.
    waiting = serve.json("POST", "/v1/messages", {"text": "later", "session": theirs, "notBefore": later()})[1]["id"]
    whole, own = serve.status(), ask("GET", "/v1/status", bearer(bound)).json
    tally.check(whole["outbox"]["pending"] >= 1 and own["outbox"]["pending"] == 0, f"the status counts the other session's entries: {own}")
    tally.check("attempts" not in own["outbox"], f"the status counts the attempts of others: {own}")
    tally.check((own["runs"]["active"], own["events"]["subscribers"]) == (0, 0), f"the status counts others: {own}")
    place = whole["link"]["url"].encode()
    text = ask("GET", "/v1/status", {**bearer(bound), "Accept": "text/plain"}).body
    tally.check(b"0 pending" in text and place not in text, f"the text of the status: {text}")
    for form in ("text/event-stream", "application/x-ndjson", "text/plain"):
        one = connect()
        one.sendall(request("GET", "/v1/events?timeout=1&snapshot=1", {**bearer(bound), "Accept": form}))
        raw, _ = drain(one, 10)
        tally.check(b"hello" in raw and place not in raw, f"a stream as {form} names the gateway's place: {raw}")
    tally.check(place not in json.dumps(own).encode() and own["link"]["state"] == "online", f"the status names the gateway's place: {own}")
    writes = [
        ("DELETE", f"/v1/outbox/{waiting}", None),
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

def mistakes():
    """Secrets where they do not belong, as people put them there: nothing of it is printed."""
    print_, wrong = "", "hunter2-typed-in-the-wrong-place"
    secrets["a secret in the wrong place"] = wrong
    tries = [
        (["serve", "--token", wrong], {}), (["serve", f"--gateway-token={wrong}"], {}), (["serve", "--gateway", f"ws://user:{wrong}@127.0.0.1:1"], {}),
        (["serve", "--gateway", f"ws://127.0.0.1:1/?token={wrong}"], {}), (["status"], {"LADLE_GATEWAY_TOKEN": wrong}), (["status"], {"LADLE_TOKEN": wrong}),
        (["token", "revoke", "ldl_" + wrong, "--state", state], {}), (["config", "check"], {"LADLE_CONFIG": f"{state}/typo.json5"}),
    ]
    pathlib.Path(state, "typo.json5").write_text(f'{{ gateway: {{ token: "{wrong}" }} }}')
    for arguments, env in tries:
        run = run_ladle(*arguments, env={**env, "XDG_STATE_HOME": scratch()})
        print_ += run.stdout + run.stderr
        tally.check(wrong not in run.stdout + run.stderr, f"{arguments[:2]} prints what was typed: {(run.stdout + run.stderr)[:300]}")
        tally.check(run.returncode != 0, f"{arguments[:2]} with a secret in it works")
    pathlib.Path(state, "typo.json5").unlink()
    for method, path, body in [
            ("POST", "/v1/tokens", wrong), ("POST", "/v1/tokens", f'{{"name":"x","scopes":["{wrong}"]}}'), ("GET", f"/v1/tokens/ldl_{wrong}/x", None),
            ("DELETE", f"/v1/tokens/ldl_{wrong}", None), ("GET", f"/v1/events?ticket=ldt_{wrong}", None), ("GET", f"/v1/pairing/ldp_{wrong}", None)]:
        ask(method, path, {}, body.encode() if body else None)


def core():
    """A crash leaves no picture of the memory, even where the shell allows one of any size."""
    place = scratch()
    crashing = Serve(prefix=["sh", "-c", 'ulimit -c unlimited; exec "$@"', "sh"], cwd=place)
    limits = pathlib.Path(f"/proc/{crashing.process.pid}/limits").read_text()
    tally.check(re.search(r"Max core file size +0 ", limits), "a core file may be written")
    crashing.kill(signal.SIGABRT)
    found = [name for name in os.listdir(place) + os.listdir(crashing.state) if name.startswith("core")]
    tally.check(not found, f"a crash leaves {found}")


def search_secrets():
    process = f"/proc/{serve.process.pid}"
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True).stdout
    # The gateway of this check is told its token there.
    listed = b"\n".join(line for line in listed.splitlines() if b"demo-gateway" not in line)
    places = {
        "ps": listed, "the output": serve.output.encode(), "the command line": pathlib.Path(f"{process}/cmdline").read_bytes(),
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
end_of_tokens()
end_of_tokens_h2()
rotate_against_revoke()
pairing()
if IS_ROOT:
    pairing_flood()
secret_files()
replay()
tickets()
mistakes()
core()
search_secrets()
tally.end()
