"""`clew adopt` and `clew release`, with the real Codex on both sides."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from msgspec.structs import replace

from clew.cli.commands.adopt import session_table
from clew.model.views import AdoptableView
from clew.runtimes.codex.server import binary
from clew.runtimes.codex.settings import CodexConfig
from clew.testing.scripted_model import write_codex_home
from tests.helpers.daemons import SCRIPTED, TIMEOUT, Clew
from tests.helpers.models import Model
from tests.helpers.views import made

ID = "01a1e2cb-16e3-7b11-80ef-f738444f63ef"


@dataclass(frozen=True, slots=True)
class Setup:
    clew: Clew
    model: Model
    codex_home: Path
    folder: Path

    def codex(self, *args: str) -> str:
        """The person's own Codex, without clew."""
        argv = [binary.locate(CodexConfig()), "exec", *args, "--skip-git-repo-check"]
        env = {**os.environ, "CODEX_HOME": str(self.codex_home)}
        done = subprocess.run(
            argv, cwd=self.folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIMEOUT
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()


@pytest.fixture
def setup(tmp_path: Path) -> Iterator[Setup]:
    folder = tmp_path / "work"
    folder.mkdir()
    with Model() as model:
        home = write_codex_home(tmp_path / "codex", model.url)
        with Clew(tmp_path / "home", f'[runtimes.codex]\nhome = "{home}"\n') as clew:
            yield Setup(clew, model, home, folder)


@pytest.mark.process
def test_a_session_moves_from_codex_to_clew_and_back(setup: Setup) -> None:
    assert setup.codex("begun outside\n!text one") == "one"
    (listed,) = setup.clew.json("adopt", "--workspace", str(setup.folder))
    assert (listed["title"], listed["source"], listed["in_use"]) == ("begun outside\n!text one", "exec", None)
    assert "begun outside" in setup.clew("adopt", "--all")

    thread = setup.clew.json("adopt", "1")
    assert (thread["adopted"], thread["title"]) == (listed["id"], "begun outside")
    view = setup.clew.wait_ended(setup.clew.json("send", thread["id"], "!recall"))
    assert view["text"] == "I remember 2 messages. The first was: begun outside"

    command = setup.clew("release", thread["id"]).strip()
    assert command == f"clew codex resume {listed['id']}"
    assert setup.codex("resume", listed["id"], "!text back at the desk") == "back at the desk"
    passages = setup.clew.json("read", thread["id"])
    assert [(passage["text"], passage["outside"]) for passage in passages][-2:] == [
        ("!text back at the desk", True),
        ("back at the desk", True),
    ]
    assert "(outside clew)" in setup.clew("read", thread["id"], "--plain")
    assert setup.clew.run("adopt", listed["id"]).err.count(thread["id"]) == 2, "it names the thread"


@pytest.mark.heavy
def test_a_daemon_killed_in_mid_turn_reopens_the_adopted_session(setup: Setup) -> None:
    setup.codex("begun outside\n!text one")
    (listed,) = setup.clew.json("adopt", "--all")
    thread = setup.clew.json("adopt", listed["id"])["id"]
    setup.clew.json("send", thread, "!hold killed\n!text two")
    setup.model.wait_held("killed")
    setup.clew.kill()
    setup.model.wait_left("killed")
    setup.model.release("killed")
    setup.clew.up()
    setup.clew.wait_for(thread, "turn.ended", state="completed")
    assert setup.clew.json("read", thread)[-1]["text"] == "two"
    setup.clew("release", thread)
    assert setup.codex("resume", listed["id"], "!recall").endswith("The first was: begun outside")
    setup.clew.wait_for(thread, "thread.released")
    assert setup.clew.json("read", thread)[-1]["outside"]


@pytest.mark.process
def test_adopt_explains_what_is_missing(tmp_path: Path) -> None:
    with Clew(tmp_path / "home", f'{SCRIPTED}[runtimes.codex]\ncommand = "/no/such/codex"\n') as clew:
        number, missing = clew.run("adopt", "7"), clew.run("adopt", "--runtime", "codex")
    assert number.code == 1 and "no number 7 in the last list" in number.err
    assert missing.code == 1 and "Codex program was not found" in missing.err


def test_sessions_are_a_numbered_table() -> None:
    row = made(AdoptableView, id=ID, title="a\x1b[2J\nb", updated_at=940_000, source="cli", workspace="/w")
    used = replace(row, in_use="codex, pid 7")
    head, first, second = session_table([row, used], 1000.0, None)
    assert head.split() == ["ID", "AGE", "WITH", "TITLE", "FOLDER"]
    assert first.split() == ["1", ID, "1m", "cli", "a\\x1b[2J", "b", "/w"]
    assert second.endswith("(in use) a\\x1b[2J b  /w")
    assert [len(line) <= 30 for line in session_table([row, used], 1000.0, 30)] == [True] * 3
    assert session_table([], 0.0, 80) == []
