"""The servers of a daemon: on its Unix socket, and on TCP where there is a port. The second one can also be opened
later, for the page: nothing is restarted for that, and no turn is cut."""

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
from clew.server.dependencies import AppState
from clew.server.listen import binding
from clew.server.listen.connections import Room, most
from clew.server.page import forward
from clew.server.routing.functions import Router


class HttpServers:
    def __init__(self, door: AppState, unix: socket.socket, routers: Callable[[], Sequence[Router]]) -> None:
        self._door = door
        self._routers = routers
        self._servers = [binding.Server(unix_app(door), unix)]
        self._group: asyncio.TaskGroup | None = None
        self._opened = ExitStack()

    async def open(self, http: HttpConfig) -> None:
        """Listen on TCP, as `add` says; from the end of this call on."""
        self.add(http)
        await self.listening()

    def add(self, http: HttpConfig) -> None:
        """A listener as the settings say, where they have a port. Raises why that cannot be."""
        listener = self._opened.enter_context(binding.tcp(http.host, http.port, http.token))
        address = binding.address(listener)
        if listener is None or address is None:
            return
        door, token = self._door, Token(self._door.home.token, http.token)
        door.about = replace(door.about, http=address)
        door.settings = dataclasses.replace(door.settings, http=http)
        door.logins = Logins(token, address)
        forward.remove(door.home)  # links of an earlier daemon
        app = tcp_app(door, token, binding.names(listener, http.host), self._routers(), door.logins)
        self._serve(binding.Server(app, listener, Room(most())))

    def _serve(self, server: binding.Server) -> None:
        self._servers.append(server)
        if self._group is not None:
            self._group.create_task(server.run(), name="http")

    def begin(self, group: asyncio.TaskGroup) -> None:
        self._group = group
        for server in self._servers:
            group.create_task(server.run(), name="http")

    async def listening(self) -> None:
        for server in self._servers:
            await server.listening.wait()

    def refuse(self) -> None:
        """No new connections; those that are open go on."""
        for server in self._servers:
            server.refuse()

    def end(self) -> None:
        for server in self._servers:
            server.end()

    def close(self) -> None:
        self._opened.close()
