"""Shows paths relative to the folder that a person knows. Only a path that lies below it as it is written changes: one
with `..`, or anywhere else, stays absolute, so that no two paths look alike."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_UNCLEAR = 1 << 60  # lines: nothing after a part whose length is not known is a head of a diff


def relative(path: str, folder: str) -> str:
    """The path as seen from this folder."""
    inside = path.removeprefix(f"{folder}/")
    is_inside = folder not in ("", "/") and inside != path and not {"", ".", ".."} & set(inside.split("/"))
    return inside if is_inside else path


def relative_title(title: str, paths: Sequence[str], folder: str) -> str:
    """A title that names the paths of a change."""
    return ", ".join(relative(path, folder) for path in paths) if title == ", ".join(paths) else title


def relative_diff(diff: str, folder: str) -> str:
    """A diff with its paths as seen from this folder. Lines of files never change, even if they look like paths."""
    return "\n".join(_relative_lines(diff.split("\n"), folder))


def _relative_lines(lines: Sequence[str], folder: str) -> Iterator[str]:
    removed = added = 0  # lines of files that are left in this part
    was_head = False  # the line before was the first of two heads
    for number, line in enumerate(lines):
        if removed > 0 or added > 0:
            removed -= line[:1] in ("-", " ", "")
            added -= line[:1] in ("+", " ", "")
            yield line
            continue
        following = lines[number + 1] if number + 1 < len(lines) else ""
        is_head = (line.startswith("--- ") and following.startswith("+++ ")) or was_head
        was_head = is_head and not was_head
        if line.startswith("@@"):
            removed, added = _lengths(line)
        yield line[:4] + relative(line[4:], folder) if is_head else line


def _lengths(line: str) -> tuple[int, int]:
    found = _HUNK.match(line)
    return (int(found[1] or 1), int(found[2] or 1)) if found else (_UNCLEAR, _UNCLEAR)
