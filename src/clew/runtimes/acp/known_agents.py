"""The agents that clew knows how to start, and what is peculiar to some of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct, field

from clew.model.turns import Problem
from clew.runtimes.acp import hermes


class Quirks(Struct, frozen=True):
    """What an agent does otherwise than the protocol says."""

    patience: float | None = None  # seconds that it waits for an answer to what it asks; then it denies by itself
    is_stuck: Callable[[str], bool] = lambda text: False  # what it said means that it did nothing, and never will
    failure: Callable[[str], Problem | None] = lambda text: None  # what it said as its answer is an error
    refuses_unknown: bool = False  # a session that it does not know ends the turn with `refusal`
    spoilt_by_cancel: bool = False  # a turn that was stopped leaves its session in pieces
    tells_folder: bool = True  # False: it may run a command in another folder than the workspace, and not say so


class Entry(Struct, frozen=True):
    name: str
    title: str
    command: tuple[str, ...]
    install: str = "Install it."
    login: str = "Run it by hand and log in there."
    env: Mapping[str, str] = field(default_factory=dict)
    quirks: Quirks = Quirks()


_HERMES = Quirks(
    patience=hermes.PATIENCE,
    is_stuck=hermes.is_stuck,
    failure=hermes.failure,
    refuses_unknown=True,
    spoilt_by_cancel=True,
    tells_folder=False,
)

READY: Mapping[str, Entry] = {
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
