"""The database. All SQL is in this package; policy is in `engine`.

A transaction body is a short synchronous function of a `Tx`. Each function in `tables/` takes a `Tx` and does one thing
to one table; the engine combines them in a body, and a body commits atomically.
"""

from clew.store.base import BadRow, Entry, Executor, Row, Store, Tx

__all__ = ["BadRow", "Entry", "Executor", "Row", "Store", "Tx"]
