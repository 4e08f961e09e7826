"""What stands in deploy/ against the program: units and their exposure, the notify protocol, socket activation,
credentials, exit codes, and the files for other tools."""

import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from harness import LADLE, ROOT, DemoGateway, Program, Stopwatch, Tally, options, run_ladle, scratch, until
from raw_http import ask, tcp

chosen = options()
tally = Tally()
DEPLOY = ROOT / "deploy"
MOST_EXPOSED = 1.1
LISTENING = r"listening on http://127\.0\.0\.1:(\d+)"


def tool(name, package):
    """The tool, installed where Debian has it; None elsewhere."""
    if not shutil.which(name):
        subprocess.run([DEPLOY / "packages", package], check=False)
    return shutil.which(name)


def get(port):
    return ask(tcp("127.0.0.1", port, timeout=20), "GET", "/healthz", f"127.0.0.1:{port}").status


def units():
    if not tool("systemd-analyze", "systemd"):
        print("no systemd-analyze here: units not checked")
        return
    version = int(subprocess.run(["systemd-analyze", "--version"], capture_output=True, text=True).stdout.split()[1])
    with tempfile.TemporaryDirectory() as folder:
        runtime = pathlib.Path(folder, "runtime")
        runtime.mkdir()
        for kind in ("system", "user"):
            place = pathlib.Path(folder, kind)
            place.mkdir()
            for file in (DEPLOY / "systemd" / kind).iterdir():
                # `verify` looks whether the program is there.
                text = file.read_text().replace("/usr/bin/ladle", LADLE)
                pathlib.Path(place, file.name).write_text(text)
            service = str(place / "ladle.service")
            environment = {**os.environ, "XDG_RUNTIME_DIR": str(runtime), "HOME": folder}
            rated = place / "rated" / "ladle.service"
            rated.parent.mkdir()
            # A user's manager runs as that user, which the rating has to be told.
            identity = "[Service]\nUser=someone\n" if kind == "user" else "[Service]\n"
            rated.write_text(pathlib.Path(service).read_text().replace("[Service]\n", identity))
            rating = subprocess.run(
                ["systemd-analyze", "security", "--offline=true", str(rated)], capture_output=True, text=True)
            found = re.search(r"exposure level for ladle\.service: ([\d.]+)", rating.stdout)
            level = float(found.group(1)) if found else 10
            print(f"{kind} unit: exposure {level} (systemd {version})")
            tally.check(level <= MOST_EXPOSED, f"{kind} unit: exposure {level}, not at most {MOST_EXPOSED} {rating.stderr}")
            verified = subprocess.run(
                ["systemd-analyze", f"--{kind}", "verify", "--man=no", service, str(place / "ladle.socket")],
                capture_output=True, text=True, env=environment)
            own = [line for line in verified.stderr.splitlines() if "ladle" in line]
            tally.check(verified.returncode == 0 and not own, f"{kind} units verify: {verified.stderr}")


class Manager:
    """The service manager's end of the notify socket."""

    def __init__(self, abstract):
        self.folder = scratch()
        self.name = f"@ladle-proof-{os.getpid()}" if abstract else f"{self.folder}/notify"
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
        self.socket.bind("\0" + self.name[1:] if abstract else self.name)
        self.socket.settimeout(20)

    def next(self):
        return dict(line.split("=", 1) for line in self.socket.recv(65536).decode().split("\n"))

    def until(self, name, value=None):
        """The next message with that field, and those before it."""
        before = []
        while True:
            message = self.next()
            if name in message and value in (None, message[name]):
                return message, before
            before.append(message)


def notify(abstract):
    manager = Manager(abstract)
    kind = "abstract" if abstract else "path"
    state = scratch()
    ladle = Program(
        ["serve", "--state", state, "--listen", "127.0.0.1:0", "--demo"], LISTENING,
        {"NOTIFY_SOCKET": manager.name, "WATCHDOG_USEC": "600000"})
    port = int(ladle.match.group(1))
    _, before = manager.until("READY", "1")
    tally.check(get(port) == 200, f"{kind}: ready means that it answers")
    if not any("online" in message.get("STATUS", "") for message in before):
        manager.until("STATUS")
    tally.check(all("\n" not in value for message in before for value in message.values()), f"{kind}: status is a line")
    gaps, start = [], time.monotonic()
    for _ in range(6):
        watch = Stopwatch(ladle)
        manager.until("WATCHDOG", "1")
        gaps.append(watch.seconds)
    # The first may come at once.
    each = (time.monotonic() - start) / 5
    tally.check(max(gaps) < 0.6 and each > 0.2, f"{kind}: the watchdog is fed in time, and no oftener: {gaps}")

    for _ in range(3):
        asked = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        ladle.process.send_signal(signal.SIGHUP)
        reloading, _ = manager.until("RELOADING", "1")
        stamp = int(reloading["MONOTONIC_USEC"])
        now = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        tally.check(asked <= stamp <= now, f"{kind}: reloading tells its time")
        manager.until("READY", "1")
    tally.check(get(port) == 200, f"{kind}: SIGHUP reloads and does not stop")

    ladle.process.send_signal(signal.SIGSTOP)
    time.sleep(0.2)
    manager.socket.setblocking(False)
    while True:
        try:
            manager.next()
        except BlockingIOError:
            break
    time.sleep(0.8)
    try:
        manager.next()
        tally.check(False, f"{kind}: a process that stands still feeds no watchdog")
    except BlockingIOError:
        tally.check(True, "")
    ladle.process.send_signal(signal.SIGCONT)
    manager.socket.settimeout(20)
    manager.until("WATCHDOG", "1")

    ladle.process.send_signal(signal.SIGTERM)
    manager.until("STOPPING", "1")
    tally.check(ladle.process.wait(20) == 0, f"{kind}: a stop that was asked for is exit 0")


def unwatched():
    """A watchdog that is another process's, and a socket nobody serves."""
    manager = Manager(abstract=False)
    ladle = Program(
        ["serve", "--state", scratch(), "--listen", "127.0.0.1:0", "--demo"], LISTENING,
        {"NOTIFY_SOCKET": manager.name, "WATCHDOG_USEC": "100000", "WATCHDOG_PID": "1"})
    manager.until("READY", "1")
    ladle.process.send_signal(signal.SIGTERM)
    _, before = manager.until("STOPPING", "1")
    tally.check(not any("WATCHDOG" in message for message in before), "another process's watchdog is not fed")
    for name in ("/nowhere/notify", "vsock:2:1", "", "relative"):
        ladle = Program(
            ["serve", "--state", scratch(), "--listen", "127.0.0.1:0", "--demo"], LISTENING, {"NOTIFY_SOCKET": name})
        tally.check(get(int(ladle.match.group(1))) == 200 and ladle.stop() == 0, f"a notify socket {name!r} does no harm")


def credentials():
    gateway = DemoGateway()
    folder = pathlib.Path(scratch())
    secret = folder / "ladle.gateway-token"
    secret.write_text(gateway.token + "\n")
    secret.chmod(0o400)
    arguments = ["serve", "--listen", "127.0.0.1:0", "--gateway", gateway.url]
    environment = {"CREDENTIALS_DIRECTORY": str(folder)}
    ladle = Program([*arguments, "--state", scratch()], LISTENING, environment)
    port = int(ladle.match.group(1))

    def link():
        return ask(tcp("127.0.0.1", port, timeout=20), "GET", "/v1/status", f"127.0.0.1:{port}").json["link"]["state"]

    until(lambda: link() == "online", what="the link with the token from the credentials")
    tally.check(True, "")
    ladle.stop()
    for environment, wanted in ((environment, "found in the service manager's credentials"), ({}, None)):
        shown = run_ladle("config", "show", "--origin", env=environment)
        line = next((line for line in shown.stdout.splitlines() if "gateway.tokenFile" in line), "")
        tally.check((wanted in line) if wanted else "credentials" not in line, f"config show names the origin: {line!r}")
    secret.chmod(0o444)
    refused = run_ladle(*arguments, "--state", scratch(), env={"CREDENTIALS_DIRECTORY": str(folder)})
    tally.check(refused.returncode == 78 and "chmod 600" in refused.stderr, f"an exposed secret is refused: {refused}")


def exits():
    """What the units do not try again, by the program's own codes."""
    for kind in ("system", "user"):
        unit = (DEPLOY / "systemd" / kind / "ladle.service").read_text()
        stay = {int(code) for code in re.search(r"^RestartPreventExitStatus=(.*)$", unit, re.M).group(1).split()}
        tally.check(stay == {64, 77, 78}, f"{kind} unit: RestartPreventExitStatus")
    state = scratch()
    holder = Program(["serve", "--state", state, "--listen", "127.0.0.1:0", "--demo"], LISTENING)
    open_to_all = pathlib.Path(scratch())
    open_to_all.chmod(0o755)
    cases = [
        (64, ["serve", "--no-such-option"]),
        (78, ["serve", "--state", scratch(), "--listen", "nonsense"]),
        (75, ["serve", "--state", state, "--listen", "127.0.0.1:0"]),
        (77, ["serve", "--state", str(open_to_all), "--listen", "127.0.0.1:0"]),
        (69, ["serve", "--state", scratch(), "--listen", f"127.0.0.1:{holder.match.group(1)}"]),
    ]
    for code, arguments in cases:
        ended = run_ladle(*arguments)
        tally.check(ended.returncode == code, f"{' '.join(arguments[:1] + arguments[-1:])} ends with {code}: {ended}")
    holder.stop()


units()
notify(abstract=False)
notify(abstract=True)
unwatched()
credentials()
exits()
tally.end()
