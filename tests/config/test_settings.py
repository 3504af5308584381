from __future__ import annotations

import re
from pathlib import Path

import pytest

from clew.config.settings import Config, load, parse
from clew.support.errors import ConfigError


def wrong(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        parse(text, "config.toml")
    return caught.value.message


def test_without_a_file_all_is_default(tmp_path: Path) -> None:
    assert load(tmp_path / "config.toml") == Config()


def test_an_empty_file_changes_nothing() -> None:
    assert parse("", "config.toml") == Config()


def test_a_file_says_only_what_differs(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text("[http]\nport = 8477\n[turns]\nsilence = 5\n", encoding="utf-8")
    config = load(path)
    assert (config.http.port, config.http.host) == (8477, "127.0.0.1")
    assert config.turns.silence == 5.0
    assert isinstance(config.turns.silence, float)


def test_webhooks_have_names() -> None:
    config = parse('[surfaces.webhook.ci]\nsecret = "s3cret"\nurl = "https://example.org/hook"', "config.toml")
    assert config.surfaces["webhook"]["ci"].url == "https://example.org/hook"


def test_a_tilde_is_the_persons_folder() -> None:
    config = parse('runtimes.codex.home = "~/codex"\nthreads.workspace = "~/work"', "config.toml")
    assert config.runtimes["codex"].home == str(Path.home() / "codex")
    assert config.threads.workspace == str(Path.home() / "work")


def test_a_path_without_a_tilde_stays_as_it_is() -> None:
    assert parse('runtimes.codex.command = "./codex"', "config.toml").runtimes["codex"].command == "./codex"


def test_the_secrets_are_known() -> None:
    text = '[surfaces.webhook.a]\nsecret = "one"\n[surfaces.webhook.b]\nsecret = "two"\n'
    assert parse(text, "config.toml").secrets() == {"one", "two"}
    assert Config().secrets() == frozenset()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[http]\nprot = 1", "config.toml, line 2: http.prot is not a setting: did you mean `port`?"),
        ("[htp]\nport = 1", "config.toml, line 1: htp is not a setting: did you mean `http`?"),
        ("[http]\nzzz = 1", "config.toml, line 2: http.zzz is not a setting; there are host, port, token"),
        ('[http]\n\nport = "80"', "config.toml, line 3: http.port must be a whole number, not text in quotes"),
        ("[http]\nport = true", "config.toml, line 2: http.port must be a whole number, not true or false"),
        ("[http]\nport = 70000", "config.toml, line 2: http.port is 70000: it must be from 0 to 65535"),
        ("[http]\nport = -1", "config.toml, line 2: http.port is -1: it must be from 0 to 65535"),
        ('[http]\nhost = " "', "config.toml, line 2: http.host must not be empty"),
        ("http = 1", "config.toml, line 1: http must be a table, not a whole number"),
        ("turns.parallel = 0", "config.toml, line 1: turns.parallel is 0: it must be at least 1"),
        ("turns.parallel = 1.5", "config.toml, line 1: turns.parallel must be a whole number, not a number"),
        ("turns.silence = -1", "config.toml, line 1: turns.silence is -1.0: it must be at least 0"),
        (
            "runtimes.codex.keep_alive = 0",
            "config.toml, line 1: runtimes.codex.keep_alive is 0.0: it must be at least 1",
        ),
        ("turns.silence = nan", "config.toml, line 1: turns.silence must be a finite number"),
        ("turns.silence = inf", "config.toml, line 1: turns.silence must be a finite number"),
        (
            'threads.workspace = "~nobody-of-this-name/x"',
            "config.toml, line 1: threads.workspace is '~nobody-of-this-name/x': it must be a path;"
            " there is no such user here",
        ),
        ("turns.silence = 1979-05-27", "config.toml, line 1: turns.silence must be a number, not a date"),
        (
            '[runtimes.codex]\nsandbox = "read-only"',
            "config.toml, line 2: runtimes.codex.sandbox is not a setting; there are command, home, model, effort,"
            " start_timeout, request_timeout, interrupt_timeout, idle_stop, prelude, transport, keep_alive",
        ),
        (
            '\n[surfaces.webhook.ci]\nurl = "http://x"',
            "config.toml, line 2: surfaces.webhook.ci needs `secret`",
        ),
        (
            '[surfaces.webhook.ci]\nsecret = ""',
            "config.toml, line 2: surfaces.webhook.ci.secret must not be empty",
        ),
        (
            '[surfaces.webhook."a b"]\nsecret = "x"',
            "config.toml, line 1: surfaces.webhook.a b is 'a b': it must be letters, digits, - and _",
        ),
        (
            "[surfaces]\nwebhook = []",
            "config.toml, line 2: surfaces.webhook must be a table of names,"
            " such as [surfaces.webhook.NAME], not a list",
        ),
        (
            '[surfaces]\nwebhook = { ci = { secret = "x", url = "ftp://x" } }',
            "config.toml, line 2: surfaces.webhook.ci.url is 'ftp://x': it must be"
            " an address such as https://example.org/hook",
        ),
    ],
)
def test_a_mistake_is_named_with_its_line_and_what_would_be_right(text: str, words: str) -> None:
    assert wrong(text) == words


@pytest.mark.parametrize("url", ["example.org", "http://", "https://x:99999/", "file:///x", "http://[::1"])
def test_only_web_addresses_are_taken_for_a_webhook(url: str) -> None:
    assert "surfaces.webhook.ci.url" in wrong(f'[surfaces.webhook.ci]\nsecret = "x"\nurl = "{url}"')


def test_the_line_is_right_behind_a_text_of_several_lines() -> None:
    text = '[threads]\nworkspace = """\n[http]\nport = 70000\n"""\n\n[http]\nport = 70000\n'
    assert wrong(text).startswith("config.toml, line 8: http.port")


def test_a_value_of_several_lines_is_named_by_its_first() -> None:
    assert wrong("[http]\nhost = [\n 1,\n 2,\n]\n").startswith("config.toml, line 2: http.host")


def test_a_secret_of_the_wrong_kind_is_not_shown() -> None:
    assert "4711" not in wrong("[surfaces.webhook.ci]\nsecret = 4711")


def test_broken_toml_is_named_with_its_line() -> None:
    assert re.match(r"config.toml: not valid TOML: .*line 2", wrong("[http]\nport = = 1"))


@pytest.mark.parametrize("text", [b"\xff\xfe", b"x = '\xe4'"])
def test_a_file_that_is_not_text_is_named(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "config.toml").write_bytes(text)
    with pytest.raises(ConfigError, match="is not UTF-8 text"):
        load(tmp_path / "config.toml")


def test_a_folder_in_place_of_the_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read: Is a directory"):
        load(tmp_path)
