"""Converting Markdown to Feishu's formats, and parsing people's messages."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from clew.model.delivery import Button
from clew.surfaces.feishu import content, events, markup
from clew.surfaces.feishu.content import Content, File
from clew.surfaces.feishu.events import Mention, _Id, _replace_mentions
from tests.surfaces.documents import document
from tests.surfaces.fakes.feishu import _check_content

KEYS = ["message", "sender", "sender_id", "open_id", "sender_type", "message_id", "chat_id", "chat_type", "mentions"]
KEYS += [
    "key",
    "id",
    "content",
    "create_time",
    "operator",
    "context",
    "action",
    "value",
    "says",
    "reaction_type",
    "items",
]
TABLE = "| a | b |\n|---|---|\n| 1 | 2 |"


def text_of(post: str) -> str:
    return str(json.loads(post)["zh_cn"]["content"][0][0]["text"])


def card_text(card: str) -> str:
    return str(json.loads(card)["body"]["elements"][0]["content"])


def test_a_post_has_no_headings_pictures_or_mentions() -> None:
    text = "# Title #\n\n**bold** ![pic](https://e.org/p.png) <at id=all></at>\n\n```sh\n# not a title ![x](y)\n```"
    shown = "**Title**\n\n**bold** [pic](https://e.org/p.png) <\u200bat id=all><\u200b/at>\n\n"
    assert text_of(markup.post(text)) == f"{shown}```sh\n# not a title ![x](y)\n```"
    assert json.loads(markup.post("x", "3 s"))["zh_cn"]["content"][1] == [{"tag": "md", "text": "*3 s*"}]


def test_buttons_of_a_card_carry_their_text_and_thread() -> None:
    card = json.loads(markup.card("May I?", "small", (Button("Yes", "K7 y"), Button("No", "K7 n")), "omt_1"))
    assert [each["tag"] for each in card["body"]["elements"]] == ["markdown", "column_set", "markdown"]
    keys = [column["elements"][0] for column in card["body"]["elements"][1]["columns"]]
    assert [key["behaviors"][0]["value"] for key in keys] == [
        {"says": "K7 y", "thread": "omt_1"},
        {"says": "K7 n", "thread": "omt_1"},
    ]
    assert [key["type"] for key in keys] == ["primary", "default"]
    assert card["config"]["update_multi"] and not card["config"]["enable_forward"]


def test_the_sixth_table_is_code() -> None:
    shown = card_text(markup.card("\n\n".join([TABLE] * 7)))
    assert shown.count(f"```\n{TABLE}\n```") == 2 and shown.startswith(TABLE)
    _check_content("interactive", markup.card("\n\n".join([TABLE] * 7)))


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        (TABLE, True),
        ("a | b\n-|-\n1 | 2", True),
        (f"```\n{TABLE}\n```", False),
        ("a | b\nno rule", False),
        ("a\n---\nb", False),
        ("| a |", False),
    ],
)
def test_a_table_is_recognized(text: str, is_one: bool) -> None:
    assert markup.has_table(text) is is_one


@given(
    st.lists(st.sampled_from([TABLE, "```", "~~~py", "text", "", "# x", "|", "-|-", "![a](b)", "<at>"]), max_size=30)
)
def test_the_pieces_of_any_text_join_to_the_text(lines: list[str]) -> None:
    text = "\n".join(lines)
    assert "\n".join(piece for _, piece in markup.pieces(text)) == text
    _check_content("interactive", markup.card(text))
    _check_content("post", markup.post(text))


@pytest.mark.parametrize("text", ["", "  \n", "a\x00b\ud800", "\u202eabc\u200b", '"' * 10_000, "\n" * 9_000 + "x"])
def test_any_text_gives_valid_content(text: str) -> None:
    for kind, shown in (("interactive", markup.card(text)), ("post", markup.post(text)), ("text", markup.plain(text))):
        _check_content(kind, shown)


POST: dict[str, Any] = {
    "title": "A title",
    "content": [
        [{"tag": "text", "text": "see "}, {"tag": "a", "href": "https://e.org", "text": "this"}],
        [{"tag": "at", "user_id": "@_user_1", "user_name": "Bob"}, {"tag": "text", "text": " look"}],
        [{"tag": "img", "image_key": "img_1"}, {"tag": "media", "file_key": "f_2", "file_name": "a.mp4"}],
        [{"tag": "code_block", "language": "PYTHON", "text": "print(1)\n"}],
        [{"tag": "emotion", "emoji_type": "SMILE"}, {"tag": "hr"}, {"tag": "md", "text": "**x**"}],
    ],
}


def test_a_post_is_parsed_into_text_and_files() -> None:
    text = "A title\nsee [this](https://e.org)\n@_user_1 look\n\n```python\nprint(1)\n```\n:SMILE:**x**"
    wanted = Content(text, (File("img_1", "image"), File("f_2", "file", "a.mp4")))
    assert content.read("post", json.dumps(POST)) == wanted
    assert content.read("post", json.dumps({"en_us": POST})) == wanted


STRUCK = {"tag": "text", "style": ["lineThrough"]}


@pytest.mark.parametrize(
    ("kind", "given_", "wanted"),
    [
        ("text", {"text": "hello"}, Content("hello")),
        ("post", {"content": [[{**STRUCK, "text": "y"}]]}, Content("y", struck=True)),
        ("post", {"content": [[{**STRUCK, "text": "n"}, {"tag": "text", "text": " y"}]]}, Content("n y")),
        ("image", {"image_key": "img_1"}, Content(files=(File("img_1", "image"),))),
        ("file", {"file_key": "f_1", "file_name": "a.txt"}, Content(files=(File("f_1", "file", "a.txt"),))),
        ("audio", {"file_key": "f_1", "duration": 1}, Content(files=(File("f_1", "file"),))),
        ("sticker", {"file_key": "f_1"}, Content()),
        ("text", {"text": 7}, Content()),
        ("text", [], Content()),
        ("post", {"content": [None, [None, {"tag": 7}], {}]}, Content()),
        ("image", {"image_key": None}, Content()),
        ("nonsense", {}, Content()),
    ],
)
def test_messages_of_any_kind_are_parsed(kind: str, given_: object, wanted: Content) -> None:
    assert content.read(kind, json.dumps(given_)) == wanted
    assert content.read(kind, json.dumps(given_)[:-1]) == Content()


def test_mentions_become_names_and_the_bots_own_is_removed() -> None:
    people = {"@_user_1": ("me", "clew"), "@_user_10": ("x", "Zoe"), "@_user_2": ("y", "Bob")}
    mentions = tuple(Mention(key, _Id(id), name) for key, (id, name) in people.items())
    assert _replace_mentions("@_user_1 ask @_user_2 and @_user_10", mentions, "me") == "ask @Bob and @Zoe"
    assert _replace_mentions("@_user_10@_user_1", mentions, "me") == "@Zoe"


ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(["user", "p2p", "om_1", "{}"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=12,
)


@given(st.sampled_from([events.SAID, events.PRESSED, events.REACTED, "x"]), ODD)
def test_anything_that_arrives_is_read_or_skipped(kind: str, event: object) -> None:
    header = {"event_id": "e", "event_type": kind, "app_id": "cli_1"}
    read = events.read(json.dumps({"header": header, "event": event}).encode(), "cli_1")
    if isinstance(read, events.Event) and isinstance(read.what, events.Said):
        events.message_to_inbound(read.what, "ou_clew")
    elif isinstance(read, events.Event) and isinstance(read.what, events.Pressed):
        events.press_to_inbound("e", read.what)
    assert events.shown(event, "cli_1") is None


def test_unknown_values_may_be_null() -> None:
    nothing = dict.fromkeys(("root_id", "parent_id", "thread_id", "mentions", "create_time", "user_agent"))
    message = {"message_id": "om_1", "chat_id": "oc_1", "chat_type": "p2p", "message_type": "text", **nothing}
    sender = {"sender_id": {"open_id": "ou_1", "user_id": None}, "sender_type": "user", "tenant_key": None}
    event = {"message": {**message, "content": '{"text": "hello"}'}, "sender": sender}
    header = {"event_id": "e", "event_type": events.SAID, "app_id": "cli_1"}
    read = events.read(json.dumps({"header": header, "event": event}).encode(), "cli_1")
    assert isinstance(read, events.Event) and isinstance(read.what, events.Said)
    heard = events.message_to_inbound(read.what, "ou_clew")
    assert isinstance(heard, tuple) and heard[0].text == "hello" and heard[0].sent_at is None


STRICT = MarkdownIt("commonmark").enable("table")  # as a platform may read it


def test_bold_text_of_500_documents_is_bold_by_the_strict_rules() -> None:
    for seed in range(500):
        shown = STRICT.parse(markup.markdown(text := document(seed)))
        loose = [child.content for token in shown for child in token.children or () if child.type == "text"]
        assert not any("**" in each for each in loose), (seed, [each for each in loose if "**" in each])
        without_spaces = markup.markdown(text).replace(" ", "")
        assert without_spaces.replace("```\n", "") == text.replace(" ", "").replace("```\n", ""), seed


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("**注意：**重启", "**注意：** 重启"),
        ("请看**“引文”是**这样", "请看 **“引文”是**这样"),
        ("中文**粗体**中文，**a** b", "中文**粗体**中文，**a** b"),
        ("`**注意：**重启` 2**3**4 **", "`**注意：**重启` 2**3**4 **"),
        ("```\n**注意：**重启\n```", "```\n**注意：**重启\n```"),
    ],
)
def test_bold_beside_chinese_gets_a_space_only_if_it_needs_one(text: str, shown: str) -> None:
    assert markup.markdown(text) == shown


def test_a_heading_with_bold_words_is_bold_once_in_a_post() -> None:
    assert "**A big title**" in markup.post("# A **big** title")
