"""How a gate is shown in a terminal: what is asked, so that nobody approves what they do not see, and the keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clew.cli.columns import one_line
from clew.cli.story import Aside, Piece
from clew.seen import exactly, shortened

if TYPE_CHECKING:
    from clew.client import Client, Event

DETAIL = 4000  # characters of a diff; the whole is one command away
HEADS = {
    "command": "asks to run a command",
    "change": "asks to change files",
    "permission": "asks for a permission",
    "question": "asks",
}


SAID = {"accept": "yes", "decline": "no", "cancel": "no, and stop", "reply": "answered"}


class Gates:
    """What is shown of the gates of one thread: each once when it opens, then a line at each change."""

    def __init__(self, client: Client, thread: str) -> None:
        self._client = client
        self._thread = thread
        self._shown: set[str] = set()

    def open_now(self) -> list[Any]:
        return [view for view in self._client.get("gates", thread=self._thread) if view["state"] == "open"]

    def catch_up(self) -> list[Piece]:
        return [piece for view in reversed(self.open_now()) for piece in self._ask(view)]

    def take(self, event: Event) -> list[Piece]:
        data = event.data.get("data", {})
        match event.kind:
            case "gate.opened":
                view = self._client.get("gates", data["gate"])
                return self._ask(view) if view["state"] == "open" else []
            case "gate.answered":
                return [Aside(f"· {data['code']}: {SAID[data['decision']]} by {data['by']}: {one_line(data['title'])}")]
            case "gate.taken":
                return [Aside(f"· {data['code']}: the agent took the answer")]
            case "gate.void":
                return [Aside(f"· {data['code']} is void: {data['why']}")]
            case "gate.expired":
                return [Aside(f"· {data['code']} expired without an answer")]
        return []

    def _ask(self, view: Any) -> list[Piece]:
        if view["id"] in self._shown:
            return []
        self._shown.add(view["id"])
        return [Aside(line) for line in shown(view).splitlines()]


def shown(view: Any) -> str:
    """With the keys to press."""
    return whole(view, DETAIL)


def whole(view: Any, limit: int | None) -> str:
    parts = [f"{view['code']}: the agent {HEADS.get(view['kind'], 'asks')}"]
    parts += [_indented(exactly(view["title"]))] if view["kind"] != "question" else []
    parts += [f"in {exactly(view['folder'])}"] if view["folder"] else []
    parts += [_indented(exactly(_cut(view["detail"], limit)))] if view["detail"] else []
    parts += [f"why: {exactly(view['reason'])}"] if view["reason"] else []
    parts += [f"⚠ {view['warning']}"] if view["warning"] else []
    parts += [_question(question) for question in view["questions"]]
    return "\n".join([*parts, *_end(view)])


def _end(view: Any) -> list[str]:
    if view["state"] != "open":
        by = f" by {view['answered_by']}" if view["answered_by"] else ""
        why = f" ({view['why']})" if view["why"] else ""
        return [f"{view['state']}{by}{why}"]
    if view["kind"] == "question":
        return [f"answer: {_how(view)}"]
    return [f"  {number} {label}" for number, label in enumerate(view["options"], 1)] + ["y, n or a number"]


def _how(view: Any) -> str:
    if any(question["secret"] for question in view["questions"]):
        return f"clew answer {view['code']} (it is secret)"
    if len(view["questions"]) > 1:
        return "a number for each question, such as `1 2`"
    return "a number, or words of your own" if view["questions"][0]["options"] else "your words"


def _question(question: Any) -> str:
    lines = [exactly(question["text"])]
    return "\n".join([*lines, *(f"  {number} {exactly(each)}" for number, each in enumerate(question["options"], 1))])


def _cut(text: str, limit: int | None) -> str:
    return text if limit is None else shortened(text, limit)


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())
