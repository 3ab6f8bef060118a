"""The removal of a removed team's queue, plans and clocks."""

from dataclasses import dataclass

from rota_common.stores.team_documents import TeamDocuments
from rota_contracts.envelope import Event
from rota_contracts.messages.team_facts import TeamRemovedV1
from scheduler.dispatching.dispatcher import Dispatcher


@dataclass(frozen=True, kw_only=True)
class RemoveTeam:
    dispatcher: Dispatcher
    documents: TeamDocuments

    async def __call__(self, event: Event[TeamRemovedV1]) -> None:
        """The dispatcher's memory first: nothing of the team gets a slot any more."""
        await self.dispatcher.take(event)
        await self.documents.remove(event.data.team_id)
