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
from clew.engine.rules.patterns import GLOB, MORE, begins, covers, fits, hits, inside, leads_out, words_of
from clew.engine.rules.read_only import commands, git_repository
from clew.engine.rules.shell import scripts
from clew.engine.rules.shell.lenient import asks_always, segments
from clew.engine.rules.shell.scripts import Part
from clew.model.gates import Asked, Effect, GateKind, Policy, Reason, Rule, RuleKind, Scope, Verdict
from clew.support.display import escape_hidden
from clew.support.errors import BadInput
from clew.texts import reasons

# What a rule made from a gate is about.
KINDS: Mapping[GateKind, RuleKind] = MappingProxyType(
    {GateKind.COMMAND: RuleKind.COMMAND, GateKind.CHANGE: RuleKind.CHANGE, GateKind.PERMISSION: RuleKind.TOOL}
)
LONGEST = 32_768  # characters of a command that rules are applied to


class Look(Struct, frozen=True):
    """What there is to see of a command in its workspace. In a large one that takes a while, so who is in a hurry takes
    it beforehand."""

    parts: tuple[Part, ...] | None  # None: it is more than plain words
    by_default: Verdict


def look(asked: Asked, workspace: str) -> Look:
    parts = scripts.parts(asked.title, asked.folder, workspace) if len(asked.title) <= LONGEST else None
    return Look(tuple(parts) if parts else None, _by_default(asked, parts, workspace))


def decide(
    asked: Asked,
    policy: Policy,
    workspace: str,
    rules: Sequence[Rule],
    now: int,
    thread: str,
    found: Look | None = None,
) -> Verdict:
    """Which of allow, ask and deny holds for this request, and who says so. `workspace` is the thread's folder, `found`
    what was seen there beforehand."""
    if asked.kind is GateKind.QUESTION:
        return Verdict(Effect.ASK, "a question is for a person")
    if asked.unjudged:
        rules = [rule for rule in rules if rule.effect is not Effect.ALLOW or rule.kind is RuleKind.EXACT]
    if len(asked.title) > LONGEST:
        return Verdict(Effect.ASK, "it is too long to be judged by rules")
    holding = [rule for rule in rules if _holds(rule, workspace, now, thread)]
    for effect in (Effect.DENY, Effect.ASK):
        for rule in holding:
            if rule.effect is effect and _speaks(rule, asked, workspace):
                return Verdict(effect, _named(rule))
    if found is None and asked.kind is GateKind.COMMAND and not asked.unjudged and policy is not Policy.YOLO:
        found = look(asked, workspace)
    allowing = _allowing([rule for rule in holding if rule.effect is Effect.ALLOW], asked, workspace, found)
    if allowing is None:
        return _by_policy(asked, policy, workspace, found)
    return Verdict(Effect.ALLOW, _named(allowing), is_exact=allowing.kind is RuleKind.EXACT)


def _holds(rule: Rule, workspace: str, now: int, thread: str) -> bool:
    if rule.until is not None and rule.until <= now:
        return False
    return rule.place == {Scope.THREAD: thread, Scope.WORKSPACE: workspace}.get(rule.scope, rule.place)


def _speaks(rule: Rule, asked: Asked, workspace: str) -> bool:
    """Whether a deny or an ask is about this request."""
    if rule.kind is RuleKind.EXACT:
        return rule.pattern == exact_pattern(asked)
    return rule.kind is KINDS[asked.kind] and _touches(rule, asked, workspace)


def note_other_kind(asked: Asked, workspace: str, rules: Sequence[Rule], now: int, thread: str) -> str:
    """Of a rule that would be about this request if it were of its kind: whoever wrote it may have meant that."""
    wanted = KINDS[asked.kind]
    for rule in rules:
        is_other = rule.kind not in (RuleKind.EXACT, wanted) and rule.pattern.strip("*?/. ")
        if is_other and _holds(rule, workspace, now, thread) and _touches(rule, asked, workspace):
            return f"{_named(rule)} is of the kind `{rule.kind}`: it says nothing to a request of the kind `{wanted}`"
    return ""


def _by_policy(asked: Asked, policy: Policy, workspace: str, found: Look | None) -> Verdict:
    said = f"the policy {policy}"
    if policy is Policy.YOLO:
        return Verdict(Effect.ALLOW, said)
    by_default = found.by_default if found and not asked.unjudged else Verdict(Effect.ASK, "no rule allows it")
    if policy is Policy.READ_ONLY and by_default.effect is not Effect.ALLOW:
        return Verdict(Effect.DENY, said)
    if asked.unjudged:
        return Verdict(Effect.ASK, asked.unjudged, asked.doubt or Reason("unjudged", asked.unjudged))
    if policy is Policy.TRUSTED and asked.kind is GateKind.CHANGE and _may_change("**", asked, workspace):
        return Verdict(Effect.ALLOW, said)
    if linked := link_walk.hard_link(asked.paths, workspace):
        reason = Reason("file.linked", linked)
        return Verdict(Effect.ASK, str(reasons.reason(reason)), reason)
    return by_default


def _by_default(asked: Asked, parts: Sequence[Part] | None, workspace: str) -> Verdict:
    """Commands that only read are allowed, unless the runtime asks to run one outside of its sandbox: in there it could
    have made whatever the command reads by."""
    if parts is None:
        return Verdict(Effect.ASK, "it is more than plain words")
    seen: commands.Seen = {}
    for part in dict.fromkeys(parts):
        if asks_always(part.words):
            return Verdict(Effect.ASK, f"`{part.words[0]}` is always asked about")
        reason = Reason("sandbox.leaves") if asked.leaves_sandbox else part.reason_to_ask(workspace, seen)
        if reason is not None:
            return Verdict(Effect.ASK, str(reasons.reason(reason)), reason if reason is not commands.NO_RULE else None)
    return Verdict(Effect.ALLOW, "it only reads inside the workspace")


def _allowing(rules: Sequence[Rule], asked: Asked, workspace: str, found: Look | None) -> Rule | None:
    """The allow rule that lets a request through. Of a script of several commands each has to be covered by some rule;
    beside those, one that only filters what another writes is fine. It may not feed one that a rule covers: `yes` is an
    answer to whatever that asks."""
    exact = exact_pattern(asked)
    fitting = [rule for rule in rules if rule.kind in (RuleKind.EXACT, KINDS[asked.kind])]
    for rule in fitting:
        if rule.kind is RuleKind.EXACT:
            if rule.pattern == exact:
                return rule
        elif asked.kind is not GateKind.COMMAND and _allows(rule, asked, workspace):
            return rule
    return _allowing_script(fitting, asked, workspace, found.parts) if found and found.parts else None


def _allowing_script(rules: Sequence[Rule], asked: Asked, workspace: str, parts: Sequence[Part]) -> Rule | None:
    by_words = [rule for rule in rules if rule.kind is RuleKind.COMMAND and _may_cover(rule, asked, parts, workspace)]
    if not by_words or any(asks_always(part.words) for part in parts):
        return None
    covering = [next((rule for rule in by_words if _covers(rule, part, workspace)), None) for part in parts]
    pairs = list(zip(parts, covering, strict=True))
    is_fed = any(part.is_fed and rule is not None and before is None for (_, before), (part, rule) in pairwise(pairs))
    only_filters = all(part.only_filters() for part, rule in pairs if rule is None)
    return next(filter(None, covering), None) if only_filters and not is_fed else None


def _may_cover(rule: Rule, asked: Asked, parts: Sequence[Part], workspace: str) -> bool:
    """`pytest …` is judged by how the workspace is now. Outside of a sandbox it would run what the agent wrote inside,
    unasked; and the first of two git commands can make the second one go down into another repository."""
    if not matching.is_known_pattern(rule.pattern):
        return True
    return not asked.leaves_sandbox and matching.fits_script(rule.pattern, parts, workspace)


def _covers(rule: Rule, part: Part, workspace: str) -> bool:
    folders = part.folders or (workspace,)
    here = rule.scope is not Scope.WORKSPACE or all(inside(folder, workspace) for folder in folders)
    if matching.is_known_pattern(rule.pattern):
        return here and matching.allows_part(rule.pattern, part, workspace)
    pattern = words_of(rule.pattern)
    return here and all(
        fits(pattern, words) and not leads_out(pattern, words, folder, workspace)
        for words in part.readings
        for folder in folders
    )


def _allows(rule: Rule, asked: Asked, workspace: str) -> bool:
    if asked.kind is GateKind.CHANGE:
        return _may_change(rule.pattern, asked, workspace)
    return fnmatchcase(asked.title, rule.pattern)


def _may_change(pattern: str, asked: Asked, workspace: str) -> bool:
    """A file with several names may be one from outside. A rule of the form that is offered after an edit deletes
    nothing."""
    if asked.removes and (pattern.endswith(MORE) or not GLOB.search(pattern)):
        return False
    if not covers(pattern, asked.paths, workspace) or link_walk.hard_link(asked.paths, workspace) is not None:
        return False
    return not any(git_repository.is_guarded(path, workspace, pattern) for path in asked.paths)


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
    if not pattern or pattern != escape_hidden(pattern, lines=False):
        raise BadInput("a pattern is one line of visible characters, such as `pytest *` or `src/**`")
    if pattern.endswith(MORE):
        _check_more(effect, kind, pattern)
    elif kind is RuleKind.COMMAND:
        _check_words(effect, pattern)
    if kind is RuleKind.CHANGE and (pattern.startswith("~") or ".." in pattern.split("/")):
        raise BadInput(f"write `{pattern}` relative to the workspace, or as a whole path; without `~` and `..`")
    return pattern


def _check_more(effect: Effect, kind: RuleKind, pattern: str) -> None:
    if effect is not Effect.ALLOW:
        raise BadInput(f"a `{MORE}` narrows an allow; a rule that asks or denies covers whatever follows anyway")
    if kind is RuleKind.COMMAND and not pattern.endswith(f"/{MORE}"):
        matching.check(pattern)
    elif kind is not RuleKind.CHANGE or not pattern.endswith(f"/{MORE}"):
        raise BadInput(
            f"write `{MORE}` behind the words of a command, or behind `FOLDER/` in a rule of the kind `change`, as in"
            f" `src/{MORE}`"
        )


def _check_words(effect: Effect, pattern: str) -> None:
    try:
        words = shlex.split(pattern)
    except ValueError as error:
        raise BadInput(f"the pattern `{pattern}` has a quote without its other half") from error
    if len(words) == 1 and words[0].endswith("/"):
        raise BadInput(f"`{pattern}` is a folder, and no command is called so; make it a rule of the kind `change`")
    if effect is Effect.ALLOW and asks_always(words):
        raise BadInput(f"`{words[0]}` is always asked about: no rule can allow it")
    if effect is Effect.ALLOW and not any(word.strip("*?") for word in words):
        raise BadInput(f"`{pattern}` would allow everything; `--policy yolo` does that, for one thread")
    if effect is Effect.ALLOW and any(word.strip(";&|") != word for word in words):
        raise BadInput(f"an allow covers one plain command; make a rule for each part of `{pattern}`")


def describe(rule: Rule, until: str = "") -> str:
    """A rule in words; `until` is its end as the reader's clock shows it."""
    where = {Scope.THREAD: f"in thread {rule.place}", Scope.WORKSPACE: f"in {rule.place}"}.get(rule.scope, "everywhere")
    return " ".join(filter(None, (_said(rule, "`"), escape_hidden(where, lines=False), until and f"until {until}")))


def _said(rule: Rule, quote: str = "") -> str:
    pattern = escape_hidden(rule.pattern, lines=False)
    about = {RuleKind.CHANGE: "changes of ", RuleKind.TOOL: "the tool ", RuleKind.EXACT: "exactly "}.get(rule.kind, "")
    shown = f"{pattern[:12]}…" if rule.kind is RuleKind.EXACT else pattern
    return f"{rule.effect} {about}{quote}{shown}{quote}"


def _named(rule: Rule) -> str:
    return f"the rule `{_said(rule)}` ({rule.id})"
