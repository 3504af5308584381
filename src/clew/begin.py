"""The former name of `clew.process.bootstrap`: service files and supervisors that were begun before still call it."""

from __future__ import annotations

import sys

from clew.process.bootstrap import run

if __name__ == "__main__":
    sys.argv = sys.argv[1:]
    run("clew.daemon.main" if sys.argv[0] == "clew.daemon" else sys.argv[0])
