"""Binds the Unix and TCP sockets, and a uvicorn server that leaves signals and timing to the daemon."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING

import uvicorn

from clew.server.listen.connections import ConnectionLimit
from clew.support.errors import ClewError, ConfigError, StoreError
from clew.support.home import remove_socket
from clew.texts.catalogue import say

if TYPE_CHECKING:
    from starlette.types import ASGIApp

SHUTDOWN_GRACE = 2  # seconds that open requests get when the server stops
BACKLOG = 2048  # connections that wait to be accepted


class _OncePerSecond(logging.Filter):
    """Without a free descriptor, asyncio logs an error thousands of times a second. This filter keeps one per
    second."""

    prefix = "socket.accept() out of system resource"
    second = -1

    def filter(self, record: logging.LogRecord) -> bool:
        if not record.getMessage().startswith(self.prefix):
            return True
        before, self.second = self.second, int(record.created)
        return before != self.second


_ACCEPT_ERRORS = _OncePerSecond()


class PortTaken(ClewError):
    code = "port_taken"


class Server(uvicorn.Server):
    """With a `limit`, connections are limited in number and time; without one, every peer is trusted."""

    def __init__(self, app: ASGIApp, listener: socket.socket, limit: ConnectionLimit | None = None) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                loop="asyncio",
                http=limit.protocol if limit else "h11",  # type: ignore[arg-type]  # uvicorn only calls it
                backlog=limit.accept_batch if limit else BACKLOG,
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                proxy_headers=False,
                server_header=False,
                date_header=False,
                timeout_graceful_shutdown=SHUTDOWN_GRACE,
            )
        )
        logging.getLogger("uvicorn").setLevel(logging.WARNING)
        logging.getLogger("asyncio").addFilter(_ACCEPT_ERRORS)
        self._listener = listener
        self._ended = asyncio.Event()
        self.listening = asyncio.Event()

    async def run(self) -> None:  # type: ignore[override]
        await self.serve(sockets=[self._listener])

    def refuse(self) -> None:
        """Accept no new connections; open ones continue."""
        for server in self.servers:
            server.close()

    def end(self) -> None:
        self.should_exit = True
        self._ended.set()

    def capture_signals(self) -> nullcontext[None]:  # type: ignore[override]
        return nullcontext()  # the daemon handles signals

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._listener.listen(BACKLOG)  # asyncio limits the queue to `backlog`, which it also accepts at once
        self.listening.set()

    async def main_loop(self) -> None:
        """Replaces uvicorn's loop, which wakes up ten times a second for a date header that is off."""
        await self._ended.wait()


def host_names(listener: socket.socket, host: str) -> set[str]:
    """The allowed values of `Host`: every name of the address that we listen on, with the port."""
    own, port = listener.getsockname()[:2]
    known = {host, own, *(("localhost", "127.0.0.1", "[::1]") if is_loopback(own) else ())}
    return {f"[{name}]:{port}" if ":" in name and "[" not in name else f"{name}:{port}" for name in known}


def is_loopback(address: str) -> bool:
    return ip_address(address).is_loopback


def _check(listener: socket.socket, token: str | None) -> None:
    """Refuse to listen beyond this machine unless a token is set in the config."""
    own = listener.getsockname()[0]
    if is_loopback(own):
        return
    if token is None:
        raise ConfigError(say("daemon.token_not_set", address=own))
    logging.getLogger(__name__).warning("clew listens on %s, beyond this machine; put TLS in front of it", own)


@contextmanager
def unix(path: Path) -> Iterator[socket.socket]:
    """Bind a socket that only its owner can open. A stale one is replaced: the caller holds the lock of the home."""
    _remove_stale(path)
    listener = _bind_unix(path)
    try:
        yield listener
    finally:
        listener.close()
        remove_socket(path)


def identity(path: Path) -> tuple[int, int] | None:
    """Which file has this name; None: none."""
    try:
        found = path.lstat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


@contextmanager
def tcp(host: str, port: int | None, token: str | None = None) -> Iterator[socket.socket | None]:
    """Bind the TCP listener; None without a port."""
    if port is None:
        yield None
        return
    listener = _bind(host, port)
    try:
        _check(listener, token)
        yield listener
    finally:
        listener.close()


def address(listener: socket.socket | None) -> str | None:
    if listener is None:
        return None
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _bind_unix(path: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        listener.bind(str(path))
    except OSError as error:
        listener.close()
        raise StoreError(say("daemon.cannot_listen_socket", path=str(path), error=_words(error))) from error
    finally:
        os.umask(before)
    return listener


def _bind(host: str, port: int) -> socket.socket:
    try:
        family, kind, _, _, where = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        raise ClewError(say("daemon.cannot_listen_host", host=host, error=_words(error))) from error
    listener = socket.socket(family, kind)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(where)
        listener.listen()  # now: two sockets may bind with SO_REUSEADDR, but only one may listen
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise PortTaken(say("daemon.port_taken", port=port, host=host)) from error
        raise ClewError(say("daemon.cannot_listen_port", host=host, port=port, error=_words(error))) from error
    return listener


def _words(error: OSError) -> str:
    return error.strerror or str(error)


def _remove_stale(path: Path) -> None:
    with suppress(FileNotFoundError):
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise StoreError(say("daemon.not_a_socket", path=str(path)))
        path.unlink()
