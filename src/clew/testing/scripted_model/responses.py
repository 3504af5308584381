"""Plays a script as one streamed response of the Responses API, which Codex uses."""

from __future__ import annotations

import json
from typing import Any

from clew.support.text import Pieces
from clew.testing.scripted_model.play import Player, SingleAct, Trouble
from clew.testing.scripted_model.request import Request
from clew.testing.scripted_model.script import Aside, Ask, Error, Patch, Permit, Plan, Say, Shell, Status, Tool

CODE_MODE = "exec"  # newer models have only this tool, and write JavaScript that calls the others
OWN = frozenset({"multi_agent_v1"})  # namespaces of Codex's own tools
SHELLS = ("exec_command", "shell_command", "shell")


class ResponsePlayer(Player[Request]):
    _items = 0
    _message: tuple[str, Pieces] | None = None  # the open message: id, text so far
    _words = 0

    async def _say(self, step: Say) -> None:
        item, text = await self._open_message()
        pieces = step.words
        for index, piece in enumerate(pieces):
            piece = f"\n{piece}" if text.length and index == 0 else piece
            text.add(piece)
            await self._event("response.output_text.delta", item_id=item, content_index=0, delta=piece)
            if step.interval_ms and index < len(pieces) - 1:
                await self._clock.sleep(step.interval_ms / 1000)
        self._words += len(pieces)

    async def _open_message(self) -> tuple[str, Pieces]:
        if self._message is None:
            self._message = f"msg_{self._id}_{self._items}", Pieces()
            await self._event("response.output_item.added", item=_message(*self._message))
        return self._message

    async def _close_message(self) -> None:
        if self._message is not None:
            await self._event("response.output_item.done", item=_message(*self._message))
            self._message = None
            self._items += 1

    async def _think(self, text: str) -> None:
        await self._close_message()
        item = f"rs_{self._id}_{self._items}"
        empty = {"type": "reasoning", "id": item, "summary": []}
        await self._event("response.output_item.added", item=empty)
        await self._event("response.reasoning_summary_part.added", item_id=item, summary_index=0)
        await self._event("response.reasoning_summary_text.delta", item_id=item, summary_index=0, delta=text)
        whole = {**empty, "summary": [{"type": "summary_text", "text": text}]}
        await self._event("response.output_item.done", item=whole)
        self._items += 1

    async def _item(self, item: dict[str, Any]) -> None:
        await self._event("response.output_item.added", item=item)
        await self._event("response.output_item.done", item=item)
        self._items += 1

    async def _act(self, step: SingleAct) -> None:
        await self._close_message()
        ids = {"call_id": f"call_{self._id}_{self._items}", "id": f"fc_{self._id}_{self._items}"}
        await self._item({**ids, **call(self._request, step)})

    async def _fail(self, step: Trouble) -> None:
        match step:
            case Status(code) if not self._reply.is_started:
                await self._reply.json(code, {"error": {"message": f"the script says {code}", "code": str(code)}})
            case Error(code):
                error = {"code": code, "message": f"the script says {code}"}
                await self._event("response.failed", response={"id": self._id, "error": error})
                await self._reply.end()
            case _:
                self._reply.cut()

    async def _complete(self) -> None:
        await self._close_message()
        await self._event("response.completed", response={"id": self._id, "usage": self._usage()})

    async def _event(self, kind: str, **value: object) -> None:
        if not self._reply.is_started:
            await self._reply.event("response.created", {"response": {"id": self._id}})
        await self._reply.event(kind, {"output_index": self._items, **value})

    def _usage(self) -> dict[str, object]:
        words = len(self._request.prompt.split())
        return {
            "input_tokens": words,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": self._words,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": words + self._words,
        }


def call(request: Request, step: SingleAct) -> dict[str, Any]:
    """Return the tool call for a step."""
    match step:
        case Shell(command, beyond):
            return beyond_call(command) if beyond else shell_call(request, command)
        case Patch(path, text):
            return patch_call(request, path, text)
        case Tool(server, name, arguments):
            namespace = server if server in OWN else f"mcp__{server}"
            return {**function(name, json.loads(arguments)), "namespace": namespace}
        case Permit(path):
            asked = {"network": {"enabled": True}, "file_system": {"write": [path]}}
            return function("request_permissions", {"reason": "the script says so", "permissions": asked})
        case Ask():
            return function("request_user_input", {"questions": [_question(step)]})
        case Aside(question, options):
            return function("request_user_input_async", {"questions": [{"title": question, "options": options}]})
        case Plan(steps):
            return function("update_plan", {"plan": _plan(steps)})


def function(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"type": "function_call", "name": name, "arguments": json.dumps(arguments)}


def custom(name: str, text: str) -> dict[str, Any]:
    return {"type": "custom_tool_call", "name": name, "input": text}


def shell_call(request: Request, command: str) -> dict[str, Any]:
    if (tool := request.tool(*SHELLS, CODE_MODE) or {}).get("name") == CODE_MODE:
        given = json.dumps({"cmd": command, "login": False})
        return custom(CODE_MODE, f"text(JSON.stringify(await tools.exec_command({given})))")
    fields = tool.get("parameters", {}).get("properties", {})
    key = "cmd" if "cmd" in fields else "command"
    is_list = fields.get(key, {}).get("type") == "array"
    plain = {"login": False} if "login" in fields else {}  # without the person's own shell configuration
    arguments = {key: ["bash", "-c", command] if is_list else command, **plain}
    return function(str(tool.get("name", SHELLS[0])), arguments)


def beyond_call(command: str) -> dict[str, Any]:
    why = {"sandbox_permissions": "require_escalated", "justification": "the script says so"}
    return function(SHELLS[0], {"cmd": command, "login": False, **why})


def patch_call(request: Request, path: str, text: str) -> dict[str, Any]:
    lines = text.replace("\n", "\n+")
    patch = f"*** Begin Patch\n*** Add File: {path}\n+{lines}\n*** End Patch\n"
    match request.tool("apply_patch", CODE_MODE):
        case {"name": "apply_patch", "type": "custom"}:
            return custom("apply_patch", patch)
        case {"name": "exec"}:
            return custom(CODE_MODE, f"text(await tools.apply_patch({json.dumps(patch)}))")
        case _:
            return function("apply_patch", {"input": patch})


def _message(item: str, said: Pieces) -> dict[str, Any]:
    text = said.text()
    content = [{"type": "output_text", "text": text, "annotations": []}] if text else []
    return {"type": "message", "role": "assistant", "id": item, "content": content}


def _question(ask: Ask) -> dict[str, Any]:
    choices = [{"label": option, "description": option} for option in ask.options]
    secret = {"isSecret": True} if ask.secret else {}
    return {"id": "question", "header": "Question", "question": ask.question, "options": choices, **secret}


def _plan(steps: tuple[str, ...]) -> list[dict[str, str]]:
    return [{"step": step, "status": "in_progress" if index == 0 else "pending"} for index, step in enumerate(steps)]
