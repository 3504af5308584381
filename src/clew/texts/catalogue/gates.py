"""Sentences about gates."""

from __future__ import annotations

SENTENCES: dict[str, tuple[str, str]] = {
    "declined": (
        "Something was declined that clew cannot ask a person about.",
        "有一项 clew 无法向人询问的请求已被拒绝。",
    ),
    "may_have_run": (
        "It may already have run: an earlier yes was on its way when the work was cut off.",
        "它可能已经运行过：工作中断时，先前的同意正在送达途中。",
    ),
    "cut": (
        "the work was cut off; it is asked again if it is still needed",
        "工作中断了；如仍需要会重新询问",
    ),
    "cut_kept": (
        "the work was cut off; the answer counts if the same is asked again soon",
        "工作中断了；如果很快再问同一件事，这个答复仍然有效",
    ),
    "cut_sent": (
        "the work was cut off while the answer was on its way; it may have counted",
        "答复送达途中工作中断了；可能已生效",
    ),
    "ran_out": (
        "the agent waits only so long for an answer, and that time ran out; it asks anew",
        "智能体等待回答的时间有限，已经超时；它会重新询问",
    ),
    "stranded": (
        "The place where this belongs takes nothing any more.",
        "它所属的会话已无法接收消息。",
    ),
    "withdrawn": (
        "the agent does not need it any more",
        "智能体不再需要",
    ),
    "turn_over": (
        "the turn is over",
        "本轮已结束",
    ),
    "over_sent": (
        "the turn ended while the answer was on its way; it may have counted",
        "答复送达途中本轮已结束；可能已生效",
    ),
    "thread_over": (
        "the thread was cancelled",
        "会话已取消",
    ),
    "stopped_first": (
        "it was stopped before it began",
        "开始之前已被停止",
    ),
    "unread_at_stop": (
        "the turn was stopped before the agent read it; send it again if you still want it",
        "智能体读到之前，这一轮已被停止；如果仍然需要，请重新发送",
    ),
    "taken_back": (
        "it was taken back",
        "已被撤回",
    ),
    "asked_again": (
        "the agent has asked it again since",
        "智能体之后又重新询问了",
    ),
    "changed": (
        "what it would do has changed since, so it is asked anew",
        "它要做的事已发生变化，因此重新询问",
    ),
    "gone": (
        "the agent did not wait for it any more",
        "智能体没有再等",
    ),
    "did_not_arrive": (
        "The last answer did not reach the agent.",
        "上次的答复没有送到智能体。",
    ),
    "secret_lost": (
        "The secret answer was lost with a restart; give it again.",
        "保密的答复在重启时丢失了；请重新提供。",
    ),
    "thread_done": (
        "the thread is done",
        "会话已完成",
    ),
    "no_answer": (
        "nobody answered in time",
        "没有人及时答复",
    ),
    "on_its_way": (
        "Your answer to {code} is on its way to the agent.",
        "你对 {code} 的答复正在送往智能体。",
    ),
    "all_on_their_way": (
        "Your yes is on its way to the agent.",
        "已同意，正在送往智能体。",
    ),
    "all_on_their_way_many": (
        "Your yes to all {count} is on its way to the agent.",
        "已全部同意（{count} 项），正在送往智能体。",
    ),
    "said_before": (
        "That was said before {code} was asked, or just then, so it is not an answer to it. Reply `{code} "
        "{said}` if you mean it.",
        "这句话是在询问 {code} 之前或同时说的，所以不算答复。如果确实是这个意思，请回复 `{code} {said}`。",
    ),
    "leads_to": (
        "{name} is really {where}: a link leads there.",
        "{name} 实际是 {where}：有链接指向那里。",
    ),
    "not_on_card": (
        "⚠ This message does not show it whole, so nothing on it allows it. At the computer, see it with"
        " `clew gates {code}`, and allow it with `clew approve {code}` or on clew's page.",
        "⚠ 这条消息没有完整显示内容，因此不能在这里点按允许。请在电脑上用 `clew gates {code}` 查看全文，用"
        " `clew approve {code}` 或在 clew 网页上允许。",
    ),
    "not_whole": (
        "{code} was not shown whole here, so it cannot be allowed here. At the computer, see it with"
        " `clew gates {code}`, and allow it with `clew approve {code}` or on the page. `{code} n` declines it.",
        "{code} 没有在这里完整显示，因此不能在这里允许。请在电脑上用 `clew gates {code}` 查看，用"
        " `clew approve {code}` 或在网页上允许。`{code} n` 可拒绝。",
    ),
    "comes_now": (
        "You have not seen {code} here yet, so it was not allowed. It comes now: look at it, then answer it.",
        "你还没有在这里看过 {code}，所以没有允许。它马上显示在下面：请看清楚后再答复。",
    ),
    "not_shown_here": (
        "{code} was not shown here, so it cannot be allowed here. Allow it where it was asked, or at the computer:"
        " `clew gates {code}` shows it whole. `{code} n` declines it.",
        "{code} 没有在这里显示过，因此不能在这里允许。请在询问它的地方允许，或在电脑上用 `clew gates {code}` 查看全文"
        "后允许。`{code} n` 可拒绝。",
    ),
    "rule_not_shown": (
        "That would make a rule that was not shown here, so nothing was allowed. `{code} y` allows it this "
        "once; `clew gates {code}` shows the rule.",
        "这会建立一条没有在这里显示过的规则，所以没有允许任何事。`{code} y` 只允许这一次；"
        "`clew gates {code}` 可查看规则。",
    ),
    "wildcards_in_pattern": (
        "`{pattern}` stands word for word in {code}. In a rule, a `*` would match anything, and `?` and `[` "
        "other characters, so it would allow more than that. `clew approve {code} --thread` allows exactly "
        "this from now on. In a rule, write `[*]`, `[?]` and `[[]` for the signs themselves.",
        "`{pattern}` 是 {code} 里的原文。但在规则里，`*` 会匹配任何内容，`?` 和 `[` 会匹配别的字符，因此会允"
        "许更多。`clew approve {code} --thread` 只允许同样的请求。如果要在规则里表示这些符号本身，请写 `[*]`"
        "、`[?]` 和 `[[]`。",
    ),
    "not_arrived": (
        "{code} had not arrived here when you said that. Once you see all of it here, answer again: `{code} y`.",
        "你回复时 {code} 还没有送达这里。等它在这里完整显示后，请再回复一次：`{code} y`。",
    ),
    "not_among_all": (
        "Not {listed}, not shown whole here: at the computer, `clew gates CODE` shows it, and `clew approve CODE`"
        " allows it.",
        "不含 {listed}：没有在这里完整显示；请在电脑上用 `clew gates CODE` 查看，用 `clew approve CODE` 允许。",
    ),
    "secret": (
        "The answer to {code} is secret: give it at the computer with `clew answer {code}`, not here.",
        "{code} 的答复是保密的：请在电脑上用 `clew answer {code}` 提供，不要写在这里。",
    ),
    "no_gate": (
        "There is no gate {code}; `clew gates`, or `/gates` in a chat, lists what is open.",
        "没有编号为 {code} 的事项；/待办 列出未答复的。",
    ),
    "elsewhere": (
        "{code} belongs to another thread; answer it there.",
        "{code} 属于另一个会话；请到那里答复。",
    ),
    "may_not_answer": (
        "{who} may not answer gates here; `gates.approvers` in config.toml names who may.",
        "{who} 不能在这里答复；config.toml 的 `gates.approvers` 列出可以答复的人。",
    ),
    "no_answer_to": (
        "`{said}` is not an answer to {code}. There are: {known}.",
        "`{said}` 不是 {code} 的有效答复。可选：{known}。",
    ),
    "no_such_number": (
        "There is no answer {number} to {code}. There are: {known}.",
        "{code} 没有编号为 {number} 的答复。可选：{known}。",
    ),
    "number_each": (
        "`{said}` does not answer the {questions} questions of {code}. Reply `{again} 1 2 …`: a number for each.",
        "`{said}` 没有回答 {code} 的 {questions} 个问题。请回复 `{again} 1 2 …`：每个问题一个编号。",
    ),
    "still_open": (
        "A question still waits for you: {listed}. `clew gates`, or `/gates` in a chat, shows it.",
        "还有事项等你答复：{listed}。/待办 可查看。",
    ),
    "by_rule": ("clew ({why})", "clew（{why}）"),
    "either": ("{first} or {other}", "{first} 或 {other}"),
    "which_one": ("Which one? Reply {replies}.", "是哪一项？请回复 {replies}。"),
    "which_or_agent": (
        "Which one? Reply {replies}. If it is for the agent here, quote its message or use more words.",
        "是哪一项？请回复 {replies}。如果是对这里的智能体说的，请引用它的消息，或者多说几个字。",
    ),
    "which_button": (
        "Several are open there, and a reaction does not say which. Press a button, or reply {replies}.",
        "那里有多项待答，表情回复无法说明是哪一项。请按按钮，或回复 {replies}。",
    ),
    "shown_before": (
        "What it asks is shown whole in the message before this one.",
        "完整内容见此前的 1 条消息。",
    ),
    "shown_before_in": (
        "What it asks is shown whole in the {count} messages before this one.",
        "完整内容见此前的 {count} 条消息。",
    ),
    "answered_before": (
        "{code} was answered by {by} at {when}: {answer}. It is {state} now.",
        "{code} 已由{by}在 {when} 答复：{answer}。",
    ),
    "closed_before": ("{code} is {state}: {why}.", "{code} 已失效：{why}。"),
    "said_yes": ("yes", "同意"),
    "said_no": ("no", "拒绝"),
    "said_stop": ("no, and to stop", "拒绝并停止"),
    "said_other": ("its answer", "已回答"),
    "in_a_row": ("{first} {other}", "{first}{other}"),
    "not_a_code": (
        "{name} is not a gate code; `clew gates` lists them.",
        "{name} 不是事项编号；`clew gates` 列出全部。",
    ),
    "not_found": (
        "There is no gate {name}; `clew gates` lists what is open.",
        "没有事项 {name}；`clew gates` 列出未答复的。",
    ),
    "ambiguous": (
        "{name} could be {first} or {second}, or others; give the code.",
        "{name} 可能是 {first}、{second} 或别的；请给出编号。",
    ),
    "wants_answer": (
        "{code} is a question: `clew answer {code} …` answers it.",
        "{code} 是一个问题：请用 `clew answer {code} …` 回答。",
    ),
    "wants_yes_or_no": (
        "{code} wants a yes or a no: `clew approve {code}` or `clew deny {code}`.",
        "{code} 需要同意或拒绝：`clew approve {code}` 或 `clew deny {code}`。",
    ),
    "reason_with_yes": (
        "A reason belongs to a no, and this is a yes to {code}: say it without, or decline.",
        "理由只用于拒绝，而这是对 {code} 的同意：请去掉理由，或改为拒绝。",
    ),
    "no_safe_rule": (
        "There is no safe rule to make from `{title}`; accept it once, or write one: `clew rules add`.",
        "无法从 `{title}` 得出安全的规则；请只同意这一次，或自己写一条：`clew rules add`。",
    ),
    "sub_agent_once": (
        "A sub-agent asks {code}, so a yes is for this once; a rule of your own is made with `clew rules add`.",
        "{code} 由子智能体提出，只能同意这一次；需要规则时请用 `clew rules add` 自己写一条。",
    ),
    "answers_count": (
        "There are {questions} questions and {answers} answers; give one to each.",
        "有 {questions} 个问题和 {answers} 个答复；请逐一回答。",
    ),
    "answer_missing": ("An answer to “{question}” is missing.", "“{question}”还没有答复。"),
    "one_answer": ("“{question}” takes one answer, not {count}.", "“{question}”只能有一个答复，而不是 {count} 个。"),
    "not_an_option": (
        "{given} is not an answer to “{question}”; there are {known}.",
        "{given} 不是“{question}”的有效答复；可选：{known}。",
    ),
    "rule_needs_folder": ("A rule for a workspace needs its folder.", "工作区的规则需要给出目录。"),
    "rule_not_found": (
        "There is no one rule {name}: `clew rules list` lists them.",
        "没有规则 {name}：`clew rules list` 列出全部。",
    ),
    "rule_ambiguous": (
        "There is no one rule {name}: there are several; give more of its id.",
        "规则 {name} 有多条：请给出更长的编号。",
    ),
    "not_covered": (
        "`{pattern}` does not cover what {code} asks. Allow it once, or make the rule with `clew rules add allow`.",
        "`{pattern}` 不包含 {code} 所请求的内容。请只允许这一次，或用 `clew rules add allow` 建立规则。",
    ),
    "rules_changed": (
        "The rules that answered it have changed.",
        "先前作答的规则已有变化。",
    ),
    "in_group": (
        "In a group clew takes no bare word for an answer. Press a button, quote the card, or reply {replies}.",
        "在群聊里，clew 不会把单独一个词当作答复。请按按钮、引用卡片，或回复 {replies}。",
    ),
    "rule_by_number": (
        "That would make a rule. Reply `{code} {said}` if you mean it; `{code} y` allows it this once.",
        "这会建立一条规则。如果确实是这个意思，请回复 `{code} {said}`；`{code} y` 只允许这一次。",
    ),
    "too_quick": (
        "This message changed only a moment ago, so {code} was not allowed. Look at it, and press again.",
        "这条消息刚刚有变化，所以没有允许 {code}。请看清楚后再按一次。",
    ),
    # What people type at gates
    "may_mean_former": (
        "Another question was settled here meanwhile, so this may be meant for that one, and is not an answer to"
        " {code}. Reply `{code} {said}` if you mean it.",
        "这里刚有另一项被处理，这句话可能是对它说的，所以不算对 {code} 的答复。"
        "如果确实是这个意思，请回复 `{code} {said}`。",
    ),
    "no_code": (
        "{word} is not a gate code; /gates lists what waits.",
        "{word} 不是待办编号；/待办 列出等你答复的事项。",
    ),
    "nobody_waits": (
        "Nothing here waits for a yes; `clew gates`, or `/gates` in a chat, lists what is open.",
        "这里没有等待同意的事项；/待办 列出未答复的。",
    ),
    "or_new": (
        "{secret} `/new` and what there is to do begins something else.",
        "{secret}要做别的事，请用 /新建 加上内容。",
    ),
    "only_code": (
        "Nothing was allowed: there is more than the code. `/approve {code}` alone allows just what is shown;"
        " `/deny {code} REASON` declines it and tells the agent why.",
        "没有允许任何事：编号后面还有别的内容。只写 `/同意 {code}` 表示按显示的内容允许；"
        "`/拒绝 {code} 原因` 表示拒绝，并把原因告诉智能体。",
    ),
    "line_yes_sent": (
        "{code}: yes by {by}, on its way to the agent: {about}",
        "{code}：{by} 同意，正在送往智能体：{about}",
    ),
    "line_no_sent": (
        "{code}: no by {by}, on its way to the agent: {about}",
        "{code}：{by} 拒绝，正在送往智能体：{about}",
    ),
    "line_stop_sent": (
        "{code}: stop by {by}, on its way to the agent: {about}",
        "{code}：{by} 要求停止，正在送往智能体：{about}",
    ),
    "line_reply_sent": (
        "{code}: an answer by {by}, on its way to the agent: {about}",
        "{code}：{by} 已回答，正在送往智能体：{about}",
    ),
    "line_yes": ("{code}: allowed by {by}: {about}", "{code}：{by} 已允许：{about}"),
    "line_no": ("{code}: declined by {by}: {about}", "{code}：{by} 已拒绝：{about}"),
    "line_stop": ("{code}: declined and stopped by {by}: {about}", "{code}：{by} 已拒绝并停止：{about}"),
    "line_reply": ("{code}: answered by {by}: {about}", "{code}：{by} 已回答：{about}"),
    "line_expired": ("{code} expired without an answer: {about}", "{code} 无人答复，已过期：{about}"),
    "line_void": ("{code} is void ({why}): {about}", "{code} 已失效（{why}）：{about}"),
}
