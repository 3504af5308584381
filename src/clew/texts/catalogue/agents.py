"""Sentences about which agent works on a thread."""

from __future__ import annotations

SENTENCES: dict[str, tuple[str, str]] = {
    "switched": (
        "{by} switched this thread from {former} to {runtime}. It holds from the next turn on.",
        "{by}把本会话从 {former} 切换到了 {runtime}。从下一轮起生效。",
    ),
    "unknown": (
        "There is no agent {name}. Choose one of: {known}.",
        "没有名为 {name} 的智能体。可选：{known}。",
    ),
    "not_installed": (
        "{agent} is not installed here. `clew ping {name}` says how to install it. Installed: {known}.",
        "本机没有安装 {agent}。`clew ping {name}` 说明如何安装。已安装：{known}。",
    ),
    "none_installed": ("none", "无"),
    "shared": (
        "Thread {thread} shares its session with the {runtime} program, so no other agent can work on it."
        " Fork it (`clew fork {thread}`) and switch the fork.",
        "会话 {thread} 与 {runtime} 程序共用，因此不能换成别的智能体。"
        "请先分叉（`clew fork {thread}`），再切换分叉出的会话。",
    ),
    "no_prelude": (
        "The agent of turn {turn} was told nothing of what had happened before: it knew it.",
        "第 {turn} 轮的智能体没有被告知之前的经过：它已经知道。",
    ),
    "no_question": (
        "There is no question. Write it behind the name of the agent.",
        "没有写问题。请写在智能体名称之后。",
    ),
}
