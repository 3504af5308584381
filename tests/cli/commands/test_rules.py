"""The rules of docs/reference/rules.md: each command does what the page says, and makes a rule of the right kind."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from clew.engine.rules.kinds import infer_kind
from clew.model.gates import Effect, RuleKind
from clew.support.errors import BadInput
from tests.helpers.daemons import SCRIPTED, Clew
from tests.helpers.json_client import JsonClient as Client
from tests.helpers.paths import ROOT

PAGE = (ROOT / "docs" / "reference" / "rules.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"clew (rules (?:add|test) (?:allow|ask|deny)? ?'[^`\n]+)", PAGE)
ROWS = re.findall(
    r"^\| (.*?) ?\| `(.+?)` \| .+ \|$", PAGE.partition("## Patterns")[2].partition("**Commands.")[0], re.M
)
SAID = {"command": "the command", "change": "changes of", "tool": "the tool"}


def patterns() -> list[tuple[str, str]]:
    """Each pattern of the table, with the kind of its row."""
    found, kind = [], ""
    for about, pattern in ROWS:
        kind = about.partition("--kind ")[2].strip("`") or kind
        found.append((kind, pattern))
    return found


def test_rules_page_contains_the_tested_commands() -> None:
    refused = [command for command in COMMANDS if "# refused" in command]
    assert len(COMMANDS) == 15 and len(refused) == 4
    assert {kind for kind, _ in patterns()} == {"command", "change", "tool"} and len(patterns()) == 7


@pytest.mark.process
@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_of_the_rules_page_does_what_it_says(clew: Clew, command: str) -> None:
    words, _, refused = command.partition("  #")
    result = clew.run(*shlex.split(words))
    assert result.code == (2 if refused else 0), result.err
    if "a command" in refused:
        assert "`clew rules add" in result.err and "--kind command" in result.err and "--kind change" in result.err
    elif words.startswith("rules add") and not refused:
        assert result.out.rstrip().endswith(("for ever", *(str(n) for n in range(10)))), "it says until when"


@pytest.mark.process
@pytest.mark.parametrize(("kind", "pattern"), patterns())
def test_each_pattern_of_the_table_has_its_kind(clew: Clew, kind: str, pattern: str) -> None:
    assert clew.json("rules", "add", "allow", pattern, "--kind", kind)["kind"] == kind
    result = clew.run("rules", "add", "allow", pattern)
    assert result.code == 2 or f" allow {SAID[kind]} {pattern}, " in result.out


@pytest.mark.parametrize("pattern", ["secrets/", "secrets/**", "./secrets/", "a b/…", "**/*.pem"])
def test_a_pattern_that_can_only_be_a_path_is_a_change(pattern: str) -> None:
    assert infer_kind(Effect.DENY, pattern, "") is RuleKind.CHANGE


@pytest.mark.parametrize("pattern", ["git push", "deploy", "rm -rf build/", "pytest …", "*", "npm run test:*"])
def test_a_pattern_that_can_only_be_a_command_is_a_command(pattern: str) -> None:
    assert infer_kind(Effect.DENY, pattern, "") is RuleKind.COMMAND


@pytest.mark.parametrize("pattern", ["bin/deploy", "./x.sh", "/srv/*.csv", ".env", "*.pem", "id_*", "x y/**", "a.b"])
def test_an_ambiguous_pattern_is_refused_with_a_command_for_each_kind(pattern: str) -> None:
    with pytest.raises(BadInput) as told:
        infer_kind(Effect.DENY, pattern, "")
    for kind in ("command", "change"):
        assert f"`clew rules add deny {shlex.quote(pattern)} --kind {kind}`" in str(told.value)


def test_a_word_that_names_a_folder_of_the_workspace_is_refused(tmp_path: Path) -> None:
    assert infer_kind(Effect.DENY, "secrets", str(tmp_path)) is RuleKind.COMMAND
    (tmp_path / "secrets").mkdir()
    with pytest.raises(BadInput, match="a command or a path"):
        infer_kind(Effect.DENY, "secrets", str(tmp_path))


@pytest.mark.process
def test_a_deny_rule_for_a_folder_protects_it_however_it_is_made(tmp_path: Path) -> None:
    with Clew(tmp_path / "home", SCRIPTED) as clew:
        clew.up()
        said = clew.run("rules", "add", "deny", "secrets/", "--workspace", str(tmp_path))
        assert " deny changes of secrets/, " in said.out and "--kind command is for commands" in said.err
        (rule,) = clew.json("rules", "list")
        asked = {"subject": "secrets/key", "kind": "change", "workspace": str(tmp_path)}
        assert Client(clew.home).post("rules", "test", body=asked)["effect"] == "deny"
        clew("rules", "remove", rule["id"])
        made = Client(clew.home).post("rules", body={"effect": "deny", "pattern": "secrets/"})
        assert made["kind"] == "change"
        wrong = clew.run("rules", "add", "deny", "secrets/", "--kind", "command")
        assert wrong.code == 2 and "`change`" in wrong.err


@pytest.mark.process
def test_a_rule_says_until_when_it_holds(clew: Clew) -> None:
    for lasts in ("90s", "2h"):
        said = clew("rules", "add", "allow", "deploy *", "--for", lasts)
        assert re.search(r", everywhere, until \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\n$", said)
    assert clew("rules", "add", "allow", "deploy *").endswith(", everywhere, for ever\n")


@pytest.mark.process
def test_rules_test_mentions_a_rule_of_another_kind_with_that_pattern(tmp_path: Path) -> None:
    with Clew(tmp_path / "home", SCRIPTED) as clew:
        clew.up()
        clew("rules", "add", "deny", "secrets/key", "--kind", "command")
        said = clew("rules", "test", "secrets/key", "--kind", "change")
        assert said.startswith("ask: ") and "is of the kind `command`: it says nothing" in said
        assert "of the kind" not in clew("rules", "test", "docs/a", "--kind", "change")
        assert clew.json("rules", "test", "secrets/key", "--kind", "command")["note"] == ""
