"""The events of a stream: what is logged or published comes back typed, also from another version."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from clew.engine.live import frame_of
from clew.model.events.kinds import EventKind
from clew.model.events.logged import GateVoid, Logged
from clew.model.events.stream import KINDS, StreamEvent, Unknown, opened, typed
from clew.model.views import Snapshot
from clew.server.chat.inputs import to_input
from clew.store.base import Connection, Tx
from clew.texts.catalogue import say

VALUES: dict[Any, Any] = {str: "x", int: 3, Snapshot: Snapshot((), (), ())}


def sample(kind: str) -> Any:
    """An event of this kind, with a value in each field that it needs."""
    data = KINDS[kind]
    needed = {each.name: VALUES[each.type] for each in msgspec.structs.fields(data) if each.required}
    return data(**needed)


class Numbers:
    """A connection that only numbers entries."""

    def insert(self, sql: str, params: object) -> int:
        return 7

    def run(self, sql: str, params: object) -> int:
        return 1


def logged(happened: Logged) -> bytes:
    """What the stream sends of an event that is logged."""
    connection: Connection = Numbers()  # type: ignore[assignment]
    tx = Tx(connection)
    tx.log("T", "U", 5, happened)
    return frame_of(tx.finish().entries[0]).data


def read(kind: str, body: bytes) -> StreamEvent:
    return typed(kind, opened(body).data or {})


@pytest.mark.parametrize("kind", EventKind)
def test_an_event_comes_back_as_what_was_sent(kind: EventKind) -> None:
    sent = sample(kind)
    is_stored = isinstance(sent, Logged)
    body = logged(sent) if is_stored else msgspec.json.encode({"thread": "T", **msgspec.to_builtins(sent)})
    assert read(kind, body) == sent
    assert opened(body).thread == "T"
    assert msgspec.json.decode(body).get("kind", "x") == (kind if is_stored else "x")


def test_the_code_of_a_sentence_is_logged_beside_it() -> None:
    why = say("threads.turn_failed")
    found = read(EventKind.GATE_VOID, logged(GateVoid("G", "K7Q2", why)))
    assert found == GateVoid("G", "K7Q2", str.__str__(why), texts={"why": why.coded})
    assert b"texts" not in logged(GateVoid("G", "K7Q2", "foreign"))


@pytest.mark.parametrize(
    ("kind", "data"),
    [("thread.painted", {"colour": "red"}), ("gate.void", {}), ("gate.void", {"gate": 1, "code": "c", "why": ""})],
)
def test_what_this_version_does_not_know_breaks_no_reader(kind: str, data: dict[str, Any]) -> None:
    found = typed(kind, data)
    assert found == Unknown()
    assert to_input(found) is None


def test_a_field_of_a_later_version_is_ignored() -> None:
    assert typed("gate.void", {"gate": "G", "code": "c", "why": "w", "colour": 1}) == GateVoid("G", "c", "w")
