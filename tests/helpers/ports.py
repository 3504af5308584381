"""Reserves a TCP port for servers that start and stop."""

from __future__ import annotations

import socket


def held_port() -> socket.socket:
    """Reserves a free port until it is closed: servers can listen there by its number, one after the other, and the
    system assigns it to nobody else."""
    place = socket.socket()
    place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    place.bind(("127.0.0.1", 0))
    return place


def number_of(place: socket.socket) -> int:
    return int(place.getsockname()[1])
