"""Checks a robot's definition against the agents and MCP servers that are set up here."""

from collections.abc import Iterator
from dataclasses import dataclass

from executor.agents.team_view import TeamView, TeamViews
from executor.tool_ports import Tools
from rota_contracts.messages.robot_check import CheckRobot, RobotProblems
from rota_contracts.robots.robot import Robot

NO_ASSISTANT = (
    "there is no file of {0} here, so a general assistant does their tasks: ID.md in ROTA_AGENTS_DIR is an agent"
)
NO_AGENT = "there is no agent {0} here, so runs fail at {1}: add {0}.md to the folder of ROTA_AGENTS_DIR"


@dataclass(frozen=True, kw_only=True)
class CheckDefinition:
    """Starts nothing: of servers it says what is known without asking them."""

    views: TeamViews
    tools: Tools

    async def __call__(self, request: CheckRobot) -> RobotProblems:
        robot = request.robot
        view = await self.views.of(robot.team_id)
        tools = self.tools.with_own(view.own)
        return RobotProblems(problems=[*_agents_missing(robot, view), *tools.problems(robot)])


def _agents_missing(robot: Robot, view: TeamView) -> Iterator[str]:
    for phase in robot.robot_config.resources.phases:
        if view.agents.find(name := robot.phase_agent(phase)) is None:
            yield NO_AGENT.format(name, phase)
    assistants = [name for name in robot.allowed_agents() if view.agents.find(name) is None]
    if assistants:
        yield NO_ASSISTANT.format(", ".join(assistants))
