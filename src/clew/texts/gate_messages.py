"""Messages about gates, in English and 简体中文. Constants are stored in rows and looked up by their English text
(`stored.py`), so changing one needs an alias."""

from __future__ import annotations

import re
from collections.abc import Sequence

from clew.model.gates import Gate
from clew.support.display import escape_hidden
from clew.texts.bilingual import Bilingual, zh

DECLINED = Bilingual(
    "Something was declined that clew cannot ask a person about.", "有一项 clew 无法向人询问的请求已被拒绝。"
)
MAY_HAVE_RUN = Bilingual(
    "It may already have run: an earlier yes was on its way when the work was cut off.",
    "它可能已经运行过：工作中断时，先前的同意正在送达途中。",
)
CUT = Bilingual("the work was cut off; it is asked again if it is still needed", "工作中断了；如仍需要会重新询问")
CUT_KEPT = Bilingual(
    "the work was cut off; the answer counts if the same is asked again soon",
    "工作中断了；如果很快再问同一件事，这个答复仍然有效",
)
CUT_SENT = Bilingual(
    "the work was cut off while the answer was on its way; it may have counted", "答复送达途中工作中断了；可能已生效"
)
RAN_OUT = Bilingual(
    "the agent waits only so long for an answer, and that time ran out; it asks anew",
    "代理等待回答的时间有限，已经超时；它会重新询问",
)
STRANDED = Bilingual("The place where this belongs takes nothing any more.", "它所属的会话已无法接收消息。")
WITHDRAWN = Bilingual("the agent does not need it any more", "代理不再需要")
TURN_OVER = Bilingual("the turn is over", "本轮已结束")
OVER_SENT = Bilingual(
    "the turn ended while the answer was on its way; it may have counted", "答复送达途中本轮已结束；可能已生效"
)
THREAD_OVER = Bilingual("the thread was cancelled", "会话已取消")
STOPPED_FIRST = Bilingual("it was stopped before it began", "开始之前已被停止")
TAKEN_BACK = Bilingual("it was taken back", "已被撤回")
ASKED_AGAIN = Bilingual("the agent has asked it again since", "代理之后又重新询问了")
CHANGED = Bilingual("what it would do has changed since, so it is asked anew", "它要做的事已发生变化，因此重新询问")
CHANGED_BEFORE = Bilingual(  # as older versions wrote it down
    "the agent changed what it asks, and asks anew", "代理更改了请求内容，并重新询问"
)
GONE = Bilingual("the agent did not wait for it any more", "代理没有再等")
DID_NOT_ARRIVE = Bilingual("The last answer did not reach the agent.", "上次的答复没有送到代理。")
SECRET_LOST = Bilingual(
    "The secret answer was lost with a restart; give it again.", "保密的答复在重启时丢失了；请重新提供。"
)
THREAD_DONE = Bilingual("the thread is done", "会话已完成")
NO_ANSWER = Bilingual("nobody answered in time", "没有人及时答复")
NOT_RUN = "not run"


_CLEW_ITSELF = "clew ("


def by_rule(why: str) -> str:
    return f"{_CLEW_ITSELF}{why})"


def by_person(name: str) -> str:
    """Who answered; in quotes if the name looks like clew's own."""
    return f'"{name}"' if re.match(r"\s*clew\b", name, re.IGNORECASE) else name


def is_by_rule(answered_by: str | None) -> bool:
    return (answered_by or "").startswith(_CLEW_ITSELF)


def on_its_way(gate: Gate) -> Bilingual:
    return Bilingual(
        f"Your answer to {gate.code} is on its way to the agent.", f"你对 {gate.code} 的答复正在送往代理。"
    )


def all_on_their_way(count: int) -> Bilingual:
    if count == 1:
        return Bilingual("Your yes is on its way to the agent.", "已同意，正在送往代理。")
    return Bilingual(
        f"Your yes to all {count} is on its way to the agent.", f"已全部同意（{count} 项），正在送往代理。"
    )


def said_before(code: str, said: str) -> Bilingual:
    return Bilingual(
        f"That was said before {code} was asked, or just then, so it is not an answer to it."
        f" Reply `{code} {said}` if you mean it.",
        f"这句话是在询问 {code} 之前或同时说的，所以不算答复。如果确实是这个意思，请回复 `{code} {said}`。",
    )


def leads_to(name: str, where: str) -> Bilingual:
    """About a file or a folder that is a link, or lies behind one."""
    name, where = escape_hidden(name, lines=False), escape_hidden(where, lines=False)
    return Bilingual(f"{name} is really {where}: a link leads there.", f"{name} 实际是 {where}：有链接指向那里。")


def not_on_card(code: str) -> Bilingual:
    """On a card that does not show a gate completely, and so offers no way to allow it."""
    return Bilingual(
        f"⚠ This message does not show it whole, so nothing on it allows it. See it with `clew gates {code}`, allow it"
        f" with `clew approve {code}` or on clew's page.",
        "⚠ 这条消息没有完整显示内容，因此不能在这里点按允许。"
        f"用 `clew gates {code}` 查看全文，用 `clew approve {code}` 或在 clew 网页上允许。",
    )


def shown_before(count: int) -> Bilingual:
    """On a card whose gate is shown completely in the messages before it."""
    where = "message before this one" if count == 1 else f"{count} messages before this one"
    return Bilingual(f"What it asks is shown whole in the {where}.", f"完整内容见此前的 {count} 条消息。")


def not_whole(code: str) -> Bilingual:
    """For a person who allows a gate that their conversation does not show completely."""
    return Bilingual(
        f"{code} was not shown whole here, so it cannot be allowed here. See it with `clew gates {code}`, allow it with"
        f" `clew approve {code}` or on the page. `{code} n` declines it.",
        f"{code} 没有在这里完整显示，因此不能在这里允许。"
        f"用 `clew gates {code}` 查看，用 `clew approve {code}` 或在网页上允许。`{code} n` 可拒绝。",
    )


def rule_not_shown(code: str) -> Bilingual:
    """For a person who chooses a rule that their conversation did not show."""
    return Bilingual(
        f"That would make a rule that was not shown here, so nothing was allowed. `{code} y` allows it this once;"
        f" `clew gates {code}` shows the rule.",
        f"这会建立一条没有在这里显示过的规则，所以没有允许任何事。"
        f"`{code} y` 只允许这一次；`clew gates {code}` 可查看规则。",
    )


def wildcards_in_pattern(code: str, pattern: str) -> Bilingual:
    """For a person who makes a rule from the very text of a request that has wildcards in it."""
    return Bilingual(
        f"`{pattern}` stands word for word in {code}. In a rule, a `*` would match anything, and `?` and `[` other"
        f" characters, so it would allow more than that. `clew approve {code} --thread` allows exactly this from now"
        " on. In a rule, write `[*]`, `[?]` and `[[]` for the signs themselves.",
        f"`{pattern}` 是 {code} 里的原文。但在规则里，`*` 会匹配任何内容，`?` 和 `[` 会匹配别的字符，"
        f"因此会允许更多。`clew approve {code} --thread` 只允许同样的请求。"
        "如果要在规则里表示这些符号本身，请写 `[*]`、`[?]` 和 `[[]`。",
    )


def not_arrived(code: str) -> Bilingual:
    """For a person who allows a gate before its card, or a part of it, has arrived in their conversation."""
    return Bilingual(
        f"{code} had not arrived here when you said that. Once you see all of it here, answer again: `{code} y`.",
        f"你回复时 {code} 还没有送达这里。等它在这里完整显示后，请再回复一次：`{code} y`。",
    )


def not_among_all(codes: Sequence[str]) -> Bilingual:
    """Added to the reply to `yes all`: the gates that it did not allow."""
    listed = ", ".join(codes)
    return Bilingual(
        f"Not {listed}, not shown whole here: `clew gates CODE` shows it, `clew approve CODE` allows it.",
        f"不含 {listed}：没有在这里完整显示；用 `clew gates CODE` 查看，用 `clew approve CODE` 允许。",
    )


def secret(code: str) -> Bilingual:
    return Bilingual(
        f"The answer to {code} is secret: give it with `clew answer {code}`, not here.",
        f"{code} 的答复是保密的：请用 `clew answer {code}` 提供，不要写在这里。",
    )


def which_one(replies: Sequence[str]) -> Bilingual:
    return Bilingual(f"Which one? Reply {' or '.join(replies)}.", f"是哪一项？请回复 {' 或 '.join(replies)}。")


def which_or_agent(replies: Sequence[str]) -> Bilingual:
    """For a short answer in a conversation whose own thread has no gate, but which shows gates of other threads."""
    return Bilingual(
        f"Which one? Reply {' or '.join(replies)}. If it is for the agent here, quote its message or use more words.",
        f"是哪一项？请回复 {' 或 '.join(replies)}。如果是对这里的代理说的，请引用它的消息，或者多说几个字。",
    )


def which_button(replies: Sequence[str]) -> Bilingual:
    """For a reaction to a card with several gates."""
    return Bilingual(
        f"Several are open there, and a reaction does not say which. Press a button, or reply {' or '.join(replies)}.",
        f"那里有多项待答，表情回复无法说明是哪一项。请按按钮，或回复 {' 或 '.join(replies)}。",
    )


def no_gate(code: str) -> Bilingual:
    return Bilingual(
        f"There is no gate {code}; `clew gates`, or `/gates` in a chat, lists what is open.",
        f"没有代码为 {code} 的事项；/待办 列出未答复的。",
    )


def elsewhere(code: str) -> Bilingual:
    return Bilingual(f"{code} belongs to another thread; answer it there.", f"{code} 属于另一个会话；请到那里答复。")


def may_not_answer(who: str) -> Bilingual:
    return Bilingual(
        f"{who} may not answer gates here; `gates.approvers` in config.toml names who may.",
        f"{who} 不能在这里答复；config.toml 的 `gates.approvers` 列出可以答复的人。",
    )


def no_answer_to(code: str, said: str, known: str) -> Bilingual:
    return Bilingual(
        f"`{said}` is not an answer to {code}. There are: {known}.",
        f"`{said}` 不是 {code} 的有效答复。可选：{zh(known)}。",
    )


def still_open(codes: Sequence[str]) -> Bilingual:
    listed = ", ".join(codes)
    return Bilingual(
        f"A question still waits for you: {listed}. `clew gates`, or `/gates` in a chat, shows it.",
        f"还有事项等你答复：{listed}。/待办 可查看。",
    )
