"""What a run wants is merged into another that waits for its first slot (SC-13)."""

from rota_common.testing.crash import crash
from rota_common.testing.samples import MEMBER, TEAM, SetClock, a_robot
from rota_contracts import catalog
from rota_contracts.ids import execution_id
from rota_contracts.messages.goal_merge import ListWaiting, MergeInto, Waiting
from rota_contracts.messages.trigger import Message
from tests.integration.scheduler.clock_harness import (
    HALF_HOURLY,
    QUICK,
    START,
    a_clocked,
    armed,
    minutes,
    requests,
    tid,
)
from tests.integration.scheduler.harness import World

ONE = {"quota": {"max": 1, "queue": 5}}


async def waiting(world: World, *, team: str = TEAM, member: str = MEMBER, limit: int = 10) -> list[Waiting]:
    question = ListWaiting(team_id=team, member_id=member, limit=limit)
    return (await world.executor.ask(catalog.LIST_WAITING, question)).waiting


async def merge(
    world: World,
    trigger_id: str,
    goals: str = "Look at Initech too",
    *,
    merge_id: str = "m1",
    team: str = TEAM,
    member: str = MEMBER,
) -> bool:
    question = MergeInto(
        team_id=team, member_id=member, execution_id=execution_id(trigger_id), merge_id=merge_id, goals=goals
    )
    return (await world.executor.ask(catalog.MERGE_INTO, question)).done


async def two_wait(world: World) -> None:
    """t1 has its slot; a person's t2 and an event's t3 wait."""
    await world.trigger("t1")
    await world.slots(1)
    for number, kind in ((2, "human"), (3, "event")):
        await world.trigger(f"t{number}", kind)
        await world.admitted(number)


async def test_what_waits_for_its_first_slot_is_listed_the_oldest_first(world: World) -> None:  # SC-13
    clock = SetClock(START)
    async with world.scheduler(clock=clock, **QUICK):
        await world.keep(a_clocked(HALF_HOURLY, quota=ONE["quota"]))
        await armed(world, minutes(30)[0])
        await world.trigger("t1")
        await world.slots(1)
        for number, kind in ((2, "human"), (3, "event")):
            clock.forward(1)
            await world.trigger(f"t{number}", kind)
            await world.admitted(number)
        clock.at = minutes(30)[0]
        await world.admitted(4)
        listed = await waiting(world)
        assert await waiting(world, limit=1) == listed[:1]
        assert await waiting(world, team="globex") == await waiting(world, member="bob") == []
        await world.parked("t1")
        await world.slots(2)
        await world.resumable("t1")
        await world.until("queued", "t1")
        later = [each.execution_id for each in await waiting(world)]
    assert [each.execution_id for each in listed] == [execution_id(name) for name in ("t2", "t3", tid(minutes(30)[0]))]
    assert [each.about for each in listed] == [
        "a person: Look at Globex",
        "leads: lead.created",
        "the clock, due at 2036-03-03T12:30:00+00:00",
    ]
    assert execution_id("t1") not in later  # it waits, and has begun
    assert set(later) <= {each.execution_id for each in listed}


async def test_what_is_merged_twice_under_one_id_is_said_once(world: World) -> None:  # SC-13
    await world.keep(a_robot(config=ONE))
    async with world.scheduler():
        await two_wait(world)
        assert [await merge(world, "t2"), await merge(world, "t2")] == [True, True]
        assert await merge(world, "t2", "And at Hooli", merge_id="m2")
        await world.finished("t1")
        await world.slots(2)
    (request,) = [each for each in await requests(world) if each.trigger_id == "t2"]
    assert [message.text() for message in request.input.messages] == [
        "Look at Globex",
        "Look at Initech too",
        "And at Hooli",
    ]
    assert isinstance(request.input.messages[1], Message)
    assert request.input.messages[1].role == "user"


async def test_the_words_are_still_there_when_another_scheduler_gives_the_slot(world: World) -> None:  # SC-13 F3
    await world.keep(a_robot(config=ONE))
    first = await world.start()
    await two_wait(world)
    assert await merge(world, "t3")
    await crash(first.service)
    async with world.scheduler():
        assert await merge(world, "t3")  # asked again, as its answer was lost
        for number, name in enumerate(("t1", "t2"), 2):
            await world.finished(name)
            await world.slots(number)
    request = (await requests(world))[2]
    assert (request.trigger_id, [message.text() for message in request.input.messages]) == (
        "t3",
        ["Look at Initech too"],
    )


async def test_what_has_its_slot_or_is_unknown_takes_nothing_more(world: World) -> None:  # SC-13
    await world.keep(a_robot(config=ONE))
    async with world.scheduler():
        await two_wait(world)
        refused = [
            await merge(world, "t1"),
            await merge(world, "t9"),
            await merge(world, "t2", team="globex"),  # TG-23
            await merge(world, "t2", member="bob"),
        ]
        await world.parked("t1")
        await world.slots(2)
        await world.resumable("t1")
        await world.until("queued", "t1")
        refused.append(await merge(world, "t1"))  # it has begun, and is the executor's
        await world.finished("t2")
        await world.until("done", "t2")
        refused.append(await merge(world, "t2"))
    assert refused == [False] * 6
    assert all(
        message.text() != "Look at Initech too" for each in await requests(world) for message in each.input.messages
    )


async def test_what_was_merged_before_it_got_its_slot_is_merged_whoever_asks_again(world: World) -> None:  # SC-13
    await world.keep(a_robot(config=ONE))
    async with world.scheduler():
        await two_wait(world)
        assert await merge(world, "t2")
        await world.finished("t1")
        await world.slots(2)
        assert await merge(world, "t2")
        assert not await merge(world, "t2", merge_id="m2")
