"""How a robot stands: what it does now, what it did last, when it is due next (TG-22)."""

from pydantic import Field

from rota_contracts.messages.execution import ExecStatus
from rota_contracts.model import Instant, Name, Part
from rota_contracts.robots.robot import RobotStatus, RunFailure


class RobotState(Part):
    """`status` is derived: error, else working, else what its owner has set. `active`: does anything new start?"""

    team_id: Name
    member_id: Name
    status: RobotStatus
    active: bool = Field(description="false: paused, in maintenance, or switched off")
    last_run: Instant | None = Field(default=None, description="when the last run that is over had got its slot")
    last_status: ExecStatus | None = None
    next_run: Instant | None = Field(default=None, description="by its clock; None for none, and while a daemon runs")
    clock: str = Field(default="", description="its clock in words")
    running: int = 0
    max_running: int
    running_ids: list[str] = []
    queued: int = 0
    max_queued: int
    parked: int = Field(default=0, description="have begun, wait for somebody and hold no slot")
    error: RunFailure | None = None
    upcoming: list[Instant] = Field(default=[], description="when its clock is due next, as many as were asked for")


class ReadRobots(Part):
    """Question to the scheduler: how do these robots stand? `upcoming`: how many instants of their clocks to tell."""

    team_id: Name
    member_ids: list[Name] = Field(min_length=1, max_length=100)
    upcoming: int = Field(default=0, ge=0, le=100)


class RobotsReply(Part):
    """Those of them that there are, in the order of the question."""

    robots: list[RobotState] = []
