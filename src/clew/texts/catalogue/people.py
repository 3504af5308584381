"""Sentences about people: who may speak, and who asks for it."""

from __future__ import annotations

SENTENCES: dict[str, tuple[str, str]] = {
    "allowed_by_config": (
        "{name} may speak because `allow` under [surfaces.{surface}] in config.toml says so: take them out there, then"
        " `clew restart`.",
        "{name} 可以发言，因为 config.toml 中 [surfaces.{surface}] 的 `allow` 列出了他；"
        "请从那里删去，然后运行 `clew restart`。",
    ),
    "locked": (
        "Too many wrong codes were given; try again in {minutes} min, or at the machine that clew runs on:"
        " `clew pair CODE --force`.",
        "错误的配对码太多；请 {minutes} 分钟后再试，或在运行 clew 的机器上执行 `clew pair 配对码 --force`。",
    ),
    "no_code": (
        "There is no code {code}; it lasts an hour, and a new message there gives a new one.",
        "没有配对码 {code}；配对码一小时内有效，在那里再发一条消息即可得到新的。",
    ),
    "not_a_person": (
        "{name} is not a person. Give SURFACE:ID, as `clew people` shows it.",
        "{name} 不是用户。请按 `clew people` 显示的格式写：平台:ID。",
    ),
    "not_known": (
        "There is no {name} among those who may speak; `clew people` lists them.",
        "可以发言的人中没有 {name}；`clew people` 列出全部。",
    ),
    "owner_loosens": (
        "Only an owner may loosen the policy, here from {now} to {wanted}; you may tighten it.",
        "只有所有者可以放宽策略（这里是从 {now} 到 {wanted}）；你可以收紧它。",
    ),
    "owner_removes_rule": (
        "Only an owner may remove a rule that denies or asks, or that holds everywhere.",
        "只有所有者可以删除“拒绝”或“询问”的规则，以及对全部会话生效的规则。",
    ),
    "owners_only": (
        "Only an owner may say that; `clew pair CODE --role owner` makes one.",
        "只有所有者可以这样做；`clew pair 配对码 --role owner` 可设为所有者。",
    ),
    "pairing": (
        "I do not know you yet. Your code is {code}: whoever runs this clew lets you in with `clew pair {code}`,"
        " within an hour.",
        "我还不认识你。你的配对码是 {code}：请运行本 clew 的人在一小时内执行 `clew pair {code}`。",
    ),
    "stranger": ("I do not know you.", "我不认识你。"),
    "watcher": ("You may look on here, and not send.", "你只能旁观，不能发送消息。"),
    "welcome": (
        "You are in. Say what there is to do; /help tells what else.",
        "你可以开始了：直接说要做什么；/帮助 查看命令。",
    ),
    "you": ("you", "你"),
}
