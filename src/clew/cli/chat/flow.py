"""Splits the agent's text into lines above the prompt: a block is laid out when it is complete. Pure.

The end of the unfinished block is shown with the prompt.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from clew.cli.view.events import InfoLine, Piece, TextChunk
from clew.cli.view.markdown import Blocks, laid_out
from clew.cli.view.text_width import rows_of
from clew.support.text import visible


class Flow:
    def __init__(self) -> None:
        self._blocks = Blocks()
        self._columns = 80
        self._has_blocks = False  # whether a block of this text was emitted

    @property
    def pending(self) -> str:
        """The end of the unfinished block, which fits into a row."""
        *_, last = rows_of(self._blocks.last_line, self._columns)
        return last

    def take(self, pieces: Iterable[Piece], columns: int) -> Iterator[TextChunk | InfoLine]:
        """Emit lines, without line ends."""
        self._columns = columns
        for piece in pieces:
            if isinstance(piece, InfoLine):
                yield from self.flush()
                yield replace(piece, line=visible(piece.line))
                continue
            if piece.fresh:
                yield from self.flush()
                self._blocks.clear()
                self._has_blocks = False
            for block in self._blocks.take(visible(piece.text)):
                yield from self._lines(block)

    def flush(self) -> Iterator[TextChunk]:
        if block := self._blocks.flush():
            yield from self._lines(block)

    def _lines(self, block: str) -> Iterator[TextChunk]:
        if self._has_blocks:
            yield TextChunk("")
        self._has_blocks = True
        yield from map(TextChunk, laid_out(block, self._columns).splitlines())
