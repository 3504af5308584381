"""`clew service`: the files it writes. The service manager on PATH is a fake."""

from __future__ import annotations

import plistlib
import shlex
import sys
from configparser import RawConfigParser
from pathlib import Path

import pytest

from clew.cli.commands import service
from clew.support.errors import Refused
from clew.support.home import Home
from tests.helpers.daemons import Clew

PROGRAM = [sys.executable, "-P", "-m", "clew.process.bootstrap", "clew.cli.main", "up", "--foreground"]


@pytest.fixture
def clew(tmp_path: Path) -> Clew:
    """A home with its own config folder, and no service manager on the PATH."""
    (tmp_path / "bin").mkdir()
    env = {"XDG_CONFIG_HOME": str(tmp_path / "config"), "HOME": str(tmp_path), "PATH": str(tmp_path / "bin")}
    return Clew(tmp_path / "a home", env=env)


def unit(tmp_path: Path) -> Path:
    return tmp_path / "config" / "systemd" / "user" / "clew.service"


def read(text: str) -> RawConfigParser:
    parser = RawConfigParser(strict=False)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(text)
    return parser


if sys.platform == "linux":

    @pytest.mark.process
    def test_install_writes_a_unit_and_says_what_to_do_next(clew: Clew, tmp_path: Path) -> None:
        result = clew.run("service", "install")
        written = read(unit(tmp_path).read_text())
        assert (result.code, result.out) == (0, f"written: {unit(tmp_path)}\n")
        assert result.err.splitlines() == [
            "next: systemctl --user daemon-reload",
            "next: systemctl --user enable --now clew.service",
        ]
        assert shlex.split(written["Service"]["ExecStart"]) == PROGRAM
        assert written["Service"]["Restart"] == "on-failure"
        assert written["Install"]["WantedBy"] == "default.target"
        assert f'Environment="CLEW_HOME={clew.root}"' in unit(tmp_path).read_text()
        assert f'Environment="PATH={tmp_path / "bin"}"' in unit(tmp_path).read_text()

    @pytest.mark.process
    def test_install_again_changes_nothing(clew: Clew) -> None:
        assert clew.json("service", "install")["changed"] is True
        again = clew.json("service", "install")
        assert (again["changed"], again["next"][-1]) == (False, "systemctl --user enable --now clew.service")

    @pytest.mark.process
    def test_remove_deletes_the_unit_and_its_link(clew: Clew, tmp_path: Path) -> None:
        clew("service", "install")
        link = unit(tmp_path).parent / "default.target.wants" / "clew.service"
        link.parent.mkdir()
        link.symlink_to(unit(tmp_path))
        removed = clew.json("service", "remove")
        assert removed == {"file": str(unit(tmp_path)), "changed": True, "next": ["systemctl --user daemon-reload"]}
        assert not unit(tmp_path).exists() and not link.is_symlink()
        assert clew("service", "remove") == f"not found: {unit(tmp_path)}\n"

    @pytest.mark.process
    def test_print_only_prints(clew: Clew, tmp_path: Path) -> None:
        printed = clew("service", "install", "--print")
        assert not unit(tmp_path).exists()
        clew("service", "install")
        assert printed == unit(tmp_path).read_text()
        assert clew.json("service", "install", "--print") == {"file": str(unit(tmp_path)), "text": printed}

    @pytest.mark.process
    def test_a_unit_not_written_by_clew_is_left_alone(clew: Clew, tmp_path: Path) -> None:
        unit(tmp_path).parent.mkdir(parents=True)
        unit(tmp_path).write_text("[Unit]\n")
        for action in ("install", "remove"):
            assert "was not written by clew" in clew.json("service", action, code=1)["error"]["message"]
        assert unit(tmp_path).read_text() == "[Unit]\n"

    @pytest.mark.process
    def test_enable_without_a_service_manager_says_so(clew: Clew, tmp_path: Path) -> None:
        assert "systemctl is not installed" in clew.run("service", "install", "--enable").err
        assert unit(tmp_path).exists()

    @pytest.mark.process
    def test_enable_calls_the_service_manager_and_shows_its_error(clew: Clew, tmp_path: Path) -> None:
        stand_in = tmp_path / "bin" / "systemctl"
        stand_in.write_text(f'#!/bin/sh\necho "$*" >>"{tmp_path}/calls"\n')
        stand_in.chmod(0o755)
        assert clew.json("service", "install", "--enable")["next"] == []
        asked = (tmp_path / "calls").read_text().splitlines()
        assert asked == ["--user daemon-reload", "--user enable --now clew.service"]
        stand_in.write_text("#!/bin/sh\necho no bus >&2\nexit 1\n")
        assert "daemon-reload` failed: no bus" in clew.run("service", "install", "--enable").err


def test_special_characters_in_a_unit_are_escaped(tmp_path: Path) -> None:
    odd = Home(tmp_path / 'a "b" \\ 100% $HOME')
    text = service.systemd(odd, {"PATH": "/bin"}).text
    assert f'Environment="CLEW_HOME={tmp_path}/a \\"b\\" \\\\ 100%% $HOME"' in text
    with pytest.raises(Refused, match="line break"):
        service.systemd(Home(tmp_path / "two\nlines"), {})


def test_variables_that_agents_need_are_kept_in_the_unit(tmp_path: Path) -> None:
    text = service.systemd(Home(tmp_path), {"CODEX_HOME": "/c", "SECRET": "s", "PATH": "/bin"}).text
    assert 'Environment="CODEX_HOME=/c"' in text
    assert "SECRET" not in text


def test_a_kept_agent_survives_a_daemon_crash(tmp_path: Path) -> None:
    home = Home(tmp_path)
    assert "KillMode=mixed" in service.systemd(home, {}).text
    home.config.write_text('[runtimes.codex]\ntransport = "socket"\n')
    assert "KillMode=process" in service.systemd(home, {}).text


def test_macos_uses_a_launchd_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    made = service.launchd(Home(tmp_path / "h"), {"PATH": "/bin"})
    agent = plistlib.loads(made.text.encode())
    assert made.file == tmp_path / "Library" / "LaunchAgents" / "clew.daemon.plist"
    assert agent["ProgramArguments"] == PROGRAM
    assert agent["EnvironmentVariables"] == {"CLEW_HOME": str(tmp_path / "h"), "PATH": "/bin"}
    assert agent["KeepAlive"] == {"SuccessfulExit": False}
    assert service.OURS in made.text
    assert made.enable[0][:2] == ("launchctl", "bootstrap")
