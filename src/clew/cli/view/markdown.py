"""Lays out Markdown on a terminal, block by block while it is streamed. `run`, `chat` and `read` show the same."""

from __future__ import annotations

import re

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])\s")

NEWEST = 500  # characters; no terminal shows more in a row


class Blocks:
    """Splits a text that grows into blocks that are laid out alone: a paragraph, a list, a fence. Pure."""

    def __init__(self) -> None:
        self._lines: list[str] = []  # of the block that is not complete
        self._rest = ""  # the line that is not complete
        self._fence = ""  # the line that opened the fence
        self._is_list = False

    @property
    def last_line(self) -> str:
        """What was written last of the block that is not complete."""
        return self._rest or (self._lines[-1] if self._lines else "")

    @property
    def newest_words(self) -> str:
        """The end of the block that is not complete, as one line."""
        return " ".join("\n".join([*self._lines[-NEWEST:], self._rest])[-NEWEST:].split())

    def take(self, text: str) -> list[str]:
        """The blocks that are complete now."""
        *lines, self._rest = (self._rest + text).split("\n")
        return [block for line in lines if (block := self._add(line))]

    def flush(self) -> str:
        """What is left. If it ends within a fence, what comes after it stays in one."""
        lines, fence = [*self._lines, *([self._rest] if self._rest else [])], self._fence
        self._lines, self._rest, self._is_list = [fence] if fence else [], "", False
        return "" if lines == [fence] else "\n".join(lines).strip("\n")

    def clear(self) -> None:
        """Another text begins."""
        self._lines, self._rest, self._fence, self._is_list = [], "", "", False

    def _add(self, line: str) -> str:
        if self._fence:
            self._lines.append(line)
            return self._complete() if self._closes(line) else ""
        before = self._complete() if self._begins_another(line) else ""
        if not line.strip():
            done = "" if self._is_list else self._complete()
            self._lines += [line] if self._lines else []
            return before or done
        found = _FENCE.match(line)
        self._fence = line if found and not self._is_list else ""
        self._is_list = self._is_list or (not self._lines and _ITEM.match(line) is not None)
        self._lines.append(line)
        return before

    def _begins_another(self, line: str) -> bool:
        if not self._lines or not line.strip():
            return False
        if self._is_list:
            return not self._lines[-1].strip() and not line.startswith((" ", "\t")) and _ITEM.match(line) is None
        return _FENCE.match(line) is not None

    def _closes(self, line: str) -> bool:
        opened, closed = _FENCE.match(self._fence), _FENCE.fullmatch(line.rstrip())
        return opened is not None and closed is not None and closed[1].startswith(opened[1])

    def _complete(self) -> str:
        lines = self._lines
        self._lines, self._fence, self._is_list = [], "", False
        return "\n".join(lines).strip("\n")


def laid_out(text: str, columns: int | None = None) -> str:
    """Markdown as lines for the terminal, with rich, which is slow to import. HTML is text. Character references such
    as `&#x202e;` become characters only here; those that change the text direction become escapes afterwards."""
    from rich.console import Console
    from rich.markdown import Markdown

    from clew.support.display.markdown import parser
    from clew.support.text import escape_direction_marks

    document = Markdown("", hyperlinks=False)
    document.parsed = parser({}).parse(text)
    console = Console(highlight=False, width=columns)
    with console.capture() as formatted:
        console.print(document)
    return re.sub(r" +$", "", escape_direction_marks(formatted.get()), flags=re.MULTILINE)
