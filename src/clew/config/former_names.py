"""Names of modules that the docs told plugin authors to import before there was `clew.plugin_api`.

They are found only for plugins of other packages: `install` is called before the first of these is loaded. Each is an
alias of the module that has taken its place.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

FORMER: Mapping[str, str] = {
    "clew.asking": "clew.model.gates",
    "clew.clock": "clew.support.clock",
    "clew.config_rules": "clew.config.rules",
    "clew.errors": "clew.support.errors",
    "clew.events": "clew.model.events",
    "clew.long_text": "clew.model.events.long_text",
    "clew.runtimes.base": "clew.model.runtime",
    "clew.runtimes.conformance": "clew.testing.runtime_kit",
    "clew.runtimes.stage": "clew.testing.runtime_stage",
    "clew.surfaces.base": "clew.model.surface",
    "clew.surfaces.conformance": "clew.testing.surface_kit",
    "clew.surfaces.connecting": "clew.config.plugin",
    "clew.surfaces.setup": "clew.config.plugin",
    "clew.surfaces.stage": "clew.testing.surface_stage",
}
# Names within them that have changed since.
RENAMED: Mapping[str, Mapping[str, str]] = {
    "clew.model.messages": {"Said": "PromptMessage"},
    "clew.model.runtime": {"Look": "ProgramInfo"},
    "clew.model.surface": {"Known": "KnownConversation"},
}
# `clew.model` was one module; it is a package now, and these were its names.
MODEL = ("clew.model.delivery", "clew.model.handoff", "clew.model.messages", "clew.model.threads", "clew.model.turns")


def install() -> None:
    """Let the former names be imported. Calling it again changes nothing."""
    if any(isinstance(finder, _Finder) for finder in sys.meta_path):
        return
    sys.meta_path.append(_Finder())
    package = import_module("clew.model")
    for module in MODEL:
        for name, value in _names(module).items():
            if not isinstance(value, ModuleType):
                vars(package).setdefault(name, value)


def _names(module: str) -> dict[str, object]:
    """The public names of a module, also as they were before."""
    found = {name: value for name, value in vars(import_module(module)).items() if not name.startswith("_")}
    return found | {former: found[now] for former, now in RENAMED.get(module, {}).items()}


class _Finder(MetaPathFinder, Loader):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return ModuleSpec(fullname, self) if fullname in FORMER else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = ModuleType(spec.name, f"The former name of {FORMER[spec.name]}.")
        vars(module).update(_names(FORMER[spec.name]))
        return module

    def exec_module(self, module: ModuleType) -> None:
        pass
