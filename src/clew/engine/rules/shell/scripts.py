"""Parses a script into the commands that are judged: each with the folders in which it may run, and with what the shell
may expand its words to. It lists folders, and does nothing else outside this process."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from clew.engine.rules.patterns import is_inside, real_path
from clew.engine.rules.read_only import judge
from clew.engine.rules.shell import globs
from clew.engine.rules.shell.lenient import word_set
from clew.engine.rules.shell.strict import Command, Word, parse_commands, word_texts
from clew.model.gates import Reason

_CHANGES_FOLDER = word_set("cd chdir pushd popd")
_MAX_FOLDERS = 4
_MAX_WILDCARD_WORDS = 30  # for each of these words folders are listed
_MAX_NAMES = 4_000  # to which all wildcards of a script expand
_NAMED = re.compile(r"[^-~+]")  # not `cd -`, which is the previous folder


class ScriptCommand(Struct, frozen=True):
    """One command of a script."""

    words: tuple[str, ...]  # as written
    folders: tuple[str, ...]  # in which it may run; empty if the runtime did not say
    expansions: tuple[tuple[str, ...], ...]  # its words as written, and as expanded in each folder
    reads_pipe: bool = False  # from the command before it

    def reason_to_ask(self, workspace: str, cache: judge.ReasonCache) -> Reason | None:
        """None if the command only reads, in whichever folder it runs. `cache`: results for other commands."""
        if not self.folders:
            return judge.NO_RULE
        reasons = (
            judge.reason_to_ask(words, each, workspace, cache) for each in self.folders for words in self.expansions
        )
        return next((reason for reason in reasons if reason is not None), None)

    def only_filters(self) -> bool:
        return all(judge.only_filters(words) for words in self.expansions)


def parse_script(script: str, folder: str | None, workspace: str) -> list[ScriptCommand] | None:
    """The commands of a script; None if it cannot be parsed with certainty."""
    found = parse_commands(script)
    if found is None:
        return None
    try:
        return _resolve_commands(found, (folder,) if folder else (), workspace)
    except (globs.Uncertain, OSError, ValueError):
        return None


def _resolve_commands(script: Sequence[Command], folders: tuple[str, ...], workspace: str) -> list[ScriptCommand]:
    commands: list[ScriptCommand] = []
    left = _MAX_NAMES
    if sum(_is_expanded_by_shell(word) for command in script for word in command.words) > _MAX_WILDCARD_WORDS:
        raise globs.Uncertain
    for command in script:
        if command.words[0].text in _CHANGES_FOLDER:
            folders = _folders_after_cd(command, folders, workspace)
        else:
            expansions = _expansions(command, folders, workspace)
            commands.append(ScriptCommand(word_texts(command), folders, expansions, command.reads_pipe))
            left -= sum(map(len, commands[-1].expansions[1:]))
        if left < 0:
            raise globs.Uncertain
    if not commands:
        raise globs.Uncertain
    return commands


def _folders_after_cd(command: Command, folders: Sequence[str], workspace: str) -> tuple[str, ...]:
    """The folders after `cd FOLDER`: the new ones and the old ones, because `cd` may fail, or affect only its own side
    of a pipe. `CDPATH` is ignored: it belongs to the person's own environment."""
    words = word_texts(command)
    is_plain = (
        len(words) == 2 and words[0] == "cd" and not _is_expanded_by_shell(command.words[1]) and _NAMED.match(words[1])
    )
    if not is_plain or ".." in words[1].split("/") or not folders:
        raise globs.Uncertain
    found = [real_path(words[1], folder) for folder in folders]
    after = dict.fromkeys((*folders, *(folder for folder in found if folder is not None)))
    if None in found or len(after) > _MAX_FOLDERS or not all(is_inside(folder, workspace) for folder in after):
        raise globs.Uncertain
    return tuple(after)


def _is_expanded_by_shell(word: Word) -> bool:
    return bool(word.wildcards) or word.revision_base is not None


def _expansions(command: Command, folders: Sequence[str], workspace: str) -> tuple[tuple[str, ...], ...]:
    if not any(map(_is_expanded_by_shell, command.words)):
        return (word_texts(command),)
    if not folders:
        raise globs.Uncertain
    expanded = (_expand_command(command, folder, workspace) for folder in folders)
    return tuple(dict.fromkeys((word_texts(command), *expanded)))


def _expand_command(command: Command, folder: str, workspace: str) -> tuple[str, ...]:
    return tuple(text for word in command.words for text in _expand_word(word, folder, workspace))


def _expand_word(word: Word, folder: str, workspace: str) -> Sequence[str]:
    """What a shell may expand a word to; a word without a match stays as it is. With some options zsh takes a revision
    such as `HEAD~2` for a pattern that matches names with the same beginning."""
    if word.revision_base is not None and (word.wildcards or globs.any_path_starts_with(word.revision_base, folder)):
        raise globs.Uncertain
    if not word.wildcards:
        return (word.text,)
    return globs.expand(word, folder, workspace) or (word.text,)
