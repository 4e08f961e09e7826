"""slowhttptest in its four modes, with many attackers each, while a bystander asks: what that does to its 99th percentile, beside one that
asks an idle server in the same moments, and what memory and time an attacker costs.

Servers and bystanders run with real-time priority, where that may be given."""

import multiprocessing
import os
import pathlib
import resource
import socket
import statistics
import subprocess
import threading
import time

import h2.config
import h2.connection
import h2.settings

from timed_client import TimedClient
from harness import ROOT, Serve, Tally, options, percentile, until

chosen = options(attackers=(400, 1000), seconds=(6, 15))
tally = Tally()
subprocess.run([ROOT / "deploy/packages", "slowhttptest"], check=True)
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
server = Serve(start_new_session=True).linked()
# A page large enough to be read slowly.
for number in range(40):
    server.call("POST", f"/v1/messages?session=agent:main:slow{number}", b"append the weather to weather.txt " * 50, {"Content-Type": "text/plain"})


def undisturbed(process, policy=os.SCHED_RR):
    """Before everything else that runs here, so long as there is a processor for it."""
    for thread in os.listdir(f"/proc/{process.pid}/task"):
        try:
            os.sched_setscheduler(int(thread), policy, os.sched_param(int(policy == os.SCHED_RR)))
        except PermissionError:
            return print("no real-time priority to be had: other work on this machine counts as the attack's")


def insistent(pid):
    """The attack is no weaker on a busy machine: its session comes before others, where that may be said."""
    try:
        pathlib.Path(f"/proc/{pid}/autogroup").write_text("-20")
    except OSError:
        pass


PATHS = {"slow headers": "/v1/status", "slow body": "/v1/messages", "slow admitted body": "/v1/messages", "range": "/v1/outbox", "slow read": "/v1/outbox?limit=200"}


class Trickle:
    """Bodies a byte at a time. The tool's own name a foreign page and are refused at their head; these are taken."""

    def __init__(self, port):
        head = (f"POST /v1/messages HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: text/plain\r\n"
                "Content-Length: 8192\r\n\r\n").encode()
        self.wires = [socket.create_connection(("127.0.0.1", port), 5) for _ in range(chosen.attackers)]
        for wire in self.wires:
            wire.sendall(head)
        self.over = threading.Event()
        threading.Thread(target=self.drip, daemon=True).start()

    def drip(self):
        # Each every two seconds, one after the other.
        while not self.over.is_set():
            for wire in self.wires:
                self.over.wait(2 / len(self.wires))
                try:
                    wire.send(b"x")
                except OSError:
                    pass

    def terminate(self):
        self.over.set()

    def wait(self):
        for wire in self.wires:
            wire.close()


PAGE = len(server.call("GET", PATHS["slow read"])[2])


class ShutWindows:
    """HTTP/2 connections with every window shut: each asks for a hundred pages, for more as often as some are refused, and takes
    none."""

    COUNT = 20

    def __init__(self, port):
        self.path, self.host = PATHS["slow read"].encode(), f"127.0.0.1:{port}".encode()
        self.wires = [socket.create_connection(("127.0.0.1", port), 5) for _ in range(self.COUNT)]
        for wire in self.wires:
            # With a time-out it would be waited for, whatever the flags say.
            wire.settimeout(None)
            talk = h2.connection.H2Connection()
            talk.initiate_connection()
            talk.update_settings({h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: 0})
            wire.sendall(talk.data_to_send() + self.asking(1, 100))
        self.process = multiprocessing.get_context("fork").Process(target=self.ask_on, daemon=True)
        self.process.start()

    def asking(self, first, count):
        """Frames that ask for the page on so many streams: nothing in them needs what HPACK remembers."""
        block = b"\x82\x86" + bytes([4, len(self.path)]) + self.path + bytes([1, len(self.host)]) + self.host
        return b"".join(len(block).to_bytes(3, "big") + b"\x01\x05" + stream.to_bytes(4, "big") + block
                        for stream in range(first, first + 2 * count, 2))

    def ask_on(self):
        os.setsid()
        insistent(os.getpid())
        next_, unread = dict.fromkeys(self.wires, 201), dict.fromkeys(self.wires, b"")
        while True:
            time.sleep(0.1)
            for wire in self.wires:
                try:
                    unread[wire] += wire.recv(1 << 20, socket.MSG_DONTWAIT)
                except BlockingIOError:
                    continue
                data, place, refused = unread[wire], 0, 0
                while len(data) >= place + 9 and len(data) >= place + 9 + int.from_bytes(data[place:place + 3], "big"):
                    refused += data[place + 3] == 3
                    place += 9 + int.from_bytes(data[place:place + 3], "big")
                unread[wire] = data[place:]
                wire.sendall(self.asking(next_[wire], refused))
                next_[wire] += 2 * refused

    def terminate(self):
        tally.check(self.process.is_alive(), "those with their windows shut went on asking")
        self.process.terminate()

    def wait(self):
        for wire in self.wires:
            wire.close()


MODES = {
    "slow headers": ["-H", "-i", "2"],
    "slow body": ["-B", "-i", "2", "-s", "8192", "-t", "POST", "-f", "text/plain"],
    "slow admitted body": Trickle,
    "range": ["-R", "-a", "5", "-b", "3000"],
    "slow read": ["-X", "-w", "10", "-y", "64", "-n", "2", "-z", "16", "-k", "3"],
    "windows shut": ShutWindows,
}


def attack(mode, arguments):
    if isinstance(arguments, type):
        return arguments(server.port)
    tool = subprocess.Popen(
        ["slowhttptest", *arguments, "-c", str(chosen.attackers), "-r", "500", "-l", str(chosen.seconds + 9), "-p", "3",
         "-u", f"http://127.0.0.1:{server.port}{PATHS[mode]}"], stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT, start_new_session=True)
    insistent(tool.pid)
    return tool


def compared(mode, arguments, count):
    """The 99th percentile of the attacked server's bystander over that of an idle one's in the same moments, so that what else the machine
    does meets both; and bytes an attacker."""
    spans, most, held, busy = [], 0, 0, 0
    # The rush of those with their windows shut has to be a part of what they do, not all of it.
    turn = 5 if arguments is ShutWindows else chosen.seconds / TURNS
    for _ in range(TURNS):
        before, quiet, start, already = server.resident(), server.descriptors(), time.monotonic(), server.cpu()
        attackers = attack(mode, arguments)
        # With the rush of the connections, and then with all that are let in.
        time.sleep(count / 500)
        most = max(most, server.descriptors() - quiet)
        time.sleep(turn)
        spans.append((start, time.monotonic()))
        held, busy = max(held, server.resident() - before), busy + server.cpu() - already
        attackers.terminate()
        attackers.wait()
        until(lambda: server.descriptors() <= quiet + 1, 30, 0.05, "the end of their connections")
    length = sum(end - start for start, end in spans)
    alone, attacked = reference.during(*spans), bystander.during(*spans)
    ratio = percentile(attacked, 99) / percentile(alone, 99)
    print(f"{mode}: up to {most} connections; bystander p50 {statistics.median(alone):.2f} -> {statistics.median(attacked):.2f} ms, "
          f"p99 {percentile(alone, 99):.2f} -> {percentile(attacked, 99):.2f} ms ({ratio:.2f}x, of {len(alone)} and {len(attacked)} requests); "
          f"{held / count / 1024:.1f} KiB an attacker, {busy / length:.0%} of a processor", flush=True)
    return ratio, held / count


TURNS = 3
idle = Serve(start_new_session=True).linked()
bystander, reference = TimedClient(server.port), TimedClient(idle.port)
for one in (server, idle, bystander, reference):
    undisturbed(one.process)
time.sleep(2)
for mode, arguments in MODES.items():
    if arguments is ShutWindows:
        # This one keeps all of the server's threads busy, and with real-time priority none of them makes room for another.
        for one in (server, idle):
            undisturbed(one.process, os.SCHED_OTHER)
            insistent(one.process.pid)
    # Whoever reads slowly is owed one answer, and no second one is made for it meanwhile. With its windows shut it is owed a quarter
    # of a MiB of pages and the few that are being made meanwhile; the rest is what making them left behind.
    count = ShutWindows.COUNT if arguments is ShutWindows else chosen.attackers
    bound = 9 << 19 if arguments is ShutWindows else (32 << 10) + (PAGE if mode == "slow read" else 0)
    ratio, each = compared(mode, arguments, count)
    tally.check(ratio <= 2, f"{mode}: the bystander's p99 is {ratio:.2f} times that of an idle server's")
    tally.check(each < bound, f"{mode}: {each} bytes an attacker, {bound} at most")
print(f"memory: at most 32 KiB an attacker, and the answer of {PAGE} bytes that a slow reader is owed")


ended, patient = server.metric("ladle_http_stalls_total"), ShutWindows(server.port)
until(lambda: server.metric("ladle_http_stalls_total") >= ended + ShutWindows.COUNT, 40, 0.5, "the end of what is not taken")
patient.terminate()
patient.wait()
print(f"given back: {server.resident() >> 20} MiB resident")
tally.check(not bystander.failures, f"the bystander gets {bystander.failures[:5]}")
for one in (bystander, reference):
    one.process.kill()
tally.check(server.call("GET", "/healthz")[0] == 200, "served afterwards")
tally.check(server.stop() == 0, "the server ends as it should")
tally.end()
