"""The HTTP servers of a daemon: on its Unix socket, and on TCP if a port is set. The TCP server can also be opened
while the daemon runs, for the page, without a restart."""

from __future__ import annotations

import asyncio
import dataclasses
import socket
from collections.abc import Callable, Sequence
from contextlib import ExitStack

from msgspec.structs import replace

from clew.config.settings import HttpConfig
from clew.server.app import tcp_app, unix_app
from clew.server.auth.login import Logins
from clew.server.auth.tokens import Token
from clew.server.dependencies import AppState, Listen
from clew.server.listen import binding
from clew.server.listen.connections import ConnectionLimit, max_connections
from clew.server.page import forward
from clew.server.routing.functions import Router


class HttpServers:
    def __init__(
        self, make_state: Callable[[Listen], AppState], unix: socket.socket, routers: Callable[[], Sequence[Router]]
    ) -> None:
        """`make_state` gets the function by which a route opens the TCP listener."""
        self.state = state = make_state(self.open)
        self._routers = routers
        self._unix = binding.Server(unix_app(state), unix)
        self._socket = binding.identity(state.home.socket)
        self._servers = [self._unix]
        self._group: asyncio.TaskGroup | None = None
        self._opened = ExitStack()

    async def open(self, http: HttpConfig) -> None:
        """Open the TCP listener as `add` does, and wait until it listens."""
        self.add(http)
        await self.listening()

    def add(self, http: HttpConfig) -> None:
        """Add a TCP listener if the settings have a port. Raises if it cannot be opened."""
        listener = self._opened.enter_context(binding.tcp(http.host, http.port, http.token))
        address = binding.address(listener)
        if listener is None or address is None:
            return
        state, token = self.state, Token(self.state.home.token, http.token)
        state.about = replace(state.about, http=address)
        state.settings = dataclasses.replace(state.settings, http=http)
        state.logins = Logins(token, address)
        forward.remove(state.home)  # links of an earlier daemon
        app = tcp_app(state, token, binding.host_names(listener, http.host), self._routers(), state.logins)
        self._serve(binding.Server(app, listener, ConnectionLimit(max_connections())))

    def _serve(self, server: binding.Server) -> None:
        self._servers.append(server)
        if self._group is not None:
            self._group.create_task(server.run(), name="http")

    def has_socket(self) -> bool:
        """Whether the file of the Unix socket is there, and ours."""
        return binding.identity(self.state.home.socket) == self._socket

    def reopen(self) -> None:
        """Make the Unix socket again. Open connections go on. Raises StoreError."""
        path = self.state.home.socket
        listener = self._opened.enter_context(binding.unix(path))
        self._unix.refuse()
        self._unix, self._socket = binding.Server(unix_app(self.state), listener), binding.identity(path)
        self._serve(self._unix)

    def begin(self, group: asyncio.TaskGroup) -> None:
        self._group = group
        for server in self._servers:
            group.create_task(server.run(), name="http")

    async def listening(self) -> None:
        for server in self._servers:
            await server.listening.wait()

    def refuse(self) -> None:
        """Accept no new connections; open ones continue."""
        for server in self._servers:
            server.refuse()

    def end(self) -> None:
        for server in self._servers:
            server.end()

    def close(self) -> None:
        self._opened.close()
