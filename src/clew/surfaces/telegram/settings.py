"""The settings of Telegram: `[surfaces.telegram]`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from clew.config.rules import Address, Secret, Shape, Variable
from clew.support.coded import worded

TelegramChat = Annotated[
    str,
    Shape(
        r"-?[1-9][0-9]{0,18}(?:/[1-9][0-9]{0,18})?",
        worded("surfaces.telegram_chat", "the number of a chat, with /TOPIC appended for a topic"),
    ),
]


@dataclass(frozen=True, slots=True)
class TelegramConfig:
    """Your bot on Telegram. Without a token this surface is off."""

    token: Secret | None = None  # The bot's token, from @BotFather.
    token_env: Variable | None = None  # Or the environment variable that holds it. `token` wins.
    allow: tuple[str, ...] = ()  # Who may write: Telegram's numbers of people, such as `["123456789"]`.
    home: TelegramChat | None = None  # The chat that `--notify telegram` means: `CHAT` or `CHAT/TOPIC`.
    base_url: Address = "https://api.telegram.org"  # Another server that speaks the Bot API.

    @property
    def is_on(self) -> bool:
        return self.token is not None or self.token_env is not None
