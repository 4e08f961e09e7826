"""Broken, ambiguous and hostile HTTP/1 requests as raw bytes, by the 48 classes of server bugs that HTTP Garden and its
paper catalogue: each is refused with its status, the connection ends, nothing behind it is read as a request, and the next
client is served. Beside them stand the nearest legal forms, which must be served, and the limits."""

import json
import shutil
import socket
import subprocess
import time

from harness import ROOT, Serve, Tally, options

options()
tally = Tally()
server = Serve()
HOST = b"Host: 127.0.0.1:%d\r\n" % server.port
BEHIND = b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n"
refused_total = 0
classes = set()


class Broken(Exception):
    pass


def answers(data, heads=()):
    """The answers in `data`: (status, fields, body), where `heads` names the places of answers to HEAD."""
    found = []
    while data:
        head, gap, data = data.partition(b"\r\n\r\n")
        if not gap or not head.startswith(b"HTTP/1.1 "):
            raise Broken(f"no answer but {head[:60]!r}")
        lines = head.split(b"\r\n")
        status = int(lines[0].split()[1])
        fields = {}
        for line in lines[1:]:
            name, _, value = line.partition(b":")
            fields[name.decode().lower()] = value.strip().decode()
        length = int(fields.get("content-length", 0))
        if status < 200 or status in (204, 304) or len(found) in heads:
            length = 0
        if len(data) < length:
            raise Broken("the body is cut off")
        found.append((status, fields, data[:length]))
        data = data[length:]
    return found


def exchange(*pieces, wait=5.0, half_close=False, gap=0.03):
    """Sends the pieces and reads until the server closes, or until it has been quiet for `wait` seconds."""
    peer = socket.create_connection(("127.0.0.1", server.port), 5)
    received, closed = b"", False
    try:
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for number, piece in enumerate(pieces):
            if number:
                time.sleep(gap)
            peer.sendall(piece)
        if half_close:
            # Who has ended its side before it was accepted cannot be known as the owner any more.
            time.sleep(gap)
            peer.shutdown(socket.SHUT_WR)
        peer.settimeout(wait)
        while True:
            piece = peer.recv(65536)
            if not piece:
                closed = True
                break
            received += piece
    except (ConnectionResetError, BrokenPipeError):
        closed = True
    except TimeoutError:
        pass
    finally:
        peer.close()
    return received, closed


def bystander(what):
    received, closed = exchange(b"GET /healthz HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n")
    tally.check(closed and received.startswith(b"HTTP/1.1 200 "), f"{what}: the next client is served")


def refused(kind, what, raw, status, code=None, behind=True):
    """Exactly one answer, a problem document, then the end; what stands behind the request is not read as another."""
    global refused_total
    classes.add(kind)
    refused_total += 1
    name = f"{kind} {what}"
    received, closed = exchange(raw + (BEHIND if behind else b""))
    try:
        found = answers(received)
    except Broken as fault:
        tally.check(False, f"{name}: {fault}")
        return bystander(name)
    statuses = [one[0] for one in found]
    if tally.check(statuses == [status] and closed, f"{name}: {statuses} closed={closed}, not [{status}] and closed"):
        _, fields, body = found[0]
        problem = json.loads(body or b"{}")
        held = fields.get("connection") == "close" and fields.get("content-type") == "application/problem+json"
        tally.check(held and problem.get("status") == status, f"{name}: a problem document and Connection: close")
        if code:
            tally.check(problem.get("code") == code, f"{name}: {problem.get('code')}, not {code}")
    bystander(name)


def served(kind, what, pieces, statuses, closes=True, half_close=False, heads=()):
    """The legal neighbour: these answers, in order."""
    classes.add(kind)
    name = f"{kind} {what}"
    pieces = pieces if isinstance(pieces, (list, tuple)) else [pieces]
    received, closed = exchange(*pieces, wait=5.0 if closes else 0.4, half_close=half_close)
    try:
        found = [one[0] for one in answers(received, heads)]
    except Broken as fault:
        found = [str(fault)]
    tally.check(found == statuses and closed == closes, f"{name}: {found} closed={closed}, not {statuses} closed={closes}")


def get(*lines, target=b"/healthz", host=HOST, version=b"HTTP/1.1", method=b"GET"):
    return method + b" " + target + b" " + version + b"\r\n" + host + b"".join(line + b"\r\n" for line in lines) + b"\r\n"


sessions = 0


def post(*lines, body=b"", host=HOST, version=b"HTTP/1.1"):
    """A request whose body is taken: to a session of its own, and checked only, never sent on."""
    global sessions
    sessions += 1
    head = b"POST /v1/messages?session=agent:main:raw%d %s\r\n" % (sessions, version)
    return head + host + b"Content-Type: text/plain\r\n" + b"".join(line + b"\r\n" for line in lines) + b"\r\n" + body


def chunked(body, *lines):
    return post(b"Transfer-Encoding: chunked", *lines, body=body)


CLOSE = b"Connection: close"
SMUGGLED = b"GET /smuggled HTTP/1.1\r\nX: "
TE, CL = "BAD_TRANSFER_ENCODING", "BAD_CONTENT_LENGTH"

# 1 to 7: which framing holds
for what, lines in {
    "length first": (b"Content-Length: 5", b"Transfer-Encoding: chunked"),
    "coding first": (b"Transfer-Encoding: chunked", b"Content-Length: 5"),
    "length 0": (b"Content-Length: 0", b"Transfer-Encoding: chunked"),
    "other case": (b"content-length: 5", b"TRANSFER-ENCODING: CHUNKED"),
}.items():
    refused("1 both framings", what, post(*lines, body=b"0\r\n\r\n" + SMUGGLED), 400, TE)
for value in (b"gzip, chunked", b"chunked, gzip", b"chunked, chunked", b"identity, chunked", b"chunked, identity"):
    refused("2 coding list", value.decode(), post(b"Transfer-Encoding: " + value, body=b"0\r\n\r\n"), 400, TE)
for line in (b"Transfer-Encoding: chunked", b"Transfer-Encoding: identity"):
    refused("3 coding in HTTP/1.0", line.decode(), post(line, body=b"0\r\n\r\n", version=b"HTTP/1.0"), 400, TE)
for value in (b",chunked", b"chunked,", b", chunked", b"chunked,,", b"chunked ,"):
    refused("4 empty list members", repr(value), post(b"Transfer-Encoding: " + value, body=b"0\r\n\r\n"), 400, TE)
for second in (b"chunked", b"identity", b"x"):
    raw = post(b"Transfer-Encoding: chunked", b"Transfer-Encoding: " + second, body=b"0\r\n\r\n")
    refused("5 repeated coding", second.decode(), raw, 400, TE)
    raw = post(b"Transfer-Encoding: " + second, b"Transfer-Encoding: chunked", body=b"0\r\n\r\n")
    refused("5 repeated coding", f"{second.decode()} first", raw, 400, TE)
for value in (b"identity", b"gzip", b"xchunked", b"chunkedx", b"chunke", b"cow", b"'chunked'"):
    raw = post(b"Transfer-Encoding: " + value, body=b"0\r\n\r\n")
    refused("6 unknown coding", value.decode(), raw, 501, "UNKNOWN_TRANSFER_CODING")
for value in (b'"chunked"', b"chunked;q=1", b"chunked;", b"chunk ed", b"chunked\xa0", b"\x85chunked", b""):
    refused("7 disguised coding", repr(value), post(b"Transfer-Encoding: " + value, body=b"0\r\n\r\n"), 400, TE)
for value in (b"\x0bchunked", b"chunked\x0c", b"chunked\x00"):
    refused("7 disguised coding", repr(value), post(b"Transfer-Encoding: " + value, body=b"0\r\n\r\n"), 400, "BAD_BYTE")
served("6 unknown coding", "chunked in any case", post(b"transfer-encoding:  ChunKed\t", CLOSE, body=b"2\r\nhi\r\n0\r\n\r\n"), [202])

# 8 to 16: Content-Length
LENGTHS = {
    "8 empty length": (b"", b" ", b"\t"),
    "9 signed length": (b"+5", b"-5", b"-0", b"+0"),
    "10 hexadecimal length": (b"0x5", b"5h", b"a", b"0X05"),
    "11 octal length": (b"05", b"00", b"0o5", b"0000000005"),
    "12 grouped length": (b"5_0", b"5,000", b"5'0", b"1e1", b"5.0"),
    "13 padded length": (b"5 0", b"5 x", b"5;", b"\xa05", b"5\x85", b'"5"'),
    "14 length list": (b"5, 5", b"5,6", b"5,", b",5"),
    "16 length overflow": (b"9223372036854775808", b"18446744073709551616", b"18446744073709551621", b"9" * 20, b"1" * 400),
}
for kind, values in LENGTHS.items():
    for value in values:
        refused(kind, repr(value[:24]), post(b"Content-Length: " + value, body=b"hello"), 400, CL)
refused("13 padded length", "vertical tab", post(b"Content-Length: \x0b5", body=b"hello"), 400, "BAD_BYTE")
for first, second in ((b"5", b"5"), (b"5", b"6"), (b"0", b"5"), (b"5", b"")):
    raw = post(b"Content-Length: " + first, b"Content-Length: " + second, body=b"hello")
    refused("15 repeated length", f"{first} {second}", raw, 400, CL)
refused("16 length overflow", "largest", post(b"Content-Length: 9223372036854775807", body=b"hello"), 413, "BODY_TOO_LARGE")
served("13 padded length", "blanks around", post(b"Content-Length: \t 5 ", CLOSE, body=b"hello"), [202])
served("8 empty length", "none at all", get(CLOSE), [200])

# 17 to 21: chunk sizes
SIZES = {
    "17 prefixed chunk size": (b"0x5", b"0X5", b"x5", b"h5", b"5h"),
    "18 signed chunk size": (b"+5", b"-5", b"-0"),
    "19 padded chunk size": (b" 5", b"5 ", b"\t5", b"5\t", b"5_0", b"5.", b"5,5", b"\xa05"),
    "20 chunk size overflow": (
        b"10000000000000005", b"00000000000000005", b"fffffffffffffffff", b"100000000", b"8000000000000000", b"f" * 16),
    "21 empty chunk size": (b"", b";a=b", b"\r"),
}
for kind, values in SIZES.items():
    for value in values:
        if value == b"100000000":
            refused(kind, repr(value), chunked(value + b"\r\nhello\r\n0\r\n\r\n"), 413, "BODY_TOO_LARGE")
        else:
            refused(kind, repr(value), chunked(value + b"\r\nhello\r\n0\r\n\r\n"), 400)
served("20 chunk size overflow", "16 digits", chunked(b"0000000000000005\r\nhello\r\n0\r\n\r\n", CLOSE), [202])
served("21 empty chunk size", "upper and lower case", chunked(b"A\r\n0123456789\r\nb\r\n0123456789a\r\n0\r\n\r\n", CLOSE), [202])

# 22 to 28: line ends and forbidden bytes
LINE = b"/healthz HTTP/1.1"
for what, raw in {
    "in the line": b"GET /health\rz HTTP/1.1\r\n" + HOST + b"\r\n",
    "for the blank": b"GET\r/healthz HTTP/1.1\r\n" + HOST + b"\r\n",
    "as line end": b"GET " + LINE + b"\r" + HOST + b"\r\n",
    "doubled": b"GET " + LINE + b"\r\r\n" + HOST + b"\r\n",
    "before the line": b"\rGET " + LINE + b"\r\n" + HOST + b"\r\n",
}.items():
    refused("22 bare CR in the line", what, raw, 400)
for what, line in {
    "in a value": b"X: a\rb", "ends a field": b"X: a\rTransfer-Encoding: chunked", "at the end": b"X: a\r",
    "in a name": b"X\rY: a", "alone": b"\r", "before the colon": b"X\r: a",
}.items():
    refused("23 bare CR in fields", what, get(line), 400)
for what, raw in {
    "everywhere": b"GET " + LINE + b"\n" + HOST.replace(b"\r", b"") + b"\n",
    "behind the line": b"GET " + LINE + b"\n" + HOST + b"\r\n",
    "behind a field": b"GET " + LINE + b"\r\n" + HOST + b"X: a\nY: b\r\n\r\n",
    "as the empty line": b"GET " + LINE + b"\r\n" + HOST + b"\n",
    "before the line": b"\nGET " + LINE + b"\r\n" + HOST + b"\r\n",
}.items():
    refused("24 bare LF in the head", what, raw, 400, "BAD_BYTE")
for what, body in {
    "behind the size": b"5\nhello\r\n0\r\n\r\n", "behind the data": b"5\r\nhello\n0\r\n\r\n",
    "behind the last size": b"0\n\r\n", "as the empty line": b"0\r\n\n", "in an extension": b"5;a\nhello\r\n0\r\n\r\n",
    "behind a trailer": b"0\r\nX: a\n\r\n",
}.items():
    refused("25 bare LF in the body", what, chunked(body), 400)
for what, raw in {
    "in a value": get(b"X: a\0b"), "in a name": get(b"X\0: a"), "in the target": get(target=b"/healthz\0"),
    "in the method": get(method=b"GET\0"), "in the version": get(version=b"HTTP/1.1\0"), "before all": b"\0" + get(),
    "in Host": get(host=b"Host: 127.0.0.1\0:1\r\n"),
}.items():
    refused("26 NUL", what, raw, 400)
for byte in (b"\x01", b"\x07", b"\x0b", b"\x0c", b"\x1b", b"\x7f"):
    refused("26 NUL", f"other controls in values {byte!r}", get(b"X: a" + byte + b"b"), 400, "BAD_BYTE")
for what, body in {
    "data goes on": b"5\r\nhello!\r\n0\r\n\r\n", "nothing": b"5\r\nhello0\r\n\r\n", "two bytes of any kind": b"5\r\nhelloXX0\r\n\r\n",
    "CR CR": b"5\r\nhello\r\r0\r\n\r\n", "LF CR": b"5\r\nhello\n\r0\r\n\r\n", "too short": b"9\r\nhello\r\n0\r\n\r\n" + b"x" * 20,
}.items():
    refused("27 end of chunk data", what, chunked(body), 400, "BAD_CHUNK" if what != "too short" else None)
for what, body in {
    "a request there": b"0\r\nGET /healthz HTTP/1.1\r\n", "field without colon": b"0\r\nX\r\n\r\n", "CR alone": b"0\r\n\rX",
    "folded": b"0\r\nX: a\r\n b\r\n\r\n", "blank before the colon": b"0\r\nX : a\r\n\r\n", "NUL": b"0\r\nX: a\0\r\n\r\n",
    "blank first": b"0\r\n X: a\r\n\r\n",
}.items():
    refused("28 after the last chunk", what, chunked(body), 400)
received, closed = exchange(chunked(b"5\r\nhello\r\n0\r\n"), half_close=True)
tally.check(closed and received.startswith(b"HTTP/1.1 400 "), f"28 after the last chunk: cut off there: {received[:20]!r}")
received, closed = exchange(post(b"Content-Length: 10", body=b"hello"), half_close=True)
tally.check(closed and received.startswith(b"HTTP/1.1 400 "), f"28 after the last chunk: a short body: {received[:20]!r}")
received, closed = exchange(b"GET /healthz HTTP/1.1\r\nHo", half_close=True)
tally.check(closed and received.startswith(b"HTTP/1.1 400 "), f"28 after the last chunk: a short head: {received[:20]!r}")
served("28 after the last chunk", "trailers are dropped", chunked(b"2\r\nhi\r\n0\r\nX: a\r\nContent-Length: 9\r\n\r\n", CLOSE), [202])

# 29, 30: chunk extensions
for what, body in {
    "one long": b"5;" + b"a" * 2000 + b"\r\nhello\r\n0\r\n\r\n",
    "many short": b"".join(b"1;abcdefghijklmnop=qrstuvwxyz\r\nx\r\n" for _ in range(60)) + b"0\r\n\r\n",
    "at the last chunk": b"0;" + b"a" * 2000 + b"\r\n\r\n",
}.items():
    refused("29 long chunk extensions", what, chunked(body), 400, "BAD_CHUNK")
for extension in (b";", b";=", b";a=", b";a=b c", b'; a="', b";\0", b";a\r=b", b";a=\x80", b" a", b";;a", b'; a="\r\n'):
    refused("30 broken chunk extensions", repr(extension), chunked(b"5" + extension + b"\r\nhello\r\n0\r\n\r\n"), 400)
served("29 long chunk extensions", "short ones", chunked(b'5;a=b;c="d e"\r\nhello\r\n0;z\r\n\r\n', CLOSE), [202])

# 31 to 37: fields
for what, line in {"blank": b"X : a", "tab": b"X\t: a", "length": b"Content-Length : 5", "coding": b"Transfer-Encoding : chunked",
                   "Host": b"Host : x"}.items():
    refused("31 blank before the colon", what, get(line), 400, "BAD_FIELD")
for what, lines in {"blank": (b"X: a", b" b"), "tab": (b"X: a", b"\tb"), "a length": (b"X: a", b" Content-Length: 5"),
                    "empty": (b"X: a", b" "), "coding": (b"Transfer-Encoding:", b" chunked")}.items():
    refused("32 folded line", what, get(*lines), 400, "BAD_FIELD")
refused("32 folded line", "the first", b"GET /healthz HTTP/1.1\r\n X: a\r\n" + HOST + b"\r\n", 400, "BAD_FIELD")
for line in (b": a", b":", b" : a", b"::"):
    refused("33 empty name", repr(line), get(line), 400, "BAD_FIELD")
for byte in b'"(),/;<=>?@[\\]{}':
    refused("34 no token", repr(bytes([byte])), get(b"X" + bytes([byte]) + b"Y: a"), 400, "BAD_FIELD")
for name in (b"X\x80", b"\xffX", b"Transfer-Encoding\xa0", b"Content\xc2\xadLength", b"\xef\xbb\xbfHost"):
    refused("35 high bytes in names", repr(name), get(name + b": a"), 400, "BAD_FIELD")
for value in (b"\x85chunked", b"\xa0chunked", b"chunked\x85", b"chunked\xa0"):
    refused("36 other blanks", repr(value), post(b"Transfer-Encoding: " + value, body=b"0\r\n\r\n"), 400, TE)
for value in (b"\x855", b"5\xa0"):
    refused("36 other blanks", repr(value), post(b"Content-Length: " + value, body=b"hello"), 400, CL)
for line in (b"X", b"X a", b"Transfer-Encoding chunked", b"=", b"GET / HTTP/1.1"):
    refused("37 no colon", repr(line), get(line), 400, "BAD_FIELD")
served("34 no token", "all token bytes", get(b"!#$%&'*+-.^_`|~09azAZ: a", CLOSE), [200])
served("33 empty name", "empty value", get(b"X:", CLOSE), [200])
served("35 high bytes in names", "in a value", get(b"X: caf\xc3\xa9 \xff", CLOSE), [200])

# 38 to 41: Host
refused("38 no Host", "1.1", get(host=b""), 400, "BAD_HOST")
for what, host in {"same": HOST + HOST, "different": HOST + b"Host: evil\r\n", "other case": HOST + b"hOST: evil\r\n",
                   "empty second": HOST + b"Host:\r\n"}.items():
    refused("39 repeated Host", what, get(host=host), 400, "BAD_HOST")
for value in (b"a b", b"a,b", b"http://a", b"a/b", b"a@b", b"a:b", b"a:99999", b"a:-1", b"[::1", b"::1", b"[x]", b"a?b", b"a#b", b"a\\b",
              b"a:80:80", b"%00", b"a\x80", b"a\tb"):
    refused("40 malformed Host", repr(value), get(host=b"Host: " + value + b"\r\n"), 400)
for target in (b"http://evil/healthz", b"http://127.0.0.1:1/healthz", b"http://a@127.0.0.1:%d/" % server.port, b"http:///healthz",
               b"http://127.0.0.1:%d?x" % server.port, b"ftp://127.0.0.1/", b"http:/healthz", b"http://"):
    refused("41 target disagrees", repr(target), get(target=target), 400)
served("41 target disagrees", "agrees", get(CLOSE, target=b"http://127.0.0.1:%d/healthz" % server.port), [200])
received, closed = exchange(get(CLOSE, host=b"Host: evil.example\r\n"))
tally.check(received.startswith(b"HTTP/1.1 421 ") or received.startswith(b"HTTP/1.1 403 "), f"40 malformed Host: a foreign name is not served: {received[:20]!r}")

# 42 to 45: the request line
for version, status in ((b"HTTP/2.0", 505), (b"HTTP/0.9", 505), (b"HTTP/1.2", 505), (b"HTTP/3.0", 505), (b"HTTP/1.10", 400),
                        (b"HTTP/1", 400), (b"HTTP/01.1", 400), (b"http/1.1", 400), (b"HTTP 1.1", 400), (b"HTTP/1,1", 400),
                        (b"HTTP/+1.1", 400), (b"HTTP/1.1x", 400), (b"ICY/1.1", 400), (b"", 400), (b"HTTP/\xd9\xa1.1", 400)):
    refused("42 version", repr(version), get(version=version), status)
received, closed = exchange(b"INVALID CONNECTION PREFACE\r\n\r\n")
tally.check(not received and closed, f"42 version: three words that no request could be have no answer: {received[:20]!r}")
refused("42 version", "of another protocol", b"GET /healthz PREFACE\r\n\r\n", 400)
refused("42 version", "none at all", b"GET /healthz\r\n\r\n", 400)
for method, status in ((b"GETX", 501), (b"GE", 501), (b"get", 501), (b"Get", 501), (b"G", 501), (b"POSTPOST", 501),
                       (b"CONNECT", 501), (b"G(T", 400), (b"", 400), (b" GET", 400), (b"G\x80T", 400), (b"BREW", 501)):
    refused("43 method", repr(method), get(method=method), status)
for method in (b"TRACE", b"QUERY"):
    served("43 method", f"{method} is known and of no route", get(method=method) + get(CLOSE), [405, 200])
for target in (b"/a b", b"/a\tb", b"/a#b", b"/\x01", b"/\x7f", b"/\x80", b"healthz", b"*", b"", b'/"', b"/<x>", b"127.0.0.1:80", b"/\\"):
    refused("44 target", repr(target), get(target=target), 400)
served("44 target", "what names nothing", get(target=b"/%") + get(target=b"/%00") + get(CLOSE, target=b"/healthz%2f"), [404, 404, 404])
for what, raw in {
    "two blanks": b"GET  " + LINE + b"\r\n" + HOST + b"\r\n", "two blanks behind": b"GET /healthz  HTTP/1.1\r\n" + HOST + b"\r\n",
    "tab": b"GET\t" + LINE + b"\r\n" + HOST + b"\r\n", "blank at the end": b"GET " + LINE + b" \r\n" + HOST + b"\r\n",
    "an empty line first, blank in it": b" \r\nGET " + LINE + b"\r\n" + HOST + b"\r\n",
}.items():
    refused("44 target", what, raw, 400)
H2C = (b"Connection: Upgrade, HTTP2-Settings", b"Upgrade: h2c", b"HTTP2-Settings: AAMAAABkAAQAAP__")
served("45 upgrade to h2c", "with settings", get(*H2C) + get(CLOSE), [200, 200])
served("45 upgrade to h2c", "with a body", b"POST /v1/messages HTTP/1.1\r\n" + HOST + b"".join(line + b"\r\n" for line in H2C) + b"Content-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello" + get(CLOSE), [202, 200])
served("45 upgrade to h2c", "in a list", get(b"Connection: upgrade, close", b"Upgrade: websocket, H2C"), [200])
if curl := shutil.which("curl"):
    for what, more, wanted in (("GET", ("/healthz",), b"200 1.1"), ("POST", ("/v1/messages", "-d", "upgrade by curl"), b"202 1.1")):
        path, *data = more
        got = subprocess.run([curl, "-s", "--http2", "-o", "/dev/null", "-w", "%{http_code} %{http_version}", *data, f"http://127.0.0.1:{server.port}{path}"], capture_output=True, timeout=20).stdout
        tally.check(got == wanted, f"curl --http2 {what}: {got!r}")
# It compiles the file first.
if shutil.which("javac"):
    got = subprocess.run(["java", ROOT / "Tests/Proof/clients/Defaults.java", server.url], capture_output=True, text=True, timeout=60)
    tally.check(got.stdout == "200\nupgrade by Java\n", f"Java's HttpClient: {got}")

# 46 to 48: what stands behind
refused("46 behind a refusal", "in the same piece", get(b"X : a"), 400)
received, closed = exchange(get(b"X : a"), BEHIND, BEHIND)
tally.check(len(answers(received)) == 1 and closed, "46 behind a refusal: in later pieces")
received, closed = exchange(get(b"X : a") + b"x" * 1_000_000, wait=8)
tally.check(closed, "46 behind a refusal: a flood ends the connection")
bystander("46 behind a refusal")
for value in (b"x", b"100", b"100-continue, x", b"100-continue;q=1", b"", b"100-Continues"):
    refused("47 expectation", repr(value), post(b"Expect: " + value, b"Content-Length: 5", body=b"hello"), 417, "UNMET_EXPECTATION")
refused("47 expectation", "repeated", post(b"Expect: 100-continue", b"Expect: 100-continue", b"Content-Length: 5", body=b"hello"), 417)
served("47 expectation", "met", [post(b"Expect: 100-Continue", b"Content-Length: 5", CLOSE), b"hello"], [100, 202])
served("47 expectation", "refused before the body", post(b"Expect: 100-continue", b"Content-Length: 99999999"), [413])
served("47 expectation", "HTTP/1.0 has none", post(b"Expect: 100-continue", b"Content-Length: 5", body=b"hello", version=b"HTTP/1.0"), [202])
for what, raw in {
    "GET with a length": get(b"Content-Length: %d" % len(BEHIND)) + BEHIND,
    "GET with chunks": get(b"Transfer-Encoding: chunked") + b"%x\r\n" % len(BEHIND) + BEHIND + b"\r\n0\r\n\r\n",
    "no such path": get(b"Content-Length: %d" % len(BEHIND), method=b"POST", target=b"/nothing") + BEHIND,
    "no such method there": get(b"Content-Length: %d" % len(BEHIND), method=b"DELETE", target=b"/v1/status") + BEHIND,
}.items():
    received, closed = exchange(raw, wait=1)
    found = answers(received)
    tally.check(len(found) == 1 and all(one[0] != 200 or closed for one in found), f"48 body behind the answer, {what}: {[one[0] for one in found]}")
    classes.add("48 body behind the answer")
received, closed = exchange(get(b"Content-Length: %d" % len(BEHIND)), BEHIND, wait=1)
tally.check(len(answers(received)) == 1, "48 body behind the answer: a body that comes later")

# Limits
refused("limit", "request line", get(target=b"/" + b"a" * 8192), 414, "REQUEST_LINE_TOO_LONG")
refused("limit", "request line without end", b"GET /" + b"a" * 9000, 414, behind=False)
refused("limit", "one field", get(b"X: " + b"a" * 17000), 431, "HEAD_TOO_LARGE")
refused("limit", "field block", get(*[b"X%d: " % n + b"a" * 500 for n in range(40)]), 431, "HEAD_TOO_LARGE")
refused("limit", "fields", get(*[b"X%d: a" % n for n in range(80)]), 431, "HEAD_TOO_LARGE")
refused("limit", "field without end", b"GET / HTTP/1.1\r\nX: " + b"a" * 20000, 431, behind=False)
refused("limit", "body by length", post(b"Content-Length: 99999999", body=b"hello"), 413, "BODY_TOO_LARGE")
refused("limit", "trailer", chunked(b"0\r\n" + b"".join(b"X%d: %s\r\n" % (n, b"a" * 200) for n in range(40)) + b"\r\n"), 431, "BAD_TRAILER")
block = b"10000\r\n" + b"a" * 65536 + b"\r\n"
raw = get(b"Content-Type: application/json", b"Transfer-Encoding: chunked", method=b"POST", target=b"/v1/tokens")
received, closed = exchange(raw + block * 20 + b"0\r\n\r\n", wait=5)
tally.check(closed and received.startswith(b"HTTP/1.1 413 "), f"limit body by chunks: {received[:24]!r} {closed}")
bystander("limit body by chunks")
served("limit", "60 fields", get(CLOSE, *[b"X%d: a" % n for n in range(60)]), [200])
served("limit", "a line of 8,000 bytes", get(CLOSE, target=b"/healthz?" + b"a" * 7900), [200])

# Pipelining, pieces, ends
served("pipelining", "three at once", get() + get() + get(CLOSE), [200, 200, 200])
served("pipelining", "kept open", get(), [200], closes=False)
served("pipelining", "HTTP/1.0 closes", get(version=b"HTTP/1.0"), [200])
served("pipelining", "HTTP/1.0 keep-alive", get(b"Connection: keep-alive", version=b"HTTP/1.0") + get(CLOSE), [200, 200])
served("pipelining", "behind a body", post(b"Content-Length: 5", body=b"hello") + get(CLOSE), [202, 200])
served("pipelining", "behind chunks", chunked(b"5\r\nhello\r\n0\r\n\r\n") + get(CLOSE), [202, 200])
served("pipelining", "behind HEAD", get(method=b"HEAD") + get(CLOSE), [200, 200], heads=(0,))
served("pipelining", "the client ends its side", get(), [200], half_close=True)
served("pipelining", "empty lines between", get() + b"\r\n" + get(CLOSE), [200, 200])
whole = chunked(b"5;a=b\r\nhello\r\n0\r\nX: a\r\n\r\n") + get(CLOSE)
served("pipelining", "in pieces", [whole[:1], whole[1:40], whole[40:]], [202, 200])
peer = socket.create_connection(("127.0.0.1", server.port), 5)
peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
for n in range(len(whole)):
    peer.sendall(whole[n:n + 1])
received = b""
while piece := peer.recv(65536):
    received += piece
peer.close()
tally.check([one[0] for one in answers(received)] == [202, 200], "pipelining byte by byte")

numbered = {int(kind.split()[0]) for kind in classes if kind[0].isdigit()}
tally.check(numbered == set(range(1, 49)), f"every class has a case; missing: {sorted(set(range(1, 49)) - numbered)}")
metrics = server.call("GET", "/metrics")[2].decode()
counted = sum(float(line.split()[-1]) for line in metrics.splitlines() if line.startswith("ladle_http_refusals_total"))
tally.check(counted >= refused_total, f"{counted} refusals in the metrics, {refused_total} here")
tally.check(server.stop() == 0, "the server ends as it should")
print(f"{refused_total} refusals in {len(numbered)} classes, {counted:.0f} counted in the metrics")
tally.end()
