"""The words of older versions for what clew says in a request. A yes allows exactly what was shown, so an answer that
was given to those words counts for the same request in the words of today."""

from __future__ import annotations

import re

from msgspec.structs import replace

from clew.model.gates import Asked
from clew.support.coded import Coded, coded_of
from clew.texts.catalogue import english

# Both languages stood in the request.
WORDS = {
    "approvals.announced": "It was announced with: · 它先前的说明是： {call}",
    "approvals.unread": "As the agent describes it, unchecked, since {path} is not clearly in the workspace:"
    " · {path} 不能确定在工作区内，以下只是代理的说明，未经核实：",
    "approvals.gone": "This file is replaced by the one above: · 这个文件会被上面的文件替换：",
    "approvals.claimed": "The agent says, unchecked · 代理的说明，未经核实:\n{text}",
    "approvals.removes": "It deletes or moves files. · 它会删除或移动文件。",
    "approvals.new_empty_file": "A new, empty file · 新的空文件: {path}",
    "approvals.empties": "It would be empty. · 它会变成空文件。",
    "approvals.replaces_unseen": "Replaces a file that cannot be shown ({size} bytes, {mark})"
    " · 替换一个无法显示的文件（{size} 字节，{mark}）: {path}",
    "approvals.plan": "Carry out this plan · 执行这个计划",
    "claude.plan_above": "The plan is in the text above. · 计划见上文。",
}
_HOLE = re.compile(r"\{(\w+)\}")


def subjects(asked: Asked) -> tuple[str, ...]:
    """`Asked.subject`, and what older versions computed for the same request."""
    before = replace(asked, title=_before(asked.title), detail=_before(asked.detail))
    return tuple(dict.fromkeys(each for one in (asked, before) for each in (one.subject, one.former_subject)))


def _before(text: str) -> str:
    coded = coded_of(text)
    return _words(coded) if coded and _has_former(coded) else text


def _has_former(coded: Coded) -> bool:
    inner = (value for value in coded.args.values() if isinstance(value, Coded))
    return coded.code in WORDS or any(map(_has_former, inner))


def _words(coded: Coded) -> str:
    args = {name: _words(value) if isinstance(value, Coded) else value for name, value in coded.args.items()}
    template = WORDS.get(coded.code)
    if template is None:
        return english(Coded(coded.code, {**args}))
    return _HOLE.sub(lambda hole: str(args.get(hole[1], "")), template)
