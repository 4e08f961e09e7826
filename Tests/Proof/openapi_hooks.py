"""What schemathesis is told about Ladle that a schema cannot say, and two checks of our own: events and answers have their
documented form and no member beside it, and what the document says of every answer holds."""

import copy
import itertools
import json
import os
import pathlib
import re
import struct
import zlib
from datetime import datetime, timedelta, timezone

import jsonschema_rs
import schemathesis
import yaml
from hypothesis import strategies
from schemathesis.core.failures import Failure

DOCUMENT = yaml.safe_load((pathlib.Path(__file__).resolve().parents[2] / "openapi" / "openapi.yaml").read_text())
# Of 8192 bytes: what JSON says in one byte, a URL says in at most three.
LONGEST_LINE = 2500
OWN_TOKEN = os.environ["PROOF_TOKEN_ID"]
turns = itertools.count()


# MARK: Values


def png(width, height):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + bytes(3 * width) for _ in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def jpeg(width, height):
    def segment(marker, data):
        return b"\xff" + marker + struct.pack(">H", len(data) + 2) + data

    frame = struct.pack(">BHHB", 8, height, width, 1) + b"\x01\x11\x00"
    return b"\xff\xd8" + segment(b"\xc0", frame) + segment(b"\xda", b"\x01\x01\x00\x00\x3f\x00") + b"\x00\xff\xd9"


def webp(width, height):
    data = b"\x2f" + struct.pack("<I", width - 1 | height - 1 << 14) + b"\0"
    chunk = b"VP8L" + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", len(chunk) + 4) + b"WEBP" + chunk


sides = strategies.integers(1, 64)
for kind, picture in (("image/png", png), ("image/jpeg", jpeg), ("image/webp", webp)):
    schemathesis.openapi.media_type(kind, strategies.builds(picture, sides, sides))


# MARK: Requests


@schemathesis.hook
def before_call(context, case, kwargs):
    """Streams and waits end soon, times lie ahead, keys are new, agents exist, and every form of an answer is asked for in turn."""
    operation = case.operation.definition.raw["operationId"]
    query = case.query if isinstance(case.query, dict) else {}
    if operation == "streamEvents":
        shorten(query, "timeout", 1, always="poll" not in query)
        shorten(query, "poll", 0)
    if operation == "getGlance":
        shorten(query, "wait", 1)
    if operation == "sendMessage":
        shorten(query, "wait", 2)
        for place in (query, case.body if isinstance(case.body, dict) else {}):
            if isinstance(place.get("session"), str):
                place["session"] = re.sub(r"^([ \t]*agent:)[^:]*:", r"\1main:", place["session"], flags=re.IGNORECASE)
        if is_positive(case) and "Prefer" in case.headers and "wait=" not in case.headers["Prefer"]:
            case.headers["Prefer"] = ("wait=1", "respond-async", "return=minimal, wait=1")[next(turns) % 3]
    if isinstance(case.body, dict):
        for name in ("notBefore", "expiresAt"):
            if name in case.body:
                case.body[name] = ahead(case.body[name])
    key = case.headers.get("Idempotency-Key")
    if key and re.fullmatch(r'[!#-+\--:<-~]{1,200}|"(?:[ !#-\[\]-~]|\\["\\]){1,200}"', key):
        case.headers["Idempotency-Key"] = f'{key[:-1]}-{next(turns)}{key[-1]}'
    if is_positive(case) and "If-Match" in case.headers and not re.fullmatch(ENTITY_TAGS, case.headers["If-Match"]):
        case.headers["If-Match"] = "*"
    forms = sorted(answer_types(case.operation.definition.raw))
    if isinstance(case.body, dict) and case.body.get("notBefore"):
        # Its run is days away.
        forms = without_stream(forms)
        query.pop("wait", None)
        case.headers.pop("Prefer", None)
    if operation == "streamEvents" and "poll" not in query:
        forms = [form for form in forms if form != "application/json"]
    if operation == "getFrames":
        # Its stream has no end.
        forms = without_stream(forms)
    if not any(name.lower() == "accept" for name in case.headers):
        if forms:
            case.headers["Accept"] = forms[next(turns) % len(forms)]


def flags(operation):
    """The names of the parameters that are true or false, which the document lets be written in other ways too, in words."""
    return {resolved(one)["name"] for one in operation.get("parameters", ())
            if resolved(one)["schema"].get("$ref", "").endswith("/Flag")}


def without_stream(forms):
    return [form for form in forms if form != "text/event-stream"]


ENTITY_TAGS = DOCUMENT["components"]["schemas"]["EntityTags"]["pattern"]


def is_positive(case):
    return case.meta is not None and case.meta.generation.mode.is_positive


def shorten(query, name, most, always=False):
    value = query.get(name)
    if (value is None and always) or (re.fullmatch(r"[1-9]\d{0,8}", str(value)) and int(value) > most):
        query[name] = type(value)(most) if isinstance(value, (int, str)) else most


def ahead(text):
    """The same spelling of a time, an hour from now."""
    if isinstance(text, str) and re.match(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d", text):
        return (datetime.now(timezone.utc) + timedelta(days=2)).strftime("%Y-%m-%d") + text[10:]
    return text


def answer_types(operation):
    found = set()
    for status, answer in operation["responses"].items():
        if str(status).startswith("2"):
            found |= set(resolved(answer).get("content", {}))
    return found


@schemathesis.hook
def filter_case(context, case):
    """The token in use stays, a flag may be written as a number or bare, text, as a form that is none is, has no type to be wrong about, and a request line that is too long
    is refused before its operation is known, as the document says in words."""
    if any(str((case.query or {}).get(name)) in ("0", "1", "") for name in flags(case.operation.definition.raw)) and not is_positive(case):
        return False
    if len(json.dumps(case.query or {}, default=str)) + len(json.dumps(case.path_parameters or {}, default=str)) > LONGEST_LINE:
        return False
    if case.media_type == "application/x-www-form-urlencoded" and not is_positive(case):
        return False
    if (case.media_type or "").startswith("text/") and not isinstance(case.body, (str, bytes)):
        return False
    return (case.path_parameters or {}).get("id") != OWN_TOKEN


# MARK: Answers


def resolved(value):
    while "$ref" in value:
        place = DOCUMENT
        for part in value["$ref"][2:].split("/"):
            place = place[part]
        value = place
    return value


def close(schema):
    """Every object has the members that stand there and no others."""
    if isinstance(schema, dict):
        if "properties" in schema and "additionalProperties" not in schema:
            schema["additionalProperties"] = False
        for inner in schema.values():
            close(inner)
    elif isinstance(schema, list):
        for inner in schema:
            close(inner)


CLOSED = copy.deepcopy(DOCUMENT["components"]["schemas"])
close(CLOSED)
validators = {}


def fault(schema, value):
    key = json.dumps(schema, sort_keys=True)
    if key not in validators:
        validators[key] = jsonschema_rs.Draft202012Validator({**schema, "components": {"schemas": CLOSED}})
    error = next(iter(validators[key].iter_errors(value)), None)
    return error and f"{error.message[:600]} at {'/'.join(map(str, error.instance_path))}"


def blocks(text):
    """The data of a stream's blocks; a torn last one is none."""
    for block in text.split("\n\n")[:-1]:
        lines = [line for line in block.split("\n") if not line.startswith(":")]
        event = json.loads("\n".join(line[6:] for line in lines if line.startswith("data: ")))
        names = [line[7:] for line in lines if line.startswith("event: ")]
        if "type" in event and names != [event["type"]]:
            raise ValueError(f"event {names} carries type {event['type']}")
        yield event


@schemathesis.check
def documented_form(ctx, response, case):
    raw = case.operation.definition.raw
    answer = resolved(raw["responses"].get(str(response.status_code), {}))
    kind = (response.headers.get("content-type") or [""])[0].split(";")[0]
    media = answer.get("content", {}).get(kind)
    if not media or response.request.method == "HEAD":
        return
    if kind == "text/event-stream":
        items, schema = blocks(response.content.decode()), resolved(media["schema"])["properties"]["data"]["contentSchema"]
    elif "x-item-schema" in media:
        items, schema = [json.loads(line) for line in response.content.decode().splitlines()], media["x-item-schema"]
    elif kind == "application/json" and "$ref" in media["schema"]:
        items, schema = [response.json()], media["schema"]
    elif kind == "application/problem+json":
        items, schema = [response.json()], {"$ref": "#/components/schemas/Problem"}
    else:
        return
    for item in items:
        if found := fault(schema, item):
            raise Failure(
                operation=case.operation.label, title="Not of the documented form", message=f"{found}\n{json.dumps(item)[:900]}")


@schemathesis.check
def every_answer(ctx, response, case):
    """What the document says of every answer."""
    if not response.headers.get("ladle-version"):
        raise Failure(operation=case.operation.label, title="No Ladle-Version", message=f"{response.status_code}")
    if response.status_code >= 400 and (response.headers.get("content-type") or [""])[0] != "application/problem+json":
        raise Failure(operation=case.operation.label, title="An error that is no problem document", message=str(response.headers))
