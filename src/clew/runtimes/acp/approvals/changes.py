"""Works out what a change would do to the file as it is now: its diff, what a yes grants, and whether the file has
changed since it was shown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from clew.model.gates import Asked, GateKind, Reason
from clew.runtimes import file_changes
from clew.runtimes.acp import tools, wire
from clew.runtimes.acp.approvals import diff_check, plans, readings
from clew.runtimes.acp.approvals.grants import Write
from clew.runtimes.acp.approvals.plans import Plan
from clew.runtimes.acp.client import files
from clew.runtimes.file_changes import Found
from clew.support.errors import BadInput
from clew.texts import doubts
from clew.texts.catalogue import say
from clew.texts.together import lines

TWICE = say("approvals.one_twice")
MISSING = say("approvals.missing_file")
UNSEEN = say("approvals.unseen_file")


class Change(Struct, frozen=True):
    """The change of one file."""

    shown: str
    before: str = ""  # its text, if known
    after: str = ""
    path: Path | None = None  # None: outside the workspace, so it was not read
    found: Found = Found()
    grant: Write | None = None
    named: str = ""  # the path as the agent wrote it, if the file was not read

    def is_current(self) -> bool:
        """False: the file has changed since it was shown, or cannot be read any more."""
        try:
            return self.path is None or file_changes.stamp(self.path) == self.found.stamp
        except OSError:
            return False


def propose(workspace: str, part: wire.Part) -> Change:
    """Apply an agent's diff to the real file and show that: the agent's own "before" text could hide what it adds. A
    file outside the workspace, or one that is not clearly inside, is shown as the agent describes it, and marked."""
    described = file_changes.diff(part.path, part.old_text, part.new_text)
    marked = file_changes.described(part.path, part.old_text, part.new_text)
    unread = Change(marked, part.old_text or "", part.new_text, named=part.path)
    if readings.is_odd_path(part.path):
        return unread
    try:
        path = files.inside(workspace, part.path)
        found = file_changes.look(path)
    except (BadInput, OSError):
        return unread
    if part.old_text and not found.mark:
        return Change(described, part.old_text, part.new_text, path, found)
    if found.is_unseen and part.old_text:  # only a piece of the file is known
        shown = lines(file_changes.replaced(part.path, found), described)
        return Change(shown, part.old_text, part.new_text, path, found)
    before = found.text or ""
    text = tools.apply_change(before, part.old_text or "", part.new_text)
    return Change(_shown(part.path, found, text), before, text, path, found, Write(str(path), text, found.mark))


def check(plan: Plan, changes: Sequence[Change]) -> Plan:
    """Add a doubt to the plan if it has texts that its diff does not show. With several files it is unknown which one a
    text is about. Also add one if a file is changed more than once: each diff is shown without the others. And one if
    a file was not read."""
    files = [str(each.path or each.named) for each in changes]
    if len(set(files)) < len(files):
        plan = plans.with_doubt(plan, TWICE)
    if any(each.path is not None and each.before and not each.found.mark for each in changes):
        plan = plans.with_doubt(plan, MISSING)
    if any(each.path is None for each in changes):
        plan = plans.with_doubt(plan, say("approvals.unchecked"))
    if len(changes) != 1:
        return plans.with_odd_texts(plan, plan.texts)
    return plans.with_odd_texts(plan, diff_check.differing(plan.texts, changes[0].before, changes[0].after))


def ask_rewrite(path: Path, found: Found, text: str) -> Asked:
    """Return the question for a file that is rewritten. Slow for a large file."""
    asked = Asked(GateKind.CHANGE, str(path), _shown(str(path), found, text), paths=(str(path),))
    return with_doubts(asked, [Change("", path=path, found=found)])


def with_doubts(asked: Asked, changes: Sequence[Change]) -> Asked:
    """Mark the question as unjudged if it replaces a file that cannot be shown: no rule or policy may accept that."""
    unseen = [f"{each.path} ({each.found.size:,} B)" for each in changes if each.found.is_unseen]
    if not unseen:
        return asked
    code = Reason("file.unseen", ", ".join(unseen)) if not asked.unjudged else None
    return replace(asked, unjudged=doubts.joined([asked.unjudged, UNSEEN]), doubt=code)


def _shown(path: str, found: Found, text: str) -> str:
    if not found.mark and not text:
        return file_changes.new_empty(path)
    if not found.is_unseen:
        return file_changes.diff(path, found.text, text)
    return lines(file_changes.replaced(path, found), file_changes.diff(path, "", text) or say("approvals.empties"))
