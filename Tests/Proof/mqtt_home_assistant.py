"""The device that `mqtt.discovery` makes, in Home Assistant itself: its entities, messages to the agent and replies, approvals, the
automations of docs/mqtt.md as they stand there, long and strange replies, scopes that come and go, and every order in which Ladle, the
broker and Home Assistant can come back after they died. A line of Home Assistant's log that complains is a failure.

Home Assistant wants a newer Python than Debian 12 has. `HOME_ASSISTANT` is the command that runs its `hass`, such as
`chroot /srv/sid /ha/venv/bin/hass`, where /tmp has to be the same folder as here; `home_assistant_chroot.sh FOLDER` makes one. Without it
a Python on the PATH is looked for, and Home Assistant comes from PyPI. Where there is neither, the check says so and is left out."""

import base64
import collections
import contextlib
import datetime
import http.client
import itertools
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import traceback
import urllib.error
import urllib.parse
import urllib.request

from harness import ROOT, DemoGateway, Serve, Tally, free_port, options, scratch, until
from raw_mqtt import MOSQUITTO, Client, Mosquitto, Watcher, retained

# The release for a Python, newest first; device discovery is of 2024.11.
RELEASES = (((3, 14, 2), "2026.11.0"), ((3, 13, 0), "2025.4.4"))
NEEDS = ("home-assistant-frontend", "paho-mqtt", "hassil", "home-assistant-intents", "ha-ffmpeg", "mutagen", "securetar", "SQLAlchemy")
ENVIRONMENT = ROOT / ".build/home-assistant-mqtt"
P = "ladle/kitchen"
SCOPES = "read,send,approvals"
# (kind, name, category, icon, device class); those of `off` are there, and disabled.
ENTITIES = {
    "link": ("sensor", "Gateway link", "diagnostic", "mdi:lan-connect", "enum"),
    "working": ("binary_sensor", "Working", None, None, "running"),
    "activity": ("sensor", "Activity", None, "mdi:robot", None),
    "active_runs": ("sensor", "Active runs", None, "mdi:run-fast", None),
    "last_reply": ("sensor", "Last reply", None, "mdi:message-reply-text", None),
    "last_reply_at": ("sensor", "Last reply time", None, None, "timestamp"),
    "last_error": ("sensor", "Last error", "diagnostic", "mdi:alert-circle-outline", None),
    "outbox_pending": ("sensor", "Outbox pending", "diagnostic", "mdi:tray-full", None),
    "outbox_problem": ("binary_sensor", "Outbox problem", "diagnostic", None, "problem"),
    "run": ("event", "Run", None, "mdi:play-circle-outline", None),
    "approvals": ("sensor", "Approvals pending", None, "mdi:shield-account", None),
    "approval": ("event", "Approval", None, "mdi:shield-key-outline", None),
    "message": ("notify", "Message", None, "mdi:message-text", None),
    "abort": ("button", "Stop all runs", None, "mdi:stop-circle-outline", None),
    "retry": ("button", "Retry failed messages", "config", "mdi:refresh", None),
    "deny_all": ("button", "Deny all approvals", None, "mdi:shield-off-outline", None),
    "version": ("update", "Version", "diagnostic", None, None),
}
OFF = {"deny_all", "version"}
COMMANDS = {"message", "abort", "retry", "deny_all"}
# They have no state before they were used, and are of no broker's state.
STATELESS = {"run", "approval", "message", "abort", "retry", "deny_all"}
# Who of Home Assistant would complain about Ladle, and what it says about a broker that went.
WATCHED = re.compile(r"(WARNING|ERROR|CRITICAL) \([^)]*\) \[(homeassistant\.(components\.(mqtt|sensor|binary_sensor|event|notify|button|select|update|automation"
                     r"|recorder)|helpers|core|exceptions)|paho)\b")
ORDINARY = ("Disconnected from MQTT server", "Connection refused", "Failed to connect to MQTT server", "Unable to connect to the MQTT broker",
            "Error returned from MQTT server", "failed to receive on socket", "components.recorder.util", "No MQTT services were found")
OPTIONS = options(rounds=(6, 12))
tally = Tally()
check = tally.check


def left_out(why):
    print(f"left out: {why}")
    tally.check(True, "")
    tally.end()


def command():
    """The words that run `hass`."""
    if named := os.environ.get("HOME_ASSISTANT"):
        return shlex.split(named)
    if (ENVIRONMENT / "bin/hass").exists():
        return [str(ENVIRONMENT / "bin/hass")]
    for name in ("python3.14", "python3.13", sys.executable):
        if not (python := shutil.which(name)):
            continue
        done = subprocess.run([python, "-c", "import sys; print(*sys.version_info[:3])"], capture_output=True, text=True)
        version = tuple(map(int, done.stdout.split())) if not done.returncode else ()
        release = next((release for least, release in RELEASES if version >= least), None)
        if not release:
            continue
        subprocess.run([python, "-m", "venv", ENVIRONMENT], check=True)
        pip = [ENVIRONMENT / "bin/python", "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        if not subprocess.run([*pip, f"homeassistant=={release}"]).returncode:
            rules = next(ENVIRONMENT.glob("lib/*/site-packages/homeassistant/package_constraints.txt"))
            subprocess.run([*pip, "-c", rules, *NEEDS])
            return [str(ENVIRONMENT / "bin/hass")]
        shutil.rmtree(ENVIRONMENT, ignore_errors=True)
    return left_out("no Home Assistant can be had here; HOME_ASSISTANT names the command that runs one")


# -- Home Assistant


def automations():
    """Those of docs/mqtt.md; a phone is played by an entity of MQTT, and its question by an event."""
    section = re.search(r"^## Home Assistant$(.*?)^## ", (ROOT / "docs/mqtt.md").read_text(), re.DOTALL | re.MULTILINE)[1]
    blocks = re.findall(r"^```yaml\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)
    check(len(blocks) >= 3, f"docs/mqtt.md has its automations: {len(blocks)}")
    text = "".join(blocks)
    text = re.sub(r"- action: notify\.mobile_app_phone\n(\s+)data:", r"- event: phone_asked\n\1event_data:", text)
    names = itertools.count(1)
    return re.sub(r"^- triggers:", lambda _: f"- id: doc{next(names)}\n  alias: doc\n  mode: queued\n  triggers:", text, flags=re.MULTILINE)


class House:
    """Home Assistant in a folder of its own. It says everything on its output, which is kept in a file."""

    def __init__(self, words, broker):
        self.words, self.broker, self.port = words, broker, free_port()
        self.folder = pathlib.Path(scratch())
        self.log = self.folder / "said.txt"
        self.process, self.refresh, self.token, self.renewed, self.events = None, None, None, 0, []
        self.read = 0
        # Since 2026 the port is no matter of YAML: one from there is undone after five minutes.
        said = subprocess.run([*words, "--version"], capture_output=True, text=True, timeout=120).stdout
        self.release = tuple(map(int, re.findall(r"\d+", said.strip().split("\n")[-1])[:2]))
        (self.folder / ".storage").mkdir()
        if self.release >= (2026,):
            (self.folder / ".storage/http").write_text(json.dumps({"version": 3, "minor_version": 1, "key": "http", "data": {
                "stable": {"server_port": self.port, "server_host": ["127.0.0.1"], "cors_allowed_origins": [], "ip_ban_enabled": True,
                           "login_attempts_threshold": -1, "ssl_profile": "intermediate_v6", "use_x_frame_options": True,
                           "created_at": "2026-11-01T00:00:00+00:00", "error": None, "error_message": None},
                "pending": None, "yaml_migration_done": True}}))
        (self.folder / "automations.yaml").write_text(automations())
        (self.folder / "configuration.yaml").write_text(
            "api:\nconfig:\nonboarding:\nhistory:\nrecorder:\n  commit_interval: 1\nautomation: !include automations.yaml\n"
            "logger:\n  default: warning\n  logs:\n    homeassistant.components.mqtt: info\n"
            + (f"http:\n  server_host: 127.0.0.1\n  server_port: {self.port}\n" if self.release < (2026,) else "")
            + "mqtt:\n  - notify:\n      name: mobile_app_phone\n      unique_id: phone\n      command_topic: phone/say\n")

    def start(self):
        self.process = subprocess.Popen([*self.words, "-c", str(self.folder), "--skip-pip-packages", "pymicro-vad,pyspeex-noise"],
                                        stdout=open(self.log, "ab"), stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        self.answers()
        return self

    def answers(self):
        def alive():
            if self.process.poll() is not None:
                raise RuntimeError(f"Home Assistant ended: {self.log.read_text()[-3000:]}")
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/api/onboarding", timeout=2) as answer:
                    return answer.status == 200
            except urllib.error.HTTPError as error:
                return error.code in (401, 404)
            except OSError:
                return False
        until(alive, 240, 0.3, lambda: f"an answer of Home Assistant: {self.log.read_text()[-3000:]}")
        if self.refresh:
            self.running()

    def running(self):
        def is_running():
            with contextlib.suppress(OSError):
                return self.api("GET", "config").get("state") == "RUNNING"
        until(is_running, 120, 0.3, "the end of its start")
        threading.Thread(target=self.follow, daemon=True).start()

    def form(self, path, **fields):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", urllib.parse.urlencode(fields).encode())
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def api(self, method, path, body=None, raw=False, timeout=60):
        if self.refresh and time.monotonic() - self.renewed > 1000:
            self.token = self.form("/auth/token", grant_type="refresh_token", refresh_token=self.refresh, client_id=self.client)["access_token"]
            self.renewed = time.monotonic()
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/api/{path}", None if body is None else json.dumps(body).encode(), method=method,
            headers={"Content-Type": "application/json", **({"Authorization": f"Bearer {self.token}"} if self.token else {})})
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            text = answer.read()
            return text.decode() if raw else json.loads(text or b"null")

    def move_in(self):
        """A first user, and the integration MQTT."""
        self.client = f"http://127.0.0.1:{self.port}/"
        code = self.api("POST", "onboarding/users", {"name": "me", "username": "me", "password": "a-password", "client_id": self.client, "language": "en"})
        made = self.form("/auth/token", grant_type="authorization_code", code=code["auth_code"], client_id=self.client)
        self.token, self.refresh, self.renewed = made["access_token"], made["refresh_token"], time.monotonic()
        for step in ("core_config", "analytics"):
            self.api("POST", f"onboarding/{step}", {"client_id": self.client})
        self.running()
        flow = self.api("POST", "config/config_entries/flow", {"handler": "mqtt"})
        fields = {"broker": "127.0.0.1", "port": self.broker.port, "username": "watcher", "password": "secret"}
        extra = {"protocol": "5", "other_settings": {"set_client_cert": False, "set_ca_cert": "off", "transport": "tcp"}}
        # Releases before 2026 ask for less.
        for more in (extra, {}):
            try:
                done = self.api("POST", f"config/config_entries/flow/{flow['flow_id']}", {**fields, **more})
                break
            except urllib.error.HTTPError as error:
                done = error.read().decode()
        check(isinstance(done, dict) and done.get("type") == "create_entry", f"the integration MQTT is set up: {done}")
        return self

    def follow(self):
        """Every event of its bus, for as long as it lives."""
        with contextlib.suppress(OSError, http.client.HTTPException, ValueError, AttributeError):
            request = urllib.request.Request(f"http://127.0.0.1:{self.port}/api/stream", headers={"Authorization": f"Bearer {self.token}"})
            with urllib.request.urlopen(request, timeout=120) as stream:
                for line in stream:
                    if line.startswith(b"data: {"):
                        self.events.append(json.loads(line[6:]))

    def fired(self, entity, since=0):
        """The attributes of each firing of an event entity, as the bus told them. Its state is when it last fired; it also changes to that
        from `unavailable`, after a broker that was away."""
        found, seen = [], set()
        for number, event in enumerate(list(self.events)):
            if event["event_type"] == "state_changed" and event["data"]["entity_id"] == entity and (new := event["data"]["new_state"]):
                if new["state"] not in ("unknown", "unavailable") and new["state"] not in seen and not new["attributes"].get("restored"):
                    seen.add(new["state"])
                    if number >= since:
                        found.append(new["attributes"])
        return found

    def state(self, entity):
        try:
            return self.api("GET", f"states/{entity}")
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return None
            raise

    def says(self, entity):
        found = self.state(entity)
        return found and found["state"]

    def act(self, action, entity=None, **data):
        domain, name = action.split(".")
        return self.api("POST", f"services/{domain}/{name}", {**({"entity_id": entity} if entity else {}), **data})

    def ask(self, kind, **more):
        """One command of its WebSocket."""
        with socket.create_connection(("127.0.0.1", self.port), 30) as connection:
            connection.sendall(f"GET /api/websocket HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                               f"Sec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}\r\n\r\n".encode())
            file = connection.makefile("rb")
            while file.readline() not in (b"\r\n", b""):
                pass

            def take():
                while True:
                    first, second = file.read(2)
                    length = second & 127
                    length = struct.unpack(">H", file.read(2))[0] if length == 126 else struct.unpack(">Q", file.read(8))[0] if length == 127 else length
                    data = file.read(length)
                    if first & 15 == 1:
                        return json.loads(data)

            def give(value):
                data = json.dumps(value).encode()
                head = bytes([0x81]) + (bytes([0x80 | len(data)]) if len(data) < 126 else b"\xfe" + struct.pack(">H", len(data)))
                connection.sendall(head + b"\0\0\0\0" + data)
            take()
            self.api("GET", "config")
            give({"type": "auth", "access_token": self.token})
            assert take()["type"] == "auth_ok"
            give({"id": 1, "type": kind, **more})
            answer = take()
            assert answer["success"], answer
            return answer["result"]

    def registry(self):
        """What it has registered of Ladle, by the key of the entity."""
        mine = [one for one in self.ask("config/entity_registry/list") if one["platform"] == "mqtt" and one["unique_id"].startswith("ladle_")]
        return {one["unique_id"].split("_", 2)[2]: one for one in mine}

    def complaints(self):
        """What it has complained about since it was last asked."""
        text = self.log.read_text(errors="replace")
        new, self.read = text[self.read:], len(text)
        # A complaint may have lines that follow.
        parts = re.split(r"(?m)^(?=(?:\x1b\[[\d;]*m)?\d{4}-\d\d-\d\d \d\d:)", new)
        return [part.strip()[:600] for part in parts if WATCHED.search(part) and not any(word in part for word in ORDINARY)]

    def stop(self, number=signal.SIGTERM):
        if self.process and self.process.poll() is None:
            self.process.send_signal(number)
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait(20)


# -- Ladle beside it


def ladle(broker, gateway, scopes=SCOPES, state=None, more=("--mqtt-text", "full"), name="kitchen"):
    state = state or scratch()
    file = pathlib.Path(state, "broker-password")
    file.write_text("secret\n")
    file.chmod(0o600)
    return Serve("--mqtt-url", f"mqtt://127.0.0.1:{broker.port}", "--mqtt-username", "ladle", "--mqtt-password-file", str(file), "--mqtt-name",
                 name, "--mqtt-scopes", scopes, "--mqtt-discovery", "--limits-sends-burst", "1000", "--limits-all-sends-burst", "10000",
                 "--gateway-scopes", "read,write,approvals", *more, state=state, gateway=gateway.url)


def entity(key):
    kind, name, *_ = ENTITIES[key]
    return f"{kind}.ladle_{name.lower().replace(' ', '_')}"


def all_are(house, keys, seconds=60, what="", wanted=lambda state: state not in (None, "unavailable"), quiet=False):
    """Waits until all entities of these keys are as wanted; says how long that took."""
    start, states = time.monotonic(), {}

    def so():
        with contextlib.suppress(OSError):
            found = {one["entity_id"]: one["state"] for one in house.api("GET", "states")}
            states.clear()
            states.update({key: found.get(entity(key)) for key in keys})
            return all(wanted(state) for state in states.values())
    try:
        until(so, seconds, 0.25, what)
    except TimeoutError:
        check(False, f"{what}: { {key: state for key, state in states.items() if not wanted(state)} } after {seconds} s")
        return None
    check(True, what)
    return time.monotonic() - start


def is_quiet(house, what):
    found = house.complaints()
    check(not found, f"Home Assistant complains {what}: {found[:6]}")


def soon(condition, what, seconds=30):
    """A condition that comes true, as a check."""
    value = None
    with contextlib.suppress(TimeoutError):
        value = until(condition, seconds, 0.1)
    return check(value, what() if callable(what) else what) and value


SHOWN = [key for key in ENTITIES if key not in OFF]
AVAILABLE = [key for key in SHOWN if key not in ("run", "approval")]


class Day:
    """A broker, a gateway, Ladle and Home Assistant, as the scenes find them."""

    def __init__(self, words):
        self.gateway = DemoGateway("--speed", "3")
        self.broker = Mosquitto("persistence true", "autosave_interval 1", "autosave_on_changes true")
        self.watcher = Watcher(self.broker.port, "#")
        self.me = Client(self.broker.port)
        self.ladle = ladle(self.broker, self.gateway).linked()
        self.house = House(words, self.broker).start().move_in()
        print(f"Home Assistant {self.house.api('GET', 'config')['version']} on port {self.house.port}", flush=True)

    def says(self, text):
        self.house.act("notify.send_message", entity("message"), message=text)

    def reply(self):
        return self.house.state(entity("last_reply"))

    def answered(self, text, shown, what, seconds=40):
        """A message by Home Assistant, whose reply it shows."""
        self.says(text)
        return soon(lambda: self.reply()["state"] == shown and self.reply(), lambda: f"{what}: {str(self.reply())[:600]}", seconds)


def at_rest(day):
    house = day.house
    took = all_are(house, SHOWN, 60, "the entities appear", lambda state: state is not None)
    print(f"the device was there after {took or 0:.1f} s", flush=True)
    all_are(house, [key for key in SHOWN if key not in STATELESS | {"last_reply", "last_reply_at", "last_error"}], 20, "each state is known at rest",
            lambda state: state not in (None, "unknown", "unavailable"))
    found = house.registry()
    check(set(found) == set(ENTITIES), f"the entities are those of the check: {sorted(set(found) ^ set(ENTITIES))}")
    for key, (kind, name, category, icon, device_class) in ENTITIES.items():
        one = found.get(key)
        if not check(one, f"the entity {key} is registered"):
            continue
        check(one["entity_id"] == entity(key), f"{key} has its id: {one['entity_id']}")
        check((one["original_name"], one["entity_category"]) == (name, category), f"{key} has name and category: {one['original_name']}, {one['entity_category']}")
        check(bool(one["disabled_by"]) == (key in OFF), f"{key} is {'disabled' if key in OFF else 'enabled'}: {one['disabled_by']}")
        if key not in OFF:
            seen = house.state(entity(key))["attributes"]
            check(seen.get("icon") == icon, f"{key} has its icon: {seen.get('icon')}")
            check(seen.get("device_class") == device_class, f"{key} has its class: {seen.get('device_class')}")
            check(seen["friendly_name"] == f"Ladle {name}", f"{key} is shown as {seen['friendly_name']}")
    devices = [one for one in house.ask("config/device_registry/list") if one["manufacturer"] == "Ladle"]
    check(len(devices) == 1 and devices[0]["name"] == "Ladle" and devices[0]["sw_version"], f"one device: {devices}")
    check(house.says(entity("link")) == "online", f"the link is online: {house.state(entity('link'))}")
    check({"code", "hint", "since"} <= set(house.state(entity("link"))["attributes"]), f"with its attributes: {house.state(entity('link'))}")
    check(house.says(entity("working")) == "off" and house.says(entity("activity")) == "idle" and house.says(entity("active_runs")) == "0", "nothing runs")
    check(house.says(entity("outbox_pending")) == "0" and house.says(entity("outbox_problem")) == "off", "the outbox is empty")
    check(house.says(entity("approvals")) == "0" and house.state(entity("approvals"))["attributes"].get("list") == [], "no approval waits")
    is_quiet(house, "at rest")


def messages(day):
    house, since = day.house, len(day.house.events)
    seen = day.answered("echo Guten Morgen", "Guten Morgen", "a message is answered")
    if seen:
        have = seen["attributes"]
        check(have.get("text") == "Guten Morgen" and have.get("session") == "agent:main:main" and have.get("runId") and have.get("id"), f"the reply's attributes: {have}")
    soon(lambda: [one["event_type"] for one in house.fired(entity("run"), since)] == ["started", "completed"],
         lambda: f"Run fires started and completed: {house.fired(entity('run'), since)}", 10)
    fired = house.fired(entity("run"), since)
    check(len({one.get("id") for one in fired}) == len(fired) and all(one.get("runId") for one in fired), f"each with its id: {fired}")
    check(fired and fired[-1].get("short") == "Guten Morgen" and fired[-1].get("session"), f"with the reply: {fired[-1:]}")
    at = house.says(entity("last_reply_at"))
    check(abs((datetime.datetime.now(datetime.timezone.utc) - datetime.datetime.fromisoformat(at)).total_seconds()) < 60 if at[:2] == "20" else False,
          f"the time of the reply: {at}")
    # What a reply may be.
    for text, shown in (("Zwei\nZeilen", "Zwei Zeilen"), ("Grüße aus Köln 🚀👨‍👩‍👧 ⛅️", "Grüße aus Köln 🚀👨‍👩‍👧 ⛅️"), ("{{ 1 + 1 }} {% raw %}", "{{ 1 + 1 }} {% raw %}"),
                        ("\"'\\ <b>&amp;</b>", "\"'\\ <b>&amp;</b>"), ("42", "42"), ("{\"state\": 1}", "{\"state\": 1}"), ("[1, 2]", "[1, 2]")):
        if seen := day.answered(f"echo {text}", shown, f"the reply {text!r}", 15):
            check(seen["attributes"].get("text") == text, f"its text: {seen['attributes'].get('text')!r}")
    for text in ("None", "unknown", "unavailable", "true"):
        day.says(f"echo {text}")
        soon(lambda: day.reply()["attributes"].get("text") == text, lambda: f"the reply {text!r}: {str(day.reply())[:300]}", 15)
    is_quiet(house, "about replies")
    long = "".join(f"{number:03} ärger😀 und mehr\n" for number in range(200)).strip()
    day.says(f"echo {long}")
    if soon(lambda: day.reply()["attributes"].get("text") == long and day.reply(), lambda: f"a long reply: {str(day.reply())[:300]}", 40):
        state = day.reply()["state"]
        check(len(state) == 254 and state.endswith("…") and long.replace("\n", " ").startswith(state[:-1]), f"its beginning: {len(state)} {state[-20:]!r}")
    for text in ("x" * 254, "x" * 255, "x" * 256, "ä" * 255, "😀" * 255, "e\u0301" * 127 + "x", "👨‍👩‍👧" * 60):
        day.says(f"echo {text}")
        soon(lambda: day.reply()["attributes"].get("text") == text and day.reply()["state"] not in ("unknown", ""),
             lambda: f"a reply of {len(text)} characters: {str(day.reply())[:300]}", 30)
        check(len(day.reply()["state"]) <= 254, f"{len(day.reply()['state'])} characters")
    huge = "\"ä\\\n" * 2500
    day.says(f"echo {huge}")
    if soon(lambda: len(day.reply()["attributes"].get("text") or "") > 3000 and day.reply()["attributes"]["text"].startswith("\"ä\\\n\"") and day.reply(),
            lambda: f"a huge reply: {str(day.reply())[:300]}", 40):
        text = day.reply()["attributes"]["text"]
        check(huge.startswith(text) and 12_200 < len(json.dumps(text, ensure_ascii=False)[1:-1].encode()) <= 12 << 10, f"its attribute has its first 12 KiB: {len(text)}")
    day.says("longtext 60000")
    soon(lambda: (day.reply()["attributes"].get("text") or "").startswith("Line 1 of a long text.\nLine 2") and day.reply(), lambda: f"60 kB: {str(day.reply())[:300]}", 60)
    size = len(json.dumps(day.reply()["attributes"].get("text"))) - 2
    check(12_200 < size <= 12 << 10, f"of it 12 KiB: {size}")
    # The recorder leaves attributes over 16 KiB out, with a warning.
    time.sleep(3)
    is_quiet(house, "about long replies")
    # From Home Assistant a text of many lines comes as it is.
    text = "echo " + "Zeile äöü 😀 \"quoted\" {{ no template }}\n" * 100 + "end"
    day.says(text)
    soon(lambda: (day.reply()["attributes"].get("text") or "").endswith("end"), lambda: f"a long message: {str(day.reply())[:300]}", 40)
    check(day.reply()["attributes"].get("text") == text[5:], f"comes verbatim: {str(day.reply())[:300]}")
    is_quiet(house, "about a long message")


def buttons(day):
    house, since = day.house, len(day.house.events)
    day.says("slow story")
    soon(lambda: house.says(entity("working")) == "on" and house.says(entity("active_runs")) == "1", "a run is seen to work")
    shown = house.state(entity("activity"))
    check(shown["state"] not in ("idle", "unknown") and shown["attributes"]["runs"][0]["session"], f"activity: {shown}")
    house.act("button.press", entity("abort"))
    soon(lambda: house.says(entity("working")) == "off" and house.says(entity("activity")) == "idle", "Stop all runs")
    soon(lambda: [one["event_type"] for one in house.fired(entity("run"), since)] == ["started", "aborted"], lambda: f"aborted: {house.fired(entity('run'), since)}")
    house.act("button.press", entity("retry"))
    house.act("button.press", entity("abort"))
    time.sleep(1)
    answers = [message.json for message in day.watcher.of(f"{P}/results")[-2:]]
    check(sorted((one["verb"], one["status"]) for one in answers) == [("abort", 200), ("retry", 200)], f"buttons with nothing to do: {answers}")
    # A run without a reply.
    since, before = len(house.events), day.reply()
    day.says("no_reply silent")
    soon(lambda: [one["event_type"] for one in house.fired(entity("run"), since)] == ["started", "completed"], lambda: f"a silent run: {house.fired(entity('run'), since)}")
    check(day.reply()["state"] == before["state"], f"leaves the last reply: {day.reply()}")
    is_quiet(house, "about buttons")


def failures(day):
    """The automations of the docs tell the phone, once each."""
    house, since = day.house, len(day.house.events)
    told = len(day.watcher.of("phone/say"))
    day.says("fail with 401")
    soon(lambda: house.says(entity("last_error")) not in ("unknown", None), lambda: f"the last error: {house.state(entity('last_error'))}")
    shown = house.state(entity("last_error"))
    check(shown["attributes"].get("detail") and shown["attributes"].get("at"), f"its attributes: {shown}")
    soon(lambda: [one["event_type"] for one in house.fired(entity("run"), since)] == ["started", "failed"], lambda: f"failed: {house.fired(entity('run'), since)}")
    soon(lambda: len(day.watcher.of("phone/say")) >= told + 2, "both automations about failures tell the phone")
    time.sleep(2)
    said = [message.payload.decode() for message in day.watcher.of("phone/say")[told:]]
    check(len(said) == 2 and len(set(said)) == 1 and said[0].startswith("A run has failed: ") and len(said[0]) > 25, f"once each, with the reason: {said}")
    # The same message again, as after a lost connection.
    last = [message for message in day.watcher.of(f"{P}/ha/run")][-1]
    told = len(day.watcher.of("phone/say"))
    day.me.publish(f"{P}/ha/run", last.payload.decode())
    time.sleep(2)
    again = len(day.watcher.of("phone/say")) - told
    check(again == 1, f"a message that comes twice: the automation that compares ids does not act again, the other one does: {again}")
    is_quiet(house, "about failures")


def approvals(day):
    house = day.house

    def asked(words):
        since = len(house.events)
        day.says(f"approve echo {words}")
        soon(lambda: house.says(entity("approvals")) == "1", f"an approval waits for {words}")
        soon(lambda: any(one["event_type"] == "requested" for one in house.fired(entity("approval"), since)), lambda: f"requested: {house.fired(entity('approval'), since)}")
        one = next((one for one in house.fired(entity("approval"), since) if one["event_type"] == "requested"), {})
        listed = house.state(entity("approvals"))["attributes"].get("list") or [{}]
        check(one.get("approvalId") and one["approvalId"] == listed[0].get("id"), f"the id in event and list: {one} {listed}")
        check(words in (one.get("short") or "") and words in (listed[0].get("title") or "") and listed[0].get("expiresAt"), f"what is asked: {one} {listed}")
        check(one.get("id") and one["id"] != one["approvalId"], f"the event has an id of its own: {one}")
        return one.get("approvalId"), since

    def decided(kind, since):
        soon(lambda: house.says(entity("approvals")) == "0" and house.state(entity("approvals"))["attributes"].get("list") == [], f"nothing waits after {kind}")
        soon(lambda: [one["event_type"] for one in house.fired(entity("approval"), since)] == ["requested", kind],
             lambda: f"{kind}: {house.fired(entity('approval'), since)}")
    id, since = asked("by publish")
    house.act("mqtt.publish", topic=f"{P}/cmd/approvals", payload=json.dumps({"id": id, "decision": "allow-once"}), qos=1)
    decided("allowed", since)
    soon(lambda: (day.reply()["attributes"].get("text") or "").endswith("by publish"), "the run goes on")
    # The automations of the docs: a question on the phone, and the tap on its button.
    for word, kind in (("ALLOW", "allowed"), ("DENY", "denied")):
        id, since = asked(f"by phone {kind}")
        soon(lambda: any(event["event_type"] == "phone_asked" for event in house.events[since:]), "the phone is asked")
        questions = [event["data"] for event in house.events[since:] if event["event_type"] == "phone_asked"]
        buttons = questions[0]["data"]["actions"] if questions else []
        check(len(questions) == 1 and f"by phone {kind}" in questions[0]["message"] and [one["action"] for one in buttons] == [f"LADLE_ALLOW_{id}", f"LADLE_DENY_{id}"],
              f"once, with two buttons: {questions}")
        house.api("POST", "events/mobile_app_notification_action", {"action": f"LADLE_{word}_{id}"})
        decided(kind, since)
        # A second tap on the same button changes nothing.
        house.api("POST", "events/mobile_app_notification_action", {"action": f"LADLE_DENY_{id}"})
    # It is disabled at first.
    house.ask("config/entity_registry/update", entity_id=entity("deny_all"), disabled_by=None)
    all_are(house, ["deny_all"], 90, "Deny all approvals can be enabled", lambda state: state not in (None, "unavailable"))
    all_are(house, AVAILABLE, 60, "after Home Assistant has loaded MQTT anew")
    id, since = asked("by button")
    house.act("button.press", entity("deny_all"))
    decided("denied", since)
    # One that nobody decides, and one that is gone with its run.
    since = len(house.events)
    day.says("approve 3s echo too late")
    soon(lambda: [one["event_type"] for one in house.fired(entity("approval"), since)] == ["requested", "expired"],
         lambda: f"expired: {house.fired(entity('approval'), since)}", 30)
    day.ladle.at_rest()
    soon(lambda: house.says(entity("approvals")) == "0", lambda: f"nothing waits any more: {house.state(entity('approvals'))}")
    is_quiet(house, "about approvals")


def waiting_approvals(day):
    """Approvals that wait while something restarts."""
    house = day.house
    pending = lambda: house.says(entity("approvals"))
    listed = lambda: house.state(entity("approvals"))["attributes"].get("list") or []
    kinds = lambda since: [one["event_type"] for one in house.fired(entity("approval"), since)]
    for one in ("ladle", "ladle dead", "broker", "house"):
        since = len(house.events)
        day.says(f"approve echo over a restart of {one}")
        soon(lambda: pending() == "1" and kinds(since) == ["requested"], f"an approval waits before the restart of {one}")
        id = (listed() or [{}])[0].get("id")
        if one == "house":
            house.stop()
            house.start()
        elif one == "broker":
            day.broker.kill()
            day.broker = day.broker.again()
        else:
            day.ladle.kill() if one == "ladle dead" else day.ladle.stop()
            day.ladle = day.ladle.again().linked()
        all_are(house, AVAILABLE, 60, f"all are available after the restart of {one}")
        soon(lambda: pending() == "1" and listed() and listed()[0]["id"] == id, lambda: f"it waits still after the restart of {one}: {house.state(entity('approvals'))}", 15)
        time.sleep(2)
        check(kinds(since).count("requested") == 1, f"it is not asked again after the restart of {one}: {kinds(since)}")
        since = len(house.events)
        house.act("mqtt.publish", topic=f"{P}/cmd/approvals", payload=json.dumps({"id": id, "decision": "deny"}), qos=1)
        soon(lambda: pending() == "0", lambda: f"it can be decided after the restart of {one}: {house.state(entity('approvals'))}", 15)
        soon(lambda: kinds(since) == ["denied"], lambda: f"and denied is told after the restart of {one}: {kinds(since)}", 10)
        day.ladle.at_rest()
    # One that is decided elsewhere while Ladle is away.
    since = len(house.events)
    day.says("approve 8s echo meanwhile")
    soon(lambda: kinds(since) == ["requested"], "an approval waits")
    day.ladle.stop()
    time.sleep(10)
    day.ladle = day.ladle.again().linked()
    all_are(house, AVAILABLE, 20, "all are available after a longer absence")
    soon(lambda: pending() == "0", lambda: f"what expired meanwhile does not wait: {house.state(entity('approvals'))}")
    soon(lambda: kinds(since) == ["requested", "expired"], lambda: f"and is told: {kinds(since)}", 5)
    day.ladle.at_rest()
    # Seven at once: five are listed.
    since = len(house.events)
    for number in range(7):
        house.act("mqtt.publish", topic=f"{P}/send/room{number}", payload=f"approve echo number {number}", qos=1)
    soon(lambda: pending() == "7" and len(listed()) == 5, lambda: f"seven wait: {house.state(entity('approvals'))}")
    soon(lambda: kinds(since) == ["requested"] * 7 and len({one["approvalId"] for one in house.fired(entity("approval"), since)}) == 7, lambda: f"seven are asked: {kinds(since)}")
    house.act("mqtt.publish", topic=f"{P}/cmd/approvals/deny", payload='{"all":true}', qos=1)
    soon(lambda: pending() == "0" and kinds(since) == ["requested"] * 7 + ["denied"] * 7, lambda: f"all are denied: {pending()} {kinds(since)}")
    is_quiet(house, "about approvals over restarts")


def availability(day):
    house = day.house
    # What the topics say follows within a second.
    day.ladle.at_rest()
    time.sleep(1.5)
    before = day.reply()
    # An orderly stop says so at once, a death after the delay of the will.
    day.ladle.stop()
    took = all_are(house, AVAILABLE, 10, "all are unavailable after a stop", lambda state: state == "unavailable")
    check(house.says(entity("run")) != "unavailable", "but not the event entities")
    day.ladle = day.ladle.again().linked()
    back = all_are(house, AVAILABLE, 20, "they come back with Ladle")
    check(day.reply()["state"] == before["state"], f"the last reply is still there: {str(day.reply())[:300]}")
    print(f"stop: unavailable after {took or -1:.1f} s, back after {back or -1:.1f} s", flush=True)
    day.ladle.kill()
    took = all_are(house, AVAILABLE, 20, "all are unavailable after a death", lambda state: state == "unavailable")
    day.ladle = day.ladle.again().linked()
    back = all_are(house, AVAILABLE, 20, "they come back with Ladle after a death")
    print(f"kill -9: unavailable after {took or -1:.1f} s, back after {back or -1:.1f} s", flush=True)
    # One that is fast enough is not seen to be away.
    since = len(house.events)
    day.ladle.kill()
    day.ladle = day.ladle.again().linked()
    time.sleep(7)
    gone = [event for event in house.events[since:] if event["event_type"] == "state_changed" and (event["data"]["new_state"] or {}).get("state") == "unavailable"]
    check(not gone, f"a quick restart after a death does not show: {[event['data']['entity_id'] for event in gone]}")
    check(day.reply()["state"] == before["state"], f"the last reply outlives it: {str(day.reply())[:300]}")
    # The gateway goes: Ladle is there, and says so.
    day.gateway.kill()
    soon(lambda: house.says(entity("link")) in ("offline", "connecting"), lambda: f"the link is gone: {house.state(entity('link'))}")
    soon(lambda: house.says(entity("approvals")) == "unknown" and house.state(entity("approvals"))["attributes"].get("list") == [], "approvals are unknown without a link")
    all_are(house, AVAILABLE, 5, "the device stays without a gateway")
    day.gateway = day.gateway.again()
    soon(lambda: house.says(entity("link")) == "online", lambda: f"the link is back: {house.state(entity('link'))}", 60)
    soon(lambda: house.says(entity("approvals")) == "0", lambda: f"approvals are known again: {house.state(entity('approvals'))}")
    is_quiet(house, "about Ladle's absence")


def outage(day):
    """A run that ends while the broker is away: the state is right afterwards. Its event is told to nobody: Home Assistant comes back to
    the broker seconds after Ladle, and has no session there."""
    house = day.house
    since = len(house.events)
    day.says("slow count")
    soon(lambda: house.says(entity("working")) == "on", "a run goes on")
    day.broker.kill()
    day.ladle.at_rest()
    time.sleep(1)
    day.broker = day.broker.again()
    all_are(house, AVAILABLE, 60, "all are available after an outage")
    soon(lambda: house.says(entity("working")) == "off" and house.says(entity("activity")) == "idle", "the run's end shows", 10)
    soon(lambda: (day.reply()["attributes"].get("text") or "").endswith("number 30,"), lambda: f"and its reply: {str(day.reply())[:300]}", 10)
    time.sleep(2)
    print(f"Run told of it: {[one['event_type'] for one in house.fired(entity('run'), since)]}", flush=True)
    is_quiet(house, "about an outage")


def orders(day):
    """All three die, and come back in every order; every second time the broker has forgotten everything."""
    house = day.house
    ways = list(itertools.permutations(("ladle", "broker", "house")))
    for number in range(OPTIONS.rounds):
        way = ways[number % len(ways)]
        forgets = number % 2 == 1
        what = f"after {' '.join(way)}{', with a broker that forgets' if forgets else ''}"
        said = day.reply()["state"]
        runs = len(day.watcher.of(f"{P}/ha/run"))
        for one in reversed(way):
            {"ladle": day.ladle.kill, "broker": day.broker.kill, "house": house.stop}[one]()
            time.sleep(0.5)
        if forgets:
            for file in day.broker.folder.glob("mosquitto.db*"):
                file.unlink()
        for one in way:
            if one == "ladle":
                day.ladle = day.ladle.again().linked()
            elif one == "broker":
                day.broker = day.broker.again()
            else:
                house.start()
            time.sleep(2)
        took = all_are(house, AVAILABLE + ["run", "approval"], 60, f"all are available {what}")
        print(f"{what}: {took or -1:.1f} s", flush=True)
        all_are(house, [key for key in AVAILABLE if key not in STATELESS | {"last_error"}], 10, f"and known {what}", lambda state: state not in (None, "unknown", "unavailable"))
        soon(lambda: day.reply()["state"] == said, lambda: f"the last reply {what}: {str(day.reply())[:200]}, not {said!r}", 10)
        since = len(house.events)
        day.answered(f"echo round {number}", f"round {number}", f"a message is answered {what}")
        soon(lambda: [one["event_type"] for one in house.fired(entity("run"), since)] == ["started", "completed"],
             lambda: f"Run fires once each {what}: {house.fired(entity('run'), since)}", 10)
        is_quiet(house, what)
    # Each alone.
    for number, one in enumerate(("broker", "house", "ladle", "broker")):
        since = len(house.events)
        if one == "broker":
            day.broker.kill()
            all_are(house, AVAILABLE, 20, "unavailable without a broker", lambda state: state == "unavailable")
            if number:
                for file in day.broker.folder.glob("mosquitto.db*"):
                    file.unlink()
            day.broker = day.broker.again()
        elif one == "house":
            house.stop()
            house.start()
        else:
            day.ladle.kill()
            day.ladle = day.ladle.again().linked()
        took = all_are(house, AVAILABLE, 60, f"all are available after {one} alone")
        print(f"after {one} alone: {took or -1:.1f} s", flush=True)
        day.answered(f"echo alone {number}", f"alone {number}", f"a message is answered after {one} alone")
    is_quiet(house, "after each alone")


def scopes(day):
    """Entities without a right go, and come back as they were."""
    house = day.house
    states = {one["entity_id"] for one in house.api("GET", "states")}
    check(entity("message") in states, "Message is there")
    day.ladle.stop()
    day.ladle = ladle(day.broker, day.gateway, "read", day.ladle.state).linked()
    gone = [key for key in COMMANDS if key in SHOWN]
    all_are(house, gone, 20, "commands go with their scope", lambda state: state is None)
    found = house.registry()
    check(not set(found) & COMMANDS, f"they are not registered either: {sorted(set(found) & COMMANDS)}")
    all_are(house, [key for key in AVAILABLE if key not in COMMANDS], 20, "the others stay")
    check(set(found) >= set(ENTITIES) - COMMANDS, f"all of them: {sorted(set(ENTITIES) - COMMANDS - set(found))}")
    is_quiet(house, "about entities that go")
    day.ladle.stop()
    day.ladle = ladle(day.broker, day.gateway, SCOPES, day.ladle.state).linked()
    all_are(house, AVAILABLE, 20, "they come back with their scope")
    day.answered("echo back again", "back again", "Message works again")
    is_quiet(house, "about entities that come back")
    # Home Assistant is away meanwhile.
    house.stop()
    day.ladle.stop()
    day.ladle = ladle(day.broker, day.gateway, "read", day.ladle.state).linked()
    time.sleep(2)
    house.start()
    all_are(house, [key for key in AVAILABLE if key not in COMMANDS], 30, "the others, after Home Assistant was away")
    left = {key: house.says(entity(key)) for key in gone}
    print(f"left of the commands after Home Assistant was away: {left}", flush=True)
    check(all(state in (None, "unavailable") for state in left.values()), f"commands whose scope went while Home Assistant was away: {left}")
    is_quiet(house, "about entities that went while it was away")
    day.ladle.stop()
    day.ladle = ladle(day.broker, day.gateway, SCOPES, day.ladle.state).linked()
    all_are(house, AVAILABLE, 20, "they come back after all")
    # Text that does not leave.
    day.ladle.stop()
    day.ladle = ladle(day.broker, day.gateway, SCOPES, day.ladle.state, more=("--mqtt-text", "none")).linked()
    all_are(house, ["last_reply"], 20, "no Last reply without text", lambda state: state is None)
    since = len(house.events)
    day.says("echo a secret word")
    soon(lambda: [one["event_type"] for one in house.fired(entity("run"), since)] == ["started", "completed"], lambda: f"Run without text: {house.fired(entity('run'), since)}")
    check(all(one.get("short") is None for one in house.fired(entity("run"), since)), f"no text in Run: {house.fired(entity('run'), since)}")
    is_quiet(house, "without text")
    day.ladle.stop()
    day.ladle = ladle(day.broker, day.gateway, SCOPES, day.ladle.state, more=("--mqtt-text", "short")).linked()
    all_are(house, AVAILABLE, 20, "all with short text")
    day.answered("echo short", "short", "a short reply")
    check("text" not in day.reply()["attributes"], f"has no attribute text: {day.reply()}")
    is_quiet(house, "with short text")


def sessions(day):
    """Only sessions that are named leave, and are reached."""
    house = day.house
    day.ladle.stop()
    day.ladle = ladle(day.broker, day.gateway, SCOPES + ",control", day.ladle.state, more=("--mqtt-text", "full", "--mqtt-sessions", "agent:main:kitchen")).linked()
    all_are(house, AVAILABLE, 20, "all are available with one session")
    house.act("mqtt.publish", topic=f"{P}/send/kitchen", payload="echo from the kitchen", qos=1)
    soon(lambda: day.reply()["state"] == "from the kitchen", lambda: f"the reply of a named session: {str(day.reply())[:300]}")
    since, before = len(house.events), len(day.watcher.of(f"{P}/results"))
    status, answer = day.ladle.json("POST", "/v1/messages?wait=20", {"text": "echo from the attic", "session": "attic"})
    check(status == 200, f"a message over HTTP: {status} {answer}")
    time.sleep(2)
    check(day.reply()["state"] == "from the kitchen" and not house.fired(entity("run"), since), f"another session does not leave: {day.reply()} {house.fired(entity('run'), since)}")
    day.says("echo by the entity")
    soon(lambda: day.reply()["state"] == "by the entity", lambda: f"Message is of use while only one session may be written to: {day.watcher.of(f'{P}/results')[before:]}", 10)
    # A model for the session.
    house.act("mqtt.publish", topic=f"{P}/cmd/session", payload=json.dumps({"id": "one", "session": "kitchen", "thinking": "low"}), qos=1)
    soon(lambda: [one.json for one in day.watcher.of(f"{P}/results") if one.json.get("id") == "one"], "a change of a session is answered")
    is_quiet(house, "with one session")


def unretained(day):
    """A broker that keeps nothing: Ladle says all again when Home Assistant has started."""
    house = day.house
    day.ladle.stop()
    day.ladle = ladle(day.broker, day.gateway, SCOPES, day.ladle.state, more=("--mqtt-text", "full", "--mqtt-retain", "false")).linked()
    took = all_are(house, AVAILABLE, 30, "all are available, though nothing is kept")
    print(f"nothing kept: {took or -1:.1f} s", flush=True)
    kept = [topic for topic in retained(day.broker.port) if topic.startswith((P, "homeassistant/device"))]
    check(not kept, f"nothing is kept: {kept}")
    house.stop()
    house.start()
    took = all_are(house, AVAILABLE, 60, "all are available after Home Assistant's start, though nothing is kept")
    print(f"nothing kept, after Home Assistant's start: {took or -1:.1f} s", flush=True)
    all_are(house, [key for key in AVAILABLE if key not in STATELESS | {"last_error"}], 10, "and known", lambda state: state not in (None, "unknown", "unavailable"))
    day.broker.kill()
    day.broker = day.broker.again()
    took = all_are(house, AVAILABLE, 60, "all are available after the broker's restart, though nothing is kept")
    print(f"nothing kept, after the broker: {took or -1:.1f} s", flush=True)
    is_quiet(house, "while nothing is kept")


def names(day):
    """Names that a person may give the device; two Ladles in one house."""
    house = day.house
    for name in ("Message", "L", "Küche 🍳", "{{ 1 + 1 }} \"x\" \\", "n" * 300, "Run"):
        day.ladle.stop()
        day.ladle = ladle(day.broker, day.gateway, SCOPES, day.ladle.state, more=("--mqtt-text", "full", "--mqtt-discovery-name", name)).linked()
        all_are(house, AVAILABLE, 20, f"all are available as {name[:30]!r}")
        device = [one["name"] for one in house.ask("config/device_registry/list") if one["manufacturer"] == "Ladle"]
        check(device and device[0].startswith("Ladle") if name in ("Message", "L", "Run") else device == [name] or device and name.startswith(device[0][:99]),
              f"the device is named {name[:30]!r}: {device}")
        is_quiet(house, f"about the name {name[:30]!r}")
    day.ladle.stop()
    day.ladle = ladle(day.broker, day.gateway, SCOPES, day.ladle.state).linked()
    gateway = DemoGateway("--speed", "3")
    other = ladle(day.broker, gateway, "read,send", name="attic").linked()
    soon(lambda: house.says("notify.ladle_message_2") is not None, "another Ladle is another device")
    soon(lambda: house.says("binary_sensor.ladle_working_2") == "off", "with its own state")
    before = day.reply()["state"]
    house.act("notify.send_message", "notify.ladle_message_2", message="echo in the attic")
    soon(lambda: house.says("sensor.ladle_last_reply_2") == "in the attic", lambda: f"its own replies: {house.state('sensor.ladle_last_reply_2')}")
    check(day.reply()["state"] == before, f"and not the other's: {day.reply()}")
    other.stop()
    soon(lambda: house.says("sensor.ladle_last_reply_2") == "unavailable", "one is away")
    all_are(house, AVAILABLE, 5, "the other is there")
    words = [word for word in other.arguments if word != "--mqtt-discovery"]
    other = Serve(*words, state=other.state, gateway=gateway.url).linked()
    soon(lambda: house.says("sensor.ladle_last_reply_2") is None, "its device goes without discovery")
    all_are(house, AVAILABLE, 5, "the other one stays")
    is_quiet(house, "about two of them")
    other.kill()
    gateway.kill()


def renamed(day):
    """Topics and version that change: the entities stay what they are."""
    house = day.house
    ids = {key: one["id"] for key, one in house.registry().items()}
    for more, name in ((("--mqtt-version", "3.1.1"), "kitchen"), (("--mqtt-prefix", "home/agents"), "pantry"), ((), "kitchen")):
        day.ladle.stop()
        day.ladle = ladle(day.broker, day.gateway, SCOPES, day.ladle.state, more=("--mqtt-text", "full", *more), name=name).linked()
        what = f"with {' '.join(more)} {name}"
        all_are(house, AVAILABLE, 20, f"all are available {what}")
        soon(lambda: house.says(entity("last_reply")) not in ("unknown", "unavailable"), f"the last reply {what}")
        day.answered(f"echo {what}", what, f"a message is answered {what}")
        check({key: one["id"] for key, one in house.registry().items()} == ids, f"they are the same entities {what}")
        is_quiet(house, what)


def refusals(day):
    """A gateway that is not there at the start, and one that refuses."""
    house = day.house
    day.ladle.stop()
    day.gateway.kill()
    day.ladle = day.ladle.again()
    all_are(house, AVAILABLE, 20, "all are available without a gateway")
    soon(lambda: house.says(entity("link")) in ("connecting", "offline"), lambda: f"no gateway: {house.state(entity('link'))}")
    day.says("echo it waits")
    soon(lambda: house.says(entity("outbox_pending")) == "1", lambda: f"a message waits: {house.state(entity('outbox_pending'))}")
    day.gateway = day.gateway.again()
    soon(lambda: day.reply()["state"] == "it waits" and house.says(entity("outbox_pending")) == "0", lambda: f"and is sent with the gateway: {str(day.reply())[:300]}", 60)
    is_quiet(house, "without a gateway")
    day.ladle.stop()
    file = pathlib.Path(day.ladle.state, "wrong-token")
    file.write_text("wrong\n")
    file.chmod(0o600)
    words = ["--token-file", str(file), *day.ladle.arguments]
    refused = Serve(*words, state=day.ladle.state, gateway=day.gateway.url)
    soon(lambda: house.says(entity("link")) == "refused", lambda: f"a gateway that refuses: {house.state(entity('link'))}")
    shown = house.state(entity("link"))["attributes"]
    check(shown.get("code") and shown.get("hint"), f"it says why: {shown}")
    soon(lambda: house.says(entity("last_error")) == shown.get("code"), lambda: f"that is the last error: {house.state(entity('last_error'))}")
    all_are(house, [key for key in AVAILABLE if key != "approvals"], 5, "the device is there")
    refused.stop()
    day.ladle = day.ladle.again().linked()
    all_are(house, AVAILABLE, 20, "all are available with the right token")
    soon(lambda: house.says(entity("link")) == "online", "the link is online again")
    is_quiet(house, "about a refusal")


def removal(day):
    """Without discovery the device goes."""
    house = day.house
    day.ladle.stop()
    words = [word for word in day.ladle.arguments if word != "--mqtt-discovery"]
    day.ladle = Serve(*words, state=day.ladle.state, gateway=day.gateway.url).linked()
    all_are(house, SHOWN, 20, "the device goes with discovery", lambda state: state is None)
    check(not [one for one in house.ask("config/device_registry/list") if one["manufacturer"] == "Ladle"], "and is not registered")
    is_quiet(house, "about a device that goes")


words = command()
if not MOSQUITTO:
    left_out("no Mosquitto is installed here")
day = None
try:
    day = Day(words)
    for scene in (at_rest, messages, buttons, failures, approvals, waiting_approvals, availability, outage, orders, scopes, sessions, unretained, names, renamed, refusals, removal):
        start = time.monotonic()
        try:
            scene(day)
        except Exception:
            check(False, f"{scene.__name__}: {traceback.format_exc()}")
        print(f"-- {scene.__name__}: {time.monotonic() - start:.0f} s", flush=True)
except Exception:
    check(False, traceback.format_exc())
finally:
    if day:
        day.house.stop()
        if keep := os.environ.get("KEEP_LOG"):
            shutil.copy(day.house.log, keep)
        for one in (day.ladle, day.gateway, day.broker):
            one.kill()
tally.end()
