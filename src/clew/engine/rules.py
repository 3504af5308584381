"""What the rules, the safe defaults and a thread's policy say about a request: allow, deny, or ask a person. Deny goes
before ask, ask before allow, and where nobody speaks a person is asked. It only judges: it asks nobody, stores nothing
and runs nothing. An allow has to be certain of all that it covers; a deny or an ask needs only a suspicion."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Mapping, Sequence
from fnmatch import fnmatch, fnmatchcase
from types import MappingProxyType

from clew.asking import Asked, Effect, GateKind, Policy, Rule, RuleKind, Scope, Verdict
from clew.engine.patterns import begins, covers, fits, hits, inside, words_of
from clew.engine.reads import only_reads
from clew.engine.shell import asks_always, plain_words, segments
from clew.errors import BadInput
from clew.seen import exactly

# What a rule made from a gate is about.
KINDS: Mapping[GateKind, RuleKind] = MappingProxyType(
    {GateKind.COMMAND: RuleKind.COMMAND, GateKind.CHANGE: RuleKind.CHANGE, GateKind.PERMISSION: RuleKind.TOOL}
)
LONGEST = 32_768  # characters of a command that rules are applied to


def decide(asked: Asked, policy: Policy, workspace: str, rules: Sequence[Rule], now: int, thread: str) -> Verdict:
    """Which of allow, ask and deny holds for this request, and who says so. `workspace` is the thread's folder."""
    if asked.kind is GateKind.QUESTION:
        return Verdict(Effect.ASK, "a question is for a person")
    if len(asked.title) > LONGEST:
        return Verdict(Effect.ASK, "it is too long to be judged by rules")
    holding = [rule for rule in rules if _holds(rule, workspace, now, thread)]
    for effect in (Effect.DENY, Effect.ASK, Effect.ALLOW):
        for rule in holding:
            if rule.effect is effect and _speaks(rule, asked, workspace):
                return Verdict(effect, _named(rule))
    return _by_policy(asked, policy, workspace)


def _holds(rule: Rule, workspace: str, now: int, thread: str) -> bool:
    if rule.until is not None and rule.until <= now:
        return False
    return rule.place == {Scope.THREAD: thread, Scope.WORKSPACE: workspace}.get(rule.scope, rule.place)


def _speaks(rule: Rule, asked: Asked, workspace: str) -> bool:
    if rule.kind is RuleKind.EXACT:
        return rule.pattern == exact_pattern(asked)
    if rule.kind is not KINDS[asked.kind]:
        return False
    return _allows(rule, asked, workspace) if rule.effect is Effect.ALLOW else _touches(rule, asked, workspace)


def _by_policy(asked: Asked, policy: Policy, workspace: str) -> Verdict:
    said = f"the policy {policy}"
    if policy is Policy.YOLO:
        return Verdict(Effect.ALLOW, said)
    is_command = asked.kind is GateKind.COMMAND
    by_default = _by_default(asked, workspace) if is_command else Verdict(Effect.ASK, "no rule allows it")
    if policy is Policy.READ_ONLY and by_default.effect is not Effect.ALLOW:
        return Verdict(Effect.DENY, said)
    if policy is Policy.TRUSTED and asked.kind is GateKind.CHANGE and covers("**", asked.paths, workspace):
        return Verdict(Effect.ALLOW, said)
    return by_default


def _by_default(asked: Asked, workspace: str) -> Verdict:
    words = plain_words(asked.title)
    if words is None:
        return Verdict(Effect.ASK, "it is more than plain words")
    if asks_always(words):
        return Verdict(Effect.ASK, f"`{words[0]}` is always asked about")
    if asked.folder and only_reads(words, asked.folder, workspace):
        return Verdict(Effect.ALLOW, "it only reads inside the workspace")
    return Verdict(Effect.ASK, "no rule allows it")


def _allows(rule: Rule, asked: Asked, workspace: str) -> bool:
    if asked.kind is GateKind.COMMAND:
        words = plain_words(asked.title)
        here = rule.scope is not Scope.WORKSPACE or asked.folder is None or inside(asked.folder, workspace)
        return words is not None and here and not asks_always(words) and fits(words_of(rule.pattern), words)
    if asked.kind is GateKind.CHANGE:
        return covers(rule.pattern, asked.paths, workspace)
    return fnmatchcase(asked.title, rule.pattern)


def _touches(rule: Rule, asked: Asked, workspace: str) -> bool:
    if asked.kind is GateKind.COMMAND:
        pattern = words_of(rule.pattern)
        return any(begins(pattern, words) for words in segments(asked.title))
    if asked.kind is GateKind.CHANGE:
        return any(hits(rule.pattern, path, workspace) for path in asked.paths)
    return fnmatch(asked.title.lower(), rule.pattern.lower())


def exact_pattern(asked: Asked) -> str:
    """The pattern of a rule that means this request and no other."""
    return hashlib.sha256(asked.subject.encode("utf-8", "surrogatepass")).hexdigest()


def checked(effect: Effect, kind: RuleKind, pattern: str) -> str:
    """A pattern that somebody wrote, if it can ever mean what they think."""
    pattern = pattern.strip()
    if not pattern or pattern != exactly(pattern, lines=False):
        raise BadInput("a pattern is one line of visible characters, such as `pytest *` or `src/**`")
    if kind is RuleKind.COMMAND:
        _check_words(effect, pattern)
    if kind is RuleKind.CHANGE and (pattern.startswith("~") or ".." in pattern.split("/")):
        raise BadInput(f"write `{pattern}` relative to the workspace, or as a whole path; without `~` and `..`")
    return pattern


def _check_words(effect: Effect, pattern: str) -> None:
    try:
        words = shlex.split(pattern)
    except ValueError as error:
        raise BadInput(f"the pattern `{pattern}` has a quote without its other half") from error
    if effect is Effect.ALLOW and asks_always(words):
        raise BadInput(f"`{words[0]}` is always asked about: no rule can allow it")
    if effect is Effect.ALLOW and not any(word.strip("*?") for word in words):
        raise BadInput(f"`{pattern}` would allow everything; `--policy yolo` does that, for one thread")
    if effect is Effect.ALLOW and any(word.strip(";&|") != word for word in words):
        raise BadInput(f"an allow covers one plain command; make a rule for each part of `{pattern}`")


def describe(rule: Rule, until: str = "") -> str:
    """A rule in words; `until` is its end as the reader's clock shows it."""
    where = {Scope.THREAD: f"in thread {rule.place}", Scope.WORKSPACE: f"in {rule.place}"}.get(rule.scope, "everywhere")
    return " ".join(filter(None, (_said(rule, "`"), exactly(where, lines=False), until and f"until {until}")))


def _said(rule: Rule, quote: str = "") -> str:
    pattern = exactly(rule.pattern, lines=False)
    about = {RuleKind.CHANGE: "changes of ", RuleKind.TOOL: "the tool ", RuleKind.EXACT: "exactly "}.get(rule.kind, "")
    shown = f"{pattern[:12]}…" if rule.kind is RuleKind.EXACT else pattern
    return f"{rule.effect} {about}{quote}{shown}{quote}"


def _named(rule: Rule) -> str:
    return f"the rule `{_said(rule)}` ({rule.id})"
