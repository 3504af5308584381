"""The token for the TCP listener: created once, in a file that only its owner can read."""

from __future__ import annotations

import hmac
import os
import secrets
from pathlib import Path

from clew.support.errors import ConfigError
from clew.texts.catalogue import say


def read(path: Path) -> str:
    """Read the token. Raises ConfigError if there is none, or if others can read the file."""
    try:
        with path.open("rb") as file:
            mode, text = os.fstat(file.fileno()).st_mode, file.read(200)
    except FileNotFoundError:
        raise ConfigError(say("daemon.no_token_yet", path=str(path))) from None
    if mode & 0o077:
        raise ConfigError(say("daemon.token_readable", path=str(path)))
    return text.decode("ascii", "replace").strip()


def make(path: Path) -> str:
    """Create a new token and replace the old one atomically."""
    token = secrets.token_urlsafe(32)
    draft = path.with_name(f".{path.name}.new")
    draft.unlink(missing_ok=True)
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "w", encoding="ascii") as file:
        file.write(f"{token}\n")
    draft.replace(path)
    return token


class Token:
    """The current token: from the config if set there, else from the file, also after a rotation."""

    def __init__(self, path: Path, fixed: str | None = None) -> None:
        self._path = path
        self._fixed = fixed
        self._known: tuple[int, str] | None = None
        if fixed is None and not path.exists():
            make(path)

    def fits(self, given: str) -> bool:
        """Compared in constant time."""
        return hmac.compare_digest(given.encode(errors="replace"), self.now().encode())

    def now(self) -> str:
        if self._fixed is not None:
            return self._fixed
        changed = self._path.stat().st_mtime_ns if self._path.exists() else 0
        if self._known is None or self._known[0] != changed:
            self._known = (changed, read(self._path))
        return self._known[1]
