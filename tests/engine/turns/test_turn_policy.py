"""Under the policy `sandbox` a turn is careful if the runtime has no sandbox, or if a rule could not see inside it."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from clew.config.settings import Config, ThreadsConfig
from clew.model.gates import Effect, Policy, Rule, RuleKind, Scope
from clew.model.runtime import Seat, Session
from clew.model.surface import SurfaceCan
from clew.model.threads import ThreadKind
from clew.store.tables import rules
from clew.testing.scripted_runtime import ScriptedRuntime
from clew.testing.scripted_runtime.session import ScriptedSession
from tests.helpers.rig import Rig, Room

SANDBOXED = Config(threads=ThreadsConfig(runtime="scripted", policy="sandbox"))
AFTER, NEVER = 2**47, 1  # milliseconds: a rule until then applies, or has expired


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Policy]:
    """The policies that sessions are opened with, or get later."""
    found: list[Policy] = []
    real, real_reseat = ScriptedRuntime.open, ScriptedSession.reseat

    async def noted(self: ScriptedRuntime, seat: Seat) -> Session:
        found.append(seat.policy)
        return await real(self, seat)

    async def noted_later(self: ScriptedSession, seat: Seat) -> None:
        found.append(seat.policy)
        await real_reseat(self, seat)

    monkeypatch.setattr(ScriptedRuntime, "open", noted)
    monkeypatch.setattr(ScriptedSession, "reseat", noted_later)
    return found


def with_sandbox(folder: Path, *, outlives: bool = False) -> Rig:
    rig = Rig(folder, config=SANDBOXED, outlives=outlives)
    rig.scripted.can = replace(rig.scripted.can, sandbox=True)
    return rig


async def add(rig: Rig, effect: Effect, scope: Scope, place: str, kind: RuleKind, until: int | None = None) -> None:
    pattern = {RuleKind.COMMAND: "git push *", RuleKind.CHANGE: "docs/**", RuleKind.EXACT: "0" * 64}.get(kind, "x.*")
    rule = Rule("RULE", effect, kind, pattern, scope, place, rig.clock.now(), until)
    await rig.store.write(lambda tx: rules.insert(tx, rule))


def told(rig: Rig) -> list[str]:
    return [str(entry.data["text"]) for entry in rig._entries if entry.kind == "notice"]


async def run(rig: Rig, thread: str) -> None:
    await rig.ended((await rig.send(thread, "!text again")).turn)


async def test_a_turn_runs_in_the_sandbox_and_nobody_is_told(tmp_path: Path, opened: list[Policy]) -> None:
    async with with_sandbox(tmp_path) as rig:
        said = await rig.say("!text one")
        await rig.ended(said.turn)
        await run(rig, said.thread or "")
        assert (opened, told(rig)) == ([Policy.SANDBOX], [])


async def test_without_a_sandbox_a_turn_is_careful_and_people_are_told_once(
    tmp_path: Path, opened: list[Policy]
) -> None:
    async with Rig(tmp_path, config=SANDBOXED) as rig:
        said = await rig.say("!text one")
        await rig.ended(said.turn)
        await rig.until(lambda entry: entry.kind == "delivery.sent" and "policy" in str(entry.data))
        await run(rig, said.thread or "")
        other = await rig.say("!text two", room="b")
        await rig.ended(other.turn)
        assert other.thread != said.thread
        [notice] = told(rig)
    async with Rig(tmp_path, config=SANDBOXED) as later:
        await run(later, said.thread or "")
        assert (opened, told(later)) == ([Policy.CAREFUL] * 3, [])
    assert notice.startswith("scripted has no sandbox, so the policy `sandbox` means `careful` here")
    assert [text for text in rig.room.texts if "sandbox" in text] == [notice]


async def test_a_chinese_chat_is_told_in_chinese(tmp_path: Path) -> None:
    async with Rig(tmp_path, config=SANDBOXED, room=Room(SurfaceCan(chat=True))) as rig:
        await rig.allow("7")
        await rig.ended((await rig.say("你好\n!text 好", sender_id="7")).turn)
        await rig.until(lambda entry: entry.kind == "delivery.sent" and "policy" in str(entry.data))
    assert any("scripted 没有沙箱" in text for text in rig.room.texts)


@pytest.mark.parametrize("scope", list(Scope))
@pytest.mark.parametrize(
    ("effect", "kind"),
    [
        (Effect.DENY, RuleKind.COMMAND),
        (Effect.ASK, RuleKind.COMMAND),
        (Effect.DENY, RuleKind.CHANGE),
        (Effect.ASK, RuleKind.CHANGE),
        (Effect.DENY, RuleKind.EXACT),
    ],
)
async def test_while_a_rule_denies_or_asks_the_next_turn_is_careful(
    tmp_path: Path, opened: list[Policy], scope: Scope, effect: Effect, kind: RuleKind
) -> None:
    async with with_sandbox(tmp_path) as rig:
        said = await rig.start("!text one", kind=ThreadKind.CHAT)
        thread = said.thread or ""
        await rig.ended(said.turn)
        place = {Scope.THREAD: thread, Scope.WORKSPACE: str(tmp_path)}.get(scope, "")
        await add(rig, effect, scope, place, kind, AFTER)
        await run(rig, thread)
        await run(rig, thread)
        assert opened == [Policy.SANDBOX, Policy.CAREFUL]
        [notice] = told(rig)
        assert notice.startswith("The sandbox is off here, because no rule sees into it: the rule `")
        assert "(RULE)" in notice
        await rig.store.write(lambda tx: rules.remove(tx, "RULE"))
        await run(rig, thread)
        assert opened == [Policy.SANDBOX, Policy.CAREFUL, Policy.SANDBOX]
        assert told(rig)[1:] == ["No rule denies or asks here any more, so commands run in the agent's sandbox again."]


async def test_a_rule_that_cannot_be_read_might_deny_so_the_turn_is_careful(
    tmp_path: Path, opened: list[Policy]
) -> None:
    async with with_sandbox(tmp_path) as rig:
        await add(rig, Effect.ALLOW, Scope.EVERYWHERE, "", RuleKind.COMMAND, until=2**60)
        await rig.ended((await rig.start("!text one")).turn)
        assert opened == [Policy.CAREFUL]
        assert "rule RULE cannot be read" in told(rig)[0]


@pytest.mark.parametrize(
    ("effect", "scope", "place", "kind", "until"),
    [
        (Effect.ALLOW, Scope.EVERYWHERE, "", RuleKind.COMMAND, None),
        (Effect.DENY, Scope.EVERYWHERE, "", RuleKind.TOOL, None),
        (Effect.DENY, Scope.EVERYWHERE, "", RuleKind.COMMAND, NEVER),
        (Effect.DENY, Scope.WORKSPACE, "/elsewhere", RuleKind.COMMAND, None),
        (Effect.DENY, Scope.THREAD, "another", RuleKind.CHANGE, None),
    ],
    ids=["allow", "tool", "expired", "other workspace", "other thread"],
)
async def test_other_rules_leave_the_sandbox_in_place(
    tmp_path: Path, opened: list[Policy], effect: Effect, scope: Scope, place: str, kind: RuleKind, until: int | None
) -> None:
    async with with_sandbox(tmp_path) as rig:
        await add(rig, effect, scope, place, kind, until)
        await rig.ended((await rig.start("!text one")).turn)
        assert (opened, told(rig)) == ([Policy.SANDBOX], [])


@pytest.mark.parametrize("policy", [Policy.TRUSTED, Policy.READ_ONLY, Policy.YOLO, Policy.CAREFUL])
async def test_a_rule_changes_no_other_policy(tmp_path: Path, opened: list[Policy], policy: Policy) -> None:
    async with with_sandbox(tmp_path) as rig:
        await add(rig, Effect.DENY, Scope.EVERYWHERE, "", RuleKind.COMMAND)
        await rig.ended((await rig.start("!text one", policy=policy)).turn)
        assert (opened, told(rig)) == ([policy], [])


async def test_a_turn_is_joined_again_under_the_policy_that_it_runs_under(tmp_path: Path, opened: list[Policy]) -> None:
    """Otherwise a request to leave the sandbox would look like one without a sandbox."""
    async with with_sandbox(tmp_path, outlives=True) as rig:
        said = await rig.start("!hold here\n!text one", kind=ThreadKind.CHAT)
        await rig.held("here")
        await add(rig, Effect.DENY, Scope.EVERYWHERE, "", RuleKind.COMMAND)
    async with with_sandbox(tmp_path, outlives=True) as later:
        later.scripted.holds.release("here")
        await later.ended(said.turn)
        assert opened == [Policy.SANDBOX, Policy.SANDBOX]
        await run(later, said.thread or "")
        assert opened[2:] == [Policy.CAREFUL]
        assert len(told(later)) == 1


async def test_a_thread_shows_the_policy_that_holds_and_why_it_is_not_its_own(tmp_path: Path) -> None:
    async with Rig(tmp_path / "without", config=SANDBOXED) as rig:
        said = await rig.say("!text one")
        await rig.ended(said.turn)
        view = await rig.engine.threads.get(said.thread or "")
        assert (view.policy, view.policy_now) == ("sandbox", "careful")
        assert (view.policy_reason or "").startswith("scripted has no sandbox") and "policy_reason" in view.texts
    async with with_sandbox(tmp_path / "with") as rig:
        said = await rig.say("!text one")
        await rig.ended(said.turn)
        view = await rig.engine.threads.get(said.thread or "")
        assert (view.policy, view.policy_now, view.policy_reason) == ("sandbox", None, None)
        await add(rig, Effect.DENY, Scope.EVERYWHERE, "", RuleKind.COMMAND)
        view = await rig.engine.threads.get(said.thread or "")
        assert view.policy_now == "careful" and "no rule sees into it" in (view.policy_reason or "")
