"""The interface between the engine and a chat platform, or another place where people write.

A surface receives, sends, and names its conversations; it decides nothing. It acknowledges a message to its platform
only after `Inbox.accept` has returned, because by then the message and its fate are committed.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Protocol, runtime_checkable

from msgspec import Struct

from clew.model.delivery import Button, DeliveryKind
from clew.model.messages import Accepted, Attachment, Conversation, Inbound


class Backlog(StrEnum):
    """What happens to messages that are sent while clew is down."""

    PLATFORM = "platform"  # the platform keeps them
    HISTORY = "history"  # we read each bound conversation from the last stored id
    NONE = "none"


class Units(StrEnum):
    """The unit in which a platform counts the length of a message."""

    CHARACTERS = "characters"
    UTF16 = "utf16"
    BYTES = "bytes"


class SurfaceCan(Struct, frozen=True):
    """What a surface can do: declared data, not type checks."""

    send: bool = True  # can send an answer to a conversation by itself
    chat: bool = False  # people write there: clew checks who may, and replies there what happened to each message
    edit: bool = False
    edit_every: float = 2.0  # the shortest time between two edits of one message, in seconds
    stream: bool = False  # a placeholder may show the text while it is being written (`Outgoing.live`)
    headline: bool = False  # it shows one line only: `Outgoing.headline`
    typing: float = 0  # seconds for which `ShowsTyping.typing` shows that somebody writes; 0: the platform cannot
    buttons: int = 0  # the most buttons on a message
    prefix: str = "/"  # characters that a command may begin with; "/!" if the platform removes a leading slash
    threads: bool = False  # `open_thread` can create one
    replies: bool = False  # it can send a message as a reply to another one (`Outgoing.reply_to`)
    reactions: bool = False  # it can mark a message as heard: it is a `Reacts`
    files: int = 0  # the largest file that it can send, in bytes; 0: it sends no files
    read_back: bool = False  # `find` can look for a message that may have been sent
    max_length: int | None = None  # of one message, in `units`
    units: Units = Units.CHARACTERS
    idempotency_window: float = 0  # seconds in which a repeated delivery id is one message there
    backlog: Backlog = Backlog.NONE

    @property
    def delivery(self) -> str:
        """How surely an answer arrives exactly once: the first means of promise 5 that the surface has."""
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
    note: str = ""  # a footnote to the text; usually empty
    buttons: tuple[Button, ...] = ()  # only if the surface has buttons
    file: Attachment | None = None  # sent instead of the text; only if the surface sends files
    live: str = ""  # shown below the text: what is being written now; only if the surface streams
    headline: str = ""  # the same in one line, with what to do; only if the surface shows no more
    again: bool = False  # it may have been sent before, under the same id
    silent: bool = False  # it must not ring: only sub-agents ask
    # The platform's id of the message that it answers, if the surface has replies. If that message is gone, the
    # delivery is sent all the same.
    reply_to: str | None = None


class Receipt(Struct, frozen=True):
    conversation: Conversation
    message_id: str  # the platform's own id of the message


class NotSent(Exception):
    """The platform did not accept the message. `retry_after`: seconds, if the platform said so."""

    def __init__(self, reason: str, retry_after: float | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.retry_after = retry_after


class TryAgain(NotSent):
    """The platform did not accept it this time. It can be sent again later."""


class InDoubt(NotSent):
    """The platform may have accepted it, but its response was lost. Promise 5 says what happens then."""


class Down(NotSent):
    """The platform cannot be reached. Does not count as an attempt."""


class Never(NotSent):
    """The platform refused it permanently. The reason is shown to a person."""


class Gone(Never):
    """The conversation takes nothing any more: it was deleted, or clew was removed or blocked there. Only then an
    answer may be brought to another conversation."""


class KnownConversation(Struct, frozen=True):
    """A conversation that clew takes part in."""

    conversation: Conversation
    last: str | None  # the id of its newest stored message; None: none is stored, so read from the beginning


class Inbox(Protocol):
    async def welcomes(self, inbound: Inbound) -> bool:
        """Whether its sender may write there. Call it before fetching attachments, so that no stranger's files are
        fetched."""

    async def accept(self, inbound: Inbound) -> Accepted:
        """Decide and commit the message's fate. The same (conversation, message id) again returns the first fate."""

    async def edited(self, inbound: Inbound) -> None:
        """A message has a new text. Harmless if it was not accepted before, or if its turn is over."""

    async def deleted(self, surface: str, message: str) -> None:
        """Its author deleted the message with this id of the platform."""

    async def known(self, surface: str) -> Sequence[KnownConversation]:
        """Where to continue reading after downtime, for a surface whose backlog is `history`: each conversation that is
        bound or has stored messages."""

    async def moved(self, old: Conversation, new: Conversation) -> None:
        """The platform gave a conversation another address: its thread, home and all that is open follow, once. Raises
        StoreError if that could not be stored."""


class Surface(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def can(self) -> SurfaceCan: ...

    @property
    def trouble(self) -> str:
        """Why the surface receives nothing now, for people; empty if it works."""

    def resolve(self, address: str) -> Conversation:
        """The conversation for an address that a person typed, or that this surface gave out itself.

        Raises BadInput if there is none, or if nothing can be sent to it.
        """

    async def run(self, inbox: Inbox) -> None:
        """Receive until cancelled; commit, then acknowledge."""

    async def send(self, outgoing: Outgoing) -> Receipt:
        """Send a message. Raises a subclass of NotSent."""

    async def edit(self, receipt: Receipt, outgoing: Outgoing) -> None:
        """Replace an earlier message. Raises a subclass of NotSent."""

    async def find(self, outgoing: Outgoing) -> Receipt | None:
        """Look in the conversation for a delivery that may have arrived (`can.read_back`)."""

    async def open_thread(self, parent: Conversation, title: str) -> Conversation | None:
        """Create a thread of the platform beside or under `parent` (`can.threads`). None: not possible there."""

    def parent(self, conversation: Conversation) -> Conversation | None:
        """The chat that a thread of the platform is in; None for a chat (`can.threads`)."""

    async def close(self) -> None: ...


class ShowsTyping(Protocol):
    """A surface with `can.typing`."""

    async def typing(self, where: Conversation) -> None:
        """Show for `can.typing` seconds that an answer is being written. Raises a subclass of NotSent."""


@runtime_checkable
class Reacts(Protocol):
    """A surface that can mark a person's message as heard (`can.reactions`)."""

    async def react(self, where: Conversation, message: str) -> None:
        """Mark the message with this id of the platform. Nothing depends on it; it may raise anything."""
