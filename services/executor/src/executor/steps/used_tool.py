"""The one tool that does a service for an agent outside its turns, such as the search before them."""

from dataclasses import replace

from executor.agents.prompt_files import Agent
from executor.domain.conversation.chat import Tool
from executor.domain.outcomes import CallsBegun
from executor.domain.used_tools import WEB_SEARCH
from executor.domain.uses import Uses
from executor.steps.offer_tools import all_tools
from executor.tool_ports import Tools
from rota_common.errors import Permanent
from rota_contracts.messages.conversation import ToolUse
from rota_contracts.robots.robot import Robot


def with_one(agent: Agent, provider: str) -> Agent:
    """The agent as it is for the call of this provider: with its tool alone, as its `web_search`."""
    return replace(agent, uses=Uses(web=provider))


async def used_tool(tools: Tools, robot: Robot, agent: Agent) -> Tool:
    """The tool of an agent `with_one`. Raises Permanent where it can't be called here."""
    tool = next((each for each in await all_tools(tools, robot, agent) if each.name == WEB_SEARCH), None)
    if tool is None:
        raise Permanent("its server doesn't list this tool now")
    if not tool.idempotent:
        raise Permanent("only what may be called again is called: its server's file may name it as idempotent")
    return tool


def the_call(begun: CallsBegun) -> ToolUse:
    """The one call that was begun, as the checks have left it. Raises Permanent where it may not be made, or not
    without a person."""
    (use,) = begun.uses
    if refused := begun.refused.get(use.step_id):
        raise Permanent(refused)
    if begun.asks:
        raise Permanent(f"a person would have to approve the call: {begun.asks[0].reason}")
    return use
