"""Feishu and Lark, through their open platform: a long connection in, posts and cards out.

How to set it up: docs/how-to/surfaces/feishu.md.

`settings` has the settings, `connect` the dialogue of `clew connect`; `connection` is the long connection and `frames`
its format, `api` the HTTP calls; `places` has the addresses of conversations, `content` and `events` parse what
arrives, `names` looks up people, `markup` converts Markdown; `receiving` commits before it acknowledges, and `surface`
puts it all together.
"""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import TYPE_CHECKING

from clew.config.plugin import Connecting, Plugin
from clew.support.errors import ClewError, ConfigError
from clew.surfaces.feishu.settings import FeishuConfig
from clew.texts.catalogue import say

if TYPE_CHECKING:
    from clew.support.clock import Clock
    from clew.support.home import Home
    from clew.surfaces.feishu.surface import FeishuSurface


def make(config: FeishuConfig, clock: Clock, home: Home) -> FeishuSurface | None:
    """Return the surface; None if no app is configured."""
    if config.app_id is None:
        return None
    secret = config.app_secret or os.environ.get(config.app_secret_env or "", "").strip()
    if not secret:
        raise ConfigError(say("surfaces.feishu_no_secret"))
    if find_spec("websockets") is None:
        raise ClewError(say("surfaces.feishu_no_websockets"))
    from clew.surfaces.feishu.surface import FeishuSurface

    return FeishuSurface(config, secret, clock, home.files)


def connecting() -> Connecting:
    from clew.surfaces.feishu import connect

    return connect


PLUGIN = Plugin(make=make, settings=FeishuConfig, connecting=connecting)
