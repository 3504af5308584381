"""Web addresses of people and services, as they may be shown: `https://example.org:8443/…`.

Everything but the scheme, the host and the port may be a secret: a name and a password, a token in the query, and with
many services (`https://hooks.example.org/T0/B0/SECRET`) the path itself.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from urllib.parse import parse_qsl, unquote, urlsplit

NOT_SHOWN = "[address]"
LONG = 8  # characters of a part that may be a secret; shorter ones are words that stand elsewhere too
SHORTEST = 4  # characters of a password; and in the answer of whoever was asked, of a path or a value in a query
_ADDRESS = re.compile(r"\b[A-Za-z][A-Za-z0-9+.-]{0,20}://\S+")


def origin(url: str) -> str:
    """Raises ValueError where it is no address."""
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"{parts.scheme}://{host}:{parts.port}" if parts.port else f"{parts.scheme}://{host}"


def shown(url: str) -> str:
    """With `/…` in the place of what is not shown."""
    try:
        whole = origin(url)
        is_address = bool(urlsplit(url).scheme and urlsplit(url).hostname)
    except ValueError:
        is_address = False
    if not is_address:
        return NOT_SHOWN
    return whole if url.rstrip("/").lower() == whole.lower() else f"{whole}/…"


def shown_in(text: str) -> str:
    """A text in which every address is as it may be shown."""
    return _ADDRESS.sub(lambda found: shown(found[0]), text)


def secrets(url: str) -> Iterator[str]:
    """The parts of an address that must not appear in a log. None for one that has nothing to hide."""
    if shown(url) == NOT_SHOWN:
        yield url
    elif shown(url).endswith("…"):
        yield url
        yield from _userinfo(urlsplit(url).netloc)
        yield from (each for part in _parts(url) for each in (part, unquote(part)) if len(each) >= LONG)


def _parts(url: str) -> list[str]:
    """What stands behind the host, whole and piece by piece."""
    parts = urlsplit(url)
    values = [value for _, value in parse_qsl(parts.query)]
    return [f"{parts.path}?{parts.query}", parts.path, parts.query, parts.fragment, *parts.path.split("/"), *values]


def _userinfo(netloc: str) -> list[str]:
    """A name and a password, also as they go over the wire."""
    user, _, _ = netloc.rpartition("@")
    sent = base64.b64encode(unquote(user).encode()).decode()
    password = user.partition(":")[2]
    return [each for each in (user, sent, password, unquote(password)) if len(each) >= SHORTEST]


def without_secrets(text: str, url: str) -> str:
    """A text that somebody who knows the address may have put it into, such as a receiver's answer."""
    for part in sorted({*secrets(url), *_repeated(url)}, key=len, reverse=True):
        text = text.replace(part, "…") if part else text
    return text


def _repeated(url: str) -> list[str]:
    """What is no secret by its length, but is what was sent."""
    if not shown(url).endswith("…"):
        return []
    parts = urlsplit(url)
    sent = [parts.path, unquote(parts.path), *(value for _, value in parse_qsl(parts.query))]
    return [each for each in sent if len(each) >= SHORTEST]
