"""Help and wrong usage in a Chinese locale."""

from __future__ import annotations

import json
import re
from pathlib import Path

import click
import pytest

from clew.cli.command_list import COMMANDS
from clew.cli.main import cli
from clew.support.display.width import width
from clew.texts.click_words import CLICK, OPTIONS, SUBCOMMANDS
from tests.helpers.daemons import Clew

CHINESE = {"LC_ALL": "zh_CN.UTF-8"}
ENGLISH = re.compile(r"(?:\b[a-z]+\s+){2,}[a-z]")


def commands() -> list[click.Command]:
    top = [cli.get_command(click.Context(cli), name) for name in COMMANDS]
    found = [each for each in top if each is not None]
    return [cli, *found, *(sub for each in found if isinstance(each, click.Group) for sub in each.commands.values())]


def test_every_option_and_subcommand_has_chinese_help_and_none_is_left_over() -> None:
    options = {each.help for command in commands() for each in command.params if isinstance(each, click.Option)}
    shorts = {
        sub.get_short_help_str(200)
        for command in commands()
        if isinstance(command, click.Group) and command is not cli
        for sub in command.commands.values()
    }
    assert options - {None} == set(OPTIONS) and shorts == set(SUBCOMMANDS)


def test_a_translation_fills_in_what_the_english_does() -> None:
    def holes(text: str) -> set[str]:
        return set(re.findall(r"\{(\w+)", text))

    assert [english for english, chinese in CLICK.items() if not holes(chinese) <= holes(english)] == []


@pytest.mark.process
@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("threads --limit x", "'--limit' 的值无效：'x' 不是数字。"),
        ("run --policy nope hi", "'nope' 不在可选值之中"),
        ("wait --timeout -3", "超出范围"),
        ("run --workspace /does/not/exist hi", "不存在"),
        ("threads a --nosuch", "没有选项 --nosuch"),
        ("show a b", "有多余的参数（b）"),
    ],
)
def test_wrong_usage_is_told_in_chinese_and_to_programs_in_english(tmp_path: Path, words: str, told: str) -> None:
    idle = Clew(tmp_path / "home")
    result = idle.run(*words.split(), env=CHINESE)
    assert result.code == 2 and told in result.err and not ENGLISH.search(result.err)
    message = idle.run(*words.split(), "--json", env=CHINESE)
    assert json.loads(message.out)["error"]["message"].isascii()


@pytest.mark.process
@pytest.mark.parametrize("words", ["--help", "start --help", "help wait", "rules --help"])
def test_help_is_chinese_and_fits_the_terminal(tmp_path: Path, words: str) -> None:
    shown = Clew(tmp_path / "home").run(*words.split(), env={**CHINESE, "COLUMNS": "60"}).out
    assert "用法：" in shown and "显示这份说明。" in shown and "Options" not in shown
    assert max(width(line) for line in shown.splitlines()) <= 60
