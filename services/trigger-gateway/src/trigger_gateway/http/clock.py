"""Checking a clock before a robot gets it."""

from typing import Annotated, Any

from fastapi import Body
from pydantic import BaseModel, Field

from rota_contracts.model import Instant, Name
from rota_contracts.robots.clock_config import Clock
from trigger_gateway.http.auth_routes import team_router
from trigger_gateway.http.dependencies import UseCasesDep
from trigger_gateway.robots.check_clock import check_clock as checked

router = team_router("clock")


class ClockChecked(BaseModel):
    words: str
    upcoming: list[Instant] = Field(description="the next five; none for a daemon, whose runs follow one another")
    anchor: Instant = Field(description="now: intervals are counted from here")


def _takes() -> dict[str, Any]:
    """As for robots: the contract itself parses it strictly."""
    schema = Clock.model_json_schema(ref_template="#/components/schemas/{model}")
    schema.pop("$defs")
    return {"requestBody": {"content": {"application/json": {"schema": schema}}}}


@router.post("/clock/check", summary="Check a clock and list its next runs; nothing is changed", openapi_extra=_takes())
async def check_clock(team: Name, body: Annotated[dict[str, Any], Body()], use: UseCasesDep) -> ClockChecked:
    now = use.clock()
    found = checked(body, now)
    return ClockChecked(words=found.words, upcoming=found.upcoming, anchor=now)
