"""The scripted model: its script, player and server. Other modules use it with the real Codex."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from clew.process.scan import Marks
from clew.runtimes.process import spawn
from clew.support.clock import SystemClock
from clew.testing.scripted_model import ScriptedModel
from clew.testing.scripted_model import script as s
from clew.testing.scripted_model.request import Request, next_part

GUARD = 30.0


@pytest.mark.parametrize(
    ("line", "step"),
    [
        ("!text exactly  this", s.Say("exactly  this")),
        ("!say 3 words", s.Say("never lose the")),
        ("!slow 2 15", s.Say("never lose", 15)),
        ("!hold here", s.Hold("here")),
        ("!shell ls -l | wc", s.Shell("ls -l | wc")),
        ("!patch a/b.txt some text", s.Patch("a/b.txt", "some text")),
        ("!ask Which? | A | B", s.Ask("Which?", ("A", "B"))),
        ("!plan one | two", s.Plan(("one", "two"))),
        ("!think it over", s.Think("it over")),
        ("!status 503", s.Status(503)),
        ("!status 503 2", s.Status(503, 2)),
        ("!cut", s.Cut()),
        ("!cut 1", s.Cut(1)),
        ("!error rate_limit_exceeded", s.Error("rate_limit_exceeded")),
        ("!recall", s.Recall()),
    ],
)
def test_each_directive_has_its_step(line: str, step: s.Step) -> None:
    assert s.parse(f"please\n  {line}\nthank you") == (step,)


def test_directives_run_in_order_and_other_text_is_ignored() -> None:
    assert s.parse("Hi!\n!text a\nwhat\n!unknown x\n!hold b") == (s.Say("a"), s.Hold("b"))


def test_without_a_directive_the_first_words_are_echoed() -> None:
    assert s.parse("tell me more") == (s.Say("You said: tell me more. Glad to help."),)


@pytest.mark.parametrize("line", ["!say many", "!slow 3", "!status", "!error"])
def test_a_directive_that_cannot_be_played_is_quoted(line: str) -> None:
    with pytest.raises(s.BadScript, match=line):
        s.parse(line)


@pytest.mark.parametrize("text", ["a", "a b", "  a  b ", "a\nb", "中文 字"])
def test_the_words_of_a_text_make_the_text(text: str) -> None:
    assert "".join(s.Say(text).words) == text


def test_a_script_continues_after_the_acts_that_are_done() -> None:
    steps = s.parse("!text a\n!shell b\n!text c\n!shell d\n!text e")
    assert next_part(steps, 0) == steps[:2]
    assert next_part(steps, 1) == steps[2:4]
    assert next_part(steps, 2) == steps[4:]
    assert next_part(steps, 9) == ()


def test_two_commands_at_once_are_two_acts() -> None:
    steps = s.parse("!both a | b\n!text c")
    assert steps[0] == s.Approve(("a", "b"))
    assert next_part(steps, 0) == steps[:1]
    assert next_part(steps, 2) == steps[1:]


def test_directives_that_ask_a_person_are_parsed() -> None:
    script = '!approve a | b\n!beyond c\n!tool x.y {"z": 1}\n!permit /d\n!secret E? | F\n!aside G? | H | I'
    assert s.parse(script) == (
        s.Approve(("a | b",)),
        s.Shell("c", beyond=True),
        s.Tool("x", "y", '{"z": 1}'),
        s.Permit("/d"),
        s.Ask("E?", ("F",), secret=True),
        s.Aside("G?", ("H", "I")),
    )


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "input_text", "text": text}]}


def test_a_request_has_its_prompts_and_tool_results() -> None:
    output = {"type": "function_call_output", "output": "hello"}
    request = Request({"input": [user("<environment_context>"), user("first"), output, user("second"), output]})
    assert request.prompts == ["first", "second"]
    assert (request.acts_done, request.outputs) == (1, ["hello", "hello"])


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(timeout=GUARD) as client:
        yield client


async def play(client: httpx.AsyncClient, model: ScriptedModel, *inputs: Any, **body: Any) -> list[dict[str, Any]]:
    given = {"input": [user(each) if isinstance(each, str) else each for each in inputs], **body}
    answer = await client.post(f"{model.url}/responses", json=given)
    answer.raise_for_status()
    return [json.loads(line[6:]) for line in answer.text.splitlines() if line.startswith("data: ")]


def items(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [event["item"] for event in events if event["type"] == "response.output_item.done"]


async def test_text_comes_in_deltas_as_one_message(client: httpx.AsyncClient, model: ScriptedModel) -> None:
    events = await play(client, model, "!text one two\n!text three")
    deltas = [event["delta"] for event in events if event["type"] == "response.output_text.delta"]
    assert deltas == ["one", " two", "\nthree"]
    assert [item["content"][0]["text"] for item in items(events)] == ["one two\nthree"]
    assert (events[0]["type"], events[-1]["type"]) == ("response.created", "response.completed")
    assert events[-1]["response"]["usage"]["output_tokens"] == 3


async def test_a_tool_call_takes_its_name_and_shape_from_the_request(
    client: httpx.AsyncClient, model: ScriptedModel
) -> None:
    listed = {"name": "shell", "parameters": {"properties": {"command": {"type": "array"}}}}
    plain = {"name": "exec_command", "parameters": {"properties": {"cmd": {"type": "string"}}}}
    (first,) = items(await play(client, model, "!shell ls\n!text after", tools=[listed]))
    (second,) = items(await play(client, model, "!shell ls\n!text after", tools=[plain]))
    assert (first["name"], json.loads(first["arguments"])) == ("shell", {"command": ["bash", "-c", "ls"]})
    assert (second["name"], json.loads(second["arguments"])) == ("exec_command", {"cmd": "ls"})


async def test_the_script_goes_on_in_the_request_after_a_tool(client: httpx.AsyncClient, model: ScriptedModel) -> None:
    output = {"type": "function_call_output", "output": ""}
    (item,) = items(await play(client, model, "!shell ls\n!text after", output))
    assert item["content"][0]["text"] == "after"


async def test_a_hold_stops_the_stream_until_it_is_released(client: httpx.AsyncClient, model: ScriptedModel) -> None:
    playing = asyncio.ensure_future(play(client, model, "!text a\n!hold door\n!text b"))
    async with asyncio.timeout(GUARD):
        await model.held("door")
        assert not playing.done()
        model.release("door")
        assert items(await playing)[0]["content"][0]["text"] == "a\nb"


async def test_a_client_that_leaves_is_not_held_any_more(client: httpx.AsyncClient, model: ScriptedModel) -> None:
    playing = asyncio.ensure_future(play(client, model, "!hold gate"))
    async with asyncio.timeout(GUARD):
        await model.held("gate")
        playing.cancel()
        await asyncio.gather(playing, return_exceptions=True)
        await model.left("gate")


async def test_errors_happen_as_often_as_requested(client: httpx.AsyncClient, model: ScriptedModel) -> None:
    prompt = "!status 503 1\n!text a\n!cut 1\n!error server_error 1\n!text b"
    with pytest.raises(httpx.HTTPStatusError, match="503"):
        await play(client, model, prompt)
    with pytest.raises(httpx.TransportError):
        await play(client, model, prompt)
    assert (await play(client, model, prompt))[-1]["response"]["error"]["code"] == "server_error"
    assert items(await play(client, model, prompt))[0]["content"][0]["text"] == "a\nb"


async def test_it_recalls_its_history(client: httpx.AsyncClient, model: ScriptedModel) -> None:
    (item,) = items(await play(client, model, "the first thing", "the second", "!recall"))
    assert item["content"][0]["text"] == "I remember 3 messages. The first was: the first thing"


async def test_a_handler_may_decide_and_several_acts_are_parallel_calls(
    client: httpx.AsyncClient, model: ScriptedModel
) -> None:
    model.on("two at once", lambda request: [s.Shell("a"), s.Shell("b")])
    assert len(items(await play(client, model, "two at once"))) == 2


async def test_an_invalid_script_is_answered_with_the_error(client: httpx.AsyncClient, model: ScriptedModel) -> None:
    (item,) = items(await play(client, model, "!say lots"))
    assert "cannot play '!say lots'" in item["content"][0]["text"]


async def test_requests_are_counted_by_a_marker(client: httpx.AsyncClient, model: ScriptedModel) -> None:
    await play(client, model, "marker-77 hello")
    await play(client, model, "marker-77 again")
    assert model.count("marker-77") == 2
    listed = (await client.get(model.url.replace("/v1", "/control/requests"))).json()
    assert [each["prompt"] for each in listed][-2:] == ["marker-77 hello", "marker-77 again"]


@pytest.mark.process
async def test_it_runs_as_a_program_and_is_controlled_over_http(client: httpx.AsyncClient, clock: SystemClock) -> None:
    lines: asyncio.Queue[bytes] = asyncio.Queue()
    argv = [sys.executable, "-m", "clew.testing.scripted_model", "--port", "0"]
    child = await spawn(argv, Marks("alone", "x").next(), clock, lines.put_nowait, name="model")
    try:
        async with asyncio.timeout(GUARD):
            url = (await lines.get()).decode()
            control = url.replace("/v1", "/control")
            playing = asyncio.ensure_future(
                client.post(f"{url}/responses", json={"input": [user("!hold far\n!text ok")]})
            )
            assert (await client.get(f"{control}/held/far")).status_code == 200
            assert (await client.post(f"{control}/release/far")).status_code == 200
            assert "response.completed" in (await playing).text
            assert (await client.get(f"{control}/nothing")).status_code == 404
    finally:
        await child.end(grace=0.1)
