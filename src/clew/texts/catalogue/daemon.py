"""Sentences about the daemon, its store and its API."""

from __future__ import annotations

SENTENCES: dict[str, tuple[str, str]] = {
    # Rows that cannot be read
    "bad_row": (
        "Row {key} of table {table} cannot be read ({reason}). `clew repair` shows such rows and sets them aside.",
        "无法读取表 {table} 的行 {key}（{reason}）。可用 `clew repair` 查看并移出这样的行。",
    ),
    "not_text": (
        "A row cannot be read: its text is not UTF-8. `clew repair` shows such rows and sets them aside.",
        "有一行无法读取：其中的文本不是 UTF-8。可用 `clew repair` 查看并移出这样的行。",
    ),
    "fate_lost": (
        "This message was accepted before. What became of it cannot be read any more: its row was damaged.",
        "这条消息之前已经收到；记录它的那一行已损坏，无法再读出处理结果。",
    ),
    "message_lost": (
        "A message from here does not run: its row in the database was damaged. Please send it again.",
        "这里有一条消息不再运行：它在数据库中的那一行已损坏。请重新发送。",
    ),
    # The API: any request
    "unexpected": (
        "internal error in clew ({error}); `clew logs` tells more",
        "clew 内部错误（{error}）；详情见 `clew logs`",
    ),
    "no_such_path": ("{path} does not exist", "{path} 不存在"),
    "request_too_large": (
        "the request is larger than {size} MiB; attach a file instead",
        "请求大于 {size} MiB；请改为附加文件",
    ),
    "http": ("{method} {path}: {detail}", "请求 {method} {path} 失败：{detail}"),
    "wrong_host": (
        "this Host is not an address of clew; `clew status` shows the right one",
        "这个 Host 不是 clew 的地址；正确的地址见 `clew status`",
    ),
    "other_site": ("pages of other sites may not use clew", "其他网站的页面不能使用 clew"),
    "other_page": ("only the page itself may use the cookie", "只有页面自身可以使用这个 cookie"),
    "too_many_tokens": ("too many wrong tokens; wait a minute", "错误的令牌过多；请等待一分钟"),
    "needs_token": (
        "a token is required: `Authorization: Bearer TOKEN`; `clew token` prints it. A browser needs `clew web`",
        "需要令牌：`Authorization: Bearer TOKEN`；可用 `clew token` 查看。浏览器请使用 `clew web`",
    ),
    "bad_idempotency_key": (
        "an Idempotency-Key must have 1 to {most} characters",
        "Idempotency-Key 必须有 1 到 {most} 个字符",
    ),
    "idempotency_key_used": (
        "this Idempotency-Key was used for another request; use a new one",
        "这个 Idempotency-Key 已用于另一个请求；请换一个新的",
    ),
    # The API: what does not fit in a request
    "field": ("{field}: {rule}", "字段 {field}：{rule}"),
    "must_be_given": ("must be given", "必须提供"),
    "unknown_field": ("is not a known field", "不是已知的字段"),
    "must_be_object": ("the body must be an object", "请求体必须是对象"),
    "not_json": ("the body is not JSON", "请求体不是 JSON"),
    "must_be_json": (
        "the body must be JSON with the Content-Type application/json",
        "请求体必须是 JSON，且 Content-Type 为 application/json",
    ),
    "must_be": ("must be {listed}", "必须是 {listed}"),
    "or": ("{some} or {last}", "{some} 或 {last}"),
    "must_be_name": (
        "must be letters, digits and _ . : - only, at most 128 of them",
        "只能包含字母、数字和 `_ . : -`，最多 128 个字符",
    ),
    "must_be_text": ("must be text", "必须是文本"),
    "must_be_bool": ("must be true or false", "必须是 true 或 false"),
    "must_be_whole": ("must be a whole number", "必须是整数"),
    "must_be_number": ("must be a number", "必须是数字"),
    "must_be_list": ("must be a list", "必须是列表"),
    "must_be_an_object": ("must be an object", "必须是对象"),
    "at_least": ("must be at least {bound}", "不能小于 {bound}"),
    "at_most": ("must be at most {bound}", "不能大于 {bound}"),
    "more_than": ("must be more than {bound}", "必须大于 {bound}"),
    "less_than": ("must be less than {bound}", "必须小于 {bound}"),
    "not_empty": ("must not be empty", "不能为空"),
    "too_long": ("must not be longer than {bound} characters", "不能超过 {bound} 个字符"),
    "too_many": ("must not have more than {bound} entries", "不能超过 {bound} 项"),
    "too_long_in_total": (
        "must not be longer than {bound} characters in total; send several requests",
        "总共不能超过 {bound} 个字符；请分多次请求",
    ),
    # The API: files
    "type_not_accepted": (
        "Files of type {kind} are not accepted. Accepted: {accepted}.",
        "不接受类型为 {kind} 的文件。可接受：{accepted}。",
    ),
    "no_type": ("(none)", "（无）"),
    "file_too_large": ("The file is larger than {size} MiB.", "文件大于 {size} MiB。"),
    "file_empty": (
        "The file is empty; send its bytes as the body.",
        "文件为空；请把它的内容作为请求体发送。",
    ),
    "file_looks_wrong": ("The file does not look like {kind}.", "文件内容不像是 {kind}。"),
    "uploads_full": (
        "{size} MiB of uploads are not used by a message yet. Send their messages first.",
        "已有 {size} MiB 上传的文件还没有用在消息中。请先发送它们的消息。",
    ),
    "files_not_stored": (
        "files cannot be stored: {error}; `clew doctor` tells more",
        "无法保存文件：{error}；详情见 `clew doctor`",
    ),
    "no_upload": (
        "There is no file {id}; an upload is deleted if no message names it within a day.",
        "没有文件 {id}；上传的文件若一天内没有用在消息中，就会被删除。",
    ),
    "absolute_path": ("{path}: give the absolute path of the file", "{path}：请给出文件的绝对路径"),
    "not_attachable": ("{path} cannot be attached: {why}", "无法附加 {path}：{why}"),
    "not_regular": ("it is not a regular file", "它不是普通文件"),
    "larger_than": ("it is larger than {size} MiB", "它大于 {size} MiB"),
    # The API: people and the page
    "force_locally": (
        "Forcing works only on the machine that clew runs on: `clew pair CODE --force` there.",
        "只能在运行 clew 的机器上强制：请在那里运行 `clew pair CODE --force`。",
    ),
    "no_port": (
        "clew has no port for a browser: `clew web` sets one and opens the page",
        "clew 还没有供浏览器使用的端口：`clew web` 会设置端口并打开页面",
    ),
    "no_page_file": ("the page has no file {name}", "页面没有文件 {name}"),
    "no_page_here": (
        "the page is not served at this address: `clew web` opens it",
        "页面不在这个地址：请用 `clew web` 打开",
    ),
    # Readiness, and the end of a stream
    "is_starting": ("clew is starting", "clew 正在启动"),
    "is_stopping": ("clew is stopping", "clew 正在停止"),
    "is_restarting": ("clew is restarting", "clew 正在重启"),
    "store_unreadable": (
        "the database cannot be read; `clew doctor` tells more",
        "数据库无法读取；详情见 `clew doctor`",
    ),
    "store_unwritable": (
        "the database cannot be written; `clew doctor` tells more",
        "数据库无法写入；详情见 `clew doctor`",
    ),
    "stream_stopping": (
        "clew is being stopped. Ask again with the same message_id: the turn goes on without you.",
        "clew 正在停止。请用同一个 message_id 重新请求：这一轮会继续运行。",
    ),
    "stream_restarting": (
        "clew is being restarted. Ask again with the same message_id: the turn goes on without you.",
        "clew 正在重启。请用同一个 message_id 重新请求：这一轮会继续运行。",
    ),
    "stream_too_slow": (
        "This reader was too slow, so its stream was cut. Ask again with the same message_id: the turn goes on without"
        " you.",
        "读取太慢，流已被断开。请用同一个 message_id 重新请求：这一轮会继续运行。",
    ),
    "stream_failed": (
        "Ask again with the same message_id: it runs once, whatever became of this try. The error: {why}",
        "请用同一个 message_id 重新请求：无论这次结果如何，它只会运行一次。错误：{why}",
    ),
    # The listener
    "no_token_yet": (
        "there is no token at {path} yet: `clew up` creates one if http.port is set",
        "{path} 处还没有令牌：设置了 http.port 后，`clew up` 会创建一个",
    ),
    "token_readable": (
        "other users can read {path}: `clew token rotate` creates a new, private one",
        "其他用户可以读取 {path}：请用 `clew token rotate` 创建新的私有令牌",
    ),
    "token_not_set": (
        "{address} can be reached from other machines, so a token has to be set on purpose: `clew config set http.token"
        " -`; or set `host` under [http] to 127.0.0.1",
        "其他机器可以访问 {address}，因此必须明确设置令牌：`clew config set http.token -`；"
        "或把 `[http]` 下的 `host` 设为 127.0.0.1",
    ),
    "cannot_listen_socket": (
        "cannot listen at {path}: {error}. Set CLEW_HOME to another folder.",
        "无法在 {path} 监听：{error}。请把 CLEW_HOME 设为其他文件夹。",
    ),
    "cannot_listen_host": (
        "cannot listen at {host}: {error}. Set `host` under [http] in config.toml.",
        "无法在 {host} 监听：{error}。请在 config.toml 的 `[http]` 下设置 `host`。",
    ),
    "port_taken": (
        "port {port} on {host} is taken by another program: end that program, or set another `port` under [http] in"
        " config.toml",
        "{host} 的端口 {port} 已被另一个程序占用：请结束该程序，或在 config.toml 的 `[http]` 下设置其他 `port`",
    ),
    "cannot_listen_port": (
        "cannot listen at {host}, port {port}: {error}. See [http] in config.toml.",
        "无法在 {host} 的端口 {port} 监听：{error}。请查看 config.toml 的 `[http]`。",
    ),
    "not_a_socket": ("{path} is not a socket; move it away", "{path} 不是套接字；请把它移走"),
    # What a command adds to an error
    "watch_returns": ("{error}; clew watch {thread} returns to it", "{error}；可用 `clew watch {thread}` 返回"),
    "nothing_sent": (
        "{error} Nothing was sent. Attach {names} again.",
        "{error} 没有发送任何内容。请重新附加 {names}。",
    ),
    # The process
    "cannot_start": (
        "the daemon cannot start: {error}; `clew logs` tells more",
        "守护进程无法启动：{error}；详情见 `clew logs`",
    ),
    "plugin_trouble": ("{group} {name}: {error}", "插件 {group} {name}：{error}"),
    "plugin_name": (
        "its name is {called}, but its entry point's is {name}: they must be the same",
        "它的名称是 {called}，而入口点的名称是 {name}：两者必须相同",
    ),
    "notifier_edit": (
        "what was given to a notifier cannot be edited",
        "已交给通知程序的内容无法修改",
    ),
    # The store
    "no_room": (
        "no room left for {path}. Free some disk space. Nothing that was accepted is lost.",
        "{path} 所在的磁盘已满。请释放一些空间。已接收的内容没有丢失。",
    ),
    "cannot_write": (
        "cannot write {path}. Check the permissions of the file and its folder.",
        "无法写入 {path}。请检查该文件及其文件夹的权限。",
    ),
    "damaged": (
        "{path} is damaged ({error}). Replace it with a copy (`clew.db.before-*` beside it, or your own backup), or"
        " move it away to start anew. The file is unchanged.",
        "{path} 已损坏（{error}）。请用副本替换它（旁边的 `clew.db.before-*`，或你自己的备份），"
        "或把它移走重新开始。文件未被改动。",
    ),
    "locked": (
        "{path} is locked by another program. Close that program, then try again.",
        "{path} 被另一个程序锁定。请关闭该程序，然后重试。",
    ),
    "disk_trouble": (
        "cannot write or read {path} ({error}): its disk is full, read-only now, or failing. Run `clew doctor`."
        " Nothing that was accepted is lost.",
        "无法读写 {path}（{error}）：磁盘已满、变为只读或出现故障。请运行 `clew doctor`。已接收的内容没有丢失。",
    ),
    "store_error": ("{path}: {error}", "数据库 {path} 出错：{error}"),
    "cannot_open": ("cannot open {path}: {error}", "无法打开 {path}：{error}"),
    "empty_file": (
        "{path} is empty, so it is no database of clew. Put a backup in its place, or remove it to start anew.",
        "{path} 是空文件，不是 clew 的数据库。请用备份替换它，或删除它重新开始。",
    ),
    "newer_store": (
        "{path} was written by a newer clew (schema {found}; this program knows {known}). Update clew. The file is"
        " unchanged.",
        "{path} 由更新版本的 clew 写入（架构 {found}；本程序支持到 {known}）。请更新 clew。文件未被改动。",
    ),
    "other_database": (
        "{path} is a database of another program. Move it away. The file is unchanged.",
        "{path} 是另一个程序的数据库。请把它移走。文件未被改动。",
    ),
    "cannot_inspect": (
        "{path} cannot be inspected: {error}. Run `clew doctor`.",
        "无法检查 {path}：{error}。请运行 `clew doctor`。",
    ),
    "socket_gone": (
        "the daemon (pid {pid}) runs, but its socket {path} was removed, and it has not made it again."
        " `clew restart` starts another one.",
        "守护进程（进程号 {pid}）在运行，但它的套接字 {path} 已被删除，且未能重新创建。"
        "运行 `clew restart` 可重新启动。",
    ),
    "link_expired": (
        "This link was used already, or is older than five minutes. Run `clew web` for a new one.",
        "这个链接已经用过，或者超过了五分钟。请运行 `clew web` 取得新的链接。",
    ),
    "page_needs_script": (
        "This page needs JavaScript. Everything can also be done in the terminal: clew --help",
        "这个网页需要 JavaScript。所有操作也可以在终端中完成：clew --help",
    ),
    "given_up": (
        "{why}. The next try is at {time}; `clew up` tries now. `clew logs` and {path} tell more",
        "{why}。下次尝试时间：{time}；`clew up` 会立即尝试。详情见 `clew logs` 和 {path}",
    ),
    "replaced": (
        "{path} was replaced while clew was running. Its old content is saved in {saved}. `clew restart` continues with"
        " the new file.",
        "{path} 在 clew 运行时被替换。原内容已保存到 {saved}。运行 `clew restart` 将使用新文件。",
    ),
    "replaced_not_saved": (
        "{path} was replaced while clew was running, and its old content cannot be saved: {error}",
        "{path} 在 clew 运行时被替换，且原内容无法保存：{error}",
    ),
    "removed_not_restored": (
        "{path} was removed while clew was running, and cannot be restored: {error}",
        "{path} 在 clew 运行时被删除，且无法恢复：{error}",
    ),
    "searches_busy": (
        "{count} searches run or wait already. Try again in a few seconds.",
        "已有 {count} 个搜索在运行或等待。请几秒后再试。",
    ),
    "search_too_long": ("The search took longer than {seconds} s.", "搜索超过了 {seconds} 秒。"),
    "changed_meanwhile": (
        "thread {thread} was changed by another writer meanwhile. Nothing was written.",
        "会话 {thread} 同时被另一处修改。没有写入任何内容。请重试。",
    ),
}
