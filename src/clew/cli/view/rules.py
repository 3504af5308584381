"""Prints the rule that was made with an approval: what it allows, where, how long, and whether it covers the gate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clew.cli.commands.rules import pattern_words, until_words, where_words
from clew.cli.output import Out

if TYPE_CHECKING:
    from clew.client.untyped import JsonClient as Client

KINDS = {"command": "command", "change": "change"}  # others are tools


def print_new_rule(out: Out, client: Client, gate: Any) -> None:
    if out.as_json:
        return
    rule = client.get("rules")[-1]
    until = "for ever" if rule["until"] is None else f"until {until_words(rule)}"
    out.line(f"a rule was made: {rule['id']}, allow {pattern_words(rule)}, {where_words(rule)}, {until}")
    if rule["pattern"] != gate["rule"] and not _is_covered(client, gate):  # the offered rule always covers it
        out.say(f"the rule does not cover {gate['code']} itself, which was approved once")
    out.hint(f"clew rules remove {rule['id']} removes it")


def _is_covered(client: Client, gate: Any) -> bool:
    body = {"subject": gate["title"], "kind": KINDS.get(gate["kind"], "tool"), "thread": gate["thread"]}
    return bool(client.post("rules", "test", body=body | {"workspace": gate["folder"] or "/"})["effect"] == "allow")
