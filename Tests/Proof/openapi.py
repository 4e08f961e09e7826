"""Contract fuzzing: schemathesis holds the running program against openapi/openapi.yaml, all its checks on.

The server wants a token on loopback too, so that what a caller without one gets is tried as well. Short: a few dozen
seconds, and the same requests every time, so that a build's findings stay what they are; --long: at least 10,000 calls, others
every time. A seed that found something is kept and comes first until it finds nothing more."""

import json
import os
import pathlib
import random
import re
import subprocess
import sys

from harness import ROOT, Serve, Tally, options, scratch, until

import jsonschema_rs
import yaml
from asyncapi3 import AsyncAPI3

LEAST_CALLS = 10_000
KEPT = ROOT / ".build/proof/openapi.seed"
SHORT = """
# Making texts of every length for these takes most of the time, and so does waiting a second for each stream.
[[operations]]
include-operation-id = ["putIdentity", "patchIdentity", "putProfile", "patchProfile", "streamEvents"]

[operations.phases.coverage]
enabled = false

# Each answer is this document, read as YAML for a second. It is compared with the file above.
[[operations]]
include-operation-id = "getOpenAPIAsYAML"

[operations.phases.coverage]
enabled = false

[operations.phases.fuzzing]
enabled = false
"""
# Limits that guard against many callers would only hide answers here.
LIMITS = ["--limits-sends-burst", "1000000", "--limits-all-sends-burst", "1000000", "--limits-auth-per-minute", "1000000", "--limits-pairing-per-minute", "1000000",
          "--outbox-max-entries", "1000000", "--outbox-max-per-session", "1000000"]


def authorised(server, method, path, body=None):
    status, fields, content = server.call(method, path, body, {"Authorization": f"Bearer {server.token}"})
    return status, fields, content


def served_is_written(server, tally):
    """Both forms that are served are the file."""
    text = (ROOT / "openapi" / "openapi.yaml").read_bytes()
    status, fields, content = authorised(server, "GET", "/openapi.yaml")
    tally.check(status == 200 and content.strip() == text.strip(), "GET /openapi.yaml is the file")
    tally.check(fields["content-type"] == "application/yaml", "application/yaml")
    status, fields, content = authorised(server, "GET", "/openapi.json")
    tally.check(status == 200 and json.loads(content) == yaml.safe_load(text), "GET /openapi.json says the same")
    status, _, _ = server.call("GET", "/openapi.json")
    tally.check(status == 401, "the document is not for everyone")


def stream_is_described(server, tally):
    """The AsyncAPI document is one, by another's models of it, and events of each common type are its messages."""
    status, _, content = authorised(server, "GET", "/asyncapi.json")
    document = json.loads(content)
    tally.check(status == 200 and document == json.loads((ROOT / "openapi/asyncapi.json").read_text()), "GET /asyncapi.json is the file")
    try:
        AsyncAPI3.model_validate(document)
    except ValueError as fault:
        tally.check(False, f"asyncapi3 refuses it: {fault}")
    messages = {each["name"]: each["payload"] for each in document["components"]["messages"].values()}
    place = json.loads(authorised(server, "GET", "/v1/events?poll=0")[2])["cursor"]
    status, _, content = authorised(server, "POST", "/v1/messages?wait=30", json.dumps({"text": "append the weather to weather.txt"}).encode())
    tally.check(status == 200, f"a message: {status} {content[:200]}")
    events = json.loads(authorised(server, "GET", f"/v1/events?poll=0&snapshot=1&since={place}")[2])["events"]
    for event in events:
        schema = {**messages[event["type"]], "components": document["components"]}
        error = next(iter(jsonschema_rs.Draft7Validator(schema).iter_errors(event)), None)
        tally.check(error is None, f"{event['type']}: {error}")
    types = {event["type"] for event in events}
    tally.check({"run.started", "run.step", "run.ended", "message", "outbox", "summary"} <= types, f"types that came: {types}")


def without_long_texts(value):
    """The document for the short form: of a text that may have more than some thousand characters the most is left out. Neither form
    makes texts of that length by itself, and joined to a pattern it is an expression of millions of states, compiled again and again."""
    if isinstance(value, dict):
        return {name: without_long_texts(inner) for name, inner in value.items() if name != "maxLength" or not isinstance(inner, int) or inner < 4096}
    return [without_long_texts(inner) for inner in value] if isinstance(value, list) else value


def main():
    # One worker: with more, what makes the values stumbles over its own caches now and then, and runs differ.
    fresh = int(KEPT.read_text()) if KEPT.exists() else random.randrange(1 << 31)
    chosen = options(examples=(8, 280), seed=(1, fresh), workers=(1, 1))
    server = Serve("--access-loopback", "token", "--debug-frames", *LIMITS)
    tally = Tally()
    until(lambda: json.loads(authorised(server, "GET", "/v1/status")[2])["link"]["state"] == "online", what="the link")
    served_is_written(server, tally)
    stream_is_described(server, tally)

    own = next(t["id"] for t in json.loads(authorised(server, "GET", "/v1/tokens")[2])["tokens"])
    folder = pathlib.Path(scratch())
    report, settings = folder / "report.json", folder / "schemathesis.toml"
    text = (ROOT / "Tests/Proof/schemathesis.toml").read_text()
    settings.write_text(text.replace('"Tests/', f'"{ROOT}/Tests/') + ("" if chosen.long else SHORT))
    document = ROOT / "openapi/openapi.json"
    if not chosen.long:
        document = folder / "openapi.json"
        document.write_text(json.dumps(without_long_texts(yaml.safe_load((ROOT / "openapi/openapi.yaml").read_text()))))
    tool = pathlib.Path(sys.executable).parent / "schemathesis"
    run = subprocess.Popen(
        [tool, "--config-file", settings, "run", str(document), "--no-color", "--output-sanitize", "false",
         "--generation-database", "none", "--workers", str(chosen.workers), "--max-examples", str(chosen.examples),
         "--seed", str(chosen.seed), "--report", "json", "--report-json-path", str(report),
         *(["--no-shrink"] if not chosen.long else [])],
        cwd=ROOT, text=True, stdout=subprocess.PIPE, env={
            **os.environ, "PROOF_URL": server.url, "PROOF_TOKEN": server.token, "PROOF_TOKEN_ID": own,
            "PYTHONPATH": "Tests/Proof", "COLUMNS": "160"})
    calls = 0
    for line in run.stdout:
        print(line, end="", flush=True)
        if found := re.search(r"(\d+) generated", line):
            calls = int(found.group(1))
    clean = tally.check(run.wait() == 0, f"schemathesis finds nothing: exit {run.returncode}, --seed {chosen.seed}")
    if chosen.long and clean:
        KEPT.unlink(missing_ok=True)
    elif chosen.long:
        KEPT.write_text(f"{chosen.seed}\n")
    tally.check(calls >= (LEAST_CALLS if chosen.long else 800), f"{calls} calls are enough")
    if os.environ.get("PROOF_REPORT"):
        pathlib.Path(os.environ["PROOF_REPORT"]).write_bytes(report.read_bytes())
    if not tally.check(server.process.poll() is None, "the program is still there"):
        print("".join(server.lines[-60:]))
    tally.end()


if __name__ == "__main__":
    main()
