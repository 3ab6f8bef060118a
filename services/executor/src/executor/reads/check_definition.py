"""Checks a robot's definition against the agents and MCP servers that are set up here."""

from collections.abc import Iterator
from dataclasses import dataclass

from executor.agents.prompt_files import Agents
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

    agents: Agents
    tools: Tools

    async def __call__(self, request: CheckRobot) -> RobotProblems:
        robot = request.robot
        return RobotProblems(problems=[*self._agents_missing(robot), *self.tools.problems(robot)])

    def _agents_missing(self, robot: Robot) -> Iterator[str]:
        for phase in robot.robot_config.resources.phases:
            if self.agents.find(name := robot.phase_agent(phase), team=robot.team_id) is None:
                yield NO_AGENT.format(name, phase)
        assistants = [name for name in robot.allowed_agents() if self.agents.find(name, team=robot.team_id) is None]
        if assistants:
            yield NO_ASSISTANT.format(", ".join(assistants))
