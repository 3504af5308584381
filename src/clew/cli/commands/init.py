"""`clew init`: creates a config.toml. It asks few questions, each with a good default."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import click

from clew.cli.language import phrase, sentence
from clew.cli.output import Out, json_option
from clew.support.errors import BadInput, ClewError, Refused
from clew.support.home import Home


@dataclass(frozen=True, slots=True)
class Answers:
    workspace: str | None = None
    sandbox: bool = False  # the agent's sandbox works on this machine


@click.command("init", short_help="Create a config.toml.")
@click.option("--yes", is_flag=True, help="Ask nothing and use the defaults.")
@click.option("--force", is_flag=True, help="Replace an existing config.toml; a copy is kept.")
@json_option
@click.pass_obj
def init_command(out: Out, yes: bool, force: bool) -> None:
    """Create a config.toml with a comment on each setting. Without a terminal it asks nothing."""
    home = Home.find()
    if home.config.exists() and not force and not _is_first_config(home.config):
        raise Refused(sentence("cli_setup.exists", config=home.config))
    codex = _codex()
    out.say(phrase("cli_setup.codex_found", path=codex or phrase("cli_setup.not_found")))
    sandbox = codex is not None and _has_sandbox()
    works = phrase("cli_setup.works") if sandbox else phrase("cli_setup.sandbox_fails")
    out.say(phrase("cli_setup.sandbox", state=works))
    workspace = None if yes or out.as_json or not sys.stdin.isatty() else _ask_workspace()
    answers = Answers(workspace, sandbox)
    home.prepare()
    kept = _write(home.config, answers)
    after = "clew ping codex" if codex else "clew demo"
    policy = "sandbox" if sandbox else "careful"
    written = {"file": str(home.config), "kept": str(kept) if kept else None, "codex": codex, "policy": policy}
    written["next"] = after
    out.result(
        written,
        phrase("cli_setup.written", config=home.config) + (phrase("cli_setup.old_one", kept=kept) if kept else ""),
    )
    _say_next(out, codex, after)


def _say_next(out: Out, codex: str | None, after: str) -> None:
    if codex is None:
        from clew.texts.catalogue import say

        out.say(say("codex.install"))
    out.say(phrase("cli_setup.next", after=after))


def _codex() -> str | None:
    """The path of Codex; `clew ping codex` checks whether it works and is logged in."""
    from clew.runtimes.codex.server.binary import locate
    from clew.runtimes.codex.settings import CodexConfig

    try:
        return locate(CodexConfig())
    except ClewError:
        return None


def _has_sandbox() -> bool:
    import asyncio

    from clew.config.settings import Config
    from clew.daemon.first_start import has_sandbox

    return asyncio.run(has_sandbox(Config()))


def _is_first_config(path: Path) -> bool:
    """Whether nobody has changed the config that the first start wrote."""
    from clew.daemon.first_start import FIRST_CONFIG

    return path.read_bytes() == FIRST_CONFIG.encode()


def _ask_workspace() -> str | None:
    click.echo(
        phrase("cli_setup.where_to_work"),
        err=True,
    )
    asked = f"{phrase('cli_setup.folder')} [{phrase('cli_setup.clews_own')}]"
    folder: str | None = click.prompt(asked, default="", show_default=False, value_proc=_folder, err=True)
    return folder


def _folder(folder: str) -> str | None:
    if not folder:
        return None
    if not Path(folder).expanduser().is_dir():
        raise click.UsageError(sentence("cli_setup.no_folder", folder=folder))
    return folder if folder.startswith("~") else str(Path(folder).absolute())


def _write(path: Path, answers: Answers) -> Path | None:
    """Write the file; returns the copy of an older one, if there was one."""
    from clew.config import edit, settings

    text = config_text(answers)
    settings.parse(text, str(path))
    kept = _back_up(path) if path.exists() else None
    edit.write(path, text)
    return kept


def _back_up(path: Path) -> Path:
    from clew.config import edit

    try:
        old = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(sentence("cli_setup.cannot_copy", path=path)) from error
    names = (path.with_name(f"{path.name}.old{number}") for number in ("", *range(2, 1000)))
    copy = next(name for name in names if not name.exists())
    edit.write(copy, old)
    return copy


def config_text(answers: Answers) -> str:
    from clew.config.edit import quoted

    workspace = f"workspace = {quoted(answers.workspace)}" if answers.workspace else '# workspace = "~/work"'
    policy = 'policy = "sandbox"' if answers.sandbox else '# policy = "careful"'
    return TEMPLATE.format(workspace=workspace, policy=policy)


TEMPLATE = """\
# Settings of clew. What begins with `# ` and looks like a setting shows a default or an example: take the `# ` away.
# `clew config check` says whether all is right, `clew restart` makes it count. All: docs/reference/settings.md.

[threads]
# The agent that works on a thread when none is named.
runtime = "codex"
# The folder of threads that begin where there is none, as in a chat; else one of clew's own.
{workspace}
# What a thread may do without asking: "sandbox": run commands in the agent's sandbox, which can write in the folder;
# "careful": read; "trusted": change files in the folder; "read-only": read, and nothing else.
{policy}

[runtimes.codex]
# Else Codex decides.
# model = "gpt-5-codex"
# effort = "medium"
# "stdio": Codex is a child of the daemon, and its turns are cut and continued when that dies. "socket": Codex is kept
# in a process of its own and works on meanwhile; the next daemon joins it. Then it may work while nobody watches, and
# ends `keep_alive` seconds after its last work.
# transport = "stdio"
# keep_alive = 1800

[turns]
# How many turns run at once, over all threads.
# parallel = 16
# Seconds without a sign of life from the model, after which a turn is given up; 0: for ever.
# silence = 600

[log]
# "debug", "info", "warning" or "error".
# level = "info"

[http]
# The command line needs no port; webhooks do, to receive. 0: any free one.
# port = 7621

# Your bot on Telegram: docs/how-to/surfaces/telegram.md.
# [surfaces.telegram]
# token = "from @BotFather"
# allow = ["123456789"]

# Your app on Feishu or Lark: docs/how-to/surfaces/feishu.md.
# [surfaces.feishu]
# app_id = "cli_…"
# app_secret = "from the page of the app"

# A place where programs talk to clew: docs/how-to/webhook.md. The secret: openssl rand -hex 32
# [surfaces.webhook.ci]
# secret = "a long random text"
# url = "https://ci.example.org/clew"
"""
