"""Lets Ladle kill itself at every named point of an entry's way, while entries in every state are on disk beside it.

A point is armed in a debug build by LADLE_TEST_KILL_POINT=name:n. After each death the entries that were at rest are as
before, the one that moved ends, and the gateway has seen it once if and only if it counts as delivered."""

import collections
import http.client
import json
import pathlib
import queue
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import threading
import time

import harness
from harness import ROOT, FaultyGateway, NotStarted, Serve, Tally, later, options, scratch, until

OPTIONS = options(workers=(3, 3))
# A release has no points to die at.
if b"LADLE_TEST_KILL_POINT" not in pathlib.Path(harness.LADLE).read_bytes():
    subprocess.run(["swift", "build", "--product", "ladle"], cwd=ROOT, check=True)
    harness.LADLE = str(ROOT / ".build/debug/ladle")
TERMINAL = {"delivered", "failed", "cancelled", "expired"}
FAR = later(20 * 86_400)

# What the gateway and the sender do, and where on the entry's way Ladle dies of it.
POINTS = [
    ("plain", "enqueue.write"), ("plain", "enqueue.committed"),
    ("plain", "sending.write"), ("plain", "sending.committed"),
    ("plain", "frame.before"), ("plain", "frame.after"),
    ("plain", "answer.acknowledged"), ("plain", "accepted.write"), ("plain", "accepted.committed"),
    ("plain", "run.ended"), ("plain", "delivered.write"), ("plain", "delivered.committed"),
    ("doubt", "answer.noAnswer"), ("doubt", "unconfirmed.write"), ("doubt", "unconfirmed.committed"),
    ("doubt", "search.reported"), ("doubt", "search.reported:3"), ("doubt", "delivered.write"),
    ("lost", "sending.write:2"), ("lost", "frame.before:2"), ("lost", "frame.after:2"), ("lost", "accepted.write"),
    ("later", "answer.rejected"), ("later", "retrying.write"), ("later", "retrying.committed"),
    ("later", "frame.before:2"), ("later", "frame.after:2"), ("later", "accepted.committed"),
    ("refused", "answer.rejected"), ("refused", "failed.write"), ("refused", "failed.committed"),
    ("again", "queued.write"), ("again", "queued.committed"), ("again", "frame.after:2"),
    ("cancel", "cancelled.write"), ("cancel", "cancelled.committed"),
    ("expire", "expired.write"), ("expire", "expired.committed"),
    ("plain", "checkpoint"), ("doubt", "checkpoint"), ("later", "checkpoint"),
    ("plain", "after-append:2"), ("plain", "after-sync:3"), ("doubt", "after-append:4"), ("later", "after-sync:4"),
]


class World:
    """One gateway and one state directory, in which many deaths follow each other."""

    def __init__(self, tally):
        self.tally = tally
        self.folder = pathlib.Path(scratch())
        self.state = scratch()
        self.seen = self.folder / "accepted.ndjson"
        self.gateway = FaultyGateway("--record", str(self.seen))
        self.count = 0
        self.matrix = {}
        ladle = self.serve().linked()
        self.rest = self.lay_out(ladle)
        ladle.kill()

    def serve(self, point=None):
        env = {"LADLE_TEST_KILL_POINT": point} if point else {}
        return Serve("--log-level", "error", state=self.state, gateway=self.gateway.url, env=env)

    def faults(self, **faults):
        self.gateway.control("DELETE", "faults")
        if faults:
            self.gateway.control("POST", "faults", json.dumps(faults).encode())

    def lay_out(self, ladle):
        """Entries in every state that lasts."""
        def send(session, text="rest", **more):
            return ladle.json("POST", "/v1/messages", {"session": f"rest-{session}", "text": text, **more})[1]["id"]

        def reaches(entry, state):
            until(lambda: ladle.json("GET", f"/v1/outbox/{entry}")[1]["state"] == state, what=state)
            return entry
        found = {"delivered": reaches(send("delivered"), "delivered"),
                 "queued": send("queued", notBefore=FAR),
                 "cancelled": send("cancelled", notBefore=FAR)}
        ladle.call("DELETE", f"/v1/outbox/{found['cancelled']}")
        self.faults(sendError=1, sendErrorCode="INVALID_REQUEST")
        found["failed"] = reaches(send("failed"), "failed")
        self.faults(sendError=1, retryAfterMs=1_800_000)
        found["retrying"] = reaches(send("retrying"), "retrying")
        self.faults(sendError=1, retryAfterMs=60_000)
        found["expired"] = reaches(send("expired", ttlSeconds=1), "expired")
        self.faults(closeBeforeAck=1)
        found["unconfirmed"] = reaches(send("unconfirmed", "/model large"), "unconfirmed")
        self.gateway.control("POST", "restart?keep=false")
        self.faults()
        ladle.linked()
        time.sleep(0.3)
        reaches(found["unconfirmed"], "unconfirmed")
        return found

    def on_disk(self):
        """Every entry's state as a reader of the files finds it."""
        with tempfile.TemporaryDirectory() as copy:
            for file in pathlib.Path(self.state).glob("ladle.db*"):
                shutil.copy(file, copy)
            with sqlite3.connect(f"{copy}/ladle.db") as database:
                return dict(database.execute("SELECT id, state FROM outbox").fetchall())

    # MARK: One death

    def run(self, scenario, point):
        self.count += 1
        name = f"{scenario} {point}"
        text = f"{name} {self.count}"
        self.faults(**{
            "doubt": {"closeBeforeAck": 1}, "lost": {"loseSend": 1},
            "later": {"sendError": 1}, "expire": {"sendError": -1, "retryAfterMs": 60_000},
            "refused": {"sendError": 1, "sendErrorCode": "INVALID_REQUEST"},
            "again": {"sendError": 1, "sendErrorCode": "INVALID_REQUEST"},
        }.get(scenario, {}))
        entry = None
        try:
            ladle = self.serve(point)
        except NotStarted:
            # What lay there brought it to the point before it could say that it listens.
            ladle = None
        if ladle:
            try:
                # The death is expected wherever the sender happens to be.
                entry = self.send(ladle.linked(), scenario, text)
                self.play(ladle, scenario, entry)
            except (OSError, http.client.HTTPException):
                pass
            try:
                ladle.process.wait(15)
            except subprocess.TimeoutExpired:
                ladle.kill(signal.SIGTERM)
            self.tally.check(ladle.process.poll() == -9, f"{name}: dies there ({ladle.process.poll()})")
        states = self.on_disk()
        self.matrix[name] = set(states.values())
        for state, rest in self.rest.items():
            self.tally.check(states.get(rest) == state, f"{name}: the {state} entry is {states.get(rest)}")
        if entry:
            self.tally.check(entry in states, f"{name}: accepted and gone")
        self.faults()
        ladle = self.serve().linked()
        try:
            self.settle(ladle, scenario, name, text, entry)
        finally:
            ladle.kill()

    def send(self, ladle, scenario, text):
        body = {"session": f"move-{self.count}", "text": text}
        if scenario == "cancel":
            body["notBefore"] = FAR
        if scenario == "expire":
            body["ttlSeconds"] = 1
        status, answer = ladle.json("POST", "/v1/messages", body, {"Idempotency-Key": f"key-{self.count}"})
        assert status == 202, answer
        return answer["id"]

    def play(self, ladle, scenario, entry):
        if scenario == "cancel":
            ladle.call("DELETE", f"/v1/outbox/{entry}")
        if scenario == "again":
            until(lambda: ladle.json("GET", f"/v1/outbox/{entry}")[1]["state"] == "failed", what="failed")
            ladle.call("POST", f"/v1/outbox/{entry}/retry")

    def settle(self, ladle, scenario, name, text, entry):
        again = self.send(ladle, scenario, text)
        if entry:
            self.tally.check(again == entry, f"{name}: the key leads to the same entry")
        entry = again

        def find():
            return ladle.json("GET", f"/v1/outbox/{entry}")[1]
        if scenario == "cancel" and find()["state"] == "queued":
            ladle.call("DELETE", f"/v1/outbox/{entry}")
        if scenario == "again":
            until(lambda: find()["state"] in TERMINAL, what=f"{name}: an end")
            if find()["state"] == "failed":
                ladle.call("POST", f"/v1/outbox/{entry}/retry")
        try:
            until(lambda: find()["state"] in TERMINAL, 20, what=f"{name}: an end")
        except TimeoutError as late:
            self.tally.check(False, f"{late}: {find()}")
            return
        end = find()["state"]
        wanted = {"cancel": {"cancelled"}, "expire": {"expired"}, "refused": {"failed", "delivered"}}
        self.tally.check(end in wanted.get(scenario, {"delivered"}), f"{name}: ends {find()}")
        ran = sum(json.loads(line)["text"] == text for line in self.seen.read_text().splitlines())
        self.tally.check(ran == (end == "delivered"), f"{name}: {end} and ran {ran} times")
        for state, rest in self.rest.items():
            now = ladle.json("GET", f"/v1/outbox/{rest}")[1]["state"]
            self.tally.check(now == state, f"{name}: the {state} entry is {now} after the restart")


def with_its_gateway(tally):
    """`--demo`: the gateway dies in the same instant, younger than a second, and another one is there at once. That it is another one
    shows by the clocks, so the message is given to it instead of being thought at work."""
    server = Serve("--demo-speed", "1").linked()
    entry = server.json("POST", "/v1/messages", {"text": "use a tool slowly please"})[1]["id"]
    until(lambda: server.json("GET", f"/v1/runs/{entry}")[1].get("state") == "running", 20, 0.01, "a run")
    server.kill()
    server = server.again()
    row = lambda: server.json("GET", f"/v1/outbox/{entry}")[1]
    until(lambda: row()["state"] == "delivered", 20, 0.05, lambda: f"delivered: {row()}")
    run = until(lambda: (found := server.json("GET", f"/v1/runs/{entry}")[1])["state"] == "completed" and found, 20, what="its end")
    tally.check("use a tool slowly please" in run["text"], f"answered: {run}")
    server.stop()


def main():
    tally = Tally()
    work = queue.Queue()
    for item in POINTS:
        work.put(item)
    worlds = []

    def worker():
        world = World(tally)
        worlds.append(world)
        while True:
            try:
                item = work.get_nowait()
            except queue.Empty:
                return
            try:
                world.run(*item)
            except Exception as error:
                tally.check(False, f"{item}: {error!r}")
    threads = [threading.Thread(target=worker) for _ in range(OPTIONS.workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    beside = collections.Counter(state for world in worlds for states in world.matrix.values() for state in states)
    print("on disk at the deaths: " + ", ".join(f"{state} {count}" for state, count in sorted(beside.items())))
    for state in ("queued", "sending", "retrying", "accepted", "unconfirmed", "delivered", "failed", "cancelled", "expired"):
        tally.check(beside[state] > 0, f"some death finds an entry {state}")
    with_its_gateway(tally)
    print(f"{len(POINTS)} deaths and one with the gateway")
    tally.end()


main()
