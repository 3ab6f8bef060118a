"""Agents that call each other, by hooks or by `uses`: how many may wait for one another. Pure."""

from collections.abc import Sequence

from rota_contracts.messages.agent import CALLERS


def refusal(agent_id: str, callers: Sequence[str]) -> str:
    """Why an agent can't be called by the last of `callers`; empty if it can."""
    chain = " → ".join([*callers, agent_id])
    if agent_id in callers:
        return f"agent {agent_id} is at work already: {chain}"
    if len(callers) > CALLERS:
        return f"expected at most {CALLERS} agents that wait for each other: {chain}"
    return ""
