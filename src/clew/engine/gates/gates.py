"""Asking: a gate is stored before it is shown, answered once, and its answer leaves for the runtime at most once. When
the runtime's request is gone the gate is void, visibly. It never draws (`cards`), and never says yes by itself: a rule
does, or a person."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from msgspec.structs import replace

from clew.engine.core import Core
from clew.engine.gates import cards
from clew.engine.gates.look import NOTHING_SEEN, Seen, cleaned, odd_name
from clew.engine.progress import gate_item
from clew.model.events import GateOpened
from clew.model.gates import Answer, Asked, Decision, Effect, Gate, GateKind, GateState, Verdict
from clew.model.threads import Thread
from clew.model.turns import Turn
from clew.store import Tx
from clew.store.tables import gates, items, threads, turns
from clew.store.tables import rules as rows
from clew.store.tables.items import Item
from clew.support.display import shortened
from clew.support.errors import Refused
from clew.support.text import clean
from clew.texts import gate_messages, stored

if TYPE_CHECKING:  # the first request loads the rules: a daemon starts faster without them
    from clew.engine.rules import decide

KEPT = 3600 * 1000  # milliseconds for which an answer that never left still counts
DAY = 24 * 3600 * 1000  # milliseconds in which a code is not given again
LETTERS, DIGITS = "BCDFGHJKMPQRSTVWXZ", "23456789"  # none that is mistaken for another, none that makes a word
SECRET = "(secret)"
WARNED = 500  # characters of a name in a warning


def open_gate(
    tx: Tx,
    core: Core,
    thread: Thread,
    turn: Turn,
    opened: GateOpened,
    item: Item,
    *,
    told: bool = False,
    seen: Seen = NOTHING_SEEN,
) -> None:
    """A runtime asks: a rule answers, or an answer that never reached it does, or a person is asked. `told`: whoever
    follows the turn has heard of this request before. `seen`: what `look_at` saw of it."""
    asked = replace(cleaned(opened.asked), links=seen.links)
    known = gates.by_ref(tx, opened.ref)
    if known is not None and not _is_another(known, asked, told=told):
        if not told:
            _asked_again(tx, core, thread, known)
        return
    if not turns.is_held(tx, turn):
        return
    if known is not None:
        _take_reference(tx, core, known)
    items.put(tx, turn.id, item)
    verdict = _verdict(tx, core, thread, asked, seen.look)
    gate = Gate(
        id=core.clock.ulid(),
        code=new_code(tx, core),
        thread=thread.id,
        turn=turn.id,
        ref=opened.ref,
        asked=asked,
        state=GateState.OPEN,
        asked_at=core.clock.now(),
        warning=gate_messages.MAY_HAVE_RUN if _may_have_run(tx, turn, asked) else _warning(opened.asked, verdict),
        offer=seen.offer,
    )
    if not asked.blocking:
        _replace_aside(tx, core, gate)
    gates.insert(tx, gate)
    if not _answered_already(tx, core, gate, verdict):
        _ask(tx, core, thread, turn, gate)


def answer_gate(tx: Tx, core: Core, gate: Gate, given: Answer, by: str) -> Gate:
    """The first answer counts; who comes later is told who it was. Raises Refused."""
    answered = _answer(tx, core, gate, given, by)
    if given.decision is Decision.CANCEL:
        stop_turn(tx, core, gate.thread, gate.turn, by)
    return answered


def _answer(tx: Tx, core: Core, gate: Gate, given: Answer, by: str) -> Gate:
    now = core.clock.now()
    if not gates.answer(tx, gate, _without_secrets(gate, given), by, now):
        raise Refused(stored.answered_before(_fresh(tx, gate)))
    core.answers[gate.id] = given
    about = {"gate": gate.id, "code": gate.code, "decision": given.decision, "by": by, "title": cards.one_line(gate)}
    tx.log(gate.thread, gate.turn, "gate.answered", now, **about)
    _go_on(tx, gate.turn)
    return _changed(tx, core, gate)


def stop_turn(tx: Tx, core: Core, thread: str, turn: str, by: str) -> None:
    """A person wants the turn to end: what it asks is answered with "cancelled" first, and no earlier yes counts."""
    by = gate_messages.by_person(by)
    gates.forget_carried(tx, thread)
    for gate in _asked_by(tx, turn):
        if gate.state is GateState.OPEN:
            _answer(tx, core, gate, Answer(Decision.CANCEL), by)
    if turns.request_stop(tx, turn):
        tx.log(thread, turn, "turn.stop_asked", core.clock.now())


def unsent(tx: Tx, turn: str) -> list[Gate]:
    """Those with an answer that the runtime has not been given. "Cancelled" reaches it with the interrupt."""
    due = (GateState.ANSWERED, GateState.EXPIRED)
    waiting = [gate for gate in _asked_by(tx, turn) if gate.state in due and gate.sent_at is None]
    return [gate for gate in waiting if gate.answer is None or gate.answer.decision is not Decision.CANCEL]


def answer_of(core: Core, gate: Gate) -> Answer | None:
    """What to tell the runtime. None: it was secret, and died with the daemon that knew it."""
    if gate.state is GateState.EXPIRED or gate.answer is None:
        return Answer(Decision.DECLINE, str(gate_messages.NO_ANSWER))
    hidden = any(question.secret for question in gate.asked.questions)
    return core.answers.get(gate.id) if hidden else gate.answer


def close_gate(tx: Tx, core: Core, ref: str, ran_out: bool = False, changed: bool = False) -> None:
    """The runtime says that its request is settled. `changed`: it asks something else now, and no answer counted."""
    gate = gates.by_ref(tx, ref)
    if gate is None:
        return
    was_sent = gate.sent_at is not None and not changed
    if gate.state is GateState.ANSWERED and (was_sent or _is_cancel(gate)):
        take(tx, core, gate)
    elif gate.state in (GateState.OPEN, GateState.ANSWERED):
        void(
            tx,
            core,
            gate,
            gate_messages.CHANGED if changed else gate_messages.RAN_OUT if ran_out else gate_messages.WITHDRAWN,
        )
    _go_on(tx, gate.turn)


def take(tx: Tx, core: Core, gate: Gate) -> Gate:
    """The answer counts."""
    now = core.clock.now()
    if not gates.mark_taken(tx, gate, now):
        return _fresh(tx, gate)
    core.answers.pop(gate.id, None)
    tx.log(gate.thread, gate.turn, "gate.taken", now, gate=gate.id, code=gate.code)
    return _changed(tx, core, gate)


def void(tx: Tx, core: Core, gate: Gate, why: str, *, carried: bool = False) -> None:
    now = core.clock.now()
    if gates.void(tx, gate, why, now, carried=carried):
        core.answers.pop(gate.id, None)
        tx.log(gate.thread, gate.turn, "gate.void", now, gate=gate.id, code=gate.code, why=str(why))
        _changed(tx, core, gate)


def ask_once_more(tx: Tx, core: Core, gate: Gate, warning: str) -> None:
    """Its answer was of no use to the runtime, or was lost: it is asked again, and says why."""
    if not gates.reopen(tx, gate, warning, core.clock.now()):
        return
    again, turn, thread = _fresh(tx, gate), turns.get(tx, gate.turn), threads.get(tx, gate.thread)
    assert turn is not None and thread is not None
    _log_opened(tx, core, again)
    cards.show_again(tx, core, thread, turn, again)
    turns.set_waiting(tx, gate.turn, waiting=True)


def settle_completed(tx: Tx, core: Core, turn: Turn) -> None:
    """The runtime came to the end of its work: what left for it was taken."""
    for gate in _asked_by(tx, turn.id):
        if gate.state is GateState.ANSWERED and gate.sent_at is not None:
            take(tx, core, gate)
    settle_ended(tx, core, turn)


def settle_ended(tx: Tx, core: Core, turn: Turn) -> None:
    """The turn is over, and with it what was cancelled; nothing else can be answered any more. Whether an answer that
    was on its way counted, nobody can say."""
    for gate in _asked_by(tx, turn.id):
        if gate.state is GateState.ANSWERED and _is_cancel(gate):
            take(tx, core, gate)
        elif gate.state in (GateState.OPEN, GateState.ANSWERED):
            void(tx, core, gate, gate_messages.TURN_OVER if gate.sent_at is None else gate_messages.OVER_SENT)


def settle_cancelled(tx: Tx, core: Core, thread: str) -> None:
    """In a thread that never runs again nobody would hear the answer to a question in passing."""
    for gate in gates.open_in(tx, thread):
        if not gate.asked.blocking:
            void(tx, core, gate, gate_messages.THREAD_OVER)


def settle_cut(tx: Tx, core: Core, turn: Turn) -> None:
    """The runtime's requests are gone. An answer that never left is kept for when it asks the same again, unless it is
    a yes and the same was declined since."""
    for gate in _asked_by(tx, turn.id):
        if gate.state not in (GateState.OPEN, GateState.ANSWERED):
            continue
        answered = gate.state is GateState.ANSWERED
        sent = answered and gate.sent_at is not None
        hidden = any(question.secret for question in gate.asked.questions)
        kept = answered and not sent and not hidden and not _is_declined_since(tx, gate)
        void(
            tx,
            core,
            gate,
            gate_messages.CUT_SENT if sent else gate_messages.CUT_KEPT if kept else gate_messages.CUT,
            carried=kept,
        )
        if gate.asked.item is not None and not sent:
            items.finish(tx, turn.id, gate.asked.item, None, gate_messages.NOT_RUN)


def _is_declined_since(tx: Tx, gate: Gate) -> bool:
    """Whether it got a yes, and after that the turn a no to the very same thing."""
    if gate.answer is None or not gate.answer.is_yes:
        return False
    alike = [each for each in gates.of_turn(tx, gate.turn) if each.asked.subject == gate.asked.subject]
    since = [each.answer for each in alike if (each.answered_at or 0) >= (gate.answered_at or 0)]
    return any(said is not None and said.decision is Decision.DECLINE for said in since)


def held_back(asked: Iterable[Gate]) -> frozenset[str]:
    """Activities that stand at a gate and never got a yes: they cannot have done anything."""
    stands = [gate for gate in asked if gate.asked.item and not (gate.sent_at and gate.answer and gate.answer.is_yes)]
    return frozenset(gate.asked.item for gate in stands if gate.asked.item)


def expire(tx: Tx, core: Core, gate: Gate) -> None:
    """Nobody answered in the time that the config gives: the agent is told just that, and everybody sees it."""
    now = core.clock.now()
    if gates.expire(tx, gate, now):
        tx.log(gate.thread, gate.turn, "gate.expired", now, gate=gate.id, code=gate.code)
        _changed(tx, core, gate)
        _go_on(tx, gate.turn)


def new_code(tx: Tx, core: Core) -> str:
    """Four characters that a person can type; longer where very many are in use."""
    since = core.clock.now() - DAY
    for attempt in range(1000):
        code = _draw(core, 4 + 2 * (attempt // 50))
        if not gates.is_taken(tx, code, since):
            return code
    raise AssertionError("no code is free")


def _draw(core: Core, length: int) -> str:
    alphabets = (LETTERS, DIGITS) * (length // 2)
    return "".join(alphabet[int(core.clock.random() * len(alphabet))] for alphabet in alphabets)


def _ask(tx: Tx, core: Core, thread: Thread, turn: Turn, gate: Gate) -> None:
    _log_opened(tx, core, gate)
    cards.show(tx, core, thread, turn, gate)
    if gate.asked.blocking:
        turns.set_waiting(tx, turn.id, waiting=True)


def _log_opened(tx: Tx, core: Core, gate: Gate) -> None:
    about = {"gate": gate.id, "code": gate.code, "asks": gate.asked.kind, "title": cards.one_line(gate)}
    tx.log(gate.thread, gate.turn, "gate.opened", core.clock.now(), **about)


def _answered_already(tx: Tx, core: Core, gate: Gate, verdict: Verdict) -> bool:
    """By a rule; or by a person, for this very request, before it was cut off."""
    if verdict.effect is Effect.ASK:
        return _answered_before_the_cut(tx, core, gate)
    decision = Decision.ACCEPT if verdict.effect is Effect.ALLOW else Decision.DECLINE
    reason = "" if decision is Decision.ACCEPT else f"not allowed: {verdict.why}"
    given = Answer(decision, reason, judged=not verdict.is_exact)
    answer_gate(tx, core, gate, given, gate_messages.by_rule(verdict.why))
    return True


def _answered_before_the_cut(tx: Tx, core: Core, gate: Gate) -> bool:
    oldest = core.clock.now() - KEPT
    for earlier in gates.same_request(tx, gate.turn, gate.asked):
        is_fresh = earlier.carried and (earlier.answered_at or 0) >= oldest
        if is_fresh and earlier.answer is not None and gates.use_carried(tx, earlier):
            answer_gate(tx, core, gate, earlier.answer, earlier.answered_by or "")
            return True
    return False


def _verdict(tx: Tx, core: Core, thread: Thread, asked: Asked, found: decide.Inspection | None = None) -> Verdict:
    from clew.engine.rules import decide

    known = rows.of_scopes(tx, thread.id, thread.workspace)
    return decide.decide(asked, thread.policy, thread.workspace, known, core.clock.now(), thread.id, found)


def _rule(tx: Tx, core: Core, thread: Thread, asked: Asked) -> str:
    """Who answers where no person does."""
    return gate_messages.by_rule(_verdict(tx, core, thread, asked).why)


def _may_have_run(tx: Tx, turn: Turn, asked: Asked) -> bool:
    earlier = gates.same_request(tx, turn.id, asked)
    return any(gate.sent_at is not None and gate.answer is not None and gate.answer.is_yes for gate in earlier)


def _asked_again(tx: Tx, core: Core, thread: Thread, gate: Gate) -> None:
    """The runtime tells the same request to somebody who has just begun to follow it. If an answer had left before, it
    did not arrive: a person's is asked for again, a rule's and "nobody answered" are simply given once more."""
    if gate.sent_at is None:
        return
    if gate.state is GateState.EXPIRED or gate.answered_by == _rule(tx, core, thread, gate.asked):
        gates.unsend(tx, gate)
    elif gate.state is GateState.ANSWERED:
        ask_once_more(tx, core, gate, gate_messages.DID_NOT_ARRIVE)


def _is_another(known: Gate, asked: Asked, *, told: bool) -> bool:
    """Whether a runtime uses the reference of a gate for another request. One that has just begun to follow a turn may
    know less of what it asks (Codex tells a diff only once), but not another command."""
    if known.asked.subject == asked.subject:
        return False
    return told or known.state in (GateState.TAKEN, GateState.VOID) or asked.kind is GateKind.COMMAND


def _take_reference(tx: Tx, core: Core, gate: Gate) -> None:
    """The reference means another request from now on, which no answer to this one may reach."""
    if gate.state in (GateState.OPEN, GateState.ANSWERED):
        void(tx, core, gate, gate_messages.CHANGED)
    former = f"{gate.ref}:{gate.id}"
    gates.rename(tx, gate, former)
    items.rename(tx, gate.turn, gate_item(gate.ref), gate_item(former))


def _replace_aside(tx: Tx, core: Core, gate: Gate) -> None:
    """Work that was cut off and continued asks in passing what it had asked before: one of the two is enough."""
    for earlier in gates.open_in(tx, gate.thread):
        if not earlier.asked.blocking and earlier.asked.subject == gate.asked.subject:
            void(tx, core, earlier, gate_messages.ASKED_AGAIN)


def _changed(tx: Tx, core: Core, gate: Gate) -> Gate:
    """Its line in the turn's history and all its copies say what became of it."""
    now = _fresh(tx, gate)
    items.finish(tx, gate.turn, gate_item(gate.ref), cards.line(now), now.state)
    cards.redraw(tx, core, now)
    return now


def _go_on(tx: Tx, turn: str) -> None:
    """It waits no longer once nothing is open."""
    if not any(gate.state is GateState.OPEN for gate in _asked_by(tx, turn)):
        turns.set_waiting(tx, turn, waiting=False)


def _asked_by(tx: Tx, turn: str) -> list[Gate]:
    """The gates that hold a turn up; a question in passing does not. It costs what is open, not what ever was."""
    return [gate for gate in gates.unsettled(tx, turn) if gate.asked.blocking]


def _fresh(tx: Tx, gate: Gate) -> Gate:
    found = gates.get(tx, gate.id)
    assert found is not None, gate.id
    return found


def _is_cancel(gate: Gate) -> bool:
    return gate.answer is not None and gate.answer.decision is Decision.CANCEL


def _without_secrets(gate: Gate, given: Answer) -> Answer:
    hidden = {question.id for question in gate.asked.questions if question.secret}
    replies = tuple((name, (SECRET,) if name in hidden else said) for name, said in given.replies)
    return replace(given, reason=clean(given.reason), replies=replies)


def _warning(asked: Asked, verdict: Verdict) -> str:
    if (odd := odd_name(asked)) is not None:
        return str(replace(odd, about=shortened(odd.about, WARNED)))
    return str(verdict.reason or "")
