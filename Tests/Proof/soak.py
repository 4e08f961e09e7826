"""An hour of ordinary use by everybody at once: messages, lists, streams that come, go and rest, HTTP/2, tokens, pairing, notifications,
identity, MQTT with Mosquitto, while the gateway, its link and the broker are lost again and again. One process of Ladle lives through
it, every answer is one that the moment allows, and afterwards everything has been given back. The long form also fits a line through
memory, descriptors, disk and the CPU of an answer in the last two thirds. Entries are kept for a day: each has a bound on the disk, and
everything else another. The short form is a minute, which tells only what leaks fast."""

import collections
import contextlib
import http.client
import itertools
import json
import os
import pathlib
import random
import shutil
import socket
import sqlite3
import subprocess
import threading
import time

from harness import FaultyGateway, Serve, Tally, later, options, scratch, until
from raw_http import H2, certificate
from raw_mqtt import Client, Mosquitto, Watcher

chosen = options(minutes=(1, 60))
SECONDS = chosen.minutes * 60
EVERY = 10 if chosen.long else 1
TROUBLE = 60 if chosen.long else 10
# A grey pixel.
PICTURE = bytes.fromhex("89504e470d0a1a0a0000000d49484452000000010000000108000000003a7e9b55"
                        "0000000a49444154789c63f80f0001010100b138f6140000000049454e44ae426082")
AWAY = {501, 503}
# The most that each may grow in an hour; the CPU of an answer by half. Memory goes on settling in the second half hour. `disk` is all but
# the entries, of which each may take ENTRY bytes.
BARS = {"memory": 8e6, "heap": 6e6, "descriptors": 6, "disk": 1.5e6}
ENTRY, ENTRIES = 1200, ("outbox", "outbox_payload", "outbox_attempt", "receipt")
tally = Tally()
stop = threading.Event()
answers, wrong, failures = collections.Counter(), [], collections.Counter()

folder = scratch()
door = f"{folder}/door"
files, trust = certificate(folder, "localhost", "127.0.0.1")
env = {}
if shutil.which("cc") and not os.environ.get("LD_PRELOAD"):
    heap = pathlib.Path(__file__).with_name("heap.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-pthread", "-o", f"{folder}/heap.so", heap], check=True)
    env = {"LD_PRELOAD": f"{folder}/heap.so", "HEAP_LOG": f"{folder}/heap"}
gateway, broker = FaultyGateway("--speed", "3"), Mosquitto()
password = pathlib.Path(folder, "broker-password")
password.write_text("secret\n")
password.chmod(0o600)
# What is kept for days is kept for a minute here: what grows then is something else.
server = Serve(*files, "--listen", f"unix:{door}", "--events-keep", "3000", "--events-keep-for", "1m", "--events-streams-per-caller", "100",
               "--limits-sends-burst", "1000", "--limits-all-sends-burst", "100000", "--limits-pairing-per-minute", "1000",
               "--limits-auth-per-minute", "1000", "--audit-max-bytes", "64KiB", "--openai-enabled", "--openai-sessions", "one",
               "--mqtt-url", f"mqtt://127.0.0.1:{broker.port}", "--mqtt-username", "ladle", "--mqtt-password-file", str(password),
               "--mqtt-name", "soak", "--mqtt-scopes", "read,send", gateway=gateway.url, trust=trust, env=env).linked()
pid = server.process.pid
admin = {"Authorization": f"Bearer {server.token}"}
turns = itertools.count()


class DoorConnection(http.client.HTTPConnection):
    """HTTP over the Unix socket."""

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(door)


def ask(method, path, body=None, headers=None, also=(), timeout=40):
    """One request, by turns over TLS with the admin's token and over the Unix socket as the owner. `also` are statuses besides 2xx that
    are right."""
    headers = dict(headers or {})
    if isinstance(body, (dict, list)):
        body, headers = json.dumps(body).encode(), {"Content-Type": "application/json", **headers}
    if next(turns) % 2:
        connection = http.client.HTTPSConnection("localhost", server.port, timeout=timeout, context=trust)
        headers = {**admin, **headers}
    else:
        connection = DoorConnection("localhost", server.port, timeout=timeout)
    try:
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        data = answer.read()
        answers[answer.status] += 1
        if answer.status // 100 not in (2, 3) and answer.status not in AWAY and answer.status not in also:
            wrong.append(f"{method} {path}: {answer.status} {data[:300]}")
        told = json.loads(data) if data and "json" in answer.getheader("Content-Type", "") else {}
        return answer.status, told
    finally:
        connection.close()


def wire():
    """A connection for bytes, by turns as in `ask`."""
    if next(turns) % 2:
        return trust.wrap_socket(socket.create_connection(("127.0.0.1", server.port), 20), server_hostname="localhost")
    one = socket.socket(socket.AF_UNIX)
    one.settimeout(20)
    one.connect(door)
    return one


# -- what everybody does; each is called with its number


def talk(number):
    session = f"soak{number % 6}"
    kind = number % 12
    if kind == 3:
        status, entry = ask("POST", "/v1/messages", {"text": "echo tomorrow", "session": session, "notBefore": later()})
        if status == 202:
            ask("DELETE", f"/v1/outbox/{entry['id']}")
    elif kind == 5:
        # The first message of a session, and the session's end.
        ask("POST", "/v1/messages?wait=8", {"text": "echo new", "session": f"new{number}"}, also={502})
        ask("DELETE", f"/v1/sessions/agent:main:new{number}?force=true", headers={"If-Match": "*"}, also={404, 409, 412, 422})
    elif kind == 7:
        ask("POST", "/v1/messages", {"text": "slow story", "session": session})
        time.sleep(0.3)
        ask("POST", f"/v1/sessions/{session}/abort", also={404, 409})
    elif kind == 9:
        ask("POST", "/v1/messages?wait=8", {"text": "approve 5s date", "session": "asks"}, also={502})
    elif kind == 10:
        with wire() as one:
            body = json.dumps({"text": "tools please", "session": session}).encode()
            one.sendall(f"POST /v1/messages HTTP/1.1\r\nHost: localhost:{server.port}\r\nAuthorization: {admin['Authorization']}\r\n"
                        f"Accept: text/event-stream\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
            take(one, 6)
    elif kind == 11:
        ask("POST", "/openai/v1/chat/completions", {"model": "openclaw", "messages": [{"role": "user", "content": f"echo {number}"}]},
            also={404, 429, 502})
    else:
        text = {0: "hello", 1: "fail with 401", 2: "echo " + "long words " * 400}.get(kind, f"echo {number}")
        ask("POST", f"/v1/messages{'?wait=8' if kind % 2 else ''}", {"text": text, "session": session},
            {"Idempotency-Key": f"talk-{number}"}, {502})


def decide(number):
    for approval in ask("GET", "/v1/approvals")[1].get("approvals", []):
        if approval["state"] == "pending":
            ask("POST", f"/v1/approvals/{approval['id']}", {"decision": ("deny", "allow-once")[number % 2]}, also={404, 409, 410})


LISTS = ["/healthz", "/readyz", "/v1/status", "/v1/activity", "/v1/sessions", "/v1/sessions?limit=5&kind=all", "/v1/messages?session=soak1",
         "/v1/messages?session=soak2&limit=5&refresh=true", "/v1/runs?limit=5", "/v1/runs?brief=true", "/v1/outbox", "/v1/outbox?state=delivered",
         "/v1/glance", "/v1/agents", "/v1/models", "/v1/usage", "/v1/usage/cost", "/v1/usage/sessions", "/v1/approvals", "/v1/automations",
         "/v1/nodes", "/v1/identity", "/v1/profile", "/v1/tokens", "/v1/notifications", "/v1/notifications/sinks", "/v1/notifications/rules",
         "/v1/events?poll=0", "/v1/debug/gateway", "/metrics", "/openapi.json", "/openai/v1/models"]


def look(number):
    ask("GET", LISTS[number % len(LISTS)], also={404})


def look2(number):
    """Several lists at once over HTTP/2; one more is given up."""
    with wire_h2() as one:
        peer = H2(one)
        streams = [peer.request("GET", LISTS[(number + n) % len(LISTS)], f"localhost:{server.port}", admin) for n in range(6)]
        peer.link.reset_stream(peer.request("GET", "/v1/events?poll=20", f"localhost:{server.port}", admin))
        peer.flush()
        if not peer.until(lambda: set(streams) <= peer.over):
            wrong.append(f"HTTP/2: of {streams} only {peer.over} were answered")
        answers.update(peer.status(stream) for stream in streams)


@contextlib.contextmanager
def wire_h2():
    with socket.socket(socket.AF_UNIX) as one:
        one.settimeout(20)
        one.connect(door)
        yield one


def err(number):
    """What is refused."""
    kind = number % 7
    if kind == 0:
        ask("GET", "/v1/nothing", also={404})
    elif kind == 1:
        ask("POST", "/v1/messages", {"txt": "no"}, also={400, 422})
    elif kind == 2:
        ask("GET", "/v1/status", headers={"Authorization": "Bearer ldl_wrong"}, also={401, 429})
    elif kind == 3:
        ask("POST", "/v1/pairing", b"x" * 20_000, {"Content-Type": "application/json"}, also={400, 413})
    elif kind == 4:
        with wire() as one:
            one.sendall(b"BROKEN\r\n\r\n")
            take(one, 5)
    elif kind == 5:
        with wire() as one:
            one.sendall(b"GET /v1/status HTTP/1.1\r\nHo")  # and leaves
    else:
        ask("DELETE", "/v1/tokens/nobody", also={404})


def take(one, seconds):
    """What comes in this time."""
    end, count = time.monotonic() + seconds, 0
    while not stop.is_set() and (left := end - time.monotonic()) > 0:
        one.settimeout(min(left, 1))
        try:
            piece = one.recv(65536)
        except TimeoutError:
            continue
        if not piece:
            break
        count += len(piece)
    return count


def listen(number):
    """A reader of events in one of the forms; every fourth reads nothing."""
    seconds = random.uniform(2, 40 if chosen.long else 8)
    form = ("text/event-stream", "application/x-ndjson")[number % 2]
    if number % 4 == 3:
        with wire_h2() as one:
            peer = H2(one)
            peer.request("GET", "/v1/events?snapshot=true", f"localhost:{server.port}", {**admin, "accept": form})
            peer.until(stop.is_set, seconds)
        return
    with wire() as one:
        more = ("", "?compress=gzip", "?types=run.ended,message")[number % 3]
        one.sendall(f"GET /v1/events{more} HTTP/1.1\r\nHost: localhost:{server.port}\r\nAuthorization: {admin['Authorization']}\r\n"
                    f"Accept-Encoding: gzip\r\nAccept: {form}\r\n\r\n".encode())
        if number % 4 == 0:
            stop.wait(seconds)
        elif not take(one, seconds):
            wrong.append(f"a stream of {seconds:.0f} s without a byte")


def access(number):
    status, made = ask("POST", "/v1/tokens", {"name": f"soak-{number}", "scopes": ["read", "send"],
                                              **({"paths": ["/v1/glance"]} if number % 3 == 0 else {})})
    ask("GET", "/v1/glance", headers={"Authorization": f"Bearer {made['token']}"})
    status, made = ask("POST", f"/v1/tokens/{made['id']}/rotate")
    mine = {"Authorization": f"Bearer {made['token']}"}
    if number % 3:
        status, ticket = ask("POST", "/v1/tickets", {"path": "/v1/status"}, mine)
        ask("GET", f"/v1/status?ticket={ticket['ticket']}", headers={"Authorization": ""}, also={400, 401})
    else:
        ask("GET", "/v1/status", headers=mine, also={403})
    ask("DELETE", f"/v1/tokens/{made['id']}")
    ask("GET", "/v1/glance", headers=mine, also={401, 429})
    status, asked = ask("POST", "/v1/pairing", {"name": "phone", "scopes": ["read"]}, also={429})
    if status < 300:
        verb = ("approve", "reject")[number % 2]
        ask("POST", f"/v1/pairing/{verb}", {"code": asked["code"]})
        if verb == "approve":
            status, paired = ask("GET", f"/v1/pairing/{asked['id']}")
            ask("DELETE", f"/v1/tokens/{paired['tokenId'] if 'tokenId' in paired else paired['name']}", also={404, 409})
    status, invitation = ask("POST", "/v1/pairing/invitations", {"name": "tablet"}, also={409, 429})
    if status < 300:
        ask("DELETE", f"/v1/pairing/invitations/{invitation['id']}")


def keep_house(number):
    match = {"If-Match": "*"}
    ask("PATCH", "/v1/identity", {"vibe": f"calm {number}"}, match, also={409})
    ask("PATCH", "/v1/profile", {"callName": f"Sam {number}"}, match, also={409})
    ask("PUT", "/v1/identity/avatar", PICTURE, {"Content-Type": "image/png", **match})
    ask("DELETE", "/v1/identity/avatar", headers=match)
    status, sink = ask("POST", "/v1/notifications/sinks", {"name": f"hook{number}", "kind": "webhook", "url": "https://hooks.example.invalid/x"})
    ask("POST", "/v1/notifications", {"title": f"The washing is done {number}"}, also={429})
    ask("DELETE", f"/v1/notifications/sinks/hook{number}", headers=match)
    status, rule = ask("POST", "/v1/notifications/rules", {"name": f"rule {number}", "types": ["run.failed"], "priority": 5})
    ask("DELETE", f"/v1/notifications/rules/{rule['id']}", headers=match)
    # A session in which nobody waits for a reply: a reset ends the run at work, and the wait for it with 409 RUN_ABORTED.
    ask("POST", "/v1/sessions/soak2/reset", headers=match, also={404, 409, 412})


def publish(number):
    with contextlib.closing(Client(broker.port)) as client:
        client.publish("ladle/soak/cmd/send", {"id": f"soak-{number}", "text": f"echo over MQTT {number}", "session": "mqtt"})


def trouble(number):
    """The gateway's process dies, restarts with its transcripts, or its connections break; the broker dies."""
    global gateway, broker
    if number % 4 == 0:
        gateway.kill()
        stop.wait(2)
        gateway = gateway.again()
    elif number % 4 == 1:
        broker.kill()
        stop.wait(2)
        broker = broker.again()
    else:
        gateway.control("POST", "drop" if number % 4 == 2 else "restart?keep&down=3000")


def each(seconds, act):
    """Does something again and again; what breaks off is counted, for the broker and the gateway are away at times."""
    number = 0
    while not stop.wait(seconds):
        try:
            act(number)
        except (OSError, TimeoutError, http.client.HTTPException) as problem:
            failures[f"{act.__name__}: {type(problem).__name__}"] += 1
            if act in (look, look2, access, keep_house):
                wrong.append(f"{act.__name__} {number}: {problem!r}")
        except Exception as problem:
            wrong.append(f"{act.__name__} {number}: {problem!r}")
        number += 1


# -- what is measured


def tables():
    """Bytes of each table with its indexes, and how many entries there are."""
    with contextlib.closing(sqlite3.connect(f"file:{server.state}/ladle.db?mode=ro", uri=True, timeout=10)) as database:
        return (dict(database.execute("SELECT s.tbl_name, sum(d.pgsize) FROM dbstat AS d JOIN sqlite_schema AS s ON s.name = d.name GROUP BY 1")),
                database.execute("SELECT count(*) FROM outbox").fetchone()[0])


def sample():
    """Memory of its own and descriptors, bytes of disk without entries and of entries, seconds of CPU, bytes written."""
    status, io = pathlib.Path(f"/proc/{pid}/status").read_text(), pathlib.Path(f"/proc/{pid}/io").read_text()
    ticks = sum(map(int, pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]))
    disk = 0
    for file in pathlib.Path(server.state).rglob("*"):
        with contextlib.suppress(FileNotFoundError):
            disk += file.stat().st_blocks * 512
    sizes, count = tables()
    kept = sum(sizes.get(name, 0) for name in ENTRIES)
    return {"entries": count, "kept": kept, "disk": disk - kept,
            "memory": int(status.split("RssAnon:")[1].split()[0]) * 1024, "descriptors": server.descriptors(),
            "cpu": ticks / os.sysconf("SC_CLK_TCK"), "answers": answers.total(), "written": int(io.split("\nwrite_bytes: ")[1].split()[0])}


def line(points):
    """The slope by least squares, an hour, and the mean."""
    x, y = (sum(column) / len(points) for column in zip(*points))
    return 3600 * sum((t - x) * (v - y) for t, v in points) / sum((t - x) ** 2 for t, _ in points), y


watcher = Watcher(broker.port, "ladle/#")
until(lambda: server.status()["mqtt"]["state"] == "online", what="the broker's connection")
for path in LISTS:
    ask("GET", path, also={404})
server.at_rest()
before, tables_before = sample(), tables()[0]
jobs = [(0.9, talk), (0.4, look), (3, look2), (2, err), (1, decide), (4, access), (7, keep_house), (5, publish), (TROUBLE, trouble),
        *[(0.5, listen)] * 8]
threads = [threading.Thread(target=each, args=job, daemon=True) for job in jobs]
begin, start = time.monotonic(), time.time()
for thread in threads:
    thread.start()
samples, came = [], 0
while (at := time.monotonic() - begin) < SECONDS:
    time.sleep(EVERY)
    if server.process.poll() is not None:
        break
    samples.append((at, sample()))
    came += len(watcher.messages)
    watcher.messages.clear()
    with contextlib.suppress(AttributeError):
        watcher.client.messages.clear()
    broker.lines.clear()
    if len(samples) % 6 == 0:
        now = samples[-1][1]
        print(f"{at:5.0f} s: {now['memory'] / 1e6:.1f} MB, {now['descriptors']} descriptors, disk {now['disk'] / 1e6:.2f} MB "
              f"and {now['entries']} entries of {now['kept'] / 1e6:.2f} MB, "
              f"CPU {now['cpu'] - before['cpu']:.1f} s, written {(now['written'] - before['written']) / 1e6:.0f} MB, "
              f"{answers.total()} answers, {came} messages of the broker, {len(wrong)} wrong", flush=True)
stop.set()
for thread in threads:
    thread.join(60)
if not tally.check(server.process.poll() is None, f"Ladle lives: {server.output[-2000:]}"):
    tally.end()
tally.check(not any(thread.is_alive() for thread in threads), "everybody came to an end")

# Afterwards.
server.linked()
try:
    until(lambda: not server.status()["outbox"]["pending"] and not server.status()["runs"]["active"], 150, 0.5, "the end of what waits")
    until(lambda: server.descriptors() <= before["descriptors"] + 2, 60, 0.2, "the end of all connections")
except TimeoutError as late:
    active = [run for run in ask("GET", "/v1/runs?limit=200")[1]["runs"] if run["state"] in ("queued", "running")]
    tally.check(False, f"{late}: {server.status()}, {server.descriptors()} descriptors, {before['descriptors']} before, at work: {active}")
after = sample()
streams = server.call("GET", "/metrics")[2].decode()
tally.check("ladle_streams_open 0" in streams, "no stream is open")
tally.check(answers.total() > 2 * SECONDS and answers[200] > SECONDS and came, f"there was use: {dict(answers)}, {came} over MQTT")
for one in wrong:
    print(f"soak: wrong: {one}")
tally.check(not wrong, f"{len(wrong)} answers that should not be, such as {wrong[:5]}")
said = [one for one in server.lines if " error" in one.lower()[:60] or "fatal" in one.lower()]
tally.check(not said, f"no line of level error: {said[:3]}")
print(f"answers {dict(answers.most_common())}, broken off {dict(failures)}")

# Slopes. What waits for somebody comes and goes on top of what is in use, so of the heap each minute's least counts.
points = {name: [(t, s[name]) for t, s in samples if t >= SECONDS / 3] for name in ("memory", "descriptors", "disk")}
# CPU in steps of a minute, for the answers of that minute: how many there are depends on the machine.
minutes = [next(item for item in samples if item[0] >= at) for at in range(int(SECONDS / 3), int(samples[-1][0]), 60)]
points["ms of CPU an answer"] = [((a + b) / 2, (y["cpu"] - x["cpu"]) * 1000 / max(y["answers"] - x["answers"], 1))
                                 for (a, x), (b, y) in itertools.pairwise(minutes)]
if env and os.path.exists(env["HEAP_LOG"]):
    use = collections.defaultdict(list)
    for row in pathlib.Path(env["HEAP_LOG"]).read_text().splitlines():
        t, used, _ = map(int, row.split())
        if SECONDS / 3 <= t - start < SECONDS:
            use[int((t - start) // 60)].append(used)
    points["heap"] = [(60 * minute, min(values)) for minute, values in use.items()]
slopes = {name: line(values) for name, values in points.items() if len(values) > 2}
for name, (slope, mean) in slopes.items():
    unit, part = ("MB", 1e6) if name in BARS and BARS[name] >= 1e6 else ("", 1)
    print(f"{name}: mean {mean / part:.3f} {unit}, slope {slope / part:.3f} {unit} an hour")
    if chosen.long:
        bar = BARS.get(name, mean / 2)
        tally.check(slope < bar, f"{name} grows by {slope / part:.3f} {unit} an hour, of at most {bar / part:.3f}")
first, last = samples[len(samples) // 3][1], samples[-1][1]
each = (last["kept"] - first["kept"]) / max(last["entries"] - first["entries"], 1)
print(f"an entry takes {each:.0f} bytes of the disk, by {last['entries'] - first['entries']} of them")
tally.check(not chosen.long or each < ENTRY, f"an entry takes {each:.0f} bytes of the disk, of at most {ENTRY}")
grown = {name: size - tables_before.get(name, 0) for name, size in tables()[0].items()}
print("tables that grew: " + ", ".join(f"{name} {size / 1e6:.2f} MB" for name, size in sorted(grown.items(), key=lambda row: -row[1])[:8]))
tally.check(len(slopes) >= 4 or not chosen.long, f"all was measured: {list(slopes)}")
print(f"written {(samples[-1][1]['written'] - before['written']) / 1e6:.0f} MB in {SECONDS} s; afterwards {after['memory'] / 1e6:.1f} MB, "
      f"{after['descriptors']} descriptors, disk {after['disk'] / 1e6:.1f} MB; before {before['memory'] / 1e6:.1f} MB, {before['descriptors']}, "
      f"{before['disk'] / 1e6:.1f} MB")
tally.check(server.stop() == 0, "it ends as it should")
tally.end()
