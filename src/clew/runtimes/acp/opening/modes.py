"""Puts a session into a mode in which the agent asks before it acts.

clew can only decide about what an agent asks. So no thread runs in a mode that is known not to ask, except under `yolo`
if the config names that mode."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from clew.model.gates import Policy
from clew.runtimes.acp import problems, wire
from clew.runtimes.acp.agents.known import Asking, Entry
from clew.runtimes.acp.agents.settings import AcpConfig


class Change(Struct, frozen=True):
    """A request that changes how a session asks."""

    method: str
    params: dict[str, Any]


def changes(entry: Entry, entered: wire.Entered, current: str, config: AcpConfig, policy: Policy) -> Iterator[Change]:
    """What has to be sent to a session whose mode is `current`. Raises AgentRefuses if the agent would not ask."""
    asking, offered = entry.quirks.asking, _offered(entered)
    wanted = config.mode or (asking.mode if asking.mode in offered else "")
    if config.mode is not None and config.mode not in offered:
        raise problems.no_mode(entry, config.mode, offered)
    mode = wanted or current
    if (argument := _silent_argument(entry)) and policy is not Policy.YOLO:
        raise problems.silent_argument(entry, argument)
    if mode in asking.silent_modes and not (policy is Policy.YOLO and config.mode == mode):
        raise problems.does_not_ask(entry, mode, asking.mode)
    if wanted and (wanted != current or config.mode is not None):
        yield _set_mode(entered, wanted)
    yield from _options(entry, asking, entered, policy)


def _silent_argument(entry: Entry) -> str:
    """The argument of its command with which the agent does not ask; empty: there is none."""
    given = (word.partition("=")[0] for word in entry.command)
    return next((word for word in given if word in entry.quirks.asking.silent_arguments), "")


def asks(asking: Asking, entered: wire.Entered, mode: str) -> bool:
    """Whether a session is still as it was set up: in a mode in which it asks, and with the option for that."""
    id, value = asking.option or ("", "")
    option = _find_option(entered, id)
    return mode not in asking.silent_modes and (option is None or option.current_value == value)


def current(entered: wire.Entered) -> str:
    """The mode of a session that was just opened; empty: the agent does not say."""
    if entered.modes is not None:
        return entered.modes.current_mode_id
    option = _mode_option(entered)
    return option.current_value if option is not None and isinstance(option.current_value, str) else ""


def _offered(entered: wire.Entered) -> tuple[str, ...]:
    if entered.modes is not None:
        return tuple(each.id for each in entered.modes.available_modes)
    option = _mode_option(entered)
    return option.values if option is not None else ()


def _set_mode(entered: wire.Entered, mode: str) -> Change:
    option = _mode_option(entered)
    if entered.modes is None and option is not None:
        return Change("session/set_config_option", {"configId": option.id, "value": mode})
    return Change("session/set_mode", {"modeId": mode})


def _options(entry: Entry, asking: Asking, entered: wire.Entered, policy: Policy) -> Iterator[Change]:
    """Set the option with which the agent asks, if it is set otherwise."""
    if asking.option is None:
        return
    id, value = asking.option
    option = _find_option(entered, id)
    if option is None or option.current_value == value:
        return
    if value not in option.values:
        raise problems.does_not_ask(entry, f"{id} = {option.current_value}", f"{id} = {value}")
    yield Change("session/set_config_option", {"configId": id, "value": value})


def _find_option(entered: wire.Entered, id: str) -> wire.ConfigOption | None:
    return next((each for each in entered.config_options or () if each.id == id), None)


def _mode_option(entered: wire.Entered) -> wire.ConfigOption | None:
    return next((each for each in entered.config_options or () if each.category == "mode"), None)
