"""Shows web addresses without their secrets: `https://example.org:8443/…`.

Everything but the scheme, the host and the port may be a secret: a name and a password, a token in the query, and with
many services (`https://hooks.example.org/T0/B0/SECRET`) the path itself.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from urllib.parse import parse_qsl, unquote, urlsplit

NOT_SHOWN = "[address]"
LONG = 8  # the shortest part of an address that is redacted everywhere; shorter ones are common words
SHORTEST = 4  # the shortest password that is redacted; in a server's response also the shortest path or query value
_ADDRESS = re.compile(r"\b[A-Za-z][A-Za-z0-9+.-]{0,20}://\S+")


def origin(url: str) -> str:
    """Scheme, host and port. Raises ValueError if `url` is no address."""
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"{parts.scheme}://{host}:{parts.port}" if parts.port else f"{parts.scheme}://{host}"


def shown(url: str) -> str:
    """The address as it may be shown, with `/…` in place of what is hidden."""
    try:
        whole = origin(url)
        is_address = bool(urlsplit(url).scheme and urlsplit(url).hostname)
    except ValueError:
        is_address = False
    if not is_address:
        return NOT_SHOWN
    return whole if url.rstrip("/").lower() == whole.lower() else f"{whole}/…"


def shown_in(text: str) -> str:
    """The text with every address in it as it may be shown."""
    return _ADDRESS.sub(lambda found: shown(found[0]), text)


def secrets(url: str) -> Iterator[str]:
    """The parts of an address that must not appear in a log. Empty if it has no secrets."""
    if shown(url) == NOT_SHOWN:
        yield url
    elif shown(url).endswith("…"):
        yield url
        yield from _userinfo(urlsplit(url).netloc)
        yield from (each for part in _parts(url) for each in (part, unquote(part)) if len(each) >= LONG)


def _parts(url: str) -> list[str]:
    """What follows the host, as a whole and piece by piece."""
    parts = urlsplit(url)
    values = [value for _, value in parse_qsl(parts.query)]
    return [f"{parts.path}?{parts.query}", parts.path, parts.query, parts.fragment, *parts.path.split("/"), *values]


def _userinfo(netloc: str) -> list[str]:
    """User name and password, also in the encoding of HTTP basic authentication."""
    user, _, _ = netloc.rpartition("@")
    sent = base64.b64encode(unquote(user).encode()).decode()
    password = user.partition(":")[2]
    return [each for each in (user, sent, password, unquote(password)) if len(each) >= SHORTEST]


def without_secrets(text: str, url: str) -> str:
    """Redact the address in a text of somebody who knows it, such as a server's response."""
    for part in sorted({*secrets(url), *_repeated(url)}, key=len, reverse=True):
        text = text.replace(part, "…") if part else text
    return text


def _repeated(url: str) -> list[str]:
    """Parts that are too short to be redacted everywhere, but were sent to the server."""
    if not shown(url).endswith("…"):
        return []
    parts = urlsplit(url)
    sent = [parts.path, unquote(parts.path), *(value for _, value in parse_qsl(parts.query))]
    return [each for each in sent if len(each) >= SHORTEST]
