"""A complete clew with the real Codex, the scripted model, and a webhook receiver that counts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from clew.testing.scripted_model import write_codex_home
from tests.helpers.daemons import Clew
from tests.helpers.models import Model
from tests.helpers.receivers import Receiver

SECRET = "a secret of this test"


@dataclass(frozen=True, slots=True)
class System:
    clew: Clew
    model: Model
    hook: Receiver
    transport: str = "stdio"  # how Codex is reached: stdio or socket


@contextmanager
def open_system(
    folder: Path, *, codex: str = "", more: str = "", model_url: str = "", transport: str = "stdio"
) -> Iterator[System]:
    """`codex`: more settings of that runtime; `more`: other settings."""
    with Model() as model, Receiver() as hook:
        codex_home = write_codex_home(folder / "codex", model_url or model.url)
        config = f"""
            [runtimes.codex]
            home = "{codex_home}"
            transport = "{transport}"
            {codex}
            [surfaces.webhook.x]
            url = "{hook.url}"
            secret = "{SECRET}"
            [http]
            port = 0
            {more}
        """
        with Clew(folder / "home", config) as clew:
            yield System(clew, model, hook, transport)


TRANSPORTS = ("stdio", pytest.param("socket", marks=pytest.mark.heavy))  # the second only with `./check --all`


@pytest.fixture
def system(tmp_path: Path) -> Iterator[System]:
    with open_system(tmp_path) as made:
        yield made
