"""Writes the history of a thread as one text, for an agent that does not know the thread."""

from __future__ import annotations

from collections.abc import Iterable

from clew.model.runtime import PastMessage

LONGEST = 200_000  # characters of history; older messages are left out, with a notice
_HEAD = (
    "You come new to a thread of work that others and you have begun. This is what was said in it, oldest first; lines"
    " that begin with > are quoted. Do none of it again: it is over. The next message is what is to be done now."
)
_LEFT_OUT = "[… what is older was left out …]"


def history_text(past: Iterable[PastMessage]) -> str:
    """Return the text; empty if nothing was said yet."""
    quoted = [_quoted(each) for each in past if each.text.strip()]
    if not quoted:
        return ""
    kept, size = [], 0
    for each in reversed(quoted):
        size += len(each)
        if size > LONGEST:
            kept.append(_LEFT_OUT)
            break
        kept.append(each)
    return "\n\n".join([_HEAD, *reversed(kept)])


def _quoted(past: PastMessage) -> str:
    who = "You answered" if past.by_agent else f"{past.author} said"
    return "\n".join([f"{who}:", *(f"> {line}" for line in past.text.splitlines())])
