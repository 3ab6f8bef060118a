"""The tools that an agent is offered: of its robot's, those that it may use; of many, those that it has searched."""

from collections.abc import Sequence

from executor.agents.prompt_files import Agent
from executor.domain.calls.callee import of_tool
from executor.domain.calls.policy import permitted, policy_of
from executor.domain.conversation.chat import BUILT_IN, Tool
from executor.domain.conversation.found_tools import offered, uses_in
from executor.domain.run import Run
from executor.ports import Tools
from rota_contracts.messages.execution import Task


async def tools_for_task(tools: Tools, run: Run, task: Task, agent: Agent) -> Sequence[Tool]:
    results = (result for result in run.execution.results if result.task_id == task.id)
    rounds = [each for result in results for turn in result.turns for each in turn.rounds]
    mine = permitted(await tools.list(run.robot), policy_of(run, agent.autonomy))
    return offered([tool for tool in mine if agent.may_use(tool)], uses_in(rounds))


async def tools_to_look_up(tools: Tools, run: Run, agent: Agent) -> Sequence[Tool]:
    """Those that may be called again, and of the built-in ones those that change nothing; none for which a person
    would have to be asked."""
    policy = policy_of(run, agent.autonomy)
    mine = [tool for tool in permitted(await tools.list(run.robot), policy) if _may_look(tool) and agent.may_use(tool)]
    return offered([tool for tool in mine if not policy.question(of_tool(tool))], uses_in(run.looked_up))


def _may_look(tool: Tool) -> bool:
    return tool.read_only if tool.server == BUILT_IN else tool.idempotent
