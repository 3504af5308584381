"""What clew itself says to people, in English and 简体中文, in one place, so that every surface uses the same words. In
which of the two is decided where something is owed (`language.py`)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

from clew.model.gates import Gate, Reason
from clew.model.nouns import Problem, TurnState
from clew.support.display import exactly


class Both(str):
    """A sentence in English that knows its Chinese. To everything that does not ask, it is the English one."""

    __slots__ = ("zh",)
    zh: str

    def __new__(cls, english: str, chinese: str) -> Both:
        both = super().__new__(cls, english)
        both.zh = chinese
        return both


def zh(text: str) -> str:
    """In Chinese, where that is known."""
    return text.zh if isinstance(text, Both) else text


def stored(text: str) -> str:
    """What clew wrote down: a reason by its code, or a sentence in English, such as why a gate is void."""
    code, _, about = text.partition(":")
    return reason(Reason(code, about)) if code in _REASONS else _KNOWN.get(text, text)


_REASONS = {
    "no_rule": ("no rule allows it", "没有规则允许它"),
    "sandbox.leaves": ("it would run outside of the agent's sandbox", "它会在代理的沙箱之外运行"),
    "unjudged": ("no rule can judge all of it: {}", "规则无法判断它的全部内容：{}"),
    "file.unseen": ("{} cannot be shown, and would be replaced", "{} 无法显示，将被替换"),
    "file.linked": (
        "{} has another name too (a hard link), which may lie outside of the workspace",
        "{} 还有别的名称（硬链接），可能位于工作区之外",
    ),
    "name.odd": (
        "the exact name, {}, cannot be stored, so no rule allows it",
        "确切名称 {} 无法保存，因此没有规则允许它",
    ),
    "detail.odd": (
        "its text ({}) has characters that cannot be stored, so no rule allows it",
        "其内容（{}）含有无法保存的字符，因此没有规则允许它",
    ),
    "ignore.linked": ("{} leads out of the workspace, and would be read", "{} 指向工作区之外，并且会被读取"),
    "tree.large": ("the workspace is too large or too deep to look through", "工作区太大或嵌套太深，无法逐一检查"),
    "git.config": ("git's config here sets {}, which may run a program", "这里的 git 配置设置了 {}，可能会运行程序"),
    "git.value": ("git's config here gives {} an unusual value", "这里的 git 配置给 {} 设了不寻常的值"),
    "git.hook": ("the repository has the hook {}, which git would run", "仓库里有钩子 {}，git 会运行它"),
    "git.submodule": ("{} is a submodule, and git goes down into it", "{} 是子模块，git 会进入其中"),
    "git.nested": ("{} is another repository inside the workspace", "{} 是工作区里的另一个仓库"),
    "git.file": ("{} is no plain file, and git would read it", "{} 不是普通文件，而 git 会读取它"),
    "git.fake": (
        "{} looks like a git repository, and git may take it for one",
        "{} 看起来像 git 仓库，git 可能会把它当作仓库",
    ),
    "git.not_top": ("the workspace is not the top of a git repository", "工作区不是 git 仓库的顶层"),
    "git.elsewhere": ("the workspace's repository leads git elsewhere", "工作区的仓库会把 git 引到别处"),
    "git.unclear": ("the workspace's repository cannot be judged with certainty", "无法确定工作区的仓库是否安全"),
}


def reason(why: Reason) -> Both:
    english, chinese = _REASONS[why.code]
    about = exactly(why.about, lines=False)
    return Both(english.replace("{}", about), chinese.replace("{}", about))


LEAVES_SANDBOX = reason(Reason("sandbox.leaves"))


def warnings(gate: Gate) -> list[str]:
    """What has to be known before a yes, beside what is asked. That a command leaves the sandbox is part of what is
    asked: nothing else that is to be said takes its place."""
    told = [LEAVES_SANDBOX if gate.asked.leaves_sandbox else "", stored(gate.warning)]
    return [each for each in dict.fromkeys(told) if each]


def joined(between: str, *parts: str) -> Both:
    """Parts that are empty are left out."""
    kept = [part for part in parts if part]
    return Both(between.join(kept), between.join(map(zh, kept)))


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

_MARKS = (".", "。", ")", "）")  # behind a word; no question mark, as a question is no answer
_FULL_WIDTH = str.maketrans("０１２３４５６７８９", "0123456789")


def word(text: str) -> str:
    """What was typed, to be compared with the words above: `No.`, `yes!`, `` `stop` `` and `１` are such words, too."""
    plain = unquoted(text).rstrip("!！").translate(_FULL_WIDTH)
    return " ".join((plain[:-1] if plain.endswith(_MARKS) else plain).lower().split())


def unquoted(text: str) -> str:
    """Without the backquotes, or in Chinese the quotes, in which clew shows what to reply."""
    plain = text.strip()
    return plain[1:-1].strip() if re.fullmatch("`[^`]+`|「[^「」]+」", plain) else plain


CONTINUED = Both(
    "clew was interrupted while this ran; the work was continued.", "运行期间 clew 曾中断；工作已接着完成。"
)
DECLINED = Both(
    "Something was declined that clew cannot ask a person about.", "有一项 clew 无法向人询问的请求已被拒绝。"
)
POSSIBLE_REPEAT = Both(
    "This may be a repeat: clew was interrupted while it was sent.", "这条可能是重复的：发送时 clew 曾中断。"
)
RECOVERED = Both("Recovered: clew was interrupted while it was sent.", "已恢复：发送时 clew 曾中断。")
MIB = 1 << 20
WORKING = Both("Working on it …", "处理中…")
STEERED = Both("Passed on to the running turn.", "已转给正在运行的任务。")
STEER_QUEUED = Both(
    "Your message came too late for the running turn; it is queued and runs next.",
    "你的消息没赶上正在运行的任务；已排队，接下来运行。",
)
MAY_HAVE_RUN = Both(
    "It may already have run: an earlier yes was on its way when the work was cut off.",
    "它可能已经运行过：工作中断时，先前的同意正在送达途中。",
)
CUT = Both("the work was cut off; it is asked again if it is still needed", "工作中断了；如仍需要会重新询问")
CUT_KEPT = Both(
    "the work was cut off; the answer counts if the same is asked again soon",
    "工作中断了；如果很快再问同一件事，这个答复仍然有效",
)
CUT_SENT = Both(
    "the work was cut off while the answer was on its way; it may have counted", "答复送达途中工作中断了；可能已生效"
)
RAN_OUT = Both(
    "the agent waits only so long for an answer, and that time ran out; it asks anew",
    "代理等待回答的时间有限，已经超时；它会重新询问",
)
STRANDED = Both("The place where this belongs takes nothing any more.", "它所属的会话已无法接收消息。")
WITHDRAWN = Both("the agent does not need it any more", "代理不再需要")
TURN_OVER = Both("the turn is over", "本轮已结束")
OVER_SENT = Both(
    "the turn ended while the answer was on its way; it may have counted", "答复送达途中本轮已结束；可能已生效"
)
THREAD_OVER = Both("the thread was cancelled", "会话已取消")
STOPPED_FIRST = Both("it was stopped before it began", "开始之前已被停止")
TAKEN_BACK = Both("it was taken back", "已被撤回")
ASKED_AGAIN = Both("the agent has asked it again since", "代理之后又重新询问了")
CHANGED = Both("what it would do has changed since, so it is asked anew", "它要做的事已发生变化，因此重新询问")
CHANGED_BEFORE = Both(  # as older versions wrote it down
    "the agent changed what it asks, and asks anew", "代理更改了请求内容，并重新询问"
)
GONE = Both("the agent did not wait for it any more", "代理没有再等")
DID_NOT_ARRIVE = Both("The last answer did not reach the agent.", "上次的答复没有送到代理。")
SECRET_LOST = Both(
    "The secret answer was lost with a restart; give it again.", "保密的答复在重启时丢失了；请重新提供。"
)
THREAD_DONE = Both("the thread is done", "会话已完成")
NO_ANSWER = Both("nobody answered in time", "没有人及时答复")
NOT_RUN = "not run"
EMPTY = Both("There was nothing in that message; say something.", "这条消息是空的；请说点什么。")


FILE_GONE = "it is not there. 文件不存在。"
FILE_EMPTY = "it is empty. 文件是空的。"
FILE_OUTSIDE = "it is not in this thread's folder. 不在本会话的目录里。"
FILE_KIND = "clew sends pictures, documents and archives only, and nothing hidden. 只发送图片、文档和压缩包。"
UNPLACED = Both(
    "clew does not know which message this button is on. Press it again, or on a newer copy of it, or answer in words.",
    "clew 不知道这个按钮属于哪条消息。请再按一次，或按较新的那条，或用文字回复。",
)
SETTLED = Both("That was settled already.", "这件事已经处理过了。")
BROKEN = Both(
    "clew itself failed on this message; `clew logs` has the details. Nothing was done with it.",
    "clew 处理这条消息时出错；详情见 `clew logs`。没有对它做任何事。",
)
STRANGER = "I do not know you. 我不认识你。"
WELCOME = "You are in. Say what there is to do; /help tells what else. 你可以开始了：直接说要做什么；/帮助 查看命令。"
WATCHER = "You may look on here, and not send. 你只能旁观，不能发送消息。"

CONTINUE_OR_STOP = Both("Reply `continue` or `stop`.", "回复「继续」或「停止」。")
ALL_MERGE_OR_SKIP = Both(
    "Reply `run all`, `merge` (into one) or `skip`.", "回复「全部运行」、「合并」（成一条）或「跳过」。"
)
STOPPED = Both("Stopped. Say something new whenever you like.", "已停止。随时可以说新的事。")
RUNNING_ALL = Both("Running them in order.", "按顺序运行。")
NOTHING_TO_MERGE = Both("There is nothing to merge; what waits runs as it is.", "没有可合并的；等待的内容照原样运行。")
NOBODY_WAITS = Both(
    "Nothing here waits for a yes; `clew gates`, or `/gates` in a chat, lists what is open.",
    "这里没有等待同意的事项；/待办 列出未答复的。",
)


def continued_by(who: str) -> Both:
    return Both(f"continued by {who}", f"{who} 选择了继续")


def put_aside_by(who: str) -> Both:
    return Both(f"put aside: {who} said something else", f"已搁置：{who} 说了别的事")


def stopped_by(who: str) -> Both:
    return Both(f"stopped by {who}", f"{who} 选择了停止")


def run_by(who: str) -> Both:
    return Both(f"run in their order, by {who}", f"{who} 选择了全部运行")


def merged_by(who: str, into: int) -> Both:
    return Both(f"merged into {'one' if into <= 1 else into} by {who}", f"{who} 选择了合并")


def skipped_by(who: str) -> Both:
    return Both(f"skipped by {who}", f"{who} 选择了跳过")


def merged(count: int, into: int) -> Both:
    if into == 1:
        return Both(f"Merged {count} into one.", f"已将 {count} 条合并成一条。")
    return Both(
        f"Merged {count} into {into}, one for each chat: every answer comes to where it was asked for.",
        f"已将 {count} 条按聊天合并成 {into} 条：答复各自回到提出的地方。",
    )


def skipped(count: int) -> Both:
    return Both(f"Skipped {count}.", f"已跳过 {count} 条。")


def no_thread(name: str) -> Both:
    return Both(f"There is no thread {name}; `clew threads` lists them.", f"没有会话 {name}；/会话 列出全部。")


def pairing(code: str) -> str:
    return (
        f"I do not know you yet. Your code is {code}: whoever runs this clew lets you in with `clew pair {code}`,"
        f" within an hour.\n我还不认识你。你的配对码是 {code}：请运行本 clew 的人在一小时内执行 `clew pair {code}`。"
    )


def place(surface: str, desk: str) -> Both:
    return Both("the desk", "电脑上") if surface == desk else Both(surface, surface)


def moved(surface: str, desk: str) -> Both:
    """What stands in the old place of something that goes on in another."""
    there = place(surface, desk)
    return Both(f"→ moved to {there}", f"→ 已移到 {there.zh}")


def taken_up(by: str, surface: str, desk: str) -> Both:
    """For the place that drove before."""
    there = "at the desk" if surface == desk else f"in {surface}"
    is_named = by not in ("", "you")
    who, chinese = (f"{by} goes on with this", f"{by} 已") if is_named else ("This goes on", "已")
    return Both(
        f"{who} {there}. Say something here to take it back.",
        f"{chinese}在 {place(surface, desk).zh} 继续。在这里说话即可接回。",
    )


def handed(title: str, running: bool, displaced: str | None, again: bool) -> Both:
    """The first words where a thread is handed to."""
    running_now = Both("It is being worked on right now; the answer comes here.", "任务正在运行；答复会发到这里。")
    before = Both(
        f"This place was bound to {displaced}; /threads and /resume lead back to it.",
        f"这里原来是会话「{displaced}」；用 /会话 和 /继续 可以回去。",
    )
    twice = Both(
        "clew was interrupted on the way: an empty topic of the same name may stand beside this.",
        "clew 途中曾中断：旁边可能有一个同名的空话题。",
    )
    return joined(
        "\n",
        Both(f"You can go on here: {title}", f"可以在这里继续：{title}"),
        running_now if running else "",
        before if displaced else "",
        twice if again else "",
    )


MAYBE_EMPTY = "An empty topic may stand there."  # behind the reason of a failure
HANDED_BACK = Both("→ taken back: this thread is not here", "→ 已收回：该会话不在这里")
GREET = (
    "(From clew: this conversation was just moved to another place, where the person reads on, probably on a phone."
    " Say hello in one line, and sum up in a few lines what was done and what is open. Do nothing else.)"
)


def not_handed(surface: str, reason: str) -> Both:
    why = reason if reason.endswith((".", "。")) else f"{reason}."
    return Both(f"It was not handed to {surface}: {why} It stays here.", f"未能移交到 {surface}：{why} 会话仍在这里。")


def note(continued: bool, declined: int) -> Both:
    """The small print of an answer; empty almost always."""
    return joined(" ", CONTINUED if continued else "", DECLINED if declined else "")


def footer(elapsed: float, tokens: int, thread: str) -> Both:
    """In a chat, below each answer: `12 s · 1,234 tokens · 7F3K2M`."""
    return joined(" · ", seconds(elapsed), f"{tokens:,} tokens" if tokens else "", thread[-6:])


def seconds(elapsed: float) -> Both:
    if elapsed < 60:
        return Both(f"{elapsed:.0f} s", f"{elapsed:.0f} 秒")
    minutes, rest = divmod(int(elapsed), 60)
    if minutes < 60:
        return Both(f"{minutes} min {rest} s", f"{minutes} 分 {rest} 秒")
    return Both(f"{minutes // 60} h {minutes % 60} min", f"{minutes // 60} 小时 {minutes % 60} 分")


def steps(count: int) -> Both:
    return Both(f"{count} step{'s' if count > 1 else ''}", f"{count} 步")


def file_stays(name: str, why: str) -> str:
    """In place of a file that was named and does not come along."""
    return f"📎 {name}: {why}"


def file_too_large(size: int, largest: int) -> str:
    most = f"{largest / MIB:.0f} MB"
    return f"it is too large to send here ({max(size, largest + MIB) / MIB:.0f} MB; at most {most}). 文件超过 {most}。"


def more_files(count: int, most: int) -> str:
    return f"📎 {count} more: at most {most} files come with one answer. 另有 {count} 个文件未发送。"


_CLEW_ITSELF = "clew ("


def by_rule(why: str) -> str:
    return f"{_CLEW_ITSELF}{why})"


def by_person(name: str) -> str:
    """Who answered, in quotes if the name passes for clew's own."""
    return f'"{name}"' if re.match(r"\s*clew\b", name, re.IGNORECASE) else name


def is_by_rule(answered_by: str | None) -> bool:
    return (answered_by or "").startswith(_CLEW_ITSELF)


def answered_before(gate: Gate) -> Both:
    """For whoever comes later: who answered what, and when."""
    if gate.answer is None:
        why = stored(gate.why) or NO_ANSWER
        return Both(f"{gate.code} is {gate.state}: {why}.", f"{gate.code} 已失效：{zh(why)}。")
    told = {"accept": ("yes", "同意"), "decline": ("no", "拒绝"), "cancel": ("no, and to stop", "拒绝并停止")}
    said, chinese = told.get(gate.answer.decision, ("its answer", "已回答"))
    when = datetime.fromtimestamp((gate.answered_at or 0) / 1000).astimezone().strftime("%H:%M:%S")
    return Both(
        f"{gate.code} was answered by {gate.answered_by} at {when}: {said}. It is {gate.state} now.",
        f"{gate.code} 已由 {gate.answered_by} 在 {when} 答复：{chinese}。",
    )


def on_its_way(gate: Gate) -> Both:
    return Both(f"Your answer to {gate.code} is on its way to the agent.", f"你对 {gate.code} 的答复正在送往代理。")


def all_on_their_way(count: int) -> Both:
    if count == 1:
        return Both("Your yes is on its way to the agent.", "已同意，正在送往代理。")
    return Both(f"Your yes to all {count} is on its way to the agent.", f"已全部同意（{count} 项），正在送往代理。")


def said_before(code: str, said: str) -> Both:
    return Both(
        f"That was said before {code} was asked, or just then, so it is no answer to it. Reply `{code} {said}` if you"
        " mean it.",
        f"这句话是在询问 {code} 之前或同时说的，所以不算答复。如果确实是这个意思，请回复 `{code} {said}`。",
    )


def may_mean_former(code: str, said: str) -> Both:
    """For a short reply of which nobody knows when it was said, where another gate was open a moment ago."""
    return Both(
        f"Another question was settled here meanwhile, so this may be meant for that one, and is no answer to {code}."
        f" Reply `{code} {said}` if you mean it.",
        f"这里刚有另一项被处理，这句话可能是对它说的，所以不算对 {code} 的答复。"
        f"如果确实是这个意思，请回复 `{code} {said}`。",
    )


def not_on_card(code: str) -> Both:
    """On a card that does not show a gate whole, and so has nothing that allows it."""
    return Both(
        f"⚠ This message does not show it whole, so nothing on it allows it. See it with `clew gates {code}`, allow it"
        f" with `clew approve {code}` or on clew's page.",
        "⚠ 这条消息没有完整显示内容，因此不能在这里点按允许。"
        f"用 `clew gates {code}` 查看全文，用 `clew approve {code}` 或在 clew 网页上允许。",
    )


def shown_before(count: int) -> Both:
    """On a card whose gate is shown whole in the messages before it."""
    where = "message before this one" if count == 1 else f"{count} messages before this one"
    return Both(f"What it asks is shown whole in the {where}.", f"完整内容见此前的 {count} 条消息。")


def not_whole(code: str) -> Both:
    """For whoever allows what was not shown whole where they are."""
    return Both(
        f"{code} was not shown whole here, so it cannot be allowed here. See it with `clew gates {code}`, allow it with"
        f" `clew approve {code}` or on the page. `{code} n` declines it.",
        f"{code} 没有在这里完整显示，因此不能在这里允许。"
        f"用 `clew gates {code}` 查看，用 `clew approve {code}` 或在网页上允许。`{code} n` 可拒绝。",
    )


def rule_not_shown(code: str) -> Both:
    """For whoever chooses a rule where none was shown."""
    return Both(
        f"That would make a rule that was not shown here, so nothing was allowed. `{code} y` allows it this once;"
        f" `clew gates {code}` shows the rule.",
        f"这会建立一条没有在这里显示过的规则，所以没有允许任何事。"
        f"`{code} y` 只允许这一次；`clew gates {code}` 可查看规则。",
    )


def not_arrived(code: str) -> Both:
    """For whoever allows what had not arrived where they are: the card, or a part before it."""
    return Both(
        f"{code} had not arrived here when you said that. Once you see all of it here, answer again: `{code} y`.",
        f"你回复时 {code} 还没有送达这里。等它在这里完整显示后，请再回复一次：`{code} y`。",
    )


def not_among_all(codes: Sequence[str]) -> Both:
    """Behind a yes to all: those that it did not mean."""
    listed = ", ".join(codes)
    return Both(
        f"Not {listed}, not shown whole here: `clew gates CODE` shows it, `clew approve CODE` allows it.",
        f"不含 {listed}：没有在这里完整显示；用 `clew gates CODE` 查看，用 `clew approve CODE` 允许。",
    )


def secret(code: str) -> Both:
    return Both(
        f"The answer to {code} is secret: give it with `clew answer {code}`, not here.",
        f"{code} 的答复是保密的：请用 `clew answer {code}` 提供，不要写在这里。",
    )


def secret_or_new(code: str) -> Both:
    """The same in a chat without a thread, where plain words begin one."""
    new = Both("`/new` and what there is to do begins something else.", "要做别的事，请用 /新建 加上内容。")
    return joined(" ", secret(code), new)


def which_one(replies: Sequence[str]) -> Both:
    return Both(f"Which one? Reply {' or '.join(replies)}.", f"是哪一项？请回复 {' 或 '.join(replies)}。")


def which_or_agent(replies: Sequence[str]) -> Both:
    """For a short answer in a conversation whose thread asks nothing, while gates of other threads are shown there."""
    return Both(
        f"Which one? Reply {' or '.join(replies)}. If it is for the agent here, quote its message or use more words.",
        f"是哪一项？请回复 {' 或 '.join(replies)}。如果是对这里的代理说的，请引用它的消息，或者多说几个字。",
    )


def which_button(replies: Sequence[str]) -> Both:
    """For a reaction to a card with several gates."""
    return Both(
        f"Several are open there, and a reaction does not say which. Press a button, or reply {' or '.join(replies)}.",
        f"那里有多项待答，表情回复无法说明是哪一项。请按按钮，或回复 {' 或 '.join(replies)}。",
    )


def no_gate(code: str) -> Both:
    return Both(
        f"There is no gate {code}; `clew gates`, or `/gates` in a chat, lists what is open.",
        f"没有代码为 {code} 的事项；/待办 列出未答复的。",
    )


def elsewhere(code: str) -> Both:
    return Both(f"{code} belongs to another thread; answer it there.", f"{code} 属于另一个会话；请到那里答复。")


def may_not_answer(who: str) -> Both:
    return Both(
        f"{who} may not answer gates here; `gates.approvers` in config.toml names who may.",
        f"{who} 不能在这里答复；config.toml 的 `gates.approvers` 列出可以答复的人。",
    )


def no_answer_to(code: str, said: str, known: str) -> Both:
    return Both(
        f"`{said}` is no answer to {code}. There are: {known}.", f"`{said}` 不是 {code} 的有效答复。可选：{zh(known)}。"
    )


def still_open(codes: Sequence[str]) -> Both:
    listed = ", ".join(codes)
    return Both(
        f"A question still waits for you: {listed}. `clew gates`, or `/gates` in a chat, shows it.",
        f"还有事项等你答复：{listed}。/待办 可查看。",
    )


def unknown_runtime(name: str, known: Sequence[str]) -> str:
    return f"There is no runtime named {name!r}; known here: {', '.join(known) or 'none'}."


def other_runtime(name: str) -> str:
    return f"This conversation is with {name}; leave `runtime` out, or begin another conversation."


def queued(ahead: int) -> Both:
    if ahead == 0:
        return Both("Queued: it runs next.", "已排队：接下来运行。")
    return Both(f"Queued behind {ahead} more.", f"已排队：前面还有 {ahead} 条。")


def not_run(count: int, why: str) -> Both:
    """For those who were told that it waits."""
    english = "A message that waited here does" if count == 1 else f"{count} messages that waited here do"
    return joined("", Both(f"{english} not run: ", f"这里等待的 {count} 条消息不再运行："), why, Both(".", "。"))


def cancelled(thread: str) -> Both:
    return Both(
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


def not_queued(turn: str) -> Both:
    return Both(
        f"Turn {turn} does not wait any more, so it cannot be taken back; stop it instead.",
        "这一轮已经开始，无法撤回；可以停止它。",
    )


def nothing_runs(thread: str) -> Both:
    return Both(
        f"Nothing runs in thread {thread}; `clew show {thread}` tells how it stands.",
        "现在没有在运行的任务；/状态 可查看本会话。",
    )


def still_works(thread: str) -> Both:
    return Both(
        f"Thread {thread} still works; `clew stop {thread}` first, or wait.", "会话还在运行；请先 /停止，或稍等。"
    )


def has_queued(thread: str, waiting: int) -> Both:
    return Both(
        f"Thread {thread} has {waiting} queued; let them run, or `clew cancel {thread}`.",
        f"会话还有 {waiting} 条排队；请让它们运行，或用 `clew cancel {thread}` 取消。",
    )


def is_cancelled(thread: str) -> Both:
    return Both(f"Thread {thread} is cancelled.", f"会话 {thread} 已取消。")


def no_folder(path: str) -> Both:
    return Both(
        f"The workspace {path} is not a folder; give the full path of one that exists.",
        f"{path} 不是目录；请给出已有目录的完整路径。",
    )


def cut_off(begun: Sequence[str]) -> Both:
    """Asked once, where continuing by itself could do something twice."""
    done = "".join(f"\n- {line}" for line in begun)
    english = f" Begun before that:{done}\n" if begun else " "
    chinese = f"此前已开始：{done}\n" if begun else ""
    return Both(
        f"This turn was cut off, and it may have done things already.{english}{CONTINUE_OR_STOP}",
        f"这一轮中断了，可能已经做了一些事。{chinese}{CONTINUE_OR_STOP.zh}",
    )


CUT_AGAIN = Both(
    f"This turn was cut off again; it had run and changed nothing. {CONTINUE_OR_STOP}",
    f"这一轮又中断了，没有运行或改动任何东西。{CONTINUE_OR_STOP.zh}",
)


def unknown_outcome(reason: str) -> Both:
    return Both(
        f"This turn was cut off, and what became of it could not be found out ({reason}). {CONTINUE_OR_STOP}",
        f"这一轮中断了，无法得知结果（{reason}）。{CONTINUE_OR_STOP.zh}",
    )


OLD_WORK_ASIDE = Both(
    "The work that was cut off is put aside; this is worked on instead.", "中断的工作已搁置；现在改做这件事。"
)
PUT_ASIDE = (
    "(From clew: your work on the request before was cut off before its end. The person was asked whether to go on with"
    " it, and says this instead. Do what they say now, and do not go on with that work unless they want it.)"
)


def continuation(begun: Sequence[str]) -> str:
    """For the agent: why it sees the request again."""
    text = "(From clew: your work on the request above was cut off before its end. Go on with it and finish it.)"
    if not begun:
        return text
    lines = "\n".join(f"- {line}" for line in begun)
    return (
        f"{text}\nThese were begun and have no recorded end; look whether they took effect before you do them again:\n"
        f"{lines}"
    )


def backlog(count: int) -> Both:
    waiting = "1 message" if count == 1 else f"{count} messages"
    return Both(
        f"clew was away, and {waiting} waited here. {ALL_MERGE_OR_SKIP}",
        f"clew 离开了一段时间，这里有 {count} 条消息在等。{ALL_MERGE_OR_SKIP.zh}",
    )


def still_backlog(count: int) -> Both:
    return Both(
        f"Kept, behind the {count} that wait. {ALL_MERGE_OR_SKIP}",
        f"已留下，排在等待的 {count} 条之后。{ALL_MERGE_OR_SKIP.zh}",
    )


def settled(asked: str, outcome: str) -> Both:
    """What was asked, without how to answer it, and what became of it. It was asked in one language already."""
    for how in (CONTINUE_OR_STOP, ALL_MERGE_OR_SKIP):
        asked = asked.removesuffix(how).removesuffix(how.zh)
    return joined("\n→ ", asked.rstrip(), outcome)


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


def final(state: TurnState, text: str, problem: Problem | None) -> Both:
    """The body of an answer."""
    if state is TurnState.COMPLETED:
        return joined("", text or Both("(Done, without words.)", "（已完成，没有文字答复。）"))
    if state is TurnState.INTERRUPTED:
        return joined("\n\n", text, Both("(Stopped.)", "（已停止。）"))
    failed = Both("The turn failed.", "这一轮失败了。")
    return joined("\n\n", text, joined("", "⚠ ", problem.message if problem else failed))


def task_failed(problem: Problem | None) -> str:
    return problem.message if problem else "The turn failed."


_KNOWN = {str(each): each for each in list(globals().values()) if isinstance(each, Both)}
