#!/usr/bin/env python3
"""Trims a recording of a gateway to what the replay of ServiceTests reads: trim.py SOURCE... FOLDER

Left out: health, presence, ticks; methods, session rows and members that Ladle does not read; the events of a second client
beside the first; the recorder's digests of answers; answers that say the same as the one before and the one after; four in
five of the pieces in the middle of a streamed text, which is cumulative. Nothing is changed that stays.
"""
import json
import os
import sys

EVENTS = {"agent", "chat", "session.message", "session.tool", "sessions.changed", "shutdown", "connect.challenge",
          "exec.approval.requested", "exec.approval.resolved"}
CALLS = {"connect", "chat.send", "chat.history", "sessions.list", "agent.wait", "chat.abort", "sessions.reset",
         "sessions.describe", "sessions.subscribe", "chat.message.get", "sessions.get"}
ROW = {"key", "displayName", "label", "status", "hasActiveRun", "abortedLastRun", "updatedAt", "startedAt", "endedAt",
       "sessionId"}
CHANGED = ROW - {"displayName"} | {"sessionKey", "phase", "reason", "runId", "ts", "session", "isHeartbeat"}
MESSAGE = {"sessionKey", "message", "messageId", "messageSeq"}
METHODS = {"agent.wait", "agents.files.get", "agents.files.set", "agents.list", "chat.abort", "chat.history",
           "chat.message.get", "chat.send", "exec.approval.list", "exec.approval.resolve", "models.list", "sessions.abort",
           "sessions.create", "sessions.describe", "sessions.get", "sessions.list", "sessions.messages.subscribe",
           "sessions.patch", "sessions.preview", "sessions.reset", "sessions.subscribe"}
# The streamed runs after the first are the same again, measured.
LIMITS = {"poll-cost": 45_000}
EVERY = 5
DIGESTS = ("history ", "chat.send repeated", '"')


def only(value, names):
    return {name: item for name, item in value.items() if name in names}


def row(value):
    return only(value, ROW)


def message(value):
    return {name: item for name, item in value.items() if name not in ("usage", "api", "provider", "model", "responseId")}


def hello(value):
    snapshot = only(value.get("snapshot", {}), {"uptimeMs", "sessionDefaults"})
    methods = [name for name in value["features"]["methods"] if name in METHODS]
    kept = only(value, {"type", "protocol", "policy"})
    return kept | {"server": only(value["server"], {"version"}), "features": {"methods": methods}, "snapshot": snapshot,
                   "auth": only(value.get("auth") or {}, {"role", "scopes"})}


def event(frame):
    payload = frame["payload"]
    match frame["event"]:
        case "sessions.changed":
            payload = only(payload, CHANGED)
        case "session.message":
            payload = only(payload, MESSAGE) | {"message": message(payload["message"])}
        case "session.tool" | "agent":
            payload = {name: item for name, item in payload.items() if name not in ("session", "agentId", "sessionId")
                       and name not in ROW - {"status"}}
    if isinstance(payload.get("session"), dict):
        payload["session"] = only(payload["session"], ROW - {"displayName"})
    return only(frame, {"type", "event", "seq"}) | {"payload": payload}


def answer(frame, method, sessions):
    payload = frame.get("payload")
    if not isinstance(payload, dict):
        return frame
    if method == "connect" and payload.get("type") == "hello-ok":
        payload = hello(payload)
    elif method == "sessions.list":
        payload = {"ts": payload.get("ts"), "sessions": [row(it) for it in payload["sessions"] if it["key"] in sessions]}
    elif method in ("chat.history", "sessions.get") and "messages" in payload:
        payload = payload | {"messages": [message(it) for it in payload["messages"]]}
        for name in ("sessionInfo", "session"):
            if isinstance(payload.get(name), dict):
                payload[name] = row(payload[name])
        for name in ("defaults", "thinkingLevels", "thinkingOptions"):
            payload.pop(name, None)
    elif method == "sessions.describe" and isinstance(payload.get("session"), dict):
        payload = {"session": row(payload["session"])}
    return frame | {"payload": payload}


def request(frame):
    params = frame.get("params", {})
    if frame["method"] == "connect":
        params = only(params, {"role", "scopes", "caps"})
    for item in params.get("attachments", []):
        item["content"] = ""
    return only(frame, {"type", "id", "method"}) | {"params": params}


def piece(line):
    """The run and stream of a piece of streamed text."""
    frame = line["frame"]
    if line["dir"] != "in" or frame.get("type") != "event":
        return None
    payload = frame["payload"]
    if frame["event"] == "chat" and payload.get("state") == "delta":
        return (line["conn"], payload["runId"], "chat")
    if frame["event"] == "agent" and payload.get("stream") in ("assistant", "thinking"):
        return (line["conn"], payload["runId"], payload["stream"])
    if frame["event"] in ("agent", "session.tool") and payload.get("data", {}).get("phase") in ("delta", "update"):
        return (line["conn"], payload["runId"], frame["event"] + payload["stream"] + payload["data"]["phase"])
    return None


def thinned(lines):
    """Of each unbroken sequence of pieces the first two, the last two and every third are kept."""
    kept, waiting = [], {}
    for line in lines:
        of = piece(line)
        if of is None:
            if line["dir"] != "out" and not (line["dir"] == "in" and line["frame"].get("type") == "res"):
                waiting = {}
            kept.append(line)
            continue
        sequence = waiting.setdefault(of, [])
        sequence.append(line)
        kept.append(line)
        place = len(sequence) - 3
        if place >= 2 and place % EVERY:
            sequence[place]["left out"] = True
    return [line for line in kept if "left out" not in line]


def meaning(frame):
    """An answer without what changes from one moment to the next."""
    payload = frame.get("payload")
    if not isinstance(payload, dict):
        return json.dumps(frame.get("error"))
    payload = {name: item for name, item in payload.items() if name != "ts"}
    if isinstance(payload.get("inFlightRun"), dict):
        payload["inFlightRun"] = payload["inFlightRun"]["runId"]
    return json.dumps(payload)


def without_repeats(lines):
    """Of equal answers to equal questions in a row the first and the last are kept, with their questions."""
    questions, series, left_out = {}, {}, set()
    for place, line in enumerate(lines):
        frame = line["frame"]
        if line["dir"] == "out":
            questions[line["conn"], frame["id"]] = (place, frame)
        elif line["dir"] == "in" and frame.get("type") == "res":
            asked = questions.get((line["conn"], frame["id"]))
            if asked is None or asked[1]["method"] not in ("chat.history", "sessions.list", "agent.wait"):
                continue
            question = (line["conn"], asked[1]["method"], json.dumps(asked[1]["params"]))
            equal = series.get(question)
            if equal and equal[0] == meaning(frame):
                equal[1].append((asked[0], place))
                if len(equal[1]) > 2:
                    left_out.update(equal[1].pop(1))
            else:
                series[question] = (meaning(frame), [(asked[0], place)])
    return [line for place, line in enumerate(lines) if place not in left_out]


def beside(lines):
    """Connections that were open at the same time as an earlier one."""
    first, beside, open_now = None, set(), set()
    for line in lines:
        name = line.get("conn")
        if name is None or name in beside:
            continue
        if first not in (None, name) and first in open_now:
            beside.add(name)
            continue
        first = name
        open_now.add(name)
        if line["dir"] == "close":
            open_now.discard(name)
    return beside


def trimmed(lines, limit):
    methods, sessions, kept, others = {}, set(), [], beside(lines)
    for line in lines:
        if limit and line["t"] > limit:
            break
        frame = line["frame"]
        if line["dir"] == "out":
            methods[line["conn"], frame["id"]] = frame["method"]
            if frame["method"] == "chat.send":
                sessions.add(frame["params"]["sessionKey"])
    for line in lines:
        if limit and line["t"] > limit:
            break
        frame = line["frame"]
        if line["dir"] == "out":
            if frame["method"] not in CALLS:
                continue
            line["frame"] = request(frame)
        elif line["dir"] == "in" and frame["type"] == "event":
            if frame["event"] not in EVENTS or line["conn"] in others:
                continue
            line["frame"] = event(frame)
        elif line["dir"] == "note" and str(frame).startswith(DIGESTS):
            continue
        elif line["dir"] == "in":
            method = methods.get((line["conn"], frame["id"]))
            if method not in CALLS:
                continue
            line["frame"] = answer(frame, method, sessions)
        kept.append(line)
    return without_repeats(thinned(kept))


def main():
    *sources, folder = sys.argv[1:]
    for source in sources:
        name = os.path.basename(source)
        with open(source) as file:
            lines = [json.loads(line) for line in file]
        with open(os.path.join(folder, name), "w") as file:
            for line in trimmed(lines, LIMITS.get(name.split(".")[0])):
                file.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n")


main()
