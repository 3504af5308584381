"""The Python API of clew, with the same terms and errors as the command line.

    from clew import Clew

    async with Clew() as clew:
        sent = await clew.start("fix the failing test", workspace="~/work/app")
        turn = await clew.wait(sent)
        print(turn.text)

It only connects to the daemon: started work continues when the program ends, and every other client can see it. Errors
are those of `clew.support.errors`; their messages can be shown to a person.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from pathlib import Path
from types import TracebackType
from typing import Literal

from clew.client import requests
from clew.client.aio import AsyncClient
from clew.client.asyncio_transport import AsyncioTransport
from clew.client.events import Event, TextProgress
from clew.client.follower import Follower
from clew.client.requests import Request, Sent
from clew.model.events.kinds import EventKind
from clew.model.gate_views import GateView
from clew.model.messages import Fate
from clew.model.turns import Prelude
from clew.model.views import Notified, Passage, ThreadView, TurnView, WhereRow
from clew.support.errors import BadInput, NotFound, OutOfReach, Refused
from clew.support.home import Home
from clew.texts.catalogue import say

__all__ = ["Clew", "Event", "Sent"]

Status = Literal["idle", "running", "waiting", "suspended", "completed", "cancelled"]
Policy = Literal["careful", "sandbox", "trusted", "read-only", "yolo"]

_ENDED = frozenset({"completed", "failed", "interrupted"})
_CHECK_AFTER = frozenset(
    {EventKind.HELLO, EventKind.RESET, EventKind.TURN_ENDED, EventKind.THREAD_STATUS}
)  # events after which `wait` may be over


class Clew:
    """A client of one daemon. Use it with `async with`; any number of tasks may share it.

    `home` is clew's folder; default: `$CLEW_HOME`, then `~/.clew`. With `start`, a missing or crashed daemon is
    started; without it, that raises `OutOfReach`. `say` is called with a line whenever something takes time.

    THREAD is a thread's id or any unique prefix of it. For a timeout, use `asyncio.timeout`.
    """

    def __init__(
        self, home: str | Path | None = None, *, start: bool = True, say: Callable[[str], None] = lambda line: None
    ) -> None:
        self._home = _home(home)
        self._transport = AsyncioTransport(self._home, start=start, say=say)
        self._client = AsyncClient(self._transport, say)
        self._no_start = AsyncioTransport(self._home, start=False, say=say)

    async def __aenter__(self) -> Clew:
        await self._transport.__aenter__()
        await self._no_start.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        await self._transport.__aexit__(kind, error, tb)
        await self._no_start.__aexit__(kind, error, tb)

    # Work

    async def start(
        self,
        prompt: str,
        *,
        kind: Literal["task", "chat"] = "task",
        workspace: str | Path | None = None,
        title: str | None = None,
        runtime: str | None = None,
        model: str | None = None,
        effort: str | None = None,
        policy: Policy | None = None,
        notify: str | None = None,
        files: Sequence[str | Path] = (),
        sender: str = "you",
        message_id: str | None = None,
    ) -> Sent:
        """Start a thread with its first message. It is stored when this returns.

        A `task` is completed when its turn is; a `chat` stays open. The agent works in `workspace`; default: the
        current folder. `policy` is how much it may do without asking. `notify` is where the answer is delivered, such
        as `webhook:ci` or `local`. To start exactly once, pass your own `message_id`: the same id returns the same
        thread.
        """
        request = requests.start(
            prompt,
            kind=kind,
            workspace=_path(workspace or "."),
            title=title,
            runtime=runtime,
            model=model,
            effort=effort,
            policy=policy,
            notify=notify,
            files=[_path(file) for file in files],
            sender=sender,
            message_id=message_id,
        )
        return await self._say(request)

    async def send(
        self,
        thread: str,
        text: str,
        *,
        queue: bool = False,
        files: Sequence[str | Path] = (),
        sender: str = "you",
        message_id: str | None = None,
    ) -> Sent:
        """Send a message to a thread: into the running turn, or else as its next turn. With `queue`, never into the
        running turn. Raises `Refused` with the reason if the thread does not accept it."""
        paths = [_path(file) for file in files]
        return await self._say(
            requests.send(thread, text, queue=queue, files=paths, sender=sender, message_id=message_id)
        )

    async def resume(self, thread: str, supplement: str, *, sender: str = "you", message_id: str | None = None) -> Sent:
        """Resume a completed thread with new information, or answer the question of a suspended one. Any other thread
        is `Refused`. Of two concurrent calls, one runs."""
        return await self._say(requests.resume(thread, supplement, sender=sender, message_id=message_id))

    async def stop(self, thread: str) -> TurnView:
        """Stop the running turn; queued turns still run."""
        return await self._client.ask(requests.stop(thread))

    async def done(self, thread: str) -> ThreadView:
        """Mark a thread as completed; `resume` reopens it."""
        return await self._client.ask(requests.done(thread))

    async def cancel(self, thread: str) -> ThreadView:
        """Cancel a thread for good: stop its running turn and drop queued ones. It can still be forked."""
        return await self._client.ask(requests.cancel(thread))

    async def fork(self, thread: str, *, turn: str | None = None, title: str | None = None) -> ThreadView:
        """Start a new thread with the history up to `turn`; default: the newest turn that has ended."""
        return await self._client.ask(requests.fork(thread, turn, title))

    async def change(
        self,
        thread: str,
        *,
        title: str | None = None,
        model: str | None = None,
        effort: str | None = None,
        policy: Policy | None = None,
        runtime: str | None = None,
    ) -> ThreadView:
        """Change the title of a thread, or its agent (`runtime`), model, effort and policy, which hold from its next
        turn. With another agent, model and effort are its own unless given."""
        changes = requests.change(thread, title=title, model=model, effort=effort, policy=policy, runtime=runtime)
        return await self._client.ask(changes)

    async def ask(self, thread: str, runtime: str, question: str, *, message_id: str | None = None) -> Sent:
        """Ask another agent about a thread. It works on a fork, which the response names, and may only read. Its answer
        is quoted into the thread."""
        return await self._say(requests.ask(thread, runtime, question, message_id=message_id))

    async def prelude(self, turn: str) -> Prelude:
        """What the agent of a turn was told of what had happened before. Raises NotFound if it knew it."""
        return await self._client.ask(requests.prelude(turn))

    async def _say(self, request: Request[Sent]) -> Sent:
        sent = await self._client.ask(request)
        if sent.fate is Fate.REFUSED:
            raise Refused(sent.reply)
        return sent

    # Gates

    async def gates(self, thread: str | None = None) -> tuple[GateView, ...]:
        """Open gates, oldest first; with `thread`, all gates of that thread in any state, newest first. A `wait` for a
        turn with an open gate continues until somebody answers."""
        return await self._client.ask(requests.gates(thread))

    async def approve(self, gate: str, *, sender: str = "you") -> GateView:
        """Approve a gate, by its code or id. The first answer wins: a later one is `Refused` and names who answered."""
        return await self._client.ask(requests.answer(gate, "accept", sender=sender))

    async def deny(self, gate: str, reason: str = "", *, sender: str = "you") -> GateView:
        """Deny a gate; the agent gets the reason and continues without it."""
        return await self._client.ask(requests.answer(gate, "decline", reason=reason, sender=sender))

    async def answer(self, gate: str, *replies: str | Sequence[str], sender: str = "you") -> GateView:
        """Answer a question: one reply per question, in order; several options are a list. A reply is the number of an
        option, its text, or free text. A secret is kept in memory only."""
        said = [[reply] if isinstance(reply, str) else [*reply] for reply in replies]
        return await self._client.ask(requests.answer(gate, "reply", replies=said, sender=sender))

    # Reading

    async def events(self, thread: str | Sent | None = None, after: int | None = None) -> AsyncGenerator[Event]:
        """Stream events from now on, of one thread or of all; with `after`, from after that number (0: from the first).

        It reconnects after a restart of the daemon: each numbered event comes once, and text continues where it was. It
        never ends; leave it with `break`. Raises `Stopped` when somebody stops the daemon.
        """
        name = thread.thread if isinstance(thread, Sent) else thread
        texts = TextProgress()
        async with aclosing(Follower(self._client, name, after).events()) as stream:
            async for each in stream:
                if (event := texts.without_repeats(each)) is not None:
                    yield event

    async def wait(self, what: Sent | str) -> TurnView:
        """Wait for the end of a turn, and of its continuation if it is cut off. `what` is the result of `start`, `send`
        or `resume`, or the id of a turn. If it is a thread, wait until nothing runs or is queued, and return its newest
        turn.

        The result has the outcome in `state`, the answer in `text`, and what went wrong in `error`.
        """
        turn = what.turn if isinstance(what, Sent) else await self._find_turn(what)
        thread = what.thread if isinstance(what, Sent) else (turn and (await self.turn(turn)).thread) or what
        async with aclosing(self.events(thread)) as events:
            async for event in events:
                if event.kind in _CHECK_AFTER and (ended := await self._ended(thread, turn)) is not None:
                    return ended
        raise AssertionError("a stream of events ends only by an error")

    async def list(
        self,
        *,
        history: bool = False,
        status: Status | None = None,
        text: str | None = None,
        workspace: str | Path | None = None,
        limit: int = 50,
        before: str | None = None,
    ) -> tuple[ThreadView, ...]:
        """List threads, the last active first: open ones, or with `history` the completed and cancelled ones. For the
        next page, pass the last thread of this page as `before`."""
        folder = _path(workspace) if workspace else None
        request = requests.threads(
            history=history, status=status, text=text, workspace=folder, before=before, limit=limit
        )
        return (await self._client.ask(request)).threads

    async def show(self, thread: str) -> ThreadView:
        """The state of a thread, and where its answer was delivered."""
        return await self._client.ask(requests.thread(thread))

    async def turn(self, turn: str) -> TurnView:
        """One turn, by its complete id: the request, what the agent did, and its text."""
        return await self._client.ask(requests.turn(turn))

    async def read(self, thread: str, *, limit: int = 200) -> tuple[Passage, ...]:
        """The transcript: its newest entries, in order."""
        return await self._client.ask(requests.transcript(thread, limit))

    async def where(self, thread: str) -> tuple[WhereRow, ...]:
        """The deliveries of its answers, with receipts."""
        return await self._client.ask(requests.deliveries(thread))

    async def notify(self, *, dry_run: bool = False, retry_failed: bool = False) -> tuple[Notified, ...]:
        """Try all pending deliveries once, now. Never starts the daemon: if none runs, it works in this process, under
        the store's lock. To deliver them yourself, use `clew.notify_with`."""
        request = requests.notify(dry_run=dry_run, retry_failed=retry_failed)
        try:
            return await AsyncClient(self._no_start).ask(request, max_wait=None)
        except OutOfReach:
            return await self._notify_here(dry_run, retry_failed)

    async def _notify_here(self, dry_run: bool, retry_failed: bool) -> tuple[Notified, ...]:
        from clew.daemon.main import notify_once

        if not self._home.database.exists():
            return ()
        return tuple(await notify_once(self._home, dry_run=dry_run, retry_failed=retry_failed))

    async def _find_turn(self, name: str) -> str | None:
        """The turn with this id; None if there is none, so it must be a thread."""
        try:
            return (await self.turn(name)).id
        except NotFound:
            return None

    async def _ended(self, thread: str, turn: str | None) -> TurnView | None:
        if turn is None:
            return await self._newest_if_idle(thread)
        view = await self.turn(turn)
        while view.continued_by is not None:
            view = await self.turn(view.continued_by)
        return view if view.state in _ENDED else None

    async def _newest_if_idle(self, thread: str) -> TurnView | None:
        view = await self.show(thread)
        if view.status == "running" or (view.queued and view.status != "suspended"):
            return None
        if view.turn is None:
            raise Refused(say("process.no_turn_yet", thread=view.id))
        return await self.turn(view.turn)


def _home(given: str | Path | None) -> Home:
    if not isinstance(given, str | Path | None):
        raise BadInput(say("process.home_not_path", kind=type(given).__name__))
    return Home.at(given)


def _path(given: str | Path) -> str:
    try:
        return str(Path(given).expanduser().absolute())
    except TypeError:
        raise BadInput(say("process.not_a_path", kind=type(given).__name__, given=f"{given!r}")) from None
