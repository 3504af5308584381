"""The catalogue: each sentence has both languages with the same holes, and the code uses what is there. Chinese may
need fewer holes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from clew.model.runtime import RuntimeCan
from clew.model.views import DaemonView, WhereRow
from clew.store.texts import loaded, stored
from clew.support.coded import Coded, Text, coded_in, with_texts, worded
from clew.texts.bilingual import zh
from clew.texts.catalogue import AREAS, chinese, restore, say, sentences
from tests.helpers.paths import ROOT

SOURCE = ROOT / "src" / "clew"
STORED = SOURCE / "store" / "migrations" / "0015_codes.json"
SAYING = {"say", "phrase", "sentence"}
_HOLE = re.compile(r"\{(\w+)\}")
_CODE = re.compile(r"[a-z_]+\.[a-z_.]+")
_HAN = re.compile("[\u4e00-\u9fff]")


def holes(template: str) -> set[str]:
    return set(_HOLE.findall(template))


@pytest.mark.parametrize("area", sorted(set(AREAS) - {"both"}))
def test_each_sentence_has_both_languages_with_the_same_holes(area: str) -> None:
    for name, (english, translated) in sentences(area).items():
        assert english.strip(), name
        assert not _HAN.search(english), name
        assert _HAN.search(translated) or not re.search("[a-z]{2}", _HOLE.sub("", english).replace("clew", "")), name
        assert holes(english) >= holes(translated), name


def calls_of_say(source: Path) -> Iterator[tuple[str, str, set[str | None]]]:
    """Where `say` is called with a code, the code, and the names of the arguments (None: of a dict)."""
    for path in sorted(source.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in SAYING and node.args:
                code = node.args[0]
                if isinstance(code, ast.Constant) and _CODE.fullmatch(str(code.value)):
                    where = f"{path.relative_to(source)}:{node.lineno}"
                    yield where, str(code.value), {keyword.arg for keyword in node.keywords}


def wrong_calls(source: Path) -> list[str]:
    """Calls of `say` whose code is not in the catalogue, or whose arguments are not its holes."""
    wrong = []
    for where, code, given in calls_of_say(source):
        area, _, name = code.partition(".")
        known = sentences(area).get(name) if area in AREAS else None
        if known is None or (None not in given and given != holes(known[0])):
            wrong.append(f"{where} {code}")
    return wrong


def test_the_code_says_only_what_the_catalogue_has_with_all_arguments() -> None:
    assert wrong_calls(SOURCE) == []


def test_a_wrong_call_is_found(tmp_path: Path) -> None:
    (tmp_path / "planted.py").write_text('say("threads.nothing_like_it")\nsay("threads.forked_from")\n')
    assert len(wrong_calls(tmp_path)) == 2


def calls_of_worded(source: Path) -> Iterator[tuple[str, str, str]]:
    """Where `worded` is called, its code and its English."""
    for path in sorted(source.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "worded":
                code, english = (ast.literal_eval(each) for each in node.args)
                yield f"{path.relative_to(source)}:{node.lineno}", code, english


def test_packages_below_the_catalogue_word_their_sentences_as_it_does() -> None:
    found = list(calls_of_worded(SOURCE))
    assert found
    for where, code, english in found:
        area, _, name = code.partition(".")
        assert sentences(area)[name][0] == english, where


def test_a_sentence_from_below_is_the_same_as_one_of_the_catalogue() -> None:
    below = worded("threads.forked_from", "(forked from {source})", source=say("threads.turn_failed"))
    above = say("threads.forked_from", source=say("threads.turn_failed"))
    assert (below, below.coded) == (above, above.coded)


def test_every_sentence_is_used() -> None:
    """Those that migration 15 wrote into rows stay, used or not. What a runtime can do is a word, too."""
    files = [path for path in SOURCE.rglob("*.py") if "catalogue" not in path.parts]
    source = "\n".join(path.read_text(encoding="utf-8") for path in files)
    stored = msgspec.json.decode(STORED.read_bytes(), type=dict[str, dict[str, str]])
    named = [(area, name) for area in AREAS for name in sentences(area) if name not in stored.get(area, {})]
    steps = re.compile("(doing|done|expected)_")  # of the demo, in front of the step's name
    named = [code for code in named if code[0] != "cli_words" or code[1] not in RuntimeCan.__struct_fields__]
    unused = [code for code in named if ".".join(code) not in source and f'"{steps.sub("", code[1])}"' not in source]
    assert unused == []


def test_a_sentence_is_rendered_in_both_languages_and_inside_another() -> None:
    inner = say("threads.turn_failed")
    outer = say("threads.forked_from", source=inner)
    assert outer == "(forked from The turn failed.)"
    assert zh(outer) == "（由 这一轮失败了。 分叉而来）"
    assert chinese(say("threads.forked_from", source="01A").coded) == "（由 01A 分叉而来）"


def test_holes_in_an_argument_are_text() -> None:
    assert say("threads.forked_from", source="{source}") == "(forked from {source})"


def test_a_row_keeps_the_code_and_foreign_text_stays_as_it_is() -> None:
    text = say("threads.forked_from", source="01A")
    again = loaded(stored(text))
    assert isinstance(again, Text)
    assert (again, again.coded) == (text, text.coded)
    for foreign in ("boom", "", 'code:{"code":"threads.turn_failed"}', "code:{", "code: 1"):
        assert not isinstance(loaded(stored(foreign)), Text)
        assert loaded(stored(foreign)).strip() == foreign
    assert loaded(stored(None)) is None


def test_a_damaged_or_unknown_code_costs_only_itself() -> None:
    assert loaded("code:{nonsense") == "code:{nonsense"
    assert restore(Coded("threads.from_the_future"), "what it said") == "what it said"
    assert not isinstance(restore(Coded("nowhere.x"), "x"), Text)


def test_views_name_the_codes_of_their_sentences() -> None:
    text = say("threads.turn_failed")
    row = with_texts(WhereRow("d", "final", None, "failed", 1, None, None, text))
    assert row.texts == {"error": text.coded} == coded_in(error=text, other="foreign")


def test_views_number_the_codes_of_a_list() -> None:
    text = say("threads.turn_failed")
    view = with_texts(DaemonView(1, 0, "0", "/", None, supervised=True, left_out=["foreign", text]))
    assert view.texts == {"left_out.1": text.coded}


def test_a_code_that_this_version_does_not_know_is_shown_by_its_words() -> None:
    newer = Text("what a newer version said", Coded("gates.from_the_future", {"x": "1"}))
    again = loaded(stored(newer))
    assert again == "what a newer version said" and zh(newer) == "what a newer version said"
