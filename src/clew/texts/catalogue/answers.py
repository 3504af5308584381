"""Sentences about answers to gates, and about rules, as people and programs give them."""

from __future__ import annotations

SENTENCES: dict[str, tuple[str, str]] = {
    "no_code": (
        "{word} is not a gate code; /gates lists what waits.",
        "{word} 不是待办代码；/待办 列出等你答复的事项。",
    ),
    "nobody_waits": (
        "Nothing here waits for a yes; `clew gates`, or `/gates` in a chat, lists what is open.",
        "这里没有等待同意的事项；/待办 列出未答复的。",
    ),
    "only_code": (
        "Nothing was allowed: there is more than the code. `/approve {code}` alone allows just what is shown;"
        " `/deny {code} REASON` declines it and tells the agent why.",
        "没有允许任何事：代码后面还有别的内容。只写 `/同意 {code}` 表示按显示的内容允许；"
        "`/拒绝 {code} 原因` 表示拒绝，并把原因告诉代理。",
    ),
}
