"""Paths as seen from a folder."""

from __future__ import annotations

import pytest

from clew.support.display.relative import relative, relative_diff, relative_title


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/p/src/b.txt", "src/b.txt"),
        ("/p/a, b", "a, b"),
        ("/p", "/p"),
        ("/pp/x", "/pp/x"),
        ("/p/../etc/passwd", "/p/../etc/passwd"),
        ("/p//x", "/p//x"),
        ("/p/./x", "/p/./x"),
        ("src/x", "src/x"),
    ],
)
def test_only_a_path_that_lies_below_the_folder_as_written_is_relative(path: str, shown: str) -> None:
    assert relative(path, "/p") == shown


def test_below_the_root_and_an_unknown_folder_nothing_is_relative() -> None:
    assert relative("/x", "/") == "/x" and relative("/x", "") == "/x"


def test_a_title_is_relative_if_it_is_a_list_of_the_paths() -> None:
    assert relative_title("/p/a, /etc/b", ["/p/a", "/etc/b"], "/p") == "a, /etc/b"
    assert relative_title("change /p/a", ["/p/a"], "/p") == "change /p/a"


def test_heads_of_a_diff_are_relative_and_lines_of_files_never_change() -> None:
    diff = """\
--- /p/a
+++ /p/b
@@ -1,2 +1,3 @@
 one
--- /p/a
+++ /p/b
+@@ -1 +1 @@
--- /dev/null
+++ /p/new
+++ /p/text
--- /p/gone
+++ /dev/null
--- /p/text
--- /p/x
+++ /etc/y
@@ odd @@
--- /p/a
+++ /p/b"""
    assert relative_diff(diff, "/p").split("\n") == [
        *("--- a", "+++ b", "@@ -1,2 +1,3 @@", " one", "--- /p/a", "+++ /p/b", "+@@ -1 +1 @@"),
        *("--- /dev/null", "+++ new", "+++ /p/text"),
        *("--- gone", "+++ /dev/null", "--- /p/text"),
        *("--- x", "+++ /etc/y", "@@ odd @@", "--- /p/a", "+++ /p/b"),
    ]
