"""A fake of the service that knows the usage of ChatGPT accounts, on loopback, and logins for it. The real Codex asks
it if its `chatgpt_base_url` names it."""

from __future__ import annotations

import base64
import json
import threading
import time
from collections import Counter
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any

from msgspec import Struct

HOUR = 3600
DAY = 24 * HOUR


class Used(Struct, frozen=True):
    """How many percent of its windows an account has used."""

    five_hours: int
    week: int


class AccountService:
    """Answers for these accounts, by their id, and counts who asked."""

    def __init__(self, accounts: Mapping[str, Used]) -> None:
        self._accounts = accounts
        self.asked: Counter[str] = Counter()
        self.resets_at = int(time.time()) + HOUR
        service = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                body = json.dumps(service._answer(self.path, self.headers.get("chatgpt-account-id", ""))).encode()
                self.send_response(200 if body != b"null" else 404)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> AccountService:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def log_in(self, home: Path, account: str) -> Path:
        """Write what a login leaves in a home of Codex, and let that Codex ask this service. Returns the login."""
        config = home / "config.toml"
        address = f"http://127.0.0.1:{self._server.server_port}/backend-api/"
        config.write_text(f'chatgpt_base_url = "{address}"\n{config.read_text()}')
        token = _token(account)
        tokens = {"id_token": token, "access_token": token, "refresh_token": f"again-{account}", "account_id": account}
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        login = {"auth_mode": "chatgpt", "OPENAI_API_KEY": None, "tokens": tokens, "last_refresh": now}
        (home / "auth.json").write_text(json.dumps(login))
        return home / "auth.json"

    def _answer(self, path: str, account: str) -> Any:
        used = self._accounts.get(account)
        if not path.endswith("/usage") or used is None:
            return None
        self.asked[account] += 1
        windows = {"primary": (used.five_hours, 5 * HOUR), "secondary": (used.week, 7 * DAY)}
        limits = {
            f"{name}_window": {
                "used_percent": percent,
                "limit_window_seconds": seconds,
                "reset_after_seconds": HOUR,
                "reset_at": self.resets_at,
            }
            for name, (percent, seconds) in windows.items()
        }
        return {"plan_type": "pro", "rate_limit": {"allowed": True, "limit_reached": False, **limits}, "credits": None}


def _token(account: str) -> str:
    """A token as Codex reads it; nobody checks its signature."""
    claims = {"chatgpt_plan_type": "pro", "chatgpt_user_id": "me", "chatgpt_account_id": account}
    known = {
        "email": f"{account}@example.org",
        "exp": int(time.time()) + 30 * DAY,
        "https://api.openai.com/auth": claims,
    }
    return ".".join([_encoded({"alg": "none", "typ": "JWT"}), _encoded(known), "c2ln"])


def _encoded(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()
