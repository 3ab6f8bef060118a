"""Facts about robots: changed, deleted, failed, recovered."""

from pydantic import Field

from rota_contracts.model import Instant, Payload
from rota_contracts.robots.robot import RobotStatus


class RobotChangedV1(Payload):
    """Published when a robot is created or changed. Its definition is in the `robots` bucket: `<team>.<member>`."""

    rev: int
    created: bool = False
    robot_status: RobotStatus | None = Field(default=None, description="error after a failed run")


class RobotDeletedV1(Payload):
    """Published when a robot is deleted: its executions stop, its lessons are removed."""

    rev: int


class RobotFailedV1(Payload):
    """Published when a run of a robot fails. Its status is `error` until a run completes or the owner sets it."""

    execution_id: str
    message: str = ""
    at: Instant


class RobotRecoveredV1(Payload):
    """Published when a run of a robot completes after a failed one."""

    execution_id: str
    at: Instant
