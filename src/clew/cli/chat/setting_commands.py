"""The commands of `clew chat` that show and change settings of the thread, or show what happened in it."""

from __future__ import annotations

import time
from typing import Protocol

from clew.cli.chat.reply import Reply
from clew.cli.commands.rules import pattern_words, until_words, where_words
from clew.cli.commands.run import ThreadOptions
from clew.cli.language import person, said
from clew.cli.view.text_width import one_line
from clew.client import requests
from clew.client.sync import Asks
from clew.model.gate_views import RuleView
from clew.model.views import ThreadView
from clew.support.display import escape_hidden
from clew.support.errors import Refused

LAST = 12  # passages of `/history`
ALL = 400  # passages in which `/diff` looks
POLICIES = ("read-only", "careful", "sandbox", "trusted", "yolo")
EFFORTS = ("low", "medium", "high")  # shown if the runtime names none
REMOVE = frozenset({"remove", "rm", "删除", "移除"})


class Here(Protocol):
    """What these commands need of the chat."""

    client: Asks
    options: ThreadOptions
    thread: str | None

    def here(self) -> str: ...


class SettingCommands:
    """Mixed into `Talk`."""

    __slots__ = ()

    def do_model(self: Here, name: str) -> Reply:
        if name:
            return _set(self, "model", name)
        view = _view(self)
        runtime = view.runtime if view else self.options["runtime"]
        offered = self.client.ask(requests.models(runtime)) if runtime else ()
        return _shown(self, "model", view, [each.name for each in offered])

    def do_effort(self: Here, name: str) -> Reply:
        if name:
            return _set(self, "effort", name)
        view = _view(self)
        model = view.model if view else self.options["model"]
        offered = self.client.ask(requests.models(view.runtime)) if view else ()
        chosen = next((each for each in offered if each.name == model or (not model and each.is_default)), None)
        return _shown(self, "effort", view, [*(chosen.efforts if chosen and chosen.efforts else EFFORTS)])

    def do_policy(self: Here, name: str) -> Reply:
        return _set(self, "policy", name) if name else _shown(self, "policy", _view(self), [*POLICIES])

    def do_rules(self: Here, given: str) -> Reply:
        """List the rules that apply to this thread, or remove one by its number."""
        view = self.client.ask(requests.thread(self.here()))
        found = [rule for rule in self.client.ask(requests.rules()) if _applies(rule, view)]
        if given:
            return _remove(self, given, found)
        if not found:
            return Reply(("· no rule applies here; commands that only read are allowed, anything else is asked",))
        lines = [f"{number:>3}  {_line(rule)}" for number, rule in enumerate(found, 1)]
        return Reply((*lines, "· /rules remove NUMBER removes one"))

    def do_history(self: Here, _: str) -> Reply:
        passages = self.client.ask(requests.transcript(self.here(), LAST))
        lines = [f"{person(each.author)}: {one_line(said(each, 'text'))}" for each in passages]
        return Reply(tuple(lines) or ("· nothing was said in this thread yet",))

    def do_diff(self: Here, _: str) -> Reply:
        passages = self.client.ask(requests.transcript(self.here(), ALL))
        done = [item for each in passages for item in each.items]
        changes = [item for item in done if item.kind == "change" and item.outcome in (None, "ok")]
        shown = [escape_hidden((item.body or item.title).rstrip("\n")) for item in changes]
        return Reply(tuple(line for change in shown for line in change.split("\n")) or ("· no changes were reported",))


def _view(here: Here) -> ThreadView | None:
    return here.client.ask(requests.thread(here.thread)) if here.thread else None


def _shown(here: Here, name: str, view: ThreadView | None, known: list[str]) -> Reply:
    value = getattr(view, name) if view else dict(here.options)[name]
    whose = "this thread uses" if view else "new threads use"
    line = f"· {whose} the {name} {value}" if value else f"· {whose} the default {name}"
    return Reply((f"{line}; there are: {', '.join(known)}" if known else line,))


def _set(here: Here, name: str, value: str) -> Reply:
    """Set it for this thread; without one, for the next."""
    if here.thread is None:
        if name == "policy" and value not in POLICIES:
            raise Refused(f"there is no policy {value}; there are: {', '.join(POLICIES)}")
        here.options[name] = value  # type: ignore[literal-required]
        return Reply((f"· from the next /new on: {value}",))
    here.client.ask(requests.change(here.thread, **{name: value}))
    return Reply((f"· from the next turn of this thread on: {name}={value}",))


def _applies(rule: RuleView, view: ThreadView) -> bool:
    is_here = {"thread": rule.place == view.id, "workspace": rule.place == view.workspace}.get(rule.scope, True)
    return is_here and (rule.until is None or rule.until > time.time() * 1000)


def _line(rule: RuleView) -> str:
    return f"{rule.effect} {rule.kind} {pattern_words(rule)}, {where_words(rule)}, {until_words(rule)}"


def _remove(here: Here, given: str, found: list[RuleView]) -> Reply:
    words = given.split()
    if len(words) != 2 or words[0].lower() not in REMOVE:
        raise Refused("/rules alone lists the rules; /rules remove NUMBER removes one")
    if not (words[1].isdecimal() and 0 < int(words[1]) <= len(found)):
        raise Refused(f"there is no rule {words[1]} here; /rules lists them")
    rule = here.client.ask(requests.remove_rule(found[int(words[1]) - 1].id))
    return Reply((f"· removed: {_line(rule)}",))
