"""The start of a service with long history: it reads no more of its store than without."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

from delivery_center.adapters.mongo_deliveries import MongoDeliveries
from executor.adapters.mongo_runs import MongoRuns
from rota_common.stores.mongo import Mongo
from scheduler.adapters.mongo_queue import MongoQueue

MANY = 300
OVER = {"status": "completed", "state": "delivered", "over_at": datetime.now(UTC)}
STORES: dict[str, Callable[[Mongo], Callable[[], Awaitable[None]]]] = {
    "executions": lambda mongo: MongoRuns(mongo.database).prepare,
    "deliveries": lambda mongo: MongoDeliveries(mongo.database).prepare,
    "queue": lambda mongo: MongoQueue(mongo, lease=10).prepare,
}


async def test_a_start_looks_at_no_document_that_it_need_not_change(mongo_url: str, mongo_prefix: str) -> None:
    grown = []
    for collection, preparing in STORES.items():
        mongo = Mongo(mongo_url, f"{mongo_prefix}_{collection}")
        database, prepare = mongo.database, preparing(mongo)
        try:
            await prepare()
            await database[collection].insert_many({**OVER, "_id": str(number)} for number in range(MANY))
            await database.command("profile", 2)
            await prepare()
            await database.command("profile", 0)
            profile = database["system.profile"].find({"docsExamined": {"$gt": 10}, "command.createIndexes": None})
            grown += [f"{each['ns']}: {each['command']}" async for each in profile]
        finally:
            await mongo.client.drop_database(database.name)
            await mongo.close()
    assert grown == [], "give these an index, or a start takes minutes with a million of them"
