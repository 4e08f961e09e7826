"""Another version's state directory: an older one is brought up to date with all that is in it; a newer one is set aside as it
is, sends are refused until somebody decides, and either decision works."""

import hashlib
import json
import pathlib
import shutil
import sqlite3
import subprocess
import time

from harness import LADLE, DemoGateway, EventStream, Serve, Tally, options, until

options()
tally = Tally()
gateway = DemoGateway()


def filled():
    """A stopped server with a conversation, a token and a message for later; what it held."""
    server = Serve(gateway=gateway.url).linked()
    tally.check(server.call("POST", "/v1/messages?wait=20", b"hello", {"Content-Type": "text/plain"})[0] == 200, "a send")
    later = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 36_000))
    tally.check(server.json("POST", "/v1/messages", {"text": "for later", "notBefore": later})[0] == 202, "a message for later")
    last = server.json("GET", "/v1/status")[1]["events"]["last"]
    token = server.json("POST", "/v1/tokens", {"name": "phone", "scopes": ["read"]})[1]["token"]
    tally.check(server.stop() == 0, "a clean stop")
    return server.state, last, token


def database(state):
    return pathlib.Path(state, "ladle.db")


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def recover(state, *words, code=0):
    run = subprocess.run([LADLE, "outbox", "recover", "--json", "--state", state, *words], capture_output=True, text=True)
    tally.check(run.returncode == code, f"outbox recover {words}: {run}")
    return json.loads(run.stdout or "{}")


# An older one: from before there were tokens, and before entries had their time in a column.
state, last, token = filled()
with sqlite3.connect(database(state)) as connection:
    modules = dict(connection.execute("SELECT module, version FROM schema_version"))
    tally.check({"access", "outbox"} <= modules.keys(), f"each part has its version: {modules}")
    connection.execute("ALTER TABLE outbox DROP COLUMN ttl_ms")
    connection.execute("ALTER TABLE outbox DROP COLUMN dispatch_skew_ms")
    connection.execute("ALTER TABLE outbox_payload DROP COLUMN files")
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
