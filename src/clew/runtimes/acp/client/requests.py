"""Handles the requests of an agent in a turn: permissions, files, commands. A person decides about every change, unless
an unused yes to exactly that exists. Reading inside the workspace is always allowed."""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from clew.model.events import ActivityKind
from clew.model.gates import Answer, Asked, GateKind
from clew.runtimes import file_changes
from clew.runtimes.acp import tools, wire
from clew.runtimes.acp.approvals import changes, permissions, plans
from clew.runtimes.acp.approvals.changes import Change
from clew.runtimes.acp.approvals.grants import Grant, Run, Write
from clew.runtimes.acp.approvals.permissions import Pending
from clew.runtimes.acp.approvals.plans import Plan
from clew.runtimes.acp.client import files, terminals
from clew.runtimes.acp.connection import Connection
from clew.runtimes.acp.turn.live_turn import Live
from clew.runtimes.jsonrpc import RequestId
from clew.support.errors import BadInput, RuntimeLost
from clew.texts import doubts
from clew.texts.together import lines

log = logging.getLogger(__name__)

Handler = Callable[["RequestHandler", RequestId, msgspec.Raw], Awaitable[Any]]
ANNOUNCED = 2.0  # seconds to wait for the complete announcement of a command that the agent asks about
_LATER = object()  # result of a handler whose response is sent elsewhere


class RequestHandler:
    """Handles the requests of one turn."""

    def __init__(self, connection: Connection, live: Live, workspace: str, own: terminals.Terminals) -> None:
        self._connection = connection
        self._live = live
        self._workspace = workspace
        self._terminals = own
        self._quirks = connection.entry.quirks
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, id: RequestId, method: str, params: msgspec.Raw) -> bool:
        """Start handling a request, without blocking; False: its kind is unknown."""
        if (handler := _HANDLERS.get(method)) is None:
            return False
        reference = self._connection.reference(id)
        task = asyncio.get_running_loop().create_task(self._serve(id, handler, params))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda _: self._connection.forget_request(id, reference))
        return True

    def close(self) -> None:
        for task in self._tasks:
            task.cancel()

    async def _permission(self, id: RequestId, params: msgspec.Raw) -> Any:
        """Ask a person, and ask again whenever the request changes. `send` responds at once when the answer arrives, so
        that no yes follows a stop."""
        request = self._about_open_call(_read(params, wire.PermissionRequest))

        def send(answer: Answer) -> None:
            self._connection.answer(id, permissions.to_response(request.options, answer))

        ref, numbers = self._connection.reference(id), itertools.count(2)
        await self._wait_announced(request)
        pending = await self._prepare(ref, request, send)
        while not await self._is_settled(pending):
            self._live.withdraw(pending)
            pending = await self._prepare(f"{ref}.{next(numbers)}", request, send)
        return _LATER

    def _about_open_call(self, request: wire.PermissionRequest) -> wire.PermissionRequest:
        """A request of an agent that only asks whether it may go on is about the one call that it has announced."""
        known, wanted = self._live.translation, self._quirks.confirms
        is_unclear = known.tool(request.tool_call.tool_call_id) is None and request.tool_call.raw_input is None
        waiting = [each.item for each in known.activities if each.outcome is None]
        if not (wanted and is_unclear and len(waiting) == 1):
            return request
        options = tuple(option for option in request.options if option.option_id in wanted)
        return replace(request, tool_call=wire.ToolCall(waiting[0]), options=options)

    async def _is_settled(self, pending: Pending) -> bool:
        """Open the gate and wait. True: it was answered. False: the request or the file has changed."""
        self._live.ask(pending)
        while not pending.is_answered and pending.is_current():
            self._live.changed.clear()
            await self._live.changed.wait()
        return pending.is_answered

    async def _wait_announced(self, request: wire.PermissionRequest) -> None:
        """Wait for the announcement: some agents ask a moment before they say where a command runs."""
        call = request.tool_call
        with suppress(TimeoutError):
            async with asyncio.timeout(ANNOUNCED):
                while not plans.is_announced(
                    self._live.translation.tool(call.tool_call_id), call, self._quirks.edit_tools
                ):
                    self._live.changed.clear()
                    await self._live.changed.wait()

    def _announced(self, request: wire.PermissionRequest) -> wire.ToolCall | None:
        known = self._live.translation.tool(request.tool_call.tool_call_id)
        return tools.with_arguments(known) if known is not None and self._quirks.arguments_as_text else known

    def _plan(self, request: wire.PermissionRequest) -> Plan:
        quirks = self._quirks
        return plans.read(
            self._announced(request),
            request.tool_call,
            self._workspace,
            runs_in_workspace=quirks.runs_in_workspace,
            edit_tools=self._quirks.edit_tools,
            untyped_commands=quirks.untyped_commands,
        )

    async def _prepare(self, ref: str, request: wire.PermissionRequest, send: Callable[[Answer], None]) -> Pending:
        plan = self._plan(request)
        found = [await asyncio.to_thread(changes.propose, self._workspace, part) for part in plan.diffs]
        whole = await asyncio.to_thread(changes.check, plan, found)
        shown = self._asked(request, whole, found)
        known = self._live.translation
        call = tools.merge(known.tool(request.tool_call.tool_call_id), request.tool_call)
        item, agents = self._item(request.tool_call.tool_call_id, shown), known.agents_above(call)
        asked = replace(shown, item=item, agents=agents)
        granted: list[Grant] = [*_runs(plan), *(each.grant for each in found if each.grant is not None)]

        def is_current() -> bool:
            is_same = self._plan(request) == plan and self._asked(request, whole, found) == shown
            return is_same and all(each.is_current() for each in found)

        return Pending(ref, asked, send, tuple(granted), is_current)

    def _asked(self, request: wire.PermissionRequest, plan: Plan, found: Sequence[Change]) -> Asked:
        """Return what a person would be shown now: the agent may change the words of a call at any time."""
        call = tools.merge(self._live.translation.tool(request.tool_call.tool_call_id), request.tool_call)
        asked = permissions.asked(request, call, plan, lines(*(each.shown for each in found)))
        return changes.with_doubts(asked, found)

    def _item(self, id: str, asked: Asked) -> str | None:
        """Return the activity that waits at this gate; some agents ask with another id than they act."""
        if self._live.translation.tool(id) is not None:
            return id
        open_now = [each for each in self._live.translation.activities if each.outcome is None]
        alike = [each.item for each in open_now if each.kind is ActivityKind.COMMAND and each.title == asked.title]
        return alike[-1] if alike else None

    async def _serve(self, id: RequestId, handler: Handler, params: msgspec.Raw) -> None:
        try:
            if (result := await handler(self, id, params)) is not _LATER:
                self._reply(id, result)
        except BadInput as bad:
            self._refuse(id, wire.INVALID, bad.message)
        except FileNotFoundError as error:
            self._refuse(id, wire.NOT_FOUND, str(error))
        except (OSError, ValueError) as error:
            self._refuse(id, wire.INVALID, str(error))
        except Exception:  # the agent needs a response in any case
            log.exception("could not serve a request of turn %s", self._live.turn)
            self._refuse(id, wire.INTERNAL, "clew itself failed on this request")

    def _reply(self, id: RequestId, result: Any) -> None:
        try:
            self._connection.answer(id, result)
        except RuntimeLost:
            log.debug("the agent is gone; no response to %r", id)

    def _refuse(self, id: RequestId, code: int, message: str) -> None:
        log.info("refused a request of the agent: %s", message)
        try:
            self._connection.refuse(id, code, message)
        except RuntimeLost:
            log.debug("the agent is gone; no response to %r", id)

    async def _read_file(self, id: RequestId, params: msgspec.Raw) -> Any:
        request = _read(params, wire.FileRequest)
        path = files.inside(self._workspace, request.path)
        return {"content": await asyncio.to_thread(files.read, path, request.line, request.limit)}

    async def _write_file(self, id: RequestId, params: msgspec.Raw) -> Any:
        request = _read(params, wire.FileRequest)
        path = files.inside(self._workspace, request.path)
        if "\0" in request.content:
            raise BadInput("a text has no NUL in it")
        found = await asyncio.to_thread(file_changes.look, path)
        if not self._live.granted.use(Write(str(path), request.content, found.mark)):
            await self._require_yes(id, await asyncio.to_thread(changes.ask_rewrite, path, found, request.content))
        self._refuse_if_stopped()
        files.check_unmoved(self._workspace, request.path, path)
        await asyncio.to_thread(files.write, path, request.content, found.mark)
        return {}

    async def _create_terminal(self, id: RequestId, params: msgspec.Raw) -> Any:
        request = _read(params, wire.TerminalRequest)
        where = files.inside(self._workspace, request.cwd or ".")
        plan = terminals.plan(request, plans.resolved(str(where), self._workspace))
        plan = replace(plan, argv=plans.without_shell(plan.argv, self._quirks.shell))
        if not any(self._live.granted.use(run) for run in _runs(plan)):
            unjudged = doubts.joined(plan.doubts)
            await self._require_yes(id, Asked(GateKind.COMMAND, plan.command, folder=plan.folder, unjudged=unjudged))
        self._refuse_if_stopped()
        files.check_unmoved(self._workspace, request.cwd or ".", where)
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

    async def _require_yes(self, id: RequestId, asked: Asked) -> None:
        """Ask a person. Raises BadInput if the answer is no."""
        self._refuse_if_stopped()
        answered: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._live.ask(Pending(self._connection.reference(id), asked, answered.set_result))
        answer = await answered
        if not answer.is_yes:
            raise BadInput(f"not allowed{f': {answer.reason}' if answer.reason else ''}")

    def _refuse_if_stopped(self) -> None:
        """Raises BadInput if the turn was stopped: an earlier yes does not count any more."""
        if self._live.is_ending:
            raise BadInput("the turn was stopped")


T = TypeVar("T")


def _read(params: msgspec.Raw, kind: type[T]) -> T:
    if (found := wire.read(params, kind)) is None:
        raise BadInput("clew cannot read this request")
    return found


def _runs(plan: Plan) -> list[Run]:
    """Return what a yes grants; nothing if the command or its folder is unknown."""
    known = bool(plan.argv) and plan.folder is not None
    return [Run(plan.argv, os.path.realpath(plan.folder or ""), plan.env)] if known else []


_HANDLERS: dict[str, Handler] = {
    "session/request_permission": RequestHandler._permission,
    "fs/read_text_file": RequestHandler._read_file,
    "fs/write_text_file": RequestHandler._write_file,
    "terminal/create": RequestHandler._create_terminal,
    "terminal/output": RequestHandler._terminal_output,
    "terminal/wait_for_exit": RequestHandler._terminal_exit,
    "terminal/kill": RequestHandler._kill_terminal,
    "terminal/release": RequestHandler._release_terminal,
}
