"""The connection to an MQTT broker, with Mosquitto: what is published, what is done, what a subscriber may rely on, and each way in
which a broker can refuse or die. Events are held against `GET /v1/events`: a subscriber that was away sees by `prev` that it missed some,
and asks for them. Brokers that mean harm: `mqtt_hostile.py`.

The long form kills the broker, Ladle and a subscriber at random (200 rounds), while commands go through that are repeated until they are
answered; each runs once. A cluster of brokers: `mqtt_cluster.py`."""

import collections
import concurrent.futures
import contextlib
import json
import os
import pathlib
import random
import re
import signal
import socket
import threading
import time
import traceback

import raw_mqtt
from follower import cursor, place
from harness import (DemoGateway, FaultyGateway, NotStarted, Serve, Tally, free_port, json_lines, options, run_ladle, scratch, until)
from raw_http import certificate, pin_of
from raw_mqtt import CORRELATION, EXPIRY, RESPONSE, USER, Chain, Client, Mosquitto, Watcher, retained

OPTIONS = options(rounds=(0, 200), seed=(0, 0))
SEED = OPTIONS.seed or random.SystemRandom().randrange(1, 1 << 32)
P = "ladle/kitchen"
TYPES = "run.started,run.ended,message,outbox,approval,session"
STATE = ("status", "link", "activity", "reply", "error", "outbox")
# As docs/mqtt.md has them, and a watcher that may do everything.
RIGHTS = """user ladle
topic readwrite ladle/kitchen/#
topic write homeassistant/device/+/config
topic read homeassistant/status
topic write answers/#
user watcher
topic readwrite #
"""
ROOT_KEYS = {"dev", "device", "o", "origin", "cmps", "components", "avty", "availability", "avty_t", "availability_topic", "avty_mode",
             "availability_mode", "availability_template", "payload_available", "payload_not_available", "state_topic", "command_topic",
             "qos", "encoding"}
tally = Tally()
check = tally.check


def ladle(broker, *more, password="secret", scheme="mqtt", host="127.0.0.1", **settings):
    """Ladle beside a broker, under the name `kitchen`."""
    state = settings.pop("state", None) or scratch()
    file = pathlib.Path(state, "broker-password")
    file.write_text(password + "\n")
    file.chmod(0o600)
    return Serve("--mqtt-url", f"{scheme}://{host}:{getattr(broker, 'port', broker)}", "--mqtt-username", "ladle", "--mqtt-password-file",
                 str(file), "--mqtt-name", "kitchen", "--limits-sends-burst", "1000", "--limits-all-sends-burst", "10000", *more, state=state, **settings)


def mqtt(server):
    return server.status()["mqtt"]


def is_at(server, *states):
    """Waits until the connection is in one of these states; the status then."""
    until(lambda: mqtt(server)["state"] in states, 30, 0.05, lambda: f"{states}, but {mqtt(server)}")
    return mqtt(server)


def with_code(server, code, seconds=20):
    until(lambda: mqtt(server).get("code") == code, seconds, 0.05, lambda: f"{code}, but {mqtt(server)}")
    return mqtt(server)


def caught_up(server):
    """Waits until the broker has acknowledged every event."""
    until(lambda: mqtt(server)["state"] in ("online", "degraded") and mqtt(server)["lag"] == {"events": 0, "seconds": 0}, 40, 0.1,
          lambda: f"the end of the lag: {mqtt(server)}")


def entries(server, text):
    return [entry for entry in server.json("GET", "/v1/outbox?limit=200")[1]["entries"] if entry.get("text", entry.get("preview")) == text]


def say(server, text, session="kitchen"):
    """A message over HTTP that is answered."""
    status, answer = server.json("POST", "/v1/messages?wait=20", {"text": f"echo {text}", "session": session})
    check(status == 200, f"a message over HTTP: {status} {answer}")


def results(watcher, id):
    return [message.json for message in watcher.of(f"{P}/results") if message.json.get("id") == id]


def result(watcher, id, status=None):
    """The result of a command; with `status` that one of several."""
    found = until(lambda: next((one for one in results(watcher, id) if status in (None, one.get("status"))), None), 15,
                  what=lambda: f"a result {status or ''} of {id}; there are {[message.json for message in watcher.of(f'{P}/results')][-4:]}")
    return found


def state_is_whole(port, server, what):
    """Every state topic is kept by the broker and says what the API says."""
    def whole():
        kept = retained(port, f"{P}/+")
        names = {topic.removeprefix(f"{P}/") for topic in kept}
        if not set(STATE) <= names:
            return None
        said, value = server.status(), lambda name: kept[f"{P}/{name}"].json
        same = (value("status")["state"] == "online" and value("link")["state"] == said["link"]["state"]
                and all(value("outbox")[name] == said["outbox"][name] for name in ("pending", "unconfirmed", "failed"))
                and value("activity")["active"] == said["runs"]["active"])
        return kept if same else None
    try:
        kept = until(whole, 5, 0.05, f"all state topics {what}")
    except TimeoutError as late:
        return check(False, f"{late}; there are {retained(port, f'{P}/+')}, the status is {server.status()}")
    check(all(message.qos == 1 for message in kept.values()), f"state topics have QoS 1 {what}")
    check("url" not in kept[f"{P}/link"].json, f"the link's address is not published {what}")
    return kept


class Paced(Client):
    """Publishes no faster than commands are taken."""

    def publish(self, *words, **more):
        time.sleep(0.21)
        return super().publish(*words, **more)


# -- the scenes of the short form; each has a broker and a Ladle of its own


def everyday():
    gateway, broker = DemoGateway("--speed", "3"), Mosquitto(acl=RIGHTS)
    watcher = Watcher(broker.port, "#")
    me = Paced(broker.port)
    server = ladle(broker, "--mqtt-scopes", "read,send", "--mqtt-discovery", "--mqtt-text", "full", "--mqtt-client-id", "one-ladle",
                   gateway=gateway.url).linked()
    said = is_at(server, "online")
    base = cursor(server)
    check(str(said["protocol"]) == "5" and said["scopes"] == ["read", "send"] and "code" not in said, f"the status: {said}")
    check(str(broker.port) in said["broker"] and "secret" not in json.dumps(said), f"the broker is named without secrets: {said['broker']}")
    wanted = {f"{P}/{name}" for name in ("send", "send/+", "cmd/send", "cmd/abort", "cmd/retry")} | {"homeassistant/status"}
    with contextlib.suppress(TimeoutError):
        until(lambda: set(broker.subscriptions("one-ladle")) == wanted, 5, what="")
    check(set(broker.subscriptions("one-ladle")) == wanted, f"it subscribes {broker.subscriptions('one-ladle')}")
    kept = state_is_whole(broker.port, server, "at the start")
    check(kept and {"state", "version", "since"} <= set(kept[f"{P}/status"].json), "status has state, version and since")

    # A text that is a message, whatever it looks like; its answer; its events.
    check(me.publish(f"{P}/send", "echo over MQTT") in (0, 0x10), "the broker takes a text")
    until(lambda: (watcher.newest(f"{P}/reply") or {}).get("text") == "over MQTT", what=lambda: f"the reply: {watcher.of(f'{P}/reply')}")
    reply = watcher.newest(f"{P}/reply")
    check({"id", "at", "session", "runId", "short"} <= set(reply) and reply["short"] == "over MQTT", f"a reply has its run: {reply}")
    accepted = until(lambda: next((m.json for m in watcher.of(f"{P}/results")), None), what="a result")
    check(accepted["status"] == 202 and accepted["verb"] == "send" and accepted["entry"]["id"], f"a result: {accepted}")
    me.publish(f"{P}/send/attic", '{"text": "no"}')
    until(lambda: entries(server, '{"text": "no"}'), what="a text that looks like JSON")
    check("attic" in entries(server, '{"text": "no"}')[0]["session"], "the topic names the session")

    # Commands in JSON.
    for _ in range(5):
        me.publish(f"{P}/cmd/send", {"id": "once-1", "text": "echo once", "session": "kitchen"})
    until(lambda: len(results(watcher, "once-1")) >= 5, what=lambda: f"five results of one id: {results(watcher, 'once-1')}")
    check({one.get("entry", {}).get("id") for one in results(watcher, "once-1")} == {entries(server, "echo once")[0]["id"]},
          f"one id is one message, however often: {results(watcher, 'once-1')}")
    me.publish(f"{P}/cmd/send", {"text": "echo by correlation"}, more=[(RESPONSE, "answers/phone"), (CORRELATION, b"\x01\x02")])
    me.publish(f"{P}/cmd/send", {"text": "echo by correlation"}, more=[(RESPONSE, "answers/phone"), (CORRELATION, b"\x01\x02")])
    until(lambda: len(watcher.of("answers/phone")) >= 2, what="results at the response topic")
    check(all(m.value(CORRELATION) == b"\x01\x02" and m.json["status"] == 202 for m in watcher.of("answers/phone")), "with its correlation data")
    check(len(entries(server, "echo by correlation")) == 1, "correlation data is the id")
    for topic in ("homeassistant/device/x/config", f"{P}/send", f"{P}/cmd/abort", "$SYS/x", "a/#"):
        with contextlib.suppress(ConnectionResetError, TimeoutError):
            Client(broker.port).publish(f"{P}/cmd/send", {"id": f"to {topic}", "text": "echo nothing"}, more=[(RESPONSE, topic)])
    me.publish(f"{P}/cmd/send", {"id": "wait-1", "text": "echo waited", "session": "kitchen", "wait": True})
    done = result(watcher, "wait-1", 200)
    check(done["reply"] == "waited" and done["run"]["state"] == "completed", f"the end of a run as a result: {done}")
    for verb, payload, codes in (("send", "no JSON", {400}), ("send", {"id": "empty"}, {400, 422}), ("abort", {}, {400, 422}),
                                 ("abort", {"run": "none"}, {404}), ("retry", {"entry": "none"}, {404})):
        before = len(watcher.of(f"{P}/results"))
        me.publish(f"{P}/cmd/{verb}", payload)
        until(lambda: len(watcher.of(f"{P}/results")) > before, 5, what=f"a result of {verb} {payload}")
        refused = watcher.of(f"{P}/results")[-1].json
        check(refused["status"] in codes and refused["code"] and refused["detail"], f"{verb} {payload} is refused: {refused}")
    # No scope, no subscription.
    before = len(watcher.of(f"{P}/results"))
    for verb, payload in (("nothing", {"id": "x"}), ("approvals", {"id": "a", "decision": "allow-once"}), ("session", {"session": "main", "model": "x"})):
        me.publish(f"{P}/cmd/{verb}", payload)
    me.publish(f"{P}/send/story", "slow story")
    until(lambda: (watcher.newest(f"{P}/activity") or {}).get("active"), what=lambda: f"a run in activity: {watcher.newest(f'{P}/activity')}")
    active = watcher.newest(f"{P}/activity")
    check(active["headline"] and active["runs"][0]["session"] and "at" in active, f"activity: {active}")
    me.publish(f"{P}/cmd/abort", {"id": "stop-1", "all": True})
    check(result(watcher, "stop-1")["status"] in (200, 202), f"an abort: {result(watcher, 'stop-1')}")
    until(lambda: watcher.newest(f"{P}/activity")["active"] == 0, what="the end of the run")
    me.publish(f"{P}/send", "fail with 401")
    failed = until(lambda: (said := watcher.newest(f"{P}/error")) and said["code"] != "None" and said, what=lambda: f"an error: {watcher.newest(f'{P}/error')}")
    check({"id", "at", "code", "detail", "session", "runId"} <= set(failed), f"an error: {failed}")

    # What may not be done.
    before = len(entries(server, "echo retained"))
    me.publish(f"{P}/send", "echo retained", retain=True)
    me.publish(f"{P}/cmd/send", {"id": "kept", "text": "echo retained"}, retain=True)
    me.publish(f"{P}/send", "")
    say(server, "a moment later")
    check(len(entries(server, "echo retained")) == before, "a retained command is not done")
    check(any(m.json.get("code") == "RETAINED_COMMAND" for m in watcher.of(f"{P}/results")) or "RETAINED_COMMAND" in server.output,
          f"and it is said: {[m.json for m in watcher.of(f'{P}/results')][-3:]}")
    for _ in range(6):
        me.publish(f"{P}/send/loop", "echo round and round")
    until(lambda: any(m.json.get("code") == "LOOP_SUSPECTED" for m in watcher.of(f"{P}/results")), what="LOOP_SUSPECTED")
    check(len(entries(server, "echo round and round")) == 3, f"a loop ends: {len(entries(server, 'echo round and round'))}")
    strange = [m for m in watcher.messages if b'"verb"' in m.payload and m.topic not in (f"{P}/results", "answers/phone")]
    check(not strange, f"no result goes to a topic of others: {strange[:2]}")

    # Home Assistant's device.
    config = next(m for m in watcher.messages if re.fullmatch(r"homeassistant/device/ladle_\w+/config", m.topic))
    device = config.json
    check(set(device) <= ROOT_KEYS and (device.get("o") or device["origin"])["name"], f"Home Assistant takes its root keys: {set(device) - ROOT_KEYS}")
    parts = device.get("cmps") or device["components"]
    names = [part.get("unique_id") or part.get("uniq_id") for part in parts.values()]
    check(all("p" in part or "platform" in part for part in parts.values()) and len(set(names)) == len(names), f"its entities: {names}")
    check({"link", "working", "last_reply", "run", "message", "abort"} <= set(parts) and "deny_all" not in parts, f"its entities: {list(parts)}")
    check(len(config.payload) < 32_768 and config.qos == 1, f"{len(config.payload)} bytes of discovery")
    states = {value.replace("~", device.get("~", "")) for part in parts.values() if part.get("p") not in ("event",)
              for key, value in part.items() if key in ("stat_t", "state_topic", "json_attr_t")}
    kept = retained(broker.port, "#")
    check(config.topic in kept and states <= set(kept), f"its states are kept: {states - set(kept)}")
    kinds = lambda: {m.json["event_type"] for m in watcher.of(f"{P}/ha/run")}
    until(lambda: {"started", "completed", "failed", "aborted"} <= kinds(), what=lambda: f"all events for Home Assistant: {kinds()}")
    before = len(watcher.of(config.topic))
    me.publish("homeassistant/status", "online", qos=0)
    until(lambda: len(watcher.of(config.topic)) > before, 8, what="the device once more when Home Assistant comes")

    # The chain, and what an event carries.
    server.at_rest()
    caught_up(server)
    say(server, "the end")
    caught_up(server)
    time.sleep(0.5)
    truth = Chain(P, watcher.messages).judge(tally, server, TYPES, base, "a subscriber without interruption")
    one = watcher.of(f"{P}/events/run.ended")[-1]
    check(one.qos == 1 and not one.retain and dict(one.properties).get(0x03) == b"application/json", f"an event: {one} {one.properties}")
    check((USER, (b"ladle-id", one.json["id"].encode())) in one.properties and 0 < one.value(EXPIRY) <= 7 * 86_400, f"its properties: {one.properties}")
    places = [place(event["id"]) for _, event in Chain(P, watcher.messages).arrived]
    out_of_order = [pair for pair in zip(places, places[1:]) if pair[1] <= pair[0]]
    check(not out_of_order, f"events come in their order: {out_of_order[:3]}")
    page = server.call("GET", "/metrics")[2].decode()
    for name in ("mqtt_state", "mqtt_published_total", "mqtt_lag_events", "mqtt_commands_total"):
        check(f"ladle_{name}" in page, f"the metrics page has ladle_{name}")

    # A retained command that waits for a Ladle that starts; an orderly end.
    me.publish(f"{P}/send", "echo at the start", retain=True)
    began = time.monotonic()
    server.stop()
    until(lambda: watcher.newest(f"{P}/status")["state"] == "offline", 2, what="offline at an orderly end")
    check(time.monotonic() - began < 8, "an orderly end is told at once")
    server = server.again().linked()
    is_at(server, "online")
    say(server, "after the start")
    check(not entries(server, "echo at the start"), "a retained command of before is not done")
    audit = "".join(file.read_text() for file in pathlib.Path(server.state).rglob("audit.log"))
    check('"mqtt"' in audit or "mqtt" in audit, "commands are in the audit")
    for name, words in (("audit", audit), ("log", server.output)):
        check("secret" not in words and "over MQTT" not in words, f"no secret and no text in the {name}")
    server.stop()
    return f"{len(truth)} events"


def read_only():
    broker = Mosquitto(acl=RIGHTS)
    watcher = Watcher(broker.port, "#")
    server = ladle(broker, "--mqtt-client-id", "one-ladle").linked()
    check(is_at(server, "online")["scopes"] == ["read"], "the default is to read")
    Client(broker.port).publish(f"{P}/send", "echo nobody hears")
    Client(broker.port).publish(f"{P}/cmd/send", {"id": "x", "text": "echo nobody hears"})
    say(server, "a long story " * 100)
    check(not broker.subscriptions("one-ladle"), f"it subscribes {broker.subscriptions('one-ladle')}")
    check(not entries(server, "echo nobody hears") and not watcher.of(f"{P}/results"), "nothing is done")
    reply = until(lambda: (said := watcher.newest(f"{P}/reply")) and said.get("runId") and said, what="a reply")
    check(len(reply["short"]) <= 254 and not reply.get("text"), f"the default is a short reply: {len(reply['short'])} {set(reply)}")
    check(not any(topic.startswith("homeassistant") for topic in retained(broker.port)), "no discovery by default")
    # A session that the broker has kept of a Ladle that took commands.
    server.stop()
    server = ladle(broker, "--mqtt-client-id", "one-ladle", "--mqtt-scopes", "read,send", state=server.state).linked()
    is_at(server, "online")
    server.kill()
    server = ladle(broker, "--mqtt-client-id", "one-ladle", state=server.state).linked()
    is_at(server, "online")
    Client(broker.port).publish(f"{P}/send", "echo nobody hears")
    say(server, "a moment later")
    check(not entries(server, "echo nobody hears"), "a command for a scope that is gone is not done")
    gone = broker.output.rpartition("UNSUBSCRIBE from one-ladle")[2]
    check(all(f"{P}/{name}\n" in gone.split("UNSUBACK")[0] + "\n" for name in ("send", "send/+", "cmd/send")),
          f"the subscriptions of a scope that is gone are ended: {gone[:300]}")
    # Its will.
    server.kill()
    began = time.monotonic()
    until(lambda: watcher.newest(f"{P}/status")["state"] == "offline", 15, what="the will")
    check(time.monotonic() - began > 2, "the will waits a moment, so that a restart is no absence")


def refused():
    broker = Mosquitto()
    server = ladle(broker, "--mqtt-client-id", "one-ladle", password="wrong").linked()
    said = with_code(server, "MQTT_NOT_AUTHORIZED")
    check(said["state"] == "refused" and "passwordFile" in said["hint"], f"a wrong password: {said}")
    check("wrong" not in json.dumps(said) and "wrong" not in server.output.replace("wrong password", ""), "without the password")
    time.sleep(3)
    tries = len(re.findall(r"Sending CONNACK to \S+ \(0, (?:5|135)\)", broker.output))
    check(tries <= 2, f"{tries} tries in three seconds with a password that is refused")
    check(server.call("GET", "/readyz")[0] == 200, "readiness does not depend on the broker")
    say(server, "still there")
    file = pathlib.Path(server.state, "broker-password")
    file.write_text("secret\n")
    server.process.send_signal(signal.SIGHUP)
    is_at(server, "online")
    # Configurations that cannot be.
    for arguments, words in ((["--mqtt-url", "mqtt://user:pass@127.0.0.1:1"], "user"), (["--mqtt-url", "wss://127.0.0.1:1/mqtt?token=x"], "path"), (["--mqtt-url", "ws://192.0.2.1"], "wss"),
                             (["--mqtt-url", "mqtt://192.0.2.1"], "mqtts"),
                             (["--mqtt-url", "mqtt://127.0.0.1:1", "--mqtt-scopes", "read,admin"], "scopes"),
                             (["--mqtt-url", "mqtt://127.0.0.1:1", "--mqtt-name", "a/#"], "mqtt.name")):
        try:
            Serve(*arguments).kill()
            check(False, f"{arguments} is taken")
        except NotStarted as end:
            check(end.code == 78 and words in end.output and "pass@" not in end.output, f"{arguments}: {end.code} {end.output}")


def denied():
    broker = Mosquitto(acl=f"user ladle\ntopic readwrite ladle/kitchen/#\ntopic deny {P}/events/#\nuser watcher\ntopic readwrite #\n")
    watcher = Watcher(broker.port, "#")
    server = ladle(broker, "--mqtt-scopes", "read,send").linked()
    is_at(server, "online", "degraded")
    say(server, "no event")
    said = with_code(server, "MQTT_PUBLISH_DENIED")
    check(said["state"] == "degraded" and f"{P}/events" in json.dumps(said), f"a denied topic is named: {said}")
    for number in range(12):
        say(server, number)
    until(lambda: (watcher.newest(f"{P}/reply") or {}).get("short") == "11", what="the reply, which is not denied")
    caught_up(server)
    tries = broker.output.count("Denied PUBLISH")
    check(tries <= 20, f"{tries} tries of a topic that is denied")
    check(not any("/events/" in message.topic for message in watcher.messages), "nothing of it came")


def deaths():
    gateway, port = DemoGateway(), free_port()
    server = ladle(port, "--mqtt-client-id", "one-ladle", gateway=gateway.url).linked()
    said = is_at(server, "offline")
    check(said["code"] and said["detail"], f"no broker at the start: {said}")
    say(server, "before all")
    base = cursor(server)
    # Nothing of it is kept, as after the loss of the broker's disk.
    broker = Mosquitto("autosave_interval 0", port=port)
    is_at(server, "online")
    watcher = Watcher(port, f"{P}/#")
    state_is_whole(port, server, "after a broker that came late")
    for number in range(5):
        say(server, number)
    broker.kill()
    until(lambda: mqtt(server)["state"] != "online", what="the loss of the broker")
    for number in range(5):
        say(server, f"away {number}")
    check(mqtt(server)["lag"] != {"events": 0, "seconds": 0}, f"events wait: {mqtt(server)}")
    for file in pathlib.Path(broker.folder).glob("mosquitto.db*"):
        file.unlink()
    broker = broker.again()
    is_at(server, "online")
    state_is_whole(port, server, "after the broker's death")
    until(lambda: watcher.is_connected, what="the subscriber")
    say(server, "both are back")
    caught_up(server)
    # Ladle itself, in the middle of its work, and without a moment to write.
    for number in range(4):
        server.call("POST", "/v1/messages", {"text": f"echo killed {number}", "session": "kitchen"})
    server.kill()
    server = server.again().linked()
    is_at(server, "online")
    state_is_whole(port, server, "after Ladle's death")
    say(server, "the last")
    server.at_rest()
    caught_up(server)
    say(server, "after the last")
    caught_up(server)
    time.sleep(0.5)
    check(not [m for m in watcher.of(f"{P}/status") if m.json["state"] == "offline"], "a restart within the will's delay is no absence")
    # Of the time before the subscriber came again it has nothing; one broker's death, one of Ladle.
    truth = Chain(P, watcher.messages).judge(tally, server, TYPES, base, "a subscriber over two deaths", may_miss=True, may_repeat=2 * 64)
    return f"{len(truth)} events over two deaths, {len(Chain(P, watcher.messages).missing(truth))} missed by the subscriber"


def takeover():
    broker = Mosquitto()
    server = ladle(broker, "--mqtt-client-id", "one-ladle").linked()
    is_at(server, "online")
    stopping = threading.Event()

    def duel():
        while not stopping.is_set():
            with contextlib.suppress(OSError, TimeoutError):
                Client(broker.port, name="one-ladle").closed.wait()
            time.sleep(0.2)
    threading.Thread(target=duel, daemon=True).start()
    said = with_code(server, "MQTT_TAKEN_OVER", 40)
    check("client-id" in said.get("hint", ""), f"another client has its id: {said}")
    before = len(broker.connects("one-ladle"))
    time.sleep(6)
    # Ours and that of the other for each return.
    check(len(broker.connects("one-ladle")) - before <= 2, f"{len(broker.connects('one-ladle')) - before} connections in a duel of 6 seconds")
    say(server, "beside a duel")
    stopping.set()


def old():
    broker = Mosquitto(acl=RIGHTS)
    watcher = Watcher(broker.port, f"{P}/#", level=4)
    server = ladle(broker, "--mqtt-version", "3.1.1", "--mqtt-scopes", "read,send", "--mqtt-client-id", "one-ladle").linked()
    said = is_at(server, "online")
    base = cursor(server)
    check(said["protocol"] == "3.1.1" and broker.connects("one-ladle")[0] == ("2", "0"), f"3.1.1: {said} {broker.connects('one-ladle')}")
    state_is_whole(broker.port, server, "over 3.1.1")
    me = Client(broker.port, level=4)
    me.publish(f"{P}/send", "echo from the past")
    me.publish(f"{P}/cmd/send", {"id": "past", "text": "echo and once more"})
    check(result(watcher, "past")["status"] == 202, "a command over 3.1.1")
    until(lambda: any(m.json.get("short") == "and once more" for m in watcher.of(f"{P}/reply")), what="its reply")
    # A retained command is one like others at the moment of its publication: here nothing tells. Later the flag does.
    me.publish(f"{P}/send", "echo retained", retain=True)
    until(lambda: entries(server, "echo retained"), what="a retained command of this moment")
    # A run that dies with its gateway would hold its session for 75 s.
    server.at_rest().kill()
    me.publish(f"{P}/cmd/send", {"id": "waited", "text": "echo in the broker"})
    server = server.again().linked()
    check(result(watcher, "waited")["status"] == 202, "a command that waited in the broker")
    server.at_rest()
    check(len(entries(server, "echo retained")) == 1, "a retained command is not done again, over 3.1.1")
    caught_up(server)
    say(server, "the last")
    caught_up(server)
    time.sleep(0.5)
    Chain(P, watcher.messages).judge(tally, server, TYPES, base, "a subscriber of 3.1.1", may_repeat=64)


def sizes():
    for setting, level in (("max_packet_size 4000", 5), ("message_size_limit 3000", 5), ("message_size_limit 3000", 4)):
        broker = Mosquitto(setting)
        watcher = Watcher(broker.port, f"{P}/#")
        server = ladle(broker, "--mqtt-text", "full", "--mqtt-client-id", "one-ladle", "--mqtt-version", "5" if level == 5 else "3.1.1").linked()
        is_at(server, "online")
        base = cursor(server)
        say(server, "x" * 8_000)
        say(server, "short again")
        until(lambda: watcher.newest(f"{P}/reply")["short"] == "short again", what=f"the reply, with {setting}")
        caught_up(server)
        time.sleep(0.3)
        name = f"{setting}, MQTT {level}"
        check(len(broker.connects("one-ladle")) <= (1 if level == 5 else 2), f"{name}: {len(broker.connects('one-ladle'))} connections")
        chain = Chain(P, watcher.messages)
        stubs = [event for event in chain.events.values() if event.get("tooLarge")]
        if setting.startswith("max"):
            check(stubs and all({"type", "id", "prev", "at"} <= set(event) for event in stubs), f"{name}: a stub for what is too large: {stubs[:1]}")
            check(not [m for m in watcher.messages if len(m.payload) > 4000], f"{name}: nothing larger comes")
        truth = chain.judge(tally, server, TYPES, base, f"a broker with {name}", may_miss=not setting.startswith("max"), may_repeat=8)
        large = {event["id"] for event in truth if len(json.dumps(event)) > 3_000}
        check(large and set(chain.missing(truth)) <= large, f"{name}: the others come: {len(set(chain.missing(truth)) - large)} do not")
        server.stop()


def renamed():
    broker = Mosquitto()
    watcher = Watcher(broker.port, "#")
    server = ladle(broker, "--mqtt-discovery").linked()
    is_at(server, "online")
    say(server, "one")
    until(lambda: f"{P}/reply" in retained(broker.port), what="retained topics")
    until(lambda: any(t.startswith("homeassistant/") for t in retained(broker.port)), what="a device")
    server.stop()
    other = ladle(broker, "--mqtt-name", "pantry", "--mqtt-discovery", state=server.state).linked()
    is_at(other, "online")
    until(lambda: "ladle/pantry/reply" in retained(broker.port), what="the new name")
    with contextlib.suppress(TimeoutError):
        until(lambda: not any(t.startswith(f"{P}/") for t in retained(broker.port)), 8, what="")
    left = [topic for topic in retained(broker.port) if topic.startswith(f"{P}/")]
    check(not left, f"what the old name left is taken back: {left}")
    told = ["device" if m.topic.endswith("/config") and b"ladle/pantry" in m.payload else "removal" for m in watcher.messages
            if m.topic.endswith("/config") and b"ladle/pantry" in m.payload or m.topic.startswith(f"{P}/") and not m.payload]
    check(told[:1] == ["device"] and "removal" in told, f"Home Assistant is told of the new topics before the old ones are empty: {told}")
    other.stop()
    other = ladle(broker, "--mqtt-name", "pantry", state=server.state).linked()
    is_at(other, "online")
    with contextlib.suppress(TimeoutError):
        until(lambda: not any(t.startswith("homeassistant/") for t in retained(broker.port)), 8, what="")
    check(not any(t.startswith("homeassistant/") for t in retained(broker.port)), "a device that is switched off goes")
    other.stop()
    other = ladle(broker, "--mqtt-name", "pantry", state=server.state, env={"LADLE_MQTT_RETAIN": "false"}).linked()
    is_at(other, "online")
    time.sleep(1)
    check(not [t for t in retained(broker.port) if t != "ladle/pantry/status"], f"mqtt.retain=false: {list(retained(broker.port))}")
    other.stop()


def sessions():
    broker = Mosquitto()
    watcher = Watcher(broker.port, f"{P}/#")
    server = ladle(broker, "--mqtt-sessions", "agent:main:kitchen", "--mqtt-scopes", "read,send").linked()
    is_at(server, "online")
    say(server, "mine")
    say(server, "theirs", "attic")
    me = Client(broker.port)
    me.publish(f"{P}/cmd/send", {"id": "attic", "text": "echo over there", "session": "attic"})
    refusal = result(watcher, "attic")
    check(refusal["status"] in (403, 404), f"another session is out of reach: {refusal}")
    me.publish(f"{P}/cmd/send", {"id": "here", "text": "echo over here", "session": "kitchen"})
    check(result(watcher, "here")["status"] == 202, f"its own is not: {result(watcher, 'here')}")
    until(lambda: (watcher.newest(f"{P}/reply") or {}).get("short") == "over here", what="the reply")
    own = until(lambda: [m for m in watcher.messages if m.topic.startswith(f"{P}/sessions/")], what="its session's topic")
    check(own[-1].json["key"] == "agent:main:kitchen" and own[-1].topic.count("/") == 3, f"its topic: {own[-1:]}")
    theirs = [m for m in watcher.messages if b"attic" in m.payload and not m.topic.startswith((f"{P}/cmd/", f"{P}/results"))]
    check(not theirs, f"no other session is published: {theirs[:2]}")


def last_reply():
    """The run that ended last has the last reply, also after a restart, and if another one began after it."""
    gateway, broker = DemoGateway("--speed", "1"), Mosquitto()
    watcher = Watcher(broker.port, f"{P}/reply")
    server = ladle(broker, gateway=gateway.url).linked()
    is_at(server, "online")
    slow = server.json("POST", "/v1/messages", {"text": "append the weather to weather.txt", "session": "attic"})[1]["id"]
    until(lambda: server.json("GET", f"/v1/runs/{slow}")[1].get("state") == "running", 20, 0.01, "a slow run")
    say(server, "quick")
    newest = lambda: watcher.newest(f"{P}/reply") or {}
    until(lambda: newest().get("runId") == slow, 30, what=lambda: f"the slow reply: {newest()}")
    check(any((message.json.get("short") or "") == "quick" for message in watcher.messages), "the quick one came before it")
    seen = len(watcher.messages)
    server.kill()
    server = server.again().linked()
    until(lambda: len(watcher.messages) > seen, 20, what="the reply again")
    check(newest()["runId"] == slow, f"the last reply is the same after a restart: {newest()}")


def repeats():
    """A command under an id acts once, whatever it is, also across a death of Ladle; who waits is told, even that it is not told."""
    gateway, broker = DemoGateway("--speed", "1"), Mosquitto()
    watcher = Watcher(broker.port, f"{P}/#")
    server = ladle(broker, "--mqtt-scopes", "read,send,control", gateway=gateway.url).linked()
    is_at(server, "online")
    say(server, "mine")
    me, merge = Client(broker.port), {"If-Match": "*", "Content-Type": "application/merge-patch+json"}
    label = lambda: server.json("GET", "/v1/sessions/agent:main:kitchen")[1].get("label")

    def twice(verb, command, between):
        """The results of a command that comes a second time after `between`."""
        for number in (1, 2):
            me.publish(f"{P}/cmd/{verb}", command)
            until(lambda: len(results(watcher, command["id"])) == number, 15, what=lambda: f"result {number} of {command}")
            if number == 1:
                between()
        return results(watcher, command["id"])

    def rename():
        status, answer = server.json("PATCH", "/v1/sessions/agent:main:kitchen", {"label": "Mine"}, merge)
        check(status == 200, f"renamed: {status} {answer}")

    def die():
        nonlocal server
        rename()
        server.kill()
        server = server.again().linked()
        is_at(server, "online")
    for name, between in (("once", rename), ("over a death", die)):
        said = twice("session", {"id": name, "session": "kitchen", "label": name}, between)
        check(said[0] == said[1] and said[0]["status"] == 200, f"{name}: a repeat gets the first result: {said}")
        check(label() == "Mine", f"{name}: and changes nothing: {label()}")
    me.publish(f"{P}/cmd/session", {"id": "once", "session": "kitchen", "label": "Another"})
    reused = until(lambda: len(found := results(watcher, "once")) == 3 and found[-1], 15, what="the third result")
    check((reused["status"], reused["code"], label()) == (422, "IDEMPOTENCY_KEY_REUSED", "Mine"), f"another command under the id: {reused} {label()}")
    said = twice("session", {"id": "nobody", "session": "nobody", "label": "x"}, lambda: None)
    check([one["status"] for one in said] == [404, 404], f"what was refused is tried again: {said}")

    def work():
        me.publish(f"{P}/cmd/send", {"id": "work", "text": "slow story", "session": "desk"})
        until(lambda: server.status()["runs"]["active"] == 1, 15, what="a run")
    said = twice("abort", {"id": "all", "all": True}, work)
    check(said[0] == said[1] and server.status()["runs"]["active"] == 1, f"a stop of then stops nothing of now: {said} {server.status()['runs']}")
    me.publish(f"{P}/cmd/abort", {"id": "all again", "all": True})
    check(result(watcher, "all again")["answer"]["done"] == 1, f"a new one does: {result(watcher, 'all again')}")
    server.at_rest()

    # Sixteen wait for their runs; the seventeenth hears that it does not.
    for number in range(18):
        me.publish(f"{P}/cmd/send", {"id": f"wait{number}", "text": "slow story", "session": f"room{number}", "wait": True})
        time.sleep(0.25)
    until(lambda: all(len(results(watcher, f"wait{number}")) == 2 for number in range(18)), 60, 0.2,
          lambda: f"two results each: {[[one['status'] for one in results(watcher, f'wait{number}')] for number in range(18)]}")
    told = sorted(results(watcher, f"wait{number}")[-1]["status"] for number in range(18))
    check(told == [200] * 16 + [429] * 2, f"sixteen are told of the end, two that they are not: {told}")
    server.stop()


def choices():
    """Selects for the model and thinking level of a session that is named, and numbers of usage."""
    gateway, broker = DemoGateway(), Mosquitto()
    watcher = Watcher(broker.port, "#")
    server = ladle(broker, "--mqtt-sessions", "agent:main:kitchen", "--mqtt-scopes", "read,send,control", "--mqtt-discovery", "--mqtt-usage",
                   gateway=gateway.url).linked()
    is_at(server, "online")
    device = lambda: ([m.json["cmps"] for m in watcher.messages if m.topic.endswith("/config") and m.payload] or [{}])[-1]
    selects = lambda: {key: one for key, one in device().items() if key.startswith("session_")}
    topic = f"{P}/sessions/agent:main:kitchen"
    check(not selects() and topic not in retained(broker.port), "nothing of a session that does not exist")
    say(server, "mine")
    until(lambda: len(selects()) == 2, 15, what=lambda: f"two selects; there are {list(device())}")
    models = {one["id"] for one in server.json("GET", "/v1/models")[1]["models"]}
    for key, one in selects().items():
        member = key.rpartition("_")[2]
        current = lambda: retained(broker.port)[topic].json[member]
        until(lambda: current() in one["ops"], 8, what=lambda: f"{member}: {current()} is one of {one['ops']}")
        check(member != "model" or models <= set(one["ops"]), f"the models of the API: {models} {one['ops']}")
        other = next(option for option in one["ops"] if option != current())
        command = one["cmd_tpl"].replace("{{ ", "").replace(" | to_json }}", "").replace("value", repr(other))
        Client(broker.port).publish(one["cmd_t"], json.dumps(eval(command)))
        until(lambda: current() == other, 10, what=lambda: f"{member} is {other} after {command}: {watcher.newest(f'{P}/results')}")
    usage = until(lambda: (said := watcher.newest(f"{P}/usage")) and said.get("date") and said, 10, what="usage in numbers")
    truth = server.json("GET", "/v1/usage")[1]
    check(usage["tokens"] == truth["today"]["tokens"] and usage["costUsd"] == truth["today"].get("costUsd"), f"usage: {usage} {truth['today']}")
    shares = [window.get("usedPercent") for provider in truth["providers"] for window in provider["windows"]]
    check(usage["usedPercent"] == max((share for share in shares if share is not None), default=None), f"the limit that is reached first: {usage}")
    check({"cost_today", "quota_used", "tokens_today"} <= set(device()), f"entities of usage: {list(device())}")
    # The selects stay over a restart of everything: what is not known yet is not gone.
    seen = len(watcher.messages)
    server.kill()
    server = server.again().linked()
    is_at(server, "online")
    until(lambda: any(m.topic.endswith("/config") for m in watcher.messages[seen:]), what="the device again")
    until(lambda: len(selects()) == 2, 15, what="the selects again")
    removed = [m for m in watcher.messages[seen:] if m.topic.endswith("/config") and any("stat_t" not in one and "cmd_t" not in one
                                                                                        for one in m.json["cmps"].values())]
    check(not removed, f"no entity goes at a restart: {[list(m.json['cmps']) for m in removed]}")
    status, answer = server.json("DELETE", "/v1/sessions/agent:main:kitchen", headers={"If-Match": "*"})
    check(status < 300, f"the session is deleted: {status} {answer}")
    until(lambda: topic not in retained(broker.port), 10, what="the end of its topic")
    until(lambda: selects() and all(set(one) == {"p"} for one in selects().values()), 10, what=lambda: f"the end of the selects: {selects()}")
    left = [m.topic for m in watcher.messages if m.topic == topic and not m.payload or m.topic.endswith("/config") and b"session_" in m.payload]
    check(left and left[-1] == topic, f"the selects go before their topic is empty: {left[-3:]}")


def ask_doctor(server, url, *more):
    """What `ladle doctor` says, with the settings of a Ladle beside the broker."""
    return run_ladle("doctor", "--state", server.state, "--mqtt-url", url, "--mqtt-name", "kitchen", "--mqtt-username", "ladle",
                     "--mqtt-password-file", f"{server.state}/broker-password", *more, timeout=60).stdout


def web_sockets():
    folder = scratch()
    certificate(folder, "localhost")
    for scheme, lines in (("ws", []), ("wss", [f"certfile {folder}/cert.pem", f"keyfile {folder}/key.pem"])):
        port = free_port()
        broker = Mosquitto(f"listener {port} 127.0.0.1", "protocol websockets", *lines, acl=RIGHTS)
        watcher = Watcher(broker.port, "#")
        trust = ["--mqtt-ca", f"{folder}/cert.pem"] if lines else []
        server = ladle(port, *trust, "--mqtt-scopes", "read,send", scheme=scheme, host="localhost").linked()
        said = is_at(server, "online")
        check(said["broker"] == f"{scheme}://localhost:{port}/mqtt" and str(said["protocol"]) == "5", f"over {scheme}: {said}")
        base = cursor(server)
        state_is_whole(broker.port, server, f"over {scheme}")
        Client(broker.port).publish(f"{P}/cmd/send", {"id": "one", "text": "echo " + "x" * 20_000})
        check(result(watcher, "one")["status"] == 202, f"a command over {scheme}")
        for number in range(3):
            say(server, f"number {number}")
        caught_up(server)
        broker.kill()
        is_at(server, "offline")
        say(server, "meanwhile")
        broker = broker.again()
        until(lambda: watcher.is_connected, what="the subscriber")
        caught_up(server)
        said = ask_doctor(server, f"{scheme}://localhost:{port}", *trust)
        check("came back from" in said, f"the doctor over {scheme}: {said}")
        time.sleep(0.3)
        Chain(P, watcher.messages).judge(tally, server, TYPES, base, f"a subscriber beside {scheme}", may_miss=100, may_repeat=64)
        server.kill()
        broker.kill()
    # Servers that speak no MQTT there.
    plain = Mosquitto()
    server = ladle(plain, scheme="ws")
    said = with_code(server, "MQTT_WEBSOCKET", 30)
    check("mqtt.url" in said["hint"], f"a broker without WebSockets: {said}")
    server.kill()
    other = Serve(gateway=DemoGateway().url)
    server = ladle(other.port, scheme="ws")
    said = with_code(server, "MQTT_WEBSOCKET", 30)
    check(re.search(r"answers 4\d\d", said["detail"]), f"an HTTP server: {said}")
    server.kill()


def approvals():
    gateway, broker = DemoGateway(), Mosquitto()
    watcher = Watcher(broker.port, "#")
    server = ladle(broker, "--mqtt-scopes", "read,send,approvals", "--mqtt-discovery", "--gateway-scopes", "read,write,approvals",
                   gateway=gateway.url).linked()
    is_at(server, "online")
    me = Client(broker.port)
    pending = lambda: (watcher.newest(f"{P}/approvals") or {}).get("pending")
    until(lambda: pending() == 0, what=lambda: f"the topic of approvals: {watcher.newest(f'{P}/approvals')}")

    def asked(words):
        me.publish(f"{P}/send", f"approve echo {words}")
        until(lambda: pending() == 1, what="an approval")
        one = watcher.newest(f"{P}/approvals")["list"][0]
        check(words in json.dumps(one) and one["id"] and one["expiresAt"], f"an approval: {one}")
        return one["id"]
    id = asked("always")
    me.publish(f"{P}/cmd/approvals", {"id": id, "decision": "allow-always"})
    refusal = result(watcher, id)
    check(refusal["status"] in (400, 403, 422), f"nothing is allowed for ever over MQTT: {refusal}")
    check(pending() == 1, "and nothing was decided")
    me.publish(f"{P}/cmd/approvals", {"id": id, "decision": "allow-once"})
    until(lambda: (watcher.newest(f"{P}/reply") or {}).get("short", "").endswith("always"), what="the run that was allowed")
    check(result(watcher, id, 200), "a decision has a result")
    id = asked("deny")
    me.publish(f"{P}/cmd/approvals/deny", {"all": True})
    until(lambda: pending() == 0, what="the denial")
    check(server.json("GET", f"/v1/approvals/{id}")[1]["state"] == "denied", "all are denied")
    # On a topic of its own, which may be told behind the number of those that wait.
    kinds = lambda: [m.json["event_type"] for m in watcher.of(f"{P}/ha/approval")]
    until(lambda: "denied" in kinds(), what=lambda: f"the denial for Home Assistant: {kinds()}")
    check(kinds()[:1] == ["requested"] and "allowed" in kinds(), f"approvals for Home Assistant: {kinds()}")
    id = asked("too old")
    me.publish(f"{P}/cmd/approvals", {"id": id, "decision": "allow-once", "at": "2020-01-01T00:00:00Z"})
    until(lambda: any(m.json.get("code") == "COMMAND_TOO_OLD" for m in watcher.of(f"{P}/results")), what="COMMAND_TOO_OLD")
    # Another one that may not decide sees them all the same.
    other = ladle(broker, "--mqtt-name", "pantry", "--mqtt-discovery", "--gateway-scopes", "read,write,approvals", gateway=gateway.url).linked()
    is_at(other, "online")
    seen = lambda: [parts for m in watcher.messages if m.topic.endswith("/config") and b"ladle/pantry" in m.payload for parts in [m.json["cmps"]]]
    until(lambda: seen() and seen()[-1].get("approvals", {}).get("stat_t"), 8, what=lambda: f"the entity of approvals; there are {list(seen()[-1])}")
    check("deny_all" not in seen()[-1], "no button without its scope")
    gateway.kill()
    server.unlinked()
    until(lambda: watcher.newest(f"{P}/approvals").get("live") is False, what=lambda: f"no list without a link: {watcher.newest(f'{P}/approvals')}")
    check(watcher.newest(f"{P}/approvals")["list"] == [], "a stale list invites a wrong tap")
    until(lambda: watcher.newest(f"{P}/link")["state"] == "offline", what="the link on its topic")


def secure():
    mine, theirs = scratch(), scratch()
    for folder in (mine, theirs):
        certificate(folder, "localhost")
    broker = Mosquitto(listener=f"certfile {mine}/cert.pem\nkeyfile {mine}/key.pem")
    trust = ["--mqtt-ca", f"{mine}/cert.pem"]
    for more, code, host in ((trust, None, "localhost"), (["--mqtt-pin", pin_of(f"{mine}/cert.pem")], None, "127.0.0.1"),
                             (["--mqtt-ca", f"{theirs}/cert.pem"], "MQTT_TLS", "localhost"), ([], "MQTT_TLS", "localhost"),
                             (["--mqtt-pin", "0" * 64], "MQTT_TLS", "localhost")):
        server = ladle(broker, *more, scheme="mqtts", host=host)
        said = with_code(server, code) if code else is_at(server, "online")
        check(not code or re.search(r"mqtt[.-](ca|pin)", said.get("hint", "")), f"TLS with {more[:1]}: {said}")
        server.kill()
    plain = Mosquitto()
    server = ladle(plain, *trust, scheme="mqtts", host="localhost")
    check("TLS" in json.dumps(with_code(server, "MQTT_TLS")), f"TLS to a port without: {mqtt(server)}")
    server.kill()
    server = ladle(broker)
    said = is_at(server, "offline", "refused")
    check(said["code"], f"no TLS to a port with: {said}")
    server.kill()


# -- the long form


class Commander(threading.Thread):
    """Gives commands with ids, each again and again until its result has come: after a new connection, and with DUP."""

    def __init__(self, port, watcher, dice):
        super().__init__(daemon=True)
        self.port, self.watcher, self.dice = port, watcher, dice
        self.sent, self.answered, self.repeats, self.stopping = [], {}, 0, False
        self.start()

    def run(self):
        client, number, read = None, 0, 0
        while not self.stopping:
            number += 1
            id = f"command-{number}"
            self.sent.append(id)
            end, wait = time.monotonic() + 120, 0.5
            tries = 0
            while id not in self.answered and time.monotonic() < end:
                try:
                    if client is None or client.closed.is_set():
                        client = Client(self.port, name="commander", clean=False, expiry=3600)
                    topic = f"{P}/cmd/send"
                    payload = {"id": id, "text": f"echo {id}", "session": f"loop-{number % 4}"}
                    client.publish(topic, payload, number=number % 60_000 + 1, dup=tries > 0 and self.dice.random() < 0.5)
                    tries += 1
                except (OSError, TimeoutError):
                    client = None
                    time.sleep(0.1)
                    continue
                stop = time.monotonic() + wait
                while time.monotonic() < stop and id not in self.answered:
                    fresh = [m.json for m in self.watcher.of(f"{P}/results")[read:]]
                    read += len(fresh)
                    for said in fresh:
                        # 429 is no end: it was too many at once.
                        if said.get("id") and said["status"] == 202:
                            self.answered.setdefault(said["id"], set()).add(said["entry"]["id"])
                    time.sleep(0.02)
                wait = min(wait * 1.5, 4)
            self.repeats += max(tries - 1, 0)
            time.sleep(self.dice.random() * 0.3)


def loop():
    rounds, dice = OPTIONS.rounds, random.Random(SEED)
    record = pathlib.Path(scratch(), "ran.ndjson")
    gateway = FaultyGateway("--record", str(record), "--recall")
    broker = Mosquitto("autosave_interval 1", "autosave_on_changes true")
    server = ladle(broker, "--mqtt-scopes", "read,send", "--log-level", "warning", gateway=gateway.url).linked()
    is_at(server, "online")
    base = cursor(server)
    port, kills = broker.port, collections.Counter()
    # One that is always there, one that is killed too, one that keeps no session and comes late.
    steady = Watcher(port, f"{P}/#", name="steady")
    shaken = Watcher(port, f"{P}/events/+", name="shaken")
    commander = Commander(port, steady, dice)
    began = time.monotonic()
    for number in range(rounds):
        time.sleep(dice.random() ** 2 * 0.9 + 0.05)
        what = dice.choices(["ladle", "broker", "both", "subscriber"], [8, 6, 3, 3])[0]
        kills[what] += 1
        if what == "subscriber":
            shaken.cut()
            continue
        if what in ("broker", "both"):
            broker.kill()
            if dice.random() < 0.3:
                for file in broker.folder.glob("mosquitto.db*"):
                    file.unlink()
        if what in ("ladle", "both"):
            server.kill()
        if what in ("broker", "both"):
            time.sleep(dice.random() * 0.4)
            broker = broker.again()
        if what in ("ladle", "both"):
            server = server.again()
        if dice.random() < 0.5:
            # It waits longer with each try, a minute at most; so it tries at once.
            server.process.send_signal(signal.SIGHUP)
            time.sleep(0.05)
        if server.process.poll() is not None:
            return check(False, f"Ladle ended by itself in round {number}, with {server.process.returncode}: {server.output[-2000:]}")
        if number % 10 == 9:
            until(lambda: mqtt(server)["state"] == "online", 70, 0.05, lambda: f"a connection in round {number}: {mqtt(server)}")
            server.linked()
            state_is_whole(port, server, f"in round {number}")
    print(f"mqtt: {rounds} rounds in {time.monotonic() - began:.0f} s: {dict(kills)}", flush=True)
    server.process.send_signal(signal.SIGHUP)
    until(lambda: mqtt(server)["state"] == "online", 70, 0.05, "the last connection")
    server.linked()
    commander.stopping = True
    commander.join(130)
    server.at_rest(120)
    caught_up(server)
    until(lambda: steady.is_connected and shaken.is_connected, what="the subscribers")
    say(server, "the end")
    caught_up(server)
    time.sleep(1)

    most = 64 * (rounds + 1)
    for who, watcher in (("the steady subscriber", steady), ("the one that is killed", shaken)):
        chain = Chain(P, watcher.messages)
        truth = chain.judge(tally, server, TYPES, base, who, may_miss=True, may_repeat=most)
        print(f"mqtt: {who}: {len(truth)} events, {len(chain.missing(truth))} missed and found by prev, {chain.repeats} twice", flush=True)
    unanswered = [id for id in commander.sent if id not in commander.answered]
    check(not unanswered, f"every command is answered in the end: {unanswered[:3]}")
    several = {id: found for id, found in commander.answered.items() if len(found) > 1}
    check(not several, f"one id is one entry: {list(several.items())[:3]}")
    texts = collections.Counter(row["text"] for row in json_lines(record))
    twice = {id: texts[f"echo {id}"] for id in commander.sent if texts[f"echo {id}"] > 1}
    check(not twice, f"no command runs twice: {twice}")
    never = [id for id in commander.answered if not texts[f"echo {id}"]]
    check(not never, f"each that was accepted runs: {never[:3]}")
    print(f"mqtt: {len(commander.sent)} commands, {commander.repeats} repeats, {sum(texts.values())} messages ran", flush=True)
    for watcher in (steady, shaken):
        watcher.stop()
    server.stop()
    broker.kill()
    gateway.kill()


def slow_subscriber():
    """One that reads nothing delays nobody."""
    broker = Mosquitto()
    server = ladle(broker).linked()
    is_at(server, "online")
    stalled = socket.create_connection(("127.0.0.1", broker.port))
    stalled.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    body = raw_mqtt.text("MQTT") + b"\x05\xc2\x00\x00" + raw_mqtt.properties() + raw_mqtt.text("stalled") + raw_mqtt.text("watcher") + raw_mqtt.text("secret")
    stalled.sendall(raw_mqtt.packet(0x10, body) + raw_mqtt.packet(0x82, b"\x00\x01" + raw_mqtt.properties() + raw_mqtt.text("#") + b"\x01"))
    worst = 0
    for number in range(100):
        say(server, f"{number} " + "x" * 5_000)
        worst = max(worst, mqtt(server)["lag"]["seconds"])
    # The events of one moment in the next one; a machine at work is slow.
    check(worst <= 2, f"the lag beside a subscriber that reads nothing: {worst} s")
    server.stop()


def scene(act):
    began = time.monotonic()
    try:
        said = act()
    except Exception as error:  # a scene that ends early has failed, the others go on
        lines = [str(frame.lineno) for frame in traceback.extract_tb(error.__traceback__) if frame.filename == os.path.abspath(__file__)]
        return check(False, f"{act.__name__}, line {' '.join(lines)}: {type(error).__name__}: {error}")
    print(f"mqtt: {act.__name__} in {time.monotonic() - began:.1f} s{f', {said}' if said else ''}", flush=True)


if not raw_mqtt.MOSQUITTO:
    print("left out: Mosquitto is not installed")
    check(True, "")
    tally.end()
# They mostly wait.
with concurrent.futures.ThreadPoolExecutor(3) as pool:
    list(pool.map(scene, (everyday, deaths, takeover, read_only, old, secure, refused, denied, renamed, sizes, approvals, sessions, last_reply, repeats, choices, web_sockets)))
if OPTIONS.rounds:
    print(f"mqtt: seed {SEED}", flush=True)
    scene(loop)
if OPTIONS.long:
    scene(slow_subscriber)
tally.end()
