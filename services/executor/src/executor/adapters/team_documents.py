"""The documents of a team in each collection of the executor's database."""

from executor.adapters.mongo_run_segments import MongoRunSegments
from rota_common.stores.mongo import Database
from rota_common.stores.team_documents import BATCH, MongoTeamDocuments, Of, any_of, by, by_prefix

TEAM_DOCUMENTS: dict[str, Of | None] = {
    "executions": by("team_id"),
    "calls": by("team"),
    "budgets": any_of(by_prefix("team:{team}:"), by_prefix("robot:{team}.")),
    "execution_segments": None,  # they name their execution: see below
}


class MongoRunsOfTeam(MongoTeamDocuments):
    """Segments go before their executions: a kill in between leaves none without its execution."""

    def __init__(self, database: Database) -> None:
        super().__init__(database, TEAM_DOCUMENTS)
        self._runs, self._segments = database["executions"], MongoRunSegments(database)

    async def remove(self, team: str) -> None:
        long = self._runs.find({"team_id": team, "segments": {"$exists": True}}, {"_id": 1}, batch_size=BATCH)
        while found := await long.to_list(BATCH):
            await self._segments.remove([run["_id"] for run in found])
        await super().remove(team)
