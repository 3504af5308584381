"""Promise 13, on a running daemon."""

from __future__ import annotations

import json
import urllib.error
from pathlib import Path

import pytest

from tests.helpers.daemons import SCRIPTED, Clew
from tests.helpers.receivers import post_signed

pytestmark = pytest.mark.process

SECRET = "only-for-this-test-0123456789"
CONFIG = f"""{SCRIPTED}
[http]
port = 0
[log]
level = "debug"
[surfaces.webhook.x]
secret = "{SECRET}"
"""


def test_13_deny_by_default(tmp_path: Path) -> None:
    """No port unless configured, no access without the secret, no file readable by others, no secret in the log."""
    body = json.dumps({"id": "1", "conversation": "c", "sender": "eve", "text": f"!text my key is {SECRET}"}).encode()
    with Clew(tmp_path / "home", SCRIPTED) as clew:
        clew.up()
        assert clew.json("status")["daemon"]["http"] is None
    with Clew(tmp_path / "home", CONFIG) as clew:
        clew.up()
        http = clew.json("status")["daemon"]["http"]
        for name, secret in (("x", "a guess"), ("y", SECRET)):
            with pytest.raises(urllib.error.HTTPError) as refused:
                post_signed(http, name, secret, body)
            assert refused.value.code == 401
            refused.value.close()
        assert clew.json("status")["fates"]["turn"] == 0
        accepted = post_signed(http, "x", SECRET, body)
        clew.wait_ended(accepted)
        modes = {
            path.name: path.stat().st_mode & 0o777 for path in (clew.home.socket, clew.home.run, clew.home.database)
        }
        assert SECRET not in clew.logs()
    assert modes == {"clew.sock": 0o600, "run": 0o700, "clew.db": 0o600}
