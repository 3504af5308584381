"""Rows of history nodes. Written once, never changed."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import asdict

from clew.model import history
from clew.model.history import Content, Node
from clew.store.base import Row, Tx
from clew.store.rows import Rows
from clew.store.tables import threads
from clew.support.errors import StoreError
from clew.texts.catalogue import say


class _NodeRow(Struct):
    hash: str
    type: str
    prev: str | None
    content: str


def append(tx: Tx, thread: str, head: str | None, content: Content) -> str:
    """Add to a thread's history. `head` must be its newest node; returns the new one."""
    node = history.make(content, head)
    insert(tx, node)
    if not threads.move_head(tx, thread, head, node.hash):
        raise StoreError(say("daemon.changed_meanwhile", thread=thread))
    return node.hash


def insert(tx: Tx, node: Node) -> None:
    tx.run(
        "INSERT INTO nodes (hash, type, prev, content) VALUES (?, ?, ?, ?)",
        node.hash,
        node.type,
        node.prev,
        node.content,
    )


def get(tx: Tx, digest: str) -> Node | None:
    row = tx.one("SELECT hash, type, prev, content FROM nodes WHERE hash = ?", digest)
    return ROWS.one(tx, row)


def content(tx: Tx, node: Node) -> Content:
    """What the node says. Raises UnreadableRow."""
    return history.read(CONTENTS.read(tx, asdict(node)))


def back_from(tx: Tx, head: str | None, limit: int) -> list[Node]:
    """The newest `limit` nodes up to `head`, newest first."""
    rows = tx.all(
        "WITH RECURSIVE walk (hash, type, prev, content, depth) AS ("
        " SELECT hash, type, prev, content, 1 FROM nodes WHERE hash = ?"
        " UNION ALL"
        " SELECT n.hash, n.type, n.prev, n.content, walk.depth + 1 FROM walk JOIN nodes n ON n.hash = walk.prev"
        " WHERE walk.depth < ?"
        ") SELECT hash, type, prev, content FROM walk ORDER BY depth",
        head,
        limit,
    )
    return ROWS.all(tx, rows)


def _node(row: Row) -> Node:
    return Node(row["hash"], row["type"], row["prev"], row["content"])


def _checked(row: Row) -> Node:
    node = _node(row)
    history.read(node)
    return node


ROWS = Rows("nodes", _NodeRow, _node, key=("hash",), live=())  # work waits for none of them
CONTENTS = Rows("nodes", _NodeRow, _checked, key=("hash",), live=())
