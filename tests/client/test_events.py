"""Typed events: how a frame becomes one, and what happens to those that this version does not know."""

from __future__ import annotations

from clew.client.events import Event, GateVoid, TextPiece, Unknown, event_of
from clew.client.wire import Frame


def test_a_stored_event_has_its_data_apart() -> None:
    data = b'{"seq":7,"thread":"T","turn":"U","kind":"gate.void","at":5,"data":{"gate":"G","code":"K7Q2","why":"gone"}}'
    event = event_of(Frame("gate.void", 7, data))
    assert event == Event("gate.void", 7, "T", "U", 5, {"gate": "G", "code": "K7Q2", "why": "gone"})
    assert event.what == GateVoid("G", "K7Q2", "gone")


def test_a_live_event_has_its_data_at_the_top_level() -> None:
    event = event_of(Frame("text", None, b'{"thread":"T","turn":"U","item":"1","offset":3,"text":"new"}'))
    assert event == Event("text", None, "T", "U", None, {"item": "1", "offset": 3, "text": "new"})
    assert event.what == TextPiece("1", 3, "new")


def test_an_event_of_a_later_version_is_unknown_and_keeps_its_data() -> None:
    event = event_of(Frame("thread.painted", 1, b'{"thread":"T","data":{"colour":"red"}}'))
    assert (event.what, event.data) == (Unknown(), {"colour": "red"})


def test_an_event_without_its_fields_is_unknown() -> None:
    assert event_of(Frame("gate.void", 1, b'{"thread":"T","data":{}}')).what == Unknown()
