"""`python -m clew.cli.demo.phone`: a fake Telegram server for the demo, with the part of the Bot API that clew uses.

It prints its address. GET lists the messages shown on the phone; POST /say is a message of its owner in a topic.
"""

from __future__ import annotations

import threading
import time
from typing import Any

from clew.cli.demo.answering import JsonHandler, serve

OWNER = {"id": 4711, "is_bot": False, "first_name": "Ariadne"}
CHAT = {"id": OWNER["id"], "type": "private", "first_name": OWNER["first_name"]}
BOT = {"id": 1, "is_bot": True, "first_name": "clew", "username": "clew_demo_bot"}


class Phone:
    """The shown messages, and typed ones that were not fetched yet."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._ids = iter(range(1, 1 << 30))
        self.shown: list[dict[str, Any]] = []
        self._typed: list[dict[str, Any]] = []

    def say(self, text: str, topic: int) -> dict[str, Any]:
        with self._changed:
            message = self._message(text, topic) | {"from": OWNER}
            self._typed.append({"update_id": message["message_id"], "message": message})
            self._changed.notify_all()
        return message

    def updates(self, offset: int, timeout: float) -> list[dict[str, Any]]:
        """Return updates from `offset` on; earlier ones are confirmed and dropped."""
        with self._changed:
            self._typed = [update for update in self._typed if update["update_id"] >= offset]
            self._changed.wait_for(lambda: self._typed, timeout)
            return list(self._typed)

    def show(self, text: str, topic: int) -> dict[str, Any]:
        with self._changed:
            self.shown.append(self._message(text, topic) | {"from": BOT})
            return self.shown[-1]

    def edit(self, id: int, text: str) -> dict[str, Any]:
        [message] = [each for each in self.shown if each["message_id"] == id]
        message["text"] = text
        return message

    def open_topic(self, name: str) -> dict[str, Any]:
        return {"message_thread_id": next(self._ids), "name": name, "icon_color": 0x6FB9F0}

    def _message(self, text: str, topic: int) -> dict[str, Any]:
        place = {"chat": CHAT, "message_thread_id": topic, "is_topic_message": True} if topic else {"chat": CHAT}
        return {"message_id": next(self._ids), "date": int(time.time()), "text": text, **place}


class Handler(JsonHandler):
    phone = Phone()

    def do_GET(self) -> None:
        self.send_json(self.phone.shown)

    def do_POST(self) -> None:
        body = self.read_json()
        method = self.path.rpartition("/")[2]
        if method == "say":
            self.send_json(self.phone.say(body["text"], body["topic"]))
        else:
            self.send_json({"ok": True, "result": self._result(method, body)})

    def _result(self, method: str, body: dict[str, Any]) -> object:
        match method:
            case "getMe":
                return BOT
            case "getUpdates":
                return self.phone.updates(body.get("offset") or 0, body.get("timeout") or 0)
            case "sendMessage":
                return self.phone.show(body["text"], body.get("message_thread_id") or 0)
            case "editMessageText":
                return self.phone.edit(body["message_id"], body["text"])
            case "createForumTopic":
                return self.phone.open_topic(body["name"])
            case "getMyCommands":
                return []
            case _:
                return True


if __name__ == "__main__":
    serve(Handler)
