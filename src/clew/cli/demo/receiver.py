"""`python -m clew.cli.demo.receiver`: a webhook that accepts everything, and lists what it received.

It prints its address. POST is a delivery; GET lists all deliveries in order, repeated ones too.
"""

from __future__ import annotations

from clew.cli.demo.answering import JsonHandler, serve


class Receiver(JsonHandler):
    taken: list[dict[str, object]] = []  # noqa: RUF012 (shared by all requests on purpose)

    def do_POST(self) -> None:
        self.taken.append({"key": self.headers.get("Idempotency-Key"), "body": self.read_json(object)})
        self.send_json({"id": f"received-{len(self.taken)}"})

    def do_GET(self) -> None:
        self.send_json(self.taken)


if __name__ == "__main__":
    serve(Receiver)
