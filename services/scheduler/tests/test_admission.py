"""From a trigger to a slot."""

import pytest

from rota_common.testing.chaos import twice
from rota_common.testing.samples import a_robot
from rota_contracts import catalog
from rota_contracts.ids import execution_id
from rota_contracts.messages.execution import ExecStatus, TriggerState
from rota_contracts.messages.trigger import RejectReason
from tests.integration.scheduler.harness import Harness


async def test_a_message_that_is_handled_twice_makes_one_request(harness: Harness) -> None:  # SC-12
    async with harness.scheduler(middlewares=[twice]):
        for number in range(4):
            await harness.trigger(f"t{number}")
        await harness.slots(2)
        await harness.finished("t0")
        await harness.slots(3)
    assert sorted(await harness.given_slots()) == ["t0", "t1", "t2"]
    assert len(await harness.facts(catalog.TRIGGER_ADMITTED)) == 4


async def test_a_trigger_that_was_sent_twice_makes_one_execution(harness: Harness) -> None:  # SC-12, DEC-29
    async with harness.scheduler():
        await harness.trigger("t1")
        await harness.slots(1)
        await harness.finished("t1")
        await harness.trigger("t1", again=1)
        await harness.trigger("t2")
        await harness.slots(2)
    assert await harness.given_slots() == ["t1", "t2"]


@pytest.mark.parametrize(
    ("robot", "trigger", "reason"),
    [
        ({}, {"member_id": "missing"}, RejectReason.NO_ROBOT),
        ({"deleted": True}, {}, RejectReason.NO_ROBOT),
        ({"autonomous_mode": False}, {}, RejectReason.NOT_AUTONOMOUS),
        ({"robot_status": "paused"}, {"type": "human"}, RejectReason.NOT_ACTIVE),
        ({"config": {"triggers": {"event": {"enabled": False}}}}, {}, RejectReason.TRIGGER_DISABLED),
        (
            {"config": {"triggers": {"intervene": {"actions": ["instruct"]}}}},
            {"type": "human"},
            RejectReason.ACTION_NOT_ALLOWED,
        ),
    ],
)
async def test_a_trigger_that_starts_nothing_is_rejected_for_all_to_see(
    harness: Harness, robot: dict[str, object], trigger: dict[str, str], reason: RejectReason
) -> None:  # TG-03 TG-04 TG-05
    await harness.keep(a_robot(**robot))  # type: ignore[arg-type]  # fields of a robot
    async with harness.scheduler():
        await harness.trigger("t1", **trigger)
        await harness.rejected(1)
        read = await harness.read("t1")
    (fact,) = await harness.facts(catalog.TRIGGER_REJECTED)
    assert (fact.reason, fact.trigger_id) == (reason, "t1")
    assert (read.state, read.message, read.execution_id) == (TriggerState.REJECTED, fact.message, None)
    assert await harness.given_slots() == []


async def test_a_full_queue_rejects_with_its_numbers(harness: Harness) -> None:  # SC-10
    await harness.keep(a_robot(config={"quota": {"max": 1, "queue": 2}}))
    async with harness.scheduler():
        for number in range(5):
            await harness.trigger(f"t{number}", "human")
            await harness.slots(1)
        await harness.rejected(2)
        await harness.admitted(3)
        await harness.slots(1)
        read = [(await harness.read(f"t{number}")).state for number in range(5)]
    assert sorted(read) == ["admitted", "queued", "queued", "rejected", "rejected"]
    facts = await harness.facts(catalog.TRIGGER_REJECTED)
    assert {fact.reason for fact in facts} == {RejectReason.QUEUE_FULL}


async def test_an_end_gives_the_slot_to_the_next(harness: Harness) -> None:  # SC-10 SC-11
    async with harness.scheduler():
        for number in range(6):
            await harness.trigger(f"t{number}")
        for number in range(4):
            ready = await harness.slots(2 + number)
            assert len(ready) == 2 + number  # never more than two at once
            await harness.started((await harness.given_slots())[number])
            await harness.finished((await harness.given_slots())[number])
        await harness.slots(6)
    assert sorted(await harness.given_slots()) == [f"t{number}" for number in range(6)]


async def test_the_pool_is_shared_by_all_robots(harness: Harness) -> None:  # SC-09
    names = ["ann", "bob", "cid", "dot"]
    for name in names:
        await harness.keep(a_robot(member_id=name))
    async with harness.scheduler(pool=3):
        for number in range(2):
            for name in names:
                await harness.trigger(f"{name}-{number}", member_id=name)
        done = 0
        while done < 8:
            assert len(await harness.slots(min(done + 3, 8))) == min(done + 3, 8)  # never more than three
            given = (await harness.given_slots())[done]
            await harness.finished(given, member=given.split("-")[0])
            done += 1
    assert sorted(await harness.given_slots()) == sorted(f"{name}-{number}" for name in names for number in range(2))


async def test_a_trigger_can_be_followed(harness: Harness) -> None:
    await harness.keep(a_robot(config={"quota": {"max": 1}}))
    async with harness.scheduler():
        assert (await harness.read("t1")).state is TriggerState.UNKNOWN
        await harness.trigger("t1")
        await harness.slots(1)
        await harness.trigger("t2")
        await harness.admitted(2)
        assert [(await harness.read(name)).state for name in ("t1", "t2")] == ["admitted", "queued"]
        await harness.started("t1")
        while (await harness.read("t1")).state is TriggerState.ADMITTED:
            pass
        assert (await harness.read("t1")).state is TriggerState.RUNNING
        await harness.finished("t1", status="failed")
        await harness.slots(2)
        last = await harness.read("t1")
    assert (last.state, last.status, last.execution_id) == (TriggerState.DONE, ExecStatus.FAILED, execution_id("t1"))


async def test_a_team_sees_its_own_triggers_only(harness: Harness) -> None:  # TG-23
    async with harness.scheduler():
        await harness.trigger("t1")
        await harness.admitted(1)
        theirs = await harness.read("t1", team="initech")
    assert (theirs.state, theirs.execution_id) == (TriggerState.UNKNOWN, None)


async def test_what_waits_for_a_deleted_robot_is_rejected(harness: Harness) -> None:  # TG-20
    async with harness.scheduler():
        for number in range(5):
            await harness.trigger(f"t{number}")
        await harness.admitted(5)
        await harness.slots(2)
        await harness.keep(a_robot(deleted=True, rev=2))
        await harness.delete()
        await harness.rejected(3)
        states = [(await harness.read(f"t{number}")).state for number in range(5)]
    assert sorted(states) == ["admitted", "admitted", "rejected", "rejected", "rejected"]
    facts = await harness.facts(catalog.TRIGGER_REJECTED)
    assert {fact.reason for fact in facts} == {RejectReason.ROBOT_DELETED}
    assert len(await harness.given_slots()) == 2
