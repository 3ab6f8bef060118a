"""Parking and cancelling."""

from rota_common.testing.chaos import twice
from rota_common.testing.samples import a_robot
from rota_contracts import catalog
from rota_contracts.ids import execution_id
from rota_contracts.messages.control import WithdrawReply
from rota_contracts.messages.execution import TriggerState
from rota_contracts.messages.trigger import RejectReason
from tests.integration.scheduler.harness import Harness

ONE = {"quota": {"max": 1, "queue": 3}}


async def test_reports_that_come_doubled_and_late_make_one_grant_each(harness: Harness) -> None:
    async with harness.scheduler(middlewares=[twice]):
        await harness.trigger("t1")
        await harness.slots(1)
        for parks in (1, 2, 3):
            await harness.resumable("t1", parks)
            await harness.grants(1 + parks)
            await harness.parked("t1", parks)
            await harness.parked("t1", parks, again=1)
            await harness.resumable("t1", parks, again=1)
        await harness.started("t1", grant=3)
        await harness.until("running", "t1")
    assert [fact.grant for fact in await harness.facts(catalog.EXECUTION_REQUESTED)] == [0, 1, 2, 3]


async def test_a_cancelled_execution_is_published_as_rejected(harness: Harness) -> None:  # TG-16
    await harness.keep(a_robot(config=ONE))
    async with harness.scheduler():
        await harness.trigger("t0")
        await harness.slots(1)
        for number in range(1, 4):
            await harness.trigger(f"t{number}")
            await harness.admitted(number + 1)
        one = await harness.withdraw(execution_id=execution_id("t1"))
        assert one == WithdrawReply(execution_ids=[execution_id("t1")])
        answer = await harness.withdraw(member_id="ann")
        assert set(answer.execution_ids) == {execution_id(f"t{number}") for number in (1, 2, 3)}
        assert answer.admitted == [execution_id("t0")]
        await harness.rejected(3)
        assert (await harness.read("t2")).state is TriggerState.REJECTED
    facts = await harness.facts(catalog.TRIGGER_REJECTED)
    assert {(fact.reason, fact.message) for fact in facts} == {
        (RejectReason.STOPPED, "it was stopped before it began: enough")
    }
    assert len(facts) == 3
    assert await harness.given_slots() == ["t0"]


async def test_whichever_replica_is_asked_the_dispatcher_cancels(harness: Harness) -> None:  # TG-16
    await harness.keep(a_robot(config=ONE))
    async with harness.scheduler(), harness.scheduler(), harness.scheduler():
        await harness.trigger("t0")
        await harness.slots(1)
        for number in range(1, 7):
            await harness.trigger(f"t{number}")
            await harness.until("queued", f"t{number}")
            answer = await harness.withdraw(execution_id=execution_id(f"t{number}"))
            assert answer.execution_ids == [execution_id(f"t{number}")]
        await harness.rejected(6)
    assert await harness.given_slots() == ["t0"]


async def test_what_an_execution_id_asks_for_is_its_trigger(harness: Harness) -> None:
    async with harness.scheduler():
        await harness.trigger("t1")
        await harness.admitted(1)
        read = await harness.read("", execution_id=execution_id("t1"))
    assert (read.trigger_id, read.execution_id) == ("t1", execution_id("t1"))
