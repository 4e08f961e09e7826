"""`ladle top` in a pseudo-terminal: what goes on at 60, 100 and 160 columns, decisions and stops by two keys, other sizes, Ctrl-Z, and a
terminal that is given back whatever ends it. One stream and each list once; no text of others controls the terminal."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time
import unicodedata

from harness import LADLE, DemoGateway, Serve, Tally, options, run_ladle, until

options()
tally = Tally()
DRAWN = re.compile(r"\x1b\[(\d+);1H\x1b\[K((?:[^\x1b]|\x1b\[\d*m)*)|\x1b\[2J|\x1b\[\?(?:1049|25|7)[hl]")
OFF = "\x1b[?7h\x1b[?25h\x1b[?1049l"


def width(line):
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


class Terminal:
    """A command on a pseudo-terminal that changes its size."""

    def __init__(self, command, columns=100, rows=30, env=None):
        self.columns, self.written = columns, ""
        self.pid, self.descriptor = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            # A program keeps ignoring the signals that its parent ignores, as under nohup.
            for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGTSTP):
                signal.signal(number, signal.SIG_DFL)
            os.environ.update({"TERM": "xterm-256color", **(env or {})})
            os.execvp(command[0], command)

    def read(self, seconds=0.2):
        """The next piece, if one comes in time: a screen on which much happens is never quiet. False at the end of the command."""
        if select.select([self.descriptor], [], [], seconds)[0]:
            try:
                self.written += os.read(self.descriptor, 1 << 16).decode(errors="replace")
            except OSError:
                return False
        return True

    def pause(self, seconds):
        """Reads for so long. What was written then."""
        before, end = len(self.written), time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if select.select([self.descriptor], [], [], left)[0]:
                self.written += os.read(self.descriptor, 1 << 16).decode(errors="replace")
        return self.written[before:]

    @property
    def screen(self):
        """The rows as they are now."""
        rows = {}
        for found in DRAWN.finditer(self.written):
            if found[1]:
                rows[int(found[1])] = re.sub(r"\x1b\[\d*m", "", found[2]).rstrip()
            elif found[0] == "\x1b[2J" or found[0].startswith("\x1b[?1049"):
                rows = {}
        return [rows.get(number, "") for number in range(1, max(rows, default=0) + 1)]

    def shows(self, text, seconds=20):
        """Waits for a text on the screen."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.read()
            if any(text in line for line in self.screen):
                return True
        return tally.check(False, f"{self.columns} columns, {text!r} did not come: {self.screen}")

    def type(self, keys):
        # As fast as a person who reads.
        time.sleep(0.6)
        os.write(self.descriptor, keys.encode())
        self.read()

    def resize(self, columns, rows):
        self.columns = columns
        fcntl.ioctl(self.descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    @property
    def takes_lines(self):
        lines = termios.ICANON | termios.ECHO
        return termios.tcgetattr(self.descriptor)[3] & lines == lines

    def ended(self):
        """The status of a command that has ended."""
        found = os.waitpid(self.pid, os.WNOHANG)
        return found if found[0] else None

    def end(self, seconds=10):
        """The exit code; the terminal must be as it was."""
        end = time.monotonic() + seconds
        while self.read(0.1) and time.monotonic() < end:
            if ended := self.ended():
                self.read()
                break
        else:
            ended = until(self.ended, what="the end of the command")
        tally.check(self.takes_lines, "the terminal takes lines again")
        tally.check(OFF in self.written and "\x1b[?1049h" not in self.written.rsplit(OFF, 1)[1], "and shows its own screen")
        os.close(self.descriptor)
        return os.waitstatus_to_exitcode(ended[1])


gateway = DemoGateway("--speed", "4")
server = Serve(gateway=gateway.url).linked()
ENV = {"LADLE_SOCKET": server.state + "/ladle.sock", "NO_COLOR": "1"}
TOP = [LADLE, "top"]


def send(text, session):
    return server.json("POST", "/v1/messages", {"text": text, "session": session})[1]


def requests():
    """The requests that the server has read, this one too."""
    text = server.call("GET", "/metrics")[2].decode()
    return sum(int(count) for count in re.findall(r"^ladle_http_requests_total\{.*\} (\d+)$", text, re.M))


# What goes on, at each size.
server.json("POST", "/v1/messages?wait=20", {"text": "hello"})
until(lambda: server.json("GET", "/v1/usage/cost")[1].get("days"), what="tokens by day")
top = Terminal(TOP, env=ENV)
top.shows("SESSIONS")
tally.check("online" in top.screen[0] and top.screen[-1].startswith("↑↓ choose"), f"the first screen: {top.screen}")
tally.check(any("tokens" in line and re.search("[▁▂▃▄▅▆▇█] 1 day|[▁▂▃▄▅▆▇█]{2}", line) for line in top.screen), f"sparklines: {top.screen}")
tally.check(server.status()["events"]["subscribers"] == 1, "one stream")
for columns, rows in ((60, 24), (100, 30), (160, 50), (60, 10)):
    top.resize(columns, rows)
    send("append the weather to weather.txt", "main")
    top.shows("●") and top.shows("weather.txt")
    until(lambda: top.read() and len(top.screen) == rows, what=lambda: f"{rows} rows: {top.screen}")
    tally.check(all(width(line) <= columns for line in top.screen), f"{columns} columns: {top.screen}")
    until(lambda: not server.json("GET", "/v1/activity")[1]["active"], what="the end of the run")
    top.shows("○ agent:main:main")

# Nothing is asked for while nothing happens.
top.resize(100, 30)
until(lambda: top.read() and len(top.screen) == 30, what=lambda: f"30 rows: {top.screen}")
top.shows("idle")
before = requests()
written = top.pause(3)
asked = requests() - before - 1
tally.check(asked == 0, f"{asked} requests in three quiet seconds")
tally.check(len(re.findall(r"\x1b\[\d+;1H", written)) <= 1, f"and nothing is drawn but a clock: {written!r}")

# Two keys decide.
for key, question, state in (("a", "Allow it once?", "allowed"), ("d", "Deny it?", "denied")):
    send(f"approve echo hi {key}", f"ask-{key}")
    top.shows("TO DECIDE")
    asked = server.json("GET", "/v1/approvals")[1]["approvals"][0]
    top.type("g")
    top.type(key)
    top.shows(question)
    tally.check(any(f"echo hi {key}" in line for line in top.screen), f"the whole command: {top.screen}")
    top.type("n")
    top.shows("Nothing was done.")
    tally.check(server.json("GET", f"/v1/approvals/{asked['id']}")[1]["state"] == "pending", "another key decides nothing")
    top.type(key + "y")
    tally.check(server.json("GET", f"/v1/approvals/{asked['id']}")[1]["state"] == "pending", "nor does pasted text")
    top.type(key)
    top.type("y")
    until(lambda: server.json("GET", f"/v1/approvals/{asked['id']}")[1]["state"] == state, what=f"{state} by two keys")
    until(lambda: top.read() and "TO DECIDE" not in top.screen, what=lambda: f"the end of the question: {top.screen}")

# Hostile texts are text.
send("approve echo \u202egnp.exe\u200b\x1b[2J; printf x", "wicked")
server.json("POST", "/v1/sessions", {"label": "evil\u202e\x1b]0;x\x07"})
top.shows("allow?")
top.type("g")
top.type("\r")
top.shows("\\u{202E}")
top.type("d")
top.type("y")
top.pause(1)
left = DRAWN.sub("", top.written)
tally.check(left == "", f"only codes of its own: {left[:200]!r}")
tally.check(not re.search("[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", top.written), "no control character")

# Two keys stop a run.
until(lambda: not server.json("GET", "/v1/activity")[1]["active"], what="the end of the run")
send("approve 500s date", "long")
top.shows("1 run")
run = server.json("GET", "/v1/runs?active=true")[1]["runs"][0]["id"]
top.type("g")
top.type("j")
top.type("x")
top.shows("Stop the run in agent:main:long?")
top.type("y")
until(lambda: server.json("GET", f"/v1/runs/{run}")[1]["state"] == "aborted", what="a run that is stopped")

# The server goes and comes back.
server.kill()
top.shows("Ladle is away; coming back.")
server = server.again().linked()
top.shows("online")
top.type("q")
tally.check(top.end() == 0, "q ends it")

# Whatever ends it.
for number, ended in ((signal.SIGTERM, -15), (signal.SIGHUP, -1), (None, -2)):
    top = Terminal(TOP, env=ENV)
    top.shows("SESSIONS")
    tally.check(not top.takes_lines, "single keys")
    os.kill(top.pid, number) if number else os.write(top.descriptor, b"\x03")
    code = top.end()
    tally.check(code == ended, f"signal {number or 'of Ctrl-C'}: {code}")

# Ctrl-Z, and back.
top = Terminal(["bash", "-c", f'set -m; "{LADLE}" top; stty -a; read word; fg; echo "code $?"'], env=ENV)
top.shows("SESSIONS")
top.type("\x1a")
until(lambda: top.read() and " icanon" in top.written and " echo " in top.written, what=lambda: f"a shell with lines: {top.written[-900:]!r}")
tally.check(top.takes_lines and top.written.rsplit(OFF, 1)[1].count("\x1b[?1049h") == 0, "Ctrl-Z gives the terminal back")
top.written = ""
top.type("go\n")
top.shows("SESSIONS")
tally.check(not top.takes_lines, "single keys again")
top.type("q")
tally.check(top.end() == 0 and "code 0" in top.written, f"the end after Ctrl-Z: {top.written[-200:]!r}")

# Over a context, and where there is no terminal.
os.environ["HOME"] = home = server.state + "/home"
os.makedirs(home)
file = os.path.join(home, "token")
with open(os.open(file, os.O_CREAT | os.O_WRONLY, 0o600), "w") as kept:
    kept.write(server.token)
away = {"HOME": home, "NO_COLOR": "1"}
added = run_ladle("context", "add", "den", f"http://127.0.0.1:{server.port}", "--token-file", file, env=away)
tally.check(added.returncode == 0, f"a context: {added.stderr}")
top = Terminal([LADLE, "top", "--context", "den"], 60, 24, env=away)
top.shows(f"127.0.0.1:{server.port}")
top.type("q")
tally.check(top.end() == 0, "over a context")
for arguments in (["top"], ["top", "--json"]):
    run = run_ladle(*arguments, env=ENV)
    tally.check(run.returncode == 64 and "draws on a terminal" in run.stdout + run.stderr and "\x1b" not in run.stdout, f"no terminal: {run}")
tally.end()
