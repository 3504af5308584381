"""A model that plays the script in the prompt: for tests, and for the demo, without an account.

async with ScriptedModel() as model:
    write_codex_home(folder, model.url)

Its parts are imported when they are used: the scripted runtime needs only `script`, and no HTTP server.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clew.testing.scripted_model.home import write_claude_home, write_codex_home, write_hermes_home
    from clew.testing.scripted_model.request import Request
    from clew.testing.scripted_model.server import ScriptedModel

__all__ = ["Request", "ScriptedModel", "write_claude_home", "write_codex_home", "write_hermes_home"]

_MODULES = {"Request": "request", "ScriptedModel": "server"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES.get(name, 'home')}"), name)
