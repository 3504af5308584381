"""Plugins: clew's own and those of other packages, which here are folders with real metadata."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import pytest

from clew.config import entry_points
from clew.config.plugins import BUILT_IN, RUNTIMES, SURFACES, load, names
from clew.daemon.assemble import own_runtimes
from clew.support.errors import BadInput
from clew.surfaces import feishu, telegram, webhook
from clew.surfaces.local import LocalSurface
from tests.helpers.paths import ROOT


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def install(site: Path, package: str, group: str, entries: dict[str, str], code: str = "") -> None:
    metadata = site / f"{package}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    lines = [f"[{group}]", *(f"{name} = {value}" for name, value in entries.items())]
    (metadata / "entry_points.txt").write_text("\n".join(lines) + "\n")
    (site / f"{package.replace('-', '_')}.py").write_text(code)


def test_the_table_of_built_ins_is_the_only_list_of_them() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert "entry-points" not in project
    for group in BUILT_IN:
        assert load(group, *BUILT_IN[group])[1] == []


def test_built_ins_are_found_whatever_the_metadata_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entry_points, "of_group", lambda group: ())
    factories, troubles = load(SURFACES)
    assert {name: plugin.make for name, plugin in factories.items()} == {
        "feishu": feishu.make,
        "local": LocalSurface,
        "telegram": telegram.make,
        "webhook": webhook.make,
    }
    assert troubles == []


def test_stale_metadata_of_clew_itself_is_ignored(site: Path) -> None:
    install(site, "clew", SURFACES, {"webhook": "clew.gone:Webhook", "removed": "clew.gone:Removed"})
    assert names(SURFACES) == ["feishu", "local", "telegram", "webhook"]
    factories, troubles = load(SURFACES, "webhook")
    assert factories == {"webhook": webhook.PLUGIN} and troubles == []


def test_another_package_adds_its_own(site: Path) -> None:
    install(site, "clew-pager", SURFACES, {"pager": "clew_pager:Pager"}, "class Pager: pass")
    assert names(SURFACES) == ["feishu", "local", "pager", "telegram", "webhook"]
    factories, troubles = load(SURFACES)
    assert factories["pager"].make.__name__ == "Pager" and troubles == []


FORMER_IMPORTS = """
from clew.asking import Asked, GateKind
from clew.config_rules import Secret
from clew.errors import BadInput, RuntimeLost
from clew.events import TurnStarted
from clew.long_text import GrowingText
from clew.model import Conversation, Inbound, Said, TurnState
from clew.runtimes.base import Health, Look, RuntimeCan
from clew.runtimes.conformance import CHECKS
from clew.surfaces.base import Receipt, SurfaceCan, TryAgain
from clew.surfaces.connecting import Field


class Old:
    refusal = BadInput
"""


def test_a_plugin_that_imports_former_names_still_loads(site: Path) -> None:
    install(site, "clew-old", SURFACES, {"old": "clew_old:Old"}, FORMER_IMPORTS)
    factories, troubles = load(SURFACES, "old")
    assert troubles == []
    assert getattr(factories["old"].make, "refusal", None) is BadInput


def test_only_what_is_wanted_is_imported(site: Path) -> None:
    install(site, "clew-loud", SURFACES, {"loud": "clew_loud:Loud"}, "raise RuntimeError('imported')")
    assert "loud" in names(SURFACES)
    factories, troubles = load(SURFACES, "local")
    assert factories["local"].make is LocalSurface and list(factories) == ["local"] and troubles == []
    assert "clew_loud" not in sys.modules


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("import no_such_module_at_all", "ModuleNotFoundError: No module named 'no_such_module_at_all'"),
        ("raise RuntimeError('no modem')", "RuntimeError: no modem"),
        ("import sys; sys.exit(3)", "SystemExit: 3"),
        ("def def", "SyntaxError"),
        ("", "AttributeError"),
        ("Bad = 7", "is not a class or a function"),
    ],
)
def test_a_plugin_that_fails_to_load_is_a_value(site: Path, code: str, words: str) -> None:
    install(site, "clew-bad", SURFACES, {"bad": "clew_bad:Bad"}, code)
    sys.modules.pop("clew_bad", None)
    factories, (trouble,) = load(SURFACES)
    assert set(factories) == {"feishu", "local", "telegram", "webhook"}
    assert (trouble.group, trouble.name) == (SURFACES, "bad")
    assert words in trouble.error and "clew_bad:Bad of clew-bad" in trouble.error
    assert str(trouble).startswith("clew.surfaces bad: ")


def test_an_unknown_name_is_a_trouble_that_lists_the_known_ones() -> None:
    factories, (trouble,) = load(RUNTIMES, "cobol")
    assert factories == {} and trouble.name == "cobol"
    assert "known: acp, claude, codex, scripted" in trouble.error


def test_safe_names_are_unique(site: Path) -> None:
    install(site, "clew-thief", SURFACES, {"webhook": "clew_thief:Webhook"}, "class Webhook: pass")
    factories, (trouble,) = load(SURFACES)
    assert factories["webhook"] is webhook.PLUGIN
    assert trouble.name == "webhook" and "clew-thief" in trouble.error
    assert load(SURFACES, "local")[1] == []


@pytest.mark.parametrize(
    ("text", "is_there"),
    [
        ("", False),
        ("[runtimes.scripted]\nenabled = true\n", True),
        ('[threads]\nruntime = "scripted"\n', True),
        ('[runtimes.scripted]\nfolder = "/tmp/x"\n', True),
    ],
)
def test_the_scripted_runtime_is_there_only_if_the_settings_enable_it(
    text: str, is_there: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config.toml").write_text(text)
    monkeypatch.setenv("CLEW_HOME", str(tmp_path))
    runtimes, _ = own_runtimes("test")
    assert ("scripted" in runtimes) is is_there
