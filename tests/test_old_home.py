"""A home that clew's first complete version made (commit d30281d, killed while all this was under way) is opened by the
clew of today and goes on: nothing is lost, asked twice or told twice.

tests/homes/d30281d holds its database as SQL, and what its agent remembers. It is never made anew."""

from __future__ import annotations

import re
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.daemons import SCRIPTED, Clew
from tests.helpers.receivers import Receiver

pytestmark = pytest.mark.process

OLD = Path(__file__).parent / "homes" / "d30281d"
MADE_AT = 1794955482843  # ms
OLD_CODES = ("B3V7", "C3X4")  # of the gates that were open when it was killed
QUEUED = "01M7NTYA1CV14AS0XKQV8R50GF"  # a turn
HOOK = '{}[surfaces.webhook.hook]\nsecret = "fixture-secret"\nurl = "{}"\n'


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver


@pytest.fixture
def clew(tmp_path: Path, receiver: Receiver) -> Iterator[Clew]:
    home, project = tmp_path / "home", tmp_path / "project"
    project.mkdir()
    shutil.copytree(OLD / "scripted", home / "scripted")
    with Clew(home, HOOK.format(SCRIPTED, receiver.url)) as clew:
        with closing(sqlite3.connect(clew.home.database)) as database:
            database.executescript(made_today((OLD / "clew.sql").read_text(encoding="utf-8"), project))
        clew.up()
        yield clew


def made_today(dump: str, project: Path) -> str:
    """As if it had been made a moment ago, in a folder that is there. Nodes stay as they are: a hash names them."""
    passed = round(time.time() * 1000) - MADE_AT - 60_000

    def moved(line: str) -> str:
        if line.startswith('INSERT INTO "nodes"'):
            return line
        line = re.sub(r"\b1794955\d{6}\b", lambda at: str(int(at[0]) + passed), line)
        return line.replace("/srv/project", str(project))

    return "\n".join(map(moved, dump.splitlines()))


def titled(clew: Clew, title: str) -> Any:
    threads = [*clew.json("threads"), *clew.json("threads", "--history")]
    return next(thread for thread in threads if thread["title"] == title)


def test_its_threads_are_there_and_their_history_is_sound(clew: Clew) -> None:
    wanted = {
        "Finished task": "completed",
        "Owes an answer": "completed",
        "Failed task": "suspended",
        "!text Hello from the past.": "idle",
        "!text Hello from the past. (fork)": "idle",
    }
    assert {title: titled(clew, title)["status"] for title in wanted} == wanted
    report = clew.json("verify")
    assert len(report) == 7 and all(each["sound"] for each in report)
    read = clew("read", titled(clew, "!text Hello from the past.")["id"])
    assert "Hello from the past." in read and "A second answer, with 中文." in read


def answer(clew: Clew, thread: str, *words: str) -> None:
    """What its cut-off turn asks once more; what it asked before is void. Waits for the end of that turn."""
    opened = (event.data for event in clew.events(thread) if event.kind == "gate.opened")
    gate = next(data for data in opened if data["data"]["code"] not in OLD_CODES)
    clew(words[0], gate["data"]["code"], *words[1:])
    clew.wait_ended({"thread": thread, "turn": gate["turn"]})


def test_the_answer_that_it_owed_is_delivered_once(clew: Clew, receiver: Receiver) -> None:
    thread = titled(clew, "Owes an answer")["id"]
    clew.wait_for(thread, "delivery.sent")
    (delivery,) = receiver.deliveries
    assert delivery.json["text"] == "For the hook." and delivery.signed_with("fixture-secret")


def test_what_it_asked_is_answered_and_its_queue_goes_on(clew: Clew) -> None:
    thread = titled(clew, "Waits for a yes")["id"]
    answer(clew, thread, "approve")
    clew.wait_ended({"thread": thread, "turn": QUEUED})
    read = clew("read", thread)
    assert len(re.findall(r"^Tests were run\.$", read, re.MULTILINE)) == 1
    assert read.endswith("\n\nAnd this one was queued.\n")
    question = titled(clew, "Waits for a word")["id"]
    answer(clew, question, "answer", "blue")
    assert "blue" in clew("read", question)


def test_a_suspended_thread_is_resumed_and_a_chat_goes_on(clew: Clew) -> None:
    chat = titled(clew, "!text Hello from the past.")["id"]
    clew.wait_ended(clew.json("send", chat, "!text And today."))
    assert "And today." in clew("read", chat)
    failed = titled(clew, "Failed task")["id"]
    clew.wait_ended(clew.json("resume", failed, "--supplement", "try again"))
    assert clew("read", failed).count("The model said 400.") == 2  # its script has it fail each time


def test_its_rules_still_count(clew: Clew) -> None:
    assert [(rule["effect"], rule["pattern"]) for rule in clew.json("rules", "list")] == [
        ("deny", "git push *"),
        ("allow", "make lint"),
    ]
