"""Conversations of chat front ends: accepts a message, reports the status of its turn, and lists all messages. Such a
conversation belongs to the local surface: its client fetches the answers. It decides only which runtime and
folder are allowed."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from clew.engine.core import Core
from clew.engine.gates import suspension_prompt
from clew.engine.inbox.admission import Admission, repeated, write_fate
from clew.engine.threads.lifecycle import real_folder
from clew.engine.threads.lookup import existing_thread
from clew.engine.turns.sessions import Sessions
from clew.model import history
from clew.model.events.logged import GateOpened
from clew.model.history import Node
from clew.model.messages import Accepted, Attachment, Conversation, Fate, Inbound, PromptMessage
from clew.model.threads import SessionKey, SuspendedBy, Thread, ThreadStatus
from clew.model.turns import ENDED, TEXT, Item, Problem, Turn, Usage
from clew.model.views import AttachmentView, ConversationView, Diagnostics, MessageView
from clew.store import Tx
from clew.store.tables import bindings, continuity, gates, inbox, items, log, nodes, threads, turns
from clew.store.tables.inbox import Arrival
from clew.support.coded import with_texts
from clew.support.errors import BadInput, NotFound
from clew.support.text import visible
from clew.texts import chat_messages
from clew.texts.catalogue import say

CUT = "cut_off"
REMEMBERED = 100  # what a front end was asked, newest last


class TurnStatus(Struct, frozen=True):
    """The status of a turn as of the log entry `newest`."""

    turn: str
    thread: str
    runtime: str
    role: str
    model: str | None
    state: str
    begun: bool  # its runtime has started it
    ended: bool
    text: str
    problem: Problem | None
    usage: Usage | None
    continued_by: str | None
    items: tuple[Item, ...]
    gates: tuple[GateOpened, ...]  # the open ones
    newest: int

    @property
    def session(self) -> SessionKey:
        return SessionKey(self.thread, self.runtime, self.role)


class AcceptedMessage(Struct, frozen=True):
    """The fate of a message and the status of its turn, read in one transaction."""

    accepted: Accepted
    standing: TurnStatus | None  # of the turn, or of the newest one that continues it
    continuity: str | None = None


class ConversationService:
    def __init__(self, core: Core, admission: Admission, sessions: Sessions) -> None:
        self._core = core
        self._admission = admission
        self._sessions = sessions

    def place(self, conversation_id: str) -> Conversation:
        return Conversation(self._core.local_surface, conversation_id)

    def has_told(self, conversation_id: str, asked: str) -> None:
        """A front end was told of this gate, or of this turn that was cut off: a word there can mean it."""
        before = self._core.told.pop(conversation_id, ())
        self._core.told[conversation_id] = (*before, asked)[-REMEMBERED:]

    async def bound(self, where: Conversation) -> str | None:
        return await self._core.store.read(lambda tx: bindings.thread_at(tx, where))

    async def accept(self, inbound: Inbound) -> AcceptedMessage:
        """Accept a message; it is committed when this returns. A repeated message gets the first one's fate."""
        inbound, no_folder = _with_real_folder(inbound)

        def body(tx: Tx) -> tuple[Accepted, TurnStatus | None, bool]:
            accepted = self._decide(tx, inbound, no_folder)
            standing = _newest_of(tx, accepted.turn) if accepted.turn else None
            return accepted, standing, standing is not None and _knows_thread(tx, standing)

        accepted, standing, knows_thread = await self._core.store.write(body)
        return AcceptedMessage(accepted, standing, self._continuity(standing, knows_thread))

    async def again(self, taken: AcceptedMessage) -> AcceptedMessage:
        """The same with the current status; unchanged if the turn was only just queued."""
        standing = taken.standing
        if standing is None or (standing.state == "queued" and not taken.accepted.repeated):
            return taken
        fresh = await self._core.store.read(lambda tx: _newest_of(tx, standing.turn))
        return replace(taken, standing=fresh)

    async def standing(self, turn: str) -> TurnStatus:
        return await self._core.store.read(lambda tx: _standing(tx, turn))

    def _continuity(self, standing: TurnStatus | None, knows_thread: bool) -> str | None:
        """How the runtime gets at the thread: `warm`, `resumed` or `cold` (see `Sessions`). None if the turn has
        ended."""
        if standing is None or standing.ended:
            return None
        return self._sessions.attach_mode(standing.session, knows_thread)

    async def look(self, conversation_id: str, limit: int, before: str | None) -> ConversationView:
        return await self._core.store.read(lambda tx: self._look(tx, conversation_id, limit, before))

    def _decide(self, tx: Tx, inbound: Inbound, no_folder: str | None) -> Accepted:
        seen = repeated(tx, inbound)
        if seen is not None:
            return seen
        trouble = self._runtime_problem(tx, inbound) or no_folder or _other_folder(tx, inbound)
        if trouble is not None:
            return write_fate(tx, self._core, inbound, Arrival(Fate.REFUSED, None, None, trouble))
        return self._admission.decide(tx, inbound)

    def _runtime_problem(self, tx: Tx, inbound: Inbound) -> str | None:
        """Why the requested runtime cannot be used; None if it can."""
        wanted = inbound.runtime
        if wanted is None:
            return None
        if wanted not in self._core.runtimes:
            return chat_messages.unknown_runtime(wanted, sorted(self._core.runtimes))
        bound = bindings.thread_at(tx, inbound.conversation)
        thread = threads.get(tx, bound) if bound else None
        return chat_messages.other_runtime(thread.runtime) if thread is not None and thread.runtime != wanted else None

    def _look(self, tx: Tx, conversation_id: str, limit: int, before: str | None) -> ConversationView:
        bound = bindings.thread_at(tx, self.place(conversation_id))
        if bound is None:
            raise NotFound(say("threads.no_conversation", conversation=conversation_id))
        thread = existing_thread(tx, bound)
        walked = nodes.back_from(tx, before or thread.head, limit)
        found = [message for node in reversed(walked) for message in _message(node)]
        status = "running" if turns.live(tx, thread.id) else str(thread.status)
        return ConversationView(
            conversation_id,
            thread.id,
            thread.runtime,
            status,
            (*found, *(() if before else _unstored(tx, thread))),
            walked[-1].prev if len(walked) == limit else None,
        )


def _with_real_folder(inbound: Inbound) -> tuple[Inbound, str | None]:
    """The message with the folder that it names for a new thread; or why that folder cannot be used."""
    if inbound.workspace is None:
        return inbound, None
    try:
        return replace(inbound, workspace=real_folder(inbound.workspace)), None
    except BadInput as error:
        return inbound, error.words


def _other_folder(tx: Tx, inbound: Inbound) -> str | None:
    """Why the folder that it names cannot be used: its thread works in another one."""
    bound = bindings.thread_at(tx, inbound.conversation) if inbound.workspace else None
    thread = threads.get(tx, bound) if bound else None
    if thread is None or thread.workspace == inbound.workspace:
        return None
    return say("threads.other_workspace", folder=thread.workspace)


def _knows_thread(tx: Tx, standing: TurnStatus) -> bool:
    return continuity.get(tx, standing.session) != (None, None)


def _newest_of(tx: Tx, name: str) -> TurnStatus:
    """The status of a turn, or of the last one that continues it."""
    standing = _standing(tx, name)
    return _newest_of(tx, standing.continued_by) if standing.continued_by else standing


def _standing(tx: Tx, name: str) -> TurnStatus:
    turn = turns.get(tx, name)
    if turn is None:
        raise NotFound(chat_messages.no_turn(name))
    thread = existing_thread(tx, turn.thread)
    node = nodes.get(tx, turn.node) if turn.node else None
    outcome = nodes.content(tx, node) if node else None
    asked = [gate for gate in gates.open_in(tx, thread.id) if gate.turn == name]
    return TurnStatus(
        turn=name,
        thread=thread.id,
        runtime=turn.runtime,
        role=turn.role,
        model=thread.model,
        state=turn.state,
        begun=turn.runtime_turn is not None,
        ended=turn.state in ENDED,
        text=outcome.text if isinstance(outcome, history.Outcome) else "",
        problem=turn.problem or _question(tx, thread, turn),
        usage=turn.usage,
        continued_by=turns.continuation_of(tx, turn),
        items=tuple(items.of_turn(tx, name)),
        gates=tuple(GateOpened(gate.id, gate.code, gate.asked.kind, gate.asked.title) for gate in asked),
        newest=log.newest(tx)[0],
    )


def _question(tx: Tx, thread: Thread, turn: Turn) -> Problem | None:
    """The question to the person, if this turn was cut off and its thread is suspended for that."""
    waits = thread.status is ThreadStatus.SUSPENDED and thread.suspended_by is SuspendedBy.CUT
    cut = turns.last_own(tx, thread.id) if waits else None
    if cut is None or cut.id != turn.id:
        return None
    return Problem.of(CUT, suspension_prompt.question(thread) or chat_messages.CUT_AGAIN)


def _message(node: Node) -> list[MessageView]:
    try:
        content = history.read(node)
    except ValueError:
        lost = say("threads.node_damaged", node=node.hash[:12])
        return [with_texts(MessageView(node.hash, "clew", "clew", lost, 0, None))]
    match content:
        case history.Spoken():
            said = PromptMessage(content.id, content.author, content.text, content.attachments)
            return [_spoken(said, content.turn, content.at)]
        case history.Outcome():
            message = MessageView(
                id=f"{content.turn}:answer",
                role="agent",
                author=content.runtime,
                content=visible(content.text),
                at=content.at,
                turn=content.turn,
                state=content.state,
                attachments=_diagnostics(content),
                error=content.problem,
            )
            return [message]
        case history.Opinion(turn=turn, runtime=runtime, text=text, at=at):
            return [MessageView(f"{turn}:opinion", "agent", runtime, visible(text), at, None, "completed")]
        case _:
            return []


def _spoken(said: PromptMessage, turn: str | None, at: int, state: str | None = None) -> MessageView:
    role = "clew" if said.author == "clew" else "person"
    files = tuple(_file(each) for each in said.attachments)
    return MessageView(said.id, role, said.author, visible(said.text), at, turn, state, files)


def _file(file: Attachment) -> AttachmentView:
    return AttachmentView("image" if file.is_image else "file", file.name, file.media_type)


def _diagnostics(outcome: history.Outcome) -> tuple[AttachmentView, ...]:
    """The activities of the runtime, as an attachment under its name."""
    if not outcome.deeds:
        return ()
    deeds = tuple(replace(deed, title=visible(deed.title), body=visible(deed.body)) for deed in outcome.deeds)
    return (AttachmentView("diagnostics", outcome.runtime, runtime=outcome.runtime, data=Diagnostics(deeds)),)


def _unstored(tx: Tx, thread: Thread) -> list[MessageView]:
    """Messages that are not in history yet: open steers, the unfinished answer, queued requests."""
    running, found = turns.live(tx, thread.id), []
    if running is not None:
        steers = inbox.open_steers(tx, running.id)
        found += [_spoken(steer.message, running.id, running.queued_at, "steered") for steer in steers]
        found.append(_unfinished_answer(running, items.of_turn(tx, running.id)))
    for turn in turns.queued(tx, thread.id):
        found += [_spoken(said, turn.id, turn.queued_at, str(turn.state)) for said in turn.request]
    return found


def _unfinished_answer(turn: Turn, so_far: list[Item]) -> MessageView:
    texts = [item.body for item in so_far if item.kind == TEXT and item.body]
    text = visible(texts[-1]) if texts else ""
    at = turn.started_at or turn.queued_at
    return MessageView(f"{turn.id}:answer", "agent", turn.runtime, text, at, turn.id, turn.state)
