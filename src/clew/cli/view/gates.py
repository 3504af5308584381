"""Shows a gate in a terminal: the complete request, so that nobody approves what they do not see, and how to answer it:
by typing if possible, else by commands."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from clew.cli.language import as_called, person, phrase, said, said_each, word
from clew.cli.output import diff_colour
from clew.cli.view.events import BOLD, PLAIN, EventRenderer, InfoLine, Piece
from clew.cli.view.text_width import one_line, rows_of, table
from clew.client import requests
from clew.client.events import GateAnswered, GateExpired, GateOpened, GateTaken, GateVoid
from clew.model.gate_views import GateView, QuestionView
from clew.support.display import escape_hidden
from clew.support.display.as_code import (
    as_code,
    as_prose,
    detail_shown,
    long_line,
    many_in,
    many_lines,
    script_shown,
    title_shown,
)
from clew.support.display.width import width
from clew.support.errors import Refused

if TYPE_CHECKING:
    from clew.client.events import Event
    from clew.client.requests import Sent
    from clew.client.sync import Asks

BAR, REASON_COLUMNS = "│ ", 70  # before each row of an agent's reason, and the width of a row after it
AT_FIRST = 4  # answers that are shown; others can be typed
REASON_LINES, REASON_CHARS = 6, 500  # how much of a reason is shown at most
AnswerHints = Callable[[GateView, Sequence[GateView]], list[str]]  # lines on how to answer a gate, given all open ones


class Gates:
    """Shows the gates of one thread: each when it opens, then a line at each change.

    `open` are the gates shown as open, oldest first. Any Python thread may read it.
    """

    def __init__(self, client: Asks, thread: str, hints: AnswerHints, work: EventRenderer | None = None) -> None:
        self._client = client
        self._thread = thread
        self._hints = hints
        self._work = work or EventRenderer()
        self._shown: set[str] = set()
        self._answered: dict[str, str] = {}  # the line about an answer, until the agent has taken it
        self.open: tuple[GateView, ...] = ()

    def catch_up(self, turn: str | None = None) -> list[Piece]:
        """Load the open gates, and show those that were not shown yet, of one turn or of all."""
        views = self._client.ask(requests.gates(self._thread))
        listed = [view for view in reversed(views) if view.state == "open"]
        self.open = tuple(self._client.ask(requests.gate(view.id)) for view in listed)  # the list has shortened diffs
        return [piece for view in self.open if turn in (None, view.turn) for piece in self._ask(view)]

    def take(self, event: Event) -> list[Piece]:
        match event.what:
            case GateOpened(gate):
                return self._opened(self._client.ask(requests.gate(gate)))
            case GateAnswered(gate) as answered:
                return self._take_answer(answered, event.turn or "", self._close(gate))
            case GateTaken(gate, code):
                received = phrase("cli_gates.received", code=code) if self._close(gate) else ""
                line = self._answered.pop(gate, received)
                return [InfoLine(line)] if line else []
            case GateVoid(gate) | GateExpired(gate) as closed:
                self._close(gate)
                return [InfoLine(closing_line(closed))]
        return []

    def _close(self, gate: str) -> bool:
        """Returns whether it was shown."""
        was_shown = gate in self._shown
        self.open = tuple(view for view in self.open if view.id != gate)
        self._shown.discard(gate)  # it may be opened again
        return was_shown

    def _take_answer(self, answered: GateAnswered, turn: str, was_shown: bool) -> list[Piece]:
        """One line when the agent has taken the answer. Of a gate that a rule answered at once: one line, which is that
        of the work that goes on by a yes."""
        if answered.decision in ("decline", "cancel"):
            self._work.expect_declined(turn)
        if was_shown:
            self._answered[answered.gate] = closing_line(answered)
            return []
        by = answered.texts.get("by")
        is_by_rule = by is not None and by.code == "gates.by_rule" and answered.decision == "accept"
        goes_on = is_by_rule and self._work.has_shown_work(turn, script_shown(answered.title))
        return [] if goes_on else [InfoLine(f"{closing_line(answered)}: {one_line(script_shown(answered.title))}")]

    def _opened(self, view: GateView) -> list[Piece]:
        if view.state != "open":
            return []
        self.open = (*(each for each in self.open if each.id != view.id), view)
        return self._ask(view)

    def _ask(self, view: GateView) -> list[Piece]:
        if view.id in self._shown:
            return []
        self._shown.add(view.id)
        return [*request_rows(view), *map(_plain, self._hints(view, self.open))]


def is_on_its_way(accepted: Sent) -> bool:
    """Whether a message was an answer, about which a line comes when the agent has taken it."""
    code = accepted.texts.get("words")
    return code is not None and code.code in _ON_THEIR_WAY


_ON_THEIR_WAY = frozenset({"gates.on_its_way", "gates.all_on_their_way", "gates.all_on_their_way_many"})


def closing_line(closed: GateAnswered | GateVoid | GateExpired) -> str:
    """One line about the outcome of a gate."""
    match closed:
        case GateAnswered(_, code, decision):
            who = person(said(closed, "by"))
            return phrase("cli_gates.decided", code=code, decision=decision_words(decision), who=who)
        case GateVoid(_, code):
            return phrase("cli_gates.void", code=code, why=said(closed, "why"))
        case GateExpired(_, code):
            return phrase("cli_gates.expired", code=code)


def request_lines(view: GateView) -> list[str]:
    return [row.line for row in request_rows(view)]


def request_rows(view: GateView) -> list[InfoLine]:
    """The complete request with nothing hidden: who types `y` below it has seen what that allows."""
    return [InfoLine(_headline(view), BOLD, is_request=True), *_body(view)]


def shown_as(view: GateView) -> str:
    """Its kind; of a question whose options allow a command or a change, that kind."""
    return view.about or view.kind


def _body(view: GateView) -> Iterator[InfoLine]:
    """The agent's reason first, and what it would do last: that is on the screen when one answers. A question stands
    before what explains its options."""
    if view.agents:
        yield _plain(phrase("cli_gates.asked_by", agents=as_code(" › ".join(view.agents), lines=False)))
    if view.asker:
        yield _plain(f"  {as_prose(said(view, 'asker'))}")
    if view.reason:
        yield _plain(phrase("cli_gates.why"))
        yield from (_plain(f"  {row}") for row in _reason_rows(said(view, "reason")))
    is_question = shown_as(view) == "question"
    if not is_question:
        yield from _detail_rows(view)
    yield from map(_plain, _notes(view))
    if not is_question:
        yield from map(_plain, _indented(_title(view), 4))
    yield from map(_plain, _question_lines(view))


def _plain(line: str) -> InfoLine:
    return InfoLine(line, PLAIN)


def _notes(view: GateView) -> Iterator[str]:
    """What a person must know about the request."""
    if view.leaves_sandbox:
        yield phrase("cli_gates.outside_sandbox")
    if view.warning:
        yield f"  ⚠ {said(view, 'warning')}"
    if folder := _folder(view):
        yield phrase("cli_gates.in_folder", folder=folder)
    if count := many_lines(shown_as(view), view.title):
        yield phrase("cli_gates.lines", count=f"{count:,}")
    if length := long_line(shown_as(view), view.title):
        yield phrase("cli_gates.long_line", length=f"{length:,}")


def _question_lines(view: GateView) -> Iterator[str]:
    """The questions with their options, then what explains these."""
    for question in view.questions:
        yield from _indented(as_prose(_with_line_count(said(question, "text"))), 2)
        yield from option_lines(question, 4)
    if shown_as(view) == "question" and view.detail:
        yield from _indented(_detail(view), 4)


def _title(view: GateView) -> str:
    return said(view.shown, "title") if view.shown else title_shown(shown_as(view), said(view, "title"))


def _detail(view: GateView) -> str:
    return said(view.shown, "detail") if view.shown else detail_shown(shown_as(view), said(view, "detail"))


def _folder(view: GateView) -> str:
    """Where it would run, unless that is the workspace of its thread."""
    if view.shown is not None:
        return view.shown.folder or ""
    return as_code(view.folder, lines=False) if view.folder else ""


def _reason_rows(reason: str) -> Iterator[str]:
    """The agent's reason, cut to the limits. Every row gets a bar, so that none looks like a line of clew."""
    lines = as_prose(reason).split("\n")
    room = REASON_CHARS
    for number, line in enumerate(lines):
        if number == REASON_LINES or not room:
            more = len(lines) - number
            yield BAR + _more_lines(more)
            return
        rows = rows_of(line if len(line) <= room else f"{line[:room]}…", REASON_COLUMNS)
        yield from (f"{BAR}{row}" for row in rows)
        room = max(0, room - len(line))


def _with_line_count(words: str) -> str:
    """Put the number of lines first, if there are many."""
    count = many_in(words)
    return phrase("cli_gates.lines_of", count=f"{count:,}", words=words) if count else words


def _detail_rows(view: GateView) -> Iterator[InfoLine]:
    """The diff of a change in colours, or other details."""
    is_diff = shown_as(view) == "change"
    for line in _detail(view).split("\n") if view.detail else ():
        yield InfoLine(f"    {line}", diff_colour(line) if is_diff else PLAIN)


def option_lines(question: QuestionView, margin: int) -> list[str]:
    return numbered(said_each(question, "options"), margin, "#" if _has_numeric_options(question) else "")


def numbered(labels: Sequence[str], margin: int, mark: str = "", numbers: Sequence[int] = ()) -> list[str]:
    """Without `numbers` they are the positions."""
    shown = [escape_hidden(label, lines=False) for label in labels]
    pairs = zip(numbers or range(1, len(shown) + 1), shown, strict=False)
    return [f"{' ' * margin}{mark}{number} {label}" for number, label in pairs]


def _has_numeric_options(question: QuestionView) -> bool:
    """Whether an option is a number other than its position: then a typed number means the option's text."""
    options = enumerate(question.options, 1)
    return any(option.isascii() and option.isdigit() and option != str(place) for place, option in options)


def no_hints(view: GateView, others: Sequence[GateView]) -> list[str]:
    """For a prompt that shows the hints by itself, when it can read an answer."""
    return []


def typing_hints(view: GateView, others: Sequence[GateView]) -> list[str]:
    """For a prompt: one line."""
    if view.kind == "question":
        return [f"  {typing_hint(others)}"]
    choices = " · ".join(numbered(_options(view)[:AT_FIRST], 0, numbers=view.numbers))
    return [f"  {choices} ({typing_hint(others)})"]


def hint_rows(line: str, columns: int) -> list[str]:
    """Such a line in rows that fit: what can be typed stands in a row of its own, if there is no room."""
    choices, _, how = line.partition(" (")
    parts = [line] if width(line) <= columns or not how else [choices, f"  ({how}"]
    return [row for part in parts for row in rows_of(part, columns)]


def _options(view: GateView) -> list[str]:
    """The choices in the language of the terminal."""
    return said_each(view, "options")


def typing_hint(shown: Sequence[GateView]) -> str:
    """What to type if these gates are open."""
    if len(shown) > 1:
        codes = phrase("cli_gates.or").join(f"{view.code} {'1' if view.kind == 'question' else 'y'}" for view in shown)
        return phrase("cli_gates.name_one", codes=codes)
    (view,) = shown
    if view.kind == "question":
        return _question_hint(view)
    return phrase("cli_gates.how_to_choose" if len(view.options) <= AT_FIRST else "cli_gates.how_to_choose_more")


def _question_hint(view: GateView) -> str:
    code, questions = view.code, view.questions
    if is_secret(view):
        return secret_message(view)
    if len(questions) != 1:
        return phrase("cli_gates.number_each")
    if not questions[0].options:
        return phrase("cli_gates.next_line_answers")
    which = phrase("cli_gates.option_text") if _has_numeric_options(questions[0]) else phrase("cli_gates.a_number")
    return phrase("cli_gates.or_own_text", which=which, code=code) if questions[0].free else which


def command_hints(view: GateView, others: Sequence[GateView] = ()) -> list[str]:
    """For output without a prompt."""
    code = view.code
    if view.state != "open":
        replies = (escape_hidden(", ".join(said), lines=False) for said in view.replies)
        return [f"  {_outcome(view)}", *(f"    {reply}" for reply in replies)]
    if is_secret(view):
        return [phrase("cli_gates.asks_secret", code=code)]
    if view.kind == "question":
        return [phrase("cli_gates.answers_it", code=code, answers=" ".join("ANSWER" for _ in view.questions))]
    thread = [] if view.only_once else [f"approve {code} --thread"]
    rule = [f"approve {code} --rule"] if view.rule is not None else []
    commands = [f"approve {code}", f"deny {code}", *thread, *rule, f"deny {code} --stop"]
    rows = [*zip(commands, map(escape_hidden, _options(view)), strict=True)][:AT_FIRST]
    return table([(as_called(f"  clew {command}"), label) for command, label in rows])


def _outcome(view: GateView) -> str:
    by = phrase("cli_gates.by", who=person(said(view, "answered_by"))) if view.answered_by else ""
    answer = f": {decision_words(view.decision)}{by}" if view.decision else ""
    return f"{word(view.state)}{answer}" + (f" ({said(view, 'why')})" if view.why else "")


def is_secret(view: GateView) -> bool:
    return any(question.secret for question in view.questions)


def secret_message(view: GateView) -> str:
    return phrase("cli_gates.is_secret", code=view.code, again=view.code)


def refuse_secrets(text: str, shown: Sequence[GateView]) -> None:
    """Raise Refused while a secret is asked for, unless the text names another gate: a secret must not be sent as
    text."""
    named = set(re.findall(r"\w+", text.upper()))
    if " ".join(text.lower().split()) == "yes all" or any(not is_secret(view) and view.code in named for view in shown):
        return
    for view in shown:
        if is_secret(view):
            raise Refused(secret_message(view))


def _indented(shown: str, margin: int) -> list[str]:
    return [f"{' ' * margin}{line}" for line in shown.split("\n")]


def decision_words(decision: str) -> str:
    return phrase(f"cli_gates.{_DECISIONS[decision]}")


_DECISIONS = {"accept": "yes", "decline": "no", "cancel": "no_and_stop", "reply": "answered"}


def _headline(view: GateView) -> str:
    return phrase(f"cli_gates.{_HEADLINES.get(shown_as(view), 'asks')}", code=view.code)


_HEADLINES = {"command": "asks_command", "change": "asks_change", "permission": "asks_permission"}


def _more_lines(count: int) -> str:
    return phrase("cli_gates.one_more_line") if count == 1 else phrase("cli_gates.more_lines", count=f"{count:,}")
