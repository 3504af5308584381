"""One thread and several agents on the page: switching, what an agent was told, and usage limits."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.server.page.conftest import Desk, Sit, open_desk

pytestmark = pytest.mark.process

TWO_AGENTS = "[runtimes.scripted]\nenabled = true"


@pytest.fixture(scope="module")
def two_agents(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    folder: Path = tmp_path_factory.mktemp("agents")
    with open_desk(folder, more=TWO_AGENTS) as made:
        yield made


def test_the_menu_switches_the_agent_and_the_fold_shows_what_it_was_told(two_agents: Desk, sit_down: Sit) -> None:
    turn = two_agents.start("!text the parser is quicker", kind="chat")
    two_agents.clew.wait_ended(turn)
    ann = sit_down(two_agents, f"#/threads/{turn['thread']}")
    ann.find("button", "More").last.click()
    ann.find("menuitem", re.compile("Scripted")).click()
    two_agents.clew.wait_for(turn["thread"], "thread.switched", runtime="scripted")
    expect(ann.page.locator("main").get_by_text("scripted", exact=True).first).to_be_visible()
    ann.find("button", "More").last.click()
    expect(ann.find("menuitem", re.compile("Codex"))).to_be_visible()
    expect(ann.find("menuitem", re.compile("Scripted"))).to_have_count(0)
    ann.page.keyboard.press("Escape")
    more = two_agents.clew.json("send", turn["thread"], "!text and shorter")
    two_agents.clew.wait_ended(more)
    fold = ann.page.locator("details.told")
    expect(fold).to_have_count(1)
    expect(fold.locator("summary")).to_contain_text("Scripted")
    expect(fold.locator("pre")).to_be_hidden()
    fold.locator("summary").click()
    expect(fold.locator("pre")).to_contain_text("Codex answered:\n> the parser is quicker")
    assert "the parser is quicker" in two_agents.client.get("turns", more["turn"], "prelude")["text"]


def test_the_details_say_which_agent_answered_and_what_was_chosen(two_agents: Desk, sit_down: Sit) -> None:
    turn = two_agents.start("!text done", kind="chat")
    two_agents.clew.wait_ended(turn)
    two_agents.clew("set", turn["thread"], "fallback=scripted", "limit_waits=2", "quiet_hours=23:00-07:00")
    ann = sit_down(two_agents, f"#/threads/{turn['thread']}")
    ann.find("button", "More").last.click()
    ann.find("menuitem", "Details").click()
    dialog = ann.page.locator("dialog[open]")
    expect(dialog.locator(".facts")).to_contain_text("Scripted")
    expect(dialog.locator(".facts")).to_contain_text("waits for at most 2 windows in a row; quiet from 23:00-07:00")
    expect(dialog.locator(".details-more li", has_text=f"{turn['turn']}:final")).to_contain_text("Codex")


def test_a_parked_thread_offers_the_other_agent_and_health_shows_the_limit(two_agents: Desk, sit_down: Sit) -> None:
    turn = two_agents.start("!error insufficient_quota", kind="chat")
    two_agents.clew.wait_for(turn["thread"], "thread.status", status="suspended")
    ann = sit_down(two_agents, f"#/threads/{turn['thread']}")
    prompt = ann.page.locator(".gate-suspended")
    expect(prompt).to_contain_text("is at its usage limit")
    expect(prompt.locator(".suspend-words code").first).to_have_text("now")
    expect(prompt.locator("[data-key=a]")).to_be_visible()
    expect(prompt.locator("[data-key=x]")).to_be_visible()
    expect(prompt.locator("[data-key=w]")).to_contain_text("Scripted")
    ann.go("#/health")
    row = ann.page.locator("[data-row='codex refusal']")
    expect(row).to_contain_text("refuses turns")
    expect(row).to_contain_text("resets")
    ann.go(f"#/threads/{turn['thread']}")
    ann.go("#/inbox")
    card = ann.page.locator(f".gate-suspended[data-thread='{turn['thread']}']:not([aria-disabled])")
    card.locator("header span").click()
    expect(card).to_be_focused()
    expect(card.locator("[data-key=w] kbd")).to_have_text("w")
    ann.press("w")
    two_agents.clew.wait_for(turn["thread"], "account.limit", runtime="scripted")
    assert ann.page.evaluate("location.hash") == "#/inbox"
    expect(prompt.locator("[data-key=a]")).to_be_visible()
    expect(prompt.get_by_text("On Scripted")).to_have_count(0)


@pytest.fixture
def bare_desk(tmp_path: Path) -> Iterator[Desk]:
    """Its default agent is not installed, nor is another one that is configured."""
    more = '[threads]\nruntime = "claude"\n[runtimes.claude]\ncommand = "/nowhere/claude"\n'
    more += '[runtimes.acp.missing]\ncommand = ["/nowhere/at-all"]\n'
    with open_desk(tmp_path, more=more) as made:
        yield made


def test_an_agent_that_is_not_installed_is_not_offered_and_the_default_says_what_to_do(
    bare_desk: Desk, sit_down: Sit
) -> None:
    ann = sit_down(bare_desk, "#/new")
    agents = ann.find("combobox", "Agent")
    expect(agents.locator("option")).to_have_text(["codex", "claude (not installed)"])
    warning = ann.page.locator(".choices .warning")
    expect(agents).to_have_value("claude")
    expect(warning).to_contain_text("Claude is not installed on this machine")
    expect(warning.locator("code")).to_have_text("clew runtimes --all")
    agents.select_option("codex")
    expect(warning).to_be_hidden()
    ann.find("textbox", "What is to be done").fill("!text done")
    ann.press("Enter")
    expect(ann.page.locator(".answer clew-text")).to_have_text("done")
    ann.find("button", "More").last.click()
    expect(ann.find("menuitem", "Fork")).to_be_visible()
    expect(ann.find("menuitem", re.compile("Switch to"))).to_have_count(0)
