"""Finds how a session takes a model. Pure."""

from __future__ import annotations

from typing import Any

from clew.runtimes.acp import wire


def offered(entered: wire.Entered) -> tuple[str, ...]:
    """The models that the agent named when the session was opened."""
    if (option := _option(entered)) is not None:
        return option.values
    return tuple(each.model_id for each in entered.models.available_models) if entered.models else ()


def setting(entered: wire.Entered, model: str) -> tuple[str, dict[str, Any]] | None:
    """The request that sets a model: its method and its parameters; None: the agent does not offer that model."""
    if (option := _offering(entered, model)) is not None:
        return "session/set_config_option", {"configId": option.id, "value": model}
    if model in (each.model_id for each in (entered.models.available_models if entered.models else ())):
        return "session/set_model", {"modelId": model}
    return None


def _options(entered: wire.Entered) -> list[wire.ConfigOption]:
    """The options of the category, the one that is called `model` first: some agents put their provider before it."""
    found = [each for each in entered.config_options or () if each.category == "model" or each.id == "model"]
    return sorted(found, key=lambda each: each.id != "model")


def _option(entered: wire.Entered) -> wire.ConfigOption | None:
    return next(iter(_options(entered)), None)


def _offering(entered: wire.Entered, model: str) -> wire.ConfigOption | None:
    return next((each for each in _options(entered) if model in each.values), None)
