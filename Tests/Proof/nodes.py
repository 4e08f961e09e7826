"""Commands of nodes, on protocol 3 and 4. Names that are made up never reach the gateway; a repeated key makes no second frame, also when
Ladle dies between; no place of a person is on the disk. Who may, and what each refusal says: `NodeInvokeRouteTests`."""

import concurrent.futures
import json
import pathlib
import random
import string
import time

from harness import FaultyGateway, Serve, Tally, options, run_ladle, scratch

OPTIONS = options(rounds=(8, 60), names=(150, 2000), seed=(0, 0))
SEED = OPTIONS.seed or random.SystemRandom().randrange(1, 1 << 32)
PHONE = "0d6f2b1c-8a3e-4c57-9b12-5e7a9c0d1f23"
MAC = "1e7a3c2d-9b4f-4d68-8c23-6f8bad1e2034"
NEVER = ["system.run", "system.which", "system.execApprovals.get", "browser.proxy", "fs.read", "terminal.open", "computer.act",
         "desktop.stream", "mobile.ui.tap", "sms.send", "sms.search", "notifications.actions", "talk.ptt.start"]
tally = Tally()
dice = random.Random(SEED)
keys = iter(range(1 << 40))


def invoke(server, node, command, key=None, **more):
    """Status, fields and body of one call."""
    headers = {"Content-Type": "application/json", "Idempotency-Key": key or f"k{next(keys)}"}
    return server.call("POST", f"/v1/nodes/{node}/invoke", json.dumps({"command": command, **more}), headers, timeout=60)


def problem(answer):
    return json.loads(answer[2])


def calls(gateway):
    """What reached a node, by the gateway's own count."""
    return json.loads(gateway.control("GET", "nodes"))


def made_up():
    """Names near those that are passed on, and anything else."""
    kind = dice.randrange(6)
    base = dice.choice(NEVER + ["system.notify", "device.info", "camera.snap", "canvas.present"])
    if kind == 0:
        return "".join(dice.choice(string.printable + "\u202e\u0085\x00é") for _ in range(dice.randrange(0, 40)))
    if kind == 1:
        return base.swapcase()
    if kind == 2:
        return base + dice.choice([" ", ".", "\x00", ".x", "\n", "*", "/../system.run"])
    if kind == 3:
        place = dice.randrange(len(base))
        return base[:place] + dice.choice(string.ascii_letters + ".") + base[place + 1:]
    if kind == 4:
        return dice.choice([" ", "\t", "\ufeff", "node."]) + base
    return dice.choice(NEVER)


HARMLESS = {"camera.list", "camera.ptz.status", "canvas.hide", "canvas.navigate", "canvas.present", "device.health", "device.info",
            "device.status", "system.notify"}


def check(protocol):
    gateway = FaultyGateway("--protocol", str(protocol), "--speed", "0")
    state = scratch()
    narrow = Serve(state=state, gateway=gateway.url).linked()

    # Nothing that no list names reaches the gateway.
    refused = 0
    for _ in range(OPTIONS.names):
        name = made_up()
        if name in HARMLESS:
            continue
        answer = invoke(narrow, MAC, name)
        refused += 1
        tally.check(answer[0] == 422, f"{name!r} of protocol {protocol}: {answer[0]} {answer[2][:200]}")
    for name in NEVER + ["location.get", "camera.snap"]:
        answer = invoke(narrow, MAC, name)
        tally.check(answer[0] == 422 and problem(answer)["by"] == "ladle", f"{name}: {answer[2][:200]}")
    for url in ("file:///etc/passwd", "javascript:alert(1)", "data:text/html,x", "http://localhost/", "http://127.0.0.1:1/",
                "http://[::1]/", "http://0x7f000001/", "https://a@b.example/"):
        answer = invoke(narrow, MAC, "canvas.present", params={"url": url})
        tally.check(answer[0] == 422, f"{url}: {answer[0]} {answer[2][:200]}")
    tally.check(calls(gateway) == [], f"they reached a node: {calls(gateway)}")
    counted = narrow.call("GET", "/metrics")[2].decode()
    tally.check(f'ladle_node_calls_total{{outcome="done"}} 0' in counted, "none was done")
    narrow.stop()

    tried = run_ladle("serve", "--demo", "--state", scratch(), "--listen", "127.0.0.1:0", "--nodes-allow", "system.run")
    tally.check(tried.returncode == 78 and "nodes.allow" in tried.stderr, f"the setting takes what is never done: {tried.stderr}")
    wide = Serve("--nodes-allow", "location.get", "--limits-node-calls", "1000", state=state, gateway=gateway.url).linked()

    invoke(wide, PHONE, "location.get")
    database = b"".join(path.read_bytes() for path in pathlib.Path(state).rglob("ladle.db*"))
    tally.check(b"52.520008" not in database, "no place of a person is on the disk")

    # Ladle dies at any instant: each key reached its node at most once, and a repeat says what is known.
    rounds(protocol, gateway, wide, state)


def rounds(protocol, gateway, server, state):
    # Sent once for each: the gateway's own name of the call tells keys apart.
    known = {}
    for number in range(OPTIONS.rounds):
        key = f"round-{protocol}-{number}"
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            future = pool.submit(lambda: invoke(server, MAC, "system.notify", key, params={"title": key}))
            time.sleep(dice.choice([0, 0.001, 0.003, 0.01, 0.05]))
            server.kill()
            try:
                known[key] = future.result()[0]
            except (OSError, ValueError):
                known[key] = None
        server = server.again().linked()
        again = invoke(server, MAC, "system.notify", key, params={"title": key})
        told = problem(again)
        arrived = [one for one in calls(gateway) if (one["params"] or {}).get("title") == key]
        tally.check(len(arrived) <= 1, f"{key} arrived {len(arrived)} times")
        tally.check(again[0] in (200, 504), f"{key}: {again[0]} {told}")
        if again[0] == 504:
            tally.check(told["code"] == "GATEWAY_TIMEOUT" and told["retryable"] is False, f"{key}: {told}")
        if known[key] == 200:
            tally.check(again[0] == 200 and len(arrived) == 1, f"{key} was done and is known")
    print(f"   protocol {protocol}: {OPTIONS.rounds} deaths, {sum(1 for status in known.values() if status)} answered before")

    audit = (pathlib.Path(state) / "audit.log").read_text()
    tally.check(f"{MAC} system.notify" in audit and "invokeNode" in audit, "the audit file has node and command")
    server.stop()
    gateway.stop()


for version in (3, 4):
    check(version)
print(f"nodes: seed {SEED}")
tally.end()
