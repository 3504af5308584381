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
    widths = [max(map(width, column)) for column in zip(*rows, strict=True)]
    widths[2], widths[5] = _shares(widths, columns)
    return [_line(row, widths, paint) for row in rows]


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


def _shares(widths: Sequence[int], columns: int | None) -> tuple[int, int]:
    """The widths of the title and the last line: as needed, or else the title gets two fifths of the rest."""
    title, last = widths[2], widths[5]
    if columns is None:
        return min(title, UNBOUND), min(last, UNBOUND)
    left = columns - sum(widths) + title + last - 2 * (len(widths) - 1)
    if title + last <= left:
        return title, last
    share = min(title, max(len("TITLE"), left * 2 // 5, left - last))
    return share, max(0, left - share)


def _line(row: Sequence[str], widths: Sequence[int], paint: Callable[[str], str]) -> str:
    cells = [pad(fit(cell, columns), columns) if columns else "" for cell, columns in zip(row, widths, strict=True)]
    cells[1] = paint(cells[1])
    return "  ".join(cells).rstrip()
