"""Faults to plant: what each replaces, and part of the finding that the oracle must report."""

from __future__ import annotations

import importlib
import itertools
from typing import Any, NamedTuple

from msgspec.structs import replace

from clew.model.messages import Conversation
from clew.model.threads import SessionKey
from clew.store.tables import bindings, continuity, deliveries, gates, handoffs, inbox, parked, threads, turns, usage
from clew.testing.scripted_runtime.session import ScriptedSession

admission = importlib.import_module("clew.engine.inbox.admission")
answering = importlib.import_module("clew.engine.gates.answers")
cards = importlib.import_module("clew.engine.gates.cards")
ending = importlib.import_module("clew.engine.turns.completion")
fallback = importlib.import_module("clew.engine.places.fallback")
owing = importlib.import_module("clew.engine.delivery.enqueue")
outbox = importlib.import_module("clew.engine.delivery.outbox")
recovery = importlib.import_module("clew.engine.turns.recovery")
suspended = importlib.import_module("clew.engine.turns.suspension")
guard = importlib.import_module("clew.engine.budgets.guard")
waking = importlib.import_module("clew.engine.agents.waking")
whole = importlib.import_module("clew.engine.gates.visibility")

decide, owe_final = admission.Admission.decide, ending.enqueue_answer
first_answer, open_now, bind, insert = gates.answer, handoffs.all_open, bindings.bind, turns.insert
move_queued = turns.move_queued
drawn = itertools.count()


class Fault(NamedTuple):
    where: object
    name: str
    instead: Any
    seen_as: str


async def never_ran(self: object, turn: str) -> None:
    return None


def forgotten(*args: object, **more: object) -> None:
    return None


def never(*args: object, **more: object) -> bool:
    return False


def always(*args: object, **more: object) -> bool:
    return True


def nothing(tx: Any, *more: object) -> list[Any]:
    return []


# Messages and turns


def forgetful(self: Any, tx: Any, inbound: Any, *more: Any) -> Any:
    return decide(self, tx, replace(inbound, message_id=f"{inbound.message_id}#{next(drawn)}"), *more)


def without_a_word(tx: Any, turn: Any) -> None:
    insert(tx, replace(turn, request=()) if next(drawn) % 10 == 9 else turn)


def without_its_end(tx: Any, turn: Any) -> None:
    insert(tx, replace(turn, request=tuple(replace(said, text=said.text[:-1]) for said in turn.request)))


def without_its_beginning(tx: Any, turn: Any) -> None:
    insert(tx, replace(turn, request=tuple(replace(said, text=said.text[3:]) for said in turn.request)))


def only_the_first(tx: Any, core: Any, waiting: list[Any]) -> None:
    for turn in waiting[1:]:
        turns.set_request(tx, turn.id, ())
        suspended.drop_queued(tx, core, turn)


def in_two_turns(tx: Any, core: Any, waiting: list[Any]) -> None:
    turns.set_request(tx, waiting[0].id, tuple(said for turn in waiting for said in turn.request))


def while_another_runs(tx: Any, thread: str, owner: str, at: int) -> Any:
    first = next(iter(turns.queued(tx, thread)), None)
    if first is None:
        return None
    tx.run("UPDATE turns SET state = 'running', owner = ?, started_at = ? WHERE id = ?", owner, at, first.id)
    return turns.get(tx, first.id)


def while_it_waits(tx: Any, thread: str, owner: str, at: int) -> Any:
    return None if turns.live(tx, thread) else while_another_runs(tx, thread, owner, at)


def unfenced(tx: Any, turn: Any, assignment: str, *params: Any) -> bool:
    changed = tx.run(
        f"UPDATE turns SET {assignment} WHERE id = ? AND state IN ('running', 'waiting')", *params, turn.id
    )
    return bool(changed == 1)


def in_silence(tx: Any, core: Any, turn: Any, end: Any, request: Any) -> bool:
    return bool(ending.end_in_silence(tx, core, turn, end))


# Gates


def whoever_comes_last(tx: Any, gate: Any, given: Any, by: str, at: int) -> bool:
    tx.run("UPDATE gates SET state = 'open' WHERE id = ? AND state IN ('answered', 'taken')", gate.id)
    return bool(first_answer(tx, replace(gate, state="open"), given, by, at))


# Several agents


def nothing_seen(tx: Any, key: Any) -> None:
    return None


def as_if_all_seen(tx: Any, thread: str, runtime: str) -> int:
    """The new agent counts as one that knows the whole thread."""
    continuity.set_seen(tx, SessionKey(thread, runtime), threads.head(tx, thread) or "")
    return move_queued(tx, thread, runtime)


# Deliveries


def no_doubt(tx: Any, now: int, own: str) -> list[str]:
    tx.run("UPDATE deliveries SET state = 'pending', due_at = ?, in_doubt = 0 WHERE state = 'sending'", now)
    return []


def whoever_sends(tx: Any, delivery: Any, assignment: str, *params: Any) -> bool:
    sql = f"UPDATE deliveries SET {assignment} WHERE id = ? AND state = 'sending'"
    return bool(tx.run(sql, *params, delivery.id) == 1)


async def unwritten(self: object, delivery: object) -> None:
    return None


async def as_if_young(self: Any, delivery: object, surface: Any, outgoing: Any) -> Any:
    return await self._send_or_explain(replace(outgoing, again=True), surface)


def always_there(tx: Any, core: Any, thread: Any, turn: Any) -> Conversation:
    return Conversation("simulated", "room-0")


def shortened(tx: Any, core: Any, turn: Any, where: Any, body: str, note: str) -> None:
    owe_final(tx, core, turn, where, body[:-1], note)


def left_behind(tx: Any) -> list[Any]:
    return [row for row in open_now(tx) if row.owner is None]


def not_bound(tx: Any, where: Any, thread: str, at: int, *, drives: bool = True) -> None:
    if drives:
        bind(tx, where, thread, at)


FAULTS = {
    "an agent that comes back is told everything again": Fault(continuity, "seen", nothing_seen, "was told twice"),
    "a new agent is told nothing": Fault(turns, "move_queued", as_if_all_seen, "was never told"),
    "what a turn used is forgotten": Fault(usage, "add", forgotten, "the ledger of each day says"),
    "nobody looks at the budget": Fault(guard.BudgetGuard, "holds_back", never, "began above its budget"),
    "a word to go on is for all turns": Fault(guard, "may_pass", always, "began above its budget"),
    "what was said is lost on its way into a turn": Fault(turns, "insert", without_a_word, "ever heard it"),
    "the end of what was said is lost": Fault(turns, "insert", without_its_end, "and the agent heard"),
    "the beginning of what was said is lost": Fault(turns, "insert", without_its_beginning, "and the agent heard"),
    "of messages that are merged one is left": Fault(suspended, "_merge_into_first", only_the_first, "ever heard it"),
    "what is merged stays where it was": Fault(suspended, "_merge_into_first", in_two_turns, "is in 2 turns"),
    "a repeated message is not recognised": Fault(admission.Admission, "decide", forgetful, "has the fates"),
    "a steer that was not taken is forgotten": Fault(ending, "requeue_steer", forgotten, "is offered"),
    "two turns of a thread run at once": Fault(turns, "claim", while_another_runs, "UNIQUE constraint failed"),
    "a thread that waits for a word goes on without it": Fault(turns, "claim", while_it_waits, "that waits for a word"),
    "a dead daemon's turns are not looked up": Fault(ScriptedSession, "record", never_ran, "was begun"),
    "a turn is ended by who does not hold it": Fault(turns, "_fenced", unfenced, "nothing is owed for it"),
    "what was said into work that was cut is forgotten": Fault(
        recovery, "end_and_continue", in_silence, "nobody goes on with it"
    ),
    "work goes on without what was said into it": Fault(inbox, "taken_steers", nothing, "goes on without"),
    "leases of dead daemons are left alone": Fault(turns, "all_live", nothing, "is running in a thread"),
    "a later answer replaces the first": Fault(gates, "answer", whoever_comes_last, "is answered in a turn that is"),
    "an unsent yes is used more than once": Fault(gates, "use_carried", always, "gates live off"),
    "a word of before answers a gate": Fault(answering.GateReply, "was_sent_before", never, "was said before"),
    "a card allows what it leaves out": Fault(whole.MessageLimit, "fits", always, "was never shown in"),
    "a button on a message without a receipt is guessed": Fault(admission, "_is_without_receipt", never, "was pressed"),
    "cards are not redrawn": Fault(cards, "redraw", forgotten, "nobody was told in the room"),
    "gates of a turn that is over stay open": Fault(ending, "settle_ended", forgotten, "is answered in a turn that is"),
    "a turn ends and nothing is owed": Fault(deliveries, "enqueue", always, "nothing is owed for it"),
    "a delivery is recorded by who does not send it": Fault(
        deliveries, "_fenced", whoever_sends, "counts as sent and is not there"
    ),
    "a send in doubt looks younger than it is": Fault(outbox.Outbox, "_resend", as_if_young, "without a mark"),
    "an answer leaves before that is written down": Fault(
        outbox.Outbox, "_record_first_send", unwritten, "without a mark"
    ),
    "a half-sent delivery is taken for unsent": Fault(deliveries, "release_sending", no_doubt, "without a mark"),
    "an answer goes to a place where nobody asked": Fault(
        ending, "answer_target", always_there, "and answered in 'room-0'"
    ),
    "what is private comes to a group": Fault(fallback, "_is_direct", always, "is private and was shown in a group"),
    "an answer comes without its end": Fault(ending, "enqueue_answer", shortened, "and people read 'answer to"),
    "a refused turn counts as heard": Fault(ending, "_was_refused", never, "was never told"),
    "a turn that has acted is sent again at a limit": Fault(ending, "has_acted", never, "was told twice"),
    "the time to wake a thread is forgotten": Fault(parked, "next_wake", forgotten, "was not woken"),
    "a parked thread is forgotten": Fault(parked, "due_parked", nothing, "was not woken"),
    "all threads ask an account at once": Fault(waking, "asking_until", forgotten, "asked the account of"),
    "answers leave in any order": Fault(deliveries, "_FREE", "1 = 1", "which had ended first"),
    "nobody hears that what waited was dropped": Fault(owing, "enqueue_notice", forgotten, "was dropped, and nobody"),
    "a handoff of a dead daemon is left where it stands": Fault(handoffs, "all_open", left_behind, "for ever"),
    "a thread is handed to a place that is not bound to it": Fault(
        bindings, "bind", not_bound, "was handed to went to"
    ),
}
