"""Runs that were due while no scheduler ran: made up for by the robot's policy, and published where not (SC-07)."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from prometheus_client import REGISTRY

from rota_common.testing.samples import SetClock
from rota_contracts import catalog
from rota_contracts.messages.trigger import TriggerMissedV1
from tests.integration.scheduler.clock_harness import (
    HALF_HOURLY,
    QUICK,
    START,
    a_clocked,
    armed,
    instants,
    minutes,
    published,
    requests,
    tid,
)
from tests.integration.scheduler.harness import Harness

FIVE_HOURS = timedelta(hours=5)
HALF_HOURS = minutes(*range(30, 301, 30))
"""What is due within five hours."""


async def outage(harness: Harness, span: timedelta, *, policy: str, **fields: Any) -> SetClock:
    """A robot has had its clock set when the last scheduler ended. The clock, so much later."""
    clock = SetClock(START)
    given: dict[str, Any] = {"clock": HALF_HOURLY} | fields
    async with harness.scheduler(clock=clock, **QUICK):
        await harness.keep(a_clocked(given.pop("clock"), catch_up=policy, **given))
        await armed(harness, START + timedelta(minutes=10 if fields.get("clock") else 30))
    clock.forward(span.total_seconds())
    return clock


def counting(reason: str) -> Callable[[], float]:
    """How many runs were missed for this reason from now on, by the metric."""

    def value() -> float:
        return REGISTRY.get_sample_value("rota_clock_missed_total", {"reason": reason}) or 0

    before = value()
    return lambda: value() - before


def summary_of(fact: TriggerMissedV1) -> tuple[Any, ...]:
    return fact.first, fact.last, fact.count, fact.reason


async def test_with_skip_nothing_is_made_up_for_and_the_next_run_is_on_time(harness: Harness) -> None:
    missed = counting("skipped")
    clock = await outage(harness, FIVE_HOURS + timedelta(minutes=10), policy="skip")
    async with harness.scheduler(clock=clock, **QUICK):
        (fact,) = await published(harness, catalog.TRIGGER_MISSED, 1)
        await armed(harness, minutes(330)[0])
        assert await instants(harness) == []
        clock.at = minutes(330)[0]
        await harness.slots(1)
        await armed(harness, minutes(360)[0])
    assert summary_of(fact) == (HALF_HOURS[0], HALF_HOURS[-1], 10, "skipped")
    assert "10 runs were due while nothing could be started" in fact.message
    assert fact.missed_at == minutes(310)[0]
    assert await instants(harness) == [minutes(330)[0]]
    assert missed() == 10


async def test_a_run_that_is_late_by_less_than_a_minute_is_on_time_whatever_the_policy(harness: Harness) -> None:
    clock = await outage(harness, FIVE_HOURS + timedelta(seconds=60), policy="skip")
    async with harness.scheduler(clock=clock, **QUICK):
        await harness.slots(1)
        (fact,) = await published(harness, catalog.TRIGGER_MISSED, 1)
    (request,) = await requests(harness)
    assert request.scheduled_at == request.input.clock.now == HALF_HOURS[-1]  # type: ignore[union-attr]  # all have one
    assert summary_of(fact) == (HALF_HOURS[0], HALF_HOURS[-2], 9, "skipped")


async def test_with_once_the_newest_makes_up_for_all(harness: Harness) -> None:
    missed = counting("superseded")
    clock = await outage(harness, FIVE_HOURS + timedelta(minutes=10), policy="once")
    async with harness.scheduler(clock=clock, **QUICK):
        await harness.slots(1)
        (fact,) = await published(harness, catalog.TRIGGER_MISSED, 1)
        await armed(harness, minutes(330)[0])
    (request,) = await requests(harness)
    assert request.scheduled_at == HALF_HOURS[-1]
    assert request.input.clock.now == minutes(310)[0]  # type: ignore[union-attr]  # what time it is, not what it was
    assert summary_of(fact) == (HALF_HOURS[0], HALF_HOURS[-2], 9, "superseded")
    assert "2036-03-03T17:00+00:00 makes up for them" in fact.message
    assert missed() == 9


async def test_with_once_a_run_that_is_on_time_makes_up_for_the_others(harness: Harness) -> None:
    clock = await outage(harness, FIVE_HOURS + timedelta(seconds=20), policy="once")
    async with harness.scheduler(clock=clock, **QUICK):
        await harness.slots(1)
        (fact,) = await published(harness, catalog.TRIGGER_MISSED, 1)
        await armed(harness, minutes(330)[0])
    assert await instants(harness) == [HALF_HOURS[-1]]
    assert summary_of(fact) == (HALF_HOURS[0], HALF_HOURS[-2], 9, "superseded")


async def test_with_once_what_is_too_old_is_not_made_up_for(harness: Harness) -> None:
    missed = counting("too_old")
    clock = await outage(harness, FIVE_HOURS + timedelta(minutes=10), policy="once 9m")
    async with harness.scheduler(clock=clock, **QUICK):
        (fact,) = await published(harness, catalog.TRIGGER_MISSED, 1)
        await armed(harness, minutes(330)[0])
    assert await instants(harness) == []
    assert summary_of(fact) == (HALF_HOURS[0], HALF_HOURS[-1], 10, "too_old")
    assert missed() == 10


async def test_with_all_each_goes_through_a_small_quota_in_order_and_none_is_rejected(
    harness: Harness,
) -> None:  # SC-10
    missed = counting("too_old")
    small = {"max": 1, "queue": 1}
    clock = await outage(harness, FIVE_HOURS + timedelta(minutes=10), policy="all 3h", quota=small)
    async with harness.scheduler(clock=clock, **QUICK):
        for number, due in enumerate(HALF_HOURS[4:], 1):
            assert len(await harness.slots(number)) == number
            await harness.finished(tid(due))
            clock.forward(2)  # a full robot is looked at again that much later
        await armed(harness, minutes(330)[0])
        (fact,) = await published(harness, catalog.TRIGGER_MISSED, 1)
        clock.at = minutes(330)[0]
        await harness.slots(7)
    assert await instants(harness) == [*HALF_HOURS[4:], minutes(330)[0]]
    assert summary_of(fact) == (HALF_HOURS[0], HALF_HOURS[3], 4, "too_old")
    assert await harness.facts(catalog.TRIGGER_REJECTED) == []
    assert missed() == 4


async def test_with_all_what_becomes_due_meanwhile_comes_after_what_is_made_up_for(harness: Harness) -> None:
    clock = await outage(harness, timedelta(minutes=85), policy="all", quota={"max": 1, "queue": 1})
    async with harness.scheduler(clock=clock, **QUICK):
        await harness.slots(1)
        clock.forward(2)  # a robot without room for more is looked at again that much later
        await armed(harness, minutes(90)[0])
        clock.at = minutes(151)[0]  # it ran for long; 90 and 120 are late by now, 150 isn't
        dues = minutes(30, 60, 90, 120, 150)
        for number, due in enumerate(dues, 1):
            await harness.slots(number)
            await harness.finished(tid(due))
            clock.forward(2)
        await armed(harness, minutes(180)[0])
    assert await instants(harness) == dues
    assert await harness.facts(catalog.TRIGGER_REJECTED) == []


async def test_an_outage_of_a_hundred_days_is_made_up_for_by_one_run(harness: Harness) -> None:
    clock = await outage(
        harness, timedelta(days=100, minutes=5), policy="once", clock={"mode": "interval", "every": "10m"}
    )
    async with harness.scheduler(clock=clock, **QUICK):
        await armed(harness, START + timedelta(days=100, minutes=10))
        facts = await published(harness, catalog.TRIGGER_MISSED, 2)
        await harness.slots(1)
    assert await instants(harness) == [START + timedelta(days=100)]
    assert sum(fact.count for fact in facts) == 100 * 24 * 6 - 1
    assert (facts[0].first, facts[-1].last) == (minutes(10)[0], START + timedelta(days=100, minutes=-10))
    assert facts[1].first - facts[0].last == timedelta(minutes=10)
