"""What a read costs that the gateway was asked for before: with a gateway that takes 100 ms for each answer, lists and messages are
answered at once, nobody asks it again until something happens, and a request costs the server at most 1.5 times `/healthz`."""

import json
import subprocess
import time

from harness import ROOT, FaultyGateway, Serve, Stopwatch, Tally, cost, options

chosen = options(requests=(5_000, 40_000), rounds=(2, 5))
tally = Tally()
subprocess.run([ROOT / "deploy/packages", "nghttp2-client"], check=True)
SLOW = 0.1
gateway = FaultyGateway()
ladle = Serve(gateway=gateway.url).linked()
for name in ("den", "attic", "shed", "porch"):
    for number in range(5):
        ladle.json("POST", "/v1/messages", {"text": f"say hello {number}", "session": name})
ladle.at_rest()
gateway.control("POST", "faults?slowAnswersMs=100")
PATHS = ["/v1/sessions", "/v1/sessions/den", "/v1/agents", "/v1/models", "/v1/messages?session=den"]


def asked():
    return json.loads(gateway.control("GET", "state"))["requests"]


def timed(path):
    watch = Stopwatch(ladle)
    status, _, body = ladle.call("GET", path)
    tally.check(status == 200, f"{path}: {status} {body[:200]}")
    return watch.seconds, body


def quiet():
    """What follows a message comes to rest: rows are read once more two seconds after the last of them."""
    time.sleep(2.5)
    for path in PATHS:
        timed(path)


before = asked()
timed("/v1/sessions?refresh=true")
tally.check(asked() > before, "`refresh` asks the gateway")
quiet()
before = asked()
for path in PATHS:
    slowest = max(timed(path)[0] for _ in range(20))
    tally.check(slowest < SLOW / 2, f"{path} is answered at once: {slowest * 1000:.1f} ms")
tally.check(asked() - before <= 1, f"{asked() - before} calls for {20 * len(PATHS)} reads")

ratios = {}
for path in PATHS:
    figures = [[cost(ladle.process.pid, ladle.url + one, chosen.requests, "--h1") for one in ("/healthz", path)] for _ in range(chosen.rounds)]
    plain, warm = min(a for a, _ in figures), min(b for _, b in figures)
    ratios[path] = warm / plain
    print(f"{path}: {warm:.2f} us, /healthz {plain:.2f} us, {ratios[path]:.2f}x", flush=True)
if chosen.long:
    for path, ratio in ratios.items():
        tally.check(ratio <= 1.5, f"{path} costs {ratio:.2f} times /healthz")
tally.end()
