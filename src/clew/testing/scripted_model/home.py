"""Writes homes of agents whose config uses only a scripted model."""

from __future__ import annotations

import json
from pathlib import Path

_CONFIG = """\
model = "gpt-5.5"
model_provider = "scripted"
check_for_update_on_startup = false
suppress_unstable_features_warning = true

[model_providers.scripted]
name = "scripted"
base_url = "{base_url}"
wire_api = "responses"
requires_openai_auth = false
supports_websockets = false
request_max_retries = {request_retries}
stream_max_retries = {stream_retries}

[analytics]
enabled = false

[tools.update_plan]
enabled = true

[features]
default_mode_request_user_input = true
request_permissions_tool = true
apps = false
plugins = false  # otherwise each start downloads a catalogue from GitHub
"""


_HERMES = """\
model:
  default: scripted
  provider: custom
  base_url: {base_url}
  api_key: none
  context_length: 100000
"""


def write_hermes_home(folder: Path, base_url: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.yaml").write_text(_HERMES.format(base_url=base_url), encoding="utf-8")
    return folder


def write_claude_home(folder: Path, address: str, *, subscription: bool = False) -> Path:
    """`address`: `ScriptedModel.address`. Nothing of this home leaves the machine. `subscription`: instead of a key;
    only these have limits with a known end."""
    folder.mkdir(parents=True, exist_ok=True)
    env = {
        "ANTHROPIC_BASE_URL": address,
        "CLAUDE_CODE_OAUTH_TOKEN" if subscription else "ANTHROPIC_API_KEY": "scripted",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "ENABLE_TOOL_SEARCH": "false",
    }
    (folder / "settings.json").write_text(json.dumps({"env": env}), encoding="utf-8")
    return folder


def write_codex_home(folder: Path, base_url: str, *, request_retries: int = 0, stream_retries: int = 0) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    text = _CONFIG.format(base_url=base_url, request_retries=request_retries, stream_retries=stream_retries)
    (folder / "config.toml").write_text(text, encoding="utf-8")
    return folder
