"""Commands that clew knows well enough to offer a rule for: test runners, linters, builders, package scripts, each with
its safe options. Not listed, and so asked about, is every option that runs another program, loads a plugin or another
config, moves to another folder or root, names a file to write, deletes, publishes, talks to another host, or makes a
tool call git. Data only; `matching` reads it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from msgspec import Struct


class Operands(StrEnum):
    """What the operands of a command may be: its words that are neither options nor their values."""

    NONE = "none"
    PATHS = "paths"  # in the workspace; part of the rule, in any order
    TESTS = "tests"  # like PATHS; other files are allowed too, if they are named like tests
    NEAR_TESTS = "near_tests"  # like TESTS, also files in a folder that is named like tests: `test/a.js`
    FILTERS = "filters"  # names of tests, or parts of their paths; an existing path counts as with TESTS
    PACKAGES = "packages"  # of Go: `./...`; part of the rule, in any order
    NUMBERS = "numbers"  # any
    TARGETS = "targets"  # targets and scripts: part of the rule, in the same order


class Known(Struct, frozen=True):
    """How a known command may be called.

    `options` is a list of words: `-q` is a flag; `-k=` has a value, attached or as the next word; `-j?` may have an
    attached value; `--cov!` must have one, because the program would take the next word for it; the value of `-m~` is a
    text that is never opened as a file; `--reporter=dot` is exactly that word.
    An option and its value become part of the rule, because they change what the command does (`--fix` writes).
    Exceptions are texts, and options that `matching` counts as neutral, such as `-q`."""

    options: str = ""
    operands: Operands = Operands.NONE
    bundles_flags: bool = False  # `-xvs` is `-x -v -s`
    after_double_dash: str | None = None  # options after `--`; None: no `--` at all
    is_git: bool = False  # git runs programs that a config names: only in the workspace's own repository
    calls_git: bool = False  # by itself, if there is a repository, which must be the workspace's own
    calls_git_below: bool = False  # like `calls_git`, but for each file, so that it enters other repositories
    write_options: str = ""  # options that make it change the files that it finds; `*`: it always may
    not_neutral: str = ""  # options that are neutral for other commands, but not for this one
    requires_one_of: str = ""  # one of these options must be given
    skipped_folders: str = ""  # folders of dependencies, in which it changes nothing
    runs_tests: bool = False  # those that it finds in a folder; implied by TESTS and NEAR_TESTS


_PACKAGES = ".venv venv node_modules"  # package managers link files from their caches into these
_PATHS, _TESTS, _NEAR_TESTS = Operands.PATHS, Operands.TESTS, Operands.NEAR_TESTS
_FILTERS, _TARGETS = Operands.FILTERS, Operands.TARGETS

_PYTEST = Known(
    "-q -v -s -x -l -k= -m= -n= -r= --quiet --verbose --exitfirst --maxfail= --lf --last-failed --ff --failed-first"
    " --nf --sw --stepwise --co --collect-only --setup-plan --fixtures --markers --setup-show --tb= --capture="
    " --showlocals --durations= --durations-min= --color= --no-header --no-summary --full-trace --disable-warnings"
    " --strict-markers --strict-config --runxfail --ignore= --ignore-glob= --deselect= --numprocesses= --dist=load"
    " --dist=loadfile --dist=loadscope --dist=worksteal --timeout= --reruns= --cov! --no-cov --cov-branch"
    " --cov-report=term --cov-report=term-missing --cov-fail-under= --benchmark-skip --benchmark-disable",
    _TESTS,
    bundles_flags=True,
)
_PYTHON: Mapping[str, Known] = {
    "pytest": _PYTEST,
    "py.test": _PYTEST,
    "python -m unittest": Known(
        "-v -q -f -b -k= --verbose --quiet --failfast --buffer --locals", _TARGETS, runs_tests=True
    ),
    "python manage.py test": Known("-k= -v= --verbosity= --failfast --keepdb --parallel!", _TARGETS, runs_tests=True),
    "mypy": Known(
        "-v --strict --pretty --no-pretty --show-error-codes --show-error-context --show-column-numbers"
        " --no-error-summary --no-color-output --hide-error-context --ignore-missing-imports --check-untyped-defs"
        " --disallow-untyped-defs --warn-unused-ignores --explicit-package-bases --namespace-packages --no-incremental"
        " --follow-imports= --python-version= --platform=",
        _PATHS,
    ),
    "pyright": Known("--warnings --stats --verbose --outputjson --level= --skipunannotated", _PATHS),
    "ruff check": Known(
        "-q -v -n -e --fix --unsafe-fixes --diff --quiet --verbose --no-fix --no-cache --preview --statistics"
        " --show-fixes --exit-zero --select= --ignore= --extend-select= --extend-ignore= --output-format="
        " --target-version= --line-length= --exclude= --force-exclude",
        _PATHS,
        write_options="*",  # a config can say `fix = true`
        skipped_folders=_PACKAGES,
    ),
    "ruff format": Known(
        "-q -v --check --diff --quiet --verbose --no-cache --preview --target-version= --line-length= --exclude="
        " --force-exclude",
        _PATHS,
        write_options="*",
        skipped_folders=_PACKAGES,
    ),
    "black": Known(
        "-q -v -l= -t= -S --check --diff --quiet --verbose --line-length= --target-version= --fast --safe --preview"
        " --color --no-color",
        _PATHS,
        write_options="*",
        skipped_folders=".venv venv",
    ),
    "isort": Known(
        "-q -v -c --check --check-only --diff --quiet --verbose -l= --line-length=",
        _PATHS,
        calls_git_below=True,  # a config can say `skip_gitignore = true`
        write_options="*",
        skipped_folders=_PACKAGES,
    ),
    "flake8": Known(
        "-q -v -j= --count --select= --ignore= --extend-ignore= --extend-select= --max-line-length= --max-complexity="
        " --statistics --show-source --exclude= --per-file-ignores=",
        _PATHS,
    ),
    "pylint": Known("-E -j= -d= -e= --errors-only --disable= --enable= -rn -sn", _PATHS),
    "bandit": Known("-r -q -v -l -ll -lll -i -ii -iii -s= -t=", _PATHS),
    "coverage report": Known("-m --show-missing --skip-covered --skip-empty --sort= --precision= --fail-under="),
    "tox": Known("-q -v -e= --skip-missing-interpreters?"),
    "nox": Known("-v -r -l -s= -e= -t= --list --reuse-existing-virtualenvs", not_neutral="-t="),
    "pre-commit run": Known("-a -v --all-files --verbose --show-diff-on-failure --color=", _TARGETS, calls_git=True),
    "yamllint": Known("-s --strict --no-warnings", _PATHS),
}

_JEST = Known(
    "-i -t= -u --runInBand --testNamePattern= --testPathPattern= --testPathPatterns= --verbose --silent --coverage"
    " --no-coverage --ci --bail --passWithNoTests --maxWorkers= -w= --no-cache --colors --forceExit"
    " --detectOpenHandles --listTests --findRelatedTests --expand --json --watchAll=false",
    _FILTERS,
    runs_tests=True,
)
_TSC = Known(
    "--noEmit -p= --project= --pretty --skipLibCheck --strict --listFiles --noErrorTruncation",
    write_options="*",  # a config can say `incremental`
    requires_one_of="--noEmit",
    skipped_folders=_PACKAGES,
)
_BIOME = Known(
    "--write --fix --unsafe --no-errors-on-unmatched --max-diagnostics= --diagnostic-level=",
    _PATHS,
    write_options="--write --fix --unsafe",
    skipped_folders="node_modules",
)
_NX = Known(operands=_TARGETS, calls_git=True)
_NODE: Mapping[str, Known] = {
    "jest": _JEST,
    "vitest run": Known(
        "-t= --testNamePattern= --coverage --no-coverage --bail= --passWithNoTests --retry="
        " --typecheck --allowOnly --hideSkippedTests --no-file-parallelism --no-color --reporter=default"
        " --reporter=verbose --reporter=dot --reporter=json",
        _FILTERS,
        runs_tests=True,
    ),
    "mocha": Known(
        "-g= -f= -b -t= --grep= --fgrep= --bail --timeout= --exit --recursive --forbid-only --no-color --reporter=spec"
        " --reporter=dot",
        _NEAR_TESTS,
    ),
    "playwright test": Known(
        "-g= -x -j= --grep= --project= --workers= --retries= --max-failures= --list --reporter=list --reporter=line"
        " --reporter=dot",
        _FILTERS,
        runs_tests=True,
    ),
    "eslint": Known(
        "--fix --ext= --max-warnings= --quiet --no-warn-ignored --color --no-color --format=stylish --format=json"
        " --report-unused-disable-directives --no-error-on-unmatched-pattern",
        _PATHS,
        write_options="--fix",
        skipped_folders="node_modules",
    ),
    "prettier": Known(
        "-c -l -w -u --check --list-different --write --ignore-unknown --log-level= --no-color"
        " --no-error-on-unmatched-pattern",
        _PATHS,
        write_options="-w --write",
        skipped_folders="node_modules",
    ),
    "stylelint": Known(
        "--fix -q --quiet --allow-empty-input --max-warnings= --color --no-color",
        _PATHS,
        write_options="*",  # a config can say `fix: true`
        skipped_folders="node_modules",
    ),
    "biome check": _BIOME,
    "biome lint": _BIOME,
    "biome format": _BIOME,
    "biome ci": _BIOME,
    "oxlint": Known(
        "--fix --quiet --deny-warnings --max-warnings=", _PATHS, write_options="--fix", skipped_folders="node_modules"
    ),
    "tsc": _TSC,
    "vue-tsc": _TSC,
    "svelte-check": Known("--fail-on-warnings --threshold="),
    "next build": Known("--no-lint"),
    "next lint": Known("--fix --quiet", write_options="--fix", skipped_folders="node_modules"),
    "vite build": Known(),
    "astro check": Known(),
    "turbo run": Known("-F=", _TARGETS, calls_git=True),
    "nx test": _NX,
    "nx build": _NX,
    "nx lint": _NX,
}
# `npm` itself reads the options after a script's name; `pnpm`, `yarn` and `bun` pass them to the script.
_NPM = Known("-s -w= --silent --workspace= --workspaces --if-present", _TARGETS)
_SCRIPT = Known(operands=_TARGETS)
_SCRIPTS: Mapping[str, Known] = {
    "npm test": _NPM,
    "npm run": _NPM,
    "npm run-script": _NPM,
    **{f"{tool} {word}": _SCRIPT for tool in ("pnpm", "yarn") for word in ("run", "test", "build", "lint")},
    **{f"{tool} {word}": _SCRIPT for tool in ("pnpm", "yarn") for word in ("typecheck", "type-check", "check")},
    "bun run": _SCRIPT,
    "bun test": Known("-t= --bail! --timeout= --coverage --only --todo --test-name-pattern=", _NEAR_TESTS),
    "deno task": _SCRIPT,
    "deno test": Known("-q -A --allow-all --filter= --parallel --no-check --fail-fast --quiet", _NEAR_TESTS),
    "deno lint": Known("-q --fix --quiet", _PATHS, write_options="--fix", skipped_folders="node_modules"),
    "deno fmt": Known("-q --check --quiet", _PATHS, write_options="*", skipped_folders="node_modules"),
    "deno check": Known("-q --quiet", _PATHS),
    "node --test": Known(
        "--test-only --test-name-pattern! --test-concurrency! --test-reporter=spec --test-reporter=tap"
        " --test-reporter=dot",
        _NEAR_TESTS,
    ),
}

_CARGO = (
    "-q -v -vv -r -p= -j= -F= --quiet --verbose --release --profile= --package= --workspace --all --exclude= --lib"
    " --bins --bin= --tests --test= --examples --example= --benches --bench= --all-targets --features= --all-features"
    " --no-default-features --locked --offline --frozen --jobs= --keep-going --message-format= --color="
)
_LIBTEST = (
    "-q --quiet --nocapture --no-capture --show-output --exact --ignored --include-ignored --list --test-threads="
    " --skip= --color= --format="
)
_RUST: Mapping[str, Known] = {
    "cargo test": Known(f"{_CARGO} --doc --no-run --no-fail-fast", _FILTERS, after_double_dash=_LIBTEST),
    "cargo bench": Known(f"{_CARGO} --no-run --no-fail-fast", _FILTERS),
    "cargo nextest run": Known(
        f"{_CARGO} --no-fail-fast --no-capture --nocapture --retries= --test-threads= -E=", _FILTERS
    ),
    "cargo build": Known(_CARGO),
    "cargo check": Known(_CARGO),
    "cargo clippy": Known(f"{_CARGO} --no-deps", after_double_dash="-D= -W= -A= -Dwarnings --deny= --warn= --allow="),
    "cargo doc": Known(f"{_CARGO} --no-deps --document-private-items"),
    "cargo fmt": Known(
        "-q -v -p= --check --all --package= --quiet --verbose", after_double_dash="--check", requires_one_of="--check"
    ),
}

_GO_BUILD = "-v -x -n -a -race -tags= -p= -trimpath"
_GO: Mapping[str, Known] = {
    "go test": Known(
        f"{_GO_BUILD} -run= -skip= -count= -timeout= -short -failfast -json -cover -covermode= -parallel= -cpu= -list="
        " -bench= -benchmem -benchtime= -shuffle= -vet=off",
        Operands.PACKAGES,
    ),
    "go build": Known(
        f"{_GO_BUILD} -o=",
        _TARGETS,
        write_options="*",
        calls_git=True,  # to embed the revision
        skipped_folders=_PACKAGES,
    ),
    "go vet": Known("-v -x -n -json -tags=", Operands.PACKAGES),
    "go fmt": Known("-n -x", Operands.PACKAGES, write_options="*", skipped_folders=".venv"),
    "gofmt": Known("-l -d -w -s -e", _PATHS, write_options="-w", not_neutral="-s"),
    "staticcheck": Known("-tags= -tests?", Operands.PACKAGES),
    "golangci-lint run": Known(
        "-v -E= -D= --fix --timeout= --fast --enable= --disable= --verbose",
        _PATHS,
        write_options="*",  # a config can say `fix: true`
        calls_git=True,  # and `new: true`
        skipped_folders=".venv",
    ),
}

_MAKE = Known(
    "-k -n -B -s -i -j? -O? -C= --keep-going --dry-run --just-print --silent --always-make --no-print-directory"
    " --directory=",
    _TARGETS,
    bundles_flags=True,
    not_neutral="-B",
)
_GRADLE = Known(
    "-q -i -s -x= --quiet --info --stacktrace --offline --continue --parallel --no-daemon --daemon --rerun-tasks"
    " --build-cache --no-build-cache --tests= --console= --warning-mode=",
    _TARGETS,
)
_MVN = Known(
    "-q -B -o -e -X -am -ff -fae -fn -ntp --quiet --batch-mode --offline --errors --no-transfer-progress -pl="
    " -DskipTests -Dtest? -Dsurefire.failIfNoSpecifiedTests=false",
    _TARGETS,
)
_DOTNET = "-c= -f= -v= --configuration= --framework= --verbosity= --no-restore --nologo"
_SWIFT = "-c= -v -q --configuration= --verbose --quiet"
_BUILDERS: Mapping[str, Known] = {
    "make": _MAKE,
    "gmake": _MAKE,
    "just": _SCRIPT,
    "task": _SCRIPT,
    "rake": _SCRIPT,
    "ninja": Known("-v -n -j= -k= -C=", _TARGETS),
    "meson test": Known("-v -C= --suite= --verbose --print-errorlogs --no-rebuild", _TARGETS),
    "meson compile": Known("-v -j= -C= --verbose --jobs=", _TARGETS),
    "cmake --build": Known("-v -j? --verbose --parallel! --target= --config=", _TARGETS),
    "ctest": Known(
        "-V -VV -Q -N -R= -E= -L= -LE= -j= -C= --verbose --output-on-failure --rerun-failed --stop-on-failure"
        " --test-dir= --timeout= --parallel! --progress"
    ),
    "gradle": _GRADLE,
    "./gradlew": _GRADLE,
    "mvn": _MVN,
    "./mvnw": _MVN,
    "sbt": _SCRIPT,
    "ant": _SCRIPT,
    "lein test": _SCRIPT,
    "dotnet test": Known(f"{_DOTNET} --no-build --filter= --list-tests", _TARGETS, not_neutral="--filter="),
    "dotnet build": Known(_DOTNET, _TARGETS),
    "dotnet format": Known("-v= --verify-no-changes --verbosity= --no-restore", _TARGETS, write_options="*"),
    "swift test": Known(f"{_SWIFT} --filter= --skip= --parallel --enable-code-coverage"),
    "swift build": Known(f"{_SWIFT} --target= --product="),
    "stack test": Known("--fast", _TARGETS),
    "stack build": Known("--fast", _TARGETS),
    "cabal test": _SCRIPT,
    "cabal build": _SCRIPT,
    "dune build": _SCRIPT,
    "dune test": _SCRIPT,
    "dune runtest": _SCRIPT,
    "zig build": _SCRIPT,
    "zig test": _SCRIPT,
    "gleam test": Known(),
    "flutter test": Known("-j= --name= --plain-name= --coverage --concurrency= --no-pub", _NEAR_TESTS),
    "flutter analyze": Known("--no-pub --fatal-infos --fatal-warnings", _PATHS),
    "dart test": Known("-n= -N= -j= --name= --plain-name= --concurrency=", _NEAR_TESTS),
    "dart analyze": Known("--fatal-infos --fatal-warnings", _PATHS),
    "dart format": Known("-o= --output= --set-exit-if-changed", _PATHS, write_options="*", skipped_folders=".venv"),
    "mix test": Known(
        "--trace --failed --stale --cover --color --no-color --warnings-as-errors --only= --exclude= --include= --seed="
        " --max-failures= --slowest=",
        _TESTS,
    ),
    "mix compile": Known("--force --warnings-as-errors --all-warnings"),
    "mix format": Known("--check-formatted --dry-run", _PATHS, write_options="*"),
    "mix credo": Known("--strict --all", _PATHS),
    "terraform validate": Known("-no-color -json"),
    "terraform fmt": Known("-check -diff -recursive -no-color", _PATHS, write_options="*", skipped_folders=".venv"),
    "shellcheck": Known("-s= -S= -e= --shell= --severity= --exclude=", _PATHS),
    "prove": Known(
        "-v -r -l -b -q -s -j= --verbose --recurse --lib --blib", _TESTS, bundles_flags=True, not_neutral="--lib"
    ),
    "bats": Known("-r -t -j= -f= --recursive --tap --jobs= --filter=", _TESTS),
}

_RAILS_TEST = Known("-v -b -f -n= -s= --verbose --fail-fast --name= --seed=", _TESTS)
_RUBY: Mapping[str, Known] = {
    "rspec": Known(
        "-e= -t= -b -c -fd -fp --example= --tag= --backtrace --fail-fast --only-failures --next-failure --seed="
        " --order= --color --no-color --dry-run --format=documentation --format=progress",
        _TESTS,
    ),
    "rubocop": Known(
        "-a -A -l --autocorrect --autocorrect-all --lint --only= --except= --parallel --fail-fast",
        _PATHS,
        write_options="*",  # a file `.rubocop` can hold `-a`
        skipped_folders="node_modules vendor",
    ),
    "rails test": _RAILS_TEST,
    "rake": _SCRIPT,
}

_PHPUNIT = Known(
    "-v --filter= --testsuite= --group= --exclude-group= --stop-on-failure --stop-on-error --testdox --colors?"
    " --verbose --no-coverage --list-tests --order-by=",
    _TESTS,
)
_PHP: Mapping[str, Known] = {
    "phpunit": _PHPUNIT,
    "pest": _PHPUNIT,
    "phpstan analyse": Known("-l= --level= --no-progress --memory-limit= --ansi --no-ansi", _PATHS),
    "php artisan test": Known("--filter= --testsuite= --parallel --stop-on-failure --compact", _TESTS),
    "composer test": _SCRIPT,
    "composer run": _SCRIPT,
    "composer run-script": _SCRIPT,
}

# The only subcommands of `git` and `gh`. `--jq` could print the environment; `-R` and `-w` leave this repository.
_GH_LIST = "-L= -s= -l= -a= -A= --limit= --state= --label= --assignee= --author= --json="
_GH_VIEW = Known("-c --comments --json=", Operands.NUMBERS)
_HOSTED: Mapping[str, Known] = {
    "git add": Known("-A -u -v -n -N --all --update --verbose --dry-run", _PATHS, bundles_flags=True, is_git=True),
    "git commit": Known(
        "-a -q -s -m~ --all --quiet --signoff --message~ --amend --no-edit --allow-empty",
        _PATHS,
        bundles_flags=True,
        not_neutral="-s",
        requires_one_of="-m --message --no-edit",  # else it opens an editor
        is_git=True,
    ),
    "gh pr view": _GH_VIEW,
    "gh pr list": Known(f"{_GH_LIST} -B= -d --base= --draft"),
    "gh pr status": Known(),
    "gh pr checks": Known("--watch --required --fail-fast", Operands.NUMBERS),
    "gh pr diff": Known("--name-only --patch --color=", Operands.NUMBERS),
    "gh issue view": _GH_VIEW,
    "gh issue list": Known(_GH_LIST),
    "gh issue status": Known(),
    "gh run view": Known("-v -j= --verbose --log --log-failed --exit-status --job=", Operands.NUMBERS),
    "gh run list": Known("-L= -b= -s= -u= --limit= --branch= --status= --user= --json="),
}


def _by_first_words(*tables: Mapping[str, Known]) -> Mapping[tuple[str, ...], Known]:
    return MappingProxyType({tuple(name.split()): known for table in tables for name, known in table.items()})


def _programs(*tables: Mapping[str, Known]) -> frozenset[str]:
    return frozenset(name.split()[0] for table in tables for name in table)


KNOWN: Mapping[tuple[str, ...], Known] = _by_first_words(
    _PYTHON, _NODE, _SCRIPTS, _RUST, _GO, _BUILDERS, _RUBY, _PHP, _HOSTED
)
# `uv run pytest` counts as `pytest`: words before a program of the project's own environment.
LAUNCHERS: Mapping[tuple[str, ...], frozenset[str]] = MappingProxyType(
    {
        # Python imports from its folder first, so a linter would run a `mypy.py` there, as a test runner does anyway.
        ("python", "-m"): frozenset({"pytest", "tox", "nox"}),
        **{(tool, "run"): _programs(_PYTHON) for tool in ("uv", "poetry", "pdm", "pipenv", "rye", "hatch")},
        ("npx",): _programs(_NODE),
        ("bunx",): _programs(_NODE),
        ("yarn",): _programs(_NODE),
        ("pnpm", "exec"): _programs(_NODE),
        ("bundle", "exec"): _programs(_RUBY),
    }
)
