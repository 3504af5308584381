"""Sentences about rules: why a request is allowed, asked about or denied, and what is wrong with a pattern."""

from __future__ import annotations

SENTENCES: dict[str, tuple[str, str]] = {
    "unreadable": (
        "rule {id} cannot be read, so nobody knows what it forbids; `clew repair` sets it aside",
        "规则 {id} 无法读取，不知道它禁止什么；可用 `clew repair` 把它移出",
    ),
    "how_to_remove": (
        "/rules alone lists the rules; /rules remove NUMBER removes one.",
        "/规则 列出全部规则；/规则 删除 编号 删除其中一条。",
    ),
    "not_listed": ("There is no rule {number} here; /rules lists them.", "这里没有规则 {number}；/规则 列出全部。"),
    "other_choices": ("the agent offers other choices than yes and no", "智能体给出的选项不只是同意和拒绝"),
    "question": ("a question is for a person", "问题需要由人回答"),
    "too_long": ("it is too long to be judged by rules", "内容太长，规则无法判断"),
    "rule": ("the rule `{rule}` ({id})", "规则 `{rule}`（{id}）"),
    "allow": ("allow {about}", "允许{about}"),
    "ask": ("ask {about}", "询问{about}"),
    "deny": ("deny {about}", "拒绝{about}"),
    "about_command": ("{pattern}", "运行 {pattern}"),
    "about_change": ("changes of {pattern}", "修改 {pattern}"),
    "about_tool": ("the tool {pattern}", "使用工具 {pattern}"),
    "about_exact": ("exactly {pattern}", "同一请求 {pattern}"),
    "of_command": ("command", "命令"),
    "of_change": ("change", "修改"),
    "of_tool": ("tool", "工具"),
    "mentioned": ("it may be what {rule} is about", "它可能正是{rule}所说的内容"),
    "policy": ("the policy {policy}", "策略 {policy}"),
    "no_rule": ("no rule allows it", "没有规则允许它"),
    "not_covered": ("no rule covers it", "没有规则涉及它"),
    "not_plain": ("it is more than plain words", "它不只是普通的词语"),
    "always_asked": ("`{program}` is always asked about", "`{program}` 总是要询问"),
    "only_reads": ("it only reads inside the workspace", "它只读取工作区内的内容"),
    "other_kind": (
        "{rule} is of the kind `{kind}`: it says nothing to a request of the kind `{wanted}`",
        "{rule}属于“{kind}”类：对“{wanted}”类的请求不起作用",
    ),
    "pattern_visible": (
        "a pattern is one line of visible characters, such as `pytest *` or `src/**`",
        "规则的模式是一行可见字符，例如 `pytest *` 或 `src/**`",
    ),
    "pattern_relative": (
        "write `{pattern}` relative to the workspace or as an absolute path, without `~` and `..`",
        "请把 `{pattern}` 写成相对于工作区的路径或绝对路径，不要用 `~` 和 `..`",
    ),
    "ellipsis_allow": (
        "only an allow can end in `{ellipsis}`; a rule that asks or denies matches whatever follows anyway",
        "只有允许规则可以用 `{ellipsis}` 结尾；询问或拒绝的规则本来就匹配后面的任何内容",
    ),
    "ellipsis_place": (
        "write `{ellipsis}` after the words of a command, or after `FOLDER/` in a rule of the kind `change`, as in"
        " `src/{ellipsis}`",
        "请把 `{ellipsis}` 写在命令的词语之后，或在 `change` 类型的规则里写在 `目录/` 之后，例如 `src/{ellipsis}`",
    ),
    "no_options_known": (
        "clew has no list of options for `{command}`; write `*` for whatever follows",
        "clew 没有 `{command}` 的选项列表；请用 `*` 表示后面的任何内容",
    ),
    "ellipsis_includes": (
        "the `{ellipsis}` already includes some of these options; write `{pattern}`",
        "`{ellipsis}` 已经包含其中一些选项；请写 `{pattern}`",
    ),
    "quote_open": (
        "the pattern `{pattern}` has a quote that is not closed",
        "模式 `{pattern}` 里有未闭合的引号",
    ),
    "is_folder": (
        "`{pattern}` is a folder, not a command; make it a rule of the kind `change`",
        "`{pattern}` 是目录，不是命令；请建立 `change` 类型的规则",
    ),
    "never_allowed": (
        "`{program}` is always asked about: no rule can allow it",
        "`{program}` 总是要询问：没有规则可以允许它",
    ),
    "allows_everything": (
        "`{pattern}` would allow everything; `--policy yolo` does that, for one thread",
        "`{pattern}` 会允许一切；`--policy yolo` 可以对一个会话这样做",
    ),
    "one_command": (
        "an allow is for one plain command; make a rule for each part of `{pattern}`",
        "允许规则只针对一条普通命令；请为 `{pattern}` 的每个部分各建一条规则",
    ),
    "kind_command": ("a command", "命令"),
    "kind_path": ("a path", "路径"),
    "kind_tool": ("a tool", "工具"),
    "which_kind": (
        "`{pattern}` may be {kinds}. Say which: {commands}.",
        "`{pattern}` 可能是{kinds}。请说明是哪一种：{commands}。",
    ),
}
