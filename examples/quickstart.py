"""One task: start it, wait for its end, print the answer.

    python examples/quickstart.py "what does this repo do?"

CLEW_EXAMPLE_RUNTIME=scripted tries it without any account.
"""

import asyncio
import os
import sys

from clew import Clew

RUNTIME = os.environ.get("CLEW_EXAMPLE_RUNTIME", "codex")


async def main(prompt: str) -> None:
    async with Clew() as clew:
        sent = await clew.start(prompt, runtime=RUNTIME)
        print(f"thread {sent.thread}; it goes on even if this program ends")
        turn = await clew.wait(sent)
        print(f"{turn.state}: {turn.text or turn.error}")


asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "Say hello."))
