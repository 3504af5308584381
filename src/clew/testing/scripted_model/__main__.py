"""`python -m clew.testing.scripted_model --port 0`: runs the model as a program, which prints its address."""

from __future__ import annotations

import argparse
import asyncio
import contextlib

from clew.testing.scripted_model import ScriptedModel


async def serve(host: str, port: int) -> None:
    async with ScriptedModel(host=host, port=port) as model:
        print(model.url, flush=True)
        await asyncio.Event().wait()


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m clew.testing.scripted_model", description=__doc__)
    options.add_argument("--host", default="127.0.0.1")
    options.add_argument("--port", type=int, default=0)
    given = options.parse_args()
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(given.host, given.port))


if __name__ == "__main__":
    main()
