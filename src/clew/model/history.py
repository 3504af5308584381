"""History: immutable, content-addressed nodes, each naming its predecessor. A thread's head is the newest.

The hash covers the type, the content and the predecessor. Content always names its thread or turn and its time, so two
equal beginnings are two nodes; only a fork shares nodes, on purpose.
"""

from __future__ import annotations

import hashlib
from typing import Any, ClassVar

import msgspec
from msgspec import Struct

from clew.model.messages import Attachment
from clew.model.turns import Problem, Usage


class Started(Struct, frozen=True):
    """A thread begins."""

    type: ClassVar[str] = "started"
    thread: str
    at: int
    kind: str
    runtime: str
    workspace: str
    adopted: str | None = None  # the runtime's id of the session that it was taken over from


class Forked(Struct, frozen=True):
    """A thread begins where another one stood. Its predecessor is that place."""

    type: ClassVar[str] = "forked"
    thread: str
    at: int
    source: str


class Spoken(Struct, frozen=True):
    """A person's message, as it was given to the runtime."""

    type: ClassVar[str] = "spoken"
    turn: str
    at: int
    id: str
    author: str
    text: str
    attachments: tuple[Attachment, ...] = ()
    steer: bool = False
    outside: bool | None = None  # True: it was said in the runtime's own program, without clew


class Deed(Struct, frozen=True):
    """A part of what a turn did or said before its answer."""

    kind: str
    title: str
    body: str = ""
    outcome: str | None = None
    exit_code: int | None = None
    folder: str | None = None


class Outcome(Struct, frozen=True):
    """The end of a turn. The fields from `role` to `attempts` are for the steps of a workflow."""

    type: ClassVar[str] = "outcome"
    turn: str
    at: int
    state: str
    runtime: str
    text: str
    deeds: tuple[Deed, ...] = ()
    problem: Problem | None = None
    usage: Usage | None = None
    role: str | None = None
    edge_prompt: str | None = None
    output: str | None = None
    assembled_prompt: str | None = None  # hash of a node
    attempts: tuple[str, ...] = ()  # hashes of earlier tries
    outside: bool | None = None  # True: the turn ran in the runtime's own program, without clew


Content = Started | Forked | Spoken | Outcome
_TYPES: dict[str, type[Content]] = {kind.type: kind for kind in (Started, Forked, Spoken, Outcome)}


class Node(Struct, frozen=True):
    hash: str
    type: str
    prev: str | None
    content: str


def make(content: Content, prev: str | None) -> Node:
    text = msgspec.json.encode(_lean(content), order="sorted").decode()
    return Node(digest(content.type, text, prev), content.type, prev, text)


def digest(kind: str, content: str, prev: str | None) -> str:
    return hashlib.sha256(f"{kind}\n{prev or '-'}\n{content}".encode()).hexdigest()


def is_sound(node: Node) -> bool:
    return digest(node.type, node.content, node.prev) == node.hash


def read(node: Node) -> Content:
    """Raises ValueError where the node is damaged."""
    kind = _TYPES.get(node.type)
    if kind is None:
        raise ValueError(f"node {node.hash} is of the unknown type {node.type!r}")
    return msgspec.json.decode(node.content, type=kind)


def _lean(content: Content) -> dict[str, Any]:
    """Without what is empty, so that a field added later does not change the hash of what has none of it."""
    values = ((name, getattr(content, name)) for name in content.__struct_fields__)
    return {name: value for name, value in values if value is not None and value != ()}
