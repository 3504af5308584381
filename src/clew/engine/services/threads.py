"""What callers can do with threads and ask about them: the daemon's HTTP API, the page and other programs use it."""

from __future__ import annotations

from collections.abc import AsyncIterator

from msgspec.structs import replace

from clew.engine.agents import choices, second_opinion, switching
from clew.engine.agents.switching import Switch
from clew.engine.budgets.answers import answer_suspended
from clew.engine.core import Core
from clew.engine.inbox.admission import repeated, resume_completed, write_fate
from clew.engine.inbox.sender import message_of
from clew.engine.places import driver
from clew.engine.places.targets import home_or_none
from clew.engine.services import deliveries, passages, thread_views
from clew.engine.services.gates import GateService
from clew.engine.services.transcript import transcript as read_transcript
from clew.engine.threads import forks, lifecycle, lookup, settings
from clew.engine.threads.shared_sessions import SharedSessions
from clew.engine.turns.queueing import queue_turn
from clew.model.events.logged import SettingsChanged, TitleChanged
from clew.model.gate_views import Verdict
from clew.model.messages import LOCAL_CLIENT, Accepted, Conversation, Fate, Inbound, PromptMessage
from clew.model.threads import ListPosition, Thread, ThreadFilter, ThreadSettings, ThreadStatus
from clew.model.turns import Origin, Prelude
from clew.model.views import (
    ContinuityView,
    NewThread,
    Page,
    Passage,
    QueuedView,
    Snapshot,
    ThreadView,
    TurnView,
    WhereRow,
)
from clew.store import Tx
from clew.store.tables import inbox, preludes, turns
from clew.store.tables.inbox import Arrival
from clew.store.tables.threads import idle_chats, set_notify_target, set_title
from clew.support import crash
from clew.support.errors import BadInput, NotFound, Refused
from clew.support.text import clean
from clew.texts.catalogue import say
from clew.texts.chat_messages import cannot_resume

SNAPSHOT = 200  # threads in the snapshot of all


class ThreadService:
    def __init__(self, core: Core, gates: GateService, shared_sessions: SharedSessions) -> None:
        self._core = core
        self._gates = gates
        self._shared_sessions = shared_sessions

    # Changes

    async def start(self, new: NewThread) -> Accepted:
        """Create a thread with its first message. A repeated message id returns the first one's thread."""
        opening = lifecycle.Opening.of_request(self._core, await self._with_home_target(new))
        inbound = Inbound(LOCAL_CLIENT, _message_id(new.message_id), new.sender, new.text, new.attachments)
        if not new.text.strip() and not new.attachments:
            raise BadInput(say("threads.empty_first_message"))

        def body(tx: Tx) -> Accepted:
            seen = repeated(tx, inbound)
            if seen is not None:
                return seen
            thread = lifecycle.open_thread(tx, self._core, opening)
            message = message_of(inbound)
            turn = queue_turn(tx, self._core.clock, thread.main_session, Origin.MESSAGE, (message,), LOCAL_CLIENT)
            return write_fate(tx, self._core, inbound, Arrival(Fate.TURN, thread.id, turn.id, ""))

        return await self._core.store.write(body)

    async def _with_home_target(self, new: NewThread) -> NewThread:
        return replace(new, notify=await self._home_of(new.notify)) if new.notify else new

    async def _home_of(self, target: str) -> str:
        """If a target names only a surface: the surface's home, if it has one."""
        if ":" in target:
            return target
        home = await self._core.store.read(lambda tx: home_or_none(tx, self._core, target))
        return str(home) if home is not None else target

    async def notify(self, thread: str, target: str, by: str = "you") -> None:
        """Say where the answers of a thread go if nobody asked from a chat; `none`: nowhere."""
        where = None if target == "none" else lifecycle.notify_target(self._core, await self._home_of(target))
        await self._core.store.write(lambda tx: self._set_notify(tx, thread, where, by))

    def _set_notify(self, tx: Tx, thread: str, where: Conversation | None, by: str) -> None:
        shown = str(where) if where is not None else None
        set_notify_target(tx, thread, shown)
        tx.log(thread, None, self._core.clock.now(), SettingsChanged(by, notify=shown or "none"))

    async def resume(self, thread: str, supplement: str, message_id: str, sender: str) -> Accepted:
        """Resume a completed or suspended thread. Of two concurrent requests one runs and the other is refused."""
        inbound = Inbound(LOCAL_CLIENT, _message_id(message_id), sender, supplement, thread=thread)
        accepted = await self._core.store.write(lambda tx: self._resume(tx, inbound))
        if accepted.fate is Fate.REFUSED:
            raise Refused(accepted.text)
        return accepted

    def _resume(self, tx: Tx, inbound: Inbound) -> Accepted:
        seen = repeated(tx, inbound)
        if seen is not None:
            return seen
        thread = lookup.existing_thread(tx, inbound.thread or "")
        return write_fate(tx, self._core, inbound, self._resumed(tx, thread, inbound))

    def _resumed(self, tx: Tx, thread: Thread, inbound: Inbound) -> Arrival:
        if thread.status is ThreadStatus.SUSPENDED:
            return answer_suspended(tx, self._core, thread, message_of(inbound), inbound.conversation, resumes=True)
        if thread.status is ThreadStatus.COMPLETED:
            if not inbound.text.strip():
                raise BadInput(say("threads.needs_supplement", thread=thread.name))
            return resume_completed(tx, self._core, thread, message_of(inbound), inbound)
        status = "running" if turns.live(tx, thread.id) else str(thread.status)
        return Arrival(Fate.REFUSED, thread.id, None, cannot_resume(thread.name, status))

    async def stop(self, thread: str, by: str = "you") -> TurnView:
        turn = await self._core.store.write(
            lambda tx: lifecycle.ask_stop(tx, self._core, lookup.existing_thread(tx, thread), by)
        )
        return await self.turn(turn.id)

    async def unqueue(self, turn: str) -> TurnView:
        """Withdraw a queued turn."""
        await self._core.store.write(lambda tx: lifecycle.unqueue(tx, self._core, turn))
        return await self.turn(turn)

    async def done(self, thread: str) -> ThreadView:
        await self._core.store.write(lambda tx: lifecycle.finish(tx, self._core, lookup.existing_thread(tx, thread)))
        return await self.get(thread)

    async def finish_idle(self, idle_for: float, *, dry_run: bool) -> list[ThreadView]:
        """Complete the idle chats in which nothing has happened for so many seconds, and return them; `dry_run`: only
        return them."""
        until = self._core.clock.now() - int(idle_for * 1000)

        def body(tx: Tx) -> list[Thread]:
            found = idle_chats(tx, until)
            for thread in [] if dry_run else found:
                lifecycle.finish(tx, self._core, thread)
            return found

        store = self._core.store
        found = await (store.read(body) if dry_run else store.write(body))
        return [await self.get(thread.id) for thread in found]

    async def cancel(self, thread: str, by: str = "you") -> ThreadView:
        await self._core.store.write(
            lambda tx: lifecycle.cancel(tx, self._core, lookup.existing_thread(tx, thread), by)
        )
        return await self.get(thread)

    async def fork(self, thread: str, turn: str | None, title: str | None) -> ThreadView:
        named = clean(title).strip() if title else None
        new = await self._core.store.write(lambda tx: self._fork(tx, lookup.existing_thread(tx, thread), turn, named))
        return await self.get(new)

    def _fork(self, tx: Tx, source: Thread, turn: str | None, title: str | None) -> str:
        return forks.fork(tx, self._core, source, turn, forks.same(source, title))

    async def ask(self, thread: str, runtime: str, question: str, message_id: str, sender: str) -> Accepted:
        """Ask another agent about the thread: one turn on a fork, whose answer is quoted into the thread."""
        inbound = Inbound(LOCAL_CLIENT, _message_id(message_id), sender, question, thread=thread)

        def body(tx: Tx) -> Accepted:
            seen = repeated(tx, inbound)
            if seen is not None:
                return seen
            source = lookup.existing_thread(tx, thread)
            turn = second_opinion.ask(tx, self._core, source, runtime, message_of(inbound), LOCAL_CLIENT)
            return write_fate(tx, self._core, inbound, Arrival(Fate.TURN, turn.thread, turn.id, ""))

        return await self._core.store.write(body)

    async def prelude(self, turn: str) -> Prelude:
        """What the agent of a turn was told of what had happened before. Raises NotFound."""
        found = await self._core.store.read(lambda tx: preludes.get(tx, turn))
        if found is None:
            raise NotFound(say("agents.no_prelude", turn=turn))
        return found

    async def drive_locally(self, thread: str, by: str = "you") -> ThreadView:
        """Make the local client the driver of the thread."""
        await self._core.store.write(
            lambda tx: driver.drive_locally(tx, self._core, lookup.existing_thread(tx, thread), by)
        )
        return await self.get(thread)

    async def retitle(self, thread: str, title: str) -> ThreadView:
        named = clean(title).strip()
        if not named:
            raise BadInput(say("threads.empty_title"))

        def body(tx: Tx) -> None:
            set_title(tx, lookup.existing_thread(tx, thread).id, named)
            tx.log(thread, None, self._core.clock.now(), TitleChanged(named))

        await self._core.store.write(body)
        return await self.get(thread)

    async def change(self, thread: str, title: str | None, wanted: ThreadSettings, by: str = "you") -> ThreadView:
        """Change the title, or the agent and the settings, which hold from the next turn."""
        if title is None and wanted == ThreadSettings():
            raise BadInput(say("threads.nothing_to_set"))
        if wanted != ThreadSettings():
            checked = replace(
                wanted,
                model=settings.named(wanted.model) if wanted.model else None,
                effort=settings.named(wanted.effort) if wanted.effort else None,
            )
            name = self._core.clock.ulid()
            await self._core.store.write(lambda tx: self._change(tx, thread, checked, by, name))
            crash.point("switch.stored-not-answered")
        return await self.retitle(thread, title) if title is not None else await self.get(thread)

    def _change(self, tx: Tx, thread: str, wanted: ThreadSettings, by: str, name: str) -> None:
        """Switch first: that resets model and effort."""
        if wanted.runtime is not None:
            switch = Switch(wanted.runtime, by, wanted.model)
            is_new = switching.switch(tx, self._core, lookup.existing_thread(tx, thread), switch, None, name)
            wanted = replace(wanted, runtime=None, model=None if is_new else wanted.model)
        if wanted.choices:
            choices.choose(tx, self._core, lookup.existing_thread(tx, thread), wanted.choices)
        if wanted != ThreadSettings():
            settings.change(tx, self._core, lookup.existing_thread(tx, thread), wanted, by, None, name)

    async def find(self, prefix: str, *, exact: bool = False) -> str:
        return await thread_views.find(self._core, prefix, exact=exact)

    async def page(self, wanted: ThreadFilter) -> Page:
        return await thread_views.page(self._core, wanted)

    async def position(self, name: str) -> ListPosition:
        return await thread_views.position(self._core, name)

    async def get(self, thread: str) -> ThreadView:
        return await thread_views.thread(self._core, thread)

    async def snapshot(self, thread: str | None) -> Snapshot:
        """The current state of a thread, or of all, for a client whose events have been pruned."""
        page = await self.page(ThreadFilter(limit=SNAPSHOT)) if thread is None else None
        seen = page.threads if page else (await self.get(thread or ""),)
        live = [view.turn for view in seen if view.status == "running" and view.turn]
        waiting = [gate for gate in await self._gates.all() if thread in (None, gate.thread)]
        return Snapshot(seen, tuple([await self.turn(name) for name in live]), tuple(waiting))

    async def turn(self, turn: str) -> TurnView:
        return await thread_views.turn(self._core, turn)

    async def transcript(
        self, thread: str, limit: int, before: str | None = None, *, brief: bool = False
    ) -> list[Passage]:
        return await read_transcript(self._core, thread, limit, before, brief=brief)

    async def read(self, thread: str, limit: int, before: str | None, *, brief: bool) -> list[Passage]:
        """The transcript with the details of its gates and cuts, and with the turns that other programs ran."""
        await self.refresh(thread)
        window = await self.transcript(thread, limit, before, brief=brief)
        return await self._core.store.read(lambda tx: passages.with_details(tx, thread, window))

    async def turn_with_reasons(self, turn: str) -> TurnView:
        """A turn, with the reasons for which its gates were closed."""
        found = await self.turn(turn)
        items = await self._core.store.read(lambda tx: passages.with_reasons(tx, found.id, found.items))
        return replace(found, items=items)

    async def steers(self, turn: str) -> list[PromptMessage]:
        """Messages on their way into a running turn."""
        rows = await self._core.store.read(lambda tx: inbox.open_steers(tx, turn))
        return [row.message for row in rows]

    async def queue(self, thread: str) -> list[QueuedView]:
        return await thread_views.queue(self._core, thread)

    async def refresh(self, thread: str) -> None:
        """Import the turns that other programs ran in the thread's session, before it is shown."""
        await self._shared_sessions.refresh(thread)

    async def continuity(self, thread: str) -> list[ContinuityView]:
        return await thread_views.continuity(self._core, thread)

    async def where(self, thread: str) -> list[WhereRow]:
        return await deliveries.where(self._core, thread)

    def verify(self, thread: str | None) -> AsyncIterator[Verdict]:
        return thread_views.verify(self._core, thread)


def _message_id(given: str) -> str:
    if not given or len(given) > 256:
        raise BadInput(say("threads.message_id"))
    return given
