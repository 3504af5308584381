"""An event loop in virtual time. Nothing waits: when nothing is ready, time jumps to the next timer.

It can be killed between any two steps, as a process is. The tasks are then cancelled only to be rid of them: `on_death`
has cut them off from the world first, so that no `finally` of theirs has any effect on it.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from typing import Any


class Killed(SystemExit):
    """The process is dead. A SystemExit, because that alone leaves a task without being turned into its result."""


class AtRest(Exception):
    """Nothing is ready and nothing is scheduled: all that could happen has happened."""


class _Selector(selectors.SelectSelector):
    loop: VirtualLoop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self.loop.step(timeout)
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self, start: float, steps_to_live: int) -> None:
        selector = _Selector()
        selector.loop = self
        self._now = start
        self._left = steps_to_live
        self._dead = False
        super().__init__(selector)
        self.set_exception_handler(lambda loop, context: None)

    def time(self) -> float:
        return self._now

    def step(self, timeout: float | None) -> None:
        """Between two rounds of callbacks."""
        if self._dead:
            return
        self._left -= 1
        if self._left < 0:
            raise Killed
        if timeout is None:
            raise AtRest
        self._now += max(timeout, 0.0)

    def doom(self) -> None:
        """It does not come to its next step."""
        self._left = 0

    def live(self, main: Coroutine[Any, Any, None], on_death: Callable[[], None]) -> bool:
        """Run until nothing is left to happen (True) or until it is killed (False)."""
        asyncio.set_event_loop(self)
        task = self.create_task(main)
        task.add_done_callback(lambda _: self.stop())
        try:
            self.run_forever()
            return False  # it ended by itself, as a program does that cannot go on
        except AtRest:
            return True
        except Killed:
            return False
        finally:
            self._dead = True
            on_death()
            self._bury()
            asyncio.set_event_loop(None)

    def _bury(self) -> None:
        while tasks := asyncio.all_tasks(self):
            for task in tasks:
                task.cancel()
            self.call_soon(self.stop)
            self.run_forever()
        self.close()
