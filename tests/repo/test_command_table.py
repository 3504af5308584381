"""`texts/slash_commands.py` is the only list of slash commands: both places run all of its rows and nothing else, and
no other list, text or page knows another one."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from clew.cli.chat.lines import help_lines, suggestions
from clew.cli.chat.talk import Talk
from clew.engine.delivery.language import CHINESE, detect_language
from clew.engine.inbox import commands as chat_commands
from clew.engine.inbox import reading_commands, setting_commands
from clew.model.messages import Role
from clew.texts.bilingual import zh
from clew.texts.slash_commands import COMMANDS, Place, available, find, menu, parse
from clew.texts.slash_commands import help_lines as chat_help_lines
from tests.helpers.paths import ROOT

SOURCE = ROOT / "src" / "clew"
TABLE = SOURCE / "texts" / "slash_commands.py"
SHELL_COMMANDS = SOURCE / "cli" / "command_list.py"  # `clew threads`, `clew stop`, …: another list by nature
MOST_NAMES = 5  # in one literal that is no list of commands
# Words with a slash in texts and pages that are no commands of clew: of Telegram's @BotFather, of HTTP, of the disk.
NOT_OURS = {"newbot", "setprivacy", "token", "docs", "healthz", "metrics", "omt_", "proc", "tmp"}


def handlers(names: object) -> set[str]:
    return {name.removeprefix("do_") for name, _ in inspect.getmembers(names, callable) if name.startswith("do_")}


@pytest.mark.parametrize(
    ("place", "modules"),
    [(Place.CHAT, (chat_commands, reading_commands, setting_commands)), (Place.TERMINAL, (Talk,))],
)
def test_each_place_runs_exactly_the_commands_of_the_table(place: Place, modules: tuple[object, ...]) -> None:
    found = [name for module in modules for name in handlers(module)]
    assert len(found) == len(set(found)) and set(found) == {spec.name for spec in available(place)}
    assert {spec.handler for spec in available(place)} == {f"do_{name}" for name in found}


def test_names_are_unique_and_rows_are_complete_in_both_languages() -> None:
    words = [word for spec in COMMANDS for word in spec.words]
    assert len(words) == len(set(words)) and all(find(word) for word in words)
    for spec in COMMANDS:
        assert re.fullmatch(r"[a-z]{1,32}", spec.name) and detect_language(spec.chinese) == CHINESE
        assert detect_language(zh(spec.help)) == CHINESE != detect_language(spec.help), spec.name
        assert bool(spec.arguments) == bool(zh(spec.arguments))
        assert spec.places and bool(spec.elsewhere) == (len(spec.places) == 1), spec.name


def test_menu_help_completion_and_reference_list_exactly_the_table() -> None:
    chats, terminal = ([spec.name for spec in available(place)] for place in Place)
    for chinese in (False, True):
        assert [name for name, _ in menu(chinese=chinese)] == chats
        assert all(1 <= len(description) <= 256 for _, description in menu(chinese=chinese))
        assert len(chat_help_lines(Place.CHAT, Role.OWNER, chinese=chinese)) == len(chats)
    assert [line.split()[0][1:] for line in help_lines() if line.startswith("  /")] == terminal
    assert [words.strip()[1:] for words, _, _ in suggestions("/", lambda typed: [])] == terminal
    page = (ROOT / "docs" / "reference" / "commands.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `/(\w+)", page, re.MULTILINE) == [spec.name for spec in COMMANDS]


def test_every_command_is_understood_where_it_is_available() -> None:
    for spec in COMMANDS:
        for place in Place:
            for word in spec.words:
                typed = parse(f"／{word.upper()} {spec.arguments}", place)
                assert (getattr(typed, "spec", None) is spec) == (place in spec.places), (word, place)


def names_in(node: ast.AST) -> set[str]:
    """The commands among the texts of a literal."""
    if not isinstance(node, ast.Tuple | ast.List | ast.Set | ast.Dict):
        return set()
    inside = (each.value for each in ast.walk(node) if isinstance(each, ast.Constant))
    return {spec.name for text in inside if isinstance(text, str) and (spec := find(text.strip()))}


def other_lists(folder: Path) -> list[str]:
    found = []
    for path in sorted(folder.rglob("*.py")):
        if path in (TABLE, SHELL_COMMANDS) or path.name in ("cli_labels.py", "cli_words.py"):  # no commands
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if len(names := names_in(node)) > MOST_NAMES:
                found.append(f"{path.name}: {', '.join(sorted(names))}")
    return found


def test_there_is_no_second_list_of_commands() -> None:
    assert other_lists(SOURCE) == []


def test_a_second_list_is_found(tmp_path: Path) -> None:
    (tmp_path / "menu.py").write_text(
        'MENU = {"/new": 1, "threads": 2, "停止": 3, "gates": 4, "approve": 5, "deny": 6}\n'
    )
    assert other_lists(tmp_path) == ["menu.py: approve, deny, gates, new, stop, threads"]


def mentioned(text: str) -> Iterator[str]:
    """Words with a slash that look like commands: no path, no option, no pattern."""
    for word, after in re.findall(r"(?<![\w/.:*…<>\])}-])[/／](\w+)(\S?)", text):
        is_placeholder = word.isascii() and word.isupper()  # as in CHAT/TOPIC
        if after not in ("/", "*", "{", "-", ".", "=") and not is_placeholder:
            yield word


def texts_for_people() -> Iterator[tuple[str, str]]:
    for folder in ("texts", "cli/chat", "engine/inbox", "engine/places", "surfaces"):
        for path in sorted((SOURCE / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
                    yield path.name, node.value


def pages() -> Iterator[tuple[str, str]]:
    """What the pages show as code."""
    for path in sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]):
        for code in re.findall(r"`(/[^`\n]+)`", path.read_text(encoding="utf-8")):
            yield path.name, code


@pytest.mark.parametrize("source", [texts_for_people, pages])
def test_texts_and_pages_name_only_commands_that_exist(source: object) -> None:
    assert callable(source)
    said = [(where, word) for where, text in source() for word in mentioned(text)]
    assert len(said) > 20
    assert [(where, word) for where, word in said if not find(word) and word not in NOT_OURS] == []
