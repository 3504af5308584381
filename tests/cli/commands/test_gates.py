"""Gates in the terminal: the commands gates, approve, deny, answer and rules; and gates in run, chat and watch."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.cli.terminal import Terminal, read_until
from tests.cli.test_completion import completed
from tests.cli.test_documented_fields import SHAPES, fields
from tests.helpers.daemons import SCRIPTED, Clew, Result

pytestmark = pytest.mark.process

TRICKY = "rm \u0441at \u202e\x1b[2J"  # a Cyrillic letter, a direction override, a control character
SHOWN = r"rm \u0441at \u202e\x1b[2J"


@pytest.fixture(scope="module")
def clew(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clew]:
    """A daemon that can run all the turns that these tests leave waiting."""
    with Clew(tmp_path_factory.mktemp("home"), f"{SCRIPTED}[turns]\nparallel = 200\n") as clew:
        clew.up()
        yield clew


@dataclass(frozen=True, slots=True)
class WaitingTurn:
    """A waiting turn, and its gates, oldest first."""

    thread: str
    turn: dict[str, Any]
    codes: tuple[str, ...]

    @property
    def code(self) -> str:
        (code,) = self.codes
        return code


def ask(clew: Clew, prompt: str, *options: str, count: int = 1) -> WaitingTurn:
    """Start a chat and wait until it has `count` open gates."""
    started = clew.json("start", prompt, *options)
    return WaitingTurn(started["thread"], started, opened(clew, started["thread"], count))


def opened(clew: Clew, thread: str, count: int = 1) -> tuple[str, ...]:
    codes: list[str] = []
    for event in clew.events(thread):
        codes += [event.data["data"]["code"]] if event.kind == "gate.opened" else []
        if len(codes) == count:
            break
    return tuple(codes)


def ended(clew: Clew, asking: WaitingTurn) -> Any:
    return clew.wait_ended(asking.turn)


def executed(clew: Clew, asking: WaitingTurn) -> list[str]:
    """The commands that the agent ran after approval."""
    ended(clew, asking)
    (folder,) = [path for path in (clew.root / "scripted").glob("*.json") if asking.thread in path.read_text()]
    return [command for entry in json.loads(folder.read_text()) for command in entry["executions"]]


# Looking


def test_gates_with_no_open_gate_says_so_on_stderr(tmp_path: Path) -> None:
    with Clew(tmp_path / "home") as clew:
        clew.up()
        result = clew.run("gates")
        assert (result.code, result.out, result.err) == (0, "", "nothing waits for you\n")
        assert clew.json("gates") == []
        thread = clew.json("run", "!text hi")["thread"]
        assert clew.run("gates", "--thread", thread).err == "this thread has no gates\n"


def test_gates_also_lists_suspended_threads_with_the_command_to_answer(tmp_path: Path) -> None:
    with Clew(tmp_path / "home") as clew:
        thread = clew.json("start", "!error server_error")["thread"]
        clew.wait_for(thread, "thread.status", status="suspended")
        result = clew.run("gates")
        assert (result.code, result.out) == (0, "")
        assert result.err.startswith("no gate is open\n1 suspended thread waits for you:\n")
        assert f"    clew resume {clew.handle(thread)} continue retries it\n" in result.err
        assert clew.json("gates") == []
        ask(clew, "!approve deploy")
        *_, gates, threads = clew("status").splitlines()
        assert gates == "for you   1 gate is open: clew gates lists it"
        assert threads == "for you   1 suspended thread waits: clew gates shows how to continue"


def test_gates_are_listed_oldest_first_one_per_line(clew: Clew) -> None:
    first, second = ask(clew, "!approve deploy --now"), ask(clew, "!ask Which? | red | green")
    head, *lines = clew("gates").splitlines()
    assert head.split() == ["CODE", "KIND", "STATE", "AGE", "THREAD", "WHAT"]
    shown = [line.split() for line in lines]
    mine = [row for row in shown if row[0] in (first.code, second.code)]
    assert [row[0] for row in mine] == [first.code, second.code]
    assert mine[0][1:3] + mine[0][4:] == ["command", "open", first.thread, "deploy", "--now"]
    assert mine[1][1:3] + mine[1][4:] == ["question", "open", second.thread, "Which?"]


def test_gates_as_json_has_exactly_the_documented_fields(clew: Clew) -> None:
    asking = ask(clew, "!approve deploy --now")
    (row,) = [each for each in clew.json("gates") if each["code"] == asking.code]
    (same,) = clew.json("gates", "--thread", asking.thread)
    assert fields(row) == SHAPES["gates"] and row == same == clew.json("gates", asking.code)
    assert (row["thread"], row["turn"], row["state"]) == (asking.thread, asking.turn["turn"], "open")
    assert (row["kind"], row["title"], row["options"][0], row["answered_by"]) == (
        "command",
        "deploy --now",
        "allow",
        None,
    )
    answered = clew.json("deny", row["id"][:24].lower())
    assert fields(answered) == SHAPES["gates"] and (answered["state"], answered["answered_by"]) == ("answered", "you")


def test_gates_of_a_thread_include_answered_ones(clew: Clew) -> None:
    asking = ask(clew, "!approve one\n!approve two")
    clew("approve", asking.code)
    opened(clew, asking.thread, 2)
    rows = [line.split() for line in clew("gates", "--thread", asking.thread[:20].lower()).splitlines()[1:]]
    assert [(row[2], row[-1]) for row in rows] == [("open", "two"), ("taken", "one")]
    assert "taken: yes by you" in clew("gates", asking.code)


def test_one_gate_is_shown_completely_with_the_commands_to_answer_it(clew: Clew) -> None:
    asking = ask(clew, "!approve pytest -q -k name")
    code = asking.code
    assert clew("gates", code.lower()).splitlines() == [
        f"{code}: the agent asks to run a command",
        "    pytest -q -k name",
        f"  clew approve {code}           allow",
        f"  clew deny {code}              decline",
        f"  clew approve {code} --thread  allow it in this thread from now on",
        f"  clew approve {code} --rule    allow `pytest …` here for 2 h",
    ]


def test_a_chinese_terminal_shows_the_choices_in_chinese(clew: Clew) -> None:
    code = ask(clew, "!approve make 一切").code
    shown = clew("gates", code, env={"LC_ALL": "zh_CN.UTF-8"})
    assert "在本会话中一直允许" in shown and "拒绝并停止本轮" in shown and "decline" not in shown
    told = clew("deny", code, "不", env={"LC_ALL": "zh_CN.UTF-8"})
    assert told == f"{code}：拒绝，正在送往智能体\n"


def test_on_a_terminal_the_gate_list_fits_and_hints_the_next_command(clew: Clew) -> None:
    asking = ask(clew, f"!approve deploy {'very ' * 60}far")
    with Terminal(clew, ["gates", "--thread", asking.thread], columns=70) as terminal:
        assert terminal.wait() == 0
    _, line, hint = terminal.shown.splitlines()
    assert len(line) <= 70 and line.endswith("…") and clew.handle(asking.thread) in line and asking.thread not in line
    assert hint == f"what ends in … is cut here: clew gates {asking.code} shows it completely, and how to answer it"


def test_a_gate_list_that_shows_all_of_it_speaks_of_no_cut(clew: Clew) -> None:
    asking = ask(clew, "!approve deploy far…")
    with Terminal(clew, ["gates", "--thread", asking.thread], columns=100) as terminal:
        assert terminal.wait() == 0
    assert terminal.shown.splitlines()[-1] == f"clew gates {asking.code} shows it completely, and how to answer it"


def test_hidden_characters_in_a_command_are_visible(clew: Clew) -> None:
    asking = ask(clew, f"!approve {TRICKY}")
    for shown in (clew("gates"), clew("gates", asking.code), clew("gates", "--thread", asking.thread)):
        assert SHOWN in shown and not set(shown) & set("\u0441\u202e\x1b")
    assert clew.json("gates", asking.code)["title"] == TRICKY


def test_threads_and_show_name_the_open_gate_and_the_policy(clew: Clew) -> None:
    asking = ask(clew, "!both one | two", "--policy", "trusted", "--title", "asks much", count=2)
    first, second = asking.codes
    line = next(line for line in clew("threads").splitlines() if "asks much" in line)
    assert line.split()[1] == "waiting" and line.endswith(f"asks: clew gates {first}")
    result = clew.run("show", asking.thread)
    shown = dict(re.split("  +", line, maxsplit=1) for line in result.out.splitlines())
    assert (shown["status"], shown["policy"]) == ("waiting", "trusted")
    assert shown["waits for"] == f"an answer to {first}, {second}"
    assert result.err == f"clew gates {first} shows what it asks, and how to answer\n"
    view = clew.json("show", asking.thread)
    assert (view["status"], view["gates"], view["policy"]) == ("running", [first, second], "trusted")


def test_gate_codes_are_completed(clew: Clew) -> None:
    asking = ask(clew, "!approve one")
    for command in ("gates", "approve", "deny", "answer"):
        assert asking.code in completed(clew, f"clew {command} ", 2)
        assert completed(clew, f"clew {command} {asking.code.lower()}", 2) == [asking.code]


# Answering


def test_approve_allows_one_request_once(clew: Clew) -> None:
    asking = ask(clew, "!approve one\n!approve one")
    assert clew("approve", asking.code) == f"{asking.code}: yes, on its way to the agent: one\n"
    _, second = opened(clew, asking.thread, 2)
    clew("deny", second)
    assert executed(clew, asking) == ["one"]


def test_approve_for_the_thread_covers_the_same_request_from_now_on(clew: Clew) -> None:
    asking = ask(clew, "!approve one\n!approve one")
    clew("approve", asking.code.lower(), "--thread")
    assert executed(clew, asking) == ["one", "one"]


def test_approve_with_rule_makes_the_offered_rule(clew: Clew, tmp_path: Path) -> None:
    asking = ask(clew, "!approve pytest -q\n!approve pytest -x", "--workspace", str(tmp_path))
    clew("approve", asking.code, "--rule")
    assert executed(clew, asking) == ["pytest -q", "pytest -x"]
    (rule,) = [rule for rule in clew.json("rules", "list") if rule["place"] == str(tmp_path)]
    assert (rule["pattern"], rule["scope"], rule["until"] - rule["created_at"]) == ("pytest …", "workspace", 7_200_000)


def test_approve_with_a_custom_rule(clew: Clew, tmp_path: Path) -> None:
    asking = ask(clew, "!approve make all\n!approve make clean", "--workspace", str(tmp_path))
    said = clew("approve", asking.code, "--rule", "make *", "--for", "30m", "--scope", "thread")
    assert re.search(rf"\na rule was made: \w+, allow make \*, thread {asking.thread}, until ", said)
    assert executed(clew, asking) == ["make all", "make clean"]
    (rule,) = [rule for rule in clew.json("rules", "list") if rule["place"] == asking.thread]
    assert (rule["pattern"], rule["scope"], rule["until"] - rule["created_at"]) == ("make *", "thread", 1_800_000)


def test_a_custom_rule_lasts_two_hours_and_must_cover_the_request(clew: Clew, tmp_path: Path) -> None:
    asking = ask(clew, "!approve make all", "--workspace", str(tmp_path))
    result = clew.run("approve", asking.code, "--rule", "pytest *")
    assert result.code == 2 and f"`pytest *` does not cover what {asking.code} asks" in result.err
    clew("approve", asking.code, "--rule", "make *")
    (rule,) = [rule for rule in clew.json("rules", "list") if rule["place"] == str(tmp_path)]
    assert rule["until"] - rule["created_at"] == 7_200_000
    assert executed(clew, asking) == ["make all"]


def test_an_unavailable_rule_is_refused_and_nothing_is_answered(clew: Clew) -> None:
    asking = ask(clew, "!approve make; rm x")
    result = clew.run("approve", asking.code, "--rule")
    assert result.code == 2 and "There is no safe rule to make" in result.err
    assert clew.json("gates", asking.code)["state"] == "open"


def test_approve_all_gates_of_a_thread(clew: Clew) -> None:
    asking = ask(clew, "!both one | two", count=2)
    first, second = asking.codes
    told = clew("approve", "--all", asking.thread)
    assert told == f"yes to {first}, {second}, on its way to the agent\n  {first}: one\n  {second}: two\n"
    assert sorted(executed(clew, asking)) == ["one", "two"]
    result = clew.run("approve", "--all", asking.thread)
    assert (result.code, result.err) == (
        1,
        "clew: Nothing here waits for a yes; `clew gates`, or `/gates` in a chat, lists what is open.\n",
    )


def test_approve_all_as_json_is_a_list(clew: Clew) -> None:
    asking = ask(clew, "!both one | two", count=2)
    rows = clew.json("approve", "--all", asking.thread)
    assert [fields(row) for row in rows] == [SHAPES["gates"]] * 2


def test_the_reason_of_a_denial_reaches_the_agent(clew: Clew) -> None:
    asking = ask(clew, "!approve one")
    assert clew("deny", asking.code, "not on a Friday") == f"{asking.code}: no, on its way to the agent\n"
    assert ended(clew, asking)["text"] == "declined: not on a Friday"
    assert "; reason: not on a Friday\n" in clew("read", asking.thread)


def test_several_words_are_one_reason_or_one_answer(clew: Clew) -> None:
    asking = ask(clew, "!approve one")
    clew("deny", asking.code, "keep", "it,", "I", "need", "it")
    assert ended(clew, asking)["text"] == "declined: keep it, I need it"
    question = ask(clew, "!ask Which? | red | green")
    clew("answer", question.code, "neither", "of", "them")
    assert clew.json("gates", question.code)["replies"] == [["neither of them"]]


def test_deny_can_stop_the_turn(clew: Clew) -> None:
    asking = ask(clew, "!both one | two\n!text never", count=2)
    assert "no, and stop" in clew("deny", asking.codes[0], "--stop")
    assert ended(clew, asking)["state"] == "interrupted"
    assert {row["state"] for row in clew.json("gates", "--thread", asking.thread)} == {"taken"}


@pytest.mark.parametrize(("given", "said"), [("2", "green"), ("RED", "red"), ("teal, or so", "teal, or so")])
def test_a_question_is_answered_by_number_or_in_words(clew: Clew, given: str, said: str) -> None:
    asking = ask(clew, "!ask Which? | red | green")
    assert clew("answer", asking.code, given) == f"{asking.code}: the answer, on its way to the agent\n"
    assert ended(clew, asking)["text"] == said
    assert clew("gates", asking.code).endswith(f"by you\n    {said}\n")
    assert clew.json("gates", asking.code)["replies"] == [[said]]


def test_an_answer_of_a_dash_is_read_from_stdin(clew: Clew) -> None:
    asking = ask(clew, "!secret The password?")
    assert clew.run("answer", asking.code, "-", input="hunter-by-pipe\n").code == 0
    assert ended(clew, asking)["text"] == "a secret of 14 characters"
    assert clew("gates", asking.code).endswith("by you\n    (secret)\n")
    assert holding(clew, "hunter-by-pipe") == []


def test_answer_without_arguments_asks_at_the_terminal(clew: Clew) -> None:
    asking = ask(clew, "!ask Which? | red | green")
    with Terminal(clew, ["answer", asking.code]) as terminal:
        terminal.read_until("\n› ")
        terminal.type("2\n")
        assert terminal.wait() == 0
    assert "  Which?\n    1 red\n    2 green\n" in terminal.shown
    assert ended(clew, asking)["text"] == "green"
    another = ask(clew, "!ask Which? | red | green")
    result = clew.run("answer", another.code, input="")
    assert result.code == 2 and "there is no terminal to ask at" in result.err


def holding(clew: Clew, secret: str) -> list[Path]:
    files = [path for path in clew.root.rglob("*") if path.is_file()]
    assert files
    return [path for path in files if secret.encode() in path.read_bytes()]


def test_a_secret_answer_is_neither_shown_nor_stored(clew: Clew) -> None:
    asking = ask(clew, "!secret The password?")
    assert "asks for the secret and answers" in clew("gates", asking.code)
    with Terminal(clew, ["answer", asking.code]) as terminal:
        terminal.read_until("The password?\n› ")
        terminal.type("hunter-forty-two\n")
        assert terminal.wait() == 0
    assert "hunter" not in terminal.raw
    assert ended(clew, asking)["text"] == "a secret of 16 characters"
    assert holding(clew, "hunter-forty-two") == []


def test_a_second_answer_is_told_who_answered_first(clew: Clew) -> None:
    asking = ask(clew, "!approve one")
    clew("approve", asking.code)
    for late in (["deny", asking.code], ["approve", asking.code, "--thread"], ["answer", asking.code, "x", "y"]):
        result = clew.run(*late)
        assert result.code == 1
        assert re.match(rf"clew: {asking.code} was answered by you at [0-9:]+: yes\. It is \w+ now\.\n", result.err)
    assert clew.json("deny", asking.code, code=1)["error"]["code"] == "refused"
    assert executed(clew, asking) == ["one"]


@pytest.mark.parametrize("command", [["gates"], ["approve"], ["deny"], ["answer", "yes"]])
def test_an_unknown_gate_code_is_named(clew: Clew, command: list[str]) -> None:
    name, *rest = command
    result = clew.run(name, "Z9Z9Z9", *rest)
    assert (result.code, result.err) == (1, "clew: There is no gate Z9Z9Z9; `clew gates` lists what is open.\n")


def test_the_only_gate_need_not_be_named_at_a_terminal(tmp_path: Path) -> None:
    with Clew(tmp_path / "home") as alone:
        (code,) = (first := ask(alone, "!approve one")).codes
        with Terminal(alone, ["approve"]) as terminal:
            assert "one" in terminal.read_until("Approve it?")  # it is shown before it is approved
            terminal.type("y\r")
            assert terminal.wait() == 0
        alone.wait_ended(first.turn)
        (other,) = (second := ask(alone, "!approve two")).codes
        third = ask(alone, "!approve three")
        with Terminal(alone, ["deny"]) as terminal:
            terminal.read_until(f"`clew deny {other}`")
            assert terminal.wait() == 2
        with Terminal(alone, ["stop"]) as terminal:
            terminal.read_until(f"`clew stop {alone.handle(third.thread)}`")
            assert terminal.wait() == 2
        alone("stop", third.thread)
        alone.wait_ended(third.turn)
        with Terminal(alone, ["deny"]) as terminal:
            terminal.read_until(f"{other}: no")
            assert terminal.wait() == 0
        alone.wait_ended(second.turn)
        assert alone.run("stop").code == 1
        with Terminal(alone, ["approve"]) as terminal:
            terminal.read_until("nothing waits for a yes or no")
            assert terminal.wait() == 1
    assert code


@pytest.mark.parametrize("command", ["gates", "approve", "deny", "answer"])
@pytest.mark.parametrize("given", ["", "../x", "K7 Q2", "ｋ7"])
def test_a_malformed_gate_code_is_a_usage_error_first(tmp_path: Path, command: str, given: str) -> None:
    result = Clew(tmp_path / "home").run(command, given)
    assert result.code == 2 and "is not a gate code; `clew gates` lists them." in result.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("approve K7Q2 --all 01A", "give the code of one gate, or --all THREAD"),
        ("approve --all 01A --thread", "--all approves each gate once"),
        ("approve --all ../x", "names no thread"),
        ("approve K7Q2 --thread --rule", "give --thread or --rule, not both"),
        ("approve K7Q2 --for 2h", "need --rule"),
        ("approve K7Q2 --scope thread", "need --rule"),
        ("approve K7Q2 --scope moon --rule", "is not one of"),
        ("approve K7Q2 --rule x --for soon", "is no length of time"),
        ("approve K7Q2 --rule x --for 0h", "is no length of time"),
        ("gates K7Q2 --thread 01A", "not both"),
        ("gates --thread ../x", "names no thread"),
        ("approve", "give the code of a gate; `clew gates` lists them"),
        ("deny", "give the code of a gate; `clew gates` lists them"),
        ("answer", "Missing argument"),
        ("rules add allow", "Missing argument"),
        ("rules add perhaps x", "is not one of"),
        ("rules add allow x --here --thread 01A", "give one of --here, --workspace and --thread"),
        ("rules add allow x --for ever", "is no length of time"),
        ("rules remove ../x", "is not a rule id"),
    ],
)
def test_usage_errors_need_no_daemon(tmp_path: Path, words: str, told: str) -> None:
    idle = Clew(tmp_path / "home")
    result = idle.run(*words.split())
    assert result.code == 2 and told in result.err
    assert not idle.home.root.exists()


def test_an_invalid_answer_is_an_error_and_nothing_is_answered(clew: Clew) -> None:
    question, command = ask(clew, "!ask Which? | red"), ask(clew, "!approve one")
    told = [
        (["approve", question.code], f"{question.code} is a question: `clew answer {question.code} …` answers it."),
        (["answer", question.code, "1", "2"], "there are 1 questions and 2 answers; give one answer to each question"),
        (["answer", command.code, "1"], f"{command.code} wants a yes or a no: `clew approve {command.code}`"),
        (["answer", command.code], f"{command.code} wants a yes or a no: `clew approve {command.code}`"),
    ]
    for words, expected in told:
        result = clew.run(*words)
        assert result.code == 2 and expected in result.err, words
    assert {clew.json("gates", asking.code)["state"] for asking in (question, command)} == {"open"}


# Rules


def test_rules_are_added_listed_tested_and_removed(tmp_path: Path) -> None:
    with Clew(tmp_path / "home") as clew:
        clew.up()
        assert "there are no rules" in clew.run("rules", "list").err
        made = clew.json("rules", "add", "allow", "deploy *", "--workspace", str(tmp_path), "--for", "1d")
        assert made["until"] - made["created_at"] == 86_400_000
        clew("rules", "add", "deny", "git push")
        head, first, second = clew("rules", "list").splitlines()
        assert head.split() == ["ID", "EFFECT", "KIND", "PATTERN", "WHERE", "UNTIL"]
        assert first.startswith(f"{made['id']}  allow   command  deploy *") and str(tmp_path) in first
        assert second.endswith("for ever") and "everywhere" in second
        assert clew.json("rules", "list")[0] == made
        assert clew("rules", "test", "ls && git push --force").startswith("deny: ")
        assert clew.json("rules", "test", "make")["effect"] == "ask"
        assert clew("rules", "remove", made["id"]) == "removed: allow deploy *\n"
        assert [rule["pattern"] for rule in clew.json("rules", "list")] == ["git push"]
        gone = clew.run("rules", "remove", made["id"])
        assert gone.code == 1 and "`clew rules list` lists them" in gone.err


def test_a_rule_that_can_allow_nothing_is_refused(clew: Clew) -> None:
    result = clew.run("rules", "add", "allow", "sudo *")
    assert result.code == 2 and "sudo" in result.err


def test_a_denied_request_is_not_asked_and_the_agent_continues(clew: Clew, tmp_path: Path) -> None:
    clew("rules", "add", "deny", "deploy", "--workspace", str(tmp_path))
    result = clew.run("run", "!approve deploy --now\n!text done", "--workspace", str(tmp_path))
    assert result.code == 0 and "declined: not allowed" in result.out and result.out.endswith("done\n")
    assert re.search(r"· \w+: no by clew \(.*deploy.*\): deploy --now\n", result.err)


# In `run`


def test_run_without_a_terminal_ends_at_a_gate_and_continues_after_yes(clew: Clew) -> None:
    result = clew.run("run", f"!text before\n!approve {TRICKY}\n!text done", "--title", "run and ask")
    thread = clew.json("threads", "--text", "run and ask")[0]
    (code,) = thread["gates"]
    assert (result.code, result.out) == (5, "before\n")
    assert f"{code}: the agent asks to run a command\n    {SHOWN}\n" in result.err
    assert f"\n  clew approve {code} " in result.err and "\u0441" not in result.err
    assert result.err.endswith(
        f"clew: the agent waits for an answer: {code}\n"
        f"clew gates {code} shows it; clew watch {thread['id']} follows the turn after the answer\n"
    )
    clew("approve", code)
    turn = clew.wait_ended({"thread": thread["id"], "turn": thread["turn"]})
    assert (turn["state"], turn["text"].splitlines()[-1]) == ("completed", "done")


def test_run_as_json_reports_the_open_gates(clew: Clew) -> None:
    result = clew.json("run", "!approve one", code=5)
    assert set(result) == SHAPES["run"] | {"gates"}
    assert (result["state"], result["error"]) == ("waiting", None)
    assert result["gates"] == clew.json("show", result["thread"])["gates"]


def test_run_continues_without_asking_if_a_policy_or_rule_allows(clew: Clew, tmp_path: Path) -> None:
    assert clew.run("run", "!approve deploy\n!text done", "--policy", "yolo").code == 0
    clew("rules", "add", "allow", "deploy *", "--workspace", str(tmp_path))
    result = clew.run("run", "!approve deploy --now\n!text done", "--workspace", str(tmp_path))
    assert (result.code, result.out) == (0, "done\n")
    assert result.err.count("deploy --now") == 1 and "yes by" not in result.err  # one line for it
    asked = clew.run("run", "!ask Which? | red", "--policy", "yolo")
    assert asked.code == 5, "a question is always for a person"


KEYS = "or y, n, n REASON"


def test_run_on_a_terminal_shows_the_gate_and_takes_the_answer(clew: Clew) -> None:
    with Terminal(clew, ["run", f"!approve {TRICKY}\n!ask Which? | red | green\n!text done"]) as terminal:
        terminal.read_until(KEYS)
        assert f"    {SHOWN}\n" in terminal.shown and "  1 allow · 2 decline · 3 allow it in this" in terminal.shown
        terminal.answer("y", "yes by you")
        terminal.read_until("a number, or ")
        terminal.answer("2", "done")
        assert terminal.wait() == 0
    assert "on its way" not in terminal.shown and "\u0441" not in terminal.shown
    assert terminal.lines[-4:-2] == ["green", "done"]


def test_text_that_is_no_answer_reaches_the_agent_and_the_gate_stays(clew: Clew) -> None:
    with Terminal(clew, ["run", "!approve one"]) as terminal:
        terminal.read_until(KEYS)
        terminal.answer("why that?", "A question still waits for you")
        terminal.answer("n", "no by you")
        assert terminal.wait() == 0
    assert "why that?" in terminal.shown.split("declined")[-1]


def test_a_no_with_words_at_run_is_a_no_with_this_reason(clew: Clew) -> None:
    with Terminal(clew, ["run", "!approve one"]) as terminal:
        terminal.read_until(KEYS)
        terminal.answer("n use c.txt instead", "declined: use c.txt instead")
        assert terminal.wait() == 0


def test_a_bare_yes_with_several_gates_at_run_asks_which(clew: Clew) -> None:
    with Terminal(clew, ["run", "!both one | two\n!text done"]) as terminal:
        terminal.read_until("several gates are open, so name one: ")
        terminal.answer("y", "Which one? Reply")
        terminal.answer("yes all", "done")
        assert terminal.wait() == 0
    assert "done" in terminal.shown


def test_run_leaves_typed_text_to_the_shell_if_no_gate_is_open(clew: Clew) -> None:
    gate = clew.gate("typing")
    then = 'read line; echo "the shell got $line"'
    with Terminal(clew, ["run", "!approve one\n!hold typing\n!text done"], then=then) as terminal:
        terminal.read_until(KEYS)
        terminal.answer("y", "yes by you")
        gate.wait()
        terminal.type("for the shell\n")
        gate.release()
        assert terminal.wait() == 0
    assert terminal.shown.endswith("the shell got for the shell\n")


def test_text_typed_before_a_gate_was_shown_does_not_answer_it(clew: Clew) -> None:
    gate = clew.gate("ahead")
    with Terminal(clew, ["run", "!hold ahead\n!approve one\n!text done"]) as terminal:
        gate.wait()
        terminal.type("y\n")
        terminal.read_until("y\n")
        gate.release()
        terminal.read_until(KEYS)
        terminal.answer("n", "no by you")
        assert terminal.wait() == 0
    assert "no by you" in terminal.shown and "yes by you" not in terminal.shown


def test_run_does_not_accept_a_secret(clew: Clew) -> None:
    with Terminal(clew, ["run", "!secret The password?"]) as terminal:
        told = terminal.read_until(", not here")
        code = re.findall(r"clew answer (\w+)", told)[-1]
        terminal.answer("hunter-at-run", "clew: the answer to")
        assert clew.run("answer", code, "-", input="hunter-four").code == 0
        assert terminal.wait() == 0
    assert "a secret of 11 characters" in terminal.shown
    assert holding(clew, "hunter-at-run") == []


# In `chat`


@pytest.fixture
def chat(clew: Clew) -> Iterator[Terminal]:
    with Terminal(clew, ["chat"]) as terminal:
        terminal.read_until("a new thread · /help")
        yield terminal


def leave(chat: Terminal) -> None:
    chat.type("\x04")
    assert chat.wait() == 0


def test_chat_shows_a_gate_with_its_choices_and_takes_the_answer(chat: Terminal) -> None:
    chat.type("!approve make all\\\r!text done\r")
    chat.read_until(KEYS)
    assert "asks to run a command\n    make all\n  1 allow · 2 decline · 3 allow it in" in chat.shown
    chat.read_until("waits for you · any other text goes to the agent")
    chat.enter("y", "turn completed")
    assert re.search(r"· \w+: yes by you\n", chat.shown) and "done\n" in chat.shown
    leave(chat)


def test_hidden_characters_in_a_command_are_visible_in_chat(chat: Terminal, clew: Clew) -> None:
    thread = ask(clew, f"!approve {TRICKY}").thread
    chat.type(f"/resume {thread}\r")
    chat.read_until(KEYS)
    assert f"    {SHOWN}\n" in chat.shown
    chat.enter("n", "no by you")
    leave(chat)


def test_other_text_in_chat_reaches_the_agent_with_a_reminder_each_time(chat: Terminal) -> None:
    chat.type("!approve one\r")
    chat.read_until(KEYS)
    for times, words in enumerate(("why that?", "and why now?"), 1):
        chat.enter(words, "A question still waits for you", times)
    chat.enter("n", "turn completed")
    assert "why that?" in chat.shown.split("declined")[-1]
    leave(chat)


def test_a_no_with_words_in_chat_is_a_no_with_this_reason(chat: Terminal) -> None:
    chat.type("!approve one\r")
    chat.read_until(KEYS)
    chat.enter("不，用 c.txt", "declined: 用 c.txt")
    chat.read_until("turn completed")
    leave(chat)


def test_a_yes_in_chat_answers_the_shown_gate(chat: Terminal, clew: Clew) -> None:
    chat.type("!both one | two\\\r!text done\r")
    chat.read_until("several gates are open, so name one: ")
    chat.find(r"(?s)(\w{4}): the agent asks.*(?!\1)\w{4}: the agent asks")  # both may open at once
    first, second = dict.fromkeys(re.findall(r"([A-Z][2-9][A-Z][2-9]): the agent asks", chat.shown))
    chat.enter("y", "Which one?")
    clew("deny", first)
    chat.read_until(f"{first}: no by you")
    chat.enter("y", "turn completed")
    assert f"{second}: yes by you" in chat.shown
    leave(chat)


def test_a_queued_message_in_chat_answers_no_gate(chat: Terminal) -> None:
    chat.type("!approve one\r")
    chat.read_until(KEYS)
    chat.type("/queue y\r")
    chat.read_until("Queued")
    assert "by you" not in chat.shown
    chat.enter("n", "turn completed", 2)
    leave(chat)


def test_a_secret_typed_in_chat_is_not_sent(chat: Terminal, clew: Clew) -> None:
    chat.type("!secret The password?\r")
    told = chat.read_until(", not here")
    code = re.findall(r"clew answer (\w+)", told)[-1]
    chat.read_until("waits for you")
    chat.enter("hunter-in-chat", "clew: the answer to")
    assert clew.run("answer", code, "-", input="hunter-four").code == 0
    chat.read_until("turn completed")
    assert "a secret of 11 characters" in chat.shown
    chat.type("!text kept\r")
    chat.read_until("turn completed", 2)
    leave(chat)
    assert holding(clew, "hunter-in-chat") == [] and holding(clew, "+!text kept")


def by_pipe(clew: Clew, *lines: str, args: tuple[str, ...] = ()) -> Result:
    return clew.run("chat", *args, input="".join(f"{line}\n" for line in lines))


def test_the_next_piped_line_answers_a_gate(clew: Clew) -> None:
    result = by_pipe(clew, "!text before\\", "!approve one\\", "!text done", "y", "!text on")
    assert (result.code, result.out) == (0, "before\ndone\non\n")
    assert "asks to run a command\n    one\n" in result.err and "yes by you" in result.err
    assert by_pipe(clew, "!ask What is it called?", "Ariadne").out == "Ariadne\n"


def test_a_piped_yes_allows_nothing_that_was_not_shown(clew: Clew) -> None:
    asking = ask(clew, "!approve one\n!text done")
    refused = by_pipe(clew, "y", args=(asking.thread,))
    assert refused.code == 1 and f"clew gates {asking.code}" in refused.err
    assert clew.json("gates", asking.code)["state"] == "open"
    assert by_pipe(clew, "n", args=(asking.thread,)).out == "declined\ndone\n"


@pytest.mark.parametrize("word", ["y", "CODE y", "yes all"])
def test_send_shows_no_gate_so_it_answers_none(clew: Clew, word: str) -> None:
    asking = ask(clew, "!approve one\n!text done")
    refused = clew.run("send", asking.thread, word.replace("CODE", asking.code))
    assert refused.code == 1 and clew.json("gates", asking.code)["state"] == "open"
    assert f"clew gates {asking.code}" in refused.err and f"clew approve {asking.code}" in refused.err
    clew("approve", asking.code)
    assert executed(clew, asking) == ["one"]


def test_a_pipe_that_ends_before_the_answer_names_the_open_gate(clew: Clew) -> None:
    result = by_pipe(clew, "!approve one", "and also")
    (code,) = re.findall(r"clew: the agent waits for an answer: (\w+)\n", result.err)
    assert result.code == 1 and "A question still waits for you" in result.err
    assert clew.json("gates", code)["state"] == "open"
    as_json = by_pipe(clew, "!approve one", args=("--json",))
    told = json.loads(as_json.out)
    assert (as_json.code, told["state"]) == (1, "waiting") and clew.json("gates", told["gates"][0])["state"] == "open"


# In `watch`


def test_watch_shows_a_gate_and_its_outcome(clew: Clew) -> None:
    asking = ask(clew, f"!approve {TRICKY}\n!text done")
    watching = clew.begin("watch", asking.thread)
    said = read_until(watching, f"clew approve {asking.code} --thread")
    assert f"{asking.code}: the agent asks to run a command\n    {SHOWN}\n" in said and said.count(SHOWN) == 2
    clew("approve", asking.code)
    said = read_until(watching, "thread is completed")
    assert f"· {asking.code}: yes by you\n" in said and "received" not in said
    assert clew.end(watching).out == "done\n"


def test_watch_of_all_threads_shows_the_state_of_each_thread(clew: Clew) -> None:
    watching = clew.begin("watch")
    read_until(watching, "watching")
    asking = ask(clew, "!approve one\n!text all of it")
    name = clew.handle(asking.thread)
    assert watching.stdout is not None
    clew("approve", asking.code)
    news = [watching.stdout.readline()]
    while not (news[-1].startswith(f"{name}  ") and news[-1].endswith("  all of it\n")):
        news.append(watching.stdout.readline())
    clew.end(watching)
    own = [line.removesuffix("\n") for line in news if line.startswith(f"{name}  ")]
    assert any("waiting" in line and line.endswith(f"asks: clew gates {asking.code}") for line in own)
    assert all(line != before for before, line in pairwise(own)), "no line is repeated"


def test_run_shows_a_non_blocking_question_without_waiting(clew: Clew) -> None:
    result = clew.run("run", "!aside Shall I also? | yes | no\n!text done")
    assert (result.code, result.out) == (0, "done\n")
    (code,) = re.findall(r"(\w+): the agent asks\n  Shall I also\?\n    1 yes\n    2 no\n", result.err)
    view = clew.json("gates", code)
    assert (view["state"], view["blocking"]) == ("open", False)
    clew("answer", code, "1")
    queued = (event.data["turn"] for event in clew.events(view["thread"]) if event.kind == "turn.queued")
    first, second = next(queued), next(queued)
    assert first == view["turn"]
    assert clew.wait_ended({"thread": view["thread"], "turn": second})["request"] == "Shall I also?\nyes"
