"""What an answer costs that is streamed through the OpenAI door, beside Ladle's own stream of a message: the CPU of Ladle, whose gateway
is another process."""

import http.client
import json

from harness import DemoGateway, Serve, Tally, options

chosen = options(messages=(60, 200), rounds=(3, 5))
tally = Tally()
gateway = DemoGateway("--speed", "0")
limits = [f"--limits-{name}" for name in ("sends-burst", "all-sends-burst")]
serve = Serve("--openai-enabled", "--log-level", "error", *(part for name in limits for part in (name, "1000000")),
              gateway=gateway.url).linked()
WORDS = "slow count"


def ask(connection, path, body, end, **fields):
    connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json", **fields})
    answer = connection.getresponse()
    text = answer.read()
    assert answer.status == 200 and end in text, (answer.status, text[-300:])
    return text


def own(connection):
    return ask(connection, "/v1/messages", {"text": WORDS}, b"event: run.ended", Accept="text/event-stream")


def door(connection):
    body = {"model": "ladle", "stream": True, "messages": [{"role": "user", "content": WORDS}]}
    return ask(connection, "/openai/v1/chat/completions", body, b"data: [DONE]", **{"X-Ladle-Session": "main"})


def cpu(way):
    """Milliseconds of CPU for each answer."""
    connection = http.client.HTTPConnection("127.0.0.1", serve.port, timeout=60)
    before = serve.cpu()
    for _ in range(chosen.messages):
        way(connection)
    connection.close()
    return (serve.cpu() - before) * 1000 / chosen.messages


cpu(own), cpu(door)
pairs = [(cpu(own), cpu(door)) for _ in range(chosen.rounds)]
left, right = (min(side) for side in zip(*pairs))
print(f"door: an answer takes {left:.2f} ms of CPU as a message's own stream, {right:.2f} ms through the door, {right / left:.2f}x")
tally.check(right <= 1.25 * left, f"an answer through the door costs {right / left:.2f}x, not at most 1.25x")
tally.end()
