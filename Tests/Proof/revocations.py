"""What a token has left behind when it ends: tickets, invitations, pairings that it approved and nobody has collected, one-tap links, a
body on its way, a request that waits. All end with it, however it ends: revoked, by the command line, revoked at the moment before Ladle
dies, with a new secret, by its time. The same of another token stays. Things made at the very moment of the end are good or refused, and
never good afterwards."""

import json
import random
import socket
import threading
import time

from harness import DemoGateway, Serve, Tally, options, run_ladle, until
from raw_http import Answer

chosen = options(rounds=(1, 12), races=(6, 60), seed=(0, 0))
SEED = chosen.seed or random.SystemRandom().randrange(1, 1 << 32)
dice = random.Random(SEED)
tally = Tally()
gateway = DemoGateway("--release", "june", "--speed", "5")
server = Serve("--approvals-links", "--limits-auth-per-minute", "100000", "--limits-pairing-per-minute", "100000", "--limits-body-grace", "5m",
               gateway=gateway.url).linked()
VIA = {"Via": "1.1 proof"}
# Seconds that the one lives that expires; more where the machine is slow.
life = 4
told = {}


def ask(method, path, token=None, body=None):
    """On a connection that proves nothing: only the token counts."""
    status, _, said = server.call(method, path, body, VIA | ({"Authorization": f"Bearer {token}"} if token else {}))
    try:
        return status, json.loads(said or b"null")
    except ValueError:
        return status, said


def approval():
    """One that waits, whichever."""
    def waiting():
        return next((one["id"] for one in server.json("GET", "/v1/approvals")[1]["approvals"] if one["state"] == "pending"), None)
    if not waiting():
        server.json("POST", "/v1/messages", {"text": "approve 300s date", "session": f"asks{dice.randrange(1 << 30)}"})
    return until(waiting, 20, what="an approval")


def half(token, text):
    """A message whose body has not come whole, and what is left of it."""
    body = json.dumps({"text": text, "session": "half"}).encode()
    one = socket.create_connection(("127.0.0.1", server.port), 20)
    one.sendall(f"POST /v1/messages HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nVia: 1.1 proof\r\nAuthorization: Bearer {token}\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body[:20])
    return one, body[20:]


def waiter(token):
    """A request that waits for a run."""
    one = socket.create_connection(("127.0.0.1", server.port), 20)
    one.sendall(f"GET /v1/events?poll=60&types=reset HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nVia: 1.1 proof\r\n"
                f"Authorization: Bearer {token}\r\nConnection: close\r\n\r\n".encode())
    return one


def rest(one):
    """The answer, if one comes."""
    raw = b""
    try:
        while piece := one.recv(65536):
            raw += piece
    except OSError:
        pass
    one.close()
    return Answer(raw) if raw else None


class Late(Exception):
    """The token has expired before everything was made with it."""


class Holder:
    """A token, and everything that can be made with it."""

    def __init__(self, name, **more):
        made = server.make_token(name, "admin", **more)
        self.name, self.id, self.token, self.at = name, made["id"], made["token"], time.monotonic()
        self.approval, self.expires = approval(), bool(more)
        self.ticket = self.make("/v1/tickets", {"path": "/v1/runs"})["ticket"]
        invited = self.make("/v1/pairing/invitations", {"name": name})
        self.invitation, self.secret = invited["id"], invited["secret"]
        self.device = ask("POST", "/v1/pairing", None, {"name": "tv", "scopes": ["read"]})[1]
        self.make("/v1/pairing/approve", {"code": self.device["code"]})
        self.link = self.make(f"/v1/approvals/{self.approval}/links", {"decision": "deny"})["url"]
        self.text = f"echo half of {name} {dice.randrange(1 << 30)}"
        self.half, self.left = half(self.token, self.text)
        self.waiter = waiter(self.token)

    def make(self, path, body):
        status, said = ask("POST", path, self.token, body)
        if status == 401 and self.expires:
            raise Late
        tally.check(status in (200, 201), f"{self.name}: {path}: {status} {said}")
        return said

    def judge(self, is_good, what, died=False):
        """Uses everything once. What is in memory alone does not live through a death of Ladle either."""
        states = {}
        states["the token"] = ask("GET", "/v1/status", self.token)[0] == 200
        states["a link that is shown"] = ask("GET", self.link)[0] == 200
        if not died:
            states["an invitation that is listed"] = self.invitation in [one["id"] for one in
                                                                      server.json("GET", "/v1/pairing/invitations")[1]["invitations"]]
        if not is_good or not died:
            states["a ticket"] = ask("GET", f"/v1/runs?ticket={self.ticket}")[0] == 200
            states["an invitation"] = ask("POST", "/v1/pairing", None, {"secret": self.secret})[0] == 201
            states["a pairing"] = "token" in (ask("GET", f"/v1/pairing/{self.device['id']}")[1] or {})
            try:
                self.half.sendall(self.left)
            except OSError:
                pass
            answer = rest(self.half)
            states["a body on its way"] = answer is not None and answer.status == 202
            self.waiter.settimeout(0.5 if is_good else 10)
            answer = rest(self.waiter)
            states["a request that waits"] = (answer is None or answer.status == 200) if is_good else not (answer is None or answer.status == 401)
        states["a link"] = ask("POST", self.link)[0] == 200
        for name, good in states.items():
            told[what, name] = told.get((what, name), 0) + 1
            tally.check(good == is_good, f"{what}: {name} of the {'other' if is_good else 'ended'} token is {'' if good else 'not '}good")
        entries = server.json("GET", "/v1/outbox?limit=200")[1]["entries"]
        taken = any(entry.get("text") == self.text for entry in entries)
        tally.check(taken == is_good or died, f"{what}: the half message was {'' if taken else 'not '}taken")


def revoke(holder):
    status = server.call("DELETE", f"/v1/tokens/{holder.id}")[0]
    tally.check(status == 204, f"revoked: {status}")


def by_command(holder):
    done = run_ladle("token", "revoke", holder.id, "--state", server.state)
    tally.check(done.returncode == 0, f"revoked by the command line: {done}")


def revoke_and_die(holder):
    global server
    revoke(holder)
    server.kill()
    server = server.again().linked()


def rotate(holder):
    status, said = server.json("POST", f"/v1/tokens/{holder.id}/rotate", {})
    tally.check(status == 200, f"a new secret: {status} {said}")


def wait(holder):
    time.sleep(max(0, holder.at + life + 0.1 - time.monotonic()))


def expiring(name):
    global life
    while True:
        try:
            return Holder(name, expiresInSeconds=life)
        except Late:
            life *= 2


for number in range(chosen.rounds):
    ways = [("revoked", revoke), ("revoked by the command line", by_command), ("revoked before a death", revoke_and_die),
            ("rotated", rotate), ("expired", wait)]
    dice.shuffle(ways)
    for what, end in ways:
        other = Holder(f"other {number}")
        mine = expiring(f"mine {number}") if end is wait else Holder(f"mine {number}")
        end(mine)
        died = end is revoke_and_die
        if died:
            until(lambda: any(one["id"] == mine.approval and one["state"] == "pending" for one in
                              server.json("GET", "/v1/approvals")[1]["approvals"]), 20, what="the approval after the death")
        mine.judge(False, what, died)
        still = [one["state"] for one in server.json("GET", "/v1/approvals")[1]["approvals"] if one["id"] == mine.approval]
        tally.check(still == ["pending"], f"{what}: nothing was decided: {still}")
        other.judge(True, what, died)
        server.call("DELETE", f"/v1/tokens/{other.id}")

# Everything is made again and again while the token is revoked.
kept = 0
for number in range(chosen.races):
    made = server.make_token(f"race {number}", "admin")
    id, things, lock = approval(), [], threading.Lock()
    device = [ask("POST", "/v1/pairing", None, {"name": "tv", "scopes": ["read"]})[1] for _ in range(4)]

    def make(path, body, name):
        status, said = ask("POST", path, made["token"], body)
        if status in (200, 201):
            with lock:
                things.append((name, said.get("ticket") or said.get("secret") or said.get("url")))
    jobs = [threading.Thread(target=make, args=job) for _ in range(3) for job in (
        ("/v1/tickets", {"path": "/v1/runs"}, "ticket"), ("/v1/pairing/invitations", {"name": "x"}, "invitation"),
        (f"/v1/approvals/{id}/links", {"decision": "deny"}, "link"))]
    jobs += [threading.Thread(target=make, args=("/v1/pairing/approve", {"code": one["code"]}, "pairing")) for one in device]
    jobs.insert(dice.randrange(len(jobs)), threading.Thread(target=lambda: server.call("DELETE", f"/v1/tokens/{made['id']}")))
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    kept += len(things)
    for name, value in things:
        good = {"ticket": lambda: ask("GET", f"/v1/runs?ticket={value}")[0] == 200,
                "invitation": lambda: ask("POST", "/v1/pairing", None, {"secret": value})[0] == 201,
                "link": lambda: ask("GET", value)[0] == 200 or ask("POST", value)[0] == 200, "pairing": lambda: False}[name]()
        tally.check(not good, f"race {number}: a {name} made beside the revocation is good after it")
    got = [ask("GET", f"/v1/pairing/{one['id']}")[1] for one in device]
    tally.check(not any("token" in (one or {}) for one in got), f"race {number}: a device that was approved beside the revocation gets a token: {got}")
print(f"revocations: seed {SEED}, {len(told)} closures, {sum(told.values())} uses; {kept} things made beside {chosen.races} revocations")
tally.check(server.stop() == 0, "it ends as it should")
tally.end()
