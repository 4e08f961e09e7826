"""Kills Ladle, and in some rounds its gateway, at random instants while messages go through, and looks at what arrived.

The gateway keeps its transcripts over a crash, so every message has to run exactly once.
What a sender sends again after a torn answer carries the same Idempotency-Key.
Some messages are stopped or taken back; once that is promised, none of them is sent.
With --others a second Ladle, which is not killed, writes into the same sessions at the same gateway and keeps them busy; a part of its
messages joins the runs at work. Then runs take their time, and each answer that Ladle tells has to be that of its message.
With --database 1 Ladle's state is on a PostgreSQL server, which crashes too."""

import collections
import datetime
import http.client
import json
import pathlib
import random
import re
import subprocess
import threading
import time

from follower import Follower
from harness import LADLE, FaultyGateway, Serve, Tally, json_lines, options, scratch, until
from postgres_server import PostgresServer, available

OPTIONS = options(rounds=(40, 500), seed=(0, 0), sessions=(4, 4), others=(0, 0), release=("", ""), database=(0, 0))
ROUNDS = OPTIONS.rounds
SEED = OPTIONS.seed or random.SystemRandom().randrange(1, 1 << 32)
# Two clients of one session wait for each other's runs, and after each kill for what the gateway may go on with.
PAUSE, PATIENCE = (8, 900) if OPTIONS.others else (0.25, 240)
TERMINAL = {"delivered", "failed", "cancelled", "expired"}
# Its text is that of no poster.
CURE = "a message to a new session"
# What the gateway had received when the promise was made, it may write a moment later.
GRACE = 2


class Poster(threading.Thread):
    """One session's sender: number after number, each until it is accepted."""

    def __init__(self, session, port, deadline, name="number"):
        super().__init__(daemon=True)
        self.session, self.port, self.deadline, self.name = session, port, deadline, name
        self.accepted = []  # (number, entry id)
        self.stops = {}  # entry id: the time of the promise, and which
        self.repeats = 0
        self.replays = 0
        self.refused = []
        self.stopping = threading.Event()
        self.start()

    def run(self):
        number = 0
        while not self.stopping.is_set():
            number += 1
            while not self.post(number):
                if time.monotonic() > self.deadline:
                    return
                self.repeats += 1
                time.sleep(0.005)
            if self.name == "number" and is_stopped(number) and not self.refused:
                self.stop(self.accepted[-1][1])
            time.sleep(random.random() * PAUSE)

    def stop(self, entry):
        """Takes the message back if it waits, else stops its run; asks again where an answer is torn."""
        while time.monotonic() < self.deadline:
            status, answer = self.ask("POST", f"/v1/runs/{entry}/abort")
            if answer.get("code") == "RUN_NOT_STARTED":
                status, answer = self.ask("DELETE", f"/v1/outbox/{entry}")
            if status in (200, 202):
                what = answer.get("state") if "kind" in answer else "stopped" if status == 202 or answer["aborted"] else "over"
                self.stops[entry] = (time.time(), what)
                return
            time.sleep(0.02)

    def ask(self, method, path):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=40)
        try:
            connection.request(method, path)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        except (OSError, http.client.HTTPException, ValueError):
            return None, {}
        finally:
            connection.close()

    def post(self, number):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            body = {"session": self.session, "text": words(self.session, number, self.name)}
            if self.name != "number" and is_stopped(number):
                body["mode"] = "say-now"
            connection.request("POST", "/v1/messages", json.dumps(body), {
                "Content-Type": "application/json", "Idempotency-Key": f"{self.session}-{number}"})
            answer = connection.getresponse()
            entry = json.loads(answer.read())
        except (OSError, http.client.HTTPException, ValueError):
            return False
        finally:
            connection.close()
        if answer.status == 409 and entry.get("code") == "IDEMPOTENCY_IN_FLIGHT":
            return False
        if answer.status != 202:
            self.refused.append((number, answer.status, entry))
            return True
        self.replays += answer.getheader("Idempotency-Replayed") == "true"
        self.accepted.append((number, entry["id"]))
        return True


def is_stopped(number):
    return number % 4 == 0


def words(session, number, name="number"):
    return f"{session} {name} {number}"


def answers(server, posters):
    """What a server tells of the runs of its messages: those of another text than the answer to theirs, and those not yet over.
    The demo gateway's answer repeats the message, and behind it names each message that has joined the run."""
    false, open_ = [], []
    states = collections.Counter()
    for poster in posters:
        for number, entry in poster.accepted:
            run = server.json("GET", f"/v1/runs/{entry}")[1]
            states[run.get("state", run.get("code"))] += 1
            told, text = run.get("text", ""), f"Hello! You said: {words(poster.session, number, poster.name)}"
            told = re.sub(rf"( Noted: {poster.session} other \d+\.)+$", "", told)
            if told != text if run.get("state") == "completed" else not text.startswith(told):
                false.append((text, run))
            if run.get("state") in ("queued", "running"):
                open_.append(run)
    return false, open_, states


def seconds(time_of_row):
    return datetime.datetime.fromisoformat(time_of_row.replace("Z", "+00:00")).timestamp()


def loop(tally, *release):
    print(f"{' '.join(release)}, seed {SEED}, {ROUNDS} rounds", flush=True)
    dice = random.Random(SEED)
    random.seed(SEED + 1)
    folder = pathlib.Path(scratch())
    accepted_file = folder / "accepted.ndjson"
    pace = ["--speed", "4"] if OPTIONS.others else []
    gateway = FaultyGateway(*release, *pace, "--record", str(accepted_file), "--recall")
    server = PostgresServer() if OPTIONS.database else None
    # Time for a server that comes up on a busy machine: less than a poster waits for its answer.
    database = ["--database", server.url(), "--database-patience", "8s"] if server else []
    kinds = {"ladle": 12, "gateway": 3, "both": 3, "start": 2, **({"database": 5} if server else {})}
    ladle = Serve("--log-level", "error", *database, gateway=gateway.url)
    other = Serve("--log-level", "error", gateway=gateway.url) if OPTIONS.others else None
    port, state = ladle.port, ladle.state
    deadline = time.monotonic() + ROUNDS * 10 + 120
    versions, told = collections.defaultdict(list), {}

    def note(event):
        entry = event["entry"]
        versions[entry["id"]].append(entry["version"])
        told[entry["id"]] = entry["state"]
    follower = Follower(port, "?types=outbox,reset", note)
    posters = [Poster(f"kill-{n}", port, deadline) for n in range(OPTIONS.sessions)]
    others = [Poster(f"kill-{n}", other.port, deadline, "other") for n in range(min(OPTIONS.others, OPTIONS.sessions))]
    kills = collections.Counter()
    began = time.monotonic()
    for _ in range(ROUNDS):
        time.sleep(dice.random() ** 2 * 0.6)
        what = dice.choices(list(kinds), list(kinds.values()))[0]
        kills[what] += 1
        if what == "database":
            server.restart("immediate")
            continue
        if what in ("gateway", "both"):
            gateway.kill()
        if what == "gateway":
            time.sleep(dice.random() * 0.1)
            gateway = gateway.again()
            continue
        ladle.kill()
        if what == "start":
            # Once more, while it comes up.
            early = subprocess.Popen(
                [LADLE, "serve", "--state", state, "--listen", f"127.0.0.1:{port}", "--gateway", gateway.url, "--token-file",
                 f"{state}/gateway-token", *database],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(dice.random() * 0.15)
            early.kill()
            early.wait()
        if what == "both" and dice.random() < 0.5:
            ladle = ladle.again()
            gateway = gateway.again()
        else:
            if what == "both":
                gateway = gateway.again()
            ladle = ladle.again()
    print(f"{ROUNDS} rounds in {time.monotonic() - began:.1f} s: {dict(kills)}", flush=True)

    for poster in posters + others:
        poster.stopping.set()
    for poster in posters + others:
        poster.join(30)
    accepted = {entry: (poster.session, number) for poster in posters for number, entry in poster.accepted}

    cures = []

    def settled():
        badges = ladle.json("GET", "/v1/outbox?state=queued,retrying&limit=1")[1]
        # As the reason asks: the gateway goes on with a run that was cut off, and then runs nothing more in that old session.
        if not cures and any("would refuse" in entry.get("blockedReason", "") for entry in badges["entries"]):
            cures.append(ladle.json("POST", "/v1/messages", {"session": "cure", "text": CURE}))
        return badges["pending"] == 0 and badges["unconfirmed"] == 0
    try:
        until(settled, PATIENCE, every=0.2, what="the end of every entry")
    except TimeoutError as late:
        print(late, json.dumps(ladle.json("GET", "/v1/outbox?state=queued,sending,retrying,accepted,unconfirmed")[1])[:3000])
    print(f"settled after {time.monotonic() - began:.1f} s", flush=True)

    refused = [refusal for poster in posters for refusal in poster.refused]
    tally.check(not refused, f"no send is refused: {refused[:3]}")
    tally.check(len(accepted) >= ROUNDS, f"{len(accepted)} messages accepted in {ROUNDS} rounds")

    ends = collections.Counter()
    states, never_sent = {}, set()
    unended, attempts = [], collections.Counter()
    for entry in accepted:
        found = ladle.json("GET", f"/v1/outbox/{entry}")[1]
        ends[found.get("state")] += 1
        states[entry] = found.get("state")
        if not found.get("attempts"):
            never_sent.add(entry)
        if found.get("state") not in TERMINAL:
            unended.append(found)
        for attempt in found.get("attempts", []):
            attempts[attempt["class"]] += 1
    tally.check(not unended, f"every 202 ends in a terminal state: {unended[:3]}")
    stops = {entry: stop for poster in posters for entry, stop in poster.stops.items()}
    stray = [entry for entry, state in states.items() if state != "delivered" and entry not in stops]
    tally.check(not stray, f"every message is delivered that nobody stopped: {stray[:3]}")

    if other:
        judge_others(tally, other, others, accepted_file)
        false, open_, runs = answers(ladle, posters)
        tally.check(not false, f"each answer is that of its message: {false[:3]}")
        tally.check(not open_, f"every run ends: {open_[:3]}")
        print(f"runs {dict(runs)}", flush=True)

    rows = [row for row in json_lines(accepted_file) if row["text"] != CURE and " other " not in row["text"]]
    texts = collections.Counter(row["text"] for row in rows)
    want = {words(session, number) for session, number in accepted.values()}
    must = {words(session, number) for entry, (session, number) in accepted.items() if states[entry] == "delivered"}
    tally.check(not must - set(texts), f"none is lost: {sorted(must - set(texts))[:5]}")
    promised = {entry: at for entry, (at, what) in stops.items() if what != "over"}
    sent_after = [row for row in rows if seconds(row["time"]) > promised.get(row["key"][:36], float("inf")) + GRACE]
    tally.check(not sent_after, f"none is sent that was stopped: {sent_after[:3]}")
    unsent = [entry for entry, state in states.items() if state == "cancelled" and entry in never_sent]
    sent_all_the_same = [row for row in rows if row["key"][:36] in unsent]
    tally.check(not sent_all_the_same, f"none is sent that was taken back in time: {sent_all_the_same[:3]}")
    twice = [row for row in rows if texts[row["text"]] > 1]
    tally.check(not twice, f"none runs twice: {twice[:4]}")
    tally.check(not set(texts) - want, f"nothing else runs: {sorted(set(texts) - want)[:5]}")
    for poster in posters:
        order = [int(row["text"].split()[-1]) for row in rows if row["text"].startswith(poster.session + " ")]
        late = [(before, after) for before, after in zip(order, order[1:]) if after < before]
        tally.check(not late, f"{poster.session} keeps its order: {late}")
    identities = {row["key"][:36] for row in rows}
    ran = {entry for entry, state in states.items() if state == "delivered"}
    tally.check(ran <= identities, "each 202 names the entry that ran")

    until(lambda: all(told.get(entry) in TERMINAL for entry in accepted), what="the last event")
    follower.stop()
    follower.judge(tally)
    jumps = [v for v in versions.values() if v != sorted(set(v))]
    gaps = [v for v in versions.values() if v != list(range(v[0], v[0] + len(v)))]
    tally.check(not jumps, f"versions of an entry only grow: {jumps[:3]}")
    tally.check(not gaps, f"no change of an entry is missing: {gaps[:3]}")
    missing = [entry for entry in accepted if told.get(entry) != states[entry]]
    tally.check(not missing, f"the stream tells every end: {missing[:3]}")
    print(f"{len(accepted)} accepted, {len(rows)} ran; {sum(p.repeats for p in posters)} torn posts sent again, "
          f"{sum(p.replays for p in posters)} replayed; stops {dict(collections.Counter(what for _, what in stops.values()))}; {follower.resumes} resumes; ends {dict(ends)}; attempts {dict(attempts)}")
    if server:
        events = [int(row[0]) for row in server.psql("SELECT seq FROM event ORDER BY seq")]
        tally.check(events == list(range(events[0], events[0] + len(events))), "the events in the table have neither gap nor repeat")
    ladle.kill()
    if other:
        other.kill()
    gateway.kill()
    if server:
        server.remove()


def judge_others(tally, other, posters, accepted_file):
    """The same questions about the messages of the second client."""
    def is_settled():
        badges = other.json("GET", "/v1/outbox?limit=1")[1]
        return badges["pending"] == 0 and badges["unconfirmed"] == 0
    try:
        until(is_settled, PATIENCE, every=0.2, what="the end of every entry of the other client")
    except TimeoutError as late:
        print(late)
    tally.check(not [r for p in posters for r in p.refused], "no send of the other client is refused")
    texts = collections.Counter(row["text"] for row in json_lines(accepted_file) if " other " in row["text"])
    entries = {words(p.session, number, p.name): other.json("GET", f"/v1/outbox/{entry}")[1] for p in posters for number, entry in p.accepted}
    missing = [text for text, entry in entries.items() if entry["state"] != "delivered" or not texts[text]]
    tally.check(not missing, f"every message of the other client is delivered: {[entries[text] for text in missing[:3]]}")
    twice = [text for text, count in texts.items() if count > 1]
    tally.check(not twice, f"none of the other client runs twice: {twice[:4]}")
    false, open_, runs = answers(other, posters)
    tally.check(not false, f"the other client has each answer: {false[:3]}")
    tally.check(not open_, f"every run of the other client ends: {open_[:3]}")
    joined = {text: entry["joinedRun"] for text, entry in entries.items() if "joinedRun" in entry}
    print(f"the other client: {len(entries)} accepted, {len(joined)} joined a run at work; runs {dict(runs)}", flush=True)
    strangers = []
    for text, run in joined.items():
        status, found = other.json("GET", f"/v1/runs/{run}")
        if status == 200 and found["state"] == "completed" and f" Noted: {text}." not in found["text"]:
            strangers.append((text, found))
    tally.check(not strangers, f"each joined the run that it names: {strangers[:3]}")


TALLY = Tally()
if OPTIONS.database and not available():
    print("left out: no PostgreSQL server is installed")
    TALLY.check(True, "")
    TALLY.end()
if OPTIONS.release:
    loop(TALLY, "--release", OPTIONS.release)
else:
    loop(TALLY, "--protocol", "4")
    # The older protocol shows no keys in its history: there the text and its time are the proof.
    loop(TALLY, "--protocol", "3")
if OPTIONS.long and not OPTIONS.release:
    # The newest releases keep messages on disk: 2026.10.2 and 2026.9.7.
    loop(TALLY, "--release", "october")
    loop(TALLY, "--release", "september")
print(f"seed {SEED}")
TALLY.end()
