"""Sub-agents on the page: what one asks, and where what it does is shown."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import expect

from tests.server.page.conftest import Desk, Sit

pytestmark = pytest.mark.process


def test_what_a_sub_agent_asks_and_does_is_shown_under_its_call(desk: Desk, sit_down: Sit) -> None:
    script = json.dumps({"message": "!approve touch from-below"})
    turn = desk.start(f"!tool multi_agent_v1.spawn_agent {script}\n!text above", title="two agents")
    ann = sit_down(desk, f"#/threads/{turn['thread']}")
    gate = ann.page.locator("clew-gate")
    expect(gate.locator(".gate-agents")).to_have_text("Asked by the sub-agent !approve touch from-below")
    expect(gate.locator("[data-act]")).to_have_count(3)
    gate.locator("[data-act='allow']").click()
    expect(ann.page.locator(".entry.by-agent.is-completed .activity-under [data-item]").first).to_contain_text(
        "from-below"
    )
    expect(ann.page.locator(".entry.by-agent")).to_contain_text("spawnAgent")
