"""Opens a session of the agent: loads or resumes the old one if the agent can, otherwise starts a new one; then sets
the mode and the model."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import msgspec

from clew.model.runtime import Seat
from clew.model.threads import Continuity
from clew.runtimes.acp import problems, wire
from clew.runtimes.acp.agents.settings import AcpConfig
from clew.runtimes.acp.connection import Connection
from clew.runtimes.acp.opening import models, modes
from clew.runtimes.jsonrpc import RpcError
from clew.texts.catalogue import say

log = logging.getLogger(__name__)


class Position(msgspec.Struct, frozen=True):
    """What we store as continuity: the agent's session and how many turns it had. Unknown fields of later versions are
    ignored."""

    session: str
    turns: int = 0
    version: int = 1

    @classmethod
    def read(cls, continuity: Continuity) -> Position | None:
        try:
            return msgspec.json.decode(continuity.data, type=cls)
        except msgspec.DecodeError:
            log.warning("cannot read the stored continuity %.200r; starting a new session", continuity.data)
            return None

    def continuity(self) -> Continuity:
        return Continuity(msgspec.json.encode(self).decode())


async def reopen(connection: Connection, position: Position, seat: Seat, replayed: Callable[[], int]) -> Any:
    """Load or resume the session; None: the agent does not know it, or can do neither. `replayed` returns how many past
    updates the agent has sent: if it loads a session that had turns and sends none, it has forgotten the session."""
    can = connection.agent.agent_capabilities
    methods = ["session/load"] if can.load_session else []
    if not methods and can.session_capabilities.resume is not None:
        methods = ["session/resume"]
    for method in methods:
        params = {"sessionId": position.session, "cwd": seat.workspace, "mcpServers": []}
        try:
            entered = await connection.ask(method, params, wire.Entered)
        except RpcError as error:
            if error.code == wire.AUTH_REQUIRED:
                raise problems.not_logged_in(connection.entry, problems.reply(error)) from error
            said = problems.reply(error)
            log.info("%s cannot reopen the session %s: %s", connection.entry.title, position.session, said)
            continue
        if method == "session/load" and position.turns and not replayed():
            log.warning("%s loaded the session %s, but without its history", connection.entry.title, position.session)
            continue
        return entered
    return None


async def start(connection: Connection, seat: Seat) -> wire.Entered:
    params = {"cwd": seat.workspace, "mcpServers": []}
    try:
        entered = await connection.ask("session/new", params, wire.Entered)
    except RpcError as error:
        raise problems.refuses(connection.entry, say("acp.do_begin_session"), error) from error
    if not entered.session_id:
        raise problems.names_no_session(connection.entry)
    return entered


async def set_up(
    connection: Connection, session: str, entered: wire.Entered, seat: Seat, config: AcpConfig, mode: str
) -> None:
    """Make the agent ask, and set the model of the seat or the config. `mode`: the session's mode now."""
    here = {"sessionId": session}
    try:
        for change in modes.changes(connection.entry, entered, mode, config, seat.policy):
            await connection.ask(change.method, {**here, **change.params}, dict)
        if model := seat.model or config.model:
            if (request := models.setting(entered, model)) is None:
                raise problems.no_model(connection.entry, model, models.offered(entered))
            await connection.ask(request[0], {**here, **request[1]}, dict)
    except RpcError as error:
        raise problems.refuses(connection.entry, say("acp.do_take_mode"), error) from error
