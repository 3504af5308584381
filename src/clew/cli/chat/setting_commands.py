"""The commands of `clew chat` that show and change settings of the thread, or show what happened in it."""

from __future__ import annotations

import time
from typing import Protocol

from clew.cli.chat.reply import Reply
from clew.cli.commands.rules import pattern_words, until_words, where_words
from clew.cli.commands.run import ThreadOptions
from clew.cli.language import person, phrase, row_name, said, sentence, word
from clew.cli.view.text_width import one_line
from clew.cli.view.usage import budget_lines, usage_lines
from clew.client import requests
from clew.client.sync import Asks
from clew.model.gate_views import RuleView
from clew.model.views import ThreadView
from clew.support.display import escape_hidden
from clew.support.errors import Refused
from clew.texts.catalogue import say

LAST = 12  # passages of `/history`
ALL = 400  # passages in which `/diff` looks
POLICIES = ("read-only", "careful", "sandbox", "trusted", "yolo")
PRIORITIES = ("high", "normal", "low")
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

    def do_runtime(self: Here, name: str) -> Reply:
        known = _runtimes(self)
        if not name:
            return _shown(self, "runtime", _view(self), known)
        if name.lower() not in known:
            raise Refused(say("agents.unknown", name=repr(name), known=", ".join(known)))
        return _set(self, "runtime", name.lower())

    def do_priority(self: Here, name: str) -> Reply:
        return _set(self, "priority", name) if name else _shown(self, "priority", _view(self), [*PRIORITIES])

    def do_rules(self: Here, given: str) -> Reply:
        """List the rules that apply to this thread, or remove one by its number."""
        view = self.client.ask(requests.thread(self.here()))
        found = [rule for rule in self.client.ask(requests.rules()) if _applies(rule, view)]
        if given:
            return _remove(self, given, found)
        if not found:
            return Reply((phrase("cli_chat.no_rule"),))
        lines = [f"{number:>3}  {_line(rule)}" for number, rule in enumerate(found, 1)]
        return Reply((*lines, phrase("cli_chat.how_to_remove_rule")))

    def do_history(self: Here, _: str) -> Reply:
        passages = self.client.ask(requests.transcript(self.here(), LAST))
        lines = [f"{person(each.author)}: {one_line(said(each, 'text'))}" for each in passages]
        return Reply(tuple(lines) or (phrase("cli_chat.nothing_said"),))

    def do_usage(self: Here, _: str) -> Reply:
        view = self.client.ask(requests.usage())
        return Reply((*usage_lines(view), *budget_lines(view)) or (phrase("cli_chat.nothing_used", day=view.since),))

    def do_diff(self: Here, _: str) -> Reply:
        passages = self.client.ask(requests.transcript(self.here(), ALL))
        done = [item for each in passages for item in each.items]
        changes = [item for item in done if item.kind == "change" and item.outcome in (None, "ok")]
        shown = [escape_hidden((item.body or item.title).rstrip("\n")) for item in changes]
        return Reply(tuple(line for change in shown for line in change.split("\n")) or (phrase("cli_chat.no_changes"),))


def _runtimes(here: Here) -> list[str]:
    return [each.name for each in here.client.ask(requests.status()).runtimes]


def _view(here: Here) -> ThreadView | None:
    return here.client.ask(requests.thread(here.thread)) if here.thread else None


def _shown(here: Here, name: str, view: ThreadView | None, known: list[str]) -> Reply:
    value = getattr(view, name) if view else dict(here.options)[name]
    whose = phrase("cli_chat.this_thread_uses") if view else phrase("cli_chat.new_threads_use")
    what = row_name(_NAMES[name])
    line = (
        phrase("cli_chat.uses", whose=whose, name=what, value=value)
        if value
        else phrase("cli_chat.uses_default", whose=whose, name=what)
    )
    return Reply((phrase("cli_chat.there_are", line=line, known=", ".join(known)) if known else line,))


_NAMES = {
    "effort": "row_effort",
    "model": "row_model",
    "policy": "row_policy",
    "priority": "row_priority",
    "runtime": "row_runtime",
}


def _set(here: Here, name: str, value: str) -> Reply:
    """Set it for this thread; without one, for the next."""
    if here.thread is None:
        if name == "policy" and value not in POLICIES:
            raise Refused(sentence("cli_chat.no_policy", value=value, known=", ".join(POLICIES)))
        here.options[name] = value  # type: ignore[literal-required]
        return Reply((phrase("cli_chat.from_next_new", value=value),))
    here.client.ask(requests.change(here.thread, **{name: value}))
    return Reply((phrase("cli_chat.from_next_turn", name=name, value=value),))


def _applies(rule: RuleView, view: ThreadView) -> bool:
    is_here = {"thread": rule.place == view.id, "workspace": rule.place == view.workspace}.get(rule.scope, True)
    return is_here and (rule.until is None or rule.until > time.time() * 1000)


def _line(rule: RuleView) -> str:
    return f"{word(rule.effect)} {word(rule.kind)} {pattern_words(rule)}, {where_words(rule)}, {until_words(rule)}"


def _remove(here: Here, given: str, found: list[RuleView]) -> Reply:
    words = given.split()
    if len(words) != 2 or words[0].lower() not in REMOVE:
        raise Refused(sentence("cli_chat.rules_usage"))
    if not (words[1].isdecimal() and 0 < int(words[1]) <= len(found)):
        raise Refused(sentence("cli_chat.no_such_rule", number=words[1]))
    rule = here.client.ask(requests.remove_rule(found[int(words[1]) - 1].id))
    return Reply((phrase("cli_chat.rule_removed", rule=_line(rule)),))
