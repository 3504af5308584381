"""The result of a line of `clew chat`."""

from __future__ import annotations

from msgspec import Struct


class Reply(Struct, frozen=True):
    """The result of a line. `turn` is the turn that the message started; `moved`: the current thread has changed."""

    lines: tuple[str, ...] = ()
    turn: str | None = None
    moved: bool = False
    leave: bool = False
    failed: bool = False
