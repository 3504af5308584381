"""Makes untrusted text safe: `clean` before it is stored, `visible` before it is shown.

Both work character by character, so processing a text piece by piece gives the same result.
"""

from __future__ import annotations

import re
from io import StringIO

LONGEST = 4_000_000  # bytes of one text of an agent, unless `turns.longest_text` says otherwise

# Two patterns are compiled only when used, which `re` remembers: every command imports this module.
_UNSTORABLE = "[\0\ud800-\udfff]"

# C0 and C1 controls except newline and tab, lone surrogates, and marks that change the direction of text.
_UNSHOWN = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")
_TURNING = "[\u202a-\u202e\u2066-\u2069]"


class Pieces:
    """A text that arrives in pieces. Adding a piece costs its own length, not that of the text before it."""

    def __init__(self, text: str = "") -> None:
        self._buffer = StringIO(newline="")
        self.length = 0  # characters
        self.add(text)

    def add(self, piece: str) -> None:
        self.length += self._buffer.write(piece)

    def text(self) -> str:
        return self._buffer.getvalue()


def clean(text: str) -> str:
    """Replace what a database or UTF-8 cannot hold: a lone surrogate or a NUL becomes U+FFFD."""
    return re.sub(_UNSTORABLE, "�", text)


def visible(text: str) -> str:
    """Make text safe for a terminal: control characters become escapes such as `\\x1b`."""
    return _UNSHOWN.sub(lambda found: _escaped(found[0]), text)


def escape_direction_marks(text: str) -> str:
    """Escape only the marks that change the direction of text."""
    return re.sub(_TURNING, lambda found: _escaped(found[0]), text)


def _escaped(char: str) -> str:
    return f"\\x{ord(char):02x}" if ord(char) < 0x100 else f"\\u{ord(char):04x}"


def cut_mark(characters: int) -> str:
    """Stands for so many characters that were cut out; it is the same in each language."""
    return f"… ✂ {characters:,} …"


def agent_name(runtime: str) -> str:
    """What an agent is called in sentences: `Codex` for the runtime `codex`."""
    return runtime[:1].upper() + runtime[1:]
