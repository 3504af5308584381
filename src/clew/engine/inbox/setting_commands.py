"""Chat commands that show and change settings: the policy, model and effort of this thread, the rules that apply to it,
and the agent and folder of the next one. A watcher may look. Only an owner may loosen what an agent may do."""

from __future__ import annotations

import asyncio
import os

from clew.engine.account_limits import is_there
from clew.engine.agents import switching
from clew.engine.core import Core
from clew.engine.delivery.enqueue import enqueue_notice
from clew.engine.inbox.access import role_of, sees_everything
from clew.engine.inbox.command import NOTHING_PREPARED, Command, Prepared, Reply, option_buttons
from clew.engine.threads import lifecycle, settings
from clew.model.gates import Effect, Policy, Rule, Scope
from clew.model.messages import Conversation, Inbound, Role
from clew.model.threads import Priority, Thread, ThreadSettings
from clew.store import Tx
from clew.store.tables import bindings, places, rules, threads, turns, workspaces
from clew.support.display.as_code import plain_or_code
from clew.support.errors import BadInput, NotFound, Refused
from clew.support.text import agent_name
from clew.texts import chat_messages
from clew.texts.catalogue import say
from clew.texts.gate_messages import person
from clew.texts.slash_commands import Typed

OFFERED = 8  # buttons, and folders in the list
AMONG = 200  # newest threads whose folders are listed
EFFORTS = ("low", "medium", "high")  # offered if the runtime names none
REMOVE = frozenset({"remove", "rm", "删除", "移除"})


def do_policy(command: Command) -> str | Reply:
    """Show or set the policy. `yolo` has no button: it must be typed."""
    now = command.thread.policy if command.thread else _policy_of_next(command)
    if not command.rest:
        text = _shown(command, "policy", now, " | ".join(Policy))
        return Reply(text, option_buttons("policy", [each for each in Policy if each not in (Policy.YOLO, now)]))
    return _set(command, ThreadSettings(policy=settings.policy_named(command.rest)), now)


def do_model(command: Command) -> str | Reply:
    if command.rest:
        return _set(command, ThreadSettings(model=settings.named(command.rest)))
    runtime = _runtime(command)
    found = command.core.models.get(runtime, ())
    names = [each.name for each in found]
    default = next((each.name for each in found if each.is_default), None)
    now = command.thread.model if command.thread else places.get(command.tx, command.where).model
    shown = now or (command.tell("agents_default", name=default) if default else "")
    return Reply(
        _shown(command, "model", shown, ", ".join(map(plain_or_code, names))), option_buttons("model", names[:OFFERED])
    )


def do_effort(command: Command) -> str | Reply:
    if command.rest:
        return _set(command, ThreadSettings(effort=settings.named(command.rest)))
    place = places.get(command.tx, command.where)
    now = command.thread.effort if command.thread else place.effort
    model = command.thread.model if command.thread else place.model
    found = command.core.models.get(_runtime(command), ())
    chosen = next((each for each in found if each.name == model or (model is None and each.is_default)), None)
    names = [*(chosen.efforts if chosen and chosen.efforts else EFFORTS)]
    return Reply(_shown(command, "effort", now or "", ", ".join(names)), option_buttons("effort", names[:OFFERED]))


def do_priority(command: Command) -> str | Reply:
    thread = command.bound()
    if command.rest:
        return _set(command, ThreadSettings(priority=settings.priority_named(command.rest)))
    others: list[str] = [each for each in Priority if each is not thread.priority]
    return Reply(_shown(command, "priority", thread.priority, " | ".join(Priority)), option_buttons("priority", others))


def _runtime(command: Command) -> str:
    here = places.get(command.tx, command.where).runtime
    return command.thread.runtime if command.thread else here or command.core.config.threads.runtime


def _policy_of_next(command: Command) -> Policy:
    return places.get(command.tx, command.where).policy or command.core.default_policy


def _shown(command: Command, name: str, now: str, known: str) -> str:
    where = "of_thread" if command.thread else "of_next"
    value = plain_or_code(now) if now else command.tell("default")
    lines = [command.tell(f"{name}_{where}", value=value), *([command.tell("choices", known=known)] if known else [])]
    return "\n".join(lines)


def _set(command: Command, wanted: ThreadSettings, policy: Policy = Policy.CAREFUL) -> str:
    """Set it for this thread; without one, for the next that begins here."""
    command.require_speaker()
    if settings.loosens(wanted, policy) and command.role is not Role.OWNER:
        raise Refused(say("people.owner_loosens", now=policy, wanted=wanted.policy or ""))
    text = settings.listed(wanted)
    if command.thread is None:
        name, _, value = text.partition("=")
        places.put(command.tx, command.where, name, value)
        return command.tell("from_now", what=plain_or_code(text))
    name, by = f"{command.inbound.message_id}@{command.where}", command.inbound.sender
    settings.change(command.tx, command.core, command.thread, wanted, by, command.where, name)
    if command.inbound.pressed:  # the reply to a button vanishes: everybody here has to see the change
        notice = say("threads.settings_changed", by=person(by), what=text)
        enqueue_notice(command.tx, command.core, command.where, notice, f"{name}:settings", command.thread.id)
    return command.tell("from_next_turn", what=plain_or_code(text))


def do_rules(command: Command) -> str:
    """List the rules that apply to this thread, or remove one by its number."""
    found = _rules(command)
    if command.rest:
        command.require_speaker()
        return _remove_rule(command, found)
    if not found:
        return command.tell("no_rules")
    lines = [f"{number}. {_rule_line(command, rule)}" for number, rule in enumerate(found, 1)]
    return "\n".join([*lines, command.tell("rules_how")])


def _rules(command: Command) -> list[Rule]:
    thread, now = command.bound(), command.core.clock.now()
    found = rules.of_scopes(command.tx, thread.id, thread.workspace)
    return [rule for rule in found if rule.until is None or rule.until > now]


def _rule_line(command: Command, rule: Rule) -> str:
    """`allow: the command pytest * (everywhere, 4ZK7)`."""
    effect, scope = command.tell(f"rule_{rule.effect}"), command.tell(f"rule_{rule.scope}")
    about = command.tell(f"rule_{rule.kind}", pattern=plain_or_code(rule.pattern))
    return f"{effect} {about} ({scope}, {rule.id[-4:]})"


def _remove_rule(command: Command, found: list[Rule]) -> str:
    """Remove a rule by its number, or by the end of its id, which stays the same if others are removed meanwhile.
    Without a rule that denies or asks, an agent may do more, so only an owner may remove one; and a rule for
    everywhere is not a driver's."""
    words = command.rest.split()
    if len(words) != 2 or words[0].lower() not in REMOVE:
        raise BadInput(say("rules.how_to_remove"))
    which = words[1].upper()
    by_number = found[int(which) - 1 : int(which)] if which.isdecimal() and 0 < int(which) <= len(found) else []
    by_id = [rule for rule in found if len(which) >= 4 and rule.id.endswith(which)]
    if len(by_id or by_number) != 1:
        raise NotFound(say("rules.not_listed", number=words[1]))
    [rule] = by_id or by_number
    is_owners = rule.effect is not Effect.ALLOW or rule.scope is Scope.EVERYWHERE
    if is_owners and command.role is not Role.OWNER:
        raise Refused(say("people.owner_removes_rule"))
    rules.remove(command.tx, rule.id)
    return command.tell("rule_removed", rule=_rule_line(command, rule))


def do_runtime(command: Command) -> str | Reply:
    """Show the agent of this thread, or switch to another; without a thread, that of the next one."""
    core, now = command.core, _runtime(command)
    known = [name for name in sorted(core.runtimes) if name == now or is_there(core, name)]
    if not command.rest:
        text = _shown(command, "runtime", now, ", ".join(map(plain_or_code, known)))
        return Reply(text, option_buttons("runtime", [each for each in known if each != now][:OFFERED]))
    wanted = command.rest.lower()
    switching.require_usable(command.core, wanted)
    if command.thread is not None:
        return _switch(command, command.thread, wanted)
    places.put(command.tx, command.where, "runtime", wanted)
    return command.tell("from_now", what=plain_or_code(wanted))


def _switch(command: Command, thread: Thread, wanted: str) -> str:
    name, request = f"{command.inbound.message_id}@{command.where}", switching.Switch(wanted, command.inbound.sender)
    running = turns.live(command.tx, thread.id)
    names = {"runtime": agent_name(wanted), "former": agent_name(running.runtime if running else thread.runtime)}
    if not switching.switch(command.tx, command.core, thread, request, command.where, name):
        return command.tell("works_already", **names)
    if command.inbound.pressed:  # the reply to a button vanishes: everybody here has to see the change
        notice = switching.notice(request, thread.runtime)
        enqueue_notice(command.tx, command.core, command.where, notice, f"{name}:switched", thread.id)
    return command.tell("switched_after" if running else "switched", **names)


def do_dir(command: Command) -> str | Reply:
    """Show or choose the folder of the next thread: by path, also relative to the current one, or by number."""
    if not command.rest:
        recent = _recent(command.tx, command.core, command.inbound)
        lines = [f"{number}. {plain_or_code(path)}" for number, path in enumerate(recent, 1)]
        how = [command.tell("folder_how")] if lines else []
        here = _folder_here(command.tx, command.core, command.where)
        shown = "\n".join([command.tell("folder_is", name=plain_or_code(here)), *lines, *how])
        return Reply(shown, option_buttons("dir", recent))
    folder = command.prepared.folder
    if folder is None:
        raise command.prepared.refused or Refused(chat_messages.no_folder(command.rest))
    places.put(command.tx, command.where, "workspace", folder)
    return command.tell("from_now", what=plain_or_code(folder))


async def prepare(core: Core, inbound: Inbound, typed: Typed) -> Prepared:
    """Look at the folder that `/dir` names, before its transaction."""
    if not typed.text:
        return NOTHING_PREPARED
    path = await core.store.read(lambda tx: _path(tx, core, inbound, typed))
    if path is None:
        return NOTHING_PREPARED
    try:
        return Prepared(folder=await asyncio.to_thread(lifecycle.real_folder, path))
    except BadInput as refused:
        return Prepared(refused=refused)


def _path(tx: Tx, core: Core, inbound: Inbound, typed: Typed) -> str | None:
    """None: its sender may not choose a folder."""
    given, recent = typed.text, _recent(tx, core, inbound)
    if not typed.spec.may_be_used_by(role_of(tx, core, inbound)):
        return None
    if given.isdecimal() and 0 < int(given) <= len(recent):
        return recent[int(given) - 1]
    if given.startswith(("/", "~")):
        return given
    here = _folder_here(tx, core, inbound.conversation)
    return os.path.normpath(os.path.join(here, given))  # noqa: PTH118 (a text of any length)


def _recent(tx: Tx, core: Core, inbound: Inbound) -> list[str]:
    """Folders of the newest threads, for an owner in their direct chat; else only of those of this conversation."""
    if sees_everything(tx, core, inbound):
        return workspaces.newest(tx, AMONG)[:OFFERED]
    return workspaces.of(tx, bindings.known_at(tx, inbound.conversation, AMONG))[:OFFERED]


def _folder_here(tx: Tx, core: Core, where: Conversation) -> str:
    chosen, name = places.get(tx, where).workspace, bindings.thread_at(tx, where)
    thread = threads.get(tx, name) if name and not chosen else None
    return chosen or (thread.workspace if thread else core.workspace)
