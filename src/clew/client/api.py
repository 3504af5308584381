"""The Python door: clew for programs, in the words and with the errors of the command line.

    from clew import Clew

    async with Clew() as clew:
        sent = await clew.start("fix the failing test", workspace="~/work/app")
        turn = await clew.wait(sent)
        print(turn.text)

Like every other place it only attaches to the daemon: what was started goes on when the program ends, and any other
place can look at it. Errors are those of `clew.support.errors`; what they say is fit to be shown to a person.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from pathlib import Path
from types import TracebackType
from typing import Literal, TypeVar

import msgspec

from clew.client.aio import AsyncClient
from clew.client.events import Event, Sent, TextProgress, event_of
from clew.client.sync import new_message_id
from clew.model.gate_views import GateView
from clew.model.messages import Fate
from clew.model.views import Notified, Page, Passage, ThreadView, TurnView, WhereRow
from clew.support.errors import BadInput, NotFound, OutOfReach, Refused
from clew.support.home import Home

__all__ = ["Clew", "Event", "Sent"]

T = TypeVar("T")
Status = Literal["idle", "running", "suspended", "completed", "cancelled"]
Policy = Literal["careful", "trusted", "read-only", "yolo"]

_ENDED = frozenset({"completed", "failed", "interrupted"})
_NEWS = frozenset({"hello", "reset", "turn.ended", "thread.status"})  # after which waiting may be over


class Clew:
    """A client of the daemon on one home. Use it with `async with`; any number of tasks may share it.

    `home` is clew's folder, else `$CLEW_HOME`, else `~/.clew`. With `start` a daemon that is missing is started, and
    one that died is brought back; without it that raises `OutOfReach`. `say` gets a line whenever something takes time.

    THREAD is a thread's id or any unique beginning of it. For a limit in time, use `asyncio.timeout`.
    """

    def __init__(
        self, home: str | Path | None = None, *, start: bool = True, say: Callable[[str], None] = lambda line: None
    ) -> None:
        if not isinstance(home, str | Path | None):
            raise BadInput(f"home must be the path of a folder, not {type(home).__name__}.")
        self._home = Home.at(home)
        self._client = AsyncClient(self._home, start=start, say=say)
        self._quiet = AsyncClient(self._home, start=False, say=say)

    async def __aenter__(self) -> Clew:
        await self._client.__aenter__()
        await self._quiet.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        await self._client.__aexit__(kind, error, tb)
        await self._quiet.__aexit__(kind, error, tb)

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
        """Begin a thread with its first message. It is committed when this returns.

        A `task` is completed when its turn is; a `chat` stays open. It works in `workspace`, else in the current
        folder. `policy` is how much it may do without asking. `notify` is where the answer is brought, such as
        `webhook:ci` or `local`. Give a `message_id` of your own to make the start exactly-once: the same id again is
        the first one's thread.
        """
        body = {
            "message_id": message_id or new_message_id(),
            "text": prompt,
            "kind": kind,
            "workspace": _path(workspace or "."),
            "title": title,
            "runtime": runtime,
            "model": model,
            "effort": effort,
            "policy": policy,
            "notify": notify,
            "sender": sender,
            "attachments": [_path(file) for file in files],
        }
        return _accepted(await self._client.post("threads", body=body))

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
        """Say something in a thread: into the turn that runs, else as its next turn. With `queue` never into one that
        runs. Raises `Refused`, with the reason, where the thread does not take it."""
        body = {
            "message_id": message_id or new_message_id(),
            "text": text,
            "queue": queue,
            "sender": sender,
            "attachments": [_path(file) for file in files],
        }
        return _accepted(await self._client.post("threads", thread, "messages", body=body))

    async def resume(self, thread: str, supplement: str, *, sender: str = "you", message_id: str | None = None) -> Sent:
        """Pick up a completed thread with new information, or answer what a suspended one waits for. Any other is
        `Refused`. Of two at once, one runs."""
        body = {"message_id": message_id or new_message_id(), "supplement": supplement, "sender": sender}
        return _accepted(await self._client.post("threads", thread, "resume", body=body))

    async def stop(self, thread: str) -> TurnView:
        """Stop the running turn; what is queued behind it goes on."""
        return _read(await self._client.post("threads", thread, "stop"), TurnView)

    async def done(self, thread: str) -> ThreadView:
        """Mark a thread as completed; `resume` picks it up again."""
        return _read(await self._client.post("threads", thread, "done"), ThreadView)

    async def cancel(self, thread: str) -> ThreadView:
        """End a thread for good: what runs is stopped, what is queued is dropped. It can still be forked."""
        return _read(await self._client.post("threads", thread, "cancel"), ThreadView)

    async def fork(self, thread: str, *, turn: str | None = None, title: str | None = None) -> ThreadView:
        """Begin a new thread with the history up to `turn`, else up to the newest that has ended."""
        return _read(
            await self._client.post("threads", thread, "fork", body={"turn": turn, "title": title}), ThreadView
        )

    # Asking

    async def gates(self, thread: str | None = None) -> tuple[GateView, ...]:
        """What waits for a person, oldest first; with `thread` all of that thread, newest first, whatever became of
        them. A `wait` for a turn that asks goes on until somebody answers."""
        return _read(await self._client.get("gates", thread=thread), tuple[GateView, ...])

    async def approve(self, gate: str, *, sender: str = "you") -> GateView:
        """Say yes to a gate, by its code or id. The first answer counts: a later one is `Refused`, with who gave it."""
        return await self._answered(gate, {"decision": "accept", "sender": sender})

    async def deny(self, gate: str, reason: str = "", *, sender: str = "you") -> GateView:
        """Say no; the agent goes on without it, and reads the reason."""
        return await self._answered(gate, {"decision": "decline", "reason": reason, "sender": sender})

    async def answer(self, gate: str, *replies: str | Sequence[str], sender: str = "you") -> GateView:
        """Answer a question: one reply for each, in their order; several options are a list. The number of an option,
        its words, or words of your own. What is secret is kept in memory only."""
        said = [[reply] if isinstance(reply, str) else [*reply] for reply in replies]
        return await self._answered(gate, {"decision": "reply", "replies": said, "sender": sender})

    async def _answered(self, gate: str, body: dict[str, object]) -> GateView:
        return _read(await self._client.post("gates", gate, "answer", body=body), GateView)

    # Looking on

    async def events(self, thread: str | Sent | None = None, after: int | None = None) -> AsyncGenerator[Event]:
        """What happens from now on, in one thread or in all; with `after` from behind that number (0: from the first).

        It goes on by itself after a restart of the daemon: each numbered event comes once, and text goes on where it
        was. It never ends; leave it with `break`. Raises `Stopped` when somebody stops the daemon.
        """
        name = thread.thread if isinstance(thread, Sent) else thread
        texts = TextProgress()
        async with aclosing(self._client.events(name, after)) as stream:
            async for frame in stream:
                if (event := texts.without_repeats(event_of(frame))) is not None:
                    yield event

    async def wait(self, what: Sent | str) -> TurnView:
        """The end of a turn, and of what continues it if it is cut off. `what` is what `start`, `send` or `resume`
        gave, or the id of a turn; or a thread, until nothing runs or is queued in it: then its newest turn.

        How it ended is in `state`, the answer in `text`, and what went wrong in `error`.
        """
        turn = what.turn if isinstance(what, Sent) else await self._turn_named(what)
        thread = what.thread if isinstance(what, Sent) else (turn and (await self.turn(turn)).thread) or what
        async with aclosing(self.events(thread)) as events:
            async for event in events:
                if event.kind in _NEWS and (ended := await self._ended(thread, turn)) is not None:
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
        """Threads, newest first: those that are open, or with `history` the completed and cancelled ones. `before` is
        the last thread of the page that you have."""
        folder = _path(workspace) if workspace else None
        wanted = {"history": history, "status": status, "text": text, "limit": limit, "before": before}
        return _read(await self._client.get("threads", workspace=folder, **wanted), Page).threads

    async def show(self, thread: str) -> ThreadView:
        """How a thread stands, and where its answer went."""
        return _read(await self._client.get("threads", thread), ThreadView)

    async def turn(self, turn: str) -> TurnView:
        """One turn, by its whole id: what was asked, what it did and said."""
        return _read(await self._client.get("turns", turn), TurnView)

    async def read(self, thread: str, *, limit: int = 200) -> tuple[Passage, ...]:
        """What was said and done: the newest pieces, in order."""
        return _read(await self._client.get("threads", thread, "transcript", limit=limit), tuple[Passage, ...])

    async def where(self, thread: str) -> tuple[WhereRow, ...]:
        """Where its answers went: the receipts."""
        return _read(await self._client.get("threads", thread, "deliveries"), tuple[WhereRow, ...])

    async def notify(self, *, dry_run: bool = False, retry_failed: bool = False) -> tuple[Notified, ...]:
        """One pass over the answers that are still owed, without waiting for their next try. Never starts the daemon:
        with none it works by itself, under the store's lock. To bring them your own way: `clew.notify_with`."""
        body = {"dry_run": dry_run, "retry_failed": retry_failed}
        try:
            return _read(await self._quiet.post("notify", body=body, patience=None), tuple[Notified, ...])
        except OutOfReach:
            return await self._notify_here(dry_run, retry_failed)

    async def _notify_here(self, dry_run: bool, retry_failed: bool) -> tuple[Notified, ...]:
        from clew.daemon.main import notify_once

        if not self._home.database.exists():
            return ()
        return tuple(await notify_once(self._home, dry_run=dry_run, retry_failed=retry_failed))

    async def _turn_named(self, name: str) -> str | None:
        """The turn of that id; None where it must be a thread."""
        try:
            return (await self.turn(name)).id
        except NotFound:
            return None

    async def _ended(self, thread: str, turn: str | None) -> TurnView | None:
        if turn is None:
            return await self._at_rest(thread)
        view = await self.turn(turn)
        while view.continued_by is not None:
            view = await self.turn(view.continued_by)
        return view if view.state in _ENDED else None

    async def _at_rest(self, thread: str) -> TurnView | None:
        view = await self.show(thread)
        if view.status == "running" or (view.queued and view.status != "suspended"):
            return None
        if view.turn is None:
            raise Refused(f"Thread {view.id} has had no turn yet; `send` begins one.")
        return await self.turn(view.turn)


def _path(given: str | Path) -> str:
    try:
        return str(Path(given).expanduser().absolute())
    except TypeError:
        raise BadInput(f"a file or folder must be a path, not {type(given).__name__}: {given!r}") from None


def _read(body: bytes, kind: type[T]) -> T:
    return msgspec.json.decode(body, type=kind)


def _accepted(body: bytes) -> Sent:
    sent = _read(body, Sent)
    if sent.fate is Fate.REFUSED:
        raise Refused(sent.words)
    return sent
