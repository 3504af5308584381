"""The real daemon on Telegram, killed by SIGKILL at every crash point of a handoff and of the way back. A local thread
is handed off to the phone, Ann answers there, continues locally, and takes it back on the phone: it stays one thread,
and nothing is lost or stuck. At worst one empty topic remains, and is reported."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from clew.cli.commands.handoff import wait_for_handoff
from clew.client import requests
from clew.client.requests import new_message_id
from clew.store import audit
from clew.store.tables import bindings
from clew.support.errors import OutOfReach, Refused
from tests.crash.outside import UNASKED, reading
from tests.crash.phone import count_copies, daemon, open_bot, rest, shown, until_shown
from tests.helpers.daemons import Clew
from tests.helpers.json_client import JsonClient as Client
from tests.surfaces.telegram.bots import Bot

pytestmark = pytest.mark.process

HANDING = (
    "handoff.requested-not-told",
    "handoff.claimed-not-opened",
    "handoff.opened-not-bound",
    "handoff.bound-not-told",
)
TURN = ("turn.claimed-not-sent", "turn.sent-not-recorded", "turn.text-not-stored", "turn.ended-not-owed")
SENDING = ("outbox.claimed-not-sent", "outbox.sent-not-recorded")
SHOWING = (*SENDING, "outbox.edited-not-recorded")
ACCEPTED = "inbox.accepted-not-acknowledged"
COMMITS = ("store.written-not-committed", "store.committed-not-told")
ANSWERS = ("one", "two", "three", "four")
GREETING = "Hello. What shall we do?"
EMPTY = "empty topic of the same name may stand beside this"


@dataclass(slots=True)
class Tale:
    """One thread, and its topic on the phone."""

    clew: Clew
    bot: Bot
    thread: str = ""
    topic: int | None = None
    pressed: set[tuple[int, str]] = field(default_factory=set)

    @property
    def client(self) -> Client:
        return Client(self.clew.home)

    def say(self, text: str, topic: int | None) -> None:
        asyncio.run(self.bot.say(text, topic=topic) if topic else self.bot.say(text))

    def sees(self, text: str, topic: int | None) -> None:
        asyncio.run(until_shown(self.bot, text, self.pressed, topic))

    def state(self) -> dict[str, Any]:
        return asyncio.run(self.bot.state())


def begin(tale: Tale) -> None:
    tale.thread = tale.clew.json("run", "!text one")["thread"]


def there(tale: Tale) -> None:
    """Hand off, with retries: without a response look first, and a failure says why."""
    ended = None
    while ended is None or ended.state != "completed":
        assert ended is None or ended.error
        with suppress(OutOfReach, Refused):
            tale.client.post("handoffs", body={"thread": tale.thread, "target": "telegram"})
        asked = tale.client.ask(requests.handoffs())
        ended = wait_for_handoff(tale.client, asked[0]) if asked else None
    tale.topic = int((ended.conversation or "").partition("/")[2] or 0) or None
    tale.sees("You can go on here: !text one", tale.topic)


def reply(tale: Tale) -> None:
    tale.say("!text two", tale.topic)
    tale.sees("two", tale.topic)


def back(tale: Tale) -> None:
    """Continue locally, as `clew chat THREAD` does."""
    insist(lambda: tale.client.post("threads", tale.thread, "wheel"))
    body = {"message_id": new_message_id(), "text": "!text three"}
    tale.client.post("threads", tale.thread, "messages", body=body)
    tale.sees("This goes on at the computer", tale.topic)
    for event in tale.client.raw_events(tale.thread, 0):
        if event.kind == "thread.status" and event.data["data"]["status"] == "suspended":
            tale.clew.run("resume", tale.thread, "--supplement", "continue")
        if event.kind == "turn.ended" and answers(tale)[-1:] == ["three"]:
            return


def again(tale: Tale) -> None:
    """Take it back in the chat itself, beside the topic."""
    tale.say(f"/resume {tale.thread}", None)
    tale.sees("Here you talk to", None)
    tale.say("!text four", None)
    tale.sees("four", None)


def insist(act: Callable[[], object]) -> None:
    while True:
        with suppress(OutOfReach):
            act()
            return


def answers(tale: Tale) -> list[str]:
    said = tale.client.get("threads", tale.thread, "transcript")
    return [passage["text"] for passage in said if passage["role"] == "agent"]


MOVES = {"there": there, "reply": reply, "back": back, "again": again}
PASSES: dict[str, tuple[str, ...]] = {
    "there": (*HANDING, *TURN, *SHOWING, *COMMITS),
    "reply": (ACCEPTED, *TURN, *SHOWING, *COMMITS),
    "back": (ACCEPTED, *TURN, *SENDING, *COMMITS),
    "again": (ACCEPTED, *TURN, *SHOWING, *COMMITS),
}
DEEPER = {
    "there": tuple(f"{point}:{count}" for point in SENDING for count in (2, 3)),
    "again": (f"{ACCEPTED}:2", *(f"{point}:2" for point in SENDING)),
}
SOME = (("there", "handoff.opened-not-bound"),)


def every_pair() -> Iterator[tuple[str, str]]:
    for move, points in PASSES.items():
        for point in points:
            yield from ((move, f"{point}:{count}") for count in (3, 5, 7)) if point in COMMITS else [(move, point)]
        yield from ((move, point) for point in DEEPER.get(move, ()))


@contextmanager
def telling(folder: Path, topics: bool = True) -> Iterator[Tale]:
    with open_bot() as bot:
        asyncio.run(bot.do("chat", id=42, is_forum=topics))
        with daemon(folder, bot, 'home = "42"\n') as clew:
            yield Tale(clew, bot)


def play(tale: Tale, armed: dict[str, str]) -> None:
    """Run the moves; each one with a crash point has its own daemon, which may die."""
    begin(tale)
    for name, move in MOVES.items():
        if name in armed:
            tale.clew("down")
            if tale.clew.run("up", env={"CLEW_CRASH": armed[name]}).code:
                tale.clew.up()  # it died at start; the caller was told
        move(tale)
        rest(tale.clew)


def check(tale: Tale, deaths: int) -> None:
    assert [thread["id"] for thread in tale.client.get("threads")["threads"]] == [tale.thread]
    assert [text for text in answers(tale) if text in ANSWERS] == [*ANSWERS]
    tale.clew("down")
    check_copies(tale)
    with reading(tale.clew.home.database) as tx:
        assert (str(bindings.driver(tx, tale.thread)), audit.with_two_drivers(tx)) == ("telegram:42", [])
    check_topics(tale)
    assert tale.clew.home.log.read_text().count(UNASKED) == deaths, "another daemon died, or none"
    assert (tale.clew.children(), tale.clew.alive()) == ([], [])


def check_copies(tale: Tale) -> None:
    """Check answers to the phone; a repeated one is marked."""
    said = shown(tale.state())
    assert count_copies(said, "two") and count_copies(said, "four"), said
    count_copies(said, GREETING)  # one that was cut off is not repeated


def check_topics(tale: Tale) -> None:
    made = [message["message_id"] for message in tale.state()["messages"] if "forum_topic_created" in message]
    named = [m for m in shown(tale.state()) if EMPTY in m["text"] and m.get("message_thread_id") == tale.topic]
    assert len(made) <= 1 or (len(made) == 2 and named), made


def killed(folder: Path, move: str, point: str, *, topics: bool = True) -> None:
    with telling(folder, topics) as tale:
        play(tale, {move: point})
        check(tale, deaths=1)
        assert (tale.topic is not None) is topics


def test_the_moves_pass_the_crash_points_in_the_table(tmp_path: Path) -> None:
    passed = tmp_path / "passed"
    with telling(tmp_path) as tale:
        play(tale, {"there": f"record:{passed}"})
        check(tale, deaths=0)
    assert {*passed.read_text().split()} == {point for points in PASSES.values() for point in points}


@pytest.mark.parametrize(("move", "point"), SOME)
def test_killed_there_it_stays_one_thread(tmp_path: Path, move: str, point: str) -> None:
    killed(tmp_path, move, point)


@pytest.mark.heavy
def test_each_move_passes_the_crash_points_in_the_table(tmp_path: Path) -> None:
    files = {move: tmp_path / move for move in MOVES}
    with telling(tmp_path) as tale:
        play(tale, {move: f"record:{file}" for move, file in files.items()})
    assert {move: sorted({*file.read_text().split()}) for move, file in files.items()} == {
        move: sorted(points) for move, points in PASSES.items()
    }


@pytest.mark.heavy
@pytest.mark.parametrize(("move", "point"), [pair for pair in every_pair() if pair not in SOME])
def test_killed_anywhere_it_stays_one_thread(tmp_path: Path, move: str, point: str) -> None:
    killed(tmp_path, move, point)


@pytest.mark.heavy
@pytest.mark.parametrize("point", [*HANDING, *SENDING, *(f"{point}:5" for point in COMMITS)])
def test_killed_during_a_handoff_to_a_chat_without_topics(tmp_path: Path, point: str) -> None:
    killed(tmp_path, "there", point, topics=False)


def test_a_handoff_is_reported_truly_if_the_daemon_dies_before_it_answers(tmp_path: Path) -> None:
    """The command asks again with the same id, so it is the same handoff, and its end is known."""
    with telling(tmp_path) as tale:
        begin(tale)
        tale.clew("down")
        tale.clew.up(env={"CLEW_CRASH": "handoff.requested-not-told"})
        done = tale.clew.run("handoff", tale.thread, "telegram", "--quiet", "--json")
        assert done.code == 0, done.err
        assert [(each.id, each.state) for each in tale.client.ask(requests.handoffs())] == [
            (done.json["id"], "completed")
        ]
        assert tale.clew.home.log.read_text().count(UNASKED) == 1, "no daemon died"


def test_a_handoff_that_is_asked_twice_with_one_id_is_one_handoff(tmp_path: Path) -> None:
    with telling(tmp_path) as tale:
        begin(tale)
        body = {"thread": tale.thread, "target": "telegram", "quiet": True, "message_id": "h1"}
        first, second = (tale.client.post("handoffs", body=body) for _ in range(2))
        other = tale.clew.json("run", "!text other")["thread"]
        with pytest.raises(Refused):
            tale.client.post("handoffs", body={**body, "thread": other})
        ended = wait_for_handoff(tale.client, tale.client.ask(requests.handoffs())[0])
        again = tale.client.post("handoffs", body=body)
    assert first["id"] == second["id"] == again["id"] == ended.id and again["state"] == "completed"
