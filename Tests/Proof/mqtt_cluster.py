"""Ladle beside a cluster of brokers: three nodes of RabbitMQ (Debian's 3.10, which speaks MQTT 3.1.1), subscribers on nodes that Ladle is
not connected to, and nodes killed in rounds. There are three because client ids and kept sessions are agreed on by majority (Raft): of two,
the loss of one would stop what is for kept sessions. One Ladle knows the address of a single node; another one reaches all through a balancer. State is
seen on every node, an event is delivered or its absence shows in `prev`, a command runs once, a burst reaches 200 subscribers.

The nodes are processes of this user with names, ports, folders, cookie and port mapper of their own. Where rabbitmq-server cannot be had,
the check says so and is left out."""

import collections
import contextlib
import itertools
import json
import os
import pathlib
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback

import paho.mqtt.client as paho

from follower import cursor, place
from harness import ROOT, FaultyGateway, Serve, Tally, free_port, json_lines, options, scratch, until
from raw_mqtt import Chain, Client, Watcher, retained, selected

OPTIONS = options(rounds=(6, 24), seed=(0, 0), subscribers=(200, 200))
SEED = OPTIONS.seed or random.SystemRandom().randrange(1, 1 << 32)
TYPES = "run.started,run.ended,message,outbox,approval,session"
STATE = ("status", "link", "activity", "reply", "error", "outbox")
TOOLS = pathlib.Path("/usr/lib/rabbitmq/bin")
WINDOW = 64
dice = random.Random(SEED)
tally = Tally()
check = tally.check


def left_out(why):
    print(f"left out: {why}")
    check(True, "")
    tally.end()


def install():
    """Debian's package starts a broker of the system, which is of no use here."""
    if (TOOLS / "rabbitmq-server").exists():
        return
    subprocess.run([ROOT / "deploy/packages", "rabbitmq-server"])
    if (TOOLS / "rabbitmq-server").exists() and pathlib.Path("/run/systemd/system").exists():
        subprocess.run([*([] if os.getuid() == 0 else ["sudo"]), "systemctl", "disable", "--now", "rabbitmq-server"], capture_output=True)


class Node:
    """One node, at `port`, with the settings that docs/mqtt.md names."""

    def __init__(self, number, folder, mapper):
        self.name, self.port = f"ladle-proof-{number}@localhost", free_port()
        self.home = folder / str(number)
        self.home.mkdir()
        (self.home / "rabbitmq.conf").write_text(f"listeners.tcp = none\nmqtt.listeners.tcp.1 = 127.0.0.1:{self.port}\n"
                                                 "mqtt.allow_anonymous = false\nmqtt.durable_queue_type = quorum\n")
        (self.home / "plugins").write_text("[rabbitmq_mqtt].\n")
        self.environment = {
            **os.environ, "HOME": str(folder), "ERL_EPMD_PORT": str(mapper), "RABBITMQ_NODENAME": self.name,
            "RABBITMQ_DIST_PORT": str(free_port()), "RABBITMQ_MNESIA_BASE": str(self.home), "RABBITMQ_LOG_BASE": str(self.home),
            "RABBITMQ_CONFIG_FILE": str(self.home / "rabbitmq"), "RABBITMQ_ENABLED_PLUGINS_FILE": str(self.home / "plugins"),
            # Else each node binds its threads to processors, the same ones.
            "RABBITMQ_SCHEDULER_BIND_TYPE": "u", "RABBITMQ_PID_FILE": str(self.home / "pid"),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "+sbwt none -kernel inet_dist_use_interface {127,0,0,1}"}
        self.begin()

    def begin(self):
        (self.home / "pid").unlink(missing_ok=True)
        with open(self.home / "said", "ab") as said:
            self.process = subprocess.Popen([TOOLS / "rabbitmq-server"], env=self.environment, stdin=subprocess.DEVNULL, stdout=said,
                                            stderr=said, start_new_session=True)

    def control(self, *words):
        done = subprocess.run([TOOLS / "rabbitmqctl", "-q", "-n", self.name, *words], env=self.environment, capture_output=True, text=True, timeout=180)
        if done.returncode:
            raise OSError(f"rabbitmqctl {' '.join(words)}: {done.stdout}{done.stderr}")
        return done.stdout

    def listens(self):
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", self.port), 2).close()
            return True

    def lets_in(self):
        with contextlib.suppress(OSError, TimeoutError):
            Client(self.port, level=4).close()
            return True

    def kill(self):
        """SIGKILL to the process that is the node; the script around it then ends."""
        os.kill(int((self.home / "pid").read_text()), signal.SIGKILL)
        self.process.wait(20)

    def again(self):
        self.begin()
        until(self.lets_in, 600, 0.2, lambda: f"the return of {self.name}")

    def remove(self):
        with contextlib.suppress(OSError):
            os.kill(int((self.home / "pid").read_text()), signal.SIGKILL)
        with contextlib.suppress(OSError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(20)


class Cluster:
    def __init__(self):
        self.folder, self.nodes = pathlib.Path(scratch()), []
        (self.folder / ".erlang.cookie").write_text(f"ladleproof{SEED}")
        (self.folder / ".erlang.cookie").chmod(0o400)
        port = free_port()
        self.mapper = subprocess.Popen(["epmd", "-port", str(port), "-address", "127.0.0.1"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            self.nodes = [Node(number, self.folder, port) for number in range(3)]
            for node in self.nodes:
                until(node.listens, 600, 0.2, lambda: f"the start of {node.name}")
            for node in self.nodes[1:]:
                for words in (["stop_app"], ["join_cluster", self.nodes[0].name], ["start_app"]):
                    node.control(*words)
            first = self.nodes[0]
            first.control("add_user", "watcher", "secret")
            first.control("set_permissions", "watcher", ".*", ".*", ".*")
            for name in ("kitchen", "attic"):
                queues = f"mqtt-subscription-{name}qos[01]"
                first.control("add_user", name, "secret")
                first.control("set_permissions", name, f"^{queues}$", rf"^({queues}|amq\.topic)$", rf"^({queues}|amq\.topic)$")
                first.control("set_topic_permissions", name, "amq.topic", rf"^(ladle\.{name}\.|homeassistant\.device\.)",
                              rf"^(ladle\.{name}\.|homeassistant\.status$)")
        except BaseException:
            self.remove()
            raise

    def remove(self):
        for node in self.nodes:
            node.remove()
        self.mapper.kill()
        self.mapper.wait()


class Balancer(threading.Thread):
    """One address before several, as haproxy with one server and two spare ones: the first that answers gets the connection."""

    def __init__(self, *nodes):
        super().__init__(daemon=True)
        self.nodes, self.listener, self.newest = nodes, socket.create_server(("127.0.0.1", 0)), None
        self.port, self.frozen = self.listener.getsockname()[1], set()
        self.pairs, self.avoided = [], None
        self.start()

    def freeze(self):
        """From now on nothing comes back over the connections there are, and the nodes do not learn that they end. New ones go elsewhere."""
        self.avoided = self.newest
        self.frozen |= set(self.pairs)

    def run(self):
        while True:
            client, _ = self.listener.accept()
            for node in sorted(self.nodes, key=lambda node: node is self.avoided):
                with contextlib.suppress(OSError):
                    server = socket.create_connection(("127.0.0.1", node.port), 2)
                    server.settimeout(None)
                    self.newest = node
                    self.pairs.append((server, client))
                    for pair in ((client, server), (server, client)):
                        threading.Thread(target=self.pump, args=pair, daemon=True).start()
                    break
            else:
                client.close()

    def pump(self, source, target):
        with contextlib.suppress(OSError):
            while piece := source.recv(1 << 16):
                if (source, target) not in self.frozen:
                    target.sendall(piece)
        if (target, source) in self.frozen:
            return
        for one in (source, target):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)


class Heard:
    """A message as paho gives it, for `Chain`."""

    def __init__(self, message):
        self.topic, self.payload, self.retain = message.topic, message.payload, message.retain

    @property
    def json(self):
        return json.loads(self.payload)


class Witness:
    """A subscriber by somebody else's library, which keeps its session and comes back by itself."""

    def __init__(self, port, filter, name):
        self.messages = []
        self.client = paho.Client(paho.CallbackAPIVersion.VERSION2, client_id=name, clean_session=False, protocol=paho.MQTTv311)
        self.client.username_pw_set("watcher", "secret")
        self.client.on_connect = lambda client, *_: client.subscribe(filter, 1)
        self.client.on_message = lambda _, __, message: self.messages.append(Heard(message))
        self.client.reconnect_delay_set(1, 1)
        self.subscribed = threading.Event()
        self.client.on_subscribe = lambda *_: self.subscribed.set()
        self.client.connect("127.0.0.1", port)
        self.client.loop_start()
        assert self.subscribed.wait(20)

    def stop(self):
        self.client.disconnect()
        self.client.loop_stop()


class House:
    """A Ladle under this name with a gateway of its own, a subscriber on each node that keeps its session, and commands for it."""

    def __init__(self, name, port, nodes):
        self.name, self.prefix, self.nodes = name, f"ladle/{name}", nodes
        self.record = pathlib.Path(scratch(), "ran.ndjson")
        self.gateway = FaultyGateway("--record", str(self.record), "--recall")
        state = scratch()
        file = pathlib.Path(state, "broker-password")
        file.write_text("secret\n")
        file.chmod(0o600)
        self.server = Serve(
            "--mqtt-url", f"mqtt://127.0.0.1:{port}", "--mqtt-username", name, "--mqtt-password-file", str(file), "--mqtt-name", name,
            "--mqtt-client-id", name, "--mqtt-scopes", "read,send", "--mqtt-discovery", "--mqtt-keep-alive", "15s", "--limits-sends-burst", "1000",
            "--limits-all-sends-burst", "10000", gateway=self.gateway.url, state=state).linked()
        self.online()
        self.base, self.expected = cursor(self.server), None
        self.watchers = [Watcher(node.port, f"{self.prefix}/#", name=f"{name}-watched-{number}", level=4) for number, node in enumerate(nodes)]
        self.earlier = len(self.ends)
        self.given, self.answers, self.repeats, self.lock, self.read = [], {}, 0, threading.Lock(), collections.Counter()

    @property
    def mqtt(self):
        return self.server.status()["mqtt"]

    @property
    def ends(self):
        """The codes of the losses of the broker so far."""
        return re.findall(r"mqtt\.offline .*?code=(\w+) detail=\"?\S+", self.server.output)

    def online(self, seconds=100):
        until(lambda: self.mqtt["state"] == "online", seconds, 0.05, lambda: f"{self.name} at the broker: {self.mqtt}")

    def hurry(self):
        """Pauses grow from try to try, up to a minute; this is what ends one early."""
        self.server.process.send_signal(signal.SIGHUP)

    def caught_up(self):
        until(lambda: self.mqtt["state"] == "online" and self.mqtt["lag"] == {"events": 0, "seconds": 0}, 60, 0.1,
              lambda: f"the end of {self.name}'s lag: {self.mqtt}")

    def say(self, text):
        status, answer = self.server.json("POST", "/v1/messages?wait=20", {"text": f"echo {text}", "session": "kitchen"})
        check(status == 200, f"{self.name}: a message over HTTP: {status} {answer}")

    # -- state

    def shown(self, messages):
        """The newest value of each state topic that came."""
        found = {}
        for message in reversed(list(messages)):
            name = message.topic.removeprefix(f"{self.prefix}/")
            if name in STATE and name not in found and message.payload:
                found[name] = message.json
                if len(found) == len(STATE):
                    break
        return found

    def fits(self, messages):
        """Whether the newest value of each topic came. RabbitMQ may give an older one again after it. What Ladle published before the
        subscriber came, and not since, cannot have come."""
        said = self.server.status()
        right = {"status": lambda value: value["state"] == "online", "link": lambda value: value["state"] == said["link"]["state"],
                 "outbox": lambda value: all(value[name] == said["outbox"][name] for name in ("pending", "unconfirmed", "failed")),
                 "activity": lambda value: value["active"] == said["runs"]["active"], "error": lambda value: True,
                 "reply": lambda value: value.get("short") == self.expected}
        came = {name: [] for name in STATE}
        for message in list(messages):
            name = message.topic.removeprefix(f"{self.prefix}/")
            if name in came and message.payload:
                came[name].append(message.json)
        return all(any(map(right[name], values)) for name, values in came.items() if values or len(self.ends) > self.earlier or name == "reply")

    def state_is_seen(self, messages, what):
        with contextlib.suppress(TimeoutError):
            until(lambda: self.fits(messages), 30, 0.1, "")
        check(self.fits(messages), f"{self.name}: the state {what}: {self.shown(messages)}; the last reply is "
              f"{self.expected!r}, the broker {self.mqtt}")

    # -- commands

    def look(self):
        with self.lock:
            for number, watcher in enumerate(self.watchers):
                fresh = watcher.messages[self.read[number]:]
                self.read[number] += len(fresh)
                for said in (message.json for message in fresh if message.topic == f"{self.prefix}/results"):
                    # 429 is no end: it was too many at once.
                    if said.get("id") and said["status"] == 202:
                        self.answers.setdefault(said["id"], set()).add(said["entry"]["id"])

    def answered(self, beginning):
        self.look()
        return all(id in self.answers for id in self.given if id.startswith(beginning))

    def give(self, id, nodes, sent=None, delay=0.0):
        """A command, given again with the same id until its result is there, at whichever of these nodes lets us in. `sent` is set with
        the first byte on its way, before anybody has acknowledged it."""
        payload = {"id": id, "text": f"echo {id}", "session": f"cluster-{len(self.given) % 4}"}
        self.given.append(id)
        end, client, tries = time.monotonic() + 180, None, 0
        for node in itertools.cycle(nodes):
            if id in self.answers or time.monotonic() > end:
                break
            try:
                client = Client(node.port, level=4)
                client.publish(f"{self.prefix}/cmd/send", payload, wait=False)
                tries += 1
                if sent:
                    time.sleep(delay)
                    sent.set()
                with contextlib.suppress(TimeoutError):
                    until(lambda: self.look() or id in self.answers or client.closed.is_set(), 4, 0.05, "")
            except (OSError, TimeoutError):
                time.sleep(0.2)
            if client:
                client.wire.cut()
        if sent:
            sent.set()
        self.repeats += max(tries - 1, 0)


# -- scenes


def newcomers(house, nodes, there):
    """Whoever comes now: RabbitMQ gives a retained message to those who name its topic exactly, at the node where it was published."""
    exact = [f"{house.prefix}/{name}" for name in STATE]
    try:
        kept = until(lambda: len(found := retained(there.port, *exact, level=4)) == len(STATE) and found, 10, 0.1, "")
        check(house.fits(kept.values()), f"{house.name}: a newcomer at its node sees the state: {kept}")
    except TimeoutError:
        check(False, f"{house.name}: a newcomer at its node sees {list(retained(there.port, *exact, level=4))}")
    return [len(retained(node.port, *exact, level=4)) for node in nodes if node is not there]


def asking(house, node):
    """A newcomer at another node asks as Home Assistant does when it starts."""
    asker = Client(node.port, f"{house.prefix}/#", level=4)
    asker.publish("homeassistant/status", "online", qos=0)
    house.state_is_seen(asker.messages, "at a node that Ladle is not connected to, for a newcomer who asks")
    asker.close()


def one_round(number, cluster, balancer, kitchen, attic, witness, seen):
    nodes, houses = cluster.nodes, (kitchen, attic)
    at = {kitchen: nodes[0], attic: balancer.newest}
    wanted = number % 3
    free = [node for node in nodes if node not in at.values()]
    victim = at[kitchen] if wanted == 0 else at[attic] if wanted == 1 else dice.choice(free or nodes[1:])
    others = [node for node in nodes if node is not victim]
    hit = [house for house in houses if at[house] is victim]
    before = {house: len(house.ends) for house in houses}
    seen["kills", "of a Ladle's node" if hit else "of subscribers alone"] += 1

    # Commands on their way to Ladle when the node goes; some start at the node that dies.
    flying, threads = threading.Event(), []
    for house in houses:
        for part in range(3):
            order = [victim, *others] if part == 2 else dice.sample(others, 2)
            words = f"{house.name}-{number}-{part}", order, flying if house in (hit or houses) and part == 0 else None, dice.choice((0, 0, 0.005, 0.02, 0.05))
            threads.append(threading.Thread(target=house.give, args=words, daemon=True))
            threads[-1].start()
    flying.wait(30)
    victim.kill()
    for house in hit:
        until(lambda: len(house.ends) > before[house], 30, 0.02, lambda: f"{house.name} notices the loss of its node: {house.mqtt}")
        check(house.ends[-1] in ("MQTT_CLOSED", "MQTT_UNREACHABLE"), f"{house.name} says why: {house.ends}")
    for house in houses:
        for part in range(3):
            house.say(f"without a node {number}.{part}")
    if attic in hit:
        # Every third time it finds the way without help.
        if number % 9 != 1:
            attic.hurry()
        attic.online()
        check(balancer.newest is not victim, "the balancer has led to another node")
    if kitchen in hit:
        said = kitchen.mqtt
        check(said["state"] == "offline" and said["code"] and said["detail"] and said["lag"]["events"], f"a node that is gone, in the status: {said}")
    for house in houses:
        if house not in hit or house is attic:
            house.online()
            # Else the reply to one of them could be the last.
            until(lambda: house.answered(f"{house.name}-{number}-"), 100, 0.1, f"{house.name}: the commands of round {number} have run")
            house.server.at_rest()
            house.expected = f"still without a node {number}"
            house.say(house.expected)
            for node, watcher in zip(nodes, house.watchers):
                if node is not victim:
                    house.state_is_seen(watcher.messages, f"at {node.name} while {victim.name} is gone")
    victim.again()
    for house in houses:
        if house in hit and house is kitchen:
            house.hurry()
        house.online()
    for thread in threads:
        thread.join(200)
    for house in houses:
        house.server.at_rest()
        house.expected = f"round {number}"
        house.say(house.expected)
        house.server.at_rest()
        house.caught_up()
        for node, watcher in zip(nodes, house.watchers):
            house.state_is_seen(watcher.messages, f"at {node.name} after the return of {victim.name}")
    kitchen.state_is_seen(witness.messages, "as paho sees it")
    for house, there in ((kitchen, nodes[0]), (attic, balancer.newest)):
        for count in newcomers(house, nodes, there):
            seen["newcomers at another node", "saw the state" if count == len(STATE) else "saw none" if not count else "saw a part"] += 1
    if number % 8 == 3:
        asking(kitchen, nodes[2])
    for house in houses:
        seen[house.name, "lost the broker"] += len(house.ends) - before[house]
        if house not in hit:
            seen[house.name, "lost the broker with another's node"] += len(house.ends) > before[house]


def judge(house, witness, rounds):
    house.server.at_rest()
    house.say("the end")
    house.server.at_rest()
    house.caught_up()
    last = selected(house.server, TYPES, house.base)[-1]["id"]
    everybody = [(f"{house.name}: on node {number}", watcher.messages) for number, watcher in enumerate(house.watchers)]
    if witness:
        everybody.append((f"{house.name}: paho through a balancer", witness.messages))
    for who, messages in everybody:
        with contextlib.suppress(TimeoutError):
            until(lambda: any(last.encode() in message.payload for message in messages[-50:]), 30, 0.1, "")
        chain = Chain(house.prefix, messages)
        # RabbitMQ makes a slash of the dot in `run.ended`.
        chain.arrived = [(topic.replace("/", "."), event) for topic, event in chain.arrived]
        truth = chain.judge(tally, house.server, TYPES, house.base, who, may_miss=True, may_repeat=(WINDOW + 200) * (rounds + 2))
        check(last in chain.events, f"{who}: the last event came")
        places = [place(event["id"]) for _, event in chain.arrived]
        back = sum(after < before for before, after in zip(places, places[1:]))
        print(f"mqtt_cluster: {who}: {len(truth)} events, {len(chain.missing(truth))} missed and found by prev, {chain.repeats} twice, "
              f"{back} steps back", flush=True)
    unanswered = [id for id in house.given if id not in house.answers]
    check(not unanswered, f"{house.name}: every command is answered in the end: {unanswered[:3]}")
    several = {id: found for id, found in house.answers.items() if len(found) > 1}
    check(not several, f"{house.name}: one id is one entry: {list(several.items())[:3]}")
    texts = collections.Counter(row["text"] for row in json_lines(house.record))
    wrong = {id: texts[f"echo {id}"] for id in house.given if texts[f"echo {id}"] != 1}
    check(house.given and not wrong, f"{house.name}: each command runs once: {wrong}")
    print(f"mqtt_cluster: {house.name}: {len(house.given)} commands, {house.repeats} repeats, each ran once", flush=True)


def fan_out(house, nodes):
    """A burst for many: Ladle writes each event once, the cluster multiplies it."""
    monitor = Client(nodes[0].port, f"{house.prefix}/#", "homeassistant/device/#", level=4)
    crowd = [Client(nodes[number % 3].port, f"{house.prefix}/events/#", level=4) for number in range(OPTIONS.subscribers)]
    house.caught_up()
    base, before = cursor(house.server), house.server.metric("ladle_mqtt_published_total")
    for number in range(40):
        house.server.call("POST", "/v1/messages", {"text": f"echo burst {number}", "session": f"burst-{number % 8}"})
    house.server.at_rest()
    house.caught_up()
    truth = [event["id"] for event in selected(house.server, TYPES, base)]
    until(lambda: all(len(one.messages) >= len(truth) for one in crowd), 120, 0.2,
          lambda: f"all of {len(truth)} events at {len(crowd)} subscribers: {collections.Counter(len(one.messages) for one in crowd)}, {house.mqtt}, "
          f"{house.ends}, {sum(one.closed.is_set() for one in crowd)} closed")
    heard = collections.Counter(tuple(message.json["id"] for message in one.messages) for one in crowd)
    check(list(heard) == [tuple(truth)], f"each of {len(crowd)} subscribers gets every event once and in order: {[(len(ids), count) for ids, count in heard.items()]}")
    written = lambda: int(house.server.metric("ladle_mqtt_published_total") - before)
    with contextlib.suppress(TimeoutError):
        until(lambda: len(monitor.messages) == written(), 20, 0.1, "")
    check(len(monitor.messages) == written(), f"Ladle counts {written()} messages, and {len(monitor.messages)} are heard")
    events = collections.Counter(message.json["id"] for message in monitor.messages if "/events/" in message.topic)
    check(events == dict.fromkeys(truth, 1), f"Ladle writes each event once: {[item for item in events.items() if item[1] > 1][:3]}")
    print(f"mqtt_cluster: {len(truth)} events and {written() - len(truth)} other messages written once, "
          f"{sum(len(one.messages) for one in crowd)} deliveries to {len(crowd)} subscribers", flush=True)
    for one in (*crowd, monitor):
        one.wire.cut()


def frozen(house, balancer, cluster):
    """The way to a node that lives breaks without a word. Ladle comes back at another node, and its id is still taken at the old one."""
    node, before = balancer.newest, len(house.ends)
    balancer.freeze()
    until(lambda: len(house.ends) > before, 60, 0.1, lambda: f"an end of a silent connection: {house.mqtt}")
    check(house.ends[-1] == "MQTT_SILENT", f"{house.name}: a silent connection is named: {house.ends}")
    house.hurry()
    house.online()
    check(balancer.newest is not node, "it has come back at another node")
    house.say("behind a break")
    house.expected = "behind a break"
    # The old node drops the old connection, by the takeover or by its keep-alive; no farewell may outlive the return.
    connected = house.server.metric("ladle_mqtt_connections_total")
    time.sleep(30)
    check(house.server.metric("ladle_mqtt_connections_total") == connected and house.mqtt["state"] == "online", f"and it stays: {house.mqtt}")
    for watcher in house.watchers:
        house.state_is_seen(watcher.messages, "after a takeover between nodes")


def duel(house, cluster):
    stopping = threading.Event()

    def other():
        while not stopping.is_set():
            with contextlib.suppress(OSError, TimeoutError):
                Client(cluster.nodes[2].port, user=house.name, name=house.name, level=4).closed.wait()
            time.sleep(0.2)
    thread = threading.Thread(target=other, daemon=True)
    thread.start()
    until(lambda: house.mqtt.get("code") == "MQTT_TAKEN_OVER", 60, 0.05, lambda: f"a duel is named: {house.mqtt}")
    stopping.set()
    for _ in range(2):
        # It ends the other's connection as well, which then ends.
        house.hurry()
    house.online()
    house.hurry()
    thread.join(30)
    house.caught_up()


def without_majority(house, cluster):
    """One node of three: nothing that a kept session waits for is acknowledged, and nothing is lost."""
    gone = [node for node in cluster.nodes if node is not cluster.nodes[0]]
    for node in gone:
        node.kill()
    for number in range(3):
        house.say(f"alone {number}")
    until(lambda: house.mqtt["lag"]["seconds"] >= 5, 60, 0.2, lambda: f"a lag without a majority: {house.mqtt}")
    said = house.mqtt
    for node in gone:
        node.again()
    house.hurry()
    house.caught_up()
    print(f"mqtt_cluster: one node of three: {said['state']} {said.get('code', '')}, lag {said['lag']}", flush=True)


def scene(act, *words):
    began = time.monotonic()
    try:
        act(*words)
    except Exception as error:  # a scene that ends early has failed, the others go on
        lines = [str(frame.lineno) for frame in traceback.extract_tb(error.__traceback__) if frame.filename == os.path.abspath(__file__)]
        return check(False, f"{act.__name__}, line {' '.join(lines)}: {type(error).__name__}: {error}")
    print(f"mqtt_cluster: {act.__name__} in {time.monotonic() - began:.1f} s", flush=True)


def rounds(cluster, balancer, kitchen, attic, witness):
    seen = collections.Counter()
    for number in range(OPTIONS.rounds):
        one_round(number, cluster, balancer, kitchen, attic, witness, seen)
    for (who, what), count in sorted(seen.items()):
        print(f"mqtt_cluster: {who} {what}: {count}", flush=True)


signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
install()
if not (TOOLS / "rabbitmq-server").exists():
    left_out("a cluster of RabbitMQ (rabbitmq-server is not installed)")
print(f"mqtt_cluster: seed {SEED}", flush=True)
began = time.monotonic()
cluster = Cluster()
try:
    print(f"mqtt_cluster: {len(cluster.nodes)} nodes in {time.monotonic() - began:.0f} s", flush=True)
    balancer, other = Balancer(*(cluster.nodes[number] for number in (1, 2, 0))), Balancer(*(cluster.nodes[number] for number in (2, 1, 0)))
    kitchen, attic = House("kitchen", cluster.nodes[0].port, cluster.nodes), House("attic", balancer.port, cluster.nodes)
    witness = Witness(other.port, f"{kitchen.prefix}/#", "paho-witness")
    check(kitchen.mqtt["protocol"] == "3.1.1", f"RabbitMQ before 3.13 speaks 3.1.1: {kitchen.mqtt}")
    scene(fan_out, kitchen, cluster.nodes)
    scene(rounds, cluster, balancer, kitchen, attic, witness)
    scene(frozen, attic, balancer, cluster)
    scene(duel, kitchen, cluster)
    scene(without_majority, attic, cluster)
    scene(judge, kitchen, witness, OPTIONS.rounds)
    scene(judge, attic, None, OPTIONS.rounds)
    witness.stop()
finally:
    cluster.remove()
tally.end()
