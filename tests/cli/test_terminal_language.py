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

from clew.cli.command_list import COMMANDS
from clew.cli.language import phrase, sentence
from clew.cli.output import Out
from tests.helpers.daemons import Clew
from tests.helpers.paths import ROOT

SOURCE = ROOT / "src" / "clew"
FOLDERS = ("cli", "client", "process")
_WORDS = re.compile(r"(?<![\w-])[A-Za-z]{2,},? [a-z]{2,}")
_HAN = re.compile("[\u4e00-\u9fff]")
LOGS = frozenset(f"process/{name}.py" for name in ("descriptors", "heartbeat", "keeper", "scan", "supervisor"))
OTHER_TEXTS = {  # what is typed, written into files or compared, and English that has its Chinese beside it
    "chat/lines.py": ["Enter sends"],
    "command_list.py": [""],
    "commands/init.py": ["# Settings of clew", "clew ping codex", "clew demo"],
    "commands/maintenance.py": ["scripted needs no program"],  # a step in JSON
    "commands/service.py": ["written by `clew service", "[Unit]", "clew down"],
    "commands/update/installs.py": ["git fetch", "git merge"],
    "commands/wait.py": ["clew gates "],
    "demo/words.py": [""],
    "view/gates.py": ["yes all"],
    "view/outcome.py": ["timed out"],
    "process/bootstrap.py": ["the output cannot be written"],  # where nothing can be imported any more
}


ELSEWHERE = ("worded", "AssertionError")  # in the catalogue too, or never seen


def text_of(node: ast.expr) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "0" for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def not_said(tree: ast.Module) -> set[ast.AST]:
    """Docstrings, help of options, sentences of the catalogue, and the parts of an f-string."""
    found: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr):
            found.add(node.value)
        elif isinstance(node, ast.keyword) and node.arg in ("help", "short_help"):
            found.update(ast.walk(node.value))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ELSEWHERE:
            found.update(node.args)
        elif isinstance(node, ast.JoinedStr):
            found.update(part for part in node.values if isinstance(part, ast.Constant))
    return found


def english_sentences(path: Path) -> Iterator[tuple[int, str]]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    skipped = not_said(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.expr) and node not in skipped and _WORDS.search(text_of(node)):
            yield node.lineno, text_of(node)


def test_neither_the_command_line_nor_what_it_uses_has_sentences_of_its_own() -> None:
    found = []
    for path in sorted(path for folder in FOLDERS for path in (SOURCE / folder).rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix()
        if name in LOGS:
            continue
        known = OTHER_TEXTS.get(name.removeprefix("cli/"), [])
        found += [
            f"{name}:{line} {text!r}" for line, text in english_sentences(path) if not any(k in text for k in known)
        ]
    assert not found, found


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


CHINESE = {"LC_ALL": "zh_CN.UTF-8"}
# What is no sentence: code and quotes, paths and addresses, options, commands, ids, times and versions, names of
# settings, lists of such names, and placeholders such as THREAD.
_CODE = re.compile(
    r"`[^`]*`|'[^']*'|\"[^\"]*\"|\S*[/\\]\S*|--?[a-z][\w-]*(?: [a-z]+\b)?|\bclew [a-z]+\b"
    r"|[\w-]*\d[\w-]*(?::\w+)*|\w+[._][\w.]+|\b[A-Z]{2,}\b"
    r"|\b[a-z][\w-]*(?:, [a-z][\w-]*)+"
)
_WORD = re.compile("[A-Za-z]{3,}")
PROGRAMS = (
    "claude codex copilot droid fast-agent gemini goose hermes kimi nanocoder opencode openhands qwen scripted vibe"
)
PLATFORMS = "feishu local telegram Telegram BotFather newbot"
PRODUCTS = "clew http App Alt Ctrl Enter Claude Codex JavaScript Secret Unix launchd systemd shell python token"
VALUES = "careful read only sandbox trusted yolo high normal low medium"
NAMES = frozenset(f"{PROGRAMS} {PLATFORMS} {PRODUCTS} {VALUES}".replace("-", " ").split())


def english_in(shown: str, *said: str) -> list[str]:
    """The English words of clew in an output, without lines with the words of people and agents."""
    left = _CODE.sub(" ", "\n".join(line for line in shown.splitlines() if not any(each in line for each in said)))
    return [word for word in _WORD.findall(left) if word not in NAMES]


def test_english_is_found_in_an_output() -> None:
    assert english_in("ask: no rule allows it") == ["ask", "rule", "allows"]
    assert english_in("starting the daemon…") == ["starting", "the", "daemon"]
    assert english_in("名称  健康  best effort") == ["best", "effort"]
    assert english_in("Q2K2：请用 `clew gates Q2K2` 查看 /tmp/x；clew read THREAD 显示 turns.parallel") == []
    assert english_in("hello there\n已完成", "hello there") == []


SAMPLES = (
    ("--help",),
    ("help", "--all"),
    ("threads",),
    ("threads", "--history"),
    ("gates",),
    ("rules", "add", "deny", "推送 *"),
    ("rules", "add", "allow", "src/**", "--kind", "change"),
    ("rules", "test", "推送", "--kind", "tool"),
    ("rules", "list"),
    ("rules", "test", "rm -rf x"),
    ("rules", "test", "推送 x"),
    ("handoffs",),
    ("people",),
    ("away",),
    ("back",),
    ("status",),
    ("surfaces",),
    ("runtimes",),
    ("ps",),
    ("limits",),
    ("usage",),
    ("repair",),
    ("connect",),
    ("connect", "telegram"),
    ("connect", "telegram", "--set", "token=x"),
    ("notify",),
    ("verify",),
    ("token",),
    ("adopt",),
    ("adopt", "--all"),
    ("config", "check"),
    ("config", "get", "turns"),
    ("config", "get", "turns.nothing"),
    ("config", "set", "turns.parallel", "3"),
    ("config", "set", "turns.parallel", "x"),
    ("config", "set", "turns.memory", "x"),
    ("config", "set", "threads.quiet_hours", "x"),
    ("config", "set", "threads.release_after", "x"),
    ("config", "set", "surfaces.telegram.home", "x"),
    ("config", "set", "surfaces.feishu.home", "x"),
    ("config", "set", "surfaces.telegram.base_url", "x"),
    ("config", "unset", "turns.parallel"),
    ("gates", "nonsense"),
    ("deny", "no-code"),
    ("wait",),
    ("nothing",),
    ("answer",),
    ("threads", "--nothing"),
    ("init",),
)
IN_A_CHAT = "/status /where /model /effort /policy /runtime /dir /rules /usage /history /threads /gates /help /statsu"


@pytest.mark.process
def test_commands_say_nothing_in_english_on_a_chinese_terminal(clew: Clew) -> None:
    found: list[tuple[tuple[str, ...], list[str]]] = []

    def check(*words: str, stdin: str | None = None) -> None:
        ended = clew.run(*words, env=CHINESE, input=stdin)
        shown = re.sub(rf"(?<![\w.]){re.escape(words[-1])}(?![\w.])", " ", f"{ended.out}\n{ended.err}")
        if left := english_in(_without_options(shown), *SAID):
            found.append((words, left))
        assert ended.code in (0, 1, 2, 5) and "Traceback" not in shown, shown

    check("threads")  # it starts the daemon
    check("run", "!text 好")
    check("run", "!ask 好")
    check("set", "last", "budget.tokens=5")
    for words in SAMPLES:
        check(*words)
    check("rules", "add", "deny", "制作 *", "--here")
    check("rules", "list")
    check("rules", "test", "制作 x")
    for word in ("show", "where", "read", "diff", "wait", "fork", "cancel", "done", "resume", "release"):
        check(word, "last")
    check("chat", stdin="\n".join(["!text 好", *IN_A_CHAT.split(), "/file ./x", "/attach ./x", "/handoff telegram"]))
    check("restart")
    check("down")
    assert not found, found


SAID = ("!text", "!ask")  # of the requests above
_LISTED = re.compile(rf"\b({'|'.join(COMMANDS)})\b(?!\.),?")


def _without_options(shown: str) -> str:
    """A help without the names of options and commands."""
    head, _, rest = shown.partition("选项:\n")
    options, _, listed = rest.partition("\n\n")
    return f"{head}\n{options}\n{_LISTED.sub('', listed)}" if options else shown


@pytest.mark.process
def test_hints_name_clew_as_it_was_called_and_requests_stay_as_they_are(clew: Clew) -> None:
    as_called = {"CLEW_CALLED_AS": "./clew"}
    asked = clew.run("run", "!approve clew up", env=as_called)
    assert asked.code == 5 and "  ./clew approve " in asked.err and "\n./clew gates " in asked.err
    assert "    clew up\n" in asked.err  # what the agent asks for is shown as it is
    [gate] = clew.json("gates")
    shown = clew("gates", gate["code"], env=as_called)
    assert f"  ./clew approve {gate['code']}" in shown and "    clew up\n" in shown
    assert f"./clew gates {gate['code']}" in clew("threads", env=as_called)
    assert f"./clew gates {gate['code']}" in clew("wait", gate["thread"], env=as_called, code=5)
    clew("approve", gate["code"])
