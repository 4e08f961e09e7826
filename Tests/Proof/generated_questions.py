"""Questions of a gateway, made by chance in every length and with every kind of character, as they reach a phone and a webhook: what
allows a command is there only where the message, as it was sent, has the whole question in it. Else there is a button that denies, and a
link behind which the whole question is. Who gets no texts gets neither. Held against the question as the gateway asked it, not against
what Ladle says of it."""

import copy
import http.server
import json
import random
import re
import threading
import time

from harness import Serve, Tally, options, until
from scripted_gateway import HELLO, Gateway

chosen = options(questions=(30, 500), seed=(0, 0))
SEED = chosen.seed or random.SystemRandom().randrange(1, 1 << 32)
dice = random.Random(SEED)
tally = Tally()
PIECES = ["x", "rm -rf ", "é", "👩🏽‍🚀", "\\", "\"", "'", "$(id)", "`id`", "\n", "\t", "\r", "\x1b[2J", "\u202e", "\u200b", "\u2028", "\u00a0", "e\u0301\u0301\u0301",
          "%0a", "in /tmp", "\non the gateway", "! all is well", "<b>", "&lt;", "ﷺ", "𝕏", "word "]


class Receiver(http.server.BaseHTTPRequestHandler):
    got = []

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        # ntfy's JSON goes to the root, so the topic names the sink.
        self.got.append((self.path.strip("/") or body["topic"], body))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_DELETE = lambda self: (self.send_response(200), self.send_header("Content-Length", "0"), self.end_headers())


place = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
threading.Thread(target=place.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{place.server_port}/"
sinks = {f"phone-{detail}": {"kind": "ntfy", "url": url, "topic": f"phone-{detail}", "detail": detail, "perHour": 3600}
         for detail in ("detailed", "identified", "private")}
sinks |= {f"hook-{detail}": {"kind": "webhook", "url": f"{url}hook-{detail}", "detail": detail} for detail in ("detailed", "identified", "private")}
gateway, waiting = Gateway(), {}
gateway.hello = copy.deepcopy(HELLO)
gateway.hello["auth"]["scopes"].append("operator.approvals")
gateway.hello["features"] = {"methods": ["exec.approval.list", "exec.approval.resolve", "plugin.approval.list", "plugin.approval.resolve"],
                             "events": ["exec.approval.requested", "exec.approval.resolved"]}


def answer(connection, request):
    if request["method"].endswith("approval.list"):
        return connection.respond(request, list(waiting.values()) if request["method"].startswith("exec") else [])
    gateway.kind(connection, request)


gateway.answer = answer
server = Serve("--approvals-links", "--notifications-public-url", "https://ladle.example", "--notifications-sinks", json.dumps(sinks),
               gateway=gateway.url).linked()
until(lambda: server.json("GET", "/v1/approvals")[1].get("live"), what="the list of approvals")


def words(most):
    """A text of any length up to `most` characters; most are short."""
    length, text = int(most ** dice.random()) if dice.random() < 0.7 else dice.randrange(most), ""
    few = dice.choice([PIECES, PIECES[:1], [dice.choice(PIECES), "x"]])
    while len(text) < length:
        text += dice.choice(few)
    # At both ends stands what nobody shortens to nothing, and what names this question.
    return f"{text[:length]}{dice.randrange(1 << 60):x}"


def question():
    """The request, and its parts as (what stands before it in its line, the text)."""
    request, parts = {"command": words(9_000), "sessionKey": "agent:main:main"}, []
    parts.append(("", request["command"]))
    for name, before, most in (("cwd", "in ", 300), ("host", "on the ", 20), ("nodeId", "on node ", 60), ("agentId", "for agent ", 40)):
        if dice.random() < 0.6:
            request[name] = "gateway" if name == "host" else words(most)
            parts.append((before, request[name]))
    if dice.random() < 0.5:
        request["envKeys"] = [f"V{words(20)}" for _ in range(dice.randrange(1, 5))]
        parts.append(("sets ", ", ".join(request["envKeys"])))
    if dice.random() < 0.5:
        lines = [words(dice.choice([30, 2_000])) for _ in range(dice.randrange(1, 6))]
        request["commandAnalysis"] = {"warningLines": lines}
        parts += [("! ", line) for line in lines]
    return request, parts


def missing(parts, text):
    """The parts that a text does not have, each whole in a line of its own. A character that does not show stands in it by its number."""
    lines = {re.sub(r"\\u\{([0-9A-F]+)\}", lambda found: chr(int(found[1], 16)), line) for line in text.split("\n")}
    return [before + part for before, part in parts if before + part not in lines]


granted = shown = refused = 0
for number in range(chosen.questions):
    request, parts = question()
    id, now = f"q-{number}", int(time.time() * 1000)
    # No part is in the text by being a part of another one.
    Receiver.got.clear()
    asked = {"id": id, "request": request, "createdAtMs": now, "expiresAtMs": now + 600_000}
    waiting[id] = asked
    gateway.connections[-1].event("exec.approval.requested", asked)
    what = f"question {number} of seed {SEED}"

    def lacking():
        """The sinks that have not got it, as Ladle sees them."""
        return [one for one in server.json("GET", "/v1/notifications/sinks")[1]["sinks"] if one["name"] not in {name for name, _ in Receiver.got}]
    until(lambda: len({name for name, _ in Receiver.got}) == len(sinks), 20, what=lambda: f"{what} for {lacking()}: {request}")
    came = dict(Receiver.got)
    for name, body in came.items():
        kind, _, detail = name.partition("-")
        text = body["message"] if kind == "phone" else body["data"].get("text") or ""
        gone = missing(parts, text)
        if kind == "phone":
            actions = {one["label"]: one for one in body.get("actions", [])}
            allows = "Allow once" in actions
            tally.check(set(actions) <= {"Allow once", "Deny", "Show"}, f"{what}: {name} has {set(actions)}")
            tally.check("allow-always" not in json.dumps(body), f"{what}: {name} allows for good")
            acts = [one["url"] for one in actions.values() if "/v1/act/" in one["url"]]
        else:
            allows, acts = "allow-once" in ((body["data"].get("approval") or {}).get("decisions") or []), []
        tally.check(not (allows and gone), f"{what}: {name} allows what it does not show: {gone[:2]!r} of {text!r}"[:900])
        if detail != "detailed":
            tally.check(not allows and not acts and request["command"][-12:] not in json.dumps(body), f"{what}: {name} has what is not for it: {body}"[:600])
            continue
        if allows:
            granted += 1
            continue
        refused += 1
        if kind == "phone":
            tally.check(bool(gone) or "… a part of it is too long" in text or "Deny" in actions, f"{what}: {name}")
            # The link behind the button: the whole question, or the word that it is cut.
            link = next((one["url"] for one in actions.values() if "/v1/act/" in one["url"]), None)
            if tally.check(link is not None, f"{what}: a link that shows it: {actions}"):
                status, _, page = server.call("GET", link.removeprefix("https://ladle.example"))
                page = page.decode()
                tally.check(status == 200 and (not missing(parts, page) or "… a part of it is too long" in page),
                            f"{what}: the link shows the whole: {status} {missing(parts, page)[:2]!r}"[:600])
                tally.check("once: deny" in page, f"{what}: and denies: {page[-100:]}")
                shown += 1
    state = server.json("GET", f"/v1/approvals/{id}")[1]["state"]
    tally.check(state == "pending", f"{what}: nothing has decided it: {state}")
    del waiting[id]
    gateway.connections[-1].event("exec.approval.resolved", {"id": id, "decision": "deny", "ts": now})
    until(lambda: server.json("GET", f"/v1/approvals/{id}")[1]["state"] != "pending", what="its end")
tally.check(granted >= chosen.questions / 4 and refused >= chosen.questions / 15 and shown, f"both kinds came: {granted} {refused} {shown}")
print(f"generated_questions: seed {SEED}, {chosen.questions} questions, {granted} messages that allow, {refused} that do not, {shown} shown behind a link")
tally.check(server.stop() == 0, "it ends as it should")
tally.end()
