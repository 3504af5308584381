"""The command line and the environment of Claude. Pure.

Whatever the policy, Claude asks before it uses any tool: the rule `ask: ["*"]` of our command line goes before the
person's own allow rules and those of the project, and before their mode. What is then allowed without a person,
clew decides, by its own rules and policy. So its deny and ask rules hold, and nothing is written into the person's
settings.
"""

from __future__ import annotations

import json
from pathlib import Path

from msgspec import Struct

from clew.model.runtime import Seat
from clew.runtimes.claude.program import trust
from clew.runtimes.claude.program.folder_rules import FolderRules
from clew.runtimes.claude.settings import ClaudeConfig

_TALK = (
    *("-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"),
    *("--include-partial-messages", "--replay-user-messages", "--permission-prompt-tool", "stdio"),
)

_ENVIRONMENT = {
    "CLAUDECODE": "",  # it would say that it runs inside of another Claude
    "CLAUDE_CODE_ENTRYPOINT": "sdk-cli",
    "CLAUDE_CODE_SDK_READS_SESSION_STATE": "1",  # says when it works, also on what nobody asked for
    "CLAUDE_BASH_MAINTAIN_PROJECT_WORKING_DIR": "1",  # each command runs in the folder that its card shows
    "DISABLE_AUTOUPDATER": "1",
}


class Begin(Struct, frozen=True):
    """How a session begins: as a new one, resumed, or as a copy of another."""

    session: str
    is_known: bool = False  # resume it
    source: str | None = None  # copy this one
    at: str | None = None  # up to this message of it


def command_line(path: str, begin: Begin, seat: Seat, config: ClaudeConfig) -> list[str]:
    policy = _policy(trust.restrictions(config, seat.workspace))
    project = trust.arguments(config, seat.workspace)
    return [path, *_TALK, *policy, *project, *_session(begin), *_model(seat, config)]


def tiny(path: str, config: ClaudeConfig) -> list[str]:
    """For one turn that is not kept."""
    alone = ("--setting-sources", "user", "--no-session-persistence")
    return [path, *_TALK, *_policy(FolderRules()), *alone, *_model(Seat("ping", ""), config)]


def _policy(rules: FolderRules) -> list[str]:
    """The mode is named, because the person's settings may have another. Their sandbox stays, but is no reason not to
    ask. `rules`: of the folder, which Claude does not read itself."""
    asked = {"ask": ["*", *rules.ask], **({"deny": list(rules.deny)} if rules.deny else {})}
    settings = {"permissions": asked, "sandbox": {"autoAllowBashIfSandboxed": False}}
    return ["--permission-mode", "default", "--settings", json.dumps(settings)]


def environment(config: ClaudeConfig) -> dict[str, str]:
    home = {"CLAUDE_CONFIG_DIR": str(Path(config.home).expanduser())} if config.home else {}
    return {**_ENVIRONMENT, **home}


def _session(begin: Begin) -> list[str]:
    if begin.source is not None:
        at = ["--resume-session-at", begin.at] if begin.at else []
        return ["--resume", begin.source, "--fork-session", "--session-id", begin.session, *at]
    return ["--resume" if begin.is_known else "--session-id", begin.session]


def _model(seat: Seat, config: ClaudeConfig) -> list[str]:
    named = (("--model", seat.model or config.model), ("--effort", seat.effort or config.effort))
    return [word for name, value in named if value for word in (name, value)]
