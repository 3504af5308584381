"""How agents differ from the protocol, and what clew makes of it. The agent is the program `agent.py`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from clew.model.events import (
    Activity,
    ActivityKind,
    Limits,
    LimitStatus,
    LimitWindow,
    Notice,
    NoticeKind,
    TextDone,
    Usage,
)
from clew.model.gates import Answer, Decision, GateKind, Policy
from clew.model.messages import PromptMessage
from clew.model.runtime import Seat
from clew.model.turns import TurnState
from clew.process.scan import Marks
from clew.runtimes.acp import problems, replay, wire
from clew.runtimes.acp.agents import text_errors
from clew.runtimes.acp.agents.entries import entries
from clew.runtimes.acp.agents.known import KNOWN, Asking, Entry, Quirks, of_program, recognised
from clew.runtimes.acp.agents.settings import AcpConfig, Program
from clew.runtimes.acp.opening import models, modes
from clew.runtimes.acp.runtime import AcpRuntime
from clew.runtimes.acp.turn import silence
from clew.runtimes.acp.turn.ending import end_from_response
from clew.runtimes.acp.turn.live_turn import Live
from clew.runtimes.jsonrpc import RpcError
from clew.support.clock import Clock, SystemClock
from clew.support.errors import RuntimeTrouble
from clew.testing.runtime_stage import PATIENCE, YES
from tests.runtimes.acp.test_runtime import Followed, request, said
from tests.runtimes.codex.raw import collect, ended, only
from tests.runtimes.stages import PipeStage, acp_config, steps

Make = Callable[..., AcpRuntime]
PLAIN = Quirks()
PLAYER = Entry("player", "Player", ("player",))
ASKS = Quirks(asking=Asking("ask", frozenset({"go", "auto"})))


@pytest.fixture
async def make(tmp_path: Path, clock: SystemClock, marks: Marks) -> AsyncIterator[Make]:
    made: list[AcpRuntime] = []

    def runtime(*what: str, quirks: Quirks = PLAIN, clock: Clock = clock, **settings: Any) -> AcpRuntime:
        config = acp_config(tmp_path, *what, **settings)
        made.append(AcpRuntime(replace(PLAYER, command=config.command, quirks=quirks), config, clock, marks))
        return made[-1]

    yield runtime
    for each in made:
        await each.close()


@pytest.fixture
def seat(tmp_path: Path) -> Seat:
    return Seat("thread", str(tmp_path))


# Which agent it is


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (("/usr/lib/hermes/bin/hermes", "acp"), "hermes"),
        (("npx", "-y", "@google/gemini-cli@0.61.0", "--acp"), "gemini"),
        (("claude-code-acp",), "claude-acp"),
        (("npx", "@agentclientprotocol/claude-agent-acp"), "claude-acp"),
        (("opencode", "--profile", "hermes", "acp"), "opencode"),
        (("something", "acp"), None),
    ],
)
def test_an_agent_is_recognised_by_its_program(command: tuple[str, ...], name: str | None) -> None:
    found = of_program(command)
    assert (found.name if found else None) == name


def test_what_an_entry_is_called_says_nothing_about_its_agent() -> None:
    made = entries({"mine": AcpConfig(("hermes", "acp")), "hermes": AcpConfig(("other",)), "gemini": AcpConfig()})
    assert made["mine"][0].quirks is KNOWN["hermes"].quirks and made["mine"][0].title == "mine"
    assert made["hermes"][0].quirks == PLAIN
    assert made["gemini"][0] is KNOWN["gemini"]


def test_the_name_that_an_agent_gives_itself_counts_most() -> None:
    assert recognised(PLAYER, "gemini-cli").quirks is KNOWN["gemini"].quirks
    assert recognised(KNOWN["goose"], "something new") is KNOWN["goose"]
    assert recognised(PLAYER, "") is PLAYER


@pytest.mark.process
async def test_an_agent_of_any_entry_is_known_by_its_own_name(make: Make, seat: Seat) -> None:
    session = await make("name=Copilot").open(seat)
    failed = ended(await collect(session.run(request("!status 429"))))
    assert failed.state is TurnState.FAILED and failed.problem is not None and failed.problem.code == "rate_limit"


@pytest.mark.process
async def test_a_wrapped_agent_is_started_as_the_agent_that_it_is(make: Make, seat: Seat) -> None:
    """Goose takes one thread for each process, and no terminals. Its command does not say that it is Goose."""
    runtime = make("name=goose")
    one, two = await runtime.open(seat), await runtime.open(replace(seat, thread="other"))
    greetings = [ended(await collect(each.run(request("!greeted")))).text for each in (one, two)]
    assert all(msgspec.json.decode(each)["clientCapabilities"]["terminal"] is False for each in greetings)
    assert one._connection is not None and two._connection is not None
    assert one._connection.pid != two._connection.pid


@pytest.mark.process
async def test_an_unknown_agent_is_started_once(make: Make, seat: Seat) -> None:
    session = await make("name=new").open(seat)
    assert msgspec.json.decode(ended(await collect(session.run(request("!greeted")))).text)["folder"] == seat.workspace
    assert session._server.starts == 1


# What people write


def test_only_agents_that_were_tried_get_an_at_sign_as_it_is() -> None:
    left = {name for name, entry in KNOWN.items() if entry.quirks.leaves_at}
    assert left == {"opencode", "codex-acp", "copilot", "qwen", "goose", "kimi"}
    assert not PLAIN.leaves_at


@pytest.mark.process
@pytest.mark.parametrize(("name", "said"), [("new", "see @\u200b/etc/passwd"), ("Copilot", "see @/etc/passwd")])
async def test_an_unknown_agent_is_named_no_file(make: Make, seat: Seat, name: str, said: str) -> None:
    session = await make(f"name={name}").open(seat)
    assert said in ended(await collect(session.run(request("see @/etc/passwd\n!recall")))).text
    steering = await make(f"name={name}", "steers").open(replace(seat, thread="steered"))
    turn, holds = Followed(steering, "!hold here\n!recall"), PipeStage(Path(seat.workspace))
    await holds.wait_held("here")
    assert await steering.steer(PromptMessage("more", "ann", "see @/etc/passwd"))
    holds.release("here")
    assert said in (await turn.end()).text


# Sub-agents


@pytest.mark.process
async def test_what_a_sub_agent_of_claudes_adapter_asks_and_does_is_under_its_call(make: Make, seat: Seat) -> None:
    """The protocol has no sub-agents; that adapter says beside it which call began the one that makes a call."""

    def below(call: str) -> dict[str, object]:
        return {"_meta": {"claudeCode": {"parentToolUseId": call}}}

    command = {"toolCallId": "c", "kind": "execute", "title": "x", "rawInput": {"command": "touch made"}, **below("b")}
    script = steps(
        ("announce", {"toolCallId": "a", "kind": "think", "title": "look around"}),
        ("announce", {"toolCallId": "b", "kind": "think", "title": "dig deeper", **below("a")}),
        ("announce", command),
        ("permit", command),
    )
    session = await make().open(seat)
    turn = Followed(session, f"{script}\n!text done")
    gate = await turn.gate()
    assert gate.asked.agents == ("look around", "dig deeper")
    await session.answer(gate.ref, YES)
    await turn.end()
    parents = {each.item: each.parent for each in turn.events if isinstance(each, Activity)}
    assert parents == {"a": None, "b": "a", "c": "b"}


# Errors


@pytest.mark.parametrize(
    ("failure", "text", "code"),
    [
        (text_errors.copilot, "Error: boom", "model_error"),
        (
            text_errors.copilot,
            "Info: Request failed, retrying...\nError: 402",
            "no_credit",
        ),
        (text_errors.goose, "Ran into this error: Authentication error: 401.", "not_logged_in"),
        (text_errors.hermes, "HTTP 429: slow down", "rate_limit"),
        (text_errors.as_json, '{"error": {"message": "no", "code": 401}}', "not_logged_in"),
    ],
)
def test_an_error_that_is_sent_as_a_text_is_no_answer(failure: text_errors.Failure, text: str, code: str) -> None:
    problem = failure(text)
    assert problem is not None and problem.code == code and text in problem.message


@pytest.mark.parametrize("text", ["It says: Error: boom", "I ran into this error: 401, and mended it.", ""])
def test_an_answer_about_an_error_is_an_answer(text: str) -> None:
    assert text_errors.as_json(text) is text_errors.as_json('{"error": 1, "b": 2}') is None
    assert text_errors.copilot(text) is text_errors.goose(text) is text_errors.hermes(text) is None


@pytest.mark.parametrize(
    ("data", "code", "words"),
    [
        ({"details": "out of paper"}, "agent_error", "out of paper"),
        ({"message": "slow down", "errorKind": "rate_limit"}, "usage_limit", "slow down"),
        ({"message": "try at 5:44 PM", "codexErrorInfo": "usageLimitExceeded"}, "usage_limit", "try at 5:44 PM"),
        ({"codexErrorInfo": {"usageLimitExceeded": {}}}, "usage_limit", "Internal error"),
        ({"message": "You've hit your limit · resets 5:44pm (UTC)"}, "agent_error", "resets 5:44pm"),
        ("429: usage limit reached|1795123298", "agent_error", "usage limit reached"),
        ("Missing provider", "agent_error", "Missing provider"),
        ({"details": 7}, "agent_error", "Internal error"),
        (None, "agent_error", "Internal error"),
        ([1], "agent_error", "Internal error"),
    ],
)
def test_what_an_agent_says_beside_an_error_is_shown(data: object, code: str, words: str) -> None:
    problem = problems.problem(PLAYER, RpcError.from_wire({"code": -32603, "message": "Internal error", "data": data}))
    assert problem.code == code and words in problem.message


@pytest.mark.process
async def test_plain_data_of_an_error_is_shown(make: Make, seat: Seat) -> None:
    session = await make().open(seat)
    failed = ended(await collect(session.run(request("!plainly Missing provider"))))
    assert failed.problem is not None and "Missing provider" in failed.problem.message


@pytest.mark.process
@pytest.mark.parametrize(("script", "state"), [("!think hm", TurnState.FAILED), ("!plan one", TurnState.COMPLETED)])
async def test_thoughts_alone_are_no_answer(make: Make, seat: Seat, script: str, state: TurnState) -> None:
    session = await make().open(seat)
    assert ended(await collect(session.run(request(script)))).state is state


# Modes and models


def opened(mode: str, *offered: str) -> wire.Entered:
    return wire.Entered("s", wire.Modes(tuple(wire.Mode(each) for each in offered), mode))


def planned(
    entered: wire.Entered, config: AcpConfig | None = None, policy: Policy = Policy.CAREFUL, quirks: Quirks = ASKS
) -> list[tuple[str, dict[str, Any]]]:
    entry = replace(PLAYER, quirks=quirks)
    found = modes.changes(entry, entered, modes.current(entered), config or AcpConfig(), policy)
    return [(each.method, each.params) for each in found]


def test_an_agent_is_put_into_the_mode_in_which_it_asks() -> None:
    assert planned(opened("auto", "ask", "auto")) == [("session/set_mode", {"modeId": "ask"})]
    assert planned(opened("ask", "ask", "auto")) == []
    assert planned(opened("new", "new"), quirks=PLAIN) == []


@pytest.mark.parametrize("policy", [each for each in Policy if each is not Policy.YOLO])
def test_a_mode_that_does_not_ask_is_refused(policy: Policy) -> None:
    with pytest.raises(RuntimeTrouble, match=r"does not ask before it acts in its mode auto.*such as ask"):
        planned(opened("auto", "auto"), policy=policy)
    with pytest.raises(RuntimeTrouble, match="does not ask"):
        planned(opened("ask", "ask", "auto"), AcpConfig(mode="auto"), policy)


def test_yolo_may_use_a_mode_that_the_config_names() -> None:
    named = AcpConfig(mode="auto")
    assert planned(opened("ask", "ask", "auto"), named, Policy.YOLO) == [("session/set_mode", {"modeId": "auto"})]
    with pytest.raises(RuntimeTrouble, match="does not ask"):
        planned(opened("auto", "auto"), policy=Policy.YOLO)


def test_a_mode_may_be_an_option() -> None:
    choices = (wire.Choice("ask"), wire.Choice("auto"))
    entered = wire.Entered("s", config_options=(wire.ConfigOption("how", "mode", "auto", choices),))
    assert planned(entered) == [("session/set_config_option", {"configId": "how", "value": "ask"})]


def test_an_option_that_allows_everything_is_turned_off() -> None:
    quirks = Quirks(asking=Asking(option=("allow_all", "off")))
    both = (wire.Choice("on"), wire.Choice("off"))
    on = wire.Entered("s", config_options=(wire.ConfigOption("allow_all", "permissions", "on", both),))
    assert planned(on, quirks=quirks) == [("session/set_config_option", {"configId": "allow_all", "value": "off"})]
    stuck = wire.Entered("s", config_options=(wire.ConfigOption("allow_all", "permissions", "on", both[:1]),))
    with pytest.raises(RuntimeTrouble, match="allow_all = on"):
        planned(stuck, quirks=quirks)


@pytest.mark.parametrize("entry", KNOWN.values(), ids=list(KNOWN))
def test_no_known_agent_has_a_mode_that_both_asks_and_does_not(entry: Entry) -> None:
    assert entry.quirks.asking.mode not in entry.quirks.asking.silent_modes


@pytest.mark.process
async def test_an_agent_that_leaves_its_asking_mode_is_put_back(make: Make, seat: Seat) -> None:
    session = await make("mode=auto", quirks=ASKS).open(seat)
    turn = Followed(session, "!mode auto\n!hold here\n!text done")
    holds = PipeStage(Path(seat.workspace))
    await holds.wait_held("here")
    await turn.wait_for(Activity, lambda act: act.kind is ActivityKind.THOUGHT)  # so it says what it was told
    holds.release("here")
    await turn.end()
    assert '"modeId": "ask"' in str(turn.events), "it was not put back"


@pytest.mark.process
async def test_an_agent_that_tells_its_mode_as_an_option_is_put_back(make: Make, seat: Seat) -> None:
    session = await make("mode=auto", quirks=ASKS).open(seat)
    turn = Followed(session, "!option auto\n!hold here\n!text done")
    holds = PipeStage(Path(seat.workspace))
    await holds.wait_held("here")
    await turn.wait_for(Activity, lambda act: act.kind is ActivityKind.THOUGHT)  # so it says what it was told
    holds.release("here")
    await turn.end()
    assert '"modeId": "ask"' in str(turn.events), "it was not put back"


def test_an_option_that_allows_everything_again_is_noticed() -> None:
    asking = Asking("ask", frozenset({"auto"}), ("allow_all", "off"))
    both = (wire.Choice("on"), wire.Choice("off"))
    on, off = (
        wire.Entered("s", config_options=(wire.ConfigOption("allow_all", "x", now, both),)) for now in ("on", "off")
    )
    assert modes.asks(asking, off, "ask")
    assert not modes.asks(asking, on, "ask") and not modes.asks(asking, off, "auto")


@pytest.mark.parametrize("argument", ["--auto", "--auto=high", "--skip-permissions-unsafe"])
def test_an_agent_is_not_started_with_an_argument_that_stops_its_questions(argument: str) -> None:
    entry = replace(KNOWN["droid"], command=("droid", "exec", argument))
    with pytest.raises(RuntimeTrouble, match="does not ask before it acts if it is started with --"):
        list(modes.changes(entry, opened(""), "", AcpConfig(), Policy.CAREFUL))
    assert list(modes.changes(entry, opened(""), "", AcpConfig(), Policy.YOLO)) == []


def test_opencode_asks_whatever_its_own_settings_say() -> None:
    asked = msgspec.json.decode(KNOWN["opencode"].quirks.asking.env["OPENCODE_PERMISSION"])
    assert next(iter(asked.items())) == ("*", "ask"), "the last rule that fits counts"
    assert not {"bash", "edit", "webfetch"} & asked.keys()


def test_the_model_option_is_the_one_that_offers_the_model() -> None:
    provider = wire.ConfigOption("provider", "model", "prov", (wire.Choice("prov"),))
    grouped = wire.ConfigOption("model", "model", "a", (wire.Choice(options=(wire.Choice("a"), wire.Choice("b"))),))
    entered = wire.Entered("s", config_options=(provider, grouped))
    assert models.offered(entered) == ("a", "b")
    assert models.setting(entered, "b") == ("session/set_config_option", {"configId": "model", "value": "b"})
    assert models.setting(entered, "c") is None
    other = wire.Entered("s", config_options=(provider, wire.ConfigOption("llm", "model", "x", (wire.Choice("x"),))))
    assert models.setting(other, "x") == ("session/set_config_option", {"configId": "llm", "value": "x"})


# Programs


@pytest.mark.process
@pytest.mark.parametrize(("program", "count"), [("shared", 1), ("folder", 2), ("thread", 3)])
async def test_threads_share_a_program_as_the_setting_says(
    make: Make, tmp_path: Path, program: str, count: int
) -> None:
    runtime = make(program=program)
    for thread, name in (("one", "a"), ("two", "a"), ("three", "b")):
        (tmp_path / name).mkdir(exist_ok=True)
        session = await runtime.open(Seat(thread, str(tmp_path / name)))
        assert await said(session, "!text fine") == "fine"
    assert len({each.pid for each in runtime._programs._made}) == count


@pytest.mark.process
async def test_a_shared_program_starts_in_an_empty_folder_that_is_removed(make: Make, seat: Seat) -> None:
    runtime = make(program="shared")
    await runtime.open(seat)
    folder = runtime._programs._empty
    assert folder is not None and list(Path(folder).iterdir()) == []
    await runtime.close()
    assert not Path(folder).exists()


@pytest.mark.process
async def test_the_program_of_a_thread_ends_with_its_session(make: Make, seat: Seat) -> None:
    runtime = make(quirks=Quirks(program=Program.THREAD))
    session = await runtime.open(seat)
    [connection] = runtime._programs._made
    await session.close()
    assert not connection.is_alive
    again = await runtime.open(seat)
    assert await said(again, "!text fine") == "fine"


@pytest.mark.process
async def test_a_program_that_does_not_obey_ends_after_the_turns_of_others(make: Make, tmp_path: Path) -> None:
    runtime, holds = make("deaf", interrupt_timeout=0.3), PipeStage(tmp_path)
    one, two = [await runtime.open(Seat(name, str(tmp_path))) for name in ("one", "two")]
    other, stopped = Followed(one, "!hold here\n!text alpha"), Followed(two, "!hold there", "b")
    await holds.wait_held("here")
    await holds.wait_held("there")
    assert (await stopped.interrupt()).state is TurnState.INTERRUPTED
    [connection] = runtime._programs._made
    assert connection.turns and not connection.is_alive
    assert await said(two, "!text beta", "c") == "beta", "it works on another program meanwhile"
    holds.release("here")
    assert (await other.end()).text == "alpha"
    assert connection._closing is not None
    async with asyncio.timeout(PATIENCE):
        await connection._closing


# Gates


@pytest.mark.process
async def test_a_command_of_an_unknown_kind_is_a_command_and_no_rule_allows_it(make: Make, seat: Seat) -> None:
    session = await make("shell").open(seat)
    turn = Followed(session, "!approve ls\n!text done")
    asked = (await turn.gate()).asked
    assert (asked.kind, asked.title) == (GateKind.COMMAND, "ls") and "does not call it a command" in asked.unjudged
    await session.answer((await turn.gate()).ref, YES)
    await turn.end()


@pytest.mark.process
async def test_a_command_of_an_agent_that_never_says_the_kind_is_judged(make: Make, seat: Seat) -> None:
    session = await make("shell", quirks=Quirks(untyped_commands=True)).open(seat)
    turn = Followed(session, "!approve ls\n!text done")
    assert (await turn.gate()).asked.unjudged == ""
    await session.answer((await turn.gate()).ref, YES)
    await turn.end()


@pytest.mark.process
async def test_a_question_about_nothing_says_so(make: Make, seat: Seat) -> None:
    session = await make().open(seat)
    turn = Followed(session, '!permit {"toolCallId": "c", "title": "Confirm Agent Actions"}')
    asked = (await turn.gate()).asked
    assert "does not show what it would do" in asked.detail and asked.unshown
    await session.interrupt()
    await turn.end()


# Steering, usage, silence, login


@pytest.mark.process
async def test_a_reason_is_told_behind_the_answer_and_its_tokens_count_too(make: Make, seat: Seat) -> None:
    session = await make().open(seat)
    turn = Followed(session, "!approve true\n!text done")
    await session.answer((await turn.gate()).ref, Answer(Decision.DECLINE, "use false"))
    end, used = await turn.end(), only(turn.events, Usage)
    assert [each.text for each in only(turn.events, TextDone)] == ["done", "pong"] and end.text == "pong"
    assert [each.tokens.total_tokens for each in used] == [30]
    assert "I declined true: use false" in await said(session, "!recall", "b")


@pytest.mark.process
@pytest.mark.parametrize(
    "answer", [Answer(Decision.DECLINE, "so", judged=True), Answer(Decision.DECLINE, "so", expired=True)]
)
async def test_only_the_reason_of_a_person_is_told_behind_the_answer(make: Make, seat: Seat, answer: Answer) -> None:
    session = await make().open(seat)
    turn = Followed(session, "!approve true\n!text done")
    await session.answer((await turn.gate()).ref, answer)
    assert (await turn.end()).text == "done"


@pytest.mark.process
async def test_a_message_is_steered_into_a_turn_if_the_agent_offers_it(make: Make, seat: Seat) -> None:
    runtime = make("steers")
    session = await runtime.open(seat)
    assert runtime.can.steer
    turn, holds = Followed(session, "!hold here\n!recall"), PipeStage(Path(seat.workspace))
    await holds.wait_held("here")
    assert await session.steer(PromptMessage("more", "ann", "and this"))
    holds.release("here")
    end = await turn.end()
    assert "and this" in end.text and "more" in end.messages
    assert not await session.steer(PromptMessage("late", "ann", "too late"))


@pytest.mark.process
@pytest.mark.parametrize(("counts", "total"), [("meta", 9), ("update", 1234)])
async def test_tokens_are_known_without_the_usage_of_the_response(
    make: Make, seat: Seat, counts: str, total: int
) -> None:
    session = await make(f"counts={counts}").open(seat)
    events = await collect(session.run(request("!context 1234\n!text fine")))
    assert [each.tokens.total_tokens for each in only(events, Usage)] == [total]


class Seconds(SystemClock):
    """A clock whose sleepers wake when the test moves it."""

    def __init__(self) -> None:
        super().__init__()
        self.at = 0.0
        self.sleeping = asyncio.Event()
        self.moved = asyncio.Event()

    def monotonic(self) -> float:
        return self.at

    async def sleep(self, seconds: float) -> None:
        until = self.at + seconds
        while self.at < until:
            self.sleeping.set()
            await self.moved.wait()
            self.moved.clear()

    async def move(self, seconds: float) -> None:
        await self.sleeping.wait()
        self.sleeping.clear()
        self.at += seconds
        self.moved.set()


async def test_ten_seconds_without_a_sign_of_life_are_told_once() -> None:
    clock = Seconds()
    live = Live("a", now=clock.monotonic)
    watching = asyncio.ensure_future(silence.watch(live, clock))
    await clock.move(9)
    live.feed(msgspec.Raw(b'{"sessionUpdate": "usage_update", "used": 1}'))
    await clock.move(9)
    assert live.events.empty()
    await clock.move(1)
    async with asyncio.timeout(PATIENCE):
        notice = await live.events.get()
    assert isinstance(notice, Notice) and notice.kind is NoticeKind.RETRYING
    assert notice.text == "No sign of life from the agent for 10 s. It may be retrying."
    live.hear()
    await clock.move(10)
    async with asyncio.timeout(PATIENCE):
        assert await live.events.get() == notice, "a new silence is told anew"
    watching.cancel()


class Hours(SystemClock):
    """A clock of which only the silence of a turn knows that its time passes."""

    def __init__(self) -> None:
        super().__init__()
        self.ahead = 0.0
        self.waits: list[tuple[float, asyncio.Event]] = []

    def monotonic(self) -> float:
        return super().monotonic() + self.ahead

    async def sleep(self, seconds: float) -> None:
        if not 0 < seconds <= silence.LONGEST:
            await super().sleep(seconds)
            return
        done = asyncio.Event()
        self.waits.append((seconds, done))
        await done.wait()

    def pass_by(self) -> None:
        self.ahead += silence.LONGEST
        waits, self.waits = self.waits, []
        for _, done in waits:
            done.set()


@pytest.mark.process
async def test_a_silent_turn_tells_that_and_a_slow_start_does_not(
    make: Make, seat: Seat, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Hours()
    session = await make(clock=clock).open(seat)
    ready = session._ready

    async def slowly() -> Any:
        clock.pass_by()
        return await ready()

    monkeypatch.setattr(session, "_ready", slowly)
    turn, holds = Followed(session, "!hold here\n!text done"), PipeStage(Path(seat.workspace))
    await holds.wait_held("here")
    assert not [each for each in turn.events if isinstance(each, Notice)], "it took long to start, and no more"
    clock.pass_by()
    async with asyncio.timeout(PATIENCE):
        await turn.wait_for(Notice)
    holds.release("here")
    await turn.end()


async def test_an_agent_that_runs_a_tool_may_be_silent() -> None:
    clock = Seconds()
    live = Live("a", now=clock.monotonic)
    live.feed(msgspec.Raw(b'{"sessionUpdate": "tool_call", "toolCallId": "c", "title": "make"}'))
    live.events = asyncio.Queue()
    watching = asyncio.ensure_future(silence.watch(live, clock))
    await clock.move(10)
    live.feed(msgspec.Raw(b'{"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "completed"}'))
    await clock.move(9)
    assert not [each for each in list(live.events._queue) if isinstance(each, Notice)]  # type: ignore[attr-defined]
    watching.cancel()


@pytest.mark.process
@pytest.mark.parametrize(("what", "known"), [([], None), (["login=account"], True), (["name=gemini-cli"], True)])
async def test_a_login_is_reported_only_if_it_is_known(make: Make, what: list[str], known: bool | None) -> None:
    assert (await make(*what).look()).logged_in is known


@pytest.mark.process
async def test_an_agent_that_says_it_is_logged_out_is_not_logged_in(make: Make) -> None:
    with pytest.raises(RuntimeTrouble, match="is not logged in"):
        await make("login=none").look()


# What people say


@pytest.mark.parametrize("text", ["see @/etc/passwd", 'see @"/etc/my file"', "@a@b"])
def test_no_text_of_people_names_a_file_to_an_agent_that_would_read_it(text: str) -> None:
    for each in replay.as_prompt([PromptMessage("m", "ann", text)], text, images=False):
        assert each["text"].count("@") == each["text"].count("@\u200b") == text.count("@")
    [plain] = replay.as_prompt([PromptMessage("m", "ann", text)], images=False, leaves_at=True)
    assert plain["text"] == text


SLASHES = ["/allow-all on", "  /x", "\n\t/x", "\ufeff/x", "\u00a0/x", "\u2028\u3000/x", "\x1c/x", "\x85/x", "\u200b/x"]


@pytest.mark.parametrize("text", SLASHES)
def test_no_text_is_a_command_whatever_blanks_an_agent_takes_off(text: str) -> None:
    [block] = replay.as_prompt([PromptMessage("m", "ann", text)], images=False, leaves_at=True)
    assert block["text"] == f"\u200b{text}"
    [past] = replay.as_prompt([], text, images=False, leaves_at=True)
    assert past["text"] == f"\u200b{text}"


def test_claudes_adapter_tells_when_its_account_is_free_again() -> None:
    live = Live("a", now=SystemClock().monotonic)
    live.feed(
        msgspec.Raw(
            b'{"sessionUpdate": "usage_update", "used": 1, "_meta": {"_claude/rateLimit":'
            b' {"status": "rejected", "rateLimitType": "five_hour", "resetsAt": 4102444800}}}'
        )
    )
    assert live.events.get_nowait() == Limits((LimitWindow("five_hour", LimitStatus.REACHED, None, 4_102_444_800_000),))
    refused = RpcError(-32603, "Internal error", {"errorKind": "rate_limit", "message": "resets 5:44pm"})
    problem = end_from_response(KNOWN["claude-acp"], live, refused).problem
    assert problem is not None and (problem.code, problem.until) == ("usage_limit", 4_102_444_800_000)
