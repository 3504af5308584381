"""Ports of this machine for those who come and go."""

from __future__ import annotations

import socket


def held_port() -> socket.socket:
    """Any free one, and ours until this is closed: others can listen there by its number, one after the other, and
    meanwhile the system gives it to nobody."""
    place = socket.socket()
    place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    place.bind(("127.0.0.1", 0))
    return place


def number_of(place: socket.socket) -> int:
    return int(place.getsockname()[1])
