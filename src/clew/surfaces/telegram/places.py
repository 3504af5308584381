"""Addresses of Telegram conversations: a chat or a topic in it, written `CHAT` or `CHAT/TOPIC` with Telegram's
numbers."""

from __future__ import annotations

import re

from msgspec import Struct

from clew.model.messages import Conversation
from clew.support.errors import BadInput
from clew.surfaces.local import one_line
from clew.texts.catalogue import say

NAME = "telegram"
_ADDRESS = re.compile(r"(-?[1-9][0-9]{0,18})(?:/([1-9][0-9]{0,18}))?", re.ASCII)


class Place(Struct, frozen=True):
    chat: int
    topic: int | None = None

    @property
    def conversation(self) -> Conversation:
        return Conversation(NAME, f"{self.chat}/{self.topic}" if self.topic else str(self.chat))


def place(address: str) -> Place:
    found = _ADDRESS.fullmatch(address)
    if found is None:
        raise BadInput(say("surfaces.telegram_no_chat", address=repr(one_line(address))))
    return Place(int(found[1]), int(found[2]) if found[2] else None)
