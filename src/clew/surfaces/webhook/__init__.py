"""The surface for programs, one for each `[surfaces.webhook.NAME]`. See docs/how-to/webhook.md.

`settings` has the settings, `receiving` parses what arrives, `sending` posts, `surface` puts it together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from clew.config.plugin import Finding, HttpRoute, Plugin
from clew.config.rules import Name
from clew.surfaces.webhook.settings import WebhookConfig
from clew.texts.catalogue import say

if TYPE_CHECKING:
    from clew.support.clock import Clock
    from clew.surfaces.webhook.surface import WebhookSurface

Hooks = Mapping[str, WebhookConfig]


def make(config: Hooks, clock: Clock) -> WebhookSurface:
    from clew.surfaces.webhook.surface import WebhookSurface

    return WebhookSurface(config, clock)


def names(config: Hooks) -> list[str]:
    return [f"webhook:{name}" for name in sorted(config)]


def targets(config: Hooks) -> list[str]:
    return [f"webhook:{name}" for name, hook in sorted(config.items()) if hook.url]


def checks(config: Hooks, port: int | None) -> Iterator[Finding]:
    if config and port is None:
        todo = say("surfaces.webhook_send_only")
        yield Finding("webhook", True, ", ".join(sorted(config)), todo)


def routes(surface: WebhookSurface) -> list[HttpRoute]:
    return surface.routes()


PLUGIN = Plugin(
    make=make,
    settings=Mapping[Name, WebhookConfig],
    names=names,
    targets=targets,
    checks=checks,
    routes=routes,
)
