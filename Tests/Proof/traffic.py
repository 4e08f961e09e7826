"""Messages and events while things go wrong around Ladle: senders that post until they are answered, a follower of all events, and what
must hold at the end. Standard library only."""

import collections
import http.client
import itertools
import json
import pathlib
import threading

from follower import Follower, place
from harness import FaultyGateway, json_lines, scratch, until


class Poster(threading.Thread):
    """Posts texts to a session of its own, each under its text as the key, and on to the next when it is accepted. One that is torn or
    refused is posted again, to the next of the ports, and noted. In between it waits for `pause` seconds."""

    def __init__(self, session, ports, pause):
        super().__init__(daemon=True)
        self.pause = pause
        self.session, self.ports = session, itertools.cycle(ports)
        self.port = next(self.ports)
        self.accepted = {}  # text: entry id
        self.repeats = []
        self.stopping = threading.Event()
        self.start()

    def run(self):
        while not self.stopping.is_set():
            text = f"{self.session}-{len(self.accepted) + 1}"
            status, answer = self.post(text)
            if status == 202:
                self.accepted[text] = answer["id"]
                self.stopping.wait(self.pause)
            else:
                self.repeats.append((text, status, answer))
                self.port = next(self.ports)
                self.stopping.wait(0.02)

    def post(self, text):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request("POST", "/v1/messages", json.dumps({"session": self.session, "text": text}), {
                "Content-Type": "application/json", "Idempotency-Key": text})
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        except (OSError, http.client.HTTPException, ValueError) as error:
            return None, str(error)
        finally:
            connection.close()


class Traffic:
    """Posters, a follower of all events, and the record of a gateway, around one Ladle, or around several of which one serves."""

    def __init__(self, ladle, gateway_record, server, tally, posters=3, ports=(), pause=0):
        self.ladle, self.record, self.server, self.tally = ladle, gateway_record, server, tally
        self.ids = []
        ports = ports or [ladle.port]
        self.follower = Follower(ports, take=lambda event: self.ids.append(event["id"]))
        self.start = self.follower.last
        self.posters = [Poster(f"s{n}", ports, pause) for n in range(posters)]

    @property
    def accepted(self):
        return {text: entry for poster in self.posters for text, entry in list(poster.accepted.items())}

    @property
    def repeats(self):
        return [repeat for poster in self.posters for repeat in list(poster.repeats)]

    def more(self, count):
        """Waits for so many further messages to be accepted."""
        before = len(self.accepted)
        until(lambda: len(self.accepted) >= before + count, 60, what=lambda: f"{count} more messages; {self.repeats[-2:]}")

    def judge(self, what):
        check = self.tally.check
        for poster in self.posters:
            poster.stopping.set()
        for poster in self.posters:
            poster.join(60)
        self.ladle.at_rest()
        found = entries(self.ladle)
        texts = collections.Counter(entry["text"] for entry in found)
        accepted = self.accepted
        open_ = {repeat[0] for repeat in self.repeats} - set(accepted)
        twice = [text for text, count in texts.items() if count > 1]
        check(not twice, f"{what}: no entry is there twice: {twice[:3]}")
        check({entry["id"] for entry in found} >= set(accepted.values()), f"{what}: every accepted message is in the outbox")
        check(set(texts) - open_ <= set(accepted), f"{what}: no entry is there that nobody posted: {sorted(set(texts) - set(accepted))[:3]}")
        not_sent = [entry for entry in found if entry["state"] != "delivered"]
        check(not not_sent, f"{what}: each is delivered: {not_sent[:2]}")
        ran = collections.Counter(row["text"] for row in json_lines(self.record))
        check(ran == texts, f"{what}: each ran once: {list((ran - texts).items())[:3]} {list((texts - ran).items())[:3]}")
        rows = [int(row[0]) for row in self.server.psql("SELECT seq FROM event ORDER BY seq")]
        check(rows == list(range(rows[0], rows[0] + len(rows))), f"{what}: the events in the table have neither gap nor repeat")
        until(lambda: place(self.follower.last) >= rows[-1], what="the last event")
        self.follower.stop()
        self.follower.join(10)
        self.follower.judge(self.tally)
        # From its first to its last one: some may have come before the start was noted, and more since the end.
        rows = self.server.psql("SELECT epoch || '.' || seq FROM event, event_log "
                                f"WHERE seq BETWEEN {place(self.ids[0])} AND {place(self.follower.last)} ORDER BY seq")
        check(place(self.ids[0]) <= place(self.start) + 1 and self.ids == [row[0] for row in rows],
              f"{what}: the follower has every event once: {len(self.ids)} of {len(rows)}, from {self.ids[0]}, asked from {self.start}")
        return f"{len(accepted)} accepted, {len(self.repeats)} posted again, {len(rows)} events, {self.follower.resumes} resumes"


def entries(ladle):
    found, before = [], ""
    while True:
        page = ladle.json("GET", f"/v1/outbox?limit=500{before}")[1]
        found += page["entries"]
        if "before" not in page:
            return found
        before = f"&before={page['before']}"


def new_gateway(*words):
    record = pathlib.Path(scratch(), "accepted.ndjson")
    return FaultyGateway("--record", str(record), "--recall", *words), record
