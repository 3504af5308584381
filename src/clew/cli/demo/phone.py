"""`python -m clew.cli.demo.phone`: a fake Telegram server for the demo, with the part of the Bot API that clew uses.

It prints its address. GET lists the messages shown on the phone; POST /say is a message of its owner in a topic.
"""

from __future__ import annotations

import threading
import time

from msgspec import Struct

from clew.cli.demo.answering import JsonHandler, serve

Json = dict[str, object]

OWNER: Json = {"id": 4711, "is_bot": False, "first_name": "Ariadne"}
CHAT: Json = {"id": OWNER["id"], "type": "private", "first_name": OWNER["first_name"]}
BOT: Json = {"id": 1, "is_bot": True, "first_name": "clew", "username": "clew_demo_bot"}


class Call(Struct, frozen=True):
    """The parameters of a call that are looked at, of any method."""

    text: str = ""
    topic: int = 0
    offset: int | None = None
    timeout: float | None = None
    message_thread_id: int | None = None
    message_id: int = 0
    name: str = ""


class Phone:
    """The shown messages, and typed ones that were not fetched yet."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._ids = iter(range(1, 1 << 30))
        self.shown: list[Json] = []
        self._typed: list[tuple[int, Json]] = []  # with the number of the update

    def say(self, text: str, topic: int) -> Json:
        with self._changed:
            number, message = self._message(text, topic, OWNER)
            self._typed.append((number, {"update_id": number, "message": message}))
            self._changed.notify_all()
        return message

    def updates(self, offset: int, timeout: float) -> list[Json]:
        """Return updates from `offset` on; earlier ones are confirmed and dropped."""
        with self._changed:
            self._typed = [(number, update) for number, update in self._typed if number >= offset]
            self._changed.wait_for(lambda: self._typed, timeout)
            return [update for _, update in self._typed]

    def show(self, text: str, topic: int) -> Json:
        with self._changed:
            self.shown.append(self._message(text, topic, BOT)[1])
            return self.shown[-1]

    def edit(self, id: int, text: str) -> Json:
        [message] = [each for each in self.shown if each["message_id"] == id]
        message["text"] = text
        return message

    def open_topic(self, name: str) -> Json:
        return {"message_thread_id": next(self._ids), "name": name, "icon_color": 0x6FB9F0}

    def _message(self, text: str, topic: int, sender: Json) -> tuple[int, Json]:
        number = next(self._ids)
        place: Json = {"chat": CHAT, "message_thread_id": topic, "is_topic_message": True} if topic else {"chat": CHAT}
        return number, {"message_id": number, "date": int(time.time()), "text": text, **place, "from": sender}


class Handler(JsonHandler):
    phone = Phone()

    def do_GET(self) -> None:
        self.send_json(self.phone.shown)

    def do_POST(self) -> None:
        call = self.read_json(Call)
        method = self.path.rpartition("/")[2]
        if method == "say":
            self.send_json(self.phone.say(call.text, call.topic))
        else:
            self.send_json({"ok": True, "result": self._result(method, call)})

    def _result(self, method: str, call: Call) -> object:
        match method:
            case "getMe":
                return BOT
            case "getUpdates":
                return self.phone.updates(call.offset or 0, call.timeout or 0)
            case "sendMessage":
                return self.phone.show(call.text, call.message_thread_id or 0)
            case "editMessageText":
                return self.phone.edit(call.message_id, call.text)
            case "createForumTopic":
                return self.phone.open_topic(call.name)
            case "getMyCommands":
                return []
            case _:
                return True


if __name__ == "__main__":
    serve(Handler)
