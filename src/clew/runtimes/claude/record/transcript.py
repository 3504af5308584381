"""Reads Claude's own record of a session: one file of JSON lines, which Claude only appends to.

Its rows make a tree by their parents; the newest leaf is the conversation. A row of ours has our id. Rows that are
neither said by a person nor by the model (copies of requests are most of the file) are only read for their parents.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

import msgspec
from msgspec import Struct

from clew.runtimes.claude import wire
from clew.runtimes.claude.settings import ClaudeConfig
from clew.runtimes.claude.wire import CostState, Message, Row

log = logging.getLogger(__name__)

STEERED = "+"  # between the id of a turn and that of a message that was given to it while it ran
_SAID = (b'"type":"user"', b'"type":"assistant"')
_COSTS = b'"type":"cost-state"'
_IN_TREE = b'"parentUuid"'
_decoder = msgspec.json.Decoder(Row)


class _AboutSubAgent(Struct, frozen=True, rename="camel"):
    tool_use_id: str


_about = msgspec.json.Decoder(_AboutSubAgent)


class Said(Struct, frozen=True):
    """A row that a person, a tool or the model wrote."""

    row: Row
    message: Message

    @property
    def id(self) -> str:
        return self.row.uuid or ""

    @property
    def is_prompt(self) -> bool:
        """Whether it begins a turn, or is a message given to a running one."""
        if self.row.type != "user" or self.row.is_meta or self.row.is_compact_summary or self.is_interruption:
            return False
        return not any(block.type == "tool_result" for block in self.message.blocks)

    @property
    def is_interruption(self) -> bool:
        return self.row.type == "user" and self.message.text.startswith("[Request interrupted by user")

    @property
    def is_from_model(self) -> bool:
        return self.row.type == "assistant"

    @property
    def is_final(self) -> bool:
        """Whether the model has finished with it."""
        is_call = any(block.type == "tool_use" for block in self.message.blocks)
        return self.is_from_model and self.message.stop_reason not in (None, "tool_use") and not is_call

    @property
    def is_error(self) -> bool:
        return bool(self.row.is_api_error_message)

    @property
    def is_filler(self) -> bool:
        """What Claude writes itself where the answer of a turn that was cut is missing."""
        return self.is_from_model and self.message.model == "<synthetic>" and not self.is_error

    @property
    def at(self) -> int | None:
        """Milliseconds since 1970."""
        try:
            return int(datetime.fromisoformat(self.row.timestamp or "").timestamp() * 1000)
        except ValueError:
            return None


class SaidTurn(Struct, frozen=True):
    """One request and all until the next: by a person, or by Claude itself, such as when a background task ended."""

    prompts: tuple[Said, ...]  # the request, and what was given to the turn while it ran
    rows: tuple[Said, ...]  # what followed, in order

    @property
    def id(self) -> str:
        return self.prompts[0].id


def folder(config: ClaudeConfig) -> Path:
    """Claude's own folder."""
    return Path(config.home or os.environ.get("CLAUDE_CONFIG_DIR") or "~/.claude").expanduser()


def find(config: ClaudeConfig, session: str) -> Path | None:
    """The file of a session. It is named after the folder in which the session began, which need not be ours."""
    found = list((folder(config) / "projects").glob(f"*/{session}.jsonl"))
    return max(found, key=lambda path: path.stat().st_mtime) if found else None


def all_files(config: ClaudeConfig) -> list[Path]:
    """The files of all sessions, the one that was written last first."""
    found = [(path.stat().st_mtime, path) for path in (folder(config) / "projects").glob("*/*.jsonl")]
    return [path for _, path in sorted(found, reverse=True)]


def sub_agents(path: Path) -> dict[str, Path]:
    """The files of a session's sub-agents, by the call that began each."""
    found: dict[str, Path] = {}
    for about in (path.with_suffix("") / "subagents").glob("agent-*.meta.json"):
        try:
            call = _about.decode(about.read_bytes()).tool_use_id
        except (OSError, msgspec.DecodeError) as error:
            log.info("%s cannot be read: %s", about.name, error)
            continue
        found[call] = about.with_name(f"{about.name.removesuffix('.meta.json')}.jsonl")
    return found


def said_by_sub_agent(path: Path) -> list[Said]:
    """What was said in the file of a sub-agent, which has one conversation."""
    found = rows(path, of_sub_agent=True) if path.exists() else ()
    return [Said(row, wire.message(row.message)) for row in found if row.type in ("user", "assistant")]


def rows(path: Path, *, of_sub_agent: bool = False) -> Iterator[Row]:
    """The rows of the tree, in the order in which they were written. The last line may be cut."""
    with path.open("rb") as lines:
        for line in lines:
            if _IN_TREE not in line:
                continue
            try:
                row = _decoder.decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                log.info("a row of %s cannot be read: %s", path.name, error)
                continue
            if row.uuid and bool(row.is_sidechain) is of_sub_agent:
                yield row


def of_sub_agents(path: Path, turn: SaidTurn) -> Iterator[Said]:
    """What sub-agents said in this turn: each has a file of its own."""
    wanted = {prompt.row.prompt_id for prompt in turn.prompts if prompt.row.prompt_id}
    for file in path.with_suffix("").glob("subagents/*.jsonl") if wanted else ():
        asked: str | None = None  # a sub-agent may be asked again in a later turn
        for row in rows(file, of_sub_agent=True):
            asked = row.prompt_id or asked
            if asked in wanted and row.type == "assistant":
                yield Said(row, wire.message(row.message))


def cost_state(path: Path) -> CostState:
    """The running totals with which the session is resumed: the newest."""
    found = CostState()
    with path.open("rb") as lines:
        for line in lines:
            if _COSTS in line[:100]:
                found = wire.read(line, CostState) or found
    return found


def conversation(path: Path) -> list[Said]:
    """What was said in the conversation, oldest first: from the newest leaf up to the root. Rows that are not on this
    way belong to turns that were taken back, or hidden by another program that wrote at the same time."""
    known = {row.uuid: row for row in rows(path)}
    newest = next((row for row in reversed(known.values()) if row.type in ("user", "assistant")), None)
    way: list[Said] = []
    seen: set[str] = set()
    while newest is not None and newest.uuid not in seen:
        seen.add(newest.uuid or "")
        if newest.type in ("user", "assistant"):
            way.append(Said(newest, wire.message(newest.message)))
        newest = known.get(newest.parent_uuid or newest.logical_parent_uuid)
    return way[::-1]


def turns(said: Sequence[Said]) -> list[SaidTurn]:
    """Split a conversation into turns. A message that was given to a running turn is a part of that."""
    found: list[tuple[list[Said], list[Said]]] = []
    for each in said:
        if not each.is_prompt:
            if found:
                found[-1][1].append(each)
        elif found and each.id.startswith(f"{found[-1][0][0].id}{STEERED}"):
            found[-1][0].append(each)
            found[-1][1].append(each)
        else:
            found.append(([each], []))
    return [SaidTurn(tuple(prompts), tuple(rest)) for prompts, rest in found]


def newest_turn(path: Path, turn: str) -> SaidTurn | None:
    """The turn with this id, wherever it is in the tree; None: Claude has not written it."""
    all_said = [Said(row, wire.message(row.message)) for row in rows(path) if row.type in ("user", "assistant")]
    return next((each for each in reversed(turns(all_said)) if each.id == turn), None)


def folded_in(path: Path, turn: str) -> frozenset[str]:
    """The ids of messages that Claude read in the middle of this turn: it writes those as attachments."""
    notes = (row.attachment for row in rows(path) if row.type == "attachment")
    ids = (note.get("source_uuid") for note in notes if isinstance(note, dict) and note.get("type") == "queued_command")
    return frozenset(id for id in ids if isinstance(id, str) and id.startswith(f"{turn}{STEERED}"))


def has_turns(path: Path) -> bool:
    return any(row.type == "user" for row in rows(path))
