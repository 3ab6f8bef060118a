"""How much may run at once: the pool, and never more than the executors alive can take (SC-09)."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable
from typing import Any

import pytest
from prometheus_client import REGISTRY

from rota_common.testing.samples import NOON
from rota_contracts.catalog import EXECUTOR_REPORTED
from rota_contracts.envelope import Event
from rota_contracts.messages.executor_capacity import ALIVE_S, REPORT_S, ExecutorReportedV1
from scheduler.capacity import Capacity


class Heard:
    """What passes on the bus, and the time that has passed."""

    def __init__(self) -> None:
        self.seconds = 100.0
        self.reports: asyncio.Queue[Event[ExecutorReportedV1]] = asyncio.Queue()
        self.channels: list[Any] = []

    @contextlib.asynccontextmanager
    async def listen(self, channels: Iterable[Any]) -> AsyncIterator["Heard"]:
        self.channels += channels
        yield self

    async def next(self) -> Event[ExecutorReportedV1]:
        return await self.reports.get()


def report(capacity: int, executor: str = "e1") -> ExecutorReportedV1:
    return ExecutorReportedV1(team_id="_all_", member_id="_all_", executor_id=executor, capacity=capacity, at=NOON)


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
def capacity(heard: Heard) -> Capacity:
    return Capacity(heard, pool=10, elapsed=lambda: heard.seconds)  # type: ignore[arg-type]  # a stand-in


def test_nothing_may_run_while_no_executor_is_alive(capacity: Capacity) -> None:
    assert capacity.slots() == 0


def test_what_all_executors_can_take_counts_up_to_the_pool(capacity: Capacity) -> None:
    seen = []
    for room, executor in ((3, "e1"), (4, "e2"), (9, "e3"), (1, "e3")):
        capacity.hear(report(room, executor))
        seen.append(capacity.slots())
    assert seen == [3, 7, 10, 8]
    assert REGISTRY.get_sample_value("rota_capacity") == 8


def test_an_executor_that_stops_or_falls_silent_counts_no_more(capacity: Capacity, heard: Heard) -> None:
    capacity.hear(report(3, "e1"))
    capacity.hear(report(4, "e2"))
    capacity.hear(report(0, "e2"))
    assert capacity.slots() == 3
    heard.seconds += ALIVE_S - 0.01
    assert capacity.slots() == 3
    heard.seconds += 0.01
    assert capacity.slots() == 0


def test_an_executor_may_miss_some_of_its_reports() -> None:
    assert ALIVE_S > 3 * REPORT_S


def test_whoever_waits_is_told_of_more_room_and_of_nothing_else(capacity: Capacity, heard: Heard) -> None:
    woken: list[int] = []
    capacity.on_more = lambda: woken.append(capacity.slots())
    for room in (3, 3, 2, 5, 5, 12, 15):
        capacity.hear(report(room))
    assert woken == [3, 5, 10]
    heard.seconds += ALIVE_S
    capacity.hear(report(2))
    assert woken == [3, 5, 10, 2]  # it had been nothing


async def test_it_hears_what_executors_report(capacity: Capacity, heard: Heard) -> None:
    more = asyncio.Event()
    capacity.on_more = more.set
    listening = asyncio.create_task(capacity.run())
    heard.reports.put_nowait(Event(id="x", type="x", source="executor", time=NOON, data=report(4)))
    await asyncio.wait_for(more.wait(), 5)
    listening.cancel()
    assert (capacity.slots(), heard.channels) == (4, [EXECUTOR_REPORTED])
