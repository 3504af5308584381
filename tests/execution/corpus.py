"""Random commands, by a seed: programs with their options in all spellings, tricky operands, `--` in all places, pipes,
sequences, redirections, globs, wrappers, and forms of the shell's grammar. It does not know what clew takes for safe;
the options come from the programs' own help."""

from __future__ import annotations

import random
import re
import shlex
import shutil
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import cycle
from pathlib import Path

from tests.execution.watching import Run
from tests.execution.workspaces import Place, words

# Programs that agents read with all day. Each must be among the commands that were allowed and run.
USED_ALL_DAY = (
    *words(
        "basename cat cksum cmp comm cut date diff dirname du echo file find grep head id ls md5sum nl pwd readlink"
    ),
    *words("realpath rg sed sha1sum sha256sum sort stat tac tail tree true uname uniq wc which whoami"),
    *(f"git {word}" for word in words("status diff log show branch blame ls-files rev-parse")),
)

# The weight of each shell; Codex uses the person's own one, with -lc.
SHELLS = {("bash", "-c"): 10, ("sh", "-c"): 3, ("zsh", "-c"): 3, ("bash", "-lc"): 1, ("zsh", "-lc"): 1}
SHELLS = {shell: weight for shell, weight in SHELLS.items() if shutil.which(shell[0])}
COMMON_OPERANDS = words(
    "a.txt b.txt src src/m.py src/deep/n.txt docs . .. ./ ../ - -- name*space.txt new.txt ../outside/secret"
    " ../outside ../outside/folder src/../a.txt src/../../outside/secret .git .git/config .git/HEAD HEAD main topic v1"
    " HEAD~1 HEAD:a.txt HEAD^ main..topic main...topic :/more @ @{u} HEAD@{0} :a.txt foo x . ^foo '' none.txt"
    " /etc/passwd /etc / /dev/stdin /dev/null /proc/self/environ ~ ~/.netrc ~root '~' =ls %s +%F +5 5 1,3p 10p"
    " '1,2p' 1p '$p' '*.py' '*.txt' 's/a/b/w' '1e' '*' '$(id)' '`id`' '{a,b}' -n -c -o --output=x -exec --"
    " /proc/self/cwd/../outside/secret /dev/fd/../cwd/../outside"
)
GLOBS = words(
    "* *.txt *.py src/* src/*.py ?.txt [ab].txt -* */ */* .* ** **/*.py *.none src/*/n.txt [!a]* docs/* .g*/config"
)
VALUES = (
    "1 5 x foo a.txt src ../outside/secret /etc/passwd always never auto name size time %h %s %H%n '%an %s' '%G?'"
    " oneline short full iso '*.py' '!*.txt' , : '\\t' 1,2 1-3 -1 out.txt sh cat 'sh -c id' py main HEAD . yesterday"
    " iso-strict '2 days ago' '%(trailers)' format:%h mine all no normal v1 v2 none diff log 1,/foo/"
    " 1,2:a.txt :foo:src/m.py"
)
INVISIBLE = {"NL": "\n", "CR": "\r", "TAB": "\t", "VT": "\v", "FF": "\f", "NUL": "\0"}
INVISIBLE |= {"NBSP": "\u00a0", "EM": "\u2003", "WIDE": "\u3000"}


@cache
def forms() -> dict[str, tuple[str, ...]]:
    """The joints, redirections, tails, wrappers and grammar of forms.txt."""
    found: dict[str, list[str]] = {}
    section: list[str] = []
    for line in Path(__file__).with_name("forms.txt").read_text(encoding="utf-8").splitlines():
        if title := re.fullmatch(r"\[([a-z]+)\]", line):
            section = found.setdefault(title[1], [])
        elif line and not line.startswith("#"):
            section.append(_unescape(line))
    return {name: tuple(lines) for name, lines in found.items()}


def _unescape(line: str) -> str:
    bare = line[1:-1] if line.startswith("|") and line.endswith("|") and len(line) > 2 else line
    return re.sub(r"<([A-Z]+)>", lambda found: INVISIBLE[found[1]], bare)


@cache
def options() -> dict[str, tuple[str, ...]]:
    """Each program and its options, according to its own help."""
    lines = Path(__file__).with_name("options.txt").read_text(encoding="utf-8").splitlines()
    pairs = (line.partition(":") for line in lines if line and not line.startswith("#"))
    return {name: tuple(rest.split()) for name, _, rest in pairs}


def attacks(place: Place) -> Iterator[Run]:
    """The commands that are written for this place, in each of its folders, on a pipe and on a terminal."""
    for attack in place.attacks:
        for folder in place.folders:
            for terminal in (False, True):
                yield Run(attack, _folder(place, folder), terminal=terminal)


def commands(place: Place, seed: int) -> Iterator[Run]:
    """Endless commands, each program in turn; those that agents use all day come more often."""
    rng = random.Random(f"{place.name} {seed}")
    names = [*options(), *USED_ALL_DAY, *USED_ALL_DAY]
    rng.shuffle(names)
    return (_run(rng, place, name) for name in cycle(names))


def like(place: Place, name: str, seed: int) -> Iterator[Run]:
    """Plain commands of one program."""
    rng = random.Random(f"{name} {seed}")
    while True:
        yield Run(_simple(rng, place, name), str(place.work))


def _folder(place: Place, folder: str) -> str:
    return str(place.work) if folder == "." else str(place.work / folder)


def _run(rng: random.Random, place: Place, name: str) -> Run:
    command = _command(rng, place, name)
    shell = rng.choices(list(SHELLS), list(SHELLS.values()))[0]
    return Run(command, _folder(place, rng.choice(place.folders)), shell, terminal=rng.random() < 0.15)


def _command(rng: random.Random, place: Place, name: str) -> str:
    draw = rng.random()
    if draw < 0.4:
        return _simple(rng, place, name)
    if draw < 0.6:
        return _composed(rng, place, name)
    if draw < 0.8:
        return _varied(rng, place)
    if draw < 0.95:
        return _by_grammar(rng, place, name)
    return rng.choice(forms()["wrappers"]).format(shlex.quote(_command(rng, place, name)))


def _simple(rng: random.Random, place: Place, name: str) -> str:
    """A program, some of its options, some operands, and perhaps `--`, in any order."""
    given = [_option(rng, each) for each in _some(rng, options().get(name, ()), rng.choice((0, 0, 1, 1, 1, 2, 3)))]
    given += [_operand(rng, place) for _ in range(rng.choice((0, 1, 1, 1, 2, 2, 3)))]
    if name == "sed" and rng.random() < 0.7:
        return " ".join(("sed -n 1,2p", *given))
    if rng.random() < 0.25:
        rng.shuffle(given)
    if rng.random() < 0.2:
        given.insert(rng.randrange(len(given) + 1), "--")
    return " ".join((name, *given))


def _some(rng: random.Random, choices: Sequence[str], count: int) -> list[str]:
    return [rng.choice(choices) for _ in range(count)] if choices else []


def _option(rng: random.Random, option: str) -> str:
    """An option as people may write it: with its value attached or separate, shortened, or several letters in one."""
    name, takes = option.rstrip("="), option.endswith("=")
    value = rng.choice(_values())
    if name.startswith("--"):
        short = name[: rng.randrange(4, len(name) + 1)] if len(name) > 5 and rng.random() < 0.12 else name
        attached, separate = f"{short}={value}", f"{short} {value}"
        return rng.choice(
            (attached, attached, separate, short) if takes else (short, short, short, short, short, attached)
        )
    return rng.choice((name, name, name, f"{name}{value}", f"{name} {value}", f"{name}{rng.choice('abcilnorsuvwxz')}"))


@cache
def _values() -> tuple[str, ...]:
    values = shlex.split(VALUES.replace("\\", "\\\\"))
    return tuple(shlex.quote(each) if set(each) & set(" ?*(!'\\") else each for each in values)


def _operand(rng: random.Random, place: Place) -> str:
    draw = rng.random()
    if draw < 0.35:
        return rng.choice(("a.txt", "b.txt", "src", "src/m.py", "docs", ".", "foo", "HEAD", "new.txt", "../a.txt"))
    if place.operands and draw < 0.65:
        return rng.choice(place.operands)
    return rng.choice(GLOBS) if draw > 0.88 else rng.choice(COMMON_OPERANDS)


def _composed(rng: random.Random, place: Place, name: str) -> str:
    """Several commands with something between them, and redirections here and there."""
    command = _redirected(rng, _simple(rng, place, name))
    for _ in range(rng.choice((0, 1, 1, 1, 2, 3))):
        after = rng.choice(forms()["tails"]) if rng.random() < 0.6 else _simple(rng, place, rng.choice(USED_ALL_DAY))
        joints = forms()["joints"]
        joint = rng.choice(joints[:5] if rng.random() < 0.8 else joints)
        command += joint + _redirected(rng, after)
    return command


def _redirected(rng: random.Random, command: str) -> str:
    draw = rng.random()
    if draw < 0.6:
        return command
    redirects = forms()["redirects"]
    return command + rng.choice(redirects[:3] if draw < 0.85 else redirects)


@cache
def useful() -> tuple[str, ...]:
    """Commands that agents run all day."""
    lines = Path(__file__).with_name("useful.txt").read_text(encoding="utf-8").splitlines()
    return tuple(line for line in lines if line and not line.startswith("#"))


def _varied(rng: random.Random, place: Place) -> str:
    """Useful commands, joined, with a word or two added, removed or changed: close to what must be allowed."""
    joint = rng.choice(forms()["joints"][:5])
    parts = joint.join(rng.choice(useful()) for _ in range(rng.choice((1, 1, 1, 2)))).split(" ")
    for _ in range(rng.choice((0, 1, 1, 2))):
        at = rng.randrange(1, len(parts) + 1)
        parts[at : at + rng.randrange(2)] = [_any_word(rng, place)]
    return " ".join(parts)


def _any_word(rng: random.Random, place: Place) -> str:
    draw = rng.random()
    if draw < 0.5:
        return _operand(rng, place)
    if draw < 0.8:
        return _option(rng, rng.choice(options()[rng.choice(list(options()))] or ("-x",)))
    return rng.choice(("--", "|", "&&", ";", *GLOBS, *forms()["redirects"])).strip()


def _by_grammar(rng: random.Random, place: Place, name: str) -> str:
    form = rng.choice(forms()["grammar"])
    file = rng.choice(("a.txt", "src/m.py", "b.txt", _operand(rng, place)))
    harmless = rng.choice((_simple(rng, place, name), "ls", "ls -la src", "cat a.txt", "git status", "pwd"))
    return re.sub(r"(?<![\w-])[CF](?![\w-])", lambda found: harmless if found[0] == "C" else file, form)
