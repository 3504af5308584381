"""A small fake of Telegram's Bot API on loopback, as a separate process: `python -m tests.surfaces.fakes.telegram`.

Each `World` is one bot with its chats, on a port of its own; the control port creates worlds, lets people write and
press, plants faults, and shows what people see. It ends when its stdin does.
"""

from __future__ import annotations

import asyncio
import base64
import re
import time
from collections.abc import Callable, Mapping
from itertools import accumulate, combinations
from typing import Any

from tests.surfaces.fakes.http_server import Answer, Cut, Request, Upload
from tests.surfaces.fakes.world import AnyWorld, Fields, run

LONGEST = 4096
LARGEST_FILE = 20 << 20
LARGEST_PHOTO = 10 << 20
DOT = {"width": 1, "height": 1}


class Wrong(Exception):
    def __init__(self, code: int, description: str, **parameters: object) -> None:
        super().__init__(description)
        self.code, self.description, self.parameters = code, description, parameters


class Odd(Exception):
    """A response of a proxy in place of the platform."""

    def __init__(self, status: int, body: str) -> None:
        super().__init__(status)
        self.answer = Answer(body.encode(), status)


class World(AnyWorld):
    """One bot."""

    def __init__(self, token: str) -> None:
        super().__init__()
        self.token = token
        number = int(token.partition(":")[0])
        self.bot: Fields = {"id": number, "is_bot": True, "first_name": "Clew", "username": "clew_bot"}
        self.chats: dict[int, Fields] = {}
        self.updates: list[Fields] = []  # not confirmed yet
        self.toasts: dict[str, Fields] = {}
        self.drafts: dict[str, Fields] = {}  # by chat; a message replaces it
        self.webhook = ""
        self.commands: dict[str, object] = {}  # by language
        self.revoked = False
        self._poller: asyncio.Event | None = None
        self._numbers = 0
        self._update_numbers = 1000
        self._allowed: list[str] | None = None

    # The Bot API

    async def serve(self, request: Request) -> Answer:
        if request.path.startswith("/file/"):
            return await self._download(request.path)
        if not request.path.startswith(f"/bot{self.token}/") or self.revoked:
            return _failure(Wrong(401, "Unauthorized"))
        method, fields = request.path.rsplit("/", 1)[1], request.fields()
        try:
            return Answer({"ok": True, "result": await self._answer(method, fields)})
        except Wrong as wrong:
            return _failure(wrong)
        except Odd as odd:
            return odd.answer

    async def _answer(self, method: str, fields: Fields) -> object:
        work: Callable[[Fields], object] | None = getattr(self, f"do_{method.lower()}", None)
        if work is None:
            raise Wrong(404, "Not Found: method not found")
        await self._note(method, fields)
        fault = self.fault(method)
        await self._before(fault)
        result = await self.updates_for(fields) if method == "getUpdates" else work(fields)
        await self.tell()
        if fault.get("kind") == "cut_after":
            raise Cut
        return result

    async def _note(self, method: str, fields: Fields) -> None:
        shown = {name: value for name, value in fields.items() if not isinstance(value, Upload)}
        self.calls.append({"method": method, "fields": shown})
        await self.tell()

    async def _before(self, fault: Mapping[str, Any]) -> None:
        match fault.get("kind"):
            case "cut_before":
                raise Cut
            case "hold":
                await self.released.wait()
            case "error":
                raise Wrong(fault["code"], fault["description"], **fault.get("parameters", {}))
            case "odd":
                raise Odd(fault["status"], fault["body"])

    def do_getme(self, fields: Fields) -> object:
        can = {"can_join_groups": True, "can_read_all_group_messages": False, "supports_inline_queries": False}
        return {**self.bot, **can}

    def do_deletewebhook(self, fields: Fields) -> object:
        self.webhook = ""
        return True

    def do_setmycommands(self, fields: Fields) -> object:
        for each in fields["commands"]:
            if not re.fullmatch("[a-z0-9_]{1,32}", each["command"]) or not 1 <= len(each["description"]) <= 256:
                raise Wrong(400, "Bad Request: BOT_COMMAND_INVALID")
        self.commands[fields.get("language_code") or ""] = fields["commands"]
        return True

    def do_getmycommands(self, fields: Fields) -> object:
        return self.commands.get(fields.get("language_code") or "", [])

    def do_getupdates(self, fields: Fields) -> object:
        raise AssertionError("it is waited for")

    async def updates_for(self, fields: Fields) -> list[Fields]:
        """Return updates; a second poller ends the first one."""
        if self.webhook:
            words = (
                "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete it first"
            )
            raise Wrong(409, words)
        if self._poller is not None:
            self._poller.set()
        mine = self._poller = asyncio.Event()
        self._confirm(int(fields.get("offset", 0)))
        self._allowed = fields.get("allowed_updates", self._allowed) or None
        try:
            await self._wait_for_updates(float(fields.get("timeout", 0)), mine)
        finally:
            if self._poller is mine:
                self._poller = None
        if mine.is_set():
            words = "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"
            raise Wrong(409, words)
        return self.updates[: int(fields.get("limit", 100))]

    def _confirm(self, offset: int) -> None:
        if offset < 0:
            self.updates = self.updates[offset:]
        else:
            self.updates = [update for update in self.updates if update["update_id"] >= offset]

    async def _wait_for_updates(self, seconds: float, mine: asyncio.Event) -> None:
        await self.tell()  # what was confirmed
        try:
            async with asyncio.timeout(seconds), self.changed:
                await self.changed.wait_for(lambda: self.updates or mine.is_set())
        except TimeoutError:
            return

    def do_sendmessage(self, fields: Fields) -> Fields:
        where = self._place(fields)
        text = check_text(fields.get("text"))
        extra = {"text": text, "entities": check_entities(text, fields.get("entities") or [])}
        return self._send(where, extra, fields)

    def do_senddocument(self, fields: Fields) -> Fields:
        said = {"caption": fields.get("caption", ""), "document": self._upload(fields["document"])}
        return self._send(self._place(fields), said, fields)

    def do_sendphoto(self, fields: Fields) -> Fields:
        if len(fields["photo"].data) > LARGEST_PHOTO:
            raise Wrong(400, "Bad Request: PHOTO_SAVE_FILE_INVALID")
        said = {"caption": fields.get("caption", ""), "photo": [{**self._upload(fields["photo"]), **DOT}]}
        return self._send(self._place(fields), said, fields)

    def _upload(self, given: Upload) -> Fields:
        if not given.data:
            raise Wrong(400, "Bad Request: file must be non-empty")
        return {**self.keep(given.data), "file_name": given.name}

    def _send(self, where: Fields, content: Fields, fields: Fields) -> Fields:
        self.drafts.pop(str(where["chat"]), None)
        buttons = _buttons(fields.get("reply_markup"))
        silent = fields.get("disable_notification") in (True, "true")
        previews = not (fields.get("link_preview_options") or {}).get("is_disabled", False)
        seen = {"buttons": buttons, "silent": silent, "previews": previews, "edits": 0}
        return self.add({**where, **content, "from": self.bot}, fields.get("reply_parameters"), seen)

    def do_editmessagetext(self, fields: Fields) -> Fields:
        self._chat(fields)
        message = self.find(int(fields["chat_id"]), int(fields["message_id"]))
        if message is None:
            raise Wrong(400, "Bad Request: message to edit not found")
        if message["from"]["id"] != self.bot["id"]:
            raise Wrong(400, "Bad Request: message can't be edited")
        text = check_text(fields.get("text"))
        new = {"text": text, "entities": check_entities(text, fields.get("entities") or [])}
        buttons = _buttons(fields.get("reply_markup"))
        if {**new, "buttons": buttons} == {name: message.get(name) for name in ("text", "entities", "buttons")}:
            words = "message is not modified: specified new message content and reply markup are exactly the same as a"
            raise Wrong(400, f"Bad Request: {words} current content and reply markup of the message")
        message.update(new, buttons=buttons, edits=message["edits"] + 1)
        return _public(message)

    def do_sendmessagedraft(self, fields: Fields) -> object:
        where = self._place(fields)
        if where["chat"] < 0:
            raise Wrong(400, "Bad Request: TEXTDRAFT_PEER_INVALID")
        if not fields["draft_id"]:
            raise Wrong(400, "Bad Request: draft_id must be non-zero")
        text = check_text(fields.get("text"))
        entities = check_entities(text, fields.get("entities") or [])
        self.drafts[str(where["chat"])] = {"id": fields["draft_id"], "text": text, "entities": entities}
        return True

    def do_sendchataction(self, fields: Fields) -> object:
        self._place(fields)
        if fields["action"] != "typing":
            raise Wrong(400, "Bad Request: wrong parameter action in request")
        return True

    def do_setmessagereaction(self, fields: Fields) -> object:
        message = self.find(int(fields["chat_id"]), int(fields["message_id"]))
        if message is None:
            raise Wrong(400, "Bad Request: message to react not found")
        message["reactions"] = [each["emoji"] for each in fields["reaction"]]
        return True

    def do_answercallbackquery(self, fields: Fields) -> object:
        toast = self.toasts.get(fields["callback_query_id"])
        if toast is None or toast["answered"]:
            raise Wrong(400, "Bad Request: query is too old and response timeout expired or query ID is invalid")
        if len(fields.get("text", "")) > 200:
            raise Wrong(400, "Bad Request: MESSAGE_TOO_LONG")
        toast.update(answered=True, text=fields.get("text", ""))
        return True

    def do_createforumtopic(self, fields: Fields) -> Fields:
        chat = self._chat(fields)
        if not chat.get("is_forum"):
            raise Wrong(400, "Bad Request: the chat is not a forum")
        if not 1 <= len(fields["name"]) <= 128:
            raise Wrong(400, "Bad Request: TOPIC_TITLE_INVALID")
        about = {"name": fields["name"], "icon_color": 7322096}
        created = self.add({"chat": chat["id"], "from": self.bot, "forum_topic_created": about}, None, {})
        chat.setdefault("topics", []).append(created["message_id"])
        return {"message_thread_id": created["message_id"], **about}

    def do_getchat(self, fields: Fields) -> Fields:
        return {**_chat_shown(self._chat(fields)), "accent_color_id": 0, "max_reaction_count": 11, "gifts": {}}

    def do_getfile(self, fields: Fields) -> Fields:
        data = self.files.get(fields["file_id"])
        if data is None:
            raise Wrong(400, "Bad Request: wrong file_id or the file is temporarily unavailable")
        if len(data) > LARGEST_FILE:
            raise Wrong(400, "Bad Request: file is too big")
        return {**_file(fields["file_id"], data), "file_path": f"documents/{fields['file_id']}.bin"}

    async def _download(self, path: str) -> Answer:
        fault = self.fault("download")
        await self._note("download", {"path": path})
        if fault.get("kind") == "hold":
            await self.released.wait()
        if fault.get("kind") == "cut_before":
            raise Cut
        if fault.get("kind") == "odd":
            return Answer(fault["body"].encode(), fault["status"])
        start, name = f"/file/bot{self.token}/documents/", path.rsplit("/", 1)[1].removesuffix(".bin")
        if not path.startswith(start) or name not in self.files:
            return _failure(Wrong(404, "Not Found"))
        return Answer(self.files[name])

    def _chat(self, fields: Fields) -> Fields:
        chat = self.chats.get(int(fields.get("chat_id", 0)))
        if chat is None:
            raise Wrong(400, "Bad Request: chat not found")
        if chat.get("kicked"):
            raise Wrong(403, f"Forbidden: bot was kicked from the {chat['type']} chat")
        if "moved" in chat:
            words = "Bad Request: group chat was upgraded to a supergroup chat"
            raise Wrong(400, words, migrate_to_chat_id=chat["moved"])
        return chat

    def _place(self, fields: Fields) -> Fields:
        chat = self._chat(fields)
        topic = int(fields.get("message_thread_id") or 0)
        if topic and topic not in chat.get("topics", ()):
            raise Wrong(400, "Bad Request: message thread not found")
        return {"chat": chat["id"], **({"topic": topic} if topic else {})}

    # Actions of people

    def chat(self, given: Fields) -> Fields:
        """Return a chat; creates it on first use."""
        chat = self.chats.setdefault(given["id"], {"type": "private" if given["id"] > 0 else "supergroup"})
        chat.update(given)
        return chat

    def add(self, message: Fields, reply: Fields | None, seen: Fields) -> Fields:
        """Add a message to a chat, as the API shows it."""
        self._numbers += 1
        whole = {"message_id": self._numbers, "date": int(time.time()), **message, **seen}
        quoted = self.find(whole["chat"], int(reply["message_id"])) if reply else None
        if reply and quoted is None and whole["from"] is self.bot and not reply.get("allow_sending_without_reply"):
            raise Wrong(400, "Bad Request: message to be replied not found")
        if quoted is not None:
            whole |= self._quote(whole, quoted)
        elif "topic" in whole and (root := self.find(whole["chat"], whole["topic"])):
            whole["reply_to_message"] = _public(root)  # as the platform does in topics
        whole["chat_shown"] = _chat_shown(self.chats[whole["chat"]])
        self.messages.append(whole)
        return _public(whole)

    def _quote(self, message: Fields, quoted: Fields) -> Fields:
        """For a message of another topic only its chat and number are given."""
        chat = self.chats[message["chat"]]
        if chat["type"] == "private" or quoted.get("topic") == message.get("topic"):
            return {"reply_to_message": _public(quoted)}
        origin = {"type": "user", "date": quoted["date"], "sender_user": quoted["from"]}
        return {"external_reply": {"origin": origin, "chat": _chat_shown(chat), "message_id": quoted["message_id"]}}

    def find(self, chat: int, number: int) -> Fields | None:
        return next((m for m in self.messages if m["chat"] == chat and m["message_id"] == number), None)

    def keep(self, data: bytes) -> Fields:
        name = f"file{len(self.files) + 1}"
        self.files[name] = data
        return _file(name, data)

    def update(self, kind: str, content: object) -> Fields:
        self._update_numbers += 1
        update = {"update_id": self._update_numbers, kind: content}
        if self._allowed is None or kind in self._allowed:
            self.updates.append(update)
        return update

    def when_chat(self, given: Fields) -> Fields:
        return self.chat(given)

    def when_topic(self, given: Fields) -> Fields:
        return self.do_createforumtopic({"chat_id": given["chat"], "name": given["name"]})

    def when_delete_topic(self, given: Fields) -> None:
        """Delete a topic with all that was said in it."""
        chat, topic = given["chat"], given["topic"]
        self.chats[chat]["topics"].remove(topic)
        self.messages = [
            m for m in self.messages if m["chat"] != chat or topic not in (m["message_id"], m.get("topic"))
        ]

    def when_say(self, given: Fields) -> Fields:
        """`more` is added to the message as it is; `files` are stored and added by name."""
        self.chat({"id": given["chat"]})
        files = {name: _hung(name, each, self) for name, each in given.get("files", {}).items()}
        reply = {"message_id": given["reply"]} if given.get("reply") else None
        content = {"chat": given["chat"], "from": given["user"], **given.get("more", {}), **files}
        content |= {name: given[name] for name in ("text", "topic") if given.get(name) is not None}
        message = self.add(content, reply, {})
        self.update("message", message)
        return message

    def when_edit(self, given: Fields) -> Fields:
        message = self.find(given["chat"], given["message_id"])
        assert message is not None
        message.update(text=given["text"], edit_date=int(time.time()))
        return self.update("edited_message", _public(message))

    def when_press(self, given: Fields) -> Fields:
        message = self.find(given["chat"], given["message_id"])
        assert message is not None
        found = [button["callback_data"] for button in message["buttons"] if button["text"] == given["label"]]
        if not found:  # the message was edited before the press arrived
            return {"id": ""}
        id = f"query{len(self.toasts) + 1}"
        self.toasts[id] = {"answered": False, "text": ""}
        query = {"id": id, "from": given["user"], "message": _public(message), "chat_instance": "x", "data": found[0]}
        self.update("callback_query", query)
        return {"id": id}

    def when_upgrade(self, given: Fields) -> None:
        """A group becomes a supergroup: each of the two gets a message that names the other."""
        old, new = given["chat"], given["to"]
        self.chat({"id": new, "type": "supergroup"})
        for chat, about in ((old, {"migrate_to_chat_id": new}), (new, {"migrate_from_chat_id": old})):
            self.update("message", self.add({"chat": chat, "from": given["user"], **about}, None, {}))
        self.chat({"id": old, "moved": new})

    def when_inject(self, given: Fields) -> Fields:
        """Add an update as it is, with a number if it has none."""
        self._update_numbers += 1
        self.updates.append({"update_id": self._update_numbers, **given})
        return self.updates[-1]

    def seen(self) -> Fields:
        return {
            "messages": [{**message, **_public(message)} for message in self.messages],
            "pending": [update["update_id"] for update in self.updates],
            "waiting": [update["message"]["message_id"] for update in self.updates if update.get("message")],
            "toasts": self.toasts,
            "drafts": self.drafts,
            "chats": list(self.chats.values()),
            "polling": self._poller is not None,
        }


def _failure(wrong: Wrong) -> Answer:
    body = {"ok": False, "error_code": wrong.code, "description": wrong.description}
    return Answer({**body, **({"parameters": wrong.parameters} if wrong.parameters else {})}, wrong.code)


def _public(message: Fields) -> Fields:
    """Return a message as the API shows it."""
    hidden = ("buttons", "silent", "previews", "edits", "topic", "chat_shown", "chat", "reactions")
    shown = {name: value for name, value in message.items() if name not in hidden}
    topic = {"message_thread_id": message["topic"], "is_topic_message": True} if "topic" in message else {}
    return {**shown, **topic, "chat": message["chat_shown"]}


def _chat_shown(chat: Fields) -> Fields:
    return {name: value for name, value in chat.items() if name in ("id", "type", "is_forum", "title")}


def check_text(given: object) -> str:
    text = "" if given is None else str(given)
    if not text.strip():
        raise Wrong(400, "Bad Request: message text is empty")
    if _units(text) > LONGEST:
        raise Wrong(400, "Bad Request: message is too long")
    return text


def _units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


STYLES = frozenset({"bold", "italic", "strikethrough"})
ALONE = frozenset({"pre", "code"})
MARKED = STYLES | ALONE | {"text_link", "blockquote"}


def check_entities(text: str, given: list[Fields]) -> list[Fields]:
    """Refuse everything that is not quite right; stricter than the platform, which drops some of it silently."""
    edges = {0, *accumulate(_units(char) for char in text)}
    if len(given) > 100:
        raise _unparsed("more than 100")
    data = text.encode("utf-16-le")
    for entity in given:
        start, end = entity["offset"], entity["offset"] + entity["length"]
        if entity["type"] not in MARKED or entity["length"] < 1 or not {start, end} <= edges:
            raise _unparsed(f"{entity} is not within the text")
        if not data[2 * start : 2 * end].decode("utf-16-le").strip():
            raise _unparsed(f"{entity} has no text")
        if entity["type"] == "text_link" and not re.match(r"https?://\S{1,2040}$", entity["url"]):
            raise _unparsed(f"{entity} has no address")
    for one, other in combinations(given, 2):
        if not _go_together(one, other):
            raise _unparsed(f"{one} and {other} overlap")
    return given


def _go_together(one: Fields, other: Fields) -> bool:
    """Whether two entities are apart, or one may contain the other."""
    outer, inner = sorted((one, other), key=lambda each: (each["offset"], -each["length"], each["type"] in STYLES))
    if outer["offset"] + outer["length"] <= inner["offset"]:
        return True
    kinds = {outer["type"], inner["type"]}
    within = inner["offset"] + inner["length"] <= outer["offset"] + outer["length"]
    if not within or outer["type"] == inner["type"] or "pre" in kinds:
        return False
    return outer["type"] == "blockquote" if "code" in kinds else bool(kinds & (STYLES | {"blockquote"}))


def _unparsed(why: str) -> Wrong:
    return Wrong(400, f"Bad Request: can't parse entities: {why}")


def _buttons(markup: Fields | None) -> list[Fields]:
    buttons = [button for row in (markup or {}).get("inline_keyboard", []) for button in row]
    if any(not 1 <= len(button["callback_data"].encode()) <= 64 for button in buttons):
        raise Wrong(400, "Bad Request: BUTTON_DATA_INVALID")
    return buttons


def _file(name: str, data: bytes) -> Fields:
    return {"file_id": name, "file_unique_id": f"u{name}", "file_size": len(data)}


def _hung(kind: str, given: Fields, world: World) -> object:
    data = bytes(given["size"]) if "size" in given else base64.b64decode(given["data"])
    file = {**world.keep(data), **{name: value for name, value in given.items() if name not in ("data", "size")}}
    return [{**file, **DOT}] if kind == "photo" else file


if __name__ == "__main__":
    asyncio.run(run(World))
