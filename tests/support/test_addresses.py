"""Addresses in settings may contain passwords and tokens: clew shows only scheme, host and port."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from clew.config import settings as config_settings
from clew.config.logs import Redactor
from clew.support.addresses import NOT_SHOWN, secrets, shown, shown_in, without_secrets
from clew.support.errors import ConfigError
from tests.helpers.daemons import SCRIPTED, Clew
from tests.helpers.receivers import Answer, Receiver

USER, PASSWORD, PATH, QUERY, FRAGMENT = (
    "canary-user",
    "canary-pass",
    "T0CANARY/B0CANARY/xCanaryPath",
    "canaryq",
    "canaryf",
)
SENT = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
CANARIES = (USER, PASSWORD, *PATH.split("/"), QUERY, FRAGMENT, SENT)
COMMANDS = (
    "status",
    "doctor",
    "threads",
    "show THREAD",
    "read THREAD",
    "where THREAD",
    "handoffs",
    "gates",
    "rules",
    "surfaces",
    "people",
    "runtimes",
    "ps",
    "logs",
    "config get",
    "config get surfaces",
    "config get surfaces.webhook.ci.url",
    "config check",
    "notify --dry-run",
    "notify --retry-failed",
    "verify",
)


def secretive(port: int) -> str:
    return f"http://{USER}:{PASSWORD}@127.0.0.1:{port}/{PATH}?token={QUERY}#{FRAGMENT}"


@pytest.mark.parametrize(
    ("url", "seen"),
    [
        ("https://example.org", "https://example.org"),
        ("https://Example.org/", "https://example.org"),
        ("https://example.org:8443", "https://example.org:8443"),
        ("https://hooks.example.org/T/B/SECRET", "https://hooks.example.org/…"),
        ("https://me:pw@example.org", "https://example.org/…"),
        ("https://example.org?token=x", "https://example.org/…"),
        ("https://example.org/#x", "https://example.org/…"),
        ("http://[::1]:80/x", "http://[::1]:80/…"),
        ("me:pw@example.org", NOT_SHOWN),
        ("https://x:99999/", NOT_SHOWN),
        ("http://[::1", NOT_SHOWN),
        ("", NOT_SHOWN),
    ],
)
def test_only_the_origin_of_an_address_is_shown(url: str, seen: str) -> None:
    assert shown(url) == seen
    assert shown_in(f"see {url}") == f"see {seen}" or "://" not in url


def test_an_address_without_secrets_hides_nothing() -> None:
    assert list(secrets("https://api.telegram.org")) == []
    assert without_secrets("a plain answer", "https://api.telegram.org/") == "a plain answer"
    assert without_secrets("a plain answer", "") == "a plain answer"


def test_a_response_that_repeats_an_address_is_shown_without_it() -> None:
    url = secretive(1)
    echo = f"POST /{PATH}?token={QUERY}: no route for /{PATH}, {SENT}, {USER}:{PASSWORD}, {url}, {QUERY}"
    assert not [canary for canary in CANARIES if canary in without_secrets(echo, url)]
    assert without_secrets("no route /hook/a", "http://x/hook/a") == "no route …"


def test_the_log_knows_the_secrets_of_addresses() -> None:
    settings = config_settings.parse(
        f'[surfaces.webhook.ci]\nsecret = "s3cretive"\nurl = "{secretive(1)}"', "config.toml"
    )
    told = Redactor(settings.secrets())(f"location: /{PATH}?token={QUERY}, {SENT}, {secretive(1)}")
    assert not [canary for canary in CANARIES if canary in told]


@pytest.mark.parametrize("scheme", ["ftp://", "", "http:/", "http://[", "htps://"])
def test_a_mistake_in_an_address_is_named_without_it(scheme: str) -> None:
    url = secretive(1).replace("http://", scheme)
    with pytest.raises(ConfigError) as wrong:
        config_settings.parse(f'[surfaces.webhook.ci]\nsecret = "s"\nurl = "{url}"', "config.toml")
    assert "surfaces.webhook.ci.url" in wrong.value.message
    assert not [canary for canary in CANARIES if canary in wrong.value.message]


@pytest.mark.parametrize(
    "text", ['[log]\nlevel = "URL"', '[surfaces.webhook."URL"]\nsecret = "s"', '[runtimes.acp."URL"]', '["URL"]\na = 1']
)
def test_an_address_in_the_wrong_place_is_not_shown_either(text: str) -> None:
    with pytest.raises(ConfigError) as wrong:
        config_settings.parse(text.replace("URL", secretive(1)), "config.toml")
    assert not [canary for canary in CANARIES if canary in wrong.value.message]


@pytest.mark.process
def test_secrets_of_addresses_appear_in_no_command_error_or_log(tmp_path: Path) -> None:
    """Run all commands, with a receiver that repeats everything it gets."""
    echo = Answer(404, f"no POST /{PATH}?token={QUERY} for {USER}:{PASSWORD} (Basic {SENT})".encode())
    with Receiver(otherwise=echo) as receiver, Clew(tmp_path / "home", "") as clew:
        hook = f'[surfaces.webhook.ci]\nsecret = "s3cretive"\nurl = "{secretive(receiver.port)}"\n'
        clew.configure(
            f'{SCRIPTED}[log]\nlevel = "debug"\n{hook}[runtimes.acp.own]\ncommand = ["x", "{secretive(1)}"]\n'
        )
        clew.up()
        turn = clew.json("start", "!text hello", "--notify", "webhook:ci")
        clew.wait_ended(turn)
        clew.wait_for(turn["thread"], "delivery.failed")
        said = {}
        for command in COMMANDS:
            words = command.replace("THREAD", turn["thread"]).split()
            for form in (words, [*words, "--json"]):
                done = clew.run(*form)
                said[" ".join(form)] = done.out + done.err
        assert f"http://127.0.0.1:{receiver.port}/…" in said["config get surfaces.webhook.ci.url"]
        assert "answered 404" in said[f"where {turn['thread']}"]
        clew("down")
        clew.configure(f"{SCRIPTED}{hook.replace('http://', 'htp://')}")
        for words in (["up"], ["config", "check"], ["config", "set", "surfaces.webhook.ci.url", "x"], ["doctor"]):
            done = clew.run(*words)
            said[f"{words} with a mistake"] = done.out + done.err
        said |= {str(path): path.read_text() for path in clew.home.logs.iterdir()}
        told = [(canary, where) for canary in CANARIES for where, text in said.items() if canary in text]
        assert not told, told


@pytest.mark.process
def test_a_setting_is_written_in_full_and_shown_shortened(tmp_path: Path) -> None:
    with Clew(tmp_path / "home", '[surfaces.webhook.ci]\nsecret = "s"\n') as clew:
        told = clew("config", "set", "surfaces.webhook.ci.url", secretive(1))
        assert told.startswith("surfaces.webhook.ci.url = http://127.0.0.1:1/…")
        assert secretive(1) in clew.home.config.read_text()
