"""The steps of an update: stop, back up, update, start; and back to the former version if the new one is not ready.

After the new version is on the disk this process still runs the old one. So it imports nothing more until it has ended
or gone back: everything is imported above, and the new version is started as a program of its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from msgspec import Struct

from clew.cli.commands.update.installs import Found, Install, Say
from clew.cli.commands.update.tools import LIMIT, ToolFailed
from clew.process import kept_programs, lock, scan
from clew.process.start import is_answering, start_lock
from clew.process.stop import stop_daemon, would_end_us
from clew.store.migrate import version
from clew.store.sqlite.driver import connect
from clew.store.sqlite.file import clear, copy, sync
from clew.support.errors import ClewError, Refused
from clew.support.home import Home
from clew.texts.catalogue import say

__all__ = ["Updated", "kept_programs", "scan", "update"]  # the two are used by `stop_daemon`


class Updated(Struct, frozen=True):
    backup: str | None  # the copy of the database from before the update


def update(home: Home, install: Install, found: Found, grace: float, tell: Say) -> Updated:
    """Update, or raise why not: then the former version runs again, with the database as it was."""
    check_holder(home)
    install.prepare(tell)
    was_up = is_answering(home)
    home.prepare()
    with start_lock(home, tell):
        stop_daemon(home, grace, tell)
        backup = back_up(home, tell)
        try:
            install.update(found, tell)
        except (ClewError, KeyboardInterrupt) as error:
            _put_code_back(install, found, backup, error, tell)
            failed: BaseException | None = error
        else:
            failed = None
    if failed is not None:
        _restart(home, install, was_up, tell)
        raise failed
    tell(say("update.starting", version=found.to))
    try:
        _start(home, install)
    except (ClewError, KeyboardInterrupt) as error:
        why = str(error) if isinstance(error, ClewError) else "Ctrl-C."
        raise _go_back(home, install, found, backup, why, was_up, tell) from error
    install.forget()
    if not was_up:
        _stop_by(install)
    return Updated(str(backup) if backup else None)


def check_holder(home: Home) -> None:
    """Raise Refused if the daemon cannot be stopped and started again from here."""
    if would_end_us(home, restart=False):
        raise Refused(say("update.inside_agent"))
    holder = None if lock.is_free(home.lock) else lock.read(home.lock)
    if holder is not None and holder.foreground:
        raise Refused(say("update.foreground"))


def back_up(home: Home, tell: Say) -> Path | None:
    """Copy the database; the daemon is stopped. A second update replaces the copy."""
    if not home.database.exists():
        return None
    target = home.root / f"{home.database.name}.before-update"
    half = home.root / f"{home.database.name}.before-update.half"
    tell(say("update.backing_up", path=str(target)))
    clear(half)
    with closing(connect(home.database, read_only=True).raw) as raw:
        copy(raw, half)
    half.replace(target)
    sync(home.root)
    return target


def _go_back(
    home: Home, install: Install, found: Found, backup: Path | None, why: str, was_up: bool, tell: Say
) -> ClewError:
    """Put the former version back, with its database, and start it. Returns the error to raise."""
    why = say("update.not_ready", why=why if why.endswith(".") else f"{why}.")
    tell(say("update.going_back", version=found.now))
    try:
        install.go_back()
        with start_lock(home, tell):
            stop_daemon(home, 0.0, tell)
            kept = _restore(home, backup)
        _restart(home, install, was_up, tell)
    except (ClewError, OSError) as error:
        return ToolFailed(say("update.stuck", why=why, version=found.now, error=f"{error}.", backup=str(backup or "–")))
    if kept is None:
        return ToolFailed(say("update.put_back", why=why, version=found.now))
    return ToolFailed(say("update.put_back_kept", why=why, version=found.now, path=str(kept)))


def _put_code_back(install: Install, found: Found, backup: Path | None, error: BaseException, tell: Say) -> None:
    """The installer itself failed, perhaps half way; no new version has run, so the database is untouched."""
    tell(say("update.going_back", version=found.now))
    try:
        install.go_back()
    except (ClewError, OSError) as second:
        why = str(error) or "Ctrl-C."
        words = say("update.stuck", why=why, version=found.now, error=f"{second}.", backup=str(backup or "–"))
        raise ToolFailed(words) from second


def _restore(home: Home, backup: Path | None) -> Path | None:
    """Put the backup in place if the new version has changed the tables: the former one could not read them. What it
    wrote is kept; returns its path. Otherwise the database stays, with all that was said meanwhile."""
    if backup is None or not home.database.exists() or _schema(home.database) == _schema(backup):
        return None
    kept = home.root / f"{home.database.name}.after-failed-update"
    fresh = home.root / f"{home.database.name}.restored"
    for path in (kept, fresh):
        clear(path)
    for source, target in ((home.database, kept), (backup, fresh)):
        with closing(connect(source, read_only=True).raw) as raw:
            copy(raw, target)
    clear(home.database)
    fresh.rename(home.database)
    sync(home.root)
    return kept


def _schema(database: Path) -> int:
    connection = connect(database, read_only=True)
    with closing(connection.raw):
        return version(connection)


def _restart(home: Home, install: Install, was_up: bool, tell: Say) -> None:
    if was_up:
        _start(home, install)


def _start(home: Home, install: Install) -> None:
    """Start the version that is on the disk now: it migrates the database. Raises if it is not ready."""
    _clew(install, "up")


def _stop_by(install: Install) -> None:
    _clew(install, "down")


def _clew(install: Install, command: str) -> None:
    """Its progress goes to stderr, where ours goes too; its errors are kept for the message."""
    environ = {name: value for name, value in os.environ.items() if name != "CLEW_CALLED_AS"}
    try:
        done = subprocess.run(
            [str(install.launcher), command],
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            timeout=LIMIT,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ToolFailed(f"`clew {command}`: {error}.") from error
    lines = done.stderr.strip().splitlines()
    if done.returncode:
        raise ToolFailed(lines[-1].removeprefix("clew: ") if lines else f"`clew {command}`: {done.returncode}.")
    print(*lines, sep="\n", file=sys.stderr, flush=True)
