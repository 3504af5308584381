"""Telegram, through its Bot API: long polling in, plain text with entities out. See docs/how-to/surfaces/telegram.md.

`settings` has the settings, `connect` the dialogue of `clew connect`, `places` the addresses of conversations,
`updates` the types of what arrives; `entities` converts Markdown, `api` calls Telegram, `receiving` is the loop that
commits before it acknowledges, and `surface` puts it all together.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from clew.config.plugin import Connecting, Plugin
from clew.surfaces.telegram.settings import TelegramConfig

if TYPE_CHECKING:
    from clew.support.clock import Clock
    from clew.support.home import Home
    from clew.surfaces.telegram.surface import TelegramSurface


def make(config: TelegramConfig, clock: Clock, home: Home) -> TelegramSurface | None:
    """Return the surface; None if no bot is configured."""
    if not config.is_on:
        return None
    from clew.surfaces.telegram.surface import TelegramSurface

    token = config.token or os.environ.get(config.token_env or "", "").strip()
    return TelegramSurface(config, token, clock, home.files)


def connecting() -> Connecting:
    from clew.surfaces.telegram import connect

    return connect


PLUGIN = Plugin(make=make, settings=TelegramConfig, connecting=connecting)
