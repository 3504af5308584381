"""Executing lines, with a client that records requests."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pytest
from msgspec.structs import replace

from clew.cli.chat.follower import recap, suspension_lines
from clew.cli.chat.prompt import toolbar
from clew.cli.chat.talk import Talk
from clew.cli.commands.run import ThreadOptions
from clew.cli.view.events import InfoLine, TextChunk
from clew.client.requests import Request
from clew.model.gate_views import RuleView
from clew.model.views import DaemonView, ItemView, Passage, RuntimeView, WhereRow
from clew.support.errors import NotFound, OutOfReach
from tests.helpers.views import gate_view, made, question_view, thread_view

T = TypeVar("T")


class RecordingClient:
    """Returns the given response by the last part of the path; else an empty one."""

    def __init__(self, **answers: Any) -> None:
        self.asked: list[tuple[Any, ...]] = []
        self._answers = answers

    def ask(self, request: Request[T]) -> T:
        path = request.path
        self.asked.append((*path, request.query if request.method == "GET" else request.body))
        named = path[-2] if path[-1] == "wheel" else path[-1]
        answer = self._answers.get(named, {"id": named})
        if isinstance(answer, Exception):
            raise answer
        return made(request.gives, **answer) if isinstance(answer, dict) else msgspec.convert(answer, request.gives)


def accepted(fate: str = "turn", words: str = "", thread: str = "T") -> dict[str, Any]:
    return {"fate": fate, "thread": thread, "turn": "U", "state": "running", "words": words}


def talk(api: RecordingClient, thread: str | None = "T") -> Talk:
    options = ThreadOptions(
        runtime=None, model=None, effort=None, workspace=Path("/w"), policy=None, title=None, files=[], notify=None
    )
    return Talk(api, options, lambda line: None, thread)


def test_the_first_message_starts_a_thread() -> None:
    here = talk(api := RecordingClient(threads=accepted()), None)
    reply = here.do("hello")
    assert (reply.turn, reply.moved, here.thread) == ("U", True, "T")
    ((path, body),) = api.asked
    assert (path, body["text"], body["kind"], body["attachments"]) == ("threads", "hello", "chat", [])


def test_a_message_goes_to_the_current_thread() -> None:
    here = talk(api := RecordingClient(messages=accepted()))
    reply = here.do("hello")
    assert (reply.turn, reply.moved, reply.lines) == ("U", False, ())
    ((*path, body),) = api.asked
    assert path == ["threads", "T", "messages"]
    assert (body["text"], body["queue"], body["attachments"]) == ("hello", False, [])


def test_steering_is_explained_once() -> None:
    here = talk(RecordingClient(messages=accepted("steer", "Passed on to the running turn.")))
    first, second = here.do("left"), here.do("right")
    assert first.lines == ("· Passed on to the running turn. /queue TEXT sends it after the turn.",)
    assert (second.lines, second.turn) == ((), None)


def test_a_queued_message_never_steers_and_its_position_is_shown() -> None:
    here = talk(api := RecordingClient(messages=accepted(words="Queued: it runs next.")))
    assert here.do("/queue and then").lines == ("· Queued: it runs next.",)
    assert (api.asked[0][-1]["queue"], api.asked[0][-1]["text"]) == (True, "and then")


def test_refusals_and_errors_are_shown_and_do_not_end_the_chat() -> None:
    refused = talk(RecordingClient(messages=accepted("refused", "It is cancelled."))).do("hello")
    assert (refused.lines, refused.failed, refused.leave) == (("clew: It is cancelled.",), True, False)
    lost = talk(RecordingClient(messages=OutOfReach("no daemon answers"))).do("hello")
    assert (lost.lines, lost.failed) == (("clew: no daemon answers",), True)


def test_an_unknown_command_sends_nothing_to_the_daemon() -> None:
    here = talk(api := RecordingClient())
    assert here.do("/tsop").failed
    assert api.asked == []


def test_files_are_sent_with_the_next_message_only(tmp_path: Path) -> None:
    picture = tmp_path / "a b.png"
    picture.write_bytes(b"")
    here = talk(api := RecordingClient(messages=accepted()))
    assert here.do(f"/attach {picture}").lines == ("· attached a b.png; it is sent with your next message",)
    assert here.do(f"'{picture}'").lines == ("· attached a b.png; it is sent with your next message",)
    here.do("look")
    here.do("again")
    assert [asked[-1]["attachments"] for asked in api.asked] == [[str(picture)] * 2, []]


def test_file_shows_a_file_of_the_folder_of_the_thread(tmp_path: Path) -> None:
    (tmp_path / "a b.txt").write_text("one\n\x1b[2Jtwo\n")
    (tmp_path / "long.txt").write_text("x\n" * 300)
    (tmp_path / "a.png").write_bytes(b"\x89PNG\0")
    here = talk(RecordingClient(T={"workspace": str(tmp_path)}))
    assert here.do("/file a b.txt").lines == ("one", "\\x1b[2Jtwo")
    assert here.do("/file long.txt").lines[200:] == ("… 100 more lines", f"· {tmp_path / 'long.txt'}")
    assert here.do("/file a.png").lines[0].startswith(f"· {tmp_path / 'a.png'} is not a text")
    assert here.do("/file ../x").lines == ("clew: 📎 ../x: it is not in this thread's folder.",)
    assert here.do("/文件 x.txt").lines == ("clew: 📎 x.txt: it is not there.",)
    assert here.files == []


def test_a_missing_file_is_not_attached() -> None:
    here = talk(RecordingClient())
    assert "there is no file" in here.do("/attach ./nowhere.png").lines[0]
    assert here.files == []


def test_files_of_an_unsent_message_are_dropped_with_a_notice(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("")
    here = talk(RecordingClient(messages=OutOfReach("no daemon.")))
    here.do(str(tmp_path / "x"))
    assert here.do("look").lines == ("clew: no daemon. Nothing was sent. Attach x again.",)


LISTED = [thread_view(name, title=f"about {name}") for name in ("01C", "01B", "01A")]


def test_threads_are_numbered_and_opened_by_number_or_id() -> None:
    here = talk(RecordingClient(threads={"threads": LISTED}), "01C")
    *rows, how = here.do("/threads").lines
    assert [line.split()[:2] for line in rows] == [["1", "01C"], ["2", "01B"], ["3", "01A"]]
    assert how == "· /resume NUMBER opens one"
    assert (here.do("/resume 3").moved, here.thread) == (True, "01A")
    here.do("/resume 01z")
    assert here.thread == "01z"
    assert "no number 4" in here.do("/resume 4").lines[0]


def test_resume_without_argument_lists_threads_and_keeps_the_current_one() -> None:
    here = talk(RecordingClient(threads={"threads": LISTED}), "01C")
    assert here.do("/resume").lines == here.do("/threads").lines
    assert here.thread == "01C"
    assert "no threads yet" in talk(RecordingClient(threads={"threads": []})).do("/继续").lines[0]


def test_a_number_needs_no_list_before_it() -> None:
    here = talk(RecordingClient(threads={"threads": LISTED}), "01C")
    here.do("/resume 2")
    assert here.thread == "01B"


def test_a_dot_resumes_the_newest_thread_of_the_folder(tmp_path: Path) -> None:
    api = RecordingClient(threads={"threads": LISTED[1:2]})
    here = talk(api, "01C")
    here.options = {**here.options, "workspace": tmp_path}
    here.do("/resume .")
    assert here.thread == "01B"
    _, query = api.asked[0]
    assert (query["workspace"], query["newest"]) == (str(tmp_path), True)


def test_status_names_the_thread_by_its_handle() -> None:
    here = talk(RecordingClient(T={"id": "01T", "handle": "fix-retry"}))
    assert "fix-retry" in here.do("/status").lines[0]


def test_resuming_an_unknown_thread_keeps_the_current_one() -> None:
    here = talk(RecordingClient(threads={"threads": []}, nope=NotFound("There is no thread nope.")))
    assert here.do("/resume nope").failed
    assert here.thread == "T"


HANDED = {"id": "H", "surface": "telegram", "conversation": "telegram:7:1", "ended_at": 1, "error": None}


def test_a_handoff_names_its_target_and_leaves_the_chat() -> None:
    running = {**HANDED, "state": "running", "ended_at": None}
    here = talk(api := RecordingClient(handoffs=running, H={**HANDED, "state": "completed"}))
    told: list[str] = []
    here.say = told.append
    reply = here.do("/handoff telegram")
    assert (
        reply.leave
        and reply.lines == ("· the thread continues in telegram:7:1",)
        and told == ["· handing the thread to telegram…"]
    )
    where, body = api.asked[0]
    assert isinstance(body, dict) and body.pop("message_id")
    assert (where, body) == ("handoffs", {"thread": "T", "target": "telegram", "say": "", "quiet": False})


def test_a_failed_handoff_changes_nothing() -> None:
    here = talk(RecordingClient(handoffs={**HANDED, "state": "failed", "error": "no home."}))
    reply = here.do("/handoff telegram")
    assert (reply.leave, reply.failed) == (False, True)
    assert reply.lines == ("clew: the handoff to telegram failed: no home. The thread stays here.",)


def test_away_and_back() -> None:
    here = talk(api := RecordingClient(away={"conversation": "telegram:7"}))
    assert "is also sent to telegram:7" in here.do("/away telegram").lines[0]
    assert here.do("/back").lines == ("· welcome back",)
    assert api.asked == [("away", {"target": "telegram"}), ("away", None)]
    assert "not away" in talk(RecordingClient(away={"conversation": None})).do("/away").lines[0]


def test_fork_switches_to_the_new_thread() -> None:
    here = talk(api := RecordingClient(fork={"id": "F", "title": "x (fork)"}))
    reply = here.do("/fork")
    assert (reply.moved, reply.lines, here.thread) == (True, ("· forked: x (fork)",), "F")
    here.do("/fork another way")
    assert [asked[-1]["title"] for asked in api.asked] == [None, "another way"]


def test_new_leaves_the_thread_and_the_next_message_starts_another() -> None:
    here = talk(api := RecordingClient(threads=accepted(thread="N")))
    assert here.do("/new").moved
    assert here.do("hello").moved
    assert (here.thread, api.asked[0][0]) == ("N", "threads")


def test_new_with_text_starts_the_thread_at_once() -> None:
    here = talk(api := RecordingClient(threads=accepted(thread="N")))
    reply = here.do("/new fix it")
    assert (reply.moved, reply.turn, here.thread, api.asked[0][-1]["text"]) == (True, "U", "N", "fix it")
    failing = talk(RecordingClient(threads=OutOfReach("no daemon answers")))
    assert failing.do("/new fix it").failed and failing.thread == "T"


GATE = {"id": "G", "code": "K7Q2", "thread": "T", "questions": [], "kind": "command", "title": "make", "state": "open"}


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("/approve k7q2", "K7Q2 y"),
        ("/同意 K7Q2 yes", "K7Q2 y"),
        ("/deny K7Q2 not today", "K7Q2 n not today"),
        ("/answer K7Q2 blue, or green", "K7Q2 blue, or green"),
    ],
)
def test_gates_are_answered_by_command_as_in_chats(line: str, text: str) -> None:
    here = talk(api := RecordingClient(k7q2=GATE, K7Q2=GATE, messages=accepted("answer", "Allowed.")))
    reply = here.do(line)
    assert (reply.lines, reply.turn, reply.moved) == (("· Allowed.",), "U", False)
    assert (api.asked[-1][:3], api.asked[-1][-1]["text"]) == (("threads", "T", "messages"), text)


def test_a_gate_of_another_thread_is_answered_without_going_there() -> None:
    here = talk(RecordingClient(K7Q2={**GATE, "thread": "O"}, messages=accepted("answer", thread="O")))
    reply = here.do("/approve K7Q2")
    assert (reply.turn, reply.moved, here.thread) == (None, False, "T")


@pytest.mark.parametrize("line", ["/approve K7Q2 but only once", "/approve ..", "/answer K7Q2", "/answer K7Q2 hunter2"])
def test_an_unclear_or_secret_answer_is_not_sent(line: str) -> None:
    here = talk(api := RecordingClient(K7Q2={**GATE, "questions": [question_view(secret=True)]}))
    assert here.do(line).failed
    assert [asked for asked in api.asked if asked[0] != "gates"] == []


def test_text_after_a_command_is_refused_while_a_secret_is_asked_for() -> None:
    secret = gate_view(questions=[question_view(secret=True)])
    here = talk(api := RecordingClient())
    for line in ("/new hunter2", "/fork hunter2", "/queue hunter2"):
        assert here.do(line, [secret]).failed and here.thread == "T"
    assert api.asked == []


def test_open_gates_are_listed() -> None:
    head, line = talk(RecordingClient(gates=[gate_view()])).do("/gates").lines
    assert head.startswith("CODE") and line.startswith("K7Q2")
    assert talk(RecordingClient(gates=[])).do("/待办").lines == ("· nothing waits for you",)


def test_settings_apply_to_the_next_new_thread(tmp_path: Path) -> None:
    status = {
        "daemon": made(DaemonView),
        "runtimes": [made(RuntimeView, name=name) for name in ("codex", "other")],
        "fates": {},
    }
    here = talk(api := RecordingClient(status=status, threads=accepted(thread="N")))
    here.do("/new")
    assert here.do("/runtime").lines == ("· new threads use the default runtime; there are: codex, other",)
    for line in ("/runtime other", "/model fast-one", "/effort high", "/policy careful", f"/dir {tmp_path}"):
        assert here.do(line).lines[0].startswith("· from the next /new on: ")
    assert here.do("/policy everything").failed
    assert here.do("/runtime nobody").failed and here.do("/dir /nowhere/at/all").failed
    assert here.do("/policy").lines[0].startswith("· new threads use the policy careful; there are: ")
    here.do("hello")
    body = api.asked[-1][-1]
    assert (body["runtime"], body["model"], body["workspace"]) == ("other", "fast-one", str(tmp_path))
    assert (body["effort"], body["policy"]) == ("high", "careful")


def test_settings_of_the_current_thread_hold_from_its_next_turn() -> None:
    models = [{"name": "large", "efforts": ["low", "max"], "is_default": True}, {"name": "small"}]
    view = thread_view(runtime="codex", model="large", effort=None, policy="careful")
    here = talk(api := RecordingClient(models=models, T=msgspec.to_builtins(view)))
    assert here.do("/model").lines == ("· this thread uses the model large; there are: large, small",)
    assert here.do("/强度").lines == ("· this thread uses the default effort; there are: low, max",)
    assert here.do("/policy").lines[0].startswith("· this thread uses the policy careful; there are: read-only, ")
    for line, body in (
        ("/model small", {"model": "small"}),
        ("/effort max", {"effort": "max"}),
        ("/策略 yolo", {"policy": "yolo"}),
    ):
        assert here.do(line).lines[0].startswith("· from the next turn of this thread on: ")
        assert api.asked[-1] == ("threads", "T", body)


def test_rules_that_apply_are_listed_and_removed_by_number() -> None:
    rules = [
        made(RuleView, id=id, effect="allow", kind="command", pattern=f"{id} *", scope=scope, place=place, until=until)
        for id, scope, place, until in (
            ("A1", "everywhere", "", None),
            ("B2", "workspace", "/elsewhere", None),
            ("C3", "thread", "T", None),
            ("D4", "everywhere", "", 1),
        )
    ]
    view = thread_view(id="T", workspace="/w")
    removed = msgspec.to_builtins(rules[2])
    here = talk(
        api := RecordingClient(rules=[*map(msgspec.to_builtins, rules)], T=msgspec.to_builtins(view), C3=removed)
    )
    lines = here.do("/rules").lines
    assert [line.split()[0] for line in lines[:-1]] == ["1", "2"] and "C3 *" in lines[1]
    for wrong in ("/rules remove 3", "/rules 1", "/rules remove x"):
        assert here.do(wrong).failed
    here.do("/rules remove 2")
    assert api.asked[-1][:2] == ("rules", "C3")


def test_history_and_changes_come_from_the_transcript() -> None:
    changed = made(ItemView, kind="change", title="a.txt", body="+one\n+two\n", outcome="ok")
    declined = made(ItemView, kind="change", title="b.txt", body="+three\n", outcome="declined")
    passages = [
        made(Passage, author="ann", text="hello\nthere"),
        made(Passage, author="codex", text="done", items=(changed, declined)),
    ]
    here = talk(RecordingClient(transcript=[*map(msgspec.to_builtins, passages)]))
    assert here.do("/history").lines == ("ann: hello there", "codex: done")
    assert here.do("/改动").lines == ("+one", "+two")
    assert here.do("/diff extra").failed


def test_help_is_in_the_language_of_the_terminal_or_of_the_word() -> None:
    here = talk(RecordingClient())
    assert here.do("/help").lines[0].startswith("  /new [TEXT]")
    assert here.do("/帮助").lines[0].startswith("  /新建 [内容]")
    here.chinese = True
    assert here.do("/help").lines[0].startswith("  /新建 [内容]")


@pytest.mark.parametrize("line", ["/fork", "/stop", "/status", "/where", "/done"])
def test_commands_that_need_a_thread_say_so_if_there_is_none(line: str) -> None:
    assert "there is no thread yet" in talk(RecordingClient(), None).do(line).lines[0]


def test_stop_and_done_call_the_api() -> None:
    here = talk(api := RecordingClient())
    assert here.do("/stop").lines == ("· stopping the turn…",)
    assert "completed" in here.do("/done").lines[0]
    posted = [asked[:3] for asked in api.asked if asked[2] in ("stop", "done")]
    assert posted == [("threads", "T", "stop"), ("threads", "T", "done")]


def test_where_shows_the_receipts() -> None:
    row = made(WhereRow, delivery="U:final", conversation="webhook:ci", state="sent", sent_at=0)
    (line,) = talk(RecordingClient(deliveries=(row,))).do("/where").lines
    assert line.split()[:3] == ["U:final", "webhook:ci", "sent"]
    assert talk(RecordingClient(deliveries=())).do("/where").lines == ("· it has no deliveries yet",)


def test_a_pasted_image_is_a_file_until_it_is_sent() -> None:
    here = talk(api := RecordingClient(messages=accepted()))
    assert here.do("data:image/png;base64,aGk=").lines == ("· attached pasted.png; it is sent with your next message",)
    (file,) = map(Path, here.files)
    assert (file.read_bytes(), file.parent.stat().st_mode & 0o777) == (b"hi", 0o700)
    here.do("look at this")
    assert api.asked[-1][-1]["attachments"] == [str(file)]
    assert not file.parent.exists()


def test_quit_leaves() -> None:
    assert talk(RecordingClient()).do("/quit").leave


def test_opening_a_thread_shows_its_status_and_the_last_messages() -> None:
    thread = thread_view(
        "01T", handle="fix-x", status="suspended", title="x", suspend_message="Cut off.\nReply `continue`."
    )
    said = [
        made(Passage, role="person", author="you", text="do\nit"),
        made(Passage, role="agent", author="codex", text="done", state="completed"),
        made(Passage, role="agent", author="codex", state="running"),
    ]
    assert recap(thread, said) == [
        InfoLine("· fix-x, suspended: x"),
        InfoLine("you: do it"),
        TextChunk("done\n", fresh=True),
        InfoLine("· Cut off."),
        InfoLine("· Reply `continue`."),
    ]
    assert suspension_lines(replace(thread, status="idle")) == []


def test_the_toolbar_shows_what_is_going_on() -> None:
    assert toolbar(5, None, None, None, 2) == "a new thread · /help · 2 attached"
    assert "working 5 s" in toolbar(5, "T", 0, None, 0)
    assert "the daemon is away for 3 s" in toolbar(5, "T", 0, 2, 0)


def test_runtime_switches_the_current_thread_and_ask_asks_another_agent() -> None:
    status = {
        "daemon": made(DaemonView),
        "runtimes": [made(RuntimeView, name=name) for name in ("codex", "other")],
        "fates": {},
    }
    view = msgspec.to_builtins(thread_view(runtime="codex", model="large"))
    here = talk(api := RecordingClient(status=status, T=view, ask=accepted(thread="F")), thread="T")
    assert here.do("/runtime").lines == ("· this thread uses the runtime codex; there are: codex, other",)
    assert here.do("/runtime other").lines == ("· from the next turn of this thread on: runtime=other",)
    assert api.asked[-1][-1] == {"runtime": "other"}
    assert here.do("/runtime nobody").failed
    assert here.do("/ask other is it right?").lines[0].startswith("· Other is asked")
    body = api.asked[-1][-1]
    assert (body["runtime"], body["question"]) == ("other", "is it right?")
