"""Sentences about requests of agents: why only a person may allow one, and what else belongs to it."""

from __future__ import annotations

SENTENCES: dict[str, tuple[str, str]] = {
    "also": ("{first}; {other}", "{first}；{other}"),
    "replaces": ("it replaces what is there already: {paths}", "它会替换已有的内容：{paths}"),
    "twice": ("it changes a file more than once: {paths}", "它不止一次修改同一个文件：{paths}"),
    "other_content": (
        "it shows something that is neither text nor a diff",
        "它带有既不是文本也不是差异的内容",
    ),
    "announced": ("It was announced with:", "它先前的说明是："),
    "unread": (
        "As the agent describes it, unchecked, since {path} is not clearly in the workspace:",
        "{path} 不能确定在工作区内，以下只是代理的说明，未经核实：",
    ),
    "unchecked": (
        "it changes a file that clew has not read, so its diff may be wrong",
        "它会修改 clew 没有读取的文件，因此差异可能不正确",
    ),
    "gone": ("This file is replaced by the one above:", "这个文件会被上面的文件替换："),
}
