"""One call of every operation, in an order in which each finds what it needs, for clients that generators made: a client makes the
calls with the names of its own language and tells what it was answered.

A step is an operation, its parameters by their names on the wire, its body, and the status it is answered with. `{name}` in it stands
for the client's name or for what an earlier step kept: `keep` says under which name, and where in the answer (`@ETag`: a field of it).
`awaits` repeats a long poll from where the last one ended, until it has an event of that type which is so."""

import json
import pathlib
import struct
import sys
import zlib


def png():
    """One pixel."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)) + chunk(
        b"IDAT", zlib.compress(bytes(4))) + chunk(b"IEND", b"")


def step(operation, status=200, body=None, keep=None, awaits=None, form=None, **parameters):
    """`form` names the schema of a body that may have several."""
    named = {name.replace("__", "-"): value for name, value in parameters.items()}
    return {"operation": operation, "status": status, "parameters": named, "body": body, "keep": keep or {}, "awaits": awaits,
            "form": form}


NEWEST = {"If__Match": "{tag}"}
EACH = [
    step("getHealth"), step("getReadiness"), step("getMetrics"), step("getOpenAPIAsJSON"), step("getOpenAPIAsYAML"), step("getAsyncAPI"),
    step("getStatus"), step("getFrames", limit=3), step("getGatewayReport"), step("getCluster"), step("beat", host="cellar", streams=3),
    step("streamEvents", poll=0, keep={"cursor": "cursor"}),
    # Sessions, messages, runs
    step("listAgents", refresh=True), step("listModels"),
    step("createSession", 201, {"label": "{name}"}, {"session": "key"}, Idempotency__Key="make-{name}"),
    step("sendMessage", 200, {"text": "echo {name}", "session": "{session}"}, {"entry": "entry.id"}, wait=30),
    step("listMessages", session="{session}", keep={"message": "messages/0/id"}),
    step("markSessionRead", body={"messageId": "{message}"}, key="{session}"),
    step("getRun", id="{entry}"), step("listRuns", session="{session}", brief=True), step("getActivity"), step("getGlance", fields="state,active,rev"),
    step("abortRun", id="{entry}"), step("abortSession", key="{session}"),
    step("getEntry", id="{entry}"), step("listOutbox", state="delivered,accepted", session="{session}"),
    step("retryEntry", 409, id="{entry}"),
    step("sendMessage", 202, {"text": "later", "session": "{session}", "notBefore": "{later}"}, {"entry": "id"}),
    step("cancelEntry", id="{entry}"),
    step("listSessions", kind="all", limit=5),
    step("getSession", key="{session}", keep={"tag": "@ETag"}),
    step("patchSession", body={"label": "{name} again", "model": None}, key="{session}", **NEWEST),
    step("getSession", key="{session}", keep={"tag": "@ETag"}), step("compactSession", key="{session}", **NEWEST),
    step("getSession", key="{session}", keep={"tag": "@ETag"}), step("resetSession", key="{session}", **NEWEST),
    # Approvals: one by a link, one by a decision
    step("sendMessage", 202, {"text": "approve date", "session": "{session}"}),
    step("streamEvents", poll=20, types="approval,run.*,message", since="{cursor}", keep={"approval": "approval.id"},
         awaits={"type": "approval", "session": "{session}", "approval.state": "pending"}),
    step("listApprovals", session="{session}"), step("getApproval", id="{approval}"),
    # The demo gateway has no standing grants.
    step("listApprovalGrants", 501), step("revokeApprovalGrant", 501, id="nothing"),
    step("listArtifacts", key="{session}"), step("getArtifact", 404, key="{session}", id="nothing"),
    step("speakMessage", 404, id="nothing", session="{session}"),
    step("linkApproval", 201, {"decision": "deny"}, {"link": "url"}, id="{approval}"),
    step("showApprovalLink", secret="{link}"), step("actOnApproval", secret="{link}"),
    step("sendMessage", 202, {"text": "approve date", "session": "{session}"}),
    step("streamEvents", poll=20, types="approval", since="{cursor}", keep={"approval": "approval.id"},
         awaits={"type": "approval", "session": "{session}", "approval.state": "pending"}),
    step("decideApproval", body={"decision": "allow-once"}, id="{approval}"),
    # Questions
    step("sendMessage", 202, {"text": "ask Who? me | you", "session": "{session}"}),
    step("streamEvents", poll=20, types="question", since="{cursor}",
         keep={"question": "question.id", "part": "question.questions/0/id"},
         awaits={"type": "question", "session": "{session}", "question.state": "pending"}),
    step("listQuestions"), step("getQuestion", id="{question}"),
    step("answerQuestion", body={"answers": {"{part}": ["me"]}}, id="{question}"),
    step("streamEvents", poll=20, types="run.*", since="{cursor}",
         awaits={"type": "run.ended", "session": "{session}", "run.state": "completed"}),
    # Documents
    step("getIdentity", keep={"tag": "@ETag"}),
    step("patchIdentity", body={"vibe": "{name} calls", "theme": None}, **NEWEST), step("patchIdentity", 412, {"vibe": "old"}, **NEWEST),
    step("putIdentity", body={"fields": {"name": "Ada"}}, If__Match="*"),
    step("getProfile", keep={"tag": "@ETag"}),
    step("patchProfile", body={"callName": "{name}"}, **NEWEST), step("putProfile", body={"markdown": "# USER.md\n"}, If__Match="*"),
    step("putAvatar", body="png", If__Match="*"), step("getAvatar"), step("deleteAvatar", 204, If__Match="*"),
    # Automations, nodes, usage
    step("listAutomations", enabled=True, keep={"job": "automations/0/id"}),
    step("getAutomation", id="{job}", keep={"tag": "@ETag"}),
    step("patchAutomation", body={"enabled": True}, id="{job}", **NEWEST),
    step("runAutomation", 202, id="{job}", Idempotency__Key="run-{name}"), step("listAutomationRuns", id="{job}"),
    step("wakeAgent", 202, {"text": "good morning", "mode": "now"}),
    step("listNodes"), step("getNode", id="1e7a3c2d-9b4f-4d68-8c23-6f8bad1e2034"),
    step("invokeNode", body={"command": "system.notify", "params": {"title": "{name}"}}, id="1e7a3c2d-9b4f-4d68-8c23-6f8bad1e2034",
         Idempotency__Key="tell-{name}"),
    step("getUsage"), step("getUsageCost"), step("listSessionUsage", limit=2),
    # Notifications
    step("createNotification", 201, {"title": "{name}", "priority": 4}), step("listNotifications", limit=3, keep={"note": "notifications/0/id"}),
    step("createSink", 201, {"name": "{name}", "kind": "webhook", "url": "http://127.0.0.1:9/", "quietHours": {"timeZone": "Europe/Berlin"}},
         {"sink": "id"}),
    step("listSinks"), step("getSink", id="{sink}", keep={"tag": "@ETag"}),
    step("patchSink", body={"enabled": True, "quietHours": "ignore"}, id="{sink}", **NEWEST), step("rotateSink", id="{sink}"),
    step("testSink", id="{sink}"), step("retryNotification", id="{note}"),
    step("createNotificationRule", 201, {"name": "{name}", "types": ["run.*"], "sinks": ["{sink}"], "kinds": ["chat"]}, {"rule": "id"}),
    step("listNotificationRules"), step("getNotificationRule", id="{rule}", keep={"tag": "@ETag"}),
    step("patchNotificationRule", body={"enabled": False}, id="{rule}", **NEWEST), step("deleteNotificationRule", 204, id="{rule}", If__Match="*"),
    step("deleteSink", 204, id="{sink}", If__Match="*"),
    step("getQuietHours", keep={"tag": "@ETag"}), step("putQuietHours", body={"enabled": False, "days": ["sun"], "mode": "digest"}, **NEWEST),
    step("muteNotifications", body={"forSeconds": 1}), step("unmuteNotifications", 204),
    # Access
    step("createTicket", 201, {"path": "/v1/status"}),
    step("createToken", 201, {"name": "{name}", "scopes": ["read"], "expiresInSeconds": 60}, {"token": "id"}), step("listTokens"),
    step("rotateToken", id="{token}"), step("revokeToken", 204, id="{token}"),
    step("applyForPairing", 202, {"name": "{name}", "scopes": ["read"]}, {"device": "id", "code": "code"}, form="PairingWish"),
    step("listPairing"), step("approvePairing", body={"code": "{code}"}), step("pollPairing", id="{device}"),
    step("applyForPairing", 202, {"name": "{name}", "scopes": ["read"]}, {"code": "code"}, form="PairingWish"),
    step("rejectPairing", body={"code": "{code}"}),
    step("createInvitation", 201, {"name": "{name}"}, {"invitation": "id"}), step("listInvitations"),
    step("getInvitation", id="{invitation}"), step("cancelInvitation", 204, id="{invitation}"),
    step("getSession", key="{session}", keep={"tag": "@ETag"}), step("deleteSession", key="{session}", **NEWEST),
]


def filled(value, kept):
    if isinstance(value, str):
        for name, text in kept.items():
            value = value.replace("{" + name + "}", text)
    elif isinstance(value, dict):
        return {filled(name, kept): filled(inner, kept) for name, inner in value.items()}
    elif isinstance(value, list):
        return [filled(inner, kept) for inner in value]
    return value


def at(place, value):
    for part in place.replace("/", ".").split("."):
        value = value[int(part)] if part.isdigit() else value.get(part) if isinstance(value, dict) else None
    return value


def lost(value, typed):
    """What the wire said and the typed answer does not have; None if it has all."""
    if isinstance(value, dict):
        if not isinstance(typed, dict):
            return f"{value} became {typed!r}"
        return next((f"{name}: {fault}" for name, inner in value.items() if (fault := lost(inner, typed.get(name)))), None)
    if isinstance(value, list):
        if not isinstance(typed, list) or len(typed) != len(value):
            return f"{value} became {typed!r}"
        return next((fault for inner, one in zip(value, typed) if (fault := lost(inner, one))), None)
    return None if value == typed or str(getattr(typed, "value", typed)) == str(value) else f"{value!r} became {typed!r}"


def run(name, later, call):
    """All steps. `call` makes one and gives the status, the fields, the body and the typed answer as JSON has it, and the name of its
    type; None if this client has not the operation. Prints what it found, for the check."""
    kept, said = {"name": name, "later": later}, []
    for one in EACH:
        while True:
            try:
                answer = call(one["operation"], filled(one["parameters"], kept), filled(one["body"], kept), one["form"])
            except Exception as error:  # of whatever kind a generated client throws; the check shows it
                said.append({"operation": one["operation"], "fault": f"{type(error).__name__}: {str(error)[:600]}"})
                break
            if answer is None:
                said.append({"operation": one["operation"], "absent": True})
                break
            status, fields, body, typed, kind = answer
            is_json = "json" in fields.get("content-type", "")
            value = json.loads(body) if is_json else None
            fault = lost(value, typed) if is_json else None
            if status != one["status"]:
                fault = f"answered {status}: {body[:400]!r}"
            said.append({"operation": one["operation"], "status": status, "kind": kind, "fault": fault})
            if fault:
                break
            found = value
            if one["awaits"]:
                kept["cursor"] = value["cursor"]
                wanted = filled(one["awaits"], kept)
                found = next((event for event in value["events"] if all(at(place, event) == so for place, so in wanted.items())), None)
                if found is None and value["events"]:
                    continue
                if found is None:
                    said[-1]["fault"] = f"no event came that is {wanted}"
                    break
            for word, place in one["keep"].items():
                kept[word] = fields[place[1:].lower()] if place[0] == "@" else at(place, found).rsplit("/v1/act/", 1)[-1]
            break
    print(json.dumps(said))


if __name__ == "__main__":
    # For clients in other languages.
    pathlib.Path(sys.argv[1]).write_text(json.dumps(EACH))
