"""Parsing and completing a line, and splitting text into lines above the prompt: pure."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.cli.chat.flow import Flow
from clew.cli.chat.lines import (
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
    path_argument,
    suggestions,
)
from clew.cli.language import reads_chinese
from clew.cli.view.events import InfoLine, TextChunk
from clew.texts import slash_commands

NAMES = [spec.name for spec in slash_commands.available(slash_commands.Place.TERMINAL)]


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


def test_a_command_may_be_typed_in_chinese_and_with_a_full_width_slash() -> None:
    assert parsed("／状态") == Command("status", in_chinese=True)
    assert parsed("／resume　2") == Command("resume", "2")
    assert parsed("/exit") == Command("quit")
    assert parsed("help") == Command("help") and parsed("帮助") == Command("help", in_chinese=True)
    assert parsed("help me") == Message("help me")


def test_a_mistyped_command_suggests_the_nearest_and_is_no_message() -> None:
    wrong = parsed("/statsu now")
    assert isinstance(wrong, Invalid)
    assert "There is no /statsu; did you mean /status?" in wrong.words
    assert isinstance(parsed("/q"), Invalid)


def test_a_command_of_chats_says_where_it_works() -> None:
    wrong = parsed("/home")
    assert isinstance(wrong, Invalid) and "works only in chats" in wrong.words


def test_other_words_with_a_slash_are_for_the_agent_as_in_chats() -> None:
    assert parsed("/compact") == Message("/compact")
    assert parsed("/login returns 500") == Message("/login returns 500")


@given(
    st.sampled_from([word for spec in slash_commands.COMMANDS for word in spec.words]), st.sampled_from(["", " ", " x"])
)
def test_no_command_of_clew_ever_reaches_the_agent(word: str, rest: str) -> None:
    assert isinstance(parsed(f"/{word}{rest}"), Command | Invalid)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("/queue", "needs an argument: /queue TEXT"),
        ("/file ", "needs an argument: /file PATH"),
        ("/done it", "takes no argument"),
    ],
)
def test_a_command_names_its_arguments_when_used_wrongly(line: str, words: str) -> None:
    wrong = parsed(line)
    assert isinstance(wrong, Invalid) and words in wrong.words


def test_two_slashes_are_a_message_with_one() -> None:
    assert parsed("//etc is a folder") == Message("/etc is a folder")
    assert parsed("//tmp/a.png", "/tmp/a.png", "//tmp/a.png") == Message("/tmp/a.png")
    assert parsed("／／状态") == Message("/状态")
    assert parsed("// a comment") == Message("// a comment")


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
    assert [line.split()[0] for line in told.splitlines() if line.startswith("  /")] == [f"/{name}" for name in NAMES]
    assert "Alt-Enter" in told and "Ctrl-D" in told
    assert "  /继续 [编号|ID]" in "\n".join(help_lines(chinese=True))
    assert help_lines("quit") == ["  /quit  Leave; a running turn continues"]


def test_the_locale_says_whether_help_is_in_chinese() -> None:
    assert reads_chinese({"LANG": "zh_CN.UTF-8"}) and not reads_chinese({"LANG": "en_US.UTF-8"})
    assert not reads_chinese({"LC_ALL": "C", "LANG": "zh_CN.UTF-8"}) and not reads_chinese({})


def test_every_command_is_completed_in_both_languages() -> None:
    assert [words.strip() for words, _, _ in suggestions("/", lambda typed: [])] == [f"/{name}" for name in NAMES]
    chinese = [words.strip() for words, _, _ in suggestions("／", lambda typed: [], chinese=True)]
    assert chinese == [f"/{spec.chinese}" for spec in slash_commands.available(slash_commands.Place.TERMINAL)]
    assert [words for words, _, _ in suggestions("/状", lambda typed: [])] == ["/状态"]


def test_commands_threads_and_paths_are_completed() -> None:

    def threads(typed: str) -> list[tuple[str, str]]:
        return [each for each in (("flaky-test", "one"), ("flaky-retry", "two")) if each[0].startswith(typed)]

    assert list(suggestions("/st", threads)) == [
        ("/stop", -3, "Stop the running turn"),
        ("/status", -3, "Show the status of this thread"),
    ]
    assert list(suggestions("/resume flaky-r", threads)) == [("flaky-retry", -7, "two")]
    assert list(suggestions("/继续 flaky-r", threads)) == [("flaky-retry", -7, "two")]
    assert list(suggestions("say /st", threads)) == []
    assert (path_argument("/attach  ./a b"), path_argument("／附件 x"), path_argument("/dir x")) == ("./a b", "x", None)


def lines(flow: Flow, *pieces: TextChunk | InfoLine, columns: int = 20) -> list[str]:
    return [each.text if isinstance(each, TextChunk) else f"[{each.line}]" for each in flow.take(pieces, columns)]


def test_a_paragraph_is_emitted_when_complete() -> None:
    flow = Flow()
    assert lines(flow, TextChunk("one\n\ntw", fresh=True)) == ["one"]
    assert flow.pending == "tw"
    assert lines(flow, TextChunk("o\n\nthree"), InfoLine("· turn completed")) == [
        *("", "two"),
        *("", "three"),
        "[· turn completed]",
    ]


def test_of_a_paragraph_that_is_not_complete_the_last_row_is_shown() -> None:
    flow = Flow()
    assert lines(flow, TextChunk("never lose the thread that leads you back")) == []
    assert flow.pending == "you back"
    assert lines(flow, InfoLine("x")) == ["never lose the", "thread that leads", "you back", "[x]"]


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
