"""Commands of nodes behind narrow doors, on protocol 3 and 4. Names that are made up never reach the gateway; a repeated key makes no second
frame, also when Ladle dies between; tokens limited to sessions are refused; each refusal has its problem; pictures and clips are what they
say they are; callers have their limits; the event tells of a node that goes, and a waiting device is counted."""

import concurrent.futures
import json
import pathlib
import random
import string
import time

from harness import EventStream, FaultyGateway, Serve, Tally, options, run_ladle, scratch, until

OPTIONS = options(rounds=(8, 60), names=(150, 2000), seed=(0, 0))
SEED = OPTIONS.seed or random.SystemRandom().randrange(1, 1 << 32)
PHONE = "0d6f2b1c-8a3e-4c57-9b12-5e7a9c0d1f23"
MAC = "1e7a3c2d-9b4f-4d68-8c23-6f8bad1e2034"
ALLOWED = ["location.get", "contacts.*", "camera.snap", "camera.clip", "screen.record", "canvas.snapshot", "photos.latest",
           "reminders.list", "calendar.events"]
NEVER = ["system.run", "system.which", "system.execApprovals.get", "browser.proxy", "fs.read", "terminal.open", "computer.act",
         "desktop.stream", "mobile.ui.tap", "sms.send", "sms.search", "notifications.actions", "talk.ptt.start"]
tally = Tally()
dice = random.Random(SEED)
keys = iter(range(1 << 40))


def invoke(server, node, command, key=None, token=None, **more):
    """Status, fields and body of one call."""
    headers = {"Content-Type": "application/json", "Idempotency-Key": key or f"k{next(keys)}"}
    headers |= more.pop("headers", {})
    if token:
        headers["Authorization"] = f"Bearer {token}"
    body = more.pop("body", None) or json.dumps({"command": command, **more})
    answer = server.call("POST", f"/v1/nodes/{node}/invoke", body, headers, timeout=60)
    return answer


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


def door(protocol):
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

    # Who may.
    bound = narrow.make_token("bound", "nodes", "read", sessions=["agent:main:main"])["token"]
    reader = narrow.make_token("reader", "read", "send", "control")["token"]
    tally.check(problem(invoke(narrow, MAC, "system.notify", token=bound))["code"] == "SESSION_NOT_ALLOWED", "limited to sessions")
    tally.check(problem(invoke(narrow, MAC, "system.notify", token=reader))["code"] == "MISSING_SCOPE", "without the scope")
    for path in ("/v1/nodes", f"/v1/nodes/{MAC}"):
        answer = narrow.call("GET", path, None, {"Authorization": f"Bearer {bound}"})
        tally.check(answer[0] == 403, f"{path} for a token limited to sessions: {answer[0]}")
    tally.check(calls(gateway) == [], "none of these reached a node")
    narrow.stop()

    # The setting refuses what is never done.
    for bad in ("system.run", "camera.*", "*", "made.up", "sms.send"):
        tried = run_ladle("serve", "--demo", "--state", scratch(), "--listen", "127.0.0.1:0", "--nodes-allow", bad)
        tally.check(tried.returncode == 78 and "nodes.allow" in tried.stderr, f"nodes.allow takes {bad}: {tried.stderr}")
    wide = Serve("--nodes-allow", ",".join(ALLOWED), "--limits-node-calls", "1000", "--limits-node-captures", "1000",
                 state=state, gateway=gateway.url).linked()

    # Each refusal has its problem, with both codes.
    for node, command, status, code, node_code in (
        (PHONE, "camera.snap", 503, "NODE_IN_BACKGROUND", "NODE_BACKGROUND_UNAVAILABLE"),
        (PHONE, "contacts.search", 403, "NODE_PERMISSION", "CONTACTS_PERMISSION_REQUIRED"),
        (PHONE, "photos.latest", 504, "NODE_TIMEOUT", "TIMEOUT"),
        (PHONE, "reminders.list", 502, "NODE_FAILED", "INTERNAL"),
        (PHONE, "device.health", 422, "COMMAND_NOT_ALLOWED", None),
        (MAC, "location.get", 403, "NODE_PERMISSION", "LOCATION_DISABLED"),
        ("nobody", "system.notify", 404, "NODE_NOT_FOUND", None),
    ):
        answer = invoke(wide, node, command)
        told = problem(answer)
        tally.check((answer[0], told["code"], told.get("nodeCode")) == (status, code, node_code), f"{command}: {told}")
        tally.check((node_code is None) or told["gatewayCode"], f"{command} has the gateway's code: {told}")
        tally.check("/home/" not in json.dumps(told), f"no place of a host: {told}")
    tally.check(problem(invoke(wide, PHONE, "photos.latest"))["retryable"] is False, "a time-out is not to be repeated")

    # A key is used once, by all who come with it at once.
    before = len(calls(gateway))
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: invoke(wide, PHONE, "canvas.navigate", "same", params={"url": "https://example.org/"}), range(8)))
    tally.check({answer[0] for answer in answers} == {202}, f"queued for all: {[answer[0] for answer in answers]}")
    tally.check(len({answer[2] for answer in answers}) == 1, "one answer for all")
    tally.check(len(calls(gateway)) == before + 1, "one command for all")

    # Bytes are what they say they are, and not kept.
    for command, accept, kind, magic in (("camera.snap", "image/*", "image/jpeg", b"\xff\xd8\xff"), ("camera.clip", "video/*", "video/mp4", None)):
        answer = invoke(wide, MAC, command, f"bytes-{command}", headers={"Accept": accept})
        fields = answer[1]
        tally.check(answer[0] == 200 and fields["content-type"] == kind, f"{command}: {answer[0]} {fields} {answer[2][:200]}")
        tally.check(fields["cache-control"] == "no-store" and fields["x-content-type-options"] == "nosniff", f"{fields}")
        tally.check(magic is None or answer[2].startswith(magic), f"{command}: {answer[2][:8]}")
        before = len(calls(gateway))
        again = invoke(wide, MAC, command, f"bytes-{command}", headers={"Accept": accept})
        tally.check(again[0] == 409 and problem(again)["code"] == "RESULT_NOT_KEPT", f"{command} again: {again[2][:200]}")
        tally.check(len(calls(gateway)) == before, "and not done again")
    for command, accept in (("screen.record", "video/*"), ("canvas.snapshot", "image/*")):
        answer = invoke(wide, MAC, command, headers={"Accept": accept})
        tally.check(answer[0] == 502 and problem(answer)["code"] == "NODE_FAILED", f"{command}: {answer[2][:200]}")
    broken = json.loads(invoke(wide, PHONE, "calendar.events")[2])
    tally.check(broken["raw"] is True and broken["result"] == '{"events": [', f"no JSON: {broken}")
    big = invoke(wide, MAC, "system.notify", params={"body": "x" * (65 << 10)})
    tally.check(big[0] == 413, f"64 KiB of params: {big[0]}")
    for field, value in (("timeoutMs", 999), ("timeoutMs", 120_001), ("params", [])):
        answer = invoke(wide, MAC, "system.notify", **{field: value})
        tally.check(answer[0] == 422 and problem(answer)["field"] == field, f"{field} {value}: {answer[2][:200]}")
    invoke(wide, PHONE, "location.get")
    database = b"".join(path.read_bytes() for path in pathlib.Path(state).rglob("ladle.db*"))
    tally.check(b"52.520008" not in database, "no place of a person is on the disk")

    # Ladle dies at any instant: each key reached its node at most once, and a repeat says what is known.
    rounds(protocol, gateway, wide, state)


def rounds(protocol, gateway, server, state):
    arguments = ("--nodes-allow", ",".join(ALLOWED), "--limits-node-calls", "1000")
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
        server = Serve(*arguments, state=state, gateway=gateway.url).linked()
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

    # A token has its rate; the owner has none.
    server.stop()
    server = Serve("--nodes-allow", "camera.snap", state=state, gateway=gateway.url).linked()
    limited = server.make_token("limited", "nodes")["token"]
    statuses = [invoke(server, MAC, "camera.snap", token=limited)[0] for _ in range(2)]
    statuses += [invoke(server, MAC, "system.notify", token=limited)[0] for _ in range(6)]
    tally.check(statuses == [200, 429] + [200] * 5 + [429], f"limits: {statuses}")

    # A node that goes, and one that is away.
    stream = EventStream(server, "?types=node")
    gateway.control("POST", "nodes?name=Mac&connected=false")
    until(lambda: server.json("GET", "/v1/nodes?refresh=true")[1]["nodes"][1]["state"] == "disconnected", what="the node to go")
    for _, name, data in stream:
        if name == "node":
            tally.check(data["reason"] == "disconnected" and data["node"]["id"] == MAC, f"the event: {data}")
            break
    stream.close()
    away = invoke(server, MAC, "system.notify")
    tally.check(away[0] == 503 and problem(away)["code"] == "NODE_OFFLINE", f"away: {away[2][:200]}")
    _, status = server.json("GET", "/v1/status")
    tally.check(status["pairing"]["pending"] == 1, f"one device waits: {status['pairing']}")
    audit = (pathlib.Path(state) / "audit.log").read_text()
    tally.check(f"{MAC} system.notify" in audit and "invokeNode" in audit, "the audit file has node and command")
    server.stop()
    gateway.stop()


for version in (3, 4):
    door(version)
print(f"nodes: seed {SEED}")
tally.end()
