"""A task whose daemon is killed by SIGKILL at the worst moments, with the real Codex: one answer, the right status, no
process left."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.crash.conftest import SECRET, System
from tests.helpers.receivers import post_signed

pytestmark = pytest.mark.process

POINTS = {
    "in mid-text": "turn.text-not-stored:20",
    "after the send and before its record": "outbox.sent-not-recorded",
}
MORE = {  # the matrix has each of these in some flow of every run
    "before the runtime saw the turn": "turn.claimed-not-sent",
    "when the runtime has it and we have not written that": "turn.sent-not-recorded",
    "after the end and before the owing": "turn.ended-not-owed",
    "before the answer leaves": "outbox.claimed-not-sent",
    "in the middle of a commit": "store.written-not-committed:4",
}


@pytest.mark.parametrize(
    "point",
    [
        *(pytest.param(point, id=name) for name, point in POINTS.items()),
        *(pytest.param(point, id=name, marks=pytest.mark.heavy) for name, point in MORE.items()),
    ],
)
def test_one_answer_arrives_wherever_the_daemon_is_killed(system: System, tmp_path: Path, point: str) -> None:
    clew = system.clew
    pid = clew.up(env={"CLEW_CRASH": point})
    thread = clew.json("start", "!say 60 words", "--notify", "webhook:x", "--workspace", str(tmp_path))["thread"]
    clew.wait_gone(pid)
    clew.up()
    clew.wait_for(thread, "delivery.sent")
    show = clew.json("show", thread)
    receipts = [row for row in clew.json("where", thread) if row["state"] == "sent"]
    clew("down")

    finals = [delivery for delivery in system.hook.deliveries if delivery.json["kind"] == "final"]
    assert len({delivery.id for delivery in finals}) == 1
    assert len({delivery.body for delivery in finals}) == 1
    assert len(system.hook.keys) == 1
    assert len(finals[0].json["text"].split()) == 60
    assert all(delivery.signed_with(SECRET) for delivery in finals)
    assert (show["status"], show["notification_status"]) == ("completed", "sent")
    assert [row["delivery"] for row in receipts] == [finals[0].id]
    assert clew.children() == []


def test_a_turn_that_ended_unseen_is_delivered_without_asking_the_model_again(system: System, tmp_path: Path) -> None:
    clew = system.clew
    pid = clew.up(env={"CLEW_CRASH": "turn.ended-not-owed"})
    thread = clew.json("start", "!text forty-two", "--notify", "webhook:x", "--workspace", str(tmp_path))["thread"]
    clew.wait_gone(pid)
    clew.up()
    clew.wait_for(thread, "delivery.sent")
    assert [delivery.json["text"] for delivery in system.hook.deliveries] == ["forty-two"]
    assert system.model.count("forty-two") == 1


def test_work_that_was_cut_off_is_continued_with_a_note(system: System, tmp_path: Path) -> None:
    clew, model = system.clew, system.model
    clew.up()
    command = "!text one moment\n!hold here\n!text the end"
    started = clew.json("start", command, "--notify", "webhook:x", "--workspace", str(tmp_path))
    model.wait_held("here")
    clew.kill()
    clew.up()
    model.release("here")  # only now; otherwise the old Codex could have finished
    clew.wait_for(started["thread"], "delivery.sent")
    [delivery] = system.hook.deliveries
    assert delivery.json["text"] == "one moment\nthe end"
    assert "continued" in delivery.json["note"]
    assert delivery.json["turn"] != started["turn"]
    rows = clew.json("where", started["thread"])
    assert [(row["delivery"], row["state"]) for row in rows] == [
        (f"{started['turn']}:final", "superseded"),
        (f"{delivery.json['turn']}:final", "sent"),
    ]
    assert clew.json("show", started["thread"])["status"] == "completed"
    assert "(cut off, goes on below)" in clew("read", started["thread"])


def test_a_chat_that_ran_a_command_asks_before_it_goes_on(system: System, tmp_path: Path) -> None:
    clew, model = system.clew, system.model
    clew.up()
    log = tmp_path / "ran"
    prompt = f"!shell echo ran >> {log}\n!hold here\n!text done"
    watched = clew.begin("run", prompt, "--workspace", str(tmp_path), "--policy", "yolo")
    model.wait_held("here")
    assert log.read_text() == "ran\n"
    clew.kill()
    clew.up()
    thread = clew.json("threads")[0]["id"]
    clew.wait_for(thread, "thread.status", status="suspended")
    view = clew.json("show", thread)
    assert view["suspended_by"] == "cut" and "continue" in view["suspend_message"]
    assert log.read_text() == "ran\n"
    clew.json("resume", view["id"], "--supplement", "stop")
    assert clew.json("show", view["id"])["status"] == "idle"
    clew.end(watched)


def test_a_duplicate_makes_one_turn_also_after_a_restart(system: System, tmp_path: Path) -> None:
    clew = system.clew
    clew.up()
    body = json.dumps({"id": "m1", "conversation": "c", "sender": "ann", "text": "!text once"}).encode()
    first = post_signed(clew.json("status")["daemon"]["http"], "x", SECRET, body)
    clew.wait_for(first["thread"], "delivery.sent")
    second = post_signed(clew.json("status")["daemon"]["http"], "x", SECRET, body)
    clew.kill()
    clew.up()
    third = post_signed(clew.json("status")["daemon"]["http"], "x", SECRET, body)
    assert {answer["turn"] for answer in (first, second, third)} == {first["turn"]}
    assert [answer["repeated"] for answer in (first, second, third)] == [False, True, True]
    assert third["state"] == "completed"
    assert system.model.count("once") == 1 and len(system.hook.deliveries) == 1
    assert clew.json("status")["fates"]["turn"] == 1


def test_of_two_resumes_at_once_one_runs(system: System, tmp_path: Path) -> None:
    clew = system.clew
    clew.up()
    thread = clew.json("start", "!text one", "--workspace", str(tmp_path))["thread"]
    clew.wait_for(thread, "thread.status", status="completed")
    both = [clew.begin("resume", thread, "--supplement", "!hold here\n!text two", "--json") for _ in range(2)]
    results = [clew.wait(process) for process in both]
    assert sorted(result.code for result in results) == [0, 1]
    clew.wait_for(thread, "thread.status", status="idle")
    loser = next(result for result in results if result.code == 1)
    assert "cannot be resumed" in loser.json["error"]["message"]
    won = next(result for result in results if result.code == 0).json
    system.model.release("here")
    clew.wait_ended(won)
    assert system.model.count("two") == 1
