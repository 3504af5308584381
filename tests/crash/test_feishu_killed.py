"""The real daemon with the real Codex, killed by SIGKILL between two side effects on Feishu. A message there has a key,
so a send in doubt is sent again, and there is one answer without a mark."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.conftest import open_system
from tests.crash.flows import Flow
from tests.crash.outside import died, unfinished
from tests.surfaces.fakes.process import Fake
from tests.surfaces.feishu.apps import ANN, App, words

pytestmark = pytest.mark.process

CHAT = Flow(lambda system, folder: None, (("hello",),))
ALWAYS = ("inbox.accepted-not-acknowledged", "outbox.sent-not-recorded:3")  # the placeholder, the answer, a file
POINTS = (
    "turn.sent-not-recorded",
    "turn.ended-not-owed",
    "outbox.claimed-not-sent",
    "outbox.sent-not-recorded",
    "outbox.sent-not-recorded:2",
    "outbox.claimed-not-sent:2",
    "store.written-not-committed:6",
    "store.committed-not-told:6",
)


@pytest.fixture
def app() -> Iterator[App]:
    with Fake("feishu") as fake:
        app = asyncio.run(App(fake).open())
        yield app
        asyncio.run(app.close())


def killed(folder: Path, app: App, point: str) -> None:
    who = f'app_id = "{app.id}"\napp_secret = "{app.secret}"\nallow = ["{ANN}"]'
    with open_system(folder, more=f'[surfaces.feishu]\n{who}\nbase_url = "{app.base_url}"\n') as system:
        workspace = system.clew.home.root / "workspace"
        workspace.mkdir(parents=True)
        (workspace / "notes.txt").write_text("never lose the thread")
        asyncio.run(app.say("!text hello, here are [notes](notes.txt)"))
        system.clew.run("up", env={"CLEW_CRASH": point})  # it may die before it reports that it is ready
        CHAT.finish(system)
        system.clew("down")
        messages = asyncio.run(app.shown())
        shown = [text for text in map(words, messages) if text.startswith("hello")]
        assert [message["msg_type"] for message in messages].count("file") == 1
        assert len(shown) == 1 and "not confirmed" not in shown[0], shown
        assert not any(card["streams"] for card in asyncio.run(app.state())["cards"].values())
        assert (died(system), unfinished(system.clew.home.database)) == (1, [])
        assert (system.clew.children(), system.clew.alive()) == ([], []), "something is left"


@pytest.mark.parametrize("point", ALWAYS)
def test_killed_there_one_answer_is_in_the_chat_and_it_is_plain(tmp_path: Path, app: App, point: str) -> None:
    killed(tmp_path, app, point)


@pytest.mark.heavy
@pytest.mark.parametrize("point", POINTS)
def test_killed_anywhere_one_answer_is_in_the_chat_and_it_is_plain(tmp_path: Path, app: App, point: str) -> None:
    killed(tmp_path, app, point)
