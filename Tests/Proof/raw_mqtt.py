"""MQTT by hand, for the checks: packets of 5 and 3.1.1, a client, a watcher that comes back after every cut, and Mosquitto as a
program. Standard library only."""

import contextlib
import getpass
import json
import pathlib
import re
import shutil
import socket
import struct
import subprocess
import threading
import time

from follower import place
from harness import Program, free_port, scratch, until

CONNECT, CONNACK, PUBLISH, PUBACK, SUBSCRIBE, SUBACK = 0x10, 0x20, 0x30, 0x40, 0x82, 0x90
PINGREQ, PINGRESP, DISCONNECT = 0xC0, 0xD0, 0xE0
# Properties of MQTT 5 by the form of their value.
FORMS = {**dict.fromkeys((0x01, 0x17, 0x19, 0x24, 0x25, 0x28, 0x29, 0x2A), ">B"), **dict.fromkeys((0x13, 0x21, 0x22, 0x23), ">H"),
         **dict.fromkeys((0x02, 0x11, 0x18, 0x27), ">I"), **dict.fromkeys((0x03, 0x08, 0x12, 0x15, 0x1A, 0x1C, 0x1F), "text"),
         **dict.fromkeys((0x09, 0x16), "bytes"), 0x0B: "varint", 0x26: "pair"}
RESPONSE, CORRELATION, EXPIRY, USER = 0x08, 0x09, 0x02, 0x26


def varint(number):
    out = b""
    while True:
        number, low = divmod(number, 128)
        out += bytes([low | (128 if number else 0)])
        if not number:
            return out


def take_varint(body, at):
    number = shift = 0
    while True:
        number |= (body[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if body[at - 1] < 128:
            return number, at


def text(value):
    value = value if isinstance(value, bytes) else value.encode()
    return struct.pack(">H", len(value)) + value


def take_text(body, at):
    end = at + 2 + struct.unpack_from(">H", body, at)[0]
    return body[at + 2:end], end


def packet(first, body=b""):
    return bytes([first]) + varint(len(body)) + body


def properties(values=()):
    """The bytes of (id, value) pairs, with their length before."""
    out = b""
    for name, value in values:
        form = FORMS[name]
        out += bytes([name])
        out += (text(value) if form in ("text", "bytes") else text(value[0]) + text(value[1]) if form == "pair"
                else varint(value) if form == "varint" else struct.pack(form, value))
    return varint(len(out)) + out


def take_properties(body, at):
    """The properties at a place as [(id, value)], and where they end."""
    length, at = take_varint(body, at)
    end, found = at + length, []
    while at < end:
        name, at = body[at], at + 1
        form = FORMS[name]
        if form in ("text", "bytes"):
            value, at = take_text(body, at)
        elif form == "pair":
            key, at = take_text(body, at)
            value, at = take_text(body, at)
            value = key, value
        elif form == "varint":
            value, at = take_varint(body, at)
        else:
            value, = struct.unpack_from(form, body, at)
            at += struct.calcsize(form)
        found.append((name, value))
    return found, end


def publish(topic, payload, qos=1, number=1, retain=False, dup=False, more=(), level=5):
    payload = payload if isinstance(payload, bytes) else (payload if isinstance(payload, str) else json.dumps(payload)).encode()
    body = text(topic) + (struct.pack(">H", number) if qos else b"") + (properties(more) if level == 5 else b"") + payload
    return packet(PUBLISH | dup << 3 | qos << 1 | retain, body)


class Message:
    """A PUBLISH as it was read."""

    def __init__(self, first, body, level):
        self.dup, self.qos, self.retain = bool(first & 8), first >> 1 & 3, bool(first & 1)
        self.at = time.monotonic()
        topic, at = take_text(body, 0)
        self.topic = topic.decode()
        self.number = struct.unpack_from(">H", body, at)[0] if self.qos else None
        at += 2 if self.qos else 0
        self.properties, at = take_properties(body, at) if level == 5 else ([], at)
        self.payload = body[at:]

    def value(self, name):
        return next((value for key, value in self.properties if key == name), None)

    @property
    def json(self):
        return json.loads(self.payload)

    def __repr__(self):
        return f"{self.topic} q{self.qos} r{self.retain:d} {self.payload[:200]!r}"


class Wire:
    """Whole packets of a socket."""

    def __init__(self, connection):
        self.socket = connection
        self.file = connection.makefile("rb")
        self.lock = threading.Lock()

    def read(self):
        """The next packet as (first byte, body); None at the end."""
        try:
            if not (first := self.file.read(1)):
                return None
            length = b""
            while not length or length[-1] & 128:
                if not (more := self.file.read(1)):
                    return None
                length += more
            count = take_varint(length, 0)[0]
            body = self.file.read(count)
        except (OSError, ValueError):
            return None
        return (first[0], body) if len(body) == count else None

    def write(self, data):
        with self.lock:
            self.socket.sendall(data)

    def cut(self):
        """As a process that is killed: the connection goes, without DISCONNECT."""
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()


class Refused(ConnectionError):
    def __init__(self, code):
        super().__init__(f"CONNACK {code:#x}")
        self.code = code


class Client:
    """A client that keeps what comes in `messages` and acknowledges it; `take` is called with each message before that."""

    def __init__(self, port, *filters, name="", user="watcher", password="secret", level=5, clean=True, expiry=0, take=None, context=None):
        self.level, self.take, self.messages = level, take, []
        self.acknowledged, self.number, self.closed = {}, 0, threading.Event()
        connection = socket.create_connection(("127.0.0.1", port), 10)
        self.wire = Wire(context.wrap_socket(connection, server_hostname="localhost") if context else connection)
        body = text("MQTT") + bytes([level, 0xC0 | clean << 1]) + struct.pack(">H", 60)
        body += properties([(0x11, expiry)]) if level == 5 else b""
        self.wire.write(packet(CONNECT, body + text(name) + text(user) + text(password)))
        answer = self.wire.read()
        if not answer or answer[0] != CONNACK or answer[1][1]:
            self.wire.cut()
            raise Refused(answer[1][1] if answer else -1)
        self.present = bool(answer[1][0])
        self.wire.socket.settimeout(None)
        threading.Thread(target=self.listen, daemon=True).start()
        if filters:
            self.subscribe(*filters)

    def listen(self):
        while found := self.wire.read():
            first, body = found
            if first & 0xF0 == PUBLISH:
                message = Message(first, body, self.level)
                self.messages.append(message)
                if self.take:
                    self.take(message)
                if message.qos:
                    with contextlib.suppress(OSError):
                        self.wire.write(packet(PUBACK, struct.pack(">H", message.number)))
            elif first in (PUBACK, SUBACK):
                self.acknowledged[struct.unpack_from(">H", body)[0]] = body[2] if len(body) > 2 and first == PUBACK else body[-1] if first == SUBACK else 0
        self.closed.set()

    def next_number(self):
        self.number += 1
        return self.number

    def subscribe(self, *filters):
        number = self.next_number()
        self.wire.write(packet(SUBSCRIBE, struct.pack(">H", number) + (properties() if self.level == 5 else b"")
                               + b"".join(text(one) + b"\x01" for one in filters)))
        return self.wait_for(number)

    def publish(self, topic, payload, qos=1, retain=False, dup=False, number=None, more=(), wait=True):
        """The broker's code for it; with QoS 0, or without `wait`, nothing."""
        number = number or self.next_number()
        self.wire.write(publish(topic, payload, qos, number, retain, dup, more, self.level))
        return self.wait_for(number) if qos and wait else None

    def wait_for(self, number):
        until(lambda: number in self.acknowledged or self.closed.is_set(), 10, what=f"the broker's answer to {number}")
        if number not in self.acknowledged:
            raise ConnectionResetError("the broker has closed the connection")
        return self.acknowledged.pop(number)

    def of(self, topic):
        return [message for message in list(self.messages) if message.topic == topic]

    def newest(self, topic):
        """The JSON of the newest message of a topic; nothing where none came."""
        found = self.of(topic)
        return found[-1].json if found and found[-1].payload else None

    def close(self):
        with contextlib.suppress(OSError):
            self.wire.write(packet(DISCONNECT))
        self.wire.cut()


class Watcher(threading.Thread):
    """A client that comes back after every cut, and keeps the messages of all its connections in their order. With a name it keeps its
    session at the broker."""

    def __init__(self, port, *filters, name="", **more):
        super().__init__(daemon=True)
        self.port, self.filters, self.name, self.more = port, filters, name, more
        self.messages, self.connects, self.client, self.stopping = [], 0, None, False
        self.start()
        until(lambda: self.connects, what="a connection to the broker")

    def run(self):
        while not self.stopping:
            try:
                kept = {"name": self.name, "clean": False, "expiry": 3600} if self.name else {}
                self.client = Client(self.port, *self.filters, take=self.messages.append, **kept, **self.more)
                self.connects += 1
                self.client.closed.wait()
            except (OSError, TimeoutError):
                pass
            time.sleep(0.05)

    of, newest = Client.of, Client.newest

    @property
    def is_connected(self):
        return self.client is not None and not self.client.closed.is_set()

    def cut(self):
        if self.client:
            self.client.wire.cut()

    def stop(self):
        self.stopping = True
        self.cut()


def retained(port, *filters, seconds=0.3, **more):
    """What the broker keeps, by topic: as one sees it who comes now."""
    client = Client(port, *(filters or ("#",)), **more)
    time.sleep(seconds)
    client.close()
    return {message.topic: message for message in client.messages if message.retain}


MOSQUITTO = shutil.which("mosquitto") or shutil.which("/usr/sbin/mosquitto")


class Mosquitto(Program):
    """A broker on loopback with the users `ladle` and `watcher`, both with the password `secret`, and whatever `lines` add to its
    configuration."""

    def __init__(self, *lines, port=None, folder=None, acl=None, listener=""):
        self.port, self.lines_, self.acl, self.listener = port or free_port(), lines, acl, listener
        self.folder = pathlib.Path(folder or scratch())
        passwords, rights = self.folder / "passwords", self.folder / "rights"
        if not passwords.exists():
            passwords.touch(0o600)
            for user in ("ladle", "watcher"):
                subprocess.run(["mosquitto_passwd", "-b", passwords, user, "secret"], check=True, capture_output=True)
        if acl:
            rights.write_text(acl)
            rights.chmod(0o600)
        settings = [f"listener {self.port} 127.0.0.1", *(listener.splitlines()), f"user {getpass.getuser()}", "allow_anonymous false",
                    f"password_file {passwords}", *([f"acl_file {rights}"] if acl else []), "persistence true",
                    f"persistence_location {self.folder}/", "log_type all", "log_dest stderr", "max_queued_messages 1000", *lines]
        (self.folder / "mosquitto.conf").write_text("\n".join(settings) + "\n")
        super().__init__(["-c", str(self.folder / "mosquitto.conf")], r"mosquitto version (\S+) running", program=MOSQUITTO)

    def again(self):
        """Another process in the place of this one, which has ended."""
        return Mosquitto(*self.lines_, port=self.port, folder=self.folder, acl=self.acl, listener=self.listener)

    def connects(self, name):
        """The connections of a client so far, as (protocol level, clean start)."""
        return re.findall(rf"New client connected from \S+ as {re.escape(name)} \(p(\d), c(\d)", self.output)

    def subscriptions(self, name):
        """The filters that a client has asked for so far."""
        found, mine = [], False
        for line in list(self.lines):
            if "SUBSCRIBE from" in line:
                mine = f"SUBSCRIBE from {name}" in line
            elif mine and (asked := re.match(r"\d+: \t(\S+) \(QoS", line)):
                found.append(asked[1])
            elif "Sending SUBACK" in line:
                mine = False
        return found


class Chain:
    """The events that a subscriber had, held against the log."""

    def __init__(self, prefix, messages):
        start = f"{prefix}/events/"
        self.arrived = [(message.topic.removeprefix(start), message.json) for message in list(messages)
                        if message.topic.startswith(start) and message.payload and message.topic != start + "reset"]
        self.events, self.repeats, self.unequal = {}, 0, []
        for _, event in self.arrived:
            if known := self.events.get(event["id"]):
                self.repeats += 1
                if known != event:
                    self.unequal.append(event["id"])
            self.events[event["id"]] = event

    def missing(self, truth):
        return [event["id"] for event in truth if event["id"] not in self.events]

    def judge(self, tally, server, types, base, who, may_miss=0, may_repeat=0):
        """Compares with `GET /v1/events`, from behind `base` to the last event that came. What is missing must show in `prev`, and a
        request with the last id before it must bring it."""
        last = max((place(id) for id in self.events), default=0)
        truth = [event for event in selected(server, types, base) if place(event["id"]) <= last]
        missing, known = self.missing(truth), {event["id"] for event in truth}
        tally.check(truth, f"{who}: there are events")
        tally.check(may_miss or not missing, f"{who}: none of {len(truth)} events is missing: {len(missing)}, {missing[:3]}")
        tally.check(self.repeats <= may_repeat, f"{who}: {self.repeats} came twice, of at most {may_repeat}")
        tally.check(not self.unequal, f"{who}: what comes again is equal: {self.unequal[:3]}")
        strange = [id for id in self.events if place(id) > place(base) and id not in known]
        tally.check(not strange, f"{who}: nothing comes that is not in the log: {strange[:3]}")
        wrong = [topic for topic, event in self.arrived if topic != event["type"]]
        tally.check(not wrong, f"{who}: the topic names the type: {wrong[:3]}")
        differ = [(event, self.events[event["id"]]) for event in truth if event["id"] in self.events
                  and not self.events[event["id"]].get("tooLarge")
                  and {**self.events[event["id"]], "prev": None} != {**event, "prev": None}]
        tally.check(not differ, f"{who}: an event is as GET /v1/events has it: {differ[:1]}")
        prevs = [(event["id"], self.events[event["id"]].get("prev"), before["id"]) for before, event in zip(truth, truth[1:])
                 if event["id"] in self.events and self.events[event["id"]].get("prev") != before["id"]]
        tally.check(not prevs, f"{who}: `prev` is the event before: {prevs[:3]}")
        # As a client does it that has noticed a gap.
        filled, seen = set(), base
        for event in truth:
            if mine := self.events.get(event["id"]):
                if mine.get("prev") not in (seen, None) and mine.get("prev") in known:
                    filled |= {one["id"] for one in selected(server, types, seen)}
                seen = event["id"]
        tally.check(set(missing) <= filled, f"{who}: gaps show in `prev`, and GET /v1/events fills them: {sorted(set(missing) - filled)[:3]}")
        return truth


def selected(server, types, since):
    """Every event of these types behind an id."""
    found = []
    while page := server.json("GET", f"/v1/events?poll=0&types={types}&since={since}")[1]:
        found += page["events"]
        if page["cursor"] == since:
            return found
        since = page["cursor"]
    return found
