"""Answers that are still owed, brought your own way: here each is written to a file of its own.

No daemon may run meanwhile (`clew down`), because this works on the store itself. What is in doubt is marked, and what
was taken is never given again.

    python examples/notifier.py OUTBOX
"""

import asyncio
import sys
from pathlib import Path

from clew import notify_with
from clew.plugin_api import Never, Outgoing


async def main(folder: Path) -> None:
    async def write(answer: Outgoing) -> str:
        name = f"{answer.thread}.md"
        try:
            (folder / name).write_text(f"{answer.text}\n\n{answer.note}".strip() + "\n")
        except OSError as error:
            raise Never(f"cannot write it: {error}") from error  # failed for good, and says so
        return name  # the receipt

    for done in await notify_with(write):
        print(f"{done.delivery} for {done.target}: {done.state} {done.error or ''}".strip())


asyncio.run(main(Path(sys.argv[1] if len(sys.argv) > 1 else ".")))
