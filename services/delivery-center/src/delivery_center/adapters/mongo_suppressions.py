"""The suppression list in MongoDB, a document each: `{_id: <derived>, team_id, address, reason, by, created_at}`."""

from collections.abc import Collection

from pymongo import ReturnDocument

from rota_common.errors import Transient
from rota_common.stores.mongo import OUTAGES, Database
from rota_contracts.ids import derived_id
from rota_contracts.messages.targets import Suppression


class MongoSuppressions:
    """The `_id` derives from team and address, so an address is on a team's list once."""

    def __init__(self, database: Database) -> None:
        self._suppressions = database["suppressions"]

    async def prepare(self) -> None:
        await self._suppressions.create_index([("team_id", 1), ("address", 1)], name="of_team")

    async def add(self, suppression: Suppression) -> Suppression:
        document = await self._suppressions.find_one_and_update(
            {"_id": _key(suppression.team_id, suppression.address)},
            {"$setOnInsert": suppression.model_dump()},
            upsert=True,
            return_document=ReturnDocument.AFTER,
        )
        return Suppression.model_validate(document)

    async def remove(self, team: str, address: str) -> None:
        await self._suppressions.delete_one({"_id": _key(team, address)})

    async def among(self, team: str, addresses: Collection[str]) -> set[str]:
        wanted = {"_id": {"$in": [_key(team, address) for address in addresses]}}
        try:
            return {document["address"] async for document in self._suppressions.find(wanted, {"address": 1})}
        except OUTAGES as error:
            raise Transient(f"can't read the suppression list: {error!r}") from error

    async def page(self, team: str, after: str, limit: int) -> list[Suppression]:
        found = self._suppressions.find({"team_id": team, "address": {"$gt": after}}).sort("address", 1).limit(limit)
        return [Suppression.model_validate(document) async for document in found]


def _key(team: str, address: str) -> str:
    return derived_id("suppression", team, address)
