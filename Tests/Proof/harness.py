"""Starts the built programs and speaks to them, for every check in this folder. Standard library only."""

import argparse
import atexit
import fcntl
import http.client
import json
import math
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
# What a program built with a sanitizer needs; without one nothing. Its records count as its memory too.
SANITIZER = {name: os.environ[name] for name in ("ASAN_OPTIONS", "TSAN_OPTIONS", "LD_PRELOAD") if os.environ.get(name)}
# Units and other folders want the whole path.
LADLE = os.path.abspath(os.environ.get("LADLE") or ROOT / ".build/debug/ladle")


def faulty_gateway():
    """The demo gateway with faults: FAULTY_GATEWAY, or the one built beside LADLE, or the debug build, made if missing."""
    beside = pathlib.Path(LADLE).with_name("faulty-gateway")
    built = ROOT / ".build/debug/faulty-gateway"
    if named := os.environ.get("FAULTY_GATEWAY"):
        return os.path.abspath(named)
    if beside.exists():
        return str(beside)
    if not built.exists():
        subprocess.run(["swift", "build", "--product", "faulty-gateway"], cwd=ROOT, check=True)
    return str(built)


def options(**extra):
    """The arguments every check takes: --long for the form `make proof` runs; `extra` adds options of the kind of their values."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--long", action="store_true", help="the form of make proof")
    for name, (short, long) in extra.items():
        parser.add_argument(f"--{name}", type=type(short), help=f"{short!r} in the short form, {long!r} in the long one")
    chosen = parser.parse_args()
    for name, (short, long) in extra.items():
        if getattr(chosen, name) is None:
            setattr(chosen, name, long if chosen.long else short)
    return chosen


def on_terminal(command, columns=80, env=None, keys=None, seconds=30, leave_at=None, answers=()):
    """A command on a pseudo-terminal so many columns wide: its exit code and the bytes it wrote. `keys` are typed at once; Ctrl-C is
    typed when `leave_at` has been shown; `answers` are pairs of what is shown and the keys then typed by one who has read it."""
    answers = list(answers)
    pid, descriptor = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        os.environ.update({"TERM": "xterm-256color", **(env or {})})
        os.execv(command[0], ["ladle", *command[1:]])
    out = b""
    end = time.monotonic() + seconds
    if keys:
        os.write(descriptor, keys)
    while time.monotonic() < end:
        if select.select([descriptor], [], [], 0.1)[0]:
            try:
                out += os.read(descriptor, 1 << 16)
            except OSError:
                break
            if leave_at and leave_at.encode() in out:
                os.write(descriptor, b"\x03")
                leave_at = None
            if answers and answers[0][0].encode() in out:
                time.sleep(0.6)
                os.write(descriptor, answers.pop(0)[1])
    else:
        os.kill(pid, signal.SIGKILL)
    ended = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    # Whoever takes single keys gives the terminal back.
    lines = termios.ICANON | termios.ECHO
    assert termios.tcgetattr(descriptor)[3] & lines == lines, f"the terminal is left without lines or echo by {command}"
    os.close(descriptor)
    return ended, out


class Tally:
    """Counts what held; `end` prints the one line `run` reads and leaves with the exit code."""

    def __init__(self):
        self.passed = 0
        self.failures = []

    def check(self, holds, what):
        if holds:
            self.passed += 1
        else:
            self.failures.append(what)
            print(f"FAILED: {what}", flush=True)
        return holds

    def end(self):
        print(f"{self.passed} passed, {len(self.failures)} failed", flush=True)
        sys.exit(1 if self.failures or not self.passed else 0)


def percentile(samples, share):
    """The sample that so many hundredths of them do not pass."""
    return sorted(samples)[max(0, math.ceil(len(samples) * share / 100) - 1)]


def later(seconds=86_400):
    """A time from now, as the API takes it."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + seconds))


def json_lines(path):
    """The values of a file with one a line; none where there is no file yet."""
    return [json.loads(line) for line in pathlib.Path(path).read_text().splitlines()] if os.path.exists(path) else []


def run_ladle(*words, env=None, timeout=60, **more):
    """One command of the program, to its end. `env` is added to the environment."""
    return subprocess.run([LADLE, *words], capture_output=True, text=True, timeout=timeout, env={**os.environ, **(env or {})}, **more)


def until(condition, seconds=20, every=0.01, what="the condition"):
    """Polls for a condition; its value, or TimeoutError naming what did not come (`what` may be asked for it then)."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(every)
    raise TimeoutError(f"{what() if callable(what) else what} did not come within {seconds} s")


def cpu(pid):
    """What its threads have run so far, in seconds: to the nanosecond, where the process's own figures count in ticks."""
    return sum(int(file.read_text().split()[0]) for file in pathlib.Path(f"/proc/{pid}/task").glob("*/schedstat")) / 1e9


def cost(pid, url, requests, *more):
    """Microseconds of a processor that a server takes for one request of h2load's."""
    before = cpu(pid)
    done = subprocess.run(["h2load", "-n", str(requests), "-c", "8", "-t", "1", *more, url], capture_output=True, text=True, timeout=300)
    good = re.search(r"status codes: (\d+) 2xx", done.stdout)
    assert good and int(good[1]) == requests, done.stdout + done.stderr
    return (cpu(pid) - before) / requests * 1e6


class Stopwatch:
    """Seconds since it was made, less those in which this process or one of the programs was ready to run and others had the processors:
    the kernel counts that for each thread, and of a process the thread that was kept longest counts. So a bar over it holds beside other
    work too."""

    def __init__(self, *programs):
        self.processes = [os.getpid(), *(program.process.pid for program in programs)]
        self.start, self.before = time.monotonic(), self._threads()

    def _threads(self):
        """Nanoseconds that each thread was kept waiting, by process."""
        found = {}
        for process in self.processes:
            found[process] = threads = {}
            for file in pathlib.Path(f"/proc/{process}/task").glob("*/schedstat"):
                try:
                    threads[file] = int(file.read_text().split()[1])
                except OSError:
                    pass  # the thread has ended
        return found

    @property
    def kept(self):
        return sum(max((kept - self.before[process].get(file, 0) for file, kept in threads.items()), default=0)
                   for process, threads in self._threads().items()) / 1e9

    @property
    def seconds(self):
        return time.monotonic() - self.start - self.kept


class NotStarted(RuntimeError):
    """A program that ended, or was ended, before it was of use: its exit code and what it said."""

    def __init__(self, command, code, output):
        super().__init__(f"{' '.join(map(str, command))} did not start, exit {code}:\n{output}")
        self.code, self.output = code, output


class Program:
    """One run of the binary, or of another `program`. `ready` is the pattern of the output line after which it is of use;
    `prefix` is a command that executes it."""

    def __init__(self, arguments, ready, env=None, cwd=None, prefix=(), program=None, **more):
        self.lines = []
        self.match = None
        self._seen = threading.Event()
        self.process = subprocess.Popen(
            [*prefix, program or LADLE, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
            text=True, cwd=cwd, env={**os.environ, "SWIFT_BACKTRACE": "enable=no", **(env or {})}, **more)
        atexit.register(self.kill)
        threading.Thread(target=self._read, args=(re.compile(ready),), daemon=True).start()
        if not self._seen.wait(30) or self.match is None:
            try:
                # Its output has ended, so it ends too.
                self.process.wait(5 if self._seen.is_set() else 0)
            except subprocess.TimeoutExpired:
                self.kill()
            raise NotStarted([program or LADLE, *arguments], self.process.returncode, self.output)

    def _read(self, ready):
        for line in self.process.stdout:
            self.lines.append(line)
            found = ready.search(line)
            if found and self.match is None:
                self.match = found
                self._seen.set()
        self._seen.set()
        # Here, because the program is kept for the end of the check: one that starts a thousand would run out of descriptors.
        self.process.stdout.close()

    @property
    def output(self):
        return "".join(self.lines)

    def kill(self, number=signal.SIGKILL):
        if self.process.poll() is None:
            self.process.send_signal(number)
            self.process.wait(20)

    def stop(self):
        """SIGTERM, and the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(20)

    def resident(self):
        """Resident memory in bytes (Linux)."""
        return self.memory("VmRSS")

    def allocated(self):
        """The part of it that the program has allocated: pages of its file come and go as the kernel likes."""
        return self.memory("RssAnon")

    def memory(self, kind):
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith(kind + ":"):
                return int(line.split()[1]) * 1024
        return 0

    def cpu(self):
        return cpu(self.process.pid)

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))


def routes():
    """(operation, method, path) of every row of the program's route table; the rows stand beside their handlers."""
    text = "".join(path.read_text() for path in sorted((ROOT / "Sources/API").rglob("*.swift")))
    found = re.findall(r'\bRoute\(\s*"(\w+)",\s*\.(\w+),\s*"([^"]+)"', text)
    assert len(found) >= 35 and len(found) == len(re.findall(r"\bRoute\(", text))
    return found


def scratch():
    """A directory that goes with the process."""
    path = tempfile.mkdtemp(prefix="ladle-proof-")
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


def outside_address():
    """An IPv4 address of this host that is not loopback's, or None."""
    return next((one for one in subprocess.run(["hostname", "-I"], capture_output=True, text=True).stdout.split() if "." in one), None)


def on_small_disk(folder, size):
    """The command before a program that gives it a small disk of its own at this folder, or None where the system does not let us."""
    mounted = ["unshare", "--mount", "--map-root-user"]
    if subprocess.run([*mounted, "true"], capture_output=True).returncode:
        return None
    return [*mounted, "sh", "-c", f'mount -t tmpfs -o size={size},mode=700 tmpfs "{folder}" && exec "$@"', "sh"]


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class Serve(Program):
    """`ladle serve` on a free port of loopback, with the demo gateway unless another is named, or following another one. One that speaks
    TLS is asked with `trust`, as its owner. One that waits for the lease of a database has no port yet, and needs to be given one."""

    def __init__(self, *arguments, state=None, gateway=None, follow=None, port=0, env=None, trust=None, **more):
        self.state, self.trust = state or scratch(), trust
        self.arguments, self.more = arguments, {"env": env, "trust": trust, "follow": follow, **more}
        self.gateway, self.leader = gateway, follow
        chosen = ["serve", "--state", self.state, "--listen", f"127.0.0.1:{port}"]
        if follow:
            file = pathlib.Path(self.state) / "leader-token"
            file.write_text(follow.token)
            file.chmod(0o600)
            chosen += ["--follow", follow.url, "--follow-token-file", str(file)]
        else:
            chosen += ["--gateway", gateway] if gateway else ["--demo", "--demo-speed", "0"]
        if gateway and "--token-file" not in arguments:
            # The demo gateway's token is no secret and the same everywhere.
            file = pathlib.Path(self.state) / "gateway-token"
            file.write_text("demo-token\n")
            file.chmod(0o600)
            chosen += ["--token-file", str(file)]
        super().__init__([*chosen, *arguments], r"listening on https?://127\.0\.0\.1:(\d+)|this host waits", env, **more)
        self.port = int(self.match.group(1) or port)
        self.url = f"http{'s' if trust else ''}://127.0.0.1:{self.port}"

    def again(self):
        """Another process in the place of this one, which has ended: the same state, gateway and port."""
        return Serve(*self.arguments, state=self.state, gateway=self.gateway, port=self.port, **self.more)

    @property
    def token(self):
        """The first run's admin token."""
        folder = pathlib.Path(self.state)
        for file in (folder / "demo" / "admin-token", folder / "admin-token"):
            if file.exists():
                return file.read_text().strip()
        raise FileNotFoundError("admin-token")

    def call(self, method, path, body=None, headers=None, timeout=30):
        """One request on its own connection: status, fields by lower-case name, body bytes."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        if self.trust:
            connection = http.client.HTTPSConnection("localhost", self.port, timeout=timeout, context=self.trust)
            headers = {"Authorization": f"Bearer {self.token}", **(headers or {})}
        try:
            if isinstance(body, (dict, list)):
                body = json.dumps(body).encode()
                headers = {"Content-Type": "application/json", **(headers or {})}
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
        finally:
            connection.close()

    def json(self, method, path, body=None, headers=None):
        status, _, bytes_ = self.call(method, path, body, headers)
        return status, json.loads(bytes_ or b"null")

    def status(self):
        return self.json("GET", "/v1/status")[1]

    def link(self):
        return self.status()["link"]

    def linked(self, state="online"):
        """Waits until the link to the gateway is up, or in another state."""
        until(lambda: self.link()["state"] == state, what=f"a link that is {state}")
        return self

    def unlinked(self):
        """Waits until the loss of the link has been noticed."""
        until(lambda: self.link()["state"] != "online", what="the loss of the link")

    def following(self, state="live"):
        """Waits until the leader's stream is open, or until it stands otherwise."""
        until(lambda: self.json("GET", "/v1/cluster")[1]["state"] == state, what=f"a follower that is {state}")
        return self

    def is_at_rest(self):
        """Linked, and no message waits and no run goes on."""
        status = self.status()
        return status["link"]["state"] == "online" and not status["outbox"]["pending"] and not status["runs"]["active"]

    def at_rest(self, seconds=60):
        until(self.is_at_rest, seconds, 0.05, lambda: "an empty outbox and the end of all runs; there are "
              f"{self.json('GET', '/v1/outbox?state=queued,sending,retrying,accepted,unconfirmed')[1]} and {self.json('GET', '/v1/activity')[1]}")
        return self

    def metric(self, name):
        """The sum of all series of this name."""
        page = self.call("GET", "/metrics")[2].decode()
        return sum(float(value) for value in re.findall(rf"^{name}(?:\{{.*\}})? (\S+)$", page, re.M))

    def make_token(self, name, *scopes, **more):
        """A new token, as the answer has it."""
        status, made = self.json("POST", "/v1/tokens", {"name": name, "scopes": list(scopes), **more})
        assert status == 201, made
        return made


class DemoGateway(Program):
    """`ladle demo-gateway` as a process of its own."""

    def __init__(self, *arguments, port=0):
        super().__init__(
            ["demo-gateway", "--port", str(port), "--speed", "0", *arguments], r"(ws://127\.0\.0\.1:(\d+)), token (\S+)")
        self.arguments = arguments
        self.url = self.match.group(1)
        self.port = int(self.match.group(2))
        self.token = self.match.group(3)

    def again(self):
        """Another process in the place of this one, which has ended."""
        return type(self)(*self.arguments, port=self.port)


class FaultyGateway(Program):
    """The demo gateway with faults, a program of the tests, controlled over `/demo/…`."""

    def __init__(self, *arguments, port=0):
        super().__init__(
            ["--port", str(port), "--speed", "0", *arguments],
            r"(ws://127\.0\.0\.1:(\d+)), token (\S+), control (\S+)", program=faulty_gateway())
        self.arguments = arguments
        self.url = self.match.group(1)
        self.port = int(self.match.group(2))
        self.token = self.match.group(3)
        self.control_url = f"{self.match.group(4)}/demo/"

    again = DemoGateway.again

    def control(self, method, path, body=None):
        """The answer's bytes, whatever its status."""
        request = urllib.request.Request(self.control_url + path, body, method=method)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.read()
        except urllib.error.HTTPError as error:
            return error.read()


class Unchunked:
    """The lines of a chunked body; torn at the end where the body is."""

    def __init__(self, file):
        self.file = file
        self.rest = b""

    def readline(self):
        while b"\n" not in self.rest:
            size = int(self.file.readline().split(b";")[0] or b"0", 16)
            piece = self.file.read(size) if size else b""
            self.file.readline()
            if not piece:
                line, self.rest = self.rest, b""
                return line
            self.rest += piece
        line, _, self.rest = self.rest.partition(b"\n")
        return line + b"\n"

    def close(self):
        self.file.close()


def events_of(file, form="text/event-stream", problems=None):
    """The events of a body, as (id, event, data); a torn last one is dropped, as the standard says."""
    block, problems = {}, problems if problems is not None else []
    while True:
        try:
            line = file.readline()
        except ValueError:
            return  # closed by another thread while it was read
        if not line.endswith(b"\n"):
            return
        line = line.rstrip(b"\n").decode()
        if form == "application/x-ndjson":
            if line:
                data = json.loads(line)
                yield data.get("id"), data["type"], data
        elif line.startswith(":"):
            pass
        elif line:
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            block[name] = block["data"] + "\n" + value if name == "data" and "data" in block else value
        elif "data" in block:
            data = json.loads(block["data"])
            if block.get("event") != data["type"] or block.get("id", data.get("id")) != data.get("id"):
                problems.append(f"fields and data differ: {block}")
            yield block.get("id"), block.get("event", "message"), data
            block = {}
        elif block:
            problems.append(f"a block without data: {block}")
            block = {}


class EventStream:
    """A reader of events that keeps what the wire said, in either form: (id, event, data); what is no such event is in `problems`."""

    def __init__(self, server, query="", last_id=None, timeout=30, accept="text/event-stream"):
        self.problems = []
        self.socket = socket.create_connection(("127.0.0.1", server.port), timeout)
        head = f"GET /v1/events{query} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nAccept: {accept}\r\n"
        if last_id:
            head += f"Last-Event-ID: {last_id}\r\n"
        self.socket.sendall((head + "\r\n").encode())
        self.file = self.socket.makefile("rb")
        line = self.file.readline().split()
        if len(line) < 2:
            raise ConnectionResetError("no answer")
        self.status = int(line[1])
        self.fields = {}
        while (line := self.file.readline().strip()):
            name, _, value = line.decode().partition(":")
            self.fields[name.lower()] = value.strip()
        if self.fields.get("transfer-encoding") == "chunked":
            self.file = Unchunked(self.file)

    def __iter__(self):
        """Blocks until the stream ends."""
        return events_of(self.file, self.fields.get("content-type"), self.problems)

    def close(self):
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.file.close()
        self.socket.close()
