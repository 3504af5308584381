"""Converting requests of Codex to gates, and answers to responses: cases that the scripted model cannot cause."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from clew.engine.rules.decide import decide
from clew.model.events import GateClosed, GateOpened, Notice, NoticeKind
from clew.model.gates import Answer, Asked, Decision, Effect, GateKind, Policy, Rule, RuleKind, Scope
from clew.runtimes.codex import items, wire
from clew.runtimes.codex.approvals import answers, forms, requests
from clew.runtimes.codex.approvals.pending import Gates, Pending
from clew.runtimes.codex.translate import Translation
from clew.runtimes.codex.turn.live_turn import Live
from clew.support.coded import Coded, coded_of
from clew.support.errors import BadInput

YES, NO, CANCEL = (Answer(each) for each in (Decision.ACCEPT, Decision.DECLINE, Decision.CANCEL))
COMMAND, CHANGE, PERMISSIONS = requests.COMMAND, requests.CHANGE, requests.PERMISSIONS


def raw(**params: Any) -> msgspec.Raw:
    return msgspec.Raw(json.dumps(params).encode())


def read(method: str, turn: Translation | None = None, **params: Any) -> Asked | None:
    request = wire.read(raw(**params), wire.Request)
    assert request is not None
    return requests.read(method, request, turn or Translation("T"))


def shape(method: str, answer: Answer, **params: Any) -> Any:
    request = wire.read(raw(**params), wire.Request)
    assert request is not None
    return answers.to_response(method, request, answer)


def begun(**item: Any) -> Translation:
    turn = Translation("T")
    turn.feed("item/started", raw(threadId="th", turnId="T", item=item))
    return turn


def test_extra_permissions_of_a_command_are_shown() -> None:
    context = {"host": "example.org", "protocol": "https"}
    extra = {"network": {"enabled": True}, "fileSystem": {"read": ["/a"], "write": ["/b"]}}
    asked = read(
        COMMAND, command="curl x", cwd="/w", networkApprovalContext=context, additionalPermissions=extra, itemId="i"
    )
    assert asked == Asked(
        GateKind.COMMAND,
        "curl x",
        "network access to https://example.org\nwith: read /a, write /b, network",
        "/w",
        paths=("/a", "/b"),
        item="i",
        leaves_sandbox=True,
    )


@pytest.mark.parametrize(
    ("extra", "shown"),
    [
        (
            {
                "fileSystem": {
                    "entries": [{"access": "read", "path": path} for path in ("/a", "/c")],
                    "read": ["/a"],
                    "write": ["/b"],
                }
            },
            "read /a, write /b, read /c",
        ),
        ({"macos": {"automation": "all"}}, 'unknown: {"macos":{"automation":"all"}}'),
        ({"fileSystem": {"write": ["/b"], "all": True}}, 'write /b, unknown: {"all":true}'),
        ({"network": {"enabled": False, "hosts": ["h"]}}, 'unknown: {"hosts":["h"]}'),
        ({"fileSystem": "all"}, 'unknown: {"fileSystem":"all"}'),
        ({"fileSystem": {"entries": [{"access": "write", "path": "/", "deep": 1}]}}, 'unknown: {"access":"write"'),
        ("all", 'unknown: "all"'),
    ],
)
def test_what_a_command_wants_is_shown_whole_and_what_is_not_known_leaves_the_sandbox(extra: Any, shown: str) -> None:
    asked = read(COMMAND, command="ls", cwd="/w", additionalPermissions=extra, itemId="i")
    assert asked is not None and asked.leaves_sandbox and asked.detail.startswith(f"with: {shown}")


@pytest.mark.parametrize("method", [COMMAND, PERMISSIONS])
def test_paths_of_permissions_are_named_so_that_links_are_found(method: str) -> None:
    paths = [
        {"type": "path", "path": "/c"},
        {"type": "glob_pattern", "pattern": "/d/link/x*/y"},
        {"type": "glob_pattern", "pattern": "/e/f"},
        {"type": "special", "value": {"kind": "project_roots", "subpath": "sub"}},
        {"type": "special", "value": {"kind": "root"}},
    ]
    entries = [{"access": "read", "path": path} for path in paths]
    profile = {"fileSystem": {"read": ["/a"], "write": ["b"], "entries": entries}}
    asked = read(method, command="ls", cwd="/w", additionalPermissions=profile, permissions=profile, itemId="i")
    assert asked is not None and asked.paths == ("/a", "/w/b", "/c", "/d/link", "/e/f", "/w/sub")
    assert 'read {"type":"special","value":{"kind":"project_roots","subpath":"sub"}}, read root' in (
        asked.title + asked.detail
    )


@pytest.mark.parametrize("extra", [None, {}, {"fileSystem": None, "network": None}, {"network": {"enabled": False}}])
def test_a_command_that_wants_nothing_more_stays_in_the_sandbox(extra: Any) -> None:
    asked = read(COMMAND, command="ls", cwd="/w", additionalPermissions=extra, itemId="i")
    assert asked is not None and not asked.leaves_sandbox and asked.detail == ""


@pytest.mark.parametrize("place", ["devbox-7", {"id": "devbox-7"}])
def test_what_would_happen_in_another_environment_says_so_and_only_a_person_accepts_it(place: Any) -> None:
    command = read(COMMAND, command="ls", cwd="/w", environmentId=place, itemId="i")
    permission = read(
        PERMISSIONS, cwd="/w", permissions={"network": {"enabled": True}}, environmentId=place, itemId="i"
    )
    for asked, kind, pattern in ((command, RuleKind.COMMAND, "ls"), (permission, RuleKind.TOOL, "network")):
        assert asked is not None and "in the environment" in asked.detail and "devbox-7" in asked.detail
        rule = Rule("R", Effect.ALLOW, kind, pattern, Scope.EVERYWHERE, "", 0)
        for policy in (Policy.CAREFUL, Policy.TRUSTED):
            assert decide(asked, policy, "/w", [rule], 0, "T").effect is Effect.ASK


@pytest.mark.parametrize("place", [None, "local"])
def test_a_command_on_this_machine_names_no_environment(place: Any) -> None:
    asked = read(COMMAND, command="ls", cwd="/w", environmentId=place, itemId="i")
    assert asked == Asked(GateKind.COMMAND, "ls", folder="/w", item="i")


def test_words_of_an_older_command_are_shown_as_a_shell_is_told_them() -> None:
    asked = read("execCommandApproval", conversationId="th", callId="c", command=["ls", "a; rm -rf b"], cwd="/w")
    assert asked is not None and asked.title == "ls 'a; rm -rf b'"


def test_a_command_that_is_not_repeated_is_taken_from_its_item() -> None:
    turn = begun(type="commandExecution", id="i", command="make")
    asked = read(COMMAND, turn, itemId="i", cwd="/w", reason="because")
    assert asked is not None and (asked.kind, asked.title, asked.reason) == (GateKind.COMMAND, "make", "because")


def test_a_request_without_a_command_is_not_shown_as_one() -> None:
    typed = read(COMMAND, kind="writeStdin", command="ls\n", itemId="i")
    assert typed is not None and typed.kind is GateKind.PERMISSION
    assert typed.title == "type into a running command: ls\n"
    network = read(COMMAND, networkApprovalContext={"host": "h", "protocol": "http"}, itemId="i")
    assert network is not None and (network.kind, network.title) == (GateKind.PERMISSION, "network access to http://h")


@pytest.mark.parametrize("typed", ["git push\n", "q\ngit push", "\x03git push\r", ":!git push"])
def test_a_deny_sees_what_is_typed_into_a_running_command(tmp_path: Path, typed: str) -> None:
    asked = read(COMMAND, kind="writeStdin", command=typed, itemId="i")
    denied = Rule("R", Effect.DENY, RuleKind.COMMAND, "git push", Scope.EVERYWHERE, "", 0)
    assert asked is not None
    assert decide(asked, Policy.YOLO, str(tmp_path), [denied], 1, "t").effect is Effect.DENY


def test_a_change_of_many_files_is_one_diff_with_all_paths() -> None:
    changes = [
        {"path": "/w/gone", "kind": {"type": "delete"}, "diff": "bye\n"},
        {"path": "/w/old", "kind": {"type": "update", "move_path": "/w/moved"}, "diff": "@@ -1 +1 @@\n-a\n+b"},
        {"path": "/w/new", "kind": {"type": "add"}, "diff": "one\n\ntwo"},
    ]
    turn = begun(type="fileChange", id="i", changes=changes)
    turn.feed("item/fileChange/outputDelta", raw(threadId="th", turnId="T", itemId="i", delta="noise" * 2000))
    asked = read(CHANGE, turn, itemId="i", reason="needs it")
    assert asked is not None
    assert asked.paths == ("/w/gone", "/w/old", "/w/moved", "/w/new")
    assert asked.title == ", ".join(asked.paths)
    assert asked.removes
    assert asked.reason == "needs it"
    assert asked.detail == (
        "--- /w/gone\n+++ /dev/null\n-bye\n--- /w/old\n+++ /w/moved\n@@ -1 +1 @@\n-a\n+b\n"
        "--- /dev/null\n+++ /w/new\n+one\n+\n+two\n"
    )


@pytest.mark.parametrize(
    ("kind", "removes"),
    [
        ({"type": "delete"}, True),
        ({"type": "update", "move_path": "/w/b"}, True),
        ({"type": "update"}, False),
        ({"type": "add"}, False),
    ],
    ids=str,
)
def test_a_deletion_and_a_move_are_distinguished_from_an_edit(kind: dict[str, str], removes: bool) -> None:
    turn = begun(type="fileChange", id="i", changes=[{"path": "/w/a", "kind": kind, "diff": "x\n"}])
    asked = read(CHANGE, turn, itemId="i")
    assert asked is not None and asked.removes is removes


def test_a_change_that_asks_for_later_writes_is_always_asked(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    path, root = str(tmp_path / "src" / "a.py"), str(tmp_path)
    turn = begun(type="fileChange", id="i", changes=[{"path": path, "kind": {"type": "add"}, "diff": "x"}])
    plain, more = (read(CHANGE, turn, itemId="i", **given) for given in ({}, {"grantRoot": root}))
    assert plain is not None and more is not None and plain.subject != more.subject
    assert more.detail.startswith(f"it also asks to write below {root} from now on\n--- /dev/null\n")
    assert coded_of(more.unjudged) == Coded("approvals.writes_below", {"folder": root})
    rule = Rule("r", Effect.ALLOW, RuleKind.CHANGE, "src/…", Scope.EVERYWHERE, "", 0)
    for policy, rules in (Policy.TRUSTED, []), (Policy.CAREFUL, [rule]):
        effects = [decide(each, policy, root, rules, 0, "t").effect for each in (plain, more)]
        assert effects == [Effect.ALLOW, Effect.ASK]


def test_a_change_that_was_never_shown_says_so() -> None:
    asked = read(CHANGE, itemId="unseen")
    assert asked is not None and (asked.title, asked.detail, asked.paths) == (requests.UNSEEN, "", ())
    nameless = read(COMMAND, itemId="unseen")
    assert asked.unshown and nameless is not None and nameless.unshown, "a yes is for once"


def test_requests_of_older_kinds_are_read_and_answered() -> None:
    command = read("execCommandApproval", conversationId="th", callId="c", command=["git", "push"], cwd="/w")
    assert command == Asked(GateKind.COMMAND, "git push", folder="/w", item="c")
    changes = {"/w/a": {"type": "add", "content": "x\n"}, "/w/b": {"type": "update", "unified_diff": "@@\n-a\n+b\n"}}
    change = read("applyPatchApproval", conversationId="th", callId="c", fileChanges=changes)
    assert change is not None and change.paths == ("/w/a", "/w/b")
    assert change.detail == "--- /dev/null\n+++ /w/a\n+x\n--- /w/b\n+++ /w/b\n@@\n-a\n+b\n"
    assert [shape("execCommandApproval", each)["decision"] for each in (YES, CANCEL)] == ["approved", "abort"]
    assert "denied" in shape("applyPatchApproval", NO)["decision"]


def test_permissions_are_described_in_words() -> None:
    entries = [
        {"path": {"type": "path", "path": "/x"}, "access": "write"},
        {"path": {"type": "glob_pattern", "pattern": "*.md"}, "access": "read"},
        {"path": {"type": "special", "value": {"kind": "tmpdir"}}, "access": "deny"},
    ]
    profile = {"fileSystem": {"entries": entries}, "network": {"enabled": True}}
    asked = read(requests.PERMISSIONS, permissions=profile, cwd="/w")
    assert asked is not None and asked.title == "write /x, read *.md, deny tmpdir, network"
    assert asked.paths == ("/x",)
    assert json.loads(asked.detail) == profile
    assert shape(requests.PERMISSIONS, YES, permissions=profile) == {"permissions": profile, "scope": "turn"}
    assert shape(requests.PERMISSIONS, CANCEL, permissions=profile) == {"permissions": {}, "scope": "turn"}


@pytest.mark.parametrize(
    "params",
    [
        {"mode": "openai/userVerification", "title": "Touch the key", "challenge": "x"},
        {"mode": "form", "requestedSchema": {"type": "object", "properties": {"deep": {"type": "object"}}}},
        {"mode": "openai/form", "requestedSchema": "whatever"},
    ],
)
def test_unaskable_request_is_declined_with_a_notice(params: dict[str, Any]) -> None:
    live, pending = Live("turn", "T"), standing(requests.ELICITATION, threadId="th", message="Prove it", **params)
    assert not live.ask(pending)
    notice = live.events.get_nowait()
    assert notice == Notice(NoticeKind.DECLINED, "declined: clew cannot ask anybody this: Prove it")
    assert isinstance(notice, Notice) and coded_of(notice.text) == Coded("codex.declined", {"about": "Prove it"})


TOOL_MARK = {"codex_approval_kind": "mcp_tool_call", "tool_params": {"x": 1}}
TOOL_ASKED: dict[str, Any] = {
    "serverName": "docs",
    "mode": "form",
    "message": 'Allow the docs MCP server to run tool "read"?',
    "requestedSchema": {"type": "object", "properties": {}},
    "_meta": TOOL_MARK,
}


@pytest.mark.parametrize(
    "message", ['Delete it all, and run tool "read"?', f"{TOOL_ASKED['message']} And pay 5 $?", "?"]
)
def test_a_rule_for_tools_answers_no_question_that_an_mcp_server_words_itself(message: str) -> None:
    rule = Rule("r", Effect.ALLOW, RuleKind.TOOL, "*", Scope.EVERYWHERE, "", 0)
    asked = [read(requests.ELICITATION, **{**TOOL_ASKED, **more}) for more in ({}, {"message": message})]
    effects = [decide(each, Policy.CAREFUL, "/w", [rule], 0, "t").effect for each in asked if each is not None]
    assert effects == [Effect.ALLOW, Effect.ASK]
    assert asked[1] is not None and asked[1].reason == message


def test_a_link_or_a_form_of_an_mcp_server_does_not_pass_for_a_question_about_a_tool() -> None:
    link = read(requests.ELICITATION, **{**TOOL_ASKED, "mode": "url", "url": "https://x.y"})
    assert link is not None and link.title == "open https://x.y"
    form = read(requests.ELICITATION, **{**TOOL_ASKED, "requestedSchema": SCHEMA})
    assert form is not None and form.kind is GateKind.QUESTION and len(form.questions) == len(SCHEMA["properties"])


def test_an_answer_that_is_no_option_is_refused_and_a_secret_is_not_repeated() -> None:
    open_question = {"id": "q", "question": "Which?", "options": [{"label": "A"}, {"label": "B"}]}
    said = Answer(Decision.REPLY, replies=(("q", ("C",)),))
    with pytest.raises(BadInput, match="Which\\? takes one of A, B, not 'C'"):
        shape(requests.INPUT, said, questions=[open_question])
    hushed = {**open_question, "isSecret": True}
    with pytest.raises(BadInput, match="not another answer"):
        shape(requests.INPUT, said, questions=[hushed])
    assert shape(requests.INPUT, said, questions=[{**open_question, "isOther": True}])
    bare = read(requests.INPUT, questions=[{"id": "q", "question": "Your name?"}])
    assert bare is not None and bare.questions[0].free and not bare.questions[0].options


SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "price": {"type": "number", "minimum": 0.5},
        "mail": {"type": "string", "format": "email", "maxLength": 20},
        "day": {"type": "string", "format": "date"},
        "site": {"type": "string", "format": "uri"},
        "size": {"type": "string", "oneOf": [{"const": "s", "title": "Small"}, {"const": "l", "title": "Large"}]},
        "tags": {
            "type": "array",
            "items": {"anyOf": [{"const": "a", "title": "Alpha"}, {"const": "b", "title": "Beta"}]},
            "maxItems": 1,
        },
    },
}


@pytest.mark.parametrize(
    ("name", "said", "value"),
    [
        ("price", ("1.5",), 1.5),
        ("mail", ("a@b.c",), "a@b.c"),
        ("day", ("2026-08-01",), "2026-08-01"),
        ("site", ("https://x.y",), "https://x.y"),
        ("size", ("Large",), "l"),
        ("size", ("s",), "s"),
        ("tags", ("Beta",), ["b"]),
    ],
)
def test_a_form_takes_what_fits(name: str, said: tuple[str, ...], value: object) -> None:
    assert forms.fill(SCHEMA, [(name, said)]) == {name: value}


@pytest.mark.parametrize(
    ("name", "said", "words"),
    [
        ("price", ("0.1",), "price takes at least 0.5"),
        ("price", ("nan",), "price takes a number"),
        ("price", ("1", "2"), "takes one answer"),
        ("mail", ("nobody",), "mail takes an e-mail address"),
        ("mail", ("somebody@a-very-long-name.example",), "at most 20 characters"),
        ("day", ("tomorrow",), "day takes a date"),
        ("site", ("x",), "site takes an address"),
        ("size", ("huge",), "size takes one of Small, Large"),
        ("tags", ("Alpha", "Beta"), "at most 1 answers"),
    ],
)
def test_a_form_refuses_a_bad_value_with_a_message(name: str, said: tuple[str, ...], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        forms.fill(SCHEMA, [(name, said)])


def standing(method: str, id: int = 0, **params: Any) -> Pending:
    pending = Gates("process", lambda id, result: None).add(id, method, raw(**params))
    assert pending is not None
    return pending


def test_a_request_is_answered_once_and_known_until_resolved() -> None:
    sent: list[tuple[object, object]] = []
    gates = Gates("p", lambda id, result: sent.append((id, result)))
    pending = gates.add(7, COMMAND, raw(threadId="th", command="x"))
    assert pending is not None and pending.ref == "p:7"
    assert gates.add(7, COMMAND, raw(threadId="th", command="x")) is pending
    assert pending.answer(YES) and not pending.answer(NO)
    assert sent == [(7, {"decision": "accept"})]
    assert gates.resolved(7) is pending and gates.resolved(7) is None
    other = Gates("q", lambda id, result: None).add(7, COMMAND, raw(threadId="th"))
    assert other is not None and other.ref != pending.ref


@pytest.mark.parametrize("answered", [False, True])
def test_a_second_request_with_the_id_of_an_open_one_is_refused(answered: bool) -> None:
    """The answer to one could be used for the other."""
    gates = Gates("p", lambda id, result: None)
    first = gates.add(7, COMMAND, raw(threadId="th", command="x"))
    assert first is not None and (not answered or first.answer(YES))
    for method, params in ((COMMAND, {"command": "y"}), (CHANGE, {"command": "x"}), (COMMAND, {"threadId": "other"})):
        with pytest.raises(BadInput, match="is that of another request"):
            gates.add(7, method, raw(**{"threadId": "th", **params}))
    assert gates.add(7, COMMAND, raw(threadId="th", command="x")) is first


def test_ids_that_look_alike_are_two_requests() -> None:
    gates, live = Gates("p", lambda id, result: None), Live("turn", "T")
    for id, command in ((7, "x"), ("7", "y")):
        pending = gates.add(id, COMMAND, raw(threadId="th", turnId="T", command=command))
        assert pending is not None and live.ask(pending)
    assert [pending.asked and pending.asked.title for pending in live.gates.values()] == ["x", "y"]


def test_a_request_that_codex_settles_itself_is_closed_and_takes_no_answer() -> None:
    gates, live = Gates("p", lambda id, result: None), Live("turn", "T")
    pending = gates.add(0, COMMAND, raw(threadId="th", turnId="T", command="x"))
    assert pending is not None and live.ask(pending) and live.ask(pending)
    assert gates.resolved(0) is pending
    live.resolved(pending)
    events = [live.events.get_nowait() for _ in range(live.events.qsize())]
    assert [type(event) for event in events] == [GateOpened, GateClosed]
    assert not pending.answer(YES)


def test_a_request_of_another_turn_is_not_ours() -> None:
    assert not Live("turn", "T").ask(standing(COMMAND, threadId="th", turnId="another", command="x"))


def test_a_request_during_a_stop_is_cancelled() -> None:
    live = Live("turn", "T")
    live.is_interrupted = True
    pending = standing(COMMAND, threadId="th", turnId="T", command="x")
    assert live.ask(pending) and pending.is_answered and live.is_ending
    assert live.events.empty()


def test_a_message_with_unreadable_questions_is_only_a_message() -> None:
    turn = Translation("T")
    item = {"type": "agentMessage", "id": "i", "text": "Well?", "delivery": "async", "questions": [{"title": 1}]}
    assert len(turn.feed("item/completed", raw(threadId="th", turnId="T", item=item))) == 1


def test_another_machine_is_named_by_a_sentence_with_a_code() -> None:
    asked = read(requests.COMMAND, itemId="i", command="make", cwd="/w", environmentId="far\u200b")
    assert asked is not None and "far\u200b" in asked.detail
    coded = coded_of(asked.unjudged)
    assert coded is not None and coded.code == "approvals.elsewhere" and "\u200b" not in str(coded.args)


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("/bin/bash -lc 'make test && echo \"it'\"'\"'s done\"'", 'make test && echo "it\'s done"'),
        (["/bin/bash", "-lc", "rg x | head"], "rg x | head"),
        (["/bin/bash", "-lc", "  "], "/bin/bash -lc '  '"),
        ("bash -lc 'open", "bash -lc 'open"),
        ("bash -lc a b", "bash -lc a b"),
        ("zsh -lc 'ls *'", "zsh -lc 'ls *'"),
        ("bash -c 'ls'", "bash -c 'ls'"),
        ("make test", "make test"),
        (["git", "log", "a b"], "git log 'a b'"),
    ],
)
def test_the_shell_that_codex_puts_around_a_script_is_not_shown(command: str | list[str], shown: str) -> None:
    assert items.script_of(command) == shown


@pytest.mark.parametrize("method", [requests.OLD_COMMAND, requests.OLD_CHANGE])
def test_an_old_codex_is_told_that_nobody_answered_in_time(method: str) -> None:
    expired = Answer(Decision.DECLINE, "nobody answered in time", expired=True)
    told = "it was not done because nobody answered in time; you may ask again"
    assert shape(method, expired) == {"decision": {"denied": {"rejection": told}}}
    assert shape(method, NO) == {"decision": {"denied": {"rejection": "the person declined"}}}
    assert (shape(method, YES), shape(method, CANCEL)) == ({"decision": "approved"}, {"decision": "abort"})
