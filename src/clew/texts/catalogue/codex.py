"""Sentences about Codex."""

from __future__ import annotations

SENTENCES: dict[str, tuple[str, str]] = {
    # What to do
    "log_in": (
        "Run `clew codex login` (or set the API key that your Codex config names, and `clew restart` so that the daemon"
        " has it too), then try again.",
        "请运行 `clew codex login`（或设置 Codex 配置中指定的 API 密钥，再运行 `clew restart`"
        " 让守护进程也读到它），然后重试。",
    ),
    "install": (
        "Install Codex (`npm install -g @openai/codex`, or clew's `codex` extra), or set `runtimes.codex.command`.",
        "请安装 Codex（`npm install -g @openai/codex`，或 clew 的 `codex` extra），或设置 `runtimes.codex.command`。",
    ),
    # The program
    "missing": ("The Codex program was not found ({where}). {advice}", "找不到 Codex 程序（{where}）。{advice}"),
    "command_is": ("`runtimes.codex.command` is {command}", "`runtimes.codex.command` 是 {command}"),
    "nowhere": ("neither on PATH nor bundled", "PATH 中没有，也没有随附"),
    "at_path": ("{path}: {error}", "位于 {path}：{error}"),
    "unusable": ("{path} cannot be run: {why}. {advice}", "无法运行 {path}：{why}。{advice}"),
    "is_folder": ("it is a folder", "它是一个文件夹"),
    "not_executable": (
        "it is not executable; `chmod +x {path}` makes it so",
        "它没有执行权限；可运行 `chmod +x {path}` 添加",
    ),
    "system_says": ("the system says: {error}", "系统提示：{error}"),
    "too_old": (
        "Codex {version} ({path}) is too old: clew needs {needed} or newer. {advice}",
        "Codex {version}（{path}）版本过旧：clew 需要 {needed} 或更新的版本。{advice}",
    ),
    "no_version": (
        "{path} does not say that it is Codex (`--version`: {reply}). {advice}",
        "{path} 似乎不是 Codex（`--version` 的输出：{reply}）。{advice}",
    ),
    "nothing": ("nothing", "无"),
    "version_silent": (
        "{path} did not answer `--version` within {seconds} s. Run it by hand to see why.",
        "{path} 没有在 {seconds} 秒内响应 `--version`。请手动运行它查看原因。",
    ),
    "exits": (
        "Codex does not stay up ({fate}). Run `{path} app-server` by hand to see why.",
        "Codex 启动后无法保持运行（{fate}）。请手动运行 `{path} app-server` 查看原因。",
    ),
    "keeper_missing": ("its keeper did not begin", "看管它的进程没有启动"),
    "socket_taken": (
        "A program that is not clew's listens at {path}, where Codex should. End that program (`fuser {path}` names"
        " it), then try again; clew does not talk to it.",
        "另一个不属于 clew 的程序占用了 Codex 应监听的 {path}。请结束该程序（用 `fuser {path}` 查看），然后重试；"
        "clew 不会与它通信。",
    ),
    "no_websockets": (
        '`runtimes.codex.transport = "socket"` needs the Python package `websockets`. Install it where clew is'
        " (`pip install websockets`, or clew's `codex` extra), or use stdio.",
        '`runtimes.codex.transport = "socket"` 需要 Python 包 `websockets`。请在 clew 所在的环境中安装它'
        "（`pip install websockets`，或 clew 的 `codex` extra），或改用 stdio。",
    ),
    "not_logged_in": ("Codex is not logged in. {advice}", "Codex 尚未登录。{advice}"),
    # The connection
    "about_to_end": ("Codex was about to end.", "Codex 正要退出。"),
    "out_of_reach": ("Codex is out of reach ({why})", "无法连接 Codex（{why}）"),
    "connection_cut": ("the connection was cut", "连接已断开"),
    "has_ended": ("it has ended", "它已退出"),
    "kept_silent": (
        "Codex was kept, but does not answer ({error})",
        "Codex 之前被保留运行，但现在没有响应（{error}）",
    ),
    # Requests
    "refuses": ("Codex refused to {what}: {reply}", "Codex 拒绝{what}：{reply}"),
    "do_start": ("initialise", "初始化"),
    "do_start_thread": ("start a thread", "开始一个新会话"),
    "do_with_thread": ("do {method} with {thread}", "对会话 {thread} 执行 {method}"),
    "do_method": ("do {method}", "执行 {method}"),
    "do_list_threads": ("list its threads", "列出它的会话"),
    "do_tell_past": ("tell what was said in {thread}", "给出会话 {thread} 的内容"),
    "do_tiny_turn": ("make a tiny turn", "运行一轮简短的测试"),
    "do_start_turn": ("start the turn", "开始这一轮"),
    "do_tell_limits": ("tell its usage limits", "报告用量上限"),
    "do_list_models": ("list its models", "列出可用的模型"),
    "do_list_turns": ("list the turns of a thread", "列出会话中的各轮"),
    "odd_answer": (
        "it answered in a shape that clew does not know; is it much newer than clew?",
        "它的响应格式 clew 不认识；它的版本是否比 clew 新很多？",
    ),
    "held_elsewhere": (
        "Another program has the Codex thread {thread} open. Close it there, then try again.",
        "另一个程序正打开着 Codex 会话 {thread}。请在那里关闭它，然后重试。",
    ),
    "thread_deleted": (
        "Codex has no thread {thread} any more: it was deleted there. Bring it back, or begin a new thread.",
        "Codex 中已没有会话 {thread}：它已在那里被删除。请恢复它，或新建会话。",
    ),
    "thread_forgotten": (
        "Codex had forgotten the thread; a new one was begun.",
        "Codex 不记得这个会话了，已新建一个。",
    ),
    "busy_elsewhere": (
        "Codex is busy with a turn of its own on this thread. Try again when it has ended.",
        "Codex 正在这个会话上运行它自己的一轮。请等它结束后重试。",
    ),
    "not_begun": (
        "Codex has not begun the turn yet, so it cannot be stopped. Try again.",
        "Codex 还没有开始这一轮，因此无法停止。请重试。",
    ),
    "ended_before": (
        "The turn ended before it could be followed.",
        "这一轮在开始跟踪之前就结束了。",
    ),
    "position_unreadable": (
        "clew cannot read which Codex thread {data} is.",
        "clew 无法识别 {data} 是哪个 Codex 会话。",
    ),
    "background_server": (
        "Codex's background server, pid {pid}; `codex app-server daemon stop` ends it",
        "Codex 的后台服务，进程号 {pid}；可用 `codex app-server daemon stop` 结束",
    ),
    "program_with_pid": ("{program}, pid {pid}", "{program}，进程号 {pid}"),
    "a_program": ("a program", "某个程序"),
    # Why a turn failed
    "unknown_failure": (
        "Codex ended the turn as failed and did not say why. Try again.",
        "Codex 报告这一轮失败，但没有说明原因。请重试。",
    ),
    "says": ("Codex says: {reply}", "Codex 提示：{reply}"),
    "login_expired": (
        "Codex is not logged in, or its login has expired. {advice}",
        "Codex 尚未登录，或登录已过期。{advice}",
    ),
    "usage_limit": (
        "The usage limit of your Codex account is reached. Try again later.",
        "你的 Codex 账号已达到用量上限。请稍后再试。",
    ),
    "budget": (
        "The budget of this Codex session is used up. Raise it, or start a new thread.",
        "这个 Codex 会话的预算已用完。请提高预算，或新建会话。",
    ),
    "context_window": (
        "The thread no longer fits into the model's context window. Start a new thread, or fork from an earlier turn.",
        "会话已超出模型的上下文窗口。请新建会话，或从较早的一轮分叉。",
    ),
    "overloaded": (
        "The model's servers are overloaded. Try again in a while.",
        "模型的服务器过载。请稍后再试。",
    ),
    "server_error": ("The model's servers failed. Try again in a while.", "模型的服务器出错。请稍后再试。"),
    "bad_request": ("The model rejected the request: {reply}", "模型拒绝了请求：{reply}"),
    "sandbox": (
        "Codex could not set up its sandbox; a thread that is careful or yolo needs none: {reply}",
        "Codex 无法建立沙箱；策略为 `careful` 或 `yolo` 的会话不需要沙箱：{reply}",
    ),
    "sandbox_fails": ("Codex's sandbox does not work on this machine: {why}", "Codex 的沙箱在这台机器上不可用：{why}"),
    "sandbox_leaks": ("a command in it could write outside of the workspace", "沙箱里的命令可以在工作区之外写入"),
    "sandbox_silent": ("it gave no answer within {seconds} s", "{seconds} 秒内没有响应"),
    "refused_by_policy": (
        "The model refused this for reasons of policy. Say it in another way.",
        "模型因政策原因拒绝了请求。请换一种说法。",
    ),
    "stopped_by_policy": (
        "The model was stopped for reasons of policy. Say it in another way.",
        "模型因政策原因被停止。请换一种说法。",
    ),
    "denials": (
        "Codex gave up because too much of what it asked for was denied.",
        "Codex 已放弃，因为它的请求被拒绝得太多。",
    ),
    "connection_failed": (
        "The connection to the model failed. Check the network, then try again: {reply}",
        "与模型的连接失败。请检查网络后重试：{reply}",
    ),
    # Notices
    "compacted": (
        "The history was summed up to fit into the model's context window.",
        "历史已压缩，以适应模型的上下文窗口。",
    ),
    "declined": (
        "declined: clew cannot ask anybody this: {about}",
        "已拒绝：clew 无法向任何人询问这项请求：{about}",
    ),
    "record_lost": (
        "Codex has lost its record of this thread. clew has given it the history.",
        "Codex 丢失了这个会话的记录。clew 已把历史交给它。",
    ),
    "model_changed": (
        "Codex went from the model {before} to {after}.",
        "Codex 已从模型 {before} 切换到 {after}。",
    ),
}
