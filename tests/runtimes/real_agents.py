"""The real ACP agents that can be installed, each in a home of its own, which uses our scripted model."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from clew.model.runtime import Runtime
from clew.process.scan import Marks
from clew.runtimes import acp
from clew.runtimes.acp.agents.settings import AcpConfig
from clew.support.clock import Clock
from clew.testing.runtime_stage import Oddity
from clew.testing.scripted_model import ScriptedModel, write_claude_home, write_codex_home, write_hermes_home
from clew.testing.scripted_model.request import next_part
from clew.testing.scripted_model.script import Approve, Shell, Step, parse
from tests.runtimes import installed
from tests.runtimes.stages import ModelStage

Env = Mapping[str, str]


class Npm(NamedTuple):
    package: str
    program: str  # below `node_modules`

    def path(self) -> str:
        return str(installed.npm(self.package) / self.program.format(system=f"{sys.platform}-{installed.ARCH}"))


class Pypi(NamedTuple):
    package: str
    program: str
    oldest: str  # Python
    newest: str

    def path(self) -> str:
        return str(installed.pypi(self.package, self.oldest, self.newest) / self.program)


class Agent(NamedTuple):
    source: Npm | Pypi
    home: Callable[[Path, str], Env]  # writes the agent's own settings for a model, and returns its environment
    arguments: tuple[str, ...] = ()
    settings: Mapping[str, Any] = {}
    empty: str = "!text"  # scripts: the model answers nothing, and refuses at the usage limit of an account;
    limit: str = ""  # only if the agent says that by itself
    fails: frozenset[str] = frozenset()  # checks, as docs/how-to/runtimes/acp.md says why


def _xdg(home: Path) -> dict[str, str]:
    return {f"XDG_{name}_HOME": str(home / name.lower()) for name in ("CONFIG", "DATA", "CACHE", "STATE")}


def _hermes(home: Path, url: str) -> Env:
    return {"HERMES_HOME": str(write_hermes_home(home, url))}


def _opencode(home: Path, url: str) -> Env:
    options = {"baseURL": url, "apiKey": "none"}
    provider = {"npm": "@ai-sdk/openai-compatible", "name": "scripted", "options": options, "models": {"one": {}}}
    asks = {"bash": "ask", "edit": "ask", "external_directory": "allow"}
    settings = {"provider": {"scripted": provider}, "model": "scripted/one", "permission": asks, "autoupdate": False}
    (home / "opencode.json").write_text(json.dumps(settings))
    quiet = ("AUTOUPDATE", "LSP_DOWNLOAD", "MODELS_FETCH")
    return {"OPENCODE_CONFIG": f"{home}/opencode.json", **{f"OPENCODE_DISABLE_{each}": "1" for each in quiet}}


def _gemini(home: Path, url: str) -> Env:
    (home / ".gemini").mkdir()
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "general": {"disableAutoUpdate": True},
        "privacy": {"usageStatisticsEnabled": False},
        "model": {"name": "gemini-2.5-pro"},
    }
    (home / ".gemini" / "settings.json").write_text(json.dumps(settings))
    own = {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": url.removesuffix("/v1")}
    return {**own, "GEMINI_CLI_TRUST_WORKSPACE": "true"}


def _claude(home: Path, url: str) -> Env:
    # With a value IS_SANDBOX would start Claude without questions, which Claude refuses to root.
    own = write_claude_home(home / "claude", url.removesuffix("/v1"))
    return {"CLAUDE_CONFIG_DIR": str(own), "IS_SANDBOX": ""}


def _codex(home: Path, url: str) -> Env:
    return {"CODEX_HOME": str(write_codex_home(home / "codex", url))}


def _qwen(home: Path, url: str) -> Env:
    return {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "none", "OPENAI_MODEL": "scripted"}


def _copilot(home: Path, url: str) -> Env:
    return {"COPILOT_PROVIDER_BASE_URL": url, "COPILOT_MODEL": "scripted", "COPILOT_OFFLINE": "true"}


def _goose(home: Path, url: str) -> Env:
    keys = {"OPENAI_HOST": url.removesuffix("/v1"), "OPENAI_API_KEY": "none", "GOOSE_DISABLE_KEYRING": "1"}
    return {"GOOSE_PROVIDER": "openai", "GOOSE_MODEL": "scripted", **keys}


def _kimi(home: Path, url: str) -> Env:
    (home / "kimi").mkdir()
    (home / "kimi" / "config.toml").write_text(_KIMI.format(url=url))
    return {"KIMI_CODE_HOME": str(home / "kimi")}


def _nanocoder(home: Path, url: str) -> Env:
    provider = {"name": "scripted", "baseUrl": url, "apiKey": "none", "models": ["scripted"]}
    for folder in (home / "config" / "nanocoder", home / ".config" / "nanocoder"):
        folder.mkdir(parents=True)
        (folder / "agents.config.json").write_text(json.dumps({"nanocoder": {"providers": [provider]}}))
    return {}


def _vibe(home: Path, url: str) -> Env:
    (home / "vibe").mkdir()
    (home / "vibe" / "config.toml").write_text(_VIBE.format(url=url))
    return {"VIBE_HOME": str(home / "vibe"), "SCRIPTED_KEY": "none"}


def _fast_agent(home: Path, url: str) -> Env:
    return {"GENERIC_BASE_URL": url, "GENERIC_API_KEY": "none"}


def _droid(home: Path, url: str) -> Env:
    (home / ".factory").mkdir()
    model = {"model_display_name": "scripted", "model": "scripted", "base_url": url, "api_key": "none"}
    settings = {"custom_models": [{**model, "provider": "generic-chat-completion-api", "max_tokens": 4000}]}
    (home / ".factory" / "config.json").write_text(json.dumps(settings))
    return {"FACTORY_API_KEY": "none"}


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
_VIBE = """\
active_model = "scripted"
enable_update_checks = false
enable_telemetry = false

[[providers]]
name = "scripted"
api_base = "{url}"
api_key_env_var = "SCRIPTED_KEY"

[[models]]
name = "scripted"
provider = "scripted"
alias = "scripted"
"""

KILLED = frozenset({"a_killed_agent_leaves_the_turn_in_doubt"})
USED_UP = "!error insufficient_quota"
AGENTS: Mapping[str, Agent] = {
    "hermes": Agent(Pypi("hermes-agent[acp]==0.19.0", "hermes", "3.11", "3.13"), _hermes, ("acp",)),
    "opencode": Agent(Npm("opencode-ai@1.18.33", "opencode-{system}/bin/opencode"), _opencode, ("acp",)),
    "gemini": Agent(Npm("@google/gemini-cli@0.61.0", ".bin/gemini"), _gemini, ("--acp",)),
    "claude-acp": Agent(
        Npm("@agentclientprotocol/claude-agent-acp@0.100.0", ".bin/claude-agent-acp"), _claude, limit="!status 429"
    ),
    "codex-acp": Agent(Npm("@agentclientprotocol/codex-acp@2.6.0", ".bin/codex-acp"), _codex, limit=USED_UP),
    "qwen": Agent(
        Npm("@qwen-code/qwen-code@0.24.4", ".bin/qwen"),
        _qwen,
        ("--acp",),
        {"auth": "openai"},
        fails=KILLED,
    ),
    "copilot": Agent(
        Npm("@github/copilot@1.0.102", ".bin/copilot"), _copilot, ("--acp",), empty=""
    ),  # it asks its model again
    # The program beside it only starts this one.
    "goose": Agent(
        Npm("@aaif/goose@0.20.1", "@aaif/goose-binary-{system}/bin/goose"),
        _goose,
        ("acp",),
        fails=KILLED | {"an_answer_after_the_agent_was_killed_has_no_effect"},
    ),
    "kimi": Agent(
        Npm("@moonshot-ai/kimi-code@2.1.0", ".bin/kimi"),
        _kimi,
        ("acp",),
        empty="",
        fails=frozenset({"an_error_of_the_model_is_not_an_answer"}),
    ),
    "nanocoder": Agent(Npm("@nanocollective/nanocoder@1.30.0", ".bin/nanocoder"), _nanocoder, ("--acp",)),
    "vibe": Agent(Pypi("mistral-vibe==3.0.2", "vibe-acp", "3.12", "3.14"), _vibe),
    "fast-agent": Agent(
        Pypi("fast-agent-mcp==0.10.46", "fast-agent", "3.13", "3.14"),
        _fast_agent,
        ("acp", "--shell", "--model", "generic.scripted"),
    ),
    "droid": Agent(
        Npm("droid@0.215.0", ".bin/droid"), _droid, ("exec", "--output-format", "acp"), {"model": "custom:scripted-0"}
    ),
}


class RealStage(ModelStage):
    """A real agent, by the name of its ready entry. Its quirks and its mode are those of that entry."""

    deadline = 30.0

    def __init__(self, folder: Path, name: str, model: ScriptedModel) -> None:
        super().__init__(folder / "work", model)
        self.workspace.mkdir(exist_ok=True)
        self._name = name
        self.empty, self.limit = AGENTS[name].empty, AGENTS[name].limit
        if name == "codex-acp":  # inside its sandbox it does not ask
            model.on("!approve", beyond_the_sandbox)
            model.on("!both", beyond_the_sandbox)
        self._config = real_config(name, folder / "home", model.url, interrupt_timeout=self.deadline)

    def runtime(self, clock: Clock, marks: Marks, odd: Oddity | None = None) -> Runtime | None:
        return None if odd else acp.make({self._name: self._config}, clock, marks)[self._name]

    def command(self, name: str) -> str:
        return asked_about(self._name, super().command(name), self.workspace / f"gone-{name}")


def asked_about(agent: str, command: str, gone: Path) -> str:
    """Hermes asks only before commands that it considers dangerous."""
    return f"rm -rf {gone}; {command}" if agent == "hermes" else command


def real_config(name: str, home: Path, url: str, **settings: Any) -> AcpConfig:
    """The settings of a real agent in a home of its own, which uses our model."""
    home.mkdir(exist_ok=True)
    agent = AGENTS[name]
    program, path = agent.source.path(), installed.node_path()
    env = {"HOME": str(home), "PATH": path, **_xdg(home), **agent.home(home, url)}
    whole = {"start_timeout": 240, "request_timeout": 240, **agent.settings, **settings}
    return AcpConfig((program, *agent.arguments), env, **whole)


def as_toml(table: str, config: AcpConfig) -> str:
    """The settings as `[runtimes.acp.TABLE]`. A string in TOML is written as in JSON."""
    given = ((name, value) for name, value in config.env.items() if value)  # no setting is empty
    env = ", ".join(f"{json.dumps(name)} = {json.dumps(value)}" for name, value in given)
    named = {"auth": config.auth, "model": config.model}
    rest = [f"{key} = {json.dumps(value)}" for key, value in named.items() if value is not None]
    times = [f"{each} = 240" for each in ("start_timeout", "request_timeout")]
    command = f"command = {json.dumps(list(config.command))}"
    return "\n".join([f"[runtimes.acp.{table}]", command, f"env = {{ {env} }}", *rest, *times])


def beyond_the_sandbox(request: Any) -> Sequence[Step]:
    steps: list[Step] = []
    for step in parse(request.prompt):
        steps += [Shell(each, beyond=True) for each in step.commands] if isinstance(step, Approve) else [step]
    return next_part(tuple(steps), request.acts_done)
