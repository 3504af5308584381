"""Usage limits: parked threads, and turns that another agent takes."""

from __future__ import annotations

SENTENCES: dict[str, tuple[str, str]] = {
    "parked": ("{agent} is at its usage limit. Resumes {at}{wait}.", "{agent} 已达用量上限。将于 {at} 继续{wait}。"),
    "parked_unknown": (
        "{agent} is at its usage limit and did not say until when. Tries again {at}{wait}.",
        "{agent} 已达用量上限，没有说明何时恢复。将于 {at} 重试{wait}。",
    ),
    "short": (
        "{agent} is at its usage limit for a moment. Tries again {at}.",
        "{agent} 暂时达到用量上限。将于 {at} 重试。",
    ),
    "in_line": ("{agent} works again. Resumes {at}{wait}.", "{agent} 已恢复可用。将于 {at} 继续{wait}。"),
    "asks": (
        "{agent} is at its usage limit until {at}. This thread does not resume by itself.",
        "{agent} 已达用量上限，{at} 恢复。本会话不会自动继续。",
    ),
    "asks_again": (
        "{agent} is at its usage limit until {at}, {count} times in a row. This thread does not resume by"
        " itself any more.",
        "{agent} 已达用量上限，{at} 恢复；已连续 {count} 次。本会话不再自动继续。",
    ),
    "wait": (" (in {time})", "（{time}后）"),
    "minutes": ("{minutes} m", "{minutes} 分"),
    "hours": ("{hours} h {minutes} m", "{hours} 小时 {minutes} 分"),
    "now_or_stop": ("Reply `now` or `stop`.", "回复「现在」或「停止」。"),
    "now_on_or_stop": ("Reply `now`, `on {agent}` or `stop`.", "回复「现在」、「用 {agent}」或「停止」。"),
    "behind": ("Kept; it runs when this thread resumes. {why}", "已留下，会话继续时运行。{why}"),
    "resumed": ("Resumed.", "已继续。"),
    "resumed_by": ("Resumed by {who}.", "{who}让它继续。"),
    "moved_by": ("{who} moved it to {agent}.", "{who}让 {agent} 接着做。"),
    "trying": ("Trying now.", "正在尝试。"),
    "moved": ("{agent} takes it now.", "现在由 {agent} 接着做。"),
    "at_limit_until": (
        "{agent} is at its limit until {at}; {next} works on.",
        "{agent} 到 {at} 前已达上限；由 {next} 接着做。",
    ),
    "at_limit_unknown": (
        "{agent} is at its limit and did not say until when; {next} works on.",
        "{agent} 已达上限，没有说明何时恢复；由 {next} 接着做。",
    ),
    "cannot_begin": ("{agent} cannot begin ({why}) {next} works on.", "{agent} 无法开始（{why}）由 {next} 接着做。"),
    "failed_after_acting": (
        "{agent} failed after it had begun: {why} Continue later, or let {next} go on?",
        "{agent} 开始后失败了：{why}稍后继续，还是由 {next} 接着做？",
    ),
    "continue_on_or_stop": ("Reply `continue`, `on {agent}` or `stop`.", "回复「继续」、「用 {agent}」或「停止」。"),
}
