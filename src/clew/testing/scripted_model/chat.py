"""Plays scripts over the chat-completions API, which most agents other than Codex use.

A request without tools does not come from a person: agents use such requests to make titles or to judge commands. It
gets a meaningless word."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from clew.testing.scripted_model.play import Player, SingleAct, Trouble
from clew.testing.scripted_model.request import flat
from clew.testing.scripted_model.script import Cut, Hold, Limit, Patch, Say, Shell, Status, Step, Tool

SHELLS = ("terminal", "bash", "shell", "run_shell_command", "Bash", "Shell", "execute_bash", "execute", "Execute")
WRITERS = {"write_file": ("path", "content"), "write": ("filePath", "content")}
ASIDE = "noted"
_ADDED = re.compile(r"<(info-msg|current_datetime|system_reminder|system-reminder)>.*?</\1>", re.DOTALL)


class ChatRequest(Struct, frozen=True):
    body: dict[str, Any]

    @property
    def is_aside(self) -> bool:
        return not self.body.get("tools")

    @property
    def prompts(self) -> list[str]:
        return [text for _, text in self._said()]

    @property
    def prompt(self) -> str:
        """The newest prompt. Some agents put unanswered ones before it, with a blank line between."""
        return self.prompts[-1].rpartition("\n\n")[2] if self.prompts else ""

    @property
    def acts_done(self) -> int:
        """How many tool calls of the newest prompt have a result."""
        newest = max((index for index, _ in self._said()), default=-1)
        return sum(message.get("role") == "tool" for message in self._messages[newest + 1 :])

    @property
    def outputs(self) -> list[str]:
        return [flat(message.get("content")) for message in self._messages if message.get("role") == "tool"]

    def tool(self, *names: str) -> dict[str, Any] | None:
        """Return the first of these tools that the agent offers."""
        offered = {each["function"]["name"]: each["function"] for each in self.body.get("tools", ())}
        return next((offered[name] for name in names if name in offered), None)

    def _said(self) -> Iterator[tuple[int, str]]:
        """The messages of people, without what agents add in their name."""
        for index, message in enumerate(self._messages):
            if message.get("role") == "user" and (text := _ADDED.sub("", flat(message.get("content"))).strip("\n")):
                yield index, text

    @property
    def _messages(self) -> list[dict[str, Any]]:
        return list(self.body.get("messages", ()))


class ChatPlayer(Player[ChatRequest]):
    _is_first = True
    _calls = 0
    _said = ""  # if the agent wants the response as a whole
    _made: tuple[dict[str, Any], ...] = ()

    async def aside(self) -> None:
        await self.play([Say(ASIDE)])

    async def _step(self, step: Step) -> None:
        if isinstance(step, Hold):
            await self._delta({"content": ""})  # so that the agent sees the start
        await super()._step(step)

    async def _say(self, step: Say) -> None:
        for index, piece in enumerate(step.words):
            begins = "" if self._is_first or index else "\n"
            await self._delta({"content": begins + piece})
            self._is_first = False
            if step.interval_ms:
                await self._clock.sleep(step.interval_ms / 1000)

    async def _think(self, text: str) -> None:
        await self._delta({"reasoning_content": text})

    async def _act(self, step: SingleAct) -> None:
        if not isinstance(step, Shell | Patch | Tool):
            await self._say(Say(f"(this agent has nothing for {type(step).__name__.lower()})"))
            return
        name, arguments = call(self._request, step)
        function = {"name": name, "arguments": json.dumps(arguments)}
        made = {"index": self._calls, "id": f"call_{self._id}_{self._calls}", "type": "function", "function": function}
        self._calls += 1
        await self._delta({"tool_calls": [made]})

    async def _fail(self, step: Trouble) -> None:
        if isinstance(step, Cut) or self._reply.is_started:
            self._reply.cut()
        else:
            code = {Status: getattr(step, "code", 500), Limit: 429}.get(type(step), 500)
            said = getattr(step, "code", "limit")
            error = {"message": f"the script says {said}", "type": "scripted", "code": str(said)}
            await self._reply.json(code, {"error": error})

    async def _complete(self) -> None:
        reason = "tool_calls" if self._calls else "stop"
        if not self._request.body.get("stream"):
            made = {"tool_calls": list(self._made)} if self._made else {}
            choice = {"index": 0, "message": {"role": "assistant", "content": self._said, **made}}
            whole = {"choices": [{**choice, "finish_reason": reason}], "usage": _USAGE}
            await self._reply.json(200, {**self._frame(), "object": "chat.completion", **whole})
            return
        await self._delta({}, reason)
        await self._reply.data({**self._frame(), "choices": [], "usage": _USAGE})
        await self._reply.raw(b"data: [DONE]\n\n")

    async def _delta(self, delta: dict[str, Any], finish: str | None = None) -> None:
        if not self._request.body.get("stream"):
            self._said += delta.get("content", "")
            self._made += tuple(delta.get("tool_calls", ()))
            return
        choice = {"index": 0, "delta": {"role": "assistant", **delta}, "finish_reason": finish}
        await self._reply.data({**self._frame(), "choices": [choice]})

    def _frame(self) -> dict[str, Any]:
        model = self._request.body.get("model", "scripted")
        return {"id": f"chatcmpl-{self._id}", "object": "chat.completion.chunk", "created": 0, "model": model}


_USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}


def call(request: ChatRequest, step: Shell | Patch | Tool) -> tuple[str, dict[str, Any]]:
    """Return the agent's tool for a step, and its arguments."""
    match step:
        case Shell(command):
            tool = request.tool(*SHELLS) or {"name": SHELLS[0]}
            return str(tool["name"]), {**_required(tool), "command": command}
        case Patch(path, text):
            name = str((request.tool(*WRITERS) or {"name": "write_file"})["name"])
            where, what = WRITERS[name]
            return name, {where: path, what: text}
        case Tool(name=name, arguments=arguments):
            return name, json.loads(arguments)


def _required(tool: dict[str, Any]) -> dict[str, Any]:
    """Something for each argument that a tool requires, and for a description."""
    about = tool.get("parameters", {})
    fields = about.get("properties", {})
    return {
        name: _something(field)
        for name, field in fields.items()
        if name in about.get("required", ()) or name == "description"
    }


def _something(field: dict[str, Any]) -> Any:
    if field.get("enum"):
        return field["enum"][0]
    return {"boolean": False, "number": 1, "integer": 1, "array": [], "object": {}}.get(
        str(field.get("type")), "The script says so"
    )
