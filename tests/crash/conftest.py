"""A whole clew with the real Codex, the scripted model behind it, and a webhook receiver that counts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from clew.scripted_model import write_codex_home
from tests.daemons import Clew
from tests.models import Model
from tests.receivers import Receiver

SECRET = "a secret of this test"


@dataclass(frozen=True, slots=True)
class Desk:
    clew: Clew
    model: Model
    hook: Receiver


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with Model() as model, Receiver() as hook:
        codex = write_codex_home(tmp_path / "codex", model.url)
        config = f"""
            [runtimes.codex]
            home = "{codex}"
            [surfaces.webhook.x]
            url = "{hook.url}"
            secret = "{SECRET}"
            [http]
            port = 0
        """
        with Clew(tmp_path / "home", config) as clew:
            yield Desk(clew, model, hook)
