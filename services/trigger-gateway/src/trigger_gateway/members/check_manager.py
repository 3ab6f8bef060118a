"""Checks what a robot's definition says about people: its manager must be there, and its id must not be a person's."""

from dataclasses import dataclass

from rota_contracts.robots.robot import Robot, RobotDefinition
from trigger_gateway.members.ports import Members
from trigger_gateway.problems import Conflict, FieldProblem, Invalid


@dataclass(frozen=True, kw_only=True)
class CheckManager:
    members: Members

    async def __call__(self, team: str, wanted: RobotDefinition, stored: Robot | None) -> None:
        """Raise Invalid for a manager who isn't there, Conflict for a person's id. A manager that is stored already
        stays, so that a robot can be changed after its manager was deleted."""
        name = wanted.member_id
        if stored is None and name is not None and await self.members.find(team, name):
            raise Conflict("robot_exists", f"{name} is a person of team {team}: a robot needs an id of its own")
        manager = wanted.manager_id
        if manager is None or (stored is not None and stored.manager_id == manager):
            return
        if await self.members.find(team, manager) is None:
            text = (
                f"team {team} has no member {manager!r}: apply a document with kind: Member and this member_id first, "
                "or in the same files"
            )
            raise Invalid(
                "invalid_robot", "the robot's definition is not valid", fields=[FieldProblem("manager_id", text)]
            )
