"""What it costs to take a message: the answer beside a bare fdatasync on the same disk, messages a second beside a loop
that syncs row by row, and the CPU that ten thousand waiting messages take."""

import json
import os
import selectors
import socket
import sqlite3
import time

from harness import LADLE, Serve, Tally, options, percentile, scratch, until

OPTIONS = options(samples=(300, 1000), messages=(3000, 10000), connections=(64, 64))
# Nobody is there, and that costs no attempts: what is measured is taking, not sending.
AWAY = ["--outbox-offline", "hold", "--outbox-max-entries", "100000", "--log-level", "error"]


def request(port, number, session="main"):
    body = json.dumps({"text": f"message {number}", "session": session})
    return (f"POST /v1/messages HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n{body}").encode()


def whole(answer):
    """The status of a complete answer, else None."""
    head, found, body = answer.partition(b"\r\n\r\n")
    if not found:
        return None
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length" and len(body) >= int(value):
            return int(answer.split(None, 2)[1])
    return None


def ask(connection, bytes_):
    connection.sendall(bytes_)
    answer = b""
    while whole(answer) is None:
        answer += connection.recv(65536)
    return whole(answer)


def side_by_side(tally, ladle, when):
    """One after the other, sample by sample, so that all meet the same moods of the disk: a block at the end of a file, one
    over blocks that are there, and a message."""
    size = 8 << 20
    file = os.open(f"{ladle.state}/bare", os.O_RDWR | os.O_CREAT, 0o600)
    os.pwrite(file, b"\0" * size, 0)
    os.fsync(file)
    connection = socket.create_connection(("127.0.0.1", ladle.port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    samples = {"append": [], "over": [], "202": []}

    def timed(name, work):
        start = time.perf_counter()
        work()
        samples[name].append(time.perf_counter() - start)

    def sync(offset):
        os.pwrite(file, b"x" * 4096, offset)
        os.fdatasync(file)

    def post(number):
        assert ask(connection, request(ladle.port, number, f"s{number % 50}")) == 202
    for number in range(OPTIONS.samples):
        timed("append", lambda: sync(size + number * 4096))
        timed("over", lambda: sync(number * 4096 % size))
        timed("202", lambda: post(number))
    connection.close()
    os.close(file)
    for name, found in samples.items():
        print(f"{when} {name:>7}: " + ", ".join(f"p{share} {percentile(found, share) * 1e3:.2f} ms" for share in (50, 90, 99)))
    ratio = percentile(samples["202"], 99) / percentile(samples["append"], 99)
    tally.check(ratio <= 3, f"{when}: p99 of a 202 is {ratio:.2f} times that of a bare write and fdatasync (at most 3)")
    print(f"{when}: p99 of a 202 is {ratio:.2f} times that of the bare append, p50 "
          f"{percentile(samples['202'], 50) / percentile(samples['append'], 50):.2f} times")


def row_by_row(folder):
    """Commits a second of a loop that syncs each row."""
    database = sqlite3.connect(f"{folder}/rows.db", isolation_level=None)
    database.execute("PRAGMA journal_mode=WAL")
    database.execute("PRAGMA synchronous=FULL")
    database.execute("CREATE TABLE message(id INTEGER PRIMARY KEY, text TEXT)")
    start, count = time.perf_counter(), 0
    while time.perf_counter() - start < 3:
        database.execute("INSERT INTO message(text) VALUES(?)", (f"message {count}",))
        count += 1
    database.close()
    return count / (time.perf_counter() - start)


def together(ladle):
    """Messages a second over many connections, each with one request under way."""
    chooser = selectors.DefaultSelector()
    sent = done = 0
    latencies = []
    for _ in range(OPTIONS.connections):
        connection = socket.create_connection(("127.0.0.1", ladle.port))
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        chooser.register(connection, selectors.EVENT_READ, [b"", 0.0])
    start = time.perf_counter()

    def post(key):
        nonlocal sent
        if sent < OPTIONS.messages:
            key.data[:] = [b"", time.perf_counter()]
            key.fileobj.sendall(request(ladle.port, sent, f"t{sent % 100}"))
            sent += 1
    for key in list(chooser.get_map().values()):
        post(key)
    while done < OPTIONS.messages:
        for key, _ in chooser.select():
            key.data[0] += key.fileobj.recv(65536)
            status = whole(key.data[0])
            if status is None:
                continue
            assert status == 202, status
            done += 1
            latencies.append(time.perf_counter() - key.data[1])
            post(key)
    seconds = time.perf_counter() - start
    for key in list(chooser.get_map().values()):
        key.fileobj.close()
    print(f"{done} messages over {OPTIONS.connections} connections in {seconds:.2f} s, "
          f"p50 {percentile(latencies, 50) * 1e3:.1f} ms, p99 {percentile(latencies, 99) * 1e3:.1f} ms")
    return done / seconds


def cpu(ladle, seconds):
    """CPU seconds the process takes in so many seconds."""
    start = ladle.cpu()
    time.sleep(seconds)
    return ladle.cpu() - start


def main():
    tally = Tally()
    print(f"binary {LADLE}")
    ladle = Serve(*AWAY, gateway="ws://127.0.0.1:9")
    time.sleep(1)
    idle = cpu(ladle, 10)
    side_by_side(tally, ladle, "new database")
    rows = row_by_row(scratch())
    rate = together(ladle)
    print(f"{rate:.0f} messages/s together, {rows:.0f} rows/s one by one: {rate / rows:.2f} times as many")
    tally.check(rate >= 1000, f"{rate:.0f} messages/s (at least 1000)")
    waiting = until(lambda: ladle.status()["outbox"]["pending"])
    # The log is folded into the database a while after the last write.
    time.sleep(8)
    loaded = cpu(ladle, 10)
    print(f"{waiting} wait: {loaded:.2f} s of CPU in 10 s, {idle:.2f} s with none; {ladle.resident() >> 20} MiB")
    tally.check(loaded <= idle + 0.05, f"waiting messages cost {loaded - idle:.2f} s of CPU in 10 s")
    side_by_side(tally, ladle, "used database")
    ladle.kill()
    tally.end()


main()
