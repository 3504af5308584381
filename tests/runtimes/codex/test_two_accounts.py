"""Two accounts of Codex: what one logs in with is never given to the other, nor kept by clew."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from clew.testing.scripted_model import write_codex_home
from tests.crash.conftest import open_system

pytestmark = pytest.mark.process

KEY = "sk-of-the-first-account"


def holders(folder: Path) -> list[str]:
    """The files that hold the key."""
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return sorted(str(path.relative_to(folder)) for path in files if KEY.encode() in path.read_bytes())


def test_the_login_of_one_account_is_never_copied_to_another(tmp_path: Path) -> None:
    work = tmp_path / "work"
    more = f"""
        [runtimes.codex-work]
        type = "codex"
        home = "{work}"
        [threads]
        fallback = ["codex", "codex-work"]
    """
    with open_system(tmp_path, more=more) as system:
        write_codex_home(work, system.model.url)
        (login := tmp_path / "codex" / "auth.json").write_text(json.dumps({"OPENAI_API_KEY": KEY}))
        clew = system.clew
        clew.up()
        started = clew.json("start", "!error insufficient_quota 1\n!text done", "--workspace", str(tmp_path))
        assert clew.wait_ended(started)["runtime"] == "codex-work"
        clew("limits")
        clew("switch", started["thread"], "codex-work")
        again = clew.json("send", started["thread"], "!text again")
        assert clew.wait_ended(again)["text"] == "again"
        assert holders(tmp_path) == [str(login.relative_to(tmp_path))]
        assert not (work / "auth.json").exists()
