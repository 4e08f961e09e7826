"""Resumes the whole log, 100,000 durable events, in one connection, and watches the server's memory meanwhile.

The log is filled by runs of the demo gateway first; their rows are then repeated in the database, under the ids that
follow, until the window is full.
"""

import json
import pathlib
import socket
import sqlite3
import time

from follower import place
from harness import DemoGateway, EventStream, Serve, Tally, options, until

chosen = options(events=(100_000, 100_000))
tally = Tally()
begun = time.monotonic()
gateway = DemoGateway()
serve = Serve(gateway=gateway.url).linked()


def events():
    return serve.status()["events"]


for index, text in enumerate(["parallel", "think it over", "failing command", "echo " + "long answer " * 60] * 10):
    serve.json("POST", "/v1/messages", {"text": text, "session": f"agent:main:fill{index % 4}"})
serve.at_rest()
serve.stop()

# The same rows again and again, each with its own id in its data.
base = sqlite3.connect(pathlib.Path(serve.state) / "ladle.db")
epoch = base.execute("SELECT epoch FROM event_log").fetchone()[0]
rows = base.execute("SELECT seq, at, type, session, run, data FROM event ORDER BY seq").fetchall()
surplus = 1000  # what is forgotten at the start


def copies():
    for seq in range(rows[-1][0] + 1, chosen.events + surplus + 1):
        old, at, kind, session, run, data = rows[seq % len(rows)]
        yield seq, at, kind, session, run, data.replace(f'"{epoch}.{old}"'.encode(), f'"{epoch}.{seq}"'.encode(), 1)


with base:
    base.executemany("INSERT INTO event(seq, at, type, session, run, data) VALUES(?, ?, ?, ?, ?, ?)", copies())
size = base.execute("SELECT sum(length(data)) FROM event").fetchone()[0]
base.close()
# A reader that stands still is kept as long as this check needs it.
serve = Serve("--limits-write-stall", "10m", state=serve.state, gateway=gateway.url).linked()
until(lambda: place(events()["first"]) > surplus, what="the forgetting of the surplus")
first, last = (place(events()[end]) for end in ("first", "last"))
print(f"large: {time.monotonic() - begun:.0f} s; {last - first + 1} events kept, {size / 1048576:.0f} MiB of data, the oldest {first}")
# What was there at the start and is too much has gone, row for row; what the link has said since is forgotten with more.
said = last - (chosen.events + surplus)
tally.check(first > surplus and 0 <= last - first + 1 - chosen.events <= said,
            f"{chosen.events} events are kept, no fewer and of those from before no more: {first}, {last}")


def resume(after):
    """Reads on one connection to the end: events, wrong ones, memory before and at most, megabytes."""
    stream = EventStream(serve, last_id=f"{epoch}.{after}", timeout=60)
    before = highest = serve.resident()
    expected, wrong = after, 0
    for block_id, kind, data in stream:
        if kind == "hello":
            tally.check(data["resume"] == "recovered", f"the resume after {after} is complete")
            continue
        if kind == "reset":
            tally.check(False, f"the resume after {after} was cut off: {data}")
            break
        if block_id is None:
            continue
        expected += 1
        wrong += block_id != f"{epoch}.{expected}" or data["id"] != block_id
        if expected % 500 == 0:
            highest = max(highest, serve.resident())
        if expected % 40_000 == 0:
            time.sleep(0.5)  # until every buffer on the way is full
        if expected == last:
            break
    stream.close()
    return expected - after, wrong, before, max(highest, serve.resident())


# A tenth first, so that caches and buffers have their size.
resume(last - chosen.events // 10)
started = time.monotonic()
seen, wrong, before, highest = resume(first - 1)
seconds = time.monotonic() - started
growth = (highest - before) / 1048576
print(f"large: {seen} events resumed in one connection in {seconds:.1f} s, {seen / seconds:.0f} a second, {wrong} out of place")
print(f"large: resident {before / 1048576:.1f} MiB before, {highest / 1048576:.1f} MiB at most, growth {growth:.1f} MiB")
tally.check(seen == chosen.events and wrong == 0, "every event came once, in order")
tally.check(growth < 8, f"memory stays flat: {growth:.1f} MiB more for {size / 1048576:.0f} MiB sent")

# A reader that stops reading holds its own page, not the log; and forgetting does not wait for it.
sock = socket.create_connection(("127.0.0.1", serve.port))
sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
sock.sendall(f"GET /v1/events?since={epoch}.{first - 1} HTTP/1.0\r\nHost: 127.0.0.1:{serve.port}\r\nAccept: application/x-ndjson\r\n\r\n".encode())
time.sleep(1)
held = (serve.resident() - before) / 1048576
print(f"large: {held:.1f} MiB more while one reader stands still")
tally.check(held < 12, f"a reader that stands still holds {held:.1f} MiB")

# What is forgotten under it is told, not passed over. Half of the log at once stands for days of forgetting.
base = sqlite3.connect(pathlib.Path(serve.state) / "ladle.db", timeout=10)
with base:
    base.execute("DELETE FROM event WHERE seq < ?", (last - chosen.events // 2,))
base.close()
sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
lines = sock.makefile("rb")
at, told = first - 1, None
sock.settimeout(20)
while (line := lines.readline()).strip():
    pass
for line in lines:
    event = json.loads(line)
    if event["type"] == "reset":
        told = event
        break
    if "id" in event and event["type"] != "hello":
        at += 1
        if not tally.check(place(event["id"]) == at, f"event {event['id']} came after {at - 1}, and no reset"):
            break
        tally.passed -= 1  # one check, not one an event
        if at >= last:
            break
print(f"large: the reader that stood still got {at - first + 1} events, then {'reset' if told else 'no reset'}")
tally.check(told is not None and place(told["oldest"]) > at + 1, "a reader overtaken by forgetting is told so")
sock.close()
tally.end()
