"""Which call of a turn began which sub-agent, and which sub-agent made which call. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from clew.runtimes.claude.wire import Frame
from clew.support.text import clean

UNKNOWN = "?"  # a sub-agent of which Claude said only that it asks


class SubAgents:
    def __init__(self) -> None:
        self._parents: dict[str, str | None] = {}  # by call: the call that began the sub-agent that made it
        self._names: dict[str, str] = {}  # what each sub-agent is for, by the call that began it
        self._calls: dict[str, str] = {}  # the call that began it, by Claude's id of the sub-agent
        self._in_background: set[str] = set()  # calls

    def is_known(self, call: str) -> bool:
        return call in self._parents

    def is_in_background(self, call: str | None) -> bool:
        return call in self._in_background

    def add_call(self, call: str, parent: str | None, name: str = "") -> None:
        """`name`: of the sub-agent that the call begins."""
        self._parents[call] = parent
        if name:
            self._names[call] = name

    def begin(self, started: Frame) -> None:
        """A task was started; other tasks than sub-agents began with calls that have no name."""
        call = started.tool_use_id
        if call is None or started.task_id is None:
            return
        self._calls[started.task_id] = call
        if started.parent_task_id is not None and self._parents.get(call) is None:
            self._parents[call] = self.call_of(started.parent_task_id)
            self._names.setdefault(call, clean(str(started.description or UNKNOWN)))
        if started.is_backgrounded and call in self._names:
            self._in_background.add(call)

    def call_of(self, agent: str | None) -> str | None:
        """The call that began this sub-agent, by Claude's id of it."""
        return self._calls.get(agent or "")

    def names(self, call: str | None, agent: str | None) -> tuple[str, ...]:
        """The sub-agents above a call, outermost first. `agent`: Claude's id of the one that makes it."""
        above = self._parents.get(call or "") or self.call_of(agent)
        if above is None:
            return (UNKNOWN,) if agent is not None else ()
        return tuple(reversed(list(self._names_up(above))))

    def _names_up(self, call: str | None) -> Iterator[str]:
        seen: set[str] = set()
        while call is not None and call not in seen:
            seen.add(call)
            yield self._names.get(call, UNKNOWN)
            call = self._parents.get(call)
