"""A text in English and 简体中文 that is shown at once and never stored; `texts/catalogue` has the ones that are.
`engine/delivery/language` chooses one when a message is enqueued."""

from __future__ import annotations

from clew.support.coded import Text
from clew.texts.catalogue import chinese, english, in_chat, is_known


class Bilingual(str):
    """An English string that also has a Chinese version, in `zh`."""

    __slots__ = ("zh",)
    zh: str

    def __new__(cls, english: str, chinese: str) -> Bilingual:
        both = super().__new__(cls, english)
        both.zh = chinese
        return both


def zh(text: str) -> str:
    """The Chinese version, if there is one."""
    if isinstance(text, Text):
        return chinese(text.coded) if is_known(text.coded) else str.__str__(text)
    return text.zh if isinstance(text, Bilingual) else text


def for_chat(text: str) -> str:
    """The text as a chat says it, in both languages."""
    if not isinstance(text, Text) or not is_known(text.coded):
        return text
    said = in_chat(text.coded)
    return Text(english(said), said)


def joined(between: str, *parts: str) -> Bilingual:
    """Join the parts in both languages. Empty parts are left out."""
    kept = [part for part in parts if part]
    return Bilingual(between.join(kept), between.join(map(zh, kept)))
