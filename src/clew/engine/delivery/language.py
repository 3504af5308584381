"""In which language clew speaks in a conversation: that of what was said there last. Chinese where it has Chinese
characters, English where it has at least two words in Latin letters; what is neither, such as `y`, a code or a command,
changes nothing. Where nothing was said yet, a setting counts. Outside of chats it is always English."""

from __future__ import annotations

import re

from clew.engine.core import Core
from clew.model.messages import Conversation, Inbound
from clew.store import Tx
from clew.store.tables import places
from clew.texts.bilingual import Bilingual, zh

ENGLISH, CHINESE = "en", "zh"
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
_KANA = re.compile("[\u3040-\u30ff]")  # Japanese has Chinese characters, too
_WORD = re.compile("[A-Za-z]{2,}")


def detect_language(text: str) -> str | None:
    """The language of a message, if it tells."""
    if _HAN.search(text) and not _KANA.search(text):
        return CHINESE
    return ENGLISH if len(_WORD.findall(text)) >= 2 else None


def remember_language(tx: Tx, core: Core, inbound: Inbound) -> None:
    said = detect_language(inbound.text)
    if said is None or inbound.pressed or not _is_chat(core, inbound.conversation):
        return
    if places.get(tx, inbound.conversation).language != said:
        places.put(tx, inbound.conversation, "language", said)


def language_of(tx: Tx, core: Core, where: Conversation | None) -> str:
    if where is None or not _is_chat(core, where):
        return ENGLISH
    return places.get(tx, where).language or core.config.chats.language


def localized(tx: Tx, core: Core, where: Conversation | None, text: str) -> str:
    """As it is said there. What is not ours to translate stays as it is."""
    if not isinstance(text, Bilingual):
        return text
    return zh(text) if language_of(tx, core, where) == CHINESE else str(text)


def _is_chat(core: Core, where: Conversation) -> bool:
    surface = core.surfaces.get(where.surface)
    return surface is not None and surface.can.chat
