"""A rule for exactly one request holds however clew words the doubts about it, and if an older version made it."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from msgspec.structs import replace

from clew.engine.rules import decide
from clew.model.gates import Asked, Effect, Gate, GateKind, GateState, Policy, Rule, RuleKind, Scope
from clew.store.migrate import open_store
from clew.store.tables import gates
from clew.support.clock import SystemClock
from clew.support.coded import coded_of
from clew.texts.catalogue import say, sentences
from clew.texts.catalogue.approvals import SENTENCES
from clew.texts.together import lines

# A yes allows exactly these words: they are in the details of a request. Another wording would end rules for a thread.
IN_DETAILS = {
    "announced": "It was announced with: {call}",
    "claimed": "The agent says, unchecked:\n{text}",
    "elsewhere": "in the environment {environment}, not on this machine",
    "empties": "It would be empty.",
    "given_along": "given along: {rest}",
    "gone": "This file is replaced by the one above:",
    "network": "network access to {place}",
    "new_empty_file": "A new, empty file: {path}",
    "nowhere": "the agent does not say clearly in which folder it would run",
    "open_address": "open {url}",
    "plan": "Carry out this plan",
    "read_path": "read {path}",
    "removes": "It deletes or moves files.",
    "replaces_unseen": "Replaces a file that cannot be shown ({size} bytes, {mark}): {path}",
    "typed": "type into a running command: {text}",
    "unknown_permission": "unknown: {permission}",
    "unread": "As the agent describes it, unchecked, since {path} is not clearly in the workspace:",
    "unshown_command_called": "a command that the agent does not show; it calls it: {name}",
    "with": "with: {permissions}",
    "write_path": "write {path}",
    "writes_below": "it also asks to write below {folder} from now on",
}


def asked(doubt: str) -> Asked:
    return Asked(GateKind.COMMAND, "make", folder="/w", unjudged=doubt)


def is_allowed(pattern: str, request: Asked) -> bool:
    rule = Rule("R", Effect.ALLOW, RuleKind.EXACT, pattern, Scope.THREAD, "t", 0)
    return decide.decide(request, Policy.CAREFUL, "/w", [rule], 1, "t").effect is Effect.ALLOW


def doubt(names: str = "x") -> str:
    return say("approvals.unknown_parts", names=names)


def test_a_rule_for_a_thread_holds_if_the_doubt_is_worded_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    pattern = decide.exact_pattern(asked(doubt()))
    monkeypatch.setitem(SENTENCES, "unknown_parts", ("there is more in it: {names}", "还有：{names}"))
    assert doubt() == "there is more in it: x"
    assert is_allowed(pattern, asked(doubt())) and not is_allowed(pattern, asked(doubt("y")))


def test_a_rule_for_a_thread_of_an_older_version_holds() -> None:
    subject = "command\0/w\0make\0\0it carries what clew does not know: x"
    pattern = hashlib.sha256(subject.encode()).hexdigest()
    assert is_allowed(pattern, asked(doubt())) and not is_allowed(pattern, asked(doubt("y")))


async def test_a_request_is_the_same_after_it_was_stored(tmp_path: Path) -> None:
    store = open_store(tmp_path / "clew.db", SystemClock())
    try:
        request = asked(doubt())
        gate = Gate("G", "K7Q2", "T", "t", "r", request, GateState.OPEN, 1)
        await store.write(lambda tx: gates.insert(tx, gate))
        [found] = await store.read(gates.all_rows)
        assert found.asked == request and found.asked.subject == request.subject
        assert coded_of(found.asked.unjudged) == coded_of(request.unjudged)
    finally:
        store.close()


def test_sentences_in_the_details_of_a_request_keep_their_words() -> None:
    for name, english in IN_DETAILS.items():
        assert sentences("approvals")[name][0] == english, name


def test_a_rule_of_the_version_that_said_both_languages_holds() -> None:
    marked = "As the agent describes it, unchecked, since /x is not clearly in the workspace:"
    marked = f"{marked} · /x 不能确定在工作区内，以下只是代理的说明，未经核实："
    claimed = "The agent says, unchecked · 代理的说明，未经核实:\n| why"
    subject = f"change\0\0/x\0It deletes or moves files. · 它会删除或移动文件。\n{marked}\n+a\n{claimed}\0removes"
    pattern = hashlib.sha256(subject.encode()).hexdigest()
    unread = lines(say("approvals.unread", path="/x"), "+a")
    detail = lines(say("approvals.removes"), unread, say("approvals.claimed", text="| why"))
    request = Asked(GateKind.CHANGE, "/x", detail, paths=("/x",), removes=True)
    assert is_allowed(pattern, request)
    assert not is_allowed(pattern, replace(request, detail=lines(detail, "more")))
    assert not is_allowed(pattern, replace(request, detail=str.__str__(detail)))  # an agent's own words
