"""Every operation, its path spelt in hostile ways and its ids hostile names, with credentials of few rights: no spelling opens what the plain
one does not, nothing is a server's error, and each refusal is whole JSON."""

import json
import re

import raw_http
from harness import Serve, Tally, options, routes

options()
tally = Tally()
server = Serve("--limits-auth-per-minute", "1000000").linked()
server.json("POST", "/v1/messages?wait=20", {"text": "echo hello"})

SPELLINGS = {
    "capitals": lambda p: p.replace("/v1", "/V1"), "a letter escaped": lambda p: p[:4] + f"%{ord(p[4]):02x}" + p[5:] if len(p) > 4 else p,
    "all escaped": lambda p: "/" + "/".join("".join(f"%{ord(c):02X}" for c in part) for part in p[1:].split("/")),
    "twice escaped": lambda p: p[:4] + f"%25{ord(p[4]):02x}" + p[5:] if len(p) > 4 else p,
    "a slash more": lambda p: "/" + p, "a slash within": lambda p: p.replace("/v1/", "/v1//"), "a slash behind": lambda p: p + "/",
    "a dot": lambda p: p.replace("/v1/", "/v1/./"), "a way round": lambda p: "/v1/glance/.." + p[3:], "escaped dots": lambda p: "/v1/glance/%2e%2e" + p[3:],
    "escaped slash": lambda p: p[:3] + "%2f" + p[4:], "backslash": lambda p: p[:3] + "%5c" + p[4:], "a parameter": lambda p: p + ";x=1",
    "a zero behind": lambda p: p + "%00", "a blank behind": lambda p: p + "%20", "a dot behind": lambda p: p + ".", "json": lambda p: p + ".json",
    "a question behind": lambda p: p + "%3fx=1", "public first": lambda p: "/healthz/.." + p, "public behind": lambda p: p + "/../../healthz",
    "overlong": lambda p: p.replace("/", "%c0%af", 2), "full width": lambda p: p.replace("/v1", "/%ef%bd%961"),
}
NAMES = [
    "$(id)", "`id`", "..", ".", "%2e%2e", "%00", "%0d%0aX:%20y", "%22", "%27%20OR%201=1--", "%3cscript%3e", "%e2%80%aex", "%ff%fe", "a%2fb",
    "x" * 3000, "-1", "0", "%F0%9F%92%A9", "agent:main:main", "*", "%25s%25n", "~root", "{id}", "null", "%1b%5b2J",
]
TOKENS = {
    "none": None,
    "read": {"scopes": ["read"]},
    "send": {"scopes": ["send"]},
    "one path": {"scopes": ["read", "send", "identity", "control", "approvals"], "paths": ["/v1/glance"]},
    "one session": {"scopes": ["read", "send"], "sessions": ["agent:main:kitchen"]},
}
tokens = {name: wish and server.json("POST", "/v1/tokens", {"name": name, **wish})[1]["token"] for name, wish in TOKENS.items()}


def ask(method, path, token):
    """On a connection of another kind than the owner's: behind a proxy only the token counts."""
    fields = [("Via", "1.1 proof"), ("Connection", "close")] + [("Authorization", f"Bearer {token}")] * bool(token)
    body = b"{}" if method in ("POST", "PUT", "PATCH") else None
    return raw_http.ask(raw_http.tcp("127.0.0.1", server.port, timeout=20), method, path, f"localhost:{server.port}", fields, body)


def judge(answer, what):
    good = answer.status and answer.status < 500 or answer.status in (501, 503, 504)
    if answer.status and answer.status >= 400 and answer.body:
        try:
            good = good and json.loads(answer.body)["status"] == answer.status
        except (ValueError, KeyError):
            good = False
    return tally.check(good, f"{what}: {answer.status} {answer.body[:120]}")


count = opened = 0
for operation, method, template in routes():
    plain = re.sub(r"\{\w+\}", "00000000-0000-7000-8000-000000000000", template)
    more = "?poll=0" if operation == "streamEvents" else ""
    for name, token in tokens.items():
        allowed = ask(method.upper(), plain + more, token).status
        for how, spell in SPELLINGS.items():
            path = spell(plain)
            if path == plain:
                continue
            answer = ask(method.upper(), path + more, token)
            count += 1
            what = f"{operation} with {name}, {how}: {path}"
            judge(answer, what)
            if answer.status and answer.status < 300 and path.split("/..")[0] not in ("/healthz",) and not answer.body.startswith(b"ok"):
                opened += 1
                tally.check(allowed < 300, f"{what} opens with {answer.status} what is {allowed} else: {answer.body[:120]}")
    if "{" not in template or operation == "actOnApproval":
        continue
    for hostile in NAMES:
        path = re.sub(r"\{\w+\}", lambda _: hostile, template)
        for name in ("none", "read", "one path", "one session"):
            count += 1
            answer = ask(method.upper(), path, tokens[name])
            judge(answer, f"{operation} with {name}, named {hostile[:40]}")
        count += 1
        status, _, body = server.call(method.upper(), path, {} if method in ("post", "put", "patch") else None)
        tally.check(status < 500 or status in (501, 503, 504), f"{operation} by the owner, named {hostile[:40]}: {status} {body[:120]}")
tally.check(server.json("GET", "/v1/status")[0] == 200, "it still serves")
print(f"path_spellings: {count} requests, {opened} of them opened what their plain path opens")
tally.end()
