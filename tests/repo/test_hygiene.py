"""Rules for all files of the repository."""

from __future__ import annotations

import ast
import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.paths import ROOT

GENERATED = {"__pycache__", "dist", "build", "node_modules"}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

A_MACHINES_PATH = re.compile(r"/(?:root|opt(?!/homebrew))/")
SQL = re.compile(r"\b(?:SELECT\s.*\sFROM|INSERT\s+(?:OR\s+\w+\s+)?INTO|UPDATE\s+\w+\s+SET|DELETE\s+FROM)\b", re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")


def files(*endings: str, under: Path = ROOT) -> Iterator[Path]:
    """The files of the checkout, without generated ones."""
    for path in sorted(under.iterdir()):
        hidden = path.name.startswith(".") and path.name != ".ci"
        if path.is_dir() and not hidden and path.name not in GENERATED:
            yield from files(*endings, under=path)
        elif path.is_file() and (not endings or path.suffix in endings):
            yield path


def texts(*endings: str, under: Path = ROOT) -> Iterator[tuple[str, str]]:
    for path in files(*endings, under=under):
        yield str(path.relative_to(ROOT)), path.read_text(encoding="utf-8", errors="replace")


def trees(under: Path, having: re.Pattern[str]) -> Iterator[tuple[str, ast.Module]]:
    """The files that have such a word at all: parsing every file takes a second."""
    for name, text in texts(".py", under=under):
        if having.search(text):
            yield name, ast.parse(text)


def test_no_file_names_a_folder_of_somebodys_machine() -> None:
    assert [name for name, text in texts() if A_MACHINES_PATH.search(text)] == []


@pytest.mark.parametrize("lock", ["clew", "dev"])
def test_a_lock_names_no_index_and_no_file(lock: str) -> None:
    text = (ROOT / "requirements" / f"{lock}.lock").read_text(encoding="utf-8")
    assert re.findall(r"\w+://|--(?:index|extra-index|find-links)|(?:^|\s)(?:/|\./)", text) == []


@pytest.mark.parametrize("tools", ["claude", "page-lint"])
def test_a_lock_of_npm_names_no_registry_and_has_a_hash_for_each(tools: str) -> None:
    lock = json.loads((ROOT / "scripts" / tools / "package-lock.json").read_text(encoding="utf-8"))
    packages = [each for name, each in lock["packages"].items() if name]
    assert packages and all("resolved" not in each and each["integrity"].startswith("sha512-") for each in packages)


def pins(lock: str) -> dict[str, str]:
    text = (ROOT / "requirements" / f"{lock}.lock").read_text(encoding="utf-8")
    return dict(re.findall(r"^([a-z0-9._-]+)==([^\s;\\]+)", text, re.MULTILINE))


@pytest.mark.parametrize("lock", ["clew", "dev"])
def test_every_pin_of_a_lock_has_a_hash(lock: str) -> None:
    text = (ROOT / "requirements" / f"{lock}.lock").read_text(encoding="utf-8")
    assert len(re.findall(r"^\S+==.*\\\n    --hash=sha256:", text, re.MULTILINE)) == len(pins(lock)) > 0


def test_the_two_locks_agree() -> None:
    assert pins("clew").items() <= pins("dev").items()


def test_the_locks_hold_all_that_the_project_asks_for() -> None:
    extras = PROJECT["optional-dependencies"]
    for lock, wanted in (("clew", [*PROJECT["dependencies"], *extras["codex"]]), ("dev", extras["dev"])):
        names = {re.split(r"[^a-z0-9-]", each)[0] for each in wanted}
        assert names <= pins(lock).keys()


def test_codex_is_locked_for_every_platform_it_comes_for() -> None:
    """Linux with glibc and with musl, macOS, Windows; two processors each."""
    text = (ROOT / "requirements" / "clew.lock").read_text(encoding="utf-8")
    (codex,) = re.findall(r"^openai-codex-cli-bin==.*?(?=^\S)", text, re.MULTILINE | re.DOTALL)
    assert codex.count("--hash=") == 8


def test_every_relative_link_in_the_docs_leads_somewhere() -> None:
    missing = []
    for path in files(".md"):
        for link in LINK.findall(path.read_text(encoding="utf-8")):
            target = link.partition("#")[0]
            if target and "://" not in target and not target.startswith("mailto:"):
                missing += [] if (path.parent / target).exists() else [f"{path.relative_to(ROOT)}: {link}"]
    assert missing == []


def is_sleep(node: ast.AST) -> bool:
    """A call such as `time.sleep(0.1)`. A sleep of 0 only lets others run."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "sleep"):
        return False
    who = node.func.value
    nothing = bool(node.args) and isinstance(node.args[0], ast.Constant) and node.args[0].value == 0
    return isinstance(who, ast.Name) and who.id in ("time", "asyncio", "anyio") and not nothing


def test_no_test_sleeps() -> None:
    found = [
        f"{name}:{node.lineno}"
        for name, tree in trees(ROOT / "tests", re.compile("sleep"))
        if not name.startswith("tests/simulation/")  # its sleeps are in virtual time
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and is_sleep(node)
    ]
    assert found == []


def docstrings(tree: ast.Module) -> set[int]:
    owners = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    first = (node.body[0] for node in ast.walk(tree) if isinstance(node, owners) and node.body)
    return {id(each.value) for each in first if isinstance(each, ast.Expr)}


def test_nothing_but_the_store_knows_sql() -> None:
    found = []
    for name, tree in trees(ROOT / "src", re.compile("SELECT|INSERT|UPDATE|DELETE")):
        if "/store/" in name:
            continue
        said = docstrings(tree)
        strings = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in said)
        found += [f"{name}:{node.lineno}" for node in strings if isinstance(node.value, str) and SQL.search(node.value)]
    assert found == []
