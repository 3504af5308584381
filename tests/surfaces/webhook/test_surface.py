"""The webhook surface with a real receiver on loopback, and its HTTP route."""

from __future__ import annotations

import asyncio
import json
import logging
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
import uvicorn
from msgspec.structs import replace
from starlette.applications import Starlette

from clew import __version__
from clew.model.delivery import DeliveryKind
from clew.model.messages import Accepted, Conversation, Fate, Inbound
from clew.model.surface import Down, Inbox, InDoubt, KnownConversation, Never, NotSent, Outgoing, Surface, TryAgain
from clew.server.openapi import describe
from clew.server.routes.surfaces import _bounded, router
from clew.support.addresses import origin
from clew.support.clock import SystemClock
from clew.support.errors import BadInput, ConfigError, Refused, StoreError
from clew.surfaces.signing import sign
from clew.surfaces.webhook.receiving import MAX_BODY
from clew.surfaces.webhook.sending import retry_after
from clew.surfaces.webhook.settings import WebhookConfig
from clew.surfaces.webhook.surface import WebhookSurface
from tests.helpers.receivers import TIMEOUT, Answer, Hang, Receiver

SECRET = "correct-horse"
NOW = 1_800_000_000


class StoppedClock(SystemClock):
    def __init__(self, seconds: int = NOW) -> None:
        super().__init__()
        self.seconds = seconds

    def now(self) -> int:
        return self.seconds * 1000


@dataclass
class FakeInbox:
    answer: Accepted = field(default_factory=lambda: Accepted(Fate.TURN, "T1", "U1", "queued"))
    error: Exception | None = None
    got: list[Inbound] = field(default_factory=list)

    async def known(self, surface: str) -> list[KnownConversation]:
        return []

    async def moved(self, old: Conversation, new: Conversation) -> None:
        raise NotImplementedError

    async def edited(self, inbound: Inbound) -> None:
        raise AssertionError

    async def deleted(self, surface: str, message: str) -> None:
        raise AssertionError

    async def welcomes(self, inbound: Inbound) -> bool:
        return True

    async def accept(self, inbound: Inbound) -> Accepted:
        self.got.append(inbound)
        if self.error:
            raise self.error
        return self.answer


FINAL = Outgoing("U1:final", DeliveryKind.FINAL, Conversation("webhook", "ci"), "T1", "U1", "done: 你好 \U0001f9f6")


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver


@pytest.fixture
def clock() -> StoppedClock:
    return StoppedClock()


@pytest.fixture
async def surface(receiver: Receiver, clock: StoppedClock) -> AsyncIterator[WebhookSurface]:
    hooks = {"ci": WebhookConfig(SECRET, receiver.url, timeout=TIMEOUT), "inward": WebhookConfig("other")}
    surface = WebhookSurface(hooks, clock)
    yield surface
    await surface.close()


def aimed_at(url: str, timeout: float = TIMEOUT) -> WebhookSurface:
    return WebhookSurface({"ci": WebhookConfig(SECRET, url, timeout=timeout)}, StoppedClock())


async def failure(surface: WebhookSurface, outgoing: Outgoing = FINAL) -> NotSent:
    with pytest.raises(NotSent) as caught:
        await surface.send(outgoing)
    assert SECRET not in caught.value.reason
    return caught.value


# Outbound


async def test_it_is_a_surface(surface: WebhookSurface) -> None:
    checked: Surface = surface
    assert checked.name == "webhook"
    assert checked.can.send and not checked.can.edit
    assert checked.can.idempotency_window == float("inf")


async def test_a_delivery_is_posted_as_signed_json(surface: WebhookSurface, receiver: Receiver) -> None:
    receipt = await surface.send(FINAL)
    (got,) = receiver.deliveries
    assert (got.method, got.path, got.id) == ("POST", "/hook", "U1:final")
    assert got.json == {
        "id": "U1:final",
        "kind": "final",
        "conversation": "ci",
        "thread": "T1",
        "turn": "U1",
        "text": FINAL.text,
    }
    assert got.headers["content-type"] == "application/json"
    assert got.headers["user-agent"] == f"clew/{__version__}"
    assert got.headers["x-clew-timestamp"] == str(NOW)
    assert got.signed_with(SECRET) and not got.signed_with("wrong")
    assert (receipt.conversation, receipt.message_id) == (FINAL.conversation, "U1:final")


async def test_a_delivery_sent_twice_has_equal_bytes_and_a_fresh_signature(
    surface: WebhookSurface, receiver: Receiver, clock: StoppedClock
) -> None:
    await surface.send(FINAL)
    clock.seconds += 60
    await surface.send(FINAL)
    first, second = receiver.deliveries
    assert first.body == second.body and receiver.keys == ["U1:final"]
    assert second.headers["x-clew-timestamp"] == str(NOW + 60) and second.signed_with(SECRET)
    assert receiver.connections == 1


@pytest.mark.parametrize("conversation", ["build 7", "a/b/c", "", "ci", "https://x/?y=z#:", "你好\n"])
async def test_an_answer_names_the_conversation_as_its_sender_did(
    surface: WebhookSurface, receiver: Receiver, clock: StoppedClock, conversation: str
) -> None:
    inbox = FakeInbox()
    body = message(conversation=conversation)
    await surface.receive("ci", signed(body), body, inbox)
    await surface.send(replace(FINAL, conversation=inbox.got[0].conversation))
    assert receiver.deliveries[0].json["conversation"] == conversation
    assert (inbox.got[0].conversation == FINAL.conversation) == (conversation == "ci")
    assert surface.resolve(inbox.got[0].conversation.address) == inbox.got[0].conversation
    assert Conversation.parse(str(inbox.got[0].conversation)) == inbox.got[0].conversation


@pytest.mark.parametrize(
    ("answer", "message_id"),
    [
        (Answer(200, b'{"id": "m-7"}'), "m-7"),
        (Answer(202), "U1:final"),
        (Answer(204), "U1:final"),
        (Answer(200, b'{"id": 7}'), "U1:final"),
        (Answer(200, b'["id"]'), "U1:final"),
        (Answer(200, b'{"id": ""}'), "U1:final"),
        (Answer(200, b'{"id": "a\\u001bb"}'), "U1:final"),
        (Answer(200, b"[" * 50_000), "U1:final"),
        (Answer(200, b'{"id": "big"}' + b" " * 1_000_000), "big"),
        (Answer(200, b'{"id": "cut', {"Content-Length": "999"}), "U1:final"),
    ],
    ids=lambda value: value if isinstance(value, str) else f"{value.status} {value.body[:20]!r}",
)
async def test_any_2xx_is_a_receipt(
    surface: WebhookSurface, receiver: Receiver, answer: Answer, message_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "Content-Length" in answer.headers:
        monkeypatch.setattr("clew.surfaces.webhook.sending.ANSWER_TIMEOUT", 0.01)
    receiver.then(answer)
    assert (await surface.send(FINAL)).message_id == message_id


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 599])
async def test_a_temporary_failure_is_retried(surface: WebhookSurface, receiver: Receiver, status: int) -> None:
    receiver.then(Answer(status, b"later", {"Retry-After": "17"}))
    error = await failure(surface)
    assert isinstance(error, TryAgain)
    assert str(status) in error.reason and error.retry_after == 17


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 422, 451])
async def test_any_other_4xx_is_a_permanent_failure(surface: WebhookSurface, receiver: Receiver, status: int) -> None:
    receiver.then(Answer(status, b"no such\r\n\x1b[31mhook\x00"))
    error = await failure(surface)
    assert isinstance(error, Never)
    assert error.reason == f"webhook ci at {origin(receiver.url)} answered {status}: no such [31mhook"


async def test_the_reason_is_short_and_never_holds_the_secret(surface: WebhookSurface, receiver: Receiver) -> None:
    receiver.then(Answer(400, b"your secret is " + SECRET.encode() + b", " + b"x" * 10_000))
    error = await failure(surface)
    assert "[secret]" in error.reason and len(error.reason) < 300


@pytest.mark.parametrize(
    ("location", "words"),
    [
        ("https://elsewhere.example/hook?token=abc", "a redirect to https://elsewhere.example;"),
        ("https://u:abc@elsewhere.example:8443/abc", "a redirect to https://elsewhere.example:8443;"),
        ("/abc", "a redirect to another path of http://127.0.0.1:"),
        ("http://[abc", "a redirect to a malformed address;"),
        ("", "a redirect to nowhere;"),
    ],
)
async def test_a_redirect_is_not_followed_and_is_a_permanent_failure(
    surface: WebhookSurface, receiver: Receiver, location: str, words: str
) -> None:
    receiver.then(Answer(302, headers={"Location": location}))
    error = await failure(surface)
    assert isinstance(error, Never)
    assert words in error.reason and "abc" not in error.reason
    assert len(receiver.deliveries) == 1


async def test_a_receiver_that_is_away_is_down_and_comes_back(surface: WebhookSurface, receiver: Receiver) -> None:
    receiver.close()
    error = await failure(surface)
    assert isinstance(error, Down) and origin(receiver.url) in error.reason
    receiver.start()
    await surface.send(FINAL)
    assert receiver.keys == ["U1:final"]


async def test_a_host_that_does_not_resolve_is_down(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*args: object, **options: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    surface = aimed_at("http://nowhere.invalid/hook?token=abc")
    error = await failure(surface)
    assert isinstance(error, Down) and "abc" not in error.reason
    await surface.close()


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (httpx.ConnectTimeout(""), Down),
        (httpx.PoolTimeout(""), Down),
        (httpx.ProxyError("407"), Down),
        (httpx.WriteTimeout(""), InDoubt),
        (httpx.WriteError("broken pipe"), InDoubt),
        (httpx.ReadError(""), InDoubt),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else value.__name__,
)
async def test_an_unsent_request_is_down_and_a_sent_one_is_in_doubt(
    monkeypatch: pytest.MonkeyPatch, error: Exception, kind: type[NotSent]
) -> None:
    def fail(request: httpx.Request) -> httpx.Response:
        raise error

    surface = aimed_at("http://127.0.0.1:1")
    monkeypatch.setattr(surface._sender, "_client", httpx.AsyncClient(transport=httpx.MockTransport(fail)))
    caught = await failure(surface)
    assert type(caught) is kind and not caught.reason.endswith(": ")
    await surface.close()


async def test_a_connection_lost_after_the_request_is_in_doubt(surface: WebhookSurface, receiver: Receiver) -> None:
    receiver.then(Hang.UP)
    assert isinstance(await failure(surface), InDoubt)
    await surface.send(FINAL)
    first, second = receiver.deliveries
    assert first.body == second.body and receiver.keys == ["U1:final"]


async def test_a_missing_response_is_in_doubt(
    surface: WebhookSurface, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    await surface.send(FINAL)  # open the connection first: that may take longer than the timeout
    receiver.then(Hang.UNTIL_RELEASED)
    monkeypatch.setattr(surface, "_config", {"ci": WebhookConfig(SECRET, receiver.url, timeout=0.5)})
    assert isinstance(await failure(surface), InDoubt)
    assert receiver.connections == 1


@pytest.mark.process
def test_a_process_that_waits_for_an_answer_can_be_killed(receiver: Receiver) -> None:
    """The crash tests rely on this: the receiver has it, and the sender died before the response."""
    receiver.then(Hang.UNTIL_RELEASED)
    program = f"import httpx; httpx.post({receiver.url!r}, headers={{'Idempotency-Key': 'k'}}, content=b'x')"
    child = subprocess.Popen([sys.executable, "-c", program])
    receiver.wait_for(1)
    child.kill()
    assert child.wait(60) == -signal.SIGKILL
    receiver.release()
    assert receiver.keys == ["k"]


async def test_a_released_receiver_answers(surface: WebhookSurface, receiver: Receiver) -> None:
    receiver.then(Hang.UNTIL_RELEASED)
    sending = asyncio.ensure_future(surface.send(FINAL))
    await asyncio.to_thread(receiver.wait_for, 1)
    assert not sending.done()
    receiver.release()
    assert (await sending).message_id == "U1:final"


def test_a_receiver_that_times_out_shows_what_it_has() -> None:
    with Receiver() as receiver, pytest.raises(AssertionError, match="expected 1 deliveries within 0 s, got 0"):
        receiver.wait_for(1, timeout=0)


async def test_an_address_is_not_written_to_the_log(receiver: Receiver, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    surface = aimed_at(f"{receiver.url}?token=abc")
    receiver.then(Answer(), Hang.UP)
    await surface.send(FINAL)
    await failure(surface)
    await surface.close()
    assert "abc" not in caplog.text


@pytest.mark.parametrize(
    ("address", "words"), [("inward", r"set `url` in \[surfaces.webhook.inward\]"), ("gone/x", "known: ci, inward")]
)
async def test_an_answer_without_a_target_is_a_permanent_failure(
    surface: WebhookSurface, address: str, words: str
) -> None:
    with pytest.raises(Never, match=words):
        await surface.send(replace(FINAL, conversation=Conversation("webhook", address)))


async def test_a_post_cannot_be_edited_or_found(surface: WebhookSurface) -> None:
    receipt = await surface.send(FINAL)
    with pytest.raises(Never):
        await surface.edit(receipt, FINAL)
    assert await surface.find(FINAL) is None


async def test_closing_twice_is_fine(surface: WebhookSurface) -> None:
    await surface.send(FINAL)
    await surface.close()
    await surface.close()


# Targets and config


def test_a_target_is_a_name_or_a_conversation_of_it(clock: StoppedClock) -> None:
    surface = WebhookSurface({"ci": WebhookConfig(SECRET, "http://127.0.0.1:1")}, clock)
    assert surface.resolve("ci") == Conversation("webhook", "ci")
    assert surface.resolve("ci/build 7") == Conversation("webhook", "ci/build 7")
    assert surface.resolve("ci/ci") == Conversation("webhook", "ci")


@pytest.mark.parametrize("address", ["", "nope", "nope/x"])
def test_an_unknown_target_lists_the_known_ones(clock: StoppedClock, address: str) -> None:
    surface = WebhookSurface({"ci": WebhookConfig(SECRET), "backup": WebhookConfig(SECRET)}, clock)
    with pytest.raises(BadInput, match="known: backup, ci"):
        surface.resolve(address)


def test_a_target_that_only_receives_says_what_to_set(clock: StoppedClock) -> None:
    surface = WebhookSurface({"ci": WebhookConfig(SECRET)}, clock)
    with pytest.raises(BadInput, match=r"set `url` in \[surfaces.webhook.ci\]"):
        surface.resolve("ci")


@pytest.mark.parametrize("name", ["", "a/b", "a b", "é", "a:b", "a\n"])
def test_a_name_is_plain(clock: StoppedClock, name: str) -> None:
    with pytest.raises(ConfigError, match="name"):
        WebhookSurface({name: WebhookConfig(SECRET)}, clock)


def test_an_empty_secret_is_refused(clock: StoppedClock) -> None:
    with pytest.raises(ConfigError, match="secret"):
        WebhookSurface({"ci": WebhookConfig("")}, clock)


@pytest.mark.parametrize("url", ["http://127.0.0.1:x/?token=abc", "gopher://a/?token=abc", "http:///abc"])
async def test_an_invalid_url_is_a_permanent_failure(url: str) -> None:
    surface = aimed_at(url)
    error = await failure(surface)
    assert isinstance(error, Never) and "url" in error.reason and "abc" not in error.reason
    await surface.close()


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        ("0", 0),
        (" 120 ", 120),
        ("Fri, 15 Jan 2027 08:01:40 GMT", 100),
        ("Fri, 15 Jan 2027 08:01:40 -0000", 100),
        ("Fri, 15 Jan 2027 07:00:00 GMT", 0),
        ("soon", None),
        ("-5", None),
        ("9" * 400, None),
    ],
)
def test_retry_after_is_seconds_or_a_date(value: str | None, seconds: float | None) -> None:
    assert retry_after(value, NOW) == seconds


def test_only_the_origin_of_an_address_is_shown() -> None:
    assert origin("https://user:pw@Example.com/a/b?c=d") == "https://example.com"
    assert origin("http://[::1]:8080/a") == "http://[::1]:8080"


# Inbound


def message(**changes: Any) -> bytes:
    fields = {"id": "m1", "conversation": "build 7", "sender": "jenkins", "text": "why is it red?", **changes}
    return json.dumps({name: value for name, value in fields.items() if value is not ...}).encode()


def signed(body: bytes, secret: str = SECRET, at: int = NOW) -> dict[str, str]:
    return {"X-Clew-Timestamp": str(at), "X-Clew-Signature": sign(secret, at, body)}


def served(surface: WebhookSurface, inbox: Inbox | None) -> Starlette:
    if inbox is not None:
        surface.inbox = inbox
    return Starlette(routes=[route.served() for route in router("webhook", surface.routes()).routes])


async def post(
    surface: WebhookSurface, body: Any, headers: dict[str, str], inbox: Inbox | None = None, name: str = "ci"
) -> httpx.Response:
    app = served(surface, inbox)
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://clew") as client:
        return await client.post(f"/surfaces/webhook/{name}", content=body, headers=headers)


async def test_a_signed_message_is_accepted_and_then_answered(surface: WebhookSurface) -> None:
    inbox, body = FakeInbox(), message()
    response = await post(surface, body, signed(body), inbox)
    where = Conversation("webhook", "ci/build 7")
    assert inbox.got == [Inbound(where, "m1", "jenkins", "why is it red?", sent_at=NOW * 1000)]
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/json"
    assert response.json() == {
        "fate": "turn",
        "thread": "T1",
        "turn": "U1",
        "state": "queued",
        "words": "",
        "repeated": False,
    }


async def test_a_message_was_said_when_it_was_signed(surface: WebhookSurface) -> None:
    inbox, body = FakeInbox(), message(text="y")
    await post(surface, body, signed(body, at=NOW - 7), inbox)
    assert [inbound.sent_at for inbound in inbox.got] == [(NOW - 7) * 1000]


async def test_a_repeated_message_gets_the_same_reply(surface: WebhookSurface) -> None:
    inbox, body = FakeInbox(Accepted(Fate.TURN, "T1", "U1", "completed", repeated=True)), message()
    response = await post(surface, body, signed(body), inbox)
    assert response.json()["repeated"] is True and response.json()["state"] == "completed"


async def test_a_refused_message_is_stored_and_the_reply_says_so(surface: WebhookSurface) -> None:
    inbox, body = FakeInbox(Accepted(Fate.REFUSED, None, None, words="this thread was cancelled; fork it")), message()
    response = await post(surface, body, signed(body), inbox)
    assert response.status_code == 200
    assert response.json()["fate"] == "refused" and "fork it" in response.json()["words"]


async def test_a_name_without_a_url_receives(surface: WebhookSurface) -> None:
    inbox, body = FakeInbox(), message()
    assert (await post(surface, body, signed(body, "other"), inbox, "inward")).status_code == 200
    assert inbox.got[0].conversation.address == "inward/build 7"


def assert_problem(response: httpx.Response, status: int, code: str) -> str:
    assert response.status_code == status
    assert response.headers["content-type"] == "application/problem+json"
    problem = response.json()
    assert set(problem) - {"texts"} == {"type", "title", "status", "detail", "code"}
    assert (problem["status"], problem["code"]) == (status, code)
    return str(problem["detail"])


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({}, "unsigned"),
        (signed(message(), "wrong"), "bad_signature"),
        (signed(message(), at=NOW - 301), "expired"),
        (signed(message(), at=NOW + 301), "expired"),
        ({"X-Clew-Timestamp": "now", "X-Clew-Signature": "sha256=00"}, "bad_timestamp"),
    ],
)
async def test_an_unsigned_request_never_reaches_the_inbox(
    surface: WebhookSurface, headers: dict[str, str], code: str
) -> None:
    inbox = FakeInbox()
    response = await post(surface, message(), headers, inbox)
    assert_problem(response, 401, code)
    assert inbox.got == []


@pytest.mark.parametrize("at", [NOW, NOW - 301])
async def test_an_unknown_name_looks_like_a_bad_signature(surface: WebhookSurface, at: int) -> None:
    headers = signed(message(), "wrong", at)
    known, unknown = [await post(surface, message(), headers, FakeInbox(), name) for name in ("ci", "nobody")]
    assert (unknown.status_code, unknown.content) == (known.status_code, known.content)
    assert unknown.headers == known.headers


@pytest.mark.parametrize(
    ("body", "where"),
    [
        (message(id=""), "$.id"),
        (message(id="x" * 257), "$.id"),
        (message(id=7), "$.id"),
        (message(id=...), "`id`"),
        (message(conversation="x" * 513), "$.conversation"),
        (message(conversation=None), "$.conversation"),
        (message(sender="x" * 257), "$.sender"),
        (message(sender=...), "`sender`"),
        (message(text=""), "$.text"),
        (message(text=["a"]), "$.text"),
        (message(text="a\0b"), "$.text"),
        (message(id="\0"), "$.id"),
        (b"[]", "object"),
        (b"", "JSON"),
        (b"{", "JSON"),
        (b'{"id":"\xff"}', "UTF-8"),
        (b'{"z":' + b"[" * 100_000, "JSON"),
    ],
    ids=lambda value: repr(value[:30]),
)
async def test_a_bad_field_is_named(surface: WebhookSurface, body: bytes, where: str) -> None:
    inbox = FakeInbox()
    assert where in assert_problem(await post(surface, body, signed(body), inbox), 422, "bad_input")
    assert inbox.got == []


async def test_unknown_fields_are_left_alone(surface: WebhookSurface) -> None:
    body = message(extra={"a": 1})
    assert (await post(surface, body, signed(body), FakeInbox())).status_code == 200


async def test_a_body_may_have_one_mebibyte(surface: WebhookSurface) -> None:
    bare = len(message(text=""))
    body = message(text="x" * (MAX_BODY - bare))
    assert (await post(surface, body, signed(body), FakeInbox())).status_code == 200
    body = message(text="x" * (MAX_BODY - bare + 1))
    assert_problem(await post(surface, body, signed(body), FakeInbox()), 413, "too_large")


async def test_an_endless_body_is_read_only_up_to_the_limit(surface: WebhookSurface) -> None:
    given = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal given
        while True:
            given += 65_536
            yield b"x" * 65_536

    assert len(await _bounded(endless(), MAX_BODY)) == given == MAX_BODY + 65_536


async def test_a_message_that_cannot_be_stored_is_left_to_its_sender(surface: WebhookSurface) -> None:
    inbox, body = FakeInbox(error=StoreError("the disk that holds /home/x/clew.db is full")), message()
    response = await post(surface, body, signed(body), inbox)
    assert "send it again" in assert_problem(response, 503, "store")
    assert response.headers["retry-after"] == "5"
    assert "clew.db" not in response.text


async def test_other_errors_keep_their_own_text(surface: WebhookSurface) -> None:
    inbox, body = FakeInbox(error=Refused("there is no folder to work in")), message()
    assert assert_problem(await post(surface, body, signed(body), inbox), 409, "refused") == str(inbox.error)


async def test_the_router_uses_the_inbox_of_a_running_surface(surface: WebhookSurface) -> None:
    inbox, body = FakeInbox(), message()
    assert_problem(await post(surface, body, signed(body)), 503, "not_yet")
    running = asyncio.ensure_future(surface.run(inbox))
    await asyncio.wait([running], timeout=0)
    assert (await post(surface, body, signed(body))).status_code == 200
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert_problem(await post(surface, body, signed(body)), 503, "not_yet")


async def test_a_sender_that_leaves_during_the_body_causes_no_error(surface: WebhookSurface) -> None:
    inbox, sent = FakeInbox(), []
    app = served(surface, inbox)
    events = iter([{"type": "http.request", "body": b"{", "more_body": True}, {"type": "http.disconnect"}])

    async def receive() -> Any:
        return next(events)

    async def send(event: Any) -> None:
        sent.append(event)

    path = "/surfaces/webhook/ci"
    await app({"type": "http", "method": "POST", "path": path, "headers": [], "query_string": b""}, receive, send)
    assert sent[0]["status"] == 400 and inbox.got == []


async def test_over_a_real_connection_a_large_body_is_refused_and_the_next_one_taken(surface: WebhookSurface) -> None:
    app, body = served(surface, FakeInbox()), message()
    server = uvicorn.Server(uvicorn.Config(app, lifespan="off", ws="none", log_config=None))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        serving = asyncio.ensure_future(server.serve([listening]))
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/surfaces/webhook/ci"
        async with httpx.AsyncClient() as client:
            large = await client.post(url, content=b"x" * (MAX_BODY + 1))
            assert_problem(large, 413, "too_large")
            assert (await client.post(url, content=body, headers=signed(body))).status_code == 200
        server.should_exit = True
        await serving


async def test_the_route_is_in_the_openapi_description(surface: WebhookSurface) -> None:
    operation = describe(router("webhook", surface.routes()).routes)["paths"]["/surfaces/webhook/{name}"]["post"]
    schema = operation["requestBody"]["content"]["application/json"]["schema"]
    assert schema["required"] == ["id", "conversation", "sender", "text"]
