"""Checks of the agents for `clew doctor`: started and logged in, but without a turn. `clew ping` runs one."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping

from clew.cli.doctor.finding import not_checked
from clew.config import plugins
from clew.config.plugin import Finding
from clew.config.settings import Config
from clew.daemon.assemble import own_runtimes
from clew.model.runtime import Runtime
from clew.runtimes.probe import look
from clew.support.errors import ClewError, RuntimeTrouble
from clew.texts.catalogue import say


def agents(settings: Config) -> Iterator[Finding]:
    """Check all runtimes, the default one first."""
    made, troubles = own_runtimes("doctor", settings)
    needed = configured(settings)
    for name in sorted(made, key=lambda name: name != settings.threads.runtime):
        yield asyncio.run(_agent(made[name], needed))
    reported = plugins.load(plugins.RUNTIMES)[1]  # by the check of the plugins
    yield from (Finding(each.name, False, each.error) for each in troubles if each not in reported)


def configured(settings: Config) -> set[str]:
    """The runtimes that a setting or the default names."""
    named = (getattr(each, "runtime", None) for each in _tables(settings.surfaces).values())
    return {settings.threads.runtime, *_tables(settings.runtimes), *filter(None, named)}


def _tables(tables: Mapping[str, object]) -> dict[str, object]:
    """The settings of plugins by name. A plugin with several parts has a table for each."""
    found: dict[str, object] = {}
    for name, each in tables.items():
        found.update(each if isinstance(each, Mapping) else {name: each})
    return found


async def _agent(runtime: Runtime, needed: set[str]) -> Finding:
    try:
        found = await look(runtime)
    except ClewError as error:
        if runtime.name in needed:
            return Finding(runtime.name, False, error.words)
        if error.code.endswith("_missing"):
            advice = error.advice if isinstance(error, RuntimeTrouble) else ""
            return Finding(runtime.name, None, say("doctor.not_installed"), advice or error.words)
        return Finding(runtime.name, None, error.words, say("doctor.not_used"))
    except Exception as error:  # a plugin's code
        return Finding(runtime.name, False, not_checked(error))
    finally:
        await runtime.close()
    if not found.path:
        return Finding(runtime.name, True, say("doctor.ping_it", name=runtime.name))
    return Finding(runtime.name, True, say("doctor.agent_works", version=found.version, path=found.path))
