"""Sentences about any runtime: its program, its connection, and the answers that it takes."""

from __future__ import annotations

SENTENCES: dict[str, tuple[str, str]] = {
    # How a program ended
    "output_ended": ("its output has ended", "它的输出已结束"),
    "killed": ("killed by {signal}", "被 {signal} 终止"),
    "exit_code": ("exit code {code}", "退出码 {code}"),
    "silent_for": ("no answer within {seconds} s", "{seconds} 秒内没有响应"),
    "last_words": ("{fate}; its last words: {words}", "{fate}；它最后的输出：{words}"),
    # The connection
    "program_gone": ("{name} is gone ({fate})", "{name} 已退出（{fate}）"),
    "program_stopped": ("{name} was stopped", "{name} 已被停止"),
    "closed_by_peer": ("it closed the connection", "它关闭了连接"),
    "connection_closed": ("the connection is closed", "连接已关闭"),
    "no_response": (
        "{name} did not answer {method} within {seconds} s",
        "{name} 没有在 {seconds} 秒内响应 {method}",
    ),
    # Its health
    "idle": ("not needed now; it starts by itself", "暂不需要；需要时会自动启动"),
    "starts_again": ("{reason}; it is started again when it is needed", "{reason}；需要时会重新启动"),
    "closed": ("The runtime {name} is closed.", "运行时 {name} 已关闭。"),
    # Turns
    "turn_already_runs": (
        "A turn already runs on this thread ({turn}).",
        "这个会话已有一轮在运行（{turn}）。请等它结束。",
    ),
    "turn_over": ("The turn does not run any more.", "这一轮已不在运行。"),
    "session_closed": ("The session was closed.", "与智能体的会话已关闭。"),
    "model_silent": (
        "The model did not answer within {seconds} s. Check the network and its address.",
        "模型没有在 {seconds} 秒内响应。请检查网络和模型的地址。",
    ),
    "rate_limit": (
        "The model refused because of too many requests. Try again in a while.",
        "请求过多，模型拒绝了请求。请稍后再试。",
    ),
    "no_answer": (
        "{title} ended the turn and answered nothing. Its model may have failed, or be at a limit. Send it again.",
        "{title} 结束了这一轮，但没有任何回答。它的模型可能出错或已达上限。请重新发送。",
    ),
    # What a person answered does not fit
    "no_such_question": ("There is no question {names} here.", "这里没有问题 {names}。"),
    "wants_words": ("This is a question: answer it with words.", "这是一个问题，请用文字回答。"),
    "wants_yes_or_no": ("This wants a yes or a no, not words.", "这里请回答同意或拒绝，不需要文字。"),
    "needs_answers": ("This still needs an answer to: {names}.", "还需要回答：{names}。"),
    "choose_one": ("Choose one of: {names}.", "请选择其中一项：{names}。"),
    "yes_is_not_enough": (
        "A yes is not enough here. Choose one of: {names}.",
        "这里只回答同意还不够。请选择其中一项：{names}。",
    ),
    "takes": ("{name} takes {wanted}.", "{name} 需要{wanted}。"),
    "takes_not": ("{name} takes {wanted}, not {given}.", "{name} 需要{wanted}，而不是 {given}。"),
    "one_answer": ("one answer", "恰好一个回答"),
    "another_answer": ("another answer", "其他回答"),
    "one_of": ("one of {names}", "以下之一：{names}"),
    "a_number": ("a number", "一个数字"),
    "a_whole_number": ("a whole number", "一个整数"),
    "an_email": ("an e-mail address", "一个电子邮件地址"),
    "an_address": ("an address such as https://example.org", "一个网址，如 https://example.org"),
    "a_date": ("a date such as 2026-08-31", "一个日期，如 2026-08-31"),
    "a_time": ("a time such as 2026-08-31T12:00:00Z", "一个时间，如 2026-08-31T12:00:00Z"),
    "at_most": ("at most {high}", "至多 {high}"),
    "at_least": ("at least {low}", "至少 {low}"),
    "between": ("{low} to {high}", "{low} 到 {high}"),
    "answers": ("{limit} answers", "{limit} 个回答"),
    "characters": ("{limit} characters", "{limit} 个字符"),
    "text_too_long": (
        "A text of the agent is longer than {longest} bytes (turns.longest_text); the rest of it is left out.",
        "智能体的一条文本超过 {longest} 字节（`turns.longest_text`）；其余部分已省略。",
    ),
}
