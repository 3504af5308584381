"""Checks what people read: each answer is where it was asked, complete and in order; a dropped message was reported; a
suspended thread has asked how to go on; a button counts for the message that it is on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from clew.engine.delivery.enqueue import deliveries_named
from clew.model.delivery import Delivery, DeliveryState
from clew.model.turns import TurnState
from clew.store import Tx, audit
from clew.store.audit import Final
from clew.store.tables import deliveries, turns
from tests.simulation.fake_platform import GROUP, HOME, Post, Showing, surface_of
from tests.simulation.world import World

DESK = ""


@dataclass
class Read:
    """All data for the checks."""

    world: World
    tx: Tx

    @cached_property
    def shown(self) -> dict[str, list[tuple[Post, Showing]]]:
        """Return what people saw of each delivery."""
        found: dict[str, list[tuple[Post, Showing]]] = {}
        for post in self.world.platform.posts:
            for key, showing in post.told.items():
                found.setdefault(key, []).append((post, showing))
        return found

    @cached_property
    def finals(self) -> list[Final]:
        return audit.finals(self.tx)


def read_by_people(world: World, tx: Tx) -> Iterator[str]:
    read = Read(world, tx)
    for check in CHECKS:
        yield from check(read)


_TITLE = re.compile("(?:Task: |Thread: |任务：|会话：)[^\n]*\n\n")


def _in_its_place(read: Read) -> Iterator[str]:
    """5. A sent delivery is in the conversation of its row, and nowhere else; unless it may have arrived in a room that
    was gone when it was sent again."""
    for name, address in audit.sent_to(read.tx):
        places = {post.conversation for post, _ in read.shown.get(name, ())}
        if places - {address, read.world.platform.gone}:
            yield f"{name} is for {address} and was shown in {sorted(places)}"


def _in_no_group(read: Read) -> Iterator[str]:
    """5. Nobody asked anything in a group, so nothing is shown in one."""
    shown = {post.key for post in read.world.platform.posts if post.conversation == GROUP}
    yield from (f"{key} is private and was shown in a group" for key in sorted(shown))


def _where_it_was_asked(read: Read) -> Iterator[str]:
    """5. An answer goes to the conversation of its question, or to one that continued the thread; if a room is gone, to
    its fallback."""
    asked, moved, away = audit.asked_in(read.tx), audit.moved_to(read.tx), audit.went_away_to(read.tx)
    for final in read.finals:
        places = asked.get(final.turn, set()) | moved.get(final.thread, set())
        near = places | (away if DESK in places else set()) | ({HOME} if read.world.platform.gone in places else set())
        if places and final.address not in near:
            yield f"turn {final.turn} was asked in {sorted(places)}, and answered in {final.address!r}"


def _whole(read: Read) -> Iterator[str]:
    """5. People read exactly what the agent said; where nobody asked, below the title of its thread."""
    said = read.world.said
    for final in read.finals:
        if not final.completed:
            continue
        if final.turn not in said:
            yield f"turn {final.turn} is completed, and its agent never was"
            continue
        text = read.shown[final.id][-1][1].text if final.id in read.shown else said[final.turn]
        turn = turns.get(read.tx, final.turn)
        if turn is None or turn.conversation is None or turn.conversation.address != final.address:
            text = _TITLE.sub("", text, count=1)
        if text != said[final.turn]:
            yield f"turn {final.turn} said {said[final.turn]!r}, and people read {text!r}"


def _delivered_at_all(read: Read) -> Iterator[str]:
    """3. A turn that the agent completed is completed here, unless somebody stopped it."""
    ended = audit.how_ended(read.tx)
    for turn in read.world.said:
        state, stopped = ended[turn]
        if state != TurnState.COMPLETED and not stopped:
            yield f"turn {turn} was completed by its agent and is {state}"


def _in_order(read: Read) -> Iterator[str]:
    """5. In each conversation the answers of a thread are in the order in which its turns ended; one whose own room was
    gone comes when that is known."""
    newest: dict[tuple[str, str], tuple[int, str]] = {}
    for final in read.finals:  # in the order of their ends
        redirected = f"{final.turn}:elsewhere:{surface_of(final.address)}:{final.address}"
        if final.id not in read.shown or deliveries.get(read.tx, redirected) is not None:
            continue
        number = min(showing.number for _, showing in read.shown[final.id])
        before, other = newest.get((final.thread, final.address), (0, ""))
        if number < before:
            yield f"{final.id} was shown before {other}, which had ended first"
        newest[final.thread, final.address] = (number, final.id)


def _told_in_vain(read: Read) -> Iterator[str]:
    """8. If a waiting message was dropped, its conversation is told, or dropped it itself."""
    for turn, thread, address in audit.dropped_without_notice(read.tx):
        yield f"turn {turn} of {thread} was dropped, and nobody in {address} heard of it"


def _newest_body(tx: Tx, asked: Delivery) -> str:
    """What the question says now: a backlog may have grown."""
    edits = [edit for edit in deliveries_named(tx, f"{asked.id}:rephrased") if edit.state is DeliveryState.SENT]
    return [asked, *edits][-1].body


def _asked_for_a_word(read: Read) -> Iterator[str]:
    """6. A suspended thread has asked, and the question can be read; a local client always can."""
    posts = {post.id: post for post in read.world.platform.posts}
    for thread, notifies in audit.suspended(read.tx):
        asked = deliveries.newest_ask(read.tx, thread)
        if notifies and asked is not None and asked.state is DeliveryState.NO_TARGET:
            yield f"{thread} is suspended, and whom it notifies is not asked"
        if asked is None or asked.state not in (DeliveryState.SENT, DeliveryState.NO_TARGET):
            yield f"{thread} is suspended and its question is {asked.state if asked else 'not there'}"
        elif asked.state is DeliveryState.SENT:
            post = posts.get(asked.message_id or "")
            if post is None:
                yield f"the question of {thread} counts as sent and is not there"
            elif _newest_body(read.tx, asked) not in post.text:
                yield f"{thread} is suspended and its question reads {post.text[:60]!r}"


def _pressed_where_it_stood(read: Read) -> Iterator[str]:
    """6. A button counts only for the thread of its message."""
    heard = audit.thread_of_messages(read.tx)
    for letter in read.world.platform.letters:
        if letter.pressed and heard.get(letter.id, letter.about) != letter.about:
            yield f"{letter.id} was pressed on a message of {letter.about} and went to {heard[letter.id]}"


CHECKS = (
    _in_its_place,
    _in_no_group,
    _where_it_was_asked,
    _whole,
    _delivered_at_all,
    _in_order,
    _told_in_vain,
    _asked_for_a_word,
    _pressed_where_it_stood,
)
