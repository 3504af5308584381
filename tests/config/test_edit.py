from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.config.edit import assign, remove, write
from clew.config.settings import mistakes
from clew.support.errors import Refused

TEXT = """\
# my settings
threads.runtime = "codex"   # the default

[http]  # for webhooks
# port = 7621
host = "127.0.0.1" # not "0.0.0.0" # really

[turns]
parallel = [  # on purpose
  1,
]
"odd = key" = 3

[runtimes.codex]
"""


def changed(key: str, value: str | int | float | bool, text: str = TEXT) -> list[str]:
    """The added lines, with `+`, and the removed ones, with `-`."""
    before, after = text.splitlines(), assign(text, tuple(key.split(".")), value).splitlines()
    gone, new = [line for line in before if line not in after], [line for line in after if line not in before]
    assert [line for line in before if line in after] == [line for line in after if line in before]
    return [*(f"-{line}" for line in gone), *(f"+{line}" for line in new)]


def test_a_value_is_replaced_and_its_comment_stays() -> None:
    assert changed("threads.runtime", "scripted")[1] == '+threads.runtime = "scripted"   # the default'
    assert changed("http.host", "0.0.0.0")[1] == '+host = "0.0.0.0" # not "0.0.0.0" # really'


def test_a_value_of_several_lines_is_replaced_as_a_whole() -> None:
    assert changed("turns.parallel", 4) == ["-parallel = [  # on purpose", "-  1,", "-]", "+parallel = 4"]


def test_a_new_setting_stands_in_its_table_behind_the_comment_that_shows_it() -> None:
    after = assign(TEXT, ("http", "port"), 80)
    assert "# port = 7621\nport = 80\nhost" in after
    assert changed("turns.silence", 1.5) == ["+silence = 1.5"]
    assert assign(TEXT, ("runtimes", "codex", "model"), "x").endswith('[runtimes.codex]\nmodel = "x"\n')


def test_a_new_table_comes_last() -> None:
    assert assign(TEXT, ("log", "level"), "debug") == f'{TEXT}\n[log]\nlevel = "debug"\n'
    assert assign("", ("log", "level"), "debug") == '[log]\nlevel = "debug"\n'
    assert assign("# nothing", ("log", "keep"), 1) == "# nothing\n\n[log]\nkeep = 1\n"


def test_beside_dotted_keys_a_new_one_is_dotted() -> None:
    assert changed("threads.workspace", "~/work") == ['+threads.workspace = "~/work"']


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('surfaces.webhook = { ci = { secret = "x" } }', "surfaces.webhook.ci.url"),
        ("[[http]]\n", "http.port"),
        ("http = 1\n", "http.port"),
        ('x = """\n[http]\n# port = 1\n"""\n[http]\nhost = "x"\ny = """\n# port = 1\n"""\n', "http.port"),
    ],
)
def test_settings_written_in_an_unusual_way_are_refused(text: str, key: str) -> None:
    with pytest.raises(Refused, match="edit it by hand"):
        assign(text, tuple(key.split(".")), 1)


@pytest.mark.parametrize(
    ("text", "key", "after"),
    [
        ("[http]\n# a remark\nport = 1 # mine\nhost = 'x'\n", "http.port", "[http]\n# a remark\nhost = 'x'\n"),
        ("http.port = 1\nlog.keep = 2\n", "http.port", "log.keep = 2\n"),
        ("[a.b]\nc = [\n1,\n]\nd = 2\n[a.e]\nf = 3\n", "a.b", "[a.e]\nf = 3\n"),
        ("[a.b]\nc = 1\n", "a.b.c", "[a.b]\n"),
    ],
)
def test_unsetting_removes_one_setting_and_keeps_the_rest(text: str, key: str, after: str) -> None:
    assert remove(text, tuple(key.split("."))) == after


def test_removing_an_inseparable_setting_is_refused() -> None:
    with pytest.raises(Refused, match="edit it by hand"):
        remove("http = { port = 1, host = 'x' }\n", ("http", "port"))


@given(st.text(st.characters(exclude_categories=["Cs"])) | st.integers(-(2**63), 2**63 - 1) | st.booleans())
def test_any_value_is_read_back_as_it_was_set(value: str | int | bool) -> None:
    for text in ("", "[log]\n", 'log.level = """\n"""\n'):
        assert tomllib.loads(assign(text, ("log", "level"), value)) == {"log": {"level": value}}


def test_a_file_is_written_atomically_privately_and_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "real.toml").write_text("old")
    (tmp_path / "config.toml").symlink_to("real.toml")
    write(tmp_path / "config.toml", "new")
    assert (tmp_path / "config.toml").is_symlink()
    assert (tmp_path / "real.toml").read_text() == "new"
    assert (tmp_path / "real.toml").stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == ["config.toml", "real.toml"]


def test_a_write_that_fails_leaves_what_was_there(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("old")
    with pytest.raises(UnicodeEncodeError):
        write(tmp_path / "config.toml", "\ud800")
    assert [path.read_text() for path in tmp_path.iterdir()] == ["old"]


def test_every_mistake_is_named_with_its_line() -> None:
    text = '[http]\nprot = 1\nport = 70000\n[turns]\nparallel = "x"\n[surfaces.webhook.ci]\nurl = "http://x"\n'
    assert mistakes(text, "config.toml") == [
        "config.toml, line 2: http.prot is not a setting: did you mean `port`?",
        "config.toml, line 3: http.port is 70000: it must be from 0 to 65535",
        "config.toml, line 5: turns.parallel must be a whole number, not text in quotes",
        "config.toml, line 6: surfaces.webhook.ci needs `secret`",
    ]
    assert mistakes("[http", "config.toml")[0].startswith("config.toml: not valid TOML")
    assert mistakes("", "config.toml") == []
