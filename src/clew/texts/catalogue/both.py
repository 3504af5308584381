"""A text that has no code of its own, as an argument of a sentence: its two languages."""

from __future__ import annotations

SENTENCES: dict[str, tuple[str, str]] = {"text": ("{en}", "{zh}")}
