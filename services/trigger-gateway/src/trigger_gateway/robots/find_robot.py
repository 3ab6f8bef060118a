"""The record of a robot that is there."""

from trigger_gateway.problems import NotFound
from trigger_gateway.robots.ports import RobotRecords
from trigger_gateway.robots.record import RobotRecord


async def find_robot(records: RobotRecords, team: str, member: str) -> RobotRecord:
    """Raise NotFound if there is none, or if it is deleted."""
    record = await records.find(team, member)
    if record is None or record.robot.deleted:
        raise NotFound("robot_not_found", f"team {team} has no robot {member}")
    return record
