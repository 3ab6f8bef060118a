"""Taking back what waits for a slot."""

import asyncio
from typing import Any

import pytest
from services.scheduler.tests.harness import Harness, parked, resumable, started

from rota_common.errors import Transient
from rota_common.testing.samples import TEAM, a_robot, a_trigger
from rota_contracts.ids import execution_id
from rota_contracts.messages.control import Withdraw, WithdrawReply
from rota_contracts.messages.trigger import RejectReason
from scheduler.domain.queue import EntryState


def eids(*trigger_ids: str) -> list[str]:
    return sorted(execution_id(each) for each in trigger_ids)


def scope(**fields: Any) -> Withdraw:
    return Withdraw(**{"team_id": TEAM, "reason": "wrong customer", **fields})


async def test_queued_executions_are_cancelled_and_admitted_ones_are_named() -> None:  # TG-16
    async with Harness().open() as harness:
        await harness.take(*(a_trigger(f"t{n}") for n in range(5)))
        await harness.take(started("t0"))
        answer = await harness.withdraw(scope(member_id="ann"))
        states = [await harness.state(f"t{n}") for n in range(5)]
    assert answer == WithdrawReply(execution_ids=eids("t2", "t3", "t4"), admitted=eids("t1"))
    assert states == ["running", "admitted", "rejected", "rejected", "rejected"]
    assert sorted(harness.published.rejected) == [(each, RejectReason.STOPPED) for each in ("t2", "t3", "t4")]


async def test_the_message_holds_the_reason() -> None:
    async with Harness().open() as harness:
        await harness.take(*(a_trigger(f"t{n}") for n in range(3)))
        await harness.withdraw(scope(execution_id=execution_id("t2")))
        stored = (await harness.queue.stored(eids("t2")))[execution_id("t2")]
    assert stored.refusal is not None
    assert stored.refusal.message == "it was stopped before it began: wrong customer"


async def test_one_execution_is_cancelled_and_no_other() -> None:  # TG-16
    async with Harness().open() as harness:
        await harness.take(*(a_trigger(f"t{n}") for n in range(4)))
        answer = await harness.withdraw(scope(execution_id=execution_id("t2")))
        assert (answer.execution_ids, answer.admitted) == (eids("t2"), [])
        assert await harness.state("t3") is EntryState.QUEUED


async def test_a_team_cancels_its_own_executions_only() -> None:  # TG-23
    async with Harness(pool=1).open() as harness:
        harness.robots.kept["bob"] = a_robot(member_id="bob")
        theirs = a_trigger("x1", team_id="initech")
        await harness.take(a_trigger("t0"), a_trigger("t1"), a_trigger("t2", member_id="bob"), theirs)
        assert (await harness.withdraw(scope(member_id="bob"))).execution_ids == eids("t2")
        assert (await harness.withdraw(scope())).execution_ids == eids("t1", "t2")
        assert await harness.state("x1") is EntryState.QUEUED
        assert (await harness.withdraw(scope(execution_id=execution_id("x1")))) == WithdrawReply()


async def test_a_repeated_request_has_the_same_reply() -> None:
    async with Harness().open() as harness:
        await harness.take(*(a_trigger(f"t{n}") for n in range(4)))
        answers = [await harness.withdraw(scope(member_id="ann")) for _ in range(2)]
        assert answers[0] == answers[1]
        harness.clock.forward(61)
        await harness.queue.acquire("first")
        assert (await harness.withdraw(scope(member_id="ann"))).execution_ids == []
        assert (await harness.withdraw(scope(execution_id=execution_id("t2")))).execution_ids == eids("t2")


async def test_a_trigger_that_arrives_with_the_request_is_cancelled_too() -> None:
    async with Harness().open() as harness:
        taking = asyncio.create_task(harness.take(a_trigger("t1")))
        await asyncio.sleep(0)
        answer = await harness.withdraw(scope())
        await taking
    assert answer.execution_ids == eids("t1")
    assert (harness.published.requested_ids, harness.published.rejected) == ([], [("t1", RejectReason.STOPPED)])


async def test_what_has_begun_is_the_executors_to_stop() -> None:
    async with Harness(pool=1).open() as harness:
        await harness.take(a_trigger("t0"))
        await harness.take(parked("t0"))
        await harness.take(a_trigger("t1"))
        assert await harness.withdraw(scope()) == WithdrawReply(admitted=eids("t1"))
        await harness.take(resumable("t0"))
        assert await harness.withdraw(scope()) == WithdrawReply(admitted=eids("t1"))
        assert await harness.state("t0") is EntryState.QUEUED


async def test_a_free_slot_goes_to_an_entry_that_is_left() -> None:
    async with Harness(pool=1).open() as harness:
        harness.robots.kept["bob"] = a_robot(member_id="bob")
        await harness.take(a_trigger("t0"), a_trigger("t1"), a_trigger("t2", member_id="bob"))
        await harness.withdraw(scope(execution_id=execution_id("t1")))
        await harness.take(parked("t0"))
        assert [await harness.state(f"t{n}") for n in range(3)] == ["parked", "rejected", "admitted"]


async def test_without_a_dispatcher_the_request_fails_and_may_be_repeated() -> None:
    harness = Harness()
    with pytest.raises(Transient, match="no replica dispatches"):
        await harness.withdraw(scope())
