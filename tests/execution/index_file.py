"""Writes git index files byte by byte, also invalid ones that git would never write."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence
from dataclasses import dataclass

GITLINK, FILE = 0o160000, 0o100644
NOBODY = bytes([17]) * 20  # the hash of no object


@dataclass(frozen=True)
class Entry:
    """One entry. In version 4, `dropped` is the length to drop from the previous name."""

    name: bytes
    mode: int = FILE
    hash: bytes = NOBODY
    dropped: int | None = None
    length: int = 0  # as its flags have it, if not that of the name

    def written(self) -> bytes:
        length = self.length or min(len(self.name), 0xFFF)
        head = struct.pack(">24xI12x", self.mode) + self.hash + struct.pack(">H", length)
        if self.dropped is not None:
            return head + bytes([self.dropped]) + self.name + b"\0"
        return head + self.name + b"\0" * (8 - (len(head) + len(self.name)) % 8)


def index_file(entries: Sequence[Entry], extensions: bytes = b"", version: int = 2) -> bytes:
    body = struct.pack(">4sII", b"DIRC", version, len(entries)) + b"".join(each.written() for each in entries)
    return signed(body + extensions)


def signed(body: bytes) -> bytes:
    return body + hashlib.sha1(body, usedforsecurity=False).digest()


def extension(kind: bytes, content: bytes) -> bytes:
    return kind + struct.pack(">I", len(content)) + content


def with_hidden_table(hidden: Entry, entries: Sequence[Entry]) -> bytes:
    """Git reads several blocks of entries in parallel, by a table after them; one block is inside an unknown extension,
    in place of the last entry."""
    plain = len(index_file(entries)) - 20
    last = 12 + sum(len(each.written()) for each in entries[:-1])
    assert last > 12
    table = struct.pack(">IIIII", 1, 12, len(entries) - 1, plain + 8 + 20 + 8, 1)
    parts = [(b"IEOT", table), (b"HIDE", hidden.written())]
    heads = b"".join(kind + struct.pack(">I", len(content)) for kind, content in parts)
    end = struct.pack(">I", plain) + hashlib.sha1(heads, usedforsecurity=False).digest()
    return index_file(entries, b"".join(extension(*each) for each in (*parts, (b"EOIE", end))))


def with_hidden_name(hidden: Entry, first: Entry) -> bytes:
    """In version 4 git trusts the length of a name, although a NUL comes earlier: the first name contains what looks
    like a second entry, and another one follows it."""
    decoy = Entry(b"decoy", hash=first.hash, dropped=len(first.name))
    long = Entry(first.name + b"\0" + decoy.written()[:-1], hash=first.hash, dropped=0)
    entry = Entry(hidden.name, hidden.mode, hidden.hash, dropped=len(long.name))
    return index_file([long, entry], version=4)
