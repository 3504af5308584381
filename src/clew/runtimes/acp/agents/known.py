"""The ACP agents that clew knows how to start, and their quirks."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct, field

from clew.model.turns import Problem
from clew.runtimes.acp.agents import hermes


class Quirks(Struct, frozen=True):
    """How an agent differs from the protocol."""

    gate_timeout: float | None = None  # seconds after which it denies an unanswered request
    is_stuck: Callable[[str], bool] = lambda text: False  # whether this text means that the session is dead
    failure: Callable[[str], Problem | None] = lambda text: None  # the error, if this answer text is one
    refuses_unknown: bool = False  # it answers `refusal` if it does not know the session
    unusable_after_cancel: bool = False  # its session cannot be used after a stopped turn
    runs_in_workspace: bool = True  # False: it may run a command elsewhere and not say so


class Entry(Struct, frozen=True):
    name: str
    title: str
    command: tuple[str, ...]
    install: str = "Install it."
    login: str = "Run it by hand and log in there."
    env: Mapping[str, str] = field(default_factory=dict)
    quirks: Quirks = Quirks()


_HERMES = Quirks(
    gate_timeout=hermes.GATE_TIMEOUT,
    is_stuck=hermes.is_stuck,
    failure=hermes.failure,
    refuses_unknown=True,
    unusable_after_cancel=True,
    runs_in_workspace=False,
)

KNOWN: Mapping[str, Entry] = {
    entry.name: entry
    for entry in (
        Entry(
            "hermes",
            "Hermes",
            ("hermes", "acp"),
            "Install Hermes with its `acp` extra (`pipx install 'hermes-agent[acp]'`).",
            "Run `hermes setup`, or name a model in $HERMES_HOME/config.yaml.",
            quirks=_HERMES,
        ),
        Entry(
            "opencode",
            "OpenCode",
            ("opencode", "acp"),
            "Install OpenCode (`npm install -g opencode-ai`).",
            "Run `opencode auth login`.",
        ),
        Entry(
            "gemini",
            "Gemini",
            ("gemini", "--acp"),
            "Install the Gemini CLI (`npm install -g @google/gemini-cli`).",
            "Run `gemini` once and log in, or set GEMINI_API_KEY and `auth`.",
        ),
        Entry(
            "codex-acp",
            "Codex by ACP",
            ("codex-acp",),
            "Install it (`npm install -g @zed-industries/codex-acp`).",
            "Run `codex login`.",
        ),
        Entry(
            "claude-acp",
            "Claude by ACP",
            ("claude-code-acp",),
            "Install it (`npm install -g @zed-industries/claude-code-acp`).",
            "Run `claude` once and log in, or set ANTHROPIC_API_KEY.",
        ),
    )
}
