"""A tiny MCP server on stdio with one tool, `order`, that asks the person by elicitation and returns the answer. Codex
runs it as a program. It uses only the standard library."""

from __future__ import annotations

import json
import sys
from typing import Any

FORM = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Your name", "description": "as on the door", "minLength": 2},
        "count": {"type": "integer", "minimum": 1, "maximum": 5},
        "size": {"type": "string", "enum": ["s", "m"], "enumNames": ["Small", "Medium"]},
        "hot": {"type": "boolean"},
        "extras": {"type": "array", "items": {"type": "string", "enum": ["milk", "sugar"]}},
    },
    "required": ["name", "count"],
}
ASKS: dict[str, dict[str, Any]] = {
    "form": {"message": "What shall it be?", "requestedSchema": FORM},
    "empty": {"message": "Really?", "requestedSchema": {"type": "object", "properties": {}}},
    "url": {"mode": "url", "message": "Log in", "url": "https://example.org/login", "elicitationId": "one"},
}
TOOL = {"name": "order", "description": "order something", "inputSchema": {"type": "object", "properties": {}}}


def say(**message: Any) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def main() -> None:
    call: Any = None
    for line in sys.stdin:
        message = json.loads(line)
        match message:
            case {"id": id, "method": "initialize", "params": {"protocolVersion": version}}:
                info = {"name": "asker", "version": "1"}
                say(id=id, result={"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info})
            case {"id": id, "method": "tools/list"}:
                say(id=id, result={"tools": [TOOL]})
            case {"id": id, "method": "tools/call", "params": {"arguments": {"ask": ask}}}:
                call = id
                say(id="asked", method="elicitation/create", params=ASKS[ask])
            case {"id": "asked", "result": told}:
                say(id=call, result={"content": [{"type": "text", "text": json.dumps(told, sort_keys=True)}]})
            case {"id": id}:
                say(id=id, result={})


if __name__ == "__main__":
    main()
