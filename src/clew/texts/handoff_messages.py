"""Messages about handoffs, in English and 简体中文."""

from __future__ import annotations

from clew.model.handoff import HandoffState
from clew.support.coded import Text
from clew.texts.bilingual import Bilingual, for_chat, joined, zh
from clew.texts.catalogue import say


def place(surface: str, local_surface: str) -> Bilingual:
    return Bilingual("the computer", "电脑上") if surface == local_surface else Bilingual(surface, surface)


def moved(surface: str, local_surface: str) -> Bilingual:
    """Replaces the text of a message whose thread continues in another place."""
    there = place(surface, local_surface)
    return Bilingual(f"→ moved to {there}", f"→ 已移到 {there.zh}")


def taken_up(by: str, surface: str, local_surface: str) -> Bilingual:
    """For the conversation that drove the thread before."""
    there = "at the computer" if surface == local_surface else f"in {surface}"
    is_named = by not in ("", "you")
    who, chinese = (f"{by} goes on with this", f"{by} 已") if is_named else ("This goes on", "已")
    return Bilingual(
        f"{who} {there}. Say something here to take it back.",
        f"{chinese}在 {place(surface, local_surface).zh} 继续。在这里说话即可接回。",
    )


def handed(title: str, running: bool, displaced: str | None, again: bool) -> Bilingual:
    """The first message in the new place of a thread."""
    running_now = Bilingual("It is being worked on right now; the answer comes here.", "任务正在运行；答复会发到这里。")
    before = Bilingual(
        f"This place was bound to {displaced}; /threads and /resume lead back to it.",
        f"这里原来是会话「{displaced}」；用 /会话 和 /继续 可以回去。",
    )
    twice = Bilingual(
        "An empty topic of the same name may stand beside this: the platform did not say whether it made one.",
        "旁边可能有一个同名的空话题：平台没有回复是否已建立。",
    )
    return joined(
        "\n",
        Bilingual(f"You can go on here: {title}", f"可以在这里继续：{title}"),
        running_now if running else "",
        before if displaced else "",
        twice if again else "",
    )


HANDED_BACK = Bilingual("→ taken back: this thread is not here", "→ 已收回：该会话不在这里")
GREET = (
    "(From clew: this conversation was just moved to another place, where the person reads on, probably on a phone."
    " Say hello in one line, and sum up in a few lines what was done and what is open. Do nothing else.)"
)


def not_handed(surface: str, reason: str) -> Bilingual:
    reason = for_chat(reason)
    why, chinese = _ended(reason, "."), _ended(zh(reason), "。")
    return Bilingual(
        f"It was not handed to {surface}: {why} It stays here.", f"未能移交到 {surface}：{chinese}会话仍在这里。"
    )


def _ended(reason: str, stop: str) -> str:
    return reason if reason.endswith((".", "。")) else f"{reason}{stop}"


def ended_already(handoff: str, state: HandoffState) -> Text:
    states = {
        HandoffState.COMPLETED: say("handoffs.state_completed"),
        HandoffState.FAILED: say("handoffs.state_failed"),
    }
    return say("handoffs.ended_already", handoff=handoff, state=states.get(state, state))
