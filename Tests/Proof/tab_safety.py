"""A Tab executes nothing. bash, zsh and fish, each on a terminal of its own, complete names that others choose: commands in
every notation, quotes, line ends, escape sequences, patterns, options. First a stand-in for `ladle` offers every name as it is:
the scripts alone have to keep it one word, the same when the shell reads it back. Then the program asks a server whose every
name is hostile: it offers the harmless words only. zsh and fish come from Debian."""

import http.server
import json
import os
import pathlib
import pty
import shutil
import signal
import subprocess
import threading

from harness import LADLE, ROOT, Tally, options, run_ladle, scratch, until

long = options().long
tally = Tally()
folder = pathlib.Path(scratch())
for shell in ("zsh", "fish"):
    if not shutil.which(shell):
        subprocess.run([ROOT / "deploy/packages", shell], check=True)

# What a name executes, if anything reads it as a command, is this: it makes the file `owned`.
DEED = ("$(>owned)", "`>owned`", "$(touch${IFS}owned)", "${x:=$(>owned)}", "<(>owned)", ">owned", "(>owned)", "$((x[$(>owned)]))", "x[$(>owned)]")
HOSTILE = [
    *DEED, *(f"x{deed}" for deed in DEED), *(f"agent:main:{deed}y" for deed in DEED),
    "x;>owned", "x|tee owned", "x&>owned", "x&&>owned;", "';>owned;'", '";>owned;"', "x' y", 'x" y', "'", '"', "\\", "\\';>owned", "$'x'", '$"x"',
    "$HOME", "${HOME}", "$x", "*", "?", "[a-z]*", "{a,b}", "**/*", "(x|y)", "x(e:'>owned':)", "~", "~root", "~+", "=ls", "a=b", "=(>owned)",
    "-rf", "--help", "--", "-", "!!", "x!ls", "^a^b", "#x", "x#y", "%1", "x  y", " x", "x ", ":", "::", "@", "+x", ".", "..", "/",
    "x\x1b]0;owned\x07y", "x\x1b[2J", "x\x9b2Jy", "x\ry", "x\x08y", "x\x00y".replace("\x00", "\x7f"), "\u202ex", "caf\u00e9", "\u2028", "k" * 3000,
    "x$(>owned)" * 200, b"x\xff\xfe\x80y", b"\xc3", b"\xc3\x28$(>owned)",
]
# These two shells cannot take as one word: a line end begins the next name, and behind a tab fish has its description.
HOSTILE_LINES = ["x\n$(>owned)", "\n`>owned`\n", "x\ty$(>owned)", "x\n>owned\ny", "x\r\n$(>owned)"]
HARMLESS = ["agent:main:main", "kitchen", "01a1fd87-32f0-7f1f-b1b1-417732f62d63", "a.b_c@host/x"]

SCRIPTS = {shell: folder / name for shell, name in {"bash": "ladle.bash", "zsh": "_ladle", "fish": "ladle.fish"}.items()}
for shell, file in SCRIPTS.items():
    file.write_text(run_ladle("completions", shell, check=True).stdout)
STAND_IN = folder / "bin" / "ladle"
STAND_IN.parent.mkdir()
STAND_IN.write_text("""#!/bin/sh
if [ "$1" = complete ]; then exec cat "$OFFERED"; fi
for word in "$@"; do printf '%s\\0' "$word"; done > "$CALLED.new"
mv "$CALLED.new" "$CALLED"
""")
STAND_IN.chmod(0o755)
(folder / "home").mkdir()
OFFERED, CALLED, OWNED = folder / "offered", folder / "called", folder / "home" / "owned"
ENVIRONMENT = {
    "PATH": f"{STAND_IN.parent}:{os.environ['PATH']}", "HOME": str(folder / "home"), "ZDOTDIR": str(folder), "XDG_CONFIG_HOME": str(folder / "config"),
    "XDG_DATA_HOME": str(folder / "data"), "TERM": "dumb", "LC_ALL": "C.UTF-8", "OFFERED": str(OFFERED), "CALLED": str(CALLED),
}
READY = folder / "ready"
(folder / "bashrc").write_text(f"source {SCRIPTS['bash']}\nbind 'set bell-style none'\nPROMPT_COMMAND='>{READY}'\nset -o history -o histexpand\nPS1=\n")
(folder / ".zshrc").write_text(f"fpath=({folder} $fpath)\nautoload -Uz compinit; compinit -u -D\nready() {{ : >{READY} }}\nzle -N zle-line-init ready\nPS1=\n")
(folder / "config" / "fish").mkdir(parents=True)
(folder / "config" / "fish" / "config.fish").write_text(f"source {SCRIPTS['fish']}\nfunction fish_prompt; echo >{READY}; end\n")
COMMANDS = {
    "bash": ["bash", "--noprofile", "--rcfile", str(folder / "bashrc"), "-i"],
    "zsh": ["zsh", "-d", "-i"],
    "fish": ["fish", "-i"],
}


class Shell:
    """An interactive shell on a terminal, in a folder of its own."""

    def __init__(self, name):
        self.name = name
        self.shown = b""
        READY.unlink(missing_ok=True)
        self.process, self.ours = pty.fork()
        if self.process == 0:
            os.chdir(ENVIRONMENT["HOME"])
            os.execvpe(name, COMMANDS[name], ENVIRONMENT)
        # A terminal that nobody reads stops the shell.
        threading.Thread(target=self._read, daemon=True).start()
        until(READY.exists, what=f"the prompt of {name}")

    def _read(self):
        try:
            while piece := os.read(self.ours, 1 << 16):
                self.shown += piece
        except OSError:
            pass

    def tab(self, line, names):
        """Offers these names at a Tab behind the line, enters what stands there then, and returns the words that `ladle` got."""
        OFFERED.write_bytes(b"".join(name + b"\n" for name in names))
        CALLED.unlink(missing_ok=True)
        READY.unlink(missing_ok=True)
        os.write(self.ours, line.encode() + b"\t\r")
        until(CALLED.exists, what=f"{self.name}: the command behind a Tab that offers {names}")
        until(READY.exists, what=f"{self.name}: the next prompt")
        return CALLED.read_bytes().split(b"\0")[:-1]

    def end(self):
        os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)


def raw(name):
    return name if isinstance(name, bytes) else name.encode()


def stays_data(shell, name, what):
    if not tally.check(not OWNED.exists(), f"{shell.name}: a Tab that offers {name} executes it {what}"):
        OWNED.unlink()


for name in COMMANDS:
    shell = Shell(name)
    tally.check(shell.tab("ladle token revoke k", [b"kitchen"])[-1] == b"kitchen", f"{name}: a Tab completes a word that is begun")
    # Behind an option the name is the only word; behind `token revoke` the options stand beside it.
    for line, only in (("ladle history --session ", True), ("ladle token revoke ", False)):
        typed = [word.encode() for word in line.split()[1:]]
        for item in map(raw, HOSTILE if only or long else DEED):
            called = shell.tab(line, [item])
            # fish writes a tilde at the beginning unquoted. The program offers no such name.
            if only and not (name == "fish" and item.startswith(b"~")):
                tally.check(called in (typed, [*typed, item]), f"{name}: {line}<Tab> makes {called[len(typed):]} of {item}")
            stays_data(shell, item, f"behind {line}")
        for item in map(raw, HOSTILE_LINES):
            shell.tab(line, [item])
            stays_data(shell, item, f"behind {line}")
    tally.check(b"\x1b]0;owned" not in shell.shown and b"\x1b[2J" not in shell.shown, f"{name} shows a name's escape sequences")
    shell.end()

# Now the program, and a server that gives every row of every list a hostile name.
NAMES = [name for name in HOSTILE + HOSTILE_LINES if isinstance(name, str)] + HARMLESS
PLAIN = {":", "::", "@", ".", "..", "/"}
LISTS = ("entries", "runs", "approvals", "questions", "automations", "nodes", "sinks", "sessions", "agents", "tokens", "requests")


class Hostile(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        rows = [{"id": name, "key": name, "name": name, "code": name} for name in NAMES]
        body = json.dumps({member: rows for member in LISTS}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hostile)
threading.Thread(target=server.serve_forever, daemon=True).start()
ENVIRONMENT["LADLE_URL"] = f"http://127.0.0.1:{server.server_port}"
for list_ in ("entries", "runs", "approvals", "questions", "automations", "nodes", "sinks", "sessions", "agents", "tokens", "codes"):
    told = subprocess.run([LADLE, "complete", list_], capture_output=True, env=ENVIRONMENT, cwd=ENVIRONMENT["HOME"], timeout=60)
    words = told.stdout.decode().splitlines()
    tally.check(words and set(words) - PLAIN == set(HARMLESS), f"complete {list_} offers {sorted(set(words) - PLAIN - set(HARMLESS))}")
STAND_IN.write_text(f"""#!/bin/sh
if [ "$1" = complete ]; then exec {LADLE} "$@"; fi
for word in "$@"; do printf '%s\\0' "$word"; done > "$CALLED.new"
mv "$CALLED.new" "$CALLED"
""")
for name in COMMANDS:
    shell = Shell(name)
    called = shell.tab("ladle history --session kitc", [])
    tally.check(called[-1] == b"kitchen", f"{name}: with the program between, kitc<Tab> gives {called}")
    shell.tab("ladle history --session x", [])
    stays_data(shell, "x", "with the program between")
    shell.end()
print(f"tabs: {len(HOSTILE) + len(HOSTILE_LINES)} names in bash, zsh and fish")
tally.end()
