"""The daemon itself: health, status, metrics, shutdown, verification and delivery on request."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta
from msgspec.structs import replace
from starlette.responses import PlainTextResponse, Response, StreamingResponse

from clew.config import settings
from clew.model.events.accounts import LimitView
from clew.model.gate_views import Verdict
from clew.model.runtime import ModelInfo
from clew.model.views import DamagedRow, Notified, StatusView
from clew.process import kept_programs, lock
from clew.server.dependencies import AppState, json_response
from clew.server.routing import schemas
from clew.server.routing.functions import Router
from clew.support.coded import Text, coded_in, plain
from clew.support.errors import ClewError
from clew.texts.catalogue import say

if TYPE_CHECKING:
    from clew.server.metrics import Measurements

router = Router(tag="daemon")

LINES = "application/x-ndjson"


@router.get("/healthz", gives=schemas.Ready, summary="Check whether the daemon is ready")
async def healthz(state: AppState) -> Response:
    """Status 200, or 503 with the reasons. It needs no token, so it reveals nothing about threads, files or people."""
    reasons = [reason async for reason in _reasons(state)]
    texts = {f"reasons.{place}": reason.coded for place, reason in enumerate(reasons)}
    return json_response(schemas.Ready(not reasons, list(reasons), texts), 503 if reasons else 200)


_STATES = {"starting": "daemon.is_starting", "stopping": "daemon.is_stopping", "restarting": "daemon.is_restarting"}


async def _reasons(state: AppState) -> AsyncIterator[Text]:
    if why := state.stop_reason or state.not_ready_reason:
        yield say(_STATES.get(why, "daemon.is_stopping"))
    if not await state.engine.status.can_read_store():
        yield say("daemon.store_unreadable")
    if not state.engine.status.can_write_store():
        yield say("daemon.store_unwritable")


@router.get("/api/status", gives=StatusView, summary="Show the state of the daemon, its runtimes and surfaces")
async def status(state: AppState) -> Response:
    outdated = await asyncio.to_thread(_outdated, state)
    view = StatusView(
        daemon=replace(state.about, supervised=not lock.is_free(state.home.supervisor_lock), outdated=outdated),
        runtimes=await state.engine.status.runtimes(),
        surfaces=await state.engine.status.surfaces_with_failures(),
        fates=await state.engine.status.fates(),
        gates=await state.engine.gates.count(),
        damaged=await state.engine.repair.known(),
    )
    return json_response(view)


@router.get("/api/limits", gives=list[LimitView], summary="List the usage limits of agents' accounts")
async def limits(
    state: AppState, ask: Annotated[bool, Meta(description="ask those that can tell, once a minute at most")] = False
) -> Response:
    """As the agents reported them last."""
    return json_response(await state.engine.status.limits(ask=ask))


@router.get("/api/runtimes/{runtime}/models", gives=list[ModelInfo], summary="List the models that a runtime offers")
async def models(state: AppState, runtime: str) -> Response:
    return json_response(await state.engine.status.models(runtime))


def _outdated(state: AppState) -> bool:
    try:
        return settings.load(state.home.config) != state.settings
    except ClewError:
        return True


@router.get("/metrics", summary="Metrics for Prometheus")
async def metrics(state: AppState) -> Response:
    from clew.server import metrics as prometheus  # few daemons are measured

    figures = prometheus.metrics(await _measure(state))
    return PlainTextResponse(prometheus.render(figures), media_type=prometheus.MEDIA_TYPE)


async def _measure(state: AppState) -> Measurements:
    from clew.server.metrics import Measurements

    counts = await state.engine.status.counts()
    found = counts.open
    now = time.time() * 1000
    children = await asyncio.to_thread(kept_programs.children, state.home, state.engine.status.store_id)
    return Measurements(
        fates=await state.engine.status.fates(),
        turns=found.turns,
        pending=found.pending,
        oldest_delivery=max(0.0, (now - found.oldest_delivery) / 1000) if found.oldest_delivery else 0.0,
        failed_deliveries=found.failed,
        gates=found.gates,
        oldest_gate=max(0.0, (now - found.oldest_gate) / 1000) if found.oldest_gate else 0.0,
        children=len(children),
        store_bytes=state.home.database.stat().st_size,
        newest_event=counts.newest_event,
        since=state.about.since / 1000,
        latency=state.engine.deliveries.latency,
        watchers=state.engine.live.watchers,
        furthest_behind=state.engine.live.furthest_behind,
    )


@router.post("/api/shutdown", status=202, summary="Stop the daemon")
async def shutdown(state: AppState, body: schemas.Shutdown) -> Response:
    state.stop(body.grace, body.restart)
    return json_response(state.about, 202)


@router.post("/api/verify", gives=Verdict, summary="Verify the history of threads: one line of JSON each")
async def verify(state: AppState, body: schemas.Verify) -> Response:
    thread = await state.engine.threads.find(body.thread) if body.thread else None
    return StreamingResponse(_verdicts(state, thread), media_type=LINES)


@router.post("/api/notify", gives=list[Notified], summary="Try all pending deliveries once, now")
async def notify(state: AppState, body: schemas.Notify) -> Response:
    return json_response(await state.engine.deliveries.notify(dry_run=body.dry_run, retry_failed=body.retry_failed))


@router.get("/api/repair", gives=list[DamagedRow], summary="List the rows of the database that cannot be read")
async def damaged_rows(state: AppState) -> Response:
    return json_response(await state.engine.repair.find())


@router.post("/api/repair", gives=list[DamagedRow], summary="Set aside the rows of the database that cannot be read")
async def repair(state: AppState) -> Response:
    """They are copied to the table `set_aside`, with what belongs to them, and removed. Nodes of the history stay, and
    rows that a newer clew may have written."""
    return json_response(await state.engine.repair.apply())


async def _verdicts(state: AppState, thread: str | None) -> AsyncIterator[bytes]:
    """An error is sent as a line: the HTTP status was sent already."""
    try:
        async for verdict in state.engine.threads.verify(thread):
            yield msgspec.json.encode(verdict, enc_hook=plain) + b"\n"
    except ClewError as error:
        told = {"code": error.code, "message": error.message, "texts": coded_in(message=error.words)}
        yield msgspec.json.encode({"error": told}) + b"\n"
