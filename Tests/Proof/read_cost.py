"""What a read costs that the gateway was asked for before: with a gateway that takes 100 ms for each answer, lists and messages are
answered at once, nobody asks it again until something happens, and a request costs the server at most 1.5 times `/healthz`. What `limit`
means where texts are long."""

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

# Long texts: `limit` counts rows, not bytes. Runs come whole, or in brief; messages go on with `before`, and none is left out.
gateway.control("DELETE", "faults")
long = [f"{number} " + "x" * 120_000 for number in range(7)]
for text in long:
    tally.check(ladle.json("POST", "/v1/messages?wait=30", {"text": f"echo {text}", "session": "long"})[0] == 200, "a long message")
ladle.at_rest()
status, _, whole = ladle.call("GET", "/v1/runs?limit=5")
tally.check(status == 200 and len(json.loads(whole)["runs"]) == 5 and len(whole) > 5 * 120_000, f"runs are whole: {status}, {len(whole)} bytes")
status, _, brief = ladle.call("GET", "/v1/runs?limit=5&brief=true")
runs = json.loads(brief)["runs"]
tally.check(status == 200 and len(runs) == 5 and len(brief) < 8_000, f"in brief they are small: {status}, {len(brief)} bytes")
tally.check(all(run.get("truncated") and len(run["text"]) <= 200 and "steps" not in run for run in runs), f"and say so: {runs[0]}")
print(f"five runs of 120,000 characters: {len(whole)} bytes, in brief {len(brief)}")
found, before, pages = [], None, []
while not pages or before:
    page = ladle.json("GET", "/v1/messages?session=long&limit=5" + (f"&before={before}" if before else ""))[1]
    pages.append(len(page["messages"]))
    found = page["messages"] + found
    before = page.get("before")
tally.check(all(1 <= count <= 5 for count in pages) and len(pages) <= 14, f"pages of at most five: {pages}")
tally.check([m["text"] for m in found] == [words for text in long for words in (f"echo {text}", text)] and not any(m.get("truncated") for m in found),
            f"every message once, whole and in order: {[(m['role'], len(m['text'])) for m in found]}")
tally.end()
