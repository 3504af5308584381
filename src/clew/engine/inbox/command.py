"""A command of a chat as its handler gets it, and what the handler returns."""

from __future__ import annotations

from msgspec import Struct

from clew.engine.core import Core
from clew.engine.inbox.access import SPEAKERS, role_of
from clew.model.delivery import Button
from clew.model.messages import Attachment, Conversation, Inbound, Role
from clew.model.threads import Thread
from clew.store import Tx
from clew.support.errors import ClewError, Refused
from clew.texts.catalogue import say
from clew.texts.command_replies import Replies

LONGEST_BUTTON = 64  # bytes of `Button.says`


class Prepared(Struct, frozen=True):
    """What a command needed from the disk, which no transaction may wait for."""

    file: Attachment | None = None  # a copy, to be sent
    folder: str | None = None  # that it names, and that is there
    refused: ClewError | None = None  # why there is none


NOTHING_PREPARED = Prepared()


class Reply(Struct, frozen=True):
    """The reply to a command, if it is more than a text."""

    text: str
    buttons: tuple[Button, ...] = ()
    file: Attachment | None = None  # sent instead of the text


class Command(Struct, frozen=True):
    """A command with the rest of its line, its message, and the thread that is bound to the conversation."""

    tx: Tx
    core: Core
    inbound: Inbound
    rest: str
    thread: Thread | None
    tell: Replies
    prepared: Prepared = NOTHING_PREPARED

    @property
    def where(self) -> Conversation:
        return self.inbound.conversation

    def bound(self) -> Thread:
        if self.thread is None:
            raise Refused(say("threads.no_thread_here"))
        return self.thread

    @property
    def role(self) -> Role | None:
        return role_of(self.tx, self.core, self.inbound)

    def require_speaker(self) -> None:
        """Raises Refused for a watcher, who may look at settings and not change them."""
        if self.role not in SPEAKERS:
            raise Refused(say("people.watcher"))


def option_buttons(name: str, options: list[str]) -> tuple[Button, ...]:
    """A button for each option of a command. One that is too long for a button can still be typed."""
    buttons = [Button(option, f"/{name} {option}") for option in options]
    return tuple(button for button in buttons if len(button.says.encode()) <= LONGEST_BUTTON)
