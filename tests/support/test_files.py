"""Safe names of attached files."""

from __future__ import annotations

from pathlib import Path

from clew.support.files import safe_names, save


def test_a_name_is_short_enough_for_every_file_system_and_keeps_its_suffix(tmp_path: Path) -> None:
    names = list(safe_names(["报告" * 60 + ".pdf", "报告" * 60 + ".pdf", "x" * 300, "...", "a/../b c.txt"]))
    assert names[0].endswith(".pdf") and names[0] != names[1] and names[3:] == ["file", "b_c.txt"]
    for name in names:
        save(b"what it holds", tmp_path / name)
        assert (tmp_path / name).read_bytes() == b"what it holds"
