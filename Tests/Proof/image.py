"""The container images: deploy/docker/Dockerfile as it is, built by buildah on a copy of this system (in which the compiler only
hands out what `make program` has left, and what is installed is forgotten again), and that of deploy/image. Then of each its
configuration, and the program run as a daemon would run it: its files alone, its user, nothing writable but the volume, no capability."""

import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tarfile

import yaml

from harness import LADLE, ROOT, DemoGateway, Tally, options, scratch, until

options()
tally = Tally()
DOCKER = ROOT / "deploy/docker"
SWIFT = """#!/bin/sh
case "$*" in
*--show-bin-path) echo /result ;;
*) mkdir -p /result && cp /built/ladle /result/ladle ;;
esac
"""

text = (DOCKER / "Dockerfile").read_text()
release = re.search(r"^RELEASE := (.*)$", (ROOT / "Makefile").read_text(), re.M).group(1).replace("$(BUILD)", "swift build")
tally.check(release in text, "the image is built as `make program` builds")
ignored = (DOCKER / "Dockerfile.dockerignore").read_text().split()
tally.check({".build", ".git"} <= set(ignored), "what is large is not sent")

# The compose file asks for what the image is made for.
service = yaml.safe_load((DOCKER / "compose.yaml").read_text())["services"]["ladle"]
tally.check(service["read_only"] and service["cap_drop"] == ["ALL"] and "no-new-privileges:true" in service["security_opt"], "confined")
tally.check(service["network_mode"] == "host" and service["environment"]["LADLE_LISTEN"].startswith("127.0.0.1:"), "on loopback where the network is the host's")
tally.check((DOCKER / service["build"]["context"]).resolve() == ROOT and (ROOT / service["build"]["dockerfile"]).exists(), "its places")

if os.geteuid() or subprocess.run([ROOT / "deploy/packages", "buildah"]).returncode:
    print("image: not built here: that takes root and buildah")
    tally.end()

folder = pathlib.Path(scratch())
BUILDAH = ["buildah", "--root", folder / "images", "--runroot", folder / "run", "--storage-driver", "vfs"]


def buildah(*words):
    done = subprocess.run([*BUILDAH, *words], capture_output=True, text=True, timeout=600, cwd=ROOT)
    if not tally.check(done.returncode == 0, f"buildah {' '.join(map(str, words))}: {(done.stdout + done.stderr)[-2000:]}"):
        tally.end()
    return done.stdout


# This system: its large directories are lent while a step runs, what is written there is forgotten.
system = folder / "system"
LENT = ("usr", "var", "opt")
for name in (*LENT, "tmp", "root", "run", "proc", "sys", "dev"):
    (system / name).mkdir(parents=True)
# apt checks signatures as another user.
(system / "tmp").chmod(0o1777)
shutil.copytree("/etc", system / "etc", symlinks=True)
for name in ("bin", "sbin", "lib", "lib64"):
    (system / name).symlink_to(f"usr/{name}")
(folder / "Dockerfile").write_text("FROM scratch\nCOPY . /\n")
buildah("bud", "--isolation", "chroot", "--format", "docker", "-f", folder / "Dockerfile", "-t", "system", system)
(folder / "swift").write_text(SWIFT)
(folder / "swift").chmod(0o755)
buildah("bud", "--isolation", "chroot", "--format", "docker", "--from", "localhost/system", *(f"--volume=/{name}:/{name}:O" for name in LENT),
        f"--volume={folder}/swift:/usr/local/bin/swift:ro", f"--volume={LADLE if os.path.isabs(LADLE) else ROOT / LADLE}:/built/ladle:ro",
        "-f", "deploy/docker/Dockerfile", "-t", "ladle", ".")


def check(name, image):
    """An image of buildah's with these settings, as a daemon would run it. Its files, by their paths."""
    environment = dict(pair.split("=", 1) for pair in image["Env"])
    (volume,) = image["Volumes"]
    uid = image["User"].split(":")[0]
    entry, health = image["Entrypoint"], image["Healthcheck"]["Test"]
    tally.check(image["StopSignal"] in ("SIGTERM", "15") and health[0] == "CMD" and int(uid) > 0 and "18780/tcp" in image["ExposedPorts"], f"the image: {image}")
    inside = pathlib.Path(buildah("mount", buildah("from", name).strip()).strip())
    files = [file for file in inside.rglob("*") if file.is_file()]
    print(f"image: {name}: {len(files)} files, {sum(file.stat().st_size for file in files) >> 20} MiB")
    tally.check(not any(re.search(r"bin/(sh|bash|apt|dpkg)$", str(file)) for file in files), "no shell, no package manager")
    # What docker lays over it.
    for laid in ("hosts", "resolv.conf"):
        shutil.copy(f"/etc/{laid}", inside / "etc" / laid)
    gateway = DemoGateway()
    state = pathlib.Path(scratch())
    os.chown(state, int(uid), int(uid))
    token = inside / "run/secrets/gateway-token"
    token.write_text(gateway.token + "\n")
    token.chmod(0o400)
    os.chown(token, int(uid), int(uid))

    def command(*words, network=()):
        """As docker runs it: a mount namespace with a read-only root and the volume, another uid, no privilege to come."""
        prepare = (f"mount --bind {inside} {inside} && mount --bind {state} {inside}{volume} && mkdir -p {inside}/proc && "
                   f"mount -t proc proc {inside}/proc && mount -o remount,bind,ro {inside} && "
                   f"exec setpriv --no-new-privs unshare --root={inside} --setuid={uid} --setgid={uid} --wd=/ " + shlex.join(words))
        return [*network, "unshare", "--mount", "sh", "-c", prepare]

    serving = subprocess.Popen(
        command(*entry, "--listen", "127.0.0.1:0", "--gateway", gateway.url, "--token-file", "/run/secrets/gateway-token"),
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    lines = []
    for line in serving.stdout:
        lines.append(line)
        if found := re.search(r"listening on http://127\.0\.0\.1:(\d+)", line):
            break
    tally.check(found, f"the image serves: {''.join(lines)}")
    healthy = lambda: subprocess.run(command(*health[1:]), env=environment, capture_output=True, text=True, timeout=20)
    until(lambda: healthy().returncode == 0, what="a healthy container")
    online = until(lambda: "online" in subprocess.run(
        command("/usr/bin/ladle", "status"), env=environment, capture_output=True, text=True).stdout, what="the link")
    tally.check(online, "linked, by the token of the secret")
    sent = subprocess.run(command("/usr/bin/ladle", "send", "--wait", "hello"), env=environment, capture_output=True, text=True)
    tally.check(sent.returncode == 0 and "hello" in sent.stdout, f"a message: {sent}")
    shown = {line.split(":")[0]: line.split() for line in pathlib.Path(f"/proc/{serving.pid}/status").read_text().splitlines()}
    tally.check(shown["Uid"][1:] == [uid] * 4 and shown["CapEff"][1] == "0" * 16 and shown["NoNewPrivs"][1] == "1", f"its rights: {shown}")
    serving.terminate()
    tally.check(serving.wait(20) == 0, "it stops when it is told to")
    tally.check(healthy().returncode == 69, "and is not healthy then")
    # As it comes, in a network of its own: what reaches the published port is answered. The token file is root's: it says what to type.
    if shutil.which("ip"):
        holder = subprocess.Popen(["unshare", "--net", "sleep", "600"])
        network = ["nsenter", f"--net=/proc/{holder.pid}/ns/net"]
        own = os.stat("/proc/self/ns/net").st_ino
        until(lambda: os.stat(f"/proc/{holder.pid}/ns/net").st_ino != own, what="a network")
        subprocess.run([*network, "ip", "link", "set", "lo", "up"], check=True)
        # Not of loopback, as docker's bridge is not.
        subprocess.run([*network, "ip", "addr", "add", "172.17.0.2/32", "dev", "lo"], check=True)
        serving = subprocess.Popen(command(*entry, "--demo", network=network), env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        ask = lambda path, *more: subprocess.run(
            [*network, "curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "--connect-to", "::172.17.0.2:", *more, f"http://127.0.0.1:18780{path}"],
            capture_output=True, text=True).stdout
        until(lambda: ask("/healthz") == "200", what="an answer of the published port")
        made = subprocess.run(command("/usr/bin/ladle", "token", "create", "--name", "me", "--scopes", "read,send", network=network),
                              env=environment, capture_output=True, text=True)
        bearer = f"Authorization: Bearer {re.search(r'ldl_[0-9A-Za-z]+', made.stdout)[0]}"
        tally.check((ask("/v1/status"), ask("/v1/status", "-H", bearer)) == ("401", "200"), f"a token opens it: {made}")
        serving.terminate()
        serving.wait(20)
        holder.kill()
    os.chown(token, 0, 0)
    refused = subprocess.run(command(*entry, "--listen", "127.0.0.1:0", "--gateway", gateway.url, "--token-file", "/run/secrets/gateway-token"),
                             env=environment, capture_output=True, text=True, timeout=20)
    tally.check(refused.returncode and f"chown {uid} /run/secrets/gateway-token" in refused.stdout + refused.stderr, f"a secret of root: {refused}")
    # Certificates: whom a public name is trusted by is in the image.
    tally.check((inside / environment["SSL_CERT_FILE"].lstrip("/")).stat().st_size > 100_000, "the authorities are in it")
    return {str(file.relative_to(inside)) for file in files}


first = json.loads(buildah("inspect", "--type", "image", "localhost/ladle"))["Docker"]["config"]
files = check("localhost/ladle", first)

# The released one, from the objects of `make program`: the same settings, and fewer libraries.
program, image = folder / "static/ladle", folder / "image.oci.tar"
program.parent.mkdir()
for words in (["deploy/link", program, "ssl", "crypto", "nghttp2", "z", "sqlite3", "stdc++"], ["deploy/image", program, "0.0.0", image]):
    made = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, env={**os.environ, "SOURCE_DATE_EPOCH": "0"})
    tally.check(made.returncode == 0, f"{words}: {made}")
with tarfile.open(image) as tar:
    read = lambda path: json.load(tar.extractfile(path))
    of = lambda descriptor: read("blobs/" + descriptor["digest"].replace(":", "/"))
    second = of(of(read("index.json")["manifests"][0])["config"])["config"]
for setting in ("User", "Env", "Entrypoint", "Volumes", "ExposedPorts", "StopSignal", "Healthcheck"):
    tally.check(second[setting] == first[setting], f"{setting} of the Dockerfile: {second[setting]} {first[setting]}")
buildah("pull", f"oci-archive:{image}")
less = check("localhost/ladle:0.0.0", second)
more = {file for file in less - files if not file.startswith("usr/share/doc/")}
tally.check(not more, f"it has nothing that the other one has not: {more}")
print(f"image: not in it: {' '.join(sorted(pathlib.Path(file).name for file in files - less))}")
tally.end()
