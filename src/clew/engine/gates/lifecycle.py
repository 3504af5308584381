"""The life of a gate: it is stored before it is shown, answered once, and its answer is sent to the runtime at most
once. If the runtime's request is gone, the gate becomes void, and its cards say so. This module renders nothing
(`cards` does) and never accepts by itself: a rule or a person does."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from clew.engine.core import Core
from clew.engine.gates import cards
from clew.engine.gates.requests.cleaning import clean_request, unstorable_part
from clew.engine.gates.requests.inspection import NOT_INSPECTED, RequestInspection, check_rules
from clew.engine.gates.status_lines import status_line, title_line
from clew.engine.progress import gate_item
from clew.model.events import GateOpened
from clew.model.events.logged import GateAnswered, GateExpired, GateTaken, GateVoid, StopAsked
from clew.model.events.logged import GateOpened as GateOpenedEvent
from clew.model.gates import Answer, Asked, Decision, Effect, Gate, GateKind, GateState, Verdict
from clew.model.threads import Thread
from clew.model.turns import Item, Turn
from clew.store import Tx
from clew.store.tables import gates, items, threads, turns
from clew.support.display import shortened
from clew.support.errors import Refused
from clew.support.text import clean
from clew.texts import gate_messages, reasons

UNSENT_ANSWER_LIFETIME = 3600 * 1000  # milliseconds; then an answer that was never sent is not used any more
CODE_REUSE_AFTER = 24 * 3600 * 1000  # milliseconds
LETTERS, DIGITS = "BCDFGHJKMPQRSTVWXZ", "23456789"  # none that looks like another, no vowels that make words
SECRET = "(secret)"
MAX_WARNING_NAME = 500  # characters


def open_gate(
    tx: Tx,
    core: Core,
    thread: Thread,
    turn: Turn,
    opened: GateOpened,
    item: Item,
    *,
    seen_before: bool = False,
    inspection: RequestInspection = NOT_INSPECTED,
) -> None:
    """Store a gate for a runtime's request. A rule answers it, or an earlier answer that was never sent; else a person
    is asked. `seen_before`: the consumer of the turn got this request before. Raises RulesChanged."""
    asked = replace(clean_request(opened.asked), links=inspection.links, workspace=thread.workspace)
    check_rules(tx, thread, inspection, core.clock.now())
    known = gates.by_ref(tx, opened.ref)
    if known is not None and not _is_other_request(known, asked, seen_before=seen_before):
        if not seen_before:
            _handle_repeat(tx, core, known, inspection.verdict)
        return
    if not turns.is_held(tx, turn):
        return
    if known is not None:
        _free_reference(tx, core, known)
    items.put(tx, turn.id, item)
    verdict = inspection.verdict
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
        offer=inspection.offer,
    )
    if not asked.blocking:
        _void_earlier_duplicates(tx, core, gate)
    gates.insert(tx, gate)
    if not _answer_automatically(tx, core, gate, verdict):
        _ask_person(tx, core, thread, turn, gate)


def request_to_judge(tx: Tx, opened: GateOpened, *, seen_before: bool) -> Asked:
    """What the rules have to judge: of a request that is repeated, the stored one, since a repeat may lack details."""
    known = gates.by_ref(tx, opened.ref)
    asked = clean_request(opened.asked)
    is_repeat = known is not None and not _is_other_request(
        known, replace(asked, links=known.asked.links), seen_before=seen_before
    )
    return known.asked if known is not None and is_repeat else opened.asked


def answer_gate(tx: Tx, core: Core, gate: Gate, given: Answer, by: str) -> Gate:
    """Store the first answer. Raises Refused for a later one, and says who answered."""
    answered = _answer(tx, core, gate, given, by)
    if given.decision is Decision.CANCEL:
        stop_turn(tx, core, gate.thread, gate.turn, by)
    return answered


def _answer(tx: Tx, core: Core, gate: Gate, given: Answer, by: str) -> Gate:
    now = core.clock.now()
    if not gates.answer(tx, gate, _without_secrets(gate, given), by, now):
        raise Refused(gate_messages.answered_before(_reload(tx, gate)))
    tx.after(lambda: core.answers.__setitem__(gate.id, given))
    about = GateAnswered(gate.id, gate.code, given.decision, by, title_line(gate))
    tx.log(gate.thread, gate.turn, now, about)
    _resume_if_all_settled(tx, gate.turn)
    return _publish_change(tx, core, gate)


def stop_turn(tx: Tx, core: Core, thread: str, turn: str, by: str) -> None:
    """Stop a turn for a person: its open gates are cancelled first, and no earlier yes is used any more."""
    by = gate_messages.by_person(by)
    gates.forget_carried(tx, thread)
    for gate in _blocking_gates(tx, turn):
        if gate.state is GateState.OPEN:
            _answer(tx, core, gate, Answer(Decision.CANCEL), by)
    if turns.request_stop(tx, turn):
        tx.log(thread, turn, core.clock.now(), StopAsked(by))


def unsent_answers(tx: Tx, turn: str) -> list[Gate]:
    """Gates with an answer that was not sent to the runtime yet. A cancel is not sent: the interrupt does that."""
    due = (GateState.ANSWERED, GateState.EXPIRED)
    waiting = [gate for gate in _blocking_gates(tx, turn) if gate.state in due and gate.sent_at is None]
    return [gate for gate in waiting if gate.answer is None or gate.answer.decision is not Decision.CANCEL]


def answer_of(core: Core, gate: Gate) -> Answer | None:
    """The answer to send to the runtime. None: it was secret, and lost with the daemon that held it in memory."""
    if gate.state is GateState.EXPIRED or gate.answer is None:
        return Answer(Decision.DECLINE, str(gate_messages.NO_ANSWER), expired=True)
    hidden = any(question.secret for question in gate.asked.questions)
    return core.answers.get(gate.id) if hidden else gate.answer


def close_gate(tx: Tx, core: Core, ref: str, ran_out: bool = False, changed: bool = False) -> None:
    """The runtime reports that its request is settled. `changed`: it asks something else now and used no answer."""
    gate = gates.by_ref(tx, ref)
    if gate is None:
        return
    was_sent = gate.sent_at is not None and not changed
    if gate.state is GateState.ANSWERED and (was_sent or _is_cancel(gate)):
        confirm_taken(tx, core, gate)
    elif gate.state in (GateState.OPEN, GateState.ANSWERED):
        void_gate(
            tx,
            core,
            gate,
            gate_messages.CHANGED if changed else gate_messages.RAN_OUT if ran_out else gate_messages.WITHDRAWN,
        )
    _resume_if_all_settled(tx, gate.turn)


def confirm_taken(tx: Tx, core: Core, gate: Gate) -> Gate:
    """Record that the runtime took the answer."""
    now = core.clock.now()
    if not gates.mark_taken(tx, gate, now):
        return _reload(tx, gate)
    tx.after(lambda: core.answers.pop(gate.id, None))
    tx.log(gate.thread, gate.turn, now, GateTaken(gate.id, gate.code))
    return _publish_change(tx, core, gate)


def void_gate(tx: Tx, core: Core, gate: Gate, why: str, *, carried: bool = False) -> None:
    now = core.clock.now()
    if gates.void(tx, gate, why, now, carried=carried):
        tx.after(lambda: core.answers.pop(gate.id, None))
        tx.log(gate.thread, gate.turn, now, GateVoid(gate.id, gate.code, why))
        _publish_change(tx, core, gate)


def reopen_gate(tx: Tx, core: Core, gate: Gate, warning: str) -> None:
    """Ask again, with a warning that says why: the runtime could not use the answer, or it was lost."""
    if not gates.reopen(tx, gate, warning, core.clock.now()):
        return
    again, turn, thread = _reload(tx, gate), turns.get(tx, gate.turn), threads.get(tx, gate.thread)
    assert turn is not None and thread is not None
    _log_opened(tx, core, again)
    cards.show_again(tx, core, thread, turn, again)
    turns.set_waiting(tx, gate.turn, waiting=True)


def settle_completed(tx: Tx, core: Core, turn: Turn) -> None:
    """The runtime completed the turn: answers that were sent count as taken."""
    for gate in _blocking_gates(tx, turn.id):
        if gate.state is GateState.ANSWERED and gate.sent_at is not None:
            confirm_taken(tx, core, gate)
    settle_ended(tx, core, turn)


def settle_ended(tx: Tx, core: Core, turn: Turn) -> None:
    """The turn is over: cancelled gates are taken, all others become void. Whether an answer that was just being sent
    had an effect is not known."""
    for gate in _blocking_gates(tx, turn.id):
        if gate.state is GateState.ANSWERED and _is_cancel(gate):
            confirm_taken(tx, core, gate)
        elif gate.state in (GateState.OPEN, GateState.ANSWERED):
            void_gate(tx, core, gate, gate_messages.TURN_OVER if gate.sent_at is None else gate_messages.OVER_SENT)


def settle_cancelled(tx: Tx, core: Core, thread: str) -> None:
    """Void the non-blocking questions of a thread that never runs again: no agent would get the answer."""
    for gate in gates.open_in(tx, thread):
        if not gate.asked.blocking:
            void_gate(tx, core, gate, gate_messages.THREAD_OVER)


def settle_cut(tx: Tx, core: Core, turn: Turn) -> None:
    """The turn was cut off, and the runtime's requests are gone. A person's answer that was never sent is kept in case
    the runtime asks the same again, unless it is a yes and the same request was declined since. Rules judge anew."""
    for gate in _blocking_gates(tx, turn.id):
        if gate.state not in (GateState.OPEN, GateState.ANSWERED):
            continue
        answered = gate.state is GateState.ANSWERED
        sent = answered and gate.sent_at is not None
        hidden = any(question.secret for question in gate.asked.questions)
        by_rule = gate_messages.is_by_rule(gate.answered_by)
        kept = answered and not sent and not hidden and not by_rule and not _is_declined_since(tx, gate)
        void_gate(
            tx,
            core,
            gate,
            gate_messages.CUT_SENT if sent else gate_messages.CUT_KEPT if kept else gate_messages.CUT,
            carried=kept,
        )
        if gate.asked.item is not None and not sent:
            items.finish(tx, turn.id, gate.asked.item, None, gate_messages.NOT_RUN)


def _is_declined_since(tx: Tx, gate: Gate) -> bool:
    """Whether this gate got a yes, and the same request in the same turn a no after it."""
    if gate.answer is None or not gate.answer.is_yes:
        return False
    same = [each for each in gates.of_turn(tx, gate.turn) if each.asked.is_same(gate.asked)]
    since = [each.answer for each in same if (each.answered_at or 0) >= (gate.answered_at or 0)]
    return any(answer is not None and answer.decision is Decision.DECLINE for answer in since)


def unapproved_items(asked: Iterable[Gate]) -> frozenset[str]:
    """Ids of activities that waited at a gate and never got a yes: they cannot have had any effect."""
    without_yes = [
        gate for gate in asked if gate.asked.item and not (gate.sent_at and gate.answer and gate.answer.is_yes)
    ]
    return frozenset(gate.asked.item for gate in without_yes if gate.asked.item)


def expire_gate(tx: Tx, core: Core, gate: Gate) -> None:
    """Nobody answered within `gates.expire_after`: the agent gets "no answer", and the cards say so."""
    now = core.clock.now()
    if gates.expire(tx, gate, now):
        tx.log(gate.thread, gate.turn, now, GateExpired(gate.id, gate.code))
        _publish_change(tx, core, gate)
        _resume_if_all_settled(tx, gate.turn)


def new_code(tx: Tx, core: Core) -> str:
    """Four characters that a person can type; more if very many codes are in use."""
    since = core.clock.now() - CODE_REUSE_AFTER
    for attempt in range(1000):
        code = _random_code(core, 4 + 2 * (attempt // 50))
        if not gates.is_taken(tx, code, since):
            return code
    raise AssertionError("no code is free")


def _random_code(core: Core, length: int) -> str:
    alphabets = (LETTERS, DIGITS) * (length // 2)
    return "".join(alphabet[int(core.clock.random() * len(alphabet))] for alphabet in alphabets)


def _ask_person(tx: Tx, core: Core, thread: Thread, turn: Turn, gate: Gate) -> None:
    _log_opened(tx, core, gate)
    cards.show(tx, core, thread, turn, gate)
    if gate.asked.blocking:
        turns.set_waiting(tx, turn.id, waiting=True)


def _log_opened(tx: Tx, core: Core, gate: Gate) -> None:
    about = GateOpenedEvent(gate.id, gate.code, gate.asked.kind, title_line(gate))
    tx.log(gate.thread, gate.turn, core.clock.now(), about)


def _answer_automatically(tx: Tx, core: Core, gate: Gate, verdict: Verdict) -> bool:
    """Answer by a rule, or by what a person answered to the same request before the turn was cut off."""
    if verdict.effect is Effect.ASK:
        return _reuse_unsent_answer(tx, core, gate)
    decision = Decision.ACCEPT if verdict.effect is Effect.ALLOW else Decision.DECLINE
    reason = "" if decision is Decision.ACCEPT else f"not allowed: {verdict.why}"
    given = Answer(decision, reason, judged=not verdict.is_exact)
    answer_gate(tx, core, gate, given, gate_messages.by_rule(verdict.why))
    return True


def _reuse_unsent_answer(tx: Tx, core: Core, gate: Gate) -> bool:
    """What a person answered to a sub-agent is no answer to the agent itself, or to another sub-agent."""
    if gate.asked.unshown:
        return False  # nobody knows whether it is the same
    oldest = core.clock.now() - UNSENT_ANSWER_LIFETIME
    for earlier in gates.same_request(tx, gate.turn, gate.asked):
        is_fresh = earlier.carried and (earlier.answered_at or 0) >= oldest
        is_fresh = is_fresh and not gate_messages.is_by_rule(earlier.answered_by)
        is_fresh = is_fresh and earlier.asked.agents == gate.asked.agents
        if is_fresh and earlier.answer is not None and gates.use_carried(tx, earlier):
            answer_gate(tx, core, gate, replace(earlier.answer, rule=None), earlier.answered_by or "")
            return True
    return False


def _may_have_run(tx: Tx, turn: Turn, asked: Asked) -> bool:
    earlier = gates.same_request(tx, turn.id, asked)
    return any(gate.sent_at is not None and gate.answer is not None and gate.answer.is_yes for gate in earlier)


def _handle_repeat(tx: Tx, core: Core, gate: Gate, verdict: Verdict) -> None:
    """The runtime repeats a request to a new consumer. An answer that was sent before did not arrive: a person is asked
    again; "no answer" is simply sent again, and so is the answer of a rule, if the rules still give it."""
    is_answered = gate.state is GateState.ANSWERED
    if is_answered and gate_messages.is_by_rule(gate.answered_by):
        if not gate_messages.is_by_this_rule(gate.answered_by, verdict.why):
            reopen_gate(tx, core, gate, gate_messages.RULES_CHANGED)
        elif gate.sent_at is not None:
            gates.unsend(tx, gate)
    elif gate.state is GateState.EXPIRED and gate.sent_at is not None:
        gates.unsend(tx, gate)
    elif is_answered and gate.sent_at is not None:
        reopen_gate(tx, core, gate, gate_messages.DID_NOT_ARRIVE)


def _is_other_request(known: Gate, asked: Asked, *, seen_before: bool) -> bool:
    """Whether a runtime uses the reference of a gate for another request. After clew attached again, a request may lack
    details (Codex sends a diff only once), but it is never another command."""
    if known.asked.is_same(asked):
        return False
    return seen_before or known.state in (GateState.TAKEN, GateState.VOID) or asked.kind is GateKind.COMMAND


def _free_reference(tx: Tx, core: Core, gate: Gate) -> None:
    """Free the reference for another request, so that no answer to this gate can reach that one."""
    if gate.state in (GateState.OPEN, GateState.ANSWERED):
        void_gate(tx, core, gate, gate_messages.CHANGED)
    former = f"{gate.ref}:{gate.id}"
    gates.rename(tx, gate, former)
    items.rename(tx, gate.turn, gate_item(gate.ref), gate_item(former))


def _void_earlier_duplicates(tx: Tx, core: Core, gate: Gate) -> None:
    """A turn that was cut off and continued asks its non-blocking questions again: void the earlier ones."""
    for earlier in gates.open_in(tx, gate.thread):
        if not earlier.asked.blocking and earlier.asked.is_same(gate.asked):
            void_gate(tx, core, earlier, gate_messages.ASKED_AGAIN)


def _publish_change(tx: Tx, core: Core, gate: Gate) -> Gate:
    """Update the gate's line in the turn's history and all cards that show it."""
    now = _reload(tx, gate)
    items.finish(tx, gate.turn, gate_item(gate.ref), _line(now), now.state)
    cards.redraw(tx, core, now)
    return now


def _line(gate: Gate) -> str:
    """What became of a gate, for the history of its turn."""
    return gate_messages.closed_line(gate, title_line(gate)) or status_line(gate)


def _resume_if_all_settled(tx: Tx, turn: str) -> None:
    """The turn waits no longer once none of its gates is open."""
    if not any(gate.state is GateState.OPEN for gate in _blocking_gates(tx, turn)):
        turns.set_waiting(tx, turn, waiting=False)


def _blocking_gates(tx: Tx, turn: str) -> list[Gate]:
    """Unsettled blocking gates of a turn. Indexed: the cost grows with open gates only."""
    return [gate for gate in gates.unsettled(tx, turn) if gate.asked.blocking]


def _reload(tx: Tx, gate: Gate) -> Gate:
    found = gates.get(tx, gate.id)
    assert found is not None, gate.id
    return found


def _is_cancel(gate: Gate) -> bool:
    return gate.answer is not None and gate.answer.decision is Decision.CANCEL


def _without_secrets(gate: Gate, given: Answer) -> Answer:
    hidden = {question.id for question in gate.asked.questions if question.secret}
    replies = tuple((name, (SECRET,) if name in hidden else texts) for name, texts in given.replies)
    return replace(given, reason=clean(given.reason), replies=replies)


def _warning(asked: Asked, verdict: Verdict) -> str:
    if (unstorable := unstorable_part(asked)) is not None:
        return reasons.reason(replace(unstorable, about=shortened(unstorable.about, MAX_WARNING_NAME)))
    return reasons.reason(verdict.reason) if verdict.reason else ""
