"""Sentences about surfaces: why a message was not sent, why nothing comes in, and which addresses do not exist."""

from __future__ import annotations

SENTENCES: dict[str, tuple[str, str]] = {
    # Any platform
    "feishu": ("Feishu", "飞书"),
    "out_of_reach": ("{platform} is out of reach: {error}", "无法连接 {platform}：{error}"),
    "no_answer": ("{platform} gave no answer: {error}", "{platform} 没有响应：{error}"),
    "unreadable": (
        "{platform}'s answer to {what} cannot be read (HTTP {status})",
        "{platform} 对 {what} 的响应无法读取（HTTP {status}）",
    ),
    "not_the_platform": (
        "HTTP {status} to {what}, and not from {platform}: check base_url of [surfaces.{table}] and what stands on the"
        " way there (a proxy, a firewall, a page to log in)",
        "{what} 得到 HTTP {status}，但不是 {platform} 返回的：请检查 `[surfaces.{table}]` 的 base_url"
        " 以及途中的设备（代理、防火墙、登录页）",
    ),
    "a_download": ("a download", "文件下载"),
    "file_missing": ("[{name} did not come along: {why}]", "[{name} 没有传过来：{why}]"),
    "file_not_kept": ("it cannot be kept here: {error}", "无法保存在这里：{error}"),
    "file_too_large": ("it is larger than {most} MiB", "超过 {most} MiB"),
    "file_withheld": ("{platform} does not give it out", "{platform} 不提供它"),
    "button_too_old": (
        "This is too old to be pressed; answer in words.",
        "按钮已过期，请用文字回复。",
    ),
    "press_retried": ("clew cannot store this just now; it tries again.", "暂时无法保存，稍后重试。"),
    "press_not_stored": (
        "Not stored yet: if the card does not change, press again.",
        "尚未保存：如果卡片没有变化，请再按一次。",
    ),
    "press_failed": ("clew could not take this; its log says why.", "未能处理，原因见日志。"),
    "reply_in_thread": ("Reply here, in this thread.", "请在本话题中回复。"),
    "refuses": ("{platform} refuses: {reply}", "{platform} 拒绝：{reply}"),
    "not_stored": ("what arrives cannot be stored: {why}", "收到的内容无法保存：{why}"),
    "check_network": (
        "{reason}. Check the network, then try again.",
        "{reason}。请检查网络，然后重试。",
    ),
    "check_given": (
        "{reason}. Check the network and what you gave, then try again.",
        "{reason}。请检查网络和填写的内容，然后重试。",
    ),
    # This machine
    "local_address": (
        "`local` takes no address: say `local`, not `local:{address}`",
        "`local` 不带地址：请写 `local`，而不是 `local:{address}`",
    ),
    "local_edit": (
        "what was shown on this machine cannot be edited",
        "已在本机显示的内容无法修改",
    ),
    # Webhooks
    "webhook_at": ("webhook {name} at {origin}", "webhook {name}（位于 {origin}）"),
    "webhook_bad_url": (
        "the url of webhook {name} cannot be used: {error}",
        "webhook {name} 的 url 无法使用：{error}",
    ),
    "webhook_out_of_reach": ("{target} is out of reach: {error}", "无法连接 {target}：{error}"),
    "webhook_no_answer": (
        "{target} gave no answer to what was sent: {error}",
        "{target} 对发送的内容没有响应：{error}",
    ),
    "webhook_answered": ("{target} answered {status}", "{target} 返回 {status}"),
    "webhook_answered_with": ("{target} answered {status}: {reply}", "{target} 返回 {status}：{reply}"),
    "webhook_redirects": (
        "{target} answered {status}, {redirect}; set `url` to where it listens",
        "{target} 返回 {status}，{redirect}；请把 `url` 设为它实际监听的地址",
    ),
    "redirect_nowhere": ("a redirect to nowhere", "重定向没有目标"),
    "redirect_malformed": ("a redirect to a malformed address", "重定向的地址有误"),
    "redirect_path": ("a redirect to another path of {place}", "重定向到 {place} 的另一路径"),
    "redirect_to": ("a redirect to {place}", "重定向到 {place}"),
    "webhook_edit": ("what was posted to a webhook cannot be edited", "已发送到 webhook 的内容无法修改"),
    "webhook_unknown": (
        "there is no webhook {name}; known: {known}. Each is a [surfaces.webhook.NAME]",
        "没有名为 {name} 的 webhook；已有：{known}。每个 webhook 对应一个 `[surfaces.webhook.NAME]`",
    ),
    "none": ("none", "无"),
    "webhook_receives_only": (
        "webhook {name} only receives: set `url` in [surfaces.webhook.{name}] to send there",
        "webhook {name} 只接收消息：要向它发送，请在 `[surfaces.webhook.{name}]` 中设置 `url`",
    ),
    "webhook_bad_name": (
        "[surfaces.webhook.{name}]: a webhook's name has letters, digits, `_` and `-` only",
        "`[surfaces.webhook.{name}]`：webhook 的名称只能包含字母、数字、`_` 和 `-`",
    ),
    "webhook_no_secret": (
        "[surfaces.webhook.{name}]: `secret` is empty; make one with `openssl rand -hex 32`",
        "`[surfaces.webhook.{name}]`：`secret` 为空；请用 `openssl rand -hex 32` 生成一个",
    ),
    "webhook_not_yet": ("the webhook surface does not run yet", "webhook 还没有开始运行"),
    "webhook_too_large": ("a message may have {bytes} bytes at most", "一条消息最多 {bytes} 字节"),
    "webhook_not_stored": (
        "clew cannot store this now; send it again",
        "clew 暂时无法保存；请重新发送",
    ),
    "webhook_bad_body": ("the body does not fit: {error}", "请求体不符合要求：{error}"),
    "webhook_nul": ("a NUL character - at `$.{name}`", "含有 NUL 字符，位于 `$.{name}`"),
    "webhook_not_json": ("the body is not JSON in UTF-8", "请求体不是 UTF-8 编码的 JSON"),
    "webhook_send_only": (
        "webhooks can only send; set `port` under [http] so that they can receive",
        "webhook 目前只能发送；要接收消息，请在 `[http]` 下设置 `port`",
    ),
    "unsigned": (
        "X-Clew-Timestamp and X-Clew-Signature are both needed",
        "必须同时提供 X-Clew-Timestamp 和 X-Clew-Signature",
    ),
    "bad_timestamp": (
        "X-Clew-Timestamp must be Unix time in whole seconds",
        "X-Clew-Timestamp 必须是以整秒表示的 Unix 时间",
    ),
    "bad_signature": (
        "X-Clew-Signature is not that of this timestamp and body",
        "X-Clew-Signature 与这个时间戳和请求体不符",
    ),
    "signature_expired": (
        "X-Clew-Timestamp is more than {seconds} seconds off; sign again, check the clock",
        "X-Clew-Timestamp 的偏差超过 {seconds} 秒；请重新签名，并检查时钟",
    ),
    # Telegram
    "telegram_unusable": (
        "the base_url or the token of [surfaces.telegram] cannot be used in an address",
        "`[surfaces.telegram]` 的 base_url 或 token 不能用在网址中",
    ),
    "telegram_refused": (
        "Telegram refuses the token: get a new one from @BotFather, put it into [surfaces.telegram], `clew restart`",
        "Telegram 拒绝了 token：请向 @BotFather 获取新的，写入 `[surfaces.telegram]`，再运行 `clew restart`",
    ),
    "telegram_taken": (
        "another program receives the messages of this bot: end it, or make a bot of its own for clew with @BotFather."
        " Until then each of them gets only some of the messages",
        "另一个程序也在接收这个机器人的消息：请结束它，或用 @BotFather 为 clew 单独创建一个机器人。"
        "在此之前，双方都只能收到一部分消息",
    ),
    "telegram_hooked": (
        "a webhook is set for this bot, so messages go there: remove it (the Bot API's deleteWebhook)",
        "这个机器人设置了 webhook，消息会发往那里：请删除它（Bot API 的 deleteWebhook）",
    ),
    "telegram_held": (
        "another clew of yours receives the messages of this bot: stop it (`clew down` with its CLEW_HOME), or make"
        " another bot for this one with @BotFather",
        "你的另一个 clew 正在接收这个机器人的消息：请停止它（以它的 CLEW_HOME 运行 `clew down`），"
        "或用 @BotFather 为这个 clew 另建一个机器人",
    ),
    "telegram_full": (
        "{count} updates of Telegram are not handled yet; new ones come in once the oldest is: {why}",
        "有 {count} 条 Telegram 更新尚未处理完；最早的一条处理完后才会收到新的：{why}",
    ),
    "telegram_slow": ("it is still being handled", "它仍在处理中"),
    "telegram_no_token": (
        "the environment variable {name} of [surfaces.telegram] is not set where clew runs",
        "`[surfaces.telegram]` 指定的环境变量 {name} 在 clew 运行的环境中没有设置",
    ),
    "telegram_not_a_list": ("Telegram's updates are not a list", "Telegram 返回的更新不是列表"),
    "telegram_odd_bot": (
        "Telegram's answer to getMe does not look as it should: {error}",
        "Telegram 对 getMe 的响应不符合预期：{error}",
    ),
    "telegram_no_number": (
        "Telegram took the message but returned no number for it",
        "Telegram 接收了消息，但没有返回消息编号",
    ),
    "telegram_no_message": ("{name} is not a Telegram message", "{name} 不是 Telegram 消息"),
    "telegram_other_bot": (
        "another bot sent this message; [surfaces.telegram] has a different bot now",
        "这条消息是另一个机器人发送的；`[surfaces.telegram]` 现在使用不同的机器人",
    ),
    "telegram_which_chat": (
        "say which chat, as in telegram:123456789, or set `home` in [surfaces.telegram]",
        "请指明聊天，如 telegram:123456789，或在 `[surfaces.telegram]` 中设置 `home`",
    ),
    "telegram_no_chat": (
        "{address} is not a Telegram chat. Give a number such as telegram:123456789, for a topic with its number behind"
        " it, as in telegram:-100123456789/42",
        "{address} 不是 Telegram 聊天。请给出编号，如 telegram:123456789；话题则在后面加上话题编号，"
        "如 telegram:-100123456789/42",
    ),
    "telegram_not_a_token": (
        "That is not a bot token. It looks like 7123456789:AAF… and comes from @BotFather.",
        "这不是机器人的 token。它形如 7123456789:AAF…，由 @BotFather 提供。",
    ),
    "telegram_unknown_token": (
        "Telegram does not know this token ({reply}); ask @BotFather for a new one.",
        "Telegram 不认识这个 token（{reply}）；请向 @BotFather 获取新的。",
    ),
    "telegram_chat": (
        "the number of a chat, with /TOPIC appended for a topic",
        "聊天的编号；话题写成 CHAT/TOPIC",
    ),
    "telegram_token": (
        "The token of your bot (write /newbot to @BotFather in Telegram, it gives you one)",
        "机器人的 token（在 Telegram 里向 @BotFather 发送 /newbot 即可得到）",
    ),
    "telegram_base_url": ("The address of the Bot API", "Bot API 的网址"),
    "telegram_next": (
        "Write anything to @{name} in Telegram now (https://t.me/{name}).",
        "现在请在 Telegram 里给 @{name} 发一条任意消息（https://t.me/{name}）。",
    ),
    # Feishu
    "feishu_chat": (
        "a chat such as oc_…, for a thread with /omt_… behind it",
        "聊天，例如 oc_…，话题则在后面加上 /omt_…",
    ),
    "feishu_app_id": (
        "The App ID of your app (open.feishu.cn/app, Credentials & Basic Info), such as cli_a1b2c3d4e5f6",
        "应用的 App ID（open.feishu.cn/app 的“凭证与基础信息”），例如 cli_a1b2c3d4e5f6",
    ),
    "feishu_app_secret": ("Its App Secret", "应用的 App Secret"),
    "feishu_base_url": (
        "The platform; for Lark https://open.larksuite.com",
        "平台网址；Lark 为 https://open.larksuite.com",
    ),
    "feishu_your_app": ("your app", "你的应用"),
    "feishu_next": (
        "On the page of the app, under Events & Callbacks, choose the persistent connection for both, add"
        " im.message.receive_v1 and card.action.trigger, and publish a version"
        " (step by step: docs/how-to/surfaces/feishu.md). Then write anything to {name} in Feishu.",
        "在应用页面的“事件与回调”中，两项都选择长连接，添加 im.message.receive_v1 和 card.action.trigger，"
        "并发布一个版本（分步说明：docs/how-to/surfaces/feishu.zh-CN.md）。然后在飞书里给 {name} 发一条任意消息。",
    ),
    "feishu_unusable": (
        "the base_url of [surfaces.feishu] cannot be used as an address",
        "`[surfaces.feishu]` 的 base_url 不是可用的网址",
    ),
    "feishu_refused": (
        "Feishu refuses the app: check app_id, app_secret and base_url of [surfaces.feishu] (for Lark it is"
        " https://open.larksuite.com), then `clew restart`",
        "飞书拒绝了应用：请检查 `[surfaces.feishu]` 的 app_id、app_secret 和 base_url（Lark 为"
        " https://open.larksuite.com），再运行 `clew restart`",
    ),
    "feishu_refused_says": (
        "Feishu refuses the app: check app_id, app_secret and base_url of [surfaces.feishu] (for Lark it is"
        " https://open.larksuite.com), then `clew restart`: {reply}",
        "飞书拒绝了应用：请检查 `[surfaces.feishu]` 的 app_id、app_secret 和 base_url（Lark 为"
        " https://open.larksuite.com），再运行 `clew restart`：{reply}",
    ),
    "feishu_busy": ("Feishu is busy: {reply}", "飞书繁忙：{reply}"),
    "feishu_too_many_calls": ("too many calls", "调用过于频繁"),
    "feishu_code": ("{words} ({code})", "{words}（代码 {code}）"),
    "feishu_too_many": (
        "too many connections of this app are open: end the other programs that use it, or make an app of its own for"
        " clew: {reply}",
        "这个应用打开的连接过多：请结束使用它的其他程序，或为 clew 单独创建一个应用：{reply}",
    ),
    "feishu_ended": (
        "Feishu has ended the connection; it is opened again",
        "飞书结束了连接；正在重新连接",
    ),
    "feishu_cannot_keep": (
        "the connection to Feishu cannot be kept: {error}",
        "无法保持与飞书的连接：{error}",
    ),
    "feishu_no_bot": (
        "Feishu returned no bot: add the feature Bot to the app, and publish a version",
        "飞书没有返回机器人：请为应用添加机器人能力，并发布一个版本",
    ),
    "feishu_no_endpoint": (
        "Feishu returned no address to connect to: {error}",
        "飞书没有返回可连接的地址：{error}",
    ),
    "feishu_unencrypted": (
        "Feishu returned an address that is not encrypted; clew does not use it",
        "飞书返回的地址没有加密；clew 不会使用它",
    ),
    "feishu_no_token": ("Feishu returned no readable token", "飞书没有返回可用的 token"),
    "feishu_failed": (
        "Feishu failed at {path} (HTTP {status})",
        "飞书在 {path} 出错（HTTP {status}）",
    ),
    "feishu_not_taken": ("Feishu does not take it: {reply}", "飞书不接受它：{reply}"),
    "feishu_no_resource": (
        "Feishu does not take it: {reply}; give the app the permission im:resource",
        "飞书不接受它：{reply}；请为应用开通权限 im:resource",
    ),
    "feishu_no_key": ("Feishu took a file but returned no key for it", "飞书接收了文件，但没有返回它的 key"),
    "feishu_no_id": ("Feishu took the message but returned no id for it", "飞书接收了消息，但没有返回消息 ID"),
    "feishu_thread_gone": (
        "the thread on Feishu is gone, or nothing in it can be read",
        "飞书上的话题已不存在，或其中的内容无法读取",
    ),
    "feishu_not_allowed": (
        "Feishu refuses: {reply}; give the app that permission, and publish a version of it",
        "飞书拒绝：{reply}；请为应用开通该权限，并发布一个版本",
    ),
    "feishu_which_chat": (
        "say which chat, as in feishu:oc_…, or set `home` in [surfaces.feishu]",
        "请指明聊天，如 feishu:oc_…，或在 `[surfaces.feishu]` 中设置 `home`",
    ),
    "feishu_no_chat": (
        "{address} is not a Feishu chat. It looks like feishu:oc_a0553eda9014c201e6969b478895c230, for a thread with"
        " /omt_… behind it. Say /home in the chat that you mean, or run `clew where`",
        "{address} 不是飞书聊天。它形如 feishu:oc_a0553eda9014c201e6969b478895c230，话题则在后面加上 /omt_…。"
        "请在要用的聊天中发送 /home，或运行 `clew where`",
    ),
    "feishu_no_secret": (
        "[surfaces.feishu] has an app_id and no secret: set app_secret, or app_secret_env to the name of an environment"
        " variable that is set where clew runs",
        "`[surfaces.feishu]` 有 app_id 但没有密钥：请设置 app_secret，或把 app_secret_env"
        " 设为 clew 运行环境中已设置的环境变量的名称",
    ),
    "feishu_no_websockets": (
        "it needs the package websockets: pip install 'clew[feishu]'",
        "它需要 websockets 包：`pip install 'clew[feishu]'`",
    ),
    "feishu_not_an_app": (
        "That is not an App ID. It looks like cli_a1b2c3d4e5f6 and is on the page of your app.",
        "这不是 App ID。它形如 cli_a1b2c3d4e5f6，可在应用的页面上找到。",
    ),
    "feishu_add_bot": (
        "Feishu refuses: {reply}. Add the feature Bot to the app, and publish it.",
        "飞书拒绝：{reply}。请为应用添加机器人能力，并发布。",
    ),
}
