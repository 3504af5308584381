"""Sentences about threads, their history, forks and adopted sessions."""

from __future__ import annotations

SENTENCES: dict[str, tuple[str, str]] = {
    "none": ("none", "无"),
    # Finding one
    "ambiguous": (
        "{prefix} could be {first} or {second}, or others; give more of the id.",
        "{prefix} 可能是 {first}、{second} 或别的；请多写几位 ID。",
    ),
    "means_several": (
        "{name} fits several threads: {threads}. Type more of one of them, or its handle.",
        "{name} 对应多个会话：{threads}。请多写一些，或写出短名。",
    ),
    "no_conversation": (
        "There is no conversation {conversation}; it begins with its first message.",
        "没有对话 {conversation}；发出第一条消息后才会有。",
    ),
    "no_node": ("There is no node {node} in any history.", "任何历史中都没有节点 {node}。"),
    "no_thread": ("There is no thread {name}; `clew threads` lists them.", "没有会话 {name}；/会话 列出全部。"),
    "no_thread_found": (
        "There is no thread {prefix}; `clew threads` and `clew threads --history` list them.",
        "没有会话 {prefix}；`clew threads` 和 `clew threads --history` 列出全部。",
    ),
    "no_thread_near": (
        "There is no thread {prefix}. Did you mean {near}? `clew threads` and `clew threads --history` list them.",
        "没有会话 {prefix}。你是指 {near} 吗？`clew threads` 和 `clew threads --history` 列出全部。",
    ),
    "no_thread_here": (
        "No thread is bound here; say something to begin one, or /threads and /resume.",
        "这里还没有会话；直接说话即可开始，或用 /会话 和 /继续。",
    ),
    "no_thread_listed": ("There is no thread {name}; /threads lists them.", "没有会话 {name}；/会话 列出全部。"),
    "none_in_folder": (
        "No thread works in {folder}; `clew threads` lists those of all folders.",
        "没有会话在 {folder} 中工作；`clew threads` 列出所有目录的会话。",
    ),
    "not_a_thread_id": (
        "{prefix} names no thread; `clew threads` lists them.",
        "{prefix} 不是会话的名称；`clew threads` 列出全部。",
    ),
    "search_partial": (
        "{error} Threads last active before {oldest} were not searched; among the others {found} match."
        " Search by `workspace` or `status`, too, or go on with `before` {oldest}.",
        "{error} 最近活动早于 {oldest} 的会话没有搜索；其余会话中有 {found} 个符合。"
        "请再加上 `workspace` 或 `status` 条件，或用 `before` {oldest} 继续。",
    ),
    "search_unfinished": (
        "{error} Nothing was searched to its end; search by `workspace` or `status`, too.",
        "{error} 没有完整搜索任何部分；请再加上 `workspace` 或 `status` 条件。",
    ),
    # Starting one
    "empty_first_message": (
        "The first message is empty; say what there is to do.",
        "第一条消息是空的；请说明要做什么。",
    ),
    "empty_title": ("A title needs at least one visible character.", "标题至少要有一个可见字符。"),
    "message_id": (
        "A message needs an id of 1 to 256 characters, chosen by the sender.",
        "消息需要发送方给出的 ID，长度为 1 到 256 个字符。",
    ),
    "no_policy": (
        "There is no policy {name}; there are: {known}.",
        "没有名为 {name} 的策略；可选：{known}。",
    ),
    "not_a_choice": (
        "{value} is not a value of {name}; there are: {known}.",
        "{value} 不是 {name} 的取值；可选：{known}。",
    ),
    "no_priority": (
        "There is no priority {name}; there are: {known}.",
        "没有名为 {name} 的优先级；可选：{known}。",
    ),
    "nothing_to_set": (
        "There is nothing to change; give a title, a runtime, a model, an effort or a policy.",
        "没有要更改的内容；请给出标题、智能体、模型、思考强度或策略。",
    ),
    "not_a_setting": (
        "{name} is not a name; give one word.",
        "{name} 不是有效的名称；请写一个词。",
    ),
    "settings_changed": (
        "{by} changed this thread: {what}. It holds from the next turn on.",
        "{by}更改了本会话的设置：{what}。从下一轮起生效。",
    ),
    "no_folder": (
        "The workspace {path} is not a folder; give the full path of one that exists.",
        "{path} 不是目录；请给出已有目录的完整路径。",
    ),
    "not_connected": (
        "{surface} is not connected. `clew connect {surface}` sets it up, step by step. Available now: {known}.",
        "{surface} 尚未连接。`clew connect {surface}` 会一步步设置。现在可用：{known}。",
    ),
    "not_a_notify_target": (
        "{target} is not a notify target: there is no surface {surface}. Available: {known}. `clew connect` sets up a"
        " chat app; `[surfaces.webhook.NAME]` in config.toml a webhook.",
        "{target} 不能接收通知：没有平台 {surface}。可用：{known}。`clew connect` 可连接聊天应用；"
        "在 config.toml 中写 `[surfaces.webhook.NAME]` 可设置 webhook。",
    ),
    "other_runtime": (
        "This conversation is with {name}; leave `runtime` out, or begin another conversation.",
        "这个对话使用的智能体是 {name}；请不要指定 `runtime`，或另开一个对话。",
    ),
    "other_workspace": (
        "This conversation works in {folder}; leave `workspace` out, or begin another conversation.",
        "这个对话在 {folder} 中工作；请不要指定 `workspace`，或另开一个对话。",
    ),
    "runtime_gone": ("there is no such runtime any more", "这个智能体已不存在"),
    "unknown_runtime": (
        "There is no runtime named {name}; known here: {known}.",
        "没有名为 {name} 的智能体；可选：{known}。",
    ),
    # Status
    "cancelled": (
        "Thread {thread} is cancelled and never runs again; `clew fork {thread}` begins a new one from it.",
        "会话 {thread} 已取消，不会再运行；`clew fork {thread}` 可由它开启新会话。",
    ),
    "cannot_resume": ("Thread {thread} cannot be resumed: {hint}.", "无法恢复会话 {thread}：{hint}。"),
    "changed_meanwhile": (
        "Thread {thread} changed meanwhile; look at it and try again.",
        "会话 {thread} 期间有变化；请查看后再试。",
    ),
    "completed_already": (
        "Thread {thread} is completed already; there is nothing to cancel.",
        "会话 {thread} 已完成；没有可取消的。",
    ),
    "damaged": (
        "cannot be read ({reason}); clew repair sets it aside",
        "无法读取（{reason}）；可用 `clew repair` 移出",
    ),
    "has_queued": (
        "Thread {thread} has {waiting} queued; let them run, or `clew cancel {thread}`.",
        "会话 {thread} 还有 {waiting} 条排队；请让它们运行，或用 `clew cancel {thread}` 取消。",
    ),
    "is_cancelled": ("Thread {thread} is cancelled.", "会话 {thread} 已取消。"),
    "needs_supplement": (
        "Thread {thread} is completed; say what to do with it now: `clew resume {thread} TEXT`.",
        "会话 {thread} 已完成；请说明现在要做什么：`clew resume {thread} 内容`。",
    ),
    "resume_cancelled": (
        "it is cancelled; `clew fork {thread}` begins a new one from it",
        "它已取消；`clew fork {thread}` 可由它开启新会话",
    ),
    "resume_idle": (
        "it is idle; `clew send {thread} '…'` goes on with it",
        "它是空闲的；用 `clew send {thread} '…'` 发消息即可继续",
    ),
    "resume_running": (
        "it is running; `clew send {thread} '…'` reaches it",
        "它正在运行；用 `clew send {thread} '…'` 给它发消息",
    ),
    "still_works": (
        "Thread {thread} still works; `clew stop {thread}` first, or wait.",
        "会话 {thread} 还在运行；请先 `clew stop {thread}`，或稍等。",
    ),
    # History and forks
    "fork_title": ("{title} (fork)", "{title}（分叉）"),
    "forked_from": ("(forked from {source})", "（由 {source} 分叉而来）"),
    "hash_differs": ("its content does not match its hash", "它的内容与哈希不符"),
    "no_turn_to_fork": (
        "Thread {thread} has no turn {turn}; `clew read {thread} --json` names them.",
        "会话 {thread} 没有轮次 {turn}；`clew read {thread} --json` 列出全部。",
    ),
    "node_damaged": (
        "(node {node} is damaged; `clew verify` tells more)",
        "（节点 {node} 已损坏；详情见 `clew verify`）",
    ),
    "history_loops": ("the history leads back to this node", "历史又回到了这个节点"),
    "head_set_back": (
        "a turn of the thread names this node, but the history does not lead to it: the thread's head was set back",
        "会话的某个轮次指向这个节点，但历史不包含它：会话的最新位置被改回了旧节点",
    ),
    "node_unreadable": (
        "its content cannot be read as a node of the type {type}",
        "它的内容无法作为 {type} 类型的节点读取",
    ),
    "node_missing": (
        "this node is missing; what came before it cannot be reached",
        "缺少这个节点；它之前的内容无法读取",
    ),
    "taken_over": ("(taken over from the {runtime} session {session})", "（接管自 {runtime} 的会话 {session}）"),
    "turn_failed": ("The turn failed.", "这一轮失败了。"),
    "turn_not_ended": (
        "Turn {turn} has not ended; fork from an earlier one, or wait.",
        "轮次 {turn} 还没结束；请从更早的一轮分叉，或稍等。",
    ),
    # Sessions of other programs
    "adopted_already": (
        "The {runtime} session {session} is thread {thread} already; `clew chat {thread}` goes on with it.",
        "{runtime} 的会话 {session} 已经是 clew 的会话 {thread}；`clew chat {thread}` 可继续。",
    ),
    "adopted_meanwhile": (
        "The session {session} became thread {thread} meanwhile; `clew chat {thread}` goes on with it.",
        "会话 {session} 期间已成为 clew 的会话 {thread}；`clew chat {thread}` 可继续。",
    ),
    "begun_in_clew": (
        "Thread {thread} was begun in clew: there is no other program that waits for it.",
        "会话 {thread} 是在 clew 中开始的：没有别的程序在等它。",
    ),
    "cannot_adopt": (
        "The sessions of {name} cannot be taken over: it does not tell which it has.",
        "{name} 的会话无法接管：它不提供会话列表。",
    ),
    "cannot_adopt_but": (
        "The sessions of {name} cannot be taken over: it does not tell which it has; these can: {others}.",
        "{name} 的会话无法接管：它不提供会话列表；可以接管的有：{others}。",
    ),
    "held_elsewhere": (
        "The {runtime} session of this thread is open in another program ({who}). Close it there, then send it again;"
        " or go on in a copy: `clew fork {thread}`.",
        "本会话的 {runtime} 会话在另一个程序（{who}）中打开。请在那里关闭后重发；"
        "或在副本中继续：`clew fork {thread}`。",
    ),
    "in_use": (
        "The {runtime} session {session} is open in another program ({who}), and is not taken away from it. Close it"
        " there and try again, or take a copy: `clew adopt {session} --fork`.",
        "{runtime} 的会话 {session} 在另一个程序（{who}）中打开，clew 不会抢占。"
        "请在那里关闭后再试，或接管副本：`clew adopt {session} --fork`。",
    ),
    "in_use_unseen": ("which one cannot be seen from here", "从这里看不到是哪一个"),
    "no_session": (
        "There is no {runtime} session {session}; `clew adopt --all` lists them. One that was archived has to be"
        " brought back first.",
        "没有 {runtime} 的会话 {session}；`clew adopt --all` 列出全部。已归档的需要先恢复。",
    ),
    "none_to_adopt": (
        "No runtime here has sessions that can be taken over; Codex and Claude Code have, where they are set up.",
        "这里没有智能体的会话可以接管；设置好 Codex 或 Claude Code 后即可。",
    ),
    "session_folder_gone": (
        "The folder of that session, {folder}, is not there any more. Bring it back, or say with `--workspace FOLDER`"
        " where it is to go on.",
        "该会话的目录 {folder} 已不存在。请恢复它，或用 `--workspace 目录` 指定在哪里继续。",
    ),
    "unknown_folder": ("unknown", "（未知）"),
}
