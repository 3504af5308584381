"""Messages that chats and the terminal show."""

from __future__ import annotations

import pytest

from clew.texts.bilingual import zh
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
