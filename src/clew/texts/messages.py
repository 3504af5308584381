"""Messages of clew to people, in English and 简体中文, in one place, so that every surface uses the same texts.
`engine/delivery/language` chooses the language."""

from __future__ import annotations

import re
from collections.abc import Sequence

from clew.model.turns import Problem, TurnState
from clew.support.coded import Text
from clew.texts.bilingual import Bilingual, joined
from clew.texts.catalogue import say
from clew.texts.gate_messages import DECLINED, secret

YES = frozenset({"y", "yes", "同意"})
NO = frozenset({"n", "no", "拒绝", "不同意"})
ALLOW = YES | {"allow", "approve", "允许"}  # at a gate also the words of its card
DENY = NO | {"deny", "decline"}
CANCEL = frozenset({"stop", "cancel", "停止", "取消"})
CONTINUE = YES | {"continue", "go on", "继续", "好"}
STOP = NO | CANCEL | {"不用了", "停", "不", "不要", "别"}
RUN_ALL = frozenset({"run all", "run", "all", "全部运行", "全部"})
MERGE = frozenset({"merge", "合并"})
SKIP = frozenset({"skip", "跳过"})

_MARKS = (".", "。", ")", "）")  # allowed after a word; no question mark, as a question is no answer
_FULL_WIDTH = str.maketrans("０１２３４５６７８９", "0123456789")


def word(text: str) -> str:
    """Normalize what was typed, to compare it with the words above: `No.`, `yes!`, `` `stop` `` and `１` match too."""
    plain = unquoted(text).rstrip("!！").translate(_FULL_WIDTH)
    return " ".join((plain[:-1] if plain.endswith(_MARKS) else plain).lower().split())


def unquoted(text: str) -> str:
    """The text without the backquotes (in Chinese 「」) in which clew shows what to reply."""
    plain = text.strip()
    return plain[1:-1].strip() if re.fullmatch("`[^`]+`|「[^「」]+」", plain) else plain


CONTINUED = Bilingual(
    "clew was interrupted while this ran; the work was continued.", "运行期间 clew 曾中断；工作已接着完成。"
)
POSSIBLE_REPEAT = Bilingual(
    "This may be a repeat: clew was interrupted while it was sent.", "这条可能是重复的：发送时 clew 曾中断。"
)
RECOVERED = Bilingual("Recovered: clew was interrupted while it was sent.", "已恢复：发送时 clew 曾中断。")
MIB = 1 << 20
WORKING = Bilingual("Working on it …", "处理中…")
STEERED = Bilingual("Passed on to the running turn.", "已转给正在运行的任务。")
STEER_QUEUED = Bilingual(
    "Your message came too late for the running turn; it is queued and runs next.",
    "你的消息没赶上正在运行的任务；已排队，接下来运行。",
)
EMPTY = Bilingual("There was nothing in that message; say something.", "这条消息是空的；请说点什么。")


FILE_GONE = "it is not there. 文件不存在。"
FILE_EMPTY = "it is empty. 文件是空的。"
FILE_OUTSIDE = "it is not in this thread's folder. 不在本会话的目录里。"
FILE_KIND = "clew sends pictures, documents and archives only, and nothing hidden. 只发送图片、文档和压缩包。"
UNPLACED = Bilingual(
    "clew does not know which message this button is on. Press it again, or on a newer copy of it, or answer in words.",
    "clew 不知道这个按钮属于哪条消息。请再按一次，或按较新的那条，或用文字回复。",
)
SETTLED = Bilingual("That was settled already.", "这件事已经处理过了。")
BROKEN = Bilingual(
    "clew itself failed on this message; `clew logs` has the details. Nothing was done with it.",
    "clew 处理这条消息时出错；详情见 `clew logs`。没有对它做任何事。",
)
STRANGER = "I do not know you. 我不认识你。"
WELCOME = "You are in. Say what there is to do; /help tells what else. 你可以开始了：直接说要做什么；/帮助 查看命令。"
WATCHER = "You may look on here, and not send. 你只能旁观，不能发送消息。"

CONTINUE_OR_STOP = say("messages.continue_or_stop")
ALL_MERGE_OR_SKIP = say("messages.all_merge_or_skip")
TO_CUT = Bilingual("`continue` or `stop`", "「继续」或「停止」")
TO_BACKLOG = Bilingual("`run all`, `merge` (into one) or `skip`", "「全部运行」、「合并」（成一条）或「跳过」")


def quote(words: Bilingual) -> Bilingual:
    """How to answer a question in a chat of another thread, where a plain reply is for that one."""
    return Bilingual(f"Quote this message and reply {words}.", f"引用这条消息，回复{words.zh}。")


def press(words: Bilingual) -> Bilingual:
    """The same if the chat has buttons."""
    return Bilingual(
        f"Press a button, or quote this message and reply {words}.", f"按下按钮，或引用这条消息，回复{words.zh}。"
    )


AT_THE_COMPUTER = Bilingual("Answer it at the computer: `clew threads` lists it.", "请在本机答复；见 `clew threads`。")
NOT_SAID_TO_CLEW = say("messages.not_said_to_clew")
STOPPED = Bilingual("Stopped. Say something new whenever you like.", "已停止。随时可以说新的事。")
RUNNING_ALL = Bilingual("Running them in order.", "按顺序运行。")
NOTHING_TO_MERGE = Bilingual(
    "There is nothing to merge; what waits runs as it is.", "没有可合并的；等待的内容照原样运行。"
)
NOBODY_WAITS = Bilingual(
    "Nothing here waits for a yes; `clew gates`, or `/gates` in a chat, lists what is open.",
    "这里没有等待同意的事项；/待办 列出未答复的。",
)


def continued_by(who: str) -> Bilingual:
    return Bilingual(f"continued by {who}", f"{who} 选择了继续")


def put_aside_by(who: str) -> Bilingual:
    return Bilingual(f"put aside: {who} said something else", f"已搁置：{who} 说了别的事")


def stopped_by(who: str) -> Bilingual:
    return Bilingual(f"stopped by {who}", f"{who} 选择了停止")


def run_by(who: str) -> Bilingual:
    return Bilingual(f"run in their order, by {who}", f"{who} 选择了全部运行")


def merged_by(who: str, into: int) -> Bilingual:
    return Bilingual(f"merged into {'one' if into <= 1 else into} by {who}", f"{who} 选择了合并")


def skipped_by(who: str) -> Bilingual:
    return Bilingual(f"skipped by {who}", f"{who} 选择了跳过")


def merged(count: int, into: int) -> Bilingual:
    if into == 1:
        return Bilingual(f"Merged {count} into one.", f"已将 {count} 条合并成一条。")
    return Bilingual(
        f"Merged {count} into {into}, one for each chat: every answer comes to where it was asked for.",
        f"已将 {count} 条按聊天合并成 {into} 条：答复各自回到提出的地方。",
    )


def skipped(count: int) -> Bilingual:
    return Bilingual(f"Skipped {count}.", f"已跳过 {count} 条。")


def no_thread(name: str) -> Bilingual:
    return Bilingual(f"There is no thread {name}; `clew threads` lists them.", f"没有会话 {name}；/会话 列出全部。")


def pairing(code: str) -> str:
    return (
        f"I do not know you yet. Your code is {code}: whoever runs this clew lets you in with `clew pair {code}`,"
        f" within an hour.\n我还不认识你。你的配对码是 {code}：请运行本 clew 的人在一小时内执行 `clew pair {code}`。"
    )


def unseen_images(runtime: str, names: Sequence[str]) -> Bilingual:
    files = ", ".join(names)
    return Bilingual(
        f"{runtime} does not take images, so it cannot see what {files} shows. Describe it, or use another agent.",
        f"{runtime} 不支持图片，看不到 {files} 的内容。请用文字描述，或换一个代理。",
    )


def note(continued: bool, declined: int) -> Bilingual:
    """The footnote of an answer; usually empty."""
    return joined(" ", CONTINUED if continued else "", DECLINED if declined else "")


def footer(elapsed: float, tokens: int, thread: str) -> Bilingual:
    """The line below each answer in a chat: `12 s · 1,234 tokens · 7F3K2M`."""
    return joined(" · ", seconds(elapsed), f"{tokens:,} tokens" if tokens else "", thread[-6:])


def seconds(elapsed: float) -> Bilingual:
    if elapsed < 60:
        return Bilingual(f"{elapsed:.0f} s", f"{elapsed:.0f} 秒")
    minutes, rest = divmod(int(elapsed), 60)
    if minutes < 60:
        return Bilingual(f"{minutes} min {rest} s", f"{minutes} 分 {rest} 秒")
    return Bilingual(f"{minutes // 60} h {minutes % 60} min", f"{minutes // 60} 小时 {minutes % 60} 分")


def steps(count: int) -> Bilingual:
    return Bilingual(f"{count} step{'s' if count > 1 else ''}", f"{count} 步")


def file_stays(name: str, why: str) -> str:
    """Sent instead of a file that the answer names and that is not sent."""
    return f"📎 {name}: {why}"


def file_too_large(size: int, largest: int) -> str:
    most = f"{largest / MIB:.0f} MB"
    return f"it is too large to send here ({max(size, largest + MIB) / MIB:.0f} MB; at most {most}). 文件超过 {most}。"


def more_files(count: int, most: int) -> str:
    return f"📎 {count} more: at most {most} files come with one answer. 另有 {count} 个文件未发送。"


def may_mean_former(code: str, said: str) -> Bilingual:
    """For a short reply of unknown time in a conversation where another gate was open a moment ago."""
    return Bilingual(
        f"Another question was settled here meanwhile, so this may be meant for that one, and is not an answer to"
        f" {code}. Reply `{code} {said}` if you mean it.",
        f"这里刚有另一项被处理，这句话可能是对它说的，所以不算对 {code} 的答复。"
        f"如果确实是这个意思，请回复 `{code} {said}`。",
    )


def secret_or_new(code: str) -> Bilingual:
    """The same in a chat without a thread, where plain words start one."""
    new = Bilingual("`/new` and what there is to do begins something else.", "要做别的事，请用 /新建 加上内容。")
    return joined(" ", secret(code), new)


def unknown_runtime(name: str, known: Sequence[str]) -> str:
    return f"There is no runtime named {name!r}; known here: {', '.join(known) or 'none'}."


def other_runtime(name: str) -> str:
    return f"This conversation is with {name}; leave `runtime` out, or begin another conversation."


def queued(ahead: int) -> Bilingual:
    if ahead == 0:
        return Bilingual("Queued: it runs next.", "已排队：接下来运行。")
    return Bilingual(f"Queued behind {ahead} more.", f"已排队：前面还有 {ahead} 条。")


def not_run(count: int, why: str) -> Bilingual:
    """For people who were told that their message is queued."""
    english = "A message that waited here does" if count == 1 else f"{count} messages that waited here do"
    return joined(
        "", Bilingual(f"{english} not run: ", f"这里等待的 {count} 条消息不再运行："), why, Bilingual(".", "。")
    )


def cancelled(thread: str) -> Bilingual:
    return Bilingual(
        f"Thread {thread} is cancelled and never runs again; `clew fork {thread}` begins a new one from it.",
        f"会话 {thread} 已取消，不会再运行；`clew fork {thread}` 可由它开启新会话。",
    )


def cannot_resume(thread: str, status: str) -> str:
    hint = {
        "running": "it is running; `clew send` reaches it",
        "idle": "it is idle; `clew send` goes on with it",
        "cancelled": "it is cancelled; `clew fork` begins a new one from it",
    }.get(status, status)
    return f"Thread {thread} cannot be resumed: {hint}."


def not_queued(turn: str) -> Bilingual:
    return Bilingual(
        f"Turn {turn} does not wait any more, so it cannot be taken back; stop it instead.",
        "这一轮已经开始，无法撤回；可以停止它。",
    )


def nothing_runs(thread: str) -> Bilingual:
    return Bilingual(
        f"Nothing runs in thread {thread}; `clew show {thread}` tells how it stands.",
        "现在没有在运行的任务；/状态 可查看本会话。",
    )


def still_works(thread: str) -> Bilingual:
    return Bilingual(
        f"Thread {thread} still works; `clew stop {thread}` first, or wait.", "会话还在运行；请先 /停止，或稍等。"
    )


def has_queued(thread: str, waiting: int) -> Bilingual:
    return Bilingual(
        f"Thread {thread} has {waiting} queued; let them run, or `clew cancel {thread}`.",
        f"会话还有 {waiting} 条排队；请让它们运行，或用 `clew cancel {thread}` 取消。",
    )


def is_cancelled(thread: str) -> Bilingual:
    return Bilingual(f"Thread {thread} is cancelled.", f"会话 {thread} 已取消。")


def no_folder(path: str) -> Bilingual:
    return Bilingual(
        f"The workspace {path} is not a folder; give the full path of one that exists.",
        f"{path} 不是目录；请给出已有目录的完整路径。",
    )


def cut_off(begun: Sequence[str]) -> Text:
    """The question about a turn that was cut off, if continuing it could do something twice."""
    lines = "".join(f"\n- {line}" for line in begun)
    return say("messages.cut_off_begun", begun=lines) if begun else say("messages.cut_off")


CUT_AGAIN = say("messages.cut_again")


def unknown_outcome(reason: str) -> Text:
    return say("messages.unknown_outcome", reason=reason)


OLD_WORK_ASIDE = Bilingual(
    "The work that was cut off is put aside; this is worked on instead.", "中断的工作已搁置；现在改做这件事。"
)
PUT_ASIDE = (
    "(From clew: your work on the request before was cut off before its end. The person was asked whether to go on with"
    " it, and says this instead. Do what they say now, and do not go on with that work unless they want it.)"
)


def continuation(begun: Sequence[str]) -> str:
    """For the agent: why it gets the request again."""
    text = "(From clew: your work on the request above was cut off before its end. Go on with it and finish it.)"
    if not begun:
        return text
    lines = "\n".join(f"- {line}" for line in begun)
    return (
        f"{text}\nThese were begun and have no recorded end; look whether they took effect before you do them again:\n"
        f"{lines}"
    )


def backlog(count: int) -> Text:
    return say("messages.backlog") if count == 1 else say("messages.backlog_many", count=count)


def still_backlog(count: int) -> Text:
    return asks(say("messages.behind_backlog", count=count), ALL_MERGE_OR_SKIP)


def asks(question: str, hint: str) -> Text:
    """A question, and how to answer it."""
    if "\n" in question:
        return say("messages.with_hint_below", question=question, hint=hint)
    return say("messages.with_hint", question=question, hint=hint)


def settled(asked: str, outcome: str) -> Bilingual:
    """A question and its outcome."""
    return joined("\n→ ", asked, outcome)


def silence(seconds: float) -> Problem:
    return Problem(
        "silence",
        f"The model gave no sign of life for {seconds / 60:.0f} min, so the turn was stopped. Check the network and the"
        " model's status, then send the message again; `turns.silence` in config.toml sets how long clew waits.",
    )


def never_began(attempts: int) -> Problem:
    return Problem(
        "never_began",
        f"The runtime lost this turn {attempts} times before it began. `clew doctor` and `clew logs` tell more.",
    )


def final(state: TurnState, text: str, problem: Problem | None) -> Bilingual:
    """The body of an answer."""
    if state is TurnState.COMPLETED:
        return joined("", text or Bilingual("(Done, without words.)", "（已完成，没有文字答复。）"))
    if state is TurnState.INTERRUPTED:
        return joined("\n\n", text, Bilingual("(Stopped.)", "（已停止。）"))
    failed = Bilingual("The turn failed.", "这一轮失败了。")
    return joined("\n\n", text, joined("", "⚠ ", problem.text if problem else failed))


def task_failed(problem: Problem | None) -> str:
    return problem.text if problem else say("threads.turn_failed")
