"""`clew runtimes` and `clew ping`, with an ACP agent in its own process."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.daemons import SCRIPTED, Clew
from tests.helpers.json_client import JsonClient as Client
from tests.runtimes.stages import acp_toml

pytestmark = pytest.mark.process


def settings(folder: Path, *what: str) -> str:
    return f'{SCRIPTED}[runtimes.codex]\ncommand = "/no/such/codex"\n{acp_toml(folder, *what)}'


def test_runtimes_are_listed_with_their_health(tmp_path: Path) -> None:
    with Clew(tmp_path / "home", settings(tmp_path)) as clew:
        rows = {row["name"]: row for row in clew.json("runtimes")}
        assert {"codex", "scripted", "hermes", "opencode", "gemini", "player"} <= set(rows)
        player = rows["player"]
        assert (player["health"], player["version"], player["logged_in"]) == ("stopped", "1.2.3", None)
        assert player["can"] == ["images"] and player["todo"] is None
        assert rows["codex"]["health"] == "missing" and "Install Codex" in rows["codex"]["todo"]
        [shown] = [line.split() for line in clew("runtimes").splitlines() if line.startswith("player")]
        assert shown[3] == "unknown", "the agent did not say whether it is logged in"


def test_agents_that_are_neither_installed_nor_configured_are_one_line(tmp_path: Path) -> None:
    with Clew(tmp_path / "home", settings(tmp_path), env={"PATH": "/usr/bin:/bin"}) as clew:
        listed = clew.run("runtimes")
        names = [line.split()[0] for line in listed.out.splitlines()]
        assert names == ["NAME", "codex", "player", "scripted"]  # codex is missing, but in config.toml
        assert "claude, claude-acp, codex-acp, copilot, droid, fast-agent, gemini, goose, hermes" in listed.err
        assert "qwen, vibe; clew runtimes --all" in listed.err
        assert "gemini" in clew("runtimes", "--all")
        clew.up()
        status = clew.run("status")
        assert "gemini" not in status.out and "clew runtimes --all" in status.err
        assert "claude" not in status.out, "neither configured, nor the default, nor the agent of a thread"


def test_doctor_begins_with_what_is_broken_and_folds_missing_agents(tmp_path: Path) -> None:
    with Clew(tmp_path / "home", settings(tmp_path), env={"PATH": "/usr/bin:/bin"}) as clew:
        lines = clew.run("doctor").out.splitlines()
        assert lines[0].startswith("✘ codex")
        checks = [line.split()[1] for line in lines if line[:1] in "✔✘"]
        assert set(checks[1:3]) == {"player", "scripted"} and set(checks[3:6]) == {"config", "daemon", "surfaces"}
        assert lines[-1].startswith("· not installed, and not needed: ") and "hermes, opencode, gemini" in lines[-1]
        assert "gemini" in {row["check"] for row in clew.run("doctor", "--json").json}
        folded = clew.run("doctor", env={"LC_ALL": "zh_CN.UTF-8"}).out.splitlines()[-1]
        assert folded.startswith("· 未安装，也不需要：")


def test_ping_tries_an_agent_and_reports_a_missing_login(tmp_path: Path) -> None:
    with Clew(tmp_path / "home", settings(tmp_path)) as clew:
        assert [step["step"] for step in clew.json("ping", "player")] == ["start", "turn", "stop"]
    with Clew(tmp_path / "other", settings(tmp_path, "no-auth")) as clew:
        result = clew.run("ping", "player")
        assert result.code == 1 and "player is not logged in (please log in first)" in result.err
        [player] = [row for row in clew.json("runtimes") if row["name"] == "player"]
        assert (player["health"], player["logged_in"]) == ("trouble", False)


def test_run_works_with_an_acp_agent(tmp_path: Path) -> None:
    with Clew(tmp_path / "home", settings(tmp_path)) as clew:
        assert clew("run", "--runtime", "player", "!text well and good").strip() == "well and good"
        [thread] = clew.json("threads")
        [bond] = Client(clew.home, start=False).get("threads", thread["id"], "continuity")
        assert (bond["runtime"], bond["status"], bond["restarts"], bond["health"]) == ("player", "cold", 0, "healthy")
        assert "cold" in clew("show", thread["id"])
        [player] = [each for each in clew.json("status")["runtimes"] if each["name"] == "player"]
        assert player["health"] == "healthy"


def test_ping_says_if_the_daemon_has_another_environment(tmp_path: Path) -> None:
    with Clew(tmp_path / "home", f'{SCRIPTED}[runtimes.codex]\ncommand = "/no/such/codex"\n') as clew:
        assert "clew restart" not in clew.run("ping", "codex").err, "no daemon runs"
        clew.up(env={"CODEX_HOME": str(tmp_path / "codex")})
        told = clew.run("ping", "codex").err
        assert "another environment than this shell: CODEX_HOME. clew restart" in told
        same = clew.run("ping", "codex", env={"CODEX_HOME": str(tmp_path / "codex")})
        assert "clew restart" not in same.err
