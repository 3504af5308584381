"""Turns an inbound message into one for a runtime, with its author."""

from __future__ import annotations

from clew.model.messages import CLEW, Inbound, PromptMessage
from clew.support.text import clean


def message_of(inbound: Inbound) -> PromptMessage:
    """The message with a cleaned text; a sender who is named like clew is marked as a sender."""
    author = clean(inbound.sender)
    named = f"{author} (a sender)" if author.strip().lower() == CLEW else author
    return PromptMessage(inbound.message_id, named, clean(inbound.text), inbound.attachments, inbound.in_group)
