"""Decides about a request by the rules, the safe defaults and the thread's policy: allow, deny, or ask a person. Deny
goes before ask, ask before allow; if none of them matches, a person is asked. This module only decides: it asks nobody,
stores nothing and runs nothing. An allow must match with certainty; a deny or an ask matches on suspicion."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Mapping, Sequence
from fnmatch import fnmatch, fnmatchcase
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import replace

from clew.engine.rules import removals, suspicion
from clew.engine.rules.deny_commands import deny_matches_command
from clew.engine.rules.offered import link_walk, matching
from clew.engine.rules.patterns import (
    ELLIPSIS,
    WILDCARD,
    allow_matches_command,
    allow_matches_paths,
    deny_matches_path,
    is_inside,
    real_path,
    split_words,
    wildcard_leaves_workspace,
)
from clew.engine.rules.read_only import git_repository, judge
from clew.engine.rules.scopes import applies
from clew.engine.rules.shell import scripts
from clew.engine.rules.shell.lenient import always_asked_part, always_asks, possible_commands
from clew.engine.rules.shell.scripts import ScriptCommand
from clew.model.gates import Asked, Effect, GateKind, Policy, Reason, Rule, RuleKind, Scope, Verdict
from clew.support.coded import Text
from clew.support.display import escape_hidden
from clew.support.errors import BadInput
from clew.texts import reasons
from clew.texts.catalogue import say
from clew.texts.former_words import subjects

# The kind of rule that matches requests of a gate's kind.
RULE_KINDS: Mapping[GateKind, RuleKind] = MappingProxyType(
    {GateKind.COMMAND: RuleKind.COMMAND, GateKind.CHANGE: RuleKind.CHANGE, GateKind.PERMISSION: RuleKind.TOOL}
)
_EFFECTS = {Effect.ALLOW: "rules.allow", Effect.ASK: "rules.ask", Effect.DENY: "rules.deny"}
_ABOUT = {
    RuleKind.COMMAND: "rules.about_command",
    RuleKind.CHANGE: "rules.about_change",
    RuleKind.TOOL: "rules.about_tool",
    RuleKind.EXACT: "rules.about_exact",
}
_KINDS = {RuleKind.COMMAND: "rules.of_command", RuleKind.CHANGE: "rules.of_change", RuleKind.TOOL: "rules.of_tool"}
MAX_COMMAND_LENGTH = 32_768  # characters; about a longer command a person is asked
MAX_MENTIONS = 2_000  # words; of more, each rule counts as mentioned


class Inspection(Struct, frozen=True):
    """What clew found out about a command in its workspace. This takes a while in a large workspace, so a caller that
    must be quick later inspects the command first."""

    script: tuple[ScriptCommand, ...] | None  # None: the script cannot be parsed with certainty
    default_verdict: Verdict


def inspect_command(asked: Asked, workspace: str) -> Inspection:
    script = (
        scripts.parse_script(asked.title, asked.folder, workspace) if len(asked.title) <= MAX_COMMAND_LENGTH else None
    )
    return Inspection(tuple(script) if script else None, _default_verdict(asked, script, workspace))


def decide(
    asked: Asked,
    policy: Policy,
    workspace: str,
    rules: Sequence[Rule],
    now: int,
    thread: str,
    inspection: Inspection | None = None,
) -> Verdict:
    """Allow, ask or deny this request, and say which rule or policy decided. `workspace` is the thread's folder,
    `inspection` the result of `inspect_command`, if the caller already has it."""
    if asked.about is not None:
        judged = replace(asked, kind=asked.about, about=None)
        verdict = decide(judged, policy, workspace, rules, now, thread, inspection)
        allowed = verdict.effect is Effect.ALLOW
        return Verdict(Effect.ASK, say("rules.other_choices")) if allowed else verdict
    if asked.kind is GateKind.QUESTION:
        return Verdict(Effect.ASK, say("rules.question"))
    if asked.unjudged:
        rules = [rule for rule in rules if rule.effect is not Effect.ALLOW or rule.kind is RuleKind.EXACT]
    if max(map(len, (asked.title, *asked.may_run))) > MAX_COMMAND_LENGTH:
        effect = Effect.DENY if policy is Policy.READ_ONLY else Effect.ASK
        return Verdict(effect, say("rules.too_long"))
    applicable = [rule for rule in rules if applies(rule, workspace, now, thread)]
    for effect in (Effect.DENY, Effect.ASK):
        for rule in applicable:
            if rule.effect is effect and _restricts(rule, asked, workspace):
                return Verdict(effect, rule_name(rule))
    verdict = _decide_by_allow_or_policy(asked, policy, workspace, applicable, inspection)
    may_be_hidden = verdict.effect is Effect.ALLOW or (verdict.effect is Effect.ASK and verdict.reason is None)
    return (may_be_hidden and _suspicion(asked, applicable)) or verdict


def _decide_by_allow_or_policy(
    asked: Asked, policy: Policy, workspace: str, applicable: Sequence[Rule], inspection: Inspection | None
) -> Verdict:
    if inspection is None and asked.kind is GateKind.COMMAND and not asked.unjudged and policy is not Policy.YOLO:
        inspection = inspect_command(asked, workspace)
    allowing = _find_allow_rule(
        [rule for rule in applicable if rule.effect is Effect.ALLOW], asked, workspace, inspection
    )
    if allowing is not None:
        return Verdict(Effect.ALLOW, rule_name(allowing), is_exact=allowing.kind is RuleKind.EXACT)
    if policy is Policy.YOLO:  # no other policy allows a request with parts that are not understood
        mentioned = next((rule for rule in applicable if _is_mentioned(rule, asked, workspace)), None)
        if mentioned is not None:
            return Verdict(Effect.ASK, say("rules.mentioned", rule=rule_name(mentioned)))
    return _policy_verdict(asked, policy, workspace, inspection)


def _restricts(rule: Rule, asked: Asked, workspace: str) -> bool:
    """Whether a deny or an ask rule matches this request. One that cannot be read matches every request."""
    if not rule.is_readable:
        return True
    if rule.kind is RuleKind.EXACT:
        return rule.pattern in exact_patterns(asked)
    if rule.kind is RULE_KINDS[asked.kind] and _may_match(rule, asked, workspace):
        return True
    if rule.kind is RuleKind.COMMAND:
        return any(_may_match_command(rule, text) for text in asked.may_run)
    return rule.kind is RuleKind.CHANGE and any(
        deny_matches_path(rule.pattern, path, workspace) for path in asked.may_touch
    )


def _is_mentioned(rule: Rule, asked: Asked, workspace: str) -> bool:
    """Whether the words of a deny or an ask rule occur in the parts of a request that clew does not understand."""
    if rule.effect is Effect.ALLOW or rule.kind not in (RuleKind.COMMAND, RuleKind.CHANGE) or not asked.mentions:
        return False
    if len(asked.mentions) > MAX_MENTIONS:
        return True
    if rule.kind is RuleKind.CHANGE:
        return any(deny_matches_path(rule.pattern, word, workspace) for word in asked.mentions)
    program, *more = split_words(rule.pattern)
    wanted = [Path(program).name, *(word for word in more if not word.startswith("-"))]
    said = {spelling for word in asked.mentions for spelling in (word.lower(), Path(word.lower().strip(".:")).name)}
    return all(any(fnmatchcase(word, each.lower()) for word in said) for each in wanted)


def _suspicion(asked: Asked, rules: Sequence[Rule]) -> Verdict | None:
    """An ask, if the command may hide what a deny or an ask rule is about."""
    for rule in rules if asked.kind is GateKind.COMMAND else ():
        restricts = rule.kind is RuleKind.COMMAND and rule.effect is not Effect.ALLOW
        if restricts and suspicion.may_hide(rule.pattern, asked.title):
            reason = Reason("deny.words", _rule_text(rule))
            return Verdict(Effect.ASK, reasons.reason(reason), reason)
    return None


def is_restricted(asked: Asked, workspace: str, rules: Sequence[Rule], now: int, thread: str) -> bool:
    """Whether a deny or an ask rule is about this request."""
    return any(
        rule.effect is not Effect.ALLOW and applies(rule, workspace, now, thread) and _restricts(rule, asked, workspace)
        for rule in rules
    )


def note_other_kind(asked: Asked, workspace: str, rules: Sequence[Rule], now: int, thread: str) -> str:
    """A note about a rule that would match this request if the rule were of another kind; its author may have meant
    that. Empty if there is none."""
    wanted = RULE_KINDS[asked.kind]
    for rule in rules:
        is_other = rule.kind not in (RuleKind.EXACT, wanted) and rule.pattern.strip("*?/. ")
        if is_other and applies(rule, workspace, now, thread) and _may_match(rule, asked, workspace):
            own, other = say(_KINDS[rule.kind]), say(_KINDS[wanted])
            return say("rules.other_kind", rule=rule_name(rule), kind=own, wanted=other)
    return ""


def _policy_verdict(asked: Asked, policy: Policy, workspace: str, inspection: Inspection | None) -> Verdict:
    by_policy = say("rules.policy", policy=policy)
    if policy is Policy.YOLO:
        return Verdict(Effect.ALLOW, by_policy)
    default = Verdict(Effect.ASK, say("rules.no_rule"))
    if inspection is not None and not asked.unjudged:
        default = inspection.default_verdict
    if policy is Policy.READ_ONLY and default.effect is not Effect.ALLOW and not asked.is_for_people:
        return Verdict(Effect.DENY, by_policy)
    if asked.unjudged:
        return Verdict(Effect.ASK, asked.unjudged, asked.doubt or Reason("unjudged", asked.unjudged))
    if policy is Policy.TRUSTED and asked.kind is GateKind.CHANGE and _allows_change("**", asked, workspace):
        return Verdict(Effect.ALLOW, by_policy)
    if linked_file := link_walk.find_hard_link(asked.paths, workspace):
        reason = Reason("file.linked", linked_file)
        return Verdict(Effect.ASK, reasons.reason(reason), reason)
    return default


def _default_verdict(asked: Asked, script: Sequence[ScriptCommand] | None, workspace: str) -> Verdict:
    """Allow commands that only read, unless the runtime asks to run one outside its sandbox: the files that control the
    command may have been written inside the sandbox, without asking."""
    if script is None:
        return Verdict(Effect.ASK, say("rules.not_plain"))
    cache: judge.ReasonCache = {}
    for command in dict.fromkeys(script):
        if (asked_part := always_asked_part(command.words)) is not None:
            return Verdict(Effect.ASK, say("rules.always_asked", program=asked_part))
        reason = Reason("sandbox.leaves") if asked.leaves_sandbox else command.reason_to_ask(workspace, cache)
        if reason is not None:
            return Verdict(Effect.ASK, reasons.reason(reason), reason if reason is not judge.NO_RULE else None)
    return Verdict(Effect.ALLOW, say("rules.only_reads"))


def _find_allow_rule(rules: Sequence[Rule], asked: Asked, workspace: str, inspection: Inspection | None) -> Rule | None:
    """The rule that allows a request. In a script, some rule must allow each command, except commands that only filter
    the output of another. Such a filter may not write into a command that a rule allows: `yes` would answer whatever
    that command asks."""
    exact = exact_patterns(asked)
    candidates = [rule for rule in rules if rule.kind in (RuleKind.EXACT, RULE_KINDS[asked.kind])]
    for rule in candidates:
        if rule.kind is RuleKind.EXACT:
            if rule.pattern in exact and not asked.unshown:
                return rule
        elif asked.kind is not GateKind.COMMAND and _allows_change_or_tool(rule, asked, workspace):
            return rule
    if inspection is None or not inspection.script:
        return None
    return _find_allow_rule_for_script(candidates, asked, workspace, inspection.script)


def _find_allow_rule_for_script(
    rules: Sequence[Rule], asked: Asked, workspace: str, script: Sequence[ScriptCommand]
) -> Rule | None:
    usable = [
        rule for rule in rules if rule.kind is RuleKind.COMMAND and _may_judge_script(rule, asked, script, workspace)
    ]
    if not usable or any(always_asks(command.words) for command in script):
        return None
    allowing = [
        next((rule for rule in usable if _allows_command(rule, command, workspace)), None) for command in script
    ]
    pairs = list(zip(script, allowing, strict=True))
    is_fed_by_filter = any(
        command.reads_pipe and rule is not None and before is None for (_, before), (command, rule) in pairwise(pairs)
    )
    only_filters = all(command.only_filters() for command, rule in pairs if rule is None)
    return next(filter(None, allowing), None) if only_filters and not is_fed_by_filter else None


def _may_judge_script(rule: Rule, asked: Asked, script: Sequence[ScriptCommand], workspace: str) -> bool:
    """Whether the rule may be applied to this script at all. `pytest …` depends on the files in the workspace. Outside
    the sandbox it would run what the agent wrote inside without asking; and the first of two git commands can make the
    second one enter another repository."""
    if not matching.is_ellipsis_pattern(rule.pattern):
        return True
    return not asked.leaves_sandbox and matching.may_judge_script(rule.pattern, script, workspace)


def _allows_command(rule: Rule, command: ScriptCommand, workspace: str) -> bool:
    folders = command.folders or (workspace,)
    here = rule.scope is not Scope.WORKSPACE or all(is_inside(folder, workspace) for folder in folders)
    if matching.is_ellipsis_pattern(rule.pattern):
        return here and matching.allows_in_script(rule.pattern, command, workspace)
    if not here or not _means_same_program(rule, command.words[0], folders, workspace):
        return False
    pattern = split_words(rule.pattern)
    return all(
        allow_matches_command(pattern, words) and not wildcard_leaves_workspace(pattern, words, folder, workspace)
        for words in command.expansions
        for folder in folders
    )


def _means_same_program(rule: Rule, program: str, folders: Sequence[str], workspace: str) -> bool:
    """Whether a program with a relative path, such as `./run.sh`, is the one that the rule means: in the top folder of
    the workspace. A rule for everywhere means the folder in which the script starts."""
    if "/" not in program or program.startswith("/"):
        return True
    if rule.scope is Scope.EVERYWHERE:
        return len(folders) == 1
    return all(real_path("", folder) == real_path("", workspace) for folder in folders)


def _allows_change_or_tool(rule: Rule, asked: Asked, workspace: str) -> bool:
    if asked.kind is GateKind.CHANGE:
        return _allows_change(rule.pattern, asked, workspace)
    is_linked = any(name in asked.paths for name, _ in asked.links)  # the title does not say where it leads
    return not is_linked and fnmatchcase(asked.title, rule.pattern)


def _allows_change(pattern: str, asked: Asked, workspace: str) -> bool:
    """Whether the pattern allows this change. It never allows a file with a hard link, which may lie outside the
    workspace. A pattern without wildcards, or one that ends in `…`, does not allow deletions."""
    if asked.removes and (pattern.endswith(ELLIPSIS) or not WILDCARD.search(pattern)):
        return False
    if asked.removes and any(removals.removes_protected(pattern, path, workspace) for path in asked.paths):
        return False
    if (
        not allow_matches_paths(pattern, asked.paths, workspace)
        or link_walk.find_hard_link(asked.paths, workspace) is not None
    ):
        return False
    return not any(git_repository.is_git_folder_file(path, workspace, pattern) for path in asked.paths)


def _may_match(rule: Rule, asked: Asked, workspace: str) -> bool:
    if asked.kind is GateKind.COMMAND:
        return _may_match_command(rule, asked.title)
    if asked.kind is GateKind.CHANGE:
        matchers = [deny_matches_path, removals.deny_matches_removal] if asked.removes else [deny_matches_path]
        return any(matches(rule.pattern, path, workspace) for path in asked.paths for matches in matchers)
    return fnmatch(asked.title.lower(), rule.pattern.lower())


def _may_match_command(rule: Rule, text: str) -> bool:
    pattern = split_words(rule.pattern)
    return any(deny_matches_command(pattern, words) for words in possible_commands(text))


def exact_pattern(asked: Asked) -> str:
    """The pattern of a rule that matches this request only."""
    return _hashed(asked.subject)


def exact_patterns(asked: Asked) -> tuple[str, ...]:
    """The patterns of such rules, also of those that an older version made."""
    return tuple(map(_hashed, subjects(asked)))


def _hashed(subject: str) -> str:
    return hashlib.sha256(subject.encode("utf-8", "surrogatepass")).hexdigest()


def validated_pattern(effect: Effect, kind: RuleKind, pattern: str) -> str:
    """The pattern, stripped of blanks. Raises BadInput if it can never match, or would match more than its author
    expects."""
    pattern = pattern.strip()
    if not pattern or pattern != escape_hidden(pattern, lines=False):
        raise BadInput(say("rules.pattern_visible"))
    if pattern.endswith(ELLIPSIS):
        _check_ellipsis(effect, kind, pattern)
    elif kind is RuleKind.COMMAND:
        _check_command_pattern(effect, pattern)
    if kind is RuleKind.CHANGE and (pattern.startswith("~") or ".." in pattern.split("/")):
        raise BadInput(say("rules.pattern_relative", pattern=pattern))
    return pattern


def _check_ellipsis(effect: Effect, kind: RuleKind, pattern: str) -> None:
    if effect is not Effect.ALLOW:
        raise BadInput(say("rules.ellipsis_allow", ellipsis=ELLIPSIS))
    if kind is RuleKind.COMMAND and not pattern.endswith(f"/{ELLIPSIS}"):
        matching.check_pattern(pattern)
    elif kind is not RuleKind.CHANGE or not pattern.endswith(f"/{ELLIPSIS}"):
        raise BadInput(say("rules.ellipsis_place", ellipsis=ELLIPSIS))


def _check_command_pattern(effect: Effect, pattern: str) -> None:
    try:
        words = shlex.split(pattern)
    except ValueError as error:
        raise BadInput(say("rules.quote_open", pattern=pattern)) from error
    if len(words) == 1 and words[0].endswith("/"):
        raise BadInput(say("rules.is_folder", pattern=pattern))
    if effect is Effect.ALLOW and (asked_part := always_asked_part(words)) is not None:
        raise BadInput(say("rules.never_allowed", program=asked_part))
    if effect is Effect.ALLOW and not any(word.strip("*?") for word in words):
        raise BadInput(say("rules.allows_everything", pattern=pattern))
    if effect is Effect.ALLOW and any(word.strip(";&|") != word for word in words):
        raise BadInput(say("rules.one_command", pattern=pattern))


def _rule_text(rule: Rule) -> Text:
    """What a rule says: `allow changes of src/**`."""
    pattern = escape_hidden(rule.pattern, lines=False)
    shown = f"{pattern[:12]}…" if rule.kind is RuleKind.EXACT else pattern
    return say(_EFFECTS[rule.effect], about=say(_ABOUT[rule.kind], pattern=shown))


def rule_name(rule: Rule) -> Text:
    if not rule.is_readable:
        return say("rules.unreadable", id=rule.id)
    return say("rules.rule", rule=_rule_text(rule), id=rule.id)
