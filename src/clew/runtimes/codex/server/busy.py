"""Whether a kept app-server works on something: exit code 0 if it does, 3 if not. Its keeper asks, while no
daemon is there.

    python -m clew.runtimes.codex.server.busy SOCKET

A turn that stands at a gate does not count: without a daemon nobody can answer it.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from clew.config.settings import CodexConfig
from clew.process import keeper
from clew.runtimes.codex.server.binary import Binary
from clew.runtimes.codex.server.connection import Connection
from clew.runtimes.codex.server.kept_server import Visit
from clew.runtimes.jsonrpc import RpcError
from clew.runtimes.websocket import open_unix
from clew.support.clock import SystemClock
from clew.support.errors import RuntimeTrouble

PATIENCE = 20.0  # seconds


async def works(socket: Path) -> bool:
    """False also where it does not answer."""
    config = CodexConfig(start_timeout=PATIENCE, request_timeout=PATIENCE)
    connection = Connection(config, SystemClock(), Binary("codex", ""))
    try:
        async with asyncio.timeout(PATIENCE):
            connection.use(Visit(await open_unix(socket, connection.feed, PATIENCE)))
            await connection.initialize()
            return any(thread.status.is_working for thread in await connection.loaded())
    except (OSError, TimeoutError, RuntimeTrouble, RpcError):
        return False
    finally:
        await connection.leave()


if __name__ == "__main__":
    sys.exit(0 if asyncio.run(works(Path(sys.argv[1]))) else keeper.IDLE)
