"""The rule that is offered with a yes, and what a rule that ends in `…` means."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from clew.engine.rules.decide import decide, validated_pattern
from clew.engine.rules.offered import matching
from clew.engine.rules.offered.known_commands import KNOWN, LAUNCHERS, Known, Operands
from clew.engine.rules.offered.suggest import suggest_pattern
from clew.engine.rules.shell import scripts
from clew.engine.rules.shell.lenient import SHELLS
from clew.engine.rules.shell.wrappers import WRAPPERS
from clew.model.gates import Asked, Effect, GateKind, Policy, Rule, RuleKind, Scope
from clew.support.errors import BadInput
from tests.helpers.paths import ROOT


@pytest.fixture
def work(tmp_path: Path) -> Path:
    work = tmp_path / "work"
    for folder in (".git/objects", ".git/refs", "src/deep", "tests", "packages/a", "node_modules", "../away"):
        (work / folder).mkdir(parents=True)
    (tmp_path / "secret").write_text("s")
    (work / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (work / "link").symlink_to(tmp_path / "secret")
    (work / "in").symlink_to(work / "src")
    return work


def command(line: str, folder: Path | str | None = None) -> Asked:
    return Asked(GateKind.COMMAND, line, folder=str(folder) if folder else None)


def change(*paths: str) -> Asked:
    return Asked(GateKind.CHANGE, "\n".join(paths), paths=paths)


def allow(pattern: str, kind: RuleKind = RuleKind.COMMAND) -> Rule:
    return Rule("01R", Effect.ALLOW, kind, pattern, Scope.EVERYWHERE, "", created_at=0)


def effect(asked: Asked, pattern: str, kind: RuleKind, work: Path | str) -> str:
    return decide(asked, Policy.CAREFUL, str(work), [allow(pattern, kind)], 1, "01T").effect.value


OFFERED = {
    "pytest -q tests": "pytest tests …",
    "pytest -q tests/test_a.py::test_b": "pytest tests/test_a.py …",
    "pytest -x": "pytest …",
    "/bin/bash -lc 'pytest -q'": "pytest …",
    "python3.11 -m pytest -q": "python3.11 -m pytest …",
    ".venv/bin/python -m pytest": ".venv/bin/python -m pytest …",
    "uv run pytest -q": "uv run pytest …",
    "uv run python -m pytest": "uv run python -m pytest …",
    "npm test": "npm test …",
    "npm run test:unit": "npm run test:unit …",
    "npx tsc --noEmit": "npx tsc --noEmit …",
    "npx tsc --noEmit --pretty -p src": "npx tsc --noEmit -p src …",
    "pytest --cov=src tests": "pytest --cov=src tests …",
    "dotnet build -c Release": "dotnet build -c Release …",
    "cargo build --release": "cargo build …",
    "make": "make …",
    "make -j4 lint test": "make lint test …",
    "make -C packages/a test": "make -C packages/a test …",
    "go test ./src": "go test ./src …",
    "ruff check tests src --fix": "ruff check --fix src tests …",
    "git commit -m x": "git commit …",
    "gh pr view 12": "gh pr view …",
}
NOT_OFFERED = """
    make -Oclean test | make -kOclean test | gmake -Otarget test
    rm x | rm -rf x | dd if=a | sudo ls | bash x.sh | sh -c 'rm x' | python -c x | python x.py | python manage.py shell
    node -e x | node x.js | perl -ne x | python | uv run python -c x | uv run --with x pytest | uv run bash | uv run
    uv sync | uv pip install x | git push | git -C x log | git reset --hard | git submodule status | git fetch
    git log --output=x | npm publish | npm install | npm run deploy | npm exec x | docker ps | docker run x
    docker compose up | kubectl get pods | npx x | npx -y jest | curl x | pytest; rm x | pytest $(x) | pytest > x
    find . -delete | env pytest | timeout 5 pytest | ../x y | 'my prog' x | kill 1 | sed -i x y | poetry run sudo ls
    make X=1 | make deploy | make install | make -f x | eval x | tar xf a | ./scripts/test.sh | cat /etc/hosts
    gh repo delete x | gh api x | gh pr merge 1 | pytest /etc | pytest -p x | 'go test' | 'pytest -q' | terraform apply
    pytest --version | make --version | A=b pytest | pytest 'a\u200bb'
    npx tsc --noEmit --pretty false | tsc --noEmit src | vue-tsc --noEmit false | npm run build --if-present false
    make true | jest --ci False | npm test null | pytest tests --cov | pytest --cov tests
    node --test --test-concurrency | node --test --test-name-pattern tests
    python manage.py test --parallel | cmake --build build --parallel
    npx vitest run --silent src | nox -s deploy | nox -s tests-release | tox -e publish | make deploy2 | make redeploy
    cmake --build build --target=install | cmake --build build --target deploy | gradle publi | gradle pTML
    npm run build -w release | npm run predeploy | just deploys | ninja -C build uninstall2
"""


@pytest.mark.parametrize("line", OFFERED, ids=repr)
def test_an_offered_rule_matches_the_request(work: Path, line: str) -> None:
    (work / "link").unlink()  # a compiler could write through it
    (work / "tests/test_a.py").write_text("x")
    for folder in (work, None):
        offered = suggest_pattern(command(line, folder), str(work))
        assert offered == OFFERED[line]
        assert effect(command(line, folder), offered, RuleKind.COMMAND, work) == "allow"
        assert validated_pattern(Effect.ALLOW, RuleKind.COMMAND, offered) == offered


@pytest.mark.parametrize("line", [each.strip() for row in NOT_OFFERED.split("\n") for each in row.split("|")], ids=repr)
def test_nothing_is_offered_for_an_unknown_command(work: Path, line: str) -> None:
    (work / "link").unlink()  # nothing would be offered because of it
    assert suggest_pattern(command(line, work), str(work)) is None


@pytest.mark.parametrize("folder", ["/", "/etc", "{work}/..", "{work}/../away"])
def test_nothing_is_offered_outside_the_workspace(work: Path, folder: str) -> None:
    assert suggest_pattern(command("pytest", folder.format(work=work)), str(work)) is None


def test_nothing_is_offered_in_the_root_folder() -> None:
    assert suggest_pattern(command("pytest", "/"), "/") is None


@pytest.mark.parametrize("program", ["git", "gh", "docker", "uv", "npm"])
def test_a_rule_for_a_program_with_subcommands_has_two_words_at_least(program: str) -> None:
    assert all(len(words) > 1 for words in (*KNOWN, *LAUNCHERS) if words[0] == program)


def test_no_known_command_only_runs_another() -> None:
    assert not {words[0] for words in KNOWN} & (WRAPPERS | SHELLS)


def test_git_rules_are_offered_only_in_a_repository_without_others_below(work: Path) -> None:
    assert suggest_pattern(command("git commit -m x", work), str(work)) == "git commit …"
    (work / "packages/a/.git").mkdir()
    assert suggest_pattern(command("git commit -m x", work), str(work)) is None
    assert suggest_pattern(command("git commit -m x", work / "packages/a"), str(work)) is None


@pytest.mark.parametrize(
    "line", ["go build ./...", "golangci-lint run", "pre-commit run", "turbo run test", "nx test app"]
)
def test_a_tool_that_calls_git_is_not_offered_in_another_repository(work: Path, line: str) -> None:
    (work / "link").unlink()  # a compiler could write through it
    below = work / "packages/a"
    assert suggest_pattern(command(line, below), str(work)) == f"cd packages/a && {line} …"
    assert suggest_pattern(command(line, below), str(below)) is not None  # without any repository
    (below / ".git").mkdir()
    assert suggest_pattern(command(line, below), str(work)) is None


@pytest.mark.parametrize("place", ["packages/a", "packages/a/deep", "node_modules/x"])
def test_isort_is_not_offered_if_there_is_any_other_repository(work: Path, place: str) -> None:
    """With `skip_gitignore` it calls git in the folder of each file."""
    (work / "link").unlink()
    (work / ".gitignore").write_text("node_modules/\n")
    asked = command("isort packages", work)
    assert suggest_pattern(asked, str(work)) == "isort packages …"
    (work / place / ".git").mkdir(parents=True)
    assert suggest_pattern(asked, str(work)) is None
    assert effect(asked, "isort packages …", RuleKind.COMMAND, work) == "ask"
    assert suggest_pattern(command("isort .", work / "src"), str(work / "src")) is None  # not the top of a repository


@pytest.mark.parametrize("line", ["git add .", "git add . ; git add .", "git add . && git commit -am x"])
def test_a_repository_below_ends_what_a_rule_for_git_allows(work: Path, line: str) -> None:
    """The first `git add` makes it a submodule, and the next call of git runs what its config names."""
    rules = [allow(pattern) for pattern in ("git add …", "git commit …")]
    (work / "src/deep/.git").mkdir()
    asked = command(line, work)
    assert decide(asked, Policy.CAREFUL, str(work), rules, 1, "01T").effect is Effect.ASK


@pytest.mark.parametrize(
    ("line", "fits"),
    [
        ("git add .", True),
        ("git commit -m x | tail -5", True),
        ("pytest -q && git add .", True),
        ("git add -A && git commit -m x", True),
        ("git add . && git commit -m x && git status", False),
        ("make && git add . && git commit -m x", False),
        ("git add . && /usr/bin/git status", False),
        ("git add . ; bin/git commit -m x", False),
        ("git add . && go build ./...", False),
    ],
)
def test_a_git_rule_allows_one_call_of_git_or_add_and_commit(work: Path, line: str, fits: bool) -> None:
    parts = scripts.parse_script(line, str(work), str(work))
    assert parts is not None
    assert matching.may_judge_script("git add …", parts, str(work)) is fits
    assert matching.may_judge_script("pytest …", parts, str(work))


def test_add_and_commit_in_one_script_need_a_searched_workspace(work: Path) -> None:
    rules = [allow("git add -A …"), allow("git commit …")]
    asked = command("git add -A && git commit -m x", work)
    assert decide(asked, Policy.CAREFUL, str(work), rules, 1, "01T").effect is Effect.ALLOW
    assert decide(asked, Policy.CAREFUL, str(work), rules[:1], 1, "01T").effect is Effect.ASK
    (work / ".gitignore").write_text("node_modules/\n")
    (work / "node_modules/x/.git").mkdir(parents=True)
    assert decide(asked, Policy.CAREFUL, str(work), rules, 1, "01T").effect is Effect.ASK
    one = command("git add -A", work)
    assert decide(one, Policy.CAREFUL, str(work), rules, 1, "01T").effect is Effect.ALLOW


# Rules that a person writes


@pytest.mark.parametrize(
    ("pattern", "hint"),
    [
        ("deploy …", "has no list of options"),
        ("pytest -q …", "write `pytest …`"),
        ("ruff check -q src …", "write `ruff check src …`"),
        ("make deploy …", "has no list"),
        ("…", "has no list"),
        ("sudo pytest …", "has no list"),
        ("ls && pytest …", "has no list"),
    ],
)
def test_a_pattern_that_means_nothing_is_refused_with_help(pattern: str, hint: str) -> None:
    with pytest.raises(BadInput, match=hint):
        validated_pattern(Effect.ALLOW, RuleKind.COMMAND, pattern)


def test_only_an_allow_of_commands_and_changes_can_end_in_an_ellipsis() -> None:
    for effect_, kind, pattern in (
        (Effect.DENY, RuleKind.COMMAND, "pytest …"),
        (Effect.ASK, RuleKind.CHANGE, "src/…"),
        (Effect.ALLOW, RuleKind.TOOL, "github.…"),
        (Effect.ALLOW, RuleKind.CHANGE, "src…"),
    ):
        with pytest.raises(BadInput, match="…"):
            validated_pattern(effect_, kind, pattern)
    assert validated_pattern(Effect.ALLOW, RuleKind.CHANGE, "src/…") == "src/…"


def test_the_order_of_options_in_a_rule_does_not_matter(work: Path) -> None:
    (work / "link").unlink()  # the compiler could write through it
    for pattern in ("tsc --noEmit -p tsconfig.json …", "tsc -p tsconfig.json --noEmit …"):
        assert effect(command("tsc -p tsconfig.json --noEmit", work), pattern, RuleKind.COMMAND, work) == "allow"
        assert effect(command("tsc -p other.json --noEmit", work), pattern, RuleKind.COMMAND, work) == "ask"


@pytest.mark.parametrize("line", ["pytest -p x", "git commit --amend", "npm run deploy", "make X=1"])
def test_a_star_still_matches_whatever_follows(work: Path, line: str) -> None:
    assert effect(command(line, work), f"{line.split()[0]} *", RuleKind.COMMAND, work) == "allow"


# Changes and tools


def test_for_a_change_its_folder_is_offered(work: Path) -> None:
    def offered(*paths: str) -> str | None:
        return suggest_pattern(change(*paths), str(work))

    assert offered("src/a.py", "src/deep/b.ts") == offered(f"{work}/src/a.py") == offered("in/a.md") == "src/…"
    assert offered("src/deep/b.css") == "src/deep/…"
    assert offered("a.txt") == "a.txt"
    for paths in ((), ("a.txt", "src/m.py"), ("link",), ("../x.py",), ("/etc/x.py",), ("a*/x.py",), ("с\u200b/x.py",)):
        assert offered(*paths) is None, paths


RUN_BY_TOOLS = """
    .git/config .github/workflows/ci.yml .vscode/tasks.json .husky/pre-commit .devcontainer/devcontainer.json .envrc
    .claude/settings.json .cursor/rules .gitattributes .npmrc .pre-commit-config.yaml .venv/x.py .env conftest.py
    src/sitecustomize/__init__.py src/usercustomize/x.py tests/conftest/__init__.py src/a.egg-info/entry_points.txt
    src/a-1.dist-info/top_level.txt src/knexfile.ts src/truffle-config.js src/ormconfig.ts src/serverless.ts
    src/codegen.ts src/config-overrides.js src/cucumber.mjs src/tasks.py src/tasks/__init__.py tasks/build.py
    project/Build.scala src/project/deep/X.scala requirements/base.txt src/requirements/dev.txt
    tests/conftest.py Makefile src/Makefile package.json src/package.json packages/a/package.json src/vite.config.ts
    src/build.rs Cargo.toml pyproject.toml setup.py justfile Rakefile Dockerfile src/Dockerfile AGENTS.md src/CLAUDE.md
    src/.hidden/x src/deep/.envrc node_modules/x/index.js bin/x src/bin/x hooks/post-commit src/x.pth flake.nix
    build.gradle.kts pom.xml CMakeLists.txt sitecustomize.py SRC/CONFTEST.PY src/vite.config.cts src/jest.config.json
    src/vitest.workspace.ts src/karma.conf.js src/webpack.config.babel.js src/webpack.common.js src/babel.config.json
    src/project.json src/bunfig.toml src/package.yaml src/package.json5 src/Taskfile.dist.yml src/rust-toolchain
    src/rust-toolchain.toml src/BUILD src/WORKSPACE src/dune src/dune-workspace src/plugins.sbt src/build.sc
    src/project.clj src/deps.edn src/rebar.config src/SConstruct src/wscript src/xmake.lua src/Earthfile src/Tiltfile
    src/pylintrc src/mypy.ini src/pytest.toml src/phpunit.xml src/phpunit.xml.dist src/phpstan.neon src/rector.php
    src/lefthook.yml src/gradle/wrapper/gradle-wrapper.properties src/gradlew.bat src/lib/tasks/x.rake src/config.ru
    src/Thorfile src/Podfile src/Fastfile src/Capfile src/toxfile.py src/hatch_build.py src/hatch.toml src/dodo.py
    src/conf.py src/AGENTS.override.md src/CLAUDE.local.md src/QWEN.md src/AGENT.md src/HERMES.md src/SOUL.md
    src/opencode.json src/opencode.jsonc src/mcp.json src/.mcp.json src/requirements.txt src/dev-requirements.txt
    src/Setup.hs src/cabal.project src/build.zig.zon src/Directory.Build.rsp src/nuget.config src/mkdocs.yml
    src/yarn.lock src/pnpm-lock.yaml src/Cargo.lock src/uv.lock src/pdm.toml src/ruff.toml src/biome.json src/mise.toml
    src/devbox.json src/configure src/CMakePresets.json src/angular.json src/mocharc.js src/ember-cli-build.js
    src/Snakefile src/meson_options.txt src/spec_helper.rb src/test_helper.exs src/config.exs src/coffee.mk src/x
    src/x.unknown src/x.sh src/x.json src/x.yml
"""


@pytest.mark.parametrize("path", RUN_BY_TOOLS.split())
def test_no_offered_rule_matches_files_that_tools_run(work: Path, path: str) -> None:
    assert suggest_pattern(change(path), str(work)) is None
    assert suggest_pattern(change("src/m.py", path), str(work)) is None
    for offered in {f"{top}/…" for top in ("src", "tests", "packages/a", "src/deep")}:
        assert effect(change(path), offered, RuleKind.CHANGE, work) == "ask"
    assert effect(change(path), path, RuleKind.CHANGE, work) == "allow"


def test_a_folder_with_an_ellipsis_matches_files_at_any_depth(work: Path) -> None:
    for path in (
        "src/m.py",
        "src/deep/new/x.ts",
        "in/m.py",
        "src/README.md",
        "src/m.test.tsx",
        "src/test_m.py",
        "src/project/x.py",
    ):
        assert effect(change(path), "src/…", RuleKind.CHANGE, work) == "allow", path
    for path in ("docs/x.md", "src/../a.txt", "src/../../secret.md", "link", "srcs/x.md"):
        assert effect(change(path), "src/…", RuleKind.CHANGE, work) == "ask", path
    assert effect(change("src/m.py", "docs/x.md"), "src/…", RuleKind.CHANGE, work) == "ask"


@pytest.mark.parametrize(
    "path", [".vscode/tasks.json", ".husky/pre-commit", ".devcontainer/devcontainer.json", ".cursor/mcp.json"]
)
def test_folders_that_editors_agents_and_git_run_from_are_allowed_only_by_name(work: Path, path: str) -> None:
    assert effect(change(path), "**", RuleKind.CHANGE, work) == "ask"
    assert effect(change(f"src/{path}"), "src/**", RuleKind.CHANGE, work) == "ask"
    assert decide(change(path), Policy.TRUSTED, str(work), [], 1, "01T").effect is Effect.ASK
    assert effect(change(path), f"{path.split('/')[0]}/**", RuleKind.CHANGE, work) == "allow"


@pytest.mark.parametrize("pattern", ["src/…", "src/a.py"])
def test_a_rule_that_is_offered_after_an_edit_deletes_nothing(work: Path, pattern: str) -> None:
    edits = change("src/a.py")
    deletes = replace(edits, removes=True)
    assert effect(edits, pattern, RuleKind.CHANGE, work) == "allow"
    assert effect(deletes, pattern, RuleKind.CHANGE, work) == "ask"
    assert effect(deletes, "src/**", RuleKind.CHANGE, work) == "allow", "whoever wrote it meant all that lies there"
    assert suggest_pattern(edits, str(work)) == "src/…" and suggest_pattern(deletes, str(work)) is None
    assert edits.subject != deletes.subject


@pytest.mark.parametrize("pattern", ["src/…", "src/**", "**", "src/a.py"])
def test_a_hard_link_to_a_file_outside_is_asked_about(work: Path, tmp_path: Path, pattern: str) -> None:
    (work / "src/a.py").hardlink_to(tmp_path / "secret")
    (work / "src/b.py").write_text("x")
    for path in ("src/a.py", str(work / "src/a.py"), "in/a.py"):
        assert effect(change(path), pattern, RuleKind.CHANGE, work) == "ask"
        assert effect(change("src/b.py", path), pattern, RuleKind.CHANGE, work) == "ask"
        assert suggest_pattern(change(path), str(work)) is None


def test_a_hard_link_is_asked_about_under_the_trusted_policy(work: Path, tmp_path: Path) -> None:
    (work / "src/a.py").hardlink_to(tmp_path / "secret")
    (work / "src/b.py").write_text("x")
    for path, expected in (("src/a.py", "ask"), ("src/b.py", "allow"), ("src/new.py", "allow")):
        verdict = decide(change(path), Policy.TRUSTED, str(work), [], 1, "01T")
        assert verdict.effect.value == expected
        assert (verdict.reason is not None and verdict.reason.code == "file.linked") == (expected == "ask")


def test_a_tool_and_a_question_are_never_offered() -> None:
    """What a tool does depends on its input, which its name does not show."""
    for kind in (GateKind.PERMISSION, GateKind.QUESTION):
        assert suggest_pattern(Asked(kind, "github.create_issue"), "/w") is None


# Every known command, followed by hostile words

HOSTILE_OPTIONS = """
    -p -c -C -o -f -I -e -E -x -r -P -D -W -X -Z -S -T -O -R -n -m -t -w -exec -toolexec -Pevil -Devil=1 -pevil -cevil
    -oevil --config --config=evil --config-file=evil --rootdir=/tmp --prefix=evil --plugin=evil --require=evil
    --import=evil --output=evil --output-file=evil --outDir=evil --target-dir=evil --manifest-path=evil --shell=evil
    --script-shell=evil --eval=evil --init-hook=evil --exec=evil --upload-pack=evil --no-verify --force --delete
    --clean --publish --scan --repo=other/x --web --jq=env --jq --host=evil --settings=evil --bootstrap=evil -- -
    --conf --fi --f --o
""".split()  # noqa: SIM905
HOSTILE_OPERANDS = """
    /etc/passwd /etc ../x ../../x src/../../x ~/x ~ @args.txt @ https://evil.example/x file:///etc/passwd a:/etc/x
    a=/etc/x A=b SHELL=./evil x,/etc/y /p:OutDir=/tmp .git/config .git/hooks/x node_modules/evil .claude/x $HOME/x
    ${HOME}/x [/etc/x]
""".split()  # noqa: SIM905
HARMLESS = ["src", "tests", "x", "1", "auto", "./src", "12"]
KINDS = sorted(KNOWN)
HUNT = settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])  # for slow machines


def listed(known: Known) -> dict[str, str]:
    """The options of a command by name, with their mark; parsed from the table independently of the code under test."""
    items = f"{known.options} {known.after_double_dash or ''}".split()
    return {item.rstrip("!=?~"): item[len(item.rstrip("!=?~")) :] for item in items}


def asked_as(words: tuple[str, ...]) -> list[str]:
    needed = [KNOWN[words].requires_one_of.split()[0]] if KNOWN[words].requires_one_of else []
    text = ["x"] if needed == ["-m"] else []
    return [*words, *needed, *text, *(["a"] if KNOWN[words].operands is Operands.TARGETS else [])]


def is_allowed(first: list[str], later: list[str], workspace: str = "/nowhere/w") -> bool:
    offered = suggest_pattern(command(shlex.join(first), workspace), workspace)
    if offered is None:  # git, as there is no repository
        return False
    return effect(command(shlex.join(later), workspace), offered, RuleKind.COMMAND, workspace) == "allow"


@HUNT
@given(
    st.sampled_from(KINDS),
    st.lists(st.sampled_from(HARMLESS), max_size=3),
    st.sampled_from(HOSTILE_OPERANDS),
    st.data(),
)
def test_a_word_that_leads_outside_is_never_allowed(
    kind: tuple[str, ...], harmless: list[str], hostile: str, data: st.DataObject
) -> None:
    options = sorted(listed(KNOWN[kind]))
    given_ = data.draw(st.lists(st.sampled_from([*options, *harmless, "x"]), max_size=4))
    texts = [name for name, mark in listed(KNOWN[kind]).items() if "~" in mark]
    at = data.draw(st.integers(0, len(given_)))
    assume(at == 0 or given_[at - 1] not in texts)  # a message may be any text
    assert not is_allowed(asked_as(kind), [*asked_as(kind), *given_[:at], hostile, *given_[at:]])


@HUNT
@given(st.sampled_from(KINDS), st.sampled_from(HOSTILE_OPTIONS), st.data())
def test_an_option_that_is_not_listed_is_never_allowed(
    kind: tuple[str, ...], hostile: str, data: st.DataObject
) -> None:
    options = listed(KNOWN[kind])
    name = hostile.partition("=")[0]
    assume("!" in options.get(name, "!") and options.get(hostile[:2], "!").endswith("!"))
    assume(hostile != "--" or KNOWN[kind].after_double_dash is None)
    given_ = data.draw(st.lists(st.sampled_from([*sorted(options), *HARMLESS]), max_size=4))
    texts = [each for each, mark in options.items() if "~" in mark]
    at = data.draw(st.integers(0, len(given_)))
    assume(at == 0 or given_[at - 1] not in texts)
    assert not is_allowed(asked_as(kind), [*asked_as(kind), *given_[:at], hostile, *given_[at:]])


@HUNT
@given(
    st.sampled_from(KINDS),
    st.lists(
        st.sampled_from([*HOSTILE_OPTIONS, *HOSTILE_OPERANDS, *HARMLESS]) | st.text("-=/.@~aoc", max_size=5), max_size=4
    ),
)
def test_allowed_commands_have_only_listed_options_and_inside_paths(kind: tuple[str, ...], rest: list[str]) -> None:
    options = listed(KNOWN[kind])
    assume(not any("~" in mark for mark in options.values()))
    if is_allowed(asked_as(kind), [*asked_as(kind), *rest]):
        for word in rest:
            name = word.partition("=")[0]
            letters = {f"-{letter}" for letter in word[1:2]}
            is_known = name in options or (not word.startswith("--") and letters <= options.keys())
            assert is_known or word == "--" or not word.startswith("-"), word
            assert not word.startswith(("/", "~", "@")) and ".." not in word.split("/"), word


@pytest.mark.parametrize("kind", KINDS, ids=" ".join)
def test_every_known_command_is_offered_and_its_own_words_are_enough(work: Path, kind: tuple[str, ...]) -> None:
    line = shlex.join(asked_as(kind))
    (work / "link").unlink()  # a formatter would write through it
    assert suggest_pattern(command(line, work), str(work)) == f"{line.replace(' -m x', '')} …"


def test_the_rules_page_lists_every_known_command_and_launcher() -> None:
    text = (ROOT / "docs" / "reference" / "rules.md").read_text(encoding="utf-8")
    assert [words for words in (*KNOWN, *LAUNCHERS) if f"`{' '.join(words)}`" not in text] == []
