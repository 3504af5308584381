"""The layers of docs/architecture.md hold: which package may import which, and the sizes of folders and modules."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

from tests.helpers.paths import ROOT

SOURCE = ROOT / "src" / "clew"

# Each package, and those that it may import, lazily or not. Top to bottom: nobody imports somebody above.
LAYERS: Mapping[str, str] = {
    "cli": "daemon server client engine runtimes surfaces store process config texts model support testing",
    "testing": "engine store process config texts model support",
    "daemon": "server engine runtimes surfaces store process config texts model support",
    "server": "engine process config texts model support",
    "client": "daemon process config texts model support",
    "engine": "store config texts model support",
    "surfaces": "config texts model support",
    "runtimes": "process config texts model support",
    "store": "texts model support",
    "process": "config support",
    "config": "support",
    "texts": "model support",
    "model": "support",
    "support": "",
}
# What stands in the root itself: the public names, each imported when it is asked for.
ROOT_MODULES = {"__init__", "plugin_api", "begin"}

# The packages of the engine, top to bottom; `core`, `live` and `progress` are below them, `engine` above.
ENGINE = ("services", "inbox", "places", "agents", "budgets", "threads", "turns", "gates", "delivery", "rules")

# Nobody imports from the folder of one runtime or surface: all comes through its plugin. Codex has commands of its own.
PLUGIN_FOLDERS = (
    *("runtimes.acp", "runtimes.claude", "runtimes.codex"),
    *("surfaces.feishu", "surfaces.telegram", "surfaces.webhook"),
)
OF_CODEX = {"cli.commands.codex", "cli.commands.init", "cli.demo.stage"}

ENTRIES = {"": 20, "engine": 20, "surfaces": 20}
MOST_ENTRIES = 15
LISTS = {"cli/commands", "store/tables", "store/migrations", "texts/catalogue"}  # lists by nature
LONGEST_MODULE = 450
LONGEST_FUNCTION = 60


def modules(source: Path) -> dict[str, Path]:
    """The file of a module such as `engine.turns.runner`. A package's file is its `__init__`."""
    found = {}
    for path in sorted(source.rglob("*.py")):
        parts = path.relative_to(source).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)] = path
    return found


@cache
def nodes(text: str) -> tuple[ast.AST, ...]:
    """Parsed once, since each check looks at the same files."""
    return tuple(ast.walk(ast.parse(text)))


def imports(path: Path, known: Mapping[str, Path]) -> Iterator[str]:
    """The modules of clew that a module imports, also inside functions and for type checking."""
    for node in nodes(path.read_text(encoding="utf-8")):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "clew":
            inside = node.module.removeprefix("clew").lstrip(".")
            for alias in node.names:
                full = f"{inside}.{alias.name}".lstrip(".")
                yield full if full in known else inside or "__init__"
        elif isinstance(node, ast.Import):
            yield from (
                alias.name.removeprefix("clew").lstrip(".") or "__init__"
                for alias in node.names
                if alias.name.split(".")[0] == "clew"
            )


def graph(source: Path) -> dict[str, set[str]]:
    found = modules(source)
    return {name: set(imports(path, found)) - {name} for name, path in found.items()}


def upward_imports(source: Path) -> list[str]:
    wrong = []
    for name, imported in graph(source).items():
        mine = name.split(".")[0]
        if mine in ROOT_MODULES:
            continue
        allowed = {mine, *LAYERS[mine].split()} if mine in LAYERS else set()
        wrong += [f"{name} imports {other}" for other in sorted(imported) if other.split(".")[0] not in allowed]
    return wrong


def imports_of_tables(source: Path) -> list[str]:
    """Only the engine and the store read and write rows. Everybody else calls the engine's services."""
    rows = ("store.tables", "store.metrics")
    return [
        f"{name} imports {other}"
        for name, imported in graph(source).items()
        if name.split(".")[0] not in ("engine", "store", "testing")
        for other in sorted(imported)
        if other.startswith(rows)
    ]


def upward_imports_in_engine(source: Path) -> list[str]:
    rank = {f"engine.{package}": at for at, package in enumerate(ENGINE)}
    base = len(ENGINE)
    wrong = []
    for name, imported in graph(source).items():
        if not name.startswith("engine.") or name == "engine.engine":
            continue
        mine = rank.get(".".join(name.split(".")[:2]), base)
        for other in sorted(imported):
            if other.startswith("engine"):
                theirs = rank.get(".".join(other.split(".")[:2]), -1 if other == "engine.engine" else base)
                wrong += [f"{name} imports {other}"] if theirs < mine else []
    return wrong


def imports_of_plugins(source: Path) -> list[str]:
    def folder(name: str) -> str:
        return next((each for each in PLUGIN_FOLDERS if f"{name}.".startswith(f"{each}.")), "")

    return [
        f"{name} imports {other}"
        for name, imported in graph(source).items()
        for other in sorted(imported)
        if folder(other) not in ("", folder(name)) and not (name in OF_CODEX and folder(other) == "runtimes.codex")
    ]


def cycles(source: Path) -> list[str]:
    """Each strongly connected part of the graph with more than one module (Tarjan)."""
    edges = graph(source)
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[str] = []

    def visit(name: str) -> None:
        order[name] = low[name] = len(order)
        stack.append(name)
        for other in edges[name]:
            if other not in edges:
                continue
            if other not in order:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], order[other])
        if low[name] == order[name]:
            at = stack.index(name)
            part, stack[at:] = stack[at:], []
            found.extend([" ⇄ ".join(sorted(part))] if len(part) > 1 else [])

    for name in edges:
        if name not in order:
            visit(name)
    return found


def full_folders(source: Path) -> list[str]:
    wrong = []
    for folder in (source, *(path for path in source.rglob("*") if path.is_dir())):
        name = folder.relative_to(source).as_posix().removeprefix(".")
        if folder.name == "__pycache__" or name in LISTS:
            continue
        count = sum(1 for path in folder.iterdir() if path.name != "__pycache__")
        most = ENTRIES.get(name, MOST_ENTRIES)
        wrong += [f"{name or 'clew'}: {count} entries, at most {most}"] if count > most else []
    return wrong


def long_code(source: Path) -> list[str]:
    wrong = []
    for name, path in modules(source).items():
        text = path.read_text(encoding="utf-8")
        if (lines := text.count("\n")) > LONGEST_MODULE:
            wrong.append(f"{name}: {lines} lines, at most {LONGEST_MODULE}")
        for node in nodes(text):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                wrong += [f"{name}.{node.name}: {lines} lines"] if lines > LONGEST_FUNCTION else []
    return wrong


def shadowing_names(source: Path) -> list[str]:
    """Modules and packages with the name of a standard library module."""
    paths = (path for path in source.rglob("*") if path.suffix == ".py" or path.is_dir())
    return sorted(
        str(path.relative_to(source)) for path in paths if path.stem in sys.stdlib_module_names and path.stem[0] != "_"
    )


CHECKS: tuple[Callable[[Path], list[str]], ...] = (
    upward_imports,
    imports_of_tables,
    upward_imports_in_engine,
    imports_of_plugins,
    cycles,
    full_folders,
    long_code,
    shadowing_names,
)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_layers_hold(check: Callable[[Path], list[str]]) -> None:
    assert check(SOURCE) == []


PLANTED: tuple[tuple[Callable[[Path], list[str]], str, str], ...] = (
    (upward_imports, "model/threads.py", "from clew.engine import core\n"),
    (upward_imports, "engine/core.py", "def f() -> None:\n    from clew.server import app\n"),
    (upward_imports, "attic/things.py", "from clew.model import threads\n"),
    (imports_of_tables, "server/sse.py", "from clew.store.tables import log\n"),
    (imports_of_tables, "daemon/main.py", "from clew.store.tables.log import newest\n"),
    (upward_imports_in_engine, "engine/rules/decide.py", "from clew.engine.turns.runner import Runner\n"),
    (upward_imports_in_engine, "engine/progress.py", "from clew.engine.gates import lifecycle\n"),
    (imports_of_plugins, "daemon/assemble.py", "def f() -> None:\n    from clew.surfaces.webhook import surface\n"),
    (imports_of_plugins, "surfaces/feishu/api.py", "from clew.surfaces.telegram.api import BotApi\n"),
    (cycles, "support/text.py", "def f() -> None:\n    from clew.support import files\n"),
    (full_folders, "engine/rules/extra.py", ""),
    (long_code, "engine/core.py", "x = 1\n" * 451),
    (long_code, "engine/core.py", "def f() -> None:\n" + "    x = 1\n" * 60),
    (shadowing_names, "server/http.py", ""),
)


@pytest.mark.parametrize(("check", "where", "text"), PLANTED)
def test_a_planted_violation_is_found(
    check: Callable[[Path], list[str]], where: str, text: str, tmp_path: Path
) -> None:
    for name, file in modules(SOURCE).items():
        copy = tmp_path / file.relative_to(SOURCE)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(file.read_bytes() if name != "support.files" else b"from clew.support import text\n")
    if check is full_folders:
        for number in range(MOST_ENTRIES):
            (tmp_path / where).with_name(f"extra_{number}.py").write_text("")
    planted = tmp_path / where
    planted.parent.mkdir(parents=True, exist_ok=True)
    planted.write_text(text)
    assert check(tmp_path)
