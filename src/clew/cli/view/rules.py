"""Prints the rule that was made with an approval: what it allows, where, how long, and whether it covers the gate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.cli.commands.rules import pattern_words, until_words, where_words
from clew.cli.language import phrase
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
    until = phrase("cli_gates.for_ever") if rule.until is None else phrase("cli_gates.until", time=until_words(rule))
    out.line(
        phrase("cli_gates.rule_made", rule=rule.id, pattern=pattern_words(rule), where=where_words(rule), until=until)
    )
    if rule.pattern != gate.rule and not _is_covered(client, gate):  # the offered rule always covers it
        out.say(phrase("cli_gates.rule_not_covering", code=gate.code))
    out.hint(phrase("cli_gates.removes_rule", id=rule.id))


def _is_covered(client: Client, gate: GateView) -> bool:
    kind, place = KINDS.get(gate.kind, "tool"), gate.folder or "/"
    return client.ask(requests.try_rules(gate.title, kind=kind, workspace=place, thread=gate.thread)).effect == "allow"
