"""Forms of MCP servers: converts the fields of a schema to questions, and the replies to values. Pure. A reply that
does not fit raises BadInput with a text for the person."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct

from clew.model.gates import Question
from clew.support.coded import Text
from clew.support.errors import BadInput
from clew.texts.catalogue import say
from clew.texts.together import listed

YES, NO = ("yes", "true", "y"), ("no", "false", "n")

Replies = Iterable[tuple[str, tuple[str, ...]]]


class Field(Struct, frozen=True):
    name: str
    schema: Mapping[str, Any]
    is_required: bool

    @property
    def kind(self) -> str:
        return str(self.schema.get("type") or "string")

    @property
    def choices(self) -> dict[str, Any]:
        """Map each option to its value."""
        if self.kind == "boolean":
            return {YES[0]: True, NO[0]: False}
        source = self.schema.get("items") if self.kind == "array" else self.schema
        return _choices(source if isinstance(source, Mapping) else {})

    def question(self) -> Question:
        options = (say("approvals.yes"), say("approvals.no")) if self.kind == "boolean" else tuple(self.choices)
        text = self._text()
        return Question(self.name, text, options, free=not options, several=self.kind == "array")

    def value(self, said: Sequence[str]) -> Any:
        if self.kind == "array":
            return self._several(said)
        if len(said) != 1:
            raise self._bad_input(say("runtimes.one_answer"))
        return self._one(said[0])

    def _one(self, said: str) -> Any:
        if self.choices:
            return self._chosen(said)
        if self.kind in ("number", "integer"):
            return self._number(said)
        return self._check_text(said)

    def _chosen(self, said: str) -> Any:
        wanted = said.strip()
        if self.kind == "boolean" and wanted.lower() in (*YES, *NO):
            return wanted.lower() in YES
        if wanted in self.choices:
            return self.choices[wanted]
        if wanted in self.choices.values():
            return wanted
        raise self._bad_input(say("runtimes.one_of", names=", ".join(self.choices)), said)

    def _several(self, said: Sequence[str]) -> list[Any]:
        chosen = [self._chosen(each) if self.choices else each for each in said]
        self._within(len(chosen), "minItems", "maxItems", "runtimes.answers")
        return chosen

    def _number(self, said: str) -> int | float:
        try:
            number = int(said) if self.kind == "integer" else float(said)
        except ValueError:
            wanted = say("runtimes.a_whole_number") if self.kind == "integer" else say("runtimes.a_number")
            raise self._bad_input(wanted, said) from None
        if number != number or number in (float("inf"), float("-inf")):
            raise self._bad_input(say("runtimes.a_number"), said)
        self._within(number, "minimum", "maximum")
        return number

    def _check_text(self, said: str) -> str:
        self._within(len(said), "minLength", "maxLength", "runtimes.characters")
        wanted, looks_right = _FORMATS.get(str(self.schema.get("format")), ("", bool))
        if wanted and not _matches(looks_right, said):
            raise self._bad_input(say(wanted), said)
        return said

    def _within(self, size: float, least: str, most: str, of: str = "") -> None:
        """`of`: the code of what is counted."""
        low, high = self.schema.get(least), self.schema.get(most)
        if (low is not None and size < low) or (high is not None and size > high):
            raise self._bad_input(say(of, limit=_span(low, high)) if of else _span(low, high))

    def _text(self) -> str:
        """Return the title with description and limits."""
        title = str(self.schema.get("title") or self.name)
        about = self.schema.get("description")
        named = say("approvals.field_about", title=title, about=str(about)) if about else title
        hints = listed(self._limits(), "" if self.is_required else say("approvals.optional"))
        return say("approvals.field_hints", title=named, hints=hints) if hints else named

    def _limits(self) -> str:
        if self.kind not in ("number", "integer"):
            return str(self.schema.get("format") or "")
        low, high = self.schema.get("minimum"), self.schema.get("maximum")
        kind = say("approvals.whole_number") if self.kind == "integer" else say("approvals.number")
        return listed(kind, _span(low, high) if low is not None or high is not None else "")

    def _bad_input(self, wanted: str, given: str | None = None) -> BadInput:
        name = str(self.schema.get("title") or self.name)
        if given is None:
            return BadInput(say("runtimes.takes", name=name, wanted=wanted))
        return BadInput(say("runtimes.takes_not", name=name, wanted=wanted, given=repr(given)))


def fields(schema: Any) -> list[Field] | None:
    """Return the fields of the form; None if a person cannot fill it in with text."""
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(properties, Mapping) or not all(_is_plain(each) for each in properties.values()):
        return None
    required = set(schema.get("required") or ())
    return [Field(name, each, name in required) for name, each in properties.items()]


def fill(schema: Any, replies: Replies) -> dict[str, Any]:
    """Return the values of the form. Raises BadInput if a reply does not fit."""
    said = {name: tuple(word for word in words if word.strip()) for name, words in replies}
    known = fields(schema) or []
    if strange := said.keys() - {field.name for field in known}:
        raise BadInput(say("runtimes.no_such_question", names=", ".join(sorted(strange))))
    if missing := [field.name for field in known if field.is_required and not said.get(field.name)]:
        raise BadInput(say("runtimes.needs_answers", names=", ".join(missing)))
    return {field.name: field.value(said[field.name]) for field in known if said.get(field.name)}


def _is_plain(schema: Any) -> bool:
    return isinstance(schema, Mapping) and schema.get("type", "string") != "object"


def _choices(schema: Mapping[str, Any]) -> dict[str, Any]:
    if titled := schema.get("oneOf") or schema.get("anyOf"):
        return {str(each.get("title", each.get("const"))): each.get("const") for each in titled}
    values = schema.get("enum") or ()
    names = schema.get("enumNames") or values
    return {str(name): value for name, value in zip(names, values, strict=False)}


def _span(low: Any, high: Any) -> Text:
    if low is None:
        return say("runtimes.at_most", high=f"{high:g}")
    if high is None:
        return say("runtimes.at_least", low=f"{low:g}")
    return say("runtimes.between", low=f"{low:g}", high=f"{high:g}")


def _matches(looks_right: Callable[[str], object], said: str) -> bool:
    try:
        return bool(looks_right(said))
    except ValueError:
        return False


_FORMATS: dict[str, tuple[str, Callable[[str], object]]] = {
    "email": ("runtimes.an_email", lambda said: "@" in said.strip("@")),
    "uri": ("runtimes.an_address", lambda said: urlsplit(said).scheme),
    "date": ("runtimes.a_date", date.fromisoformat),
    "date-time": ("runtimes.a_time", datetime.fromisoformat),
}
