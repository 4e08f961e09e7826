"""`advertise`: a machine beside this one finds Ladle by multicast, with a library that is not ours (zeroconf) and with `ladle discover`; the
records have nothing personal; what publishes them is started again, ends with Ladle however that ends, and never stops it.

Root gets a network of its own, and in it Avahi with a bus of its own; where Avahi cannot be had, a program of the same name publishes
through zeroconf.
"""

import atexit
import base64
import hashlib
import json
import os
import pathlib
import shutil
import signal
import ssl
import subprocess
import sys
import time

import network

HAS_NETWORK = network.enter()

from harness import LADLE, ROOT, Serve, Tally, options, run_ladle, scratch, until
from network import LAN
from raw_http import certificate

options()
tally = Tally()
folder = pathlib.Path(scratch())

BROWSE = """
import json, sys, time
from zeroconf import IPVersion, ServiceBrowser, Zeroconf
found, gone = {}, []
class Listener:
    def add_service(self, one, kind, name):
        info = one.get_service_info(kind, name, 3000)
        if info:
            found[name] = {"port": info.port, "addresses": info.parsed_addresses(), "size": len(info.text),
                           "hints": {k.decode(): (v or b"").decode() for k, v in info.properties.items()}}
    update_service = add_service
    def remove_service(self, one, kind, name):
        gone.append(name)
one = Zeroconf(interfaces=[sys.argv[1]], ip_version=IPVersion.V4Only)
ServiceBrowser(one, "_ladle._tcp.local.", Listener())
end = time.monotonic() + float(sys.argv[2])
while time.monotonic() < end and not (sys.argv[3] == "gone" and gone):
    time.sleep(0.05)
    if sys.argv[3] == "found" and found: break
    if sys.argv[3] == "gone" and found and not gone: print("seen", flush=True); sys.argv[3] = "gone "
    if sys.argv[3] == "gone " and gone: break
print(json.dumps({"found": found, "gone": gone}), flush=True)
"""

STAND_IN = """#!%s
import signal, socket, sys
from zeroconf import ServiceInfo, Zeroconf
name, kind, port, *hints = sys.argv[2:]
one = Zeroconf(interfaces=[%r])
info = ServiceInfo(kind + ".local.", name + "." + kind + ".local.", int(port), addresses=[socket.inet_aton(%r)],
                   properties=dict(hint.split("=", 1) for hint in hints), server="standin.local.")
one.register_service(info)
signal.sigwait({signal.SIGTERM})
one.unregister_service(info)
"""


def elsewhere(words, **more):
    net._enter(net.there)
    try:
        return subprocess.Popen(words, stdout=subprocess.PIPE, text=True, **more)
    finally:
        net._enter(net.here)


def browse(seconds, what):
    return elsewhere([sys.executable, "-c", BROWSE, network.NEIGHBOUR, str(seconds), what])


def avahi():
    """The environment of a program that reaches an Avahi of this network; None where there is none."""
    if not shutil.which("avahi-daemon") or not shutil.which("avahi-publish-service"):
        subprocess.run([ROOT / "deploy/packages", "avahi-daemon", "avahi-utils", "dbus"], check=False, capture_output=True)
    if not all(map(shutil.which, ("avahi-daemon", "avahi-publish-service", "dbus-daemon"))):
        return None
    address = f"unix:path={folder}/bus"
    bus = subprocess.Popen(["dbus-daemon", "--session", "--nofork", f"--address={address}"], stderr=subprocess.DEVNULL)
    atexit.register(bus.kill)
    until(lambda: (folder / "bus").exists(), what="the bus")
    (folder / "avahi.conf").write_text("[server]\nhost-name=proofbox\nallow-interfaces=lan0\nuse-ipv6=no\n[wide-area]\nenable-wide-area=no\n")
    environment = {**os.environ, "DBUS_SYSTEM_BUS_ADDRESS": address}
    log = open(folder / "avahi.log", "w")
    daemon = subprocess.Popen(["avahi-daemon", "--no-drop-root", "--no-chroot", "--no-rlimits", "-f", folder / "avahi.conf"],
                              env=environment, stdout=log, stderr=log)
    atexit.register(daemon.kill)
    try:
        until(lambda: "startup complete" in (folder / "avahi.log").read_text(), seconds=15, what="Avahi")
    except TimeoutError:
        print((folder / "avahi.log").read_text(), flush=True)
        return None
    return {"DBUS_SYSTEM_BUS_ADDRESS": address}


def children(serve):
    out = subprocess.run(["pgrep", "-P", str(serve.process.pid)], capture_output=True, text=True).stdout
    return [int(line) for line in out.split()]


# Where nothing faces the network, and where nobody publishes.
done = run_ladle("serve", "--demo", "--state", str(folder / "none"), "--listen", "127.0.0.1:0", "--advertise", "true")
tally.check(done.returncode == 78 and "advertise: no listener faces the network, only 127.0.0.1:0" in done.stderr, f"loopback alone: {done}")

if not HAS_NETWORK:
    print("no network of its own: nothing is announced", flush=True)
    tally.end()
net = network.Network()
net.join()
arguments, _ = certificate(str(folder))
pin = hashlib.sha256(ssl.PEM_cert_to_DER_cert((folder / "cert.pem").read_text())).digest()
chosen = ["--listen", f"{LAN}:7444", "--listen", "tailnet:7443", *arguments, "--advertise", "true"]
bare = Serve(*chosen, env={"PATH": "/nowhere"})
until(lambda: "avahi-publish-service is not installed" in bare.output, what="the warning")
told = subprocess.run([LADLE, "doctor", "--json", "--state", bare.state, *chosen], env={"PATH": "/nowhere", "HOME": str(folder)}, capture_output=True, text=True)
finding = [one for one in json.loads(told.stdout)["checks"] if one["check"] == "advertise"]
tally.check(finding and not finding[0]["ok"] and "apt install avahi-utils" in finding[0]["hint"], f"doctor says what is missing: {finding}")
status = run_ladle("status", "--state", bare.state)
tally.check(status.returncode == 0 and "Ladle" in status.stdout, "and it serves all the same")
bare.stop()

environment = avahi()
if environment is None:
    stand_in = folder / "avahi-publish-service"
    stand_in.write_text(STAND_IN % (sys.executable, LAN, LAN))
    stand_in.chmod(0o755)
    environment = {"PATH": f"{folder}:/usr/bin:/bin"}
    print("Avahi cannot be had: a program of the same name publishes through zeroconf", flush=True)
else:
    print("published by Avahi", flush=True)
serve = Serve(*chosen, env={**os.environ, **environment})
began = time.monotonic()
seen = json.loads(browse(15, "found").communicate(timeout=30)[0])["found"]
print(f"found after {time.monotonic() - began:.1f} s: {json.dumps(seen)}", flush=True)
name, entry = next(iter(seen.items()), ("", {"port": 0, "addresses": [], "hints": {}, "size": 0}))
hints = entry["hints"]
wanted = base64.urlsafe_b64encode(pin).decode().rstrip("=")
tally.check(name.endswith("._ladle._tcp.local.") and entry["port"] == 7444 and LAN in entry["addresses"], f"the place: {seen}")
tally.check(set(hints) == {"txtvers", "api", "path", "tls", "fp", "auth", "id", "ver"} and entry["size"] <= 200, f"these records and no more: {entry}")
tally.check(hints.get("tls") == "1" and hints.get("fp") == wanted and hints.get("auth") == "pair,token" and hints.get("path") == "/v1", f"how to get in: {hints}")
tally.check(hints.get("ver") == "0.1" and len(hints.get("id", "")) == 16, f"two numbers of the version, and an id: {hints}")
found = elsewhere([LADLE, "discover", "--ladle", "--json", "--timeout", "3"]).communicate(timeout=30)[0]
ours = [one for one in json.loads(found)["ladles"] if one["port"] == 7444]
tally.check(len(ours) == 1 and ours[0]["url"] == f"https://{LAN}:7444" and ours[0]["fingerprint"] == pin.hex(), f"ladle discover --ladle: {found}")
table = elsewhere([LADLE, "discover", "--ladle", "--timeout", "2"]).communicate(timeout=30)[0]
tally.check(f"https://{LAN}:7444" in table, f"the table: {table}")

first = until(lambda: children(serve), what="the publisher")
os.kill(first[0], signal.SIGKILL)
second = until(lambda: [one for one in children(serve) if one not in first], what="a new publisher")
tally.check(len(second) == 1 and "advertise.ended" in serve.output, "a publisher that ends is started again, and the log says so")
until(lambda: json.loads(browse(5, "found").communicate(timeout=30)[0])["found"], what="the records again")
watcher = browse(30, "gone")
tally.check(watcher.stdout.readline() == "seen\n", "the neighbour sees it")
publisher = children(serve)
serve.kill()
until(lambda: not any(pathlib.Path(f"/proc/{one}").exists() for one in publisher), what="the publisher's end")
tally.check(True, "a publisher ends with a Ladle that was killed")
if shutil.which("avahi-daemon"):
    gone = json.loads(watcher.communicate(timeout=60)[0])["gone"]
    tally.check(gone == [name] or len(gone) == 1, f"and the records are withdrawn: {gone}")
else:
    watcher.kill()
tally.end()
