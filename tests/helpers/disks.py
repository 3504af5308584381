"""Files on a failing disk."""

from __future__ import annotations

from pathlib import Path

import pytest

_FAILS = Path("/proc/self/mem")  # it can be opened; to read its beginning is an input/output error

BROKEN_DISK = pytest.mark.skipif(not _FAILS.exists(), reason="a file of Linux")


def break_file(path: Path) -> Path:
    """From now on reading the file fails."""
    path.unlink()
    path.symlink_to(_FAILS)
    return path
