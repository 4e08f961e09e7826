"""Identity and profile against a gateway with files: the ways a write can go on each release, what is hidden of a write by chat, pictures,
and the editor of the command line. What keeps the copy fresh and what is refused: `DocumentServiceTests`, `DocumentRouteTests`."""

import json
import pathlib
import struct
import zlib

from follower import Follower
from harness import FaultyGateway, Serve, Tally, options, run_ladle, scratch, until

options()
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


for kind in KINDS:
    for release in ("march", "autumn"):
        writes(kind, release)
for release in ("march", "june", "autumn"):
    without_admin(release)
missing_file("june")
missing_file("autumn")
pictures()
editor()
tally.end()
