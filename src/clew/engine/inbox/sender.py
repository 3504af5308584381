"""Turns an inbound message into one for a runtime, with its author."""

from __future__ import annotations

from msgspec.structs import replace

from clew.model.messages import CLEW, Inbound, PromptMessage
from clew.support.text import clean
from clew.texts.gate_messages import is_local


def with_own_name(inbound: Inbound, local_surface: str) -> Inbound:
    """Somebody elsewhere who calls themselves as a local client does is put in quotes: nobody passes for the person at
    the computer."""
    is_posing = is_local(inbound.sender.strip().lower()) and inbound.conversation.surface != local_surface
    return replace(inbound, sender=f'"{inbound.sender}"') if is_posing else inbound


def message_of(inbound: Inbound) -> PromptMessage:
    """The message with a cleaned text; a sender who is named like clew is marked as a sender."""
    author = clean(inbound.sender)
    named = f"{author} (a sender)" if author.strip().lower() == CLEW else author
    person = f"{inbound.conversation.surface}:{inbound.sender_id}" if inbound.sender_id else ""
    text = clean(inbound.text)
    return PromptMessage(inbound.message_id, named, text, inbound.attachments, inbound.in_group, person)
