"""`clew handoff`, `handoffs`, `away` and `back` with the real daemon: on the fake Telegram, in a private chat with
topics, and beside it Feishu, which has no home."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Iterator
from typing import Any

import pytest

from clew.client.requests import new_message_id
from tests.cli.terminal import Terminal
from tests.crash.phone import settings, shown
from tests.helpers.daemons import SCRIPTED, TIMEOUT, Clew
from tests.helpers.json_client import JsonClient as Client
from tests.surfaces.fakes.process import Fake
from tests.surfaces.feishu.apps import App
from tests.surfaces.telegram.bots import Bot

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def bot(fake_telegram: Fake) -> Iterator[Bot]:
    bot = asyncio.run(Bot(fake_telegram).open())
    asyncio.run(bot.do("chat", id=42, is_forum=True))
    yield bot
    asyncio.run(bot.close())


@pytest.fixture(scope="module")
def app(fake_feishu: Fake) -> App:
    return asyncio.run(App(fake_feishu).open())


@pytest.fixture(scope="module")
def clew(bot: Bot, app: App, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clew]:
    feishu = f'[surfaces.feishu]\napp_id = "{app.id}"\napp_secret = "{app.secret}"\nbase_url = "{app.base_url}"\n'
    config = SCRIPTED + settings(bot, 'home = "42"\n') + feishu
    with Clew(tmp_path_factory.mktemp("home"), config) as clew:
        clew.up()
        asyncio.run(app.connected())
        asyncio.run(bot.until(lambda state: state["polling"]))
        yield clew


def begun(clew: Clew, text: str = "!text one") -> str:
    """Start a local chat, and wait for the end of its first turn."""
    body = {"message_id": new_message_id(), "text": text, "kind": "chat", "workspace": str(clew.root)}
    accepted = Client(clew.home, start=False).post("threads", body=body)
    clew.wait_ended(accepted)
    return str(accepted["thread"])


def topic_of(conversation: str) -> int:
    chat, _, topic = conversation.partition("/")
    assert chat == "telegram:42", conversation
    return int(topic)


def sees(bot: Bot, text: str, topic: int | None = None) -> dict[str, Any]:
    """Wait for the first message there with this text."""

    def found(state: dict[str, Any]) -> list[dict[str, Any]]:
        return [each for each in shown(state) if text in each["text"] and each.get("message_thread_id") == topic]

    return found(asyncio.run(bot.until(found)))[0]


def said_in(clew: Clew, thread: str) -> list[str]:
    passages = Client(clew.home, start=False).get("threads", thread, "transcript")
    return [passage["text"] for passage in passages]


def test_it_goes_to_a_topic_and_back(clew: Clew, bot: Bot) -> None:
    thread = begun(clew)
    with Terminal(clew, ["handoff", thread[:22].lower(), "telegram", "--quiet"]) as terminal:
        assert terminal.wait() == 0
        assert (
            "handing the thread to telegram…" in terminal.shown
            and f"clew chat {clew.handle(thread)} takes it back" in terminal.shown
        )
        topic = topic_of(terminal.find(r"the thread continues in (\S+)"))
    sees(bot, "You can go on here: !text one", topic)
    asyncio.run(bot.say("!text two", topic=topic))
    sees(bot, "two", topic)
    again = clew.run("chat", thread, input="!text three\n")
    assert (again.code, again.out) == (0, "three\n")
    sees(bot, "This goes on at the computer. Say something here to take it back.", topic)
    assert said_in(clew, thread) == ["!text one", "one", "!text two", "two", "!text three", "three"]
    asyncio.run(bot.say("!text four", topic=topic))
    sees(bot, "four", topic)


def test_for_scripts_it_is_json_and_is_listed(clew: Clew, bot: Bot) -> None:
    thread = begun(clew)
    done = clew.json("handoff", thread, "telegram", "--say", "!text as you like")
    assert (done["state"], done["thread"], done["surface"]) == ("completed", thread, "telegram")
    topic = topic_of(done["conversation"])
    sees(bot, "as you like", topic)
    assert done in clew.json("handoffs")
    [line] = [line for line in clew("handoffs").splitlines() if line.startswith(thread)]
    assert line.split()[1:3] == [f"telegram:42/{topic}", "completed"]
    twice = clew.run("handoff", thread, f"telegram:42/{topic}")
    assert twice.code == 1 and "The thread is there already" in twice.err


def refused(clew: Clew, *command: str, code: int, words: str) -> None:
    result = clew.run(*command)
    assert (result.code, result.out) == (code, "") and words in result.err, result


def test_an_impossible_handoff_is_refused_with_a_clear_message(clew: Clew) -> None:
    thread = begun(clew)
    nowhere = "'nowhere' is not a chat surface. Available: feishu, telegram. `clew connect` sets one up."
    refused(clew, "handoff", thread, "nowhere", code=2, words=nowhere)
    refused(clew, "away", "nowhere", code=2, words=nowhere)
    refused(clew, "handoff", thread, "telegram:somewhere", code=2, words="not a Telegram chat")
    refused(clew, "handoff", "01HNOTHERE", "telegram", code=1, words="no thread")
    clew("cancel", thread)
    refused(clew, "handoff", thread, "telegram", code=1, words="cancelled")


def test_without_a_home_or_a_connection_it_is_refused(clew: Clew, app: App) -> None:
    """A lost connection is no event, so the test polls. No other test needs Feishu."""
    thread = begun(clew)
    no_home = "feishu has no home yet; say /home in a conversation there, or name one: feishu:CONVERSATION."
    refused(clew, "handoff", thread, "feishu", code=1, words=no_home)
    asyncio.run(app.close())
    deadline = time.monotonic() + TIMEOUT
    while "feishu is not connected" not in (result := clew.run("handoff", thread, "feishu")).err:
        assert time.monotonic() < deadline, result
    assert result.code == 1 and "`clew surfaces` tells more" in result.err


def test_one_at_a_time_and_ctrl_c_takes_it_back(clew: Clew, bot: Bot) -> None:
    thread = begun(clew)
    before = len(asyncio.run(bot.calls("createForumTopic")))
    asyncio.run(bot.fault("createForumTopic", "hold"))
    first = clew.begin("handoff", thread, "telegram")
    asyncio.run(bot.called("createForumTopic", before + 1))
    second = clew.run("handoff", thread, "telegram")
    assert second.code == 1 and "under way already; `clew handoffs` shows it" in second.err, second
    os.kill(first.pid, signal.SIGINT)
    result = clew.wait(first)
    assert result.code == 1 and result.err.endswith(
        "The handoff to telegram failed: you took it back. An empty topic may stand there."
        " The thread stays where it is.\n"
    )
    asyncio.run(bot.do("release"))
    made = asyncio.run(bot.until(lambda state: len(_topics(state)) > before))
    sees(bot, "taken back: this thread is not here", _topics(made)[-1])
    assert clew.json("handoffs")[0]["state"] == "failed"
    assert clew.run("chat", thread, input="!text still here\n").out == "still here\n"


def _topics(state: dict[str, Any]) -> list[int]:
    return [message["message_id"] for message in state["messages"] if "forum_topic_created" in message]


def test_while_away_answers_of_local_threads_go_there(clew: Clew, bot: Bot) -> None:
    assert "you are not away" in clew("away")
    assert "answers and questions go to telegram:42" in clew("away", "telegram")
    assert clew.json("away") == {"conversation": "telegram:42"}
    begun(clew, "!text for the one who is away")
    sees(bot, "for the one who is away")
    assert "welcome back" in clew("back")
    begun(clew, "!text for the desk alone")
    after = clew.json("handoff", begun(clew), "telegram", "--quiet")
    sees(bot, "You can go on here", topic_of(after["conversation"]))
    state = asyncio.run(bot.state())
    assert not any("for the desk alone" in str(message.get("text")) for message in state["messages"])


def test_from_within_a_chat_it_leaves_as_with_quit(clew: Clew, bot: Bot) -> None:
    with Terminal(clew, ["chat"]) as chat:
        chat.read_until("a new thread · /help")
        chat.type("!text one\r")
        chat.read_until("turn completed")
        chat.type("/handoff nowhere\r")
        chat.read_until("not a chat surface")
        chat.type("/handoff telegram\r")
        assert chat.wait() == 0
        topic = topic_of(chat.find(r"the thread continues in (\S+)"))
        thread = chat.find(r"clew chat ([\w-]+) returns to it")
    asyncio.run(bot.say("!text two", topic=topic))
    sees(bot, "two", topic)
    piped = clew.run("chat", thread, input="!text three\n/handoff telegram\n!text never said\n")
    assert (piped.code, piped.out) == (0, "three\n") and "the thread continues in telegram:42/" in piped.err
    assert "!text never said" not in said_in(clew, thread)


def test_an_open_gate_moves_along_and_is_answered_there(clew: Clew, bot: Bot) -> None:
    started = clew.json("start", "!approve make it\n!text all done")
    clew.wait_for(started["thread"], "gate.opened")
    topic = topic_of(clew.json("handoff", started["thread"], "telegram")["conversation"])
    sees(bot, "It is being worked on right now; the answer comes here.", topic)
    card = sees(bot, "The agent asks to run a command", topic)
    assert "make it" in card["text"]
    asyncio.run(bot.press(card["message_id"], card["buttons"][0]["text"]))
    sees(bot, "all done", topic)
    sees(bot, "allowed by Ann Lee: make it", topic)
    assert clew.wait_ended(started)["state"] == "completed"
