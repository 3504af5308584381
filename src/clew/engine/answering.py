"""Answering: who may, what a choice sets in motion, and what a message means where gates are open. An answer is never
queued behind the turn that waits for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from clew.asking import Answer, Decision, Effect, Gate, GateKind, GateState, Rule, Scope
from clew.engine import replies, rules, words
from clew.engine.choices import Choice, NewRule, Word
from clew.engine.core import Core
from clew.engine.gates import answer_gate, take
from clew.errors import BadInput, NotFound, Refused
from clew.model import Fate, Inbound, Thread
from clew.store import Tx, gates, threads
from clew.store import rules as rows
from clew.store.inbox import Arrival


def find(tx: Tx, name: str) -> Gate:
    """By code, by id, or by the beginning of an id. Raises NotFound, BadInput, Refused."""
    wanted = name.strip().upper()
    if not wanted.isalnum() or not wanted.isascii():
        raise BadInput(f"{name!r} is no code of a gate; `clew gates` lists them.")
    if replies.is_code(wanted) and (gate := gates.by_code(tx, wanted)) is not None:
        return gate
    found = gates.matching(tx, wanted)
    if not found:
        raise NotFound(f"There is no gate {name}; `clew gates` lists what is open.")
    if len(found) > 1 and found[0].id != wanted:
        raise Refused(f"{name} could be {found[0].code} or {found[1].code}, or others; give the code.")
    return found[0]


def choose(tx: Tx, core: Core, gate: Gate, choice: Choice, by: str) -> Gate:
    """Answer one gate, and make the rule that comes with the answer."""
    thread = threads.get(tx, gate.thread)
    assert thread is not None, gate.thread
    _check(gate, choice.answer)
    answered = answer_gate(tx, core, gate, choice.answer, by)
    if choice.rule is not None:
        make_rule(tx, core, choice.rule, _place(thread, choice.rule.scope), by)
        _apply(tx, core, thread)
    return answered if gate.asked.blocking else take(tx, core, answered)


def choose_all(tx: Tx, core: Core, open_now: Sequence[Gate], by: str) -> list[Gate]:
    """Yes to every approval; questions have to be answered one by one."""
    asked = [gate for gate in open_now if gate.asked.kind is not GateKind.QUESTION]
    yes = Answer(Decision.ACCEPT)
    still = [gate for gate in asked if (now := gates.get(tx, gate.id)) and now.state is GateState.OPEN]
    if not still:
        raise Refused("Nothing here waits for a yes; `clew gates` lists what is open.")
    return [choose(tx, core, gate, Choice(Word.ACCEPT, "allow", yes), by) for gate in still]


def as_message(gate: Gate, answer: Answer) -> str:
    """The answer to a question in passing, as something that the person says."""
    said = {name: ", ".join(words_) for name, words_ in answer.replies}
    return "\n".join(f"{question.text}\n{said.get(question.id, '')}" for question in gate.asked.questions)


def at_gates(tx: Tx, core: Core, thread: Thread, inbound: Inbound) -> Arrival | Inbound | None:
    """What a message means where gates are open. None: nothing; an Inbound: it is said to the agent, in these words."""
    said = replies.typed(inbound.text)
    seen = _seen(tx, thread, inbound.sees)
    if inbound.attachments or inbound.queue or (not seen and said.code is None):
        return None
    try:
        return _read(tx, core, thread, inbound, seen, said)
    except (BadInput, NotFound, Refused) as error:
        return Arrival(Fate.REFUSED, thread.id, None, error.message)


def _seen(tx: Tx, thread: Thread, codes: Sequence[str] | None) -> list[Gate]:
    """What a reply without a code can mean: what its sender sees, be it closed by now, else what is open. Nobody says
    yes to what came a moment ago and is not on their screen yet."""
    if codes is None:
        return gates.open_in(tx, thread.id)
    found = (gates.by_code(tx, code) for code in codes)
    return [gate for gate in found if gate is not None and gate.thread == thread.id]


def _read(
    tx: Tx, core: Core, thread: Thread, inbound: Inbound, seen: Sequence[Gate], said: replies.Typed
) -> Arrival | Inbound | None:
    if said.is_all:
        _may(core, inbound)
        answered = choose_all(tx, core, seen, inbound.sender)
        return Arrival(Fate.ANSWER, thread.id, answered[0].turn, words.all_on_their_way(len(answered)))
    gate = _which(tx, thread, seen, said)
    choice = replies.meant(said, gate, thread.workspace) if gate is not None else None
    if gate is None or choice is None:
        return None
    _may(core, inbound)
    _not_in_public(core, gate, inbound)
    answered_gate = choose(tx, core, gate, choice, inbound.sender)
    if not gate.asked.blocking:
        return replace(inbound, text=as_message(gate, choice.answer))
    return Arrival(Fate.ANSWER, thread.id, gate.turn, words.on_its_way(answered_gate))


def _which(tx: Tx, thread: Thread, seen: Sequence[Gate], said: replies.Typed) -> Gate | None:
    if said.code is None and len(seen) <= 1:
        return seen[0] if seen else None
    if said.code is None:
        if not said.is_bare:
            return None
        codes = [f"`{gate.code} {said.rest}`" for gate in seen]
        raise Refused(f"Which one? Reply {' or '.join(codes)}.")
    gate = gates.by_code(tx, said.code)
    if gate is None:
        if seen or said.rest.lower() in replies.YES | replies.NO:
            raise NotFound(f"There is no gate {said.code}; `clew gates` lists what is open.")
        return None
    if gate.thread != thread.id:
        raise Refused(f"{gate.code} belongs to another thread; answer it there.")
    return gate


def _may(core: Core, inbound: Inbound) -> None:
    allowed = core.config.gates.approvers
    if allowed and inbound.conversation.surface != core.desk and inbound.sender not in allowed:
        raise Refused(f"{inbound.sender} may not answer gates here; `gates.approvers` in config.toml names who may.")


def _not_in_public(core: Core, gate: Gate, inbound: Inbound) -> None:
    hidden = any(question.secret for question in gate.asked.questions)
    if hidden and inbound.conversation.surface != core.desk:
        raise Refused(f"The answer to {gate.code} is secret: give it with `clew answer {gate.code}`, not here.")


def _check(gate: Gate, answer: Answer) -> None:
    is_question = gate.asked.kind is GateKind.QUESTION
    if is_question and answer.decision is Decision.ACCEPT:
        raise BadInput(f"{gate.code} is a question: `clew answer {gate.code} …` answers it.")
    if not is_question and answer.decision is Decision.REPLY:
        raise BadInput(f"{gate.code} wants a yes or a no: `clew approve {gate.code}` or `clew deny {gate.code}`.")


def make_rule(tx: Tx, core: Core, new: NewRule, place: str, by: str, effect: Effect = Effect.ALLOW) -> Rule:
    now = core.clock.now()
    until = now + new.lasts if new.lasts is not None else None
    rule = Rule(core.clock.ulid(), effect, new.kind, new.pattern, new.scope, place, now, until, by)
    rows.insert(tx, rule)
    return rule


def _place(thread: Thread, scope: Scope) -> str:
    return {Scope.THREAD: thread.id, Scope.WORKSPACE: thread.workspace, Scope.EVERYWHERE: ""}[scope]


def _apply(tx: Tx, core: Core, thread: Thread) -> None:
    """What else stands open here and is covered by now."""
    known = rows.of_scopes(tx, thread.id, thread.workspace)
    for gate in gates.open_in(tx, thread.id):
        verdict = rules.decide(gate.asked, thread.policy, thread.workspace, known, core.clock.now(), thread.id)
        if verdict.effect is Effect.ALLOW:
            answer_gate(tx, core, gate, Answer(Decision.ACCEPT), words.by_rule(verdict.why))
