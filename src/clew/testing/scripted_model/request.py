"""The parts of a Responses-API request from Codex that a script needs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from clew.testing.scripted_model.script import Act, Step, calls


class Request(Struct, frozen=True):
    body: dict[str, Any]

    @property
    def prompts(self) -> list[str]:
        """The messages of people, oldest first, without those that Codex adds in their name."""
        return [text for _, text in self._said()]

    @property
    def prompt(self) -> str:
        return self.prompts[-1] if self.prompts else ""

    @property
    def acts_done(self) -> int:
        """How many tool calls of the newest prompt have a result."""
        newest = max((index for index, _ in self._said()), default=-1)
        return sum(str(item.get("type", "")).endswith("_output") for item in self._input[newest + 1 :])

    @property
    def outputs(self) -> list[str]:
        """The outputs of the tools, as the model sees them."""
        return [flat(item.get("output")) for item in self._input if str(item.get("type", "")).endswith("_output")]

    def tool(self, *names: str) -> dict[str, Any] | None:
        """Return the first of these tools that the agent offers."""
        offered = {tool.get("name"): tool for tool in self._tools()}
        return next((offered[name] for name in names if name in offered), None)

    @property
    def _input(self) -> list[dict[str, Any]]:
        given = self.body.get("input", [])
        return given if isinstance(given, list) else [{"role": "user", "content": given}]

    def _tools(self) -> Iterator[dict[str, Any]]:
        """Yield all tools, also those that newer models get as an input item, in a namespace."""
        added = [item for item in self._input if item.get("type") == "additional_tools"]
        for tool in [*self.body.get("tools", []), *(tool for item in added for tool in item["tools"])]:
            yield from tool["tools"] if tool.get("type") == "namespace" else [tool]

    def _said(self) -> Iterator[tuple[int, str]]:
        for index, item in enumerate(self._input):
            if item.get("role") == "user" and not _is_added(text := flat(item.get("content"))):
                yield index, text


def next_part(steps: tuple[Step, ...], acts_done: int) -> tuple[Step, ...]:
    """Return the part of a script for one response: after the acts that are done, up to the next act."""
    part: list[Step] = []
    for step in steps:
        if acts_done == 0:
            part.append(step)
            if isinstance(step, Act):
                break
        acts_done = max(0, acts_done - calls(step))
    return tuple(part)


def flat(content: object) -> str:
    if isinstance(content, list):
        return "\n".join(str(part["text"]) for part in content if isinstance(part, dict) and "text" in part)
    return str(content or "")


def _is_added(text: str) -> bool:
    return text.lstrip().startswith(("<", "# AGENTS.md instructions")) and "\n!" not in text
