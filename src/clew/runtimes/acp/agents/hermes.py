"""Quirks of Hermes, as of release 0.19. Pure."""

from __future__ import annotations

import re

from clew.model.turns import Problem

GATE_TIMEOUT = 55.0  # below the 60 s after which Hermes denies an unanswered request, whatever its config says
_STUCK = re.compile(r"Queued for the next turn\. \(\d+ queued\)")
# Hermes reports errors of the model as the text of a successful answer.
_FAILURE = re.compile(r"(?:API call failed after \d+ retries[:.] ?)?(?:Error: )?HTTP (\d{3})\b.*|Error: .*", re.DOTALL)
_PROBLEMS = {
    401: ("not_logged_in", "Hermes is not logged in at its model. Run `hermes setup`, or mend its config.yaml"),
    403: ("not_logged_in", "Hermes is not logged in at its model. Run `hermes setup`, or mend its config.yaml"),
    402: ("usage_limit", "The account that Hermes uses has run out of credit"),
    429: ("rate_limit", "The model refused because of too many requests. Try again in a while"),
}


def is_stuck(text: str) -> bool:
    """Whether the session waits for a turn that is over: its prompts never run."""
    return _STUCK.fullmatch(text.strip()) is not None


def failure(text: str) -> Problem | None:
    if (found := _FAILURE.fullmatch(text.strip())) is None:
        return None
    code, words = _PROBLEMS.get(int(found[1] or 0), ("model_error", "Hermes had no answer from its model"))
    return Problem(code, f"{words}: {text.strip()[:500]}")
