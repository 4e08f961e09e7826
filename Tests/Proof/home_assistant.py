"""The recipe of docs/apps.md in Home Assistant itself, pasted whole behind a configuration that has automations of its own: it loads
without a complaint, its commands and its sensors work, and it shows each reply once, also those of the time when Ladle or Home Assistant
was away. Without a Home Assistant (see house.py) the check says so and is left out."""

import json
import re
import signal
import time
import traceback

from harness import ROOT, DemoGateway, Serve, Tally, options, until
from house import House, command, left_out

ABSENCES = (0, 12)
# Replies that Home Assistant's templates would take for a value of another kind.
VALUES = ("42", "1.50", "+5", "1_000", "None", "True", "unknown", "[1, 2]", "{'a': 1}", "(1, 2)", "{{ 1 + 1 }}", "two\nlines", "\"'\\ <b>&amp;</b>", "ä😀" * 200)
SENSORS = {"sensor.ladle": "idle", "sensor.ladle_activity": "idle", "sensor.ladle_approvals": "0"}
# Who would complain about the recipe.
WATCHED = re.compile(r"(WARNING|ERROR|CRITICAL) \([^)]*\) \[homeassistant\.(config|setup|bootstrap|core|exceptions|helpers|loader|components\."
                     r"(rest|rest_command|notify|automation|script|input_text|sensor|template|persistent_notification|homeassistant))\b")
# Voices want a compiler and more, and are no matter of the recipe.
OTHERS = ("assist_", "ffmpeg", "FFmpeg", "Skipping pip installation")
AWAY = re.compile(r"[Cc]onnect|[Tt]ime-?out|Client error|Error fetching|Response payload|Empty reply found")
# Writes each notification into the log, also one that comes again.
WITNESS = """- id: witness
  alias: Witness
  mode: queued
  max: 1000
  triggers:
    - trigger: persistent_notification
      update_type: [added, updated]
  conditions: "{{ trigger.notification.title == 'The agent' }}"
  actions:
    - action: system_log.write
      data: {level: critical, logger: shown, message: "shown {{ trigger.notification.message | to_json }}"}
"""
options()
tally = Tally()
check = tally.check


def recipe():
    page = (ROOT / "docs/apps.md").read_text()
    text = re.search(r"<!-- file: home-assistant.yaml -->\n```yaml\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)[1]
    return text.replace("http://127.0.0.1:18780", serve.url)


def shown():
    """The replies it has shown, oldest first."""
    return [json.loads(text) for text in re.findall(r"\[shown\] shown (\".*\")", house.said)]


def say(*texts):
    for text in texts:
        status, answer = serve.json("POST", "/v1/messages?wait=20", {"text": f"echo {text}"})
        assert status == 200, answer


def soon(condition, what, seconds=60):
    try:
        until(condition, seconds, 0.2)
        check(True, "")
    except TimeoutError:
        check(False, what())


def shows(more, what, session="main"):
    """What it has shown so far, and these beside it, each once and behind the session's name."""
    expected.extend(f"{session}: {text}".strip() for text in more)
    soon(lambda: shown() == expected, lambda: f"{what}: {str(shown()[-len(more) - 2:])[:900]}, not {str(expected[-len(more):])[:900]}")
    # A fault is told once.
    expected[:] = shown()


def is_quiet(what, may_be_away=False):
    found = [one for one in house.complaints(WATCHED, OTHERS) if not (may_be_away and AWAY.search(one))]
    check(not found, f"Home Assistant complains {what}: {len(found)}, {found[:4]}")


def loads():
    issues = [one for one in house.ask("repairs/list_issues")["issues"] if one["domain"] not in ("homeassistant", "http")]
    check(not issues, f"nothing is to be repaired: {issues}")
    checked = house.api("POST", "config/core/check_config")
    check(checked["result"] == "valid" and not checked.get("warnings"), f"its own check of the configuration: {checked}")
    soon(lambda: {name: house.says(name) for name in SENSORS} == SENSORS, lambda: f"the sensors: { {name: house.says(name) for name in SENSORS} }")
    attributes = house.state("sensor.ladle")["attributes"]
    check({"headline", "active", "attention", "outbox"} <= set(attributes), f"the attributes of the first: {attributes}")
    automations = {one["entity_id"] for one in house.api("GET", "states") if one["entity_id"].startswith("automation.")}
    check(automations == {"automation.ask_about_the_day", "automation.show_what_the_agent_said", "automation.witness"}, f"automations: {automations}")
    # Its place is what the log stands at when it asks first.
    soon(lambda: re.fullmatch(r"\w+\.\d+", house.says("input_text.ladle_place")), lambda: f"the first place: {house.says('input_text.ladle_place')!r}")
    is_quiet("about the recipe")


def commands():
    say("one of two", "the other of two")
    shows(["one of two", "the other of two"], "two quick runs")
    house.act("rest_command.ladle_send", text="echo by a command")
    shows(["by a command"], "rest_command")
    house.act("rest_command.ladle_send", text="echo \"'\\ {{ 1 + 1 }}\nä😀", session="home")
    shows(["\"'\\ {{ 1 + 1 }}\nä😀"], "rest_command with a text of all kinds", "home")
    house.act("notify.ladle", message="echo notified")
    shows(["notified"], "notify")
    house.act("automation.trigger", "automation.ask_about_the_day")
    soon(lambda: len(shown()) == len(expected) + 1 and "What is on today?" in shown()[-1], lambda: f"the question of the morning: {shown()[-2:]}")
    expected[:] = shown()
    is_quiet("about commands")


def replies():
    say(*VALUES)
    shows(VALUES, "replies that look like something else")
    # What has no reply is not shown, and does not hold up what follows.
    for text in ("no_reply silent", "fail with 401"):
        serve.json("POST", "/v1/messages?wait=20", {"text": text})
    say("after silence")
    shows(["after silence"], "runs without a reply")
    is_quiet("about replies")


def sensors():
    serve.json("POST", "/v1/messages", {"text": "approve 25s echo it is asked"})
    soon(lambda: (house.says("sensor.ladle"), house.says("sensor.ladle_approvals")) == ("attention", "1"),
         lambda: f"an approval that waits: {house.says('sensor.ladle')}, {house.says('sensor.ladle_approvals')}")
    serve.at_rest()
    soon(lambda: {name: house.says(name) for name in SENSORS} == SENSORS, lambda: f"the sensors afterwards: { {name: house.says(name) for name in SENSORS} }")
    say("behind the approval")
    soon(lambda: shown()[-1] == "main: behind the approval", lambda: f"the reply behind it: {shown()[-3:]}")
    expected[:] = shown()
    is_quiet("about sensors")


def absences():
    global serve
    for seconds in ABSENCES:
        serve.kill()
        time.sleep(seconds)
        serve = serve.again().linked()
        said = [f"a reply after {seconds} s", f"another after {seconds} s"]
        say(*said)
        shows(said, f"after {seconds} s without Ladle")
    soon(lambda: house.says("sensor.ladle") == "idle", lambda: f"the sensor after an absence: {house.state('sensor.ladle')}")
    is_quiet("about Ladle's absence", may_be_away=True)
    # Its own absence: its place outlives it.
    house.stop()
    say("while the house slept", "while it still slept")
    house.start()
    shows(["while the house slept", "while it still slept"], "after its own absence")
    is_quiet("after its own absence", may_be_away=True)
    # Both, and Ladle comes last.
    house.stop()
    say("before both slept")
    serve.kill()
    house.start()
    time.sleep(6)
    serve = serve.again().linked()
    shows(["before both slept"], "after both were away")
    # Another comes behind, so that one that is shown twice would be seen.
    say("the last")
    shows(["the last"], "none comes again")
    is_quiet("after both were away", may_be_away=True)
    # A place that this Ladle does not know, as after a new installation.
    house.act("input_text.set_value", "input_text.ladle_place", value="abcdefghijkl.7")
    soon(lambda: house.says("input_text.ladle_place") not in ("abcdefghijkl.7", None), lambda: "a place of another Ladle is left", 40)
    time.sleep(1)
    expected[:] = shown()
    say("after the strange place")
    shows(["after the strange place"], "after a place of another Ladle")
    is_quiet("about a strange place")


def death():
    """It is killed: its place is as old as its last save, up to 15 minutes, and replies since then are shown again, none is missing."""
    say("before the death")
    shows(["before the death"], "before its death")
    house.stop(signal.SIGKILL)
    say("while it was dead")
    house.start()
    soon(lambda: "main: while it was dead" in shown(), lambda: f"after its death: {shown()[-3:]}")
    again = shown()[len(expected):]
    print(f"shown after Home Assistant was killed: {again}", flush=True)
    check(again[-1] == "main: while it was dead" and len(set(again)) == len(again) and again[:-1] == expected[len(expected) - len(again) + 1:],
          f"in order, and none twice in one life: {again}")


words = command()
if not words:
    left_out(tally)
gateway = DemoGateway()
serve = Serve("--limits-sends-burst", "100", "--limits-all-sends-burst", "1000", "--gateway-scopes", "read,write,approvals", gateway=gateway.url).linked()
token, expected = serve.make_token("house", "read", "send")["token"], []
house = House(words, "api:\nconfig:\nonboarding:\nrepairs:\nsystem_log:\nlogger:\n  default: warning\nautomation: !include automations.yaml\n" + recipe(),
              automations=WITNESS, secrets=f"ladle_authorization: Bearer {token}\n")
try:
    house.start().move_in()
    print(f"Home Assistant {house.version}", flush=True)
    for scene in (loads, commands, replies, sensors, absences, death):
        start = time.monotonic()
        scene()
        print(f"-- {scene.__name__}: {time.monotonic() - start:.0f} s", flush=True)
except Exception:
    check(False, traceback.format_exc())
finally:
    house.stop()
    serve.kill()
    gateway.kill()
tally.end()
