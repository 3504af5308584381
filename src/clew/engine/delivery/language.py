"""The language that clew uses in a conversation: that of the last message there. Chinese if it has Chinese characters,
English if it has at least two words in Latin letters; anything else (`y`, a code, a command) changes nothing. Before
the first message a setting decides. Elsewhere the text is English with its code, and whoever shows it translates it."""

from __future__ import annotations

import re

from msgspec.structs import replace

from clew.engine.core import Core
from clew.model.messages import Conversation, Inbound
from clew.store import Tx
from clew.store.tables import places
from clew.support.coded import Text
from clew.texts.bilingual import Bilingual, for_chat, zh

ENGLISH, CHINESE = "en", "zh"

# Compiled with the first message.
_HAN = "[\u3400-\u4dbf\u4e00-\u9fff]"
_KANA = "[\u3040-\u30ff]"  # Japanese has Chinese characters, too
_WORD = r"(?<![\w/])[A-Za-z]{2,}(?!\w)"  # neither a command nor an id


def detect_language(text: str) -> str | None:
    """The language of a message; None if unclear."""
    if re.search(_HAN, text) and not re.search(_KANA, text):
        return CHINESE
    return ENGLISH if len(re.findall(_WORD, text)) >= 2 else None


def remember_language(tx: Tx, core: Core, inbound: Inbound) -> None:
    found = detect_language(inbound.text)
    if found is None or inbound.pressed or not _is_chat(core, inbound.conversation):
        return
    if places.get(tx, inbound.conversation).language != found:
        places.put(tx, inbound.conversation, "language", found)


def name_missing_files(tx: Tx, core: Core, inbound: Inbound) -> Inbound:
    """The message with a line about each file that could not be fetched, in the language of its conversation."""
    lines = [localized(tx, core, inbound.conversation, each) for each in inbound.missing]
    return replace(inbound, text="\n".join(filter(None, (inbound.text, *lines))), missing=()) if lines else inbound


def language_of(tx: Tx, core: Core, where: Conversation | None) -> str:
    if where is None or not _is_chat(core, where):
        return ENGLISH
    return places.get(tx, where).language or core.config.chats.language


def language_known(tx: Tx, core: Core, where: Conversation) -> bool:
    """Whether somebody has written there so that the language can be told, or the setting is not the default."""
    return places.get(tx, where).language is not None or core.config.chats.language != ENGLISH


def localized(tx: Tx, core: Core, where: Conversation | None, text: str) -> str:
    """The text in the language of the conversation. Text that is not bilingual is returned unchanged."""
    if not isinstance(text, Bilingual | Text):
        return text
    if where is not None and _is_chat(core, where):
        text = for_chat(text)
    return zh(text) if language_of(tx, core, where) == CHINESE else str.__str__(text)


def as_reply(tx: Tx, core: Core, where: Conversation, text: str) -> str:
    """A reply to a message: in a chat in its language. Elsewhere a sentence keeps its code, for the caller to show."""
    return text if isinstance(text, Text) and not _is_chat(core, where) else localized(tx, core, where, text)


def _is_chat(core: Core, where: Conversation) -> bool:
    surface = core.surfaces.get(where.surface)
    return surface is not None and surface.can.chat
