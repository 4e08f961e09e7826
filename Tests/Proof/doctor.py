"""`ladle doctor` on everything it promises to find, each provoked for real: the sentence, the command that mends it, the exit
code, and that the command does."""

import json
import os
import pathlib
import re
import shutil
import socket
import subprocess

from harness import LADLE, DemoGateway, FaultyGateway, Program, Serve, Tally, on_small_disk, options, run_ladle, scratch, until

options()
tally = Tally()


def doctor(*arguments, state, wrap=(), **more):
    def told(*form):
        return subprocess.run([*wrap, LADLE, "doctor", *form, "--state", state, *arguments],
                              capture_output=True, text=True, timeout=60, **more)

    before, run, report = told("--json"), told(), told("--json")
    found = json.loads(report.stdout)
    earlier = {check["check"]: check["detail"] for check in json.loads(before.stdout)["checks"]}

    def says(detail):
        # The free space changes from run to run.
        return re.sub(r"\d+ MiB", "", detail) in re.sub(r"\d+ MiB", "", run.stdout)

    tally.check(report.returncode == run.returncode, f"one exit code in both forms: {run.returncode}")
    tally.check(found["ok"] == (run.returncode == 0), "and it says whether all is well")
    for check in found["checks"]:
        tally.check(check["ok"] or check.get("hint"), f"a problem without a command: {check}")
        # A device may begin to wait while the three are asked.
        said = says(check["detail"]) or (check["check"] in earlier and says(earlier[check["check"]]))
        tally.check(said, f"the text says it too: {check}")
        tally.check(check.get("hint") != "ladle doctor", "the doctor does not refer to itself")
    return run.returncode, {check["check"]: check for check in found["checks"]}


def finds(name, found, check, sentence, command, exit_code):
    code, checks = found
    entry = checks.get(check, {"ok": True, "detail": "nothing"})
    # A command of Ladle says where Ladle is, as the command line before it did.
    hint = entry.get("hint", "")
    told = command in hint or command in re.sub(r" --(state \S+|demo\b)", "", hint)
    tally.check(
        not entry["ok"] and sentence in entry["detail"] and told and code == exit_code,
        f"{name}: exit {code}, {entry}")


gateway = DemoGateway()
server = Serve(gateway=gateway.url).linked()
code, checks = doctor(state=server.state)
tally.check(code == 0 and all(c["ok"] for c in checks.values()), f"all is well: {checks}")
tally.check({"configuration", "daemon", "state", "disk", "gateway", "clock"} <= checks.keys(), f"it looked: {checks.keys()}")

# It looks where the user points it, and names the addresses that are served.
for asked in ({"env": {"LADLE_SOCKET": server.state + "/ladle.sock"}}, {}):
    words = [] if asked else ["--socket", server.state + "/ladle.sock"]
    run = run_ladle("doctor", *words, **asked)
    tally.check(run.returncode == 0 and f"{server.state} is the server's" in run.stdout, f"the named server: {run.stdout}")
    tally.check(f"127.0.0.1:{server.port} is open to" in run.stdout and ":18780" not in run.stdout, f"its addresses: {run.stdout}")

# A gateway newer than any that Ladle was run with, and the report about it.
untried = Serve("--demo-release", "newest").linked()
release = doctor(state=untried.state)[1]["release"]
tally.check(release["ok"] and "read, not run" in release["detail"] and "ladle doctor --report" in release["detail"], f"{release}")
untried.call("POST", "/v1/messages", b"a secret plan", {"Content-Type": "text/plain"})
until(lambda: untried.json("GET", "/v1/outbox")[1]["entries"][0]["state"] == "delivered", what="the message")
for form in ([], ["--json"]):
    run = subprocess.run([LADLE, "doctor", "--report", *form, "--state", untried.state], capture_output=True, text=True, timeout=60)
    tally.check(run.returncode == 0 and all(word in run.stdout for word in ("chat.send", "session.message", "autumn")), f"the report: {run}")
    for secret in ("secret plan", "agent:main", "127.0.0.1", "demo-token", untried.token, untried.state):
        tally.check(secret not in run.stdout, f"the report has {secret}")
untried.stop()
run = subprocess.run([LADLE, "doctor", "--report", "--state", untried.state], capture_output=True, text=True, timeout=60)
tally.check(run.returncode == 69 and "ladle serve" in run.stdout, f"no server, no report: {run}")

# The gateway goes away, with the server running and without it.
token = ["--token-file", str(pathlib.Path(server.state) / "gateway-token")]
gateway.kill()
until(lambda: "GATEWAY_UNREACHABLE" in server.output, what="the loss")
finds("unreachable", doctor(state=server.state), "gateway", "does not answer", "openclaw gateway status", 69)
server.stop()
own = ["--gateway", gateway.url, *token]
finds("not running", doctor(*own, state=server.state), "daemon", "is not running", "ladle serve", 69)
finds("unreachable, by itself", doctor(*own, state=server.state), "gateway", "does not answer", "openclaw gateway status", 69)
finds("no such name", doctor("--gateway", "wss://no-such-host.invalid", state=server.state), "gateway",
      "cannot be looked up", "getent hosts", 69)
finds("no gateway", doctor(state=server.state, env={**os.environ, "HOME": scratch(), "OPENCLAW_STATE_DIR": scratch()}),
      "gateway", "", "ladle", 69)
with socket.create_server(("127.0.0.1", 0)) as web:
    web.listen()
    pid = os.fork()
    if pid == 0:
        while True:
            peer, _ = web.accept()
            peer.recv(1000)
            peer.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
            peer.close()
    finds("something else", doctor("--gateway", f"ws://127.0.0.1:{web.getsockname()[1]}", *token, state=server.state),
          "gateway", "answered HTTP 404", "ladle discover", 69)
    os.kill(pid, 9)
    os.waitpid(pid, 0)


def linked(name, *faults, state="online", arguments=()):
    """A gateway with a fault and a server that has met it."""
    other = FaultyGateway(*faults)
    serve = Serve(*arguments, gateway=other.url)
    until(lambda: serve.link()["state"] == state, what=f"{name}: {state}")
    return doctor(state=serve.state), serve, other


found, serve, other = linked("wrong token", "--token", "another", state="refused")
finds("wrong token", found, "gateway", "token is not the gateway's", "openclaw config get gateway.auth.token", 77)
serve.stop()
finds("wrong token, by itself", doctor("--gateway", other.url, "--token-file", serve.state + "/gateway-token", state=serve.state),
      "gateway", "token is not the gateway's", "openclaw config get gateway.auth.token", 69)

found, serve, other = linked("pairing", "--pairing", "true", state="waiting_for_approval")
finds("pairing pending", found, "gateway", "not approved", "openclaw devices approve ", 77)

_, serve, other = linked("scopes", "--fault", "strippedScopes=operator.write,operator.admin")
serve.call("POST", "/v1/messages", b"hello", {"Content-Type": "text/plain"})
until(lambda: serve.link().get("code"), what="the refusal")
finds("missing scope", doctor(state=serve.state), "gateway", "without operator.", "openclaw devices rotate --device ", 77)
found, serve, other = linked("few scopes", arguments=["--gateway-scopes", "read"])
finds("few scopes", found, "scopes", "sends are refused", "ladle serve --gateway-scopes read,write", 77)

# A gateway that refuses to run messages after a restart; the command that is printed cures it.
_, serve, other = linked("a refusing gateway", "--release", "2026.6.11")
entries = lambda: serve.json("GET", "/v1/outbox?session=main")[1]["entries"]
say = lambda: serve.call("POST", "/v1/messages", b"hello", {"Content-Type": "text/plain"})
say()
until(lambda: entries()[0]["state"] == "delivered", what="the first message")
other.control("POST", "restart?keep=true")
# It runs one message, acknowledges the next without running it, if one comes so soon, and Ladle holds those after it.
held = lambda: "would refuse" in entries()[0].get("blockedReason", "")
for number in (2, 3, 4):
    if not held():
        say()
        until(lambda: len(entries()) == number and (held() or entries()[0]["state"] in ("delivered", "failed")),
              what=lambda: f"message {number}: {entries()}")
finds("a refusing gateway", doctor(state=serve.state), "outbox", "refuses to run 1 message", "ladle send --session new-", 75)
text = serve.call("GET", "/v1/status", headers={"Accept": "text/plain"})[2].decode()
tally.check("1 refused by the gateway" in text, f"so does the status: {text}")
failed = [entry["id"] for entry in entries() if entry["state"] == "failed"]
glance = serve.json("GET", "/v1/glance")[1]
tally.check(glance["state"] == "attention" and glance["attention"]["outbox"] == 1 + len(failed), f"and the glance: {glance}")
command = doctor(state=serve.state)[1]["outbox"]["hint"].replace("ladle send", f"{LADLE} send")
subprocess.run(command, shell=True, check=True, capture_output=True)
until(lambda: entries()[0]["state"] == "delivered", what="the cure")
for id in failed:
    serve.call("DELETE", f"/v1/outbox/{id}")
tally.check(doctor(state=serve.state)[0] == 0, "and all is well")

for skew, word in [(90_000, "90 s behind"), (-3_600_000, "3600 s ahead of")]:
    found, serve, other = linked("clock", "--fault", f"clockSkewMs={skew}")
    finds(f"clock skew {skew}", found, "clock", word, "timedatectl set-ntp true", 69)

# The socket is left over: the next start replaces it.
stale = Serve()
stale.kill()
tally.check(pathlib.Path(stale.state, "ladle.sock").exists(), "a socket is left over")
finds("stale socket", doctor("--demo", state=stale.state), "daemon", "left over", "ladle serve", 69)
again = Serve(state=stale.state)
tally.check(doctor("--demo", state=stale.state)[0] == 0, "and the command mends it")

# A port that is taken, and the one to take instead.
port = again.port
empty = scratch()
os.chmod(empty, 0o700)
found = doctor("--demo", "--listen", f"127.0.0.1:{port}", state=empty)
finds("port taken", found, "listen", f"127.0.0.1:{port} is taken", "ladle serve --listen 127.0.0.1:", 69)
chosen = int(found[1]["listen"]["hint"].rsplit(":", 1)[1])
tally.check(chosen != port and Serve(port=chosen).port == chosen, "the port it names is free")

# The directory belongs to a process that does not answer, to somebody else, to everybody.
again.process.send_signal(19)
found = doctor("--demo", state=again.state)
finds("not answering", found, "state", "in use by another ladle", f"kill {again.process.pid}", 75)
again.process.send_signal(18)
lock = pathlib.Path(scratch(), "ladle.lock")
os.chmod(lock.parent, 0o700)
lock.mkdir()
found = doctor("--demo", state=str(lock.parent))
finds("a folder in the place of the lock", found, "state", f"{lock} is not a file", f"mv -i {lock} {lock}.old", 77)
subprocess.run(found[1]["state"]["hint"].split(), check=True)
tally.check(doctor("--demo", state=str(lock.parent))[1]["state"]["ok"], "and the command mends it")
os.chmod(empty, 0o755)
found = doctor("--demo", state=empty)
finds("open to others", found, "state", "open to other users", f"chmod 700 {empty}", 77)
os.chmod(empty, 0o500)
if os.getuid() == 0:
    # Root may write everywhere; somebody else asks. The program has to be within reach for them too.
    shared = scratch()
    os.chmod(shared, 0o755)
    os.chmod(empty, 0o755)
    copy = shutil.copy(LADLE, shared)
    run = subprocess.run([copy, "doctor", "--json", "--demo", "--state", empty], capture_output=True, text=True, user=65534,
                         env={"PATH": os.environ["PATH"], "HOME": "/nonexistent"})
    checks = {check["check"]: check for check in json.loads(run.stdout)["checks"]}
    finds("not writable", (run.returncode, checks), "state", "cannot be written", "chown", 77)
    # A home of somebody else's, behind a closed door.
    closed = pathlib.Path(scratch(), "closed")
    closed.mkdir(mode=0o700)
    os.chmod(closed.parent, 0o755)
    run = subprocess.run([copy, "doctor", "--json", "--demo"], capture_output=True, text=True, user=65534,
                         env={"PATH": os.environ["PATH"], "HOME": str(closed)})
    checks = {check["check"]: check for check in json.loads(run.stdout)["checks"]}
    finds("a closed home", (run.returncode, checks), "state", "cannot be written", "chown", 78)
    finds("its configuration", (run.returncode, checks), "configuration", f"default: {closed}/.config/ladle/config.json5 cannot be read", "ls -l", 78)
else:
    finds("not writable", doctor("--demo", state=empty), "state", "cannot be written", "chown", 77)

# A disk that is nearly full: a small one of our own, where the system lets us have it.
small = scratch()
if wrap := on_small_disk(small, "50m"):
    found = doctor("--demo", state=small, wrap=wrap)
    finds("disk nearly full", found, "disk", "nearly full: ", f"du -xhd1 {small}", 75)
else:
    print("not run: a small disk (unshare is not allowed here)")

# A listener open to the network in cleartext, and one that is not even allowed.
os.chmod(empty, 0o700)
found = doctor("--demo", "--listen", "0.0.0.0:0", "--insecure-lan", state=empty)
finds("exposed", found, "exposure", "open to the network in cleartext", "ladle tls self-signed", 69)
found = doctor("--demo", "--listen", "0.0.0.0:0", state=empty)
finds("exposed without leave", found, "configuration", "others on the network could read along", "ladle serve --listen tailnet", 78)
sinks = pathlib.Path(scratch(), "sinks.json5")
sinks.write_text('{notifications: {sinks: {phone: {kind: "ntfy"}}}}')
found = doctor("--demo", "--config", str(sinks), state=empty)
finds("a sink without an address", found, "configuration", f"{sinks}:1:", "ladle config reference", 78)

# OpenClaw's own configuration, found on this host: its token is not used while others may read it.
home = pathlib.Path(scratch())
(home / ".openclaw").mkdir()
config, variables = home / ".openclaw/openclaw.json", home / ".openclaw/.env"
found_env = {"HOME": str(home)}


def found_by(*arguments):
    """A server that finds the gateway by itself, and what it says of its link."""
    serve = Program(["serve", "--state", scratch(), "--listen", "127.0.0.1:0", *arguments], r"listening on (\S+)", found_env)
    serve.state = serve.process.args[serve.process.args.index("--state") + 1]
    def link():
        return json.loads(run_ladle("status", "--json", "--state", serve.state).stdout)["link"]
    return serve, link


gateway = DemoGateway()
for exposed, text, extra in [
    (config, '{gateway: {port: %d, auth: {token: "demo-token"}}}' % gateway.port, ""),
    (variables, '{gateway: {port: %d, auth: {token: "${OC}"}}}' % gateway.port, "OC=demo-token\n"),
]:
    config.write_text(text)
    variables.write_text(extra)
    for file in (config, variables):
        # What holds no secret may be read by all.
        file.chmod(0o644 if file == exposed or extra else 0o600)
    serve, link = found_by()
    until(lambda: link()["state"] == "refused", what="the refusal")
    told = link()
    tally.check(told["code"] == "GATEWAY_SECRET_EXPOSED" and str(exposed) in told["detail"] and "644" in told["detail"], f"the link says why: {told}")
    tally.check("GATEWAY_SECRET_EXPOSED" in serve.output and str(exposed) in serve.output, f"and the log: {serve.output}")
    finds("exposed configuration", doctor(state=serve.state, env={**os.environ, **found_env}), "gateway", "others may read",
          f"chmod 600 {exposed}", 77)
    tally.check("demo-token" not in serve.output + json.dumps(told), "and nobody says the secret")
    subprocess.run(told["hint"], shell=True, check=True)
    serve.process.send_signal(1)
    until(lambda: link()["state"] == "online", what="the link after chmod")
    # A token of one's own needs none of theirs.
    exposed.chmod(0o644)
    secret = pathlib.Path(scratch(), "token")
    secret.write_text("demo-token")
    secret.chmod(0o600)
    other, link = found_by("--token-file", str(secret))
    until(lambda: link()["state"] == "online", what="the link by its own token file")
    # What a token file shows to others later is not taken up either; what was read goes on.
    secret.chmod(0o644)
    other.process.send_signal(1)
    until(lambda: "gateway.kept" in other.output and "chmod 600" in other.output, what="the refusal of the token file")
    tally.check(link()["state"] == "online", "the link is kept")

# A database that `serve` cannot use. Nothing is made or changed by the look.
def database(name, sentence, command, exit_code, ruin):
    state = pathlib.Path(scratch(), "state")
    (state / "demo").mkdir(parents=True, mode=0o700)
    state.chmod(0o700)
    ruin(state / "demo" / "ladle.db")
    before = {file: file.lstat() for file in state.rglob("*")}
    finds(name, doctor("--demo", state=str(state)), "database", sentence, command.replace("STATE", str(state)), exit_code)
    tally.check({file: file.lstat() for file in state.rglob("*")}.keys() == before.keys(), f"{name}: no file was made")


database("random bytes", "the database is damaged", "ladle restore --state STATE --demo FILE", 69, lambda path: path.write_bytes(os.urandom(20_000)))
database("a folder", "is not a file", "mv -i STATE/demo/ladle.db STATE/demo/ladle.db.old", 78, lambda path: path.mkdir())
database("a dangling link", "is a link to /nowhere/ladle.db", "rm STATE/demo/ladle.db", 78, lambda path: path.symlink_to("/nowhere/ladle.db"))
killed = Serve()
killed.kill()
folder = pathlib.Path(killed.state, "demo")
before = {file.name: file.read_bytes() for file in folder.iterdir()}
tally.check(doctor("--demo", state=killed.state)[1]["database"]["ok"], "the database of a killed server is fine")
tally.check({file.name: file.read_bytes() for file in folder.iterdir()} == before, "and not changed by the look, nor its log and index")
with open(killed.state + "/demo/ladle.db-wal", "r+b") as log:
    log.truncate(0)
finds("a lost log", doctor("--demo", state=killed.state), "database", "are missing", "ladle outbox recover --state", 69)

# A state directory that is a file.
place = pathlib.Path(scratch(), "state")
place.write_text("x")
finds("a file", doctor("--demo", state=str(place)), "state", f"{place} is not a directory", f"mv -i {place} {place}.old", 78)

# A setting that is wrong.
found = doctor("--demo", "--log-level", "loud", state=empty)
finds("configuration", found, "configuration", "log.level", "", 78)
tally.end()
