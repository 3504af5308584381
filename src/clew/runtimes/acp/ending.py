"""Decides how a turn ended from the agent's response. Pure."""

from __future__ import annotations

from clew.model.events import Notice, NoticeKind, TurnEnded, Usage
from clew.model.turns import Problem, TurnState
from clew.model.turns import Usage as Tokens
from clew.runtimes.acp import problems, wire
from clew.runtimes.acp.agents.known import Entry
from clew.runtimes.acp.live_turn import Live
from clew.runtimes.jsonrpc import RpcError
from clew.support.errors import RuntimeTrouble
from clew.texts.catalogue import say

_EARLY_STOPS = {
    "max_tokens": "acp.max_tokens",
    "max_turn_requests": "acp.max_requests",
}


def end_from_response(entry: Entry, live: Live, answer: wire.Prompted | RpcError) -> TurnEnded:
    """Return the end of the turn. Adds a notice if the answer stopped early."""
    if live.is_ending:
        return TurnEnded(TurnState.INTERRUPTED)
    if isinstance(answer, RpcError):
        return TurnEnded(TurnState.FAILED, problem=problems.problem(entry, answer.code, answer.message))
    if answer.usage is not None:
        live.add_events([Usage(_tokens(answer.usage))])
    text = live.translation.text
    if answer.stop_reason == "cancelled":
        return TurnEnded(TurnState.INTERRUPTED)
    if answer.stop_reason == "refusal":
        return TurnEnded(TurnState.FAILED, problem=problems.refusal(entry))
    if (failure := entry.quirks.failure(text)) is not None:
        return TurnEnded(TurnState.FAILED, problem=failure)
    if (why := _EARLY_STOPS.get(answer.stop_reason)) is not None:
        live.add_events([Notice(NoticeKind.WARNING, say("acp.stops_early", why=say(why)))])
    return TurnEnded(TurnState.COMPLETED, text)


def end_from_error(bad: RuntimeTrouble) -> TurnEnded:
    return TurnEnded(TurnState.FAILED, problem=Problem.of(bad.code, bad.words))


def _tokens(spent: wire.Spent) -> Tokens:
    return Tokens(
        spent.input_tokens,
        spent.cached_read_tokens or 0,
        spent.output_tokens,
        spent.thought_tokens or 0,
        spent.total_tokens,
    )
