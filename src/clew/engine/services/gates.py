"""Gates and rules for clients: list, answer, add, remove and test them."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable
from functools import partial

from msgspec.structs import replace

from clew.engine.core import Core
from clew.engine.gates.answers import accept_all, answer_as_message, apply_choice, find_gate, make_rule
from clew.engine.gates.choices import (
    DEFAULT_RULE_LIFETIME,
    Choice,
    ChoiceKind,
    NewRule,
    accept_choice,
    choices,
    make_reply,
)
from clew.engine.gates.new_rules import apply_new_rules
from clew.engine.inbox.admission import Admission, write_fate
from clew.engine.services.passages import with_closing
from clew.engine.threads.lookup import existing_thread
from clew.model.gate_views import (
    AnswerGate,
    GateShown,
    GateView,
    NewRuleView,
    QuestionShown,
    QuestionView,
    RuleTest,
    RuleView,
)
from clew.model.gates import Answer, Asked, Decision, Effect, Gate, GateKind, GateState, Policy, Question, Rule, Scope
from clew.model.messages import Conversation, Inbound
from clew.model.threads import Thread
from clew.store import Tx
from clew.store.tables import gates, workspaces
from clew.store.tables import rules as rows
from clew.support.coded import Coded, Text, coded_of, with_texts
from clew.support.display import escape_hidden, shortened
from clew.support.display.as_code import as_code, as_command, as_prose, detail_shown, title_shown
from clew.support.display.relative import relative, relative_diff, relative_title
from clew.support.errors import BadInput, NotFound, Refused
from clew.support.text import clean
from clew.texts import gate_messages
from clew.texts.bilingual import Bilingual, zh
from clew.texts.catalogue import say
from clew.texts.together import in_each_language

DETAIL = 2000  # characters of a diff in a list


class GateService:
    def __init__(self, core: Core, admission: Admission) -> None:
        self._core = core
        self._admission = admission

    async def all(self) -> list[GateView]:
        """All open gates of all threads, oldest first."""
        return await self._core.store.read(lambda tx: [_brief(tx, gate) for gate in gates.all_open(tx)])

    async def count(self) -> int:
        return await self._core.store.read(gates.count_open)

    async def of_thread(self, thread: str, limit: int = 100) -> list[GateView]:
        """All gates of a thread, open or not, newest first."""
        return await self._core.store.read(lambda tx: [_brief(tx, gate) for gate in gates.of_thread(tx, thread, limit)])

    async def one(self, name: str) -> GateView:
        return await self._core.store.read(lambda tx: gate_view(tx, find_gate(tx, name)))

    async def answer(self, name: str, given: AnswerGate) -> GateView:
        """Answer a gate. Raises Refused, with who answered, if it is not open any more."""

        if given.pattern is not None:
            await self._check_rule(name, given)

        def body(tx: Tx) -> GateView:
            gate = _open_gate(tx, name)
            thread = existing_thread(tx, gate.thread)
            chosen = _chosen(gate, given)
            answered = apply_choice(tx, self._core, gate, chosen, given.sender)
            if not gate.asked.blocking and chosen.answer.decision is Decision.REPLY:
                self._say(tx, gate, thread, chosen.answer, given.sender)
            return gate_view(tx, answered)

        view = await self._core.store.write(body)
        await apply_new_rules(self._core)
        return view

    async def _check_rule(self, name: str, given: AnswerGate) -> None:
        """Check a rule that is added with a yes, outside the transaction: that needs the files of the workspace. Raises
        BadInput."""

        def body(tx: Tx) -> tuple[Gate, Thread]:
            gate = _open_gate(tx, name)
            return gate, existing_thread(tx, gate.thread)

        gate, thread = await self._core.store.read(body)
        if (rule := _chosen(gate, given).rule) is not None:
            _check_wildcards(gate, thread, rule)
            await asyncio.to_thread(self._check_covers, gate, thread, rule)

    async def accept_all(self, thread: str, sender: str, codes: Collection[str] | None = None) -> list[GateView]:
        """Accept all open gates of a thread. With `codes` only those, so that a gate opened since is not accepted."""

        def body(tx: Tx) -> list[GateView]:
            found = [
                each
                for each in gates.open_in(tx, existing_thread(tx, thread).id)
                if codes is None or each.code in codes
            ]
            return [_brief(tx, gate) for gate in accept_all(tx, self._core, found, sender)]

        return await self._core.store.write(body)

    async def rules(self) -> list[RuleView]:
        return await self._core.store.read(lambda tx: [_rule_view(rule) for rule in rows.all_rules(tx)])

    async def history(self, thread: str) -> list[GateView]:
        """All gates of a thread, newest first, with the reasons for which they were closed."""
        found = await self.of_thread(thread)
        return await self._core.store.read(lambda tx: [with_closing(tx, each) for each in found])

    async def show(self, gate: str) -> GateView:
        """A gate with the reason for which it was closed."""
        found = await self.one(gate)
        return await self._core.store.read(lambda tx: with_closing(tx, found))

    async def add_rule(self, new: NewRuleView) -> RuleView:
        from clew.engine.rules import decide, kinds

        kind = new.kind or kinds.infer_kind(new.effect, new.pattern, new.place if new.scope is Scope.WORKSPACE else "")
        rule = NewRule(kind, decide.validated_pattern(new.effect, kind, new.pattern), new.scope, new.lasts)

        def body(tx: Tx) -> RuleView:
            place = existing_thread(tx, new.place).id if new.scope is Scope.THREAD else new.place
            if new.scope is Scope.WORKSPACE and not place:
                raise BadInput(say("gates.rule_needs_folder"))
            return _rule_view(make_rule(tx, self._core, rule, place, new.sender, new.effect))

        return await self._core.store.write(body)

    async def remove_rule(self, name: str) -> RuleView:
        def body(tx: Tx) -> RuleView:
            found = rows.matching(tx, name.strip().upper())
            if len(found) != 1:
                if found:
                    raise Refused(say("gates.rule_ambiguous", name=name))
                raise NotFound(say("gates.rule_not_found", name=name))
            rule = rows.get(tx, found[0])
            assert rule is not None
            rows.remove(tx, rule.id)
            return _rule_view(rule)

        return await self._core.store.write(body)

    async def test_rule(self, asked: Asked, workspace: str, thread: str | None) -> RuleTest:
        """Decide a request by policy and rules, without asking anybody. Runs outside the read transaction, since it may
        have to search the workspace."""
        from clew.engine.rules import decide

        def body(tx: Tx) -> tuple[Thread | None, list[Rule]]:
            found = existing_thread(tx, thread) if thread else None
            place = found.workspace if found else workspace
            return found, rows.of_scopes(tx, found.id if found else "", place)

        found, scoped = await self._core.store.read(body)
        policy = found.policy if found else self._core.default_policy
        place, name = (found.workspace, found.id) if found else (workspace, "")
        here, now = replace(asked, folder=asked.folder or place), self._core.clock.now()
        verdict = await asyncio.to_thread(decide.decide, here, policy, place, scoped, now, name)
        note = decide.note_other_kind(here, place, scoped, now, name)
        return with_texts(RuleTest(verdict.effect, verdict.why or say("rules.not_covered"), note))

    def _check_covers(self, gate: Gate, thread: Thread, new: NewRule) -> None:
        """Check that a rule that is added with a yes covers the request. Raises BadInput."""
        from clew.engine.rules import decide

        now = self._core.clock.now()
        rule = Rule("", Effect.ALLOW, new.kind, new.pattern, Scope.EVERYWHERE, "", now, None, "")
        verdict = decide.decide(gate.asked, Policy.CAREFUL, thread.workspace, [rule], now, thread.id)
        if verdict.effect is not Effect.ALLOW:
            raise BadInput(say("gates.not_covered", pattern=new.pattern, code=gate.code))

    def _say(self, tx: Tx, gate: Gate, thread: Thread, answer: Answer, by: str) -> None:
        """Send the answer to a non-blocking question as a message."""
        where = Conversation(self._core.local_surface)
        inbound = Inbound(where, f"answer-{gate.id}", by, answer_as_message(gate, answer), thread=thread.id)
        write_fate(tx, self._core, inbound, self._admission.pass_on(tx, inbound, thread))


def _open_gate(tx: Tx, name: str) -> Gate:
    gate = find_gate(tx, name)
    if gate.state is not GateState.OPEN:
        raise Refused(gate_messages.answered_before(gate))  # even if the answers are the same
    return gate


def _chosen(gate: Gate, given: AnswerGate) -> Choice:
    if given.decision is Decision.REPLY:
        if gate.asked.kind is not GateKind.QUESTION:
            raise BadInput(say("gates.wants_yes_or_no", code=gate.code))
        return Choice(ChoiceKind.OPTION, "", make_reply(gate.asked, given.replies))
    if given.decision is Decision.ACCEPT:
        _check_yes(gate, given)
    if given.decision is not Decision.ACCEPT or given.extent == "once":
        return Choice(ChoiceKind.ACCEPT, "", Answer(given.decision, clean(given.reason)))
    if gate.asked.agents:
        raise BadInput(say("gates.sub_agent_once", code=gate.code))
    if given.extent == "thread":
        return accept_choice(gate.asked, gate.offer, ChoiceKind.THREAD)
    return _with_rule(gate, given)


def _check_yes(gate: Gate, given: AnswerGate) -> None:
    if gate.asked.kind is GateKind.QUESTION:
        raise BadInput(say("gates.wants_answer", code=gate.code))
    if given.reason.strip():
        raise BadInput(say("gates.reason_with_yes", code=gate.code))


def _with_rule(gate: Gate, given: AnswerGate) -> Choice:
    """Accept with the offered rule, or with the person's own pattern."""
    if given.pattern is None:
        offered = accept_choice(gate.asked, gate.offer, ChoiceKind.RULE)
        assert offered.rule is not None
        return replace(offered, rule=replace(offered.rule, scope=given.scope, lasts=given.lasts or offered.rule.lasts))
    from clew.engine.rules import decide

    kind = decide.RULE_KINDS[gate.asked.kind]
    rule = NewRule(
        kind,
        decide.validated_pattern(Effect.ALLOW, kind, given.pattern),
        given.scope,
        given.lasts or DEFAULT_RULE_LIFETIME,
    )
    return Choice(ChoiceKind.RULE, "", Answer(Decision.ACCEPT), rule)


def _check_wildcards(gate: Gate, thread: Thread, new: NewRule) -> None:
    """Check that a pattern is not just the text of the request, in which a `*` means itself. Raises BadInput."""
    from clew.engine.rules.patterns import WILDCARD, split_words
    from clew.engine.rules.shell.scripts import parse_script

    if new.pattern == gate.offer or not WILDCARD.search(new.pattern):
        return
    words = tuple(split_words(new.pattern))
    asked = [tuple(split_words(gate.asked.title))]
    if gate.asked.kind is GateKind.COMMAND:  # a `bash -lc '…'` around it makes no difference
        asked += [each.words for each in parse_script(gate.asked.title, gate.asked.folder, thread.workspace) or ()]
    if words in asked:
        raise BadInput(gate_messages.wildcards_in_pattern(gate.code, new.pattern))


def _brief(tx: Tx, gate: Gate) -> GateView:
    detail = gate.asked.detail
    is_cut = len(detail) > DETAIL or len(zh(detail)) > DETAIL
    brief = in_each_language(detail, lambda text: shortened(text, DETAIL)) if is_cut else detail
    return replace(gate_view(tx, replace(gate, asked=replace(gate.asked, detail=brief))), cut=is_cut)


def gate_view(tx: Tx, gate: Gate) -> GateView:
    view = _raw(gate)
    return replace(view, shown=_shown(gate.asked, view, workspaces.of_thread(tx, gate.thread)))


def _shown(asked: Asked, view: GateView, workspace: str) -> GateShown:
    """The texts as people must see them, with deceptive characters escaped and paths relative to the workspace, so that
    no client has to do that."""
    kind = asked.shown_as
    is_change = kind is GateKind.CHANGE

    def title(text: str) -> str:
        return title_shown(kind, relative_title(text, asked.paths, workspace) if is_change else text)

    def detail(text: str) -> str:
        return detail_shown(kind, relative_diff(text, workspace) if is_change else text)

    folder = relative(asked.folder, workspace) if asked.folder not in (None, workspace) else None
    return with_texts(
        GateShown(
            title=in_each_language(asked.title, title),
            detail=in_each_language(asked.detail, detail),
            folder=as_code(folder, lines=False) if folder is not None else None,
            reason=in_each_language(asked.reason, as_prose),
            questions=tuple(map(_question_shown, asked.questions)),
            rule=as_command(view.rule, lines=False) if view.rule is not None else None,
            replies=tuple(map(_lines, view.replies)),
            agents=_lines(view.agents),
            asker=in_each_language(asked.asker, as_prose),
        )
    )


def _question_shown(question: Question) -> QuestionShown:
    return with_texts(QuestionShown(in_each_language(question.text, as_prose), _lines(question.options)))


def _lines(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(in_each_language(text, _line) for text in texts)


def _line(text: str) -> str:
    return escape_hidden(text, lines=False)


def _label(choice: Choice) -> str:
    """With its Chinese, if it is ours: an option of a question is the agent's."""
    label = choice.label
    return (
        Text(label, Coded("both.text", {"en": str(label), "zh": label.zh})) if isinstance(label, Bilingual) else label
    )


def _raw(gate: Gate) -> GateView:
    asked, offered = gate.asked, choices(gate)
    return with_texts(
        GateView(
            id=gate.id,
            code=gate.code,
            thread=gate.thread,
            turn=gate.turn,
            kind=asked.kind,
            title=asked.title,
            detail=asked.detail,
            options=tuple(map(_label, offered)),
            numbers=tuple(choice.number for choice in offered),
            state=gate.state,
            asked_at=gate.asked_at,
            answered_by=gate.answered_by,
            answered_at=gate.answered_at,
            decision=gate.answer.decision if gate.answer else None,
            why=gate.why,
            folder=asked.folder,
            reason=asked.reason,
            asker=asked.asker,
            warning=gate_messages.in_a_row(
                [each for each in gate_messages.warnings(gate) if coded_of(each) != gate_messages.LEAVES_SANDBOX.coded]
            ),
            leaves_sandbox=asked.leaves_sandbox,
            about=asked.about,
            only_once=asked.only_once,
            agents=asked.agents,
            questions=tuple(_question_view(question) for question in asked.questions),
            blocking=asked.blocking,
            replies=tuple(said for _, said in gate.answer.replies) if gate.answer else (),
            rule=next(
                (choice.rule.pattern for choice in offered if choice.word is ChoiceKind.RULE and choice.rule), None
            ),
        )
    )


def _question_view(question: Question) -> QuestionView:
    id, text, options = question.id, question.text, question.options
    return with_texts(QuestionView(id, text, options, question.free, question.several, question.secret))


def _rule_view(rule: Rule) -> RuleView:
    pattern = rule.pattern if rule.is_readable else say("rules.unreadable", id=rule.id)
    return with_texts(
        RuleView(
            rule.id,
            rule.effect,
            rule.kind,
            pattern,
            rule.scope,
            rule.place,
            rule.until,
            rule.created_at,
            rule.created_by,
            in_each_language(pattern, partial(as_command, lines=False)),
        )
    )
