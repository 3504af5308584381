"""Which agent works on a thread: switch, ask."""

from __future__ import annotations

import click

from clew.cli.completion import runtimes, thread_argument
from clew.cli.language import in_locale, phrase
from clew.cli.output import Out, json_option, prompt_text, words_argument
from clew.cli.view.threads import named
from clew.support.text import agent_name


@click.command("switch", short_help="Let another agent work on a thread.")
@thread_argument()
@click.argument("runtime", shell_complete=runtimes)
@click.option("--model", metavar="NAME", help="The model of the agent; default: its own.")
@json_option
@click.pass_obj
def switch_command(out: Out, thread: str, runtime: str, model: str | None) -> None:
    """Let another agent work on a thread, from its next turn on. A running turn goes on with the old one.

    The new agent is told what happened before. Each keeps its own memory: one that was there before is told only what
    happened since. Model and effort become those of the new agent.

    \b
    clew switch THREAD claude
    clew switch THREAD codex --model NAME
    """
    from clew.client import requests

    view = out.client().ask(requests.change(thread, runtime=runtime, model=model))
    who = " ".join(part for part in (agent_name(view.runtime), view.model) if part)
    out.result(view, phrase("cli_threads.agent_from_next", thread=named(view), agent=who))
    if view.status == "running" and view.turn_runtime not in (None, view.runtime):
        out.say(phrase("cli_threads.running_goes_on", agent=agent_name(view.turn_runtime or "")))
    out.hint(phrase("cli_threads.agent_first_message", thread=named(view), agent=agent_name(view.runtime)))


@click.command("ask", short_help="Ask another agent about a thread.")
@thread_argument()
@words_argument("question")
@click.option("--runtime", metavar="NAME", required=True, shell_complete=runtimes, help="The agent, such as codex.")
@json_option
@click.pass_obj
def ask_command(out: Out, thread: str, question: str, runtime: str) -> None:
    """Ask another agent about a thread, and print its answer. A QUESTION of - is read from stdin.

    It works on a fork of the thread and may only read. Its answer is quoted into the thread; the thread's own agent
    learns of it with its next turn, and goes on as before.

    Exit 0: completed, 1: failed, 4: stopped, 5: it waits for a person.
    """
    from clew.cli.commands.run import print_failure, print_open_gates, run_result
    from clew.cli.follow import follow_turn
    from clew.cli.view import outcome
    from clew.cli.view.gates import command_hints
    from clew.cli.view.screen import Screen
    from clew.client import requests

    with Screen() as screen:
        client = out.client(say=screen.say)
        accepted = client.ask(requests.ask(thread, runtime, prompt_text(question)))
        if accepted.words:
            out.say(in_locale(accepted.reply))
        show = (lambda pieces: None) if out.as_json else screen.show
        turn, _ = follow_turn(client, accepted.thread, accepted.turn or "", show, how=command_hints, at_gate=bool)
    if out.as_json:
        out.json(run_result(turn))
    if turn.state == "waiting":
        print_open_gates(out, client, turn)
        raise click.exceptions.Exit(outcome.WAITS)
    if turn.state != "completed":
        raise click.exceptions.Exit(print_failure(out, client, turn))
    out.hint(phrase("cli_threads.fork_goes_on", thread=out.name_of(turn.thread), agent=agent_name(turn.runtime)))
