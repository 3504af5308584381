"""Chat commands that change settings: who may, what holds from when, and what everybody sees of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from clew.config.settings import Config, ThreadsConfig
from clew.model.gates import Effect, Policy, Rule, RuleKind, Scope
from clew.model.messages import Accepted, Fate, Person, Role
from clew.model.runtime import ModelInfo, Seat, Session
from clew.model.surface import SurfaceCan
from clew.model.threads import ThreadSettings
from clew.store import Tx
from clew.store.tables import people, rules
from clew.support.clock import SystemClock
from clew.support.errors import RuntimeTrouble
from clew.testing.scripted_runtime import FileLedger, ScriptedRuntime
from tests.helpers.rig import Rig, Room

MODELS = (ModelInfo("large", "Large", ("low", "high"), is_default=True), ModelInfo("小模型"), ModelInfo("x" * 80))


def admit(tx: Tx) -> None:
    for role in Role:
        people.add(tx, Person("room", str(role), str(role), role, 0, "test"))


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    config = Config(threads=ThreadsConfig(runtime="scripted"))
    async with Rig(tmp_path, room=Room(can=SurfaceCan(chat=True, buttons=8)), config=config) as rig:
        await rig.store.write(admit)
        rig.scripted.offers = MODELS
        yield rig


async def say(rig: Rig, text: str, role: Role = Role.OWNER, **more: object) -> Accepted:
    return await rig.say(text, sender_id=str(role), **more)  # type: ignore[arg-type]


async def words(rig: Rig, text: str, role: Role = Role.OWNER, fate: Fate = Fate.COMMAND, **more: object) -> str:
    accepted = await say(rig, text, role, **more)
    assert accepted.fate is fate, accepted
    return accepted.words


async def seat(rig: Rig, thread: str | None) -> Seat:
    return (await rig.scripted_session(thread)).seat  # type: ignore[attr-defined, no-any-return]


async def test_settings_of_a_thread_hold_from_its_next_turn(rig: Rig) -> None:
    first = await say(rig, "!hold door\n!text one")
    await rig.held("door")
    assert "model=large" in await words(rig, "/model large")
    assert "effort=high" in await words(rig, "/强度 high")
    await words(rig, "/policy trusted")
    running = await seat(rig, first.thread)
    assert (running.model, running.effort, running.policy) == (None, None, Policy.CAREFUL)
    rig.scripted.holds.release("door")
    await rig.ended(first.turn)
    second = await say(rig, "!text two")
    await rig.ended(second.turn)
    assert second.thread == first.thread
    now = await seat(rig, first.thread)
    assert (now.model, now.effort, now.policy) == ("large", "high", Policy.TRUSTED)
    view = await rig.engine.threads.get(first.thread or "")
    assert (view.model, view.effort, view.policy) == ("large", "high", "trusted")


async def test_a_change_is_logged_with_its_author_and_the_former_policy(rig: Rig) -> None:
    said = await say(rig, "!text one")
    await words(rig, "/policy read-only", Role.DRIVER)
    entry = await rig.saw("thread.settings", said.thread)
    assert (
        entry.data["policy"] == "read-only" and entry.data["former_policy"] == "careful" and entry.data["by"] == "ann"
    )


@pytest.mark.parametrize("in_group", [False, True])
@pytest.mark.parametrize("wanted", ["trusted", "yolo", "YOLO"])
async def test_only_an_owner_loosens_the_policy(rig: Rig, wanted: str, in_group: bool) -> None:
    said = await say(rig, "!text one")
    for text, pressed in ((f"/policy {wanted}", False), (f"/策略 {wanted}", False), (f"/policy {wanted}", True)):
        quoted = "message-1" if pressed else None
        refused = await say(rig, text, Role.DRIVER, in_group=in_group, pressed=pressed, quoted=quoted)
        assert refused.fate is Fate.REFUSED
        assert "Only an owner may loosen the policy" in refused.words or "只有所有者可以放宽策略" in refused.words
    assert (await rig.engine.threads.get(said.thread or "")).policy == "careful"
    await words(rig, f"/policy {wanted}", in_group=in_group)
    assert (await rig.engine.threads.get(said.thread or "")).policy == wanted.lower()


async def test_a_driver_may_tighten_and_not_go_back(rig: Rig) -> None:
    said = await say(rig, "!text one")
    await words(rig, "/policy read-only", Role.DRIVER)
    await words(rig, "/policy careful", Role.DRIVER, Fate.REFUSED)
    assert (await rig.engine.threads.get(said.thread or "")).policy == "read-only"


async def test_only_an_owner_loosens_the_policy_of_the_next_thread(rig: Rig) -> None:
    await words(rig, "/policy trusted", Role.DRIVER, Fate.REFUSED)
    await words(rig, "/policy read-only", Role.DRIVER)
    await words(rig, "/policy careful", Role.DRIVER, Fate.REFUSED)
    await words(rig, "/effort low", Role.DRIVER)
    view = await rig.engine.threads.get((await say(rig, "!text one")).thread or "")
    assert (view.policy, view.effort) == ("read-only", "low")


async def test_a_watcher_looks_at_settings_and_changes_none(rig: Rig) -> None:
    said = await say(rig, "!text one")
    for name, value in (("model", "large"), ("effort", "low"), ("policy", "read-only"), ("rules", "remove 1")):
        await words(rig, f"/{name}", Role.WATCHER)
        assert "You may look on" in await words(rig, f"/{name} {value}", Role.WATCHER, Fate.REFUSED)
    view = await rig.engine.threads.get(said.thread or "")
    assert (view.model, view.effort, view.policy) == (None, None, "careful")


async def test_models_are_offered_as_buttons_and_pressing_one_is_seen_by_all(rig: Rig) -> None:
    said = await say(rig, "!text one")
    asked = await say(rig, "/model", id="m1")
    assert "large, the agent's default" in asked.words and "小模型" in asked.words
    await rig.delivered("m1@room:a:words")
    card = next(sent for sent in rig.room.sent if sent.id == "m1@room:a:words")
    assert [(button.label, button.says) for button in card.buttons] == [
        ("large", "/model large"),
        ("小模型", "/model 小模型"),
    ]
    pressed = await say(rig, "/model 小模型", Role.DRIVER, id="p1", pressed=True, quoted="message-1")
    assert pressed.fate is Fate.COMMAND
    await rig.delivered("p1@room:a:settings")
    notice = next(sent for sent in rig.room.sent if sent.id == "p1@room:a:settings")
    assert "ann changed this thread: model=小模型" in notice.text or "ann 更改了本会话的设置" in notice.text
    assert (await rig.engine.threads.get(said.thread or "")).model == "小模型"


async def test_policies_are_offered_without_yolo_which_must_be_typed(rig: Rig) -> None:
    await say(rig, "!text one")
    await say(rig, "/policy", id="m1")
    await rig.delivered("m1@room:a:words")
    card = next(sent for sent in rig.room.sent if sent.id == "m1@room:a:words")
    assert {button.says for button in card.buttons} == {"/policy sandbox", "/policy trusted", "/policy read-only"}
    assert "yolo" in card.text


async def test_efforts_are_those_of_the_model(rig: Rig) -> None:
    await say(rig, "!text one")
    assert "low, high" in await words(rig, "/effort")
    await words(rig, "/model unheard-of")
    assert "low, medium, high" in await words(rig, "/effort")


async def test_a_runtime_that_cannot_list_its_models_still_takes_a_name(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(self: object) -> tuple[ModelInfo, ...]:
        raise RuntimeTrouble("no")

    monkeypatch.setattr(ScriptedRuntime, "models", fails)
    await say(rig, "!text one")
    assert "the agent's default" in await words(rig, "/model")
    await words(rig, "/model anything-1.5")


@pytest.mark.parametrize("text", ["/policy everything", "/model two words", "/effort \0 \0", "/model " + "x" * 300])
async def test_a_wrong_value_is_refused_with_what_to_do(rig: Rig, text: str) -> None:
    said = await say(rig, "!text one")
    assert await words(rig, text, fate=Fate.REFUSED)
    view = await rig.engine.threads.get(said.thread or "")
    assert (view.model, view.effort, view.policy) == (None, None, "careful")


async def test_a_change_from_elsewhere_is_told_where_the_thread_is_driven(rig: Rig) -> None:
    said = await say(rig, "!text one")
    await rig.ended(said.turn)
    await rig.engine.threads.change(said.thread or "", None, ThreadSettings(policy=Policy.YOLO))
    entry = await rig.until(
        lambda entry: entry.kind == "delivery.sent" and str(entry.data["delivery"]).endswith(":settings")
    )
    assert entry.thread == said.thread
    assert "somebody at the computer changed this thread: policy=yolo" in rig.room.texts[-1]


async def test_who_changed_a_thread_is_named_in_chinese(rig: Rig) -> None:
    said = await say(rig, "你好")
    await rig.ended(said.turn)
    await rig.engine.threads.change(said.thread or "", None, ThreadSettings(policy=Policy.YOLO))
    await rig.until(lambda entry: entry.kind == "delivery.sent" and str(entry.data["delivery"]).endswith(":settings"))
    assert "电脑前的人更改了本会话的设置" in rig.room.texts[-1]


async def test_a_cancelled_thread_takes_no_settings(rig: Rig) -> None:
    said = await say(rig, "!text one")
    await rig.engine.threads.cancel(said.thread or "")
    assert "is cancelled" in await words(rig, "/model large", fate=Fate.REFUSED)


async def put_rule(rig: Rig, effect: Effect, pattern: str, scope: Scope, place: str, until: int | None = None) -> str:
    rule = Rule(rig.clock.ulid(), effect, RuleKind.COMMAND, pattern, scope, place, rig.clock.now(), until, "ann")
    await rig.store.write(lambda tx: rules.insert(tx, rule))
    return rule.id


async def test_rules_that_apply_are_listed_and_removed_by_number(rig: Rig, tmp_path: Path) -> None:
    assert "No thread is bound here" in await words(rig, "/rules", fate=Fate.REFUSED)
    said = await say(rig, "!text one")
    assert "No rule applies here" in await words(rig, "/rules")
    await put_rule(rig, Effect.ALLOW, "pytest *", Scope.THREAD, said.thread or "")
    await put_rule(rig, Effect.DENY, "git push *", Scope.WORKSPACE, str(tmp_path))
    await put_rule(rig, Effect.ALLOW, "ls *", Scope.WORKSPACE, "/elsewhere")
    await put_rule(rig, Effect.ALLOW, "old *", Scope.EVERYWHERE, "", until=1)
    lines = (await words(rig, "/rules")).splitlines()
    assert lines[0].startswith("1. allow: the command") and "pytest" in lines[0]
    assert lines[1].startswith("2. deny: the command") and "git push" in lines[1] and len(lines) == 3
    assert "本目录" in await words(rig, "/规则")
    for text in ("/rules remove 3", "/rules remove 0", "/rules remove", "/rules 1", "/rules remove 1 2"):
        await words(rig, text, fate=Fate.REFUSED)
    assert "只有所有者可以删除" in await words(rig, "/rules remove 2", Role.DRIVER, Fate.REFUSED)
    assert "pytest" in await words(rig, "/rules remove 1", Role.DRIVER)
    assert "git push" in await words(rig, "/规则 删除 1")
    assert "这里没有规则" in await words(rig, "/rules")


async def test_a_rule_is_removed_by_the_end_of_its_id(rig: Rig) -> None:
    said = await say(rig, "!text one")
    first = await put_rule(rig, Effect.ALLOW, "a *", Scope.THREAD, said.thread or "")
    await put_rule(rig, Effect.ALLOW, "b *", Scope.THREAD, said.thread or "")
    await words(rig, f"/rules remove {first[-6:].lower()}")
    left = await rig.store.read(rules.all_rules)
    assert [rule.pattern for rule in left] == ["b *"]


async def test_folders_are_listed_and_chosen_by_number_or_relative_path(rig: Rig, tmp_path: Path) -> None:
    below = tmp_path / "工作" / "src"
    below.mkdir(parents=True)
    await words(rig, "/dir 工作/src")
    first = await say(rig, "!text one")
    assert (await rig.engine.threads.get(first.thread or "")).workspace == str(below)
    listed = await words(rig, "/dir")
    assert f"1. {below}" in listed or f"1. `{below}`" in listed
    await words(rig, "/dir ..")
    await words(rig, "/new")
    second = await say(rig, "!text two")
    assert (await rig.engine.threads.get(second.thread or "")).workspace == str(below.parent)
    await words(rig, "/dir 2")
    await words(rig, "/new")
    third = await say(rig, "!text three")
    assert (await rig.engine.threads.get(third.thread or "")).workspace == str(below)
    assert "1. " not in await words(rig, "/dir", Role.DRIVER, room="bob")  # other chats' folders are not theirs to see
    await words(rig, f"/dir {below.parent}", Role.DRIVER, room="bob")
    await say(rig, "!text mine", Role.DRIVER, room="bob")
    own = await words(rig, "/dir", Role.DRIVER, room="bob")
    assert "1. " in own and "2. " not in own and below.name not in own
    for text in ("/dir nowhere", "/dir 99", "/dir ../../../../../../nowhere"):
        assert "not a folder" in await words(rig, text, fate=Fate.REFUSED)


class Stubborn(ScriptedRuntime):
    """A plugin runtime whose sessions keep the settings that they were opened with."""

    opened: list[Seat]

    async def open(self, seat: Seat) -> Session:
        self.opened = [*getattr(self, "opened", []), seat]
        session = await super().open(seat)

        class Plain:
            def __getattr__(self, name: str) -> object:
                if name == "reseat":
                    raise AttributeError(name)
                return getattr(session, name)

        return Plain()  # type: ignore[return-value]


async def test_a_session_that_cannot_change_is_opened_again(tmp_path: Path) -> None:
    runtime = Stubborn(SystemClock(), FileLedger(tmp_path / "ledger"))
    room = Room(can=SurfaceCan(chat=True))
    async with Rig(tmp_path, room=room, runtime=runtime) as rig:
        await rig.allow("owner")
        for text in ("!text one", "!text two"):
            await rig.ended((await say(rig, text)).turn)
        assert len(runtime.opened) == 1
        await words(rig, "/model large")
        await rig.ended((await say(rig, "!text three")).turn)
        assert [seat.model for seat in runtime.opened] == [None, "large"]
