"""The frames of Feishu's long connection, with values from the platform's own library."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.surfaces.feishu.frames import CONTROL, DATA, LARGEST, MOST_OPEN, Assembler, BadFrame, Frame, decode, encode

PING = "08001000182a20002a0c0a0474797065120470696e67"
EVENT = (
    "08ac02108580808080808080800118f681801020012a0d0a047479706512056576656e742a110a0a6d6573736167655f696412036d2d31"
    "2a080a0373756d1201312a080a037365711201303204677a69703a046a736f6e420e7b2261223a22e4bda0e5a5bd227d4a076c6f672d6e6577"
)
TOLD = (("type", "event"), ("message_id", "m-1"), ("sum", "1"), ("seq", "0"))
WHOLE = Frame(DATA, 33554678, TOLD, '{"a":"你好"}'.encode(), 300, 2**63 + 5, "gzip", "json", "log-new")


@pytest.mark.parametrize(("frame", "data"), [(Frame(CONTROL, 42, (("type", "ping"),)), PING), (WHOLE, EVENT)])
def test_frames_match_the_platforms_own_library(frame: Frame, data: str) -> None:
    assert encode(frame).hex() == data and decode(bytes.fromhex(data)) == frame


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
numbers = st.integers(0, 2**64 - 1)
frames = st.builds(
    Frame,
    st.integers(0, 1),
    st.integers(0, 2**31 - 1),
    st.lists(st.tuples(texts, texts), max_size=4).map(tuple),
    st.binary(max_size=300),
    numbers,
    numbers,
    texts,
    texts,
    texts,
)


@given(frames)
def test_any_frame_survives_encode_and_decode(frame: Frame) -> None:
    assert decode(encode(frame)) == frame


@given(st.binary(max_size=60))
def test_any_bytes_decode_or_raise_bad_frame(data: bytes) -> None:
    try:
        assert isinstance(decode(data), Frame)
    except BadFrame:
        return


def test_unknown_fields_are_ignored() -> None:
    known = bytes.fromhex(PING)
    unknown = bytes([12 << 3 | 0, 5, 13 << 3 | 2, 2, 65, 66, 14 << 3 | 5, 0, 0, 0, 0, 15 << 3 | 1, *bytes(8)])
    assert decode(unknown + known) == decode(known)


@pytest.mark.parametrize(
    "data", [b"\x08", b"\x08" + b"\xff" * 11, b"\x42\x7fabc", b"\x0b", b"\x32\x01\xff", b"\x2a\x03\x0a\x7fa"]
)
def test_truncated_or_odd_data_is_not_a_frame(data: bytes) -> None:
    with pytest.raises(BadFrame):
        decode(data)


def part(name: str, seq: int, count: int, payload: bytes) -> Frame:
    return Frame(DATA, headers=(("message_id", name), ("sum", str(count)), ("seq", str(seq))), payload=payload)


def test_parts_are_joined_in_any_order() -> None:
    parts = Assembler()
    assert parts.add(Frame(DATA, payload=b"whole")) == b"whole"
    assert parts.add(part("a", 2, 3, b"c")) is None
    assert parts.add(part("b", 0, 2, b"x")) is None
    assert parts.add(part("a", 0, 3, b"a")) is None
    assert parts.add(part("a", 0, 3, b"a")) is None  # once more
    assert parts.add(part("a", 1, 3, b"b")) == b"abc"
    assert parts.add(part("b", 1, 2, b"y")) == b"xy"


@pytest.mark.parametrize(("seq", "count"), [(3, 3), (0, 100000), (99, 2)])
def test_impossible_parts_are_refused(seq: int, count: int) -> None:
    with pytest.raises(BadFrame):
        Assembler().add(part("a", seq, count, b""))


def test_incomplete_events_do_not_accumulate() -> None:
    parts = Assembler()
    for number in range(MOST_OPEN * 3):
        assert parts.add(part(str(number), 0, 2, b"x")) is None
    assert parts.add(part("0", 1, 2, b"y")) is None  # its first part was given up
    assert parts.add(part(str(MOST_OPEN * 3 - 1), 1, 2, b"y")) == b"xy"
    with pytest.raises(BadFrame, match="MiB"):
        for number in range(9):
            parts.add(part("big", number, 10, bytes(LARGEST // 8)))


@pytest.mark.parametrize("value", ["", "-1", "x", "٣", "99999999999"])
def test_an_invalid_number_is_its_default(value: str) -> None:
    assert Frame(DATA, headers=(("sum", value),)).number("sum", 1) == 1
