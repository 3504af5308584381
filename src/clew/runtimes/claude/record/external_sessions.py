"""Sessions that people use without clew: lists them, and reads their past turns."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from clew.model.events import Event, Notice, NoticeKind, TextDone, TurnEnded
from clew.model.messages import PromptMessage
from clew.model.runtime import RecordState
from clew.model.shared_sessions import OutsideSession, PastTurn
from clew.model.turns import TurnState
from clew.runtimes.claude import wire
from clew.runtimes.claude.record import lookup, transcript
from clew.runtimes.claude.record.position import Position
from clew.runtimes.claude.record.transcript import Said, SaidTurn
from clew.runtimes.claude.settings import ClaudeConfig
from clew.runtimes.claude.turn.translate import COMPACTED
from clew.runtimes.claude.wire import Row

log = logging.getLogger(__name__)

PERSON = "you"
PROGRAM = "claude"
_SUMMARY = re.compile(r"<summary>(.*?)</summary>", re.DOTALL)
LONGEST_TITLE = 200  # characters
HEAD = 400  # rows of a file that are read for the first words in it
_STATES = {RecordState.COMPLETED: TurnState.COMPLETED, RecordState.FAILED: TurnState.FAILED}


def list_all(config: ClaudeConfig, folders: Sequence[str]) -> Iterator[OutsideSession]:
    """Yield all sessions in which something was said, the one that was used last first."""
    for path in transcript.all_files(config):
        first = _first(path)
        if first is not None and (not folders or first.row.cwd in folders):
            yield _outside(path, first)


def _first(path: Path) -> Said | None:
    """The first words of a person in it."""
    try:
        rows: list[Row] = list(islice(transcript.rows(path), HEAD))
    except OSError as error:
        log.info("cannot read %s: %s", path, error)
        return None
    said = (Said(row, wire.message(row.message)) for row in rows if row.type == "user")
    return next((each for each in said if each.is_prompt), None)


def _outside(path: Path, first: Said) -> OutsideSession:
    changed = int(path.stat().st_mtime * 1000)
    return OutsideSession(
        id=path.stem,
        continuity=Position(path.stem).continuity(),
        title=_words(first).split("\n", 1)[0][:LONGEST_TITLE],
        workspace=first.row.cwd or "",
        source=first.row.entrypoint or "",
        created_at=first.at or changed,
        updated_at=changed,
    )


def past(config: ClaudeConfig, session: str, after: str | None) -> list[PastTurn]:
    """Return the turns after `after`, oldest first."""
    path = transcript.find(config, session)
    if path is None:
        return []
    found = transcript.turns(transcript.conversation(path))
    known = next((number for number, turn in enumerate(found, 1) if turn.id == after), 0)
    return [as_past(turn) for turn in found[known:]]


def newest_unasked(path: Path) -> PastTurn | None:
    """The newest turn, if Claude began it itself."""
    found = transcript.turns(transcript.conversation(path))
    mine = [turn for turn in found if turn.prompts[0].row.prompt_source == "system"]
    return as_past(mine[-1]) if mine else None


def as_past(turn: SaidTurn) -> PastTurn:
    recorded = lookup.as_record(turn)
    state = _STATES.get(recorded.state, TurnState.INTERRUPTED)
    return PastTurn(
        runtime_turn=turn.id,
        said=tuple(_prompt(each) for each in turn.prompts),
        events=tuple(_events(turn)),
        end=TurnEnded(state, recorded.text, recorded.problem, recorded.messages),
        began_at=turn.prompts[0].at,
        ended_at=turn.rows[-1].at if turn.rows and _is_over(turn) else None,
    )


def _is_over(turn: SaidTurn) -> bool:
    last = turn.rows[-1]
    return last.is_final or last.is_error or last.is_interruption


def _events(turn: SaidTurn) -> Iterator[Event]:
    ends = {act.item: act for act in lookup.activities(turn)}
    for row in turn.rows:
        if row.row.is_compact_summary:
            yield Notice(NoticeKind.COMPACTED, COMPACTED)
            continue
        for number, block in enumerate(row.message.blocks):
            if block.type == "tool_use" and (act := ends.get(block.id or "")) is not None:
                yield act
            elif block.type == "text" and block.text and row.is_from_model and not row.is_error:
                yield TextDone(f"{row.id}:{number}", block.text)


def _prompt(said: Said) -> PromptMessage:
    """What began the turn. If Claude did it itself, then only what it says for people."""
    words = _words(said)
    if said.row.prompt_source != "system":
        return PromptMessage(said.id, PERSON, words)
    summary = _SUMMARY.search(words)
    return PromptMessage(said.id, PROGRAM, summary[1].strip() if summary else words)


def _words(said: Said) -> str:
    parts = (block.text or f"[{block.type}]" for block in said.message.blocks)
    return "\n".join(parts)
