"""Errors that cross a process boundary as a code and a message."""

from __future__ import annotations

from clew.support.errors import ClewError, NotFound, error_of
from clew.surfaces.signing import BadSignature


def test_an_error_is_made_again_from_its_code() -> None:
    assert type(error_of("not_found", "gone")) is NotFound
    assert (error_of("new_code", "words").code, error_of("new_code", "words").message) == ("new_code", "words")


def test_an_error_without_a_code_of_its_own_does_not_replace_its_base() -> None:
    assert BadSignature.code == ClewError.code
    assert type(error_of("error", "it cannot start")) is ClewError
