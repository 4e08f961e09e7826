"""`ladle restore`, killed before and after each rename and each removal of a file: the next start has the whole earlier state or the whole
restored one, says which, and the directory opens."""

import pathlib
import shutil
import subprocess

from harness import NotStarted, Serve, Tally, later, options, run_ladle, scratch

options()
tally = Tally()
LATER = later()
AWAY = "ws://127.0.0.1:1"
CALLS = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
/* Kills the process before (KILL_BEFORE) or after (KILL_AFTER) the call of this number. The file COUNT gets a byte for each call. */
static int calls;
static int at(const char *name) { const char *text = getenv(name); return text ? atoi(text) : -1; }
static void before(void) {
    const char *path = getenv("COUNT");
    int file = path ? open(path, O_WRONLY | O_CREAT | O_APPEND, 0600) : -1;
    if (file >= 0 && (write(file, ".", 1) != 1 || close(file) != 0)) abort();
    if (++calls == at("KILL_BEFORE")) kill(getpid(), SIGKILL);
}
static int after(int result) { if (calls == at("KILL_AFTER")) kill(getpid(), SIGKILL); return result; }
int rename(const char *from, const char *to) {
    int (*real)(const char *, const char *) = dlsym(RTLD_NEXT, "rename");
    before();
    return after(real(from, to));
}
int renameat(int a, const char *from, int b, const char *to) {
    int (*real)(int, const char *, int, const char *) = dlsym(RTLD_NEXT, "renameat");
    before();
    return after(real(a, from, b, to));
}
int renameat2(int a, const char *from, int b, const char *to, unsigned flags) {
    int (*real)(int, const char *, int, const char *, unsigned) = dlsym(RTLD_NEXT, "renameat2");
    before();
    return after(real(a, from, b, to, flags));
}
int unlink(const char *path) {
    int (*real)(const char *) = dlsym(RTLD_NEXT, "unlink");
    before();
    return after(real(path));
}
"""
folder = pathlib.Path(scratch())
(folder / "calls.c").write_text(CALLS)
subprocess.run(["clang" if shutil.which("clang") else "cc", "-shared", "-fPIC", "-o", folder / "calls.so", folder / "calls.c"], check=True)


def named(name, state=None):
    """A state at rest with a token of this name."""
    server = Serve(state=state, gateway=AWAY)
    server.json("POST", "/v1/tokens", {"name": name, "scopes": ["read"]})
    server.json("POST", "/v1/messages", {"text": name, "notBefore": LATER})
    return server


server = named("restored")
backup = str(folder / "backup")
made = run_ladle("backup", backup, "--state", server.state)
tally.check(made.returncode == 0, f"the backup: {made}")
server.stop()
server = named("earlier")
server.stop()
earlier = server.state


def restore(**more):
    """Restores into a copy of the earlier state; the state, and how it ended."""
    state = scratch()
    shutil.copytree(earlier, state, dirs_exist_ok=True)
    done = run_ladle("restore", backup, "--state", state, env={"LD_PRELOAD": str(folder / "calls.so"), **more})
    return state, done


def judge(state, done, what):
    try:
        server = Serve(state=state, gateway=AWAY)
    except NotStarted as refusal:
        return tally.check("ladle " in str(refusal), f"{what}: it does not start, and says nothing to type: {refusal}")
    names = {token["name"] for token in server.json("GET", "/v1/tokens")[1]["tokens"]} & {"restored", "earlier"}
    texts = {entry["text"] for entry in server.json("GET", "/v1/outbox?limit=500")[1]["entries"]}
    tally.check(len(names) == 1 and texts == names, f"{what}: tokens of {names}, messages of {texts}: {done}")
    left = [file.name for file in pathlib.Path(state).iterdir() if file.name.endswith(".restored") or file.name == "restore-plan"]
    if names == {"restored"}:
        tally.check(not left and list(pathlib.Path(state).glob("before-restore-*")), f"{what}: the earlier state is kept; left: {left}")
    tally.check(server.json("POST", "/v1/messages", {"text": "more"})[0] == 202, f"{what}: it takes messages")
    server.kill()
    shutil.rmtree(state, ignore_errors=True)
    return names


state, done = restore(COUNT=str(folder / "count"))
tally.check(done.returncode == 0 and judge(state, done, "not killed") == {"restored"}, f"a restore: {done}")
count = len((folder / "count").read_bytes())
tally.check(count >= 4, f"{count} calls were counted")
ends = {"earlier": 0, "restored": 0}
for number in range(1, count + 1):
    for moment in ("KILL_BEFORE", "KILL_AFTER"):
        state, done = restore(**{moment: str(number)})
        tally.check(done.returncode == -9, f"{moment} {number}: it was not killed: {done}")
        for name in judge(state, done, f"{moment} {number}") or ():
            if name in ends:
                ends[name] += 1
tally.check(ends["earlier"] and ends["restored"], f"both happen: {ends}")
print(f"restore: killed {2 * count} times, {ends}")
tally.end()
