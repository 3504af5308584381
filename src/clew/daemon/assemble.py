"""Creates runtimes and surfaces from their plugins: each factory gets the arguments that its parameters name."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from clew.config import plugins
from clew.config import settings as config_settings
from clew.config.plugins import PluginTrouble
from clew.config.settings import Config, RuntimesConfig, SurfacesConfig
from clew.model.runtime import Outliving, Runtime
from clew.model.surface import Outgoing, Surface
from clew.process.scan import Marks
from clew.support.clock import Clock, SystemClock
from clew.support.errors import ConfigError
from clew.support.home import Home

if TYPE_CHECKING:
    from clew.server.routing.functions import Router

log = logging.getLogger(__name__)


class Parts(Struct, frozen=True):
    runtimes: Mapping[str, Runtime]
    surfaces: Mapping[str, Surface]
    troubles: tuple[PluginTrouble, ...]

    def routers(self) -> list[Router]:
        """The HTTP routes of surfaces, for the TCP listener."""
        from clew.server.routes.webhook import router
        from clew.surfaces.webhook import WebhookSurface

        return [router(surface) for surface in self.surfaces.values() if isinstance(surface, WebhookSurface)]


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
    runtimes, first = _make(plugins.RUNTIMES, settings.runtimes, given)
    surfaces, second = _make(plugins.SURFACES, settings.surfaces, given)
    for trouble in (*first, *second):
        log.error("%s", trouble)
    return Parts(runtimes, surfaces, (*first, *second))


def own_runtimes(purpose: str) -> tuple[dict[str, Runtime], list[PluginTrouble]]:
    """The runtimes without a daemon, by the settings of this home. Processes that they start carry a separate mark."""
    home, clock = Home.find(), SystemClock()
    marks = Marks(f"{purpose}-{clock.token()[:12]}", purpose)
    settings = config_settings.load(home.config)
    given: dict[str, Any] = {"clock": clock, "home": home, "marks": marks, "default_runtime": settings.threads.runtime}
    return _make(plugins.RUNTIMES, settings.runtimes, given)


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


def _make(
    group: str, sections: RuntimesConfig | SurfacesConfig, given: Mapping[str, Any]
) -> tuple[dict[str, Any], list[PluginTrouble]]:
    factories, troubles = plugins.load(group)
    made = {}
    for name, factory in factories.items():
        try:
            part = _call(factory, {**given, "config": _settings(sections, name, factory)})
            if part is None:
                continue  # its settings turn it off
            if isinstance(part, Mapping):  # one plugin, several parts
                made.update({own: each for own, each in part.items() if own not in factories})
                continue
            if (called := getattr(part, "name", None)) != name:
                raise ValueError(f"its name is {called!r}, but its entry point's is {name!r}: they must be the same")
            made[name] = part
        except Exception as error:  # a plugin's code
            if isinstance(error, ConfigError) and name in plugins.BUILT_IN[group]:
                raise
            log.warning("%s %s cannot be created", group, name, exc_info=True)
            troubles.append(PluginTrouble(group, name, str(error) or type(error).__name__))
    return made, troubles


def _settings(sections: RuntimesConfig | SurfacesConfig, name: str, factory: plugins.Factory) -> Any:
    """The settings of a plugin. Without a table in the file it gets its defaults; None if a setting is required."""
    found, kind = config_settings.section(sections, name), getattr(factory, "settings", None)
    if found is not None or kind is None:
        return found
    needed = [each for each in fields(kind) if each.default is MISSING and each.default_factory is MISSING]
    return None if needed else kind()


def _call(factory: Callable[..., Any], given: Mapping[str, Any]) -> Any:
    wanted = inspect.signature(factory).parameters
    return factory(**{name: value for name, value in given.items() if name in wanted})
