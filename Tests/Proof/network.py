"""A network of a check's own, where this runs as root on Linux: a tailnet and a LAN, with another machine at their far ends,
and a tailscaled that says what it is told to say.
"""

import atexit
import ctypes
import json
import os
import shutil
import socket
import subprocess
import sys
import threading

NODE, NODE6 = "100.101.102.103", "fd7a:115c:a1e0::1234"
PHONE, PHONE6 = "100.64.0.7", "fd7a:115c:a1e0::7"
LAN, NEIGHBOUR = "192.168.77.2", "192.168.77.9"


def enter():
    """Starts this check again in a network of its own; False where none can be had."""
    if os.environ.get("LADLE_TEST_NETWORK"):
        return True
    if os.geteuid() or not shutil.which("unshare") or not shutil.which("ip"):
        return False
    if subprocess.run(["unshare", "-n", "true"], capture_output=True).returncode:
        return False
    os.environ["LADLE_TEST_NETWORK"] = "1"
    os.execvp("unshare", ["unshare", "-n", sys.executable, *sys.argv])


def ip(*words):
    return subprocess.run(["ip", *words], check=True, capture_output=True)


class Network:
    """`tailscale0` and `lan0` here; the phone and the neighbour in a second network. This host has its LAN address; its
    tailnet addresses come with `join`."""

    def __init__(self):
        self.libc = ctypes.CDLL(None, use_errno=True)
        # Each connection has a source port of its own: who stands behind an address and port is remembered for a while.
        self.ports = iter(range(20_000, 60_000))
        far = subprocess.Popen(["unshare", "-n", "sleep", "1000"])
        atexit.register(far.kill)
        self.far = far
        self.here = os.open("/proc/self/ns/net", os.O_RDONLY)
        inside = os.stat("/proc/self/ns/net").st_ino
        while os.stat(f"/proc/{far.pid}/ns/net").st_ino == inside:
            pass
        self.there = os.open(f"/proc/{far.pid}/ns/net", os.O_RDONLY)
        ip("link", "set", "lo", "up")
        for name, beyond in (("tailscale0", "far"), ("lan0", "farlan")):
            ip("link", "add", name, "type", "veth", "peer", "name", beyond)
            ip("link", "set", beyond, "netns", str(far.pid))
            ip("link", "set", name, "up")
        ip("addr", "add", f"{LAN}/24", "dev", "lan0")
        self._enter(self.there)
        ip("link", "set", "lo", "up")
        for beyond in ("far", "farlan"):
            ip("link", "set", beyond, "up")
        ip("addr", "add", f"{NEIGHBOUR}/24", "dev", "farlan")
        ip("addr", "add", f"{PHONE}/32", "dev", "far")
        ip("addr", "add", f"{PHONE6}/128", "dev", "far", "nodad")
        ip("route", "add", f"{NODE}/32", "dev", "far", "src", PHONE)
        ip("-6", "route", "add", f"{NODE6}/128", "dev", "far", "src", PHONE6)
        self._enter(self.here)

    def _enter(self, number):
        """This thread alone: what it makes from now on is of that network."""
        if self.libc.setns(number, 0x40000000):
            raise OSError(ctypes.get_errno(), "setns")

    @staticmethod
    def join(*hosts):
        for host in hosts or (NODE, NODE6):
            ip("addr", "add", f"{host}/{128 if ':' in host else 32}", "dev", "tailscale0", *(["nodad"] if ":" in host else []))
            # Goes with the last address.
            ip(*(["-6"] if ":" in host else []), "route", "replace", PHONE6 if ":" in host else PHONE, "dev", "tailscale0")

    @staticmethod
    def leave(host):
        ip("addr", "del", f"{host}/{128 if ':' in host else 32}", "dev", "tailscale0")

    def dial(self, host, port, timeout=8):
        """A connection from the other machine."""
        self._enter(self.there)
        try:
            one = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
        finally:
            self._enter(self.here)
        one.settimeout(timeout)
        one.bind(("", next(self.ports)))
        one.connect((host, port))
        return one


class Tailscaled(threading.Thread):
    """The local API on a socket: documented requests, whatever answer it is told to give; None is silence."""

    def __init__(self, path):
        super().__init__(daemon=True)
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen(64)
        self.path = path
        self.answer = b""
        self.name = "box.tail1.ts.net."
        self.heads = []
        self.kept = []
        self.start()

    def run(self):
        while True:
            try:
                one, _ = self.listener.accept()
            except OSError:
                return
            head = b""
            while b"\r\n\r\n" not in head and (piece := one.recv(4096)):
                head += piece
            if b"/localapi/v0/status" in head:
                one.sendall(ok({"Self": {"DNSName": self.name}}))
                one.close()
                continue
            self.heads.append(head.decode())
            if self.answer is None:
                self.kept.append(one)
                continue
            try:
                one.sendall(self.answer)
            except OSError:
                pass
            one.close()


def ok(body):
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body


def node(login="alice@example.com", tags=None, caps=None):
    return {
        "Node": {"ID": 1, "StableID": "n1CNTRL", "Name": "phone.tail1.ts.net.", "ComputedName": "phone", "Tags": tags, "Addresses": [f"{PHONE}/32"]},
        "UserProfile": {"ID": 2, "LoginName": login, "DisplayName": "A"}, "CapMap": caps,
    }
