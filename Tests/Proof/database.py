"""The state on a PostgreSQL server: no accepted message is lost or doubled while the server crashes and while answers to commits
are lost; one Ladle at a time writes; a server that is away, refuses or is not safe is told in plain words; the move there and back."""

import collections
import concurrent.futures
import http.client
import json
import os
import pathlib
import random
import secrets
import socket
import subprocess
import threading
import time
import traceback

from follower import place
from harness import EventStream, FaultyGateway, NotStarted, Serve, Tally, free_port, json_lines, later, options, run_ladle, scratch, until
from postgres_server import Distance, PostgresServer, Relay, available
from traffic import Traffic, entries, new_gateway

OPTIONS = options(cuts=(60, 500), restarts=(3, 20), large=(0, 1000), far=(0, 1), seed=(0, 0), only=("", ""))
SEED = OPTIONS.seed or random.SystemRandom().randrange(1, 1 << 32)
AWAY = "ws://127.0.0.1:9"
FAR = 200
# To begin, to read what it repeats, to write it, to commit.
MOST_TURNS = 4
tally = Tally()
check = tally.check


def on(url, *words, **more):
    """A Ladle whose state is on this server."""
    return Serve("--database", url, *words, **{"gateway": AWAY, **more})


def refused(url, *words, **more):
    """The exit code and the words of a start that must not succeed."""
    try:
        on(url, *words, **more).kill()
    except NotStarted as refusal:
        return refusal.code, refusal.output
    return 0, "it started"


def send(ladle, text, **more):
    return ladle.json("POST", "/v1/messages", {"text": text, **more})


# Scenes, each with a server of its own.

def crashes():
    """The server crashes while messages come."""
    server = PostgresServer()
    gateway, record = new_gateway()
    ladle = on(server.url(), "--database-patience", "20s", gateway=gateway.url).linked()
    process = ladle.process.pid
    traffic = Traffic(ladle, record, server, tally)
    for _ in range(OPTIONS.restarts):
        traffic.more(20)
        server.restart("immediate")
    traffic.more(20)
    check(not traffic.repeats, f"crashes: no post fails: {traffic.repeats[:2]}")
    said = traffic.judge("crashes")
    check(ladle.process.poll() is None and ladle.process.pid == process, "crashes: Ladle did not end")
    ladle.kill()
    gateway.kill()
    server.remove()
    return said


def doubts():
    """The connection breaks around commits, before the server has them, or before Ladle has the answer."""
    server = PostgresServer()
    gateway, record = new_gateway()
    dice = random.Random(SEED)
    cuts, done = collections.Counter(), threading.Event()
    armed = threading.Event()

    def choose():
        if not armed.is_set() or done.is_set() or dice.random() < 0.4:
            return None
        cut = dice.choice(["before", "during", "after"])
        cuts[cut] += 1
        if cuts.total() == OPTIONS.cuts:
            done.set()
        return cut
    relay = Relay(server.port, choose)
    ladle = on(server.url(port=relay.port), gateway=gateway.url).linked()
    traffic = Traffic(ladle, record, server, tally)
    armed.set()
    check(done.wait(30 + OPTIONS.cuts * 2), f"doubts: {cuts.total()} cuts of {OPTIONS.cuts} are made")
    done.set()
    traffic.more(10)
    said = traffic.judge("doubts")
    check(ladle.process.poll() is None, f"doubts: Ladle did not end: {ladle.output[-1500:]}")
    check(min(cuts[cut] for cut in ("before", "during", "after")) > 0, f"doubts: every kind of cut was made: {dict(cuts)}")
    keys = collections.Counter(row[0] for row in server.psql("SELECT key FROM receipt"))
    check(set(keys) == set(traffic.accepted) | {text for text, *_ in traffic.repeats if text in keys} and keys.total() == len(keys),
          "doubts: every key has one receipt")
    ladle.kill()
    gateway.kill()
    server.remove()
    return f"{dict(cuts)}; {said}"


def two():
    """Two Ladles, one database."""
    server = PostgresServer()
    first = on(server.url(), "--cluster-name", "kitchen")
    check(send(first, "before", notBefore=later())[0] == 202, "two: the first takes messages")
    head = server.psql("SELECT term, leader, host FROM head")
    answers, ended = [], threading.Event()

    def keep_posting():
        while not ended.is_set():
            answers.append(send(first, f"meanwhile {len(answers)}", notBefore=later())[0])
            # The outbox has room for a thousand, and a fast machine would fill it.
            ended.wait(0.01)
    poster = threading.Thread(target=keep_posting)
    poster.start()
    code, said = refused(server.url(), "--cluster-name", "attic")
    check(code == 78 and "kitchen" in said and "ladle cluster key" in said, f"two: a second without a key is told who has it, and the cure: {code} {said}")
    key = pathlib.Path(scratch(), "key")
    done = run_ladle("cluster", "key", str(key))
    check(done.returncode == 0 and key.stat().st_mode & 0o777 == 0o600, f"two: a key is made: {done.stdout} {done.stderr}")
    words = "--cluster-key-file", str(key)
    second = on(server.url(), "--cluster-name", "attic", *words, port=free_port())
    until(lambda: "start kitchen again with --cluster-key-file" in second.output, what=lambda: f"the word that the first has no key: {second.output}")
    check(second.process.wait(20) == 78, "two: a second with a key is refused too, as long as the first has none")
    check(not is_listening(second.port), "two: nobody can connect to it")
    ended.set()
    poster.join()
    check(len(answers) > 3 and set(answers) == {202}, f"two: nothing changes for the first: {collections.Counter(answers)}")
    check(server.psql("SELECT term, leader, host FROM head") == head, "two: the first still leads")
    count = len(entries(first))
    check(count == len(answers) + 1, f"two: all of its messages are there: {count}")
    check(first.stop() == 0, "two: the first stops")
    first = on(server.url(), "--cluster-name", "kitchen", *words, state=first.state)
    second = second.again()
    check("kitchen leads" in second.output and "listening" not in second.output, f"two: now the second waits, and says for whom: {second.output}")
    check(not is_listening(second.port), "two: nobody can connect to it while it waits")
    check(first.stop() == 0, "two: the first stops for good")
    began = time.monotonic()
    until(lambda: is_listening(second.port), what=lambda: f"the second in its place: {second.output}")
    took = time.monotonic() - began
    check(len(entries(second)) == count and send(second, "after", notBefore=later())[0] == 202, "two: the second goes on with what was there")
    check(server.one("SELECT host FROM head") == "attic", "two: the second leads")
    second.kill()
    server.remove()
    return f"taken over in {took:.2f} s"


def is_listening(port):
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def absent():
    """The server is away for longer than requests wait."""
    server = PostgresServer()
    gateway, record = new_gateway()
    ladle = on(server.url(), "--database-patience", "500ms", gateway=gateway.url).linked()
    process = ladle.process.pid
    gateway.kill()
    ladle.unlinked()
    check(send(ladle, "accepted before")[0] == 202, "absent: a message is accepted")
    server.stop("immediate")
    status, fields, body = ladle.call("POST", "/v1/messages", {"text": "refused"}, {"Idempotency-Key": "refused"})
    answer = json.loads(body)
    check((status, answer["code"]) == (503, "STORE_UNAVAILABLE") and "retry-after" in fields, f"absent: a send is refused: {status} {answer}")
    check("the database is away" in answer["detail"], f"absent: the answer says why: {answer}")
    check("\t" not in answer["detail"] and ".." not in answer["detail"], f"absent: in one whole sentence: {answer['detail']!r}")
    told = ladle.status()["outbox"].get("closed", "")
    text = ladle.call("GET", "/v1/status", headers={"Accept": "text/plain"})[2].decode()
    check("the database is away" in told and "the database is away" in text, f"absent: the status says so: {told} {text}")
    check(ladle.call("GET", "/readyz")[0] == 503 and ladle.call("GET", "/healthz")[0] == 200, "absent: not ready, and alive")
    check(ladle.metric("ladle_store_writable") == 0, "absent: the metrics say so")
    began = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        statuses = list(pool.map(lambda _: ladle.call("GET", "/v1/outbox")[0], range(12)))
    took = time.monotonic() - began
    check(set(statuses) == {503} and took < 3, f"absent: reads wait side by side, each for half a second: {took:.1f} s for {statuses}")
    server.start()
    # Nobody writes: Ladle looks for itself.
    until(lambda: "closed" not in ladle.status()["outbox"] and ladle.call("GET", "/readyz")[0] == 200, 30, what="the end of the refusals")
    check(send(ladle, "accepted after")[0] == 202, "absent: sends are taken again")
    gateway = gateway.again()
    ladle.at_rest()
    ran = collections.Counter(row["text"] for row in json_lines(record))
    check(ran == {"accepted before": 1, "accepted after": 1}, f"absent: what was accepted ran, each once: {ran}")
    check(ladle.process.poll() is None and ladle.process.pid == process, "absent: all without a restart of Ladle")
    check("the database is away" in ladle.output and "store.recovered" in ladle.output, f"absent: the log says so: {ladle.output}")
    ladle.kill()
    gateway.kill()
    server.remove()


def hangs():
    """All processes of the server stand still, while a message comes and before one."""
    server = PostgresServer()
    gateway, record = new_gateway()
    ladle = on(server.url(), "--database-patience", "500ms", gateway=gateway.url).linked()
    check(send(ladle, "before")[0] == 202, "hangs: a message is accepted")
    ladle.at_rest()
    began = time.monotonic()
    server.freeze()
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        first = pool.submit(send, ladle, "first")
        until(lambda: "closed" in ladle.status()["outbox"], 20, what="the notice that the server hangs")
        took = time.monotonic() - began
        check(ladle.call("GET", "/readyz")[0] == 503 and ladle.call("GET", "/healthz")[0] == 200, "hangs: not ready, and alive")
        server.freeze("CONT")
        answers = {"first": first.result(30)[0]}
    check(took > 9, f"hangs: that is noticed after 10 s: {took:.1f} s")
    until(lambda: "closed" not in ladle.status()["outbox"] and ladle.call("GET", "/readyz")[0] == 200, 30, what="the end of the refusals")
    answers["after"] = send(ladle, "after")[0]
    ladle.at_rest()
    kept = {"before"} | {text for text, status in answers.items() if status == 202}
    check(answers["after"] == 202 and answers["first"] in (202, 503), f"hangs: sends are taken again: {answers}")
    texts = collections.Counter(entry["text"] for entry in entries(ladle))
    ran = collections.Counter(row["text"] for row in json_lines(record))
    check(texts == ran == collections.Counter(kept), f"hangs: what was accepted is there and ran, each once: {answers} {texts} {ran}")
    ladle.kill()
    gateway.kill()
    server.remove()
    return f"noticed after {took:.1f} s, the message meanwhile: {answers['first']}"


def deposed():
    """Another process has taken the lead: this one writes nothing more, and ends."""
    server = PostgresServer()
    ladle = on(server.url())
    check(send(ladle, "before", notBefore=later())[0] == 202, "deposed: a message is accepted")
    server.psql("UPDATE head SET leader = 1")
    before = server.psql("SELECT count(*) FROM event")
    try:
        status = send(ladle, "after", notBefore=later())[0]
    except (OSError, http.client.HTTPException):
        status = None
    check(status != 202, f"deposed: the next message is not accepted: {status}")
    check(ladle.process.wait(20) == 75, f"deposed: the process ends with 75: {ladle.process.returncode}")
    until(lambda: "another Ladle has taken over the database" in ladle.output, what=lambda: f"deposed: the reason in the log: {ladle.output}")
    check(server.psql("SELECT count(*) FROM event") == before, "deposed: nothing of it is written")
    again = ladle.again()
    check(len(entries(again)) == 1 and send(again, "again", notBefore=later())[0] == 202, "deposed: the next start goes on")
    again.kill()
    server.remove()


def log_of(ladle, since, last=None):
    """The events behind an id, as NDJSON tells them, up to the last one there is."""
    last = last or ladle.status()["events"]["last"]
    stream, found = EventStream(ladle, f"?since={since}", accept="application/x-ndjson"), []
    for identity, _, data in stream:
        if identity and data["type"] != "hello":
            found.append(data)
            if identity == last:
                break
    stream.close()
    return found


def is_open(ladle, token):
    return ladle.call("GET", "/v1/status", headers={"Authorization": f"Bearer {token}"})[0] == 200


def migrate(*words):
    done = run_ladle("migrate", *map(str, words))
    return done.returncode, done.stdout + done.stderr


def moves():
    """From a file to the server and back."""
    server = PostgresServer()
    gateway, record = new_gateway()
    ladle = Serve(gateway=gateway.url).linked()
    state, url = pathlib.Path(ladle.state), server.url()
    for number in range(4):
        send(ladle, f"ran {number}", session=f"s{number % 2}")
    ladle.at_rest()
    token = ladle.make_token("phone", "read")["token"]
    gateway.kill()
    ladle.unlinked()
    check(send(ladle, "waits")[0] == 202, "moves: a message waits")
    runs = ladle.json("GET", "/v1/runs")[1]["runs"]
    epoch = ladle.status()["events"]["epoch"]
    before = log_of(ladle, f"{epoch}.0")
    check(len(before) > 20 and len(runs) == 4, f"moves: {len(before)} events, {len(runs)} runs")
    code, said = migrate(state, url)
    check(code == 75 and "stop ladle serve" in said, f"moves: not while it is served: {code} {said}")
    code, said = refused(url, state=str(state))
    check(code == 75, f"moves: nor is the folder served twice: {code} {said}")
    ladle.stop()
    code, said = refused(url, state=str(state))
    check(code == 78 and f"ladle migrate {state} {url}" in said, f"moves: both at once are refused, with the cure: {code} {said}")
    gateway = gateway.again()

    code, said = migrate(state, url)
    check(code == 0 and "are equal" in said and f"ladle serve --database {url}" in said, f"moves: there: {code} {said}")
    check(not (state / "ladle.db").exists(), "moves: no file is left that could be served")

    # A start that has forgotten the server.
    done = run_ladle("serve", "--state", str(state), "--gateway", gateway.url, "--token-file", f"{state}/gateway-token")
    said = done.stdout + done.stderr
    check(done.returncode == 78 and "moved to a server" in said, f"moves: a start without --database is refused: {done.returncode} {said}")
    check(not (state / "ladle.db").exists(), "moves: and makes no new file")

    ladle = Serve("--database", url, state=str(state), gateway=gateway.url).linked()
    ladle.at_rest()
    until(lambda: [entry["state"] for entry in entries(ladle) if entry["text"] == "waits"] == ["delivered"], what="the waiting message")
    check(collections.Counter(row["text"] for row in json_lines(record))["waits"] == 1, "moves: what waited is sent once")
    check(log_of(ladle, f"{epoch}.0")[:len(before)] == before, "moves: there the events are the same, under the same ids")
    resumed = [event["id"] for event in log_of(ladle, before[4]["id"])][:len(before) - 5]
    check(resumed == [event["id"] for event in before[5:]], "moves: a client resumes across the move")
    check(is_open(ladle, token) and not is_open(ladle, token[:-1]), "moves: there the token works")
    same = {run["id"]: run for run in ladle.json("GET", "/v1/runs")[1]["runs"]}
    check(all(same.get(run["id"]) == run for run in runs), "moves: there the runs are the same")
    check(send(ladle, "on the server")[0] == 202, "moves: there messages are taken")
    ladle.at_rest()
    middle = log_of(ladle, f"{epoch}.0")
    code, said = migrate("--database-patience", "300ms", url, scratch())
    check(code == 75, f"moves: not back while it is served: {code} {said}")
    ladle.stop()
    other = Serve(gateway=AWAY)
    other.stop()
    code, said = migrate(other.state, url)
    check(code != 0 and "already" in said, f"moves: no second state onto the first: {code} {said}")

    code, said = migrate(url, state)
    check(code == 0 and "are equal" in said, f"moves: back: {code} {said}")
    code, said = refused(url, state=scratch())
    check(code == 78, f"moves: a start on the server is refused then: {code} {said}")
    check("newer version" not in said, f"moves: and the reason is the true one: {said}")
    ladle = Serve(state=str(state), gateway=gateway.url).linked()
    check(log_of(ladle, f"{epoch}.0")[:len(middle)] == middle, "moves: back the events are the same, under the same ids")
    check(is_open(ladle, token) and not is_open(ladle, token[:-1]), "moves: back the token works")
    check(send(ladle, "in the file")[0] == 202, "moves: back messages are taken")
    ladle.at_rest()
    ran = collections.Counter(row["text"] for row in json_lines(record))
    check(set(ran.values()) == {1} and len(ran) == 7, f"moves: over all this each message ran once: {ran}")
    ladle.kill()
    gateway.kill()
    server.remove()
    return f"{len(middle)} events"


def fill(ladle, count, word):
    """Posts so many messages, one after another: how long each took, in seconds."""
    connection = http.client.HTTPConnection("127.0.0.1", ladle.port, timeout=30)
    took = []
    for number in range(count):
        began = time.monotonic()
        body = json.dumps({"text": f"{word} {number}", "session": f"s{number % 50}"})
        connection.request("POST", "/v1/messages", body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        said = answer.read()
        if answer.status != 202:
            raise RuntimeError(f"message {number}: {answer.status} {said}")
        took.append(time.monotonic() - began)
    connection.close()
    return took


def large():
    """A state of some size moves there and back, each row compared."""
    server = PostgresServer()
    gateway, record = new_gateway()
    ladle = Serve(gateway=gateway.url).linked()
    state, url = ladle.state, server.url()
    fill(ladle, OPTIONS.large, "ran")
    ladle.at_rest(900)
    gateway.kill()
    ladle.unlinked()
    fill(ladle, OPTIONS.large, "waits")
    last, counts = ladle.status()["events"]["last"], ladle.status()["outbox"]
    ladle.stop()
    seconds = []
    for ends in ((state, url), (url, state)):
        began = time.monotonic()
        code, said = migrate(*ends)
        seconds.append(time.monotonic() - began)
        check(code == 0 and "are equal" in said, f"large: {code} {said}")
    ladle = Serve(state=state, gateway=AWAY)
    until(lambda: ladle.status()["outbox"]["pending"] == counts["pending"], 30, what=f"what waits to be loaded: {counts}")
    status = ladle.status()
    check(place(status["events"]["last"]) >= place(last), f"large: the events are there: {status['events']}, before {last}")
    check(status["outbox"]["pending"] == counts["pending"] == OPTIONS.large, f"large: what waits is there: {status['outbox']}, before {counts}")
    ladle.kill()
    server.remove()
    return f"{place(last)} events, {2 * OPTIONS.large} messages: there in {seconds[0]:.1f} s, back in {seconds[1]:.1f} s"


def far():
    """A server half a millisecond away: what a message costs is turns, and so many a message takes and no more."""
    server = PostgresServer()
    times, turns = {}, {}
    for name, port, relay in ((name, relay.port if relay else server.port, relay) for name, relay in
                              (("beside it", None), ("far", Distance(server.port, 0.0005)))):
        ladle = on(server.url(port=port))
        fill(ladle, 20, "first")
        before = relay.turns if relay else 0
        took = fill(ladle, FAR, f"one after another, {name}")
        if relay:
            turns["one"] = (relay.turns - before) / FAR
            before, seconds = relay.turns, time.monotonic()
            with concurrent.futures.ThreadPoolExecutor(64) as posters:
                list(posters.map(lambda number: fill(ladle, 8, f"together {number}"), range(64)))
            times["512"] = time.monotonic() - seconds
            turns["512"] = (relay.turns - before) / 512
        times[name] = sorted(took)[FAR // 2] * 1000
        ladle.stop()
    # Ladle has a few of its own meanwhile.
    check(turns["one"] < MOST_TURNS + 0.2, f"far: a message takes {turns['one']:.2f} turns, not more than {MOST_TURNS}")
    check(turns["512"] < MOST_TURNS - 1, f"far: those of one commit share its beginning and its end: {turns['512']:.2f} turns each")
    server.remove()
    return (f"a message in {turns['one']:.2f} turns and {times['far']:.1f} ms ({times['beside it']:.1f} beside the server); "
            f"512 of 64 senders in {times['512'] * 1000:.0f} ms, {turns['512']:.2f} turns each")


def passwords():
    """The password comes from a file, and is found nowhere else."""
    server = PostgresServer(hba="local all ladle trust\nhost all ladle 127.0.0.1/32 trust\nhost all guest 127.0.0.1/32 scram-sha-256\n")
    password, wrong = secrets.token_hex(12), secrets.token_hex(12)
    server.psql(f"CREATE ROLE guest LOGIN PASSWORD '{password}'")
    server.psql("CREATE DATABASE vault OWNER guest")
    url = server.url("vault", "guest")
    files = pathlib.Path(scratch())
    for name, text in (("right", password), ("wrong", wrong)):
        (files / name).write_text(text + "\n")
        (files / name).chmod(0o600)
    words = ("--log-level", "debug", "--database-password-file", str(files / "right"))
    ladle = on(url, *words)
    check(send(ladle, "hello", notBefore=later())[0] == 202, "passwords: the one in the file opens the database")
    server.restart("immediate")
    check(send(ladle, "hello again", notBefore=later())[0] == 202, "passwords: also after the server's crash")
    shown = [pathlib.Path(f"/proc/{ladle.process.pid}/cmdline").read_bytes().decode(), ladle.call("GET", "/v1/status")[2].decode(),
             ladle.call("GET", "/metrics")[2].decode(), ladle.output]
    for command in (["config", "show"], ["config", "show", "--json"], ["doctor"]):
        done = run_ladle(*command, "--state", ladle.state, "--database", url, "--database-password-file", str(files / "right"))
        check(url in done.stdout or command == ["doctor"], f"passwords: {command} names the server: {done.stdout[:300]} {done.stderr}")
        shown.append(done.stdout + done.stderr)
    check(not [text for text in shown if password in text], "passwords: it is in no log line, no answer, no argument, no setting shown")
    ladle.stop()
    kept = [file for file in pathlib.Path(ladle.state).rglob("*") if file.is_file() and password.encode() in file.read_bytes()]
    check(not kept, f"passwords: nor in a file of the state: {kept}")
    check(password not in ladle.output, "passwords: nor said at the end")
    code, said = refused(url, "--database-patience", "300ms", "--database-password-file", str(files / "wrong"))
    check(code == 75 and "password" in said and wrong not in said, f"passwords: a wrong one: {code} {said}")
    code, said = refused(url, "--database-patience", "300ms")
    check(code == 75 and "password" in said, f"passwords: none: {code} {said}")
    for secret in (url.replace("guest@", f"guest:{password}@"), f"{url}?password={password}"):
        code, said = refused(secret)
        check(code == 78 and "database.passwordFile" in said, f"passwords: in a URL it is refused, with the cure: {code} {said}")
        check(password not in said, "passwords: and not repeated")
        for command in (["config", "show"], ["doctor", "--state", scratch()], ["migrate", ladle.state]):
            words = [secret] if command[0] == "migrate" else ["--database", secret]
            done = run_ladle(*command, *words)
            check(password not in done.stdout + done.stderr, f"passwords: nor by {command[0]}")
    server.remove()


def encrypted():
    """TLS, with the server's name checked."""
    server = PostgresServer(tls="localhost", hba="local all ladle trust\nhostssl all all 127.0.0.1/32 trust\n")
    other = server.make_certificate("other", "localhost")
    url = server.url(host="localhost") + "?sslmode=verify-full&sslrootcert="
    ladle = on(url + str(server.certificate))
    check(send(ladle, "hello", notBefore=later())[0] == 202, "encrypted: the server's certificate is trusted by its file")
    sessions = server.psql("SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING(pid) WHERE application_name LIKE 'ladle/%'")
    check(sessions and all(row == ["t"] for row in sessions), f"encrypted: each session is: {sessions}")
    ladle.kill()
    code, said = refused(url + str(other), "--database-patience", "300ms")
    check(code == 75 and "certificate" in said, f"encrypted: another certificate is not: {code} {said}")
    code, said = refused(server.url() + f"?sslmode=verify-full&sslrootcert={server.certificate}", "--database-patience", "300ms")
    check(code == 75 and "127.0.0.1" in said, f"encrypted: nor another name: {code} {said}")
    for host in ("db.example", "192.0.2.1", "localhost,db.example", "[2001:db8::1]"):
        for mode in ("require", "prefer", "disable", "verify-ca"):
            code, said = refused(f"postgresql://ladle@{host}/ladle?sslmode={mode}")
            check(code == 78 and "sslmode=verify-full" in said, f"encrypted: {host} with {mode} is refused, with the cure: {code} {said}")
    code, said = refused("postgresql://ladle@/ladle?host=db.example&sslmode=require")
    check(code == 78 and "sslmode=verify-full" in said, f"encrypted: wherever the host stands: {code} {said}")
    server.remove()


def unsafe():
    """A server that could lose what it confirms."""
    server = PostgresServer("fsync = off")
    code, said = refused(server.url())
    check(code == 78 and "fsync" in said, f"unsafe: without fsync: {code} {said}")
    server.psql("ALTER SYSTEM SET full_page_writes = off")
    (server.data / "postgresql.conf").open("a").write("fsync = on\n")
    server.restart("fast")
    code, said = refused(server.url())
    check(code == 78 and "full_page_writes" in said, f"unsafe: without full_page_writes: {code} {said}")
    check(server.one("SELECT to_regnamespace('ladle') IS NULL") == "t", "unsafe: nothing was made there")
    server.psql("ALTER SYSTEM SET full_page_writes = on")
    server.psql("ALTER SYSTEM SET synchronous_commit = off")
    server.restart("fast")
    ladle = on(server.socket_url())
    check(send(ladle, "hello", notBefore=later())[0] == 202, "unsafe: with both it starts, also through a Unix socket")
    check("libpq" in maps(ladle), "with a server the process has libpq")
    ladle.kill()
    ladle = Serve(gateway=AWAY)
    check("libpq" not in maps(ladle), "without one it does not have it")
    ladle.kill()
    server.remove()


def maps(ladle):
    return pathlib.Path(f"/proc/{ladle.process.pid}/maps").read_text()


def scene(act):
    began = time.monotonic()
    try:
        said = act()
    except Exception as error:  # a scene that ends early has failed, the others go on
        lines = [str(frame.lineno) for frame in traceback.extract_tb(error.__traceback__) if frame.filename == os.path.abspath(__file__)]
        return check(False, f"{act.__name__}, line {' '.join(lines)}: {type(error).__name__}: {error}")
    print(f"database: {act.__name__} in {time.monotonic() - began:.1f} s{f', {said}' if said else ''}", flush=True)


if not available():
    print("left out: no PostgreSQL server is installed")
    check(True, "")
    tally.end()
print(f"database: seed {SEED}", flush=True)
SCENES = [doubts, moves, crashes, absent, hangs, two, passwords, encrypted, deposed, unsafe] + [large] * bool(OPTIONS.large) + [far] * bool(OPTIONS.far)
# They mostly wait.
with concurrent.futures.ThreadPoolExecutor(3) as pool:
    list(pool.map(scene, [act for act in SCENES if OPTIONS.only in ("", act.__name__)]))
tally.end()
