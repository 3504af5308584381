"""Sets the command menu that Telegram shows beside the input field: once per start, if it differs. If that fails,
nothing else is affected."""

from __future__ import annotations

import logging

from clew.model.surface import NotSent
from clew.surfaces.telegram.api import BotApi, Refusal
from clew.texts.slash_commands import menu

log = logging.getLogger(__name__)

LANGUAGES = (None, "zh")  # for everybody, and for people whose Telegram is in Chinese


async def set_menu(api: BotApi) -> None:
    for language in LANGUAGES:
        listed = menu(chinese=language is not None)
        wanted = [{"command": name, "description": description} for name, description in listed]
        try:
            if await api.call("getMyCommands", {"language_code": language}) != wanted:
                await api.call("setMyCommands", {"commands": wanted, "language_code": language})
        except (NotSent, Refusal) as error:
            log.warning("the command menu on Telegram stays unchanged until the next start: %s", error)
            return
