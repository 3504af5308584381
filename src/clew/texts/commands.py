"""The commands that people can give in chats, a line each in English and 中文, for platforms that show a list of them.
What they do is `engine/commands.py`."""

from __future__ import annotations

from typing import NamedTuple


class Line(NamedTuple):
    command: str
    english: str
    chinese: str


MENU = (
    Line("new", "Begin a new thread", "开启新会话"),
    Line("threads", "The threads that there are", "列出会话"),
    Line("resume", "Go on with one of them: /resume 2", "继续某个会话：/resume 2"),
    Line("stop", "Stop what runs now", "停止当前任务"),
    Line("status", "How this thread stands", "查看本会话的状态"),
    Line("gates", "What waits for your answer", "列出等你答复的事项"),
    Line("approve", "Say yes: /approve CODE", "同意：/approve 代码"),
    Line("deny", "Say no: /deny CODE why", "拒绝：/deny 代码 原因"),
    Line("answer", "Answer a question: /answer CODE words", "回答提问：/answer 代码 内容"),
    Line("queue", "Run it after what runs now: /queue words", "排在当前任务之后：/queue 内容"),
    Line("fork", "Try another way in a new thread", "从这里分叉出新会话"),
    Line("done", "This thread is done", "本会话已完成"),
    Line("handoff", "Go on elsewhere: /handoff telegram", "移到别处继续：/handoff telegram"),
    Line("away", "While away, see here what the desk shows", "离开期间把桌面内容发到这里"),
    Line("back", "Back at the desk", "回到桌面"),
    Line("where", "What was delivered, and where", "查看送达情况"),
    Line("home", "Notices shall come here", "通知发到这里"),
    Line("runtime", "The agent of the next thread here", "下一个会话使用的代理"),
    Line("model", "The model of the next thread here", "下一个会话使用的模型"),
    Line("dir", "The folder of the next thread here", "下一个会话的目录"),
    Line("help", "What you can say", "命令帮助"),
)
