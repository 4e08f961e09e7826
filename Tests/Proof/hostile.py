"""A gateway that means harm, against the built program: broken WebSocket, mutated frames and answers, texts and ids without
end, a new name in every frame. Whatever comes, the program lives, answers, counts it, stays small, and is of use again."""

import copy
import itertools
import json
import random
import socket
import struct
import threading
import time

from harness import ROOT, SANITIZER, Serve, Stopwatch, Tally, options, until
from scripted_gateway import HELLO, Gateway, frame

chosen = options(frames=(3_000, 100_000), seed=(1, 7))
tally = Tally()
dice = random.Random(chosen.seed)
MIB = 1 << 20


# MARK: What is sent

def run(number=0, session="agent:main:main"):
    return {"runId": f"run-{number}", "sessionKey": session}


def seeds():
    """Frames of every kind that the program reads, and the recorded ones."""
    said = {"role": "assistant", "content": [{"type": "text", "text": "words"}], "timestamp": 1767225606000}
    tool = {"phase": "start", "name": "exec", "toolCallId": "call_9", "args": {"command": "ls -l | grep x"}}
    request = {"command": "rm -r build", "cwd": "/srv", "host": "gateway", "agentId": "main", "sessionKey": "agent:main:main"}
    payloads = [
        ("agent", {**run(), "seq": 1, "stream": "lifecycle", "ts": 1767225605120, "data": {"phase": "start", "startedAt": 1}}),
        ("agent", {**run(), "seq": 2, "stream": "assistant", "ts": 2, "data": {"text": "So", "delta": "So"}}),
        ("agent", {**run(), "seq": 3, "stream": "tool", "ts": 3, "data": tool}),
        ("agent", {**run(), "seq": 4, "stream": "tool", "ts": 4,
                   "data": {**tool, "phase": "result", "isError": False, "result": {"details": {"exitCode": 0}}}}),
        ("agent", {**run(), "seq": 5, "stream": "thinking", "ts": 5, "data": {"text": "hm", "delta": "hm"}}),
        ("agent", {**run(), "seq": 9, "stream": "lifecycle", "ts": 9, "data": {"phase": "end", "endedAt": 9}}),
        ("session.tool", {**run(), "seq": 3, "stream": "tool", "ts": 3, "data": tool}),
        ("chat", {**run(), "seq": 6, "state": "delta", "deltaText": "So", "message": said}),
        ("chat", {**run(), "seq": 7, "state": "final", "message": said}),
        ("chat", {**run(1), "seq": 7, "state": "error", "errorMessage": "no", "errorKind": "timeout"}),
        ("session.message", {"sessionKey": "agent:main:main", "message": {**said, "__openclaw": {"id": "m1", "seq": 3}}}),
        ("sessions.changed", {"sessionKey": "agent:main:main", "reason": "patch", "session": {"label": "x", "model": "m"}}),
        ("sessions.changed", {"sessionKey": "agent:main:main", "phase": "start", "ts": 5, "runId": "run-0"}),
        ("exec.approval.requested", {"id": "a-1", "request": request, "createdAtMs": 1, "expiresAtMs": 2}),
        ("exec.approval.resolved", {"id": "a-1", "decision": "allow-once", "ts": 4}),
        ("presence", {"presence": [{"ts": 1, "host": "h"}], "stateVersion": {"presence": 2, "health": 1}}),
        ("health", {"ok": True}), ("tick", {"ts": 1}), ("cron", {"jobId": "j", "action": "run"}), ("heartbeat", {"ts": 1}),
    ]
    found = [{"type": "event", "event": name, "payload": payload} for name, payload in payloads]
    for file in sorted((ROOT / "Tests/Data/captures").glob("*.jsonl")):
        for line in file.read_text().splitlines()[:40]:
            entry = json.loads(line)
            said = entry.get("frame")
            if entry["dir"] == "in" and isinstance(said, dict) and said.get("event") not in ("shutdown", "connect.challenge"):
                found.append(said)
    return found


ODD = [None, True, False, 0, -1, 1, 2**31, 2**53 + 1, 2**63, -(2**63), 10**30, 1e308, -1e-308, "", " ", "x" * 300, "\0",
       "\ud800", "\u2028\u202e", "é" * 100, "../../etc/passwd", "agent:", "agent:main:" + "x" * 600, "final", "start", "end",
       [], {}, [[]], [None] * 50, {"": ""}, {"type": "text"}, "1767225605120", 1767225605120, "lifecycle", "<b>"]


def mutated(value):
    """A copy with some members replaced, dropped, doubled or swapped."""
    value = copy.deepcopy(value)
    for _ in range(dice.randint(1, 3)):
        at, place = None, value
        while isinstance(place, (dict, list)) and place and dice.random() < 0.85:
            at = place, dice.choice(list(place) if isinstance(place, dict) else range(len(place)))
            place = place[at[1]]
        if at is None:
            continue
        holder, key = at
        kind = dice.randrange(5)
        if kind < 3:
            holder[key] = copy.deepcopy(dice.choice(ODD))
        elif kind == 3:
            del holder[key]
        elif isinstance(holder, list):
            holder.extend(holder[:10])
        else:
            holder[dice.choice(list(holder))] = copy.deepcopy(holder[key])
    return value


def scratched(text):
    """Bytes changed, cut or repeated, as no program would write them."""
    data = bytearray(text)
    for _ in range(dice.randint(1, 4)):
        place = dice.randrange(len(data) + 1)
        kind = dice.randrange(4)
        if kind == 0 and data:
            data[place % len(data)] = dice.randrange(0x20, 0x7F)
        elif kind == 1:
            del data[place:place + dice.randrange(9)]
        elif kind == 2:
            data[place:place] = data[place:place + dice.randrange(40)]
        else:
            data[place:place] = dice.choice([b"[" * 500, b'{"a":' * 100, b"\\u0000", b"\\ud800", b'"', b",", b"1e999", b"\xe2\x82\xac"])
    return data.decode("utf-8", "ignore")


def torn():
    """Each breaks the protocol in its own way, and has to end the connection with the right code."""
    word = "text"
    broken = [
        ("a reserved bit", frame(word, first=0xC0), 1002), ("an unknown opcode", frame(word, opcode=3), 1002),
        ("an unknown control opcode", frame(b"", opcode=11), 1002),
        ("a masked frame", b"\x81\x84\0\0\0\0text", 1002), ("a continuation of nothing", frame(word, opcode=0), 1002),
        ("a second start", frame(word, first=0) + frame(word), 1002), ("a torn ping", frame(b"", opcode=9, first=0), 1002),
        ("a ping of 126 bytes", frame(b"x" * 126, opcode=9), 1002), ("a close of one byte", frame(b"x", opcode=8), 1002),
        ("a close with code 1005", frame(struct.pack(">H", 1005), opcode=8), 1002),
        ("no UTF-8", frame(b"\xff\xfe"), 1007), ("half a character", frame(b"\xe2\x82"), 1007),
        ("a surrogate", frame(b"\xed\xa0\x80"), 1007), ("a length of 2^63", b"\x81\x7f" + b"\xff" * 8, (1002, 1009)),
        ("a length that could be shorter", b"\x81\x7e\x00\x05hello", 1002),
        ("a message of 30 MB", b"\x81\x7f" + struct.pack(">Q", 30_000_000), 1009),
    ]
    if chosen.long:
        endless = frame(b"x" * 60_000, first=0) + frame(b"x" * 60_000, opcode=0, first=0) * 500
        broken.append(("fragments without end", endless, 1009))
    return broken


# MARK: The checks

gateway = Gateway()
server = Serve(gateway=gateway.url).linked()


def online(what):
    """Up again, whatever wait the last ending led to."""
    def up():
        shown = server.link()
        if shown["state"] == "offline":
            server.process.send_signal(1)
            time.sleep(0.05)
        return shown["state"] == "online"
    return until(up, 30, 0.02, what)


def settled(what):
    """Everything sent so far was read: an event sent last has come through, and the program answers."""
    received, same = -1, 0
    end = time.monotonic() + 120
    while same < 3 and time.monotonic() < end:
        now = server.metric("ladle_link_received_frames_total")
        same = same + 1 if now == received else 0
        received = now
        time.sleep(0.05)
    watch = Stopwatch(server)
    code = server.call("GET", "/v1/status")[0]
    took = watch.seconds
    tally.check(code == 200 and took < 1, f"answers after {what}: {code} in {took:.2f} s")


def attack(what, behave, answer=None, most=32):
    """Runs one behaviour on a fresh connection and holds the growth against `most` MiB."""
    done = threading.Event()

    def act(connection):
        try:
            behave(connection)
        except OSError:
            pass
        finally:
            done.set()

    gateway.behave, gateway.answer = act, answer or gateway.kind
    before, odd = server.resident(), server.metric("ladle_link_odd_frames_total")
    reconnect()
    tally.check(done.wait(180), f"{what}: everything is taken")
    settled(what)
    gateway.behave, gateway.answer = lambda connection: None, gateway.kind
    growth = (server.resident() - before) / MIB
    print(f"{what}: resident {before / MIB:.0f} {growth:+.1f} MiB, odd frames {server.metric('ladle_link_odd_frames_total') - odd:+.0f}", flush=True)
    # A sanitizer keeps what was freed.
    tally.check(growth < most or SANITIZER, f"{what}: {growth:.1f} MiB more")
    tally.check(server.process.poll() is None, f"{what}: the program lives")


def reconnect():
    """Cuts the connection; the one that follows, as soon as there is one."""
    count = len(gateway.connections)
    try:
        gateway.connections[-1].client.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass

    def again():
        server.process.send_signal(1)
        return len(gateway.connections) > count
    try:
        until(again, 20, 0.05, "the next connection")
    except TimeoutError:
        print(server.process.poll(), len(gateway.connections), count, server.output[-3000:])
        raise
    return gateway.connections[count]


def broken():
    for what, data, code in torn():
        gateway.behave = lambda connection: connection.send(data)
        count = len(gateway.connections)
        reconnect()
        # The first connection may be one that was given up for a newer one before its handshake.
        closed = until(lambda: next((each.code for each in gateway.connections[count:] if each.code), None), 90, what=f"the close after {what}")
        tally.check(closed == code or isinstance(code, tuple) and closed in code, f"{what}: closed with {closed}")
        gateway.behave = lambda connection: None
        online(what)


def mutants(connection):
    count = chosen.frames
    for start in range(0, count, 200):
        batch = b"".join(
            frame(json.dumps(mutated(dice.choice(SEEDS)))) if dice.random() < 0.7
            else frame(scratched(json.dumps(dice.choice(SEEDS)).encode()))
            for _ in range(min(200, count - start)))
        connection.send(batch)


def wrong_answers(connection, request):
    """Each request gets one answer that is wrong inside, and others: for nobody, in odd words, a second time."""
    good = {"type": "res", "id": request["id"], "ok": True, "payload": dice.choice(SEEDS).get("payload", {})}
    error = {"type": "res", "id": request["id"], "ok": False, "error": {
        "code": "INVALID_REQUEST", "message": "missing scope: operator.admin", "details": {"code": "MISSING_SCOPE"},
        "retryable": True, "retryAfterMs": 5}}
    for _ in range(dice.randrange(3)):
        connection.text(mutated({**dice.choice([good, error]), "id": dice.choice(["invalid", "", 7, None, "x-1"])}))
    inside = dice.choice([good, error])
    connection.text({**inside, **{key: mutated([value])[:1] for key, value in inside.items() if key in ("payload", "error")}}
                    if dice.random() < 0.3 else {**mutated(inside), "type": "res", "id": request["id"]})
    if dice.random() < 0.2:
        connection.text({**error, "id": request["id"]})


def asked(connection):
    """Requests of every kind, so that there is something to answer wrongly."""
    paths = ["/v1/identity?refresh=true", "/v1/profile?refresh=true", "/v1/sessions", "/v1/agents", "/v1/messages?limit=5"]
    for number in range(12):
        for path in paths:
            server.call("GET", path, timeout=60)
        server.call("POST", "/v1/messages", f"number {number}", {"Content-Type": "text/plain"})


def names(connection):
    """Nothing ever ends and nothing comes twice."""
    count = chosen.frames // 4
    pad = "x" * 200
    for start in range(0, count, 100):
        batch = b""
        for number in range(start, start + 100):
            session = f"agent:main:s{number}-{pad}"
            start_frame = {**run(number, session), "seq": 1, "stream": "lifecycle", "data": {"phase": "start"}}
            batch += frame(json.dumps({"type": "event", "event": "agent", "payload": start_frame}))
            batch += frame(json.dumps({"type": "event", "event": "sessions.changed", "payload": {
                "sessionKey": session, "reason": "new", "session": {"label": pad, "model": pad}}}))
            batch += frame(json.dumps({"type": "event", "event": "exec.approval.requested", "payload": {
                "id": f"approval-{number}", "request": {"command": pad, "sessionKey": session}}}))
            batch += frame(json.dumps({"type": "res", "id": f"nobody-{number}", "ok": True, "payload": {"x": pad}}))
        connection.send(batch)


def crowd(connection):
    """As many runs as there can be, all in one session, each with steps and text."""
    count = chosen.frames // 4
    for number in range(count):
        named = run(number)
        batch = b""
        for seq, (stream, data) in enumerate([
                ("lifecycle", {"phase": "start"}), ("assistant", {"text": "w" * 2000, "delta": "w" * 2000}),
                ("tool", {"phase": "start", "name": "n" * 500, "toolCallId": f"c{number}", "args": {"path": "p" * 500}})], 1):
            batch += frame(json.dumps({"type": "event", "event": "agent", "payload": {**named, "seq": seq, "stream": stream, "data": data}}))
        connection.send(batch)


def fat(connection):
    """A few frames of a few MiB, each with its weight in another member."""
    weight = "w" * (2 * MIB)
    for number in range(24):
        session = f"agent:main:fat{number}"
        for payload in [
            {**run(number, session), "seq": 1, "stream": "lifecycle", "data": {"phase": "start"}},
            {**run(number, session), "seq": 2, "stream": "assistant", "data": {"text": weight, "delta": weight}},
            {**run(number, session), "seq": 3, "stream": "tool", "data": {"phase": "start", "name": weight, "toolCallId": weight, "args": {"command": weight}}},
            {**run(weight + str(number), session), "seq": 1, "stream": "lifecycle", "data": {"phase": "start"}},
            {**run(number, session + weight), "seq": 1, "stream": "lifecycle", "data": {"phase": "start"}},
        ]:
            connection.event("agent", payload)
        connection.event("sessions.changed", {"sessionKey": session, "reason": "patch", "session": {"label": weight, "model": weight}})
        connection.event("session.message", {"sessionKey": session, "message": {"role": "user", "content": weight}})


def wide(connection):
    """JSON of many small values: what a reader makes of it is larger than what was sent."""
    body = ("[" + "0," * (4 * MIB) + "0]")
    for _ in range(3):
        connection.text('{"type":"event","event":"presence","payload":' + body + "}")
        connection.text('{"type":"event","event":"presence","payload":{' + '"":[],' * MIB + '"a":0}}')
        connection.text("[" * 2 * MIB)


def pings(connection):
    """Pings and pongs by the ten thousand, and messages in fragments of a byte."""
    connection.send(frame(b"p" * 125, opcode=9) * (chosen.frames * 2))
    connection.send(frame(b"p" * 125, opcode=10) * (chosen.frames * 2))
    text = json.dumps({"type": "event", "event": "tick", "payload": {"ts": 1}}).encode()
    for _ in range(50):
        pieces = [frame(bytes([byte]), opcode=0 if place else 1, first=0) for place, byte in enumerate(text)]
        connection.send(b"".join(pieces) + frame(b"", opcode=0, first=0) * 500 + frame(b"", opcode=0))


def large():
    """Messages of 24 MiB that hold as many JSON values as they can. Other clients are asked on a schedule meanwhile, so that
    a wait counts as often as it strikes; their 99th percentile stays under 50 ms, in the release build that the long form
    is for."""
    whole = frame(b'{"type":"event","event":"presence","payload":[' + b"{}," * (8 * MIB - 64) + b"{}]}")
    took, done = [], threading.Event()

    def ask():
        watch = Stopwatch(server)
        for number in itertools.count():
            if done.is_set():
                return
            due = number * 0.01
            time.sleep(max(due - watch.seconds, 0))
            server.call("GET", "/healthz")
            took.append(watch.seconds - due)

    def send(connection):
        asker.start()
        for _ in range(20 if chosen.long else 2):
            connection.send(whole)

    asker = threading.Thread(target=ask, daemon=True)
    # One is taken apart, four times its size, while the next one comes in.
    attack("large frames", send, most=320)
    done.set()
    asker.join()
    slow = sorted(took)[len(took) * 99 // 100] * 1e3
    print(f"large frames: {len(took)} answers to others, 99 % within {slow:.0f} ms, all within {max(took) * 1e3:.0f} ms")
    tally.check(slow < (50 if chosen.long else 5000) or SANITIZER, f"large frames: the 99th percentile of others is {slow:.0f} ms")


def hellos():
    """Hello answers that are odd where they may be, and none where there is none."""
    for number in range(40):
        gateway.hello = mutated(HELLO)
        reconnect()
    gateway.hello = HELLO
    policies = [{"tickIntervalMs": value, "maxPayload": value, "maxBufferedBytes": value} for value in (0, -1, 1, 2**63, "x", None)]
    for policy in policies:
        gateway.hello = {**HELLO, "policy": policy}
        reconnect()
    gateway.hello = HELLO
    reconnect()
    online("a good hello")
    tally.check(True, "odd hellos")


def pages():
    """What is no WebSocket at all."""
    for raw in [b"", b"HTTP/1.1 200 OK\r\n\r\n<html>", b"\0" * 70_000, b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
                b"HTTP/1.1 101 X\r\n" + b"A: b\r\n" * 20_000, b"\x16\x03\x01\x02\x00", b"HTTP/1.1 503 Busy\r\nRetry-After: 99999999999\r\n\r\n"]:
        gateway.raw = raw
        reconnect()
        shown = until(lambda: (lambda now: now if now["state"] not in ("online", "connecting") else None)(server.link()), what="the end of it")
        tally.check(shown["code"] and shown["detail"], f"{raw[:20]}: {shown}")
    gateway.raw = None
    reconnect()
    online("a gateway again")


SEEDS = seeds()
print(f"{len(SEEDS)} frames to start from, seed {chosen.seed}")
broken()
pages()
hellos()
attack("mutated frames", mutants)
attack("wrong answers", asked, wrong_answers)
attack("pings and crumbs", pings)
attack("new names", names, most=64)
attack("runs that never end", crowd, most=64)
large()
if chosen.long:
    attack("fat members", fat, most=160)
    attack("wide and deep JSON", wide, most=160)
reconnect()
online("a gateway that means well")
code, answer = server.json("POST", "/v1/messages?wait=20", {"text": "still here?"}, None)
tally.check(code == 200, f"a message goes through after all of it: {code} {answer}")
tally.check(server.metric("ladle_link_odd_frames_total") > 0, "odd frames are counted")
shown = server.json("GET", "/v1/activity")[1]
tally.check(shown.get("active") is not None, f"activity can be read: {str(shown)[:200]}")
print(f"in the end: resident {server.resident() / MIB:.0f} MiB, {server.descriptors()} descriptors")
tally.check(server.stop() == 0, f"it stops when asked: {server.output[-500:]}")
tally.end()
