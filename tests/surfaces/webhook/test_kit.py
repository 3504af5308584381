"""The surface kit for the webhook, with a real receiver on loopback."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path

import pytest

from clew.model.messages import Conversation
from clew.model.surface import Inbox, Surface
from clew.support.clock import Clock
from clew.surfaces.signing import sign
from clew.surfaces.webhook.settings import WebhookConfig
from clew.surfaces.webhook.surface import WebhookSurface
from clew.testing import surface_gate_checks, surface_kit
from clew.testing.surface_kit import Check
from clew.testing.surface_stage import Shown
from tests.helpers.receivers import Answer, Hang, Receiver

SECRET = "correct-horse"


class Listening(WebhookSurface):
    """A webhook surface that reports when it listens."""

    def __init__(self, config: Mapping[str, WebhookConfig], clock: Clock) -> None:
        super().__init__(config, clock)
        self.listens = asyncio.Event()

    async def run(self, inbox: Inbox) -> None:
        self.inbox = inbox
        self.listens.set()
        await super().run(inbox)


class WebhookStage:
    """A program that posts a person's messages and receives clew's."""

    person = ""
    target = "ci"

    def __init__(self, receiver: Receiver) -> None:
        self._receiver = receiver
        self._surface: Listening | None = None
        self._clock: Clock | None = None
        self._posted: dict[str, bytes] = {}

    def surface(self, clock: Clock, files: Path) -> Surface:
        self._clock = clock
        self._surface = Listening({"ci": WebhookConfig(secret=SECRET, url=self._receiver.url)}, clock)
        return self._surface

    async def wait_listening(self) -> None:
        assert self._surface is not None
        await self._surface.listens.wait()

    async def say(
        self,
        text: str,
        *,
        stranger: bool = False,
        quote: str | None = None,
        where: Conversation | None = None,
        fresh: bool = False,
        beside: str | None = None,
    ) -> str:
        id = f"m{len(self._posted) + 1}"
        shown = next((each.json for each in self._receiver.deliveries if each.id == beside), None)
        there = shown["conversation"] if shown else "deploys"
        fields = {"id": id, "conversation": there, "sender": "ann", "text": text}
        self._posted[id] = json.dumps(fields).encode()
        await self.redeliver(id)
        return id

    async def redeliver(self, message: str) -> None:
        assert self._surface is not None and self._clock is not None
        body, now = self._posted[message], self._clock.now() // 1000 + 1  # no response within a second
        headers = {"X-Clew-Timestamp": str(now), "X-Clew-Signature": sign(SECRET, now, body)}
        reply = await self._surface.receive("ci", headers, body, self._surface.inbox)
        assert reply.status < 300, reply

    async def change(self, message: str, text: str) -> bool:
        return False

    async def delete(self, message: str) -> bool:
        return False

    async def press(self, message: str, label: str) -> str:
        raise NotImplementedError("it has no buttons")

    async def wait_shown(self, condition: Callable[[Sequence[Shown]], object]) -> Sequence[Shown]:
        while not condition(shown := self._shown()):
            await asyncio.to_thread(self._receiver.wait_for, len(self._receiver.deliveries) + 1)
        return shown

    def _shown(self) -> list[Shown]:
        """Return each delivery once, as a receiver that uses the key sees it."""
        taken = {received.id: received.json for received in self._receiver.deliveries}
        return [Shown(id, f"{said['text']} {said.get('note', '')}") for id, said in taken.items()]

    async def is_acknowledged(self, message: str) -> bool:
        raise NotImplementedError("the platform keeps nothing")

    async def wait_acknowledged(self, message: str) -> None:
        raise NotImplementedError("the platform keeps nothing")

    async def disconnect(self) -> None:
        await asyncio.to_thread(self._receiver.close)

    async def reconnect(self) -> None:
        await asyncio.to_thread(self._receiver.start)

    async def rate_limit_once(self, seconds: float) -> None:
        self._receiver.then(Answer(429, headers={"Retry-After": str(int(seconds))}))

    async def lose_response_once(self) -> None:
        self._receiver.then(Hang.UP)

    async def delete_thread(self, where: Conversation) -> None:
        raise NotImplementedError


@pytest.fixture
async def stage() -> AsyncIterator[WebhookStage]:
    with Receiver() as receiver:
        yield WebhookStage(receiver)


ASKING = (
    surface_gate_checks.a_typed_word_answers_a_gate,
    surface_gate_checks.a_question_is_answered_where_it_was_sent,
    surface_gate_checks.a_long_gate_can_be_accepted_only_if_shown_completely,
    surface_gate_checks.an_incomplete_gate_can_be_declined,
    surface_gate_checks.allow_all_accepts_only_gates_shown_completely,
)


@pytest.mark.parametrize("check", ASKING, ids=surface_kit.named)
async def test_a_gate_on_a_webhook_is_shown_correctly(check: Check, stage: WebhookStage, folder: Path) -> None:
    await check(stage, folder)
