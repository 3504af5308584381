"""Commands in chats, English and 中文: a word with a slash at the beginning of a message. Each either does something
and has words for it, or is another way to say what is then treated as said. What only looks like one goes to the
agent."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from clew.engine.core import Core
from clew.engine.delivery.language import CHINESE, language_of
from clew.engine.gates.answers import refuse_secrets
from clew.engine.gates.cards import one_line
from clew.engine.gates.reply_parser import is_code
from clew.engine.inbox.access import role_of
from clew.engine.places import away, driver
from clew.engine.places.targets import HandoffRequest, request_for, resolve_target
from clew.engine.threads import lifecycle
from clew.model.messages import Conversation, Fate, Inbound, Role
from clew.model.threads import SuspendedBy, Thread
from clew.store import Tx
from clew.store.tables import bindings, deliveries, gates, places, threads, turns
from clew.store.tables.inbox import Arrival
from clew.store.tables.threads import Damaged, Filter
from clew.support.display_code import plain_or_code
from clew.support.errors import BadInput, ClewError, NotFound, Refused
from clew.texts import bilingual, messages, stored
from clew.texts.command_replies import Replies

LISTED = 10  # threads
_COMMAND = re.compile(r"\s*[/!](\w+)(?:\s+(.*))?\s*", re.DOTALL)


class Command(Struct, frozen=True):
    """A command that was given: the rest of its line, where, and the thread that is bound there."""

    tx: Tx
    core: Core
    inbound: Inbound
    rest: str
    thread: Thread | None
    tell: Replies

    @property
    def where(self) -> Conversation:
        return self.inbound.conversation

    def bound(self) -> Thread:
        if self.thread is None:
            raise Refused(self.tell("no_thread"))
        return self.thread

    def needs(self, what: str) -> str:
        if not self.rest:
            raise BadInput(self.tell("needs", what=what))
        return self.rest


Obey = Callable[[Command], str | Inbound]


def run_command(tx: Tx, core: Core, inbound: Inbound) -> Arrival | Inbound | None:
    """None: it is no command. An Inbound: it means this."""
    surface = core.surfaces.get(inbound.conversation.surface)
    found = _COMMAND.fullmatch(inbound.text)
    if found is None or surface is None or not surface.can.chat or inbound.text.lstrip()[0] not in surface.can.prefix:
        return None
    word, rest = found[1].lower(), (found[2] or "").strip()
    tell = Replies(language_of(tx, core, inbound.conversation) == CHINESE)
    if word not in COMMANDS:
        return _unknown(word, rest, tell)
    name = bindings.thread_at(tx, inbound.conversation)
    thread = threads.get(tx, name) if name else None
    try:
        done = COMMANDS[word](Command(tx, core, inbound, rest, thread, tell))
    except ClewError as error:
        return Arrival(Fate.REFUSED, name, None, error.words)
    return done if isinstance(done, Inbound) else Arrival(Fate.COMMAND, name, None, done)


def _unknown(word: str, rest: str, tell: Replies) -> Arrival | None:
    """A slip of the finger is said; a path, or an agent's own command, is for the agent."""
    near = difflib.get_close_matches(word, COMMANDS, 1, 0.75)
    return Arrival(Fate.REFUSED, None, None, tell("unknown", word=word, near=near[0])) if near and not rest else None


def _new(order: Command) -> str | Inbound:
    """What comes with it is for the new thread: `/new 1` answers no gate that is shown here."""
    if order.rest:
        refuse_secrets(order.tx, order.thread)
    bindings.unbind(order.tx, order.where)
    return replace(order.inbound, text=order.rest, quoted=None, sees=()) if order.rest else order.tell("new")


def _threads(order: Command) -> str:
    found = _listed(order.tx)
    if not found:
        return order.tell("no_threads")
    lines = [f"{number}. {_line(order, each)}" for number, each in enumerate(found, 1)]
    return "\n".join([*lines, order.tell("resume_how")])


def _listed(tx: Tx) -> list[threads.ThreadSummary]:
    return threads.page(tx, Filter(limit=LISTED))


def _line(order: Command, seen: threads.ThreadSummary) -> str:
    row = seen.thread
    if isinstance(row, Damaged):
        return f"{row.id} ({row.reason})"
    here = " ←" if order.thread is not None and row.id == order.thread.id else ""
    return f"{plain_or_code(row.title)} ({_standing(order, row, seen.live_turn)}, {row.id[-6:]}){here}"


def _standing(order: Command, thread: Thread, running: object) -> str:
    return order.tell("running" if running else thread.status)


def _resume(order: Command) -> str:
    """Coming back to a thread: it is bound here, whatever its status, and what runs in it goes on here."""
    if not order.rest:
        return _threads(order)
    found = _listed(order.tx)
    row = _by_number(found, order.rest) if len(order.rest) < 3 else _by_id(order.tx, order.rest)
    if row is None:
        raise NotFound(order.tell("no_such_thread", name=order.rest))
    if bindings.thread_at(order.tx, order.where) != row.id:
        bindings.bind(order.tx, order.where, row.id, order.core.clock.now(), drives=False)
    name = f"{order.inbound.message_id}@{order.where}"
    driver.move(order.tx, order.core, row, order.where, order.inbound.sender, name)
    return order.tell("resumed", title=plain_or_code(row.title))


def _by_number(found: list[threads.ThreadSummary], number: str) -> Thread | None:
    place = int(number) - 1 if number.isdecimal() else -1
    row = found[place].thread if 0 <= place < len(found) else None
    return None if isinstance(row, Damaged) else row


def _by_id(tx: Tx, id: str) -> Thread | None:
    found = threads.matching(tx, id.upper())
    ends = [seen.thread for seen in _listed(tx) if seen.thread.id.endswith(id.upper())]
    names = found if len(found) == 1 else [row.id for row in ends]
    return threads.get(tx, names[0]) if len(names) == 1 else None


def _fork(order: Command) -> str:
    if order.rest:
        refuse_secrets(order.tx, order.thread)
    new = lifecycle.fork(order.tx, order.core, order.bound(), None, order.rest or None)
    bindings.bind(order.tx, order.where, new, order.core.clock.now())
    return order.tell("forked")


def _stop(order: Command) -> str:
    lifecycle.ask_stop(order.tx, order.core, order.bound(), order.inbound.sender, order.where)
    return order.tell("stopping")


def _queue(order: Command) -> Inbound:
    return replace(order.inbound, text=order.needs("TEXT"), queue=True)


def _status(order: Command) -> str:
    thread = order.bound()
    running, queued = turns.live(order.tx, thread.id), turns.count_queued(order.tx, thread.id)
    open_now = ", ".join(gate.code for gate in gates.open_in(order.tx, thread.id))
    lines = [
        f"{plain_or_code(thread.title)} ({thread.id})",
        f"{_standing(order, thread, running)}, {thread.runtime}, {plain_or_code(thread.workspace)}",
        *([order.tell("queued", count=queued)] if queued else []),
        *([order.tell("waits", codes=open_now)] if open_now else []),
        *([_asked(order, thread, queued)] if thread.suspend_message and not running else []),
    ]
    return "\n".join(lines)


def _asked(order: Command, thread: Thread, queued: int) -> str:
    """What it waits for; written down in English."""
    by_backlog = thread.suspended_by is SuspendedBy.BACKLOG
    question = messages.backlog(queued) if by_backlog else stored.stored(thread.suspend_message or "")
    return bilingual.zh(question) if order.tell.is_chinese else question


def _where(order: Command) -> str:
    rows = [row for row in deliveries.of_thread(order.tx, order.bound().id, 30) if row.kind == "final"][-5:]
    lines = [f"{row.state}: {row.conversation or '-'}" + (f" ({row.error})" if row.error else "") for row in rows]
    return "\n".join(lines) or order.tell("nothing_sent")


def _gates(order: Command) -> str:
    found = gates.all_open(order.tx, 20)
    return "\n".join(f"{gate.code}: {plain_or_code(one_line(gate))}" for gate in found) or order.tell("no_gates")


def _approve(order: Command) -> Inbound:
    """Nobody can allow with a condition: with more words than its code it allows nothing."""
    code, more = _code(order)
    if more and messages.word(more) not in messages.YES:
        raise BadInput(order.tell("only_code", code=code))
    return replace(order.inbound, text=f"{code} y")


def _deny(order: Command) -> Inbound:
    code, reason = _code(order)
    return replace(order.inbound, text=f"{code} n {reason}".strip())


def _answer(order: Command) -> Inbound:
    return replace(order.inbound, text=" ".join(_code(order)))


def _code(order: Command) -> tuple[str, str]:
    """Whatever is no code is a slip, and never words for the agent."""
    code, _, rest = order.needs("CODE").partition(" ")
    if not is_code(code):
        raise BadInput(order.tell("no_code", word=code))
    return code.upper(), rest.strip()


def _handoff(order: Command) -> str:
    wish = HandoffRequest(
        order.bound().id,
        order.needs("SURFACE"),
        order.inbound.sender,
        order.where,
        may_choose=_may_choose(order),
    )
    return order.tell("handing", surface=request_for(order.tx, order.core, wish).surface)


def _away(order: Command) -> str:
    """Things come here, or to the place that is named."""
    _owners_only(order)
    named = resolve_target(order.tx, order.core, order.rest, may_choose=True) if order.rest else order.where
    away.go(order.tx, order.core, named)
    return order.tell("away", surface=named.surface)


def _may_choose(order: Command) -> bool:
    """Any conversation; else only the home of a surface."""
    return role_of(order.tx, order.core, order.inbound) is Role.OWNER


def _owners_only(order: Command) -> None:
    """What is not said in this thread, but about all that clew has to say."""
    if not _may_choose(order):
        raise Refused(order.tell("owners_only"))


def _back(order: Command) -> str:
    _owners_only(order)
    return order.tell("back" if away.back(order.tx, order.core) else "not_away")


def _home(order: Command) -> str:
    _owners_only(order)
    places.set_home(order.tx, order.where)
    return order.tell("home", surface=order.where.surface)


def _runtime(order: Command) -> str:
    known = sorted(order.core.runtimes)
    if not order.rest:
        now = places.get(order.tx, order.where).runtime or order.core.config.threads.runtime
        return order.tell("runtime_is", name=now, known=", ".join(known))
    if order.rest not in known:
        raise BadInput(order.tell("no_runtime", name=order.rest, known=", ".join(known)))
    places.put(order.tx, order.where, "runtime", order.rest)
    return order.tell("from_now", what=order.rest)


def _model(order: Command) -> str:
    if not order.rest:
        return order.tell("model_is", name=places.get(order.tx, order.where).model or "-")
    places.put(order.tx, order.where, "model", order.rest[:200])
    return order.tell("from_now", what=order.rest[:200])


def _dir(order: Command) -> str:
    if not order.rest:
        return order.thread.workspace if order.thread else _folder_here(order)
    folder = lifecycle.real_folder(order.rest)
    places.put(order.tx, order.where, "workspace", folder)
    return order.tell("from_now", what=folder)


def _folder_here(order: Command) -> str:
    return places.get(order.tx, order.where).workspace or order.core.workspace


def _done(order: Command) -> str:
    lifecycle.finish(order.tx, order.core, order.bound())
    return order.tell("done")


def _help(order: Command) -> str:
    return order.tell("help")


_ENGLISH: Mapping[str, Obey] = {
    "new": _new,
    "threads": _threads,
    "resume": _resume,
    "fork": _fork,
    "stop": _stop,
    "queue": _queue,
    "status": _status,
    "where": _where,
    "gates": _gates,
    "approve": _approve,
    "deny": _deny,
    "answer": _answer,
    "handoff": _handoff,
    "away": _away,
    "back": _back,
    "home": _home,
    "runtime": _runtime,
    "model": _model,
    "dir": _dir,
    "done": _done,
    "help": _help,
    "start": _help,  # what Telegram says for people when they open a bot
}
_ALSO = {
    "新建": "new",
    "会话": "threads",
    "继续": "resume",
    "分叉": "fork",
    "停止": "stop",
    "排队": "queue",
    "状态": "status",
    "回执": "where",
    "待办": "gates",
    "同意": "approve",
    "拒绝": "deny",
    "回答": "answer",
    "移交": "handoff",
    "离开": "away",
    "回来": "back",
    "主页": "home",
    "代理": "runtime",
    "模型": "model",
    "目录": "dir",
    "完成": "done",
    "帮助": "help",
}
COMMANDS: Mapping[str, Obey] = {**_ENGLISH, **{word: _ENGLISH[name] for word, name in _ALSO.items()}}
