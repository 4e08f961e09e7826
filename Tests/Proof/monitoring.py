"""What deploy/ has for Prometheus and Grafana, with a real Prometheus: the page passes promtool, the alerts do what they are for,
the scrape file works as it stands, and every panel of the dashboard has an answer."""

import json
import pathlib
import re
import socket
import subprocess
import urllib.error
import urllib.parse
import urllib.request

import yaml

from harness import ROOT, DemoGateway, Serve, Tally, options, scratch, until

options()
tally = Tally()
subprocess.run([ROOT / "deploy/packages", "prometheus"], check=True)
DEPLOY = ROOT / "deploy"


def promtool(*words, text=None):
    run = subprocess.run(["promtool", *words], input=text, capture_output=True, text=True, timeout=60)
    return run.returncode, run.stdout + run.stderr


gateway = DemoGateway()
server = Serve("--access-loopback", "token", gateway=gateway.url)
token = pathlib.Path(scratch(), "ladle-token")
token.write_text(server.token + "\n")
authorize = {"Authorization": f"Bearer {server.token}"}


def call(method, path, body=None):
    return server.call(method, path, body, {**authorize, "Content-Type": "text/plain"})


until(lambda: b'"online"' in call("GET", "/v1/status")[2], what="the link")
tally.check(call("POST", "/v1/messages?wait=20", b"hello")[0] == 200, "a send")
call("GET", "/v1/events?limit=1&timeout=1")
call("GET", "/v1/nothing")

# The files by themselves.
code, said = promtool("check", "metrics", text=call("GET", "/metrics")[2].decode())
tally.check(code == 0 and not said.strip(), f"promtool check metrics: {code} {said}")
code, said = promtool("check", "rules", str(DEPLOY / "prometheus/alerts.yaml"))
tally.check(code == 0 and "14 rules found" in said, f"promtool check rules: {said}")
code, said = promtool("test", "rules", str(ROOT / "Tests/Proof/alerts_test.yaml"))
tally.check(code == 0, f"promtool test rules: {said}")
alerts = yaml.safe_load((DEPLOY / "prometheus/alerts.yaml").read_text())["groups"][0]["rules"]
tested = (ROOT / "Tests/Proof/alerts_test.yaml").read_text()
for alert in alerts:
    tally.check(f'alertname="{alert["alert"]}"' in tested, f"{alert['alert']} is tested")
    tally.check({"summary", "description"} <= alert["annotations"].keys(), f"{alert['alert']} says what to do")

# Prometheus with the file as it stands, but for this server's address, its token and the pace.
text = (DEPLOY / "prometheus/scrape.yaml").read_text()
text = text.replace("127.0.0.1:18780", f"127.0.0.1:{server.port}").replace("/etc/prometheus/ladle-token", str(token))
text = text.replace("- alerts.yaml", f"- {DEPLOY}/prometheus/alerts.yaml")
folder = pathlib.Path(scratch())
(folder / "prometheus.yml").write_text("global: {scrape_interval: 1s, evaluation_interval: 1s}\n" + text)
code, said = promtool("check", "config", str(folder / "prometheus.yml"))
tally.check(code == 0, f"promtool check config: {said}")
with socket.create_server(("127.0.0.1", 0)) as free:
    port = free.getsockname()[1]
log = open(folder / "log", "w+")
prometheus = subprocess.Popen(
    ["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
     f"--web.listen-address=127.0.0.1:{port}"], stdout=log, stderr=log)


def ask(path, **query):
    url = f"http://127.0.0.1:{port}/api/v1/{path}?{urllib.parse.urlencode(query)}"
    try:
        return json.load(urllib.request.urlopen(url, timeout=10))["data"]
    except urllib.error.HTTPError as error:
        return {"error": error.read().decode()}
    except (urllib.error.URLError, ConnectionError):
        return {}


try:
    target = until(lambda: [t for t in ask("targets").get("activeTargets", []) if t["health"] == "up"], 60, 0.2, "a scrape")[0]
    tally.check(target["labels"]["job"] == "ladle" and not target["lastError"], f"Prometheus reads the page: {target}")
    until(lambda: len(ask("query", query="ladle_link_up[1m]")["result"][0]["values"]) > 3, what="some scrapes")
    fired = ask("rules")["groups"][0]["rules"]
    tally.check(len(fired) == len(alerts), "all rules are loaded")
    bad = [rule["name"] for rule in fired if rule["health"] == "err" or rule["state"] == "firing"]
    tally.check(not bad, f"no alert fires on a healthy server: {bad}")

    # Every panel, with what Grafana puts in place of its variables.
    dashboard = json.loads((DEPLOY / "grafana/dashboard.json").read_text())
    tally.check(not any("." in name for name in dashboard) and dashboard["uid"] == "ladle", "the dashboard's frame")
    used, boxes = [], []
    for panel in dashboard["panels"]:
        used.append(panel["id"])
        box = panel["gridPos"]
        boxes.append((panel["title"], box["x"], box["y"], box["x"] + box["w"], box["y"] + box["h"]))
        for query in panel.get("targets", []):
            expression = query["expr"].replace("$__rate_interval", "30s").replace("$job", ".*").replace("$instance", ".*")
            tally.check("$" not in expression, f"{panel['title']}: a variable nobody sets: {expression}")
            answer = ask("query", query=expression)
            tally.check("error" not in answer, f"{panel['title']}: {answer}")
            tally.check(answer.get("result"), f"{panel['title']}: no answer to {expression}")
            labels = set(re.findall(r"{{(\w+)}}", query["legendFormat"]))
            known = set().union(*(series["metric"].keys() for series in answer.get("result", [])))
            tally.check(labels <= known, f"{panel['title']}: the legend's {labels} of {known}")
    tally.check(len(set(used)) == len(used), "an id stands once")
    for i, (name, left, top, right, bottom) in enumerate(boxes):
        tally.check(right <= 24, f"{name} is too broad")
        for other, l, t, r, b in boxes[:i]:
            tally.check(left >= r or l >= right or top >= b or t >= bottom, f"{name} lies on {other}")
    print(f"{len(boxes)} panels, {len(alerts)} alerts, {len(ask('label/__name__/values'))} names in Prometheus")

    # The link's end is an alert that is pending at once; so is the server's.
    gateway.kill()
    state = lambda name: next(rule["state"] for rule in ask("rules")["groups"][0]["rules"] if rule["name"] == name)
    until(lambda: state("LadleLinkDown") == "pending", 30, 0.2, "the alert of a link that is gone")
    server.kill()
    until(lambda: state("LadleDown") == "pending", 30, 0.2, "the alert of a server that is gone")
    tally.check(True, "")
finally:
    prometheus.terminate()
    prometheus.wait(20)
    bad = [line for line in (folder / "log").read_text().splitlines() if "level=error" in line]
    tally.check(not bad, f"Prometheus has nothing to complain about: {bad[:3]}")
tally.end()
