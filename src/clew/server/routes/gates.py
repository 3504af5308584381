"""Gates, and the rules that answer them. `{gate}` is a code or any unique prefix of an id."""

from __future__ import annotations

from starlette.responses import Response

from clew.model.gate_views import AnswerGate, GateView, NewRuleView, RuleTest, RuleView
from clew.model.gates import Asked, Decision, Effect, GateKind, RuleKind, Scope
from clew.server.dependencies import AppState, json_response
from clew.server.routing import schemas
from clew.server.routing.functions import Router

router = Router("/api", "gates")


@router.get("/gates", gives=list[GateView], summary="List open gates, oldest first")
async def gates(state: AppState, thread: str | None = None) -> Response:
    """With `thread`: all gates of that thread in any state, newest first."""
    if thread is not None:
        return json_response(await state.engine.gates.history(await state.engine.threads.find(thread)))
    return json_response(await state.engine.gates.all())


@router.get("/gates/{gate}", gives=GateView, summary="Show a gate completely")
async def gate(state: AppState, gate: str) -> Response:
    return json_response(await state.engine.gates.show(gate))


@router.post("/gates/{gate}/answer", gives=GateView, summary="Answer a gate; the first answer wins")
async def answer_gate(state: AppState, gate: str, body: schemas.Answer) -> Response:
    given = AnswerGate(
        decision=Decision(body.decision),
        extent=body.extent,
        pattern=body.pattern,
        scope=Scope(body.scope),
        lasts=int(body.lasts * 1000) if body.lasts is not None else None,
        reason=body.reason,
        replies=body.replies,
        sender=body.sender,
    )
    return json_response(await state.engine.gates.answer(gate, given))


@router.post("/threads/{thread}/gates/accept", gives=list[GateView], summary="Approve all open gates of a thread")
async def accept_all(state: AppState, thread: str, body: schemas.AcceptAll) -> Response:
    return json_response(
        await state.engine.gates.accept_all(await state.engine.threads.find(thread), body.sender, body.codes)
    )


@router.get("/rules", gives=list[RuleView], summary="List rules")
async def rules(state: AppState) -> Response:
    return json_response(await state.engine.gates.rules())


@router.post("/rules", gives=RuleView, status=201, summary="Add a rule")
async def add_rule(state: AppState, body: schemas.NewRule) -> Response:
    place = await state.engine.threads.find(body.place) if body.scope == "thread" else body.place
    new = NewRuleView(
        effect=Effect(body.effect),
        pattern=body.pattern,
        kind=RuleKind(body.kind) if body.kind else None,
        scope=Scope(body.scope),
        place=place,
        lasts=int(body.lasts * 1000) if body.lasts is not None else None,
        sender=body.sender,
    )
    return json_response(await state.engine.gates.add_rule(new), 201)


@router.delete("/rules/{rule}", gives=RuleView, summary="Remove a rule")
async def remove_rule(state: AppState, rule: str) -> Response:
    return json_response(await state.engine.gates.remove_rule(rule))


@router.post("/rules/test", gives=RuleTest, summary="Test what the rules decide about a command, a change or a tool")
async def test_rule(state: AppState, body: schemas.RuleTest) -> Response:
    kinds = {"command": GateKind.COMMAND, "change": GateKind.CHANGE, "tool": GateKind.PERMISSION}
    paths = (body.subject,) if body.kind == "change" else ()
    asked = Asked(kinds[body.kind], body.subject, paths=paths)
    thread = await state.engine.threads.find(body.thread) if body.thread else None
    return json_response(await state.engine.gates.test_rule(asked, body.workspace, thread))
