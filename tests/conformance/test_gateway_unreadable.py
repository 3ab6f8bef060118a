"""Robots that another version wrote: the others of their team work as before."""

import json

import pytest

from rota_common.bus.robots import robot_key
from rota_common.errors import Unreadable
from rota_common.runtime.embedded_servers import EmbeddedServer
from rota_common.runtime.service import Service
from rota_contracts.streams import ROBOTS_BUCKET
from tests.conformance.test_gateway_ports import record, robots, store  # noqa: F401  # fixtures
from trigger_gateway.adapters.in_memory_stores import InMemoryRobots
from trigger_gateway.adapters.mongo_robots import MongoRobots
from trigger_gateway.adapters.nats_definitions import NatsDefinitions
from trigger_gateway.robots.ports import RobotRecords


async def made_newer(robots: RobotRecords, member: str) -> None:  # noqa: F811  # the fixture
    if isinstance(robots, InMemoryRobots):
        robots.unreadable.add(("acme", member))
        return
    assert isinstance(robots, MongoRobots)
    found = await robots._robots.find_one({"_id": f"acme/{member}"})
    assert found is not None
    newer = json.loads(found["robot"]) | {"robot_status": "dreaming"}
    await robots._robots.update_one({"_id": f"acme/{member}"}, {"$set": {"robot": json.dumps(newer)}})


async def test_a_robot_that_can_not_be_read_hides_no_other_of_its_team(robots: RobotRecords) -> None:  # noqa: F811  # the fixture
    for member in ("newer", "ours"):
        await robots.insert(record(member))
    await made_newer(robots, "newer")
    for _ in range(2):
        shown, total = await robots.page("acme", page=1, page_size=10)
        assert ([robot.member_id for robot in shown], total) == (["ours"], 2)
        assert [each.robot.member_id for each in await robots.unsynced(10)] == ["ours"]
    assert await robots.unsynced(10, apart_from=[("acme", "ours")]) == []
    with pytest.raises(Unreadable):
        await robots.find("acme", "newer")


@pytest.mark.parametrize("kind", ["webhook", "database"])
async def test_events_reach_a_robot_whose_subscriptions_can_be_read(robots: RobotRecords, kind: str) -> None:  # noqa: F811  # the fixture
    for member in ("newer", "ours"):
        await robots.insert(record(member))
    await made_newer(robots, "newer")
    source = {"webhook": "leads", "database": "crm"}[kind]
    assert sorted(each.member for each in await robots.subscribers("acme", source, kind=kind)) == ["newer", "ours"]


@pytest.mark.integration
async def test_a_definition_that_another_version_put_is_replaced_by_a_newer_revision(nats: EmbeddedServer) -> None:
    service = Service("trigger-gateway", nats.url)
    await service.start()
    await service.started.wait()
    definitions, older = NatsDefinitions(service.bus), record("ann", rev=1).robot
    await definitions.put(older)
    bucket = await service.bus.jetstream.key_value(ROBOTS_BUCKET)
    newer = json.loads(older.model_dump_json()) | {"rev": 2, "robot_status": "dreaming"}
    await bucket.put(robot_key("acme", "ann"), json.dumps(newer).encode())
    await definitions.put(older)
    assert json.loads((await bucket.get(robot_key("acme", "ann"))).value or b"")["robot_status"] == "dreaming"
    await definitions.put(record("ann", rev=3).robot)
    assert json.loads((await bucket.get(robot_key("acme", "ann"))).value or b"")["rev"] == 3
    await service.stop(1)
