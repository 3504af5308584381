"""Matches the pattern of a rule: commands word by word, paths name by name. Allow rules match strictly, deny and ask
rules loosely. It reads symlinks, and nothing else, from the disk."""

from __future__ import annotations

import os
import re
import shlex
import unicodedata
from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from stat import S_ISLNK

from clew.engine.rules.shell.lenient import word_set

# Folders whose files tools run or trust: only a pattern that names the folder allows a change in it.
PROTECTED_FOLDERS = word_set(
    ".git .hg .svn .jj .husky .githooks .codex .claude .agents .clew .cursor .gemini .opencode .qwen .vscode .idea"
    " .devcontainer"
)

# Extensions of source and text files, which a tool reads only if told to. Any other file may be a config or a script.
SOURCE_EXTENSIONS = word_set(
    "py pyi pyx js jsx mjs cjs ts tsx mts cts vue svelte astro css scss sass less styl html htm xhtml svg go rs c h cc"
    " cpp cxx hh hpp hxx m mm java kt scala swift rb erb php cs fs fsi vb ex heex eex erl hrl hs ml mli clj cljs"
    " cljc lua r jl dart zig nim cr d pas f90 sol proto graphql gql sql md mdx rst adoc txt tex bib csv tsv po pot ftl"
    " j2 jinja jinja2 hbs ejs pug mustache liquid snap diff patch png jpg jpeg gif webp ico avif woff woff2 ttf pdf"
)
# Files with such an extension that tools run or trust because of their name, in any folder.
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
    " knexfile.* truffle-config.* ormconfig.* config-overrides.* serverless.*[jt]s codegen.*[jt]s cucumber.*[jt]s"
    " skill.md copilot-instructions.md *.instructions.md *.prompt.md *.agent.md *.chatmode.md"
)
PROGRAM_FOLDERS = word_set(
    "bin sbin hooks githooks git-hooks buildsrc build-logic magefiles sitecustomize usercustomize conftest tasks"
    " fabfile"
)  # folders of programs, and packages, that tools run
_METADATA_FOLDERS = (".egg-info", ".dist-info")  # of Python packages: they name code that tools run
_TOOL_FILES_IN = {"project": ".scala", "requirements": ".txt"}  # files that tools run or trust in such a folder
DEPENDENCY_FOLDERS = word_set(
    "node_modules site-packages venv .venv vendor third_party"
)  # folders of other people's code
ELLIPSIS = "…"  # at the end of an allow: only what clew knows to do no more than the rule says

WILDCARD = re.compile(r"[*?\[]")
_PATTERN_SIGN = re.compile(r"(?P<any>\*+)|\[(?P<itself>[*?\[])\]|(?P<one>\?|\[!?\]?[^\]]*\])|.", re.DOTALL)
_PATH_START = re.compile(r"[=:,@]")  # inside a word
_MAX_WORD_LENGTH = 500  # of a word that a wildcard matches


def split_words(pattern: str) -> list[str]:
    try:
        return shlex.split(pattern)
    except ValueError:
        return pattern.split()


def allow_matches_command(pattern: Sequence[str], words: Sequence[str]) -> bool:
    """Whether an allow pattern matches a command, word by word; a `*` at the end matches whatever follows."""
    if not pattern:
        return False
    fixed = pattern[:-1] if pattern[-1] == "*" else pattern
    if len(words) < len(fixed) or (fixed is pattern and len(words) != len(fixed)):
        return False
    is_deeper = bool(fixed) and words[0].count("/") != fixed[0].count("/")  # `check-*` does not match a path
    return not is_deeper and all(map(_word_matches, fixed, words))


def _word_matches(pattern: str, word: str) -> bool:
    """Whether a word matches. A wildcard in an allow stands for a name: never for an option, an assignment, `..` or an
    absolute path, and never for a character that turns a web address into another one."""
    if pattern == word:
        return True
    if not WILDCARD.search(pattern) or len(word) > _MAX_WORD_LENGTH:
        return False
    if "://" in pattern:
        return _address_pattern(pattern).fullmatch(word) is not None
    is_option = word.startswith("-") and not pattern.startswith("-")
    is_absolute = word.startswith("/") and not pattern.startswith("/")
    has_dots = ".." in word.split("/") or word.count("..") > pattern.count("..")
    if is_option or is_absolute or has_dots or not fnmatchcase(word, pattern):
        return False
    return "=" not in word if not pattern.strip("*?") else _name_pattern(pattern).fullmatch(word) is not None


@cache
def _name_pattern(pattern: str) -> re.Pattern[str]:
    """A wildcard beside other characters stands for letters, digits and `_-./`, and does not begin with `/`. Another
    sign may give the word another meaning: `feature/x:main` is two branches to git. `test:*` also matches further
    colons."""
    signs = []
    for sign in _PATTERN_SIGN.finditer(pattern):
        colon = ":" if pattern[: sign.start()].endswith(":") else ""
        if sign["any"]:
            signs.append(rf"(?!/)[\w.{colon}/-]{'+' if pattern[sign.end() :].startswith('/') else '*'}")
        else:
            signs.append(r"[\w.-]" if sign["one"] else re.escape(sign["itself"] or sign[0]))
    return re.compile("".join(signs))


@cache
def _address_pattern(pattern: str) -> re.Pattern[str]:
    """In a web address `*` and `?` stand for letters, digits and `.-_`; `?` also for itself, as it begins a query."""
    signs = {"*": "[A-Za-z0-9._-]*", "?": "[A-Za-z0-9._?-]"}
    return re.compile("".join(signs.get(sign) or re.escape(sign) for sign in re.sub(r"\*+", "*", pattern)))


def wildcard_leaves_workspace(pattern: Sequence[str], words: Sequence[str], folder: str, workspace: str) -> bool:
    """Whether a wildcard inside a word matches a path that a symlink leads out of the workspace; or out of the folder,
    if the command runs outside the workspace. The path may be a part of the word: `--output=PATH`, `-oPATH`."""
    top = workspace if is_inside(folder, workspace) else folder
    fixed = pattern[:-1] if pattern[-1] == "*" else pattern
    by_wildcard = (word for each, word in zip(fixed, words, strict=False) if WILDCARD.search(each))
    paths = {path for word in by_wildcard for path in (word, re.sub("^-.", "", word), *_PATH_START.split(word))}
    return any(not is_inside(str(Path(folder, path)), top) for path in paths if not path.startswith("/"))


_MAX_STEPS = 1_000  # names in a path, with those in its symlinks
_MAX_PATH_BYTES = 3_000  # the system refuses paths of more than 4,095 bytes, so a link in one would not be seen


def real_path(path: str, start: str) -> str | None:
    """The path with all symlinks resolved; None if that is not certain."""
    try:
        written = os.path.join(start, path)  # noqa: PTH118 - a Path would drop a `.` at the end
        found = _resolve(written) if written.startswith("/") else None
        return found if found and max(len(os.fsencode(written)), len(os.fsencode(found))) <= _MAX_PATH_BYTES else None
    except (ValueError, OSError):
        return None


def _resolve(path: str) -> str | None:
    """Like `os.path.realpath`, but None if the path leads through `/proc`: `/proc/self/cwd` is another folder for each
    program."""
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
    """The names in a path, last one first."""
    return [name for name in reversed(path.split("/")) if name not in ("", ".")]


def _device_and_target(path: str) -> tuple[int | None, str | None]:
    """The device of a path, and the target if it is a symlink; (None, None) if it does not exist. Raises OSError if
    that is not certain: what has become too long for the system may still be a symlink."""
    try:
        found = os.lstat(path)
        return found.st_dev, str(Path(path).readlink()) if S_ISLNK(found.st_mode) else None
    except (FileNotFoundError, NotADirectoryError):
        return None, None


@cache
def _proc_device() -> int | None:
    return _device_and_target("/proc")[0]


def relative_path(path: str, folder: str) -> str | None:
    """The path relative to the folder, with symlinks resolved; None if it lies outside. Nothing counts as inside `/`:
    in that workspace every path is asked about."""
    top, found = real_path("", folder), real_path(path, folder)
    if top is None or found is None or top == "/" or not folder.startswith("/"):
        return None
    if ".." in path.split("/") and real_path(os.path.normpath(Path(folder, path)), folder) != found:
        return None  # after a symlink, `..` is one folder to the system and another to many tools
    return "." if found == top else found[len(top) + 1 :] if found.startswith(f"{top}/") else None


def is_inside(path: str, folder: str) -> bool:
    """Whether a path, relative to the folder or absolute, lies in it after its symlinks are resolved."""
    return relative_path(path, folder) is not None


def allow_matches_paths(pattern: str, paths: Sequence[str], workspace: str) -> bool:
    """Whether an allow pattern matches every path of a change. A change without paths is not allowed."""
    return bool(paths) and all(_allow_matches_path(pattern, path, workspace) for path in paths)


def _allow_matches_path(pattern: str, path: str, workspace: str) -> bool:
    wanted = _path_parts(_resolve_fixed_folders(pattern))
    where = real_path(path, workspace) if pattern.startswith("/") else relative_path(path, workspace)
    if where is None or where == "." or ".." in wanted:
        return False
    parts = where.split("/")
    protected = PROTECTED_FOLDERS.intersection(map(folded, parts))
    if wanted[-1] == ELLIPSIS:
        wanted = [*wanted[:-1], "**"]
        first = next((at for at, part in enumerate(wanted) if WILDCARD.search(part)), len(wanted) - 1)
        if any(map(is_run_by_tools, parts[first:])) or _is_run_by_tools_there(parts):
            return False
        if not is_source_or_text(parts[-1]):
            return False
    return protected.issubset(wanted) and parts_match(wanted, parts)


def is_run_by_tools(name: str) -> bool:
    """Whether tools run or trust a file or folder of this name without being told to. Hidden ones count as such."""
    name = folded(name)
    return (
        name.startswith(".")
        or name.endswith(_METADATA_FOLDERS)
        or name in PROGRAM_FOLDERS | DEPENDENCY_FOLDERS
        or any(fnmatchcase(name, each) for each in TOOL_FILES)
    )


def _is_run_by_tools_there(parts: Sequence[str]) -> bool:
    """Whether tools run or trust a file because of a folder above it: `project/Build.scala`, `requirements/dev.txt`."""
    *folders, name = map(folded, parts)
    return any(name.endswith(ending) and folder in folders for folder, ending in _TOOL_FILES_IN.items())


def is_source_or_text(name: str) -> bool:
    """Whether a file of this name is source or text that no tool runs or trusts by itself."""
    return Path(name.lower()).suffix[1:] in SOURCE_EXTENSIONS and not is_run_by_tools(name)


def deny_matches_path(pattern: str, path: str, workspace: str) -> bool:
    """Whether a deny or ask pattern may mean this path or a folder above it, with or without resolving symlinks."""
    wanted = [[*each, "**"] for each in deny_patterns(pattern)]
    return any(parts_match(each, parts) for each in wanted for parts in deny_spellings(path, workspace))


def deny_patterns(pattern: str) -> list[list[str]]:
    """The names in a deny or ask pattern, in lower case and folded; also with its symlinks resolved."""
    found = [_path_parts(each) for each in {pattern, _resolve_fixed_folders(pattern)}]
    return [spelling for names in found for spelling in name_spellings(names)]


def deny_spellings(path: str, workspace: str) -> list[list[str]]:
    """The names in each spelling of a path, in lower case and folded."""
    found = [spelling.split("/") for spelling in _path_spellings(path, workspace)]
    return [spelling for names in found for spelling in name_spellings(names)]


def name_spellings(names: Sequence[str]) -> list[list[str]]:
    """The names in lower case, and folded if that is not the same."""
    lower, other = list(map(_lower_each, names)), list(map(folded, names))
    return [lower] if lower == other else [lower, other]


def folded(name: str) -> str:
    """The name of a file in the form in which a file system may compare it: `.huſky` may be `.husky`. Invisible
    characters are left out."""
    if name.isascii():
        return name.lower()
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    return "".join(char for char in text if unicodedata.category(char) != "Cf")


def _lower_each(text: str) -> str:
    """Lowercase each character by itself: Python lowercases the last letter of `ΟΔΟΣ` differently from that of
    `ΟΔΟΣα`."""
    return "".join(map(str.lower, text))


def _path_spellings(path: str, workspace: str) -> set[str]:
    """The spellings of a path: absolute and relative to the workspace, with and without symlinks resolved."""
    written = os.path.normpath(Path(workspace, path))
    found = {written, real_path(path, workspace) or written}
    tops = {workspace.rstrip("/"), real_path("", workspace) or workspace}
    return found | {spelling[len(top) + 1 :] for spelling in found for top in tops if spelling.startswith(f"{top}/")}


def _resolve_fixed_folders(pattern: str) -> str:
    """An absolute pattern with the symlinks before its first wildcard resolved; a relative one unchanged."""
    if not pattern.startswith("/"):
        return pattern
    parts = pattern.split("/")
    plain = next((at for at, part in enumerate(parts) if WILDCARD.search(part)), len(parts) - 1)
    top = real_path("/".join(parts[:plain]), "/") or ""
    return "/".join((top.rstrip("/"), *parts[plain:]))


def _path_parts(pattern: str) -> list[str]:
    """The names in a path pattern; `src/` matches everything in the folder."""
    return f"{pattern}**".split("/") if pattern.endswith("/") else pattern.removeprefix("./").split("/")


def parts_match(pattern: Sequence[str], parts: Sequence[str]) -> bool:
    """Whether a path matches, name by name; `**` matches any number of names. `reached` holds the positions in the
    pattern that may be reached by now."""
    reached = _skip_double_stars({0}, pattern)
    for part in parts:
        unfinished = [at for at in reached if at < len(pattern)]
        reached = {at for at in unfinished if pattern[at] == "**"}
        reached |= {at + 1 for at in unfinished if fnmatchcase(part, pattern[at])}
        reached = _skip_double_stars(reached, pattern)
    return len(pattern) in reached


def _skip_double_stars(reached: set[int], pattern: Sequence[str]) -> set[int]:
    """Add the positions behind each reached `**`, which also matches no name."""
    for at, part in enumerate(pattern):
        if part == "**" and at in reached:
            reached.add(at + 1)
    return reached
