"""The menu of chat commands, one line each in English and 中文, for platforms that show such a list.
`engine/inbox/commands.py` implements them."""

from __future__ import annotations

from typing import NamedTuple


class Line(NamedTuple):
    command: str
    english: str
    chinese: str


MENU = (
    Line("new", "Start a new thread", "开启新会话"),
    Line("threads", "List threads", "列出会话"),
    Line("resume", "Continue a thread here: /resume 2", "继续某个会话：/resume 2"),
    Line("stop", "Stop the running turn", "停止当前任务"),
    Line("status", "Show the status of this thread", "查看本会话的状态"),
    Line("gates", "List what waits for your answer", "列出等你答复的事项"),
    Line("approve", "Say yes: /approve CODE", "同意：/approve 代码"),
    Line("deny", "Say no: /deny CODE why", "拒绝：/deny 代码 原因"),
    Line("answer", "Answer a question: /answer CODE words", "回答提问：/answer 代码 内容"),
    Line("queue", "Run it after the running turn: /queue words", "排在当前任务之后：/queue 内容"),
    Line("fork", "Fork this thread into a new one", "从这里分叉出新会话"),
    Line("done", "Mark this thread as done", "本会话已完成"),
    Line("handoff", "Continue elsewhere: /handoff telegram", "移到别处继续：/handoff telegram"),
    Line("away", "Send local messages here while you are away", "离开期间把桌面内容发到这里"),
    Line("back", "End away mode", "回到桌面"),
    Line("where", "Show what was delivered, and where", "查看送达情况"),
    Line("home", "Send notices here", "通知发到这里"),
    Line("runtime", "The agent of the next thread here", "下一个会话使用的代理"),
    Line("model", "The model of the next thread here", "下一个会话使用的模型"),
    Line("dir", "The folder of the next thread here", "下一个会话的目录"),
    Line("help", "Show all commands", "命令帮助"),
)
