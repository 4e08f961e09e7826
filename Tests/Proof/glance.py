"""The glance of small displays, against a gateway whose names are hostile: in each combination of fields and forms it has at most
2,048 bytes, parses and is escaped; its version stays while nothing shown changes; who waits hears of a change at once; it is made four
times a second at most and touches no database; and a token of this path opens no other, however it is spelt."""

import itertools
import json
import re
import threading
import time

import scripted
from harness import Serve, Stopwatch, Tally, options, until
from raw import ask, tcp

chosen = options(seconds=(10, 60), combinations=(400, 4000))
tally = Tally()
MOST = 2048
NAMES = {
    "emoji": "🦊" * 40, "families": "👩‍👩‍👧‍👦" * 40, "controls": "a\x00\x1b]0;x\x07\x7f\x85\x9b2J" * 10, "bidi": "\u202e\u2066\u061c\u200f" * 20,
    "lines": "a\n\u2028\u2029\r\t" * 20, "markup": "<span size='99'>&amp;\"\\" * 10, "marks": "x" + "\u0301" * 3000, "long": "n" * 10_000,
}
FIELDS = "at link headline state active attention top outbox usage today agent unread rev".split()
METHODS = ["sessions.subscribe", "sessions.list", "chat.send", "chat.history", "exec.approval.list", "exec.approval.resolve", "usage.status"]


class Gateway(scripted.Gateway):
    name = "plain"

    def __init__(self):
        super().__init__()
        self.hello = {**scripted.HELLO, "features": {"methods": METHODS, "events": []}}
        self.answer = self.told

    def told(self, connection, request):
        word, now = self.name, int(time.time() * 1000)
        rows = [{"key": f"agent:main:s{i}", "kind": "direct", "label": word, "updatedAt": now} for i in range(4)]
        asked = {"id": f"a-{len(word)}", "createdAtMs": now, "expiresAtMs": now + 600_000,
                 "request": {"command": f"echo {word}", "host": "gateway", "agentId": "main", "sessionKey": "agent:main:s0"}}
        windows = [{"label": word, "usedPercent": 90 - i, "resetAt": now + 3_600_000} for i in range(4)]
        payloads = {
            "sessions.list": {"sessions": rows}, "exec.approval.list": [asked],
            "usage.status": {"providers": [{"provider": word, "displayName": word, "windows": windows}]},
            "agents.files.get": {"agentId": "main", "file": {
                "name": "IDENTITY.md", "content": f"- **Name:** {' '.join(word.split())}\n- **Emoji:** {word[:8]}\n"}},
        }
        if request["method"] in payloads:
            connection.respond(request, payloads[request["method"]])
        else:
            self.kind(connection, request)

    def event(self, name, payload):
        for connection in self.connections[-1:]:
            connection.event(name, payload)

    def agent(self, run, number, stream, data, session):
        self.event("agent", {"runId": run, "seq": number, "stream": stream, "ts": int(time.time() * 1000), "data": data, "sessionKey": session})


def harmless(text, where):
    bad = [hex(ord(one)) for one in text.rstrip("\n") if ord(one) < 0x20 or 0x80 <= ord(one) < 0xA0
           or ord(one) in (0x61C, 0x200E, 0x200F, 0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A))]
    tally.check(not bad, f"{where}: {bad[:5]}")


# -- names

sizes = {}
for kind, word in NAMES.items():
    gateway = Gateway()
    gateway.name = word
    serve = Serve(gateway=gateway.url).linked()
    serve.json("GET", "/v1/sessions")
    for place in range(4):
        gateway.agent(f"run-{place}", 1, "lifecycle", {"phase": "start"}, f"agent:main:s{place}")
        gateway.agent(f"run-{place}", 2, "tool", {"phase": "start", "name": "exec", "toolCallId": f"c{place}", "args": {"command": f"echo {word}"}},
                      f"agent:main:s{place}")
    serve.call("GET", "/v1/glance")
    until(lambda: serve.json("GET", "/v1/glance")[1]["active"] == 4, what="the runs")
    time.sleep(0.6)
    whole = serve.json("GET", "/v1/glance")[1]
    tally.check(len(whole["top"]) in (2, 3) and whole["attention"]["approvals"] == 1 and whole["state"] == "attention", f"{kind}: {whole}")
    tally.check(all(len(one["title"]) <= 40 or kind in ("families", "marks") for one in whole["top"]), f"{kind}: {whole['top']}")
    sizes[kind] = len(serve.call("GET", "/v1/glance")[2])
    subsets = [fields for count in range(1, len(FIELDS) + 1) for fields in itertools.combinations(FIELDS, count)]
    step = max(1, len(subsets) * 2 * len(NAMES) // chosen.combinations)
    queries = [f"?fields={','.join(fields)}{private}" for fields in subsets for private in ("", "&private=true")][::step]
    for query in ["", "?private=true", "?format=waybar", "?format=waybar&private=true", *queries]:
        status, fields, body = serve.call("GET", f"/v1/glance{query}")
        sent = body.decode()
        tally.check(status == 200 and len(body) <= MOST, f"{kind} {query}: {status}, {len(body)} bytes")
        harmless(sent, f"{kind} {query}")
        told = json.loads(body)
        if "fields=" in query:
            tally.check(set(told) <= set(query.split("fields=")[1].split("&")[0].split(",")), f"{kind} {query}: {set(told)}")
        if "private" in query:
            tally.check(not {"headline", "title", "label"} & set(re.findall(r'"(\w+)":', sent)) and "echo" not in sent, f"private: {sent}")
    line = serve.call("GET", "/v1/glance", headers={"Accept": "text/plain"})[2]
    tally.check(len(line) <= MOST and line.decode().startswith("● 4 active · 1 approval"), f"{kind}: {line!r}")
    harmless(line.decode(), f"{kind} as text")
    if kind != "long":
        serve.kill()

# -- nothing shown changes while deltas come

is_over = threading.Event()


def talk():
    for place in itertools.count(3):
        if is_over.wait(0.05):
            return
        gateway.agent("run-0", place, "assistant", {"text": "word " * place, "delta": "word "}, "agent:main:s0")


talker = threading.Thread(target=talk)
talker.start()
time.sleep(2)
status, fields, body = serve.call("GET", "/v1/glance")
tag, at, builds, begun = fields["etag"], json.loads(body)["at"], serve.metric("ladle_glance_builds_total"), time.monotonic()
statuses = []
while time.monotonic() - begun < chosen.seconds:
    statuses.append(serve.call("GET", "/v1/glance", headers={"If-None-Match": tag})[0])
made, took = serve.metric("ladle_glance_builds_total") - builds, time.monotonic() - begun
tally.check(set(statuses) == {304}, f"304 for {took:.0f} s of deltas: {set(statuses)}")
tally.check(made <= 4 * took + 2, f"{made} builds in {took:.1f} s")
is_over.set()
talker.join()

# -- nothing is read or written

time.sleep(2)
operations = serve.metric("ladle_store_operations_total")
for _ in range(300):
    serve.call("GET", "/v1/glance", headers={"If-None-Match": tag})
    serve.call("GET", "/v1/glance?fields=state")
tally.check(operations >= 0 and serve.metric("ladle_store_operations_total") == operations, "a glance writes")

# -- waiting

tag = serve.call("GET", "/v1/glance")[1]["etag"]
watch, begun = Stopwatch(serve), time.monotonic()
status, _, body = serve.call("GET", "/v1/glance?wait=2", headers={"If-None-Match": tag})
tally.check((status, body) == (304, b"") and 1.9 < time.monotonic() - begun and watch.seconds < 3, f"304 after two seconds: {status}")
heard = []
waiter = threading.Thread(target=lambda: heard.append((serve.call("GET", f"/v1/glance?wait=20&rev={tag.strip(chr(34))}"), watch.seconds)))
waiter.start()
time.sleep(0.5)
watch = Stopwatch(serve)
gateway.agent("run-9", 1, "lifecycle", {"phase": "start"}, "agent:main:s0")
waiter.join()
delay = heard[0][1]
tally.check(heard[0][0][0] == 200 and json.loads(heard[0][0][2])["active"] == 5 and delay < 1, f"a change after {delay:.2f} s: {heard}")

# -- a token of this path

bearer = {"Authorization": "Bearer " + serve.make_token("w", "read", "send", "control", paths=["/v1/glance"])["token"]}


def raw(path, method="GET"):
    return ask(tcp("127.0.0.1", serve.port), method, path, f"127.0.0.1:{serve.port}", bearer)


for path in ("/v1/glance", "/v1/glance?fields=state", "/v1/glance?x=/../status"):
    tally.check(raw(path).status == 200, f"{path}: {raw(path).status}")
OTHERS = """/v1/status /readyz /metrics /openapi.json /openapi.yaml / /v1 /v1/ /v1/glances /v1/glanc /v1/glance/ /v1/glance// //v1/glance /v1//glance
/v1/glance/../status /v1/glance/%2e%2e/status /v1/glance/%2E./status /v1/glance/.%2e/status /v1/glance/..%2fstatus /v1/glance%2f..%2fstatus
/v1%2fglance /v1%2Fglance/../status /v1/%2e/glance /v1/./glance /v1/glance/. /v1/glance/.. /V1/GLANCE /v1/glance%00 /v1/glance%20 /v1/glance;x=1
/v1/status?/v1/glance /v1/runs/x /v1/messages /v1/tokens /v1/no-such-path /v1/outbox/../glance/../status /v1/status/%2e%2e/glance/../../status""".split()
for path in OTHERS:
    for method in ("GET", "HEAD", "POST", "OPTIONS"):
        answer = raw(path, method)
        status, got = answer.status, answer.body
        # Below its own path there is nothing.
        isNothing = status == 404 and path.startswith("/v1/glance/")
        tally.check(status in (400, 403) or isNothing, f"{method} {path}: {status}")
        tally.check(status == 400 or isNothing or method == "HEAD" or b"PATH_NOT_ALLOWED" in got and b"/v1/glance" in got, f"{method} {path}: {got[-300:]}")
tally.check(raw("/v1/glance", "POST").status == 405, "its own path has its methods")

gateway.listener.close()
serve.kill()
print(f"glance: bytes by names {sizes}; {len(statuses)} requests in {took:.0f} s of deltas all 304, {made:.0f} builds; a change after {delay * 1000:.0f} ms")
tally.end()
