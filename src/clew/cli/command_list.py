"""The list of clew's commands, in groups by what a person wants to do. `clew --help` describes the first group."""

from __future__ import annotations

from collections.abc import Mapping

# Each command: its module and its help line in both languages. A test keeps the English lines equal to the `short_help`
# of the commands.
SECTIONS: Mapping[str, Mapping[str, tuple[str, str, str]]] = {
    "Start here": {
        "demo": ("commands.demo", "See clew at work in a minute, without an account.", "一分钟看懂 clew，无需账号。"),
        "run": (
            "commands.run",
            "Run one turn in the foreground and stream its answer.",
            "在前台运行一轮，实时显示回答。",
        ),
        "start": (
            "commands.run",
            "Start a task in the background and print its id.",
            "在后台开始一个任务，并打印它的编号。",
        ),
        "chat": ("commands.chat", "Chat in a thread, or start a new one.", "在会话中对话，或新建一个。"),
        "threads": ("commands.threads", "List threads, the last active first.", "列出会话，最近活动的在前。"),
        "gates": ("commands.gates", "List open gates of all threads.", "列出所有会话中等你答复的事项。"),
        "approve": ("commands.gates", "Approve a gate.", "同意一个事项。"),
        "web": ("commands.web", "Open the page in your browser.", "在浏览器中打开网页。"),
    },
    "Work in threads": {
        "send": ("commands.run", "Send a message to a thread.", "给会话发送一条消息。"),
        "watch": ("commands.run", "Watch a thread, or all, live.", "实时观看一个会话，或全部会话。"),
        "wait": ("commands.wait", "Wait until threads end; the exit code says how.", "等待会话结束；退出码说明结果。"),
        "read": ("commands.threads", "Print the transcript of a thread.", "打印会话的全文。"),
        "diff": ("commands.diff", "Show the changes that the agent of a thread made.", "显示会话中智能体所做的改动。"),
        "show": ("commands.threads", "Show a thread.", "显示一个会话。"),
        "where": (
            "commands.threads",
            "Show where the answers of a thread were delivered.",
            "显示会话的回答送到了哪里。",
        ),
        "stop": ("commands.lifecycle", "Stop the running turn of a thread.", "停止会话中正在运行的一轮。"),
        "resume": (
            "commands.lifecycle",
            "Resume a finished or suspended thread with new information.",
            "用新的信息继续已结束或暂停的会话。",
        ),
        "fork": (
            "commands.lifecycle",
            "Start a new thread from the history of another one.",
            "由另一个会话的历史新建会话。",
        ),
        "title": ("commands.lifecycle", "Change the title of a thread.", "更改会话的标题。"),
        "set": (
            "commands.lifecycle",
            "Change the model, effort or policy of a thread.",
            "更改会话的模型、强度或策略。",
        ),
        "switch": ("commands.agents", "Let another agent work on a thread.", "让另一个智能体处理会话。"),
        "ask": ("commands.agents", "Ask another agent about a thread.", "就会话询问另一个智能体。"),
        "done": ("commands.lifecycle", "Mark threads as completed.", "把会话标为已完成。"),
        "cancel": ("commands.lifecycle", "Cancel a thread for good.", "永久取消会话。"),
    },
    "Answer and allow": {
        "deny": ("commands.gates", "Deny a gate.", "拒绝一个事项。"),
        "answer": ("commands.gates", "Answer a question of the agent.", "回答智能体的问题。"),
        "rules": ("commands.rules", "Manage what agents may do without asking.", "管理智能体无需询问即可做的事。"),
    },
    "Move to your phone": {
        "connect": ("commands.connect", "Set up a chat app, step by step.", "一步步设置聊天应用。"),
        "handoff": ("commands.handoff", "Hand a thread to another surface.", "把会话移交到另一个平台。"),
        "handoffs": ("commands.handoff", "List handoffs to other surfaces.", "列出到其他平台的移交。"),
        "away": (
            "commands.handoff",
            "While you are away, send answers and questions to a chat.",
            "离开期间，把回答和问题发到聊天。",
        ),
        "back": ("commands.handoff", "End away mode.", "结束离开状态。"),
        "surfaces": ("commands.connect", "List connected surfaces.", "列出已连接的平台。"),
        "pair": ("commands.people", "Let a person in by their code.", "凭配对码让一个人进来。"),
        "people": ("commands.people", "List people who may use clew in chats.", "列出可以在聊天中使用 clew 的人。"),
    },
    "Agents": {
        "limits": ("commands.limits", "Show the usage limits of agents' accounts.", "显示智能体账号的用量上限。"),
        "runtimes": ("commands.runtimes", "List agents and their health.", "列出智能体及其健康状况。"),
        "ping": (
            "commands.maintenance",
            "Test a runtime with one tiny turn; shows the time of each step.",
            "用很小的一轮测试运行时，并显示每一步的时间。",
        ),
        "codex": (
            "commands.codex",
            "Run the Codex that clew uses, with your arguments.",
            "运行 clew 所用的 Codex，参数由你给出。",
        ),
        "adopt": (
            "commands.adopt",
            "Adopt a session started outside clew, or list them.",
            "收养在 clew 之外开始的会话，或列出它们。",
        ),
        "usage": (
            "commands.usage",
            "Show tokens, turns and time that were used, and budgets.",
            "显示用掉的 token、轮次和时间，以及预算。",
        ),
        "release": (
            "commands.adopt",
            "Give an adopted session back to its own program.",
            "把收养的会话交还给它自己的程序。",
        ),
    },
    "Set up and repair": {
        "init": ("commands.init", "Create a config.toml.", "创建 config.toml。"),
        "config": ("commands.config", "Show, change and check settings.", "显示、更改和检查设置。"),
        "doctor": ("commands.doctor", "Check everything and say what to fix.", "检查一切，并说明要修什么。"),
        "status": (
            "commands.daemon",
            "Show the state of the daemon, its runtimes and surfaces.",
            "显示守护进程、运行时和平台的状态。",
        ),
        "up": ("commands.daemon", "Start the daemon.", "启动守护进程。"),
        "down": ("commands.daemon", "Stop the daemon and everything it started.", "停止守护进程及其启动的一切。"),
        "restart": ("commands.daemon", "Stop the daemon and start it again.", "停止守护进程，再启动它。"),
        "update": (
            "commands.update",
            "Update clew, and go back if the new version does not start.",
            "更新 clew；如果新版本不能启动，就退回。",
        ),
        "logs": ("commands.daemon", "Show the daemon's log.", "显示守护进程的日志。"),
        "ps": ("commands.ps", "List the processes of clew and their roles.", "列出 clew 的进程及其角色。"),
        "service": (
            "commands.service",
            "Start the daemon at login, by systemd or launchd.",
            "用 systemd 或 launchd 在登录时启动守护进程。",
        ),
        "repair": (
            "commands.repair",
            "Show rows of the database that cannot be read; set them aside.",
            "显示数据库中无法读取的行，并把它们移开。",
        ),
        "verify": (
            "commands.maintenance",
            "Verify the history of a thread, or of all.",
            "核验一个会话或全部会话的历史。",
        ),
        "notify": ("commands.maintenance", "Try all pending deliveries once, now.", "立即把所有待发的投递试发一次。"),
        "token": ("commands.access_token", "Print the token of the HTTP API.", "打印 HTTP API 的令牌。"),
        "completion": (
            "completion",
            "Print the completion script for your shell.",
            "打印适用于你的 shell 的补全脚本。",
        ),
    },
}
CHINESE_TITLES: Mapping[str, str] = {
    "Start here": "从这里开始",
    "Work in threads": "在会话中工作",
    "Answer and allow": "答复和允许",
    "Move to your phone": "移到手机",
    "Agents": "智能体",
    "Set up and repair": "设置和修复",
}
MORE = ("More", "更多")
ALL = (
    "clew help --all describes all of them, clew help COMMAND one.",
    "clew help --all 说明全部命令， clew help COMMAND 说明一个。",
)
FAMILIAR = ("version", "help", "login")  # known from other programs, not listed
MEANT = dict.fromkeys(("search", "find", "grep"), "threads WORDS")  # no commands, but what does the same
ALIASES = {"ls": "threads", "list": "threads"}
COMMANDS = {name: entry for section in SECTIONS.values() for name, entry in section.items()}
