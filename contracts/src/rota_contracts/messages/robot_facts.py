"""What happens to robots: changed, deleted, failed, recovered."""

from pydantic import Field

from rota_contracts.model import Instant, Payload
from rota_contracts.robots.robot import RobotStatus


class RobotChangedV1(Payload):
    """A robot was created or changed; its definition is in the `robots` bucket under `<team>.<member>`."""

    rev: int
    created: bool = False
    robot_status: RobotStatus | None = Field(default=None, description="error while its last run has failed")


class RobotDeletedV1(Payload):
    """A robot is gone: its executions stop, what it has learnt is removed."""

    rev: int


class RobotFailedV1(Payload):
    """A run of this robot has failed: its status is `error` until one completes or its owner sets the status."""

    execution_id: str
    message: str = ""
    at: Instant


class RobotRecoveredV1(Payload):
    """A run of this robot has completed, after one that failed."""

    execution_id: str
    at: Instant
