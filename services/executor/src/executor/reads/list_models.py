"""The connectors and agents that a team may use."""

from dataclasses import dataclass

from executor.agents.connectors import ANY
from executor.agents.team_view import TeamViews
from rota_contracts.messages.provider import AgentList, ListAgents, ListProviders, ProviderList


@dataclass(frozen=True, kw_only=True)
class ListModels:
    """As they are now; no provider is asked, and no key or address is shown."""

    views: TeamViews

    async def providers(self, request: ListProviders) -> ProviderList:
        view, offered = await self.views.of(request.team_id), ANY
        if request.agent_id:
            if (agent := view.agents.find(request.agent_id)) is None:
                return ProviderList(problem=view.missing(request.agent_id))
            offered = agent.connector_options
        return ProviderList(providers=view.connectors.providers(offered, request.filters))

    async def cards(self, request: ListAgents) -> AgentList:
        view = await self.views.of(request.team_id)
        return AgentList(agents=[*view.agents.cards(request.tags)])
