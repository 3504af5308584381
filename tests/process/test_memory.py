"""The memory of agents is that of their whole process trees."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from clew.process import memory, scan
from clew.process.scan import Marks

pytestmark = pytest.mark.process

MIB = 1 << 20
HOLDS = "import sys; held = bytearray(b'x' * 40 * 1024 * 1024); print(len(held), flush=True); sys.stdin.read()"
# It starts another one in a session of its own, with an empty environment, as an agent may start a command.
TREE = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {HOLDS!r}], env={{}}, start_new_session=True)"


def test_a_tree_is_counted_with_all_that_it_started_and_others_are_not() -> None:
    mark = Marks("store-of-a-memory-test", "one").next()
    assert memory.used(mark.store) == 0
    env = {**os.environ, scan.VARIABLE: str(mark)}
    tree = subprocess.Popen(
        [sys.executable, "-c", f"{TREE}; {HOLDS}"], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert tree.stdin is not None and tree.stdout is not None
    with tree:
        lines = [tree.stdout.readline() for _ in range(2)]
        assert all(line.strip() == str(40 * MIB) for line in lines), "both hold their memory now"
        used = memory.used(mark.store)
        assert 80 * MIB < used < 400 * MIB
        assert memory.used("another-store") == 0
        tree.stdin.close()
        tree.stdout.read()  # until both have ended
