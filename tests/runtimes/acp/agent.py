"""A small agent of the Agent Client Protocol that plays scripts. It uses only the standard library.

`agent.py HOLDS [WHAT…]`: WHAT is an ability or a fault. `load`, `resume`: it reopens sessions, which are stored beside
the holds. `forgets`: it claims to reopen them and does not. `junk`, `unknown`, `flood`: odd output. `version=N`,
`silent`, `silent=METHOD`, `dies=METHOD`, `no-auth`, `deaf` (to a cancel), `wedges` (by a cancel), `two-yeses`: what
they say. `unloads`: it replays a session and then refuses it. `name=NAME`: what it calls itself; as `Copilot` it says
errors as texts. `shell`: it asks as Goose does, then has clew run the command; `shell=-lc`: as fast-agent does.
`texts`: it says the command as Kimi does. `confirms`: it asks as OpenHands does. `here`: it runs commands in the folder
of its process. `providers`: its models are an option behind another one of the category. `mode=MODE`: its first mode.
`steers`: it takes messages in a turn. `login=KIND`: it tells that. `counts=meta`: it counts tokens beside the protocol,
`counts=update`: only in updates.

Scripts may also make it hostile: `!announce`, `!update`, `!permit`, `!create` and `!put` send one message with the JSON
that follows (a tool call, news of it, a request for permission, for a command, for a file), `!at-once` several lists of
them at the same time. `under` in the JSON is the id of that request on the wire."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from tests.runtimes.player import Player, run, stdin

ODD = {
    "junk": (1, b"no json\n\xff\xfe\x00\n{}\n[1, 2\n\n"),
    "unknown": (
        1,
        b'{"jsonrpc": "2.0", "method": "mind/read", "params": {"sessionId": "?"}}\n'
        b'{"jsonrpc": "2.0", "id": "odd", "method": "mind/ask", "params": {}}\n',
    ),
    "flood": (2, b"nobody wants to know this\n" * 20_000),
}


ONCE = [
    {"optionId": "yes-1", "kind": "allow_once", "name": "Once"},
    {"optionId": "no-1", "kind": "reject_once", "name": "No"},
]


class Session:
    """Its prompts are in a file, so that another process can reopen it."""

    def __init__(self, agent: Agent, id: str, cwd: str) -> None:
        self.id = id
        self.cwd = cwd
        self.playing: asyncio.Task[str] | None = None
        self.is_wedged = False
        self.is_acting = False
        self._agent = agent
        self._calls = 0
        self._player = Player(agent.holds, self)
        self._file = agent.holds.parent / f"{id}.session"

    @property
    def past(self) -> list[str]:
        return json.loads(self._file.read_text()) if self._file.exists() else []

    def keep(self, said: str) -> None:
        self._file.write_text(json.dumps([*self.past, said]))

    async def prompt(self, text: str) -> str:
        if self.is_wedged:
            await self.say("Queued for the next turn. (1 queued)")
            return "end_turn"
        self.keep(text)
        text = text.replace("@\u200b", "@")  # clew breaks it, so that it names no file; scripts have commands with it
        try:
            await self._player.play(text)
            if "!" not in text:
                await self.say("pong")
        except asyncio.CancelledError:
            if self.is_acting and "wedges" in self._agent.what:
                self.is_wedged = True
                raise RuntimeError("'NoneType' object has no attribute 'startswith'") from None
            return "cancelled"
        return "end_turn"

    def update(self, **update: Any) -> None:
        if "unknown" in self._agent.what:
            self._agent.tell(method="session/update", params={"sessionId": self.id, "update": {"sessionUpdate": "odd"}})
        self._agent.tell(method="session/update", params={"sessionId": self.id, "update": update})

    async def say(self, text: str) -> None:
        self.update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": text})

    async def ask(self, command: str) -> bool:
        """Run the command here and not in the player, so that its tool call gets an end."""
        if "shell" in self._agent.what:
            return await self._ask_as_goose(command)
        if option := self._agent.given("shell"):
            return await self._ask_as_fast_agent(command, option)
        more: dict[str, Any] = {}
        if "texts" in self._agent.what:
            more = {"title": "Bash", "content": [_text(f"Requesting approval to Running: {command[:9]}…")]}
            call = self._call("execute", "Bash", content=[_text(json.dumps({"command": command}))])
        else:
            call = self._call("execute", command, rawInput={"command": command})
        asked_as = call
        if "confirms" in self._agent.what:
            asked_as, more = f"confirmation-{self.id}", {"title": "Confirm Agent Actions", "kind": "other"}
        options = [
            {"optionId": "allow_always", "kind": "allow_always", "name": "Always"},
            {"optionId": "allow_session", "kind": "allow_always", "name": "This session"},
            *ONCE,
        ]
        if "confirms" in self._agent.what:
            options = [
                {"optionId": "accept", "kind": "allow_once", "name": "Yes"},
                {"optionId": "reject", "kind": "reject_once", "name": "No"},
                {"optionId": "risk_based", "kind": "allow_once", "name": "Only ask for HIGH risk"},
            ]
        asked = {"sessionId": self.id, "toolCall": {"toolCallId": asked_as, **more}, "options": options}
        answer = await self._agent.ask("session/request_permission", asked)
        allowed = answer["outcome"].get("optionId") in ("yes-1", "accept")
        if allowed:
            self.is_acting = True
            await run(command, None if "here" in self._agent.what else self.cwd)
            self.is_acting = False
        self._done(call, "completed" if allowed else "failed", "done" if allowed else "denied")
        return False

    async def _ask_as_goose(self, command: str) -> bool:
        self._calls += 1
        call = {"toolCallId": f"call-{self._calls}", "kind": "other", "title": "shell"}
        asked = {"sessionId": self.id, "toolCall": {**call, "rawInput": {"command": command}}, "options": ONCE}
        if (await self._agent.ask("session/request_permission", asked))["outcome"].get("optionId") == "yes-1":
            await self._used("terminal", command)
        return False

    async def _ask_as_fast_agent(self, command: str, option: str) -> bool:
        call = {"toolCallId": self._call("execute", "execute"), "kind": "execute", "title": "execute"}
        asked = {"sessionId": self.id, "toolCall": {**call, "rawInput": {"command": command}}, "options": ONCE}
        if (await self._agent.ask("session/request_permission", asked))["outcome"].get("optionId") == "yes-1":
            await self._tricked("create", {"command": "/bin/sh", "args": [option, command]})
        return False

    async def other(self, name: str, rest: str) -> None:
        match name:
            case "status":
                if self._agent.name == "Copilot":
                    await self.say(f"Info: Request failed due to a transient API error. Retrying...\nError: {rest} no")
                else:
                    raise Failed({"details": f"the model says {rest}"})
            case "limit":
                raise Failed({"errorKind": "rate_limit", "message": "You've hit your limit"})
            case "plainly":
                raise Failed(rest)
            case "mode":
                self.update(sessionUpdate="current_mode_update", currentModeId=rest)
            case "option":
                option = {"id": "how", "category": "mode", "currentValue": rest, "options": [{"value": rest}]}
                self.update(sessionUpdate="config_option_update", configOptions=[option])
            case "greeted":
                await self.say(json.dumps(self._agent.greeting | {"folder": str(Path.cwd())}))
            case "context":
                self.update(sessionUpdate="usage_update", used=int(rest), size=200_000)
            case "recall":
                await self.say(" / ".join(self.past))
            case "think":
                self.update(sessionUpdate="agent_thought_chunk", content={"type": "text", "text": rest})
            case "plan":
                entries = [{"content": each, "status": "pending", "priority": "low"} for each in rest.split(" | ")]
                self.update(sessionUpdate="plan", entries=entries)
            case "tool":
                self._done(self._call("other", rest), "completed", "a result")
            case "stop":
                raise Stopped(rest)
            case "fail":
                raise RuntimeError(rest)
            case "pick":
                await self._pick(rest.split(" | "))
            case "read" | "write" | "terminal" | "begin":
                await self._use(name, rest)
            case "late":
                await self._late(*rest.split(" ", 1))
            case "announce" | "update" | "permit" | "create" | "put":
                await self._trick(name, json.loads(rest))
            case "at-once":
                self._agent.tell_together()
                await asyncio.gather(*(self._tricks(steps) for steps in json.loads(rest)))
            case "die":
                os._exit(7)

    async def _pick(self, names: list[str]) -> None:
        call = self._call("other", "a choice")
        options = [{"optionId": f"o{n}", "kind": "allow_always", "name": name} for n, name in enumerate(names)]
        asked = {"sessionId": self.id, "toolCall": {"toolCallId": call}, "options": options}
        answer = await self._agent.ask("session/request_permission", asked)
        await self.say(answer["outcome"].get("optionId", "nothing"))

    async def _late(self, name: str, rest: str) -> None:
        """Do what was allowed only after a stop, as if it had been on its way."""
        path, _, text = rest.partition(" ")
        if name == "write":
            call = self._call("edit", path, content=[{"type": "diff", "path": path, "newText": text}])
        else:
            call = self._call("execute", rest, rawInput={"command": rest})
        asked = {"sessionId": self.id, "toolCall": {"toolCallId": call}, "options": ONCE}
        try:
            await self._agent.ask("session/request_permission", asked)
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await self._use(name, rest)
            raise

    async def _tricks(self, steps: list[list[Any]]) -> None:
        for name, given in steps:
            await self._trick(name, given)

    async def _trick(self, name: str, given: dict[str, Any]) -> None:
        """Send one message exactly as given, whatever was allowed before, and say the result."""
        try:
            await self.say(f"[{await self._tricked(name, given)}]")
        except RuntimeError as error:
            await self.say(f"[refused: {error}]")
        except KeyError:
            await self.say("[the answer to another]")

    async def _tricked(self, name: str, given: dict[str, Any]) -> str:
        here, under = {"sessionId": self.id}, given.pop("under", None)
        match name:
            case "announce" | "update":
                kind = "tool_call" if name == "announce" else "tool_call_update"
                self.update(sessionUpdate=kind, **given)
                return "told"
            case "permit":
                more = (
                    [{**ONCE[0], "optionId": "yes-2", "name": "Also once"}] if "two-yeses" in self._agent.what else []
                )
                asked = {**here, "toolCall": given, "options": [*ONCE, *more]}
                outcome = (await self._agent.ask("session/request_permission", asked, under))["outcome"]
                return "yes" if outcome.get("optionId") == "yes-1" else "no"
            case "put":
                await self._agent.ask("fs/write_text_file", {**here, **given}, under)
                return "written"
        made = await self._agent.ask("terminal/create", {**here, **given}, under)
        return await self._finished({**here, "terminalId": made["terminalId"]})

    async def _finished(self, mine: dict[str, Any]) -> str:
        status = await self._agent.ask("terminal/wait_for_exit", mine)
        output = (await self._agent.ask("terminal/output", mine))["output"]
        await self._agent.ask("terminal/release", mine)
        return f"{status['exitCode']}: {output.strip()}"

    async def _use(self, name: str, rest: str) -> None:
        try:
            await self.say(await self._used(name, rest))
        except RuntimeError as error:
            await self.say(f"refused: {error}")

    async def _used(self, name: str, rest: str) -> str:
        path, _, text = rest.partition(" ")
        here = {"sessionId": self.id}
        if name == "read":
            return str((await self._agent.ask("fs/read_text_file", {**here, "path": path}))["content"])
        if name == "write":
            await self._agent.ask("fs/write_text_file", {**here, "path": path, "content": text})
            return "written"
        made = await self._agent.ask("terminal/create", {**here, "command": rest})
        if name == "begin":
            return "begun"
        return await self._finished({**here, "terminalId": made["terminalId"]})

    def _call(self, kind: str, title: str, **more: Any) -> str:
        self._calls += 1
        call = f"call-{self._calls}"
        self.update(sessionUpdate="tool_call", toolCallId=call, title=title, kind=kind, status="pending", **more)
        return call

    def _done(self, call: str, status: str, text: str) -> None:
        self.update(sessionUpdate="tool_call_update", toolCallId=call, status=status, content=[_text(text)])


def _text(text: str) -> dict[str, Any]:
    return {"type": "content", "content": {"type": "text", "text": text}}


class Failed(Exception):
    """With data of its own."""

    def __init__(self, data: Any) -> None:
        super().__init__("Internal error")
        self.data = data


class Stopped(Exception):
    """With a reason of its own."""


class Agent:
    def __init__(self, holds: Path, what: list[str]) -> None:
        self.holds = holds
        self.what = what
        self.name = self.given("name", "player")
        self._sessions: dict[str, Session] = {}
        self._asked: dict[str, list[asyncio.Future[Any]]] = {}  # several may have one id
        self._together: list[bytes] | None = None  # messages to send in one write
        self._count = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._odd = next((ODD[each] for each in what if each in ODD), None)

    def given(self, key: str, default: str = "") -> str:
        return next((each.partition("=")[2] for each in self.what if each.startswith(f"{key}=")), default)

    async def live(self) -> None:
        reader = await stdin()
        while line := await reader.readline():
            message = json.loads(line)
            if "method" not in message:
                self._settle(message)
            elif message["method"] == "session/cancel":
                self._cancel(message["params"]["sessionId"])
            elif "id" in message and "silent" not in self.what:
                task = asyncio.create_task(self._answer(message["id"], message["method"], message.get("params", {})))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    def tell(self, **message: Any) -> None:
        if self._odd:
            os.write(*self._odd)
        line = json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"
        if self._together is None:
            os.write(1, line)
        else:
            self._together.append(line)

    def tell_together(self) -> None:
        """Send all messages until the next loop iteration in one write, so that nothing is answered in between."""
        self._together = []
        asyncio.get_running_loop().call_soon(asyncio.get_running_loop().call_soon, self._tell_all)

    def _tell_all(self) -> None:
        lines, self._together = self._together or [], None
        os.write(1, b"".join(lines))

    async def ask(self, method: str, params: dict[str, Any], under: int | str | None = None) -> Any:
        self._count += 1
        id = f"ask-{self._count}" if under is None else under
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._asked.setdefault(json.dumps(id), []).append(future)
        self.tell(id=id, method=method, params=params)
        return await future

    def _settle(self, message: dict[str, Any]) -> None:
        waiting = self._asked.get(json.dumps(message["id"])) or []
        future = waiting.pop(0) if waiting else None
        if future is None or future.done():
            return
        if "error" in message:
            future.set_exception(RuntimeError(message["error"]["message"]))
        else:
            future.set_result(message["result"])

    def _cancel(self, session: str) -> None:
        playing = self._sessions[session].playing
        if playing is not None and "deaf" not in self.what:
            playing.cancel()

    async def _answer(self, id: Any, method: str, params: dict[str, Any]) -> None:
        if f"dies={method}" in self.what:
            print("no licence", file=sys.stderr, flush=True)
            os._exit(3)
        if f"silent={method}" in self.what:
            return
        try:
            self.tell(id=id, result=await self._do(method, params))
        except Exception as error:
            code = -32000 if "log in" in str(error) else -32603
            data = {"data": error.data} if isinstance(error, Failed) else {}
            self.tell(id=id, error={"code": code, "message": str(error), **data})

    async def _do(self, method: str, params: dict[str, Any]) -> Any:
        match method:
            case "initialize":
                self.greeting = params
                version = next((int(each[8:]) for each in self.what if each.startswith("version=")), 1)
                can = {"loadSession": "load" in self.what, "promptCapabilities": {"image": "blind" not in self.what}}
                more: dict[str, Any] = {"sessionCapabilities": {"resume": {}}} if "resume" in self.what else {}
                info = {"name": self.name, "version": "1.2.3"}
                if login := self.given("login"):
                    more["_meta"] = {"authStatus": {}}
                    self.tell(method="_auth/status_update", params={"authStatus": {"kind": login, "label": login}})
                meta = {"_meta": {"steering": {"supported": True}}} if "steers" in self.what else {}
                return {"protocolVersion": version, "agentCapabilities": {**can, **more}, "agentInfo": info, **meta}
            case "session/new":
                return self._new(params)
            case "session/load" | "session/resume":
                return self._come_back(params, replays=method == "session/load")
            case "session/prompt":
                return await self._prompt(params)
            case "_session/steering":
                return self._steer(params)
            case "session/set_mode" | "session/set_model" | "session/set_config_option":
                await self._sessions[params["sessionId"]].other("think", json.dumps(params))
                return {}
        raise RuntimeError(f"no such method: {method}")

    def _new(self, params: dict[str, Any]) -> dict[str, Any]:
        if "no-auth" in self.what:
            raise RuntimeError("please log in first")
        id = f"session-{os.getpid()}-{len(self._sessions)}"
        self._sessions[id] = Session(self, id, params["cwd"])
        mode = self.given("mode", "ask")
        modes = {"currentModeId": mode, "availableModes": [{"id": each} for each in dict.fromkeys(("ask", "go", mode))]}
        if "providers" in self.what:
            groups = [{"group": "all", "options": [{"value": "small"}, {"value": "large"}]}]
            options = [
                {"id": "provider", "category": "model", "currentValue": "prov", "options": [{"value": "prov"}]},
                {"id": "model", "category": "model", "currentValue": "small", "options": groups},
            ]
            return {"sessionId": id, "modes": modes, "configOptions": options}
        models = {"currentModelId": "small", "availableModels": [{"modelId": "small"}, {"modelId": "large"}]}
        return {"sessionId": id, "modes": modes, "models": models}

    def _come_back(self, params: dict[str, Any], *, replays: bool) -> dict[str, Any]:
        id = params["sessionId"]
        session = self._sessions.setdefault(id, Session(self, id, params["cwd"]))
        if "forgets" not in self.what:
            if not session.past:
                raise RuntimeError(f"session {id} not found")
            for said in session.past if replays else []:
                session.update(sessionUpdate="user_message_chunk", content={"type": "text", "text": said})
        if "unloads" in self.what:
            raise Failed({"details": "No previous sessions found for this project."})
        return {}

    def _steer(self, params: dict[str, Any]) -> dict[str, Any]:
        session = self._sessions[params["sessionId"]]
        if session.playing is None or session.playing.done():
            return {"outcome": "promptRequired"}
        session.keep("\n".join(block["text"] for block in params["prompt"] if block["type"] == "text"))
        return {"outcome": "injected"}

    async def _prompt(self, params: dict[str, Any]) -> dict[str, Any]:
        session = self._sessions[params["sessionId"]]
        text = "\n".join(block["text"] for block in params["prompt"] if block["type"] == "text")
        session.playing = asyncio.create_task(session.prompt(text))
        spent = {"inputTokens": 10, "outputTokens": 5, "totalTokens": 15}
        if counts := self.given("counts"):
            meta = {"quota": {"token_count": {"input_tokens": 7, "output_tokens": 2}}}
            return {"stopReason": await session.playing, **({"_meta": meta} if counts == "meta" else {})}
        try:
            return {"stopReason": await session.playing, "usage": spent}
        except Stopped as stopped:
            return {"stopReason": str(stopped)}


if __name__ == "__main__":
    asyncio.run(Agent(Path(sys.argv[1]), sys.argv[2:]).live())
