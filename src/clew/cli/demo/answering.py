"""A small HTTP server for the helpers of the demo: it prints its address, and reads and sends JSON."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TypeVar

import msgspec

T = TypeVar("T")


class JsonHandler(BaseHTTPRequestHandler):
    def read_json(self, kind: type[T]) -> T:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}"
        return msgspec.json.decode(body, type=kind, strict=False)

    def send_json(self, value: object) -> None:
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass  # GET lists what was received


def serve(handler: type[JsonHandler]) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        print(f"http://127.0.0.1:{server.server_port}/", flush=True)
        server.serve_forever()
