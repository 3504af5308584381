"""Messages of people, and the conversations they are written in. Frozen, no I/O."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct, field

from clew.support.coded import Coded, Text


class Fate(StrEnum):
    """What clew did with an inbound message. Each message has exactly one fate."""

    TURN = "turn"
    STEER = "steer"
    ANSWER = "answer"
    COMMAND = "command"
    REFUSED = "refused"


class Role(StrEnum):
    """What somebody in a chat may do."""

    OWNER = "owner"  # everything
    DRIVER = "driver"  # send, and answer gates
    WATCHER = "watcher"  # only read


class Conversation(Struct, frozen=True):
    """An opaque address of one chat, topic or channel of a surface. Only that surface interprets `address`."""

    surface: str
    address: str = ""

    @classmethod
    def parse(cls, text: str) -> Conversation:
        """Parse what a person types: `SURFACE` or `SURFACE:ADDRESS`."""
        surface, _, address = text.partition(":")
        return cls(surface, address)

    def __str__(self) -> str:
        return f"{self.surface}:{self.address}" if self.address else self.surface


LOCAL_CLIENT = Conversation("cli")
"""The conversation of messages from local API clients, which fetch their answers themselves."""


class Attachment(Struct, frozen=True):
    """A file or an image attached to a message, stored in clew's own folder."""

    name: str
    path: str
    media_type: str

    @property
    def is_image(self) -> bool:
        return self.media_type.startswith("image/")


class PromptMessage(Struct, frozen=True):
    """One message of a person, as a runtime gets it. Its sender chooses `id`."""

    id: str
    author: str
    text: str
    attachments: tuple[Attachment, ...] = ()
    among: bool = False  # several people write there, so the agent gets the author's name too
    person: str = ""  # SURFACE:ID of its author; empty: the author's name is all that is known

    @property
    def told(self) -> str:
        """The text for the runtime, with the author's name if several people write there."""
        return f"{self.author}: {self.text}" if self.among and self.text else self.text


class Person(Struct, frozen=True):
    """Somebody who may write on a surface."""

    surface: str
    id: str  # the platform's id of them
    name: str
    role: Role
    added_at: int
    added_by: str


class Inbound(Struct, frozen=True):
    """A message as a surface received it, before clew decides anything about it."""

    conversation: Conversation
    message_id: str
    sender: str
    text: str
    attachments: tuple[Attachment, ...] = ()
    sent_at: int | None = None  # by the platform's clock, if the platform says
    thread: str | None = None  # named by the client; None: the conversation's binding decides
    queue: bool = False  # never steer
    sees: tuple[str, ...] | None = None  # ids or codes of the gates that its sender sees as open; None: unknown
    answers: str | None = None  # the question of a suspended thread that its sender sees; it can answer no other
    runtime: str | None = None  # for a thread that this message starts, if the surface's config sets one
    workspace: str | None = None
    begins: str | None = None  # the id for that thread, if it was generated before
    sender_id: str = ""  # the platform's id of the sender; `sender` is the display name
    direct: bool = True  # addressed to clew: in a private chat, by a mention, by a reply or by a button
    in_group: bool = False  # other people read it too
    in_thread: bool = False  # written in a thread or topic of the platform, which is a conversation of its own
    quoted: str | None = None  # the platform's id of the message that it quotes, or whose button was pressed
    quoted_in: Conversation | None = None  # the conversation of that message, if it is another one
    hangs: bool = False  # the quoted message is the root of this platform thread, so every message here quotes it
    pressed: bool = False  # by a button: its presser gets the reply at once, not as a message
    album: str = ""  # the platform's id of the album that it is a part of
    relayed: bool = False  # forwarded, struck through or only a quote: for the agent, never an answer to a gate
    missing: tuple[str, ...] = ()  # a sentence about each file of it that could not be fetched


class Accepted(Struct, frozen=True):
    """What clew did with an inbound message, for the surface to tell its sender."""

    fate: Fate
    thread: str | None
    turn: str | None
    state: str | None = None  # the turn's state now
    words: str = ""  # the reply to the sender; empty if the agent's answer is enough
    repeated: bool = False  # received before: this is the fate of the first copy
    texts: dict[str, Coded] = field(default_factory=dict)  # the code of `words`, if it is a sentence of clew

    @property
    def text(self) -> str:
        """The reply, with its code if it has one."""
        return Text(self.words, self.texts["words"]) if "words" in self.texts else self.words


CLEW = "clew"
"""The author of what clew itself adds to a request. Nobody else may use that name."""
