"""Names the author of a message that came in."""

from __future__ import annotations

from clew.model.messages import CLEW, Inbound, PromptMessage
from clew.support.text import clean


def message_of(inbound: Inbound) -> PromptMessage:
    """Nobody but clew speaks in clew's name."""
    author = clean(inbound.sender)
    named = f"{author} (a sender)" if author.strip().lower() == CLEW else author
    return PromptMessage(inbound.message_id, named, clean(inbound.text), inbound.attachments, inbound.in_group)
