"""The settings of Feishu: `[surfaces.feishu]`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from clew.config.rules import Address, Secret, Shape, Variable
from clew.support.coded import worded

FeishuChat = Annotated[
    str,
    Shape(
        r"oc_[A-Za-z0-9_-]+(?:/omt_[A-Za-z0-9_-]+)?",
        worded("surfaces.feishu_chat", "a chat such as oc_…, for a thread with /omt_… behind it"),
    ),
]


@dataclass(frozen=True, slots=True)
class FeishuConfig:
    """Your app on Feishu or Lark. Without an `app_id` this surface is off."""

    app_id: str | None = None  # The app's id, such as `cli_a1b2c3d4e5f6`.
    app_secret: Secret | None = None  # The app's secret.
    app_secret_env: Variable | None = None  # Or the environment variable that holds it. `app_secret` wins.
    allow: tuple[str, ...] = ()  # Who may write: open_ids, such as `["ou_7d8a6e6df7621556ce0d21922b676706"]`.
    home: FeishuChat | None = None  # The chat that `--notify feishu` means: `CHAT` or `CHAT/THREAD`.
    base_url: Address = "https://open.feishu.cn"  # The platform. For Lark: `https://open.larksuite.com`.

    @property
    def is_on(self) -> bool:
        return self.app_id is not None
