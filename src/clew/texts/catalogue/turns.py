"""Sentences about turns: what becomes of a message, and why a turn failed or was cut off."""

from __future__ import annotations

SENTENCES: dict[str, tuple[str, str]] = {
    # What becomes of a message
    "broken": (
        "clew itself failed on this message; `clew logs` has the details. Nothing was done with it.",
        "clew 处理这条消息时出错；详情见 `clew logs`。没有对它做任何事。",
    ),
    "empty": ("There was nothing in that message; say something.", "这条消息是空的；请说点什么。"),
    "merged_by_chat": (
        "Merged {count} into {into}, one for each chat: every answer comes to where it was asked for.",
        "已将 {count} 条按聊天合并成 {into} 条：答复各自回到提出的地方。",
    ),
    "merged_into_one": ("Merged {count} into one.", "已将 {count} 条合并成一条。"),
    "nothing_to_merge": (
        "There is nothing to merge; what waits runs as it is.",
        "没有可合并的；等待的内容照原样运行。",
    ),
    "old_work_aside": (
        "The work that was cut off is put aside; this is worked on instead.",
        "中断的工作已搁置；现在改做这件事。",
    ),
    "queued_behind": ("Queued behind {ahead} more.", "已排队：前面还有 {ahead} 条。"),
    "queued_next": ("Queued: it runs next.", "已排队：接下来运行。"),
    "running_all": ("Running them in order.", "按顺序运行。"),
    "deleted": (
        "The deleted message was taken back; the agent has not seen it.",
        "删除的消息已撤回；智能体没有看到它。",
    ),
    "deleted_dropped": (
        "The deleted message was taken back; it will not run any more.",
        "删除的消息已撤回，不会再运行。",
    ),
    "deleted_too_late": (
        "The agent already works on the deleted message; /stop stops it.",
        "智能体已经在处理这条删除的消息；/停止 可以停止。",
    ),
    "edit_offered": (
        "The agent has your message as it was before the edit.",
        "智能体拿到的是修改前的消息。",
    ),
    "edit_too_late": (
        "The agent has your message as it was before the edit; send the correction as a new message.",
        "智能体拿到的是修改前的消息；请把更正作为新消息发送。",
    ),
    "not_your_edit": ("Only the author of the message can send the edit.", "只有消息的作者可以发送修改。"),
    "settled": ("That was settled already.", "这件事已经处理过了。"),
    "shown_again": ("(This message was sent once more; it goes on there.)", "（这条消息又发了一遍，进展见那一条。）"),
    "skipped": ("Skipped {count}.", "已跳过 {count} 条。"),
    "steered": ("Passed on to the running turn.", "已转给正在运行的任务。"),
    "stopped": ("Stopped. Say something new whenever you like.", "已停止。随时可以说新的事。"),
    "unplaced": (
        "clew does not know which message this button is on. Press it again, or on a newer copy of it, or answer in"
        " words.",
        "clew 不知道这个按钮属于哪条消息。请再按一次，或按较新的那条，或用文字回复。",
    ),
    "unseen_images": (
        "{runtime} does not take images, so it cannot see what {files} shows. Describe it, or use another agent.",
        "{runtime} 不支持图片，看不到 {files} 的内容。请用文字描述，或换一个智能体。",
    ),
    "no_sandbox": (
        "{runtime} has no sandbox, so the policy `sandbox` means `careful` here: it asks before it runs a command or"
        " changes a file.",
        "{runtime} 没有沙箱，所以策略 `sandbox` 在这里等同于 `careful`：运行命令或修改文件之前都会先问。",
    ),
    "rule_needs_careful": (
        "The sandbox is off here, because no rule sees into it: {rule}. As under `careful`, the agent asks before it"
        " runs a command or changes a file.",
        "这里不用沙箱，因为规则看不到沙箱里的内容：{rule}。和 `careful` 一样，智能体运行命令或修改文件之前都会先问。",
    ),
    "sandbox_again": (
        "No rule denies or asks here any more, so commands run in the agent's sandbox again.",
        "这里不再有拒绝或询问的规则，命令重新在智能体的沙箱里运行。",
    ),
    # What is added to an answer
    "stopped_mark": ("(Stopped.)", "（已停止。）"),
    "stopped_here_mark": ("(Stopped at the computer.)", "（已在电脑上停止。）"),
    "stopped_by_mark": ("(Stopped by {who}.)", "（已由 {who} 停止。）"),
    "cut_continues_mark": ("(Cut off, continues.)", "（已中断，正在继续。）"),
    "wordless": ("(Done, without words.)", "（已完成，没有文字答复。）"),
    "failed_mark": ("⚠ {problem}", "⚠ {problem}"),
    # Refusals
    "no_turn": ("There is no turn {turn}.", "没有轮次 {turn}。"),
    "not_queued": (
        "Turn {turn} does not wait any more, so it cannot be taken back; stop it instead.",
        "这一轮（{turn}）已经开始，无法撤回；可以停止它。",
    ),
    "nothing_runs": (
        "Nothing runs in thread {thread}; `clew show {thread}` tells how it stands.",
        "会话 {thread} 现在没有在运行的任务；`clew show {thread}` 查看状态。",
    ),
    # Why one failed
    "broke_off": ("the runtime broke off without an end", "智能体中途断开，没有给出结果"),
    "internal": (
        "clew itself failed on this turn; `clew logs` has the details. Send it again.",
        "clew 处理这一轮时出错；详情见 `clew logs`。请重新发送。",
    ),
    "never_began": (
        "The runtime lost this turn {attempts} times before it began. `clew doctor` and `clew logs` tell more.",
        "这一轮还没开始，智能体就丢失了 {attempts} 次。详情见 `clew doctor` 和 `clew logs`。",
    ),
    "no_runtime": (
        "there is no runtime named {name}; known here: {known}",
        "没有名为 {name} 的智能体；可选：{known}",
    ),
    "silence": (
        "The model gave no sign of life for {minutes} min, so the turn was stopped. Check the network and the model's"
        " status, then send the message again; `turns.silence` in config.toml sets how long clew waits.",
        "模型 {minutes} 分钟没有任何动静，这一轮已停止。请检查网络和模型的状态，然后重新发送消息；"
        "config.toml 中的 `turns.silence` 设定 clew 等待多久。",
    ),
    "silence_seconds": (
        "The model gave no sign of life for {seconds} s, so the turn was stopped. Check the network and the model's"
        " status, then send the message again; `turns.silence` in config.toml sets how long clew waits.",
        "模型 {seconds} 秒没有任何动静，这一轮已停止。请检查网络和模型的状态，然后重新发送消息；"
        "config.toml 中的 `turns.silence` 设定 clew 等待多久。",
    ),
    # Why it is not known how one ended
    "clew_failed": ("clew itself failed; `clew logs` has the details", "clew 出错；详情见 `clew logs`"),
    "clew_failed_on_it": (
        "clew itself failed on it; `clew logs` has the details",
        "clew 处理它时出错；详情见 `clew logs`",
    ),
    "interrupted_by_runtime": (
        "the runtime interrupted it, and nobody here had asked for that",
        "智能体中断了它，而这里没有人要求停止",
    ),
    "left_running": ("an earlier daemon left it running", "上一个守护进程退出时它还在运行"),
    "never_asked": ("it was never asked", "还没有询问过智能体"),
    # `clew.run` in Python
    "run_failed": (
        "The turn failed: {why} `clew read {thread}` shows it.",
        "这一轮失败了：{why} `clew read {thread}` 可查看。",
    ),
    "run_in_a_loop": (
        "clew.run blocks, so it cannot be called while an event loop runs. Use `async with clew.Clew()` there.",
        "clew.run 会阻塞，不能在事件循环运行时调用。请改用 `async with clew.Clew()`。",
    ),
    "run_stopped": ("somebody stopped it.", "有人停止了它。"),
    "run_suspended": (
        "The turn waits for a person: {why} `clew resume {thread} '…'` answers.",
        "这一轮在等人处理：{why} 用 `clew resume {thread} '…'` 回复。",
    ),
    "run_timed_out": (
        "The turn was not over in {seconds} s. It goes on: `clew watch {thread}` follows it, `clew stop {thread}` stops"
        " it.",
        "这一轮在 {seconds} 秒内没有结束，仍在继续：`clew watch {thread}` 可跟随，`clew stop {thread}` 可停止。",
    ),
    "run_waits": (
        "The agent asks {codes}, and the turn waits for a person: `clew gates {code}` shows what it asks. A `policy` or"
        " a rule lets it go on without asking. Thread: {thread}.",
        "智能体提出了 {codes}，这一轮在等人回答：`clew gates {code}` 显示它问什么。"
        "用 `policy` 或规则可让它不经询问继续。会话：{thread}。",
    ),
}
