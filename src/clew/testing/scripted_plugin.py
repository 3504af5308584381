"""The scripted runtime as a plugin: `[runtimes.scripted]`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from clew.config.plugin import Plugin
from clew.config.rules import Place

if TYPE_CHECKING:
    from clew.support.clock import Clock
    from clew.support.home import Home
    from clew.testing.scripted_runtime import ScriptedRuntime

NAME = "scripted"


@dataclass(frozen=True, slots=True)
class ScriptedConfig:
    """An agent without a model, for tests and the demo: it does what a script says."""

    enabled: bool = False  # Whether it can be chosen. `threads.runtime = "scripted"` enables it too.
    folder: Place | None = None  # Where its record lives. Not set: `scripted` in clew's home.


def make(config: ScriptedConfig, clock: Clock, home: Home, default_runtime: str) -> ScriptedRuntime | None:
    """Make the runtime for a daemon: its record outlives the process, and another process can release its holds.

    None unless the settings enable it, so that nobody chooses it by mistake."""
    if not (config.enabled or config.folder or default_runtime == NAME):
        return None
    from clew.testing.scripted_runtime import FileLedger, ScriptedRuntime
    from clew.testing.scripted_runtime.holds import Holds

    folder = Path(config.folder) if config.folder else home.root / NAME
    return ScriptedRuntime(clock, FileLedger(folder), holds=Holds(folder / "holds"))


PLUGIN = Plugin(make=make, settings=ScriptedConfig)
