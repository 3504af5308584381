"""What a yes to an agent's request lets it have clew do: just that, to the byte, and once."""

from __future__ import annotations

from msgspec import Struct

from clew.runtimes.acp.approvals.plans import Env


class Run(Struct, frozen=True):
    argv: tuple[str, ...]
    folder: str  # links followed
    env: Env = ()


class Write(Struct, frozen=True):
    path: str  # links followed
    text: str  # the whole file
    before: str  # the mark of the file that the change was shown against


Grant = Run | Write


class Grants:
    """Of one turn."""

    def __init__(self) -> None:
        self._open: list[Grant] = []

    def add(self, *granted: Grant) -> None:
        self._open += granted

    def use(self, wanted: Grant) -> bool:
        """False: nobody said yes to just this, or it was done already."""
        if wanted not in self._open:
            return False
        self._open.remove(wanted)
        return True
