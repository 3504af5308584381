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
    "not_called_command": ("the agent does not call it a command", "智能体没有把它标为命令"),
    "names_nothing": (
        "the agent names neither a command nor files nor a tool that a rule could mean",
        "智能体没有说明规则可以判断的命令、文件或工具",
    ),
    "asked_by_server": (
        "the MCP server itself may ask this, not Codex",
        "提问的可能是 MCP 服务器自己，而不是 Codex",
    ),
    "odd_path": (
        "a program may take a path for another one: {paths}",
        "程序可能会把路径当作另一个路径：{paths}",
    ),
    "announced_other": ("it was announced with another {names}", "它先前说明的内容不同：{names}"),
    "not_announced": ("the agent has not announced all of it", "智能体事先没有说明它的全部内容"),
    "ended_before": ("the call that it asks about has ended before", "它所询问的调用先前已经结束"),
    "sets_variables": ("it sets environment variables", "它会设置环境变量"),
    "no_folder": (
        "the agent does not tell its folder, or not clearly",
        "智能体没有说明它在哪个文件夹中运行，或没有说清楚",
    ),
    "changes_too": ("it changes files as well", "它还会修改文件"),
    "not_in_diff": (
        "its diff does not show what it carries: {names}",
        "它的差异没有显示它带有的内容：{names}",
    ),
    "unknown_parts": ("it carries what clew does not know: {names}", "它带有 clew 不认识的内容：{names}"),
    "one_twice": ("it changes a file more than once", "它不止一次修改同一个文件"),
    "missing_file": (
        "the agent says what is in a file that does not exist",
        "智能体说明了一个不存在的文件的内容",
    ),
    "unseen_file": ("it replaces a file that cannot be shown", "它会替换一个无法显示的文件"),
    "writes_below": (
        "it also asks to write below {folder} from now on",
        "它还请求从现在起可以写入 {folder} 之下",
    ),
    "elsewhere": (
        "in the environment {environment}, not on this machine",
        "在环境 {environment} 中，而不是在这台机器上",
    ),
    "announced": ("It was announced with: {call}", "它先前的说明是：{call}"),
    "unread": (
        "As the agent describes it, unchecked, since {path} is not clearly in the workspace:",
        "{path} 不能确定在工作区内，以下只是智能体的说明，未经核实：",
    ),
    "unchecked": (
        "it changes a file that clew has not read, so its diff may be wrong",
        "它会修改 clew 没有读取的文件，因此差异可能不正确",
    ),
    # What is asked
    "network": ("network access to {place}", "网络访问：{place}"),
    "any_network": ("network", "访问网络"),
    "with": ("with: {permissions}", "附带权限：{permissions}"),
    "read_path": ("read {path}", "读取 {path}"),
    "write_path": ("write {path}", "写入 {path}"),
    "unknown_permission": ("unknown: {permission}", "未知权限：{permission}"),
    "no_permission": ("nothing", "无"),
    "typed": ("type into a running command: {text}", "向正在运行的命令输入：{text}"),
    "unnamed": ("something that {agent} does not name", "{agent} 没有说明的事项"),
    "unshown_change": ("a change of files that {agent} does not show", "{agent} 没有显示的文件修改"),
    "unshown_command_called": (
        "a command that the agent does not show; it calls it: {name}",
        "智能体没有显示的命令；它称之为：{name}",
    ),
    "unnamed_tool": ("a tool", "工具"),
    "open_address": ("open {url}", "打开 {url}"),
    "plan": ("Carry out this plan", "执行这个计划"),
    # Who asks
    "by_server": ("Asked by the MCP server {server}.", "由 MCP 服务器 {server} 提出。"),
    # What belongs to it
    "shows_nothing": ("The agent does not show what it would do.", "智能体没有说明它要做什么。"),
    "removes": ("It deletes or moves files.", "它会删除或移动文件。"),
    "nowhere": (
        "the agent does not say clearly in which folder it would run",
        "智能体没有清楚说明它会在哪个文件夹中运行",
    ),
    "given_along": ("given along: {rest}", "另外附带：{rest}"),
    "claimed": ("The agent says, unchecked:\n{text}", "智能体的说明，未经核实：\n{text}"),
    "in_folder": ("in {folder}", "目录：{folder}"),
    "field_about": ("{title}: {about}", "{title}：{about}"),
    "field_hints": ("{title} ({hints})", "{title}（{hints}）"),
    "optional": ("optional", "选填"),
    "number": ("number", "数字"),
    "whole_number": ("whole number", "整数"),
    "yes": ("yes", "是"),
    "no": ("no", "否"),
    "which_option": ("Which of these?", "选哪一项？"),
    "new_empty_file": ("A new, empty file: {path}", "新的空文件：{path}"),
    "empties": ("It would be empty.", "它会变成空文件。"),
    "replaces_unseen": (
        "Replaces a file that cannot be shown ({size} bytes, {mark}): {path}",
        "替换一个无法显示的文件（{size} 字节，{mark}）：{path}",
    ),
    "gone": ("This file is replaced by the one above:", "这个文件会被上面的文件替换："),
}
