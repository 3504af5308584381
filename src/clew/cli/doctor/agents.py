"""Checks of the agents for `clew doctor`: started and logged in, but without a turn. `clew ping` runs one."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping

from clew.cli.doctor.finding import AgentFinding, NotInstalled, not_checked
from clew.config import plugins
from clew.config.plugin import Finding
from clew.config.settings import Config
from clew.daemon.assemble import own_runtimes
from clew.model.gates import Policy
from clew.model.runtime import Runtime, TriesSandbox
from clew.runtimes.probe import look
from clew.support.errors import ClewError, RuntimeTrouble, Unable
from clew.texts.catalogue import say


def agents(settings: Config) -> Iterator[Finding]:
    """Check all runtimes, the default one first."""
    made, troubles = own_runtimes("doctor", settings)
    needed = configured(settings)
    for name in sorted(made, key=lambda name: name != settings.threads.runtime):
        yield asyncio.run(_agent(runtime := made[name], needed))
        if isinstance(runtime, TriesSandbox) and (finding := asyncio.run(_sandbox(runtime, settings))) is not None:
            yield finding
    reported = plugins.load(plugins.RUNTIMES)[1]  # by the check of the plugins
    yield from (AgentFinding(each.name, False, each.error) for each in troubles if each not in reported)


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


async def _sandbox(runtime: TriesSandbox, settings: Config) -> Finding | None:
    """Try the sandbox that some policies need. If the default policy needs none, a failure is only worth knowing. None:
    the agent is not installed."""
    name = f"{runtime.name} sandbox"
    try:
        await runtime.try_sandbox()
    except ClewError as error:
        if isinstance(error, RuntimeTrouble) and error.unable is Unable.MISSING:
            return None
        is_needed = settings.threads.policy != Policy.CAREFUL and settings.threads.runtime == runtime.name
        return Finding(name, False if is_needed else None, error.words, say("doctor.fix_sandbox"))
    except Exception as error:  # a plugin's code
        return Finding(name, False, not_checked(error))
    return Finding(name, True, say("doctor.sandbox_works"))


async def _agent(runtime: Runtime, needed: set[str]) -> Finding:
    try:
        found = await look(runtime)
    except ClewError as error:
        if runtime.name in needed:
            return AgentFinding(runtime.name, False, error.words)
        if isinstance(error, RuntimeTrouble) and error.unable is Unable.MISSING:
            return NotInstalled(runtime.name, None, say("doctor.not_installed"), error.advice or error.words)
        return AgentFinding(runtime.name, None, error.words, say("doctor.not_used"))
    except Exception as error:  # a plugin's code
        return AgentFinding(runtime.name, False, not_checked(error))
    finally:
        await runtime.close()
    if not found.path:
        return AgentFinding(runtime.name, True, say("doctor.ping_it", name=runtime.name))
    if found.logged_in is None:
        words = say("doctor.agent_starts", version=found.version, path=found.path, name=runtime.name)
        return AgentFinding(runtime.name, True, words)
    return AgentFinding(runtime.name, True, say("doctor.agent_works", version=found.version, path=found.path))
