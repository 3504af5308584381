"""A sentence in English and 简体中文. Which of the two is shown is decided late, by `engine/delivery/language`."""

from __future__ import annotations


class Bilingual(str):
    """A sentence in English that knows its Chinese. To everything that does not ask, it is the English one."""

    __slots__ = ("zh",)
    zh: str

    def __new__(cls, english: str, chinese: str) -> Bilingual:
        both = super().__new__(cls, english)
        both.zh = chinese
        return both


def zh(text: str) -> str:
    """In Chinese, where that is known."""
    return text.zh if isinstance(text, Bilingual) else text


def joined(between: str, *parts: str) -> Bilingual:
    """Parts that are empty are left out."""
    kept = [part for part in parts if part]
    return Bilingual(between.join(kept), between.join(map(zh, kept)))
