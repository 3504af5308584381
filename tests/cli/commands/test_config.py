"""`clew init` and `clew config`."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from clew.cli.commands.init import Answers, config_text
from clew.config.settings import Config, ThreadsConfig, load, parse
from clew.daemon.first_start import FIRST_CONFIG
from tests.helpers.daemons import Clew, Result
from tests.helpers.fake_codex import FAILS, WORKS, codex_on_path
from tests.helpers.paths import ROOT

DOCS = ROOT / "docs" / "reference" / "cli.md"


@pytest.fixture
def idle(tmp_path: Path) -> Clew:
    """A home without a running daemon."""
    return Clew(tmp_path / "home")


def fields(command: str) -> set[str]:
    """The fields in docs/reference/cli.md."""
    section = DOCS.read_text(encoding="utf-8").partition(f"### `clew {command}")[2]
    found = re.search(r"^JSON: ((?:`\w+`,?\s)+)", section, re.MULTILINE)
    assert found is not None
    return set(re.findall(r"`(\w+)`", found[1]))


def at_a_terminal(idle: Clew, *answers: str) -> str:
    """The screen of `clew init` with these answers."""
    master, slave = pty.openpty()
    os.write(master, "".join(f"{answer}\n" for answer in answers).encode())
    command = [sys.executable, "-m", "clew.cli.main", "init"]
    environ = {**os.environ, "CLEW_HOME": str(idle.root), **codex_on_path(idle.root.parent, FAILS)}
    done = subprocess.run(command, stdin=slave, capture_output=True, text=True, env=environ, timeout=60)
    os.close(master)
    os.close(slave)
    assert done.returncode == 0, done.stderr
    return done.stderr


@pytest.mark.process
@pytest.mark.parametrize(("sandbox", "policy"), [(WORKS, "sandbox"), (FAILS, "careful")])
def test_init_without_a_terminal_asks_nothing_and_writes_a_valid_file(
    idle: Clew, tmp_path: Path, sandbox: str, policy: str
) -> None:
    result = idle.run("init", env=codex_on_path(tmp_path, sandbox))
    assert (result.code, result.out) == (0, f"written: {idle.home.config}\n")
    assert "\nnext: clew " in result.err
    assert load(idle.home.config) == replace(Config(), threads=ThreadsConfig(policy=policy))
    assert idle.home.config.stat().st_mode & 0o777 == 0o600
    assert idle("config", "check") == f"ok: {idle.home.config}\n"


@pytest.mark.process
def test_init_replaces_a_file_only_with_force_and_keeps_a_copy(idle: Clew) -> None:
    idle.home.root.mkdir()
    idle.configure("[http]\nport = 1\n")
    result = idle.run("init", "--yes")
    assert result.code == 1
    assert "`clew init --force` replaces it and keeps a copy" in result.err
    kept = [idle.json("init", "--force")["kept"] for _ in range(2)]
    assert [Path(copy).name for copy in kept] == ["config.toml.old", "config.toml.old2"]
    assert Path(kept[0]).read_text() == "[http]\nport = 1\n"
    assert Path(kept[0]).stat().st_mode & 0o777 == 0o600


@pytest.mark.process
def test_init_replaces_what_the_first_start_wrote_unless_somebody_changed_it(idle: Clew) -> None:
    idle.home.root.mkdir()
    idle.configure(FIRST_CONFIG)
    assert idle.json("init", env=codex_on_path(idle.root.parent, WORKS))["policy"] == "sandbox"
    idle.configure(FIRST_CONFIG.replace('"sandbox"', '"careful"'))
    assert idle.run("init").code == 1


@pytest.mark.process
def test_init_takes_answers_at_a_terminal(idle: Clew, tmp_path: Path) -> None:
    seen = at_a_terminal(idle, str(tmp_path / "nowhere"), str(tmp_path))
    assert "there is no folder" in seen
    assert load(idle.home.config).threads.workspace == str(tmp_path)


@pytest.mark.process
def test_init_at_a_terminal_accepts_the_defaults(idle: Clew) -> None:
    at_a_terminal(idle, "")
    assert load(idle.home.config) == Config()


@pytest.mark.process
def test_init_without_codex_says_how_to_get_it_and_what_works_without(idle: Clew) -> None:
    nowhere = {"PATH": "/nowhere", "PYTHONPATH": str(without_codex(idle.root.parent))}
    result = idle.run("init", env=nowhere)
    assert "codex: not found" in result.err
    assert "Install Codex" in result.err
    assert "next: clew demo" in result.err


def without_codex(folder: Path) -> Path:
    """A folder for PYTHONPATH in which the bundled Codex cannot be imported."""
    (folder / "modules").mkdir()
    (folder / "modules" / "codex_cli_bin.py").write_text("raise ImportError\n")
    return folder / "modules"


def test_the_file_of_init_loads_with_every_example_uncommented() -> None:
    text = config_text(Answers('/some "odd" folder'))
    assert parse(text, "config.toml").threads.workspace == '/some "odd" folder'
    in_force = re.sub(r"^# (?=\[|\w+ = )", "", text, flags=re.MULTILINE)
    settings = parse(in_force, "config.toml")
    assert (settings.http.port, settings.surfaces["webhook"]["ci"].url) == (7621, "https://ci.example.org/clew")


def test_the_defaults_that_init_shows_are_true() -> None:
    in_force = tomllib.loads(re.sub(r"^# (?=\w+ = )", "", config_text(Answers()), flags=re.MULTILINE))
    assert in_force["turns"] == {"parallel": Config().turns.parallel, "silence": Config().turns.silence}
    assert in_force["log"] == {"level": Config().log.level}


@pytest.mark.process
def test_get_shows_effective_values(idle: Clew) -> None:
    idle.home.root.mkdir()
    idle.configure('[http]\nport = 80\n[surfaces.webhook.ci]\nsecret = "hush"\n')
    assert idle("config", "get", "http.port") == "80\n"
    assert idle("config", "get", "turns.silence") == "600\n"
    assert idle("config", "get", "threads.workspace") == "\n"
    told = idle("config", "get", "http").splitlines()
    assert [line.split() for line in told[:2]] == [["http.host", "127.0.0.1", "(default)"], ["http.port", "80"]]
    everything = idle.run("config", "get")
    assert "hush" not in everything.out + idle.run("config", "get", "surfaces.webhook.ci.secret").out
    assert "surfaces.webhook.ci.secret" in everything.out
    assert idle.json("config", "get", "http.port") == {"key": "http.port", "value": 80, "is_set": True}
    listed = idle.json("config", "get")
    assert fields("config get") == set(listed[0])
    assert {each["key"]: each["value"] for each in listed}["surfaces.webhook.ci.secret"] == "[secret]"


@pytest.mark.process
@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["get", "htp"], "htp is not a setting: did you mean `http`?"),
        (["get", "http.port.x"], "http.port.x is not a setting"),
        (["get", "surfaces.webhook"], "surfaces.webhook is not set; `clew config get` shows all settings"),
        (["set", "http.prot", "1"], "http.prot is not a setting: did you mean `port`?"),
        (["set", "http", "1"], "http is a table, not a setting. It contains: host, port, token."),
        (["set", "http.port", "99999"], "line 2: http.port is 99999: it must be from 0 to 65535"),
        (["set", "http.port", "many"], "line 2: http.port must be a whole number, not text in quotes"),
        (
            ["set", "threads.runtime", "cdex"],
            "openhands, qwen, scripted, vibe. Nothing was changed.",
        ),
        (["set", "http.host", " "], "line 2: http.host must not be empty"),
        (["set", "surfaces.webhook.ci.url", "http://x"], "line 1: surfaces.webhook.ci needs `secret`"),
    ],
)
def test_an_invalid_change_is_refused_and_nothing_is_written(idle: Clew, words: list[str], why: str) -> None:
    result = idle.run("config", *words)
    assert (result.code, result.err.count("\n")) == (1, 1)
    assert result.err.rstrip().endswith(why)
    assert not idle.home.config.exists()


@pytest.mark.process
def test_set_changes_one_line_and_keeps_the_rest(idle: Clew) -> None:
    idle("init")
    before = idle.home.config.read_text().splitlines()
    assert idle("config", "set", "http.port", "8001") == "http.port = 8001\n"
    assert idle.json("config", "set", "turns.silence", "1.5") == {"key": "turns.silence", "value": 1.5, "is_set": True}
    after = idle.home.config.read_text().splitlines()
    assert [line for line in after if line not in before] == ["silence = 1.5", "port = 8001"]
    assert [line for line in after if line in before] == before
    assert idle.home.config.stat().st_mode & 0o777 == 0o600
    assert fields("config set") == {"key", "value", "is_set"}


@pytest.mark.process
def test_unset_removes_one_setting_and_restores_the_default(idle: Clew) -> None:
    idle("init")
    before = idle.home.config.read_text()
    idle("config", "set", "http.port", "8001")
    idle("config", "set", "turns.silence", "5")
    assert idle("config", "unset", "http.port") == "http.port is not set any more\n"
    unset = idle.json("config", "unset", "turns.silence")
    assert unset == {"key": "turns.silence", "value": 600.0, "is_set": False}
    assert fields("config unset") == set(unset)
    assert idle.home.config.read_text() == before


@pytest.mark.process
def test_unset_refuses_unset_and_required_settings(idle: Clew) -> None:
    assert "http.port is not set" in idle.run("config", "unset", "http.port").err
    assert "did you mean `port`?" in idle.run("config", "unset", "http.prot").err
    idle.home.root.mkdir()
    text = '[surfaces.webhook.ci]\nsecret = "hush"\nurl = "http://localhost"\n'
    idle.configure(text)
    result = idle.run("config", "unset", "surfaces.webhook.ci.secret")
    assert (result.code, "surfaces.webhook.ci needs `secret`" in result.err) == (1, True)
    assert idle.home.config.read_text() == text
    idle("config", "unset", "surfaces.webhook.ci")
    assert load(idle.home.config).surfaces == {}


@pytest.mark.process
def test_a_secret_is_read_from_stdin_and_not_shown(idle: Clew) -> None:
    result: Result = idle.run("config", "set", "surfaces.webhook.ci.secret", "-", input="hush\n")
    assert (result.code, result.out) == (0, "surfaces.webhook.ci.secret = [secret]\n")
    assert load(idle.home.config).surfaces["webhook"]["ci"].secret == "hush"


@pytest.mark.process
def test_set_does_not_touch_an_invalid_file(idle: Clew) -> None:
    idle.home.root.mkdir()
    idle.configure("[htp]\nport = 1\n")
    result = idle.run("config", "set", "http.port", "1")
    assert (result.code, "line 1: htp is not a setting" in result.err) == (1, True)
    assert idle.home.config.read_text() == "[htp]\nport = 1\n"


@pytest.mark.process
def test_check_names_every_mistake(idle: Clew) -> None:
    assert idle("config", "check").startswith("ok: there is no ")
    idle.home.root.mkdir()
    idle.configure("[htp]\n[turns]\nparallel = 0\n")
    checked = idle.json("config", "check", code=1)
    assert fields("config check") == set(checked)
    assert (checked["ok"], len(checked["mistakes"])) == (False, 2)
    assert len(idle.run("config", "check").out.splitlines()) == 2


@pytest.mark.process
def test_check_names_settings_that_load_but_cannot_work_or_are_unsafe(idle: Clew) -> None:
    idle.home.root.mkdir()
    idle.configure('[threads]\nruntime = "codx"\n[surfaces.webhook.ci]\nsecret = "hush"\n')
    idle.home.config.chmod(0o644)
    runtime, mode = idle.json("config", "check", code=1)["mistakes"]
    assert runtime.startswith(
        "threads.runtime is 'codx': it must be one of claude, claude-acp, codex, codex-acp, copilot"
    )
    assert mode.endswith(f"chmod 600 {idle.home.config}")
    with idle.home.config.open("a") as file:
        file.write("[http]\nprot = 1\n")
    wrong, *others = idle.json("config", "check", code=1)["mistakes"]
    assert "http.prot is not a setting" in wrong and others == [runtime, mode], "of every kind of mistake, all"
