"""Decisions of rules, safe defaults and policies; and the rows of rules."""

from __future__ import annotations

import re
import shlex
import shutil
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.engine.rules import removals
from clew.engine.rules.decide import (
    MAX_COMMAND_LENGTH,
    RULE_KINDS,
    decide,
    exact_pattern,
    is_restricted,
    note_other_kind,
    rule_name,
    validated_pattern,
)
from clew.engine.rules.read_only.safe_commands import SAFE_COMMANDS
from clew.engine.rules.shell.wrappers import WRAPPERS
from clew.model.gates import Asked, Effect, GateKind, Policy, Question, Rule, RuleKind, Scope, Verdict
from clew.store import Tx
from clew.store.sqlite.driver import SqliteConnection
from clew.store.tables import rules as rows
from clew.support.durations import parse_duration
from clew.support.errors import BadInput
from clew.texts import gate_messages, reasons
from clew.texts.bilingual import zh
from tests.engine.rules.test_lenient_shell import ALWAYS_ASKS
from tests.engine.rules.test_strict_shell import NOT_EXPLAINED
from tests.helpers.paths import ROOT

NOW = 1_000_000
THREAD = "01T"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A workspace with a repository, a file, a link to outside, and another repository inside."""
    work = tmp_path / "work"
    for folder in ("src/deep", "docs", ".git/objects", ".git/refs", "other", "bare/objects"):
        (work / folder).mkdir(parents=True)
    (work / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (work / ".git/config").write_text("[core]\n\tbare = false\n")
    (tmp_path / "secret").write_text("s")
    (tmp_path / "away").mkdir()
    for file in ("a.txt", "b.txt", "src/m.py", "bare/HEAD"):
        (work / file).write_text("x")
    (work / "link").symlink_to(tmp_path / "secret")
    (work / "out").symlink_to(tmp_path / "away")
    (work / "in").symlink_to(work / "src")
    return work


def lines(table: str) -> list[str]:
    """Commands, separated by two blanks."""
    return re.split(r"\s{2,}", table.strip())


def rule(effect: Effect, pattern: str, kind: RuleKind = RuleKind.COMMAND, **more: object) -> Rule:
    values: dict[str, object] = {"scope": Scope.EVERYWHERE, "place": "", "created_at": 0, **more}
    return Rule(id="01R", effect=effect, kind=kind, pattern=pattern, **values)  # type: ignore[arg-type]


def allow(pattern: str, kind: RuleKind = RuleKind.COMMAND, **more: object) -> Rule:
    return rule(Effect.ALLOW, pattern, kind, **more)


def deny(pattern: str, kind: RuleKind = RuleKind.COMMAND, **more: object) -> Rule:
    return rule(Effect.DENY, pattern, kind, **more)


def ask(pattern: str, kind: RuleKind = RuleKind.COMMAND, **more: object) -> Rule:
    return rule(Effect.ASK, pattern, kind, **more)


def command(line: str, folder: str | None = "/elsewhere") -> Asked:
    return Asked(GateKind.COMMAND, line, folder=folder)


def change(*paths: str) -> Asked:
    return Asked(GateKind.CHANGE, "\n".join(paths), paths=paths)


def effect(asked: Asked, *rules: Rule, policy: Policy = Policy.CAREFUL, workspace: Path | str = "/nowhere") -> str:
    return decide(asked, policy, str(workspace), rules, NOW, THREAD).effect.value


FITS = [
    ("pytest *", "pytest"),
    ("pytest *", "pytest -q tests"),
    ("pytest *", "/bin/bash -lc 'pytest -q'"),
    ("pytest", "pytest"),
    ("git commit -m *", "git commit -m 'a b; c'"),
    ("git log -? *", "git log -5"),
    ("npm run test:*", "npm run test:unit"),
    ("./scripts/*.sh *", "./scripts/a.sh x"),
    ("cat src/*", "cat src/deep/a"),
    ("make [ab]", "make b"),
    ("'my prog' *", "'my prog' x"),
    ("*", "anything at all"),
    ("fd *", "fd --extension py -H main"),
    ("make CC=* test", "make CC=gcc test"),
    ("curl http://localhost:*", "curl http://localhost:8000"),
    ("curl http://*.example.com:80?0/a-*", "curl http://x-1.example.com:8080/a-b_c.d"),
    ("curl 'http://[::1]:*'", "curl 'http://[::1]:8000'"),
    ("curl 'http://x/?q=*'", "curl 'http://x/?q=1'"),
    ("npm run test:*", "npm run test:unit:fast"),
    ("pytest --junitxml=*", "pytest --junitxml=out/a-1.xml"),
    ("pytest --junitxml=/tmp/*", "pytest --junitxml=/tmp/a.xml"),
    ("git push origin feature/*", "git push origin feature/a_b-1.x"),
    ("cat */a.txt", "cat src/été/a.txt"),
    ("git log main..*", "git log main..next"),
]
FITS_NOT = [
    ("pytest", "pytest -q"),
    ("pytest *", "pytest2"),
    ("pytest *", "./pytest"),
    ("pytest *", "/tmp/pytest"),
    ("pytest *", "PYTEST"),
    ("git log *", "git -c core.pager=x log"),
    ("git log *", "git"),
    ("cat src/*", "cat src/../../secret"),
    ("cat src/*", "cat src/.."),
    ("cp * dest", "cp --target-directory=x dest"),
    ("cp * dest", "cp a b dest"),
    ("cat ?", "cat -"),
    ("make [ab]", "make c"),
    ("ls a", "ls 'a '"),
    ("''", "ls"),
    ("pytest*", "pytest_x/evil.sh"),
    ("./scripts/check-*", "./scripts/check-a/evil.sh"),
    ("python3", "echo 'print(1)' | python3"),
    ("tee out.txt", "echo evil | tee out.txt"),
    ("git apply", "cat a.patch | git apply"),
    ("git apply", "ls; cat a.patch | head | git apply"),
    ("fd *", "fd -Hx touch x"),
    ("fd *", "fd -tfx rm"),
    ("fdfind *", "fdfind -IHX rm"),
    ("python *.py", "python /tmp/evil.py"),
    ("curl https://*.example.com/health", "curl https://evil.net/.example.com/health"),
    ("make * test", "make SHELL=./evil test"),
    ("make CC* test", "make CC=./evil test"),
    *(
        (pattern, f"curl '{url}'")
        for pattern in ("curl http://localhost:*", "curl http://localhost:????*")
        for url in (
            *("http://localhost:1@evil.example", "http://localhost:{80,81}", "http://localhost:80,evil.example"),
            *(
                "http://localhost:8000?x",
                "http://localhost:8000#x",
                "http://localhost:[1-9]000",
                "http://localhost:8%30",
            ),
        )
    ),
    ("curl localhost:*", "curl localhost:1@evil.example"),
    ("curl localhost:*", "curl 'localhost:{80,81}'"),
    ("curl http://x/[!a]", "curl http://x/@"),
    *(
        ("git push origin feature/*", f"git push origin 'feature/{rest}'")
        for rest in ("x:main", "x +main", "x+y", "x=y", "x,y", "{x,y}", "x!", "x~1", "x^", "x;y", "x$y", "x`y`", 'x"y')
    ),
    *(
        ("pytest --junitxml=*", f"pytest --junitxml={value}")
        for value in ("../x", "..", "a/../../x", "/etc/x", "//x", "a:b", f"{'x' * 500}")
    ),
    ("pytest --junitxml=*/x", "pytest --junitxml=/x"),
    ("pytest --junitxml=.*", "pytest --junitxml=../x"),
    ("gcc -I*", "gcc -I/etc"),
    ("gcc -I*", "gcc -I../x"),
    ("gcc -I*/x", "gcc -I/x"),
    ("git log main..*", "git log main..a..b"),
    ("make [!a]x", "make :x"),
    ("make ?x", "make /x"),
]


@pytest.mark.parametrize(("pattern", "line"), FITS)
def test_an_allow_matches_commands_of_its_words(pattern: str, line: str) -> None:
    assert effect(command(line), allow(pattern)) == "allow"


@pytest.mark.parametrize(("pattern", "line"), FITS_NOT)
def test_an_allow_matches_no_other_command(pattern: str, line: str) -> None:
    assert effect(command(line), allow(pattern)) == "ask"


@pytest.mark.parametrize("line", [*NOT_EXPLAINED, *ALWAYS_ASKS], ids=repr)
def test_no_allow_matches_unparsable_scripts_or_wrappers(line: str) -> None:
    rules = [
        allow(pattern)
        for pattern in ("*", "ls *", "bash *", "env *", "sudo *", "find *", "rg *", "git *", "?*", "[!a] *")
    ]
    assert effect(command(line), *rules) == "ask"
    assert effect(command(f"/bin/bash -lc {shlex.quote(line)}"), *rules) == "ask"


DENIED = [
    ("rm *", "rm x"),
    ("rm", "rm -rf x"),
    ("rm *", "ls; rm x"),
    ("rm *", "/bin/rm x"),
    ("rm *", "/bin/r? x"),
    ("rm *", "sudo -u me rm x"),
    ("rm *", "bash -lc 'true && rm x'"),
    ("rm *", 'echo "$(rm x)"'),
    ("rm -rf *", "rm -v -rf x"),
    ("git push *", "git push"),
    ("git push", "git push --force origin main"),
    ("git push *", "git -C . push origin"),
    ("git push *", "git -c a=b --no-pager push"),
    ("kubectl delete *", "kubectl -n prod delete pod x"),
    ("sudo *", "ls && sudo ls"),
    ("*", "ls"),
    ("rm *", "function f { rm x; }; f"),
    ("rm *", "alias a='rm x'; a"),
    ("rm *", "alias a=rm; a x"),
    ("rm", "r{m,} x"),
    ("rm", "{r,}{m,} x"),
    ("rm", "$SUDO rm -rf x"),
    ("rm", "echo 'rm x' | sh"),
    ("git push", "$DRY git push"),
    ("mvn deploy", "mvn clean deploy"),
    ("mvn deploy *", "./mvnw deploy; mvn -q clean test deploy -B"),
    ("make deploy", "make test deploy"),
    ("make deploy", "make CC=x deploy"),
    ("make deploy", "/usr/bin/make -C x CC=x all deploy"),
    ("gradle publish", "gradle build publish"),
    ("just deploy", "just build deploy"),
    ("cargo publish", "cargo +nightly publish"),
    ("cargo publish", "cargo +nightly -v publish --dry-run"),
    ("git push", "git pu$1sh"),
    ("git push", "g$1it push"),
    ("git push", 'git "pu\\\nsh"'),
    ("git push", '"gi\\\nt" push'),
    ("git push", "git pus{h..h}"),
    ("git push", "gi{t..t} push"),
    ("git push", "{git,{push,{a,{b,c}}}}"),
    ("git push", f"env {'-u A ' * 32}git push"),
    ("git push", f"nice {'-n 1 ' * 62}git push"),
    ("git push", "git <(true) push"),
    ("git push", "command =git push"),
    ("git push", "git ${:-push}"),
    ("git push", "git pu$x[1]sh"),
    ("git push", 'git "$@" push'),
    ("git push", 'git "${X[@]}" push'),
    ("git push", "git -C $((1)) push"),
    *(
        ("git push", f"{launcher} git push origin")
        for launcher in (
            *("uv run", "uv run --with x --", "uvx", "uv tool run", "pipx run", "poetry run", "pdm run", "pipenv run"),
            *(
                "rye run",
                "hatch -e x run",
                "conda run -n x",
                "npx",
                "npx -y --",
                "npm exec --",
                "npm x --",
                "pnpm exec",
            ),
            *("pnpm", "pnpm -r exec", "pnpm dlx", "pnpx", "bunx", "bun x", "bun run", "yarn exec", "yarn dlx", "yarn"),
            *("mise exec --", "mise x node@20 --", "asdf exec", "bundle exec", "rustup run nightly", "opam exec --"),
            *("docker run --rm -v .:/w image", "docker compose exec web", "podman exec -it x", "kubectl exec x --"),
            *("git submodule foreach", "git bisect run", "/usr/local/bin/uv -q run", "sudo uv run", "uv run npx"),
            *("tox exec -e py --", "lerna exec --", "nx exec --", "stack exec --", "volta run", "direnv exec ."),
        )
    ),
    ("git push", "uv run bash -c 'git push'"),
    ("git push", "npx -c 'git push'"),
    ("git push", "npm exec -c 'git push'"),
    ("git push", "git rebase -x 'git push' main"),
    ("git push", "git rebase --exec='git push' main"),
    ("git push", "git submodule foreach 'git push || :'"),
    ("pip install", "python3.11 -m pip install x"),
    ("pip install", "uv run python -mpip install x"),
    ("pip install", "python -Im pip install x"),
    ("git push", "GIT push"),
    ("git push", "/usr/bin/Git push"),
    ("git push", "git.exe push"),
    ("git push", "git -c alias.p=push p"),
    ("git push", "git -c alias.p='push --force' p"),
    ("git push", "git -c alias.x='!git push' x"),
    ("git push", "git -c core.pager='git push' log"),
    ("git push", "git -ccore.editor='sh -c \"git push\"' commit"),
    ("twine upload", "python -W ignore -m twine upload dist/*"),
    ("git push --force", "git push origin main --force"),
    ("git push --force", "git push origin main --force=x"),
    ("git push --force", "git push origin --forc"),
    ("git push --force origin", "git push origin --force"),
    ("git push -f", "git push origin main -uf"),
    ("git reset --hard", "git reset HEAD~1 --hard"),
    ("terraform apply -auto-approve", "terraform apply plan -auto-approve"),
    ("terraform apply -auto-approve", "terraform apply --auto-approve plan"),
    ("terraform apply --auto-approve", "terraform apply -auto-approve"),
    ("find . -delete", "find . -name x -delete"),
    *(("git push --force", f"git push {rest}") for rest in ("-f", "origin -uf", "--force-with-lease", "origin +main")),
    *(("git push -f", f"git push {rest}") for rest in ("--force", "--force-with-lease=main:x", "origin +HEAD:main")),
    *(("kubectl --context prod", f"kubectl {rest}") for rest in ("delete pod x --context prod", "--context=prod get")),
    ("kubectl --context prod delete", "kubectl delete pod x --context prod"),
    ("kubectl -n prod delete", "kubectl delete pod x -n=prod"),
    ("kubectl --context prod*", "kubectl delete pod x --context prod-eu"),
    *(("curl -X DELETE", f"curl {rest}") for rest in ("http://x -X DELETE", "-XDELETE http://x", "-sXDELETE http://x")),
    ("curl --request DELETE", "curl http://x --req=DELETE"),
    ("aws --profile prod", "aws s3 rm s3://x --profile prod"),
    ("aws --profile prod", "aws --region x s3 ls --profile=prod"),
    ("docker run -v /:/host", "docker run --rm -v /:/host x"),
    ("rm -rf x", "rm --r --f x"),
    *(("rm -rf", f"rm {rest}") for rest in ("x -rf", "-fr x", "-r -f x", "x -f -r", "-rfv x", "-r x -vf")),
    *(("rm -rf", f"rm {rest}") for rest in ("-Rf x", "--recursive --force x", "x -R --force", "--recursive -vf x")),
    *(("rm -Rf", f"rm {rest}") for rest in ("-rf x", "--recursive --force x")),
    ("rm --recursive --force", "rm -rf x"),
    ("git push", "echo 'git push' |\nsh"),
    ("git push", "echo 'git push' | # to a shell\n\n  sudo sh -x"),
    ("git push", "bash <(echo 'git push')"),
    ("git push", "sh < <(echo git push)"),
    ("git push", 'sh -c "$(echo git push)"'),
    ("git push", "printf '%s' 'git push' | bash"),
    ("git push", "printf '%s %s\\n' git push | bash"),
    ("git push", "printf 'git %s' push | bash"),
    ("rm", "fd -Hx rm"),
    ("rm", "fd -xrm x"),
    ("rm", "fdfind -HIXrm"),
    ("rm", "fd --exec=rm"),
    ("rm", "fd --exec-batch rm"),
    ("rm", "fd . -x sh -c 'rm x'"),
    *(
        (pattern, line)
        for pattern in ("scripts/deploy.sh", "./scripts/deploy.sh --now", "/w/scripts/deploy.sh")
        for line in (
            *("./scripts/deploy.sh --now", "/w/scripts/deploy.sh --now", "scripts/../scripts/deploy.sh --now"),
            *("cd scripts && ./deploy.sh --now", "bash scripts/deploy.sh --now", "cd scripts; sh deploy.sh --now"),
        )
    ),
    ("./deploy.sh", "bash deploy.sh"),
    ("scripts/*", "./scripts/x.sh"),
    ("scripts/*", "/w/scripts/x.sh"),
    ("bash scripts/x.sh", "bash ./scripts/x.sh"),
    ("python scripts/x.py", "python /w/scripts/x.py"),
    ("git push", "sudo git -c alias.x=push x"),
    ("npm run deploy", "npm run-script deploy"),
    ("npm publish", "npm pub --tag x"),
    ("npm install", "npm i x"),
    ("cargo run", "cargo r"),
    ("docker push", "docker image push x"),
    ("docker image push", "docker push x"),
    ("python scripts/x.py", "python3 scripts/x.py"),
    ("python", "/usr/bin/python3.11 -c 1"),
    ("python3 -c", "python -c 1"),
    ("python3", "python3.12"),
    *(("pip install", f"{rest} install x") for rest in ("pip3", "uv pip", "uv -q pip", "pip3.11", "python3 -m pip")),
    ("pip3 install", "pip install x"),
    ("docker compose down", "docker-compose -f x.yml down -v"),
    ("docker-compose down", "docker compose -f x.yml down"),
    ("scripts/deploy.py", "python3 -u scripts/deploy.py --now"),
    ("scripts/deploy.py --now", "cd scripts && python -W ignore deploy.py --now"),
    ("./scripts/deploy.js", "node --inspect scripts/deploy.js"),
    ("scripts/deploy.ts", "deno run -A scripts/deploy.ts"),
    ("scripts/deploy.sh", "sh < scripts/deploy.sh"),
    ("scripts/deploy.sh", "sudo bash -s <scripts/deploy.sh"),
    ("scripts/deploy.py", "python3 0< scripts/deploy.py"),
    *(
        ("cat .env", f"cat {rest}")
        for rest in ("./.env", "f .env", "-n x ../.env", "a/../.env", ".en?", ".en[v]", ".ENV")
    ),
    *(("cat .env", f"cat {rest}") for rest in (".[]e]nv", ".[[:alpha:]]nv", ".*", "?env", "*")),
    ("cat .env", "cd src && cat ../.env"),
    ("cat secrets/key.pem", "cd secrets && cat key.pem"),
    ("cat secrets/key.pem", "cat secrets/*"),
    *(("cat *.pem", f"cat {rest}") for rest in ("-n x secrets/key.pem", "secrets/*", "k*.pem")),
    *(
        ("python deploy.py", f"python3 {rest}")
        for rest in ("./deploy.py", "-u /w/deploy.py", "$PWD/deploy.py", "d*.py")
    ),
    ("python deploy.py prod", "python -u ./deploy.py --now prod"),
    ("rm data.db", "rm ./data.db"),
    ("rm data.db", "rm -f x data.db"),
    ("node scripts/deploy.js", "cd scripts && node deploy.js"),
    *(("kubectl apply -f prod.yaml", f"kubectl {rest}") for rest in ("apply -f ./prod.yaml", "apply -fk8s/prod.yaml")),
    ("kubectl apply -f prod.yaml", "kubectl apply --filename=k8s/prod.yaml -f x"),
    ("docker compose -f prod.yml up", "docker compose -f ./prod.yml up -d"),
    *(("git push", f"git {rest}") for rest in ("pus?", "pus* origin main", "p[u]sh", "p[[:lower:]]sh", "*")),
    ("git push", "[]g]it push"),
    ("git push", f"git {'?' * 9}{'*' * 300}"),
    *(("rm -rf", f"rm {rest}") for rest in ("-r? x", "*", "*fr x", "-[r]f x", "-r -?")),
    ("git reset --hard", "git reset --har?"),
    ("npm run deploy:*", "npm run dep*"),
    *((pattern, "ruby bin/rails db:drop") for pattern in ("rails db:drop", "bin/rails db:drop")),
    ("bin/manage drop", "python3 bin/manage drop"),
    ("pip install", ".venv/bin/python .venv/bin/pip install x"),
    ("git push", f"{'env ' * 257}git push"),
    ("git push", f"env {'A=b ' * 300}bash -c 'git push'"),
    ("git push", f"sudo {'-E ' * 257}git push"),
    ("git push", f"python3 {'-u ' * 257}x git push"),
    ("git push", f"{{{','.join(map(str, range(999)))},git}} push"),
    ("git push", f"{'{a,}' * 7}git push"),
    ("git push", f"{'${a:-' * 20}gi${{z}}t pu${{z}}sh{'}' * 20}"),
    ("git push", "echo a\r# ; git pu$()sh"),
    ("git push", "git push\r\n"),
    ("git push", "echo $[1<<2]\ngit pu$()sh\n: '\n2]\n'"),
    *(("git commit --no-verify", f"git commit {rest}") for rest in ("-n -m x", "-nm x", "-anm x")),
    ("git commit -n", "git commit --no-verify -m x"),
    *(("git branch -D", f"git branch {rest}") for rest in ("-d -f x", "--delete --force x", "-df x", "-D x")),
    *(("git branch -d -f", f"git branch {rest}") for rest in ("-D x", "--delete -f x")),
    *(
        ("git push origin main", f"git push {rest}")
        for rest in (
            *(
                "origin HEAD:main",
                "origin +main",
                "origin refs/heads/main",
                "origin x:refs/heads/main",
                "origin x main",
            ),
            *("--repo=origin main", "origin +HEAD:refs/heads/main", "-u origin main", "origin m?in"),
        )
    ),
    *(("npm run deploy", f"npm {rest}") for rest in ("urn deploy", "rum deploy", "run-script deploy")),
    ("npm run-script deploy", "npm urn deploy"),
]
NOT_DENIED = [
    ("git push --force", "git push origin main"),
    ("git push --force", "git push origin main:+x"),
    ("kubectl --context prod", "kubectl get pods --context dev -n prod"),
    ("kubectl --context prod", "kubectl get pods prod"),
    ("curl -X DELETE", "curl -X GET http://x/DELETE"),
    ("curl -X DELETE", "curl -s http://x"),
    ("aws --profile prod", "aws s3 ls --profile production"),
    ("terraform apply -auto-approve", "terraform apply -auto"),
    ("git push --force", "git commit --force -m push"),
    ("rm -rf", "rm -r x"),
    ("rm -rf", "rm x"),
    ("scripts/*", "ls x"),
    ("./*", "ls"),
    ("scripts/deploy.sh", "cat scripts/deploy.sh"),
    ("scripts/deploy.sh", "scripts/test.sh"),
    ("rm", "fd -e txt rm"),
    ("npm publish", "npm run p"),
    ("npm install", "npm test"),
    ("git push", "git pu"),
    ("docker push", "docker image ls push"),
    ("git push", "ls | grep bash; echo git push"),
    ("rm *", "ls rm"),
    ("git push *", "git commit -m push"),
    ("git push *", "git log push"),
    ("rm", "rmdir x"),
    ("make deploy", "make test"),
    ("make deploy", "make deploy-docs"),
    ("cargo publish", "cargo run publish"),
    ("rm", "grep -rl rm . | head"),
    ("rm", "npm rm lodash"),
    ("rm", "docker rm web"),
    ("rm", "docker run --rm alpine ls"),
    ("rm", "git rm x"),
    ("git push", "git -c push.default=simple fetch"),
    ("rm", "git -c color.ui=false rm x"),
    ("push", "uv pip install push"),
    ("git push", "uv run pytest -k push"),
    ("git push", "git commit -m 'run git push'"),
    ("python2", "python3 x.py"),
    ("python", "pythonic x"),
    ("base64", "base32 x"),
    ("pip install", "uv pip list"),
    ("docker compose down", "docker-compose up"),
    ("scripts/deploy.py", "python scripts/test.py"),
    ("scripts/deploy.py", "pytest scripts/deploy.py"),
    ("make deploy", "make test < other"),
    ("curl -X DELETE", "ls"),
    ("curl -X DELETE", "curl"),
    ("cat .env", "cat *.txt"),
    ("cat *.pem", "cat *.txt"),
    ("cat .env", "cat src/.env.example"),
    ("python deploy.py", f"python3 -c 'print({'2 * 3, ' * 100})'"),
    ("find . -delete", "find . -name '*test*'"),
    ("grep -R", "grep --include=*.py x src"),
    ("ls -R", "ls *.py"),
    ("sudo *", f"python3 -c 'print({'2 * 3, ' * 100})'"),
    ("git commit --amend", "git commit -m 'what? *** more [x]'"),
    ("git branch -D", "git branch -d x"),
    ("git push origin main", "git push origin feature/main-page"),
    ("git push origin main", "git push upstream main"),
    (
        "npm publish",
        "curl -d '" + '{"a":{"b":1,"c":[{"d":1,"e":2},{"d":{"x":1,"y":2},"e":2}]},"f":{"g":1,"h":2}}' + "' x",
    ),
    ("git push", f"npx eslint {' '.join(f'src/f{number}.ts' for number in range(200))}"),
]


@pytest.mark.parametrize(("pattern", "line"), DENIED)
def test_a_deny_and_an_ask_match_every_inner_command(pattern: str, line: str) -> None:
    assert effect(command(line), deny(pattern), policy=Policy.YOLO) == "deny"
    assert effect(command(line), ask(pattern), allow("*"), policy=Policy.YOLO) == "ask"


@pytest.mark.parametrize(("pattern", "line"), NOT_DENIED)
def test_a_deny_leaves_other_commands_alone(pattern: str, line: str) -> None:
    assert effect(command(line), deny(pattern), policy=Policy.YOLO) == "allow"


@pytest.mark.parametrize("piece", ["$[", "[", "*", "?", "*a", "[a]", "-*", "{a,b}", "env ", "git -? *a ", "x=[a]* "])
def test_a_deny_is_matched_in_bounded_time(piece: str) -> None:
    rules = [deny(pattern) for pattern in ("git push", "rm -rf", "cat .env", "git push origin main", "npm run a*")]
    begun = time.process_time()
    for line in (piece * (32_000 // len(piece)), f"git {piece * (32_000 // len(piece))}"):
        effect(command(line), *rules, policy=Policy.YOLO)
    assert time.process_time() - begun < 4


HIDDEN = [
    ("git push", "echo 'git push' > x.sh; bash x.sh"),
    ("git push", "sed -n 's/x/git push/w x.sh' a.txt && sudo bash x.sh"),
    ("git push --force *", "python3 - <<'EOF'\nimport subprocess\nsubprocess.run(['git', 'push'])\nEOF"),
    ("git push", "x=git; $x push"),
    ("git push", "echo push | xargs git"),
    ("git push", "bash -c 'git $1' _ push"),
    ("git push", "cat > notes.md <<'EOF'\nTo publish: GIT \"push\"\nEOF"),
    ("git push", "echo \"g''it pu'sh'\" > x"),
    ("scripts/deploy.sh", "cp scripts/deploy.sh x; PATH=. x"),
    ("npm run deploy:*", "node -e \"run('npm', 'run', 'deploy:all')\" > x"),
    ("git push", "python3 -c 'import os; os.system(\"git push -q\")'"),
    ("git push --force", 'node -e \'require("child_process").execFileSync("git",["push"])\''),
    ("git push", "perl -e 'system \"git push\"'"),
    ("git push", "awk 'BEGIN{system(\"git push\")}'"),
    ("git push", "split --filter='git push' f"),
    ("git push", "tar xf a.tar --to-command='git push'"),
    ("git push", "sed '1e git push' f"),
    ("git push", "vim -es -c '!git push' -c q"),
    ("git push", "ls && rg --pre 'git push' x"),
    ("git push", "git filter-branch --tree-filter 'git push' HEAD"),
    ("git push", "echo 'import os; os.system(\"git push\")' | python3"),
    ("git push", "echo 'os.system(\"git' 'push\")' | cat | python3"),
    ("git push", "git config alias.p push && git p"),
    ("git push", "git config --global Alias.p '!git push'"),
    ("git push", "alias g=git\ng push"),
    ("git push", "gi${x}t config x; $y pu$(true)sh"),
    ("pip install", "echo pip3 > x; $(cat x) install y"),
    ("python deploy.py", "$x3 python3.11 -c x; cp deploy.py y > z"),
]
NOT_HIDDEN = [
    ("git push", "cat > notes.md <<'EOF'\nThe digital pushpin, git-push\nEOF"),
    ("git push", "echo git > x"),
    ("rm", "docker run --rm x > y"),
    ("git push", "git commit -m 'run git push (later)'"),
    ("git push", "git commit -am 'run git push' && git log --grep='git push' -3"),
    ("git push", "grep -rn 'git push' docs | head -5"),
    ("git push", "rg 'git push' && echo 'git push'"),
    ("git push", "printf 'run git push' | wc -c"),
    ("git push", "gh pr create --title 'Explain git push' --body='git push (all)'"),
    ("git push", "git config push.default simple"),
    ("git push", "python3 -c 'print(\"git\")' push"),
]


@pytest.mark.parametrize(("pattern", "line"), HIDDEN)
def test_a_command_with_all_words_of_a_deny_is_asked_about_if_it_is_unclear(pattern: str, line: str) -> None:
    exact = allow(exact_pattern(command(line)), RuleKind.EXACT)
    for restricting in (deny(pattern), ask(pattern)):
        verdict = decide(command(line), Policy.YOLO, "/nowhere", [restricting, allow("*"), exact], NOW, THREAD)
        assert (verdict.effect, verdict.reason and verdict.reason.code) == (Effect.ASK, "deny.words")
        assert f"`{restricting.effect} {pattern}`" in verdict.why
    assert effect(command(line), deny(pattern), policy=Policy.READ_ONLY) == "deny"


@pytest.mark.parametrize(("pattern", "line"), NOT_HIDDEN)
def test_a_command_without_all_words_of_a_deny_is_left_alone(pattern: str, line: str) -> None:
    assert effect(command(line), deny(pattern), policy=Policy.YOLO) == "allow"


@pytest.mark.parametrize("line", ["show docs/far", "show docs/away/x", "show docs/deep/../far", "show docs/*"])
def test_a_wildcard_of_an_allow_matches_no_link_out_of_the_workspace(work: Path, tmp_path: Path, line: str) -> None:
    for pattern in ("show docs/*", "show docs/* *", "show *docs/*"):
        assert effect(command("show docs/x", str(work)), allow(pattern), workspace=work) == "allow"
        (work / "docs/far").symlink_to(tmp_path / "secret")
        (work / "docs/away").symlink_to(tmp_path / "away")
        (tmp_path / "away/x").write_text("x")
        assert effect(command(line, str(work)), allow(pattern), workspace=work) == "ask"
        for link in ("far", "away"):
            (work / "docs" / link).unlink()
    assert effect(command("cat /etc/hosts"), allow("cat /etc/*"), workspace=work) == "allow"


@pytest.mark.parametrize("word", ["--file=out/new", "--file=a,out/new", "-oout/new", "--file=link", "-olink"])
def test_a_value_behind_an_option_does_not_lead_out_of_the_workspace(work: Path, word: str) -> None:
    rules = [allow("show --file=*"), allow("show --file=a,*"), allow("show -o*")]
    assert effect(command(f"show {word}", str(work)), *rules, workspace=work) == "ask"
    inside = word.replace("out/", "src/").replace("link", "in")
    assert effect(command(f"show {inside}", str(work)), *rules, workspace=work) == "allow"


def test_deny_goes_before_ask_and_ask_before_allow() -> None:
    asked = command("pytest -q")
    assert effect(asked, allow("pytest *"), ask("pytest *"), deny("pytest *")) == "deny"
    assert effect(asked, allow("pytest *"), ask("pytest *")) == "ask"
    assert effect(asked, allow("pytest *")) == "allow"
    assert effect(asked) == "ask"


def test_a_rule_applies_until_it_expires_and_where_it_was_made(work: Path) -> None:
    asked = command("pytest", str(work))
    for held in (
        {"until": NOW + 1},
        {"scope": Scope.THREAD, "place": THREAD},
        {"scope": Scope.WORKSPACE, "place": str(work)},
    ):
        assert effect(asked, allow("pytest", **held), workspace=work) == "allow", held
    for gone in ({"until": NOW}, {"scope": Scope.THREAD, "place": "01X"}, {"scope": Scope.WORKSPACE, "place": "/else"}):
        assert effect(asked, allow("pytest", **gone), workspace=work) == "ask", gone


def test_a_rule_of_a_workspace_allows_nothing_that_runs_elsewhere(work: Path) -> None:
    here = allow("make *", scope=Scope.WORKSPACE, place=str(work))
    assert effect(command("make", str(work / "src")), here, workspace=work) == "allow"
    assert effect(command("make", str(work / "out")), here, workspace=work) == "ask"
    assert effect(command("make", "/"), here, workspace=work) == "ask"


def test_an_allow_for_a_relative_program_means_the_one_of_the_workspace(work: Path) -> None:
    in_thread = allow("./run.sh *", scope=Scope.THREAD, place=THREAD)
    in_workspace = allow("scripts/build.sh", scope=Scope.WORKSPACE, place=str(work))
    everywhere = allow("./run.sh")
    at_top, below, outside = (str(folder) for folder in (work, work / "src", work.parent / "away"))
    assert effect(command("./run.sh x", at_top), in_thread, workspace=work) == "allow"
    assert effect(command("./run.sh", outside), everywhere, workspace=work) == "allow"
    assert effect(command("scripts/build.sh", at_top), in_workspace, workspace=work) == "allow"
    for folder in (below, outside):
        assert effect(command("./run.sh x", folder), in_thread, workspace=work) == "ask"
        assert effect(command("scripts/build.sh", folder), in_workspace, workspace=work) == "ask"
    for line in ("cd src && ./run.sh", "cd src && scripts/build.sh"):
        assert effect(command(line, at_top), in_thread, in_workspace, everywhere, workspace=work) == "ask"
    assert effect(command("cd src && make", at_top), allow("make"), workspace=work) == "allow"


def test_a_rule_of_another_kind_does_not_match() -> None:
    for kind in RuleKind:
        if kind is not RuleKind.COMMAND:
            assert effect(command("ls -la"), allow("*", kind), deny("*", kind)) == "ask"


COVERED = [
    ("src/**", ("src/m.py",)),
    ("src/**", ("src/m.py", "src/deep/new.py")),
    ("src/", ("src/deep/x",)),
    ("./src/*", ("src/m.py",)),
    ("**/*.py", ("src/deep/x.py", "y.py")),
    ("*.txt", ("a.txt",)),
    ("**", ("a.txt", "src/x")),
    ("src/**", ("in/m.py",)),
    ("src/**", ("docs/../src/m.py",)),
    (".git/**", (".git/config",)),
    ("s[a-z]c/?.py", ("src/m.py",)),
]
COVERED_NOT: list[tuple[str, tuple[str, ...]]] = [
    ("src/**", ()),
    ("src/**", ("src/m.py", "docs/x")),
    ("src/**", ("src/../a.txt",)),
    ("src/**", ("src/../../secret",)),
    ("src/*", ("src/deep/x",)),
    ("in/**", ("in/m.py",)),
    ("**", ("link",)),
    ("**", ("out/x",)),
    ("out/**", ("out/x",)),
    ("**", ("../secret",)),
    ("**", ("/etc/passwd",)),
    ("**", (".git/hooks/pre-commit",)),
    ("**", ("src/.GIT/config",)),
    ("**", (".codex/config.toml",)),
    ("**", (".hu\u017fky/pre-commit",)),
    ("**", (".v\u017fcode/tasks.json",)),
    ("**", (".\uff47it/config",)),
    ("**", (".g\u200cit/config",)),
    ("src/…", ("src/ta\u017fks.py",)),
    ("src/…", ("src/confte\ufb05.py",)),
    ("src/…", ("src/\u017fitecustomize/x.py",)),
    ("../**", ("../secret",)),
    ("**", ("a\0b",)),
    ("**", (".",)),
    ("**", ("",)),
    ("SRC/**", ("src/m.py",)),
    ("s[z-a]c/*", ("src/m.py",)),
    ("", ("src/m.py",)),
    ("**/…", (".github/x.py",)),
    ("**/…", ("node_modules/x.js",)),
    ("*/…", ("bin/x.py",)),
    ("src/**/…", ("src/hooks/x.py",)),
]


@pytest.mark.parametrize(("pattern", "paths"), COVERED)
def test_an_allow_for_paths_matches_changes_of_these_paths(work: Path, pattern: str, paths: tuple[str, ...]) -> None:
    written = allow(pattern, RuleKind.CHANGE)
    assert effect(change(*paths), written, workspace=work) == "allow"
    assert effect(change(*(str(work / path) for path in paths)), written, workspace=work) == "allow"


@pytest.mark.parametrize(("pattern", "paths"), COVERED_NOT)
def test_an_allow_for_paths_matches_no_other_path(work: Path, pattern: str, paths: tuple[str, ...]) -> None:
    assert effect(change(*paths), allow(pattern, RuleKind.CHANGE), workspace=work) == "ask"


@pytest.mark.parametrize("path", ["l/../../outside.py", "{}/l/../../outside.py", "l/../../../x"])
def test_dot_dot_after_a_link_is_asked_about(tmp_path: Path, path: str) -> None:
    """For the system `..` is above the target of the link; for many tools it is above the link itself."""
    (tmp_path / "w/a/b/c").mkdir(parents=True)
    (tmp_path / "w/l").symlink_to(tmp_path / "w/a/b/c")
    asked, work = change(path.format(tmp_path / "w")), tmp_path / "w"
    assert effect(asked, allow("**", RuleKind.CHANGE), workspace=work) == "ask"
    assert effect(asked, policy=Policy.TRUSTED, workspace=work) == "ask"


def _names_the_folder(work: Path) -> None:
    (work / ".git").write_text("gitdir: ./.bare\n")


def _is_a_link_to_the_folder(work: Path) -> None:
    (work / ".git").symlink_to(".bare")


def _is_a_worktree_of_the_folder(work: Path) -> None:
    (work / ".bare/worktrees/main").mkdir(parents=True)
    (work / ".bare/worktrees/main/commondir").write_text("../..\n")
    (work / ".git").write_text(f"gitdir: {work}/.bare/worktrees/main\n")


@pytest.mark.parametrize("leads", [_names_the_folder, _is_a_link_to_the_folder, _is_a_worktree_of_the_folder])
def test_the_folder_that_a_git_file_names_is_protected_like_dot_git(work: Path, leads: Callable[[Path], None]) -> None:
    (work / ".git").rename(work / ".bare")
    everything, named = allow("**", RuleKind.CHANGE), allow(".bare/**", RuleKind.CHANGE)
    for path in (".bare/config", ".BARE/hooks/pre-commit", ".bare/worktrees/main/commondir"):
        assert effect(change(path), policy=Policy.TRUSTED, workspace=work) == "allow"
        leads(work)
        assert effect(change(path), policy=Policy.TRUSTED, workspace=work) == "ask"
        assert effect(change("src/m.py", path), everything, workspace=work) == "ask"
        assert effect(change("src/m.py"), policy=Policy.TRUSTED, workspace=work) == "allow"
        (work / ".git").unlink()
        shutil.rmtree(work / ".bare/worktrees", ignore_errors=True)
    leads(work)
    assert effect(change(".bare/config"), named, workspace=work) == "allow"


def test_changes_in_a_worktree_inside_its_git_folder_are_not_asked_about(work: Path) -> None:
    """As `git clone --bare` and `git worktree add` in there make it."""
    own = work.parent / "worktrees/work"
    own.mkdir(parents=True)
    (own / "commondir").write_text("../..\n")
    (work / ".git").rename(work / "off")
    (work / ".git").write_text(f"gitdir: {own}\n")
    assert effect(change("src/m.py"), policy=Policy.TRUSTED, workspace=work) == "allow"


@pytest.mark.parametrize("text", ["gitdir: .bare\r\n", "gitdir:.bare", "x" * 5_000, ""])
def test_changes_beside_an_unusual_git_file_are_asked_about(work: Path, text: str) -> None:
    (work / "docs/.git").write_text(text)
    assert effect(change("docs/m.py"), policy=Policy.TRUSTED, workspace=work) == "ask"
    assert effect(change("src/m.py"), policy=Policy.TRUSTED, workspace=work) == "allow"


def test_an_absolute_pattern_also_matches_through_links(work: Path, tmp_path: Path) -> None:
    for pattern in (f"{tmp_path}/away/**", f"{work}/out/**", f"{tmp_path}/*/x"):
        assert effect(change("out/x"), allow(pattern, RuleKind.CHANGE), workspace=work) == "allow", pattern
        assert effect(change("../secret"), allow(pattern, RuleKind.CHANGE), workspace=work) == "ask", pattern


HIT = [
    *(
        ("docs", "docs/x"),
        ("docs/**", "DOCS/x"),
        ("**/.env", "src/.env"),
        ("**/.env", "/else/.env"),
        ("src/**", "in/m.py"),
    ),
    *(
        ("in/**", "in/m.py"),
        ("src/", "docs/../src/x"),
        ("/etc/**", "/etc/hosts"),
        ("**/secret", "link"),
        ("*.md", "a.md"),
    ),
    *(
        ("keys/", "KEY\u017f/x"),
        ("keys/", "\u212aeys/x"),
        ("caf\u00e9/", "cafe\u0301/x"),
        ("cafe\u0301/", "caf\u00c9/x"),
    ),
    *(("a/\uff3bx\uff3d", "a/\uff3bx\uff3d"), ("*/key", "a\uff0fb/key"), ("stra\u00dfe", "STRASSE/x")),
]


@pytest.mark.parametrize(("pattern", "path"), HIT)
def test_a_deny_for_paths_needs_only_one_of_them(work: Path, pattern: str, path: str) -> None:
    asked = change("b.rs", path)
    assert effect(asked, deny(pattern, RuleKind.CHANGE), policy=Policy.YOLO, workspace=work) == "deny"
    assert effect(change("b.rs"), deny(pattern, RuleKind.CHANGE), policy=Policy.YOLO, workspace=work) == "allow"


@pytest.mark.parametrize(
    "pattern", ["src/deep/", "src/deep/*.pem", "src/deep/key", "**/key", "src/**/key", "{}/src/*/key"]
)
def test_a_deny_for_a_path_is_also_for_removing_a_folder_above(work: Path, pattern: str) -> None:
    (work / "src/deep/key").write_text("x")
    rules = [deny(pattern.format(work), RuleKind.CHANGE), allow("**", RuleKind.CHANGE)]
    for path in ("src", "src/", "link/../src", str(work / "src"), ".", str(work), str(work.parent)):
        asked = Asked(GateKind.CHANGE, path, paths=("b.rs", path), removes=True)
        assert effect(asked, *rules, policy=Policy.YOLO, workspace=work) == "deny", path
    for path in ("docs", "src/m.py", "other"):
        asked = Asked(GateKind.CHANGE, path, paths=(path,), removes=True)
        assert effect(asked, *rules, policy=Policy.YOLO, workspace=work) == "allow", path
    assert effect(change("src"), *rules, policy=Policy.YOLO, workspace=work) == "allow"


def test_removing_a_folder_with_a_protected_one_is_asked_about(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def removing(path: str, pattern: str) -> str:
        asked = Asked(GateKind.CHANGE, path, paths=(path,), removes=True)
        return effect(asked, allow(pattern, RuleKind.CHANGE), workspace=work)

    asked = Asked(GateKind.CHANGE, "other", paths=("other",), removes=True)
    assert effect(asked, policy=Policy.TRUSTED, workspace=work) == removing("other", "**") == "allow"
    (work / "other/x/.GIT").mkdir(parents=True)
    assert effect(asked, policy=Policy.TRUSTED, workspace=work) == removing("other", "**") == "ask"
    (work / "other/x/.GIT").rename(work / "other/x/.hu\u017fky")
    assert effect(asked, policy=Policy.TRUSTED, workspace=work) == removing("other", "**") == "ask"
    (work / "other link").symlink_to(work / "other")
    assert removing("other link", "**") == removing("other", "other/**") == "ask"
    assert removing("src", "**") == "allow"
    monkeypatch.setattr(removals, "_MAX_ENTRIES", 1)
    assert removing("src", "**") == "ask"
    assert effect(asked, deny("**/key", RuleKind.CHANGE), policy=Policy.YOLO, workspace=work) == "deny"


def test_tools_are_matched_by_name() -> None:
    tool = Asked(GateKind.PERMISSION, "github.create_issue")
    assert effect(tool, allow("github.*", RuleKind.TOOL)) == "allow"
    assert effect(tool, allow("GitHub.*", RuleKind.TOOL)) == "ask"
    assert effect(tool, allow("gitlab.*", RuleKind.TOOL)) == "ask"
    assert effect(tool, deny("GitHub.*", RuleKind.TOOL), policy=Policy.YOLO) == "deny"


def test_an_exact_rule_matches_one_request_byte_by_byte() -> None:
    asked = command("ls; rm x", "/w")
    exact = allow(exact_pattern(asked), RuleKind.EXACT)
    assert effect(asked, exact) == "allow"
    for other in (
        command("ls; rm y", "/w"),
        command("ls; rm x", "/v"),
        Asked(GateKind.PERMISSION, "ls; rm x", folder="/w"),
    ):
        assert effect(other, exact) == "ask"
    assert re.fullmatch("[0-9a-f]{64}", exact_pattern(command("\udcff")))


def test_an_exact_rule_for_a_command_inside_the_sandbox_does_not_let_it_leave() -> None:
    inside, leaving = (Asked(GateKind.COMMAND, "npm test", leaves_sandbox=leaves) for leaves in (False, True))
    assert inside.subject == "command\0\0npm test\0"  # as it is stored
    assert effect(inside, allow(exact_pattern(inside), RuleKind.EXACT)) == "allow"
    assert effect(leaving, allow(exact_pattern(inside), RuleKind.EXACT)) == "ask"
    assert effect(leaving, allow(exact_pattern(leaving), RuleKind.EXACT)) == "allow"


@pytest.mark.parametrize("policy", Policy)
def test_a_question_is_always_for_a_person(policy: Policy) -> None:
    asked = Asked(GateKind.QUESTION, "which?", questions=(Question("q", "which?"),))
    rules = [rule(each, "*", kind) for each in Effect for kind in RuleKind]
    assert effect(asked, *rules, allow(exact_pattern(asked), RuleKind.EXACT), policy=policy) == "ask"


def test_each_policy_decides_if_no_rule_matches(work: Path) -> None:
    requests = (
        change("src/m.py"),
        change("link"),
        command("make", str(work)),
        command("ls", str(work)),
        Asked(GateKind.PERMISSION, "t"),
    )
    wanted = {
        Policy.CAREFUL: ["ask", "ask", "ask", "allow", "ask"],
        Policy.TRUSTED: ["allow", "ask", "ask", "allow", "ask"],
        Policy.READ_ONLY: ["deny", "deny", "deny", "allow", "deny"],
        Policy.YOLO: ["allow", "allow", "allow", "allow", "allow"],
    }  # fmt: skip
    for policy, effects in wanted.items():
        assert [effect(asked, policy=policy, workspace=work) for asked in requests] == effects, policy


def test_a_plan_is_for_people_under_every_policy_but_yolo(work: Path) -> None:
    """A yes to it allows nothing, so `read-only` has nothing to deny."""
    plan = Asked(GateKind.PERMISSION, "Carry out this plan", unjudged="for people", is_for_people=True)
    decided = {policy: effect(plan, policy=policy, workspace=work) for policy in Policy}
    assert decided == {policy: "allow" if policy is Policy.YOLO else "ask" for policy in Policy}
    assert effect(plan, deny("Carry *", RuleKind.TOOL), policy=Policy.YOLO) == "deny"


def test_a_request_is_restricted_by_a_deny_or_an_ask_that_applies(work: Path) -> None:
    def restricted(*rules: Rule, now: int = NOW) -> bool:
        return is_restricted(Asked(GateKind.PERMISSION, "Agent"), str(work), rules, now, THREAD)

    assert restricted(deny("Agent", RuleKind.TOOL)) and restricted(ask("*", RuleKind.TOOL))
    assert not restricted(allow("Agent", RuleKind.TOOL), deny("Read", RuleKind.TOOL))
    elsewhere = deny("Agent", RuleKind.TOOL, scope=Scope.WORKSPACE, place="/elsewhere")
    assert not restricted(elsewhere, deny("Agent", RuleKind.TOOL, until=NOW - 1))


def test_a_verdict_says_in_words_who_decided(work: Path) -> None:
    def why(asked: Asked, *rules: Rule, policy: Policy = Policy.CAREFUL) -> str:
        return decide(asked, policy, str(work), rules, NOW, THREAD).why

    here = str(work)
    assert why(command("pytest -q"), allow("pytest *")) == "the rule `allow pytest *` (01R)"
    assert why(change("src/a"), deny("src/**", RuleKind.CHANGE)) == "the rule `deny changes of src/**` (01R)"
    assert why(command("ls", here)) == "it only reads inside the workspace"
    assert why(change("src/a"), policy=Policy.TRUSTED) == "the policy trusted"
    assert why(command("ls; ls &", here)) == "it is more than plain words"
    assert why(command("pytest -q | tail"), allow("pytest *")) == "the rule `allow pytest *` (01R)"
    (work / "other/.git").mkdir()
    assert why(command("git status", str(work / "other"))) == "other is another repository inside the workspace"
    assert why(command("sudo ls", here)) == "`sudo` is always asked about"
    assert why(command("make", here)) == "no rule allows it"


READS = lines(
    """
    ls  ls -la src  ls --color=never  pwd  cat a.txt  cat ./a.txt src/m.py  cat src/../a.txt  cat -n a.txt
    head -n 5 a.txt  head -5 a.txt  tail -n5 a.txt  tail -n +3 a.txt  wc -l a.txt  grep -rn x src  grep -A3 x a.txt
    grep --include='*.py' -r x .  rg -n x  rg --files src  rg -g '*.py' x  rg --type=py x  stat a.txt  file a.txt
    tree -L 2 src  git status  git status -sb  git --no-pager log --oneline -5  git log -p -n 3 -- src
    git diff --stat  git diff HEAD a.txt  git show HEAD:src/m.py  git branch --list  git branch -a
    git branch --list 'a*'  git rev-parse --abbrev-ref HEAD  git ls-files  git blame -L 1,5 a.txt  which python
    echo hello /etc '$x'  date  date +%s  date -u '+%Y-%m-%d'  true  sort -n a.txt  sort -k 2 a.txt  uniq -c a.txt
    cut -d, -f1 a.txt  diff a.txt b.txt  diff -u a.txt b.txt  cmp a.txt b.txt  nl -ba a.txt  sed -n 1,20p a.txt
    sed -n 5p a.txt  sed -n '1,5p;8p;9,$p' a.txt
    find . -name '*.py' -type f  find src -maxdepth 2  du -sh src  sha256sum a.txt  basename a/b
    readlink -f a.txt  cat in/m.py  cat -- a.txt  cat -  whoami  uname -a  /bin/bash -lc 'cat a.txt'
    cat no-such-file
    """
)
READS_NOT = lines(
    r"""
    grep -r x /proc/self/cwd/src/../../secret  rg x /proc/self/cwd/../secret  echo /proc/self/cwd/../*
    grep x /proc/4000000/environ  grep -e x /api/v1  rg --files /api/v1  grep x y /api/v1  grep x src/../../api
    cat *t^z  cat s*t~zz  grep -E '((a{1000,}){1000,}){1000,}' a.txt  tree -P '*a*a*a*a*a*a*b'
    grep -E '((((((((((a+)+)+)+)+)+)+)+)+)+)+' a.txt
    cat ''=which  head ""=which  nl -w 2000000000 a.txt  git blame --date=format:%1999999999d a.txt
    tr '[a*4000000000000]' b  grep -E '(((a{1,1000}){1,1000}){1,1000})' a.txt  grep 'a\{1,30000\}\{1,30000\}' a.txt
    git log --grep='\(\(a\{1,250\}\)\{1,250\}\)\{1,250\}'  git rev-parse ':/((a{1,250}){1,250}){1,250}'
    cat /etc/passwd  cat ../secret  cat ../../etc/passwd  cat src/../../secret  cat link  cat out/x  ls out  ls /
    ls ..  ./ls  /bin/ls  src/cat a.txt  head -c5 /etc/passwd  wc --files0-from=a.txt  wc --files0-from=/etc/x
    grep -f /etc/shadow x  grep -f a.txt x  grep -f/etc/shadow x  grep --file=/etc/shadow x  grep -R x .
    grep x /etc/hosts  grep -e x -f /etc/shadow  grep -rf a.txt .  grep -Af a.txt  grep --exclude-from=/etc/x y
    grep --exclude=/etc/x y  rg --pre ./x y  rg --pre=./x y  rg -e -- --pre=./x  rg --regexp -- --pre=./x  rg -L x
    rg -z x  rg -f a.txt  rg --hostname-bin=./x y  rg --follow x  rg --search-zip x  rg --ignore-file=/etc/x y
    rg x /etc  rg -uuf a.txt  tail -f a.txt  tail -F a.txt  tail --follow=name a.txt  tail --follow a.txt
    tail --pid=1 a.txt  tail -n5f a.txt  git -c core.pager=./x log  git -C /etc status  git -C src status
    git -p log  git --paginate log  git --git-dir=x log  git --exec-path=. log  git diff --output=x
    git diff --output x  git diff --out=x  git log --ext-diff  git show --textconv  git diff -O/etc/x  git diff -Ox
    git diff --no-index a b  git diff /etc/passwd a.txt  git diff link a.txt  git log --no-pager  git branch new
    git branch -D main  git branch -d x  git branch --list -D x  git branch -m a b  git branch --edit-description
    git branch -f x  git checkout x  git config a b  git stash  git  git push  git rev-parse --parseopt  git tag x
    git blame --contents /etc/x a  git status --porcelain=/etc  git log --open-files-in-pager  git grep -O x
    git bisect run x  date -s now  date --set=now  date 010100002030  date -f a.txt  date --se=x
    sort -o b.txt a.txt  sort a.txt -o b.txt  sort --output=b.txt a.txt  sort --out=b a  sort -ob.txt a.txt
    sort --compress-program=./x a  sort -T /etc a  sort -no b a  sort --files0-from=a  uniq a.txt b.txt
    uniq - b.txt  uniq -- - b.txt  git branch -
    uniq -c a.txt b.txt  file -C  file -m x  file -f a.txt  file -z a.txt  file -s a  tree -o x  tree -R  tree -l
    tree --output=x  tree /  sed -i s/a/b/ a.txt  sed -n 'w x' a.txt  sed 1e a.txt  sed -n 1,5p -i a.txt
    sed -n '1,5w x' a.txt  sed -n '1p;2w x' a.txt  sed -n '1p;2e' a.txt  sed -n '1p;' a.txt
    sed -n -e 1p a.txt  sed -n 1p link  sed --expression=1p a.txt  nl -b pfoo a.txt -x
    find . -delete  find . -exec ls  find -L .  find / -name x  find . -fprint x  find . -newer /etc/x
    find .. -name x  diff src docs  diff -r src docs  diff a.txt link  diff src a.txt  diff --from-file=/etc/x a
    diff -l a b  sha256sum -c a.txt  which -x a  xxd a.txt  tee a.txt  touch x  less a.txt  env  printenv
    jq . a.txt  awk 1 a.txt  hostname x  cd src  du -L .  du --files0-from=a  cut -f1 /etc/passwd  stat /
    cat a.txt > b  python x  make  cat ~  cat '~/x' /x
    """
)


@pytest.mark.parametrize("line", READS, ids=repr)
def test_commands_that_only_read_in_the_workspace_are_not_asked_about(work: Path, line: str) -> None:
    (work / "out").unlink()  # it may be a folder in the history
    if "blame" in line:
        (work / "link").unlink()  # it may be a file that `blame.ignoreRevsFile` names
    assert effect(command(line, str(work)), workspace=work) == "allow"
    assert effect(command(line, str(work)), policy=Policy.READ_ONLY, workspace=work) == "allow"


@pytest.mark.parametrize("line", READS_NOT, ids=repr)
def test_commands_that_may_do_more_than_read_are_asked_about(work: Path, line: str) -> None:
    assert effect(command(line, str(work)), workspace=work) == "ask"
    assert effect(command(f"bash -lc {shlex.quote(line)}", str(work)), workspace=work) == "ask"


@pytest.mark.parametrize("folder", [None, "", ".", "/", "/etc", "{work}/..", "{work}/out", "{work}/../work2"])
def test_reading_outside_the_workspace_is_asked_about(work: Path, folder: str | None) -> None:
    assert effect(command("ls", folder and folder.format(work=work)), workspace=work) == "ask"


def test_the_root_folder_does_not_count_as_a_workspace() -> None:
    assert effect(command("cat etc/passwd", "/"), workspace="/") == "ask"
    assert effect(change("etc/passwd"), policy=Policy.TRUSTED, workspace="/") == "ask"


@pytest.mark.parametrize("folder", ["other", "bare", "bare/objects"])
def test_git_in_a_repository_that_is_not_the_workspaces_own_is_asked_about(work: Path, folder: str) -> None:
    """Its config may name programs that git runs even for a status."""
    (work / "out").unlink()
    assert effect(command("git status", str(work / "src/deep")), workspace=work) == "allow"
    (work / "other/.git").mkdir()
    assert effect(command("git log", str(work / folder)), workspace=work) == "ask"
    assert effect(command("git log", str(work / "src/deep")), workspace=work) == "allow"
    assert effect(command("git status", str(work / "src/deep")), workspace=work) == "ask"  # which enters it


@given(st.sampled_from(sorted(SAFE_COMMANDS)), st.lists(st.text(st.sampled_from("-=/.a ~oO5"), max_size=6), max_size=4))
def test_no_safe_command_names_a_path_outside(name: str, rest: list[str]) -> None:
    line = shlex.join([*name.split(), *rest])
    if effect(command(line, "/nowhere/w"), workspace="/nowhere/w") == "allow" and not SAFE_COMMANDS[name].opens_no_file:
        assert not any(word.startswith("/") or word.split("/")[0] == ".." for word in rest)


def test_durations_are_parsed_as_people_write_them() -> None:
    lengths = {
        "90s": 90_000,
        "30m": 1_800_000,
        "2h": 7_200_000,
        "2 h": 7_200_000,
        " 1D ": 86_400_000,
        "1w": 604_800_000,
    }
    assert {text: parse_duration(text) for text in lengths} == lengths


@pytest.mark.parametrize(
    "text", ["", "2", "h", "0h", "-1h", "1.5h", "2 hours ago", "٢h", "1000000000d", "2h\x1b[2J", "1y"]
)
def test_an_invalid_duration_is_refused_with_help(text: str) -> None:
    with pytest.raises(BadInput, match="such as 30m, 2h or 1d") as caught:
        parse_duration(text)
    assert "\x1b" not in caught.value.message


@pytest.mark.parametrize(
    ("rule", "english", "translated"),
    [
        (allow("pytest *"), "allow pytest *", "允许运行 pytest *"),
        (deny("src/**", RuleKind.CHANGE), "deny changes of src/**", "拒绝修改 src/**"),
        (ask("a.*", RuleKind.TOOL), "ask the tool a.*", "询问使用工具 a.*"),
        (allow("a" * 64, RuleKind.EXACT), "allow exactly aaaaaaaaaaaa…", "允许同一请求 aaaaaaaaaaaa…"),
        (allow("\x1b[2J"), r"allow \x1b[2J", r"允许运行 \x1b[2J"),
    ],
)
def test_a_rule_is_named_in_both_languages(rule: Rule, english: str, translated: str) -> None:
    name = rule_name(rule)
    assert name == f"the rule `{english}` (01R)" and zh(name) == f"规则 `{translated}`（01R）"


def test_reasons_that_name_a_rule_are_chinese(work: Path) -> None:
    def why(asked: Asked, *rules: Rule, policy: Policy = Policy.CAREFUL) -> Verdict:
        return decide(asked, policy, str(work), rules, NOW, THREAD)

    assert zh(gate_messages.by_rule(why(command("pytest -q"), allow("pytest *")).why)) == (
        "clew（规则 `允许运行 pytest *`（01R））"
    )
    hidden = why(command("gi${x}t config x; $y pu$(true)sh"), deny("git push"), policy=Policy.YOLO)
    assert hidden.reason is not None and "拒绝运行 git push" in zh(reasons.reason(hidden.reason))
    note = note_other_kind(change("secrets/key"), str(work), [deny("secrets/key")], NOW, THREAD)
    assert zh(note) == "规则 `拒绝运行 secrets/key`（01R）属于“命令”类：对“修改”类的请求不起作用"


def test_a_pattern_that_cannot_work_is_refused_with_help() -> None:
    command_, change_ = RuleKind.COMMAND, RuleKind.CHANGE
    assert validated_pattern(Effect.ALLOW, command_, " pytest * ") == "pytest *"
    assert validated_pattern(Effect.DENY, command_, "sudo *") == "sudo *"
    refused = [(command_, ""), (command_, "a\nb"), (command_, "сat *"), (command_, "a 'b"), (command_, "sudo *")]
    refused += [(command_, "ls && rm *"), (command_, "ls;"), (change_, "~/x"), (change_, "../x"), (change_, "a\u200b")]
    for kind, pattern in refused:
        with pytest.raises(BadInput):
            validated_pattern(Effect.ALLOW, kind, pattern)


def test_every_kind_of_request_but_a_question_can_have_a_rule() -> None:
    assert set(GateKind) - set(RULE_KINDS) == {GateKind.QUESTION}


def test_the_rules_page_lists_all_safe_commands_and_all_that_always_ask() -> None:
    text = (ROOT / "docs" / "reference" / "rules.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"`([^`]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL)))
    assert [name for name in (*SAFE_COMMANDS, *WRAPPERS) if name not in listed] == []


@pytest.fixture
def tx() -> Tx:
    connection = SqliteConnection(sqlite3.connect(":memory:", isolation_level=None))
    connection.script(
        "CREATE TABLE rules (id TEXT PRIMARY KEY, effect TEXT NOT NULL, kind TEXT NOT NULL, pattern TEXT NOT NULL,"
        " scope TEXT NOT NULL, place TEXT NOT NULL, until BIGINT, created_at BIGINT, created_by TEXT);"
    )
    return Tx(connection)


def stored(name: str, scope: Scope, place: str) -> Rule:
    return Rule(name, Effect.ASK, RuleKind.TOOL, "x*", scope, place, created_at=5, until=7, created_by="me")


def test_a_thread_has_its_own_rules_its_workspaces_and_global_ones(tx: Tx) -> None:
    made = [stored("01A", Scope.THREAD, "t"), stored("01B", Scope.WORKSPACE, "/w"), stored("01C", Scope.EVERYWHERE, "")]
    foreign = [
        stored("02A", Scope.THREAD, "u"),
        stored("02B", Scope.WORKSPACE, "/v"),
        stored("02C", Scope.THREAD, "/w"),
    ]
    for each in (*made, *foreign):
        rows.insert(tx, each)
    assert rows.of_scopes(tx, "t", "/w") == made
    assert rows.all_rules(tx) == [*made, *foreign]


def test_a_rule_is_found_by_a_prefix_of_its_id_and_removed_once(tx: Tx) -> None:
    for name in ("01A", "01B", "02A"):
        rows.insert(tx, stored(name, Scope.EVERYWHERE, ""))
    assert (rows.matching(tx, "01"), rows.matching(tx, "02"), rows.matching(tx, "03")) == (["01A", "01B"], ["02A"], [])
    assert rows.get(tx, "01A") == stored("01A", Scope.EVERYWHERE, "") and rows.get(tx, "01") is None
    assert (rows.remove(tx, "01A"), rows.remove(tx, "01A")) == (True, False)


@pytest.mark.parametrize(
    ("policy", "expected"), [("careful", "ask"), ("trusted", "ask"), ("yolo", "ask"), ("read-only", "deny")]
)
def test_a_command_that_is_too_long_to_be_judged_is_asked_about_or_denied(policy: str, expected: str) -> None:
    long = f"echo {'x' * MAX_COMMAND_LENGTH}"
    assert effect(command(long), policy=Policy(policy)) == expected
