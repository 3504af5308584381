"""The seam between the engine and a place where people are.

A surface receives, sends, and names its conversations; it decides nothing. It tells its platform "received" only after
`Inbox.accept` has returned, because by then the message and its fate are committed.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Protocol

from msgspec import Struct

from clew.model.delivery import Button, DeliveryKind
from clew.model.messages import Accepted, Attachment, Conversation, Inbound


class Backlog(StrEnum):
    """What becomes of messages that are sent while clew is down."""

    PLATFORM = "platform"  # the platform keeps them
    HISTORY = "history"  # we read each bound conversation from the last stored id
    NONE = "none"


class Units(StrEnum):
    """In what a platform counts the length of a message."""

    CHARACTERS = "characters"
    UTF16 = "utf16"
    BYTES = "bytes"


class SurfaceCan(Struct, frozen=True):
    """What a surface can do: declared data, not type checks."""

    send: bool = True  # can bring an answer to a conversation by itself
    chat: bool = False  # people talk there: who may is checked, and what becomes of their words is told there
    edit: bool = False
    edit_every: float = 2.0  # seconds between two edits of one message that the platform bears
    stream: bool = False  # a placeholder may show the text as it is being written (`Outgoing.live`)
    buttons: int = 0  # how many a message may have
    prefix: str = "/"  # what a command may begin with; "/!" where the platform eats a leading slash
    threads: bool = False  # `open_thread` can make one
    files: int = 0  # bytes of a file that it brings to a conversation; 0: it brings none
    read_back: bool = False  # `find` can look for a message that may have been sent
    max_length: int | None = None  # of one message, in `units`
    units: Units = Units.CHARACTERS
    idempotency_window: float = 0  # seconds in which a repeated delivery id is one message there
    backlog: Backlog = Backlog.NONE

    @property
    def delivery(self) -> str:
        """How surely an answer arrives once, by the first means of promise 5 that there is."""
        means = {"idempotent": self.idempotency_window > 0, "verifiable": self.read_back, "editable": self.edit}
        return next((name for name, has in means.items() if has), "best effort")


class Outgoing(Struct, frozen=True):
    """A delivery on its way out."""

    id: str  # the idempotency key
    kind: DeliveryKind
    conversation: Conversation
    thread: str
    turn: str | None
    text: str
    note: str = ""  # small print beside the text; empty almost always
    buttons: tuple[Button, ...] = ()  # only where the surface can
    file: Attachment | None = None  # to be sent in place of the text; only where the surface can
    live: str = ""  # below the text: what is being written just now; only where the surface can
    again: bool = False  # it may have been sent before, under the same id


class Receipt(Struct, frozen=True):
    conversation: Conversation
    message_id: str  # the platform's own id of the message


class NotSent(Exception):
    """The platform did not take it. `retry_after` in seconds where it said so."""

    def __init__(self, reason: str, retry_after: float | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.retry_after = retry_after


class TryAgain(NotSent):
    """It was not taken this time; it is in order to try later."""


class InDoubt(NotSent):
    """It may have been taken: the answer was lost. Settled by promise 5."""


class Down(NotSent):
    """The surface is out of reach; this costs no attempt."""


class Never(NotSent):
    """The platform refused it for good; the reason is for a person."""


class KnownConversation(Struct, frozen=True):
    """A conversation in which clew has a part."""

    conversation: Conversation
    last: str | None  # the newest message that was stored from there; None: none yet, so read it from its beginning


class Inbox(Protocol):
    async def welcomes(self, inbound: Inbound) -> bool:
        """Whether its sender may speak there. Ask before fetching what hangs on it: a stranger's files cost nothing."""

    async def accept(self, inbound: Inbound) -> Accepted:
        """Committed when this returns. Same (conversation, message id): the first one's fate again."""

    async def known(self, surface: str) -> Sequence[KnownConversation]:
        """Where to read on after an absence, on a surface whose backlog is `history`: each conversation that is bound
        or was heard."""


class Surface(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def can(self) -> SurfaceCan: ...

    @property
    def trouble(self) -> str:
        """Why nothing comes in now, for a person who looks; empty while all is well."""

    def resolve(self, address: str) -> Conversation:
        """The conversation that a person's `SURFACE:ADDRESS` means, or that this surface gave itself.

        Raises BadInput where there is none, or where nothing can be sent to it.
        """

    async def run(self, inbox: Inbox) -> None:
        """Receive until cancelled; commit, then acknowledge."""

    async def send(self, outgoing: Outgoing) -> Receipt:
        """Raises one of NotSent."""

    async def edit(self, receipt: Receipt, outgoing: Outgoing) -> None:
        """Replace an earlier message. Raises one of NotSent."""

    async def find(self, outgoing: Outgoing) -> Receipt | None:
        """Look in the conversation for a delivery that may have arrived (`can.read_back`)."""

    async def open_thread(self, parent: Conversation, title: str) -> Conversation | None:
        """A fresh thread of the platform beside or under `parent` (`can.threads`); None: it has none there."""

    async def close(self) -> None: ...
