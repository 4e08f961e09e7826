"""Approvals while Ladle, its link or its gateway dies: each decision is applied at most once, and each approval has exactly one
event that asks and one that ends it, over a stream that is resumed across all deaths. Then the time from a POST to the frame at
the gateway.

Before that the questions of the newest release, once through their whole life.

The gateway writes down each decision that arrives; a gateway that dies forgets what waits."""

import collections
import http.client
import json
import pathlib
import random
import threading
import time

from follower import Follower
from harness import EventStream, FaultyGateway, Serve, Stopwatch, Tally, json_lines, options, percentile, scratch, until

OPTIONS = options(rounds=(15, 100), seed=(0, 0), timed=(100, 1000))
ROUNDS = OPTIONS.rounds
SEED = OPTIONS.seed or random.SystemRandom().randrange(1, 1 << 32)
# How much of a POST may pass before its frame is at the gateway; for 99 in 100.
WIRE_MS = 5
# More waiting ones than that, and the next round waits.
MOST_WAITING = 12


class Approvals:
    """What a follower was told of each approval, over all deaths."""

    def __init__(self, port):
        self.events = collections.defaultdict(list)
        self.follower = Follower(port, "?types=approval,reset", lambda event: self.events[event["approval"]["id"]].append(event["approval"]))

    @property
    def open(self):
        return [id for id, events in list(self.events.items()) if events[-1]["state"] == "pending"]


class Deciders:
    """Decide what is told, from several connections at once, and again after a torn answer."""

    def __init__(self, told, port, dice):
        self.told, self.port, self.dice = told, port, dice
        self.stopping = False
        self.taken = set()
        # By approval: what was answered to whom wanted what.
        self.answers = collections.defaultdict(list)
        self.posts = collections.Counter()
        self.lock = threading.Lock()
        self.threads = [threading.Thread(target=self.run, daemon=True) for _ in range(4)]
        for thread in self.threads:
            thread.start()

    def run(self):
        while not self.stopping:
            with self.lock:
                waiting = [id for id in self.told.open if id not in self.taken]
                id = self.dice.choice(waiting) if waiting else None
                # Now and then two decide the same one, and not always alike.
                if id and self.dice.random() < 0.7:
                    self.taken.add(id)
                decision = self.dice.choice(["allow-once", "deny"])
                pause = self.dice.random() ** 2 * 0.4
            time.sleep(pause)
            if id:
                self.decide(id, decision)

    def decide(self, id, decision):
        end = time.monotonic() + 60
        while time.monotonic() < end and not self.stopping:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
            self.posts[id] += 1
            try:
                connection.request("POST", f"/v1/approvals/{id}", json.dumps({"decision": decision}),
                                   {"Content-Type": "application/json"})
                answer = connection.getresponse()
                body = json.loads(answer.read())
            except (OSError, http.client.HTTPException, ValueError):
                time.sleep(0.02)
                continue
            finally:
                connection.close()
            with self.lock:
                self.answers[id].append((decision, answer.status, body))
            if answer.status not in (429, 502, 503, 504):
                return
            time.sleep(0.05)

    def stop(self):
        self.stopping = True
        for thread in self.threads:
            thread.join(30)


def loop(tally, release):
    print(f"{release}, seed {SEED}, {ROUNDS} rounds", flush=True)
    dice = random.Random(SEED)
    file = pathlib.Path(scratch()) / "decisions.ndjson"
    gateway = FaultyGateway("--release", release, "--decisions", str(file))
    ladle = Serve("--log-level", "error", gateway=gateway.url)
    port = ladle.port
    ladle.linked()
    told = Approvals(port)
    deciders = Deciders(told, port, random.Random(SEED + 1))
    kills = collections.Counter()
    began = time.monotonic()
    for number in range(ROUNDS):
        # Each in a session of its own: an approval that nobody decides holds its session up.
        for place in range(3):
            life = "1s " if dice.random() < 0.2 else ""
            try:
                ladle.call("POST", "/v1/messages", {"session": f"r{number}-{place}", "text": f"approve {life}echo {number}-{place}"})
            except (OSError, http.client.HTTPException):
                pass
        time.sleep(dice.random() ** 2 * 0.8)
        what = dice.choices(["ladle", "gateway", "link", "lost", "unanswered", "both"], [8, 4, 4, 3, 3, 2])[0]
        kills[what] += 1
        if what == "link":
            gateway.control("POST", "drop")
        elif what in ("lost", "unanswered"):
            fault = {"lost": "loseDecision", "unanswered": "decideThenDrop"}[what]
            gateway.control("POST", f"faults?{fault}=1")
        else:
            if what != "ladle":
                gateway.kill()
            if what != "gateway":
                ladle.kill()
            if what != "ladle":
                gateway = gateway.again()
            if what != "gateway":
                ladle = ladle.again()
        until(lambda: len(told.open) < MOST_WAITING, 60, every=0.05, what="decisions")
    print(f"{ROUNDS} rounds in {time.monotonic() - began:.1f} s: {dict(kills)}", flush=True)
    gateway.control("DELETE", "faults")

    def unsent():
        return ladle.json("GET", "/v1/outbox?state=queued,sending,retrying&limit=1")[1]["entries"]

    def settled():
        link = ladle.link()
        waiting = ladle.json("GET", "/v1/approvals?limit=1")[1]
        # A message that has yet to go out asks for another one.
        return link["state"] == "online" and waiting["pending"] == 0 and not unsent() and not told.open
    # What went out in doubt on a gateway without a list ends with its time.
    until(settled, 150, every=0.2, what=lambda: f"the end of all: {ladle.json('GET', '/v1/approvals')[1]} {told.open} {unsent()}")
    time.sleep(1)
    until(settled, 150, every=0.2, what="the end of those that came last")
    deciders.stop()
    check(tally, ladle, told, deciders, json_lines(file))
    told.follower.stop()
    ladle.kill()
    gateway.kill()


def check(tally, ladle, told, deciders, record):
    applied = collections.defaultdict(list)
    for line in record:
        if line["outcome"] == "applied":
            applied[line["id"]].append(line["decision"])
    twice = {id: decisions for id, decisions in applied.items() if len(decisions) > 1}
    tally.check(not twice, f"each decision is applied at most once: {twice}")
    sent = collections.Counter(line["id"] for line in record)
    more = {id: (count, deciders.posts[id]) for id, count in sent.items() if count > deciders.posts[id]}
    tally.check(not more, f"no decision goes out by itself: {more}")

    told.follower.judge(tally)
    wrong = {id: [event["state"] for event in events] for id, events in told.events.items()
             if len(events) != 2 or events[0]["state"] != "pending" or events[1]["state"] == "pending"}
    tally.check(not wrong, f"each is asked for once and ends once: {wrong}")
    ends = {id: events[-1] for id, events in told.events.items()}
    states = collections.Counter(end["state"] for end in ends.values())
    tally.check(states["allowed"] and states["denied"], f"some were decided: {dict(states)}")
    unlike = {}
    for id, end in ends.items():
        now = ladle.json("GET", f"/v1/approvals/{id}")[1]
        if any(now.get(name) != end.get(name) for name in ("state", "decision", "decidedBy", "decidedAt")):
            unlike[id] = (end, now)
    tally.check(not unlike, f"the event tells what the resource is: {list(unlike.items())[:2]}")
    false = {id: (end["decision"], applied.get(id)) for id, end in ends.items()
             if end["state"] in ("allowed", "denied") and applied.get(id) != [end["decision"]]}
    tally.check(not false, f"what counts as decided was applied so: {false}")
    promised = {id: (decision, applied.get(id)) for id, answers in deciders.answers.items() for decision, status, _ in answers
                if status == 200 and applied.get(id) != [decision]}
    tally.check(not promised, f"a decision that was answered 200 was applied: {promised}")
    statuses = collections.Counter(status for answers in deciders.answers.values() for _, status, _ in answers)
    tally.check(set(statuses) <= {200, 409, 410, 429, 502, 503, 504}, f"nothing else is answered: {dict(statuses)}")
    print(f"{len(ends)} approvals ended {dict(states)}; {len(record)} frames, "
          f"{dict(collections.Counter(line['outcome'] for line in record))}; answers {dict(statuses)}; {told.follower.resumes} resumes")


def timed(tally):
    """From the call of the client to the frame at the gateway, by the clock of the host. Those in which another program had the processor
    when it was wanted, for a millisecond or more, tell of that program, and are left out."""
    file = pathlib.Path(scratch()) / "decisions.ndjson"
    gateway = FaultyGateway("--protocol", "4", "--decisions", str(file))
    ladle = Serve("--log-level", "error", gateway=gateway.url).linked()
    connection = http.client.HTTPConnection("127.0.0.1", ladle.port, timeout=20)
    stream = EventStream(ladle, "?types=approval")
    asked = (data["approval"]["id"] for _, name, data in stream if name == "approval" and data["approval"]["state"] == "pending")
    started, kept = {}, {}
    for number in range(OPTIONS.timed):
        ladle.call("POST", "/v1/messages", {"session": f"t{number}", "text": "approve date"})
        id = next(asked)
        body = json.dumps({"decision": "deny"})
        watch = Stopwatch(ladle, gateway)
        started[id] = time.monotonic_ns()
        connection.request("POST", f"/v1/approvals/{id}", body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        answer.read()
        kept[id] = watch.kept
        tally.check(answer.status == 200, f"decided: {answer.status}")
    spans = {line["id"]: (line["ns"] - started[line["id"]]) / 1e6 for line in json_lines(file) if line["id"] in started}
    own = [span for id, span in spans.items() if kept[id] < 0.001]
    tally.check(len(spans) == OPTIONS.timed, f"{len(spans)} decisions arrived of {OPTIONS.timed}")
    told = f"{len(own)} undisturbed ones of {len(spans)}"
    if own:
        told += f": median {percentile(own, 50):.2f} ms, p99 {percentile(own, 99):.2f} ms, worst {max(own):.2f} ms"
    print(f"POST to frame, {told}")
    # A debug build has no bar; a machine that leaves one in ten alone says enough.
    if OPTIONS.long:
        tally.check(len(own) * 10 >= len(spans) and percentile(own, 99) < WIRE_MS, f"99 in 100 are at the gateway within {WIRE_MS} ms, {told}")
    stream.close()


def questions(tally):
    """A question of the newest release over the deaths of Ladle and of its gateway, and a secret answer that no file keeps. The rest of
    their life: `QuestionRouteTests`, `QuestionServiceTests`."""
    gateway = FaultyGateway("--release", "autumn")
    ladle = Serve("--log-level", "error", gateway=gateway.url).linked()
    told = collections.defaultdict(list)
    follower = Follower(ladle.port, "?types=question", lambda event: told[event["question"]["id"]].append(event["question"]["state"]))

    def waiting():
        return ladle.json("GET", "/v1/questions")[1]["questions"]

    def ask(session, text):
        ladle.call("POST", "/v1/messages", {"session": session, "text": text})
        return until(lambda: next((q["id"] for q in waiting() if q["session"] == f"agent:main:{session}"), None), what="a question")

    secret = ask("one", "ask secret Which key?")
    status, answer = ladle.json("POST", f"/v1/questions/{secret}", {"answers": {"answer": "hunter2-secret"}})
    tally.check(status == 200 and answer["questions"][0]["answered"], f"a secret is taken: {answer}")
    lost = ask("two", "ask Who? me | you")
    # An event comes after the disk has it; the list shows a question before that.
    until(lambda: told[lost] == ["pending"], what="the event of the question")
    ladle.kill()
    ladle = ladle.again().linked()
    until(lambda: [q["id"] for q in waiting()] == [lost], what="the question after a restart of Ladle")
    gateway.kill()
    ladle.unlinked()
    listed = ladle.json("GET", "/v1/questions")[1]
    tally.check(not listed["live"] and [q["state"] for q in listed["questions"]] == ["unknown"], f"nobody knows: {listed}")
    status, answer = ladle.json("POST", f"/v1/questions/{lost}", {"answers": {"answer": "me"}})
    tally.check((status, answer["code"]) == (503, "GATEWAY_UNAVAILABLE"), f"nobody can be answered: {status} {answer}")
    gateway = gateway.again()
    # A restart of Ladle tells again what waits.
    until(lambda: told[lost] == ["pending", "pending", "unknown"], 60, what=lambda: f"the end of the lost one: {told[lost]}")
    follower.stop()
    follower.judge(tally)
    tally.check(told[secret] == ["pending", "answered"], f"events of the secret: {told[secret]}")
    tally.check("hunter2" not in json.dumps(follower.events), "no event has the secret")
    kept = [file for file in pathlib.Path(ladle.state).rglob("*") if file.is_file() and b"hunter2-secret" in file.read_bytes()]
    tally.check(not kept, f"no file has the secret: {kept}")
    ladle.kill()
    gateway.kill()


TALLY = Tally()
questions(TALLY)
timed(TALLY)
loop(TALLY, "june")
loop(TALLY, "march")
print(f"seed {SEED}")
TALLY.end()
