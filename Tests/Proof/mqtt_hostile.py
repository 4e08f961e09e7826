"""MQTT brokers that mean harm, or are broken, against the built program: no answer, wrong answers, garbage, limits of almost nothing,
acknowledgements that do not come or come in disorder, floods of commands. Whatever comes, the program lives, says in its status what is
wrong, serves HTTP and streams, stays small, and connects less and less often."""

import concurrent.futures
import contextlib
import http.client
import json
import os
import pathlib
import random
import re
import signal
import socket
import struct
import threading
import time
import traceback

from harness import SANITIZER, EventStream, Serve, Tally, options, scratch, until
from raw_mqtt import (CONNACK, CONNECT, CORRELATION, DISCONNECT, PINGREQ, PINGRESP, PUBACK, PUBLISH, SUBACK, SUBSCRIBE, Message, Wire, packet,
                      properties, publish, selected)

chosen = options(flood=(2_000, 20_000), seed=(0, 0))
SEED = chosen.seed or random.SystemRandom().randrange(1, 1 << 32)
P = "ladle/kitchen"
MIB = 1 << 20
tally = Tally()
check = tally.check


class Broker(threading.Thread):
    """A broker that takes everything and forgets it, but for what a scene replaces: `connect`, `publish`, `ping` and `subscribe` are
    called with a connection and, where there is one, the packet."""

    def __init__(self, limits=(), connect=None, publish=None, ping=None, subscribe=None):
        super().__init__(daemon=True)
        self.limits, self.listener = limits, socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.connect, self.publish = connect or Connection.accept, publish or Connection.take
        self.ping, self.subscribe = ping or Connection.pong, subscribe or Connection.subscribed
        self.connections = []
        self.start()

    def run(self):
        while True:
            self.connections.append(Connection(self, self.listener.accept()[0]))

    @property
    def levels(self):
        return [one.level for one in self.connections if one.level]

    def messages(self):
        return [message for one in list(self.connections) for message in list(one.messages)]

    def online(self):
        """The newest connection, once it has subscribed and said that it is online."""
        def there():
            one = self.connections[-1] if self.connections else None
            return one if one and one.filters and any(m.topic == f"{P}/status" for m in one.messages) else None
        return until(there, 20, what="a connection that is of use")


class Connection(Wire):
    def __init__(self, broker, connection):
        super().__init__(connection)
        self.broker, self.level, self.clean, self.messages, self.filters = broker, None, None, [], []
        self.pings, self.farewell, self.waiting, self.largest, self.at = [], None, [], 0, time.monotonic()
        self.results, self.acks = [], {}
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        with contextlib.suppress(OSError):
            while found := self.read():
                first, body = found
                self.largest = max(self.largest, len(packet(*found)))
                if first == CONNECT:
                    self.level = body[6]
                    self.broker.connect(self)
                elif first & 0xF0 == PUBLISH:
                    message = Message(first, body, self.level)
                    self.messages.append(message)
                    if message.topic == f"{P}/results":
                        self.results.append(message.json)
                    self.broker.publish(self, message)
                elif first == PUBACK:
                    self.acks[struct.unpack_from(">H", body)[0]] = body[2] if len(body) > 2 else 0
                elif first == SUBSCRIBE:
                    self.broker.subscribe(self, body)
                elif first == PINGREQ:
                    self.pings.append(time.monotonic())
                    self.broker.ping(self)
                elif first == DISCONNECT:
                    self.farewell = body[0] if body else 0

    def reset(self):
        """Closes with RST, from the thread that reads: what is written next fails at once."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        os.close(self.socket.detach())

    def say(self, first, body=b""):
        with contextlib.suppress(OSError):
            self.write(packet(first, body))

    def accept(self):
        self.say(CONNACK, b"\0\0" + (properties(self.broker.limits) if self.level == 5 else b""))

    def refuse(self, code):
        self.say(CONNACK, bytes([0, code]) + (properties() if self.level == 5 else b""))
        self.cut()

    def take(self, message):
        if message.qos:
            self.say(PUBACK, struct.pack(">H", message.number))

    def pong(self):
        self.say(PINGRESP)

    def subscribed(self, body):
        at = 3 if self.level == 5 else 2
        while at < len(body):
            size, = struct.unpack_from(">H", body, at)
            self.filters.append(body[at + 2:at + 2 + size].decode())
            at += size + 3
        self.say(SUBACK, body[:2] + (properties() if self.level == 5 else b"") + b"\1" * len(self.filters))

    def command(self, number, verb, payload, dup=False, more=(), raw=None):
        payload = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        self.write(raw or publish(f"{P}/{verb}", payload, 1, number, dup=dup, more=more, level=self.level))


class Ladle(Serve):
    """Ladle beside such a broker, and the memory it had before."""

    def __init__(self, broker, *more, state=None):
        state = state or scratch()
        file = pathlib.Path(state, "broker-password")
        file.write_text("secret\n")
        file.chmod(0o600)
        super().__init__("--mqtt-url", f"mqtt://127.0.0.1:{broker.port}", "--mqtt-username", "ladle", "--mqtt-password-file", str(file), "--mqtt-name", "kitchen",
                         "--mqtt-scopes", "read,send", "--mqtt-client-id", "one-ladle", "--limits-sends-burst", "1000", "--limits-all-sends-burst", "10000",
                         *more, state=state)
        self.linked()
        self.before = self.resident()

    @property
    def mqtt(self):
        return self.status()["mqtt"]

    def says(self, seconds=15, **wanted):
        """Waits for a status: each value is a pattern of what must be there."""
        fits = lambda said: all(re.search(pattern, str(said.get(name, ""))) for name, pattern in wanted.items())
        until(lambda: fits(self.mqtt), seconds, 0.05, lambda: f"the status {wanted}: {self.mqtt}")
        return self.mqtt

    def serves(self, what):
        """A stream, a message and its run, as if there were no broker; and the program is not large."""
        began = time.monotonic()
        stream = EventStream(self, "?types=hello,run.ended")
        next(iter(stream))
        status, answer = self.json("POST", "/v1/messages?wait=20", {"text": f"echo beside {what}", "session": "beside"})
        check(status == 200 and answer["run"]["text"] == f"beside {what}", f"{what}: a message: {status} {answer}")
        check(any(data.get("runId") == answer["run"]["id"] for _, _, data in stream), f"{what}: the stream")
        stream.close()
        check(time.monotonic() - began < 10, f"{what}: HTTP and the stream took {time.monotonic() - began:.1f} s")
        grown = self.resident() - self.before
        check(SANITIZER or grown < 32 * MIB, f"{what}: {grown >> 20} MiB more than before")
        check(self.process.poll() is None, f"{what}: the program lives")


# -- scenes: the way in


def mute():
    broker = Broker(connect=lambda one: None)
    server = Ladle(broker)
    server.says(20, state="offline", code="MQTT_")
    server.serves("no CONNACK")
    check(len(broker.connections) <= 3, f"{len(broker.connections)} connections to a broker that is mute")


def old_broker():
    """Refuses 5 as each kind of old broker does; 3.1.1 is then taken, and 5 not tried again."""
    for name, refusal in (("0x84", lambda one: one.refuse(0x84)), ("the two bytes", lambda one: (one.write(b"\x20\x02\x00\x01"), one.cut())),
                          ("a bare close", lambda one: one.cut())):
        broker = Broker(connect=lambda one: one.accept() if one.level == 4 else refusal(one))
        server = Ladle(broker)
        said = server.says(25, state="online", protocol="3.1.1")
        check(broker.levels.count(5) <= (1 if name != "a bare close" else 3), f"{name}: {broker.levels}, {said}")
        broker.online().cut()
        broker.online()
        check(broker.levels[-1] == 4, f"{name}: it stays with 3.1.1: {broker.levels}")
        server.serves(f"a refusal of 5 by {name}")
        server.stop()


def refusals():
    for code, name in ((0x87, "MQTT_NOT_AUTHORIZED"), (0x86, "MQTT_NOT_AUTHORIZED"), (0x8A, "MQTT_"), (0x85, "MQTT_"), (0x80, "MQTT_")):
        broker = Broker(connect=lambda one: one.refuse(code))
        server = Ladle(broker)
        said = server.says(state="refused" if code not in (0x80, 0x85) else "offline|refused", code=name)
        check(said.get("hint") or said.get("detail"), f"CONNACK {code:#x} is explained: {said}")
        time.sleep(3)
        check(len(broker.connections) <= (2 if code not in (0x80, 0x85) else 5), f"CONNACK {code:#x}: {len(broker.connections)} connections in 3 s")
        server.serves(f"CONNACK {code:#x}")
        server.stop()


def garbage():
    dice = random.Random(SEED)
    kinds = [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\x15\x03\x03\x00\x02\x02\x28", b"\x20\xff\xff\xff\xff\xff", b"\x20\x80\x00", b"\x20\x03\x00\x00",
             b"\x00" * 50, b"\x20\x05\x00\x00\x7f\x11\x11", packet(CONNACK, b"\2\0\0"), packet(CONNACK, b"\0\0" + b"\x06\x21\0\5\x21\0\5"), packet(PUBLISH, b"\0\1a"),
             packet(CONNACK, b"\0\0" + properties([(0x21, 0)])), packet(0xF0, b"\0"), *(dice.randbytes(dice.randrange(1, 300)) for _ in range(20))]
    turn = iter(range(1 << 30))
    broker = Broker(connect=lambda one: (one.write(kinds[next(turn) % len(kinds)]), time.sleep(0.3), one.cut()))
    server = Ladle(broker)
    server.says(state="offline|connecting|refused", code="MQTT_")
    server.serves("garbage in place of CONNACK")
    time.sleep(4)
    check(len(broker.connections) <= 8, f"{len(broker.connections)} connections to one that talks rubbish")
    # The same behind a good CONNACK.
    broker = Broker()
    server = Ladle(broker)
    for number in range(12 if chosen.long else 4):
        one = broker.online()
        with contextlib.suppress(OSError):
            one.write(kinds[number] if number < 6 else dice.randbytes(200))
        with contextlib.suppress(TimeoutError):
            until(lambda: broker.connections[-1] is not one, 6, what="")
        one.cut()
    server.serves("garbage behind CONNACK")


def half():
    """The first half of a packet, then nothing: before and behind CONNACK."""
    turn = iter(range(1 << 30))
    broker = Broker(connect=lambda one: one.accept() if next(turn) else one.write(b"\x20\x09\x00"), limits=[(0x13, 1)])
    server = Ladle(broker)
    server.says(30, state="online")
    check(len(broker.connections) == 2, f"half a CONNACK ends: {len(broker.connections)} connections")
    one = broker.online()
    # In the long form the pongs go on: they are part of the packet that never ends.
    broker.ping = Connection.pong if chosen.long else lambda one: None
    one.write(packet(PUBLISH, b"\0\1a" + b"x" * 60_000)[:100])
    until(lambda: broker.connections[-1] is not one, 80 if chosen.long else 20, what="the end of a connection with half a packet")
    broker.ping = Connection.pong
    broker.online()
    server.serves("half a packet")


# -- scenes: limits, and acknowledgements


def say(server, count):
    for number in range(count):
        server.call("POST", "/v1/messages", {"text": f"echo {number}", "session": f"s{number % 3}"})
    server.at_rest()


def windows():
    most = []

    def slowly(one, message):
        one.waiting.append(message.number)
        most.append(len(one.waiting))
        # Answered from another thread, so that more than allowed would be read meanwhile.
        threading.Timer(0.005, lambda: (one.waiting.remove(message.number), one.say(PUBACK, struct.pack(">H", message.number)))).start()
    broker = Broker([(0x21, 1)], publish=slowly)
    server = Ladle(broker, "--mqtt-discovery")
    one = broker.online()
    until(lambda: any(m.topic.startswith("homeassistant/device/") for m in one.messages), what="the device, where one message is on its way")
    say(server, 6)
    until(lambda: server.mqtt["lag"] == {"events": 0, "seconds": 0}, 30, 0.1, lambda: f"all events, one at a time: {server.mqtt}")
    check(max(most) == 1, f"{max(most)} on their way where one is allowed")
    server.serves("receive maximum 1")


def small_packets():
    broker = Broker([(0x27, 200)])
    server = Ladle(broker)
    until(lambda: broker.connections and broker.connections[-1].level, what="a connection")
    said = server.says(code="MQTT_")
    say(server, 3)
    time.sleep(2)
    largest = max(one.largest for one in broker.connections)
    check(largest <= 200, f"a packet of {largest} bytes where 200 are allowed; {said}")
    check(len(broker.connections) <= 2, f"{len(broker.connections)} connections")
    server.serves("packets of 200 bytes")


def without():
    """A broker that knows neither QoS 1 nor retained messages."""
    broker = Broker([(0x24, 0), (0x25, 0)])
    server = Ladle(broker)
    broker.online()
    say(server, 3)
    until(lambda: any("/events/run.ended" in message.topic for message in broker.messages()), what="events")
    check(not [m for m in broker.messages() if m.qos or m.retain], f"neither QoS nor retain: {[m for m in broker.messages() if m.qos or m.retain][:2]}")
    said = json.dumps(server.mqtt)
    check("MQTT_" in said and re.search("retain|most once|QoS", said), f"and it is said: {said}")
    server.serves("a broker without QoS 1")


def silence():
    """Takes everything and acknowledges nothing but the first packets."""
    broker = Broker(publish=lambda one, message: None)
    server = Ladle(broker)
    until(lambda: broker.messages(), what="a message")
    say(server, 120 if not chosen.long else 1_000)
    time.sleep(2)
    one = broker.connections[-1]
    numbers = [message.number for message in one.messages if message.qos]
    check(len(numbers) == len(set(numbers)) <= 64, f"{len(numbers)} on their way, {len(set(numbers))} ids")
    check(server.mqtt["lag"]["seconds"] > 0, f"the lag is seen: {server.mqtt}")
    server.serves("no PUBACK")
    if chosen.long:
        until(lambda: broker.connections[-1] is not one, 90, what="a new connection after a minute without PUBACK")
        check(re.search("acknowledge", server.output + json.dumps(server.mqtt)), f"it is said: {server.mqtt}")


def disorder():
    """Acknowledges backwards, ids that nobody sent, twice, and one never; then Ladle dies. What was not acknowledged comes again, and
    all behind it, since an event counts only when all before it do."""
    skipped = []

    def backwards(one, message):
        if not message.qos:
            return
        if "/events/" in message.topic and not skipped:
            skipped.append(message.json["id"])
            return
        one.waiting.append(message.number)
        if len(one.waiting) >= 3 or "/events/" not in message.topic:
            for number in reversed(one.waiting):
                one.say(PUBACK, struct.pack(">H", number))
            one.waiting.clear()
    broker = Broker(publish=backwards)
    server = Ladle(broker)
    broker.online()
    say(server, 4)
    until(lambda: skipped, what="an event")
    time.sleep(2)
    first = {m.json["id"] for m in broker.messages() if "/events/" in m.topic}
    server.serves("PUBACK in disorder")
    server.kill()
    broker.publish = Connection.take
    count = len(broker.connections)
    server = Ladle(broker, state=server.state)
    until(lambda: len(broker.connections) > count, what="a new connection")
    again = broker.online()
    events = lambda: {m.json["id"] for m in again.messages if "/events/" in m.topic}
    until(lambda: skipped[0] in events(), 10, what="the event that was not acknowledged")
    until(lambda: first <= events(), 10, what=lambda: f"all behind it: {sorted(first - events())[:3]}")
    # Ids of nobody.
    for number in (1, 9_999, 65_535, 0):
        current = broker.online()
        current.say(PUBACK, struct.pack(">H", number))
        current.say(PUBACK, struct.pack(">HBB", number, 0x87, 0))
        time.sleep(0.3)
    server.says(70, state="online|degraded")
    server.serves("PUBACK for ids of nobody")


def resets():
    """Connections that break in the middle of a burst, each at another event. Nothing is lost, and nothing is in disorder in the end."""
    dice, limit, counts = random.Random(SEED), [0], {}

    def until_reset(one, message):
        if "/events/" in message.topic:
            counts[one] = counts.get(one, 0) + 1
            if counts[one] > limit[0]:
                # The last ones stay without acknowledgement.
                return one.reset()
            if dice.random() < 0.2:
                return
        one.take(message)
    broker = Broker(publish=until_reset)
    server = Ladle(broker)
    base = server.json("GET", "/v1/events?poll=0")[1]["cursor"]
    until(lambda: broker.connections, what="a connection")
    with contextlib.suppress(OSError, http.client.HTTPException):
        for number in range(60):
            server.call("POST", "/v1/messages", {"text": f"echo {number}", "session": f"s{number % 6}"})
    for _ in range(200 if chosen.long else 40):
        limit[0], count = dice.randrange(0, 50), len(broker.connections)
        server.process.send_signal(signal.SIGHUP)
        with contextlib.suppress(TimeoutError):
            until(lambda: len(broker.connections) > count, 0.3, what="")
        if not check(server.process.poll() is None, f"the program lives: {server.process.returncode} {server.output[-800:]}"):
            return
    server.at_rest()
    broker.publish = Connection.take
    server.process.send_signal(signal.SIGHUP)
    server.call("POST", "/v1/messages?wait=20", {"text": "echo the last"})
    until(lambda: server.mqtt["state"] == "online" and server.mqtt["lag"] == {"events": 0, "seconds": 0}, 70, 0.1, lambda: f"all events: {server.mqtt}")
    types = "run.started,run.ended,message,outbox,approval,session"
    truth = [event["id"] for event in selected(server, types, base)]
    came = {message.json["id"] for message in broker.messages() if "/events/" in message.topic}
    missing = [id for id in truth if id not in came]
    check(truth and not missing, f"{len(missing)} of {len(truth)} events are missing after {len(broker.connections)} connections: {missing[:5]}")
    server.serves("connections that break")


def steady():
    """Each acknowledgement takes a moment, and there is always an event on its way: that is no growing lag."""
    broker = Broker(publish=lambda one, message: threading.Timer(0.15, one.take, [message]).start())
    server = Ladle(broker)
    broker.online()
    end, worst = time.monotonic() + 6, 0
    while time.monotonic() < end:
        server.call("POST", "/v1/messages", {"text": "echo steady", "session": f"s{int(time.monotonic() * 10) % 9}"})
        worst = max(worst, server.mqtt["lag"]["seconds"])
        time.sleep(0.05)
    check(worst <= 2, f"a lag of {worst} s where each event waits 0.15 s")
    server.at_rest()
    server.serves("slow acknowledgements")


def keep_alive():
    broker = Broker([(0x13, 1)])
    server = Ladle(broker)
    one = broker.online()
    time.sleep(5.5)
    gaps = [after - before for before, after in zip(one.pings, one.pings[1:])]
    check(len(one.pings) >= 4 and max(gaps, default=9) < 1.45, f"a keep alive of one second: {len(one.pings)} pings, {max(gaps, default=0):.2f} s apart")
    # A broker whose ear is open and whose mouth is shut: dead, though all can be written to it.
    broker.ping = lambda one: None
    until(lambda: broker.connections[-1] is not one, 20, what="the end of a connection that does not answer a ping")
    server.serves("keep alive 1")


def farewells():
    for code, name, state in ((0x8E, "MQTT_TAKEN_OVER", "offline|connecting|refused"), (0x98, "MQTT_", "refused|offline"), (0x97, "MQTT_", ".")):
        broker = Broker()
        server = Ladle(broker)
        one = broker.online()
        one.say(DISCONNECT, bytes([code, 0]))
        one.cut()
        said = server.says(code=name, state=state)
        check(said.get("detail") or said.get("hint"), f"DISCONNECT {code:#x} is explained: {said}")
        time.sleep(3)
        check(len(broker.connections) <= (3 if code == 0x97 else 2), f"DISCONNECT {code:#x}: {len(broker.connections)} connections in 3 s")
        server.serves(f"DISCONNECT {code:#x}")
        server.stop()


# -- scenes: commands


def ran(server, text):
    return [entry for entry in server.json("GET", "/v1/outbox?limit=200")[1]["entries"] if entry.get("text", entry.get("preview")) == text]


def flood():
    broker = Broker()
    server = Ladle(broker)
    one = broker.online()
    began = time.monotonic()

    def send():
        with contextlib.suppress(OSError, TimeoutError):
            for number in range(chosen.flood):
                # Never more at once than Ladle takes.
                until(lambda: number - len(one.acks) < 16, 30, 0.0005, "room")
                one.command(number + 1, "send", f"echo flood {number}".encode())
    threading.Thread(target=send, daemon=True).start()
    slowest = 0
    for _ in range(20):
        start = time.monotonic()
        server.status()
        slowest = max(slowest, time.monotonic() - start)
        time.sleep(0.05)
    check(slowest < 1, f"a request beside a flood took {slowest:.2f} s")
    server.serves("a flood")
    until(lambda: len(one.acks) >= chosen.flood, 60, 0.1, lambda: f"an acknowledgement of each command: {len(one.acks)}")
    took = time.monotonic() - began
    server.at_rest()
    accepted = sum(said["status"] == 202 for said in one.results)
    check(0 < accepted <= 20 + 5 * (took + 2), f"{accepted} commands were taken in {took:.1f} s")
    check(any(said["status"] == 429 for said in one.results) and 0x97 in one.acks.values(), "the others are too many, and are told so")
    # All at once, whatever Ladle takes.
    with contextlib.suppress(OSError):
        for number in range(2_000):
            one.command(number + 1, "send", f"echo rude {number}".encode())
    with contextlib.suppress(TimeoutError):
        until(lambda: one.farewell is not None, 5, what="")
    check(one.farewell == 0x93, f"more at once than Ladle takes: DISCONNECT {one.farewell}")
    broker.online()
    server.serves("a flood without measure")
    server.stop()


def bad_commands():
    broker = Broker()
    server = Ladle(broker)
    one, number = broker.online(), 0
    deep = b'{"text":' + b"[" * 100_000
    for verb, payload in (("send", b"\xff\xfe"), ("send", b"x" * (65 << 10)), ("send", b"\0"), ("cmd/send", b"\xff"), ("cmd/send", deep), ("cmd/send", b"{}"),
                          ("cmd/send", {"text": "echo a", "id": ["x"]}), ("cmd/send", {"text": "echo b", "id": "x" * 5_000}), ("cmd/send", {"text": 5}),
                          ("cmd/abort", {}), ("cmd/abort", {"run": "../../x"}), ("cmd/retry", {"entry": "no such"}), ("cmd/approvals", {"id": "x", "decision": "allow-always"}),
                          ("cmd/", {}), ("cmd/send/more", {"text": "echo c"}), ("send/%zz", b"echo d"), ("send/agent:main:%2F%2E%2E", b"\xf0\x9f")):
        number += 1
        one.command(number, verb, payload)
        time.sleep(0.25)
    until(lambda: len(one.acks) >= number or broker.connections[-1] is not one, 10, what=lambda: f"an answer to each: {sorted(one.acks)}")
    check(broker.connections[-1] is one, f"bad commands do not end the connection: {one.farewell}")
    bad = [said for said in one.results if said["status"] == 202]
    check(len(one.results) >= number - 3 and len(bad) <= 2, f"{number} bad commands: {len(one.results)} results, taken {bad}")
    check(all(said["status"] < 500 for said in one.results), f"none is a fault of Ladle's: {[said for said in one.results if said['status'] >= 500]}")
    server.serves("bad commands")
    # Packets that no broker may send: each ends the connection, by a DISCONNECT that says why.
    topic = b"\0\x12" + f"{P}/send".encode()
    for name, raw, codes in (("QoS 3", packet(0x36, topic + b"\0\1\0x"), {0x81}), ("QoS 2", packet(0x34, topic + b"\0\1\0x"), {0x82, 0x9B, 0x81}),
                             ("id 0", packet(0x32, topic + b"\0\0\0x"), {0x81, 0x82}), ("a topic alias", packet(0x32, topic + b"\0\1\3\x23\0\5x"), {0x94, 0x82}),
                             ("a wildcard in a topic", publish(f"{P}/send/#", "x"), {0x81, 0x82, 0x90}), ("a topic that is no UTF-8", publish(b"\xff\xfe", "x"), {0x81, 0x82}),
                             ("SUBSCRIBE", packet(SUBSCRIBE, b"\0\1\0\0\1#\1"), {0x81, 0x82}), ("AUTH", packet(0xF0, b"\x18\0"), {0x8C, 0x82}),
                             ("2 MiB", packet(0x32, topic + b"\0\1\0" + b"x" * 2 * MIB), {0x95}), ("256 MiB", b"\x32\xff\xff\xff\x7f" + topic + b"\0\1\0" + b"x" * 300_000, {0x95})):
        broker = Broker()
        once = Ladle(broker)
        one = broker.online()
        with contextlib.suppress(OSError):
            one.write(raw)
        with contextlib.suppress(TimeoutError):
            until(lambda: one.farewell is not None or broker.connections[-1] is not one, 6, what="")
        check(one.farewell in codes, f"{name}: DISCONNECT {one.farewell}")
        check(once.resident() - once.before < 32 * MIB or SANITIZER, f"{name}: memory")
        check(once.process.poll() is None, f"{name}: the program lives")
        broker.online()
        once.stop()


def repeats():
    broker = Broker()
    server = Ladle(broker)
    one = broker.online()
    for number in range(5):
        one.command(7, "cmd/send", {"id": "again", "text": "echo again"}, dup=number > 0)
        one.command(8, "send", b"echo by its words", dup=number > 0)
        one.command(9, "send", b"echo by correlation", dup=number > 0, more=[(CORRELATION, b"\7")])
        time.sleep(0.2)
    # The broker comes back and is not sure.
    one.cut()
    until(lambda: broker.connections[-1] is not one, what="another connection")
    one = broker.online()
    one.command(7, "cmd/send", {"id": "again", "text": "echo again"}, dup=True)
    one.command(8, "send", b"echo by its words", dup=True)
    until(lambda: {7, 8} <= set(one.acks), what="their acknowledgement")
    server.at_rest()
    for text in ("echo again", "echo by its words", "echo by correlation"):
        check(len(ran(server, text)) == 1, f"{text}: {len(ran(server, text))} messages of one that was repeated")
    one.command(20, "send", b"echo a second press")
    one.command(21, "send", b"echo a second press")
    until(lambda: {20, 21} <= set(one.acks), what="their acknowledgement")
    check(len(ran(server, "echo a second press")) == 2, "two that are not repeats are two")
    # Acknowledged is on disk.
    one.command(30, "send", b"echo kept on disk")
    until(lambda: 30 in one.acks, what="its acknowledgement")
    server.kill()
    check(len(ran(Ladle(broker, state=server.state), "echo kept on disk")) == 1, "what is acknowledged is on disk")


def scene(act):
    began = time.monotonic()
    try:
        act()
    except Exception as error:  # a scene that ends early has failed, the others go on
        lines = [str(frame.lineno) for frame in traceback.extract_tb(error.__traceback__) if frame.filename == os.path.abspath(__file__)]
        return check(False, f"{act.__name__}, line {' '.join(lines)}: {type(error).__name__}: {error}")
    print(f"mqtt_hostile: {act.__name__} in {time.monotonic() - began:.1f} s", flush=True)


print(f"mqtt_hostile: seed {SEED}", flush=True)
# They mostly wait.
with concurrent.futures.ThreadPoolExecutor(4) as pool:
    list(pool.map(scene, (half, mute, old_broker, refusals, garbage, farewells, bad_commands, flood, disorder, resets, steady, windows, small_packets, without, silence,
                          keep_alive, repeats)))
tally.end()
