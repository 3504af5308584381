"""Sentences about the process of the daemon, its home and its socket."""

from __future__ import annotations

SENTENCES: dict[str, tuple[str, str]] = {
    "cannot_be_private": (
        "{folder} cannot be made private: {error}. It must belong to you.",
        "{folder} 无法设为私有：{error}。它必须属于您。",
    ),
    "cannot_make": (
        "{folder} cannot be made: {error}. Set CLEW_HOME to a folder of yours.",
        "无法创建 {folder}：{error}。请把 CLEW_HOME 设为您自己的文件夹。",
    ),
    "cannot_write": ("{root} cannot be written: {error}; {remedy}", "{root} 无法写入：{error}；{remedy}"),
    "daemon_pid": ("the daemon (pid {pid})", "守护进程（进程号 {pid}）"),
    "ended_at_start": ("{what} ended while it started{last}", "{what} 在启动时结束了{last}"),
    "file_in_place": (
        "{folder} cannot be made: a file is in its place. Move it, or set CLEW_HOME.",
        "无法创建 {folder}：那里有一个文件。请移走它，或设置 CLEW_HOME。",
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
    "last_line": (": {line} (see {path})", "：{line}（见 {path}）"),
    "no_duration": (
        "{shown} is no length of time; write a number and s, m, h, d or w, such as 30m, 2h or 1d",
        "{shown} 不是时长；请写一个数和 s、m、h、d 或 w，例如 30m、2h 或 1d",
    ),
    "no_socket_there": (
        "{folder} is not a folder that you own: no socket can be there. Set a shorter CLEW_HOME.",
        "{folder} 不是您拥有的文件夹：那里不能有套接字。请设置更短的 CLEW_HOME。",
    ),
    "none_answers": ("no daemon answers: {holder}", "没有守护进程响应：{holder}"),
    "not_a_folder": (
        "{blocking} is not a folder. Set CLEW_HOME to a folder, or unset it.",
        "{blocking} 不是文件夹。请把 CLEW_HOME 设为一个文件夹，或取消设置。",
    ),
    "not_ready": (
        "the daemon was not ready within {seconds} s; `clew logs` tells more",
        "守护进程在 {seconds} 秒内没有就绪；`clew logs` 说明更多",
    ),
    "not_running": ("the daemon does not run; `clew up` starts it", "守护进程没有运行；`clew up` 启动它"),
    "noticed": ("; its supervisor has noticed, at {since}", "；监管进程已在 {since} 发现"),
    "refused_to_stop": ("the daemon refused to stop", "守护进程拒绝停止"),
    "remedy_full": (
        "free some space, or set CLEW_HOME to another folder",
        "请腾出空间，或把 CLEW_HOME 设为另一个文件夹",
    ),
    "remedy_owner": (
        "set CLEW_HOME to a folder of yours, or make this one yours",
        "请把 CLEW_HOME 设为您自己的文件夹，或让这一个归您所有",
    ),
    "remedy_read_only": (
        "repair its disk, which is read-only now, or set CLEW_HOME to another folder",
        "请修复它的磁盘（现在是只读的），或把 CLEW_HOME 设为另一个文件夹",
    ),
    "runs_in_foreground": (
        "Cannot restart from inside an agent: clew runs in the foreground. Restart it where you started "
        "it, for example with `systemctl --user restart clew.service`.",
        "不能在智能体内重启：clew 在前台运行。请在您启动它的地方重启，例如用 `systemctl --user restart clew.service`。",
    ),
    "see_logs": ("; `clew logs` tells more", "；`clew logs` 说明更多"),
    "socket_not_yours": (
        "{socket} is not yours. Set CLEW_HOME to a folder of yours.",
        "{socket} 不是您的。请把 CLEW_HOME 设为您自己的文件夹。",
    ),
    "the_daemon": ("the daemon", "守护进程"),
    "the_supervisor": ("the supervisor of the daemon", "守护进程的监管进程"),
    "went_away": ("the daemon went away before it answered", "守护进程在回答之前离开了"),
    "will_restart": (
        "; its supervisor has noticed, at {since}, and restarts it at {restart}",
        "；监管进程已在 {since} 发现，并会在 {restart} 重启它",
    ),
    "would_end_us": (
        "a restart would end this agent and this process. Use the command `clew restart`, which handles that.",
        "重启会结束这个智能体和这个进程。请使用命令 `clew restart`，它会妥善处理。",
    ),
}
