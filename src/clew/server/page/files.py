"""The files of the page, and its login. The files contain no secret, so they need no token; the data needs the
cookie."""

from __future__ import annotations

import asyncio
import hashlib
import mimetypes
import re
from functools import cache
from pathlib import Path

import msgspec
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from clew.server import page
from clew.server.auth.login import COOKIE
from clew.server.dependencies import AppState
from clew.server.page import forward
from clew.server.routing.functions import Router
from clew.support.errors import NotFound
from clew.texts.bilingual import zh
from clew.texts.catalogue import AREAS, say, sentences

router = Router(tag="page")

FILES = Path(page.__file__).with_name("static")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self';"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none';"
    " require-trusted-types-for 'script'; trusted-types clew"
)
TYPES = {".js": "text/javascript", ".css": "text/css", ".json": "application/json", ".svg": "image/svg+xml"}


@router.get("/")
async def index(request: Request) -> Response:
    """Fills in what a browser without scripts shows."""
    found = await asyncio.to_thread((FILES / "index.html").read_text, encoding="utf-8")
    page = found.replace("{needs_script}", _in_language(request, say("daemon.page_needs_script")))
    return _content(request, page.encode(), "text/html", vary=True)


def _in_language(request: Request, text: str) -> str:
    """The text in the language of the browser."""
    named = (tag.strip().lower()[:2] for tag in request.headers.get("accept-language", "").split(","))
    return zh(text) if next((tag for tag in named if tag in ("en", "zh")), "en") == "zh" else text


@router.get("/page/words/sentences.zh.json")
async def chinese_sentences(request: Request) -> Response:
    """The Chinese of clew's own sentences, by code. The English is in the views beside the code."""
    return _content(request, _chinese_sentences(), TYPES[".json"])


@cache
def _chinese_sentences() -> bytes:
    return msgspec.json.encode({f"{area}.{name}": pair[1] for area in AREAS for name, pair in sentences(area).items()})


@router.get("/page/{name:path}")
async def file(request: Request, name: str) -> Response:
    return await _file(request, name)


async def _file(request: Request, name: str) -> Response:
    found = await asyncio.to_thread(_read, name)
    if found is None:
        raise NotFound(say("daemon.no_page_file", name=name))
    return _content(request, found, _type(name))


def _content(request: Request, content: bytes, media_type: str, *, vary: bool = False) -> Response:
    """Send content of the page. The browser revalidates it each time by its ETag, so updates apply at once. `vary`: it
    depends on the language."""
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    headers = {"ETag": tag, "Cache-Control": "no-cache", "Content-Security-Policy": POLICY}
    if vary:
        headers["Vary"] = "Accept-Language"
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(content, headers=headers, media_type=media_type)


def _read(name: str) -> bytes | None:
    """The content; None if it is not a file of the page."""
    try:
        path = (FILES / name).resolve()
        return path.read_bytes() if path.is_relative_to(FILES.resolve()) and path.is_file() else None
    except (OSError, ValueError):
        return None


def _type(name: str) -> str:
    return TYPES.get(Path(name).suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"


@router.get("/login")
async def login(request: Request, state: AppState, code: str = "") -> Response:
    """The link of `clew web`. A browser that is logged in may use an old link."""
    logins = state.logins
    if logins is None:
        raise NotFound(say("daemon.no_page_here"))
    if logins.redeem(code):
        forward.remove(state.home, code)
        cookie = logins.cookie()
        response = RedirectResponse(f"/#k={logins.key(cookie)}", 303, {"Cache-Control": "no-store"})
        response.set_cookie(logins.name, cookie, max_age=COOKIE, httponly=True, samesite="strict")
        return response
    if logins.fits(request.cookies.get(logins.name, "")):
        return RedirectResponse("/", 303, {"Cache-Control": "no-store"})
    expired = _COMMAND.sub(r"<code>\1</code>", _in_language(request, say("daemon.link_expired")))
    headers = {"Cache-Control": "no-store", "Content-Security-Policy": POLICY}
    return HTMLResponse(f'{_HEAD}<main class="view-start"><p>{expired}', 403, headers)


_COMMAND = re.compile("`([^`]+)`")
_HEAD = (
    "<!doctype html><meta charset=utf-8><title>clew</title>"
    '<meta name="viewport" content="width=device-width, initial-scale=1">'
    '<link rel="stylesheet" href="/page/style/base.css"><link rel="stylesheet" href="/page/style/views.css">'
)
