"""Encodes and decodes the frames of Feishu's long connection, a small protobuf message (`pbbp2.Frame`), and joins
events of several frames. Pure. Invalid data raises BadFrame."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field

from msgspec import Struct

CONTROL, DATA = 0, 1  # methods

LARGEST = 8 << 20  # bytes of one event
MOST_PARTS = 256
MOST_OPEN = 32  # events of which a part is still missing

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5  # protobuf's wire types


class BadFrame(ValueError):
    """The bytes are not a valid frame."""


class Frame(Struct, frozen=True):
    method: int
    service: int = 0
    headers: tuple[tuple[str, str], ...] = ()
    payload: bytes = b""
    seq: int = 0
    log: int = 0
    encoding: str = ""
    type: str = ""
    log_new: str = ""

    def header(self, name: str) -> str:
        return next((value for key, value in self.headers if key == name), "")

    def number(self, name: str, default: int) -> int:
        value = self.header(name)
        return int(value) if value.isascii() and value.isdecimal() and len(value) < 10 else default


def encode(frame: Frame) -> bytes:
    numbers = ((1, frame.seq), (2, frame.log), (3, frame.service), (4, frame.method))
    pieces = [_tag(place, _VARINT) + _varint(value) for place, value in numbers]  # required, so written even if 0
    for key, value in frame.headers:
        pieces.append(_bytes(5, _bytes(1, key.encode()) + _bytes(2, value.encode())))
    texts = ((6, frame.encoding.encode()), (7, frame.type.encode()), (8, frame.payload), (9, frame.log_new.encode()))
    pieces += [_bytes(place, value) for place, value in texts if value]
    return b"".join(pieces)


def decode(data: bytes) -> Frame:
    """Decode a frame; unknown fields are ignored."""
    numbers = {1: 0, 2: 0, 3: 0, 4: 0}
    texts = {6: b"", 7: b"", 8: b"", 9: b""}
    headers: list[tuple[str, str]] = []
    for place, value in _fields(data):
        if place in numbers and isinstance(value, int):
            numbers[place] = value
        elif place == 5 and isinstance(value, bytes):
            headers.append(_header(value))
        elif place in texts and isinstance(value, bytes):
            texts[place] = value
    return Frame(
        method=numbers[4],
        service=numbers[3],
        headers=tuple(headers),
        payload=texts[8],
        seq=numbers[1],
        log=numbers[2],
        encoding=_text(texts[6]),
        type=_text(texts[7]),
        log_new=_text(texts[9]),
    )


@dataclass(slots=True)
class Assembler:
    """Joins events that come in several frames."""

    _open: OrderedDict[str, dict[int, bytes]] = field(default_factory=OrderedDict)

    def add(self, frame: Frame) -> bytes | None:
        """Return the complete payload once all parts are there; otherwise None. Raises BadFrame."""
        count, place = frame.number("sum", 1), frame.number("seq", 0)
        if count <= 1:
            return frame.payload
        if count > MOST_PARTS or place >= count:
            raise BadFrame(f"part {place} of {count}")
        name = f"{count} {frame.header('message_id')}"
        parts = self._open.setdefault(name, {})
        parts[place] = frame.payload
        if sum(map(len, parts.values())) > LARGEST:
            del self._open[name]
            raise BadFrame(f"an event of more than {LARGEST >> 20} MiB")
        if len(parts) < count:
            while len(self._open) > MOST_OPEN:
                self._open.popitem(last=False)
            return None
        del self._open[name]
        return b"".join(parts[number] for number in range(count))


def _tag(place: int, kind: int) -> bytes:
    return _varint(place << 3 | kind)


def _varint(value: int) -> bytes:
    left = value & 0xFFFFFFFFFFFFFFFF
    out = bytearray()
    while left > 0x7F:
        out.append(left & 0x7F | 0x80)
        left >>= 7
    out.append(left)
    return bytes(out)


def _bytes(place: int, value: bytes) -> bytes:
    return _tag(place, _BYTES) + _varint(len(value)) + value


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    at = 0
    while at < len(data):
        tag, at = _read_varint(data, at)
        place, kind = tag >> 3, tag & 7
        if kind == _VARINT:
            value, at = _read_varint(data, at)
            yield place, value
            continue
        if kind == _BYTES:
            size, at = _read_varint(data, at)
        elif kind in (_FIXED32, _FIXED64):
            size = 4 if kind == _FIXED32 else 8
        else:
            raise BadFrame(f"wire type {kind}")
        if size > len(data) - at:
            raise BadFrame("it ends too early")
        yield place, data[at : at + size]
        at += size


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            raise BadFrame("it ends too early")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise BadFrame("a number that never ends")


def _header(data: bytes) -> tuple[str, str]:
    found = {place: value for place, value in _fields(data) if isinstance(value, bytes)}
    return _text(found.get(1, b"")), _text(found.get(2, b""))


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise BadFrame("a text that is not UTF-8") from None
