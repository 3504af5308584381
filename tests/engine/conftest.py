"""Fixtures of the engine's tests."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from functools import wraps
from importlib import import_module
from pkgutil import walk_packages
from typing import Any

import pytest

import clew.engine
import clew.texts
from clew.engine.threads.lifecycle import real_folder
from clew.store.base import Store

for _package in (clew.engine, clew.texts):  # a module that is first imported in a body reads its own file
    for _module in walk_packages(_package.__path__, f"{_package.__name__}."):
        import_module(_module.name)

_LOOKS = ("stat", "lstat", "open", "scandir", "listdir", "readlink")
_ALLOWED = real_folder.__code__  # one look at the folder that `/dir` names


@pytest.fixture(autouse=True)
def bodies_read_no_files(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fails a test in which the body of a transaction looks at a file: everybody who writes would wait for the disk."""
    inside = threading.local()
    found: list[str] = []

    def guarded(name: str) -> Callable[..., Any]:
        real = getattr(os, name)

        @wraps(real)
        def look(*args: Any, **kwargs: Any) -> Any:
            if getattr(inside, "body", False) and _ALLOWED not in (callers := _callers()):
                found.append(f"os.{name}{args!r} in {', '.join(code.co_qualname for code in callers)}")
            return real(*args, **kwargs)

        return look

    def marked(access: Callable[..., Any]) -> Callable[..., Any]:
        async def run(store: Store, body: Callable[..., Any]) -> Any:
            def within(tx: Any) -> Any:
                inside.body = True
                try:
                    return body(tx)
                finally:
                    inside.body = False

            return await access(store, within)

        return run

    for name in _LOOKS:
        monkeypatch.setattr(os, name, guarded(name))
    for name in ("write", "read"):
        monkeypatch.setattr(Store, name, marked(getattr(Store, name)))
    yield
    assert found == []


def _callers() -> list[Any]:
    frame = sys._getframe(2)
    codes: list[Any] = []
    while frame.f_back is not None and len(codes) < 12:
        codes.append(frame.f_code)
        frame = frame.f_back
    return codes
