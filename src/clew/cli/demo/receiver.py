"""`python -m clew.cli.demo.receiver`: a webhook that takes everything, and tells on request what it got.

It prints its address. POST is a delivery, GET lists them in the order they came, each as often as it came.
"""

from __future__ import annotations

from typing import Any

from clew.cli.demo.answering import Answering, serve


class Receiver(Answering):
    taken: list[dict[str, Any]] = []  # noqa: RUF012 (shared by all requests on purpose)

    def do_POST(self) -> None:
        self.taken.append({"key": self.headers.get("Idempotency-Key"), "body": self.given()})
        self.answer({"id": f"received-{len(self.taken)}"})

    def do_GET(self) -> None:
        self.answer(self.taken)


if __name__ == "__main__":
    serve(Receiver)
