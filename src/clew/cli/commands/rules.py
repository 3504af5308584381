"""Rules: what agents may do without asking, and what they may never do."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from clew.cli.completion import thread_ids
from clew.cli.language import labels, phrase, said, sentence, word
from clew.cli.output import Out, json_option, moment

if TYPE_CHECKING:
    from clew.model.gate_views import RuleView


KINDS = click.Choice(["command", "change", "tool"])


@click.group("rules", short_help="Manage what agents may do without asking.")
@json_option
def rules_command() -> None:
    """Manage what agents may do without asking, and what they may never do. Deny wins over ask, ask over allow;
    without a rule, clew asks."""


@rules_command.command("list")
@json_option
@click.pass_obj
def list_command(out: Out) -> None:
    """List rules, oldest first."""
    from clew.client import requests

    rows = out.client().ask(requests.rules())
    if out.as_json:
        out.json(rows)
        return
    if rows:
        _list(out, rows)
    else:
        out.say(phrase("cli_gates.no_rules"))
    out.hint(phrase("cli_gates.rules_next"))


def _list(out: Out, rows: Sequence[RuleView]) -> None:
    from clew.cli.view.text_width import table

    lines = [
        (row.id, word(row.effect), word(row.kind), pattern_words(row), where_words(row), until_words(row))
        for row in rows
    ]
    for line in table([labels("id", "effect", "kind", "pattern", "where", "until"), *lines]):
        out.line(line)


@rules_command.command("add")
@click.argument("effect", type=click.Choice(["allow", "ask", "deny"]))
@click.argument("pattern")
@click.option(
    "--kind",
    type=KINDS,
    help="Commands by words, changes by path, tools by name; default: guessed from PATTERN if unambiguous.",
)
@click.option("--here", is_flag=True, help="Only in the current folder as workspace.")
@click.option(
    "--workspace",
    metavar="FOLDER",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Only in that workspace.",
)
@click.option("--thread", metavar="THREAD", shell_complete=thread_ids, help="Only in that thread.")
@click.option("--for", "lasts", metavar="TIME", help="How long: 30m, 2h, 7d; default: for ever.")
@json_option
@click.pass_obj
def add_command(
    out: Out,
    effect: str,
    pattern: str,
    kind: str | None,
    here: bool,
    workspace: Path | None,
    thread: str | None,
    lasts: str | None,
) -> None:
    """Add a rule: allow, ask or deny.

    \b
    clew rules add allow 'pytest *' --here --for 2h
    clew rules add deny 'git push *'
    clew rules add allow 'docs/**' --kind change --here
    clew rules add deny 'secrets/' --kind change
    clew rules add ask 'github.*' --kind tool
    """
    from clew.client import requests

    if sum(map(bool, (here, workspace, thread))) > 1:
        raise click.UsageError(sentence("cli_gates.one_place"))
    more: dict[str, object] = {**_scope(here, workspace, thread)}
    if kind:
        more["kind"] = kind
    if lasts:
        from clew.support.durations import parse_duration

        more["lasts"] = parse_duration(lasts) / 1000
    row = out.client().ask(requests.add_rule(effect, pattern, **more))
    out.result(row, _made(row))
    if not kind and not out.as_json:
        out.say(phrase("cli_gates.kind_not_given", about=phrase(f"cli_gates.{_ABOUT[row.kind]}"), others=_others(row)))
    out.hint(phrase("cli_gates.rule_next", id=row.id))


@rules_command.command("remove")
@click.argument("rule")
@json_option
@click.pass_obj
def remove_command(out: Out, rule: str) -> None:
    """Remove a rule."""
    from clew.client import requests

    if not (rule.isascii() and rule.isalnum()):
        raise click.BadParameter(sentence("cli_gates.not_a_rule", rule=f"{rule!r}"))
    row = out.client().ask(requests.remove_rule(rule))
    out.result(row, phrase("cli_gates.removed", effect=word(row.effect), row=pattern_words(row)))


@rules_command.command("test")
@click.argument("subject", metavar="COMMAND|PATH|TOOL")
@click.option("--kind", type=KINDS, default="command", help="What SUBJECT is.")
@click.option("--thread", metavar="THREAD", shell_complete=thread_ids, help="Test as in that thread.")
@json_option
@click.pass_obj
def test_command(out: Out, subject: str, kind: str, thread: str | None) -> None:
    """Test what the rules decide about a command, a change or a tool in this folder; nothing is run."""
    from clew.client import requests

    folder = os.getcwd()  # noqa: PTH109 (as its owner names it)
    row = out.client().ask(requests.try_rules(subject, kind=kind, workspace=folder, thread=thread))
    out.result(row, "\n".join(filter(None, (f"{word(row.effect)}: {said(row, 'why')}", said(row, "note")))))


_ABOUT = {"command": "of_commands", "change": "of_changes", "tool": "of_tools"}


def _made(row: RuleView) -> str:
    return phrase(
        "cli_gates.rule_added",
        id=row.id,
        effect=word(row.effect),
        kind=phrase(f"cli_gates.{row.kind}"),
        pattern=pattern_words(row),
        where=where_words(row),
        until=phrase("cli_gates.until", time=until_words(row)) if row.until else until_words(row),
    )


def _others(row: RuleView) -> str:
    """How to choose another kind."""
    others = [
        phrase("cli_gates.kind_is_for", kind=kind, about=phrase(f"cli_gates.{about}"))
        for kind, about in _ABOUT.items()
        if kind != row.kind
    ]
    return ", ".join(others)


def _scope(here: bool, workspace: Path | None, thread: str | None) -> dict[str, str]:
    if thread:
        return {"scope": "thread", "place": thread}
    if here or workspace:
        folder = os.path.abspath(workspace or ".")  # noqa: PTH100 (the folder as its owner names it)
        return {"scope": "workspace", "place": folder}
    return {"scope": "everywhere"}


def pattern_words(row: RuleView) -> str:
    from clew.support.display.as_code import as_command

    return as_command(said(row, "pattern"), lines=False)


def where_words(row: RuleView) -> str:
    return f"{word(row.scope)} {row.place}".strip()


def until_words(row: RuleView) -> str:
    return moment(row.until) or phrase("cli_gates.for_ever")
