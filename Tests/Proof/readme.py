"""README.md, docs/*.md and the pages for contributors: every console line is run against a fresh demo server and prints what the
page shows, every other shell line is a verb of the Makefile or marked as not run, and every link, command and exit code exists."""

import os
import re
import subprocess
import time

import page_lines
import yaml
from harness import ROOT, EventStream, Serve, Tally, options, run_ladle, scratch

chosen = options()
tally = Tally()
CONTRACT = yaml.safe_load((ROOT / "openapi" / "openapi.yaml").read_text())
README = ROOT / "README.md"
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "Tests/README.md")] + sorted((ROOT / "docs").glob("*.md"))

for page in PAGES:
    page_lines.check(page, tally)
    for text, target in re.findall(r"\[([^\]]+)\]\(([^)]+)\)", page.read_text()):
        if not target.startswith(("http://", "https://", "#")):
            file, _, anchor = target.partition("#")
            there = (page.parent / file).exists()
            tally.check(there, f"{page.name} links to {target}")
            if there and anchor:
                titles = re.findall(r"^#+ (.*)$", (page.parent / file).read_text(), re.MULTILINE)
                marks = {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}
                tally.check(anchor in marks, f"{page.name} links to {target}")

    # An option of curl that many systems' own does not have.
    if any("curl" in line and " --json " in line for line in page.read_text().splitlines() if not line.startswith("$ ladle")):
        tally.check("curl 7.82" in page.read_text(), f"{page.name} uses curl --json and does not say of which version it is")

# The table of exit codes is the program's own.
helped = run_ladle("help", check=True).stdout
codes = re.findall(r"^  (\d+) +(\S.*)$", helped.split("Exit codes:")[1], re.MULTILINE)
tally.check(re.findall(r"^\| (\d+) \| (.*) \|$", README.read_text(), re.MULTILINE) == codes, f"README's exit codes: {codes}")

# Every operation of the contract is called on the page of the API. Those of OpenAI's and Ollama's API are called by their own libraries:
# `openai_door.py`.
called = [command for _, command, _ in page_lines.commands(ROOT / "docs" / "api.md")]
for path, operations in CONTRACT["paths"].items():
    if path.startswith(("/openai/", "/ollama/")):
        continue
    place = re.sub(r"\\\{\w+\\\}", r"[^/ ]+", re.escape("$ladle" + path)) + r"(?![/\w])"
    for method in set(operations) & {"get", "put", "post", "patch", "delete"}:
        named = {"get": r"^(?!.*(-X|--json|-d '))", "post": r"^(?!.*-X (PUT|PATCH|DELETE)).*(-X POST|--json|-d ')"}
        wanted = re.compile(named.get(method, f"^.*-X {method.upper()}") + ".*" + place, re.DOTALL)
        tally.check(any(map(wanted.search, called)), f"docs/api.md calls {method.upper()} {path}")

# The table of event types is the contract's.
events = (ROOT / "docs" / "events.md").read_text()
told = {name for row in re.findall(r"^\| (`[a-z].*?) \| (?:yes|no) \|", events, re.MULTILINE) for name in re.findall(r"`([\w.]+)`", row)}
kinds = {schema["properties"]["type"]["const"] for schema in CONTRACT["components"]["schemas"].values()
         if "const" in schema.get("properties", {}).get("type", {})}
tally.check(told == kinds, f"docs/events.md and the contract differ in {sorted(told ^ kinds)}")

# `make run` without OpenClaw.
if chosen.long:
    home = scratch()
    made = subprocess.Popen([ROOT / "deploy/run", "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            text=True, env={"PATH": os.environ["PATH"], "HOME": home})
    said = []
    for line in made.stdout:
        said.append(line)
        if "listening on http" in line:
            break
    made.terminate()
    tally.check("starting with the demo gateway" in said[0] and "listening on http" in said[-1], f"make run: {said}")
    tally.check(made.wait(20) == 0, "make run ends with 0")
    for words in (["--gateway", "ws://127.0.0.1:9"], []):
        made = subprocess.Popen([ROOT / "deploy/run", "--listen", "127.0.0.1:0", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                env={"PATH": os.environ["PATH"], "HOME": home, **({} if words else {"LADLE_GATEWAY": "ws://127.0.0.1:9"})})
        said = next(line for line in made.stdout if "demo" in line or "127.0.0.1:9" in line or "listening on http" in line)
        made.terminate()
        tally.check("demo" not in said, f"make run with a gateway that is named: {said}")
        made.wait(20)

# Every command that a page names is one, with every option it gives it.
named = {line for page in PAGES for line in re.findall(r"`ladle ([a-z][^`]*)`", page.read_text())}
named |= {line for page in PAGES for _, lines, _ in page_lines.commands(page) for line in re.findall(r"\bladle ([a-z][^|>&;]*)", lines)}
named.discard("sned hello")  # shown as a mistake
for line in sorted(named):
    words = line.split()
    command = [word for word in words[:2] if re.fullmatch("[a-z-]+", word) and not word.startswith("-")]
    told = next((out.stdout for size in (2, 1) if (out := run_ladle(*command[:size], "--help")).returncode == 0), None)
    if told and "ladle serve --help" in told:
        told += run_ladle("serve", "--help").stdout
    if tally.check(told is not None, f"a page names `ladle {line}`"):
        for option in re.findall(r"(?<= )--[a-z-]+", line):
            tally.check(option in told, f"a page names `ladle {line}`, which has no {option}")

# Every command there is stands on the page of the commands.
page = (ROOT / "docs" / "cli.md").read_text()
for command in re.findall(r"^  ([a-z-]+) {2,}", helped.split("Usage: ")[1].split("\nOptions:")[0], re.MULTILINE):
    tally.check(f"ladle {command}" in page, f"docs/cli.md says nothing of ladle {command}")

# The first minute: from the start of the program to the first event of a message's run.
began = time.monotonic()
server = Serve()
stream = EventStream(server, "?types=run.*")
server.call("POST", "/v1/messages", b"hello", {"Content-Type": "text/plain"})
tally.check(any(event == "run.started" for _, event, _ in stream), "a first event")
seconds = time.monotonic() - began
tally.check(seconds < 60, f"the first event took {seconds:.1f} s")
print(f"readme: from the start of ladle serve to the first event of a run {seconds:.2f} s")

tally.end()
