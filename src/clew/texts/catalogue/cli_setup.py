"""What the commands that set clew up say on a terminal."""

from __future__ import annotations

SENTENCES: dict[str, tuple[str, str]] = {
    "hidden_prompt": ("{words} (what you type or paste is not shown)", "{words}（输入或粘贴的内容不会显示）"),
    "about_clew": (
        "Never lose the thread: a durable home for the work of coding agents.",
        "不丢线头：编程智能体的工作有了一个可靠的家。\n\n"
        "THREAD 可以是会话的代号、编号、两者的任意唯一开头、标题的一部分、`last`，"
        "或 `.`（这个文件夹里最新的会话）。需要守护进程的命令会自动启动它。",
    ),
    "answers": ("✓ {who} answers", "✓ {who} 有响应"),
    "asking": ("{name} ({id}), whose code is {code},", "{name}（{id}），其代码是 {code}，"),
    "cannot_copy": (
        "{path} cannot be read, so it cannot be copied: move it away by hand",
        "{path} 无法读取，因此无法复制：请手动移走它",
    ),
    "clews_own": ("clew's own", "clew 自己的"),
    "codex_found": ("codex: {path}", "Codex 程序：{path}"),
    "config_missing": ("ok: there is no {path}, so defaults are used", "正常：没有 {path}，因此使用默认值"),
    "config_ok": ("ok: {path}", "正常：{path}"),
    "config_would_be": ("{config} as it would be", "{config} 将成为的样子"),
    "config_written": (
        "✓ config.toml is written, and {surface} is {state}",
        "✓ config.toml 已写好，{surface} 的状态：{state}",
    ),
    "connect_sets_up": ("clew connect SURFACE sets one up", "clew connect 平台 可设置一个"),
    "connect_step": ("clew connect SURFACE sets one up, step by step", "clew connect 平台 可一步步设置一个"),
    "connected": ("connected", "已连接"),
    "connected_as": ("{surface} is connected as {who}", "{surface} 已连接，身份是 {who}"),
    "default": ("(default)", "（默认）"),
    "default_is": ("; the default is {default}", "；默认值是 {default}"),
    "disk_full": ("the disk is full: {file} cannot be written", "磁盘已满：{file} 无法写入"),
    "down": ("down: {reason}", "无法使用：{reason}"),
    "exists": (
        "{config} exists already: `clew config get` shows it, `clew config set` changes it, and `clew init "
        "--force` replaces it and keeps a copy",
        "{config} 已存在：`clew config get` 显示它，`clew config set` 更改它，`clew init --force` 替换它并保留副本",
    ),
    "exit_code": ("exit code {returncode}", "退出码 {returncode}"),
    "file_not_ours": (
        "{file} was not written by clew, so it is not changed. Move it away, then try again.",
        "{file} 不是 clew 写的，因此没有更改。请移走它，再试一次。",
    ),
    "file_unreadable": (
        "{file} cannot be read: {error}. Move it away, then try again.",
        "{file} 无法读取：{error}。请移走它，再试一次。",
    ),
    "file_would_be": ("{file} would be:", "{file} 将是："),
    "folder": ("Folder", "文件夹"),
    "get_shows": ("clew config get shows the settings", "clew config get 显示设置"),
    "let_in": ("{who} wrote there. Let them in, as owner?", "{who} 在那里发了消息。让其以所有者身份进来吗？"),
    "let_in_done": ("✓ {who} may use clew now, and was greeted there", "✓ {who} 现在可以使用 clew，并已在那里得到问候"),
    "linger": (
        "loginctl enable-linger lets it run while you are not logged in",
        "loginctl enable-linger 让它在你未登录时也运行",
    ),
    "listens": (
        "clew listens at {host}:{port} from now on (http.port in {config})",
        "clew 从现在起在 {host}:{port} 监听（{config} 中的 http.port）",
    ),
    "login_elsewhere": (
        "Log in with {agent}'s own program; then `clew ping {again}` tests it.",
        "请用 {agent} 自己的程序登录；然后 `clew ping {again}` 会测试它。",
    ),
    "may_not_use": ("{name} ({id}) may not use clew any more", "{name}（{id}）不再可以使用 clew"),
    "may_use": ("{name} ({id}) may use clew now, as {role}", "{name}（{id}）现在可以使用 clew，角色是 {role}"),
    "names_no_thread": (
        "{given} names no thread; `clew threads` lists them.",
        "{given} 不是会话； clew threads 列出会话。",
    ),
    "next": ("next: {after}", "下一步：{after}"),
    "missing": ("{name} is missing.", "缺少 {name}。"),
    "no_command": ("There is no command {name}.", "没有命令 {name}。"),
    "no_command_near": ("There is no command {name}. Did you mean {near}?", "没有命令 {name}。你是指 {near} 吗？"),
    "no_folder": ("there is no folder {folder}", "没有文件夹 {folder}"),
    "no_line_break": (
        "a systemd unit cannot contain a line break, but {line}… has one",
        "systemd 单元不能含有换行，但 {line}… 有",
    ),
    "no_terminal": (
        "There is no terminal to ask for the {name}; give it with --set {again}=…",
        "没有终端可以询问 {name}；请用 --set {again}=… 提供",
    ),
    "nobody_paired": (
        "nobody is paired; a person who writes to clew in a chat gets a code for `clew pair`",
        "还没有人配对；在聊天中给 clew 发消息的人会得到用于 `clew pair` 的代码",
    ),
    "not_connected": ("not connected", "未连接"),
    "not_found": ("not found", "未找到"),
    "not_installed": (
        "{program} is not installed, so nothing was enabled; the file is written",
        "{program} 没有安装，因此没有启用任何内容；文件已写好",
    ),
    "not_set": (
        "{key} is not set; `clew config get` shows all settings",
        "{key} 没有设置；`clew config get` 显示全部设置",
    ),
    "not_started": (
        "The daemon did not start {surface}; `clew doctor` says why.",
        "守护进程没有启动 {surface}；`clew doctor` 说明原因。",
    ),
    "not_yours": (
        "you may not open {file}; if it belongs to clew, set CLEW_HOME to a folder of yours",
        "你无权打开 {file}；如果它属于 clew，请把 CLEW_HOME 设为你自己的文件夹",
    ),
    "nothing": ("nothing", "无"),
    "nothing_changed": ("{wrong}. Nothing was changed.", "{wrong}。没有更改任何内容。"),
    "old_one": ("; the old one is {kept}", "；旧的是 {kept}"),
    "only_prints_script": (
        "this only prints the script; clew completion --help says where to put it for {shell}",
        "这里只打印脚本； clew completion --help 说明 {shell} 的脚本放在哪里",
    ),
    "open_by_ssh": (
        "open it in a browser on this machine, or use ssh -L PORT:127.0.0.1:PORT with the port of the link",
        "请在这台机器的浏览器中打开，或用 ssh -L PORT:127.0.0.1:PORT，端口取自链接",
    ),
    "open_here": ("open it in a browser on this machine", "请在这台机器的浏览器中打开"),
    "opened": (
        "opened in your browser; if nothing is shown there, open this link",
        "已在你的浏览器中打开；如果没有显示，请打开这个链接",
    ),
    "or_between": (" or ", " 或 "),
    "no_option": ("There is no option {name}.", "没有选项 {name}。"),
    "others_read": (
        "{path} holds a secret, and others can read it: chmod 600 {again}",
        "{path} 含有机密，而其他人可以读取它：chmod 600 {again}",
    ),
    "pair_lets_in": (
        "{next} clew pair CODE lets in a person who got a code there.",
        "{next} clew pair 代码 可让在那里得到代码的人进来。",
    ),
    "people_next": (
        "clew people lists them; clew people --remove SURFACE:ID removes one",
        "clew people 列出他们； clew people --remove SURFACE:ID 移除一个",
    ),
    "ports_in_use": (
        "the ports {first} to {last} are all in use: set another with `clew config set http.port PORT`",
        "端口 {first} 到 {last} 都被占用：请用 `clew config set http.port PORT` 设置另一个",
    ),
    "read_only": ("the disk is read-only: {file} cannot be written", "磁盘是只读的：{file} 无法写入"),
    "restart_applies": ("clew restart applies it", "clew restart 使它生效"),
    "runtime_must_be": (
        "threads.{key} is {runtime}: it must be one of {known}",
        "threads.{key} 是 {runtime}：必须是 {known} 之一",
    ),
    "sandbox": ("sandbox of codex: {state}", "codex 的沙箱：{state}"),
    "sandbox_fails": ("does not work here: `clew doctor` says why", "在这里无法工作：`clew doctor` 说明原因"),
    "set_no_more": ("{key} is not set any more", "{key} 不再设置"),
    "set_unknown": ("--set {given}: {surface} has {known}", "--set {given}：{surface} 有 {known}"),
    "step_failed": ("`{command}` failed: {why}", "`{command}` 失败：{why}"),
    "text_too_long": (
        "the text is longer than 1 MiB; attach it as a file with --file",
        "文字超过 1 MiB；请用 --file 作为文件附上",
    ),
    "the_output": ("the output", "输出"),
    "token_in_config": (
        "the token is set in config.toml: `clew config set http.token -` changes it, then `clew restart`",
        "令牌写在 config.toml 中：`clew config set http.token -` 可更改，然后运行 `clew restart`",
    ),
    "unset": ("(not set)", "（未设置）"),
    "usage": ("Usage: {usage}\nTry '{name} --help'.", "用法：{usage}\n试试 '{name} --help'。"),
    "waiting": ("{words} Waiting… (Ctrl-C stops waiting)", "{words} 正在等待…（Ctrl-C 停止等待）"),
    "where_to_work": (
        "\nIn a terminal, agents work in the current folder. Threads that start elsewhere (webhook, chat) "
        "need one\ntoo: a folder of yours, or one that clew creates.",
        "\n在终端里，智能体在当前文件夹中工作。在别处（webhook、聊天）开始的会话也需要一个：\n你的文件夹，"
        "或由 clew 创建的文件夹。",
    ),
    "works": ("works", "可用"),
    "write_name_value": ("--set {text}: write NAME=VALUE", "--set {text}：请写成 NAME=VALUE"),
    "written": ("written: {config}", "已写好：{config}"),
}
