"""The checks of `clew doctor`. A check that raises becomes a finding."""

from __future__ import annotations

import errno
import os
import platform
import shutil
import socket
import sqlite3
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from clew.cli.commands.daemon import starting_message
from clew.cli.doctor.agents import agents
from clew.cli.doctor.finding import Unanswered, all_of, not_checked
from clew.cli.doctor.surfaces import own_checks, surfaces
from clew.cli.output import moment
from clew.client import requests
from clew.client.sync import Client
from clew.config import plugins
from clew.config import settings as config_settings
from clew.config.plugin import Finding
from clew.daemon.assemble import differing, environment_of, left_out, own_runtimes
from clew.model.views import DaemonView, SurfaceView
from clew.process import kept_programs, lock, start
from clew.store import audit, damage
from clew.store.migrate import migrations, version
from clew.store.sqlite.driver import SqliteConnection, connect, explain
from clew.store.sqlite.file import saved_of
from clew.support import version as version_file
from clew.support.clock import SystemClock
from clew.support.coded import Text
from clew.support.errors import ClewError, NotAnswering
from clew.support.home import Home
from clew.support.version import __version__
from clew.texts.catalogue import restore, say

MIN_FREE = 200 << 20  # bytes of free disk space
NAMED = 5  # damaged rows that are named
CLOCK_SLACK = 60_000  # milliseconds that two clocks may differ


@dataclass(frozen=True, slots=True)
class DaemonState:
    """The answer of the daemon, requested once at the start: a request to a hanging daemon takes seconds."""

    daemon: DaemonView | None = None  # its status; None if none runs or answers
    surfaces: tuple[SurfaceView, ...] = ()  # as the daemon sees them
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
        yield Finding("config", False, error.words, say("doctor.fix_config", path=str(home.config)))
    state = _ask_daemon(home)
    for check in _CHECKS:
        try:
            yield check(home, settings, state)
        except ClewError as error:
            yield Finding(check.__name__.strip("_"), False, error.words)
        except Exception as error:  # a failed check is a finding too
            yield Finding(check.__name__.strip("_"), False, not_checked(error))
    yield from own_checks(home, settings)
    try:
        yield from agents(settings)
    except Exception as error:  # a failed check is a finding too
        yield Finding("agents", False, not_checked(error))


_REMEDIES = {errno.EROFS: "doctor.repair_disk", errno.ENOSPC: "doctor.free_or_move"}


def _python() -> Finding:
    return Finding("python", sys.version_info >= (3, 11), f"{platform.python_version()}, {sys.executable}")


def _folder(home: Home) -> Finding:
    """Try to create a folder: permissions alone do not tell, for example in /sys."""
    is_there = home.root.exists()
    try:
        with tempfile.TemporaryDirectory(dir=_nearest_folder(home), prefix=".clew-doctor-"):
            pass
    except OSError as error:
        code = "doctor.home_unwritable" if is_there else "doctor.home_unmakable"
        detail = say(code, folder=str(home.root), error=error.strerror or str(error))
        return Finding("home", False, detail, say(_REMEDIES.get(error.errno or 0, "doctor.own_home")))
    if not is_there:
        return Finding("home", True, say("doctor.home_new", folder=str(home.root)))
    found, root = home.root.stat(), str(home.root)
    if found.st_uid == os.getuid() and stat.S_IMODE(found.st_mode) & 0o022:
        return Finding("home", False, say("doctor.home_open", folder=root), say("doctor.chmod_home", folder=root))
    return Finding("home", True, root)


def _nearest_folder(home: Home) -> Path:
    """The home folder, or its nearest existing parent."""
    return next(each for each in (home.root, *home.root.parents) if each.exists())


def _config(home: Home) -> Finding:
    """The config loads; report mistakes that do not prevent that."""
    from clew.cli.commands.config import mistakes

    if found := mistakes(home.config):
        return Finding("config", False, all_of(found), say("doctor.check_config"))
    return Finding("config", True, str(home.config) if home.config.exists() else say("doctor.no_config"))


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
        return Finding("store", False, error.words)
    except sqlite3.Error as error:
        return Finding("store", False, explain(error, home.database).words)
    if found > newest:
        detail = say("doctor.store_newer", path=str(home.database), found=found, known=newest)
        return Finding("store", False, detail, say("doctor.update_clew"))
    if found == newest:
        return Finding("store", True, say("doctor.store", path=str(home.database), found=found))
    return Finding("store", True, say("doctor.store_older", path=str(home.database), found=found, known=newest))


def _rows(home: Home, settings: config_settings.Config, state: DaemonState) -> Finding:
    """Rows that cannot be read and that work may wait for. A store that cannot be opened is a finding of its own."""
    if not home.database.exists():
        return Finding("rows", True, say("doctor.no_store"))
    with closing(connect(home.database, read_only=True).raw) as raw:
        connection = SqliteConnection(raw)
        if version(connection) != migrations()[-1][0]:
            return Finding("rows", None, say("doctor.rows_not_checked"))
        bad = damage.find_live(connection)
    if not bad:
        return Finding("rows", True, say("doctor.rows"))
    told = [say("doctor.bad_row", table=each.table, key=each.key, reason=each.reason) for each in bad[:NAMED]]
    more = [say("doctor.more_rows", count=len(bad) - NAMED)] if len(bad) > NAMED else []
    return Finding("rows", False, all_of([*told, *more]), say("doctor.repair"))


def _no_store(home: Home) -> Finding:
    if (saved := saved_of(home.database)).exists():
        return Finding("store", True, say("doctor.store_removed", path=str(home.database), saved=str(saved)))
    return Finding("store", True, say("doctor.no_store"))


def _disk(home: Home, settings: config_settings.Config, state: DaemonState) -> Finding:
    folder = _nearest_folder(home)
    total, _, free = shutil.disk_usage(folder)
    if not total:
        return Finding("disk", False, say("doctor.no_disk", folder=str(folder)), say("doctor.set_home"))
    todo = None if free > MIN_FREE else say("doctor.free_space")
    return Finding("disk", free > MIN_FREE, say("doctor.disk", size=f"{free >> 20:,}", folder=str(folder)), todo)


def _clock(home: Home, settings: config_settings.Config, state: DaemonState) -> Finding:
    """Find a clock that is wrong: it must not be behind stored entries, or behind clew's own files."""
    now = SystemClock().now()
    for what, then in (("doctor.this_clew", _installed_at()), ("doctor.newest_entry", _newest_entry(home))):
        if now + CLOCK_SLACK < then:
            detail = say("doctor.clock_behind", now=moment(now), what=say(what), then=moment(then))
            return Finding("clock", False, detail, say("doctor.set_clock"))
    return Finding("clock", True, say("doctor.clock", now=moment(now)))


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
        return Finding("socket", False, error.words)
    if state.hangs:
        return Unanswered("socket", False, say("doctor.socket_silent", path=str(path)))
    if state.daemon or start.is_answering(home):
        return Finding("socket", True, say("doctor.socket_answers", path=str(path)))
    if gone := start.describe_lost_socket(home):
        return Finding("socket", False, gone)
    if words := starting_message(home):
        return Finding("socket", True, words)
    if not lock.is_free(home.lock):
        return Finding("socket", False, _held(home), say("doctor.clew_down"))
    return Finding("socket", True, say("doctor.socket_free", path=str(path)))


def _held(home: Home) -> str:
    if not (holder := lock.read(home.lock)):
        return say("doctor.socket_held_now", home=str(home.root))
    since = moment(holder.since)
    return say("doctor.socket_held", home=str(home.root), what=holder.what, pid=holder.pid, since=since)


def _supervisor(home: Home, settings: config_settings.Config, state: DaemonState) -> Finding:
    if why := start.why_given_up(home):
        return Finding("supervisor", False, why)
    if start.is_supervised(home):
        return Finding("supervisor", True, say("doctor.supervised"))
    if not (state.daemon or state.hangs or start.is_answering(home)):
        return Finding("supervisor", True, say("doctor.nothing_to_supervise"))
    holder = lock.read(home.lock)
    if holder and holder.foreground:
        return Finding("supervisor", True, say("doctor.foreground"))
    return Finding("supervisor", False, say("doctor.not_supervised"), say("doctor.clew_up"))


def _daemon(home: Home, settings: config_settings.Config, state: DaemonState) -> Finding:
    """Compare the daemon with this shell and config.toml: it keeps what it was started with until a restart."""
    if state.hangs:
        return Unanswered("daemon", False, state.hangs)
    daemon = state.daemon
    if daemon is None:
        return Finding("daemon", True, say("doctor.no_daemon"))
    troubles: list[str] = []
    if daemon.version != __version__:
        troubles.append(say("doctor.daemon_version", theirs=daemon.version, ours=__version__))
    if daemon.outdated:
        troubles.append(say("doctor.daemon_settings"))
    if names := differing(daemon.environment, environment_of(own_runtimes("doctor", settings)[0])):
        troubles.append(say("doctor.daemon_environment", names=", ".join(names)))
    todo = say("doctor.restart_here") if troubles else None
    detail = all_of(troubles) if troubles else say("doctor.daemon_same")
    return Finding("daemon", not troubles, say("doctor.daemon", pid=daemon.pid, detail=detail), todo)


def _ask_daemon(home: Home) -> DaemonState:
    try:
        status = Client(home, start=False, looks=True).ask(requests.status())
        return DaemonState(status.daemon, tuple(status.surfaces))
    except NotAnswering as error:
        return DaemonState(hangs=error.words)
    except ClewError:
        return DaemonState()


def _port(home: Home, settings: config_settings.Config, state: DaemonState) -> Finding:
    host, port = settings.http.host, settings.http.port
    if not port:
        return Finding("port", True, say("doctor.no_listener" if port is None else "doctor.any_port"))
    if state.hangs:
        return Finding("port", None, say("doctor.port_not_checked"))
    if (ours := _own_address(state)) and ours.endswith(f":{port}"):
        return Finding("port", True, say("doctor.port_ours", port=port, address=ours))
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind((host, port))
        except OSError as error:
            detail = say("doctor.port_taken", host=host, port=port, error=error.strerror or str(error))
            return Finding("port", False, detail, say("doctor.other_port"))
    return Finding("port", True, say("doctor.port_free", host=host, port=port))


def _own_address(state: DaemonState) -> str | None:
    address: str | None = state.daemon.http if state.daemon else None
    return address


def _children(home: Home, settings: config_settings.Config, state: DaemonState) -> Finding:
    """Find processes of a daemon that is gone. An agent that is kept for the next daemon is fine."""
    holder = lock.read(home.lock)
    if holder is None or holder.store is None:
        return Finding("children", True, say("doctor.none_left"))
    if left := kept_programs.leftovers(home, holder.store):
        pids = ", ".join(f"{process.pid} {process.command}" for process in left)
        return Finding("children", False, say("doctor.left_behind", processes=pids), say("doctor.clean"))
    kept = ", ".join(f"{_program(each)} {each.version}, pid {each.program.pid}" for each in kept_programs.running(home))
    if kept and lock.is_free(home.lock):
        return Finding("children", True, say("doctor.kept", processes=kept))
    found = kept_programs.children(home, holder.store)
    return Finding("children", True, say("doctor.at_work", count=len(found)) if found else say("doctor.none_left"))


def _program(kept: kept_programs.KeptProgram) -> str:
    """The runtime that it belongs to, which begins its name."""
    return kept.name.partition("-")[0]


def _plugins(home: Home, settings: config_settings.Config, state: DaemonState) -> Finding:
    names: list[str] = []
    wrong: list[plugins.PluginTrouble] = []
    for group in (plugins.RUNTIMES, plugins.SURFACES):
        factories, troubles = plugins.load(group)
        names += sorted(factories)
        wrong += troubles
    known = {(each.group, each.name) for each in wrong}
    told = [*left_out(wrong), *(each for each in _told_by(state.daemon) if _plugin(each) not in known)]
    if told:
        return Finding("plugins", False, all_of(told), say("doctor.fix_plugin"))
    return Finding("plugins", True, ", ".join(names))


def _told_by(daemon: DaemonView | None) -> list[str]:
    """What the daemon says that it could not create."""
    if daemon is None:
        return []
    codes = (daemon.texts.get(f"left_out.{place}") for place in range(len(daemon.left_out)))
    return [restore(code, words) if code else words for words, code in zip(daemon.left_out, codes, strict=True)]


def _plugin(told: str) -> tuple[object, object]:
    args = told.coded.args if isinstance(told, Text) else {}
    return args.get("group"), args.get("name")


def _surfaces(home: Home, settings: config_settings.Config, state: DaemonState) -> Finding:
    return surfaces(settings, state.surfaces)


_CHECKS: tuple[Check, ...] = (
    _store,
    _rows,
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
