"""Parking and taking back, over a real bus and a real database."""

import asyncio

from rota_common.testing.bus import stored
from rota_common.testing.chaos import twice
from rota_common.testing.crash import crash
from rota_common.testing.samples import a_robot
from rota_contracts import catalog
from rota_contracts.ids import execution_id
from rota_contracts.messages.control import WithdrawReply
from rota_contracts.messages.execution import TriggerState
from rota_contracts.messages.trigger import RejectReason
from tests.integration.scheduler.harness import World

ONE = {"quota": {"max": 1, "queue": 3}}


async def test_what_waits_for_a_person_gives_its_slot_away_and_gets_one_again(world: World) -> None:  # SC-10
    await world.keep(a_robot(config=ONE))
    async with world.scheduler():
        await world.trigger("t1")
        await world.slots(1)
        await world.started("t1")
        await world.trigger("t2")
        await world.parked("t1")
        assert await world.grants(2) == [("t1", 0), ("t2", 0)]
        read = await world.until("parked", "t1")
        assert read.message.startswith("it waits for a person's answer")
        await world.resumable("t1")
        await world.until("queued", "t1")
        await world.finished("t2")
        assert await world.grants(3) == [("t1", 0), ("t2", 0), ("t1", 1)]
        await world.started("t1", grant=1)
        await world.until("running", "t1")
        await world.finished("t1")
        await world.until("done", "t1")
    requests = await stored(world.nats_url, catalog.EXECUTION_REQUESTED)
    assert len({request.id for request in requests}) == len(requests) == 3


async def test_reports_that_come_doubled_and_late_make_one_grant_each(world: World) -> None:
    async with world.scheduler(middlewares=[twice]):
        await world.trigger("t1")
        await world.slots(1)
        for parks in (1, 2, 3):
            await world.resumable("t1", parks)
            await world.grants(1 + parks)
            await world.parked("t1", parks)
            await world.parked("t1", parks, again=1)
            await world.resumable("t1", parks, again=1)
        await world.started("t1", grant=3)
        await world.until("running", "t1")
    assert [fact.grant for fact in await world.facts(catalog.EXECUTION_REQUESTED)] == [0, 1, 2, 3]


async def test_a_grant_survives_a_dispatcher_that_is_killed(world: World) -> None:
    first = await world.start()
    await world.trigger("t1")
    await world.slots(1)
    await world.parked("t1")
    await world.until("parked", "t1")
    await crash(first.service)
    async with world.scheduler():
        await world.resumable("t1")
        assert await world.grants(2) == [("t1", 0), ("t1", 1)]
    async with world.scheduler(republish_after=0.5):
        sent = await world.requests.heard()
        while len({(each.headers or {})["Nats-Msg-Id"] for each in sent}) < 3:  # nobody has taken it up
            sent = await world.requests.heard(len(sent) + 1)
        await world.started("t1", grant=1)
        await world.until("running", "t1")
    assert len({(each.headers or {})["ce-id"] for each in sent}) == 2


async def test_what_waits_is_taken_back_for_all_to_see(world: World) -> None:  # TG-16
    await world.keep(a_robot(config=ONE))
    async with world.scheduler():
        await world.trigger("t0")
        await world.slots(1)
        for number in range(1, 4):
            await world.trigger(f"t{number}")
            await world.admitted(number + 1)
        one = await world.withdraw(execution_id=execution_id("t1"))
        assert one == WithdrawReply(execution_ids=[execution_id("t1")])
        answer = await world.withdraw(member_id="ann")
        assert set(answer.execution_ids) == {execution_id(f"t{number}") for number in (1, 2, 3)}
        assert answer.admitted == [execution_id("t0")]
        await world.rejected(3)
        assert (await world.read("t2")).state is TriggerState.REJECTED
    facts = await world.facts(catalog.TRIGGER_REJECTED)
    assert {(fact.reason, fact.message) for fact in facts} == {
        (RejectReason.STOPPED, "it was stopped before it began: enough")
    }
    assert len(facts) == 3
    assert await world.given_slots() == ["t0"]


async def test_whichever_replica_is_asked_the_dispatcher_takes_back(world: World) -> None:  # TG-16
    await world.keep(a_robot(config=ONE))
    async with world.scheduler(), world.scheduler(), world.scheduler():
        await world.trigger("t0")
        await world.slots(1)
        for number in range(1, 7):
            await world.trigger(f"t{number}")
            await world.until("queued", f"t{number}")
            answer = await world.withdraw(execution_id=execution_id(f"t{number}"))
            assert answer.execution_ids == [execution_id(f"t{number}")]
        await world.rejected(6)
    assert await world.given_slots() == ["t0"]


async def test_a_taking_back_that_was_not_told_is_told_by_the_successor(world: World) -> None:
    await world.keep(a_robot(config=ONE))
    first = await world.start()
    await world.trigger("t0")
    await world.slots(1)
    await world.trigger("t1")
    await world.admitted(2)
    publish, stuck = first.service.bus.jetstream.publish, asyncio.Event()

    async def held(subject: str, *args: object, **given: object) -> object:
        if subject.startswith(catalog.TRIGGER_REJECTED.type):
            stuck.set()
            await asyncio.Event().wait()
        return await publish(subject, *args, **given)

    first.service.bus.jetstream.publish = held
    asking = asyncio.create_task(world.withdraw())
    await stuck.wait()
    await crash(first.service)
    asking.cancel()
    async with world.scheduler():
        assert await world.rejected(1) == ["t1"]


async def test_what_an_execution_id_asks_for_is_its_trigger(world: World) -> None:
    async with world.scheduler():
        await world.trigger("t1")
        await world.admitted(1)
        read = await world.read("", execution_id=execution_id("t1"))
    assert (read.trigger_id, read.execution_id) == ("t1", execution_id("t1"))
