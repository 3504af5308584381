"""Stages with real ACP agents from npm, which talk to our scripted model."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from clew.model.runtime import Runtime
from clew.process.scan import Marks
from clew.runtimes import acp
from clew.runtimes.acp.agents.settings import AcpConfig
from clew.support.clock import Clock
from clew.testing.runtime_stage import Oddity
from clew.testing.scripted_model import ScriptedModel, write_claude_home, write_codex_home
from clew.testing.scripted_model.request import next_part
from clew.testing.scripted_model.script import Approve, Shell, Step, parse
from tests.runtimes import installed
from tests.runtimes.stages import ModelStage

PACKAGES = {
    "claude-acp": "@agentclientprotocol/claude-agent-acp@0.100.0",
    "codex-acp": "@agentclientprotocol/codex-acp@2.6.0",
    "qwen": "@qwen-code/qwen-code@0.24.4",
    "copilot": "@github/copilot@1.0.102",
    "goose": "@aaif/goose@0.20.1",
    "kimi": "@moonshot-ai/kimi-code@2.1.0",
    "nanocoder": "@nanocollective/nanocoder@1.30.0",
}
ARGUMENTS = {
    "claude-acp": (),
    "codex-acp": (),
    "qwen": ("--acp",),
    "copilot": ("--acp",),
    "goose": ("acp",),
    "kimi": ("acp",),
    "nanocoder": ("--acp",),
}


PROGRAMS = {"claude-acp": "claude-agent-acp"}
# Scripts in which the model answers nothing, or refuses at the usage limit of an account: only where that was tried.
EMPTY = {"codex-acp": "!text"}
LIMIT = {"codex-acp": "!error insufficient_quota"}


class RealStage(ModelStage):
    """A real agent, by the name of its ready entry. Its quirks and its mode are those of that entry."""

    deadline = 30.0

    def __init__(self, folder: Path, name: str, model: ScriptedModel) -> None:
        super().__init__(folder / "work", model)
        self.workspace.mkdir(exist_ok=True)
        self._name = name
        self.empty, self.limit = EMPTY.get(name, ""), LIMIT.get(name, "")
        if name == "codex-acp":  # inside its sandbox it does not ask
            model.on("!approve", _beyond_the_sandbox)
            model.on("!both", _beyond_the_sandbox)
        self._config = real_config(name, folder / "home", model.url, interrupt_timeout=self.deadline)

    def runtime(self, clock: Clock, marks: Marks, odd: Oddity | None = None) -> Runtime | None:
        return None if odd else acp.make({self._name: self._config}, clock, marks)[self._name]


def real_config(name: str, home: Path, url: str, **settings: Any) -> AcpConfig:
    """The settings of a real agent in a home of its own, which uses our model."""
    home.mkdir(exist_ok=True)
    env = {"HOME": str(home), "PATH": installed.node_path(), **_xdg(home), **_own(name, home, url)}
    auth = "openai" if name == "qwen" else None
    command = (program(name), *ARGUMENTS[name])
    return AcpConfig(command, env, auth=auth, start_timeout=240, request_timeout=240, **settings)


def _beyond_the_sandbox(request: Any) -> Sequence[Step]:
    steps: list[Step] = []
    for step in parse(request.prompt):
        steps += [Shell(each, beyond=True) for each in step.commands] if isinstance(step, Approve) else [step]
    return next_part(tuple(steps), request.acts_done)


def program(name: str) -> str:
    modules = installed.npm(PACKAGES[name])
    if name == "goose":  # the one beside it only starts this one
        return str(modules / "@aaif" / f"goose-binary-{sys.platform}-{installed.ARCH}" / "bin" / "goose")
    return str(modules / ".bin" / PROGRAMS.get(name, name))


def _xdg(home: Path) -> dict[str, str]:
    return {f"XDG_{name}_HOME": str(home / name.lower()) for name in ("CONFIG", "DATA", "CACHE", "STATE")}


def _own(name: str, home: Path, url: str) -> Mapping[str, str]:
    """Write the agent's own settings, and return its environment."""
    match name:
        case "claude-acp":
            # With a value it would start Claude without questions, which Claude refuses to root.
            own = {"CLAUDE_CONFIG_DIR": str(write_claude_home(home / "claude", url.removesuffix("/v1")))}
            return {**own, "IS_SANDBOX": ""}
        case "codex-acp":
            return {"CODEX_HOME": str(write_codex_home(home / "codex", url))}
        case "qwen":
            return {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "none", "OPENAI_MODEL": "scripted"}
        case "copilot":
            return {"COPILOT_PROVIDER_BASE_URL": url, "COPILOT_MODEL": "scripted", "COPILOT_OFFLINE": "true"}
        case "goose":
            host = url.removesuffix("/v1")
            keys = {"OPENAI_HOST": host, "OPENAI_API_KEY": "none", "GOOSE_DISABLE_KEYRING": "1"}
            return {"GOOSE_PROVIDER": "openai", "GOOSE_MODEL": "scripted", **keys}
        case "kimi":
            (home / "kimi").mkdir()
            (home / "kimi" / "config.toml").write_text(_KIMI.format(url=url))
            return {"KIMI_CODE_HOME": str(home / "kimi")}
        case _:
            provider = {"name": "scripted", "baseUrl": url, "apiKey": "none", "models": ["scripted"]}
            for folder in (home / "config" / "nanocoder", home / ".config" / "nanocoder"):
                folder.mkdir(parents=True)
                (folder / "agents.config.json").write_text(json.dumps({"nanocoder": {"providers": [provider]}}))
            return {}


_KIMI = """\
default_model = "scripted"

[providers.scripted]
type = "openai"
base_url = "{url}"
api_key = "none"

[models.scripted]
provider = "scripted"
model = "scripted"
max_context_size = 100000
"""
