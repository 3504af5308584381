"""Sentences about the process of the daemon, its home and its socket."""

from __future__ import annotations

SENTENCES: dict[str, tuple[str, str]] = {
    "arguments_not_json": (
        "arguments must be text, numbers or lists of these: {error}",
        "参数必须是文本、数字或它们的列表：{error}",
    ),
    "cannot_be_private": (
        "{folder} cannot be made private: {error}. It must belong to you.",
        "{folder} 无法设为私有：{error}。它必须属于你。",
    ),
    "cannot_make": (
        "{folder} cannot be made: {error}. Set CLEW_HOME to a folder of yours.",
        "无法创建 {folder}：{error}。请把 CLEW_HOME 设为你自己的文件夹。",
    ),
    "cannot_write": ("{root} cannot be written: {error}; {remedy}", "{root} 无法写入：{error}；{remedy}"),
    "client_not_open": (
        "this client is not open: use it as `async with Clew() as clew:`",
        "这个客户端没有打开：请写成 `async with Clew() as clew:`",
    ),
    "client_was_closed": ("the client was closed", "客户端已关闭"),
    "agents_go_on": ("; what kept agents work on goes on{others}", "；保留运行的智能体会继续工作{others}"),
    "daemon_alone": ("daemon", "守护进程"),
    "daemon_pid": ("the daemon (pid {pid})", "守护进程（进程号 {pid}）"),
    "died_often": (
        "the daemon died {deaths} times in a row; the last one, pid {pid}, {end}{last}",
        "守护进程连续退出了 {deaths} 次；最后一次（进程号 {pid}）{end}{last}",
    ),
    "ended_at_start": ("{what} ended while it started{last}", "{what} 在启动时结束了{last}"),
    "exited": ("ended with exit code {code}", "以退出码 {code} 结束"),
    "file_in_place": (
        "{folder} cannot be made: a file is in its place. Move it, or set CLEW_HOME.",
        "无法创建 {folder}：那里有一个文件。请移走它，或设置 CLEW_HOME。",
    ),
    "gives_no_answer": (
        "pid {pid} gives no answer; waiting for its end…",
        "进程 {pid} 没有响应；正在等它结束…",
    ),
    "hangs": (
        "{who} does not answer; it may be hung, or have far too much to do{note}. `clew logs` may tell "
        "why; `clew restart` starts another one",
        "{who}没有响应；它可能卡住了，或要做的事太多{note}。`clew logs` 也许说明原因；`clew restart` 启动另一个",
    ),
    "held": (
        "{home} is held by a clew {what} with pid {pid}, since {since}; `clew down` stops it, or set "
        "CLEW_HOME to another folder",
        "{home} 由 clew {what}（进程号 {pid}）自 {since} 起占用；`clew down` 可停止它，或把 CLEW_HOME 设为另一个文件夹",
    ),
    "home_in_use": (
        "another clew process works on {home} just now; try again in a moment",
        "另一个 clew 进程正在 {home} 上工作；请稍后再试",
    ),
    "home_not_path": (
        "home must be the path of a folder, not {kind}.",
        "home 必须是文件夹的路径，而不是 {kind}。",
    ),
    "http_status": (
        "the daemon answered with HTTP status {status}; `clew logs` tells more",
        "守护进程返回了 HTTP 状态 {status}；`clew logs` 说明更多",
    ),
    "id_not_text": ("an id must be text, not {kind}: {given}", "编号必须是文本，而不是 {kind}：{given}"),
    "killing": ("pid {pid} does not end; killing it…", "进程 {pid} 没有结束；正在强制结束…"),
    "last_line": (": {line} (see {path})", "：{line}（见 {path}）"),
    "lost_reconnecting": ("connection lost; reconnecting…", "连接中断，正在重新连接…"),
    "lost_retrying": ("connection lost; retrying…", "连接中断，正在重试…"),
    "no_answer_within": (
        "the daemon did not answer within {seconds} s; `clew logs` tells more",
        "守护进程在 {seconds} 秒内没有回答；`clew logs` 说明更多",
    ),
    "no_duration": (
        "{shown} is no length of time; write a number and s, m, h, d or w, such as 30m, 2h or 1d",
        "{shown} 不是时长；请写一个数和 s、m、h、d 或 w，例如 30m、2h 或 1d",
    ),
    "no_socket_there": (
        "{folder} is not a folder that you own: no socket can be there. Set a shorter CLEW_HOME.",
        "{folder} 不是你拥有的文件夹：那里不能有套接字。请设置更短的 CLEW_HOME。",
    ),
    "no_turn_yet": (
        "Thread {thread} has no turn yet; `send` starts one.",
        "会话 {thread} 还没有任何一轮；`send` 会开始一轮。",
    ),
    "none_answers": ("no daemon answers: {holder}", "没有守护进程响应：{holder}"),
    "not_a_folder": (
        "{blocking} is not a folder. Set CLEW_HOME to a folder, or unset it.",
        "{blocking} 不是文件夹。请把 CLEW_HOME 设为一个文件夹，或取消设置。",
    ),
    "not_a_path": (
        "a file or folder must be a path, not {kind}: {given}",
        "文件或文件夹必须是路径，而不是 {kind}：{given}",
    ),
    "not_ready": (
        "the daemon was not ready within {seconds} s; `clew logs` tells more",
        "守护进程在 {seconds} 秒内没有就绪；`clew logs` 说明更多",
    ),
    "not_running": ("the daemon does not run; `clew up` starts it", "守护进程没有运行；`clew up` 启动它"),
    "noticed": ("; its supervisor has noticed, at {since}", "；监管进程已在 {since} 发现"),
    "others_get": (", other turns get up to {grace} s", "，其他轮次最多还有 {grace} 秒"),
    "refused_to_stop": ("the daemon refused to stop", "守护进程拒绝停止"),
    "remedy_full": (
        "free some space, or set CLEW_HOME to another folder",
        "请腾出空间，或把 CLEW_HOME 设为另一个文件夹",
    ),
    "remedy_owner": (
        "set CLEW_HOME to a folder of yours, or make this one yours",
        "请把 CLEW_HOME 设为你自己的文件夹，或让这一个归你所有",
    ),
    "remedy_read_only": (
        "repair its disk, which is read-only now, or set CLEW_HOME to another folder",
        "请修复它的磁盘（现在是只读的），或把 CLEW_HOME 设为另一个文件夹",
    ),
    "response_incomplete": (
        "the daemon went away before its response was complete; try again",
        "守护进程没有答完就离开了；请再试一次",
    ),
    "response_unreadable": (
        "the daemon's response cannot be read: {error}. If clew was updated, `clew restart` starts the new version",
        "守护进程的回答无法读取：{error}。如果 clew 更新过，`clew restart` 会启动新版本",
    ),
    "runs_in_foreground": (
        "Cannot restart from inside an agent: clew runs in the foreground. Restart it where you started "
        "it, for example with `systemctl --user restart clew.service`.",
        "不能在智能体内重启：clew 在前台运行。请在你启动它的地方重启，例如用 `systemctl --user restart clew.service`。",
    ),
    "said_last": (": {words}", "：{words}"),
    "see_logs": ("; `clew logs` tells more", "；`clew logs` 说明更多"),
    "socket_not_yours": (
        "{socket} is not yours. Set CLEW_HOME to a folder of yours.",
        "{socket} 不是你的。请把 CLEW_HOME 设为你自己的文件夹。",
    ),
    "starting": ("starting the daemon…", "正在启动守护进程…"),
    "stopping": ("stopping the daemon{turns}…", "正在停止守护进程{turns}…"),
    "the_daemon": ("the daemon", "守护进程"),
    "the_supervisor": ("the supervisor of the daemon", "守护进程的监管进程"),
    "turns_get": ("; running turns get up to {grace} s", "；运行中的轮次最多还有 {grace} 秒"),
    "waiting_for": ("waiting: {why}", "正在等待：{why}"),
    "waiting_for_change": (
        "waiting for the daemon that is starting or stopping…",
        "正在等待守护进程启动或停止…",
    ),
    "waiting_for_start": (
        "waiting for the daemon that somebody else starts…",
        "正在等待别处启动的守护进程…",
    ),
    "was_killed": ("was killed by {signal}", "被 {signal} 终止"),
    "was_stopped": (
        "the daemon was stopped; `clew up` starts it again, and open work continues",
        "守护进程已停止；`clew up` 会重新启动它，未完成的工作会继续",
    ),
    "went_away": ("the daemon went away before it answered", "守护进程在回答之前离开了"),
    "went_away_see_logs": (
        "the daemon went away before it answered; `clew logs` tells more",
        "守护进程在回答之前离开了；`clew logs` 说明更多",
    ),
    "will_restart": (
        "; its supervisor has noticed, at {since}, and restarts it at {restart}",
        "；监管进程已在 {since} 发现，并会在 {restart} 重启它",
    ),
    "would_end_us": (
        "a restart would end this agent and this process. Use the command `clew restart`, which handles that.",
        "重启会结束这个智能体和这个进程。请使用命令 `clew restart`，它会妥善处理。",
    ),
}
