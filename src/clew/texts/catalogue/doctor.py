"""Sentences of `clew doctor`: what it finds, and what to do."""

from __future__ import annotations

SENTENCES: dict[str, tuple[str, str]] = {
    "both": ("{first}; {second}", "{first}；此外，{second}"),
    "not_checked": ("could not be checked: {error}", "无法检查：{error}"),
    # The home and its config
    "home_unwritable": ("{folder} cannot be written: {error}", "{folder} 无法写入：{error}"),
    "home_unmakable": ("{folder} cannot be made: {error}", "{folder} 无法创建：{error}"),
    "repair_disk": (
        "repair its disk, which is read-only now, or set CLEW_HOME to another folder",
        "修复它所在的磁盘（现在只读），或把 CLEW_HOME 设为其他文件夹",
    ),
    "free_or_move": (
        "free some space, or set CLEW_HOME to another folder",
        "释放一些空间，或把 CLEW_HOME 设为其他文件夹",
    ),
    "own_home": (
        "set CLEW_HOME to a folder of yours, or make this one yours",
        "把 CLEW_HOME 设为你自己的文件夹，或取得这个文件夹的所有权",
    ),
    "home_new": ("{folder} is created at first use", "{folder} 会在首次使用时创建"),
    "home_open": ("{folder} can be written by other users", "{folder} 可被其他用户写入"),
    "chmod_home": ("chmod 700 {folder}", "运行 `chmod 700 {folder}`"),
    "fix_config": (
        "fix {path}; the checks below use the defaults",
        "修正 {path}；以下检查使用默认设置",
    ),
    "check_config": ("clew config check says when it is right", "可用 `clew config check` 确认是否已改好"),
    "no_config": ("none; defaults are used", "无；使用默认设置"),
    # The store, the disk, the clock
    "store_newer": (
        "{path} has schema {found}, this clew knows {known}",
        "{path} 的架构版本是 {found}，而这个 clew 支持到 {known}",
    ),
    "rows": ("all rows that work waits for can be read", "工作所需的行均可读取"),
    "rows_not_checked": ("not checked: the store has another schema", "未检查：数据库的架构版本不同"),
    "bad_row": (
        "row {key} of table {table} cannot be read ({reason})",
        "无法读取表 {table} 的行 {key}（{reason}）",
    ),
    "more_rows": ("{count} more rows cannot be read", "还有 {count} 行无法读取"),
    "repair": ("clew repair sets them aside", "可用 `clew repair` 把它们移出"),
    "update_clew": ("update clew", "更新 clew"),
    "store": ("{path}, schema {found}", "{path}，架构版本 {found}"),
    "store_older": (
        "{path}, schema {found}; the next start migrates it to {known}, after a backup",
        "{path}，架构版本 {found}；下次启动会先备份，再迁移到 {known}",
    ),
    "store_removed": (
        "{path} was removed; the next start restores it from {saved}",
        "{path} 已被删除；下次启动会从 {saved} 恢复",
    ),
    "no_store": ("none yet; it is created at first use", "还没有；会在首次使用时创建"),
    "no_disk": ("{folder} has no space for files", "{folder} 没有存放文件的空间"),
    "set_home": ("set CLEW_HOME to a folder of yours", "把 CLEW_HOME 设为你自己的文件夹"),
    "disk": ("{size} MiB free at {folder}", "{folder} 可用空间 {size} MiB"),
    "free_space": ("free some space", "释放一些空间"),
    "clock_behind": (
        "it is {now} by the clock of this machine, but {what} is of {then}",
        "本机时钟显示 {now}，但{what}的时间是 {then}",
    ),
    "this_clew": ("this clew", "这个 clew"),
    "newest_entry": ("the newest entry of the store", "数据库中最新的记录"),
    "set_clock": (
        "set the clock, then clew restart; signatures and timeouts use it",
        "校准时钟，然后运行 `clew restart`；签名和超时都依赖时钟",
    ),
    "clock": ("{now}; no entry or file is newer", "{now}；没有更新的记录或文件"),
    # The daemon
    "socket_silent": ("nothing is answered at {path}", "{path} 没有响应"),
    "socket_answers": ("a daemon answers at {path}", "守护进程在 {path} 响应"),
    "socket_held": (
        "no daemon answers, but {home} is held by a clew {what} with pid {pid}, since {since}",
        "没有守护进程响应，但 {home} 自 {since} 起被 clew 的 {what} 进程占用，进程号 {pid}",
    ),
    "socket_held_now": (
        "no daemon answers, but another clew process works on {home} just now; try again in a moment",
        "没有守护进程响应，但另一个 clew 进程正在使用 {home}；请稍后再试",
    ),
    "clew_down": ("clew down", "运行 `clew down`"),
    "socket_free": ("no daemon runs; {path} is free", "没有守护进程在运行；{path} 可用"),
    "being_started": (
        "the daemon is just being started by its supervisor; `clew up` waits for it",
        "守护进程正由监督进程启动；可用 `clew up` 等待它",
    ),
    "starting_or_stopping": (
        "the clew {what} with pid {pid} is just starting or stopping; `clew up` waits for it",
        "clew {what}（进程号 {pid}）正在启动或停止；可用 `clew up` 等待它",
    ),
    "supervised": ("restarts the daemon after a crash", "会在守护进程崩溃后重启它"),
    "nothing_to_supervise": ("none, because no daemon runs", "无，因为没有守护进程在运行"),
    "foreground": (
        "none: the daemon runs in the foreground, under its service manager",
        "无：守护进程在前台运行，由服务管理器管理",
    ),
    "not_supervised": (
        "nothing would restart the daemon after a crash",
        "守护进程崩溃后不会被重启",
    ),
    "clew_up": ("clew up starts a supervisor", "运行 `clew up` 启动监督进程"),
    "no_daemon": ("none runs", "没有在运行"),
    "daemon": ("pid {pid}: {detail}", "进程号 {pid}：{detail}"),
    "daemon_version": (
        "it runs clew {theirs}, and this command is {ours}",
        "它运行的是 clew {theirs}，而这个命令是 {ours}",
    ),
    "daemon_settings": ("it has other settings than config.toml", "它的设置与 config.toml 不同"),
    "daemon_environment": (
        "it was started with another environment than that of this shell: {names}",
        "它启动时的环境与当前 shell 不同：{names}",
    ),
    "daemon_same": (
        "has the settings of config.toml and the environment of this shell",
        "设置与 config.toml 一致，环境与当前 shell 一致",
    ),
    "restart_here": (
        "clew restart, in a shell with the right environment",
        "在环境正确的 shell 中运行 `clew restart`",
    ),
    "no_listener": ("no TCP listener is configured", "没有配置 TCP 监听"),
    "any_port": ("any free one", "任意空闲端口"),
    "port_not_checked": ("not checked: the daemon does not answer", "未检查：守护进程没有响应"),
    "port_ours": ("{port} is used by clew: {address}", "{port} 由 clew 使用：{address}"),
    "port_taken": ("{host}:{port}: {error}", "地址 {host}:{port} 不可用：{error}"),
    "other_port": ("set another `port` under [http]", "在 `[http]` 下设置其他 `port`"),
    "port_free": ("{host}:{port} is free", "{host}:{port} 可用"),
    # Processes and plugins
    "none_left": ("none left behind", "没有遗留的进程"),
    "left_behind": ("left by a daemon that is gone: {processes}", "已退出的守护进程遗留：{processes}"),
    "clean": ("clew doctor --clean ends them", "可用 `clew doctor --clean` 结束它们"),
    "kept": (
        "kept for the next daemon: {processes}; clew down ends it",
        "为下一个守护进程保留：{processes}；可用 `clew down` 结束",
    ),
    "at_work": ("{count} at work", "{count} 个在工作"),
    "surface_down": ("{surface} is down: {reason}", "{surface} 无法使用：{reason}"),
    "see_status": (
        "mend what it says; clew status shows when it is up again",
        "按上述原因处理；可用 `clew status` 确认是否已恢复",
    ),
    "fix_plugin": (
        "fix its settings, or update or remove its package",
        "修正它的设置，或更新、移除它的包",
    ),
    # Agents
    "not_installed": ("available: not installed", "可用，但未安装"),
    "not_installed_all": (
        "not installed, and not needed: {names}; clew runtimes --all says how to get them",
        "未安装，也不需要：{names}；clew runtimes --all 说明如何安装",
    ),
    "checking": ("checking…", "正在检查…"),
    "not_used": (
        "no setting uses it, so this may be intended",
        "没有设置用到它，所以这可能是有意的",
    ),
    "ping_it": ("clew ping {name} tries it", "可用 `clew ping {name}` 试一试"),
    "agent_works": (
        "{version}, {path}, starts and is logged in",
        "{version}，{path}，可以启动且已登录",
    ),
    "agent_starts": (
        "{version}, {path}, starts; whether it is logged in is unknown: clew ping {name} tries it",
        "{version}，{path}，可以启动；是否已登录未知，可用 `clew ping {name}` 试一试",
    ),
    "sandbox_works": (
        "works: a command in it can write in the workspace and in /tmp, and not elsewhere",
        "可用：其中的命令可以在工作区和 /tmp 里写入，不能在别处写入",
    ),
    "fix_sandbox": (
        "install bubblewrap and allow user namespaces, or `clew config set threads.policy careful`",
        "安装 bubblewrap 并允许用户命名空间，或运行 `clew config set threads.policy careful`",
    ),
    # `--clean`
    "never_started": ("clew was never started here", "clew 从未在这里启动过"),
    "ended": ("ended pid {pid}, {command}", "已结束进程 {pid}：{command}"),
    "cannot_end": (
        "pid {pid}, {command}, cannot be ended: no permission",
        "无法结束进程 {pid}（{command}）：没有权限",
    ),
    "nothing_left": ("no process was left behind", "没有遗留的进程"),
    "kept_one": (
        "pid {pid} is kept for the next daemon; clew down ends it",
        "进程 {pid} 为下一个守护进程保留；可用 `clew down` 结束",
    ),
}
