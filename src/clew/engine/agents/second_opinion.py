"""Asks another agent about a thread: one turn on a fork that may only read. Its answer is quoted into the thread, whose
own agent learns of it with its next turn."""

from __future__ import annotations

from clew.engine.agents.switching import require_usable
from clew.engine.core import Core
from clew.engine.seams import EndedTurn, Follow
from clew.engine.threads import forks
from clew.engine.threads.lifecycle import title_of
from clew.engine.turns.queueing import queue_turn
from clew.model import history
from clew.model.events.logged import OpinionGiven
from clew.model.gates import Policy
from clew.model.messages import CLEW, Conversation, PromptMessage
from clew.model.threads import SessionKey, Thread, ThreadKind
from clew.model.turns import Origin, Turn, TurnState
from clew.store import Tx
from clew.store.tables import nodes, threads, turns
from clew.support.clock import Clock
from clew.support.errors import BadInput
from clew.texts.catalogue import say

NOTE = "You are asked for your opinion on this thread. Answer what is asked next. You may read, and change nothing."


def ask(tx: Tx, core: Core, source: Thread, runtime: str, question: PromptMessage, where: Conversation | None) -> Turn:
    """Queue the question on a fork of the thread. Its answer goes to `where`, and into the thread. Raises BadInput."""
    require_usable(core, runtime)
    if not question.text.strip():
        raise BadInput(say("agents.no_question"))
    model, effort = (source.model, source.effort) if runtime == source.runtime else (None, None)
    into = forks.Fork(
        title=title_of(question.text),
        kind=ThreadKind.TASK,
        runtime=runtime,
        model=model,
        effort=effort,
        policy=Policy.READ_ONLY,
    )
    fork = forks.fork(tx, core, source, None, into)
    note = PromptMessage(f"{question.id}:opinion", CLEW, NOTE)
    return queue_turn(tx, core.clock, SessionKey(fork, runtime), Origin.OPINION, (note, question), where)


class Quoting:
    """A listener of a turn's end."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def turn_ended(self, tx: Tx, ended: EndedTurn) -> None:
        if ended.follow is not Follow.ANSWER or ended.state is not TurnState.COMPLETED or not ended.text:
            return
        asked = _asked_in(tx, ended.turn)
        source = threads.get(tx, ended.thread.forked_from or "") if asked is not None else None
        if asked is not None and source is not None:
            self._quote(tx, source, asked, ended)

    def _quote(self, tx: Tx, source: Thread, asked: Turn, ended: EndedTurn) -> None:
        now = self._clock.now()
        question = next((said for said in asked.request if said.author != CLEW), None)
        if question is None:
            return
        turn = ended.turn
        opinion = history.Opinion(turn.id, now, turn.thread, turn.runtime, question.author, question.text, ended.text)
        nodes.append(tx, source.id, source.head, opinion)
        tx.log(source.id, None, now, OpinionGiven(turn.runtime, turn.thread))


def _asked_in(tx: Tx, turn: Turn) -> Turn | None:
    """The turn that asked for an opinion: this one, or the one that it continues."""
    now: Turn | None = turn
    while now is not None and now.origin is not Origin.OPINION:
        now = turns.get(tx, now.continues) if now.continues else None
    return now
