"""How a gate is shown in a terminal: what is asked, so that nobody approves what they do not see, and how to answer: by
keys where one can type, else by commands."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from clew.cli.view.columns import one_line, table
from clew.cli.view.events import BOLD, PLAIN, Aside, Piece
from clew.support.display import escape_hidden
from clew.support.display_code import as_code, as_prose, detail_shown, many_in, many_lines, title_shown
from clew.support.errors import Refused

if TYPE_CHECKING:
    from clew.client.sync import Client, Event

HEADS = {
    "command": "asks to run a command",
    "change": "asks to change files",
    "permission": "asks for a permission",
    "question": "asks",
}
SAID = {"accept": "yes", "decline": "no", "cancel": "no, and stop", "reply": "answered"}
How = Callable[[Any, Sequence[Any]], list[str]]  # how to answer a gate, among those that are open


class Gates:
    """What is shown of the gates of one thread: each when it opens, then a line at each change.

    `open` are those that were told as open and not yet as closed, oldest first; from any thread.
    """

    def __init__(self, client: Client, thread: str, how: How) -> None:
        self._client = client
        self._thread = thread
        self._how = how
        self._shown: set[str] = set()
        self.open: tuple[Any, ...] = ()

    def catch_up(self, turn: str | None = None) -> list[Piece]:
        """What is open now is known; what was not shown yet is, of one turn or of all."""
        views = self._client.get("gates", thread=self._thread)
        listed = [view for view in reversed(views) if view["state"] == "open"]
        self.open = tuple(self._client.get("gates", view["id"]) for view in listed)  # a list shortens diffs
        return [piece for view in self.open if turn in (None, view["turn"]) for piece in self._ask(view)]

    def take(self, event: Event) -> list[Piece]:
        data = event.data.get("data", {})
        if event.kind == "gate.opened":
            return self._opened(self._client.get("gates", data["gate"]))
        line = closed(event.kind, data)
        if line is None:
            return []
        self.open = tuple(view for view in self.open if view["id"] != data["gate"])
        self._shown.discard(data["gate"])  # it may be asked once more
        return [Aside(line)]

    def _opened(self, view: Any) -> list[Piece]:
        if view["state"] != "open":
            return []
        self.open = (*(each for each in self.open if each["id"] != view["id"]), view)
        return self._ask(view)

    def _ask(self, view: Any) -> list[Piece]:
        if view["id"] in self._shown:
            return []
        self._shown.add(view["id"])
        head, *rest = [*request_lines(view), *self._how(view, self.open)]
        return [Aside(head, BOLD), *(Aside(line, PLAIN) for line in rest)]


def closed(kind: str, data: Any) -> str | None:
    """What became of a gate, in a line."""
    match kind:
        case "gate.answered":
            return f"· {data['code']}: {SAID[data['decision']]} by {data['by']}: {one_line(data['title'])}"
        case "gate.taken":
            return f"· {data['code']}: the agent took the answer"
        case "gate.void":
            return f"· {data['code']} is void: {data['why']}"
        case "gate.expired":
            return f"· {data['code']} expired without an answer"
    return None


def request_lines(view: Any) -> list[str]:
    """What is asked, whole and with nothing hidden: whoever types `y` below it has seen what that allows."""
    return [f"{view['code']}: the agent {HEADS.get(view['kind'], 'asks')}", *_body(view)]


def _body(view: Any) -> Iterator[str]:
    if count := many_lines(view["kind"], view["title"]):
        yield f"  {count:,} lines:"
    if view["kind"] != "question":
        yield from _indented(title_shown(view["kind"], view["title"]), 4)
    if view["folder"]:
        yield f"  in {as_code(view['folder'], lines=False)}"
    if view.get("leaves_sandbox"):  # an older daemon does not say
        yield "  ⚠ it would run outside of the agent's sandbox"
    yield from explained(view)
    if view["reason"]:
        yield from _indented(as_prose(f"why: {_counted(view['reason'])}"), 2)
    if view["warning"]:
        yield f"  ⚠ {view['warning']}"
    for question in view["questions"]:
        yield from _indented(as_prose(_counted(question["text"])), 2)
        yield from options_of(question, 4)


def _counted(words: str) -> str:
    """With the number of their lines first, if they are many."""
    count = many_in(words)
    return f"{count:,} lines:\n{words}" if count else words


def explained(view: Any) -> list[str]:
    """The diff, or what the options of a question mean."""
    return _indented(detail_shown(view["kind"], view["detail"]), 4) if view["detail"] else []


def options_of(question: Any, margin: int) -> list[str]:
    return numbered(question["options"], margin, "#" if _has_numbers(question) else "")


def numbered(labels: Sequence[str], margin: int, mark: str = "") -> list[str]:
    shown = [escape_hidden(label, lines=False) for label in labels]
    return [f"{' ' * margin}{mark}{number} {label}" for number, label in enumerate(shown, 1)]


def _has_numbers(question: Any) -> bool:
    """Options that are numbers, other than that of their place: such a number means the option's own words."""
    options = enumerate(question["options"], 1)
    return any(option.isascii() and option.isdigit() and option != str(place) for place, option in options)


def by_keys(view: Any, others: Sequence[Any]) -> list[str]:
    """Where one can type."""
    return [*choices(view), f"  {press(others)}"]


def choices(view: Any, others: Sequence[Any] = ()) -> list[str]:
    return [] if view["kind"] == "question" else numbered(view["options"], 2)


def press(sees: Sequence[Any]) -> str:
    """What to type, where these are open."""
    if len(sees) > 1:
        codes = " or ".join(f"{view['code']} {'1' if view['kind'] == 'question' else 'y'}" for view in sees)
        return f"several wait, so say which: {codes}; yes all allows what may be allowed"
    (view,) = sees
    return _by_words(view) if view["kind"] == "question" else "y, n or a number; other words are for the agent"


def _by_words(view: Any) -> str:
    code, questions = view["code"], view["questions"]
    if is_secret(view):
        return secret_words(view)
    if len(questions) != 1:
        return "a number for each of them, such as 1 2"
    if not questions[0]["options"]:
        return "your next words answer it"
    which = "an option's own words, or #1" if _has_numbers(questions[0]) else "a number"
    return f"{which}, or {code} and words of your own" if questions[0]["free"] else which


def command_hints(view: Any, others: Sequence[Any] = ()) -> list[str]:
    """Where one only looks."""
    code = view["code"]
    if view["state"] != "open":
        return [
            f"  {_state(view)}",
            *(f"    {escape_hidden(', '.join(said), lines=False)}" for said in view["replies"]),
        ]
    if is_secret(view):
        return [f"  clew answer {code} answers it, and asks for the secret"]
    if view["kind"] == "question":
        return [f"  clew answer {code} {' '.join('ANSWER' for _ in view['questions'])} answers it"]
    rule = [f"approve {code} --rule"] if len(view["options"]) > 4 else []
    commands = [f"approve {code}", f"approve {code} --thread", *rule, f"deny {code}", f"deny {code} --stop"]
    rows = zip(commands, map(escape_hidden, view["options"]), strict=True)
    return table([(f"  clew {command}", label) for command, label in rows])


def _state(view: Any) -> str:
    by = f" by {view['answered_by']}" if view["answered_by"] else ""
    said = f": {SAID[view['decision']]}{by}" if view["decision"] else ""
    return f"{view['state']}{said}" + (f" ({view['why']})" if view["why"] else "")


def is_secret(view: Any) -> bool:
    return any(question["secret"] for question in view["questions"])


def secret_words(view: Any) -> str:
    return f"the answer to {view['code']} is secret: give it with `clew answer {view['code']}`, not here"


def keep_secrets(text: str, sees: Sequence[Any]) -> None:
    """Where a secret is asked for, what is typed goes nowhere unless it names another gate. Raises Refused."""
    named = set(re.findall(r"\w+", text.upper()))
    if " ".join(text.lower().split()) == "yes all" or any(
        not is_secret(view) and view["code"] in named for view in sees
    ):
        return
    for view in sees:
        if is_secret(view):
            raise Refused(secret_words(view))


def _indented(shown: str, margin: int) -> list[str]:
    return [f"{' ' * margin}{line}" for line in shown.split("\n")]
