"""Tests the watcher itself: a watcher that reports nothing may be blind. One hole of each class is planted into the
judge, and the watcher must report it: with strace, and without it by the tree, access times and output."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from tests.execution.corpus import attacks
from tests.execution.judging import allowed, gather
from tests.execution.watching import HAS_STRACE, TIMEOUT, Run, watch
from tests.execution.workspaces import BUILDERS, LONG_AGO, Place, build

pytestmark = [pytest.mark.process, pytest.mark.skipif(sys.platform != "linux", reason="only tried on Linux")]
WATCHERS = ["tree", *(["strace"] if HAS_STRACE else [])]

# class, workspace, folder, command
HOLES = [
    ("a dangling HEAD", "fake_repository_with_a_dangling_head", "docs", "git status"),
    ("commondir", "fake_repository_with_commondir", "docs", "git status"),
    ("a bare repository", "fake_repository_with_a_plain_head", "docs", "git diff"),
    ("a repository above", "repository_above", ".", "git status"),
    ("behind --: overwrites", "names_like_options", ".", "uniq -- -c .git/config"),
    ("behind --: reads out", "names_like_options", ".", "cat -- -n"),
    ("a gitlink", "gitlink_with_a_nested_repository", ".", "git status"),
    ("a gitlink made later", "gitlink_that_was_made_later", ".", "git diff"),
    ("a nested repository", "nested_repository", "src/other", "git status"),
    ("a git file", "nested_repository_by_a_git_file", "src/other", "git status"),
    ("a linked file by own settings", "own_settings_with_a_linked_file", ".", "git blame a.txt"),
    ("a linked file of any name", "own_settings_with_a_linked_file_of_any_name", ".", "git blame a.txt"),
    ("a tracked hook by own settings", "own_settings_with_tracked_hooks", ".", "git status"),
    ("git/modules by own settings", "own_settings_that_show_submodules", ".", "git show"),
    ("a pipe into a shell", "ordinary", ".", "echo 'touch made' | sh"),
    ("a pipe into xargs", "ordinary", ".", "echo a.txt | xargs rm"),
    ("a pipe into tee", "ordinary", ".", "cat a.txt | tee made"),
    ("a glob that is an option of sort", "glob_that_becomes_an_option_of_sort", ".", "sort *"),
    ("a glob that is an option of find", "glob_that_becomes_an_option_of_find", ".", "find src -*"),
    ("a glob that is an option of rg", "glob_that_becomes_an_option_of_rg", ".", "rg foo *"),
    ("a glob that is an option of grep", "glob_that_becomes_an_option_of_grep", ".", "grep CANARY *"),
    ("a glob that is an option of tree", "glob_that_becomes_an_option_of_tree", ".", "tree *"),
    ("a glob that is an option of git", "glob_that_becomes_an_option_of_git", ".", "git diff -*"),
    ("a glob that is an option of sed", "glob_that_becomes_an_option_of_sed", ".", "sed -n 1p *.txt -*"),
    ("a glob that is a second file", "glob_that_becomes_an_option_of_uniq", ".", "uniq ?.txt"),
    ("a glob that leads out", "links_outside", ".", "cat z*"),
    ("a glob of folders", "links_outside", ".", "ls d*"),
    ("a link", "links_outside", ".", "cat link"),
    ("a link in the path", "links_outside", ".", "cat dir/inner"),
    ("a redirection", "ordinary", ".", "echo x > a.txt"),
    ("an appending redirection", "ordinary", ".", "echo x >> a.txt"),
    ("a redirection of errors", "ordinary", ".", "ls none 2> made"),
    ("a here document", "ordinary", ".", "cat > made <<E\nx\nE"),
    ("a substitution", "ordinary", ".", "echo $(touch made)"),
    ("backquotes", "ordinary", ".", "echo `touch made`"),
    ("a process substitution", "ordinary", ".", "cat <(touch made)"),
    ("a background command", "ordinary", ".", "touch made & wait"),
    ("a function", "ordinary", ".", "ls() { touch made; }; ls"),
    ("an assignment", "programs_in_the_workspace", ".", "PATH=. ls"),
    ("a program of the workspace", "programs_in_the_workspace", ".", "./ls"),
    ("cd out", "ordinary", ".", "cd ../outside && cat secret"),
    ("a home", "ordinary", ".", "cat ~/.netrc"),
    ("rg --pre", "files_of_settings", ".", "rg --pre docs/pre foo a.txt"),
    ("rg's ignored files", "linked_files_that_searchers_read", ".", "rg foo"),
    ("sort -o", "ordinary", ".", "sort -o b.txt a.txt"),
    ("find -fprint", "ordinary", ".", "find . -fprint made"),
    ("find -exec", "ordinary", ".", "find . -name a.txt -exec rm {} +"),
    ("find -delete", "ordinary", ".", "find src -delete"),
    ("tree -o", "ordinary", ".", "tree -o made"),
    ("sed -i", "ordinary", ".", "sed -i s/one/two/ a.txt"),
    ("sed w", "ordinary", ".", "sed -n 'w made' a.txt"),
    ("uniq with two operands", "ordinary", ".", "uniq a.txt b.txt"),
    ("file -C", "files_of_settings", ".", "file -C -m .magic"),
    ("git diff --output", "ordinary", ".", "git diff --output=made"),
    ("git log --output", "ordinary", ".", "git log --output=made"),
    ("git diff --no-index", "ordinary", ".", "git diff --no-index a.txt ../outside/secret"),
    ("git branch", "ordinary", ".", "git branch made"),
    ("git branch -D", "ordinary", ".", "git branch -D topic"),
    ("git -c", "ordinary", ".", "git -c core.fsmonitor='touch made #' status"),
    ("git -C", "nested_repository", ".", "git -C src/other status"),
    ("an external diff", "config_external_diff", ".", "git diff"),
    ("a diff driver", "config_diff_driver", ".", "git diff"),
    ("a text conversion", "config_textconv", ".", "git log -p"),
    ("a clean filter", "config_clean_filter", ".", "git status"),
    ("a process filter", "config_process_filter", ".", "git status"),
    ("fsmonitor", "config_fsmonitor", ".", "git status"),
    ("an included file", "config_included", ".", "git status"),
    ("a worktree's settings", "config_of_the_worktree", ".", "git status"),
    ("settings in odd spelling", "config_in_odd_spelling", ".", "git status"),
    ("an alias", "config_aliases", ".", "git st"),
    ("a hook", "hook_of_the_index", ".", "git status"),
    ("a hook elsewhere", "hooks_path", ".", "git status"),
    ("gpg", "signed_commit_with_settings", ".", "git log --format=%G?"),
    ("a promised object", "promised_objects", ".", "git log -p"),
    ("an alternate", "objects_outside", ".", "git status"),
    ("an index outside", "index_outside", ".", "git status"),
    ("a split index", "config_split_index", ".", "git status"),
    ("a git folder outside", "git_folder_by_a_link", ".", "git status"),
    ("a key behind a NUL", "config_key_behind_a_nul", ".", "git log -p"),
    ("a gitlink of an odd mode", "gitlink_of_an_odd_mode", ".", "git status"),
    ("a gitlink behind a NUL", "gitlink_behind_a_name_with_a_nul", ".", "git diff"),
    ("a gitlink in a table", "gitlink_in_a_table_of_blocks", ".", "git status"),
    ("an index that leads out", "index_that_names_files_outside", ".", "git diff"),
    ("an ignore file above", "ignore_files_above", ".", "rg foo"),
    ("an ignore file in .git", "ignore_files_in_the_git_folder", ".", "rg --hidden foo"),
    ("an ignore file taken in again", "ignored_files_taken_in_again", ".", "rg foo"),
]
SEEN_BY_ACCESS_TIME = [  # the tree shows these only if the file system records access times
    ("a glob that is an option of wc", "glob_that_becomes_an_option_of_wc", ".", "wc --*"),
    ("a glob that is an option of md5sum", "glob_that_becomes_an_option_of_sums", ".", "md5sum [-s]*s -*"),
    ("a glob that is an option of file", "glob_that_becomes_an_option_of_file", ".", "file *"),
    ("wc --files0-from", "files_of_settings", ".", "wc --files0-from=list0"),
    ("md5sum -c", "files_of_settings", ".", "md5sum -c sums"),
]
ON_A_TERMINAL = [
    ("a pager", "config_pager", ".", "git log"),
    ("a pager of one word", "config_pager", ".", "git branch"),
]
SEEN_BY_STRACE = [  # these leave no trace in the place or in the output
    ("a tree outside", "config_worktree_outside", ".", "git status"),
    ("gpg of the system", "signed_commit", ".", "git log -1 --format=%G?"),
    ("a program that was not named", "ordinary", ".", "ls | $(printf c%s at)"),
    ("a program that runs others", "ordinary", ".", "env true"),
    ("a file of the system", "ordinary", ".", "cat /etc/hostname"),
    ("a folder of the system", "ordinary", ".", "ls /"),
    ("a link to the system", "links_outside", ".", "ls root/"),
    ("sort --compress-program", "ordinary", ".", "seq 200 | sort -S 1k --compress-program=gzip"),
    ("a decompressor", "compressed_files", ".", "rg -z foo a.gz"),
    ("the network", "ordinary", ".", "cat < /dev/tcp/127.0.0.1/1"),
    ("what is made and removed again", "ordinary", "src", "seq 200 | sort -S 1k"),
]


Hole = tuple[str, str, str, str]


class Places:
    """The workspaces of this module, each built when first used."""

    def __init__(self, base: Path) -> None:
        self._base, self._built = base, dict[str, Place]()

    def get(self, name: str) -> Place:
        if name not in self._built:
            self._built[name] = build(self._base, name)
        return self._built[name]


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Places:
    return Places(tmp_path_factory.mktemp("places"))


def is_seen(places: Places, hole: Hole, watcher: str, terminal: bool = False) -> bool:
    _, name, folder, command = hole
    place = places.get(name)
    run = Run(command, str(place.work / folder), terminal=terminal)
    return bool(watch([(place, run)], strace=watcher == "strace"))


def records_access_times() -> bool:
    """Whether the file system records access times; it can be mounted without them."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(b"x")
        file.flush()
        os.utime(file.name, (LONG_AGO, LONG_AGO + 100))
        Path(file.name).read_bytes()
        return Path(file.name).stat().st_atime > LONG_AGO


def all_cases() -> list[ParameterSet]:
    return cases(HOLES, SEEN_BY_STRACE) + cases(
        SEEN_BY_ACCESS_TIME if records_access_times() else [], SEEN_BY_ACCESS_TIME
    )


def cases(by_all: Sequence[Hole], by_strace: Sequence[Hole] = ()) -> list[ParameterSet]:
    """Each hole with each watcher that can see it, if its program is installed."""
    pairs = [(hole, "tree") for hole in by_all]
    pairs += [(hole, "strace") for hole in dict.fromkeys((*by_all, *by_strace)) if HAS_STRACE]
    there = [(hole, watcher) for hole, watcher in pairs if shutil.which(hole[3].split()[0]) or hole[3][0] not in "rt"]
    return [pytest.param(hole, watcher, id=f"{hole[0]}-{watcher}") for hole, watcher in there]


@pytest.mark.parametrize(("hole", "watcher"), all_cases())
def test_a_planted_hole_is_seen(hole: Hole, watcher: str, places: Places) -> None:
    assert is_seen(places, hole, watcher)


@pytest.mark.parametrize(("hole", "watcher"), cases(ON_A_TERMINAL))
def test_a_planted_hole_is_seen_on_a_terminal(hole: Hole, watcher: str, places: Places) -> None:
    assert is_seen(places, hole, watcher, terminal=True)
    assert not is_seen(places, hole, watcher)


@pytest.mark.parametrize("watcher", WATCHERS)
def test_a_hole_in_the_judge_is_found_among_many_commands(watcher: str, tmp_path: Path) -> None:
    """From end to end: the corpus asks, a judge with a hole allows, the watcher names the command."""
    places = [build(tmp_path, name) for name in ("ordinary", "names_like_options")]

    def holed(place: Place, run: Run) -> bool:
        return run.command == "uniq -- -c a.txt" or (place.name == "ordinary" and allowed(place, run))

    watched = list(gather(places, 0, 1, 100, holed).watched)
    faults = watch(watched, strace=watcher == "strace")
    assert {fault.run.command for fault in faults} == {"uniq -- -c a.txt"}


# Their attacks do no harm with the current git; they stay, because another version may be fooled.
HARMLESS = frozenset(
    {
        "ordinary",
        "linked_files_that_git_reads",  # git opens none of them through a link
        "config_untracked_cache",  # it is kept in the index
        "config_fsmonitor_daemon",  # not on Linux
        "gitlink_only_in_a_commit",  # git shows what the commit had
        "lines_that_break_the_terminal",  # nobody expands them
    }
) | ({"repository_that_nobody_may_enter"} if os.geteuid() == 0 else set())  # but root may


SEEN_BY_TREE = ("names_like_options", "config_fsmonitor")  # without strace not all of it is seen


@pytest.mark.parametrize("name", [n for n in BUILDERS if n not in HARMLESS] if HAS_STRACE else SEEN_BY_TREE)
def test_every_hostile_workspace_does_harm_if_everything_is_allowed(name: str, tmp_path: Path) -> None:
    """A workspace whose attacks have no effect would prove nothing."""
    place = build(tmp_path, name)
    runs = sorted(attacks(place), key=lambda run: run.terminal)
    timeout = 3 if place.waits else TIMEOUT  # a timeout that is too short does no harm here
    assert any(watch([(place, run)], timeout=timeout) for run in runs)
