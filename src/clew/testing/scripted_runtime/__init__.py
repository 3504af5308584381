"""A runtime without a program: it plays the script in the prompt (see `clew.testing.scripted_model.script`). For the
demo, tests and the simulation. It keeps a record as a real agent does, so that after a crash a turn may be absent,
alive (with `outlives`), complete or cut off. It never really runs a command."""

from __future__ import annotations

from pathlib import Path

from clew.config.settings import ScriptedConfig
from clew.support.clock import Clock
from clew.support.home import Home
from clew.testing.scripted_runtime.holds import Holds
from clew.testing.scripted_runtime.ledger import FileLedger, Ledger, MemoryLedger, Played
from clew.testing.scripted_runtime.runtime import ScriptedRuntime

__all__ = ["FileLedger", "Ledger", "MemoryLedger", "Played", "ScriptedRuntime", "make"]


def make(config: ScriptedConfig, clock: Clock, home: Home, default_runtime: str) -> ScriptedRuntime | None:
    """Make the runtime for a daemon: its record outlives the process, and another process can release its holds.

    None unless the settings enable it, so that nobody chooses it by mistake."""
    if not (config.enabled or config.folder or default_runtime == ScriptedRuntime.name):
        return None
    folder = Path(config.folder) if config.folder else home.root / "scripted"
    return ScriptedRuntime(clock, FileLedger(folder), holds=Holds(folder / "holds"))
