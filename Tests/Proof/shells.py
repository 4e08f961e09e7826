"""The completions in the three shells they are for: each is asked, as by a Tab, behind every command and before its options, and
has to offer exactly what the command's own help lists. zsh and fish come from Debian."""

import os
import pathlib
import pty
import re
import shutil
import subprocess

from harness import LADLE, ROOT, Serve, Tally, options, scratch, until

options()
tally = Tally()
folder = pathlib.Path(scratch())
for shell in ("zsh", "fish"):
    if not shutil.which(shell):
        subprocess.run([ROOT / "deploy/packages", shell], check=True)
ENVIRONMENT = {**os.environ, "HOME": str(folder), "ZDOTDIR": str(folder), "XDG_CONFIG_HOME": str(folder), "XDG_DATA_HOME": str(folder), "TERM": "dumb",
               "PATH": f"{folder}/bin:{os.environ['PATH']}", "LADLE_SOCKET": f"{folder}/state/ladle.sock"}


def run(*words, **more):
    return subprocess.run(words, capture_output=True, text=True, timeout=60, env=ENVIRONMENT, **more)


def script(shell, name):
    file = folder / name
    file.write_text(run(LADLE, "completions", shell).stdout)
    return str(file)


BASH, ZSH, FISH = script("bash", "ladle.bash"), script("zsh", "_ladle"), script("fish", "ladle.fish")
for command in (["bash", "-n", BASH], ["zsh", "-n", ZSH], ["fish", "--no-execute", FISH]):
    read = run(*command)
    tally.check(read.returncode == 0 and not read.stderr, f"{command[0]} reads its file: {read.stderr}")


def bash(line):
    ask = ('source "$1"; read -ra COMP_WORDS <<< "$2"; [[ "$2" == *" " ]] && COMP_WORDS+=(""); COMP_CWORD=$((${#COMP_WORDS[@]}-1)); '
           'COMPREPLY=(); _ladle; printf "%s\\n" "${COMPREPLY[@]}"')
    return set(run("bash", "--norc", "-c", ask, "bash", BASH, line).stdout.split())


def fish(line):
    told = run("fish", "-N", "-c", "source $argv[1]; complete -C $argv[2]", FISH, line)
    tally.check(not told.stderr, f"fish: {told.stderr}")
    return {row.split("\t")[0] for row in told.stdout.splitlines()}


class Zsh:
    """An interactive zsh on a terminal of its own, whose Tab writes down what compadd is given."""

    RC = """fpath=($ZDOTDIR $fpath)
autoload -Uz compinit; compinit -u -D
compadd() { local -a hits; builtin compadd -O hits "$@"; (( $#hits )) && print -rl -- $hits >> $ZDOTDIR/hits; builtin compadd "$@" }
zle -C offer list-choices _main_complete
asked() { : > $ZDOTDIR/hits; zle offer; BUFFER=; mv $ZDOTDIR/hits $ZDOTDIR/told }
zle -N asked; bindkey '^I' asked
LISTMAX=10000
zle -N zle-line-init ready; ready() { : > $ZDOTDIR/ready }
PS1=
"""

    def __init__(self):
        (folder / ".zshrc").write_text(self.RC)
        self.ours, theirs = pty.openpty()
        self.shell = subprocess.Popen(["zsh", "-d", "-i"], stdin=theirs, stdout=theirs, stderr=theirs, env=ENVIRONMENT, start_new_session=True)
        os.close(theirs)
        until((folder / "ready").exists, what="zsh's prompt")

    def __call__(self, line):
        told = folder / "told"
        told.unlink(missing_ok=True)
        os.write(self.ours, line.encode() + b"\t")
        until(told.exists, what=f"zsh's answer to {line!r}")
        os.set_blocking(self.ours, False)
        try:
            while os.read(self.ours, 65536):
                pass
        except BlockingIOError:
            pass
        return set(told.read_text().split())


def helped(place):
    """The verbs and options the help of a command lists."""
    text = run(LADLE, *place, "--help").stdout
    parts = dict(re.findall(r"^(\w[^\n]*):\n((?:  .*\n|\n(?=  ))*)", text, re.M))
    for other in ("Arguments", "Examples", "Exit codes"):
        parts.pop(other, None)
    flags = set(re.findall(r"^  (?:-\w, )?(--[a-z0-9-]+)", parts.pop("Options", "") + parts.pop("Settings", ""), re.M))
    return set(re.findall(r"^  ([a-z-]+)", "\n".join(parts.values()), re.M)), flags


zsh = Zsh()
places, left, asked = [], [()], 0
while left:
    place = left.pop()
    verbs, flags = helped(place)
    places.append(place)
    left += [(*place, verb) for verb in verbs]
    line = " ".join(("ladle", *place))
    for shell in (bash, zsh, fish):
        name = getattr(shell, "__name__", "zsh")
        offered = shell(line + " ")
        wanted = verbs if place != ("help",) else helped(())[0]
        words = {word for word in offered if not word.startswith("-")}
        tally.check(words >= wanted and (not wanted or words == wanted), f"{name}: {line} <Tab> offers {words}, not {wanted}")
        offered = shell(line + " --")
        tally.check(offered >= flags and flags, f"{name}: {line} --<Tab> offers {sorted(offered)}; its help has {sorted(flags - offered)} besides")
        asked += 2
for shell in (bash, zsh, fish):
    name = getattr(shell, "__name__", "zsh")
    tally.check(shell("ladle outbox ca") == {"cancel"}, f"{name}: the rest of a word: {shell('ladle outbox ca')}")
    tally.check(shell("ladle serve --log-level ") == {"error", "warning", "notice", "info", "debug"}, f"{name}: values: {shell('ladle serve --log-level ')}")
    tally.check("--wait" in shell("ladle send --session work --"), f"{name}: behind a value")
    tally.check(shell("ladle completions ") - {"--help"} == {"bash", "zsh", "fish"}, f"{name}: shells")

# The running server's own words. Until here there was none, and nothing was offered.
(folder / "bin").mkdir()
(folder / "bin" / "ladle").symlink_to(LADLE)
server = Serve(state=str(folder / "state")).linked()
entry = server.json("POST", "/v1/messages", {"text": "hello"})[1]["id"]
tally.check(server.json("POST", "/v1/tokens", {"name": "kitchen", "scopes": ["read"]})[0] == 201, "a token")
for shell in (bash, zsh, fish):
    name = getattr(shell, "__name__", "zsh")
    tally.check(entry in shell("ladle outbox show "), f"{name}: ids of entries: {shell('ladle outbox show ')}")
    tally.check("kitchen" in shell("ladle token revoke "), f"{name}: names of tokens: {shell('ladle token revoke ')}")
    tally.check("agent:main:main" in shell("ladle send --session "), f"{name}: sessions: {shell('ladle send --session ')}")
    tally.check("local" in shell("ladle context use "), f"{name}: contexts: {shell('ladle context use ')}")
zsh.shell.kill()
print(f"shells: {len(places)} commands in bash, zsh and fish: {asked + 12} questions")
tally.end()
