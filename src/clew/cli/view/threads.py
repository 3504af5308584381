"""Tables of threads and gates: values in, lines out. No table library, because importing one is slow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from clew.cli.language import said
from clew.cli.view.text_width import age, fit, one_line
from clew.support.display.width import pad, width

if TYPE_CHECKING:
    from clew.model.gate_views import GateView
    from clew.model.views import ThreadView


HEAD: tuple[str, ...] = ("HANDLE", "STATUS", "TITLE", "RUNTIME", "AGE", "LAST LINE")
GATE_HEAD: tuple[str, ...] = ("CODE", "KIND", "STATE", "AGE", "THREAD", "WHAT")
SHORTEST = 10  # characters of an id: its timestamp
UNBOUND = 160  # columns of a title or a line without a terminal


def thread_table(
    threads: Sequence[ThreadView], now: float, columns: int | None, paint: Callable[[str], str] = lambda cell: cell
) -> list[str]:
    """`columns` is the width of the terminal, which also gets a header; None without one. `paint` colours the
    status."""
    if not threads:
        return []
    rows = [HEAD] if columns else []
    rows += [_row(thread, now) for thread in threads]
    widths = [max(map(width, column)) for column in zip(*rows, strict=True)]
    widths[2], widths[5] = _shares(widths, columns)
    return [_line(row, widths, paint) for row in rows]


def named(thread: ThreadView) -> str:
    """What people type for a thread."""
    return thread.handle or thread.id


def gate_table(gates: Sequence[GateView], now: float, columns: int | None) -> list[str]:
    """One line per gate; on a terminal with short ids, and cut to its width."""
    names = short_ids([gate.thread for gate in gates]) if columns else [gate.thread for gate in gates]
    rows = [GATE_HEAD, *(_gate_row(gate, name, now) for gate, name in zip(gates, names, strict=True))]
    widths = [max(map(width, column)) for column in zip(*rows, strict=True)]
    left = UNBOUND if columns is None else max(len("WHAT"), columns - sum(widths[:-1]) - 2 * (len(widths) - 1))
    return [_line(row, [*widths[:-1], min(left, widths[-1])], lambda cell: cell) for row in rows]


def _gate_row(gate: GateView, name: str, now: float) -> tuple[str, ...]:
    return gate.code, gate.kind, gate.state, age(now - gate.asked_at / 1000), name, gate_title(gate)


def gate_title(gate: GateView) -> str:
    from clew.support.display.as_code import title_shown  # only gates need it

    return title_shown(gate.about or gate.kind, gate.title, lines=False)


def short_ids(ids: Sequence[str]) -> list[str]:
    """The shortest prefixes of the ids that are unique among them."""
    names = sorted(set(ids))
    shared = max((_common(one, other) for one, other in pairwise(names)), default=0)
    return [name[: max(SHORTEST, shared + 1)] for name in ids]


def _common(one: str, other: str) -> int:
    return next((at for at, (left, right) in enumerate(zip(one, other, strict=False)) if left != right), len(one))


def _row(thread: ThreadView, now: float) -> tuple[str, ...]:
    old = age(now - thread.created_at / 1000) if thread.created_at else ""
    asks = f"asks: clew gates {thread.gates[0]}" if thread.gates else ""
    waits = said(thread, "suspend_message") or asks or said(thread, "last_line")
    status = "waiting" if asks and thread.status == "running" else thread.status
    return named(thread), status, one_line(said(thread, "title")), thread.runtime, old, one_line(waits)


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
