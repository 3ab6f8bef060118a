"""The tools that an agent is offered: of its robot's, those that it may use; of many, those that it has searched."""

from collections.abc import Sequence

from executor.agents.prompt_files import Agent
from executor.domain.calls.callee import of_tool
from executor.domain.calls.policy import permitted, policy_of
from executor.domain.context.contexts import of_step, turns_of
from executor.domain.conversation.chat import BUILT_IN, Tool
from executor.domain.conversation.found_tools import offered, uses_in
from executor.domain.run import Run
from executor.domain.skills import reads_skills
from executor.domain.steps import AskAgent, RunTurn
from executor.domain.used_tools import reaching, with_used
from executor.domain.uses import NO_USES
from executor.tool_ports import Tools
from executor.tools.built_in import TOOLS
from rota_contracts.robots.resources import BuiltInTool
from rota_contracts.robots.robot import Robot


async def all_tools(tools: Tools, robot: Robot, agent: Agent | None) -> list[Tool]:
    """All of the robot's, with those that an agent has by its `uses` and its skills."""
    uses = agent.uses if agent else NO_USES
    mine = with_used(await tools.list(reaching(robot, uses)), uses)
    if agent is None or not agent.skills or any(reads_skills(tool) for tool in mine):
        return mine
    return sorted([*mine, TOOLS[BuiltInTool.SKILL_SEARCH]], key=lambda tool: tool.name)


async def tools_for(tools: Tools, run: Run, step: AskAgent | RunTurn, agent: Agent) -> Sequence[Tool]:
    """To look things up: those that may be called again, and of the built-in ones those that change nothing; none for
    which a person would have to be asked."""
    policy = policy_of(run, agent.autonomy)
    mine = [tool for tool in permitted(await all_tools(tools, run.robot, agent), policy) if agent.may_use(tool)]
    if isinstance(step, AskAgent):
        mine = [tool for tool in mine if _may_look(tool) and not policy.question(of_tool(tool))]
    rounds = [each for turn in turns_of(run, of_step(step)) for each in turn.rounds]
    return offered(mine, uses_in(rounds))


def _may_look(tool: Tool) -> bool:
    return tool.read_only if tool.server == BUILT_IN else tool.idempotent
