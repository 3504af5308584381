"""Parsing and completing a line, and splitting text into lines above the prompt: pure."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.cli.chat.flow import Flow
from clew.cli.chat.lines import (
    COMMANDS,
    Command,
    Files,
    Image,
    Invalid,
    Message,
    dropped_paths,
    help_lines,
    join_continued,
    parse_file_argument,
    parse_line,
    suggestions,
)
from clew.cli.view.events import InfoLine, TextChunk


def parsed(line: str, *files: str) -> object:
    return parse_line(line, lambda path: str(path) in files)


def test_an_empty_line_means_nothing() -> None:
    assert parsed("  \n ") is None


def test_plain_words_are_a_message() -> None:
    assert parsed(" fix the test \n") == Message("fix the test")
    assert parsed("and/or") == Message("and/or")


def test_a_word_with_a_slash_is_a_command() -> None:
    assert parsed("/stop") == Command("stop")
    assert parsed("/Queue  and then this\nand that") == Command("queue", "and then this\nand that")
    assert parsed("/resume") == Command("resume")


def test_an_unknown_command_suggests_the_nearest_and_is_no_message() -> None:
    wrong = parsed("/statsu now")
    assert isinstance(wrong, Invalid)
    assert "there is no /statsu; did you mean /status" in wrong.words
    assert isinstance(parsed("/zzzz"), Invalid)


@given(st.from_regex(r"/[a-zA-Z-]+( .*)?", fullmatch=True))
def test_no_slash_command_ever_reaches_the_agent(line: str) -> None:
    assert not isinstance(parsed(line), Message)


@pytest.mark.parametrize(
    ("line", "words"),
    [("/queue", "needs an argument: TEXT"), ("/file ", "needs an argument: PATH"), ("/stop it", "takes no argument")],
)
def test_a_command_names_its_arguments_when_used_wrongly(line: str, words: str) -> None:
    wrong = parsed(line)
    assert isinstance(wrong, Invalid) and words in wrong.words


def test_two_slashes_are_a_message_with_one() -> None:
    assert parsed("//etc is a folder") == Message("/etc is a folder")


@pytest.mark.parametrize("line", ["/tmp/a b.png", "'/tmp/a b.png'", r"/tmp/a\ b.png", "file:///tmp/a%20b.png"])
def test_a_dropped_file_is_attached(line: str) -> None:
    assert parsed(line, "/tmp/a b.png") == Files((Path("/tmp/a b.png"),))


def test_several_files_may_be_dropped_at_once() -> None:
    assert parsed("/a/x '/a/y z'", "/a/x", "/a/y z") == Files((Path("/a/x"), Path("/a/y z")))


def test_a_missing_path_or_a_path_among_words_is_a_message() -> None:
    assert parsed("/tmp/none.png") == Message("/tmp/none.png")
    assert parsed("/tmp/a.png is broken", "/tmp/a.png") == Message("/tmp/a.png is broken")
    assert parsed("README.md") == Message("README.md")
    assert parsed("it's /tmp/a.png", "/tmp/a.png") == Message("it's /tmp/a.png")


@given(st.text(max_size=50))
def test_any_text_can_be_parsed(text: str) -> None:
    assert (parse_line(text) is None) == (not text.strip())
    dropped_paths(text)


def test_a_text_too_long_for_a_path_is_a_message() -> None:
    assert parse_line("/a/" + "x" * 5000) == Message("/a/" + "x" * 5000)


def test_file_path_may_have_unquoted_spaces_and_start_with_tilde(tmp_path: Path) -> None:
    assert parse_file_argument("a b.png") == Path.cwd() / "a b.png"
    assert parse_file_argument("~/x") == Path.home() / "x"
    assert parse_file_argument("'/tmp/a b'") == Path("/tmp/a b")


def test_a_line_ending_with_a_backslash_continues() -> None:
    assert list(join_continued(["a\\\n", "b\n", "c\r\n", "d\\"])) == ["a\nb", "c", "d"]
    assert list(join_continued(["C:\\\\\n"])) == ["C:\\\\"]


def test_help_names_every_command_and_the_keys() -> None:
    told = "\n".join(help_lines())
    assert all(f"/{name}" in told for name in COMMANDS)
    assert "Alt-Enter" in told and "Ctrl-D" in told


def test_commands_and_thread_ids_are_completed() -> None:
    threads = [("01AB", "one"), ("01AC", "two")]
    assert list(suggestions("/st", lambda: threads)) == [
        ("/stop", -3, COMMANDS["stop"][1]),
        ("/status", -3, COMMANDS["status"][1]),
    ]
    assert list(suggestions("/resume 01ac", lambda: threads)) == [("01AC", -4, "two")]
    assert list(suggestions("say /st", lambda: threads)) == []


def lines(flow: Flow, *pieces: TextChunk | InfoLine, columns: int = 20) -> list[str]:
    return [each.text if isinstance(each, TextChunk) else f"[{each.line}]" for each in flow.take(pieces, columns)]


def test_a_line_is_emitted_when_complete() -> None:
    flow = Flow()
    assert lines(flow, TextChunk("one\ntw", fresh=True)) == ["one"]
    assert flow.pending == "tw"
    assert lines(flow, TextChunk("o\n\nthree"), InfoLine("· turn completed")) == [
        "two",
        "",
        "three",
        "[· turn completed]",
    ]


def test_a_long_line_is_emitted_row_by_row() -> None:
    flow = Flow()
    assert lines(flow, TextChunk("never lose the thread that leads you back")) == [
        "never lose the",
        "thread that leads",
    ]
    assert flow.pending == "you back"


def test_a_new_text_starts_on_its_own_line() -> None:
    assert lines(Flow(), TextChunk("one", fresh=True), TextChunk("two", fresh=True)) == ["one"]


def test_streamed_text_cannot_control_the_terminal() -> None:
    assert lines(Flow(), TextChunk("\x1b[2J\n"), InfoLine("\x07")) == ["\\x1b[2J", "[\\x07]"]


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("data:image/png;base64,aGk=", Image(".png", b"hi")),
        (" data:image/jpeg;base64,aG\nk= ", Image(".jpg", b"hi")),
        ("data:image/tiff;base64,aGk=", "only png, jpeg, gif, webp in base64 can be pasted"),
        ("data:image/svg+xml;utf8,<svg/>", "only png, jpeg, gif, webp in base64"),
        ("data:image/png;base64,aG", "the pasted image is incomplete"),
        ("data:image/png;base64," + "A" * (28 << 20), "the pasted image is larger than 20 MiB"),
        ("what is data:image/png;base64,aGk= ?", Message("what is data:image/png;base64,aGk= ?")),
    ],
    ids=["png", "jpeg", "tiff", "svg", "cut", "large", "talk"],
)
def test_an_image_may_be_pasted_as_data(line: str, meant: object) -> None:
    found = parse_line(line)
    assert found.words.startswith(str(meant)) if isinstance(found, Invalid) else found == meant
