"""Replies to chat commands, in the language of the conversation. Refusals of commands are in `catalogue/`."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct


class Replies(Struct, frozen=True):
    is_chinese: bool

    def __call__(self, name: str, /, **given: object) -> str:
        english, chinese = SENTENCES[name]
        return (chinese if self.is_chinese else english).format(**given)


SENTENCES: Mapping[str, tuple[str, str]] = {
    "running": ("running", "运行中"),
    "idle": ("idle", "空闲"),
    "suspended": ("suspended", "等待中"),
    "completed": ("completed", "已完成"),
    "cancelled": ("cancelled", "已取消"),
    "new": ("The next message here begins a new thread.", "这里的下一条消息将开启新会话。"),
    "no_threads": ("There are no open threads; say something to begin one.", "没有进行中的会话；直接说话即可开始。"),
    "resume_how": ("/resume NUMBER or NAME goes on with one here.", "/继续 编号或代号 即可在这里继续。"),
    "only_here": (
        "In a group only the threads of this chat are listed; in our direct chat you see all.",
        "群聊里只列出本聊天的会话；在与我的单聊里可以看到全部。",
    ),
    "resumed": ("Here you talk to: {title}", "现在这里是会话：{title}"),
    "forked": (
        "A fork of it is bound here now; the old thread stays as it is.",
        "已分叉，这里现在是新会话；原会话保持不变。",
    ),
    "handing": (
        "Handing it to {surface} …",
        "正在移交到 {surface} …",
    ),
    "away": (
        "While you are away, what the computer would show comes to {surface}. /back ends it.",
        "你离开期间，桌面上的内容会发到 {surface}。/回来 结束。",
    ),
    "back": ("Welcome back: clew shows it at the computer again.", "欢迎回来：内容重新显示在桌面上。"),
    "not_away": ("You were not away.", "你并没有离开。"),
    "stopping": ("Stopping it.", "正在停止。"),
    "stopping_one": (
        "Stopping it. Queued behind it, so it runs next: {count}. /stop stops that too.",
        "正在停止。后面还有 {count} 条排队，接着运行；/停止 也可停止它。",
    ),
    "queued": ("{count} queued.", "排队中：{count} 条。"),
    "waits": ("Waits for you: {codes}", "等你答复：{codes}"),
    "delivery_pending": ("pending", "等待发送"),
    "delivery_sending": ("sending", "正在发送"),
    "delivery_sent": ("sent", "已发送"),
    "delivery_failed": ("failed", "发送失败"),
    "delivery_no_target": ("no_target", "没有目标"),
    "delivery_superseded": ("superseded", "已被取代"),
    "nothing_sent": ("Nothing was sent yet.", "还没有发送过答复。"),
    "usage_of_thread": ("This thread: {used}", "本会话：{used}"),
    "usage_of_day": ("Today: {used}", "今天：{used}"),
    "usage_budget": ("Budget of {what}: {used} of {limit}", "{what}的预算：{used}（上限 {limit}）"),
    "budget_thread": ("this thread", "本会话"),
    "budget_person": ("{name} today", "{name} 今天"),
    "budget_account": ("{name} today", "{name} 今天"),
    "budget_day": ("today", "今天"),
    "no_gates": ("Nothing waits for you.", "没有等你答复的事项。"),
    "home": (
        "This is the home of {surface} now: what has no better place comes here.",
        "这里现在是 {surface} 的主页：没有别处可去的消息会发到这里。",
    ),
    "runtime_of_thread": ("The agent of this thread: {value}.", "本会话的智能体：{value}。"),
    "runtime_of_next": ("The agent of new threads here: {value}.", "这里新会话的智能体：{value}。"),
    "switched": (
        "From the next turn on, {runtime} works on this thread. It is told what happened before.",
        "从下一轮起，由 {runtime} 处理本会话，并会得知之前的经过。",
    ),
    "switched_after": (
        "From the next turn on, {runtime} works on this thread. The turn that runs now goes on with {former}.",
        "从下一轮起，由 {runtime} 处理本会话。正在进行的这一轮仍由 {former} 完成。",
    ),
    "works_already": ("{runtime} works on this thread already.", "本会话已经由 {runtime} 处理。"),
    "asked_agent": ("{runtime} is asked. Its answer comes here.", "已询问 {runtime}，答复会发到这里。"),
    "model_of_thread": ("The model of this thread: {value}.", "本会话的模型：{value}。"),
    "model_of_next": ("The model of new threads here: {value}.", "这里新会话的模型：{value}。"),
    "effort_of_thread": ("The effort of this thread: {value}.", "本会话的思考强度：{value}。"),
    "effort_of_next": ("The effort of new threads here: {value}.", "这里新会话的思考强度：{value}。"),
    "policy_of_thread": ("The policy of this thread: {value}.", "本会话的策略：{value}。"),
    "policy_of_next": ("The policy of new threads here: {value}.", "这里新会话的策略：{value}。"),
    "priority_of_thread": ("The priority of this thread: {value}.", "本会话的优先级：{value}。"),
    "default": ("the agent's default", "由智能体决定"),
    "agents_default": ("{name}, the agent's default", "{name}（智能体的默认值）"),
    "choices": ("Choose: {known}", "可选：{known}"),
    "from_next_turn": ("From the next turn of this thread on: {what}.", "从本会话的下一轮起生效：{what}。"),
    "no_rules": (
        "No rule applies here: commands that only read are allowed, anything else is asked.",
        "这里没有规则：只读命令直接允许，其余都会询问。",
    ),
    "rules_how": ("/rules remove NUMBER removes one.", "/规则 删除 编号 删除其中一条。"),
    "rule_removed": ("Removed: {rule}", "已删除：{rule}"),
    "rule_allow": ("allow:", "允许："),
    "rule_ask": ("ask:", "询问："),
    "rule_deny": ("deny:", "拒绝："),
    "rule_thread": ("in this thread", "本会话"),
    "rule_workspace": ("in this folder", "本目录"),
    "rule_everywhere": ("everywhere", "全部"),
    "rule_command": ("the command {pattern}", "命令 {pattern}"),
    "rule_change": ("changes of {pattern}", "修改 {pattern}"),
    "rule_tool": ("the tool {pattern}", "工具 {pattern}"),
    "rule_exact": ("exactly one request", "一个确切的请求"),
    "no_history": ("Nothing was said in this thread yet.", "本会话还没有消息。"),
    "no_answer": ("(no answer)", "（没有答复）"),
    "no_changes": ("The agent reported no changes of files in this thread.", "智能体在本会话中没有报告文件改动。"),
    "diff_as_file": ("The changes are in the file.", "改动在文件里。"),
    "file_sent": ("Here is {name}.", "这是 {name}。"),
    "folder_how": ("/dir NUMBER or /dir FOLDER chooses another one.", "/目录 编号 或 /目录 路径 选择别的目录。"),
    "folder_is": ("New threads here work in {name}.", "这里的新会话在 {name} 中工作。"),
    "from_now": ("From the next /new on: {what}.", "从下一次 /新建 起生效：{what}。"),
    "done": ("Done. Say something here whenever you want to pick it up again.", "已完成。想继续时直接在这里说话即可。"),
    "other_messages": (
        "Everything else is for the agent; two slashes begin a message with a slash.",
        "其余内容都会交给智能体；要发送以斜杠开头的消息，请写两个斜杠。",
    ),
}
