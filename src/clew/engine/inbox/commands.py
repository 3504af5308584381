"""Runs the commands of `texts/slash_commands.py` in chats: each by the function `do_NAME`, here or in
`setting_commands` and `reading_commands`. A command either does something and returns a reply, or is rewritten into a
message that is then handled normally."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from clew.engine.agents import second_opinion
from clew.engine.core import Core
from clew.engine.delivery.language import CHINESE, language_of
from clew.engine.delivery.placeholder import note_pressed, placeholder
from clew.engine.gates import suspension_prompt
from clew.engine.gates.answers import refuse_secrets
from clew.engine.gates.lifecycle import stop_turn
from clew.engine.gates.reply_parser import is_code
from clew.engine.gates.status_lines import title_line
from clew.engine.inbox.access import role_of, sees_everything
from clew.engine.inbox.command import NOTHING_PREPARED, Command, Prepared, Reply
from clew.engine.inbox.sender import message_of
from clew.engine.places import away, driver
from clew.engine.places.targets import HandoffRequest, request_for, resolve_target
from clew.engine.threads import forks, lifecycle
from clew.engine.threads.lookup import existing_thread, find_thread
from clew.model.delivery import Delivery
from clew.model.gates import Gate
from clew.model.messages import Fate, Inbound, Role
from clew.model.threads import SuspendedBy, Thread, ThreadFilter
from clew.model.turns import Turn
from clew.store import Tx
from clew.store.tables import bindings, deliveries, gates, places, threads, turns
from clew.store.tables.inbox import Arrival
from clew.store.tables.threads import Damaged
from clew.support.display.as_code import plain_or_code
from clew.support.errors import BadInput, ClewError, NotFound, Refused
from clew.support.text import agent_name
from clew.texts import bilingual, chat_messages
from clew.texts.catalogue import say
from clew.texts.command_replies import Replies
from clew.texts.slash_commands import CommandSpec, Mistake, Place, Typed, help_lines, parse, unescape

LISTED = 10  # threads
KNOWN = 200  # threads of a conversation that can be named there


Handler = Callable[[Command], str | Reply | Inbound]


def run_command(
    tx: Tx, core: Core, inbound: Inbound, prepared: Prepared = NOTHING_PREPARED
) -> Arrival | Inbound | None:
    """Run a chat command. None: it is not a command. An Inbound: handle this message instead."""
    typed = _parse(core, inbound)
    if typed is None:
        return None
    name = bindings.thread_at(tx, inbound.conversation)
    if isinstance(typed, Mistake):
        return Arrival(Fate.REFUSED, name, None, typed.words)
    tell = Replies(language_of(tx, core, inbound.conversation) == CHINESE)
    if not typed.spec.may_be_used_by(role_of(tx, core, inbound)):
        return Arrival(Fate.REFUSED, name, None, say("people.owners_only"))
    thread = threads.get(tx, name) if name else None
    try:
        done = _handler(typed.spec)(Command(tx, core, inbound, typed.text, thread, tell, prepared))
    except ClewError as error:
        return Arrival(Fate.REFUSED, name, None, error.words)
    if isinstance(done, Inbound):
        return done
    reply = done if isinstance(done, Reply) else Reply(done)
    return Arrival(Fate.COMMAND, name, None, reply.text, reply.buttons, reply.file)


async def prepare_command(core: Core, inbound: Inbound) -> Prepared:
    """Fetch what the command needs from the disk or from a runtime: no transaction may wait for that."""
    typed = _parse(core, inbound)
    if not isinstance(typed, Typed):
        return NOTHING_PREPARED
    from clew.engine.inbox import reading_commands, setting_commands  # loaded with the first command

    prepare = setting_commands.prepare if typed.spec.name == "dir" else reading_commands.prepare
    return await prepare(core, inbound, typed)


def run_for_watcher(tx: Tx, core: Core, inbound: Inbound, prepared: Prepared = NOTHING_PREPARED) -> Arrival | None:
    """Run one of the few commands that a watcher may use; None if this is something else."""
    typed = _parse(core, inbound)
    if not isinstance(typed, Typed) or inbound.pressed or role_of(tx, core, inbound) is not Role.WATCHER:
        return None
    done = run_command(tx, core, inbound, prepared) if typed.spec.may_be_used_by(Role.WATCHER) else None
    return done if isinstance(done, Arrival) else None


def without_escape(core: Core, inbound: Inbound) -> Inbound:
    """A message that begins with two slashes is for the agent, with one."""
    prefix = _prefix(core, inbound)
    text = unescape(inbound.text, prefix) if prefix else inbound.text
    return inbound if text == inbound.text else replace(inbound, text=text)


def text_for_agent(core: Core, inbound: Inbound) -> str:
    """What the agent gets of a message: without the command before it, if that passes its text on. Empty: nothing."""
    typed = _parse(core, inbound)
    if isinstance(typed, Typed):
        return typed.text if typed.spec.name in ("new", "queue") else ""
    return "" if isinstance(typed, Mistake) else without_escape(core, inbound).text.strip()


def _parse(core: Core, inbound: Inbound) -> Typed | Mistake | None:
    prefix = _prefix(core, inbound)
    return parse(inbound.text, Place.CHAT, prefix) if prefix else None


def _prefix(core: Core, inbound: Inbound) -> str:
    """The characters that a command begins with there; empty if it is not a chat."""
    surface = core.surfaces.get(inbound.conversation.surface)
    return surface.can.prefix if surface is not None and surface.can.chat else ""


def _handler(spec: CommandSpec) -> Handler:
    from clew.engine.inbox import reading_commands, setting_commands

    found = (vars(module).get(spec.handler) for module in (setting_commands, reading_commands))
    handler: Handler = next((each for each in found if each is not None), None) or globals()[spec.handler]
    return handler


def do_new(command: Command) -> str | Inbound:
    """The text behind `/new` goes to the new thread: `/new 1` does not answer a gate."""
    if command.rest:
        refuse_secrets(command.tx, command.thread)
    bindings.unbind(command.tx, command.where)
    return replace(command.inbound, text=command.rest, quoted=None, sees=()) if command.rest else command.tell("new")


def do_threads(command: Command) -> str:
    found = _listed(command)
    lines = [f"{number}. {_line(command, each)}" for number, each in enumerate(found, 1)]
    lines.append(command.tell("resume_how" if found else "no_threads"))
    if command.inbound.in_group and role_of(command.tx, command.core, command.inbound) is Role.OWNER:
        lines.append(command.tell("only_here"))
    return "\n".join(lines)


def _listed(command: Command) -> list[threads.ThreadSummary]:
    return threads.page(command.tx, ThreadFilter(limit=LISTED, among=_known(command)))


def _known(command: Command) -> tuple[str, ...] | None:
    """The threads that the sender may be shown here; None: all."""
    if sees_everything(command.tx, command.core, command.inbound):
        return None
    return bindings.known_at(command.tx, command.where, KNOWN)


def _line(command: Command, seen: threads.ThreadSummary) -> str:
    row = seen.thread
    if isinstance(row, Damaged):
        return f"{row.id} ({row.reason})"
    here = " ←" if command.thread is not None and row.id == command.thread.id else ""
    status = _status_word(command, row, seen.live_turn)
    return f"{row.handle or row.id}: {plain_or_code(row.title)} ({status}){here}"


def _status_word(command: Command, thread: Thread, running: object) -> str:
    return command.tell("running" if running else thread.status)


def do_resume(command: Command) -> str:
    """Bind a thread to this conversation, whatever its status, and move its open work here."""
    if not command.rest:
        return do_threads(command)
    row = _by_number(_listed(command), command.rest) or _by_name(command, command.rest)
    if bindings.thread_at(command.tx, command.where) != row.id:
        bindings.bind(command.tx, command.where, row.id, command.core.clock.now(), drives=False)
    name = f"{command.inbound.message_id}@{command.where}"
    driver.move(command.tx, command.core, row, command.where, command.inbound.sender, name)
    return command.tell("resumed", title=plain_or_code(row.title))


def _by_number(found: list[threads.ThreadSummary], number: str) -> Thread | None:
    place = int(number) - 1 if number.isdecimal() else -1
    row = found[place].thread if 0 <= place < len(found) else None
    return None if isinstance(row, Damaged) else row


def _by_name(command: Command, name: str) -> Thread:
    """A wrong number must not mean a thread whose name begins with it."""
    try:
        found = find_thread(command.tx, name, exact=name.isdecimal() and len(name) < 3, among=_known(command))
    except NotFound as error:
        raise NotFound(say("threads.no_thread_listed", name=name)) from error
    return existing_thread(command.tx, found)


def do_fork(command: Command) -> str:
    if command.rest:
        refuse_secrets(command.tx, command.thread)
    source = command.bound()
    new = forks.fork(command.tx, command.core, source, None, forks.same(source, command.rest or None))
    bindings.bind(command.tx, command.where, new, command.core.clock.now())
    return command.tell("forked")


def do_ask(command: Command) -> str:
    """Ask another agent about this thread. Its answer comes here."""
    refuse_secrets(command.tx, command.thread)
    name, _, question = command.rest.partition(" ")
    message = replace(message_of(command.inbound), text=question.strip(), attachments=())
    source = command.bound()
    second_opinion.ask(command.tx, command.core, source, name.lower(), message, command.where)
    return command.tell("asked_agent", runtime=agent_name(name.lower()))


def do_stop(command: Command) -> str:
    if command.inbound.pressed:
        return _stop_shown_turn(command)
    stopped = lifecycle.ask_stop(command.tx, command.core, command.bound(), command.inbound.sender, command.where)
    return _stopping(command, stopped)


def _stopping(command: Command, stopped: Turn) -> str:
    queued = turns.count_queued(command.tx, stopped.thread)
    return command.tell("stopping_one", count=queued) if queued else command.tell("stopping")


def _stop_shown_turn(command: Command) -> str:
    """The button of a placeholder names its turn: it stops no later one, and counts once. What a press says can be
    forged, so it counts only in the conversation that shows the placeholder."""
    turn, pressed = turns.get(command.tx, command.rest), command.inbound.quoted
    if turn is not None and pressed is not None:
        note_pressed(command.tx, command.core, turn, command.where, pressed)
    running = turns.live(command.tx, turn.thread) if turn is not None else None
    if turn is None or running is None or running.id != turn.id or running.stop_asked:
        raise Refused(chat_messages.SETTLED)
    shown = placeholder(command.tx, turn.id)
    if shown is None or shown.conversation != command.where:
        raise Refused(chat_messages.SETTLED)
    stop_turn(command.tx, command.core, turn.thread, turn.id, command.inbound.sender)
    return _stopping(command, turn)


def do_queue(command: Command) -> Inbound:
    return replace(command.inbound, text=command.rest, queue=True)


def do_status(command: Command) -> str:
    thread = command.bound()
    running, queued = turns.live(command.tx, thread.id), turns.count_queued(command.tx, thread.id)
    open_now = ", ".join(gate.code for gate in gates.open_in(command.tx, thread.id))
    lines = [
        f"{thread.handle or thread.id}: {plain_or_code(thread.title)}",
        f"{_status_word(command, thread, running)}, {thread.runtime}, {plain_or_code(thread.workspace)}",
        *([command.tell("queued", count=queued)] if queued else []),
        *([command.tell("waits", codes=open_now)] if open_now else []),
        *([_asked(command, thread, queued)] if thread.suspend_message and not running else []),
    ]
    return "\n".join(lines)


def _asked(command: Command, thread: Thread, queued: int) -> str:
    """The question of a suspended thread, with a hint how to answer it, in the language of the chat."""
    by_backlog = thread.suspended_by is SuspendedBy.BACKLOG
    now = replace(thread, suspend_message=chat_messages.backlog(queued)) if by_backlog else thread
    question = suspension_prompt.question(now) or ""
    return bilingual.zh(question) if command.tell.is_chinese else question


def do_where(command: Command) -> str:
    rows = [row for row in deliveries.of_thread(command.tx, command.bound().id, 30) if row.kind == "final"][-5:]
    return "\n".join(_receipt(command, row) for row in rows) or command.tell("nothing_sent")


def _receipt(command: Command, row: Delivery) -> str:
    error = bilingual.zh(row.error or "") if command.tell.is_chinese else row.error
    return f"{command.tell(f'delivery_{row.state}')}: {row.conversation or '-'}" + (f" ({error})" if error else "")


def do_gates(command: Command) -> str:
    known = _known(command)
    waiting = gates.all_open(command.tx)
    found = [gate for gate in waiting if known is None or gate.thread in known or gate.where == command.where][:20]
    return "\n".join(f"{gate.code}: {_title(command, gate)}" for gate in found) or command.tell("no_gates")


def _title(command: Command, gate: Gate) -> str:
    title = title_line(gate)
    return plain_or_code(bilingual.zh(title) if command.tell.is_chinese else title)


def do_approve(command: Command) -> Inbound:
    """Accept by code. Refused if there is more text, since a yes cannot have a condition."""
    code, more = _code(command)
    if more and chat_messages.word(more) not in chat_messages.YES:
        raise BadInput(say("gates.only_code", code=code))
    return replace(command.inbound, text=f"{code} y")


def do_deny(command: Command) -> Inbound:
    code, reason = _code(command)
    return replace(command.inbound, text=f"{code} n {reason}".strip())


def do_answer(command: Command) -> Inbound:
    return replace(command.inbound, text=" ".join(_code(command)))


def _code(command: Command) -> tuple[str, str]:
    """The gate code and the rest. Raises BadInput if there is no code: the text never goes to the agent. Raises Refused
    if it may be a secret, which the error would repeat."""
    code, _, rest = command.rest.partition(" ")
    if not is_code(code):
        refuse_secrets(command.tx, command.thread)
        raise BadInput(say("gates.no_code", word=code))
    return code.upper(), rest.strip()


def do_handoff(command: Command) -> str:
    wanted = HandoffRequest(
        command.bound().id,
        command.rest,
        command.inbound.sender,
        command.where,
        may_choose=_may_choose(command),
    )
    return command.tell("handing", surface=request_for(command.tx, command.core, wanted).surface)


def do_away(command: Command) -> str:
    """Set the away target to the named conversation, or to this one."""
    named = resolve_target(command.tx, command.core, command.rest, may_choose=True) if command.rest else command.where
    away.go(command.tx, command.core, named)
    return command.tell("away", surface=named.surface)


def _may_choose(command: Command) -> bool:
    """Whether the sender may name any conversation, not only the home of a surface."""
    return role_of(command.tx, command.core, command.inbound) is Role.OWNER


def do_back(command: Command) -> str:
    return command.tell("back" if away.back(command.tx, command.core) else "not_away")


def do_home(command: Command) -> str:
    places.set_home(command.tx, command.where)
    return command.tell("home", surface=command.where.surface)


def do_done(command: Command) -> str:
    lifecycle.finish(command.tx, command.core, command.bound())
    return command.tell("done")


def do_help(command: Command) -> str:
    """One line per command that the sender may use here, or only the one that is named."""
    role, chinese = role_of(command.tx, command.core, command.inbound) or Role.WATCHER, command.tell.is_chinese
    found = help_lines(Place.CHAT, role, command.rest, chinese=chinese)
    lines = [f"{usage}{'：' if chinese else ': '}{about}" for usage, about in found]
    if len(lines) > 1 and role is not Role.WATCHER:
        lines.append(command.tell("other_messages"))
    return "\n".join(lines)
