"""History: immutable, content-addressed nodes, each naming its predecessor. A thread's head is its newest node.

The hash covers the type, the content and the predecessor. Content always names its thread or turn and its time, so two
threads with the same messages have different nodes; only a fork shares nodes, on purpose.
"""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec
from msgspec import Struct

from clew.model.messages import Attachment
from clew.model.turns import Problem, Usage
from clew.support.coded import Coded, with_code


class Started(Struct, frozen=True):
    """The first node of a thread."""

    type: ClassVar[str] = "started"
    thread: str
    at: int
    kind: str
    runtime: str
    workspace: str
    adopted: str | None = None  # the runtime's id of the session that was adopted as this thread


class Forked(Struct, frozen=True):
    """The first node of a fork. Its predecessor is the node from which the thread was forked."""

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
    outside: bool | None = None  # True: it was written in the runtime's own program, without clew


class Deed(Struct, frozen=True):
    """One step of a turn before its answer: an activity, or a text."""

    kind: str
    title: str
    body: str = ""
    outcome: str | None = None
    exit_code: int | None = None
    folder: str | None = None
    said: Coded | None = None  # the title, if it is a sentence of clew; None: of the agent, or of an older version
    parent: int | None = None  # the deed that began the sub-agent that did it, by its place among the deeds

    @property
    def text(self) -> str:
        """The title, with its code if it has one."""
        return with_code(self.title, self.said)


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
    attempts: tuple[str, ...] = ()  # hashes of earlier attempts
    outside: bool | None = None  # True: the turn ran in the runtime's own program, without clew
    stopped_by: str | None = None  # the person who stopped it


class Switched(Struct, frozen=True):
    """From the next turn on, another agent works on the thread."""

    type: ClassVar[str] = "switched"
    thread: str
    at: int
    former: str  # the runtime until then
    runtime: str
    by: str
    why: str | None = None  # a code; None: a person wanted it


class Opinion(Struct, frozen=True):
    """What another agent answered when it was asked about the thread. It worked on a fork."""

    type: ClassVar[str] = "opinion"
    turn: str  # of the fork
    at: int
    thread: str  # the fork
    runtime: str
    by: str  # who asked
    question: str
    text: str


Content = Started | Forked | Spoken | Outcome | Switched | Opinion
_KINDS: tuple[type[Content], ...] = (Started, Forked, Spoken, Outcome, Switched, Opinion)
_TYPES: dict[str, type[Content]] = {kind.type: kind for kind in _KINDS}


class Node(Struct, frozen=True):
    hash: str
    type: str
    prev: str | None
    content: str


def make(content: Content, prev: str | None) -> Node:
    text = msgspec.json.encode(_set_fields(content), order="sorted").decode()
    return Node(digest(content.type, text, prev), content.type, prev, text)


def digest(kind: str, content: str, prev: str | None) -> str:
    import hashlib  # clients import the nouns of this module, and hash nothing

    return hashlib.sha256(f"{kind}\n{prev or '-'}\n{content}".encode()).hexdigest()


def is_sound(node: Node) -> bool:
    """Whether the node's hash matches its content."""
    return digest(node.type, node.content, node.prev) == node.hash


def read(node: Node) -> Content:
    """Parse a node's content. Raises ValueError if the node is damaged."""
    kind = _TYPES.get(node.type)
    if kind is None:
        raise ValueError(f"node {node.hash} has the unknown type {node.type!r}")
    return msgspec.json.decode(node.content, type=kind)


def _set_fields(content: Content) -> dict[str, Any]:
    """The fields that are set. Empty ones are left out, so that a new field does not change the hash of old content."""
    values = ((name, getattr(content, name)) for name in content.__struct_fields__)
    return {name: value for name, value in values if value is not None and value != ()}
