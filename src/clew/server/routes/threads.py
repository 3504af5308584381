"""Threads: start, send to, read and change them. `{thread}` is any unique prefix of an id."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Literal

from msgspec import Meta
from starlette.responses import Response

from clew.model.budgets import Measure
from clew.model.gates import Policy
from clew.model.messages import LOCAL_CLIENT, Accepted, Attachment, Inbound
from clew.model.threads import Priority, ThreadFilter, ThreadKind, ThreadSettings, ThreadStatus
from clew.model.turns import Prelude
from clew.model.views import (
    ContinuityView,
    NewThread,
    Page,
    Passage,
    QueuedView,
    SteerView,
    ThreadView,
    TurnView,
    WhereRow,
)
from clew.server.dependencies import AppState, json_response
from clew.server.files import local, uploads
from clew.server.routing import schemas
from clew.server.routing.functions import Router

router = Router("/api", "threads")

Status = Literal["idle", "running", "waiting", "suspended", "completed", "cancelled"]


@router.post("/threads", gives=Accepted, status=201, summary="Start a thread with its first message")
async def start(state: AppState, body: schemas.Start) -> Response:
    new_id = state.new_id()
    async with _attached(state, body, new_id) as attachments:
        accepted = await state.engine.threads.start(
            NewThread(
                message_id=body.message_id,
                text=body.text,
                workspace=body.workspace,
                kind=ThreadKind(body.kind),
                title=body.title,
                runtime=body.runtime,
                model=body.model,
                effort=body.effort,
                policy=Policy(body.policy) if body.policy else None,
                notify=body.notify,
                priority=Priority(body.priority),
                sender=body.sender,
                attachments=attachments,
                id=new_id,
            )
        )
        if accepted.repeated:
            uploads.discard(state.home.files / new_id)
    return json_response(accepted, 200 if accepted.repeated else 201)


@asynccontextmanager
async def _attached(
    state: AppState, body: schemas.Start | schemas.Say, thread: str
) -> AsyncIterator[tuple[Attachment, ...]]:
    """The local files that the message names, and its uploads."""
    async with (
        local.copied(body.attachments, state.home.files / body.message_id) as named,
        uploads.claimed(body.files, state.home.uploads, state.home.files / thread / body.message_id) as sent,
    ):
        yield (*named, *sent)


@router.get("/threads", gives=Page, summary="List a page of threads, by last activity, newest first")
async def threads(
    state: AppState,
    history: bool = False,
    status: Status | None = None,
    text: Annotated[str, Meta(max_length=200)] | None = None,
    workspace: Annotated[str, Meta(max_length=4096)] | None = None,
    before: Annotated[str, Meta(max_length=64, description="`next` of the previous page, or a thread")] | None = None,
    limit: Annotated[int, Meta(ge=1, le=1000)] = 50,
    newest: Annotated[bool, Meta(description="only the thread that was made last, active or finished")] = False,
) -> Response:
    running, waiting = status == "running", status == "waiting"
    stored = ThreadStatus(status) if status and not (running or waiting) else None
    after = await state.engine.threads.position(before) if before else None
    wanted = ThreadFilter(history, stored, text, workspace, after, limit, running, waiting=waiting, newest=newest)
    return json_response(await state.engine.threads.page(wanted))


@router.get("/threads/{thread}", gives=ThreadView, summary="Show a thread")
async def thread(state: AppState, thread: str) -> Response:
    found = await state.engine.threads.find(thread)
    await state.engine.threads.refresh(found)
    return json_response(await state.engine.threads.get(found))


@router.patch("/threads/{thread}", gives=ThreadView, summary="Change the title, the agent or the settings of a thread")
async def change(state: AppState, thread: str, body: schemas.Change) -> Response:
    found = await state.engine.threads.find(thread)
    policy, priority = Policy(body.policy) if body.policy else None, Priority(body.priority) if body.priority else None
    wanted = ThreadSettings(body.model, body.effort, policy, body.runtime, priority, _choices(body))
    limits = _limits(body.budget)
    if limits:
        await state.engine.usage.set_for_thread(found, limits, body.sender)
    if body.notify:
        await state.engine.threads.notify(found, body.notify, body.sender)
    if (limits or body.notify) and body.title is None and wanted == ThreadSettings():
        return json_response(await state.engine.threads.get(found))
    return json_response(await state.engine.threads.change(found, body.title, wanted, body.sender))


def _choices(body: schemas.Change) -> dict[str, str]:
    """In words, as on the command line."""
    order = body.fallback if isinstance(body.fallback, str | None) else ",".join(body.fallback) or "none"
    given = {"fallback": order, "on_limit": body.on_limit, "quiet_hours": body.quiet_hours}
    waits = {"limit_waits": str(body.limit_waits)} if body.limit_waits is not None else {}
    return {name: word for name, word in given.items() if word is not None} | waits


def _limits(budget: schemas.ThreadBudget | None) -> dict[Measure, int | None]:
    given = {measure: getattr(budget, measure) for measure in Measure} if budget is not None else {}
    return {measure: limit or None for measure, limit in given.items() if limit is not None}


@router.post("/threads/{thread}/messages", gives=Accepted, summary="Send a message to a thread")
async def say(state: AppState, thread: str, body: schemas.Say) -> Response:
    found = await state.engine.threads.find(thread)
    async with _attached(state, body, found) as attachments:
        inbound = Inbound(
            conversation=LOCAL_CLIENT,
            message_id=body.message_id,
            sender=body.sender,
            text=body.text,
            attachments=attachments,
            thread=found,
            queue=body.queue,
            sees=body.sees,
            answers=body.answers,
        )
        return json_response(await state.engine.inbox.accept(inbound))


@router.post("/threads/{thread}/resume", gives=Accepted, summary="Resume a finished or suspended thread")
async def resume(state: AppState, thread: str, body: schemas.Resume) -> Response:
    found = await state.engine.threads.find(thread)
    return json_response(await state.engine.threads.resume(found, body.supplement, body.message_id, body.sender))


@router.post("/threads/{thread}/stop", gives=TurnView, summary="Stop the running turn")
async def stop(state: AppState, thread: str, sender: str = "you") -> Response:
    return json_response(await state.engine.threads.stop(await state.engine.threads.find(thread), sender))


@router.post("/threads/done", gives=list[ThreadView], summary="Mark chats as completed that were idle for a while")
async def finish_idle(state: AppState, body: schemas.FinishIdle) -> Response:
    """What runs, waits or is queued stays, and so do tasks and adopted sessions. Returns the threads."""
    return json_response(await state.engine.threads.finish_idle(body.idle_for, dry_run=body.dry_run))


@router.post("/threads/{thread}/done", gives=ThreadView, summary="Mark a thread as completed")
async def done(state: AppState, thread: str) -> Response:
    return json_response(await state.engine.threads.done(await state.engine.threads.find(thread, exact=True)))


@router.post("/threads/{thread}/cancel", gives=ThreadView, summary="Cancel a thread for good")
async def cancel(state: AppState, thread: str) -> Response:
    return json_response(await state.engine.threads.cancel(await state.engine.threads.find(thread, exact=True)))


@router.post("/threads/{thread}/fork", gives=ThreadView, status=201, summary="Fork a thread")
async def fork(state: AppState, thread: str, body: schemas.Fork) -> Response:
    return json_response(
        await state.engine.threads.fork(await state.engine.threads.find(thread), body.turn, body.title), 201
    )


@router.post("/threads/{thread}/ask", gives=Accepted, status=201, summary="Ask another agent about a thread")
async def ask(state: AppState, thread: str, body: schemas.Ask) -> Response:
    found = await state.engine.threads.find(thread)
    accepted = await state.engine.threads.ask(found, body.runtime, body.question, body.message_id, body.sender)
    return json_response(accepted, 200 if accepted.repeated else 201)


@router.get("/threads/{thread}/transcript", gives=list[Passage], summary="Read the transcript of a thread")
async def transcript(
    state: AppState,
    thread: str,
    limit: Annotated[int, Meta(ge=1, le=10_000)] = 200,
    before: Annotated[str, Meta(max_length=64, description="a `node`: only entries before it")] | None = None,
    brief: Annotated[bool, Meta(description="shorten the output of commands")] = False,
) -> Response:
    found = await state.engine.threads.find(thread)
    return json_response(await state.engine.threads.read(found, limit, before, brief=brief))


@router.get("/threads/{thread}/queue", gives=list[QueuedView], summary="List queued messages")
async def queue(state: AppState, thread: str) -> Response:
    return json_response(await state.engine.threads.queue(await state.engine.threads.find(thread)))


@router.get("/threads/{thread}/deliveries", gives=list[WhereRow], summary="List the deliveries of its answers")
async def deliveries(state: AppState, thread: str) -> Response:
    return json_response(await state.engine.threads.where(await state.engine.threads.find(thread)))


@router.get(
    "/threads/{thread}/continuity", gives=list[ContinuityView], summary="Show the sessions of runtimes for a thread"
)
async def continuity(state: AppState, thread: str) -> Response:
    return json_response(await state.engine.threads.continuity(await state.engine.threads.find(thread)))


@router.get("/turns/{turn}/steers", gives=list[SteerView], summary="List messages on their way into a running turn")
async def steers(state: AppState, turn: str) -> Response:
    found = await state.engine.threads.steers(turn)
    return json_response([SteerView(each.id, each.author, each.text) for each in found])


@router.get("/turns/{turn}", gives=TurnView, summary="Show a turn")
async def turn(state: AppState, turn: str) -> Response:
    return json_response(await state.engine.threads.turn_with_reasons(turn))


@router.get("/turns/{turn}/prelude", gives=Prelude, summary="Show what its agent was told of the past")
async def prelude(state: AppState, turn: str) -> Response:
    return json_response(await state.engine.threads.prelude(turn))


@router.delete("/turns/{turn}", gives=TurnView, summary="Remove a queued message")
async def unqueue(state: AppState, turn: str) -> Response:
    return json_response(await state.engine.threads.unqueue(turn))
