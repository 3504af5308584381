"""Addresses of Feishu conversations: a chat or a thread in it, written `CHAT` or `CHAT/THREAD` with Feishu's ids."""

from __future__ import annotations

import re

from msgspec import Struct

from clew.model.messages import Conversation
from clew.support.errors import BadInput
from clew.surfaces.local import one_line
from clew.texts.catalogue import say

NAME = "feishu"
_ADDRESS = re.compile(r"(oc_[A-Za-z0-9_-]{1,100})(?:/(omt_[A-Za-z0-9_-]{1,100}))?", re.ASCII)


class Place(Struct, frozen=True):
    chat: str
    thread: str | None = None

    @property
    def conversation(self) -> Conversation:
        return Conversation(NAME, f"{self.chat}/{self.thread}" if self.thread else self.chat)


def place(address: str) -> Place:
    found = _ADDRESS.fullmatch(address)
    if found is None:
        raise BadInput(say("surfaces.feishu_no_chat", address=repr(one_line(address))))
    return Place(found[1], found[2])
