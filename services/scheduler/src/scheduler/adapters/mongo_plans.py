"""The plan queue in MongoDB: one document for each item, which holds its facts until they are published."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from pymongo import ASCENDING, UpdateOne
from pymongo.errors import DuplicateKeyError

from rota_common.stores.mongo import Database, Document
from rota_common.stores.set_aside import SetAside
from rota_contracts.messages.plan import PlanChangedV1, PlanItem, PlanState
from scheduler.domain.plan import NEVER, Plan, PlanFact

KEEP_S = int(timedelta(days=30).total_seconds())
PLANNED = {"state": PlanState.PLANNED}
HAS_FACTS = {"unpublished.0": {"$exists": True}}


class MongoPlans:
    """`over_at` is set once an item is started or removed; it is deleted KEEP_S later."""

    def __init__(self, database: Database) -> None:
        self._plans = database["plans"]
        self._aside = SetAside(self._plans, service="scheduler")

    async def prepare(self) -> None:
        await self._aside.prepare()
        due = [("due_at", ASCENDING)]
        await self._plans.create_index(due, partialFilterExpression=PLANNED)
        await self._plans.create_index(
            [("team", ASCENDING), ("member", ASCENDING), *due], partialFilterExpression=PLANNED
        )
        await self._plans.create_index("unpublished.fact.at", partialFilterExpression=HAS_FACTS)
        await self._plans.create_index("team")
        await self._plans.create_index("over_at", expireAfterSeconds=KEEP_S)

    async def find(self, key: str) -> Plan | None:
        document = await self._plans.find_one({"_id": key})
        return None if document is None else plan_of(document)

    async def add(self, plan: Plan) -> bool:
        team, member = plan.owner
        base: Document = {"_id": plan.key, "team": team, "member": member}
        facts = [_unpublished(each) for each in plan.unpublished]
        try:
            await self._plans.insert_one(base | _kept(plan) | {"unpublished": facts})
        except DuplicateKeyError:
            return False
        return True

    async def change(self, plan: Plan) -> bool:
        return (await self._plans.update_one(*_revision(plan))).matched_count == 1

    async def listed(self, team: str, member: str | None, limit: int) -> list[PlanItem]:
        scope = {"team": team} if member is None else {"team": team, "member": member}
        found = self._plans.find(PLANNED | scope).sort("due_at", ASCENDING).limit(limit)
        return [_item(document) async for document in found]

    async def due(self, now: datetime, limit: int) -> list[Plan]:
        due = PLANNED | {"due_at": {"$lte": now}} | self._aside.readable
        found = self._plans.find(due).sort("due_at", ASCENDING).limit(limit)
        return [plan async for plan in self._aside.readable_of(found, plan_of)]

    async def call(self, robots: Sequence[tuple[str, str]], now: datetime) -> None:
        owners = [{"team": team, "member": member} for team, member in robots]
        await self._plans.update_many(PLANNED | {"due_at": NEVER, "$or": owners}, {"$set": {"due_at": now}})

    async def timeless(self, limit: int) -> list[tuple[str, str]]:
        owner = {"team": "$team", "member": "$member"}
        found = self._plans.aggregate(
            [
                {"$match": PLANNED | {"due_at": NEVER}},
                {"$group": {"_id": owner}},
                {"$sort": {"_id": 1}},
                {"$limit": limit},
            ]
        )
        return [(each["_id"]["team"], each["_id"]["member"]) async for each in found]

    async def postpone(self, plan: Plan, until: datetime) -> None:
        await self._plans.update_one({"_id": plan.key, "changes": plan.changes}, {"$set": {"due_at": until}})

    async def unpublished(self, before: datetime, limit: int) -> list[Plan]:
        old = HAS_FACTS | {"unpublished.fact.at": {"$lte": before}} | self._aside.readable
        return [plan async for plan in self._aside.readable_of(self._plans.find(old).limit(limit), plan_of)]

    async def mark_published(self, plan: Plan) -> None:
        numbers = [each.number for each in plan.unpublished]
        await self._plans.update_one({"_id": plan.key}, {"$pull": {"unpublished": {"number": {"$in": numbers}}}})


def revisions(plans: Sequence[Plan]) -> list[UpdateOne]:
    """Each puts a plan in place of its revision before; one that matches nothing is too late."""
    return [UpdateOne(*_revision(plan)) for plan in plans]


def _revision(plan: Plan) -> tuple[Document, Document]:
    change: Document = {"$set": _kept(plan), "$push": {"unpublished": _unpublished(plan.unpublished[-1])}}
    return {"_id": plan.key, "changes": plan.changes - 1}, change


def _kept(plan: Plan) -> Document:
    item = plan.item
    over = {} if item.state is PlanState.PLANNED else {"over_at": plan.unpublished[-1].fact.at}
    kept = {"item": item.model_dump_json(), "state": item.state, "due_at": plan.due_at, "changes": plan.changes}
    return kept | over


def _unpublished(unpublished: PlanFact) -> Document:
    fact = unpublished.fact
    return {"number": unpublished.number, "fact": fact.model_dump(mode="json") | {"at": fact.at}}


def _item(document: Document) -> PlanItem:
    """Text, because people wrote its messages; an object in the older form."""
    item = document["item"]
    return PlanItem.model_validate_json(item) if isinstance(item, str) else PlanItem.model_validate(item)


def item_text(item: Document) -> str:
    """An item of the older form, as it is stored now."""
    return PlanItem.model_validate(item).model_dump_json()


def plan_of(document: Document) -> Plan:
    facts = tuple(
        PlanFact(each["number"], PlanChangedV1.model_validate(each["fact"])) for each in document["unpublished"]
    )
    return Plan(_item(document), document["due_at"], document["changes"], facts)
