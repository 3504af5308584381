"""The commands that people type after a slash, in chats and in `clew chat`: the only list of them.

Menus, help, completion, the reference and the dispatch of both places read it. Each command is run by the function
`handler`: one in `engine/inbox/commands.py`, or in a module beside it, for chats, a method of `Talk` in
`cli/chat/talk.py` for the terminal.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum

from msgspec import Struct

from clew.model.messages import Role
from clew.texts.bilingual import Bilingual, zh

SLASH = "/"
_RANKS = (Role.WATCHER, Role.DRIVER, Role.OWNER)  # each may do what those before it may
_FULL_WIDTH = str.maketrans("／！", "/!")
_TYPED = re.compile(r"(\W)(\w+)(?:\s+(.*))?", re.DOTALL)
_NEAR = 0.75  # similarity of a typing mistake


class Place(StrEnum):
    CHAT = "chats"
    TERMINAL = "clew chat"


EVERYWHERE = frozenset(Place)


class CommandSpec(Struct, frozen=True):
    """A row of the table."""

    name: str
    chinese: str
    help: Bilingual
    arguments: Bilingual = Bilingual("", "")  # one in brackets may be left out
    least: Role = Role.DRIVER  # who may use it: this role and those above it
    places: frozenset[Place] = EVERYWHERE
    aliases: tuple[str, ...] = ()  # other names, not listed
    elsewhere: Bilingual = Bilingual("", "")  # what to do instead where it is not available
    ignores_text: bool = False  # any text after it changes nothing

    @property
    def handler(self) -> str:
        """The name of the function that runs it."""
        return f"do_{self.name}"

    @property
    def is_complete_alone(self) -> bool:
        return not self.arguments or self.arguments.startswith("[")

    @property
    def words(self) -> tuple[str, ...]:
        return self.name, self.chinese, *self.aliases

    def usage(self, *, chinese: bool) -> str:
        """How to type it: `/deny CODE [REASON]`."""
        name, arguments = (self.chinese, zh(self.arguments)) if chinese else (self.name, str(self.arguments))
        return f"{SLASH}{name} {arguments}".rstrip()

    def help_in(self, *, chinese: bool) -> str:
        return zh(self.help) if chinese else str(self.help)

    def may_be_used_by(self, role: Role | None) -> bool:
        return role is not None and _RANKS.index(role) >= _RANKS.index(self.least)


COMMANDS = (
    CommandSpec("new", "新建", Bilingual("Start a new thread", "开启新会话"), Bilingual("[TEXT]", "[内容]")),
    CommandSpec("threads", "会话", Bilingual("List threads with their numbers", "列出会话及编号")),
    CommandSpec(
        "resume",
        "继续",
        Bilingual("Continue a thread here; alone, list threads", "在这里继续某个会话；不写编号则列出会话"),
        Bilingual("[NUMBER|ID]", "[编号|ID]"),
    ),
    CommandSpec("stop", "停止", Bilingual("Stop the running turn", "停止当前任务"), ignores_text=True),
    CommandSpec(
        "status",
        "状态",
        Bilingual("Show the status of this thread", "查看本会话的状态"),
        least=Role.WATCHER,
    ),
    CommandSpec("gates", "待办", Bilingual("List what waits for your answer", "列出等你答复的事项")),
    CommandSpec(
        "approve", "同意", Bilingual("Allow what the agent asks for", "同意智能体的请求"), Bilingual("CODE", "编号")
    ),
    CommandSpec(
        "deny",
        "拒绝",
        Bilingual("Decline what the agent asks for", "拒绝智能体的请求"),
        Bilingual("CODE [REASON]", "编号 [原因]"),
    ),
    CommandSpec(
        "answer",
        "回答",
        Bilingual("Answer a question of the agent", "回答智能体的提问"),
        Bilingual("CODE ANSWER", "编号 内容"),
    ),
    CommandSpec(
        "queue",
        "排队",
        Bilingual("Send a message after the running turn, not into it", "排在当前任务之后发送，不插入其中"),
        Bilingual("TEXT", "内容"),
    ),
    CommandSpec(
        "fork",
        "分叉",
        Bilingual("Fork this thread and continue in the fork", "从这里分叉出新会话并转到那里"),
        Bilingual("[TITLE]", "[标题]"),
    ),
    CommandSpec(
        "done",
        "完成",
        Bilingual("Mark this thread as done; your next message reopens it", "把本会话标为已完成；再发消息即重新开始"),
    ),
    CommandSpec(
        "handoff",
        "移交",
        Bilingual("Continue this thread elsewhere, such as telegram", "把本会话移到别处继续，例如 telegram"),
        Bilingual("SURFACE", "平台"),
    ),
    CommandSpec(
        "away",
        "离开",
        Bilingual("While you are away, send to a chat what the computer would show", "离开期间把桌面内容发到聊天里"),
        Bilingual("[SURFACE]", "[平台]"),
        least=Role.OWNER,
    ),
    CommandSpec("back", "回来", Bilingual("End away mode", "结束离开状态"), least=Role.OWNER),
    CommandSpec("where", "回执", Bilingual("Show where the answers were delivered", "查看答复送到了哪里")),
    CommandSpec(
        "home",
        "主页",
        Bilingual("Send notices here", "通知发到这里"),
        least=Role.OWNER,
        places=frozenset({Place.CHAT}),
        elsewhere=Bilingual("Type it in the chat that should get notices.", "请在要接收通知的聊天里使用。"),
    ),
    CommandSpec(
        "runtime",
        "智能体",
        Bilingual("Show the agent of this thread, or switch to another", "查看本会话的智能体，或切换到另一个"),
        Bilingual("[NAME]", "[名称]"),
        aliases=("代理",),
    ),
    CommandSpec(
        "ask",
        "询问",
        Bilingual("Ask another agent about this thread; it may only read", "就本会话询问另一个智能体（它只能读取）"),
        Bilingual("NAME QUESTION", "名称 问题"),
    ),
    CommandSpec(
        "model",
        "模型",
        Bilingual("Show or choose the model of this thread", "查看或选择本会话的模型"),
        Bilingual("[NAME]", "[名称]"),
        least=Role.WATCHER,
    ),
    CommandSpec(
        "effort",
        "强度",
        Bilingual("Show or choose how hard the model thinks in this thread", "查看或选择本会话的思考强度"),
        Bilingual("[NAME]", "[名称]"),
        least=Role.WATCHER,
    ),
    CommandSpec(
        "policy",
        "策略",
        Bilingual("Show or choose what this thread may do without asking", "查看或选择本会话无需询问即可做的事"),
        Bilingual("[NAME]", "[名称]"),
        least=Role.WATCHER,
    ),
    CommandSpec(
        "priority",
        "优先级",
        Bilingual("Show or choose the place of this thread in the queue", "查看或选择本会话在队列中的优先级"),
        Bilingual("[high|normal|low]", "[high|normal|low]"),
        least=Role.WATCHER,
    ),
    CommandSpec(
        "rules",
        "规则",
        Bilingual("List the rules that apply here, or remove one", "列出适用于这里的规则，或删除一条"),
        Bilingual("[remove NUMBER]", "[删除 编号]"),
        least=Role.WATCHER,
    ),
    CommandSpec(
        "dir",
        "目录",
        Bilingual("Show or choose the folder of the next new thread", "查看或选择下一个新会话的目录"),
        Bilingual("[FOLDER|NUMBER]", "[目录|编号]"),
    ),
    CommandSpec(
        "usage",
        "用量",
        Bilingual("Show what this thread and today used, and the budgets", "查看本会话和今天的用量及预算"),
    ),
    CommandSpec(
        "diff",
        "改动",
        Bilingual("Show the changes of files in this thread", "查看本会话中的文件改动"),
        least=Role.WATCHER,
    ),
    CommandSpec(
        "history",
        "历史",
        Bilingual("Show the newest messages of this thread", "查看本会话最近的消息"),
        least=Role.WATCHER,
    ),
    CommandSpec(
        "file",
        "文件",
        Bilingual("Get a file of this thread's folder", "获取本会话目录里的文件"),
        Bilingual("PATH", "路径"),
    ),
    CommandSpec(
        "attach",
        "附件",
        Bilingual("Attach a file or an image to your next message", "把文件或图片附在下一条消息里"),
        Bilingual("PATH", "路径"),
        places=frozenset({Place.TERMINAL}),
        elsewhere=Bilingual("Here, send the file itself.", "在这里直接发送文件即可。"),
    ),
    CommandSpec(
        "help",
        "帮助",
        Bilingual("Show the commands", "查看命令"),
        Bilingual("[COMMAND]", "[命令]"),
        least=Role.WATCHER,
        aliases=("start",),  # sent by Telegram when somebody opens a bot
    ),
    CommandSpec(
        "quit",
        "退出",
        Bilingual("Leave; a running turn continues", "离开；当前任务继续运行"),
        places=frozenset({Place.TERMINAL}),
        aliases=("exit",),
        elsewhere=Bilingual("Here, just stop writing.", "在这里不用退出。"),
    ),
)
_BY_WORD = {word: spec for spec in COMMANDS for word in spec.words}


class Typed(Struct, frozen=True):
    """A command as a person typed it, with the text after it."""

    spec: CommandSpec
    text: str
    in_chinese: bool


class Mistake(Struct, frozen=True):
    """Text that was meant as a command, and why it is none."""

    words: Bilingual


def available(place: Place, role: Role | None = Role.OWNER) -> Iterator[CommandSpec]:
    """The commands that this person may use there, in the order of menus and help."""
    return (spec for spec in COMMANDS if place in spec.places and spec.may_be_used_by(role))


def find(word: str) -> CommandSpec | None:
    """The command with this name, with or without a slash."""
    return _BY_WORD.get(word.translate(_FULL_WIDTH).removeprefix(SLASH).lower())


def parse(text: str, place: Place, prefix: str = SLASH) -> Typed | Mistake | None:
    """Parse a message as a command. None: it is for the agent. A full-width slash counts as a slash."""
    found = _TYPED.fullmatch(text.strip())
    if found is None or found[1].translate(_FULL_WIDTH) not in prefix:
        return None
    word, rest = found[2], (found[3] or "").strip()
    spec = find(word)
    if spec is None:
        near = _near(word.lower(), rest, place)
        return Mistake(_unknown(word, near)) if near else None
    typed = Typed(spec, rest, in_chinese=not word.isascii())
    return typed if (problem := _problem(typed, place)) is None else Mistake(problem)


def unescape(text: str, prefix: str = SLASH) -> str:
    """The message without the first of two slashes: this is how a message begins with a word that is a command."""
    trimmed = text.lstrip()
    first, second = trimmed[:1].translate(_FULL_WIDTH), trimmed[1:2].translate(_FULL_WIDTH)
    is_doubled = first and first == second and first in prefix and re.match(r"\w", trimmed[2:])
    return second + trimmed[2:] if is_doubled else text


def help_lines(place: Place, role: Role, about: str = "", *, chinese: bool) -> list[tuple[str, str]]:
    """How to type each command that this person may use there, and what it does; only `about`, if it is one."""
    shown = list(available(place, role))
    named = [spec for spec in shown if spec is find(about)]
    return [(spec.usage(chinese=chinese), spec.help_in(chinese=chinese)) for spec in named or shown]


def menu(*, chinese: bool) -> list[tuple[str, str]]:
    """The name and description of each chat command, for platforms that show a menu. Names are always English."""
    return [(spec.name, _description(spec, chinese=chinese)) for spec in available(Place.CHAT)]


def _description(spec: CommandSpec, *, chinese: bool) -> str:
    about = spec.help_in(chinese=chinese)
    if spec.is_complete_alone:
        return about
    typed = f"{SLASH}{spec.name} {zh(spec.arguments) if chinese else spec.arguments}"
    return f"{about}：{typed}" if chinese else f"{about}: {typed}"


def _near(word: str, rest: str, place: Place) -> list[str]:
    """The names that were probably meant: a typing mistake, or the beginning of a name that stands alone."""
    names = [name for spec in available(place) for name in (spec.name, spec.chinese)]
    begun = [name for name in names if name.startswith(word)] if not rest else []
    if begun:
        return begun
    from difflib import get_close_matches  # only a mistake needs it

    return get_close_matches(word, names, 1, _NEAR)


def _unknown(word: str, near: list[str]) -> Bilingual:
    listed = [f"{SLASH}{name}" for name in near]
    return Bilingual(
        f"There is no /{word}; did you mean {', '.join(listed)}? /help lists all; //{word} goes to the agent.",
        f"没有 /{word} 这个命令；是不是 {'、'.join(listed)}？/帮助 列出全部命令；//{word} 会交给智能体。",
    )


def _problem(typed: Typed, place: Place) -> Bilingual | None:
    spec, is_needed = typed.spec, not typed.spec.is_complete_alone
    if place not in spec.places:
        [there] = spec.places
        return Bilingual(
            f"/{spec.name} works only in {_NAMES[there]}. {spec.elsewhere}",
            f"/{spec.chinese} 只能在{zh(_NAMES[there])}使用。{zh(spec.elsewhere)}",
        )
    if is_needed and not typed.text:
        return Bilingual(
            f"/{spec.name} needs an argument: {spec.usage(chinese=False)}",
            f"/{spec.chinese} 后面要写内容：{spec.usage(chinese=True)}",
        )
    if typed.text and not spec.arguments and not spec.ignores_text:
        return Bilingual(
            f"/{spec.name} takes no argument; nothing was done. For the agent, begin with two slashes.",
            f"/{spec.chinese} 后面不写内容；没有执行。要交给智能体，请以两个斜杠开头。",
        )
    return None


_NAMES = {
    Place.CHAT: Bilingual("chats", "聊天里"),
    Place.TERMINAL: Bilingual("`clew chat`", " `clew chat` 里"),
}
