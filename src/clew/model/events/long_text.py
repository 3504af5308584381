"""Limits the length of one text of an agent (`turns.longest_text`), and ends its lines with a newline alone.

A text that is too long is cut between two characters and ends with a mark that says how many characters are missing;
the event `Notice` says why, in the language of its reader. The cost of a text that arrives in pieces is linear in its
length, however small they are.
"""

from __future__ import annotations

from clew.model.events import Event, Notice, NoticeKind, TextDone
from clew.support.coded import worded
from clew.support.text import LONGEST, Pieces, cut_mark

NOTICE_ROOM = 400  # bytes that are reserved for the notice


class GrowingText:
    """A text that arrives in pieces. Its last `NOTICE_ROOM` bytes are shown only when it is complete: so what was shown
    before is always a prefix of the final text, whether that is cut or not."""

    def __init__(self, longest: int = LONGEST) -> None:
        self._longest = longest
        self._shown = Pieces()
        self._rest = Pieces()
        self._room = longest - NOTICE_ROOM
        self._rest_room = NOTICE_ROOM
        self._more = 0  # characters after what is shown
        self._is_notified = False
        self._return = ""  # at the end of the newest piece: a newline may follow

    def add(self, piece: str) -> str:
        """Returns the part of the piece that may be shown now."""
        piece = self._return + piece
        self._return = "\r" if piece.endswith("\r") else ""
        piece = _with_newlines(piece.removesuffix("\r"))
        shown, self._room = _fit(piece, self._room)
        self._shown.add(shown)
        if len(shown) < len(piece):
            self._keep_back(piece[len(shown) :])
        return shown

    @property
    def length(self) -> int:
        """How many characters may be shown."""
        return self._shown.length

    @property
    def is_cut(self) -> bool:
        return self._more > self._rest.length

    def shown(self) -> str:
        return self._shown.text()

    def whole(self) -> str:
        return self.shown() + (self._notice() if self.is_cut else self._rest.text() + self._return)

    def news(self) -> list[Event]:
        """A notice, once, as soon as the text is too long."""
        if self._is_notified or not self.is_cut:
            return []
        self._is_notified = True
        return [Notice(NoticeKind.SHORTENED, _too_long(self._longest))]

    def _keep_back(self, piece: str) -> None:
        kept, self._rest_room = _fit(piece, self._rest_room + self._room)  # a wide character may leave some bytes free
        self._room = 0
        self._rest.add(kept)
        self._more += len(piece)

    def _notice(self) -> str:
        return f"\n\n[{cut_mark(self._more)}]"


def grown(text: str, longest: int = LONGEST) -> GrowingText:
    growing = GrowingText(longest)
    growing.add(text)
    return growing


def shortened(text: str, longest: int = LONGEST) -> str:
    """The text itself if it is short enough; else its beginning and the notice. Idempotent."""
    return _with_newlines(text) if len(text) * 4 <= longest else grown(text, longest).whole()


def text_done(item: str, text: str, longest: int = LONGEST, streamed: GrowingText | None = None) -> list[Event]:
    """The events that end a text, as the agent's record has it. `streamed`: the pieces of it that came before."""
    growing = grown(text, longest)
    is_notified = streamed is not None and streamed.is_cut
    return [TextDone(item, growing.whole()), *([] if is_notified else growing.news())]


def _with_newlines(text: str) -> str:
    return text.replace("\r\n", "\n")


def _too_long(longest: int) -> str:
    return worded(
        "runtimes.text_too_long",
        "A text of the agent is longer than {longest} bytes (turns.longest_text); the rest of it is left out.",
        longest=f"{longest:,}",
    )


def _fit(piece: str, room: int) -> tuple[str, int]:
    """The beginning of the piece that fits into `room` bytes, and how many bytes are left then."""
    head = piece[:room]
    if head.isascii():
        return head, room - len(head)
    data = head.encode("utf-8", "surrogatepass")
    end = min(room, len(data))
    while 0 < end < len(data) and data[end] & 0xC0 == 0x80:  # in the middle of a character
        end -= 1
    return data[:end].decode("utf-8", "surrogatepass"), room - end
