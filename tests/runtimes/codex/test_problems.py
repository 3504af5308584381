"""`ping`, `open` and a failed turn report a problem of Codex with the same text."""

from __future__ import annotations

import asyncio
import dataclasses
import os
from pathlib import Path

import msgspec
import pytest

from clew.model.runtime import HealthState, Seat
from clew.process import scan
from clew.process.scan import Marks
from clew.runtimes.codex import problems
from clew.runtimes.codex.ping import ping
from clew.runtimes.codex.runtime import CodexRuntime
from clew.runtimes.codex.server import binary
from clew.runtimes.codex.settings import CodexConfig
from clew.runtimes.codex.wire import TurnError
from clew.runtimes.probe import PingStep
from clew.support.clock import SystemClock
from clew.support.coded import coded_of
from clew.support.errors import RuntimeTrouble
from clew.testing.scripted_model import ScriptedModel, write_codex_home
from clew.testing.scripted_model.script import Hold, Status
from clew.texts.bilingual import zh


def fake(folder: Path, app_server: str, version: str = "echo codex-cli 99.0.0; exit 0") -> CodexConfig:
    """Make a program that reports a version and then does not behave like Codex."""
    path = folder / "fake-codex"
    path.write_text(f'#!/bin/sh\nif [ "$1" = --version ]; then {version}; fi\n{app_server}\n')
    path.chmod(0o755)
    return CodexConfig(command=str(path), start_timeout=60, home=str(folder))


async def steps(config: CodexConfig, clock: SystemClock, marks: Marks, patience: float = 60) -> list[PingStep]:
    return [step async for step in ping(config, clock, marks, patience)]


@pytest.fixture
def bare(clock: SystemClock) -> Marks:
    """Marks of a separate store, so that a test can check that no process is left."""
    return Marks(clock.token()[:8], "x")


async def both_say(config: CodexConfig, clock: SystemClock, marks: Marks, code: str) -> str:
    """Return the error, and assert that `ping` and `open` give the same."""
    with pytest.raises(RuntimeTrouble) as pinged:
        await steps(config, clock, marks)
    runtime = CodexRuntime(config, clock, marks)
    with pytest.raises(RuntimeTrouble) as opened:
        await runtime.open(Seat("t", "/"))
    health = await runtime.health()
    await runtime.close()
    assert opened.value.message == pinged.value.message == health.reason
    assert opened.value.code == pinged.value.code == code
    assert coded_of(opened.value.words) is not None and coded_of(health.reason) == coded_of(opened.value.words)
    assert health.state is HealthState.DEGRADED
    assert await asyncio.to_thread(scan.children, marks.store) == []
    return opened.value.message


@pytest.mark.process
async def test_ping_makes_one_tiny_turn_and_leaves_nothing(
    config: CodexConfig, clock: SystemClock, bare: Marks, model: ScriptedModel
) -> None:
    made = await steps(config, clock, bare)
    assert [step.name for step in made] == ["find", "start", "turn", "stop"]
    assert "0.163.0" in made[0].detail
    assert made[2].detail == "You said: Answer with the one word: pong. Glad to help."
    assert all(step.seconds > 0 for step in made)
    assert model.count("pong") == 1
    assert await asyncio.to_thread(scan.children, bare.store) == []


async def test_a_missing_program_is_named(clock: SystemClock, bare: Marks) -> None:
    words = await both_say(CodexConfig(command="/no/such/codex"), clock, bare, "codex_missing")
    assert "`runtimes.codex.command` is /no/such/codex" in words and "Install Codex" in words


async def test_without_any_program_it_says_where_it_looked(
    clock: SystemClock, bare: Marks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr("clew.runtimes.codex.server.binary._bundled", lambda: None)
    words = await both_say(CodexConfig(), clock, bare, "codex_missing")
    assert "neither on PATH nor bundled" in words


@pytest.mark.process
async def test_a_file_that_cannot_be_run_is_missing_too(clock: SystemClock, bare: Marks, tmp_path: Path) -> None:
    (tmp_path / "codex").write_text("#!/no/such/interpreter\n")
    (tmp_path / "codex").chmod(0o755)
    words = await both_say(CodexConfig(command=str(tmp_path / "codex")), clock, bare, "codex_missing")
    assert f"{tmp_path / 'codex'} cannot be run: the system says: No such file" in words


async def test_a_file_that_is_not_executable_is_reported_as_such(
    clock: SystemClock, bare: Marks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "codex"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o644)
    words = await both_say(CodexConfig(command=str(program)), clock, bare, "codex_missing")
    assert f"{program} cannot be run: it is not executable; `chmod +x {program}`" in words
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("clew.runtimes.codex.server.binary._bundled", lambda: None)
    assert await both_say(CodexConfig(), clock, bare, "codex_missing") == words
    words = await both_say(CodexConfig(command=str(tmp_path)), clock, bare, "codex_missing")
    assert f"{tmp_path} cannot be run: it is a folder" in words


@pytest.mark.process
async def test_a_program_on_the_path_is_preferred_to_the_bundled_one(
    clock: SystemClock, bare: Marks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake(tmp_path, "", "echo codex-cli 0.1.0; exit 0")
    (tmp_path / "fake-codex").rename(tmp_path / "codex")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    words = await both_say(CodexConfig(), clock, bare, "codex_too_old")
    assert f"Codex 0.1.0 ({tmp_path / 'codex'}) is too old: clew needs 0.163.0 or newer." in words


@pytest.mark.process
async def test_a_program_that_is_not_codex_is_reported(clock: SystemClock, bare: Marks, tmp_path: Path) -> None:
    words = await both_say(fake(tmp_path, "", "echo hello; exit 0"), clock, bare, "codex_exits")
    assert "does not say that it is Codex (`--version`: hello)" in words
    words = await both_say(fake(tmp_path, "", "echo broken >&2; exit 1"), clock, bare, "codex_exits")
    assert "(`--version`: broken)" in words


@pytest.mark.process
async def test_an_exit_at_start_is_reported_with_its_last_output(
    clock: SystemClock, bare: Marks, tmp_path: Path
) -> None:
    words = await both_say(fake(tmp_path, "echo one >&2; echo bad config >&2; exit 3"), clock, bare, "codex_exits")
    assert "does not stay up (exit code 3; its last words: bad config)" in words
    assert "app-server` by hand" in words


@pytest.mark.process
async def test_a_config_that_codex_rejects_is_reported_with_its_text(
    clock: SystemClock, bare: Marks, tmp_path: Path
) -> None:
    (tmp_path / "config.toml").write_text('approval_policy = "untrusted"\n')
    words = await both_say(CodexConfig(home=str(tmp_path)), clock, bare, "codex_exits")
    assert "no longer supported" in words


@pytest.mark.process
async def test_a_program_that_never_answers_times_out(
    clock: SystemClock, bare: Marks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    say_version = binary._read_version

    async def patiently(path: str, patience: float, clock: SystemClock, marks: Marks) -> str:
        return await say_version(path, 60, clock, marks)

    monkeypatch.setattr(binary, "_read_version", patiently)  # it answers in time on a busy machine too
    config = dataclasses.replace(fake(tmp_path, "cat >/dev/null"), start_timeout=0.3)
    words = await both_say(config, clock, bare, "codex_exits")
    assert "no answer within 0.3 s" in words


@pytest.mark.process
async def test_without_a_login_it_says_how_to_log_in(
    clock: SystemClock, bare: Marks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "CODEX_API_KEY", "CODEX_ACCESS_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    words = await both_say(CodexConfig(home=str(tmp_path)), clock, bare, "codex_not_logged_in")
    assert words.startswith("Codex is not logged in. Run `clew codex login`")


@pytest.mark.process
async def test_ping_reports_a_login_that_the_model_rejects(
    clock: SystemClock, bare: Marks, tmp_path: Path, model: ScriptedModel
) -> None:
    model.on("one word: pong", lambda request: [Status(401)])
    try:
        with pytest.raises(RuntimeTrouble, match="`clew codex login`"):
            await steps(CodexConfig(home=str(write_codex_home(tmp_path, model.url))), clock, bare)
    finally:
        model._handlers.clear()


@pytest.mark.process
async def test_ping_reports_a_model_that_never_answers(
    clock: SystemClock, bare: Marks, tmp_path: Path, model: ScriptedModel
) -> None:
    model.on("one word: pong", lambda request: [Hold("for ever")])
    try:
        with pytest.raises(RuntimeTrouble, match=r"did not answer within 0\.5 s"):
            await steps(CodexConfig(home=str(write_codex_home(tmp_path, model.url))), clock, bare, patience=0.5)
    finally:
        model._handlers.clear()
    assert await asyncio.to_thread(scan.children, bare.store) == []


@pytest.mark.parametrize(
    ("info", "code"),
    [
        ("unauthorized", "not_logged_in"),
        ("usageLimitExceeded", "usage_limit"),
        ("contextWindowExceeded", "context_window"),
        ({"httpConnectionFailed": {"httpStatusCode": 401}}, "not_logged_in"),
        ({"responseTooManyFailedAttempts": {"httpStatusCode": 429}}, "rate_limit"),
        ({"responseStreamDisconnected": {"httpStatusCode": None}}, "connection"),
        ({"somethingNew": 5}, "failed"),
        ("somethingNew", "failed"),
        (None, "failed"),
    ],
)
def test_each_failure_has_a_code_and_a_text(info: object, code: str) -> None:
    problem = problems.problem(TurnError(message="its own words", codex_error_info=info))
    assert problem.code == code
    assert problem.message.endswith((".", "its own words"))


def test_a_failure_without_any_reason_still_has_words() -> None:
    assert problems.problem(None).message
    assert (
        problems.problem(msgspec.json.decode(b'{"message":"m","codexErrorInfo":{}}', type=TurnError)).code == "failed"
    )


@pytest.mark.process
async def test_a_program_that_hangs_is_reported_as_such(tmp_path: Path, clock: SystemClock, marks: Marks) -> None:
    program = tmp_path / "codex"
    program.write_text("#!/bin/sh\nexec sleep 100\n")
    program.chmod(0o755)
    with pytest.raises(RuntimeTrouble, match=r"did not answer `--version` within 0\.2 s"):
        await binary.find(CodexConfig(command=str(program), start_timeout=0.2), clock, marks)


@pytest.mark.process
async def test_a_program_that_hangs_ends_when_its_caller_is_cancelled(
    tmp_path: Path, clock: SystemClock, bare: Marks
) -> None:
    os.mkfifo(tmp_path / "began")
    config = fake(tmp_path, "", f"echo >{tmp_path}/began; exec sleep 100")
    asking = asyncio.create_task(binary.find(config, clock, bare))
    await asyncio.to_thread((tmp_path / "began").read_text)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert await asyncio.to_thread(scan.children, bare.store) == []


def test_a_problem_of_a_turn_has_a_code_and_quotes_codex_as_it_is() -> None:
    limit = problems.problem(TurnError("You are out.", codex_error_info="usageLimitExceeded"))
    assert limit.said is not None and limit.said.code == "codex.usage_limit"
    quoted = problems.problem(TurnError("no such tool", codex_error_info="badRequest"))
    assert quoted.message == "The model rejected the request: no such tool"
    assert zh(quoted.text) == "模型拒绝了请求：no such tool"
