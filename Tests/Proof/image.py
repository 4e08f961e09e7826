"""The container image without a container daemon: the commands of deploy/docker/Dockerfile are run here, on a copy of this
system, but for the compiler, whose result `make release` has left; what they make is then run as the image would be: its
files alone, its user, nothing writable but the volume, no capability."""

import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import time

import yaml

from guest import Guest
from harness import LADLE, ROOT, DemoGateway, Tally, options, scratch, until

options()
tally = Tally()
DOCKER = ROOT / "deploy/docker"


def instructions(text):
    """Stages of (name, argument), continued lines joined, comments gone."""
    lines = re.sub(r"\\\n\s*", " ", re.sub(r"^\s*#.*\n", "", text, flags=re.M)).splitlines()
    stages = []
    for name, argument in (line.split(None, 1) for line in lines if line.strip()):
        if name == "FROM":
            stages.append([])
        stages[-1].append((name, argument))
    return stages


def run(*words, **more):
    return subprocess.run(words, capture_output=True, text=True, timeout=120, **more)


build, image = instructions((DOCKER / "Dockerfile").read_text())
of = lambda stage, name: [argument for instruction, argument in stage if instruction == name]
known = {"FROM", "RUN", "COPY", "WORKDIR", "USER", "ENV", "VOLUME", "EXPOSE", "STOPSIGNAL", "HEALTHCHECK", "ENTRYPOINT"}
tally.check({name for stage in (build, image) for name, _ in stage} <= known, "instructions there are")
tally.check(of(image, "FROM") == ["scratch"], "nothing but what is copied")
packages, compile_, collect = of(build, "RUN")
names = packages.split("--no-install-recommends")[1].split()
tally.check(len(names) == 5, f"packages: {names}")
for name in names:
    tally.check(run("apt-cache", "show", name).returncode == 0, f"Debian has {name}")
release = re.search(r"^RELEASE := (.*)$", (ROOT / "Makefile").read_text(), re.M).group(1).replace("$(BUILD)", "swift build")
tally.check(release in compile_, f"the image is built as `make release` builds: {compile_}")
for argument in of(build, "COPY"):
    for source in argument.split()[:-1]:
        tally.check((ROOT / source).exists(), f"{source} is there to be copied")
ignored = (DOCKER / "Dockerfile.dockerignore").read_text().split()
tally.check({".build", ".git"} <= set(ignored), "what is large is not sent")

# The compose file asks for what the image is made for.
service = yaml.safe_load((DOCKER / "compose.yaml").read_text())["services"]["ladle"]
tally.check(service["read_only"] and service["cap_drop"] == ["ALL"] and "no-new-privileges:true" in service["security_opt"], "confined")
tally.check((DOCKER / service["build"]["context"]).resolve() == ROOT and (ROOT / service["build"]["dockerfile"]).exists(), "its places")

if not Guest.possible():
    print("image: not run here: no overlay file system")
    tally.end()

# The last RUN of the first stage, in a copy of this system with the program where the one before leaves it.
folder = scratch()
Guest._mount(folder)
root = pathlib.Path(folder, "root")
try:
    shutil.copy(LADLE, root / "ladle")
    made = run("chroot", root, "sh", "-c", collect, env={"PATH": "/usr/bin:/bin:/usr/sbin:/sbin"})
    tally.check(made.returncode == 0, f"RUN {collect}: {made.stderr}")
    files = run("sh", "-c", f"cd {root}/root-of-image && find . ! -type d -printf '%P\\n'").stdout.split()
    size = sum((root / "root-of-image" / file).stat().st_size for file in files)
    print(f"image: {len(files)} files, {size >> 20} MiB")
    tally.check(not any(re.search(r"bin/(sh|bash|apt|dpkg)$", file) for file in files), "no shell, no package manager")

    environment = dict(pair.split("=", 1) for line in of(image, "ENV") for pair in line.split())
    volume = of(image, "VOLUME")[0]
    uid = of(image, "USER")[0].split(":")[0]
    entry = json.loads(of(image, "ENTRYPOINT")[0])
    health = json.loads(of(image, "HEALTHCHECK")[0].split("CMD", 1)[1])
    gateway = DemoGateway()
    inside = root / "root-of-image"
    state = pathlib.Path(scratch())
    os.chown(state, int(uid), int(uid))
    token = inside / "run/secrets/gateway-token"
    token.write_text(gateway.token + "\n")
    token.chmod(0o400)
    os.chown(token, int(uid), int(uid))
    for name in ("hosts", "resolv.conf"):
        shutil.copy(f"/etc/{name}", inside / "etc" / name)

    def command(*words):
        """As docker runs it: a mount namespace with a read-only root and the volume, another uid, no privilege to come."""
        prepare = (f"mount --bind {inside} {inside} && mount --bind {state} {inside}{volume} && mkdir -p {inside}/proc && "
                   f"mount -t proc proc {inside}/proc && mount -o remount,bind,ro {inside} && "
                   f"exec setpriv --no-new-privs unshare --root={inside} --setuid={uid} --setgid={uid} --wd=/ " + shlex.join(words))
        return ["unshare", "--mount", "sh", "-c", prepare]

    serving = subprocess.Popen(
        command(*entry, "--listen", "127.0.0.1:0", "--gateway", gateway.url, "--token-file", "/run/secrets/gateway-token"),
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    lines = []
    for line in serving.stdout:
        lines.append(line)
        if found := re.search(r"listening on http://127\.0\.0\.1:(\d+)", line):
            break
    tally.check(found, f"the image serves: {''.join(lines)}")
    check = lambda: subprocess.run(command(*health), env=environment, capture_output=True, text=True, timeout=20)
    until(lambda: check().returncode == 0, what="a healthy container")
    online = until(lambda: "online" in subprocess.run(
        command("/usr/bin/ladle", "status"), env=environment, capture_output=True, text=True).stdout, what="the link")
    tally.check(online, "linked, by the token of the secret")
    sent = subprocess.run(command("/usr/bin/ladle", "send", "--wait", "hello"), env=environment, capture_output=True, text=True)
    tally.check(sent.returncode == 0 and "hello" in sent.stdout, f"a message: {sent}")
    shown = {line.split(":")[0]: line.split() for line in pathlib.Path(f"/proc/{serving.pid}/status").read_text().splitlines()}
    tally.check(shown["Uid"][1:] == [uid] * 4 and shown["CapEff"][1] == "0" * 16 and shown["NoNewPrivs"][1] == "1", f"its rights: {shown}")
    serving.terminate()
    tally.check(serving.wait(20) == 0, "it stops when it is told to")
    tally.check(check().returncode == 69, "and is not healthy then")
    # Certificates: whom a public name is trusted by is in the image.
    tally.check((inside / environment["SSL_CERT_FILE"].lstrip("/")).stat().st_size > 100_000, "the authorities are in it")
finally:
    time.sleep(0.2)
    Guest._unmount(folder)
    os.mkdir(folder)
tally.end()
