"""The texts of the page: both languages have the same keys, and each is used."""

from __future__ import annotations

import json
import re

from tests.helpers.paths import ROOT

PAGE = ROOT / "src/clew/server/page/static"
EN: dict[str, str] = json.loads((PAGE / "words/en.json").read_text(encoding="utf-8"))
ZH: dict[str, str] = json.loads((PAGE / "words/zh.json").read_text(encoding="utf-8"))
MODULES = {path: path.read_text(encoding="utf-8") for path in PAGE.rglob("*.js")}


def test_both_languages_have_the_same_words() -> None:
    assert list(EN) == list(ZH)


def test_a_value_that_is_filled_in_has_its_place_in_both() -> None:
    holes = [{name: set(re.findall(r"\{(\w+)\}", text)) for name, text in words.items()} for words in (EN, ZH)]
    assert holes[0] == holes[1]


def test_what_the_page_says_is_in_the_files() -> None:
    said = {name for text in MODULES.values() for name in re.findall(r"""\bt\(\s*"([^"]+)"[,)\s]""", text)}
    assert said <= set(EN), said - set(EN)


def test_every_word_is_said_somewhere() -> None:
    """Whether a text is used, by its key or by the beginning of a composed key."""
    text = "\n".join(MODULES.values())
    begun = tuple(re.findall(r"`([a-z_.]+\.)\$\{", text))
    unsaid = [name for name in EN if f'"{name}"' not in text and not name.startswith(begun)]
    assert not unsaid


def test_only_one_file_sets_markup() -> None:
    setting = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|createContextualFragment|setHTML"
    assert [path.name for path, text in MODULES.items() if re.search(setting, text)] == ["markdown.js"]


def test_the_types_of_every_module_are_checked() -> None:
    checked = [text.startswith("// @ts-check\n") and "@ts-ignore" not in text for text in MODULES.values()]
    assert checked and all(checked)


def test_modules_stay_small() -> None:
    assert {path.name for path, text in MODULES.items() if text.count("\n") > 300} == set()
