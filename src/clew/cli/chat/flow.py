"""Splits the agent's text into lines above the prompt: a line is emitted when it is complete or fills a row. Pure.

The rest, the unfinished line, is shown with the prompt.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from clew.cli.view.events import InfoLine, Piece, TextChunk
from clew.cli.view.text_width import rows_of
from clew.support.text import visible


class Flow:
    def __init__(self) -> None:
        self.pending = ""  # the unfinished line

    def take(self, pieces: Iterable[Piece], columns: int) -> Iterator[TextChunk | InfoLine]:
        """Emit lines, without line ends."""
        for piece in pieces:
            if isinstance(piece, InfoLine):
                yield from self.flush()
                yield replace(piece, line=visible(piece.line))
                continue
            if piece.fresh:
                yield from self.flush()
            yield from self._lines(visible(piece.text), columns)

    def flush(self) -> Iterator[TextChunk]:
        if self.pending:
            line, self.pending = self.pending, ""
            yield TextChunk(line)

    def _lines(self, text: str, columns: int) -> Iterator[TextChunk]:
        *complete, rest = (self.pending + text).split("\n")
        for line in complete:
            yield from (TextChunk(row.rstrip()) for row in rows_of(line, columns))
        *rows, self.pending = rows_of(rest, columns)
        yield from (TextChunk(row.rstrip()) for row in rows)
