"""The Python client of openapi-generator."""

import json
import os
import sys

import openapi_client
from openapi_client import AccessApi, IdentityApi, IdentityPatch, MessageInput, MessagesApi, RunsApi, Scope, TokenInput

name = sys.argv[1]
client = openapi_client.ApiClient(openapi_client.Configuration(os.environ["LADLE_URL"], access_token=os.environ["LADLE_TOKEN"]))
messages, identity, access = MessagesApi(client), IdentityApi(client), AccessApi(client)
reply = messages.send_message(MessageInput(text=f"echo {name}", session=name), wait=30)
run = RunsApi(client).get_run(reply.entry.id)
history = messages.list_messages(session=name)
tag = identity.get_identity_with_http_info().headers["ETag"]
changed = identity.patch_identity(tag, IdentityPatch(vibe=name))
try:
    refused = identity.patch_identity(tag, IdentityPatch(vibe="old"))
except openapi_client.ApiException as error:
    refused = error
token = access.create_token(TokenInput(name=name, scopes=[Scope.READ]))
revoked = access.revoke_token_with_http_info(token.id)
print(json.dumps({
    "session": reply.entry.session, "reply": reply.reply, "run": run.state, "history": [message.text for message in history.messages],
    "vibe": changed.fields.vibe, "refused": refused.status, "code": refused.data.code,
    "revoked": revoked.status_code, "tokens": [token.name for token in access.list_tokens().tokens],
}))
