"""Memory while readers listen, messages are sent and the gateway's connection drops every five seconds (`--drop`): after a warm-up it does not
grow. Each reader rests now and then, for so long that bytes wait for it here too. The long form runs for an hour."""

import json
import multiprocessing
import os
import resource
import select
import shutil
import socket
import statistics
import subprocess
import threading
import time

from harness import FaultyGateway, Serve, Tally, options, scratch, until

chosen = options(seconds=(90, 3600), readers=(400, 5000), rate=(2, 2), text=(6000, 500), rest=(1, 15), drop=(5, 5))
# The arenas of the allocator and the pauses of thousands of readers take half an hour to settle.
WARM = chosen.seconds / 2 if chosen.long else chosen.seconds / 3
# A megabyte an hour is a slope; the short form can only tell a steep one from noise.
BOUND = 1 << 20 if chosen.long else 3 << 19
tally = Tally()
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def read(door, count, stop):
    """Takes what comes on `count` streams and looks at none of it; comes back when a stream ends."""
    poll, streams, resting = select.epoll(), {}, {}
    head = b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n"

    def connect(number):
        # The kernel keeps some 200 KiB for it, and megabytes for one over TCP.
        stream = socket.socket(socket.AF_UNIX)
        stream.connect(door)
        stream.sendall(head)
        stream.setblocking(False)
        streams[stream.fileno()] = (stream, number)
        poll.register(stream, select.EPOLLIN)

    for number in range(count):
        connect(number)
    turn = time.monotonic()
    while not stop.is_set():
        for number, _ in poll.poll(0.1):
            stream, own = streams[number]
            try:
                if stream.recv(65536):
                    continue
            except BlockingIOError:
                continue
            except OSError:
                pass
            poll.unregister(stream)
            stream.close()
            del streams[number]
            connect(own)
        # Another twentieth rests.
        now = time.monotonic()
        if now - turn >= chosen.rest:
            turn = now
            for number in resting:
                if number in streams:
                    poll.modify(number, select.EPOLLIN)
            part = int(now / chosen.rest) % 20
            resting = {number for number, (_, own) in streams.items() if own % 20 == part}
            for number in resting:
                poll.modify(number, 0)


def slope(samples):
    """Bytes an hour, by least squares."""
    mean = [sum(column) / len(samples) for column in zip(*samples)]
    over = sum((t - mean[0]) * (b - mean[1]) for t, b in samples)
    return over / sum((t - mean[0]) ** 2 for t, _ in samples) * 3600


def growth(samples, typical):
    """From the first third to the last one."""
    third = max(len(samples) // 3, 1)
    return typical([b for _, b in samples[-third:]]) - typical([b for _, b in samples[:third]])


def own(pid):
    """Resident memory of its own, in bytes: without the program's text and the database's maps."""
    with open(f"/proc/{pid}/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("RssAnon:"))


folder = scratch()
env = {"HEAP_LOG": f"{folder}/heap"}
if shutil.which("cc") and not os.environ.get("LD_PRELOAD"):
    here = os.path.dirname(os.path.abspath(__file__))
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-pthread", "-o", f"{folder}/heap.so", f"{here}/heap.c"], check=True)
    env["LD_PRELOAD"] = f"{folder}/heap.so"
gateway = FaultyGateway()
server = Serve("--limits-connections-per-peer", "20000", "--events-streams-per-caller", "20000", "--events-keep", "5000",
               "--limits-sends-burst", "1000000", "--limits-all-sends-burst", "1000000", "--listen", f"unix:{folder}/door",
               gateway=gateway.url, env=env, prefix=(["prlimit", f"--nofile={hard}:{hard}"])).linked()
stop = multiprocessing.Event()
readers = multiprocessing.Process(target=read, args=(f"{folder}/door", chosen.readers, stop), daemon=True)
readers.start()
sent = refused = 0


def post(number):
    global sent, refused
    text = f"{number} " + "x" * chosen.text
    status, answer = server.json("POST", "/v1/messages", {"text": text, "session": f"agent:main:s{number % 4}"})
    sent += status == 202
    refused += status != 202
    if refused == 1:
        print(status, json.dumps(answer))


def send():
    """On a schedule, and so slowly that no messages gather behind a link that drops."""
    number = 0
    while not stop.is_set():
        number += 1
        time.sleep(max(begin + number / chosen.rate - time.monotonic(), 0))
        try:
            post(number)
        except OSError:
            return  # the end


def drop():
    while not stop.is_set():
        time.sleep(chosen.drop)
        gateway.control("POST", "drop")


def waiting():
    return server.status()["outbox"]["pending"]


# The last 64 runs of a session stay in memory: they are there before anything is measured.
for number in range(280):
    post(number)
until(lambda: waiting() == 0, 120, 0.5, what="the end of the first messages")
begin, start = time.monotonic(), time.time()
print(f"begin: {own(server.process.pid) / 1e6:.1f} MB resident, {sent} sent", flush=True)
threading.Thread(target=send, daemon=True).start()
threading.Thread(target=drop, daemon=True).start()
resident = []
while (at := time.monotonic() - begin) < chosen.seconds:
    time.sleep(1)
    resident.append((at, own(server.process.pid)))
    if len(resident) % max(chosen.seconds // 15, 1) == 0:
        print(f"{at:5.0f} s: {resident[-1][1] / 1e6:.1f} MB resident, {sent} sent, {waiting()} wait", flush=True)
streams = int(next(line for line in server.call("GET", "/metrics", headers={"Authorization": f"Bearer {server.token}"})[2].decode()
                   .splitlines() if line.startswith("ladle_streams_open")).split()[1].split(".")[0])
left = waiting()
stop.set()
heap = []
if os.path.exists(env["HEAP_LOG"]):
    lines = [[int(field) for field in line.split()] for line in open(env["HEAP_LOG"])]
    heap = [(t - start, used) for t, used, _ in lines]
    print(f"malloc: {lines[-1][1] / 1e6:.1f} MB in use of {lines[-1][2] / 1e6:.1f} MB it has from the system")
# What waits for readers comes and goes on top of what is in use, so its least tells. What is resident also depends on when malloc gave
# pages back, which is now and then: there the middle tells.
for name, samples, typical in (("resident", resident, statistics.median), ("in use by malloc", heap, min)):
    samples = [sample for sample in samples if sample[0] >= WARM]
    if samples:
        grown = growth(samples, typical)
        print(f"{name}: {samples[0][1] / 1e6:.1f} to {samples[-1][1] / 1e6:.1f} MB after the warm-up, grown by {grown / 1e6:.2f} MB, "
              f"slope {slope(samples) / 1e6:.1f} MB an hour")
        tally.check(grown < BOUND, f"{name} grew by {grown / 1e6:.2f} MB in {chosen.seconds - WARM:.0f} s")
tally.check(refused < sent / 100, f"{refused} of {sent + refused} messages were refused")
# Else what grew would be the messages that wait.
tally.check(left < 200, f"{left} messages wait at the end")
tally.check(streams == chosen.readers, f"{streams} of {chosen.readers} streams")
server.kill()
tally.end()
