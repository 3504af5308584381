"""A card shows the target of a linked file or folder, and a yes is for that target only."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from clew.cli.view.gates import request_lines as in_a_terminal
from clew.engine.gates.cards import render_card
from clew.engine.gates.lifecycle import reopen_gate
from clew.engine.gates.requests import links
from clew.engine.rules import decide
from clew.model.gates import Asked, Effect, GateKind, Policy, Reason, Rule, RuleKind, Scope
from clew.model.messages import Fate
from clew.texts import gate_messages
from clew.texts.bilingual import zh
from clew.texts.catalogue import say
from clew.texts.doubts import joined
from clew.texts.reasons import reason
from tests.engine.gates.test_visibility import PHONE, Chat, _opens, _row
from tests.helpers.rig import Rig, Room

NOTES = Asked(GateKind.CHANGE, "docs/notes.md", "+evil", paths=("docs/notes.md",))


def link(tmp_path: Path) -> Path:
    """A link in a cloned repository, and its target."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "notes.md").symlink_to("../../bashrc")
    return tmp_path.parent / "bashrc"


async def test_every_card_says_where_a_link_leads(tmp_path: Path) -> None:
    target = link(tmp_path)
    async with Rig(tmp_path, room=Room(PHONE)) as rig:
        view = await _opens(rig, NOTES)
        english, chinese = f"docs/notes.md is really {target}: a link leads there.", f"docs/notes.md 实际是 {target}："
        assert Chat(rig).card(view).text.count(english) == 1 and view.warning == english
        assert english in "\n".join(in_a_terminal(view))
        assert chinese in render_card([await _row(rig, view)], zh)


async def test_another_warning_does_not_hide_where_a_link_leads(tmp_path: Path) -> None:
    target = link(tmp_path)
    async with Rig(tmp_path, room=Room(PHONE)) as rig:
        view = await _opens(rig, NOTES)
        assert (await rig.say(f"{view.code} y", sender_id="7")).fate is Fate.ANSWER
        row = await _row(rig, view)
        await rig.store.write(lambda tx: reopen_gate(tx, rig.engine._core, row, str(gate_messages.DID_NOT_ARRIVE)))
        await rig.delivered(f"{view.id}:again")
        again = Chat(rig).card(view).text
        assert f"is really {target}" in again and gate_messages.DID_NOT_ARRIVE in again


async def test_a_linked_folder_is_shown_with_its_target(tmp_path: Path) -> None:
    (tmp_path / "docs").symlink_to("/var")
    async with Rig(tmp_path, room=Room(PHONE)) as rig:
        view = await _opens(rig, Asked(GateKind.COMMAND, "touch made", folder=str(tmp_path / "docs")))
        assert f"{tmp_path}/docs is really /var: a link leads there." in Chat(rig).card(view).text


def test_a_path_without_links_is_shown_unchanged(tmp_path: Path) -> None:
    """Also if the workspace itself lies behind a link: the person named it that way."""
    (tmp_path / "real" / "src").mkdir(parents=True)
    (tmp_path / "work").symlink_to("real")
    for path in ("src/a.py", f"{tmp_path}/work/src/a.py", f"{tmp_path}/real/src/a.py", "src/../b", ".", "no\0path"):
        asked = Asked(GateKind.CHANGE, path, paths=(path,), folder=str(tmp_path / "work"))
        assert links.resolve_links(asked, f"{tmp_path}/work/") == ()


@pytest.mark.parametrize(("name", "where"), [("out/new.md", "far/away/new.md"), ("out/../new.md", "far/new.md")])
def test_links_inside_a_path_are_resolved(tmp_path: Path, name: str, where: str) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "far" / "away").mkdir(parents=True)
    (tmp_path / "work" / "out").symlink_to("../far/away")
    found = links.resolve_links(Asked(GateKind.CHANGE, name, paths=(name,)), str(tmp_path / "work"))
    assert found == ((name, str(tmp_path / where)),)


async def test_a_yes_for_this_thread_ends_when_the_file_becomes_a_link(tmp_path: Path) -> None:
    plain = decide.exact_pattern(msgspec.structs.replace(NOTES, links=links.resolve_links(NOTES, str(tmp_path))))
    assert plain == decide.exact_pattern(NOTES), "rules that were made before still hold"
    link(tmp_path)
    linked = decide.exact_pattern(msgspec.structs.replace(NOTES, links=links.resolve_links(NOTES, str(tmp_path))))
    (tmp_path / "docs" / "notes.md").unlink()
    (tmp_path / "docs" / "notes.md").symlink_to("/elsewhere")
    other = decide.exact_pattern(msgspec.structs.replace(NOTES, links=links.resolve_links(NOTES, str(tmp_path))))
    assert len({plain, linked, other}) == 3


@pytest.mark.parametrize("kind", [GateKind.COMMAND, GateKind.PERMISSION])
async def test_a_permission_for_a_link_shows_its_target(tmp_path: Path, kind: GateKind) -> None:
    (tmp_path / "cache").symlink_to("/var")
    asked = Asked(kind, f"write {tmp_path}/cache", paths=(f"{tmp_path}/cache",), leaves_sandbox=True)
    async with Rig(tmp_path, room=Room(PHONE)) as rig:
        view = await _opens(rig, asked)
        assert f"{tmp_path}/cache is really /var: a link leads there." in Chat(rig).card(view).text


def test_no_rule_allows_a_permission_for_the_target_of_a_link(tmp_path: Path) -> None:
    rule = Rule("R", Effect.ALLOW, RuleKind.TOOL, f"write {tmp_path}/*", Scope.EVERYWHERE, "", 0)
    asked = Asked(GateKind.PERMISSION, f"write {tmp_path}/cache", paths=(f"{tmp_path}/cache",))
    verdicts = []
    for target in (None, "/var"):
        if target is not None:
            (tmp_path / "cache").symlink_to(target)
        request = msgspec.structs.replace(asked, links=links.resolve_links(asked, str(tmp_path)))
        verdicts.append(decide.decide(request, Policy.CAREFUL, str(tmp_path), [rule], 0, "T").effect)
    assert verdicts == [Effect.ALLOW, Effect.ASK]


def test_right_to_left_letters_of_a_link_or_a_reason_reorder_nothing() -> None:
    """They would move the parts of the path around them."""
    odd, shown = "\u05d0\u05d1/etc/x", "\\u05d0\\u05d1/etc/x"
    for text in (
        gate_messages.leads_to(odd, "y"),
        gate_messages.leads_to("y", odd),
        reason(Reason("file.linked", odd)),
    ):
        assert shown in text and shown in zh(text) and odd not in text + zh(text)


def test_doubts_that_are_joined_hide_nothing() -> None:
    plain = "it carries what clew does not know: a\u200bb\u05d0"
    both = joined((plain, say("approvals.other_content")))
    for text in (reason(Reason("unjudged", plain)), reason(Reason("unjudged", both))):
        assert "a\\u200bb\\u05d0" in text and "\u200b" not in text + zh(text)
