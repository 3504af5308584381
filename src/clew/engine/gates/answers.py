"""Answering: who may, what a choice sets in motion, and what a message means where gates are open. An answer is never
queued behind the turn that waits for it."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from clew.engine.core import Core
from clew.engine.gates import cards, reply_parser
from clew.engine.gates.choices import Choice, NewRule, Word
from clew.engine.gates.gates import answer_gate, take
from clew.engine.gates.visibility import is_reply, shown_at
from clew.model.gates import Answer, Decision, Effect, Gate, GateKind, GateState, Rule, Scope
from clew.model.messages import Conversation, Fate, Inbound
from clew.model.threads import SuspendedBy, Thread, ThreadStatus
from clew.store import Tx
from clew.store.tables import deliveries, gates, inbox, threads
from clew.store.tables import rules as rows
from clew.store.tables.inbox import Arrival
from clew.support.errors import BadInput, NotFound, Refused
from clew.texts import bilingual, gate_messages, messages, stored

_ALLOWING = (Decision.ACCEPT, Decision.REPLY)
LOOKED_AT = 10  # newest gates of a thread
_TO_CUT, _TO_BACKLOG = messages.CONTINUE | messages.STOP, messages.RUN_ALL | messages.MERGE | messages.SKIP


def find(tx: Tx, name: str) -> Gate:
    """By code, by id, or by the beginning of an id. Raises NotFound, BadInput, Refused."""
    wanted = name.strip().upper()
    if not wanted.isalnum() or not wanted.isascii():
        raise BadInput(f"{name!r} is not a gate code; `clew gates` lists them.")
    if reply_parser.is_code(wanted) and (gate := gates.by_code(tx, wanted)) is not None:
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
    by = gate_messages.by_person(by)
    answered = answer_gate(tx, core, gate, choice.answer, by)
    if choice.answer.decision is Decision.DECLINE:
        gates.forget_carried(tx, gate.thread)
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
        raise Refused(messages.NOBODY_WAITS)
    return [choose(tx, core, gate, Choice(Word.ACCEPT, "allow", yes), by) for gate in still]


def as_message(gate: Gate, answer: Answer) -> str:
    """The answer to a question in passing, as something that the person says."""
    said = {name: ", ".join(words_) for name, words_ in answer.replies}
    return "\n".join(f"{question.text}\n{said.get(question.id, '')}" for question in gate.asked.questions)


class Heard(Struct, frozen=True):
    """A message where gates are open: what was typed, and which gates it can mean."""

    inbound: Inbound
    thread: Thread | None  # what is said here goes to it
    said: reply_parser.Typed
    open_now: Sequence[Gate]
    may_mean_former: bool = False  # a gate that was settled when this was said, or just before

    @property
    def is_bare(self) -> bool:
        """Something that means a gate and says not which. `thread` and `rule` do so only at a card that is quoted."""
        return self.said.is_bare or (self.said.is_extent and self.points)

    @property
    def points(self) -> bool:
        """At a message, by a button or a quote."""
        return self.inbound.pressed or (self.inbound.quoted is not None and not self.inbound.hangs)

    def is_own(self, gate: Gate) -> bool:
        return self.thread is not None and gate.thread == self.thread.id

    def is_early(self, tx: Tx, gate: Gate) -> bool:
        """Said before anybody can have read it here, so that it can mean it only by its code. It may have been asked
        once more, long after its card left."""
        shown = shown_at(tx, gate, self.inbound.conversation, pressed=self.inbound.pressed)
        if shown is None and self.inbound.sent_at is not None:
            return self.was_before(gate.asked_at)
        return self.is_too_soon(max(gate.asked_at, shown or 0))

    def why_early(self, gate: Gate) -> bilingual.Bilingual:
        said = "y" if self.said.is_all else self.said.rest
        told = gate_messages.said_before if self.inbound.sent_at is not None else messages.may_mean_former
        return told(gate.code, said)

    def was_before(self, moment: int) -> bool:
        """Said without a code before this. Many platforms tell whole seconds, and some tell nothing."""
        sent = self.inbound.sent_at
        if self.said.code is not None or sent is None:
            return False
        return sent < (moment // 1000 * 1000 if sent % 1000 == 0 else moment)

    def is_too_soon(self, moment: int) -> bool:
        """The same, or so soon after it that nobody can have read what was shown then: who types something anyway does
        not mean that. Whoever points at a message has read it."""
        sent = self.inbound.sent_at
        if self.said.code is not None or self.points:
            return self.was_before(moment)
        return self.may_mean_former if sent is None else not is_reply(sent, moment)

    def sees_whole(self, tx: Tx, core: Core, gate: Gate) -> bool:
        """Whether it was shown whole where this was said, by then. Clients at the desk say what they show whole; front
        ends, which have conversations there, are told of a gate in a line, or name it."""
        where, names = self.inbound.conversation, {gate.id, gate.code}
        is_named = bool(names & {*(self.inbound.sees or ()), self.said.code})
        if self.was_told_a_line(core):
            return _is_a_line(tx, gate) and (is_named or gate.id in core.told.get(where.address, ()))
        if where.surface == core.local_surface:
            return bool(names & {*(self.inbound.sees or ())})
        shown = shown_at(tx, gate, where, pressed=self.inbound.pressed) if gate.whole_in else None
        return shown is not None and not self.is_too_soon(shown)

    def was_told_a_line(self, core: Core) -> bool:
        """Said in a conversation of a front end: without what else can be chosen, and so without any rule."""
        return self.inbound.conversation.surface == core.local_surface and bool(self.inbound.conversation.address)

    def why_unseen(self, gate: Gate) -> bilingual.Bilingual:
        """For whoever allows what they do not see whole."""
        if gate.state is not GateState.OPEN:
            return stored.answered_before(gate)
        comes = gate.whole_in and gate.where == self.inbound.conversation
        return gate_messages.not_arrived(gate.code) if comes else gate_messages.not_whole(gate.code)


def at_gates(tx: Tx, core: Core, thread: Thread | None, inbound: Inbound) -> Arrival | Inbound | None:
    """What a message means where gates are open: without a code, a quote or a button those of the conversation's
    thread, and no other's that is shown there. None: nothing; an Inbound: it is said to the agent that asked in
    passing, in these words."""
    meanable = _meanable(tx, thread, inbound)
    heard = Heard(inbound, thread, reply_parser.typed(inbound.text), meanable, _may_mean_former(tx, inbound, meanable))
    try:
        _guard_secrets(tx, heard)
        if inbound.attachments or inbound.queue or inbound.relayed:
            return None
        _refuse_unclear(tx, heard)
        return _read(tx, core, heard) if heard.open_now or heard.said.code is not None else None
    except (BadInput, NotFound, Refused) as error:
        return Arrival(Fate.REFUSED, thread.id if thread else None, None, error.words)


def _meanable(tx: Tx, thread: Thread | None, inbound: Inbound) -> list[Gate]:
    """What a reply without a code can mean: what its sender sees, be it closed by now, else what is open. Nobody says
    yes to what came a moment ago and is not on their screen yet."""
    if inbound.sees is None:
        return _open_here(tx, thread, inbound.conversation)
    found = (gates.get(tx, name) or gates.by_code(tx, name) for name in inbound.sees)
    return [gate for gate in found if gate is not None and thread is not None and gate.thread == thread.id]


def _may_mean_former(tx: Tx, inbound: Inbound, meanable: Sequence[Gate]) -> bool:
    """Whether its sender may have had a gate before their eyes that is settled by now, and not these, if nobody tells
    when it was said: that may have been right after the last that was heard there. A quote says what they had."""
    is_known = inbound.pressed or inbound.quoted is not None or inbound.sent_at is not None or inbound.sees is not None
    if is_known or not meanable:
        return False
    names = {each.thread for each in meanable}
    before = [gate for name in names for gate in gates.of_thread(tx, name, LOOKED_AT) if gate not in meanable]
    same = {gate.asked.subject for gate in meanable if not gate.warning}  # a yes to it is a yes to this
    return _was_settled_unheard(tx, inbound.conversation, [gate for gate in before if gate.asked.subject not in same])


def _was_settled_unheard(tx: Tx, where: Conversation, before: Sequence[Gate]) -> bool:
    """Whether somebody else answered one of these gates, or its agent took it back, since somebody last spoke there."""
    shown = [gate for gate in before if not gate_messages.is_by_rule(gate.answered_by)]
    heard = inbox.last_received_at(tx, where) if shown else None
    return heard is not None and any((gate.answered_at or gate.closed_at or 0) > heard for gate in shown)


def _open_here(tx: Tx, thread: Thread | None, where: Conversation) -> list[Gate]:
    """Of the thread that hears what is said here; if there is none, what is shown here. A thread that is suspended has
    a question of its own: bare words answer that one."""
    if thread is None:
        return gates.open_at(tx, where)
    return gates.open_in(tx, thread.id) if thread.status is not ThreadStatus.SUSPENDED else []


def _refuse_unclear(tx: Tx, heard: Heard) -> None:
    """A short answer that may mean something else than what it would decide here, or nothing at all."""
    if not (heard.is_bare or heard.said.is_all):
        return
    if others := _others(tx, heard):
        raise Refused(gate_messages.which_or_agent(_replies(heard, others)))
    still = [gate for gate in heard.open_now if gate.state is GateState.OPEN]
    is_all_of_many = heard.said.is_all and heard.thread is None and len(still) > 1
    can_mean_one = heard.is_bare and any(not heard.is_early(tx, gate) for gate in still)
    if is_all_of_many or (can_mean_one and _settled_since(tx, heard)):
        raise _which_of(heard, still)


def _others(tx: Tx, heard: Heard) -> list[Gate]:
    """Gates of other threads that are shown here and that this may mean, if the thread here asks for no such word."""
    if heard.thread is None or heard.open_now or heard.inbound.sees is not None:
        return []
    shown = gates.open_at(tx, heard.inbound.conversation)
    others = [gate for gate in shown if not heard.is_own(gate) and not heard.was_before(gate.asked_at)]
    return [] if _is_for_suspended(tx, heard.thread, heard.said.word, others) else others


def _is_for_suspended(tx: Tx, thread: Thread, word: str, others: Sequence[Gate]) -> bool:
    """It answers the question of a suspended thread, and nothing was asked here after that one."""
    if thread.status is not ThreadStatus.SUSPENDED:
        return False
    is_backlog, asked = thread.suspended_by is SuspendedBy.BACKLOG, deliveries.newest_ask(tx, thread.id)
    is_newest = asked is not None and all(gate.asked_at <= asked.created_at for gate in others)
    return is_newest and word in (_TO_BACKLOG if is_backlog else _TO_CUT)


def _settled_since(tx: Tx, heard: Heard) -> list[Gate]:
    """Gates that were open when this was said, so that it may have meant one of them; of a quote those on its card."""
    inbound, thread = heard.inbound, heard.thread
    if inbound.sent_at is None or (inbound.sees is not None and not heard.points):
        return []
    known = gates.settled_in(tx, thread.id, inbound.sent_at) if thread else []
    known = known if thread else gates.settled_at(tx, inbound.conversation, inbound.sent_at)
    on_cards = {gate.card for gate in heard.open_now}
    meant = [gate for gate in known if gate.card in on_cards] if heard.points else known
    return [gate for gate in meant if not heard.was_before(gate.asked_at)]


def _which_of(heard: Heard, open_now: Sequence[Gate]) -> Refused:
    told = _replies(heard, open_now)
    return Refused(gate_messages.which_button(told) if heard.inbound.pressed else gate_messages.which_one(told))


def _replies(heard: Heard, open_now: Sequence[Gate]) -> list[str]:
    """What to reply instead, for each gate."""
    said = "y" if heard.said.is_all else heard.said.rest
    return [f"`{gate.code} {said}`" for gate in open_now]


def _read(tx: Tx, core: Core, heard: Heard) -> Arrival | Inbound | None:
    if heard.said.is_all:
        return _all(tx, core, heard)
    gate = _which(tx, heard)
    if gate is not None and heard.said.code is not None and not heard.said.rest:
        return Arrival(Fate.COMMAND, gate.thread, None, cards.alone(core, gate, heard.inbound.conversation))
    choice = _meant(tx, core, heard, gate) if gate is not None else None
    if gate is None or choice is None:
        return None
    if heard.is_early(tx, gate):
        raise Refused(heard.why_early(gate))
    _may(core, heard.inbound)
    if choice.answer.decision in _ALLOWING and not heard.sees_whole(tx, core, gate):
        raise Refused(heard.why_unseen(gate))
    if choice.rule is not None and heard.was_told_a_line(core):
        raise Refused(gate_messages.rule_not_shown(gate.code))
    answered = choose(tx, core, gate, choice, heard.inbound.sender)
    if not gate.asked.blocking and choice.answer.decision is Decision.REPLY:
        return replace(heard.inbound, text=as_message(gate, choice.answer), thread=gate.thread)
    return Arrival(Fate.ANSWER, gate.thread, gate.turn, gate_messages.on_its_way(answered))


def _all(tx: Tx, core: Core, heard: Heard) -> Arrival:
    """Yes to what was there to be seen when it was said."""
    _may(core, heard.inbound)
    early = [gate for gate in heard.open_now if heard.is_early(tx, gate)]
    meant = [gate for gate in heard.open_now if gate not in early]
    if early and not meant:
        raise Refused(heard.why_early(early[0]))
    unseen = [gate for gate in meant if _is_open(gate) and not heard.sees_whole(tx, core, gate)]
    whole = [gate for gate in meant if gate not in unseen]
    if unseen and not any(map(_is_open, whole)):
        raise Refused(heard.why_unseen(unseen[0]))
    answered = choose_all(tx, core, whole, heard.inbound.sender)
    told = gate_messages.all_on_their_way(len(answered))
    told = bilingual.joined(" ", told, gate_messages.not_among_all([gate.code for gate in unseen])) if unseen else told
    return Arrival(Fate.ANSWER, answered[0].thread, answered[0].turn, told)


def _is_a_line(tx: Tx, gate: Gate) -> bool:
    """A line says all of it: there is no diff, no warning and no reason of the agent, and it would run in the thread's
    own folder and in the sandbox."""
    asked, thread = gate.asked, threads.get(tx, gate.thread)
    is_here = asked.folder is None or (thread is not None and asked.folder == thread.workspace)
    is_title = all(each.text == asked.title and not each.options for each in asked.questions)  # options have no line
    is_more = asked.detail or asked.reason or stored.warnings(gate) or asked.unjudged
    return is_here and is_title and cards.one_line(gate) == asked.title and not is_more


def _is_open(gate: Gate) -> bool:
    return gate.state is GateState.OPEN and gate.asked.kind is not GateKind.QUESTION


def _which(tx: Tx, heard: Heard) -> Gate | None:
    said, open_now = heard.said, heard.open_now
    if said.code is None and len(open_now) <= 1:
        return open_now[0] if open_now else None
    if said.code is None:
        if not heard.is_bare:
            return None
        raise _which_of(heard, open_now)
    gate = _named(tx, heard, said.code)
    if gate is None:
        if open_now or said.word in messages.ALLOW | messages.DENY:
            raise NotFound(gate_messages.no_gate(said.code))
        return None
    if not heard.is_own(gate) and gate.where != heard.inbound.conversation:
        raise Refused(gate_messages.elsewhere(gate.code))
    return gate


def _named(tx: Tx, heard: Heard, code: str) -> Gate | None:
    """By its code: of the gates on the card first, since a code is given again after a day."""
    shown = next((gate for gate in heard.open_now if gate.code == code), None)
    return shown or gates.by_code(tx, code)


def _meant(tx: Tx, core: Core, heard: Heard, gate: Gate) -> Choice | None:
    """What it chooses there. Free words mean a gate only in its own conversation, and after it was shown there; words
    behind the code of something long settled are about it, not an answer to it."""
    if heard.said.is_extent and not heard.points and gate.asked.kind is not GateKind.QUESTION:
        return None
    if reply_parser.is_free(heard.said, gate) and not _can_mean(tx, core, heard, gate):
        return None
    try:
        choice = reply_parser.meant(heard.said, gate)
    except BadInput:
        if gate.state is GateState.OPEN:
            raise
        return None
    if choice is not None and _is_secret(gate) and choice.answer.decision is Decision.REPLY:
        raise Refused(gate_messages.secret(gate.code))
    return choice


def _can_mean(tx: Tx, core: Core, heard: Heard, gate: Gate) -> bool:
    is_secret = _is_secret(gate)  # then they are no answer, and must not become a message either
    return heard.is_own(gate) and not heard.is_early(tx, gate) and (is_secret or heard.sees_whole(tx, core, gate))


def _guard_secrets(tx: Tx, heard: Heard) -> None:
    """Where a secret is asked for, plain words may be it, whatever they quote or come with. They must not become a
    message: history would keep them."""
    said = heard.said
    named = _named(tx, heard, said.code) if said.code is not None else None
    if named is not None and _is_secret(named) and said.rest and not said.is_stop:
        raise Refused(gate_messages.secret(named.code))
    if said.code is not None or said.is_bare or said.is_all or not said.rest:
        return
    quotes = heard.inbound.quoted is not None
    for gate in _open_here(tx, heard.thread, heard.inbound.conversation) if quotes else heard.open_now:
        if _asks_secret(gate) and not heard.was_before(gate.asked_at) and (heard.thread is None or heard.is_own(gate)):
            raise Refused(gate_messages.secret(gate.code) if heard.thread else messages.secret_or_new(gate.code))


def refuse_secrets(tx: Tx, thread: Thread | None) -> None:
    """The same for words that come with a command. Raises Refused."""
    for gate in gates.open_in(tx, thread.id) if thread is not None else ():
        if _asks_secret(gate):
            raise Refused(gate_messages.secret(gate.code))


def _asks_secret(gate: Gate) -> bool:
    """In words of one's own."""
    hidden = [question for question in gate.asked.questions if question.secret]
    return any(each.free or not each.options for each in hidden)


def _may(core: Core, inbound: Inbound) -> None:
    allowed = core.config.gates.approvers
    who = inbound.sender_id or inbound.conversation.surface  # a name that one gives oneself proves nothing
    if allowed and inbound.conversation.surface != core.local_surface and who not in allowed:
        raise Refused(gate_messages.may_not_answer(inbound.sender))


def _is_secret(gate: Gate) -> bool:
    return any(question.secret for question in gate.asked.questions)


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
    from clew.engine.rules import decide

    known = rows.of_scopes(tx, thread.id, thread.workspace)
    for gate in gates.open_in(tx, thread.id):
        verdict = decide.decide(gate.asked, thread.policy, thread.workspace, known, core.clock.now(), thread.id)
        if verdict.effect is Effect.ALLOW:
            given = Answer(Decision.ACCEPT, judged=not verdict.is_exact)
            answer_gate(tx, core, gate, given, gate_messages.by_rule(verdict.why))
