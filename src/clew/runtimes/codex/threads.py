"""Starts, resumes or forks a Codex thread, always with our settings, and converts people's messages to Codex's
input."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable

import msgspec

from clew.model.gates import Policy
from clew.model.messages import PromptMessage
from clew.model.runtime import Seat
from clew.model.threads import Continuity, ForkPoint
from clew.runtimes.codex import problems, wire
from clew.runtimes.codex.server.connection import Connection
from clew.runtimes.codex.settings import CodexConfig
from clew.runtimes.jsonrpc import RpcError
from clew.texts.catalogue import say

log = logging.getLogger(__name__)

# Errors for a thread that Codex does not know. The last one: Codex was killed before it wrote anything.
_UNKNOWN = re.compile(r"no rollout found|not found|not loaded|invalid (thread|session) id|rollout at .* is empty")

# Codex's sandbox and approval policy for each of our policies. `untrusted` asks before every command and every change;
# `on-request` lets the model ask for more than the sandbox allows. `careful` has no sandbox, because under `untrusted`
# Codex runs an accepted command again, outside the sandbox and without asking, if the sandbox blocked it (seen in 23 of
# 25 runs): one yes would mean two executions. Without a sandbox an accepted command runs once. So it does under
# `on-request`: Codex never retries what the sandbox blocked, and the model has to ask for another run, outside.
POLICIES = {
    Policy.CAREFUL: ("danger-full-access", "untrusted"),
    Policy.SANDBOX: ("workspace-write", "on-request"),
    Policy.TRUSTED: ("workspace-write", "on-request"),
    Policy.READ_ONLY: ("read-only", "never"),
    Policy.YOLO: ("danger-full-access", "untrusted"),  # clew accepts by itself, so that deny and ask rules still apply
}

_SANDBOX_TYPES = {
    "danger-full-access": "dangerFullAccess",
    "workspace-write": "workspaceWrite",
    "read-only": "readOnly",
}  # what `turn/start` calls them

# A command on a terminal goes on reading after a yes: the model could type anything into `less` or `python`, and no
# request would show it. Without a terminal, Codex closes the command's stdin.
NO_TERMINAL = {"features.unified_exec_tty": False}


def is_sandboxed(seat: Seat) -> bool:
    return POLICIES[seat.policy][0] != "danger-full-access"


class Position(msgspec.Struct, frozen=True, omit_defaults=True):
    """What we store as continuity: the id of the Codex thread."""

    thread: str
    is_untold: bool = False  # no turn was sent to it yet; with the first one it gets the history of our thread

    @classmethod
    def read(cls, continuity: Continuity) -> Position | None:
        try:
            return msgspec.json.decode(continuity.data, type=cls)
        except msgspec.DecodeError:
            log.warning("cannot read the stored continuity %.200r; starting a new Codex thread", continuity.data)
            return None

    def continuity(self) -> Continuity:
        return Continuity(msgspec.json.encode(self).decode())


async def start(connection: Connection, seat: Seat, config: CodexConfig) -> wire.ThreadAnswer:
    try:
        return await connection.ask("thread/start", settings(seat, config), wire.ThreadAnswer)
    except RpcError as error:
        raise problems.refuses(say("codex.do_start_thread"), error.message) from error


async def resume(connection: Connection, thread: str, seat: Seat, config: CodexConfig) -> wire.ThreadAnswer | None:
    """Resume a thread. None: Codex does not know it; a thread without turns is not on its disk."""
    params = {"threadId": thread, "excludeTurns": True, **settings(seat, config)}
    return await _ask_if_known(connection, "thread/resume", params, thread)


async def fork(connection: Connection, point: ForkPoint, seat: Seat, config: CodexConfig) -> wire.ThreadAnswer | None:
    if (source := Position.read(point.continuity)) is None:
        return None
    last = {"lastTurnId": point.runtime_turn} if point.runtime_turn else {}
    params = {"threadId": source.thread, "excludeTurns": True, **last, **settings(seat, config)}
    return await _ask_if_known(connection, "thread/fork", params, source.thread)


async def _ask_if_known(
    connection: Connection, method: str, params: dict[str, object], thread: str
) -> wire.ThreadAnswer | None:
    try:
        return await connection.ask(method, params, wire.ThreadAnswer)
    except RpcError as error:
        if "active writer" in error.message:
            raise problems.held_elsewhere(thread) from error
        if not _UNKNOWN.search(error.message):
            raise problems.refuses(say("codex.do_with_thread", method=method, thread=thread), error.message) from error
        log.warning("Codex has no thread %s (%s); starting a new one", thread, error.message)
        return None


def settings(seat: Seat, config: CodexConfig) -> dict[str, object]:
    """Settings for every start, resume and fork: a resumed thread forgets its sandbox, and people change their
    config."""
    model = seat.model or config.model
    sandbox, approval = POLICIES[seat.policy]
    return {
        "cwd": seat.workspace,
        "sandbox": sandbox,
        "approvalPolicy": approval,
        "approvalsReviewer": "user",
        "config": NO_TERMINAL,
        **({"model": model} if model else {}),
    }


def turn_settings(seat: Seat, config: CodexConfig, loaded: str) -> dict[str, object]:
    """Settings for every turn: they may have changed since Codex loaded the thread, and a thread that is still loaded
    ignores the settings of a resume. `loaded` is the sandbox that it was loaded with. The sandbox is sent only if it is
    another one, because a sandbox that is sent replaces the details in the person's own config."""
    sandbox, approval = POLICIES[seat.policy]
    wanted = _SANDBOX_TYPES[sandbox]
    chosen = {
        "model": seat.model or config.model,
        "effort": seat.effort or config.effort,
        "approvalPolicy": approval,
        "sandboxPolicy": {"type": wanted} if loaded != wanted else None,
    }
    return {name: value for name, value in chosen.items() if value}


def as_input(messages: Iterable[PromptMessage], prelude: str = "") -> list[dict[str, str]]:
    """`prelude`: what happened before that the Codex thread does not know."""
    told = [{"type": "text", "text": prelude}] if prelude else []
    return [*told, *(part for message in messages for part in _parts(message))]


def _parts(message: PromptMessage) -> list[dict[str, str]]:
    files = [attachment for attachment in message.attachments if not attachment.is_image]
    lines = [message.told, *(f"[attached file: {file.path}]" for file in files)]
    images = [{"type": "localImage", "path": image.path} for image in message.attachments if image.is_image]
    return [{"type": "text", "text": "\n".join(line for line in lines if line)}, *images]
