"""Codex threads that are also used without clew: adopted with their history, never taken from another program,
released. With the real Codex on both sides and our engine between."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from clew.engine.threads.adoption import Wanted
from clew.model.turns import TurnState
from clew.model.views import ThreadView
from clew.runtimes.codex import external_sessions
from clew.runtimes.codex.runtime import CodexRuntime
from clew.support.clock import SystemClock
from clew.support.errors import NotFound, Refused
from clew.testing.scripted_model import ScriptedModel
from tests.helpers.rig import Rig
from tests.runtimes.codex.raw import RawCodex

RELEASE_AFTER = 120.0
Raw = Callable[[], RawCodex]


class LateClock(SystemClock):
    """A clock on which two minutes pass when the test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.over = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        if seconds != RELEASE_AFTER:
            await super().sleep(seconds)
            return
        await self.over.wait()


class Workstation:
    """clew's engine and a person's own Codex with one Codex home."""

    def __init__(self, rig: Rig, runtime: CodexRuntime, raw: Raw, folder: Path) -> None:
        self.rig, self.runtime, self.raw, self.folder = rig, runtime, raw, folder

    async def begin(self, *texts: str) -> tuple[RawCodex, str]:
        """Start a session in a Codex outside clew, which keeps it open."""
        codex = await self.raw().start()
        thread = await codex.thread(self.folder)
        for number, text in enumerate(texts):
            await turn(codex, thread, text, f"{thread}-{number}")
        return codex, thread

    async def left(self, *texts: str) -> str:
        """Start a session that no program has open any more."""
        codex, thread = await self.begin(*texts)
        await codex.end()
        return thread

    async def adopt(self, session: str, **more: Any) -> ThreadView:
        return await self.rig.engine.threads.get(await self.rig.engine.adoption.adopt(Wanted(session, "codex", **more)))

    async def ask(self, thread: str, text: str) -> Any:
        return await self.rig.ended((await self.rig.send(thread, text)).turn)

    async def told(self, thread: str) -> list[tuple[str, str, bool]]:
        passages = await self.rig.engine.threads.transcript(thread, 100)
        return [(passage.role, passage.text, passage.outside) for passage in passages]


async def turn(codex: RawCodex, thread: str, text: str, id: str) -> None:
    name = await codex.turn(thread, text, id)
    await codex.hear("turn/completed", lambda params: params["turn"]["id"] == name)


@asynccontextmanager
async def open_workstation(
    folder: Path, runtime: CodexRuntime, raw: Raw, clock: SystemClock
) -> AsyncIterator[Workstation]:
    workspace = folder / "work"
    workspace.mkdir()
    async with Rig(folder, clock=clock, more={"codex": runtime}) as rig:
        yield Workstation(rig, runtime, raw, workspace)


@pytest.fixture
def late() -> LateClock:
    return LateClock()


@pytest.fixture
async def workstation(
    tmp_path: Path, own_runtime: CodexRuntime, raw: Raw, late: LateClock
) -> AsyncIterator[Workstation]:
    async with open_workstation(tmp_path, own_runtime, raw, late) as workstation:
        yield workstation


def roles(model: ScriptedModel, marker: str) -> list[tuple[str, str]]:
    """Return the roles and texts that the model got with that prompt."""
    body = next(request.body for request in model.requests if marker in request.prompt)
    said = [item for item in body["input"] if item.get("role") in ("user", "assistant")]
    return [(item["role"], part["text"]) for item in said for part in item["content"] if "text" in part]


@pytest.mark.process
async def test_a_session_is_adopted_with_its_history_and_goes_on(
    workstation: Workstation, model: ScriptedModel
) -> None:
    session = await workstation.left("first words\n!shell echo seen\n!text the first answer")
    (listed,) = await workstation.rig.engine.adoption.adoptable("codex", str(workstation.folder), 10)
    assert (listed.id, listed.workspace, listed.in_use) == (session, str(workstation.folder), None)
    assert listed.title.startswith("first words")

    thread = await workstation.adopt(session[:30])
    assert (thread.title, thread.workspace, thread.adopted) == ("first words", str(workstation.folder), session)
    assert (await workstation.told(thread.id))[1:] == [
        ("person", "first words\n!shell echo seen\n!text the first answer", True),
        ("agent", "the first answer", True),
    ]
    past = await workstation.rig.engine.threads.turn(thread.turn or "")
    assert (past.origin, past.state, [item.body for item in past.items]) == ("outside", "completed", ["seen\n"])

    view = await workstation.ask(thread.id, "marker-go-on\n!text and on")
    assert (view.state, view.text) == (TurnState.COMPLETED, "and on")
    said = roles(model, "marker-go-on")
    assert ("user", "first words\n!shell echo seen\n!text the first answer") in said
    assert said.index(("assistant", "the first answer")) < said.index(("user", "marker-go-on\n!text and on"))

    assert await workstation.rig.engine.adoption.adoptable("codex", None, 10) == []
    with pytest.raises(Refused, match=f"is thread {thread.id} already"):
        await workstation.adopt(session)
    with pytest.raises(NotFound, match="no codex session 0000"):
        await workstation.adopt("0000")
    verdicts = [verdict async for verdict in workstation.rig.engine.threads.verify(thread.id)]
    assert [verdict.sound for verdict in verdicts] == [True]


@pytest.mark.process
async def test_a_session_open_in_another_codex_is_not_taken_but_can_be_copied(
    workstation: Workstation, model: ScriptedModel
) -> None:
    codex, session = await workstation.begin("ours\n!text so far")
    busy = await codex.turn(session, "still at it\n!hold not-stolen\n!text late", "live")
    await model.held("not-stolen")
    (listed,) = await workstation.rig.engine.adoption.adoptable("codex", str(workstation.folder), 10)
    assert listed.in_use == f"codex, pid {codex.child.pid}"
    with pytest.raises(Refused, match=f"pid {codex.child.pid}.*--fork"):
        await workstation.adopt(session)

    copy = await workstation.adopt(session, fork=True)
    assert [text for _, text, _ in (await workstation.told(copy.id))[1:]] == ["ours\n!text so far", "so far"]
    await workstation.ask(copy.id, "marker-copy\n!text in the copy")
    assert ("assistant", "so far") in roles(model, "marker-copy")
    assert not [text for _, text in roles(model, "marker-copy") if "still at it" in text]

    model.release("not-stolen")
    await codex.hear("turn/completed", lambda params: params["turn"]["id"] == busy)
    assert [each["status"] for each in await codex.turns(session)] == ["completed", "completed"]


@pytest.mark.process
async def test_codex_itself_refuses_if_no_holder_can_be_found(
    workstation: Workstation, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(external_sessions, "PROC", tmp_path / "no-proc")
    _, session = await workstation.begin("!text so far")
    (listed,) = await workstation.rig.engine.adoption.adoptable("codex", str(workstation.folder), 10)
    assert listed.in_use is None
    with pytest.raises(Refused, match=r"is open in another program.*--fork"):
        await workstation.adopt(session)


@pytest.mark.heavy
async def test_turns_made_outside_meanwhile_are_noticed_and_imported(workstation: Workstation, late: LateClock) -> None:
    session = await workstation.left("!text one")
    thread = (await workstation.adopt(session)).id
    codex = await workstation.raw().start()
    await codex.ask("thread/resume", threadId=session)
    await turn(codex, session, "at the desk\n!text two", "outside")

    await workstation.rig.engine.threads.refresh(thread)
    assert (await workstation.told(thread))[-2:] == [("person", "at the desk\n!text two", True), ("agent", "two", True)]
    assert (await workstation.rig.saw("thread.taken_in", thread)).data == {"turns": 1}

    held = await workstation.ask(thread, "while it is open there")
    assert held.state == "failed" and f"pid {codex.child.pid}" in (held.error or "")

    await turn(codex, session, "and again\n!text three", "outside-2")
    await codex.end()
    await workstation.ask(thread, "!text four")
    assert [text for _, text, is_outside in (await workstation.told(thread))[1:] if is_outside][-2:] == [
        "and again\n!text three",
        "three",
    ]
    assert [(text, is_outside) for _, text, is_outside in (await workstation.told(thread))[-3:]] == [
        ("three", True),
        ("!text four", False),
        ("four", False),
    ]


@pytest.mark.heavy
async def test_it_is_released_two_minutes_after_a_turn_for_a_plain_codex(
    workstation: Workstation, late: LateClock
) -> None:
    session = await workstation.left("!text one")
    thread = (await workstation.adopt(session)).id
    await workstation.ask(thread, "!text two")
    assert external_sessions.holders([session]), "for two minutes it is kept, so that the next turn is quick"
    late.over.set()
    codex = await workstation.raw().start()
    await workstation.rig.saw("thread.released", thread)
    assert not external_sessions.holders([session])
    await codex.ask("thread/resume", threadId=session)
    await turn(codex, session, "!recall", "plain")
    assert [item["text"] for item in (await codex.turns(session))[0]["items"] if item["type"] == "agentMessage"] == [
        "I remember 3 messages. The first was: !text one"
    ]


@pytest.mark.heavy
async def test_release_frees_it_at_once_and_names_the_command(workstation: Workstation, model: ScriptedModel) -> None:
    session = await workstation.left("!text one")
    thread = (await workstation.adopt(session)).id
    assert not external_sessions.holders([session]), "adopting alone keeps nothing"
    running = await workstation.rig.send(thread, "!hold release\n!text two")
    await model.held("release")
    with pytest.raises(Refused, match="still works"):
        await workstation.rig.engine.adoption.release(thread)
    model.release("release")
    await workstation.rig.ended(running.turn)
    released = await workstation.rig.engine.adoption.release(thread)
    assert (released.session, released.command) == (session, f"clew codex resume {session}")
    assert not external_sessions.holders([session])
    codex = await workstation.raw().start()
    await codex.ask("thread/resume", threadId=session)


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("/x/bin/codex\0resume", "codex, pid 7"),
        (
            "/x/codex\0app-server\0--managed-daemon",
            "Codex's background server, pid 7; `codex app-server daemon stop`",
        ),
        ("", "a program, pid 7"),
    ],
)
def test_who_writes_to_a_session_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, told: str
) -> None:
    monkeypatch.setattr(external_sessions, "PROC", tmp_path)
    process(tmp_path / "7", command, {"3": ("rollout-x-aa.jsonl", 0o102001), "4": ("rollout-x-bb.jsonl", 0o100000)})
    process(tmp_path / "8", "cat", {"3": ("aa.lock", 0o100000), "4": ("aa.txt", 0o100002)})
    (tmp_path / "self").mkdir()
    assert [who[: len(told)] for who in external_sessions.holders(["aa", "bb"]).values()] == [told]
    assert list(external_sessions.holders(["aa", "bb"])) == ["aa"], "who only reads is in nobody's way"


def process(folder: Path, command: str, files: dict[str, tuple[str, int]]) -> None:
    """A fake entry of /proc."""
    (folder / "fd").mkdir(parents=True)
    (folder / "fdinfo").mkdir()
    (folder / "cmdline").write_text(command)
    for handle, (name, flags) in files.items():
        (folder / "fd" / handle).symlink_to(f"/sessions/{name}")
        (folder / "fdinfo" / handle).write_text(f"pos:\t0\nflags:\t0{flags:o}\n")
