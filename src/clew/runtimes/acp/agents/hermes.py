"""Quirks of Hermes, as of release 0.19. Pure."""

from __future__ import annotations

import re

GATE_TIMEOUT = 55.0  # below the 60 s after which Hermes denies an unanswered request, whatever its config says
EDIT_TOOLS = frozenset({"write_file", "patch"})  # it asks about these as `{"tool": …, "arguments": {…}}`
_STUCK = re.compile(r"Queued for the next turn\. \(\d+ queued\)")


def is_stuck(text: str) -> bool:
    """Whether the session waits for a turn that is over: its prompts never run."""
    return _STUCK.fullmatch(text.strip()) is not None
