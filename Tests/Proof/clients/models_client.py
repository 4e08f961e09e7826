"""The models of datamodel-code-generator, sent with httpx."""

import json
import os
import sys

import httpx
import ladle_models as models

name = sys.argv[1]
client = httpx.Client(
    base_url=os.environ["LADLE_URL"], headers={"Authorization": f"Bearer {os.environ['LADLE_TOKEN']}"}, timeout=40)


def body(model):
    return {"content": model.model_dump_json(exclude_none=True), "headers": {"Content-Type": "application/json"}}


def taken(model, answer):
    return model.model_validate_json(answer.raise_for_status().content)


since = taken(models.EventPage, client.get("/v1/events?poll=0")).cursor
message = models.MessageInput(text=f"echo {name}", session=name)
reply = taken(models.Reply, client.post("/v1/messages?wait=30", **body(message)))
run = taken(models.Run, client.get(f"/v1/runs/{reply.entry.id}"))
history = taken(models.MessageList, client.get("/v1/messages", params={"session": name}))
# The lines of a stream: each event is of the type that it says.
with client.stream("GET", "/v1/events", params={"since": since, "session": name, "types": "run.*", "timeout": 1},
                   headers={"Accept": "application/x-ndjson"}) as stream:
    events = [models.Event.model_validate_json(line).root for line in stream.iter_lines()]
ended = next(event.run.text for event in events if isinstance(event, models.RunEndedEvent))
tag = client.get("/v1/identity").headers["ETag"]


def edit(vibe):
    edit = body(models.IdentityPatch(vibe=vibe))
    edit["headers"]["If-Match"] = tag
    return client.patch("/v1/identity", **edit)


changed, refused = taken(models.Identity, edit(name)), edit("old")
token = taken(models.TokenSecret, client.post("/v1/tokens", **body(models.TokenInput(name=name, scopes=["read"]))))
revoked = client.delete(f"/v1/tokens/{token.id}")
tokens = taken(models.TokenList, client.get("/v1/tokens"))
print(json.dumps({
    "session": reply.entry.session, "reply": reply.reply, "run": run.state.value, "history": [one.text for one in history.messages],
    "ended": ended, "vibe": changed.fields.vibe, "refused": refused.status_code, "code": models.Problem.model_validate_json(refused.content).code,
    "revoked": revoked.status_code, "tokens": [json.loads(one.model_dump_json())["name"] for one in tokens.tokens],
}))
