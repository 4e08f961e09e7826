#!/bin/sh
# Ladle in the tailnet, with the tailnet's certificate, and with identities in place of tokens. Untested.
# In Ladle's configuration:
#   "access.tailnet.serve": "/run/user/1000/ladle-serve.sock",
#   "access.tailnet.allow": ["you@example.com=read,send"],
# Simpler, without HTTPS and without this script: "listen": ["127.0.0.1:18780", "tailnet"].
# Some releases of tailscale hold back streams fetched with GET. `GET /v1/events?poll=1` works with those too.
set -eu
socket=${1:?the path of access.tailnet.serve}
tailscale serve --bg --https=443 "unix:$socket"
tailscale serve status
