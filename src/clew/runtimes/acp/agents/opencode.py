"""How OpenCode is made to ask: it has no mode for that, and by itself it runs every command. Pure.

The last rule that fits counts. The first variable comes after the settings of the person and of the project, but not
after those of an agent in them, such as `agent.build.permission`; the second one does. A sub-agent may have settings of
its own, so it is asked about. What only reads in the workspace is not, as with other agents."""

from __future__ import annotations

import json
from collections.abc import Mapping

MODE = "build"  # its own agent that works; a project may name another one as the first
_READS = dict.fromkeys(("glob", "grep", "list", "lsp", "skill", "todoread", "todowrite", "question"), "allow")
_FILES = {"*": "allow", "*.env": "ask", "*.env.*": "ask", "*.env.example": "allow"}
_RULES = {"*": "ask", **_READS, "read": _FILES}
ASKS: Mapping[str, str] = {
    "OPENCODE_PERMISSION": json.dumps(_RULES),
    "OPENCODE_CONFIG_CONTENT": json.dumps({"agent": {MODE: {"permission": _RULES}}}),
}
