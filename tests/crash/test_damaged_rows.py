"""A row that no version can read costs its own thread only: a real daemon starts on it, another thread's turn runs, its
gate opens and is answered, and its answer is delivered. `clew repair` sets the row aside, unless it is history or a
newer version may have written it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.helpers.daemons import SCRIPTED, Clew
from tests.helpers.receivers import Receiver

pytestmark = pytest.mark.process

HOOK = '{}[http]\nport = 0\n[surfaces.webhook.hook]\nsecret = "sixteen letters."\nurl = "{}"\n'
BAD_TEXT = "CAST(x'ff00fe' AS TEXT)"  # no UTF-8
RULE = (
    "INSERT INTO rules (id, effect, kind, pattern, scope, place, created_at, created_by)"
    " VALUES ('01BADRULE', 'deny', 'command', 'x', 'everywhere', '', 1, 'ann')"
)
STEER = (
    "INSERT INTO steers (surface, address, message_id, turn, thread, message, state, seq)"
    " SELECT 'cli', '', 'm', id, thread, '{', 'offered', 1 FROM turns WHERE state = 'waiting'"
)
PERSON = "INSERT INTO people VALUES ('hook', 'bob', 'Bob', 'emperor', 0, 'ann')"
HANDOFF = (
    "INSERT INTO handoffs (id, thread, surface, state, asked_by, say, quiet, requested_at, expires_at)"
    " SELECT '01BADHANDOFF', id, 'webhook', 'pending', 'ann', '', 0, 1, 'soon' FROM threads"
)
DAMAGE = {
    "a queued turn with bad JSON": ("turns", "UPDATE turns SET request = '[{' WHERE state = 'queued'"),
    "a running turn with bad JSON": ("turns", "UPDATE turns SET request = '{}' WHERE state = 'waiting'"),
    "a turn of unknown state": ("turns", "UPDATE turns SET state = 'dreaming' WHERE state = 'waiting'"),
    "a turn of unknown origin": ("turns", "UPDATE turns SET origin = 'mars' WHERE state != 'completed'"),
    "a turn with a text as time": ("turns", "UPDATE turns SET queued_at = 'soon' WHERE state != 'completed'"),
    "a turn with a huge number": ("turns", "UPDATE turns SET queued_at = 9223372036854775807"),
    "a turn that is no text": ("turns", f"UPDATE turns SET request = {BAD_TEXT} WHERE state != 'completed'"),
    "a gate with bad JSON": ("gates", "UPDATE gates SET asked = 'null'"),
    "a gate of unknown state": ("gates", "UPDATE gates SET state = 'ajar'"),
    "a gate with a huge time": ("gates", "UPDATE gates SET asked_at = 9223372036854775807"),
    "a gate that is no text": ("gates", f"UPDATE gates SET asked = {BAD_TEXT}"),
    "a delivery of unknown kind": ("deliveries", "UPDATE deliveries SET kind = 'pigeon', state = 'pending'"),
    "a delivery with bad JSON": ("deliveries", "UPDATE deliveries SET buttons = '[1]', state = 'pending'"),
    "a delivery with a text as time": ("deliveries", "UPDATE deliveries SET created_at = 'x', state = 'pending'"),
    "a delivery that is a blob": ("deliveries", "UPDATE deliveries SET body = x'00ff', state = 'pending'"),
    "a delivery that is no text": ("deliveries", f"UPDATE deliveries SET body = {BAD_TEXT}, state = 'pending'"),
    "a rule of unknown effect": ("rules", f"{RULE}; UPDATE rules SET effect = 'perhaps'"),
    "a rule of unknown scope": ("rules", f"{RULE}; UPDATE rules SET scope = 'moon'"),
    "a rule with a text as time": ("rules", f"{RULE}; UPDATE rules SET until = 'never'"),
    "a thread of unknown status": ("threads", "UPDATE threads SET status = 'lost'"),
    "a thread of unknown policy": ("threads", "UPDATE threads SET policy = 'kind'"),
    "a thread with a blob as title": ("threads", "UPDATE threads SET title = x'00ff'"),
    "a thread that is no text": ("threads", f"UPDATE threads SET title = {BAD_TEXT}"),
    "a binding to a blob": (
        "bindings",
        "INSERT INTO bindings VALUES ('webhook', 'hook/x', x'00ff', 'then', 1)",
    ),
    "a message with a text as time": ("inbox", "UPDATE inbox SET received_at = 'then'"),
    "a message of unknown fate": ("inbox", "UPDATE inbox SET fate = 'limbo'"),
    "a steer with bad JSON": ("steers", STEER),
    "an item with a text as position": ("items", "UPDATE items SET position = 'first'"),
    "an item that is a blob": ("items", "UPDATE items SET title = x'00ff'"),
    "a handoff with a text as time": ("handoffs", HANDOFF),
    "a handoff of unknown state": ("handoffs", f"{HANDOFF}; UPDATE handoffs SET state = 'midair', expires_at = 1"),
    "a session of unknown beginning": ("continuity", "UPDATE continuity SET began = 'bang'"),
    "a session that is a blob": ("continuity", "UPDATE continuity SET data = x'00ff'"),
    "a person of unknown role": ("people", PERSON),
    "a person with a text as time": ("people", f"{PERSON}; UPDATE people SET role = 'driver', added_at = 'then'"),
    "a node with bad JSON": ("nodes", "UPDATE nodes SET content = '{'"),
    "a node of unknown type": ("nodes", "UPDATE nodes SET type = 'dream'"),
    "an entry of the log with bad JSON": ("log", "UPDATE log SET data = '{'"),
    "an entry of the log with a text as time": ("log", "UPDATE log SET at = 'then'"),
}
LATE = frozenset({"inbox", "nodes", "log", "bindings"})  # no work waits for them: they are read when they are needed
SOME = ("a rule with a text as time", "a turn of unknown state", "a delivery that is no text")  # the others with --all
REST = sorted({*DAMAGE} - {*SOME})


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver


@pytest.fixture
def clew(tmp_path: Path, receiver: Receiver) -> Iterator[Clew]:
    """A thread waits at a gate with a message behind it, and its daemon was killed."""
    with Clew(tmp_path / "home", HOOK.format(SCRIPTED, receiver.url)) as clew:
        clew.up()
        first = clew.json("start", "!approve make alpha\n!text omega", "--notify", "webhook:hook")
        clew.wait_for(first["thread"], "gate.opened")
        clew("send", first["thread"], "!text behind", "--queue")
        receiver.wait_for(1)
        clew.kill_for_good()
        yield clew


def damage(clew: Clew, sql: str) -> None:
    with closing(sqlite3.connect(clew.home.database)) as raw:
        raw.executescript(sql)


def works(clew: Clew, receiver: Receiver, word: str) -> None:
    """Another thread's turn runs, its gate opens and is answered, and its answer is delivered."""
    other = clew.json("start", f"!approve make {word}\n!text {word} done", "--notify", "webhook:hook")
    opened = clew.wait_for(other["thread"], "gate.opened")
    clew("approve", opened.data["data"]["code"])
    assert clew.wait_ended(other)["state"] == "completed"
    clew.wait_for(other["thread"], "delivery.sent", delivery=f"{other['turn']}:final")
    texts = {each.id: each.json["text"] for each in receiver.deliveries}
    assert texts[f"{other['turn']}:final"] == f"{word} done"
    assert other["thread"] in {thread["id"] for thread in clew.json("threads", "--history")}


def survives(clew: Clew, receiver: Receiver, tables: set[str], stay: set[str]) -> None:
    """Everything else works beside the damaged rows; they are named; and they can be set aside, except in the tables
    `stay`."""
    named_early, code = tables - LATE - stay, 1 if stay else 0
    [rows] = [each for each in clew.run("doctor", "--json").json if each["check"] == "rows"]
    clew.up()
    works(clew, receiver, "beta")
    named = {row["table"] for row in clew.json("status")["damaged"]}
    assert named >= named_early and not (named_early and rows["ok"]), (named, rows)
    assert all(f"of table {table} cannot be read" in clew.logs() for table in named_early)
    shown = clew.json("repair", code=1)
    assert {row["table"] for row in shown["damaged"]} >= tables and shown["set_aside"] == []
    done = clew.json("repair", "--apply", code=code)
    assert {row["table"] for row in done["set_aside"]} >= tables - stay
    assert {row["table"] for row in clew.json("repair", code=code)["damaged"]} == stay
    assert {row["table"] for row in clew.json("status")["damaged"]} <= stay
    clew("restart", "--grace", "0")
    works(clew, receiver, "gamma")
    with closing(sqlite3.connect(clew.home.database)) as raw:
        kept = {source for (source,) in raw.execute("SELECT source FROM set_aside")}
    assert kept >= tables - stay


@pytest.mark.parametrize("name", SOME)
def test_a_damaged_row_costs_its_own_thread_only(clew: Clew, receiver: Receiver, name: str) -> None:
    table, sql = DAMAGE[name]
    damage(clew, sql)
    survives(clew, receiver, {table}, {table} if "unknown" in name or table == "nodes" else set())


@pytest.mark.heavy
@pytest.mark.parametrize("name", REST)
def test_any_damaged_row_costs_its_own_thread_only(clew: Clew, receiver: Receiver, name: str) -> None:
    table, sql = DAMAGE[name]
    damage(clew, sql)
    survives(clew, receiver, {table}, {table} if "unknown" in name or table == "nodes" else set())


def test_a_damaged_row_in_every_table_costs_its_own_thread_only(clew: Clew, receiver: Receiver) -> None:
    plain = [damaged for name, damaged in DAMAGE.items() if "unknown" not in name]
    one_each = {table: sql for table, sql in plain if "state = 'waiting'" not in sql or table == "steers"}
    damage(clew, "; ".join(one_each.values()))
    survives(clew, receiver, {*one_each}, {"nodes"})


def test_damaged_rows_are_set_aside_without_a_daemon(clew: Clew, receiver: Receiver) -> None:
    damage(clew, DAMAGE["a gate with bad JSON"][1])
    shown = clew.run("repair")
    assert shown.code == 1 and "gates" in shown.out and shown.err == "clew repair --apply sets them aside\n"
    assert "\n1 row was set aside" in clew("repair", "--apply")
    assert clew("repair") == "all rows can be read\n" and not clew.alive()
    clew.up()
    works(clew, receiver, "beta")


def test_a_rule_that_cannot_be_read_makes_every_request_ask(clew: Clew, receiver: Receiver) -> None:
    """It may have been a deny, so nothing is allowed by a rule or a policy."""
    damage(clew, DAMAGE["a rule of unknown effect"][1])
    clew.up()
    other = clew.json("start", "!approve make beta\n!text done", "--policy", "yolo")
    opened = clew.wait_for(other["thread"], "gate.opened")
    clew("deny", opened.data["data"]["code"])
    assert clew.wait_ended(other)["state"] == "completed"
