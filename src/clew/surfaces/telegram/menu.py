"""The list of commands that Telegram shows beside the field where people write: set once per start, where it is not so
already. For the eye only: if it fails, nothing else does."""

from __future__ import annotations

import logging

from clew.model.surface import NotSent
from clew.surfaces.telegram.api import BotApi, Refusal
from clew.texts.commands import MENU

log = logging.getLogger(__name__)

LANGUAGES = (None, "zh")  # what Telegram shows to everybody, and to those whose Telegram speaks Chinese


async def offer(api: BotApi) -> None:
    for language in LANGUAGES:
        wanted = [{"command": line.command, "description": line.chinese if language else line.english} for line in MENU]
        try:
            if await api.call("getMyCommands", {"language_code": language}) != wanted:
                await api.call("setMyCommands", {"commands": wanted, "language_code": language})
        except (NotSent, Refusal) as error:
            log.warning("the list of commands on Telegram stays as it is until the next start: %s", error)
            return
