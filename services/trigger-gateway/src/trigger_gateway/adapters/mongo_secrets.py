"""Secrets that teams have set, in MongoDB: sealed."""

from collections.abc import Collection, Sequence

from rota_common.stores.mongo import Database, Document
from trigger_gateway.secrets.ports import TeamSecret
from trigger_gateway.secrets.sealed_secret import EncryptedSecret


class MongoSecrets:
    """`_id` is `<team>/<name>`; neither can hold a slash."""

    def __init__(self, database: Database) -> None:
        self._secrets = database["secrets"]

    async def prepare(self) -> None:
        await self._secrets.create_index([("team", 1), ("name", 1)])

    async def put(self, secret: TeamSecret, *, limit: int) -> bool:
        key = _key(secret.team, secret.name)
        written = await self._secrets.replace_one({"_id": key}, _document(secret), upsert=True)
        # Counted afterwards: of those that are put at the same moment, none remains beyond the limit.
        if written.upserted_id is None or await self._secrets.count_documents({"team": secret.team}) <= limit:
            return True
        await self._secrets.delete_one({"_id": key, "sealed": secret.secret.sealed})
        return False

    async def find(self, team: str, names: Collection[str]) -> list[TeamSecret]:
        wanted = {"_id": {"$in": [_key(team, name) for name in names]}}
        return [_secret(document) async for document in self._secrets.find(wanted)]

    async def of_team(self, team: str) -> list[TeamSecret]:
        return [_secret(document) async for document in self._secrets.find({"team": team}).sort("name", 1)]

    async def remove(self, team: str, name: str) -> bool:
        return (await self._secrets.delete_one({"_id": _key(team, name)})).deleted_count == 1

    async def page(self, after: tuple[str, str], *, limit: int) -> Sequence[TeamSecret]:
        team, name = after
        behind = {"$or": [{"team": {"$gt": team}}, {"team": team, "name": {"$gt": name}}]}
        cursor = self._secrets.find(behind).sort([("team", 1), ("name", 1)]).limit(limit)
        return [_secret(document) async for document in cursor]

    async def reseal(self, stored: TeamSecret, sealed: EncryptedSecret) -> None:
        unchanged = {"_id": _key(stored.team, stored.name), "sealed": stored.secret.sealed}
        await self._secrets.update_one(unchanged, {"$set": {"sealed": sealed.sealed}})


def _key(team: str, name: str) -> str:
    return f"{team}/{name}"


def _document(secret: TeamSecret) -> Document:
    return {
        "_id": _key(secret.team, secret.name),
        "team": secret.team,
        "name": secret.name,
        "sealed": secret.secret.sealed,
        "set_at": secret.set_at,
        "set_by": secret.set_by,
    }


def _secret(document: Document) -> TeamSecret:
    return TeamSecret(
        document["team"],
        document["name"],
        EncryptedSecret(sealed=document["sealed"]),
        document["set_at"],
        document.get("set_by", ""),
    )
