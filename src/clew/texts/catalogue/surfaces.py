"""Sentences about surfaces."""

from __future__ import annotations

SENTENCES: dict[str, tuple[str, str]] = {}
