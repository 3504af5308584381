"""What an agent writes, as HTML: nothing in it can do harm, and what was shown of a text stays while more comes."""

from __future__ import annotations

import re
import time
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.server.page.markdown import CELLS, DEEPEST, LARGEST, LONGEST, render
from tests.server.conftest import Api

pytestmark = pytest.mark.process

WORDS = {"a", "br", "code", "em", "s", "span", "strong"}
BLOCKS = {"blockquote", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre", "ul"}
HARMLESS = {*WORDS, *BLOCKS, "table", "tbody", "td", "th", "thead", "tr"}


class Reader(HTMLParser):
    """What a browser would make of it."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def is_harmless(self) -> bool:
        return all(tag in HARMLESS and all(map(_is_fine, attrs, attrs.values())) for tag, attrs in self.tags)


def _is_fine(name: str, value: str | None) -> bool:
    given = value or ""
    return {
        "href": bool(re.match(r"https?://|mailto:", given)),
        "rel": given == "noopener noreferrer nofollow",
        "target": given == "_blank",
        "class": bool(re.fullmatch(r"path|language-[\w+#-]+", given)),
        "align": given in ("left", "center", "right"),
        "start": given.isdecimal(),
        "title": True,
    }.get(name, False)


def shown(text: str) -> Reader:
    return Reader(render(text).html)


def test_what_people_write_in_markdown_is_there() -> None:
    page = shown(
        "# Head\n\nA *b* **c** ~~d~~ `e` [f](https://f.example)\n\n1. g\n\n- h\n\n> i\n\n```py\nj()\n```\n\n"
        "| k | l |\n| -: | - |\n| m | n |\n\n---\n\nhttps://o.example/p?q=1, 。"
    )
    tags = [tag for tag, _ in page.tags]
    wanted = "h1 p em strong s code a ol li ul li blockquote p pre code table thead tr th th tbody tr td td hr p a"
    assert tags == wanted.split() and page.is_harmless()
    links = [attrs for tag, attrs in page.tags if tag == "a"]
    assert [link["href"] for link in links] == ["https://f.example", "https://o.example/p?q=1"]
    assert {(link["target"], link["rel"]) for link in links} == {("_blank", "noopener noreferrer nofollow")}
    assert ("th", {"align": "right"}) in page.tags and ("code", {"class": "language-py"}) in page.tags


@pytest.mark.parametrize(
    "hostile",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "<svg/onload=alert(1)>",
        "a <b onclick=alert(1)>b</b>",
        "<!-- --><iframe src=//evil.example></iframe>",
        "<style>*{display:none}</style>",
        "<a href='javascript:alert(1)'>x</a>",
        "</p></div><form action=//evil.example><input>",
        "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
        "<math><mtext><table><mglyph><style><!--</style><img title='--&gt;&lt;img src=1 onerror=alert(1)&gt;'>",
    ],
)
def test_html_of_an_agent_is_shown_as_text(hostile: str) -> None:
    for text in (hostile, f"- {hostile}", f"> {hostile}", f"| {hostile.replace('|', '')} |\n| - |\n", f"# {hostile}"):
        page = shown(text)
        assert page.is_harmless(), text
        assert hostile.split()[0].strip("|") in page.text


@pytest.mark.parametrize(
    "target",
    [
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        "java\tscript:alert(1)",
        "&#106;avascript:alert(1)",
        "&#x1;javascript:alert(1)",
        "data:text/html,<script>alert(1)</script>",
        "data:image/svg+xml;base64,PHN2Zz4=",
        "vbscript:x",
        "file:///etc/passwd",
        "blob:x",
        "//evil.example",
        "/etc/passwd",
        "src/app.py:12",
        "#/inbox",
        "?a",
        "https:/evil",
        "http:evil",
    ],
)
def test_only_what_leads_to_the_web_is_a_link(target: str) -> None:
    for text in (f"[x]({target})", f"[x](<{target}>)", f"<{target}>", f"![x]({target})", f'[x]({target} "t")'):
        page = shown(text)
        assert page.is_harmless() and not [tag for tag, _ in page.tags if tag in ("a", "img")], text


def test_a_path_is_shown_as_one_and_a_picture_as_a_link() -> None:
    assert ("span", {"class": "path", "title": "src/a b.py:12"}) in shown("[here](<src/a b.py:12>)").tags
    page = shown("![a *cat*](https://cats.example/1.png)")
    assert [tag for tag, _ in page.tags] == ["p", "a"] and page.text.strip() == "a *cat*"
    assert [tag for tag, _ in shown("[![i](https://a.example/i.png)](https://b.example)").tags] == ["p", "a"]


def test_a_language_can_be_nothing_but_a_word() -> None:
    for info in ('py" onclick="x', "a b", "x'><script>", "é", "a" * 100):
        page = shown(f"```{info}\nx\n```")
        assert page.is_harmless() and "x" in page.text


@pytest.mark.parametrize(
    "text",
    [
        "[" * LARGEST,
        ("[" * LONGEST + "\n\n") * (LARGEST // LONGEST - 1),
        ("![a](" * (LONGEST // 5) + "\n\n") * (LARGEST // LONGEST - 1),
        ("**a" * (LONGEST // 3) + "\n\n") * (LARGEST // LONGEST - 1),
        ("http://a" * (LONGEST // 8) + "\n\n") * (LARGEST // LONGEST - 1),
        "http://" + ".," * (LONGEST // 3),
        ">" * LARGEST,
        "> " * (DEEPEST - 2) + "a\n",
        "|a" * 1000 + "\n" + "|-" * 1000 + "\n" + "x\n" * 1000,
        "`a" * (LARGEST // 2),
        "x" * (LARGEST + 1),
        "\x00\x1b[2J\u202e\ufeff",
    ],
    ids=lambda text: repr(text[:12]),
)
def test_what_would_take_long_is_shown_all_the_same(text: str) -> None:
    begun = time.process_time()
    page = shown(text)
    assert page.is_harmless() and page.text.strip()
    assert time.process_time() - begun < 30, "it took tens of seconds without its limits"


def test_what_is_too_deep_or_too_wide_loses_no_letter() -> None:
    deep = "".join(f"{'  ' * level}- item {level}\n" for level in range(40))
    wide = "a|" * 200 + "\n" + "-|" * 200 + "\n" + "x\n" * (CELLS // 200)
    quoted = f"{'>' * 20} a\n" + "lazy\n" * 5_000
    for text in (deep, wide, quoted):
        assert shown(text).text == text


MARKS = (
    "#",
    "##",
    "-",
    "*",
    "+",
    "1.",
    "2)",
    ">",
    "```",
    "~~~",
    "|",
    "|-|-|",
    "---",
    "===",
    "**",
    "_",
    "`",
    "!",
    "<",
    "&",
)
LINKS = ("[x]", "(", ")", "[x]: https://a.example/", "https://a.example/b", "[x](y)", "<b>", "\\", ":")
SPACES = (" ", "    ", "\t", "\n", "\n\n", "\r\n", "\r", "  - ", "\n- a", "\n> b", "\n\nc")
PIECES = st.lists(st.sampled_from(("a", "b", "é", "😀", "世界", *MARKS, *LINKS, *SPACES)), max_size=30).map("".join)


@given(PIECES, PIECES)
def test_what_is_stable_stays_whatever_comes_behind(text: str, more: str) -> None:
    now, later = render(text), render(text + more)
    assert now.html.startswith(now.html_stable) and later.html.startswith(now.html_stable)
    units = text.encode("utf-16-le")
    tail = units[now.stable * 2 :].decode("utf-16-le")
    assert now.html == now.html_stable + render(tail).html
    assert later.html == now.html_stable + render(tail + more).html
    assert later.stable >= now.stable


@given(st.text(max_size=200))
def test_no_text_does_harm(text: str) -> None:
    assert shown(text).is_harmless()


async def test_the_api_renders_several_at_once_and_says_what_is_too_much(api: Api) -> None:
    texts = ["# Done\n\nAll **tests** pass", ""]
    rendered = (await api.client.post("/api/markdown", json={"texts": texts})).json()["rendered"]
    assert rendered[0]["html"] == "<h1>Done</h1>\n<p>All <strong>tests</strong> pass</p>\n"
    assert rendered[1] == {"html": "", "stable": 0, "html_stable": ""}
    for texts, status in ((["x" * 150_000] * 2, 422), (["x"] * 201, 422), (["\x00"], 200)):
        answer = await api.client.post("/api/markdown", json={"texts": texts})
        assert answer.status_code == status, answer.text
