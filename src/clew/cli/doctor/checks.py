"""The checks of `clew doctor`. A check that raises becomes a finding."""

from __future__ import annotations

import os
import platform
import shutil
import socket
import sqlite3
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from clew.cli.commands.daemon import starting_message
from clew.cli.doctor.agents import agents
from clew.cli.doctor.finding import Unanswered
from clew.cli.doctor.surfaces import own_checks, surfaces
from clew.cli.output import moment
from clew.client import requests
from clew.client.sync import Client
from clew.config import plugins
from clew.config import settings as config_settings
from clew.config.plugin import Finding
from clew.daemon.assemble import environment_of, own_runtimes
from clew.model.views import DaemonView
from clew.process import kept_programs, lock, start
from clew.store import audit
from clew.store.migrate import migrations, version
from clew.store.sqlite.driver import SqliteConnection, connect, explain
from clew.store.sqlite.file import saved_of
from clew.support import version as version_file
from clew.support.clock import SystemClock
from clew.support.errors import ClewError, NotAnswering
from clew.support.home import Home, remedy
from clew.support.version import __version__

MIN_FREE = 200 << 20  # bytes of free disk space
CLOCK_SLACK = 60_000  # milliseconds that two clocks may differ


@dataclass(frozen=True, slots=True)
class DaemonState:
    """The answer of the daemon, requested once at the start: a request to a hanging daemon takes seconds."""

    daemon: DaemonView | None = None  # its status; None if none runs or answers
    hangs: str | None = None  # why a running daemon gave no answer


Check = Callable[[Home, config_settings.Config, DaemonState], Finding]


def all_checks(home: Home) -> Iterator[Finding]:
    yield _python()
    yield _folder(home)
    settings = config_settings.Config()
    try:
        settings = config_settings.load(home.config)
        yield _config(home)
    except ClewError as error:
        yield Finding("config", False, error.message, f"fix {home.config}; the checks below use the defaults")
    state = _ask_daemon(home)
    for check in _CHECKS:
        try:
            yield check(home, settings, state)
        except ClewError as error:
            yield Finding(check.__name__.strip("_"), False, error.message)
        except Exception as error:  # a failed check is a finding too
            yield Finding(check.__name__.strip("_"), False, f"could not be checked: {type(error).__name__}: {error}")
    yield from own_checks(home, settings)
    try:
        yield from agents(settings)
    except Exception as error:  # a failed check is a finding too
        yield Finding("agents", False, f"could not be checked: {type(error).__name__}: {error}")


def _python() -> Finding:
    return Finding("python", sys.version_info >= (3, 11), f"{platform.python_version()}, {sys.executable}")


def _folder(home: Home) -> Finding:
    """Try to create a folder: permissions alone do not tell, for example in /sys."""
    is_there = home.root.exists()
    try:
        with tempfile.TemporaryDirectory(dir=_nearest_folder(home), prefix=".clew-doctor-"):
            pass
    except OSError as error:
        what = "written" if is_there else "made"
        return Finding("home", False, f"{home.root} cannot be {what}: {error.strerror}", remedy(error))
    if not is_there:
        return Finding("home", True, f"{home.root} is created at first use")
    found = home.root.stat()
    if found.st_uid == os.getuid() and stat.S_IMODE(found.st_mode) & 0o022:
        return Finding("home", False, f"{home.root} can be written by other users", f"chmod 700 {home.root}")
    return Finding("home", True, str(home.root))


def _nearest_folder(home: Home) -> Path:
    """The home folder, or its nearest existing parent."""
    return next(each for each in (home.root, *home.root.parents) if each.exists())


def _config(home: Home) -> Finding:
    """The config loads; report mistakes that do not prevent that."""
    from clew.cli.commands.config import mistakes

    if found := mistakes(home.config):
        return Finding("config", False, "; ".join(found), "clew config check says when it is right")
    return Finding("config", True, str(home.config) if home.config.exists() else "none; defaults are used")


def _store(home: Home, settings: config_settings.Config, state: DaemonState) -> Finding:
    if not home.database.exists():
        return _no_store(home)
    newest = migrations()[-1][0]
    try:
        connection = connect(home.database, read_only=True)
        try:
            found = version(connection)
        finally:
            connection.raw.close()
    except ClewError as error:
        return Finding("store", False, error.message)
    except sqlite3.Error as error:
        return Finding("store", False, explain(error, home.database).message)
    if found > newest:
        return Finding("store", False, f"{home.database} has schema {found}, this clew knows {newest}", "update clew")
    older = "" if found == newest else f"; the next start migrates it to {newest}, after a backup"
    return Finding("store", True, f"{home.database}, schema {found}{older}")


def _no_store(home: Home) -> Finding:
    if (saved := saved_of(home.database)).exists():
        return Finding("store", True, f"{home.database} was removed; the next start restores it from {saved}")
    return Finding("store", True, "none yet; it is created at first use")


def _disk(home: Home, settings: config_settings.Config, state: DaemonState) -> Finding:
    folder = _nearest_folder(home)
    total, _, free = shutil.disk_usage(folder)
    if not total:
        return Finding("disk", False, f"{folder} has no space for files", "set CLEW_HOME to a folder of yours")
    todo = None if free > MIN_FREE else "free some space"
    return Finding("disk", free > MIN_FREE, f"{free >> 20:,} MiB free at {folder}", todo)


def _clock(home: Home, settings: config_settings.Config, state: DaemonState) -> Finding:
    """Find a clock that is wrong: it must not be behind stored entries, or behind clew's own files."""
    now = SystemClock().now()
    for what, then in (("this clew", _installed_at()), ("the newest entry of the store", _newest_entry(home))):
        if now + CLOCK_SLACK < then:
            detail = f"it is {moment(now)} by the clock of this machine, but {what} is of {moment(then)}"
            return Finding("clock", False, detail, "set the clock, then clew restart; signatures and timeouts use it")
    return Finding("clock", True, f"{moment(now)}; no entry or file is newer")


def _installed_at() -> int:
    return int(Path(version_file.__file__).stat().st_mtime * 1000)


def _newest_entry(home: Home) -> int:
    """Time of the newest log entry; 0 without a readable store, which is a finding of its own."""
    if not home.database.exists():
        return 0
    try:
        with closing(connect(home.database, read_only=True).raw) as raw:
            return audit.newest_entry(SqliteConnection(raw))
    except sqlite3.Error:
        return 0


def _socket(home: Home, settings: config_settings.Config, state: DaemonState) -> Finding:
    try:
        path = home.socket
    except ClewError as error:
        return Finding("socket", False, error.message)
    if state.hangs:
        return Unanswered("socket", False, f"nothing is answered at {path}")
    if state.daemon or start.is_answering(home):
        return Finding("socket", True, f"a daemon answers at {path}")
    if words := starting_message(home):
        return Finding("socket", True, words)
    if not lock.is_free(home.lock):
        return Finding("socket", False, f"no daemon answers, but {lock.describe_holder(home.lock)}", "clew down")
    return Finding("socket", True, f"no daemon runs; {path} is free")


def _supervisor(home: Home, settings: config_settings.Config, state: DaemonState) -> Finding:
    if why := start.why_given_up(home):
        return Finding("supervisor", False, why)
    if start.is_supervised(home):
        return Finding("supervisor", True, "restarts the daemon after a crash")
    if not (state.daemon or state.hangs or start.is_answering(home)):
        return Finding("supervisor", True, "none, because no daemon runs")
    holder = lock.read(home.lock)
    if holder and holder.foreground:
        return Finding("supervisor", True, "none: the daemon runs in the foreground, under its service manager")
    return Finding("supervisor", False, "nothing would restart the daemon after a crash", "clew up starts a supervisor")


def _daemon(home: Home, settings: config_settings.Config, state: DaemonState) -> Finding:
    """Compare the daemon with this shell and config.toml: it keeps what it was started with until a restart."""
    if state.hangs:
        return Unanswered("daemon", False, state.hangs)
    daemon = state.daemon
    if daemon is None:
        return Finding("daemon", True, "none runs")
    troubles = []
    if daemon.version != __version__:
        troubles.append(f"it runs clew {daemon.version}, and this command is {__version__}")
    if daemon.outdated:
        troubles.append("it has other settings than config.toml")
    if names := _differing(daemon.environment, environment_of(own_runtimes("doctor", settings)[0])):
        troubles.append(f"it was started with another environment than that of this shell: {', '.join(names)}")
    todo = "clew restart, in a shell with the right environment" if troubles else None
    detail = "; ".join(troubles) or "has the settings of config.toml and the environment of this shell"
    return Finding("daemon", not troubles, f"pid {daemon.pid}: {detail}", todo)


def _differing(theirs: Mapping[str, str], ours: Mapping[str, str]) -> list[str]:
    return [name for name in ours if name in theirs and theirs[name] != ours[name]]


def _ask_daemon(home: Home) -> DaemonState:
    try:
        return DaemonState(Client(home, start=False, looks=True).ask(requests.status()).daemon)
    except NotAnswering as error:
        return DaemonState(hangs=error.message)
    except ClewError:
        return DaemonState()


def _port(home: Home, settings: config_settings.Config, state: DaemonState) -> Finding:
    host, port = settings.http.host, settings.http.port
    if not port:
        return Finding("port", True, "no TCP listener is configured" if port is None else "any free one")
    if state.hangs:
        return Finding("port", None, "not checked: the daemon does not answer")
    if (ours := _own_address(state)) and ours.endswith(f":{port}"):
        return Finding("port", True, f"{port} is used by clew: {ours}")
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind((host, port))
        except OSError as error:
            return Finding("port", False, f"{host}:{port}: {error.strerror}", "set another `port` under [http]")
    return Finding("port", True, f"{host}:{port} is free")


def _own_address(state: DaemonState) -> str | None:
    address: str | None = state.daemon.http if state.daemon else None
    return address


def _children(home: Home, settings: config_settings.Config, state: DaemonState) -> Finding:
    """Find processes of a daemon that is gone. An agent that is kept for the next daemon is fine."""
    holder = lock.read(home.lock)
    if holder is None or holder.store is None:
        return Finding("children", True, "none left behind")
    if left := kept_programs.leftovers(home, holder.store):
        pids = ", ".join(f"{process.pid} {process.command}" for process in left)
        return Finding("children", False, f"left by a daemon that is gone: {pids}", "clew doctor --clean ends them")
    kept = ", ".join(f"{_program(each)} {each.version}, pid {each.program.pid}" for each in kept_programs.running(home))
    if kept and lock.is_free(home.lock):
        return Finding("children", True, f"kept for the next daemon: {kept}; clew down ends it")
    found = kept_programs.children(home, holder.store)
    return Finding("children", True, f"{len(found)} at work" if found else "none left behind")


def _program(kept: kept_programs.KeptProgram) -> str:
    """The runtime that it belongs to, which begins its name."""
    return kept.name.partition("-")[0]


def _plugins(home: Home, settings: config_settings.Config, state: DaemonState) -> Finding:
    names, troubles = [], []
    for group in (plugins.RUNTIMES, plugins.SURFACES):
        factories, wrong = plugins.load(group)
        names += sorted(factories)
        troubles += [str(trouble) for trouble in wrong]
    left_out = state.daemon.left_out if state.daemon else ()
    troubles += [each for each in left_out if each not in troubles]
    if troubles:
        return Finding("plugins", False, "; ".join(troubles), "fix its settings, or update or remove its package")
    return Finding("plugins", True, ", ".join(names))


def _surfaces(home: Home, settings: config_settings.Config, state: DaemonState) -> Finding:
    return surfaces(settings)


_CHECKS: tuple[Check, ...] = (
    _store,
    _disk,
    _clock,
    _socket,
    _supervisor,
    _daemon,
    _port,
    _children,
    _plugins,
    _surfaces,
)
