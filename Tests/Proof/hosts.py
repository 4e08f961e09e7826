"""Several hosts: a leader, two that follow it, and leaders that are none. Streams that say the same everywhere, rights that are the same
everywhere, requests that are handed on, a leader that is away, silent, new or bad, and the settings that do not fit together. The cuts and
kills of resume_soak.py --followers are not repeated here. HOSTS_PARTS names some of the parts, for one who works on them."""

import base64
import concurrent.futures
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback

from follower import Texts, cursor, log, place, rested_log
from harness import (
    ROOT, FaultyGateway, Serve, Stopwatch, Tally, Unchunked, options, run_ladle, scratch, until)
from raw_http import H2, certificate, pin_of, read_until, request, tcp

chosen = options()
tally = Tally()
MANY = ["--limits-auth-per-minute", "1000000", "--limits-pairing-per-minute", "1000000", "--openai-enabled", "--log-level", "debug"]
NOWHERE = "00000000-0000-7000-8000-000000000000"
secrets = []


def check(holds, what):
    return tally.check(holds, what)


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


def token(server, name, *scopes, **more):
    made = server.make_token(name, *scopes, **more)
    secrets.append(made["token"])
    return made


def together(*work):
    """Runs functions beside each other; their values."""
    with concurrent.futures.ThreadPoolExecutor(len(work)) as pool:
        return [one.result() for one in [pool.submit(each) for each in work]]


class Wire(threading.Thread):
    """Reads one stream of events and keeps the lines of data as they came, byte for byte."""

    def __init__(self, server, query="", fields=(), accept="text/event-stream", timeout=90, path="/v1/events", method="GET", body=b""):
        super().__init__(daemon=True)
        self.data, self.comments, self.ended = [], 0, None
        self.began = time.monotonic()
        self.socket = socket.create_connection(("127.0.0.1", server.port), timeout)
        head = f"{method} {path}{query} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nAccept: {accept}\r\n"
        head += "".join(f"{name}: {value}\r\n" for name, value in dict(fields).items())
        head += f"Content-Length: {len(body)}\r\nContent-Type: application/json\r\n" if body else ""
        self.socket.sendall(head.encode() + b"\r\n" + body)
        self.start()

    def run(self):
        try:
            file = self.socket.makefile("rb")
            line = file.readline().split()
            self.fields = {}
            while (field := file.readline().strip()):
                name, _, value = field.decode().partition(":")
                self.fields[name.lower()] = value.strip()
            self.code = int(line[1])
            if self.fields.get("transfer-encoding") == "chunked":
                file = Unchunked(file)
            if self.code != 200:
                self.refusal = json.loads(file.read(int(self.fields.get("content-length", "0"))) if not isinstance(file, Unchunked) else b"{}")
                return
            while (line := file.readline()).endswith(b"\n"):
                if line.startswith(b"data: "):
                    self.data.append(line[6:-1])
                elif line.startswith(b"{"):
                    self.data.append(line[:-1])
                elif line.startswith(b":"):
                    self.comments += 1
        except (OSError, ValueError, IndexError):
            pass
        finally:
            self.ended = time.monotonic()

    @property
    def status(self):
        until(lambda: hasattr(self, "code") or self.ended, 60, what="the head of a stream")
        return getattr(self, "code", 0)

    @property
    def events(self):
        return [json.loads(one) for one in list(self.data)]

    def of(self, kind):
        return [event for event in self.events if event["type"] == kind]

    def durable(self):
        """The lines of events with an id; hello has the reader's own place."""
        return [one for one in list(self.data) if b'"id":' in one[:40] and b'"type":"hello"' not in one[:100]]

    def hello(self):
        until(lambda: self.of("hello") or self.ended, 60, what="hello")
        return (self.of("hello") or [None])[0]

    def close(self):
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.socket.close()


class Leader:
    """What `Serve(follow=)` needs to know of a leader."""

    def __init__(self, url, token):
        self.url, self.token = url, token


class Relay(threading.Thread):
    """Carries connections to a leader, and holds back what it answers to requests of the kinds in `held`."""

    def __init__(self, port):
        super().__init__(daemon=True)
        # Whose answers wait: "feed", "beat", "rest".
        self.to, self.held = port, set()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.start()

    def run(self):
        while True:
            near = self.listener.accept()[0]
            far = socket.create_connection(("127.0.0.1", self.to))
            kind = {"name": "rest"}
            threading.Thread(target=self.carry, args=(near, far, kind, True), daemon=True).start()
            threading.Thread(target=self.carry, args=(far, near, kind, False), daemon=True).start()

    def carry(self, one, other, kind, asks):
        try:
            while piece := one.recv(65536):
                if asks:
                    kind["name"] = "feed" if b"/v1/events?since" in piece else "beat" if b" /v1/follow?" in piece else "rest"
                    piece = piece.replace(b"Host: 127.0.0.1:%d\r" % self.port, b"Host: 127.0.0.1:%d\r" % self.to)
                while not asks and kind["name"] in self.held:
                    time.sleep(0.02)
                other.sendall(piece)
        except OSError:
            pass
        for each in (one, other):
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


class FakeLeader(threading.Thread):
    """A leader whose answers are chosen: `answers[name](socket, head)` for `beat`, `feed` and `rest`. By itself it gives the beat of a real
    one, a stream that stays quiet, and what it was asked, as JSON."""

    def __init__(self, whole, **answers):
        super().__init__(daemon=True)
        self.answers, self.whole, self.heads = answers, whole, []
        # How often each was asked, and how many of those answers go on.
        self.counts, self.busy = {"beat": 0, "feed": 0, "rest": 0}, {"beat": 0, "feed": 0, "rest": 0}
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        self.url, self.token = f"http://127.0.0.1:{self.port}", "ldl_" + "1" * 49
        self.start()

    def run(self):
        while True:
            threading.Thread(target=self.serve, args=(self.listener.accept()[0],), daemon=True).start()

    def serve(self, one):
        data = b""
        try:
            while True:
                while b"\r\n\r\n" not in data:
                    piece = one.recv(65536)
                    if not piece:
                        return one.close()
                    data += piece
                head, _, data = data.partition(b"\r\n\r\n")
                length = int((re.search(rb"(?i)content-length: (\d+)", head) or [0, 0])[1])
                while len(data) < length:
                    data += one.recv(65536)
                data = data[length:]
                kind = "beat" if b" /v1/follow?" in head[:40] else "feed" if b" /v1/events?since" in head[:40] else "rest"
                self.counts[kind] += 1
                if kind == "rest":
                    self.heads.append(head)
                self.busy[kind] += 1
                try:
                    if self.answers.get(kind, getattr(self, kind))(one, head) is not True:
                        return one.close()
                finally:
                    self.busy[kind] -= 1
        except OSError:
            one.close()

    def beat(self, one, head):
        return reply(one, self.whole)

    def feed(self, one, head):
        one.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n")
        since = re.search(rb"since=([^& ]+)", head)[1].decode()
        chunk(one, json.dumps({"id": since, "type": "hello", "at": "2026-01-01T00:00:00.000Z", "resume": "recovered"}).encode() + b"\n")
        while True:
            time.sleep(2)
            chunk(one, b'{"type":"heartbeat","at":"2026-01-01T00:00:00.000Z"}\n')

    def rest(self, one, head):
        return reply(one, json.dumps({"head": head.decode("latin-1")}).encode())


def chunk(one, piece):
    one.sendall(b"%x\r\n%s\r\n" % (len(piece), piece))


def reply(one, body, status=b"200 OK", kind=b"application/json", more=b""):
    one.sendall(b"HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n%s\r\n%s" % (status, kind, len(body), more, body))
    return True


def problem(answer):
    """Status and code of an answer of Serve.call."""
    try:
        told = json.loads(answer[2] or b"{}")
    except ValueError:
        told = {}
    if not isinstance(told, dict):
        told = {}
    code = told.get("code")
    if code is None and isinstance(told.get("error"), dict):
        code = told["error"].get("code")
    return answer[0], code if answer[0] >= 400 else None


def follow(leader, *arguments, name="follower", **more):
    return Serve("--cluster-name", name, *MANY, *arguments, follow=leader, **more)


def say(server, text, session="main", wait=40, headers=None):
    status, _, body = server.call(
        "POST", f"/v1/messages?session={session}&wait={wait}", text.encode(), {"Content-Type": "text/plain", **(headers or {})}, timeout=60)
    return status, json.loads(body)


def state(server):
    return server.json("GET", "/v1/cluster")[1]


# -- 1. streams

def streams(gateway, leader, followers):
    hosts = [leader, *followers]
    start = cursor(leader)
    # Signs of life, while the rest goes on.
    beats = [Wire(host, f"?{query}&types=pairing") for host in hosts[:2] for query in ("heartbeat=5", "heartbeat=event")]
    queries = ["", "types=run.*,outbox", "session=agent:main:hosts1", "types=message", "types=run.ended"]
    forms = ["text/event-stream", "application/x-ndjson"]
    readers = {(query, form): [Wire(host, f"?since={start}&{query}", accept=form) for host in hosts] for query in queries for form in forms}
    for group in readers.values():
        for reader in group:
            hello = reader.hello()
            check(hello and hello["resume"] == "recovered" and hello["id"] == start, f"a stream from a position: {reader.status} {hello}")

    # A text that runs for a while, with readers that come in its middle.
    words = " ".join(f"w{number}\u00e9\U0001f600" for number in range(400))
    before = Wire(leader, "?types=run.*")
    before.hello()
    sent = threading.Thread(target=say, args=(followers[0], f"echo {words}", "agent:main:hosts1"))
    sent.start()
    until(lambda: before.of("run.delta"), 30, what="the first piece of a text")
    middle = [Wire(host, "?snapshot=1&types=run.*,summary") for host in hosts]
    resumed = [Wire(host, f"?since={start}&types=run.*") for host in hosts]
    sent.join()
    for number in (1, 2):
        say(hosts[number], ["append the weather to weather.txt", "parallel tools"][number - 1], f"agent:main:hosts{number}")
    leader.at_rest()
    truth = rested_log(leader, start)
    run = next(event["runId"] for event in truth if event["type"] == "run.ended")

    for name, group in (("with snapshot", middle), ("from a position", resumed)):
        for host, reader in zip(hosts, group):
            until(lambda: any(e["runId"] == run for e in reader.of("run.ended")), 30, what=f"the end of the run {name}")
            texts = Texts()
            for event in reader.events:
                if event["type"] == "run.delta" and event["runId"] == run:
                    texts.delta(event)
                if event["type"] == "run.ended" and event["runId"] == run:
                    check(texts.of(run) == event["run"]["text"] == words and not texts.problems,
                          f"a text read {name}, at {'the leader' if host is leader else 'a follower'}: {texts.problems[:2]}, {len(texts.of(run))} of {len(words)}")
    for host, reader in zip(hosts, middle):
        kinds = [event["type"] for event in reader.events][:3]
        summary = (reader.of("summary") or [{}])[0]
        check(kinds[:2] == ["hello", "summary"] and summary.get("active") == 1, f"the snapshot begins with the summary: {kinds} {summary}")
        starts = [event["runId"] for event in reader.of("run.started")]
        check(starts.count(run) == 1, f"the running run is in the snapshot once: {starts}")
        check((summary.get("link") or {}).get("state") == "online", f"the summary has the link: {summary}")

    for (query, form), group in readers.items():
        until(lambda: all(reader.durable()[-1:] == group[0].durable()[-1:] for reader in group), 20, what="the same last event")
        first = group[0].durable()
        for reader in group[1:]:
            check(reader.durable() == first and first, f"{form} {query or 'all'}: {len(reader.durable())} events like the leader's {len(first)}, byte for byte")
        if not query:
            check([json.loads(one) for one in first] == truth, f"{form}: the stream is the log: {len(first)} of {len(truth)}")

    def poll(host, query, fields=None):
        return host.call("GET", f"/v1/events?{query}", headers={"Accept": "application/json", **(fields or {})})

    for query in ("", "&types=run.*,outbox", "&session=agent:main:hosts2", f"&run={run}", "&limit=3", "&types=message&limit=2"):
        answers = [poll(host, f"poll=0&since={start}{query}") for host in hosts]
        check(len({answer[2] for answer in answers}) == 1, f"long poll {query}: the same bytes everywhere: {[len(a[2]) for a in answers]}")
    for query in (f"run={run}", "limit=3", "timeout=1", "types=run.*&limit=2", f"session=agent:main:hosts1&run={run}&timeout=1"):
        group = [Wire(host, f"?since={start}&{query}") for host in hosts]
        if "limit" in query or "timeout" in query:
            for reader in group:
                reader.join(30)
                check(not reader.is_alive(), f"a stream with {query} ends by itself")
        else:
            until(lambda: all(len(reader.durable()) == len(group[0].durable()) > 2 for reader in group), what=query)
        check(all(reader.durable() == group[0].durable() and reader.durable() for reader in group), f"streams with {query} have the same: {[len(r.durable()) for r in group]}")
        for reader in group:
            reader.close()

    # Positions that are not in the log, or not yet, or not well formed.
    for query in ("since=aaaaaaaaaaaa.1", f"since={start.partition('.')[0]}.999999"):
        told = []
        for host in hosts:
            reader = Wire(host, f"?{query}&timeout=2")
            hello = reader.hello()
            reader.join(20)
            reset = (reader.of("reset") or [{}])[0]
            told.append((hello and hello["resume"], hello and hello["epoch"], {key: reset.get(key) for key in ("requested", "oldest", "newest", "epoch", "reload")}))
            page = json.loads(poll(host, f"poll=0&{query}")[2])
            told[-1] += (page.get("reset"), page.get("cursor"), page.get("events"))
        check(told[0] == told[1] == told[2], f"a position of nowhere, {query}: {told}")
        check(told[0][0] == "reset", f"and it is a reset: {told[0]}")
    for query in ("since=xyz", "types=nonsense", "limit=0", "heartbeat=1", "poll=9999"):
        told = [problem(host.call("GET", f"/v1/events?{query}&timeout=1")) for host in hosts]
        check(told[0] == told[1] == told[2] and told[0][0] == 400, f"{query} is refused the same: {told}")
    heads = [host.call("HEAD", "/v1/events") for host in hosts]
    check(len({(head[0], head[1].get("content-type")) for head in heads}) == 1, f"HEAD of the stream: {heads}")

    # Deep: a follower that has nothing in memory, and a client with an old place.
    old = followers[1]
    old.kill()
    again = old.again().following()
    pages = [Wire(again, f"?since={start}&{query}", accept=form) for query in queries for form in forms]
    for reader, (key, group) in zip(pages, [((q, f), readers[(q, f)]) for q in queries for f in forms]):
        want = group[0].durable()
        until(lambda: len(reader.durable()) >= len(want) or reader.ended, 30, what=f"an old place, {key}")
        check(reader.durable() == want and reader.hello()["resume"] == "recovered", f"an old place at a follower that is new, {key}: {len(reader.durable())} of {len(want)}")
    small = Wire(again, f"?since={start}&limit=5")
    small.join(20)
    check(small.durable() == readers[("", forms[0])][0].durable()[:5], f"an old place with limit: {len(small.durable())}")
    check(poll(again, f"poll=0&since={start}&types=run.*&limit=4")[2] == poll(leader, f"poll=0&since={start}&types=run.*&limit=4")[2], "an old place by long poll")
    check(state(again)["behind"] == 0, "it is not behind")
    say(again, "echo once more", "agent:main:hosts1")
    until(lambda: pages[0].durable()[-1:] == readers[("", forms[0])][0].durable()[-1:], 20, what="it goes on live")

    # A client that another host has told more.
    relay = Relay(leader.port)
    relay.token = leader.token
    slow = follow(relay, name="slow").following()
    behind = cursor(slow)
    relay.held = {"feed"}
    say(leader, "echo ahead")
    ahead = cursor(leader)
    check(place(ahead) > place(behind), "the leader is ahead")
    reader = Wire(slow, f"?since={ahead}")
    hello = reader.hello()
    check(hello and hello["id"] == ahead and hello["resume"] == "recovered", f"a place ahead of the follower: {hello}")
    page = slow.json("GET", f"/v1/events?poll=1&since={ahead}")[1]
    check(page["cursor"] == ahead and not page["events"], f"a long poll from ahead does not go back: {page}")
    relay.held = set()
    say(leader, "echo behind ahead", "agent:main:hosts2")
    leader.at_rest()
    want = rested_log(leader, ahead)
    until(lambda: len(reader.durable()) >= len(want) or reader.ended, 20, what="what comes behind the place")
    check([json.loads(one) for one in reader.durable()] == want, f"from ahead: {len(reader.durable())} of {len(want)}, nothing twice")
    slow.stop()

    until(lambda: all(one.comments for one in beats[::2]) and all(one.of("heartbeat") for one in beats[1::2]), 40, what="signs of life at leader and follower")
    check(True, "")
    for group in [*readers.values(), middle, resumed, beats, pages, [before, reader]]:
        for one in group:
            one.close()
    return again


# -- 2. rights

def credentials(leader):
    one = {"sessions": ["agent:main:hosts1"]}
    few = {"paths": ["/v1/runs", "/v1/glance", "/v1/events", "/v1/tickets"]}
    scopes = ["read", "send", "identity", "control", "approvals", "nodes"]
    rows = {"none": {}, "a wrong token": bearer("ldl_" + "0" * 49), "another scheme": {"Authorization": "Basic eDp5"}}
    rows["two tokens"] = {"Authorization": "Bearer a, Bearer b"}
    for name, given, more in [
        ("read", ["read"], {}), ("send", ["send"], {}), ("control", ["control", "nodes"], {}), ("approvals", ["approvals", "identity"], {}),
        ("of one session", scopes, one), ("of few paths", scopes, few), ("admin", ["admin"], {}),
    ]:
        rows[name] = bearer(token(leader, name, *given, **more)["token"])
    return rows


WAYS = {
    "as the owner": {}, "with X-Forwarded-For": {"X-Forwarded-For": "127.0.0.1"}, "with Forwarded": {"Forwarded": "for=127.0.0.1"},
    "with Via": {"Via": "1.1 x"}, "by a login": {"Tailscale-User-Login": "admin@example.com", "X-Real-IP": "127.0.0.1"},
}
OPEN = {"getHealth", "applyForPairing", "pollPairing", "actOnApproval", "showApprovalLink"}


def operations():
    """(operation, method, path) of the OpenAPI document."""
    path = method = None
    for line in (ROOT / "openapi/openapi.yaml").read_text().splitlines():
        if found := re.fullmatch(r"  (/\S*):", line):
            path = found[1]
        elif found := re.fullmatch(r"    (get|put|post|patch|delete):", line):
            method = found[1]
        elif path and method and (found := re.fullmatch(r"      operationId: (\w+)", line)):
            yield found[1], method, path


def rights(gateway, leader, followers):
    follower = followers[0]
    known = credentials(leader)
    until(lambda: follower.call("GET", "/v1/glance", headers=known["admin"])[0] == 200, 10, what="the new tokens")
    table = []
    for operation, method, path in operations():
        real = re.sub(r"\{\w+\}", NOWHERE, path)
        real += "?poll=0" if operation == "streamEvents" else "?host=x" if operation == "beat" else ""
        table.append((operation, method.upper(), real))
    table += [("no path", "GET", "/v1/no-such-path"), ("above", "GET", "/v1/outbox/../tokens"), ("no method", "PATCH", "/v1/status"),
              ("methods", "OPTIONS", "/v1/tokens"), ("head", "HEAD", "/v1/tokens"), ("unknown method", "FROB", "/v1/tokens")]
    check(len(table) >= 120, f"all routes: {len(table)}")
    cells = []
    for number, row in enumerate(table):
        for turn, (credential, fields) in enumerate(known.items()):
            for other, (way, more) in enumerate(WAYS.items()):
                # In the short form each route is asked by nobody over a proxy, and by some others.
                if not chosen.long and not (credential == "none" and way == "with X-Forwarded-For") and (number + turn * 3 + other * 5) % 29:
                    continue
                cells.append((row, credential, way, {**fields, **more}))
    differing, wrong = [], []

    def cell(one):
        (operation, method, path), credential, way, fields = one
        body = b"{}" if method in ("POST", "PUT", "PATCH") and operation != "no method" else None
        fields = {**fields, **({"Content-Type": "application/json"} if body else {})}
        answers = [host.call(method, path, body, fields, timeout=60) for host in (leader, follower)]
        told = [problem(answer) for answer in answers]
        names = [answer[1].get("www-authenticate") for answer in answers]
        if operation == "beat" and told[0][0] == 200:
            # Who follows cannot be followed.
            told[0] = (404, "NOT_FOUND")
        if told[0] != told[1] or names[0] != names[1]:
            differing.append((operation, method, path, credential, way, told, names if names[0] != names[1] else ""))
        if credential == "none" and way != "as the owner" and operation not in OPEN and told[1][0] not in (401, 403, 405, 501):
            wrong.append((operation, way, told))

    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        list(pool.map(cell, cells))
    for one in differing[:30]:
        check(False, f"another answer at the follower: {one}")
    check(not differing, f"{len(differing)} of {len(cells)} cells differ")
    check(not wrong, f"nobody is let in over a proxy: {wrong[:5]}")

    # What callers of one session see of the link and of the others.
    mine = known["of one session"]
    for path in ("/v1/status", "/v1/glance", "/v1/activity", "/v1/sessions"):
        for fields in (mine, known["read"]):
            told = [host.json("GET", path, headers=fields) for host in (leader, follower)]
            for one in told:
                one[1].pop("host", None)
            check(told[0] == told[1] or path != "/v1/glance" and told[0][0] == told[1][0] and told[0][1].keys() == told[1][1].keys(), f"{path} at both: {str(told)[:300]}")
    for fields in (mine, known["read"], known["admin"]):
        shown = []
        for host in (leader, follower):
            reader = Wire(host, "?snapshot=1&timeout=2&types=hello,summary,link", fields)
            hello = reader.hello()
            reader.join(20)
            shown.append((hello["link"], [{k: v for k, v in event.items() if k != "at"} for event in reader.of("summary")]))
        check(shown[0] == shown[1] and shown[0][1], f"link and summary at both: {str(shown)[:500]}")
    told = follower.json("GET", "/v1/cluster", headers=mine)[1]
    check("leader" not in told and "problem" not in told, f"a caller of one session learns no host: {told}")
    check("followers" not in leader.json("GET", "/v1/cluster", headers=mine)[1], "nor at the leader")
    # Tickets open at the host that sold them, with the rights of their buyer.
    status, bought = follower.json("POST", "/v1/tickets", {"path": "/v1/events"}, mine)
    reader = Wire(follower, f"?ticket={bought.get('ticket')}&snapshot=1&timeout=2", {"X-Forwarded-For": "10.0.0.1"})
    hello = reader.hello()
    reader.join(20)
    check(status == 201 and hello and hello["link"] == leader_link(leader, mine), f"a ticket of one session: {hello}")
    check(all(event.get("session", "agent:main:hosts1") == "agent:main:hosts1" for event in reader.events), "and only what it may see")
    again = problem(follower.call("GET", f"/v1/events?ticket={bought.get('ticket')}&poll=0"))
    check(again[0] == 401, f"it opens once: {again}")
    # What is said of other sessions, live.
    readers = [Wire(host, "", mine) for host in (leader, follower)]
    for reader in readers:
        reader.hello()
    say(leader, "echo for others", "agent:main:hosts2")
    say(leader, "echo for me", "agent:main:hosts1")
    until(lambda: all(reader.of("run.ended") for reader in readers), 20, what="the run of one's session")
    leader.at_rest()
    until(lambda: readers[0].durable()[-1] == readers[1].durable()[-1], 20, what="the same end")
    check(readers[0].durable() == readers[1].durable(), "a caller of one session has the same at both")
    check(not any(b"for others" in one for one in readers[1].data), "and nothing of others")
    for reader in readers:
        reader.close()

    # Only an admin gets the beat, which has the digests.
    told = {name: problem(leader.call("GET", "/v1/follow?host=x", headers={"X-Forwarded-For": "10.0.0.1", **fields}))[0] for name, fields in known.items()}
    check({name for name, status in told.items() if status == 200} == {"admin"}, f"who gets the beat: {told}")
    beat = leader.call("GET", "/v1/follow?host=x", headers=known["admin"])[2].decode()
    check(not any(secret in beat for secret in secrets), "no secret in the beat")


def leader_link(leader, fields):
    reader = Wire(leader, "?timeout=1", fields)
    hello = reader.hello()
    reader.close()
    return hello["link"]


def endings(gateway, leader, followers):
    """Tokens that end, wherever they are ended."""
    follower = followers[0]
    for name, way in (("at the leader", leader), ("at a follower", follower)):
        made = token(leader, f"gone {name}", "read", "send")
        fields = bearer(made["token"])
        until(lambda: follower.call("GET", "/v1/glance", headers=fields)[0] == 200, 10, what="the token")
        readers = [Wire(host, "", fields) for host in (leader, follower)]
        for reader in readers:
            check(reader.hello() is not None, "a stream of the token")
        waiting = [threading.Thread(target=lambda host=host: answers.append(host.call("GET", "/v1/events?poll=20", headers=fields))) for host in (leader, follower)]
        answers = []
        for one in waiting:
            one.start()
        time.sleep(0.3)
        watch = Stopwatch(leader, follower)
        check(way.call("DELETE", f"/v1/tokens/{made['id']}")[0] == 204, f"it is revoked {name}")
        status, code = problem(follower.call("GET", "/v1/glance", headers=fields))
        check(status == 401, f"what is handed on is refused at once: {status} {code}")
        for reader in readers:
            reader.join(20)
        took = watch.seconds
        for host, reader in zip((leader, follower), readers):
            end = reader.of("shutdown")
            check(end and end[-1]["reason"] == "token_revoked" and reader.events[-1]["type"] == "shutdown", f"the end of a stream revoked {name}: {end}")
        check(took < 2.5, f"revoked {name}, its stream at the follower ends within 2 s: {took:.1f} s")
        for one in waiting:
            one.join(25)
        check(sorted(problem(answer)[0] for answer in answers) == [401, 401], f"long polls of a revoked token: {[problem(a) for a in answers]}")
        until(lambda: problem(follower.call("GET", "/v1/events?poll=0", headers=fields))[0] == 401, 3, what="no new streams for it")

    # While the follower hears nothing, and while it hears events and no beats.
    for held in ({"feed", "beat"}, {"beat"}):
        relay = Relay(leader.port)
        relay.token = leader.token
        host = follow(relay, name="cut-off").following()
        made = token(leader, "behind its back", "read")
        fields = bearer(made["token"])
        until(lambda: host.call("GET", "/v1/events?poll=0", headers=fields)[0] == 200, 10, what="the token")
        reader = Wire(host, "?types=run.ended", fields)
        reader.hello()
        relay.held = held
        time.sleep(1.5)
        leader.call("DELETE", f"/v1/tokens/{made['id']}")
        time.sleep(1.5)
        say(leader, "echo not for the revoked")
        time.sleep(1)
        relay.held = set()
        reader.join(30)
        end = reader.of("shutdown")
        check(end and end[-1]["reason"] == "token_revoked", f"without {held}, revoked: {reader.events[-1:]}")
        check(not any(b"not for the revoked" in one for one in reader.data), f"without {sorted(held)}, a revoked token hears of a run that began 1.5 s later")
        host.stop()

    made = token(leader, "turned", "read")
    fields = bearer(made["token"])
    until(lambda: follower.call("GET", "/v1/events?poll=0", headers=fields)[0] == 200, 10, what="the token")
    readers = [Wire(host, "", fields) for host in (leader, follower)]
    for reader in readers:
        reader.hello()
    status, turned = follower.json("POST", f"/v1/tokens/{made['id']}/rotate", {})
    secrets.append(turned.get("token", "none"))
    for reader in readers:
        reader.join(20)
    reasons = [(reader.of("shutdown") or [{}])[-1].get("reason") for reader in readers]
    check(status in (200, 201) and reasons[0] == reasons[1] is not None, f"rotation ends streams alike: {status} {reasons}")
    until(lambda: follower.call("GET", "/v1/events?poll=0", headers=bearer(turned["token"]))[0] == 200, 5, what="the new secret")
    check(problem(follower.call("GET", "/v1/events?poll=0", headers=fields))[0] == 401, "the old secret opens nothing")

    made = token(leader, "short", "read", expiresInSeconds=4)
    fields = bearer(made["token"])
    until(lambda: follower.call("GET", "/v1/events?poll=0", headers=fields)[0] == 200, 4, what="the token")
    readers = [Wire(host, "", fields) for host in (leader, follower)]
    for reader in readers:
        reader.join(30)
    reasons = [(reader.of("shutdown") or [{}])[-1].get("reason") for reader in readers]
    check(reasons == ["token_expired"] * 2, f"expiry ends streams alike: {reasons}")


# -- 3. what is handed on

def forwarding(gateway, leader, followers):
    follower = followers[0]
    hosts = (leader, follower)
    # One message, whichever host it comes to.
    key = {"Idempotency-Key": "hosts-once", **bearer(leader.token)}
    first = say(follower, "echo once", "main", 40, key)
    second = say(leader, "echo once", "main", 40, key)
    check(first[0] in (200, 202) and first[1]["entry"]["id"] == second[1]["entry"]["id"], f"one message under one key: {first} {second}")
    check("once" in json.dumps(first[1]), "?wait brings the answer")
    runs = [run for run in leader.json("GET", "/v1/runs?limit=50")[1]["runs"] if run.get("text") == "once"]
    check(len(runs) == 1, f"and one run: {len(runs)}")
    fresh = token(leader, "both", "read", "send")
    until(lambda: follower.call("GET", "/v1/glance", headers=bearer(fresh["token"]))[0] == 200, 10, what="the token")
    key = {"Idempotency-Key": "hosts-race", **bearer(fresh["token"])}
    raced = together(*[lambda host=host: say(host, "echo raced", "agent:main:race", 40, key) for host in (*hosts, *hosts)])
    check(len({(answer.get("entry") or answer).get("id") for _, answer in raced}) == 1, f"one message, sent at both at once: {raced}")
    # The stream of one message.
    groups = []
    for host in hosts:
        reader = Wire(host, path="/v1/messages", method="POST", body=json.dumps({"text": "echo a stream of one"}).encode())
        reader.join(60)
        groups.append([event["type"] for event in reader.events if event["type"] not in ("run.delta", "heartbeat")])
        check(reader.status in (200, 202) and any(event["type"] == "run.ended" for event in reader.events), f"the stream of one message: {reader.status} {groups[-1]}")
    # Reads and their tags.
    for path in ("/v1/status", "/v1/agents", "/v1/sessions", "/v1/glance", "/v1/runs?limit=2", "/v1/outbox", "/v1/identity", "/v1/profile"):
        one, other = (host.call("GET", path) for host in hosts)
        # The time in some answers goes on, so a tag may change between two requests.
        same = {key: (one[1].get(key), other[1].get(key)) for key in ("content-type", "cache-control", "vary") if one[1].get(key) != other[1].get(key)}
        check(one[0] == other[0] == 200 and not same, f"GET {path}: {one[0]} {other[0]} {same}")
        if "etag" in other[1]:
            def unchanged():
                tags = [follower.call("GET", path)[1]["etag"]]
                answer = follower.call("GET", path, headers={"If-None-Match": tags[0]})
                tags.append(follower.call("GET", path)[1]["etag"])
                return answer if tags[0] == tags[1] else None
            answer = until(unchanged, 10, what=f"a tag of {path} that stays for three requests")
            check(answer[0] == 304 and not answer[2], f"If-None-Match of {path}: {answer[0]}")
        heads = [host.call("HEAD", path) for host in hosts]
        lengths = [head[1].get("content-length") for head in heads]
        check(heads[0][0] == heads[1][0] and not heads[1][2], f"HEAD {path}: {heads}")
        check(lengths[1] in (lengths[0], None) or lengths[1] not in (None, "0") and lengths[0] not in (None, "0"), f"HEAD {path} has the length of GET: {lengths}")
    # Changes with bodies.
    tag = follower.call("GET", "/v1/profile")[1].get("etag")
    text = "# USER.md\n\n- **Name:** Hosts\n" + "x" * 30_000
    put = follower.call("PUT", "/v1/profile", text.encode(), {"Content-Type": "text/markdown", "If-Match": tag or "*"})
    check(put[0] in (200, 204), f"PUT through a follower: {put[0]} {put[2][:200]}")
    late = follower.call("PUT", "/v1/profile", b"late", {"Content-Type": "text/markdown", "If-Match": '"0000000000000000"'})
    check(problem(late) == problem(leader.call("PUT", "/v1/profile", b"late", {"Content-Type": "text/markdown", "If-Match": '"0000000000000000"'})), f"If-Match is handed on: {late[0]}")
    patch = [host.call("PATCH", "/v1/profile", {"nonsense": 1}) for host in hosts]
    check(problem(patch[0]) == problem(patch[1]), f"PATCH: {[problem(one) for one in patch]}")
    made = token(follower, "made there", "read")
    check(follower.call("DELETE", f"/v1/tokens/{made['id']}")[0] == 204, "DELETE through a follower")
    check(problem(follower.call("DELETE", f"/v1/tokens/{made['id']}")) == problem(leader.call("DELETE", f"/v1/tokens/{made['id']}")), "DELETE of what is gone")
    # Large ones.
    picture = base64.b64encode(b"\x89PNG\r\n\x1a\n" + os.urandom(3 << 20)).decode()
    body = {"text": "look", "attachments": [{"name": "a.png", "type": "image/png", "data": picture}]}
    answers = [host.call("POST", "/v1/messages", body, timeout=60) for host in hosts]
    check(problem(answers[0]) == problem(answers[1]), f"a large attachment: {[(a[0], a[2][:200]) for a in answers]}")
    for size in (25_500_000, 27_000_000):
        answers = []
        for host in hosts:
            with tcp("127.0.0.1", host.port, timeout=20) as one:
                one.sendall(request("POST", "/v1/messages", f"127.0.0.1:{host.port}", {"Expect": "100-continue"}, announce=size))
                answers.append(one.recv(65536)[9:12])
        check(answers[0] == answers[1], f"whether a body of {size} bytes may come: {answers}")
    # Methods and paths.
    for method, path in (("OPTIONS", "/v1/messages"), ("OPTIONS", "*"), ("DELETE", "/v1/status"), ("GET", "/v1/nothing"), ("GET", "/v1/runs/%0d%0aX-Evil:%20y"),
                         ("GET", "/v1/runs/a%0d%0a%0d%0aGET%20/v1/tokens"), ("GET", "/v1/runs/..%2ftokens"), ("GET", "/v1/runs?limit=%0d%0a"), ("GET", "/v1/runs?session=%e2%82%ac")):
        told = [(problem(answer), answer[1].get("allow")) for answer in (host.call(method, path) for host in hosts)]
        check(told[0] == told[1], f"{method} {path}: {told}")
    for raw in ("GET http://127.0.0.1:{port}/v1/runs HTTP/1.1", "GET http://evil.example/v1/runs HTTP/1.1", "GET /v1/runs#x HTTP/1.1", "GET //v1/runs HTTP/1.1",
                "GET /v1/%72uns HTTP/1.1", "GET /v1/runs HTTP/1.0", "GET /v1/runs/x y HTTP/1.1"):
        told = []
        for host in hosts:
            with tcp("127.0.0.1", host.port) as one:
                one.sendall(f"{raw.format(port=host.port)}\r\nHost: 127.0.0.1:{host.port}\r\nConnection: close\r\n\r\n".encode())
                told.append(read_until(one, b"\0never")[:13])
        check(told[0] == told[1], f"{raw}: {told}")
    # Requests behind each other on one connection, answered in their order.
    with tcp("127.0.0.1", follower.port, timeout=30) as one:
        paths = ["/v1/glance", "/healthz", "/v1/runs?limit=1", "/v1/nothing", "/v1/cluster", "/v1/agents", "/v1/status"]
        one.sendall(b"".join(request("GET", path, f"127.0.0.1:{follower.port}", {} if path != paths[-1] else {"Connection": "close"}) for path in paths))
        raw = read_until(one, b"\0never", seconds=30)
    found = re.findall(rb"HTTP/1\.1 (\d+)", raw)
    marks = [raw.find(mark) for mark in (b'"status":"ok"', b'"runs":[', b"NOT_FOUND", b'"role":"follower"', b'"agents":[')]
    check(found == [b"200", b"200", b"200", b"404", b"200", b"200", b"200"] and marks == sorted(marks) and -1 not in marks, f"pipelined: {found} {marks}")
    # HTTP/2.
    curled = subprocess.run(["curl", "-s", "--http2-prior-knowledge", "-o", "/dev/null", "-w", "%{http_version} %{http_code}", f"{follower.url}/v1/status"], capture_output=True, text=True, timeout=60)
    check(curled.stdout == "2 200", f"curl by HTTP/2: {curled.stdout}")
    with tcp("127.0.0.1", follower.port, timeout=30) as one:
        link = H2(one, 40)
        names = [link.request("GET", path, f"127.0.0.1:{follower.port}") for path in ("/v1/runs?limit=1", "/v1/status", "/v1/nothing")]
        names.append(link.request("POST", "/v1/messages?wait=30", f"127.0.0.1:{follower.port}", body=json.dumps({"text": "echo by two"}).encode()))
        told = [link.answer(number) for number in names]
        check([one.status for one in told[:3]] == [200, 200, 404] and told[3].status in (200, 202) and b"by two" in told[3].body, f"HTTP/2: {[one.status for one in told]}")
    # The door.
    for path, body in (("/openai/v1/models", None), ("/openai/v1/chat/completions", {"model": "ladle", "messages": [{"role": "user", "content": "echo door"}]})):
        answers = [host.call("POST" if body else "GET", path, body, timeout=60) for host in hosts]
        check(answers[0][0] == answers[1][0] == 200 and answers[0][1].get("content-type") == answers[1][1].get("content-type"), f"{path}: {[a[0] for a in answers]}")
    ask = {"model": "ladle", "stream": True, "messages": [{"role": "user", "content": "echo streaming door"}]}
    answers = [host.call("POST", "/openai/v1/chat/completions", ask, timeout=60) for host in hosts]
    check(all(answer[0] == 200 and answer[2].rstrip().endswith(b"data: [DONE]") for answer in answers), f"the door's stream: {[(a[0], a[2][-40:]) for a in answers]}")
    wrong = [host.call("POST", "/openai/v1/chat/completions", {**ask, "model": "none"}) for host in hosts]
    check(problem(wrong[0]) == problem(wrong[1]), f"the door's refusal: {[(w[0], w[2][:200]) for w in wrong]}")
    # A client that leaves in the middle takes its request along, and nobody else's.
    for _ in range(20):
        one = tcp("127.0.0.1", follower.port)
        one.sendall(request("POST", "/v1/messages?wait=20", f"127.0.0.1:{follower.port}", {"Accept": "text/event-stream"}, b'{"text": "think it over"}'))
        one.close()
    before = follower.descriptors()
    leader.at_rest(90)
    check(follower.call("GET", "/v1/status")[0] == 200, "it goes on when clients leave")
    until(lambda: follower.descriptors() <= before, 15, what="the descriptors of clients that left")


def large_and_slow(beat, real):
    """What only a leader made for it says: long answers, slow readers, and what reaches it of a request."""
    size = 24 << 20

    def rest(one, head):
        if b" /v1/runs?limit=1 " in head[:60]:
            one.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % size)
            for _ in range(size >> 16):
                one.sendall(b"x" * 65536)
            return True
        if b" /v1/runs?limit=2 " in head[:60]:
            one.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 100\r\n\r\nhalf")
            return False
        if b" /v1/runs?limit=3 " in head[:60]:
            one.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n")
            return False
        if b" /v1/runs?limit=4 " in head[:60]:
            return reply(one, b"{}", more=b"Set-Cookie: a=b\r\nConnection: X-Secret\r\nX-Secret: 1\r\nKeep-Alive: timeout=5\r\nX-Request-ID: theirs\r\nAccess-Control-Allow-Origin: *\r\n")
        if b" /v1/runs?limit=5 " in head[:60]:
            one.sendall(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n")
            return reply(one, b'{"late":1}')
        if b" /v1/runs?limit=6 " in head[:60]:
            one.sendall(b"NONSENSE\r\n\r\n")
            return False
        if b"/v1/glance" in head[:60]:
            return False
        return reply(one, json.dumps({"head": head.decode("latin-1")}).encode())

    fake = FakeLeader(beat, rest=rest)
    host = follow(fake, name="of-a-fake").following()
    own = f"127.0.0.1:{host.port}"
    answer = host.call("GET", "/v1/runs?limit=1", timeout=90)
    check(answer[0] == 200 and len(answer[2]) == size and answer[1].get("content-length") in (None, str(size)), f"24 MiB through the follower: {answer[0]} {len(answer[2])}")
    # Readers that take nothing.
    before = host.resident()
    idle = []
    for _ in range(8):
        one = tcp("127.0.0.1", host.port)
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        one.sendall(request("GET", "/v1/runs?limit=1", own))
        one.recv(1)
        idle.append(one)
    for _ in range(4):
        one = tcp("127.0.0.1", host.port, timeout=30)
        link = H2(one)
        for _ in range(4):
            link.request("GET", "/v1/runs?limit=1", own)
        idle.insert(0, one)
    grown = []
    end = time.monotonic() + (10 if chosen.long else 3)
    while time.monotonic() < end:
        grown.append(host.resident() - before)
        time.sleep(0.1)
    check(max(grown) < 24 * (4 << 20), f"24 readers that take nothing cost {max(grown) >> 20} MiB")
    check(host.call("GET", "/v1/status")[0] == 200, "others are served meanwhile")
    left = idle.pop()
    got = 1
    end = time.monotonic() + 60
    left.settimeout(20)
    try:
        while got < size + 100 and time.monotonic() < end and (piece := left.recv(1 << 20)):
            got += len(piece)
    except TimeoutError:
        pass
    check(got >= size, f"one of them reads on and gets all of it: {got}")
    for one in (*idle, left):
        one.close()
    # Torn answers are torn, not whole.
    for number in (2, 3):
        try:
            torn = host.call("GET", f"/v1/runs?limit={number}")
            check(torn[0] == 502, f"an answer that ends in its middle looks whole: {torn}")
        except (http.client.HTTPException, OSError):
            check(True, "")
    fields = host.call("GET", "/v1/runs?limit=4")[1]
    check(not {"keep-alive", "access-control-allow-origin"} & set(fields) and fields.get("connection") != "X-Secret", f"fields of the leader's connection stay there: {fields}")
    check(host.call("GET", "/v1/runs?limit=5")[2] == b'{"late":1}', "answers ahead of the answer are skipped")
    check(problem(host.call("GET", "/v1/runs?limit=6")) == (502, "LEADER_LOST"), "an answer that is no HTTP")
    check(problem(host.call("GET", "/v1/glance"))[0] == 502, "a leader that hangs up on a read")
    asked = fake.counts["rest"]
    check(problem(host.call("POST", "/v1/runs/x/abort", {}))[0] in (200, 502), "a request that changes something")
    check(fake.counts["rest"] == asked + 1, "it is asked once")

    # What reaches the leader of a request.
    def sent(fields, method="GET", path="/v1/status", body=None):
        fake.heads.clear()
        with tcp("127.0.0.1", host.port, timeout=20) as one:
            one.sendall(request(method, path, own, fields, body))
            told = one.recv(65536)
        return told[9:12].decode(), fake.heads[-1].decode("latin-1") if fake.heads else ""

    tokens = json.loads(beat)
    mine = real["read"]
    tricks = [("X-Forwarded-For", "6.6.6.6"), ("Forwarded", "for=6.6.6.6"), ("X-Forwarded-Host", "evil.example"), ("X-Real-IP", "6.6.6.6"), ("Via", "1.1 evil"),
              ("Tailscale-User-Login", "admin@example.com"), ("Tailscale-User-Name", "evil"), ("Cookie", "a=evil"),
              ("Proxy-Authorization", "evil"), ("TE", "trailers"), ("Upgrade", "evil"), ("X-Kept", "kept")]
    status, head = sent([*mine.items(), *tricks, ("Connection", "close, X-Hop"), ("X-Hop", "evil")])
    check(status == "200" and "X-Kept: kept" in head, f"a request with many fields: {status} {head}")
    check("6.6.6.6" not in head and "evil" not in head, f"fields of proxies and of the connection do not reach the leader: {head}")
    check(len(re.findall(r"(?im)^host:", head)) == 1 and f"127.0.0.1:{fake.port}" in head, f"one Host, the leader's: {head}")
    check(len(re.findall(r"(?im)^x-forwarded-for: 127\.0\.0\.1\r?$", head)) == 1, f"one X-Forwarded-For, the follower's: {head}")
    check(f"Bearer {mine['Authorization'][7:]}" in head and fake.token not in head, "the caller's credential, not the follower's")
    status, head = sent({})
    check(status == "200" and fake.token in head, f"the owner comes with the follower's token: {status}")
    for fields in ({"X-Forwarded-For": "127.0.0.1"}, {"Forwarded": "for=127.0.0.1"}, {"Via": "1.1 x"}, {"Tailscale-User-Login": "x"}):
        status, head = sent(fields)
        check(status == "401" and not head, f"nobody with {fields}: {status} {head[:80]}")
    status, head = sent({"X-Forwarded-For": "1.2.3.4"}, "POST", "/v1/pairing", b'{"name":"x"}')
    check(fake.token not in head, f"an open route carries no credential of the follower: {head}")
    check("X-Forwarded-For: 127.0.0.1" in head or not head, f"and is marked as handed on: {head}")
    # Lengths that contradict each other, and bytes that cut lines.
    for name, raw in {
        "both lengths": "POST /v1/messages HTTP/1.1\r\nHost: {own}\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /v1/tokens HTTP/1.1\r\nHost: x\r\n\r\n",
        "two lengths": "POST /v1/messages HTTP/1.1\r\nHost: {own}\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nabcde",
        "a strange coding": "POST /v1/messages HTTP/1.1\r\nHost: {own}\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        "a bare CR": "GET /v1/status HTTP/1.1\r\nHost: {own}\r\nX-A: b\rX-Evil: 1\r\n\r\n",
        "a bare LF": "GET /v1/status HTTP/1.1\r\nHost: {own}\r\nX-A: b\n\nGET /v1/tokens HTTP/1.1\r\n\r\n",
        "a folded line": "GET /v1/status HTTP/1.1\r\nHost: {own}\r\nX-A: b\r\n c\r\n\r\n",
        "a zero byte": "GET /v1/status HTTP/1.1\r\nHost: {own}\r\nX-A: b\0c\r\n\r\n",
        "a space before the colon": "GET /v1/status HTTP/1.1\r\nHost: {own}\r\nX-Forwarded-For : 1\r\n\r\n",
        "a long field": "GET /v1/status HTTP/1.1\r\nHost: {own}\r\nX-A: " + "a" * 200_000 + "\r\n\r\n",
    }.items():
        fake.heads.clear()
        with tcp("127.0.0.1", host.port, timeout=20) as one:
            try:
                one.sendall(raw.format(own=own).encode("latin-1"))
                told = one.recv(65536)[9:12].decode()
            except OSError:
                told = "cut"
        check(len(fake.heads) <= 1 and not any("GET /v1/tokens" in head or "Evil" in head.split("\r\n")[0] for head in (one.decode("latin-1") for one in fake.heads)),
              f"{name} makes one request at most: {told} {fake.heads}")
    status, head = sent([*mine.items(), ("X-Latin", "caf\xe9"), ("X-Long", "y" * 6000)])
    check("X-Latin: caf\xe9\r\n" in head + "\r\n" or status == "400", f"a byte beyond ASCII arrives as it was: {re.search('(?i)x-latin.*', head)}")
    check("y" * 6000 in head or status != "200", "a long field arrives whole")
    with tcp("127.0.0.1", host.port, timeout=20) as one:
        link = H2(one)
        fake.heads.clear()
        number = link.request("GET", "/v1/status", own, [("x-bad", "a\r\nx-evil: 1"), *[(k.lower(), v) for k, v in mine.items()]])
        link.answer(number)
        check(not any(b"x-evil" in head for head in fake.heads), f"lines in a field of HTTP/2 do not come through: {fake.heads}")
    check(tokens["tokens"]["list"] and host.process.poll() is None, "it lives")
    host.stop()


# -- 4. the leader away

def restart(gateway):
    leader = Serve(*MANY, gateway=gateway.url).linked()
    host = follow(leader).following()
    start = cursor(leader)
    open_streams = [Wire(host, f"?since={start}"), Wire(host, f"?since={start}", accept="application/x-ndjson")]
    for reader in open_streams:
        reader.hello()
    say(host, "echo before")
    leader.kill()
    answers = []

    def ask(method, path, body=None, key=None):
        answers.append((method, *host.call(method, path, body, {"Content-Type": "text/plain", **({"Idempotency-Key": key} if key else {})}, timeout=60)))

    work = [threading.Thread(target=ask, args=args) for args in (
        ("GET", "/v1/status"), ("GET", "/v1/runs?limit=1"), ("POST", "/v1/messages?wait=0", b"echo while away", "while-away"), ("POST", "/v1/messages", b"echo while away too"))]
    for one in work:
        one.start()
    shown = host.call("GET", "/v1/events?poll=0&snapshot=1")
    check(shown[0] == 503 or b'"type":"summary"' in shown[2], f"the present state, which only the leader knows, is not answered as nothing: {shown[0]} {shown[2][:200]}")
    fresh = Wire(host, f"?since={start}")
    check(fresh.hello() is not None and fresh.hello()["resume"] == "recovered", f"a new stream goes on from memory: {fresh.status}")
    leader = leader.again()
    for one in work:
        one.join(60)
    told = [(method, status, body[:100]) for method, status, _, body in answers]
    late = [one for one in told if one[1] not in (200, 202)]
    # A machine with other work may take more than five seconds for a start.
    check(not late or all(status == 503 and b"NO_LEADER" in body for _, status, body in late), f"requests wait for the leader: {told}")
    if late:
        print(f"hosts: the leader took longer than 5 s to start, {len(late)} of 4 requests were refused")
    host.following()
    leader.linked()
    say(host, "echo behind")
    leader.at_rest()
    want = rested_log(leader, start)
    for reader in [*open_streams, fresh]:
        until(lambda: len(reader.durable()) >= len(want) or reader.ended, 20, what="the rest of a stream that stayed")
        check([json.loads(one) for one in reader.durable()] == want and not reader.ended, f"streams stay and go on without loss: {len(reader.durable())} of {len(want)}, {reader.ended}")
    silent(leader, host)
    changed(leader, host)
    return leader, host


def silent(leader, host):
    """A leader that is there and says nothing."""
    reader = Wire(host)
    reader.hello()
    place_before = cursor(host)
    os.kill(leader.process.pid, signal.SIGSTOP)
    began = time.monotonic()
    try:
        posted = []
        threading.Thread(target=lambda: posted.append((host.call("POST", "/v1/messages", {"text": "echo unheard"}, timeout=120), time.monotonic())), daemon=True).start()
        check(host.call("GET", "/readyz")[0] == 200, "at first it is ready")
        until(lambda: host.call("GET", "/readyz")[0] == 503, 30, 0.2, what="/readyz 503 of a follower whose leader is silent")
        took = time.monotonic() - began
        check(8 < took < 25, f"after about 10 s: {took:.1f} s")
        told = state(host)
        check(told["state"] == "isolated" and told.get("problem") and told["silentMs"] > 9000, f"and it says why: {told}")
        refused = Wire(host, f"?since={place_before}")
        check(refused.status == 503 and refused.refusal["code"] == "NO_LEADER", f"new streams are refused: {refused.status}")
        check(problem(host.call("GET", "/v1/events?poll=0")) == (503, "NO_LEADER"), "long polls too")
        check(reader.ended is None, "open streams stay")
        until(lambda: host.metric("ladle_follow_live") == 0, 10, what="ladle_follow_live 0")
        # Everything else: docs/cluster.md says NO_LEADER, behind five seconds at most.
        for method, path, body in (("POST", "/v1/messages", {"text": "echo isolated"}), ("GET", "/v1/status", None)):
            asked = time.monotonic()
            try:
                answer = problem(host.call(method, path, body, timeout=20))
            except OSError as error:
                answer = f"nothing within 20 s ({type(error).__name__})"
            check(answer in ((503, "NO_LEADER"), (502, "LEADER_LOST")), f"{method} {path} with a leader that has been silent for 10 s: {answer} after {time.monotonic() - asked:.0f} s")
        check(posted and problem(posted[0][0]) in ((503, "NO_LEADER"), (502, "LEADER_LOST")),
              f"a POST that was sent as it fell silent has an answer after {time.monotonic() - began:.0f} s: {posted and problem(posted[0][0])}")
        status = run_ladle("cluster", "status", "--state", host.state)
        check(status.returncode == 69 and "cut off" in status.stdout and "is not followed" in status.stderr and "at the leader: ladle status" in status.stderr, f"ladle cluster status: {status}")
        doctor = run_ladle("doctor", "--state", host.state)
        check(doctor.returncode != 0 and "is not followed" in doctor.stdout + doctor.stderr, f"ladle doctor: {doctor}")
    finally:
        os.kill(leader.process.pid, signal.SIGCONT)
    host.following()
    until(lambda: host.call("GET", "/readyz")[0] == 200, what="readiness")
    say(leader, "echo heard again")
    until(lambda: any(b"heard again" in one for one in reader.data), 20, what="what comes behind the silence")
    reader.close()
    gone = log(leader, place_before)
    check(sum("heard again" in json.dumps(event) for event in gone) > 0, "it goes on")


def changed(leader, host):
    """The same address, another log."""
    reader = Wire(host)
    reader.hello()
    old = cursor(host)
    leader.kill()
    secret = leader.token
    new = Serve(*MANY, gateway=leader.gateway, port=leader.port).linked()
    # Its tokens are new too: the follower's counts for nothing.
    until(lambda: "token" in (state(host).get("problem") or ""), 20, what="a problem that names the token")
    check(reader.ended is None, "open streams stay")
    (pathlib.Path(host.state) / "leader-token").write_text(new.token)
    host.kill()
    host = follow(new, state=host.state, port=host.port).following()
    page = Wire(host, f"?since={old}&timeout=1")
    check(page.hello() and page.hello()["resume"] == "reset", f"a place of the old log is told reset: {page.hello()}")
    page.join(20)
    check(page.of("reset"), "and a reset follows")
    secrets.append(secret)
    # With the token known there, open streams end with the reason.
    reader = Wire(host)
    reader.hello()
    swap = Relay(new.port)
    swap.token = new.token
    moving = follow(swap, name="moving").following()
    stays = Wire(moving)
    stays.hello()
    before = cursor(moving)
    other = Serve(*MANY, gateway=leader.gateway).linked()
    # The same token there, as where only the log is new.
    fake = FakeLeader(other.call("GET", "/v1/follow?host=y", headers=bearer(other.token))[2])
    newest = cursor(other)

    def feed(one, head):
        one.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n")
        hello = {"id": newest, "type": "hello", "at": "2026-01-01T00:00:00.000Z", "resume": "reset"}
        reset = {"type": "reset", "at": "2026-01-01T00:00:00.000Z", "requested": before, "newest": newest, "epoch": newest.partition(".")[0]}
        chunk(one, json.dumps(hello, separators=(",", ":")).encode() + b"\n" + json.dumps(reset, separators=(",", ":")).encode() + b"\n")
        while True:
            time.sleep(2)
            chunk(one, b'{"type":"heartbeat","at":"2026-01-01T00:00:00.000Z"}\n')

    fake.answers["feed"] = feed
    swap.to = fake.port
    new.kill()
    stays.join(30)
    end = stays.of("shutdown")
    check(end and end[-1]["reason"] == "log_changed", f"a stream of the old log ends with the reason: {end}")
    until(lambda: state(moving)["last"] == newest, 20, what="the new log's place")
    for one in (reader, stays):
        one.close()
    for one in (other, moving, host):
        one.stop()


def bad_leaders(beat):
    """Leaders that are none. The follower stays, says why, does not spin, and does not grow."""
    def endless(one, head):
        one.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
        while True:
            chunk(one, b" " * 65536)
            time.sleep(0.002)

    def trickle(one, head):
        one.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
        while True:
            chunk(one, b" ")
            time.sleep(0.5)

    def long_lines(one, head):
        one.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n")
        while True:
            chunk(one, b"x" * 65536)
            time.sleep(0.002)

    def rubbish_lines(one, head):
        one.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n")
        lines = [b"{", b"null", b"[]", b'{"type":1}', b'{"type":"hello"}', b'{"id":"x","type":"message"}', b'{"id":"aaaaaaaaaaaa.7","type":"message","session":"s"}',
                 b'{"type":"reset","newest":"zzz"}', b'{"type":"run.delta","runId":"r","session":"s","offset":-5,"text":"x"}',
                 b'{"type":"run.delta","runId":"r","session":"s","offset":99999999999999999999,"text":"x"}', b"\xff\xfe", b'{"type":"run.ended","runId":"r"}']
        for line in lines * 20:
            chunk(one, line + b"\n")
        while True:
            time.sleep(2)
            chunk(one, b'{"type":"heartbeat"}\n')

    def head_only(one, head):
        one.sendall(b"HTTP/1.1 200 OK\r\nX: " + b"y" * 3_000_000)

    whole = json.loads(beat)
    lacking = {**whole}
    del lacking["tokens"]
    no_list = {**whole, "tokens": {"revision": "1"}}
    strange = json.loads(beat)
    for one in strange["tokens"]["list"]:
        one["newLimit"] = ["x"]
    huge = {**whole, "host": "h" * (9 << 20)}

    # name: (answers, what /v1/cluster says of it, whether the beat is good)
    cases = {
        "401": ({"beat": lambda one, head: reply(one, b"{}", b"401 Unauthorized")}, "token"),
        "403": ({"beat": lambda one, head: reply(one, b"{}", b"403 Forbidden")}, "admin"),
        "404": ({"beat": lambda one, head: reply(one, b"{}", b"404 Not Found")}, "no Ladle"),
        "garbage": ({"beat": lambda one, head: one.sendall(b"\x00\xff garbage \r\n\r\n")}, "no HTTP"),
        "no JSON": ({"beat": lambda one, head: reply(one, b"<html>")}, "lacks"),
        "a beat without tokens": ({"beat": lambda one, head: reply(one, json.dumps(lacking).encode())}, "lacks"),
        "a beat with no list": ({"beat": lambda one, head: reply(one, json.dumps(no_list).encode())}, "no tokens"),
        "a huge beat": ({"beat": lambda one, head: reply(one, json.dumps(huge).encode())}, "too long"),
        "a beat without end": ({"beat": endless}, "too long"),
        "a beat that trickles": ({"beat": trickle}, None),
        "one that hangs up": ({"beat": lambda one, head: False}, "connection"),
        "a head without end": ({"beat": head_only}, "HTTP"),
        "a stream of one line": ({"feed": long_lines}, None),
        "a stream of rubbish": ({"feed": rubbish_lines}, "live"),
        "a stream that ends at once": ({"feed": lambda one, head: reply(one, b"", kind=b"application/x-ndjson")}, None),
        "a stream refused": ({"feed": lambda one, head: reply(one, b"{}", b"503 Service Unavailable")}, None),
        "tokens of a newer Ladle": ({"beat": lambda one, head: reply(one, json.dumps(strange).encode())}, "live"),
        "a stream of 100 MiB of events": ({"feed": many_events(whole["last"])}, "live"),
    }
    if not chosen.long:
        # Those that are told apart by more than a word.
        cases = {name: cases[name] for name in ("401", "403", "garbage", "a beat without end", "a beat that trickles", "a stream of one line", "a stream that ends at once")}

    def one(name, answers, said):
        fake = FakeLeader(beat, **answers)
        host = follow(fake, name=name.replace(" ", "-"))
        try:
            if said == "live":
                until(lambda: state(host)["state"] in ("live", "catching"), 20, what=f"{name}: live")
            elif "stream" in name:
                until(lambda: fake.counts["feed"] > 1, 20, what=f"{name}: the stream asked for again")
                told = state(host)
                until(lambda: state(host)["state"] != "live", 5, 0.02, what="a state that is not live")
                check(told.get("problem"), f"{name}: /v1/cluster says why no events come: {told}")
            else:
                try:
                    until(lambda: (told := state(host).get("problem")) and (said or "") in told, 25 if chosen.long else 15, 0.1, what="problem")
                except TimeoutError:
                    pass
                told = state(host)
                check(told.get("problem") and (said or "") in told["problem"], f"{name}: /v1/cluster says why: {told.get('problem')} in {told['state']}")
                check(told["state"] in ("starting", "isolated"), f"{name}: it does not pass for a leader: {told['state']}")
                check(host.call("GET", "/readyz")[0] == 503, f"{name}: it is not ready")
            sockets, ran, resident, asked = host.descriptors(), host.cpu(), host.resident(), dict(fake.counts)
            seconds = 20 if chosen.long else 6
            time.sleep(seconds)
            check(host.process.poll() is None, f"{name}: it lives")
            used = (host.cpu() - ran) / seconds
            rate = max(fake.counts[kind] - asked[kind] for kind in fake.counts) / seconds
            check(used < 0.25, f"{name}: it does not spin: {used:.0%} of a processor")
            check(rate < 6, f"{name}: it asks {rate:.1f} times a second")
            grown = host.resident() - resident
            check(grown < (48 << 20), f"{name}: it grows by {grown >> 20} MiB in {seconds} s")
            if name == "a beat without end":
                until(lambda: fake.counts["beat"] > 3, 30, what="the fourth beat")
                check(fake.busy["beat"] <= 2, f"{name}: answers that were given up go on: {fake.busy['beat']} of {fake.counts['beat']}")
            check(host.descriptors() - sockets <= 2, f"{name}: connections pile up: {sockets} and then {host.descriptors()}")
            check(host.call("GET", "/healthz")[0] == 200, f"{name}: it answers")
            check(not any(secret in host.output for secret in (fake.token, *secrets)), f"{name}: no secret in its log")
            lines = len(host.lines)
            check(lines < 400, f"{name}: {lines} lines in its log")
        finally:
            host.kill()

    with concurrent.futures.ThreadPoolExecutor(4 if chosen.long else 8) as pool:
        for number in [pool.submit(guarded, f"bad leader: {name}", one, name, *more) for name, more in cases.items()]:
            number.result()


def crowded():
    """Two that follow with one token, where the leader has room for one stream of it."""
    leader = Serve(*MANY, "--events-streams-per-caller", "1")
    first = follow(leader, name="first").following()
    second = follow(leader, name="second")
    until(lambda: second.metric("ladle_follow_breaks_total") >= 3, 30, what="streams that are refused")
    told = state(second)
    check(told.get("problem"), f"a follower whose stream the leader refuses says why nothing comes: {told}")
    status = run_ladle("cluster", "status", "--state", second.state)
    check(status.returncode != 0, f"and so does ladle cluster status: {status}")
    began, lines = time.monotonic(), len(second.lines)
    until(lambda: second.metric("ladle_follow_breaks_total") >= 16 or time.monotonic() - began > 5, 30, what="more of them")
    check(len(second.lines) - lines < 10, f"it does not write of each: {len(second.lines) - lines} lines in {time.monotonic() - began:.0f} s")
    check(state(first)["state"] == "live", "the first is not disturbed")
    for one in (first, second, leader):
        one.kill()


def many_events(last):
    epoch, _, number = last.partition(".")

    def feed(one, head):
        since = int(re.search(rb"since=[^.]+\.(\d+)", head)[1])
        one.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n")
        chunk(one, json.dumps({"id": f"{epoch}.{since}", "type": "hello"}).encode() + b"\n")
        for step in range(1, 3200):
            chunk(one, b'{"id":"%s.%d","type":"message","at":"2026-01-01T00:00:00.000Z","session":"agent:main:x","text":"%s"}\n' % (epoch.encode(), since + step, b"z" * 32_000))
            time.sleep(0.002)
        while True:
            time.sleep(2)
            chunk(one, b'{"type":"heartbeat"}\n')
    return feed


def others():
    """No Ladle at all, tokens that do not count, and TLS."""
    folder = scratch()
    leader = Serve(*MANY)
    limited = token(leader, "reader", "read")
    for name, given, said in (("a wrong token", "ldl_" + "9" * 49, "does not know the token"), ("a token without admin", limited["token"], "needs scope admin")):
        host = follow(Leader(leader.url, given), name="without-rights")
        until(lambda: said in (state(host).get("problem") or ""), 20, what=lambda: f"{name}: {state(host)}")
        if chosen.long:
            check(problem(host.call("GET", "/v1/status"))[0] in (401, 403, 503), f"{name}: nothing is answered: {problem(host.call('GET', '/v1/status'))}")
        check(given not in host.output, f"{name}: not in the log")
        host.kill()
    web = subprocess.Popen([sys.executable, "-m", "http.server", "--bind", "127.0.0.1", "0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=folder, env={**os.environ, "PYTHONUNBUFFERED": "1"})
    port = int(re.search(r"port (\d+)", web.stdout.readline())[1])
    threading.Thread(target=web.stdout.read, daemon=True).start()
    host = follow(Leader(f"http://127.0.0.1:{port}", "ldl_" + "9" * 49))
    until(lambda: "no Ladle" in (state(host).get("problem") or ""), 20, what=lambda: f"what a web server is: {state(host)}")
    host.kill()
    web.kill()
    # TLS: the right pin, a wrong one, none, and a handshake that does not end.
    files, trust = certificate(folder)
    secure = Serve(*files, trust=trust)
    pin = pin_of(f"{folder}/cert.pem")
    url = f"https://localhost:{secure.port}"
    host = follow(Leader(url, secure.token), "--follow-pin", pin).following()
    check(host.call("GET", "/v1/status")[0] == 200, "a leader behind TLS with its pin")
    status = run_ladle("cluster", "status", "--state", host.state)
    check(status.returncode == 0 and url in status.stdout, f"and the status: {status}")
    host.kill()
    for more in (["--follow-pin", "0" * 64], []) if chosen.long else (["--follow-pin", "0" * 64],):
        host = follow(Leader(url, secure.token), *more)
        until(lambda: state(host).get("problem"), 20, what="a problem of TLS")
        check("TLS" in state(host)["problem"] or "certificate" in state(host)["problem"], f"a certificate that is not trusted: {state(host)}")
        check(secure.json("GET", "/v1/cluster")[1]["streams"] == 0, "and nothing comes through")
        check(problem(host.call("GET", "/v1/status"))[0] == 503, "nor goes")
        host.kill()
    deaf = socket.create_server(("127.0.0.1", 0))
    host = follow(Leader(f"https://localhost:{deaf.getsockname()[1]}", "ldl_" + "9" * 49), "--follow-pin", pin)
    until(lambda: state(host).get("problem"), 20, what="a problem of a handshake that hangs")
    check(host.call("GET", "/healthz")[0] == 200 and host.descriptors() < 40, f"a handshake that hangs: {state(host)['problem']}")
    host.kill()
    secure.stop()
    leader.stop()


# -- 5. settings

def settings():
    folder = pathlib.Path(scratch())
    good = folder / "token"
    good.write_text("ldl_" + "1" * 49)
    good.chmod(0o600)
    wide = folder / "wide"
    wide.write_text("ldl_" + "1" * 49)
    wide.chmod(0o644)
    empty = folder / "empty"
    empty.write_text("\n")
    empty.chmod(0o600)
    here = ["--follow", "http://127.0.0.1:1"]
    file = ["--follow-token-file", str(good)]
    cases = {
        "gateway": ([*here, *file, "--gateway", "ws://127.0.0.1:1"], "gateway.url"), "demo": ([*here, *file, "--demo"], "demo"),
        "broker": ([*here, *file, "--mqtt-url", "mqtt://127.0.0.1:1"], "mqtt.url"),
        "tailnet": ([*here, *file, "--access-tailnet-allow", "a@example.com=read"], "access.tailnet"),
        "a public host": (["--follow", "http://ladle.example.com:18780", *file], "follow.url"),
        "another address": (["--follow", "http://192.0.2.1:18780", *file], "follow.url"),
        "no token": (here, "follow.tokenFile"), "a token others read": ([*here, "--follow-token-file", str(wide)], "follow.tokenFile"),
        "an empty token": ([*here, "--follow-token-file", str(empty)], "follow.tokenFile"),
        "a file that is not there": ([*here, "--follow-token-file", str(folder / "none")], "follow.tokenFile"),
        "no URL": (["--follow", "attic", *file], "follow.url"), "another scheme": (["--follow", "ws://127.0.0.1:1", *file], "follow.url"),
        "a pin without TLS": ([*here, *file, "--follow-pin", "0" * 64], "follow.pin"), "no pin": (["--follow", "https://127.0.0.1:1", *file, "--follow-pin", "xyz"], "follow.pin"),
        "a URL with a password": (["--follow", "http://a:hunter2@127.0.0.1:1", *file], "follow.url"),
    }

    def one(name):
        arguments, key = cases[name]
        try:
            done = run_ladle("serve", "--state", scratch(), "--listen", "127.0.0.1:0", *arguments, timeout=25)
        except subprocess.TimeoutExpired:
            return check(False, f"with {name} it starts")
        said = done.stdout + done.stderr
        check(done.returncode == 78 and key in said, f"with {name}: exit {done.returncode}, {said.strip()[-300:]}")
        check("ldl_1111" not in said and "hunter2" not in said, f"with {name} it says no secret: {said.strip()[-200:]}")

    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        list(pool.map(one, cases))


def itself():
    """One that follows itself, by its old tokens: it must not ask itself without end."""
    first = Serve(*MANY)
    secret, port = first.token, first.port
    first.stop()
    host = follow(Leader(f"http://127.0.0.1:{port}", secret), state=first.state, port=port)
    ran = host.cpu()
    peak, end = 0, time.monotonic() + 8
    while time.monotonic() < end:
        peak = max(peak, host.descriptors())
        time.sleep(0.1)
    used = (host.cpu() - ran) / 8
    check(peak < 60 and used < 0.3, f"one that follows itself has {peak} descriptors and {used:.0%} of a processor")
    told = state(host)
    check(told["state"] == "starting" and told.get("problem"), f"and says why it does not work: {told}")
    host.kill()


# -- 6. commands and numbers

def commands(gateway, leader, followers):
    status = run_ladle("cluster", "status", "--state", leader.state)
    check(status.returncode == 0 and "leads since" in status.stdout and re.search(r"first +\d+ events?", status.stdout), f"cluster status at the leader: {status}")
    status = run_ladle("cluster", "status", "--state", followers[0].state)
    check(status.returncode == 0 and leader.url in status.stdout and "live" in status.stdout, f"cluster status at a follower: {status}")
    doctor = run_ladle("doctor", "--json", "--state", followers[0].state)
    found = {one["check"]: one for one in json.loads(doctor.stdout)["checks"]}
    check(doctor.returncode == 0 and found["leader"]["ok"], f"doctor at a follower: {doctor.returncode} {found}")
    for name, least in (("ladle_follow_live", 1), ("ladle_follow_forwarded_total", 1), ("ladle_follow_breaks_total", 0)):
        page = followers[0].call("GET", "/metrics")[2].decode()
        values = re.findall(rf"^{name}(?:\{{.*\}})? (\S+)$", page, re.M)
        check(values and sum(map(float, values)) >= least, f"{name} at a follower: {values} {state(followers[0])}")
    check("ladle_follow_" not in leader.call("GET", "/metrics")[2].decode(), "none of them at the leader")
    told = {one["host"]: one for one in state(leader)["followers"]}
    check(told["first"]["silentMs"] < 10_000 and "second" in told, f"the leader knows them: {told}")
    until(lambda: {one["host"]: one for one in state(leader)["followers"]}["first"]["behind"] == 0, what="that none is behind at rest")


# -- all of it

def guarded(name, work, *arguments):
    """A part that breaks off is one failure; the others go on."""
    began = time.monotonic()
    try:
        return work(*arguments)
    except Exception as error:
        where = [line for line in traceback.extract_tb(error.__traceback__) if line.filename == __file__]
        check(False, f"{name} breaks off in line {where[-1].lineno}: {type(error).__name__}: {error}")
    finally:
        print(f"hosts: {name} took {time.monotonic() - began:.0f} s", flush=True)


parts = [part for part in os.environ.get("HOSTS_PARTS", "").split(",") if part]


def wanted(name):
    return not parts or name in parts


def cluster(followers, work):
    """A leader with a gateway, and followers, for some parts that may disturb each other's order."""
    gateway = FaultyGateway("--speed", "3")
    leader = Serve(*MANY, gateway=gateway.url).linked()
    hosts = together(*[lambda name=name: follow(leader, name=name).following() for name in ("first", "second")[:followers]])
    for name, part in work:
        if wanted(name):
            guarded(name, part, gateway, leader, hosts)
    for host in (leader, *hosts):
        check(not any(secret in host.output for secret in (*secrets, leader.token)), "no secret in a log")
    for host in (leader, *hosts):
        host.kill()


def a_beat():
    """The beat of a real leader, and a token that it knows."""
    real = Serve(*MANY)
    read = token(real, "read", "read")
    beat = real.call("GET", "/v1/follow?host=x", headers=bearer(real.token))[2]
    real.kill()
    return beat, {"read": bearer(read["token"])}


def fields_group():
    guarded("fields", large_and_slow, *a_beat())


def bad_group():
    guarded("bad leaders", bad_leaders, a_beat()[0])


def away_group():
    guarded("away", restart, FaultyGateway("--speed", "3"))


began = time.monotonic()
groups = [
    ({"streams", "commands"}, lambda: cluster(2, [("streams", streams), ("commands", commands)])),
    ({"rights", "forwarding"}, lambda: cluster(1, [("forwarding", forwarding), ("rights", rights)])),
    ({"endings"}, lambda: cluster(1, [("endings", endings)])),
    ({"fields"}, fields_group), ({"bad"}, bad_group), ({"away"}, away_group), ({"others"}, others), ({"itself"}, itself), ({"crowded"}, crowded), ({"settings"}, settings),
]
together(*[lambda names=names, group=group: guarded("/".join(sorted(names)), group) for names, group in groups if not parts or names & set(parts)])
print(f"hosts: {time.monotonic() - began:.0f} s")
tally.end()
