"""The settings of one webhook: `[surfaces.webhook.NAME]`."""

from __future__ import annotations

from dataclasses import dataclass

from clew.config.rules import Address, Place, Secret, Timeout


@dataclass(frozen=True, slots=True)
class WebhookConfig:
    """A program that talks to clew by HTTP: one table for each."""

    secret: Secret  # Signs what clew sends, and checks what it receives.
    # Where answers are sent. Not set: it only receives. Only its host is ever shown or logged.
    url: Address | None = None
    runtime: str | None = None  # The agent of threads that begin here. Not set: `threads.runtime`.
    workspace: Place | None = None  # The folder of threads that begin here. Not set: `threads.workspace`.
    timeout: Timeout = 30.0  # Seconds that the receiver may take to accept an answer.
