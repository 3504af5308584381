"""Changing threads: resume, stop, done, cancel, fork, title."""

from __future__ import annotations

import click

from clew.cli.completion import thread_argument
from clew.cli.output import Out, json_option, prompt_text


@click.command("resume", short_help="Pick up a finished or suspended thread with new information.")
@thread_argument()
@click.option("--supplement", required=True, metavar="TEXT", help="What is new, or the answer; - is stdin.")
@json_option
@click.pass_obj
def resume_command(out: Out, thread: str, supplement: str) -> None:
    """Pick up a completed thread with new information, or answer what a suspended one waits for."""
    from clew.client.sync import new_message_id

    body = {"message_id": new_message_id(), "supplement": prompt_text(supplement)}
    accepted = out.client().post("threads", thread, "resume", body=body)
    out.result(accepted, accepted["words"] or f"turn {accepted['turn']}")
    out.hint(f"clew watch {accepted['thread']} looks on")


@click.command("stop", short_help="Stop the running turn of a thread.")
@thread_argument()
@json_option
@click.pass_obj
def stop_command(out: Out, thread: str) -> None:
    """Stop the running turn of a thread. What is queued behind it goes on."""
    turn = out.client().post("threads", thread, "stop")
    out.result(turn, f"stopping turn {turn['id']}")
    out.hint(f"clew read {turn['thread']} shows how far it came; clew send {turn['thread']} '…' goes on")


@click.command("done", short_help="Mark a thread as completed.")
@thread_argument()
@json_option
@click.pass_obj
def done_command(out: Out, thread: str) -> None:
    """Mark a thread as completed. `clew resume` picks it up again."""
    view = out.client().post("threads", thread, "done")
    out.result(view, f"{view['id']} is {view['status']}")
    out.hint(f"clew resume {view['id']} --supplement '…' picks it up again")


@click.command("cancel", short_help="Cancel a thread for good.")
@thread_argument()
@json_option
@click.pass_obj
def cancel_command(out: Out, thread: str) -> None:
    """Cancel a thread for good: what runs is stopped, what is queued is dropped. It can still be forked."""
    view = out.client().post("threads", thread, "cancel")
    out.result(view, f"{view['id']} is cancelled")
    out.hint(f"clew fork {view['id']} begins a new one from it")


@click.command("fork", short_help="Begin a new thread from another one.")
@thread_argument()
@click.option("--turn", metavar="TURN", help="After this turn; else after the newest that has ended.")
@click.option("--title", help="Else the old one, marked as a fork.")
@json_option
@click.pass_obj
def fork_command(out: Out, thread: str, turn: str | None, title: str | None) -> None:
    """Begin a new thread from another one, with its history. Prints the new id."""
    view = out.client().post("threads", thread, "fork", body={"turn": turn, "title": title})
    out.result(view, view["id"])
    out.hint(f"clew chat {view['id']} goes on there")


@click.command("title", short_help="Give a thread another title.")
@thread_argument()
@click.argument("title")
@json_option
@click.pass_obj
def title_command(out: Out, thread: str, title: str) -> None:
    """Give a thread another title."""
    view = out.client().patch("threads", thread, body={"title": prompt_text(title)})
    out.result(view, f"{view['id']}: {view['title']}")
    out.hint(f"clew show {view['id']} tells how it stands")
