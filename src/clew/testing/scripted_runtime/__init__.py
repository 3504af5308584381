"""A runtime that needs no program at all: it plays the script in the prompt (see `clew.testing.scripted_model.script`).

For the demo, for tests and for the simulation. It keeps a record as a real agent does, so that after a crash all four
answers can be had from it: absent, alive (with `outlives`), complete, cut off. It never runs a command for real."""

from clew.testing.scripted_runtime.ledger import FileLedger, Ledger, MemoryLedger, Played
from clew.testing.scripted_runtime.runtime import ScriptedRuntime

__all__ = ["FileLedger", "Ledger", "MemoryLedger", "Played", "ScriptedRuntime"]
