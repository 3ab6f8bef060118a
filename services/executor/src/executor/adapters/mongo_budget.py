"""Budgets in MongoDB: `{_id: <key>, day, money, tokens, open: {<reservation>: until}, at}`, one document per counter.

Each change is one update of one document, by the database's clock.
"""

from datetime import timedelta
from typing import Any

from pymongo import ReturnDocument
from pymongo.errors import DuplicateKeyError

from executor.domain.spending import Limit
from executor.spending.budget_port import Amount, NoRoom
from rota_common.stores.mongo import NOW, Database, Document, after

KEEP_S = 100 * 86400
"""Longer than a run waits for a person."""

MOST = 2**62
TODAY = {"$dateTrunc": {"date": NOW, "unit": "day"}}


class MongoBudget:
    def __init__(self, database: Database) -> None:
        self._counters = database["budgets"]

    async def prepare(self) -> None:
        await self._counters.create_index("at", expireAfterSeconds=KEEP_S)

    async def reserve(self, limit: Limit, amount: Amount, *, reservation: str, hold: timedelta) -> NoRoom | None:
        while True:
            try:
                document = await self._counters.find_one_and_update(
                    {"_id": limit.key},
                    _reserved(limit, amount, reservation, hold),
                    upsert=True,
                    return_document=ReturnDocument.AFTER,
                )
            except DuplicateKeyError:  # another replica has just made it
                continue
            if reservation in document["open"]:
                return None
            return NoRoom(open=any(until > document["at"] for until in document["open"].values()))

    async def settle(self, limit: Limit, reserved: Amount, taken: Amount, *, reservation: str) -> None:
        place = f"open.{reservation}"
        change = {"money": taken.money - reserved.money, "tokens": taken.tokens - reserved.tokens}
        mine = {"_id": limit.key, place: {"$exists": True}}
        await self._counters.update_one(mine, {"$inc": change, "$unset": {place: ""}})

    async def room(self, limit: Limit) -> Amount:
        wanted: Document = {"_id": limit.key}
        if limit.daily:
            wanted["$expr"] = {"$eq": ["$day", TODAY]}
        spent = await self._counters.find_one(wanted) or {"tokens": 0, "money": 0}
        return Amount(_left(limit.tokens, spent["tokens"]), _left(limit.money, spent["money"]))


def _left(most: int | None, spent: int) -> int:
    return MOST if most is None else most - spent


def _reserved(limit: Limit, amount: Amount, reservation: str, hold: timedelta) -> list[Document]:
    """The counter begins at zero, each day if it is daily; then it takes the amount, if that fits."""
    begins: Any = {"$ne": ["$day", TODAY]} if limit.daily else {"$eq": [{"$type": "$money"}, "missing"]}
    start = {
        "money": {"$cond": [begins, 0, "$money"]},
        "tokens": {"$cond": [begins, 0, "$tokens"]},
        "open": {"$cond": [begins, {"$literal": {}}, "$open"]},
        "day": TODAY,
        "at": NOW,
    }
    sums = {"money": {"$add": ["$money", amount.money]}, "tokens": {"$add": ["$tokens", amount.tokens]}}
    ceilings = {"money": limit.money, "tokens": limit.tokens}
    fits = {"$and": [{"$lte": [sums[name], most]} for name, most in ceilings.items() if most is not None]}
    opened = {"$mergeObjects": ["$open", {reservation: after(hold)}]}
    taken = {name: {"$cond": [fits, new, f"${name}"]} for name, new in {**sums, "open": opened}.items()}
    return [{"$set": start}, {"$set": taken}]
