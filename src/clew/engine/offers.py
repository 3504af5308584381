"""The rule that is offered with a yes: wide enough to be of use, and no wider than one would guess."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from clew.asking import Asked, GateKind
from clew.engine.patterns import GLOB, GUARDED, covers, fits, relative, words_of
from clew.engine.reads import SAFE
from clew.engine.shell import SHELLS, asks_always, names, plain_words
from clew.seen import exactly

# A rule for these would allow more than anybody means who presses a button.
_NEVER_OFFERED = SHELLS | names(
    "rm rmdir dd mv cp ln chmod chown chgrp kill killall pkill mkfs mount umount truncate shred tee install curl wget"
    " scp sftp rsync nc ncat socat telnet ftp crontab systemctl service launchctl shutdown reboot halt poweroff"
    " iptables passwd useradd usermod visudo awk gawk mawk sed ed ex vi vim nvim emacs nano less more man gdb lldb"
    " osascript tar npx bunx pnpx uvx pipx zip unzip patch psql mysql sqlite redis-cli mongosh aws gcloud az terraform"
)
# What only reads is not asked about, unless it reads elsewhere: a rule would open every file there is.
_READERS = frozenset(name for name in SAFE if " " not in name)
_INTERPRETERS = names("python pypy node nodejs deno bun ruby perl php lua luajit Rscript julia tclsh java")
_WITH_SUBCOMMANDS = names(
    "git gh glab hg svn jj npm pnpm yarn cargo rustup make gmake just task uv pip go docker podman kubectl helm poetry"
    " pdm pipenv hatch conda mamba brew apt apt-get dotnet gradle gradlew mvn mix bundle rake composer swift flutter"
    " dart bazel nx turbo tox nox pre-commit alembic rails"
)
_GO_ON = names(
    "npm:run pnpm:run yarn:run uv:run poetry:run pdm:run pipenv:run hatch:run go:run conda:run bundle:exec"
    " docker:compose podman:compose"
)
_SUBCOMMANDS_NEVER_OFFERED = names(
    "push publish delete exec run rm rmi destroy config reset clean checkout restore rebase login logout install i"
    " upgrade uninstall remove purge prune system api drop eval x dlx shell repl filter-branch update-ref secret auth"
    " apply edit"
)
_SIMPLE = re.compile(r"[A-Za-z0-9_@%+:,./-]+")


def suggest(asked: Asked, workspace: str) -> str | None:
    """The pattern to offer for "allow … here": wide enough to be of use, and no wider than one would guess. None where
    no such pattern comes to mind."""
    if asked.unjudged:
        return None
    offer = {GateKind.COMMAND: _offer_command, GateKind.CHANGE: _offer_folder, GateKind.PERMISSION: _offer_tool}
    return offer[asked.kind](asked, workspace) if asked.kind in offer else None


def _offer_command(asked: Asked, workspace: str) -> str | None:
    words = plain_words(asked.title)
    offered = _offered(words) if words else None
    return offered if words and offered and fits(words_of(offered), words) else None


def _offered(words: Sequence[str]) -> str | None:
    program = Path(words[0]).name
    kind = program.rstrip("0123456789.") or program
    if not _is_name(words[0]) or asks_always(words) or kind in _NEVER_OFFERED or kind in _READERS:
        return None
    if kind in _INTERPRETERS:
        return _offered_script(words)
    return _offered_subcommand(words, kind) if kind in _WITH_SUBCOMMANDS else f"{words[0]} *"


def _offered_script(words: Sequence[str]) -> str | None:
    """`python x.py *` and `python -m x *`. After any other option nobody knows what comes."""
    fixed = words[:3] if "-m" in words[1:2] else words[:2]
    return f"{' '.join(fixed)} *" if len(words) >= len(fixed) > 1 and _is_name(fixed[-1]) else None


def _offered_subcommand(words: Sequence[str], program: str) -> str | None:
    if len(words) == 1:
        return words[0]
    if f"{program}:{words[1]}" in _GO_ON:
        inner = _offered_inner(words[2:])
        return f"{words[0]} {words[1]} {inner}" if inner else None
    return f"{words[0]} {words[1]} *" if _is_name(words[1]) and words[1] not in _SUBCOMMANDS_NEVER_OFFERED else None


def _offered_inner(words: Sequence[str]) -> str | None:
    """What `uv run` runs, or the subcommand of `docker compose`."""
    if not words or words[0] in _SUBCOMMANDS_NEVER_OFFERED:
        return None
    return _offered(words)


def _is_name(word: str) -> bool:
    """Something that a pattern can hold as it is, and that is no option."""
    return not word.startswith("-") and ".." not in word.split("/") and _SIMPLE.fullmatch(word) is not None


def _offer_folder(asked: Asked, workspace: str) -> str | None:
    found = [relative(path, workspace) for path in asked.paths]
    inside_ones = [path for path in found if path is not None and path != "."]
    if not inside_ones or len(inside_ones) != len(found):
        return None
    folder = os.path.commonpath([str(Path(path).parent) for path in inside_ones])
    offered = f"{folder}/**" if folder not in ("", ".") else inside_ones[0] if len(set(inside_ones)) == 1 else None
    return offered if offered and _is_offerable(offered, asked.paths, workspace) else None


def _is_offerable(pattern: str, paths: Sequence[str], workspace: str) -> bool:
    plain = pattern.removesuffix("/**")
    named = not GUARDED.isdisjoint(part.lower() for part in plain.split("/"))
    return not named and not GLOB.search(plain) and plain == exactly(plain) and covers(pattern, paths, workspace)


def _offer_tool(asked: Asked, workspace: str) -> str | None:
    return asked.title if _SIMPLE.fullmatch(asked.title) else None
