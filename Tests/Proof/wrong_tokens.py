"""A flood of wrong tokens against a client with the right one: its answers take at most twice as long as those of an idle Ladle.

The client asks both by turns, in the same moments, on a connection that stays and on a new one: what else the machine does falls on
both. Flood and client are processes of their own. Ladle answers throttled guesses one a millisecond.
"""

import multiprocessing
import random
import select
import socket
import string
import time

from harness import Serve, Tally, options, percentile

chosen = options(tokens=(4000, 100000), rounds=(3, 8), connections=(8, 64))
tally = Tally()
LETTERS = string.ascii_letters + string.digits


def ask(port, token, keep=True):
    end = "" if keep else "Connection: close\r\n"
    return f"GET /v1/status HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n{end}\r\n".encode()


def wrong(chance):
    return "ldl_" + "".join(chance.choices(LETTERS, k=49))


def flood(port, count, seed, results):
    """Wrong tokens, each on a connection of its own, since a refusal ends it."""
    chance = random.Random(seed)
    statuses = {}
    poll = select.epoll()
    open_ = {}
    sent, start = 0, time.perf_counter()
    while sent < count or open_:
        while len(open_) < chosen.connections and sent < count:
            one = socket.socket()
            one.setblocking(False)
            try:
                one.connect(("127.0.0.1", port))
            except BlockingIOError:
                pass
            open_[one.fileno()] = (one, wrong(chance))
            poll.register(one.fileno(), select.EPOLLOUT)
            sent += 1
        for number, _ in poll.poll(0.002):
            one, token = open_[number]
            if token:
                one.send(ask(port, token))
                open_[number] = (one, None)
                poll.modify(number, select.EPOLLIN)
                continue
            try:
                raw = one.recv(4096)
            except OSError:
                raw = b""
            status = raw.split(b" ")[1].decode() if raw.count(b" ") > 1 else "cut"
            statuses[status] = statuses.get(status, 0) + 1
            poll.unregister(number)
            del open_[number]
            one.close()
    results.put((statuses, sent / (time.perf_counter() - start)))


def client(targets, go, stop, results):
    """Asks each server every few milliseconds, by turns on a connection that stays and on a new one; `targets` are ports and tokens."""
    kept = {port: socket.create_connection(("127.0.0.1", port)) for port, _ in targets}
    go.wait()
    times, bad = {port: [] for port, _ in targets}, 0
    while not stop.is_set():
        for new in (False, True):
            for port, token in targets:
                time.sleep(0.002)
                bytes_ = ask(port, token, keep=not new)
                start = time.perf_counter()
                one = socket.create_connection(("127.0.0.1", port)) if new else kept[port]
                one.sendall(bytes_)
                raw = one.recv(65536)
                times[port].append(time.perf_counter() - start)
                bad += not raw.startswith(b"HTTP/1.1 200")
                if new:
                    one.close()
    results.put((times, bad))


def measure(targets, tokens, seed):
    """Times of the right client's answers as long as the flood lasts, and how that was answered."""
    go, stop, out, told = (multiprocessing.Event(), multiprocessing.Event(), multiprocessing.Queue(), multiprocessing.Queue())
    asking = multiprocessing.Process(target=client, args=(targets, go, stop, out))
    flooding = multiprocessing.Process(target=flood, args=(targets[0][0], tokens, seed, told))
    asking.start()
    go.set()
    flooding.start()
    statuses, rate = told.get()
    flooding.join()
    stop.set()
    times, bad = out.get()
    asking.join()
    return times, bad, statuses, rate


flooded, idle = Serve().linked(), Serve().linked()
targets = [(one.port, one.make_token("right", "read")["token"]) for one in (flooded, idle)]
all_times, statuses, wrongs, rates = {port: [] for port, _ in targets}, {}, 0, []
for number in range(chosen.rounds):
    times, bad, told, rate = measure(targets, chosen.tokens // chosen.rounds, number)
    for port, found in times.items():
        all_times[port] += found
    wrongs += bad
    rates.append(rate)
    for status, count in told.items():
        statuses[status] = statuses.get(status, 0) + count
figures = {one: [percentile(all_times[one.port], share) * 1e6 for share in (50, 90, 99)] for one in (flooded, idle)}
for one, name in ((flooded, "flooded"), (idle, "idle")):
    half, nine, most = figures[one]
    print(f"wrong tokens: {name}: p50 {half:.0f} us, p90 {nine:.0f} us, p99 {most:.0f} us of {len(all_times[one.port])} answers")
ratio = figures[flooded][2] / figures[idle][2]
print(f"wrong tokens: {sum(statuses.values())} over {chosen.connections} connections at {sum(rates) / len(rates):.0f} a second, answered {statuses}; p99 ratio {ratio:.2f}")
tally.check(wrongs == 0, f"{wrongs} right tokens were refused")
tally.check(set(statuses) <= {"401", "429"} and statuses.get("401", 0) <= 12 * chosen.rounds * 2, f"the flood was answered {statuses}")
tally.check(ratio <= 2, f"p99 is {ratio:.2f} times that of an idle server")
tally.end()
