"""Setup of Telegram: the settings to ask for, and a check of the token."""

from __future__ import annotations

import re

from clew.config.plugin import Connected, Field
from clew.model.surface import NotSent
from clew.support.errors import BadInput
from clew.surfaces.telegram.api import BotApi, Refusal
from clew.texts.catalogue import say

SURFACE = "telegram"
FIELDS: tuple[Field, ...] = (
    Field("token", say("surfaces.telegram_token"), secret=True),
    Field("base_url", say("surfaces.telegram_base_url"), default="https://api.telegram.org", is_asked=False),
)
_TOKEN = re.compile(r"\d{3,20}:[\w-]{20,100}")


async def check(values: dict[str, str]) -> Connected:
    """Check the token and return the bot's name. Raises BadInput with what to do."""
    token = values["token"].strip()
    if not _TOKEN.fullmatch(token):
        raise BadInput(say("surfaces.telegram_not_a_token"))
    api = BotApi(token, values["base_url"])
    try:
        me = await api.call("getMe", {})
    except Refusal as refusal:
        raise BadInput(say("surfaces.telegram_unknown_token", reply=refusal.words)) from None
    except NotSent as error:
        raise BadInput(say("surfaces.check_network", reason=error.reason)) from None
    finally:
        await api.close()
    name = str(me.get("username") or me.get("first_name") or "your_bot")
    return Connected(f"@{name}", say("surfaces.telegram_next", name=name))
