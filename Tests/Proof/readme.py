"""README.md and docs/*.md: every console line is run against a fresh demo server and prints what the page shows, every
other shell line is a verb or marked, every file, link and exit code they name is there."""

import re
import subprocess

import pages
import yaml
from harness import LADLE, ROOT, Tally, options

options()
tally = Tally()
README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").glob("*.md"))]

for page in PAGES:
    pages.check(page, tally)
    for text, target in re.findall(r"\[([^\]]+)\]\(([^)]+)\)", page.read_text()):
        if not target.startswith(("http://", "https://", "#")):
            file, _, anchor = target.partition("#")
            there = (page.parent / file).exists()
            tally.check(there, f"{page.name} links to {target}")
            if there and anchor:
                titles = re.findall(r"^#+ (.*)$", (page.parent / file).read_text(), re.MULTILINE)
                marks = {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}
                tally.check(anchor in marks, f"{page.name} links to {target}")

# The table of exit codes is the program's own.
helped = subprocess.run([LADLE, "help"], capture_output=True, text=True, check=True).stdout
codes = re.findall(r"^  (\d+) +(\S.*)$", helped.split("Exit codes:")[1], re.MULTILINE)
tally.check(re.findall(r"^\| (\d+) \| (.*) \|$", README.read_text(), re.MULTILINE) == codes, f"README's exit codes: {codes}")

# Every operation of the contract is called on the page of the API.
called = [command for _, command, _ in pages.commands(ROOT / "docs" / "api.md")]
for path, operations in yaml.safe_load((ROOT / "openapi" / "openapi.yaml").read_text())["paths"].items():
    place = re.sub(r"\\\{\w+\\\}", r"[^/ ]+", re.escape("$ladle" + path)) + r"(?![/\w])"
    for method in set(operations) & {"get", "put", "post", "patch", "delete"}:
        named = {"get": r"^(?!.*(-X|--json|-d '))", "post": r"^(?!.*-X (PUT|PATCH|DELETE)).*(-X POST|--json|-d ')"}
        wanted = re.compile(named.get(method, f"^.*-X {method.upper()}") + ".*" + place, re.DOTALL)
        tally.check(any(map(wanted.search, called)), f"docs/api.md calls {method.upper()} {path}")

tally.end()
