"""How a chat says sentences whose usual words are for the computer: by their code. What a person can only do at the
computer stays as it is."""

from __future__ import annotations

SENTENCES: dict[str, tuple[str, str]] = {
    "gates.may_not_answer": (
        "{who} may not answer requests here; whoever runs this clew decides who may.",
        "{who} 不能在这里答复；由运行本 clew 的人决定谁可以答复。",
    ),
    "gates.no_gate": (
        "There is no gate {code}; /gates lists what is open.",
        "没有编号为 {code} 的事项；/待办 列出未答复的。",
    ),
    "gates.nobody_waits": (
        "Nothing here waits for a yes; /gates lists what is open.",
        "这里没有等待同意的事项；/待办 列出未答复的。",
    ),
    "gates.not_shown_here": (
        "{code} was not shown here, so it cannot be allowed here. Allow it where it was asked. `{code} n` declines it.",
        "{code} 没有在这里显示过，因此不能在这里允许。请在询问它的地方允许。`{code} n` 可拒绝。",
    ),
    "gates.still_open": (
        "A question still waits for you: {listed}. /gates shows it.",
        "还有事项等你答复：{listed}。/待办 可查看。",
    ),
    "gates.wants_answer": (
        "{code} is a question: reply `{code}` and your answer.",
        "{code} 是一个问题：请回复 `{code}` 加答案。",
    ),
    "gates.wants_yes_or_no": (
        "{code} wants a yes or a no: reply `{code} y` or `{code} n`.",
        "{code} 需要同意或拒绝：请回复 `{code} y` 或 `{code} n`。",
    ),
    "handoffs.no_home": (
        "{surface} has no home yet; say /home in a chat there.",
        "{surface} 还没有主页；请在那里的聊天中发送 /主页。",
    ),
    "handoffs.not_a_chat_surface": (
        "{surface} is not a chat surface. Available: {known}.",
        "{surface} 不是聊天平台。可用：{known}。",
    ),
    "handoffs.not_connected": ("{surface} is not connected: {trouble}.", "{surface} 没有连接：{trouble}。"),
    "handoffs.under_way": (
        "A handoff of this thread is under way already; wait for its end.",
        "这个会话正在移交中；请等它结束。",
    ),
    "people.owners_only": ("Only an owner may say that.", "只有所有者可以这样做。"),
    "people.you": ("somebody at the computer", "电脑前的人"),
    "threads.cancelled": (
        "This thread is cancelled and never runs again; /fork begins a new one from it, /new an empty one.",
        "这个会话已取消，不会再运行；/分叉 可由它开启新会话，/新建 开启空的会话。",
    ),
    "threads.has_queued": (
        "This thread has {waiting} queued; let them run first.",
        "这个会话还有 {waiting} 条排队；请先让它们运行。",
    ),
    "threads.no_folder": (
        "{path} is not a folder; give the path of one that exists, also relative to the current one.",
        "{path} 不是目录；请给出已有目录的路径，也可以是相对路径。",
    ),
    "threads.no_thread": ("There is no thread {name}; /threads lists them.", "没有会话 {name}；/会话 列出全部。"),
    "threads.still_works": (
        "This thread still works; /stop it first, or wait.",
        "这个会话还在运行；请先 /停止，或稍等。",
    ),
    "turns.broken": (
        "clew itself failed on this message; nothing was done with it. Whoever runs this clew finds the details in its"
        " log.",
        "clew 处理这条消息时出错，没有对它做任何事；运行本 clew 的人可以在日志中查看详情。",
    ),
    "turns.internal": (
        "clew itself failed on this turn. Send it again; whoever runs this clew finds the details in its log.",
        "clew 处理这一轮时出错。请重新发送；运行本 clew 的人可以在日志中查看详情。",
    ),
    "turns.never_began": (
        "The agent lost this turn {attempts} times before it began. Send it again; if that does not help, whoever runs"
        " this clew finds the details in its log.",
        "这一轮还没开始，智能体就丢失了 {attempts} 次。请重新发送；如果仍然不行，运行本 clew 的人可以在日志中查看"
        "详情。",
    ),
    "turns.nothing_runs": (
        "Nothing runs here; /status tells how this thread stands.",
        "现在没有在运行的任务；/状态 可查看本会话。",
    ),
}
