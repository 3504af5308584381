"""Questions of suspended threads."""

from __future__ import annotations

SENTENCES: dict[str, tuple[str, str]] = {
    "cut_off": ("This turn was cut off, and it may have done things already.", "这一轮中断了，可能已经做了一些事。"),
    "cut_off_begun": (
        "This turn was cut off, and it may have done things already. Begun before that:{begun}",
        "这一轮中断了，可能已经做了一些事。此前已开始：{begun}",
    ),
    "cut_again": (
        "This turn was cut off again; it had run and changed nothing.",
        "这一轮又中断了，没有运行或改动任何东西。",
    ),
    "unknown_outcome": (
        "This turn was cut off, and what became of it could not be found out ({reason}).",
        "这一轮中断了，无法得知结果（{reason}）。",
    ),
    "backlog": ("clew was away, and 1 message waited here.", "clew 离开了一段时间，这里有 1 条消息在等。"),
    "backlog_many": (
        "clew was away, and {count} messages waited here.",
        "clew 离开了一段时间，这里有 {count} 条消息在等。",
    ),
    "behind_backlog": ("Kept, behind the {count} that wait.", "已留下，排在等待的 {count} 条之后。"),
    "with_hint": ("{question} {hint}", "{question}{hint}"),
    "with_hint_below": ("{question}\n{hint}", "{question}\n{hint}"),
    "continue_or_stop": ("Reply `continue` or `stop`.", "回复「继续」或「停止」。"),
    "all_merge_or_skip": (
        "Reply `run all`, `merge` (into one) or `skip`.",
        "回复「全部运行」、「合并」（成一条）或「跳过」。",
    ),
    "go_on_raise_or_stop": (
        "Reply `go on` (this turn only), `raise` (doubles the budget) or `stop`.",
        "回复「继续」（仅这一轮）、「提高」（预算加倍）或「停止」。",
    ),
    "not_said_to_clew": (
        "In a group clew takes no bare word for an answer. Press a button, or quote the question and reply.",
        "在群聊里，clew 不会把单独一个词当作答复。请按按钮，或引用问题再回复。",
    ),
}
