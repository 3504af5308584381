"""Only what a person accepted runs: byte for byte, in the folder and environment that were shown, once. With a hostile
ACP agent and the real engine."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import subprocess
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from clew.cli.view.gates import command_hints, request_lines
from clew.engine.gates.answers import make_rule
from clew.engine.gates.choices import NewRule
from clew.engine.rules.decide import exact_pattern
from clew.model.gate_views import AnswerGate, GateView, NewRuleView
from clew.model.gates import Answer, Asked, Decision, Effect, Policy, RuleKind, Scope
from clew.runtimes import file_changes, process
from clew.runtimes.acp.agents.known import KNOWN, Quirks
from clew.runtimes.acp.approvals import permissions
from clew.runtimes.acp.approvals.permissions import WHICH
from clew.runtimes.acp.wire import Option
from clew.store.tables import gates as rows
from clew.support.coded import with_code
from clew.support.errors import BadInput
from clew.texts.bilingual import zh
from clew.texts.catalogue import say
from tests.helpers.rig import Rig
from tests.runtimes.acp.test_engine import World

pytestmark = pytest.mark.process

YES = AnswerGate(Decision.ACCEPT)
NO = AnswerGate(Decision.DECLINE)
IN_THREAD = AnswerGate(Decision.ACCEPT, extent="thread")


@pytest.fixture(name="world")
async def a_world(tmp_path: Path) -> AsyncIterator[World]:
    world = World(tmp_path)
    yield world
    for runtime in world.runtimes:
        await runtime.close()


async def make_repository(folder: Path) -> None:
    await asyncio.to_thread(subprocess.run, ["git", "init", "-q", str(folder)], check=True)


def script(*steps: tuple[str, object]) -> str:
    return "\n".join(f"!{name} {json.dumps(given)}" for name, given in steps)


def permit(command: object, id: str = "call", **given: Any) -> tuple[str, object]:
    raw = {"command": command, **given}
    return "permit", {"toolCallId": id, "kind": "execute", "title": "a command", "rawInput": raw}


def change(path: Path, old: str | None, new: str, id: str = "call") -> tuple[str, object]:
    diff = {"type": "diff", "path": str(path), "oldText": old, "newText": new}
    return "permit", {"toolCallId": id, "kind": "edit", "title": "edit", "content": [diff]}


def put(path: Path, text: str) -> tuple[str, object]:
    return "put", {"path": str(path), "content": text}


def run(command: str, **more: object) -> tuple[str, object]:
    return "create", {"command": command, **more}


def in_chinese(gate: GateView) -> str:
    return zh(with_code(gate.detail, gate.texts["detail"]))


async def opened(rig: Rig, number: int = 1) -> GateView:
    """Return the gate with that number, also if a rule answered it."""
    seen: list[str] = []

    def happened(entry: Any) -> bool:
        gate = entry.data.get("gate")
        if entry.kind in ("gate.opened", "gate.answered") and gate not in seen:
            seen.append(gate)
        return len(seen) >= number

    await rig.until(happened)
    return await rig.engine.gates.one(seen[number - 1])


async def answer(rig: Rig, gate: GateView, given: AnswerGate) -> None:
    await rig.engine.gates.answer(gate.code, given)


async def gates(rig: Rig, thread: str | None) -> list[GateView]:
    return (await rig.engine.gates.of_thread(thread or ""))[::-1]


async def allow(rig: Rig, pattern: str, kind: RuleKind = RuleKind.COMMAND, effect: Effect = Effect.ALLOW) -> None:
    await rig.engine.gates.add_rule(NewRuleView(effect, pattern, kind, Scope.EVERYWHERE))


# The folder


@pytest.mark.parametrize("key", ["cwd", "workdir", "directory"])
async def test_a_command_is_judged_and_shown_in_its_own_folder(world: World, key: str) -> None:
    """Reading is allowed in the workspace only, and this folder is outside."""
    async with world.daemon() as rig:
        said = await rig.say(script(permit("cat passwd", **{key: "/etc"})))
        gate = await opened(rig)
        assert (gate.state, gate.kind, gate.title, gate.folder) == ("open", "command", "cat passwd", "/etc")
        await rig.hasten()
        await rig.until(lambda entry: entry.kind == "delivery.sent")
        assert "in `/etc`" in rig.room.texts[-1]
        await answer(rig, gate, NO)
        assert (await rig.ended(said.turn)).text == "[no]"


async def test_a_relative_folder_is_below_the_workspace(world: World) -> None:
    (world.folder / "nested").mkdir()
    async with world.daemon() as rig:
        said = await rig.say(script(permit("ls", workdir="nested"), permit("ls", "b"), permit("ls", "c", cwd=".")))
        assert (await rig.ended(said.turn)).text == "[yes][yes][yes]", "nothing of it had to be asked"
        folders = [gate.folder for gate in await gates(rig, said.thread)]
        assert folders == [str(world.folder / "nested"), str(world.folder), str(world.folder)]


async def test_a_nested_repository_runs_nothing_unasked(world: World) -> None:
    nested = world.folder / "nested"
    await make_repository(nested)
    async with world.daemon() as rig:
        said = await rig.say(script(permit("git status", workdir="nested")))
        gate = await opened(rig)
        assert (gate.state, gate.folder) == ("open", str(nested))
        await answer(rig, gate, NO)
        await rig.ended(said.turn)


async def test_a_link_to_a_folder_is_shown_as_where_it_leads(world: World) -> None:
    (world.folder / "here").symlink_to("/etc")
    async with world.daemon() as rig:
        said = await rig.say(script(permit("cat passwd", cwd="here")))
        gate = await opened(rig)
        assert (gate.state, gate.folder) == ("open", "/etc")
        await answer(rig, gate, NO)
        await rig.ended(said.turn)


async def make_folder(parent: Path, name: bytes) -> None:
    await asyncio.to_thread(os.mkdir, os.fsencode(parent) + b"/" + name)


async def test_a_folder_whose_name_cannot_be_stored_is_not_judged_as_another(world: World) -> None:
    """Without its odd byte it has the name of a folder in which reading is allowed."""
    await make_folder(world.folder, b"d\xff")
    (world.folder / "d\ufffd").mkdir()
    (world.folder / "d\ufffd/x").write_text("fine")
    (world.folder / "link").symlink_to(os.fsdecode(b"d\xff"))
    (world.folder / "link/x").symlink_to("/etc/passwd")
    async with world.daemon() as rig:
        await allow(rig, "cat *")
        said = await rig.say(script(run("cat x", cwd="link"), permit("cat x", workdir="link")))
        for number in (1, 2):
            gate = await opened(rig, number)
            assert (gate.state, gate.folder) == ("open", f"{world.folder}/d\ufffd")
            assert f"{world.folder}/d\\udcff" in gate.warning
            await answer(rig, gate, NO)
        assert (await rig.ended(said.turn)).text == "[refused: not allowed][no]"


async def test_a_yes_for_this_thread_tells_folders_apart_that_look_the_same(world: World) -> None:
    for name, link in ((b"d\xff", "one"), (b"d\xfe", "two")):
        await make_folder(world.folder, name)
        (world.folder / link).symlink_to(os.fsdecode(name))
    async with world.daemon() as rig:
        said = await rig.say(script(*(run("touch here", cwd=each) for each in ("one", "one", "two"))))
        await answer(rig, await opened(rig), IN_THREAD)
        third = await opened(rig, 3)
        assert third.state == "open"
        await answer(rig, third, NO)
        await rig.ended(said.turn)
        assert (world.folder / "one/here").exists() and not (world.folder / "two/here").exists()


@pytest.mark.parametrize(
    "odd",
    [
        {"cwd": ["/etc"]},
        {"cwd": 7},
        {"cwd": "a\0b"},
        {"cwd": ""},
        {"cwd": "~"},
        {"cwd": ".", "workdir": "/etc"},
        {"env": "A=1"},
        {"env": {"A": 1}},
        {"timeout": {"env": {"A": "1"}}},
        {"shell": "/tmp/sh"},
        {"dangerouslyDisableSandbox": True},
    ],
    ids=str,
)
async def test_unknown_fields_are_shown_and_always_asked(
    world: World,
    odd: dict[str, Any],
) -> None:
    async with world.daemon() as rig:
        await allow(rig, "ls *")
        said = await rig.say(script(permit("ls -la", **odd)))
        gate = await opened(rig)
        assert (gate.state, gate.kind, gate.title, gate.rule) == ("open", "command", "ls -la", None)
        assert all(key in gate.detail for key in odd), gate.detail
        await answer(rig, gate, NO)
        await rig.ended(said.turn)


async def test_known_harmless_keys_keep_reading_unasked(world: World) -> None:
    async with world.daemon() as rig:
        given: dict[str, Any] = {
            "description": "look",
            "timeout": 5000,
            "timeout_ms": 1.5,
            "cwd": str(world.folder),
            "env": {},
        }
        said = await rig.say(script(permit("ls", **given), permit(["ls", "-la"], "b")))
        assert (await rig.ended(said.turn)).text == "[yes][yes]"


async def test_a_deny_rule_still_sees_the_command_behind_odd_keys(world: World) -> None:
    async with world.daemon() as rig:
        await allow(rig, "rm", effect=Effect.DENY)
        said = await rig.say(script(permit("rm -rf x", env={"A": "1"}), permit("rm -rf x", "b", odd=1)))
        assert (await rig.ended(said.turn)).text == "[no][no]"
        assert [gate.decision for gate in await gates(rig, said.thread)] == ["decline", "decline"]


async def test_odd_keys_are_denied_when_read_only_and_allowed_under_yolo(
    world: World,
) -> None:
    async with world.daemon() as rig:
        for policy, said_so in ((Policy.READ_ONLY, "[no]"), (Policy.YOLO, "[yes]")):
            started = await rig.start(script(permit("ls", env={"A": "1"})), policy=policy)
            assert (await rig.ended(started.turn)).text == said_so


# The environment


@pytest.mark.parametrize("first", [[], [permit("make test")]], ids=["unannounced", "after a yes to the bare command"])
async def test_the_environment_of_a_command_is_shown_and_asked(
    world: World,
    first: list[tuple[str, object]],
) -> None:
    env = [{"name": "LD_PRELOAD", "value": "./evil.so"}]
    async with world.daemon() as rig:
        await allow(rig, "make *")
        said = await rig.say(script(*first, run("make test", env=env)))
        gate = await opened(rig, len(first) + 1)
        assert (gate.state, gate.title) == ("open", "export LD_PRELOAD=./evil.so; make test")
        await rig.hasten()
        await rig.until(lambda entry: entry.kind == "delivery.sent")
        assert "LD_PRELOAD=./evil.so" in rig.room.texts[-1]
        await answer(rig, gate, NO)
        assert "refused: not allowed" in (await rig.ended(said.turn)).text


async def test_git_cannot_be_given_a_program_by_its_environment(world: World) -> None:
    await make_repository(world.folder)
    config = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.fsmonitor", "GIT_CONFIG_VALUE_0": "touch ran #"}
    env = [{"name": name, "value": value} for name, value in config.items()]
    async with world.daemon() as rig:
        said = await rig.say(script(run("git status", env=env)))
        gate = await opened(rig)
        assert gate.state == "open" and "core.fsmonitor" in gate.title
        await answer(rig, gate, NO)
        await rig.ended(said.turn)
        assert not (world.folder / "ran").exists()


async def test_a_yes_for_this_thread_is_for_that_environment_and_folder_only(world: World) -> None:
    (world.folder / "sub").mkdir()
    one, other = [{"name": "A", "value": "1"}], [{"name": "A", "value": "2"}]
    echo = "echo $A $PWD"
    async with world.daemon() as rig:
        steps = (run(echo, env=one), run(echo, env=one), run(echo, env=other), run(echo, env=one, cwd="sub"), run(echo))
        said = await rig.say(script(*steps))
        await answer(rig, await opened(rig), IN_THREAD)
        for number in (3, 4, 5):
            gate = await opened(rig, number)
            assert gate.state == "open"
            await answer(rig, gate, NO)
        text = (await rig.ended(said.turn)).text
        assert text == f"[0: 1 {world.folder}]" * 2 + "[refused: not allowed]" * 3


async def test_a_yes_to_a_command_with_an_environment_runs_just_that(world: World) -> None:
    env = [{"name": "A", "value": "it's; rm -rf /"}]
    async with world.daemon() as rig:
        said = await rig.say(script(permit("echo $A", env={"A": "it's; rm -rf /"}), run("echo $A", env=env)))
        gate = await opened(rig)
        assert gate.title == "export A='it'\"'\"'s; rm -rf /'; echo $A"
        await answer(rig, gate, YES)
        assert (await rig.ended(said.turn)).text == "[yes][0: it's; rm -rf /]", "and it was not asked again"


async def test_neither_an_agent_nor_its_command_gets_the_token_of_a_chat(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "_hidden", {"BOT_TOKEN"})
    monkeypatch.setenv("BOT_TOKEN", "very secret")
    line = "echo /$BOT_TOKEN/"
    async with world.daemon() as rig:
        said = await rig.start(f"{script(run(line))}\n!shell {line} > {world.folder}/own", policy=Policy.YOLO)
        assert "[0: //]" in (await rig.ended(said.turn)).text
        assert (world.folder / "own").read_text() == "//\n"


# Commands that clew runs


@pytest.mark.parametrize(
    "other",
    [run("touch other"), run("touch one", cwd="sub"), run("touch", args=["one"]), run("touch one ")],
    ids=["another command", "another folder", "other words", "a blank more"],
)
async def test_a_command_other_than_the_approved_one_is_asked_by_itself(
    world: World,
    other: tuple[str, object],
) -> None:
    (world.folder / "sub").mkdir()
    async with world.daemon() as rig:
        said = await rig.say(script(permit("touch one"), other))
        await answer(rig, await opened(rig), YES)
        await answer(rig, await opened(rig, 2), NO)
        assert (await rig.ended(said.turn)).text == "[yes][refused: not allowed]"
        assert sorted(path.name for path in world.folder.rglob("*") if path.name in ("one", "other")) == []


async def test_an_approved_command_runs_once(world: World) -> None:
    command = "pwd >> trace"
    async with world.daemon() as rig:
        said = await rig.say(script(permit(command), run(command), run(command)))
        await answer(rig, await opened(rig), YES)
        again = await opened(rig, 2)
        assert (again.title, again.folder, again.state) == (command, str(world.folder), "open")
        await answer(rig, again, NO)
        assert (await rig.ended(said.turn)).text == "[yes][0: ][refused: not allowed]"
        assert (world.folder / "trace").read_text() == f"{world.folder}\n"


async def test_what_a_rule_allowed_is_judged_again_when_it_runs(world: World) -> None:
    """What only read when it was asked may do more once the workspace has changed."""
    await make_repository(world.folder)
    config = world.folder / ".git" / "config"
    evil = config.read_text() + "[core]\n\tfsmonitor = touch made; false\n"
    async with world.daemon() as rig:
        said = await rig.say(script(permit("git status"), put(config, evil), run("git status")))
        await answer(rig, await opened(rig, 2), YES)
        again = await opened(rig, 3)
        assert (again.state, again.title) == ("open", "git status") and "core.fsmonitor" in again.warning
        await answer(rig, again, NO)
        await rig.ended(said.turn)
    assert not (world.folder / "made").exists()


async def test_a_yes_for_this_thread_is_asked_no_second_time_when_it_runs(world: World) -> None:
    """It is a person's yes to just this, though the agent has more to say when it asks than when it runs it."""
    words = {"type": "content", "content": {"type": "text", "text": "it makes a file"}}
    call = {"toolCallId": "call", "kind": "execute", "title": "a", "rawInput": {"command": "touch made"}}
    step = ("permit", {**call, "content": [words]})
    async with world.daemon() as rig:
        said = await rig.say(script(step, run("touch made")))
        await answer(rig, await opened(rig), IN_THREAD)
        await rig.ended(said.turn)
        (world.folder / "made").unlink()
        said = await rig.say(script(step, run("touch made")))
        await rig.ended(said.turn)
        assert (world.folder / "made").exists() and len(await gates(rig, said.thread)) == 2


async def test_a_gap_that_hides_the_end_of_a_command_is_shown(world: World) -> None:
    command = f"touch x; printf %s one{' ' * 5000}; printf ' two{' ' * 50}'"
    async with world.daemon() as rig:
        said = await rig.say(script(run(command)))
        gate = await opened(rig)
        assert gate.title == command and gate.shown is not None
        assert gate.shown.title == "touch x; printf %s one␣×5000; printf ' two␣×50'"
        await rig.hasten()
        await rig.until(lambda entry: entry.kind == "delivery.sent")
        assert "one␣×5000; printf" in rig.room.texts[-1]
        await answer(rig, gate, YES)
        assert (await rig.ended(said.turn)).text == "[0: one two]"


SHELL = "/bin/sh"


@pytest.mark.parametrize(
    "words",
    [
        ["-c", '"$0" "$1"', "touch", "harm"],
        ["-c", "-e", "touch harm"],
        ["-c", "+e", "touch harm"],
        ["-c", "--", "touch harm"],
        ["-c", "ls", "touch", "harm"],
        ["-c"],
        ["-c", "-e"],
    ],
    ids=str,
)
@pytest.mark.parametrize("way", ["run", "permit"])
async def test_a_shell_with_more_arguments_is_shown_completely(world: World, words: list[str], way: str) -> None:
    step = run(SHELL, args=words) if way == "run" else permit([SHELL, *words])
    async with world.daemon() as rig:
        said = await rig.say(script(step))
        gate = await opened(rig)
        assert (gate.state, gate.title) == ("open", shlex.join([SHELL, *words]))
        await answer(rig, gate, NO)
        await rig.ended(said.turn)


async def test_a_yes_for_this_thread_to_a_shell_is_for_all_its_arguments(world: World) -> None:
    line = 'echo building "$0"; "$@"'
    async with world.daemon() as rig:
        first, second = run(SHELL, args=["-c", line, "x", "true"]), run(SHELL, args=["-c", line, "x", "touch", "harm"])
        said = await rig.say(script(first, first, second))
        await answer(rig, await opened(rig), IN_THREAD)
        third = await opened(rig, 3)
        assert third.state == "open" and "harm" in third.title
        await answer(rig, third, NO)
        assert (await rig.ended(said.turn)).text == "[0: building x]" * 2 + "[refused: not allowed]"
        assert not (world.folder / "harm").exists()


async def test_a_deny_rule_sees_all_arguments_of_a_shell(world: World) -> None:
    async with world.daemon() as rig:
        await allow(rig, "touch", effect=Effect.DENY)
        words = (["-c", "-e", "touch harm"], ["-c", "+e", "touch harm"], ["-c", "--", "touch harm"])
        steps = [step for each in words for step in (run(SHELL, args=each), permit([SHELL, *each]))]
        started = await rig.start(script(*steps), policy=Policy.YOLO)
        text = (await rig.ended(started.turn)).text
        assert text.count("[refused: not allowed") == text.count("[no]") == len(words), text
        assert not (world.folder / "harm").exists()


async def test_two_at_once_each_get_their_own_answer(world: World) -> None:
    """Answered in the opposite order."""
    both = [[permit("touch one", "1"), run("touch one")], [permit("touch two", "2"), run("touch two")]]
    async with world.daemon() as rig:
        said = await rig.say(script(("at-once", both)))
        asked = {gate.title: gate for gate in (await opened(rig), await opened(rig, 2))}
        await answer(rig, asked["touch two"], NO)
        await answer(rig, asked["touch one"], YES)
        await answer(rig, await opened(rig, 3), NO)
        await rig.ended(said.turn)
        assert (world.folder / "one").exists() and not (world.folder / "two").exists()


async def test_updates_of_a_call_after_its_approval_grant_nothing(world: World) -> None:
    call = {"toolCallId": "call", "kind": "execute", "title": "x", "rawInput": {"command": "touch one"}}
    news = {"toolCallId": "call", "rawInput": {"command": "touch two"}}
    async with world.daemon() as rig:
        steps = (("announce", call), permit("touch one"), ("update", news), run("touch two"))
        said = await rig.say(script(*steps))
        await answer(rig, await opened(rig), YES)
        await answer(rig, await opened(rig, 2), NO)
        await rig.ended(said.turn)
        assert not (world.folder / "two").exists()


async def test_a_request_about_an_ended_call_is_always_asked(world: World) -> None:
    """Later updates of the call are unknown."""
    call = {"toolCallId": "call", "kind": "execute", "title": "x", "rawInput": {"command": "ls"}}
    async with world.daemon() as rig:
        ended = {"toolCallId": "call", "status": "completed"}
        ask = ("permit", {"toolCallId": "call", "kind": "execute", "title": "x"})
        said = await rig.say(script(("announce", call), ("update", ended), ask))
        gate = await opened(rig)
        assert gate.state == "open"
        await answer(rig, gate, NO)
        await rig.ended(said.turn)


async def test_a_call_that_changes_while_it_is_asked_is_asked_again(world: World) -> None:
    """OpenCode asks before it names the folder. The first version cannot be accepted any more."""
    call = {"toolCallId": "call", "kind": "execute", "title": "x", "rawInput": {"command": "rm -rf build"}}
    news = {"toolCallId": "call", "rawInput": {"command": "rm -rf build", "workdir": "/etc"}}
    ask = {"toolCallId": "call", "rawInput": {"command": "rm -rf build"}}
    both = [[("permit", ask)], [run("true"), ("update", news)]]
    async with world.daemon() as rig:
        said = await rig.say(script(("announce", call), ("at-once", both)))
        asked = {gate.title: gate for gate in (await opened(rig), await opened(rig, 2))}
        before = asked["rm -rf build"]
        assert before.folder == str(world.folder)
        gate = await opened(rig, 3)
        assert (gate.title, gate.folder, gate.state) == ("rm -rf build", "/etc", "open")
        void = await rig.engine.gates.one(before.id)
        assert (void.state, void.why) == ("void", "what it would do has changed since, so it is asked anew")
        await answer(rig, gate, NO)
        assert "[no]" in (await rig.ended(said.turn)).text


def words(text: str) -> list[object]:
    return [{"type": "content", "content": {"type": "text", "text": text}}]


@pytest.mark.parametrize(
    "news",
    [{"content": words("delete table B")}, {"title": "apply the other plan"}],
    ids=["its text", "its title"],
)
async def test_a_call_whose_words_change_while_it_is_asked_is_asked_again(
    world: World, news: dict[str, object]
) -> None:
    """The words are all that a person sees of it."""
    call = {"toolCallId": "call", "kind": "other", "title": "apply the plan", "content": words("delete table A")}
    both = [[("permit", {"toolCallId": "call"})], [run("true"), ("update", {"toolCallId": "call", **news})]]
    async with world.daemon() as rig:
        said = await rig.say(script(("announce", call), ("at-once", both)))
        asked = {gate.title: gate for gate in (await opened(rig), await opened(rig, 2))}
        before = asked["apply the plan"]
        gate = await opened(rig, 3)
        assert gate.state == "open" and (gate.title, gate.detail) != (before.title, before.detail)
        assert (await rig.engine.gates.one(before.id)).state == "void"
        await answer(rig, gate, NO)
        assert "[no]" in (await rig.ended(said.turn)).text


async def test_a_request_waits_for_the_announcement_of_its_folder(world: World) -> None:
    """Otherwise reading would be allowed in an unknown folder."""
    early = {"toolCallId": "call", "kind": "execute", "title": "bash", "rawInput": {"cwd": str(world.folder)}}
    news = {"toolCallId": "call", "rawInput": {"command": "cat passwd", "workdir": "/etc"}}
    ask = {"toolCallId": "call", "kind": "execute", "title": "cat passwd", "rawInput": {"command": "cat passwd"}}
    async with world.daemon() as rig:
        both = [[("permit", ask)], [("update", news)]]
        said = await rig.say(script(("announce", early), ("at-once", both)))
        gate = await opened(rig)
        assert (gate.state, gate.folder) == ("open", "/etc")
        await answer(rig, gate, NO)
        await rig.ended(said.turn)


async def test_a_command_whose_announcement_never_comes_is_asked(world: World) -> None:
    early = {"toolCallId": "call", "kind": "execute", "title": "bash", "rawInput": {}}
    async with world.daemon() as rig:
        said = await rig.say(script(("announce", early), permit("ls")))
        gate = await opened(rig)
        assert (gate.state, gate.title) == ("open", "ls")
        await answer(rig, gate, NO)
        await rig.ended(said.turn)


# Ids of requests

SAME_ID = r"is that of a request that is not answered yet"


def under(id: int | str, step: tuple[str, object]) -> tuple[str, object]:
    name, given = step
    assert isinstance(given, dict)
    return name, {**given, "under": id}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (run("ls"), run("touch harm")),
        (run("make test"), run("touch harm")),
        (permit("ls"), permit("touch harm", "b")),
        (permit("make test"), permit("touch harm", "b")),
        (permit("ls"), run("touch harm")),
        (permit("ls"), put(Path("harm"), "x")),
        (put(Path("good"), "x"), put(Path("harm"), "x")),
    ],
    ids=["ls", "make", "permit ls", "permit make", "permit ls, then run", "permit ls, then write", "write"],
)
async def test_a_request_with_the_id_of_an_open_one_is_refused(
    world: World,
    first: tuple[str, object],
    second: tuple[str, object],
) -> None:
    """A rule or person that accepts the first has not seen the second."""
    both = [[under(1007, first)], [under(1007, second)]]
    async with world.daemon() as rig:
        said = await rig.say(script(("at-once", both), run("touch harm")))
        gate = await opened(rig)
        assert "harm" not in gate.title
        if gate.state == "open":
            await answer(rig, gate, YES)
        own = await opened(rig, 2)
        assert (own.title, own.state) == ("touch harm", "open"), "the last step, under an id of its own"
        assert len(await gates(rig, said.thread)) == 2
        await answer(rig, own, NO)
        assert SAME_ID in (await rig.ended(said.turn)).text
        assert not (world.folder / "harm").exists()


@pytest.mark.parametrize("other", [5, "5"], ids=["answered before", "a text"])
async def test_a_request_with_a_used_id_is_judged_by_itself(world: World, other: int | str) -> None:
    async with world.daemon() as rig:
        said = await rig.say(script(under(5, run("touch one")), under(other, run("touch harm"))))
        await answer(rig, await opened(rig), YES)
        second = await opened(rig, 2)
        assert (second.title, second.state) == ("touch harm", "open")
        await answer(rig, second, NO)
        assert (await rig.ended(said.turn)).text == "[0: ][refused: not allowed]"
        assert not (world.folder / "harm").exists()


async def test_ids_that_look_alike_are_two_requests(world: World) -> None:
    """At the same time: 5 and "5"."""
    both = [[under(5, run("touch one"))], [under("5", run("touch two"))]]
    async with world.daemon() as rig:
        said = await rig.say(script(("at-once", both)))
        asked = {gate.title: gate for gate in (await opened(rig), await opened(rig, 2))}
        await answer(rig, asked["touch one"], YES)
        await answer(rig, asked["touch two"], NO)
        await rig.ended(said.turn)
        assert (world.folder / "one").exists() and not (world.folder / "two").exists()


async def test_an_id_like_that_of_a_repeated_request_is_another(world: World) -> None:
    call = {"toolCallId": "call", "kind": "execute", "title": "x", "rawInput": {"command": "make one"}}
    news = {"toolCallId": "call", "rawInput": {"command": "make two"}}
    ask = {"toolCallId": "call", "under": 5}
    both = [[("permit", ask)], [run("make way"), ("update", news), under("5.2", run("touch harm"))]]
    async with world.daemon() as rig:
        said = await rig.say(script(("announce", call), ("at-once", both)))
        asked = {gate.title: gate for gate in (await opened(rig), await opened(rig, 2))}
        await answer(rig, asked["make way"], YES)
        later = {gate.title: gate for gate in (await opened(rig, 3), await opened(rig, 4))}
        await answer(rig, later["make two"], YES)
        await answer(rig, later["touch harm"], NO)
        await rig.ended(said.turn)
        assert not (world.folder / "harm").exists()


async def test_an_id_that_another_thread_used_is_judged_by_itself(world: World) -> None:
    async with world.daemon() as rig:
        first = await rig.start(script(under(9, run("touch one"))))
        await answer(rig, await opened(rig), YES)
        await rig.ended(first.turn)
        second = await rig.start(script(under(9, run("touch two"))))
        gate = await opened(rig, 2)
        assert (gate.title, gate.state, gate.thread) == ("touch two", "open", second.thread)
        await answer(rig, gate, NO)
        await rig.ended(second.turn)
        assert not (world.folder / "two").exists()


# Changes


async def test_a_yes_to_a_diff_is_for_that_text_once(world: World) -> None:
    file = world.folder / "a.txt"
    async with world.daemon() as rig:
        steps = (change(file, None, "good\n"), put(file, "evil\n"), put(file, "good\n"), put(file, "good\n"))
        said = await rig.say(script(*steps))
        await answer(rig, await opened(rig), YES)
        other = await opened(rig, 2)
        assert other.state == "open" and "+evil" in other.detail
        await answer(rig, other, NO)
        again = await opened(rig, 3)
        assert again.state == "open"
        await answer(rig, again, NO)
        text = (await rig.ended(said.turn)).text
        assert text == "[yes][refused: not allowed][written][refused: not allowed]"
        assert file.read_bytes() == b"good\n"


async def test_a_diff_shows_what_becomes_of_the_file_as_it_is(world: World) -> None:
    """An agent cannot hide a harmful line by claiming that the file already has it."""
    file = world.folder / "a.sh"
    file.write_text("one\n")
    claimed = "one\n" * 20 + "rm -rf ~\n"
    async with world.daemon() as rig:
        said = await rig.say(script(change(file, claimed, f"zero\n{claimed}"), put(file, f"zero\n{claimed}")))
        gate = await opened(rig)
        assert "+rm -rf ~" in gate.detail and "+zero" in gate.detail
        await answer(rig, gate, YES)
        assert (await rig.ended(said.turn)).text == "[yes][written]"


async def test_a_diff_of_a_file_outside_the_workspace_is_marked_and_allowed_by_a_person_only(world: World) -> None:
    """clew does not read that file, so the agent can claim that a harmful line is there already."""
    file = world.folder.parent / f"{world.folder.name}-outside"
    file.write_text("a\n")
    async with world.daemon() as rig:
        await allow(rig, f"{file}", RuleKind.CHANGE)
        said = await rig.say(script(change(file, "evil\na\n", "evil\na\nb\n")))
        gate = await opened(rig)
        assert gate.state == "open" and "its diff may be wrong" in gate.warning
        assert gate.detail.startswith("As the agent describes it, unchecked") and "未经核实" in in_chinese(gate)
        await answer(rig, gate, NO)
        await rig.ended(said.turn)


async def test_the_agents_text_is_not_part_of_the_diff(world: World) -> None:
    """Each line is marked, because the text could look like another change or like the end of the diff."""
    forged = "--- b.txt\n+++ b.txt\n@@ -1 +1 @@\n-one\n+two"
    name, call = change(world.folder / "a.txt", None, "good\n")
    assert isinstance(call, dict)
    call["content"].append({"type": "content", "content": {"type": "text", "text": forged}})
    async with world.daemon() as rig:
        said = await rig.say(script((name, call)))
        gate = await opened(rig)
        diff, mark, claimed = gate.detail.partition("The agent says, unchecked:")
        assert "+good" in diff and "b.txt" not in diff and mark
        assert claimed.strip().splitlines() == [f"| {line}" for line in forged.splitlines()]
        await answer(rig, gate, NO)
        await rig.ended(said.turn)


@pytest.mark.parametrize("way", ["asked about", "written"])
async def test_a_path_cannot_forge_a_line_of_a_diff(world: World, way: str) -> None:
    file = world.folder / "a.txt\n+++ b.txt\n@@ -1 +1 @@\n+harmless"
    async with world.daemon() as rig:
        said = await rig.say(script(change(file, None, "x\n") if way == "asked about" else put(file, "x\n")))
        gate = await opened(rig)
        assert gate.detail.splitlines()[1:] == [f"+++ {json.dumps(str(file))}", "@@ -0,0 +1 @@", "+x"]
        await answer(rig, gate, NO)
        await rig.ended(said.turn)


def test_two_paths_never_have_the_same_line_in_a_diff() -> None:
    """A yes for this thread matches by what was shown."""
    paths = ["a\nb", "a\\nb", '"a\\nb"', "a\tb", "a\\tb", "ab", "аb", "线团"]
    headers = [file_changes.diff(path, None, "x").splitlines()[1] for path in paths]
    assert len(set(headers)) == len(paths) and headers[-1] == "+++ 线团", headers


async def test_a_diff_of_a_piece_grants_only_that_change_of_the_file(world: World) -> None:
    file = world.folder / "a.txt"
    file.write_bytes(b"one\r\ntwo\nthree")
    async with world.daemon() as rig:
        wrong = put(file, "one\ndos\nthree")
        said = await rig.say(script(change(file, "two", "dos"), wrong, put(file, "one\r\ndos\nthree")))
        await answer(rig, await opened(rig), YES)
        await answer(rig, await opened(rig, 2), NO)
        assert (await rig.ended(said.turn)).text == "[yes][refused: not allowed][written]"
        assert file.read_bytes() == b"one\r\ndos\nthree"


async def test_a_diff_that_is_changed_after_the_yes_is_asked_by_itself(world: World) -> None:
    file = world.folder / "a.txt"
    _, good = change(file, None, "good")
    _, evil = change(file, None, "evil")
    bare = {"toolCallId": "call"}
    async with world.daemon() as rig:
        steps = (("announce", good), ("permit", bare), ("update", evil), put(file, "evil"), put(file, "good"))
        said = await rig.say(script(*steps))
        first = await opened(rig)
        assert "+good" in first.detail
        await answer(rig, first, YES)
        await answer(rig, await opened(rig, 2), NO)
        await rig.ended(said.turn)
        assert file.read_text() == "good"


async def test_other_line_endings_are_another_text(world: World) -> None:
    """They look the same, but a yes for this thread does not cover both."""
    file = world.folder / "a.sh"
    async with world.daemon() as rig:
        texts = ("# a\u2028rm x\n", "# a\nrm x\n", "# a\rrm x\n", "# a\u2028rm x")
        said = await rig.say(script(*(put(file, text) for text in texts)))
        await answer(rig, await opened(rig), IN_THREAD)
        for number in range(2, len(texts) + 1):
            gate = await opened(rig, number)
            assert gate.state == "open"
            await answer(rig, gate, NO)
        await rig.ended(said.turn)
        assert file.read_bytes() == texts[0].encode()


async def test_a_symlink_created_after_the_yes_is_not_followed(world: World) -> None:
    work = world.folder
    outside = work.parent / f"{work.name}-outside"
    outside.write_text("mine")
    file = work / "a.txt"
    async with world.daemon() as rig:
        said = await rig.say(script(put(file, "theirs")))
        gate = await opened(rig)
        file.symlink_to(outside)
        await answer(rig, gate, YES)
        assert "outside the workspace" in (await rig.ended(said.turn)).text
        assert outside.read_text() == "mine"


async def test_a_diff_for_a_link_is_shown_with_the_file_that_a_yes_changes(world: World) -> None:
    """As a repository may have been cloned."""
    await make_repository(world.folder)
    target, body = world.folder / ".git/hooks/evil", "#!/bin/sh\necho evil\n"
    (world.folder / "docs").symlink_to(".git/hooks")
    async with world.daemon() as rig:
        said = await rig.say(script(change(Path("docs/evil"), None, body), put(target, body)))
        gate = await opened(rig)
        assert gate.warning == f"docs/evil is really {target}: a link leads there."
        await answer(rig, gate, NO)
        again = await opened(rig, 2)
        assert again.title == str(target)
        await answer(rig, again, NO)
        await rig.ended(said.turn)
    assert not target.exists()


async def test_a_yes_for_this_thread_is_not_for_the_link_that_a_file_becomes(world: World) -> None:
    await make_repository(world.folder)
    (world.folder / "docs").mkdir()
    notes, target, body = world.folder / "docs/notes.md", world.folder / ".git/hooks/evil", "#!/bin/sh\necho hi\n"
    async with world.daemon() as rig:
        said = await rig.say(script(change(Path("docs/notes.md"), None, body), put(notes, body)))
        await answer(rig, await opened(rig), IN_THREAD)
        await rig.ended(said.turn)
        notes.unlink()
        notes.symlink_to("../.git/hooks/evil")
        said = await rig.say(script(change(Path("docs/notes.md"), None, body, "second")))
        gate = await opened(rig, 2)
        assert gate.state == "open" and str(target) in gate.warning
        await answer(rig, gate, NO)
        assert (await rig.ended(said.turn)).text == "[no]"


@pytest.mark.parametrize("more", [{"filePath": "/etc/passwd"}, {"command": "rm x"}, {"odd": 1}], ids=str)
async def test_a_change_that_names_more_than_its_diff_is_asked_where_changes_are_trusted(
    world: World,
    more: dict[str, object],
) -> None:
    file = world.folder / "a.txt"
    plain, odd = change(file, None, "x"), change(file, None, "x", "b")
    assert isinstance(odd[1], dict)
    odd[1]["rawInput"] = {"filePath": str(file), "content": "x", **more}
    async with world.daemon() as rig:
        started = await rig.start(script(plain, odd), policy=Policy.TRUSTED)
        gate = await opened(rig, 2)
        assert gate.state == "open" and all(str(value) in gate.title + gate.detail for value in more.values())
        await answer(rig, gate, NO)
        assert (await rig.ended(started.turn)).text == "[yes][no]"


CONF = "# head\n" + "".join(f"line {n}\n" for n in range(30)) + "allow_root = True\n"
SAFE = CONF.replace("True", "False")


async def test_a_yes_is_for_the_file_that_it_was_shown_against(world: World) -> None:
    """Neither card would show that the second change is undone."""
    file = world.folder / "settings.txt"
    file.write_text(CONF)
    headed = CONF.replace("# head", "# title")
    async with world.daemon() as rig:
        steps = (change(file, CONF, headed, "c1"), change(file, CONF, SAFE, "c2"), put(file, SAFE), put(file, headed))
        said = await rig.say(script(*steps))
        await answer(rig, await opened(rig), YES)
        await answer(rig, await opened(rig, 2), YES)
        third = await opened(rig, 3)
        assert third.state == "open" and "+allow_root = True" in third.detail
        await answer(rig, third, NO)
        assert (await rig.ended(said.turn)).text == "[yes][yes][written][refused: not allowed]"
        assert file.read_text() == SAFE


@pytest.mark.parametrize("before", [None, CONF], ids=["a new file", "an old one"])
async def test_an_edit_by_a_person_while_a_write_is_asked_is_kept(world: World, before: str | None) -> None:
    file = world.folder / "settings.txt"
    if before is not None:
        file.write_text(before)
    async with world.daemon() as rig:
        said = await rig.say(script(put(file, CONF.replace("# head", "# title"))))
        gate = await opened(rig)
        file.write_text(SAFE)
        await answer(rig, gate, YES)
        assert "has changed since this was asked. Nothing was written." in (await rig.ended(said.turn)).text
        assert file.read_text() == SAFE


async def test_a_change_is_asked_again_if_its_file_changes_meanwhile(world: World) -> None:
    file = world.folder / "settings.txt"
    file.write_text(CONF)
    async with world.daemon() as rig:
        said = await rig.say(script(change(file, CONF, CONF.replace("# head", "# title"))))
        first = await opened(rig)
        file.write_text(SAFE)
        await answer(rig, first, YES)
        second = await opened(rig, 2)
        assert second.state == "open" and "+allow_root = True" in second.detail
        assert (await rig.engine.gates.one(first.id)).state == "void"
        await answer(rig, second, NO)
        assert (await rig.ended(said.turn)).text == "[no]"


BINARY = b"SQLite\0\xff" * 100


@pytest.mark.parametrize("way", ["asked about", "written"])
@pytest.mark.parametrize("text", ["x\n", ""], ids=["text", "empty"])
async def test_a_file_that_cannot_be_shown_is_not_shown_as_a_new_one(world: World, way: str, text: str) -> None:
    file = world.folder / "app.db"
    file.write_bytes(BINARY)
    async with world.daemon() as rig:
        await allow(rig, "**", RuleKind.CHANGE)
        step = change(file, None, text) if way == "asked about" else put(file, text)
        started = await rig.start(script(step), policy=Policy.TRUSTED)
        gate = await opened(rig)
        assert (gate.state, gate.rule) == ("open", None)
        assert "/dev/null" not in gate.detail and "cannot be shown (800 bytes" in gate.detail
        assert "无法显示" in in_chinese(gate) and "(800 B) cannot be shown, and would be replaced" in gate.warning
        await answer(rig, gate, NO)
        await rig.ended(started.turn)
        assert file.read_bytes() == BINARY


async def test_a_file_that_is_too_large_is_not_shown_as_a_new_one(world: World) -> None:
    file = world.folder / "log.txt"
    with file.open("wb") as log:
        log.truncate(file_changes.LARGEST + 1)
    async with world.daemon() as rig:
        started = await rig.start(script(put(file, "x\n"), change(file, "piece", "x")), policy=Policy.TRUSTED)
        for number, line in ((1, "+x"), (2, "-piece")):
            gate = await opened(rig, number)
            assert gate.state == "open" and "(10,000,001 bytes" in gate.detail and line in gate.detail
            await answer(rig, gate, NO)
        await rig.ended(started.turn)


async def test_a_yes_for_this_thread_to_an_empty_file_empties_no_other(world: World) -> None:
    """Nor does a yes to replace one binary file replace another."""
    file = world.folder / "app.db"
    async with world.daemon() as rig:
        said = await rig.say(script(put(file, ""), put(file, ""), put(file, "")))
        first = await opened(rig)
        assert "A new, empty file" in first.detail and "新的空文件" in in_chinese(first)
        file.write_bytes(BINARY)
        await answer(rig, first, IN_THREAD)
        second = await opened(rig, 2)
        assert second.state == "open"
        file.write_bytes(BINARY[::-1])
        await answer(rig, second, IN_THREAD)
        third = await opened(rig, 3)
        assert third.state == "open"
        await answer(rig, third, NO)
        await rig.ended(said.turn)
        assert file.read_bytes() == BINARY[::-1]


async def test_a_file_that_cannot_be_shown_may_have_an_odd_name(world: World) -> None:
    await make_folder(world.folder, b"d\xff")
    (world.folder / "link").symlink_to(os.fsdecode(b"d\xff"))
    (world.folder / "link/app.db").write_bytes(BINARY)
    async with world.daemon() as rig:
        said = await rig.say(script(put(world.folder / "link/app.db", "")))
        gate = await opened(rig)
        assert gate.state == "open"
        await answer(rig, gate, YES)
        assert (await rig.ended(said.turn)).text == "[written]"


def along(step: tuple[str, object], **raw: object) -> tuple[str, object]:
    name, call = step
    assert isinstance(call, dict)
    return name, {**call, "rawInput": raw}


OLD_TEXT, NEW_TEXT = "one\ntwo\n    three\n", "one\ndos\n    three\n"
PATCH = "Index: a\n====\n--- a\n+++ a\n@@ -1,3 +1,3 @@\n one\n-two\n+dos\n     three\n"


@pytest.mark.parametrize(
    "raw",
    [
        {"mode": "0777"},
        {"description": "chmod it too"},
        {"content": "evil"},
        {"content": "dos"},
        {"newString": "evil"},
        {"oldString": "two"},
        {"oldString": "one", "newString": "dos"},
        {"old_string": "two", "new_string": "evil"},
        {"oldString": "o", "newString": "o", "replaceAll": True},
        {"diff": PATCH.replace("+dos", "+dos\n+evil")},
        {"diff": PATCH.replace("-two\n", "")},
        {"diff": f"{PATCH}--- b\n+++ b\n@@ -1 +1 @@\n-x\n+evil\n"},
        {"diff": PATCH[PATCH.index("@@") :].replace("@@ -1,3", "@@ -9 +9 @@\n-x\n+evil\n@@ -1,3")},
        {"diff": "evil"},
        {"diff": PATCH.replace("-two\n+dos\n     three\n", "+dos\n     three\n-two\n")},
        {"diff": PATCH.replace(" one\n-two\n+dos\n", "-two\n+dos\n one\n")},
        {"diff": PATCH.replace("+dos", "+  dos")},
        {"diff": PATCH.replace("-1,3 +1,3", "-2,3 +2,3")},
    ],
    ids=str,
)
async def test_a_text_that_differs_from_its_diff_is_shown_and_asked(
    world: World,
    raw: dict[str, object],
) -> None:
    file = world.folder / "a.txt"
    file.write_text(OLD_TEXT)
    async with world.daemon() as rig:
        step = along(change(file, OLD_TEXT, NEW_TEXT), filePath=str(file), **raw)
        started = await rig.start(script(step), policy=Policy.TRUSTED)
        gate = await opened(rig)
        assert gate.state == "open"
        assert all(json.dumps(value) in gate.detail and key in gate.warning for key, value in raw.items())
        await answer(rig, gate, NO)
        await rig.ended(started.turn)


@pytest.mark.parametrize(
    "raw",
    [
        {"content": NEW_TEXT},
        {"oldString": "two", "newString": "dos"},
        {"old_string": "two", "new_string": "dos", "replace_all": True},
        {"oldString": OLD_TEXT, "newString": NEW_TEXT, "replaceAll": False},
        {"diff": PATCH},
        {"diff": PATCH[PATCH.index("@@") :]},
        {"old_string": "two", "new_string": "dos", "mode": "replace"},
    ],
    ids=str,
)
@pytest.mark.parametrize("piece", [False, True], ids=["whole", "piece"])
async def test_a_text_that_matches_its_diff_is_not_asked(
    world: World,
    raw: dict[str, object],
    piece: bool,
) -> None:
    file = world.folder / "a.txt"
    file.write_text(OLD_TEXT)
    async with world.daemon() as rig:
        plain = change(file, "two", "dos") if piece else change(file, OLD_TEXT, NEW_TEXT)
        started = await rig.start(script(along(plain, filePath=str(file), **raw)), policy=Policy.TRUSTED)
        assert (await rig.ended(started.turn)).text == "[yes]"


@pytest.mark.parametrize("told", ["content", "locations", "nothing"])
async def test_a_change_that_differs_from_its_announcement_is_asked(world: World, told: str) -> None:
    """The agent may do what it announced or what it asked; a deny rule sees both."""
    file, other = world.folder / "a.txt", world.folder / "hooks.txt"
    plain = {"toolCallId": "call", "kind": "edit", "title": "edit"}
    first = {"type": "diff", "path": str(other), "oldText": None, "newText": "evil"}
    second = {"type": "diff", "path": str(file), "oldText": None, "newText": "good"}
    announced: dict[str, Any] = {**plain, "content": [first]}
    asking: dict[str, Any] = {**plain, "content": [second] if told != "nothing" else []}
    if told == "locations":
        announced = {**plain, "content": [second], "locations": [{"path": str(other)}]}
        asking["locations"] = [{"path": str(file)}]
    if told == "nothing":
        asking["locations"] = [{"path": str(file)}]
    async with world.daemon() as rig:
        await allow(rig, "**", RuleKind.CHANGE)
        steps = (("announce", announced), ("permit", asking))
        started = await rig.start(script(*steps), policy=Policy.TRUSTED)
        gate = await opened(rig)
        assert (gate.state, gate.rule) == ("open", None)
        assert str(other) in gate.title and str(file) in gate.title and str(other) in gate.detail
        assert told == "locations" or "evil" in gate.detail
        assert "announced" in gate.warning
        await answer(rig, gate, NO)
        await rig.ended(started.turn)
        await allow(rig, "hooks.txt", RuleKind.CHANGE, Effect.DENY)
        again = await rig.start(script(*steps), policy=Policy.TRUSTED)
        await rig.ended(again.turn)
        assert [each.decision for each in await gates(rig, again.thread)] == ["decline"]


async def test_a_change_that_matches_its_announcement_is_not_asked(world: World) -> None:
    file = world.folder / "a.txt"
    step = change(file, None, "good")
    assert isinstance(step[1], dict)
    call = {**step[1], "locations": [{"path": str(file)}]}
    bare = {key: value for key, value in call.items() if key not in ("content", "locations")}
    async with world.daemon() as rig:
        for announced, asked in ((call, call), (bare, call), (call, bare)):
            started = await rig.start(script(("announce", announced), ("permit", asked)), policy=Policy.TRUSTED)
            assert (await rig.ended(started.turn)).text == "[told][yes]"


async def test_several_changes_of_one_file_are_shown_and_asked(world: World) -> None:
    """Each diff is shown against the file as it is, not as it is after the previous one."""
    file = world.folder / "a.txt"
    file.write_text("one\n")
    (world.folder / "same.txt").symlink_to(file)
    parts = [
        {"type": "diff", "path": str(file), "oldText": "one", "newText": "two"},
        {"type": "diff", "path": str(world.folder / "same.txt"), "oldText": "two", "newText": "evil"},
    ]
    async with world.daemon() as rig:
        call = {"toolCallId": "call", "kind": "edit", "title": "edit", "content": parts}
        started = await rig.start(script(("permit", call)), policy=Policy.TRUSTED)
        gate = await opened(rig)
        assert gate.state == "open" and "more than once" in gate.warning
        await answer(rig, gate, NO)
        await rig.ended(started.turn)


@pytest.mark.parametrize("kind", ["delete", "move"])
async def test_a_deletion_is_shown_and_asked_where_edits_are_allowed(world: World, kind: str) -> None:
    """Either of its two messages may say so."""
    (world.folder / "src").mkdir()
    file = str(world.folder / "src/a.py")
    edit = {"toolCallId": "a", "kind": "edit", "title": "x", "rawInput": {"path": file}}
    gone = {**edit, "toolCallId": "b", "kind": kind}
    announced = {**edit, "toolCallId": "c", "kind": kind}
    async with world.daemon() as rig:
        await allow(rig, "src/…", RuleKind.CHANGE)
        steps = (("permit", edit), ("permit", gone), ("announce", announced), ("permit", {**edit, "toolCallId": "c"}))
        said = await rig.say(script(*steps))
        for number in (2, 3):
            gate = await opened(rig, number)
            assert gate.state == "open" and permissions.REMOVES in gate.detail and gate.rule is None
            await answer(rig, gate, NO)
        assert (await rig.ended(said.turn)).text == "[told][no]"
        assert [gate.decision for gate in await gates(rig, said.thread)] == ["accept", "decline", "decline"]


# Calls without a command


@pytest.mark.parametrize("raw", [None, {}, {"code": "import os"}, {"command": ["ls", 7]}, {"command": " "}, "ls"])
async def test_a_call_without_a_command_is_not_judged_by_its_title(
    world: World,
    raw: object,
) -> None:
    ask = {"toolCallId": "call", "kind": "execute", "title": "ls -la", "rawInput": raw}
    async with world.daemon() as rig:
        await allow(rig, "ls *")
        await allow(rig, "*", RuleKind.TOOL)
        said = await rig.say(script(("permit", ask), run("ls -la")))
        gate = await opened(rig)
        assert (gate.state, gate.kind) == ("open", "permission") and gate.title.endswith("it calls it: ls -la")
        assert not raw or json.dumps(raw if isinstance(raw, dict) else {"rawInput": raw}) in gate.detail
        await answer(rig, gate, NO)
        await rig.ended(said.turn)


async def test_a_path_that_looks_like_clews_text_hides_no_title(world: World) -> None:
    path = say("approvals.unshown_command_called", name="ls")
    call = {"toolCallId": "call", "kind": "edit", "title": "why", "locations": [{"path": str(path)}]}
    async with world.daemon() as rig:
        said = await rig.say(script(("permit", call)))
        gate = await opened(rig)
        assert (gate.kind, gate.title, gate.detail) == ("change", path, "The agent says, unchecked:\n| why")
        await answer(rig, gate, NO)
        await rig.ended(said.turn)


async def test_computing_a_diff_does_not_block_the_event_loop(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    made_in: list[threading.Thread] = []
    diff = file_changes.diff

    def noted(path: str, old: str | None, new: str) -> str:
        made_in.append(threading.current_thread())
        return diff(path, old, new)

    monkeypatch.setattr(file_changes, "diff", noted)
    async with world.daemon() as rig:
        said = await rig.say(script(put(world.folder / "a.txt", "x")))
        await answer(rig, await opened(rig), NO)
        await rig.ended(said.turn)
    assert made_in and threading.main_thread() not in made_in


async def test_a_rule_for_a_tool_does_not_believe_a_title(world: World) -> None:
    """A model writes the title. Only a deny rule may use it."""
    one = {"toolCallId": "a", "kind": "other", "title": "github.list", "rawInput": {"repository": "mine"}}
    other = {"toolCallId": "b", "kind": "other", "title": "github.list", "rawInput": {"repository": "yours"}}
    denied = {"toolCallId": "c", "kind": "fetch", "title": "web.fetch", "rawInput": {"url": "x"}}
    async with world.daemon() as rig:
        await allow(rig, "github.*", RuleKind.TOOL)
        await allow(rig, "web.*", RuleKind.TOOL, Effect.DENY)
        asks = [one, {**one, "toolCallId": "d"}, other, denied]
        said = await rig.say(script(*(("permit", each) for each in asks)))
        gate = await opened(rig)
        assert (gate.state, gate.kind, gate.rule) == ("open", "permission", None) and '"mine"' in gate.detail
        await answer(rig, gate, IN_THREAD)
        third = await opened(rig, 3)
        assert third.state == "open" and '"yours"' in third.detail
        await answer(rig, third, NO)
        assert (await rig.ended(said.turn)).text == "[yes][yes][no][no]"


async def test_a_choice_of_the_agents_own_shows_what_it_is_about(world: World) -> None:
    """If the options are not yes and no, a person picks one and sees the folder and environment."""
    async with world.daemon("two-yeses") as rig:
        said = await rig.say(script(permit("make", cwd="/etc", env={"A": "1"})))
        gate = await opened(rig)
        [question] = gate.questions
        assert (gate.kind, gate.about, gate.title, gate.folder) == ("question", "command", "export A=1; make", "/etc")
        assert question.options == ("Once", "No", "Also once")
        await rig.hasten()
        await rig.until(lambda entry: entry.kind == "delivery.sent")
        card = rig.room.texts[-1]
        assert "asks to run a command" in card and "```\nexport A=1; make\n```\nin `/etc`" in card
        assert "1. Once\n2. No\n3. Also once" in card
        assert request_lines(gate)[-6:-3] == ["  in /etc", "    export A=1; make", f"  {WHICH}"]
        await rig.engine.gates.answer(gate.code, AnswerGate(Decision.REPLY, replies=(("No",),)))
        assert (await rig.ended(said.turn)).text == "[no]"


async def test_a_command_with_other_choices_than_yes_and_no_is_denied_by_rules_and_never_allowed(world: World) -> None:
    async with world.daemon("two-yeses") as rig:
        await allow(rig, "git push", effect=Effect.DENY)
        await allow(rig, "make *")
        said = await rig.say(script(permit("git push"), permit("make", "b")))
        second = await opened(rig, 2)
        assert (second.state, second.title) == ("open", "make")
        await rig.engine.gates.answer(second.code, AnswerGate(Decision.REPLY, replies=(("Once",),)))
        assert (await rig.ended(said.turn)).text == "[no][yes]"


@pytest.mark.parametrize("policy", [Policy.READ_ONLY, Policy.YOLO])
async def test_a_policy_denies_a_command_with_other_choices_and_never_allows_it(world: World, policy: Policy) -> None:
    async with world.daemon("two-yeses") as rig:
        said = await rig.start(script(permit("make")), policy=policy)
        gate = await opened(rig)
        if policy is Policy.YOLO:
            assert gate.state == "open"
            await rig.engine.gates.answer(gate.code, AnswerGate(Decision.REPLY, replies=(("No",),)))
        else:
            assert gate.decision == "decline"
        assert (await rig.ended(said.turn)).text == "[no]"


@pytest.mark.parametrize("argv", [["PATH=/usr/bin", "git", "status"], ["X=./y", "cat"], ["time", "ls"]], ids=str)
async def test_a_program_named_like_a_word_of_the_shell_is_shown_in_quotes(world: World, argv: list[str]) -> None:
    """Otherwise the card would show a shell line that runs something else."""
    async with world.daemon() as rig:
        await rig.say(script(permit(argv)))
        gate = await opened(rig)
        assert gate.title == f"'{argv[0]}' {' '.join(argv[1:])}"
        await answer(rig, gate, NO)


# The tool that a call names beside its arguments


def tool(name: str, id: str, kind: str = "other", **arguments: object) -> tuple[str, object]:
    raw = {"tool": name, "arguments": arguments}
    return "permit", {"toolCallId": id, "kind": kind, "title": "gateway", "rawInput": raw}


HERMES = Quirks(edit_tools=KNOWN["hermes"].quirks.edit_tools)


@pytest.mark.parametrize("quirks", [Quirks(), HERMES], ids=["any agent", "hermes"])
async def test_a_tool_beside_its_arguments_is_shown_and_a_yes_is_for_that_tool(world: World, quirks: Quirks) -> None:
    async with world.daemon(quirks=quirks) as rig:
        named = (("get_repo", "a"), ("get_repo", "b"), ("delete_repo", "c"))
        asks = [tool(each, id, repository="prod") for each, id in named]
        said = await rig.say(script(*asks))
        first = await opened(rig)
        assert '"tool": "get_repo"' in first.detail
        await answer(rig, first, IN_THREAD)
        third = await opened(rig, 3)
        assert third.state == "open" and '"tool": "delete_repo"' in third.detail
        await answer(rig, third, NO)
        assert (await rig.ended(said.turn)).text == "[yes][yes][no]"


@pytest.mark.parametrize("quirks", [Quirks(), HERMES], ids=["any agent", "hermes"])
@pytest.mark.parametrize("name", ["run_on_production", "terminal", "write_file"])
async def test_a_command_of_a_named_tool_is_not_taken_for_one_of_the_shell(
    world: World, quirks: Quirks, name: str
) -> None:
    async with world.daemon(quirks=quirks) as rig:
        await allow(rig, "ls *")
        said = await rig.say(script(tool(name, "a", "execute", command="ls")))
        gate = await opened(rig)
        assert (gate.state, gate.rule) == ("open", None) and f'"tool": "{name}"' in gate.detail
        await answer(rig, gate, NO)
        await rig.ended(said.turn)


@pytest.mark.parametrize(
    ("quirks", "name", "is_allowed"),
    [(Quirks(), "write_file", False), (HERMES, "publish_file", False), (HERMES, "write_file", True)],
    ids=["any agent", "hermes, another tool", "hermes"],
)
async def test_a_rule_for_files_allows_only_the_agents_own_edit_tools(
    world: World, quirks: Quirks, name: str, is_allowed: bool
) -> None:
    """Only Hermes names its tools like that, so `write_file` of another agent may be anything."""
    async with world.daemon(quirks=quirks) as rig:
        await allow(rig, "src/**", RuleKind.CHANGE)
        said = await rig.say(script(tool(name, "a", "edit", path="src/x")))
        gate = await opened(rig)
        assert f'"tool": "{name}"' in gate.detail and (gate.state == "open") is not is_allowed
        if not is_allowed:
            await answer(rig, gate, NO)
        assert (await rig.ended(said.turn)).text == ("[yes]" if is_allowed else "[no]")


async def test_a_tool_that_differs_from_its_announcement_is_asked(world: World) -> None:
    async with world.daemon(quirks=HERMES) as rig:
        await allow(rig, "**", RuleKind.CHANGE)
        _, announced = tool("patch", "a", "edit", path="x")
        said = await rig.say(script(("announce", announced), tool("write_file", "a", "edit", path="x")))
        gate = await opened(rig)
        assert gate.state == "open" and "announced with another tool" in gate.warning and '"patch"' in gate.detail
        await answer(rig, gate, NO)
        await rig.ended(said.turn)


@pytest.mark.parametrize("kind", ["execute", "fetch", "other", None])
async def test_a_call_that_shows_only_a_title_is_allowed_for_once(world: World, kind: str | None) -> None:
    """Its model may have written the title, so the next call with that title may do something else."""
    asks = [("permit", {"toolCallId": id, "kind": kind, "title": "run the tests"}) for id in ("a", "b")]
    async with world.daemon() as rig:
        said = await rig.say(script(*asks))
        first = await opened(rig)
        assert first.only_once and "allow it in this thread from now on" not in first.options
        assert [line.split("  ")[1] for line in command_hints(first)] == [
            f"clew {command}"
            for command in (f"approve {first.code}", f"deny {first.code}", f"deny {first.code} --stop")
        ]
        with pytest.raises(BadInput):
            await answer(rig, first, IN_THREAD)
        exact = NewRule(RuleKind.EXACT, exact_pattern(await stored(rig, first)), Scope.EVERYWHERE)
        await rig.store.write(lambda tx: make_rule(tx, rig.engine._core, exact, "", "an older version"))
        await answer(rig, first, YES)
        second = await opened(rig, 2)
        assert second.state == "open"
        await answer(rig, second, NO)
        assert (await rig.ended(said.turn)).text == "[yes][no]"


@pytest.mark.parametrize("shown", [True, False])
async def test_an_unsent_yes_is_used_only_for_a_call_that_was_shown(world: World, shown: bool) -> None:
    raw = {"rawInput": {"command": "make"}} if shown else {}
    ask = ("permit", {"toolCallId": "a", "kind": "execute", "title": "make", **raw})
    async with world.daemon() as rig:
        await rig.say(script(ask))
        rig.hold_answers()
        await answer(rig, await opened(rig), YES)
        await rig.kill()
    await world.runtimes[0].close()
    async with world.daemon() as rig:
        again = await opened(rig)
        assert (again.state == "open") is not shown
        if not shown:
            await answer(rig, again, NO)
        await rig.ended(again.turn)


async def stored(rig: Rig, gate: GateView) -> Asked:
    found = await rig.store.read(lambda tx: rows.get(tx, gate.id))
    assert found is not None
    return found.asked


@pytest.mark.parametrize("more", [{"rawInput": {"path": "x"}}, {"locations": [{"path": "x"}]}], ids=str)
async def test_a_yes_for_this_thread_to_a_change_without_a_diff_is_for_one_tool(
    world: World, more: dict[str, object]
) -> None:
    """Only the title says which tool it is."""
    asks = [
        ("permit", {"toolCallId": id, "kind": "edit", "title": title, **more})
        for id, title in (("a", "format_file"), ("b", "format_file"), ("c", "clear_file"))
    ]
    async with world.daemon() as rig:
        said = await rig.say(script(*asks))
        first = await opened(rig)
        assert "| format_file" in first.detail and first.reason == "", "it is shown once"
        await answer(rig, first, IN_THREAD)
        third = await opened(rig, 3)
        assert third.state == "open" and "| clear_file" in third.detail
        await answer(rig, third, NO)
        assert (await rig.ended(said.turn)).text == "[yes][yes][no]"


# The options of a request


@pytest.mark.parametrize(
    ("kinds", "yes", "no"),
    [
        ({"allow_once": "a", "allow_always": "b", "reject_once": "c"}, "a", "c"),
        ({"allow_once": "a", "reject_once": "a"}, None, None),
        ({"allow_once": "a", "allow_always": "a", "reject_once": "c"}, None, "c"),
        ({"allow_once": "a", "allow_always": "c", "reject_always": "c"}, "a", None),
    ],
)
def test_an_id_of_two_options_is_not_sent_for_one_of_them(
    kinds: dict[str, str], yes: str | None, no: str | None
) -> None:
    """The agent may take it for the other one."""
    options = tuple(Option(id, kind, kind) for kind, id in kinds.items())

    def sent(decision: Decision) -> object:
        outcome: Any = permissions.to_response(options, Answer(decision))["outcome"]
        return outcome.get("optionId")

    assert sent(Decision.DECLINE) == no
    if yes is None:
        with pytest.raises(BadInput):
            sent(Decision.ACCEPT)
    else:
        assert sent(Decision.ACCEPT) == yes
