"""The connectors and agents that a team may use."""

from dataclasses import dataclass

from executor.agents.connectors import ANY, Connectors
from executor.agents.prompt_files import Agents
from rota_contracts.messages.provider import AgentList, ListAgents, ListProviders, ProviderList


@dataclass(frozen=True, kw_only=True)
class ListModels:
    """Of the operator's files; no provider is asked, and no key or address is shown."""

    connectors: Connectors
    agents: Agents

    async def providers(self, request: ListProviders) -> ProviderList:
        offered = ANY
        if request.agent_id:
            agent = self.agents.find(request.agent_id, team=request.team_id)
            if agent is None:
                return ProviderList(problem=f"there is no agent {request.agent_id}: `rota agents list` shows them")
            offered = agent.connector_options
        return ProviderList(providers=self.connectors.of(request.team_id, offered, request.filters))

    async def cards(self, request: ListAgents) -> AgentList:
        return AgentList(agents=[*self.agents.cards(team=request.team_id, tags=request.tags)])
