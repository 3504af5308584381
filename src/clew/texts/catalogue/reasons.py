"""Reasons why clew asks about a request; `{about}` is a path, a key of git's config, a rule."""

from __future__ import annotations

SENTENCES: dict[str, tuple[str, str]] = {
    "no_rule": ("no rule allows it", "没有规则允许它"),
    "deny.words": (
        "it is not certain what it runs, and it has all words of the rule `{about}`",
        "无法确定它会运行什么，并且它含有规则 `{about}` 的全部词语",
    ),
    "sandbox.leaves": ("it would run outside of the agent's sandbox", "它会在智能体的沙箱之外运行"),
    "unjudged": ("no rule can judge all of it: {about}", "规则无法判断它的全部内容：{about}"),
    "file.unseen": ("{about} cannot be shown, and would be replaced", "{about} 无法显示，将被替换"),
    "file.linked": (
        "{about} has another name too (a hard link), which may lie outside of the workspace",
        "{about} 还有别的名称（硬链接），可能位于工作区之外",
    ),
    "name.odd": (
        "the exact name, {about}, cannot be stored, so no rule allows it",
        "确切名称 {about} 无法保存，因此没有规则允许它",
    ),
    "detail.odd": (
        "its text ({about}) has characters that cannot be stored, so no rule allows it",
        "其内容（{about}）含有无法保存的字符，因此没有规则允许它",
    ),
    "ignore.linked": ("{about} leads out of the workspace, and would be read", "{about} 指向工作区之外，并且会被读取"),
    "tree.large": ("the workspace is too large or too deep to look through", "工作区太大或嵌套太深，无法逐一检查"),
    "git.config": (
        "git's config here sets {about}, which may run a program",
        "这里的 git 配置设置了 {about}，可能会运行程序",
    ),
    "git.value": ("git's config here gives {about} an unusual value", "这里的 git 配置给 {about} 设了不寻常的值"),
    "git.hook": ("the repository has the hook {about}, which git would run", "仓库里有钩子 {about}，git 会运行它"),
    "git.submodule": ("{about} is a submodule, and git goes down into it", "{about} 是子模块，git 会进入其中"),
    "git.nested": ("{about} is another repository inside the workspace", "{about} 是工作区里的另一个仓库"),
    "git.file": ("{about} is not a regular file, and git would read it", "{about} 不是普通文件，而 git 会读取它"),
    "git.fake": (
        "{about} looks like a git repository, and git may take it for one",
        "{about} 看起来像 git 仓库，git 可能会把它当作仓库",
    ),
    "git.not_top": ("the workspace is not the top of a git repository", "工作区不是 git 仓库的顶层"),
    "git.elsewhere": ("the workspace's repository leads git elsewhere", "工作区的仓库会把 git 引到别处"),
    "git.unclear": ("the workspace's repository cannot be judged with certainty", "无法确定工作区的仓库是否安全"),
}
