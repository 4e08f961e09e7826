"""A Ladle on another host that is not to be trusted, or one whose sessions, tools and nodes strangers named: each text of every answer
ends with sequences for a terminal. Whatever command shows it, none reaches the terminal. A reply alone goes through a pipe unchanged."""

import http.client
import http.server
import json
import re
import shlex
import threading

from harness import LADLE, Serve, Tally, later, on_terminal, run_ladle, until

EVIL = "\x1b]0;owned\x07\x1b[31m\x9b1m\u202e"
ACTIVE = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
# What a command decides by, so that it comes to its end and shows the rest.
PLAIN = {"state", "kind", "type", "role", "decision", "status", "id", "runId", "key", "commandSha256"}
tally = Tally()
server = Serve().linked()


def spoilt(value, spared=(), key=None):
    if isinstance(value, str):
        is_time = re.match(r"\d{4}-\d\d-\d\dT", value)
        return value if spared and (key in spared or is_time) else value + EVIL
    if isinstance(value, list):
        return [spoilt(one, spared, key) for one in value]
    return {name: spoilt(one, spared, name) for name, one in value.items()} if isinstance(value, dict) else value


class Between(http.server.BaseHTTPRequestHandler):
    spared = ()

    def log_message(self, *_):
        pass

    def handle_any(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        fields = {name: value for name, value in self.headers.items() if name.lower() not in ("host", "connection", "content-length")}
        ladle = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
        ladle.request(self.command, self.path.split("%1B")[0], body or None, {**fields, "Authorization": f"Bearer {server.token}"})
        answer = ladle.getresponse()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("content-length", "connection", "transfer-encoding"):
                self.send_header(name, value)
        try:
            if re.search("event-stream|ndjson", answer.getheader("Content-Type", "")):
                self.end_headers()
                for line in answer:
                    if said := re.match(rb"(data: )?(?={)", line):
                        line = said[0] + json.dumps(spoilt(json.loads(line[said.end():]), self.spared)).encode() + b"\n"
                    self.wfile.write(line)
                    self.wfile.flush()
                return
            data = answer.read()
            if data and "json" in answer.getheader("Content-Type", ""):
                data = json.dumps(spoilt(json.loads(data), self.spared)).encode()
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
        except OSError:
            self.close_connection = True  # the command has seen enough

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any


between = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Between)
threading.Thread(target=between.serve_forever, daemon=True).start()
cursor = server.json("GET", "/v1/events?poll=0")[1]["cursor"]
server.json("POST", "/v1/messages?wait=20", {"text": "append the weather to weather.txt"})
server.json("POST", "/v1/messages", {"text": "approve 500s date", "session": "asks"})
waits = server.json("POST", "/v1/messages", {"text": "later", "notBefore": later()})[1]["id"]
approval = until(lambda: server.json("GET", "/v1/approvals")[1]["approvals"], 20, what="an approval")[0]["id"]
run = server.json("GET", "/v1/runs")[1]["runs"][-1]["id"]
job = server.json("GET", "/v1/automations")[1]["automations"][0]["id"]
gone = server.json("POST", "/v1/sessions", {"label": "gone"})[1]["key"]
COMMANDS = f"""send hello\nhistory\nhistory --session asks\nactivity\nglance\nruns\nruns --session asks\napprovals\napprovals --all
approvals show {approval}\nquestions\nnotify\nnotify add den webhook https://ladle.invalid/x\nnotify test phone\nnotify send hi\nmute 1h\noutbox\noutbox show {waits}
outbox retry {waits}\noutbox cancel {waits}\nidentity\nidentity set name=x\nprofile\nsessions\nsessions --all\nsessions new den
sessions rename main x\nsessions model main default\nsessions compact main\nagents\nmodels\nusage\nusage sessions\nautomations
automations run {job}\nautomations disable {job}\nautomations enable {job}\nnodes\nwake hi\nstatus\ntoken\ntoken create --name one --scopes read
token revoke one --yes\nclients\nabort --session asks\nabort {run}\nwatch --limit 30 --verbose --since {cursor}\napprovals deny {approval}
sessions reset main --yes\nsessions delete {gone} --yes""".split("\n")
# What this gateway and this moment refuse; a refusal is shown too.
REFUSED = {"questions", "notify test phone", f"outbox retry {waits}"}
for spared in (PLAIN, ()):
    Between.spared = spared
    for line in COMMANDS:
        shown = run_ladle(*shlex.split(line), "--url", f"http://127.0.0.1:{between.server_port}", timeout=60)
        for text in (shown.stdout, shown.stderr):
            found = ACTIVE.search(text)
            tally.check(not found, f"ladle {line} shows {text[max(0, (found.start() if found else 0) - 60):][:160]!r}")
        tally.check("see: ladle" not in shown.stderr, f"ladle {line} is a command: {shown.stderr}")
        # The second time some of it is done already.
        tally.check(not spared or (shown.returncode != 0) == (line in REFUSED), f"ladle {line}, exit {shown.returncode}: {shown.stderr}")
        tally.check(shown.stdout or shown.stderr or line.startswith("outbox"), f"ladle {line} says something")
# The whole screen: nothing but codes of its own.
Between.spared = PLAIN
keys = [("SESSIONS", b"\r"), ("esc back", b"q"), ("choose", b"q")]
code, written = on_terminal([LADLE, "top", "--url", f"http://127.0.0.1:{between.server_port}"], 100, answers=keys)
left = re.sub(r"\x1b\[(?:\d+;1H\x1b\[K|2J|\?(?:1049|25|7)[hl]|\d*m)", "", written.decode())
tally.check(code == 0 and "owned" in left and not ACTIVE.search(left), f"ladle top shows {left[:300]!r}, exit {code}")
tally.end()
