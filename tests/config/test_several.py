"""Several entries of one plugin: two accounts of Codex."""

from __future__ import annotations

from pathlib import Path

import pytest

from clew.config import plugins
from clew.config.settings import parse
from clew.daemon.assemble import own_runtimes
from clew.support.errors import ConfigError

TWO = '[runtimes.codex-work]\ntype = "codex"\nhome = "/work-account"\n'


def test_a_table_with_a_type_is_another_account(tmp_path: Path) -> None:
    settings = parse(TWO, "config.toml")
    made, troubles = own_runtimes("test", settings)
    assert {"codex", "codex-work"} <= set(made) and troubles == []
    assert (made["codex"].name, made["codex-work"].name) == ("codex", "codex-work")
    assert "codex-work" in plugins.made_by(plugins.RUNTIMES, settings.runtimes)
    assert settings.runtimes["codex-work"].home == "/work-account"


def test_an_account_without_settings_is_there_too() -> None:
    settings = parse('[runtimes.codex-work]\ntype = "codex"\n', "config.toml")
    assert "codex-work" in plugins.made_by(plugins.RUNTIMES, settings.runtimes)


@pytest.mark.parametrize("text", ['type = "nothing"', 'type = "scripted"', "type = 7", 'type = "codex"\nhom = "x"'])
def test_what_cannot_be_an_account_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="is not a setting"):
        parse(f"[runtimes.codex-work]\n{text}\n", "config.toml")
