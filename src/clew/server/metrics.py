"""`/metrics` for Prometheus: what an operator needs to be woken by silence. Values in, text out."""

from __future__ import annotations

import resource
import sys
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from clew.support.histogram import Histogram

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metric(Struct, frozen=True):
    name: str
    kind: str  # counter, gauge or histogram
    help: str
    values: Mapping[tuple[tuple[str, str], ...], float]  # by labels
    spread: Histogram | None = None


class Measured(Struct, frozen=True):
    """What the rows say. Ages in seconds; 0 where there is nothing."""

    fates: Mapping[str, int]
    turns: Mapping[str, int]  # queued, running, waiting
    pending: Mapping[str, int]  # deliveries by surface
    oldest_delivery: float
    failed_deliveries: int
    gates: int
    oldest_gate: float
    children: int
    store_bytes: int
    newest_event: int
    since: float  # when the daemon began, in seconds since 1970
    latency: Histogram
    watchers: int
    furthest_behind: int


def render(metrics: Iterable[Metric]) -> str:
    return "".join(line for metric in metrics for line in _lines(metric))


def metrics(now: Measured) -> list[Metric]:
    return [
        Metric("clew_messages_total", "counter", "Messages by what became of them.", _by("fate", now.fates)),
        Metric("clew_turns", "gauge", "Turns that are not over, by state.", _by("state", now.turns)),
        Metric("clew_deliveries_pending", "gauge", "Deliveries that have not left.", _by("surface", now.pending)),
        _gauge("clew_delivery_oldest_seconds", "Age of the oldest delivery that has not left.", now.oldest_delivery),
        _histogram("clew_delivery_seconds", "From owed to sent, since the daemon began.", now.latency),
        _gauge("clew_deliveries_failed", "Answers that were given up for good.", now.failed_deliveries),
        _gauge("clew_gates_open", "Gates that wait for a person.", now.gates),
        _gauge("clew_gate_oldest_seconds", "Age of the oldest gate that waits.", now.oldest_gate),
        _gauge("clew_children", "Processes that agents are, or have started.", now.children),
        _gauge("clew_store_bytes", "Size of the database.", now.store_bytes),
        _gauge("clew_event_newest", "Number of the newest event.", now.newest_event),
        _gauge("clew_watchers", "Streams of events that are open.", now.watchers),
        _gauge("clew_event_lag", "Frames that the slowest watcher has not fetched.", now.furthest_behind),
        _gauge("clew_memory_peak_bytes", "The most memory that the daemon has had.", _peak()),
        _gauge("clew_start_time_seconds", "When the daemon began.", now.since),
    ]


def _gauge(name: str, help: str, value: float) -> Metric:
    return Metric(name, "gauge", help, {(): value})


def _histogram(name: str, help: str, spread: Histogram) -> Metric:
    """As Prometheus wants it: each bucket counts all that is not above it."""
    counts = [*((f"{limit:g}", count) for limit, count in spread.cumulative()), ("+Inf", spread.count)]
    return Metric(name, "histogram", help, _by("le", dict(counts)), spread)


def _by(label: str, values: Mapping[str, int]) -> dict[tuple[tuple[str, str], ...], float]:
    return {((label, name),): float(value) for name, value in values.items()}


def _lines(metric: Metric) -> Iterator[str]:
    yield f"# HELP {metric.name} {metric.help}\n# TYPE {metric.name} {metric.kind}\n"
    name = metric.name if metric.spread is None else f"{metric.name}_bucket"
    for labels, value in metric.values.items():
        shown = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels)
        yield f"{name}{{{shown}}} {value:.15g}\n" if shown else f"{name} {value:.15g}\n"
    if metric.spread is not None:
        yield f"{metric.name}_sum {metric.spread.sum:.15g}\n{metric.name}_count {metric.spread.count}\n"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _peak() -> float:
    """Linux counts in KiB, a Mac in bytes."""
    return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024))
