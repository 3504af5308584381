"""Sentences about the daemon."""

from __future__ import annotations

SENTENCES: dict[str, tuple[str, str]] = {
    "left_out": ("{group} {name}: {error}", "{group} {name} 无法使用：{error}"),
}
