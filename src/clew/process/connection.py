"""A connection to the daemon's Unix socket, as `http.client` uses one."""

from __future__ import annotations

import http.client

from clew.support.coded import worded
from clew.support.errors import ClewError, NotAnswering, OutOfReach
from clew.support.home import Home
from clew.support.sockets import connect


class Connection(http.client.HTTPConnection):
    """`entering`: seconds within which the daemon must accept the connection."""

    def __init__(self, home: Home, timeout: float | None, entering: float | None = None) -> None:
        super().__init__("clew", timeout=timeout)
        self._home = home
        self._entering = entering

    def connect(self) -> None:
        try:
            self.sock = connect(self._home.socket, self._entering)
        except (FileNotFoundError, ConnectionRefusedError) as error:
            raise OutOfReach(worded("process.not_running", "the daemon does not run; `clew up` starts it")) from error
        except PermissionError as error:
            raise ClewError(
                worded(
                    "process.socket_not_yours",
                    "{socket} is not yours. Set CLEW_HOME to a folder of yours.",
                    socket=f"{self._home.socket}",
                )
            ) from error
        except TimeoutError as error:
            from clew.process import hung  # rarely needed, and every command imports this module

            raise NotAnswering(hung.describe(self._home)) from error
        self.sock.settimeout(self.timeout)
