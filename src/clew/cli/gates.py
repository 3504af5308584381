"""What waits for a person: gates, approve, deny, answer."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from clew.cli.complete import gate_codes, thread_ids
from clew.cli.out import Out, json_option, moment

if TYPE_CHECKING:
    from clew.client import Client

SCOPES = ("thread", "workspace", "everywhere")


def gate_argument(**options: Any) -> Callable[[Any], Any]:
    return click.argument("gate", shell_complete=gate_codes, callback=_checked, **options)


def _checked(ctx: click.Context, param: click.Parameter, given: str | None) -> str | None:
    if given is not None and not (given.isascii() and given.isalnum()):
        raise click.BadParameter(f"{given!r} is no code of a gate; `clew gates` lists them.")
    return given


@click.command("gates", short_help="What waits for you, over all threads.")
@gate_argument(required=False)
@click.option("--thread", metavar="THREAD", shell_complete=thread_ids, help="All of one thread, the answered ones too.")
@json_option
@click.pass_obj
def gates_command(out: Out, gate: str | None, thread: str | None) -> None:
    """What waits for you, over all threads, oldest first; with GATE that one, with its whole diff."""
    from clew.cli.asking import whole

    client = out.client()
    if gate is not None:
        view = client.get("gates", gate)
        out.result(view, "") if out.as_json else out.line(whole(view, None))
        return
    rows = client.get("gates", thread=thread) if thread else client.get("gates")
    if out.as_json:
        out.json(rows)
        return
    _list(out, rows, thread)


def _list(out: Out, rows: list[Any], thread: str | None) -> None:
    from clew.cli.columns import table

    if not rows:
        out.say("nothing was asked there" if thread else "nothing waits for you")
        return
    for line in table([("CODE", "KIND", "STATE", "AGE", "THREAD", "WHAT"), *map(_row, rows)]):
        out.line(line)
    if not thread:
        code = rows[0]["code"]
        out.hint(f"clew gates {code} shows it whole; clew approve {code}, clew deny {code}, clew answer {code} '…'")


def _row(row: Any) -> tuple[str, ...]:
    from clew.cli.columns import age
    from clew.seen import exactly

    waited = age(time.time() - row["asked_at"] / 1000)
    return row["code"], row["kind"], row["state"], waited, row["thread"], exactly(row["title"])


@click.command("approve", short_help="Say yes to a gate.")
@click.argument("gate", required=False, shell_complete=gate_codes, callback=_checked)
@click.option("--all", "everything", metavar="THREAD", shell_complete=thread_ids, help="All that is open in a thread.")
@click.option("--thread", "for_thread", is_flag=True, help="And to the very same in this thread, from now on.")
@click.option(
    "--rule",
    is_flag=False,
    flag_value="",
    metavar="[PATTERN]",
    help="And to all that fits PATTERN; without it, as offered.",
)
@click.option("--scope", type=click.Choice(SCOPES), default="workspace", help="Where the rule holds.")
@click.option("--for", "lasts", metavar="TIME", help="How long the rule holds: 30m, 2h, 7d; else 2h as offered.")
@json_option
@click.pass_obj
def approve_command(
    out: Out,
    gate: str | None,
    everything: str | None,
    for_thread: bool,
    rule: str | None,
    scope: str,
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
    if everything is not None:
        _approve_all(out, everything)
        return
    extent = "rule" if rule is not None else "thread" if for_thread else "once"
    body: dict[str, Any] = {"decision": "accept", "extent": extent, "scope": scope}
    body |= {"pattern": rule} if rule else {}
    body |= {"lasts": _seconds(lasts)} if lasts else {}
    _send(out, out.client(), str(gate), body)


def _approve_all(out: Out, thread: str) -> None:
    rows = out.client().post("threads", thread, "gates", "accept", body={})
    out.result(rows, f"yes to {', '.join(row['code'] for row in rows)}, on its way to the agent")


def _seconds(text: str) -> float:
    from clew.durations import parse_duration

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
    commas between them. Without ANSWER it is asked for here; a secret one then is not shown and not kept.
    """
    client = out.client()
    view = client.get("gates", gate)
    said = [_said(question, reply) for question, reply in _pairs(view, replies)] if replies else _asked(out, view)
    _send(out, client, gate, {"decision": "reply", "replies": said})


def _pairs(view: Any, replies: tuple[str, ...]) -> list[tuple[Any, str]]:
    questions = view["questions"] or [{"several": False, "options": []}]
    if len(questions) != len(replies):
        raise click.UsageError(f"there are {len(questions)} questions and {len(replies)} answers; give one to each")
    return list(zip(questions, replies, strict=True))


def _said(question: Any, reply: str) -> list[str]:
    if question["several"] and question["options"]:
        return [piece.strip() for piece in reply.split(",") if piece.strip()]
    return [reply]


def _asked(out: Out, view: Any) -> list[list[str]]:
    from clew.seen import exactly

    if not sys.stdin.isatty():
        raise click.UsageError("give an answer; without a terminal nobody can be asked")
    said = []
    for question in view["questions"]:
        for number, option in enumerate(question["options"], 1):
            out.say(f"  {number} {exactly(option)}")
        words = click.prompt(exactly(question["text"]), hide_input=question["secret"], err=True)
        said.append(_said(question, words))
    return said


def _send(out: Out, client: Client, gate: str, body: dict[str, Any]) -> None:
    view = client.post("gates", gate, "answer", body=body)
    words = {"accept": "yes", "decline": "no", "cancel": "no, and stop", "reply": "the answer"}[view["decision"]]
    out.result(view, f"{view['code']}: {words}, on its way to the agent")
    out.hint(f"clew watch {view['thread']} looks on; clew gates lists what else waits ({moment(view['asked_at'])})")
