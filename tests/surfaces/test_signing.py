"""Signing and verifying webhook requests."""

from __future__ import annotations

import hashlib
import hmac

import pytest

from clew.surfaces.signing import WINDOW, BadSignature, sign, verify

NOW = 1_800_000_000
BODY = b'{"text":"\xe4\xbd\xa0\xe5\xa5\xbd"}'


def refusal(
    timestamp: str | None, signature: str | None, body: bytes = BODY, now: int = NOW, secret: str = "s3cret"
) -> str:
    with pytest.raises(BadSignature) as caught:
        verify(secret, timestamp, signature, body, now)
    return caught.value.code


def test_a_signature_is_the_hmac_of_timestamp_dot_body() -> None:
    expected = hmac.new(b"s3cret", b"1800000000." + BODY, hashlib.sha256).hexdigest()
    assert sign("s3cret", NOW, BODY) == f"sha256={expected}"


def test_what_was_signed_is_verified() -> None:
    verify("s3cret", str(NOW), sign("s3cret", NOW, BODY), BODY, NOW)


@pytest.mark.parametrize("drift", [-WINDOW, WINDOW])
def test_a_clock_may_be_off_by_five_minutes_either_way(drift: int) -> None:
    verify("s3cret", str(NOW), sign("s3cret", NOW, BODY), BODY, NOW + drift)


@pytest.mark.parametrize("drift", [-WINDOW - 1, WINDOW + 1])
def test_a_valid_signature_outside_the_window_is_expired(drift: int) -> None:
    assert refusal(str(NOW), sign("s3cret", NOW, BODY), now=NOW + drift) == "expired"


def test_an_old_request_with_a_bad_signature_learns_nothing_about_the_window() -> None:
    assert refusal(str(NOW), sign("other", NOW, BODY), now=NOW + 10_000) == "bad_signature"


def test_a_changed_body_secret_or_time_is_a_bad_signature() -> None:
    good = sign("s3cret", NOW, BODY)
    assert refusal(str(NOW), good, body=BODY + b" ") == "bad_signature"
    assert refusal(str(NOW), good, secret="other") == "bad_signature"
    assert refusal(str(NOW + 1), good) == "bad_signature"


@pytest.mark.parametrize("signature", ["sha256=", "sha1=00", "nonsense", "sha256=é", "sha256=\udc80"])
def test_a_malformed_signature_is_a_bad_one(signature: str) -> None:
    assert refusal(str(NOW), signature) == "bad_signature"


@pytest.mark.parametrize(("timestamp", "signature"), [(None, "sha256=00"), ("", "sha256=00"), ("1", None), ("1", "")])
def test_a_missing_header_is_unsigned(timestamp: str | None, signature: str | None) -> None:
    assert refusal(timestamp, signature) == "unsigned"


@pytest.mark.parametrize("timestamp", ["-1", "1.5", "1e9", "now", "１８", " 1", "1_0", "9" * 5000])
def test_a_timestamp_that_is_not_whole_seconds_is_refused(timestamp: str) -> None:
    assert refusal(timestamp, "sha256=00") == "bad_timestamp"
