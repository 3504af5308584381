"""Markdown on a terminal: blocks of a text that grows, and how they look."""

from __future__ import annotations

import re

import pytest

from clew.cli.chat.flow import Flow
from clew.cli.view.events import InfoLine, TextChunk
from clew.cli.view.markdown import Blocks, laid_out

TEXT = """\
# Head

A paragraph
of two lines.

- one

  more of one
- two

1. first

After the list.
```py
x = 1

y = 2
```
The end"""

BLOCKS = [
    "# Head",
    "A paragraph\nof two lines.",
    "- one\n\n  more of one\n- two\n\n1. first",
    "After the list.",
    "```py\nx = 1\n\ny = 2\n```",
    "The end",
]


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_a_text_is_split_into_blocks_however_it_arrives(size: int) -> None:
    blocks = Blocks()
    found = [block for at in range(0, len(TEXT), size) for block in blocks.take(TEXT[at : at + size])]
    assert [*found, blocks.flush()] == BLOCKS and blocks.flush() == ""


def test_a_paragraph_is_complete_at_a_blank_line_and_a_fence_at_its_end() -> None:
    blocks = Blocks()
    assert blocks.take("one\n\n") == ["one"]
    assert blocks.take("```\nls\n") == [] and blocks.last_line == "ls"
    assert blocks.take("```\n") == ["```\nls\n```"]


def test_a_fence_that_is_interrupted_goes_on_as_a_fence() -> None:
    blocks = Blocks()
    blocks.take("```sh\nls\n")
    assert blocks.flush() == "```sh\nls" and blocks.flush() == ""
    assert blocks.take("rm\n```\n") == ["```sh\nrm\n```"]


def plain(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def test_nothing_of_a_text_vanishes_but_its_markup() -> None:
    shown = plain(laid_out("hello **world**, <b>x</b> & [here](http://x)", 80))
    assert shown == "hello world, <b>x</b> & here (http://x)\n"
    assert "**" not in plain(laid_out("**注意：**重启", 80))


def test_character_references_cannot_change_text_direction_or_control_a_terminal() -> None:
    shown = laid_out("it says &#x202e;no&#x2069; &#x1b;[2J", 80)
    assert r"it says \u202eno\u2069" in shown and not set(shown) & set("\u202e\u2069\x1b")


def test_above_the_prompt_a_block_is_laid_out_when_it_is_complete() -> None:
    flow = Flow()
    assert list(flow.take([TextChunk("# Head\n\nhello **wor")], 40)) == [
        TextChunk(line) for line in laid_out("# Head", 40).splitlines()
    ]
    assert flow.pending == "hello **wor"
    lines = [*flow.take([TextChunk("ld**")], 40), *flow.take([InfoLine("· command: ls")], 40)]
    assert [plain(line.text if isinstance(line, TextChunk) else line.line) for line in lines] == [
        "",
        "hello world",
        "· command: ls",
    ]
