"""The daemon as a process: the lock of a home, its sockets, how it starts, fails and ends."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from clew.cli.doctor.checks import all_checks
from clew.process import lock, scan
from clew.support.errors import Stopped
from tests.helpers.daemons import SCRIPTED, Clew
from tests.helpers.receivers import Answer, Receiver

pytestmark = pytest.mark.process


@pytest.fixture
def clew(tmp_path: Path) -> Iterator[Clew]:
    with Clew(tmp_path / "home") as clew:
        yield clew


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_only_its_owner_can_open_the_socket(clew: Clew) -> None:
    clew.up()
    assert (mode(clew.home.socket), mode(clew.home.run)) == (0o600, 0o700)


def test_a_home_with_a_long_path_works_and_leaves_no_temporary_files(tmp_path: Path) -> None:
    with Clew(tmp_path / ("long" * 30)) as clew:
        clew.up()
        folder = clew.home.socket.parent
        assert folder != clew.home.run and mode(folder) == 0o700
        clew("down")
        assert not folder.exists()


def test_up_when_it_is_up_is_fine(clew: Clew) -> None:
    first = clew.json("up")
    again = clew.json("up")
    assert (first["started"], again["started"]) == (True, False)
    assert first["daemon"] == again["daemon"]


def test_of_many_concurrent_starts_one_starts_the_daemon(clew: Clew) -> None:
    several = [clew.begin("up", "--json") for _ in range(4)]
    answers = [json.loads(clew.wait(process).out) for process in several]
    assert len({answer["daemon"]["pid"] for answer in answers}) == 1
    assert [answer["started"] for answer in answers].count(True) == 1


def test_a_second_daemon_says_who_holds_the_store_and_disturbs_no_turn(clew: Clew) -> None:
    pid, gate = clew.up(), clew.gate("here")
    turn = clew.json("start", "!hold here\n!text the one answer")
    gate.wait()
    second = clew.run("up", "--foreground")
    assert second.code == 1
    assert f"held by a clew daemon with pid {pid}, since 20" in second.err
    gate.release()
    assert clew.wait_ended(turn)["text"] == "the one answer" and clew.pid == pid
    assert clew("read", turn["thread"]).count("\nthe one answer\n") == 1


def test_the_daemon_says_who_it_is(clew: Clew) -> None:
    pid = clew.up()
    daemon = clew.json("status")["daemon"]
    holder = lock.read(clew.home.lock)
    assert holder is not None
    assert (daemon["pid"], daemon["home"], daemon["http"]) == (pid, str(clew.root), None)
    assert (holder.pid, holder.since) == (pid, daemon["since"])


@pytest.mark.parametrize(
    "number",
    [signal.SIGTERM, *(pytest.param(each, marks=pytest.mark.heavy) for each in (signal.SIGINT, signal.SIGHUP))],
)
def test_a_signal_ends_it_in_order(clew: Clew, number: signal.Signals) -> None:
    daemon = clew.begin("up", "--foreground")
    assert daemon.stderr is not None
    assert daemon.stderr.readline().startswith("ready")
    daemon.send_signal(number)
    result = clew.wait(daemon)
    assert (result.code, result.err) == (0, "")
    assert not clew.home.socket.exists()
    assert lock.is_free(clew.home.lock)


def test_a_running_turn_gets_its_grace(clew: Clew) -> None:
    gate = clew.gate("grace")
    turn = clew.json("start", "!hold grace\n!text just in time")
    gate.wait()
    stopping = clew.begin("down", "--grace", "60")
    assert stopping.stderr is not None
    assert "up to 60 s" in stopping.stderr.readline()
    gate.release()
    assert clew.wait(stopping).code == 0
    clew.up()
    assert clew.wait_ended(turn)["text"] == "just in time"


def test_a_second_signal_does_not_wait_for_running_turns(clew: Clew) -> None:
    gate = clew.gate("hurry")
    clew.json("start", "!hold hurry")
    gate.wait()
    stopping = clew.begin("down", "--grace", "3600")
    assert stopping.stderr is not None
    stopping.stderr.readline()
    os.kill(clew.pid, signal.SIGTERM)  # whichever of the two comes first, the other is the second
    assert clew.wait(stopping).code == 0


def test_open_streams_end_when_it_stops_and_say_that_it_was_on_purpose(clew: Clew) -> None:
    clew.up()
    events = clew.events()
    assert next(events).kind == "hello"
    clew("down", "--grace", "0")
    with pytest.raises(Stopped):
        list(events)


def test_killed_it_leaves_a_socket_that_the_next_one_replaces(clew: Clew) -> None:
    clew.up()
    clew.kill_for_good()
    assert clew.home.socket.exists()
    assert clew.run("status").code == 3
    assert clew.json("threads") == []


def test_down_removes_what_a_killed_one_left(clew: Clew) -> None:
    clew.up()
    holder = lock.read(clew.home.lock)
    assert holder is not None and holder.store is not None
    mark = scan.Marks(holder.store, "dead").next()
    left = subprocess.Popen(["sleep", "600"], env={**os.environ, scan.VARIABLE: str(mark)})
    clew.kill_for_good()
    assert clew("down") == "not running\n"
    assert left.wait() == -signal.SIGTERM
    assert not clew.home.socket.exists()


def test_a_daemon_that_does_not_answer_is_ended_all_the_same(clew: Clew) -> None:
    pid = clew.up()
    holder = lock.read(clew.home.lock)
    assert holder is not None
    clew.home.socket.unlink()
    assert clew("down", "--grace", "0") == "stopped\n"
    assert scan.get(pid) is None


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ("[http]\nprot = 1\n", "line 2: http.prot is not a setting"),
        ('[http]\nhost = "203.0.113.1"\nport = 8000\n', "cannot listen at 203.0.113.1, port 8000"),
    ],
)
def test_a_config_that_cannot_be_used_is_told_by_the_command_that_starts_it(
    clew: Clew, config: str, words: str
) -> None:
    clew.configure(config)
    for command in (["up"], ["threads"]):
        result = clew.run(*command)
        assert result.code == 1
        assert words in result.err


def test_a_port_that_is_taken_is_named(clew: Clew) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        clew.configure(f"{SCRIPTED}[http]\nport = {port}\n")
        result = clew.run("up")
        found = next(finding for finding in all_checks(clew.home) if finding.check == "port")
    assert result.code == 1
    assert f"port {port} on 127.0.0.1 is taken by another program" in result.err
    assert not found.ok


def test_a_store_that_cannot_be_read_is_told_and_left_as_it_is(clew: Clew) -> None:
    clew.home.database.write_bytes(b"no database at all" * 100)
    result = clew.run("up")
    assert result.code == 1
    assert "is damaged" in result.err
    assert clew.home.database.read_bytes() == b"no database at all" * 100


def test_a_daemon_that_dies_while_it_starts_has_its_last_words_shown(clew: Clew) -> None:
    result = clew.run("up", env={"CLEW_CRASH": "store.migrated-not-committed"})
    assert result.code == 1
    assert "the daemon ended while it started" in result.err


def test_the_tcp_listener_has_the_whole_api_behind_its_token(clew: Clew) -> None:
    clew.configure(f"{SCRIPTED}[http]\nport = 0\n")
    clew.up()
    address = clew.json("status")["daemon"]["http"]
    with urlopen(f"{address}/healthz") as answer:
        assert json.load(answer) == {"ready": True, "reasons": [], "texts": {}}
    token = clew.json("token")["token"]
    for path in ("/api/status", "/metrics", "/nowhere"):
        assert _status(f"{address}{path}") == 401
    assert _status(f"{address}/api/status", token) == 200
    assert clew.home.token.stat().st_mode & 0o777 == 0o600
    new = clew.json("token", "rotate")["token"]
    assert new != token and (_status(f"{address}/api/status", token), _status(f"{address}/metrics", new)) == (401, 200)


def test_beyond_this_machine_it_listens_only_with_a_token_that_was_set_on_purpose(clew: Clew) -> None:
    clew.configure(f'{SCRIPTED}[http]\nhost = "0.0.0.0"\nport = 0\n')
    refused = clew.run("up")
    assert refused.code == 1 and "a token has to be set on purpose" in refused.err
    clew.configure(f'{SCRIPTED}[http]\nhost = "0.0.0.0"\nport = 0\ntoken = "one that I have chosen"\n')
    clew.up()
    assert "beyond this machine" in clew.logs()
    assert "set in config.toml" in clew.run("token", "rotate").err


def _status(address: str, token: str | None = None) -> int:
    request = Request(address, headers={"Authorization": f"Bearer {token}"} if token else {})
    try:
        with urlopen(request) as answer:
            status: int = answer.status
            return status
    except HTTPError as error:
        return error.code


def test_restart_keeps_what_was_said_and_tells_watchers_to_wait(clew: Clew) -> None:
    clew.up()
    thread = clew.json("run", "!text kept")["thread"]
    events = clew.events(thread, after=None)
    assert next(events).kind == "hello"
    before = clew.pid
    assert clew.json("restart")["daemon"]["pid"] != before
    assert next(events).kind == "bye"
    assert next(events).kind == "hello"
    assert clew.json("show", thread)["status"] == "idle"


def test_notify_sends_by_itself_what_is_owed_when_no_daemon_runs(clew: Clew) -> None:
    with Receiver(otherwise=Answer(503)) as receiver:
        clew.configure(f'{SCRIPTED}[surfaces.webhook.x]\nurl = "{receiver.url}"\nsecret = "of the test"\n')
        thread = clew.json("start", "!text owed", "--notify", "webhook:x")["thread"]
        receiver.wait_for(1)
        clew("down")
        (would,) = clew.json("notify", "--dry-run")
        assert (would["state"], would["target"]) == ("would send", "webhook:x")
        receiver.otherwise = Answer()
        (done,) = clew.json("notify")
        assert (done["state"], done["thread"]) == ("sent", thread)
        assert len(receiver.keys) == 1
        assert lock.is_free(clew.home.lock)
        assert clew.json("notify") == []


def test_notify_works_by_itself_when_no_daemon_runs_and_starts_none(clew: Clew) -> None:
    clew.up()
    clew("down")
    assert clew.json("notify", "--dry-run") == []
    assert lock.is_free(clew.home.lock)


def test_a_request_that_is_not_answered_is_sent_again_and_counts_once(clew: Clew) -> None:
    """The daemon dies after it has accepted a message and before it responds."""
    thread = clew.json("run", "!text hi")["thread"]
    clew("down")
    dies = clew.up(env={"CLEW_CRASH": "inbox.accepted-not-acknowledged"})
    sent = clew.json("send", thread, "!text once")
    assert (sent["fate"], sent["repeated"]) == ("turn", True)
    assert clew.pid != dies
    assert clew.wait_ended(sent)["text"] == "once"
    assert clew.json("status")["fates"]["turn"] == 2


def test_status_says_when_it_last_restarted_after_a_crash(clew: Clew) -> None:
    clew.up()
    assert clew.json("status")["daemon"]["recovered_at"] is None
    assert "crash:" not in clew("status")
    clew.kill()
    clew.up()
    daemon = clew.json("status")["daemon"]
    assert daemon["recovered_at"] == daemon["since"]
    assert "last restart after a crash: " in clew("status")
    clew("restart")
    assert clew.json("status")["daemon"]["recovered_at"] == daemon["recovered_at"], "nothing crashed since"
