"""Rows. All SQL lives in this package; policy lives in `engine`.

A transaction is a short synchronous function of a `Tx`. The functions in the modules beside this one each take a `Tx`
and do one thing to one table; the engine puts them together, and a body commits whole or not at all.
"""

from clew.store.base import Entry, Executor, Row, Store, Tx

__all__ = ["Entry", "Executor", "Row", "Store", "Tx"]
