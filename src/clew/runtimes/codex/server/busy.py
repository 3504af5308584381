"""Checks whether a kept app-server is busy: exit code 0 if it is, 3 if not. Its keeper runs this while no daemon runs.

    python -m clew.runtimes.codex.server.busy SOCKET

A turn that waits at a gate does not count: without a daemon nobody can answer it.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from clew.process import keeper
from clew.runtimes.codex.server.binary import Binary
from clew.runtimes.codex.server.connection import Connection
from clew.runtimes.codex.server.kept_server import Visit
from clew.runtimes.codex.settings import CodexConfig
from clew.runtimes.jsonrpc import RpcError
from clew.runtimes.websocket import open_unix
from clew.support.clock import SystemClock
from clew.support.errors import RuntimeTrouble

TIME_LIMIT = 20.0  # seconds


async def is_busy(socket: Path) -> bool:
    """Also False if it does not answer."""
    config = CodexConfig(start_timeout=TIME_LIMIT, request_timeout=TIME_LIMIT)
    connection = Connection(config, SystemClock(), Binary("codex", ""))
    try:
        async with asyncio.timeout(TIME_LIMIT):
            connection.use(Visit(await open_unix(socket, connection.feed, connection.lost, TIME_LIMIT)))
            await connection.initialize()
            return any(thread.status.is_working for thread in await connection.loaded_threads())
    except (OSError, TimeoutError, RuntimeTrouble, RpcError):
        return False
    finally:
        await connection.leave()


if __name__ == "__main__":
    sys.exit(0 if asyncio.run(is_busy(Path(sys.argv[1]))) else keeper.IDLE)
