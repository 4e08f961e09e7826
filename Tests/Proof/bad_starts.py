"""How serving begins where something is not as it should be: a reload asked for at once, an empty configuration, too few
descriptors, an outbox that cannot be read, and runs that cannot be read."""

import json
import pathlib
import resource
import signal
import sqlite3
import subprocess
import time

from harness import LADLE, DemoGateway, Serve, Tally, options, run_ladle, scratch, until

options()
tally = Tally()


def doctor(state, *more):
    run = run_ladle("doctor", "--json", "--state", state, *more)
    return run.returncode, {check["check"]: check for check in json.loads(run.stdout)["checks"]}


# A reload may be asked for before anything can be reloaded.
for round in range(5):
    state = pathlib.Path(scratch())
    process = subprocess.Popen(
        [LADLE, "serve", "--demo", "--state", state, "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    until(lambda: (state / "ladle.lock").exists() or process.poll() is not None, every=0, what="the state directory")
    process.send_signal(signal.SIGHUP)
    said = ""
    while "listening on" not in said and process.poll() is None:
        said += process.stdout.readline()
    tally.check("listening on" in said, f"SIGHUP while it starts, round {round}: exit {process.poll()} {said}")
    process.terminate()
    tally.check(process.wait(20) == 0, f"it stops when asked, round {round}")

# An empty configuration sets nothing.
folder = pathlib.Path(scratch())
for text in ["", "// later\n"]:
    config = folder / "config.json5"
    config.write_text(text)
    run = run_ladle("config", "check", "--config", config)
    tally.check(run.returncode == 0, f"an empty configuration: {run}")

# An address that this host does not have yet may come: a service manager is to try again.
run = run_ladle("serve", "--demo", "--state", scratch(), "--listen", "192.0.2.1:18780", "--insecure-lan")
tally.check(run.returncode == 69 and "192.0.2.1:18780" in run.stdout + run.stderr, f"an address of somewhere else: {run}")

# Too little address space would leave the start without its threads: it says so at once.
for kibibytes in (100_000, 150_000, 200_000, 300_000):
    run = subprocess.run(
        [LADLE, "serve", "--demo", "--state", scratch(), "--listen", "127.0.0.1:0"], capture_output=True, text=True, timeout=20,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (kibibytes << 10, kibibytes << 10)))
    tally.check(run.returncode == 75 and "ulimit -v" in run.stdout + run.stderr, f"{kibibytes} KiB of address space: {run}")

# A file in the place of the control socket is somebody's.
state = pathlib.Path(scratch())
state.chmod(0o700)
kept = state / "ladle.sock"
kept.write_text("mine")
run = run_ladle("serve", "--demo", "--state", state, "--listen", "127.0.0.1:0")
tally.check(run.returncode == 78 and "not a socket" in run.stdout + run.stderr, f"a file in place of the control socket: {run}")
tally.check(kept.read_text() == "mine", "it is left alone")
code, checks = doctor(state)
tally.check("not a socket" in checks["daemon"]["detail"] and "mv -i" in checks["daemon"]["hint"], f"doctor says so: {checks['daemon']}")

# State files that others may read are closed to them, in one line.
ladle = Serve(gateway="ws://127.0.0.1:1")
ladle.stop()
for name in ("device-key", "ladle.db", "admin-token", "ladle.witness"):
    (pathlib.Path(ladle.state) / name).chmod(0o644)
ladle = Serve(gateway="ws://127.0.0.1:1", state=ladle.state)
said = [line for line in ladle.lines if "state files" in line]
tally.check(len(said) == 1 and "admin-token, device-key, ladle.db, ladle.witness" in said[0], f"wide modes are reported in one line: {said}")
modes = {name: (pathlib.Path(ladle.state) / name).stat().st_mode & 0o777 for name in ("device-key", "ladle.db", "admin-token", "ladle.witness")}
tally.check(set(modes.values()) == {0o600}, f"and repaired: {modes}")
ladle.stop()

# Fewer connections than asked for, because of the descriptors.
ladle = Serve("--limits-connections", "2000", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (512, 512)))
said = [line for line in ladle.lines if "limits.connections" in line]
tally.check(len(said) == 1 and "at most 408 connections" in said[0] and "ulimit -n 2104" in said[0] and "LimitNOFILE=2104" in said[0], f"the start says so once: {said}")
tally.check(ladle.status()["connections"] == {"limit": 408, "configured": 2000}, "the status shows it")
code, checks = doctor(ladle.state, "--limits-connections", "2000")
tally.check(not checks["connections"]["ok"] and "ulimit -n 2104" in checks["connections"]["hint"], f"doctor says what to type: {checks['connections']}")
code, checks = doctor(ladle.state)
tally.check(checks["connections"]["ok"] and "408" in checks["connections"]["detail"], "of the default it is said, and is no fault")
ladle.stop()
ladle = Serve(preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (512, 512)))
tally.check("connections" not in ladle.output, f"of a default that nobody set the start says nothing: {ladle.output}")
ladle.stop()
ladle = Serve("--limits-connections", "100")
tally.check("limits.connections" not in ladle.output, "where there are enough nothing is said")
tally.check(doctor(ladle.state, "--limits-connections", "100")[1]["connections"]["detail"] == "at most 100 connections", "doctor says how many")
ladle.stop()

# The line to try works as it is printed, without a token and without knowing the certificate; Ctrl-C is nothing to warn of.
folder = pathlib.Path(scratch()) / "a folder"
folder.mkdir()
run_ladle("tls", "self-signed", "--cert", folder / "cert.pem", "--key", folder / "key.pem", check=True)
files = ["--tls-cert", folder / "cert.pem", "--tls-key", folder / "key.pem"]
spaced = pathlib.Path(scratch()) / "it's a state"
for what, arguments, state in (("as it comes", (), None), ("with tokens", ("--access-loopback", "token"), None),
                               ("with TLS", files, None), ("on every address", ("--listen", "0.0.0.0:0", "--insecure-lan"), None),
                               ("in a folder with blanks", ("--access-loopback", "token"), str(spaced))):
    ladle = Serve(*map(str, arguments), state=state).linked() if not arguments else Serve(*map(str, arguments), state=state)
    line = until(lambda: next((line for line in ladle.lines if "try  " in line), None), what="the line to try")
    command = line.partition("try  ")[2]
    run = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=40)
    tally.check(run.returncode == 0 and "Done: I appended" in run.stdout and run.stdout.endswith("}\n"), f"{what}: {command}{run}")
    ladle.process.send_signal(signal.SIGINT)
    tally.check(ladle.process.wait(20) == 0, f"{what}: Ctrl-C ends it")
    until(lambda: "serve.stopped" in ladle.output, what="its last line")
    tally.check("warning" not in ladle.output and "link.offline" in ladle.output, f"{what}: Ctrl-C is no warning: {ladle.output}")

# What waits cannot be read: said once, shown, and over by itself.
gateway = DemoGateway()
ladle = Serve(gateway="ws://127.0.0.1:9")
first = ladle.json("POST", "/v1/messages", {"text": "before"})[1]["id"]
tally.check(ladle.stop() == 0, "a clean stop")
database = pathlib.Path(ladle.state, "ladle.db")


def change(statement, *values):
    connection = sqlite3.connect(database, timeout=20)
    connection.execute(statement, values)
    connection.commit()
    connection.close()


def spoil(state):
    change("UPDATE outbox SET state = ? WHERE id = ?", state, first)


spoil("puzzled")
ladle = Serve(state=ladle.state, gateway=gateway.url).linked()
until(lambda: "outbox.unread" in ladle.output, what="a line in the log")
second = ladle.json("POST", "/v1/messages", {"text": "meanwhile"})[1]
tally.check("puzzled" in second.get("blockedReason", ""), f"an entry shows why it waits: {second}")
tally.check(ladle.call("DELETE", f"/v1/outbox/{second['id']}")[0] == 503, "what cannot be carried out is refused")
fault = ladle.status()["outbox"].get("fault", "")
tally.check("puzzled" in fault, f"the status says why: {fault}")
tally.check("could not be read" in ladle.call("GET", "/v1/status", headers={"Accept": "text/plain"})[2].decode(), "to a person too")
shown = run_ladle("status", "--state", ladle.state).stdout
tally.check("nothing is sent" in shown and "puzzled" in shown, f"ladle status: {shown}")
code, checks = doctor(ladle.state)
tally.check(code == 75 and not checks["outbox"]["ok"] and "integrity_check" in checks["outbox"]["hint"], f"doctor: {code} {checks['outbox']}")
tally.check("\nladle_outbox_readable 0.0\n" in ladle.call("GET", "/metrics")[2].decode(), "the metrics show it")
time.sleep(2.5)
lines = [line for line in ladle.lines if "outbox.unread" in line]
tally.check(len(lines) == 1 and "ladle doctor" in lines[0], f"one line in the log, with what to type: {lines}")
spoil("bewildered")
until(lambda: sum("outbox.unread" in line for line in ladle.lines) == 2, what="the new reason")
spoil("queued")
until(lambda: ladle.status()["outbox"].get("fault") is None, what="the end of it")
until(lambda: all(ladle.json("GET", f"/v1/outbox/{one}")[1]["state"] == "delivered" for one in (first, second["id"])), what="both messages")
tally.check(sum("outbox.unread" in line for line in ladle.lines) == 2, "another reason is another line")
tally.check(sum("outbox.read" in line.split() for line in ladle.lines) == 1, "and one when it is over")
tally.check("\nladle_outbox_readable 1.0\n" in ladle.call("GET", "/metrics")[2].decode(), "the metrics too")
ladle.stop()

# A schema that is not the one of this program would fail at each start alike: the file is set aside, and the start succeeds.
change("ALTER TABLE run RENAME TO run_elsewhere")
ladle = Serve(state=ladle.state, gateway=gateway.url).linked()
tally.check("there is no run." in ladle.output and "was set aside" in ladle.output, f"a renamed table is said: {ladle.output}")
status, refused = ladle.json("POST", "/v1/messages", {"text": "x"})
tally.check(status == 503 and "ladle outbox recover" in refused.get("hint", ""), f"nothing is sent until somebody decides: {refused}")
found = json.loads(run_ladle("outbox", "recover", "--state", ladle.state, "--json").stdout)
tally.check("there is no run." in found.get("reason", ""), f"what was set aside is listed: {found}")
ladle.kill()
gateway.kill()
tally.end()
