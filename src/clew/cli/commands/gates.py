"""Gates: gates, approve, deny, answer."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

import click

from clew.cli.completion import check_thread_id, gate_codes, thread_ids
from clew.cli.language import phrase, said, sentence
from clew.cli.output import Out, json_option, painted, prompt_text, terminal_columns, words_argument
from clew.cli.view.threads import gate_table, gate_title
from clew.support.errors import Refused
from clew.support.text import visible

if TYPE_CHECKING:
    from clew.client.requests import Request
    from clew.client.sync import Client
    from clew.model.gate_views import GateView, QuestionView

ALLOWED = 160  # columns of an approved request
SCOPES = ("thread", "workspace", "everywhere")

F = TypeVar("F", bound=Callable[..., object])


def gate_argument(*, required: bool = True) -> Callable[[F], F]:
    return click.argument("gate", shell_complete=gate_codes, callback=_checked, required=required)


def _checked(ctx: click.Context, param: click.Parameter, given: str | None) -> str | None:
    if given is not None and not (given.isascii() and given.isalnum()):
        raise click.BadParameter(sentence("cli_gates.not_a_code", given=f"{given!r}"))
    return given


@click.command("gates", short_help="List open gates of all threads.")
@gate_argument(required=False)
@click.option(
    "--thread",
    metavar="THREAD",
    shell_complete=thread_ids,
    callback=check_thread_id,
    help="List all gates of a thread, also answered ones.",
)
@json_option
@click.pass_obj
def gates_command(out: Out, gate: str | None, thread: str | None) -> None:
    """List open gates of all threads, oldest first; with GATE, show that one with its complete diff."""
    from clew.client import requests

    if gate is not None and thread is not None:
        raise click.UsageError(sentence("cli_gates.code_or_thread"))
    client = out.client()
    if gate is not None:
        _show_one(out, client.ask(requests.gate(gate)))
        return
    rows = client.ask(requests.gates(thread))
    if out.as_json:
        out.json(rows)
    elif thread:
        _list(out, rows, phrase("cli_gates.thread_has_none"))
    else:
        _list_all(out, rows, client)


def _show_one(out: Out, view: GateView) -> None:
    from clew.cli.view.gates import command_hints, request_rows

    if out.as_json:
        out.json(view)
        return
    for row in request_rows(view):
        print(painted(visible(row.line), row.weight, sys.stdout), flush=True)
    for line in command_hints(view):
        out.line(line)


def _list_all(out: Out, rows: Sequence[GateView], client: Client) -> None:
    from clew.cli.view.suspended import list_suspended, suspended_lines

    waits = suspended_lines(list_suspended(client))
    _list(out, rows, phrase("cli_gates.none_open") if waits else phrase("cli_gates.nothing_waits"))
    for line in waits:
        out.say(line)


def _list(out: Out, rows: Sequence[GateView], nothing: str) -> None:
    if not rows:
        out.say(nothing)
        return
    _, *lines = table = gate_table(rows, time.time(), terminal_columns(), out.name_of)
    for line in table:
        out.line(line)
    is_cut = any(not line.endswith(gate_title(row).rstrip()) for line, row in zip(lines, rows, strict=True))
    cut = phrase("cli_gates.cut_here") if is_cut else ""
    code = next((row.code for row in rows if row.state == "open"), rows[0].code)
    out.hint(phrase("cli_gates.gates_shows", cut=cut, code=code))


@click.command("approve", short_help="Approve a gate.")
@gate_argument(required=False)
@click.option(
    "--all",
    "everything",
    metavar="THREAD",
    shell_complete=thread_ids,
    callback=check_thread_id,
    help="Approve all open gates of a thread.",
)
@click.option("--thread", "for_thread", is_flag=True, help="Also approve the same request in this thread from now on.")
@click.option(
    "--rule",
    is_flag=False,
    flag_value="",
    metavar="[PATTERN]",
    help="Also make a rule that allows PATTERN; default: the offered pattern.",
)
@click.option("--scope", type=click.Choice(SCOPES), help="Where the rule applies; default: workspace.")
@click.option("--for", "lasts", metavar="TIME", help="How long the rule applies: 30m, 2h, 7d; default: 2h.")
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
    """Approve a gate: once, for this thread, or with a rule. If only one is open you need not name it; it is then shown
    before you are asked.

    \b
    clew approve K7Q2
    clew approve K7Q2 --rule 'pytest *' --for 2h
    clew approve --all THREAD
    """
    from clew.client import requests

    if gate is not None and everything is not None:
        raise click.UsageError(sentence("cli_gates.one_or_all"))
    if everything is not None and (for_thread or rule is not None):
        raise click.UsageError(sentence("cli_gates.all_is_once"))
    if for_thread and rule is not None:
        raise click.UsageError(sentence("cli_gates.thread_or_rule"))
    if rule is None and (scope or lasts):
        raise click.UsageError(sentence("cli_gates.scope_needs_rule"))
    if everything is not None:
        _approve_all(out, everything)
        return
    extent = "rule" if rule is not None else "thread" if for_thread else "once"
    given = {"scope": scope, "pattern": rule or None, "lasts": _seconds(lasts) if lasts else None}
    more = {"extent": extent, **{name: value for name, value in given.items() if value}}
    client = out.client()
    if gate is None:
        gate = _only_gate(out, client, "approve")
        _confirm_all(out, [client.ask(requests.gate(gate))])
    view = _send(out, client, requests.answer(gate, "accept", **more))
    if rule is not None:
        from clew.cli.view.rules import print_new_rule

        print_new_rule(out, client, view)


def _only_gate(out: Out, client: Client, command: str) -> str:
    """The code of the only gate that can be approved or denied, for a person at a terminal who gives none."""
    from clew.client import requests

    if out.as_json or not sys.stdin.isatty():
        raise click.UsageError(sentence("cli_gates.give_a_code"))
    found = [view for view in client.ask(requests.gates()) if view.kind != "question"]
    if not found:
        raise Refused(sentence("cli_gates.nothing_to_answer"))
    if len(found) > 1:
        codes = phrase("cli_gates.or").join(f"`clew {command} {view.code}`" for view in found)
        raise click.UsageError(sentence("cli_gates.give_code", commands=codes))
    return found[0].code


def _approve_all(out: Out, thread: str) -> None:
    """Approve the gates that are open now, and none that opens later; at a terminal, show them and ask first."""
    from clew.client import requests

    client = out.client()
    newest_first = client.ask(requests.gates(thread))
    listed = [view for view in reversed(newest_first) if view.state == "open"]
    approvals = [view.code for view in listed if view.kind != "question"]
    if approvals and not out.as_json and sys.stdin.isatty():
        _confirm_all(out, [client.ask(requests.gate(code)) for code in approvals])
    rows = client.ask(requests.accept_all(thread, approvals))
    head = phrase("cli_gates.all_yes", codes=", ".join(row.code for row in rows))
    out.result(rows, "\n".join([head, *(f"  {row.code}: {_one_line_summary(row)}" for row in rows)]))


def _confirm_all(out: Out, views: Sequence[GateView]) -> None:
    from clew.cli.view.gates import request_lines

    for view in views:
        for line in request_lines(view):
            out.say(line)
    click.confirm(
        phrase(
            "cli_gates.approve_question",
            what=phrase("cli_gates.it") if len(views) == 1 else phrase("cli_gates.approve_all", count=len(views)),
        ),
        abort=True,
        err=True,
    )


def _seconds(text: str) -> float:
    from clew.support.durations import parse_duration

    return parse_duration(text) / 1000


@click.command("deny", short_help="Deny a gate.")
@gate_argument(required=False)
@words_argument("why", required=False, metavar="[REASON]")
@click.option("--reason", default="", metavar="TEXT", help="The same as REASON.")
@click.option("--stop", is_flag=True, help="Also stop the turn.")
@json_option
@click.pass_obj
def deny_command(out: Out, gate: str | None, why: str | None, reason: str, stop: bool) -> None:
    """Deny a gate; if only one is open you need not name it. The agent reads the REASON, and continues without it,
    unless --stop is given."""
    from clew.client import requests

    if why and reason:
        raise click.UsageError(sentence("cli_gates.reason_once"))
    client = out.client()
    gate = gate or _only_gate(out, client, "deny")
    _send(out, client, requests.answer(gate, "cancel" if stop else "decline", reason=why or reason))


@click.command("answer", short_help="Answer a question of the agent.")
@gate_argument()
@click.argument("replies", nargs=-1, metavar="[ANSWER]…")
@json_option
@click.pass_obj
def answer_command(out: Out, gate: str, replies: tuple[str, ...]) -> None:
    """Answer a question with the number of an option, its text, or your own text.

    If there are several questions, give one ANSWER to each, in order; if several options may be chosen, separate them
    by commas. To a single question several words of your own are one ANSWER. Without ANSWER you are asked for it; a
    secret is then neither shown nor stored. An ANSWER of - is read from stdin.
    """
    from clew.client import requests

    client = out.client()
    view = client.ask(requests.gate(gate))
    _send(out, client, requests.answer(gate, "reply", replies=_replies(out, view, replies)))


def _replies(out: Out, view: GateView, given: tuple[str, ...]) -> list[list[str]]:
    """The replies to each question. If the gate is not an open question, the daemon refuses it."""
    if view.state != "open" or view.kind != "question":
        return []
    if not given:
        return _ask_all(out, view)
    if len(view.questions) == 1 and _is_free(view.questions[0], given):
        given = (" ".join(given),)
    if len(view.questions) != len(given):
        raise click.UsageError(sentence("cli_gates.answers_count", questions=len(view.questions), answers=len(given)))
    texts = [prompt_text(each).rstrip("\n") if each == "-" else each for each in given]
    return [_split_reply(question, text) for question, text in zip(view.questions, texts, strict=True)]


def _is_free(question: QuestionView, given: tuple[str, ...]) -> bool:
    """Whether several words are one answer. A number first is that of an option, and nothing may follow it."""
    return not question.options or not (question.several or given[0].isdecimal())


def _split_reply(question: QuestionView, reply: str) -> list[str]:
    if question.several and question.options:
        return [piece.strip() for piece in reply.split(",") if piece.strip()]
    return [reply]


def _ask_all(out: Out, view: GateView) -> list[list[str]]:
    if not sys.stdin.isatty():
        raise click.UsageError(sentence("cli_gates.give_answer"))
    from clew.cli.view.gates import request_lines

    for line in request_lines(view):
        out.say(line)
    is_one = len(view.questions) == 1
    return [_split_reply(question, _ask_one(question, is_one=is_one)) for question in view.questions]


def _ask_one(question: QuestionView, *, is_one: bool) -> str:
    """Ask at the prompt. Of several questions each is named again: all were shown before."""
    from clew.support.display import escape_hidden

    text = "›" if is_one else escape_hidden(said(question, "text"), lines=False)
    if question.secret:
        text = phrase("cli_setup.hidden_prompt", words=text)
    return str(click.prompt(text, prompt_suffix=" ", hide_input=question.secret, err=True))


def _one_line_summary(view: GateView) -> str:
    """The approved request and its folder, in one line."""
    from clew.cli.view.text_width import fit
    from clew.support.display.as_code import as_code, title_shown

    title = fit(title_shown(view.kind, said(view, "title"), lines=False), ALLOWED)
    return phrase("cli_gates.title_in", title=title, folder=as_code(view.folder, lines=False)) if view.folder else title


def _send(out: Out, client: Client, answer: Request[GateView]) -> GateView:
    view = client.ask(answer)
    words = {
        "accept": phrase("cli_gates.yes"),
        "decline": phrase("cli_gates.no"),
        "cancel": phrase("cli_gates.no_and_stop"),
        "reply": phrase("cli_gates.the_answer"),
    }[view.decision or ""]
    about = f": {_one_line_summary(view)}" if view.decision == "accept" else ""
    out.result(view, phrase("cli_gates.on_its_way", code=view.code, what=words, about=about))
    out.hint(phrase("cli_gates.answered_next", thread=out.name_of(view.thread)))
    return view
