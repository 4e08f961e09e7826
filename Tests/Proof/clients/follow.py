"""A follower with the package ladle-client: `follow.py sync|async URL TOKEN SINCE FILE`. A line of JSON for each event, break and refusal;
FILE keeps the position, which counts for more than SINCE."""

import asyncio
import json
import pathlib
import sys
from typing import Any

from ladle_client import AsyncEvents, AuthenticatedClient, Event, Events, LadleError, UnknownEvent

form, url, token, since, file = sys.argv[1:]
place = pathlib.Path(file)


def say(value: Any) -> None:
    print(json.dumps(value), flush=True)


def take(event: "Event | UnknownEvent", cursor: "str | None") -> None:
    if isinstance(event, UnknownEvent):
        say({"unknown": event.type_, "id": event.id, "data": dict(event.data)})
    else:
        say({"class": type(event).__name__, "data": event.to_dict()})
    if cursor:
        place.with_suffix(".new").write_text(cursor)
        place.with_suffix(".new").replace(place)


def told(why: str, pause: float) -> None:
    say({"break": why, "pause": pause})


client = AuthenticatedClient(url, token)
chosen = place.read_text() if place.exists() else since


def follow() -> None:
    events = Events(client, since=chosen or None, on_break=told)
    for event in events:
        take(event, events.cursor)


async def follow_async() -> None:
    events = AsyncEvents(client, since=chosen or None, on_break=told)
    async for event in events:
        take(event, events.cursor)


try:
    if form == "sync":
        follow()
    else:
        asyncio.run(follow_async())
except LadleError as error:
    say({"refused": error.status, "code": error.code, "told": str(error)})
