"""Sentences about deliveries: files that are not sent, surfaces that cannot be reached."""

from __future__ import annotations

SENTENCES: dict[str, tuple[str, str]] = {
    "failures": ("{counts}; {last}", "{counts}；{last}"),
    "failures_failed": (
        "{failed} not delivered (`clew notify --retry-failed` retries)",
        "{failed} 条未送达（`clew notify --retry-failed` 可重试）",
    ),
    "failures_waiting": ("{waiting} waiting for a retry", "{waiting} 条等待重试"),
    "failures_waiting_and_failed": (
        "{waiting} waiting for a retry, {failed} not delivered (`clew notify --retry-failed` retries)",
        "{waiting} 条等待重试，{failed} 条未送达（`clew notify --retry-failed` 可重试）",
    ),
    "file_empty": ("it is empty.", "文件是空的。"),
    "file_gone": ("it is not there.", "文件不存在。"),
    "file_hidden": (
        "its path has a name that begins with a dot, and such files may hold secrets.",
        "它的路径中有以点开头的名称，这类文件可能含有机密。",
    ),
    "no_files_here": ("This chat takes no files from clew.", "clew 无法向这个聊天发送文件。"),
    "file_kind": (
        "clew sends pictures, documents and archives only, and nothing hidden.",
        "只发送图片、文档和压缩包，不发送隐藏文件。",
    ),
    "file_outside": ("it is not in this thread's folder.", "不在本会话的目录里。"),
    "file_stays": ("📎 {name}: {why}", "📎 {name}：{why}"),
    "file_too_large": (
        "it is too large to send here ({size} MB; at most {most} MB).",
        "文件太大，这里发不了（{size} MB；最多 {most} MB）。",
    ),
    "last_error": ("the last error: {error}", "最近的错误：{error}"),
    "line_change": (
        '⚠ "{title}" asks: change {what}? `clew approve {code}` · `clew deny {code}`',
        "⚠ “{title}”请求修改 {what}。`clew approve {code}` 允许 · `clew deny {code}` 拒绝",
    ),
    "line_command": (
        '⚠ "{title}" asks: run {what}? `clew approve {code}` · `clew deny {code}`',
        "⚠ “{title}”请求运行 {what}。`clew approve {code}` 允许 · `clew deny {code}` 拒绝",
    ),
    "line_done": (
        '✔ "{title}" is done: {what} `clew read {name}`',
        "✔ “{title}”已完成：{what} `clew read {name}` 查看",
    ),
    "line_failed": (
        '✘ "{title}" failed: {what} `clew show {name}`',
        "✘ “{title}”失败：{what} `clew show {name}` 查看",
    ),
    "line_other": ('· "{title}": {what}', "· “{title}”：{what}"),
    "line_permission": (
        '⚠ "{title}" asks for a permission: {what}. `clew approve {code}` · `clew deny {code}`',
        "⚠ “{title}”请求授权：{what}。`clew approve {code}` 允许 · `clew deny {code}` 拒绝",
    ),
    "line_question": (
        '⚠ "{title}" asks: {what} `clew answer {code} …`',
        "⚠ “{title}”提问：{what} `clew answer {code} …` 回答",
    ),
    "line_stopped": ('⏹ "{title}" was stopped. `clew read {name}`', "⏹ “{title}”已停止。`clew read {name}` 查看"),
    "line_suspended": (
        '⚠ "{title}" waits for you: {what} `clew resume {name} …`',
        "⚠ “{title}”在等你：{what} `clew resume {name} …` 答复",
    ),
    "more_files": (
        "📎 {count} more: at most {most} files come with one answer.",
        "📎 另有 {count} 个文件未发送：一条答复最多附带 {most} 个文件。",
    ),
    "no_surface": (
        "there is no surface {surface}; add it to config.toml",
        "没有平台 {surface}；请把它加到 config.toml",
    ),
    "surface_broke": ("it broke ({error}) and is started again", "它出错了（{error}），正在重新启动"),
    "surface_failed": ("the surface {surface} failed: {error}", "平台 {surface} 出错：{error}"),
    "surface_gone": (
        "there is no surface {surface} any more; add it, then `clew notify --retry-failed`",
        "平台 {surface} 已不存在；请重新添加，然后运行 `clew notify --retry-failed`",
    ),
}
