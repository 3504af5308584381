"""The command group: help, usage, exit codes, and lazy imports."""

from __future__ import annotations

import errno
import re
import subprocess
import sys
from pathlib import Path

import pytest

from clew.cli.command_list import COMMANDS
from clew.cli.main import cli, main
from tests.helpers.daemons import Clew

HEAVY = ("asyncio", "starlette", "uvicorn", "httpx", "msgspec", "sqlite3", "subprocess", "http.client")
SELDOM = ("json", "hashlib", "shutil", "tempfile", "clew.client.events", "clew.client.follower")
SHOWY = ("rich", "prompt_toolkit")


def imported_by(code: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\n{code}\nprint(*sys.modules)"], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


@pytest.mark.process
def test_help_imports_nothing_slow() -> None:
    assert imported_by("import clew.cli.main").isdisjoint((*HEAVY, *SHOWY))


@pytest.mark.process
def test_a_plain_command_imports_no_daemon_code() -> None:
    wanted = imported_by("import clew.cli.main, clew.cli.commands.threads, clew.client.sync, clew.process.start")
    assert wanted.isdisjoint({*HEAVY, *SHOWY} - {"msgspec"})
    assert wanted.isdisjoint(SELDOM), "the views are paid for by what is imported only when it is needed"


@pytest.mark.process
@pytest.mark.parametrize(
    "command", ["commands.run", "commands.lifecycle", "commands.chat", "completion", "follow", "view.screen"]
)
def test_display_libraries_are_imported_only_when_needed(command: str) -> None:
    assert imported_by(f"import clew.cli.{command}, clew.client.sync").isdisjoint(SHOWY)


@pytest.mark.parametrize("name", COMMANDS)
def test_each_help_line_equals_the_help_of_its_command(name: str) -> None:
    import click

    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    assert command.name == name
    _, english, chinese = COMMANDS[name]
    assert command.short_help == english and re.search("[\u4e00-\u9fff]", chinese)
    own_words = name == "codex"  # all its arguments go to Codex
    assert own_words or any("--json" in option.opts for option in command.params)


@pytest.fixture
def idle(tmp_path: Path) -> Clew:
    """A home without a running daemon."""
    return Clew(tmp_path / "home")


@pytest.mark.process
def test_version_option_prints_the_version(idle: Clew) -> None:
    from clew import __version__

    assert idle("--version") == f"clew {__version__}\n"


@pytest.mark.process
@pytest.mark.parametrize(
    "words",
    [["nonsense"], ["run"], ["threads", "--limit", "0"], ["resume", "01ABC"], ["run", "x", "--file", "/nowhere"]],
)
def test_wrong_usage_exits_with_2_and_says_what_is_wrong(idle: Clew, words: list[str]) -> None:
    result = idle.run(*words)
    assert result.code == 2
    assert "\nclew: " in result.err
    assert idle.json(*words, code=2)["error"]["code"] == "usage"


@pytest.mark.process
@pytest.mark.parametrize("words", [[], ["config"]])
def test_without_a_command_the_help_is_shown_once(idle: Clew, words: list[str]) -> None:
    result = idle.run(*words)
    assert (result.code, result.out) == (2, "")
    assert result.err.count("Usage: clew") == 1 and "Options:" in result.err and "\nclew: " not in result.err
    assert idle.json(*words, code=2)["error"]["code"] == "usage"


@pytest.mark.process
def test_status_without_a_daemon_exits_with_3_and_starts_none(idle: Clew) -> None:
    result = idle.run("status")
    assert result.code == 3
    assert result.err == "clew: the daemon does not run; `clew up` starts it\n"
    assert idle.run("--json", "status").json == {
        "daemon": None,
        "runtimes": [],
        "surfaces": [],
        "fates": {},
        "gates": 0,
        "damaged": [],
        "error": {"code": "out_of_reach", "message": "the daemon does not run; `clew up` starts it", "pid": None},
    }
    assert not idle.home.root.exists()


@pytest.mark.process
def test_down_without_a_daemon_is_fine(idle: Clew) -> None:
    assert idle("down") == "not running\n"
    assert idle.json("down") == {"stopped": False}


@pytest.mark.process
def test_notify_without_a_store_has_nothing_to_do(idle: Clew) -> None:
    assert idle.json("notify") == []
    assert not idle.home.root.exists()


@pytest.mark.process
def test_logs_without_a_log_are_empty(idle: Clew) -> None:
    assert idle("logs") == ""


@pytest.mark.process
def test_doctor_needs_no_home_and_creates_none(idle: Clew) -> None:
    found = {finding["check"]: finding for finding in idle.run("doctor", "--json").json}
    assert set(found) >= {"python", "home", "config", "store", "disk", "socket", "port", "codex", "children", "plugins"}
    assert all(found[check]["ok"] is not False for check in found if check != "codex")
    assert not idle.home.root.exists()


@pytest.mark.process
def test_doctor_names_the_wrong_line_of_the_config(idle: Clew) -> None:
    idle.home.root.mkdir()
    idle.configure("[http]\nprot = 1\n")
    found = {finding["check"]: finding for finding in idle.run("doctor", "--json").json}
    assert not found["config"]["ok"]
    assert "line 2" in found["config"]["detail"]


@pytest.mark.process
def test_json_may_stand_before_the_command_or_after_it(clew: Clew) -> None:
    assert clew.run("--json", "threads").json == clew.run("threads", "--json").json


@pytest.mark.process
def test_an_unknown_thread_exits_with_1_and_the_engines_message(clew: Clew) -> None:
    result = clew.run("show", "0000")
    assert result.code == 1
    assert result.err.startswith("clew: There is no thread 0000")
    assert clew.json("show", "0000", code=1)["error"]["code"] == "not_found"


@pytest.mark.process
def test_a_thread_is_found_by_the_beginning_of_its_id(clew: Clew) -> None:
    threads = [clew.json("run", "!text hi")["thread"] for _ in range(2)]
    assert clew.json("show", threads[0].lower()[:22])["id"] == threads[0]
    error = clew.json("show", threads[0][:4], code=2)["error"]
    assert error["code"] == "ambiguous" and all(clew.handle(thread) in error["message"] for thread in threads)


@pytest.mark.process
def test_a_dot_is_the_newest_thread_of_this_folder(clew: Clew, tmp_path: Path) -> None:
    here = clew.json("run", "!text hi", "--workspace", str(Path.cwd()))["thread"]
    clew.json("run", "!text there", "--workspace", str(tmp_path))
    assert clew.json("show", ".")["id"] == here


@pytest.mark.process
def test_a_dot_is_what_was_made_last_whatever_was_active_last(clew: Clew) -> None:
    oldest, finished, newest = (clew.json("run", "!text hi")["thread"] for _ in range(3))
    clew("done", finished)
    clew("send", oldest, "!text again")
    clew("wait", oldest)
    assert clew.json("show", ".")["id"] == newest
    clew("done", newest)
    assert clew.json("show", ".")["id"] == newest


@pytest.mark.process
def test_a_closed_output_pipe_does_not_crash(clew: Clew) -> None:
    process = clew.begin("logs", "-n", "100000")
    assert process.stdout is not None
    process.stdout.close()
    process.stdout = None
    assert "Traceback" not in clew.wait(process).err


def test_permission_denied_names_the_file_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(out: object) -> int:
        raise PermissionError(errno.EACCES, "Permission denied", "/home/ann/.clew/run/clew.lock")

    monkeypatch.setattr("clew.cli.main._run", refuse)
    assert main() == 1
    assert "you may not open /home/ann/.clew/run/clew.lock" in capsys.readouterr().err


@pytest.mark.process
def test_a_home_below_a_file_is_an_error_without_a_traceback(clew: Clew, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for command in (["status"], ["threads"], ["run", "hi"], ["doctor"]):
        result = clew.run(*command, env={"CLEW_HOME": str(tmp_path / "file" / "home")})
        assert (
            result.code in (1, 3)
            and "Traceback" not in result.err
            and str(tmp_path / "file") in result.err + result.out
        )
