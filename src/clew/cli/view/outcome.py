"""What became of a thread, as an exit code: of `run`, `wait` and `watch`, for scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clew.client.sync import Asks
    from clew.model.views import ThreadView

COMPLETED, FAILED, STOPPED, WAITS, TIMED_OUT = 0, 1, 4, 5, 6
NAMES = {COMPLETED: "completed", FAILED: "failed", STOPPED: "stopped", WAITS: "waits", TIMED_OUT: "timed out"}
_OF_TURN = {"completed": COMPLETED, "failed": FAILED, "interrupted": STOPPED, "waiting": WAITS}
_WORST = (FAILED, WAITS, STOPPED, TIMED_OUT, COMPLETED)


def of_turn(state: str) -> int:
    return _OF_TURN.get(state, FAILED)


def of_thread(client: Asks, view: ThreadView) -> int | None:
    """The outcome of a thread; None while it works, or has a turn that will run."""
    if view.status == "running":
        return WAITS if view.gates and _turn_state(client, view) == "waiting" else None
    if view.status == "suspended":
        if view.wake_at is not None:
            return None  # it goes on by itself
        return FAILED if view.suspended_by == "failure" else WAITS
    if view.status == "cancelled":
        return STOPPED
    if view.status == "damaged":
        return FAILED
    if view.queued:
        return None
    return of_turn(_turn_state(client, view)) if view.turn is not None else COMPLETED


def _turn_state(client: Asks, view: ThreadView) -> str:
    """It is `waiting` at a gate that blocks it; at a question that does not, the agent works on."""
    from clew.client import requests

    return client.ask(requests.turn(view.turn or "")).state


def worst(codes: list[int]) -> int:
    """The exit code for several threads."""
    return next(code for code in _WORST if code in codes)
