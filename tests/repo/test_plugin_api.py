"""What plugins may import does not change by accident."""

from __future__ import annotations

import inspect
import re
from enum import Enum
from pathlib import Path

import pytest

from clew import plugin_api
from tests.helpers.paths import ROOT

PINNED = ROOT / "tests" / "repo" / "golden" / "plugin_api.txt"
IMPORT = re.compile(r"^\s*from (clew[\w.]*) import|^\s*import (clew[\w.]*)", re.MULTILINE)
PUBLIC = ("clew", "clew.plugin_api", "clew.testing")


def described() -> str:
    return "".join(f"{line}\n" for name in plugin_api.__all__ for line in describe(name, getattr(plugin_api, name)))


def describe(name: str, value: object) -> list[str]:
    """A name with its signature, its values or its methods, one line each."""
    if isinstance(value, type) and issubclass(value, Enum):
        return [f"{name} = {', '.join(member.name for member in value)}"]
    if getattr(value, "_is_protocol", False):
        return [name, *(f"  .{member}{_signature(method)}" for member, method in _methods(value))]
    if isinstance(value, type):
        return [f"{name}{_signature(value)}"]
    return [f"{name}{_signature(value)}" if inspect.isroutine(value) else f"{name} = {_plain(str(value))}"]


def _methods(kind: object) -> list[tuple[str, object]]:
    return [(name, each) for name, each in vars(kind).items() if inspect.isroutine(each) and not name.startswith("_")]


def _signature(value: object) -> str:
    try:
        return _plain(str(inspect.signature(value)))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return ""


def _plain(text: str) -> str:
    """Without module names, which are nobody's business, and without addresses."""
    return re.sub(r" at 0x[0-9a-f]+|\b(?:[a-z_]+\.)+(?=[A-Za-z_])", "", text)


def test_names_and_signatures_are_as_pinned() -> None:
    again = "python -m tests.repo.test_plugin_api"
    assert described() == PINNED.read_text(encoding="utf-8"), f"if this is meant: {again}"


FLAGS = [*plugin_api.RuntimeCan.__struct_fields__, *plugin_api.SurfaceCan.__struct_fields__]


@pytest.mark.parametrize("flag", FLAGS)
def test_the_engine_reads_every_capability(flag: str) -> None:
    sources = (ROOT / "src" / "clew" / "engine").rglob("*.py")
    assert any(re.search(rf"\bcan\.{flag}\b", source.read_text(encoding="utf-8")) for source in sources)


def test_it_exports_what_it_imports() -> None:
    public = {name for name in vars(plugin_api) if not name.startswith("_")}
    assert public == set(plugin_api.__all__)


INSIDE = {"capabilities.md"}  # for those who work on clew itself
PAGES = [page for page in sorted((ROOT / "docs").rglob("*.md")) if page.name not in INSIDE]
PAGES += [*sorted((ROOT / "examples").glob("*.py")), ROOT / "README.md"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_docs_and_examples_import_only_what_is_public(page: Path) -> None:
    found = IMPORT.findall(page.read_text(encoding="utf-8"))
    modules = {first or second for first, second in found}
    assert {name for name in modules if not name.startswith("clew.testing")} <= set(PUBLIC)


if __name__ == "__main__":
    PINNED.write_text(described(), encoding="utf-8")
