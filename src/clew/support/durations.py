"""Parses durations as people write them."""

from __future__ import annotations

import re

from clew.support.display import escape_hidden
from clew.support.errors import BadInput

_UNITS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}


def parse_duration(text: str) -> int:
    """Milliseconds of `2h`, `30m`, `1d`, `90s` or `1w`."""
    from clew.support.coded import worded  # only an error needs it

    found = re.fullmatch(r"([0-9]{1,6})\s*([smhdw])", text.strip().lower())
    if found is None or int(found[1]) == 0:
        shown = escape_hidden(text[:40], lines=False)
        raise BadInput(
            worded(
                "process.no_duration",
                "{shown} is no length of time; write a number and s, m, h, d or w, such as 30m, 2h or 1d",
                shown=f"{shown!r}",
            )
        )
    return int(found[1]) * _UNITS[found[2]]
