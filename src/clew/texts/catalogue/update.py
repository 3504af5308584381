"""Sentences of `clew update`."""

from __future__ import annotations

SENTENCES: dict[str, tuple[str, str]] = {
    # What it waits for
    "backing_up": ("backing up the database to {path}…", "正在把数据库备份到 {path}…"),
    "checking": ("looking for a newer version ({what})…", "正在查找新版本（{what}）…"),
    "copying": ("keeping a copy of the installed version in {path}…", "正在把已安装的版本复制到 {path}…"),
    "going_back": ("the new version does not work; going back to {version}…", "新版本无法工作；正在退回 {version}…"),
    "starting": ("starting {version}, and waiting until it is ready…", "正在启动 {version}，等待就绪…"),
    "updating": ("updating to {version} ({what})…", "正在更新到 {version}（{what}）…"),
    # How it ends
    "available": (
        "{to} is available, {now} is installed; `clew update` installs it",
        "有新版本 {to}，已安装的是 {now}；`clew update` 可安装",
    ),
    "changed_source": ("{version} with changes", "{version}（有改动）"),
    "done": ("updated from {now} to {to}", "已从 {now} 更新到 {to}"),
    "newest": ("{now} is the newest version", "{now} 已是最新版本"),
    "not_ready": ("The new version was not ready: {why}", "新版本没有就绪：{why}"),
    "put_back": (
        "{why} clew is back at {version}, and every thread is as it was before the update.",
        "{why} clew 已退回 {version}，所有会话与更新前一致。",
    ),
    "put_back_kept": (
        "{why} clew is back at {version} with the database from before the update. What the new version wrote is kept"
        " in {path}.",
        "{why} clew 已退回 {version}，数据库恢复到更新前。新版本写入的内容保存在 {path}。",
    ),
    "stuck": (
        "{why} Going back to {version} failed too: {error} The database from before the update is {backup}.",
        "{why} 退回 {version} 也失败了：{error} 更新前的数据库是 {backup}。",
    ),
    # Why it cannot
    "exit_code": ("exit code {code}", "退出码 {code}"),
    "detached": (
        "{folder} follows no branch of another repository, so there is nothing to update from. `git switch main` there,"
        " then try again.",
        "{folder} 没有跟踪其他仓库的分支，无从更新。请在那里执行 `git switch main` 后再试。",
    ),
    "dirty": (
        "{folder} has changes that are not committed: {files}. Commit or stash them, then try again.",
        "{folder} 中有未提交的修改：{files}。请提交或暂存（stash）后再试。",
    ),
    "diverged": (
        "{folder} has commits that its origin does not have, so it cannot be updated by itself. `git pull --rebase`"
        " there, then `clew restart`.",
        "{folder} 中有上游没有的提交，无法自动更新。请在那里执行 `git pull --rebase`，然后 `clew restart`。",
    ),
    "failed": (
        "`{command}` failed: {said} Check the network, then try again.",
        "`{command}` 失败：{said} 请检查网络后再试。",
    ),
    "foreground": (
        "clew runs in the foreground, so the update cannot start it again. Stop it where you started it, for example"
        " with `systemctl --user stop clew.service`, update, and start it there.",
        "clew 在前台运行，更新后无法再启动它。请在启动它的地方停止（例如 `systemctl --user stop clew.service`），"
        "更新后再在那里启动。",
    ),
    "inside_agent": (
        "The update stops the daemon, and so this agent. Run `clew update` in a terminal of yours.",
        "更新会停止守护进程，也会结束这个智能体。请在自己的终端中运行 `clew update`。",
    ),
    "no_tool": (
        "clew was installed with {tool}, which is not on your PATH. Put it there, then try again.",
        "clew 是用 {tool} 安装的，但 PATH 中没有它。请加入 PATH 后再试。",
    ),
    "timed_out": ("it did not end in {seconds} s.", "{seconds} 秒内没有结束。"),
    "unknown_install": (
        "clew in {folder} was not installed by uv, pipx or from a clone. Update it as you installed it, for example"
        " with `pip install --upgrade`, then `clew restart`.",
        "{folder} 中的 clew 不是用 uv、pipx 或克隆安装的。请按原来的方式更新（例如 `pip install --upgrade`），"
        "然后 `clew restart`。",
    ),
}
