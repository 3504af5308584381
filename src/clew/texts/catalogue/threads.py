"""Sentences about threads, turns and history."""

from __future__ import annotations

SENTENCES: dict[str, tuple[str, str]] = {
    "forked_from": ("(forked from {source})", "（由 {source} 分叉而来）"),
    "node_damaged": (
        "(node {node} is damaged; `clew verify` tells more)",
        "（节点 {node} 已损坏；详情见 `clew verify`）",
    ),
    "node_missing": (
        "this node is missing; what came before it cannot be reached",
        "缺少这个节点；它之前的内容无法读取",
    ),
    "taken_over": ("(taken over from the {runtime} session {session})", "（接管自 {runtime} 的会话 {session}）"),
    "turn_failed": ("The turn failed.", "这一轮失败了。"),
}
