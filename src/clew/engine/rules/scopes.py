"""Which rules apply to a thread, by their scope and expiry, and which of these would not hold in a sandbox. Small, so
that the daemon can import it at its start."""

from __future__ import annotations

from collections.abc import Iterable

from clew.model.gates import Effect, Rule, RuleKind, Scope


def applies(rule: Rule, workspace: str, now: int, thread: str) -> bool:
    if rule.until is not None and rule.until <= now:
        return False
    return rule.place == {Scope.THREAD: thread, Scope.WORKSPACE: workspace}.get(rule.scope, rule.place)


def find_unseeing(rules: Iterable[Rule], workspace: str, now: int, thread: str) -> Rule | None:
    """The first rule of the thread that denies or asks about commands or changes. Inside a sandbox a runtime does not
    ask, so such a rule would not see what runs. Tools are asked about in a sandbox too."""
    return next(
        (
            rule
            for rule in rules
            if rule.effect is not Effect.ALLOW
            and rule.kind is not RuleKind.TOOL
            and applies(rule, workspace, now, thread)
        ),
        None,
    )
