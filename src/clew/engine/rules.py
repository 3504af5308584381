"""What the rules, the safe defaults and a thread's policy say about a request: allow, deny, or ask a person. Deny goes
before ask, ask before allow, and where nobody speaks a person is asked. It only judges: it asks nobody, stores nothing
and runs nothing. An allow has to be certain of all that it covers; a deny or an ask needs only a suspicion."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch, fnmatchcase
from pathlib import Path
from types import MappingProxyType

from clew.asking import Asked, Effect, GateKind, Policy, Rule, RuleKind, Scope, Verdict
from clew.engine.shell import SHELLS, asks_always, names, plain_words, segments
from clew.errors import BadInput
from clew.seen import exactly

# What a rule made from a gate is about.
KINDS: Mapping[GateKind, RuleKind] = MappingProxyType(
    {GateKind.COMMAND: RuleKind.COMMAND, GateKind.CHANGE: RuleKind.CHANGE, GateKind.PERMISSION: RuleKind.TOOL}
)

# Folders whose files are run or believed by others: only a pattern that names them allows a change in them.
GUARDED = names(".git .hg .svn .jj .codex .claude .agents .clew")

_GLOB = re.compile(r"[*?\[]")


def decide(asked: Asked, policy: Policy, workspace: str, rules: Sequence[Rule], now: int, thread: str) -> Verdict:
    """Which of allow, ask and deny holds for this request, and who says so. `workspace` is the thread's folder."""
    if asked.kind is GateKind.QUESTION:
        return Verdict(Effect.ASK, "a question is for a person")
    holding = [rule for rule in rules if _holds(rule, workspace, now, thread)]
    for effect in (Effect.DENY, Effect.ASK, Effect.ALLOW):
        for rule in holding:
            if rule.effect is effect and _speaks(rule, asked, workspace):
                return Verdict(effect, _named(rule))
    return _by_policy(asked, policy, workspace)


def _holds(rule: Rule, workspace: str, now: int, thread: str) -> bool:
    if rule.until is not None and rule.until <= now:
        return False
    return rule.place == {Scope.THREAD: thread, Scope.WORKSPACE: workspace}.get(rule.scope, rule.place)


def _speaks(rule: Rule, asked: Asked, workspace: str) -> bool:
    if rule.kind is RuleKind.EXACT:
        return rule.pattern == exact_pattern(asked)
    if rule.kind is not KINDS[asked.kind]:
        return False
    return _allows(rule, asked, workspace) if rule.effect is Effect.ALLOW else _touches(rule, asked, workspace)


def _by_policy(asked: Asked, policy: Policy, workspace: str) -> Verdict:
    said = f"the policy {policy}"
    if policy is Policy.YOLO:
        return Verdict(Effect.ALLOW, said)
    if asked.kind is GateKind.COMMAND:
        return _by_default(asked, workspace)
    if policy is Policy.READ_ONLY:
        return Verdict(Effect.DENY, said)
    if policy is Policy.TRUSTED and asked.kind is GateKind.CHANGE and _covers("**", asked.paths, workspace):
        return Verdict(Effect.ALLOW, said)
    return Verdict(Effect.ASK, "no rule allows it")


def _by_default(asked: Asked, workspace: str) -> Verdict:
    words = plain_words(asked.title)
    if words is None:
        return Verdict(Effect.ASK, "it is more than plain words")
    if asks_always(words):
        return Verdict(Effect.ASK, f"`{words[0]}` is always asked about")
    if asked.folder and only_reads(words, asked.folder, workspace):
        return Verdict(Effect.ALLOW, "it only reads inside the workspace")
    return Verdict(Effect.ASK, "no rule allows it")


def _allows(rule: Rule, asked: Asked, workspace: str) -> bool:
    if asked.kind is GateKind.COMMAND:
        words = plain_words(asked.title)
        here = rule.scope is not Scope.WORKSPACE or asked.folder is None or inside(asked.folder, workspace)
        return words is not None and here and not asks_always(words) and _fits(_words(rule.pattern), words)
    if asked.kind is GateKind.CHANGE:
        return _covers(rule.pattern, asked.paths, workspace)
    return fnmatchcase(asked.title, rule.pattern)


def _touches(rule: Rule, asked: Asked, workspace: str) -> bool:
    if asked.kind is GateKind.COMMAND:
        pattern = _words(rule.pattern)
        return any(_begins(pattern, words) for words in segments(asked.title))
    if asked.kind is GateKind.CHANGE:
        return any(_hits(rule.pattern, path, workspace) for path in asked.paths)
    return fnmatch(asked.title.lower(), rule.pattern.lower())


def exact_pattern(asked: Asked) -> str:
    """The pattern of a rule that means this request and no other."""
    return hashlib.sha256(asked.subject.encode("utf-8", "surrogatepass")).hexdigest()


def _words(pattern: str) -> list[str]:
    try:
        return shlex.split(pattern)
    except ValueError:
        return pattern.split()


def _fits(pattern: Sequence[str], words: Sequence[str]) -> bool:
    """Word by word; a `*` at the end stands for whatever follows."""
    if not pattern:
        return False
    fixed = pattern[:-1] if pattern[-1] == "*" else pattern
    if len(words) < len(fixed) or (fixed is pattern and len(words) != len(fixed)):
        return False
    return all(map(_same, fixed, words))


def _same(pattern: str, word: str) -> bool:
    """A wildcard inside an allow stands for a name: never for an option, and never for a way out of a folder."""
    if pattern == word:
        return True
    is_option = word.startswith("-") and not pattern.startswith("-")
    return not is_option and ".." not in word.split("/") and fnmatchcase(word, pattern)


def _begins(pattern: Sequence[str], words: Sequence[str]) -> bool:
    """Whether a command may be one that the pattern means. Whatever follows the pattern counts too; options between
    its words, with a value each, are skipped: `git push` also means `git -C . push`."""
    fixed = pattern[:-1] if pattern and pattern[-1] == "*" else pattern
    if not fixed:
        return bool(pattern)
    return _may_be(fixed[0], words[0]) and _follows(fixed[1:], words[1:])


def _may_be(pattern: str, program: str) -> bool:
    """Wherever the program lies; and `/bin/r?` is as good as `rm`."""
    called = {program, Path(program).name}
    return any(fnmatchcase(name, pattern) or (name.strip("*?[]") and fnmatchcase(pattern, name)) for name in called)


def _follows(pattern: Sequence[str], words: Sequence[str]) -> bool:
    """Reads from left to right; `reached` are the places in the pattern at which one may be by now, each with whether
    the next word may be the value of an option."""
    reached = {0: False}
    for word in words:
        option = word.startswith("-")
        steps = {at + 1: False for at in reached if at < len(pattern) and fnmatchcase(word, pattern[at])}
        reached = {at: option for at, skips in reached.items() if option or skips or at == len(pattern)} | steps
    return len(pattern) in reached


def _real(path: str, start: str) -> str | None:
    """Where a path really leads, symlinks and all; None where that cannot be said."""
    try:
        return os.path.realpath(Path(start, path))
    except (ValueError, OSError):
        return None


def _relative(path: str, folder: str) -> str | None:
    """A path as it really is, from the folder's point of view; None where it lies outside. Nothing lies inside `/`:
    whoever works there has to be asked."""
    top, real = _real("", folder), _real(path, folder)
    if top is None or real is None or top == "/" or not folder.startswith("/"):
        return None
    return "." if real == top else real[len(top) + 1 :] if real.startswith(f"{top}/") else None


def inside(path: str, folder: str) -> bool:
    """Whether a path, relative to the folder or not, really lies in it."""
    return _relative(path, folder) is not None


def _covers(pattern: str, paths: Sequence[str], workspace: str) -> bool:
    """Whether every path of a change is allowed; of nothing there is nothing to allow."""
    return bool(paths) and all(_covers_one(pattern, path, workspace) for path in paths)


def _covers_one(pattern: str, path: str, workspace: str) -> bool:
    wanted = _parts(_rooted(pattern))
    where = _real(path, workspace) if pattern.startswith("/") else _relative(path, workspace)
    if where is None or where == "." or ".." in wanted:
        return False
    guarded = GUARDED.intersection(part.lower() for part in where.split("/"))
    return guarded.issubset(wanted) and _path_fits(wanted, where.split("/"))


def _hits(pattern: str, path: str, workspace: str) -> bool:
    """Whether a path, as it is written or as it really is, may be one that the pattern means, or lies below one."""
    wanted = [[*_parts(each.lower()), "**"] for each in {pattern, _rooted(pattern)}]
    return any(_path_fits(each, way.lower().split("/")) for each in wanted for way in _ways(path, workspace))


def _ways(path: str, workspace: str) -> set[str]:
    """The names that a path goes by: absolute and from the workspace, before and after symlinks."""
    written = os.path.normpath(Path(workspace, path))
    found = {written, _real(path, workspace) or written}
    tops = {workspace.rstrip("/"), _real("", workspace) or workspace}
    return found | {way[len(top) + 1 :] for way in found for top in tops if way.startswith(f"{top}/")}


def _rooted(pattern: str) -> str:
    """An absolute pattern with the folders before its first wildcard as they really are; a relative one as it is."""
    if not pattern.startswith("/"):
        return pattern
    parts = pattern.split("/")
    plain = next((at for at, part in enumerate(parts) if _GLOB.search(part)), len(parts) - 1)
    real = _real("/".join(parts[:plain]), "/") or ""
    return "/".join((real.rstrip("/"), *parts[plain:]))


def _parts(pattern: str) -> list[str]:
    """`src/` is all that lies in it."""
    return f"{pattern}**".split("/") if pattern.endswith("/") else pattern.removeprefix("./").split("/")


def _path_fits(pattern: Sequence[str], parts: Sequence[str]) -> bool:
    """Name by name; `**` stands for any number of them. `reached` are the places in the pattern one may be at."""
    reached = _onwards({0}, pattern)
    for part in parts:
        open_places = [at for at in reached if at < len(pattern)]
        reached = {at for at in open_places if pattern[at] == "**"}
        reached |= {at + 1 for at in open_places if fnmatchcase(part, pattern[at])}
        reached = _onwards(reached, pattern)
    return len(pattern) in reached


def _onwards(reached: set[int], pattern: Sequence[str]) -> set[int]:
    """`**` also stands for nothing."""
    for at, part in enumerate(pattern):
        if part == "**" and at in reached:
            reached.add(at + 1)
    return reached


@dataclass(frozen=True, slots=True)
class Reading:
    """The ways to call a program in which it plainly only reads. Each word of a command is judged by itself, so it does
    not matter which of them a program takes for the value of which."""

    options: str = ""  # `-abc`: flags; `-n=`: with a value; `-#`: a number; `--name`; `--name=`: perhaps with a value
    words: str = ""  # options of several letters after one dash
    operands: int | None = None  # at most so many
    free: bool = False  # it opens none of its words
    also: Callable[[Sequence[str], Path], bool] | None = None  # looks at all its words, and its folder


def _names_no_folder(words: Sequence[str], folder: Path) -> bool:
    """What lies in a folder may be a link to somewhere else, and `diff` follows it."""
    return not any((folder / word).is_dir() for word in words)


def _sets_no_date(words: Sequence[str], folder: Path) -> bool:
    return all(word.startswith(("-", "+")) for word in words)


def _makes_no_branch(words: Sequence[str], folder: Path) -> bool:
    return "--list" in words or all(word.startswith("-") and word != "-" for word in words)


def _prints_lines(words: Sequence[str], folder: Path) -> bool:
    """`sed -n 10,20p FILE`, as agents read files; any other script may write."""
    return len(words) >= 2 and words[0] == "-n" and re.fullmatch(r"[0-9]+(,[0-9]+)?p", words[1]) is not None


_SUM = Reading("-bt --tag")
_LOG = Reading(
    "-# -pswbzMC -n= -U= -S= -G= --oneline --graph --all --decorate= --stat= --shortstat --numstat --name-only"
    " --name-status --patch --no-patch --no-merges --merges --first-parent --reverse --follow --abbrev-commit"
    " --max-count= --skip= --since= --until= --after= --before= --author= --grep= --format= --pretty= --date= --color="
    " --no-color --no-ext-diff --no-textconv --unified= --word-diff= --summary --cached --staged --check --quiet"
)

# Only what is listed is safe: an option that is unknown here, or shortened, makes a command one to ask about.
SAFE: Mapping[str, Reading] = MappingProxyType(
    {
        "basename": Reading("-a"),
        "cat": Reading("-AbEenstTuv --number --show-all"),
        "cksum": _SUM,
        "cmp": Reading("-bls"),
        "comm": Reading("-123"),
        "cut": Reading("-ns -b= -c= -d= -f= --delimiter= --fields= --complement --output-delimiter="),
        "date": Reading("-uR --utc --iso-8601= --rfc-3339= --date=", also=_sets_no_date),
        "diff": Reading(
            "-abBcdiNpqstuwy -U= -C= --brief --unified= --side-by-side --color= --ignore-all-space --ignore-case"
            " --ignore-space-change --ignore-blank-lines --text --new-file --minimal",
            also=_names_no_folder,
        ),
        "dirname": Reading(),
        "du": Reading("-achksx -d= --max-depth= --human-readable --summarize --apparent-size"),
        "echo": Reading(free=True),
        "false": Reading(free=True),
        "file": Reading("-bhiIk --brief --mime --mime-type --mime-encoding"),
        "find": Reading(
            words="-name -iname -path -ipath -regex -iregex -type -maxdepth -mindepth -size -mtime -mmin -newer -empty"
            " -not -and -or -a -o -print -print0 -prune"
        ),
        "git blame": Reading("-ewslt -L= --date= --porcelain"),
        "git branch": Reading(
            "-avr --list --all --remotes --show-current --verbose --sort= --contains= --merged= --no-merged=",
            also=_makes_no_branch,
        ),
        "git diff": _LOG,
        "git log": _LOG,
        "git ls-files": Reading(
            "-comdstz --cached --others --modified --deleted --stage --exclude-standard --error-unmatch --full-name"
        ),
        "git rev-parse": Reading(
            "-q --show-toplevel --abbrev-ref= --short= --verify --git-dir --git-common-dir --is-inside-work-tree"
            " --show-prefix --show-cdup --symbolic-full-name --quiet"
        ),
        "git show": _LOG,
        "git status": Reading(
            "-sbvz --short --branch --porcelain= --untracked-files= --ignored= --long --verbose --show-stash",
            words="-uno -uall -unormal",
        ),
        "grep": Reading(
            "-# -EFGPabchHIiLlnoqrsvwxZ -A= -B= -C= -m= -e= --include= --exclude= --exclude-dir= --color= --count"
            " --ignore-case --line-number --files-with-matches --files-without-match --recursive --only-matching --text"
            " --extended-regexp --fixed-strings --perl-regexp --word-regexp --line-regexp --invert-match --no-messages"
            " --context= --after-context= --before-context= --max-count= --regexp= --with-filename --no-filename"
        ),
        "head": Reading("-# -qv -n= -c= --lines= --bytes="),
        "id": Reading("-Ggnu"),
        "ls": Reading(
            "-1AaCcdFGghiklmnopqRrSstUux --all --almost-all --color= --human-readable --recursive --reverse --size"
            " --sort= --time= --directory --classify --group-directories-first --inode --full-time"
        ),
        "md5sum": _SUM,
        "nl": Reading("-b= -n= -s= -v= -w=", words="-ba -bt -bn"),
        "pwd": Reading("-LP"),
        "readlink": Reading("-efn"),
        "realpath": Reading("-es"),
        "rg": Reading(
            "-FHINPSUacilnopqsuvwx. -A= -B= -C= -m= -e= -g= -t= -T= --files --hidden --no-ignore --glob= --iglob="
            " --type= --type-not= --count --count-matches --files-with-matches --files-without-match --ignore-case"
            " --smart-case --case-sensitive --fixed-strings --line-number --no-line-number --heading --no-heading"
            " --with-filename --no-filename --word-regexp --line-regexp --only-matching --multiline --max-count="
            " --max-depth= --context= --after-context= --before-context= --color= --json --stats --sort= --regexp="
            " --no-messages --pcre2 --invert-match --quiet --trim --column --vimgrep --no-config"
        ),
        "sed": Reading("-n", also=_prints_lines),
        "sha1sum": _SUM,
        "sha256sum": _SUM,
        "sort": Reading(
            "-bcCdfghiMmnRrsuVz -k= -t= --numeric-sort --reverse --unique --key= --field-separator= --ignore-case"
            " --human-numeric-sort --version-sort --stable --check="
        ),
        "stat": Reading("-Lfltx -c= --format= --printf= --terse"),
        "tac": Reading(),
        "tail": Reading("-# -qv -n= -c= --lines= --bytes="),
        "tree": Reading("-aACdDfFghinpstux -L= -I= -P= --dirsfirst --noreport --gitignore --prune --filelimit="),
        "true": Reading(free=True),
        "uname": Reading("-amnoprsv"),
        "uniq": Reading("-cdDiuz -f= -s= -w= --count --repeated --unique --ignore-case", operands=1),
        "wc": Reading("-clmwL --lines --words --bytes --chars --max-line-length"),
        "which": Reading("-as"),
        "whoami": Reading(),
    }
)


def only_reads(words: Sequence[str], folder: str, workspace: str) -> bool:
    """Whether a command of plain words does nothing but read, and nothing outside the workspace. What is not certain,
    or cannot be looked at, is not so."""
    try:
        return _only_reads(words, folder, workspace)
    except (OSError, ValueError, RuntimeError):
        return False


def _only_reads(words: Sequence[str], folder: str, workspace: str) -> bool:
    name, rest = _called(words)
    reading = SAFE.get(name)
    if reading is None or not folder.startswith("/") or not inside(folder, workspace):
        return False
    if name.startswith("git ") and not _in_own_repository(Path(folder), Path(workspace)):
        return False
    return reading.free or _is_reading(reading, rest, Path(folder), workspace)


def _called(words: Sequence[str]) -> tuple[str, Sequence[str]]:
    """The program, with its subcommand where it is git. A path such as `./ls` is not what it is named for."""
    if words[0] != "git":
        return words[0], words[1:]
    rest = words[2:] if "--no-pager" in words[1:2] else words[1:]
    return f"git {rest[0]}" if rest else "git", rest[1:]


def _is_reading(reading: Reading, words: Sequence[str], folder: Path, workspace: str) -> bool:
    operands = [word for word in words if word == "-" or not word.startswith("-")]
    if reading.operands is not None and len(operands) > reading.operands:
        return False
    if reading.also is not None and not reading.also(words, folder):
        return False
    values = [word.partition("=")[2] for word in words if word.startswith("--")]
    paths = (str(folder / word) for word in (*operands, *values))
    return all(_is_known(word, reading) for word in words) and all(inside(path, workspace) for path in paths)


def _is_known(word: str, reading: Reading) -> bool:
    options = reading.options.split()
    if not word.startswith("-") or word in ("-", "--", *reading.words.split()):
        return True
    if word.startswith("--"):
        name, has_value, _ = word.partition("=")
        return f"{name}=" in options or (name in options and not has_value)
    return ("-#" in options and word[1:].isdecimal()) or _are_flags(word[1:], options)


def _are_flags(letters: str, options: Sequence[str]) -> bool:
    """`-abc`, or with a number, `-n5`. A value in letters might be flags to another make of the program."""
    flags = {letter for option in options if not option.startswith("--") and "=" not in option for letter in option[1:]}
    for at, letter in enumerate(letters):
        if f"-{letter}=" in options:
            return re.fullmatch(r"[^A-Za-z/]*", letters[at + 1 :]) is not None
        if letter not in flags:
            return False
    return True


def _in_own_repository(folder: Path, workspace: Path) -> bool:
    """Not in another one below: git runs programs that a repository's config names, and anybody can have made that."""
    top, here = workspace.resolve(), folder.resolve()
    below = [path for path in (here, *here.parents) if top in path.parents]
    return not any((path / ".git").exists() for path in below) and not any(_is_bare(path) for path in (top, *below))


def _is_bare(path: Path) -> bool:
    return (path / "HEAD").exists() and (path / "objects").exists()


# A rule for these would allow more than anybody means who presses a button.
_NEVER_OFFERED = SHELLS | names(
    "rm rmdir dd mv cp ln chmod chown chgrp kill killall pkill mkfs mount umount truncate shred tee install curl wget"
    " scp sftp rsync nc ncat socat telnet ftp crontab systemctl service launchctl shutdown reboot halt poweroff"
    " iptables passwd useradd usermod visudo awk gawk mawk sed ed ex vi vim nvim emacs nano less more man gdb lldb"
    " osascript tar npx bunx pnpx uvx pipx zip unzip patch psql mysql sqlite redis-cli mongosh aws gcloud az terraform"
)
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
    offer = {GateKind.COMMAND: _offer_command, GateKind.CHANGE: _offer_folder, GateKind.PERMISSION: _offer_tool}
    return offer[asked.kind](asked, workspace) if asked.kind in offer else None


def _offer_command(asked: Asked, workspace: str) -> str | None:
    words = plain_words(asked.title)
    offered = _offered(words) if words else None
    return offered if words and offered and _fits(_words(offered), words) else None


def _offered(words: Sequence[str]) -> str | None:
    program = Path(words[0]).name
    kind = program.rstrip("0123456789.") or program
    if not _is_name(words[0]) or asks_always(words) or kind in _NEVER_OFFERED:
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
    found = [_relative(path, workspace) for path in asked.paths]
    inside_ones = [path for path in found if path is not None and path != "."]
    if not inside_ones or len(inside_ones) != len(found):
        return None
    folder = os.path.commonpath([str(Path(path).parent) for path in inside_ones])
    offered = f"{folder}/**" if folder not in ("", ".") else inside_ones[0] if len(set(inside_ones)) == 1 else None
    return offered if offered and _is_offerable(offered, asked.paths, workspace) else None


def _is_offerable(pattern: str, paths: Sequence[str], workspace: str) -> bool:
    plain = pattern.removesuffix("/**")
    named = not GUARDED.isdisjoint(part.lower() for part in plain.split("/"))
    return not named and not _GLOB.search(plain) and plain == exactly(plain) and _covers(pattern, paths, workspace)


def _offer_tool(asked: Asked, workspace: str) -> str | None:
    return asked.title if _SIMPLE.fullmatch(asked.title) else None


def checked(effect: Effect, kind: RuleKind, pattern: str) -> str:
    """A pattern that somebody wrote, if it can ever mean what they think."""
    pattern = pattern.strip()
    if not pattern or pattern != exactly(pattern, lines=False):
        raise BadInput("a pattern is one line of visible characters, such as `pytest *` or `src/**`")
    if kind is RuleKind.COMMAND:
        _check_words(effect, pattern)
    if kind is RuleKind.CHANGE and (pattern.startswith("~") or ".." in pattern.split("/")):
        raise BadInput(f"write `{pattern}` relative to the workspace, or as a whole path; without `~` and `..`")
    return pattern


def _check_words(effect: Effect, pattern: str) -> None:
    try:
        words = shlex.split(pattern)
    except ValueError as error:
        raise BadInput(f"the pattern `{pattern}` has a quote without its other half") from error
    if effect is Effect.ALLOW and asks_always(words):
        raise BadInput(f"`{words[0]}` is always asked about: no rule can allow it")
    if effect is Effect.ALLOW and any(word.strip(";&|") != word for word in words):
        raise BadInput(f"an allow covers one plain command; make a rule for each part of `{pattern}`")


_UNITS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}


def parse_duration(text: str) -> int:
    """`2h`, `30m`, `1d`, `90s`, `1w` in milliseconds."""
    found = re.fullmatch(r"([0-9]{1,6})\s*([smhdw])", text.strip().lower())
    if found is None or int(found[1]) == 0:
        shown = exactly(text[:40], lines=False)
        raise BadInput(f"{shown!r} is no length of time; write a number and s, m, h, d or w, such as 30m, 2h or 1d")
    return int(found[1]) * _UNITS[found[2]]


def describe(rule: Rule, until: str = "") -> str:
    """A rule in words; `until` is its end as the reader's clock shows it."""
    where = {Scope.THREAD: f"in thread {rule.place}", Scope.WORKSPACE: f"in {rule.place}"}.get(rule.scope, "everywhere")
    return " ".join(filter(None, (_said(rule, "`"), exactly(where, lines=False), until and f"until {until}")))


def _said(rule: Rule, quote: str = "") -> str:
    pattern = exactly(rule.pattern, lines=False)
    about = {RuleKind.CHANGE: "changes of ", RuleKind.TOOL: "the tool ", RuleKind.EXACT: "exactly "}.get(rule.kind, "")
    shown = f"{pattern[:12]}…" if rule.kind is RuleKind.EXACT else pattern
    return f"{rule.effect} {about}{quote}{shown}{quote}"


def _named(rule: Rule) -> str:
    return f"the rule `{_said(rule)}` ({rule.id})"
