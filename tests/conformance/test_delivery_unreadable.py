"""Deliveries that another version wrote: the retries of all others go on."""

import pytest

from delivery_center.adapters.in_memory_deliveries import InMemoryDeliveries
from delivery_center.adapters.mongo_deliveries import MongoDeliveries
from delivery_center.ports import DeliveryStore
from rota_common.errors import Unreadable
from rota_contracts.messages.delivery_log import ListDeliveries
from tests.conformance.test_delivery_ports import LEASE, NOON, deliveries, delivery  # noqa: F401  # fixtures


async def made_newer(deliveries: DeliveryStore, request_id: str) -> None:  # noqa: F811  # the fixture
    if isinstance(deliveries, InMemoryDeliveries):
        deliveries.unreadable.add(request_id)
        return
    assert isinstance(deliveries, MongoDeliveries)
    await deliveries._deliveries.update_one({"_id": request_id}, {"$set": {"targets.0.state": "dreaming"}})


async def test_a_delivery_that_can_not_be_read_stops_no_retry_of_another(deliveries: DeliveryStore) -> None:  # noqa: F811  # the fixture
    for request_id in ("newer", "ours"):
        await deliveries.insert(delivery(request_id))
    await made_newer(deliveries, "newer")
    claimed = await deliveries.claim_due(NOON, LEASE)
    assert claimed is not None
    assert claimed.request_id == "ours"
    assert await deliveries.claim_due(NOON, LEASE) is None
    page = await deliveries.page(ListDeliveries(team_id="acme"), after=None)
    assert [each.request_id for each in page] == ["ours"]
    with pytest.raises(Unreadable):
        await deliveries.find("newer")
