"""What is downloaded, on the systems that it is for: Debian 12 and 13, Ubuntu 22.04 and 24.04, as debootstrap makes them. The tarball's program
serves there with nothing installed for it. The package comes from the signed apt repository, finds every symbol in the libraries of
that release, answers a message over HTTP/2, is upgraded, removed and purged. Before that a newcomer has nothing but the bare system and the
downloaded file, and the seconds to the first answer are printed. ROOTS names a folder with such systems; else they are
made in .build/roots. One that cannot be had is named, and not counted."""

import os
import pathlib
import re
import shutil
import subprocess
import time

from guest import Root
from harness import ROOT, Program, Tally, options, scratch

options()
tally = Tally()
SYSTEMS = {"bookworm": "debian", "trixie": "debian", "jammy": "ubuntu", "noble": "ubuntu"}
MIRRORS = {"debian": "http://deb.debian.org/debian", "ubuntu": "http://archive.ubuntu.com/ubuntu"}
ROOTS = pathlib.Path(os.environ.get("ROOTS") or ROOT / ".build/roots")
DIST = ROOT / ".build/dist"


def run(*words, **more):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, **more)


def system(name):
    """The folder of a fresh system, or None. It has no security updates: whoever installs Ladle may have none either."""
    folder = ROOTS / name
    if folder.exists():
        return folder
    # Scripts of older debootstraps do not know the newest names; they are the same.
    family = SYSTEMS[name]
    script = {"debian": "bookworm", "ubuntu": "jammy"}[family]
    ROOTS.mkdir(parents=True, exist_ok=True)
    done = run("debootstrap", "--variant=minbase", f"--keyring=/usr/share/keyrings/{family}-archive-keyring.gpg", name, ROOTS / f"{name}.part",
               MIRRORS[family], f"/usr/share/debootstrap/scripts/{script}")
    if done.returncode:
        shutil.rmtree(ROOTS / f"{name}.part", ignore_errors=True)
        print(f"distributions: no {name} here, not checked: {(done.stdout + done.stderr).strip()[-300:]}", flush=True)
        return None
    return (ROOTS / f"{name}.part").rename(folder)


def upgraded(repository, version):
    """The same package as the next version, in the repository instead of it."""
    (old,) = repository.glob("*.deb")
    tree = pathlib.Path(scratch(), "tree")
    run("dpkg-deb", "-R", old, tree)
    control = tree / "DEBIAN/control"
    control.write_text(control.read_text().replace(f"Version: {version}", "Version: 999.0.0"))
    run("dpkg-deb", "--root-owner-group", "-Znone", "-b", tree, repository / "ladle_999.0.0_all.deb")
    old.unlink()
    index(repository)


def index(repository):
    done = run(ROOT / "deploy/apt", repository, env={**os.environ, "SIGN_KEY": "ladle@check.invalid", "SOURCE_DATE_EPOCH": "1795248000"})
    tally.check(done.returncode == 0, f"deploy/apt: {done}")


def converses(root, program, what):
    """It serves there, and a message over HTTP/2 is answered."""
    state = root.run("mktemp", "-d").stdout.strip()
    serving = Program([program, "serve", "--demo", "--demo-speed", "0", "--state", state, "--listen", "127.0.0.1:0"],
                      r"listening on http://127\.0\.0\.1:(\d+)", program="env", prefix=root.command())
    for version in ("--http1.1", "--http2-prior-knowledge"):
        said = run("curl", "-sS", "-m", "30", version, "-H", "Accept: text/plain", "-d", "hello", f"http://127.0.0.1:{serving.match[1]}/v1/messages?wait=30")
        tally.check("You said: hello" in said.stdout, f"{what}: a message by {version}: {said} {serving.output}")
    tally.check(serving.process.poll() is None, f"{what}: it stays up: {serving.output}")
    serving.kill()


def bare(name):
    root = Root(scratch())
    subprocess.run(["cp", "-a", f"{system(name)}/.", root.folder], check=True)
    shutil.copy("/etc/resolv.conf", root.folder / "etc/resolv.conf")
    return root, root.run("sh", "-c", ". /etc/os-release; echo $PRETTY_NAME").stdout.strip()


def walk(name):
    """From nothing to the first answer, with the lines that README has, and no other program: no curl, no systemd."""
    root, release = bare(name)
    package = next(DIST.glob("*.deb"))
    shutil.copy(package, root.folder / "srv")
    begun = time.monotonic()
    done = root.run("apt-get", "-q", "update"), root.run("apt-get", "-q", "-y", "install", "--no-install-recommends", f"/srv/{package.name}")
    if not tally.check(not any(one.returncode for one in done), f"{release}: apt install ./{package.name}: {done}"):
        return
    installed = time.monotonic()
    state = root.run("mktemp", "-d").stdout.strip()
    serving = Program(["ladle", "serve", "--demo", "--state", state, "--listen", "127.0.0.1:0"], r"listening on http", program="env",
                      prefix=root.command())
    said = root.run("ladle", "send", "--socket", f"{state}/ladle.sock", "--wait", "hello")
    answered = time.monotonic()
    serving.kill()
    tally.check("You said: hello" in said.stdout, f"{release}: the first answer: {said} {serving.output}")
    print(f"distributions: {release}: from nothing to the first answer {answered - begun:.0f} s, of them {installed - begun:.0f} s apt",
          flush=True)


def check(name):
    root, release = bare(name)
    repository = root.folder / "srv/ladle"
    shutil.copytree(DIST / "apt", repository)
    index(repository)
    version = re.search(r"_(.*?)_", next(repository.glob("*.deb")).name)[1]

    # The tarball, before anything is installed.
    done = run("tar", "-C", root.folder / "usr/local", "--strip-components=1", "-xzf", next(DIST.glob("ladle-*-linux-*.tar.gz")))
    tally.check(done.returncode == 0, f"{release}: {done}")
    shown = root.run("ladle", "version")
    tally.check(shown.stdout == f"ladle {version}\n", f"{release}: the tarball's program: {shown}")
    converses(root, "/usr/local/bin/ladle", f"{release}, tarball")
    (root.folder / "usr/local/bin/ladle").unlink()

    # The package, from the repository; its signature counts.
    (root.folder / "etc/apt/sources.list.d/ladle.list").write_text("deb [signed-by=/srv/ladle/ladle.gpg] file:/srv/ladle ./\n")
    apt = lambda *words: root.run("apt-get", "-q", "-y", *words)
    done = apt("update"), apt("install", "--no-install-recommends", "ladle")
    tally.check(not any(one.returncode for one in done) and "ladle" not in done[0].stderr, f"{release}: apt-get install ladle: {done}")
    shown = root.run("/usr/bin/ladle", "version")
    tally.check(shown.stdout == f"ladle {version}\n", f"{release}: the package's program: {shown}")
    linked = root.run("ldd", "-r", "/usr/bin/ladle")
    tally.check(linked.returncode == 0 and not re.search("undefined|not found", linked.stdout + linked.stderr), f"{release}: its symbols: {linked}")
    converses(root, "/usr/bin/ladle", f"{release}, package")
    state, settings = root.folder / "var/lib/ladle", root.folder / "etc/ladle/config.json5"
    state.mkdir(exist_ok=True)
    (state / "kept").write_text("")
    settings.write_text("{ /* an administrator's */ }\n")
    upgraded(repository, version)
    done = apt("update"), apt("upgrade")
    now = root.run("dpkg-query", "-W", "-f=${Version} ${Status}", "ladle").stdout
    tally.check(now == "999.0.0 install ok installed" and "administrator" in settings.read_text(), f"{release}: an upgrade: {now} {done}")
    done = apt("remove", "ladle")
    tally.check(done.returncode == 0 and settings.exists() and (state / "kept").exists() and not (root.folder / "usr/bin/ladle").exists(),
                f"{release}: removed, the state stays: {done}")
    done = apt("purge", "ladle")
    left = [path for path in (state, settings.parent, root.folder / "usr/share/doc/ladle") if path.exists()]
    tally.check(done.returncode == 0 and not left, f"{release}: purged: {left} {done}")

    # Nobody else's signature counts.
    (repository / "Release").write_text((repository / "Release").read_text() + "Suite: other\n")
    (repository / "InRelease").unlink()
    (root.folder / "var/lib/apt/lists").rename(root.folder / "var/lib/apt/lists-before")
    done = apt("update")
    tally.check(re.search("not signed|BADSIG|[Bb]ad signature|invalid|not valid", done.stderr), f"{release}: a changed repository: {done}")
    print(f"distributions: {release}", flush=True)


if os.geteuid():
    print("distributions: not checked here: that takes root")
    tally.end()
subprocess.run([ROOT / "deploy/packages", "debootstrap", "gpg", "dpkg-dev"], check=False)
os.environ["GNUPGHOME"] = str(keys := pathlib.Path(scratch()))
keys.chmod(0o700)
run("gpg", "--batch", "--passphrase", "", "--quick-generate-key", "ladle@check.invalid", "ed25519", "sign")
made = run(ROOT / "deploy/release", cwd=ROOT)
tally.check(made.returncode == 0, f"deploy/release: {made}")
for name in SYSTEMS:
    if system(name):
        walk(name)
        check(name)
run("gpgconf", "--kill", "all")
tally.end()
