"""The message that tells a model why a person declined what it asked, for agents that only pass on that they did."""

from __future__ import annotations

from clew.model.gates import Answer
from clew.model.messages import PromptMessage
from clew.support.display.as_code import script_shown

LONGEST_TITLE = 200  # characters of what was declined


def explanation(ref: str, title: str, answer: Answer) -> PromptMessage:
    """`ref`: of the request; `title`: what was asked."""
    shown = script_shown(title)
    about = shown if len(shown) <= LONGEST_TITLE else f"{shown[:LONGEST_TITLE]}…"
    words = f"I declined {about}: {answer.reason}"
    if answer.expired:
        words = f"Nobody declined {about}. It was not done because {answer.reason}; you may ask again."
    return PromptMessage(f"{ref}:reason", "clew", words)
