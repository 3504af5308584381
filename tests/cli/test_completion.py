"""Shell completion, with the real shells if they are installed."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.daemons import SCRIPTED, TIMEOUT, Clew, _argv

pytestmark = pytest.mark.process

# A person would not wait so long for a daemon's answer.
PATIENT = f"import sys; from clew.cli import completion, main; completion.TIMEOUT = {TIMEOUT}; sys.exit(main.main())"


def completed(clew: Clew, words: str, last: int) -> list[str]:
    """The completions for a shell: lines of kind and value."""
    given = {"_CLEW_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(last)}
    command = [sys.executable, "-c", PATIENT]
    done = subprocess.run(
        command, capture_output=True, text=True, env=clew._environ(given), timeout=TIMEOUT, check=True
    )
    return [line.partition(",")[2] for line in done.stdout.splitlines()]


def test_commands_and_options_are_completed(clew: Clew) -> None:
    assert completed(clew, "clew thr", 1) == ["threads"]
    assert "--supplement" in completed(clew, "clew resume --s", 2)


def test_ids_of_threads_are_completed_whether_active_or_finished(clew: Clew) -> None:
    threads = [clew.json("run", "!text hi")["thread"] for _ in range(2)]
    clew("done", threads[0])
    assert set(completed(clew, "clew show 01", 2)) >= set(threads)
    assert completed(clew, f"clew chat {threads[0].lower()[:24]}", 2) == threads[:1]


def test_settings_of_a_thread_are_completed(clew: Clew) -> None:
    thread = clew.json("run", "!text hi")["thread"]
    assert {"model=", "effort=", "fallback=", "limit_waits="} <= set(completed(clew, f"clew set {thread} ", 3))
    assert completed(clew, f"clew set {thread} policy=y", 3) == ["policy=yolo"]
    assert "".join(completed(clew, f"clew set {thread} model=", 3)) == ""  # the scripted agent names none


def test_runtimes_targets_and_settings_are_completed(tmp_path: Path) -> None:
    hooks = "".join(f'[surfaces.webhook.{name}]\nsecret = "x"\nurl = "http://localhost"\n' for name in ("ci", "cd"))
    with Clew(tmp_path, f'{SCRIPTED}{hooks}[surfaces.webhook.inward]\nsecret = "x"\n') as clew:
        assert completed(clew, "clew run --runtime cod", 3) == ["codex", "codex-acp"]
        offered = completed(clew, "clew ping ", 2)
        assert {"claude", "claude-acp", "codex", "gemini", "hermes", "opencode", "scripted"} <= set(offered)
        assert offered == sorted(offered)
        assert completed(clew, "clew start --notify ", 3) == ["local", "webhook:cd", "webhook:ci"]
        assert completed(clew, "clew config set http.", 3) == ["http.host", "http.port", "http.token"]


def test_completion_without_a_daemon_is_silent_and_starts_none(tmp_path: Path) -> None:
    idle = Clew(tmp_path / "home")
    result = idle.run(env={"_CLEW_COMPLETE": "bash_complete", "COMP_WORDS": "clew show 0", "COMP_CWORD": "2"})
    assert (result.out.strip(), result.err) == ("", "")
    assert not idle.home.root.exists()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_the_script_of_each_shell(clew: Clew, shell: str) -> None:
    script = clew("completion", shell)
    assert f"_CLEW_COMPLETE={shell}_complete" in script
    assert clew.json("completion", shell) == {"shell": shell, "script": script.removesuffix("\n")}


@pytest.mark.parametrize("shell", [shell for shell in ("bash", "zsh", "fish") if shutil.which(shell)])
def test_each_shell_accepts_its_completion_script(clew: Clew, shell: str) -> None:
    done = subprocess.run(
        [shell, "-n"], input=clew("completion", shell), capture_output=True, text=True, timeout=TIMEOUT
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_completion_is_silent_when_a_shell_profile_loads_it(clew: Clew) -> None:
    own, terminal = pty.openpty()
    subprocess.run(_argv(["completion", "bash"]), stdout=subprocess.PIPE, stderr=terminal, check=True)
    os.close(terminal)
    with pytest.raises(OSError):  # it ends without output
        os.read(own, 1)
    os.close(own)


def test_bash_completes_with_the_script(clew: Clew, tmp_path: Path) -> None:
    thread = clew.json("run", "!text hi")["thread"]
    program = tmp_path / "clew"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "{PATIENT}" "$@"\n')
    program.chmod(0o755)
    ask = f"""
    {clew("completion", "bash")}
    COMP_WORDS=(clew show {thread[:25]}); COMP_CWORD=2
    _clew_completion clew >/dev/null; echo "${{COMPREPLY[@]}}"
    """
    environ = {**clew._environ(), "PATH": f"{tmp_path}:/usr/bin:/bin"}
    done = subprocess.run(["bash", "-c", ask], capture_output=True, text=True, env=environ, timeout=TIMEOUT)
    assert (done.stdout, done.stderr) == (f"{thread}\n", "")
