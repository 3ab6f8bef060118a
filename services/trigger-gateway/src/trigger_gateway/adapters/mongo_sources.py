"""Teams' sources of events in MongoDB.

Settings are stored as JSON text, because conditions may hold values that MongoDB doesn't accept. A secret in them is a
reference or encrypted.
"""

from collections.abc import Sequence

from motor.motor_asyncio import AsyncIOMotorClientSession
from pymongo.errors import DuplicateKeyError

from rota_common.stores.mongo import Database, Document
from rota_contracts.sources import SourceKind
from trigger_gateway.adapters.mongo_team_lock import MongoTeamLock
from trigger_gateway.sources.source import DatabaseSettings, Source, WebhookSettings
from trigger_gateway.teams.shares import Allow, Usage, allow_all


class MongoSources:
    """`_id` is `<team>/<name>`; neither can hold a slash."""

    def __init__(self, database: Database) -> None:
        self._sources = database["sources"]
        self._lock = MongoTeamLock(database, "sources")

    async def prepare(self) -> None:
        await self._sources.create_index([("team", 1), ("name", 1)])
        await self._sources.create_index("kind", partialFilterExpression={"kind": SourceKind.DATABASE.value})

    async def add(self, source: Source, *, allow: Allow = allow_all) -> bool:
        kinds = [source.kind.value] + [None] * (source.kind is SourceKind.WEBHOOK)  # None: from before databases

        async def work(session: AsyncIOMotorClientSession) -> None:
            await self._sources.insert_one(_document(source), session=session)
            mine = {"team": source.team, "kind": {"$in": kinds}}
            allow(Usage(await self._sources.count_documents(mine, session=session)))

        try:
            await self._lock.transaction(source.team, work)
        except DuplicateKeyError:
            return False
        return True

    async def find(self, team: str, name: str) -> Source | None:
        found = await self._sources.find_one({"_id": f"{team}/{name}"})
        return _source(found) if found else None

    async def of_team(self, team: str) -> list[Source]:
        return [_source(document) async for document in self._sources.find({"team": team}).sort("name", 1)]

    async def databases(self) -> list[Source]:
        cursor = self._sources.find({"kind": SourceKind.DATABASE.value}).sort([("team", 1), ("name", 1)])
        return [_source(document) async for document in cursor]

    async def page(self, after: tuple[str, str], *, limit: int) -> Sequence[Source]:
        team, name = after
        behind = {"$or": [{"team": {"$gt": team}}, {"team": team, "name": {"$gt": name}}]}
        cursor = self._sources.find(behind).sort([("team", 1), ("name", 1)]).limit(limit)
        return [_source(document) async for document in cursor]

    async def replace(self, source: Source, *, expected: Source) -> bool:
        unchanged = {
            "_id": f"{expected.team}/{expected.name}",
            "created_at": expected.created_at,
            "rev": {"$in": [1, None]} if expected.rev == 1 else expected.rev,
        }
        return (await self._sources.replace_one(unchanged, _document(source))).matched_count == 1

    async def remove(self, team: str, name: str) -> bool:
        return (await self._sources.delete_one({"_id": f"{team}/{name}"})).deleted_count == 1


def _document(source: Source) -> Document:
    settings = source.webhook or source.database
    assert settings is not None
    return {
        "_id": f"{source.team}/{source.name}",
        "team": source.team,
        "name": source.name,
        "kind": source.kind.value,
        "rev": source.rev,
        "settings": settings.model_dump_json(),
        "created_at": source.created_at,
    }


def _source(document: Document) -> Source:
    kind, webhook, database = document.get("kind"), None, None
    if kind is None:  # of the time when a source was a webhook with one reference
        given = {"secrets": [document["secret"]], "event_type_field": document["event_type_field"]}
        webhook = WebhookSettings.model_validate(given)
    elif kind == SourceKind.WEBHOOK.value:
        webhook = WebhookSettings.model_validate_json(document["settings"])
    else:
        database = DatabaseSettings.model_validate_json(document["settings"])
    return Source(document["team"], document["name"], document["created_at"], webhook, database, document.get("rev", 1))
