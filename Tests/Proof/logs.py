"""The log of `ladle serve`: one line an event in each of its forms, problems and changes with their request id, nothing while
nothing happens, and no secret."""

import json
import os
import re
import subprocess
import tempfile
import time

from harness import LADLE, DemoGateway, Program, Serve, Tally, options, scratch, until

chosen = options()
tally = Tally()
READABLE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z (error|warning|notice|info|debug) [a-z_]+\.[a-z_]+( [a-zA-Z0-9]+=(\"(\\.|[^\"\\])*\"|[^ \"=]+))*")


def log_of(server):
    return [line.rstrip("\n") for line in server.lines if not line.startswith("ladle: ")]


def exercise(server):
    """Some of everything a log speaks of; the request ids that must be in it."""
    ids = []
    for method, path, body, headers in [
        ("GET", "/v1/nothing", None, {}), ("GET", "/v1/runs?limit=many", None, {}),
        ("POST", "/v1/messages", b"{", {"Content-Type": "application/json"}),
        ("GET", "/v1/status", None, {"Authorization": "Bearer ldl_" + "wrong" * 8}),
    ]:
        status, _, answer = server.call(method, path, body, headers)
        tally.check(status >= 400, f"{path} is refused")
        ids.append(json.loads(answer)["requestId"])
    status, entry = server.json("POST", "/v1/messages?wait=20", {"text": "a message of its own 4711"})
    tally.check(status == 200, "a send")
    status, token = server.json("POST", "/v1/tokens", {"name": "log", "scopes": ["read"]})
    tally.check(status == 201, "a token")
    return ids, token["token"], entry["entry"]["id"]


# For people: the first words, then lines.
gateway = DemoGateway()
server = Serve(gateway=gateway.url).linked()
ids, token, entry = exercise(server)
until(lambda: all(any(i in line for line in log_of(server)) for i in ids), what="the lines of problems")
until(lambda: f"outbox.delivered entry={entry}" in server.output, what="the entry's end")
until(lambda: "operation=createToken" in server.output, what="the line of the last change")
for line in log_of(server):
    tally.check(READABLE.fullmatch(line), f"not a line of a log: {line!r}")
tally.check(sum("link.online" in line for line in log_of(server)) == 1, "the link is told once")
tally.check("operation=sendMessage" in server.output and "operation=createToken" in server.output, "changes are told")
tally.check("operation=getStatus" not in server.output.replace("code=NOT_PAIRED", ""), "reads that work are not told")
for secret in [token, "wrong" * 8, "4711", gateway.token, server.token]:
    tally.check(secret not in server.output, f"a secret or a text is in the log: {secret[:8]}…")

# Quiet when idle, and while the gateway is away.
before = len(server.lines)
time.sleep(20 if chosen.long else 4)
tally.check(len(server.lines) == before, f"idle: {server.lines[before:]}")
gateway.kill()
until(lambda: "code=GATEWAY_UNREACHABLE" in server.output, what="the loss")
before = len(server.lines)
time.sleep(20 if chosen.long else 6)
tally.check(len(server.lines) == before, f"retries are not news: {server.lines[before:]}")

# A flood of bad requests is not a flood of lines.
before = len(server.lines)
for _ in range(600):
    server.call("GET", "/v1/nothing")
tally.check(len(server.lines) - before < 400, f"{len(server.lines) - before} lines for 600 bad requests")
time.sleep(0.2)
server.call("GET", "/v1/nothing")
until(lambda: "suppressed=" in server.output, what="the count of what was left out")
tally.check(server.stop() == 0, "it stops")
tally.check("serve.stopped" in server.output, "and says so")

# JSON: every line is an object, the first ones too.
process = Program(["serve", "--demo", "--state", scratch(), "--listen", "127.0.0.1:0", "--log-format", "json"], r"link\.online")
until(lambda: "serve.listening" in process.output, what="the first words")
process.stop()
until(lambda: "serve.stopped" in process.output, what="the last ones")
seen = []
for line in process.lines:
    try:
        seen.append(json.loads(line))
    except ValueError:
        tally.check(False, f"not JSON: {line!r}")
tally.check(all({"at", "level", "event"} <= line.keys() for line in seen), "each has time, level and event")
tally.check([line["event"] for line in seen if line["event"].startswith("serve.")][-1] == "serve.stopped", "to the end")

# The journal: priorities in front, and only where standard error is the journal's.
for is_journal in (True, False):
    with tempfile.TemporaryFile("w+") as file:
        facts = os.fstat(file.fileno())
        stream = f"{facts.st_dev}:{facts.st_ino if is_journal else facts.st_ino + 1}"
        process = subprocess.Popen(
            [LADLE, "serve", "--demo", "--state", scratch(), "--listen", "127.0.0.1:0"],
            stdout=subprocess.DEVNULL, stderr=file, env={**os.environ, "JOURNAL_STREAM": stream})

        def text():
            return os.pread(file.fileno(), 1 << 20, 0).decode()

        until(lambda: "link.online" in text(), what="the link")
        process.terminate()
        process.wait(20)
        lines = text().splitlines()
        form = r"<[3-7]>[a-z_]+\.[a-z_]+.*" if is_journal else READABLE.pattern
        tally.check(lines and all(re.fullmatch(form, line) for line in lines), f"journal {is_journal}: {lines[:3]}")
        if is_journal:
            tally.check(any("serve.listening" in line for line in lines), "the journal has the first words too")
tally.end()
