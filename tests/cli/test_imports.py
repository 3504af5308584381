"""What commands and the daemon import before they are of use: it is most of the time that people wait for them. Python
itself lists it, in fresh processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from clew.process.start import OUTPUT
from tests.helpers.daemons import Clew

LISTED = {"PYTHONPROFILEIMPORTTIME": "1"}
MARK = "import time:"

# Of each command: the most modules of clew, and of Python and other packages, that it may import. There is room for a
# few more of clew's, and for what other versions of Python have. Whoever needs more room should know why.
MOST = {
    "--help": (14, 112),
    "threads": (41, 136),
    "run": (59, 142),
    "daemon": (305, 356),
}
HEAVY = {
    "--help": ("asyncio", "email", "http", "json", "msgspec", "socket", "ssl", "subprocess", "sqlite3", "clew.client"),
    "threads": ("asyncio", "dataclasses", "email", "http", "json", "ssl", "subprocess", "sqlite3", "clew.engine"),
    "run": ("asyncio", "dataclasses", "email", "http", "ssl", "subprocess", "sqlite3", "clew.engine", "rich"),
    "daemon": (
        "argparse",
        "difflib",
        "html",
        "httpx",
        "importlib.metadata",
        "websockets",
        "zipfile",
        "clew.client",
        "clew.config.edit",
        "clew.process.start",
        "clew.runtimes.acp.session",
        "clew.runtimes.acp.wire",
        "clew.runtimes.claude.session",
        "clew.runtimes.claude.wire",
        "clew.runtimes.codex.session",
        "clew.runtimes.codex.wire",
        "clew.runtimes.claude.record",
        "clew.runtimes.codex.server.kept_server",
        "clew.server.openapi",
        "clew.store.recode",
        "clew.surfaces.feishu.surface",
        "clew.surfaces.telegram.surface",
    ),
}


@pytest.mark.process
def test_commands_and_the_daemon_import_no_more_than_they_need(tmp_path: Path) -> None:
    with Clew(tmp_path / "home") as clew:
        clew.up()
        clew("down")  # the first start of a home also writes its config, and runs all migrations
        clew.up(env=LISTED)
        imported = {"daemon": _listed((clew.home.logs / OUTPUT).read_text())}
        for words in (("--help",), ("threads",), ("run", "!text hello")):
            imported[words[0]] = _listed(clew.run(*words, env=LISTED).err)
    for name, modules in imported.items():
        own = {module for module in modules if module.partition(".")[0] == "clew"}
        few, others = MOST[name]
        assert own, f"{name} lists no module"
        assert len(own) <= few, f"{name} imports {len(own)} modules of clew: {sorted(own)}"
        assert len(modules - own) <= others, f"{name} imports {len(modules - own)} others: {sorted(modules - own)}"
        heavy = {each for each in HEAVY[name] if any(f"{module}.".startswith(f"{each}.") for module in modules)}
        assert not heavy, f"{name} imports {sorted(heavy)}"


def _listed(text: str) -> set[str]:
    lines = [line for line in text.splitlines() if line.startswith(MARK) and "cumulative" not in line]
    return {line.rpartition("|")[2].strip() for line in lines}
