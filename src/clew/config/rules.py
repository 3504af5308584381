"""Validation rules for settings, as annotations of their type hints."""

from __future__ import annotations

import re
from typing import Annotated, Any, Protocol
from urllib.parse import urlsplit

from msgspec import Struct


class Rule(Protocol):
    """What a value must satisfy beyond its type."""

    words: str

    def holds(self, value: Any) -> bool: ...


class Between(Struct, frozen=True):
    least: float
    most: float = float("inf")

    @property
    def words(self) -> str:
        return f"at least {self.least:g}" if self.most == float("inf") else f"from {self.least:g} to {self.most:g}"

    def holds(self, value: float) -> bool:
        return self.least <= value <= self.most


class OneOf(Struct, frozen=True):
    choices: tuple[str, ...]

    @property
    def words(self) -> str:
        return "one of " + ", ".join(self.choices)

    def holds(self, value: str) -> bool:
        return value in self.choices


class Shape(Struct, frozen=True):
    """A text that matches a pattern as a whole."""

    pattern: str
    words: str

    def holds(self, value: str) -> bool:
        return re.fullmatch(self.pattern, value) is not None


class WebAddress(Struct, frozen=True):
    words: str = "an address such as https://example.org/hook"

    def holds(self, value: str) -> bool:
        try:
            parts = urlsplit(value)
            return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            return False


class VariableName(Struct, frozen=True):
    """The name of an environment variable that holds a secret."""

    words: str = "the name of an environment variable"

    def holds(self, value: str) -> bool:
        return re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", value) is not None


class Expanded(Struct, frozen=True):
    """A path, in which a leading `~` is expanded to the user's home folder."""


class Hidden(Struct, frozen=True):
    """A secret: never shown in an error, redacted in the log."""


class PluginTables(Struct, frozen=True):
    """Marks the field with the tables of this group's plugins, by name; each plugin defines its own settings."""

    group: str


Place = Annotated[str, Expanded()]
Secret = Annotated[str, Hidden()]
Variable = Annotated[str, VariableName()]
Address = Annotated[str, WebAddress()]
Port = Annotated[int, Between(0, 65535)]
AtLeastOne = Annotated[int, Between(1)]
Seconds = Annotated[float, Between(0)]
Days = Annotated[float, Between(0)]
Timeout = Annotated[float, Between(0.1)]
Name = Annotated[str, Shape(r"[A-Za-z0-9][A-Za-z0-9_-]*", "letters, digits, - and _")]
Level = Annotated[str, OneOf(("debug", "info", "warning", "error"))]
Language = Annotated[str, OneOf(("en", "zh"))]
DefaultPolicy = Annotated[str, OneOf(("careful", "sandbox", "trusted", "read-only"))]
