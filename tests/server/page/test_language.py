"""In Chinese the page shows clew's own sentences in Chinese: refusals, failures, what is suspended, what is void."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import replace
from playwright.sync_api import Page, expect

from clew.model import history
from clew.model.delivery import Delivery, DeliveryKind, DeliveryState
from clew.model.gates import Asked, Gate, GateKind, GateState
from clew.model.messages import Conversation, PromptMessage
from clew.model.threads import SuspendedBy, Thread, ThreadKind, ThreadStatus
from clew.model.turns import Origin, Problem, Turn, TurnState
from clew.server.problems import refusal
from clew.store import Tx
from clew.store.migrate import open_store
from clew.store.tables import deliveries, gates, nodes, threads, turns
from clew.support.clock import SystemClock
from clew.support.errors import Refused
from clew.support.home import Home
from clew.texts.catalogue import chinese, say
from tests.server.page.browsers import Person
from tests.server.page.conftest import Desk, Sit, open_desk

pytestmark = pytest.mark.process

TITLE, SAID = "Check dependencies", "Look for advisories in them."
SENTENCE = say("threads.turn_failed")
NESTED = say("threads.forked_from", source=SENTENCE)

# What others said, names, and code: these stay in their own language. All other text on the page is clew's.
TEXTS_OF_CLEW = """() => {
  const foreign = "code, pre, kbd, .said, .who, .row-title, .title, h1, datalist, option, .row-where, script, style";
  const texts = [];
  for (let walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT); walk.nextNode(); ) {
    const { parentElement, textContent } = walk.currentNode;
    if (!parentElement.closest(foreign)) texts.push(textContent);
  }
  for (const element of document.querySelectorAll("[aria-label], [title], [placeholder]"))
    for (const name of ["aria-label", "title", "placeholder"])
      if (!element.matches(foreign)) texts.push(element.getAttribute(name) ?? "");
  return texts.map((text) => text.trim()).filter(Boolean);
}"""
ENGLISH = re.compile(r"(?<![\w/.-])[A-Za-z][A-Za-z']*(?:[,;:]? [A-Za-z][A-Za-z']*){2,}(?![\w/-])")


def english_of_clew(page: Page) -> list[str]:
    """What the page says in three or more English words in a row, although clew says it."""
    texts: list[str] = page.evaluate(TEXTS_OF_CLEW)
    without_code = (re.sub(r"`[^`]*`", "", text).replace(TITLE, "").replace(SAID, "") for text in texts)
    return [text for text in without_code if ENGLISH.search(text)]


def in_chinese(page: Page) -> None:
    page.add_init_script("localStorage.setItem('clew.language', 'zh')")


def trouble(home: Home) -> str:
    """A thread in which everything went wrong, as the engine stores it. Returns its id."""

    async def run() -> str:
        home.prepare()
        clock = SystemClock()
        store = open_store(home.database, clock)
        try:
            return await store.write(lambda tx: _trouble(tx, clock))
        finally:
            await asyncio.to_thread(store.close)

    return asyncio.run(run())


def _trouble(tx: Tx, clock: SystemClock) -> str:
    _stopped(tx, clock)
    now, name, turn = clock.now(), clock.ulid(), clock.ulid()
    threads.insert(tx, Thread(name, ThreadKind.TASK, ThreadStatus.IDLE, TITLE, "codex", "/", now, completed_at=None))
    head = nodes.append(tx, name, None, history.Started(name, now, ThreadKind.TASK, "codex", "/"))
    head = nodes.append(tx, name, head, history.Spoken(turn, now, "said", "ann", SAID))
    problem = Problem.of("failed", SENTENCE)
    nodes.append(tx, name, head, history.Outcome(turn, now, TurnState.FAILED, "codex", "", (), problem))
    seq, said = threads.next_seq(tx, name), PromptMessage("said", "ann", SAID)
    row = Turn(turn, name, seq, TurnState.FAILED, Origin.MESSAGE, (said,), None, now, "codex", problem=problem)
    turns.insert_ended(tx, replace(row, started_at=now, ended_at=now))
    threads.set_last_turn(tx, name, turn)
    threads.suspend(tx, name, SuspendedBy.FAILURE, SENTENCE)
    asked = Asked(GateKind.COMMAND, "make install")
    gate = Gate(clock.ulid(), "K7Q2", name, turn, "ref", asked, GateState.OPEN, now, warning=NESTED)
    gates.insert(tx, gate)
    gates.void(tx, gate, NESTED, now, carried=False)
    where = Conversation("local")
    final = f"{turn}:final", DeliveryKind.FINAL, name, turn, where, SENTENCE, DeliveryState.FAILED, now
    deliveries.enqueue(tx, Delivery(*final, error=NESTED, part=1))
    return name


def _stopped(tx: Tx, clock: SystemClock) -> None:
    """A thread whose only turn was stopped."""
    now, name, turn = clock.now(), clock.ulid(), clock.ulid()
    threads.insert(tx, Thread(name, ThreadKind.CHAT, ThreadStatus.IDLE, TITLE, "codex", "/", now, completed_at=None))
    seq, said = threads.next_seq(tx, name), PromptMessage("said", "ann", SAID)
    row = Turn(turn, name, seq, TurnState.INTERRUPTED, Origin.MESSAGE, (said,), None, now, "codex")
    turns.insert_ended(tx, replace(row, started_at=now, ended_at=now))
    threads.set_last_turn(tx, name, turn)
    final = f"{turn}:final", DeliveryKind.FINAL, name, turn, None, "(Stopped.)", DeliveryState.NO_TARGET, now
    deliveries.enqueue(tx, Delivery(*final, part=1))


@pytest.fixture(scope="module")
def troubled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    more = '[runtimes.scripted]\nenabled = true\n[runtimes.acp.missing]\ncommand = ["/nowhere/at-all"]\n'
    with open_desk(tmp_path_factory.mktemp("language"), before=trouble, more=more) as made:
        yield made


def choose(ann: Person, action: str) -> None:
    ann.page.locator(".thread-actions button").last.click()
    ann.find("menuitem", action).click()


def test_sentences_with_a_code_are_shown_in_chinese(troubled: Desk, sit_down: Sit) -> None:
    ann = sit_down(troubled, f"#/threads/{troubled.made}", listen=in_chinese)
    ann.expected = ["409"]
    short, nested = chinese(SENTENCE.coded), chinese(NESTED.coded)
    expect(ann.page.locator(".entry.is-failed .answer")).to_contain_text(short)
    expect(ann.page.locator(".suspend-words")).to_contain_text(short)
    expect(ann.page.locator(".receipt")).to_contain_text(nested)
    expect(ann.page.locator("clew-thread-list .row-line").first).to_have_text(short)
    expect(ann.page.locator("clew-thread-list .row-line").last).to_have_text("（已停止。）")
    assert english_of_clew(ann.page) == []
    choose(ann, "它问过什么")
    expect(ann.page.locator("dialog[open] li")).to_contain_text(nested)
    assert english_of_clew(ann.page) == []
    ann.press("Escape")
    refused: Any = refusal(Refused.status, Refused.code, NESTED)
    ann.page.route(
        re.compile("/messages$"),
        lambda route: route.fulfill(status=refused.status_code, body=refused.body, content_type=refused.media_type),
    )
    ann.page.locator("clew-composer textarea").fill("go on")
    ann.press("Enter")
    expect(ann.page.get_by_role("alert")).to_contain_text(nested)
    assert english_of_clew(ann.page) == []
    ann.page.unroute_all()
    ann.go("#/health")
    expect(ann.page.locator("main .trouble").filter(has_text=nested)).to_have_count(2)
    ann.go("#/inbox")
    expect(ann.page.locator("main .suspend-words")).to_contain_text(short)
    ann.page.goto(f"{troubled.url}/#/threads/{troubled.client.post('threads', troubled.made, 'fork')['id']}")
    expect(ann.page.locator(".entry.by-clew")).to_contain_text("分叉而来")
    assert english_of_clew(ann.page) == []


def test_what_really_goes_wrong_is_said_in_chinese(troubled: Desk, sit_down: Sit) -> None:
    void = troubled.start("!aside Which? | A | B\n!aside Which? | A | B", title=TITLE, runtime="scripted")
    troubled.clew.wait_for(void["thread"], "gate.void")
    asked = troubled.start("!approve touch x", title=TITLE, runtime="scripted")
    troubled.clew.wait_for(asked["thread"], "gate.opened")
    troubled.client.post("threads", asked["thread"], "cancel")
    ann = sit_down(troubled, f"#/threads/{asked['thread']}", listen=in_chinese)
    ann.expected = ["40", "422"]
    expect(ann.page.locator(".activity-gate")).to_be_visible()
    found = english_of_clew(ann.page)
    choose(ann, "它问过什么")
    expect(ann.page.locator("dialog[open] code")).to_contain_text("touch x")
    found += english_of_clew(ann.page)
    ann.press("Escape")
    ann.go(f"#/threads/{void['thread']}")
    expect(ann.page.locator(".activity-gate").first).to_be_visible()
    found += english_of_clew(ann.page)
    ann.go(f"#/threads/{troubled.made}")
    expect(ann.page.locator(".entry.is-failed, .suspend-words").first).to_be_visible()
    found += english_of_clew(ann.page)
    ann.find("button", "移交").first.click()
    ann.find("textbox", "其他对话").fill("nowhere")
    ann.press("Enter")
    expect(ann.page.get_by_role("alert")).to_contain_text("nowhere")
    found += english_of_clew(ann.page)
    ann.go("#/health")
    expect(ann.page.locator("main .card").first).to_be_visible()
    found += english_of_clew(ann.page)
    assert found == []
