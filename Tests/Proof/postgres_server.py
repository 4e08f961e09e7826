"""A PostgreSQL server of its own for a check, and a relay that cuts Ladle's connection to it around a commit. Standard library only."""

import atexit
import os
import pathlib
import pwd
import queue
import shutil
import socket
import struct
import subprocess
import tempfile
import threading
import time

from harness import free_port, until

# The server refuses to run as root; then it runs as this user.
USER = "postgres"


def programs():
    """The folder of the server's programs, of the newest version there is; None where no server is installed, or root has no user for it."""
    found = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"), key=lambda folder: int(folder.parent.name.split(".")[0]))
    beside = shutil.which("pg_ctl")
    for folder in [*reversed(found), *([pathlib.Path(beside).resolve().parent] if beside else [])]:
        if all((folder / name).exists() for name in ("initdb", "pg_ctl", "postgres", "psql")) and (os.geteuid() or has_user()):
            return folder
    return None


def has_user():
    try:
        return bool(pwd.getpwnam(USER) and shutil.which("runuser"))
    except KeyError:
        return False


def available():
    return programs() is not None


class PostgresServer:
    """A server on a free port of loopback and on a Unix socket, with the database `ladle` and its owner, who needs no password.
    `settings` are lines of its configuration; `tls` is the name in its certificate. It ends with the process."""

    def __init__(self, *settings, hba=None, tls=None):
        # Short: the path of a socket has at most 107 bytes.
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="ladle-pg-", dir="/tmp"))
        self.data = self.folder / "data"
        self.port = free_port()
        atexit.register(self.remove)
        if not os.geteuid():
            shutil.chown(self.folder, USER)
        self.run("initdb", "-D", self.data, "-U", "ladle", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        if tls:
            self.certificate = self.make_certificate("server", tls)
            settings += "ssl = on", f"ssl_cert_file = '{self.certificate}'", f"ssl_key_file = '{self.certificate.with_suffix('.key')}'"
        with (self.data / "postgresql.conf").open("a") as file:
            file.write("\n".join([
                f"port = {self.port}", f"unix_socket_directories = '{self.folder}'", "listen_addresses = '127.0.0.1'",
                "max_connections = 30", "shared_buffers = 16MB", *settings, ""]))
        if hba:
            (self.data / "pg_hba.conf").write_text(hba)
        self.start()
        self.psql("CREATE DATABASE ladle", database="postgres")

    def run(self, program, *words):
        """One of the server's programs, as the server's user."""
        before = [] if os.geteuid() else ["runuser", "-u", USER, "--"]
        done = subprocess.run([*before, str(programs() / program), *map(str, words)], cwd="/", capture_output=True, text=True, timeout=120)
        if done.returncode:
            log = self.folder / "log"
            raise RuntimeError(f"{program}: {done.stdout}{done.stderr}{log.read_text()[-2000:] if log.exists() else ''}")

    def make_certificate(self, file, name):
        """A self-signed certificate for this name, with its key beside it: its path."""
        path = self.folder / f"{file}.crt"
        key = path.with_suffix(".key")
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}",
             "-addext", f"subjectAltName=DNS:{name}", "-keyout", str(key), "-out", str(path)], check=True, capture_output=True)
        key.chmod(0o600)
        if not os.geteuid():
            shutil.chown(key, USER)
        return path

    def control(self, *words):
        self.run("pg_ctl", "-D", self.data, "-l", self.folder / "log", "-s", "-w", "-t", "60", *words)

    def start(self):
        self.control("start")

    def stop(self, mode="fast"):
        self.control("stop", "-m", mode)

    def restart(self, mode="immediate"):
        """Comes back when the server takes connections again. `immediate` is as a crash: nothing is written any more."""
        self.control("restart", "-m", mode)

    def freeze(self, word="STOP"):
        """All its processes stop, and go on with `CONT`. Connections stay open and are answered by nobody."""
        first = (self.data / "postmaster.pid").read_text().split()[0]
        subprocess.run(["pkill", f"-{word}", "-P", first], check=False)
        subprocess.run(["kill", f"-{word}", first], check=True)

    def remove(self):
        try:
            self.freeze("CONT")  # a check that ended early may have left it so
            self.stop("immediate")
        except (OSError, subprocess.CalledProcessError, RuntimeError):
            pass  # it does not run
        shutil.rmtree(self.folder, ignore_errors=True)

    def standby(self):
        """A second server that follows this one and takes its place once it is promoted."""
        return Standby(self)

    def waits_for(self, standby):
        """From now on a commit is confirmed once the standby has it."""
        self.psql("ALTER SYSTEM SET synchronous_standby_names = '*'", database="postgres")
        self.psql("SELECT pg_reload_conf()", database="postgres")
        standby.caught_up()

    def url(self, database="ladle", user="ladle", host="127.0.0.1", port=None):
        return f"postgresql://{user}@{host}:{port or self.port}/{database}"

    def socket_url(self, database="ladle", user="ladle"):
        return f"postgresql:///{database}?host={self.folder}&port={self.port}&user={user}"

    def psql(self, sql, database="ladle"):
        """The rows, each a list of texts. Ladle's schema is searched first."""
        done = subprocess.run(
            [str(programs() / "psql"), "-XAtq", "-F", "\x1f", "-v", "ON_ERROR_STOP=1", "-h", str(self.folder), "-p", str(self.port),
             "-U", "ladle", "-d", database, "-c", "SET search_path = ladle, public", "-c", sql],
            capture_output=True, text=True, timeout=60)
        if done.returncode:
            raise RuntimeError(f"psql: {done.stderr}")
        return [line.split("\x1f") for line in done.stdout.splitlines()]

    def one(self, sql, database="ladle"):
        return self.psql(sql, database)[0][0]


class Standby(PostgresServer):
    def __init__(self, first):
        self.first = first
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="ladle-pg-", dir="/tmp"))
        self.data, self.port = self.folder / "data", free_port()
        atexit.register(self.remove)
        if not os.geteuid():
            shutil.chown(self.folder, USER)
        self.run("pg_basebackup", "-D", self.data, "-h", first.folder, "-p", first.port, "-U", "ladle", "-R", "-c", "fast", "--no-sync")
        with (self.data / "postgresql.conf").open("a") as file:
            file.write(f"\nport = {self.port}\nunix_socket_directories = '{self.folder}'\n")
        self.start()

    def caught_up(self):
        """Waits until it has all that the first one has now."""
        place = self.first.one("SELECT pg_current_wal_lsn()")
        until(lambda: self.one(f"SELECT pg_last_wal_replay_lsn() >= '{place}'") == "t", 30, what="the standby")

    def promote(self):
        self.control("promote")


class Passing:
    """Listens in front of a server and hands each client to `meet`, on a thread of its own."""

    def __init__(self, port, address="127.0.0.1"):
        self.target = port
        self.listener = socket.create_server((address, 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            threading.Thread(target=self.meet, args=(client,), daemon=True).start()


class Relay(Passing):
    """Passes connections on to a server, and reads what the client says, so that it knows which message commits. `choose` is asked at
    each commit of the connection that writes, the one that asked for the lock, and answers with the name of a cut or None:
    `before` the message is passed on, `during` it (passed on, and nothing waited for), `after` (the server has answered, and the
    client does not hear it)."""

    def __init__(self, port, choose):
        self.choose = choose
        super().__init__(port)

    def meet(self, client):
        Passage(self, client).run()


class Passage:
    """One connection through a relay."""

    def __init__(self, relay, client):
        self.relay, self.client = relay, client
        self.input = client.makefile("rb")
        self.server = None
        self.commits = set()  # names of prepared statements
        self.writes = False
        self.lock = threading.Lock()
        # Set from the commit whose answer the client must not hear to its answer.
        self.withheld = False
        self.answered = threading.Event()

    def run(self):
        try:
            self.begin()
            while (message := self.message()):
                if not self.pass_on(*message):
                    break
        except (OSError, struct.error):
            pass
        self.end()

    def end(self):
        for one in (self.client, self.server):
            try:
                one and one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            one and one.close()
        self.input.close()

    def read(self, size):
        taken = self.input.read(size)
        if len(taken) < size:
            raise ConnectionResetError("the client is gone")
        return taken

    def begin(self):
        """The first message has no type. Questions for an encryption are answered with no, and a request to cancel is passed on."""
        while True:
            head = self.read(8)
            length, code = struct.unpack("!ii", head)
            if code not in (80877103, 80877104):
                break
            self.client.sendall(b"N")
        self.server = socket.create_connection(("127.0.0.1", self.relay.target))
        # Without it each message of many waits for an acknowledgement.
        for one in (self.client, self.server):
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.server.sendall(head + self.read(length - 8))
        threading.Thread(target=self.answers, daemon=True).start()

    def message(self):
        head = self.read(5)
        kind, length = struct.unpack("!ci", head)
        body = self.read(length - 4)
        return kind, head + body, body

    def pass_on(self, kind, bytes_, body):
        """False once the connection has been cut."""
        if kind == b"P":
            name, sql = body.split(b"\0")[:2]
            self.writes = self.writes or b"pg_try_advisory_lock" in sql
            self.commits.discard(name)
            if sql.strip().upper() == b"COMMIT":
                self.commits.add(name)
        elif kind == b"B" and self.writes and body.split(b"\0")[1] in self.commits:
            cut = self.relay.choose()
            if cut == "before":
                return False
            if cut:
                with self.lock:
                    self.withheld = True
                self.server.sendall(bytes_)
                while kind != b"S":
                    kind, bytes_, _ = self.message()
                    self.server.sendall(bytes_)
                if cut == "after":
                    self.answered.wait(10)
                return False
        self.server.sendall(bytes_)
        return True

    def answers(self):
        """What the server says, until it is to be withheld; then its end is looked for: the word COMMIT, and ready for the next."""
        kept = b""
        try:
            while (piece := self.server.recv(1 << 16)):
                with self.lock:
                    if not self.withheld:
                        self.client.sendall(piece)
                        continue
                kept += piece
                if b"COMMIT\0Z" in kept:
                    self.answered.set()
        except (OSError, ValueError):
            pass
        self.answered.set()
        self.end_client()

    def end_client(self):
        try:
            self.client.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


class Distance(Passing):
    """A server that is so many seconds away, there and back together: what one side says reaches the other half of that later, in its
    order. It counts the turns, the times that a client says something after it has heard something."""

    def __init__(self, port, seconds):
        self.half, self.turns = seconds / 2, 0
        super().__init__(port)

    def meet(self, client):
        server = socket.create_connection(("127.0.0.1", self.target))
        heard = threading.Event()
        for source, sink, is_client in ((client, server, True), (server, client, False)):
            source.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            pieces = queue.SimpleQueue()
            threading.Thread(target=self.take, args=(source, pieces, heard, is_client), daemon=True).start()
            threading.Thread(target=self.give, args=(sink, pieces), daemon=True).start()

    def take(self, source, pieces, heard, is_client):
        piece = b"-"
        while piece:
            try:
                piece = source.recv(1 << 18)
            except OSError:
                piece = b""
            if not is_client:
                heard.set()
            elif piece and heard.is_set():
                heard.clear()
                self.turns += 1
            pieces.put((time.monotonic() + self.half, piece))

    def give(self, sink, pieces):
        while True:
            due, piece = pieces.get()
            time.sleep(max(0, due - time.monotonic()))
            try:
                if not piece:
                    sink.shutdown(socket.SHUT_RDWR)
                    return sink.close()
                sink.sendall(piece)
            except OSError:
                return
