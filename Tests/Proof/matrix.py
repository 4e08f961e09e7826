"""Host x Origin x Sec-Fetch x method x listener x credential, against the built program: each cell is let through or refused as
the contract says, and nothing of what is refused is done. The short form takes cells by chance, the long one takes all.
"""

import itertools
import random
import re
import time

from harness import Serve, Tally, options, scratch, until
from raw import ask_h2, certificate, read_answer, request, tcp, unix

chosen = options(cells=(12000, 0), seed=(0, 0))
tally = Tally()
chance = random.Random(chosen.seed or time.time_ns())
LISTED = "https://app.example"
folder = scratch()
common = ["--access-origins", LISTED, "--access-hosts", "box.example", "--limits-auth-per-minute", "1000000"]
plain = Serve(*common, "--listen", "[::1]:0", "--listen", f"unix:{folder}/s").linked()
files, trust = certificate(folder)
secure = Serve(*common, *files)
port6 = int(until(lambda: re.search(r"http://\[::1\]:(\d+)", plain.output), what="the port on ::1")[1])
token = plain.make_token("page", "read", "send", "identity")["token"]


# name: (connect, port, own address, by HTTP/2, takes any Host)
listeners = {
    "IPv4": (lambda: tcp("127.0.0.1", plain.port), plain.port, "127.0.0.1", False, False),
    "IPv6": (lambda: tcp("::1", port6), port6, "[::1]", False, False),
    "HTTP/2": (lambda: tcp("127.0.0.1", plain.port), plain.port, "127.0.0.1", True, False),
    "TLS": (lambda: trust.wrap_socket(tcp("127.0.0.1", secure.port), server_hostname="localhost"), secure.port, "127.0.0.1", False, False),
    "Unix": (lambda: unix(f"{folder}/s"), 0, "x", False, True),
    "control": (lambda: unix(f"{plain.state}/ladle.sock"), 0, "x", False, True),
}


def hosts(own, port, other):
    """(value, or None for no such field; the status that refuses it on TCP)"""
    return {
        "its address": (f"{own}:{port}", None), "localhost": (f"localhost:{port}", None), "capitals": (f"LOCALHOST:{port}", None),
        "configured": (f"box.example:{port}", None), "rebound": (f"rebound.example:{port}", 421), "no port": (own, 421),
        "another port": (f"{own}:{other}", 421), "any address": (f"0.0.0.0:{port}", 421), "any IPv6 address": (f"[::]:{port}", 421),
        "a longer name": (f"localhost.evil.example:{port}", 421), "a dot": (f"localhost.:{port}", 421),
        "a number": (f"2130706433:{port}", 421), "none": (None, 400),
    }


ORIGINS = {
    "none": None, "null": "null", "evil": "http://evil.example", "its own address": "http://127.0.0.1:{port}", "listed": LISTED,
    "listed in capitals": LISTED.upper(), "listed with a port": LISTED + ":444", "listed by http": LISTED.replace("https", "http"),
    "listed and longer": LISTED + ".evil.example", "two": [LISTED, "http://evil.example"],
}
SITES = [None, "none", "same-origin", "same-site", "cross-site", "garbage"]
MODES = [("cors", "empty"), ("no-cors", "image"), ("navigate", "document"), ("navigate", "iframe")]
JSON, FORM, TEXT, PARTS = "application/json", "application/x-www-form-urlencoded", "text/plain", "multipart/form-data; boundary=x"
# name: (method, path, type, body, status when nothing refuses it)
METHODS = {
    "health": ("GET", "/healthz", None, None, 200), "read": ("GET", "/v1/activity", None, None, 200),
    "head": ("HEAD", "/v1/activity", None, None, 200), "stream": ("GET", "/v1/events?poll=0", None, None, 200),
    "json": ("POST", "/v1/messages", JSON, b'{"nothing":1}', 422), "form": ("POST", "/v1/messages", FORM, b"text=", 422),
    "text": ("POST", "/v1/messages", TEXT, b" ", 422), "parts": ("POST", "/v1/messages", PARTS, b"", 415),
    "no type": ("POST", "/v1/messages", None, b" ", 422), "put": ("PUT", "/v1/identity", JSON, b"{}", 428),
    "patch": ("PATCH", "/v1/identity", JSON, b"{}", 428), "delete": ("DELETE", "/v1/outbox/none", None, None, 404),
    "no body": ("POST", "/v1/runs/none/abort", None, None, 404),
    "options": ("OPTIONS", "/v1/messages", None, None, 204), "preflight": ("OPTIONS", "/v1/messages", None, None, 204),
}
# Bodies that any page can send to any place, and none.
SIMPLE = {"form", "text", "parts", "no type", "delete", "no body"}


def expected(listener, host_refusal, origin, site, mode, name, has_token):
    """The contract in the order it is applied: Host, Origin, fetch metadata, bodies a page can send unasked."""
    any_host = listeners[listener][4]
    if host_refusal == 400 or host_refusal and not any_host:
        return host_refusal
    if origin != "none":
        if origin != "listed":
            return 403
    elif site in ("same-site", "cross-site", "garbage"):
        if not (METHODS[name][0] == "GET" and mode == ("navigate", "document")):
            return 403
    if name in SIMPLE and not has_token and (origin != "none" or site not in (None, "none")):
        return 403
    return METHODS[name][4]


def fields_of(host, origin, site, mode, name, has_token, port):
    method, path, kind, body, _ = METHODS[name]
    fields = []
    if ORIGINS[origin] is not None:
        values = ORIGINS[origin]
        fields += [("origin", one.format(port=port)) for one in (values if isinstance(values, list) else [values])]
    if site is not None:
        fields += [("sec-fetch-site", site), ("sec-fetch-mode", mode[0]), ("sec-fetch-dest", mode[1])]
    if name == "preflight":
        fields += [("access-control-request-method", "POST"), ("access-control-request-headers", "authorization")]
    if has_token:
        fields.append(("authorization", f"Bearer {token}"))
    if kind:
        fields.append(("content-type", kind))
    if body is not None:
        fields.append(("content-length", str(len(body))))
    return method, path, fields, body


kept = {}


def ask(listener, host, method, path, fields, body):
    """Over a connection that is used again as long as the server lets it."""
    one = kept.pop(listener, None) or listeners[listener][0]()
    one.sendall(request(method, path, host, fields) + (body or b""))
    answer = read_answer(one, method != "HEAD")
    if answer.fields.get("connection") == "close":
        one.close()
    else:
        kept[listener] = one
    return answer.status, answer.fields


def ask_once(listener, host, method, path, fields, body):
    answer = ask_h2(listeners[listener][0](), method, path, host, fields, body)
    return answer.status, answer.fields


cells = []
for listener, (_, port, own, _, _) in listeners.items():
    for host, origin, site, mode, name, has_token in itertools.product(
            hosts(own, port, 1), ORIGINS, SITES, MODES, METHODS, (False, True)):
        # Without Sec-Fetch-Site there is no mode either; the token is the first server's.
        if site is None and mode is not MODES[0] or has_token and listener == "TLS":
            continue
        cells.append((listener, host, origin, site, mode, name, has_token))
total = len(cells)
if chosen.cells and chosen.cells < total:
    cells = chance.sample(cells, chosen.cells)
wrong, let_in, start = 0, 0, time.monotonic()
for listener, host, origin, site, mode, name, has_token in cells:
    _, port, own, by_h2, _ = listeners[listener]
    value, refusal = hosts(own, port, 1)[host]
    method, path, fields, body = fields_of(host, origin, site, mode, name, has_token, port)
    status, told = (ask_once if by_h2 else ask)(listener, value, method, path, fields, body)
    wanted = expected(listener, refusal, origin, site, mode, name, has_token)
    # A missing authority is for HTTP/2 itself to refuse.
    good = status == wanted or by_h2 and host == "none" and status in (0, 400)
    passes_origin = origin == "listed" and (wanted not in (400, 421))
    good = good and told.get("access-control-allow-origin") == (LISTED if passes_origin else None)
    good = good and "access-control-allow-credentials" not in told
    if name == "preflight" and passes_origin:
        good = good and "authorization" in told.get("access-control-allow-headers", "").lower()
    let_in += status not in (0, 400, 403, 421)
    wrong += not good
    tally.check(good, f"{listener} host {host}, origin {origin}, site {site} {mode}, {name}, token {has_token}: {status} in place of {wanted}, {told.get('access-control-allow-origin')}")
took = time.monotonic() - start
print(f"matrix: {len(cells)} of {total} cells in {took:.0f} s: {let_in} let through, {len(cells) - let_in} refused, {wrong} wrongly")
entries = plain.json("GET", "/v1/outbox")[1]["entries"]
tally.check(not entries, f"something was sent: {entries}")
tally.end()
