"""The requests of the API that clients use: each with its path, its parameters and the type of its response.

`Client.ask` and `AsyncClient.ask` send them. A test compares the types with those of the server's routes.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Generic, TypeVar

from msgspec import Struct, field

from clew.model.gate_views import GateView, RuleTest, RuleView, Verdict
from clew.model.messages import Fate
from clew.model.turns import Prelude
from clew.model.views import (
    AdoptableView,
    AskingView,
    AwayView,
    ContinuityView,
    DamagedRow,
    LoginView,
    Notified,
    Page,
    Passage,
    PersonView,
    ReleasedView,
    StatusView,
    SteerView,
    ThreadView,
    TurnView,
    WhereRow,
)
from clew.support.coded import Coded, with_code

if TYPE_CHECKING:  # few commands need them
    from clew.model.budgets import UsageView
    from clew.model.events.accounts import LimitView
    from clew.model.handoff import HandoffView
    from clew.model.runtime import ModelInfo

T = TypeVar("T")
Body = Mapping[str, object]


class Request(Struct, Generic[T], frozen=True):
    """`gives` is the type of the response."""

    gives: type[T]
    method: str
    path: tuple[str, ...]
    query: Mapping[str, object] = {}
    body: Body | None = None

    @property
    def is_repeatable(self) -> bool:
        """Whether it may be sent again after a lost connection. The daemon accepts each message id once."""
        return self.method in ("GET", "PUT", "PATCH") or "message_id" in (self.body or {})


class Sent(Struct, frozen=True):
    """The outcome of a message. It is stored: it stays true even if the daemon crashes now."""

    fate: Fate  # `turn`, `steer`, `answer` or `command`
    thread: str
    turn: str | None  # the turn that it started, or that it was steered into
    state: str | None = None  # the turn's, when it was accepted
    words: str = ""  # the reply for a person; empty if the agent's answer is enough
    repeated: bool = False  # this id was accepted before; this is the outcome of the first one
    texts: dict[str, Coded] = field(default_factory=dict)  # the code of `words`, if it is a sentence of clew

    @property
    def reply(self) -> str:
        """`words`, with its code."""
        return with_code(self.words, self.texts.get("words"))


def new_message_id() -> str:
    """Create an id before the first try, so that the daemon recognizes a retry as the same message."""
    return os.urandom(16).hex()


def _get(gives: type[T], *path: str, **query: object) -> Request[T]:
    return Request(gives, "GET", path, query)


def _post(gives: type[T], *path: str, **body: object) -> Request[T]:
    return Request(gives, "POST", path, body=body)


# Threads


def threads(
    *,
    history: bool = False,
    status: str | None = None,
    text: str | None = None,
    workspace: str | None = None,
    before: str | None = None,
    limit: int = 50,
    newest: bool | None = None,
) -> Request[Page]:
    wanted = {"workspace": workspace, "history": history, "status": status, "text": text}
    return _get(Page, "threads", **wanted, limit=limit, before=before, newest=newest)


def thread(name: str) -> Request[ThreadView]:
    return _get(ThreadView, "threads", name)


def start(
    text: str,
    *,
    kind: str,
    workspace: str,
    title: str | None = None,
    runtime: str | None = None,
    model: str | None = None,
    effort: str | None = None,
    policy: str | None = None,
    notify: str | None = None,
    priority: str | None = None,
    files: Sequence[str] = (),
    sender: str = "you",
    message_id: str | None = None,
) -> Request[Sent]:
    """Start a thread with its first message."""
    body = {
        "message_id": message_id or new_message_id(),
        "text": text,
        "kind": kind,
        "workspace": workspace,
        "title": title,
        "runtime": runtime,
        "model": model,
        "effort": effort,
        "policy": policy,
        "notify": notify,
        "sender": sender,
        "attachments": list(files),
        **({"priority": priority} if priority else {}),
    }
    return Request(Sent, "POST", ("threads",), body=body)


def send(
    thread: str,
    text: str,
    *,
    queue: bool = False,
    files: Sequence[str] = (),
    sees: Sequence[str] | None = None,
    answers: str | None = None,
    sender: str = "you",
    message_id: str | None = None,
) -> Request[Sent]:
    """`sees` are ids of the gates that were shown as open, `answers` the question of a suspended thread: a short text
    answers only these."""
    body: dict[str, object] = {"message_id": message_id or new_message_id(), "text": text, "queue": queue}
    body |= {"attachments": list(files), "sender": sender}
    body |= {} if sees is None else {"sees": list(sees)}
    body |= {} if answers is None else {"answers": answers}
    return Request(Sent, "POST", ("threads", thread, "messages"), body=body)


def resume(thread: str, supplement: str, *, sender: str = "you", message_id: str | None = None) -> Request[Sent]:
    message_id = message_id or new_message_id()
    return _post(Sent, "threads", thread, "resume", message_id=message_id, supplement=supplement, sender=sender)


def stop(thread: str) -> Request[TurnView]:
    return _post(TurnView, "threads", thread, "stop")


def done(thread: str) -> Request[ThreadView]:
    return _post(ThreadView, "threads", thread, "done")


def finish_idle(idle_for: float, *, dry_run: bool = False) -> Request[list[ThreadView]]:
    """Complete the chats that were idle for so many seconds."""
    return _post(list[ThreadView], "threads", "done", idle_for=idle_for, dry_run=dry_run)


def cancel(thread: str) -> Request[ThreadView]:
    return _post(ThreadView, "threads", thread, "cancel")


def fork(thread: str, turn: str | None = None, title: str | None = None) -> Request[ThreadView]:
    return _post(ThreadView, "threads", thread, "fork", turn=turn, title=title)


def ask(
    thread: str, runtime: str, question: str, *, sender: str = "you", message_id: str | None = None
) -> Request[Sent]:
    """Ask another agent about the thread. The response names the fork on which it works, and the turn there."""
    body = {"message_id": message_id or new_message_id(), "runtime": runtime, "question": question, "sender": sender}
    return _post(Sent, "threads", thread, "ask", **body)


def prelude(turn: str) -> Request[Prelude]:
    return _get(Prelude, "turns", turn, "prelude")


def retitle(thread: str, title: str) -> Request[ThreadView]:
    return Request(ThreadView, "PATCH", ("threads", thread), body={"title": title})


def change(
    thread: str,
    *,
    title: str | None = None,
    model: str | None = None,
    effort: str | None = None,
    policy: str | None = None,
    runtime: str | None = None,
    priority: str | None = None,
    fallback: str | None = None,
    on_limit: str | None = None,
    limit_waits: str | None = None,
    quiet_hours: str | None = None,
    notify: str | None = None,
) -> Request[ThreadView]:
    """Change the title, or the agent and the settings, which hold from the next turn."""
    given = {
        "title": title,
        "model": model,
        "effort": effort,
        "policy": policy,
        "runtime": runtime,
        "priority": priority,
        "fallback": fallback,
        "on_limit": on_limit,
        "limit_waits": limit_waits,
        "quiet_hours": quiet_hours,
        "notify": notify,
    }
    body = {name: value for name, value in given.items() if value is not None}
    return Request(ThreadView, "PATCH", ("threads", thread), body=body)


def limit(thread: str, **budget: int) -> Request[ThreadView]:
    """Give a thread a budget of its own, as `PATCH /api/threads/{thread}` takes it. 0: that of the settings again."""
    return Request(ThreadView, "PATCH", ("threads", thread), body={"budget": budget})


def models(runtime: str) -> Request[tuple[ModelInfo, ...]]:
    from clew.model.runtime import ModelInfo  # with the seams of runtimes, which no other request needs

    return _get(tuple[ModelInfo, ...], "runtimes", runtime, "models")


def limits() -> Request[tuple[LimitView, ...]]:
    """Those that can tell are asked, once a minute at most."""
    from clew.model.events.accounts import LimitView

    return _get(tuple[LimitView, ...], "limits", ask=True)


def drive(thread: str) -> Request[ThreadView]:
    """Continue the thread here: the local client drives it from now on."""
    return _post(ThreadView, "threads", thread, "wheel")


def transcript(thread: str, limit: int) -> Request[tuple[Passage, ...]]:
    return _get(tuple[Passage, ...], "threads", thread, "transcript", limit=limit)


def deliveries(thread: str) -> Request[tuple[WhereRow, ...]]:
    return _get(tuple[WhereRow, ...], "threads", thread, "deliveries")


def continuity(thread: str) -> Request[tuple[ContinuityView, ...]]:
    return _get(tuple[ContinuityView, ...], "threads", thread, "continuity")


def turn(name: str) -> Request[TurnView]:
    return _get(TurnView, "turns", name)


def steers(turn: str) -> Request[tuple[SteerView, ...]]:
    return _get(tuple[SteerView, ...], "turns", turn, "steers")


# Sessions started outside clew


def adoptable(
    runtime: str | None = None, workspace: str | None = None, limit: int = 50
) -> Request[tuple[AdoptableView, ...]]:
    return _get(tuple[AdoptableView, ...], "adoptable", runtime=runtime, workspace=workspace, limit=limit)


def adopt(
    session: str, *, runtime: str | None, fork: bool, workspace: str | None, policy: str | None
) -> Request[ThreadView]:
    given = {"runtime": runtime, "fork": fork, "policy": policy}
    return _post(ThreadView, "adoptions", **given, session=session, workspace=workspace)


def release(thread: str) -> Request[ReleasedView]:
    return _post(ReleasedView, "threads", thread, "release")


# Gates and rules


def gates(thread: str | None = None) -> Request[tuple[GateView, ...]]:
    return _get(tuple[GateView, ...], "gates", thread=thread)


def gate(name: str) -> Request[GateView]:
    return _get(GateView, "gates", name)


def answer(gate: str, decision: str, **more: object) -> Request[GateView]:
    """`more` as `POST /api/gates/{gate}/answer` takes it."""
    return _post(GateView, "gates", gate, "answer", decision=decision, **more)


def accept_all(thread: str, codes: Sequence[str]) -> Request[tuple[GateView, ...]]:
    return _post(tuple[GateView, ...], "threads", thread, "gates", "accept", codes=list(codes))


def rules() -> Request[tuple[RuleView, ...]]:
    return _get(tuple[RuleView, ...], "rules")


def add_rule(effect: str, pattern: str, **more: object) -> Request[RuleView]:
    """`more` as `POST /api/rules` takes it."""
    return _post(RuleView, "rules", effect=effect, pattern=pattern, **more)


def remove_rule(rule: str) -> Request[RuleView]:
    return Request(RuleView, "DELETE", ("rules", rule))


def try_rules(subject: str, *, kind: str, workspace: str, thread: str | None = None) -> Request[RuleTest]:
    place = {"thread": thread} if thread else {}
    return _post(RuleTest, "rules", "test", subject=subject, kind=kind, workspace=workspace, **place)


# Handoff and people


def hand_over(thread: str, target: str, say: str = "", *, quiet: bool = False) -> Request[HandoffView]:
    """It has an id of its own: sent again after a lost connection, it is the same handoff."""
    from clew.model.handoff import HandoffView

    id = new_message_id()
    return _post(HandoffView, "handoffs", thread=thread, target=target, say=say, quiet=quiet, message_id=id)


def handoffs() -> Request[tuple[HandoffView, ...]]:
    from clew.model.handoff import HandoffView

    return _get(tuple[HandoffView, ...], "handoffs")


def handoff(name: str, wait: float) -> Request[HandoffView]:
    """Answered when the handoff has ended, or after `wait` seconds."""
    from clew.model.handoff import HandoffView

    return _get(HandoffView, "handoffs", name, wait=wait)


def cancel_handoff(name: str) -> Request[HandoffView]:
    from clew.model.handoff import HandoffView

    return Request(HandoffView, "DELETE", ("handoffs", name))


def away() -> Request[AwayView]:
    return _get(AwayView, "away")


def go_away(target: str) -> Request[AwayView]:
    return Request(AwayView, "PUT", ("away",), body={"target": target})


def come_back() -> Request[AwayView]:
    return Request(AwayView, "DELETE", ("away",))


def usage(by: str = "account", since: str | None = None) -> Request[UsageView]:
    from clew.model.budgets import UsageView

    return _get(UsageView, "usage", by=by, since=since)


def people() -> Request[tuple[PersonView, ...]]:
    return _get(tuple[PersonView, ...], "people")


def people_asking() -> Request[tuple[AskingView, ...]]:
    return _get(tuple[AskingView, ...], "people", "asking")


def pair(code: str, role: str, *, force: bool = False) -> Request[PersonView]:
    forced = {"force": True} if force else {}
    return _post(PersonView, "people", code=code, role=role, **forced)


def remove_person(person: str) -> Request[PersonView]:
    return Request(PersonView, "DELETE", ("people", person))


# The daemon


def status() -> Request[StatusView]:
    return _get(StatusView, "status")


def login() -> Request[LoginView]:
    return _post(LoginView, "logins")


def verify(thread: str | None) -> Request[Verdict]:
    """Its response is lines: one verdict each."""
    return _post(Verdict, "verify", thread=thread)


def damaged_rows() -> Request[tuple[DamagedRow, ...]]:
    return _get(tuple[DamagedRow, ...], "repair")


def repair() -> Request[tuple[DamagedRow, ...]]:
    return _post(tuple[DamagedRow, ...], "repair")


def notify(*, dry_run: bool = False, retry_failed: bool = False) -> Request[tuple[Notified, ...]]:
    return _post(tuple[Notified, ...], "notify", dry_run=dry_run, retry_failed=retry_failed)
