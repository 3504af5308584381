"""Calls Feishu's open platform: JSON over HTTPS, with a token that lasts two hours and is renewed in time. It does not
decide what a response means for a delivery."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from clew.model.surface import Down, InDoubt, NotSent
from clew.support.clock import Clock
from clew.support.coded import coded_of, plain
from clew.surfaces.http_calls import ANSWER, BUSY, PLAIN, UPLOAD, Caller
from clew.surfaces.local import one_line
from clew.texts.catalogue import say

EARLY = 1200.0  # seconds before its expiry at which a token is renewed; Feishu gives a new one in the last 1800
STALE = frozenset({99991661, 99991663, 99991664, 99991668, 99991671})  # error codes for an invalid token
NOT_ALLOWED = frozenset({99991672, 99991679, 230027})  # the app lacks a permission


class Refusal(Exception):
    """Feishu answered with an error."""

    def __init__(self, code: int, words: str, retry_after: float | None = None) -> None:
        super().__init__(f"{words} ({code})")
        self.code = code
        self.words = say("surfaces.feishu_code", words=words, code=code) if coded_of(words) else f"{words} ({code})"
        self.retry_after = retry_after


class _ClientConfig(msgspec.Struct, frozen=True):
    PingInterval: float = 120.0


class Endpoint(msgspec.Struct, frozen=True):
    """The address of the long connection."""

    URL: str
    ClientConfig: _ClientConfig = _ClientConfig()


class _Token(Struct, frozen=True):
    value: str
    until: float  # by the monotonic clock


class OpenApi:
    def __init__(self, app_id: str, secret: str, base_url: str, clock: Clock) -> None:
        self.app_id = app_id
        self._secret = secret
        self._base = base_url.rstrip("/")
        self._clock = clock
        self._caller = Caller(say("surfaces.feishu"), "feishu", secret, say("surfaces.feishu_unusable"), base_url)
        self._token: _Token | None = None
        self._token_lock = asyncio.Lock()

    async def call(
        self,
        method: str,
        path: str,
        body: Mapping[str, object] | None = None,
        query: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """Return the `data` of the response. Raises Refusal; Down if the request was not sent; InDoubt if the response
        was lost."""
        return await self._call(method, path, _as_json(body), query)

    async def upload(self, path: str, fields: Mapping[str, str], name: str, file: tuple[str, bytes]) -> dict[str, Any]:
        """Upload a file as the form field `name`. Raises as `call` does."""
        return await self._call("POST", path, {"data": fields, "files": {name: file}}, None)

    async def _call(
        self, method: str, path: str, given: Mapping[str, Any], query: Mapping[str, str] | None
    ) -> dict[str, Any]:
        for again in (True, False):
            token = await self._tenant_token()
            try:
                answer = await self._ask(method, path, given, query, token.value)
            except Refusal as refusal:
                self._forget_if_stale(token, refusal)
                if refusal.code not in STALE or not again:
                    raise
            else:
                data = answer.get("data", answer)
                return data if isinstance(data, dict) else {}
        raise AssertionError("unreachable")

    async def download(self, path: str, query: Mapping[str, str], largest: int) -> bytes:
        """Download a file. Raises as `call` does; Refusal 413 if it is too large."""
        for again in (True, False):
            token = await self._tenant_token()
            status, headers, data = await self._exchange("GET", path, {}, query, token.value, largest)
            try:
                if status != 200:
                    raise self._refusal(status, headers, _read_json(data), path)
            except Refusal as refusal:
                self._forget_if_stale(token, refusal)
                if refusal.code not in STALE or not again:
                    raise
                continue
            if len(data) > largest:
                raise Refusal(413, say("surfaces.file_too_large", most=largest >> 20))
            return data
        raise AssertionError("unreachable")

    async def endpoint(self) -> Endpoint:
        """Ask for the address of the long connection."""
        body = {"AppID": self.app_id, "AppSecret": self._secret}
        answer = await self._ask("POST", "/callback/ws/endpoint", _as_json(body), None, None)
        try:
            found = msgspec.convert(answer.get("data"), Endpoint)
        except msgspec.ValidationError as error:
            raise InDoubt(say("surfaces.feishu_no_endpoint", error=str(error))) from error
        if self._base.startswith("https://") and not found.URL.startswith("wss://"):
            raise InDoubt(say("surfaces.feishu_unencrypted"))
        return found

    async def close(self) -> None:
        await self._caller.close()

    async def _tenant_token(self) -> _Token:
        """Return a valid token. Raises Down if there is none: without a token nothing can be sent."""
        async with self._token_lock:
            if self._token is None or self._clock.monotonic() >= self._token.until:
                try:
                    self._token = await self._get_token()
                except NotSent as error:
                    raise Down(error.reason, error.retry_after) from error
                except Refusal as refusal:
                    code = "surfaces.feishu_busy" if is_rate_limit(refusal.code) else "surfaces.feishu_refused_says"
                    raise Down(say(code, reply=refusal.words), refusal.retry_after) from refusal
            return self._token

    async def _get_token(self) -> _Token:
        body = {"app_id": self.app_id, "app_secret": self._secret}
        asked = self._clock.monotonic()
        path = "/open-apis/auth/v3/tenant_access_token/internal"
        answer = await self._ask("POST", path, _as_json(body), None, None)
        value, lasts = answer.get("tenant_access_token"), answer.get("expire")
        if not isinstance(value, str) or not isinstance(lasts, int | float):
            raise InDoubt(say("surfaces.feishu_no_token"))
        return _Token(value, asked + lasts - min(EARLY, lasts / 4))

    def _forget_if_stale(self, token: _Token, refusal: Refusal) -> None:
        if refusal.code in STALE and self._token is token:
            self._token = None

    async def _ask(
        self, method: str, path: str, given: Mapping[str, Any], query: Mapping[str, str] | None, token: str | None
    ) -> dict[str, Any]:
        status, headers, data = await self._exchange(method, path, given, query, token)
        answer = _read_json(data)
        if status >= 400 or answer is None or answer.get("code") != 0:
            raise self._refusal(status, headers, answer, path)
        return answer

    def _refusal(self, status: int, headers: Mapping[str, str], answer: dict[str, Any] | None, path: str) -> Exception:
        """Return the error of a response. Only code 0 is a success, not HTTP 200. After a server error it is unknown
        whether the request took effect."""
        code = answer.get("code") if answer is not None else None
        wait = _seconds(headers.get("x-ogw-ratelimit-reset") or headers.get("retry-after"))
        if status == BUSY or (isinstance(code, int) and is_rate_limit(code)):
            return Refusal(BUSY, say("surfaces.feishu_too_many_calls"), wait)
        if status >= 500:
            return InDoubt(say("surfaces.feishu_failed", path=one_line(path, 60), status=status), wait)
        if isinstance(code, int):
            return Refusal(code, one_line(str((answer or {}).get("msg", ""))) or f"HTTP {status}", wait)
        if status in PLAIN:
            return Refusal(status, f"HTTP {status}", wait)
        return self._caller.unreadable_response(one_line(path, 60), status, wait)

    async def _exchange(
        self,
        method: str,
        path: str,
        given: Mapping[str, Any],
        query: Mapping[str, str] | None,
        token: str | None,
        largest: int | None = None,
    ) -> tuple[int, Mapping[str, str], bytes]:
        headers = given.get("headers", {}) | ({"Authorization": f"Bearer {token}"} if token else {})
        more = {**given, "params": query, "headers": headers}
        time_limit = UPLOAD if "files" in given else ANSWER
        return await self._caller.exchange(method, f"{self._base}{path}", more, time_limit, largest)


def is_rate_limit(code: int) -> bool:
    return code in (429, 99991400, 230020, 11232, 11233, 11247)


def _as_json(body: Mapping[str, object] | None) -> dict[str, Any]:
    if body is None:
        return {}
    return {
        "content": msgspec.json.encode(body, enc_hook=plain),
        "headers": {"Content-Type": "application/json; charset=utf-8"},
    }


def _read_json(data: bytes) -> dict[str, Any] | None:
    try:
        answer = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return answer if isinstance(answer, dict) else None


def _seconds(text: str | None) -> float | None:
    try:
        return max(0.0, float(text)) if text else None
    except ValueError:
        return None
