"""`ladle discover` against a name server and a multicast responder of this file: table, --json, and what happens to a pin."""

import json
import socket
import struct
import threading

from harness import Tally, options, run_ladle

options()
tally = Tally()
PIN, OTHER = "ab" * 32, "cd" * 32
PTR, TXT, AAAA, SRV, A = 12, 16, 28, 33, 1


def name(text):
    return b"".join(bytes([len(part)]) + part.encode() for part in text.split(".") if part) + b"\0"


def records(domain, pin):
    service, host = f"_openclaw-gw._tcp.{domain}", f"studio.{domain}"
    full = f"studio.{service}"
    hints = ["role=gateway", "transport=gateway", "displayName=Studio \x1b[2J", "gatewayPort=18789", "gatewayTls=1",
             f"gatewayTlsSha256={pin}"]
    return {
        (service, PTR): name(full), (full, SRV): struct.pack(">HHH", 0, 0, 18789) + name(host),
        (full, TXT): b"".join(bytes([len(hint)]) + hint.encode() for hint in hints),
        (host, A): socket.inet_aton("192.0.2.7"), (host, AAAA): socket.inet_pton(socket.AF_INET6, "2001:db8::7"),
    }


def answer(query, known, echo):
    """What a server says to a query; multicast answers have no questions."""
    number, _, count = struct.unpack(">HHH", query[:6])
    place, questions, answers = 12, b"", []
    for _ in range(count):
        start, labels = place, []
        while query[place]:
            labels.append(query[place + 1:place + 1 + query[place]].decode())
            place += 1 + query[place]
        place += 5
        kind = struct.unpack(">H", query[place - 4:place - 2])[0]
        questions += query[start:place]
        text = ".".join(labels)
        data = known.get((text, kind))
        if data is not None:
            answers.append(name(text) + struct.pack(">HHIH", kind, 1, 120, len(data)) + data)
    if not answers and not echo:
        return None
    head = struct.pack(">HHHHHH", number, 0x8180 if echo else 0x8400, count if echo else 0, len(answers), 0, 0)
    return head + (questions if echo else b"") + b"".join(answers)


def serve(server, known, echo):
    def loop():
        while True:
            query, sender = server.recvfrom(9000)
            # A response, ours or another's, is no question.
            if len(query) > 12 and not query[2] & 0x80 and (said := answer(query, known, echo)):
                server.sendto(said, sender)
    threading.Thread(target=loop, daemon=True).start()


def discover(*arguments):
    return run_ladle("discover", *arguments)


def check(how, arguments, domain):
    done = discover(*arguments)
    line = next((line for line in done.stdout.splitlines() if "192.0.2.7" in line), "")
    tally.check(done.returncode == 0 and "wss://192.0.2.7:18789" in line and "Studio" in line and "\x1b" not in done.stdout,
                f"{how}: the table: {done}")
    done = discover(*arguments, "--json")
    found = [entry for entry in json.loads(done.stdout)["gateways"] if entry["host"] == f"studio.{domain}"]
    tally.check(len(found) == 1 and found[0]["url"] == "wss://192.0.2.7:18789" and found[0]["tls"]
                and found[0]["addresses"] == ["192.0.2.7", "2001:db8::7"] and "pin" not in found[0],
                f"{how}: --json: {done}")
    for pin, differs in [(PIN, False), (OTHER, True)]:
        pinned = [*arguments, "--gateway", "wss://192.0.2.7:18789", "--gateway-pin", pin]
        entry = [e for e in json.loads(discover(*pinned, "--json").stdout)["gateways"] if e["host"] == f"studio.{domain}"][0]
        tally.check(entry["pin"] == pin and entry.get("pinDiffers", False) == differs and entry["fingerprint"] == PIN,
                    f"{how}: the pin stays what it was: {entry}")
        tally.check(("the pin stays" in discover(*pinned).stdout) == differs, f"{how}: and a difference is told")
    print(f"{how}: {line}")


server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 0))
serve(server, records("claw.example", PIN), True)
there = ["--domain", "claw.example", "--server", f"127.0.0.1:{server.getsockname()[1]}"]
check("unicast", there, "claw.example")
done = discover("--domain", "other.example", *there[2:], "--json")
tally.check(json.loads(done.stdout) == {"gateways": []}, f"a domain without gateways: {done}")
for wrong in (["--server", "127.0.0.1:53"], ["--domain", "a", "--server", "localhost"], ["--timeout", "0"]):
    tally.check(discover(*wrong).returncode == 64, f"{wrong} is a mistake in the command line")

multicast = None
for index, interface in socket.if_nameindex():
    flags = int(open(f"/sys/class/net/{interface}/flags").read(), 16)
    # Up, multicast, no loopback: those the browser asks on.
    if flags & 0x1001 == 0x1001 and not flags & 8:
        multicast = multicast or index
if multicast:
    responder = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    responder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    responder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    responder.bind(("", 5353))
    group = socket.inet_aton("224.0.0.251") + socket.inet_aton("0.0.0.0") + struct.pack("@i", multicast)
    responder.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, group)
    serve(responder, records("local", PIN), False)
    check("multicast", ["--timeout", "1"], "local")
else:
    print("multicast: this host has no interface for it")
tally.end()
