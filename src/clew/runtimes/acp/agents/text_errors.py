"""Recognises errors of a model that an agent reports as the text of a successful answer. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from clew.model.turns import Problem
from clew.texts.catalogue import say

Failure = Callable[[str], Problem | None]
LONGEST = 500  # characters of an agent's own words in an error

_STATUS = re.compile(r"\b(401|402|403|429)\b")
_PROBLEMS = {
    "401": ("not_logged_in", "acp.model_log_in"),
    "403": ("not_logged_in", "acp.model_log_in"),
    "402": ("no_credit", "acp.model_credit"),
    "429": ("rate_limit", "acp.model_rate_limit"),
}


def recognise(title: str, begins: str) -> Failure:
    """Return a function that recognises errors of one agent. `begins`: the pattern of how they begin."""
    pattern = re.compile(begins)

    def failure(text: str) -> Problem | None:
        return _problem(title, text.strip()) if pattern.match(text.strip()) else None

    return failure


def as_json(text: str) -> Problem | None:
    """Recognise what the Codex adapter says if its model refuses a request: the body of that response."""
    try:
        said = json.loads(text)
    except ValueError:
        return None
    is_error = isinstance(said, dict) and isinstance(said.get("error"), dict) and len(said) == 1
    return _problem("Codex", text.strip()) if is_error and "message" in said["error"] else None


def _problem(title: str, said: str) -> Problem:
    status = _STATUS.search(said)
    code, sentence = _PROBLEMS.get(status[1] if status else "", ("model_error", "acp.model_no_answer"))
    return Problem.of(code, say(sentence, title=title, reply=said[:LONGEST]))


_HERMES_STATUS = r"(?:API call failed after \d+ retries[:.] ?)?(?:Error: )?HTTP \d{3}\b"
hermes = recognise("Hermes", rf"{_HERMES_STATUS}|Error: |⚠️ No reply: the model returned empty content\b")
copilot = recognise("GitHub Copilot", r"(?:Info: Request failed[^\n]*\n*)*Error: ")
goose = recognise("Goose", r"Ran into this error: ")
