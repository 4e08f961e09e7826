"""A booted Debian for checks that need a service manager: this machine's own files below a layer of memory, in a container
of systemd's. What happens in it never reaches the machine."""

import atexit
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

from harness import ROOT, until


class Guest:
    """Needs root, overlay file systems and systemd-nspawn; `Guest.possible()` tells."""

    @staticmethod
    def possible():
        if os.getuid() != 0 or not pathlib.Path("/sys/fs/cgroup").exists():
            return False
        if not shutil.which("systemd-nspawn"):
            subprocess.run([ROOT / "deploy/packages", "systemd-container", "dbus"], check=False)
        if not shutil.which("systemd-nspawn"):
            return False
        try:
            Guest._mount(probe := tempfile.mkdtemp())
            Guest._unmount(probe)
            return True
        except subprocess.CalledProcessError:
            return False

    @staticmethod
    def _mount(folder):
        run = lambda *words: subprocess.run(words, check=True, capture_output=True)
        run("mount", "-t", "tmpfs", "guest", folder)
        for name in ("upper", "work", "root"):
            os.mkdir(f"{folder}/{name}")
        layers = f"lowerdir=/,upperdir={folder}/upper,workdir={folder}/work"
        run("mount", "-t", "overlay", "guest", "-o", layers, f"{folder}/root")

    @staticmethod
    def _unmount(folder):
        for path in (f"{folder}/root", folder):
            subprocess.run(["umount", "-l", path], capture_output=True)
        os.rmdir(folder)

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="ladle-guest-")
        self._mount(self.folder)
        self.root = pathlib.Path(self.folder, "root")
        # Services of this machine that are of no use in there.
        for wants in ("multi-user.target.wants", "timers.target.wants", "sysinit.target.wants"):
            shutil.rmtree(self.root / "etc/systemd/system" / wants, ignore_errors=True)
        # Images for containers forbid to start and stop services.
        (self.root / "usr/sbin/policy-rc.d").unlink(missing_ok=True)
        (self.root / "etc/machine-id").unlink(missing_ok=True)
        (self.root / "etc/machine-id").write_text("")
        self.process = subprocess.Popen(
            ["systemd-nspawn", "-q", "-D", str(self.root), f"--machine=ladle-{os.getpid()}", "--boot", "--private-network",
             "--console=pipe", "--register=no", "--keep-unit", "--link-journal=no"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        atexit.register(self.stop)
        until(self._booted, 60, 0.3, "multi-user.target")

    def _booted(self):
        """The first child of systemd-nspawn only makes the one that stays."""
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        if not children:
            return False
        self.leader = children[0]
        return self.run("systemctl", "is-active", "multi-user.target").stdout.strip() == "active"

    def run(self, *words, user=None, timeout=60, input=None):
        """A command in there; its text output and exit code."""
        enter = ["nsenter", "-t", self.leader, "-a"]
        if user:
            uid = self.run("id", "-u", user).stdout.strip()
            enter += ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "env", "-i", f"HOME=/home/{user}",
                      f"USER={user}", "PATH=/usr/bin:/bin", f"XDG_RUNTIME_DIR=/run/user/{uid}"]
        return subprocess.run([*enter, *words], capture_output=True, text=True, timeout=timeout, input=input)

    def start(self, *words):
        """A command that goes on."""
        return subprocess.Popen(
            ["nsenter", "-t", self.leader, "-a", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def show(self, *properties, unit="ladle.service", user=None):
        manager = ["systemctl", "--user"] if user else ["systemctl"]
        answer = self.run(*manager, "show", unit, "-p", ",".join(properties), user=user).stdout
        found = dict(line.split("=", 1) for line in answer.splitlines() if "=" in line)
        values = [found.get(name, "") for name in properties]
        return values[0] if len(values) == 1 else values

    def write(self, path, text, mode=0o644):
        target = self.root / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        target.chmod(mode)

    def files(self):
        """What stands where packages and services write."""
        found = set()
        for name in ("etc", "usr", "var", "root"):
            listing = subprocess.run(
                ["find", str(self.root / name), "-xdev", "-printf", "%P %y\n"], capture_output=True, text=True)
            found |= {f"/{name}/{line}" for line in listing.stdout.splitlines()}
        return found

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        if os.path.isdir(self.folder):
            time.sleep(0.2)
            self._unmount(self.folder)


class Root:
    """A folder that programs take for the root of their system, with processes of their own. Needs root."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        (self.folder / "proc").mkdir(exist_ok=True)

    def command(self, *words):
        return ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c",
                'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"', str(self.folder), *map(str, words)]

    def run(self, *words, timeout=300, **env):
        clean = {"PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive", **env}
        return subprocess.run(self.command(*words), capture_output=True, text=True, timeout=timeout, env=clean)
