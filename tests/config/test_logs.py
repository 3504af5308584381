from __future__ import annotations

import json
import logging
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from clew.config import logs
from clew.config.settings import LogConfig

log = logging.getLogger("clew.test")


@contextmanager
def logging_to(path: Path, *secrets: str, max_bytes: int = 10_000_000) -> Iterator[logging.Handler]:
    handler = logs.start(path, LogConfig(max_bytes=max_bytes, keep=2), secrets)
    try:
        yield handler
    finally:
        logs.stop(handler)


@pytest.fixture(autouse=True)
def level_of_the_root() -> Iterator[None]:
    before = logging.getLogger().level
    yield
    logging.getLogger().setLevel(before)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "clew.log"


def entries(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_each_line_is_an_object_with_time_level_logger_and_message(path: Path) -> None:
    with logging_to(path):
        log.info("turn %s ended", "01J", extra=logs.about(thread="01H", seconds=1.5, parts=["a", 2]))
    (entry,) = entries(path)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", entry.pop("at"))
    assert entry == {
        "level": "info",
        "logger": "clew.test",
        "message": "turn 01J ended",
        "thread": "01H",
        "seconds": 1.5,
        "parts": ["a", 2],
    }


def test_a_moment_is_written_in_utc_with_milliseconds() -> None:
    assert logs.timestamp(1_700_000_000.25) == "2023-11-14T22:13:20.250Z"


def test_a_traceback_is_kept_in_one_line(path: Path) -> None:
    with logging_to(path):
        try:
            raise ValueError("bad")
        except ValueError:
            log.exception("it failed")
    (entry,) = entries(path)
    assert entry["level"] == "error"
    assert entry["traceback"].endswith("ValueError: bad")


def test_what_is_below_the_level_is_left_out(path: Path) -> None:
    with logging_to(path):
        log.debug("not this")
        log.warning("this")
    assert [entry["message"] for entry in entries(path)] == ["this"]


def test_only_the_owner_can_read_it(path: Path) -> None:
    path.write_text("")
    path.chmod(0o644)
    with logging_to(path):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_secret_of_the_config_is_nowhere_in_the_file(path: Path) -> None:
    with logging_to(path, "hunter2", "hunter2-longer"):
        try:
            raise ValueError("no hunter2 here")
        except ValueError:
            log.exception("signed with %s and hunter2-longer", "hunter2", extra={"deep": {"hunter2": ["x hunter2"]}})
    assert "hunter2" not in path.read_text()
    assert "longer" not in path.read_text()


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Authorization: Bearer abc.def-123", "Authorization: [redacted]"),
        ("authorization=Basic dXNlcjpwYXNz", "authorization=[redacted]"),
        ('{"Authorization": "Bearer abcdefgh"}', '{"Authorization": "[redacted]"}'),
        ("sent bearer abcdef123456 along", "sent bearer [redacted] along"),
        ("key sk-proj-abcdefgh12345678 was used", "key [redacted] was used"),
        ("GET /x?token=abc123&page=2", "GET /x?token=[redacted]&page=2"),
        ("OPENAI_API_KEY=abc ./run", "OPENAI_API_KEY=[redacted] ./run"),
        ('{"access_token": "abc", "n": 1}', '{"access_token": "[redacted]", "n": 1}'),
        ("password: s3same", "password: [redacted]"),
        ("ghp_abcdefghijklmnop", "[redacted]"),
        ("jwt eyJhbGciOiJI.eyJzdWIiOiIx.sig-nature", "jwt [redacted]"),
        ("MY_VERY_OWN_SECRET = 'abc'", "MY_VERY_OWN_SECRET = '[redacted]'"),
        ("basic understanding", "basic understanding"),
        ("input_tokens=12 tokens: 5", "input_tokens=12 tokens: 5"),
        ("a task-force of risk-averse people", "a task-force of risk-averse people"),
    ],
)
def test_what_looks_like_a_secret_is_redacted(text: str, left: str) -> None:
    assert logs.Redactor()(text) == left


@pytest.mark.parametrize("word", ["a-", "a_", "token", "token ", "bearer ", "eyJ", "sk-", "a.b", "ghp_", "="])
@pytest.mark.timeout(60)  # far less, but for a machine that is busy; hours, where it is quadratic
def test_redacting_a_very_long_word_takes_no_time(word: str) -> None:
    logs.Redactor(["hunter2"])(word * 200_000)


def test_a_field_with_the_name_of_a_secret_is_redacted(path: Path) -> None:
    with logging_to(path):
        log.info("x", extra={"token": "abc", "headers": {"Cookie": "abc", "X-Api-Key": 123}, "secret": None})
    (entry,) = entries(path)
    assert entry["token"] == logs.REDACTED
    assert entry["headers"] == {"Cookie": logs.REDACTED, "X-Api-Key": logs.REDACTED}
    assert entry["secret"] is None


@pytest.mark.parametrize("nasty", ["\x1b[31m", "\x9b2J", "\x7f", "a\nb\r", "\u2028", "\u202e", "\udc80", "\x00"])
def test_a_control_character_never_reaches_a_terminal(path: Path, nasty: str) -> None:
    with logging_to(path) as handler:  # not by `log`: pytest would keep it too, and xdist cannot carry a lone surrogate
        handler.handle(logging.makeLogRecord({"msg": f"x{nasty}y"}))
    text = path.read_text(encoding="utf-8")
    assert text.removesuffix("\n").isprintable()
    assert json.loads(text)["message"] == f"x{nasty}y"


def test_peoples_words_stay_readable(path: Path) -> None:
    with logging_to(path):
        log.info("你好 🎉")
    assert "你好 🎉" in path.read_text(encoding="utf-8")


def test_a_field_of_any_kind_is_written_somehow(path: Path) -> None:
    with logging_to(path):
        log.info("x", extra={"where": path, "nan": float("nan"), "when": {1}, "level": "mine"})
    (entry,) = entries(path)
    assert (entry["where"], entry["nan"], entry["when"], entry["level"]) == (str(path), "nan", [1], "info")


def test_a_full_log_rotates_and_few_files_are_kept(path: Path) -> None:
    with logging_to(path, max_bytes=1000):
        for number in range(100):
            log.info("line %d", number)
    assert sorted(each.name for each in path.parent.iterdir()) == ["clew.log", "clew.log.1", "clew.log.2"]
    assert all(each.stat().st_size <= 1000 for each in path.parent.iterdir())


def test_the_tail_is_the_last_lines_oldest_first(path: Path) -> None:
    path.write_text("".join(f"{number}\n" for number in range(50_000)))
    assert logs.tail(path, 3) == ["49997", "49998", "49999"]


def test_the_tail_of_long_lines_is_whole(path: Path) -> None:
    path.write_text("short\n" + "ä" * 200_000 + "\nlast\n", encoding="utf-8")
    assert logs.tail(path, 2) == ["ä" * 200_000, "last"]


def test_the_tail_reaches_back_over_a_rotation(path: Path) -> None:
    path.with_name("clew.log.1").write_text("1\n2\n3\n")
    path.write_text("4\n")
    assert logs.tail(path, 3) == ["2", "3", "4"]


@pytest.mark.parametrize(("text", "lines"), [("", []), ("half", []), ("one\nhalf", ["one"])])
def test_the_tail_has_whole_lines_only(path: Path, text: str, lines: list[str]) -> None:
    path.write_text(text)
    assert logs.tail(path, 5) == lines


def test_a_log_that_is_not_there_has_no_tail(path: Path) -> None:
    assert logs.tail(path, 5) == []


class Steps:
    """A replacement for sleep: each time the follower finds nothing more, do the next step."""

    def __init__(self, *steps: Callable[[], object]) -> None:
        self.left = list(steps)

    def __call__(self, seconds: float) -> None:
        self.left.pop(0)()


def append(path: Path, text: str) -> Callable[[], object]:
    def step() -> None:
        with path.open("a") as file:
            file.write(text)

    return step


def test_following_begins_with_what_is_new(path: Path) -> None:
    path.write_text("old\n")
    assert list(islice(logs.follow(path, Steps(append(path, "new\n"))), 1)) == ["new"]


def test_a_line_is_shown_when_it_is_whole(path: Path) -> None:
    path.write_text("")
    steps = Steps(append(path, "fi"), append(path, "rst\nsec"), append(path, "ond\n"))
    assert list(islice(logs.follow(path, steps), 2)) == ["first", "second"]


def test_a_log_can_be_followed_before_it_is_there(path: Path) -> None:
    assert list(islice(logs.follow(path, Steps(lambda: None, append(path, "first\n"))), 1)) == ["first"]


def test_following_goes_on_through_a_rotation(path: Path) -> None:
    path.write_text("")

    def rotate() -> None:
        append(path, "end of the old\n")()
        path.rename(path.with_name("clew.log.1"))

    steps = Steps(append(path, "one\n"), rotate, append(path, "begin of the new\n"), append(path, "two\n"))
    assert list(islice(logs.follow(path, steps), 4)) == ["one", "end of the old", "begin of the new", "two"]


def test_following_goes_on_when_the_file_is_emptied(path: Path) -> None:
    path.write_text("a long line that was there\n")

    def empty() -> None:
        path.write_text("new\n")

    assert list(islice(logs.follow(path, Steps(empty)), 1)) == ["new"]


def test_no_line_is_lost_while_the_log_rotates_under_a_follower(path: Path) -> None:
    with logging_to(path, max_bytes=1000):
        log.info("line 0")
        steps = Steps(*(partial(log.info, "line %d", number) for number in range(1, 100)))
        seen = [json.loads(line)["message"] for line in islice(logs.follow(path, steps), 99)]
    assert seen == [f"line {number}" for number in range(1, 100)]
