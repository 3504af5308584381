"""What clew says on a terminal is in the catalogue, and is shown in the language of the terminal."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from clew.cli.language import phrase, sentence
from clew.cli.output import Out
from clew.texts.catalogue import AREAS, sentences
from tests.helpers.daemons import Clew
from tests.helpers.paths import ROOT

CLI = ROOT / "src" / "clew" / "cli"
_WORDS = re.compile(r"(?<![\w-])[A-Za-z]{2,},? [a-z]{2,}")
_HAN = re.compile("[\u4e00-\u9fff]")
OTHER_TEXTS = {  # what is typed, written into files or compared, and English that has its Chinese beside it
    "chat/lines.py": ["Enter sends"],
    "command_list.py": [""],
    "commands/init.py": ["# Settings of clew", "clew ping codex", "clew demo"],
    "commands/maintenance.py": ["scripted needs no program"],  # a step in JSON
    "commands/service.py": ["written by `clew service", "[Unit]", "clew down"],
    "commands/update/installs.py": ["git fetch", "git merge"],
    "commands/wait.py": ["clew gates "],
    "demo/words.py": [""],
    "follow.py": ["a stream of events ends only by an error"],  # cannot happen
    "view/gates.py": ["yes all"],
    "view/outcome.py": ["timed out"],
}


def text_of(node: ast.expr) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "0" for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def not_said(tree: ast.Module) -> set[ast.AST]:
    """Docstrings, help of options, and the parts of an f-string."""
    found: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr):
            found.add(node.value)
        elif isinstance(node, ast.keyword) and node.arg in ("help", "short_help"):
            found.update(ast.walk(node.value))
        elif isinstance(node, ast.JoinedStr):
            found.update(part for part in node.values if isinstance(part, ast.Constant))
    return found


def english_sentences(path: Path) -> Iterator[tuple[int, str]]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    skipped = not_said(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.expr) and node not in skipped and _WORDS.search(text_of(node)):
            yield node.lineno, text_of(node)


def test_no_module_of_the_command_line_has_sentences_of_its_own() -> None:
    found = []
    for path in sorted(CLI.rglob("*.py")):
        name = path.relative_to(CLI).as_posix()
        known = OTHER_TEXTS.get(name, [])
        found += [
            f"{name}:{line} {text!r}" for line, text in english_sentences(path) if not any(k in text for k in known)
        ]
    assert found == []


def test_a_planted_sentence_is_found(tmp_path: Path) -> None:
    (tmp_path / "planted.py").write_text(
        '"""A module that says things."""\n'
        'out.say("nothing waits for you")\n'
        'out.line(f"{name} is not here")\n'
        'raise BadInput("give the text once")\n'
        'click.option("--x", help="Only say it.")\n'
        'out.line(phrase("cli_chat.stopping"))\n'
        'print(f"{name}: {state}")\n'
    )
    assert [line for line, _ in english_sentences(tmp_path / "planted.py")] == [2, 3, 4]


def test_a_phrase_is_in_the_language_of_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    assert phrase("cli_chat.forked", title="x") == "· forked: x"
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert phrase("cli_chat.forked", title="x") == "· 已分叉：x"
    assert type(phrase("cli_chat.stopping")) is str


def test_a_refused_option_is_chinese_for_people_and_english_in_json(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    error = click.UsageError(sentence("cli_gates.thread_or_rule"))
    Out(as_json=True).error("usage", error.format_message())
    shown = capsys.readouterr()
    assert _HAN.search(shown.err)
    assert json.loads(shown.out)["error"]["message"] == "give --thread or --rule, not both"


@pytest.mark.process
def test_help_loads_no_catalogue() -> None:
    code = "import sys, clew.cli.main; print([name for name in sys.modules if name.startswith('clew.texts')])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


SAMPLES = (
    ("threads",),
    ("threads", "--history"),
    ("gates",),
    ("rules", "list"),
    ("handoffs",),
    ("people",),
    ("away",),
    ("back",),
    ("status",),
    ("surfaces",),
    ("ps",),
    ("repair",),
    ("connect",),
    ("notify",),
    ("verify",),
    ("config", "check"),
    ("config", "set", "turns.parallel", "3"),
    ("config", "unset", "turns.parallel"),
    ("gates", "nonsense"),
    ("deny", "no-code"),
    ("wait",),
)


@pytest.mark.process
def test_commands_say_nothing_in_english_on_a_chinese_terminal(clew: Clew) -> None:
    thread = clew.json("run", "!text 好")["thread"]
    english = {
        re.sub(r"\{\w+\}", "\0", both[0])
        for area in AREAS
        if area.startswith("cli_")
        for both in sentences(area).values()
    }
    parts = {
        part.strip()
        for text in english
        for part in re.split("[\0\n]", text)
        if len(part.split()) > 2 and _WORDS.search(part)
    }
    for words in (*SAMPLES, ("show", thread), ("where", thread), ("read", thread), ("diff", thread)):
        ended = clew.run(*words, env={"LC_ALL": "zh_CN.UTF-8"})
        shown = f"{ended.out}\n{ended.err}"
        assert [part for part in parts if part in shown] == [], (words, shown)
        assert ended.code in (0, 1, 2) and "Traceback" not in shown, shown
