"""The programs in docs/reference/http.md work: they are run as written, with an approval and a killed daemon."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from clew.server import metrics
from tests.helpers.daemons import SCRIPTED, Clew
from tests.helpers.json_client import JsonClient as Client
from tests.helpers.paths import ROOT
from tests.helpers.ports import held_port, number_of

DOCS = ROOT / "docs"
PAGE = (DOCS / "reference" / "http.md").read_text(encoding="utf-8")
PROGRAMS = {  # the interpreter, if installed, and the file name
    "python": (sys.executable, "client.py"),
    "js": (shutil.which("node"), "client.mjs"),
}
THERE = [language for language, (command, _) in PROGRAMS.items() if command]
MAX_LINES = 34  # without empty ones


def block(language: str, mark: str = "") -> str:
    found = [text for text in re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL) if mark in text]
    assert found, language
    return str(found[0])


@pytest.fixture
def clew(tmp_path: Path) -> Iterator[Clew]:
    with held_port() as place, Clew(tmp_path / "home", f"{SCRIPTED}[http]\nport = {number_of(place)}\n") as clew:
        clew.up()
        yield clew


def environment(clew: Clew, **more: str) -> dict[str, str]:
    known = {"CLEW_TOKEN": clew.json("token")["token"], "CLEW_URL": clew.json("status")["daemon"]["http"]}
    return {**os.environ, **known, **more}


@pytest.mark.process
@pytest.mark.parametrize("language", THERE)
def test_the_documented_program_converses_approves_and_reconnects(clew: Clew, tmp_path: Path, language: str) -> None:
    command, name = PROGRAMS[language]
    source = block(language)
    assert len([line for line in source.splitlines() if line]) <= MAX_LINES
    (tmp_path / name).write_text(source)
    argv = [str(command), str(tmp_path / name), "!approve make deploy\n!text It is out.", "!recall"]
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, stdin=pipe, stdout=pipe, text=True, env=environment(clew)) as program:
        assert program.stdin is not None and program.stdout is not None
        assert program.stdout.readline() == "Allow make deploy? [y/n]\n"
        clew.kill()  # the question is asked again, and the program reconnects to it
        clew.up()
        [thread] = Client(clew.home).get("threads")["threads"]
        clew.wait_for(thread["id"], "gate.void")  # else a yes could answer the old gate
        program.stdin.write("y\n")
        program.stdin.flush()
        assert program.stdout.readline() == "Allow make deploy? [y/n]\n"
        program.stdin.write("y\n")
        program.stdin.flush()
        assert program.stdout.readline() == "It is out.\n"
        assert program.stdout.readline().startswith("I know ")
        assert program.wait(60) == 0
    assert len(Client(clew.home).get("threads")["threads"]) == 1


def run(clew: Clew, folder: Path, language: str, *lines: str, **more: str) -> subprocess.Popen[str]:
    command, name = PROGRAMS[language]
    (folder / name).write_text(block(language))
    pipe = subprocess.PIPE
    argv = [str(command), str(folder / name), *lines]
    return subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env={**environment(clew), **more})


@pytest.mark.process
@pytest.mark.parametrize("language", THERE)
def test_the_documented_program_reports_a_failed_turn_and_goes_on(clew: Clew, tmp_path: Path, language: str) -> None:
    with run(clew, tmp_path, language, "!status 500", "!text Next.") as program:
        out, _ = program.communicate(timeout=60)
    assert (out.splitlines(), program.returncode) == (["The model said 500.", "Next."], 0)


@pytest.mark.process
@pytest.mark.parametrize("language", THERE)
def test_the_documented_program_goes_on_after_a_stop(clew: Clew, tmp_path: Path, language: str) -> None:
    gate = clew.gate("door")
    with run(clew, tmp_path, language, "!hold door\n!text never", "!text Next.") as program:
        gate.wait()
        [thread] = Client(clew.home).get("threads")["threads"]
        clew("stop", thread["id"])
        out, _ = program.communicate(timeout=60)
        gate.release()
    assert (out.splitlines()[-1], program.returncode) == ("Next.", 0) and "never" not in out


@pytest.mark.process
@pytest.mark.parametrize("language", THERE)
def test_the_documented_program_joins_its_turn_after_a_kill(clew: Clew, tmp_path: Path, language: str) -> None:
    gate = clew.gate("door")
    with run(clew, tmp_path, language, "!hold door\n!text It is out.") as program:
        gate.wait()
        clew.kill_for_good()
        gate.release()  # nobody waits there any more
        clew.up()
        gate.release()
        out, _ = program.communicate(timeout=60)
    assert (out, program.returncode) == ("It is out.\n", 0)


@pytest.mark.process
@pytest.mark.parametrize("language", THERE)
def test_the_documented_program_ends_if_its_token_is_wrong(clew: Clew, tmp_path: Path, language: str) -> None:
    with run(clew, tmp_path, language, "!text Hello.", CLEW_TOKEN="wrong") as program:
        out, err = program.communicate(timeout=60)
    assert "Hello." not in out and ("token" in out or "401" in err)


@pytest.mark.process
@pytest.mark.parametrize("command", [found] if (found := shutil.which("curl")) else [])
def test_the_documented_curl_calls_converse_and_approve(clew: Clew, tmp_path: Path, command: str) -> None:
    out = shell(block("sh", "MESSAGE"), environment(clew, MESSAGE="!approve make deploy\\n!text It is out."), tmp_path)
    told = re.findall(r"^event: (\w+)$", out, re.MULTILINE)
    assert told[0] == "metadata" and told[-1] == "done" and '"content":"It is out."' in out


@pytest.mark.process
@pytest.mark.parametrize("command", [found] if (found := shutil.which("curl")) else [])
def test_the_documented_curl_calls_end_if_nothing_is_asked(clew: Clew, tmp_path: Path, command: str) -> None:
    out = shell(block("sh", "MESSAGE"), environment(clew, MESSAGE="!text It is out."), tmp_path)
    assert '"content":"It is out."' in out
    [thread] = Client(clew.home).get("threads")["threads"]
    assert thread["workspace"] == str(tmp_path)


@pytest.mark.process
@pytest.mark.parametrize("command", [found] if (found := shutil.which("curl")) else [])
def test_the_first_lines_of_the_page_ask_and_get_json(clew: Clew, tmp_path: Path, command: str) -> None:
    """Pasted as they are, but for the port, which is another one in each test."""
    script = block("sh")
    assert script.count("\n") == 5
    address = clew.json("status")["daemon"]["http"]
    script = script.replace("7621", address.rpartition(":")[2]).replace("what does this repo do?", "!text It is out.")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    out = shell(script, {**os.environ, "PATH": path, "CLEW_HOME": str(clew.root)}, tmp_path)
    answer = json.loads(out.splitlines()[-1])
    assert (answer["content"], answer["finish_reason"]) == ("It is out.", "completed")


def test_the_docs_name_one_port_for_clew() -> None:
    pages = [path.read_text(encoding="utf-8") for path in DOCS.rglob("*.md")]
    assert {port for page in pages for port in re.findall(r"port[ =]+(\d{4,5})", page)} == {"7621"}
    assert set(re.findall(r"127\.0\.0\.1:(\d+)", PAGE)) == {"7621"}


def shell(script: str, environ: dict[str, str], folder: Path) -> str:
    done = subprocess.run(
        ["sh", "-eu"], input=script, env=environ, cwd=folder, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_documented_alerts_use_existing_metrics() -> None:
    source = Path(metrics.__file__).read_text(encoding="utf-8")
    named = set(re.findall(r"\bclew_\w+", (DOCS / "how-to" / "alerts.yml").read_text(encoding="utf-8")))
    assert named and [name for name in named if f'"{name}"' not in source] == []
