"""A message that may answer gates: which ones it can mean, and whether its sender had read them. It answers nothing."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from clew.engine.core import Core
from clew.engine.gates import cards, reply_parser
from clew.engine.gates.status_lines import title_line
from clew.engine.gates.visibility import had_time_to_read, sent_time, shown_at
from clew.model.gates import Gate, GateState
from clew.model.messages import Inbound
from clew.model.threads import Thread
from clew.store import Tx
from clew.store.tables import deliveries, threads
from clew.support.errors import Refused
from clew.texts import chat_messages, gate_messages


class GateReply(Struct, frozen=True):
    """A message that may answer a gate: what was typed, and which gates it may mean."""

    inbound: Inbound
    thread: Thread | None  # the thread of the conversation
    typed: reply_parser.TypedReply
    candidates: Sequence[Gate]  # the gates that it may mean without a code
    may_mean_settled: bool = False  # it may mean a gate that was settled when it was sent, or just before
    received_at: int = 0
    sees_all: bool = False  # its sender may be shown the gates of every thread here

    @property
    def is_short(self) -> bool:
        """Whether it is a short answer that does not say which gate it means, such as `y`. `thread` and `rule` are
        answers only if a card is quoted."""
        return self.typed.is_short or (self.typed.is_wider_yes and self.points_at_message)

    @property
    def points_at_message(self) -> bool:
        """Whether the person pressed a button of a message, or quoted one."""
        return self.inbound.pressed or (self.inbound.quoted is not None and not self.inbound.hangs)

    @property
    def is_among_people(self) -> bool:
        """Whether it was said in a group, without a code, and not to clew."""
        inbound = self.inbound
        is_to_clew = inbound.direct or self.points_at_message or self.typed.code is not None
        return inbound.in_group and not is_to_clew

    def is_hasty(self, tx: Tx, gate: Gate) -> bool:
        """Whether a button was pressed on a message that changed so recently that it may have been another one, or that
        does not show yet why the gate was asked again."""
        inbound = self.inbound
        if not inbound.pressed or inbound.quoted is None or (self.typed.code is None and not self.typed.is_yes_to_all):
            return False
        message = deliveries.by_receipt(tx, inbound.conversation, inbound.quoted)
        if message is None or gate.state is not GateState.OPEN:
            return False
        edited = deliveries.last_edited(tx, message.id) or 0
        is_outdated = gate.asked_at > max(edited, sent_time(message) or 0)
        return is_outdated or not had_time_to_read(self.received_at, edited)

    def is_own(self, gate: Gate) -> bool:
        return self.thread is not None and gate.thread == self.thread.id

    def is_elsewhere(self, gate: Gate) -> bool:
        """Whether the gate is of another thread, and is not shown in this conversation."""
        return not self.is_own(gate) and gate.where != self.inbound.conversation

    def can_be_shown(self, core: Core, gate: Gate) -> bool:
        """Whether the gate is open, this chat does not show it, and its sender may see it here."""
        surface = core.surfaces.get(self.inbound.conversation.surface)
        is_chat = surface is not None and surface.can.chat and surface.can.send
        return is_chat and gate.state is GateState.OPEN and gate.where != self.inbound.conversation and self.sees_all

    def is_early(self, tx: Tx, gate: Gate) -> bool:
        """Whether it was sent before anybody can have read the gate here; then only a code can mean the gate. The gate
        may have been asked again, long after its card was sent."""
        shown = shown_at(tx, gate, self.inbound.conversation, pressed=self.inbound.pressed)
        if shown is None and self.inbound.sent_at is not None:
            return self.was_sent_before(gate.asked_at)
        return self.is_too_soon(max(gate.asked_at, shown or 0))

    def early_refusal(self, gate: Gate) -> Refused:
        answer = "y" if self.typed.is_yes_to_all else self.typed.rest
        if self.inbound.sent_at is not None:
            return Refused(gate_messages.said_before(gate.code, answer))
        return Refused(chat_messages.may_mean_former(gate.code, answer))

    def was_sent_before(self, moment: int) -> bool:
        """Whether it was sent before this time, without a code. Many platforms give only seconds, and some no time."""
        sent = self.inbound.sent_at
        if self.typed.code is not None or sent is None:
            return False
        return sent < (moment // 1000 * 1000 if sent % 1000 == 0 else moment)

    def is_too_soon(self, moment: int) -> bool:
        """The same, or so soon after it that nobody can have read what was shown at that time. A person who points at a
        message has read it."""
        sent = self.inbound.sent_at
        if self.typed.code is not None or self.points_at_message:
            return self.was_sent_before(moment)
        return self.may_mean_settled if sent is None else not had_time_to_read(sent, moment)

    def saw_complete(self, tx: Tx, core: Core, gate: Gate) -> bool:
        """Whether the gate was shown completely in this conversation before the message was sent. Local clients say
        which gates they show completely. Front ends, which have local conversations, got one line, or name the gate."""
        where, names = self.inbound.conversation, {gate.id, gate.code}
        is_named = bool(names & {*(self.inbound.sees or ()), self.typed.code})
        if self.saw_one_line(core):
            is_known = (is_named and self.is_own(gate)) or gate.id in core.told.get(where.address, ())
            return _fits_one_line(tx, gate) and is_known
        if where.surface == core.local_surface:
            return bool(names & {*(self.inbound.sees or ())})
        shown = shown_at(tx, gate, where, pressed=self.inbound.pressed) if gate.whole_in else None
        if self.can_be_shown(core, gate):
            shown = cards.copy_shown_at(tx, core, gate, where)
        return shown is not None and not self.is_too_soon(shown)

    def is_bare_in_chat(self, core: Core) -> bool:
        """Whether it has no code and points at no message. A local client shows the numbers right beside the input."""
        is_bare = self.typed.code is None and not self.points_at_message
        return is_bare and self.inbound.conversation.surface != core.local_surface

    def saw_one_line(self, core: Core) -> bool:
        """Whether it comes from a front end, which shows a gate in one line: without its choices, so without a rule."""
        return self.inbound.conversation.surface == core.local_surface and bool(self.inbound.conversation.address)

    def unseen_refusal(self, tx: Tx, core: Core, gate: Gate) -> Refused:
        """For a person who allows what they do not see completely."""
        if gate.state is not GateState.OPEN:
            return Refused(gate_messages.answered_before(gate))
        if self.can_be_shown(core, gate):
            is_whole = cards.fits_in(tx, core, gate, self.inbound.conversation)
            return Refused(gate_messages.comes_now(gate.code) if is_whole else gate_messages.not_whole(gate.code))
        if self.is_elsewhere(gate):
            return Refused(gate_messages.not_shown_here(gate.code))
        is_on_its_way = gate.whole_in and gate.where == self.inbound.conversation
        return Refused(gate_messages.not_arrived(gate.code) if is_on_its_way else gate_messages.not_whole(gate.code))


def _fits_one_line(tx: Tx, gate: Gate) -> bool:
    """Whether one line shows the complete gate: no diff, no warning, no reason of the agent, and it would run in the
    thread's own folder and in the sandbox."""
    asked, thread = gate.asked, threads.get(tx, gate.thread)
    is_here = asked.folder is None or (thread is not None and asked.folder == thread.workspace)
    is_title = all(each.text == asked.title and not each.options for each in asked.questions)  # a line has no options
    has_more = asked.detail or asked.reason or gate_messages.warnings(gate) or asked.unjudged
    return is_here and is_title and title_line(gate) == asked.title and not has_more
