"""How a turn ended, by what its agent answered. Pure."""

from __future__ import annotations

from clew.model.events import Notice, NoticeKind, TurnEnded, Usage
from clew.model.turns import Problem, TurnState
from clew.model.turns import Usage as Tokens
from clew.runtimes.acp import problems, wire
from clew.runtimes.acp.known_agents import Entry
from clew.runtimes.acp.live_turn import Live
from clew.runtimes.jsonrpc import RpcError
from clew.support.errors import RuntimeTrouble

_SHORT = {
    "max_tokens": "the model may not say more in one go",
    "max_turn_requests": "the agent may not ask its model more often in one turn",
}


def ended_by(entry: Entry, live: Live, answer: wire.Prompted | RpcError) -> TurnEnded:
    """An answer that was broken off is told to be so."""
    if live.is_ending:
        return TurnEnded(TurnState.INTERRUPTED)
    if isinstance(answer, RpcError):
        return TurnEnded(TurnState.FAILED, problem=problems.problem(entry, answer.code, answer.message))
    if answer.usage is not None:
        live.tell([Usage(_tokens(answer.usage))])
    text = live.translation.text
    if answer.stop_reason == "cancelled":
        return TurnEnded(TurnState.INTERRUPTED)
    if answer.stop_reason == "refusal":
        return TurnEnded(TurnState.FAILED, problem=problems.refusal(entry))
    if (failure := entry.quirks.failure(text)) is not None:
        return TurnEnded(TurnState.FAILED, problem=failure)
    if (why := _SHORT.get(answer.stop_reason)) is not None:
        live.tell([Notice(NoticeKind.WARNING, f"The answer stops here: {why}. Say `continue` to have the rest.")])
    return TurnEnded(TurnState.COMPLETED, text)


def ended_with(bad: RuntimeTrouble) -> TurnEnded:
    return TurnEnded(TurnState.FAILED, problem=Problem(bad.code, bad.message))


def _tokens(spent: wire.Spent) -> Tokens:
    return Tokens(
        spent.input_tokens,
        spent.cached_read_tokens or 0,
        spent.output_tokens,
        spent.thought_tokens or 0,
        spent.total_tokens,
    )
