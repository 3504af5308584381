"""What clew itself says to people, in one place, so that every surface uses the same words."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from clew.asking import Gate
from clew.model import Problem, TurnState

CONTINUE = frozenset({"", "continue", "go on", "yes", "继续", "好"})
STOP = frozenset({"stop", "no", "停止", "不用了"})
RUN_ALL = frozenset({"run all", "run", "all", "全部运行", "全部"})
MERGE = frozenset({"merge", "合并"})
SKIP = frozenset({"skip", "跳过"})

CONTINUED = "clew was interrupted while this ran; the work was continued."
DECLINED = "Something was declined that clew cannot ask a person about."
POSSIBLE_REPEAT = "This may be a repeat: clew was interrupted while it was sent."
RECOVERED = "Recovered: clew was interrupted while it was sent."
MIB = 1 << 20
WORKING = "Working on it …"
STEERED = "Passed on to the running turn."
STEER_QUEUED = "Your message came too late for the running turn; it is queued and runs next."
MAY_HAVE_RUN = "It may already have run: an earlier yes was on its way when the work was cut off."
CUT = "the work was cut off; it is asked again if it is still needed"
CUT_SENT = "the work was cut off while the answer was on its way; it may have counted"
WITHDRAWN = "the agent does not need it any more"
TURN_OVER = "the turn is over"
OVER_SENT = "the turn ended while the answer was on its way; it may have counted"
THREAD_OVER = "the thread was cancelled"
ASKED_AGAIN = "the agent has asked it again since"
GONE = "the agent did not wait for it any more"
DID_NOT_ARRIVE = "The last answer did not reach the agent."
SECRET_LOST = "The secret answer was lost with a restart; give it again."
THREAD_DONE = "the thread is done"
CONTINUED_BY = "continued by {who}"
STOPPED_BY = "stopped by {who}"
RUN_BY = "run in their order, by {who}"
MERGED_BY = "merged into one by {who}"
SKIPPED_BY = "skipped by {who}"
CONTINUE_OR_STOP = "Reply `continue` or `stop`."
ALL_MERGE_OR_SKIP = "Reply `run all`, `merge` (into one) or `skip`."
NO_ANSWER = "nobody answered in time"
NOT_RUN = "not run"
EMPTY = "There was nothing in that message; say something."


FILE_GONE = "it is not there. 文件不存在。"
FILE_EMPTY = "it is empty. 文件是空的。"
FILE_OUTSIDE = "it is not in this thread's folder. 不在本会话的目录里。"
FILE_KIND = "clew sends pictures, documents and archives only, and nothing hidden. 只发送图片、文档和压缩包。"
SETTLED = "That was settled already."
BROKEN = "clew itself failed on this message; `clew logs` has the details. Nothing was done with it."
STRANGER = "I do not know you. 我不认识你。"
WELCOME = "You are in. Say what there is to do; /help tells what else. 你可以开始了：直接说要做什么；/帮助 查看命令。"
WATCHER = "You may look on here, and not send. 你只能旁观，不能发送消息。"


def pairing(code: str) -> str:
    return (
        f"I do not know you yet. Your code is {code}: whoever runs this clew lets you in with `clew pair {code}`,"
        f" within an hour.\n我还不认识你。你的配对码是 {code}：请运行本 clew 的人在一小时内执行 `clew pair {code}`。"
    )


def place(surface: str, desk: str) -> str:
    return "the desk" if surface == desk else surface


def moved(surface: str, desk: str) -> str:
    """What stands in the old place of something that goes on in another."""
    return f"→ moved to {place(surface, desk)}"


def taken_up(by: str, surface: str, desk: str) -> str:
    """For the place that drove before."""
    there = "at the desk" if surface == desk else f"in {surface}"
    who = "This goes on" if by in ("", "you") else f"{by} goes on with this"
    return f"{who} {there}. Say something here to take it back."


def handed(title: str, running: bool, displaced: str | None, again: bool) -> str:
    """The first words where a thread is handed to."""
    lines = [
        f"You can go on here: {title}",
        *(["It is being worked on right now; the answer comes here."] if running else []),
        *([f"This place was bound to {displaced}; /threads and /resume lead back to it."] if displaced else []),
        *(["clew was interrupted on the way: an empty topic of the same name may stand beside this."] if again else []),
    ]
    return "\n".join(lines)


HANDED_BACK = "→ taken back: this thread is not here"
GREET = (
    "(From clew: this conversation was just moved to another place, where the person reads on, probably on a phone."
    " Say hello in one line, and sum up in a few lines what was done and what is open. Do nothing else.)"
)


def not_handed(surface: str, reason: str) -> str:
    return f"It was not handed to {surface}: {reason} It stays here."


def note(continued: bool, declined: int) -> str:
    """The small print of an answer; empty almost always."""
    return " ".join(text for text, applies in ((CONTINUED, continued), (DECLINED, declined > 0)) if applies)


def footer(elapsed: float, tokens: int, thread: str) -> str:
    """In a chat, below each answer: `12 s · 1,234 tokens · 7F3K2M`."""
    used = f"{tokens:,} tokens" if tokens else ""
    return " · ".join(part for part in (seconds(elapsed), used, thread[-6:]) if part)


def seconds(elapsed: float) -> str:
    if elapsed < 60:
        return f"{elapsed:.0f} s"
    minutes, rest = divmod(int(elapsed), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def file_stays(name: str, why: str) -> str:
    """In place of a file that was named and does not come along."""
    return f"📎 {name}: {why}"


def file_too_large(size: int, largest: int) -> str:
    most = f"{largest / MIB:.0f} MB"
    return f"it is too large to send here ({max(size, largest + MIB) / MIB:.0f} MB; at most {most}). 文件超过 {most}。"


def more_files(count: int, most: int) -> str:
    return f"📎 {count} more: at most {most} files come with one answer. 另有 {count} 个文件未发送。"


def by_rule(why: str) -> str:
    return f"clew ({why})"


def answered_before(gate: Gate) -> str:
    """For whoever comes later: who answered what, and when."""
    if gate.answer is None:
        return f"{gate.code} is {gate.state}: {gate.why or NO_ANSWER}."
    said = {"accept": "yes", "decline": "no", "cancel": "no, and to stop"}.get(gate.answer.decision, "its answer")
    when = datetime.fromtimestamp((gate.answered_at or 0) / 1000).astimezone().strftime("%H:%M:%S")
    return f"{gate.code} was answered by {gate.answered_by} at {when}: {said}. It is {gate.state} now."


def on_its_way(gate: Gate) -> str:
    return f"Your answer to {gate.code} is on its way to the agent."


def all_on_their_way(count: int) -> str:
    return f"Your yes to all {count} is on its way to the agent."


def said_before(code: str, said: str) -> str:
    return f"That was said before {code} was asked, so it is no answer to it. Reply `{code} {said}` if you mean it."


def secret(code: str) -> str:
    return f"The answer to {code} is secret: give it with `clew answer {code}`, not here."


def still_open(codes: Sequence[str]) -> str:
    return f"A question still waits for you: {', '.join(codes)}. `clew gates` shows it."


def unknown_runtime(name: str, known: Sequence[str]) -> str:
    return f"There is no runtime named {name!r}; known here: {', '.join(known) or 'none'}."


def other_runtime(name: str) -> str:
    return f"This conversation is with {name}; leave `runtime` out, or begin another conversation."


def queued(ahead: int) -> str:
    return "Queued: it runs next." if ahead == 0 else f"Queued behind {ahead} more."


def cancelled(thread: str) -> str:
    return f"Thread {thread} is cancelled and never runs again; `clew fork {thread}` begins a new one from it."


def cannot_resume(thread: str, status: str) -> str:
    hint = {
        "running": "it is running; `clew send` reaches it",
        "idle": "it is idle; `clew send` goes on with it",
        "cancelled": "it is cancelled; `clew fork` begins a new one from it",
    }.get(status, status)
    return f"Thread {thread} cannot be resumed: {hint}."


def cut_off(begun: Sequence[str]) -> str:
    """Asked once, where continuing by itself could do something twice."""
    done = "".join(f"\n- {line}" for line in begun)
    list_ = f" Begun before that:{done}\n" if begun else " "
    return f"This turn was cut off, and it may have done things already.{list_}{CONTINUE_OR_STOP}"


CUT_AGAIN = f"This turn was cut off again, before it had done anything. {CONTINUE_OR_STOP}"


def unknown_outcome(reason: str) -> str:
    return f"This turn was cut off, and what became of it could not be found out ({reason}). {CONTINUE_OR_STOP}"


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


def backlog(count: int) -> str:
    waiting = "1 message" if count == 1 else f"{count} messages"
    return f"clew was away, and {waiting} waited here. {ALL_MERGE_OR_SKIP}"


def still_backlog(count: int) -> str:
    return f"Kept, behind the {count} that wait. {ALL_MERGE_OR_SKIP}"


def settled(asked: str, outcome: str) -> str:
    """What was asked, without how to answer it, and what became of it."""
    for how in (CONTINUE_OR_STOP, ALL_MERGE_OR_SKIP):
        asked = asked.removesuffix(how)
    return f"{asked.rstrip()}\n→ {outcome}"


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


def final(state: TurnState, text: str, problem: Problem | None) -> str:
    """The body of an answer."""
    if state is TurnState.COMPLETED:
        return text or "(Done, without words.)"
    if state is TurnState.INTERRUPTED:
        return f"{text}\n\n(Stopped.)" if text else "(Stopped.)"
    reason = f"⚠ {problem.message if problem else 'The turn failed.'}"
    return f"{text}\n\n{reason}" if text else reason


def task_failed(problem: Problem | None) -> str:
    return problem.message if problem else "The turn failed."
