"""Plays scripts over Anthropic's Messages API, which Claude Code uses.

A request without tools does not come from a person: Claude Code uses such requests to make titles or to judge commands.
It gets a meaningless word. A refusal of a subscription's limit has the headers from which Claude Code reads its
windows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from clew.testing.scripted_model.play import Player, SingleAct, Trouble
from clew.testing.scripted_model.script import Ask, Cut, Error, Hold, Limit, Patch, Plan, Say, Shell, Status, Tool

ASIDE = "noted"
_ADDED = ("<system-reminder>", "[Request interrupted by user", "[Image: source:", "[Your previous response had no")
_ERRORS = {400: "invalid_request_error", 401: "authentication_error", 429: "rate_limit_error", 529: "overloaded_error"}


class MessagesRequest(Struct, frozen=True):
    body: dict[str, Any]
    headers: Mapping[str, str] = {}

    @property
    def is_aside(self) -> bool:
        return not self.body.get("tools")

    @property
    def prompts(self) -> list[str]:
        """The messages of people, oldest first, without what Claude Code adds in their name."""
        return [text for _, text in self._said()]

    @property
    def prompt(self) -> str:
        return self.prompts[-1] if self.prompts else ""

    @property
    def acts_done(self) -> int:
        """How many tool calls of the newest prompt have a result."""
        newest = max((index for index, _ in self._said()), default=-1)
        return sum(1 for index, block in self._results() if index > newest)

    @property
    def outputs(self) -> list[str]:
        """The results of the tools, as the model sees them."""
        return [_flat(block.get("content")) for _, block in self._results()]

    def tool(self, *names: str) -> dict[str, Any] | None:
        """Return the first of these tools that the agent offers."""
        offered = {tool.get("name"): tool for tool in self.body.get("tools", ())}
        return next((offered[name] for name in names if name in offered), None)

    def _said(self) -> Iterator[tuple[int, str]]:
        """Yield each message of a person, with the index of the request's message that has it. Claude Code puts one
        that got no answer before the next one, as another block."""
        for index, message in enumerate(self.body.get("messages", ())):
            if message.get("role") == "user":
                texts = (str(block["text"]) for block in _blocks(message) if block.get("type") == "text")
                yield from ((index, text) for text in texts if text and not _is_added(text))

    def _results(self) -> Iterator[tuple[int, dict[str, Any]]]:
        for index, message in enumerate(self.body.get("messages", ())):
            yield from ((index, block) for block in _blocks(message) if block.get("type") == "tool_result")


def _blocks(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    content = message.get("content")
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content or ())


def _flat(content: object) -> str:
    if isinstance(content, list):
        return "\n".join(str(part["text"]) for part in content if isinstance(part, dict) and "text" in part)
    return str(content or "")


def _is_added(text: str) -> bool:
    return text.lstrip().startswith(_ADDED)


class MessagesPlayer(Player[MessagesRequest]):
    _index = -1  # of the newest content block
    _is_text = False  # whether a text block is open
    _has_text = False
    _acted = False
    _words = 0

    async def aside(self) -> None:
        if self._request.body.get("stream"):
            await self.play([Say(ASIDE)])
            return
        await self._reply.json(200, {**self._message(), "content": [{"type": "text", "text": ASIDE}]})

    async def _say(self, step: Say) -> None:
        await self._open_text()
        pieces = step.words
        for index, piece in enumerate(pieces):
            piece = f"\n{piece}" if self._has_text and index == 0 else piece
            await self._delta({"type": "text_delta", "text": piece})
            if step.interval_ms and index < len(pieces) - 1:
                await self._clock.sleep(step.interval_ms / 1000)
        self._has_text = True
        self._words += len(pieces)

    async def _step(self, step: Any) -> None:
        if isinstance(step, Hold):
            await self._begin()  # so that the agent sees the start
        await super()._step(step)

    async def _think(self, text: str) -> None:
        await self._open({"type": "thinking", "thinking": "", "signature": ""})
        await self._delta({"type": "thinking_delta", "thinking": text})
        await self._delta({"type": "signature_delta", "signature": "scripted"})
        await self._close()

    async def _act(self, step: SingleAct) -> None:
        made = call(self._request, step)
        if made is None:
            await self._say(Say(f"(this agent has nothing for {type(step).__name__.lower()})"))
            return
        name, given = made
        id = f"toolu_{self._id}_{self._index + 1}"
        await self._open({"type": "tool_use", "id": id, "name": name, "input": {}})
        await self._delta({"type": "input_json_delta", "partial_json": json.dumps(given)})
        await self._close()
        self._acted = True

    async def _fail(self, step: Trouble) -> None:
        match step:
            case Status(code) if not self._reply.is_started:
                await self._reply.json(code, _error(_ERRORS.get(code, "api_error"), f"the script says {code}"))
            case Limit() if not self._reply.is_started:
                await self._reply.json(429, _error("rate_limit_error", "the script says limit"), _refusal(step))
            case Error(code):
                await self._begin()
                await self._reply.event("error", {"error": {"type": code, "message": f"the script says {code}"}})
                await self._reply.end()
            case Cut() | _:
                self._reply.cut()

    async def _complete(self) -> None:
        await self._begin()
        await self._close()
        reason = "tool_use" if self._acted else "end_turn"
        delta = {"stop_reason": reason, "stop_sequence": None}
        await self._reply.event("message_delta", {"delta": delta, "usage": self._usage()})
        await self._reply.event("message_stop", {})

    async def _begin(self) -> None:
        if not self._reply.is_started:
            await self._reply.event("message_start", {"message": self._message()})

    async def _open_text(self) -> None:
        if not self._is_text:
            await self._open({"type": "text", "text": ""})
            self._is_text = True

    async def _open(self, block: dict[str, Any]) -> None:
        await self._begin()
        await self._close()
        self._index += 1
        self._is_open = True
        await self._reply.event("content_block_start", {"index": self._index, "content_block": block})

    _is_open = False

    async def _delta(self, delta: dict[str, Any]) -> None:
        await self._reply.event("content_block_delta", {"index": self._index, "delta": delta})

    async def _close(self) -> None:
        if self._is_open:
            await self._reply.event("content_block_stop", {"index": self._index})
        self._is_open = self._is_text = self._has_text = False

    def _message(self) -> dict[str, Any]:
        model = self._request.body.get("model", "scripted")
        empty: dict[str, Any] = {"stop_reason": None, "stop_sequence": None, "content": []}
        return {"id": f"msg_{self._id}", "type": "message", "role": "assistant", "model": model, **empty} | {
            "usage": self._usage()
        }

    def _usage(self) -> dict[str, int]:
        return {
            "input_tokens": len(self._request.prompt.split()),
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": self._words,
        }


def count_tokens(request: MessagesRequest) -> dict[str, int]:
    return {"input_tokens": len(json.dumps(request.body.get("messages", ())).split())}


def call(request: MessagesRequest, step: SingleAct) -> tuple[str, dict[str, Any]] | None:
    """Return Claude Code's tool for a step, and its arguments; None: it has none."""
    match step:
        case Shell(command, beyond):
            more = {"dangerouslyDisableSandbox": True} if beyond else {}
            return "Bash", {"command": command, "description": "the script says so", **more}
        case Patch(path, text):
            return "Write", {"file_path": path, "content": text}
        case Tool(server, name, arguments):
            return (f"mcp__{server}__{name}" if name else server), json.loads(arguments)
        case Ask(question, options, False):
            return "AskUserQuestion", {"questions": [_question(question, options)]}
        case Plan(steps):
            text = "\n".join(f"{number}. {each}" for number, each in enumerate(steps, 1))
            return "ExitPlanMode", {"plan": text}
    return None


def _question(question: str, options: tuple[str, ...]) -> dict[str, Any]:
    choices = [{"label": option, "description": f"choose {option}"} for option in options]
    return {"question": question, "header": "Question", "multiSelect": False, "options": choices}


def _error(kind: str, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}}


def _refusal(limit: Limit) -> dict[str, str]:
    """The headers of a refusal because a window of a subscription is used up."""
    name = "anthropic-ratelimit-unified"
    short = {"five_hour": "5h", "seven_day": "7d"}.get(limit.window, limit.window)
    return {
        f"{name}-status": "rejected",
        f"{name}-reset": str(limit.resets_at),
        f"{name}-representative-claim": limit.window,
        f"{name}-{short}-status": "rejected",
        f"{name}-{short}-utilization": "1.0",
        f"{name}-{short}-reset": str(limit.resets_at),
        f"{name}-overage-status": "rejected",
    }
