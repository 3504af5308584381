"""./clew, ./check and .ci/run in a copy of the checkout, with stand-ins for uv, venv and what they would install."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.helpers.paths import ROOT

pytestmark = pytest.mark.process

TOOLS = ("sh", "bash", "env", "cat", "chmod", "cmp", "cp", "dirname", "find", "head", "ln", "mkdir", "readlink", "rm")
WATCHED_WITH = ("strace", "rg", "tree", "zsh", "file")

# Stands in for uv: notes what it was asked, waits or dies where told, and "installs" little scripts.
FAKE_UV = """#!/bin/sh
echo "uv $*" >>"$CALLS"
case "$1 $2" in
    "venv --quiet")
        [ -z "${KILL_INSTALL:-}" ] || kill -9 $PPID
        [ -z "${HOLD:-}" ] || read -r _ <"$HOLD"
        for venv; do :; done
        rm -rf "$venv" && mkdir -p "$venv/bin"
        ;;
    "pip install")
        [ -z "${UV_FAILS:-}" ] || { echo "no such index" >&2; exit 7; }
        venv=.venv
        ;;
esac
. "$FAKES"
"""

# What an install leaves behind, whoever did it.
FAKES = """
script() {
    printf '#!/bin/sh\\n%s\\n' "$2" >"$venv/bin/$1"
    chmod +x "$venv/bin/$1"
}
script python 'echo "python $*" >>"$CALLS"; case "$*" in *"pip install"*) venv=.venv; . "$FAKES" ;; esac'
script clew 'echo "clew $*"'
for tool in ruff mypy; do
    script $tool "echo \\"$tool \\$*\\"; exit \\${FAIL_$tool:-0}"
done
script pytest 'echo "skips ${CLEW_NO_SKIPS:-allowed}"; for word; do printf "<%s>" "$word"; done; echo; echo "3 passed"'
[ -n "${NO_CODEX:-}" ] || mkdir -p "$venv/lib/python3.11/site-packages/codex_cli_bin"
"""

# Stands in for npm: "installs" little scripts into node_modules, where it is called.
FAKE_NPM = """#!/bin/sh
echo "npm $*" >>"$CALLS"
[ -z "${NPM_FAILS:-}" ] || exit 7
mkdir -p node_modules/.bin
for tool in eslint tsc; do
    printf '#!/bin/sh\\n%s\\n' "echo \\"$tool \\$*\\"; exit \\${FAIL_$tool:-0}" >node_modules/.bin/$tool
    chmod +x node_modules/.bin/$tool
done
"""

# Stands in for the venv module.
FAKE_VENV = """
import os, subprocess, sys
with open(os.environ["CALLS"], "a") as calls:
    calls.write("venv\\n")
script = 'rm -rf "$venv" && mkdir -p "$venv/bin" && . "$FAKES" && : >"$venv/bin/pip"'
subprocess.run(["sh", "-c", script], env={**os.environ, "venv": sys.argv[-1]}, check=True)
"""


@dataclass
class Checkout:
    root: Path
    bin: Path
    calls: Path

    def environ(self, **more: str) -> dict[str, str]:
        ours = {"PATH": str(self.bin), "CALLS": str(self.calls), "FAKES": str(self.bin / "fakes.sh")}
        return {**ours, "CLEW_CLAUDE": "claude", **more}

    def run(self, *command: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, cwd=self.root, env=self.environ(**more), capture_output=True, text=True)

    def clew(self, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        return self.run("./clew", *arguments, **more)

    def new_calls(self) -> list[str]:
        """The calls since the last time this was read."""
        calls = self.calls.read_text().splitlines()
        self.calls.write_text("")
        return calls

    def without_uv(self) -> Checkout:
        (self.bin / "uv").unlink()
        return self

    def with_node(self) -> Checkout:
        self.stand_in("node", '#!/bin/sh\necho "node $*"\n')
        self.stand_in("npm", FAKE_NPM)
        return self

    def stand_in(self, name: str, script: str) -> None:
        path = self.bin / name
        path.unlink(missing_ok=True)
        path.write_text(script)
        path.chmod(0o755)


def python_that_is_noted() -> str:
    return f'#!/bin/sh\necho "python3" >>"$CALLS"\nexec "{sys.executable}" "$@"\n'


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    root = tmp_path / "a checkout"
    shutil.copytree(ROOT / "scripts", root / "scripts", ignore=shutil.ignore_patterns("node_modules"))
    shutil.copytree(ROOT / "requirements", root / "requirements")
    for name in ("clew", "check", "pyproject.toml"):
        shutil.copy(ROOT / name, root / name)
    (root / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "run", root / ".ci" / "run")
    (root / "src").mkdir()
    (root / "src" / "one.py").write_text("")
    made = Checkout(root, tmp_path / "bin", tmp_path / "calls")
    furnish(made)
    return made


def furnish(made: Checkout) -> None:
    """A PATH with only the named programs."""
    made.bin.mkdir()
    made.calls.write_text("")
    for tool in TOOLS:
        found = shutil.which(tool)
        assert found, tool
        (made.bin / tool).symlink_to(found)
    made.stand_in("python3", python_that_is_noted())
    made.stand_in("uv", FAKE_UV)
    made.stand_in("fakes.sh", FAKES)


@pytest.fixture
def fake_venv(tmp_path: Path) -> str:
    """A folder for PYTHONPATH with a fake `venv`."""
    folder = tmp_path / "modules"
    folder.mkdir()
    (folder / "venv.py").write_text(FAKE_VENV)
    return str(folder)


@pytest.mark.parametrize(
    "script",
    ["clew", "check", "scripts/launch.sh", "scripts/packages.sh", "scripts/page.sh", "scripts/lock", ".ci/run"],
)
def test_the_scripts_are_correct_shell(script: str) -> None:
    shell = "bash" if script == ".ci/run" else "sh"
    assert subprocess.run([shell, "-n", ROOT / script], capture_output=True).stderr == b""


@pytest.mark.parametrize("script", ["clew", "check", "scripts/lock", ".ci/run"])
def test_the_scripts_can_be_run(script: str) -> None:
    assert os.access(ROOT / script, os.X_OK)


def test_the_first_use_installs_and_then_runs_clew(checkout: Checkout) -> None:
    done = checkout.clew("threads", "--json", "a b")
    assert (done.returncode, done.stdout) == (0, "clew threads --json a b\n")
    assert [line.split()[0] for line in done.stderr.splitlines()] == ["clew:"] * 4
    assert "ready in" in done.stderr


def test_the_packages_are_installed_by_their_hashes_and_compiled(checkout: Checkout) -> None:
    checkout.clew()
    venv, packages, clew, compiled = [call for call in checkout.new_calls() if call != "python3"]
    assert venv.startswith("uv venv")
    assert "--require-hashes" in packages
    assert packages.endswith("requirements/clew.lock")
    assert "--compile-bytecode" in packages
    assert "--no-deps --no-build-isolation -e" in clew
    assert "compileall" in compiled


def test_a_later_start_calls_neither_python_nor_uv(checkout: Checkout) -> None:
    checkout.clew()
    checkout.new_calls()
    assert checkout.clew("status").stdout == "clew status\n"
    assert checkout.new_calls() == []


@pytest.mark.parametrize("changed", ["pyproject.toml", "requirements/clew.lock"])
def test_it_installs_again_when_what_it_was_made_from_changed(checkout: Checkout, changed: str) -> None:
    checkout.clew()
    checkout.new_calls()
    with (checkout.root / changed).open("a") as file:
        file.write("# changed\n")
    assert "ready in" in checkout.clew().stderr
    calls = checkout.new_calls()
    assert not any(call.startswith("uv venv") for call in calls)
    assert sum(call.startswith("uv pip install") for call in calls) == 2


def test_a_checkout_that_was_moved_is_made_anew(checkout: Checkout) -> None:
    checkout.clew()
    checkout.root = checkout.root.rename(checkout.root.with_name("moved"))
    assert "making .venv" in checkout.clew().stderr


@pytest.mark.parametrize("gone", ["python", "clew"])
def test_a_venv_that_lost_something_is_made_anew(checkout: Checkout, gone: str) -> None:
    checkout.clew()
    (checkout.root / ".venv" / "bin" / gone).unlink()
    assert "making .venv" in checkout.clew().stderr


def test_an_install_that_was_killed_is_made_anew_at_the_next_start(checkout: Checkout) -> None:
    assert checkout.clew(KILL_INSTALL="1").returncode == 1
    done = checkout.clew("status")
    assert (done.returncode, done.stdout) == (0, "clew status\n")
    assert "making .venv" in done.stderr


def test_of_two_at_once_one_installs_and_the_other_waits(checkout: Checkout, tmp_path: Path) -> None:
    hold = tmp_path / "hold"
    os.mkfifo(hold)
    with begun(checkout, HOLD=str(hold)) as first:
        assert first.stderr is not None
        assert "making .venv" in first.stderr.readline()
        with begun(checkout) as second:
            assert second.stderr is not None
            assert "waiting for another install" in second.stderr.readline()
            hold.write_text("go\n")
            assert (second.communicate()[0], first.communicate()[0]) == ("clew \n", "clew \n")
    assert sum(call.startswith("uv venv") for call in checkout.new_calls()) == 1


def test_the_next_install_waits_for_what_a_killed_one_left_running(checkout: Checkout, tmp_path: Path) -> None:
    hold = tmp_path / "hold"
    os.mkfifo(hold)
    with begun(checkout, HOLD=str(hold), KILL_INSTALL="1") as killed:
        assert killed.wait() == 1
    with begun(checkout) as second:
        assert second.stderr is not None
        assert "waiting for another install" in second.stderr.readline()
        hold.write_text("go\n")
        assert second.communicate()[0] == "clew \n"


def begun(checkout: Checkout, **more: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        ["./clew"],
        cwd=checkout.root,
        env=checkout.environ(**more),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_without_uv_it_takes_venv_and_pip(checkout: Checkout, fake_venv: str) -> None:
    done = checkout.without_uv().clew("status", PYTHONPATH=fake_venv)
    assert (done.returncode, done.stdout) == (0, "clew status\n")
    assert "with venv and pip" in done.stderr
    calls = checkout.new_calls()
    assert "venv" in calls
    assert sum("-m pip install" in call and "--require-hashes" in call for call in calls) == 1


def test_where_uv_fails_pip_is_tried(checkout: Checkout, fake_venv: str) -> None:
    done = checkout.clew("status", UV_FAILS="1", PYTHONPATH=fake_venv)
    assert (done.returncode, done.stdout) == (0, "clew status\n")
    assert "no such index\nclew: uv could not do it; trying venv and pip" in done.stderr


def test_a_venv_that_uv_made_is_made_anew_when_uv_is_gone(checkout: Checkout, fake_venv: str) -> None:
    checkout.clew()
    with (checkout.root / "requirements" / "clew.lock").open("a") as file:
        file.write("# changed\n")
    assert "making .venv with venv and pip" in checkout.without_uv().clew(PYTHONPATH=fake_venv).stderr


def test_a_python_without_venv_is_named_with_what_to_do(checkout: Checkout, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.modules['ensurepip'] = None")
    done = checkout.without_uv().clew(PYTHONPATH=str(tmp_path))
    assert done.returncode == 1
    assert "comes without venv. On Debian and Ubuntu: apt install python3" in done.stderr


def test_without_any_python_it_says_what_is_needed(checkout: Checkout) -> None:
    (checkout.bin / "python3").unlink()
    done = checkout.without_uv().clew()
    assert (done.returncode, done.stdout) == (1, "")
    assert "clew needs Python 3.11 or newer, and there is none on your PATH." in done.stderr


def test_a_python_that_is_too_old_is_passed_over(checkout: Checkout) -> None:
    (checkout.bin / "python3").rename(checkout.bin / "python3.12")
    checkout.stand_in("python3", "#!/bin/sh\nexit 1\n")
    assert checkout.clew().stdout == "clew \n"


def test_on_linux_the_python_of_the_system_is_taken_before_others(checkout: Checkout) -> None:
    script = checkout.root / "scripts" / "launch.sh"
    script.write_text(script.read_text().replace("/usr/bin", f"{checkout.bin}/system"))
    (checkout.bin / "system").mkdir()
    checkout.stand_in("system/python3", python_that_is_noted().replace('"python3"', '"the system"'))
    checkout.stand_in("uname", "#!/bin/sh\necho Linux\n")
    checkout.clew(PATH=f"{checkout.bin}:{checkout.bin}/system")
    assert set(checkout.new_calls()) & {"python3", "the system"} == {"the system"}
    shutil.rmtree(checkout.root / ".venv")
    checkout.clew()  # its folder is not on the PATH
    assert set(checkout.new_calls()) & {"python3", "the system"} == {"python3"}


def test_a_python_can_be_named(checkout: Checkout) -> None:
    (checkout.bin / "python3").rename(checkout.bin / "mine")
    assert checkout.clew(CLEW_PYTHON="mine").stdout == "clew \n"


def test_a_named_python_that_does_not_do_is_an_error(checkout: Checkout) -> None:
    done = checkout.clew(CLEW_PYTHON="/nowhere/python")
    assert done.returncode == 1
    assert "CLEW_PYTHON is /nowhere/python, which is not a Python 3.11 or newer." in done.stderr


def test_a_platform_without_codex_is_told_so(checkout: Checkout) -> None:
    assert "no Codex package for this platform" in checkout.clew(NO_CODEX="1").stderr
    assert "no Codex package" not in checkout.clew().stderr


def test_it_can_be_called_through_links_from_anywhere(checkout: Checkout, tmp_path: Path) -> None:
    (tmp_path / "absolute").symlink_to(checkout.root / "clew")
    (tmp_path / "relative").symlink_to("absolute")
    done = subprocess.run([tmp_path / "relative", "x"], cwd="/", env=checkout.environ(), capture_output=True, text=True)
    assert done.stdout == "clew x\n"
    assert checkout.run("sh", "clew", "y").stdout == "clew y\n"


def test_changed_source_is_compiled_where_python_would_not_keep_it(checkout: Checkout) -> None:
    checkout.clew()
    checkout.new_calls()
    os.utime(checkout.root / ".venv" / "compiled", (1, 1))
    checkout.clew()
    assert checkout.new_calls() == []
    for expected in (True, False):
        checkout.clew(PYTHONDONTWRITEBYTECODE="1")
        assert any("compileall" in call for call in checkout.new_calls()) is expected


def test_check_runs_each_step_and_ends_with_the_line_of_pytest(checkout: Checkout) -> None:
    for name in WATCHED_WITH:
        checkout.stand_in(name, "#!/bin/sh\n")
    done = checkout.with_node().run("./check", CLEW_CHROMIUM="chromium")
    assert done.returncode == 0
    assert done.stdout.splitlines() == [
        "check: installing ESLint and TypeScript for the JavaScript of the page, by npm",
        "check: ruff check",
        "ruff check .",
        "check: ruff format --check",
        "ruff format --check .",
        "check: mypy --strict",
        "mypy ",
        "check: eslint",
        "eslint --config scripts/page-lint/eslint.config.js src/clew/server/page/static scripts/page-lint",
        "check: tsc",
        "node scripts/page-lint/api_types.js",
        "tsc --project scripts/page-lint",
        "check: pytest",
        "skips allowed",
        f"<-m><not heavy><-n><{min((os.cpu_count() or 2) + 2, 8)}><--dist><worksteal>",
        "3 passed",
    ]


def test_check_says_that_there_is_no_browser_and_goes_on(checkout: Checkout) -> None:
    done = checkout.run("./check")
    assert "check: there is no Chromium here, so the tests of the page are skipped" in done.stdout
    assert done.stdout.endswith("3 passed\n")


def test_check_says_that_there_is_no_strace_and_goes_on(checkout: Checkout) -> None:
    done = checkout.run("./check")
    assert "check: there is no strace here, so what commands do is seen by the files alone" in done.stdout
    assert done.stdout.endswith("3 passed\n")


def test_check_installs_all_that_is_lacking_by_one_apt_get(checkout: Checkout) -> None:
    """Two at once would fail at each other's lock."""
    for name in WATCHED_WITH:
        checkout.stand_in(name, "#!/bin/sh\n")
    made = [checkout.bin / "strace", checkout.bin / "chromium"]
    made[0].unlink()
    checkout.stand_in("id", "#!/bin/sh\necho 0\n")
    lines = "".join(f": > {path}; /bin/chmod +x {path}\n" for path in made)
    checkout.stand_in("apt-get", f'#!/bin/sh\necho "apt-get $*" >>"$CALLS"\n{lines}')
    done = checkout.run("./check")
    assert done.stdout.startswith("check: installing chromium strace for the tests, by apt-get\n")
    assert not [each for each in ("Chromium", "strace") if f"there is no {each}" in done.stdout]
    assert done.stdout.endswith("3 passed\n")
    [call] = [call for call in checkout.new_calls() if call.startswith("apt-get")]
    assert call.endswith("--no-install-recommends chromium strace")


@pytest.mark.parametrize("apt", ["exit 1", ":"])
def test_check_goes_on_if_strace_cannot_be_installed(checkout: Checkout, apt: str) -> None:
    checkout.stand_in("id", "#!/bin/sh\necho 0\n")
    checkout.stand_in("apt-get", f"#!/bin/sh\n{apt}\n")
    done = checkout.run("./check", CLEW_CHROMIUM="chromium")
    assert "there is no strace here" in done.stdout and done.stdout.endswith("3 passed\n")


NO_NODE = "check: there is no Node with npm here, so the JavaScript of the page is not checked"
NOT_INSTALLED = "check: ESLint and TypeScript could not be installed (.venv/page-lint.log tells why), so the"


def test_check_without_npm_says_that_the_tests_of_claude_are_skipped(checkout: Checkout) -> None:
    done = checkout.run("./check", CLEW_CLAUDE="")
    assert "check: there is no Claude Code here, so the tests of its runtime are skipped" in done.stdout
    assert done.returncode == 0


def test_check_goes_on_if_claude_cannot_be_installed(checkout: Checkout) -> None:
    done = checkout.with_node().run("./check", CLEW_CLAUDE="")
    assert "check: Claude Code could not be installed; .venv/claude.log tells why" in done.stdout
    assert done.returncode == 0


def test_check_without_node_skips_the_javascript_of_the_page_and_says_so(checkout: Checkout) -> None:
    done = checkout.run("./check")
    assert NO_NODE in done.stdout.splitlines() and done.stdout.endswith("3 passed\n")


def test_check_skips_the_javascript_of_the_page_if_npm_fails_and_says_so(checkout: Checkout) -> None:
    done = checkout.with_node().run("./check", NPM_FAILS="1")
    assert NOT_INSTALLED in done.stdout and done.stdout.endswith("3 passed\n")


@pytest.mark.parametrize(("node", "last"), [(False, NO_NODE), (True, NOT_INSTALLED)])
def test_where_no_skips_are_allowed_the_javascript_of_the_page_has_to_be_checked(
    checkout: Checkout, node: bool, last: str
) -> None:
    done = (checkout.with_node() if node else checkout).run("./check", NPM_FAILS="1", CLEW_NO_SKIPS="1")
    assert done.returncode == 1 and done.stdout.splitlines()[-1].startswith(last)


def test_check_installs_the_tools_for_the_page_again_only_if_their_lock_has_changed(checkout: Checkout) -> None:
    checkout.with_node().run("./check")
    assert sum(call.startswith("npm ci ") for call in checkout.new_calls()) == 1
    checkout.run("./check")
    assert not checkout.new_calls()
    with (checkout.root / "scripts/page-lint/package-lock.json").open("a") as file:
        file.write("\n")
    checkout.run("./check")
    assert sum(call.startswith("npm ci ") for call in checkout.new_calls()) == 1


@pytest.mark.parametrize(
    ("tool", "last"),
    [
        ("ruff", "ruff check ."),
        ("mypy", "mypy "),
        ("eslint", "eslint --config scripts/page-lint/eslint.config.js src/clew/server/page/static scripts/page-lint"),
        ("tsc", "tsc --project scripts/page-lint"),
    ],
)
def test_a_failing_step_ends_check_with_its_words_and_its_code(checkout: Checkout, tool: str, last: str) -> None:
    done = checkout.with_node().run("./check", **{f"FAIL_{tool}": "4"})
    assert (done.returncode, done.stdout.splitlines()[-1]) == (4, last)


def test_check_with_arguments_runs_only_pytest_with_them(checkout: Checkout) -> None:
    done = checkout.run("./check", "tests/engine", "-k", "a and b")
    assert done.stdout.splitlines()[1:] == ["<-m><not heavy><tests/engine><-k><a and b>", "3 passed"]


def test_check_all_runs_heavy_tests_and_installs_what_they_need(checkout: Checkout) -> None:
    assert "<-m><><-n>" in checkout.run("./check", "--all").stdout
    [beside] = [call for call in checkout.new_calls() if "--target" in call]
    assert beside.endswith("requirements/lark.lock") and f"{checkout.root}/.venv/lark" in beside
    checkout.run("./check", "--all")
    assert not checkout.new_calls()


def test_check_adds_its_tools_to_what_clew_has_installed(checkout: Checkout) -> None:
    checkout.clew()
    checkout.new_calls()
    checkout.run("./check")
    assert [call.split("/")[-1] for call in checkout.new_calls() if call.startswith("uv")] == ["dev.lock"]
    assert "ready" not in checkout.clew().stderr


def test_ci_runs_check_and_allows_no_skips(checkout: Checkout) -> None:
    done = checkout.with_node().run("bash", ".ci/run", CI="true")
    assert done.returncode == 0
    assert "skips 1" in done.stdout
    assert done.stdout.splitlines()[-1] == "3 passed"


def test_link_puts_the_launcher_on_the_path_and_hints_then_say_clew(checkout: Checkout) -> None:
    assert checkout.clew("threads").returncode == 0  # installs
    called = checkout.root / ".venv" / "bin" / "clew"
    called.write_text('#!/bin/sh\necho "$CLEW_CALLED_AS"\n')
    assert checkout.clew("up").stdout == "./clew\n"
    done = checkout.clew("link", str(checkout.bin))
    assert (done.returncode, done.stdout) == (0, f"{checkout.bin}/clew\n")
    assert "cd your-project && clew run" in done.stderr
    linked = subprocess.run(["clew", "up"], cwd="/", env=checkout.environ(), capture_output=True, text=True)
    assert linked.stdout == "clew\n", linked.stderr


def test_link_says_if_the_folder_is_not_on_the_path_and_replaces_nothing(checkout: Checkout) -> None:
    elsewhere = checkout.root.parent / "elsewhere"
    assert f"{elsewhere} is not on your PATH" in checkout.clew("link", str(elsewhere)).stderr
    (elsewhere / "clew").unlink()
    (elsewhere / "clew").write_text("mine")
    refused = checkout.clew("link", str(elsewhere))
    assert refused.returncode == 1 and "is another program" in refused.stderr
    assert (elsewhere / "clew").read_text() == "mine"
