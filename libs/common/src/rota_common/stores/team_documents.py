"""The documents of a team in a service's database, and their removal once the team is removed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from rota_common.stores.mongo import Database, Document
from rota_contracts.envelope import Event
from rota_contracts.messages.team_facts import TeamRemovedV1

BATCH = 500
"""Documents of one removal: a short write, so that those of other teams wait for nothing."""

Of = Callable[[str], Document]
"""The condition that a team's documents meet."""


def by(field: str) -> Of:
    """By the field that holds the team."""
    return lambda team: {field: team}


def by_prefix(prefix: str) -> Of:
    """By the beginning of `_id`, with `{team}` in it. It ends with a character that no team's name can hold."""

    def condition(team: str) -> Document:
        first = prefix.format(team=team)
        return {"_id": {"$gte": first, "$lt": first[:-1] + chr(ord(first[-1]) + 1)}}

    return condition


def any_of(*conditions: Of) -> Of:
    return lambda team: {"$or": [condition(team) for condition in conditions]}


class TeamDocuments(Protocol):
    """All that a service's database keeps of a team."""

    async def remove(self, team: str) -> None:
        """Remove it. May be interrupted and done again."""
        ...


class MongoTeamDocuments:
    """`of` names each collection of the database; None: its documents aren't a team's, or end by themselves without
    naming one."""

    def __init__(self, database: Database, of: Mapping[str, Of | None]) -> None:
        self._database, self._of = database, of

    async def remove(self, team: str) -> None:
        for collection, condition in self._of.items():
            if condition is not None:
                await self._remove(collection, condition(team))

    async def _remove(self, collection: str, those: Document) -> None:
        documents = self._database[collection]
        while found := await documents.find(those, {"_id": 1}).limit(BATCH).to_list(BATCH):
            ids: list[Any] = [each["_id"] for each in found]
            await documents.delete_many({"$and": [those, {"_id": {"$in": ids}}]})


@dataclass(frozen=True, kw_only=True)
class RemoveTeam:
    """The end of a removed team in a service that keeps documents of it and nothing else."""

    documents: TeamDocuments

    async def __call__(self, event: Event[TeamRemovedV1]) -> None:
        await self.documents.remove(event.data.team_id)
