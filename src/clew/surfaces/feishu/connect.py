"""Setup of Feishu or Lark: the settings to ask for, and a check of the app."""

from __future__ import annotations

from clew.config.plugin import Connected, Field
from clew.model.surface import NotSent
from clew.support.clock import SystemClock
from clew.support.errors import BadInput
from clew.surfaces.feishu.api import OpenApi, Refusal
from clew.texts.catalogue import say

SURFACE = "feishu"
FIELDS: tuple[Field, ...] = (
    Field("app_id", say("surfaces.feishu_app_id")),
    Field("app_secret", say("surfaces.feishu_app_secret"), secret=True),
    Field(
        "base_url",
        say("surfaces.feishu_base_url"),
        default="https://open.feishu.cn",
        is_asked=False,
    ),
)


async def check(values: dict[str, str]) -> Connected:
    """Check the app and return its name. Raises BadInput with what to do."""
    app_id, secret = values["app_id"].strip(), values["app_secret"].strip()
    if not app_id.startswith("cli_"):
        raise BadInput(say("surfaces.feishu_not_an_app"))
    api = OpenApi(app_id, secret, values["base_url"], SystemClock())
    try:
        bot = (await api.call("GET", "/open-apis/bot/v3/info")).get("bot")
        await api.endpoint()
    except Refusal as refusal:
        raise BadInput(say("surfaces.feishu_add_bot", reply=refusal.words)) from None
    except NotSent as error:
        raise BadInput(say("surfaces.check_given", reason=error.reason)) from None
    finally:
        await api.close()
    name = str(bot.get("app_name") or "") if isinstance(bot, dict) else ""
    return Connected(
        name or say("surfaces.feishu_your_app"),
        say("surfaces.feishu_next", name=name or say("surfaces.feishu_your_app")),
    )
