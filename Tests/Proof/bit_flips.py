"""A bit of the database that changed on the disk, once for each of many places: the next start succeeds, or ends with a command to
type; whatever is answered then is whole JSON; and no token opens more than before. The gateway is away, so that the answers come from
the disk."""

import http.client
import json
import pathlib
import random
import shutil
import signal

from harness import DemoGateway, NotStarted, Serve, Tally, options, scratch, until

chosen = options(flips=(40, 1330), seed=(0, 0))
tally = Tally()
chance = random.Random(chosen.seed)
AWAY = "ws://127.0.0.1:1"
READS = [
    "/v1/status", "/v1/messages", "/v1/messages?session=agent:main:kitchen", "/v1/outbox?state=all&limit=500", "/v1/runs?limit=100",
    "/v1/activity", "/v1/approvals?state=all", "/v1/sessions", "/v1/agents", "/v1/models", "/v1/usage", "/v1/automations", "/v1/nodes",
    "/v1/notifications", "/v1/notifications/sinks", "/v1/notifications/rules", "/v1/notifications/quiet-hours", "/v1/tokens",
    "/v1/glance", "/v1/questions",
]


def state():
    """A state with something in each table, at rest; and the tokens of one scope."""
    gateway = DemoGateway()
    server = Serve(gateway=gateway.url).linked()
    for number in range(12):
        session = ["agent:main:main", "agent:main:kitchen"][number % 2]
        server.json("POST", "/v1/messages?wait=20", {"text": f"echo number {number}", "session": session})
    server.json("POST", "/v1/messages", {"text": "approve rm -rf build"})
    until(lambda: server.json("GET", "/v1/approvals")[1]["approvals"], what="an approval")
    tokens = {scope: server.make_token(scope, scope)["token"] for scope in ("read", "send")}
    server.json("POST", "/v1/notifications/sinks", {"name": "hook", "kind": "webhook", "url": "https://example.org/x", "enabled": False})
    for path in READS:
        server.call("GET", path)
    start = server.json("GET", "/v1/events?poll=0")[1]["cursor"].split(".")[0] + ".0"
    server.stop()
    gateway.kill()
    return pathlib.Path(server.state), tokens, start


def look(server, tokens, start):
    """What is wrong with what it answers."""
    wrong = []
    wire = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)

    def ask(method, path, body=None, token=None):
        fields = {"Authorization": f"Bearer {token}"} if token else {}
        if body is not None:
            fields["Content-Type"] = "application/json"
        wire.request(method, path, body, fields)
        answer = wire.getresponse()
        return answer.status, answer.read()

    for path in [*READS, f"/v1/events?poll=0&since={start}&limit=1000"]:
        status, body = ask("GET", path)
        try:
            json.loads(body)
        except ValueError:
            wrong.append(f"GET {path}: {status}, which is no JSON: {body[:80]}")
        if status >= 500 and status not in (503, 504):
            wrong.append(f"GET {path}: {status} {body[:200]}")
    for method, path, body, scope in (
        ("GET", "/v1/tokens", None, "admin"), ("POST", "/v1/messages", b'{"text":"x"}', "send"), ("GET", "/v1/outbox", None, "read"),
    ):
        for name, token in tokens.items():
            status, _ = ask(method, path, body, token)
            if status < 300 and name != scope:
                wrong.append(f"the token of {name} does what takes {scope}: {method} {path} {status}")
    return wrong


whole, tokens, start = state()
content = (whole / "ladle.db").read_bytes()
ends = {"served": 0, "set aside": 0, "refused": 0}
for number in range(chosen.flips):
    place, bit = chance.randrange(len(content)), chance.randrange(8)
    folder = scratch()
    shutil.copytree(whole, folder, dirs_exist_ok=True)
    changed = bytearray(content)
    changed[place] ^= 1 << bit
    pathlib.Path(folder, "ladle.db").write_bytes(changed)
    what = f"bit {bit} of byte {place}"
    try:
        server = Serve(state=folder, gateway=AWAY)
    except NotStarted as refusal:
        ends["refused"] += 1
        tally.check(refusal.code in (75, 78) and "ladle " in refusal.output, f"{what}: {refusal}")
        shutil.rmtree(folder, ignore_errors=True)
        continue
    wrong = look(server, tokens, start)
    tally.check(not wrong and server.process.poll() is None, f"{what}: {wrong}")
    ends["set aside" if list(pathlib.Path(folder).glob("set-aside-*")) else "served"] += 1
    server.kill(signal.SIGKILL)
    shutil.rmtree(folder, ignore_errors=True)
print(f"bit_flips: {chosen.flips} in {len(content)} bytes: {ends}")
tally.end()
