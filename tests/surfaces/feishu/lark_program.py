"""Runs Feishu's own library against the fake: it sends, then listens. It prints one line for each thing that it
understood. `python lark_program.py ADDRESS APP SECRET CHAT`, with lark-oapi on PYTHONPATH."""

from __future__ import annotations

import io
import json
import sys
from typing import Any

import lark_oapi as lark
from lark_oapi.api.cardkit.v1 import (
    Card,
    ContentCardElementRequest,
    ContentCardElementRequestBody,
    CreateCardRequest,
    CreateCardRequestBody,
    IdConvertCardRequest,
    IdConvertCardRequestBody,
    UpdateCardRequest,
    UpdateCardRequestBody,
)
from lark_oapi.api.im.v1 import (
    CreateFileRequest,
    CreateFileRequestBody,
    CreateImageRequest,
    CreateImageRequestBody,
    CreateMessageRequest,
    CreateMessageRequestBody,
    GetMessageResourceRequest,
    PatchMessageRequest,
    PatchMessageRequestBody,
    ReplyMessageRequest,
    ReplyMessageRequestBody,
)
from lark_oapi.event.callback.model.p2_card_action_trigger import P2CardActionTriggerResponse

PLAIN = {"schema": "2.0", "config": {"update_multi": True}}


def tell(**what: Any) -> None:
    print(json.dumps(what), flush=True)


def card(text: str, **config: Any) -> str:
    element = {"tag": "markdown", "element_id": "said", "content": text}
    return json.dumps({**PLAIN, "config": {"update_multi": True, **config}, "body": {"elements": [element]}})


class Talk:
    def __init__(self, client: Any, chat: str) -> None:
        self.client, self.chat = client, chat

    def done(self, response: Any) -> Any:
        assert response.success(), f"{response.code} {response.msg}"
        return getattr(response, "data", None)

    def send(self, kind: str, content: str, uuid: str) -> str:
        body = CreateMessageRequestBody.builder().receive_id(self.chat).msg_type(kind).content(content).uuid(uuid)
        request = CreateMessageRequest.builder().receive_id_type("chat_id").request_body(body.build()).build()
        return str(self.done(self.client.im.v1.message.create(request)).message_id)

    def reply(self, message: str, text: str) -> Any:
        body = ReplyMessageRequestBody.builder().msg_type("text").content(json.dumps({"text": text}))
        body = body.reply_in_thread(True).build()
        request = ReplyMessageRequest.builder().message_id(message).request_body(body).build()
        return self.done(self.client.im.v1.message.reply(request))

    def patch(self, message: str, content: str) -> None:
        body = PatchMessageRequestBody.builder().content(content).build()
        request = PatchMessageRequest.builder().message_id(message).request_body(body).build()
        self.done(self.client.im.v1.message.patch(request))

    def image(self, data: bytes) -> str:
        body = CreateImageRequestBody.builder().image_type("message").image(io.BytesIO(data)).build()
        request = CreateImageRequest.builder().request_body(body).build()
        return str(self.done(self.client.im.v1.image.create(request)).image_key)

    def file(self, name: str, data: bytes) -> str:
        body = CreateFileRequestBody.builder().file_type("stream").file_name(name).file(io.BytesIO(data)).build()
        return str(
            self.done(self.client.im.v1.file.create(CreateFileRequest.builder().request_body(body).build())).file_key
        )

    def download(self, message: str, key: str) -> bytes:
        request = GetMessageResourceRequest.builder().message_id(message).file_key(key).type("file").build()
        response = self.client.im.v1.message_resource.get(request)
        assert response.success(), response.msg
        return bytes(response.file.read())

    def stream(self) -> None:
        """Create, send, update, find and close a card."""
        kit = self.client.cardkit.v1
        body = CreateCardRequestBody.builder().type("card_json").data(card("…", streaming_mode=True)).build()
        id = self.done(kit.card.create(CreateCardRequest.builder().request_body(body).build())).card_id
        sent = self.send("interactive", json.dumps({"type": "card", "data": {"card_id": id}}), "their-card")
        words = ContentCardElementRequestBody.builder().content("one two").sequence(1).build()
        said = ContentCardElementRequest.builder().card_id(id).element_id("said").request_body(words).build()
        self.done(kit.card_element.content(said))
        asked = IdConvertCardRequestBody.builder().message_id(sent).build()
        found = self.done(kit.card.id_convert(IdConvertCardRequest.builder().request_body(asked).build())).card_id
        assert found == id, (found, id)
        last = Card.builder().type("card_json").data(card("over")).build()
        change = UpdateCardRequestBody.builder().card(last).sequence(2).build()
        self.done(kit.card.update(UpdateCardRequest.builder().card_id(id).request_body(change).build()))
        tell(streamed=sent)


def heard(event: Any) -> None:
    message = event.event.message
    sender = event.event.sender.sender_id.open_id
    tell(heard=json.loads(message.content)["text"], by=sender, chat=message.chat_id, id=message.message_id)


def pressed(event: Any) -> Any:
    tell(pressed=event.event.action.value["says"], on=event.event.context.open_message_id)
    return P2CardActionTriggerResponse({"toast": {"type": "info", "content": "noted"}})


def main(address: str, app: str, secret: str, chat: str) -> None:
    client = lark.Client.builder().app_id(app).app_secret(secret).domain(address).build()
    talk = Talk(client, chat)
    text = json.dumps({"text": "hello"})
    sent = talk.send("text", text, "one")
    tell(sent=sent, again=talk.send("text", text, "one"), thread=talk.reply(sent, "in a thread").thread_id)
    board = talk.send("interactive", card("a"), "two")
    talk.patch(board, card("b"))
    tell(patched=board)
    pixel = talk.send("image", json.dumps({"image_key": talk.image(b"\x89PNG")}), "three")
    key = talk.file("a b.txt", b"some bytes")
    tell(image=pixel, file=talk.download(talk.send("file", json.dumps({"file_key": key}), "four"), key).decode())
    talk.stream()
    handler = lark.EventDispatcherHandler.builder("", "").register_p2_im_message_receive_v1(heard)
    handler = handler.register_p2_card_action_trigger(pressed).build()
    lark.ws.Client(app, secret, event_handler=handler, domain=address, log_level=lark.LogLevel.ERROR).start()


if __name__ == "__main__":
    main(*sys.argv[1:])
