"""The files of `make release`: made twice from one build, the same bytes; sums and signatures that hold; lists of contents that name what
each program has inside and loads; a tarball whose program needs glibc alone, and trusts the authorities of systems that are not Debian;
an image layout whose digests hold. The long form builds the program twice, in two folders: the same bytes."""

import atexit
import gzip
import hashlib
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import tarfile

from guest import Root
from harness import LADLE, ROOT, Program, Tally, options, scratch

chosen = options()
tally = Tally()
DIST = ROOT / ".build/dist"
INSIDE = {"libssl-dev", "libnghttp2-dev", "libsqlite3-dev", "zlib1g-dev"}


def run(*words, **more):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, **more)


def made(**env):
    done = run(ROOT / "deploy/release", cwd=ROOT, env={**os.environ, **env})
    tally.check(done.returncode == 0, f"deploy/release: {done.stdout}{done.stderr}")
    return {str(file.relative_to(DIST)): file.read_bytes() for file in DIST.rglob("*") if file.is_file()}, done.stdout


sha256 = lambda data: hashlib.sha256(data).hexdigest()
# A key of this check's own.
os.environ["GNUPGHOME"] = str(keys := pathlib.Path(scratch()))
keys.chmod(0o700)
atexit.register(run, "gpgconf", "--kill", "all")
run("gpg", "--batch", "--passphrase", "", "--quick-generate-key", "ladle@check.invalid", "ed25519", "sign")
files, said = made()
tally.check("release: not signed" in said, f"it says that nothing is signed: {said}")
signed, said = made(SIGN_KEY="ladle@check.invalid")
tally.check("not signed" not in said, f"and not where it is: {said}")
signatures = {"SHA256SUMS.asc", "apt/InRelease", "apt/Release.gpg", "apt/ladle.gpg"}
tally.check(signed.keys() - files.keys() == signatures, f"what a signature adds: {signed.keys() - files.keys()}")
same = files.keys() - {"SHA256SUMS"}
tally.check(all(signed[name] == files[name] for name in same), f"one build, twice the same files: {[name for name in same if signed[name] != files[name]]}")
for signature, of in (("SHA256SUMS.asc", "SHA256SUMS"), ("apt/Release.gpg", "apt/Release")):
    tally.check(run("gpg", "--verify", DIST / signature, DIST / of).returncode == 0, f"{signature} is of {of}")
tally.check(files["apt/Release"].decode() in signed["apt/InRelease"].decode(), "InRelease is the signed Release")

version = re.search(r'"(\d+\.\d+\.\d+)"', (ROOT / "Sources/ladle/Version.swift").read_text())[1]
machine, architecture = os.uname().machine, run("dpkg", "--print-architecture").stdout.strip()
name, package = f"ladle-{version}-linux-{machine}", f"ladle_{version}_{architecture}"
wanted = {f"{name}.tar.gz", f"{name}.oci.tar", f"{name}.spdx.json", f"{package}.deb", f"{package}.spdx.json", "SHA256SUMS",
          f"apt/{package}.deb", "apt/Packages", "apt/Packages.gz", "apt/Release"}
CLIENTS = {f"ladle_client-{version}-py3-none-any.whl", f"ladle_client-{version}.tar.gz", f"ladle-client-{version}.tgz"}
wanted |= CLIENTS if "no client packages" not in said else set()
tally.check(files.keys() == wanted, f"what is published: {sorted(files)}")
sums = dict(reversed(line.split()) for line in signed["SHA256SUMS"].decode().splitlines())
tally.check({file: sha256(data) for file, data in signed.items() if not file.startswith("SHA256SUMS")} == sums, "the sum of each file")
page = (ROOT / "docs/releasing.md").read_text().replace("VERSION", version)
for file in signed:
    told = file.replace(f"_{architecture}", "_ARCH").replace(f"-{machine}", "-ARCH")
    tally.check(told in page, f"docs/releasing.md tells of {told}")

# The tarball: an installation, and its removal by its own list.
place = pathlib.Path(scratch())
archive = DIST / f"{name}.tar.gz"
done = run("tar", "-C", place, "--strip-components=1", "-xzf", archive)
tally.check(done.returncode == 0, f"tar: {done.stderr}")
program = place / "bin/ladle"
tally.check(run(program, "version").stdout == f"ladle {version}\n", "the program runs")
needed = set(re.findall(r"Shared library: \[(.*?)\]", run("readelf", "-dW", program).stdout))
tally.check(all(re.match(r"lib(c|m|gcc_s)\.so|ld-linux", library) for library in needed), f"it needs glibc alone: {needed}")
digest = sha256(program.read_bytes())
symbols = {kind: re.findall(r"GLIBC_([\d.]+)", run("objdump", "-T", path).stdout) for kind, path in (
    ("the tarball", program), ("the package", ROOT / ".build/deb/ladle"))}
glibc = {kind: max(tuple(map(int, found.split("."))) for found in versions) for kind, versions in symbols.items()}
for kind, oldest in glibc.items():
    tally.check(oldest <= (2, 35), f"{kind} runs on Ubuntu 22.04, whose glibc is 2.35: it needs {oldest}. Releases are made on Debian 12.")
tally.check("GNU_RELRO" in run("readelf", "-lW", program).stdout, "its relocations are read-only after the start")
tally.check("/usr/local/bin/ladle serve" in (place / "lib/systemd/user/ladle.service").read_text(), "the unit names the program")
licences = {file.name for file in (place / "share/doc/ladle/licences").iterdir()}
tally.check(INSIDE < licences, f"the licences of what is inside: {licences}")
listed = [entry.split("/", 1)[1] for entry in run("tar", "-tzf", archive).stdout.splitlines() if not entry.endswith("/")]
tally.check({"share/man/man1/ladle.1.gz", "share/doc/ladle/LICENSE", "share/doc/ladle/examples/grafana/dashboard.json"} <= set(listed), "with all that belongs to it")
for entry in listed:
    (place / entry).unlink()
tally.check(not [file for file in place.rglob("*") if file.is_file()], "and goes without a trace")

# The lists of contents.
for kind, inside, loaded, of in (
        (name, INSIDE, {"libc6"}, digest),
        (package, {"libnghttp2-dev"}, {"libc6", "libssl3", "libsqlite3-0", "zlib1g"}, None)):
    document = json.loads(files[f"{kind}.spdx.json"])
    packages = {entry["SPDXID"]: entry for entry in document["packages"]}
    tally.check(document["spdxVersion"] == "SPDX-2.3" and document["dataLicense"] == "CC0-1.0", f"{kind}: SPDX 2.3")
    if of is None:
        unpacked = pathlib.Path(scratch())
        run("dpkg-deb", "-x", DIST / f"{package}.deb", unpacked)
        of = sha256((unpacked / "usr/bin/ladle").read_bytes())
    tally.check(packages["SPDXRef-ladle"]["checksums"][0]["checksumValue"] == of, f"{kind}: of its program")
    tally.check(all(re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", entry) for entry in packages), f"{kind}: ids as SPDX wants them")
    ends = {end for relation in document["relationships"] for end in (relation["spdxElementId"], relation["relatedSpdxElement"])}
    tally.check(ends == packages.keys() | {"SPDXRef-DOCUMENT"}, f"{kind}: every package is related to another one")
    related = {how: {packages[relation["relatedSpdxElement"]]["name"] for relation in document["relationships"] if relation["relationshipType"] == how}
               for how in ("STATIC_LINK", "DYNAMIC_LINK")}
    tally.check(inside <= related["STATIC_LINK"] and loaded <= related["DYNAMIC_LINK"], f"{kind}: what is where: {related}")
    known = {entry["name"]: entry["versionInfo"] for entry in packages.values()}
    for library in inside | loaded:
        found = run("dpkg-query", "-W", "-f=${Version}", library).stdout
        tally.check(known.get(library) == found, f"{kind}: {library} {found}: {known}")

# The image: each descriptor leads to bytes of its size and digest. `image.py` runs it.
layout = {}
with tarfile.open(fileobj=io.BytesIO(files[f"{name}.oci.tar"])) as tar:
    layout = {entry.name: tar.extractfile(entry).read() for entry in tar if entry.isfile()}


def blob(descriptor):
    data = layout["blobs/" + descriptor["digest"].replace(":", "/")]
    tally.check(len(data) == descriptor["size"] and f"sha256:{sha256(data)}" == descriptor["digest"], f"the blob {descriptor}")
    return data


(entry,) = json.loads(layout["index.json"])["manifests"]
manifest = json.loads(blob(entry))
configuration = json.loads(blob(manifest["config"]))
layer = gzip.decompress(blob(manifest["layers"][0]))
tally.check(configuration["rootfs"]["diff_ids"] == [f"sha256:{sha256(layer)}"] and len(layout) == 5, "a layer, and nothing that belongs nowhere")
tally.check((configuration["architecture"], entry["platform"]["architecture"]) == (architecture, architecture), "for this machine")

# Elsewhere the authorities stand in other places. In a root with nothing but the image's files they are put there one by one.
if os.geteuid() == 0:
    folder = pathlib.Path(scratch())
    openssl = lambda *words: subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)
    openssl("req", "-x509", "-newkey", "ed25519", "-nodes", "-subj", "/CN=authority", "-keyout", "ca.key", "-out", "ca.pem")
    openssl("req", "-x509", "-newkey", "ed25519", "-nodes", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-addext",
            "basicConstraints=CA:FALSE", "-CA", "ca.pem", "-CAkey", "ca.key", "-keyout", "here.key", "-out", "here.pem")
    serving = Program(["serve", "--demo", "--state", folder / "state", "--listen", "127.0.0.1:0", "--tls-cert", folder / "here.pem",
                       "--tls-key", folder / "here.key"], r"listening on https://127\.0\.0\.1:(\d+)")
    bare = Root(scratch())
    with tarfile.open(fileobj=io.BytesIO(layer)) as tar:
        tar.extractall(bare.folder)
    shutil.copy(folder / "state/demo/admin-token", bare.folder / "token")
    (bare.folder / "etc/hosts").write_text("127.0.0.1 localhost\n")
    shutil.rmtree(bare.folder / "etc/ssl")
    ask = lambda **env: bare.run("/usr/bin/ladle", "status", "--url", f"https://localhost:{serving.match[1]}", "--token-file", "/token", **env)
    tally.check((answer := ask()).returncode == 77, f"without authorities nobody is trusted: {answer}")
    for place in ("etc/ssl/certs/ca-certificates.crt", "etc/pki/tls/certs/ca-bundle.crt", "etc/ssl/ca-bundle.pem",
                  "etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "etc/ssl/cert.pem", "usr/lib/ssl/cert.pem"):
        (bare.folder / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(folder / "ca.pem", bare.folder / place)
        tally.check((answer := ask()).returncode == 0, f"the authorities of /{place}: {answer}")
        (bare.folder / place).unlink()
    (bare.folder / "usr/lib/ssl").rmdir()
    shutil.copy(folder / "ca.pem", bare.folder / "own.pem")
    tally.check((answer := ask(SSL_CERT_FILE="/own.pem")).returncode == 0, f"SSL_CERT_FILE: {answer}")
    serving.stop()
else:
    print("release: where the authorities are was not tried: that takes root")

if chosen.long:
    other = pathlib.Path(scratch(), "another-folder")
    shutil.copytree(ROOT, other, symlinks=True, ignore=shutil.ignore_patterns(".build", ".git"))
    builds = []
    for folder in (ROOT, other):
        done = run("make", "-s", "release", cwd=folder)
        tally.check(done.returncode == 0, f"make release in {folder}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
        builds.append((folder / ".build/dist/SHA256SUMS").read_text())
        print(f"{folder}: {sha256(builds[-1].encode())}", flush=True)
    tally.check(builds[0] == builds[1], f"two builds of one source, the same bytes: {builds}")

tally.end()
