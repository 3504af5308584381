"""`clew update` of real git clones, and of environments of uv and pipx, which are small programs that note their
calls. The daemon and the database are real."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.helpers.daemons import TIMEOUT, Clew, Result
from tests.helpers.installs import COMMAND, copy_source, git, make_environment, make_origin, write_program
from tests.helpers.paths import ROOT

pytestmark = pytest.mark.process

VERSION = "src/clew/support/version.py"
MAIN = "src/clew/daemon/main.py"
READS_ON = "    incarnation = f"  # in the daemon, after the database was opened and migrated
BROKEN = f'    raise ClewError("this version is broken")\n{READS_ON}'


@dataclass
class Installed:
    """An installed clew, and a home to use it with."""

    clew: Path
    home: Clew

    def __call__(self, *words: str, env: Mapping[str, str] | None = None) -> Result:
        environ = {**os.environ, "CLEW_HOME": str(self.home.root), "LC_ALL": "C.UTF-8", **(env or {})}
        done = subprocess.run(
            [str(self.clew), *words], env=environ, capture_output=True, text=True, timeout=3 * TIMEOUT
        )
        return Result(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Clew]:
    with Clew(tmp_path / "home") as home:
        yield home


@pytest.fixture
def origin(tmp_path: Path) -> Path:
    return make_origin(tmp_path / "origin")


@pytest.fixture
def clone(tmp_path: Path, origin: Path, home: Clew) -> Installed:
    git(tmp_path, "clone", "--quiet", str(origin), "clone")
    return Installed(tmp_path / "clone" / "clew", home)


def commit(origin: Path, **changes: tuple[str, str]) -> None:
    """Commit a change of the version, or of the daemon: text before and after."""
    for name, (old, new) in changes.items():
        path = origin / {"version": VERSION, "main": MAIN}[name]
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))
    git(origin, "add", ".")
    git(origin, "commit", "--quiet", "-m", "New version")


def release(origin: Path) -> None:
    commit(origin, version=('"0.1.0"', '"0.2.0"'))


def threads_of(home: Clew) -> list[str]:
    return [thread["id"] for thread in home.json("threads")]


def test_a_clone_is_updated_and_its_threads_are_there(clone: Installed, origin: Path) -> None:
    thread = json.loads(clone("run", "!text 你好", "--json").out)["thread"]
    release(origin)
    done = clone("update", "--json")
    assert done.code == 0, done.err
    result = done.json
    assert result["updated"] and result["install"] == "clone"
    assert result["installed"].startswith("0.1.0 (") and result["newest"].startswith("0.2.0 (")
    assert Path(result["backup"]).stat().st_mode & 0o777 == 0o600
    assert json.loads(clone("status", "--json").out)["daemon"]["version"] == "0.2.0"
    assert [entry["text"] for entry in json.loads(clone("read", thread, "--json").out)] == ["!text 你好", "你好"]
    for wait in ("looking for a newer version", "stopping the daemon", "backing up", "updating to", "starting"):
        assert wait in done.err


def test_a_version_that_does_not_start_is_rolled_back_with_its_migration(clone: Installed, origin: Path) -> None:
    thread = json.loads(clone("run", "!text hello", "--json").out)["thread"]
    old = git(clone.clew.parent, "rev-parse", "HEAD")
    (origin / "src/clew/store/migrations/9000_more.sql").write_text("CREATE TABLE more (id INTEGER PRIMARY KEY);\n")
    commit(origin, version=('"0.1.0"', '"0.2.0"'), main=(READS_ON, BROKEN))
    failed = clone("update", "--json")
    assert failed.code == 1
    assert failed.json["error"]["code"] == "update_failed"
    assert "this version is broken" in failed.json["error"]["message"]
    assert "clew is back at 0.1.0" in failed.json["error"]["message"]
    assert git(clone.clew.parent, "rev-parse", "HEAD") == old
    assert (clone.home.root / "clew.db.after-failed-update").exists()
    assert json.loads(clone("status", "--json").out)["daemon"]["version"] == "0.1.0"
    assert threads_of(clone.home) == [thread]
    assert json.loads(clone("run", "!text on we go", "--json").out)["state"] == "completed"


def test_a_broken_version_without_a_migration_leaves_the_database_alone(clone: Installed, origin: Path) -> None:
    clone("run", "!text hello")
    commit(origin, main=(READS_ON, BROKEN))
    failed = clone("update")
    assert failed.code == 1 and "every thread is as it was" in failed.err
    assert not (clone.home.root / "clew.db.after-failed-update").exists()
    assert len(threads_of(clone.home)) == 1


def test_check_only_tells_and_leaves_the_daemon_alone(clone: Installed, origin: Path) -> None:
    clone("up")
    pid = clone.home.pid
    assert "is the newest version" in clone("update", "--check").out
    release(origin)
    found = clone("update", "--check", "--json").json
    assert (found["newer"], found["install"]) == (True, "clone")
    assert "clew update" in clone("update", "--check").out
    assert "可安装" in clone("update", "--check", env={"LC_ALL": "zh_CN.UTF-8"}).out
    assert clone.home.pid == pid and json.loads(clone("status", "--json").out)["daemon"]["version"] == "0.1.0"


def test_a_daemon_that_did_not_run_does_not_run_after_the_update(clone: Installed, origin: Path) -> None:
    release(origin)
    assert clone("update").code == 0
    assert clone("status").code == 3
    assert "0.2.0" in clone("--version").out


def test_a_dirty_clone_is_not_touched(clone: Installed, origin: Path) -> None:
    release(origin)
    file = clone.clew.parent / VERSION
    file.write_text(f"{file.read_text()}# mine\n")
    refused = clone("update", "--json")
    assert refused.code == 1 and VERSION in refused.json["error"]["message"]
    assert "# mine" in file.read_text()


def test_a_clone_with_commits_of_its_own_is_not_touched(clone: Installed, origin: Path) -> None:
    release(origin)
    git(clone.clew.parent, "commit", "--quiet", "--allow-empty", "-m", "Mine")
    refused = clone("update")
    assert refused.code == 1 and "git pull --rebase" in refused.err


def test_a_clone_without_a_branch_to_follow_says_so(clone: Installed) -> None:
    git(clone.clew.parent, "checkout", "--quiet", "--detach")
    refused = clone("update", "--check")
    assert refused.code == 1 and "git switch main" in refused.err


def test_without_a_network_the_check_names_the_failed_command(clone: Installed, origin: Path) -> None:
    origin.rename(origin.with_name("gone"))
    failed = clone("update", "--check", "--json")
    assert failed.code == 1 and failed.json["error"]["code"] == "update_failed"
    assert "`git fetch --quiet` failed" in failed.json["error"]["message"]


def test_a_daemon_in_the_foreground_is_not_stopped(clone: Installed, origin: Path) -> None:
    release(origin)
    with_daemon = clone.home.begin("up", "--foreground")
    assert with_daemon.stderr is not None and "ready" in with_daemon.stderr.readline()
    refused = clone("update")
    assert refused.code == 1 and "runs in the foreground" in refused.err
    assert clone("status").code == 0


# Environments of uv and pipx

RECEIPTS = {"uv": "uv-receipt.toml", "pipx": "pipx_metadata.json"}
FAKE = """#!/bin/sh
echo "$*" >>"$CALLS"
case "$*" in
    *"list --outdated"*) echo '[{"name": "clew", "version": "0.1.0", "latest_version": "0.2.0"}]' ;;
    *upgrade*) . "$UPGRADE" ;;
esac
"""
UPGRADE = """sed -i.old 's/"0.1.0"/"0.2.0"/' "$PACKAGES/clew/support/version.py"
"""
BREAK = f"""{UPGRADE}
sed -i.old 's/^{READS_ON}/    raise ClewError("this version is broken")\\n&/' "$PACKAGES/clew/daemon/main.py"
"""
FAIL = """rm "$PACKAGES/clew/support/version.py"
echo "error: no route to host" >&2
exit 2
"""


@dataclass
class Tooled(Installed):
    calls: Path
    environ: dict[str, str]

    def __call__(self, *words: str, env: Mapping[str, str] | None = None) -> Result:
        return super().__call__(*words, env={**self.environ, **(env or {})})

    def upgrades_by(self, script: str) -> None:
        Path(self.environ["UPGRADE"]).write_text(script)


def describe(packages: Path, **direct_url: str) -> None:
    """What an installer writes about the package, and where it came from."""
    folder = packages / "clew-0.1.0.dist-info"
    folder.mkdir(exist_ok=True)
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: clew\nVersion: 0.1.0\n")
    if direct_url:
        (folder / "direct_url.json").write_text(json.dumps(direct_url))


@pytest.fixture(params=["uv", "pipx"])
def tooled(request: pytest.FixtureRequest, tmp_path: Path, home: Clew) -> Tooled:
    prefix = tmp_path / "tools" / "clew"
    packages = make_environment(prefix)
    copy_source(packages / "clew")
    describe(packages)
    (prefix / RECEIPTS[request.param]).write_text("")
    clew = write_program(prefix / "bin" / "clew", COMMAND)
    write_program(tmp_path / "bin" / request.param, FAKE)
    upgrade = tmp_path / "upgrade.sh"
    upgrade.write_text(UPGRADE)
    calls = tmp_path / "calls"
    environ = {
        "PATH": f"{tmp_path / 'bin'}{os.pathsep}/usr/bin{os.pathsep}/bin",
        "CALLS": str(calls),
        "UPGRADE": str(upgrade),
        "PACKAGES": str(packages),
    }
    return Tooled(clew, home, calls, environ)


def test_a_tool_installs_the_new_version(tooled: Tooled) -> None:
    thread = json.loads(tooled("run", "!text hello", "--json").out)["thread"]
    found = tooled("update", "--check", "--json")
    assert found.code == 0, found.err
    assert (found.json["installed"], found.json["newest"]) == ("0.1.0", "0.2.0")
    done = tooled("update", "--json")
    assert done.code == 0, done.err
    called = tooled.calls.read_text().splitlines()
    assert "list --outdated" in called[0] and "upgrade clew" in called[-1] and len(called) == 3
    assert json.loads(tooled("status", "--json").out)["daemon"]["version"] == "0.2.0"
    assert threads_of(tooled.home) == [thread]
    assert [path.name for path in tooled.clew.parents[2].iterdir()] == ["clew"]  # nothing is left beside it


@pytest.mark.parametrize(
    ("script", "words"),
    [(BREAK, "this version is broken"), (FAIL, "no route to host")],
    ids=["broken version", "failed upgrade"],
)
def test_the_environment_of_a_tool_is_put_back(tooled: Tooled, script: str, words: str) -> None:
    thread = json.loads(tooled("run", "!text hello", "--json").out)["thread"]
    tooled.upgrades_by(script)
    failed = tooled("update", "--json")
    assert failed.code == 1 and words in failed.json["error"]["message"], failed.err
    assert json.loads(tooled("status", "--json").out)["daemon"]["version"] == "0.1.0"
    assert threads_of(tooled.home) == [thread]


def test_a_tool_that_installed_from_a_folder_looks_there_for_changes(tooled: Tooled, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    copy_source(folder / "src" / "clew")
    describe(Path(tooled.environ["PACKAGES"]), url=f"file://{folder}")
    assert not tooled("update", "--check", "--json").json["newer"]
    (folder / "src" / "clew" / "more.py").write_text("")
    found = tooled("update", "--check", "--json").json
    assert found["newer"] and found["newest"] == "0.1.0 with changes"
    assert not tooled.calls.exists()


def test_a_missing_tool_is_named(tooled: Tooled) -> None:
    tool = "uv" if (tooled.clew.parents[1] / RECEIPTS["uv"]).exists() else "pipx"
    refused = tooled("update", env={"PATH": "/usr/bin:/bin"})
    assert refused.code == 1 and f"installed with {tool}, which is not on your PATH" in refused.err


def test_an_install_of_another_kind_is_named(tmp_path: Path, home: Clew) -> None:
    packages = make_environment(tmp_path / "venv")
    copy_source(packages / "clew")
    clew = Installed(write_program(tmp_path / "venv" / "bin" / "clew", COMMAND), home)
    refused = clew("update", "--check")
    assert refused.code == 1 and "pip install --upgrade" in refused.err


def test_nothing_else_looks_for_updates() -> None:
    """Only the command itself imports what asks the network."""
    source = ROOT / "src" / "clew"
    users = [
        path.relative_to(source).as_posix()
        for path in source.rglob("*.py")
        if "commands.update" in path.read_text(encoding="utf-8")
    ]
    assert sorted(users) == [
        "cli/command_list.py",
        "cli/commands/update/__init__.py",
        "cli/commands/update/installs.py",
        "cli/commands/update/steps.py",
    ]
