"""A gateway written out by hand: it speaks the handshake as it should be, and then does what a check tells it to. For what the
demo gateway would not do."""

import base64
import hashlib
import itertools
import json
import re
import socket
import struct
import threading
import time

HELLO = {
    "type": "hello-ok", "protocol": 4, "server": {"version": "2026.6.11", "connId": "c-1"},
    "features": {"methods": [], "events": []},
    "snapshot": {"presence": [], "health": {}, "stateVersion": {"presence": 1, "health": 1}, "uptimeMs": 5,
                 "sessionDefaults": {"defaultAgentId": "main", "mainKey": "main", "mainSessionKey": "agent:main:main"}},
    "auth": {"role": "operator", "scopes": ["operator.read", "operator.write", "operator.admin"]},
    "policy": {"maxPayload": 26214400, "maxBufferedBytes": 52428800, "tickIntervalMs": 30000},
}


def frame(payload, opcode=1, first=0x80):
    """One WebSocket frame as a server sends it; `first` holds FIN and the reserved bits."""
    if isinstance(payload, str):
        payload = payload.encode("utf-8", "surrogatepass")
    size = len(payload)
    if size < 126:
        head = struct.pack(">BB", first | opcode, size)
    elif size < 1 << 16:
        head = struct.pack(">BBH", first | opcode, 126, size)
    else:
        head = struct.pack(">BBQ", first | opcode, 127, size)
    return head + payload


class Gateway:
    """Speaks the handshake as it should be, then does what `behave(connection)` and `answer(request)` say."""

    def __init__(self):
        self.behave = lambda connection: None
        self.answer = self.kind
        self.hello = HELLO
        self.raw = None
        self.connections = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.url = f"ws://127.0.0.1:{self.port}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            client, _ = self.listener.accept()
            connection = Connection(self, client)
            self.connections.append(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    @staticmethod
    def _serve(connection):
        try:
            connection.serve()
        except OSError:
            pass
        finally:
            connection.client.close()

    @staticmethod
    def kind(connection, request):
        """Answers of a gateway that means well and knows nothing."""
        method, params = request["method"], request.get("params") or {}
        payloads = {
            "chat.send": {"runId": params.get("idempotencyKey"), "status": "started"},
            "chat.history": {"sessionKey": params.get("sessionKey"), "messages": []},
            "agents.list": {"defaultId": "main", "agents": [{"id": "main"}]},
            "sessions.list": {"sessions": []},
            "agents.files.get": {"agentId": "main", "file": {"name": params.get("name"), "missing": True}},
        }
        connection.respond(request, payloads.get(method, {}))
        if method == "chat.send":
            message = {"role": "assistant", "content": [{"type": "text", "text": "well"}]}
            connection.event("chat", {"runId": params["idempotencyKey"], "sessionKey": params["sessionKey"], "seq": 2,
                                      "state": "final", "message": message})


class Connection:
    def __init__(self, gateway, client):
        self.gateway = gateway
        self.client = client
        self.file = client.makefile("rb")
        self.code = None
        self.lock = threading.Lock()

    def serve(self):
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            line = self.file.readline()
            if not line:
                return
            head += line
        if self.gateway.raw is not None:
            return self.client.sendall(self.gateway.raw)
        key = re.search(rb"Sec-WebSocket-Key: (\S+)", head, re.I).group(1)
        accept = base64.b64encode(hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest())
        self.client.sendall(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                            b"Sec-WebSocket-Accept: " + accept + b"\r\n\r\n")
        self.event("connect.challenge", {"nonce": "n-1", "ts": int(time.time() * 1000)})
        while (request := self.receive()) is not None:
            if request.get("method") == "connect":
                self.respond(request, self.gateway.hello)
                threading.Thread(target=self._behave, daemon=True).start()
            else:
                self.gateway.answer(self, request)

    def _behave(self):
        try:
            self.gateway.behave(self)
        except OSError:
            pass

    def receive(self):
        """The next text message of the client, or None at the end; `code` is that of its close frame."""
        while len(head := self.file.read(2)) == 2:
            size = head[1] & 127
            if size > 125:
                size = int.from_bytes(self.file.read(2 if size == 126 else 8), "big")
            mask = self.file.read(4)
            body = bytes(a ^ b for a, b in zip(self.file.read(size), itertools.cycle(mask)))
            if head[0] & 15 == 8:
                self.code = int.from_bytes(body[:2], "big")
                return None
            if head[0] & 15 == 1:
                return json.loads(body)
        return None

    def send(self, data):
        with self.lock:
            self.client.sendall(data)

    def text(self, value):
        self.send(frame(value if isinstance(value, (str, bytes)) else json.dumps(value)))

    def event(self, name, payload, **more):
        self.text({"type": "event", "event": name, "payload": payload, **more})

    def respond(self, request, payload):
        self.text({"type": "res", "id": request["id"], "ok": True, "payload": payload})
