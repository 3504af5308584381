"""Messages of clew to people, in English and 简体中文, in one place, so that every surface uses the same texts.
`engine/delivery/language` chooses the language."""

from __future__ import annotations

import re
from collections.abc import Sequence

from clew.model.turns import Problem, TurnState
from clew.support.coded import Text
from clew.texts.bilingual import Bilingual, joined, zh
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
RAISE = frozenset({"raise", "提高", "提高预算"})
GO_ON = CONTINUE | {"继续这一轮"}

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
    "This may be a repeat: the first copy was not confirmed.", "这条可能是重复的：上一次发送没有得到确认。"
)
RECOVERED = Bilingual(
    "Shown here because the message with it was not confirmed; you may see it twice.",
    "写在这里，是因为单独发送的那条没有得到确认；你可能会看到两次。",
)
OUT_OF_DATE = Bilingual("→ This copy does not count; the newer one does.", "→ 这条已失效，请看较新的那条。")
MIB = 1 << 20
WORKING = Bilingual("Working on it …", "处理中…")
STOP_BUTTON = Bilingual("⏹ Stop", "⏹ 停止")
STEERED = say("turns.steered")
STEER_QUEUED = Bilingual(
    "Your message came too late for the running turn; it is queued and runs next.",
    "你的消息没赶上正在运行的任务；已排队，接下来运行。",
)
EMPTY = say("turns.empty")

FILE_GONE = say("deliveries.file_gone")
FILE_EMPTY = say("deliveries.file_empty")
FILE_OUTSIDE = say("deliveries.file_outside")
FILE_KIND = say("deliveries.file_kind")
FILE_HIDDEN = say("deliveries.file_hidden")
UNPLACED = say("turns.unplaced")
SETTLED = say("turns.settled")
DELETED = say("turns.deleted")
DELETED_DROPPED = say("turns.deleted_dropped")
DELETED_TOO_LATE = say("turns.deleted_too_late")
EDIT_OFFERED = say("turns.edit_offered")
EDIT_TOO_LATE = say("turns.edit_too_late")
NOT_YOUR_EDIT = say("turns.not_your_edit")
BROKEN = say("turns.broken")
STRANGER = say("people.stranger")
WELCOME = say("people.welcome")
WATCHER = say("people.watcher")

CONTINUE_OR_STOP = say("messages.continue_or_stop")
ALL_MERGE_OR_SKIP = say("messages.all_merge_or_skip")
TO_CUT = Bilingual("`continue` or `stop`", "「继续」或「停止」")
TO_BACKLOG = Bilingual("`run all`, `merge` (into one) or `skip`", "「全部运行」、「合并」（成一条）或「跳过」")
GO_ON_RAISE_OR_STOP = say("messages.go_on_raise_or_stop")
TO_BUDGET = Bilingual(
    "`go on` (this turn only), `raise` (doubles the budget) or `stop`",
    "「继续」（仅这一轮）、「提高」（预算加倍）或「停止」",
)


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
STOPPED = say("turns.stopped")
SHOWN_AGAIN = say("turns.shown_again")
RUNNING_ALL = say("turns.running_all")
NOTHING_TO_MERGE = say("turns.nothing_to_merge")
NOBODY_WAITS = say("gates.nobody_waits")


def by(who: str) -> Bilingual:
    """Who decided, for a message in a chat."""
    if who == "you":
        return Bilingual("at the computer", "在电脑上")
    return Bilingual(f"by {who}", f"{who} ")


def continued_by(who: str) -> Bilingual:
    return Bilingual(f"continued {by(who)}", f"{by(who).zh}选择了继续")


def put_aside_by(who: str) -> Bilingual:
    if who == "you":
        return Bilingual("put aside: something else was said at the computer", "已搁置：在电脑上说了别的事")
    return Bilingual(f"put aside: {who} said something else", f"已搁置：{who} 说了别的事")


def stopped_by(who: str) -> Bilingual:
    return Bilingual(f"stopped {by(who)}", f"{by(who).zh}选择了停止")


def run_by(who: str) -> Bilingual:
    return Bilingual(f"run in their order, {by(who)}", f"{by(who).zh}选择了全部运行")


def let_pass_by(who: str) -> Bilingual:
    return Bilingual(f"this turn goes on, {by(who)}", f"{by(who).zh}选择了继续这一轮")


def raised_by(who: str) -> Bilingual:
    return Bilingual(f"the budget was raised {by(who)}", f"{by(who).zh}提高了预算")


def merged_by(who: str, into: int) -> Bilingual:
    return Bilingual(f"merged into {'one' if into <= 1 else into} {by(who)}", f"{by(who).zh}选择了合并")


def skipped_by(who: str) -> Bilingual:
    return Bilingual(f"skipped {by(who)}", f"{by(who).zh}选择了跳过")


def merged(count: int, into: int) -> Text:
    if into == 1:
        return say("turns.merged_into_one", count=count)
    return say("turns.merged_by_chat", count=count, into=into)


def skipped(count: int) -> Text:
    return say("turns.skipped", count=count)


def no_thread(name: str) -> Text:
    return say("threads.no_thread", name=name)


def no_turn(turn: str) -> Text:
    return say("turns.no_turn", turn=turn)


def ambiguous(prefix: str, first: str, second: str) -> Text:
    return say("threads.ambiguous", prefix=prefix, first=first, second=second)


def pairing(code: str) -> Text:
    return say("people.pairing", code=code)


def in_both_languages(text: Text) -> str:
    """For somebody whose language is not known yet."""
    return f"{text}\n{zh(text)}"


def unseen_images(runtime: str, names: Sequence[str]) -> Text:
    return say("turns.unseen_images", runtime=runtime, files=", ".join(names))


def note(continued: bool, declined: bool) -> Bilingual:
    """The footnote of an answer; usually empty."""
    return joined(" ", CONTINUED if continued else "", DECLINED if declined else "")


def footer(elapsed: float, tokens: int, thread: str, agent: str = "") -> Bilingual:
    """The line below each answer in a chat: `Codex · 12 s · 1,234 tokens · fix-retry`."""
    used = Bilingual(f"{tokens:,} tokens", f"{tokens:,} 个 token")
    return joined(" · ", agent, seconds(elapsed), used if tokens else "", thread)


def seconds(elapsed: float) -> Bilingual:
    if elapsed < 60:
        return Bilingual(f"{elapsed:.0f} s", f"{elapsed:.0f} 秒")
    minutes, rest = divmod(int(elapsed), 60)
    if minutes < 60:
        return Bilingual(f"{minutes} min {rest} s", f"{minutes} 分 {rest} 秒")
    return Bilingual(f"{minutes // 60} h {minutes % 60} min", f"{minutes // 60} 小时 {minutes % 60} 分")


def step(mark: str, kind: str, title: str) -> Bilingual:
    """One step of the agent: `▸ command: make`."""
    name = _STEPS.get(kind, Bilingual(kind, kind))
    return Bilingual(f"{mark} {name}: {title}", f"{mark} {name.zh}：{title}")


_STEPS = {
    "command": Bilingual("command", "命令"),
    "change": Bilingual("change", "修改"),
    "tool": Bilingual("tool", "工具"),
    "search": Bilingual("search", "搜索"),
    "other": Bilingual("other", "其他"),
}


def steps(count: int) -> Bilingual:
    return Bilingual(f"{count} step{'s' if count > 1 else ''}", f"{count} 步")


def file_stays(name: str, why: str) -> Text:
    """Sent instead of a file that the answer names and that is not sent."""
    return say("deliveries.file_stays", name=name, why=why)


def file_too_large(size: int, largest: int) -> Text:
    shown = max(size, largest + MIB)
    return say("deliveries.file_too_large", size=f"{shown / MIB:.0f}", most=f"{largest / MIB:.0f}")


def more_files(count: int, most: int) -> Text:
    return say("deliveries.more_files", count=count, most=most)


def answer_of(title: str, *, is_task: bool) -> Bilingual:
    """The first line of an answer in a chat where nobody asked for it."""
    if is_task:
        return Bilingual(f"Task: {title}", f"任务：{title}")
    return Bilingual(f"Thread: {title}", f"会话：{title}")


def answer_elsewhere(title: str, why: str) -> Bilingual:
    """Sent before an answer whose own conversation refused it for good."""
    reason, chinese = why.rstrip("."), zh(why).rstrip("。")
    return Bilingual(
        f"The answer below belongs to: {title}\nIts own chat or topic does not take it any more ({reason}).",
        f"下面的答复属于会话：{title}\n它所在的聊天或话题已无法接收消息（{chinese}）。",
    )


def surface_gone(surface: str) -> Text:
    return say("deliveries.surface_gone", surface=repr(surface))


def may_mean_former(code: str, said: str) -> Text:
    """For a short reply of unknown time in a conversation where another gate was open a moment ago."""
    return say("gates.may_mean_former", code=code, said=said)


def secret_or_new(code: str) -> Text:
    """The same in a chat without a thread, where plain words start one."""
    return say("gates.or_new", secret=secret(code))


def listed(names: Sequence[str]) -> str:
    """Names for a hole of a sentence: `a, b`, or `none`."""
    return ", ".join(names) or say("threads.none")


def unknown_runtime(name: str, known: Sequence[str]) -> Text:
    return say("threads.unknown_runtime", name=repr(name), known=listed(known))


def cannot_adopt(name: str, able: Sequence[str]) -> Text:
    """Its sessions cannot be taken over; those of `able` can."""
    if not able:
        return say("threads.cannot_adopt", name=name)
    return say("threads.cannot_adopt_but", name=name, others=", ".join(able))


def other_runtime(name: str) -> Text:
    return say("threads.other_runtime", name=name)


def queued(ahead: int) -> Text:
    return say("turns.queued_behind", ahead=ahead) if ahead else say("turns.queued_next")


def not_run(count: int, why: str) -> Bilingual:
    """For people who were told that their message is queued."""
    english = "A message that waited here does" if count == 1 else f"{count} messages that waited here do"
    return joined(
        "", Bilingual(f"{english} not run: ", f"这里等待的 {count} 条消息不再运行："), why, Bilingual(".", "。")
    )


def cancelled(thread: str) -> Text:
    return say("threads.cancelled", thread=thread)


def cannot_resume(thread: str, status: str) -> Text:
    hints = {
        "running": say("threads.resume_running", thread=thread),
        "idle": say("threads.resume_idle", thread=thread),
        "cancelled": say("threads.resume_cancelled", thread=thread),
    }
    return say("threads.cannot_resume", thread=thread, hint=hints.get(status, status))


def not_queued(turn: str) -> Text:
    return say("turns.not_queued", turn=turn)


def nothing_runs(thread: str) -> Text:
    return say("turns.nothing_runs", thread=thread)


def still_works(thread: str) -> Text:
    return say("threads.still_works", thread=thread)


def has_queued(thread: str, waiting: int) -> Text:
    return say("threads.has_queued", thread=thread, waiting=waiting)


def is_cancelled(thread: str) -> Text:
    return say("threads.is_cancelled", thread=thread)


def no_folder(path: str) -> Text:
    return say("threads.no_folder", path=path)


def cut_off(begun: Sequence[str]) -> Text:
    """The question about a turn that was cut off, if continuing it could do something twice."""
    lines = "".join(f"\n- {line}" for line in begun)
    return say("messages.cut_off_begun", begun=lines) if begun else say("messages.cut_off")


CUT_AGAIN = say("messages.cut_again")


def unknown_outcome(reason: str) -> Text:
    return say("messages.unknown_outcome", reason=reason)


OLD_WORK_ASIDE = say("turns.old_work_aside")
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
    if seconds % 60:
        return Problem.of("silence", say("turns.silence_seconds", seconds=f"{seconds:g}"))
    return Problem.of("silence", say("turns.silence", minutes=f"{seconds / 60:.0f}"))


def never_began(attempts: int) -> Problem:
    return Problem.of("never_began", say("turns.never_began", attempts=attempts))


STOPPED_MARK = say("turns.stopped_mark")
CUT_CONTINUES_MARK = say("turns.cut_continues_mark")
WORDLESS = say("turns.wordless")


def stopped_mark(who: str | None) -> Text:
    if not who:
        return STOPPED_MARK
    return say("turns.stopped_here_mark") if who == "you" else say("turns.stopped_by_mark", who=who)


def final(state: TurnState, text: str, problem: Problem | None, stopped: str | None = None) -> Bilingual:
    """The body of an answer."""
    if state is TurnState.COMPLETED:
        return joined("", text or WORDLESS)
    if state is TurnState.INTERRUPTED:
        return joined("\n\n", text, stopped_mark(stopped))
    return joined("\n\n", text, failed_mark(problem.text if problem else None))


def failed_mark(problem: str | None) -> Text:
    return say("turns.failed_mark", problem=problem or say("threads.turn_failed"))


def task_failed(problem: Problem | None) -> str:
    return problem.text if problem else say("threads.turn_failed")
