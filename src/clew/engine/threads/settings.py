"""Changes the settings of a thread: its model, its effort and its policy. They hold from its next turn. Who may change
them is decided by the caller; `loosens` tells whether that must be an owner."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping

from clew.engine.core import Core
from clew.engine.delivery.enqueue import enqueue_notice
from clew.model.events.logged import SettingsChanged
from clew.model.gates import Policy
from clew.model.messages import Conversation
from clew.model.runtime import ListsModels, ModelInfo
from clew.model.threads import Priority, Thread, ThreadSettings, ThreadStatus
from clew.store import Tx
from clew.store.tables import bindings, threads
from clew.support.errors import BadInput, Refused
from clew.support.text import clean
from clew.texts import chat_messages
from clew.texts.catalogue import say
from clew.texts.gate_messages import person

LONGEST_NAME = 200  # characters
PATIENCE = 5.0  # seconds that a runtime may take to list its models
_log = logging.getLogger(__name__)


def named(text: str) -> str:
    """The name of a model or an effort as a person gave it. Raises BadInput."""
    name = clean(text).strip()
    if not name or len(name) > LONGEST_NAME or len(name.split()) > 1:
        raise BadInput(say("threads.not_a_setting", name=repr(name[:LONGEST_NAME])))
    return name


def policy_named(text: str) -> Policy:
    """Raises BadInput if there is no such policy."""
    try:
        return Policy(text.strip().lower())
    except ValueError:
        raise BadInput(say("threads.no_policy", name=repr(text), known=", ".join(Policy))) from None


def priority_named(text: str) -> Priority:
    """Raises BadInput if there is no such priority."""
    try:
        return Priority(text.strip().lower())
    except ValueError:
        raise BadInput(say("threads.no_priority", name=repr(text), known=", ".join(Priority))) from None


def change(
    tx: Tx, core: Core, thread: Thread, wanted: ThreadSettings, by: str, here: Conversation | None, name: str
) -> None:
    """Change settings, log it, and tell the conversation that drives the thread, unless it is `here`, where it was
    asked for. `name`: id of the request, for the id of the notice. Raises Refused."""
    if thread.status is ThreadStatus.CANCELLED:
        raise Refused(chat_messages.cancelled(thread.name))
    policy = wanted.policy or thread.policy
    model, effort = wanted.model or thread.model, wanted.effort or thread.effort
    threads.set_settings(tx, thread.id, model, effort, policy, wanted.priority or thread.priority)
    former = thread.policy if policy is not thread.policy else None
    logged = SettingsChanged(
        by, wanted.model, wanted.effort, wanted.policy, former, wanted.priority, limits=_in_words(wanted.choices)
    )
    tx.log(thread.id, None, core.clock.now(), logged)
    driver = bindings.driver(tx, thread.id)
    if driver != here:
        notice = say("threads.settings_changed", by=person(by), what=listed(wanted))
        enqueue_notice(tx, core, driver, notice, f"{name}:settings", thread.id)


def loosens(wanted: ThreadSettings, policy: Policy) -> bool:
    return wanted.policy is not None and wanted.policy.is_looser_than(policy)


def listed(wanted: ThreadSettings) -> str:
    """`model=fast, policy=careful`."""
    given = (
        ("model", wanted.model),
        ("effort", wanted.effort),
        ("policy", wanted.policy),
        ("priority", wanted.priority),
    )
    return ", ".join(f"{name}={value}" for name, value in (*given, *wanted.choices.items()) if value)


def _in_words(choices: Mapping[str, str]) -> str | None:
    return ", ".join(f"{name}={value}" for name, value in choices.items()) or None


async def offered_models(core: Core, runtime: str) -> tuple[ModelInfo, ...]:
    """The models that a runtime tells of now; if it cannot tell, those that it told of before. A free name is accepted
    all the same, so a failure costs nothing."""
    known = core.runtimes.get(runtime)
    if isinstance(known, ListsModels):
        try:
            async with asyncio.timeout(PATIENCE):
                core.models[runtime] = await known.models() or core.models.get(runtime, ())
        except Exception as error:
            _log.info("%s does not list its models: %s", runtime, error)
    return core.models.get(runtime, ())
