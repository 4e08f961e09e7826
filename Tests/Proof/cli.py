"""Every command of `ladle` against a running server, over its socket: for people on a terminal, with --json, in a pipe; exit
codes; tables that fit; completions; the manual page."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import unicodedata

from harness import LADLE, ROOT, DemoGateway, Serve, Tally, later, on_terminal, options, run_ladle, scratch, until

options()
tally = Tally()
CODES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
LATER = later()
seen = set()


def pipe(*arguments, code=0, env=None, stdin=""):
    """In a pipe: standard output, standard error."""
    run = subprocess.run([LADLE, *arguments], input=stdin, capture_output=True, text=True, timeout=60,
                         env={**os.environ, "LADLE_SOCKET": SOCKET, **(env or {})})
    tally.check(run.returncode == code, f"ladle {' '.join(arguments)}: exit {run.returncode}, not {code}: {run.stderr}{run.stdout}")
    tally.check("\x1b" not in run.stdout + run.stderr, f"colour in a pipe: ladle {' '.join(arguments)}")
    return run.stdout, run.stderr


def as_json(*arguments, code=0, lines=False, **more):
    """With --json: one object, or one a line, and nothing else."""
    seen.add(" ".join(word for word in arguments if re.fullmatch(r"[a-z-]+", word))[:200])
    out, _ = pipe(*arguments, "--json", code=code, **more)
    texts = out.splitlines() if lines else [out]
    try:
        values = [json.loads(text) for text in texts]
        tally.check(all(isinstance(value, dict) for value in values), f"an object: {out[:200]}")
        return values if lines else values[0]
    except ValueError:
        tally.check(False, f"ladle {' '.join(arguments)} --json: {out[:300]!r}")
        return values if lines else {}


def terminal(*arguments, code=0, columns=80, env=None, keys=None, seconds=30, leave_at=None):
    """On a terminal so many columns wide: all it showed, colours kept. `leave_at` is what is shown when Ctrl-C is typed."""
    ended, out = on_terminal([LADLE, *arguments], columns, {"LADLE_SOCKET": SOCKET, **(env or {})}, keys, seconds, leave_at)
    tally.check(ended == code, f"on a terminal, ladle {' '.join(arguments)}: exit {ended}, not {code}: {out.decode()}")
    return out.decode().replace("\r\n", "\n")


def width(line):
    return sum(0 if unicodedata.combining(c) or c == "\ufe0f" else 2 if unicodedata.east_asian_width(c) in "WF" else 1
               for c in CODES.sub("", line))


def fits(*arguments, whole=(), ids=(), states=(), least=40):
    """Fits every width, and keeps whole what other commands are given: ids from 100 columns on, below that their ends."""
    for columns in (width for width in (40, 60, 72, 80, 120, 200) if width >= least):
        shown = terminal(*arguments, columns=columns)
        broad = [line for line in shown.splitlines() if width(line) > columns]
        tally.check(not broad, f"{columns} columns, ladle {' '.join(arguments)}: {broad}")
        for text in whole if columns >= 72 else ():
            tally.check(text in shown, f"{columns} columns, ladle {' '.join(arguments)}: {text} is cut")
        for text in [id if columns >= 100 else id[-8:] for id in ids] + list(states if columns >= 60 else ()):
            tally.check(text in shown, f"{columns} columns, ladle {' '.join(arguments)}: {text} is cut")
        tally.check(columns >= 100 or not any(id in shown for id in ids), f"{columns} columns, ladle {' '.join(arguments)}: long ids")


gateway = DemoGateway("--speed", "20")
server = Serve(gateway=gateway.url).linked()
SOCKET = server.state + "/ladle.sock"

# send: ids for scripts, step lines for people, replies that can be piped.
sent = as_json("send", "hello there")
out, _ = pipe("send", "--wait", "hello again")
tally.check(out.count("\n") == 1 and "hello again" in out, f"a reply alone in the pipe: {out!r}")
answer = as_json("send", "--wait=30", "hello json")
tally.check(answer["reply"] and answer["run"]["state"] == "completed", "the whole answer")
out, _ = pipe("send", "--wait", stdin="from standard input\n")
tally.check("from standard input" in out, "the text from standard input")
shown = terminal("send", "--wait", "append the weather to weather.txt")
plain = CODES.sub("", shown)
tally.check("✓ " in plain and "weather.txt" in plain.splitlines()[-1], f"steps and the reply: {plain}")
tally.check(shown.count("\x1b[2K") >= 2, "a line that lives")
tally.check(all(width(part) <= 80 for line in shown.splitlines() for part in line.split("\r") if "✓" in part), "steps fit")
tally.check("\x1b" in shown and "\x1b[3" not in terminal("send", "--wait", "hello", env={"NO_COLOR": "1"}), "NO_COLOR")
tally.check("\x1b" not in terminal("status", env={"NO_COLOR": "1"}), "no code at all with NO_COLOR")
tally.check("\x1b" not in terminal("status", env={"TERM": "dumb"}), "nor on a dumb terminal")
for arguments in (["--ttl", "1h"], ["--not-before", LATER], ["--idempotency-key", "k1"], ["--thinking", "low"],
                  ["--session", "work"], ["--attach", __file__]):
    entry = as_json("send", *arguments, "with " + arguments[0])
    tally.check(entry["state"] in ("queued", "sending", "accepted"), f"{arguments[0]}: {entry}")
tally.check(as_json("send", "--idempotency-key", "k1", "with --idempotency-key")["id"], "the same again")
tally.check(as_json("send", "stop", code=64)["code"] == "STOP_WORD", "a stop word")
as_json("send", "--force", "stop")
for arguments in (["--ttl", "soon"], ["--wait=0"], ["--not-before", "noon"], ["--thinking", "deeply"], ["--attach", "/no/file"],
                  ["--no-such-option"], ["--idempotency-key", 'a"b']):
    tally.check("code" in as_json("send", *arguments, "x", code=64), f"{arguments} is a usage error")
pipe("send", stdin="", code=64)

# What was said and done.
history = as_json("history")
tally.check(len(history["messages"]) > 5, "a history")
tally.check(len(as_json("history", "--limit", "2")["messages"]) == 2, "of two")
as_json("history", "--session", "work")
as_json("history", "--before", history["before"]) if "before" in history else None
fits("status", least=72)
tally.check(as_json("status", "--ready")["status"] == pipe("status", "--ready")[0].strip() == "ready", "ready, for health checks")
shown = terminal("history", "--limit", "50")
tally.check("hello there" in shown, f"a history for people: {shown}")
runs = as_json("runs")["runs"]
fits("runs", ids=[runs[0]["id"]], states=["completed"])
tally.check(as_json("runs", runs[0]["id"][-8:])["id"] == runs[0]["id"], "the end of an id")
tally.check(as_json("runs", runs[0]["id"])["steps"] is not None, "one run")
terminal("runs", runs[0]["id"])
as_json("runs", "--active")
as_json("runs", "--limit", "1", "--session", "main")
as_json("runs", "no-such-run", code=64)
tally.check(as_json("top", code=64)["code"] == "NO_TERMINAL" and "ladle watch --json" in pipe("top", code=64)[1], "no screen, no dashboard")
as_json("activity")
tally.check(terminal("activity").strip(), "a headline")

tally.check(any(s["key"] == "agent:main:main" for s in as_json("sessions")["sessions"]), "the sessions")
fits("sessions", whole=["agent:main:main"])
as_json("sessions", "--limit", "1")
tally.check("main" in pipe("agents")[0] and as_json("agents")["agents"], "the agents")
models = as_json("models", "--view", "all")["models"]
tally.check([m["id"] for m in models if m["default"]] == ["demo/demo-1"], "the models, and the default one")
fits("models", whole=["demo/demo-1"])
tally.check(as_json("cluster", "status")["role"] == "leader", "who leads")
tally.check(" leads since " in terminal("cluster"), "the hosts for people")
usage = as_json("usage", "show")
tally.check([w["name"] for w in usage["providers"][0]["windows"]] == ["5h", "Week"] and usage["today"]["tokens"] > 0, "the usage")
tally.check("5h" in terminal("usage") and "today: " in terminal("usage", "show"), "the usage for people")
fits("usage")
cost = as_json("usage", "cost", "--tz", "Europe/Berlin", "--agent", "main")
tally.check(cost["tz"] == "Europe/Berlin" and cost["totals"]["tokens"] > 0, "tokens and cost by day")
as_json("usage", "cost", "--from", "2026-11-02", "--to", "2026-11-01", code=64)
tally.check("in all: " in terminal("usage", "cost"), "and their sum")
tally.check(any(s["key"] == "agent:main:main" for s in as_json("usage", "sessions")["sessions"]), "tokens and cost by session")
tally.check(pipe("runs", runs[0]["id"], "--format", "{{.id}}\\t{{.none}}.")[0] == f"{runs[0]['id']}\t.\n", "a template")
tally.check(len(pipe("runs", "--limit", "2", "--format", "{{.id}}")[0].splitlines()) == 2, "a line for each row")
pipe("runs", "--format", "{{.id", code=64)

# The outbox.
waiting = as_json("send", "--not-before", LATER, "much later")
entries = as_json("outbox")["entries"]
fits("outbox", ids=[waiting["id"]], states=["queued", "delivered"])
tally.check(as_json("outbox", "show", waiting["id"][-6:])["id"] == waiting["id"], "the end of an id")
as_json("outbox", "list", "--only", "queued")
as_json("outbox", "list", "--session", "work", "--limit", "1")
tally.check(as_json("outbox", "show", waiting["id"])["notBefore"], "one entry")
tally.check("much later" in terminal("outbox", "show", waiting["id"]), "for people")
tally.check(as_json("outbox", "show", waiting["id"][:-3])["id"] == waiting["id"], "by the unique beginning of its id")
tally.check("type more of it" in pipe("outbox", "show", waiting["id"][:5], code=64)[1], "a beginning of many")
states = [row.split()[1] for row in pipe("outbox")[0].splitlines()[1:]]
tally.check(states[0] == "queued" and states[-1] == "delivered", f"what is under way comes first: {states}")
tally.check("attempts" in as_json("outbox", "show", sent["id"]), "with its attempts")
terminal("outbox", "show", sent["id"])
as_json("outbox", "retry", waiting["id"], code=69)
tally.check(as_json("outbox", "cancel", waiting["id"])["state"] == "cancelled", "taken back")
tally.check("cancelled" in pipe("outbox", "cancel", as_json("send", "--not-before", LATER, "x")["id"])[0], "in words")
as_json("outbox", "cancel", "--force", as_json("send", "--not-before", LATER, "y")["id"])
as_json("outbox", "show", "no-such-entry", code=64)
as_json("outbox", "recover", "--state", server.state)

# Approvals: the whole command, the unique beginning or end of an id, and the exit codes.
tally.check(as_json("approvals")["approvals"] == [], "nothing waits")
tally.check(pipe("approvals")[0] == "Nothing waits for a decision.\n", "in words")
long = "echo " + "x" * 300
for place, text in enumerate((long, "echo second")):
    as_json("send", "--session", f"approval-{place}", "approve " + text)
rows = until(lambda: (found := json.loads(pipe("approvals", "--json")[0])["approvals"]) and len(found) == 2 and found, what="approvals")
first, second = (next(row for row in rows if row["command"] == text) for text in (long, "echo second"))
shown = CODES.sub("", terminal("approvals"))
tally.check(long in shown and first["id"] in shown and "since" in shown and "until" in shown, f"all of it: {shown}")
tally.check(len(as_json("approvals", "list", "--session", "approval-1")["approvals"]) == 1, "of a session")
tally.check(len(as_json("approvals", "--limit", "1")["approvals"]) == 1, "one of them")
tally.check(sorted(pipe("approvals", "--format", "{{.id}}")[0].split()) == sorted([first["id"], second["id"]]), "a template")
tally.check(as_json("approvals", "show", first["id"])["state"] == "pending", "one of them")
tally.check("echo second" in pipe("approvals", "show", second["id"][:13])[0], "by the beginning of its id")
tally.check(as_json("approvals", "allow", "--always", first["id"], code=64)["code"] == "DECISION_NOT_ALLOWED", "what is not offered")
tally.check(as_json("approvals", "allow", first["id"][:13])["state"] == "allowed", "allowed")
tally.check("is denied by owner: echo second" in pipe("approvals", "deny", second["id"])[0], "denied, in words")
tally.check(as_json("approvals", "deny", second["id"])["state"] == "denied", "the same again")
tally.check(as_json("approvals", "allow", second["id"], code=69)["code"] == "APPROVAL_RESOLVED", "another decision")
as_json("approvals", "deny", "no-such-approval", code=64)
tally.check(len(as_json("approvals", "--all")["approvals"]) == 2, "also those that ended")
# Sessions: each change on a session of its own, by key.
as_json("send", "--wait", "--session", "attic", "hello")
tally.check(any(s["key"] == "agent:main:attic" for s in as_json("sessions", "list", "--all", "--search", "ATT")["sessions"]), "one that was looked for")
made = as_json("sessions", "new", "Den", "--text", "echo good morning")
tally.check(made["title"] == "Den" and made["entry"]["text"] == "echo good morning", f"a new session: {made}")
made = pipe("sessions", "new")[0].strip()
tally.check(server.json("GET", f"/v1/sessions/{made}")[0] == 200, f"the key of a new session: {made!r}")
tally.check(as_json("sessions", "rename", "attic", "The attic")["session"]["title"] == "The attic", "a label")
tally.check(as_json("sessions", "model", "attic", "demo/demo-2")["session"]["model"] == "demo-2", "a model")
tally.check(as_json("sessions", "model", "attic", "demo/demo-22", code=64)["code"] == "UNKNOWN_MODEL", "no model")
tally.check("The attic, demo-1" in pipe("sessions", "model", "attic", "default")[0], "the default model, in words")
as_json("sessions", "compact", "attic")
before = server.json("GET", "/v1/sessions/attic")[1]["sessionId"]
tally.check(as_json("sessions", "reset", "attic")["sessionId"] != before, "anew")
as_json("send", "--session", "attic", "--not-before", LATER, "later")
tally.check(as_json("sessions", "delete", "attic", code=69)["code"] == "OUTBOX_NOT_EMPTY", "something waits for it")
tally.check(as_json("sessions", "delete", "--force", "--keep-transcript", "attic")["key"] == "agent:main:attic", "deleted")
as_json("sessions", "reset", "attic", code=64)
evil = "evil \x1b]0;owned\x07\x1b[31m\x9b1m\u202e"
made = server.json("POST", "/v1/sessions", {"label": evil})[1]["key"]
for words in (("rename", made, evil), ("model", made, "default"), ("compact", made), ("reset", made), ("delete", made)):
    said = pipe("sessions", *words)[0]
    tally.check(said.startswith(made) and "evil" in said and not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", said),
                f"sessions {words[0]} shows a hostile title as text: {said!r}")
fits("sessions", "list", "--all", whole=["agent:main:main"])

# What a person is told: rules and sinks are notifications.py's.
tally.check(as_json("notify", "send", "--priority", "2", "--text", "of all", "the washing", "is done")["title"] == "the washing is done", "a note")
tally.check("0 sinks" in pipe("notify", "send", "again")[0], "a note, in words")
tally.check("again" in [n["title"] for n in as_json("notify", "list", "--limit", "50")["notifications"]], "what was told")
tally.check(as_json("notify", "list", "--delivery", "failed")["notifications"] == [], "by state")
fits("notify", whole=["note"])
tally.check(as_json("notify", "list", "--sinks")["sinks"] == [], "no sink")
tally.check(as_json("notify", "test", "phone", code=64)["code"] == "SINK_NOT_FOUND", "no such sink")
added = as_json("notify", "add", "phone", "ntfy", "https://ntfy.invalid", "kitchen")
tally.check((added["name"], added["topic"]) == ("phone", "kitchen"), f"a sink: {added}")
tally.check(as_json("notify", "add", "phone", "webhook", "https://ladle.invalid/x", code=64)["field"] == "name", "a name is of one sink")
tally.check(as_json("notify", "add", "home", "webhook", "http://192.168.1.2/x", code=64)["code"] == "URL_NOT_ALLOWED", "of the own network")
out = pipe("notify", "add", "den", "webhook", "https://ladle.invalid/x?y=z")[0]
tally.check(re.search(r"^The key of .*: whsec_\S+$", out, re.M) and out.endswith("→ ladle notify test den\n"), f"in words: {out}")
shown = CODES.sub("", terminal("notify", "add", "desk", "ntfy", "https://ntfy.invalid", code=64))
tally.check("TOPIC is missing" in shown and "→ ladle notify add desk ntfy https://ntfy.invalid TOPIC" in shown, f"no topic: {shown}")
fits("notify", "list", "--sinks", whole=["phone", "den"], states=["ok"])
for sink in as_json("notify", "list", "--sinks")["sinks"]:
    server.json("DELETE", f"/v1/notifications/sinks/{sink['id']}", headers={"If-Match": "*"})
tally.check("mutedUntil" in as_json("mute", "2h"), "muted")
tally.check(as_json("mute", "off") == {}, "not muted")
as_json("mute", "soon", code=64)
# Automations: the demo gateway has three.
jobs = as_json("automations")["automations"]
job = next(row["id"] for row in jobs if row["name"] == "Check the backup")
tally.check(len(jobs) == 3 and len(as_json("automations", "list", "--limit", "1")["automations"]) == 1, f"jobs: {jobs}")
tally.check("every 1h" in terminal("automations") and "every 1h" in pipe("automations", "show", job[:8])[0], "in words")
tally.check(as_json("automations", "show", job)["id"] == job, "one of them")
started = as_json("automations", "run", "--idempotency-key", "cli-1", job)
tally.check(as_json("automations", "run", "--idempotency-key", "cli-1", job) == started, "a repeat runs nothing")
until(lambda: as_json("automations", "runs", job)["runs"], what="the end of a run")
tally.check(len(as_json("automations", "runs", "--limit", "5", job)["runs"]) == 1, "run once")
tally.check("ENOENT" in pipe("automations", "runs", job)[0] and "demo-secret" not in pipe("automations", "--json")[0], "no secret")
tally.check(as_json("automations", "disable", job)["enabled"] is False and "next runs off" in pipe("automations", "disable", job)[0], "off")
tally.check(as_json("automations", "enable", job)["enabled"] is True, "on")
as_json("automations", "show", "no-such-job", code=64)
tally.check(as_json("wake", "the", "door", "is", "open")["mode"] == "now", "a word to the agent")
tally.check("at its next turn" in pipe("wake", "--later", "the door is open")[0], "in words")

# Nodes: a phone and a Mac.
nodes = as_json("nodes")["nodes"]
tally.check(as_json("nodes", "list")["nodes"] == nodes, "the same, spelt out")
tally.check([node["name"] for node in nodes] == ["Ann's phone", "Studio Mac"], f"nodes: {nodes}")
mac = nodes[1]["id"]
terminal("nodes", "list")
tally.check("system.notify" in pipe("nodes", "list")[0] and "no, by Ladle" in pipe("nodes", "show", mac[:8])[0], "in words")
tally.check(as_json("nodes", "show", mac)["id"] == mac, "one of them")
done = as_json("nodes", "invoke", "--idempotency-key", "cli-n", mac, "system.notify", "title=Tea")
tally.check(as_json("nodes", "invoke", "--idempotency-key", "cli-n", mac, "system.notify", "title=Tea") == done, "a repeat does nothing")
tally.check("system.notify is done" in pipe("nodes", "invoke", "--timeout", "5", mac, "system.notify")[0], "done")
tally.check(as_json("nodes", "invoke", mac, "system.run", code=64)["code"] == "COMMAND_NOT_ALLOWED", "never")
as_json("nodes", "show", "no-such-node", code=64)

# The newest releases alone have questions; approvals.py answers some.
for words in (["list"], ["show", "some-question"], ["answer", "some-question", "yes"], ["cancel", "some-question"]):
    tally.check(as_json("questions", *words, code=69)["code"] == "GATEWAY_UNSUPPORTED", f"questions {words[0]}")

# Following what goes on, and stopping it.
watch = subprocess.Popen([LADLE, "watch", "--json", "--limit", "3"], stdout=subprocess.PIPE, text=True,
                         env={**os.environ, "LADLE_SOCKET": SOCKET})
until(lambda: server.status()["events"]["subscribers"] == 1, what="the watcher")
pipe("send", "hello watcher")
events = [json.loads(line) for line in watch.communicate(timeout=20)[0].splitlines()]
tally.check(len([e for e in events if e["type"] != "hello"]) >= 3 and watch.returncode == 0, f"{len(events)} events watched")
seen.add("watch")
cursor = next(event["id"] for event in events if event["type"] == "hello")
again = as_json("watch", "--since", cursor, "--limit", "3", lines=True)
tally.check([e.get("id") for e in again if e["type"] != "hello"][0] > cursor, "and again from there")
as_json("watch", "--timeout", "1", "--types", "link", lines=True)
as_json("watch", "--since", "nonsense", code=64)
terminal("watch", "--since", cursor, "--limit", "4", "--session", "main")
slow = DemoGateway("--speed", "1")
busy = Serve(gateway=slow.url).linked()
SOCKET = busy.state + "/ladle.sock"
sent = as_json("send", "append the weather to weather.txt")
active = until(lambda: [r for r in json.loads(pipe("runs", "--active", "--json")[0])["runs"]], what="a run")
shown = terminal("activity")
tally.check(active[0]["id"] in shown, f"what goes on: {shown}")
as_json("abort", active[0]["id"])
until(lambda: json.loads(pipe("runs", active[0]["id"], "--json")[0])["state"] == "aborted", what="the end")
until(lambda: json.loads(pipe("activity", "--json")[0])["active"] == 0, what="the end of everything")
as_json("abort", "--session", "main")
tally.check(pipe("abort", "--session", "main")[0] == "Nothing was running.\n", "an abort of nothing says so")
pipe("abort", code=64)
as_json("abort", "no-such-run", code=64)
as_json("send", "--wait=1", "append the weather to weather.txt", code=75)
shown = terminal("send", "--wait", "append the weather to weather.txt", code=130, leave_at="Appending")
left = re.search(r"\nThe message goes on without you.\n  → ladle outbox show (\S+)    \(to stop it: ladle abort (\S+)\)\n$", shown)
tally.check(left and left[1] == left[2], f"who leaves is told what becomes of the message: {shown!r}")
as_json("abort", left[1])
SOCKET = server.state + "/ladle.sock"

# The agent's files.
for name, field in (("identity", "name"), ("profile", "callName")):
    as_json(name, "set", f"{field}=Wren")
    tally.check(as_json(name)["fields"][field] == "Wren", f"{name} is set")
    tally.check("Wren" in terminal(name), "and shown")
    tally.check("Wren" in pipe(name, "show", "--markdown")[0], "and the file")
    as_json(name, "show", "--refresh", "--agent", "main")
    as_json(name, "set", f"no-such-field=x", code=64)
    pipe(name, "set", "nothing", code=64)
    editor = pathlib.Path(scratch(), "editor")
    editor.write_text('#!/bin/sh\nsed -i s/Wren/Robin/ "$1"\n')
    editor.chmod(0o700)
    as_json(name, "edit", env={"EDITOR": str(editor)})
    tally.check(as_json(name)["fields"][field] == "Robin", f"{name} is edited")
    tally.check("Nothing" in pipe(name, "edit", env={"EDITOR": "true"})[0], "or not")

# At a glance.
shown = as_json("glance")
tally.check(shown["state"] in ("idle", "working", "attention") and "rev" in shown, f"a glance: {shown}")
tally.check("headline" not in as_json("glance", "--private"), "without titles")
tally.check(re.match("[●○] ", pipe("glance")[0]), "a glance in a pipe")
tally.check("class" in json.loads(pipe("glance", "--format", "waybar")[0]), "for a status bar")
tally.check(pipe("glance", "--format", "{{.link}}")[0] == "online\n", "by a template")
tally.check(re.match("[●○] ", pipe("glance", "--wait", "1")[0]), "for a second")
pipe("glance", "--wait", "x", code=64)
pipe("glance", "--format", "waybar", "--json", code=64)
fits("glance")

# Who gets in.
token = as_json("token", "create", "--name", "kitchen light with a rather long name", "--scopes", "read,send",
                "--session", "main", "--expires", "90d")
out, err = pipe("token", "create", "--name", "cellar", "--scopes", "read")
tally.check(re.fullmatch(r"ldl_\w+\n", out) and "shown only now" in err, "the secret alone in the pipe")
listed = as_json("token")["tokens"]
fits("token", ids=[token["id"]])
tally.check(as_json("token", "rotate", token["id"])["token"] != token["token"], "another secret")
as_json("token", "revoke", token["id"])
tally.check("evoked" in pipe("token", "revoke", next(t["id"] for t in listed if t["name"] == "cellar"))[0], "in words")
as_json("token", "revoke", token["id"], code=64)
narrow = as_json("token", "create", "--name", "widget", "--scopes", "read", "--paths", "/v1/activity,/v1/runs")
tally.check(narrow["paths"] == ["/v1/activity", "/v1/runs"] and "/v1/activity,/v1/runs" in pipe("token")[0], "a token of some paths")
as_json("token", "create", "--name", "x", "--scopes", "read", "--paths", "/v1/nothing", code=64)
as_json("token", "revoke", narrow["id"])
pipe("token", "create", "--name", "x", code=64)
as_json("token", "create", "--name", "x", "--scopes", "everything", code=64)
tally.check(as_json("clients")["requests"] == [], "nobody asks")
asked = [server.json("POST", "/v1/pairing", {"name": f"phone {i}", "scopes": ["read", "send"]})[1] for i in range(2)]
fits("clients", whole=[asked[0]["code"]])
as_json("clients", "approve", asked[0]["code"], "--scopes", "read")
tally.check("sent away" in pipe("clients", "reject", asked[1]["code"])[0], "in words")
as_json("clients", "reject", "NO-CODE", code=64)
as_json("clients", "approve", "NO-CODE", code=64)
bound = server.json("POST", "/v1/pairing", {"name": "clock", "scopes": ["read"], "paths": ["/v1/runs"]})[1]["code"]
as_json("clients", "approve", bound, "--paths", "/v1/activity", code=64)
tally.check("only for /v1/runs" in pipe("clients", "approve", bound)[1], "its paths are shown")
strong = server.json("POST", "/v1/pairing", {"name": "tablet", "scopes": ["read", "admin"]})[1]["code"]
_, said = pipe("clients", "approve", strong, code=64)
tally.check(f"ladle clients approve {strong} --scopes read,admin" in said and "tablet from 127.0.0.1" in said, f"admin unseen: {said}")
shown = terminal("clients", "approve", strong, keys=b"n\n", code=75)
tally.check("read,admin" in shown and "[y/N]" in shown, f"a person is asked: {shown}")
tally.check(any(request["code"] == strong for request in as_json("clients")["requests"]), "and nothing was granted")
tally.check("is let in" in terminal("clients", "approve", strong, keys=b"y\n"), "a yes grants it")

invited = as_json("pair", "--name", "tablet")
tally.check(invited["state"] == "waiting" and invited["scopes"] == ["read", "send"] and invited["reach"] == "host", f"an invitation: {invited}")
tally.check(re.fullmatch(r"(\w{4}-){6}\w{4}\n", pipe("pair", "--format", "{{.secret}}")[0]), "by a template")
said, told = pipe("pair", "--no-wait", "--scopes", "read")
tally.check(re.search(r"^Link  ladle://\S+\nCode  (\w{4}-){6}\w{4}$", said, re.M) and "scopes read, until" in told, f"in a pipe: {said}{told}")
pipe("pair", "--scopes", "everything", code=64)
pipe("pair", "--background", "blue", code=64)

# What needs no server.
tally.check(as_json("version")["version"] in pipe("version")[0] + pipe("--version")[0], "the version")
state = ["--state", server.state]
as_json("doctor", *state)
tally.check("✓" in terminal("doctor", *state), "a doctor for people")
tally.check(as_json("config", "check")["ok"], "a configuration")
tally.check(as_json("config", "check", "--log-level", "loud", code=78)["ok"] is False, "a wrong one")
pipe("config", "check", "--no-such-key", "1", code=64)
file = pathlib.Path(scratch(), "config.json5")
for text, *wanted in [
    ('{\n  // the outbox\n  outbox: { offlin: "hold" },\n  "log.level": "loud",\n}', "3:21: unknown key outbox.offlin", "did you mean outbox.offline?",
     "4:16: log.level must be"),
    ("{\n a: [1,,\n}", "2:8: unexpected"), ('{ "log.level": "info",\n log: { level: "debug" } }', "2:16: log.level stands in line 1 too"),
]:
    file.write_text(text)
    said = pipe("config", "check", code=78, env={"LADLE_CONFIG": str(file)})[1]
    tally.check(all(part in said for part in wanted) and f"{file}:" in said, f"file, line, column and what is wrong: {said}")
    tally.check(pipe("serve", code=78, env={"LADLE_CONFIG": str(file)})[1].count(str(file)), "serve says so too")
pipe("config", "check", code=78, env={"LADLE_CONFIG": "/no/file"})
for key, words in (("pin", ("--gateway-pin", "abc", "--gateway", "wss://here")), ("pin", ("--gateway-pin", "ab" * 32, "--gateway", "ws://localhost")),
                   ("pin", ("--gateway-pin", "abc")), ("url", ("--gateway", "ftp://here")), ("url", ("--gateway", "ws://far.example"))):
    said = pipe("config", "check", *words, code=78)[1]
    tally.check(f"gateway.{key}: " in said, f"config check names what can never connect: {said!r}")
pipe("config", "check", "--gateway-pin", "ab" * 32, "--gateway", "wss://here")
said = pipe("config", "check", "--listen", "0.0.0.0:1", "--listen", "fd:", code=78)[1]
tally.check("--insecure-lan" in said and "fd:" not in said, f"a listener that serve would refuse: {said}")
pipe("config", "check", "--listen", "0.0.0.0:1", "--insecure-lan")
tally.check(as_json("config", "show", "--origin"), "its values")
fits("config", "show", "--origin", whole=["outbox.offline"])
tally.check("| `log.level`" in pipe("config", "reference")[0] or "log.level" in pipe("config", "reference")[0], "its reference")
as_json("discover", "--timeout", "1")
as_json("discover", "--timeout", "no", code=64)
folder = scratch()
files = ["--cert", folder + "/c.pem", "--key", folder + "/k.pem"]
tally.check(len(as_json("tls", "self-signed", "--host", "a.example", "--days", "9", *files)["sha256"]) == 64, "a certificate")
as_json("tls", "self-signed", *files, code=77)
as_json("tls", "self-signed", "--days", "no", *files, code=64)
pipe("demo-gateway", "--protocol", "5", code=64)
pipe("serve", "--log-level", "loud", code=78)
pipe("serve", "--listen", f"127.0.0.1:{server.port}", "--demo", "--state", scratch(), code=69)
pipe("serve", "--demo", *state, code=75)
said = pipe("serve", "--demo", "--gateway", "ws://127.0.0.1:9", "--state", scratch(), code=64)[1]
tally.check("--demo and --gateway exclude each other" in said, f"a demo and a gateway: {said}")
pipe("serve", "--demo", *state, code=75, env={"LADLE_GATEWAY": "ws://127.0.0.1:9"})
for arguments in ([], ["--help"], ["help"], ["help", "outbox", "show"], ["serve", "--help"], ["token", "--help"]):
    tally.check("Usage: ladle" in pipe(*arguments)[0], f"help of {arguments}")
    broad = [line for line in terminal(*arguments, columns=80).splitlines() if width(line) > 80]
    tally.check(not broad, f"help fits: {broad}")
for command in ("doctor", "discover", "completions", "sessions"):
    tally.check(len(pipe("help", command)[0].splitlines()) < 30, f"help of {command} fits a screen")
tally.check(all(f"ladle completions {shell} >" in pipe("completions", "--help")[0] for shell in ("bash", "zsh", "fish")), "three shells")
pipe("nonsense", code=64)
tally.check("outbox" in pipe("outbux", code=64)[1], "the nearest command is named")

# What is no text names no file and is no message: it would come out as another one.
for words in (["send", b"\xff\xfe"], ["serve", "--demo", "--state", folder.encode() + b"/\xff"]):
    odd = run_ladle(*words)
    tally.check(odd.returncode == 64 and "is not UTF-8" in odd.stderr, f"{words}: {odd}")

# A copy of the state while it is served, and back.
copy = folder + "/copy"
as_json("backup", copy, "--state", busy.state)
as_json("backup", copy, "--state", busy.state, code=69)
# The moves themselves are in database.py.
as_json("migrate", busy.state, copy, code=64)
key = str(pathlib.Path(folder, "cluster-key"))
tally.check(as_json("cluster", "key", key)["file"] == key, "a key for the hosts on one database")
# Takeovers are in cluster.py.
as_json("cluster", "resign", code=64)
as_json("cluster", "restored", code=64)
as_json("restore", copy, "--state", busy.state, code=75)
busy.stop()
tally.check("earlier state is in" in pipe("restore", copy, "--state", busy.state)[0], "restored")
said = pipe("restore", __file__, "--state", busy.state, code=69)[1]
tally.check(f"{__file__} is no database, or it is damaged or cut short\n  → nothing was changed" in said, f"no backup: {said}")
short = pathlib.Path(folder, "short")
for size in (0, 100, 5000):
    short.write_bytes(pathlib.Path(copy).read_bytes()[:size])
    said = pipe("restore", str(short), "--state", busy.state, code=69)[1]
    tally.check(f"{short} is " in said and "SQLite" not in said and "VACUUM" not in said, f"{size} bytes of a backup: {said}")
tally.check("is not a file" in pipe("restore", folder, "--state", busy.state, code=69)[1], "a folder is no backup")
tally.check("does not exist" in pipe("restore", copy + "-none", "--state", busy.state, code=64)[1], "no file")
back = Serve(gateway=slow.url, state=busy.state).linked()
tally.check(back.json("GET", "/v1/outbox")[1]["entries"], "its entries are back")
back.stop()

# With --demo both mean the state of the demo, and without it neither does.
shown, demo = Serve(), folder + "/demo-copy"
for spelling, environment in ((["--demo"], {}), ([], {"LADLE_DEMO_ENABLED": "true"})):
    said = pipe("backup", demo, "--state", shown.state, *spelling, env=environment)[0]
    tally.check(f"{shown.state}/demo." in said, f"a backup of the demo: {said}")
    pathlib.Path(demo).rename(demo + ".old")
said = pipe("backup", demo, "--state", shown.state, code=64)[1]
tally.check(f"there is no database in {shown.state}\n  → of the demo: ladle backup --state {shown.state} --demo {demo}" in said, f"the state without the demo: {said}")
tally.check(f"→ mkdir -p {folder}/none" in pipe("backup", f"{folder}/none/b.db", "--demo", "--state", shown.state, code=69)[1], "a backup into no folder")
tally.check("the name of the file is empty" in pipe("backup", "", "--demo", "--state", shown.state, code=64)[1], "a backup without a name")
pipe("restore", demo + ".old", "--demo", "--state", shown.state, code=75)
shown.stop()
said = pipe("restore", demo + ".old", "--demo", "--state", shown.state)[0]
tally.check(f"{shown.state}/demo has the state" in said and "earlier state is in" in said, f"the demo restored: {said}")
tally.check(not pathlib.Path(shown.state, "ladle.db").exists(), "and nothing beside it")

# Nothing set aside is said of a state only.
for place, code, word in ((scratch() + "/none", 64, "there is no database of Ladle in"), (shown.state, 0, "nothing is set aside in")):
    said = "".join(pipe("outbox", "recover", "--state", place, code=code))
    tally.check(f"{word} {place}" in said and ("outbox recover --state DIR" in said) == (code == 64), f"recover in {place}: {said}")
pipe("logs", "--no-follow", "--lines", "1", code=0 if shutil.which("journalctl") else 69)
seen.add("logs")

# Nobody there.
missing = as_json("status", "--socket", folder + "/none.sock", code=69)
tally.check(missing["code"] == "NOT_RUNNING" and "ladle serve" in missing["hint"], "and what to do")
pipe("status", "--state", folder, code=69)
pipe("status", "--ready", "--state", folder, code=69)

# A Ladle on another host: by URL, by context, and with the options before the command.
home = {"LADLE_SOCKET": "", "XDG_CONFIG_HOME": scratch() + "/home/.config"}
secret = pathlib.Path(scratch(), "token")
secret.write_text(server.token + "\n")
secret.chmod(0o600)
named = ["--token-file", str(secret)]
tally.check(as_json("status", "--url", server.url, *named, env=home)["link"]["state"] == "online", "by URL")
tally.check(as_json("context", "add", "home", server.url + "/", *named, env=home)["name"] == "home", "a context")
file = pathlib.Path(home["XDG_CONFIG_HOME"], "ladle/contexts.json")
tally.check(file.stat().st_mode & 0o777 == 0o600 and server.token in file.read_text(), "its file is private")
tally.check(as_json("context", env=home)["current"] == "home", "in use")
tally.check(server.token not in pipe("context", "list", "--json", env=home)[0], "a list without secrets")
tally.check("hello over there" in pipe("send", "--wait", "hello over there", env=home)[0], "a message and its reply")
tally.check(as_json("history", env={**home, "LADLE_URL": server.url, "LADLE_CLIENT_TOKEN_FILE": str(secret)})["messages"], "by environment")
as_json("context", "use", "nowhere", code=64, env=home)
as_json("context", "use", "local", env=home)
tally.check(as_json("status", "--context", "home", env=home)["version"], "for one command")
as_json("context", "remove", "home", env=home)
file.chmod(0o644)
tally.check("chmod 600" in pipe("context", code=64, env=home)[1], "a file that others may read")
secret.chmod(0o644)
tally.check("chmod 600" in pipe("status", "--url", server.url, *named, code=64, env=home)[1], "and so of the token")
secret.chmod(0o600)
secret.write_text("ldl_wrong\n")
tally.check(as_json("status", "--url", server.url, *named, code=77, env=home)["code"] == "NOT_PAIRED", "a wrong token")
tally.check(as_json("status", "--url", "http://127.0.0.1:1", code=69, env=home)["code"] == "NOT_RUNNING", "nobody there")
tally.check(as_json("status", "--url", "http://no-such-host.invalid", code=69, env=home)["code"] == "HOST_UNREACHABLE", "no such host")
as_json("status", "--url", "127.0.0.1:18780", code=64, env=home)
tally.check(json.loads(pipe("--socket", SOCKET, "--json", "status", env=home)[0])["version"], "options before the command")
files = ["--cert", folder + "/there.pem", "--key", folder + "/there.key"]
pin = as_json("tls", "self-signed", "--host", "127.0.0.1", *files)["sha256"]
safe = Serve("--tls-cert", files[1], "--tls-key", files[3])
secret.write_text(safe.token + "\n")
there = ["--url", f"https://127.0.0.1:{safe.port}", *named]
tally.check(as_json("status", *there, code=77, env=home)["code"] == "NOT_TRUSTED", "an unknown certificate")
tally.check(as_json("status", *there, "--pin", pin, env=home)["demo"], "a pinned one")
tally.check("over TLS" in pipe("send", "--wait", "echo over TLS", *there, "--pin", pin, env=home)[0], "a reply over TLS")
as_json("status", *there, "--pin", "0" * 64, code=77, env=home)
as_json("status", "--url", server.url.replace("http", "https"), code=69, env=home)

# The completions; the shells themselves are asked in shells.py, and bash by `CommandTableTests` too.
script = pathlib.Path(folder, "ladle.bash")
script.write_text(pipe("completions", "bash")[0])
pipe("completions", "tcsh", code=64)

# The manual page, without a complaint of groff's where that is installed.
page = pipe("man")[0]
tally.check("\n  man " in pipe("help")[0], "help lists man")
tally.check(page.startswith(".TH LADLE 1"), "a manual page")
if subprocess.run(["sh", "-c", "command -v groff"], capture_output=True).returncode == 0:
    run = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-rLL=80n"], input=page, capture_output=True, text=True)
    tally.check(run.returncode == 0 and not run.stderr, f"groff: {run.stderr[:300]}")
    tally.check("EXIT STATUS" in re.sub(".\b", "", run.stdout) and "outbox" in run.stdout, "it has what it must have")

# The exit codes are one list, wherever they stand.
listed = re.findall(r"^\.TP\n\.B (\d+)$", page[page.index(".SH EXIT STATUS"):page.index(".SH FILES")], re.M)
tally.check(listed == ["0", "64", "69", "70", "75", "77", "78"], f"the manual page has {listed}")
written = re.findall(r"^\| (\d+) \|", (ROOT / "README.md").read_text(), re.M)
tally.check(written == listed, f"README.md has {written}")

# Nothing of the table was left out.
places = re.findall(r"^        '( [^']+)'\) path=", script.read_text(), re.M)
leaves = {p.strip() for p in places if not any(q.startswith(p + " ") for q in places)}
done = {name for name in leaves if any((" " + run + " ").startswith(f" {name} ") or run.startswith(name) for run in seen)}
usual = {"outbox list", "identity show", "profile show", "token list", "clients list", "context list"}
without = leaves - done - usual - {"complete", "serve", "demo-gateway", "config reference", "completions", "help", "man"}
tally.check(not without, f"commands nobody tried with --json: {without}")
tally.end()
