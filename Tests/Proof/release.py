"""The files of `make release`: made twice from one program, the same bytes; sums that hold; a list of contents that names what the
program loads; an installation from the tarball that runs. The long form builds the program twice, in two folders: the same bytes."""

import hashlib
import json
import pathlib
import re
import shutil
import subprocess

from harness import LADLE, ROOT, Tally, options, scratch

chosen = options()
tally = Tally()
DIST = ROOT / ".build/dist"


def run(*words, **more):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, **more)


def made(program):
    done = run(ROOT / "deploy/release", program, cwd=ROOT)
    tally.check(done.returncode == 0, f"deploy/release: {done.stdout}{done.stderr}")
    return {file.name: file.read_bytes() for file in DIST.iterdir()}


program = pathlib.Path(scratch(), "ladle")
shutil.copy(LADLE, program)
subprocess.run(["strip", program], check=True)
files = made(program)
tally.check(made(program) == files, "one program, twice the same files")
version = re.search(r'"(\d+\.\d+\.\d+)"', (ROOT / "Sources/ladle/Version.swift").read_text())[1]
tally.check(all(version in name for name in files if name != "SHA256SUMS"), f"each name has the version: {sorted(files)}")
endings = {name.split(version)[1].split(".", 1)[-1] for name in files if name != "SHA256SUMS"}
wanted = {"tar.gz", "spdx.json"} | ({"deb"} if shutil.which("dpkg-deb") else set()) | ({"whl", "tgz"} if shutil.which("tsc") else set())
tally.check(endings == wanted, f"what is published: {endings}")
for line in files["SHA256SUMS"].decode().splitlines():
    digest, name = line.split()
    tally.check(hashlib.sha256(files[name]).hexdigest() == digest, f"the sum of {name}")
tally.check(len(files["SHA256SUMS"].splitlines()) == len(files) - 1, "a sum for each file")

# The list of contents.
document = json.loads(next(data for name, data in files.items() if name.endswith(".spdx.json")))
packages = {entry["SPDXID"]: entry for entry in document["packages"]}
tally.check(document["spdxVersion"] == "SPDX-2.3" and document["dataLicense"] == "CC0-1.0", "SPDX 2.3")
tally.check(packages["SPDXRef-ladle"]["checksums"][0]["checksumValue"] == hashlib.sha256(program.read_bytes()).hexdigest(), "of this program")
tally.check(all(re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", name) for name in packages), "ids as SPDX wants them")
ends = {end for relation in document["relationships"] for end in (relation["spdxElementId"], relation["relatedSpdxElement"])}
tally.check(ends == packages.keys() | {"SPDXRef-DOCUMENT"}, "every package is related to another one")
if shutil.which("dpkg-query"):
    known = {entry["name"]: entry["versionInfo"] for entry in packages.values()}
    for library in ("libc6", "libssl3", "libsqlite3-0", "zlib1g"):
        found = run("dpkg-query", "-W", "-f=${Version}", library).stdout
        tally.check(known.get(library) == found, f"{library} {found}: {known}")

# An installation from the tarball, and its removal by its own list.
place = pathlib.Path(scratch())
archive = next(DIST / name for name in files if name.endswith(".tar.gz") and "linux" in name)
done = run("tar", "-C", place, "--strip-components=1", "-xzf", archive)
tally.check(done.returncode == 0, f"tar: {done.stderr}")
tally.check(run(place / "bin/ladle", "version").stdout == f"ladle {version}\n", "the program runs")
tally.check("/usr/local/bin/ladle serve" in (place / "lib/systemd/user/ladle.service").read_text(), "the unit names the program")
listed = [name.split("/", 1)[1] for name in run("tar", "-tzf", archive).stdout.splitlines() if not name.endswith("/")]
tally.check({"share/man/man1/ladle.1.gz", "share/doc/ladle/LICENSE", "share/doc/ladle/examples/grafana/dashboard.json"} <= set(listed), "with all that belongs to it")
for name in listed:
    (place / name).unlink()
tally.check(not [file for file in place.rglob("*") if file.is_file()], "and goes without a trace")

if chosen.long:
    other = pathlib.Path(scratch(), "another-folder")
    shutil.copytree(ROOT, other, symlinks=True, ignore=shutil.ignore_patterns(".build", ".git"))
    builds = []
    for folder in (ROOT, other):
        done = run("make", "-s", "program", cwd=folder)
        tally.check(done.returncode == 0, f"make program in {folder}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
        builds.append((folder / ".build/ladle").read_bytes())
        print(f"{folder}: {hashlib.sha256(builds[-1]).hexdigest()}", flush=True)
    tally.check(builds[0] == builds[1], "two builds of one source, the same bytes")
    segments = run("readelf", "-lW", ROOT / ".build/ladle").stdout
    tally.check("GNU_RELRO" in segments, f"its relocations are read-only after the start: {segments}")

tally.end()
