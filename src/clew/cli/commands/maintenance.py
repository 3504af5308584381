"""Maintenance: verify, notify, ping."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING

import click

from clew.cli.commands.threads import state_words
from clew.cli.completion import runtimes, thread_argument
from clew.cli.language import phrase, said, sentence, word
from clew.cli.output import Out, json_option, table
from clew.support.display.width import pad
from clew.support.errors import OutOfReach
from clew.support.home import Home

if TYPE_CHECKING:
    from clew.model.gate_views import Verdict
    from clew.model.runtime import Runtime
    from clew.model.views import Notified
    from clew.runtimes.probe import PingStep


@click.command("verify", short_help="Verify the history of a thread, or of all.")
@thread_argument(required=False)
@json_option
@click.pass_obj
def verify_command(out: Out, thread: str | None) -> None:
    """Verify the history of a thread, or of all: each node against its hash. Exit 1 if one is damaged."""
    from clew.client import requests

    verdicts = []
    for verdict in out.client().lines(requests.verify(thread)):
        verdicts.append(verdict)
        if not out.as_json and (thread or not verdict.sound):
            out.line(_verdict(verdict))
    bad = sum(not verdict.sound for verdict in verdicts)
    if out.as_json:
        out.json(verdicts)
    elif not thread:
        out.line(phrase("cli_daemon.verified", count=len(verdicts), bad=bad))
    if bad:
        out.hint(phrase("cli_daemon.cannot_repair"))
        raise click.exceptions.Exit(1)


def _verdict(verdict: Verdict) -> str:
    if verdict.sound:
        return phrase("cli_daemon.sound", thread=verdict.thread, nodes=verdict.nodes)
    return phrase("cli_daemon.broken", thread=verdict.thread, bad_node=verdict.bad_node, reason=said(verdict, "reason"))


@click.command("notify", short_help="Try all pending deliveries once, now.")
@click.option("--dry-run", is_flag=True, help="Only list what would be sent.")
@click.option("--retry-failed", is_flag=True, help="Also retry deliveries that failed for good.")
@json_option
@click.pass_obj
def notify_command(out: Out, dry_run: bool, retry_failed: bool) -> None:
    """Try all pending deliveries once, now, without waiting for their next retry. Never starts the daemon."""
    done = _notify(out, dry_run=dry_run, retry_failed=retry_failed)
    if out.as_json:
        out.json(done)
    else:
        _print(out, done, 0 if retry_failed else _failed_before(out, done))
    if any(each.state == "failed" for each in done) and not dry_run:
        out.hint(phrase("cli_daemon.retry_failed"))
        raise click.exceptions.Exit(1)


def _print(out: Out, done: Sequence[Notified], failed_before: int) -> None:
    for line in table([_row(each) for each in done]) if done else []:
        out.line(line)
    if not done:
        out.line(phrase("cli_daemon.no_new_pending") if failed_before else phrase("cli_daemon.none_pending"))
    if failed_before:
        out.say(phrase("cli_daemon.failed_before", count=failed_before))


def _failed_before(out: Out, done: Sequence[Notified]) -> int:
    """The number of deliveries that failed earlier, which are only tried with --retry-failed."""
    names = {each.delivery for each in done}
    pending = _notify(out, dry_run=True, retry_failed=True)
    return sum(each.delivery not in names and each.error is not None for each in pending)


def _notify(out: Out, *, dry_run: bool, retry_failed: bool) -> Sequence[Notified]:
    from clew.client import requests

    try:
        request = requests.notify(dry_run=dry_run, retry_failed=retry_failed)
        return out.client(start=False, timeout=None).ask(request)
    except OutOfReach:
        return _notify_here(dry_run=dry_run, retry_failed=retry_failed)


def _row(each: Notified) -> tuple[str, ...]:
    return each.delivery, each.target or "-", state_words(each.state), said(each, "error")


def _notify_here(*, dry_run: bool, retry_failed: bool) -> Sequence[Notified]:
    """No daemon runs: do the same in this process, under the store's lock."""
    import asyncio

    from clew.daemon.main import notify_once

    home = Home.find()
    if not home.database.exists():
        return ()
    return asyncio.run(notify_once(home, dry_run=dry_run, retry_failed=retry_failed))


@click.command("ping", short_help="Test a runtime with one tiny turn; shows the time of each step.")
@click.argument("runtime", shell_complete=runtimes)
@json_option
@click.pass_obj
def ping_command(out: Out, runtime: str) -> None:
    """Test a runtime: start it, run one tiny turn, stop it; shows the time of each step. Needs no daemon.

    It uses the environment of this shell, and says so if the daemon that runs has another.
    """
    import asyncio

    if runtime == "scripted":
        out.result([{"step": "find", "seconds": 0.0, "detail": _NO_PROGRAM}], phrase("cli_daemon.scripted_needs_none"))
    else:
        made, steps = _ping(runtime)
        _say_if_other_environment(out, runtime, made)
        asyncio.run(_print_steps(out, runtime, steps))


_NO_PROGRAM = "scripted needs no program; it always works"


async def _print_steps(out: Out, runtime: str, stream: AsyncIterator[PingStep]) -> None:
    steps = []
    out.say(phrase("cli_daemon.testing", runtime=runtime))
    async for step in stream:
        steps.append({"step": step.name, "seconds": round(step.seconds, 3), "detail": step.detail})
        if not out.as_json:
            out.line(f"{pad(word(step.name), 6)} {step.seconds:7.3f} s  {step.detail}")
    if out.as_json:
        out.json(steps)
    out.hint(phrase("cli_daemon.it_works", runtime=runtime))


def _say_if_other_environment(out: Out, name: str, made: Mapping[str, Runtime]) -> None:
    """Compare this shell, which the ping uses, with the daemon, which turns use."""
    from clew.client import requests
    from clew.daemon.assemble import differing, environment_of
    from clew.support.errors import ClewError

    own, ours = environment_of({name: made[name]}), environment_of(made)
    try:
        daemon = out.client(start=False).ask(requests.status()).daemon if own else None
    except ClewError:
        return
    names = [each for each in differing(daemon.environment, ours) if each in own] if daemon else []
    if names:
        out.say(phrase("cli_daemon.ping_elsewhere", names=", ".join(names)))


def _ping(name: str) -> tuple[Mapping[str, Runtime], AsyncIterator[PingStep]]:
    """All runtimes, and the steps of this one."""
    from clew.daemon.assemble import own_runtimes
    from clew.runtimes.probe import ping
    from clew.support.clock import SystemClock

    made, troubles = own_runtimes("ping")
    if name not in made:
        wrong = next((trouble.error for trouble in troubles if trouble.name == name), None)
        known = ", ".join(sorted(made))
        raise click.UsageError(wrong or sentence("cli_daemon.no_runtime", name=f"{name!r}", known=known))
    return made, ping(made[name], SystemClock())
