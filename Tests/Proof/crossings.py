"""Sentences of the contract that only show where two things meet: conditions and forms, parameters misspelled or doubled, one
cursor named twice, sends that wait for each other, a repeated request that waits, a ticket at another door."""

import json
import socket
import uuid

from harness import EventStream, Serve, Tally, later, options, until

options()
tally = Tally()
check = tally.check
server = Serve("--demo-speed", "1").linked()


def problem(method, path, body=None, headers=None):
    status, fields, data = server.call(method, path, body, headers)
    found = json.loads(data or b"{}")
    return status, found.get("code"), found.get("field"), fields


def send(text, **headers):
    return server.call("POST", "/v1/messages", text, {k.replace("_", "-"): v for k, v in headers.items()})


def conditions():
    """Every resource that is read has an ETag in each of its forms, and 304 says what 200 would have said of its keeping."""
    for path in ("/v1/status", "/v1/activity", "/v1/messages", "/v1/identity", "/v1/runs", "/v1/sessions", "/v1/outbox"):
        forms = ["application/json"]
        if path in ("/v1/status", "/v1/activity", "/v1/messages"):
            forms.append("text/plain")
        if path == "/v1/identity":
            forms.append("text/markdown")
        for form in forms:
            asked = {"Accept": form}
            for _ in range(5):  # "up 3 s" may turn between two requests
                _, fields, _ = server.call("GET", path, headers=asked)
                tag = fields.get("etag")
                status, short, data = server.call("GET", path, headers={**asked, "If-None-Match": tag or ""})
                if status == 304:
                    break
            check(tag and status == 304 and not data, f"{path} as {form}: {tag}, then {status}")
            check(short.get("etag") == tag, f"{path} as {form}: the 304 repeats the tag")
            for name in ("vary", "cache-control"):
                check(short.get(name) == fields.get(name), f"{path} as {form}: {name} of 304 {short.get(name)} of 200 {fields.get(name)}")
            if len(forms) > 1:
                check("Accept" in (fields.get("vary") or ""), f"{path}: Vary names Accept")
            head, same, data = server.call("HEAD", path, headers=asked)
            check(head == 200 and not data and set(same) | {"date"} == set(fields) | {"date"}, f"HEAD {path}: the fields of GET")


def names():
    """A slip of the pen is told; what others add is passed over."""
    for method, path, wrong, meant in (
        ("GET", "/v1/events?type=run.*", "type", "types"),
        ("GET", "/v1/runs?sesion=main", "sesion", "session"),
        ("GET", "/v1/messages?Limit=2", "Limit", "limit"),
        ("GET", "/v1/outbox?states=failed", "states", "state"),
        ("POST", "/v1/messages?wiat=3", "wiat", "wait"),
    ):
        status, fields, data = server.call(method, path, "x" if method == "POST" else None)
        told = json.loads(data)
        check(status == 400 and told["code"] == "BAD_PARAMETER" and told["field"] == wrong and f"`{meant}`" in told["detail"], f"{path}: {status} {told}")
    for path in ("/v1/runs?_=1795265470", "/v1/status?t=1", "/v1/sessions?nocache=true", "/v1/events?poll=0&lastEventId=1"):
        status, _, _ = server.call("GET", path)
        check(status == 200, f"{path}: {status}")
    check(problem("POST", "/v1/messages?thinking=High", "x")[:3] == (400, "BAD_PARAMETER", "thinking"), "thinking in the query is 400")
    check(problem("POST", "/v1/messages", {"text": "x", "thinking": "High"})[:3] == (422, "INVALID_FIELD", "thinking"), "and in the body 422")


def forms():
    """JSON is the form of the long poll alone, and whoever takes nothing else hears so."""
    stream = "/v1/events?timeout=1"
    check(problem("GET", stream, headers={"Accept": "application/json"})[:2] == (406, "NOT_ACCEPTABLE"), "a stream is not JSON")
    for accept, form in (
        ("application/json, text/plain, */*", "text/event-stream"),
        ("application/json, text/plain;q=0.5", "text/plain; charset=utf-8"),
        ("application/json, application/x-ndjson", "application/x-ndjson"),
    ):
        status, fields, _ = server.call("GET", stream, headers={"Accept": accept})
        check(status == 200 and fields["content-type"] == form, f"Accept: {accept}: {status} {fields['content-type']}")
    status, fields, _ = server.call("GET", "/v1/events?poll=0", headers={"Accept": "application/json"})
    check(status == 200 and fields["content-type"] == "application/json", "the long poll is JSON")
    with socket.create_connection(("127.0.0.1", server.port), 10) as connection:
        connection.sendall(f"OPTIONS * HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nConnection: close\r\n\r\n".encode())
        answer = connection.makefile("rb").read().decode()
    check(answer.startswith("HTTP/1.1 204 ") and "Allow: " in answer, f"OPTIONS * {answer[:60]!r}")


def cursors():
    """The header wins over the query; an empty header is none."""
    send("for the log?wait")
    last = until(lambda: server.status()["events"]["last"], what="an event")
    epoch, number = last.split(".")
    older, newer = f"{epoch}.{int(number) - 2}", f"{epoch}.{int(number) - 1}"
    for header, expected in ((newer, newer), ("", older)):
        _, _, data = server.call("GET", f"/v1/events?limit=1&since={older}", headers={"Last-Event-ID": header, "Accept": "application/x-ndjson"})
        hello = json.loads(data.splitlines()[0])
        check((hello["id"], hello["resume"]) == (expected, "recovered"), f"Last-Event-ID {header!r}: {hello['id']} {hello['resume']}")


def entries():
    """A change that was meant for another version is refused, at every verb of an entry."""
    status, fields, data = server.call("POST", "/v1/messages", {"text": "later", "notBefore": later()})
    path = fields["location"]
    status, fields, _ = server.call("GET", path)
    tag = fields["etag"]
    for method, place in (("DELETE", path), ("POST", path + "/retry")):
        status, code, _, fields = problem(method, place, headers={"If-Match": '"77"'})
        check((status, code, fields.get("etag")) == (412, "ENTRY_CHANGED", tag), f"{method} of another version: {status} {code}")
    check(server.call("GET", path)[1]["etag"] == tag, "and nothing has changed")
    status, fields, data = server.call("DELETE", path, headers={"If-Match": tag})
    check(status == 200 and json.loads(data)["state"] == "cancelled" and fields["etag"] != tag, f"DELETE of this one: {status}")


def queued():
    """Sends to a busy session: each run begins after the one before has ended, and each step is its own run's."""
    stream = EventStream(server, "?types=run.*&session=agent:main:crowd&timeout=60")
    heard = []
    texts = [f"number {n} of the crowd" for n in range(4)]
    ids = [json.loads(server.call("POST", "/v1/messages?session=agent:main:crowd", text)[2])["id"] for text in texts]
    seen = [active() for _ in range(3)]
    check(any(status == activity for status, activity in seen), f"runs of the status and of the activity: {seen}")
    for _, kind, data in stream:
        if kind in ("run.started", "run.step", "run.ended"):
            heard.append((kind, data["runId"], data))
        if sum(kind == "run.ended" for kind, _, _ in heard) == len(ids):
            break
    stream.close()
    spans = {run: [place for place, (_, found, _) in enumerate(heard) if found == run] for run in ids}
    for run in ids:
        kinds = [heard[place][0] for place in spans[run]]
        check(kinds[:1] == ["run.started"] and kinds[-1:] == ["run.ended"] and kinds.count("run.started") == 1, f"{run}: {kinds}")
        check(spans[run] == list(range(spans[run][0], spans[run][-1] + 1)), f"{run}: events of other runs between its own")
        told = server.json("GET", f"/v1/runs/{run}")[1]
        check(all(told["startedAt"] <= step["startedAt"] for step in told["steps"]), f"{run}: a step from before it")


def active():
    """As the status and as the activity count them."""
    return server.status()["runs"]["active"], server.json("GET", "/v1/activity")[1]["active"]


def repeats():
    """A repeated request replays the acceptance, and waits for the same run when it is told to."""
    key = uuid.uuid4().hex
    status, fields, data = send("say it once", Idempotency_Key=key)
    entry = json.loads(data)["id"]
    check(status == 202 and "idempotency-replayed" not in fields, f"first: {status}")
    status, fields, data = server.call("POST", "/v1/messages?wait=60", "say it once", {"Idempotency-Key": f'"{key}"'})
    told = json.loads(data)
    check(status == 200 and fields.get("idempotency-replayed") == "true", f"again, quoted, with wait: {status} {fields.get('idempotency-replayed')}")
    check(told["entry"]["id"] == entry and told["run"]["id"] == entry and told["reply"], "the same entry, its run and its reply")
    status, fields, data = server.call("POST", "/v1/messages?wait=60", "say it once", {"Idempotency-Key": key, "Accept": "text/plain"})
    check(status == 200 and data.decode().rstrip("\n") == told["reply"], f"long after its end, as text: {status} {data[:40]}")
    status, fields, data = send("say it once", Idempotency_Key=key, Accept="text/event-stream")
    check(status == 200 and fields.get("idempotency-replayed") == "true" and b"event: run.ended" in data, f"as a stream: {status}")
    check(problem("POST", "/v1/messages", "say it twice", {"Idempotency-Key": key})[:2] == (422, "IDEMPOTENCY_KEY_REUSED"), "another text is 422")
    check(problem("POST", "/v1/messages?session=other", "say it once", {"Idempotency-Key": key})[:2] == (422, "IDEMPOTENCY_KEY_REUSED"), "another session is 422")
    _, listed = server.json("GET", "/v1/outbox?limit=200")
    check(sum(found.get("text") == "say it once" for found in listed["entries"]) == 1, "one entry in all")


def tickets():
    """A ticket opens the one path it was made for, once."""
    forwarded = {"X-Forwarded-For": "192.0.2.1"}

    def ticket(path):
        return server.json("POST", "/v1/tickets", {"path": path})[1]["ticket"]

    first = ticket("/v1/events")
    statuses = [server.call("GET", f"/v1/events?timeout=1&ticket={first}", headers=forwarded)[0] for _ in range(2)]
    check(statuses == [200, 401], f"used twice: {statuses}")
    other = ticket("/v1/status")
    check(server.call("GET", f"/v1/events?timeout=1&ticket={other}", headers=forwarded)[0] == 401, "another path's")
    check(server.call("POST", f"/v1/messages?ticket={ticket('/v1/messages')}", {"text": "x"}, forwarded)[0] == 401, "it reads only")


for part in (conditions, names, forms, cursors, entries, queued, repeats, tickets):
    part()
server.stop()
tally.end()
