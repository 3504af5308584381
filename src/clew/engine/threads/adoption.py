"""Adopts sessions that were started outside clew: lists them, takes one over with its history, and releases it. A
session that another program has open is not taken over, but can be forked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

from msgspec import Struct

from clew.engine.core import Core
from clew.engine.threads import lifecycle, lookup
from clew.engine.threads.adopted_sessions import AdoptedSessions
from clew.engine.threads.import_turns import finished, import_turns
from clew.engine.threads.shared_sessions import SharedSessions
from clew.model.gates import Policy
from clew.model.runtime import Seat
from clew.model.shared_sessions import OutsideSession, PastTurn, SharesSessions
from clew.model.threads import Continuity, ForkPoint, SessionKey, Thread
from clew.model.views import AdoptableView, ReleasedView
from clew.store import Tx
from clew.store.tables import adoptions, continuity, threads, turns
from clew.store.tables.adoptions import Adoption
from clew.support.errors import BadInput, NotFound, Refused, RuntimeHeld
from clew.support.text import clean
from clew.texts import chat_messages
from clew.texts.catalogue import say


class Wanted(Struct, frozen=True):
    """Which session to adopt, and how."""

    session: str  # its id, or any unique beginning of it
    runtime: str | None = None  # default: that of new threads, if it supports adoption
    fork: bool = False  # adopt a copy; the session itself stays with its program
    workspace: str | None = None  # default: that of the session
    policy: Policy | None = None


class AdoptionService:
    def __init__(self, core: Core, shared_sessions: SharedSessions, adopted: AdoptedSessions) -> None:
        self._core = core
        self._shared_sessions = shared_sessions
        self._adopted = adopted

    async def adoptable(self, runtime: str | None, workspace: str | None, limit: int) -> list[AdoptableView]:
        """Sessions that are not threads of clew yet, newest first."""
        name, runtime_sessions = self._sessions_of(runtime)
        ours = await self._owners(name)
        found: list[OutsideSession] = []
        async for each in runtime_sessions.outside(_names(workspace)):
            if each.continuity not in ours:
                found.append(each)
            if len(found) == limit:
                break
        used = await runtime_sessions.holders([each.continuity for each in found])
        return [_view(name, each, used.get(each.continuity)) for each in found]

    async def adopt(self, wanted: Wanted) -> str:
        """Adopt a session and return the new thread. Raises NotFound, Refused or RuntimeTrouble."""
        name, runtime_sessions = self._sessions_of(wanted.runtime)
        found = await _find(name, runtime_sessions, wanted.session)
        owner = (await self._owners(name)).get(found.continuity)
        if owner is not None and not wanted.fork:
            raise Refused(say("threads.adopted_already", runtime=name, session=found.id, thread=owner))
        opening = lifecycle.Opening(
            title=lifecycle.title_of(found.title) or f"{name} {found.id}",
            runtime=name,
            workspace=_folder(wanted.workspace, found),
            policy=wanted.policy,
            id=self._core.clock.ulid(),
            adopted=found.id,
        )
        if wanted.fork:
            past = finished(await runtime_sessions.past(found.continuity))
            return await self._core.store.write(lambda tx: self._copy(tx, opening, found, past))
        return await self._take_over(name, runtime_sessions, found, opening)

    async def _take_over(
        self, name: str, runtime_sessions: SharesSessions, found: OutsideSession, opening: lifecycle.Opening
    ) -> str:
        """Hold the session open while its history is read, so that nobody changes it; then close it."""
        if (who := (await runtime_sessions.holders([found.continuity])).get(found.continuity)) is not None:
            raise _in_use(name, found, who)
        seat = Seat(opening.id or "", opening.workspace or "", found.continuity, lent=True)
        try:
            session = await self._core.runtimes[name].open(seat)
        except RuntimeHeld:
            raise _in_use(name, found, say("threads.in_use_unseen")) from None
        self._adopted.add(seat.thread, name)
        try:
            past = await runtime_sessions.past(found.continuity)
            return await self._core.store.write(lambda tx: self._adopt(tx, opening, found, past))
        finally:
            await session.close()

    def _adopt(self, tx: Tx, opening: lifecycle.Opening, found: OutsideSession, past: Sequence[PastTurn]) -> str:
        if (owner := adoptions.owners(tx, opening.runtime or "").get(found.continuity)) is not None:
            raise Refused(say("threads.adopted_meanwhile", session=found.id, thread=owner))
        thread = self._open(tx, opening, past)
        continuity.save(tx, thread.main_session, found.continuity)
        newest = past[-1].runtime_turn if past else None
        adoptions.insert(tx, Adoption(thread.id, thread.runtime, found.id, newest, thread.created_at))
        return thread.id

    def _copy(self, tx: Tx, opening: lifecycle.Opening, found: OutsideSession, past: Sequence[PastTurn]) -> str:
        """Create a thread with the history of the session. The runtime forks the session at the first turn."""
        thread = self._open(tx, opening, past)
        point = ForkPoint(found.continuity, past[-1].runtime_turn if past else None)
        continuity.save_fork_point(tx, thread.main_session, point, threads.head(tx, thread.id))
        return thread.id

    def _open(self, tx: Tx, opening: lifecycle.Opening, past: Sequence[PastTurn]) -> Thread:
        opened = lookup.existing_thread(tx, lifecycle.open_thread(tx, self._core, opening).id)
        import_turns(tx, self._core, opened, past)
        return opened

    async def release(self, thread: str) -> ReleasedView:
        """Close the session now, so that its own program can use it."""
        adoption, session = await self._core.store.read(lambda tx: _to_release(tx, thread))
        if not await self._shared_sessions.close_when_idle(thread):
            raise _still_works(thread)
        runtime_sessions = cast("SharesSessions", self._core.runtimes[adoption.runtime])
        return ReleasedView(thread, adoption.runtime, adoption.session, runtime_sessions.way_back(session))

    async def _owners(self, runtime: str) -> Mapping[Continuity, str]:
        return await self._core.store.read(lambda tx: adoptions.owners(tx, runtime))

    def _sessions_of(self, name: str | None) -> tuple[str, SharesSessions]:
        known = self._core.runtimes
        able = [each for each in sorted(known) if known[each].can.adopt]
        if name is not None and name not in known:
            raise BadInput(chat_messages.unknown_runtime(name, sorted(known)))
        if name is not None and name not in able:
            raise Refused(chat_messages.cannot_adopt(name, able))
        if not able:
            raise Refused(say("threads.none_to_adopt"))
        usual = self._core.config.threads.runtime
        chosen = name or (usual if usual in able else able[0])
        return chosen, cast("SharesSessions", known[chosen])


async def _find(name: str, runtime_sessions: SharesSessions, wanted: str) -> OutsideSession:
    found: list[OutsideSession] = []
    async for each in runtime_sessions.outside():
        if each.id == wanted:
            return each
        if each.id.startswith(wanted.lower()):
            found.append(each)
    if not found:
        raise NotFound(say("threads.no_session", runtime=name, session=wanted))
    if len(found) > 1:
        raise Refused(chat_messages.ambiguous(wanted, found[0].id, found[1].id))
    return found[0]


def _names(workspace: str | None) -> tuple[str, ...]:
    """The folder as given, and with links resolved."""
    if not workspace:
        return ()
    try:
        return tuple(dict.fromkeys((workspace, str(Path(workspace).resolve()))))
    except (OSError, RuntimeError, ValueError):
        return (workspace,)


def _folder(chosen: str | None, found: OutsideSession) -> str:
    if chosen is not None:
        return lifecycle.real_folder(chosen)
    try:
        return lifecycle.real_folder(found.workspace)
    except BadInput:
        folder = found.workspace or say("threads.unknown_folder")
        raise Refused(say("threads.session_folder_gone", folder=folder)) from None


def _in_use(name: str, found: OutsideSession, who: str) -> Refused:
    return Refused(say("threads.in_use", runtime=name, session=found.id, who=who))


def _to_release(tx: Tx, thread: str) -> tuple[Adoption, Continuity]:
    lookup.existing_thread(tx, thread)
    adoption = adoptions.get(tx, thread)
    session, _ = continuity.get(tx, SessionKey(thread, adoption.runtime)) if adoption else (None, None)
    if adoption is None or session is None:
        raise Refused(say("threads.begun_in_clew", thread=thread))
    if turns.live(tx, thread):
        raise _still_works(thread)
    return adoption, session


def _still_works(thread: str) -> Refused:
    return Refused(chat_messages.still_works(thread))


def _view(runtime: str, each: OutsideSession, in_use: str | None) -> AdoptableView:
    return AdoptableView(
        id=each.id,
        runtime=runtime,
        title=clean(each.title),
        workspace=each.workspace,
        source=each.source,
        created_at=each.created_at,
        updated_at=each.updated_at,
        in_use=in_use,
    )
