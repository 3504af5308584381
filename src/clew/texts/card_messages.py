"""What a card and its buttons say. It is rendered for one conversation at once, and never stored as a sentence with a
code; `gate_messages` has what is."""

from __future__ import annotations

from clew.model.gates import Decision, GateKind
from clew.texts import gate_messages
from clew.texts.bilingual import Bilingual, zh
from clew.texts.catalogue import chinese

HEADS = {
    GateKind.COMMAND: Bilingual("The agent asks to run a command", "智能体请求运行命令"),
    GateKind.CHANGE: Bilingual("The agent asks to change files", "智能体请求修改文件"),
    GateKind.PERMISSION: Bilingual("The agent asks for a permission", "智能体请求授权"),
    GateKind.QUESTION: Bilingual("The agent asks", "智能体提问"),
}
ASKED_AGAIN_HEAD = Bilingual("Asked again:", "再次询问：")
REMINDER_HEAD = Bilingual("Still waiting for you:", "还在等你答复：")
SHORT_ANSWER = Bilingual(
    "While this chat talks to this thread and nothing else is open, `y` or `n` alone will do.",
    "这里正在与本会话对话且没有别的待答事项时，只回复「同意」或「拒绝」即可。",
)
SHORT_ANSWER_TO_ALL = Bilingual(
    "While this chat talks to this thread, `yes all` allows all of them.",
    "这里正在与本会话对话时，回复「全部同意」即可全部允许。",
)


def agent_says(reason: str) -> Bilingual:
    return Bilingual(f"The agent says: {reason}", f"智能体说：{reason}")


def asked_by(agents: str) -> Bilingual:
    return Bilingual(f"asked by the sub-agent {agents}", f"提出请求的子智能体：{agents}")


def it_says(reason: str) -> Bilingual:
    """Below a line that names who asks."""
    return Bilingual(f"It says: {reason}", f"它说：{reason}")


def in_folder(folder: str) -> Bilingual:
    return Bilingual(f"in {folder}", f"目录：{folder}")


def how_to_stop(code: str) -> Bilingual:
    return Bilingual(f"Reply `{code} stop` to stop the turn.", f"回复 `{code} stop` 停止本轮。")


def how_to_decline(code: str) -> Bilingual:
    return Bilingual(
        f"Reply `{code} n` to decline, `{code} stop` to stop the turn too.",
        f"回复 `{code} n` 拒绝，`{code} stop` 拒绝并停止本轮。",
    )


def how_to_answer(code: str) -> Bilingual:
    return Bilingual(
        f"Reply `{code} y` or `{code} n`, or `{code}` and a number.",
        f"回复 `{code} y` 或 `{code} n`，或 `{code}` 加编号。",
    )


def how_to_stop_too(code: str) -> Bilingual:
    """For a card that does not show "decline and stop"."""
    return Bilingual(
        f"Reply `{code} y` or `{code} n`, `{code} stop` to decline and stop, or `{code}` and a number.",
        f"回复 `{code} y` 或 `{code} n`，`{code} stop` 表示拒绝并停止，或 `{code}` 加编号。",
    )


def how_to_answer_each(code: str) -> Bilingual:
    return Bilingual(f"Reply `{code} 1 2 …`: a number for each question.", f"回复 `{code} 1 2 …`：每个问题一个编号。")


def how_to_write(code: str) -> Bilingual:
    return Bilingual(f"Reply with `{code} your answer`.", f"回复 `{code} 你的答案`。")


def or_own_words(code: str) -> Bilingual:
    return Bilingual(f" or `{code} your own words`", f"，或 `{code} 你自己的话`")


def how_to_choose(code: str, other: str) -> Bilingual:
    return Bilingual(f"Reply with `{code} 1` or another number{other}.", f"回复 `{code} 1` 或其他编号{other}。")


def how_to_choose_by_words(code: str, other: str) -> Bilingual:
    return Bilingual(
        f"Reply with `{code}` and an option's own words, with `{code} #1`{other}.",
        f"回复 `{code}` 加选项原文，或 `{code} #1`{other}。",
    )


def secret_on_card(code: str) -> Bilingual:
    words = f"The answer is secret: give it with `clew answer {code}`, not here."
    return Bilingual(words, chinese(gate_messages.secret(code).coded))


# Parts of a request

TITLES = {
    GateKind.COMMAND: Bilingual("Command:", "命令："),
    GateKind.CHANGE: Bilingual("Files:", "文件："),
    GateKind.PERMISSION: Bilingual("Permission:", "权限："),
}
FOLDER = Bilingual("Folder:", "目录：")
QUESTION = Bilingual("Question:", "问题：")
IN_FULL = Bilingual("In full:", "详细内容：")
AGENT_SAYS = Bilingual("The agent says:", "智能体说：")
IT_SAYS = Bilingual("It says:", "它说：")
CONTINUED = Bilingual("(it goes on)", "（续）")


def option(number: int) -> Bilingual:
    return Bilingual(f"Option {number}:", f"选项 {number}：")


def long_line(length: int) -> Bilingual:
    return Bilingual(f"A line of {length:,} characters:", f"有一行共 {length:,} 个字符：")


def lines(count: int) -> Bilingual:
    return Bilingual(f"{count:,} lines:", f"共 {count:,} 行：")


def part(code: str, number: int, count: int) -> Bilingual:
    return Bilingual(
        f"{code}: part {number} of {count} of what the agent asks",
        f"{code}：智能体请求的内容，第 {number}/{count} 部分",
    )


# Choices and buttons

ALLOW = Bilingual("allow", "允许")
DECLINE = Bilingual("decline", "拒绝")
IN_THREAD = Bilingual("allow it in this thread from now on", "在本会话中一直允许")
AND_STOP = Bilingual("decline and stop the turn", "拒绝并停止本轮")
THIS = Bilingual("This", "这")  # a secret answer that is not an option
OWN_WORDS = Bilingual("an answer in your words", "用你自己的话回答")
ALLOW_BUTTON = Bilingual("✅ Allow", "✅ 允许")
ALLOW_ALL_BUTTON = Bilingual("✅ Allow all", "✅ 全部允许")
IN_THREAD_BUTTON = Bilingual("Allow in this thread", "在本会话中允许")
DECLINE_BUTTON = Bilingual("🚫 Decline", "🚫 拒绝")
AND_STOP_BUTTON = Bilingual("⏹ Decline and stop", "⏹ 拒绝并停止")
CONTINUE_BUTTON = Bilingual("▶ Continue", "▶ 继续")
STOP_BUTTON = Bilingual("⏹ Stop", "⏹ 停止")
RUN_ALL_BUTTON = Bilingual("▶ Run all", "▶ 全部运行")
MERGE_BUTTON = Bilingual("Merge", "合并")
SKIP_BUTTON = Bilingual("Skip", "跳过")
GO_ON_BUTTON = Bilingual("▶ Go on", "▶ 继续这一轮")
RAISE_BUTTON = Bilingual("Raise", "提高预算")
EDIT_BUTTON = Bilingual("✏️ Send the edit", "✏️ 发送修改")


def rule(pattern: str) -> Bilingual:
    return Bilingual(f"allow `{pattern}` here for 2 h", f"两小时内在这里允许 `{pattern}`")


# The state of a gate in one line

ANSWERS = {
    Decision.ACCEPT: Bilingual("yes", "同意"),
    Decision.DECLINE: Bilingual("no", "拒绝"),
    Decision.CANCEL: Bilingual("stop", "要求停止"),
    Decision.REPLY: Bilingual("an answer", "已回答"),
}
OUTCOMES = {
    Decision.ACCEPT: Bilingual("allowed", "已允许"),
    Decision.DECLINE: Bilingual("declined", "已拒绝"),
    Decision.CANCEL: Bilingual("declined and stopped", "已拒绝并停止"),
    Decision.REPLY: Bilingual("answered", "已回答"),
}
FROM_NOW_ON = Bilingual(" (from now on in this thread)", "（此后在本会话中一直允许）")


def new_rule(pattern: str, hours: str) -> Bilingual:
    """A rule that was made with a yes. `hours`: how long it lasts; empty: for ever."""
    lasts, chinese_lasts = (f" for {hours} h", f"，{hours} 小时内有效") if hours else ("", "")
    return Bilingual(f" (new rule: allow {pattern}{lasts})", f"（新规则：允许 {pattern}{chinese_lasts}）")


def waits(code: str, about: str) -> Bilingual:
    return Bilingual(f"{code} waits for an answer: {about}", f"{code} 等待答复：{about}")


def on_its_way(code: str, answer: str, by: str, about: str) -> Bilingual:
    english = f"{code}: {answer} by {by}, on its way to the agent: {about}"
    return Bilingual(english, f"{code}：{zh(by)} {zh(answer)}，正在送往智能体：{about}")


def settled(code: str, outcome: str, by: str, about: str) -> Bilingual:
    return Bilingual(f"{code}: {outcome} by {by}: {about}", f"{code}：{zh(by)} {zh(outcome)}：{about}")


def expired(code: str, about: str) -> Bilingual:
    return Bilingual(f"{code} expired without an answer: {about}", f"{code} 无人答复，已过期：{about}")


def void(code: str, why: str, about: str) -> Bilingual:
    return Bilingual(f"{code} is void ({why}): {about}", f"{code} 已失效（{zh(why)}）：{about}")
