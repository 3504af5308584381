"""Sentences about handoffs and their targets."""

from __future__ import annotations

SENTENCES: dict[str, tuple[str, str]] = {
    "clew_failed": ("clew itself failed; `clew logs` has the details.", "clew 出错；详情见 `clew logs`。"),
    "ended_already": ("Handoff {handoff} is {state} already.", "移交 {handoff} 已经结束：{state}。"),
    "maybe_empty": ("{reason} An empty topic may stand there.", "{reason}那里可能留有一个空话题。"),
    "no_handoff": (
        "There is no handoff {name}; `clew handoffs` lists them.",
        "没有移交 {name}；`clew handoffs` 列出全部。",
    ),
    "no_home": (
        "{surface} has no home yet; say /home in a conversation there, or name one: {surface}:CONVERSATION. ({reason})",
        "{surface} 还没有主页；请在那里的聊天中发送 /主页，或指定一个：{surface}:对话。（{reason}）",
    ),
    "not_a_chat_surface": (
        "{surface} is not a chat surface. Available: {known}. `clew connect` sets one up.",
        "{surface} 不是聊天平台。可用：{known}。`clew connect` 可设置一个。",
    ),
    "not_connected": (
        "{surface} is not connected: {trouble}. `clew surfaces` tells more.",
        "{surface} 没有连接：{trouble}。详情见 `clew surfaces`。",
    ),
    "owner_chooses": (
        "Only an owner may choose the conversation; say `{surface}` alone for its home.",
        "只有所有者可以指定对话；只写 `{surface}` 表示它的主页。",
    ),
    "state_completed": ("completed", "已完成"),
    "state_failed": ("failed", "已失败"),
    "surface_gone": ("there is no surface {surface} any more.", "平台 {surface} 已不存在。"),
    "taken_back": ("{by} took it back.", "{by}已收回。"),
    "there_already": ("The thread is there already: {target}.", "会话已经在那里：{target}。"),
    "timed_out": ("it was not done within {seconds} s.", "没有在 {seconds} 秒内完成。"),
    "under_way": (
        "A handoff of this thread is under way already; `clew handoffs` shows it.",
        "这个会话正在移交中；详情见 `clew handoffs`。",
    ),
}
