"""The environment variables that matter to a daemon's Codex. A daemon keeps its environment until `clew restart`, while
the shell may have changed. The two are compared by hashes, because some values are keys and must not leave their
process."""

from __future__ import annotations

import hashlib
import os
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from clew.runtimes.codex.settings import CodexConfig
from clew.support.errors import RuntimeTrouble

FOLDER = "CODEX_HOME"
PROGRAM = "the Codex program"
KEYS = ("OPENAI_API_KEY", "CODEX_API_KEY")


def marks(settings: CodexConfig, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return a hash of each value by name, also of unset variables."""
    folder = _folder(settings, environ)
    keys = {name: environ.get(name, "") for name in (*KEYS, *_named_keys(folder))}
    found = {FOLDER: str(folder), PROGRAM: _program(settings), **keys}
    return {name: hashlib.sha256(f"{name}={value}".encode()).hexdigest()[:12] for name, value in found.items()}


def _folder(settings: CodexConfig, environ: Mapping[str, str]) -> Path:
    return Path(settings.home or environ.get(FOLDER) or "~/.codex").expanduser()


def _program(settings: CodexConfig) -> str:
    from clew.runtimes.codex.server.binary import locate

    try:
        return locate(settings)
    except RuntimeTrouble:
        return ""


def _named_keys(folder: Path) -> Iterator[str]:
    """Yield the variables that Codex's own config names for keys."""
    try:
        data: dict[str, Any] = tomllib.loads((folder / "config.toml").read_text(encoding="utf-8"))
        providers = data.get("model_providers", {}).values()
        yield from (each["env_key"] for each in providers if isinstance(each.get("env_key"), str))
    except (OSError, ValueError, AttributeError):
        return  # Codex itself reports a bad config
