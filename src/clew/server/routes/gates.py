"""Gates and rules: what waits for a person, and what answers for one. `{gate}` takes a code or any unique beginning of
an id."""

from __future__ import annotations

from starlette.responses import Response

from clew.engine.services.passages import closed
from clew.model.gate_views import AnswerGate, GateView, NewRuleView, RuleTest, RuleView
from clew.model.gates import Asked, Decision, Effect, GateKind, RuleKind, Scope
from clew.server.dependencies import AppState, answer
from clew.server.routing import schemas
from clew.server.routing.functions import Router

router = Router("/api", "gates")


@router.get("/gates", gives=list[GateView], summary="Everything that waits for a person, oldest first")
async def gates(door: AppState, thread: str | None = None) -> Response:
    """With `thread`: all of that thread, newest first, whatever became of them."""
    if thread is not None:
        found = await door.engine.waiting.of_thread(await door.engine.find(thread))
        return answer(await door.store.read(lambda tx: [closed(tx, each) for each in found]))
    return answer(await door.engine.waiting.all())


@router.get("/gates/{gate}", gives=GateView, summary="One gate, whole")
async def gate(door: AppState, gate: str) -> Response:
    found = await door.engine.waiting.one(gate)
    return answer(await door.store.read(lambda tx: closed(tx, found)))


@router.post("/gates/{gate}/answer", gives=GateView, summary="Answer a gate; the first answer counts")
async def answer_gate(door: AppState, gate: str, body: schemas.Answer) -> Response:
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
    return answer(await door.engine.waiting.answer(gate, given))


@router.post("/threads/{thread}/gates/accept", gives=list[GateView], summary="Say yes to all that is open")
async def accept_all(door: AppState, thread: str, body: schemas.AcceptAll) -> Response:
    return answer(await door.engine.waiting.accept_all(await door.engine.find(thread), body.sender, body.codes))


@router.get("/rules", gives=list[RuleView], summary="The rules")
async def rules(door: AppState) -> Response:
    return answer(await door.engine.waiting.rules())


@router.post("/rules", gives=RuleView, status=201, summary="Make a rule")
async def add_rule(door: AppState, body: schemas.NewRule) -> Response:
    place = await door.engine.find(body.place) if body.scope == "thread" else body.place
    new = NewRuleView(
        effect=Effect(body.effect),
        pattern=body.pattern,
        kind=RuleKind(body.kind) if body.kind else None,
        scope=Scope(body.scope),
        place=place,
        lasts=int(body.lasts * 1000) if body.lasts is not None else None,
        sender=body.sender,
    )
    return answer(await door.engine.waiting.add_rule(new), 201)


@router.delete("/rules/{rule}", gives=RuleView, summary="Remove a rule")
async def remove_rule(door: AppState, rule: str) -> Response:
    return answer(await door.engine.waiting.remove_rule(rule))


@router.post("/rules/test", gives=RuleTest, summary="What would become of a command, a change or a tool")
async def test_rule(door: AppState, body: schemas.RuleTest) -> Response:
    kinds = {"command": GateKind.COMMAND, "change": GateKind.CHANGE, "tool": GateKind.PERMISSION}
    paths = (body.subject,) if body.kind == "change" else ()
    asked = Asked(kinds[body.kind], body.subject, paths=paths)
    thread = await door.engine.find(body.thread) if body.thread else None
    return answer(await door.engine.waiting.test_rule(asked, body.workspace, thread))
