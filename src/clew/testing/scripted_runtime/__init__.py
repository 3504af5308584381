"""A runtime without a program: it plays the script in the prompt (see `clew.testing.scripted_model.script`). For the
demo, tests and the simulation. It keeps a record as a real agent does, so that after a crash a turn may be absent,
alive (with `outlives`), complete or cut off. It never really runs a command."""

from __future__ import annotations

from clew.testing.scripted_runtime.ledger import FileLedger, Ledger, MemoryLedger, Played
from clew.testing.scripted_runtime.runtime import ScriptedRuntime

__all__ = ["FileLedger", "Ledger", "MemoryLedger", "Played", "ScriptedRuntime"]
