"""A flood of wrong tokens against clients with the right one: their answers take at most twice as long as in quiet.

Quiet and flood are measured in turn, several times, with the same client at the same pace: by turns on a connection that
stays and on a new one. Flood and client are processes of their own. Ladle answers throttled guesses one a millisecond.
"""

import multiprocessing
import random
import select
import socket
import string
import time

from harness import Serve, Tally, options

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


def client(port, token, go, stop, results):
    """Asks every few milliseconds, by turns on a connection that stays and on a new one."""
    kept = socket.create_connection(("127.0.0.1", port))
    bytes_, once = ask(port, token), ask(port, token, keep=False)
    go.wait()
    times, bad = [], 0
    while not stop.is_set():
        for new in (False, True):
            time.sleep(0.003)
            start = time.perf_counter()
            one = socket.create_connection(("127.0.0.1", port)) if new else kept
            one.sendall(once if new else bytes_)
            raw = one.recv(65536)
            times.append(time.perf_counter() - start)
            bad += not raw.startswith(b"HTTP/1.1 200")
            if new:
                one.close()
    results.put((times, bad))


def measure(port, token, seconds=None, tokens=0, seed=0):
    """Times of the right client's answers: for so long, or as long as the flood lasts."""
    go, stop, out, told = (multiprocessing.Event(), multiprocessing.Event(), multiprocessing.Queue(), multiprocessing.Queue())
    asking = multiprocessing.Process(target=client, args=(port, token, go, stop, out))
    asking.start()
    flooding = multiprocessing.Process(target=flood, args=(port, tokens, seed, told)) if tokens else None
    go.set()
    statuses, rate = {}, 0
    if flooding:
        flooding.start()
        statuses, rate = told.get()
        flooding.join()
    else:
        time.sleep(seconds)
    stop.set()
    times, bad = out.get()
    asking.join()
    return times, bad, statuses, rate


def p(times, share):
    return sorted(times)[min(int(len(times) * share), len(times) - 1)] * 1e6


serve = Serve().linked()
token = serve.json("POST", "/v1/tokens", {"name": "right", "scopes": ["read"]})[1]["token"]
measure(serve.port, token, seconds=0.5)
quiet, loud, statuses, wrongs, rates = [], [], {}, 0, []
each = chosen.tokens // chosen.rounds
for number in range(chosen.rounds):
    times, bad, _, _ = measure(serve.port, token, seconds=2)
    quiet += times
    wrongs += bad
    times, bad, told, rate = measure(serve.port, token, tokens=each, seed=number)
    loud += times
    wrongs += bad
    rates.append(rate)
    for status, count in told.items():
        statuses[status] = statuses.get(status, 0) + count
figures = {name: [p(times, share) for share in (0.5, 0.9, 0.99)] for name, times in (("quiet", quiet), ("flood", loud))}
for name, (half, nine, most) in figures.items():
    print(f"wrong tokens: {name}: p50 {half:.0f} us, p90 {nine:.0f} us, p99 {most:.0f} us of {len(quiet if name == 'quiet' else loud)} answers")
ratio = figures["flood"][2] / figures["quiet"][2]
print(f"wrong tokens: {sum(statuses.values())} over {chosen.connections} connections at {sum(rates) / len(rates):.0f} a second, answered {statuses}; p99 ratio {ratio:.2f}")
tally.check(wrongs == 0, f"{wrongs} right tokens were refused")
tally.check(set(statuses) <= {"401", "429"} and statuses.get("401", 0) <= 12 * chosen.rounds * 2, f"the flood was answered {statuses}")
tally.check(ratio <= 2, f"p99 is {ratio:.2f} times that of quiet")
tally.end()
