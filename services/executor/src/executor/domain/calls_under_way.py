"""Calls of agents under way, as their team sees them."""

from datetime import datetime

from rota_contracts.messages.agent import AgentReply, CallAgent, CallUnderWay
from rota_contracts.model import ALL

ABORTED = "the call was aborted"


def call_under_way(call: CallAgent, began_at: datetime) -> CallUnderWay:
    member = None if call.member_id == ALL else call.member_id
    agent, chat = call.assistant_id, call.chat_id or ""
    return CallUnderWay(id=call.call_id, agent_id=agent, member_id=member, chat_id=chat, began_at=began_at)


def aborted(call: CallUnderWay) -> AgentReply:
    """The reply of an aborted call, to its caller and to its repeats."""
    return AgentReply(agent_id=call.agent_id, error=ABORTED)
