"""Decides under which policy a thread's next turn runs: the thread's own, except that `sandbox` becomes `careful` on a
runtime without a sandbox, and where a rule denies or asks. It tells people about that once, when it changes."""

from __future__ import annotations

from msgspec import Struct

from clew.engine.core import Core
from clew.engine.delivery.enqueue import enqueue_delivery
from clew.engine.rules.scopes import find_unseeing
from clew.model.delivery import DeliveryKind
from clew.model.events import NoticeKind
from clew.model.events.logged import RuntimeNotice
from clew.model.gates import Policy
from clew.model.runtime import Runtime
from clew.model.threads import Thread
from clew.model.turns import Turn
from clew.store import Tx
from clew.store.tables import continuity, rules
from clew.texts.catalogue import say


class TurnPolicy(Struct, frozen=True):
    policy: Policy
    reason: str = ""  # why it is not the thread's own
    lacks_sandbox: bool = False  # the runtime has none, for no thread


async def choose_policy(core: Core, thread: Thread, runtime: Runtime) -> TurnPolicy:
    """The policy of the next turn of a thread on this runtime."""
    return await core.read_with_retry(lambda tx: policy_now(tx, core, thread, runtime))


def policy_now(tx: Tx, core: Core, thread: Thread, runtime: Runtime | None) -> TurnPolicy:
    """The policy under which a turn would run now. `runtime` is None if it is not known here."""
    if thread.policy is not Policy.SANDBOX or runtime is None:
        return TurnPolicy(thread.policy)
    if not runtime.can.sandbox:
        return TurnPolicy(Policy.CAREFUL, say("turns.no_sandbox", runtime=runtime.name), lacks_sandbox=True)
    known = rules.of_scopes(tx, thread.id, thread.workspace)
    rule = find_unseeing(known, thread.workspace, core.clock.now(), thread.id)
    if rule is None:
        return TurnPolicy(Policy.SANDBOX)
    from clew.engine.rules.decide import rule_name  # slow to import

    return TurnPolicy(Policy.CAREFUL, say("turns.rule_needs_careful", rule=rule_name(rule)))


async def record_policy(core: Core, turn: Turn, before: Policy | None, now: TurnPolicy) -> None:
    """Record the policy of a turn that is about to run, and tell people if it is another than that of the turn
    before. That a runtime has no sandbox is told once: it holds for all threads."""
    is_back = now.policy is Policy.SANDBOX and before is Policy.CAREFUL
    text = say("turns.sandbox_again") if is_back else now.reason
    await core.write_with_retry(lambda tx: _record(tx, core, turn, now, text))


def _record(tx: Tx, core: Core, turn: Turn, now: TurnPolicy, text: str) -> None:
    continuity.set_policy(tx, turn.session, now.policy)
    if not text or (now.lacks_sandbox and not continuity.note_without_sandbox(tx, turn.session.runtime)):
        return
    tx.log(turn.thread, turn.id, core.clock.now(), RuntimeNotice(text, NoticeKind.WARNING))
    if core.can_send_to(turn.conversation):
        enqueue_delivery(tx, core, turn, DeliveryKind.NOTICE, turn.conversation, text, id=f"{turn.id}:policy")
