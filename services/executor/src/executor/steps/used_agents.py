"""Agents that others use: each is asked for a run, and gives the same answer whenever the call is repeated."""

from collections.abc import Awaitable, Callable

from rota_common.bus.rpc import STILL_WORKING_S, StillWorking
from rota_common.errors import Permanent
from rota_contracts.messages.agent import AgentReply, CallAgent

AskAgent = Callable[[CallAgent], Awaitable[AgentReply]]
"""The reply; errors of the agent are in it. Raises Transient."""


async def no_agents(request: CallAgent) -> AgentReply:
    raise Permanent(f"agent {request.assistant_id} can't be asked here")


async def reply_of(ask: AskAgent, request: CallAgent) -> AgentReply:
    """The reply, though it takes longer than one question may; the call itself ends by its own time."""
    for _ in range(int(request.timeout / STILL_WORKING_S) + 1):
        try:
            return await ask(request)
        except StillWorking:
            continue
    return await ask(request)
