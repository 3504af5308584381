"""Creates runtimes and surfaces from their plugins: each factory gets the arguments that its parameters name."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from clew.config import plugins
from clew.config import settings as config_settings
from clew.config.plugin import HttpRoute
from clew.config.plugins import PluginTrouble
from clew.config.settings import Config
from clew.model.runtime import FinishesAlone, Outliving, Runtime
from clew.model.surface import Outgoing, Surface
from clew.process.scan import Mark, Marks, Process
from clew.runtimes.process import hide_variables
from clew.support.clock import Clock, SystemClock
from clew.support.coded import Text
from clew.support.errors import ClewError, ConfigError, Refused
from clew.support.home import Home
from clew.texts.catalogue import say

if TYPE_CHECKING:
    from clew.server.routing.functions import Router

log = logging.getLogger(__name__)


class Parts(Struct, frozen=True):
    runtimes: Mapping[str, Runtime]
    surfaces: Mapping[str, Surface]
    troubles: tuple[PluginTrouble, ...]
    routes: Mapping[str, Sequence[HttpRoute]] = field(default_factory=dict)  # by the name of the surface

    def routers(self) -> list[Router]:
        """The HTTP routes of surfaces, for the TCP listener."""
        from clew.server.routes.surfaces import router

        return [router(name, routes) for name, routes in self.routes.items()]

    def environment(self) -> dict[str, str]:
        return environment_of(self.runtimes)


def assemble(
    settings: Config,
    clock: Clock,
    home: Home,
    marks: Marks,
    announce: Callable[[Outgoing], bool],
    keeps: Home | None = None,
) -> Parts:
    """Create all parts. A plugin that fails is left out, with the reason. `keeps`: the home in which programs may
    outlive this process; None: they must not."""
    given: dict[str, Any] = {"clock": clock, "home": home, "marks": marks, "announce": announce, "keeps": keeps}
    given["default_runtime"] = settings.threads.runtime
    hide_variables(settings.surface_variables())
    runtimes = _make(plugins.RUNTIMES, settings.runtimes, given)
    surfaces = _make(plugins.SURFACES, settings.surfaces, given)
    troubles = (*runtimes.troubles, *surfaces.troubles)
    for trouble in troubles:
        log.error("%s", trouble)
    return Parts(runtimes.parts, surfaces.parts, troubles, surfaces.routes)


def own_runtimes(
    purpose: str, settings: Config | None = None, keeps: Home | None = None
) -> tuple[dict[str, Runtime], list[PluginTrouble]]:
    """The runtimes without a daemon, by the settings of this home. Processes that they start carry a separate mark."""
    home, clock = Home.find(), SystemClock()
    marks = Marks(f"{purpose}-{clock.token()[:12]}", purpose)
    settings = settings or config_settings.load(home.config)
    given: dict[str, Any] = {"clock": clock, "home": home, "marks": marks, "keeps": keeps}
    given["default_runtime"] = settings.threads.runtime
    hide_variables(settings.surface_variables())
    made = _make(plugins.RUNTIMES, settings.runtimes, given)
    return made.parts, made.troubles


def environment_of(runtimes: Mapping[str, Runtime]) -> dict[str, str]:
    """Fingerprints of the environment variables that matter to runtimes, without their values. A runtime that has some
    has the method `environment_marks`."""
    found: dict[str, str] = {}
    for runtime in runtimes.values():
        marks = getattr(runtime, "environment_marks", None)
        found.update(marks() if marks is not None else {})
    return found


def differing(theirs: Mapping[str, str], ours: Mapping[str, str]) -> list[str]:
    """The names of the variables whose fingerprints differ."""
    return [name for name in ours if name in theirs and theirs[name] != ours[name]]


async def take_over(parts: Parts, left: Sequence[Process]) -> frozenset[Mark]:
    """Let runtimes keep programs of an earlier daemon that finish their turn by themselves. Returns the marks of these.
    Of processes with one mark, the oldest is the program."""
    programs = {each.pid: each for each in {each.mark: each for each in sorted(left, key=lambda p: p.age)}.values()}
    taken: set[int] = set()
    for runtime in parts.runtimes.values():
        if programs and isinstance(runtime, FinishesAlone):
            taken.update(await _taken_over(runtime, {pid: each.started for pid, each in programs.items()}))
    return frozenset(mark for pid in taken if (mark := programs[pid].mark) is not None)


async def _taken_over(runtime: FinishesAlone, left: Mapping[int, str]) -> Collection[int]:
    try:
        return await runtime.take_over(left)
    except Exception:  # then all of them are ended
        log.exception("a runtime cannot take over what an earlier daemon left")
        return ()


def reattach_runtimes(parts: Parts) -> None:
    """Let runtimes find programs that an earlier daemon left at work. Called when a daemon starts."""
    for runtime in parts.runtimes.values():
        if isinstance(runtime, Outliving):
            runtime.come_back()


async def close_all(parts: Parts, *, for_good: bool = True) -> None:
    """Close all parts. With `for_good=False` another daemon follows, so programs that can outlive this one go on."""
    every: list[Surface | Runtime] = [*parts.surfaces.values(), *parts.runtimes.values()]
    for part in every:
        try:
            if isinstance(part, Outliving) and not for_good:
                await part.leave()
            else:
                await part.close()
        except Exception:  # go on and close the others
            log.exception("cannot close %s", part.name)


class _Made(Struct):
    parts: dict[str, Any]
    troubles: list[PluginTrouble]
    routes: dict[str, list[HttpRoute]] = field(default_factory=dict)


def _make(group: str, tables: Mapping[str, Any], given: Mapping[str, Any]) -> _Made:
    found, troubles = plugins.load(group)
    made = _Made({}, troubles)
    for name, plugin in plugins.several(found, tables).items():
        made.parts[name] = call(plugin.make, {**given, "config": tables[name], "name": name, "keeps": None})
    for name, plugin in found.items():
        try:
            part = call(plugin.make, {**given, "config": plugins.config_of(plugin, tables.get(name))})
            if part is None:
                continue  # its settings turn it off
            if isinstance(part, Mapping):  # one plugin, several parts
                made.parts.update({own: each for own, each in part.items() if own not in found})
                continue
            if (called := getattr(part, "name", None)) != name:
                raise Refused(say("daemon.plugin_name", called=repr(called), name=repr(name)))
            if plugin.routes is not None:
                made.routes[name] = list(plugin.routes(part))
            made.parts[name] = part
        except Exception as error:  # a plugin's code
            if isinstance(error, ConfigError) and name in plugins.BUILT_IN[group]:
                raise
            log.warning("%s %s cannot be created", group, name, exc_info=True)
            troubles.append(PluginTrouble(group, name, _words(error)))
    return made


def _words(error: Exception) -> str:
    return error.words if isinstance(error, ClewError) else str(error) or type(error).__name__


def left_out(troubles: Iterable[PluginTrouble]) -> list[Text]:
    """The parts that could not be created, and why, for people."""
    return [say("daemon.plugin_trouble", group=each.group, name=each.name, error=each.error) for each in troubles]


def call(function: Callable[..., Any], given: Mapping[str, Any]) -> Any:
    """Call a plugin's function with the arguments that its parameters name."""
    wanted = inspect.signature(function).parameters
    return function(**{name: value for name, value in given.items() if name in wanted})
