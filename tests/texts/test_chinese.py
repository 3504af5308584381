"""The Chinese of what adapters, server, store and doctor say: no English is left in it."""

from __future__ import annotations

import copy
import re

import pytest

from clew.support.coded import Text
from clew.texts.catalogue import AREAS as ALL
from clew.texts.catalogue import say, sentences
from clew.texts.slash_commands import Place, Typed, parse
from tests.helpers.paths import ROOT

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


def test_the_former_word_of_a_command_still_works() -> None:
    for word in ("智能体", "代理"):
        typed = parse(f"/{word} codex", Place.CHAT)
        assert isinstance(typed, Typed) and typed.spec.name == "runtime" and typed.in_chinese


def test_a_copied_sentence_keeps_its_code() -> None:
    text = copy.deepcopy(say("runtimes.idle"))
    assert isinstance(text, Text) and text.coded.code == "runtimes.idle"


_PROXY = "途中的设备（代理、防火墙、登录页）"  # on the network
_IN_DETAILS = "以下只是代理的说明"  # a part of what a yes allows: see tests/engine/rules/test_exact_rules.py


def test_an_agent_and_a_surface_have_one_word_each() -> None:
    page = (ROOT / "src/clew/server/page/static/words/zh.json").read_text(encoding="utf-8")
    texts = [translated for area in ALL for _, translated in sentences(area).values()]
    left = [text for text in (page, *texts) if "渠道" in text or "代理" in text]
    assert [text for text in left if _PROXY not in text and _IN_DETAILS not in text] == []


def test_people_are_addressed_by_one_word() -> None:
    """`你`, in what clew says and on its pages, never also the formal word."""
    formal = chr(0x60A8)
    files = [each for end in ("py", "js", "json", "html") for each in (ROOT / "src").rglob(f"*.{end}")]
    assert files and [path.name for path in files if formal in path.read_text(encoding="utf-8")] == []
