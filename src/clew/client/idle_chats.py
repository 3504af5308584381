"""Finds chats in which nothing has happened for a while. Read-only."""

from __future__ import annotations

from collections.abc import Iterator

from clew.client import requests
from clew.client.sync import Asks
from clew.model.views import ThreadView

PAGE = 200  # threads asked for at once


def idle_chats(client: Asks, now: int, idle_for: int) -> Iterator[ThreadView]:
    """Idle chats whose last turn ended at least `idle_for` milliseconds before `now`, newest first. Without adopted
    sessions: another program may work in them, and clew would not know."""
    before: str | None = None
    while True:
        page = client.ask(requests.threads(status="idle", limit=PAGE, before=before))
        for view in page.threads:
            is_open = view.kind == "chat" and not (view.queued or view.gates or view.adopted)
            if is_open and _last_activity(client, view) <= now - idle_for:
                yield view
        if page.next is None:
            return
        before = page.next


def _last_activity(client: Asks, view: ThreadView) -> int:
    ended = client.ask(requests.turn(view.turn)).ended_at if view.turn else None
    return max(view.created_at, ended or 0)
