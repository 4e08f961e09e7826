"""The Debian package: built, judged by lintian, installed, started by its units, upgraded and purged. In a booted container
where this machine can give one, so that systemd itself runs the units; else right here, and then only in CI."""

import glob
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import time

from guest import Guest
from harness import ROOT, Tally, options, scratch, until

options()
tally = Tally()
URL = "http://127.0.0.1:18780"


def build():
    made = subprocess.run(["make", "-s", "deb"], cwd=ROOT, capture_output=True, text=True)
    print(made.stdout.strip().splitlines()[-1] if made.returncode == 0 else made.stdout + made.stderr)
    tally.check(made.returncode == 0, "make deb")
    found = sorted(glob.glob(str(ROOT / ".build/ladle_*.deb")), key=os.path.getmtime)
    if not found:
        tally.end()
    first = pathlib.Path(found[-1]).read_bytes()
    subprocess.run([ROOT / "deploy/debian/build"], cwd=ROOT, capture_output=True)
    tally.check(pathlib.Path(found[-1]).read_bytes() == first, "two builds of one program are the same bytes")
    return found[-1]


def lint(package):
    if not shutil.which("lintian"):
        subprocess.run([ROOT / "deploy/packages", "lintian"], check=False)
    shown = subprocess.run(
        ["lintian", "--allow-root", "--fail-on", "error,warning", package], capture_output=True, text=True)
    findings = re.findall(r"^[EW]: .*", shown.stdout, re.M)
    print(f"lintian: {len(findings)} errors and warnings")
    tally.check(shown.returncode == 0 and not findings, f"lintian: {shown.stdout}{shown.stderr}")


def contents(package):
    """What others look for in it: pages for man and for people, completions where the shells look."""
    listed = {line.split()[5].lstrip(".") for line in subprocess.run(["dpkg-deb", "-c", package], capture_output=True, text=True).stdout.splitlines()}
    wanted = {f"/usr/share/doc/ladle/{page.name}" for page in (ROOT / "docs").glob("*.md")}
    wanted |= {f"/usr/share/doc/ladle/examples/{name}" for name in (
        "prometheus/scrape.yaml", "prometheus/alerts.yaml", "grafana/dashboard.json", "nginx/ladle.conf", "caddy/Caddyfile")}
    wanted |= {"/usr/share/man/man1/ladle.1.gz", "/usr/share/bash-completion/completions/ladle", "/usr/share/zsh/vendor-completions/_ladle",
               "/usr/share/fish/vendor_completions.d/ladle.fish", "/usr/share/doc/ladle/copyright"}
    tally.check(wanted <= listed, f"not in the package: {wanted - listed}")


def conversation(run, token, what):
    """A message and its reply, then the events of it, by someone else's curl with a token."""
    authorize = ("-H", f"Authorization: Bearer {token}")
    reply = run("curl", "-sS", *authorize, "-d", "hello", f"{URL}/v1/messages?wait=30")
    answer = json.loads(reply.stdout or "{}")
    tally.check("reply" in answer, f"{what}: a message is answered: {reply}")
    events = run("curl", "-sSN", *authorize, f"{URL}/v1/events?since={answer.get('none', '')}&limit=1&timeout=5")
    tally.check("event: hello" in events.stdout, f"{what}: events flow: {events}")
    refused = run("curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", f"{URL}/v1/status")
    return refused.stdout


class Installed:
    """The steps on the package in the guest."""

    def __init__(self, package):
        self.guest = Guest()
        self.package = "/var/cache/" + os.path.basename(package)
        shutil.copy(package, self.guest.root / self.package.lstrip("/"))
        self.run = self.guest.run

    def systemctl(self, *words, **more):
        return self.run("systemctl", *words, **more)

    def active(self, seconds=20):
        until(lambda: self.guest.show("ActiveState") == "active", seconds, 0.1, "ladle.service")

    def everything(self):
        before = self.guest.files()
        placed = self.run("dpkg", "-i", self.package)
        tally.check(placed.returncode == 0, f"dpkg -i: {placed}")
        tally.check(self.guest.show("ActiveState") == "inactive", "installing starts nothing")
        tally.check("ladle" in self.run("getent", "passwd", "ladle").stdout, "the system user is there")
        shown = self.run("stat", "-c", "%a %U %G", "/etc/ladle/config.json5").stdout.split()
        tally.check(shown == ["640", "root", "ladle"], f"addresses in the configuration are for the service alone: {shown}")
        self.gateway()
        self.service()
        self.restarts()
        self.activated()
        self.refusal()
        self.user()
        self.upgrade()
        self.purge(before)
        self.guest.stop()

    def gateway(self):
        """A gateway beside it, whose token only the credential tells."""
        self.guest.start("ladle", "demo-gateway", "--port", "18789", "--speed", "0", "--token", "of-this-test")
        self.guest.write("/etc/credstore/ladle.gateway-token", "of-this-test\n", 0o600)
        self.config('"gateway.url": "ws://127.0.0.1:18789"')

    def config(self, text):
        self.guest.write("/etc/ladle/config.json5", "{" + text + "}\n")

    def service(self):
        started = self.systemctl("start", "ladle")
        tally.check(started.returncode == 0, f"systemctl start: {started} {self.journal()}")
        until(lambda: "Link online" in self.guest.show("StatusText"), what="the status of an online link")
        tally.check(True, "")
        token = self.run("cat", "/var/lib/ladle/admin-token").stdout.strip()
        code = conversation(self.run, token, "the system service")
        tally.check(code == "401", f"another user needs a token: {code}")
        own = self.run("setpriv", "--reuid=ladle", "--regid=ladle", "--clear-groups",
                       "ladle", "status", "--socket", "/var/lib/ladle/ladle.sock")
        tally.check(own.returncode == 0 and "online" in own.stdout, f"ladle status: {own}")
        line = re.search(r"^sudo -u ladle (ladle token create .*)$", (ROOT / "docs/operations.md").read_text(), re.MULTILINE).group(1)
        made = self.run("setpriv", "--reuid=ladle", "--regid=ladle", "--clear-groups", "env", "-i", "PATH=/usr/bin:/bin",
                        "HOME=/var/lib/ladle", *line.replace("NAME", "phone").split())
        tally.check(made.returncode == 0 and "ldl_" in made.stdout, f"the line of docs/operations.md makes a token: {made}")
        pid = self.guest.show("MainPID")
        reloaded = self.systemctl("reload", "ladle")
        tally.check(reloaded.returncode == 0 and self.guest.show("MainPID", "ActiveState") == [pid, "active"],
                    "reload keeps the process")
        status = self.run("cat", f"/proc/{pid}/status").stdout
        for line in ("NoNewPrivs:\t1", "Seccomp:\t2", "CapEff:\t0000000000000000", "CapBnd:\t0000000000000000"):
            tally.check(line in status, f"the process is confined: {line}")
        journal = self.journal()
        for bad in ("Failed to set", "denied", "Permission", "not permitted"):
            tally.check(bad not in journal, f"the journal has no {bad!r}: {journal}")

    def journal(self):
        return self.run("journalctl", "-u", "ladle", "--no-pager", "-n", "60").stdout

    def restarts(self):
        """What the watchdog and Restart= are for."""
        self.guest.write("/etc/systemd/system/ladle.service.d/quick.conf", "[Service]\nWatchdogSec=2\nRestartSec=100ms\n")
        self.systemctl("daemon-reload")
        self.systemctl("restart", "ladle")
        pid = self.guest.show("MainPID")
        time.sleep(5)
        tally.check(self.guest.show("MainPID") == pid, "a fed watchdog lets it live")
        for number, why in (("-STOP", "stands still"), ("-KILL", "is killed")):
            self.run("kill", number, pid)
            until(lambda: self.guest.show("MainPID", "ActiveState")[0] not in (pid, "0")
                  and self.guest.show("ActiveState") == "active", 30, 0.2, f"a new process after one that {why}")
            tally.check(True, "")
            pid = self.guest.show("MainPID")
        self.run("rm", "-r", "/etc/systemd/system/ladle.service.d")
        self.systemctl("daemon-reload")

    def activated(self):
        self.systemctl("stop", "ladle")
        self.systemctl("enable", "--now", "ladle.socket")
        tally.check(self.guest.show("ActiveState") == "inactive", "the socket alone starts nothing")
        first = self.run("curl", "-sS", "-m", "20", f"{URL}/healthz")
        tally.check(first.stdout.startswith('{"status":"ok"'), f"the first connection starts it: {first} {self.journal()}")
        self.active()
        calls = self.guest.start(
            "sh", "-c", f"for i in $(seq 60); do curl -sS -o /dev/null -m 20 {URL}/healthz || echo refused; done; echo done")
        for _ in range(3):
            self.systemctl("restart", "ladle")
        output = calls.communicate(timeout=60)[0]
        tally.check(output.strip() == "done", f"no call is refused through three restarts: {output}")
        self.systemctl("disable", "--now", "ladle.socket", "ladle.service")

    def refusal(self):
        """What does not mend itself is not tried again."""
        self.config('"gateway.url": "nonsense"')
        self.systemctl("start", "ladle")
        until(lambda: self.guest.show("ActiveState") == "failed", what="a failed unit")
        time.sleep(3)
        shown = self.guest.show("ActiveState", "ExecMainStatus", "NRestarts")
        tally.check(shown == ["failed", "78", "0"], f"a wrong configuration is not started again: {shown}")
        self.config('"gateway.url": "ws://127.0.0.1:18789"')
        self.systemctl("reset-failed")

    def user(self):
        self.run("useradd", "-m", "wren")
        uid = self.run("id", "-u", "wren").stdout.strip()
        self.systemctl("start", f"user@{uid}")
        # This container has something mounted over /proc/kmsg that is gone, and nothing can be mounted over that.
        self.guest.write("/etc/systemd/user/ladle.service.d/container.conf", "[Service]\nProtectKernelLogs=no\n")
        self.guest.write("/home/wren/.openclaw/openclaw.json", json.dumps(
            {"gateway": {"port": 18789, "auth": {"mode": "token", "token": "of-this-test"}}}))
        self.guest.write("/home/wren/secret", "nothing for a bridge")
        self.run("chown", "-R", "wren:wren", "/home/wren")
        self.run("chmod", "-R", "go=", "/home/wren/.openclaw")
        begun = self.run("systemctl", "--user", "start", "ladle", user="wren")
        tally.check(begun.returncode == 0, f"the user unit starts: {begun}")
        until(lambda: "Link online" in self.guest.show("StatusText", user="wren"), what="the user's own gateway")
        pid = self.guest.show("MainPID", user="wren")
        tally.check(self.run("ls", os.path.join("/proc", pid, "root", "home", "wren", "secret")).returncode != 0, "the rest of the home is hidden")
        owner = self.run("curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", f"{URL}/v1/status", user="wren").stdout
        other = self.run("curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", f"{URL}/v1/status").stdout
        tally.check((owner, other) == ("200", "401"), f"its owner needs no token, others do: {owner} {other}")
        shown = self.run("ladle", "status", user="wren")
        tally.check(shown.returncode == 0 and "online" in shown.stdout, f"ladle status by its owner: {shown}")
        self.run("systemctl", "--user", "stop", "ladle", user="wren")
        tally.check(self.guest.show("Result", user="wren") == "success", "and stops")
        self.systemctl("stop", f"user@{uid}")
        self.run("userdel", "-r", "wren")
        self.run("rm", "-r", "/etc/systemd/user/ladle.service.d")

    def upgrade(self):
        self.systemctl("enable", "--now", "ladle")
        pid = self.guest.show("MainPID")
        self.run("dpkg", "-i", "--force-confold", self.package)
        self.active()
        tally.check(self.guest.show("MainPID") not in (pid, "0"), "an upgrade restarts what ran")
        kept = self.run("cat", "/etc/ladle/config.json5").stdout
        tally.check("18789" in kept, "and keeps the configuration")

    def purge(self, before):
        removed = self.run("dpkg", "--remove", "ladle")
        tally.check(removed.returncode == 0 and not self.run("pgrep", "-f", "ladle serve").stdout, f"remove stops it: {removed}")
        tally.check(self.run("test", "-e", "/var/lib/ladle/ladle.db").returncode == 0, "and keeps the state")
        purged = self.run("dpkg", "--purge", "ladle")
        self.run("rm", "-r", "/etc/credstore")
        tally.check(purged.returncode == 0, f"dpkg --purge: {purged}")
        left = [line for line in self.guest.files() - before if "ladle" in line and self.package not in line]
        tally.check(not left, f"nothing is left: {left}")


def here(package):
    """Without a container: the program the way its unit runs it, under a notify socket of ours."""
    tally.check(subprocess.run(["dpkg", "-i", package], capture_output=True).returncode == 0, "dpkg -i")
    state = pathlib.Path("/var/lib/ladle")
    state.mkdir(mode=0o700, exist_ok=True)
    shutil.chown(state, "ladle", "ladle")
    path = scratch() + "/notify"
    manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    manager.bind(path)
    os.chmod(path, 0o777)
    os.chmod(os.path.dirname(path), 0o755)
    manager.settimeout(20)
    serving = subprocess.Popen(
        ["setpriv", "--reuid=ladle", "--regid=ladle", "--clear-groups", "--no-new-privs", "--bounding-set=-all",
         "env", "-i", "XDG_CONFIG_HOME=/etc", "XDG_STATE_HOME=/var/lib", f"NOTIFY_SOCKET={path}", "LADLE_DEMO_ENABLED=true",
         "LADLE_DEMO_SPEED=0", "/usr/bin/ladle", "serve"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while b"READY=1" not in manager.recv(4096):
        pass
    run = lambda *words: subprocess.run(words, capture_output=True, text=True, timeout=60)
    conversation(run, (state / "demo/admin-token").read_text().strip(), "the installed program")
    serving.send_signal(signal.SIGTERM)
    while b"STOPPING=1" not in manager.recv(4096):
        pass
    tally.check(serving.wait(20) == 0, "it stops with exit 0")
    tally.check(subprocess.run(["dpkg", "--purge", "ladle"], capture_output=True).returncode == 0, "dpkg --purge")
    listing = subprocess.run(["dpkg", "-L", "ladle"], capture_output=True, text=True)
    left = [path for path in ("/var/lib/ladle", "/etc/ladle", "/usr/bin/ladle") if os.path.exists(path)]
    tally.check(listing.returncode != 0 and not left, f"nothing is left: {left}")


package = build()
lint(package)
contents(package)
if Guest.possible():
    Installed(package).everything()
elif os.environ.get("CI") and os.getuid() == 0:
    here(package)
else:
    print("package: no container here and not in CI: not installed")
tally.end()
