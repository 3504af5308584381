"""What turns have used, and the budgets that hold."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta
from starlette.responses import Response

from clew.model.budgets import BudgetScope, UsageView
from clew.server.dependencies import AppState, json_response
from clew.server.routing.functions import Router

router = Router("/api", "usage")


@router.get("/usage", gives=UsageView, summary="Show what was used, and the budgets that hold today")
async def usage(
    state: AppState,
    by: Literal["thread", "account", "person", "day"] = "account",
    since: Annotated[str, Meta(max_length=40, description="a day, or a length of time such as `7d`")] | None = None,
) -> Response:
    return json_response(await state.engine.usage.show(BudgetScope(by), since))
