"""A rule for exactly one request holds however clew words the doubts about it, and if an older version made it."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from clew.engine.rules import decide
from clew.model.gates import Asked, Effect, Gate, GateKind, GateState, Policy, Rule, RuleKind, Scope
from clew.store.migrate import open_store
from clew.store.tables import gates
from clew.support.clock import SystemClock
from clew.support.coded import coded_of
from clew.texts.catalogue import say, sentences
from clew.texts.catalogue.approvals import SENTENCES

# A yes allows exactly these words: they are in the details of a request. Another wording would end rules for a thread.
IN_DETAILS = {
    "announced": ("It was announced with:", "它先前的说明是："),
    "unread": (
        "As the agent describes it, unchecked, since {path} is not clearly in the workspace:",
        "{path} 不能确定在工作区内，以下只是代理的说明，未经核实：",
    ),
    "gone": ("This file is replaced by the one above:", "这个文件会被上面的文件替换："),
    "writes_below": ("it also asks to write below {folder} from now on", None),
    "elsewhere": ("in the environment {environment}, not on this machine", None),
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
    for name, (english, chinese) in IN_DETAILS.items():
        now = sentences("approvals")[name]
        assert now[0] == english and (chinese is None or now[1] == chinese), name
