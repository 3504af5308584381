"""Text as it is written, and what is done on the way. It goes on by itself if the daemon is restarted meanwhile.

python examples/stream.py "explain this repo in ten sentences"
"""

import asyncio
import os
import sys

from clew import Clew

RUNTIME = os.environ.get("CLEW_EXAMPLE_RUNTIME", "codex")


async def main(prompt: str) -> None:
    shown = ""
    async with Clew() as clew:
        sent = await clew.start(prompt, runtime=RUNTIME)
        async for event in clew.events(sent, after=0):
            match event.kind:
                case "text":
                    print(event.data["text"], end="", flush=True)
                    shown += event.data["text"]
                case "activity" if event.data["phase"] == "done":
                    print(f"\n[{event.data['activity']}: {event.data['title']}]")
                case "turn.ended":
                    break

        # An agent may begin its text anew, or be done before we look: what counts is the turn.
        turn = await clew.wait(sent)
        if not shown.endswith(turn.text):
            print(turn.text, end="")
        print(f"\n{turn.state}")


asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "Say hello."))
