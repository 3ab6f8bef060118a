"""The state of a robot: its status, its queue, its last and its next run."""

from pydantic import Field

from rota_contracts.messages.execution import ExecStatus
from rota_contracts.model import Instant, Name, Part
from rota_contracts.robots.robot import RobotStatus, RunFailure


class RobotState(Part):
    """The state of a robot. `status` is error, else paused, else working, else what the owner has set."""

    team_id: Name
    member_id: Name
    status: RobotStatus
    active: bool = Field(description="false: nothing new starts: paused, in maintenance, or switched off")
    last_run: Instant | None = Field(default=None, description="when the last finished run got its slot")
    last_status: ExecStatus | None = None
    next_run: Instant | None = Field(default=None, description="by its clock; null if none, or a daemon is running")
    clock: str = Field(default="", description="its clock in words")
    running: int = 0
    max_running: int
    running_ids: list[str] = []
    queued: int = 0
    max_queued: int
    parked: int = Field(default=0, description="runs that wait without a slot")
    error: RunFailure | None = None
    upcoming: list[Instant] = Field(default=[], description="the next instants of its clock, as many as requested")


class ReadRobots(Part):
    """Request to the scheduler: read the state of robots. `upcoming`: the number of clock instants to return."""

    team_id: Name
    member_ids: list[Name] = Field(min_length=1, max_length=100)
    upcoming: int = Field(default=0, ge=0, le=100)


class RobotsReply(Part):
    """The robots that exist, in the order of the request."""

    robots: list[RobotState] = []
