"""Goals of a run, merged into another that waits for its first slot (SC-13)."""

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
from tests.integration.scheduler.harness import Harness

ONE = {"quota": {"max": 1, "queue": 5}}


async def waiting(harness: Harness, *, team: str = TEAM, member: str = MEMBER, limit: int = 10) -> list[Waiting]:
    question = ListWaiting(team_id=team, member_id=member, limit=limit)
    return (await harness.executor.ask(catalog.LIST_WAITING, question)).waiting


async def merge(
    harness: Harness,
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
    return (await harness.executor.ask(catalog.MERGE_INTO, question)).done


async def two_wait(harness: Harness) -> None:
    """t1 has its slot; a person's t2 and an event's t3 wait."""
    await harness.trigger("t1")
    await harness.slots(1)
    for number, kind in ((2, "human"), (3, "event")):
        await harness.trigger(f"t{number}", kind)
        await harness.admitted(number)


async def test_what_waits_for_its_first_slot_is_listed_the_oldest_first(harness: Harness) -> None:  # SC-13
    clock = SetClock(START)
    async with harness.scheduler(clock=clock, **QUICK):
        await harness.keep(a_clocked(HALF_HOURLY, quota=ONE["quota"]))
        await armed(harness, minutes(30)[0])
        await harness.trigger("t1")
        await harness.slots(1)
        for number, kind in ((2, "human"), (3, "event")):
            clock.forward(1)
            await harness.trigger(f"t{number}", kind)
            await harness.admitted(number)
        clock.at = minutes(30)[0]
        await harness.admitted(4)
        listed = await waiting(harness)
        assert await waiting(harness, limit=1) == listed[:1]
        assert await waiting(harness, team="globex") == await waiting(harness, member="bob") == []
        await harness.parked("t1")
        await harness.slots(2)
        await harness.resumable("t1")
        await harness.until("queued", "t1")
        later = [each.execution_id for each in await waiting(harness)]
    assert [each.execution_id for each in listed] == [execution_id(name) for name in ("t2", "t3", tid(minutes(30)[0]))]
    assert [each.about for each in listed] == [
        "a person: Look at Globex",
        "leads: lead.created",
        "the clock, due at 2036-03-03T12:30:00+00:00",
    ]
    assert execution_id("t1") not in later  # it waits, and has begun
    assert set(later) <= {each.execution_id for each in listed}


async def test_goals_merged_twice_under_one_id_are_added_once(harness: Harness) -> None:  # SC-13
    await harness.keep(a_robot(config=ONE))
    async with harness.scheduler():
        await two_wait(harness)
        assert [await merge(harness, "t2"), await merge(harness, "t2")] == [True, True]
        assert await merge(harness, "t2", "And at Hooli", merge_id="m2")
        await harness.finished("t1")
        await harness.slots(2)
    (request,) = [each for each in await requests(harness) if each.trigger_id == "t2"]
    assert [message.text() for message in request.input.messages] == [
        "Look at Globex",
        "Look at Initech too",
        "And at Hooli",
    ]
    assert isinstance(request.input.messages[1], Message)
    assert request.input.messages[1].role == "user"


async def test_merged_goals_survive_a_change_of_the_dispatcher(harness: Harness) -> None:  # SC-13 F3
    await harness.keep(a_robot(config=ONE))
    first = await harness.start()
    await two_wait(harness)
    assert await merge(harness, "t3")
    await harness.end(first.service)
    async with harness.scheduler():
        assert await merge(harness, "t3")  # asked again, as its answer was lost
        for number, name in enumerate(("t1", "t2"), 2):
            await harness.finished(name)
            await harness.slots(number)
    request = (await requests(harness))[2]
    assert (request.trigger_id, [message.text() for message in request.input.messages]) == (
        "t3",
        ["Look at Initech too"],
    )


async def test_what_has_its_slot_or_is_unknown_takes_nothing_more(harness: Harness) -> None:  # SC-13
    await harness.keep(a_robot(config=ONE))
    async with harness.scheduler():
        await two_wait(harness)
        refused = [
            await merge(harness, "t1"),
            await merge(harness, "t9"),
            await merge(harness, "t2", team="globex"),  # TG-23
            await merge(harness, "t2", member="bob"),
        ]
        await harness.parked("t1")
        await harness.slots(2)
        await harness.resumable("t1")
        await harness.until("queued", "t1")
        refused.append(await merge(harness, "t1"))  # it has begun, and is the executor's
        await harness.finished("t2")
        await harness.until("done", "t2")
        refused.append(await merge(harness, "t2"))
    assert refused == [False] * 6
    assert all(
        message.text() != "Look at Initech too" for each in await requests(harness) for message in each.input.messages
    )


async def test_a_merge_before_the_slot_is_confirmed_when_it_is_asked_again(harness: Harness) -> None:  # SC-13
    await harness.keep(a_robot(config=ONE))
    async with harness.scheduler():
        await two_wait(harness)
        assert await merge(harness, "t2")
        await harness.finished("t1")
        await harness.slots(2)
        assert await merge(harness, "t2")
        assert not await merge(harness, "t2", merge_id="m2")
