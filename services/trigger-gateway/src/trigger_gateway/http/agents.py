"""The agents and the connectors that a team may use, and the test of a connector."""

from typing import Annotated

from fastapi import Path, Query

from rota_contracts.catalog import LIST_AGENTS, LIST_PROVIDERS, TEST_CONNECTOR
from rota_contracts.messages.provider import (
    AgentList,
    Capability,
    ListAgents,
    ListProviders,
    ProviderList,
    TryConnector,
    TryConnectorReply,
)
from rota_contracts.model import Name
from trigger_gateway import rpc
from trigger_gateway.http.auth_routes import team_router
from trigger_gateway.http.dependencies import UseCasesDep
from trigger_gateway.problems import FieldProblem, Invalid, NotFound

router = team_router("agents")

FILTERS = ", ".join(Capability)


@router.get("/agents", summary="List the agents that the team may use")
async def list_agents(
    team: Name,
    use: UseCasesDep,
    tags: Annotated[str, Query(max_length=500, description="only those with all of these, separated by commas")] = "",
) -> AgentList:
    return await rpc.call(use.ask, LIST_AGENTS, ListAgents(team_id=team, tags=_separated(tags)))


@router.get("/llm/providers", summary="List the connectors that the team may use, and what the model of each can")
async def list_providers(
    team: Name,
    use: UseCasesDep,
    filters: Annotated[
        str, Query(max_length=500, description=f"only those that can all of this, separated by commas: {FILTERS}")
    ] = "",
    agent: Annotated[str, Query(max_length=200, description="only those that this agent offers its callers")] = "",
) -> ProviderList:
    question = ListProviders(team_id=team, filters=_capabilities(filters), agent_id=agent)
    found = await rpc.call(use.ask, LIST_PROVIDERS, question)
    if found.problem:
        raise NotFound("agent_not_found", found.problem)
    return found


@router.post("/llm/providers/{connector}/test", summary="Call the model of a connector to see what of it works")
async def test_connector(
    team: Name, connector: Annotated[str, Path(max_length=200, description="its id, as in the list")], use: UseCasesDep
) -> TryConnectorReply:
    """At most five short calls, one after the other, of at most a minute each; the team pays for them."""
    found = await rpc.call(use.ask, TEST_CONNECTOR, TryConnector(team_id=team, connector=connector))
    if found.problem:
        raise NotFound("connector_not_found", found.problem)
    return found


def _capabilities(text: str) -> list[Capability]:
    named = _separated(text)
    if unknown := [name for name in named if name not in [*Capability]]:
        problem = FieldProblem("filters", f"expected some of {FILTERS}, got {', '.join(unknown)}")
        raise Invalid("invalid_request", "the request is not valid", fields=[problem])
    return [Capability(name) for name in named]


def _separated(text: str) -> list[str]:
    return [name for part in text.split(",") if (name := part.strip())]
