"""What a change would do to a file as it is now: how it is shown, what a yes to it grants, and whether the file is the
same as when it was shown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from clew.model.gates import Asked, GateKind, Reason
from clew.runtimes.acp import tools, wire
from clew.runtimes.acp.approvals import diff_check, plans
from clew.runtimes.acp.approvals.grants import Write
from clew.runtimes.acp.approvals.plans import Plan
from clew.runtimes.acp.client import files
from clew.runtimes.acp.client.files import Found
from clew.support.errors import BadInput

TWICE = "it changes a file more than once"
UNSEEN = "it replaces a file that cannot be shown"


class Change(Struct, frozen=True):
    """Of one file."""

    shown: str
    before: str = ""  # its text, as far as it is known
    after: str = ""
    path: Path | None = None  # None: it is outside of the workspace, and so not looked at
    found: Found = Found()
    grant: Write | None = None
    named: str = ""  # the path as the agent writes it, if it was not looked at

    def is_current(self) -> bool:
        """False: the file has changed since it was shown, or cannot be looked at any more."""
        try:
            return self.path is None or files.stamp(self.path) == self.found.stamp
        except OSError:
            return False


def proposed(workspace: str, part: wire.Part) -> Change:
    """What a diff would do to the file as it is, and the text that it would have: the agent's word for what was in it
    before could hide what it adds. A file that we do not give out is shown as the agent tells it."""
    try:
        path = files.inside(workspace, part.path)
        found = files.look(path)
    except (BadInput, OSError):
        shown = tools.diff(part.path, part.old_text, part.new_text)
        return Change(shown, part.old_text or "", part.new_text, named=part.path)
    if found.is_unseen and part.old_text:  # a piece of it
        piece = tools.diff(part.path, part.old_text, part.new_text)
        return Change(f"{_replaced(part.path, found)}\n{piece}", part.old_text, part.new_text, path, found)
    before = found.text or ""
    text = tools.applied(before, part.old_text or "", part.new_text)
    return Change(_shown(part.path, found, text), before, text, path, found, Write(str(path), text, found.mark))


def checked(plan: Plan, changes: Sequence[Change]) -> Plan:
    """The plan with a doubt if it carries texts that its diff does not show. Of several files nobody knows which one
    they are about; and of several changes of one file, each is shown without the others."""
    files = [str(each.path or each.named) for each in changes]
    if len(set(files)) < len(files):
        plan = plans.with_doubt(plan, TWICE)
    if len(changes) != 1:
        return plans.with_odd_texts(plan, plan.texts)
    return plans.with_odd_texts(plan, diff_check.differing(plan.texts, changes[0].before, changes[0].after))


def rewritten(path: Path, found: Found, text: str) -> Asked:
    """The question for a file that gets another text. It takes a while for a large one."""
    asked = Asked(GateKind.CHANGE, str(path), _shown(str(path), found, text), paths=(str(path),))
    return with_doubts(asked, [Change("", path=path, found=found)])


def with_doubts(asked: Asked, changes: Sequence[Change]) -> Asked:
    """No rule and no policy knows what is lost with a file that cannot be shown."""
    unseen = [f"{each.path} ({each.found.size:,} B)" for each in changes if each.found.is_unseen]
    if not unseen:
        return asked
    code = Reason("file.unseen", ", ".join(unseen)) if not asked.unjudged else None
    return replace(asked, unjudged="; ".join(filter(None, (asked.unjudged, UNSEEN))), doubt=code)


def _shown(path: str, found: Found, text: str) -> str:
    if not found.mark and not text:
        return f"A new, empty file · 新的空文件: {tools.named(path)}"
    if not found.is_unseen:
        return tools.diff(path, found.text, text)
    empties = "It would be empty. · 它会变成空文件。"
    return f"{_replaced(path, found)}\n{tools.diff(path, '', text) or empties}"


def _replaced(path: str, found: Found) -> str:
    """With a mark, so that a yes for the thread is for this content only."""
    size, mark = f"{found.size:,}", found.mark[:16]
    english = f"Replaces a file that cannot be shown ({size} bytes, {mark})"
    return f"{english} · 替换一个无法显示的文件（{size} 字节，{mark}）: {tools.named(path)}"
