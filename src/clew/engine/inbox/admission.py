"""Admission: every message gets exactly one fate, written down in one transaction, before its platform is told that it
was received. It starts nothing by itself: the commit wakes who has to act."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from clew.engine.budgets.answers import answer_suspended
from clew.engine.core import Core
from clew.engine.delivery.enqueue import enqueue_reply
from clew.engine.delivery.language import as_reply, name_missing_files, remember_language
from clew.engine.gates import cards, suspension_prompt
from clew.engine.gates.answers import handle_reply
from clew.engine.gates.button_labels import SUSPENSION_BUTTONS
from clew.engine.gates.new_rules import apply_new_rules
from clew.engine.gates.reply_parser import parse_reply
from clew.engine.gates.visibility import gates_on, had_time_to_read, prompt_sent_at
from clew.engine.inbox import bursts, edits
from clew.engine.inbox.access import SPEAKERS, refusal, remember_owner_chat, role_of, sees_everything
from clew.engine.inbox.command import NOTHING_PREPARED, Prepared
from clew.engine.inbox.commands import prepare_command, run_command, run_for_watcher, without_escape
from clew.engine.inbox.sender import message_of, with_own_name
from clew.engine.places import driver
from clew.engine.places.new_address import follow
from clew.engine.threads.lifecycle import Opening, open_thread
from clew.engine.turns.images import has_unseen_images, tell_unseen_images
from clew.engine.turns.queueing import queue_turn
from clew.engine.turns.suspension import hold_backlog
from clew.model.delivery import Delivery, DeliveryState
from clew.model.events.logged import MessageAccepted, StatusChanged, SteerOffered
from clew.model.gates import Gate, GateState
from clew.model.messages import Accepted, Conversation, Fate, Inbound, PromptMessage, Role
from clew.model.surface import KnownConversation
from clew.model.threads import SuspendedBy, Thread, ThreadStatus
from clew.model.turns import Origin, Steer, SteerState, Turn
from clew.store import Tx
from clew.store.tables import bindings, deliveries, gates, inbox, places, threads, turns
from clew.store.tables.inbox import Arrival
from clew.support import crash
from clew.support.coded import coded_in
from clew.support.errors import ClewError, UnreadableRow
from clew.texts import chat_messages, gate_messages, limit_messages

_log = logging.getLogger(__name__)
LOOKS, LOOK = 10, 0.15  # how often, and after how many seconds each: platforms wait no longer for an answer
_ASKED = frozenset(button.says for asked in SUSPENSION_BUTTONS.values() for button in asked)
_WORDS = (chat_messages.GO_ON, chat_messages.STOP, chat_messages.RUN_ALL, chat_messages.MERGE, chat_messages.SKIP)
_ANSWERS = frozenset[str]().union(*_WORDS, chat_messages.RAISE, limit_messages.NOW)


class Admission(Struct, frozen=True):
    """The inbox that surfaces see."""

    core: Core
    heard: Callable[[Inbound, Accepted], None] = lambda inbound, accepted: None  # called after each commit

    async def welcomes(self, inbound: Inbound) -> bool:
        """Whether its sender may speak there."""
        return await self.core.store.read(
            lambda tx: is_meant(tx, self.core, inbound) and role_of(tx, self.core, inbound) in SPEAKERS
        )

    async def accept(self, inbound: Inbound) -> Accepted:
        """Committed when this returns; the same message again gets the first one's fate."""
        inbound = with_own_name(inbound, self.core.local_surface)
        if inbound.pressed or _looks_like_an_answer(inbound) or chat_messages.word(inbound.text) in _ANSWERS:
            await self._receipt(inbound)
        try:
            prepared = await prepare_command(self.core, inbound)
            accepted = await self.core.store.write(lambda tx: self.decide(tx, inbound, prepared))
        except UnreadableRow as error:
            accepted = await self._refuse_damaged(inbound, error)
        except ClewError:
            raise
        except Exception:  # a bug of ours must not make a message vanish
            _log.exception("message %s in %s cannot be understood", inbound.message_id, inbound.conversation)
            broken = Arrival(Fate.REFUSED, None, None, chat_messages.BROKEN)
            accepted = await self.core.store.write(lambda tx: write_fate(tx, self.core, inbound, broken))
        self.heard(inbound, accepted)
        await apply_new_rules(self.core)
        crash.point("inbox.accepted-not-acknowledged")
        return accepted

    async def _refuse_damaged(self, inbound: Inbound, error: UnreadableRow) -> Accepted:
        """Refuse a message that needs a row that cannot be read. If that is its own row, it was accepted before."""

        def body(tx: Tx) -> Accepted:
            if inbox.is_known(tx, inbound.conversation, inbound.message_id):
                texts = coded_in(words=error.words)
                return Accepted(Fate.REFUSED, None, None, words=error.message, repeated=True, texts=texts)
            return write_fate(tx, self.core, inbound, Arrival(Fate.REFUSED, None, None, error.words))

        return await self.core.store.write(body)

    async def _receipt(self, inbound: Inbound) -> None:
        """A card may be answered before its receipt is stored; wait briefly for it."""
        for _ in range(LOOKS):
            try:
                if not await self.core.store.read(lambda tx: self._comes(tx, inbound)):
                    return
            except UnreadableRow:
                return
            await self.core.clock.sleep(LOOK)

    def _comes(self, tx: Tx, inbound: Inbound) -> bool:
        """Nobody else is kept waiting for a stranger, or for what was pressed before."""
        comes = _is_without_receipt(tx, inbound) if inbound.pressed else _is_for_coming(tx, inbound)
        if not (comes and deliveries.is_ask_sending(tx, inbound.conversation)):
            return False
        return role_of(tx, self.core, inbound) in SPEAKERS and repeated(tx, inbound) is None

    async def edited(self, inbound: Inbound) -> None:
        await self.core.store.write(lambda tx: edits.change(tx, self.core, inbound))

    async def deleted(self, surface: str, message: str) -> None:
        await self.core.store.write(lambda tx: edits.take_back(tx, self.core, surface, message))

    async def known(self, surface: str) -> Sequence[KnownConversation]:
        last = await self.core.store.read(lambda tx: inbox.last_message_ids(tx, surface))
        return [KnownConversation(Conversation(surface, address), message) for address, message in sorted(last.items())]

    async def moved(self, old: Conversation, new: Conversation) -> None:
        """Committed when this returns."""
        if old != new:
            await self.core.store.write(lambda tx: follow(tx, self.core, old, new))

    def decide(self, tx: Tx, inbound: Inbound, prepared: Prepared = NOTHING_PREPARED) -> Accepted:
        seen = repeated(tx, inbound)
        if seen is not None:
            return seen
        if not is_meant(tx, self.core, inbound):
            return Accepted(Fate.REFUSED, None, None)  # people talk among themselves: it is no message to clew
        arrival = self._fate(tx, inbound, prepared)
        return write_fate(tx, self.core, inbound, arrival)

    def _fate(self, tx: Tx, inbound: Inbound, prepared: Prepared) -> Arrival:
        if (refused := refusal(tx, self.core, inbound)) is not None:
            return run_for_watcher(tx, self.core, inbound, prepared) or refused
        if not inbound.text.strip() and not inbound.attachments and not inbound.missing:
            return Arrival(Fate.REFUSED, inbound.thread, None, chat_messages.EMPTY)
        remember_language(tx, self.core, inbound)
        inbound = name_missing_files(tx, self.core, inbound)
        remember_owner_chat(tx, self.core, inbound)
        if inbound.pressed and inbound.quoted is not None and (code := parse_reply(inbound.text).code) is not None:
            cards.note_pressed(tx, self.core, code, inbound.conversation, inbound.quoted)
        _go_on_under(tx, self.core, inbound)
        if (album := bursts.album_of(tx, inbound)) is not None:
            its = threads.get(tx, album.thread or "")
            arrival = bursts.refuse_caption(tx, inbound, its) or self.pass_on(tx, inbound, its)
            return arrival if arrival.fate is Fate.REFUSED else replace(arrival, words="")
        edit = edits.pressed(tx, inbound)
        if edit is not None:
            return edit if isinstance(edit, Arrival) else self.pass_on(tx, edit, threads.get(tx, edit.thread or ""))
        meaning = None if inbound.relayed else run_command(tx, self.core, inbound, prepared)
        if isinstance(meaning, Arrival):
            return meaning
        if meaning is None and _is_unplaced(tx, inbound):
            name = bindings.thread_at(tx, inbound.conversation)
            if (
                name is not None
                and inbound.quoted is not None
                and not deliveries.is_ask_sending(tx, inbound.conversation)
            ):
                suspension_prompt.drop_lost_copy(tx, self.core, name, inbound.conversation, inbound.quoted)
            return Arrival(Fate.REFUSED, None, None, chat_messages.UNPLACED)
        inbound = meaning or _on_its_card(tx, without_escape(self.core, inbound))
        name = inbound.thread or quoted(tx, inbound) or bindings.thread_at(tx, inbound.conversation)
        thread = threads.get(tx, name) if name else None
        if name and thread is None:
            return Arrival(Fate.REFUSED, None, None, chat_messages.no_thread(name))
        word = chat_messages.word(inbound.text)
        is_word = word in _ANSWERS or limit_messages.named_agent(word) is not None
        answers = inbound.answers if is_word else None
        if answers is not None and (thread is None or suspension_prompt.prompt_id(tx, thread) != answers):
            return Arrival(Fate.REFUSED, name, None, chat_messages.SETTLED)  # somebody was faster
        is_its_own = answers is not None or (inbound.pressed and _is_suspension_button(inbound.text))  # and no gate's
        sees_all = sees_everything(tx, self.core, inbound)
        # an answer never waits in a queue
        meant = None if is_its_own else handle_reply(tx, self.core, thread, inbound, sees_all=sees_all)
        if isinstance(meant, Arrival):
            return meant
        if meant is not None:
            return self.pass_on(tx, meant, threads.get(tx, meant.thread or ""))
        is_late = inbound.pressed and not _is_asked(tx, thread, inbound)
        if is_late or (thread is not None and _repeats_answer(tx, thread, inbound)):
            return Arrival(Fate.REFUSED, name, None, chat_messages.SETTLED)  # a second click or word starts nothing
        return self.pass_on(tx, inbound, thread or open_thread(tx, self.core, _opening(tx, inbound)))

    def pass_on(self, tx: Tx, inbound: Inbound, thread: Thread | None) -> Arrival:
        """For the agent, whatever it looks like; its sender hears what still waits."""
        assert thread is not None, inbound.thread
        arrival = self._for_thread(tx, inbound, thread)
        if arrival.fate is not Fate.REFUSED:
            driver.record_speaker(tx, self.core, thread, inbound)
        waiting = [gate.code for gate in gates.open_in(tx, thread.id) if gate.asked.blocking]
        if not waiting or arrival.fate is Fate.REFUSED:
            return arrival
        words = [arrival.words] if arrival.words else []
        return replace(arrival, words=gate_messages.in_a_row([*words, gate_messages.still_open(waiting)]))

    def pass_on_and_record(self, tx: Tx, inbound: Inbound, thread: Thread) -> Accepted:
        return write_fate(tx, self.core, inbound, self.pass_on(tx, inbound, thread))

    def _for_thread(self, tx: Tx, inbound: Inbound, thread: Thread) -> Arrival:
        message = message_of(inbound)
        if thread.status is ThreadStatus.CANCELLED:
            return Arrival(Fate.REFUSED, thread.id, None, chat_messages.cancelled(thread.name))
        if thread.status is ThreadStatus.SUSPENDED:
            if _is_word_among_people(inbound):
                return Arrival(Fate.REFUSED, thread.id, None, chat_messages.NOT_SAID_TO_CLEW)
            means_it = _means_its_question(tx, self.core, thread, inbound)
            is_owner = role_of(tx, self.core, inbound) is Role.OWNER
            where = inbound.conversation
            return answer_suspended(tx, self.core, thread, message, where, means_it=means_it, is_owner=is_owner)
        if thread.status is ThreadStatus.COMPLETED:
            return resume_completed(tx, self.core, thread, message, inbound)
        return self._for_idle(tx, inbound, thread, message)

    def _for_idle(self, tx: Tx, inbound: Inbound, thread: Thread, message: PromptMessage) -> Arrival:
        running = turns.live(tx, thread.id)
        if running and not inbound.queue and not running.stop_asked and self.core.can_steer(running.runtime):
            steer = Steer(message, running.id, thread.id, inbound.conversation, SteerState.OFFERED)
            inbox.offer_steer(tx, steer, threads.next_seq(tx, thread.id))
            gates.forget_carried(tx, thread.id)
            tx.log(thread.id, running.id, self.core.clock.now(), SteerOffered(message.id))
            if has_unseen_images(self.core, running, (message,)):
                tell_unseen_images(tx, self.core, running, (message,), inbound.conversation)
            return Arrival(Fate.STEER, thread.id, running.id, chat_messages.STEERED)
        is_stale = self._is_stale(inbound)
        joined = bursts.join(tx, self.core, thread.id, inbound, message) if not is_stale or inbound.album else None
        if joined is not None:
            return Arrival(Fate.TURN, thread.id, joined.id, "")
        ahead = turns.count_queued(tx, thread.id)
        burst = bursts.burst_of(self.core, inbound) if not is_stale else None
        session, where = thread.main_session, inbound.conversation
        turn = queue_turn(tx, self.core.clock, session, Origin.MESSAGE, (message,), where, burst)
        if is_stale and not running:
            hold_backlog(tx, self.core, thread.id)
        return Arrival(Fate.TURN, thread.id, turn.id, chat_messages.queued(ahead) if running or ahead else "")

    def _is_stale(self, inbound: Inbound) -> bool:
        limit = self.core.config.inbox.stale_after * 1000
        return inbound.sent_at is not None and self.core.clock.now() - inbound.sent_at > limit


def _is_word_among_people(inbound: Inbound) -> bool:
    """Whether it is a bare word in a group, which people may have said to each other, and would go on with work."""
    points = inbound.direct or inbound.pressed or (inbound.quoted is not None and not inbound.hangs)
    word = chat_messages.word(inbound.text)
    return inbound.in_group and not points and word in _ANSWERS and word not in chat_messages.STOP


def _opening(tx: Tx, inbound: Inbound) -> Opening:
    return Opening.of_message(inbound, places.get(tx, inbound.conversation))


def _is_unplaced(tx: Tx, inbound: Inbound) -> bool:
    """A button that names nothing, on a message whose receipt has not come or never will: nobody knows what it is
    about, and it must not be guessed from what else is asked here."""
    return parse_reply(inbound.text).code is None and _is_without_receipt(tx, inbound)


def _is_without_receipt(tx: Tx, inbound: Inbound) -> bool:
    """A button on a message whose receipt has not come, or never will."""
    if not inbound.pressed or inbound.quoted is None:
        return False
    return deliveries.by_receipt(tx, inbound.conversation, inbound.quoted) is None


def _looks_like_an_answer(inbound: Inbound) -> bool:
    said = parse_reply(inbound.text)
    return said.code is not None or said.is_short or said.is_wider_yes or said.is_yes_to_all


def _is_for_coming(tx: Tx, inbound: Inbound) -> bool:
    """Whether it can mean a gate whose card is just being sent here, or the question of a suspended thread."""
    code = parse_reply(inbound.text).code
    meant = [gate for gate in gates.open_at(tx, inbound.conversation) if code in (None, gate.code)]
    cards = [deliveries.get(tx, gate.card or "") for gate in meant]
    thread = bindings.thread_at(tx, inbound.conversation)
    question = deliveries.newest_ask(tx, thread) if thread and code is None else None
    return any(card is not None and card.state is DeliveryState.SENDING for card in (*cards, question))


def _means_its_question(tx: Tx, core: Core, thread: Thread, inbound: Inbound) -> bool:
    """Whether its sender had the question of a suspended thread before them: they say so, press or quote it, or it had
    left for this conversation before this was said, by the chat stream too. A backlog or a budget is asked about before
    anything is done, so there it is enough that this was not said before."""
    asked = deliveries.newest_ask(tx, thread.id)
    if asked is None or inbound.pressed or inbound.answers is not None:
        return asked is not None
    if inbound.quoted is not None and not inbound.hangs:
        card = deliveries.by_receipt(tx, inbound.quoted_in or inbound.conversation, inbound.quoted)
        return card is not None and card.thread == thread.id and asked.id in (card.id, card.edits)
    if inbound.conversation.surface == core.local_surface and asked.turn in core.told.get(
        inbound.conversation.address, ()
    ):
        return True
    is_before_work = thread.suspended_by in (SuspendedBy.BACKLOG, SuspendedBy.BUDGET)
    left = asked.created_at if is_before_work else prompt_sent_at(tx, thread.id, inbound.conversation)
    return left is not None and (inbound.sent_at is None or had_time_to_read(inbound.sent_at, left))


def _on_its_card(tx: Tx, inbound: Inbound) -> Inbound:
    """A button means what its own message shows, and nothing that has come since; and so does a quote: of a message
    that asks about no gate, it answers none."""
    if inbound.quoted is None or inbound.hangs:
        return inbound
    card = deliveries.by_receipt(tx, inbound.quoted_in or inbound.conversation, inbound.quoted)
    if inbound.pressed:
        return replace(inbound, sees=_ids(_pressed_on(tx, card, inbound))) if card else inbound
    shown = gates_on(tx, card) if card is not None else []
    return replace(inbound, sees=_ids(_meant_by_quote(shown, inbound)))


def _pressed_on(tx: Tx, card: Delivery, inbound: Inbound) -> Sequence[Gate]:
    """A button names its gate; a reaction is a bare yes or no, and means what is still open there."""
    if parse_reply(inbound.text).code is not None:
        return gates_on(tx, card)
    shown = gates.on_card(tx, card.edits or card.id)
    return _meant_by_quote(shown, inbound) if parse_reply(inbound.text).is_short else shown


def _meant_by_quote(shown: Sequence[Gate], inbound: Inbound) -> Sequence[Gate]:
    """Of the gates on a quoted card those that are open. If none is, a short reply hears what became of them; other
    words are about them, and no answer."""
    still = [gate for gate in shown if gate.state is GateState.OPEN]
    return still or (shown if _looks_like_an_answer(inbound) else ())


def _ids(shown: Sequence[Gate]) -> tuple[str, ...]:
    return tuple(gate.id for gate in shown)


def _is_asked(tx: Tx, thread: Thread | None, inbound: Inbound) -> bool:
    """Whether the thread still waits for what this button says, about the turn that its message was about."""
    if thread is None or thread.status is not ThreadStatus.SUSPENDED or thread.suspended_by is None:
        return False
    card = deliveries.by_receipt(tx, inbound.conversation, inbound.quoted or "")
    asked = deliveries.newest_ask(tx, thread.id)
    if card is not None and asked is not None and card.turn != asked.turn:
        return False
    is_agent = limit_messages.named_agent(inbound.text) is not None
    if is_agent and thread.suspended_by in (SuspendedBy.LIMIT, SuspendedBy.CUT):
        return True
    return inbound.text in {button.says for button in SUSPENSION_BUTTONS[thread.suspended_by]}


def _is_suspension_button(text: str) -> bool:
    return text in _ASKED or limit_messages.named_agent(text) is not None


def _repeats_answer(tx: Tx, thread: Thread, inbound: Inbound) -> bool:
    """Whether this answers a question of the thread that was answered before: it quotes it, or it says once more to
    continue a turn whose continuation was not over then. After that, the agent may have asked for such a word."""
    word = chat_messages.word(inbound.text)
    is_word = word in _ANSWERS and not (inbound.attachments or inbound.queue or inbound.relayed)
    if thread.status is ThreadStatus.SUSPENDED or not is_word:
        return False
    if inbound.quoted is not None and not inbound.hangs:
        card = deliveries.by_receipt(tx, inbound.quoted_in or inbound.conversation, inbound.quoted)
        return card is not None and suspension_prompt.is_question(tx, card)
    asked = deliveries.newest_ask(tx, thread.id)
    is_here = asked is not None and asked.conversation == inbound.conversation
    if asked is None or not is_here or word not in chat_messages.CONTINUE:
        return False
    going_on = _last_continuation(tx, asked.turn or "")
    return going_on is not None and (
        going_on.ended_at is None
        or (inbound.sent_at is not None and not had_time_to_read(inbound.sent_at, going_on.ended_at))
    )


def _last_continuation(tx: Tx, name: str) -> Turn | None:
    """The turn that continues this one at last."""
    turn, last = turns.get(tx, name), None
    while turn is not None and (name := turns.continuation_of(tx, turn) or ""):
        turn = last = turns.get(tx, name)
    return last


def is_meant(tx: Tx, core: Core, inbound: Inbound) -> bool:
    """Said to clew, or by somebody whom it knows in a thread of the platform where it works."""
    is_here = inbound.in_thread and bindings.thread_at(tx, inbound.conversation) is not None
    is_known_here = is_here and role_of(tx, core, inbound) is not None
    return inbound.direct or is_known_here or bursts.album_of(tx, inbound) is not None


def quoted(tx: Tx, inbound: Inbound) -> str | None:
    """The thread of the answer that is quoted, or of the message: that is meant, whatever is bound here."""
    return None if inbound.hangs else _thread_of_quoted(tx, inbound)


def _thread_of_quoted(tx: Tx, inbound: Inbound) -> str | None:
    if inbound.quoted is None:
        return None
    where = inbound.quoted_in or inbound.conversation
    delivery = deliveries.by_receipt(tx, where, inbound.quoted)
    if delivery is not None and delivery.thread:
        return delivery.thread
    said_before = inbox.find(tx, where, inbound.quoted)
    return said_before.thread if said_before else None


def _go_on_under(tx: Tx, core: Core, inbound: Inbound) -> None:
    """A thread of the platform that begins with an old answer goes on with the thread of that answer, from the first
    that is said there until somebody says otherwise."""
    is_fresh = inbound.in_thread and not inbound.pressed and not inbox.has_messages(tx, inbound.conversation)
    if not is_fresh or bindings.thread_at(tx, inbound.conversation) is not None:
        return
    thread = _thread_of_quoted(tx, inbound)
    if thread is not None:
        bindings.bind(tx, inbound.conversation, thread, core.clock.now())


def repeated(tx: Tx, inbound: Inbound) -> Accepted | None:
    """What became of this message the first time, if there was one."""
    first = inbox.find(tx, inbound.conversation, inbound.message_id)
    if first is None:
        return None
    return replace(_accepted(tx, first), repeated=True)


def write_fate(tx: Tx, core: Core, inbound: Inbound, arrival: Arrival) -> Accepted:
    arrival = replace(arrival, words=as_reply(tx, core, inbound.conversation, arrival.words))
    inbox.record(tx, inbound, arrival, core.clock.now())
    enqueue_reply(tx, core, inbound, arrival)
    if arrival.thread is not None:
        tx.log(arrival.thread, arrival.turn, core.clock.now(), MessageAccepted(arrival.fate))
    return _accepted(tx, arrival)


def _accepted(tx: Tx, arrival: Arrival) -> Accepted:
    turn = turns.get(tx, arrival.turn) if arrival.turn else None
    state, words = turn.state if turn else None, str.__str__(arrival.words)
    return Accepted(arrival.fate, arrival.thread, arrival.turn, state, words, texts=coded_in(words=arrival.words))


def resume_completed(tx: Tx, core: Core, thread: Thread, message: PromptMessage, inbound: Inbound) -> Arrival:
    """Picked up again: back to idle, one new turn on the old head. Of two at once, one does it."""
    if not threads.reopen(tx, thread.id, ThreadStatus.COMPLETED):
        return Arrival(Fate.REFUSED, thread.id, None, chat_messages.cannot_resume(thread.name, thread.status))
    tx.log(thread.id, None, core.clock.now(), StatusChanged(ThreadStatus.IDLE))
    burst, where = bursts.burst_of(core, inbound), inbound.conversation
    turn = queue_turn(tx, core.clock, thread.main_session, Origin.RESUME, (message,), where, burst)
    return Arrival(Fate.TURN, thread.id, turn.id, "")
