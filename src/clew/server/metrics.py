"""`/metrics` for Prometheus: what an operator needs for alerts. Values in, text out."""

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


class Measurements(Struct, frozen=True):
    """Values from the store and the daemon. Ages are in seconds; 0 if there is none."""

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
    since: float  # start of the daemon, in seconds since 1970
    latency: Histogram
    watchers: int
    furthest_behind: int


def render(metrics: Iterable[Metric]) -> str:
    return "".join(line for metric in metrics for line in _lines(metric))


def metrics(now: Measurements) -> list[Metric]:
    return [
        Metric("clew_messages_total", "counter", "Messages by fate.", _by("fate", now.fates)),
        Metric("clew_turns", "gauge", "Open turns by state.", _by("state", now.turns)),
        Metric("clew_deliveries_pending", "gauge", "Pending deliveries by surface.", _by("surface", now.pending)),
        _gauge("clew_delivery_oldest_seconds", "Age of the oldest pending delivery.", now.oldest_delivery),
        _histogram("clew_delivery_seconds", "Time from enqueued to sent, since the daemon started.", now.latency),
        _gauge("clew_deliveries_failed", "Deliveries that failed for good.", now.failed_deliveries),
        _gauge("clew_gates_open", "Open gates.", now.gates),
        _gauge("clew_gate_oldest_seconds", "Age of the oldest open gate.", now.oldest_gate),
        _gauge("clew_children", "Agents and the processes that they started.", now.children),
        _gauge("clew_store_bytes", "Size of the database.", now.store_bytes),
        _gauge("clew_event_newest", "Sequence number of the newest event.", now.newest_event),
        _gauge("clew_watchers", "Open event streams.", now.watchers),
        _gauge("clew_event_lag", "Frames that the slowest event stream has not read.", now.furthest_behind),
        _gauge("clew_memory_peak_bytes", "Peak memory of the daemon.", _peak()),
        _gauge("clew_start_time_seconds", "Start time of the daemon.", now.since),
    ]


def _gauge(name: str, help: str, value: float) -> Metric:
    return Metric(name, "gauge", help, {(): value})


def _histogram(name: str, help: str, spread: Histogram) -> Metric:
    """Prometheus buckets are cumulative: each counts all values up to its limit."""
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
    """`ru_maxrss` is in KiB on Linux, in bytes on macOS."""
    return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024))
