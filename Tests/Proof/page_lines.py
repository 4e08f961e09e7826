"""The shell lines of README.md and docs: a `console` block is run, line by line, and what it prints is held against what
the page shows. `…` in a page stands for anything; ids, times and durations are compared as such, white space not at all,
so that a page may break a long line. Written `$ command`, continued with `> `.

Commands of a block below `<!-- second terminal -->` go on while the others run; what they print is read at the end of the page.

An `sh` block is not run: each of its lines is a verb of the Makefile, or `<!-- not run -->` stands above the block."""

import difflib
import os
import pathlib
import re
import subprocess

from harness import LADLE, ROOT, Serve, scratch

PORT = "127.0.0.1:18780"
MARK = "\x01"
# Longest first: an id holds digits that look like other things. A placeholder has no white space.
SHAPES = [
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "<uuid>"),
    (re.compile(r"(\brun )[0-9a-f]{8}\b"), r"\1<short>"),
    (re.compile(r"ld[lpt]_[A-Za-z0-9_-]{20,}"), "<secret>"),
    (re.compile(r"\b[0-9A-Z]{4}-[0-9A-Z]{4}\b"), "<code>"),
    (re.compile(r"\b[a-z0-9]{12}\.\d+\b"), "<cursor>"),
    (re.compile(r"\bepoch\":\"[a-z0-9]{12}\""), "epoch\":\"<epoch>\""),
    (re.compile(r"\bcall_\d+_\d+\b"), "<call>"),
    (re.compile(r"\breq-[a-z0-9]{8}\b"), "<request>"),
    (re.compile(r"thinking:\d+:\d+:[0-9a-f]{12}"), "<thought>"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "<time>"),
    (re.compile(r"\b\d{4}-\d\d-\d\d\b"), "<day>"),
    (re.compile(r"\b[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT"), "<date>"),
    (re.compile(r"\b\d\d:\d\d(:\d\d)?\b"), "<clock>"),
    (re.compile(r"ws://127\.0\.0\.1:\d+"), "<gateway>"),
    (re.compile(r"(durationMs|number|before)(\":)\d+"), r"\1\2<number>"),
    (re.compile(r"\b\d+(\.\d+)?\s?(ms|s|min)\b"), "<duration>"),
    (re.compile(r"([Ll]adle +|version\":\")\d+\.\d+\.\d+\b"), r"\1<version>"),
]


def blocks(page, language):
    """The fenced blocks of a page: first line number, text, comment above. An `sh` block below `<!-- not run -->` is left out."""
    start, lines, above = None, [], ""
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if start is None:
            if line.strip() == f"```{language}" and (language, above) != ("sh", "<!-- not run -->"):
                start, lines, over = number + 1, [], above
            above = line.strip()
        elif line.strip() == "```":
            yield start, lines, over
            start = None
        else:
            lines.append(line)


def commands(page):
    """Every command of a page with what it shows: line number, command, expected lines."""
    for number, command, shown, _ in terminals(page):
        yield number, command, shown


def terminals(page):
    """The commands, and for each whether it is of the second terminal."""
    for start, lines, above in blocks(page, "console"):
        found = []
        for offset, line in enumerate(lines):
            if line.startswith("$ "):
                found.append((start + offset, [line[2:]], []))
            elif line.startswith("> ") and found and not found[-1][2]:
                found[-1][1].append(line[2:])
            elif found:
                found[-1][2].append(line)
        second = above == "<!-- second terminal -->"
        yield from ((number, "\n".join(command), shown, second) for number, command, shown in found)


def shape(text):
    """Without white space, and with everything that differs from run to run named by its kind."""
    for pattern, name in SHAPES:
        text = pattern.sub(name, text)
    return re.sub(r"\s+", "", text)


def matches(shown, printed):
    pattern = ".*?".join(re.escape(part) for part in shape(shown).split("…"))
    # Where the program itself prints an ellipsis the page shows it as it is, which matches too.
    return re.fullmatch(pattern, shape(printed), re.DOTALL) is not None


def run(page, server, folder):
    """Runs a page's commands in one shell: (line, command, expected, printed) of each."""
    found = list(terminals(page))
    # What is a moment for a reader is two seconds more here: a busy machine takes long to start what went to the background.
    script = "sleep() { command sleep $1; command sleep 2; }\n" + "".join(
        f"{command} > second.txt 2>&1 & second=$!; sleep 0; printf '{MARK}'\n" if second else f"{command}\nprintf '{MARK}'\n"
        for _, command, _, second in found)
    if any(second for *_, second in found):
        script += "kill $second; wait $second 2> /dev/null\n"
    local = server.url.removeprefix("http://")
    done = subprocess.run(
        ["bash", "-c", script.replace(PORT, local)], cwd=folder, stdin=subprocess.DEVNULL, timeout=120, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        env={**os.environ, "PATH": f"{folder}/bin:{os.environ['PATH']}", "LADLE_SOCKET": f"{server.state}/ladle.sock",
             "LADLE_STATE": server.state, "LADLE_LISTEN": local, "CURL_HOME": str(folder), "XDG_CONFIG_HOME": str(folder), "COLUMNS": "100", "TZ": "UTC"})
    printed = done.stdout.replace(local, PORT).split(MARK)
    for index, (number, command, shown, second) in enumerate(found):
        if second:
            printed[index] = (folder / "second.txt").read_text().replace(local, PORT)
        yield number, command, "\n".join(shown), printed[index] if index + 1 < len(printed) else "(not reached)"


def serve(page):
    """A demo server as the page wants it: `<!-- serve: ARGUMENTS -->`."""
    wanted = re.search(r"<!-- serve: (.*?) -->", page.read_text())
    return Serve(*(wanted[1].split() if wanted else ["--demo-speed", "1"])).linked()


def folder():
    """A directory to run in, with the program on its path."""
    path = pathlib.Path(scratch())
    (path / "bin").mkdir()
    (path / "bin" / "ladle").symlink_to(pathlib.Path(LADLE).resolve())
    # As on a terminal: no progress in between.
    (path / ".curlrc").write_text("silent\nshow-error\n")
    return path


def check(page, tally):
    """One page, whole."""
    name = page.relative_to(ROOT)
    verbs = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for start, lines, _ in blocks(page, "sh"):
        for offset, line in enumerate(lines):
            verb = re.match(r"make ([a-z]+)\b", line)
            fine = not line.strip() or line.startswith("#") or (verb and verb[1] in verbs)
            tally.check(fine, f"{name}:{start + offset}: neither a verb nor marked as not run: {line}")
    if not list(commands(page)):
        return
    for number, command, shown, printed in run(page, serve(page), folder()):
        if not tally.check(matches(shown, printed), f"{name}:{number}: $ {command}"):
            print("\n".join(difflib.unified_diff(shown.splitlines(), printed.splitlines(), "shown", "printed", lineterm="")))
