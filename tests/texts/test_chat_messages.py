"""Messages that chats and the terminal show."""

from __future__ import annotations

import pytest

from clew.texts.bilingual import for_chat, zh
from clew.texts.catalogue import say
from clew.texts.chat_messages import silence


@pytest.mark.parametrize(
    ("seconds", "english", "chinese"),
    [
        (3, "no sign of life for 3 s,", "模型 3 秒没有"),
        (90, "no sign of life for 90 s,", "模型 90 秒没有"),
        (0.5, "no sign of life for 0.5 s,", "模型 0.5 秒没有"),
        (600, "no sign of life for 10 min,", "模型 10 分钟没有"),
    ],
)
def test_a_silence_is_told_with_its_true_length(seconds: float, english: str, chinese: str) -> None:
    words = silence(seconds).text
    assert english in words and chinese in zh(words)


@pytest.mark.parametrize(
    "code", ["people.owners_only", "turns.broken", "turns.internal", "turns.never_began", "gates.not_shown_here"]
)
def test_a_chat_says_nothing_that_only_helps_at_the_computer(code: str) -> None:
    assert "`clew" in say(code, code="K7Q2", attempts=3)
    shown = for_chat(say(code, code="K7Q2", attempts=3))
    assert "`clew" not in f"{shown}{zh(shown)}"
