"""Tables of threads and gates: values in, lines out. No table library, because importing one is slow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from clew.cli.language import in_locale, labels, phrase, said, word
from clew.cli.view.text_width import age, fit, one_line
from clew.support.display.width import pad, width

if TYPE_CHECKING:
    from clew.model.gate_views import GateView
    from clew.model.views import ThreadView


HEAD: tuple[str, ...] = ("handle", "status", "title", "runtime", "active", "last_line")
GATE_HEAD: tuple[str, ...] = ("code", "kind", "state", "age", "thread", "what")
_ALL = tuple(range(len(HEAD)))
_TITLE, _RUNTIME, _ACTIVE, _LAST = range(2, 6)
_NARROWER = [tuple(each for each in _ALL if each not in left_out) for left_out in ((), (_RUNTIME,), (_RUNTIME, _LAST))]
_NARROWER.append(_ALL[:_RUNTIME])
LEGIBLE = 16  # columns of a title that say something
UNBOUND = 160  # columns of a title or a line without a terminal


def thread_table(
    threads: Sequence[ThreadView], now: float, columns: int | None, paint: Callable[[str], str] = lambda cell: cell
) -> list[str]:
    """`columns` is the width of the terminal, which also gets a header; None without one. `paint` colours the
    status."""
    if not threads:
        return []
    rows = [labels(*HEAD)] if columns else []
    rows += [_row(thread, now) for thread in threads]
    kept, widths = _fitted([max(map(width, column)) for column in zip(*rows, strict=True)], columns)
    return [_line([row[each] for each in kept], widths, paint) for row in rows]


def named(thread: ThreadView) -> str:
    """What people type for a thread."""
    return thread.handle or thread.id


def described(thread: ThreadView) -> str:
    """`fix-retry, waiting: Fix the retry`."""
    return f"{named(thread)}, {word(status_shown(thread))}: {one_line(said(thread, 'title'))}"


def status_shown(thread: ThreadView) -> str:
    """Its status; `waiting` if its turn waits at a gate."""
    return "waiting" if thread.gates and thread.status == "running" else thread.status


def gate_table(
    gates: Sequence[GateView], now: float, columns: int | None, name_of: Callable[[str], str] = str
) -> list[str]:
    """One line per gate; on a terminal with the handles of threads, and cut to its width."""
    known = {thread: name_of(thread) for thread in {gate.thread for gate in gates}}
    names = [known[gate.thread] for gate in gates]
    rows = [labels(*GATE_HEAD), *(_gate_row(gate, name, now) for gate, name in zip(gates, names, strict=True))]
    widths = [max(map(width, column)) for column in zip(*rows, strict=True)]
    left = UNBOUND if columns is None else max(len("WHAT"), columns - sum(widths[:-1]) - 2 * (len(widths) - 1))
    return [_line(row, [*widths[:-1], min(left, widths[-1])], lambda cell: cell) for row in rows]


def _gate_row(gate: GateView, name: str, now: float) -> tuple[str, ...]:
    return gate.code, word(gate.kind), word(gate.state), age(now - gate.asked_at / 1000), name, gate_title(gate)


def gate_title(gate: GateView) -> str:
    from clew.support.display.as_code import title_shown  # only gates need it

    kind = gate.about or gate.kind
    title = said(gate.shown, "title") if gate.shown and kind == "change" else said(gate, "title")
    return title_shown(kind, title, lines=False)


def suspension_words(thread: ThreadView, now: float) -> str:
    """What a suspended thread waits for; at a usage limit also how long. `now`: in seconds."""
    words = said(thread, "suspend_message")
    if thread.wake_at is None:
        return words
    from clew.texts.limit_messages import from_now

    return words + in_locale(from_now(thread.wake_at - int(now * 1000)))


def _row(thread: ThreadView, now: float) -> tuple[str, ...]:
    old = age(now - thread.active_at / 1000) if thread.active_at else ""
    asks = phrase("cli_threads.asks", code=thread.gates[0]) if thread.gates else ""
    waits = suspension_words(thread, now) or asks or said(thread, "last_line")
    status = status_shown(thread)
    return named(thread), word(status), one_line(said(thread, "title")), thread.runtime, old, one_line(waits)


def _fitted(widths: Sequence[int], columns: int | None) -> tuple[tuple[int, ...], list[int]]:
    """The columns that are shown, and their widths. On a narrow terminal the title comes before runtime, last line and
    age."""
    if columns is None:
        return _ALL, [min(each, UNBOUND) for each in widths]
    for kept in _NARROWER:
        left = columns - sum(widths[each] for each in kept if each not in (_TITLE, _LAST)) - 2 * (len(kept) - 1)
        title, last = _shares(widths, left) if _LAST in kept else (min(widths[_TITLE], left), 0)
        if title >= min(widths[_TITLE], LEGIBLE):
            break
    given = {_TITLE: max(title, len("TITLE")), _LAST: last}
    return kept, [given.get(each, widths[each]) for each in kept]


def _shares(widths: Sequence[int], left: int) -> tuple[int, int]:
    """The widths of the title and the last line: as needed, or else the title gets two fifths of what is left."""
    title, last = widths[_TITLE], widths[_LAST]
    if title + last <= left:
        return title, last
    share = min(title, max(left * 2 // 5, left - last))
    return share, max(0, left - share)


def _line(row: Sequence[str], widths: Sequence[int], paint: Callable[[str], str]) -> str:
    cells = [pad(fit(cell, columns), columns) if columns else "" for cell, columns in zip(row, widths, strict=True)]
    cells[1] = paint(cells[1])
    return "  ".join(cells).rstrip()
