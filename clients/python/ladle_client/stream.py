"""Events of Ladle that go on after a break of any kind: each durable event once and in order, inside Ladle's window."""

from __future__ import annotations

import asyncio
import json
import random
import ssl
import time
from dataclasses import dataclass
from typing import Any, AsyncGenerator, Callable, Iterator, Mapping, Optional, Union

import httpx

from .client import AuthenticatedClient, Client
from .event_types import READERS, Event

# Ladle is asked for a sign of life every 15 s; a connection that brings none for so long is given up.
HEARTBEAT, SILENCE = 15, 45.0
LONGEST_PAUSE = 30.0
FORM = "application/x-ndjson"


class LadleError(Exception):
    """Ladle refuses the stream, and asking again would not help: a revoked token, a misspelt type, another server."""

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        self.status = status
        self.problem = problem
        self.code: str = problem.get("code", "NOT_LADLE")
        self.detail: str = problem.get("detail", "The answer is not one of Ladle's.")
        self.hint: Optional[str] = problem.get("hint")
        super().__init__(f"{status} {self.code}: {self.detail}" + (f" ({self.hint})" if self.hint else ""))


@dataclass(frozen=True)
class UnknownEvent:
    """An event of a newer Ladle, of which this version has no class or cannot read it: as it came."""

    type_: str
    id: Optional[str]
    data: Mapping[str, Any]


def _is_stream(answer: httpx.Response) -> bool:
    return answer.status_code == 200 and answer.headers.get("Content-Type", "").startswith(FORM)


class _Stream:
    """The position, the pauses, and the events in bytes: all of a stream but its connection."""

    def __init__(
        self,
        client: Union[AuthenticatedClient, Client],
        *,
        types: Optional[str] = None,
        session: Optional[str] = None,
        run: Optional[str] = None,
        snapshot: bool = False,
        since: Optional[str] = None,
        on_break: Optional[Callable[[str, float], None]] = None,
    ) -> None:
        """`since` is a `cursor` of an earlier stream; without it the stream begins now. `on_break` hears why a
        connection ended, and in how many seconds the next one is tried."""
        #: The position behind the last event that was handed over. Keep it, and a later stream goes on there.
        self.cursor = since
        self._client = client
        self._on_break = on_break
        chosen = {"types": types, "session": session, "run": run, "snapshot": "true" if snapshot else None}
        self._parameters = {name: value for name, value in chosen.items() if value is not None}
        self._parameters["heartbeat"] = str(HEARTBEAT)
        self._retry, self._failures = 1.0, 0

    def _request(self) -> Mapping[str, Any]:
        self._rest = b""
        self._told: Optional[float] = None
        self._behind_reset: Optional[str] = None
        headers = {"Accept": FORM}
        if self.cursor:
            headers["Last-Event-ID"] = self.cursor
        return {"method": "GET", "url": "/v1/events", "params": self._parameters, "headers": headers,
                "timeout": httpx.Timeout(10.0, read=SILENCE)}

    def _refusal(self, answer: httpx.Response) -> Optional[LadleError]:
        """For an answer that is no stream. None: it may be one later."""
        if answer.status_code in (408, 429) or answer.status_code >= 500:
            told = answer.headers.get("Retry-After", "")
            self._told = float(told) if told.isdigit() else None
            return None
        try:
            problem = answer.json()
        except ValueError:
            problem = None
        return LadleError(answer.status_code, problem if isinstance(problem, dict) else {})

    def _take(self, piece: bytes) -> Iterator[Union[Event, UnknownEvent]]:
        """Whole lines only: the piece of one at which a connection broke is sent again."""
        # Not `splitlines` or httpx's `iter_lines`: these split at U+2028 too, which may stand in a text.
        *lines, self._rest = (self._rest + piece).split(b"\n")
        for line in lines:
            data = json.loads(line)
            kind = data["type"]
            if kind == "heartbeat":
                continue
            if kind == "hello":
                self._retry, self._failures = data["retry"] / 1000, 0
            if kind == "hello" and data["resume"] == "reset":
                # Until the caller has heard of it, the next connection has to say it again.
                self._behind_reset = data["id"]
            elif kind == "reset":
                self.cursor = self._behind_reset or data["newest"]
            elif kind == "shutdown":
                self._told = data["retry"] / 1000
            else:
                self.cursor = data.get("id", self.cursor)
            try:
                event: Union[Event, UnknownEvent] = READERS[kind](data)
            except (AttributeError, KeyError, TypeError, ValueError):
                event = UnknownEvent(kind, data.get("id"), data)
            yield event

    def _pause(self, error: Optional[Exception]) -> float:
        """Seconds to the next try: what Ladle said, else its `retry`, twice as long after each try that failed."""
        cause: Optional[BaseException] = error
        while error and cause:
            if isinstance(cause, (ssl.SSLCertVerificationError, httpx.UnsupportedProtocol, httpx.LocalProtocolError)):
                raise error  # trying again does not help
            cause = cause.__cause__ or cause.__context__
        pause = min(self._retry * 2.0 ** min(self._failures, 10), LONGEST_PAUSE) * random.uniform(1, 1.25)
        self._failures += 1
        if self._told is not None:
            pause = self._told
        if self._on_break:
            self._on_break(str(error) or type(error).__name__ if error else "the connection ended", pause)
        return pause


class Events(_Stream):
    """`for event in Events(client, types="run.*"):` never ends by itself. After a `break`, another loop goes on."""

    def __iter__(self) -> Iterator[Union[Event, UnknownEvent]]:
        while True:
            error: Optional[Exception] = None
            try:
                with self._client.get_httpx_client().stream(**self._request()) as answer:
                    if _is_stream(answer):
                        for piece in answer.iter_bytes():
                            yield from self._take(piece)
                    else:
                        answer.read()
                        if refusal := self._refusal(answer):
                            raise refusal
            except httpx.TransportError as problem:
                error = problem
            time.sleep(self._pause(error))


class AsyncEvents(_Stream):
    """The same for `async for`. `contextlib.aclosing(aiter(...))` ends the connection at once after a `break`."""

    async def __aiter__(self) -> AsyncGenerator[Union[Event, UnknownEvent], None]:
        while True:
            error: Optional[Exception] = None
            try:
                async with self._client.get_async_httpx_client().stream(**self._request()) as answer:
                    if _is_stream(answer):
                        async for piece in answer.aiter_bytes():
                            for event in self._take(piece):
                                yield event
                    else:
                        await answer.aread()
                        if refusal := self._refusal(answer):
                            raise refusal
            except httpx.TransportError as problem:
                error = problem
            await asyncio.sleep(self._pause(error))
