"""Sentences of the contract that only show where two things meet: conditions and forms, parameters misspelled, one cursor named twice,
a change of an entry that is meant for another version."""

import json
import socket

from harness import Serve, Tally, later, options, until

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


for part in (conditions, names, forms, cursors, entries):
    part()
server.stop()
tally.end()
