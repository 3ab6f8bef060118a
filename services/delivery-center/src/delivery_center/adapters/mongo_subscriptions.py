"""Subscriptions in MongoDB, a document each: `{_id: <derived>, team_id, channel, subscriber, created_at}`."""

from rota_common.errors import Transient
from rota_common.stores.mongo import OUTAGES, Database, Document
from rota_contracts.ids import derived_id
from rota_contracts.messages.notification import Subscription


class MongoSubscriptions:
    """The `_id` derives from team, channel and subscriber, so a subscriber is stored once."""

    def __init__(self, database: Database) -> None:
        self._subscriptions = database["subscriptions"]

    async def prepare(self) -> None:
        """For the subscriptions of a team, or of one of its channels, in order."""
        await self._subscriptions.create_index([("team_id", 1), ("channel", 1), ("subscriber", 1)], name="of_channel")

    async def add(self, subscription: Subscription) -> None:
        document = subscription.model_dump()
        key = _key(subscription.team_id, subscription.channel, subscription.subscriber)
        await self._subscriptions.update_one({"_id": key}, {"$setOnInsert": document}, upsert=True)

    async def remove(self, team: str, channel: str, subscriber: str) -> None:
        await self._subscriptions.delete_one({"_id": _key(team, channel, subscriber)})

    async def of(self, team: str, channel: str | None = None) -> list[Subscription]:
        wanted: Document = {"team_id": team} if channel is None else {"team_id": team, "channel": channel}
        found = self._subscriptions.find(wanted).sort([("channel", 1), ("subscriber", 1)])
        try:
            return [Subscription.model_validate(document) async for document in found]
        except OUTAGES as error:
            raise Transient(f"can't read the subscriptions: {error!r}") from error


def _key(team: str, channel: str, subscriber: str) -> str:
    return derived_id("subscription", team, channel, subscriber)
