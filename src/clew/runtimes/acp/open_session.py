"""Opens a session of the agent: loads or resumes the old one if the agent can, otherwise starts a new one; always sets
our mode and model."""

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
                raise problems.not_logged_in(connection.entry, error.message) from error
            log.info("%s cannot reopen the session %s: %s", connection.entry.title, position.session, error.message)
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
        raise problems.refuses(connection.entry, say("acp.do_begin_session"), error.code, error.message) from error
    if not entered.session_id:
        raise problems.refuses(connection.entry, say("acp.do_begin_session"), 0, say("acp.named_none"))
    return entered


async def configure(connection: Connection, session: str, entered: wire.Entered, seat: Seat, config: AcpConfig) -> None:
    """Set the mode and model of the seat or the config."""
    try:
        if config.mode is not None:
            await _set_mode(connection, session, entered, config.mode)
        if model := seat.model or config.model:
            await _set_model(connection, session, entered, model)
    except RpcError as error:
        raise problems.refuses(connection.entry, say("acp.do_take_mode"), error.code, error.message) from error


async def _set_mode(connection: Connection, session: str, entered: wire.Entered, mode: str) -> None:
    offered = [each.id for each in entered.modes.available_modes] if entered.modes else []
    if mode not in offered:
        raise problems.no_mode(connection.entry, mode, offered)
    await connection.ask("session/set_mode", {"sessionId": session, "modeId": mode}, dict)


async def _set_model(connection: Connection, session: str, entered: wire.Entered, model: str) -> None:
    offered = offered_models(entered)
    if model not in offered:
        raise problems.no_model(connection.entry, model, offered)
    if (option := _model_option(entered)) is not None:
        params = {"sessionId": session, "configId": option.id, "value": model}
        await connection.ask("session/set_config_option", params, dict)
    else:
        await connection.ask("session/set_model", {"sessionId": session, "modelId": model}, dict)


def offered_models(entered: wire.Entered) -> tuple[str, ...]:
    """The models that the agent named when the session was opened."""
    if (option := _model_option(entered)) is not None:
        return tuple(choice.value for choice in option.options)
    return tuple(each.model_id for each in entered.models.available_models) if entered.models else ()


def _model_option(entered: wire.Entered) -> wire.ConfigOption | None:
    return next((each for each in entered.config_options or () if each.category == "model"), None)
