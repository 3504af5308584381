"""The surface for programs: receives signed JSON at `POST /surfaces/webhook/NAME` and sends it to the `url` of NAME.

It responds to a sender only after the inbox has committed. Each attempt of a delivery has the same body and
`Idempotency-Key`, so that the receiver can ignore duplicates.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping

import msgspec

from clew.config.plugin import HttpReply, HttpRequest, HttpRoute
from clew.model.messages import Accepted, Conversation, Inbound
from clew.model.surface import Inbox, Never, Outgoing, Receipt, SurfaceCan
from clew.support.clock import Clock
from clew.support.coded import plain
from clew.support.errors import BadInput, ClewError, ConfigError
from clew.surfaces.local import one_line
from clew.surfaces.signing import verify
from clew.surfaces.webhook.receiving import MAX_BODY, Message, NotYet, Reply, TooLarge, parse, refusal, reply_to
from clew.surfaces.webhook.sending import Sender, Target
from clew.surfaces.webhook.settings import WebhookConfig
from clew.texts.catalogue import say

_NAME = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)


class WebhookSurface:
    """Addresses are `NAME`, which a person types, and `NAME/CONVERSATION`, where the sender chose CONVERSATION.

    A NAME has no slash, so the first slash separates the two. What goes to `NAME` has NAME as its conversation, so what
    is said in that conversation comes from `NAME`.
    """

    name = "webhook"
    trouble = ""
    can = SurfaceCan(idempotency_window=float("inf"))

    def __init__(self, config: Mapping[str, WebhookConfig], clock: Clock) -> None:
        for name, settings in config.items():
            _check(name, settings)
        self.inbox: Inbox | None = None
        self._config = config
        self._clock = clock
        self._decoy = clock.token()
        self._sender = Sender()

    @property
    def is_listed(self) -> bool:
        """Whether the status names it: not without a webhook."""
        return bool(self._config)

    def resolve(self, address: str) -> Conversation:
        self._target(address)
        name, slash, said_in = address.partition("/")
        return _conversation(name, said_in if slash else name)

    async def run(self, inbox: Inbox) -> None:
        """Keep the inbox for the HTTP route, which receives, until cancelled."""
        self.inbox = inbox
        try:
            await asyncio.Event().wait()
        finally:
            self.inbox = None

    async def send(self, outgoing: Outgoing) -> Receipt:
        try:
            target = self._target(outgoing.conversation.address)
        except BadInput as error:
            raise Never(error.words) from error
        return await self._sender.send(outgoing, target, self._seconds())

    async def edit(self, receipt: Receipt, outgoing: Outgoing) -> None:
        raise Never(say("surfaces.webhook_edit"))

    async def find(self, outgoing: Outgoing) -> Receipt | None:
        return None

    async def open_thread(self, parent: Conversation, title: str) -> Conversation | None:
        return None

    def parent(self, conversation: Conversation) -> Conversation | None:
        return None

    async def close(self) -> None:
        await self._sender.close()

    def routes(self) -> list[HttpRoute]:
        """The route that receives messages. It answers 503 until `run`."""
        words = "Signed: `X-Clew-Timestamp` and `X-Clew-Signature: sha256=` + hex HMAC-SHA256 of `timestamp.body`."
        summary = "Send a message from a program"
        return [HttpRoute("/{name}", self._handle, summary=summary, description=words, body=Message, max_body=MAX_BODY)]

    async def _handle(self, request: HttpRequest) -> HttpReply:
        reply = await self.receive(request.parameters["name"], request.headers, request.body, self.inbox)
        return HttpReply(reply.status, msgspec.json.encode(reply.json, enc_hook=plain), reply.headers, reply.media_type)

    async def receive(self, name: str, headers: Mapping[str, str], body: bytes, inbox: Inbox | None) -> Reply:
        """Handle an inbound request: verify, parse and accept it, and return the reply."""
        try:
            if len(body) > MAX_BODY:
                raise TooLarge(say("surfaces.webhook_too_large", bytes=MAX_BODY))
            signed_at = self._verify(name, headers, body)
            inbound = _inbound(name, self._config[name], parse(body), signed_at)
            return reply_to(await _accept(inbox, inbound))
        except ClewError as error:
            return refusal(error)

    def _verify(self, name: str, headers: Mapping[str, str], body: bytes) -> int:
        """Return when it was signed, in Unix seconds. For an unknown NAME it checks against a random secret, so that
        the error and the time are those of a bad signature."""
        settings = self._config.get(name)
        secret = settings.secret if settings else self._decoy
        given = {key.lower(): value for key, value in headers.items()}
        return verify(secret, given.get("x-clew-timestamp"), given.get("x-clew-signature"), body, self._seconds())

    def _target(self, address: str) -> Target:
        name = address.partition("/")[0]
        settings = self._config.get(name)
        if settings is None:
            known = ", ".join(sorted(self._config)) or say("surfaces.none")
            raise BadInput(say("surfaces.webhook_unknown", name=repr(one_line(name)), known=known))
        if settings.url is None:
            raise BadInput(say("surfaces.webhook_receives_only", name=name))
        return Target(name, settings.url, settings.secret, settings.timeout)

    def _seconds(self) -> int:
        return self._clock.now() // 1000


def _check(name: str, settings: WebhookConfig) -> None:
    """Check what the surface relies on, wherever its settings come from."""
    if not _NAME.fullmatch(name):
        raise ConfigError(say("surfaces.webhook_bad_name", name=repr(name)))
    if not settings.secret:
        raise ConfigError(say("surfaces.webhook_no_secret", name=name))


def _conversation(name: str, said_in: str) -> Conversation:
    """The one address of a sender's conversation, also of the one in which it gets what goes to `NAME`."""
    return Conversation(WebhookSurface.name, name if said_in == name else f"{name}/{said_in}")


def _inbound(name: str, settings: WebhookConfig, message: Message, signed_at: int) -> Inbound:
    return Inbound(
        _conversation(name, message.conversation),
        message.id,
        message.sender,
        message.text,
        runtime=settings.runtime,
        workspace=settings.workspace,
        sent_at=signed_at * 1000,
    )


async def _accept(inbox: Inbox | None, inbound: Inbound) -> Accepted:
    if inbox is None:
        raise NotYet(say("surfaces.webhook_not_yet"))
    return await inbox.accept(inbound)
