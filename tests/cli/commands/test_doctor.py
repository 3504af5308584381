"""Single checks of `clew doctor`; test_main runs all of them."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from pathlib import Path

import pytest

from clew.cli.doctor.agents import agents, configured
from clew.cli.doctor.checks import CLOCK_SLACK, all_checks
from clew.config.plugin import Finding
from clew.config.settings import load
from clew.model.events.logged import RuntimeNotice
from clew.process import lock
from clew.store.migrate import open_store
from clew.support.clock import SystemClock
from clew.support.coded import Text
from clew.support.home import Home
from tests.crash.phone import daemon, open_bot
from tests.helpers.daemons import SCRIPTED, TIMEOUT, Clew
from tests.helpers.json_client import JsonClient


def found(home: Home, check: str) -> Finding:
    return next(finding for finding in all_checks(home) if finding.check == check)


def write_entry(home: Home, at: int) -> None:
    home.prepare()
    store = open_store(home.database, SystemClock())
    asyncio.run(store.write(lambda tx: tx.log("T", None, at, RuntimeNotice("x"))))
    store.close()


def test_doctor_finds_a_clock_that_is_behind_stored_entries(tmp_path: Path) -> None:
    home = Home(tmp_path)
    now = time.time_ns() // 1_000_000
    write_entry(home, now)
    assert found(home, "clock").ok
    write_entry(home, now + 10 * CLOCK_SLACK)
    finding = found(home, "clock")
    assert not finding.ok
    assert "the newest entry of the store is of " in finding.detail
    assert finding.todo is not None


def test_doctor_finds_a_removed_store_that_is_not_restored_yet(tmp_path: Path) -> None:
    home = Home(tmp_path)
    assert "none yet" in found(home, "store").detail
    write_entry(home, 0)
    home.database.rename(tmp_path / "clew.db.saved")
    assert found(home, "store").detail.endswith(f"the next start restores it from {tmp_path / 'clew.db.saved'}")
    open_store(home.database, SystemClock()).close()
    assert "schema" in found(home, "store").detail


def test_doctor_finds_a_setting_that_cannot_work(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.config.write_text('[threads]\nruntime = "codx"\n')
    finding = found(home, "config")
    assert not finding.ok
    assert "it must be one of claude, claude-acp, codex, codex-acp, copilot" in finding.detail


def test_doctor_finds_an_unusable_home(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for folder in (Path("/proc/clew"), tmp_path / "file" / "home"):
        finding = found(Home(folder), "home")
        assert not finding.ok and "cannot be made" in finding.detail
        assert finding.todo and "CLEW_HOME" in finding.todo
    assert not found(Home(Path("/proc/clew")), "disk").ok


@pytest.mark.process
def test_doctor_accepts_a_healthy_daemon(tmp_path: Path) -> None:
    with Clew(tmp_path) as clew:
        clew.up()
        assert found(clew.home, "supervisor").detail == "restarts the daemon after a crash"
        assert found(clew.home, "daemon").ok


@pytest.mark.process
def test_doctor_finds_settings_that_need_a_restart(tmp_path: Path) -> None:
    with Clew(tmp_path) as clew:
        clew.up()
        clew.configure(f"# only a remark\n{SCRIPTED}")
        assert found(clew.home, "daemon").ok
        clew("config", "set", "turns.parallel", "3")
        finding = found(clew.home, "daemon")
        assert not finding.ok and "it has other settings than config.toml" in finding.detail
        assert finding.todo and finding.todo.startswith("clew restart")
        assert "clew restart applies it" in clew("status")
        clew("restart")
        assert found(clew.home, "daemon").ok


@pytest.mark.process
def test_doctor_finds_a_different_environment_without_showing_values(tmp_path: Path) -> None:
    with Clew(tmp_path / "home") as clew:
        clew.up(env={"CODEX_HOME": str(tmp_path / "codex"), "OPENAI_API_KEY": "sk-very-secret"})
        finding = found(clew.home, "daemon")
        assert not finding.ok
        assert "environment than that of this shell: CODEX_HOME, OPENAI_API_KEY" in finding.detail
        assert "very-secret" not in clew("status", "--json")


@pytest.mark.process
def test_doctor_finds_a_daemon_without_a_supervisor(tmp_path: Path) -> None:
    with Clew(tmp_path) as clew:
        clew.up()
        clew.kill_supervisor()
        finding = found(clew.home, "supervisor")
        assert (finding.ok, finding.todo) == (False, "clew up starts a supervisor")
        clew("up")
        assert found(clew.home, "supervisor").ok


@pytest.mark.process
def test_doctor_does_not_advise_to_stop_a_restarting_daemon(tmp_path: Path) -> None:
    with Clew(tmp_path) as clew:
        clew.up()
        os.kill(clew.supervisor, signal.SIGSTOP)
        try:
            clew.kill()
            result = clew.run("status")
            finding = found(clew.home, "socket")
        finally:
            os.kill(clew.supervisor, signal.SIGCONT)
    words = "the daemon is just being started by its supervisor; `clew up` waits for it"
    assert (result.code, result.err) == (3, f"clew: {words}\n")
    assert (finding.ok, finding.detail) == (True, words)


def test_doctor_does_not_advise_to_stop_a_starting_daemon(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.prepare()
    now = time.time_ns() // 1_000_000
    for since, words in ((now, "is just starting or stopping"), (now - 120_000, "no daemon answers, but")):
        with lock.hold(home.lock, lock.Holder(os.getpid(), "", since)):
            assert words in found(home, "socket").detail


def test_a_missing_agent_is_only_broken_if_a_setting_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    path = tmp_path / "config.toml"
    default = '[threads]\nruntime = "hermes"\n'
    hook = '[surfaces.webhook.x]\nsecret = "sixteen letters."\nruntime = "hermes"\n'
    for text, is_ok in (("", None), (default, False), (hook, False)):
        path.write_text(text + '[runtimes.codex]\ncommand = "/nowhere"\n')
        [finding] = [each for each in agents(load(path)) if each.check == "hermes"]
        told = finding.todo if is_ok is None else finding.detail
        assert finding.ok is is_ok and told and "Install Hermes" in told


def test_codex_is_needed_only_if_a_setting_or_the_default_names_it(tmp_path: Path) -> None:
    missing = '[runtimes.codex]\ncommand = "/nowhere"\n'
    other = '[threads]\nruntime = "scripted"\n'
    for text, wanted in (("", True), (missing, True), (other, False), (other + missing, True)):
        (tmp_path / "config.toml").write_text(text)
        assert ("codex" in configured(load(tmp_path / "config.toml"))) is wanted


@pytest.mark.process
def test_doctor_takes_the_advice_of_an_agent_from_its_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CLEW_HOME", str(tmp_path))
    [gemini] = [each for each in agents(load(tmp_path / "config.toml")) if each.check == "gemini"]
    assert (gemini.ok, gemini.detail) == (None, "available: not installed")
    assert gemini.todo and gemini.todo.startswith("Install the Gemini CLI (")
    assert isinstance(gemini.todo, Text) and gemini.todo.coded.code == "acp.or_set_command"


@pytest.mark.process
def test_doctor_speaks_chinese_in_a_chinese_terminal(tmp_path: Path) -> None:
    idle = Clew(tmp_path / "home")
    chinese = idle.run("doctor", env={"LC_ALL": "zh_CN.UTF-8"}).out
    assert "还没有；会在首次使用时创建" in chinese and "none yet" not in chinese
    told = idle.run("doctor", "--json", env={"LC_ALL": "zh_CN.UTF-8"}).json
    [store] = [each for each in told if each["check"] == "store"]
    assert store["detail"] == "none yet; it is created at first use"
    assert store["texts"] == {"detail": {"code": "doctor.no_store"}}


@pytest.mark.process
def test_an_error_of_the_server_is_chinese_in_a_chinese_terminal(tmp_path: Path) -> None:
    result = Clew(tmp_path / "home").run("token", env={"LC_ALL": "zh_CN.UTF-8"})
    assert result.code == 1 and "还没有令牌" in result.err


@pytest.mark.process
def test_doctor_finds_a_chat_whose_token_was_revoked(tmp_path: Path) -> None:
    with open_bot() as bot:
        asyncio.run(bot.do("set", revoked=True))
        with daemon(tmp_path, bot) as clew:
            clew.up()
            client, deadline = JsonClient(clew.home, start=False), time.monotonic() + TIMEOUT
            while not (down := [each for each in client.get("status")["surfaces"] if each["state"] == "down"]):
                assert time.monotonic() < deadline, "the surface is up"
            finding = found(clew.home, "surfaces")
            result = clew.run("doctor")
    assert finding.ok is False and finding.todo is not None
    assert down[0]["reason"] in finding.detail and finding.detail.startswith("telegram is down: ")
    assert result.code == 1 and bot.token not in result.out
