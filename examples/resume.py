"""A finished thread is picked up again with new information, and knows its past.

python examples/resume.py "write a haiku about thread" "and now about mazes"
"""

import asyncio
import os
import sys

from clew import Clew

RUNTIME = os.environ.get("CLEW_EXAMPLE_RUNTIME", "codex")


async def main(prompt: str, supplement: str) -> None:
    async with Clew() as clew:
        sent = await clew.start(prompt, runtime=RUNTIME)
        first = await clew.wait(sent)
        print(f"first: {first.text or first.error}")

        # It is completed now. Any other day, any other program may do this, with no more than the thread's id.
        resumed = await clew.resume(sent.thread, supplement)
        second = await clew.wait(resumed)
        print(f"then: {second.text or second.error}")
        print(f"{len(await clew.read(sent.thread))} pieces of history")


words = sys.argv[1:3] if len(sys.argv) > 2 else ["Say hello.", "Say it in Chinese, too."]
asyncio.run(main(*words))
