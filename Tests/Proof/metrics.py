"""/metrics in both forms, read by Prometheus' own client strictly: types, names, no series twice, counters that only rise,
and numbers that say what was done. Then the log: one line an event, problems with their request id, quiet when idle."""

import json
import re
import socket
import time

from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_metrics
from prometheus_client.parser import text_string_to_metric_families as prometheus

from harness import DemoGateway, EventStream, Serve, Tally, options, until

options()
tally = Tally()
OPEN = "application/openmetrics-text; version=1.0.0; charset=utf-8"
TEXT = "text/plain; version=0.0.4; charset=utf-8"


def families(text, parse):
    found = list(parse(text))
    names = [family.name for family in found]
    tally.check(len(set(names)) == len(names), f"each family stands once: {sorted(names)}")
    bare = [family.name for family in found if not family.documentation or family.type == "unknown"]
    tally.check(not bare, f"HELP and TYPE everywhere, not at {bare}")
    return found


def samples(found):
    every = [(sample.name, tuple(sorted(sample.labels.items())), sample.value) for f in found for sample in f.samples]
    series = {(name, labels): value for name, labels, value in every}
    tally.check(len(series) == len(every), "each series stands once")
    return series


def scrape(server, accept=None):
    status, fields, body = server.call("GET", "/metrics", headers={"Accept": accept} if accept else {})
    tally.check(status == 200, f"/metrics answers {status}")
    text = body.decode()
    is_open = fields["content-type"] == OPEN
    return fields["content-type"], samples(families(text, open_metrics if is_open else prometheus)), text


def value(every, name, **labels):
    return every.get((name, tuple(sorted(labels.items()))))


gateway = DemoGateway()
server = Serve(gateway=gateway.url).linked()

# Negotiation, with what Prometheus 2 and 3, browsers and curl send.
for accept, expected in [
    (None, TEXT), ("*/*", TEXT), ("text/plain", TEXT), ("text/html, */*;q=0.8", TEXT),
    ("application/openmetrics-text", OPEN), ("application/openmetrics-text; version=1.0.0", OPEN),
    ("application/openmetrics-text;version=1.0.0;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,"
     "text/plain;version=0.0.4;q=0.3,*/*;q=0.2", OPEN),
    ("application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;"
     "version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
     OPEN),
    ("text/plain;version=0.0.4;q=0.9,application/openmetrics-text;q=0.1", TEXT),
]:
    kind, _, text = scrape(server, accept)
    tally.check(kind == expected, f"Accept: {accept} gives {kind}")
    tally.check(text.endswith("# EOF\n") == (kind == OPEN), "OpenMetrics alone ends with EOF")
tally.check(server.call("GET", "/metrics", headers={"Accept": "image/png"})[0] == 406, "406 for what it is not")

# What is done shows.
_, before, text = scrape(server, OPEN)
stream = EventStream(server)
next(iter(stream))
tally.check(server.call("POST", "/v1/messages?wait=20", b"say hello", {"Content-Type": "text/plain"})[0] == 200, "a send")
_, _, last = server.call("GET", "/v1/status")
resumed = EventStream(server, last_id=json.loads(last)["events"]["last"])
next(iter(resumed))
tally.check(server.call("GET", "/v1/nothing")[0] == 404, "a problem")
raw = socket.create_connection(("127.0.0.1", server.port))
raw.sendall(b"GET / HTTP/1.1\r\nHost: a\r\nbad header\r\n\r\n")
tally.check(raw.recv(100).startswith(b"HTTP/1.1 400"), "a malformed request")
raw.close()
_, after, _ = scrape(server, OPEN)

counters = {key for key in before if key[0].endswith(("_total", "_bucket", "_count", "_sum"))}
fallen = [key for key in counters if after.get(key, -1) < before[key]]
tally.check(not fallen, f"counters only rise, not {fallen}")


def rose(name, by=1, **labels):
    old, new = value(before, name, **labels) or 0, value(after, name, **labels) or 0
    tally.check(new - old >= by, f"{name}{labels} rises by {by}: {old} to {new}")


rose("ladle_streams_total", 2)
rose("ladle_streams_open", 2)
rose("ladle_stream_resumes_total", outcome="recovered")
rose("ladle_event_deliveries_total")
rose("ladle_events_total")
rose("ladle_outbox_attempts_total", **{"class": "accepted"})
rose("ladle_outbox_ended_total", state="delivered")
rose("ladle_http_requests_total", 5, protocol="http/1")
rose("ladle_http_request_duration_seconds_count", route="sendMessage", status="2xx")
rose("ladle_http_request_duration_seconds_count", route="none", status="4xx")
rose("ladle_http_problems_total", code="NOT_FOUND")
rose("ladle_http_received_bytes_total", 500)
rose("ladle_http_sent_bytes_total", 2000)
rose("ladle_store_commits_total")
rose("ladle_link_received_frames_total")
refused = sum(v for (name, _), v in after.items() if name == "ladle_http_refusals_total")
tally.check(refused >= 1, "the malformed request is counted")
for name in ["ladle_link_up", "ladle_store_writable"]:
    tally.check(value(after, name) == 1, f"{name} is 1")
states = {key[1][0][1]: v for key, v in after.items() if key[0] == "ladle_link_state"}
tally.check(len(states) == 6 and sum(states.values()) == 1 and states["online"] == 1, f"one state: {states}")
info = [dict(labels) for name, labels in after if name == "ladle_build_info"]
tally.check(len(info) == 1 and re.fullmatch(r"\d+\.\d+\.\d+", info[0]["version"]), "build info")
started = value(after, "process_start_time_seconds")
tally.check(started and abs(time.time() - started) < 120, f"start time {started}")
rss = value(after, "process_resident_memory_bytes")
tally.check(rss and abs(rss - server.resident()) < 4 << 20, f"resident memory {rss}")
fds = value(after, "process_open_fds")
tally.check(fds and abs(fds - server.descriptors()) <= 3, f"descriptors {fds}, {server.descriptors()}")
tally.check(value(after, "process_cpu_seconds_total") > 0, "CPU time")
count = value(after, "ladle_http_request_duration_seconds_count", route="getMetrics", status="2xx")
tally.check(count and count >= 9, "scrapes are requests too")

# The link's loss is seen, and its return counts as a reconnect.
gateway.kill()
until(lambda: value(scrape(server)[1], "ladle_link_up") == 0, what="the loss")
server.call("POST", "/v1/messages", b"later", {"Content-Type": "text/plain"})
away = scrape(server)[1]
tally.check(value(away, "ladle_outbox_entries", state="pending") == 1, "an entry waits")
until(lambda: value(scrape(server)[1], "ladle_outbox_oldest_age_seconds") > 0, what="its age")
gateway = gateway.again()
until(lambda: value(scrape(server)[1], "ladle_link_up") == 1, what="the return")
tally.check(value(scrape(server)[1], "ladle_link_reconnects_total") >= 1, "a reconnect is counted")

# What it costs: the page is small, and made fast.
start = time.monotonic()
for _ in range(20):
    size = len(server.call("GET", "/metrics")[2])
took = (time.monotonic() - start) / 20
tally.check(size < 64 << 10, f"{size} bytes a page")
print(f"a page has {size} bytes and {len(after)} series and takes {took * 1000:.1f} ms")

# Who may: `read`, and nobody without.
locked = Serve("--access-loopback", "token")
tally.check(locked.call("GET", "/metrics")[0] == 401, "no credential, no metrics")
status, _, _ = locked.call("GET", "/metrics", headers={"Authorization": f"Bearer {locked.token}"})
tally.check(status == 200, "a token with read has them")
tally.end()
