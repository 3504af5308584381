"""The docs are correct: messages they quote are in the source, names exist, and instructions work."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from clew.cli.command_list import COMMANDS
from clew.client.api import Clew as Door
from clew.model.gates import Policy
from tests.helpers.daemons import SCRIPTED, Clew
from tests.helpers.paths import ROOT

DOCS = ROOT / "docs"
PAGES = ("quickstart", "runbook", "troubleshooting", "python", "cli")


def page(name: str) -> str:
    (path,) = DOCS.rglob(f"{name}.md")
    return path.read_text(encoding="utf-8")


def said_by_clew() -> list[str]:
    """Every string of the source, each in one line; without the values of f-strings."""
    trees = (ast.parse(path.read_text(encoding="utf-8")) for path in (ROOT / "src").rglob("*.py"))
    nodes = (node for tree in trees for node in ast.walk(tree))
    return [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]


def quotes() -> list[str]:
    return [line[2:] for line in page("troubleshooting").splitlines() if line.startswith("> ")]


def test_every_message_that_troubleshooting_quotes_is_one_that_clew_says() -> None:
    said = said_by_clew()
    assert len(quotes()) > 20
    for quote in quotes():
        pieces = [piece for part in re.split(r"…|\. ", quote) if len(piece := part.strip(" ().`")) > 3]
        missing = [piece for piece in pieces if not any(piece in text for text in said)]
        assert pieces and not missing, quote


def test_every_command_that_the_docs_name_exists() -> None:
    for name in PAGES:
        code = re.findall(r"```sh\n(.*?)```|`([^`\n]+)`", page(name), re.DOTALL)
        lines = [line for block, inline in code for line in (block or inline).splitlines()]
        named = {found[1] for line in lines if (found := re.match(r"(?:\./)?clew ([a-z]+)\b", line))}
        assert named <= set(COMMANDS), name


def known_tests() -> set[str]:
    texts = (path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    return {name for text in texts for name in re.findall(r"def (test_\w+)", text)}


def test_every_test_and_room_that_the_map_names_exists() -> None:
    text = page("test-map")
    assert set(re.findall(r"`(test_\w+)`", text)) - known_tests() == set()
    assert [room for room in re.findall(r"`(tests/\w+)`", text) if not (ROOT / room).is_dir()] == []
    rooms = {f"tests/{path.parent.name}" for path in (ROOT / "tests").glob("*/test_*.py")}
    assert rooms <= set(re.findall(r"`(tests/\w+)`", text))


def test_every_row_of_reliability_names_tests_that_exist() -> None:
    commands = re.findall(r"`\./check (?:--all )?([^`]+)`", page("reliability"))
    assert len(commands) > 15
    for path, _, word in (command.partition(" -k ") for command in commands):
        named = re.findall(r"def (test_\w+)", (ROOT / path).read_text(encoding="utf-8"))
        words = word.strip('"').split(" or ")
        assert [name for name in named if any(word in name for word in words)], (path, word)


def test_the_page_about_python_names_every_method() -> None:
    methods = [name for name in vars(Door) if not name.startswith("_")]
    assert [name for name in methods if f"`{name}(" not in page("python")] == []


@pytest.mark.parametrize(
    ("name", "twice"), [("README.md", "may then run twice"), ("README.zh-CN.md", "可能因此运行两遍")]
)
def test_each_readme_says_what_can_go_wrong_and_where_to_read_more(name: str, twice: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    assert "(docs/explanation/security.md)" in text and "(SECURITY.md)" in text and twice in text


def test_the_chinese_readme_names_every_policy() -> None:
    text = (ROOT / "README.zh-CN.md").read_text(encoding="utf-8")
    assert [policy for policy in Policy if f"| `{policy}`" not in text] == []


def test_the_index_links_every_page_and_each_readme_links_the_index() -> None:
    index = (DOCS / "README.md").read_text(encoding="utf-8")
    pages = (path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))
    assert [name for name in pages if name != "README.md" and f"({name})" not in index] == []
    for readme in ("README.md", "README.zh-CN.md"):
        assert "(docs/README.md)" in (ROOT / readme).read_text(encoding="utf-8")


def markdown() -> list[Path]:
    return sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])


def test_no_line_of_the_docs_is_longer_than_120_characters() -> None:
    """Rows of tables cannot be broken."""
    long = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in markdown()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if len(line) > 120 and not line.startswith("|")
    ]
    assert long == []


def anchors(path: Path) -> set[str]:
    """What GitHub makes of the headings of a page."""
    heads = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def test_every_link_to_a_heading_leads_to_one() -> None:
    missing = []
    for path in markdown():
        for target, anchor in re.findall(r"\]\(([^)\s:]*\.md)?#([^)\s]+)\)", path.read_text(encoding="utf-8")):
            page = path.parent / target if target else path
            missing += [] if anchor in anchors(page) else [f"{path.relative_to(ROOT)}: {target}#{anchor}"]
    assert missing == []


def block(heading: str) -> str:
    """The shell commands under a heading of the runbook."""
    found = re.search(rf"^## {heading}\n.*?```sh\n(.*?)```", page("runbook"), re.DOTALL | re.MULTILINE)
    assert found is not None
    return found[1]


def follow(heading: str, home: Path, backup: Path) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environ = {**os.environ, "PATH": path, "CLEW_HOME": str(home), "BACKUP": str(backup)}
    done = subprocess.run(["sh", "-eu"], input=block(heading), env=environ, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.process
@pytest.mark.parametrize("runs", [True, False], ids=["while it runs", "while it does not"])
def test_a_backup_made_by_the_runbook_is_restored_by_it(tmp_path: Path, runs: bool) -> None:
    backup = tmp_path / "backup"
    with Clew(tmp_path / "one", SCRIPTED) as one:
        thread = one.json("run", "!text hello")["thread"]
        if not runs:
            one("down")
        follow("Back up", one.root, backup)
        one.json("run", "!text said after the backup")
    with Clew(tmp_path / "two", SCRIPTED) as two:
        assert follow("Restore", two.root, backup).splitlines()[-1] == "1 threads, 0 damaged"
        assert [passage["text"] for passage in two.json("read", thread)] == ["!text hello", "hello"]
        assert two.json("run", "!text on we go")["state"] == "completed"


def test_every_place_that_contributing_names_exists() -> None:
    table = [line for line in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").splitlines() if line[:1] == "|"]
    places = [place for row in table for place in re.findall(r"`([a-z_]+/[\w/.]*)`", row)]
    assert len(places) > 50
    assert [place for place in places if not (ROOT / "src" / "clew" / place).exists()] == []
