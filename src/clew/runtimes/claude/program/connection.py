"""The connection to one `claude` process: lines of JSON over its pipes. It sends control requests and messages, and
passes what arrives to its session.

One reader decodes and dispatches, in order, and never waits, so that a slow listener cannot delay an interrupt. A line
may be very long (a picture), may not be JSON, and may be of a kind that clew does not know.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any, Protocol

import msgspec

from clew.model.runtime import ModelInfo
from clew.process.scan import Marks
from clew.runtimes.claude import problems, wire
from clew.runtimes.claude.program import arguments
from clew.runtimes.claude.settings import ClaudeConfig
from clew.runtimes.connection import KILL_GRACE
from clew.runtimes.jsonrpc import repaired
from clew.runtimes.process import Child, spawn
from clew.runtimes.server import OnLost, ignore
from clew.support.clock import Clock
from clew.support.coded import plain
from clew.support.errors import RuntimeLost, RuntimeTrouble
from clew.texts.catalogue import say

log = logging.getLogger(__name__)

TITLE = "Claude"
_decoder = msgspec.json.Decoder(wire.Frame)
_encoder = msgspec.json.Encoder(enc_hook=plain)


class Refused(Exception):
    """Claude refused a control request."""


class Listener(Protocol):
    """Receives what Claude sends. Called by the reader: must not block."""

    def on_frame(self, frame: wire.Frame) -> None: ...

    def on_request(self, id: str, request: wire.Request) -> None: ...

    def on_taken(self, id: str) -> None:
        """Claude has read our answer to a request."""

    def on_cancelled(self, id: str) -> None:
        """Claude wants no answer to a request any more."""

    def lost(self, reason: str) -> None: ...


class Connection:
    """Made by `connect`."""

    def __init__(self, config: ClaudeConfig, clock: Clock, listener: Listener, on_lost: OnLost) -> None:
        self._on_lost = on_lost
        self.is_closing = False
        self.is_working = False  # on a turn, ours or one that nobody asked for
        self._config = config
        self._clock = clock
        self._listener = listener
        self._child: Child | None = None
        self._open: dict[str, asyncio.Future[msgspec.Raw]] = {}
        self._count = 0
        self._gone: str | None = None
        self.models: tuple[ModelInfo, ...] = ()  # that Claude offers

    @property
    def is_alive(self) -> bool:
        return self._child is not None and self._child.is_writable and not self.is_closing

    @property
    def pid(self) -> int | None:
        return self._child.pid if self._child is not None and self.is_alive else None

    def use(self, child: Child) -> None:
        self._child = child
        if not child.is_alive:
            self.lost()

    async def ask(self, subtype: str, time_limit: float | None = None, **fields: object) -> msgspec.Raw:
        """Send a control request. Raises Refused, or RuntimeLost; Claude is ended if it does not answer."""
        self._count += 1
        id, seconds = f"clew-{self._count}", time_limit or self._config.request_timeout
        future: asyncio.Future[msgspec.Raw] = asyncio.get_running_loop().create_future()
        self._open[id] = future
        try:
            self.send({"type": "control_request", "request_id": id, "request": {"subtype": subtype, **fields}})
            async with asyncio.timeout(seconds):
                return await future
        except TimeoutError:
            await self.kill()
            words = say("runtimes.no_response", name=TITLE, method=subtype, seconds=f"{seconds:g}")
            raise RuntimeLost(words) from None
        finally:
            self._open.pop(id, None)

    def answer(self, id: str, response: object) -> None:
        body = {"subtype": "success", "request_id": id, "response": response}
        self.send({"type": "control_response", "response": body})

    def send(self, message: dict[str, Any]) -> None:
        if self._gone is not None or self._child is None:
            raise RuntimeLost(self._gone or say("runtimes.connection_closed"))
        self._child.write(_encoder.encode(message) + b"\n")

    def feed(self, line: bytes) -> None:
        if not line.strip():
            return
        try:
            frame = _decode(line)
        except (ValueError, RecursionError) as error:
            log.warning("Claude wrote a line that is not a message (%s): %.200r", error, line)
            return
        try:
            self._dispatch(frame)
        except Exception:  # one bad message must not stop the reader
            log.exception("could not handle a frame of the type %s", frame.type)

    def _dispatch(self, frame: wire.Frame) -> None:
        match frame.type:
            case "control_response":
                self._settle(wire.read(frame.response, wire.Response) or wire.Response())
            case "control_request" if frame.request_id is not None:
                self._asked(frame.request_id, wire.read(frame.request, wire.Request) or wire.Request())
            case "control_cancel_request" if frame.request_id is not None:
                self._listener.on_cancelled(frame.request_id)
            case "system" if frame.subtype == "session_state_changed":
                self.is_working = frame.state != "idle"
            case _:
                self._listener.on_frame(frame)

    def _asked(self, id: str, request: wire.Request) -> None:
        if request.subtype == "can_use_tool":
            self._listener.on_request(id, request)
            return
        log.warning("refused a request of Claude: clew does not know %s", request.subtype)
        body = {"subtype": "error", "request_id": id, "error": f"clew does not know {request.subtype}"}
        self.send({"type": "control_response", "response": body})

    def _settle(self, response: wire.Response) -> None:
        """The answer to a request of ours; or an answer of ours, which Claude repeats when it has read it."""
        future = self._open.pop(response.request_id, None)
        if future is None:
            self._listener.on_taken(response.request_id)
        elif not future.done() and response.subtype == "error":
            future.set_exception(Refused(str(response.error or "")))
        elif not future.done():
            future.set_result(response.response)

    async def start_error(self, path: str) -> RuntimeTrouble:
        """The error for a Claude that did not start."""
        assert self._child is not None
        await self._child.wait_exited()
        return problems.exits(path, self._child.exit_reason(), self._child.stderr_tail)

    @property
    def last_words(self) -> str:
        return "\n".join(self._child.stderr_tail) if self._child is not None else ""

    async def kill(self) -> None:
        """End a Claude that does not answer, with a short grace time."""
        if self._child is not None:
            await self._child.end(grace=KILL_GRACE)

    async def close(self) -> None:
        """End Claude and all that it started, also what runs in groups of its own."""
        self.is_closing = True
        if self._child is not None:
            await self._child.end()

    leave = close  # it is our child, and ends with us

    def lost(self) -> None:
        """The callback for the loss of the child. One that is lost before it is used, `use` notices."""
        if self._child is None:
            return
        if self.is_closing:
            self._gone = say("runtimes.program_stopped", name=TITLE)
        else:
            self._gone = say("runtimes.program_gone", name=TITLE, fate=self._child.exit_reason())
        for future in self._open.values():
            if not future.done():
                future.set_exception(RuntimeLost(self._gone))
        self._open.clear()
        self._listener.lost(self._gone)
        self._on_lost(self._gone)


async def connect(
    argv: list[str],
    folder: str,
    config: ClaudeConfig,
    clock: Clock,
    marks: Marks,
    listener: Listener,
    on_lost: OnLost = ignore,
) -> Connection:
    """Start Claude as our child. On failure it raises RuntimeTrouble and leaves no process."""
    connection = Connection(config, clock, listener, on_lost)
    try:
        child = await spawn(
            argv,
            marks.next(),
            clock,
            connection.feed,
            name="claude",
            env=arguments.environment(config),
            cwd=folder,
            on_lost=connection.lost,
        )
    except NotADirectoryError as error:
        raise problems.folder_gone(folder) from error
    except FileNotFoundError as error:
        raise _not_found(argv[0], folder, error) from error
    except OSError as error:
        raise problems.unusable(argv[0], say("claude.system_says", error=error.strerror or str(error))) from error
    connection.use(child)
    await _handshake(connection, argv[0], config.start_timeout)
    return connection


def _not_found(path: str, folder: str, error: OSError) -> RuntimeTrouble:
    return problems.folder_gone(folder) if error.filename == folder else problems.missing(path)


_WISHES: dict[str, object] = {"hooks": None, "forwardNestedSubagentToolCalls": True}  # what sub-agents of sub-agents do


async def _handshake(connection: Connection, path: str, time_limit: float) -> None:
    try:
        told = wire.read(await connection.ask("initialize", time_limit, **_WISHES), wire.Initialized)
        connection.models = _models(told or wire.Initialized())
    except Refused as error:
        await connection.close()
        raise problems.refuses(say("claude.do_start"), str(error)) from error
    except RuntimeLost as lost:
        why = await connection.start_error(path)
        await connection.close()
        raise why from lost
    except BaseException:
        await connection.close()
        raise


def _models(told: wire.Initialized) -> tuple[ModelInfo, ...]:
    offered = (wire.convert(each, wire.Model) for each in told.models)
    return tuple(
        ModelInfo(each.value, each.display_name, tuple(map(str, each.supported_effort_levels or ())))
        for each in offered
        if each is not None and each.value
    )


def _decode(line: bytes) -> wire.Frame:
    """Decode a line even if it has broken characters, or a field of another shape than we know."""
    try:
        return _decoder.decode(line)
    except msgspec.ValidationError:
        return _bare(line)
    except ValueError:
        return _decoder.decode(repaired(line))


def _bare(line: bytes) -> wire.Frame:
    """Keep the fields that have the shape that we know."""
    fields = msgspec.json.decode(line)
    if not isinstance(fields, dict):
        raise ValueError("not an object")
    names = {each.encode_name: each.type for each in msgspec.structs.fields(wire.Frame)}
    kept = {name: value for name, value in fields.items() if name in names and _fits(value, names[name])}
    return _decoder.decode(msgspec.json.encode(kept))


def _fits(value: object, kind: Any) -> bool:
    if kind is msgspec.Raw:
        return True
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return False
    return True
