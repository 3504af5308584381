"""The fake of Feishu, checked with Feishu's own library. The library is large and needs older packages than ours, so
`./check --all` installs it in a separate folder, and it runs as a separate program."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.surfaces.fakes.process import PATIENCE
from tests.surfaces.feishu.apps import ALONE, ANN, App, words

PROGRAM = Path(__file__).with_name("lark_program.py")
LIBRARY = Path(sys.prefix, "lark")
CARD = {"schema": "2.0", "config": {"update_multi": True}}


class Lines:
    """What the program prints."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def next(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        async with asyncio.timeout(2 * PATIENCE):  # importing it alone takes up to ten seconds
            line = await self._process.stdout.readline()
        assert line, "the program has ended"
        told: dict[str, Any] = json.loads(line)
        return told


@asynccontextmanager
async def program(app: App) -> AsyncIterator[Lines]:
    assert (LIBRARY / "lark_oapi").is_dir(), "lark-oapi is not installed: `./check --all` does that, and runs this test"
    given = [sys.executable, str(PROGRAM), app.base_url, app.id, app.secret, ALONE]
    environ = {**os.environ, "PYTHONPATH": str(LIBRARY), "PYTHONWARNINGS": "ignore"}
    process = await asyncio.create_subprocess_exec(*given, stdout=asyncio.subprocess.PIPE, env=environ)
    try:
        yield Lines(process)
    finally:
        process.kill()
        await process.wait()


@pytest.mark.heavy
async def test_an_independent_client_takes_the_fake_for_feishu(app: App) -> None:
    async with program(app) as lines:
        told = await lines.next()
        assert told["sent"] == told["again"] and told["thread"].startswith("omt_")
        board = (await lines.next())["patched"]
        assert (await lines.next())["file"] == "some bytes"
        card = (await lines.next())["streamed"]
        shown = {message["message_id"]: words(message) for message in await app.shown(6)}
        assert (shown[told["sent"]], shown[board], shown[card]) == ("hello", "b", "over")
        assert [message["msg_type"] for message in await app.shown()].count("image") == 1

        await app.connected()
        said = await app.say("how are you?")
        heard = {"heard": "how are you?", "by": ANN, "chat": ALONE, "id": said["message_id"]}
        assert await lines.next() == heard
        assert (await app.answer(said["event"]))["code"] == 200
        key = {"tag": "button", "text": {"content": "Yes"}, "behaviors": [{"type": "callback", "value": {"says": "y"}}]}
        await app.do("show", message=board, content={**CARD, "body": {"elements": [key]}})
        assert (await app.press(board, "Yes"))["toast"]["content"] == "noted"
        assert await lines.next() == {"pressed": "y", "on": board}
