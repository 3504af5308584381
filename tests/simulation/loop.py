"""An event loop in virtual time: when nothing is ready, time jumps to the next timer. It can be killed between any two
steps, like a process. The tasks are then cancelled only to free them: `on_death` has disconnected them from the world
first, so that no `finally` has an effect. It has no files, threads or signals, which makes it small and fast.
"""

from __future__ import annotations

import asyncio
import heapq
import sys
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from contextvars import Context, copy_context
from typing import Any, TypeVar, TypeVarTuple

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
_ROUNDS = 8  # steps for cancelled tasks to end


class _Call(asyncio.TimerHandle):
    """A scheduled call. It does not use its parent's constructor: no loop, no source location."""

    __slots__ = ("args", "callback", "context", "dropped")

    def __init__(self, callback: Callable[..., object], args: tuple[object, ...], context: Context | None) -> None:
        self.callback = callback
        self.args = args
        self.context = copy_context() if context is None else context
        self.dropped = False

    def cancel(self) -> None:
        self.dropped = True

    def cancelled(self) -> bool:
        return self.dropped


class VirtualLoop(asyncio.BaseEventLoop):
    def __init__(self, start: float, steps_to_live: int) -> None:
        super().__init__()
        self._now = start
        self._left = steps_to_live
        self._over = False
        self._soon: deque[_Call] = deque()
        self._later: list[tuple[float, int, _Call]] = []
        self._made = 0
        self._tasks: list[asyncio.Task[Any]] = []

    def time(self) -> float:
        return self._now

    def get_debug(self) -> bool:
        return False

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(
        self,
        coro: Generator[Any, None, T] | Coroutine[Any, Any, T],
        *,
        name: object = None,
        context: Context | None = None,
    ) -> asyncio.Task[T]:
        task = asyncio.Task(coro, loop=self, name=str(name) if name else None, context=context)
        self._tasks.append(task)
        return task

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        return  # an uncaught exception belongs to the daemon's log

    def call_soon(self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None) -> _Call:
        call = _Call(callback, args, context)
        self._soon.append(call)
        return call

    def call_at(
        self, when: float, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> _Call:
        """Schedule a call; calls at the same time run in the order in which they were scheduled."""
        call = _Call(callback, args, context)
        self._made += 1
        heapq.heappush(self._later, (when, self._made, call))
        return call

    def call_later(
        self, delay: float, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> _Call:
        return self.call_at(self._now + delay, callback, *args, context=context)

    def stop(self) -> None:
        self._over = True

    def doom(self) -> None:
        """Kill the loop before its next step."""
        self._left = 0

    def live(self, main: Coroutine[Any, Any, None], on_death: Callable[[], None]) -> bool:
        """Run until nothing is left to do (True) or until it is killed (False)."""
        hooks = sys.get_asyncgen_hooks()
        sys.set_asyncgen_hooks(finalizer=self._finish)
        asyncio._set_running_loop(self)
        task = self.create_task(main)
        task.add_done_callback(lambda _: self.stop())  # by itself, like a program that cannot continue
        try:
            return self._run_to_rest()
        finally:
            on_death()
            self._bury()
            asyncio._set_running_loop(None)
            sys.set_asyncgen_hooks(*hooks)

    def _run_to_rest(self) -> bool:
        while not self._over and self._left > 0:
            self._left -= 1
            if not self._soon and not self._jump():
                return True
            while self._later and self._later[0][0] <= self._now:
                self._soon.append(heapq.heappop(self._later)[2])
            self._step()
        return False

    def _jump(self) -> bool:
        """Advance time to the next timer; False: there is none."""
        later = self._later
        while later and later[0][2].dropped:
            heapq.heappop(later)
        if later:
            self._now = max(self._now, later[0][0])
        return bool(later)

    def _step(self) -> None:
        """Run all calls that are ready now."""
        take = self._soon.popleft
        for _ in range(len(self._soon)):
            call = take()
            if not call.dropped:
                try:
                    call.context.run(call.callback, *call.args)
                except Exception:
                    continue  # as every loop does

    def _finish(self, generator: AsyncGenerator[object, None]) -> None:
        """Close a generator that nobody reads any more, as every loop does."""
        self.call_soon(self.create_task, generator.aclose())

    def _bury(self) -> None:
        while left := [task for task in self._tasks if not task.done()]:
            for task in left:
                task.cancel()
            for _ in range(_ROUNDS):
                self._step()
        self.close()
