"""Retention of documents with `team`, `member` and `at`: the robots that have old ones, and their removal."""

from collections.abc import AsyncIterator
from datetime import datetime

from motor.motor_asyncio import AsyncIOMotorCollection

from learner.domain import AgedRobot
from rota_common.stores.mongo import Document

Collection = AsyncIOMotorCollection[Document]

INDEX = [("team", 1), ("member", 1), ("at", 1)]
"""The index that both functions use."""

BATCH = 1000
"""Documents removed by one command, so that none takes long."""


async def robots_with_old(collection: Collection, before: datetime) -> AsyncIterator[AgedRobot]:
    """Each robot once, with the oldest of its documents: from robot to robot by index, not by document."""
    team = member = ""
    while True:
        later = {"$or": [{"team": team, "member": {"$gt": member}}, {"team": {"$gt": team}}], "at": {"$lt": before}}
        found = await collection.find_one(later, {"team": 1, "member": 1, "at": 1}, sort=INDEX)
        if found is None:
            return
        team, member = found["team"], found["member"]
        yield AgedRobot(team, member, found["at"])


async def remove_before(collection: Collection, team: str, member: str, before: datetime) -> int:
    """Remove the robot's documents from before that instant; returns the count."""
    removed = 0
    old = {"team": team, "member": member, "at": {"$lt": before}}
    while ids := [document["_id"] async for document in collection.find(old, {"_id": 1}).limit(BATCH)]:
        removed += (await collection.delete_many({"_id": {"$in": ids}})).deleted_count
    return removed
