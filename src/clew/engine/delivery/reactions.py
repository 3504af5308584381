"""Marks messages of people as heard by a reaction, on surfaces that have them. It is only a sign: it is not stored, it
delays nothing, and a failure of it costs nothing."""

from __future__ import annotations

import asyncio
import logging

from clew.engine.core import Core
from clew.model.messages import Accepted, Conversation, Fate, Inbound
from clew.model.surface import Reacts

WAITING = 100  # messages; more are not marked
PATIENCE = 10.0  # seconds for one reaction
FAILURES = 5  # in a row, after which a chat is left alone until the next start: clew may not react there
_HEARD = frozenset({Fate.TURN, Fate.STEER})
_log = logging.getLogger(__name__)


class Reactions:
    def __init__(self, core: Core) -> None:
        self._core = core
        self._waiting: asyncio.Queue[Inbound] = asyncio.Queue(WAITING)
        self._failures: dict[Conversation, int] = {}  # in a row, by chat

    def heard(self, inbound: Inbound, accepted: Accepted) -> None:
        """Called after the commit."""
        surface = self._core.surfaces.get(inbound.conversation.surface)
        is_marked = accepted.fate in _HEARD and not accepted.repeated and not inbound.pressed
        if is_marked and surface is not None and surface.can.reactions and not self._waiting.full():
            self._waiting.put_nowait(inbound)

    async def run(self) -> None:
        """Send reactions one by one, forever."""
        while True:
            await self._react(await self._waiting.get())

    async def _react(self, inbound: Inbound) -> None:
        chat = self._core.parent_of(inbound.conversation) or inbound.conversation
        surface = self._core.surfaces[chat.surface]
        if not isinstance(surface, Reacts) or self._failures.get(chat, 0) >= FAILURES:
            return
        try:
            async with asyncio.timeout(PATIENCE):
                await surface.react(inbound.conversation, inbound.message_id)
        except Exception as error:  # whatever it is, nothing depends on it
            self._failures[chat] = self._failures.get(chat, 0) + 1
            _log.info("%s does not mark a message as heard: %s", chat.surface, error)
        else:
            self._failures.pop(chat, None)
