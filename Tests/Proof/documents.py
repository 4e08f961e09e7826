"""Identity and profile of the built program: the ways a write can go, what keeps the copy fresh, pictures, bad input, the
editor of the command line, 200 writers at once, and how long a change of a large file takes."""

import json
import pathlib
import struct
import threading
import time
import zlib

from follower import Follower
from harness import FaultyGateway, Serve, Tally, options, run_ladle, scratch, until

chosen = options(writers=(200, 1000))
tally = Tally()
ANY = {"If-Match": "*", "Content-Type": "application/merge-patch+json"}
KINDS = {"identity": ("IDENTITY.md", "vibe"), "profile": ("USER.md", "timezone")}


def file(gateway, name="IDENTITY.md"):
    return gateway.control("GET", f"file?name={name}")


def put_file(gateway, text, name="IDENTITY.md"):
    gateway.control("PUT", f"file?name={name}", text if isinstance(text, bytes) else text.encode())


def patch(server, kind, changes, headers=ANY):
    status, fields, body = server.call("PATCH", f"/v1/{kind}", json.dumps(changes), headers)
    return status, fields, json.loads(body)


def run(*arguments, server, env=None):
    return run_ladle(*arguments, "--state", server.state, env=env)


def writes(kind, release):
    """Through the file calls, with guards where the gateway has them; someone else writes in between."""
    name, field = KINDS[kind]
    gateway = FaultyGateway("--release", release)
    server = Serve(gateway=gateway.url).linked()
    before = file(gateway, name)
    status, fields, answer = patch(server, kind, {field: "Europe/Lisbon"})
    tally.check(status == 200 and answer["path"] == "rpc" and answer["fields"][field] == "Europe/Lisbon",
                f"{kind} {release}: a field is set: {answer}")
    tally.check(fields["etag"] and answer["markdown"].encode() == file(gateway, name), f"{kind}: the answer is the file")
    status, _, answer = patch(server, kind, {field: None})
    tally.check(status == 200 and field not in answer["fields"], f"{kind}: null clears")
    kept = [line for line in before.splitlines() if field.encode() not in line.lower() and b"_(" not in line]
    tally.check([line for line in file(gateway, name).splitlines()
                 if field.encode() not in line.lower() and b"_(" not in line] == kept, f"{kind}: other lines are kept")
    # One more read than the write's own may be under way.
    server.json("GET", f"/v1/{kind}?refresh=true")
    gateway.control("POST", "faults?editAfterRead=1")
    status, _, answer = patch(server, kind, {"name": "Racer"})
    text = file(gateway, name).decode()
    tally.check(status == 200 and "Racer" in text, f"{kind} {release}: a write in a race lands: {status}")
    if release == "autumn":
        tally.check("Added by someone else" in text, f"{kind} {release}: the other one's line is not lost")
    status, fields, current = server.call("GET", f"/v1/{kind}")
    put_file(gateway, "# Somebody's file\n\n- **Name:** Other\n", name)
    status, _, answer = patch(server, kind, {"name": "Mine"}, {**ANY, "If-Match": fields["etag"]})
    tally.check(status == 412 and answer["conflicts"][0] == {"field": "name", "current": "Other", "requested": "Mine"}
                and answer["currentETag"], f"{kind}: a conflict has both values: {answer}")
    tally.check("Other" in file(gateway, name).decode(), f"{kind}: and the file is as it was")
    status, fields, answer = patch(server, kind, {field: "Mine"}, {**ANY, "If-Match": fields["etag"]})
    tally.check(status == 412 and answer["conflicts"] == [] and answer["currentETag"] == fields["etag"],
                f"{kind}: a field that nobody else touched is no conflict: {answer}")
    again = patch(server, kind, {field: "Mine"}, {**ANY, "If-Match": answer["currentETag"]})
    tally.check(again[0] == 200, f"{kind}: and goes through with the current tag: {again}")
    put_file(gateway, "# Somebody's file\n", name)
    status, _, answer = patch(server, kind, {"name": "Mine"}, {**ANY, "If-Match": again[1]["etag"]})
    tally.check(status == 412 and answer["conflicts"] == [{"field": "name", "current": "", "requested": "Mine"}],
                f"{kind}: what was cleared is a conflict too: {answer}")
    status, _, answer = patch(server, kind, {"name": None})
    tally.check(status == 200 and "path" not in answer, f"{kind}: what is so already is not written: {answer}")
    whole_file(gateway, server, kind, name, field)
    gateway.kill()
    server.kill()


def whole_file(gateway, server, kind, name, field):
    text = "# Mine\r\n\r\n- **Name:** Wren\r\n\r\nA line without end: \u00e9\U0001f980"
    markdown = {"If-Match": "*", "Content-Type": "text/markdown"}
    status, fields, body = server.call("PUT", f"/v1/{kind}", text.encode(), markdown)
    tally.check(status == 200 and json.loads(body)["path"] == "rpc" and file(gateway, name) == text.encode(),
                f"{kind}: PUT of the whole file, byte for byte: {status} {body[:200]}")
    got = server.call("GET", f"/v1/{kind}", headers={"Accept": "text/markdown"})
    tally.check(got[2] == text.encode() and got[1]["content-type"].startswith("text/markdown"), f"{kind}: GET as markdown")
    tag = fields["etag"]
    status, answer = server.json("PUT", f"/v1/{kind}", {"markdown": text + "!"}, {"If-Match": tag})
    tally.check(status == 200 and answer["markdown"] == text + "!", f"{kind}: PUT of the file as a JSON member: {answer}")
    status, answer = server.json("PUT", f"/v1/{kind}", {"markdown": "late"}, {"If-Match": tag})
    tally.check(status == 412 and answer["currentETag"] != tag, f"{kind}: PUT over an older version: {answer}")
    status, answer = server.json("PUT", f"/v1/{kind}", {"fields": {field: "x"}}, {"If-Match": "*"})
    tally.check(status == 200 and answer["fields"] == {field: "x"} and "A line without end" in answer["markdown"],
                f"{kind}: PUT of fields clears the others and keeps the rest: {answer}")


def missing_file(release):
    gateway = FaultyGateway("--release", release)
    server = Serve(gateway=gateway.url).linked()
    gateway.control("DELETE", "file?name=USER.md")
    status, fields, body = server.call("GET", "/v1/profile?refresh=true")
    answer = json.loads(body)
    tally.check(status == 200 and answer["fields"] == {} and answer["markdown"] == "", f"a missing file is empty: {answer}")
    status, _, answer = patch(server, "profile", {"name": "Ana"}, {**ANY, "If-Match": fields["etag"]})
    tally.check(status == 200 and file(gateway, "USER.md").startswith(b"# ") and answer["fields"]["name"] == "Ana",
                f"{release}: a missing file is made: {answer}")
    gateway.kill()
    server.kill()


def without_admin(release):
    """No scope, no write; by chat only where the configuration says so, and then nobody sees the talk."""
    gateway = FaultyGateway("--release", release, "--fault", "strippedScopes=operator.admin")
    server = Serve(gateway=gateway.url).linked()
    before = file(gateway)
    status, _, answer = patch(server, "identity", {"name": "Nobody"})
    tally.check(status == 403 and answer["code"] == "GATEWAY_SCOPE_MISSING" and answer["requiredScopes"] == ["operator.admin"]
                and answer["hint"].startswith("openclaw devices "), f"{release}: {answer}")
    tally.check(file(gateway) == before, "the file is as it was")
    tally.check(patch(server, "identity", {"vibe": None})[0] in (200, 403), "clearing what is empty is no write")
    server.kill()

    server = Serve("--identity-write", "chat", gateway=gateway.url).linked()
    server.json("POST", "/v1/messages?wait=20", {"text": "hello before"})
    follower = Follower(server.port, "?snapshot=true")
    status, _, answer = patch(server, "identity", {"name": "Chatty"})
    tally.check(status == 200 and answer["path"] == "chat" and answer["fields"]["name"] == "Chatty",
                f"{release}: written by asking the agent: {answer}")
    tally.check(b"Chatty" in file(gateway), "the file has it")
    whole = "# USER.md\n\n- **Name:** Ana\n\n## Context\n\nWorks on a ferry.\n"
    status, _, body = server.call("PUT", "/v1/profile", whole, {"If-Match": "*", "Content-Type": "text/markdown"})
    tally.check(status == 200 and json.loads(body)["path"] == "chat", f"{release}: the whole file by chat: {body[:300]}")
    status, answer = server.json("POST", "/v1/messages?wait=20", {"text": "hello after"})
    until(lambda: any(event["type"] == "message" and "hello after" in json.dumps(event) for event in list(follower.events)),
          what="the last message's event")
    marks = ("---IDENTITY---", "---USER---", "---END---", "housekeeping")
    places = {
        "messages": server.call("GET", "/v1/messages?limit=100")[2].decode(),
        "runs": server.call("GET", "/v1/runs")[2].decode(),
        "activity": server.call("GET", "/v1/activity")[2].decode(),
        "outbox": server.call("GET", "/v1/outbox")[2].decode(),
        "sessions": server.call("GET", "/v1/sessions")[2].decode(),
        "events": json.dumps(follower.events),
    }
    for place, text in places.items():
        tally.check(not any(mark in text for mark in marks), f"{release}: the talk shows in {place}")
    tally.check("hello before" in places["messages"] and "hello after" in places["messages"], "real messages show")
    tally.check(len(json.loads(places["runs"])["runs"]) == 2, f"{release}: two runs, not the agent's file work")
    follower.stop()
    # Another process knows nothing of the talk but its words.
    server.stop()
    server = Serve(gateway=gateway.url, state=server.state).linked()
    text = server.call("GET", "/v1/messages?limit=100")[2].decode()
    tally.check(not any(mark in text for mark in marks) and "hello after" in text, f"{release}: hidden after a restart too")
    server.kill()
    gateway.kill()


def freshness():
    gateway = FaultyGateway()
    server = Serve("--identity-refresh", "10s", gateway=gateway.url).linked()
    server.json("GET", "/v1/identity?refresh=true")
    follower = Follower(server.port, "?types=identity,profile")

    def told(called, what, seconds=20):
        """An event with the version that has this name; others may come before it, such as that of the first read."""
        def is_told():
            _, fields, body = server.call("GET", "/v1/identity")
            told = [event["etag"] for event in list(follower.events) if event["type"] == "identity"]
            return json.loads(body)["fields"]["name"] == called and fields["etag"] in told
        until(is_told, seconds, what=what)
        tally.check(True, what)

    put_file(gateway, "- **Name:** Asked\n")
    answer = server.json("GET", "/v1/identity?refresh=true")[1]
    tally.check(answer["fields"]["name"] == "Asked" and not answer["stale"], f"refresh=true asks the gateway: {answer}")
    told("Asked", "an event tells of a change found by refresh=true")
    server.json("POST", "/v1/messages?wait=30", {"text": "call yourself Runner"})
    told("Runner", "an event tells of a change made by a run")
    put_file(gateway, "- **Name:** Timed\n")
    told("Timed", "an event tells of a change found by the timer", 25)
    put_file(gateway, "- **Name:** Back\n")
    gateway.control("POST", "drop")
    told("Back", "an event tells of a change found after a reconnect")
    tag = server.call("GET", "/v1/identity")[1]["etag"]
    last = [event for event in follower.events if event["type"] == "identity"][-1]
    tally.check(last["etag"] == tag and last["agent"] == "main" and last["id"], f"the event names the version: {last}")
    status = server.call("GET", "/v1/identity", headers={"If-None-Match": tag})[0]
    tally.check(status == 304, "and that version needs no second copy")
    follower.stop()
    gateway.kill()
    server.unlinked()
    answer = server.json("GET", "/v1/identity?refresh=true")[1]
    tally.check(answer["stale"] and answer["fields"]["name"] == "Back", f"away: the copy, marked as such: {answer}")
    status, _, answer = patch(server, "identity", {"name": "X"})
    tally.check(status == 503 and answer["retryable"], f"away: no write: {answer}")
    state = server.state
    server.stop()
    server = Serve(gateway=gateway.url, state=state)
    answer = server.json("GET", "/v1/identity")[1]
    tally.check(answer["stale"] and answer["asOf"] and answer["fields"]["name"] == "Back", f"at a cold start: {answer}")
    tally.check(server.json("GET", "/v1/identity?agent=scout")[0] == 503, "what was never seen cannot be shown")
    server.kill()


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def pictures():
    png = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 2, 3, 8, 2, 0, 0, 0)) \
        + chunk(b"IDAT", zlib.compress(b"\0" * 21)) + chunk(b"IEND", b"")
    vp8l = b"\x2f" + struct.pack("<I", 3 | 4 << 14) + b"\0" * 4 + b"\0"
    webp = b"RIFF" + struct.pack("<I", 4 + 8 + len(vp8l)) + b"WEBPVP8L" + struct.pack("<I", len(vp8l)) + vp8l
    jpeg = b"\xff\xd8\xff\xc0\x00\x0b\x08\x00\x05\x00\x06\x01\x01\x11\x00\xff\xda\x00\x08\x01\x01\x00\x00\x3f\x00\x12\x34\xff\xd9"
    server = Serve()
    server.linked()
    path = "/v1/identity/avatar"

    def put(body, kind, match="*", agent=""):
        headers = {"Content-Type": kind, **({"If-Match": match} if match else {})}
        status, fields, answer = server.call("PUT", path + agent, body, headers)
        return status, fields, json.loads(answer)

    tally.check(server.call("GET", path)[0] == 404, "no picture yet")
    tag = None
    for body, kind, size in [(png, "image/png", (2, 3)), (webp, "image/webp", (4, 5)), (jpeg, "image/jpeg", (6, 5))]:
        status, fields, answer = put(body, kind, tag or "*")
        tally.check(status == 200 and (answer["width"], answer["height"]) == size and answer["mimeType"] == kind,
                    f"{kind} is taken: {answer}")
        old, tag = tag, fields.get("etag")
        tally.check(put(body, kind, old)[0] == 412 if old else True, f"{kind}: the old version's tag is refused")
        status, fields, got = server.call("GET", path)
        tally.check(status == 200 and got == body and fields["etag"] == tag and fields["content-type"] == kind,
                    f"{kind} comes back as it was")
        tally.check(server.call("GET", path, headers={"If-None-Match": tag})[0] == 304, f"{kind}: 304")
        tally.check("sandbox" in fields["content-security-policy"] and fields["x-content-type-options"] == "nosniff",
                    f"{kind} cannot be run as a page: {fields}")
    tally.check(tag != server.call("GET", "/v1/identity")[1]["etag"], "the picture has a tag of its own")
    refused = [
        ("a page", b"<html><script>alert(1)</script>", "image/png", 422),
        ("SVG", b'<svg xmlns="http://www.w3.org/2000/svg"/>', "image/png", 422),
        ("GIF", b"GIF89a" + b"\0" * 20, "image/png", 422),
        ("a JPEG that says PNG", jpeg, "image/png", 422),
        ("a page behind a picture", png + b"<script>", "image/png", 422),
        ("half a picture", png[:-9], "image/png", 422),
        ("a wrong checksum", png[:40] + b"\xff" + png[41:], "image/png", 422),
        ("a giant on paper", png[:16] + struct.pack(">II", 60_000, 60_000) + png[24:], "image/png", 422),
        ("nothing", b"", "image/png", 422),
        ("an unknown type", png, "image/gif", 415),
        ("more than 2 MiB", png + b"\0" * (2 << 20), "image/png", 413),
        ("no If-Match", png, "image/png", 428),
    ]
    for what, body, kind, expected in refused:
        status, _, answer = put(body, kind, None if what == "no If-Match" else "*")
        tally.check(status == expected and answer["code"], f"{what} is refused with {expected}: {status} {answer}")
    tally.check(server.call("GET", path)[2] == jpeg, "the picture is as it was")
    tally.check(put(png, "image/png", agent="?agent=scout")[0] == 200, "each agent has a picture")
    tally.check(server.call("GET", path)[2] == jpeg, "and only that agent's changes")
    tally.check(server.call("DELETE", path, headers={"If-Match": '"other"'})[0] == 412, "DELETE holds the tag against it")
    tally.check(server.call("DELETE", path, headers={"If-Match": tag})[0] == 204, "DELETE")
    tally.check(server.call("GET", path)[0] == 404, "and it is gone")
    data = "data:image/png;base64," + __import__("base64").b64encode(png).decode()
    patch(server, "identity", {"avatar": data})
    tally.check(server.call("GET", path)[2] == png, "the identity's own picture inside its file is served")
    status, _, answer = patch(server, "identity?agent=scout", {"avatar": data})
    tally.check(server.call("DELETE", path + "?agent=scout", headers={"If-Match": "*"})[0] == 204, "scout's own picture goes")
    tally.check(server.call("GET", path + "?agent=scout")[2] == png, f"and the one in its file is served: {status} {answer}")
    patch(server, "identity", {"avatar": "https://192.0.2.1/a.png"})
    status, _, body = server.call("GET", path)
    tally.check(status == 404 and json.loads(body)["avatarUrl"] == "https://192.0.2.1/a.png", "a URL is told, not fetched")
    server.kill()


def bad_input():
    gateway = FaultyGateway()
    server = Serve(gateway=gateway.url).linked()
    before = {name: file(gateway, name) for name, _ in KINDS.values()}
    for kind in KINDS:
        cases = [
            ({"nmae": "x"}, 422, "nmae"), ({"name": 7}, 422, "name"), ({"name": ["x"]}, 422, "name"),
            ({"name": {"a": 1}}, 422, "name"), ({"name": True}, 422, "name"), ({"name": "a\nb"}, 422, "name"),
            ({"name": "a\rb"}, 422, "name"), ({"name": "a\x00b"}, 422, "name"), ({"name": "a\x1bb"}, 422, "name"),
            ({"name": "a\x7fb"}, 422, "name"), ({"name": "a\x85b"}, 422, "name"), ({"name": "a\u2028b"}, 422, "name"),
            ({"name": "a\tb"}, 422, "name"), ({"name": "x" * 100_000}, 422, "name"),
            ({"name": "not set yet"}, 422, "name"), ({"name": "ok", "bogus": 1}, 422, "bogus"), ([], 422, "body"),
            ("text", 422, "body"), (None, 422, "body"),
        ]
        if kind == "profile":
            cases += [({"directives": []}, 422, "directives"), ({"notes": "a\x07"}, 422, "notes"),
                      ({"context": "a\x0cb"}, 422, "context"), ({"creature": "owl"}, 422, "creature")]
        for changes, expected, field in cases:
            status, _, answer = patch(server, kind, changes)
            shown = json.dumps(changes)[:60]
            tally.check(status == expected and answer.get("field") == field, f"{kind} {shown}: {status} {answer}")
        nearest = patch(server, kind, {"nmae": "x"})[2]["hint"]
        tally.check("`name`" in nearest, f"the nearest field is named: {nearest}")
        raw = [
            (b'{"name":"\xff"}', ANY, 400), (b'{"name":', ANY, 400), (b"", ANY, 400), (b'{"name":"\\ud800"}', ANY, 422),
            (b'{"name":"x"}', {"Content-Type": "application/json"}, 428),
            (b'{"name":"x"}', {**ANY, "If-Match": "nonsense"}, 400), (b"name=x", {**ANY, "Content-Type": "text/csv"}, 415),
            (b'{"name":"' + b"x" * (2 << 20) + b'"}', ANY, 413),
        ]
        for body, headers, expected in raw:
            status, _, answer = server.call("PATCH", f"/v1/{kind}", body, headers)
            tally.check(status == expected, f"{kind} {body[:40]} {headers}: {status} {answer[:200]}")
        markdown = {"If-Match": "*", "Content-Type": "text/markdown"}
        for body, expected in [(b"# a\xff\xfe", 422), (b"# a\x00", 422), (b"x" * (3 << 20), 413)]:
            status, _, answer = server.call("PUT", f"/v1/{kind}", body, markdown)
            tally.check(status == expected, f"{kind} PUT {body[:10]}: {status} {answer[:200]}")
        status, answer = server.json("PUT", f"/v1/{kind}", {"markdown": 7}, {"If-Match": "*"})
        tally.check(status == 422 and answer["field"] == "markdown", f"{kind} PUT markdown: {answer}")
        for agent in ["..%2F..%2Fetc", "%2Fetc%2Fpasswd", "a%2Fb", "..", ".", "%00", "a%0Ab", "MAIN", "-x", "x" * 65, ""]:
            for method, body in [("GET", None), ("PATCH", b'{"name":"x"}'), ("PUT", b"# x\n")]:
                headers = ANY if method == "PATCH" else markdown if body else {}
                status, _, answer = server.call(method, f"/v1/{kind}?agent={agent}", body, headers)
                tally.check(status == 400 and json.loads(answer)["field"] in ("agent", "query"),
                            f"{method} {kind} agent={agent}: {status} {answer[:200]}")
        status, answer = server.json("GET", f"/v1/{kind}?agent=nobody")
        tally.check(status == 404 and answer["code"] == "UNKNOWN_AGENT", f"an unknown agent: {answer}")
    for agent in ["..%2Fx", "a%2Fb", ""]:
        for method in ["GET", "PUT", "DELETE"]:
            headers = {"If-Match": "*", "Content-Type": "image/png"}
            status = server.call(method, f"/v1/identity/avatar?agent={agent}", b"x" if method == "PUT" else None, headers)[0]
            tally.check(status == 400, f"{method} avatar agent={agent}: {status}")
    tally.check({name: file(gateway, name) for name in before} == before, "the gateway's files are untouched by all of it")
    for kind, field in [("profile", "notes"), ("profile", "context")]:
        status, _, answer = patch(server, kind, {field: "one\ntwo"})
        tally.check(status == 200 and answer["fields"][field] == "one\ntwo", f"{field} takes line feeds: {answer}")
    gateway.kill()
    server.kill()


def editor():
    gateway = FaultyGateway()
    server = Serve(gateway=gateway.url).linked()
    folder = pathlib.Path(scratch())

    def script(name, text):
        path = folder / name
        path.write_text("#!/bin/sh\n" + text + "\n")
        path.chmod(0o755)
        return {"EDITOR": str(path), "VISUAL": "", "TMPDIR": str(folder)}

    for kind, (name, field) in KINDS.items():
        label = {"vibe": "Vibe", "timezone": "Timezone"}[field]
        change = script("change", f"sed -i 's/^- \\*\\*{label}:\\*\\*.*/- **{label}:** By hand/' \"$1\"")
        done = run(kind, "edit", server=server, env=change)
        tally.check(done.returncode == 0 and b"By hand" in file(gateway, name), f"{kind} edit writes: {done}")
        done = run(kind, "edit", server=server, env=script("leave", ":"))
        tally.check(done.returncode == 0 and "Nothing" in done.stdout, f"{kind} edit without a change: {done}")
        done = run(kind, "edit", server=server, env=script("fail", "echo lost >> \"$1\"; exit 3"))
        tally.check(done.returncode != 0 and b"lost" not in file(gateway, name), f"{kind} edit that fails: {done}")
        url = f"{gateway.control_url}file?name={name}"
        python = f"import urllib.request as u; u.urlopen(u.Request('{url}', b'# Theirs\\n', method='PUT')).read()"
        conflict = script("conflict", f"python3 -c \"{python}\"; echo mine >> \"$1\"")
        done = run(kind, "edit", server=server, env=conflict)
        kept = [path for path in folder.glob("*.md") if "mine" in path.read_text()]
        tally.check(done.returncode == 75 and "meanwhile" in done.stderr and kept and str(kept[0]) in done.stderr,
                    f"{kind} edit in a race keeps the text: {done}")
        tally.check(file(gateway, name) == b"# Theirs\n", f"{kind}: and does not overwrite")
        kept and kept[0].unlink()
        done = run(kind, "set", "name=Wren", f"{field}=calm", server=server)
        tally.check(done.returncode == 0 and b"Wren" in file(gateway, name), f"{kind} set: {done}")
        done = run(kind, "show", server=server)
        tally.check(done.returncode == 0 and "Wren" in done.stdout and "calm" in done.stdout, f"{kind} show: {done}")
        done = run(kind, "show", "--json", server=server)
        tally.check(json.loads(done.stdout)["fields"]["name"] == "Wren", f"{kind} show --json")
        done = run(kind, "set", "nmae=x", server=server)
        tally.check(done.returncode != 0 and "name" in done.stderr, f"{kind} set of nothing known: {done}")
    gateway.kill()
    server.kill()


def writers():
    """Each sets a line of its own in one field list and tries again on 412: every one of them has to be in the end."""
    server = Serve().linked()
    count = chosen.writers
    fields = [("identity", f) for f in ("name", "creature", "vibe", "theme", "emoji")]
    fields += [("profile", f) for f in ("name", "callName", "pronouns", "timezone", "notes", "context")]
    results = [None] * count
    gate = threading.Barrier(min(count, 200))

    def one(number):
        kind, field = fields[number % len(fields)]
        if number < gate.parties:
            gate.wait()
        status, headers, answer = patch(server, kind, {field: f"v{number}"})
        results[number] = (status, field, answer.get("fields", {}).get(field) == f"v{number}", headers.get("etag"))

    began = time.perf_counter()
    threads = [threading.Thread(target=one, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took = time.perf_counter() - began
    tally.check(all(result[0] == 200 and result[2] for result in results),
                f"all of {count} concurrent changes land: {[r for r in results if r[0] != 200 or not r[2]][:3]}")
    last = {kind: server.json("GET", f"/v1/{kind}?refresh=true")[1]["fields"] for kind in KINDS}
    tally.check(all(last[kind][field].startswith("v") for kind, field in fields), f"no field is lost: {last}")
    # The list in `notes` as a counter that only compare-and-swap keeps right.
    swaps = [0]

    def swap(number):
        while True:
            _, headers, body = server.call("GET", "/v1/profile")
            notes = json.loads(body)["fields"].get("notes", "")
            line = f"line {number}"
            status, _, _ = patch(server, "profile", {"notes": f"{notes}\n{line}" if notes else line},
                                 {**ANY, "If-Match": headers["etag"]})
            if status == 200:
                return
            swaps[0] += 1

    patch(server, "profile", {"notes": None})
    threads = [threading.Thread(target=swap, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = server.json("GET", "/v1/profile?refresh=true")[1]["fields"]["notes"].split("\n")
    tally.check(sorted(lines) == sorted(f"line {number}" for number in range(20)), f"no update is lost: {lines}")
    print(f"{count} concurrent changes in {took:.2f} s, all landed; 20 on one field by If-Match, {swaps[0]} times 412")
    server.kill()


for kind in KINDS:
    for release in ("march", "autumn"):
        writes(kind, release)
for release in ("march", "june", "autumn"):
    without_admin(release)
missing_file("june")
missing_file("autumn")
freshness()
pictures()
bad_input()
editor()
writers()
tally.end()
