"""Notifications to real receivers. A webhook is signed as the reference library (`standardwebhooks`) expects. Ladle dies at random
instants: nothing is lost, and what is sent again carries the same id. Receivers that are slow, huge, redirecting or gone cost little;
names that lead into the own network are refused.

The ntfy server is a stand-in (`Ntfy`): neither Debian nor PyPI has the real one. The long form has 200 rounds, 10,000 notifications for
sinks that take none, and the types that a minute has to pass for."""

import http.server
import json
import os
import pathlib
import random
import re
import socket
import sqlite3
import ssl
import threading
import time

import standardwebhooks

import scripted_gateway
from harness import ROOT, DemoGateway, Serve, Tally, free_port, on_small_disk, options, scratch, until
from raw_http import certificate

OPTIONS = options(rounds=(12, 200), seed=(0, 0), flood=(300, 10_000))
SEED = OPTIONS.seed or random.SystemRandom().randrange(1, 1 << 32)


class Ntfy:
    """What ntfy's documentation and its answers say: JSON to the root of at most twice the longest message, 4,096 bytes of a message, three
    actions with a label and an address, priorities 1 to 5, names of topics and sequences of 64 characters, DELETE /topic/sequence since 2.16."""

    NAME = re.compile(r"[-_A-Za-z0-9]{1,64}")

    @classmethod
    def status(cls, command, path, headers, body):
        if headers.get("Authorization") != "Bearer tk_secret":
            return 401
        if command == "DELETE":
            parts = path.strip("/").split("/")
            return 200 if len(parts) == 2 and all(cls.NAME.fullmatch(part) for part in parts) else 404
        if len(body) > 8_192:
            return 413
        try:
            said = json.loads(body)
            actions = said.get("actions", [])
            good = (
                cls.NAME.fullmatch(said["topic"]) and said.get("priority", 3) in range(1, 6) and len(actions) <= 3
                and all(a["action"] in ("view", "http", "broadcast", "copy") and a["label"] and a.get("url") for a in actions)
                and cls.NAME.fullmatch(said.get("sequence_id", "x")) and isinstance(said.get("tags", []), list)
                # A longer one becomes a file.
                and len(said.get("message", "").encode()) <= 4_096
            )
        except (ValueError, KeyError, TypeError):
            good = False
        return 200 if good else 400


class Receiver(http.server.ThreadingHTTPServer):
    """Answers as the first part of the path says, and keeps what came."""

    daemon_threads = True

    def __init__(self, context=None):
        super().__init__(("127.0.0.1", 0), Handler)
        if context:
            self.socket = context.wrap_socket(self.socket, server_side=True)
        self.got = []
        self.lock = threading.Lock()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def url(self, path):
        return f"http://127.0.0.1:{self.server_port}/{path}"

    def on(self, path):
        with self.lock:
            return [one for one in self.got if one[1].startswith("/" + path)]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_DELETE(self):
        self.take()

    def do_POST(self):
        self.take()

    def take(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        with self.server.lock:
            self.server.got.append((self.command, self.path, dict(self.headers), body))
        kind = self.path.strip("/").split("/")[0]
        if kind == "huge":
            self.send_response(200)
            self.send_header("Content-Length", str(2 << 30))
            self.end_headers()
            sent = 0
            try:
                while sent < 2 << 30:
                    sent += self.wfile.write(b"x" * 65_536)
            except OSError:
                pass
            with self.server.lock:
                self.server.huge = sent
            self.close_connection = True
            return
        if kind == "slow":
            try:
                for piece in b"HTTP/1.1 200 OK\r\nX: ":
                    self.wfile.write(bytes([piece]))
                for _ in range(60):
                    self.wfile.write(b"x")
                    time.sleep(1)
            except OSError:
                pass
            self.close_connection = True
            return
        status = {"moved": 301, "gone": 410}.get(kind, 200)
        if self.path == "/" or self.command == "DELETE":
            status = Ntfy.status(self.command, self.path, self.headers, body)
        self.send_response(status)
        if kind == "moved":
            self.send_header("Location", self.server.url("stolen"))
        self.send_header("Content-Length", "0")
        self.end_headers()


tally = Tally()
receiver = Receiver()


def serve(state, sinks, *more, **settings):
    return Serve("--notifications-sinks", json.dumps(sinks), *more, state=state, **settings)


def note(server, title, **more):
    return server.json("POST", "/v1/notifications", {"title": title, **more})


# Forms and signatures.
state = scratch()
secret = "whsec_" + __import__("base64").b64encode(bytes(range(32))).decode()
(pathlib.Path(state) / "secret").write_text(secret + "\n")
(pathlib.Path(state) / "token").write_text("tk_secret\n")
for name in ("secret", "token"):
    (pathlib.Path(state) / name).chmod(0o600)
script = pathlib.Path(state) / "program"
script.write_text("#!/bin/sh\n{ echo \"$LADLE_TYPE|$LADLE_TITLE|$(env | wc -l)|$1\"; cat; } >> \"$0.out\"\n")
script.chmod(0o700)
DESKTOP = json.loads(re.search(r'desktop: \{ kind: "command", command: (\[.*\]) \}', (ROOT / "docs/notifications.md").read_text()).group(1))
sinks = {
    "hook": {"kind": "webhook", "url": receiver.url("hook?key=v"), "secretFile": f"{state}/secret"},
    "phone": {"kind": "ntfy", "url": receiver.url(""), "topic": "agent", "tokenFile": f"{state}/token", "detail": "detailed"},
    "moved": {"kind": "webhook", "url": receiver.url("moved")},
    "gone": {"kind": "webhook", "url": receiver.url("gone")},
    "huge": {"kind": "webhook", "url": receiver.url("huge")},
    "slow": {"kind": "webhook", "url": receiver.url("slow")},
    "program": {"kind": "command", "command": [str(script), "$(touch /tmp/never)"]},
    "desktop": {"kind": "command", "command": DESKTOP},
}
# Certificates of one authority, with the name of the address and without; one of nobody. Proxies are not for us.
tls = {}
for name, host in (("named", "localhost"), ("unnamed", "elsewhere.example"), ("stranger", "localhost")):
    folder = scratch()
    certificate(folder, host)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{folder}/cert.pem", f"{folder}/key.pem")
    tls[name] = Receiver(context), pathlib.Path(folder, "cert.pem").read_text()
    sinks[name] = {"kind": "webhook", "url": f"https://localhost:{tls[name][0].server_port}/tls"}
trusted = pathlib.Path(state, "authorities")
trusted.write_text(tls["named"][1] + tls["unnamed"][1])
proxy = f"http://127.0.0.1:{free_port()}"
# The desktop's own program, as the page names it, is one here that writes down its arguments.
(pathlib.Path(state) / "notify-send").write_text(f"#!/bin/sh\nprintf '%s\\n' \"$@\" > {state}/shown\n")
(pathlib.Path(state) / "notify-send").chmod(0o700)
path = {"PATH": f"{state}:{os.environ['PATH']}"}
environment = path | {name: proxy for name in ("http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")} | {"SSL_CERT_FILE": str(trusted)}
server = serve(state, sinks, "--approvals-links", "--debug-frames", "--notifications-public-url", "http://127.0.0.1:1", env=environment)
server.linked()
for name, wanted in (("named", True), ("unnamed", False), ("stranger", False)):
    answer = server.json("POST", f"/v1/notifications/sinks/{name}/test")[1]
    tally.check(answer["ok"] == wanted and bool(tls[name][0].got) == wanted, f"TLS {name}: {answer}")
    tally.check(wanted or answer["error"].startswith("TLS: "), f"TLS {name}: {answer}")
started = time.monotonic()
slow = []
if OPTIONS.long:
    ask = lambda: slow.append(server.json("POST", "/v1/notifications/sinks/slow/test"))
    threading.Thread(target=ask, daemon=True).start()
status, made = note(server, "Größe 🍳", text="<&>\n" + "é" * 3000, sinks=["hook", "phone", "program"])
tally.check(status == 201 and len(made["sinks"]) == 3, f"a note: {status} {made}")
until(lambda: receiver.on("hook") and [r for r in receiver.got if r[1] == "/"], what="hook and phone")
command, path, headers, body = receiver.on("hook")[0]
standardwebhooks.Webhook(secret).verify(body.decode(), {k.lower(): v for k, v in headers.items()})
tally.check(headers["webhook-id"].startswith(made["id"]) and path == "/hook?key=v", "the id of all tries, the whole path")
tally.check(len(body) <= 16 << 10 and json.loads(body)["data"]["title"] == "Größe 🍳", "the body")
try:
    standardwebhooks.Webhook(secret).verify(body.decode() + " ", {k.lower(): v for k, v in headers.items()})
    tally.check(False, "a changed body is accepted")
except standardwebhooks.WebhookVerificationError:
    pass
phone = json.loads(next(r for r in receiver.got if r[1] == "/")[3])
tally.check(phone["topic"] == "agent" and phone["title"] == "Größe 🍳" and len(phone["message"].encode()) <= 4096, f"ntfy: {phone}")
tally.check(next(r for r in receiver.got if r[1] == "/")[2].get("Authorization") == "Bearer tk_secret", "the token")
out = until(lambda: pathlib.Path(f"{script}.out").exists() and pathlib.Path(f"{script}.out").read_text(), what="the program")
note(server, "--icon=/etc/passwd", sinks=["desktop"])
shown = until(lambda: pathlib.Path(state, "shown").exists() and pathlib.Path(state, "shown").read_text(), what="the desktop")
tally.check(shown.splitlines() == ["--", "Ladle", "--icon=/etc/passwd"], f"a title is no option of notify-send: {shown!r}")
tally.check(out.startswith("note|Größe 🍳|") and "$(touch /tmp/never)" in out, f"the program: {out[:80]}")
for name, wanted in (("moved", 301), ("gone", 410), ("huge", 200)):
    answer = server.json("POST", f"/v1/notifications/sinks/{name}/test")[1]
    tally.check(answer.get("status") == wanted and answer["ok"] == (wanted == 200), f"{name}: {answer}")
tally.check(not receiver.on("stolen"), "a redirect is not followed")
until(lambda: hasattr(receiver, "huge"), what="the end of the huge answer")
tally.check(receiver.huge < 16 << 20, f"{receiver.huge} bytes of a huge answer left")
note(server, "to gone", sinks=["gone"])
until(lambda: server.json("GET", "/v1/notifications/sinks/gone")[1]["state"] == "disabled", what="410 disables")
until(lambda: any(n["type"] == "sink.disabled" for n in server.json("GET", "/v1/notifications")[1]["notifications"]),
      what="what another sink tells of it")

# An approval on the phone: its buttons, and that it vanishes.
server.json("POST", "/v1/messages", {"text": "approve echo hello"})
asked = until(lambda: next((json.loads(r[3]) for r in receiver.got if b'"actions"' in r[3]), None), what="the approval")
tally.check([a["label"] for a in asked["actions"]] == ["Allow once", "Deny"] and "echo hello" in asked["message"], f"{asked}")
act = asked["actions"][1]["url"].removeprefix("http://127.0.0.1:1")
tally.check(server.json("POST", act)[1]["state"] == "denied", "a tap decides")
until(lambda: any(r[0] == "DELETE" and r[1] == f"/agent/{asked['sequence_id']}" for r in receiver.got), what="its removal")

# Addresses; what is refused at once stands in `SinkAddressTests`.
good = {"name": "x", "kind": "webhook"}
status, problem = server.json("POST", "/v1/notifications/sinks", {"name": "x", "kind": "command", "command": ["/bin/sh"]})
tally.check(status == 422 and problem["code"] in ("COMMAND_SINK_IN_CONFIG_ONLY", "INVALID_FIELD"), f"a command: {problem}")
# Its name leads to loopback: seen at the look-up only.
status, made = server.json("POST", "/v1/notifications/sinks", {**good, "url": f"https://localhost:{receiver.server_port}/stolen"})
tally.check(status == 201 and made["secret"].startswith("whsec_"), f"{status} {made}")
answer = server.json("POST", f"/v1/notifications/sinks/{made['id']}/test")[1]
tally.check(not answer["ok"] and "loopback" in answer["error"] and not receiver.on("stolen"), f"{answer}")
tally.check("secret" not in server.json("GET", f"/v1/notifications/sinks/{made['id']}")[1], "the secret is shown once")
status, problem = server.json("POST", "/v1/notifications", {"title": "again"}, {"webhook-id": "x"})
tally.check(status == 409 and problem["code"] == "NOTIFICATION_LOOP", "a loop")
if OPTIONS.long:
    until(lambda: slow, seconds=30, what="the slow one")
    tally.check(not slow[0][1]["ok"] and time.monotonic() - started < 25, f"slow: {slow}")
hidden = [secret, secret[6:], "tk_secret", made["secret"], "key=v", "/hook"]
places = {path: server.call("GET", path)[2].decode() for path in (
    "/v1/notifications/sinks", "/v1/notifications/sinks/hook", "/v1/notifications", "/v1/status", "/metrics", "/v1/debug/frames",
)}
server.stop()
places |= {"log": server.output, "audit": "".join(one.read_text() for one in pathlib.Path(state).rglob("audit.log"))}
for place, text in places.items():
    found = [one for one in hidden if one in text]
    tally.check(text and not found, f"{place} shows {found or 'nothing'}")

# Each type from an event as it really comes. The rest: `Tests/ServiceTests`, from frames of a gateway.
def types(path):
    return [json.loads(body)["type"] for _, _, _, body in receiver.on(path)]


def told(path, *wanted, seconds=30):
    until(lambda: set(wanted) <= set(types(path)), seconds=seconds, what=lambda: f"{set(wanted) - set(types(path))}")
    tally.check(True, path)


def all_of(server):
    rule = {"name": "all", "types": ["*"], "minDurationMs": 0, "cooldownMs": 0}
    tally.check(server.json("POST", "/v1/notifications/rules", rule)[0] == 201, "the rule of all types")


state = scratch()
gateway = DemoGateway("--release", "autumn")
scopes = ["--gateway-scopes", "read,write,admin,questions,approvals"]
server = serve(state, {"all": {"kind": "webhook", "url": receiver.url("demo")}}, *scopes, gateway=gateway.url).linked()
all_of(server)
for text in ("echo hi", "approve echo hi", "ask Tea? yes | no"):
    server.json("POST", "/v1/messages", {"text": text, "session": text.split()[0]})
slow = server.json("POST", "/v1/messages", {"text": "slow story", "session": "slow"})[1]["id"]
until(lambda: server.json("POST", f"/v1/runs/{slow}/abort")[0] in (200, 202), what="an abort")
jobs = [job["id"] for job in server.json("GET", "/v1/automations")[1]["automations"]]
for job in jobs:
    server.json("POST", f"/v1/automations/{job}/run", None, {"Idempotency-Key": job})
note(server, "a note")
told("demo", "run.completed", "approval.requested", "question.requested", "note", "automation.failed")
if OPTIONS.long:
    server.json("POST", "/v1/messages", {"text": "fail 500", "session": "bad"})
    told("demo", "run.failed", seconds=90)
print("types of the demo gateway:", " ".join(sorted(set(types("demo")))))
server.stop()
gateway.stop()

# A gateway that refuses, is away, comes back; a message that waited too long; a disk without room.
small = scratch()
if prefix := on_small_disk(small, "64m"):
    server = serve(small, {"all": {"kind": "webhook", "url": receiver.url("disk")}}, prefix=prefix)
    told("disk", "storage.low")
    server.stop()
else:
    print("not run: a small disk (unshare is not allowed here)")
gateway = DemoGateway()
state = scratch()
server = serve(state, {"all": {"kind": "webhook", "url": receiver.url("link")}}, gateway=gateway.url).linked()
all_of(server)
gateway.kill()
server.unlinked()
server.json("POST", "/v1/messages", {"text": "too late", "ttlSeconds": 1})
told("link", "outbox.expired")
if OPTIONS.long:
    told("link", "link.offline", seconds=90)
    gateway = gateway.again()
    told("link", "link.online", seconds=90)
server.stop()
gateway.stop()
# Death at any instant.
print(f"seed {SEED}")
chance = random.Random(SEED)
state = scratch()
sinks = {"hook": {"kind": "webhook", "url": receiver.url("loop")}}
accepted = {}
for number in range(OPTIONS.rounds):
    server = serve(state, sinks)
    stop = time.monotonic() + chance.uniform(0.02, 0.15)
    for part in range(9):
        try:
            status, made = note(server, f"{number}.{part}")
        except (OSError, ValueError):
            break
        if status == 201:
            accepted[made["id"]] = made["title"]
        if time.monotonic() > stop:
            break
    server.kill()
server = serve(state, sinks)


def arrived():
    ids = {}
    for _, _, headers, body in receiver.on("loop"):
        ids.setdefault(headers["webhook-id"].split(".")[0], set()).add(json.loads(body)["data"]["title"])
    return ids


try:
    until(lambda: set(accepted) <= set(arrived()), what="all of them")
except TimeoutError:
    lost = set(accepted) - set(arrived())
    rows = server.json("GET", "/v1/notifications?limit=200")[1]["notifications"]
    tally.check(False, f"lost: {[row for row in rows if row['id'] in lost]} of {[accepted[one] for one in lost]}")
ids = arrived()
tally.check(all(len(titles) == 1 for titles in ids.values()), "one id, one notification")
titles = [title for found in ids.values() for title in found]
tally.check(len(titles) == len(set(titles)), "one notification, one id")
print(f"{OPTIONS.rounds} rounds, {len(accepted)} accepted, {len(receiver.on('loop'))} requests")
server.stop()



# Very many for sinks that take none, as a gateway tells of them: runs that end, each with a notification.
QUEUE, KEPT = 1_000, 10_000
# Of one notification with its event and two deliveries, and their indexes.
DISK_EACH = 4_096
# For two full queues, and what a gateway's burst leaves in the heap beside.
MEMORY = 32 << 20


def flood(count, sinks):
    """What `count` runs cost: seconds, growth of resident memory, bytes of the database in all and of notifications."""

    def burst(connection):
        for number in range(count):
            message = {"role": "assistant", "content": [{"type": "text", "text": f"answer {number}"}]}
            connection.event("chat", {"runId": f"run-{number}", "sessionKey": f"agent:main:s{number % 50}", "seq": 2,
                                      "state": "final", "message": message})

    gateway, go = scripted_gateway.Gateway(), threading.Event()
    gateway.behave = lambda connection: go.wait() and burst(connection)
    state = scratch()
    arguments = ["--notifications-sinks", json.dumps(sinks)]
    server = Serve(*arguments, state=state, gateway=gateway.url).linked()
    if sinks:
        rule = {"name": "all", "types": ["run.completed"], "cooldownMs": 0, "minDurationMs": 0}
        tally.check(server.json("POST", "/v1/notifications/rules", rule)[0] == 201, "the rule")
    else:
        server.json("PATCH", "/v1/notifications/rules/standard", {"enabled": False}, {"If-Match": "*"})
    before, started = server.resident(), time.monotonic()
    go.set()

    def ended():
        events = server.json("GET", "/v1/runs?limit=1&state=completed")[1]["runs"]
        return bool(events) and events[0]["id"] == f"run-{count - 1}"

    def made():
        page = server.call("GET", "/metrics")[2].decode()
        return int(re.search(r'ladle_notifications(?:_total)?{type="run.completed"} (\d+)', page)[1])

    until(ended, seconds=120, what="the last run")
    if sinks:
        until(lambda: made() >= count, seconds=60, what="its notification")
    seconds = time.monotonic() - started
    status = server.status()["notifications"]
    if sinks:
        lost = {one["name"]: one.get("dropped", 0) for one in server.json("GET", "/v1/notifications/sinks")[1]["sinks"]}
        dropped = count - QUEUE - 1
        tally.check(made() == count, f"each run made one notification: {made()}")
        tally.check(status["waiting"] <= (QUEUE + 1) * len(sinks), f"what waits is bounded: {status}")
        tally.check(all(n >= min(dropped, 1) and n <= count for n in lost.values()), f"what is dropped is counted: {lost}")
    grown = server.resident() - before
    server.stop()
    file = next(pathlib.Path(state).rglob("*.db"))
    with sqlite3.connect(file) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        rows = database.execute("SELECT count(*) FROM notification").fetchone()[0]
        try:
            own = database.execute("SELECT sum(pgsize) FROM dbstat WHERE name GLOB '*notification*'").fetchone()[0]
        except sqlite3.OperationalError:
            own = 0
    return seconds, grown, file.stat().st_size, own, rows


count = OPTIONS.flood
with socket.create_server(("127.0.0.1", 0)) as silent:
    dead = {
        "silent": {"kind": "webhook", "url": f"http://127.0.0.1:{silent.getsockname()[1]}/"},
        "closed": {"kind": "webhook", "url": f"http://127.0.0.1:{free_port()}/"},
    }
    plain, full = flood(count, {}), flood(count, dead)
print(f"{count} runs in {plain[0]:.1f} s without and {full[0]:.1f} s with notifications to two dead sinks; resident +{plain[1] >> 10} "
      f"and +{full[1] >> 10} KiB; database {plain[2] >> 10} and {full[2] >> 10} KiB, of it {full[3] >> 10} KiB for {full[4]} notifications")
tally.check(full[0] < 60, "in less than a minute")
tally.check(full[1] - plain[1] < MEMORY, "memory is bounded")
tally.check(plain[4] == 0, "no rule, no rows")
tally.check(count <= full[4] <= KEPT + 512 if count <= KEPT else full[4] <= KEPT + 512, f"{full[4]} rows")
tally.check(full[2] - plain[2] < max(count, 1_000) * DISK_EACH, "the database is bounded")

tally.end()
