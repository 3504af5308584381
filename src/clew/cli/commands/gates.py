"""What waits for a person: gates, approve, deny, answer."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from clew.cli.completion import checked_thread, gate_codes, thread_ids
from clew.cli.output import Out, is_terminal, json_option, prompt_text
from clew.cli.view.threads import gate_table

if TYPE_CHECKING:
    from clew.client.sync import Client

ALLOWED = 160  # columns of what was allowed
SCOPES = ("thread", "workspace", "everywhere")


def gate_argument(**options: Any) -> Callable[[Any], Any]:
    return click.argument("gate", shell_complete=gate_codes, callback=_checked, **options)


def _checked(ctx: click.Context, param: click.Parameter, given: str | None) -> str | None:
    if given is not None and not (given.isascii() and given.isalnum()):
        raise click.BadParameter(f"{given!r} is no code of a gate; `clew gates` lists them.")
    return given


@click.command("gates", short_help="What waits for you, over all threads.")
@gate_argument(required=False)
@click.option(
    "--thread",
    metavar="THREAD",
    shell_complete=thread_ids,
    callback=checked_thread,
    help="All of one thread, the answered ones too.",
)
@json_option
@click.pass_obj
def gates_command(out: Out, gate: str | None, thread: str | None) -> None:
    """What waits for you, over all threads, oldest first; with GATE that one, with its whole diff."""
    if gate is not None and thread is not None:
        raise click.UsageError("give the code of a gate, or --thread THREAD, not both")
    client = out.client()
    if gate is not None:
        _show_one(out, client.get("gates", gate))
        return
    rows = client.get("gates", thread=thread)
    if out.as_json:
        out.json(rows)
    elif thread:
        _list(out, rows, "nothing was asked there")
    else:
        _list_all(out, rows, client)


def _show_one(out: Out, view: Any) -> None:
    from clew.cli.view.gates import command_hints, request_lines

    if out.as_json:
        out.json(view)
        return
    for line in [*request_lines(view), *command_hints(view)]:
        out.line(line)


def _list_all(out: Out, rows: list[Any], client: Client) -> None:
    from clew.cli.view.suspended import suspended, told

    waits = told(suspended(client))
    _list(out, rows, "no gate is open" if waits else "nothing waits for you")
    for line in waits:
        out.say(line)


def _list(out: Out, rows: list[Any], nothing: str) -> None:
    if not rows:
        out.say(nothing)
        return
    room = shutil.get_terminal_size().columns if is_terminal(sys.stdout) else None
    for line in gate_table(rows, time.time(), room):
        out.line(line)
    code = next((row["code"] for row in rows if row["state"] == "open"), rows[0]["code"])
    out.hint(f"clew gates {code} shows it whole, and how to answer it")


@click.command("approve", short_help="Say yes to a gate.")
@gate_argument(required=False)
@click.option(
    "--all",
    "everything",
    metavar="THREAD",
    shell_complete=thread_ids,
    callback=checked_thread,
    help="All that is open in a thread.",
)
@click.option("--thread", "for_thread", is_flag=True, help="And to the very same in this thread, from now on.")
@click.option(
    "--rule",
    is_flag=False,
    flag_value="",
    metavar="[PATTERN]",
    help="And to all that fits PATTERN; without it, as offered.",
)
@click.option("--scope", type=click.Choice(SCOPES), help="Where the rule holds; else in the workspace.")
@click.option("--for", "lasts", metavar="TIME", help="How long the rule holds: 30m, 2h, 7d; else 2h.")
@json_option
@click.pass_obj
def approve_command(
    out: Out,
    gate: str | None,
    everything: str | None,
    for_thread: bool,
    rule: str | None,
    scope: str | None,
    lasts: str | None,
) -> None:
    """Say yes to a gate: once, for this thread, or with a rule.

    \b
    clew approve K7Q2
    clew approve K7Q2 --rule 'pytest *' --for 2h
    clew approve --all THREAD
    """
    if (gate is None) == (everything is None):
        raise click.UsageError("give the code of one gate, or --all THREAD; `clew gates` lists them")
    if everything is not None and (for_thread or rule is not None):
        raise click.UsageError("--all says yes once to each; --thread and --rule are for one gate")
    if for_thread and rule is not None:
        raise click.UsageError("give --thread or --rule, not both")
    if rule is None and (scope or lasts):
        raise click.UsageError("--scope and --for are of a rule; add --rule, or --rule PATTERN")
    if everything is not None:
        _approve_all(out, everything)
        return
    extent = "rule" if rule is not None else "thread" if for_thread else "once"
    given = {"scope": scope, "pattern": rule or None, "lasts": _seconds(lasts) if lasts else None}
    body = {"decision": "accept", "extent": extent, **{name: value for name, value in given.items() if value}}
    client = out.client()
    view = _send(out, client, str(gate), body)
    if rule is not None:
        from clew.cli.view.rules import tell_rule

        tell_rule(out, client, view)


def _approve_all(out: Out, thread: str) -> None:
    """What is open now, and nothing that opens meanwhile; a person at a terminal is shown it first."""
    client = out.client()
    listed = [view for view in reversed(client.get("gates", thread=thread)) if view["state"] == "open"]
    approvals = [view["code"] for view in listed if view["kind"] != "question"]
    if approvals and not out.as_json and sys.stdin.isatty():
        _confirm_all(out, [client.get("gates", code) for code in approvals])
    rows = client.post("threads", thread, "gates", "accept", body={"codes": approvals})
    told = [f"yes to {', '.join(row['code'] for row in rows)}, on its way to the agent"]
    out.result(rows, "\n".join([*told, *(f"  {row['code']}: {_in_a_line(row)}" for row in rows)]))


def _confirm_all(out: Out, views: list[Any]) -> None:
    from clew.cli.view.gates import request_lines

    for view in views:
        for line in request_lines(view):
            out.say(line)
    click.confirm(f"Allow {'it' if len(views) == 1 else f'all {len(views)}'}?", abort=True, err=True)


def _seconds(text: str) -> float:
    from clew.support.durations import parse_duration

    return parse_duration(text) / 1000


@click.command("deny", short_help="Say no to a gate.")
@gate_argument()
@click.option("--reason", default="", metavar="TEXT", help="Why; the agent reads it.")
@click.option("--stop", is_flag=True, help="And stop the turn.")
@json_option
@click.pass_obj
def deny_command(out: Out, gate: str, reason: str, stop: bool) -> None:
    """Say no to a gate. The agent goes on without it, unless --stop."""
    _send(out, out.client(), gate, {"decision": "cancel" if stop else "decline", "reason": reason})


@click.command("answer", short_help="Answer a question of the agent.")
@gate_argument()
@click.argument("replies", nargs=-1, metavar="[ANSWER]…")
@json_option
@click.pass_obj
def answer_command(out: Out, gate: str, replies: tuple[str, ...]) -> None:
    """Answer a question: the number of an option, its words, or words of your own.

    Where there are several questions give one ANSWER to each, in their order; where several options may be chosen, with
    commas between them. Without ANSWER it is asked for here; a secret one then is not shown and not kept. An ANSWER of
    - is read from stdin.
    """
    client = out.client()
    view = client.get("gates", gate)
    _send(out, client, gate, {"decision": "reply", "replies": _replies(out, view, replies)})


def _replies(out: Out, view: Any, given: tuple[str, ...]) -> list[list[str]]:
    """What is said to each question. Where none is open the daemon says so."""
    if view["state"] != "open" or view["kind"] != "question":
        return []
    if not given:
        return _asked(out, view)
    if len(view["questions"]) != len(given):
        raise click.UsageError(
            f"there are {len(view['questions'])} questions and {len(given)} answers; give one to each"
        )
    texts = [prompt_text(each).rstrip("\n") if each == "-" else each for each in given]
    return [_said(question, text) for question, text in zip(view["questions"], texts, strict=True)]


def _said(question: Any, reply: str) -> list[str]:
    if question["several"] and question["options"]:
        return [piece.strip() for piece in reply.split(",") if piece.strip()]
    return [reply]


def _asked(out: Out, view: Any) -> list[list[str]]:
    if not sys.stdin.isatty():
        raise click.UsageError("give an answer; without a terminal nobody can be asked")
    from clew.cli.view.gates import explained

    for line in explained(view):
        out.say(line)
    return [_said(question, _ask(out, question)) for question in view["questions"]]


def _ask(out: Out, question: Any) -> str:
    from clew.cli.view.gates import options_of
    from clew.support.display import escape_hidden

    for line in options_of(question, 2):
        out.say(line)
    text = escape_hidden(question["text"], lines=False)
    return str(click.prompt(text, prompt_suffix=" ", hide_input=question["secret"], err=True))


def _in_a_line(view: Any) -> str:
    """What was allowed, and where."""
    from clew.cli.view.columns import fit
    from clew.support.display_code import as_code, title_shown

    title = fit(title_shown(view["kind"], view["title"], lines=False), ALLOWED)
    return f"{title}, in {as_code(view['folder'], lines=False)}" if view["folder"] else title


def _send(out: Out, client: Client, gate: str, body: dict[str, Any]) -> Any:
    view = client.post("gates", gate, "answer", body=body)
    words = {"accept": "yes", "decline": "no", "cancel": "no, and stop", "reply": "the answer"}[view["decision"]]
    about = f": {_in_a_line(view)}" if view["decision"] == "accept" else ""
    out.result(view, f"{view['code']}: {words}, on its way to the agent{about}")
    out.hint(f"clew watch {view['thread']} looks on; clew gates lists what else waits")
    return view
