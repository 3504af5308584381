"""What a person's yes allows the agent to have clew do: exactly that, to the byte, and once."""

from __future__ import annotations

from msgspec import Struct

from clew.runtimes.acp.approvals.plans import Env


class Run(Struct, frozen=True):
    argv: tuple[str, ...]
    folder: str  # symbolic links resolved
    env: Env = ()


class Write(Struct, frozen=True):
    path: str  # symbolic links resolved
    text: str  # of the complete file
    before: str  # the hash of the file when the change was shown


Grant = Run | Write


class Grants:
    """The unused grants of one turn."""

    def __init__(self) -> None:
        self._open: list[Grant] = []

    def add(self, *granted: Grant) -> None:
        self._open += granted

    def use(self, wanted: Grant) -> bool:
        """Use up a grant; False: nobody allowed exactly this, or it was already used."""
        if wanted not in self._open:
            return False
        self._open.remove(wanted)
        return True
