"""What the pattern of a rule covers: commands word by word, paths name by name. Pure but for a look at symlinks."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from stat import S_ISLNK

from clew.engine.rules.shell.lenient import word_set

# Folders whose files are run or believed by others: only a pattern that names them allows a change in them.
PROTECTED_FOLDERS = word_set(
    ".git .hg .svn .jj .husky .githooks .codex .claude .agents .clew .cursor .gemini .opencode .qwen .vscode .idea"
    " .devcontainer"
)

# Endings of source and text that a tool reads only if it is told to. Any other kind may be a config or a script.
SOURCE_EXTENSIONS = word_set(
    "py pyi pyx js jsx mjs cjs ts tsx mts cts vue svelte astro css scss sass less styl html htm xhtml svg go rs c h cc"
    " cpp cxx hh hpp hxx m mm java kt scala swift rb erb php cs fs fsi vb ex heex eex erl hrl hs ml mli clj cljs"
    " cljc lua r jl dart zig nim cr d pas f90 sol proto graphql gql sql md mdx rst adoc txt tex bib csv tsv po pot ftl"
    " j2 jinja jinja2 hbs ejs pug mustache liquid snap diff patch png jpg jpeg gif webp ico avif woff woff2 ttf pdf"
)
# Files of such an ending that tools run or believe because of their name, wherever they lie.
TOOL_FILES = word_set(
    "conftest*.py setup.py noxfile.py sconstruct.py conanfile.py toxfile.py tasks.py fabfile.py dodo.py pavement.py"
    " duties.py conf.py build.py hatch_build.py pdm_build.py versioneer.py sitecustomize.py usercustomize.py"
    " manage.py locustfile.py celeryconfig.py *_config.py *.config.* *.conf.* *.workspace.* *.setup.* webpack.*"
    " rollup.* vite.* vitest.* jest.* jest-* karma.* babel.* eslint.* playwright.* cypress.* wdio.* gulpfile.*"
    " gruntfile.* jakefile.* plopfile.* dangerfile.* brocfile.* wallaby.* ember-cli-build.* commitlint.*"
    " lint-staged.* testem.* truffle.* gatsby-*.* pnpmfile.* *rc.js *rc.cjs *rc.mjs *rc.ts setuptests.* globalsetup.*"
    " global-setup.* preinstall.* postinstall.* magefile.go build.rs package*.swift project.swift workspace.swift"
    " project.clj build.clj user.clj profiles.clj setup.hs shakefile.hs setup.ml myocamlbuild.ml spec_helper.rb"
    " rails_helper.rb test_helper.rb extconf.rb boot.rb application.rb environment.rb puma.rb deploy.rb rakefile.rb"
    " gems.rb rector.php ecs.php castor.php deploy.php robofile.php bootstrap.php *.inc.php xmake.lua premake*.lua"
    " tupfile.lua build.dart build.zig build.cs build.jl make.jl cmakelists.txt *requirements*.txt *constraints*.txt"
    " meson_options.txt llms*.txt agent*.md claude*.md gemini*.md qwen*.md hermes*.md codex*.md iflow*.md"
    " codebuddy*.md opencode*.md cursor*.md warp.md crush.md replit.md soul.md memory.md system.md conventions.md"
    " skill.md copilot-instructions.md *.instructions.md *.prompt.md *.agent.md *.chatmode.md"
)
PROGRAM_FOLDERS = word_set("bin sbin hooks githooks git-hooks buildsrc build-logic magefiles")  # folders of programs
DEPENDENCY_FOLDERS = word_set(
    "node_modules site-packages venv .venv vendor third_party"
)  # folders of other people's code
ELLIPSIS = "…"  # at the end of a rule: what clew knows to do no more than what was asked

_TAKES_SEVERAL_TARGETS = word_set(
    "make gmake bmake nmake remake mvn mvnw mvnd gradle gradlew just task rake ninja samu ant sbt mill lein invoke inv"
    " fab nox doit scons waf bazel bazelisk buck2 pants turbo nx lerna run-s run-p npm-run-all wireit mage xmake"
)
_TAKES_ABBREVIATIONS = word_set("npm pnpm yarn bun cargo")  # these also take the beginning of a command's name: `npm i`
_OPTIONAL_GROUPS = dict.fromkeys(
    word_set("docker podman nerdctl"), word_set("image container")
)  # words that may as well be left out
WILDCARD = re.compile(r"[*?\[]")


def split_words(pattern: str) -> list[str]:
    try:
        return shlex.split(pattern)
    except ValueError:
        return pattern.split()


def allow_matches_command(pattern: Sequence[str], words: Sequence[str]) -> bool:
    """Word by word; a `*` at the end stands for whatever follows."""
    if not pattern:
        return False
    fixed = pattern[:-1] if pattern[-1] == "*" else pattern
    if len(words) < len(fixed) or (fixed is pattern and len(words) != len(fixed)):
        return False
    is_deeper = bool(fixed) and words[0].count("/") != fixed[0].count("/")  # `check-*` is no program in a folder
    return not is_deeper and all(map(_word_matches, fixed, words))


def _word_matches(pattern: str, word: str) -> bool:
    """A wildcard inside an allow stands for a name: never for an option, an assignment or a way out of a folder; and
    never for a sign that makes a web address another one."""
    if pattern == word:
        return True
    if "://" in pattern:
        return _address_pattern(pattern).fullmatch(word) is not None
    is_option = word.startswith("-") and not pattern.startswith("-")
    is_elsewhere = word.startswith("/") and not pattern.startswith("/")
    is_more = any(sign in word and sign not in pattern for sign in ("=@{}[" if ":" in pattern else "="))
    way_out = ".." in word.split("/")
    return not (is_option or is_elsewhere or is_more or way_out) and fnmatchcase(word, pattern)


@cache
def _address_pattern(pattern: str) -> re.Pattern[str]:
    """In a web address `*` and `?` stand for letters, digits and `.-_`; and `?` for itself, as it begins a query."""
    signs = {"*": "[A-Za-z0-9._-]*", "?": "[A-Za-z0-9._?-]"}
    return re.compile("".join(signs.get(sign) or re.escape(sign) for sign in re.sub(r"\*+", "*", pattern)))


def wildcard_leaves_workspace(pattern: Sequence[str], words: Sequence[str], folder: str, workspace: str) -> bool:
    """Whether a wildcard inside a word stands for a path that a link leads out of the workspace; or out of the folder,
    if the command runs elsewhere."""
    top = workspace if is_inside(folder, workspace) else folder
    fixed = pattern[:-1] if pattern[-1] == "*" else pattern
    wild = (word for each, word in zip(fixed, words, strict=False) if WILDCARD.search(each) and each[0] != "/")
    return any(os.path.lexists(Path(folder, word)) and not is_inside(str(Path(folder, word)), top) for word in wild)


def deny_matches_command(pattern: Sequence[str], words: Sequence[str]) -> bool:
    """Whether a command may be one that the pattern means. Whatever follows the pattern counts too; options between
    its words, with a value each, are skipped: `git push` also means `git -C . push`. The pattern's own options may
    stand anywhere: `git push --force` also means `git push origin --force`. Of a program that takes several targets
    the others are skipped: `make deploy` also means `make test deploy`."""
    fixed = pattern[:-1] if pattern and pattern[-1] == "*" else pattern
    if not fixed:
        return bool(pattern)
    name = Path(words[0]).name
    takes_several = not _TAKES_SEVERAL_TARGETS.isdisjoint({fixed[0], name})
    plain = [word for word in fixed[1:] if not word.startswith("-") and word not in _OPTIONAL_GROUPS.get(name, ())]
    options = [word for word in fixed[1:] if word.startswith("-")]
    if not _may_be_program(fixed[0], words[0]) or not all(_has_option(option, words[1:]) for option in options):
        return False
    return _occurs_in_order(plain, _normalized(name, words[1:], plain[:1]), takes_several)


def _normalized(name: str, words: Sequence[str], wanted: Sequence[str]) -> Sequence[str]:
    """The words of a command with its first one as it is usually written: `npm pub` is `npm publish`, `docker image
    push` is `docker push`."""
    if name in _OPTIONAL_GROUPS:
        return [word for word in words if word not in _OPTIONAL_GROUPS[name]]
    if name not in _TAKES_ABBREVIATIONS or not wanted:
        return words
    (full,) = wanted
    return [full if word and (full.startswith(word) or word == f"{full}-script") else word for word in words]


def _may_be_program(pattern: str, program: str) -> bool:
    """Wherever the program lies; and `/bin/r?` is as good as `rm`, as is `RM` where a disk takes it for the same. Of
    `scripts/deploy.sh` the last name is enough, as one may be in that folder already."""
    program = _plain_path(program.lower().removesuffix(".exe"))
    called = {program, Path(program).name}
    return any(
        fnmatchcase(name, wanted) or (name.strip("*?[]") and fnmatchcase(wanted, name))
        for name in called
        for wanted in _program_spellings(pattern.lower())
    )


def _program_spellings(program: str) -> set[str]:
    if "/" not in program:
        return {program}
    path, name = _plain_path(program), Path(program).name
    return {f"*/{path}"} | ({path, name} if name.strip("*?[]") else {path} if "/" in path else set())


def _plain_path(word: str) -> str:
    return os.path.normpath(word) if "/" in word and "://" not in word else word


def _has_option(option: str, words: Sequence[str]) -> bool:
    """Whether an option may be among the words: with a value, shortened, or one letter of several."""
    if re.fullmatch(r"-[A-Za-z0-9]{1,4}", option):
        letters = {letter for word in words if re.fullmatch(r"-[A-Za-z0-9]+", word) for letter in word}
        if letters.issuperset(option):
            return True
    given = {each for word in words if word.startswith("-") for each in (word, word.partition("=")[0])}
    is_shortened = option.startswith("--") and any(len(each) > 4 and option.startswith(each) for each in given)
    return is_shortened or any(fnmatchcase(each, option) for each in given)


def _occurs_in_order(pattern: Sequence[str], words: Sequence[str], skips_any: bool) -> bool:
    """Reads from left to right; `reached` are the places in the pattern at which one may be by now, each with whether
    the next word may be the value of an option. `+nightly` is an option of cargo."""
    reached = {0: skips_any}
    for word in words:
        option = skips_any or word.startswith(("-", "+"))
        steps = {at + 1: skips_any for at in reached if at < len(pattern) and _may_match_word(pattern[at], word)}
        reached = {at: option for at, skips in reached.items() if option or skips or at == len(pattern)} | steps
    return len(pattern) in reached


def _may_match_word(pattern: str, word: str) -> bool:
    """A path also if it is written in another way: `./scripts/x.py`, `/work/scripts/x.py`."""
    if fnmatchcase(word, pattern) or "/" not in pattern:
        return fnmatchcase(word, pattern)
    pattern, word = _plain_path(pattern), _plain_path(word)
    return fnmatchcase(word, pattern) or fnmatchcase(word, f"*/{pattern}")


_MAX_STEPS = 1_000  # names on the way to a path
_MAX_PATH_BYTES = (
    3_000  # bytes of a path; the system looks at no longer ones than 4,095, and takes what it sees for no link
)


def real_path(path: str, start: str) -> str | None:
    """Where a path really leads, symlinks and all; None where that cannot be said."""
    try:
        written = os.path.join(start, path)  # noqa: PTH118 - a Path would drop a `.` at the end
        found = _resolve(written) if written.startswith("/") else None
        return found if found and max(len(os.fsencode(written)), len(os.fsencode(found))) <= _MAX_PATH_BYTES else None
    except (ValueError, OSError):
        return None


def _resolve(path: str) -> str | None:
    """As `os.path.realpath` finds it; but None if the way leads through `/proc`: what `/proc/self/cwd` is, is another
    folder for each program."""
    left, at = _reversed_names(path), "/"
    for _ in range(_MAX_STEPS):
        if not left:
            return at
        name = left.pop()
        here = str(Path(at).parent) if name == ".." else f"{at.rstrip('/')}/{name}"
        device, target = _device_and_target(here)
        if device is not None and device == _proc_device():
            return None
        at = here if target is None else "/" if target.startswith("/") else at
        left += _reversed_names(target or "")
    return None


def _reversed_names(path: str) -> list[str]:
    """The last one first."""
    return [name for name in reversed(path.split("/")) if name not in ("", ".")]


def _device_and_target(path: str) -> tuple[int | None, str | None]:
    """The device on which a path lies, and where it leads if it is a link; nothing if it is not there."""
    try:
        found = os.lstat(path)
        return found.st_dev, str(Path(path).readlink()) if S_ISLNK(found.st_mode) else None
    except OSError:
        return None, None


@cache
def _proc_device() -> int | None:
    return _device_and_target("/proc")[0]


def relative_path(path: str, folder: str) -> str | None:
    """A path as it really is, from the folder's point of view; None where it lies outside. Nothing lies inside `/`:
    whoever works there has to be asked."""
    top, found = real_path("", folder), real_path(path, folder)
    if top is None or found is None or top == "/" or not folder.startswith("/"):
        return None
    if ".." in path.split("/") and real_path(os.path.normpath(Path(folder, path)), folder) != found:
        return None  # behind a link, `..` means one folder to the system and another to many tools
    return "." if found == top else found[len(top) + 1 :] if found.startswith(f"{top}/") else None


def is_inside(path: str, folder: str) -> bool:
    """Whether a path, relative to the folder or not, really lies in it."""
    return relative_path(path, folder) is not None


def allow_matches_paths(pattern: str, paths: Sequence[str], workspace: str) -> bool:
    """Whether every path of a change is allowed; of nothing there is nothing to allow."""
    return bool(paths) and all(_allow_matches_path(pattern, path, workspace) for path in paths)


def _allow_matches_path(pattern: str, path: str, workspace: str) -> bool:
    wanted = _path_parts(_resolve_fixed_folders(pattern))
    where = real_path(path, workspace) if pattern.startswith("/") else relative_path(path, workspace)
    if where is None or where == "." or ".." in wanted:
        return False
    parts = where.split("/")
    guarded = PROTECTED_FOLDERS.intersection(part.lower() for part in parts)
    if wanted[-1] == ELLIPSIS:
        wanted = [*wanted[:-1], "**"]
        first = next((at for at, part in enumerate(wanted) if WILDCARD.search(part)), len(wanted) - 1)
        if any(map(is_run_by_tools, parts[first:])) or not is_source_or_text(parts[-1]):
            return False
    return guarded.issubset(wanted) and _parts_match(wanted, parts)


def is_run_by_tools(name: str) -> bool:
    """Whether a file or folder of this name is run or believed by a tool that nobody asks: hidden ones are."""
    name = name.lower()
    return (
        name.startswith(".")
        or name in PROGRAM_FOLDERS | DEPENDENCY_FOLDERS
        or any(fnmatchcase(name, each) for each in TOOL_FILES)
    )


def is_source_or_text(name: str) -> bool:
    """Whether a file of this name is source or text, and no tool runs or believes it by itself."""
    return Path(name.lower()).suffix[1:] in SOURCE_EXTENSIONS and not is_run_by_tools(name)


def deny_matches_path(pattern: str, path: str, workspace: str) -> bool:
    """Whether a path, as it is written or as it really is, may be one that the pattern means, or lies below one."""
    wanted = [[*_path_parts(each.lower()), "**"] for each in {pattern, _resolve_fixed_folders(pattern)}]
    return any(
        _parts_match(each, way.lower().split("/")) for each in wanted for way in _path_spellings(path, workspace)
    )


def _path_spellings(path: str, workspace: str) -> set[str]:
    """The names that a path goes by: absolute and from the workspace, before and after symlinks."""
    written = os.path.normpath(Path(workspace, path))
    found = {written, real_path(path, workspace) or written}
    tops = {workspace.rstrip("/"), real_path("", workspace) or workspace}
    return found | {way[len(top) + 1 :] for way in found for top in tops if way.startswith(f"{top}/")}


def _resolve_fixed_folders(pattern: str) -> str:
    """An absolute pattern with the folders before its first wildcard as they really are; a relative one as it is."""
    if not pattern.startswith("/"):
        return pattern
    parts = pattern.split("/")
    plain = next((at for at, part in enumerate(parts) if WILDCARD.search(part)), len(parts) - 1)
    top = real_path("/".join(parts[:plain]), "/") or ""
    return "/".join((top.rstrip("/"), *parts[plain:]))


def _path_parts(pattern: str) -> list[str]:
    """`src/` is all that lies in it."""
    return f"{pattern}**".split("/") if pattern.endswith("/") else pattern.removeprefix("./").split("/")


def _parts_match(pattern: Sequence[str], parts: Sequence[str]) -> bool:
    """Name by name; `**` stands for any number of them. `reached` are the places in the pattern one may be at."""
    reached = _skip_double_stars({0}, pattern)
    for part in parts:
        open_places = [at for at in reached if at < len(pattern)]
        reached = {at for at in open_places if pattern[at] == "**"}
        reached |= {at + 1 for at in open_places if fnmatchcase(part, pattern[at])}
        reached = _skip_double_stars(reached, pattern)
    return len(pattern) in reached


def _skip_double_stars(reached: set[int], pattern: Sequence[str]) -> set[int]:
    """`**` also stands for nothing."""
    for at, part in enumerate(pattern):
        if part == "**" and at in reached:
            reached.add(at + 1)
    return reached
