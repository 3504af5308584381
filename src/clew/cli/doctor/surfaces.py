"""Checks of the plugins for `clew doctor`: which surfaces are set up, and what the plugins check themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from clew.cli.doctor.finding import all_of, not_checked
from clew.config import plugins
from clew.config.plugin import Finding, Plugin
from clew.config.settings import Config
from clew.daemon.assemble import call
from clew.model.views import SurfaceView
from clew.support.clock import SystemClock
from clew.support.home import Home
from clew.texts.catalogue import restore, say


def surfaces(settings: Config, running: Sequence[SurfaceView] = ()) -> Finding:
    """The surfaces that are set up, or those that the running daemon cannot reach. Surfaces without settings, which are
    always there, come first."""
    if down := [each for each in running if each.state == "down"]:
        return Finding("surfaces", False, all_of([_why_down(each) for each in down]), say("doctor.see_status"))
    loaded, _ = plugins.load(plugins.SURFACES)
    names: list[str] = []
    for name, plugin in sorted(loaded.items(), key=lambda each: each[1].settings is not None):
        names += plugins.names_of(name, plugin, plugins.config_of(plugin, settings.surfaces.get(name)))
    return Finding("surfaces", True, ", ".join(names))


def _why_down(surface: SurfaceView) -> str:
    code = surface.texts.get("reason")
    reason = restore(code, surface.reason) if code else surface.reason
    return say("doctor.surface_down", surface=surface.name, reason=reason)


def own_checks(home: Home, settings: Config) -> Iterator[Finding]:
    """What the plugins check themselves. One that fails is a finding too."""
    given = {"home": home, "clock": SystemClock(), "port": settings.http.port}
    for group, tables in ((plugins.RUNTIMES, settings.runtimes), (plugins.SURFACES, settings.surfaces)):
        for name, plugin in plugins.load(group)[0].items():
            try:
                yield from _checked(plugin, given, tables.get(name))
            except Exception as error:  # a plugin's code
                yield Finding(name, False, not_checked(error))


def _checked(plugin: Plugin, given: Mapping[str, object], table: object) -> list[Finding]:
    config = plugins.config_of(plugin, table)
    if plugin.checks is None or (config is None and plugin.settings is not None):
        return []
    return list(call(plugin.checks, {**given, "config": config}))
