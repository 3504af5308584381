"""Tells the sender of an image that the runtime cannot see it, if the runtime does not take images."""

from __future__ import annotations

from collections.abc import Sequence

from clew.engine.core import Core
from clew.engine.delivery.enqueue import enqueue_delivery
from clew.model.delivery import DeliveryKind
from clew.model.events import NoticeKind
from clew.model.events.logged import RuntimeNotice
from clew.model.messages import Conversation, PromptMessage
from clew.model.turns import Turn
from clew.store import Tx
from clew.support.display.as_code import plain_or_code
from clew.support.text import clean
from clew.texts import chat_messages


def has_unseen_images(core: Core, turn: Turn, said: Sequence[PromptMessage]) -> bool:
    """Whether these messages have images that the turn's runtime does not take."""
    runtime = core.runtimes.get(turn.runtime)
    return runtime is not None and not runtime.can.images and bool(_images(said))


def tell_unseen_images(
    tx: Tx, core: Core, turn: Turn, said: Sequence[PromptMessage], where: Conversation | None
) -> None:
    """Notify the sender of these messages. The log tells those who watch the thread."""
    text = chat_messages.unseen_images(turn.runtime, _images(said))
    tx.log(turn.thread, turn.id, core.clock.now(), RuntimeNotice(text, NoticeKind.WARNING))
    if core.can_send_to(where):
        id = f"{turn.id}:images:{said[0].id}"
        enqueue_delivery(tx, core, turn, DeliveryKind.NOTICE, where, text, id=id)


def _images(said: Sequence[PromptMessage]) -> list[str]:
    return [plain_or_code(clean(file.name)) for message in said for file in message.attachments if file.is_image]
