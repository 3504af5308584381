"""Fixtures of the engine's tests."""

from __future__ import annotations

import os
import sys
import sysconfig
import threading
from collections.abc import Callable, Iterator
from functools import wraps
from importlib import import_module
from pkgutil import walk_packages
from typing import Any

import pytest

import clew.engine
import clew.texts
from clew.store.base import Store

for _package in (clew.engine, clew.texts):  # a module that is first imported in a body reads its own file
    for _module in walk_packages(_package.__path__, f"{_package.__name__}."):
        import_module(_module.name)

_LOOKS = ("stat", "lstat", "readlink")  # for these Python calls no audit hook
_AUDITED = ("open", "os.listdir", "os.scandir")  # whichever function is used
_PYTHON = sysconfig.get_path("stdlib")
_body = threading.local()
_found: list[str] = []


def _note(what: str) -> None:
    if getattr(_body, "runs", False):
        _found.append(f"{what} in {', '.join(_callers())}")


def _audit(event: str, given: tuple[Any, ...]) -> None:
    if event in _AUDITED and not str(given[0]).startswith(_PYTHON):  # such as a codec, at its first use
        _note(f"{event}{given[:1]!r}")


sys.addaudithook(_audit)  # once: a hook stays


@pytest.fixture(autouse=True)
def bodies_read_no_files(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Fails a test in which the body of a transaction looks at a file: everybody who writes would wait for the disk."""
    for name in _LOOKS:
        monkeypatch.setattr(os, name, _guarded(name))
    for name in ("write", "read"):
        monkeypatch.setattr(Store, name, _marked(getattr(Store, name)))
    _found.clear()
    yield _found
    assert _found == []


def _guarded(name: str) -> Callable[..., Any]:
    real = getattr(os, name)

    @wraps(real)
    def look(*args: Any, **kwargs: Any) -> Any:
        _note(f"os.{name}{args!r}")
        return real(*args, **kwargs)

    return look


def _marked(access: Callable[..., Any]) -> Callable[..., Any]:
    async def run(store: Store, body: Callable[..., Any]) -> Any:
        def within(tx: Any) -> Any:
            _body.runs = True
            try:
                return body(tx)
            finally:
                _body.runs = False

        return await access(store, within)

    return run


def _callers() -> list[str]:
    frame = sys._getframe(3)
    names: list[str] = []
    while frame.f_back is not None and len(names) < 12:
        names.append(frame.f_code.co_qualname)
        frame = frame.f_back
    return names
