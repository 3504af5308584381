"""The ACP agents that clew knows how to start, and how each differs from the protocol.

An agent is recognised by what it is, not by what its entry in the config is called: by the name that it gives itself
when it starts, else by the program of its command."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from pathlib import Path
from types import MappingProxyType

from msgspec import Struct, field
from msgspec.structs import replace

from clew.model.turns import Problem
from clew.runtimes.acp.agents import hermes, opencode, text_errors
from clew.runtimes.acp.agents.settings import Program
from clew.support.coded import Text
from clew.texts.catalogue import say

NOTHING: frozenset[str] = frozenset()
NO_ENV: Mapping[str, str] = MappingProxyType({})


class Asking(Struct, frozen=True):
    """How an agent is made to ask before it acts. clew uses the same for every policy: clew decides what is allowed, so
    that rules hold under `yolo` too."""

    mode: str = ""  # its mode in which it asks
    silent_modes: Set[str] = NOTHING  # its modes in which it is known to act without asking
    option: tuple[str, str] | None = None  # a config option, and its value with which it asks
    env: Mapping[str, str] = NO_ENV  # with which its program asks; it outweighs the person's own settings
    silent_arguments: Set[str] = NOTHING  # of its command, with which it is known to act without asking


class Quirks(Struct, frozen=True):
    """How an agent differs from the protocol."""

    gate_timeout: float | None = None  # seconds after which it denies an unanswered request
    is_stuck: Callable[[str], bool] = lambda text: False  # whether this text means that the session is dead
    failure: Callable[[str], Problem | None] = lambda text: None  # the error, if this answer text is one
    refuses_unknown: bool = False  # it answers `refusal` if it does not know the session
    unusable_after_cancel: bool = False  # after a stopped turn its session is stuck, or does the stopped work again
    unusable_after_failure: bool = False  # it sends a message that its model refused again, before the next one
    runs_in_workspace: bool = True  # False: it may run a command elsewhere and not say so
    edit_tools: Set[str] = NOTHING  # its own tools that edit a file, if it names them beside their arguments
    program: Program = Program.FOLDER  # who shares a process, if the config does not say
    takes_terminals: bool = True  # False: clew runs no command for it, so it runs all commands itself
    shell: tuple[str, ...] = ()  # with which it has clew run a command line
    arguments_as_text: bool = False  # it announces a call with its arguments as JSON in a text
    confirms: Set[str] = NOTHING  # the options yes and no of a request that does not say which call it is about
    untyped_commands: bool = False  # it asks about its shell with another kind than `execute`
    asking: Asking = Asking()
    checks_login: bool = False  # it begins a session only if it is logged in
    leaves_at: bool = False  # it was tried, and does not read the file of an `@path` in a message


class Entry(Struct, frozen=True):
    name: str
    title: str
    command: tuple[str, ...]
    install: Text = say("acp.install")
    login: Text = say("acp.log_in")
    env: Mapping[str, str] = field(default_factory=dict)
    quirks: Quirks = Quirks()
    calls_itself: str = ""  # the name that it gives when it starts
    former_programs: Set[str] = NOTHING


def _npm(package: str) -> Text:
    return say("acp.install_npm", package=package)


def _run(command: str) -> Text:
    return say("acp.run", command=command)


_ENTRIES = (
    Entry(
        "hermes",
        "Hermes",
        ("hermes", "acp"),
        say("acp.install_hermes"),
        say("acp.log_in_hermes"),
        quirks=Quirks(
            gate_timeout=hermes.GATE_TIMEOUT,
            is_stuck=hermes.is_stuck,
            failure=text_errors.hermes,
            refuses_unknown=True,
            unusable_after_cancel=True,
            runs_in_workspace=False,
            edit_tools=hermes.EDIT_TOOLS,
            program=Program.SHARED,
            asking=Asking("default", frozenset({"accept_edits", "dont_ask"})),
        ),
        calls_itself="hermes-agent",
    ),
    Entry(
        "opencode",
        "OpenCode",
        ("opencode", "acp"),
        say("acp.install_opencode"),
        _run("opencode auth login"),
        quirks=Quirks(program=Program.SHARED, asking=Asking(opencode.MODE, env=opencode.ASKS), leaves_at=True),
        calls_itself="OpenCode",
    ),
    Entry(
        "gemini",
        "Gemini",
        ("gemini", "--acp"),
        say("acp.install_gemini"),
        say("acp.log_in_gemini"),
        quirks=Quirks(asking=Asking("default", frozenset({"autoEdit", "yolo"})), checks_login=True),
        calls_itself="gemini-cli",
    ),
    Entry(
        "codex-acp",
        "Codex by ACP",
        ("codex-acp",),
        _npm("@agentclientprotocol/codex-acp"),
        _run("codex login"),
        quirks=Quirks(
            failure=text_errors.as_json,
            program=Program.SHARED,
            asking=Asking("read-only", frozenset({"agent", "agent-full-access", "auto", "full-access"})),
            checks_login=True,
            leaves_at=True,
        ),
        calls_itself="@agentclientprotocol/codex-acp",
    ),
    Entry(
        "claude-acp",
        "Claude by ACP",
        ("claude-agent-acp",),
        _npm("@agentclientprotocol/claude-agent-acp"),
        say("acp.log_in_claude"),
        {"CLAUDE_CODE_MAX_RETRIES": "7"},  # some 80 s; by itself it tries for more than three minutes
        quirks=Quirks(
            program=Program.SHARED,
            asking=Asking("default", frozenset({"auto", "acceptEdits", "dontAsk", "bypassPermissions"})),
        ),
        calls_itself="@agentclientprotocol/claude-agent-acp",
        former_programs=frozenset({"claude-code-acp"}),
    ),
    Entry(
        "qwen",
        "Qwen Code",
        ("qwen", "--acp"),
        _npm("@qwen-code/qwen-code"),
        say("acp.log_in_qwen"),
        quirks=Quirks(
            unusable_after_cancel=True,  # it puts a stopped message before the next one
            asking=Asking("default", frozenset({"auto", "auto-edit", "yolo"})),
            checks_login=True,
            leaves_at=True,
        ),
        calls_itself="qwen-code",
    ),
    Entry(
        "copilot",
        "GitHub Copilot",
        ("copilot", "--acp"),
        _npm("@github/copilot"),
        _run("copilot login"),
        quirks=Quirks(
            failure=text_errors.copilot,
            asking=Asking(
                "https://agentclientprotocol.com/protocol/session-modes#agent",
                frozenset({"https://agentclientprotocol.com/protocol/session-modes#autopilot"}),
                ("allow_all", "off"),
            ),
            checks_login=True,
            leaves_at=True,
        ),
        calls_itself="Copilot",
    ),
    Entry(
        "goose",
        "Goose",
        ("goose", "acp"),
        _npm("@aaif/goose"),
        _run("goose configure"),
        quirks=Quirks(
            failure=text_errors.goose,
            program=Program.THREAD,
            unusable_after_cancel=True,  # it puts a stopped message before the next one
            unusable_after_failure=True,
            takes_terminals=False,
            untyped_commands=True,
            asking=Asking("approve", frozenset({"auto", "smart_approve"})),
            leaves_at=True,
        ),
        calls_itself="goose",
    ),
    Entry(
        "kimi",
        "Kimi Code",
        ("kimi", "acp"),
        _npm("@moonshot-ai/kimi-code"),
        _run("kimi login"),
        quirks=Quirks(
            takes_terminals=False,
            untyped_commands=True,
            arguments_as_text=True,
            asking=Asking("default", frozenset({"auto", "yolo"})),
            checks_login=True,
            leaves_at=True,
        ),
        calls_itself="Kimi Code CLI",
    ),
    Entry(
        "vibe",
        "Mistral Vibe",
        ("vibe-acp",),
        say("acp.install_pip", package="mistral-vibe"),
        _run("vibe --setup"),
        quirks=Quirks(asking=Asking("ask", frozenset({"accept-edits", "auto-approve"})), checks_login=True),
        calls_itself="@mistralai/mistral-vibe",
    ),
    Entry(
        "nanocoder",
        "Nanocoder",
        ("nanocoder", "--acp"),
        _npm("@nanocollective/nanocoder"),
        quirks=Quirks(
            unusable_after_cancel=True,  # a call that was stopped at a question lacks its result, so its model refuses
            asking=Asking("normal", frozenset({"auto-accept", "yolo"})),
        ),
        calls_itself="nanocoder",
    ),
    Entry(
        "fast-agent",
        "fast-agent",
        ("fast-agent", "acp", "--shell"),
        say("acp.install_pip", package="fast-agent-mcp"),
        quirks=Quirks(
            # It asks about the commands that clew runs, and not about its own.
            shell=("/bin/sh", "-lc"),
            asking=Asking(silent_arguments=frozenset({"--no-permissions"})),
        ),
        calls_itself="fast-agent-acp",
    ),
    Entry(
        "openhands",
        "OpenHands",
        ("openhands", "acp"),
        say("acp.install_pip", package="openhands"),
        quirks=Quirks(
            confirms=frozenset({"accept", "reject"}),
            asking=Asking(
                "always-ask",
                frozenset({"always-approve", "llm-approve"}),
                silent_arguments=frozenset({"--always-approve", "--yolo", "--llm-approve"}),
            ),
            checks_login=True,
        ),
        calls_itself="OpenHands CLI ACP Agent",
    ),
    Entry(
        "droid",
        "Droid",
        ("droid", "exec", "--output-format", "acp"),
        _npm("droid"),
        quirks=Quirks(
            program=Program.THREAD,
            # Commands that its model calls harmless run without a question, but clew runs them and asks.
            asking=Asking(
                "normal",
                frozenset({"auto-low", "auto-medium", "auto-high"}),
                silent_arguments=frozenset({"--auto", "--skip-permissions-unsafe"}),
            ),
        ),
        calls_itself="@factory/cli",
    ),
)

KNOWN: Mapping[str, Entry] = {entry.name: entry for entry in _ENTRIES}


def of_program(command: tuple[str, ...]) -> Entry | None:
    """The known agent that this command starts, by its program or, for `npx` and the like, by the name of a package."""
    names = [{_name(word), word.rpartition("@")[0], _name(word.rpartition("@")[0])} for word in command]
    for each in names:
        for entry in _ENTRIES:
            if each & {entry.command[0], entry.calls_itself, *entry.former_programs}:
                return entry
    return None


def _name(word: str) -> str:
    return Path(word).name


def starts_alike(one: Quirks, other: Quirks) -> bool:
    """Whether a program with these quirks is started, and greeted, as one with those."""
    return (one.program, one.takes_terminals, one.asking.env) == (
        other.program,
        other.takes_terminals,
        other.asking.env,
    )


def recognised(entry: Entry, calls_itself: str) -> Entry:
    """The entry with the quirks of the agent that gave this name. An unknown name changes nothing."""
    found = next((each for each in _ENTRIES if each.calls_itself.lower() == calls_itself.lower()), None)
    return entry if found is None else replace(entry, quirks=found.quirks)
