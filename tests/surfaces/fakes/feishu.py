"""A small fake of Feishu's open platform on loopback, as a separate process: `python -m tests.surfaces.fakes.feishu`.

Each `World` is one app with its chats: HTTP on one port, the long connection on another. The control port creates
worlds, lets people write, press and react, plants faults, and shows what people see. It ends when its stdin does.
"""

from __future__ import annotations

import asyncio
import base64
import json
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Any
from uuid import uuid4

from websockets.asyncio.server import Server as Sockets
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request as Handshake
from websockets.http11 import Response

from clew.surfaces.feishu.frames import CONTROL, DATA, Frame, decode, encode
from tests.surfaces.fakes.http_server import Answer, Cut, Request, Upload
from tests.surfaces.fakes.world import AnyWorld, Fields, run

BOT = "ou_clew"
LARGEST = 30 * 1024  # bytes of the content of a post or a card
LARGEST_TEXT = 150 * 1024
TABLES = 5
FILE_TYPES = ("opus", "mp4", "pdf", "doc", "xls", "ppt", "stream")


class Wrong(Exception):
    def __init__(self, code: int, msg: str, status: int = 400, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(msg)
        self.code, self.msg, self.status, self.headers = code, msg, status, headers or {}


class World(AnyWorld):
    """One app."""

    def __init__(self, app: str) -> None:
        super().__init__()
        self.app, self.secret = app, f"secret of {app}"
        self.sockets: Sockets | None = None
        self.lines: set[ServerConnection] = set()
        self.chats: dict[str, Fields] = {}
        self.events: dict[str, Fields] = {}  # unacknowledged events by id
        self.past: dict[str, Fields] = {}  # acknowledged events
        self.answers: list[Fields] = []  # answers to events: event, code, data
        self.names: dict[str, str] = {}
        self.cards: dict[str, Fields] = {}  # of CardKit
        self.tokens: list[str] = []
        self.token_lasts = 7200
        self.parts = 1  # frames of each event
        self.ping_interval = 120
        self.refused = False  # refuse all connections
        self.curt = False  # end each connection at once
        self.pings = 0

    async def open(self) -> Fields:
        self.sockets = await serve(self._line, "127.0.0.1", 0, process_request=self._shake, compression=None)
        return {**await super().open(), "secret": self.secret}

    async def close(self) -> None:
        await super().close()
        if self.sockets is not None:
            self.sockets.close()
            await self.when_drop({})
            await self.sockets.wait_closed()

    # The long connection

    def _shake(self, line: ServerConnection, request: Handshake) -> Response | None:
        if not self.refused:
            return None
        response = line.respond(HTTPStatus.FORBIDDEN, "no")
        response.headers["Handshake-Status"] = "514"
        response.headers["Handshake-Msg"] = "invalid ticket"
        response.headers["Handshake-Autherrcode"] = "1000040350"
        return response

    async def _line(self, line: ServerConnection) -> None:
        self.lines.add(line)
        await self.tell()
        try:
            if self.curt:
                return
            for event in list(self.events):
                await self._push(line, event)
            async for data in line:
                assert isinstance(data, bytes)
                await self._frame(line, decode(data))
        except ConnectionClosed:
            pass
        finally:
            self.lines.discard(line)
            await self.tell()

    async def _frame(self, line: ServerConnection, frame: Frame) -> None:
        if frame.method == CONTROL:
            assert frame.header("type") == "ping" and frame.service == 42, frame
            self.pings += 1
            pong = json.dumps(self._settings()).encode()
            await line.send(encode(Frame(CONTROL, 42, (("type", "pong"),), pong)))
        else:
            self._answered(frame)
        await self.tell()

    def _answered(self, frame: Frame) -> None:
        said = json.loads(frame.payload)
        assert frame.header("biz_rt").isdecimal() and frame.header("trace_id"), frame
        data = json.loads(base64.b64decode(said["data"])) if said.get("data") else None
        event = frame.header("message_id")
        self.answers.append({"event": event, "code": said["code"], "data": data})
        if said["code"] == 200 and event in self.events:
            self.past[event] = self.events.pop(event)

    async def _push(self, line: ServerConnection, event: str) -> None:
        payload = json.dumps(self.events[event], ensure_ascii=False).encode()
        size = -(-len(payload) // self.parts)
        for seq in reversed(range(self.parts)):  # they may come in any order
            headers = {"type": "event", "message_id": event, "trace_id": f"trace-{event}", "sum": str(self.parts)}
            headers |= {"seq": str(seq), "timestamp": str(int(time.time() * 1000))}
            part = payload[seq * size : (seq + 1) * size]
            await line.send(encode(Frame(DATA, 42, tuple(headers.items()), part, seq=7, log=8, log_new="x")))

    async def event(self, kind: str, content: Fields, **header: Any) -> str:
        id = uuid4().hex
        head = {"event_id": id, "event_type": kind, "create_time": str(int(time.time() * 1000)), "token": "t"}
        self.events[id] = {"schema": "2.0", "header": {**head, "app_id": self.app, **header}, "event": content}
        await self._push_all(id)
        return id

    async def _push_all(self, event: str) -> None:
        """Push the events to one of the connections, as the platform does."""
        for line in list(self.lines)[:1]:
            try:
                await self._push(line, event)
            except ConnectionClosed:
                continue

    # HTTP

    async def serve(self, request: Request) -> Answer:
        try:
            return await self._serve(request)
        except Wrong as wrong:
            return Answer({"code": wrong.code, "msg": wrong.msg}, wrong.status, wrong.headers)

    async def _serve(self, request: Request) -> Answer:
        work, parts = _route(request)
        is_form = request.headers.get("content-type", "").startswith("multipart/")
        given = request.fields() if is_form else json.loads(request.body or b"{}")  # whatever its type says
        fields = {**request.query, **given, **{f"path{number}": part for number, part in enumerate(parts, 1)}}
        name = work.__name__.removeprefix("do_")
        told = {field: value for field, value in fields.items() if not isinstance(value, Upload)}
        self.calls.append({"method": name, "fields": told})
        await self.tell()
        if name not in ("token", "endpoint"):
            self._check(request.headers.get("authorization", ""))
        return await self._faulty(name, lambda: work(self, fields))

    async def _faulty(self, name: str, work: Callable[[], Awaitable[Any]]) -> Answer:
        fault = self.fault(name)
        match fault.get("kind"):
            case "cut_before":
                raise Cut
            case "hold":
                await self.released.wait()
            case "error":
                raise Wrong(fault["code"], fault.get("msg", "no"), fault.get("status", 400), fault.get("headers"))
            case "odd":
                return Answer(fault["body"].encode(), fault.get("status", 200))
        answer = await work()
        await self.tell()
        if fault.get("kind") == "cut_after":
            raise Cut
        if isinstance(answer, bytes):
            return Answer(answer)
        return Answer({"code": 0, "msg": "ok", **answer})

    def _check(self, authorization: str) -> None:
        token = authorization.removeprefix("Bearer ")
        if token not in self.tokens[-2:]:
            raise Wrong(99991663, "Invalid access token for authorization. Please make a test with attached token.")

    async def do_token(self, fields: Fields) -> Fields:
        if (fields.get("app_id"), fields.get("app_secret")) != (self.app, self.secret):
            raise Wrong(10014, "app secret invalid", 200)
        self.tokens.append(f"t-{uuid4().hex}")
        return {"tenant_access_token": self.tokens[-1], "expire": self.token_lasts}

    async def do_endpoint(self, fields: Fields) -> Fields:
        if (fields.get("AppID"), fields.get("AppSecret")) != (self.app, self.secret):
            raise Wrong(514, "auth failed", 200)
        assert self.sockets is not None
        port = next(iter(self.sockets.sockets)).getsockname()[1]
        url = f"ws://127.0.0.1:{port}/ws/v2?fpid=493&aid=1&device_id=7&access_key=k&service_id=42&ticket=x"
        return {"data": {"URL": url, "ClientConfig": self._settings()}}

    def _settings(self) -> Fields:
        again = {"ReconnectCount": -1, "ReconnectInterval": 120, "ReconnectNonce": 30}
        return {**again, "PingInterval": self.ping_interval}

    async def do_bot(self, fields: Fields) -> Fields:
        return {"bot": {"activate_status": 2, "app_name": "clew", "open_id": BOT}}

    async def do_user(self, fields: Fields) -> Fields:
        name = self.names.get(fields["path1"])
        if name is None:
            raise Wrong(41050, "no user authority error")
        return {"data": {"user": {"open_id": fields["path1"], "name": name}}}

    async def do_send(self, fields: Fields) -> Fields:
        if fields.get("receive_id_type") != "chat_id":
            raise Wrong(230001, "invalid receive_id_type")
        return {"data": self._send(fields["receive_id"], fields, {})}

    async def do_reply(self, fields: Fields) -> Fields:
        parent = self._message(fields["path1"])
        thread = parent.get("thread_id")
        if fields.get("reply_in_thread") and not thread:
            if self.chats[parent["chat_id"]].get("no_threads"):
                raise Wrong(230071, "The aggregated messages do not support reply in thread.")
            thread = parent["thread_id"] = f"omt_{uuid4().hex}"
        root = parent.get("root_id") or parent["message_id"]
        hung = {"parent_id": parent["message_id"], "root_id": root, **({"thread_id": thread} if thread else {})}
        return {"data": self._send(parent["chat_id"], fields, hung)}

    def _send(self, chat: str, fields: Fields, hung: Fields) -> Fields:
        """Send a message; with a used key, return the first message."""
        where = self.chats.get(chat)
        if where is None or where.get("removed"):
            raise Wrong(230002, "Bot/User can NOT be out of the chat.")
        uuid = fields.get("uuid")
        if uuid is not None and not 1 <= len(uuid) <= 50:
            raise Wrong(99992402, "field validation failed")
        first = next((message for message in self.messages if uuid and message.get("uuid") == uuid), None)
        if first is not None:
            return _public(first)
        kind, given, card = fields["msg_type"], json.loads(fields["content"]), {}
        if kind in ("image", "file"):
            self._check_key(given[f"{kind}_key"])
        elif kind == "interactive" and given.get("type") == "card":
            card = {"card_id": self._send_card(given["data"]["card_id"])}
        else:
            _check_content(kind, fields["content"])
        author = {"id": self.app, "id_type": "app_id", "sender_type": "app", "tenant_key": "k"}
        content = {"msg_type": kind, "content": fields["content"], "uuid": uuid, "edits": 0, **card}
        if card:
            content["content"] = json.dumps(self.cards[card["card_id"]]["card"])
        topic = {"thread_id": f"omt_{uuid4().hex}"} if where.get("topics") and not hung else {}
        return _public(self.add({"chat_id": chat, "sender": author, **content, **hung, **topic}))

    def _check_key(self, key: str) -> None:
        if key not in self.files:
            raise Wrong(230055, "The type of file upload does not match the type of message being sent.")

    async def do_patch(self, fields: Fields) -> Fields:
        message = self._message(fields["path1"])
        if message["msg_type"] != "interactive" or "card_id" in message:  # stricter than the platform may be
            raise Wrong(230001, "Your request contains an invalid request parameter, ext=This message is NOT a card.")
        return self._rewrite(message, "interactive", fields["content"])

    async def do_put(self, fields: Fields) -> Fields:
        message = self._message(fields["path1"])
        if message["msg_type"] not in ("text", "post") or fields["msg_type"] not in ("text", "post"):
            raise Wrong(230001, "Your request contains an invalid request parameter, ext=not a text or post.")
        return self._rewrite(message, fields["msg_type"], fields["content"])

    def _rewrite(self, message: Fields, kind: str, content: str) -> Fields:
        _check_content(kind, content)
        message.update(msg_type=kind, content=content, edits=message["edits"] + 1)
        return {"data": {}}

    # CardKit

    async def do_react(self, fields: Fields) -> Fields:
        message = self._message(fields["path1"])
        message.setdefault("reactions", []).append(fields["reaction_type"]["emoji_type"])
        return {"data": {"reaction_id": uuid4().hex}}

    async def do_card_create(self, fields: Fields) -> Fields:
        if fields["type"] != "card_json":
            raise Wrong(10002, "invalid type")
        _check_content("interactive", fields["data"])
        id = str(7_000_000_000_000_000_000 + len(self.cards))
        card = json.loads(fields["data"])
        streams = card["config"].get("streaming_mode", False)
        self.cards[id] = {"card": card, "sequence": 0, "streams": streams, "is_sent": False, "grew": 0}
        return {"data": {"card_id": id}}

    def _send_card(self, id: str) -> str:
        card = self._card(id)
        if card["is_sent"]:
            raise Wrong(230099, "Failed to create card content, ext=ErrCode: 200740; ErrMsg: card id already used")
        card["is_sent"] = True
        return id

    def _card(self, id: str) -> Fields:
        if id not in self.cards:
            raise Wrong(230099, "Failed to create card content, ext=ErrCode: 200740; ErrMsg: card id not found")
        return self.cards[id]

    def _in_order(self, fields: Fields) -> Fields:
        card, number = self._card(fields["path1"]), fields["sequence"]
        if not isinstance(number, int) or not 0 < number < 2**31:
            raise Wrong(99992402, "field validation failed")
        if number <= card["sequence"]:
            raise Wrong(300317, "sequence number compare failed")
        card["sequence"] = number
        return card

    async def do_card_content(self, fields: Fields) -> Fields:
        card = self._in_order(fields)
        if not card["streams"]:
            raise Wrong(300309, "streaming mode is closed")
        element = next((e for e in card["card"]["body"]["elements"] if e.get("element_id") == fields["path2"]), None)
        if element is None:
            raise Wrong(300313, "element not found")
        if not fields["content"]:
            raise Wrong(99992402, "field validation failed")
        card["grew"] += fields["content"].startswith(element["content"])
        element["content"] = fields["content"]
        return self._show_card(fields["path1"])

    async def do_card_update(self, fields: Fields) -> Fields:
        card = self._in_order(fields)
        _check_content("interactive", fields["card"]["data"])
        card["card"] = json.loads(fields["card"]["data"])
        card["streams"] = card["card"]["config"].get("streaming_mode", False)
        return self._show_card(fields["path1"])

    def _show_card(self, id: str) -> Fields:
        content = json.dumps(self.cards[id]["card"])
        _check_content("interactive", content)
        for message in self.messages:
            if message.get("card_id") == id:
                message.update(content=content, edits=message["edits"] + 1)
        return {"data": {}}

    async def do_card_find(self, fields: Fields) -> Fields:
        message = self._message(fields["message_id"])
        if "card_id" not in message:
            raise Wrong(300301, "not a card entity")
        return {"data": {"card_id": message["card_id"]}}

    async def do_get(self, fields: Fields) -> Fields:
        return {"data": {"items": [_public(self._message(fields["path1"]))]}}

    async def do_list(self, fields: Fields) -> Fields:
        found = [m for m in self.messages if fields["container_id"] in (m.get("thread_id"), m["chat_id"])]
        return {"data": {"has_more": False, "items": [_public(message) for message in found][:50]}}

    async def do_resource(self, fields: Fields) -> bytes:
        if fields["path2"] not in self.files or fields.get("type") not in ("image", "file"):
            raise Wrong(234003, "File not in msg.")
        return self.files[fields["path2"]]

    async def do_image(self, fields: Fields) -> Fields:
        if fields["image_type"] != "message":
            raise Wrong(234001, "Invalid request param.")
        return {"data": {"image_key": self._keep("img", fields["image"], 10 << 20)}}

    async def do_file(self, fields: Fields) -> Fields:
        if fields["file_type"] not in FILE_TYPES or not fields["file_name"]:
            raise Wrong(234001, "Invalid request param.")
        return {"data": {"file_key": self._keep("file", fields["file"], 30 << 20)}}

    def _keep(self, kind: str, given: Upload, largest: int) -> str:
        if not given.data:
            raise Wrong(234010, "File's size can't be 0.")
        if len(given.data) > largest:
            raise Wrong(234006, "The file size exceed the max value.")
        key = f"{kind}_{uuid4().hex}"
        self.files[key] = given.data
        return key

    def _message(self, id: str) -> Fields:
        message = next((message for message in self.messages if message["message_id"] == id), None)
        if message is None:
            raise Wrong(230001, "invalid message_id")
        if message.get("deleted"):
            raise Wrong(230011, "The message was recalled.")
        return message

    def add(self, message: Fields) -> Fields:
        whole = {"message_id": f"om_{uuid4().hex}", "create_time": str(int(time.time() * 1000)), **message}
        self.messages.append(whole)
        return whole

    # Actions of people

    def when_chat(self, given: Fields) -> Fields:
        chat = self.chats.setdefault(given["id"], {"type": "p2p"})
        chat.update(given)
        return chat

    async def when_say(self, given: Fields) -> Fields:
        """`content` as the platform has it; `more` is added to the message as it is."""
        chat = self.when_chat({"id": given["chat"]})
        author = {"id": given["user"], "id_type": "open_id", "sender_type": given.get("sender_type", "user")}
        content = json.dumps(given["content"], ensure_ascii=False)
        body = {"msg_type": given["kind"], "content": content, "sender": author}
        message = self.add({"chat_id": given["chat"], **body, **given.get("more", {})})
        for root in self.messages:  # the first message of a thread belongs to it
            if message.get("thread_id") and root["message_id"] == message.get("root_id"):
                root.setdefault("thread_id", message["thread_id"])
        heard = {name: value for name, value in message.items() if name not in ("sender", "msg_type")}
        heard |= {"message_type": given["kind"], "chat_type": chat["type"]}
        sender = {"sender_id": {"open_id": given["user"], "union_id": "on_x"}, "sender_type": author["sender_type"]}
        event = await self.event("im.message.receive_v1", {"sender": sender, "message": heard})
        return {"message_id": message["message_id"], "create_time": message["create_time"], "event": event}

    async def when_press(self, given: Fields) -> Fields:
        message = self._message(given["message"])
        value = next(value for label, value in _buttons(json.loads(message["content"])) if label == given["label"])
        context = {"open_message_id": message["message_id"], "open_chat_id": message["chat_id"]}
        content = {"operator": {"open_id": given["user"], "tenant_key": "k"}, "token": "c-1", "host": "im_message"}
        content |= {"action": {"tag": "button", "value": value}, "context": context}
        return {"event": await self.event("card.action.trigger", content)}

    async def when_react(self, given: Fields) -> Fields:
        content = {"message_id": given["message"], "reaction_type": {"emoji_type": given["emoji"]}}
        content |= {"operator_type": given.get("by", "user"), "user_id": {"open_id": given["user"]}}
        content |= {"action_time": str(int(time.time() * 1000))}
        return {"event": await self.event("im.message.reaction.created_v1", content)}

    async def when_event(self, given: Fields) -> Fields:
        """Any event at all."""
        return {"event": await self.event(given["kind"], given["content"], **given.get("header", {}))}

    async def when_redeliver(self, given: Fields) -> None:
        for event in list(self.events):
            await self._push_all(event)

    async def when_again(self, given: Fields) -> None:
        """Send an acknowledged event again."""
        self.events[given["event"]] = self.past[given["event"]]
        await self._push_all(given["event"])

    async def when_raw(self, given: Fields) -> None:
        """Send raw bytes, which may not be a frame."""
        for line in list(self.lines):
            await line.send(base64.b64decode(given["data"]))

    def when_file(self, given: Fields) -> None:
        self.files[given["key"]] = bytes(given["size"]) if "size" in given else base64.b64decode(given["data"])

    def when_show(self, given: Fields) -> None:
        """Replace the content of a message."""
        self._message(given["message"])["content"] = json.dumps(given["content"])

    async def when_recall(self, given: Fields) -> Fields:
        message = self._message(given["message"])
        message["deleted"] = True
        content = {"message_id": message["message_id"], "chat_id": message["chat_id"]}
        content |= {"recall_time": str(int(time.time() * 1000)), "recall_type": "message_owner"}
        return {"event": await self.event("im.message.recalled_v1", content)}

    def when_delete(self, given: Fields) -> None:
        self._message(given["message"])["deleted"] = True

    async def when_drop(self, given: Fields) -> None:
        """Close the connections; they may reconnect."""
        for line in list(self.lines):
            line.transport.abort()

    async def when_cut(self, given: Fields) -> None:
        await super().when_cut(given)
        await self.when_drop({})

    def seen(self) -> Fields:
        return {
            "pending": self.events,
            "answers": self.answers,
            "lines": len(self.lines),
            "tokens": len(self.tokens),
            "pings": self.pings,
            "cards": self.cards,
        }


Work = Callable[[World, Fields], Awaitable[Any]]
_MESSAGES = "/open-apis/im/v1/messages"
_CARDS = "/open-apis/cardkit/v1/cards"
ROUTES: list[tuple[str, str, Work]] = [
    ("POST", "/open-apis/auth/v3/tenant_access_token/internal", World.do_token),
    ("POST", "/callback/ws/endpoint", World.do_endpoint),
    ("GET", "/open-apis/bot/v3/info", World.do_bot),
    ("GET", "/open-apis/contact/v3/users/([^/]+)", World.do_user),
    ("POST", _MESSAGES, World.do_send),
    ("GET", _MESSAGES, World.do_list),
    ("POST", f"{_MESSAGES}/([^/]+)/reply", World.do_reply),
    ("POST", f"{_MESSAGES}/([^/]+)/reactions", World.do_react),
    ("POST", _CARDS, World.do_card_create),
    ("POST", f"{_CARDS}/id_convert", World.do_card_find),
    ("PUT", f"{_CARDS}/([^/]+)/elements/([^/]+)/content", World.do_card_content),
    ("PUT", f"{_CARDS}/([^/]+)", World.do_card_update),
    ("POST", "/open-apis/im/v1/images", World.do_image),
    ("POST", "/open-apis/im/v1/files", World.do_file),
    ("GET", f"{_MESSAGES}/([^/]+)/resources/([^/]+)", World.do_resource),
    ("PATCH", f"{_MESSAGES}/([^/]+)", World.do_patch),
    ("PUT", f"{_MESSAGES}/([^/]+)", World.do_put),
    ("GET", f"{_MESSAGES}/([^/]+)", World.do_get),
]


def _route(request: Request) -> tuple[Work, tuple[str, ...]]:
    for method, path, work in ROUTES:
        if method == request.method and (found := re.fullmatch(path, request.path)):
            return work, found.groups()
    raise Wrong(404, "page not found", 404)


def _public(message: Fields) -> Fields:
    """Return a message as the API shows it."""
    hidden = ("uuid", "edits", "content", "card_id", "reactions")
    shown = {name: value for name, value in message.items() if name not in hidden}
    return {**shown, "body": {"content": message["content"]}}


def _check_content(kind: str, content: str) -> None:
    """Refuse everything that is not quite right; stricter than the platform."""
    if len(content.encode()) > (LARGEST_TEXT if kind == "text" else LARGEST):
        raise Wrong(230025, "The length of the message content reaches its limit.")
    given = json.loads(content)
    match kind:
        case "text":
            texts = [given["text"]]
        case "post":
            texts = [piece["text"] for row in given["zh_cn"]["content"] for piece in row]
        case "interactive":
            texts = [each["content"] for each in given["body"]["elements"] if each["tag"] == "markdown"]
            _check_card(given, texts)
        case _:
            raise Wrong(230001, "invalid msg_type")
    if not "".join(texts).strip():
        raise Wrong(230001, "the text is empty")


def _check_card(card: Fields, texts: list[str]) -> None:
    if card["schema"] != "2.0" or not card["config"]["update_multi"]:
        raise Wrong(230099, "Failed to create card content, ext=ErrCode: 200621; ErrMsg: parse card json err")
    outside = _outside_of_code("\n".join(texts))
    tables = (
        r"(?m)^[^|\n]*\n(?=[^\n]*\|[^\n]*\n\|?[ ]*:?-+:?[ ]*\|[-:| ]*$)"  # after a line that is not part of the table
    )
    if len(re.findall(tables, f"\n{outside}")) > TABLES:
        raise Wrong(230099, "Failed to create card content, ext=ErrCode: 11310; ErrMsg: card table number over limit")
    if re.search(r"!\[[^\]]*\]\((?!img_)", outside):
        raise Wrong(
            230099, "Failed to create card content, ext=ErrCode: 200570; ErrMsg: card contains invalid image keys"
        )


def _outside_of_code(text: str) -> str:
    kept, fence = [], ""
    for line in text.split("\n"):
        mark = re.match(r" {0,3}(`{3,}|~{3,})", line)
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1].startswith(fence) and line.strip() == mark[1]:
            fence = ""
        elif not fence:
            kept.append(line)
    return "\n".join(kept)


def _buttons(card: object) -> list[tuple[str, Fields]]:
    if isinstance(card, list):
        return [button for each in card for button in _buttons(each)]
    if not isinstance(card, dict):
        return []
    if card.get("tag") == "button":
        return [(card["text"]["content"], card["behaviors"][0]["value"])]
    return [button for each in card.values() for button in _buttons(each)]


if __name__ == "__main__":
    asyncio.run(run(World))
