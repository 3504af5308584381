"""Sentences about agents that speak the Agent Client Protocol."""

from __future__ import annotations

SENTENCES: dict[str, tuple[str, str]] = {
    # What to do: installing
    "install": ("Install it.", "请安装它。"),
    "install_hermes": (
        "Install Hermes with its `acp` extra (`pipx install 'hermes-agent[acp]'`).",
        "请安装带 `acp` extra 的 Hermes（`pipx install 'hermes-agent[acp]'`）。",
    ),
    "install_opencode": (
        "Install OpenCode (`npm install -g opencode-ai`).",
        "请安装 OpenCode（`npm install -g opencode-ai`）。",
    ),
    "install_gemini": (
        "Install the Gemini CLI (`npm install -g @google/gemini-cli`).",
        "请安装 Gemini CLI（`npm install -g @google/gemini-cli`）。",
    ),
    "install_npm": ("Install it (`npm install -g {package}`).", "请安装它（`npm install -g {package}`）。"),
    "install_pip": ("Install it (`pipx install {package}`).", "请安装它（`pipx install {package}`）。"),
    "or_set_command": (
        "{install} Or set `command` under [runtimes.acp.{name}].",
        "{install}或在 `[runtimes.acp.{name}]` 下设置 `command`。",
    ),
    # What to do: logging in
    "log_in": ("Run it by hand and log in there.", "请手动运行它并登录。"),
    "log_in_hermes": (
        "Run `hermes setup`, or name a model in $HERMES_HOME/config.yaml.",
        "请运行 `hermes setup`，或在 $HERMES_HOME/config.yaml 中指定模型。",
    ),
    "log_in_gemini": (
        "Run `gemini` once and log in, or set GEMINI_API_KEY and `auth`.",
        "请运行一次 `gemini` 并登录，或设置 GEMINI_API_KEY 和 `auth`。",
    ),
    "log_in_claude": (
        "Run `claude` once and log in, or set ANTHROPIC_API_KEY.",
        "请运行一次 `claude` 并登录，或设置 ANTHROPIC_API_KEY。",
    ),
    "log_in_qwen": (
        "Run `qwen` once and log in, or set OPENAI_API_KEY and OPENAI_BASE_URL.",
        "请运行一次 `qwen` 并登录，或设置 OPENAI_API_KEY 和 OPENAI_BASE_URL。",
    ),
    "run": ("Run `{command}`.", "请运行 `{command}`。"),
    # The program
    "missing": ("{title} was not found ({why}). {advice}", "找不到 {title}（{why}）。{advice}"),
    "not_runnable": ("{path} cannot be run", "{path} 无法运行"),
    "no_file": ("there is no {path}", "{path} 不存在"),
    "not_on_path": ("no {name} on the PATH", "PATH 中没有 {name}"),
    "at_path": ("{path}: {error}", "位于 {path}：{error}"),
    "exits": (
        "{title} does not stay up, or is no ACP agent ({fate}). Run `{command}` by hand to see why.",
        "{title} 无法保持运行，或不是 ACP 智能体（{fate}）。请手动运行 `{command}` 查看原因。",
    ),
    "silent": (
        "{title} did not answer within {seconds} s; is `{command}` an ACP agent? Run it by hand to see.",
        "{title} 没有在 {seconds} 秒内响应；`{command}` 是 ACP 智能体吗？请手动运行它查看。",
    ),
    "wrong_version": (
        "{title} speaks version {version} of the Agent Client Protocol, and clew speaks {ours}."
        " Update it, or clew, whichever is the older.",
        "{title} 使用 ACP 协议版本 {version}，而 clew 使用 {ours}。请更新较旧的一方。",
    ),
    "not_logged_in": ("{title} is not logged in. {advice}", "{title} 尚未登录。{advice}"),
    "not_logged_in_says": (
        "{title} is not logged in ({reply}). {advice}",
        "{title} 尚未登录（{reply}）。{advice}",
    ),
    # Requests
    "refuses": ("{title} refused to {what}: {reply}", "{title} 拒绝{what}：{reply}"),
    "do_start": ("initialise", "初始化"),
    "do_begin_session": ("begin a session", "开始会话"),
    "do_take_mode": ("take its mode or model", "设置模式或模型"),
    "named_none": ("it named none", "它没有给出会话"),
    "no_mode": (
        "{title} has no mode {wanted}; it has {offered}. Set another.",
        "{title} 没有模式 {wanted}；可选：{offered}。请改设其他模式。",
    ),
    "does_not_ask": (
        "{title} does not ask before it acts in its mode {mode}, so clew could not stop it. Set another `mode` under"
        " [runtimes.acp.{name}], such as {asks}.",
        "{title} 在模式 {mode} 下行动前不会询问，clew 无法阻止它。"
        "请在 `[runtimes.acp.{name}]` 下设置其他 `mode`，如 {asks}。",
    ),
    "silent_argument": (
        "{title} does not ask before it acts if it is started with {argument}, so clew could not stop it. Take that out"
        " of `command` under [runtimes.acp.{name}].",
        "{title} 带 {argument} 启动时，行动前不会询问，clew 无法阻止它。"
        "请从 `[runtimes.acp.{name}]` 的 `command` 中去掉它。",
    ),
    "no_model": (
        "{title} has no model {wanted}; it has {offered}. Set another.",
        "{title} 没有模型 {wanted}；可选：{offered}。请改设其他模型。",
    ),
    "nothing_offered": ("none to choose", "无"),
    "workspace_gone": (
        "The folder {folder} is gone. Bring it back, or begin a thread in another one.",
        "文件夹 {folder} 已不存在。请恢复它，或在其他文件夹中新建会话。",
    ),
    "file_unreadable": (
        "The file {name} cannot be read: {error}. Send it again.",
        "无法读取文件 {name}：{error}。请重新发送。",
    ),
    # The config
    "name_taken": (
        "runtimes.acp.{name}: {name} is a built-in runtime. Choose another name",
        "`runtimes.acp.{name}`：{name} 是内置运行时。请换一个名称",
    ),
    "needs_command": (
        'runtimes.acp.{name} needs `command`, such as ["{name}", "acp"]; known agents: {known}',
        '`runtimes.acp.{name}` 需要 `command`，如 `["{name}", "acp"]`；已知的智能体：{known}',
    ),
    # Why a turn failed
    "own_failure": (
        "clew itself failed on this turn; `clew logs` has the details. Send it again.",
        "clew 自身在这一轮出错；详情见 `clew logs`。请重新发送。",
    ),
    "agent_failed": (
        "{title} failed on this turn: {reply}. Send it again.",
        "{title} 在这一轮出错：{reply}。请重新发送。",
    ),
    "agent_refused": (
        "{title} refused to go on with this. Say it in another way.",
        "{title} 拒绝继续。请换一种说法。",
    ),
    "usage_limit": (
        "{title} is at the usage limit of its account. Try again later: {reply}",
        "{title} 的账号已达用量上限。请稍后再试：{reply}",
    ),
    "model_log_in": (
        "{title} is not logged in at its model. Log in there, or mend its settings: {reply}",
        "{title} 尚未登录它的模型。请登录，或修正它的设置：{reply}",
    ),
    "model_credit": (
        "The account that {title} uses has run out of credit: {reply}",
        "{title} 所用账号的额度已用完：{reply}",
    ),
    "model_rate_limit": (
        "The model refused because of too many requests. Try again in a while: {reply}",
        "请求过多，模型拒绝了请求。请稍后再试：{reply}",
    ),
    "model_no_answer": (
        "{title} had no answer from its model: {reply}",
        "{title} 没有得到模型的回答：{reply}",
    ),
    # Notices
    "no_sign_of_life": (
        "No sign of life from the agent for {seconds} s. It may be retrying.",
        "智能体已有 {seconds} 秒没有动静，可能正在重试。",
    ),
    "stops_early": (
        "The answer stops here: {why}. Say `continue` to have the rest.",
        "回答到此为止：{why}。发送 `continue` 可获取其余内容。",
    ),
    "max_tokens": ("the model may not say more in one go", "模型一次的输出已达上限"),
    "max_requests": (
        "the agent may not ask its model more often in one turn",
        "智能体在一轮中请求模型的次数已达上限",
    ),
    # Stored in rows by earlier versions
    "hermes_log_in": (
        "Hermes is not logged in at its model. Run `hermes setup`, or mend its config.yaml: {reply}",
        "Hermes 尚未登录它的模型。请运行 `hermes setup`，或修正它的 config.yaml：{reply}",
    ),
    "hermes_credit": (
        "The account that Hermes uses has run out of credit: {reply}",
        "Hermes 所用账号的额度已用完：{reply}",
    ),
    "hermes_rate_limit": (
        "The model refused because of too many requests. Try again in a while: {reply}",
        "请求过多，模型拒绝了请求。请稍后再试：{reply}",
    ),
    "hermes_no_answer": (
        "Hermes had no answer from its model: {reply}",
        "Hermes 没有得到模型的回答：{reply}",
    ),
}
