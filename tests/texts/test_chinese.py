"""The Chinese of what adapters, server, store and doctor say: no English is left in it."""

from __future__ import annotations

import copy
import re

import pytest

from clew.support.coded import Text
from clew.texts.catalogue import say, sentences

AREAS = ("acp", "codex", "daemon", "doctor", "runtimes", "surfaces")
_EXACT = re.compile(r"`[^`]*`|\{\w+\}")  # commands and settings, and what is filled in
_ENGLISH = re.compile(r"(?:\b[A-Za-z][A-Za-z'-]*\s+){2,}[A-Za-z]")


def english_in(translated: str) -> str | None:
    found = _ENGLISH.search(_EXACT.sub("，", translated))
    return found[0] if found else None


@pytest.mark.parametrize("area", AREAS)
def test_no_english_is_left_in_the_chinese(area: str) -> None:
    left = {name: english_in(translated) for name, (_, translated) in sentences(area).items()}
    assert {name: words for name, words in left.items() if words} == {}


def test_english_is_found_where_it_is_left() -> None:
    assert english_in("请运行 the usual command 再试") is not None
    assert english_in("请运行 `clew codex login now` 再试 {one} {two}") is None


def test_a_copied_sentence_keeps_its_code() -> None:
    text = copy.deepcopy(say("runtimes.idle"))
    assert isinstance(text, Text) and text.coded.code == "runtimes.idle"
