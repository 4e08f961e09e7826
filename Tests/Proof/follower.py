"""Clients of the event stream, and what they hold against it: a follower that comes back after every cut, the texts that a client puts
together, and the whole log. Standard library only."""

import itertools
import threading
import time

from harness import EventStream, until


class Follower(threading.Thread):
    """Reads the events of a port, or of the next one of several, over all deaths of the server, always from the last id it saw, and keeps them in their order. It has
    an id before anything else is done, so nothing that comes later is missed. `take` is called with each event that has one."""

    def __init__(self, port, query="", take=None):
        super().__init__(daemon=True)
        self.ports, self.query, self.take = itertools.cycle(port if isinstance(port, list) else [port]), query, take
        self.port = next(self.ports)
        self.events = []
        self.last = None
        # What must not be: an id that does not grow, and a stream that could not go on.
        self.backwards, self.resets = [], []
        self.resumes = 0
        self.stopping = False
        self.stream = None
        self.start()
        until(lambda: self.last, what="the stream's first id")

    def run(self):
        while not self.stopping:
            try:
                self.stream = EventStream(self, self.query, self.last)
                for identity, name, data in self.stream:
                    self.note(identity, name, data)
            except OSError:
                pass
            if self.stream:
                self.stream.close()  # a server that stops waits for its clients
            self.resumes += 1
            self.port = next(self.ports)
            time.sleep(0.01)

    def note(self, identity, name, data):
        if name == "reset" or (name == "hello" and self.last and data.get("resume") == "reset"):
            self.resets.append(data)
        if name == "hello":
            self.last = self.last or identity
        elif identity:
            if place(identity) <= place(self.last) or identity.partition(".")[0] != self.last.partition(".")[0]:
                self.backwards.append((self.last, identity))
            self.last = identity
            if self.take:
                self.take(data)
        self.events.append(data)

    def of(self, run):
        return [event for event in list(self.events) if event.get("runId") == run]

    def stop(self):
        self.stopping = True
        if self.stream:
            self.stream.close()

    def judge(self, tally):
        tally.check(not self.backwards, f"event ids never go back: {self.backwards[:3]}")
        tally.check(not self.resets, f"the stream never needs a reset: {self.resets[:2]}")


class Texts:
    """The texts of runs, put together from `run.delta` as a client does it; `problems` has what does not fit."""

    def __init__(self):
        self.texts = {}  # run: the text so far, in UTF-16 units
        self.torn = set()  # runs whose text is to come anew after a resume
        self.problems = []
        self.assembled = self.interrupted = 0

    def resume(self):
        """Deltas that came while away are lost; the whole text comes once behind the replay."""
        self.torn = set(self.texts)

    def delta(self, event):
        run, offset, before = event["runId"], event["offset"] * 2, self.texts.get(event["runId"], b"")
        if event.get("replace"):
            self.torn.discard(run)
        elif run in self.torn or offset != len(before):
            self.problems.append(f"a piece of {run} at {offset // 2}, have {len(before) // 2}; torn {run in self.torn}")
        self.texts[run] = before[:offset] + event["text"].encode("utf-16-le")

    def of(self, run):
        return self.texts.get(run, b"").decode("utf-16-le")

    def end(self, run):
        """Holds the text against the run at its end."""
        if run["id"] not in self.texts:
            return
        mine, was_torn = self.of(run["id"]), run["id"] in self.torn
        del self.texts[run["id"]]
        self.torn.discard(run["id"])
        if was_torn:
            self.interrupted += 1
        else:
            self.assembled += 1
            if mine != run["text"] and run["state"] == "completed":
                self.problems.append(f"the pieces of {run['id']} give {mine!r}, the run says {run['text']!r}")


def place(identity):
    """The number of an event id."""
    return int(identity.partition(".")[2])


def cursor(server):
    """The id of the newest event."""
    return server.json("GET", "/v1/events?poll=0")[1]["cursor"]


def log(server, since):
    """Every durable event behind an id, by long poll: what each reader must have had."""
    events = []
    while (page := server.json("GET", f"/v1/events?poll=0&since={since}")[1]) and (page["events"] or page["cursor"] != since):
        events += page["events"]
        since = page["cursor"]
    return events


def rested_log(server, since):
    """The same once nothing more comes: messages of a transcript may come behind the ends of their runs."""
    known = None
    while (found := log(server, since)) != known:
        known = found
        time.sleep(1)
    return found
