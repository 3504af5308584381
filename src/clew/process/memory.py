"""How much memory the agents use together, with all that they started, and how much this machine has."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from clew.process import scan

CGROUP = Path("/sys/fs/cgroup/memory.max")


def used(store: str) -> int:
    """Bytes of all processes with this store's mark. Memory that several of them share is counted for each."""
    return sum(process.rss for process in scan.children(store))


def of_machine() -> int:
    """Bytes that this machine, or the container that clew runs in, has; 0: unknown."""
    try:
        whole = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        whole = 0
    limit = _container()
    return min(whole, limit) if whole and limit else whole or limit


def _container() -> int:
    try:
        text = CGROUP.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return 0
    return int(text) if text.isdecimal() else 0


def limit(setting: str, whole: Callable[[], int] = of_machine) -> int:
    """The bytes that a setting such as `70%` or `8000000000` means; 0: no limit."""
    if setting.endswith("%"):
        return whole() * int(setting[:-1]) // 100
    return int(setting)
