"""The HTTP side: the same API for the CLI, the page and outsiders, and a stream that never has a gap.

pydantic builds a model when it is first used. Most of FastAPI's own are for /openapi.json, which few ask for, and to
build them all is a seventh of a daemon's start.
"""

from pydantic import BaseModel

BaseModel.model_config["defer_build"] = True
