"""What an agent asks of us in a turn: permission, files, commands. A person decides about what changes something,
unless a yes to just that was given before; what only reads is given, inside the workspace."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from clew.asking import Answer, Asked, GateKind
from clew.errors import BadInput, RuntimeLost
from clew.events import ActivityKind
from clew.runtimes.acp import files, permissions, terminals, tools, wire
from clew.runtimes.acp.connection import Connection
from clew.runtimes.acp.live import Live
from clew.runtimes.acp.permissions import Pending
from clew.runtimes.jsonrpc import RequestId

log = logging.getLogger(__name__)

Handler = Callable[["Desk", RequestId, msgspec.Raw], Awaitable[Any]]


class Desk:
    """Serves one turn."""

    def __init__(self, connection: Connection, live: Live, workspace: str, own: terminals.Terminals) -> None:
        self._connection = connection
        self._live = live
        self._workspace = workspace
        self._terminals = own
        self._tasks: set[asyncio.Task[None]] = set()

    def take(self, id: RequestId, method: str, params: msgspec.Raw) -> bool:
        """False: nobody here knows such a request. It is answered later, and holds nothing up."""
        if method == "session/request_permission":
            self._permission(id, params)
            return True
        if (handler := _HANDLERS.get(method)) is None:
            return False
        task = asyncio.get_running_loop().create_task(self._serve(id, handler, params))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return True

    def close(self) -> None:
        for task in self._tasks:
            task.cancel()

    def _permission(self, id: RequestId, params: msgspec.Raw) -> None:
        request = wire.read(params, wire.PermissionRequest)
        if request is None:
            self._connection.refuse(id, wire.INVALID, "clew cannot read this request")
            return
        call = tools.merge(self._live.translation.tool(request.tool_call.tool_call_id), request.tool_call)
        asked = permissions.asked(request, call, self._workspace)
        item = self._item(request.tool_call.tool_call_id, asked)

        def send(answer: Answer) -> None:
            self._connection.answer(id, permissions.outcome(request.options, answer))

        self._live.ask(Pending(self._ref(id), replace(asked, item=item), send))

    def _item(self, id: str, asked: Asked) -> str | None:
        """The activity that stands at this gate; some agents ask under another name than they act."""
        if self._live.translation.tool(id) is not None:
            return id
        open_now = [each for each in self._live.translation.activities if each.outcome is None]
        alike = [each.item for each in open_now if each.kind is ActivityKind.COMMAND and each.title == asked.title]
        return alike[-1] if alike else None

    async def _serve(self, id: RequestId, handler: Handler, params: msgspec.Raw) -> None:
        try:
            self._reply(id, await handler(self, id, params))
        except BadInput as bad:
            self._refuse(id, wire.INVALID, bad.message)
        except FileNotFoundError as error:
            self._refuse(id, wire.NOT_FOUND, str(error))
        except (OSError, ValueError) as error:
            self._refuse(id, wire.INVALID, str(error))
        except Exception:  # the agent waits for an answer, whatever it is
            log.exception("could not serve a request of turn %s", self._live.turn)
            self._refuse(id, wire.INTERNAL, "clew itself failed on this request")

    def _reply(self, id: RequestId, result: Any) -> None:
        try:
            self._connection.answer(id, result)
        except RuntimeLost:
            log.debug("nobody is there any more for the answer to %r", id)

    def _refuse(self, id: RequestId, code: int, message: str) -> None:
        log.info("refused the agent a request: %s", message)
        try:
            self._connection.refuse(id, code, message)
        except RuntimeLost:
            log.debug("nobody is there any more for the answer to %r", id)

    async def _read_file(self, id: RequestId, params: msgspec.Raw) -> Any:
        request = _read(params, wire.FileRequest)
        path = files.inside(self._workspace, request.path)
        return {"content": await asyncio.to_thread(files.read, path, request.line, request.limit)}

    async def _write_file(self, id: RequestId, params: msgspec.Raw) -> Any:
        request = _read(params, wire.FileRequest)
        path = files.inside(self._workspace, request.path)
        before = await asyncio.to_thread(files.current, path)
        detail = tools.diff(str(path), before, request.content)
        if not {str(path), request.path} & self._live.granted:
            await self._must_be_allowed(id, Asked(GateKind.CHANGE, str(path), detail, paths=(str(path),)))
        self._refuse_if_stopped()
        await asyncio.to_thread(files.write, path, request.content)
        return {}

    async def _create_terminal(self, id: RequestId, params: msgspec.Raw) -> Any:
        request = _read(params, wire.TerminalRequest)
        where = files.inside(self._workspace, request.cwd or ".")
        terminals.argv(request)
        command = terminals.shown(request)
        if command not in self._live.granted:
            await self._must_be_allowed(id, Asked(GateKind.COMMAND, command, folder=str(where)))
        self._refuse_if_stopped()
        self._live.granted.discard(command)  # one yes, one execution
        return {"terminalId": await self._terminals.create(request, self._connection.mark())}

    async def _terminal_output(self, id: RequestId, params: msgspec.Raw) -> Any:
        return self._terminals.get(_read(params, wire.TerminalRequest).terminal_id).output()

    async def _terminal_exit(self, id: RequestId, params: msgspec.Raw) -> Any:
        return await self._terminals.get(_read(params, wire.TerminalRequest).terminal_id).exit()

    async def _kill_terminal(self, id: RequestId, params: msgspec.Raw) -> Any:
        await self._terminals.get(_read(params, wire.TerminalRequest).terminal_id).end()
        return {}

    async def _release_terminal(self, id: RequestId, params: msgspec.Raw) -> Any:
        await self._terminals.release(_read(params, wire.TerminalRequest).terminal_id)
        return {}

    async def _must_be_allowed(self, id: RequestId, asked: Asked) -> None:
        """Raises BadInput where the answer is no."""
        answered: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._live.ask(Pending(self._ref(id), asked, answered.set_result))
        answer = await answered
        if not answer.is_yes:
            raise BadInput(f"not allowed{f': {answer.reason}' if answer.reason else ''}")

    def _refuse_if_stopped(self) -> None:
        """A yes does not outlive a stop, though the agent may only now ask for what it was allowed. Raises BadInput."""
        if self._live.is_ending:
            raise BadInput("the turn was stopped")

    def _ref(self, id: RequestId) -> str:
        return f"{self._connection.token}:{id}"


T = TypeVar("T")


def _read(params: msgspec.Raw, kind: type[T]) -> T:
    if (found := wire.read(params, kind)) is None:
        raise BadInput("clew cannot read this request")
    return found


_HANDLERS: dict[str, Handler] = {
    "fs/read_text_file": Desk._read_file,
    "fs/write_text_file": Desk._write_file,
    "terminal/create": Desk._create_terminal,
    "terminal/output": Desk._terminal_output,
    "terminal/wait_for_exit": Desk._terminal_exit,
    "terminal/kill": Desk._kill_terminal,
    "terminal/release": Desk._release_terminal,
}
