from __future__ import annotations

from collections.abc import Callable

from tests.web.browsers import Person
from tests.web.conftest import Desk

Sit = Callable[..., Person]


def test_x(desk: Desk, sit_down: Sit) -> None:
    turn = desk.start('!write 0 "# Hi\\n\\nA **b**"')
    desk.clew.wait_ended(turn)
    ann = sit_down(desk, f"#/threads/{turn['thread']}")
    ann.answer_of(turn["turn"]).wait_for()
    print(ann.answer_of(turn["turn"]).inner_html())
    ann.page.screenshot(path="/tmp/shot.png")
    print(ann.page.content()[:3000])
