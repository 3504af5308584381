"""Codex threads that people use without clew: lists them, reads their past turns, and finds out which program has one
open."""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from pathlib import Path

from clew.model.events import Event, Notice, NoticeKind, Phase, TextDone, TurnEnded
from clew.model.messages import PromptMessage
from clew.model.shared_sessions import OutsideSession, PastTurn
from clew.model.turns import TurnState
from clew.runtimes.codex import problems, record, wire
from clew.runtimes.codex.items import SILENT, activity
from clew.runtimes.codex.server.connection import Connection
from clew.runtimes.codex.threads import Position
from clew.runtimes.codex.translate import COMPACTED, STATES, final_text
from clew.runtimes.jsonrpc import RpcError
from clew.texts.catalogue import say

log = logging.getLogger(__name__)

PAGE = 100
SOURCES = ["cli", "vscode", "exec", "appServer", "unknown"]  # not subagents
PERSON = "you"
PROC = Path("/proc")
_SAID = "userMessage"
_BACKGROUND = "--managed-daemon"


async def list_all(connection: Connection, folders: Sequence[str]) -> AsyncIterator[OutsideSession]:
    """Yield all threads, newest first, without archived ones."""
    cursor: str | None = None
    while True:
        page = await _page(connection, folders, cursor)
        for listed in page.data:
            yield _outside(listed)
        if (cursor := page.next_cursor) is None:
            return


async def _page(connection: Connection, folders: Sequence[str], cursor: str | None) -> wire.ThreadPage:
    params = {
        "limit": PAGE,
        "cursor": cursor,
        "sortKey": "updated_at",
        "sourceKinds": SOURCES,
        "modelProviders": [],  # empty: of all providers
        **({"cwd": list(folders)} if folders else {}),
    }
    try:
        return await connection.ask("thread/list", params, wire.ThreadPage)
    except RpcError as error:
        raise problems.refuses(say("codex.do_list_threads"), error.message) from error


def _outside(listed: wire.Listed) -> OutsideSession:
    return OutsideSession(
        id=listed.id,
        continuity=Position(listed.id).continuity(),
        title=listed.name or listed.preview,
        workspace=listed.cwd,
        source=listed.source if isinstance(listed.source, str) else "",
        created_at=int(listed.created_at * 1000),
        updated_at=int(listed.updated_at * 1000),
    )


async def past(connection: Connection, thread: str, after: str | None) -> list[PastTurn]:
    """Return the turns after `after`, oldest first. A turn that runs in another program looks as if it was cut off."""
    found: list[PastTurn] = []
    try:
        async for turn in record.turns(connection, thread):
            if turn.id == after:
                break
            found.append(as_past(turn))
    except RpcError as error:
        raise problems.refuses(say("codex.do_tell_past", thread=thread), error.message) from error
    return found[::-1]


def as_past(turn: wire.Turn) -> PastTurn:
    items = [wire.read_item(raw) for raw in turn.items]
    state = STATES.get(turn.status, TurnState.INTERRUPTED)
    recorded = record.as_record(turn)
    return PastTurn(
        runtime_turn=turn.id,
        said=tuple(
            PromptMessage(item.client_id or item.id, PERSON, _text(item)) for item in items if item.type == _SAID
        ),
        events=tuple(event for item in items if (event := _event(item)) is not None),
        end=TurnEnded(
            state, final_text(items), recorded.problem if state is TurnState.FAILED else None, recorded.messages
        ),
        began_at=_millis(turn.started_at),
        ended_at=_millis(turn.completed_at),
    )


def _event(item: wire.Item) -> Event | None:
    if item.type == "agentMessage":
        return TextDone(item.id, item.text or "")
    if item.type == "contextCompaction":
        return Notice(NoticeKind.COMPACTED, COMPACTED)
    return activity(item, Phase.DONE) if item.type not in SILENT else None


def _text(item: wire.Item) -> str:
    parts = item.content if isinstance(item.content, list) else []
    return "\n".join(_part(part) for part in parts if isinstance(part, dict))


def _part(part: dict[str, object]) -> str:
    """Return the text of a part; if it is not text, its type and name."""
    if isinstance(text := part.get("text"), str):
        return text
    name = part.get("path") or part.get("name") or ""
    return f"[{part.get('type', 'something')}{f': {name}' if name else ''}]"


def _millis(seconds: float | None) -> int | None:
    return None if seconds is None else int(seconds * 1000)


def holders(threads: Collection[str]) -> dict[str, str]:
    """Return which of these threads a program has open for writing, and the program.

    Codex keeps the file of a loaded thread open, and a lock file with the thread's name. An older Codex has no lock
    file, only the thread's. This only reads /proc, so it disturbs nobody. Without /proc it finds nothing; then only
    Codex's own refusal protects the thread.
    """
    found: dict[str, str] = {}
    for process in _processes():
        for name in _files_open_for_writing(process):
            found.update((thread, _describe_process(process)) for thread in threads if thread in name)
    return found


def _processes() -> Iterator[Path]:
    if PROC.is_dir():
        yield from (entry for entry in PROC.iterdir() if entry.name.isdigit())


def _files_open_for_writing(process: Path) -> Iterator[str]:
    """Yield the names of the thread files that the process has open for writing."""
    try:
        for handle in (process / "fd").iterdir():
            name = handle.readlink().name
            if name.endswith((".jsonl", ".lock")) and _is_writable(process, handle.name):
                yield name
    except OSError:
        return  # the process has ended, or belongs to another user


def _is_writable(process: Path, handle: str) -> bool:
    flags = next(line for line in (process / "fdinfo" / handle).read_text().splitlines() if line.startswith("flags"))
    return int(flags.split()[1], 8) & os.O_ACCMODE != os.O_RDONLY


def _describe_process(process: Path) -> str:
    try:
        argv = (process / "cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        argv = [""]
    if _BACKGROUND in argv:
        return say("codex.background_server", pid=process.name)
    return say("codex.program_with_pid", program=Path(argv[0]).name or say("codex.a_program"), pid=process.name)
