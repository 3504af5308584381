"""Threads: start, say, look at, and change them. `{thread}` takes any unique beginning of an id."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Literal

from msgspec import Meta
from msgspec.structs import replace
from starlette.responses import Response

from clew.engine.engine import DESK
from clew.engine.services import passages
from clew.model.gates import Policy
from clew.model.messages import Accepted, Attachment, Inbound
from clew.model.threads import ThreadKind, ThreadStatus
from clew.model.views import ContinuityView, NewThread, Page, Passage, QueuedView, ThreadView, TurnView, WhereRow
from clew.server.dependencies import AppState, answer
from clew.server.files import local, uploads
from clew.server.routing import schemas
from clew.server.routing.functions import Router
from clew.store.tables import inbox
from clew.store.tables.threads import Filter

router = Router("/api", "threads")

Status = Literal["idle", "running", "suspended", "completed", "cancelled"]


@router.post("/threads", gives=Accepted, status=201, summary="Start a thread with its first message")
async def start(door: AppState, body: schemas.Start) -> Response:
    begins = door.new_id()
    async with _attached(door, body, begins) as attachments:
        accepted = await door.engine.start(
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
                sender=body.sender,
                attachments=attachments,
                id=begins,
            )
        )
        if accepted.repeated:
            uploads.forget(door.home.files / begins)
    return answer(accepted, 200 if accepted.repeated else 201)


@asynccontextmanager
async def _attached(
    door: AppState, body: schemas.Start | schemas.Say, thread: str
) -> AsyncIterator[tuple[Attachment, ...]]:
    """Files of this machine that the message names, and those that were sent for it."""
    async with (
        local.taken(body.attachments, door.home.files / body.message_id) as named,
        uploads.given(body.files, door.home.uploads, door.home.files / thread / body.message_id) as sent,
    ):
        yield (*named, *sent)


@router.get("/threads", gives=Page, summary="A page of threads, newest first")
async def threads(
    door: AppState,
    history: bool = False,
    status: Status | None = None,
    text: Annotated[str, Meta(max_length=200)] | None = None,
    workspace: Annotated[str, Meta(max_length=4096)] | None = None,
    before: Annotated[str, Meta(max_length=64)] | None = None,
    limit: Annotated[int, Meta(ge=1, le=1000)] = 50,
) -> Response:
    running = status == "running"
    stored = ThreadStatus(status) if status and not running else None
    after = await door.engine.find(before) if before else None
    return answer(await door.engine.threads(Filter(history, stored, text, workspace, after, limit, running)))


@router.get("/threads/{thread}", gives=ThreadView, summary="One thread")
async def thread(door: AppState, thread: str) -> Response:
    found = await door.engine.find(thread)
    await door.engine.look(found)
    return answer(await door.engine.thread(found))


@router.patch("/threads/{thread}", gives=ThreadView, summary="Give a thread another title")
async def retitle(door: AppState, thread: str, body: schemas.Retitle) -> Response:
    return answer(await door.engine.retitle(await door.engine.find(thread), body.title))


@router.post("/threads/{thread}/messages", gives=Accepted, summary="Say something in a thread")
async def say(door: AppState, thread: str, body: schemas.Say) -> Response:
    found = await door.engine.find(thread)
    async with _attached(door, body, found) as attachments:
        inbound = Inbound(
            conversation=DESK,
            message_id=body.message_id,
            sender=body.sender,
            text=body.text,
            attachments=attachments,
            thread=found,
            queue=body.queue,
            sees=body.sees,
            answers=body.answers,
        )
        return answer(await door.engine.say(inbound))


@router.post("/threads/{thread}/resume", gives=Accepted, summary="Pick a finished thread up again")
async def resume(door: AppState, thread: str, body: schemas.Resume) -> Response:
    found = await door.engine.find(thread)
    return answer(await door.engine.resume(found, body.supplement, body.message_id, body.sender))


@router.post("/threads/{thread}/stop", gives=TurnView, summary="Stop the running turn")
async def stop(door: AppState, thread: str) -> Response:
    return answer(await door.engine.stop(await door.engine.find(thread)))


@router.post("/threads/{thread}/done", gives=ThreadView, summary="Mark a thread as completed")
async def done(door: AppState, thread: str) -> Response:
    return answer(await door.engine.done(await door.engine.find(thread)))


@router.post("/threads/{thread}/cancel", gives=ThreadView, summary="Cancel a thread for good")
async def cancel(door: AppState, thread: str) -> Response:
    return answer(await door.engine.cancel(await door.engine.find(thread)))


@router.post("/threads/{thread}/fork", gives=ThreadView, status=201, summary="Begin a new one from it")
async def fork(door: AppState, thread: str, body: schemas.Fork) -> Response:
    return answer(await door.engine.fork(await door.engine.find(thread), body.turn, body.title), 201)


@router.get("/threads/{thread}/transcript", gives=list[Passage], summary="What was said and done")
async def transcript(
    door: AppState,
    thread: str,
    limit: Annotated[int, Meta(ge=1, le=10_000)] = 200,
    before: Annotated[str, Meta(max_length=64, description="a `node`: what came before it")] | None = None,
    brief: Annotated[bool, Meta(description="only the beginning of what commands printed")] = False,
) -> Response:
    found = await door.engine.find(thread)
    await door.engine.look(found)
    window = await door.engine.transcript(found, limit, before, brief=brief)
    return answer(await door.store.read(lambda tx: passages.told(tx, found, window)))


@router.get("/threads/{thread}/queue", gives=list[QueuedView], summary="What was said and waits for its turn")
async def queue(door: AppState, thread: str) -> Response:
    return answer(await door.engine.queue(await door.engine.find(thread)))


@router.get("/threads/{thread}/deliveries", gives=list[WhereRow], summary="The receipts of its answers")
async def deliveries(door: AppState, thread: str) -> Response:
    return answer(await door.engine.where(await door.engine.find(thread)))


@router.get("/threads/{thread}/continuity", gives=list[ContinuityView], summary="How runtimes stand to a thread")
async def continuity(door: AppState, thread: str) -> Response:
    return answer(await door.engine.continuity(await door.engine.find(thread)))


@router.get("/turns/{turn}/steers", gives=list[schemas.SteerView], summary="What is being said into a turn")
async def steers(door: AppState, turn: str) -> Response:
    rows = await door.store.read(lambda tx: inbox.open_steers(tx, turn))
    return answer([schemas.SteerView(row.message.id, row.message.author, row.message.text) for row in rows])


@router.get("/turns/{turn}", gives=TurnView, summary="One turn")
async def turn(door: AppState, turn: str) -> Response:
    found = await door.engine.turn(turn)
    items = await door.store.read(lambda tx: passages.with_reasons(tx, found.id, found.items))
    return answer(replace(found, items=items))


@router.delete("/turns/{turn}", gives=TurnView, summary="Take back what was said and has not begun to run")
async def unqueue(door: AppState, turn: str) -> Response:
    return answer(await door.engine.unqueue(turn))
