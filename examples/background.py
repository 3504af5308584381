"""A task in the background, whose answer is brought to a place of your choice; then its receipt.

python examples/background.py webhook:ci "fix the failing test"
"""

import asyncio
import os
import sys

from clew import Clew

RUNTIME = os.environ.get("CLEW_EXAMPLE_RUNTIME", "codex")


async def main(target: str, prompt: str) -> None:
    async with Clew() as clew:
        sent = await clew.start(prompt, runtime=RUNTIME, notify=target)
        print(f"thread {sent.thread}; its answer goes to {target}")

        # A program could end here. This one stays to see the answer arrive.
        async for event in clew.events(sent, after=0):
            if event.kind in ("delivery.sent", "delivery.failed"):
                break
        for receipt in await clew.where(sent.thread):
            print(f"{receipt.delivery}: {receipt.state}, {receipt.conversation}, message {receipt.message_id}")


words = sys.argv[1:3] if len(sys.argv) > 2 else ["local", "Say hello."]
asyncio.run(main(*words))
