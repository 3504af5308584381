"""The ACP agents that clew knows how to start, and their quirks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set

from msgspec import Struct, field

from clew.model.turns import Problem
from clew.runtimes.acp.agents import hermes
from clew.texts.catalogue import say


class Quirks(Struct, frozen=True):
    """How an agent differs from the protocol."""

    gate_timeout: float | None = None  # seconds after which it denies an unanswered request
    is_stuck: Callable[[str], bool] = lambda text: False  # whether this text means that the session is dead
    failure: Callable[[str], Problem | None] = lambda text: None  # the error, if this answer text is one
    refuses_unknown: bool = False  # it answers `refusal` if it does not know the session
    unusable_after_cancel: bool = False  # its session cannot be used after a stopped turn
    runs_in_workspace: bool = True  # False: it may run a command elsewhere and not say so
    edit_tools: Set[str] = frozenset()  # its own tools that edit a file, if it names them beside their arguments


class Entry(Struct, frozen=True):
    name: str
    title: str
    command: tuple[str, ...]
    install: str = say("acp.install")
    login: str = say("acp.log_in")
    env: Mapping[str, str] = field(default_factory=dict)
    quirks: Quirks = Quirks()


_HERMES = Quirks(
    gate_timeout=hermes.GATE_TIMEOUT,
    is_stuck=hermes.is_stuck,
    failure=hermes.failure,
    refuses_unknown=True,
    unusable_after_cancel=True,
    runs_in_workspace=False,
    edit_tools=hermes.EDIT_TOOLS,
)

KNOWN: Mapping[str, Entry] = {
    entry.name: entry
    for entry in (
        Entry(
            "hermes",
            "Hermes",
            ("hermes", "acp"),
            say("acp.install_hermes"),
            say("acp.log_in_hermes"),
            quirks=_HERMES,
        ),
        Entry(
            "opencode",
            "OpenCode",
            ("opencode", "acp"),
            say("acp.install_opencode"),
            say("acp.run", command="opencode auth login"),
        ),
        Entry(
            "gemini",
            "Gemini",
            ("gemini", "--acp"),
            say("acp.install_gemini"),
            say("acp.log_in_gemini"),
        ),
        Entry(
            "codex-acp",
            "Codex by ACP",
            ("codex-acp",),
            say("acp.install_npm", package="@zed-industries/codex-acp"),
            say("acp.run", command="codex login"),
        ),
        Entry(
            "claude-acp",
            "Claude by ACP",
            ("claude-code-acp",),
            say("acp.install_npm", package="@zed-industries/claude-code-acp"),
            say("acp.log_in_claude"),
        ),
    )
}
