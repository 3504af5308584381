"""What people and agents say, and the conversations they say it in. Frozen, no I/O."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class Fate(StrEnum):
    """What became of an inbound message. Each has exactly one."""

    TURN = "turn"
    STEER = "steer"
    ANSWER = "answer"
    COMMAND = "command"
    REFUSED = "refused"


class Role(StrEnum):
    """What somebody in a chat may do."""

    OWNER = "owner"  # everything
    DRIVER = "driver"  # send, and answer gates
    WATCHER = "watcher"  # look on


class Conversation(Struct, frozen=True):
    """An opaque address that a surface gives for one place to talk. Only that surface reads `address`."""

    surface: str
    address: str = ""

    @classmethod
    def parse(cls, text: str) -> Conversation:
        """What a person types: `SURFACE` or `SURFACE:ADDRESS`."""
        surface, _, address = text.partition(":")
        return cls(surface, address)

    def __str__(self) -> str:
        return f"{self.surface}:{self.address}" if self.address else self.surface


class Attachment(Struct, frozen=True):
    """A file or an image that hangs on a message, kept in clew's own folder."""

    name: str
    path: str
    media_type: str

    @property
    def is_image(self) -> bool:
        return self.media_type.startswith("image/")


class PromptMessage(Struct, frozen=True):
    """One message of a person, as it is given to a runtime. `id` is chosen by whoever sent it."""

    id: str
    author: str
    text: str
    attachments: tuple[Attachment, ...] = ()
    among: bool = False  # several people speak there, so the agent is told who this was

    @property
    def told(self) -> str:
        """As a runtime is given it."""
        return f"{self.author}: {self.text}" if self.among and self.text else self.text


class Person(Struct, frozen=True):
    """Somebody who may speak on a surface."""

    surface: str
    id: str  # the platform's own
    name: str
    role: Role
    added_at: int
    added_by: str


class Inbound(Struct, frozen=True):
    """A message as a surface received it, before anything is decided about it."""

    conversation: Conversation
    message_id: str
    sender: str
    text: str
    attachments: tuple[Attachment, ...] = ()
    sent_at: int | None = None  # by the platform's clock, where it tells
    thread: str | None = None  # named by the client; else the conversation's binding decides
    queue: bool = False  # never steer
    sees: tuple[str, ...] | None = None  # ids or codes of the gates that its sender sees as open; None: nobody knows
    answers: str | None = None  # the question of a suspended thread that its sender sees: such a word answers no other
    runtime: str | None = None  # for a thread that this message begins, where the surface's config says so
    workspace: str | None = None
    begins: str | None = None  # the id of that thread, where it was drawn before
    sender_id: str = ""  # the platform's own name for the sender; `sender` is what people call them
    direct: bool = True  # said to clew: alone with it, by a mention, by a reply or by a button
    in_group: bool = False  # others read along
    in_thread: bool = False  # said in a thread or topic of the platform, which is a conversation of its own
    quoted: str | None = None  # the platform's id of the message that it quotes, or whose button was pressed
    quoted_in: Conversation | None = None  # where that message stands, where it is another place than this
    hangs: bool = False  # the quoted message is what this thread of the platform hangs on: all said here quotes it
    pressed: bool = False  # by a button: whoever pressed it is told at once, and not by a message
    relayed: bool = False  # forwarded, struck out or all a quote: for the agent, and no answer to a gate


class Accepted(Struct, frozen=True):
    """What became of an inbound message, for the surface to tell its sender."""

    fate: Fate
    thread: str | None
    turn: str | None
    state: str | None = None  # the turn's state now
    words: str = ""  # what the sender is told; empty where the answer itself is enough
    repeated: bool = False  # seen before: this is what became of the first one


CLEW = "clew"
"""The author of what clew itself adds to a request. Nobody else may bear that name."""
