"""A model that plays the script in the prompt: for tests, and for the demo, without an account.

async with ScriptedModel() as model:
    write_codex_home(folder, model.url)
"""

from clew.testing.scripted_model.home import write_claude_home, write_codex_home, write_hermes_home
from clew.testing.scripted_model.request import Request
from clew.testing.scripted_model.server import ScriptedModel

__all__ = ["Request", "ScriptedModel", "write_claude_home", "write_codex_home", "write_hermes_home"]
