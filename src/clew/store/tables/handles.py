"""Handles of threads: short ASCII names made from the title, such as `flaky-retry-2`. A handle never changes, and is
never used for a second thread. A part of the title, or the end of the id, names a thread too."""

from __future__ import annotations

import re
import unicodedata

from clew.store.base import Tx
from clew.store.rows import Among, literal, within

MOST_WORDS = 3
LONGEST = 24  # characters of a handle before its number
RESERVED = frozenset({"last"})  # what people type for the newest thread
_FILLER = (  # words that tell nothing
    " a an and are at be can could do does for from has have how i in is it its me my of on or our please so that the"
    " then there this to us was we what when where which why will with would you your "
)


def slug_of(title: str) -> str:
    """The words of a title that tell it from others; empty if it has none in ASCII, or is not written in it."""
    if any(char.isalpha() and not char.isascii() and ord(char) >= 0x0370 for char in title):
        return ""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode()
    words = re.findall(r"[a-z0-9]+", plain.lower().replace("'", ""))
    words = [word for word in words if f" {word} " not in _FILLER] or words
    slug = ""
    for word in words[:MOST_WORDS]:
        longer = f"{slug}-{word}" if slug else word
        if len(longer) > LONGEST:
            break
        slug = longer
    return slug or (words[0][:LONGEST] if words else "")


def new_handle(tx: Tx, thread: str, title: str) -> str:
    """A handle that no thread has. The same title again gets the next number, whatever number of threads has it."""
    slug = slug_of(title)
    if not slug:
        return _from_id(tx, thread)
    while True:
        sql = (
            "INSERT INTO handle_numbers (slug, newest) VALUES (?, 1)"
            " ON CONFLICT (slug) DO UPDATE SET newest = handle_numbers.newest + 1 RETURNING newest"
        )
        [row] = tx.all(sql, slug)
        handle = slug if row["newest"] == 1 else f"{slug}-{row['newest']}"
        if handle not in RESERVED and thread_of(tx, handle) is None:
            return handle


def thread_of(tx: Tx, handle: str) -> str | None:
    row = tx.one("SELECT id FROM threads WHERE handle = ?", handle)
    return row["id"] if row else None


def matching(tx: Tx, prefix: str, limit: int, among: Among = None) -> list[str]:
    """Threads whose handles begin with `prefix`."""
    inside, known = within(among)
    sql = f"SELECT id FROM threads WHERE handle >= ? AND handle < ? {inside} ORDER BY handle LIMIT ?"
    return [row["id"] for row in tx.all(sql, prefix, prefix + "~", *known, limit)]


def titled(tx: Tx, fragment: str, limit: int, among: Among = None) -> list[str]:
    """The newest threads whose titles contain the fragment."""
    return _like(tx, "title", f"%{literal(fragment)}%", limit, among)


def newest(tx: Tx, limit: int, among: Among = None) -> list[str]:
    """The handles of the newest threads."""
    inside, known = within(among)
    sql = f"SELECT handle FROM threads WHERE handle IS NOT NULL {inside} ORDER BY id DESC LIMIT ?"
    return [row["handle"] for row in tx.all(sql, *known, limit)]


def ending(tx: Tx, end: str, limit: int, among: Among = None) -> list[str]:
    """The newest threads whose ids end so."""
    return _like(tx, "id", f"%{literal(end)}", limit, among)


def _like(tx: Tx, column: str, pattern: str, limit: int, among: Among) -> list[str]:
    inside, known = within(among)
    sql = f"SELECT id FROM threads WHERE {column} LIKE ? ESCAPE '!' {inside} ORDER BY id DESC LIMIT ?"
    return [row["id"] for row in tx.all(sql, pattern, *known, limit)]


def name_older_threads(tx: Tx) -> None:
    """For the migration that adds handles."""
    for row in tx.all("SELECT id, title FROM threads WHERE handle IS NULL ORDER BY id"):
        tx.run("UPDATE threads SET handle = ? WHERE id = ?", new_handle(tx, row["id"], str(row["title"])), row["id"])


def _from_id(tx: Tx, thread: str) -> str:
    """`t-` and the end of the id, which is random: four characters, or more if another thread has these."""
    for length in range(4, len(thread)):
        handle = f"t-{thread[-length:].lower()}"
        if thread_of(tx, handle) is None:
            return handle
    return f"t-{thread.lower()}"
