"""Sentences about usage and budgets."""

from __future__ import annotations

SENTENCES: dict[str, tuple[str, str]] = {
    # Amounts
    "tokens": ("{count} tokens", "{count} 个 token"),
    "turns": ("{count} turns", "{count} 轮"),
    "seconds": ("{seconds} s of work", "工作 {seconds} 秒"),
    "minutes": ("{minutes} min of work", "工作 {minutes} 分钟"),
    "hours": ("{hours} h {minutes} min of work", "工作 {hours} 小时 {minutes} 分钟"),
    # Questions of suspended threads
    "thread_used_up": (
        "The budget of this thread is used up: {used} of {limit}. The next turn waits.",
        "本会话的预算已用完：{used}（上限 {limit}）。下一轮在等待。",
    ),
    "person_used_up": (
        "The budget of {name} for today is used up: {used} of {limit}. The next turn waits.",
        "{name} 今天的预算已用完：{used}（上限 {limit}）。下一轮在等待。",
    ),
    "account_used_up": (
        "The budget of {name} for today is used up: {used} of {limit}. The next turn waits.",
        "{name} 今天的预算已用完：{used}（上限 {limit}）。下一轮在等待。",
    ),
    "day_used_up": (
        "The budget of today is used up: {used} of {limit}. The next turn waits.",
        "今天的预算已用完：{used}（上限 {limit}）。下一轮在等待。",
    ),
    "waits_for_memory": (
        "It waits for memory: the agents use {used} of {limit} GiB. It starts by itself.",
        "正在等待内存：智能体已用 {used} GiB（上限 {limit} GiB）。之后会自动开始。",
    ),
    # Answers
    "going_on": ("This turn runs; the next one asks again.", "这一轮会运行；下一轮会再次询问。"),
    "raised": ("The budget is now {limit}, and the turn runs.", "预算现为：{limit}。这一轮会运行。"),
    "has_room": ("There is room in the budget again; it runs.", "预算又有余量了，开始运行。"),
    "dropped": ("Dropped: the agent has not seen it.", "已丢弃；智能体没有看到它。"),
    "behind": ("Kept: it waits behind the turn that has no budget left.", "已留下，排在没有预算的那一轮之后。"),
    "not_a_day": (
        "{since} is not a day. Write one as 2026-11-18, or a length of time such as 7d.",
        "{since} 不是日期。请写成 2026-11-18，或 7d 这样的时长。",
    ),
    "not_a_limit": (
        "{limit} is not a limit. Give a number above 0.",
        "{limit} 不能作为上限。请给出大于 0 的数。",
    ),
    "only_owner": (
        "Only an owner may go above a budget. `stop` drops the turn.",
        "只有所有者可以超出预算。「停止」可丢弃这一轮。",
    ),
}
