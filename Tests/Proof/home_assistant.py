"""The recipe of docs/apps.md in Home Assistant itself: its commands and its sensor work, and it shows each reply once, also those of
the time when Ladle or Home Assistant was away. Home Assistant 2024.3 is the newest for Python 3.11, that of Debian 12; the recipe is put
into the spelling of that time. It comes from PyPI into an environment of its own, and installs there what its integrations need."""

import asyncio
import os
import pathlib
import re
import subprocess
import sys
import time
import traceback

from harness import ROOT, DemoGateway, Serve, Tally, options, scratch

VERSION = "2024.3.3"
ENVIRONMENT = ROOT / ".build/home-assistant"
ABSENCES = (0, 12)
options()
tally = Tally()

if pathlib.Path(sys.prefix) != ENVIRONMENT:
    python = ENVIRONMENT / "bin/python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", ENVIRONMENT], check=True)
    done = subprocess.run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", f"homeassistant=={VERSION}"])
    if done.returncode:
        print(f"left out: Home Assistant {VERSION} cannot be installed here")
        tally.check(True, "")
        tally.end()
    # Its own installer is found by PATH.
    os.environ["PATH"] = f"{ENVIRONMENT}/bin:{os.environ['PATH']}"
    os.execv(python, [str(python), *sys.argv])

from homeassistant import bootstrap, runner

gateway = DemoGateway()
SENDS = ("--limits-sends-burst", "100", "--limits-all-sends-burst", "1000")
serve = Serve(*SENDS, gateway=gateway.url).linked()
token = serve.make_token("house", "read", "send")["token"]
recipe = re.search(r"<!-- file: home-assistant.yaml -->\n```yaml\n(.*?)^```$", (ROOT / "docs/apps.md").read_text(), re.DOTALL | re.MULTILINE)[1]
recipe = recipe.replace("http://127.0.0.1:18780", serve.url)
for now, then in (("triggers:", "trigger:"), ("actions:", "action:"), ("- trigger: ", "- platform: "), ("- action: ", "- service: ")):
    recipe = re.sub(rf"^(\s+){now}", rf"\g<1>{then}", recipe, flags=re.MULTILINE)
folder = pathlib.Path(scratch())
(folder / "ladle.yaml").write_text(recipe)
(folder / "secrets.yaml").write_text(f"ladle_authorization: Bearer {token}\n")
(folder / "configuration.yaml").write_text(
    "homeassistant:\n  packages:\n    ladle: !include ladle.yaml\nlogger:\n  default: critical\n")


def say(*texts):
    for text in texts:
        status, answer = serve.json("POST", "/v1/messages?wait=20", {"text": f"echo {text}"})
        assert status == 200, answer


def away(seconds):
    global serve
    serve.kill()
    time.sleep(seconds)
    serve = Serve(*SENDS, gateway=gateway.url, state=serve.state, port=serve.port).linked()


def aside(function, *arguments):
    """Beside the loop of Home Assistant, which is to go on meanwhile."""
    return asyncio.get_running_loop().run_in_executor(None, function, *arguments)


async def soon(condition, seconds=90):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        await asyncio.sleep(0.2)
    return condition()


def shown(house):
    """The replies it shows, oldest first."""
    found = sorted(house.data.get("persistent_notification", {}).values(), key=lambda one: one["created_at"])
    return [one["message"] for one in found if one["title"] == "The agent"]


async def started():
    house = await bootstrap.async_setup_hass(runner.RuntimeConfig(config_dir=str(folder)))
    await house.async_start()
    return house


async def days():
    house = await started()
    print(f"Home Assistant {VERSION}: {sorted(state.entity_id for state in house.states.async_all())}", flush=True)
    tally.check(await soon(lambda: house.states.get("sensor.ladle_activity").state == "idle"), "the sensor of the activity")
    # Its place is what the stream stands at when it asks first.
    await asyncio.sleep(8)
    expected = ["one of two", "the other of two"]
    await aside(say, *expected)
    tally.check(await soon(lambda: shown(house) == expected), f"two quick runs: {shown(house)}")
    await house.services.async_call("rest_command", "ladle_send", {"text": "echo by a command", "session": "home"}, blocking=True)
    expected.append("by a command")
    tally.check(await soon(lambda: shown(house) == expected), f"rest_command: {shown(house)}")
    await house.services.async_call("notify", "ladle", {"message": "echo notified"}, blocking=True)
    expected.append("notified")
    tally.check(await soon(lambda: shown(house) == expected), f"notify: {shown(house)}")
    for seconds in ABSENCES:
        await aside(away, seconds)
        said = [f"a reply after {seconds} s", f"another after {seconds} s"]
        await aside(say, *said)
        expected += said
        tally.check(await soon(lambda: shown(house) == expected), f"after {seconds} s without Ladle: {shown(house)}")
    await asyncio.sleep(6)
    tally.check(shown(house) == expected, f"none comes again: {shown(house)}")
    place = house.states.get("input_text.ladle_place").state
    await house.async_stop(force=True)
    return place


async def another_day(place):
    """It was away itself; its place has outlived it."""
    await aside(say, "while the house slept")
    house = await started()
    tally.check(await soon(lambda: shown(house) == ["while the house slept"]), f"after its own absence, from {place}: {shown(house)}")
    await house.async_stop(force=True)


try:
    asyncio.run(another_day(asyncio.run(days())))
except Exception:
    # Home Assistant has its own hook for errors that nobody takes, which writes into its log.
    tally.check(False, traceback.format_exc())
serve.kill()
gateway.kill()
try:
    tally.end()
except SystemExit as end:
    # Threads of Home Assistant outlive it.
    os._exit(end.code)
