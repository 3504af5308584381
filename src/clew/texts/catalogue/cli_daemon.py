"""What the commands about the daemon, its agents and its database say on a terminal."""

from __future__ import annotations

SENTENCES: dict[str, tuple[str, str]] = {
    "adopt_all": ("; clew adopt --all lists those of every folder", "； clew adopt --all 列出所有文件夹中的"),
    "adopt_number": (
        "clew adopt NUMBER adopts one; if it is in use, add --fork for a copy",
        "clew adopt 编号 可收养一个；如果它在使用中，加 --fork 收养副本",
    ),
    "adopted": ("{title}, in {workspace}", "{title}，在 {workspace}"),
    "adopted_next": (
        "clew read {thread} shows its history; clew chat {again} continues it",
        "clew read {thread} 显示它的历史； clew chat {again} 继续它",
    ),
    "agent_kept": (
        "an agent is kept for the next daemon: clew up attaches to it, clew down ends it",
        "为下一个守护进程保留了一个智能体： clew up 接上它， clew down 结束它",
    ),
    "all_readable": ("all rows can be read", "所有行都可以读取"),
    "and_more": (" and {damaged} more", "，另有 {damaged} 行"),
    "anywhere": ("anywhere", "，任何文件夹里都没有"),
    "apply_sets_aside": ("clew repair --apply sets them aside", "clew repair --apply 把它们移到一边"),
    "broken": ("{thread}  DAMAGED at node {bad_node}: {reason}", "{thread}  在节点 {bad_node} 处损坏：{reason}"),
    "cannot_repair": (
        "a damaged history cannot be repaired: restore a backup, or fork the thread before the damage",
        "损坏的历史无法修复：请恢复备份，或在损坏之前分叉会话",
    ),
    "cut_after": (
        "a turn that is not over in {seconds} s is cut off, and continued later",
        "{seconds} 秒内没有结束的轮次会被切断，之后继续",
    ),
    "damaged": (
        "rows that cannot be read: {rows}{more}; clew repair shows why and sets them aside",
        "无法读取的行：{rows}{more}； clew repair 说明原因并把它们移到一边",
    ),
    "failed_before": (
        "{count} failed before; clew notify --retry-failed retries them",
        "{count} 个之前失败； clew notify --retry-failed 重试它们",
    ),
    "following": ("following {path}; Ctrl-C ends", "正在跟踪 {path}；Ctrl-C 结束"),
    "for_you": ("for you   {words}", "待处理    {words}"),
    "from_place": ("from {conversation}", "来自 {conversation} 的"),
    "from_unknown": ("from an unknown place", "来源不明的"),
    "grace": ("{words}; {grace} then", "{words}；届时 {grace}"),
    "how_to_continue": ("{threads}: clew gates shows how to continue", "{threads}： clew gates 说明如何继续"),
    "in_folder": ("in {folder}", "，在 {folder}"),
    "in_use": ("(in use)", "（使用中）"),
    "it_works": (
        "it works; clew run 'say hello' --runtime {runtime}",
        "它能工作； clew run 'say hello' --runtime {runtime}",
    ),
    "last_restart": ("last restart after a crash: {recovered_at}; ", "上次崩溃后重启：{recovered_at}；"),
    "left_processes": (
        "clew doctor --clean ends processes left by a daemon that is gone",
        "clew doctor --clean 结束已退出的守护进程遗留的进程",
    ),
    "looking": ("looking at the agents…", "正在查看智能体…"),
    "many_gates": ("{gates} gates are open: clew gates lists them", "{gates} 个事项未答复： clew gates 列出它们"),
    "many_set_aside": ("{done} rows were set aside", "已把 {done} 行移到一边"),
    "more_lists": (
        "clew runtimes --all lists agents that are not installed, too; clew connect the chats to set up",
        "clew runtimes --all 也列出未安装的智能体； clew connect 列出可设置的聊天",
    ),
    "newer_wrote": (
        "a newer clew may have written {names}: they stay; update clew to read them",
        "{names} 可能由更新版本的 clew 写入：它们保留；更新 clew 才能读取",
    ),
    "no_new_pending": ("no new deliveries are pending", "没有新的待发投递"),
    "no_number": (
        "There is no number {session} in the last list; `clew adopt` prints a new one.",
        "上一次的列表中没有编号 {session}；`clew adopt` 会打印新的列表。",
    ),
    "no_runtime": ("there is no runtime {name}; known: {known}", "没有运行时 {name}；已知的有：{known}"),
    "no_sessions": ("no session was started outside clew {where}{others}", "没有在 clew 之外开始的会话{where}{others}"),
    "nodes_stay": (
        "damaged nodes stay where they are: history is never changed, and their threads show it",
        "损坏的节点留在原处：历史从不更改，它们的会话会显示这一点",
    ),
    "none_pending": ("no deliveries are pending", "没有待发的投递"),
    "none_runs": ("no process of clew runs; clew up starts it", "没有 clew 的进程在运行； clew up 启动它"),
    "none_yet": ("none yet", "还没有"),
    "not_run": (
        "a message {sender} does not run ({table} {key}), and nobody there was told",
        "一条{sender}消息不会运行（{table} {key}），那里没有人得到通知",
    ),
    "not_running": ("not running", "没有在运行"),
    "one_gate": ("1 gate is open: clew gates lists it", "1 个事项未答复： clew gates 列出它"),
    "one_set_aside": ("1 row was set aside", "已把 1 行移到一边"),
    "only_socket": (
        "only the Unix socket; clew web opens a port for the page",
        "只有 Unix 套接字； clew web 为网页打开端口",
    ),
    "ping_tries": (
        "clew ping RUNTIME tries one; clew run --runtime RUNTIME 'say hello'",
        "clew ping 运行时 试一个； clew run --runtime 运行时 'say hello'",
    ),
    "ready": ("ready; Ctrl-C stops it", "就绪；Ctrl-C 停止"),
    "restart_continues": ("clew restart continues the turns that waited for them", "clew restart 继续等待它们的轮次"),
    "restarts_now": ("clew restarts now; {grace}", "clew 现在重启；{grace}"),
    "ping_elsewhere": (
        "the daemon, which runs the turns, has another environment than this shell: {names}. clew restart gives it that"
        " of this shell.",
        "运行轮次的守护进程的环境与当前 shell 不同：{names}。 clew restart 让它使用当前 shell 的环境。",
    ),
    "retry_failed": (
        "clew notify --retry-failed retries those; clew doctor checks the surfaces",
        "clew notify --retry-failed 重试它们； clew doctor 检查平台",
    ),
    "row_crashes": ("crashes   {what}", "崩溃      {what}"),
    "row_damaged": ("damaged   {what}", "损坏      {what}"),
    "row_messages": ("messages  {what}", "消息      {what}"),
    "scripted_needs_none": ("scripted needs no program; it always works", "scripted 不需要程序；它总能工作"),
    "set_aside_question": ("Set these rows aside?", "把这些行移到一边吗？"),
    "settings_changed": (
        "settings  config.toml was changed since the start; clew restart applies it",
        "设置      config.toml 在启动后有改动； clew restart 使它生效",
    ),
    "sound": ("{thread}  sound, {nodes} nodes", "{thread}  完好，{nodes} 个节点"),
    "status_up": (
        "clew {version} is up: pid {pid}, since {since}, home {home}",
        "clew {version} 正在运行：进程号 {pid}，自 {since} 起，主目录 {home}",
    ),
    "stopped": ("stopped", "已停止"),
    "stops_now": (
        "clew stops now, and receives nothing until somebody runs `clew up` on this machine",
        "clew 现在停止，在有人于这台机器上运行 `clew up` 之前不再接收任何消息",
    ),
    "supervised": ("its supervisor brings it back", "它的监管进程会重启它"),
    "testing": ("testing {runtime} with one tiny turn…", "正在用一个很小的轮次测试 {runtime}…"),
    "unsupervised": (
        "nothing brings it back: it runs in the foreground, or the next command that needs it starts a supervisor",
        "没有什么会重启它：它在前台运行，或者由下一个需要它的命令启动监管进程",
    ),
    "up": ("up", "已启动"),
    "up_again": ("up: pid {pid}, home {home}", "已启动：进程号 {pid}，主目录 {home}"),
    "up_already": ("up already", "已在运行"),
    "up_next": (
        "clew run 'say hello' tries it; clew status shows its state",
        "clew run 'say hello' 可试一试； clew status 显示它的状态",
    ),
    "up_where": ("{words}: pid {pid}, home {home}", "{words}：进程号 {pid}，主目录 {home}"),
    "verified": ("{count} threads, {bad} damaged", "{count} 个会话，{bad} 个损坏"),
}
