"""The limit of open files and connections of this process. The daemon raises its own limit, and restores the old one
for the programs that it starts: some of them close every descriptor up to the limit, or use select()."""

from __future__ import annotations

import logging
import resource
import sys
from contextlib import suppress

log = logging.getLogger(__name__)

MOST = 10_240  # more is never needed, and macOS allows no more
GIVEN = resource.getrlimit(resource.RLIMIT_NOFILE)[0]  # the soft limit that we were started with


def raise_limit() -> None:
    """Raise the soft limit to the hard one. A limit that cannot be changed stays as it is."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST if hard == resource.RLIM_INFINITY else min(hard, MOST)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    except (OSError, ValueError) as error:
        log.warning("the limit of open files stays at %d: %s", soft, error)


def limit() -> int:
    """How many descriptors this process may have open now."""
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return MOST if soft == resource.RLIM_INFINITY else soft


def restore_limit(pid: int) -> None:
    """Restore a child's soft limit to the one that we were started with. Only Linux can do that from outside."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if sys.platform == "linux" and soft != GIVEN:
        with suppress(OSError, ValueError):  # it has ended, or runs as another user
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (GIVEN, hard))
