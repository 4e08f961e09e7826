"""slowhttptest in its four modes, with many attackers each, while a bystander asks: what that does to its 99th percentile, and
what memory an attacker costs."""

import http.client
import pathlib
import resource
import statistics
import subprocess
import threading
import time

from harness import ROOT, Serve, Tally, options, scratch

chosen = options(attackers=(400, 1000), seconds=(6, 20))
tally = Tally()
subprocess.run([ROOT / "deploy/packages", "slowhttptest"], check=True)
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
server = Serve()
server.linked()
folder = pathlib.Path(scratch())
(folder / "body").write_bytes(b"x" * 4096)
# A page large enough to be read slowly.
for number in range(40):
    server.call("POST", f"/v1/messages?session=agent:main:slow{number}", b"append the weather to weather.txt " * 50, {"Content-Type": "text/plain"})


def bystander(seconds):
    """Round trips of one client that asks 200 times a second, sorted, in milliseconds."""
    connection, times, end = http.client.HTTPConnection("127.0.0.1", server.port, timeout=5), [], time.monotonic() + seconds
    while time.monotonic() < end:
        start = time.perf_counter()
        connection.request("GET", "/v1/status")
        answer = connection.getresponse()
        answer.read()
        times.append((time.perf_counter() - start) * 1000)
        tally.check(answer.status == 200, f"the bystander gets {answer.status}")
        time.sleep(0.005)
    connection.close()
    return sorted(times)


def p99(times):
    return times[int(len(times) * 0.99)]


MODES = {
    "slow headers": ["-H", "-i", "2"],
    "slow body": ["-B", "-i", "2", "-s", "8192", "-t", "POST", "-f", "text/plain"],
    "range": ["-R", "-a", "5", "-b", "3000"],
    "slow read": ["-X", "-w", "10", "-y", "64", "-n", "2", "-z", "16", "-k", "3"],
}
PATHS = {"slow headers": "/v1/status", "slow body": "/v1/messages", "range": "/v1/outbox", "slow read": "/v1/outbox?limit=200"}
bystander(1)
for mode, arguments in MODES.items():
    quiet = bystander(chosen.seconds)
    before, most, ends = server.resident(), 0, threading.Event()
    attack = subprocess.Popen(
        ["slowhttptest", *arguments, "-c", str(chosen.attackers), "-r", "500", "-l", str(chosen.seconds + 2), "-p", "3",
         "-u", f"http://127.0.0.1:{server.port}{PATHS[mode]}"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    time.sleep(1.5)
    open_ = server.descriptors()
    attacked = bystander(chosen.seconds)
    most = max(server.resident() - before, 0)
    attack.terminate()
    attack.communicate()
    ratio = p99(attacked) / p99(quiet)
    print(f"{mode}: {open_} descriptors open; bystander p50 {statistics.median(quiet):.2f} -> {statistics.median(attacked):.2f} ms, "
          f"p99 {p99(quiet):.2f} -> {p99(attacked):.2f} ms ({ratio:.2f}x); {most / chosen.attackers / 1024:.1f} KiB an attacker", flush=True)
    # Under a millisecond the difference is the scheduler's.
    tally.check(ratio <= 2 or p99(attacked) - p99(quiet) < 1, f"{mode}: the bystander's p99 is {ratio:.2f} times what it was")
    tally.check(most / chosen.attackers < 32 << 10, f"{mode}: {most / chosen.attackers:.0f} bytes an attacker")
    time.sleep(1)
tally.check(server.call("GET", "/healthz")[0] == 200, "served afterwards")
tally.check(server.stop() == 0, "the server ends as it should")
tally.end()
