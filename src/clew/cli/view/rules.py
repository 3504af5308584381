"""Prints the rule that was made with an approval: what it allows, where, how long, and whether it covers the gate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.cli.commands.rules import pattern_words, until_words, where_words
from clew.cli.output import Out
from clew.client import requests

if TYPE_CHECKING:
    from clew.client.sync import Client
    from clew.model.gate_views import GateView

KINDS = {"command": "command", "change": "change"}  # others are tools


def print_new_rule(out: Out, client: Client, gate: GateView) -> None:
    if out.as_json:
        return
    rule = client.ask(requests.rules())[-1]
    until = "for ever" if rule.until is None else f"until {until_words(rule)}"
    out.line(f"a rule was made: {rule.id}, allow {pattern_words(rule)}, {where_words(rule)}, {until}")
    if rule.pattern != gate.rule and not _is_covered(client, gate):  # the offered rule always covers it
        out.say(f"the rule does not cover {gate.code} itself, which was approved once")
    out.hint(f"clew rules remove {rule.id} removes it")


def _is_covered(client: Client, gate: GateView) -> bool:
    kind, place = KINDS.get(gate.kind, "tool"), gate.folder or "/"
    return client.ask(requests.try_rules(gate.title, kind=kind, workspace=place, thread=gate.thread)).effect == "allow"
