"""From a trigger to a slot, over a real bus and a real database."""

import pytest

from rota_common.testing.bus import stored
from rota_common.testing.chaos import twice
from rota_common.testing.samples import a_robot
from rota_contracts import catalog
from rota_contracts.ids import execution_id
from rota_contracts.messages.execution import ExecStatus, TriggerState
from rota_contracts.messages.trigger import RejectReason
from rota_contracts.streams import ROBOTS_BUCKET
from tests.integration.scheduler.harness import World


async def test_a_trigger_becomes_a_request_for_an_execution(world: World) -> None:  # TG-05 SC-11
    async with world.scheduler():
        await world.trigger("t1", locale="fr-FR")
        await world.slots(1)
        await world.admitted(1)
    (request,) = await stored(world.nats_url, catalog.EXECUTION_REQUESTED)
    (admitted,) = await stored(world.nats_url, catalog.TRIGGER_ADMITTED)
    left = await world.gateway.bus.jetstream.stream_info("TRIGGERS")
    assert left.state.messages == 0  # a work queue: what was dealt with is gone
    assert request.data.execution_id == admitted.data.execution_id == execution_id("t1")
    assert (request.data.trigger.locale, admitted.data.trigger_id) == ("fr-FR", "t1")
    assert request.traceparent.split("-")[1] == admitted.traceparent.split("-")[1]


async def test_a_message_that_is_handled_twice_makes_one_request(world: World) -> None:  # SC-12
    async with world.scheduler(middlewares=[twice]):
        for number in range(4):
            await world.trigger(f"t{number}")
        await world.slots(2)
        await world.finished("t0")
        await world.slots(3)
    assert sorted(await world.given_slots()) == ["t0", "t1", "t2"]
    assert len(await world.facts(catalog.TRIGGER_ADMITTED)) == 4


async def test_a_trigger_that_was_sent_twice_makes_one_execution(world: World) -> None:  # SC-12, DEC-29
    async with world.scheduler():
        await world.trigger("t1")
        await world.slots(1)
        await world.finished("t1")
        await world.trigger("t1", again=1)
        await world.trigger("t2")
        await world.slots(2)
    assert await world.given_slots() == ["t1", "t2"]


@pytest.mark.parametrize(
    ("robot", "trigger", "reason"),
    [
        ({}, {"member_id": "nobody"}, RejectReason.NO_ROBOT),
        ({"deleted": True}, {}, RejectReason.NO_ROBOT),
        ({"autonomous_mode": False}, {}, RejectReason.NOT_AUTONOMOUS),
        ({"robot_status": "paused"}, {}, RejectReason.NOT_ACTIVE),
        ({"config": {"triggers": {"event": {"enabled": False}}}}, {}, RejectReason.TRIGGER_DISABLED),
        (
            {"config": {"triggers": {"intervene": {"actions": ["instruct"]}}}},
            {"type": "human"},
            RejectReason.ACTION_NOT_ALLOWED,
        ),
    ],
)
async def test_a_trigger_that_starts_nothing_is_rejected_for_all_to_see(
    world: World, robot: dict[str, object], trigger: dict[str, str], reason: RejectReason
) -> None:  # TG-03 TG-04 TG-05
    await world.keep(a_robot(**robot))  # type: ignore[arg-type]  # fields of a robot
    async with world.scheduler():
        await world.trigger("t1", **trigger)
        await world.rejected(1)
        read = await world.read("t1")
    (fact,) = await world.facts(catalog.TRIGGER_REJECTED)
    assert (fact.reason, fact.trigger_id) == (reason, "t1")
    assert (read.state, read.message, read.execution_id) == (TriggerState.REJECTED, fact.message, None)
    assert await world.given_slots() == []


async def test_a_full_queue_says_so(world: World) -> None:  # SC-10
    await world.keep(a_robot(config={"quota": {"max": 1, "queue": 2}}))
    async with world.scheduler():
        for number in range(5):
            await world.trigger(f"t{number}")
        await world.rejected(2)
        await world.admitted(3)
        await world.slots(1)
        read = [(await world.read(f"t{number}")).state for number in range(5)]
    assert sorted(read) == ["admitted", "queued", "queued", "rejected", "rejected"]
    facts = await world.facts(catalog.TRIGGER_REJECTED)
    assert {fact.reason for fact in facts} == {RejectReason.QUEUE_FULL}


async def test_an_end_gives_the_slot_to_the_next(world: World) -> None:  # SC-10 SC-11
    async with world.scheduler():
        for number in range(6):
            await world.trigger(f"t{number}")
        for number in range(4):
            ready = await world.slots(2 + number)
            assert len(ready) == 2 + number  # never more than two at once
            await world.started((await world.given_slots())[number])
            await world.finished((await world.given_slots())[number])
        await world.slots(6)
    assert sorted(await world.given_slots()) == [f"t{number}" for number in range(6)]


async def test_the_pool_is_shared_by_all_robots(world: World) -> None:  # SC-09
    names = ["ann", "bob", "cid", "dot"]
    for name in names:
        await world.keep(a_robot(member_id=name))
    async with world.scheduler(pool=3):
        for number in range(2):
            for name in names:
                await world.trigger(f"{name}-{number}", member_id=name)
        done = 0
        while done < 8:
            assert len(await world.slots(min(done + 3, 8))) == min(done + 3, 8)  # never more than three
            given = (await world.given_slots())[done]
            await world.finished(given, member=given.split("-")[0])
            done += 1
    assert sorted(await world.given_slots()) == sorted(f"{name}-{number}" for name in names for number in range(2))


async def test_a_trigger_can_be_followed(world: World) -> None:
    await world.keep(a_robot(config={"quota": {"max": 1}}))
    async with world.scheduler():
        assert (await world.read("t1")).state is TriggerState.UNKNOWN
        await world.trigger("t1")
        await world.slots(1)
        await world.trigger("t2")
        await world.admitted(2)
        assert [(await world.read(name)).state for name in ("t1", "t2")] == ["admitted", "queued"]
        await world.started("t1")
        while (await world.read("t1")).state is TriggerState.ADMITTED:
            pass
        assert (await world.read("t1")).state is TriggerState.RUNNING
        await world.finished("t1", status="failed")
        await world.slots(2)
        last = await world.read("t1")
    assert (last.state, last.status, last.execution_id) == (TriggerState.DONE, ExecStatus.FAILED, execution_id("t1"))


async def test_a_team_sees_its_own_triggers_only(world: World) -> None:  # TG-23
    async with world.scheduler():
        await world.trigger("t1")
        await world.admitted(1)
        theirs = await world.read("t1", team="initech")
    assert (theirs.state, theirs.execution_id) == (TriggerState.UNKNOWN, None)


async def test_what_waits_for_a_deleted_robot_is_rejected(world: World) -> None:  # TG-20
    async with world.scheduler():
        for number in range(5):
            await world.trigger(f"t{number}")
        await world.admitted(5)
        await world.slots(2)
        await world.keep(a_robot(deleted=True, rev=2))
        await world.delete()
        await world.rejected(3)
        states = [(await world.read(f"t{number}")).state for number in range(5)]
    assert sorted(states) == ["admitted", "admitted", "rejected", "rejected", "rejected"]
    facts = await world.facts(catalog.TRIGGER_REJECTED)
    assert {fact.reason for fact in facts} == {RejectReason.ROBOT_DELETED}
    assert len(await world.given_slots()) == 2


async def test_a_definition_that_can_not_be_read_harms_its_own_robot_only(world: World) -> None:
    bucket = await world.gateway.bus.jetstream.key_value(ROBOTS_BUCKET)
    await bucket.put("acme.broken", b'{"team_id": "acme"}')
    async with world.scheduler():
        for number in range(2):
            await world.trigger(f"broken-{number}", member_id="broken")
            await world.trigger(f"t{number}")
        await world.slots(2)
        assert (await world.read("broken-0")).state is TriggerState.UNKNOWN
    assert sorted(await world.given_slots()) == ["t0", "t1"]
