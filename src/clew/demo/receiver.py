"""`python -m clew.demo.receiver`: a webhook that takes everything, and tells on request what it got.

It prints its address. POST is a delivery, GET lists them in the order they came, each as often as it came.
"""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Receiver(BaseHTTPRequestHandler):
    taken: list[dict[str, Any]] = []  # noqa: RUF012 (shared by all requests on purpose)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.taken.append({"key": self.headers.get("Idempotency-Key"), "body": json.loads(body)})
        self._answer({"id": f"received-{len(self.taken)}"})

    def do_GET(self) -> None:
        self._answer(self.taken)

    def _answer(self, value: object) -> None:
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass  # what came is told on request


def main() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Receiver) as server:
        print(f"http://127.0.0.1:{server.server_port}/", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
