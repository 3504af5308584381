"""Settings of a plugin surface: defined by its package, with errors that name the line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from clew.config import describe, plugins
from clew.config.plugins import RUNTIMES, SURFACES
from clew.config.settings import Config, parse, parse_leniently
from clew.daemon import assemble
from clew.process.scan import Marks
from clew.runtimes import process
from clew.support.clock import SystemClock
from clew.support.errors import BadInput, ConfigError
from clew.support.home import Home
from tests.config.test_plugins import install
from tests.helpers.daemons import SCRIPTED, Clew
from tests.helpers.paths import ROOT

CODE = """
from dataclasses import dataclass
from clew.config.rules import AtLeastOne, Secret
from clew.support.errors import ConfigError
from clew.model.surface import SurfaceCan
from clew.surfaces.setup import Connected, Field
from clew.surfaces.local import LocalSurface

@dataclass(frozen=True)
class Settings:
    loft: str
    key: Secret | None = None
    tries: AtLeastOne = 3
    allow: tuple[str, ...] = ()
    key_env: str | None = None

class Asking:
    SURFACE = "pigeons"
    FIELDS = (Field("loft", "Which loft"), Field("key", "Its key", secret=True))
    async def check(values):
        return Connected(values["loft"], "Whistle.")

class Pigeons:
    name, trouble, can = "pigeons", "", SurfaceCan(chat=True)
    async def run(self, inbox): pass
    async def close(self): pass

def make(config):
    if config is None:
        return None
    if config.loft == "full":
        raise ConfigError("[surfaces.pigeons] the loft is full")
    made = Pigeons()
    made.config = config
    return made

make.settings = Settings
make.connecting = Asking
"""
FILE = '[surfaces.pigeons]\nloft = "north"\nkey = "very secret"\nallow = ["ann"]\n'


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    site = tmp_path / "site"
    site.mkdir()
    install(site, "pigeonpost", SURFACES, {"pigeons": "pigeonpost:make", "plain": "pigeonpost:Pigeons"}, CODE)
    install(site, "brokenpost", SURFACES, {"broken": "brokenpost:make"}, "raise RuntimeError('no pigeons')")
    monkeypatch.syspath_prepend(site)
    return site


def wrong(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        parse(text, "config.toml")
    return caught.value.message


def made(config: Config, folder: Path) -> assemble.Parts:
    return assemble.assemble(config, SystemClock(), Home(folder), Marks("s", "i"), lambda outgoing: False)


def test_a_plugin_says_what_its_settings_are(site: Path, tmp_path: Path) -> None:
    config = parse(FILE, "config.toml")
    found = config.surfaces["pigeons"]
    assert (found.loft, found.key, found.tries, found.allow) == ("north", "very secret", 3, ("ann",))
    assert config.secrets() == {"very secret"}
    surface: Any = made(config, tmp_path).surfaces["pigeons"]
    assert surface.config is found


def test_no_child_inherits_a_variable_that_holds_a_secret_of_a_surface(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "_hidden", set())
    held = ("BOT_TOKEN", "LARK_SECRET", "PIGEON_KEY")
    for name in (*held, "OTHER"):
        monkeypatch.setenv(name, "very secret")
    tables = '[surfaces.telegram]\ntoken_env = "BOT_TOKEN"\n[surfaces.feishu]\napp_secret_env = "LARK_SECRET"\n'
    config = parse(f'{tables}app_id = "x"\n{FILE}key_env = "PIGEON_KEY"\n', "config.toml")
    made(config, tmp_path)
    mark = Marks("s", "i").next()
    inherited = process.child_environment(mark, {})
    assert "OTHER" in inherited and not inherited.keys() & set(held)
    assert process.child_environment(mark, {"BOT_TOKEN": "mine"})["BOT_TOKEN"] == "mine", "given to just this agent"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[surfaces.pigeons]\n", "line 1: surfaces.pigeons needs `loft`"),
        (FILE + "tires = 4\n", "line 5: surfaces.pigeons.tires is not a setting: did you mean `tries`?"),
        (FILE + "tries = 0\n", "line 5: surfaces.pigeons.tries is 0: it must be at least 1"),
        (FILE + "tries = true\n", "line 5: surfaces.pigeons.tries must be a whole number"),
        ("surfaces.pigeons = 3\n", "line 1: surfaces.pigeons must be a table"),
        ("[surfaces.pigeonss]\n", "line 1: surfaces.pigeonss is not a setting"),
        ("[surfaces.plain]\nx = 1\n", "line 1: surfaces.plain cannot have settings"),
        ("[surfaces.others]\nx = 1\n", "line 1: surfaces.others is not a setting"),
        ("[runtimes.pigeons]\n", "line 1: runtimes.pigeons is not a setting"),
    ],
)
def test_invalid_plugin_settings_are_reported_with_their_line(site: Path, text: str, words: str) -> None:
    assert words in wrong(text)
    [mistake], _ = parse_leniently(text, "config.toml")
    assert words in mistake


def test_settings_of_a_plugin_that_cannot_load_stop_nothing(site: Path, tmp_path: Path) -> None:
    config = parse("[surfaces.broken]\nx = 1\n", "config.toml")
    assert "broken" not in config.surfaces
    parts_ = made(config, tmp_path)
    assert "broken" not in parts_.surfaces and any("no pigeons" in str(trouble) for trouble in parts_.troubles)


def test_a_plugin_that_rejects_its_settings_is_left_out_with_a_reason(site: Path, tmp_path: Path) -> None:
    parts_ = made(parse('[surfaces.pigeons]\nloft = "full"\n', "config.toml"), tmp_path)
    assert "pigeons" not in parts_.surfaces and "local" in parts_.surfaces
    assert any("the loft is full" in str(trouble) for trouble in parts_.troubles)


def test_a_surface_whose_name_differs_from_its_entry_point_is_left_out(site: Path, tmp_path: Path) -> None:
    parts_ = made(Config(), tmp_path)
    assert "plain" not in parts_.surfaces
    assert any("its name is 'pigeons', but its entry point's is 'plain'" in str(each) for each in parts_.troubles)


def test_without_a_table_it_has_its_defaults_or_none(site: Path, tmp_path: Path) -> None:
    assert "pigeons" not in made(Config(), tmp_path).surfaces  # a loft is needed
    code = CODE.replace("    loft: str\n", '    loft: str = "south"\n')
    code = code.replace('"pigeons"', '"south"')
    install(site, "southpost", SURFACES, {"south": "southpost:make"}, code)
    surface: Any = made(Config(), tmp_path).surfaces["south"]
    assert surface.config.loft == "south"


def test_a_runtime_has_settings_in_the_same_way(site: Path) -> None:
    install(site, "owlpost", RUNTIMES, {"owl": "owlpost:make"}, CODE)
    assert parse('[runtimes.owl]\nloft = "east"\n', "config.toml").runtimes["owl"].loft == "east"


def test_settings_of_plugins_are_looked_at_one_by_one_without_secrets(site: Path) -> None:
    found = {each.key: each.value for each in describe.all_settings(parse(FILE, "config.toml"), {})}
    assert found["surfaces.pigeons.loft"] == "north" and found["surfaces.pigeons.key"] == describe.SECRET
    assert describe.kind_of(("surfaces", "pigeons", "tries")) is int
    assert not any("others" in key for key in found)


def test_a_plugin_says_how_it_is_connected(site: Path) -> None:
    assert [field.name for field in plugins.connecting("pigeons").FIELDS] == ["loft", "key"]
    for name, words in (("plain", "cannot be connected"), ("broken", "no pigeons"), ("nobody", "cannot be connected")):
        with pytest.raises(BadInput, match=words):
            plugins.connecting(name)


@pytest.mark.process
def test_a_plugin_is_connected_and_shown_and_its_trouble_reported(site: Path, tmp_path: Path) -> None:
    with Clew(tmp_path / "home", env={"PYTHONPATH": f"{site}:{ROOT / 'src'}"}) as clew:
        clew.configure(SCRIPTED)
        done = clew.run("connect", "pigeons", "--set", "loft=north", "--set", "key=very secret", "--no-wait")
        assert done.code == 0 and "pigeons is connected as north" in done.out + done.err, done
        assert 'loft = "north"' in clew.home.config.read_text()
        assert "pigeons" in [row["name"] for row in clew.json("surfaces")]
        clew.run("config", "set", "surfaces.pigeons.loft", "full")
        clew.run("restart")
        told = clew.run("doctor")
        assert "the loft is full" in told.out and "pigeons" not in [row["name"] for row in clew.json("surfaces")]
