"""Where it listens besides TCP: Unix sockets with their mode, owner, lock and peers, sockets a service manager hands over, and
several of all these at once."""

import grp
import os
import pathlib
import pwd
import signal
import socket
import stat
import subprocess
import threading
import time

import raw_http
from harness import LADLE, SANITIZER, Serve, Tally, options, run_ladle, scratch, until

options()
tally = Tally()
folder = pathlib.Path(scratch())
folder.chmod(0o755)
is_root = os.getuid() == 0


def ask(path):
    """The status over a Unix socket, or the name of the failure."""
    try:
        return raw_http.ask(raw_http.unix(str(path), 20), "GET", "/v1/status", "localhost").status
    except OSError as fault:
        return type(fault).__name__


def refused(*arguments, env=None):
    done = run_ladle("serve", "--demo", "--state", scratch(), *arguments, env=env)
    return done.returncode, done.stderr


def facts(path):
    found = os.lstat(path)
    return stat.S_ISSOCK(found.st_mode), found.st_mode & 0o777, found.st_uid, found.st_gid


# Mode, whatever the mask; the control socket stays private
api = folder / "api.sock"
for mode in (None, "600", "660", "666"):
    for mask in (0o000, 0o077):
        server = Serve("--listen", f"127.0.0.1:0,unix:{api}", *(["--unix-mode", mode] if mode else []), umask=mask)
        tally.check(facts(api)[:2] == (True, int(mode or "600", 8)), f"mode {mode} under mask {mask:o}: {facts(api)}")
        tally.check(facts(pathlib.Path(server.state) / "ladle.sock")[:2] == (True, 0o600), "the control socket is the owner's")
        tally.check(ask(api) == 200, "its owner is served without a token")
        tally.check(server.stop() == 0 and not api.exists(), "it is gone at the end")
for mode in ("777", "0", "x"):
    code, text = refused("--listen", f"unix:{api}", "--unix-mode", mode)
    tally.check(code in (64, 78) and "unix.mode" in text, f"mode {mode}: {code} {text}")

# Owner
mine = pwd.getpwuid(os.getuid())
for text in (f"{mine.pw_name}", f":{grp.getgrgid(os.getgid()).gr_name}", f"{os.getuid()}:{os.getgid()}"):
    server = Serve("--listen", f"127.0.0.1:0,unix:{api}", "--unix-owner", text)
    tally.check(facts(api)[2:] == (os.getuid(), os.getgid()), f"owner {text}: {facts(api)}")
    server.stop()
for text in ("nobody-of-that-name", ":no-group-of-that-name", ":"):
    code, said = refused("--listen", f"unix:{api}", "--unix-owner", text)
    tally.check(code == 78 and "unix.owner" in said, f"owner {text}: {code} {said}")
if is_root:
    other = pwd.getpwnam("nobody")
    server = Serve("--listen", f"127.0.0.1:0,unix:{api}", "--unix-owner", f"{other.pw_name}:{grp.getgrgid(other.pw_gid).gr_name}", "--unix-mode", "660")
    tally.check(facts(api) == (True, 0o660, other.pw_uid, other.pw_gid), f"given to nobody: {facts(api)}")

    def as_nobody(path, token=None):
        """The status another user gets; its name when it may not even connect."""
        child = "import http.client, socket, sys\nc = http.client.HTTPConnection('localhost')\nc.sock = socket.socket(socket.AF_UNIX)\n" \
                "try:\n    c.sock.connect(sys.argv[1])\nexcept OSError as fault:\n    print(type(fault).__name__)\n    sys.exit()\n" \
                "c.request('GET', '/v1/status', headers=dict(a.split('=', 1) for a in sys.argv[2:]))\nprint(c.getresponse().status)"
        fields = [f"Authorization=Bearer {token}"] if token else []
        done = subprocess.run(["python3", "-c", child, str(path), *fields], capture_output=True, text=True, timeout=20, user=other.pw_uid, group=other.pw_gid, extra_groups=[])
        return done.stdout.strip() or done.stderr[-200:]

    tally.check(as_nobody(api) == "401", f"another user who may connect still needs a token: {as_nobody(api)}")
    tally.check(as_nobody(api, server.token) == "200", "and is served with one")
    server.stop()
    server = Serve("--listen", f"127.0.0.1:0,unix:{api}")
    tally.check(as_nobody(api, server.token) == "PermissionError", "a private socket cannot be reached by others")
    server.stop()
    # Who is not root cannot give a socket away.
    own = folder / "own"
    own.mkdir()
    os.chown(own, other.pw_uid, other.pw_gid)
    done = subprocess.run([LADLE, "serve", "--demo", "--state", own / "state", "--listen", f"unix:{own}/s", "--unix-owner", "root"],
                          capture_output=True, text=True, timeout=20, user=other.pw_uid, group=other.pw_gid, extra_groups=[],
                          env={"HOME": str(own), "PATH": os.environ["PATH"], **SANITIZER})
    tally.check(done.returncode == 77 and "unix.owner" in done.stderr, f"a socket that cannot be given away: {done.returncode} {done.stderr}")

# What is left behind is taken over; what is in use, or no socket, is not
server = Serve("--listen", f"127.0.0.1:0,unix:{api}")
before = os.lstat(api).st_ino
code, text = refused("--listen", f"unix:{api}")
tally.check(code == 69 and "in use" in text, f"a socket in use: {code} {text}")
tally.check(os.lstat(api).st_ino == before and ask(api) == 200, "it is still the first one's")
server.kill(signal.SIGKILL)
tally.check(api.exists() and ask(api) == "ConnectionRefusedError", "killed, it leaves its socket behind")
server = Serve("--listen", f"127.0.0.1:0,unix:{api}")
tally.check(ask(api) == 200, "the next one takes it over")
tally.check(server.stop() == 0, "and ends as it should")
stray = socket.socket(socket.AF_UNIX)
stray.bind(str(api))
stray.close()
server = Serve("--listen", f"127.0.0.1:0,unix:{api}")
tally.check(ask(api) == 200, "a stray socket without a lock is taken over")
server.stop()
# A place that is named twice is one.
server = Serve("--listen", f"unix:{api}", "--listen", f"unix:{api}", "--listen", "127.0.0.1:0")
tally.check(ask(api) == 200 and server.output.count(f"listening on {api}") == 1, f"a place named twice: {server.output}")
server.stop()
# Another program's, which knows nothing of locks; a datagram socket; and the control socket of another Ladle.
with socket.socket(socket.AF_UNIX) as listening, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as bound:
    for name, one in (("listening", listening), ("bound", bound)):
        one.bind(str(folder / name))
    listening.listen()
    server = Serve()
    for path in (folder / "listening", folder / "bound", pathlib.Path(server.state) / "ladle.sock"):
        before = os.lstat(path).st_ino
        code, text = refused("--listen", f"unix:{path}")
        tally.check(code == 69 and "in use" in text and os.lstat(path).st_ino == before, f"{path.name} of another program: {code} {text}")
    tally.check(ask(pathlib.Path(server.state) / "ladle.sock") == 200, "the other Ladle is still at its control socket")
    server.stop()
(folder / "file").write_text("precious")
(folder / "link").symlink_to(folder / "file")
for name in ("file", "link", "."):
    code, text = refused("--listen", f"unix:{folder / name}")
    tally.check(code == 69 and "not a socket" in text, f"{name} in the way: {code} {text}")
tally.check((folder / "file").read_text() == "precious" and (folder / "link").is_symlink(), "what is no socket is left alone")
for path in ("relative", f"{folder}/{'x' * 120}", f"{folder}/missing/s"):
    code, text = refused("--listen", f"unix:{path}")
    tally.check(code in (69, 77, 78) and text, f"{path[-20:]}: {code} {text}")
# Twelve that start at once on one socket: one of them has it.
racers = [subprocess.Popen([LADLE, "serve", "--demo", "--state", scratch(), "--listen", f"unix:{api}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(12)]
until(lambda: sum(one.poll() is not None for one in racers) == 11, 30, what="eleven that give up")
time.sleep(0.3)
alive = [one for one in racers if one.poll() is None]
tally.check(len(alive) == 1 and all(one.returncode == 69 for one in racers if one not in alive), f"{len(alive)} of twelve serve")
tally.check(ask(api) == 200, "that one answers")
for one in alive:
    one.send_signal(signal.SIGTERM)
    one.wait(10)


# Sockets of a service manager
class Activated:
    """`ladle serve` with these listening sockets as descriptors 3 and on, the way systemd starts it."""

    def __init__(self, sockets, *arguments, names=None, pid=None):
        self.state = scratch()
        read, write = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                moved = [os.dup2(os.dup(one.fileno()), 100 + number) for number, one in enumerate(sockets)]
                os.dup2(write, 1)
                os.dup2(write, 2)
                for number, one in enumerate(moved):
                    os.dup2(one, 3 + number, inheritable=True)
                os.closerange(3 + len(moved), 300)
                env = {**os.environ, "LISTEN_FDS": str(len(sockets)), "LISTEN_PID": str(pid or os.getpid())}
                if names:
                    env["LISTEN_FDNAMES"] = ":".join(names)
                os.execve(LADLE, [LADLE, "serve", "--demo", "--state", self.state, *arguments], env)
            finally:
                os._exit(127)
        os.close(write)
        self.file, self.text, self.code = os.fdopen(read, "rb"), "", None
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.file:
            self.text += line.decode()

    def stop(self, number=signal.SIGTERM):
        if number:
            os.kill(self.pid, number)
        end = time.monotonic() + 10
        while time.monotonic() < end:
            done, status = os.waitpid(self.pid, os.WNOHANG)
            if done:
                self.reader.join(5)
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.01)
        os.kill(self.pid, signal.SIGKILL)
        return os.waitpid(self.pid, 0)[1]


def tcp():
    made = socket.create_server(("127.0.0.1", 0))
    return made, made.getsockname()[1]


def unix(name):
    made = socket.socket(socket.AF_UNIX)
    made.bind(str(folder / name))
    made.listen(64)
    return made, folder / name


def over_tcp(port):
    try:
        return raw_http.ask(raw_http.tcp("127.0.0.1", port), "GET", "/v1/status", f"127.0.0.1:{port}").status
    except OSError as fault:
        return type(fault).__name__


(first, port), (second, other_port), (third, path) = tcp(), tcp(), unix("handed.sock")
waiting = socket.create_connection(("127.0.0.1", port))
waiting.sendall(f"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n".encode())
run = Activated([first, second, third], names=["http", "http", "local"])
waiting.settimeout(10)
tally.check(waiting.recv(4096).startswith(b"HTTP/1.1 200"), "who connected before the start is served")
tally.check(over_tcp(port) == 200 and over_tcp(other_port) == 200 and ask(path) == 200, "two TCP sockets and a Unix socket are taken over")
until(lambda: run.text.count("listening on") == 4, what="four places: three handed over, and the control socket")
tally.check(":18780" not in run.text, "they take the place of the default listener")
tally.check(run.stop() == 0 and path.exists(), "a socket of the service manager stays behind")
waiting = socket.create_connection(("127.0.0.1", port))
waiting.sendall(f"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n".encode())
run = Activated([first, third], "--listen", "fd:web,127.0.0.1:0", names=["web", "other"])
waiting.settimeout(10)
tally.check(waiting.recv(4096).startswith(b"HTTP/1.1 200"), "who comes between two runs waits and is served")
until(lambda: run.text.count("listening on") == 3, what="three places")
tally.check(run.stop() == 0, "it ends as it should")
run = Activated([first], "--listen", "127.0.0.1:0", names=["http"])
until(lambda: "listening on http://127.0.0.1:" in run.text, what="the configured place")
tally.check(f":{port}" not in run.text and run.stop() == 0, "a listener that is configured is the one that counts")
run = Activated([first], "--listen", "fd:", pid=1)
code = run.stop(None)
tally.check(code == 78 and "LISTEN_FDS" in run.text, f"sockets meant for another process: {code} {run.text}")
plain = socket.socket()
run = Activated([plain])
code = run.stop(None)
tally.check(code == 78 and "does not listen" in run.text, f"a socket that does not listen: {code} {run.text}")
outside = socket.create_server(("0.0.0.0", 0))
run = Activated([outside])
code = run.stop(None)
tally.check(code == 78 and "insecure-lan" in run.text, f"a public socket without TLS: {code} {run.text}")

# Several at once
paths = [folder / f"many{number}" for number in range(5)]
server = Serve("--listen", ",".join(["127.0.0.1:0"] * 4 + ["[::1]:0"] * (1 if socket.has_ipv6 else 0) + [f"unix:{one}" for one in paths]))
until(lambda: len([line for line in server.lines if "listening on http://127" in line]) == 5)
ports = [int(line.rsplit(":", 1)[1]) for line in server.lines if "listening on http://127" in line]
tally.check(all(over_tcp(one) == 200 for one in ports) and all(ask(one) == 200 for one in paths), "eleven listeners at once")
tally.check(server.stop() == 0 and not any(one.exists() for one in paths), "all gone at the end")
tally.end()
