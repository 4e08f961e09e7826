"""Chat, runs, live activity and the event stream as a person at a terminal has them: curl beside a follower, the scripted runs of the demo
on both protocols, runs started elsewhere, snapshots, every form on one cursor, bad input, retention, and the goodbye of a server
that stops."""

import contextlib
import json
import pathlib
import re
import sqlite3
import subprocess
import threading
import time
import urllib.parse

from follower import Follower, Texts, cursor, place, rested_log
from harness import DemoGateway, EventStream, FaultyGateway, Serve, Tally, options, until

options()
tally = Tally()
TEXT = {"Content-Type": "text/plain"}
PLAIN = {"Accept": "text/plain"}
TIME = r" \((\d+ms|\d+(\.\d)?s)\)"

# text, reply, tool steps in their order as (state, label). The times are the gateway's.
SCRIPTS = [
    ("book a train", "Your train is chosen: **ICE 704**", [
        ("done", 'Searched the web for "train Berlin to Hamburg tomorrow morning"' + TIME), ("done", r"Browsed trains\.example" + TIME),
        ("done", "Typed on the page" + TIME), ("done", "Clicked on the page" + TIME), ("done", "Took a screenshot" + TIME)]),
    ("fetch https://user:secret@example.org/a?token=abcdef", "The page says: Example Domain", [("done", r"Fetched example\.org" + TIME)]),
    ("append the weather to weather.txt", "Done: I appended the current weather", [("done", r"Updated weather\.txt" + TIME)]),
    ("failing command", "The command failed with exit code 1.", [("failed", r"Printing text failed \(exit 1, .*\)")]),
    ("parallel tools", "All three are done.", [
        ("done", "Checked the time" + TIME), ("done", r"Read weather\.txt" + TIME), ("done", 'Searched the web for "sunset today"' + TIME)]),
    ("think it over", "The answer is 42.", []),
    ("silent please", "", []),
]


def send(server, text, query="", headers=None):
    return server.call("POST", f"/v1/messages?{query}", text.encode(), {**TEXT, **(headers or {})}, timeout=60)


def reply(server, text, session="main", wait=40):
    status, _, body = send(server, text, f"session={session}&wait={wait}")
    return status, json.loads(body)


def curl(*arguments):
    return subprocess.run(["curl", "-s", *arguments], capture_output=True, text=True, timeout=60).stdout


# What is said of a run on the stream must build up to the run itself.
def check_run(events, run, name):
    kinds = [event["type"] for event in events if event["type"].startswith("run.")]
    tally.check(kinds[0] == "run.started" and kinds[-1] == "run.ended" and kinds.count("run.ended") == 1, f"{name}: order {kinds}")
    texts, steps, numbers = Texts(), {}, []
    for event in events:
        if event["type"] == "run.delta":
            texts.delta(event)
        if event["type"] == "run.step":
            before = steps.get(event["step"]["id"])
            steps[event["step"]["id"]] = event["step"]
            tally.check(before is None or before["seq"] == event["step"]["seq"], f"{name}: a step keeps its place")
            tally.check(before is None or before["state"] in ("running", "waiting"), f"{name}: {before} changed after its end")
        if "id" in event:
            numbers.append(place(event["id"]))
    tally.check(numbers == sorted(set(numbers)), f"{name}: ids grow")
    text = texts.of(run["id"])
    tally.check(text == run["text"] and not texts.problems, f"{name}: the pieces give {text!r}, the run says {run['text']!r}; {texts.problems}")
    tally.check(sorted(steps.values(), key=lambda s: s["seq"]) == sorted(run["steps"], key=lambda s: s["seq"]), f"{name}: the steps told are the run's")
    return steps


def scripts(release, protocol):
    gateway = FaultyGateway("--speed", "4", "--release", release)
    server = Serve(gateway=gateway.url).linked()
    tally.check(server.link()["protocol"] == protocol, f"{release} speaks protocol {protocol}")
    follower = Follower(server.port)
    answers = {}
    threads = [
        threading.Thread(target=lambda text=text, n=n: answers.update({text: reply(server, text, f"agent:main:s{n}")}))
        for n, (text, _, _) in enumerate(SCRIPTS)]
    for thread in threads:
        thread.start()
    seen = until(lambda: (a := server.json("GET", "/v1/activity")[1])["active"] > 2 and a, what="several runs")
    tally.check(seen["headline"] == f"{seen['active']} active" and len(seen["runs"]) == seen["active"], f"headline {seen['headline']}")
    lines = server.call("GET", "/v1/activity", headers=PLAIN)[2].decode()
    tally.check(re.search(r"^agent:main:s\d  \S", lines, re.M), f"activity as text: {lines!r}")
    for thread in threads:
        thread.join()
    for text, said, tools in SCRIPTS:
        status, body = answers[text]
        name = f"{release}: {text}"
        if not tally.check(status == 200, f"{name}: {status} {body}"):
            continue
        run = body["run"]
        until(lambda: follower.of(run["id"])[-1:] and any(e["type"] == "run.ended" for e in follower.of(run["id"])), what=f"the end of {text}")
        check_run(follower.of(run["id"]), server.json("GET", f"/v1/runs/{run['id']}")[1], name)
        tally.check(said in body["reply"] if said else body["reply"] == "", f"{name}: reply {body['reply']!r}")
        got = [(s["state"], s["label"]) for s in sorted(run["steps"], key=lambda s: s["seq"]) if s["kind"] == "tool"]
        fits = len(got) == len(tools) and all(g[0] == w[0] and re.fullmatch(w[1], g[1]) for g, w in zip(got, tools))
        tally.check(fits, f"{name}: steps {got}")
        tally.check("secret" not in json.dumps(run["steps"]) and "abcdef" not in json.dumps(run["steps"]), f"{name}: a secret in a step")
        tally.check("(0ms)" not in json.dumps(run["steps"]), f"{name}: an invented time")
    parallel = [s for s in answers["parallel tools"][1]["run"]["steps"] if s["kind"] == "tool"]
    tally.check(max(s["startedAt"] for s in parallel) < min(s["endedAt"] for s in parallel), f"{release}: parallel calls overlap")
    thoughts = [e["step"] for e in follower.events if e["type"] == "run.step" and e["step"]["kind"] == "thinking"]
    tally.check(len({s["label"] for s in thoughts}) > 4 and all(s["category"] == "thinking" for s in thoughts), f"{release}: {len(thoughts)} thoughts told")
    status, body = reply(server, "provider error", "agent:main:bad")
    tally.check(status == 502 and body["code"] == "RUN_FAILED" and ("exploded" in body["detail"] or "LLM request failed" in body["detail"]), f"{release}: provider error {status} {body}")
    kept = server.json("GET", "/v1/messages?session=agent:main:bad")[1]["messages"]
    tally.check(any(m.get("error") for m in kept) and all(m["text"] or m.get("error") for m in kept), f"{release}: the failure in the conversation {kept}")
    elsewhere(server, gateway, follower, release)
    snapshot(server, release)
    follower.stop()
    server.stop()
    gateway.stop()


def elsewhere(server, gateway, follower, release):
    """Somebody else's message, straight to the gateway."""
    query = urllib.parse.urlencode({"session": "agent:main:elsewhere", "text": "fetch https://example.net/"})
    gateway.control("POST", f"say?{query}")
    ended = until(lambda: [e for e in follower.events if e["type"] == "run.ended" and e.get("session") == "agent:main:elsewhere"], what="a run from elsewhere")
    run = server.json("GET", f"/v1/runs/{ended[0]['runId']}")[1]
    tally.check(run["state"] == "completed" and "Example Domain" in run["text"], f"{release}: a run from elsewhere {run['state']} {run['text']!r}")
    told = until(lambda: [e["message"]["role"] for e in follower.events if e["type"] == "message" and e["session"] == "agent:main:elsewhere"], what="its messages")
    listed = server.json("GET", "/v1/sessions")[1]["sessions"]
    tally.check("agent:main:elsewhere" in [s["key"] for s in listed], f"{release}: sessions {listed} {told}")
    tally.check(any(a["id"] == "main" and a["default"] for a in server.json("GET", "/v1/agents")[1]["agents"]), f"{release}: agents")


def snapshot(server, release):
    """Opened in the middle of a run: what it says first and what follows build the whole run."""
    done = []
    waiting = threading.Thread(target=lambda: done.append(reply(server, "book a train once more", "agent:main:snap")))
    waiting.start()
    until(lambda: (r := server.json("GET", "/v1/runs?active=true&session=agent:main:snap")[1]["runs"]) and len(r[0]["steps"]) > 2, what="steps")
    follower = Follower(server.port, "?snapshot=true")
    run = until(lambda: next((e["run"] for e in follower.events if e["type"] == "run.ended"), None), what="the end")
    waiting.join()
    follower.stop()
    kinds = [e["type"] for e in follower.events]
    tally.check(kinds[:3] == ["hello", "summary", "run.started"], f"{release}: a snapshot begins {kinds[:4]}")
    texts, steps = Texts(), {}
    for event in follower.events:
        if event["type"] == "run.delta":
            texts.delta(event)
        if event["type"] == "run.step":
            steps[event["step"]["id"]] = event["step"]
    whole = server.json("GET", f"/v1/runs/{run['id']}")[1]
    tally.check(texts.of(run["id"]) == whole["text"], f"{release}: snapshot and stream give {texts.of(run['id'])!r}")
    tally.check({s["id"]: s for s in whole["steps"]} == steps, f"{release}: snapshot and stream give all {len(steps)} steps")


def as_shown():
    """The two lines of the README, in demo mode."""
    server = Serve("--demo-speed", "4").linked()
    start = cursor(server)
    follower = Follower(server.port)
    answer = curl("-H", "Accept: text/plain", "-d", "append the weather to weather.txt", f"{server.url}/v1/messages?wait=30")
    tally.check(answer.startswith("Done: I appended the current weather"), f"curl -d answered {answer!r}")
    told = until(lambda: any(e["type"] == "run.ended" for e in follower.events) and [e["type"] for e in follower.events], what="the run")
    print("live_runs: curl -N saw " + ", ".join(dict.fromkeys(told)))
    labels = [e["step"]["label"] for e in follower.events if e["type"] == "run.step" and e["step"]["kind"] == "tool"]
    print(f"live_runs: {' -> '.join(dict.fromkeys(labels))}")
    tally.check(labels[0] == "Appending to weather.txt..." and re.fullmatch(r"Updated weather\.txt" + TIME, labels[-1]), f"labels {labels}")
    for text in ("/verbose on", "parallel"):
        reply(server, text)
    forms(server, start)
    bad_input(server)
    # The last event of a stream says why and when to come back.
    server.stop()
    until(lambda: follower.events[-1]["type"] == "shutdown", what="shutdown")
    tally.check(follower.events[-1]["reason"] == "shutting_down" and 1000 <= follower.events[-1]["retry"] <= 10_000, f"goodbye {follower.events[-1]}")
    again = Serve("--demo-speed", "4", state=server.state)
    resumed = next(iter(EventStream(again, last_id=start)))
    tally.check(resumed[2]["resume"] == "recovered", f"after a restart: {resumed}")
    again.stop()


def forms(server, start):
    """One cursor, four forms, every filter."""
    events = rested_log(server, start)
    ids = [e["id"] for e in events]
    tally.check(ids == [f"{start.partition('.')[0]}.{n + place(start) + 1}" for n in range(len(ids))], "ids count on")
    count = len(ids)
    sse = [i for i, _, d in EventStream(server, f"?since={start}&limit={count}") if "id" in d and d["type"] != "hello"]
    lines = server.call("GET", f"/v1/events?since={start}&limit={count}", headers={"Accept": "application/x-ndjson"})[2].splitlines()
    ndjson = [e["id"] for e in map(json.loads, lines) if "id" in e and e["type"] != "hello"]
    text = server.call("GET", f"/v1/events?since={start}&limit={count}", headers=PLAIN)[2].decode().splitlines()
    tally.check(sse == ids and ndjson == ids, "SSE and NDJSON have what the long poll has")
    tally.check(len(text) >= count and any("Updated weather.txt" in line for line in text), f"text: a readable line an event, {text[:2]}")
    run = next(e["runId"] for e in events if e["type"] == "run.started")
    for query, fits in (
            ("types=run.*", lambda e: e["type"].startswith("run.")), ("types=message,outbox", lambda e: e["type"] in ("message", "outbox")),
            (f"run={run}", lambda e: e.get("runId") == run), ("session=main", lambda e: e.get("session") == "agent:main:main"),
            ("session=other", lambda e: False), (f"types=run.ended&run={run}", lambda e: e["type"] == "run.ended" and e["runId"] == run)):
        page = server.json("GET", f"/v1/events?poll=0&since={start}&{query}")[1]["events"]
        tally.check(page == [e for e in events if fits(e)], f"{query}: {len(page)} events")


def bad_input(server):
    for path, field in (
            ("/v1/events?types=nonsense", "types"), ("/v1/events?types=run.", "types"), ("/v1/events?session=agent::x", "session"),
            ("/v1/events?heartbeat=1", "heartbeat"), ("/v1/events?limit=0", "limit"), ("/v1/events?timeout=x", "timeout"),
            ("/v1/events?poll=301", "poll"), ("/v1/events?snapshot=perhaps", "snapshot"), ("/v1/events?since=12", "since"),
            ("/v1/events?since=a.b", "since"), ("/v1/events?since=a.-1", "since"), ("/v1/events?since=a.99999999999999999999", "since"),
            ("/v1/events?compress=br", "compress"), ("/v1/messages?limit=501", "limit"),
            ("/v1/runs?active=maybe", "active"), ("/v1/runs?limit=-1", "limit"), ("/v1/runs?before=none", "before")):
        try:
            status, _, body = server.call("GET", path)
            problem = json.loads(body)
            tally.check(status in (400, 404) and problem.get("field") == field, f"{path}: {status} {problem}")
        except OSError as failure:
            tally.check(False, f"{path}: {failure}")
    status, _, body = server.call("GET", "/v1/events", headers={"Last-Event-ID": "rubbish"})
    tally.check(status == 400 and json.loads(body)["field"] == "Last-Event-ID", f"Last-Event-ID: {status} {body}")


def retention():
    """A small window under a hundred times its events: what is kept, what an old cursor gets, and the size on disk."""
    gateway = DemoGateway()
    server = Serve("--events-keep", "100", gateway=gateway.url).linked()
    folder = pathlib.Path(server.state)

    def size():
        """Of the database; its log comes and goes, and has a limit of its own."""
        with contextlib.closing(sqlite3.connect(f"file:{folder}/ladle.db?mode=ro", uri=True)) as database:
            return database.execute("PRAGMA page_count").fetchone()[0] * database.execute("PRAGMA page_size").fetchone()[0]

    def window():
        events = server.status()["events"]
        return tuple(place(events.get(end, ".0")) for end in ("first", "last"))

    def fill(target):
        while window()[1] < target:
            for n in range(10):
                send(server, f"echo {n} " + "filling " * 100, f"session=agent:main:fill{n % 5}")
            server.at_rest()

    start = cursor(server)
    fill(400)
    early = size()
    fill(900)
    # Forgetting goes by slices of 256.
    until(lambda: window()[1] - window()[0] < 100 + 256, what="forgetting")
    first, last = window()
    tally.check(size() < 2 * early + (1 << 20), "the disk is bounded by the window")
    print(f"live_runs: {last} events told, {last - first + 1} kept; {early / 1024:.0f} KiB on disk after 400, {size() / 1024:.0f} KiB at the end")
    stream = iter(EventStream(server, last_id=start))
    hello, reset = next(stream)[2], next(stream)[2]
    tally.check(hello["resume"] == "reset" and reset["oldest"].endswith(f".{first}"), f"an expired cursor: {hello} {reset}")
    tally.check(next(iter(EventStream(server, f"?since={start.partition('.')[0]}.{first}")))[2]["resume"] == "recovered", "one inside the window goes on")


began = time.monotonic()
as_shown()
for release, protocol in (("march", 3), ("autumn", 4)):
    scripts(release, protocol)
    print(f"live_runs: {release}, protocol {protocol}: {len(SCRIPTS)} scripts, elsewhere, a snapshot; {time.monotonic() - began:.0f} s", flush=True)
retention()
tally.end()
