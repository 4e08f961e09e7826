"""Another version's state directory: an older one is brought up to date with all that is in it; a newer one is set aside as it
is, sends are refused until somebody decides, and either decision works."""

import datetime
import hashlib
import json
import pathlib
import re
import shutil
import sqlite3
import subprocess
import time

from harness import LADLE, ROOT, DemoGateway, EventStream, Serve, Tally, later, options, run_ladle, scratch, until

options()
tally = Tally()
gateway = DemoGateway()


def filled():
    """A stopped server with a conversation, a token and a message for later; what it held."""
    server = Serve(gateway=gateway.url).linked()
    tally.check(server.call("POST", "/v1/messages?wait=20", b"hello", {"Content-Type": "text/plain"})[0] == 200, "a send")
    tally.check(server.json("POST", "/v1/messages", {"text": "for later", "notBefore": later()})[0] == 202, "a message for later")
    last = server.status()["events"]["last"]
    token = server.make_token("phone", "read")["token"]
    tally.check(server.stop() == 0, "a clean stop")
    return server.state, last, token


def database(state):
    return pathlib.Path(state, "ladle.db")


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def recover(state, *words, code=0):
    run = run_ladle("outbox", "recover", "--json", "--state", state, *words)
    tally.check(run.returncode == code, f"outbox recover {words}: {run}")
    return json.loads(run.stdout or "{}")


# An older one: from before there were tokens, and before entries had their time in a column.
state, last, token = filled()
with sqlite3.connect(database(state)) as connection:
    modules = dict(connection.execute("SELECT module, version FROM schema_version"))
    tally.check({"access", "outbox"} <= modules.keys(), f"each part has its version: {modules}")
    connection.execute("ALTER TABLE outbox DROP COLUMN ttl_ms")
    for column in ("dispatch_skew_ms", "mode", "joined_run", "deferred_at", "deferred_behind", "equals_before"):
        connection.execute(f"ALTER TABLE outbox DROP COLUMN {column}")
    connection.execute("ALTER TABLE outbox_payload DROP COLUMN files")
    connection.execute("DROP INDEX outbox_stop")
    connection.execute("DROP TRIGGER outbox_message_removed")
    connection.execute("UPDATE schema_version SET version = 1 WHERE module = 'outbox'")
    connection.execute("DROP TABLE token")
    connection.execute("DELETE FROM schema_version WHERE module = 'access'")
connection.close()
pathlib.Path(state, "admin-token").unlink()
server = Serve(state=state, gateway=gateway.url).linked()
tally.check("was set aside" not in server.output, "an older database is taken over")
stream = EventStream(server, last_id=last)
tally.check(next(iter(stream))[2]["resume"] == "recovered", "streams go on over the upgrade")
stream.close()
texts = [message["text"] for message in server.json("GET", "/v1/messages")[1]["messages"]]
tally.check("hello" in texts, f"its conversation is there: {texts}")
authorize = {"Authorization": f"Bearer {server.token}"}
tally.check(server.call("GET", "/v1/status", headers=authorize)[0] == 200, "what is new in it works")
tally.check(server.call("GET", "/v1/status", headers={"Authorization": f"Bearer {token}"})[0] == 401, "what it did not have is not there")
server.stop()
with sqlite3.connect(database(state)) as connection:
    tally.check(dict(connection.execute("SELECT module, version FROM schema_version")) == modules, "all parts are up to date")
    times = set(connection.execute("SELECT ttl_ms FROM outbox"))
    tally.check(times == {(48 * 3_600_000,)}, f"the time of each entry, whenever it was for: {times}")
connection.close()

# Databases of 0.1.0 that was killed: in a run, behind a frame, and before the end of a run was on disk. All of it is there afterwards,
# what was open goes on, and no message is published again. The upgrade itself is killed too.
def of_killed(script):
    """The database in a state directory, with its times moved to now."""
    text = script.read_text()
    last = max(int(at) for at in re.findall(r"^INSERT INTO event VALUES\(\d+,(\d+)", text, re.M))
    shift = int(time.time() * 1000) - last - 5_000

    def moved(found):
        at = datetime.datetime.fromisoformat(found[0].replace("Z", "+00:00")) + datetime.timedelta(milliseconds=shift)
        return at.strftime("%Y-%m-%dT%H:%M:%S.") + f"{at.microsecond // 1000:03}Z"
    text = re.sub(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", moved, text)
    text = re.sub(rf"\b{str(last)[:4]}\d{{9}}\b", lambda found: str(int(found[0]) + shift), text)
    state = scratch()
    with sqlite3.connect(database(state)) as connection:
        connection.executescript("PRAGMA journal_mode = WAL;" + text)
    connection.close()
    return state


for script in sorted((ROOT / "Tests/Data/databases").glob("*.sql")):
    state = of_killed(script)
    with sqlite3.connect(database(state)) as connection:
        runs = {run["id"]: run for (body,) in connection.execute("SELECT body FROM run") for run in [json.loads(body)]}
        steps = {id: [json.loads(body) for (body,) in connection.execute("SELECT body FROM run_step WHERE run = ? ORDER BY seq", [id])]
                 for id in runs}
        entries = dict(connection.execute("SELECT id, state FROM outbox"))
        said = {(message["id"], message["state"]) for (data,) in connection.execute("SELECT data FROM event WHERE type = 'message'")
                for message in [json.loads(data)["message"]]}
        last = json.loads(connection.execute("SELECT data FROM event ORDER BY seq DESC").fetchone()[0])["id"]
    connection.close()
    for moment in range(5):
        killed = subprocess.Popen([LADLE, "serve", "--state", state, "--listen", "127.0.0.1:0", "--gateway", "ws://127.0.0.1:1"],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(moment * 0.03)
        killed.kill()
        killed.wait()
    server = Serve(state=state, gateway=gateway.url).linked()
    tally.check("was set aside" not in server.output, f"{script.name}: it is taken over: {server.output}")
    stream = EventStream(server, last_id=last)
    tally.check(next(iter(stream))[2]["resume"] == "recovered", f"{script.name}: streams go on over the upgrade")
    ended = [id for id, run in runs.items() if "endedAt" in run]
    for id in ended:
        shown = server.json("GET", f"/v1/runs/{id}")[1]
        tally.check(shown.pop("steps") == steps[id] and shown == runs[id], f"{script.name}: run {id}: {shown}")
    listed = {run["id"] for run in server.json("GET", "/v1/runs?limit=200")[1]["runs"]}
    tally.check(runs.keys() <= listed, f"{script.name}: open runs too: {runs.keys() - listed}")

    def states():
        return {entry["id"]: entry["state"] for entry in server.json("GET", "/v1/outbox?limit=200")[1]["entries"]}
    until(lambda: set(states().values()) == {"delivered", "queued"}, 60, what=lambda: f"{script.name}: the end of {states()}")
    tally.check(states().keys() == entries.keys(), f"{script.name}: every entry")
    tally.check([id for id, now in states().items() if now == "queued"] == [id for id, was in entries.items() if was == "queued"],
                f"{script.name}: what is for later waits")
    server.stop()
    again = []
    for _, kind, event in stream:
        if kind == "message" and (event["message"]["id"], event["message"]["state"]) in said:
            again.append(event["message"])
    tally.check(not again, f"{script.name}: no message is published again: {again}")

# A newer one, and each of the three ways on.
for way in ("--restore", "--discard", "back"):
    state, last, token = filled()
    connection = sqlite3.connect(database(state))
    connection.execute("UPDATE schema_version SET version = 99 WHERE module = 'outbox'")
    connection.commit()
    connection.close()
    before = digest(database(state))
    server = Serve(state=state, gateway=gateway.url).linked()
    tally.check("newer version" in server.output and "ladle outbox recover" in server.output, f"{way}: it says what is wrong: {server.output}")
    status, _, body = server.call("POST", "/v1/messages", b"now", {"Content-Type": "text/plain"})
    problem = json.loads(body)
    tally.check(status == 503 and problem["code"] == "STORE_UNAVAILABLE", f"{way}: sends are refused: {status} {body}")
    tally.check("ladle outbox recover" in problem.get("hint", ""), f"{way}: with what to do: {problem}")
    tally.check(server.call("GET", "/v1/messages")[0] == 200, f"{way}: reads go on")
    recover(state, "--restore", code=75)
    shown = recover(state)
    kept = pathlib.Path(shown["path"])
    kept = kept / "ladle.db" if kept.is_dir() else kept
    tally.check(digest(kept) == before, f"{way}: it is kept byte for byte")
    tally.check("newer version" in shown["reason"], f"{way}: with the reason: {shown}")
    waiting = [entry["text"] for entry in shown["entries"]]
    tally.check(waiting == ["for later"], f"{way}: what waits in it: {waiting}")
    server.stop()
    if way == "back":
        # The newer program again, with its file where it was.
        for file in pathlib.Path(state).glob("ladle.db*"):
            file.unlink()
        shutil.copy(kept, database(state))
        shutil.rmtree(shown["path"]) if pathlib.Path(shown["path"]).is_dir() else None
        connection = sqlite3.connect(database(state))
        connection.execute("UPDATE schema_version SET version = ? WHERE module = 'outbox'", [modules["outbox"]])
        connection.commit()
        connection.close()
    else:
        recover(state, way)
    server = Serve(state=state, gateway=gateway.url).linked()
    tally.check(recover(state) == {}, f"{way}: nothing is set aside any more")
    waiting = [entry["text"] for entry in server.json("GET", "/v1/outbox")[1]["entries"] if entry["state"] == "queued"]
    tally.check(waiting == ([] if way == "--discard" else ["for later"]), f"{way}: then waits {waiting}")
    tally.check(server.call("POST", "/v1/messages?wait=20", b"again", {"Content-Type": "text/plain"})[0] == 200, f"{way}: sends work")
    keeps = server.call("GET", "/v1/status", headers={"Authorization": f"Bearer {token}"})[0] == 200
    tally.check(keeps == (way == "back"), f"{way}: tokens come back with their file alone: {keeps}")
    server.stop()
tally.end()
