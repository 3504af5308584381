"""Sentences about doctor."""

from __future__ import annotations

SENTENCES: dict[str, tuple[str, str]] = {}
