"""Chooses the policy of a new home: `sandbox` if the sandbox of the default runtime works on this machine. The choice
is written into config.toml, where a person sees it and can change it. A home that has a config or a store stays as it
is."""

from __future__ import annotations

from clew.config.settings import Config
from clew.daemon.assemble import own_runtimes
from clew.model.runtime import TriesSandbox
from clew.store.sqlite.file import saved_of
from clew.support.errors import ClewError
from clew.support.home import Home

FIRST_CONFIG = """\
# Written at the first start, because the agent's sandbox works on this machine. Under `sandbox`, commands run in it
# without asking, and the agent asks before it leaves it; under `careful` it asks first. See docs/reference/rules.md.
[threads]
policy = "sandbox"
"""


async def write_first_config(home: Home) -> None:
    """Write the config of a new home, if there is something to write."""
    if any(path.exists() for path in (home.config, home.database, saved_of(home.database))):
        return
    if await has_sandbox(Config()):
        from clew.config import edit  # only a new home needs it

        edit.write(home.config, FIRST_CONFIG)


async def has_sandbox(settings: Config) -> bool:
    """Whether the sandbox of the default runtime works on this machine."""
    made, _ = own_runtimes("first-start", settings)
    runtime = made.get(settings.threads.runtime)
    try:
        if not isinstance(runtime, TriesSandbox):
            return False
        await runtime.try_sandbox()
    except ClewError:
        return False
    finally:
        for each in made.values():
            await each.close()
    return True
