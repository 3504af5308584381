"""Checks promise 6: what was asked, who answered it, what that caused, and what people see."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from clew.engine.gates import cards, reply_parser
from clew.engine.gates.status_lines import chat_status_line
from clew.model.delivery import Delivery, DeliveryState
from clew.model.gates import Decision, Gate, GateState
from clew.model.messages import Fate
from clew.model.turns import ENDED, Turn, TurnState
from clew.store import Tx, audit
from clew.store.tables import deliveries, threads, turns
from clew.texts import gate_messages
from clew.texts.bilingual import Bilingual
from tests.simulation.fake_platform import POCKET, Post
from tests.simulation.world import World

UNSETTLED = (GateState.OPEN, GateState.ANSWERED)
TOLD = (GateState.TAKEN, GateState.VOID, GateState.EXPIRED)


@dataclass(slots=True)
class Seen:
    """All data for the checks."""

    world: World
    tx: Tx
    gates: list[Gate]
    aloud: set[str]  # gates that were shown to a person
    posts: dict[str, Post]
    told: set[str]  # all deliveries that were shown


def asked_and_answered(world: World, tx: Tx) -> Iterator[str]:
    """6. A waiting turn can always be acted on, and a yes is one execution."""
    posts = {post.id: post for post in world.platform.posts}
    told = {key for post in world.platform.posts for key in post.told}
    seen = Seen(world, tx, audit.all_gates(tx), audit.asked_of_people(tx), posts, told)
    checks = (_one_run_per_yes, _carried_once, _waiting, _words, _codes, _shown, _redrawn)
    for check in (*checks, _answered_by_letters, _clear, _read):
        yield from check(seen)


def _one_run_per_yes(seen: Seen) -> Iterator[str]:
    known = {gate.ref: gate for gate in seen.gates}
    for ref, times in Counter(seen.world.ran).items():
        gate = known.get(ref)
        if times > 1:
            yield f"{ref} ran {times} times"
        if gate is None or gate.answer is None or not gate.answer.is_yes or gate.sent_at is None:
            yield f"{ref} ran, and nobody had said yes to it"


def _carried_once(seen: Seen) -> Iterator[str]:
    """An answer that was never sent counts for one later gate, and only once."""
    kept: Counter[tuple[str, str]] = Counter()
    taken: Counter[tuple[str, str]] = Counter()
    for gate in seen.gates:
        if gate.state is GateState.VOID and gate.answer is not None and gate.sent_at is None and not gate.carried:
            kept[_root(seen.tx, gate)] += 1
        if gate.id not in seen.aloud and gate.answer is not None and not gate_messages.is_by_rule(gate.answered_by):
            taken[_root(seen.tx, gate)] += 1
        if gate.carried and (gate.sent_at is not None or gate.state is not GateState.VOID):
            yield f"the answer to {gate.code} left, and is kept for another time"
    yield from (
        f"{count} gates live off {kept[key]} answers to {key}" for key, count in taken.items() if count > kept[key]
    )


def _waiting(seen: Seen) -> Iterator[str]:
    """A turn waits only at an open gate, and an ended turn has no open gates."""
    for gate in seen.gates:
        turn, thread = turns.get(seen.tx, gate.turn), threads.get(seen.tx, gate.thread)
        assert turn is not None and thread is not None
        if gate.state in UNSETTLED and gate.asked.blocking and turn.state in ENDED:
            yield f"{gate.code} is {gate.state} in a turn that is {turn.state}"
        if gate.state is GateState.OPEN and gate.asked.blocking and turn.state is not TurnState.WAITING:
            yield f"{gate.code} is open and its turn is {turn.state}"
        if gate.state is GateState.OPEN and thread.status == "cancelled":
            yield f"{gate.code} is open in a cancelled thread"
    held = {gate.turn for gate in seen.gates if gate.state is GateState.OPEN and gate.asked.blocking}
    waiting = [turn.id for turn in turns.all_live(seen.tx) if turn.state is TurnState.WAITING]
    yield from (f"turn {turn} waits for nothing" for turn in waiting if turn not in held)


def _words(seen: Seen) -> Iterator[str]:
    for gate in seen.gates:
        if gate.state is GateState.VOID and not gate.why:
            yield f"{gate.code} is void without a word"
        if (gate.closed_at is None) != (gate.state in UNSETTLED):
            yield f"{gate.code} is {gate.state} and was closed at {gate.closed_at}"


def _codes(seen: Seen) -> Iterator[str]:
    counted = Counter(gate.code for gate in seen.gates)
    yield from (f"{count} gates are called {code}" for code, count in counted.items() if count > 1)


def _shown(seen: Seen) -> Iterator[str]:
    """An open gate with a conversation is shown there."""
    for gate in seen.gates:
        turn, thread = turns.get(seen.tx, gate.turn), threads.get(seen.tx, gate.thread)
        assert turn is not None and thread is not None
        said_in_a_room = turn.conversation is not None and turn.conversation.surface in ("simulated", POCKET)
        has_place = said_in_a_room or thread.notify_target is not None
        if gate.state is not GateState.OPEN or not has_place or _went_to_the_desk(gate, turn):
            continue
        card = deliveries.get(seen.tx, gate.card or "")
        post = seen.posts.get(card.message_id or "") if card else None
        if card is not None and card.state is DeliveryState.SUPERSEDED:  # answered before its card was sent
            post = _asked_again(seen, gate)
        if post is None or f"({gate.code})" not in post.text:
            yield f"{gate.code} is open and nobody can read it ({card.state if card else 'no card'})"


def _went_to_the_desk(gate: Gate, turn: Turn) -> bool:
    """Whether the gate moved to the local client with its thread after its turn ended; it stays there."""
    return gate.card is None and turn.state in ENDED


def _asked_again(seen: Seen, gate: Gate) -> Post | None:
    """Return the newest gate that was asked again."""
    posts = [post for post in seen.world.platform.posts if post.key.startswith(f"{gate.id}:{cards.AGAIN}")]
    return posts[-1] if posts else None


def _redrawn(seen: Seen) -> Iterator[str]:
    """Every card shows the state of its gates; if it cannot be edited, a message was added."""
    by_card: dict[str, list[Gate]] = {}
    for gate in seen.gates:
        by_card.setdefault(gate.card or "", []).append(gate)
    for name, gates in by_card.items():
        card = deliveries.get(seen.tx, name)
        post = seen.posts.get(card.message_id or "") if card is not None else None
        if card is None or post is None or card.state is not DeliveryState.SENT or _is_gone(seen, card):
            continue
        if seen.world.platform.kind == "editable":
            right = _drawn(gates)
            if post.text not in (str(right), right.zh):
                yield f"the card {name} says {post.text[:60]!r}, not {right[:60]!r}"
            continue
        closed = [gate for gate in gates if gate.state in TOLD and not _is_told(gate, post.text)]
        mute = [gate for gate in closed if f"{gate.id}:{gate.state}" not in seen.told]
        yield from (f"nobody was told in the room that {gate.code} is {gate.state}" for gate in mute)


def _is_gone(seen: Seen, card: Delivery) -> bool:
    return card.conversation is not None and card.conversation.address == seen.world.platform.gone


def _drawn(gates: list[Gate]) -> Bilingual:
    return cards.in_both_languages(lambda say: cards.render_card(gates, say))


def _is_told(gate: Gate, text: str) -> bool:
    line = cards.in_both_languages(lambda say: chat_status_line(gate, say))
    return line in text or line.zh in text


def _answered_by_letters(seen: Seen) -> Iterator[str]:
    """A letter answered only a gate that it could mean: of its own room, by code, or asked before it was written."""
    letters = {letter.id: letter for letter in seen.world.platform.letters}
    for gate in seen.gates:
        letter = letters.get(gate.answered_by or "")
        if letter is None or gate.id not in seen.aloud or gate.answer is None:
            continue
        if letter.text.startswith("/"):  # a command is explicit; /stop ends all open gates
            continue
        said = reply_parser.parse_reply(letter.text)
        if said.code not in (None, gate.code) and gate.answer.decision is not Decision.CANCEL:
            yield f"{letter.id} names {said.code} and answered {gate.code}"
        is_early = seen.world.platform.clock(letter.at) // 1000 < gate.asked_at // 1000
        if said.code is None and not letter.pressed and is_early:
            yield f"{letter.id} was said before {gate.code} was asked, and answered it"
        if gate.answer.is_yes and said.rest.split(maxsplit=1)[:1] in (["n"], ["拒绝"], ["stop"]):
            yield f"{letter.text!r} ({letter.id}) was a yes to {gate.code}"
        if any(question.secret for question in gate.asked.questions) and gate.answer.replies:
            yield f"a secret was typed into a room: {letter.id} to {gate.code}"
        if letter.pressed and gate.code not in letter.saw and gate.answer.decision is not Decision.CANCEL:
            yield f"{letter.id} was pressed where {letter.saw} stood, and answered {gate.code}"
        fate = seen.world.platform.fates.get(letter.id)
        if fate is Fate.REFUSED:
            yield f"{letter.id} answered {gate.code}, and its sender was told no"


def _clear(seen: Seen) -> Iterator[str]:
    """A short answer without code, quote or button decides nothing if its thread had several open gates when it was
    written."""
    letters = {letter.id: letter for letter in seen.world.platform.letters}
    for gate in seen.gates:
        letter = letters.get(gate.answered_by or "")
        if letter is None or letter.quoted is not None or not reply_parser.parse_reply(letter.text).is_short:
            continue
        second = seen.world.platform.clock(letter.at) // 1000
        others = [each for each in seen.gates if each.thread == gate.thread and each.card and each.id != gate.id]
        both = [each.code for each in others if _was_open(each, second) and _was_shown(seen, each, letter.at)]
        if _was_open(gate, second) and both:
            yield f"{letter.text!r} ({letter.id}) answered {gate.code}, and may have meant {both[0]}"


def _was_open(gate: Gate, second: int) -> bool:
    """Whether it was open during the complete second, because many platforms give whole seconds only."""
    settled = gate.answered_at or gate.closed_at
    return gate.asked_at // 1000 < second and (settled is None or settled // 1000 > second)


def _was_shown(seen: Seen, gate: Gate, at: float) -> bool:
    """Whether anybody had seen it by then: what was not shown yet cannot have been meant."""
    shown = (showing for post in seen.world.platform.posts for showing in post.told.values())
    return any(showing.at <= at and gate.code in showing.text for showing in shown)


def _read(seen: Seen) -> Iterator[str]:
    """A gate accepted in a room was shown there completely."""
    letters = {letter.id: letter for letter in seen.world.platform.letters}
    for gate in seen.gates:
        letter = letters.get(gate.answered_by or "")
        if letter is None or gate.id not in seen.aloud or gate.answer is None or not gate.answer.is_yes:
            continue
        here = [post for post in seen.world.platform.posts if post.conversation == letter.conversation]
        shown = {word for post in here for showing in post.told.values() for word in showing.text.split()}
        missing = [word for word in gate.asked.title.split() if word not in shown]
        if missing:
            yield f"{letter.id} allowed {gate.code}, and {missing[0]!r} was never shown in {letter.conversation}"


def _root(tx: Tx, gate: Gate) -> tuple[str, str]:
    """Return the request of a gate, through all continuations, and its subject."""
    turn = turns.get(tx, gate.turn)
    while turn is not None and turn.continues is not None:
        turn = turns.get(tx, turn.continues)
    return (turn.id if turn else "", gate.asked.subject)
