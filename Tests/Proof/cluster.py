"""Several hosts on one PostgreSQL server, of which one leads: it is killed, stopped, frozen for longer than the others wait, asked to step
down, and cut off from the server, which crashes too, and is replaced by a standby that lacks commits or has all. In a network namespace of
its own what the leader says vanishes, or what is said to it. At any time one host at most speaks to the gateway; each accepted message runs
once under its key; the events of the follower, who goes from host to host, have neither gap nor repeat. Times of the takeovers are measured."""

import datetime
import http.client
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback

from follower import Follower
from harness import NotStarted, Serve, Stopwatch, Tally, free_port, json_lines, options, run_ladle, scratch, until
from postgres_server import Passing, PostgresServer, available
from traffic import Traffic, new_gateway

OPTIONS = options(rounds=(1, 20), hosts=(3, 3), seed=(0, 0), only=("", ""))
SEED = OPTIONS.seed or random.SystemRandom().randrange(1, 1 << 32)
# From the fault to an open link of the next leader, in seconds; a crash is noticed after cluster.takeover.
CRASH, ORDERLY = 7.5, 1.0
# The same where nothing tells the server that the leader is gone, so that it still holds the leader's open transaction.
PARTED = 10.0
tally = Tally()
check = tally.check


class Wire(Passing):
    """Carries one host's connections to a server, and notes in `record` when the host says something on them."""

    def __init__(self, port, name, record=None, address="127.0.0.1"):
        self.name, self.record = name, record
        self.hears = threading.Event()  # what the server says arrives
        self.hears.set()
        super().__init__(port, address)

    def meet(self, client):
        server = socket.create_connection(("127.0.0.1", self.target))
        threading.Thread(target=self.pump, args=(server, client, False), daemon=True).start()
        self.pump(client, server, True)

    def pump(self, source, sink, is_client):
        try:
            while (piece := source.recv(1 << 16)):
                if is_client and self.record is not None:
                    self.record.append((time.monotonic(), self.name))
                if not is_client:
                    self.hears.wait()
                sink.sendall(piece)
        except OSError:
            pass
        for one in (source, sink):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


def turns(record):
    """The names of those who spoke, each once for all that it said before another one did."""
    found = []
    for _, name in list(record):
        if not found or found[-1] != name:
            found.append(name)
    return found


class Hosts:
    """Hosts on one server and at one gateway, each over a wire of its own. The first of them leads. Where they are `apart`, a host's wires
    have an address of their own, and carry its sessions with the server too."""

    def __init__(self, server, gateway, count, url=None, apart=False):
        self.server, self.spoken = server, []
        self.key = pathlib.Path(scratch(), "key")
        check(run_ladle("cluster", "key", str(self.key)).returncode == 0, "a key is made")
        self.all, self.wires = [], {}
        for number in range(count):
            name, address = f"h{number}", f"127.9.0.{number + 1}" if apart else "127.0.0.1"
            self.wires[name] = wires = [Wire(gateway.port, name, self.spoken, address)]
            mine = url or server.url()
            if apart:
                wires.append(Wire(server.port, name, address=address))
                mine = server.url(host=address, port=wires[1].port)
            self.all.append(Serve("--database", mine, "--cluster-name", name, "--cluster-key-file", str(self.key),
                                  gateway=f"ws://{address}:{wires[0].port}", port=free_port()))
        self.leads(self.all[0])
        # Once for all hosts, which are one device.
        self.leader.linked("waiting_for_approval")
        gateway.control("POST", f"pairing/approve?id={self.leader.link()['requestId']}", b"")
        self.leader.linked()

    def leads(self, host):
        self.leader = host
        return host

    @property
    def waiting(self):
        return [host for host in self.all if host is not self.leader]

    def next_leader(self, seconds=30):
        """Waits until one of the others has a link to the gateway."""
        def found():
            return next((host for host in self.waiting if is_linked(host)), None)
        return self.leads(until(found, seconds, what=lambda: "another leader: " + "\n".join(host.output[-800:] for host in self.waiting)))

    def back(self, host):
        """A host that has ended is started anew, and waits."""
        self.all[self.all.index(host)] = again = host.again()
        check("this host waits" in again.output, f"a host that comes back waits: {again.output}")

    def status(self):
        done = run_ladle("cluster", "status", "--database", self.server.url())
        return done.returncode, done.stdout + done.stderr

    def end(self):
        for host in self.all:
            host.process.send_signal(signal.SIGCONT)
            host.kill()


class Watch:
    """Measures a takeover: seconds by the clock, and those of them in which the hosts and this process had the processors they asked for."""

    def __init__(self, hosts):
        self.began, self.watch = time.monotonic(), Stopwatch(*hosts.waiting)

    def taken(self):
        return time.monotonic() - self.began, self.watch.seconds


def is_linked(host):
    try:
        return host.process.poll() is None and host.link()["state"] == "online"
    except (OSError, http.client.HTTPException, ValueError):
        return False  # it ends, or waits


def name_of(host):
    return host.arguments[host.arguments.index("--cluster-name") + 1]


# Faults. Each leaves all hosts running, and returns the seconds until the next leader had its link; None where the leader stays.

def crash(hosts):
    old, watch = hosts.leader, Watch(hosts)
    old.kill()
    hosts.next_leader()
    seconds = watch.taken()
    hosts.back(old)
    return seconds


def stop(hosts):
    old, watch = hosts.leader, Watch(hosts)
    old.process.send_signal(signal.SIGTERM)
    hosts.next_leader()
    seconds = watch.taken()
    check(old.process.wait(20) == 0, "stop: the old leader ends with 0")
    hosts.back(old)
    return seconds


def resign(hosts):
    old = hosts.leader
    done = run_ladle("cluster", "resign", "--database", hosts.server.url())
    check(done.returncode == 0 and name_of(old) in done.stdout, f"resign: the leader is named: {done.stdout}{done.stderr}")
    until(lambda: "serve.stopping" in old.output, what="the request at the leader")
    watch = Watch(hosts)
    hosts.next_leader()
    seconds = watch.taken()
    check(old.process.wait(20) == 75, f"resign: the old leader ends with 75, to be started again: {old.output[-500:]}")
    hosts.back(old)
    return seconds


def freeze(hosts):
    """The leader stands still for longer than the others wait, and goes on."""
    old, watch = hosts.leader, Watch(hosts)
    old.process.send_signal(signal.SIGSTOP)
    hosts.next_leader()
    seconds = watch.taken()
    old.process.send_signal(signal.SIGCONT)
    check(old.process.wait(20) == 75, f"freeze: the old leader ends with 75: {old.output[-500:]}")
    check("another Ladle has taken over" in old.output, f"freeze: and says why: {old.output[-500:]}")
    hosts.back(old)
    return seconds


def cut(hosts):
    """The server ends all sessions."""
    before = hosts.server.one("SELECT term FROM lease")
    hosts.server.psql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'ladle/%'")
    time.sleep(1)
    check(hosts.server.one("SELECT term FROM lease") == before, "cut: the leader stays")


def restart(hosts):
    """The server crashes, and is back, mostly before anybody has waited long enough."""
    before, old, began = hosts.server.one("SELECT term FROM lease"), hosts.leader, time.monotonic()
    hosts.server.restart("immediate")
    took = time.monotonic() - began
    settle(hosts, old)
    after = hosts.server.one("SELECT term FROM lease")
    check(after == before or took > 3, f"restart: the leader stays, {took:.1f} s: {old.output[-800:]}")


def away(hosts):
    """The server is away for longer than the permit lasts: the link is closed. Then one of them leads."""
    old = hosts.leader
    hosts.server.stop("immediate")
    until(lambda: "lease.suspended" in old.output, 10, what="the end of the permit")
    until(lambda: not is_linked(old), 5, what="the end of the link")
    count = len(hosts.spoken)
    time.sleep(1)
    check(len(hosts.spoken) == count, f"away: without a permit nothing is sent: {hosts.spoken[count:]}")
    hosts.server.start()
    settle(hosts, old)


def unheard(hosts):
    """Nothing that the leader sends arrives any more, and nothing tells it so; once another one leads, all goes on."""
    place = f"127.9.0.{hosts.all.index(hosts.leader) + 1}/32"
    def part(word):
        subprocess.run(["ip", "route", word, "blackhole", place, "table", "local"], check=True)
    return parted(hosts, lambda: part("add"), lambda: part("del"))


def deaf(hosts):
    """What the leader sends arrives, its beats among it, and nothing that is said to it."""
    wires = hosts.wires[name_of(hosts.leader)]
    return parted(hosts, lambda: [wire.hears.clear() for wire in wires], lambda: [wire.hears.set() for wire in wires])


def parted(hosts, part, join):
    """The leader is parted from the others, and joins them as soon as the next one has spoken to the gateway."""
    old, watch = hosts.leader, Watch(hosts)
    part()
    hosts.next_leader()
    seconds = watch.taken()
    check("lease.suspended" in old.output, f"parted: its permit has ended before another one leads: {old.output[-500:]}")
    join()
    check(old.process.wait(60) == 75, f"parted: the old leader ends with 75: {old.output[-500:]}")
    hosts.back(old)
    return seconds


def settle(hosts, old):
    """The old leader goes on, or another one is first and it ends."""
    time.sleep(1)
    until(lambda: old.process.poll() is not None or is_linked(old), 30, what="the old leader's link, or its end")
    if old.process.poll() is not None:
        check(old.process.returncode == 75, f"an earlier leader ends with 75: {old.output[-500:]}")
        hosts.next_leader()
        hosts.back(old)


FAULTS = {crash: CRASH, stop: ORDERLY, freeze: CRASH, cut: None, restart: None, resign: ORDERLY, away: None}
PARTITIONS = {unheard: PARTED, deaf: PARTED}


def rounds(faults=FAULTS, apart=False):
    server = PostgresServer()
    gateway, record = new_gateway("--pairing", "true")
    hosts = Hosts(server, gateway, OPTIONS.hosts, apart=apart)
    code, said = hosts.status()
    check(code == 0 and "h0 leads since" in said and said.count("waits") >= OPTIONS.hosts - 1, f"status: who leads, and who waits: {code} {said}")
    check("ladle cluster resign" in said, f"status: and what to type next: {said}")
    traffic = Traffic(hosts.leader, record, server, tally, ports=[host.port for host in hosts.all], pause=0.2)
    dice, times = random.Random(SEED), {}
    for _ in range(OPTIONS.rounds):
        for fault in dice.sample(list(faults), len(faults)):
            if OPTIONS.only not in ("", "partitions", fault.__name__):
                continue
            traffic.more(10)
            seconds = fault(hosts)
            if seconds is not None:
                times.setdefault(fault.__name__, []).append(seconds[0])
                bar = faults[fault]
                check(seconds[1] <= bar, f"{fault.__name__}: another host leads after {seconds[0]:.2f} s, {bar} at most")
            traffic.more(10)
    judge_identity(hosts)
    traffic.ladle = hosts.leader
    said = traffic.judge("rounds")
    terms = [int(row[0]) for row in server.psql("SELECT term FROM lease")]
    changes = turns(hosts.spoken)
    check(len(changes) <= terms[0], f"nobody speaks to the gateway after the next one has: {changes} in {terms[0]} terms")
    check(hosts.leader.stop() == 0 and all(host.stop() == 0 for host in hosts.waiting), "all end with 0")
    code, after = hosts.status()
    check(code != 0 and "Nobody leads" in after, f"status: nobody leads: {code} {after}")
    hosts.end()
    gateway.kill()
    server.remove()
    shown = ", ".join(f"{name} {' '.join(f'{one:.2f}' for one in found)}" for name, found in times.items())
    print(f"cluster: takeover in seconds: {shown}", flush=True)
    return said


def refused(server, *words, state=None):
    """The exit code and the words of a start that must not succeed."""
    try:
        Serve("--database", server.url(), *words, state=state, gateway="ws://127.0.0.1:9", port=free_port()).kill()
    except NotStarted as refusal:
        return refusal.code, refusal.output
    return 0, "it started"


def device(host):
    return pathlib.Path(host.state, "device-key").read_bytes()


def judge_identity(hosts):
    """All that led are one device; nothing of it is in the database in the clear; no host without the right key starts."""
    led = [host for host in hosts.all if any(name == name_of(host) for _, name in hosts.spoken)]
    check(len(led) > 1 and len({device(host) for host in led}) == 1, f"identity: {len(led)} hosts are one device")
    sealed = {name: bytes.fromhex(text) for name, text in hosts.server.psql("SELECT name, encode(sealed, 'hex') FROM secret")}
    check("device-key" in sealed and "device-tokens.json" in sealed, f"identity: it is in the database: {list(sealed)}")
    body = device(led[0]).splitlines()[1]
    check(not [name for name, text in sealed.items() if body in text or b"PRIVATE" in text or b"token" in text], "identity: sealed")
    other = hosts.key.with_name("other")
    run_ladle("cluster", "key", str(other))
    for words, what in (((), "has no cluster.keyFile"), (("--cluster-key-file", str(other)), "another key"),
                        (("--cluster-key-file", __file__), "cluster.keyFile")):
        code, said = refused(hosts.server, *words)
        check(code == 78 and what in said, f"identity: with {words} no start: {code} {said}")


def starts():
    """Starts that fail, that are refused and that wait, on a server of their own."""
    server, gateway = PostgresServer(), "ws://127.0.0.1:9"
    key = pathlib.Path(scratch(), "key")
    run_ladle("cluster", "key", str(key))
    words = ("--cluster-key-file", str(key))
    damaged = scratch()
    pathlib.Path(damaged, "device-key").write_text("no key\n")
    pathlib.Path(damaged, "device-key").chmod(0o600)
    code, said = refused(server, state=damaged)
    check(code == 78 and "device-key" in said, f"starts: a damaged device key: {code} {said}")
    check(server.one("SELECT count(*) FROM lease WHERE term = 1 AND holder IS NULL") == "1", "starts: a start that fails gives the lease up")

    first = Serve("--database", server.url(), "--cluster-name", "first", gateway=gateway)
    # It waits at first, because the leader may be dead and this host the machine in its place.
    second = Serve("--database", server.url(), *words, "--cluster-name", "second", gateway=gateway, port=free_port())
    code, said = second.process.wait(20), second.output
    check(code == 78 and "start first again with --cluster-key-file" in said, f"starts: with a key behind a leader without one: {code} {said}")
    check(server.one("SELECT count(*) FROM secret") == "0", "starts: and nothing was sealed")
    code, said = refused(server, "--cluster-name", "second")
    check(code == 78 and "first first" in said, f"starts: without a key behind a leader: {code} {said}")
    first.stop()
    first = Serve("--database", server.url(), "--cluster-name", "first", *words, state=first.state, gateway=gateway)
    check("otherDevice" not in first.output, f"starts: the same host with a key is the same device: {first.output}")

    copy = scratch()
    shutil.copytree(first.state, copy, dirs_exist_ok=True, ignore=shutil.ignore_patterns("ladle.sock"))
    check(pathlib.Path(copy, "host-id").read_bytes() == pathlib.Path(first.state, "host-id").read_bytes(), "starts: a copy has the same id")
    second = Serve("--database", server.url(), "--cluster-name", "second", *words, state=copy, gateway=gateway, port=free_port())
    check("first leads; this host waits" in second.output, f"starts: a copy of the state directory waits: {second.output}")

    until(lambda: "second" in run_ladle("cluster", "status", "--database", server.url()).stdout, what="the copy among the hosts")
    for words in (("status",), ("resign",)):
        done = run_ladle("cluster", *words, "--database", server.url(), "--cluster-key-file", __file__)
        check(done.returncode == 0, f"starts: ladle cluster {words[0]} needs no good key: {done.stdout}{done.stderr}")
    until(lambda: "listening on" in second.output, what=lambda: f"the copy in the lead: {second.output} {first.output[-900:]}")
    check(first.process.wait(20) == 75, "starts: the first one has stepped down")
    first = first.again()
    check("second leads; this host waits" in first.output, f"starts: and waits: {first.output}")
    server.stop("immediate")
    until(lambda: "database.away" in first.output, what="the line about the database that is away")
    time.sleep(2)
    server.start()
    until(lambda: "database.back" in first.output or "listening on" in first.output, what="the line about the database that is back")
    check(first.output.count("database.away") == 1, f"starts: it is said once: {first.output[-800:]}")
    check(first.output.count("database.back") == 1, f"starts: and that it is back: {first.output[-800:]}")
    check({first.stop(), second.stop()} <= {0, 75}, "starts: both end, one perhaps because the other took over meanwhile")

    moved = scratch()
    done = run_ladle("migrate", server.url(), moved, "--cluster-key-file", __file__)
    check(done.returncode == 0, f"starts: ladle migrate needs no good key: {done.stdout}{done.stderr}")
    server.remove()


def post(host, text, **more):
    return host.json("POST", "/v1/messages", {"session": "s", "text": text, **more})[1]["id"]


def soon(seconds):
    """A time at which a message is sent that is accepted now."""
    return (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=seconds)).isoformat()


def delivered(what, host, *ids):
    def entries():
        return [host.json("GET", f"/v1/outbox/{one}")[1] for one in ids]
    until(lambda: all(entry.get("state") == "delivered" for entry in entries()), 40, what=lambda: f"{what}: the messages: {entries()}")


def failover(what, synchronous=False, dies=False):
    """The server is lost, and its standby takes its place. Without `synchronous` it lacks the last commits. With `dies` the leader is lost
    together with the server, and with it what it knew of them."""
    server, (gateway, record) = PostgresServer(), new_gateway("--pairing", "true")
    standby = server.standby()
    url = f"postgresql://ladle@127.0.0.1:{server.port},127.0.0.1:{standby.port}/ladle"
    hosts = Hosts(server, gateway, 2, url)
    if synchronous:
        server.waits_for(standby)
    old = hosts.leader
    follower = Follower([host.port for host in hosts.all])

    kept = post(old, "kept")
    delivered(what, old, kept)
    later = post(old, "later", notBefore=soon(3))
    standby.caught_up()
    check(standby.one(f"SELECT state FROM outbox WHERE id = '{later}'") == "queued", f"{what}: the standby knows a message as waiting")
    if not synchronous and not dies:
        standby.stop()
    last = post(old, "last")
    delivered(what, old, later, last)
    epoch = server.one("SELECT epoch FROM event_log")
    check(follower.last.startswith(epoch), f"{what}: the follower has the log's ids")
    if synchronous or dies:
        standby.caught_up()
    if dies:
        old.kill()
    server.stop("immediate")
    if not synchronous and not dies:
        standby.start()
    standby.promote()
    hosts.server = standby
    if synchronous:
        settle(hosts, old)
    else:
        hosts.next_leader()
    now = standby.one("SELECT epoch FROM event_log")
    said = hosts.leader.output
    if synchronous:
        check(now == epoch and "store.lost" not in said, f"{what}: nothing is lost, and the log goes on: {said[-500:]}")
        delivered(what, hosts.leader, kept, later, last)
    else:
        words = "does not answer" if dies else "that had been confirmed"
        check(now != epoch and "store.lost" in said and words in said, f"{what}: the loss is said, and a new log begins: {said[-900:]}")
        check(dies or old.process.wait(20) == 75, f"{what}: the old leader, which had seen more, ends: {old.output[-500:]}")
        delivered(what, hosts.leader, kept, later)
        status = hosts.leader.json("GET", f"/v1/outbox/{last}")[0]
        check(status == (200 if dies else 404), f"{what}: the last message is known to nobody if it was lost: {status}")
        until(lambda: follower.resets, 20, what=f"{what}: the follower's reset")
        check(b"ladle_store_losses_total 1" in hosts.leader.call("GET", "/metrics")[2], f"{what}: it is counted")
    delivered(what, hosts.leader, post(hosts.leader, "after"))
    ran = sorted(row["text"] for row in json_lines(record))
    check(ran == ["after", "kept", "last", "later"], f"{what}: each message ran once: {ran}")
    follower.stop()
    hosts.end()
    gateway.kill()
    standby.remove()
    server.remove()


def restored():
    """A backup is put in the place of the state: the host that saw more notices it, and where none did, a person says so."""
    server, (gateway, record) = PostgresServer(), new_gateway()
    words = ("--database", server.url())
    first = Serve(*words, gateway=gateway.url)

    later = post(first, "later", notBefore=soon(2))
    dump = server.folder / "dump"
    server.run("pg_dump", "-h", server.folder, "-p", server.port, "-U", "ladle", "-Fc", "-f", dump, "ladle")
    delivered("restored", first, later)
    epochs = [server.one("SELECT epoch FROM event_log")]
    for state, why in ((first.state, "that had been confirmed"), (scratch(), "restored from a backup")):
        check(first.stop() == 0, "restored: the host ends")
        server.run("pg_restore", "-h", server.folder, "-p", server.port, "-U", "ladle", "-d", "ladle", "--clean", dump)
        if "backup" in why:
            done = run_ladle("cluster", "restored", *words)
            check(done.returncode == 0 and "Noted" in done.stdout, f"restored: ladle cluster restored: {done.stdout}{done.stderr}")
        first = Serve(*words, state=state, gateway=gateway.url)
        check("store.lost" in first.output and why in first.output, f"restored: it is said: {first.output[-700:]}")
        epochs.append(server.one("SELECT epoch FROM event_log"))
        delivered("restored", first, later)
    check(len(set(epochs)) == 3, f"restored: each time a new log: {epochs}")
    ran = [row["text"] for row in json_lines(record)]
    check(ran == ["later"], f"restored: the message ran once: {ran}")
    check(server.one("SELECT count(*) FROM host WHERE id = 'restored'") == "0", "restored: the note is used up")
    done = run_ladle("cluster", "restored", *words)
    check(done.returncode == 0, "restored: it may be said of a host that serves, too")
    check(first.process.wait(20) == 75, f"restored: which then starts anew: {first.output[-500:]}")
    done = run_ladle("cluster", "restored")
    check(done.returncode == 64 and "--database" in done.stderr, f"restored: it needs a database: {done.stderr}")
    gateway.kill()
    server.remove()


def failovers():
    failover("a standby without the last commits")
    failover("a standby that has them", synchronous=True)
    failover("a leader lost with its server", dies=True)
    restored()


def partitions():
    """In a network namespace of its own, so that the routes of this machine stay as they are."""
    if os.geteuid() or not shutil.which("unshare") or not shutil.which("ip"):
        print("left out: partitions need root, unshare and ip", flush=True)
        return
    if "PROOF_APART" not in os.environ:
        words = [sys.executable, __file__, "--only", "partitions", "--seed", str(SEED), "--rounds", str(OPTIONS.rounds), "--hosts", str(OPTIONS.hosts)]
        done = subprocess.run(["unshare", "-n", *words], env={**os.environ, "PROOF_APART": "1"})
        return check(done.returncode == 0, "partitions")
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    print(f"cluster: {rounds(PARTITIONS, apart=True)}", flush=True)


if not available():
    print("left out: no PostgreSQL server is installed")
    check(True, "")
    tally.end()
print(f"cluster: seed {SEED}", flush=True)
began = time.monotonic()
try:
    if OPTIONS.only in ("", "starts"):
        starts()
    if OPTIONS.only in ("", "failovers"):
        failovers()
    if OPTIONS.only in ("", "partitions"):
        partitions()
    if OPTIONS.only not in ("starts", "failovers", "partitions"):
        print(f"cluster: {rounds()} in {time.monotonic() - began:.1f} s", flush=True)
except Exception as error:  # the finding is told like any other
    lines = [str(frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    check(False, f"line {' '.join(lines)}: {type(error).__name__}: {error}")
tally.end()
