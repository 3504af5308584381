"""`clew pair --force`: the local owner can skip the lockout after wrong codes."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from tests.helpers.daemons import SCRIPTED, Clew

pytestmark = pytest.mark.process


def test_force_skips_the_lockout_locally_and_never_over_tcp(tmp_path: Path) -> None:
    with Clew(tmp_path / "home", f"{SCRIPTED}[http]\nport = 0\n") as clew:
        clew.up()
        for _ in range(5):
            assert "There is no code" in clew.run("pair", "AAAAAAAA").err
        waits = clew.run("pair", "AAAAAAAA")
        assert waits.code == 1 and "Too many wrong codes" in waits.err and "clew pair CODE --force" in waits.err
        forced = clew.run("pair", "AAAAAAAA", "--force")
        assert forced.code == 1 and "There is no code" in forced.err
        body = json.dumps({"code": "AAAAAAAA", "force": True}).encode()
        key = {"Authorization": f"Bearer {clew('token').strip()}", "Content-Type": "application/json"}
        with pytest.raises(HTTPError) as refused:
            urlopen(Request(f"{clew.json('status')['daemon']['http']}/api/people", body, key), timeout=60)
        with refused.value as answer:
            assert answer.code == 409 and "Forcing works only on the machine" in json.loads(answer.read())["detail"]
