#!/bin/sh
# Ladle in the tailnet with a certificate of the tailnet's, and with identities in place of tokens. Not run here.
# Ladle's side, in its configuration:
#   "access.tailnet.serve": "/run/user/1000/ladle-serve.sock",
#   "access.tailnet.allow": ["you@example.com=read,send"],
# Simpler, without HTTPS: "listen": ["127.0.0.1:18780", "tailnet"] and nothing of this.
# Some releases of tailscale hold back streams that are fetched with GET; `GET /v1/events?poll=1` goes through those too.
set -eu
socket=${1:?the path of access.tailnet.serve}
tailscale serve --bg --https=443 "unix:$socket"
tailscale serve status
