"""Sentences about Claude Code."""

from __future__ import annotations

SENTENCES: dict[str, tuple[str, str]] = {
    # What to do
    "log_in": (
        "Run `claude auth login` (or set `ANTHROPIC_API_KEY`, and `clew restart` so that the daemon has it too), then"
        " try again.",
        "请运行 `claude auth login`（或设置 `ANTHROPIC_API_KEY`，再运行 `clew restart`"
        " 让守护进程也读到它），然后重试。",
    ),
    "install": (
        "Install Claude Code (`npm install -g @anthropic-ai/claude-code`), or set `runtimes.claude.command`.",
        "请安装 Claude Code（`npm install -g @anthropic-ai/claude-code`），或设置 `runtimes.claude.command`。",
    ),
    "update": (
        "Update it (`claude update`), or set `runtimes.claude.command`.",
        "请更新它（`claude update`），或设置 `runtimes.claude.command`。",
    ),
    # The program
    "missing": ("Claude Code was not found ({where}). {advice}", "找不到 Claude Code（{where}）。{advice}"),
    "command_is": ("`runtimes.claude.command` is {command}", "`runtimes.claude.command` 是 {command}"),
    "nowhere": ("there is no `claude` on PATH", "PATH 中没有 `claude`"),
    "unusable": ("{path} cannot be run: {why}. {advice}", "无法运行 {path}：{why}。{advice}"),
    "is_folder": ("it is a folder", "它是一个文件夹"),
    "not_executable": (
        "it is not executable; `chmod +x {path}` makes it so",
        "它没有执行权限；可运行 `chmod +x {path}` 添加",
    ),
    "system_says": ("the system says: {error}", "系统提示：{error}"),
    "too_old": (
        "Claude Code {version} ({path}) is too old: clew needs {needed} or newer. {advice}",
        "Claude Code {version}（{path}）版本过旧：clew 需要 {needed} 或更新的版本。{advice}",
    ),
    "no_version": (
        "{path} does not say that it is Claude Code (`--version`: {reply}). {advice}",
        "{path} 似乎不是 Claude Code（`--version` 的输出：{reply}）。{advice}",
    ),
    "nothing": ("nothing", "无"),
    "silent": (
        "{path} did not answer `{arguments}` within {seconds} s. Run it by hand to see why.",
        "{path} 没有在 {seconds} 秒内响应 `{arguments}`。请手动运行它查看原因。",
    ),
    "exits": (
        "Claude Code does not stay up ({fate}). Run `{path} -p hello` by hand to see why.",
        "Claude Code 启动后无法保持运行（{fate}）。请手动运行 `{path} -p hello` 查看原因。",
    ),
    "not_logged_in": ("Claude Code is not logged in. {advice}", "Claude Code 尚未登录。{advice}"),
    # Sessions
    "refuses": ("Claude refused to {what}: {reply}", "Claude 拒绝{what}：{reply}"),
    "do_start": ("initialise", "初始化"),
    "folder_gone": (
        "The folder {folder} is gone, so Claude cannot work in it. Bring it back, or begin a new thread.",
        "文件夹 {folder} 已不存在，Claude 无法在其中工作。请恢复它，或新建会话。",
    ),
    "file_unreadable": (
        "The attached file {name} cannot be read: {error}. Attach it again.",
        "附件 {name} 无法读取：{error}。请重新添加附件。",
    ),
    "held_elsewhere": (
        "Another program has the Claude session {session} open: {who}. Close it there, then try again.",
        "另一个程序正打开着 Claude 会话 {session}：{who}。请在那里关闭它，然后重试。",
    ),
    "session_deleted": (
        "Claude has no session {session} any more: its file was deleted. Bring it back, or begin a new thread.",
        "Claude 中已没有会话 {session}：它的文件已被删除。请恢复它，或新建会话。",
    ),
    "position_unreadable": (
        "clew cannot read which Claude session {data} is.",
        "clew 无法识别 {data} 是哪个 Claude 会话。",
    ),
    "program_with_pid": ("claude, pid {pid}", "claude，进程号 {pid}"),
    "silent_turn": (
        "Claude did not take the message within {seconds} s",
        "Claude 没有在 {seconds} 秒内接收这条消息",
    ),
    "repeated_unknown": (
        "Claude says that it has finished this turn before, but its record does not have it.",
        "Claude 表示它此前已完成这一轮，但它的记录中没有这一轮。",
    ),
    # Requests
    "plan_above": ("The plan is in the text above.", "计划见上文。"),
    "plan_is_for_people": (
        "whether a plan is good, no rule can tell",
        "计划是否合适，规则无法判断",
    ),
    "own_ask_rule": (
        "an ask rule of your Claude settings, or of the folder's, is about this",
        "你的 Claude 设置（或该文件夹的设置）中有一条规则要求询问此操作",
    ),
    # Why a turn failed
    "says": ("Claude says: {reply}", "Claude 提示：{reply}"),
    "login_expired": (
        "Claude Code is not logged in, or its login has expired. {advice}",
        "Claude Code 尚未登录，或登录已过期。{advice}",
    ),
    "usage_limit": (
        "The usage limit of your Claude account is reached. Try again later.",
        "你的 Claude 账号已达到用量上限。请稍后再试。",
    ),
    "billing": (
        "Claude's service refused because of billing. See to your account there: {reply}",
        "Claude 的服务因账单问题拒绝了请求。请检查你的账户：{reply}",
    ),
    "context_window": (
        "The thread no longer fits into the model's context window. Start a new thread, or fork from an earlier turn.",
        "会话已超出模型的上下文窗口。请新建会话，或从较早的一轮分叉。",
    ),
    "output_too_long": (
        "The answer was longer than the model may write. Ask for it in parts.",
        "回答超出了模型可以输出的长度。请分几部分提问。",
    ),
    "overloaded": (
        "The model's servers are overloaded. Try again in a while.",
        "模型的服务器过载。请稍后再试。",
    ),
    "server_error": ("The model's servers failed. Try again in a while.", "模型的服务器出错。请稍后再试。"),
    "bad_request": ("The model rejected the request: {reply}", "模型拒绝了请求：{reply}"),
    "connection_failed": (
        "The connection to the model failed. Check the network, then try again: {reply}",
        "与模型的连接失败。请检查网络后重试：{reply}",
    ),
    # Notices
    "compacted": (
        "The history was summed up to fit into the model's context window.",
        "历史已压缩，以适应模型的上下文窗口。",
    ),
    "retries": (
        "The model could not be reached ({error}); Claude tries again.",
        "无法连接模型（{error}）；Claude 正在重试。",
    ),
    "declined": (
        "declined: clew cannot ask anybody this: {about}",
        "已拒绝：clew 无法向任何人询问这项请求：{about}",
    ),
    "untrusted": (
        "The settings, hooks and MCP servers of {folder} are left out: they are programs. Run claude there once and"
        " trust the folder, or set runtimes.claude.trust_projects.",
        "{folder} 自带的设置、钩子和 MCP 服务器没有使用，因为它们是程序。请在那里运行一次 claude 并信任该文件夹，"
        "或设置 runtimes.claude.trust_projects。",
    ),
    "record_lost": (
        "Claude has lost its record of this thread. clew has given it the history.",
        "Claude 丢失了这个会话的记录。clew 已把历史交给它。",
    ),
}
