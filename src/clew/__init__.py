"""clew: a durable home for the work of coding agents. `from clew import Clew`: see docs/reference/python.md."""

from clew.support.version import __version__

TYPE_CHECKING = False  # not from typing: everything imports this file, also what has to stay small
if TYPE_CHECKING:
    from clew.client.api import Clew
    from clew.client.simple import run
    from clew.daemon.notifier import notify_with

__all__ = ["Clew", "__version__", "notify_with", "run"]

_LATER = {"Clew": "clew.client.api", "notify_with": "clew.daemon.notifier", "run": "clew.client.simple"}


def __getattr__(name: str) -> object:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_LATER[name]), name)
