"""Every example does what it says, as a program of its own, against a real daemon."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from clew import Clew as Door
from clew import notify_with
from clew.model.surface import Never, Outgoing, TryAgain
from clew.store.migrate import open_store
from clew.store.tables import deliveries
from clew.support.clock import SystemClock
from clew.support.errors import StoreHeld
from tests.helpers.daemons import SCRIPTED, TIMEOUT, Clew
from tests.helpers.paths import ROOT
from tests.helpers.receivers import Receiver

pytestmark = pytest.mark.process

EXAMPLES = ROOT / "examples"


def run(clew: Clew, name: str, *words: str) -> str:
    environ = {**os.environ, "CLEW_HOME": str(clew.root), "CLEW_EXAMPLE_RUNTIME": "scripted"}
    command = [sys.executable, "-W", "error", str(EXAMPLES / f"{name}.py"), *words]
    done = subprocess.run(command, env=environ, cwd=clew.root, capture_output=True, text=True, timeout=TIMEOUT)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.fixture(scope="module")
def clew(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clew]:
    with Clew(tmp_path_factory.mktemp("home")) as clew:
        clew.up()
        yield clew


def test_each_example_has_a_test() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {"quickstart", "background", "stream", "resume", "notifier"}


def test_quickstart_prints_the_answer(clew: Clew) -> None:
    assert run(clew, "quickstart", "!text hello").splitlines()[-1] == "completed: hello"


def test_background_shows_the_receipt_of_an_answer_that_was_brought(tmp_path: Path) -> None:
    with Receiver() as receiver, Clew(tmp_path / "home", hook(receiver.url)) as clew:
        last = run(clew, "background", "webhook:ci", "!text hello").splitlines()[-1]
        assert receiver.keys == [last.partition(": ")[0]]
        assert ": sent, webhook:ci, message " in last


def test_stream_ends_with_the_final_text(clew: Clew) -> None:
    assert run(clew, "stream", "!shell true\n!text the end").rstrip().endswith("the end\ncompleted")


def test_resume_goes_on_with_a_finished_thread(clew: Clew) -> None:
    assert run(clew, "resume", "!text one", "!recall").splitlines()[-1] == "4 pieces of history"


def hook(url: str) -> str:
    return f'{SCRIPTED}\n[surfaces.webhook.ci]\nsecret = "s"\nurl = "{url}"\n'


@pytest.fixture
def owing(tmp_path: Path) -> Iterator[Clew]:
    """No daemon runs, and one answer is owed to a place that was away."""
    with Receiver() as receiver, Clew(tmp_path / "home", hook(receiver.url)) as clew:
        receiver.close()
        clew.wait_ended(clew.json("start", "!text hello", "--notify", "webhook:ci"))
        clew("down")
        yield clew


def test_notifier_brings_what_is_owed_once(owing: Clew, tmp_path: Path) -> None:
    assert run(owing, "notifier", str(tmp_path)).strip().endswith("for webhook:ci: sent")
    (file,) = tmp_path.glob("*.md")
    assert file.read_text() == "hello\n"
    assert run(owing, "notifier", str(tmp_path)) == ""
    assert owing.json("where", file.stem)[0]["message_id"] == file.name


async def test_a_dry_run_tells_and_gives_nothing(owing: Clew) -> None:
    async def never(answer: Outgoing) -> str:
        raise AssertionError(answer)

    (told,) = await notify_with(never, home=owing.root, dry_run=True)
    assert (told.state, told.target) == ("would send", "webhook:ci")


async def test_what_a_notifier_refuses_is_written_down(owing: Clew) -> None:
    async def later(answer: Outgoing) -> str:
        raise TryAgain("not now")

    async def refuse(answer: Outgoing) -> str:
        raise Never("no such place")

    async def take(answer: Outgoing) -> None:
        assert answer.text == "hello"

    assert [(each.state, each.error) for each in await notify_with(later, home=owing.root)] == [("pending", "not now")]
    assert [each.state for each in await notify_with(refuse, home=owing.root)] == ["failed"]
    assert await notify_with(take, home=owing.root) == ()
    (done,) = await notify_with(take, home=owing.root, retry_failed=True)
    assert (done.state, done.error) == ("sent", None)


async def test_an_injected_notifier_never_works_beside_a_daemon(clew: Clew) -> None:
    async def never(answer: Outgoing) -> str:
        raise AssertionError(answer)

    with pytest.raises(StoreHeld, match="`clew down` stops it"):
        await notify_with(never, home=clew.root)


async def test_what_a_dead_daemon_was_sending_is_given_too_and_marked(owing: Clew) -> None:
    clock = SystemClock()
    store = open_store(owing.home.database, clock)
    (delivery,) = await store.read(lambda tx: deliveries.undelivered_finals(tx, failed=False, after=None, limit=9))
    sending = await store.write(lambda tx: deliveries.claim(tx, delivery, "a daemon that died"))
    assert sending is not None
    await store.write(lambda tx: deliveries.record_first_send(tx, sending, clock.now()))
    store.close()
    given: list[Outgoing] = []

    async def take(answer: Outgoing) -> None:
        given.append(answer)

    (done,) = await notify_with(take, home=owing.root)
    assert (done.state, given[0].text) == ("sent", "hello")
    assert "may be a repeat" in given[0].note


async def test_a_pass_of_the_door_works_with_and_without_a_daemon(owing: Clew) -> None:
    async def refuse(answer: Outgoing) -> str:
        raise Never("no such place")

    async with Door(owing.root) as door:
        assert [each.state for each in await door.notify(dry_run=True)] == ["would send"]
        await notify_with(refuse, home=owing.root)
        await asyncio.to_thread(owing.up)
        assert await door.notify() == ()
        assert [each.state for each in await door.notify(dry_run=True, retry_failed=True)] == ["would send"]
