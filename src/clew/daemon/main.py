"""The daemon: assembles all parts and runs them in one task group.

Its tasks are the engine and the two HTTP servers. If one fails, the whole daemon ends with an error; a signal or
`clew down` ends it in order: no new connections, time for running turns, end of the streams, the runtimes and their
children, the store. The process that holds the home's lock is the daemon; there is no other.
"""

from __future__ import annotations

import asyncio
import faulthandler
import json
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import msgspec

from clew.config import logs, plugins
from clew.config import settings as config_settings
from clew.daemon import holding
from clew.daemon.assemble import Parts, assemble, close_all, left_out, reattach_runtimes, take_over
from clew.daemon.first_start import write_first_config
from clew.daemon.watch import watch
from clew.engine.engine import Engine
from clew.engine.live import Live
from clew.engine.repair import RepairService
from clew.model.views import DaemonView, DamagedRow, Notified
from clew.process import descriptors, kept_programs, lock, memory, scan
from clew.server.dependencies import AppState
from clew.server.listen import binding
from clew.server.listen.servers import HttpServers
from clew.store import Store
from clew.support import private_files
from clew.support.clock import Clock, SystemClock
from clew.support.coded import coded_in, with_texts
from clew.support.errors import ClewError
from clew.support.home import Home
from clew.support.version import __version__
from clew.texts.catalogue import say

log = logging.getLogger("clew.daemon")

NAMED = 10  # the most files that a log line names
GRACE = 10.0  # seconds that running turns get at a signal
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@dataclass(slots=True)
class Stop:
    """What signals ask for, mostly to stop. A second request to stop ends the wait for running turns."""

    asked: asyncio.Event = field(default_factory=asyncio.Event)
    hurry: asyncio.Event = field(default_factory=asyncio.Event)
    look: asyncio.Event = field(default_factory=asyncio.Event)  # somebody misses the socket
    grace: float = GRACE
    reason: str = "stopping"
    restart: bool = False
    note: Callable[[], None] = lambda: None  # records for the supervisor that the daemon ends on purpose

    def ask(self, grace: float = GRACE, restart: bool = False) -> None:
        if self.asked.is_set():
            self.hurry.set()
            return
        self.note()
        self.grace, self.restart, self.reason = grace, restart, "restarting" if restart else "stopping"
        self.asked.set()

    @property
    def for_good(self) -> bool:
        """Whether no other daemon follows, as it does after a restart or a crash."""
        return self.asked.is_set() and not self.restart


@dataclass(slots=True)
class ReadyPipe:
    """Reports to the process that started the daemon that it is ready, or why not: one line of JSON in a pipe."""

    pipe: int | None = None

    def ready(self) -> None:
        self._write({"ready": True, "pid": os.getpid()})

    def failed(self, code: str, words: str) -> None:
        texts = msgspec.to_builtins(coded_in(message=words))
        self._write({"error": {"code": code, "message": words, "texts": texts}})

    def _write(self, report: object) -> None:
        if self.pipe is None:
            return
        with suppress(OSError):  # the process that started it has gone
            os.write(self.pipe, json.dumps(report).encode() + b"\n")
        os.close(self.pipe)
        self.pipe = None


async def serve(home: Home, ready: Callable[[], None], *, foreground: bool = False) -> None:
    """Run until a signal or `clew down`."""
    clock = SystemClock()
    with holding.held(home, clock, "daemon", foreground) as held, _signals(stop := Stop(note=held.note_stopping)):
        await write_first_config(home)
        settings = config_settings.load(home.config)
        with _logging(home, settings):
            log.info("clew %s starts, pid %d", __version__, os.getpid())
            if held.before and held.before.what == "daemon" and not held.before.stopping:
                log.warning("the previous daemon, pid %d, has ended without being asked to", held.before.pid)
            _make_private(home)
            async with holding.opened(home, clock, held) as store:
                await _serve(home, clock, settings, store, held, stop, ready)
            log.info("clew ends")


async def _serve(
    home: Home,
    clock: Clock,
    settings: config_settings.Config,
    store: Store,
    held: lock.HeldLock,
    stop: Stop,
    ready: Callable[[], None],
) -> None:
    holder = held.holder
    incarnation = f"{socket.gethostname()}.{holder.pid}.{holder.started}.{clock.token()[:8]}"
    async with AsyncExitStack() as stack:
        live = Live(settings.turns.longest_text)
        parts = assemble(settings, clock, home, scan.Marks(store.id, incarnation), live.announce, keeps=home)
        stack.push_async_callback(_end_parts, home, clock, store, parts, stop)
        await _end_leftovers(home, clock, store, parts)
        reattach_runtimes(parts)
        engine = build_engine(home, clock, settings, store, parts, incarnation, live)
        unix = stack.enter_context(binding.unix(home.socket))
        about = with_texts(
            DaemonView(
                pid=holder.pid,
                since=holder.since,
                version=__version__,
                home=str(home.root),
                http=None,
                supervised=False,
                recovered_at=holder.recovered_at,
                environment=parts.environment(),
                left_out=list(left_out(parts.troubles)),
            )
        )
        serving = HttpServers(
            lambda listen: AppState(engine, home, about, stop.ask, settings, listen=listen), unix, parts.routers
        )
        stack.callback(serving.close)
        serving.add(settings.http)
        watching = watch(home, held, store, serving, stop.look)
        await _tree(engine, serving, watching, stop, (held.note_ready, ready))


async def _end_leftovers(home: Home, clock: Clock, store: Store, parts: Parts) -> None:
    """End what an earlier daemon left, but not what may finish without it."""
    if not (left := await asyncio.to_thread(kept_programs.leftovers, home, store.id)):
        return
    spared = await take_over(parts, left)
    await scan.sweep(
        lambda: [each for each in kept_programs.leftovers(home, store.id) if each.mark not in spared], clock
    )


async def _end_parts(home: Home, clock: Clock, store: Store, parts: Parts, stop: Stop) -> None:
    """End the parts and all child processes. If another daemon follows, kept programs are left to it."""
    await close_all(parts, for_good=stop.for_good)
    spared = frozenset() if stop.for_good else kept_programs.marks(home)
    await scan.sweep(
        lambda: [each for each in kept_programs.children(home, store.id) if each.mark not in spared], clock
    )


def build_engine(
    home: Home, clock: Clock, settings: config_settings.Config, store: Store, parts: Parts, incarnation: str, live: Live
) -> Engine:
    return Engine(
        store=store,
        clock=clock,
        config=settings,
        incarnation=incarnation,
        runtimes=parts.runtimes,
        surfaces=parts.surfaces,
        workspace=settings.threads.workspace or _own_workspace(home),
        live=live,
        files=home.files,
        connectable=frozenset(plugins.connectable()),
        memory=lambda: memory.used(store.id),
        memory_limit=memory.limit(settings.turns.memory),
    )


async def notify_once(home: Home, *, dry_run: bool, retry_failed: bool) -> list[Notified]:
    """One pass of `clew notify` if no daemon runs: the same engine, without its tasks, under the same lock."""
    clock = SystemClock()
    with holding.held(home, clock, "notify") as held:
        settings = config_settings.load(home.config)
        async with holding.opened(home, clock, held) as store:
            incarnation = f"notify.{held.holder.pid}.{held.holder.started}"
            live = Live(settings.turns.longest_text)
            parts = assemble(settings, clock, home, scan.Marks(store.id, incarnation), live.announce)
            try:
                engine = build_engine(home, clock, settings, store, parts, incarnation, live)
                return await engine.deliveries.notify(dry_run=dry_run, retry_failed=retry_failed, alone=True)
            finally:
                await close_all(parts)


async def repair_once(home: Home, *, apply: bool) -> list[DamagedRow]:
    """`clew repair` if no daemon runs: under the same lock."""
    clock = SystemClock()
    with holding.held(home, clock, "repair") as held:
        async with holding.opened(home, clock, held) as store:
            repair = RepairService(store, clock)
            return await (repair.apply() if apply else repair.find())


def _make_private(home: Home) -> None:
    if found := private_files.make_private(home):
        names = ", ".join(str(path) for path in found[:NAMED])
        more = f" and {len(found) - NAMED} more" if len(found) > NAMED else ""
        log.warning("other users could read clew's files; their rights were removed: %s%s", names, more)


def _own_workspace(home: Home) -> str:
    """The workspace for threads without a folder. By default it contains none of the person's files."""
    folder = home.root / "workspace"
    folder.mkdir(mode=0o700, exist_ok=True)
    return str(folder)


async def _tree(
    engine: Engine,
    serving: HttpServers,
    watching: Coroutine[Any, Any, None],
    stop: Stop,
    on_ready: Sequence[Callable[[], None]],
) -> None:
    recovered, door = asyncio.Event(), serving.state
    door.not_ready_reason = "starting"
    async with asyncio.TaskGroup() as tree:
        working = tree.create_task(engine.run(recovered.set), name="engine")
        serving.begin(tree)
        await _any(recovered.wait(), stop.asked.wait())
        door.not_ready_reason = None
        await serving.listening()
        log.info("ready")
        for tell in on_ready:
            tell()
        watcher = tree.create_task(watching, name="watch")
        tree.create_task(engine.repair.look())
        await stop.asked.wait()
        watcher.cancel()
        log.info("%s; running turns get %g s", stop.reason, stop.grace)
        door.not_ready_reason = stop.reason
        serving.refuse()
        await _any(engine.drain(stop.grace, restart=stop.restart), stop.hurry.wait())
        door.stop_reason = stop.reason
        engine.live.close()
        serving.end()
        working.cancel()


async def _any(*waits: Coroutine[Any, Any, object]) -> None:
    """Wait for the first of these; cancel the others."""
    tasks = [asyncio.create_task(wait) for wait in waits]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in done:
        task.result()


@contextmanager
def _logging(home: Home, settings: config_settings.Config) -> Iterator[None]:
    handler = logs.start(home.log, settings.log, settings.secrets())
    logging.captureWarnings(True)
    try:
        yield
    except Exception as error:
        log.critical("clew ends: %s", error, exc_info=not isinstance(error, ClewError))
        raise
    finally:
        logs.stop(handler)


@contextmanager
def _signals(stop: Stop) -> Iterator[None]:
    loop = asyncio.get_running_loop()
    for number in _SIGNALS:
        loop.add_signal_handler(number, stop.ask)
    loop.add_signal_handler(lock.LOOK, stop.look.set)
    try:
        yield
    finally:
        for number in (*_SIGNALS, lock.LOOK):
            loop.remove_signal_handler(number)


def run(home: Home, ready: Callable[[], None], *, foreground: bool = False) -> None:
    """Run the daemon until it ends. Raises the error that ended it, unwrapped from its exception groups."""
    descriptors.raise_limit()
    try:
        asyncio.run(serve(home, ready, foreground=foreground))
    except BaseExceptionGroup as group:
        raise _first(group) from group


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    error = group.exceptions[0]
    return _first(error) if isinstance(error, BaseExceptionGroup) else error


def _ready_fd(arguments: Sequence[str]) -> int | None:
    """The value of `--ready-fd`. It is the only option, and argparse would take a hundredth of the start."""
    if not arguments:
        return None
    if len(arguments) != 2 or arguments[0] != "--ready-fd":
        raise SystemExit("usage: clew.daemon.main [--ready-fd N]")
    return int(arguments[1])


def main() -> int:
    report = ReadyPipe(_ready_fd(sys.argv[1:]))
    faulthandler.enable()
    try:
        run(Home.find(), report.ready)
    except ClewError as error:
        report.failed(error.code, error.words)
        print(f"clew: {error.message}", file=sys.stderr)
        return error.exit
    except Exception as error:
        report.failed("error", say("daemon.cannot_start", error=f"{type(error).__name__}: {error}"))
        raise
    return 0


if __name__ == "__main__":
    sys.exit(main())
