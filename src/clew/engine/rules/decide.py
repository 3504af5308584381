"""What the rules, the safe defaults and a thread's policy say about a request: allow, deny, or ask a person. Deny goes
before ask, ask before allow, and where nobody speaks a person is asked. It only judges: it asks nobody, stores nothing
and runs nothing. An allow has to be certain of all that it covers; a deny or an ask needs only a suspicion."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Mapping, Sequence
from fnmatch import fnmatch, fnmatchcase
from itertools import pairwise
from types import MappingProxyType

from msgspec import Struct

from clew.engine.rules.offered import link_walk, matching
from clew.engine.rules.patterns import (
    ELLIPSIS,
    WILDCARD,
    allow_matches_command,
    allow_matches_paths,
    deny_matches_command,
    deny_matches_path,
    is_inside,
    split_words,
    wildcard_leaves_workspace,
)
from clew.engine.rules.read_only import commands, git_repository
from clew.engine.rules.shell import scripts
from clew.engine.rules.shell.lenient import always_asks, possible_commands
from clew.engine.rules.shell.scripts import ScriptCommand
from clew.model.gates import Asked, Effect, GateKind, Policy, Reason, Rule, RuleKind, Scope, Verdict
from clew.support.display import escape_hidden
from clew.support.errors import BadInput
from clew.texts import reasons

# What a rule made from a gate is about.
RULE_KINDS: Mapping[GateKind, RuleKind] = MappingProxyType(
    {GateKind.COMMAND: RuleKind.COMMAND, GateKind.CHANGE: RuleKind.CHANGE, GateKind.PERMISSION: RuleKind.TOOL}
)
MAX_COMMAND_LENGTH = 32_768  # characters of a command that rules are applied to


class Inspection(Struct, frozen=True):
    """What there is to see of a command in its workspace. In a large one that takes a while, so who is in a hurry takes
    it beforehand."""

    parts: tuple[ScriptCommand, ...] | None  # None: it is more than plain words
    default_verdict: Verdict


def inspect_command(asked: Asked, workspace: str) -> Inspection:
    parts = (
        scripts.parse_script(asked.title, asked.folder, workspace) if len(asked.title) <= MAX_COMMAND_LENGTH else None
    )
    return Inspection(tuple(parts) if parts else None, _default_verdict(asked, parts, workspace))


def decide(
    asked: Asked,
    policy: Policy,
    workspace: str,
    rules: Sequence[Rule],
    now: int,
    thread: str,
    found: Inspection | None = None,
) -> Verdict:
    """Which of allow, ask and deny holds for this request, and who says so. `workspace` is the thread's folder, `found`
    what was seen there beforehand."""
    if asked.kind is GateKind.QUESTION:
        return Verdict(Effect.ASK, "a question is for a person")
    if asked.unjudged:
        rules = [rule for rule in rules if rule.effect is not Effect.ALLOW or rule.kind is RuleKind.EXACT]
    if len(asked.title) > MAX_COMMAND_LENGTH:
        return Verdict(Effect.ASK, "it is too long to be judged by rules")
    holding = [rule for rule in rules if _applies(rule, workspace, now, thread)]
    for effect in (Effect.DENY, Effect.ASK):
        for rule in holding:
            if rule.effect is effect and _restricts(rule, asked, workspace):
                return Verdict(effect, _rule_name(rule))
    if found is None and asked.kind is GateKind.COMMAND and not asked.unjudged and policy is not Policy.YOLO:
        found = inspect_command(asked, workspace)
    allowing = _find_allow_rule([rule for rule in holding if rule.effect is Effect.ALLOW], asked, workspace, found)
    if allowing is None:
        return _policy_verdict(asked, policy, workspace, found)
    return Verdict(Effect.ALLOW, _rule_name(allowing), is_exact=allowing.kind is RuleKind.EXACT)


def _applies(rule: Rule, workspace: str, now: int, thread: str) -> bool:
    if rule.until is not None and rule.until <= now:
        return False
    return rule.place == {Scope.THREAD: thread, Scope.WORKSPACE: workspace}.get(rule.scope, rule.place)


def _restricts(rule: Rule, asked: Asked, workspace: str) -> bool:
    """Whether a deny or an ask is about this request."""
    if rule.kind is RuleKind.EXACT:
        return rule.pattern == exact_pattern(asked)
    return rule.kind is RULE_KINDS[asked.kind] and _may_match(rule, asked, workspace)


def note_other_kind(asked: Asked, workspace: str, rules: Sequence[Rule], now: int, thread: str) -> str:
    """Of a rule that would be about this request if it were of its kind: whoever wrote it may have meant that."""
    wanted = RULE_KINDS[asked.kind]
    for rule in rules:
        is_other = rule.kind not in (RuleKind.EXACT, wanted) and rule.pattern.strip("*?/. ")
        if is_other and _applies(rule, workspace, now, thread) and _may_match(rule, asked, workspace):
            return (
                f"{_rule_name(rule)} is of the kind `{rule.kind}`: it says nothing to a request of the kind `{wanted}`"
            )
    return ""


def _policy_verdict(asked: Asked, policy: Policy, workspace: str, found: Inspection | None) -> Verdict:
    said = f"the policy {policy}"
    if policy is Policy.YOLO:
        return Verdict(Effect.ALLOW, said)
    by_default = found.default_verdict if found and not asked.unjudged else Verdict(Effect.ASK, "no rule allows it")
    if policy is Policy.READ_ONLY and by_default.effect is not Effect.ALLOW:
        return Verdict(Effect.DENY, said)
    if asked.unjudged:
        return Verdict(Effect.ASK, asked.unjudged, asked.doubt or Reason("unjudged", asked.unjudged))
    if policy is Policy.TRUSTED and asked.kind is GateKind.CHANGE and _allows_change("**", asked, workspace):
        return Verdict(Effect.ALLOW, said)
    if linked := link_walk.find_hard_link(asked.paths, workspace):
        reason = Reason("file.linked", linked)
        return Verdict(Effect.ASK, str(reasons.reason(reason)), reason)
    return by_default


def _default_verdict(asked: Asked, parts: Sequence[ScriptCommand] | None, workspace: str) -> Verdict:
    """Commands that only read are allowed, unless the runtime asks to run one outside of its sandbox: in there it could
    have made whatever the command reads by."""
    if parts is None:
        return Verdict(Effect.ASK, "it is more than plain words")
    seen: commands.ReasonCache = {}
    for part in dict.fromkeys(parts):
        if always_asks(part.words):
            return Verdict(Effect.ASK, f"`{part.words[0]}` is always asked about")
        reason = Reason("sandbox.leaves") if asked.leaves_sandbox else part.reason_to_ask(workspace, seen)
        if reason is not None:
            return Verdict(Effect.ASK, str(reasons.reason(reason)), reason if reason is not commands.NO_RULE else None)
    return Verdict(Effect.ALLOW, "it only reads inside the workspace")


def _find_allow_rule(rules: Sequence[Rule], asked: Asked, workspace: str, found: Inspection | None) -> Rule | None:
    """The allow rule that lets a request through. Of a script of several commands each has to be covered by some rule;
    beside those, one that only filters what another writes is fine. It may not feed one that a rule covers: `yes` is an
    answer to whatever that asks."""
    exact = exact_pattern(asked)
    fitting = [rule for rule in rules if rule.kind in (RuleKind.EXACT, RULE_KINDS[asked.kind])]
    for rule in fitting:
        if rule.kind is RuleKind.EXACT:
            if rule.pattern == exact:
                return rule
        elif asked.kind is not GateKind.COMMAND and _allows_change_or_tool(rule, asked, workspace):
            return rule
    return _find_allow_rule_for_script(fitting, asked, workspace, found.parts) if found and found.parts else None


def _find_allow_rule_for_script(
    rules: Sequence[Rule], asked: Asked, workspace: str, parts: Sequence[ScriptCommand]
) -> Rule | None:
    by_words = [
        rule for rule in rules if rule.kind is RuleKind.COMMAND and _may_judge_script(rule, asked, parts, workspace)
    ]
    if not by_words or any(always_asks(part.words) for part in parts):
        return None
    covering = [next((rule for rule in by_words if _allows_command(rule, part, workspace)), None) for part in parts]
    pairs = list(zip(parts, covering, strict=True))
    is_fed = any(
        part.reads_pipe and rule is not None and before is None for (_, before), (part, rule) in pairwise(pairs)
    )
    only_filters = all(part.only_filters() for part, rule in pairs if rule is None)
    return next(filter(None, covering), None) if only_filters and not is_fed else None


def _may_judge_script(rule: Rule, asked: Asked, parts: Sequence[ScriptCommand], workspace: str) -> bool:
    """`pytest …` is judged by how the workspace is now. Outside of a sandbox it would run what the agent wrote inside,
    unasked; and the first of two git commands can make the second one go down into another repository."""
    if not matching.is_ellipsis_pattern(rule.pattern):
        return True
    return not asked.leaves_sandbox and matching.may_judge_script(rule.pattern, parts, workspace)


def _allows_command(rule: Rule, part: ScriptCommand, workspace: str) -> bool:
    folders = part.folders or (workspace,)
    here = rule.scope is not Scope.WORKSPACE or all(is_inside(folder, workspace) for folder in folders)
    if matching.is_ellipsis_pattern(rule.pattern):
        return here and matching.allows_in_script(rule.pattern, part, workspace)
    pattern = split_words(rule.pattern)
    return here and all(
        allow_matches_command(pattern, words) and not wildcard_leaves_workspace(pattern, words, folder, workspace)
        for words in part.expansions
        for folder in folders
    )


def _allows_change_or_tool(rule: Rule, asked: Asked, workspace: str) -> bool:
    if asked.kind is GateKind.CHANGE:
        return _allows_change(rule.pattern, asked, workspace)
    return fnmatchcase(asked.title, rule.pattern)


def _allows_change(pattern: str, asked: Asked, workspace: str) -> bool:
    """A file with several names may be one from outside. A rule of the form that is offered after an edit deletes
    nothing."""
    if asked.removes and (pattern.endswith(ELLIPSIS) or not WILDCARD.search(pattern)):
        return False
    if (
        not allow_matches_paths(pattern, asked.paths, workspace)
        or link_walk.find_hard_link(asked.paths, workspace) is not None
    ):
        return False
    return not any(git_repository.is_git_folder_file(path, workspace, pattern) for path in asked.paths)


def _may_match(rule: Rule, asked: Asked, workspace: str) -> bool:
    if asked.kind is GateKind.COMMAND:
        pattern = split_words(rule.pattern)
        return any(deny_matches_command(pattern, words) for words in possible_commands(asked.title))
    if asked.kind is GateKind.CHANGE:
        return any(deny_matches_path(rule.pattern, path, workspace) for path in asked.paths)
    return fnmatch(asked.title.lower(), rule.pattern.lower())


def exact_pattern(asked: Asked) -> str:
    """The pattern of a rule that means this request and no other."""
    return hashlib.sha256(asked.subject.encode("utf-8", "surrogatepass")).hexdigest()


def validated_pattern(effect: Effect, kind: RuleKind, pattern: str) -> str:
    """A pattern that somebody wrote, if it can ever mean what they think."""
    pattern = pattern.strip()
    if not pattern or pattern != escape_hidden(pattern, lines=False):
        raise BadInput("a pattern is one line of visible characters, such as `pytest *` or `src/**`")
    if pattern.endswith(ELLIPSIS):
        _check_ellipsis(effect, kind, pattern)
    elif kind is RuleKind.COMMAND:
        _check_command_pattern(effect, pattern)
    if kind is RuleKind.CHANGE and (pattern.startswith("~") or ".." in pattern.split("/")):
        raise BadInput(f"write `{pattern}` relative to the workspace, or as a whole path; without `~` and `..`")
    return pattern


def _check_ellipsis(effect: Effect, kind: RuleKind, pattern: str) -> None:
    if effect is not Effect.ALLOW:
        raise BadInput(f"a `{ELLIPSIS}` narrows an allow; a rule that asks or denies covers whatever follows anyway")
    if kind is RuleKind.COMMAND and not pattern.endswith(f"/{ELLIPSIS}"):
        matching.check_pattern(pattern)
    elif kind is not RuleKind.CHANGE or not pattern.endswith(f"/{ELLIPSIS}"):
        raise BadInput(
            f"write `{ELLIPSIS}` behind the words of a command, or behind `FOLDER/` in a rule of the kind `change`, as in"
            f" `src/{ELLIPSIS}`"
        )


def _check_command_pattern(effect: Effect, pattern: str) -> None:
    try:
        words = shlex.split(pattern)
    except ValueError as error:
        raise BadInput(f"the pattern `{pattern}` has a quote without its other half") from error
    if len(words) == 1 and words[0].endswith("/"):
        raise BadInput(f"`{pattern}` is a folder, and no command is called so; make it a rule of the kind `change`")
    if effect is Effect.ALLOW and always_asks(words):
        raise BadInput(f"`{words[0]}` is always asked about: no rule can allow it")
    if effect is Effect.ALLOW and not any(word.strip("*?") for word in words):
        raise BadInput(f"`{pattern}` would allow everything; `--policy yolo` does that, for one thread")
    if effect is Effect.ALLOW and any(word.strip(";&|") != word for word in words):
        raise BadInput(f"an allow covers one plain command; make a rule for each part of `{pattern}`")


def describe(rule: Rule, until: str = "") -> str:
    """A rule in words; `until` is its end as the reader's clock shows it."""
    where = {Scope.THREAD: f"in thread {rule.place}", Scope.WORKSPACE: f"in {rule.place}"}.get(rule.scope, "everywhere")
    return " ".join(
        filter(None, (_rule_text(rule, "`"), escape_hidden(where, lines=False), until and f"until {until}"))
    )


def _rule_text(rule: Rule, quote: str = "") -> str:
    pattern = escape_hidden(rule.pattern, lines=False)
    about = {RuleKind.CHANGE: "changes of ", RuleKind.TOOL: "the tool ", RuleKind.EXACT: "exactly "}.get(rule.kind, "")
    shown = f"{pattern[:12]}…" if rule.kind is RuleKind.EXACT else pattern
    return f"{rule.effect} {about}{quote}{shown}{quote}"


def _rule_name(rule: Rule) -> str:
    return f"the rule `{_rule_text(rule)}` ({rule.id})"
