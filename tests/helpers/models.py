"""The scripted model in its own thread, for tests that drive a complete clew from outside."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from types import TracebackType
from typing import Any, TypeVar

from clew.testing.scripted_model import ScriptedModel
from clew.testing.scripted_model.server import AnyRequest, Handler

T = TypeVar("T")
TIMEOUT = 60.0


class Model:
    def __enter__(self) -> Model:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._model = ScriptedModel()
        self._do(self._model.start())
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._do(self._model.stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    @property
    def url(self) -> str:
        return self._model.url

    @property
    def address(self) -> str:
        return self._model.address

    def on(self, marker: str, handler: Handler) -> None:
        """Let a function return the steps for prompts that contain the marker. It is called in the model's thread."""
        self._model.on(marker, handler)

    def count(self, marker: str = "") -> int:
        return self._model.count(marker)

    @property
    def requests(self) -> list[AnyRequest]:
        """Those so far."""
        return list(self._model.requests)

    def release(self, name: str) -> None:
        self._loop.call_soon_threadsafe(self._model.release, name)

    def wait_held(self, name: str) -> None:
        """Wait until a request is blocked there."""
        self._do(self._model.held(name))

    def wait_left(self, name: str) -> None:
        """Wait until no request is blocked there any more."""
        self._do(self._model.left(name))

    def _do(self, work: Coroutine[Any, Any, T]) -> T:
        future: Future[T] = asyncio.run_coroutine_threadsafe(work, self._loop)
        return future.result(TIMEOUT)
