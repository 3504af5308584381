"""Validation rules for settings, as annotations of their type hints."""

from __future__ import annotations

import re
from typing import Annotated, Any, Protocol
from urllib.parse import urlsplit

from msgspec import Struct

from clew.support.coded import worded
from clew.support.durations import parse_duration
from clew.support.errors import BadInput


class Rule(Protocol):
    """What a value must satisfy beyond its type."""

    words: str

    def holds(self, value: Any) -> bool: ...


class Between(Struct, frozen=True):
    least: float
    most: float = float("inf")

    @property
    def words(self) -> str:
        if self.most == float("inf"):
            return worded("config.at_least", "at least {least}", least=f"{self.least:g}")
        return worded("config.between", "from {least} to {most}", least=f"{self.least:g}", most=f"{self.most:g}")

    def holds(self, value: float) -> bool:
        return self.least <= value <= self.most


class OneOf(Struct, frozen=True):
    choices: tuple[str, ...]

    @property
    def words(self) -> str:
        return worded("config.one_of", "one of {choices}", choices=", ".join(self.choices))

    def holds(self, value: str) -> bool:
        return value in self.choices


class Shape(Struct, frozen=True):
    """A text that matches a pattern as a whole."""

    pattern: str
    words: str

    def holds(self, value: str) -> bool:
        return re.fullmatch(self.pattern, value) is not None


class LengthOfTime(Struct, frozen=True):
    words: str = worded("config.a_duration", "a length of time such as 30m, 4h or 2d")

    def holds(self, value: str) -> bool:
        try:
            return parse_duration(value) > 0
        except BadInput:
            return False


class WebAddress(Struct, frozen=True):
    words: str = worded("config.an_address", "an address such as https://example.org/hook")

    def holds(self, value: str) -> bool:
        try:
            parts = urlsplit(value)
            return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            return False


class VariableName(Struct, frozen=True):
    """The name of an environment variable that holds a secret."""

    words: str = worded("config.a_variable", "the name of an environment variable")

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
Duration = Annotated[str, LengthOfTime()]
Days = Annotated[float, Between(0)]
Timeout = Annotated[float, Between(0.1)]
Name = Annotated[str, Shape(r"[A-Za-z0-9][A-Za-z0-9_-]*", worded("config.a_name", "letters, digits, - and _"))]
Memory = Annotated[
    str, Shape(r"(100|[1-9]?[0-9])%|[0-9]{1,15}", worded("config.a_share", 'a share such as "70%", or bytes'))
]
ModelName = Annotated[str, Shape(r"\S{1,200}", worded("config.a_model", "a name without spaces"))]
Amount = Annotated[float, Between(0)]
Level = Annotated[str, OneOf(("debug", "info", "warning", "error"))]
Language = Annotated[str, OneOf(("en", "zh"))]
OnLimit = Annotated[str, OneOf(("auto", "ask", "never"))]
AccountStrategy = Annotated[str, OneOf(("drain", "round-robin", "most-left"))]
QuietHours = Annotated[
    str,
    Shape(
        r"([01]\d|2[0-3]):[0-5]\d-([01]\d|2[0-3]):[0-5]\d",
        worded("config.quiet_hours", 'two times of a day, such as "23:00-07:00"'),
    ),
]
DefaultPolicy = Annotated[str, OneOf(("careful", "sandbox", "trusted", "read-only"))]
