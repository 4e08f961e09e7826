"""Attacks that once found something, end to end: names that are escape sequences, a text of 300 KB in one piece, a token that has messages
read aloud, makes sessions or wakes the agent without end. Others of their kind are in `bad_starts.py` (too little memory, files that others
can read), `bad_disk.py` (damage that the database does not see), `cli.py` (approvals), `limits.py` (connections of other users), `access.py`
(tokens limited to sessions), `hostile.py` (large frames), `memory.py`, and, of a gateway's goodbye and of words that look like housekeeping,
in `LinkDeadlineTests` and `HistoryServiceTests`."""

import concurrent.futures
import json
import re
import time

from harness import DemoGateway, EventStream, Serve, Tally, options, run_ladle, until
from scripted_gateway import Gateway

options()
tally = Tally()


NASTY = "x\x1b[2J\x1b]0;title\x07\r\nforged line \u202egnp.exe \u009b31m"
# Whatever moves a cursor, ends a line or turns the direction of what follows.
UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def names():
    """The gateway's own session key and texts, on the way to a terminal and inside JSON."""
    gateway = Gateway()
    server = Serve(gateway=gateway.url).linked()
    key = f"agent:main:{NASTY}"
    run = {"runId": "run-1", "sessionKey": key}
    tool = {"phase": "start", "name": "exec", "toolCallId": "call_1", "args": {"command": NASTY}}
    for number, (stream, data) in enumerate((("lifecycle", {"phase": "start", "startedAt": 1}), ("tool", tool),
                                             ("assistant", {"text": NASTY, "delta": NASTY})), 1):
        gateway.connections[-1].event("agent", {**run, "seq": number, "stream": stream, "ts": number, "data": data})
    shown = until(lambda: server.json("GET", "/v1/activity")[1]["runs"], what="the run")
    paths = ["/v1/activity", "/v1/status", "/v1/events?timeout=1&snapshot=true", f"/v1/runs/{shown[0]['id']}"]
    for path in paths:
        for form in ("text/plain", "application/json", "application/x-ndjson", "text/event-stream"):
            status, fields, body = server.call("GET", path, headers={"Accept": form})
            if status == 406:
                continue
            text = body.decode()
            unsafe = UNSAFE.findall(text if "plain" in fields["content-type"] else text.replace("\r\n", "\n"))
            tally.check(status == 200 and not unsafe, f"{path} as {form}: {status} {unsafe} in {text!r}")
            # A reply keeps its lines.
            if "plain" in fields["content-type"] and "/runs/" not in path:
                tally.check(not re.search(r"^forged line", text, re.M), f"{path} as {form} has a line of its own: {text!r}")
    for command in (["activity"], ["runs"], ["status"], ["watch", "--timeout", "1"]):
        done = run_ladle(*command, "--state", server.state, errors="surrogateescape")
        if done.returncode == 64:
            continue
        tally.check(not UNSAFE.findall(done.stdout), f"ladle {command}: {done.stdout!r}")
    server.kill()


def long_text():
    """A piece of 300 KB, and the same text once more for a reader that comes back: what a client of docs/events.md shows."""
    gateway = Gateway()
    server = Serve(gateway=gateway.url).linked()
    text = "".join(f"{number} wörter 👩🏽‍🚀\n" for number in range(12_000))
    run = {"runId": "run-1", "sessionKey": "agent:main:main"}

    def read(stream):
        shown, largest = [], 0
        for _, kind, data in stream:
            largest = max(largest, len(json.dumps(data, ensure_ascii=False).encode()))
            if kind == "run.delta":
                units = data["text"].encode("utf-16-le")
                shown = ([] if data.get("replace") else shown[:data["offset"]]) + [units[n:n + 2] for n in range(0, len(units), 2)]
            if b"".join(shown).decode("utf-16-le", "replace").strip() == text.strip():
                return largest
        return f"{len(shown)} units"

    first = EventStream(server, "?types=run.*")
    connection = gateway.connections[-1]
    connection.event("agent", {**run, "seq": 1, "stream": "lifecycle", "ts": 1, "data": {"phase": "start", "startedAt": 1}})
    connection.event("agent", {**run, "seq": 2, "stream": "assistant", "ts": 2, "data": {"text": text, "delta": text}})
    second = None
    for reader in (first, second):
        reader = reader or EventStream(server, "?types=run.*&snapshot=true")
        largest = read(reader)
        tally.check(isinstance(largest, int) and largest <= 131_072, f"a text of {len(text.encode())} bytes: {largest}")
        reader.close()
    server.kill()


def speech():
    """A token that has messages read aloud without end: it gets its share, and the owner's turn comes at once. Readers of one text share
    a recording and no turns."""
    gateway = DemoGateway("--release", "october", "--speed", "0.1")
    server = Serve("--limits-speech", "3", gateway=gateway.url).linked()
    for number in range(5):
        server.json("POST", "/v1/messages?wait=60", {"text": f"echo {number}"})
    said = [one["id"] for one in server.json("GET", "/v1/messages")[1]["messages"] if one["role"] == "assistant"]
    tally.check(len(said) == 5, f"what is read aloud: {said}")
    bearers = [{"Authorization": f"Bearer {server.make_token(name, 'read')['token']}"} for name in ("one", "other")]

    def read(id, bearer):
        status, _, body = server.call("GET", f"/v1/messages/{id}/speech", headers=bearer)
        return status if status == 200 else json.loads(body)["code"]
    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        first = [pool.submit(read, id, bearers[0]) for id in said[:3]]
        time.sleep(0.5)
        shared = [pool.submit(read, id, bearers[1]) for id in said[:3]]
        time.sleep(0.5)
        owner = pool.submit(read, said[4], None)
        got = [[one.result() for one in several] for several in (first, shared, [owner])]
    tally.check(sorted(map(str, got[0])) == ["200", "200", "SPEECH_BUSY"], f"one token has two messages read at a time: {got[0]}")
    tally.check(set(got[1]) == {200}, f"another token has its turn, and shares recordings: {got[1]}")
    tally.check(got[2] == [200], f"and the owner: {got[2]}")

    # Each new recording costs the owner money, and is counted; the same one again is not.
    for number in range(14):
        server.json("POST", "/v1/messages?wait=60", {"text": f"echo once more {number}"})
    said = [one["id"] for one in server.json("GET", "/v1/messages")[1]["messages"] if one["role"] == "assistant"][-14:]
    bearer = {"Authorization": f"Bearer {server.make_token('third', 'read')['token']}"}
    began = time.monotonic()
    told = [server.call("GET", f"/v1/messages/{id}/speech", headers=bearer) for id in said]
    made = sum(status == 200 for status, _, _ in told)
    most = 3 + (time.monotonic() - began) / 20 + 1
    tally.check(0 < made <= most, f"a token has {made} of {len(said)} messages read aloud, at most {most:.0f}")
    refused = [(status, fields, body) for status, fields, body in told if status != 200]
    tally.check(refused and all(status == 429 and json.loads(body)["code"] == "RATE_LIMITED" and fields.get("retry-after")
                                and fields.get("ratelimit", "").startswith('"speech"') for status, fields, body in refused),
                f"the others are refused, with the limit: {refused[:2]}")
    tally.check(read(said[0], bearer) == 200 and read(said[-1], None) == 200, "what was read before is free, and the owner has no limit")
    server.kill()


def endless_sessions():
    """Sessions without a first message count like sends: the gateway keeps each."""
    server = Serve().linked()
    bearer = {"Authorization": f"Bearer {server.make_token('maker', 'control')['token']}"}
    began = time.monotonic()
    answers = [server.json("POST", "/v1/sessions", {"label": f"room {number}"}, bearer) for number in range(120)]
    made = sum(status == 201 for status, _ in answers)
    most = 60 + time.monotonic() - began + 1
    tally.check(made <= most, f"a token makes {made} sessions, at most {most:.0f}")
    refused = {(status, answer["code"]) for status, answer in answers if status != 201}
    tally.check(refused == {(429, "RATE_LIMITED")}, f"and the others are refused: {refused}")
    tally.check(server.json("POST", "/v1/sessions", {"label": "mine"})[0] == 201, "the owner makes one all the same")

    # And so do words that wake the agent.
    bearer = {"Authorization": f"Bearer {server.make_token('caller', 'send')['token']}"}
    began = time.monotonic()
    woken = sum(server.json("POST", "/v1/wake", {"text": f"the door {number}"}, bearer)[0] == 202 for number in range(60))
    most = 5 + time.monotonic() - began + 1
    tally.check(0 < woken <= most, f"a token wakes the agent {woken} times, at most {most:.0f}")
    server.kill()


names()
long_text()
speech()
endless_sessions()
tally.end()
