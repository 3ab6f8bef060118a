"""The tools of the inspiration agent: what is new outside, for its report (EX-11).

They are called within its step, which is made again as a whole after a crash. So it gets only those of the robot's
tools that may be called again.
"""

import asyncio
from collections.abc import Sequence

from pydantic_core import to_jsonable_python

from executor.agents.prompt_files import Agent
from executor.domain.conversation.chat import ModelReply, Tool
from executor.domain.conversation.loop import uses_of
from executor.domain.outcomes import LookedUp, Outcome, Unusable
from executor.domain.planning.interpret import TOO_DEEP, unstorable
from executor.ports import ToolFailed, Tools
from rota_common.errors import Permanent, Transient
from rota_contracts.messages.conversation import Round, ToolStatus, ToolUse
from rota_contracts.messages.execution import excerpt
from rota_contracts.messages.text import Text
from rota_contracts.robots.robot import Robot

ROUNDS = 5
"""How often it may use tools, unless its file says another number."""

OUTPUT_LIMIT = 8_000
"""Characters of an answer, its own or a tool's, that it is shown and that are kept."""


async def tools_to_look_up(tools: Tools, robot: Robot, agent: Agent) -> Sequence[Tool]:
    return [tool for tool in await tools.list(robot) if tool.idempotent and agent.may_use(tool)]


async def look_up(tools: Tools, said: ModelReply, offered: Sequence[Tool], *, step_id: str) -> Outcome:
    """Make all calls of an answer at once; one that failed is told to the agent, like any other answer."""
    uses = uses_of(said, offered, step_id=step_id)
    try:
        problem = unstorable([to_jsonable_python(use.arguments) for use in uses])
    except ValueError:
        problem = TOO_DEEP
    if problem:
        return Unusable(problem)
    made = await asyncio.gather(*(_used(tools, use) for use in uses))
    return LookedUp(Round(text=excerpt(said.text, OUTPUT_LIMIT), uses=list(made)))


async def _used(tools: Tools, use: ToolUse) -> ToolUse:
    if use.status is not ToolStatus.PENDING:
        return use
    try:
        output = Text(inline=excerpt(await tools.call(use), OUTPUT_LIMIT))
    except (ToolFailed, Transient, Permanent) as error:
        return use.model_copy(update={"status": ToolStatus.FAILED, "error": str(error)})
    return use.model_copy(update={"status": ToolStatus.COMPLETED, "output": output})
