"""One line of the table: a figure, its ratio to the baseline, and the limit of the ratio or, without one, of the
figure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Line:
    name: str
    value: float
    unit: str
    ratio: float | None = None
    at_most: float | None = None
    at_least: float | None = None

    @property
    def ok(self) -> bool:
        measured = self.value if self.ratio is None else self.ratio
        return (self.at_most is None or measured <= self.at_most) and (
            self.at_least is None or measured >= self.at_least
        )

    @property
    def bar(self) -> str:
        if self.at_most is not None:
            return f"≤ {self.at_most}"
        return f"≥ {self.at_least}" if self.at_least is not None else ""

    def __str__(self) -> str:
        ratio = "" if self.ratio is None else f"{self.ratio:.2f}"
        return f"{'✓' if self.ok else '✗'} {self.name:58}{self.value:>12.1f} {self.unit:5}{ratio:>8} {self.bar}"
