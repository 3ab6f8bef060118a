"""Checks of a robot's definition: what it names and the executor doesn't have."""

from pydantic import Field

from rota_contracts.model import Part
from rota_contracts.robots.robot import Robot


class CheckRobot(Part):
    """Request to the executor: look for the agents and the MCP servers that this robot names."""

    robot: Robot


class RobotProblems(Part):
    """What the executor doesn't have, in words."""

    problems: list[str] = Field(default=[], description="for people, one for each agent or MCP server")
