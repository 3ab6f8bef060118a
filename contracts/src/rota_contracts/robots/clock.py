"""The clock context: a robot's local time, the main input of a run that its clock started."""

from calendar import monthrange
from datetime import datetime
from zoneinfo import ZoneInfo

from pydantic import Field

from rota_contracts.model import Instant, Part

MONTH_EDGE_DAYS = 3
"""The first and the last three days of a month count as its start and its end."""


class ClockContext(Part):
    """The time in the robot's own zone."""

    now: Instant
    tz: str = "UTC"
    hour: int = Field(ge=0, le=23)
    day_of_week: str = Field(description="Monday … Sunday")
    day_of_month: int = Field(ge=1, le=31)
    is_weekend: bool
    is_month_start: bool = Field(description="1st to 3rd")
    is_month_end: bool = Field(description="the last three days")
    is_quarter_end: bool = Field(description="the last three days of March, June, September, December")


def clock_context(now: datetime, tz: str = "UTC") -> ClockContext:
    """The context of `now` in the IANA zone `tz`; raises ZoneInfoNotFoundError for an unknown zone."""
    local = now.astimezone(ZoneInfo(tz))
    month_end = local.day > monthrange(local.year, local.month)[1] - MONTH_EDGE_DAYS
    return ClockContext(
        now=local,
        tz=tz,
        hour=local.hour,
        day_of_week=local.strftime("%A"),
        day_of_month=local.day,
        is_weekend=local.weekday() >= 5,
        is_month_start=local.day <= MONTH_EDGE_DAYS,
        is_month_end=month_end,
        is_quarter_end=month_end and local.month % 3 == 0,
    )
