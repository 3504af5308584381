"""The way of a browser to the page: its files, the link that counts once, the cookie, and all that is refused."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from clew.server.app import tcp_app
from clew.server.auth import tokens
from clew.server.auth.login import COOKIE, LINK, OPEN_LINKS, Logins
from clew.server.auth.tokens import Token
from clew.server.page.files import FILES
from clew.texts.catalogue import AREAS, sentences
from tests.server.conftest import Api

pytestmark = pytest.mark.process

HOST = "127.0.0.1:8477"
US = f"http://{HOST}"


class Time:
    now = 1_763_258_400.0

    def __call__(self) -> float:
        return self.now


class Browser:
    """Keeps cookies as a browser does, and says where its requests come from."""

    def __init__(self, client: httpx.AsyncClient, logins: Logins, time: Time, token_file: Path) -> None:
        self.client = client
        self.logins = logins
        self.time = time
        self.token_file = token_file

    async def come_in(self) -> httpx.Response:
        """The page takes the key out of its address, and shows it from then on."""
        answer = await self.client.get(self.logins.link()[0])
        self.client.headers["x-clew-key"] = answer.headers["location"].removeprefix("/#k=")
        return answer

    async def look(self, **headers: str) -> int:
        return (await self.client.get("/api/status", headers=headers)).status_code

    async def do(self, **headers: str) -> int:
        answer = await self.client.post("/api/notify", json={"dry_run": True}, headers=headers)
        return answer.status_code


@pytest.fixture
async def browser(api: Api) -> AsyncIterator[Browser]:
    time, known = Time(), Token(api.home.token)
    api.app_state.logins = logins = Logins(known, US, time)
    app = tcp_app(api.app_state, known, {HOST, "localhost:8477"}, (), logins)
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url=US) as client:
        yield Browser(client, logins, time, api.home.token)


async def test_the_page_is_there_for_anybody_and_shows_nothing(browser: Browser) -> None:
    page = await browser.client.get("/")
    assert page.status_code == 200 and page.headers["content-type"].startswith("text/html")
    assert await browser.look() == 401


async def test_what_is_shown_without_scripts_is_in_the_language_of_the_browser(browser: Browser) -> None:
    for accepted, words in (
        ("zh-CN,zh;q=0.9,en;q=0.8", "需要 JavaScript"),
        ("fr,en;q=0.5,zh;q=0.4", "needs JavaScript"),
    ):
        page = await browser.client.get("/", headers={"accept-language": accepted})
        assert words in page.text and page.headers["vary"] == "Accept-Language"
    expired = await browser.client.get("/login?code=x", headers={"accept-language": "zh"})
    assert "已经用过" in expired.text and "used already" not in expired.text


async def test_a_browser_runs_nothing_that_is_not_a_file_of_ours(browser: Browser) -> None:
    page = await browser.client.get("/")
    policy = dict(part.strip().split(" ", 1) for part in page.headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'" and policy["script-src"] == policy["style-src"] == "'self'"
    assert policy["frame-ancestors"] == policy["base-uri"] == policy["form-action"] == "'none'"
    assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)|https?://", page.text)


@pytest.mark.parametrize("path", ["/", "/api/status", "/login?code=x", "/page/none.js", "/healthz"])
async def test_every_answer_is_only_for_us_and_only_what_it_says(browser: Browser, path: str) -> None:
    headers = (await browser.client.get(path)).headers
    assert headers["x-content-type-options"] == "nosniff" and headers["referrer-policy"] == "no-referrer"
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert headers["cache-control"] in ("no-store", "no-cache")


@pytest.mark.parametrize("path", ["/page/index.html", "/page/words/sentences.zh.json"])
async def test_a_file_that_has_not_changed_is_not_sent_again(browser: Browser, path: str) -> None:
    first = await browser.client.get(path)
    again = await browser.client.get(path, headers={"if-none-match": first.headers["etag"]})
    assert (first.status_code, again.status_code, again.content) == (200, 304, b"")


async def test_the_page_gets_the_chinese_of_the_catalogue_without_a_token(browser: Browser) -> None:
    found = (await browser.client.get("/page/words/sentences.zh.json")).json()
    assert found == {f"{area}.{name}": chinese for area in AREAS for name, (_, chinese) in sentences(area).items()}


@pytest.mark.parametrize(
    "name",
    ["", "none.js", "%2e%2e/__init__.py", "%2e%2e/static/../__init__.py", "/etc/passwd", "%2fetc%2fpasswd", "a%00b"],
)
async def test_only_the_files_of_the_page_are_files_of_the_page(browser: Browser, name: str) -> None:
    assert (await browser.client.get(f"/page/{name}")).status_code in (401, 404)


def test_every_file_of_the_page_can_be_named_and_needs_no_other_site() -> None:
    for path in FILES.rglob("*"):
        if path.is_file():
            assert re.fullmatch(r"[a-z0-9_./-]+", str(path.relative_to(FILES))), path
            if path.suffix in (".js", ".css", ".html"):
                found = re.findall(r"""(?:src|href|from|import|url)\s*[=(]?\s*["'](https?:)?//""", path.read_text())
                assert found == [], path


async def test_the_link_lets_the_first_one_in(browser: Browser) -> None:
    first = await browser.come_in()
    link = first.url
    assert first.status_code == 303
    cookie = first.headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=strict" in cookie and f"Max-Age={COOKIE}" in cookie and "Path=/" in cookie
    assert await browser.look() == 200
    browser.client.cookies.clear()
    second = await browser.client.get(link)
    assert second.status_code == 403 and "clew web" in second.text and "set-cookie" not in second.headers
    assert await browser.look() == 401


async def test_who_is_in_may_follow_an_old_link_and_who_only_looks_uses_none_up(browser: Browser) -> None:
    link, _ = browser.logins.link()
    assert (await browser.client.head(link)).status_code == 405
    assert (await browser.client.get(link)).status_code == 303
    assert (await browser.client.get(link)).status_code == 303


async def test_a_link_is_good_for_five_minutes(browser: Browser) -> None:
    link, until = browser.logins.link()
    browser.time.now = until
    assert until - Time.now == LINK
    assert (await browser.client.get(link)).status_code == 403


@pytest.mark.parametrize("query", ["", "?code=", "?code=wrong", "?code=%00", "?code=a&code=b"])
async def test_no_other_code_lets_anybody_in(browser: Browser, query: str) -> None:
    browser.logins.link()
    assert (await browser.client.get(f"/login{query}")).status_code == 403


def test_links_that_nobody_follows_are_forgotten(tmp_path: Path) -> None:
    logins = Logins(Token(tmp_path / "token"), US)
    codes = [logins.link()[0].partition("code=")[2] for _ in range(OPEN_LINKS + 1)]
    assert [logins.redeem(code) for code in codes] == [False] + [True] * OPEN_LINKS


async def test_the_cookie_counts_for_a_month_also_with_the_next_daemon(browser: Browser) -> None:
    await browser.come_in()
    cookie = browser.client.cookies[browser.logins.name]
    following = Logins(Token(browser.token_file), US, browser.time)
    assert following.fits(cookie)
    browser.time.now += COOKIE - 1
    assert following.fits(cookie) and await browser.look() == 200
    browser.time.now += 1
    assert not following.fits(cookie) and await browser.look() == 401


async def test_a_new_token_ends_every_cookie(browser: Browser) -> None:
    await browser.come_in()
    assert await browser.look() == 200
    tokens.make(browser.token_file)
    assert await browser.look() == 401


async def test_a_cookie_of_another_clew_or_a_changed_one_does_not_count(browser: Browser, tmp_path: Path) -> None:
    mine = browser.logins.cookie()
    longer = f"{int(mine.partition('.')[0]) + 1}.{mine.partition('.')[2]}"
    elsewhere = Logins(Token(browser.token_file), "http://127.0.0.1:9000", browser.time).cookie()
    stranger = Logins(Token(tmp_path / "other"), US, browser.time).cookie()
    for wrong in ("", "x", "..", "1.2.3", mine[:-1], f"{mine}0", longer, elsewhere, stranger, "9" * 5000, "٣.a.b"):
        headers = {"cookie": f"{browser.logins.name}={wrong}".encode(), "x-clew-key": browser.logins.key(wrong)}
        answer = await browser.client.get("/api/status", headers=headers)  # type: ignore[arg-type]
        assert answer.status_code == 401, wrong
    key = {"x-clew-key": browser.logins.key(mine)}
    for others in ("a=b; ", 'a={"b":1}; ', "a b; ", "path=/x; ", ";;"):
        assert await browser.look(cookie=f"{others}{browser.logins.name}={mine}; c=d", **key) == 200, others


async def test_the_cookie_does_nothing_without_the_key_that_only_our_page_has(browser: Browser) -> None:
    """A server on another port of this machine is sent the cookie, and can say anything else."""
    await browser.come_in()
    another = browser.logins.key(browser.logins.cookie())
    for wrong in ("", "x", another):
        assert await browser.look(**{"x-clew-key": wrong}) == 401, wrong
        assert await browser.do(**{"x-clew-key": wrong, "origin": US, "sec-fetch-site": "same-origin"}) == 401, wrong


async def test_with_the_cookie_only_our_own_page_may_change_anything(browser: Browser) -> None:
    await browser.come_in()
    assert await browser.do(origin=US) == 200
    assert await browser.do() == 403
    for origin in ("null", "http://127.0.0.1:3000", "https://127.0.0.1:8477", "http://evil.example"):
        assert await browser.do(origin=origin) == 403, origin


async def test_a_page_on_another_port_gets_nothing_by_the_cookie(browser: Browser) -> None:
    """To a browser every port of a machine is one site, so it sends the cookie along."""
    await browser.come_in()
    for site, wanted in (("same-origin", 200), ("none", 200), ("same-site", 403), ("cross-site", 403)):
        assert await browser.look(**{"sec-fetch-site": site}) == wanted, site
        assert await browser.do(**{"sec-fetch-site": site, "origin": US}) == wanted, site


async def test_by_another_name_not_even_the_page_is_there(browser: Browser) -> None:
    await browser.come_in()
    for path in ("/", "/page/index.html", "/login", "/api/status"):
        assert (await browser.client.get(path, headers={"host": "evil.example"})).status_code == 403


async def test_a_wrong_token_counts_although_the_cookie_is_right(browser: Browser) -> None:
    await browser.come_in()
    assert await browser.look(authorization="Bearer wrong") == 401


async def test_nothing_but_looking_is_open_to_anybody(browser: Browser) -> None:
    for path in ("/", "/login", "/page/index.html"):
        assert (await browser.client.post(path)).status_code == 401


async def test_without_a_port_a_link_is_refused_with_what_to_do(api: Api) -> None:
    answer = await api.client.post("/api/logins")
    assert answer.status_code == 409 and "clew web" in answer.json()["detail"]
    assert (await api.client.get("/login?code=x")).status_code == 404
