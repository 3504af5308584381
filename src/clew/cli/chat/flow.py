"""The agent's text as lines above a prompt: a line is given out when it is whole, or as soon as it fills a row. Pure.

What is left over, the line that is being written, is shown with the prompt.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from clew.cli.view.columns import rows_of
from clew.cli.view.events import Aside, Piece, TextChunk
from clew.support.text import visible


class Flow:
    def __init__(self) -> None:
        self.pending = ""  # the line that is being written

    def take(self, pieces: Iterable[Piece], room: int) -> Iterator[TextChunk | Aside]:
        """Lines, without their ends."""
        for piece in pieces:
            if isinstance(piece, Aside):
                yield from self.flush()
                yield replace(piece, line=visible(piece.line))
                continue
            if piece.fresh:
                yield from self.flush()
            yield from self._lines(visible(piece.text), room)

    def flush(self) -> Iterator[TextChunk]:
        if self.pending:
            line, self.pending = self.pending, ""
            yield TextChunk(line)

    def _lines(self, text: str, room: int) -> Iterator[TextChunk]:
        *whole, rest = (self.pending + text).split("\n")
        for line in whole:
            yield from (TextChunk(row.rstrip()) for row in rows_of(line, room))
        *rows, self.pending = rows_of(rest, room)
        yield from (TextChunk(row.rstrip()) for row in rows)
