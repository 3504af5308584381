"""Decides how a turn ended from the agent's response. Pure."""

from __future__ import annotations

from clew.model.events import Notice, NoticeKind, TurnEnded, Usage
from clew.model.turns import Problem, TurnState
from clew.model.turns import Usage as Tokens
from clew.runtimes.acp import problems, wire
from clew.runtimes.acp.agents.known import Entry
from clew.runtimes.acp.turn.live_turn import Live
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
        limits = live.translation.limits
        free_again = limits.resets_at if limits is not None and limits.is_refused else None
        return TurnEnded(TurnState.FAILED, problem=problems.problem(entry, answer, free_again))
    if (tokens := _tokens(answer, live.translation.context_used)) is not None:
        live.add_events([Usage(live.spent + tokens)])
    text = live.translation.text
    if answer.stop_reason == "cancelled":
        return TurnEnded(TurnState.INTERRUPTED)
    if answer.stop_reason == "refusal":
        return TurnEnded(TurnState.FAILED, problem=problems.refusal(entry))
    if (failure := entry.quirks.failure(text)) is not None:
        return TurnEnded(TurnState.FAILED, problem=failure)
    if not live.translation.has_answered:
        return TurnEnded(TurnState.FAILED, problem=problems.no_answer(entry))
    if (why := _EARLY_STOPS.get(answer.stop_reason)) is not None:
        live.add_events([Notice(NoticeKind.WARNING, say("acp.stops_early", why=say(why)))])
    return TurnEnded(TurnState.COMPLETED, text)


def spent_before(live: Live, prompted: wire.Prompted) -> None:
    """Keep what a prompt spent that is not the last one of its turn."""
    live.spent += _tokens(prompted, 0) or Tokens()


def end_from_error(bad: RuntimeTrouble) -> TurnEnded:
    return TurnEnded(TurnState.FAILED, problem=Problem.of(bad.code, bad.words))


def _tokens(answer: wire.Prompted, context: int) -> Tokens | None:
    """Return the tokens of the turn. An agent that does not count them may say how large its context is."""
    if answer.usage is not None:
        return _spent(answer.usage)
    if (counted := answer.counted) is not None:
        read, written = counted.input_tokens, counted.output_tokens
        return Tokens(input_tokens=read, output_tokens=written, total_tokens=read + written)
    return Tokens(total_tokens=context) if context else None


def _spent(spent: wire.Spent) -> Tokens:
    return Tokens(
        spent.input_tokens,
        spent.cached_read_tokens or 0,
        spent.output_tokens,
        spent.thought_tokens or 0,
        spent.total_tokens,
    )
