"""Streaming cards: show what an agent does, with its text as it is written. Such a card is a CardKit entity whose
elements are updated one by one, each update with a growing sequence number.

The platform stops streaming after ten minutes, and the engine always sends a last update, so no card streams for ever.
If CardKit refuses (no permission) or is missing, `begin` returns None and the card is a plain one."""

from __future__ import annotations

import logging
from collections import OrderedDict
from dataclasses import dataclass, field
from urllib.parse import quote

import msgspec

from clew.model.delivery import DeliveryKind
from clew.model.surface import InDoubt, Outgoing
from clew.support.clock import Clock
from clew.surfaces.feishu import markup
from clew.surfaces.feishu.api import OpenApi, Refusal
from clew.surfaces.http_calls import BUSY, Unread

CARDS = "/open-apis/cardkit/v1/cards"
PAUSE = 600.0  # seconds without CardKit after it refused
EPOCH = 1_767_225_600_000  # sequence numbers are tenths of a second since 2026: they grow over restarts, in 31 bits
AHEAD = 100  # by which an earlier daemon's numbers may be ahead of the clock
MOST_KEPT = 500
HEAD, SAID = "head", "said"

log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Card:
    id: str
    number: int = 0
    streams: bool = True
    shown: dict[str, str] = field(default_factory=dict)  # by element


class Streaming:
    def __init__(self, api: OpenApi, clock: Clock) -> None:
        self._api = api
        self._clock = clock
        self._cards: OrderedDict[str, _Card] = OrderedDict()  # by message
        self._again_at = 0.0

    async def begin(self, outgoing: Outgoing, thread: str | None) -> str | None:
        """Create a card for a message to be sent; None: no streaming. Raises Down."""
        if self._clock.monotonic() < self._again_at:
            return None
        try:
            look = markup.streaming(outgoing.text, outgoing.buttons, thread)
            made = await self._api.call("POST", CARDS, {"type": "card_json", "data": look})
        except (Refusal, InDoubt, Unread) as error:
            self._pause(error)
            return None
        name = made.get("card_id")
        return name if isinstance(name, str) and name else None

    def sent(self, message: str, card: str) -> None:
        self._cards[message] = _Card(card)
        while len(self._cards) > MOST_KEPT:
            self._cards.popitem(last=False)

    async def find(self, message: str) -> bool:
        """Whether a message of an earlier daemon is a streaming card."""
        try:
            found = await self._api.call("POST", f"{CARDS}/id_convert", {"message_id": message})
        except (Refusal, Unread) as error:
            log.info("cannot find a card on Feishu: %s", error)
            return False
        name = found.get("card_id")
        if isinstance(name, str) and name:
            self.sent(message, name)
            self._cards[message].number = self._now() + AHEAD
        return message in self._cards

    async def rewrite(self, message: str, outgoing: Outgoing, thread: str | None) -> bool:
        """Update a card; False: it is not a streaming card, or not any more. Raises Refusal if rate-limited, and
        NotSent."""
        card = self._cards.get(message)
        if card is None:
            return False
        try:
            if outgoing.kind is DeliveryKind.PLACEHOLDER and card.streams and await self._stream(card, outgoing):
                return True
            await self._replace(card, outgoing, thread)
        except Refusal as refusal:
            if refusal.code == BUSY:
                raise
            log.info("a card on Feishu is rewritten as a plain one: %s", refusal)
            del self._cards[message]
            return False
        return True

    async def _stream(self, card: _Card, outgoing: Outgoing) -> bool:
        """Update the changed elements; False: the card does not stream any more."""
        for element, text in ((HEAD, outgoing.text), (SAID, outgoing.live)):
            content = markup.markdown(text) if text.strip() else markup.BLANK
            if card.shown.get(element, markup.BLANK) == content:
                continue
            path = f"{CARDS}/{quote(card.id, safe='')}/elements/{element}/content"
            try:
                await self._api.call("PUT", path, {"content": content, "sequence": self._next(card)})
            except Refusal as refusal:
                if refusal.code == BUSY:
                    raise
                card.streams = False
                return False
            card.shown[element] = content
        return True

    async def _replace(self, card: _Card, outgoing: Outgoing, thread: str | None) -> None:
        """Replace the card; afterwards it does not stream."""
        text = f"{outgoing.text}\n\n{outgoing.live}" if outgoing.live else outgoing.text
        look = markup.card(text, outgoing.note, outgoing.buttons, thread)
        body = {"card": {"type": "card_json", "data": look}, "sequence": self._next(card)}
        await self._api.call("PUT", f"{CARDS}/{quote(card.id, safe='')}", body)
        card.streams = False

    def _next(self, card: _Card) -> int:
        card.number = max(card.number + 1, self._now())
        return card.number

    def _now(self) -> int:
        return (self._clock.now() - EPOCH) // 100

    def _pause(self, error: Refusal | InDoubt | Unread) -> None:
        self._again_at = self._clock.monotonic() + PAUSE
        log.info(
            "Feishu created no streaming card; using plain ones for a while (the app may lack cardkit:card:write): %s",
            error,
        )


def message(card: str) -> dict[str, str]:
    content = msgspec.json.encode({"type": "card", "data": {"card_id": card}}).decode()
    return {"msg_type": "interactive", "content": content}
