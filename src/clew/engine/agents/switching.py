"""Switches a thread to another agent, from its next turn on. What each agent remembers is left as it is."""

from __future__ import annotations

from msgspec import Struct

from clew.engine.account_limits import require_installed
from clew.engine.core import Core
from clew.engine.delivery.enqueue import enqueue_notice
from clew.engine.turns import parked
from clew.model import history
from clew.model.events.logged import AgentSwitched
from clew.model.messages import Conversation
from clew.model.threads import SuspendedBy, Thread, ThreadStatus
from clew.store import Tx
from clew.store.tables import adoptions, bindings, nodes, threads, turns
from clew.support.errors import BadInput, Refused
from clew.support.text import agent_name
from clew.texts import chat_messages
from clew.texts.catalogue import say
from clew.texts.gate_messages import person


class Switch(Struct, frozen=True):
    runtime: str
    by: str
    model: str | None = None  # None: the agent's default, since a model is a name of its own runtime
    why: str | None = None  # a code; None: a person wants it


def switch(tx: Tx, core: Core, thread: Thread, wanted: Switch, here: Conversation | None, name: str) -> bool:
    """Switch the thread, and give its queued turns to the new agent; a running turn goes on with the old one. The
    conversation that drives the thread is told, unless it is `here`, where it was asked for. `name`: id of the request,
    for the id of the notice. False: the agent works on it already. Raises BadInput or Refused."""
    require_usable(core, wanted.runtime)
    if wanted.runtime == thread.runtime:
        return False
    _require_free(tx, thread)
    now, former = core.clock.now(), thread.runtime
    threads.set_runtime(tx, thread.id, wanted.runtime, wanted.model)
    node = history.Switched(thread.id, now, former, wanted.runtime, wanted.by, wanted.why)
    nodes.append(tx, thread.id, thread.head, node)
    turns.move_queued(tx, thread.id, wanted.runtime)
    if thread.suspended_by is SuspendedBy.LIMIT:  # of the former agent's account
        moved = say("limits.moved_by", who=person(wanted.by), agent=agent_name(wanted.runtime))
        parked.unpark(tx, core, thread, moved)
    tx.log(thread.id, None, now, AgentSwitched(wanted.by, former, wanted.runtime, wanted.model))
    driver = bindings.driver(tx, thread.id)
    if driver != here:
        enqueue_notice(tx, core, driver, notice(wanted, former), f"{name}:switched", thread.id)
    return True


def notice(wanted: Switch, former: str) -> str:
    names = {"former": agent_name(former), "runtime": agent_name(wanted.runtime)}
    return say("agents.switched", by=person(wanted.by), **names)


def require_known(core: Core, runtime: str) -> None:
    if runtime not in core.runtimes:
        known = chat_messages.listed(sorted(core.runtimes))
        raise BadInput(say("agents.unknown", name=repr(runtime), known=known))


def require_usable(core: Core, runtime: str) -> None:
    """Raises if there is no such agent, or its program is not installed."""
    require_known(core, runtime)
    require_installed(core, runtime)


def _require_free(tx: Tx, thread: Thread) -> None:
    """Raises Refused if another agent cannot work on the thread."""
    if thread.status is ThreadStatus.CANCELLED:
        raise Refused(chat_messages.cancelled(thread.name))
    if adoptions.get(tx, thread.id) is not None:
        raise Refused(say("agents.shared", thread=thread.name, runtime=agent_name(thread.runtime)))
