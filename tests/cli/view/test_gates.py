"""How gates are shown, and which are tracked as open: values in, lines out."""

from __future__ import annotations

from types import SimpleNamespace as Namespace
from typing import Any, TypeVar

import msgspec
import pytest
from msgspec.structs import replace

from clew.cli.chat.prompt import toolbar
from clew.cli.commands.gates import _ask_all, _ask_one, _one_line_summary
from clew.cli.view.events import BOLD, InfoLine
from clew.cli.view.gates import Gates, command_hints, refuse_secrets, request_lines, typing_hint, typing_hints
from clew.client.events import Event
from clew.client.requests import Request
from clew.model.gate_views import GateView
from clew.support.errors import Refused
from tests.helpers.views import gate_view as gate
from tests.helpers.views import question_view as question

T = TypeVar("T")


def test_a_gate_is_shown_completely_with_nothing_hidden() -> None:
    view = gate(
        title="make\nrm \u0441at", folder="/tmp/a\nb", detail="- old\n+ new", reason="to\ntry", warning="Again."
    )
    assert request_lines(view) == [
        "K7Q2: the agent asks to run a command",
        "  why:",
        "  │ to",
        "  │ try",
        "    - old",
        "    + new",
        "  ⚠ Again.",
        "  in /tmp/a\\nb",
        "    make",
        "    rm \\u0441at",
    ]


def test_an_agents_reason_neither_pushes_a_command_away_nor_passes_for_a_card() -> None:
    filler = "I looked at the layout of the repository, and it has to be made anew. " * 4
    fake = "K7Q2: the agent asks to run a command\n    ls -la src\n  1 allow"
    view = gate(title="rm -rf ~/results", reason=f"{fake}\n{filler}\n{filler}\n{filler}\n{filler}", folder="/tmp")
    head, why, *said, folder, command = request_lines(view)
    assert (head, why) == ("K7Q2: the agent asks to run a command", "  why:")
    assert (folder, command) == ("  in /tmp", "    rm -rf ~/results")
    assert all(line.startswith("  │ ") and len(line) <= 74 for line in said) and len(said) <= 12
    assert said[0] == "  │ K7Q2: the agent asks to run a command" and said[-1] == "  │ … (2 more lines)"
    spaced = request_lines(gate(reason="\n".join("abcdefg")))
    assert spaced[2:9] == [*(f"  │ {letter}" for letter in "abcdef"), "  │ … (1 more line)"]
    wide = request_lines(gate(reason="好" * 600))
    assert all(line.startswith("  │ ") for line in wide[2:-1]) and sum(line.count("好") for line in wide) == 500


def test_a_command_is_shown_exactly_whatever_its_length_or_script() -> None:
    view = gate(title="cat א > ב\necho ʼ; x ʼ" + "\n" * 30 + "ls", folder="/tmp/א", detail="+א")
    assert request_lines(view)[1:] == [
        r"    +\u05d0",
        r"  in /tmp/\u05d0",
        "  32 lines:",
        r"    cat \u05d0 > \u05d1",
        r"    echo \u02bc; x \u02bc",
        "    ⏎×29",
        "    ls",
    ]


def test_blank_lines_in_agent_text_are_folded_and_counted() -> None:
    gap = "tests" + "\n" * 300 + "x"
    view = gate(kind="question", detail=gap, reason=gap, questions=[question(gap, "a")])
    assert request_lines(view)[1:] == [
        *("  why:", "  │ tests", "  │ ⏎×299", "  │ x"),
        *("    tests", "    ⏎×299", "    x"),
        *("  301 lines:", "  tests", "  ⏎×299", "  x", "    1 a"),
    ]


def test_a_long_diff_is_shown_completely() -> None:
    view = gate(kind="change", detail="+" * 100_000)
    assert request_lines(view)[-2].strip() == "+" * 100_000


def test_gates_shortened_in_a_list_are_fetched_before_display() -> None:
    whole = gate(kind="change", detail="+" * 5_000)
    listed = replace(whole, detail="+ … ✂ 4,999 … ")

    class Daemon(GateClient):
        def ask(self, request: Request[T]) -> T:
            return msgspec.convert(whole if request.path[-1] == whole.id else (listed,), request.gives)

    shown = Gates(Daemon(), "T", typing_hints).catch_up()
    assert any(isinstance(piece, InfoLine) and piece.line.strip() == "+" * 5_000 for piece in shown)


def test_the_typing_hint_names_the_accepted_answers() -> None:
    one = gate(kind="question", questions=[question("Which?", "red")])
    assert typing_hint([gate()]) == "y, n, n REASON or a number; any other text goes to the agent"
    assert typing_hint([one]) == "a number, or K7Q2 and your own text"
    assert typing_hint([gate(kind="question", questions=[question("Which?", "red", free=False)])]) == "a number"
    assert typing_hint([gate(kind="question", questions=[question()])]) == "your next line answers it"
    assert "K7Q2 y or Z3H8 1;" in typing_hint([gate(), gate("Z3H8", "question", questions=[question("Which?", "red")])])


def test_several_questions_are_shown_with_a_number_for_each() -> None:
    view = gate(kind="question", questions=[question("Which?", "red", "green"), question("How many?", "1", "2")])
    shown = [*request_lines(view), *typing_hints(view, [view])]
    assert shown == [
        "K7Q2: the agent asks",
        "  Which?",
        "    1 red",
        "    2 green",
        "  How many?",
        "    1 1",
        "    2 2",
        "  a number for each question, such as 1 2",
    ]
    assert command_hints(view) == ["  clew answer K7Q2 ANSWER ANSWER answers it"]


@pytest.mark.parametrize("line", ["hunter", "K7Q2 hunter", "y", "1234", "no idea"])
def test_typed_text_is_not_sent_while_a_secret_is_asked_for(line: str) -> None:
    secret = gate(kind="question", questions=[question(secret=True)])
    with pytest.raises(Refused, match="give it with `clew answer K7Q2`, not here"):
        refuse_secrets(line, [gate("Z3H8"), secret])


@pytest.mark.parametrize("line", ["z3h8 y", "n Z3H8 not now", "yes all"])
def test_while_a_secret_is_asked_another_gate_is_answered_by_code(line: str) -> None:
    refuse_secrets(line, [gate("Z3H8"), gate(kind="question", questions=[question(secret=True)])])


class GateClient:
    """A client with these gates."""

    def __init__(self, *views: GateView) -> None:
        self.views = views

    def ask(self, request: Request[T]) -> T:
        found = [view for view in self.views if view.id == request.path[-1]]
        return msgspec.convert(found[0] if found else self.views[::-1], request.gives)


def event(kind: str, **data: Any) -> Event:
    return Event(
        kind, 1, turn="U", data={"gate": "id-K7Q2", "code": "K7Q2", "asks": "command", "title": "make", **data}
    )


def test_a_gate_is_shown_once_and_again_if_it_is_reopened() -> None:
    gates = Gates(GateClient(gate()), "T", typing_hints)
    first = gates.catch_up()
    assert first[0] == InfoLine("K7Q2: the agent asks to run a command", BOLD)
    assert gates.take(event("gate.opened")) == [] and [view.code for view in gates.open] == ["K7Q2"]
    told = gates.take(event("gate.answered", decision="accept", by="ann", title="make all"))
    assert (told, gates.open) == ([InfoLine("· K7Q2: yes by ann: make all")], ())
    assert gates.take(event("gate.opened")) == first and len(gates.open) == 1


def test_a_gate_of_another_turn_is_tracked_but_not_shown() -> None:
    gates = Gates(GateClient(gate(turn="before")), "T", typing_hints)
    assert gates.catch_up("U") == [] and len(gates.open) == 1


def test_the_toolbar_names_open_gates() -> None:
    assert toolbar(5, "T", 0, None, 0, ["K7Q2"]).startswith("? K7Q2 waits for you")


def test_numeric_options_are_marked_when_asking_for_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr("click.prompt", lambda *_, **__: "#1")
    assert _ask_one(Namespace(say=told.append), question("How many?", "2", "1")) == "#1"  # type: ignore[arg-type]
    assert told == ["  #1 2", "  #2 1"]


def test_options_are_explained_before_an_answer_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    view = gate(kind="question", detail="red: stop everything", questions=[question("Which?", "red", "blue")])
    told: list[str] = []
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)

    class Heard:
        def say(self, line: str) -> None:
            told.append(line)

    def prompt(text: str, **_: object) -> str:
        told.append(text)
        return "1"

    monkeypatch.setattr("click.prompt", prompt)

    assert _ask_all(Heard(), view) == [["1"]]  # type: ignore[arg-type]
    assert told == ["    red: stop everything", "  1 red", "  2 blue", "Which?"]


def test_an_approval_says_what_it_allowed_and_where() -> None:
    view = gate(title="make א\nls", folder="/srv/work")
    assert _one_line_summary(view) == r"make \u05d0\nls, in /srv/work"
    assert _one_line_summary(gate(title="x" * 500)) == "x" * 159 + "…"
