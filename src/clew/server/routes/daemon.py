"""The daemon itself: how it is, how it ends, and the passes that a person may ask for."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

import msgspec
from msgspec.structs import replace
from starlette.responses import PlainTextResponse, Response, StreamingResponse

from clew.config import settings
from clew.model.gate_views import Verdict
from clew.model.views import Notified, SurfaceView
from clew.process import kept_programs
from clew.process.start import is_supervised
from clew.server.dependencies import AppState, answer
from clew.server.metrics import MEDIA_TYPE, Measured, render
from clew.server.metrics import metrics as figures
from clew.server.routing import schemas
from clew.server.routing.functions import Router
from clew.store import audit
from clew.store import metrics as store_metrics
from clew.store.tables import log
from clew.support.errors import ClewError

router = Router(tag="daemon")

LINES = "application/x-ndjson"


@router.get("/healthz", gives=schemas.Ready, summary="Whether it is ready, or why not")
async def healthz(door: AppState) -> Response:
    """Status 200, or 503 with the reasons. It needs no token, so it says nothing about threads, files or people."""
    reasons = [reason async for reason in _reasons(door)]
    return answer(schemas.Ready(not reasons, reasons), 503 if reasons else 200)


async def _reasons(door: AppState) -> AsyncIterator[str]:
    if door.not_ready_reason or door.stop_reason:
        yield f"clew is {door.stop_reason or door.not_ready_reason}"
    try:
        await door.store.read(log.newest)
    except ClewError:
        yield "the database cannot be read; `clew doctor` tells more"
    if door.store.trouble:
        yield "the database does not take what is written; `clew doctor` tells more"


@router.get("/api/status", gives=schemas.StatusView, summary="How the daemon and all around it are")
async def status(door: AppState) -> Response:
    troubles = await door.store.read(audit.delivery_troubles)
    outdated = await asyncio.to_thread(_outdated, door)
    view = schemas.StatusView(
        daemon=replace(door.about, supervised=is_supervised(door.home), outdated=outdated),
        runtimes=await door.engine.runtimes(),
        surfaces=[_troubled(each, troubles) for each in await door.engine.surfaces()],
        fates=await door.engine.fates(),
        gates=await door.engine.waiting.count(),
    )
    return answer(view)


def _troubled(view: SurfaceView, troubles: list[audit.DeliveryTrouble]) -> SurfaceView:
    """A surface may be up while what is sent there is refused."""
    here = [each for each in troubles if each.surface == view.name]
    if not here:
        return view
    waiting = sum(each.count for each in here if not each.for_good)
    failed = sum(each.count for each in here if each.for_good)
    counts = [f"{waiting} waiting to be tried again"] if waiting else []
    counts += [f"{failed} not delivered (`clew notify --retry-failed` tries again)"] if failed else []
    told = view.reason or f"the last error: {here[-1].error}"
    return replace(view, reason=f"{', '.join(counts)}; {told}")


def _outdated(door: AppState) -> bool:
    try:
        return settings.load(door.home.config) != door.settings
    except ClewError:
        return True


@router.get("/metrics", summary="Figures for Prometheus")
async def metrics(door: AppState) -> Response:
    return PlainTextResponse(render(figures(await _measured(door))), media_type=MEDIA_TYPE)


async def _measured(door: AppState) -> Measured:
    found, (newest, _) = await door.store.read(lambda tx: (store_metrics.count_open(tx), log.newest(tx)))
    now = time.time() * 1000
    children = await asyncio.to_thread(kept_programs.children, door.home, door.store.id)
    return Measured(
        fates=await door.engine.fates(),
        turns=found.turns,
        pending=found.pending,
        oldest_delivery=max(0.0, (now - found.oldest_delivery) / 1000) if found.oldest_delivery else 0.0,
        failed_deliveries=found.failed,
        gates=found.gates,
        oldest_gate=max(0.0, (now - found.oldest_gate) / 1000) if found.oldest_gate else 0.0,
        children=len(children),
        store_bytes=door.home.database.stat().st_size,
        newest_event=newest,
        since=door.about.since / 1000,
        latency=door.engine.latency,
        watchers=door.engine.live.watchers,
        furthest_behind=door.engine.live.furthest_behind,
    )


@router.post("/api/shutdown", status=202, summary="Stop the daemon")
async def shutdown(door: AppState, body: schemas.Shutdown) -> Response:
    door.stop(body.grace, body.restart)
    return answer(door.about, 202)


@router.post("/api/verify", gives=Verdict, summary="Check history: one line of JSON per thread")
async def verify(door: AppState, body: schemas.Verify) -> Response:
    thread = await door.engine.find(body.thread) if body.thread else None
    return StreamingResponse(_verdicts(door, thread), media_type=LINES)


@router.post("/api/notify", gives=list[Notified], summary="One pass over answers that are still owed")
async def notify(door: AppState, body: schemas.Notify) -> Response:
    return answer(await door.engine.notify(dry_run=body.dry_run, retry_failed=body.retry_failed))


async def _verdicts(door: AppState, thread: str | None) -> AsyncIterator[bytes]:
    """An error in the middle is a line too: the status has gone out by then."""
    try:
        async for verdict in door.engine.verify(thread):
            yield msgspec.json.encode(verdict) + b"\n"
    except ClewError as error:
        yield msgspec.json.encode({"error": {"code": error.code, "message": error.message}}) + b"\n"
