"""A request on a Chinese card, and on a Chinese page, has no English word of clew. What the agents say in these tests
has no Latin letters, so that every English word is one of clew."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from clew.engine.gates.cards import render_card
from clew.engine.gates.status_lines import chat_status_line, title_line
from clew.engine.gates.visibility import MessageLimit, split_request
from clew.engine.services.gates import gate_view
from clew.model.gates import Asked, Gate, GateState, Reason
from clew.runtimes import file_changes
from clew.runtimes.acp.approvals import changes, permissions, plans
from clew.runtimes.acp.wire import Option, PermissionRequest, ToolCall
from clew.runtimes.claude.approvals import requests as claude
from clew.runtimes.claude.wire import Request
from clew.runtimes.codex import wire
from clew.runtimes.codex.approvals import answers, overwriting
from clew.runtimes.codex.approvals import requests as codex
from clew.runtimes.codex.translate import Translation
from clew.store.migrate import open_store
from clew.store.tables import gates
from clew.support.clock import SystemClock
from clew.support.coded import Coded, Text, with_code
from clew.texts.bilingual import zh
from clew.texts.catalogue import restore
from clew.texts.reasons import reason
from clew.texts.together import lines

_FOREIGN = re.compile(
    r'"[^"]*"|\b(?:true|null|cwd|execute)\b'  # JSON of an agent
    r"|`[^`]*`"  # what to type
    r"|[+-]{3} /dev/null|\\ No newline at end of file"  # of a diff
    r"|\bexport\b|\b[0-9a-f]{16}\b"  # of a shell; a hash
    r"|\b(?:Codex|MCP|clew|B|K7Q2)\b"  # names, bytes
)
_WORD = re.compile("[A-Za-z]+")
NOTHING: dict[str, Any] = {}
FORM = {
    "type": "object",
    "properties": {
        "1": {"type": "integer", "minimum": 1, "title": "几个"},
        "2": {"type": "number", "minimum": 1, "maximum": 2, "title": "多少", "description": "说明"},
        "3": {"type": "boolean", "title": "是否"},
        "4": {"type": "string", "title": "名称"},
    },
    "required": ["4"],
}
ODD = {"network": {"enabled": True, "8": 1}, "fileSystem": {"read": ["/一"], "write": ["/二"], "9": [1]}}
CHANGED = {"type": "fileChange", "id": "1", "status": "inProgress"}
UPDATE = {"type": "update", "move_path": "二"}

CODEX: dict[str, tuple[str, dict[str, Any]]] = {
    "command": (codex.COMMAND, {"command": "三 四", "cwd": "/一", "reason": "因为"}),
    "old command": (codex.OLD_COMMAND, {"command": ["三", "四"], "cwd": "/一"}),
    "command with more": (
        codex.COMMAND,
        {"command": "三", "networkApprovalContext": {"host": "五", "protocol": "六"}, "additionalPermissions": ODD},
    ),
    "command elsewhere": (codex.COMMAND, {"command": "三", "environmentId": "七"}),
    "network": (codex.COMMAND, {"networkApprovalContext": {"host": "五", "protocol": "六"}}),
    "typing": (codex.COMMAND, {"kind": "writeStdin", "command": "三"}),
    "nothing named": (codex.COMMAND, NOTHING),
    "permissions": (codex.PERMISSIONS, {"permissions": ODD}),
    "permissions by entry": (
        codex.PERMISSIONS,
        {"permissions": {"fileSystem": {"entries": [{"access": "read", "path": "/一"}, 1]}}},
    ),
    "no permission": (codex.PERMISSIONS, {"permissions": {}}),
    "change unseen": (codex.CHANGE, {"grantRoot": "/一"}),
    "old change": (codex.OLD_CHANGE, {"fileChanges": {"一.0": {"type": "add", "content": "新\n"}}}),
    "unseen file replaced": (codex.OLD_CHANGE, {"fileChanges": {"0": {"type": "add", "content": "新\n"}}}),
    "moved over another": (codex.OLD_CHANGE, {"fileChanges": {"一": {**UPDATE, "unified_diff": "@@\n-旧\n+新\n"}}}),
    "questions": (codex.INPUT, {"questions": [{"id": "1", "question": "哪个", "options": []}]}),
    "form": (codex.ELICITATION, {"serverName": "五", "message": "请填写", "requestedSchema": FORM}),
    "yes or no": (codex.ELICITATION, {"serverName": "五", "message": "可以吗", "requestedSchema": {"properties": {}}}),
    "address": (codex.ELICITATION, {"serverName": "五", "mode": "url", "url": "六://七", "message": "请登录"}),
    "tool": (
        codex.ELICITATION,
        {"serverName": "五", "message": "可以吗", "_meta": {"codex_approval_kind": "mcp_tool_call"}},
    ),
}
CLAUDE: dict[str, tuple[str, dict[str, Any]]] = {
    "command": ("Bash", {"command": "三 四", "description": "因为"}),
    "command with more": ("Bash", {"command": "三 四", "timeout": 5, "dangerouslyDisableSandbox": True}),
    "new file": ("Write", {"file_path": "新", "content": "一"}),
    "new empty file": ("Write", {"file_path": "新", "content": ""}),
    "unseen file": ("Write", {"file_path": "0", "content": "一"}),
    "change": ("Edit", {"file_path": "二", "old_string": "旧", "new_string": "新"}),
    "change outside": ("Write", {"file_path": "/零/一", "content": "一"}),
    "change unclear": ("Edit", {"file_path": "二", "old_string": "没有", "new_string": "新"}),
    "questions": (
        "AskUserQuestion",
        {"questions": [{"question": "哪个", "options": [{"label": "甲", "description": "说明"}]}]},
    ),
    "plan": ("ExitPlanMode", {"plan": "计划"}),
    "plan above": ("ExitPlanMode", {}),
    "tool": ("七", {"八": 1}),
}
ONCE = (Option("1", "可以", "allow_once"), Option("2", "不行", "reject_once"))
UNCLEAR = (Option("1", "可以", "allow_once"), Option("2", "总是", "allow_always"))


def diff(path: str, old: str | None, new: str) -> dict[str, Any]:
    return {"kind": "edit", "content": [{"type": "diff", "path": path, "oldText": old, "newText": new}]}


ACP: dict[str, dict[str, Any]] = {
    "command": {"kind": "execute", "rawInput": {"command": "三 四", "cwd": "."}},
    "command nowhere": {"kind": "execute", "rawInput": {"command": "三", "cwd": "~/九"}},
    "command with more": {"kind": "execute", "rawInput": {"command": "三", "env": {"一": "二"}, "四": 5}},
    "hidden command": {"kind": "execute", "title": "五"},
    "hidden command without a name": {"kind": "execute", "title": None},
    "new file": diff("新", None, "一"),
    "new empty file": diff("新", None, ""),
    "unseen file": diff("0", None, "一"),
    "unseen file emptied": diff("0", None, ""),
    "piece of an unseen file": diff("0", "旧", "新"),
    "change outside": diff("/零/一", "旧", "新"),
    "missing file": diff("没有", "旧", "新"),
    "deletion": {"kind": "delete", "locations": [{"path": "二"}]},
    "without a diff": {"kind": "edit", "rawInput": {"path": "二", "七": 1}},
    "claims": {"kind": "other", "content": [{"type": "content", "content": {"type": "text", "text": "说明"}}]},
    "tool": {"kind": "other", "rawInput": {"七": 1}},
    "nothing shown": {"kind": "other", "title": "五"},
    "nothing named": {"kind": None, "title": None},
    "other content": {"kind": "other", "content": [{"type": "八"}]},
}


@pytest.fixture(autouse=True)
def strict(monkeypatch: pytest.MonkeyPatch) -> None:
    """An f-string would leave only the English of a sentence."""
    for module, name in (
        (codex, "read"),
        (claude, "read"),
        (permissions, "asked"),
        (plans, "read"),
        (changes, "propose"),
    ):
        monkeypatch.setattr(module, name, keeping_codes(getattr(module, name)))


def keeping_codes(make: Callable[..., Any]) -> Callable[..., Any]:
    def refuse(text: Text, spec: str) -> str:
        raise AssertionError(f"the code of this sentence is lost: {text.coded}")

    def made(*args: Any, **more: Any) -> Any:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Text, "__format__", refuse)
            return make(*args, **more)

    return made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A text file, and one that cannot be shown."""
    (tmp_path / "二").write_text("旧\n")
    (tmp_path / "0").write_bytes(b"\xff\0")
    return tmp_path


def codex_request(folder: Path, method: str, params: dict[str, Any]) -> Asked:
    request = wire.read(msgspec.Raw(json.dumps(params).encode()), wire.Request)
    assert request is not None
    turn = Translation("T")
    found = overwriting.look(codex.targets(method, request, turn), str(folder))
    asked = codex.read(method, request, turn, found)
    assert asked is not None
    return asked


def acp_request(folder: Path, call: dict[str, Any], options: tuple[Option, ...], announced: Any = None) -> Asked:
    asking = msgspec.convert({"toolCallId": "c", "title": "五", **call}, ToolCall)
    before = msgspec.convert({"toolCallId": "c", **announced}, ToolCall) if announced else None
    plan = plans.read(before, asking, str(folder))
    found = [changes.propose(str(folder), part) for part in plan.diffs]
    shown = lines(*(each.shown for each in found))
    asked = permissions.asked(PermissionRequest("s", asking, options), asking, changes.check(plan, found), shown)
    return changes.with_doubts(asked, found)


def english_in(text: str, folder: Path) -> list[str]:
    return _WORD.findall(_FOREIGN.sub(" ", text.replace(str(folder), "")))


def said(view: Any) -> Iterator[str]:
    """All texts of a view as the page shows them."""
    for name in ("title", "detail", "reason", "asker", "warning", "text"):
        if hasattr(view, name):
            yield in_chinese(getattr(view, name), view.texts.get(name))
    for number, option in enumerate(getattr(view, "options", ())):
        yield in_chinese(option, view.texts.get(f"options.{number}"))
    for question in getattr(view, "questions", ()):
        yield from said(question)


def in_chinese(text: str, coded: Coded | None) -> str:
    return zh(restore(coded, text)) if coded else zh(with_code(text, None))


async def check(asked: Asked, folder: Path) -> None:
    """Also after the request was stored and loaded, and after clew has asked in parts."""
    warning = reason(Reason("unjudged", asked.unjudged)) if asked.unjudged else ""
    gate = Gate("G", "K7Q2", "T", "t", "r", asked, GateState.OPEN, 1, warning=warning, whole_in=1)
    store = open_store(folder / "clew.db", SystemClock())
    try:
        await store.write(lambda tx: gates.insert(tx, gate))
        [loaded] = await store.read(gates.all_rows)
        made = await store.read(lambda tx: gate_view(tx, loaded))
    finally:
        store.close()
    assert loaded.asked == asked and loaded.asked.subject == asked.subject
    view = msgspec.json.decode(msgspec.json.encode(made, enc_hook=str.__str__), type=type(made))
    parts = split_request(loaded, MessageLimit(300), zh)
    shown = [render_card([loaded], zh), zh(title_line(loaded)), chat_status_line(loaded, zh), *parts]
    shown += [*said(view), *said(view.shown)]
    assert [(words, text) for text in shown if (words := english_in(text, folder))] == []


@pytest.mark.parametrize("name", CODEX)
async def test_codex_asks_in_chinese(folder: Path, name: str) -> None:
    await check(codex_request(folder, *CODEX[name]), folder)


def test_each_kind_of_request_of_codex_is_among_them() -> None:
    known = {each for each in vars(codex).values() if isinstance(each, str) and answers.is_known(each)}
    assert {method for method, _ in CODEX.values()} == known - {codex.TOOL}  # nobody is asked about that one


@pytest.mark.parametrize("agents", [(), ("九",)])
@pytest.mark.parametrize("name", CLAUDE)
async def test_claude_asks_in_chinese(folder: Path, name: str, agents: tuple[str, ...]) -> None:
    tool, given = CLAUDE[name]
    request = Request(tool_name=tool, input=msgspec.Raw(msgspec.json.encode(given)))
    await check(claude.read(request, str(folder), agents=agents).asked, folder)


@pytest.mark.parametrize("options", [ONCE, UNCLEAR])
@pytest.mark.parametrize("name", ACP)
async def test_an_acp_agent_asks_in_chinese(folder: Path, name: str, options: tuple[Option, ...]) -> None:
    await check(acp_request(folder, ACP[name], options), folder)


async def test_an_acp_agent_that_announced_something_else_asks_in_chinese(folder: Path) -> None:
    call = {"kind": "other", "rawInput": {"一": 2}}
    await check(acp_request(folder, call, ONCE, announced={"kind": "other", "rawInput": {"一": 1}}), folder)


async def test_a_rewritten_file_is_shown_in_chinese(folder: Path) -> None:
    for name, text in (("0", ""), ("0", "新"), ("新", "")):
        path = folder / name
        await check(changes.ask_rewrite(path, file_changes.look(path), text), folder)
        (folder / "clew.db").unlink()


def test_who_asks_is_said_and_does_not_pass_for_the_words_of_the_agent(folder: Path) -> None:
    asked = codex_request(folder, *CODEX["form"])
    card = render_card([Gate("G", "K7Q2", "T", "t", "r", asked, GateState.OPEN, 1, whole_in=1)], zh)
    assert "由 MCP 服务器 五 提出。\n它说：请填写" in card and "智能体说" not in card
    assert "几个（整数、至少 1、选填）" in card


def test_a_yes_counts_for_the_english_in_every_language(folder: Path) -> None:
    """What a yes allows, and what rules match, is the same as before the words had a code."""
    asked = codex_request(folder, *CODEX["network"])
    assert asked.title == "network access to 六://五" and zh(asked.title) == "网络访问：六://五"
    plain = Asked(asked.kind, "network access to 六://五", item=asked.item)
    assert asked.subject == plain.subject and asked.is_same(plain)
