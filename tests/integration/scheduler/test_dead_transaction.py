"""A dispatcher that ends inside its transaction: the lease that it locked is free as soon as it has expired."""

import asyncio

from rota_common.stores.mongo import Mongo
from rota_common.testing.patience import PATIENCE_S
from scheduler.adapters.mongo_queue import LEASE, MongoQueue
from tests.conformance.dispatcher_lease import acquired


async def test_an_abandoned_transaction_does_not_hold_up_the_successor(mongo_url: str, mongo_prefix: str) -> None:
    servers = [Mongo(mongo_url, f"{mongo_prefix}_scheduler") for _ in range(2)]
    dead, next_one = (MongoQueue(server, lease=0.3) for server in servers)
    await dead.prepare()
    assert await dead.acquire("dead") == 1
    session = await dead._own_session()
    session.start_transaction()
    await servers[0].database["leases"].update_one({"_id": LEASE}, {"$set": {"touched": True}}, session=session)

    # The server itself would give the transaction up after a minute.
    assert await asyncio.wait_for(acquired(next_one, "next"), PATIENCE_S) == 2
    assert "touched" not in (await servers[1].database["leases"].find_one({"_id": LEASE}) or {})
    for server in servers:
        await server.close()
