"""The agent of the example in docs/how-to/runtimes/writing-one.md: plays scripts, one line of JSON at a time."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from tests.runtimes.player import Player, stdin

ODD = {
    "junk": (1, b"no json\n[1, 2\n\x00\n[3]\n"),
    "unknown": (1, b'{"sings": "la"}\n'),
    "flood": (2, b"nobody wants to know this\n" * 20_000),
}


class Failed(Exception):
    """The model refused."""


class LineAgent:
    def __init__(self, holds: Path) -> None:
        self._player = Player(holds, self)
        self._past: list[str] = []
        self._asked: dict[int, asyncio.Future[bool]] = {}
        self._odd = ODD.get(os.environ.get("AGENT_IS_ODD", ""))

    async def live(self) -> None:
        reader = await stdin()
        playing: asyncio.Task[None] | None = None
        while line := await reader.readline():
            note = json.loads(line)
            if "say" in note:
                self._past += [note["past"]] if note["past"] else []
                playing = asyncio.create_task(self._play(note["say"]))
            elif "answer" in note:
                self._asked[note["answer"]].set_result(note["yes"])
            elif playing is not None and not playing.done():
                playing.cancel()

    async def _play(self, prompt: str) -> None:
        self._past.append(f"said: {prompt}")
        try:
            await self._player.play(prompt)
        except asyncio.CancelledError:
            self._send(end="interrupted")
        except Failed as failed:
            self._send(end="failed", why=str(failed))
        else:
            self._send(end="completed")

    async def say(self, text: str) -> None:
        self._send(text=text)

    async def ask(self, command: str) -> bool:
        number = len(self._asked) + 1
        self._asked[number] = asyncio.get_running_loop().create_future()
        self._send(ask=number, command=command)
        is_yes = await self._asked[number]
        self._send(took=number)
        return is_yes

    async def other(self, name: str, rest: str) -> None:
        if name == "recall":
            self._send(text=" / ".join(self._past))
        elif name == "cut":
            self._send(again=True)
        elif name == "status":
            raise Failed(f"The model said {rest}.")

    def _send(self, **note: Any) -> None:
        if self._odd:
            os.write(*self._odd)
        print(json.dumps(note), flush=True)


if __name__ == "__main__":
    asyncio.run(LineAgent(Path(sys.argv[1])).live())
