"""Answers to gates: who may answer, what a choice does, and which gate a message answers. An answer is never queued
behind the turn that waits for it."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from clew.engine.core import Core
from clew.engine.gates import cards, reply_parser
from clew.engine.gates.choices import Choice, ChoiceKind, NewRule
from clew.engine.gates.lifecycle import answer_gate, confirm_taken
from clew.engine.gates.reply import GateReply
from clew.model.gates import Answer, Decision, Effect, Gate, GateKind, GateState, GrantedRule, Rule, RuleKind, Scope
from clew.model.messages import Conversation, Fate, Inbound
from clew.model.threads import SuspendedBy, Thread, ThreadStatus
from clew.store import Tx
from clew.store.tables import deliveries, gates, inbox, threads, turns
from clew.store.tables import rules as rows
from clew.store.tables.inbox import Arrival
from clew.support.errors import BadInput, NotFound, Refused
from clew.texts import chat_messages, gate_messages, limit_messages
from clew.texts.catalogue import say

_ALLOWING = (Decision.ACCEPT, Decision.REPLY)
RECENT_GATES = 10  # of a thread, newest first
_CUT_ANSWERS = chat_messages.CONTINUE | chat_messages.STOP
_OTHER_ANSWERS = {
    SuspendedBy.BACKLOG: chat_messages.RUN_ALL | chat_messages.MERGE | chat_messages.SKIP,
    SuspendedBy.BUDGET: chat_messages.GO_ON | chat_messages.RAISE | chat_messages.STOP,
    SuspendedBy.LIMIT: _CUT_ANSWERS | limit_messages.NOW,
}


def find_gate(tx: Tx, name: str) -> Gate:
    """Find a gate by code, id, or a prefix of its id. Raises NotFound, BadInput, Refused."""
    wanted = name.strip().upper()
    if not wanted.isalnum() or not wanted.isascii():
        raise BadInput(say("gates.not_a_code", name=repr(name)))
    if reply_parser.is_code(wanted) and (gate := gates.by_code(tx, wanted)) is not None:
        return gate
    found = gates.matching(tx, wanted)
    if not found:
        raise NotFound(say("gates.not_found", name=name))
    if len(found) > 1 and found[0].id != wanted:
        raise Refused(say("gates.ambiguous", name=name, first=found[0].code, second=found[1].code))
    return found[0]


def apply_choice(tx: Tx, core: Core, gate: Gate, choice: Choice, by: str) -> Gate:
    """Answer one gate, and create the rule that comes with the answer."""
    thread = threads.get(tx, gate.thread)
    assert thread is not None, gate.thread
    _check_answer_fits(gate, choice.answer)
    by = gate_messages.by_person(by)
    answered = answer_gate(tx, core, gate, replace(choice.answer, rule=_granted(choice.rule)), by)
    if choice.answer.decision is Decision.DECLINE:
        gates.forget_carried(tx, gate.thread)
    if choice.rule is not None:
        make_rule(tx, core, choice.rule, _place_of_scope(thread, choice.rule.scope), by)
        tx.after(lambda: core.new_rules.add(gate.thread))
    return answered if gate.asked.blocking else confirm_taken(tx, core, answered)


def accept_all(tx: Tx, core: Core, open_now: Sequence[Gate], by: str) -> list[Gate]:
    """Accept every open approval; questions must be answered one by one."""
    asked = [gate for gate in open_now if gate.asked.kind is not GateKind.QUESTION]
    yes = Answer(Decision.ACCEPT)
    still_open = [gate for gate in asked if (now := gates.get(tx, gate.id)) and now.state is GateState.OPEN]
    if not still_open:
        raise Refused(chat_messages.NOBODY_WAITS)
    return [apply_choice(tx, core, gate, Choice(ChoiceKind.ACCEPT, "allow", yes), by) for gate in still_open]


def answer_as_message(gate: Gate, answer: Answer) -> str:
    """The answer to a non-blocking question, as a message to the agent."""
    replies = {name: ", ".join(words_) for name, words_ in answer.replies}
    return "\n".join(f"{question.text}\n{replies.get(question.id, '')}" for question in gate.asked.questions)


def handle_reply(
    tx: Tx, core: Core, thread: Thread | None, inbound: Inbound, *, sees_all: bool
) -> Arrival | Inbound | None:
    """Answer a gate, if the message does. Without a code, a quote or a button it can only mean gates of the
    conversation's thread, not those of other threads that are shown there. None: it is not an answer. An Inbound: the
    answer to a non-blocking question, as a message to the agent. `sees_all`: its sender may be shown every gate."""
    candidates = _candidates(tx, thread, inbound)
    typed = reply_parser.parse_reply(inbound.text)
    may_mean_settled = _may_mean_settled_gate(tx, inbound, candidates)
    reply = GateReply(inbound, thread, typed, candidates, may_mean_settled, core.clock.now(), sees_all)
    try:
        _refuse_secrets_in_message(tx, reply)
        if inbound.attachments or inbound.queue or inbound.relayed:
            return None
        if reply.is_among_people and not _refuse_in_group(reply):
            return None
        _refuse_ambiguous(tx, reply)
        return _apply_reply(tx, core, reply) if reply.candidates or reply.typed.code is not None else None
    except (BadInput, NotFound, Refused) as error:
        return Arrival(Fate.REFUSED, thread.id if thread else None, None, error.words)


def _candidates(tx: Tx, thread: Thread | None, inbound: Inbound) -> list[Gate]:
    """The gates that a reply without a code may mean: those that its sender's client shows, even if closed by now; else
    the open ones. Nobody accepts a gate that is not on their screen yet."""
    if inbound.sees is None:
        return _open_gates_here(tx, thread, inbound.conversation)
    found = (gates.get(tx, name) or gates.by_code(tx, name) for name in inbound.sees)
    return [gate for gate in found if gate is not None and thread is not None and gate.thread == thread.id]


def _may_mean_settled_gate(tx: Tx, inbound: Inbound, candidates: Sequence[Gate]) -> bool:
    """Whether a message without a time may mean a gate that is settled by now, not one of these. It may have been sent
    right after the last message there. A quote says which gate its sender saw."""
    is_known = inbound.pressed or inbound.quoted is not None or inbound.sent_at is not None or inbound.sees is not None
    if is_known or not candidates:
        return False
    names, where = {each.thread for each in candidates}, inbound.conversation
    recent = [gate for name in names for gate in gates.of_thread(tx, name, RECENT_GATES)]
    shown_here = gates.settled_at(tx, where, inbox.last_received_at(tx, where) or 0)
    before = [gate for gate in (*recent, *shown_here) if gate not in candidates]
    same = {
        gate.asked.subject for gate in candidates if not gate.warning
    }  # a yes to the settled one is a yes to this one
    return _was_settled_since_last_message(tx, where, [gate for gate in before if gate.asked.subject not in same])


def _was_settled_since_last_message(tx: Tx, where: Conversation, before: Sequence[Gate]) -> bool:
    """Whether one of these gates was answered elsewhere or withdrawn since the last message there."""
    shown = [gate for gate in before if not gate_messages.is_by_rule(gate.answered_by)]
    last_message_at = inbox.last_received_at(tx, where) if shown else None
    if last_message_at is None:
        return False
    return any((gate.answered_at or gate.closed_at or 0) > last_message_at for gate in shown)


def _open_gates_here(tx: Tx, thread: Thread | None, where: Conversation) -> list[Gate]:
    """The open gates of the conversation's thread; without a thread, those shown here. A suspended thread has a
    question of its own, which short answers answer instead."""
    if thread is None:
        return gates.open_at(tx, where)
    return gates.open_in(tx, thread.id) if thread.status is not ThreadStatus.SUSPENDED else []


def _refuse_ambiguous(tx: Tx, reply: GateReply) -> None:
    """Refuse a short answer that may mean another gate than the one that it would answer here."""
    if not (reply.is_short or reply.typed.is_yes_to_all):
        return
    if others := _gates_of_other_threads(tx, reply):
        raise Refused(gate_messages.which_or_agent(_suggested_replies(reply, others)))
    still_open = [gate for gate in reply.candidates if gate.state is GateState.OPEN]
    is_yes_to_several = reply.typed.is_yes_to_all and reply.thread is None and len(still_open) > 1
    can_mean_one = reply.is_short and any(not reply.is_early(tx, gate) for gate in still_open)
    if is_yes_to_several or (can_mean_one and _settled_since(tx, reply)):
        raise _ambiguous(reply, still_open)


def _refuse_in_group(reply: GateReply) -> bool:
    """Refuse a bare word in a group, which people may have said to each other. A bare `stop` counts: it allows nothing.
    False: it is a message."""
    waiting = [gate for gate in reply.candidates if gate.state is GateState.OPEN]
    if not waiting or not (reply.is_short or reply.typed.is_yes_to_all):
        return False
    if not reply.typed.is_stop:
        raise Refused(gate_messages.in_group(_suggested_replies(reply, waiting)))
    return True


def _gates_of_other_threads(tx: Tx, reply: GateReply) -> list[Gate]:
    """Gates of other threads that are shown here and that this may mean, unless the thread here asks for that word."""
    if reply.thread is None or reply.candidates or reply.inbound.sees is not None:
        return []
    shown = gates.open_at(tx, reply.inbound.conversation)
    others = [gate for gate in shown if not reply.is_own(gate) and not reply.was_sent_before(gate.asked_at)]
    return [] if _is_for_suspended(tx, reply.thread, reply.typed.word, others) else others


def _is_for_suspended(tx: Tx, thread: Thread, word: str, others: Sequence[Gate]) -> bool:
    """Whether it answers the question of a suspended thread, and nothing was asked here after that question."""
    if thread.status is not ThreadStatus.SUSPENDED:
        return False
    asked = deliveries.newest_ask(tx, thread.id)
    is_newest = asked is not None and all(gate.asked_at <= asked.created_at for gate in others)
    answers = _OTHER_ANSWERS.get(thread.suspended_by, _CUT_ANSWERS) if thread.suspended_by else _CUT_ANSWERS
    return is_newest and word in answers


def _settled_since(tx: Tx, reply: GateReply) -> list[Gate]:
    """Gates that were open when the message was sent, so that it may mean one of them; for a quote, those on its
    card."""
    inbound, thread = reply.inbound, reply.thread
    if inbound.sent_at is None or (inbound.sees is not None and not reply.points_at_message):
        return []
    known = gates.settled_in(tx, thread.id, inbound.sent_at) if thread else []
    known = known if thread else gates.settled_at(tx, inbound.conversation, inbound.sent_at)
    on_cards = {gate.card for gate in reply.candidates}
    meant = [gate for gate in known if gate.card in on_cards] if reply.points_at_message else known
    return [gate for gate in meant if not reply.was_sent_before(gate.asked_at)]


def _ambiguous(reply: GateReply, open_now: Sequence[Gate]) -> Refused:
    suggested = _suggested_replies(reply, open_now)
    if reply.inbound.pressed:
        return Refused(gate_messages.which_button(suggested))
    return Refused(gate_messages.which_one(suggested))


def _suggested_replies(reply: GateReply, open_now: Sequence[Gate]) -> list[str]:
    """The unambiguous reply for each gate."""
    answer = "y" if reply.typed.is_yes_to_all else reply.typed.rest
    return [f"`{gate.code} {answer}`" for gate in open_now]


def _apply_reply(tx: Tx, core: Core, reply: GateReply) -> Arrival | Inbound | None:
    if reply.typed.is_yes_to_all:
        return _accept_all_shown(tx, core, reply)
    gate = _find_meant_gate(tx, reply)
    if gate is not None and reply.typed.code is not None and not reply.typed.rest:
        return _show(tx, core, reply, gate)
    choice = _find_choice(tx, core, reply, gate) if gate is not None else None
    if gate is None or choice is None:
        return None
    if reply.is_early(tx, gate):
        raise reply.early_refusal(gate)
    _check_approver(core, reply.inbound)
    if choice.answer.decision in _ALLOWING and not reply.saw_complete(tx, core, gate):
        _show_here(tx, core, reply, gate)
        raise reply.unseen_refusal(tx, core, gate)
    if choice.answer.decision in _ALLOWING and reply.is_hasty(tx, gate):
        raise Refused(gate_messages.too_quick(gate.code))
    if choice.rule is not None and reply.saw_one_line(core):
        raise Refused(gate_messages.rule_not_shown(gate.code))
    if choice.rule is not None and reply.is_bare_in_chat(core):
        raise Refused(gate_messages.rule_by_number(gate.code, reply.typed.rest))
    answered = apply_choice(tx, core, gate, choice, reply.inbound.sender)
    if not gate.asked.blocking and choice.answer.decision is Decision.REPLY:
        return replace(reply.inbound, text=answer_as_message(gate, choice.answer), thread=gate.thread)
    return Arrival(Fate.ANSWER, gate.thread, gate.turn, gate_messages.on_its_way(answered))


def _accept_all_shown(tx: Tx, core: Core, reply: GateReply) -> Arrival:
    """Accept all gates that were shown completely when the message was sent."""
    _check_approver(core, reply.inbound)
    early = [gate for gate in reply.candidates if reply.is_early(tx, gate)]
    in_time = [gate for gate in reply.candidates if gate not in early]
    if early and not in_time:
        raise reply.early_refusal(early[0])
    unseen = [gate for gate in in_time if _is_open_approval(gate) and not reply.saw_complete(tx, core, gate)]
    shown = [gate for gate in in_time if gate not in unseen]
    if unseen and not any(map(_is_open_approval, shown)):
        _show_here(tx, core, reply, unseen[0])
        raise reply.unseen_refusal(tx, core, unseen[0])
    if hasty := [gate for gate in shown if reply.is_hasty(tx, gate)]:
        raise Refused(gate_messages.too_quick(hasty[0].code))
    answered = accept_all(tx, core, shown, reply.inbound.sender)
    words: str = gate_messages.all_on_their_way(len(answered))
    if unseen:
        left = gate_messages.not_among_all([gate.code for gate in unseen])
        words = gate_messages.in_a_row([words, left])
    return Arrival(Fate.ANSWER, answered[0].thread, answered[0].turn, words)


def _is_open_approval(gate: Gate) -> bool:
    return gate.state is GateState.OPEN and gate.asked.kind is not GateKind.QUESTION


def _find_meant_gate(tx: Tx, reply: GateReply) -> Gate | None:
    typed, candidates = reply.typed, reply.candidates
    if typed.code is None and len(candidates) <= 1:
        return candidates[0] if candidates else None
    if typed.code is None:
        if not reply.is_short:
            return None
        raise _ambiguous(reply, candidates)
    gate = _gate_by_code(tx, reply, typed.code)
    if gate is None:
        if candidates or typed.word in chat_messages.ALLOW | chat_messages.DENY:
            raise NotFound(gate_messages.no_gate(typed.code))
        return None
    return gate


def _show(tx: Tx, core: Core, reply: GateReply, gate: Gate) -> Arrival:
    """Somebody gave only the code: show them the gate, if it belongs here or they may see every gate."""
    if reply.is_elsewhere(gate) and not reply.sees_all:
        raise Refused(gate_messages.elsewhere(gate.code))
    is_shown = _show_here(tx, core, reply, gate)
    words = "" if is_shown else cards.render_alone(core, gate, reply.inbound.conversation)
    return Arrival(Fate.COMMAND, gate.thread, None, words)


def _show_here(tx: Tx, core: Core, reply: GateReply, gate: Gate) -> bool:
    """Send a gate to the chat in which an owner names it: its card, if no conversation has that, else a copy. Then they
    can answer it there."""
    turn, where = turns.get(tx, gate.turn), reply.inbound.conversation
    if turn is None or not reply.can_be_shown(core, gate):
        return False
    if gate.where is None:
        cards.show_at(tx, core, turn, gate, where)
    elif not cards.is_copy_coming(tx, gate, where):
        cards.show_copy(tx, core, turn, gate, where)
    return True


def _gate_by_code(tx: Tx, reply: GateReply, code: str) -> Gate | None:
    """The gate with this code; those on the card first, since codes are reused after a day."""
    shown = next((gate for gate in reply.candidates if gate.code == code), None)
    return shown or gates.by_code(tx, code)


def _find_choice(tx: Tx, core: Core, reply: GateReply, gate: Gate) -> Choice | None:
    """What the reply chooses at this gate. Free text answers a gate only in its own conversation, and after it was
    shown there. Text after the code of a gate that is already settled is a message about it, not an answer."""
    if reply.typed.is_wider_yes and not reply.points_at_message and gate.asked.kind is not GateKind.QUESTION:
        return None
    if reply_parser.is_free_text(reply.typed, gate) and not _may_mean(tx, core, reply, gate):
        return None
    typed = reply.typed
    if typed.code is None and reply.points_at_message and reply_parser.is_no_with_reason(typed):
        typed = replace(typed, code=gate.code)  # whoever quotes the card need not repeat its code
    try:
        choice = reply_parser.find_choice(typed, gate)
    except BadInput:
        if reply.is_elsewhere(gate) and not reply.sees_all:
            raise Refused(gate_messages.elsewhere(gate.code)) from None  # it would tell what is asked
        if gate.state is not GateState.OPEN or (reply.typed.code is None and reply.is_early(tx, gate)):
            return None
        if _is_secret(gate):
            raise Refused(gate_messages.secret(gate.code)) from None  # the number may be the secret
        raise
    if choice is not None and _is_secret(gate) and choice.answer.decision is Decision.REPLY:
        raise Refused(gate_messages.secret(gate.code))
    return choice


def _may_mean(tx: Tx, core: Core, reply: GateReply, gate: Gate) -> bool:
    is_secret = _is_secret(gate)  # then the text is refused: it must not become a message
    return reply.is_own(gate) and not reply.is_early(tx, gate) and (is_secret or reply.saw_complete(tx, core, gate))


def _refuse_secrets_in_message(tx: Tx, reply: GateReply) -> None:
    """Refuse plain text while a secret is asked for, whatever it quotes or comes with: it may be the secret, and as a
    message it would be stored in history."""
    typed = reply.typed
    named = _gate_by_code(tx, reply, typed.code) if typed.code is not None else None
    if named is not None and _is_secret(named) and typed.rest and not typed.is_stop:
        raise Refused(gate_messages.secret(named.code))
    if named is not None and (named.state is GateState.OPEN or reply.inbound.pressed or not typed.rest):
        return
    rest = reply_parser.TypedReply(None, typed.rest)  # a code that names no gate is mistyped, or is itself the secret
    if (named is not None or typed.code is None) and (rest.is_short or rest.is_yes_to_all or not rest.rest):
        return
    quotes = reply.inbound.quoted is not None
    for gate in _open_gates_here(tx, reply.thread, reply.inbound.conversation) if quotes else reply.candidates:
        if (
            _asks_secret(gate)
            and not reply.was_sent_before(gate.asked_at)
            and (reply.thread is None or reply.is_own(gate))
        ):
            raise Refused(gate_messages.secret(gate.code) if reply.thread else chat_messages.secret_or_new(gate.code))


def refuse_secrets(tx: Tx, thread: Thread | None) -> None:
    """The same for text that comes with a command. Raises Refused."""
    for gate in gates.open_in(tx, thread.id) if thread is not None else ():
        if _asks_secret(gate):
            raise Refused(gate_messages.secret(gate.code))


def _asks_secret(gate: Gate) -> bool:
    """Whether it asks for a secret as free text."""
    hidden = [question for question in gate.asked.questions if question.secret]
    return any(each.free or not each.options for each in hidden)


def _check_approver(core: Core, inbound: Inbound) -> None:
    allowed = core.config.gates.approvers
    who = inbound.sender_id or inbound.conversation.surface  # a display name proves nothing
    if allowed and inbound.conversation.surface != core.local_surface and who not in allowed:
        raise Refused(gate_messages.may_not_answer(inbound.sender))


def _is_secret(gate: Gate) -> bool:
    return any(question.secret for question in gate.asked.questions)


def _check_answer_fits(gate: Gate, answer: Answer) -> None:
    is_question = gate.asked.kind is GateKind.QUESTION
    if is_question and answer.decision is Decision.ACCEPT:
        raise BadInput(say("gates.wants_answer", code=gate.code))
    if not is_question and answer.decision is Decision.REPLY:
        raise BadInput(say("gates.wants_yes_or_no", code=gate.code))


def make_rule(tx: Tx, core: Core, new: NewRule, place: str, by: str, effect: Effect = Effect.ALLOW) -> Rule:
    now = core.clock.now()
    until = now + new.lasts if new.lasts is not None else None
    rule = Rule(core.clock.ulid(), effect, new.kind, new.pattern, new.scope, place, now, until, by)
    rows.insert(tx, rule)
    return rule


def _granted(new: NewRule | None) -> GrantedRule | None:
    if new is None:
        return None
    return GrantedRule(new.kind, "" if new.kind is RuleKind.EXACT else new.pattern, new.lasts)


def _place_of_scope(thread: Thread, scope: Scope) -> str:
    return {Scope.THREAD: thread.id, Scope.WORKSPACE: thread.workspace, Scope.EVERYWHERE: ""}[scope]
