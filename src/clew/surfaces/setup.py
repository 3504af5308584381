"""Setting up a surface from the terminal: the settings to ask for, and a check of them."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from importlib import import_module
from typing import Any, Protocol

from msgspec import Struct

from clew.config import plugins
from clew.support.errors import BadInput

MODULES: Mapping[str, str] = {
    "feishu": "clew.surfaces.feishu.connect",
    "telegram": "clew.surfaces.telegram.connect",
}


class Field(Struct, frozen=True):
    """A setting below [surfaces.NAME]."""

    name: str
    words: str
    secret: bool = False
    default: str = ""
    is_asked: bool = True  # False: only settable by an option


class Connected(Struct, frozen=True):
    who: str  # the name of the bot or app
    next: str  # what the person should do now


class Connecting(Protocol):
    """The setup of one surface: a module here, or the `connecting` attribute of a plugin's factory."""

    SURFACE: str
    FIELDS: tuple[Field, ...]
    check: Callable[[dict[str, str]], Coroutine[Any, Any, Connected]]


def for_surface(surface: str) -> Connecting:
    if surface in MODULES:
        return import_module(MODULES[surface])
    factories, troubles = plugins.load(plugins.SURFACES, surface)
    if troubles and surface in plugins.names(plugins.SURFACES):
        raise BadInput(f"{surface} cannot be loaded: {troubles[0].error}")
    found: Connecting | None = getattr(factories.get(surface), "connecting", None)
    if found is None:
        raise BadInput(f"{surface} cannot be connected from here; these can: {', '.join(sorted(MODULES))}.")
    return found
