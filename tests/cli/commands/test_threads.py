"""Reading and changing threads, on a real daemon."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.terminal import Terminal
from tests.helpers.daemons import Clew

pytestmark = pytest.mark.process


def chat(clew: Clew, text: str = "!text hello") -> str:
    return str(clew.json("run", text)["thread"])


def test_history_lists_only_finished_threads(clew: Clew) -> None:
    open_one, done_one = chat(clew), chat(clew)
    clew("done", done_one)
    active = [thread["id"] for thread in clew.json("threads")]
    history = [thread["id"] for thread in clew.json("threads", "--history")]
    assert open_one in active and done_one not in active
    assert done_one in history and open_one not in history


def test_threads_are_listed_newest_first_and_in_pages(clew: Clew) -> None:
    made = [clew.json("run", "!text hi", "--title", "paged")["thread"] for _ in range(3)]
    first = clew.json("threads", "--text", "paged", "--limit", "2")
    rest = clew.json("threads", "--text", "paged", "--before", first[-1]["id"])
    assert [thread["id"] for thread in (*first, *rest)] == made[::-1]


def test_threads_for_a_person_are_one_line_each(clew: Clew) -> None:
    thread = clew.json("run", "!text hi", "--title", "with\x1b[31m colour")["thread"]
    line = next(line for line in clew("threads").splitlines() if line.split()[0] == clew.handle(thread))
    assert "idle" in line and "with\\x1b[31m colour" in line and line.endswith("  hi")


def test_running_threads_are_listed_as_running_not_idle(clew: Clew) -> None:
    gate = clew.gate("listed")
    thread = clew.json("start", "!hold listed")["thread"]
    gate.wait()
    assert [each["id"] for each in clew.json("threads", "--status", "running")] == [thread]
    assert thread not in [each["id"] for each in clew.json("threads", "--status", "idle")]
    gate.release()
    clew.wait_for(thread, "thread.status", status="completed")
    assert clew.json("threads", "--status", "running") == []


def test_the_list_has_the_last_line_of_the_newest_answer(clew: Clew) -> None:
    thread = chat(clew, "!text one")
    clew.wait_ended(clew.json("send", thread, "!slow 100 0"))
    assert clew.json("show", thread)["last_line"].endswith("never lose the thread")


def test_show_prints_the_fields_of_a_thread(clew: Clew) -> None:
    thread = clew.json("run", "!text hi", "--title", "shown")["thread"]
    shown = dict(line.split(maxsplit=1) for line in clew("show", thread).splitlines())
    assert (shown["id"], shown["title"], shown["status"]) == (thread, "shown", "idle")
    assert "completed" not in shown


def test_show_of_a_suspended_thread_prints_the_command_to_resume_it(clew: Clew) -> None:
    thread = clew.json("start", "!error server_error")["thread"]
    clew.wait_for(thread, "thread.status", status="suspended")
    assert clew.run("show", thread).err == f"clew resume {clew.handle(thread)} continue retries it\n"


def test_read_shows_who_said_what(clew: Clew) -> None:
    thread = chat(clew, "!shell ls\n!text all is well")
    told = clew("read", thread)
    assert told.startswith("# !shell ls\n")
    assert told.index("## you") < told.index("- command: ls") < told.rindex("\n\nall is well\n")


def test_read_names_attached_files(clew: Clew, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x")
    thread = clew.json("run", "!text hi", "--file", str(tmp_path / "notes.txt"))["thread"]
    assert "\n!text hi\n\n(attached: notes.txt)\n" in clew("read", thread)


def test_nothing_is_offered_to_watch_after_a_thread_was_stopped(clew: Clew) -> None:
    thread = clew.json("start", "!error server_error")["thread"]
    clew.wait_for(thread, "thread.status", status="suspended")
    with Terminal(clew, ["resume", thread, "stop"]) as terminal:
        assert terminal.wait() == 0
    assert terminal.lines[-1].startswith("Stopped.")


def test_a_completed_thread_is_resumed_with_new_information(clew: Clew) -> None:
    thread = chat(clew)
    clew("done", thread)
    resumed = clew.json("resume", thread, "--supplement", "!text with that in mind")
    assert clew.wait_ended(resumed)["text"] == "with that in mind"
    shown = clew.json("show", thread)
    assert (shown["status"], shown["completed_at"]) == ("idle", None)


def test_the_text_of_a_resume_is_the_next_message_of_an_idle_thread(clew: Clew) -> None:
    thread = chat(clew)
    result = clew.run("resume", thread, "!text more", "--json")
    assert f"{clew.handle(thread)} is idle: this is its next message\n" in result.err
    assert clew.wait_ended(result.json)["text"] == "more"


def test_a_resumed_thread_sends_its_answers_where_notify_says(clew: Clew) -> None:
    thread = chat(clew)
    clew("done", thread)
    refused = clew.run("resume", thread, "more", "--notify", "nowhere")
    assert (refused.code, clew.json("show", thread)["status"]) == (2, "completed")
    assert clew.wait_ended(clew.json("resume", thread, "!text more", "--notify", "local"))["text"] == "more"
    assert clew.json("show", thread)["notify_target"].startswith("local")
    assert clew.json("set", thread, "notify=none")["notify_target"] is None


def test_a_running_thread_cannot_be_resumed(clew: Clew) -> None:
    gate = clew.gate("busy")
    thread = clew.json("start", "!hold busy")["thread"]
    gate.wait()
    result = clew.run("resume", thread, "more")
    gate.release()
    assert (result.code, "it is running" in result.err) == (1, True)


def test_stop_without_a_running_turn_is_refused(clew: Clew) -> None:
    result = clew.run("stop", chat(clew))
    assert result.code == 1
    assert "Nothing runs" in result.err


def test_a_fork_is_a_new_thread_with_the_old_history(clew: Clew) -> None:
    thread = chat(clew)
    fork = clew("fork", thread, "--title", "another way").strip()
    shown = clew.json("show", fork)
    assert (shown["title"], shown["forked_from"]) == ("another way", thread)
    assert "hello" in [passage["text"] for passage in clew.json("read", fork)]


def test_a_title_can_be_changed(clew: Clew) -> None:
    thread = chat(clew)
    clew("title", thread, "by another name")
    assert clew.json("show", thread)["title"] == "by another name"


def test_where_shows_the_receipt(clew: Clew) -> None:
    thread = clew.json("start", "!text done", "--notify", "local")["thread"]
    clew.wait_for(thread, "delivery.sent")
    (receipt,) = clew.json("where", thread)
    assert (receipt["conversation"], receipt["state"], receipt["attempts"]) == ("local", "sent", 1)
    assert receipt["message_id"] and receipt["sent_at"]


def test_history_verifies(clew: Clew) -> None:
    thread = chat(clew)
    (verdict,) = clew.json("verify", thread)
    assert (verdict["thread"], verdict["sound"]) == (thread, True)
    assert clew("verify").endswith(", 0 damaged\n")


def test_notify_says_if_nothing_is_pending(clew: Clew) -> None:
    result = clew.run("notify")
    assert (result.out, result.err) == ("no deliveries are pending\n", "")


def test_an_empty_list_of_threads_says_so(clew: Clew) -> None:
    result = clew.run("threads", "--text", "there is none such")
    assert (result.code, result.out) == (0, "")
    assert result.err.startswith("no thread matches; clew start PROMPT starts one")
    assert clew.run("threads", "--text", "there is none such", "--json").json == []


def test_where_describes_the_state_of_an_answer(clew: Clew) -> None:
    here = chat(clew)
    there = clew.json("start", "!text done", "--notify", "local")["thread"]
    clew.wait_for(there, "delivery.sent")
    assert "kept in the thread" in clew("where", here) and "no_target" not in clew("show", here)
    shown = clew("where", there)
    known = (
        "recorded only: no terminal was watching",
        "shown on the desktop",
        "shown on a terminal",
    )  # a test may be watching
    assert any(words in shown for words in known)
    assert "receipt" not in shown


def test_an_empty_title_is_refused_in_plain_words(clew: Clew) -> None:
    for words in (["title", chat(clew), ""], ["start", "!text hi", "--title", ""]):
        result = clew.run(*words)
        assert (result.code, result.err) == (2, "clew: title: must not be empty\n")
    result = clew.run("title", chat(clew), "x" * 201)
    assert result.err == "clew: title: must not be longer than 200 characters\n"


def test_settings_are_changed_and_shown(clew: Clew) -> None:
    thread = chat(clew)
    changed = clew.json("set", thread, "model=large-2", "effort=high", "policy=read-only")
    assert (changed["model"], changed["effort"], changed["policy"]) == ("large-2", "high", "read-only")
    shown = clew.json("show", thread)
    assert (shown["model"], shown["effort"], shown["policy"]) == ("large-2", "high", "read-only")
    assert "from its next turn on: policy=careful" in clew("set", thread, "policy=careful")
    assert clew.json("show", thread)["model"] == "large-2"


@pytest.mark.parametrize(
    "given", [["colour=red"], ["model"], ["model="], ["policy=everything"], ["model=a", "model=b"], []]
)
def test_a_wrong_setting_is_wrong_usage(clew: Clew, given: list[str]) -> None:
    result = clew.run("set", chat(clew), *given)
    assert result.code == 2 and result.err


def test_waiting_threads_are_those_that_ask_or_are_suspended(clew: Clew) -> None:
    idle = chat(clew)
    asks = clew.run("run", "!approve make deploy", "--json").json["thread"]
    failed = clew.json("start", "!error broken")["thread"]
    clew.wait_for(failed, "thread.status", status="suspended")
    waiting = {thread["id"] for thread in clew.json("threads", "--status", "waiting")}
    assert {asks, failed} <= waiting and idle not in waiting
    [code] = clew.json("show", asks)["gates"]
    clew.json("approve", code)
    clew.json("wait", asks)
    assert asks not in {thread["id"] for thread in clew.json("threads", "--status", "waiting")}
    clew("cancel", failed)


def test_several_threads_are_done_and_a_working_one_is_refused(clew: Clew) -> None:
    one, two = chat(clew), chat(clew)
    gate = clew.gate("busy")
    busy = clew.json("start", "!hold busy")["thread"]
    gate.wait()
    result = clew.run("done", one, busy, two, "--json")
    assert result.code == 1 and "still works" in result.err
    assert [thread["id"] for thread in result.json] == [one, two]
    gate.release()
    assert clew.json("resume", one, "!text again")["fate"] == "turn"


def test_done_needs_threads_or_an_age_but_not_both(clew: Clew) -> None:
    thread = chat(clew)
    for words in (["done"], ["done", thread, "--idle-for", "1d"], ["done", thread, "--dry-run"], ["done", ""]):
        assert clew.run(*words).code == 2
    assert "no length of time" in clew.run("done", "--idle-for", "soon").err


def test_a_list_of_threads_can_be_searched_and_names_what_is_finished(clew: Clew) -> None:
    chat_thread = clew.run("run", "!text the kraken sleeps", "--json").json["thread"]
    clew.wait_ended(clew.json("start", "!text the kraken is done"))
    assert [thread["id"] for thread in clew.json("threads", "kraken sleeps")] == [chat_thread]
    with Terminal(clew, ["threads", "the kraken"]) as terminal:
        terminal.read_until("1 finished: clew threads --history 'the kraken'")
        assert terminal.wait() == 0


def test_a_refusal_names_a_thread_by_its_handle(clew: Clew) -> None:
    thread = chat(clew)
    told = clew.run("stop", thread).err
    assert thread not in told and told.count(clew.handle(thread)) == 2


def test_old_idle_chats_are_done_and_can_be_resumed(tmp_path: Path) -> None:
    with Clew(tmp_path / "home") as clew:
        old, fresh = chat(clew), chat(clew)
        asks = clew.run("run", "!approve make deploy", "--json").json["thread"]
        assert clew.json("done", "--idle-for", "30d") == []
        clew("down")
        make_older(clew, [old, asks], days=31)
        assert [thread["id"] for thread in clew.json("done", "--idle-for", "30d", "--dry-run")] == [old]
        assert clew.json("show", old)["status"] == "idle"
        assert f"{clew.handle(old)} is completed" in clew("done", "--idle-for", "30d")
        assert [clew.json("show", thread)["status"] for thread in (old, fresh)] == ["completed", "idle"]
        assert clew.json("done", "--idle-for", "30d") == []
        assert clew.json("resume", old, "!text again")["fate"] == "turn"


def make_older(clew: Clew, threads: list[str], days: int) -> None:
    """As if all that happened in them had happened earlier."""
    earlier = days * 86_400_000
    with closing(sqlite3.connect(clew.home.database)) as database, database:
        for thread in threads:
            database.execute("UPDATE threads SET active_at = active_at - ? WHERE id = ?", (earlier, thread))


def test_a_list_in_a_terminal_says_how_many_threads_are_finished(clew: Clew) -> None:
    threads = [chat(clew) for _ in range(6)]
    clew("done", *threads)
    with Terminal(clew, ["threads"]) as terminal:
        terminal.read_until(" finished: clew threads --history")
        assert terminal.wait() == 0


def test_a_list_in_a_terminal_has_what_ended_within_a_day(tmp_path: Path) -> None:
    with Clew(tmp_path / "home") as clew:
        old = chat(clew)
        clew("done", old)
        clew("down")
        make_older(clew, [old], days=2)
        clew.wait_ended(clew.json("start", "!text yes", "--title", "the griffin sleeps"))
        with Terminal(clew, ["threads"], columns=60) as terminal:
            shown = terminal.read_until(" finished: clew threads --history")
            assert terminal.wait() == 0
        assert "the griffin sleeps" in shown and clew.handle(old) not in shown
        assert clew.json("threads") == [] and clew("threads") == ""


def test_a_search_that_finds_only_finished_threads_says_only_that(clew: Clew) -> None:
    clew.wait_ended(clew.json("start", "!text staging", "--title", "the yeti database"))
    result = clew.run("threads", "yeti", "database")
    assert (result.code, result.out) == (0, "")
    assert result.err == "1 finished: clew threads --history 'yeti database'\n"


def test_several_words_are_one_text(clew: Clew) -> None:
    thread = clew.json("run", "!text", "what", "it", "does")["thread"]
    assert clew.json("show", thread)["last_line"] == "what it does"
    assert clew.wait_ended(clew.json("send", thread, "!text", "and", "more"))["text"] == "and more"
    assert clew.wait_ended(clew.json("resume", thread, "!text", "once", "more"))["text"] == "once more"
    assert clew.json("ask", thread, "--runtime", "scripted", "!text", "is", "it", "so")["text"] == "is it so"
    assert clew.json("title", thread, "the", "basilisk", "wakes")["title"] == "the basilisk wakes"
    assert [each["id"] for each in clew.json("threads", "basilisk", "wakes")] == [thread]
    assert clew.wait_ended(clew.json("start", "!text", "a", "task"))["text"] == "a task"


def test_a_mistyped_handle_names_the_nearest(clew: Clew) -> None:
    thread = clew.json("run", "!text hi", "--title", "wombat")["thread"]
    assert clew.handle(thread) == "wombat"
    assert "There is no thread wobmat. Did you mean wombat?" in clew.run("read", "wobmat").err
