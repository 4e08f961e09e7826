"""Readers of every form that are cut at random places, and a server that is killed at random times, while runs go on.

What each reader has in the end is compared with the log itself, read by long poll from its beginning: nothing missing,
nothing twice, nothing out of order, nothing different. Texts put together from `run.delta` must be the runs' own texts.
"""

import http.client
import json
import random
import signal
import socket
import struct
import threading
import time
import urllib.parse

from follower import Texts, cursor, place, rested_log
from harness import EventStream, FaultyGateway, Serve, Tally, options, until

chosen = options(drops=(150, 1000), readers=(16, 24), seed=(1, 1), followers=(0, 0))
SESSIONS = [f"agent:main:soak{n}" for n in range(4)]
TEXTS = ["append the weather to weather.txt", "parallel", "failing command", "think it over", "provider error", "train"]
FORMS = [
    ("sse", ""), ("sse", "types=run.*"), ("ndjson", ""), ("poll", ""), ("sse", "session=agent:main:soak1"),
    ("ndjson", "types=run.*,message"), ("poll", "types=outbox,message"), ("sse", "snapshot=true&heartbeat=event"),
]

FORM = {"sse": "text/event-stream", "ndjson": "application/x-ndjson"}

tally = Tally()
chance = random.Random(chosen.seed)
lock = threading.Lock()
counts = {"drops": 0, "kills": 0, "gatewayDrops": 0, "connects": 0, "recovered": 0, "reset": 0, "refused": 0}
finished = threading.Event()  # no more messages, no more cuts: readers catch up
closing = threading.Event()


def count(name):
    with lock:
        counts[name] += 1


gateway = FaultyGateway("--speed", "3")
serve = Serve(gateway=gateway.url)
serve.linked()
# The owner of each host is another caller, so one who sends to several has a token.
sender = {"Authorization": f"Bearer {serve.token}"} if chosen.followers else {}
followers = [Serve("--cluster-name", f"follower{n}", follow=serve).following() for n in range(chosen.followers)]
beginning = cursor(serve).partition(".")[0] + ".0"


class Reader(threading.Thread):
    """One client: keeps its cursor and its events, and comes back after every cut."""

    def __init__(self, number, form, query):
        super().__init__(daemon=True)
        self.form, self.query, self.number, self.port = form, query, number, serve.port
        self.chance = random.Random(chosen.seed * 1000 + number)
        self.cursor = beginning
        self.events = []  # (id, data)
        self.problems = []
        self.texts = Texts()

    def run(self):
        while not closing.is_set():
            # Each connection goes to any of the hosts.
            self.port = self.chance.choice([serve, *followers]).port
            try:
                {"sse": self.stream, "ndjson": self.stream, "poll": self.poll}[self.form]()
            except (ConnectionRefusedError, ConnectionResetError, BrokenPipeError):
                count("refused")
                time.sleep(0.05)
            except (OSError, http.client.HTTPException):
                pass

    def cutting(self):
        """How this connection ends: after so many seconds, or after so many events."""
        if finished.is_set():
            return 2.0, 1 << 30
        if self.chance.random() < 0.5:
            return self.chance.uniform(0.02, 3), 1 << 30
        return 3, self.chance.randrange(0, 60)

    def path(self, **extra):
        pairs = [p for p in self.query.split("&") if p] + [f"{k}={v}" for k, v in extra.items()]
        return "/v1/events" + ("?" + "&".join(pairs) if pairs else "")

    # -- streams

    def stream(self):
        seconds, events = self.cutting()
        end = time.monotonic() + seconds
        by_header = self.form == "sse" and self.chance.random() < 0.7
        query = self.query if by_header else "&".join(filter(None, [self.query, f"since={self.cursor}"]))
        stream = EventStream(self, f"?{query}" if query else "", self.cursor if by_header else None, 5, FORM[self.form])
        cut = False
        try:
            stream.socket.settimeout(max(seconds, 0.05))
            count("connects")
            if stream.status == 503 and followers:
                raise ConnectionRefusedError  # its leader has been away for too long
            if stream.status != 200:
                self.problems.append(f"status {stream.status}")
            for seen, (_, _, data) in enumerate(stream):
                self.take(data)
                if seen >= events or time.monotonic() > end:
                    cut = True
                    break
        except TimeoutError:
            cut = True
        finally:
            self.problems += stream.problems
            if cut and not finished.is_set():
                count("drops")
                if self.chance.random() < 0.5:  # a reset in place of an orderly end
                    stream.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            stream.file.close()
            stream.socket.close()

    # -- long poll

    def poll(self):
        wait = 0 if finished.is_set() else self.chance.choice([0, 1, 2])
        limit = self.chance.choice([1, 7, 1000])
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request("GET", self.path(poll=wait, since=self.cursor, limit=limit), headers={"Accept": "application/json"})
            count("connects")
            if not finished.is_set() and self.chance.random() < 0.3:
                time.sleep(self.chance.uniform(0, 0.3))
                count("drops")
                return
            answer = connection.getresponse()
            body = json.loads(answer.read())
            if answer.status == 503 and followers:
                raise ConnectionRefusedError
            if answer.status != 200:
                self.problems.append(f"poll answered {answer.status}")
                return
            if "reset" in body:
                count("reset")
            for data in body["events"]:
                self.take(data)
            self.cursor = body["cursor"]
            if not wait and not body["events"]:
                time.sleep(0.1)
        finally:
            connection.close()

    # -- what arrived

    def take(self, data):
        kind = data["type"]
        if kind == "hello":
            count("recovered" if data["resume"] == "recovered" else "reset")
            if data["resume"] != "recovered" or data["id"] != self.cursor:
                self.problems.append(f"hello {data['resume']} at {data['id']}, asked for {self.cursor}")
            self.texts.resume()
            return
        if kind == "run.delta":
            return self.texts.delta(data)
        if "id" not in data:
            return
        self.cursor = data["id"]
        self.events.append(data)
        if kind == "run.ended":
            self.texts.end(data["run"])

def post(texts):
    """Sends until told to stop; a message whose answer did not come is sent again under its key."""
    number = 0
    while not finished.is_set():
        number += 1
        session = SESSIONS[number % len(SESSIONS)]
        mark = f"soak-{number}"
        if number % 3:
            words = " ".join(f"w{chance.randrange(1000)}\u00e9\U0001f600" for _ in range(chance.randrange(5, 60)))
            text = f"echo {mark} {words}"
            texts[mark] = f"{mark} {words}"
        else:
            text = f"{TEXTS[number % len(TEXTS)]} {mark}"
            texts[mark] = None
        body = json.dumps({"text": text, "session": session}).encode()
        while True:
            try:
                status, _, answer = chance.choice([serve, *followers]).call(
                    "POST", "/v1/messages", body, {"Content-Type": "application/json", "Idempotency-Key": mark, **sender}, timeout=5)
                if status == 202:
                    break
                # A leader that was lost before it answered may have taken it: the key says the same.
                if status not in (429, 503, *([502] if followers else [])):
                    tally.check(False, f"a send answered {status} {answer[:200]!r}")
            except (OSError, http.client.HTTPException):
                pass
            time.sleep(0.1)
        if number % 5 == 0:  # somebody else's message, straight to the gateway
            query = urllib.parse.urlencode({"session": "agent:main:elsewhere", "text": f"echo elsewhere {number}"})
            gateway.control("POST", f"say?{query}")
        time.sleep(chance.uniform(0.1, 0.5))


def disturb():
    """kill -9 and a restart on the same port and state; between them, cuts of the link to the gateway."""
    global serve
    every = max(chosen.drops // 25, 20)
    while not finished.is_set():
        with lock:
            done = counts["drops"]
        if done >= (counts["kills"] + 1) * every:
            serve.kill(signal.SIGKILL)
            time.sleep(chance.uniform(0, 0.6))
            serve = serve.again()
            if followers:
                n = chance.randrange(len(followers))
                followers[n].kill(signal.SIGKILL)
                followers[n] = followers[n].again()
            count("kills")
        elif done >= (counts["gatewayDrops"] + 0.5) * every:
            gateway.control("POST", "drop")
            count("gatewayDrops")
        time.sleep(0.05)


expected_texts = {}
readers = [Reader(n, *FORMS[n % len(FORMS)]) for n in range(chosen.readers)]
workers = [threading.Thread(target=post, args=(expected_texts,), daemon=True), threading.Thread(target=disturb, daemon=True)]
started = time.monotonic()
for thread in readers + workers:
    thread.start()
until(lambda: counts["drops"] >= chosen.drops, seconds=900, every=0.1, what=f"{chosen.drops} cuts")
finished.set()
for thread in workers:
    thread.join(60)


def is_quiet():
    if json.loads(gateway.control("GET", "state"))["activeRuns"]:
        return False
    return serve.is_at_rest()


try:
    until(is_quiet, seconds=120, every=0.2, what="an empty outbox and the end of all runs")
except TimeoutError as problem:
    print(serve.call("GET", "/v1/status", headers={"Accept": "text/plain"})[2].decode())
    print(serve.call("GET", "/v1/activity", headers={"Accept": "text/plain"})[2].decode())
    tally.check(False, str(problem))

def unaccounted():
    """Messages whose run is not known: one that began and ended while nobody looked is read from the gateway's history."""
    entries = serve.json("GET", "/v1/outbox?limit=500")[1]["entries"]
    return [e["id"] for e in entries if serve.call("GET", f"/v1/runs/{e.get('runId')}")[0] != 200]


try:
    until(lambda: not unaccounted(), seconds=20, every=0.2, what="the run of each message")
except TimeoutError:
    pass  # told below, message by message


truth = rested_log(serve, beginning)
sequences = [place(event["id"]) for event in truth]
tally.check(sequences == list(range(1, len(truth) + 1)), "the log counts without a hole")
by_id = {event["id"]: event for event in truth}


def wanted(query):
    asked = dict(part.split("=") for part in query.split("&") if part)
    types = asked.get("types", "*").split(",")

    def fits(event):
        if "session" in asked and event.get("session") != asked["session"]:
            return False
        return any(t in ("*", event["type"]) or (t.endswith(".*") and event["type"].startswith(t[:-1])) for t in types)

    return [event["id"] for event in truth if fits(event)]


def caught_up(reader):
    goal = wanted(reader.query)
    return not goal or any(event["id"] == goal[-1] for event in reader.events[-20:])


for reader in readers:
    try:
        until(lambda: caught_up(reader), seconds=30, every=0.05, what=f"the last event at {reader.form} {reader.query}")
    except TimeoutError as problem:
        tally.check(False, str(problem))
closing.set()

lost = repeated = disordered = different = 0
for reader in readers:
    goal, got = wanted(reader.query), [event["id"] for event in reader.events]
    have = set(got)
    lost += len(set(goal) - have)
    repeated += len(got) - len(have)
    numbers = [place(id) for id in got]
    disordered += sum(1 for a, b in zip(numbers, numbers[1:]) if b <= a)
    different += sum(1 for event in reader.events if by_id.get(event["id"]) != event)
    problems = reader.problems + reader.texts.problems
    tally.check(not problems, f"reader {reader.number} ({reader.form} {reader.query}): {problems[:3]}")
    tally.check(got == goal, f"reader {reader.number} ({reader.form} {reader.query}) has {len(got)} of {len(goal)} events")

# What came of the runs: each message exactly one run, ended, with the text its script says.
ended, replies = {}, {}
for event in truth:
    if event["type"] == "run.ended":
        tally.check(event["runId"] not in ended, f"run {event['runId']} ended once")
        ended[event["runId"]] = event["run"]
starts = [event["runId"] for event in truth if event["type"] == "run.started"]
started_runs = set(starts)
tally.check(len(starts) == len(started_runs), f"{len(starts) - len(started_runs)} runs started twice")
tally.check(started_runs == set(ended), f"every run that started has ended: {len(started_runs ^ set(ended))} differ")
entries = {}
for event in truth:
    if event["type"] == "outbox":
        entries[event["entry"]["id"]] = event["entry"]
wrong = []
for entry in entries.values():
    mark = next((w for w in entry.get("text", "").split() if w.startswith("soak-")), None)
    run = ended.get(entry.get("runId"))
    if entry["state"] != "delivered" or run is None:
        wrong.append(f"{mark}: {entry['state']} by {entry.get('proof')}, run {entry.get('runId')} {run and run['state']}")
    elif expected_texts.get(mark) is not None and run["text"] != expected_texts[mark]:
        wrong.append(f"{mark}: {run['state']} with {len(run['text'])} of {len(expected_texts[mark])} characters, ends {run['text'][-30:]!r}")
    else:
        stored = serve.json("GET", f"/v1/runs/{run['id']}")[1]
        if stored["text"] != run["text"] or stored["state"] != run["state"]:
            wrong.append(f"{mark}: the run's row differs from its last event")
        calls = [step["toolCallId"] for step in stored["steps"] if "toolCallId" in step]
        if len({step["id"] for step in stored["steps"]}) != len(stored["steps"]) or len(set(calls)) != len(calls):
            wrong.append(f"{mark}: a step stands twice")
        if any(step["state"] in ("running", "waiting") for step in stored["steps"]):
            wrong.append(f"{mark}: a step goes on behind the end")
tally.check(not wrong, f"{len(wrong)} of {len(entries)} messages came to something else: {wrong[:5]}")
tally.check(len(entries) == len(expected_texts), f"{len(entries)} entries for {len(expected_texts)} messages")

print(
    f"soak: {counts['drops']} cuts of {len(readers)} readers, {counts['kills']} kill -9, {counts['gatewayDrops']} cuts of the link, "
    f"{counts['connects']} connections ({counts['recovered']} resumed, {counts['reset']} reset) in {time.monotonic() - started:.0f} s")
print(
    f"soak: {len(truth)} events, {len(ended)} runs, {len(entries)} messages; {sum(r.texts.assembled for r in readers)} texts put together, "
    f"{sum(r.texts.interrupted for r in readers)} ended while away")
print(f"soak: {lost} lost, {repeated} repeated, {disordered} out of order, {different} different")
tally.check(lost == repeated == disordered == different == 0, "nothing lost, repeated, out of order or different")
tally.check(counts["reset"] == 0, "no reset inside the window")
tally.end()
