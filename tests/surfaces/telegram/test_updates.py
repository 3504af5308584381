"""Parsing updates: anything that arrives from Telegram is read or skipped."""

from __future__ import annotations

from typing import get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.model.messages import Inbound
from clew.surfaces.telegram.updates import (
    Message,
    Query,
    Skipped,
    Update,
    User,
    number,
    press_to_inbound,
    read,
    to_inbound,
)

ME = User(7000, is_bot=True, username="clew_bot")
NAMES = sorted({"from", "type", "offset", "length", "file_id", "id", "first_name", *get_type_hints(Message)})
LEAVES = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.text(max_size=6) | st.floats(allow_nan=True)
WHATEVER = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=6),
    max_leaves=12,
)
USERS = st.fixed_dictionaries({"id": st.integers(-5, 2**40)}, optional={"is_bot": WHATEVER, "first_name": WHATEVER})
ENTITIES = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["mention", "bot_command", "text_mention", "bold", "strikethrough"]),
        "offset": st.integers(-9, 2**40),
        "length": st.integers(-9, 2**40),
    },
    optional={"user": USERS},
)
MESSAGES = st.fixed_dictionaries(
    {"message_id": st.integers(-5, 2**60), "chat": USERS},
    optional={
        "from": USERS,
        "text": st.text(max_size=20) | st.sampled_from(["@clew_bot hi", "/new@clew_bot", "🧶 @clew_bot"]),
        "entities": st.lists(ENTITIES, max_size=3),
        "date": st.integers(-5, 2**60),
        **dict.fromkeys(("message_thread_id", "is_topic_message", "photo", "document", "sticker"), WHATEVER),
        "reply_to_message": st.fixed_dictionaries(
            {"message_id": st.integers(), "chat": USERS}, optional={"from": USERS}
        ),
    },
)
UPDATES = st.fixed_dictionaries(
    {"update_id": st.integers(0, 2**31) | WHATEVER},
    optional={
        "message": MESSAGES | WHATEVER,
        "callback_query": st.fixed_dictionaries({"id": st.text(max_size=5), "from": USERS, "message": MESSAGES}),
        "something_else": WHATEVER,
    },
)


def follow(update: Update) -> None:
    if isinstance(update.message, Message):
        inbound = to_inbound(update.message, ME)
        assert isinstance(inbound, Skipped) or (inbound.sender and inbound.sender_id and inbound.message_id)
    if isinstance(update.callback_query, Query):
        inbound = press_to_inbound(update.callback_query, ME)
        assert isinstance(inbound, Skipped) or (inbound.pressed and inbound.quoted)


@settings(max_examples=60)
@given(UPDATES | WHATEVER)
def test_anything_that_arrives_is_read_or_skipped(raw: object) -> None:
    assert number(raw) is None or isinstance(number(raw), int)
    update = read(raw)
    if isinstance(update, Update):
        follow(update)
    else:
        assert update.why


def test_a_button_on_an_old_message_without_details_still_counts() -> None:
    known = {"message_id": 5, "chat": {"id": 7, "type": "private"}, "date": 0}
    query = {"id": "q", "from": {"id": 7}, "data": "continue", "message": known}
    update = read({"update_id": 1, "callback_query": query})
    assert isinstance(update, Update) and isinstance(update.callback_query, Query)
    inbound = press_to_inbound(update.callback_query, ME)
    assert isinstance(inbound, Inbound) and (inbound.conversation.address, inbound.quoted) == ("7", "7000:5")


SOMEBODY = {"origin": {"type": "hidden_user", "sender_user_name": "Bob", "date": 1}}
FAR = {**SOMEBODY, "chat": {"id": -1002, "type": "supergroup"}, "message_id": 5}


def _hear(text: str = "y", **more: object) -> Inbound:
    said = {"message_id": 9, "chat": {"id": 7, "type": "private"}, "from": {"id": 7}, "text": text, **more}
    update = read({"update_id": 1, "message": said})
    assert isinstance(update, Update) and isinstance(update.message, Message)
    inbound = to_inbound(update.message, ME)
    assert isinstance(inbound, Inbound)
    return inbound


@pytest.mark.parametrize(
    "more", [{"external_reply": FAR}, {"external_reply": SOMEBODY}, {"reply_to_story": {"id": 3}}], ids=str
)
def test_a_reply_to_another_chat_quotes_no_message_of_this_one(more: dict[str, object]) -> None:
    inbound = _hear("y", **more)
    assert (inbound.quoted, inbound.quoted_in, inbound.relayed) == ("7000:0", None, False)


def test_a_forwarded_message_is_relayed() -> None:
    assert _hear(forward_origin={"type": "user", "date": 1}).relayed and not _hear().relayed


@pytest.mark.parametrize("kind", ["strikethrough", "blockquote", "expandable_blockquote"])
def test_a_text_that_is_struck_out_or_quoted_as_a_whole_is_relayed(kind: str) -> None:
    def over(offset: int, length: int, kind: str = kind) -> dict[str, object]:
        return {"type": kind, "offset": offset, "length": length}

    assert _hear("🧶 y", entities=[over(0, 2), over(3, 1)]).relayed
    assert _hear("@clew_bot y", entities=[over(0, 9, "mention"), over(10, 1)]).relayed
    assert not _hear("no y", entities=[over(0, 2)]).relayed
    assert not _hear("@clew_bot", entities=[over(0, 9, "mention")]).relayed
    assert not _hear("y", entities=[over(0, 1, "bold")]).relayed
