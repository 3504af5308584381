"""Writes the generated pages of docs/reference from the code: settings, commands, events and errors.

    .venv/bin/python scripts/reference.py

`tests/repo/test_reference.py` fails if a page is not what this would write.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from pathlib import Path
from textwrap import dedent, fill
from typing import Any, get_args, get_origin, get_type_hints

import click
from msgspec import Struct

from clew.cli import main as cli
from clew.cli.command_list import SECTIONS
from clew.cli.language import sentence
from clew.config import plugins
from clew.config.reading import plugin_group, split, without_none
from clew.config.settings import Config
from clew.model.events.kinds import EventKind
from clew.model.events.logged import Logged
from clew.model.events.stream import KINDS
from clew.support.errors import ClewError
from clew.texts.bilingual import zh
from clew.texts.slash_commands import COMMANDS as SLASH_COMMANDS
from clew.texts.slash_commands import EVERYWHERE, CommandSpec

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "clew"
FOLDER = ROOT / "docs" / "reference"
NOTE = "<!-- Made by scripts/reference.py. Change the code, then run it. -->"


def page(title: str, intro: str, body: Iterable[str]) -> str:
    return "\n".join([f"# {title}", "", NOTE, "", wrapped(intro), *body, ""])


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield ""
    yield _row(head)
    yield _row(tuple("---" for _ in head))
    yield from map(_row, rows)


def _row(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def wrapped(text: str) -> str:
    return fill(" ".join(text.split()), 120, break_long_words=False, break_on_hyphens=False)


# Settings


SETTINGS = """
Every setting of `config.toml`, with its default. How to write that file, and what some of these mean in practice:
[settings](config.md). Times are in seconds and may have a fraction. A leading `~` in a path is your own folder. An
empty default means: not set.
"""
TYPES = {str: "text", int: "whole number", float: "number", bool: "`true` or `false`"}


def settings() -> str:
    return page("List of settings", SETTINGS, _tables(Config, ()))


def _tables(kind: Any, at: tuple[str, ...]) -> Iterator[str]:
    """One section for each table that has settings, in the order of the dataclasses."""
    hints = get_type_hints(kind, include_extras=True)
    tables = [(each.name, below) for each in fields(kind) for below in _below(hints[each.name])]
    if plain := [each for each in fields(kind) if not any(each.name == name for name, _ in tables)]:
        meanings = comments(kind)
        rows = [(f"`{each.name}`", _default(each), _value(hints[each.name]), meanings[each.name]) for each in plain]
        yield from ("", f"## `[{'.'.join(at)}]`", "", wrapped(inspect.getdoc(kind) or ""))
        yield from table(("key", "default", "value", "meaning"), rows)
    for name, (below, behind) in tables:
        yield from _tables(below, (*at, name, *behind))


def _below(hint: Any) -> Iterator[tuple[Any, tuple[str, ...]]]:
    """The dataclasses of tables below this one, and what their names have behind it."""
    if (group := plugin_group(hint)) is not None:
        for name in plugins.BUILT_IN[group]:
            yield from ((kind, (name, *behind)) for kind, behind in _below(plugins.settings_of(group, name)))
    elif is_dataclass(hint):
        yield hint, ()
    elif get_origin(hint) is Mapping and is_dataclass(get_args(hint)[1]):
        yield get_args(hint)[1], ("NAME",)


def _default(each: Field[Any]) -> str:
    value = each.default
    if value is MISSING and each.default_factory is MISSING:
        return "required"
    if value in (MISSING, None, ()):
        return ""
    return f'`"{value}"`' if isinstance(value, str) else f"`{value:g}`" if isinstance(value, float) else f"`{value}`"


def _value(hint: Any) -> str:
    kind, rules = split(without_none(hint))
    name = "list of texts" if get_origin(kind) is tuple else "table" if get_origin(kind) is Mapping else TYPES[kind]
    words = [rule.words for rule in rules if hasattr(rule, "words")]
    return "; ".join([name, *words])


def comments(kind: type) -> dict[str, str]:
    """What the comment behind each field says, or the lines of comment above it."""
    lines = dedent(inspect.getsource(kind)).splitlines()
    nodes = ast.parse("\n".join(lines)).body[0]
    assert isinstance(nodes, ast.ClassDef)
    return {
        node.target.id: _comment(lines, node)
        for node in nodes.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }


def _comment(lines: list[str], node: ast.AnnAssign) -> str:
    behind = lines[(node.end_lineno or node.lineno) - 1][node.end_col_offset or 0 :]
    if "#" in behind:
        return behind.partition("#")[2].strip()
    above: list[str] = []
    for line in reversed(lines[: node.lineno - 1]):
        if not line.strip().startswith("#"):
            break
        above.insert(0, line.strip().lstrip("# "))
    return " ".join(above)


# Commands


COMMANDS = """
Every command and option, as `clew COMMAND --help` prints them. What they do in detail, their JSON and the exit codes:
[the command line](cli.md). Every command but `codex` also takes `--json`.
"""
SLASH = """
These work in every chat app and in `clew chat`, with the same meaning. Type the English or the Chinese name, with `/`
or `／`. `/help` lists those that you may use. An argument in brackets may be left out. A message that begins with two
slashes goes to the agent with one, and so does any other word with a slash, unless it looks like a mistyped command.
*Who* is the least [role](glossary.md) in a chat; in the terminal you are the owner. Why they are as they are:
[decisions](../explanation/decisions.md#commands).
"""


def commands() -> str:
    return page("List of commands", COMMANDS, [*_terminal(), *_slash_commands()])


def _terminal() -> Iterator[str]:
    for section, names in SECTIONS.items():
        yield from ("", f"## {section}")
        for name in names:
            command = cli.cli.get_command(click.Context(cli.cli), name)
            assert command is not None
            yield from _command(command, f"clew {name}")


def _command(command: click.Command, name: str) -> Iterator[str]:
    context = click.Context(command, info_name=name)
    arguments = " ".join(part for part in command.collect_usage_pieces(context) if not part.startswith("[OPTIONS"))
    below = isinstance(command, click.Group)
    yield from ("", f"### `{name}`" if below else f"### `{f'{name} {arguments}'.strip()}`", "", *_help(command))
    options = [each for each in command.params if isinstance(each, click.Option) and each.name != "json"]
    rows = [record for each in options if "--json" not in each.opts and (record := each.get_help_record(context))]
    if rows:
        yield from table(("option", "meaning"), ((f"`{option}`", meaning) for option, meaning in rows))
    if isinstance(command, click.Group):
        for each in command.list_commands(context):
            inner = command.get_command(context, each)
            assert inner is not None
            yield from _command(inner, f"{name} {each}")


def _help(command: click.Command) -> Iterator[str]:
    """A paragraph that begins with click's mark `\\b` is shown as it is."""
    paragraphs = inspect.cleandoc(command.help or command.short_help or "").split("\n\n")
    for at, paragraph in enumerate(paragraphs):
        yield from [""] if at else []
        if paragraph.startswith("\b"):
            yield from ("```text", paragraph.removeprefix("\b\n"), "```")
        else:
            yield wrapped(paragraph)


def _slash_commands() -> Iterator[str]:
    yield from ("", "## In chats and `clew chat`", "", wrapped(SLASH))
    yield from table(("command", "中文", "meaning", "含义", "who", "where"), map(_slash_command, SLASH_COMMANDS))


def _slash_command(spec: CommandSpec) -> tuple[str, ...]:
    where = "everywhere" if spec.places == EVERYWHERE else ", ".join(sorted(spec.places))
    usages = f"`{spec.usage(chinese=False)}`", f"`{spec.usage(chinese=True)}`"
    return *usages, str(spec.help), zh(spec.help), str(spec.least), where


# Events


EVENTS = """
What the event streams send: `GET /api/events` ([HTTP](http.md)), `clew watch --json`, `Clew.events()`
([Python](python.md)). A stored event has a sequence number (`seq`). It comes once, in order, also after a restart of
the daemon, until it is pruned (`events.keep_days`). A live event has no number and is not repeated. There may be more
kinds later: ignore the ones that you do not know. A field that is a sentence of clew, such as `error`, is in English;
`texts` has its code, by the name of the field, for a client that shows another language.
"""


def events() -> str:
    rows = [
        (f"`{kind}`", "yes" if issubclass(data, Logged) else "", _fields(data), " ".join((data.__doc__ or "").split()))
        for kind, data in ((kind, KINDS[kind]) for kind in EventKind)
    ]
    return page("List of events", EVENTS, table(("kind", "stored", "fields of `data`", "meaning"), rows))


def _fields(data: type[Struct]) -> str:
    return ", ".join(f"`{name}`" for name in data.__struct_fields__ if name != "texts")


# Errors


ERRORS = """
Errors of clew itself, the same in the command line, the API and Python (`clew.support.errors`). With `--json` an
error is `{"error": {"code": …, "message": …}}`; the API answers `application/problem+json` with the same `code`. The
message says what to do. Error messages one by one: [troubleshooting](../how-to/troubleshooting.md).
"""
COMMAND_LINE = "Only from the command line: `usage` (exit 2: wrong arguments), and trouble with the disk (exit 1):"


def errors() -> str:
    rows = [
        (f"`{kind.code}`", f"`{kind.__name__}`", str(kind.exit), str(kind.status), _meaning(kind))
        for kind in _tree(ClewError)
    ]
    disk = [(f"`{code}`", str(sentence(words, file="FILE"))) for code, words in cli.FILE_ERRORS.values()]
    body = [
        *table(("code", "in Python", "exit", "HTTP", "meaning"), rows),
        "",
        COMMAND_LINE,
        *table(("code", "message"), disk),
    ]
    return page("List of errors", ERRORS, body)


def _tree(kind: type[ClewError]) -> Iterator[type[ClewError]]:
    if kind.__module__ == ClewError.__module__:
        yield kind
    for each in kind.__subclasses__():
        yield from _tree(each)


def _meaning(kind: type[ClewError]) -> str:
    own = kind.__dict__.get("__doc__") or OTHERS.get(kind.code, "")
    return " ".join(own.split())


OTHERS = {"error": "Any other error.", "not_found": "There is no such thread, turn, gate or file."}


PAGES: Mapping[str, Callable[[], str]] = {
    "settings.md": settings,
    "commands.md": commands,
    "events.md": events,
    "errors.md": errors,
}


def main() -> int:
    for name, make in PAGES.items():
        (FOLDER / name).write_text(make(), encoding="utf-8")
        print(FOLDER.joinpath(name).relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main())
