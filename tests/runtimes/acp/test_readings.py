"""Rules see what a call may do, also if it does not say so clearly. Without an agent: a call is read and judged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from clew.engine.rules import decide
from clew.engine.rules.offered import suggest
from clew.model.gates import Asked, Effect, GateKind, Policy, Rule, RuleKind, Scope
from clew.runtimes.acp import wire
from clew.runtimes.acp.approvals import changes, permissions, plans
from clew.runtimes.acp.wire import Option, PermissionRequest, ToolCall
from clew.support.coded import coded_of

PLAIN = (Option("yes", "Yes", "allow_once"), Option("no", "No", "reject_once"))


def rule(effect: Effect, kind: RuleKind, pattern: str) -> Rule:
    return Rule("R1", effect, kind, pattern, Scope.EVERYWHERE, "", 0)


DENY_PUSH = rule(Effect.DENY, RuleKind.COMMAND, "git push")


def ask(workspace: Path, call: dict[str, Any], options: tuple[Option, ...] = PLAIN) -> Asked:
    asking = msgspec.convert({"toolCallId": "c", "title": "a title", **call}, ToolCall)
    plan = plans.read(None, asking, str(workspace))
    found = [changes.propose(str(workspace), part) for part in plan.diffs]
    plan = changes.check(plan, found)
    shown = "\n".join(each.shown for each in found)
    return permissions.asked(PermissionRequest("s", asking, options), asking, plan, shown)


def judge(workspace: Path, asked: Asked, policy: Policy = Policy.CAREFUL, *rules: Rule) -> Effect:
    return decide.decide(asked, policy, str(workspace), rules, 1, "t").effect


def diff(path: str, old: str | None = None, new: str = "x") -> dict[str, Any]:
    return {"kind": "edit", "content": [{"type": "diff", "path": path, "oldText": old, "newText": new}]}


# Commands in other shapes


@pytest.mark.parametrize(
    "call",
    [
        {"kind": "execute", "rawInput": {"command": "git", "args": ["push"]}},
        {"kind": "execute", "rawInput": {"command": "git", "args": "push"}},
        {"kind": "execute", "rawInput": {"cmd": "git", "argv": ["-C", ".", "push"]}},
        {"kind": "execute", "rawInput": {"argv": ["git", "push"]}},
        {"kind": "execute", "rawInput": {"script": "cd x\ngit push"}},
        {"kind": "execute", "rawInput": {"commandLine": "git push"}},
        {"kind": "execute", "rawInput": {"command_line": "git push"}},
        {"kind": "execute", "rawInput": {"command": "ls", "cmd": "git push"}},
        {"kind": "execute", "rawInput": {"command": "ls", "extra": {"command": "git push"}}},
        {"kind": "execute", "rawInput": [{"command": "git push"}]},
        {"kind": "other", "rawInput": {"command": "git push"}},
        {"kind": "read", "rawInput": {"cmd": ["git", "push"]}},
        {"rawInput": {"command": "git push"}},
        {"kind": "edit", "rawInput": {"command": "git push", "path": "a.txt"}},
    ],
    ids=str,
)
@pytest.mark.parametrize("policy", [Policy.CAREFUL, Policy.TRUSTED, Policy.YOLO])
def test_a_deny_sees_a_command_of_any_shape(tmp_path: Path, call: dict[str, Any], policy: Policy) -> None:
    asked = ask(tmp_path, call)
    assert judge(tmp_path, asked, policy, DENY_PUSH) is Effect.DENY
    assert judge(tmp_path, asked, Policy.TRUSTED) is Effect.ASK, "it is never allowed unless by yolo"
    allow = [rule(Effect.ALLOW, kind, "*") for kind in (RuleKind.COMMAND, RuleKind.CHANGE, RuleKind.TOOL)]
    assert judge(tmp_path, asked, Policy.TRUSTED, *allow) is Effect.ASK


@pytest.mark.parametrize(
    "call",
    [
        {"kind": "execute", "rawInput": {"program": "/usr/bin/git", "with": ["push"]}},
        {"kind": "execute", "rawInput": {"steps": ["ls", "git push origin"]}},
        {"kind": "execute", "title": "`git push`"},
        {"kind": "execute", "rawInput": "git push"},
        {"kind": "execute", "rawInput": {"command": "ls", "then": "git\npush"}},
        {"kind": "other", "rawInput": {"text": "Git PUSH."}},
    ],
    ids=str,
)
def test_under_yolo_a_call_that_mentions_what_is_denied_is_asked(tmp_path: Path, call: dict[str, Any]) -> None:
    asked = ask(tmp_path, call)
    assert judge(tmp_path, asked, Policy.YOLO, DENY_PUSH) is Effect.ASK
    assert judge(tmp_path, asked, Policy.YOLO, rule(Effect.DENY, RuleKind.COMMAND, "rm *")) is Effect.ALLOW
    assert judge(tmp_path, asked, Policy.YOLO) is Effect.ALLOW
    exact = rule(Effect.ALLOW, RuleKind.EXACT, decide.exact_pattern(asked))
    allowed = Effect.ASK if asked.unshown else Effect.ALLOW  # a person allowed just this, if they could see it
    assert judge(tmp_path, asked, Policy.YOLO, DENY_PUSH, exact) is allowed


def test_under_yolo_a_call_with_too_many_words_is_asked_if_something_is_denied(tmp_path: Path) -> None:
    asked = ask(tmp_path, {"kind": "other", "rawInput": {"text": " ".join(map(str, range(3000)))}})
    assert judge(tmp_path, asked, Policy.YOLO, DENY_PUSH) is Effect.ASK
    assert judge(tmp_path, asked, Policy.YOLO) is Effect.ALLOW


def test_a_plain_call_has_no_other_reading(tmp_path: Path) -> None:
    for given in ("ls", ["ls", "-l"]):
        asked = ask(tmp_path, {"kind": "execute", "rawInput": {"command": given, "description": "git push"}})
        assert (asked.may_run, asked.may_touch, asked.mentions) == ((), (), ())
        assert judge(tmp_path, asked, Policy.YOLO, DENY_PUSH) is Effect.ALLOW
    changed = ask(tmp_path, {**diff("a.txt"), "rawInput": {"filePath": "a.txt", "content": "x"}})
    assert (changed.may_run, changed.may_touch, changed.mentions) == ((), (), ())


# Paths in other shapes


@pytest.mark.parametrize("key", ["uri", "path", "filePath", "file_path", "newPath"])
@pytest.mark.parametrize("kind", ["edit", "delete", "move"])
def test_a_deny_sees_a_path_under_any_key(tmp_path: Path, key: str, kind: str) -> None:
    asked = ask(tmp_path, {"kind": kind, "rawInput": {key: "secrets/key.pem", "text": "x"}})
    secrets = rule(Effect.DENY, RuleKind.CHANGE, "secrets/")
    assert judge(tmp_path, asked, Policy.YOLO, secrets) is Effect.DENY
    assert judge(tmp_path, asked, Policy.YOLO) is Effect.ALLOW


def test_a_deny_sees_the_diff_of_any_call(tmp_path: Path) -> None:
    for kind in ("other", "execute"):
        asked = ask(tmp_path, {**diff("secrets/a"), "kind": kind, "rawInput": {"command": "ls"}})
        assert judge(tmp_path, asked, Policy.YOLO, rule(Effect.DENY, RuleKind.CHANGE, "secrets/")) is Effect.DENY


ODD = [
    "~/.bashrc",
    "~root/x",
    "$HOME/.bashrc",
    "a/$X",
    "file:///etc/passwd",
    "FILE:/etc/x",
    "vscode://h/etc/x",
    " /etc/x",
]


@pytest.mark.parametrize("path", ODD)
@pytest.mark.parametrize("old", [None, "before"])
def test_a_path_that_may_mean_another_file_is_not_taken_as_one_of_the_workspace(
    tmp_path: Path, path: str, old: str | None
) -> None:
    asked = ask(tmp_path, diff(path, old))
    assert asked.kind is GateKind.CHANGE and asked.title == path, "shown as it came"
    assert ("--- /dev/null" in asked.detail) is (old is None)
    assert suggest.suggest_pattern(asked, str(tmp_path)) is None
    everything = rule(Effect.ALLOW, RuleKind.CHANGE, "**")
    for policy in (Policy.CAREFUL, Policy.TRUSTED):
        assert judge(tmp_path, asked, policy, everything) is Effect.ASK


@pytest.mark.parametrize("path", ODD)
def test_a_folder_that_may_mean_another_one_is_not_taken_as_one_of_the_workspace(tmp_path: Path, path: str) -> None:
    asked = ask(tmp_path, {"kind": "execute", "rawInput": {"command": "ls", "cwd": path}})
    assert asked.folder is None and judge(tmp_path, asked) is Effect.ASK


def test_nothing_is_granted_for_a_path_that_may_mean_another_file(tmp_path: Path) -> None:
    made = changes.propose(str(tmp_path), wire.Part("diff", path="~/x", new_text="y"))
    assert made.grant is None and made.path is None


@pytest.mark.parametrize(
    ("path", "pattern"),
    [
        ("file:///etc/passwd", "/etc/passwd"),
        ("file://localhost/etc/passwd", "/etc/passwd"),
        ("file:/etc/pass%77d", "/etc/"),
        ("file:secrets/x", "secrets/"),
        ("~/.ssh/config", "{home}/.ssh/"),
        ("$HOME/.ssh/config", "{home}/.ssh/"),
        (" secrets/x", "secrets/"),
        ("~/x", "~/x"),
    ],
)
def test_a_deny_sees_what_an_odd_path_may_mean(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, pattern: str
) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    denied = rule(Effect.DENY, RuleKind.CHANGE, pattern.format(home="/home/somebody"))
    assert judge(tmp_path, ask(tmp_path, diff(path)), Policy.YOLO, denied) is Effect.DENY


def test_a_file_that_the_agent_has_read_is_not_shown_as_a_new_one(tmp_path: Path) -> None:
    """It does not exist: the agent means another one."""
    asked = ask(tmp_path, diff("src/a.py", "before", "after"))
    assert "/dev/null" not in asked.detail and "-before" in asked.detail and "+after" in asked.detail
    assert judge(tmp_path, asked, Policy.TRUSTED, rule(Effect.ALLOW, RuleKind.CHANGE, "**")) is Effect.ASK
    new = ask(tmp_path, diff("src/a.py", "", "after"))
    assert "--- /dev/null" in new.detail and judge(tmp_path, new, Policy.TRUSTED) is Effect.ALLOW


def test_the_subject_of_a_command_and_of_a_diff_has_no_title(tmp_path: Path) -> None:
    """A model may word it anew each time, and the hashes of stored rules stay valid."""
    command = ask(tmp_path, {"kind": "execute", "rawInput": {"command": "make"}})
    assert command.subject == f"command\0{tmp_path}\0make\0"
    change = ask(tmp_path, diff("a.txt"))
    shown = "--- /dev/null\n+++ a.txt\n@@ -0,0 +1 @@\n+x\n\\ No newline at end of file"
    assert change.subject == f"change\0\0a.txt\0{shown}"


# Content of other kinds

RESOURCE = {"type": "resource", "resource": {"uri": "file:///x", "text": "drop table users"}}
OTHERS = [
    {"type": "content", "content": RESOURCE},
    {"type": "content", "content": {"type": "resource_link", "uri": "https://x", "name": "drop table users"}},
    {"type": "content", "content": {"type": "image", "data": "drop table users", "mimeType": "image/png"}},
    {"type": "content", "content": {"type": "text", "text": "fine", "also": "drop table users"}},
    {"type": "diff", "path": "a.txt", "newText": "x", "then": "drop table users"},
    {"type": "diff", "path": "a.txt", "newText": ["drop table users"]},
    {"type": "terminal", "terminalId": "drop table users"},
    {"type": "spell", "payload": "drop table users"},
    "drop table users",
]


@pytest.mark.parametrize("part", OTHERS, ids=str)
@pytest.mark.parametrize("kind", ["execute", "edit", "other"])
def test_content_that_is_neither_text_nor_a_diff_is_shown_and_allowed_by_a_person_only(
    tmp_path: Path, part: object, kind: str
) -> None:
    call = {"kind": kind, "rawInput": {"command": "ls"} if kind == "execute" else {"path": "a.txt"}}
    plain, asked = (ask(tmp_path, {**call, "content": content}) for content in ([], [part]))
    assert json.dumps(part, sort_keys=True) in asked.detail and asked.subject != plain.subject
    rules = [rule(Effect.ALLOW, each, "**") for each in (RuleKind.COMMAND, RuleKind.CHANGE, RuleKind.TOOL)]
    assert judge(tmp_path, asked, Policy.TRUSTED, *rules) is Effect.ASK
    assert judge(tmp_path, asked, Policy.YOLO, rule(Effect.DENY, RuleKind.COMMAND, "drop table *")) is Effect.ASK


def test_a_deny_sees_a_command_in_other_content(tmp_path: Path) -> None:
    asked = ask(tmp_path, {"kind": "other", "content": [{"type": "run", "command": "git push"}]})
    assert judge(tmp_path, asked, Policy.YOLO, DENY_PUSH) is Effect.DENY


def test_text_and_diffs_as_agents_send_them_are_no_other_content(tmp_path: Path) -> None:
    words = {"type": "text", "text": "why", "annotations": None, "_meta": {"a": 1}}
    call = diff("a.txt")
    call["content"] += [{"type": "content", "content": words, "more": None}]
    asked = ask(tmp_path, call)
    assert asked.unjudged == "" and "| why" in asked.detail


def test_other_content_that_was_announced_and_is_not_asked_about_is_shown(tmp_path: Path) -> None:
    announced = msgspec.convert({"toolCallId": "c", "kind": "edit", "content": OTHERS[:1]}, ToolCall)
    asking = msgspec.convert({"toolCallId": "c", "kind": "edit", "rawInput": {"path": "a"}, "content": []}, ToolCall)
    plan = plans.read(announced, asking, str(tmp_path))
    assert "drop table users" in plan.rest and any("announced with another" in each for each in plan.doubts)


def test_an_argument_named_like_a_word_of_clew_is_shown_beside_what_was_announced(tmp_path: Path) -> None:
    given = [{"x": 1}, {"x": 2, "announced": "rm -rf /"}]
    announced, asking = (
        msgspec.convert({"toolCallId": "c", "kind": "other", "rawInput": raw}, ToolCall) for raw in given
    )
    plan = plans.read(announced, asking, str(tmp_path))
    arguments, told = plan.rest.split("\n")
    assert json.loads(arguments) == given[1] and told.endswith(' {"x": 1}')


def test_every_doubt_is_a_sentence_with_a_code(tmp_path: Path) -> None:
    def call(given: dict[str, Any], **more: str) -> ToolCall:
        return msgspec.convert({"toolCallId": "c", "kind": "execute", "rawInput": given, **more}, ToolCall)

    announced = call({"command": "make", "cwd": "/a"}, status="completed")
    calls = [
        (None, call({"command": ["make"], "env": {"A": "b"}, "cwd": 1, "odd\u200b": 1})),
        (announced, call({"command": "make all"})),
        (None, call({}, kind="other")),
        (None, call({"path": "a\u200b"}, kind="edit")),
    ]
    doubts = [doubt for before, now in calls for doubt in plans.read(before, now, str(tmp_path)).doubts]
    codes = {coded.code for doubt in doubts if (coded := coded_of(doubt))}
    assert len(doubts) > 5 and all(map(coded_of, doubts)) and "approvals.unknown_parts" in codes
    assert all("\u200b" not in doubt for doubt in doubts)
