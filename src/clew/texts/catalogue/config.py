"""Sentences about config.toml and plugins."""

from __future__ import annotations

SENTENCES: dict[str, tuple[str, str]] = {
    "a_boolean": ("true or false", "true 或 false"),
    "a_list": ("a list", "列表"),
    "a_number": ("a whole number", "整数"),
    "a_table": ("a table", "表"),
    "a_text": ("text in quotes", "引号中的文字"),
    "a_variable": ("the name of an environment variable", "环境变量的名称"),
    "an_address": ("an address such as https://example.org/hook", "网址，例如 https://example.org/hook"),
    "any_number": ("a number", "数"),
    "at_least": ("at least {least}", "至少 {least}"),
    "between": ("from {least} to {most}", "{least} 到 {most}"),
    "breaks_rule": ("is {value}: it must be {rule}", "是 {value}：它必须是 {rule}"),
    "by_hand": (
        "{name} stands in a way that only you can change: edit it by hand, then `clew config check`",
        "{name} 的写法只有您能更改：请手动编辑，然后运行 `clew config check`",
    ),
    "cannot_connect": (
        "{surface} cannot be connected from here; these can: {known}.",
        "{surface} 不能在这里连接；可以的有：{known}。",
    ),
    "cannot_load": ("{surface} cannot be loaded: {error}", "{surface} 无法加载：{error}"),
    "cannot_read": (
        "{path} cannot be read: {error}. Check its permissions.",
        "{path} 无法读取：{error}。请检查它的权限。",
    ),
    "did_you_mean": (": did you mean `{close}`?", "：您是指 `{close}` 吗？"),
    "has_no_settings": ("cannot have settings: {kind}", "不能有设置：{kind}"),
    "is_table": (
        "{name} is a table, not a setting. It contains: {inner}.",
        "{name} 是一个表，不是设置。它包含：{inner}。",
    ),
    "load_failed": ("{value} of {package}: {kind}: {error}", "{package} 的 {value}：{kind}：{error}"),
    "must_be": ("must be {kind}, not {called}", "必须是{kind}，而不是{called}"),
    "must_be_finite": ("must be a finite number", "必须是有限的数"),
    "must_be_list": ('must be a list, such as ["a", "b"], not {called}', '必须是列表，例如 ["a", "b"]，而不是{called}'),
    "must_be_names": (
        "must be a table of names, such as [{at}.NAME], not {called}",
        "必须是名称的表，例如 [{at}.NAME]，而不是{called}",
    ),
    "must_be_table": ("must be a table, not {called}", "必须是表，而不是{called}"),
    "must_not_be_empty": ("must not be empty", "不能为空"),
    "name_not_a_setting": ("{name} is not a setting{suggestion}", "{name} 不是设置{suggestion}"),
    "needs": ("needs `{key}`", "需要 `{key}`"),
    "no_plugin": ("there is no such plugin; known: {known}", "没有这个插件；已知的有：{known}"),
    "no_settings": ("its package accepts no settings", "它的包不接受设置"),
    "no_such_user": (
        "is {value}: it must be a path; there is no such user here",
        "是 {value}：它必须是路径；这里没有这个用户",
    ),
    "not_a_setting": ("is not a setting{suggestion}", "不是设置{suggestion}"),
    "not_callable": ("{value} of {package} is not a class or a function", "{package} 的 {value} 不是类也不是函数"),
    "not_dataclass": ("its settings are not a dataclass", "它的设置不是数据类"),
    "not_toml": ("{name}: not valid TOML: {error}", "{name}：不是有效的 TOML：{error}"),
    "not_used": (
        "the one of {package} is not used: {other} has one with that name",
        "{package} 的那一个没有使用：{other} 有同名的插件",
    ),
    "not_utf8": ("{path} is not UTF-8 text. Save it as UTF-8.", "{path} 不是 UTF-8 文本。请存为 UTF-8。"),
    "one_of": ("one of {choices}", "{choices} 之一"),
    "settings_unreadable": ("its settings cannot be read: {kind}: {error}", "它的设置无法读取：{kind}：{error}"),
    "there_are": ("; there are {known}", "；可选的有 {known}"),
    "wrong_setting": ("{name}, line {line}: {key} {words}", "{name} 第 {line} 行：{key} {words}"),
}
