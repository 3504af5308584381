"""Chat commands that show what happened in this thread, or send a file of its folder. What they read from the disk is
copied before their transaction, by `prepare`."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from clew.engine.budgets.limits import LIFE, day_of, limits_of
from clew.engine.budgets.wording import amount
from clew.engine.core import Core
from clew.engine.delivery.artifacts import FOLDER, FileNotSent, copy_file
from clew.engine.inbox.access import SPEAKERS, role_of
from clew.engine.inbox.command import NOTHING_PREPARED, Command, Prepared, Reply
from clew.engine.inbox.sender import message_of
from clew.engine.threads.settings import offered_models
from clew.model import history
from clew.model.budgets import BudgetScope, Measure, Payer, Spent
from clew.model.events import ActivityKind, Outcome
from clew.model.messages import Attachment, Inbound, Role
from clew.model.threads import Thread
from clew.model.turns import Item
from clew.store import Tx
from clew.store.tables import bindings, inbox, items, nodes, places, threads, turns, usage
from clew.support.display.as_code import plain_or_code
from clew.support.errors import Refused
from clew.support.files import safe_names, save
from clew.support.text import visible
from clew.texts import chat_messages
from clew.texts.bilingual import zh
from clew.texts.catalogue import say
from clew.texts.slash_commands import CommandSpec, Typed

SHOWN = 8  # messages of `/history`
WIDTH = 200  # characters of each
NODES = 400  # of history that `/diff` looks at
LARGEST_DIFF = 1 << 20  # characters
INLINE = 2500  # characters of a diff that is shown as text
DIFF = "changes.diff"
_log = logging.getLogger(__name__)


class _Wanted(Struct, frozen=True):
    """What has to be prepared: a file of a folder, or a diff that is too long for a message."""

    workspace: str
    path: str = ""
    diff: str = ""


def do_history(command: Command) -> str:
    """The newest messages of this thread, oldest first."""
    thread = command.bound()
    walked = nodes.back_from(command.tx, thread.head, SHOWN * 4)
    lines = [line for node in walked if (line := _line(command, node)) is not None][:SHOWN]
    return "\n".join(reversed(lines)) or command.tell("no_history")


def _line(command: Command, node: history.Node) -> str | None:
    try:
        content = history.read(node)
    except ValueError:
        return None
    match content:
        case history.Spoken():
            return f"{plain_or_code(content.author)}: {_short(content.text or _names(content.attachments))}"
        case history.Outcome():
            said = content.text or (content.problem.text if content.problem else "") or command.tell("no_answer")
            return f"{content.runtime}: {_short(said)}"
        case history.Opinion():
            return f"{content.runtime}: {_short(content.text)}"
        case _:
            return None


def _names(files: tuple[Attachment, ...]) -> str:
    return ", ".join(file.name for file in files)


def _short(text: str) -> str:
    line = " ".join(visible(text).split())
    return plain_or_code(line if len(line) <= WIDTH else f"{line[: WIDTH - 1]}…")


def do_usage(command: Command) -> str:
    """What this thread and, for an owner, everything today has used, with the budgets of this thread."""
    thread, today = command.bound(), day_of(command.core.clock.now())
    person = message_of(command.inbound)
    life, day = Payer(BudgetScope.THREAD, thread.id, LIFE), Payer(BudgetScope.DAY, "", today)
    own = Payer(BudgetScope.PERSON, person.person or person.author, today)
    of = (life, own, Payer(BudgetScope.ACCOUNT, thread.runtime, today), day)
    spent = usage.totals(command.tx, of)
    is_owner = command.role is Role.OWNER
    shown = [("usage_of_thread", life), *([("usage_of_day", day)] if is_owner else [])]
    lines = [command.tell(name, used=_used(command, spent.get(payer, Spent()))) for name, payer in shown]
    limits = limits_of(command.tx, command.core, of)
    return "\n".join([*lines, *(_budget(command, *key, spent, limit) for key, limit in limits.items())])


def _budget(command: Command, payer: Payer, measure: Measure, spent: dict[Payer, Spent], limit: int) -> str:
    what = command.tell(f"budget_{payer.scope}", name=plain_or_code(payer.name))
    used = _amount(command, measure, spent.get(payer, Spent()).of(measure))
    return command.tell("usage_budget", what=what, used=used, limit=_amount(command, measure, limit))


def _used(command: Command, spent: Spent) -> str:
    measures = (Measure.TURNS, Measure.TOKENS, Measure.TIME)
    return ", ".join(_amount(command, measure, spent.of(measure)) for measure in measures)


def _amount(command: Command, measure: Measure, value: int) -> str:
    words = amount(measure, value)
    return zh(words) if command.tell.is_chinese else words


def do_diff(command: Command) -> str | Reply:
    """The changes that the agent reported, as text if they are short, else as a file."""
    if command.prepared.refused is not None:
        raise command.prepared.refused
    if command.prepared.file is not None:
        return Reply(command.tell("diff_as_file"), file=command.prepared.file)
    diff = changes_of(command.tx, command.bound())
    return _as_code(diff) if diff else command.tell("no_changes")


def _as_code(diff: str) -> str:
    fence = "`" * max(3, _longest_run(diff) + 1)
    return f"{fence}diff\n{diff}\n{fence}"


def _longest_run(text: str) -> int:
    """The longest run of backticks."""
    longest = run = 0
    for character in text:
        run = run + 1 if character == "`" else 0
        longest = max(longest, run)
    return longest


def changes_of(tx: Tx, thread: Thread) -> str:
    """The changes of files that the agent reported in this thread, oldest first; the newest ones if they are many."""
    found: list[str] = []
    length = 0
    for change in _changes(tx, thread):
        length += len(change)
        if length > LARGEST_DIFF:
            break
        found.append(change)
    return "\n".join(reversed(found))


def _changes(tx: Tx, thread: Thread) -> Iterator[str]:
    """Newest first."""
    if (running := turns.live(tx, thread.id)) is not None:
        yield from _bodies(reversed(items.of_turn(tx, running.id)))
    for node in nodes.back_from(tx, thread.head, NODES):
        try:
            content = history.read(node)
        except ValueError:
            return
        if isinstance(content, history.Outcome):
            yield from _bodies(reversed(content.deeds))


def _bodies(done: Iterable[history.Deed | Item]) -> Iterator[str]:
    for each in done:
        if each.kind == ActivityKind.CHANGE and each.outcome in (None, Outcome.OK):
            yield (each.body or str(each.title)).rstrip("\n")


def do_file(command: Command) -> Reply:
    """Send a file of the thread's folder."""
    command.bound()
    if command.prepared.file is None:
        raise command.prepared.refused or Refused(say("deliveries.file_gone"))
    return Reply(command.tell("file_sent", name=command.prepared.file.name), file=command.prepared.file)


async def prepare(core: Core, inbound: Inbound, typed: Typed) -> Prepared:
    """Fetch what a command needs from the disk or from a runtime, before its transaction."""
    if typed.spec.name not in ("file", "diff", "model", "effort"):
        return NOTHING_PREPARED
    if typed.spec.name in ("model", "effort"):
        if not typed.text:
            await offered_models(core, await core.store.read(lambda tx: _runtime(tx, core, inbound)))
        return NOTHING_PREPARED
    wanted = await core.store.read(lambda tx: _wanted(tx, core, inbound, typed))
    if wanted is None:
        return NOTHING_PREPARED
    largest = core.max_file_size(inbound.conversation)
    if core.files is None or not largest:
        return Prepared(refused=Refused(say("deliveries.no_files_here")) if wanted.path else None)
    folder = core.files / f"{FOLDER}{reply_name(inbound)}"
    try:
        return Prepared(await asyncio.to_thread(_copy, wanted, folder, largest))
    except FileNotSent as refused:
        name = next(safe_names([wanted.path or DIFF]))
        return Prepared(refused=Refused(chat_messages.file_stays(name, refused.why)))
    except OSError as error:
        _log.warning("%s cannot be copied: %s", wanted.path or DIFF, error)
        why = error.strerror or chat_messages.FILE_GONE
        return Prepared(refused=Refused(chat_messages.file_stays(wanted.path or DIFF, why)))


def reply_name(inbound: Inbound) -> str:
    """The name of the reply with a file to this message: derived, so that a repeated message makes no second copy."""
    return hashlib.sha256(f"{inbound.message_id}@{inbound.conversation}".encode()).hexdigest()[:26]


def _runtime(tx: Tx, core: Core, inbound: Inbound) -> str:
    name = bindings.thread_at(tx, inbound.conversation)
    thread = threads.get(tx, name) if name else None
    here = places.get(tx, inbound.conversation).runtime
    return thread.runtime if thread else here or core.config.threads.runtime


def _wanted(tx: Tx, core: Core, inbound: Inbound, typed: Typed) -> _Wanted | None:
    """None: nothing, since the command will be refused, was seen before, or needs no file."""
    name = bindings.thread_at(tx, inbound.conversation)
    thread = threads.get(tx, name) if name else None
    is_repeated = inbox.find(tx, inbound.conversation, inbound.message_id) is not None
    if thread is None or is_repeated or not _may(tx, core, inbound, typed.spec):
        return None
    if typed.spec.name == "file":
        return _Wanted(thread.workspace, path=typed.text)
    diff = changes_of(tx, thread)
    return _Wanted(thread.workspace, diff=diff) if len(diff) > INLINE else None


def _may(tx: Tx, core: Core, inbound: Inbound, spec: CommandSpec) -> bool:
    role = role_of(tx, core, inbound)
    return spec.may_be_used_by(role) and (role in SPEAKERS or not inbound.pressed)


def _copy(wanted: _Wanted, folder: Path, largest: int) -> Attachment:
    if wanted.path:
        return copy_file(wanted.path, Path(wanted.workspace), folder, largest)
    data = wanted.diff.encode()
    if len(data) > largest:
        raise FileNotSent(chat_messages.file_too_large(len(data), largest))
    save(data, folder / DIFF)
    return Attachment(DIFF, str(folder / DIFF), "text/x-diff")
