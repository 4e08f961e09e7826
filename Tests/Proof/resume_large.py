"""Resumes the whole log, 100,000 durable events, in one connection, and watches the server's memory meanwhile."""

import socket
import time
import urllib.error
import urllib.request

from harness import DemoGateway, EventStream, Serve, Tally, options, until

chosen = options(events=(10_000, 100_000))
tally = Tally()
gateway = DemoGateway()
serve = Serve(gateway=gateway.url).linked()
control = gateway.url.replace("ws:", "http:")


def newest():
    return serve.json("GET", "/v1/status")[1]["events"]["last"]


def number(event_id):
    return int(event_id.partition(".")[2])


# Fill: messages of others, which leave about a dozen durable events each.
started = time.monotonic()
sessions = 0
while number(newest()) < chosen.events:
    for _ in range(40):
        sessions += 1
        query = f"session=agent:main:fill{sessions % 400}&text=parallel+{sessions}"
        try:
            urllib.request.urlopen(urllib.request.Request(f"{control}/demo/say?{query}", method="POST"), timeout=10).read()
        except urllib.error.HTTPError:
            pass
until(lambda: not serve.json("GET", "/v1/status")[1]["runs"]["active"], seconds=60, what="the end of all runs")
time.sleep(0.5)
last = newest()
epoch = last.partition(".")[0]
print(f"large: {number(last)} events after {time.monotonic() - started:.0f} s")

# A warm-up of a tenth, so that caches and buffers have their size.
first = max(number(last) - chosen.events, 0)


def resume(count):
    stream = EventStream(serve, last_id=f"{epoch}.{number(last) - count}", timeout=60)
    before = highest = serve.resident()
    expected = number(last) - count
    seen = wrong = size = 0
    for block_id, kind, data in stream:
        if kind == "hello":
            tally.check(data["resume"] == "recovered", f"the resume of {count} events is complete")
            continue
        if block_id is None:
            continue
        expected += 1
        seen += 1
        wrong += number(block_id) != expected
        if seen % 500 == 0:
            highest = max(highest, serve.resident())
        if block_id == last:
            break
    stream.close()
    return seen, wrong, before, max(highest, serve.resident())


resume(max(chosen.events // 10, 1000))
started = time.monotonic()
seen, wrong, before, highest = resume(number(last) - first)
seconds = time.monotonic() - started
growth = (highest - before) / 1048576
print(f"large: {seen} events resumed in one connection in {seconds:.1f} s, {seen / seconds:.0f} a second, {wrong} out of place")
print(f"large: resident {before / 1048576:.1f} MiB before, {highest / 1048576:.1f} MiB at most, growth {growth:.1f} MiB")
tally.check(seen == number(last) - first and wrong == 0, "every event came once, in order")
# A page of the log, its encoded form and the socket's buffers; 100,000 events are some 60 MB.
tally.check(growth < 8, f"memory stays flat: {growth:.1f} MiB more")

# A reader that stops reading holds its own page, not the log.
slow = socket.create_connection(("127.0.0.1", serve.port))
slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
slow.sendall(f"GET /v1/events?since={epoch}.{first} HTTP/1.1\r\nHost: 127.0.0.1:{serve.port}\r\n\r\n".encode())
time.sleep(1)
held = (serve.resident() - before) / 1048576
print(f"large: {held:.1f} MiB more while one reader stands still")
tally.check(held < 12, f"a reader that stands still holds {held:.1f} MiB")
slow.close()
tally.end()
