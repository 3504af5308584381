"""A small model server on loopback that plays scripts, records its requests, and can be held.

`POST /v1/responses` is for Codex, `POST /v1/messages` for Claude Code, `POST /v1beta/models/…` for Gemini CLI, and
`POST /v1/chat/completions` for most others.
`/control/…` is for a test in another process: `POST release/NAME`, `GET held/NAME` (answers once a response is held
there), `GET requests`.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import Any

import msgspec

from clew.support.clock import Clock, SystemClock
from clew.testing.scripted_model.chat import ChatPlayer, ChatRequest
from clew.testing.scripted_model.generate import GeneratePlayer, GenerateRequest
from clew.testing.scripted_model.http_server import Call, Reply, read_call
from clew.testing.scripted_model.messages import MessagesPlayer, MessagesRequest, count_tokens
from clew.testing.scripted_model.play import Trouble
from clew.testing.scripted_model.request import Request, next_part
from clew.testing.scripted_model.responses import ResponsePlayer
from clew.testing.scripted_model.script import BadScript, Say, Step, parse

log = logging.getLogger(__name__)

AnyRequest = Request | ChatRequest | MessagesRequest | GenerateRequest
Handler = Callable[[Any], Sequence[Step]]  # gets an AnyRequest


class ScriptedModel:
    def __init__(self, clock: Clock | None = None, *, host: str = "127.0.0.1", port: int = 0) -> None:
        self.requests: list[AnyRequest] = []
        self.asides: list[
            ChatRequest | MessagesRequest | GenerateRequest
        ] = []  # requests of the agent itself, such as for a title
        self._clock = clock or SystemClock()
        self._address = host, port
        self._handlers: list[tuple[str, Handler]] = []
        self._released: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self._held: Counter[str] = Counter()
        self._news = asyncio.Event()  # set and replaced whenever a response is held or goes on
        self._troubles: Counter[tuple[str, Trouble]] = Counter()
        self._server: asyncio.Server | None = None
        self._serving: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        """The base URL for a provider's config."""
        assert self._server is not None, "not started"
        host, port = self._server.sockets[0].getsockname()[:2]
        return f"http://{host}:{port}/v1"

    @property
    def address(self) -> str:
        """The same without the version, for agents that add it themselves."""
        return self.url.removesuffix("/v1")

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, *self._address, limit=1 << 20)

    async def stop(self) -> None:
        assert self._server is not None, "not started"
        self._server.close()
        for task in self._serving:
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)
        await self._server.wait_closed()

    async def __aenter__(self) -> ScriptedModel:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    def on(self, marker: str, handler: Handler) -> None:
        """Let a function return the steps for prompts that contain the marker; several acts make parallel calls."""
        self._handlers.append((marker, handler))

    def count(self, marker: str = "") -> int:
        """Return the number of requests whose newest prompt contains the marker."""
        return sum(marker in request.prompt for request in self.requests)

    def release(self, name: str) -> None:
        """Release all responses that are held there, now and later."""
        self._released[name].set()

    async def held(self, name: str) -> None:
        """Wait until a response is held there."""
        while not self._held[name]:
            await self._news.wait()

    async def left(self, name: str) -> None:
        """Wait until no response is held there: released, or its client left."""
        while self._held[name]:
            await self._news.wait()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        try:
            if (call := await read_call(reader)) is not None:
                await self._answer(call, Reply(reader, writer))
        except ConnectionError:
            log.debug("the client left")
        finally:
            self._serving.discard(task)
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    async def _answer(self, call: Call, reply: Reply) -> None:
        match call.method, *call.path.strip("/").split("/"):
            case "POST", "v1", "responses":
                await self._respond(Request(msgspec.json.decode(call.body)), reply)
            case "POST", "v1", "chat", "completions":
                await self._chat(ChatRequest(msgspec.json.decode(call.body)), reply)
            case "POST", "v1", "messages":
                await self._message(MessagesRequest(msgspec.json.decode(call.body), call.headers), reply)
            case "POST", "v1", "messages", "count_tokens":
                await reply.json(200, count_tokens(MessagesRequest(msgspec.json.decode(call.body))))
            case "POST", "v1beta", "models", asked:
                streamed = asked.endswith(":streamGenerateContent")
                await self._generate(GenerateRequest(msgspec.json.decode(call.body), streamed), reply)
            case "GET", "v1", "models":
                await reply.json(200, {"object": "list", "data": [{"id": "scripted", "object": "model"}]})
            case "POST", "control", "release", name:
                self.release(name)
                await reply.json(200, {})
            case "GET", "control", "held", name:
                await self.held(name)
                await reply.json(200, {})
            case "GET", "control", "requests":
                await reply.json(200, [summary(request) for request in self.requests])
            case _:
                await reply.json(404, {"error": {"message": f"no such place: {call.path}"}})

    async def _respond(self, request: Request, reply: Reply) -> None:
        self.requests.append(request)
        player = ResponsePlayer(request, reply, self._clock, self._hold, partial(self._happens, request.prompt))
        await player.play(self._script(request))

    async def _message(self, request: MessagesRequest, reply: Reply) -> None:
        player = MessagesPlayer(request, reply, self._clock, self._hold, partial(self._happens, request.prompt))
        if request.is_aside:
            self.asides.append(request)
            await player.aside()
        else:
            self.requests.append(request)
            await player.play(self._script(request))

    async def _chat(self, request: ChatRequest, reply: Reply) -> None:
        player = ChatPlayer(request, reply, self._clock, self._hold, partial(self._happens, request.prompt))
        if request.is_aside:
            self.asides.append(request)
            await player.aside()
        else:
            self.requests.append(request)
            await player.play(self._script(request))

    async def _generate(self, request: GenerateRequest, reply: Reply) -> None:
        player = GeneratePlayer(request, reply, self._clock, self._hold, partial(self._happens, request.prompt))
        if request.is_aside or not request.is_streamed:
            self.asides.append(request)
            await player.aside()
        else:
            self.requests.append(request)
            await player.play(self._script(request))

    def _happens(self, prompt: str, trouble: Trouble) -> bool:
        self._troubles[prompt, trouble] += 1
        return trouble.times is None or self._troubles[prompt, trouble] <= trouble.times

    def _script(self, request: AnyRequest) -> Sequence[Step]:
        for marker, handler in self._handlers:
            if marker in request.prompt:
                return handler(request)
        try:
            return next_part(parse(request.prompt), request.acts_done)
        except BadScript as error:
            return [Say(str(error))]

    async def _hold(self, name: str, reply: Reply) -> bool:
        """Wait at a hold; False: the client left."""
        if self._released[name].is_set():
            return True
        self._count_held(name, +1)
        try:
            return await reply.wait_unless_disconnected(self._released[name])
        finally:
            self._count_held(name, -1)

    def _count_held(self, name: str, change: int) -> None:
        self._held[name] += change
        self._news.set()
        self._news = asyncio.Event()


def summary(request: AnyRequest) -> dict[str, object]:
    return {
        "prompt": request.prompt,
        "prompts": request.prompts,
        "acts_done": request.acts_done,
        "model": request.body.get("model"),
    }
