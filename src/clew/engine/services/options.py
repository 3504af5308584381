"""The options for a new thread or a handoff: runtimes, policies, workspaces, targets. Read-only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clew.engine.core import Core
from clew.engine.places.targets import home_or_none
from clew.model.gates import Policy
from clew.model.messages import Conversation
from clew.model.views import ChoicesView, RuntimeView, TargetView
from clew.store import Tx
from clew.store.tables import bindings, workspaces
from clew.support.coded import with_texts

AMONG = 200  # newest threads whose workspaces are offered
PLACES = 30  # conversations that are offered


async def thread_options(core: Core, runtimes: Sequence[RuntimeView]) -> ChoicesView:
    def read(tx: Tx) -> ChoicesView:
        return ChoicesView(
            runtimes=tuple(runtimes),
            default_runtime=core.config.threads.runtime,
            policies=tuple(Policy),
            default_policy=core.default_policy,
            workspaces=tuple(workspaces.newest(tx, AMONG)),
            default_workspace=core.workspace,
            targets=tuple(_targets(tx, core)),
        )

    return await core.store.read(read)


def _targets(tx: Tx, core: Core) -> Iterator[TargetView]:
    """The home of each chat surface, then the most recently used conversations."""
    chats = [name for name, surface in sorted(core.surfaces.items()) if surface.can.chat and surface.can.send]
    for name in chats:
        if _has_home(tx, core, name):
            yield _target(tx, core, name, Conversation(name), "home")
    for where, title in bindings.newest(tx, PLACES):
        if where.surface in chats and where.address:
            yield _target(tx, core, where.surface, where, title)


def _has_home(tx: Tx, core: Core, name: str) -> bool:
    return home_or_none(tx, core, name) is not None


def _target(tx: Tx, core: Core, surface: str, where: Conversation, name: str) -> TargetView:
    reason = core.trouble(tx, surface)
    return with_texts(TargetView(str(where), surface, name, "down" if reason else "up", reason))
