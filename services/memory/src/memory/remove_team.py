"""The end of a removed team's knowledge and files."""

from dataclasses import dataclass

from memory.ports import Entries, SharedEntries
from rota_common.stores.team_documents import TeamDocuments
from rota_contracts.envelope import Event
from rota_contracts.messages.team_facts import TeamRemovedV1


@dataclass(frozen=True, kw_only=True)
class RemoveTeam:
    entries: Entries
    shared: SharedEntries
    documents: TeamDocuments

    async def __call__(self, event: Event[TeamRemovedV1]) -> None:
        team = event.data.team_id
        await self.entries.clear_team(team)
        await self.shared.clear_team(team)
        await self.documents.remove(team)
