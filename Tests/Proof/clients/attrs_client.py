"""The client of openapi-python-client."""

import json
import os
import sys

from ladle_client import AuthenticatedClient
from ladle_client.api.access import create_token, list_tokens, revoke_token
from ladle_client.api.identity import get_identity, patch_identity
from ladle_client.api.messages import list_messages, send_message
from ladle_client.api.runs import get_run
from ladle_client.models import IdentityPatch, MessageInput, Scope, TokenInput

name = sys.argv[1]
client = AuthenticatedClient(os.environ["LADLE_URL"], os.environ["LADLE_TOKEN"])
reply = send_message.sync(client=client, body=MessageInput(text=f"echo {name}", session=name), wait=30)
run = get_run.sync(reply.entry.id, client=client)
history = list_messages.sync(client=client, session=name)
tag = get_identity.sync_detailed(client=client).headers["ETag"]
changed = patch_identity.sync_detailed(client=client, body=IdentityPatch(vibe=name), if_match=tag)
refused = patch_identity.sync_detailed(client=client, body=IdentityPatch(vibe="old"), if_match=tag)
token = create_token.sync(client=client, body=TokenInput(name=name, scopes=[Scope.READ]))
revoked = revoke_token.sync_detailed(token.id, client=client)
print(json.dumps({
    "session": reply.entry.session, "reply": reply.reply, "run": run.state, "history": [message.text for message in history.messages],
    "vibe": changed.parsed.fields.vibe, "refused": int(refused.status_code), "code": refused.parsed.code,
    "revoked": int(revoked.status_code), "tokens": [token.name for token in list_tokens.sync(client=client).tokens],
}))
