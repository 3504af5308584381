"""Rows of gates. Every change of state is a compare-and-set, so of two answers only one counts."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from clew.model.gates import Answer, Asked, Gate, GateState, Question
from clew.model.messages import Conversation
from clew.store.base import Row, Tx
from clew.store.rows import RUNNING, Count, Moment, Rows
from clew.store.texts import loaded, stored
from clew.support.coded import Coded, coded_in, plain, with_code
from clew.texts.former_words import subjects


class _GateRow(Struct):
    id: str
    code: str
    thread: str
    turn: str
    ref: str
    asked: str
    state: GateState
    warning: str
    answer: str | None
    answered_by: str | None
    why: str
    card: str | None
    surface: str | None
    address: str | None
    carried: Count
    reminded: Count
    asked_at: Moment
    answered_at: Moment | None
    sent_at: Moment | None
    closed_at: Moment | None
    whole_in: Count
    offer: str | None
    choice_order: Count


_COLUMNS = ", ".join(_GateRow.__struct_fields__)


class _Texts(Struct):
    """The codes of the sentences of clew in a request, beside the request."""

    texts: dict[str, Coded] = field(default_factory=dict)


_asked = msgspec.json.Decoder(Asked).decode
_texts = msgspec.json.Decoder(_Texts).decode
_answer = msgspec.json.Decoder(Answer).decode
_SENTENCES = ("title", "detail", "reason", "asker")  # of a request: clew may say them
_CHAIN = 32  # how far back a turn's continuations are followed


def insert(tx: Tx, gate: Gate) -> None:
    where = gate.where
    tx.run(
        f"INSERT INTO gates ({_COLUMNS}, subject)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        gate.id,
        gate.code,
        gate.thread,
        gate.turn,
        gate.ref,
        _encoded_request(gate.asked),
        gate.state,
        stored(gate.warning),
        _encoded(gate.answer),
        stored(gate.answered_by),
        stored(gate.why),
        gate.card,
        where.surface if where else None,
        where.address if where else None,
        int(gate.carried),
        int(gate.reminded),
        gate.asked_at,
        gate.answered_at,
        gate.sent_at,
        gate.closed_at,
        gate.whole_in,
        gate.offer,
        gate.choice_order,
        _digest(gate.asked.subject),
    )


def get(tx: Tx, gate: str) -> Gate | None:
    return ROWS.one(tx, tx.one(f"SELECT {_COLUMNS} FROM gates WHERE id = ?", gate))


def by_ref(tx: Tx, ref: str) -> Gate | None:
    return ROWS.one(tx, tx.one(f"SELECT {_COLUMNS} FROM gates WHERE ref = ?", ref))


def by_code(tx: Tx, code: str) -> Gate | None:
    """The newest gate with this code. That is the open one, if there is one: codes are not reused soon."""
    return ROWS.one(
        tx, tx.one(f"SELECT {_COLUMNS} FROM gates WHERE code = ? ORDER BY asked_at DESC, id DESC LIMIT 1", code)
    )


def is_taken(tx: Tx, code: str, since: int) -> bool:
    """Whether a code is in use, or was used after `since`."""
    row = tx.one(
        "SELECT 1 FROM gates WHERE code = ? AND (asked_at > ? OR state IN ('open', 'answered')) LIMIT 1", code, since
    )
    return row is not None


def matching(tx: Tx, prefix: str) -> list[Gate]:
    """Gates whose id begins with `prefix`, at most two: enough to know whether it is unique."""
    sql = f"SELECT {_COLUMNS} FROM gates WHERE id >= ? AND id < ? ORDER BY id LIMIT 2"
    return ROWS.readable(tx, tx.all(sql, prefix, prefix + "~"))


def all_open(tx: Tx, limit: int = 1000) -> list[Gate]:
    """All open gates, oldest first."""
    sql = f"SELECT {_COLUMNS} FROM gates WHERE state = 'open' ORDER BY asked_at, id LIMIT ?"
    return ROWS.readable(tx, tx.all(sql, limit))


def open_codes(tx: Tx) -> dict[str, tuple[str, ...]]:
    """The codes of open gates, by thread. Cost grows with open gates only."""
    found: dict[str, tuple[str, ...]] = {}
    for row in tx.all("SELECT thread, code FROM gates WHERE state = 'open' ORDER BY asked_at, id"):
        found[row["thread"]] = (*found.get(row["thread"], ()), row["code"])
    return found


def count_open(tx: Tx) -> int:
    row = tx.one("SELECT count(*) AS n FROM gates WHERE state = 'open'")
    return int(row["n"]) if row else 0


def open_at(tx: Tx, where: Conversation) -> list[Gate]:
    """Open gates that are shown in a conversation, of any thread. Cost grows with open gates only."""
    sql = f"SELECT {_COLUMNS} FROM gates WHERE state = 'open' AND surface = ? AND address = ? ORDER BY asked_at, id"
    return ROWS.readable(tx, tx.all(sql, where.surface, where.address))


def settled_in(tx: Tx, thread: str, since: int) -> list[Gate]:
    """Gates of a thread that people were asked about and that were answered or closed at `since` or later."""
    sql = (
        f"SELECT {_COLUMNS} FROM gates WHERE thread = ? AND state != 'open' AND card IS NOT NULL"
        " AND coalesce(answered_at, closed_at) >= ? ORDER BY id"
    )
    return ROWS.all(tx, tx.all(sql, thread, since))


def settled_at(tx: Tx, where: Conversation, since: int) -> list[Gate]:
    """The same for gates that were shown in a conversation. A gate is answered some time before it is closed: the
    runtime has to take the answer. Cost grows with the turns that are live and the gates closed since then."""
    live = "SELECT id FROM turns WHERE state IN ('running', 'waiting')"
    shown = "surface = ? AND address = ? AND card IS NOT NULL"
    sql = (
        f"SELECT {_COLUMNS} FROM gates WHERE closed_at >= ? AND {shown} AND coalesce(answered_at, closed_at) >= ?"
        f" UNION ALL SELECT {_COLUMNS} FROM gates WHERE turn IN ({live}) AND state = 'answered' AND {shown}"
        " AND answered_at >= ?"
    )
    place = (where.surface, where.address)
    found = ROWS.readable(tx, tx.all(sql, since, *place, since, *place, since))
    return sorted(found, key=lambda gate: gate.id)


def open_in(tx: Tx, thread: str) -> list[Gate]:
    sql = f"SELECT {_COLUMNS} FROM gates WHERE thread = ? AND state = 'open' ORDER BY asked_at, id"
    return ROWS.all(tx, tx.all(sql, thread))


def of_thread(tx: Tx, thread: str, limit: int) -> list[Gate]:
    """Gates of a thread in any state, newest first."""
    sql = f"SELECT {_COLUMNS} FROM gates WHERE thread = ? ORDER BY id DESC LIMIT ?"
    return ROWS.all(tx, tx.all(sql, thread, limit))


def of_turn(tx: Tx, turn: str) -> list[Gate]:
    return ROWS.all(tx, tx.all(f"SELECT {_COLUMNS} FROM gates WHERE turn = ? ORDER BY id", turn))


def waits_of_turn(tx: Tx, turn: str, now: int) -> list[tuple[int, int]]:
    """When a turn waited at its gates: from the question until the answer was sent, or the gate was closed."""
    until = "coalesce(sent_at, closed_at, ?)"
    sql = f"SELECT asked_at, {until} AS until FROM gates WHERE turn = ? AND asked NOT LIKE '%\"blocking\":false%'"
    rows = tx.all(sql, now, turn)
    spans = ((row["asked_at"], row["until"]) for row in rows)
    return [(since, until) for since, until in spans if isinstance(since, int) and isinstance(until, int)]


def unsettled(tx: Tx, turn: str) -> list[Gate]:
    """Gates of a turn that are open, or have an answer that the runtime has not taken."""
    sql = (
        f"SELECT {_COLUMNS} FROM gates WHERE turn = ?"
        " AND (state IN ('open', 'answered') OR (state = 'expired' AND sent_at IS NULL)) ORDER BY id"
    )
    return ROWS.all(tx, tx.all(sql, turn))


def all_rows(tx: Tx) -> list[Gate]:
    """For audits and tests."""
    return ROWS.readable(tx, tx.all(f"SELECT {_COLUMNS} FROM gates ORDER BY id"))


def on_card(tx: Tx, card: str) -> list[Gate]:
    return ROWS.all(tx, tx.all(f"SELECT {_COLUMNS} FROM gates WHERE card = ? ORDER BY id", card))


def same_request(tx: Tx, turn: str, asked: Asked) -> list[Gate]:
    """Earlier gates with the same subject, newest first: void ones of this turn or of the turns it continues, and of
    those also the ones whose answer the runtime took before it was cut off."""
    known = subjects(asked)
    sql = (
        "WITH RECURSIVE before (id, continues, depth) AS ("
        " SELECT id, continues, 0 FROM turns WHERE id = ?"
        " UNION ALL SELECT t.id, t.continues, b.depth + 1 FROM turns t JOIN before b ON t.id = b.continues"
        " WHERE b.depth < ?)"
        f" SELECT {_COLUMNS} FROM gates WHERE turn IN (SELECT id FROM before)"
        f" AND subject IN ({', '.join('?' for _ in known)})"
        " AND (state = 'void' OR (state = 'taken' AND turn != ?)) ORDER BY id DESC"
    )
    return ROWS.all(tx, tx.all(sql, turn, _CHAIN, *map(_digest, known), turn))


def answer(tx: Tx, gate: Gate, given: Answer, by: str, at: int) -> bool:
    """Record an answer. False if the gate is not open: the first answer counts."""
    return _moved(
        tx,
        gate,
        GateState.OPEN,
        "state = 'answered', answer = ?, answered_by = ?, answered_at = ?",
        _encoded(given),
        stored(by),
        at,
    )


def mark_sending(tx: Tx, gate: Gate, at: int) -> bool:
    """Record that the answer is about to be sent to the runtime, at most once."""
    sql = "UPDATE gates SET sent_at = ? WHERE id = ? AND state IN ('answered', 'expired') AND sent_at IS NULL"
    return tx.run(sql, at, gate.id) == 1


def mark_taken(tx: Tx, gate: Gate, at: int) -> bool:
    return _moved(tx, gate, GateState.ANSWERED, "state = 'taken', closed_at = ?", at)


def void(tx: Tx, gate: Gate, why: str, at: int, *, carried: bool) -> bool:
    """The gate can no longer be answered. `carried`: its unsent answer is used if the same request comes again."""
    return _moved(
        tx, gate, gate.state, "state = 'void', why = ?, closed_at = ?, carried = ?", stored(why), at, int(carried)
    )


def expire(tx: Tx, gate: Gate, at: int) -> bool:
    return _moved(tx, gate, GateState.OPEN, "state = 'expired', closed_at = ?", at)


def unsend(tx: Tx, gate: Gate) -> bool:
    """Its answer was sent and did not arrive: let it be sent again."""
    sql = "UPDATE gates SET sent_at = NULL WHERE id = ? AND state IN ('answered', 'expired')"
    return tx.run(sql, gate.id) == 1


def reopen(tx: Tx, gate: Gate, warning: str, at: int) -> bool:
    """Its answer had no effect: ask again, with a new time."""
    undone = (
        "state = 'open', answer = NULL, answered_by = NULL, answered_at = NULL, sent_at = NULL, warning = ?,"
        " asked_at = ?, reminded = 0"
    )
    return _moved(tx, gate, GateState.ANSWERED, undone, stored(warning), at)


def forget_carried(tx: Tx, thread: str) -> None:
    """Drop the carried answers of a thread: a newer message may have changed what the person wants."""
    tx.run("UPDATE gates SET carried = 0 WHERE thread = ? AND carried = 1", thread)


def use_carried(tx: Tx, gate: Gate) -> bool:
    """Use a carried answer. False if it was used already."""
    return tx.run("UPDATE gates SET carried = 0 WHERE id = ? AND carried = 1", gate.id) == 1


def rename(tx: Tx, gate: Gate, ref: str) -> None:
    tx.run("UPDATE gates SET ref = ? WHERE id = ?", ref, gate.id)


def mark_reminded(tx: Tx, gate: Gate) -> bool:
    return tx.run("UPDATE gates SET reminded = 1 WHERE id = ? AND state = 'open' AND reminded = 0", gate.id) == 1


def set_card(tx: Tx, gate: str, card: str, where: Conversation, whole_in: int) -> None:
    sql = "UPDATE gates SET card = ?, surface = ?, address = ?, whole_in = ? WHERE id = ?"
    tx.run(sql, card, where.surface, where.address, whole_in, gate)


def mark_incomplete(tx: Tx, gate: str) -> None:
    """Record that no conversation shows the gate completely (any more)."""
    tx.run("UPDATE gates SET whole_in = 0 WHERE id = ?", gate)


def forget_card(tx: Tx, gate: str) -> None:
    """The gate will be shown in another conversation."""
    tx.run("UPDATE gates SET card = NULL, surface = NULL, address = NULL, whole_in = 0 WHERE id = ?", gate)


def _moved(tx: Tx, gate: Gate, state: GateState, assignment: str, *params: Any) -> bool:
    return tx.run(f"UPDATE gates SET {assignment} WHERE id = ? AND state = ?", *params, gate.id, state) == 1


def _encoded_request(asked: Asked) -> str:
    request, texts = replace(asked, unjudged=stored(asked.unjudged)), _texts_in(asked)
    row = {**msgspec.to_builtins(request, enc_hook=plain), "texts": texts} if texts else request
    return msgspec.json.encode(row, enc_hook=plain).decode()


def _texts_in(asked: Asked) -> dict[str, Coded]:
    """`unjudged` is stored in another way."""
    texts: dict[str, object] = {name: getattr(asked, name) for name in _SENTENCES}
    for number, question in enumerate(asked.questions):
        texts[f"questions.{number}"] = question.text
        texts.update({f"questions.{number}.{place}": option for place, option in enumerate(question.options)})
    return coded_in(**texts)


def _loaded_request(value: str) -> Asked:
    asked = _asked(value)
    if asked.unjudged:
        asked = replace(asked, unjudged=loaded(asked.unjudged))
    texts = _texts(value).texts
    return _with_texts(asked, texts) if texts else asked


def _with_texts(asked: Asked, texts: dict[str, Coded]) -> Asked:
    """The words stay those that were stored: a yes counts for them."""
    said = {name: with_code(getattr(asked, name), texts.get(name)) for name in _SENTENCES}
    questions = (_question_with(each, f"questions.{number}", texts) for number, each in enumerate(asked.questions))
    return replace(asked, **said, questions=tuple(questions))


def _question_with(question: Question, name: str, texts: dict[str, Coded]) -> Question:
    options = (with_code(each, texts.get(f"{name}.{place}")) for place, each in enumerate(question.options))
    return replace(question, text=with_code(question.text, texts.get(name)), options=tuple(options))


def _digest(subject: str) -> str:
    return hashlib.sha256(subject.encode(errors="replace")).hexdigest()


def _encoded(answer: Answer | None) -> str | None:
    return msgspec.json.encode(answer, enc_hook=plain).decode() if answer else None


def _gate(row: Row) -> Gate:
    return Gate(
        id=row["id"],
        code=row["code"],
        thread=row["thread"],
        turn=row["turn"],
        ref=row["ref"],
        asked=_loaded_request(row["asked"]),
        state=GateState(row["state"]),
        asked_at=row["asked_at"],
        warning=loaded(row["warning"]),
        answer=_answer(row["answer"]) if row["answer"] else None,
        answered_by=loaded(row["answered_by"]),
        answered_at=row["answered_at"],
        sent_at=row["sent_at"],
        closed_at=row["closed_at"],
        why=loaded(row["why"]),
        card=row["card"],
        where=Conversation(row["surface"], row["address"]) if row["surface"] else None,
        carried=bool(row["carried"]),
        reminded=bool(row["reminded"]),
        whole_in=row["whole_in"],
        offer=row["offer"],
        choice_order=row["choice_order"],
    )


ROWS = Rows(
    "gates",
    _GateRow,
    _gate,
    live=(
        "id IN (SELECT id FROM gates WHERE state = 'open')",
        f"id IN (SELECT id FROM gates WHERE state = 'answered' AND turn IN ({RUNNING}))",
    ),
)
