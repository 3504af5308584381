"""Quirks of Hermes, as of release 0.19. Pure."""

from __future__ import annotations

import re

from clew.model.turns import Problem
from clew.texts.catalogue import say

GATE_TIMEOUT = 55.0  # below the 60 s after which Hermes denies an unanswered request, whatever its config says
EDIT_TOOLS = frozenset({"write_file", "patch"})  # it asks about these as `{"tool": …, "arguments": {…}}`
_STUCK = re.compile(r"Queued for the next turn\. \(\d+ queued\)")
# Hermes reports errors of the model as the text of a successful answer.
_FAILURE = re.compile(r"(?:API call failed after \d+ retries[:.] ?)?(?:Error: )?HTTP (\d{3})\b.*|Error: .*", re.DOTALL)
_PROBLEMS = {
    401: ("not_logged_in", "acp.hermes_log_in"),
    403: ("not_logged_in", "acp.hermes_log_in"),
    402: ("usage_limit", "acp.hermes_credit"),
    429: ("rate_limit", "acp.hermes_rate_limit"),
}


def is_stuck(text: str) -> bool:
    """Whether the session waits for a turn that is over: its prompts never run."""
    return _STUCK.fullmatch(text.strip()) is not None


def failure(text: str) -> Problem | None:
    if (found := _FAILURE.fullmatch(text.strip())) is None:
        return None
    code, sentence = _PROBLEMS.get(int(found[1] or 0), ("model_error", "acp.hermes_no_answer"))
    return Problem.of(code, say(sentence, reply=text.strip()[:500]))
