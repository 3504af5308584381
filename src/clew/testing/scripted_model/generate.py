"""Plays scripts over Google's Gemini API, which Gemini CLI uses.

A request without tools does not come from a person: Gemini CLI uses such requests to judge and to shorten. It gets a
meaningless word."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from clew.testing.scripted_model.play import Player, SingleAct, Trouble
from clew.testing.scripted_model.script import Cut, Hold, Limit, Patch, Say, Shell, Status, Step, Tool

ASIDE = "noted"
_ADDED = re.compile(r"<(session_context|hook_context|system-reminder)>.*?</\1>", re.DOTALL)
_USAGE = {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}


class GenerateRequest(Struct, frozen=True):
    body: dict[str, Any]
    is_streamed: bool = True

    @property
    def is_aside(self) -> bool:
        return not any(each.get("functionDeclarations") for each in self.body.get("tools") or ())

    @property
    def prompts(self) -> list[str]:
        """The messages of people, oldest first, without what Gemini CLI adds in their name."""
        return [text for _, text in self._said()]

    @property
    def prompt(self) -> str:
        return self.prompts[-1] if self.prompts else ""

    @property
    def acts_done(self) -> int:
        """How many tool calls of the newest prompt have a result."""
        newest = max((index for index, _ in self._said()), default=-1)
        return sum(1 for index, _ in self._results() if index > newest)

    @property
    def outputs(self) -> list[str]:
        """The results of the tools, as the model sees them."""
        return [str(response.get("response")) for _, response in self._results()]

    def tool(self, *names: str) -> dict[str, Any] | None:
        """Return the first of these tools that the agent offers."""
        declared = [each for tools in self.body.get("tools") or () for each in tools.get("functionDeclarations", ())]
        offered = {each.get("name"): each for each in declared}
        return next((offered[name] for name in names if name in offered), None)

    def _said(self) -> Iterator[tuple[int, str]]:
        for index, content in enumerate(self._contents):
            texts = [str(part["text"]) for part in content.get("parts", ()) if "text" in part]
            if content.get("role") == "user" and (text := _ADDED.sub("", "\n".join(texts)).strip("\n")):
                yield index, text

    def _results(self) -> Iterator[tuple[int, dict[str, Any]]]:
        for index, content in enumerate(self._contents):
            for part in content.get("parts", ()):
                if "functionResponse" in part:
                    yield index, part["functionResponse"]

    @property
    def _contents(self) -> list[dict[str, Any]]:
        return list(self.body.get("contents", ()))


class GeneratePlayer(Player[GenerateRequest]):
    _is_first = True

    async def aside(self) -> None:
        if self._request.is_streamed:
            await self.play([Say(ASIDE)])
            return
        await self._reply.json(200, _frame([{"text": ASIDE}], "STOP"))

    async def _step(self, step: Step) -> None:
        if isinstance(step, Hold):
            await self._send([{"text": ""}])  # so that the agent sees the start
        await super()._step(step)

    async def _say(self, step: Say) -> None:
        for index, piece in enumerate(step.words):
            begins = "" if self._is_first or index else "\n"
            await self._send([{"text": begins + piece}])
            self._is_first = False
            if step.interval_ms:
                await self._clock.sleep(step.interval_ms / 1000)

    async def _think(self, text: str) -> None:
        await self._send([{"text": text, "thought": True}])

    async def _act(self, step: SingleAct) -> None:
        if not isinstance(step, Shell | Patch | Tool):
            await self._say(Say(f"(this agent has nothing for {type(step).__name__.lower()})"))
            return
        name, arguments = call(step)
        await self._send([{"functionCall": {"name": name, "args": arguments}}])

    async def _fail(self, step: Trouble) -> None:
        if isinstance(step, Cut) or self._reply.is_started:
            self._reply.cut()
            return
        code = {Status: getattr(step, "code", 500), Limit: 429}.get(type(step), 500)
        said = getattr(step, "code", "limit")
        error = {"code": code, "message": f"the script says {said}", "status": "SCRIPTED"}
        await self._reply.json(code, {"error": error})

    async def _complete(self) -> None:
        await self._reply.data(_frame([{"text": ""}], "STOP"))

    async def _send(self, parts: list[dict[str, Any]]) -> None:
        await self._reply.data(_frame(parts))


def _frame(parts: list[dict[str, Any]], finish: str | None = None) -> dict[str, Any]:
    candidate: dict[str, Any] = {"index": 0, "content": {"role": "model", "parts": parts}}
    if finish is None:
        return {"candidates": [candidate]}
    return {"candidates": [{**candidate, "finishReason": finish}], "usageMetadata": _USAGE}


def call(step: Shell | Patch | Tool) -> tuple[str, dict[str, Any]]:
    """Return the tool of Gemini CLI for a step, and its arguments."""
    match step:
        case Shell(command):
            return "run_shell_command", {"command": command, "description": "the script says so"}
        case Patch(path, text):
            return "write_file", {"file_path": path, "content": text}
        case Tool(name=name, arguments=arguments):
            return name, json.loads(arguments)
