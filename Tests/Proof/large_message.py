"""A message of nearly 25 MB: taken, replayed, sent whole, and hardly noticed by somebody else's requests."""

import base64
import json
import os
import time

from timed_client import TimedClient
from harness import LADLE, Serve, Tally, options, until

options()
tally = Tally()
ROUNDS = 5
ladle = Serve("--limits-sends-burst", "100", "--limits-all-sends-burst", "1000", "--outbox-max-attachment-bytes", "500MiB")
picture = b"\x89PNG" + os.urandom(3_000_000)
data = base64.b64encode(picture).decode()


def body(text, count=6, content=data):
    return json.dumps({"text": text, "attachments": [{"name": f"{n}.png", "mimeType": "image/png", "data": content} for n in range(count)]}).encode()


def send(content, key):
    start = time.monotonic()
    status, fields, answer = ladle.call("POST", "/v1/messages", content, {"Content-Type": "application/json", "Idempotency-Key": key}, timeout=120)
    return status, fields, json.loads(answer), (start, time.monotonic())


def ended(answer):
    until(lambda: ladle.json("GET", f"/v1/outbox/{answer['id']}")[1]["state"] == "delivered", seconds=60, what=f"delivery of {answer['id']}")


bystander = TimedClient(ladle.port)
until(lambda: len(bystander.times) > 200, what="the bystander")
quiet = bystander.during((0, time.monotonic()))
spans = []
for number in range(ROUNDS):
    status, _, answer, span = send(body(f"large {number}"), f"key-{number}")
    tally.check(status == 202, f"a large message: {status} {answer}")
    ended(answer)
    spans.append((span[0], time.monotonic()))
busy = bystander.during(*spans)
worst, typical = busy[-1], busy[int(len(busy) * 0.99)]
took = min(end - start for start, end in spans) * 1000
print(f"large: {len(body('x')) / 1e6:.0f} MB in {took:.0f} ms to its delivery; beside it a GET takes {busy[len(busy) // 2]:.1f} ms, p99 {typical:.1f}, at worst {worst:.0f}; alone p99 {quiet[int(len(quiet) * 0.99)]:.1f}")
if "release" in str(LADLE):
    tally.check(typical < 50, f"p99 beside a large message: {typical:.1f} ms")
tally.check(worst < took / 3, f"nobody waits while a large message is gone through: {worst:.0f} of {took:.0f} ms")

# What it says is what is kept.
status, fields, first, _ = send(body("large 0"), "key-0")
tally.check(status == 202 and fields.get("idempotency-replayed") == "true", f"the same again is a replay: {status} {fields}")
status, _, problem, _ = send(body("large 0", content=data[:-4] + "AAAA"), "key-0")
tally.check(status == 422 and problem["code"] == "IDEMPOTENCY_KEY_REUSED", f"another body is refused: {status} {problem}")
for content, code, why in [
    (body("x", content=data[:-1] + "!"), "INVALID_FIELD", "no base 64"), (body("x", content=data[:-3] + "==="), "INVALID_FIELD", "too much padding"),
    (body("x", content="AAAA" + data), "INVALID_FIELD", "no picture"), (body("x", count=1, content=data * 3), "ATTACHMENT_TOO_LARGE", "a large picture"),
    (body("x")[:-1], "MALFORMED_JSON", "no JSON"), (b"[" + body("x") + b"]", "INVALID_FIELD", "a list"),
]:
    status, _, problem, _ = send(content, "none")
    tally.check(status in (400, 413, 422) and problem["code"] == code, f"{why}: {status} {problem}")
for kind in ("text/plain", "application/x-www-form-urlencoded"):
    status, _, answer = ladle.call("POST", "/v1/messages", b"text=" + b"x" * 20_000_000, {"Content-Type": kind}, timeout=60)
    tally.check(status == 413 and json.loads(answer)["code"] == "MESSAGE_TOO_LARGE", f"{kind}: {status} {answer[:100]}")
tally.check(not bystander.failures, f"the bystander was always answered: {bystander.failures[:3]}")
bystander.process.kill()
ladle.kill()
tally.end()
