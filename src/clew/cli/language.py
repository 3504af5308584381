"""The language of the terminal. Sentences of clew are shown in it; JSON stays English, with the codes beside it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from clew.support.coded import Coded, Text


CALLED_AS = "CLEW_CALLED_AS"  # set by the launcher of a checkout


class WithTexts(Protocol):
    """A view that names the codes of its sentences."""

    @property
    def texts(self) -> dict[str, Coded]: ...


def reads_chinese(environ: Mapping[str, str]) -> bool:
    """Whether the locale of the terminal is Chinese."""
    names = ("LC_ALL", "LC_MESSAGES", "LANG")
    return next((environ[name] for name in names if environ.get(name)), "").lower().startswith("zh")


def in_locale(text: str) -> str:
    """A text for the terminal: a sentence of clew in its language, with commands as they are called here; any other as
    it is. A sentence of a daemon whose version has other sentences stays English."""
    return text if type(text) is str else as_called(_in_chinese(text) if reads_chinese(os.environ) else text)


def _in_chinese(text: str) -> str:
    from clew.support.coded import coded_of  # imported late: `clew --help` must be fast
    from clew.texts.bilingual import zh
    from clew.texts.catalogue import restore

    coded = coded_of(text)
    _bring_sentences(text)
    return zh(restore(coded, str.__str__(text)) if coded else text)


def as_called(text: str) -> str:
    """The text with its commands as the person types them: `./clew up` if that is how this one was called."""
    called = os.environ.get(CALLED_AS, "clew")
    if called == "clew" or "clew " not in text:
        return text
    import re

    from clew.cli.command_list import COMMANDS

    return re.sub(rf"(?<![\w./-])clew (?=(?:{'|'.join(COMMANDS)})\b)", lambda _: f"{called} ", text)


def _bring_sentences(text: object) -> None:
    """Load the plugins whose sentences a text of the daemon holds."""
    from clew.support.coded import Text, plugins_in

    if isinstance(text, Text) and (missing := plugins_in(text.coded)):
        from clew.config.plugins import bring_sentences

        bring_sentences(missing)


def said(view: WithTexts, field: str) -> str:
    """A field of a view for the terminal: a sentence of clew in its language, any other text as it is."""
    from clew.support.coded import with_code

    return in_locale(with_code(getattr(view, field) or "", view.texts.get(field)))


def said_each(view: WithTexts, field: str) -> list[str]:
    """The same for a field that is a list."""
    from clew.support.coded import with_code

    texts = enumerate(getattr(view, field))
    return [in_locale(with_code(text, view.texts.get(f"{field}.{number}"))) for number, text in texts]


def person(name: str) -> str:
    """Who said or answered something. A local client does so as `you`."""
    return "你" if name == "you" and reads_chinese(os.environ) else name


def sentence(code: str, /, **args: object) -> Text:
    """A sentence of the catalogue with its code, for an error: JSON has it in English."""
    from clew.texts.catalogue import say

    if reads_chinese(os.environ):
        for value in args.values():
            _bring_sentences(value)
    return say(code, **{name: value if isinstance(value, str | int) else str(value) for name, value in args.items()})


def phrase(code: str, /, **args: object) -> str:
    """A sentence of the catalogue in the language of the terminal."""
    return str.__str__(in_locale(sentence(code, **args)))


def word(code: str) -> str:
    """A state, a kind or an outcome, which the API names by a code, in the language of the terminal. A code that this
    version does not know is shown as it is."""
    if not reads_chinese(os.environ):
        return _IN_ENGLISH.get(code, code)
    from clew.texts.catalogue import sentences

    return sentences("cli_words").get(code, (code, code))[1]


_IN_ENGLISH = {"interrupted": "stopped"}  # codes that people know by another word


def labels(*names: str) -> tuple[str, ...]:
    """The head of a table. An empty name is an empty cell."""
    return tuple(phrase(f"cli_labels.{name}") if name else "" for name in names)


def row_name(name: str) -> str:
    """The name of a row."""
    return phrase(f"cli_labels.{name}")
