"""Follows the events of one thread, or of all: without gaps or repeats, also across restarts of the daemon."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from clew.client.aio import AsyncClient
from clew.client.events import Bye, Event, event_of
from clew.client.requests import Request
from clew.client.wire import Frame, FrameParser, Lost
from clew.model.events.kinds import EventKind
from clew.support.errors import Stopped
from clew.texts.catalogue import say

SILENCE = 45.0  # seconds without a heartbeat, after which a stream counts as lost
MAX_PAUSE = 2.0  # seconds between two reconnects


class Follower:
    """`after` is the number of the last event that was returned: after a lost connection it continues there.

    `hello` comes after each connect: from then on nothing is missed. Raises Stopped when the daemon is stopped.
    """

    def __init__(self, client: AsyncClient, thread: str | None, after: int | None = None) -> None:
        self._client = client
        self._path = ("threads", thread, "events") if thread else ("events",)
        self.after = after

    async def events(self) -> AsyncGenerator[Event]:
        async with aclosing(self.frames()) as frames:
            async for frame in frames:
                yield event_of(frame)

    async def frames(self) -> AsyncGenerator[Frame]:
        """The events as the daemon sends them."""
        pause = 0.0
        while True:
            try:
                async with aclosing(self._connection()) as frames:
                    async for frame in frames:
                        pause = 0.0
                        if frame.kind == EventKind.HELLO:
                            self._client.is_back()
                        self.after = self.after if frame.seq is None else frame.seq
                        yield frame
                        _check_stopped(frame)
            except (Lost, TimeoutError):
                pass
            self._client.report_lost(say("process.lost_reconnecting"))
            await self._client.transport.sleep(pause)
            pause = min(MAX_PAUSE, pause * 2 + 0.1)

    async def _connection(self) -> AsyncGenerator[Frame]:
        """The frames of one connection."""
        request = Request(bytes, "GET", self._path, {"after": self.after})
        async with self._client.open(request, SILENCE) as response, aclosing(response.chunks()) as chunks:
            parser = FrameParser()
            async for chunk in chunks:
                for frame in parser.feed(chunk):
                    yield frame


def _check_stopped(frame: Frame) -> None:
    if frame.kind == EventKind.BYE:
        what = event_of(frame).what
        if not (isinstance(what, Bye) and what.reason == "restarting"):
            raise Stopped(say("process.was_stopped"))
