"""The device that `mqtt.discovery` makes, in Home Assistant itself: its entities, messages to the agent and replies, approvals, the
automations of docs/mqtt.md as they stand there, long and strange replies, scopes that come and go, and every order in which Ladle, the
broker and Home Assistant can come back after they died. A line of Home Assistant's log that complains is a failure. Without a Home Assistant
(see house.py) the check says so and is left out."""

import contextlib
import datetime
import itertools
import json
import os
import pathlib
import re
import shutil
import time
import traceback
import urllib.error

from harness import ROOT, DemoGateway, Serve, Tally, free_port, options, scratch, until
from house import House, command, left_out
from raw_mqtt import MOSQUITTO, Client, Mosquitto, Watcher, retained

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
# With mqtt.usage.
USAGE = {"cost_today": "Cost today", "quota_used": "Quota used", "tokens_today": "Tokens today"}
# They have no state before they were used, and are of no broker's state.
STATELESS = {"run", "approval", "message", "abort", "retry", "deny_all"}
# Who of Home Assistant would complain about Ladle, and what it says about a broker that went.
WATCHED = re.compile(r"(WARNING|ERROR|CRITICAL) \([^)]*\) \[(homeassistant\.(components\.(mqtt|sensor|binary_sensor|event|notify|button|select|update|automation"
                     r"|recorder)|helpers|core|exceptions)|paho)\b")
ORDINARY = ("Disconnected from MQTT server", "Connection refused", "Failed to connect to MQTT server", "Unable to connect to the MQTT broker",
            "Error returned from MQTT server", "failed to receive on socket", "components.recorder.util", "Updating state for", "No MQTT services were found")
OPTIONS = options(rounds=(6, 12), websocket=(0, 0))
tally = Tally()
check = tally.check


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


class MQTTHouse(House):
    """With the automations of the docs, and the integration MQTT, over TCP or a WebSocket."""

    def __init__(self, words, broker):
        self.broker = broker
        super().__init__(
            words, "api:\nconfig:\nonboarding:\nhistory:\nrecorder:\n  commit_interval: 1\nautomation: !include automations.yaml\n"
            "logger:\n  default: warning\n  logs:\n    homeassistant.components.mqtt: info\n"
            "mqtt:\n  - notify:\n      name: mobile_app_phone\n      unique_id: phone\n      command_topic: phone/say\n", automations=automations())

    def move_in(self):
        super().move_in()
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

    def registry(self):
        """What it has registered of Ladle, by the key of the entity."""
        mine = [one for one in self.ask("config/entity_registry/list") if one["platform"] == "mqtt" and one["unique_id"].startswith("ladle_")]
        return {one["unique_id"].split("_", 2)[2]: one for one in mine}


# -- Ladle beside it


class Web:
    """The broker's second listener, for WebSockets, and whether Ladle goes there."""

    def __init__(self):
        self.port, self.is_used = free_port(), bool(OPTIONS.websocket)


web = Web()


def ladle(broker, gateway, scopes=SCOPES, state=None, more=("--mqtt-text", "full"), name="kitchen", rights="read,write,approvals"):
    state = state or scratch()
    file = pathlib.Path(state, "broker-password")
    file.write_text("secret\n")
    file.chmod(0o600)
    url = f"ws://127.0.0.1:{web.port}" if web.is_used else f"mqtt://127.0.0.1:{broker.port}"
    return Serve("--mqtt-url", url, "--mqtt-username", "ladle", "--mqtt-password-file", str(file), "--mqtt-name",
                 name, "--mqtt-scopes", scopes, "--mqtt-discovery", "--limits-sends-burst", "1000", "--limits-all-sends-burst", "10000",
                 "--gateway-scopes", rights, *more, state=state, gateway=gateway.url)


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
    found = house.complaints(WATCHED, ORDINARY)
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
        self.broker = Mosquitto("persistence true", "autosave_interval 1", "autosave_on_changes true",
                                listener=f"listener {web.port} 127.0.0.1\nprotocol websockets")
        self.watcher = Watcher(self.broker.port, "#")
        self.me = Client(self.broker.port)
        self.ladle = ladle(self.broker, self.gateway).linked()
        self.house = MQTTHouse(words, self.broker).start().move_in()
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
    all_are(house, ["message"], 20, "Message stays without text")
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


def choices(day):
    """Selects for the model and the thinking level of a session that is named, and usage in numbers. Both are disabled at first."""
    house, key = day.house, "agent:main:larder"
    day.ladle.stop()
    day.ladle = ladle(day.broker, day.gateway, "read,send,control", day.ladle.state,
                      more=("--mqtt-text", "full", "--mqtt-sessions", key, "--mqtt-usage"), rights="read,write,approvals,admin").linked()
    all_are(house, AVAILABLE, 20, "all are available with usage")
    soon(lambda: set(house.registry()) >= set(USAGE), lambda: f"entities of usage: {sorted(house.registry())}")
    selects = lambda: {one.rpartition("_")[2]: entry for one, entry in house.registry().items() if one.startswith("session_")}
    check(not selects(), f"nothing of a session that does not exist: {selects()}")
    day.says("echo in the larder")
    soon(lambda: day.reply()["state"] == "in the larder", lambda: f"the session begins: {str(day.reply())[:300]}")
    if not soon(lambda: set(selects()) == {"model", "thinking"}, lambda: f"two selects: {sorted(house.registry())}"):
        return
    found = house.registry()
    off = [*(found[one] for one in USAGE), *selects().values()]
    check(all(one["disabled_by"] == "integration" for one in off), f"all are disabled: {[(one['entity_id'], one['disabled_by']) for one in off]}")
    check([found[one]["original_name"] for one in USAGE] == list(USAGE.values()), f"names of usage: {[found[one]['original_name'] for one in USAGE]}")
    for member, one in selects().items():
        check(one["original_name"].startswith(f"{member.capitalize()} of "), f"the name of {member}: {one['original_name']}")
    is_quiet(house, "about entities that are disabled")
    for one in off:
        house.ask("config/entity_registry/update", entity_id=one["entity_id"], disabled_by=None)
    # A session has no level of its own before one is chosen.
    known = lambda but=(): all(house.says(one["entity_id"]) not in (None, "unknown", "unavailable") for one in off if not one["unique_id"].endswith(but))
    # Home Assistant loads MQTT anew after half a minute.
    soon(lambda: known("_thinking"), lambda: f"enabled, they have values: { {one['entity_id']: house.says(one['entity_id']) for one in off} }", 120)
    all_are(house, AVAILABLE, 60, "all are available after Home Assistant has loaded MQTT anew")
    # Usage.
    truth = day.ladle.json("GET", "/v1/usage")[1]
    shares = [window.get("usedPercent") for provider in truth["providers"] for window in provider["windows"]]
    wanted = {"cost_today": truth["today"]["costUsd"], "quota_used": max(share for share in shares if share is not None), "tokens_today": truth["today"]["tokens"]}
    for name, value in wanted.items():
        seen = house.state(found[name]["entity_id"])
        # Ladle tells of it once a minute.
        soon(lambda: abs(float(house.says(found[name]["entity_id"])) - value) < 0.01 * max(1, value), lambda: f"{name}: {seen}, not {value}", 75)
    units = {name: house.state(found[name]["entity_id"])["attributes"].get("unit_of_measurement") for name in USAGE}
    check(units == {"cost_today": "USD", "quota_used": "%", "tokens_today": "tokens"}, f"units of usage: {units}")
    # Choices.
    ids = {member: one["entity_id"] for member, one in selects().items()}
    listed = lambda: next((one for one in day.ladle.json("GET", "/v1/sessions")[1]["sessions"] if one["key"] == key), {})
    now = lambda member: listed().get(member, "").rpartition("/")[2]
    for member, id in ids.items():
        options = house.state(id)["attributes"]["options"]
        soon(lambda: len(options) > 1 and house.says(id).rpartition("/")[2] == (now(member) or "unknown"),
             lambda: f"{member}: {house.says(id)} of {options}; the session has {listed()}")
        for option in [one for one in options if one != house.says(id)][:3]:
            house.act("select.select_option", id, option=option)
            soon(lambda: now(member) == option.rpartition("/")[2], lambda: f"{member} {option} is chosen in the session: {listed()}, {day.watcher.newest(f'{P}/results')}", 15)
            soon(lambda: house.says(id) == option, lambda: f"and shown: {house.state(id)}", 15)
    # Chosen elsewhere.
    id = ids["thinking"]
    option = next(one for one in house.state(id)["attributes"]["options"] if one != house.says(id))
    status, answer = day.ladle.json("PATCH", f"/v1/sessions/{key}", {"thinking": option}, {"If-Match": "*"})
    check(status == 200, f"a change over HTTP: {status} {answer}")
    soon(lambda: house.says(id) == option, lambda: f"a choice made elsewhere is shown: {house.state(id)}", 15)
    is_quiet(house, "about choices and usage")
    states = lambda: {member: house.says(id) for member, id in ids.items()}
    chosen = states()
    for one in ("ladle", "house"):
        if one == "house":
            house.stop()
            house.start()
        else:
            day.ladle.kill()
            day.ladle = day.ladle.again().linked()
        all_are(house, AVAILABLE, 60, f"all are available after a restart of {one}")
        soon(lambda: states() == chosen and known(), lambda: f"choices and usage after a restart of {one}: {states()}, not {chosen}")
        check(not {one for one in found if one.startswith("session_")} - set(house.registry()), f"they are registered after a restart of {one}")
        is_quiet(house, f"about choices and usage after a restart of {one}")
    # The session is deleted, and comes again.
    status, answer = day.ladle.json("DELETE", f"/v1/sessions/{key}", headers={"If-Match": "*"})
    check(status < 300, f"the session is deleted: {status} {answer}")
    soon(lambda: not selects() and set(states().values()) == {None}, lambda: f"the selects go with their session: {selects()}, {states()}")
    soon(lambda: f"{P}/sessions/{key}" not in retained(day.broker.port), "its topic is emptied")
    all_are(house, AVAILABLE, 10, "the others stay")
    is_quiet(house, "about a session that goes")
    day.says("echo in the larder again")
    soon(lambda: day.reply()["state"] == "in the larder again", lambda: f"the session begins again: {str(day.reply())[:300]}")
    soon(lambda: set(selects()) == {"model", "thinking"}, lambda: f"the selects come back: {sorted(house.registry())}")
    is_quiet(house, "about a session that comes again")
    day.ladle.stop()
    day.ladle = ladle(day.broker, day.gateway, SCOPES, day.ladle.state).linked()
    soon(lambda: not set(house.registry()) & set(USAGE) and not selects(), lambda: f"without usage and scope they go: {sorted(house.registry())}")
    all_are(house, AVAILABLE, 20, "the others stay without usage")
    is_quiet(house, "about usage that goes")


def unretained(day):
    """A broker that keeps nothing: Ladle says all again when Home Assistant has started."""
    house = day.house
    day.ladle.stop()
    day.ladle = ladle(day.broker, day.gateway, SCOPES, day.ladle.state, more=("--mqtt-text", "full", "--mqtt-retain", "false")).linked()
    took = all_are(house, AVAILABLE, 30, "all are available, though nothing is kept")
    print(f"nothing kept: {took or -1:.1f} s", flush=True)
    # What the Ladle before left goes once Home Assistant has read of the device.
    kept = lambda: [topic for topic in retained(day.broker.port) if topic.startswith((P, "homeassistant/device"))]
    soon(lambda: not kept(), lambda: f"nothing is kept: {kept()}")
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
    """Topics and version that change: the entities stay what they are, and Home Assistant has left the old topics before they are empty."""
    house = day.house
    ids = {key: one["id"] for key, one in house.registry().items()}
    before = P
    for more, name, prefix in (((), "scullery", "ladle"), (("--mqtt-version", "3.1.1"), "scullery", "ladle"),
                               (("--mqtt-prefix", "home/agents"), "pantry", "home/agents"), ((), "kitchen", "ladle")):
        what, now = f"with {' '.join(more)} {name}", f"{prefix}/{name}"
        old = {topic for topic in retained(day.broker.port) if topic.startswith(before + "/")}
        check(f"{before}/status" in old, f"the broker keeps topics below {before}: {sorted(old)}")
        said = len(day.watcher.messages)
        day.ladle.stop()
        day.ladle = ladle(day.broker, day.gateway, SCOPES, day.ladle.state, more=("--mqtt-text", "full", *more), name=name).linked()
        all_are(house, AVAILABLE, 20, f"all are available {what}")
        since = len(house.events)
        if now != before:
            emptied = lambda: {one.topic: one.at for one in day.watcher.messages[said:] if one.topic.startswith(before + "/") and not one.payload}
            soon(lambda: set(emptied()) >= old, lambda: f"the old topics are emptied {what}: {sorted(old - set(emptied()))}")
            told = [one.at for one in day.watcher.messages[said:] if one.topic.endswith("/config") and one.payload]
            apart = min(emptied().values(), default=0) - told[0] if told else 0
            check(apart > 1.5, f"the device comes two seconds before {what}: {apart:.2f} s")
            check(not [topic for topic in retained(day.broker.port) if topic.startswith(before + "/")], f"nothing of them is kept {what}")
        # A message later, Home Assistant has dealt with what came before.
        day.answered(f"echo {what}", what, f"a message is answered {what}")
        lost = [event["data"]["entity_id"] for event in house.events[since:] if event["event_type"] == "state_changed"
                and (event["data"]["new_state"] or {}).get("state") in ("unavailable", "unknown", None)]
        check(not lost, f"no state is lost when the old topics go {what}: {lost}")
        all_are(house, [key for key in AVAILABLE if key not in STATELESS | {"last_error"}], 10, f"all are known {what}",
                lambda state: state not in (None, "unknown", "unavailable"))
        check({key: one["id"] for key, one in house.registry().items()} == ids, f"they are the same entities {what}")
        is_quiet(house, what)
        before = now
    # Home Assistant is away meanwhile.
    for name in ("scullery", "kitchen"):
        house.stop()
        day.ladle.stop()
        day.ladle = ladle(day.broker, day.gateway, SCOPES, day.ladle.state, name=name).linked()
        until(lambda: not [topic for topic in retained(day.broker.port) if topic.startswith(before + "/")], 20, what="the end of the old topics")
        house.start()
        all_are(house, AVAILABLE, 60, f"all are available as {name}, after Home Assistant was away")
        day.answered(f"echo as {name}", f"as {name}", f"a message is answered as {name}, after Home Assistant was away")
        check({key: one["id"] for key, one in house.registry().items()} == ids, f"they are the same entities as {name}, after Home Assistant was away")
        is_quiet(house, f"as {name}, after it was away")
        before = f"ladle/{name}"


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


def web_socket(day):
    """Ladle reaches the broker over a WebSocket; all is as before."""
    web.is_used = True
    day.ladle.stop()
    day.ladle = ladle(day.broker, day.gateway, SCOPES, day.ladle.state).linked()
    all_are(day.house, AVAILABLE, 20, "all are available over a WebSocket")
    broker = day.ladle.status()["mqtt"]
    check(broker["broker"].startswith("ws://") and broker["state"] == "online", f"that is how it is connected: {broker}")
    for scene in (messages, buttons, availability, outage):
        scene(day)
    is_quiet(day.house, "over a WebSocket")


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
if not words:
    left_out(tally)
if not MOSQUITTO:
    left_out(tally, "no Mosquitto is installed here")
day = None
try:
    day = Day(words)
    scenes = (at_rest, messages, buttons, failures, approvals, waiting_approvals, availability, outage, orders, scopes, sessions, choices,
              unretained, names, renamed, refusals, web_socket, removal)
    # Some of them alone: SCENES=at_rest,renamed
    named = os.environ.get("SCENES", "").split(",")
    for scene in [scene for scene in scenes if scene.__name__ in named] or scenes:
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
